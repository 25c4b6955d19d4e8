#!/usr/bin/env python3
"""Small programs that each use the GPU's memory in one way; run.py starts them with and without the recorder.

    calls.py cudart N       N pairs of cudaMalloc and cudaFree through the runtime library that PyTorch brings
    calls.py plain          PyTorch allocations that grow and shrink, default allocator
    calls.py async          the same with PyTorch's cudaMallocAsync backend
    calls.py graph          a captured CUDA graph, replayed
    calls.py vmm            reserve, create, map, unmap, release through the driver, as inference engines do for sleep
    calls.py oom            a cudaMalloc larger than the card, survived
    calls.py profiler       torch.profiler with CUDA activities while the recorder is on
    calls.py nccl RANK N    one rank of an all-reduce over N GPUs
    calls.py children       forked, spawned and executed children of a process that has used CUDA: all must end with their own status
    calls.py captures MS    captures CUDA graphs for MS milliseconds, in the strictest mode: nothing the recorder does may break a capture
    calls.py kernels        code that is loaded lazily: what the device takes beside every recorded allocation
    calls.py snapshot 0|1   seconds of PyTorch's first snapshot; 1: as the recorder takes it
    calls.py jax            arrays of JAX, which takes memory by its own allocator
    calls.py cupy           arrays of CuPy, from its pool, which asks the runtime
    calls.py forever        allocates and frees until it is killed; prints the count of completed calls

Every program ends with one JSON line: what it held at its highest point, what the device said was used before and then."""
import ctypes
import json
import os
import sys
import time

if len(sys.argv) > 1 and sys.argv[1] == "async":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "backend:cudaMallocAsync"

import torch  # noqa: E402

MIB = 1 << 20


def used():
    free, total = torch.cuda.mem_get_info()
    return total - free


