"""One process of a driver scenario: takes and gives memory through the fake libcuda, as the library that the ticket names, so that native
stacks show it; marks phases; keeps PyTorch's books for the snapshots; writes down at moments what each owner really holds.

    driver_play.py PLAY ROLE [WORDS...]     # PLAY and ROLE name a generator function of driver_jobs.py; WORDS are there to be recorded

A role that is not "main" runs to its next `yield` each time main says go(). PLAY_OWNERS: folder of the fake libraries, PLAY_TRUTH: where
moments are written, PLAY_MOCK: the folder of ledger_job.py, PLAY_APP: the fake application."""
import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, os.environ["PLAY_MOCK"])
sys.dont_write_bytecode = True
from driver_numbers import MIB  # noqa: E402
from ledger_job import Driver  # noqa: E402

OOM = 2
TORCH, CUMEM, TMS, NCCL, MATH = ("libc10_cuda.so", "cumem_allocator.abi3.so", "torch_memory_saver.abi3.so", "libnccl.so.2",
                                 "libcublas.so.12")
TICK = 0.03  # wider than a column of the report


class Books:
    """What PyTorch believes: its segments, and their history."""

    def __init__(self):
        self.segments, self.trace, self.settings = {}, [], {}

    def note(self, action, addr, size, where):
        name, line, function = where
        self.trace.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time.time_ns() // 1000, "device": 0,
                           "frames": [{"filename": name, "line": line, "name": function}]})

    def add(self, addr, size, live, where, pool=(0, 0), expandable=False):
        """A segment of which the first `live` bytes are in use and the rest is cached."""
        self.note("segment_map" if expandable else "segment_alloc", addr, size, where)
        if live:
            self.note("alloc", addr, live, where)
        self.segments[addr] = (size, live, pool, expandable, where)

    def snapshot(self, device=None):
        out = []
        for at, (size, live, pool, expandable, where) in sorted(self.segments.items()):
            frames = [{"filename": where[0], "line": where[1], "name": where[2]}]
            blocks = [{"address": at, "size": live, "requested_size": live, "state": "active_allocated", "frames": frames}] if live else []
            if size > live:
                blocks.append({"address": at + live, "size": size - live, "requested_size": 0, "state": "inactive", "frames": []})
            out.append({"device": 0, "address": at, "total_size": size, "allocated_size": live, "active_size": live, "requested_size": live,
                        "stream": 0, "segment_type": "large", "segment_pool_id": pool, "is_expandable": expandable, "frames": frames,
                        "blocks": blocks})
        return {"segments": out, "device_traces": [self.trace], "allocator_settings": self.settings, "external_annotations": []}


