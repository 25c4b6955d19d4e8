#!/usr/bin/env python3
"""Tickets whose cause only the driver sees: each job is played by processes that call the fake driver as the libraries of the ticket do,
recorded with `memtrace capture`, reported, and compared with what the ticket says (driver_tickets.py).

    test_driver_scenarios.py [--table] [--keep DIR] [NAME...]

What the report does not say yet is listed in driver_disagreements.py; what has come to agree fails the test until it is taken out."""

import argparse
import base64
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
MOCK = HERE.parent / "mock"
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(MOCK)]

import kit  # noqa: E402
from driver_disagreements import KNOWN  # noqa: E402
from driver_tickets import TICKETS  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
CALLS = {"cuMemAlloc": "mem_alloc", "cuMemCreate": "vmm_create"}  # as the report names them
HOLDERS = {"libc10_cuda.so": "torch", "cumem_allocator.abi3.so": "engine", "torch_memory_saver.abi3.so": "engine", "libnccl.so.2": "nccl",
           "libcublas.so.12": "math"}
LIBRARIES = {"torch": "libc10_cuda.so"}  # all of PyTorch is one owner: the report does not say which of its libraries
QUIET = 30 * 10**6  # ns before and after a moment (TICK in driver_play.py)
RECORDED = ("torch", "engine", "nccl", "math", "graphs", "context", "library", "unknown")


class Checks:
    def __init__(self, name):
        self.name, self.passed, self.failed = name, [], {}

    def say(self, what, good, *detail):
        if good:
            self.passed.append(what)
        else:
            self.failed.setdefault(what, " ".join(str(d) for d in detail)[:600])

    def equal(self, what, got, want):
        self.say(what, got == want, f"{got!r}, not {want!r}")


