"""Ranks of nodes whose clocks differ, for tests/cli/clocks.sh: clock_ranks.py SNAPSHOT OUTDIR

Of SNAPSHOT, which ran out of memory after many steps, four ranks. Time passes as slowly on all of them that a step takes seconds, and
a little unevenly. Rank 1 fails, rank 2 half a second later; its clock is 30 s behind, so by the clocks it was the first."""

import gzip
import os
import pickle
import sys

SLOWER = 2000
AHEAD = {2: -30_000_000}  # microseconds
LATER = {2: 500_000}


def moved(snapshot, rank):
    trace = snapshot["device_traces"][0]
    begin = trace[0]["time_us"]

    def at(us):
        passed = (us - begin) * SLOWER
        return begin + passed + passed * (rank % 3) // 100_000 + AHEAD.get(rank, 0)

    for event in trace:
        event["time_us"] = at(event["time_us"]) + (LATER.get(rank, 0) if event["action"] == "oom" else 0)
    for mark in snapshot["external_annotations"]:
        mark["time_us"] = at(mark["time_us"])
    if rank not in (1, 2):
        trace[:] = [e for e in trace if e["action"] != "oom"]
    return snapshot


if __name__ == "__main__":
    os.makedirs(sys.argv[2])
    for rank in range(4):
        with gzip.open(sys.argv[1]) as f:
            one = pickle.load(f)
        with open(os.path.join(sys.argv[2], "snapshot_rank%d.pickle" % rank), "wb") as f:
            pickle.dump(moved(one, rank), f, protocol=4)
