"""The jobs of launchers.py: real PyTorch on the CPU whose processes also call the driver, here the stand-in for libcuda. Each rank
allocates sizes that only it allocates, so that the trace can be checked: GPU(n) makes three allocations of n MiB."""
import ctypes
import os
import signal
import subprocess
import sys
import time

MB = 1 << 20


def gpu(mib, phase=None):
    """Three allocations of mib MiB on device 0, within a range."""
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    marks = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]) if phase and "MEMTRACE_SPOOL" in os.environ else None
    for result in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)):
        if result:
            return result
    if marks:
        marks.memtrace_push(phase.encode())
    for _ in range(3):
        p = ctypes.c_uint64()
        result = cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(mib * MB))
        if result:
            return result
    if marks:
        marks.memtrace_pop()
    return 0


def must(mib, phase=None):
    result = gpu(mib, phase)
    if result:
        sys.exit(f"the driver answered {result}")


def any_store():
    """Debian builds PyTorch without libuv, which torchrun asks for; the store without it is as good here."""
    import torch.distributed as dist

    original = dist.TCPStore
    try:
        original("127.0.0.1", 0, is_master=True, wait_for_workers=False, use_libuv=True)
        return
    except RuntimeError:
        pass

    class Store(original):
        def __init__(self, *words, **named):
            super().__init__(*words, **{**named, "use_libuv": False})

    for module in list(sys.modules.values()):
        if getattr(module, "TCPStore", None) is original:
            module.TCPStore = Store


def torchrun(*words):
    """What the program of that name does; the ranks are started with this file."""
    from torch.distributed import run

    import torch.distributed.elastic.rendezvous.c10d_rendezvous_backend  # noqa: F401  before any_store() looks who has the old one
    import torch.distributed.elastic.rendezvous.dynamic_rendezvous  # noqa: F401
    import torch.distributed.elastic.rendezvous.static_tcp_rendezvous  # noqa: F401

    any_store()
    at = words.index("--")
    run.main([*words[:at], __file__, *words[at + 1:]])


def train(how="", argument="1"):
    """One rank of torchrun."""
    import torch
    import torch.distributed as dist

    any_store()
    rank = int(os.environ["RANK"])
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    must(32 + rank, "rollout")
    if how == "fail" and attempt < int(argument):  # the others have no part in it: a store that has seen them is not used again
        if rank == 1:
            sys.exit(7)
        time.sleep(60)
    dist.init_process_group("gloo")
    t = torch.full((4,), float(rank))
    dist.all_reduce(t)
    sys.stdout.write(f"rank {rank} of {dist.get_world_size()}: {t.tolist()}\n")
    if how == "kill" and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "sleep":
        open(argument + "." + str(rank), "w").close()
        time.sleep(60)
    dist.barrier()
    dist.destroy_process_group()


def spawned(index, extra):
    os.environ.update(RANK=str(index), LOCAL_RANK=str(index), WORLD_SIZE="3")
    must(32 + index, "rollout")
    extra.add_(index)


def spawn():
    """torch.multiprocessing.spawn() with a tensor in shared memory."""
    import torch
    import torch.multiprocessing as mp

    shared = torch.zeros(1).share_memory_()
    mp.spawn(spawned, (shared,), nprocs=3)
    print("sum", shared.item())


def child(index, queue):
    import torch

    must(32 + index)
    queue.put(torch.ones(1000) * index)
    queue.join()


def processes(method):
    """Processes by one start method, each sends a tensor through shared memory."""
    import torch.multiprocessing as mp

    context = mp.get_context(method)
    queue = context.JoinableQueue()
    started = [context.Process(target=child, args=(i, queue)) for i in range(2)]
    for p in started:
        p.start()
    total = 0.0
    for _ in started:
        total += queue.get().sum().item()
        queue.task_done()
    for p in started:
        p.join()
    print("total", total, [p.exitcode for p in started])


class Data:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        import torch

        return torch.full((3,), float(i))


def loader(method):
    """A DataLoader whose workers use no GPU, of a process that does."""
    from torch.utils.data import DataLoader

    must(40)
    print("sum", sum(x.sum().item() for x in DataLoader(Data(), num_workers=2, multiprocessing_context=method)))


def forked():
    """CUDA first, then fork: the child cannot use the GPU, as without a recorder; it execs a program that can."""
    must(40)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        sys.stdout.write(f"child: {gpu(41)}\n")
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, __file__, "must", "42"])
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def compiled():
    """torch.compile: worker processes compile, and a compiler runs."""
    import torch

    must(40)
    f = torch.compile(lambda x: (x.sin() + x.cos()).sum())
    print("sum", f(torch.zeros(1000)).item())


def chain(*words):
    """Programs that start each other."""
    if words:
        sys.exit(subprocess.run([sys.executable, __file__, "chain", *words[1:]], check=False).returncode)
    must(40)


def closed():
    """A job that closes its output."""
    os.close(1)
    must(40)


def hook(*_):
    """Whether the hook is in this process, and what else was asked for at its start."""
    import torch

    must(40)
    print("hook", hasattr(sys, "_memtrace_hook"), "custom", sys.modules.get("sitecustomize") is not None and
          getattr(sys.modules["sitecustomize"], "of_the_user", None), getattr(sys.modules.get("usercustomize"), "of_the_user", None),
          torch.zeros(2).tolist())


JOBS = {"torchrun": torchrun, "train": train, "spawn": spawn, "processes": processes, "loader": loader, "forked": forked, "compiled": compiled,
        "chain": chain, "closed": closed, "hook": hook, "must": lambda mib: must(int(mib))}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
