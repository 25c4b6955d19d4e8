#!/usr/bin/env python3
"""Makes samples/nsys: exports of Nsight Systems (nsys export --type sqlite) of an imitated job: a trainer and an engine on two cards,
NVTX ranges, a pool of cudaMallocAsync, pinned memory, a call that failed. Tables and columns as in exports of 2024.6 (schema 3.16).

    make_nsys.py            writes the files and, in truth.json, what is in them by this script's own sum
    make_nsys.py --check    makes them anew and compares what is in the tables, row by row"""

import argparse
import json
import os
import sqlite3
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCH = 1767322800000000000
MIB = 1 << 20
MS = 1000000
PINNED, DEVICE, MANAGED = 1, 2, 4
KINDS = ["PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN"]


def global_pid(pid):
    return 1 << 48 | pid << 24


class Export:
    """One export. Every event is noted beside its row, for the truth."""

    def __init__(self, path, memory=True, epoch=EPOCH):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript("PRAGMA page_size = 1024; PRAGMA journal_mode = MEMORY;")
        self.strings, self.correlation = {}, 0
        self.live, self.held, self.peak = {}, {}, {}
        self.make("StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL")
        self.make("META_DATA_EXPORT", "name TEXT NOT NULL, value TEXT")
        self.row("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "2024.6.2.225")
        self.row("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "3.16.1")
        self.make("ENUM_CUDA_MEM_KIND", "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT")
        for i, kind in enumerate(KINDS):
            self.row("ENUM_CUDA_MEM_KIND", i, "CUDA_MEMOPR_MEMORY_KIND_" + kind, kind.replace("_", " ").title())
        self.make("TARGET_INFO_SYSTEM_ENV", "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, "
                  "value TEXT NOT NULL")
        self.row("TARGET_INFO_SYSTEM_ENV", 1 << 48, "TargetInfoSystemEnv", "Hostname", 0, "node7")
        if epoch:
            self.make("TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT")
            self.row("TARGET_INFO_SESSION_START_TIME", epoch, "2026-01-02 03:00:00", "2026-01-02 03:00:00")
        self.make("TARGET_INFO_GPU", "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER, "
                  "totalMemory INTEGER, uuid TEXT")
        self.make("TARGET_INFO_CUDA_DEVICE", "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER")
        self.make("PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT")
        self.make("CUPTI_ACTIVITY_KIND_RUNTIME", "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
                  "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER")
        if memory:
            self.make("CUDA_GPU_MEMORY_USAGE_EVENTS", "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                      "contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER "
                      "NOT NULL, memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER, "
                      "localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, "
                      "localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER")
        self.make("NVTX_EVENTS", "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color "
                  "INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER")

    def make(self, table, columns):
        self.db.execute("CREATE TABLE %s (%s)" % (table, columns))

    def row(self, table, *values):
        self.db.execute("INSERT INTO %s VALUES (%s)" % (table, ",".join("?" * len(values))), values)

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.row("StringIds", self.strings[text], text)
        return self.strings[text]

    def option(self, on):
        """What nsys notes of the command since 2024."""
        self.make("META_DATA_CAPTURE", "name TEXT NOT NULL, value TEXT")
        self.row("META_DATA_CAPTURE", "PROCESS_0:COLLECT_GPU_MEMORY_USAGE", "true" if on else "false")

    def card(self, number, bus, uuid):
        self.row("TARGET_INFO_GPU", 1 << 48, number, "NVIDIA H100 80GB HBM3", bus, 1, 80 << 30, uuid)

    def process(self, pid, name, cards):
        self.row("PROCESSES", global_pid(pid), pid, name)
        for i, card in enumerate(cards):
            self.row("TARGET_INFO_CUDA_DEVICE", card, i, pid, None, 132)

    def api(self, pid, ms, name, returned=0):
        self.correlation += 1
        self.row("CUPTI_ACTIVITY_KIND_RUNTIME", ms * MS, ms * MS + 20000, 0, global_pid(pid) | pid, self.correlation, self.string(name),
                 returned, None)

    def memory(self, pid, ms, address, size, operation=0, kind=DEVICE, device=0, pool=None):
        self.api(pid, ms, {PINNED: "cudaHostAlloc_v3020", MANAGED: "cudaMallocManaged_v6000"}.get(kind, "cudaMalloc_v3020")
                 if operation == 0 else "cudaFree_v3020")
        self.row("CUDA_GPU_MEMORY_USAGE_EVENTS", ms * MS + 10000, global_pid(pid), device, 1, address, 0, size, kind, operation, None,
                 self.correlation, 7, pool, None, None, None, None, None)
        where = "pinned %d" % pid if kind == PINNED else "device %d of %d" % (device, pid)
        if operation == 0:
            self.live[pid, address] = size
            self.held[where] = self.held.get(where, 0) + size
        else:
            self.held[where] -= self.live.pop((pid, address), 0)
        self.peak[where] = max(self.peak.get(where, 0), self.held[where])

    def range(self, pid, begin, end, text, by_id=True, kind=59):
        self.row("NVTX_EVENTS", begin * MS, None if end is None else end * MS, kind, None, None, None, None if by_id else text,
                 global_pid(pid) | pid, None, self.string(text) if by_id else None, 0)

    def done(self):
        self.db.execute("VACUUM")
        self.db.close()
        return {"peak": self.peak, "end": self.held}


def job(e):
    """A trainer (pid 4711) and an engine (4800) share card 1; the trainer sees it as device 0, the engine as device 1."""
    e.card(0, "0000:1a:00.0", "GPU-aaaaaaaa-0000-0000-0000-000000000000")
    e.card(1, "0000:3b:00.0", "GPU-bbbbbbbb-0000-0000-0000-000000000000")
    e.process(4711, "/usr/bin/python3.11", [1])
    e.process(4800, "/opt/vllm/bin/VLLM::EngineCore", [0, 1])
    for i in range(20):
        e.memory(4800, 10 + i, 0x7F0000000000 + i * 0x40000000, 1024 * MIB, device=1)
    e.range(4711, 40, 400, "actor update")
    e.range(4711, 60, 200, "forward", by_id=False)
    e.range(4711, 200, None, "backward")
    e.memory(4711, 45, 0x600000000000, 512 * MIB, kind=PINNED)
    for i in range(40):
        e.memory(4711, 61 + 3 * i, 0x500000000000 + i * 0x40000000, 900 * MIB + 4096 * i)
    for i in range(30, 40):
        e.memory(4711, 201 + i, 0x500000000000 + i * 0x40000000, 900 * MIB + 4096 * i, operation=1)
    for i in range(12):
        e.memory(4711, 250 + i, 0x300000000000 + i * 0x8000000, 96 * MIB, pool=0x200000000000)
    for i in range(4):
        e.memory(4711, 270 + i, 0x300000000000 + i * 0x8000000, 96 * MIB, operation=1, pool=0x200000000000)
    e.memory(4711, 280, 0x310000000000, 64 * MIB, kind=MANAGED)
    e.memory(4711, 281, 0x310000000000, 64 * MIB, operation=1, kind=MANAGED)
    for i in range(25):
        e.memory(4711, 300 + i, 0x400000000000 + i * 0x40000000, 1000 * MIB)
    e.api(4711, 330, "cudaMalloc_v3020", returned=2)


def make(folder):
    truth = {}
    e = Export(os.path.join(folder, "job.sqlite"))
    job(e)
    truth["job.sqlite"] = e.done()
    e = Export(os.path.join(folder, "no_memory.sqlite"), memory=False)
    e.api(4711, 5, "cudaMalloc_v3020")
    e.done()
    # the first call fails: the export then has no table of memory events
    e = Export(os.path.join(folder, "failed_first.sqlite"), memory=False)
    e.option(True)
    e.card(0, "0000:1a:00.0", "GPU-aaaaaaaa-0000-0000-0000-000000000000")
    e.process(4711, "/usr/bin/python3.11", [0])
    e.api(4711, 5, "cudaHostAlloc_v3020", returned=2)
    e.done()
    return truth


def rows(path):
    with open(path, "rb") as file:
        assert file.read(16) == b"SQLite format 3\0", path
    return list(sqlite3.connect(path).iterdump())


def main():
    parser = argparse.ArgumentParser(description="Makes the exports of Nsight Systems in samples/nsys.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    there = os.path.join(HERE, "nsys")
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        truth = json.dumps(make(folder), indent=1, sort_keys=True) + "\n"
        if not args.check:
            os.makedirs(there, exist_ok=True)
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), "rb") as file, open(os.path.join(there, name), "wb") as to:
                    to.write(file.read())
            with open(os.path.join(there, "truth.json"), "w", encoding="ascii") as file:
                file.write(truth)
            return 0
        for name in sorted(os.listdir(folder)):
            if rows(os.path.join(folder, name)) != rows(os.path.join(there, name)):
                different += 1
                print("%s: differs from what this script makes" % name)
    with open(os.path.join(there, "truth.json"), encoding="ascii") as file:
        if file.read() != truth:
            different += 1
            print("truth.json: differs from what this script makes")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
