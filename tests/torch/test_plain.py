#!/usr/bin/env python3
"""Recordings of scripts that keep more than they need (plain_job.py) against what each job said of itself (NAME.plain.json): what is advised first, and
that its bytes are what the same job does without when the mistake is mended."""
import sys

import test_truth
from test_truth import SAMPLES, same

WORDS = 12000  # of plain_job.py

# what is first, by what peak it is measured, and of what role most of the memory is
KINDS = {
    "graphs": ("P140", "reserved_peak", "graph_pool"),
    "folds": ("B33", "requested_peak", "optim_state"),
    "copies": ("B33", "requested_peak", "param"),
    "shampoo": ("P141", "requested_peak", "optim_state"),
    "hooks": ("B33", "requested_peak", "activation"),
    "pairs": ("P142", "requested_peak", None),
    "average": ("P18", "requested_peak", None),
}


def judged(name, truth, device, report):
    rule, peak, role = KINDS[truth["kind"]]
    roles = {r["role"]: r["bytes"] for r in device["roles"]}
    cards = [a for a in report["advice"] if a["top"]]
    if truth["kind"] != "average":
        same(name, "the largest role", role in (None, max(roles, key=roles.get)), True)
        same(name, "first", cards[0]["id"] if cards else None, rule)
    else:  # state of the size of a weight is no weight
        same(name, "parameters of two models", roles["param"], 2 * truth["weights"])
        cards = [a for a in cards if a["id"] == rule]
    if truth["kind"] == "shampoo":
        same(name, "nothing of PyTorch's foreach form", [a["id"] for a in report["advice"] if a["id"] == "B06"], [])
    if truth["kind"] in ("copies", "shampoo"):  # logits that are twice as large as the head
        same(name, "the vocabulary", device["logits"]["vocabulary"], WORDS)
    freed = truth["whole"][peak] - truth["whole_free"][peak]
    low = cards[0]["saving_low_bytes"] if cards else None
    if truth["kind"] == "pairs":  # how large a piece may be, the code decides
        same(name, f"{low} bytes are promised, {freed} were freed", low is None and freed > 1 << 30, True)
        return
    # memory ran out before the job was over: at that moment there was less to free
    same(name, f"{low} bytes or more are said to be freed, {freed} were in the whole job", cards != [] and 0 < low <= freed, True)


def main():
    for name, _, truth, device, report in test_truth.recordings(SAMPLES, ".plain.json", len(KINDS)):
        test_truth.failure(name, truth, device)
        same(name, "peak", device["live_peak_bytes"], truth["requested_peak"])
        judged(name, truth, device, report)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
