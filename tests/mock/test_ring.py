#!/usr/bin/env python3
"""A recording that keeps the newest: what its checkpoint and the rest say is compared with all calls that were made, by books of the
test's own. Nothing of what is left may differ, at the checkpoint, at the end and in between; the size stays within the limit."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402
import ring_lib  # noqa: E402

# words of fake_app; each has to fill the ring several times
WORK = {
    "alloc, free and the rest at random": ["random:60000"],
    "virtual memory": ["vmm:24000"],
    "from pools": ["async:50000"],
    "few blocks that live long": ["alloc:300", "host:20", "arrays:5", "leak:40:2", "random:50000", "alloc:5", "random:10000"],
    "graphs, modules, contexts": ["graphs:3", "modules", "leak:10:1", "random:55000", "graphs:2"],
    "four threads": ["threads:4", "random:15000", "threads:1", "leak:3:1"],
}


def whole(what, words):
    done = ring_lib.undisturbed(what, lambda: kit.run([kit.APP, "device:0", *words], truth=True, MEMTRACE_KEEP_MB=1, MEMTRACE_MEMORY2=0,
                                                      MEMTRACE_FLUSH_MS=20), lambda d: d.process() and d.process().dropped)
    p, size = done.process(), ring_lib.size(done.spool)
    if not kit.check(f"{what}: a whole trace", done.status == 0 and p and not done.trace.problems, done.told(), done.trace.problems):
        return
    lines = ring_lib.lines(done.truth_dir, done.pid)
    if not kit.check(f"{what}: the ring turned", p.checkpoint and p.checkpoint[3] > 1000, p.checkpoint, len(lines), size):
        return
    kit.check(f"{what}: the limit holds", size <= 1 << 20, size)
    kit.check(f"{what}: nothing is lost", kit.lost_nothing(done.trace), p.losses(), p.dropped)
    ring_lib.same(what, p, lines, threads=words[0].startswith("threads"))


def by_age():
    """What is older than a second goes; a file with a failure in it stays."""
    for failing in (False, True):
        what = f"by age, {'after a failure' if failing else 'nothing failed'}"
        spool, truth, go = kit.scratch(), kit.scratch(), kit.scratch() / "go"
        env = kit.environment("cuda13", True, spool, FAKE_TRUTH=truth, MEMTRACE_LAST_S=1, MEMTRACE_MEMORY2=0, MEMTRACE_FLUSH_MS=20)
        words = ["device:0", *(["oom"] if failing else []), "leak:3:4", "random:300", *["sleep:400", "random:300"] * 8, f"await:{go}"]
        child = subprocess.Popen([str(kit.APP), *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        gone = kit.until(lambda s=spool: any(f.name.endswith(".base.gz") for f in s.iterdir()), 5 if failing else 120)
        kit.equal(f"{what}: it goes", gone, not failing)
        go.touch()
        kit.equal(f"{what}: status", child.wait(), 0)
        trace = kit.trace_decode.load(spool)
        p = next(q for q in trace.recorded() if q.pid == child.pid)
        kit.check(f"{what}: whole", kit.lost_nothing(trace), trace.problems)
        if not failing and p.checkpoint:
            ring_lib.same(what, p, ring_lib.lines(truth, child.pid))
        if failing:
            kit.check(f"{what}: the failure is there", any(c.get("result") == 2 for c in p.calls), len(p.calls))


def main():
    kit.need(kit.LIB, kit.APP)
    by_age()
    for what, words in WORK.items():
        whole(what, words)
    kit.done()


main()
