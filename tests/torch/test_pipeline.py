#!/usr/bin/env python3
"""memtrace's phases, roles and settings on samples/torch/pipeline/, single stages of a pipeline by PyTorch's own schedule, against what
each stage said it held (NAME.truth.json, written by pipe_job.py)."""
import os
import sys

import test_truth
from test_truth import same

SAMPLES = os.path.join(test_truth.SAMPLES, "pipeline")
PHASES = {"schedule": {"training"}, "optimizer": {"training"}}
LOGITS, TOKENS, MICRO_BATCHES = 2 * 160 * 32000 * 2, 2 * 160, 8  # bytes and rows of one micro-batch's logits in 16 bits
FREED = 547921920 - 368032036  # highest live bytes of "last", and of the same job whose last stage gave its loss instead of its logits


def roles(name, truth, device):
    said, role = truth["roles"], {r["role"]: r for r in device["roles"]}
    same(name, "parameters", role["param"]["bytes"], said["weights"])
    same(name, "optimizer state", role["optim_state"]["peak_bytes"], said["optimizer"])
    same(name, "gradients", role["grad"]["peak_bytes"] >= said["gradients"])
    # of a neighbour: one hidden state for each micro-batch
    same(name, "received", role["comm"]["bytes"], 160 * 2 * 512 * 2 * MICRO_BATCHES)
    same(name, "the batch, the job's own", role["data"]["bytes"], 160 * 2 * MICRO_BATCHES * 8)  # the batch itself


def first(name, truth, device):
    """Four micro-batches wait in the first of four stages when the first backward begins; one forward beside them has temporaries of its own."""
    said, role = truth["roles"], {r["role"]: r for r in device["roles"]}
    same(name, "micro-batches under way", said["in_flight"], 4)
    waiting = said["waiting"] - 160 * 2 * MICRO_BATCHES * 8
    peak = role["activation"]["peak_bytes"]
    same(name, f"activations: {waiting} wait for the first backward, {peak} at most", waiting <= peak <= waiting * 1.06)
    same(name, "logits", "logits" in role, False)


def last(name, device, report):
    """One micro-batch at a time, but its logits stay until the step ends, and then they are joined."""
    advice, role = {a["id"]: a for a in report["advice"]}, {r["role"]: r for r in device["roles"]}
    same(name, "shape", [device["logits"]["vocabulary"], device["logits"]["tokens"]], [32000, TOKENS])
    if name == "oom_last":
        same(name, "settings", "B82" in advice)
        return
    same(name, "logits of all micro-batches", role["logits"]["bytes"], MICRO_BATCHES * LOGITS)
    same(name, "and joined", role["temp"]["bytes"], MICRO_BATCHES * LOGITS)
    b82 = advice["B82"]
    same(name, f"what it freed is in the range of {b82['saving_bytes']}", b82["saving_low_bytes"] < FREED < b82["saving_high_bytes"])


def main():
    for name, recording, truth, device, report in test_truth.recordings(SAMPLES, ".truth.json", 3):
        test_truth.entries_in_phases(name, truth, recording, PHASES, (40, 50))
        test_truth.moments(name, truth, recording)
        roles(name, truth, device)
        same(name, "phase", report["verdict"]["phase"], "train")
        same(name, "failures", len(device["ooms"]), int(truth["error"] is not None))
        same(name, "communication", [r for r in report["phases"] if r.get("sub_phase") == "comm"], [])
        if name == "first":
            first(name, truth, device)
        else:
            last(name, device, report)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
