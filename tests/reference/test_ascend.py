#!/usr/bin/env python3
"""Every table of torch_npu's profiler in samples/ascend, against ascend.py, to the byte; what memory_record.csv says of the same job; both in
one folder; the snapshot of the same job."""

import csv
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(ROOT / "samples"))
import ascend  # noqa: E402
from imitate import training  # noqa: E402
from imitate.profiler import memory_events  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE", str(ROOT / "build" / "memtrace"))
FOLDER = ROOT / "samples" / "ascend"
FAILED = []


def check(what, ok, *more):
    print("ok" if ok else "not ok", "-", what, *(more if not ok else ()))
    if not ok:
        FAILED.append(what)


def report(*paths):
    done = subprocess.run([MEMTRACE, "report", "--format", "json", "-o", "-", *map(str, paths)], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode in (0, 3) else None, done.stderr.decode()


def samples():
    done = subprocess.run([sys.executable, str(ROOT / "samples" / "make_ascend.py"), "--check"], capture_output=True, check=False)
    check("the samples are what make_ascend.py makes", done.returncode == 0, done.stdout.decode())
    for name in ("operator_memory.csv", "operator_memory_2023.csv"):
        wrong = ascend.compare(MEMTRACE, str(FOLDER / name))
        check("%s equals the reference to the byte" % name, not wrong, *wrong)


def the_job():
    """PyTorch's own pool is the allocator's of the snapshot: its highest sum is the table's."""
    most = max(e[5] for e in memory_events(training.fsdp_finetune(steps=1, layers=2)) if e[4] is not None)
    _, old, _ = report(FOLDER / "operator_memory_2023.csv")
    check("the peak is the allocator's own", old["devices"][0]["live_peak_bytes"] == most, old["devices"][0]["live_peak_bytes"], most)
    _, new, _ = report(FOLDER / "operator_memory.csv")
    check("the holder is the operator", new["owners"][0]["label"].startswith("aten::"), new["owners"][0]["label"])


def record():
    """The highest of every part, and what is read beside the table."""
    with open(FOLDER / "memory_record.csv", newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    rc, alone, err = report(FOLDER / "memory_record.csv")
    check("memory_record.csv alone is a report", rc == 0, rc, err)
    facts = [f for log in alone["logs"] for f in log["facts"] if f["kind"] == "npu_record"]
    check("a fact for each part, not for the sum of two", len(facts) == 3, facts)
    for part in ("PTA", "GE", "APP"):
        reserved = max(float(r["Total Reserved(MB)"]) for r in rows if r["Component"] == part)
        line = 2 + next(i for i, r in enumerate(rows) if r["Component"] == part and float(r["Total Reserved(MB)"]) == reserved)
        fact = [f for f in facts if f["says"].startswith("torch_npu's profiler: %s," % part)]
        words = "%.2f GiB" % (reserved / 1024) if reserved >= 1024 else "%.1f MiB" % reserved
        check("%s: %s in line %d" % (part, words, line), len(fact) == 1 and fact[0]["line"] == line and words in fact[0]["says"], fact)
    rc, both, err = report(FOLDER / "memory_record.csv", FOLDER / "operator_memory.csv")
    check("both together: the table speaks, the record stands beside it", rc == 0 and both["verdict"]["input"].endswith("operator_memory.csv"), rc, err)
    check("and says the process's own", any(f["kind"] == "npu_record" for log in both["logs"] for f in log["facts"]))


samples()
the_job()
record()
sys.exit(1 if FAILED else 0)
