#!/usr/bin/env python3
"""Attached files come out of a trace as they went in, whatever their size: a part fits into its chunk with the record that names it."""
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

MEMTRACE = pathlib.Path(os.environ.get("MEMTRACE") or kit.BUILD / "memtrace")
SIZES = [1, (15 << 16) - 1, 15 << 16, (15 << 16) + 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (4 << 20) + 7, 9_000_001]


def main():
    kit.need(MEMTRACE)
    folder = kit.scratch()
    spool = folder / "spool"
    spool.mkdir()
    noise, want = random.Random(1), {}
    for i, size in enumerate(SIZES):
        name = f"mt-host-{i + 1}-0-rankx-exit-dev0.pickle"
        want[name] = noise.randbytes(size)
        (spool / name).write_bytes(want[name])
    trace = folder / "trace.gz"
    done = subprocess.run([MEMTRACE, "collect", spool, "-o", trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    kit.equal("the status of collect", done.returncode, 0)
    if not kit.check("there is a trace", trace.exists(), done.stdout):
        kit.done()
    got = {name: data for _, name, _, data in kit.trace_decode.load(trace).attached()}
    for name, data in want.items():
        kit.check(f"{len(data)} bytes", got.get(name) == data, name in got and got[name] and len(got[name]))
    dump = subprocess.run([MEMTRACE, "dump", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False).stdout
    read = {r["name"]: (r["bytes"], r["read"]) for r in map(kit.json.loads, dump.splitlines()) if r["type"] == "attachment"}
    kit.equal("memtrace reads all of it", read, {name: (len(data), len(data)) for name, data in want.items()})
    kit.done()


main()
