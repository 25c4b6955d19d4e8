#!/usr/bin/env python3
"""memtrace attach: a process that runs already is recorded from a moment on, call by call against what it made by its own books; it goes on
unharmed, with the same output and status; what it held before has an owner; it is let go again, by Ctrl-C or by --detach, and can be attached
to again; and every reason why a process is not attached to, each of which leaves it alone.

    test_attach.py [TIMES]      how often a job is attached to (3); MT_JOB_PYTHON: the Python that it runs with"""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
FAKE = pathlib.Path(__file__).resolve().parent / "python" / "fake_torch"
TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 3
MIB = 1 << 20
kit.need(kit.LIB, MEMTRACE, kit.MOCK / "cuda13" / "libcuda.so.1")
if kit.SANITIZED:
    kit.skip_all("a sanitizer's runtime has to be there from the start of a process")
kit.need_debugging()

# A job with books of its own: PyTorch (a stand-in) holds two plain segments and one of two mapped pieces, something else holds 64 MiB. Then it
# allocates and frees, from two threads, and does what it is told to, a line at a time.
JOB = """
import ctypes, json, os, select, sys, threading, time
sys.path.insert(0, %r)
cu = ctypes.CDLL("libcuda.so.1")
books, lock = open(sys.argv[1], "w"), threading.Lock()
def call(f, *a):
    r = getattr(cu, f)(*a)
    assert r == 0, (f, r)
def book(op, address, size, t0):
    with lock:
        books.write(json.dumps([threading.get_native_id(), op, address, size, t0, time.monotonic_ns()]) + "\\n")
def alloc(n):
    p, t = ctypes.c_uint64(), time.monotonic_ns()
    call("cuMemAlloc_v2", ctypes.byref(p), ctypes.c_size_t(n))
    book("mem_alloc", p.value, n, t)
    return p.value
def free(p):
    t = time.monotonic_ns()
    call("cuMemFree_v2", ctypes.c_uint64(p))
    book("mem_free", p, 0, t)
call("cuInit", 0)
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
import torch
torch.cuda.init()
MIB = 1 << 20
plain, other = [alloc(100 * MIB), alloc(60 * MIB)], alloc(64 * MIB)
PIECE = 20 * MIB
space, handles = ctypes.c_uint64(), []
call("cuMemAddressReserve", ctypes.byref(space), ctypes.c_size_t(4 * PIECE), ctypes.c_size_t(0), ctypes.c_uint64(0), ctypes.c_uint64(0))
property = (ctypes.c_int * 16)(1, 0, 1, 0)
for i in range(2):
    h = ctypes.c_uint64()
    call("cuMemCreate", ctypes.byref(h), ctypes.c_size_t(PIECE), property, ctypes.c_uint64(0))
    call("cuMemMap", ctypes.c_uint64(space.value + i * PIECE), ctypes.c_size_t(PIECE), ctypes.c_size_t(0), h, ctypes.c_uint64(0))
    handles.append(h)
def segment(address, size, expandable):
    return {"device": 0, "address": address, "total_size": size, "allocated_size": size, "active_size": size, "requested_size": size, "stream": 0,
            "segment_type": "large", "segment_pool_id": (0, 0), "frames": [], "is_expandable": expandable,
            "blocks": [{"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []}]}
segments = [segment(plain[0], 100 * MIB, False), segment(plain[1], 60 * MIB, False), segment(space.value, 2 * PIECE, True)]
torch.cuda.memory._snapshot = lambda device=None: {"segments": segments, "device_traces": [[]], "allocator_settings": {}, "external_annotations": []}
def work(size):
    call("cuCtxSetCurrent", context)
    while not done:
        size += 256  # so that a call is like no other
        p = alloc(size)
        time.sleep(0.0005)
        free(p)
done, busy, patient = False, [], False
print(os.getpid(), flush=True)
while True:
    while not patient and not select.select([sys.stdin], [], [], 0.02)[0]:
        pass
    word = os.read(0, 100).decode().strip()
    if not word:
        break
    patient = word == "patient"
    if word == "work":
        busy = [threading.Thread(target=work, args=(MIB + i * 128,)) for i in range(2)]
        [t.start() for t in busy]
    elif word == "rest":
        done = True
        [t.join() for t in busy]
    elif word == "free":
        free(plain.pop())
        call("cuMemUnmap", ctypes.c_uint64(space.value), ctypes.c_size_t(PIECE))
        call("cuMemRelease", handles[0])
    print(word, flush=True)
books.close()
print("its end", len(busy))
sys.exit(3)
""" % str(FAKE)