def runtime():
    """libcudart as it is mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            path = line.split(maxsplit=5)[-1].strip()
            if "libcudart" in os.path.basename(path):
                return ctypes.CDLL(path)
    raise SystemExit("no libcudart is mapped here")


def tell(**what):
    sys.stdout.write(json.dumps(what) + "\n")  # at once: another process may print into the same pipe
    sys.stdout.flush()


def cudart(n):
    torch.cuda.init()
    torch.empty(1, device="cuda")
    lib, p = runtime(), ctypes.c_void_p()
    sizes = [4096, 1 * MIB, 3 * MIB, 512, 20 * MIB]
    for i in range(100):
        lib.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(MIB))
        lib.cudaFree(p)
    took = []
    for _ in range(3):
        start = time.perf_counter_ns()
        for i in range(n // 3):
            lib.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(sizes[i % len(sizes)]))
            lib.cudaFree(p)
        took.append((time.perf_counter_ns() - start) / (2 * max(1, n // 3)))
    tell(calls=6 * (n // 3), ns_per_call=sorted(took)[1], all_ns_per_call=[round(t) for t in took], used=used())


def plain():
    before, held, high = used(), [], 0
    for i in range(40):
        held.append(torch.empty((1 + i % 7) * 8 * MIB, dtype=torch.uint8, device="cuda"))
        if i % 5 == 4:
            del held[:2]
    high = used()
    time.sleep(1.2)  # two periods of the sampler, with all of it held
    tell(before=before, used=high, allocated=torch.cuda.memory_allocated(), reserved=torch.cuda.memory_reserved())


def graph():
    x = torch.randn(1024, 1024, device="cuda")
    for _ in range(3):
        x @ x
    torch.cuda.synchronize()
    before = used()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = x
        for _ in range(8):
            y = (y @ x).relu()
    g.replay()
    torch.cuda.synchronize()
    time.sleep(1.2)
    tell(before=before, used=used(), reserved=torch.cuda.memory_reserved())


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location), ("meta", ctypes.c_void_p),
                ("compression", ctypes.c_ubyte), ("rdma", ctypes.c_ubyte), ("usage", ctypes.c_ushort),
                ("reserved", ctypes.c_ubyte * 4)]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


def vmm():
    torch.empty(1, device="cuda")
    lib, size, n = ctypes.CDLL("libcuda.so.1"), 64 * MIB, 8
    va, handles = ctypes.c_ulonglong(), (ctypes.c_ulonglong * n)()
    what = Properties(type=1, location=Location(1, 0))
    access = Access(location=Location(1, 0), flags=3)

    def ok(name, *a):
        rc = getattr(lib, name)(*a)
        if rc != 0:
            raise SystemExit(f"{name}: {rc}")

    ok("cuMemAddressReserve", ctypes.byref(va), ctypes.c_size_t(n * size), ctypes.c_size_t(0), ctypes.c_ulonglong(0), ctypes.c_ulonglong(0))
    before = used()
    for cycle in range(2):
        for i in range(n):
            h = ctypes.c_ulonglong()
            ok("cuMemCreate", ctypes.byref(h), ctypes.c_size_t(size), ctypes.byref(what), ctypes.c_ulonglong(0))
            handles[i] = h.value
            ok("cuMemMap", ctypes.c_ulonglong(va.value + i * size), ctypes.c_size_t(size), ctypes.c_size_t(0), h, ctypes.c_ulonglong(0))
        ok("cuMemSetAccess", va, ctypes.c_size_t(n * size), ctypes.byref(access), ctypes.c_size_t(1))
        time.sleep(0.7)
        awake = used()
        if cycle == 0:
            for i in range(n):
                ok("cuMemUnmap", ctypes.c_ulonglong(va.value + i * size), ctypes.c_size_t(size))
                ok("cuMemRelease", ctypes.c_ulonglong(handles[i]))
            time.sleep(0.7)
            asleep = used()
    tell(before=before, used=awake, asleep=asleep, mapped=n * size)


def oom():
    torch.empty(1, device="cuda")
    lib, p = runtime(), ctypes.c_void_p()
    total = torch.cuda.mem_get_info()[1]
    tell(result=lib.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(2 * total)), asked=2 * total, used=used())


def profiler():
    from torch.profiler import ProfilerActivity, profile

    x = torch.randn(512, 512, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        (x @ x).sum().item()
    kernels = sum(1 for e in p.events() or [] if "CUDA" in str(e.device_type))
    held = [torch.empty(64 * MIB, dtype=torch.uint8, device="cuda") for _ in range(4)]
    tell(gpu_events_in_profile=kernels, gpu_supported=ProfilerActivity.CUDA in torch.profiler.supported_activities(), used=used(), held=len(held))


def nccl(rank, n):
    import torch.distributed as dist

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(n)
    torch.cuda.set_device(rank)
    before = used()
    dist.init_process_group("nccl", rank=rank, world_size=n)
    x = torch.ones(16 * MIB, device="cuda")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    tell(before=before, used=used(), reserved=torch.cuda.memory_reserved())
    time.sleep(1.2)
    dist.destroy_process_group()


def forever():
    torch.empty(1, device="cuda")
    lib, p, n = runtime(), ctypes.c_void_p(), 0
    while True:
        lib.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(MIB))
        lib.cudaFree(p)
        n += 2
        if n % 200 == 0:
            os.write(1, f"{n}\n".encode())


def jax():
    import jax as library

    before, held = used(), [library.numpy.ones((64, MIB), dtype="int8") for _ in range(8)]
    held.append((held[0].astype("float32")[:, :512] @ held[0].astype("float32")[:, :512].T).block_until_ready())
    time.sleep(1.2)
    tell(before=before, used=used(), held=sum(x.nbytes for x in held), version=library.__version__)


def cupy():
    import cupy as library

    before, held = used(), [library.ones(64 * MIB, dtype="int8") for _ in range(8)]
    held.append(held[0][:MIB].astype("float32").reshape(1024, 1024) @ held[1][:MIB].astype("float32").reshape(1024, 1024))
    library.cuda.Device().synchronize()
    time.sleep(1.2)
    tell(before=before, used=used(), held=sum(x.nbytes for x in held), version=library.__version__)


def children(*_):
    """What real jobs do after CUDA is up: DataLoader workers, subprocesses, spawned actors."""
    import multiprocessing
    import subprocess

    torch.empty(1, device="cuda")
    got, started = {}, time.monotonic()
    for how, end in (("sys.exit", lambda: sys.exit(7)), ("os._exit", lambda: os._exit(7))):
        pid = os.fork()
        if pid == 0:
            end()  # sys.exit runs every exit handler of libcupti, libcuda and the recorder in the child
        got[f"fork, {how}"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for method in ("fork", "spawn"):
        p = multiprocessing.get_context(method).Process(target=time.sleep, args=(0.1,))
        p.start()
        p.join(60)
        got[method] = p.exitcode
    got["exec"] = subprocess.run([sys.executable, "-c", "raise SystemExit(7)"], check=False).returncode
    tell(statuses=got, seconds=round(time.monotonic() - started, 2), used=used())


def captures(ms=6000):
    x = torch.randn(256, 256, device="cuda")
    for _ in range(3):
        x @ x
    torch.cuda.synchronize()
    made, broken, longest, end = 0, [], 0.0, time.monotonic() + ms / 1e3
    while time.monotonic() < end:
        g, began = torch.cuda.CUDAGraph(), time.monotonic()
        try:
            with torch.cuda.graph(g, capture_error_mode="global"):
                y = x
                for _ in range(400):
                    y = (y @ x).relu()
            g.replay()
        except RuntimeError as e:
            broken.append(str(e).split("\n")[0][:200])
            if len(broken) > 3:
                break
        made, longest = made + 1, max(longest, time.monotonic() - began)
    torch.cuda.synchronize()
    tell(captures=made, broken=broken, longest_ms=round(longest * 1e3, 1), used=used())


def kernels(*_):
    """Each operation with what the device takes beside the allocator after it, and its seconds; printed at once, for one may never end."""
    import faulthandler

    faulthandler.dump_traceback_later(25, exit=False)
    torch.empty(1, device="cuda")
    base, apart, took, failed, x = used() - torch.cuda.memory_reserved(), [], {}, {}, None
    simulated = not torch.cuda.get_device_name(0).startswith("NVIDIA")  # tests/torch: no convolution there
    for name in ("randn", "exp", "sort", "cumsum", "matmul", "matmul_bf16", "svd", "fft", *["conv"] * (not simulated), "sdpa"):
        started = time.monotonic()
        print(f"{started:.3f} {name}", flush=True)
        try:
            y = {"randn": lambda: torch.randn(512, 512, device="cuda"), "svd": lambda: torch.linalg.svdvals(x), "fft": lambda: torch.fft.fft(x),
                 "sort": lambda: x.sort()[0], "exp": lambda: x.exp(), "cumsum": lambda: x.cumsum(0), "matmul": lambda: x @ x,
                 "matmul_bf16": lambda: x.bfloat16() @ x.bfloat16(),
                 "conv": lambda: torch.nn.functional.conv2d(x[None, None], x[None, None, :3, :3]),
                 "sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(*[x.bfloat16()[None, None, :, :64]] * 3)}[name]()
            x = y if x is None else x
            del y
        except RuntimeError as e:  # a library that is not installed: the others are still worth knowing
            failed[name] = str(e).split("\n", maxsplit=1)[0][:160]
        torch.cuda.synchronize()
        took[name] = round(time.monotonic() - started, 3)
        apart.append((name, (used() - torch.cuda.memory_reserved() - base) // MIB))
    faulthandler.cancel_dump_traceback_later()
    time.sleep(1.2)
    tell(beside_the_allocator_MiB=apart, operations=took, failed=failed, used=used(), reserved=torch.cuda.memory_reserved())


def snapshot(spared):
    """PyTorch's first snapshot of a process. With `spared` as the recorder takes it."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../capture/site"))
    import _memtrace_hook

    torch.cuda.memory._record_memory_history(max_entries=1000, stacks="python")
    held, before, took = torch.ones(1 << 20, device="cuda"), set(sys.modules), []
    for _ in range(2):
        started = time.monotonic()
        with _memtrace_hook.no_compiler() if spared else open(os.devnull, encoding="ascii"):
            torch.cuda.memory._snapshot()
        took.append(round(time.monotonic() - started, 3))
    new = sorted(set(sys.modules) - before)
    tell(seconds=took, imported=len(new), some=new[:12], held=held.nbytes)


def main():
    name, rest = sys.argv[1], [int(a) for a in sys.argv[2:]]
    {"cudart": cudart, "plain": plain, "async": plain, "graph": graph, "vmm": vmm, "oom": oom, "profiler": profiler, "nccl": nccl,
     "forever": forever, "children": children, "captures": captures, "kernels": kernels,
     "snapshot": snapshot, "jax": jax, "cupy": cupy}[name](*rest)


if __name__ == "__main__":
    main()
