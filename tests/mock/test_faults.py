#!/usr/bin/env python3
"""The fault matrix. Under every fault the job's stdout, stderr and exit status are equal byte for byte to those of a run without the
library, no call is held for long, and a STATUS record says what was lost wherever anything could be written."""
import ctypes
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

JOB = ["print", "alloc:300", "vmm:5", "host", "pools", "meminfo", "oom", "exit:3"]
NOBODY = 65534
PT_NOTE = 4
HELD = 1.5  # seconds that one call may take
HANGS = 10.0  # the same beside a disk that hangs, where one wait of a second is meant
WHOLE = 120.0  # seconds after which a run that takes milliseconds hangs, however busy the machine


class Fault:
    """env: of the fault, for both runs; lib: for the run with the library only. codes: STATUS codes that must be there; a set in it
    means one of them. calls: "all", "some" or "none" of the calls must be recorded; None = there is no file to look into."""

    def __init__(self, name, codes=(), calls="all", variant="cuda13", env=None, lib=None, job=None, before=None, folder=None, after=None):
        self.name, self.codes, self.calls, self.variant = name, codes, calls, variant
        self.env, self.lib, self.job, self.before, self.folder, self.after = env or {}, lib or {}, job or JOB, before, folder, after


def limit(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def as_nobody(*more):
    def before():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        for one in more:
            one()
    return before


def readonly():
    folder = kit.scratch()
    folder.chmod(0o555)
    return folder


def open_to_all():
    folder = kit.scratch()
    folder.chmod(0o777)
    return folder


def not_a_folder():
    path = kit.scratch() / "file"
    path.write_text("x")
    return path


_mounted = []


def tiny_disk(size):
    """A file system of `size`; None where this user may not mount."""
    def make():
        folder = kit.scratch()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True, check=False).returncode != 0:
            return None
        _mounted.append(folder)
        return folder
    return make


def full_disk():
    folder = tiny_disk("1m")()
    if folder is None:
        return None
    try:
        (folder / "filler").write_bytes(bytes(2 << 20))
    except OSError:
        pass
    return folder


def odd_library():
    """A library whose notes lie in no segment that is loaded, as tools that rewrite libraries leave them."""
    path = kit.scratch() / "libodd.so"
    data = bytearray((kit.MOCK / "owners" / "libnccl.so.2").read_bytes())
    table, (size, n) = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<HH", data, 54)
    for header in range(table, table + n * size, size):
        if struct.unpack_from("<I", data, header)[0] == PT_NOTE:
            struct.pack_into("<Q", data, header + 16, 0x40000000)
    path.write_bytes(data)
    return path


