#!/usr/bin/env python3
"""How fast a driver trace is read: `memtrace info` against inflating the same file alone, in turn, warm page cache: CPU time. Prints Markdown.

    python3 native.py --build ../../build [--full] [--dir KEEP]

The traces are recorded here, by the injected library on the stand-ins for CUDA (tests/mock): 1,000,000 calls of the loops of
capture_calls.c, and with --full ten times as many. "memtrace" is the whole program: unpacking, checksums, SHA-256 of the file, reading,
resolving, counting."""
import argparse
import os
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from run import MIB, Bench, compile_helper  # noqa: E402

GOAL = 1.6
TRACES = [("alloc and free in turn, calls only", "loop", 1, []), ("random sizes and lifetimes, calls only", "mix", 1, []),
          ("random sizes and lifetimes, with MEMORY2", "mix", 1, ["--memory2"]), ("the same, 4 threads", "mix", 4, ["--memory2"])]


def record(build, path, mode, threads, calls, options):
    if os.path.exists(path):
        return
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMTRACE", "FAKE_", "CUDA_", "NVTX_"))}
    env.update(LD_LIBRARY_PATH=os.path.join(build, "tests", "mock", "cuda13"), FAKE_TOTAL_MB="1000000")
    program = os.path.join(build, "tests", "tool_capture_calls")
    done = subprocess.run([os.path.join(build, "memtrace"), "capture", "--no-torch", "--max-mb", "4000", "-o", path, *options, "--", program, mode,
                           str(threads), str(calls // threads), "8"], env=env, capture_output=True, text=True, check=False)
    if done.returncode or not os.path.exists(path):
        sys.exit(f"native.py: nothing was recorded (status {done.returncode}): {done.stderr}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--calls", type=int, default=1_000_000)
    p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--full", action="store_true", help="also ten times as many calls")
    p.add_argument("--dir", help="where traces are kept for the next run")
    p.add_argument("--strict", action="store_true", help="a missed goal is exit status 1")
    args = p.parse_args()
    build, missed = os.path.abspath(args.build), 0
    memtrace = os.path.join(build, "memtrace")
    with tempfile.TemporaryDirectory(prefix="memtrace-bench.") as scratch:
        folder = args.dir or scratch
        os.makedirs(folder, exist_ok=True)
        timed, inflate = compile_helper(scratch, "timed"), compile_helper(scratch, "inflate", "-lz")
        if not timed or not inflate:
            sys.exit("native.py: needs a C compiler and the zlib headers")
        bench = Bench(types.SimpleNamespace(pairs=args.pairs, memtrace=memtrace), timed, scratch)
        bench.cpu = True
        print("| trace | file | memtrace | inflate alone | ratio | goal | peak memory | per call |\n|---|---|---|---|---|---|---|---|")
        for factor in (1, 10) if args.full else (1,):
            for what, mode, threads, options in TRACES if factor == 1 else TRACES[2:3]:
                calls = args.calls * factor
                path = os.path.join(folder, f"{mode}-{threads}-{calls}{''.join(options)}.trace.gz")
                record(build, path, mode, threads, calls, options)
                ours, theirs, ratio, rss, _ = bench.pair([memtrace, "info", path], [inflate, path], args.pairs if factor == 1 else 3)
                missed += ratio > GOAL
                print(f"| {what}, {calls:,} calls | {os.path.getsize(path) / MIB:.1f} MiB | {ours:.3f} s | {theirs:.3f} s | {ratio:.2f} | "
                      f"≤ {GOAL}: {'met' if ratio <= GOAL else 'missed'} | {rss / MIB:.0f} MiB | {rss / calls:.0f} B |", flush=True)
                if not args.dir:
                    os.unlink(path)
    return 1 if missed and args.strict else 0


if __name__ == "__main__":
    sys.exit(main())
