#!/usr/bin/env python3
"""One job that PyTorch recorded twice at once, as a memory history and by torch.profiler (samples/torch/profiled/): the peak of both is what
PyTorch said, and what the report of both says of the difference is what the two files themselves say, block by block."""
import gzip
import json
import os
import pickle
import sys

import test_truth
from test_truth import memtrace, same

FOLDER = os.path.join(test_truth.SAMPLES, "profiled")
SNAPSHOT, TRACE = os.path.join(FOLDER, "loop.pickle.gz"), os.path.join(FOLDER, "loop.pt.trace.json.gz")


def said(size):
    """As the report writes bytes."""
    for unit, power, digits in (("GiB", 30, 2), ("MiB", 20, 1), ("KiB", 10, 1)):
        if size >= 1 << power:
            return f"{size / (1 << power):.{digits}f} {unit}"
    return f"{size} B"


def at_the_peak():
    """Bytes of the trace, and of it what rounding to 512 adds, what was not split off, what waited: blocks of both by their address."""
    with gzip.open(SNAPSHOT) as f:
        entries = pickle.load(f)["device_traces"][0]
    with gzip.open(TRACE, "rt") as f:
        trace = json.load(f)
    live, highest = 0, (0, 0)
    asked, waiting = {}, {}
    for i, e in enumerate(entries):
        if e["action"] == "alloc":
            asked[e["addr"]] = e["size"]
            live += e["size"]
        elif e["action"] == "free_requested":
            waiting[e["addr"]] = e["size"]
        elif e["action"] == "free_completed":
            live -= asked.pop(e["addr"])
            waiting.pop(e["addr"], None)
        if live > highest[0]:
            highest = live, i, dict(asked), dict(waiting)
    asked, waiting = highest[2:]
    taken, top, most = {}, 0, {}
    for e in sorted((e for e in trace["traceEvents"] if e.get("name") == "[memory]" and e["args"]["Device Type"] == 1), key=lambda e: e["ts"]):
        a = e["args"]
        if a["Bytes"] > 0:
            taken[a["Addr"]] = a["Bytes"]
        else:
            taken.pop(a["Addr"], None)
        if a["Total Allocated"] > top:
            top, most = a["Total Allocated"], dict(taken)
    old = {addr: size for addr, size in asked.items() if addr not in most and addr not in waiting}
    rounded = sum(-size % 512 for size in asked.values())
    unsplit = sum(most[addr] - (size + -size % 512) for addr, size in asked.items() if addr in most)
    before = top - sum(most.values())  # of before the trace, whole
    unsplit += before - sum(size + -size % 512 for size in old.values())
    return top, highest[0], rounded, unsplit, sum(waiting.values())


def main():
    with open(os.path.join(FOLDER, "loop.truth.json"), encoding="utf-8") as f:
        truth = json.load(f)
    alone = {p: json.loads(memtrace("report", p, "--format", "json", "-o", "-")) for p in (SNAPSHOT, TRACE)}
    s, t = alone[SNAPSHOT]["devices"][0], alone[TRACE]["devices"][0]
    same("snapshot", "peak", s["live_peak_bytes"], truth["requested_peak"])
    same("trace", "peak", t["live_peak_bytes"], truth["allocated_peak"])
    for name, d in (("snapshot", s), ("trace", t)):
        same(name, "reserved", d["reserved_peak_bytes"], truth["reserved_peak"])
    same("both", "a peak at one moment, to 50 us", abs(s["peak_time_ns"] - t["peak_time_ns"]) <= 50000)
    for key in ("phase", "sub_phase"):
        same("both", key, alone[TRACE]["verdict"][key], alone[SNAPSHOT]["verdict"][key])

    top, high, rounded, unsplit, waited = at_the_peak()
    same("both", "bytes by hand", (top, high), (t["live_peak_bytes"], s["live_peak_bytes"]))
    same("both", "the parts by hand", rounded + unsplit - waited, top - high)
    same("both", "there is something to explain", rounded > 0 and unsplit > 1 << 20)
    for order in ((SNAPSHOT, TRACE), (TRACE, SNAPSHOT)):
        both = json.loads(memtrace("report", *order, "--format", "json", "-o", "-"))
        same("both", "sentence", both["verdict"]["sentence"], alone[SNAPSHOT]["verdict"]["sentence"])
        same("both", "advice", [a["id"] for a in both["advice"]], [a["id"] for a in alone[SNAPSHOT]["advice"]])
        told = [c for c in both["quality"]["caveats"] if "same bytes of device 0" in c]
        same("both", "told once", len(told), 1)
        want = f"At its peak the trace has {said(top)}, {said(top - high)} more than the snapshot: {said(rounded)} by rounding, {said(unsplit)} at"
        same("both", f"{want} in {told}", bool(told) and want in told[0])
        page = memtrace("report", *order, "--format", "text", "--full", "-o", "-")
        same("both", "the text tells it too", "too little to be split off" in " ".join(page.split()))
    other = json.loads(memtrace("report", os.path.join(test_truth.SAMPLES, "annotated.pickle.gz"), TRACE, "--format", "json", "-o", "-"))
    same("another job", "is none of it", any("same bytes" in c for c in other["quality"]["caveats"]), False)
    print(f"{test_truth.checks} checks, {test_truth.failed} failed")
    return 1 if test_truth.failed else 0


if __name__ == "__main__":
    sys.exit(main())