def faults():
    root = os.geteuid() == 0
    yield Fault("no fault")
    # On a machine with a CUDA Toolkit its libcupti is found instead, which wants a real driver.
    yield Fault("no libcupti", [{"cupti_missing", "cupti_error"}], "none", variant="nocupti")
    yield Fault("a libcupti that is none", [{"cupti_missing", "cupti_error"}], "none", variant="nocupti", lib={"MEMTRACE_CUPTI": "/etc/passwd"})
    yield Fault("subscriber busy", ["subscriber_busy"], "none", env={"FAKE_CUPTI": "busy:nsys"})
    yield Fault("subscriber busy, CUPTI 11.8", ["subscriber_busy"], "none", variant="cuda118", env={"FAKE_CUPTI": "busy"})
    for code in [15, 35, 999]:
        yield Fault(f"cuptiSubscribe answers {code}", ["cupti_error"], "none", env={"FAKE_CUPTI": f"subscribe:{code}"})
    for variant in ["cuda13", "cuda12", "cuda118"]:
        yield Fault(f"CUPTI answers errors, {variant}", ["cupti_error"], "none", variant=variant, env={"FAKE_CUPTI": "error"})
    yield Fault("no activity records", [{"memory2_off", "cupti_error"}], env={"FAKE_CUPTI": "activity:999"})
    yield Fault("slow CUPTI", env={"FAKE_CUPTI": "slow:200"})
    yield Fault("no callback ever", [], "none", env={"FAKE_CUPTI": "nosubscribe"})
    yield Fault("callbacks fall silent", [], "some", env={"FAKE_CUPTI": "silent:101"})
    yield Fault("the driver ends before the recorder", env={"FAKE_TEARDOWN": 1}, after=not_silent)
    yield Fault("somebody finalizes CUPTI", [], "some", env={"FAKE_CUPTI": "finalized:101"})
    yield Fault("activity buffers taken over", ["activity_taken"], env={"FAKE_CUPTI": "taken:50"}, lib={"MEMTRACE_FLUSH_MS": 20},
                job=["print", "alloc:300", "sleep:700", "alloc:10", "sleep:700", "exit:3"])
    yield Fault("activity records dropped", [], env={"FAKE_CUPTI": "drop:7"}, after=dropped_activity)
    for variant in ["cuda118", "cuda12"]:
        yield Fault(f"activity buffers that never come back, {variant}", variant=variant, env={"FAKE_CUPTI": "keeps"},
                    job=["print", "alloc:300", "exit:3"], after=dropped_activity)
    yield Fault("records of an odd size", [], env={"FAKE_CUPTI": "stride:136"})
    yield Fault("records that are too small", ["memory2_off"], env={"FAKE_CUPTI": "stride:104"})
    yield Fault("a newer driver", [], env={"FAKE_CUPTI": "future"})
    yield Fault("an older driver", [], variant="cuda118", env={"FAKE_DRIVER": 11040})
    yield Fault("a driver older than its CUPTI", [{"cupti_missing", "cupti_error"}], "none", env={"FAKE_DRIVER": 11040})
    yield Fault("cuInit fails", [], "none", env={"FAKE_CUINIT": 100}, job=["init", "exit:3"])
    for mode in ["missing", "error", "slow:300", "noperm", "mig", "nopids"]:
        yield Fault(f"NVML: {mode}", [] if mode in ("nopids", "slow:300", "mig") else ["nvml"], env={"FAKE_NVML": mode})
    yield Fault("a library whose notes are not in memory", env={"LD_PRELOAD": odd_library()})
    yield Fault("NVML off", lib={"MEMTRACE_NVML": 0})
    yield Fault("no spool folder", calls=None, folder=lambda: pathlib.Path("/nonexistent/folder"))
    yield Fault("the spool folder is a file", calls=None, folder=not_a_folder)
    yield Fault("MEMTRACE_SPOOL is not set", calls=None, lib={"MEMTRACE_SPOOL": None})
    yield Fault("settings that are no numbers", lib={"MEMTRACE_FLUSH_MS": "fast", "MEMTRACE_MAX_MB": "-1", "MEMTRACE_STACK_DEPTH": "9" * 40})
    yield Fault("full disk", calls=None, folder=full_disk)
    yield Fault("a disk too small for the spool", ["spool_memory"], folder=tiny_disk("2m"), lib={"MEMTRACE_FLUSH_MS": 20})
    yield Fault("a failure when the disk is full", ["disk_full"], "some", job=["print", "device:0", "random:400000", "oom:nccl", "exit:3"], folder=tiny_disk("8m"),
                lib={"MEMTRACE_FLUSH_MS": 20}, after=failure_is_there)
    yield Fault("no file may grow", calls=None, before=limit(resource.RLIMIT_FSIZE, 0))
    yield Fault("files of at most 1 MiB", ["spool_memory"], before=limit(resource.RLIMIT_FSIZE, 1 << 20))
    yield Fault("spool in memory", ["spool_memory"], lib={"MEMTRACE_ANONYMOUS_SPOOL": 1})
    if os.access("/dev/shm", os.W_OK):
        yield Fault("spool on /dev/shm", folder=lambda: kit.scratch("/dev/shm"))
    yield Fault("few files may be open", before=limit(resource.RLIMIT_NOFILE, 12))
    yield Fault("almost no file may be open", [], None, before=limit(resource.RLIMIT_NOFILE, 5))
    if root:
        yield Fault("the spool folder is read-only", calls=None, folder=readonly, before=as_nobody())
        yield Fault("another user's processes may not be started", [], folder=open_to_all, before=as_nobody(limit(resource.RLIMIT_NPROC, 0)))
    else:
        kit.skip("read-only folder, no threads", "needs root to become another user")
    yield Fault("size cap", ["size_cap"], "some", job=["print", "random:200000", "exit:3"], lib={"MEMTRACE_MAX_MB": 1, "MEMTRACE_FLUSH_MS": 20})
    yield Fault("without stacks", lib={"MEMTRACE_STACKS": 0})
    yield Fault("without MEMORY2, as it is by default", lib={"MEMTRACE_MEMORY2": None}, after=no_activity)
    yield Fault("no libcuda", [], None, variant=None, job=["init", "exit:3"])
    yield Fault("the library is not there", calls=None, lib={"CUDA_INJECTION64_PATH": "/nonexistent.so", "NVTX_INJECTION64_PATH": "/nonexistent.so"})
    yield Fault("the library is no library", calls=None, lib={"CUDA_INJECTION64_PATH": "/etc/passwd", "NVTX_INJECTION64_PATH": "/etc/passwd"})