class Job:
    def __init__(self, code=JOB, launched=False):
        self.folder = kit.scratch()
        before = [MEMTRACE, "capture", "-q", "--no-torch", "-o", str(self.folder / "launched.gz"), "--"] if launched else []
        (self.folder / "job.py").write_text(code)
        self.env = kit.environment(injected=False, FAKE_STATE=self.folder / "gpus", TMPDIR=self.folder)
        self.child = subprocess.Popen([*before, os.environ.get("MT_JOB_PYTHON", sys.executable), "-u", str(self.folder / "job.py"), str(self.folder / "books")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self.pid = int(self.child.stdout.readline())
        self.said = ""

    def tell(self, word):
        self.child.stdin.write(word + "\n")
        self.child.stdin.flush()
        self.said += self.child.stdout.readline()

    def end(self):
        out, err = self.child.communicate(timeout=60)
        return self.said + out, err, self.child.returncode

    def memtrace(self, *arguments, **more):
        return subprocess.run([MEMTRACE, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True, check=False, timeout=90, env={**self.env, **more.pop("env", {})}, **more)

    def attach(self, *options):
        """Until it says that the process is recorded, or ends."""
        child = subprocess.Popen([MEMTRACE, "attach", "--yes", str(self.pid), *map(str, options)], stderr=subprocess.PIPE, text=True, env=self.env,
                                 stdin=subprocess.DEVNULL)
        text = ""
        for line in child.stderr:
            text += line
            if "is recorded, into" in line:
                break
        return child, text

    def books(self):
        return [json.loads(line) for line in (self.folder / "books").read_text().splitlines()]


def by_thread(calls):
    out = {}
    for call in calls:
        out.setdefault(call[0], []).append(tuple(call[1:4]))
    return out


def compare(what, job, trace, begun, ended):
    """The recorded calls of each thread are what it made, in order, without a gap, and all that it made between the two moments."""
    process = kit.trace_decode.load(trace).recorded()[0]
    got = by_thread([c["tid"], c["op"], c["addr"], c.get("size", 0)] for c in process.calls if c["cbid"] in (243, 245))
    made = {}
    for call in job.books():
        made.setdefault(call[0], []).append(call)
    n = 0
    for tid, calls in made.items():
        want = [tuple(c[1:4]) for c in calls]
        sure = [i for i, c in enumerate(calls) if c[4] > begun and c[5] < ended]
        mine = got.pop(tid, [])
        n += len(mine)
        if not mine:
            kit.equal(f"{what}: a thread of which nothing is recorded made nothing then", sure, [])
            continue
        at = next((i for i in range(len(want) - len(mine) + 1) if want[i:i + len(mine)] == mine), None)
        kit.check(f"{what}: the calls of a thread are those it made", at is not None, len(mine), len(want), mine[:2])
        if at is not None and sure:
            kit.check(f"{what}: and all of that time", at <= sure[0] and sure[-1] < at + len(mine), at, len(mine), sure[0], sure[-1])
    kit.equal(f"{what}: no other thread made any", got, {})
    kit.check(f"{what}: nothing was lost", process.losses() == {} and not process.missing, process.losses())
    return n


def alone():
    job = Job()
    for word in ("work", "rest"):
        job.tell(word)
    return job.end()



expected = alone()
kit.equal("a job that is let alone", (expected[1], expected[2]), ("", 3))

took, calls = [], 0
for i in range(TIMES):
    job = Job()
    job.tell("work")
    start = time.monotonic()
    child, text = job.attach("-o", job.folder / "t.gz", "--no-torch")
    took.append(time.monotonic() - start)
    if not kit.check(f"attach {i}: it is recorded", child.poll() is None and "is recorded" in text, text):
        job.end()
        continue
    begun = time.monotonic_ns()
    time.sleep(0.2)
    ended = time.monotonic_ns()
    child.send_signal(signal.SIGINT)
    said = child.stderr.read()
    kit.equal(f"attach {i}: status", child.wait(timeout=60), 0)
    kit.check(f"attach {i}: it goes on", "goes on, and is not recorded any more" in said, said)
    kit.equal(f"attach {i}: its thread is gone", [t for t in os.listdir(f"/proc/{job.pid}/task")
                                               if "memtrace" in pathlib.Path(f"/proc/{job.pid}/task/{t}/comm").read_text()], [])
    kit.check(f"attach {i}: no file of ours is open in it", not any("memtrace-" in os.readlink(f) for f in pathlib.Path(f"/proc/{job.pid}/fd").iterdir()))
    job.tell("rest")
    kit.equal(f"attach {i}: output and status are the same", job.end(), expected)
    calls += compare(f"attach {i}", job, job.folder / "t.gz", begun, ended)
kit.note(f"attached {TIMES} times, {calls} calls; {sum(took) / len(took):.2f} s each, at most {max(took):.2f}")


# ---- what was there before, and what becomes of it ----

def held(job):
    done = job.memtrace("top", "-1", "--json", job.pid)
    if not kit.check("top looks at it", done.returncode == 0, done.stderr):
        return {}
    return {o["library"] or o["holder"]: o["bytes"] / MIB for d in json.loads(done.stdout)["devices"] for o in d["owners"] if o["bytes"]}


job = Job()
child, text = job.attach("-o", job.folder / "t.gz")
kit.check("the base comes", kit.until(lambda: "torch" in held(job), 20), text)
kit.equal("what was there before has owners", held(job), {"torch": 200, "(before the recording)": 564})
job.tell("free")
kit.equal("what is freed of it is freed", held(job), {"torch": 120, "(before the recording)": 564})
done = job.memtrace("snap", job.pid)
kit.check("a snapshot can be had", done.returncode == 0 and f"-{job.pid}-" in done.stdout, done.stderr)
done = job.memtrace("attach", "--yes", job.pid)
kit.check("it is not attached to twice", done.returncode == 1 and "is recorded already, into" in done.stderr, done.stderr)
done = job.memtrace("attach", "--detach", job.pid, "-q")
kit.equal("--detach ends it", (done.returncode, done.stderr), (0, ""))
child.stderr.read()
kit.equal("the one that waits writes the trace", child.wait(timeout=60), 0)
info = job.memtrace("info", job.folder / "t.gz").stdout
kit.check("with the snapshots", "-base-dev0.pickle" in info and "-usr1-dev0.pickle" in info, info)
report = json.loads(job.memtrace("report", "--format", "json", "-q", "-o", "-", job.folder / "t.gz").stdout)
text = job.memtrace("report", "--format", "text", "--full", "-o", "-", job.folder / "t.gz").stdout
kit.check("the report says that it ran already", "it ran already when its recording began" in text, text[-1500:])
focus = report["job"]["ledgers"][0]["focus"]
rows = {r.get("library") or r["holder"]: r["bytes"] / MIB for r in focus["rows"] if r["bytes"]}
kit.equal("in the report at the highest: each has an owner, and nothing is unexplained", rows, {"torch": 200, "(before the recording)": 564})
kit.equal("and that is what the device had in use", focus["used_bytes"] / MIB, 764)
done = job.memtrace("attach", "--detach", job.pid)
kit.check("it is not recorded any more", done.returncode == 1 and "is not recorded" in done.stderr, done.stderr)

# What is allocated and freed between the beginning and the base: recorded as calls, so not in the base.
LATE = '''
late = []
def meanwhile():
    if len(late) == 1:  # the second look: the one of which the base is made
        late.append(alloc(32 * MIB))
        segments.append(segment(late[1], 32 * MIB, False))
    elif not late:
        late.append(None)
def afterwards(looked):
    if len(late) == 2:
        late.append(free(plain.pop()))
    return looked
'''
late = Job(code=JOB.replace("torch.cuda.memory._snapshot = ", LATE + "torch.cuda.memory._snapshot = ")
           .replace("lambda device=None: {", "lambda device=None: afterwards(meanwhile() or {").replace('"external_annotations": []}', '"external_annotations": []})', 1))
child, text = late.attach("-o", late.folder / "t.gz")
kit.check("the base comes, late", kit.until(lambda: "torch" in held(late), 20), text)
rows = held(late)
kit.equal("what was called meanwhile counts once", (rows.get("torch"), rows.get("(before the recording)"), sum(rows.values())), (140, 564, 736))
child.send_signal(signal.SIGINT)
child.stderr.read()
kit.equal("late: the trace", child.wait(timeout=60), 0)
kit.equal("late: it goes on", late.end()[1:], ("", 3))

# Again, and the memtrace that waits is killed: the recording is there, and ends when it is asked to.
child, text = job.attach("--no-torch")
kit.check("it can be attached to again", child.poll() is None and "is recorded" in text, text)
child.kill()
child.wait()
done = job.memtrace("attach", "--detach", job.pid)
kit.check("--detach says where the recording is", done.returncode == 0 and "memtrace collect --remove" in done.stderr, done.stderr)
folder = done.stderr.split("--remove ")[-1].strip()
kit.equal("which makes a trace", job.memtrace("collect", "--remove", folder, "-o", job.folder / "again.gz").returncode, 0)
kit.check("and nothing is left", not pathlib.Path(folder).exists())
kit.equal("the job is as it was", job.end()[1:], ("", 3))


# ---- one that waits, and one that computes in C ----

job = Job()
job.tell("patient")
child, text = job.attach("--no-torch", "-o", job.folder / "t.gz")
kit.check("one that waits is attached to", child.poll() is None and "is recorded" in text, text)
child.send_signal(signal.SIGTERM)
child.stderr.read()
kit.equal("one that waits: SIGTERM ends it as Ctrl-C does", child.wait(timeout=60), 0)
kit.equal("one that waits goes on", job.end()[1:], ("", 3))

job = Job(code="import ctypes, hashlib, os\nctypes.CDLL('libcuda.so.1')\nprint(os.getpid(), flush=True)\n"
               "hashlib.pbkdf2_hmac('sha256', b'x', b'y', 10 ** 9)\n")
child, text = job.attach("--no-torch", "-o", job.folder / "t.gz")
kit.check("one that computes in C is attached to", child.poll() is None and "is recorded" in text, text)
child.send_signal(signal.SIGINT)
child.stderr.read()
kit.equal("one that computes in C: the trace", child.wait(timeout=60), 0)
kit.check("one that computes in C goes on", job.child.poll() is None)
job.child.kill()
job.end()


# ---- why not ----

def refused(what, words, *arguments, job=None, status=1, **more):
    done = (job or idle).memtrace("attach", *arguments, **more)
    kit.check(f"refused: {what}", done.returncode == status and words in done.stderr, done.returncode, done.stderr)


idle = Job()
refused("it is no number", "is not the number of a process", "x", status=2)
refused("there is none", "there is no process 999999", "--yes", 999999)
refused("no CUDA", "libcuda.so is not loaded", "--yes", os.getpid())
refused("nobody to ask", "--yes says that it is wanted", idle.pid)
refused("the trace is there", "already exists", "--yes", idle.pid, "-o", idle.folder / "books")
launched = Job(launched=True)
refused("one that was launched", "is recorded already, into", "--yes", launched.pid, job=launched)
refused("its end", "its recording ends with it", "--detach", launched.pid, job=launched)
kit.equal("which goes on", launched.end()[2], 3)
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, idle.pid, 0, 0) == 0:  # PTRACE_ATTACH
    os.waitpid(idle.pid, 0)
    refused("it is debugged", f"is being debugged by process {os.getpid()}", "--yes", idle.pid)
    libc.ptrace(17, idle.pid, 0, 0)
if os.getuid() == 0 and shutil.which("setpriv"):
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", MEMTRACE, "attach", "--yes", str(idle.pid)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env={**idle.env, "TMPDIR": "/tmp"}, cwd="/tmp")
    kit.check("refused: another user's", done.returncode == 1 and "may not be attached to" in done.stderr, done.stderr)
else:
    kit.skip("another user's", "needs root and setpriv")
kit.equal("whoever was refused goes on", idle.end()[1:], ("", 3))
kit.equal("and no folder is left", [p.name for p in idle.folder.glob("memtrace-*")], [])
kit.done()
