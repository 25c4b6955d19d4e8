"""What the tests of the injected library share: running a program with it, reading what it left, saying what was checked.

Environment: MT_BINARY_DIR (the build folder), MT_SOURCE_DIR, MEMTRACE (the program; its folder when MT_BINARY_DIR is absent). Lines
are TAP-like: "ok - ...", "not ok - ...", "# ...". done() ends with 0, 1, or 77 when nothing could be checked.
"""
import json
import mmap
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("MT_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("MT_BINARY_DIR") or SOURCE / "build")
sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import trace_decode  # noqa: E402

# What a background job or a service manager has set to be ignored would be ignored by the jobs of the tests too.
for _number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):
    signal.signal(_number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

LIB = BUILD / "lib" / "memtrace" / "libmemtrace_inject.so"
MOCK = BUILD / "tests" / "mock"
APP = BUILD / "tests" / "fake_app"
TREE = BUILD / "tests" / "fake_tree"
SANITIZED = os.environ.get("MT_SANITIZE", "")

_count = {"ok": 0, "failed": 0, "skipped": 0}
_scratch = []


def note(*words):
    print("#", *words, flush=True)


def check(what, ok, *more):
    """One thing that was checked; `more` is shown when it failed."""
    _count["ok" if ok else "failed"] += 1
    print("ok" if ok else "not ok", "-", what, flush=True)
    if not ok:
        for line in more:
            note("   ", str(line)[:2000])
    return bool(ok)


def equal(what, got, want):
    return check(what, got == want, f"got    {got!r}", f"wanted {want!r}")


def skip(what, why):
    _count["skipped"] += 1
    print(f"ok - {what} # skip {why}", flush=True)


def skip_all(why):
    print(f"# skipped: {why}", flush=True)
    clean()
    sys.exit(77)


def need(*paths):
    for path in paths:
        if not pathlib.Path(path).exists():
            skip_all(f"{path} was not built")


def need_debugging():
    """A kernel that lets one process debug another."""
    probe = subprocess.Popen(["sleep", "60"])
    try:
        open(f"/proc/{probe.pid}/mem", "rb").close()  # asks what a debugger asks
    except OSError:
        skip_all("the kernel lets no process debug another here (ptrace)")
    finally:
        probe.kill()
        probe.wait()


def clean():
    for folder in _scratch:
        shutil.rmtree(folder, ignore_errors=True)
    _scratch.clear()


def done():
    if os.environ.get("MT_KEEP"):
        note("kept:", *_scratch)
    else:
        clean()
    print(f"# {_count['ok']} ok, {_count['failed']} failed, {_count['skipped']} skipped", flush=True)
    sys.exit(1 if _count["failed"] else 0 if _count["ok"] else 77)


def scratch(where=None):
    """A new folder that done() removes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mt-mock-", dir=where))
    _scratch.append(folder)
    return folder


def environment(variant="cuda13", injected=True, spool=None, **more):
    """The environment of a job: nothing of ours from outside, the fakes of one CUDA version. A value of None removes a variable."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("MEMTRACE", "FAKE_", "MT_", "CUDA_", "NVTX_", "LD_", "NVIDIA_", "NCCL_", "PYTORCH_"))}
    for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        env.pop(key, None)
    if SANITIZED:
        env["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1:handle_segv=0:handle_abort=0:verify_asan_link_order=0"
        env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    if variant:
        env["LD_LIBRARY_PATH"] = str(MOCK / variant)
    if injected:
        env["CUDA_INJECTION64_PATH"] = env["NVTX_INJECTION64_PATH"] = str(LIB)
        env["MEMTRACE_MEMORY2"] = "1"  # all that can be recorded; off by default
        env["MEMTRACE_NVML_INSIDE"] = "1"  # nobody is there to ask
        if spool is not None:
            env["MEMTRACE_SPOOL"] = str(spool)
    env.update({k: str(v) for k, v in more.items() if v is not None})
    for key in [k for k, v in more.items() if v is None]:
        env.pop(key, None)
    return env


class Run:
    """A finished run: its status, output, duration, and the folders it left."""

    def __init__(self, status, out, err, seconds, spool, truth, pid):
        self.status, self.out, self.err, self.seconds, self.spool, self.truth_dir, self.pid = status, out, err, seconds, spool, truth, pid
        self._trace = None

    @property
    def trace(self):
        if self._trace is None:
            self._trace = trace_decode.load(self.spool)
        return self._trace

    def process(self, pid=None):
        """The process image of the command (of `pid`), the one that was started last."""
        of = [p for p in self.trace.recorded() if p.pid == (pid or self.pid)]
        return max(of, key=lambda p: p.chunks[0].realtime if p.chunks else 0) if of else None

    def told(self):
        return f"status {self.status}, stderr {self.err[-600:]!r}"


def run(args, variant="cuda13", injected=True, spool=None, truth=False, timeout=300, stdin=None, before=None, cwd=None, **more):
    """Runs a command with the library injected (or not), waits for it. `before` runs in the child before exec."""
    where = spool if spool is not None else scratch()
    told = scratch() if truth else None
    env = environment(variant, injected, where, **({"FAKE_TRUTH": told} if truth else {}), **more)
    start = time.monotonic()
    # Files, not pipes: a child that outlives the command would keep a pipe open.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([str(a) for a in args], env=env, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err,
                                 preexec_fn=before, cwd=cwd)
        if not until(lambda: child.poll() is not None, timeout):
            child.kill()
            child.wait()
        status = child.returncode if time.monotonic() < start + timeout else "timeout"
        seconds = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        return Run(status, out.read(), err.read(), seconds, where, told, child.pid)


def until(true, seconds=120):
    """Waits for a condition; False when it does not come. However slow or busy a machine is, a test waits for what it needs, not for a time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def samples(folder):
    """Samples of a GPU that were recorded into a spool folder by now."""
    while True:
        try:
            return sum(len(p.of("gpu_sample")) for p in trace_decode.load(folder).recorded())
        except FileNotFoundError:  # a ring let go of it meanwhile
            pass


# ---- ground truth ------------------------------------------------------------------------------------------------------------------


def truth_files(folder):
    """pid -> list of truth files, in the order of their numbers."""
    out = {}
    for path in sorted(folder.glob("*.truth"), key=lambda p: [int(x) for x in p.name.split(".")[:2]]):
        out.setdefault(int(path.name.split(".")[0]), []).append(path)
    return out


def truth_lines(path):
    """The calls of one truth file; a last line that is cut (the process was killed) is left out."""
    out = []
    for line in path.read_text().split("\n")[:-1]:
        out.append(json.loads(line))
    return out


def counted(folder, pid=None):
    """Calls that had returned, as counted in shared memory, per pid."""
    out = {}
    for path in folder.glob("*.count"):
        data = path.read_bytes()
        key = int(path.name.split(".")[0])
        out[key] = out.get(key, 0) + sum(struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])[:1])
    return out if pid is None else out.get(pid, 0)


def shared(path, size=4096):
    """A file of zeroes for FAKE_STATE, mapped."""
    path.write_bytes(bytes(size))
    with open(path, "r+b") as f:
        return mmap.mmap(f.fileno(), size)


# Fields that a truth line and a CALL record share; 0 and absent are the same.
FIELDS = ["op", "cbid", "result", "addr", "size", "handle", "offset", "stream", "device", "context", "pool", "flags", "location", "free",
          "total"]


def is_call(line):
    return "cbid" in line


def same_call(line, call, skip=()):
    """What differs between a truth line and a CALL record: list of texts."""
    out = []
    for name in FIELDS:
        if name in skip:
            continue
        want, got = line.get(name, 0), call.get(name, 0)
        if line.get("quiet") and name == "cbid":
            if not got & trace_decode.CBID_RUNTIME:
                out.append(f"cbid {got}, wanted one of the runtime")
            continue
        if line.get("result") and name in ("free", "total"):
            continue  # what was free when an allocation failed may be noted with it
        if want != got:
            out.append(f"{name} {got!r}, wanted {want!r}")
    if not line["t0"] <= call["time"] - call["duration"] <= call["time"] <= line["t1"]:
        out.append(f"time {call['time'] - call['duration']}..{call['time']} is not in {line['t0']}..{line['t1']}")
    return out


def is_watched(call):
    """What the recorder noticed beside the calls of calls that the application tells of: code as it comes and goes, the first launch of a graph."""
    return call["op"] in ("code_load", "code_unload") or call["cbid"] in (514, 515)


def compare(process, lines, skip=(), slack=0):
    """Truth lines against the CALL records of a process, per thread and in order. Returns texts about what differs; `slack` calls of a
    thread may follow its last line (a process that was killed between the call and its line)."""
    want, got, out = {}, {}, []
    for line in lines:
        if is_call(line):
            want.setdefault(line["tid"], []).append(line)
    for call in process.calls:
        if is_watched(call):
            continue
        got.setdefault(call["tid"], []).append(call)
    for tid in sorted(set(want) | set(got)):
        lines_of, calls_of = sorted(want.get(tid, []), key=lambda r: r["t0"]), got.get(tid, [])
        if not len(lines_of) <= len(calls_of) <= len(lines_of) + slack:
            out.append(f"thread {tid}: {len(calls_of)} calls are recorded, {len(lines_of)} were made")
        for i, (line, call) in enumerate(zip(lines_of, calls_of)):
            for text in same_call(line, call, skip):
                out.append(f"thread {tid}, call {i} ({line['op']} by {line.get('api')}): {text}")
            if len(out) > 20:
                return out
    return out


def damage(trace):
    """Problems of a trace; the last member of a .gz may be cut off where a process ended in the middle of writing it, since the same
    chunk is then still in the spool, or is missing, which is a problem of its own."""
    return [text for text in trace.problems if "is cut off" not in text]


def lost_nothing(trace):
    """No gap, no damage, no drop."""
    return not damage(trace) and all(not p.missing and not p.dropped and not p.losses() for p in trace.recorded())