class Play(Driver):
    def __init__(self, role):  # pylint: disable=super-init-not-called
        self.role, self.truth, self.held = role, open(pathlib.Path(os.environ["PLAY_TRUTH"]) / f"{os.getpid()}.jsonl", "w"), {}
        self.mt = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
        self.books = self.torch = None
        self.cuda = None

    def begin(self, *devices, snapshots=False):
        """Contexts on the devices; the first is current."""
        if snapshots:
            import torch

            self.torch, self.books = torch, Books()
            torch.cuda.init()
            torch.cuda.memory._snapshot = self.books.snapshot
        self.cuda, self.owners = ctypes.CDLL("libcuda.so.1"), {}
        self.folder = pathlib.Path(os.environ["PLAY_OWNERS"])
        self.must(None, "cuInit", 0)
        first = 0
        for device in devices or (0,):
            context = ctypes.c_uint64()
            self.must(None, "cuDevicePrimaryCtxRetain", ctypes.addressof(context), device)
            first = first or context.value
        self.must(None, "cuCtxSetCurrent", first)

    # ---- phases, moments ----

    @contextlib.contextmanager
    def phase(self, name):
        self.mt.memtrace_push(name.encode())
        yield
        self.mt.memtrace_pop()

    def moment(self, name):
        """Nothing moves around it: the report's columns have to show this."""
        time.sleep(TICK)
        self.tell(name)
        time.sleep(TICK)

    def tell(self, name=None):
        """What is held now; without a name it is not compared at this moment, others may be moving."""
        json.dump({"name": name, "role": self.role, "pid": os.getpid(), "time_ns": time.time_ns(), "held": self.held}, self.truth)
        self.truth.write("\n")
        self.truth.flush()

    def count(self, owner, size):
        self.held[owner] = self.held.get(owner, 0) + size

    # ---- memory ----

    def take(self, owner, size, n=1):
        """cuMemAlloc n times: addresses of those that there were."""
        out = []
        for _ in range(n):
            p = ctypes.c_uint64()
            if self.call(owner, "cuMemAlloc_v2", ctypes.addressof(p), size):
                break
            self.count(owner, size)
            out.append(p.value)
        return out

    def segment(self, size, live=None, where=("verl/workers/fsdp_workers.py", 612, "update_actor")):
        """A segment of PyTorch's; False when there is none."""
        at = self.take(TORCH, size)
        if at and self.books:
            self.books.add(at[0], size, size if live is None else live, where)
        return bool(at)

    def grow(self, size, owner=TORCH, chunk=512 * MIB, pool=(0, 0), where=("verl/workers/fsdp_workers.py", 612, "update_actor")):
        """Virtual memory that is never unmapped, in chunks; False when a chunk could not be had."""
        base, done = self.reserve(owner, size), 0
        while done < size:
            n = min(chunk, size - done)
            result, h = self.create(owner, n)
            if result:
                break
            self.must(owner, "cuMemMap", base + done, n, 0, h, 0)
            self.must(owner, "cuMemRelease", h)
            self.count(owner, n)
            if self.books and owner == TORCH:
                self.books.add(base + done, n, n, where, pool, True)
            done += n
        return done == size

    def pinned(self, owner, size):
        p = ctypes.c_uint64()
        self.must(owner, "cuMemHostAlloc", ctypes.addressof(p), size, 0)

    def free(self):
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        self.must(None, "cuMemGetInfo_v2", ctypes.addressof(free), ctypes.addressof(total))
        return free.value

    # ---- ends ----

    def die(self, words, request=0):
        """A program that cannot go on: PyTorch looks at what is free and tells its observers."""
        free = self.free()
        if self.books and request:
            self.books.trace.append({"action": "oom", "addr": 0, "size": request, "stream": 0, "time_us": time.time_ns() // 1000,
                                     "device": 0, "device_free": free,
                                     "frames": [{"filename": "verl/workers/fsdp_workers.py", "line": 612, "name": "update_actor"}]})
            for observer in self.torch._C.observers:
                observer(0, request, free, free)
        self.truth.close()
        sys.exit(words)

    # ---- other processes ----

    def start(self, role, **env):
        return Other([sys.executable, __file__, sys.argv[1], role], env)

    def start_app(self, *words, **env):
        return subprocess.Popen([os.environ["PLAY_APP"], *words], env=dict(os.environ, **env), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE)


class Other:
    """A process of the play; go() lets it run to its next yield, or to its end: True while there is more. What go() is given is
    what that yield returns."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, env=dict(os.environ, **env), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def go(self, word=""):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()
        if self.process.stdout.readline():
            return True
        self.process.wait()
        return False


class Pool:
    """Memory of an engine that sleeps: regions that keep their addresses."""

    def __init__(self, play, owner, sizes, pool=(1, 7), where=("cumem.py", 204, "use_memory_pool")):
        self.play, self.owner, self.sizes = play, owner, sizes
        self.at = [play.reserve(owner, n) for n in sizes]
        self.handle = [0] * len(sizes)
        if play.books:
            for at, n in zip(self.at, sizes):
                play.books.add(at, n, n, where, pool)

    def wake(self):
        """False when a region could not be had: those before it stay."""
        for i, n in enumerate(self.sizes):
            if self.handle[i]:
                continue
            result, h = self.play.create(self.owner, n)
            if result:
                return False
            self.play.must(self.owner, "cuMemMap", self.at[i], n, 0, h, 0)
            self.handle[i] = h
            self.play.count(self.owner, n)
        return True

    def sleep(self, first=0, last=None):
        for i in range(first, len(self.sizes) if last is None else last):
            if self.handle[i]:
                self.play.unmap(self.owner, self.at[i], self.sizes[i], self.handle[i])
                self.play.count(self.owner, -self.sizes[i])
                self.handle[i] = 0


def main():
    import driver_jobs

    role = sys.argv[2]
    steps = getattr(driver_jobs, sys.argv[1].replace("-", "_") + ("" if role == "main" else "_" + role))(Play(role))
    if role == "main":
        for _ in steps or ():
            pass
        return
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    first = True
    for line in iter(sys.stdin.readline, ""):
        try:
            steps.send(None if first else line.strip())
        except StopIteration:
            return
        first = False
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
