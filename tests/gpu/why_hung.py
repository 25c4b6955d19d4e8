#!/usr/bin/env python3
"""Where a workload does not end under the recorder: the same alone, recorded, and recorded with one part of it off at a time. Of each its seconds,
what it printed last, and, when it was stopped, where its threads were. Exit status 1 when one of them was stopped.

    why_hung.py --build FOLDER --out RESULTS [--limit 40] [WORKLOAD ...]       # of calls.py; without any: kernels"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import HERE, autopsy, environment, find_memtrace  # noqa: E402

VARIANTS = [  # name, options of capture (None: not recorded), environment
    ("alone", None, {}),
    ("recorded", ["--no-torch"], {}),
    ("no stacks", ["--no-torch", "--no-stacks"], {}),
    ("no NVML", ["--no-torch"], {"MEMTRACE_NVML": "0"}),
    ("no samples, rare flushes", ["--no-torch", "--flush-ms", "60000"], {"MEMTRACE_SAMPLE_MS": "0"}),
    ("eager loading", ["--no-torch"], {"CUDA_MODULE_LOADING": "EAGER"}),
    ("resource callbacks", ["--no-torch"], {"MEMTRACE_CODE": "1"}),
]


def one(args, memtrace, name, options, more, workload, limit, look):
    """Seconds, and whether it was stopped."""
    out = os.path.join(args.out, f"{'_'.join(workload)}_{name.replace(' ', '_').replace(',', '')}")
    argv = [sys.executable, os.path.join(HERE, "calls.py"), *workload]
    if options is not None:
        argv = [memtrace, "capture", "-f", "-o", out + ".trace.gz", *options, "--", *argv]
    started, late = time.monotonic(), False
    with open(out + ".log", "wb") as log:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**environment(), "TMPDIR": args.out, **more}, start_new_session=True)
        try:
            p.wait(limit)
        except subprocess.TimeoutExpired:
            late = True
            if look:
                autopsy(p.pid, out + ".hung.txt", itself=options is None)
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
    with open(out + ".log", encoding="utf-8", errors="replace") as f:
        lines = [line for line in f.read().splitlines() if line and not line.startswith("memtrace:")]
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({"workload": workload, "variant": name, "seconds": seconds, "stopped": late, "status": p.returncode, "last": lines[-2:]}), flush=True)
    return seconds, late


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--limit", type=float, default=40)
    p.add_argument("--variants", type=int, default=len(VARIANTS), help="of those, the first ones")
    p.add_argument("workload", nargs="*", default=["kernels"])
    args = p.parse_args()
    args.out = os.path.abspath(args.out)
    os.makedirs(args.out, exist_ok=True)
    memtrace, stopped = find_memtrace(args.build), False
    for workload in args.workload:
        limit, hung = args.limit, False
        for i, variant in enumerate(VARIANTS[: args.variants]):
            if i >= 2 and not hung:
                break
            seconds, late = one(args, memtrace, *variant, workload.split(":"), limit, i < 2)
            hung, stopped = hung or late, stopped or late
            if i == 0 and late:
                break  # not the recorder's doing
            limit = min(args.limit, 2 * seconds + 8) if i == 0 else limit
    return 1 if stopped else 0


if __name__ == "__main__":
    sys.exit(main())
