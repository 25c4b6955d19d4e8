#!/usr/bin/env python3
"""What a report of a small snapshot costs: CPU time of `memtrace report` of one of 400 events, in turn with `memtrace --version`, which is the
start of the process alone, and with another build where one is named. Prints Markdown.

    python3 start.py --memtrace ../../build/memtrace [--against OTHER/memtrace] [--instructions]

Most of such a report is what every report pays: reading the rules. --instructions counts them too (needs valgrind): they do not move with the machine."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from run import Bench, compile_helper  # noqa: E402

EVENTS = 400


def instructions(scratch, command):
    """In millions."""
    out = os.path.join(scratch, "callgrind.out")
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"start.py: valgrind did not run {' '.join(command)}: {done.stderr}")
    return int(found.group(1)) / 1e6


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--memtrace", required=True)
    p.add_argument("--against", help="another build, to compare with")
    p.add_argument("--pairs", type=int, default=41)
    p.add_argument("--instructions", action="store_true")
    args = p.parse_args()
    if args.instructions and shutil.which("valgrind") is None:
        sys.exit("start.py: --instructions needs valgrind")
    with tempfile.TemporaryDirectory(prefix="memtrace-bench.") as scratch:
        timed = compile_helper(scratch, "timed")
        if not timed:
            sys.exit("start.py: needs a C compiler")
        snapshot = os.path.join(scratch, "small.pickle")
        subprocess.run([sys.executable, os.path.join(HERE, "gen.py"), str(EVENTS), snapshot], stdout=subprocess.DEVNULL, check=True)
        bench = Bench(types.SimpleNamespace(pairs=args.pairs, memtrace=args.memtrace), timed, scratch)
        bench.cpu = True
        print("| report | against | memtrace | other | ratio | M instructions |\n|---|---|---|---|---|---|")
        for form in ("json", "html", "text"):
            what = ["report", "--format", form, "-o", "-", snapshot]
            others = [("start alone", [args.memtrace, "--version"])]
            if args.against:
                others.append(("the other build", [args.against, *what]))
            for name, other in others:
                ours, theirs, ratio, _, _ = bench.pair([args.memtrace, *what], other)
                counts = ""
                if args.instructions:
                    counts = f"{instructions(scratch, [args.memtrace, *what]):.1f} : {instructions(scratch, other):.1f}"
                print(f"| {form} | {name} | {ours * 1e3:.1f} ms | {theirs * 1e3:.1f} ms | {ratio:.2f} | {counts} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
