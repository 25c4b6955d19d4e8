#!/usr/bin/env python3
"""Times memtrace on large recordings that it makes: a Chrome trace of torch.profiler beside `wc -l`, a recording of memray by its bytes. Prints Markdown.

    recordings.py --memtrace ../../build/memtrace [--dir DIR] [--trace FILE] [--gigabytes 1] [--allocations 10000000] [--cpu]

The trace is another one (a sample; --trace names a recorded one) again and again, its text as it stands but for the times: what it leaves allocated
is freed, and what it frees of before is allocated, before it starts again. The recording of memray is steps of one job, 12 frames deep."""

import argparse
import gzip
import json
import os
import re
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "samples"))
from run import Bench, MIB, compile_helper  # noqa: E402
from imitate import memray  # noqa: E402

TS = re.compile(r'"ts": ?([0-9.]+)')


def events_of(text):
    """The head before the events, and every event as (object, its text)."""
    at = text.index("[", text.index('"traceEvents"')) + 1
    head, found, decoder = text[:at], [], json.JSONDecoder()
    while True:
        begin = text.find("{", at)
        if begin < 0 or "]" in text[at:begin]:
            return head, found
        event, end = decoder.raw_decode(text, begin)
        found.append((event, text[begin:end]))
        at = end


def closed(found):
    """The texts as (before the time, time, after it), with what sets the memory back to where it began."""
    out, memory, live, before, total = [], [], {}, {}, {}
    for event, text in found:
        m = TS.search(text)
        if m is None or event.get("ph") == "M":
            continue
        out.append((text[:m.start(1)], float(m.group(1)), text[m.end(1):]))
        if event.get("name") == "[memory]":
            memory.append((event["ts"], len(memory), event["args"], text))
    for _, _, a, text in sorted(memory):  # threads stand one after the other
        key = a["Device Type"], a["Device Id"], a["Addr"]
        total[key[:2]] = a["Total Allocated"]
        if a["Bytes"] > 0:
            live[key] = text, a["Bytes"]
        elif key in live:
            del live[key]
        else:
            before[key] = text, a["Bytes"]
    end = max(ts for _, ts, _ in out) + 10
    for (kind, device, _), (text, size) in list(live.items()) + list(before.items()):
        total[kind, device] -= size
        text = re.sub(r'"Bytes": ?-?[0-9]+', '"Bytes": %d' % -size, text)
        text = re.sub(r'"Total Allocated": ?[0-9]+', '"Total Allocated": %d' % total[kind, device], text)
        m = TS.search(text)
        out.append((text[:m.start(1)], end, text[m.end(1):]))
        end += 1
    return out, end - min(ts for _, ts, _ in out) + 1000


def trace(source, path, size):
    """Writes one of about that many bytes; (events, of memory, bytes)."""
    raw = gzip.open(source, "rt") if source.endswith(".gz") else open(source, encoding="utf-8")
    with raw as file:
        head, found = events_of(file.read())
    unit, span = closed(found)
    of_memory = sum('"[memory]"' in pre + post for pre, _, post in unit)
    n = written = 0
    with open(path, "w", encoding="utf-8") as out:
        out.write(head + "\n  ")
        while written < size:
            by = n * span
            text = ",\n  ".join("%s%.3f%s" % (pre, ts + by, post) for pre, ts, post in unit)
            out.write((",\n  " if n else "") + text)
            written += len(text)
            n += 1
        out.write("\n  ]\n}\n")
    return n * len(unit), n * of_memory, os.path.getsize(path)


CALLS = [("<module>", "/srv/job/train.py", 1, 31), ("main", "/srv/job/train.py", 12, 24)] + [
    ("forward_%d" % i, "/srv/job/model/part_%d.py" % (i % 4), 10 * i + 1, 10 * i + 7) for i in range(10)]


def step(r):
    """5,000 allocations and as many frees, in the order and with the state that it leaves."""
    r.thread(memray.MAIN)
    for i in range(5000):
        if i % 5 == 0:
            r.at(CALLS[:2 + i // 5 % 10])
        r.call("malloc", 0x55D000000000 + i * 7919 % 5003 * 4096, 64 + i * 37 % 9000)
        if i >= 64:
            r.call("free", 0x55D000000000 + (i - 64) * 7919 % 5003 * 4096)
        if i % 500 == 0:
            r.rss(4096 * MIB, 10)
    for i in range(5000 - 64, 5000):
        r.call("free", 0x55D000000000 + i * 7919 % 5003 * 4096)
    r.at(CALLS[:2])


def recording(path, allocations):
    """Its bytes without lz4, of which a killed process's has none."""
    r = memray.Recorder(12)
    n = 0
    with open(path, "wb") as out:
        out.write(r.header(done=False))
        while n < allocations:
            step(r)
            out.write(r.out)
            r.out.clear()
            n += 5000
        out.write(bytes(4096))
    return n, os.path.getsize(path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--memtrace", required=True)
    p.add_argument("--dir", help="where the inputs are made (default: a temporary folder)")
    p.add_argument("--trace", default=os.path.join(HERE, "..", "..", "samples", "profiler", "finetune_rank3.pt.trace.json.gz"))
    p.add_argument("--gigabytes", type=float, default=1)
    p.add_argument("--allocations", type=int, default=10000000)
    p.add_argument("--pairs", type=int, default=5)
    p.add_argument("--cpu", action="store_true", help="CPU time, which other programs move less")
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="memtrace-bench.", dir=args.dir) as scratch:
        timed = compile_helper(scratch, "timed")
        if not timed:
            sys.exit("recordings.py: needs a C compiler")
        bench = Bench(types.SimpleNamespace(pairs=args.pairs, memtrace=args.memtrace), timed, scratch)
        bench.cpu = args.cpu
        print("| recording | memtrace | `wc -l` | ratio | memtrace RSS |\n|---|---|---|---|---|", flush=True)
        if args.gigabytes:
            path = os.path.join(scratch, "trace.json")
            n, of_memory, size = trace(args.trace, path, args.gigabytes * 1e9)
            ours, theirs, ratio, rss, _ = bench.pair(bench.report(path), ["wc", "-l", path])
            print("| Chrome trace, %.0f MB, %d events, %d of them of memory | %.3f s | %.3f s | %.2f | %.1f MiB |"
                  % (size / 1e6, n, of_memory, ours, theirs, ratio, rss / MIB), flush=True)
            os.remove(path)
        if args.allocations:
            path = os.path.join(scratch, "memray.bin")
            n, size = recording(path, args.allocations)
            ours, theirs, ratio, rss, _ = bench.pair(bench.report(path), ["wc", "-l", path])
            print("| memray, %.0f MB, %d allocations: %.2f s a 100 MB | %.3f s | %.3f s | %.2f | %.1f MiB |"
                  % (size / 1e6, n, ours / (size / 1e8), ours, theirs, ratio, rss / MIB), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