def dropped_activity(what, process):
    lost = process.losses().get("activity", (0, 0))[0]
    kit.check(f"{what}: dropped activity records are counted", lost > 0, process.losses())


def not_silent(what, process):
    kit.check(f"{what}: nobody is said to have shut CUPTI down", "silent" not in process.codes(), process.statuses)


def failure_is_there(what, process):
    failed = [c for c in process.calls if c.get("result") == 2]
    kit.check(f"{what}: records were dropped", process.losses().get("records", (0, 0))[0] > 0, process.losses())
    kit.check(f"{what}: the failure is there, with its stack and what was free", failed and all(c.get("free") and c.get("stack") for c in failed), failed)


def no_activity(what, process):
    kit.equal(f"{what}: nothing of CUPTI's own", (process.of("memory2"), "memory2_off" in process.codes()), ([], False))


def held(folder, pid):
    """Seconds of the longest call, from the application's own clock."""
    lines = [line for path in kit.truth_files(folder).get(pid, []) for line in kit.truth_lines(path) if kit.is_call(line)]
    return max(((line["t1"] - line["t0"]) / 1e9 for line in lines), default=0), lines


def one(fault):
    what = fault.name
    folder = fault.folder() if fault.folder else None
    if fault.folder and folder is None:
        kit.skip(what, "no file system may be mounted here")
        return
    command = [kit.APP, *fault.job]
    plain = kit.run(command, variant=fault.variant, injected=False, before=fault.before, **fault.env)
    truth = fault.before is None
    done = kit.run(command, variant=fault.variant, spool=folder, truth=truth, before=fault.before, **{**fault.env, **fault.lib})
    kit.check(f"{what}: output and status are those of a run without", (done.status, done.out, done.err) == (plain.status, plain.out, plain.err),
              plain.told(), done.told(), done.out[-300:], plain.out[-300:])
    kit.check(f"{what}: it does not hang", done.seconds < plain.seconds + WHOLE, plain.seconds, done.seconds)
    lines = []
    if truth:
        longest, lines = held(done.truth_dir, done.pid)
        for _ in range(3):  # a fault holds a call each time, a busy machine hardly
            if longest >= HELD:
                folder = fault.folder() if fault.folder else None
                again = kit.run(command, variant=fault.variant, spool=folder, truth=True, **{**fault.env, **fault.lib})
                longest = min(longest, held(again.truth_dir, again.pid)[0])
        kit.check(f"{what}: no call is held", longest < HELD, longest)
    if fault.calls is None:
        if done.spool.is_dir() and list(done.spool.iterdir()):
            kit.check(f"{what}: what is there is whole", not done.trace.problems, done.trace.problems)
        return
    p = done.process()
    if not kit.check(f"{what}: a trace", p is not None and not done.trace.problems, done.trace.problems, list(done.spool.iterdir())):
        return
    for code in fault.codes:
        kit.check(f"{what}: STATUS says {code}", p.codes() & (code if isinstance(code, set) else {code}), p.statuses)
    if not fault.codes:
        kit.note(f"{what}:", *[f"{s[0]}({s[1]}) {s[2][:90]};" for s in p.statuses if s[1]])
    if fault.calls == "none":
        kit.equal(f"{what}: no calls", len(p.calls), 0)
    elif fault.calls == "all" and truth:
        differences = kit.compare(p, lines)
        kit.check(f"{what}: every call is recorded", not differences and not p.losses().get("records"), *differences)
    elif fault.calls == "all":
        kit.check(f"{what}: calls are recorded", len(p.calls) > 300, len(p.calls))
    else:
        kit.check(f"{what}: some calls are recorded, and the rest is accounted for", 0 < len(p.calls) < len([1 for l in lines]) or not lines,
                  len(p.calls), len(lines))
        kit.check(f"{what}: a STATUS says why", any(s[1] >= 1 for s in p.statuses), p.statuses)
    if fault.after:
        fault.after(what, p)


