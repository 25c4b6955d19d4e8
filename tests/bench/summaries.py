#!/usr/bin/env python3
"""Makes the summaries of many ranks: copies of one real summary with its rank, sizes and times varied.

    summaries.py RANKS SUMMARY OUTDIR

SUMMARY is what `memtrace summarize` wrote of a snapshot that ran out of memory. Of RANKS ranks two run out of memory (RANKS / 3 first,
RANKS / 2 0.75 s later), three hold more than the others (RANKS / 5, RANKS / 4 and RANKS - 2: a quarter more, in the KV cache), all others
differ by less than 0.4 percent. Prints these numbers as JSON."""

import copy
import gzip
import json
import os
import sys


def made(base: dict, rank: int, ranks: int) -> dict:
    one = copy.copy(base)
    first, second = ranks // 3, ranks // 2
    fails = rank in (first, second)
    more = rank in (ranks // 5, ranks // 4, ranks - 2)
    device = copy.deepcopy(base["devices"][0])
    was = device["live_peak_bytes"]
    extra = was // 4 if more else (rank * 7919 % 1000) * was // 250000
    device["rank"] = rank
    device["input"] = "snapshot_rank%d.pickle" % rank
    device["live_peak_bytes"] += extra
    device["focus"]["live_bytes"] += extra
    for role in device["roles"]:
        if role["role"] == "kv_cache":
            role["bytes"] += extra
    verdict = dict(base["verdict"], rank=rank, input=device["input"])
    if fails:
        device["ooms"] = [dict(device["ooms"][0], time_ns=device["ooms"][0]["time_ns"] + (750000000 if rank == second else 0))]
        verdict["sentence"] = "Rank %d, device 0 %s" % (rank, verdict["sentence"].split("evice 0 ", 1)[1])
    else:
        device["ooms"] = []
        verdict.update(kind="peak", out_of_memory=False, request_bytes=None, sentence="Rank %d peaked." % rank)
    one["verdict"] = verdict
    one["devices"] = [device]
    return one


def main() -> None:
    ranks, out = int(sys.argv[1]), sys.argv[3]
    with gzip.open(sys.argv[2]) as f:
        base = json.load(f)
    os.makedirs(out, exist_ok=True)
    for rank in range(ranks):
        text = json.dumps(made(base, rank, ranks), separators=(",", ":"))
        with open(os.path.join(out, "rank%d.mts" % rank), "wb") as f:
            f.write(gzip.compress(text.encode(), 6, mtime=0))
    print(json.dumps({"failed": [ranks // 3, ranks // 2], "more": sorted([ranks // 5, ranks // 4, ranks - 2])}))


if __name__ == "__main__":
    main()
