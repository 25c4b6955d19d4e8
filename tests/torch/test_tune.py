#!/usr/bin/env python3
"""Recordings of torchtune's own recipe (torchtune_job.py) against what the job said of itself (NAME.tune.json): the program, its phases, settings that it has, and
what half the batch freed."""
import sys

import test_truth
from test_truth import SAMPLES, same


def settings(name, truth, device, report):
    cards = {a["id"]: a for a in report["advice"]}
    typed = {line["text"] for a in cards.values() for line in a["set"]}
    same(name, f"settings of torchtune in {typed}", "batch_size=<half>" in typed and "loss._component_=torchtune.modules.loss.LinearCrossEntropyLoss" in typed, True)
    same(name, "calls that a recipe hides", [t for t in typed if t.startswith(("torch.utils", "torch.optim", "halve the batch", "LigerFused", "with torch"))], [])
    if truth["error"] is None:
        low, high = cards["P02"]["saving_low_bytes"], cards["P02"]["saving_high_bytes"]
        freed = device["live_peak_bytes"] - truth["requested_peak_of_half"]
        same(name, f"half the batch: {low} to {high} bytes promised, {freed} freed", low <= freed <= high, True)
        same(name, f"and {cards['P02']['saving_bytes']} within 5 %", abs(cards["P02"]["saving_bytes"] - freed) < freed / 20, True)


def main():
    for name, _, truth, device, report in test_truth.recordings(SAMPLES, ".tune.json", 2):
        same(name, "peak", device["live_peak_bytes"], truth["requested_peak"])
        same(name, "framework", report["verdict"]["framework"], "torchtune")
        same(name, "phase", report["verdict"]["phase"], "train")
        phases = {r["phase"] for r in report["phases"]}
        same(name, "phases", phases, {"init", "train"})
        subs = {r["sub_phase"] for r in report["phases"] if r["phase"] == "train"}
        same(name, f"what happens in it: {subs}", {"forward", "logits", "backward", "optim_state_init"} <= subs, True)
        roles = {r["role"]: r["bytes"] for r in device["roles"]}
        same(name, "bytes without a role", roles.get("unknown", 0) < device["live_peak_bytes"] / 500, True)
        test_truth.failure(name, truth, device)
        settings(name, truth, device, report)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
