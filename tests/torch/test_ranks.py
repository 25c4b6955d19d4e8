#!/usr/bin/env python3
"""One report of two ranks that really ran, samples/torch/ranks/: which one failed, and each one's numbers against what it said itself
(ranks.rankN.truth.json, written by ranks_job.py)."""
import json
import os
import sys

import test_truth
from test_truth import memtrace, same

SAMPLES = os.path.join(test_truth.SAMPLES, "ranks")


def main():
    archive = os.path.join(SAMPLES, "ranks.tar")
    report = json.loads(memtrace("report", archive, "--format", "json", "--verify", "-o", "-"))
    said = {}
    for rank in (0, 1):
        with open(os.path.join(SAMPLES, f"ranks.rank{rank}.truth.json"), encoding="utf-8") as f:
            said[rank] = json.load(f)
    same("ranks", "the one that failed", [report["verdict"]["rank"], report["verdict"]["device"]], [1, 1])
    same("ranks", "phase", report["verdict"]["phase"], "train")
    same("ranks", "in words", report["verdict"]["sentence"].startswith("Rank 1, device 1 ran out of memory in training"))
    busy = {d["rank"]: d for d in report["devices"] if d["events"]}
    same("ranks", "devices", {r: d["device"] for r, d in busy.items()}, {0: 0, 1: 1})
    same("ranks", "the one that failed comes first", report["devices"][0]["rank"], 1)
    for rank, device in busy.items():
        name, truth, role = f"rank {rank}", said[rank], {r["role"]: r for r in device["roles"]}
        same(name, "failures", len(device["ooms"]), int(truth["error"] != "connection"))
        same(name, "live at the snapshot", device["live_end_bytes"], truth["requested"])
        same(name, "peak", device["live_peak_bytes"], truth["requested_peak"])
        same(name, "reserved at the snapshot", device["reserved_end_bytes"], truth["reserved"])
        same(name, "weights", role["param"]["bytes"], truth["weights"])
        same(name, "optimizer state", role["optim_state"]["peak_bytes"], truth["optimizer"])
    print(f"{test_truth.checks} checks, {test_truth.failed} failed")
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