# ---- a disk that hangs: the writer's thread is stopped, as if its write() never returned ------------------------------------------------

SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


def dropped(spool):
    """Records that the newest spool file in this folder says were dropped; 0 where none can be read yet."""
    for process in kit.trace_decode.load(spool).recorded():
        return max(process.dropped, (process.spool or {}).get("dropped", 0))
    return 0


def stop_writer(pid, spool, told):
    """Stops the thread named "memtrace" of pid until records are dropped, and a moment more."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    tid = None
    for _ in range(500):
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
            try:
                if (task / "comm").read_text().strip() == "memtrace":
                    tid = int(task.name)
            except OSError:
                pass
        if tid:
            break
        time.sleep(0.01)
    if not tid or libc.ptrace(SEIZE, tid, None, None) != 0 or libc.ptrace(INTERRUPT, tid, None, None) != 0:
        told.append(f"thread {tid}: {os.strerror(ctypes.get_errno())}")
        return
    os.waitpid(tid, WALL)
    until = time.monotonic() + WHOLE
    while not dropped(spool) and time.monotonic() < until:
        time.sleep(0.5)
    told.append(time.monotonic_ns())
    time.sleep(0.3)
    libc.ptrace(DETACH, tid, None, None)


def hanging_disk():
    """No time is measured here but one: a call that waited for the disk would end when the disk does, and a call may wait a second. Both
    are told apart by the calls that went on while the disk still hung, and by HANGS, which leaves room for a busy machine."""
    what = "a disk that hangs"
    spool, truth = kit.scratch(), kit.scratch()
    env = kit.environment("cuda13", True, spool, FAKE_TRUTH=truth, MEMTRACE_FLUSH_MS=20, MEMTRACE_MEMORY2=0)
    child = subprocess.Popen([str(kit.APP), "random:0", "exit:0"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = []
    # Who traces a thread has to be the thread that asked for it.
    watcher = threading.Thread(target=stop_writer, args=(child.pid, spool, told))
    watcher.start()
    watcher.join()
    time.sleep(0.5)
    child.kill()
    child.wait()
    if not told or isinstance(told[0], str):
        kit.skip(what, f"a thread cannot be stopped here: {told}")
        return
    longest, lines = held(truth, child.pid)
    trace = kit.trace_decode.load(spool)
    p = next((q for q in trace.recorded()), None)
    kit.check(f"{what}: a call waits for it, and not for long", 0.3 < longest < HANGS, longest)
    if kit.check(f"{what}: a trace", p is not None and not trace.problems, trace.problems):
        lost = max(p.dropped, (p.spool or {}).get("dropped", 0))
        after = sum(1 for line in lines if line["t0"] > told[0])
        kit.note(f"{len(lines)} calls, {len(p.calls)} recorded, {lost} dropped, {after} after the first drop, longest call {longest:.3f} s")
        kit.check(f"{what}: the job goes on meanwhile", after > 100, after)
        kit.check(f"{what}: what is missing is counted", len(lines) <= len(p.calls) + lost <= len(lines) + 50 and lost > 0, len(lines), len(p.calls), lost)
        kit.check(f"{what}: a STATUS says so", "stalled" in p.codes(), p.statuses)


def main():
    kit.need(kit.LIB, kit.APP)
    only = sys.argv[1:]
    try:
        for fault in faults():
            if not only or any(word in fault.name for word in only):
                one(fault)
        if not only or "hangs" in only:
            hanging_disk()
    finally:
        for folder in _mounted:
            subprocess.run(["umount", str(folder)], check=False)
    kit.done()


if shutil.which("mount"):
    os.environ["PATH"] += os.pathsep + "/sbin:/usr/sbin"
main()
