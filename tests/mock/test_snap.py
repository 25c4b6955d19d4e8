#!/usr/bin/env python3
"""memtrace snap: a snapshot of PyTorch (the stand-in of python/fake_torch) of a process that runs and is recorded; and every reason why there is
none, each of which leaves the process alone."""
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
kit.need(kit.LIB, MEMTRACE)
FAKE = pathlib.Path(__file__).resolve().parent / "python" / "fake_torch"
BEGIN = f"import os, signal, sys, time\nsys.path.insert(0, {str(FAKE)!r})\n"
USE = "import torch\ntorch.cuda.init()\n"
WAIT = "import select\nprint(os.getpid(), flush=True)\nselect.select([sys.stdin], [], [])\nprint('went on')\n"


class Job:
    """A Python that says its number and waits for the end of its standard input."""

    def __init__(self, code, *options, recorded=True, python=(sys.executable,)):
        self.spool = kit.scratch()
        command = [*map(str, python), "-c", BEGIN + code] if len(python) == 1 else list(python)
        if recorded:
            command = [MEMTRACE, "capture", "-q", "--spool", str(self.spool), "-o", str(self.spool / "t.gz"), *options, "--", *command]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kit.environment(injected=False))
        self.pid = int(self.child.stdout.readline())

    def end(self):
        out, _ = self.child.communicate(timeout=60)
        return out, self.child.returncode


def snap(pid, *options):
    return subprocess.run([MEMTRACE, "snap", str(pid), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)


def refused(what, job, words, status=1, *options):
    done = snap(job.pid, *options)
    kit.equal(f"{what}: status", done.returncode, status)
    kit.check(f"{what}: why", words in done.stderr and done.stdout == "", done.stderr)
    kit.equal(f"{what}: the process is left alone", job.end()[0], "went on\n")


job = Job(USE + WAIT)
for number in (1, 2):
    done = snap(job.pid)
    path = done.stdout.rstrip("\n")
    kit.equal(f"snapshot {number}", done.returncode, 0)
    kit.check(f"snapshot {number} is of that process", f"-{job.pid}-" in path and f"-usr{number}-dev0.pickle" in path, path, done.stderr)
    kit.check(f"snapshot {number} is whole", "segments" in pickle.loads(pathlib.Path(path).read_bytes()))
kit.check("what to do with it is said", f"memtrace report {path}" in done.stderr, done.stderr)
kit.equal("quiet says its name alone", snap(job.pid, "-q").stderr, "")
said, status = job.end()
kit.equal("the job goes on", (said, status), ("went on\n", 0))
listed = subprocess.run([MEMTRACE, "info", str(job.spool / "t.gz")], stdout=subprocess.PIPE, text=True, check=True).stdout
kit.check("they are in the trace", all(f"-usr{n}-dev0.pickle" in listed for n in (1, 2, 3)), listed)

# While a ring turns: the snapshot is whole, and so is the recording beside it.
SPIN = """
import ctypes, threading
cu, done = ctypes.CDLL("libcuda.so.1"), False
c, p = ctypes.c_void_p(), ctypes.c_uint64()
print_to = [cu.cuInit(0), cu.cuDevicePrimaryCtxRetain(ctypes.byref(c), 0)]
def spin():
    cu.cuCtxSetCurrent(c)
    alloc, free, at, n = cu.cuMemAlloc_v2, cu.cuMemFree_v2, ctypes.byref(p), ctypes.c_size_t(4096)
    while not done:
        for _ in range(1000):
            alloc(at, n)
            free(p)
t = threading.Thread(target=spin)
t.start()
"""
job = Job(USE + SPIN + WAIT + "done = True\nt.join()\n", "--keep", "1MiB", "--no-stacks", "--flush-ms", "20")
base = kit.until(lambda: list(job.spool.glob("memtrace-*/*.base.gz")), 60)
kit.check("the ring turns", base)
for number in (1, 2):
    done = snap(job.pid)
    kit.check(f"a snapshot {number} while it does", done.returncode == 0 and f"-usr{number}-dev0.pickle" in done.stdout, done.stderr)
kit.equal("that job goes on", job.end(), ("went on\n", 0))
trace = kit.trace_decode.load(job.spool / "t.gz")
kit.equal("its trace has the snapshots, whole", [name.split("-")[-2] for _, name, _, data in trace.attached()
                                               if name.endswith(".pickle") and "segments" in pickle.loads(data)], ["exit", "usr1", "usr2"])
kit.check("and lost nothing", kit.lost_nothing(trace), kit.damage(trace))

refused("no recording", Job(WAIT, recorded=False), "is not recorded")
refused("PyTorch is not used", Job(WAIT), "has not begun to use CUDA")
refused("no history", Job(USE + WAIT, "--no-torch"), "--no-torch")
refused("no Python", Job("", python=("sh", "-c", "echo $$; while read x; do :; done; echo went on")), "is no Python")
refused("a handler of the program", Job("signal.signal(signal.SIGUSR2, lambda *a: print('mine'))\n" + USE + WAIT), "has a handler for it")
refused("the handler was taken away", Job(USE + "signal.signal(signal.SIGUSR2, signal.SIG_DFL)\n" + WAIT), "would end it")
refused("the program records itself", Job(USE + "torch.cuda.memory._record_memory_history()\n" + WAIT), "records its own memory history")
# Its main thread is in C code, which goes on after a signal.
stuck = Job(USE + WAIT.replace("select.select([sys.stdin], [], [])", "sys.stdin.read()"))
kit.until(lambda: "pipe" in pathlib.Path(f"/proc/{stuck.pid}/wchan").read_text(encoding="ascii"), 3)
refused("it cannot answer now", stuck, "was asked and has written nothing within 1 s", 5, "--timeout", "1")

job = Job(USE + "torch.cuda.memory._dump_snapshot = lambda path: 1 / 0\n" + WAIT)
refused("writing fails", job, "ZeroDivisionError")
job = Job(USE + "torch.cuda.memory._dump_snapshot = lambda path: os.kill(os.getpid(), signal.SIGKILL)\n" + WAIT)
done = snap(job.pid)
kit.check("it ends meanwhile", done.returncode == 1 and "ended before it wrote" in done.stderr, done.stderr)
job.end()
done = snap(job.pid)
kit.check("there is no such process", done.returncode == 1 and f"there is no process {job.pid}" in done.stderr, done.stderr)
for word in ("0", "x", "-5", "99999999999"):
    done = snap("--", word) if word == "-5" else snap(word)
    kit.equal(f"'{word}' is no process", done.returncode, 2)
kit.done()
