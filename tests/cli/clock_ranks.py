"""Ranks of nodes whose clocks differ, for tests/cli/clocks.sh: clock_ranks.py SNAPSHOT OUTDIR [LATER [HOST...]]

Of SNAPSHOT, which ran out of memory after many steps, four ranks. Time passes as slowly on all of them that a step takes seconds, and
a little unevenly. Rank 1 fails, rank 2 LATER seconds (0.5) after it; the clock of rank 2 is 30 s behind, so by the clocks it was the first.
HOST: of each rank, which the names of the files then say."""

import gzip
import os
import pickle
import sys

SLOWER = 2000
AHEAD = {2: -30_000_000}  # microseconds


def moved(snapshot, rank, later):
    trace = snapshot["device_traces"][0]
    begin = trace[0]["time_us"]

    def at(us):
        passed = (us - begin) * SLOWER
        return begin + passed + passed * (rank % 3) // 100_000 + AHEAD.get(rank, 0)

    for event in trace:
        event["time_us"] = at(event["time_us"]) + (later if rank == 2 and event["action"] == "oom" else 0)
    for mark in snapshot["external_annotations"]:
        mark["time_us"] = at(mark["time_us"])
    if rank not in (1, 2):
        trace[:] = [e for e in trace if e["action"] != "oom"]
    return snapshot


def main(source, out, later="0.5", *hosts):
    os.makedirs(out)
    for rank in range(4):
        name = "mt-%s-%d-%d-rank%d-end.pickle" % (hosts[rank], 1000 + rank, 1000 + rank, rank) if hosts else "snapshot_rank%d.pickle" % rank
        with gzip.open(source) as f:
            one = pickle.load(f)
        with open(os.path.join(out, name), "wb") as f:
            pickle.dump(moved(one, rank, int(float(later) * 1e6)), f, protocol=4)


if __name__ == "__main__":
    main(*sys.argv[1:])
