#!/usr/bin/env python3
"""Times memtrace against what its inputs cost other programs, and prints one Markdown table.

    run.py --memtrace build/memtrace            100,000 events: a minute or two
    run.py --memtrace build/memtrace --full     1,000,000 and 10,000,000 events; needs 12 GB of disk and a quiet machine

Times are medians of paired runs (A B A B ...), ratios are medians of the ratios of the pairs, memory is the peak resident set (wait4). The
goals hold at 1,000,000 events; below that the start-up and the writing of the report weigh more, and the verdicts are only a hint."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import gen  # noqa: E402

MIB = 1 << 20
LOAD_PICKLE = "import pickle,sys; pickle.load(open(sys.argv[1],'rb'))"
LOAD_JSON = "import json,sys; json.load(open(sys.argv[1]))"


def compile_helper(directory, name, *options, out=None):
    """The program, or None where it cannot be built."""
    out = os.path.join(directory, out or name)
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return None
    done = subprocess.run(
        [compiler, "-O2", "-o", out, os.path.join(HERE, name + ".c"), *options],
        check=False,
        stderr=subprocess.DEVNULL if "-DWITH_ISAL" in options else None,
    )
    return out if done.returncode == 0 else None


class Bench:
    def __init__(self, args, timed, scratch):
        self.args, self.timed, self.scratch, self.rows, self.failed = args, timed, scratch, [], 0
        self.cpu = False  # CPU time instead of elapsed time

    def run(self, command):
        """(seconds, peak RSS in bytes) of one run; its output goes nowhere."""
        done = subprocess.run(
            [self.timed] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )
        if done.returncode:
            sys.exit(
                "%s: exit status %d\n%s"
                % (" ".join(command), done.returncode, done.stderr.decode(errors="replace"))
            )
        elapsed, rss, cpu = done.stdout.split()
        return int(cpu if self.cpu else elapsed) / 1e9, int(rss)

    def report(self, path):
        return self.args.memtrace.split() + ["report", "--format", "json", "-o", "-", path]

    def pair(self, ours, theirs, pairs=None):
        """(our seconds, their seconds, ratio, our RSS, their RSS)"""
        self.run(ours)  # warms the page cache
        self.run(theirs)
        a, b = [], []
        for _ in range(pairs or self.args.pairs):
            a.append(self.run(ours))
            b.append(self.run(theirs))
        return (
            statistics.median(x[0] for x in a),
            statistics.median(x[0] for x in b),
            statistics.median(x[0] / y[0] for x, y in zip(a, b)),
            max(x[1] for x in a),
            max(x[1] for x in b),
        )

    def row(self, what, against, result, limit=None, rss_limit=None):
        ours, theirs, ratio, rss, other_rss = result
        good = (limit is None or ratio <= limit) and (rss_limit is None or rss <= rss_limit)
        self.failed += not good
        self.rows.append(
            (
                what,
                against,
                "%.3f s" % ours,
                "%.3f s" % theirs,
                "%.3f" % ratio,
                "" if limit is None else "<= %g" % limit,
                "%.1f MiB" % (rss / MIB),
                "" if rss_limit is None else "<= %.0f" % (rss_limit / MIB),
                "%.1f MiB" % (other_rss / MIB),
                "" if limit is None and rss_limit is None else "pass" if good else "FAIL",
            )
        )
        print("%s / %s: %.3f" % (what, against, ratio), file=sys.stderr)

    def table(self):
        head = (
            "input",
            "against",
            "memtrace",
            "other",
            "ratio",
            "goal",
            "memtrace RSS",
            "goal, MiB",
            "other RSS",
            "",
        )
        print("| " + " | ".join(head) + " |")
        print("|" + "---|" * len(head))
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


def rss_goal(events):
    return 64 * MIB if events <= 1000000 else 24 * MIB + 56 * events


def label(events):
    return "%g M" % (events / 1e6) if events >= 1000000 else "%g k" % (events / 1e3)


def parse():
    parser = argparse.ArgumentParser(description="Times memtrace against other readers of its inputs.")
    parser.add_argument(
        "--memtrace",
        default=os.path.join(HERE, "..", "..", "build", "memtrace"),
        help="the program, with options if wanted",
    )
    parser.add_argument(
        "--events", type=int, default=0, help="events of the pickle and JSON inputs (default 100,000)"
    )
    parser.add_argument("--full", action="store_true", help="1,000,000 events, growth up to 10,000,000")
    parser.add_argument("--pairs", type=int, default=5, help="paired runs (at least 5)")
    parser.add_argument(
        "--only", default="", help="comma separated: pickle, jit, json, indent, differ, gz, growth"
    )
    parser.add_argument(
        "--dir", help="where inputs are made and kept for the next run (default: a temporary directory)"
    )
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a goal is missed")
    args = parser.parse_args()
    args.events = args.events or (1000000 if args.full else 100000)
    args.pairs = max(5, args.pairs)
    args.only = set(filter(None, args.only.split(",")))
    return args


def measure(bench, directory):
    args, n = bench.args, bench.args.events

    def wanted(name):
        return not args.only or name in args.only

    def made(name, count=n, **how):
        path = os.path.join(directory, name.replace("N", str(count)))
        if not os.path.exists(path):
            print("making %s" % os.path.basename(path), file=sys.stderr)
            gen.generate(count, path + ".part", **how)
            os.replace(path + ".part", path)
        return path

    def done(path):
        if not args.dir:
            os.unlink(path)

    python = [sys.executable, "-c"]
    if wanted("pickle"):
        path = made("N.pickle")
        what = "pickle p4, %s, %.0f MB" % (label(n), os.path.getsize(path) / 1e6)
        bench.row(
            what,
            "pickle.load",
            bench.pair(bench.report(path), python + [LOAD_PICKLE, path]),
            0.1,
            rss_goal(n),
        )
        bench.row(what, "wc -l", bench.pair(bench.report(path), ["wc", "-l", path]))
        bench.row(what, "cat", bench.pair(bench.report(path), ["cat", path]))
        done(path)
    if wanted("jit"):
        path = made("N.jit.pickle", form="p2-jit")
        what = "pickle p2 (C++ pickler), %s, %.0f MB" % (label(n), os.path.getsize(path) / 1e6)
        bench.row(
            what,
            "pickle.load",
            bench.pair(bench.report(path), python + [LOAD_PICKLE, path]),
            0.1,
            rss_goal(n),
        )
        done(path)
    for name, how, limit in (
        ("json", {}, 2.5),
        ("indent", {"indent": True}, 2.5),
        ("differ", {"all_differ": True}, 5),
    ):
        if not wanted(name):
            continue
        path = made("N.%s.json" % name, form="json", **how)
        what = "JSON%s, %s, %.0f MB" % (
            {"json": "", "indent": " indent=4", "differ": ", all stacks differ"}[name],
            label(n),
            os.path.getsize(path) / 1e6,
        )
        bench.row(what, "wc -l", bench.pair(bench.report(path), ["wc", "-l", path]), limit, rss_goal(n))
        if name == "json":
            bench.row(what, "cat", bench.pair(bench.report(path), ["cat", path]))
            if n <= 200000:  # a million events take json.load 15 GB
                bench.row(what, "json.load", bench.pair(bench.report(path), python + [LOAD_JSON, path]))
        done(path)
    if wanted("gz"):
        alone = {
            "zlib": compile_helper(bench.scratch, "inflate", "-lz"),
            "ISA-L": compile_helper(bench.scratch, "inflate", "-DWITH_ISAL", "-lisal", out="inflate-isal"),
        }
        faster = "ISA-L" if alone["ISA-L"] else "zlib"
        for kind, name, form in (("pickle", "N.pickle.gz", "p4"), ("JSON", "N.json.gz", "json")):
            path = made(name, form=form, gz=True)
            what = "%s .gz, %s, %.0f MB" % (kind, label(n), os.path.getsize(path) / 1e6)
            for library, inflate in alone.items():
                if not inflate:
                    print("inflate.c does not compile here for %s: left out" % library, file=sys.stderr)
                    continue
                bench.row(
                    what,
                    "%s alone" % library,
                    bench.pair(bench.report(path), [inflate, path]),
                    1.15 if library == faster else None,
                    rss_goal(n),
                )
            bench.row(what, "gzip -dc", bench.pair(bench.report(path), ["gzip", "-dc", path]))
            done(path)
    if wanted("growth"):
        small, large = made("N.pickle"), made("N.pickle", 10 * n)
        bench.row(
            "pickle p4, %s" % label(10 * n),
            "itself at %s" % label(n),
            bench.pair(bench.report(large), bench.report(small)),
            11,
            rss_goal(10 * n),
        )
        done(small)
        done(large)


def main():
    args = parse()
    if not shutil.which(args.memtrace.split()[0]):
        sys.exit("%s: no such program; build it first or name it with --memtrace" % args.memtrace)
    with tempfile.TemporaryDirectory(prefix="memtrace-bench.") as scratch:
        timed = compile_helper(scratch, "timed")
        if not timed:
            sys.exit("no C compiler: timed.c measures time and memory")
        bench = Bench(args, timed, scratch)
        if args.dir:
            os.makedirs(args.dir, exist_ok=True)
        measure(bench, args.dir or scratch)
    bench.table()
    if args.events < 1000000:
        print("\nThe goals are set for 1 M events (--full).")
    return 1 if args.strict and bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
