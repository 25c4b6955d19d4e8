#!/usr/bin/env python3
"""Bounds: the size of the file, the memory of the process, and losses that are counted exactly: recorded + dropped = what happened."""
import ctypes
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

CALLS = 200_000


def cap(megabytes):
    """With a cap on the file, and every call with different numbers so that it is reached."""
    done = kit.run([kit.APP, f"random:{CALLS}"], truth=True, MEMTRACE_MAX_MB=megabytes, MEMTRACE_MEMORY2=0, MEMTRACE_FLUSH_MS=50, FAKE_TRUTH_LINES=0)
    what = f"{CALLS} calls, cap {megabytes} MiB"
    kit.equal(f"{what}: status", done.status, 0)
    p, made = done.process(), kit.counted(done.truth_dir, done.pid)
    size = sum(f.stat().st_size for f in done.spool.iterdir() if f.suffix == ".gz")
    if not kit.check(f"{what}: a whole trace", p is not None and not done.trace.problems, done.trace.problems):
        return
    dropped = p.losses().get("records", (0, 0))[0]
    kit.note(f"{what}: {made} made, {len(p.calls)} recorded, {dropped} dropped, {size} bytes")
    kit.check(f"{what}: the file stays below it", size <= megabytes << 20 if megabytes else True, size)
    others = sum(1 for r in p.records if r["type"] not in ("call", "stack", "module", "string", "thread"))
    if megabytes and dropped:
        kit.check(f"{what}: the status says so", "size_cap" in p.codes(), p.statuses)
        kit.check(f"{what}: recorded + dropped = made", made <= len(p.calls) + dropped <= made + others, len(p.calls), dropped, made)
    else:
        kit.equal(f"{what}: recorded", (len(p.calls), dropped), (made, 0))
    return dropped


def failure_behind_the_cap():
    """The failure comes when nothing else is recorded any more: its call, its stack and the sample that it asked for are in the trace."""
    done = kit.run([kit.APP, "device:0", f"random:{CALLS}", "oom:nccl", "sleep:100"], MEMTRACE_MAX_MB=1, MEMTRACE_FLUSH_MS=20, FAKE_TRUTH_LINES=0)
    p = done.process()
    if not kit.check("a failure behind the cap: a whole trace", p is not None and not done.trace.problems, done.trace.problems):
        return
    failed = [c for c in p.calls if c.get("result") == 2]
    stacks = {s["id"] for s in p.of("stack")}
    kit.check("a failure behind the cap: records were dropped", p.losses().get("records", (0, 0))[0] > 0, p.losses())
    kit.check("a failure behind the cap: its call", len(failed) >= 1 and all(c.get("free") for c in failed), failed)
    kit.check("a failure behind the cap: its stack", all(c.get("stack") in stacks for c in failed), failed)
    kit.check("a failure behind the cap: the sample it asked for", any(s["why"] == 1 for s in p.of("gpu_sample")), len(p.of("gpu_sample")))
    size = sum(f.stat().st_size for f in done.spool.iterdir() if f.suffix == ".gz")
    kit.check("a failure behind the cap: the file stays below it", size <= 1 << 20, size)


def late_nvml():
    """However long nvmlInit takes, what a context took is measured; without NVML nobody waits for it."""
    for ms in (0, 300, 800):
        p = kit.run([kit.APP, "device:0", "alloc:10"], FAKE_NVML=f"init:{ms}").process()
        took = [c.get("change") for c in p.calls if c["op"] == "context_retain"]
        kit.check(f"nvmlInit takes {ms} ms: the context is measured", took and took[0] and took[0] > 100 << 20, took)
    # by the job's own clock; a sleep that the kernel makes long (timer slack, throttling) counts as long as it is
    slack = [lambda: None, lambda: ctypes.CDLL(None).prctl(29, 20_000_000)]
    for nvml, least, most in (("missing", 0, 0.9), ("init:60000", 0.9, 2.5)):
        for i, before in enumerate(slack):
            done = kit.run([kit.APP, "device:0", "alloc:10"], truth=True, before=before, FAKE_NVML=nvml)
            held = max((line["t1"] - line["t0"]) / 1e9 for path in kit.truth_files(done.truth_dir).get(done.pid, [])
                       for line in kit.truth_lines(path) if kit.is_call(line))
            kit.check(f"NVML {nvml}, slack {i}: the longest call", least <= held < most, held)


def many_processes():
    """A pool of workers: a GPU that 70 processes use still has each in its samples."""
    state, end, here = kit.scratch() / "gpus", kit.scratch() / "end", kit.scratch()
    env = kit.environment(injected=False, FAKE_STATE=state)
    others = [subprocess.Popen([str(kit.APP), "device:0", f"touch:{here}/{i}", f"await:{end}"], env=env, stderr=subprocess.DEVNULL) for i in range(69)]
    kit.check("69 other processes are there", kit.until(lambda: len(list(here.iterdir())) == len(others)))
    p = kit.run([kit.APP, "device:0", "alloc:10", "sleep:50"], FAKE_STATE=state).process()
    end.touch()
    for other in others:
        other.wait()
    most = max((len(s["uses"]) for s in p.of("gpu_sample")), default=0)
    kit.equal("70 processes on a GPU: all are in its samples", most, 70)


def memory():
    """What the library adds to the resident memory of a process that makes many calls from many places."""
    words = ["threads:4", f"random:{CALLS // 8}", "threads:1", "resident"]
    plain = kit.run([kit.APP, *words], injected=False)
    done = kit.run([kit.APP, *words], MEMTRACE_FLUSH_MS=20, MEMTRACE_MAX_MB=0)
    without, with_it = int(plain.out or 0), int(done.out or 0)
    added = (with_it - without) / 1024
    kit.note(f"resident memory: {without} KiB without, {with_it} KiB with the library")
    if kit.SANITIZED:
        kit.skip("memory", "a sanitizer build")
        return
    kit.check("at most 16 MiB of memory are added", without > 0 and added < 16, added)
    kit.equal("and nothing is lost", (done.status, kit.lost_nothing(done.trace)), (0, True))


def many_names():
    """More names than the table of strings holds: bounded, and counted."""
    done = kit.run([kit.APP, *[f"mark:name-{i}-{'x' * (i % 50)}" for i in range(3000)]], MEMTRACE_MAX_MB=0)
    p = done.process()
    kit.equal("marks with many names", (done.status, p and len(p.of("mark")), p and len({r.name for r in p.of("mark")})), (0, 3000, 3000))


def main():
    kit.need(kit.LIB, kit.APP)
    memory()
    many_names()
    late_nvml()
    many_processes()
    failure_behind_the_cap()
    cap(0)
    kit.check("the small cap was reached", cap(1))
    kit.done()


main()