def play(t, folder):
    """(exit status of the recording, the trace, what the processes said they held)"""
    truth, trace, state = folder / "truth", folder / "t.gz", folder / "state"
    truth.mkdir(parents=True)
    state.write_bytes(bytes(1 << 20))
    env = kit.environment(injected=False, FAKE_TOTAL_MB=t.card, FAKE_STATE=state, FAKE_TORCH_CUDA="libcuda.so.1", MEMTRACE_SAMPLE_MS=50,
                          PYTHONPATH=MOCK / "python/fake_torch", PYTHONDONTWRITEBYTECODE=1, PLAY_OWNERS=kit.MOCK / "owners",
                          PLAY_TRUTH=truth, PLAY_MOCK=MOCK, PLAY_APP=kit.APP, **t.env)
    done = subprocess.run([MEMTRACE, "capture", "-q", "-o", str(trace), "--", sys.executable, str(HERE / "driver_play.py"), t.name, "main",
                           *t.words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=env, timeout=120)
    said = []
    for path in sorted(truth.glob("*.jsonl")):
        said += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return done, trace, sorted(said, key=lambda line: line["time_ns"])


def adds_up(job, checks):
    """Used = recorded + other + unexplained, in every column, sample and at the focus."""
    bad = []
    for ledger in job["ledgers"]:
        columns, focus = ledger["columns"], ledger["focus"]
        for i, used in enumerate(columns["used"]):
            if used is not None and used != sum(columns[h][i] for h in RECORDED) + columns["other"][i] + columns["unexplained"][i]:
                bad.append(("column", i))
        bad += [c for c in ledger["checks"] if c["used_bytes"] != c["recorded_bytes"] + c["other_bytes"] + c["unexplained_bytes"]]
        if sum(r["bytes"] for r in focus["rows"]) != (focus["recorded_bytes"] if focus["used_bytes"] is None else focus["used_bytes"]):
            bad.append(focus)
    checks.say("sums", job["ledgers"] and not bad, bad[:3])


def moments(job, said, checks):
    """At each moment that a process wrote down: the columns of all GPUs together against what all processes held."""
    held, wrong, seen = {}, [], 0
    if any(ledger["last_time_ns"] - ledger["first_time_ns"] > 480 * QUIET for ledger in job["ledgers"]):
        return  # on a machine this slow a column is wider than the time in which nothing moves
    for line in said:
        held[line["pid"]] = line["held"]
        if line["name"] is None:
            continue
        true = collections.Counter()
        for one in held.values():
            for library, n in one.items():
                true[HOLDERS[library]] += n
        got = collections.Counter()
        for ledger in job["ledgers"]:
            columns = ledger["columns"]
            at = (line["time_ns"] - ledger["first_time_ns"]) // ((ledger["last_time_ns"] - ledger["first_time_ns"]) // 480 + 1)
            for h in set(HOLDERS.values()):
                got[h] += columns[h][at] if 0 <= at < len(columns[h]) else 0
        seen += 1
        if +got != +true:
            wrong.append((line["name"], dict(+got), dict(+true)))
    checks.say("moments", seen and not wrong, seen, wrong[:3])


def failures(t, job, checks):
    got = job["failures"]
    checks.equal("failures", len(got), len(t.failures))
    for n, (f, want) in enumerate(zip(got, t.failures)):
        at = "failure%s:" % (n + 1 if len(t.failures) > 1 else "")
        for key in ("holder", "phase", "in_wake", "fatal"):
            checks.equal(at + key, f[key], want[key])
        checks.equal(at + "library", f["library"] or LIBRARIES.get(f["holder"]), want["library"])
        checks.equal(at + "call", f["call"], CALLS.get(want["call"], want["call"]))
        if want["request_bytes"] is not None:
            checks.equal(at + "request", f["request_bytes"], want["request_bytes"])
        if want["fatal"] or want["survived"]:  # of others the ticket does not say
            checks.equal(at + "survived", f["survived"], want["survived"])
        for holder, n_bytes in want["held"].items():
            checks.equal(at + "held:" + holder, f["held_bytes"].get(holder, 0), n_bytes)


def sleeps(t, job, checks):
    kinds = {s[1] for s in t.sleeps} or {"sleep"}
    got = [(s["holder"], s["is"], s["bytes"], s["left_bytes"]) for s in job["sleeps"]
           if s["is"] in kinds and (s["holder"] == "engine" or not t.sleeps)]
    checks.equal("sleeps", got, list(t.sleeps))


def compare(t, report, said, checks):
    job = report["job"]
    adds_up(job, checks)
    moments(job, said, checks)
    failures(t, job, checks)
    fatal = [f for f in t.failures if f["fatal"]]
    checks.equal("kind", job["kind"], "oom" if fatal else "peak")
    if fatal:
        shown, want = job["failures"][job["failure"]] if job["failure"] is not None else {}, fatal[0]
        checks.equal("verdict", (shown.get("holder"), shown.get("phase"), shown.get("fatal")), (want["holder"], want["phase"], True))
        checks.say("because", ("no trace in a PyTorch snapshot" in job["because"]) == (want["holder"] != "torch"), job["because"])
    if t.sleeps is not None:
        sleeps(t, job, checks)
    cause = report["cause"] or {}
    checks.say("cause", cause.get("id") in t.cause, cause.get("id"), "not", "/".join(t.cause), "-", cause.get("sentence"))
    lint = {one["id"] for one in report["lint"]}
    for one in t.lint:
        checks.say("lint:" + one, one in lint, "not among", sorted(lint))
    if t.first:
        top = [a["id"] for a in report["advice"] if a["top"]]
        checks.say("first", top and top[0] in t.first, top, "not", "/".join(t.first))
    for one in t.not_lint:
        checks.say("no-lint:" + one, one not in lint, sorted(lint))
    if t.reconciled is not None:
        got = [{k: r[k] for k in t.reconciled} for r in job["reconciled"]]  # of the failure, and of the end
        checks.equal("reconciled", [r for n, r in enumerate(got) if r not in got[:n]], [t.reconciled])
        checks.say("reconciled:sums", all(r["adds_up"] for r in job["reconciled"]), job["reconciled"])
    others = [c["other_bytes"] for ledger in job["ledgers"] for c in ledger["checks"]]
    checks.say("foreign", others and set(others) == {t.others}, sorted(set(others)), "not", t.others)
    for what, wrong in t.more:
        try:
            bad = wrong(report)
        except (KeyError, IndexError, ValueError) as error:  # what is asked about is not there
            bad = repr(error)
        checks.say(what, not bad, bad)


def varint(data, at):
    value = shift = 0
    while True:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def varints(data):
    out, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def columns_of(data):
    n, at = varint(data, 0)
    lengths, out = [], []
    for _ in range(n):
        length, at = varint(data, at)
        lengths.append(length)
    for length in lengths:
        out.append(data[at : at + length])
        at += length
    return out


def ranges_in_page(page):
    """Names, begins and ends (ns) of the NVTX ranges of the first track, as the page's script would read them."""
    track = json.loads(re.search(r'id="mt-index">(.*?)</script>', page, re.S).group(1))["tracks"][0]
    block = re.search(r'id="mt-t0-n">([^<]*)<', page)
    if block is None:
        return track, []
    columns = columns_of(zlib.decompress(base64.b64decode(block.group(1))))
    names, text, where = [], columns[5], 0
    for n in varints(columns[4]):
        names.append(text[where : where + n].decode())
        where += n
    t0, tick, out, before = int(track["time"]["t0_ns"]), track["time"]["tick_ns"], [], 0
    for name, first, length, _ in zip(*map(varints, columns[:4])):
        before += first
        out.append((names[name], t0 + before * tick, t0 + (before + length) * tick))
    return track, out


def nvtx_in_page(trace, folder, checks):
    """Every range of the process that overlaps its snapshot is in the page's timeline, at its time."""
    page = folder / "report.html"
    subprocess.run([MEMTRACE, "report", str(trace), "-o", str(page), "--force", "-q"], check=True, timeout=60)
    track, got = ranges_in_page(page.read_text())
    dump = subprocess.run([MEMTRACE, "dump", str(trace)], stdout=subprocess.PIPE, check=False, timeout=60).stdout.splitlines()
    lines = [json.loads(line) for line in dump]
    begin, tick = int(track["time"]["t0_ns"]), track["time"]["tick_ns"]
    end = begin + track["time"]["end"] * tick
    want = [(one["name"], max(one["t0_ns"], begin), min(one["t1_ns"] or end, end)) for one in lines if one["type"] == "range"]
    want = sorted((w for w in want if w[2] - w[1] >= 2 * tick), key=lambda w: (w[1], -w[2]))
    near = [g for g in got if g[2] - g[1] >= 2 * tick]
    checks.say("nvtx-in-page", want and [w[0] for w in want] == [g[0] for g in near] and all(
        abs(w[1] - g[1]) <= tick and abs(w[2] - g[2]) <= tick for w, g in zip(want, near)), want, "not", near)


def run_one(t, folder):
    checks = Checks(t.name)
    done, trace, said = play(t, folder)
    checks.say("played", done.returncode == t.status, done.returncode, done.stderr.decode("utf-8", "replace")[-400:])
    made = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=60)
    if made.returncode != 0:
        checks.say("report", False, made.returncode, made.stderr.decode("utf-8", "replace"))
        return checks
    (folder / "report.json").write_bytes(made.stdout)
    compare(t, json.loads(made.stdout), said, checks)
    if t.name == "t01-expandable-segments-defeat-sleep":
        nvtx_in_page(trace, folder, checks)
    if t.log:
        (folder / "host.log").write_text(t.log)
        made = subprocess.run([MEMTRACE, "report", str(trace), "--log", str(folder / "host.log"), "--format", "json", "-o", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=60)
        cause = json.loads(made.stdout)["cause"] if made.returncode == 0 else None
        checks.say("cause-with-log", (cause or {}).get("id") == t.log_cause, cause, "not", t.log_cause)
    return checks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print every disagreement, known or not")
    parser.add_argument("--keep", help="leave traces and reports in this folder, which must be new")
    parser.add_argument("names", nargs="*", help="only scenarios whose name contains one of these")
    args = parser.parse_args()
    kit.need(kit.LIB, kit.APP, kit.MOCK / "owners", MEMTRACE)
    if kit.SANITIZED:
        kit.skip_all("a sanitizer build of the recorder cannot be loaded by python")
    began, results = time.monotonic(), []
    for t in TICKETS:
        if args.names and not any(n in t.name for n in args.names):
            continue
        results.append(run_one(t, (pathlib.Path(args.keep) if args.keep else kit.scratch()) / t.name))
    kit.clean()
    names = {c.name for c in results}
    news = 0
    for c in results:
        for what, detail in c.failed.items():
            known = KNOWN.get((c.name, what))
            news += known is None
            if known is None or args.table:
                print("%s %s: %s: %s%s" % ("KNOWN" if known else "DISAGREES", c.name, what, detail, " (%s)" % known if known else ""))
    passed = {(c.name, what) for c in results for what in c.passed if what not in c.failed}
    gone = [k for k in KNOWN if k in passed or (not args.names and (k[0] not in names or k[1] not in
                                                                   {w for c in results if c.name == k[0] for w in c.failed}))]
    for key in gone:
        print("AGREES AGAIN, or is gone: %s: %s: take it out of driver_disagreements.py" % key)
    failed = sum(len(c.failed) for c in results)
    print("%d scenarios, %d checks agree, %d disagree (%d known), %.1f s"
          % (len(results), len(passed), failed, failed - news, time.monotonic() - began))
    return 1 if news or gone or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
