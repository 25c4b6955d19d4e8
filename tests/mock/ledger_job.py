"""A job in Python for test_ledger.py: a parent that marks phases and never touches a GPU, and spawned workers whose torch is the fake
one and whose calls go to the fake libcuda through libraries named like the real ones. Each worker's snapshot lists what PyTorch holds;
what every owner holds is written to LEDGER_TRUTH/RANK.json.

LEDGER_OWNERS: folder of the fake libraries. LEDGER_FAIL: rank whose NCCL asks for more than there is during update_weights. LEDGER_TICK: ms."""
import ctypes
import json
import multiprocessing
import os
import pathlib
import sys
import time

MB = 1 << 20
TICK = int(os.environ.get("LEDGER_TICK", "50")) / 1000  # how long what is to be seen stays
NEVER_SEEN = 0x123400000000  # a segment of PyTorch for which no call is made


class Driver:
    """Calls into libcuda from the library of an owner, so that the native stack shows who it was; owner None: from Python."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.folder = pathlib.Path(os.environ["LEDGER_OWNERS"])
        self.owners = {}
        context = ctypes.c_uint64()
        self.must(None, "cuDevicePrimaryCtxRetain", ctypes.addressof(context), 0)
        self.must(None, "cuCtxSetCurrent", context.value)

    def call(self, owner, name, *words):
        f = getattr(self.cuda, name)
        if owner is None:
            return f(*[ctypes.c_uint64(w) for w in words])
        if owner not in self.owners:
            self.owners[owner] = ctypes.CDLL(str(self.folder / owner)).fake_owner_call
        return self.owners[owner](ctypes.cast(f, ctypes.c_void_p), (ctypes.c_uint64 * 8)(*words))

    def must(self, owner, name, *words):
        result = self.call(owner, name, *words)
        if result:
            sys.exit(f"{name}: error {result}")

    def alloc(self, owner, size):
        p = ctypes.c_uint64()
        self.must(owner, "cuMemAlloc_v2", ctypes.addressof(p), size)
        return p.value

    def reserve(self, owner, size):
        p = ctypes.c_uint64()
        self.must(owner, "cuMemAddressReserve", ctypes.addressof(p), size, 0, 0, 0)
        return p.value

    def create(self, owner, size):
        """(result, handle) of physical memory on device 0"""
        h, prop = ctypes.c_uint64(), (ctypes.c_uint32 * 8)(1, 0, 1, 0)
        return self.call(owner, "cuMemCreate", ctypes.addressof(h), size, ctypes.addressof(prop), 0), h.value

    def map(self, owner, at, size):
        result, h = self.create(owner, size)
        if result:
            sys.exit(f"cuMemCreate: error {result}")
        self.must(owner, "cuMemMap", at, size, 0, h, 0)
        return h

    def unmap(self, owner, at, size, h):
        self.must(owner, "cuMemUnmap", at, size)
        self.must(owner, "cuMemRelease", h)


class Allocator:
    """PyTorch's view: its segments, and their history."""

    def __init__(self):
        self.segments, self.trace = {}, []

    def note(self, action, addr, size):
        self.trace.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time.time_ns() // 1000, "device": 0,
                           "frames": [{"filename": "actor.py", "line": 7, "name": "update_actor"}]})

    def add(self, addr, size, pool=(0, 0), expandable=False, noted=True):
        if noted:
            self.note("segment_map" if expandable else "segment_alloc", addr, size)
            self.note("alloc", addr, size)
        self.segments[addr] = (size, pool, expandable)

    def remove(self, addr):
        size, _, expandable = self.segments.pop(addr)
        self.note("free_requested", addr, size)
        self.note("free_completed", addr, size)
        self.note("segment_unmap" if expandable else "segment_free", addr, size)

    def snapshot(self, device=None):
        segments = [{"device": 0, "address": a, "total_size": n, "allocated_size": n, "active_size": n, "requested_size": n, "stream": 0,
                     "segment_type": "large", "segment_pool_id": pool, "is_expandable": expandable, "frames": [],
                     "blocks": [{"address": a, "size": n, "requested_size": n, "state": "active_allocated", "frames": []}]}
                    for a, (n, pool, expandable) in sorted(self.segments.items())]
        return {"segments": segments, "device_traces": [self.trace], "allocator_settings": {}, "external_annotations": []}


