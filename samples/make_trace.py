#!/usr/bin/env python3
"""Makes driver_v1.trace.gz: a trace of driver calls in version 1 of the format (docs/trace-format.md). Nothing is recorded: it is written
by hand, with every record type, two processes, a snapshot and a text attached, symbols, a chunk that is there twice.

    make_trace.py            writes the file
    make_trace.py --check    compares it with what is there; exit status 1 when it differs

The trace is kept: what this script writes must stay the same, and every later version of memtrace must read it."""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from imitate import encode, training, wire  # noqa: E402
from imitate.wire import text, zigzag  # noqa: E402

NAME = "driver_v1.trace.gz"
MIB = 1 << 20
T0 = 1764500000000000000  # REALTIME at MONOTONIC 10**12; the snapshot inside begins 32 us later
MONO = 10**12
TRAINER, WORKER = 0x187CD6A1B2C3D4E5, 0x187CD6A1B2F00042
UUID = "GPU-5d0c1f6e-0b7a-4c1e-9a55-2f6d8b3e7c10"
MODULES = [
    ("/usr/bin/python3.11", 0x555555000000, b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14"),
    ("/opt/torch/lib/libc10_cuda.so", 0x7F2A10000000, b"\xc1" * 20),
    ("/opt/torch/lib/libtorch_cuda.so", 0x7F2A20000000, b"\xc2" * 20),
    ("/opt/vllm/cumem_allocator.abi3.so", 0x7F2A30000000, b"\xc3" * 20),
    ("/opt/nvidia/lib/libnccl.so.2 (deleted)", 0x7F2A40000000, b"\xc4" * 20),
    ("/opt/nvidia/lib/libcublasLt.so.13", 0x7F2A50000000, b""),
    ("/usr/lib/libcuda.so.1", 0x7F2A60000000, b"\xc6" * 20),
]
PYTHON, C10, TORCH, CUMEM, NCCL, CUBLAS, CUDA = range(1, 8)
# Innermost first: (module, offset).
STACKS = [
    [(CUDA, 0x1000), (C10, 0x2A10), (TORCH, 0x9000), (PYTHON, 0x4000)],
    [(CUDA, 0x1400), (CUMEM, 0x1180), (TORCH, 0x9100), (PYTHON, 0x4000)],
    [(CUDA, 0x1000), (NCCL, 0x7700), (NCCL, 0x8800), (TORCH, 0x9200), (PYTHON, 0x4000)],
    [(CUDA, 0x1000), (CUBLAS, 0x600), (TORCH, 0x9300), (PYTHON, 0x4000)],
    [(CUDA, 0x1800), (TORCH, 0x9400), (0, 0x7FFE12345678), (PYTHON, 0x4000)],
]
S_TORCH, S_CUMEM, S_NCCL, S_CUBLAS, S_GRAPH = range(1, 6)
SYMBOLS = [
    (C10, 0x2A10, "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::alloc_block(...)", "CUDACachingAllocator.cpp", 2600),
    (TORCH, 0x9000, "at::native::empty_cuda(c10::ArrayRef<long>)", "", 0),
    (CUMEM, 0x1180, "create_and_map(unsigned long long, long, unsigned long long, unsigned long long*)", "cumem_allocator.cpp", 104),
    (NCCL, 0x7700, "ncclCudaMalloc<char>", "alloc.h", 310),
    (PYTHON, 0x4000, "_PyEval_EvalFrameDefault", "ceval.c", 1540),
]


def identity(chunk, pid, ppid, argv, env):
    for key, value in (("pid", pid), ("ppid", ppid), ("host", "node7"), ("exe", "/usr/bin/python3.11"), ("argc", len(argv))):
        chunk.attr(key, value)
    for i, arg in enumerate(argv):
        chunk.attr("argv.%d" % i, arg)
    chunk.attr("start_realtime_ns", chunk.realtime)
    chunk.attr("boot_id", "3f6c2b1e-7c1d-4d53-9c39-d4f0b8a86f11")
    for name, value in env:
        chunk.attr("env." + name, value)


def trainer():
    """The process that drives the job: no GPU, NVTX ranges and marks."""
    pid, at = 4100, MONO - 3 * 10**9
    first = wire.Chunk(TRAINER, 0, wire.PROCESS, pid, T0 - 3 * 10**9, at)
    identity(
        first,
        pid,
        4000,
        ["python3", "-m", "verl.trainer.main_ppo", "actor.optim.lr=1e-6", "trainer.project_name=it's a test", "api_key=[redacted]"],
        [("CUDA_VISIBLE_DEVICES", "")],
    )
    first.timed(wire.STATUS, at + 1000, pid, 1, 0, text("1.0.0"))
    first.record(wire.THREAD, pid, text("MainThread"))
    for i, name in enumerate(("", "step", "generate_sequences", "update_actor", "weights are in place")):
        first.record(wire.STRING, i + 1, name.encode())
    first.timed(wire.START, at + 10**6, pid, 1, 2, 0, 1)
    first.timed(wire.START, at + 2 * 10**6, pid, 1, 3, 0, 2)
    second = wire.Chunk(TRAINER, 1, wire.PROCESS, pid, T0 - 10**9, MONO - 10**9)
    second.timed(wire.END_RANGE, MONO - 9 * 10**8, pid, 1, 0, 2)
    second.timed(wire.MARK, MONO - 8 * 10**8, pid, 1, 5, 1)
    second.timed(wire.START, MONO - 7 * 10**8, pid, 1, 4, 0, 3)
    second.timed(wire.HOST_SAMPLE, MONO - 6 * 10**8, pid, 900 * MIB, 950 * MIB, 700 * MIB, 200 * MIB, 0)
    return first, second


def alloc(chunk, time, addr, size, stack, **more):
    chunk.call(time, 4711, "mem_alloc", 243, 150000, addr=addr, size=size, device=0, context=0x55AA00, stack=stack, **more)


def start(chunk, pid):
    """Context, module, and the engine's pool: reserve, four handles of 128 MiB."""
    at = MONO - 19 * 10**8
    identity(
        chunk,
        pid,
        4100,
        ["ray::WorkerDict.actor_rollout_update_actor"],
        [("RANK", 0), ("LOCAL_RANK", 0), ("WORLD_SIZE", 1), ("CUDA_VISIBLE_DEVICES", "3"), ("NCCL_CUMEM_ENABLE", "0")],
    )
    chunk.timed(wire.STATUS, at - 1000, pid, 1, 0, text("1.0.0"))
    chunk.timed(wire.STATUS, at - 900, pid, 3, 0, text("/opt/torch/lib/libcupti-1a2b3c4d.so.13, version 130001"))
    chunk.record(wire.THREAD, pid, text("ray::WorkerDict"))
    chunk.record(wire.THREAD, pid + 7, text("pt_autograd_0"))
    for i, (path, base, build) in enumerate(MODULES):
        chunk.record(wire.MODULE, i + 1, base, 0x800000, text(path), text(build))
    for i, frames in enumerate(STACKS):
        chunk.record(wire.STACK, i + 1, len(frames), *[x for frame in frames for x in frame])
    chunk.record(wire.DEVICE, 0, 1, 1024 * MIB, text(UUID), text("0000:3b:00.0"), text("NVIDIA Imitation 1GB"))
    chunk.record(wire.CONTEXT, 0x55AA00, 0)
    chunk.timed(wire.GPU_SAMPLE, at, pid, 0, 2, 24 * MIB, 1000 * MIB, 1024 * MIB, 1, 999999, 24 * MIB)
    chunk.call(at + 10**7, pid, "context_retain", 386, 9 * 10**6, handle=0x55AA00, device=0, change=300 * MIB)
    chunk.record(wire.STRING, 1, b"")
    chunk.record(wire.STRING, 2, b"rollout")
    chunk.record(wire.STRING, 3, b"kernels.cubin")
    chunk.call(at + 2 * 10**7, pid, "module_load", 679, 10**6, handle=0x66, context=0x55AA00, change=16 * MIB, name=3, stack=S_TORCH)
    chunk.call(at + 3 * 10**7, pid, "vmm_reserve", 547, 4000, addr=0x7F3000000000, size=512 * MIB, stack=S_CUMEM)
    wake(chunk, at + 4 * 10**7, 1)


def wake(chunk, at, first_handle):
    for i in range(4):
        chunk.call(at, 4711, "vmm_create", 549, 30000, size=128 * MIB, handle=first_handle + i, device=0, location=1, stack=S_CUMEM)
        chunk.call(
            at + 20000, 4711, "vmm_map", 551, 9000, addr=0x7F3000000000 + i * 128 * MIB, size=128 * MIB, handle=first_handle + i, stack=S_CUMEM
        )
        chunk.call(at + 30000, 4711, "vmm_access", 553, 8000, addr=0x7F3000000000 + i * 128 * MIB, size=128 * MIB)
        at += 100000


def sleep(chunk, at, first_handle):
    for i in range(4):
        chunk.call(at, 4711, "vmm_unmap", 552, 20000, addr=0x7F3000000000 + i * 128 * MIB, size=128 * MIB, stack=S_CUMEM)
        chunk.call(at + 20000, 4711, "vmm_release", 550, 15000, handle=first_handle + i, stack=S_CUMEM)
        at += 100000


def middle(chunk, pid):
    """A generation, sleep and wake, NCCL and cuBLAS, a pool and a graph."""
    at = MONO - 15 * 10**8
    chunk.timed(wire.PUSH, at, pid, 1, 2, 0)
    chunk.timed(wire.POP, at + 10**7, pid, 1, 0)
    chunk.timed(wire.POP, at + 10**7 + 1, pid, 1, 0)  # one too many: opened before the recording
    sleep(chunk, at + 2 * 10**7, 1)
    chunk.timed(wire.GPU_SAMPLE, at + 3 * 10**7, pid, 0, 0, 348 * MIB, 676 * MIB, 1024 * MIB, 2, 999999, 24 * MIB, pid, 2**64 - 1)
    wake(chunk, at + 10**8, 5)
    alloc(chunk, at + 2 * 10**8, 0x7F4000000000, 64 * MIB, S_NCCL, corr=77)
    chunk.memory2(at + 2 * 10**8 + 500, pid, 1, 3, addr=0x7F4000000000, size=64 * MIB, device=0, context=1, corr=77, source=3, pc=0x7F2A40007700)
    alloc(chunk, at + 21 * 10**7, 0x7F4100000000, 32 * MIB, S_CUBLAS, corr=78)
    chunk.call(at + 22 * 10**7, pid, "host_alloc", 39, 10**6, addr=0x7F5000000000, size=16 * MIB, flags=1, stack=S_TORCH)
    chunk.call(at + 23 * 10**7, pid, "pool_create", 604, 3000, pool=0x99000, device=0, location=1)
    chunk.timed(wire.MEMPOOL, at + 23 * 10**7 + 100, pid, 1, 0, zigzag(0x99000 - chunk.state["pool"]), 32 * MIB, 0, 8 * MIB)
    chunk.state["pool"] = 0x99000
    chunk.call(at + 24 * 10**7, pid, "async_alloc", 598, 2500, addr=0x7F6000000000, size=4 * MIB, stream=0x77, pool=0x99000, context=0x55AA00)
    chunk.call(at + 25 * 10**7, pid, "async_free", 600, 2000, addr=0x7F6000000000, stream=0x77, context=0x55AA00)
    chunk.call(at + 26 * 10**7, pid + 7, "graph_instantiate", 512, 700000, handle=0x1234, context=0x55AA00, change=8 * MIB, stack=S_GRAPH)
    chunk.call(at + 27 * 10**7, pid, "other", 900, 1000, name=4)
    chunk.record(wire.STRING, 4, b"cuMemFancyNewThing")
    chunk.timed(wire.STATUS, at + 27 * 10**7, pid, 15, 0, text("cuMemFancyNewThing"))
    chunk.record(120, b"of a later version")


def tail(chunk, pid, snapshot):
    """What the snapshot saw, by the driver: its segments, and the request that failed."""
    for entry in snapshot["device_traces"][0]:
        when = MONO + entry["time_us"] * 1000 - T0
        if entry["action"] == "segment_alloc":
            alloc(chunk, when, entry["addr"], entry["size"], S_TORCH)
        elif entry["action"] == "oom":
            chunk.call(
                when - 9000, pid, "mem_alloc", 243, 800000, result=2, size=entry["size"], device=0, context=0x55AA00, stack=S_TORCH,
                free=entry["device_free"], total=1024 * MIB,
            )
            chunk.call(when - 5000, pid, "mem_info", 242, 700, free=entry["device_free"], total=1024 * MIB, device=0)
            used = 1024 * MIB - entry["device_free"]
            chunk.timed(
                wire.GPU_SAMPLE, when + 10000, pid + 9, 0, 1, used, entry["device_free"], 1024 * MIB, 2, 999999, 24 * MIB, pid, used - 24 * MIB
            )
    chunk.timed(wire.HOST_SAMPLE, MONO + 10**6, pid + 9, 4 * 1024 * MIB, 5 * 1024 * MIB, 3 * 1024 * MIB, 256 * MIB, 16 * MIB)
    chunk.timed(wire.LOSS, MONO + 2 * 10**6, pid + 9, 2, 3, 384)
    chunk.timed(wire.STATUS, MONO + 2 * 10**6, pid + 9, 8, 1, text("torch.profiler took the activity buffers"))
    chunk.timed(wire.END, MONO + 3 * 10**6, pid, 1, zigzag(0))


def collected(uid, pid, how, status, symbols):
    chunk = wire.Chunk(uid, 0, wire.COLLECT, pid, T0 + 10**9, MONO + 10**9)
    for module, offset, function, source, line in symbols:
        chunk.record(wire.SYMBOL, module, offset, text(function), text(source), line)
    chunk.timed(wire.END, MONO + 10**9, pid, how, zigzag(status))
    return chunk


def checkpoint(chunk, first, parts):
    """Whole from the opening of this chunk on; the recording began 10 s before it."""
    chunk.record(wire.CHECKPOINT, first, zigzag(0), zigzag(-(10**10)), parts, 123456, 120000, 0)


def make_kept():
    """The worker of a recording that keeps the newest: chunks 0 to 40 were let go. No file: tests write it where they need it."""
    pid, first = 4711, 41
    base = wire.Chunk(WORKER, 0, wire.KEPT, pid, T0 - 15 * 10**8, MONO - 15 * 10**8)
    checkpoint(base, first, 0)
    start(base, pid)
    alloc(base, MONO - 16 * 10**8, 0x7F4200000000, 0, S_TORCH, result=2, free=8 * MIB, total=1024 * MIB)  # a failure that was survived
    base.timed(wire.PUSH, MONO - 155 * 10**7, pid, 1, 2, 0)
    more = wire.Chunk(WORKER, 1, wire.KEPT, pid, T0 - 15 * 10**8, MONO - 15 * 10**8)
    checkpoint(more, first, 0)
    alloc(more, MONO - 16 * 10**8, 0x7F4300000000, 24 * MIB, S_NCCL)
    for module, stack in ((1, S_TORCH), (2, S_NCCL)):  # code that came with its first launch
        more.call(MONO - 16 * 10**8, pid, "code_load", 131072 + 6, 0, handle=module, size=3 * MIB, device=0, context=0x55AA00, stack=stack)
    checkpoint(more, first, 2)
    names = wire.Chunk(WORKER, 1 << 32, wire.KEPT, pid, T0 - 10**10, MONO - 10**10)
    names.record(wire.STRING, 9, b"of a chunk that is gone")
    left = [
        wire.Chunk(WORKER, first, wire.PROCESS, pid, T0 - 15 * 10**8, MONO - 15 * 10**8),
        wire.Chunk(WORKER, first + 1, wire.PROCESS, pid, T0, MONO),
    ]
    middle(left[0], pid)
    tail(left[1], pid, training.tiny())
    chunks = [base, more, names, *left, collected(WORKER, pid, 3, 9, SYMBOLS)]
    return b"".join(c.member() for c in chunks)


def make():
    snapshot = training.tiny()
    pid = 4711
    trainer_chunks = trainer()
    worker = [
        wire.Chunk(WORKER, 0, wire.PROCESS, pid, T0 - 2 * 10**9, MONO - 2 * 10**9),
        wire.Chunk(WORKER, 1, wire.PROCESS, pid, T0 - 15 * 10**8, MONO - 15 * 10**8),
        wire.Chunk(WORKER, 2, wire.PROCESS, pid, T0, MONO, dropped=2),
    ]
    start(worker[0], pid)
    middle(worker[1], pid)
    tail(worker[2], pid, snapshot)
    launch = wire.Chunk(0, 0, wire.LAUNCH, 4000, T0 + 10**9, MONO + 10**9)
    for key, value in (("version", "1.0.0"), ("argv.0", "python3"), ("argv.1", "train.py"), ("host", "node7"), ("status", 1)):
        launch.attr(key, value)
    launch.timed(wire.STATUS, MONO + 10**9, 4000, 16, 0, text("1 snapshot collected"))
    stem = "mt-node7-%d-%016x-rank0-" % (pid, WORKER)
    dump = encode.pickle4(snapshot)
    files = wire.attachment(WORKER, pid, T0 + 10**9, 1, stem + "oom1-dev0.pickle", "torch_snapshot", dump, 1500)
    note = "the history holds at most 100000 entries\n".encode()
    files += wire.attachment(WORKER, pid, T0 + 10**9, 2, stem + "torch.txt", "text", note, 3000, len(files))
    chunks = [trainer_chunks[0], worker[0], trainer_chunks[1]]
    data = b"".join(c.member() for c in chunks)
    data += worker[1].member(worker[1].ends[20]) + worker[1].member()  # what a killed process left twice: the longer one counts
    data += worker[2].member()
    data += collected(TRAINER, 4100, 2, 1, []).member()
    data += collected(WORKER, pid, 3, 9, SYMBOLS).member()
    data += b"".join(c.member() for c in files)
    return data + launch.member()


def main():
    parser = argparse.ArgumentParser(description="Makes the sample trace of this directory.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--dir", default=HERE, help="where the file is (default: beside this script)")
    args = parser.parse_args()
    path, data = os.path.join(args.dir, NAME), make()
    if not args.check:
        with open(path, "wb") as file:
            file.write(data)
        print("%8d  %s" % (len(data), NAME))
        return 0
    with open(path, "rb") as file:
        same = file.read() == data
    print("the sample is as made" if same else "%s: differs from what this script makes" % NAME)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
