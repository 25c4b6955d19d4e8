#!/usr/bin/env python3
"""Recordings of an evaluation that joins the logits of its batches on the card (eval_job.py) against what the job said of itself (NAME.eval.json): the
bytes that the first setting is said to free are those that the same evaluation did without when it had that setting."""
import sys

import test_truth
from test_truth import SAMPLES, same


def judged(name, truth, device, report):
    same(name, "phase", report["verdict"]["phase"], "eval")
    cards = {a["id"]: a for a in report["advice"]}
    same(name, f"B64 is among {list(cards)}", "B64" in cards and (cards["B64"]["top"] or cards["B64"]["lacking_bytes"] == 0), True)
    if "B64" not in cards:
        return
    same(name, "what is typed", cards["B64"]["set"][0]["text"], "eval_accumulation_steps=1")
    same(name, "nothing is said to leak", [x for x in cards if x in ("B33", "P07")], [])
    low, high = cards["B64"]["saving_low_bytes"], cards["B64"]["saving_high_bytes"]
    freed = device["live_peak_bytes"] - truth["requested_peak_on_host"]
    if truth["error"] is None:
        same(name, f"{low} to {high} bytes are said to be freed, {freed} were", low <= freed <= high, True)


def main():
    for name, _, truth, device, report in test_truth.recordings(SAMPLES, ".eval.json", 2):
        same(name, "peak", device["live_peak_bytes"], truth["requested_peak"])
        roles = {r["role"]: r["bytes"] for r in device["roles"]}
        same(name, "parameters, and the rotary embedding's table, which is made beside them", roles["param"], truth["weights"] + 256)
        same(name, f"logits: {roles['logits']} of {sum(roles.values())} bytes", roles["logits"] > sum(roles.values()) * 0.7, True)
        test_truth.failure(name, truth, device)
        judged(name, truth, device, report)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
