#!/usr/bin/env python3
"""Recordings of an evaluation that joins the logits of its batches on the card (eval_job.py) against what the job said of itself (NAME.eval.json): the
bytes that the first setting is said to free are those that the same evaluation did without when it had that setting."""
import re
import sys

import test_truth
from test_truth import SAMPLES, same, written


def judged(name, truth, device, report):
    same(name, "phase", report["verdict"]["phase"], "eval")
    cards = {a["id"]: a for a in report["advice"]}
    same(name, f"B64 is among {list(cards)}", "B64" in cards and cards["B64"]["top"], True)
    if "B64" not in cards:
        return
    same(name, "what is typed", cards["B64"]["set"][0]["text"], "eval_accumulation_steps=1")
    same(name, "nothing is said to leak", [x for x in cards if x in ("B33", "P07")], [])
    low, high = cards["B64"]["saving_low_bytes"], cards["B64"]["saving_high_bytes"]
    freed = device["live_peak_bytes"] - truth["requested_peak_on_host"]
    if truth["error"] is None:
        same(name, f"{low} to {high} bytes are said to be freed, {freed} were", low <= freed <= high, True)


def failure(name, truth, device):
    same(name, "failures", len(device["ooms"]), 1 if truth["error"] else 0)
    if truth["error"] is None:
        return
    oom = device["ooms"][0]
    asked, free = re.search(r"Tried to allocate ([0-9.]+ \w+)", truth["error"]), re.search(r"of which ([0-9.]+ \w+) is free", truth["error"])
    same(name, "request", written(-(-oom["request_bytes"] // (2 << 20)) * (2 << 20)), asked.group(1))
    same(name, "free on the device", written(oom["device_free_bytes"]), free.group(1))


def main():
    for name, _, truth, device, report in test_truth.recordings(SAMPLES, ".eval.json", 2):
        same(name, "peak", device["live_peak_bytes"], truth["requested_peak"])
        roles = {r["role"]: r["bytes"] for r in device["roles"]}
        same(name, "parameters, but for five norms that the model makes of plain tensors", roles["param"], truth["weights"] - 5 * 896 * 2)
        same(name, f"logits: {roles['logits']} of {sum(roles.values())} bytes", roles["logits"] > sum(roles.values()) * 0.7, True)
        failure(name, truth, device)
        judged(name, truth, device, report)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
