#!/usr/bin/env python3
"""What CUDA's memory events of an export of Nsight Systems say, by Python's own reading of the database: what every process held on
every card and of pinned host memory, and which calls failed. It shares nothing with the C sources.

    nsys.py FILE...                     the figures of each
    nsys.py --against PROGRAM FILE...   the same beside what the program says"""

import collections
import json
import sqlite3
import subprocess
import sys

import against

PINNED, DEVICE, ARRAY, MANAGED, STATIC = 1, 2, 3, 4, 5
ALLOCATES = ("cudaMalloc", "cudaHostAlloc", "cudaHostRegister", "cuMemAlloc", "cuMemHostAlloc", "cuMemHostRegister", "cuMemCreate")


def pid_of(globally):
    return globally >> 24 & 0xFFFFFF


class Export:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.tables = {row[0] for row in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self.peak, self.end, self.events, self.failed = collections.Counter(), collections.Counter(), 0, []
        self.option = None
        if "META_DATA_CAPTURE" in self.tables:
            said = [v for n, v in self.db.execute("SELECT name, value FROM META_DATA_CAPTURE") if n.endswith("COLLECT_GPU_MEMORY_USAGE")]
            self.option = ("true" in said) if said else None
        self.card = {}
        if "TARGET_INFO_CUDA_DEVICE" in self.tables:
            for pid, ordinal, card in self.db.execute("SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE"):
                self.card[pid, ordinal] = card
        if "CUDA_GPU_MEMORY_USAGE_EVENTS" in self.tables:
            self.play()
        if "CUPTI_ACTIVITY_KIND_RUNTIME" in self.tables:
            rows = self.db.execute("SELECT end, globalTid, value FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId "
                                   "WHERE returnValue = 2 ORDER BY end")
            self.failed = [(pid_of(tid), name) for _, tid, name in rows if name.startswith(ALLOCATES)]
        self.db.close()

    def play(self):
        """Sums of ("gpu", pid, card), ("pid", pid), ("card", card) and ("pinned", pid)."""
        live = {}
        for process, device, address, size, kind, operation in self.db.execute(
                "SELECT globalPid, deviceId, address, bytes, memKind, memoryOperationType FROM CUDA_GPU_MEMORY_USAGE_EVENTS "
                "ORDER BY start, rowid"):
            self.events += 1
            pid = pid_of(process)
            card = self.card.get((pid, device), device)
            if kind == PINNED:
                names = [("pinned", pid)]
            elif kind in (DEVICE, ARRAY, STATIC):
                names = [("gpu", pid, card), ("pid", pid), ("card", card)]
            else:
                continue
            by = size if operation == 0 else -live.pop((pid, address, kind == PINNED), 0)
            if operation == 0:
                live[pid, address, kind == PINNED] = size
            for name in names:
                self.end[name] += by
                self.peak[name] = max(self.peak[name], self.end[name])


def compare(program, path):
    e = Export(path)
    done = subprocess.run([program, "report", "--format", "json", "-o", "-", path], capture_output=True, check=False)
    err = done.stderr.decode()
    if e.events == 0 and not (e.failed and e.option):
        named = "without one memory event" if e.option else "--cuda-memory-usage=true ..."
        return [] if done.returncode == 1 and named in err else ["%s: exit status %d: %s" % (path, done.returncode, err)]
    if done.returncode not in (0, 3):
        return ["%s: exit status %d: %s" % (path, done.returncode, err)]
    job = json.loads(done.stdout)["job"]
    pids = {name[1] for name in e.peak if name[0] in ("pid", "pinned")} | {pid for pid, _ in e.failed}
    want = {
        "peaks by process": {p: e.peak["pid", p] for p in pids},
        "pinned at most": {p: e.peak["pinned", p] for p in pids},
        "pinned at the end": {p: e.end["pinned", p] for p in pids},
        "peaks by card": sorted(v for k, v in e.peak.items() if k[0] == "card" and v),
        "calls that failed": len(e.failed),
    }
    got = {
        "peaks by process": {p["pid"]: p["peak_bytes"] for p in job["processes"]},
        "pinned at most": {p["pid"]: p["pinned_peak_bytes"] for p in job["processes"]},
        "pinned at the end": {p["pid"]: p["pinned_end_bytes"] for p in job["processes"]},
        "peaks by card": sorted(card["recorded_peak_bytes"] for card in job["ledgers"] if card["recorded_peak_bytes"]),
        "calls that failed": len(job["failures"]),
    }
    return ["%s: %s: %s, not %s" % (path, what, got[what], want[what]) for what in want if got[what] != want[what]]


def show(path):
    e = Export(path)
    print(path, "%d events" % e.events, "option", e.option, "peak", dict(e.peak), "end", dict(e.end), "failed", e.failed)


if __name__ == "__main__":
    sys.exit(against.main(sys.argv[1:], compare, show))
