#!/usr/bin/env python3
"""memtrace attach where something goes wrong or takes long: the job is not harmed, its signals are its own, another user's program is not run,
its registers, its errno and its waits are its own, and no wait is without an end. About 35 seconds, nearly all of it waiting."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
SLOW = kit.MOCK / "slow" / "libmemtrace_slow.so"
STORM = kit.BUILD / "tests" / "storm"
kit.need(kit.LIB, MEMTRACE, SLOW, STORM, kit.MOCK / "cuda13" / "libcuda.so.1")
if kit.SANITIZED:
    kit.skip_all("a sanitizer's runtime has to be there from the start of a process")
kit.need_debugging()

START = "import ctypes, os, signal, sys, time\ncu = ctypes.CDLL('libcuda.so.1')\nprint(os.getpid(), flush=True)\n"
STEPS = START + "while not os.path.exists(sys.argv[1] + '/stop'):\n    [object() for i in range(100)]\n    time.sleep(0.01)\nsys.exit(3)\n"
IN_C = "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 10 ** 9)\n"


class Job:
    def __init__(self, code, before=(), python=sys.executable, folder=None, **env):
        self.folder = folder or kit.scratch()
        self.env = kit.environment(injected=False, FAKE_STATE=self.folder / "gpus", TMPDIR=self.folder, **env)
        (self.folder / "job.py").write_text(code)
        self.child = subprocess.Popen([*before, str(python), "-u", str(self.folder / "job.py"), str(self.folder)], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.folder)
        self.pid = int(self.child.stdout.readline() or 0)

    def attach(self, *options, **env):
        return subprocess.Popen([MEMTRACE, "attach", "--yes", "--no-torch", str(self.pid), "-o", str(self.folder / "t.gz"), *map(str, options)],
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**self.env, **env}, cwd=self.folder)

    def traced(self):
        return kit.until(lambda: b"TracerPid:\t0\n" not in pathlib.Path(f"/proc/{self.pid}/status").read_bytes(), 20)

    def end(self):
        (self.folder / "stop").touch()
        return self.child.wait(timeout=30)


def says(child, what, *words):
    """It fails, with these words."""
    try:
        said = child.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        return kit.check(what, False, "no end", child.communicate()[1])
    return kit.check(what, child.returncode == 1 and all(w in said for w in words), child.returncode, said)


def recorded(child):
    text = ""
    for line in child.stderr:
        text += line
        if "is recorded, into" in line:
            return text
    return text


# ---- loading the library takes longer than the patience for a place ----

job = Job(STEPS, FAKE_SLOW_S=5)
says(job.attach("--timeout", 2, MEMTRACE_INJECT=str(SLOW), MEMTRACE_NVML="0"), "a library that is slow is waited for, and called", "is too long")
time.sleep(0.2)
kit.equal("a library that is slow: the job goes on", job.end(), 3)

job = Job(STEPS)
says(job.attach(MEMTRACE_INJECT=str(kit.MOCK / "cuda13" / "libcudart.so.13"), MEMTRACE_NVML="0"), "another library is not called", "it is not memtrace's")
kit.equal("another library: the job goes on", job.end(), 3)

# ---- while the library is being loaded ----

def loading(**more):
    """A job, and the memtrace that loads a library into it which takes its time."""
    job = Job(more.pop("code", STEPS), FAKE_SLOW_S=3)
    child = job.attach(MEMTRACE_INJECT=str(SLOW), MEMTRACE_NVML="0")
    kit.check("while it loads: it is seen", job.traced())
    return job, child


job, child = loading()
child.kill()
child.wait()
time.sleep(4)
kit.equal("a memtrace that is killed while it loads: the job goes on", job.end(), 3)
job, child = loading()
job.child.kill()
says(child, "a job that ends while it loads", "has ended")
job, child = loading(code=STEPS.replace("while", "signal.signal(signal.SIGUSR1, lambda *a: open('told', 'w').close())\nwhile", 1))
os.kill(job.pid, signal.SIGUSR1)
says(child, "a signal while it loads: it is loaded", "is too long")
kit.check("a signal while it loads: it is delivered then", kit.until((job.folder / "told").exists, 10))
kit.equal("a signal while it loads: the job goes on", job.end(), 3)

# ---- no place: the main thread is inside of the loader, which reads a file ----

FIFO = START.replace("print", "os.mkfifo('lib.so')\nend = os.open('lib.so', os.O_RDWR)\nprint") + "try:\n    ctypes.CDLL('./lib.so')\nexcept OSError:\n    pass\n"


def in_loader(code=FIFO):
    job = Job(code)
    kit.until(lambda: pathlib.Path(f"/proc/{job.pid}/syscall").read_text().startswith("0 ") or os.uname().machine != "x86_64", 10)
    time.sleep(0.2)
    return job


job = in_loader()
says(job.attach("--timeout", 2), "one that loads a library: is not stopped there", "came to no place where it can be stopped safely within 2 s")
child = job.attach()
time.sleep(0.5)
start = time.monotonic()
child.send_signal(signal.SIGINT)
says(child, "while it waits: Ctrl-C ends memtrace", "stopped; nothing was changed")
kit.check("while it waits: at once", time.monotonic() - start < 4, time.monotonic() - start)
kit.check("while it waits: the job goes on", job.child.poll() is None)
job.child.kill()
job.child.wait()
job = in_loader(FIFO.replace("import ctypes", "import threading, ctypes").replace(
    "try:", "def other():\n    while True:\n        time.sleep(0.01)\nthreading.Thread(target=other, daemon=True).start()\ntry:", 1))
says(job.attach("--timeout", 1), "one that loads a library: another thread would wait for it", "came to no place where it can be stopped safely within 1 s")
job.child.kill()
job.child.wait()
job = in_loader(FIFO.replace("try:", "signal.signal(signal.SIGINT, signal.SIG_DFL)\ntry:", 1))
child = job.attach()
time.sleep(0.5)
os.kill(job.pid, signal.SIGINT)
try:
    kit.equal("while it waits: a SIGINT of the job's own is delivered", job.child.wait(timeout=3), -signal.SIGINT)
except subprocess.TimeoutExpired:
    kit.check("while it waits: a SIGINT of the job's own is delivered", False)
    job.child.kill()
says(child, "while it waits: it is said that the job ended", "has ended")

# ---- no place: the job is stopped itself ----


def state(pid, key=b"State"):
    return next(line.split()[1] for line in pathlib.Path(f"/proc/{pid}/status").read_bytes().splitlines() if line.startswith(key))


job = Job(STEPS)
os.kill(job.pid, signal.SIGSTOP)
kit.until(lambda: state(job.pid) == b"T", 10)
says(job.attach("--timeout", 1), "one that is stopped (Ctrl-Z) is not moved", "came to no place", "is stopped itself")
kit.equal("one that is stopped stays so", state(job.pid), b"T")
os.kill(job.pid, signal.SIGCONT)
kit.equal("one that is stopped goes on when it is told", job.end(), 3)

# ---- what it does goes on as it was ----


def attach_once(job, what):
    child = job.attach("-f")
    text = recorded(child)
    ok = kit.check(what, child.poll() is None and "is recorded" in text, text)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    return ok and kit.check(f"{what}: the trace", child.returncode == 0, said)


# all signals blocked, the thread computes in vector registers, and compares
IN_C = ("import hashlib\nsignal.pthread_sigmask(signal.SIG_SETMASK, range(1, 65))\ndef value():\n    return hashlib.pbkdf2_hmac('sha256', b'x', b'y', 100000)\n"
        "first = value()\nopen('ready', 'w').close()\nwhile not os.path.exists(sys.argv[1] + '/stop'):\n    assert value() == first\nsys.exit(3)\n")
job = Job(START + IN_C)
kit.until((job.folder / "ready").exists, 20)
blocked = state(job.pid, b"SigBlk")
for i in range(6):
    attach_once(job, f"one that computes in C with all signals blocked, {i}")
kit.equal("its signals are blocked as they were", state(job.pid, b"SigBlk"), blocked)
kit.equal("what it computes is right, its status too", job.end(), 3)

# a call of the C library that waits is not cut short, and errno is as it was
WAIT = ("libc = ctypes.CDLL(None, use_errno=True)\nclass pollfd(ctypes.Structure):\n    _fields_ = [('fd', ctypes.c_int), ('e', ctypes.c_short), ('r', ctypes.c_short)]\n"
        "ctypes.set_errno(77)\nopen('ready', 'w').close()\nstart = time.monotonic()\ngot = libc.poll(None, 0, 4000)\ntook = time.monotonic() - start\n"
        "sys.exit(3 if got == 0 and ctypes.get_errno() == 77 and 3.9 < took < 6 else 4)\n")
job = Job(START + WAIT)
kit.until((job.folder / "ready").exists, 20)
time.sleep(0.3)
attach_once(job, "one that waits in a call of the C library")
kit.equal("its wait is as long as it was to be, and errno its own", job.child.wait(timeout=30), 3)

# its threads are nearly always in the allocator, the loader, the making of a thread or a fork
job = Job("import os, sys\nos.execv(%r, ['storm', sys.argv[1] + '/stop'])\n" % str(STORM))
for i in range(8):
    attach_once(job, f"a storm of allocations, loads, threads and forks, {i}")
kit.equal("the storm ends well", job.end(), 3)

# ---- a list of locks that cannot be read says nothing; a folder's name makes no settings ----

job = Job(STEPS)
child = job.attach()
text = recorded(child)
kit.check("it is recorded", child.poll() is None and "is recorded" in text, text)
before = resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
time.sleep(1)
if kit.check("a memtrace that can open no file for a while: it is not the end", child.poll() is None):
    resource.prlimit(child.pid, resource.RLIMIT_NOFILE, before)
child.send_signal(signal.SIGINT)
said = child.communicate(timeout=60)[1]
kit.check("and the trace is written then", child.returncode == 0 and "is not recorded any more" in said, child.returncode, said)
odd = job.folder / "a\nMEMTRACE_X=1"
odd.mkdir()
says(job.attach("--spool", odd, "-f"), "a folder with a line break in its name is refused", "line break")
kit.equal("nothing is left there", list(odd.iterdir()), [])
kit.equal("the job goes on", job.end(), 3)

# ---- root attaches to the job of a user ----

as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
python = pathlib.Path(os.path.realpath("/usr/bin/python3"))


def user_can():
    return subprocess.run([*as_user, "test", "-r", str(kit.LIB)], check=False).returncode == 0 and python.exists()


if os.getuid() == 0 and shutil.which("setpriv") and user_can():
    folder = kit.scratch()
    for part in (folder, *folder.parents):
        if str(part).startswith(os.path.realpath(os.environ.get("TMPDIR", "/tmp"))) and part.stat().st_mode & 0o005 != 0o005:
            part.chmod(0o755)
    folder.chmod(0o777)
    # a program of that user's which says as whom it runs
    (folder / "bin").mkdir()
    shutil.copy(python, folder / "bin" / "python3.14")
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\n")
    version = python.name if python.name.startswith("python3.") else "python%d.%d" % sys.version_info[:2]
    (folder / "lib" / version / "site-packages").mkdir(parents=True)
    (folder / "lib" / version / "site-packages" / "says.pth").write_text(
        f"import os; open({str(folder / 'ran')!r} + str(os.getuid()), 'w').close()\n")
    job = Job(STEPS, as_user, folder / "bin" / "python3.14", folder)
    shut = kit.scratch()
    shut.chmod(0o700)
    says(job.attach("--spool", shut), "a folder that the user does not come to is refused", "cannot write to", "--spool")
    kit.check("before anything is loaded", "memtrace_inject" not in pathlib.Path(f"/proc/{job.pid}/maps").read_text())
    child = job.attach("--spool", folder)
    text = recorded(child)
    if kit.check("root attaches to a user's job", child.poll() is None and "is recorded" in text, text):
        child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    kit.equal("the trace of it", (child.returncode, (folder / "t.gz").exists()), (0, True))
    kit.equal("and no folder is left", list(folder.glob("memtrace-*")), [])
    kit.equal("the user's program was run by the user alone", [p.name for p in folder.glob("ran*")], ["ran65534"])
    kit.equal("the job goes on", job.end(), 3)
else:
    kit.skip("root attaches to a user's job", "needs root, setpriv, and a build that other users can read")
kit.done()
