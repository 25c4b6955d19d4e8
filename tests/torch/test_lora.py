#!/usr/bin/env python3
"""memtrace's phases, roles and expected sizes on samples/torch/lora/, a job of PEFT's low-rank adapters, against what it said it held
(NAME.truth.json, written by lora_job.py)."""
import os
import sys

import test_truth
from test_truth import same

SAMPLES = os.path.join(test_truth.SAMPLES, "lora")
PHASES = {"build": {"model set-up"}, "compute_log_prob": {"log-prob"}, "compute_ref_log_prob": {"reference log-prob"},
          "update_policy": {"actor update"}, "merge_and_unload": {"checkpoint save"}}


def main():
    for name, recording, truth, device, report in test_truth.recordings(SAMPLES, ".truth.json", 1):
        said, role = truth["roles"], {r["role"]: r for r in device["roles"]}
        test_truth.entries_in_phases(name, truth, recording, PHASES, (6, 50))
        test_truth.moments(name, truth, recording)
        weights = said["base"] + said["adapters"]
        same(name, f"parameters: {role['param']['bytes']}, of them {weights} weights, the rest buffers", 0 <= role["param"]["bytes"] - weights <= 4096)
        same(name, "optimizer state", role["optim_state"]["peak_bytes"], said["optimizer"])
        same(name, "gradients, and the loss's own", role["grad"]["peak_bytes"], said["gradients"] + 4)
        expected = {e["role"]: e for e in device["expected"] if e["phase"] == "train_actor"}
        same(name, "gradients to expect", expected["grad"]["expected_bytes"], said["adapters"])
        same(name, "optimizer state to expect", expected["optim_state"]["expected_bytes"], 2 * said["adapters"])
        same(name, "adapters in the words", "adapters" in expected["grad"]["formula"])
        ids = [a["id"] for a in report["advice"]]
        same(name, f"adapters are not advised in {ids}", [i for i in ids if i in ("P13", "B32")], [])
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
