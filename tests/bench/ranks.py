#!/usr/bin/env python3
"""Makes the snapshots of many ranks out of one, and measures what a report of them costs.

    ranks.py make RANKS SNAPSHOT OUTDIR      prints as JSON which ranks fail and which hold more
    ranks.py measure MEMTRACE FOLDER...      each folder: all summarized by two processes, then merged; and all in one `memtrace report`
    ranks.py simulate MEMTRACE RANKS SUMMARY OUTDIR   makes RANKS summaries and merges them

SNAPSHOT ran out of memory. Of RANKS ranks two run out of memory (RANKS / 3 first, RANKS / 2 0.75 s later), three hold more than the others
(RANKS / 5, RANKS / 4 and RANKS - 2), all others differ by less than half a percent: one segment is larger, by as much as its rank says."""

import gzip
import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
import time

import summaries

AWAY = 1 << 46  # where nothing of a snapshot lies: a segment that grows is moved there


def kept_segment(snapshot):
    """A segment that one block fills, and has filled since it was made."""
    ends = {}
    for event in snapshot["device_traces"][0]:
        ends.setdefault(event.get("addr"), []).append(event["action"])
    for segment in snapshot["segments"]:
        blocks = segment["blocks"]
        if len(blocks) == 1 and blocks[0]["state"] == "active_allocated" and ends.get(segment["address"]) == ["segment_alloc", "alloc"]:
            return segment
    raise SystemExit("no segment of this snapshot is filled by one block")


def grow(snapshot, extra):
    segment = kept_segment(snapshot)
    was = segment["address"]
    for key in ("total_size", "allocated_size", "active_size", "requested_size"):
        segment[key] += extra
    segment["address"] = was + AWAY
    block = segment["blocks"][0]
    block["size"] += extra
    block["requested_size"] += extra
    if "address" in block:
        block["address"] = was + AWAY
    for event in snapshot["device_traces"][0]:
        if event.get("addr") == was:
            event["addr"] = was + AWAY
            event["size"] += extra


def made(text, rank, ranks):
    snapshot = pickle.loads(text)
    first, second = ranks // 3, ranks // 2
    more = rank in (ranks // 5, ranks // 4, ranks - 2)
    grow(snapshot, (16 << 30 if more else (rank * 7919 % 1000) << 18))
    trace = snapshot["device_traces"][0]
    if rank not in (first, second):
        trace[:] = [e for e in trace if e["action"] != "oom"]
    for event in trace if rank == second else []:
        if event["action"] == "oom":
            event["time_us"] += 750000
    return pickle.dumps(snapshot, protocol=4)


def make(ranks, path, out):
    with open(path, "rb") as f:
        text = f.read()
    os.makedirs(out, exist_ok=True)
    for rank in range(ranks):
        with open(os.path.join(out, "snapshot_rank%d.pickle" % rank), "wb") as f:
            f.write(made(text, rank, ranks))
    print(json.dumps({"failed": [ranks // 3, ranks // 2], "more": sorted([ranks // 5, ranks // 4, ranks - 2])}))


def timed(command, **more):
    """Seconds, CPU seconds, largest resident MiB of one process."""
    begun = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, **more) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise SystemExit("%s: status %d" % (command, process.returncode))
    return time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(what, ranks, wall, cpu, mib):
    print("| %s | %d | %.1f | %.1f | %.2f | %.0f |" % (what, ranks, wall, cpu, 1000 * cpu / ranks, mib), flush=True)


def merge(memtrace, sums, ranks):
    out = os.path.join(os.path.dirname(sums), "merged.txt")
    row("merged", ranks, *timed([memtrace, "report", "-q", "--format", "text", "--max-members", "1000000", "-f", "-o", out, sums],
                                stderr=subprocess.DEVNULL))
    with open(out, encoding="utf-8") as f:
        print(" ".join(line.strip() for line in f.read().partition("All ranks")[2].splitlines()[1:3]), file=sys.stderr)


def measure(memtrace, folders):
    print("| | ranks | wall, s | CPU, s | CPU a rank, ms | largest process, MiB |\n|---|---:|---:|---:|---:|---:|")
    for folder in folders:
        files = sorted(os.listdir(folder))
        sums = folder + ".sums"
        shutil.rmtree(sums, ignore_errors=True)
        os.mkdir(sums)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        script = 'exec "%s" summarize -q "%s/$0" -o "%s/$0.mts" 2> /dev/null' % (memtrace, folder, sums)
        begun = time.monotonic()
        subprocess.run(["xargs", "-P", "2", "-n", "1", "sh", "-c", script], input="\n".join(files), text=True, check=True)
        wall = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        one = timed([memtrace, "summarize", "-q", "-f", os.path.join(folder, files[0]), "-o", os.path.join(sums, files[0] + ".mts")],
                    stderr=subprocess.DEVNULL)[2]
        row("summarized, 2 at a time", len(files), wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, one)
        merge(memtrace, sums, len(files))
        row("`memtrace report`, `--jobs 2`", len(files), *timed([memtrace, "report", "-q", "--jobs", "2", "--format", "text", "--max-members", "1000000", "-f",
                                                               "-o", folder + ".txt", folder], stderr=subprocess.DEVNULL))


def simulate(memtrace, ranks, summary, out):
    """As summaries.py, whose ranks but five are of one kind: their text is made once and the numbers in it are replaced."""
    with gzip.open(summary) as f:
        base = json.load(f)
    os.makedirs(out, exist_ok=True)
    apart = {ranks // 3, ranks // 2, ranks // 5, ranks // 4, ranks - 2}
    like = next(r for r in range(1, ranks) if r not in apart)
    text, was = json.dumps(summaries.made(base, like, ranks), separators=(",", ":")), base["devices"][0]["live_peak_bytes"]
    kv = [r["bytes"] for r in base["devices"][0]["roles"] if r["role"] == "kv_cache"][0]
    extra = [rank * 7919 % 1000 * was // 250000 for rank in range(1000)]
    for rank in range(ranks):
        if rank in apart:
            one = json.dumps(summaries.made(base, rank, ranks), separators=(",", ":"))
        else:
            one = text.replace('"rank":%d,' % like, '"rank":%d,' % rank).replace("rank%d." % like, "rank%d." % rank)
            one = one.replace("Rank %d peaked" % like, "Rank %d peaked" % rank)
            for number in (was, kv):
                one = one.replace(":%d" % (number + extra[like]), ":%d" % (number + extra[rank % 1000]))
        with open(os.path.join(out, "rank%d.mts" % rank), "wb") as f:
            f.write(gzip.compress(one.encode(), 1, mtime=0))
    merge(memtrace, out, ranks)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"] and len(sys.argv) == 5:
        make(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    elif sys.argv[1:2] == ["measure"] and len(sys.argv) > 3:
        measure(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:2] == ["simulate"] and len(sys.argv) == 6:
        simulate(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
    else:
        sys.exit(__doc__)