def worker(rank, pipe):
    import torch

    torch.cuda.init()
    driver, mine = Driver(), Allocator()
    torch.cuda.memory._snapshot = mine.snapshot
    torch_lib, engine, nccl, math = "libc10_cuda.so", "cumem_allocator.abi3.so", "libnccl.so.2", "libcublas.so.12"

    for size in (64 * MB, 64 * MB, 128 * MB, 32 * MB):
        mine.add(driver.alloc(torch_lib, size), size)
    gone = list(mine.segments)[1]
    driver.must(torch_lib, "cuMemFree_v2", gone)
    mine.remove(gone)
    base = driver.reserve(torch_lib, 1024 * MB)  # an expandable segment: three pieces, the last of which goes
    pieces = [driver.map(torch_lib, base + i * 20 * MB, 20 * MB) for i in range(3)]
    for i in range(3):
        mine.add(base + i * 20 * MB, 20 * MB, expandable=True)
    driver.unmap(torch_lib, base + 40 * MB, 20 * MB, pieces[2])
    mine.remove(base + 40 * MB)
    mine.add(driver.alloc(None, 8 * MB), 8 * MB)  # known to be PyTorch's only by the address
    mine.add(NEVER_SEEN, 2 * MB, noted=False)
    driver.alloc(nccl, 48 * MB)
    driver.alloc(math, 16 * MB)
    driver.alloc(None, 6 * MB)  # somebody else's
    regions = [driver.reserve(engine, 96 * MB) for _ in range(4)]  # vLLM: a pool of PyTorch's in memory of the engine
    handles = [driver.map(engine, at, 96 * MB) for at in regions]
    for at in regions:
        mine.add(at, 96 * MB, pool=(1, 7))
    pipe.send("ready")
    pipe.recv()  # the parent is in "gen"
    time.sleep(TICK)
    pipe.send("generated")
    pipe.recv()  # and now in "update_weights"
    for at, h in zip(regions[1:], handles[1:]):
        driver.unmap(engine, at, 96 * MB, h)
    held = {"torch": (64 + 128 + 32 + 40 + 8) * MB, "engine": 96 * MB, "nccl": 48 * MB, "math": 16 * MB, "library": 6 * MB,
            "believed": sum(s[0] for s in mine.segments.values()), "asleep": 3 * 96 * MB, "unseen": 2 * MB, "pid": os.getpid(),
            "time_ns": time.time_ns()}
    with open(os.path.join(os.environ["LEDGER_TRUTH"], f"{rank}.json"), "w", encoding="utf-8") as f:
        json.dump(held, f)
    time.sleep(TICK)
    if os.environ.get("LEDGER_FAIL") == str(rank):
        result, _ = driver.create(nccl, 1 << 40)
        pipe.send("failed")
        pipe.recv()
        sys.exit(f"NCCL: error {result}")
    pipe.send("done")
    pipe.recv()


def main():
    mt = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]) if "MEMTRACE_SPOOL" in os.environ else None
    ranks, pipes, children = int(sys.argv[1]), [], []
    spawn = multiprocessing.get_context("spawn")

    def everybody(word=None):
        for pipe in pipes:
            if word:
                pipe.send(word)
        for pipe in pipes:
            pipe.recv()

    if mt:
        mt.memtrace_push(b"step")
    for rank in range(ranks):
        here, there = spawn.Pipe()
        os.environ["RANK"] = str(rank)
        children.append(spawn.Process(target=worker, args=(rank, there)))
        children[-1].start()
        pipes.append(here)
    everybody()
    for phase in (b"gen", b"update_weights"):
        if mt:
            mt.memtrace_push(phase)
        everybody("go on")
        if mt:
            mt.memtrace_pop()
    if mt:
        mt.memtrace_pop()
    for pipe in pipes:
        pipe.send("end")
    for child in children:
        child.join()
    sys.exit(any(child.exitcode for child in children))


if __name__ == "__main__":
    main()
