#!/usr/bin/env python3
"""Every way in which a process can end or become another one: what it recorded is whole, and it ends as it would without the library."""
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

NOBODY = 65534
WORK = ["alloc:400", "vmm:2", "nccl:3"]
# name: words, whether exit handlers run
ENDS = {
    "return": ([], True), "exit": (["exit:7"], True), "exit from another thread": (["threadexit:9"], True), "_exit": (["_exit:5"], False),
    "abort": (["abort"], False), "SIGSEGV": (["segv"], False), "SIGKILL": (["kill9"], False), "SIGTERM": (["term"], False),
    "a fatal OOM": (["oom:fatal"], None),
}


def lines_of(folder, pid, image=None):
    files = kit.truth_files(folder).get(pid, [])
    return [line for path in (files if image is None else files[image:image + 1]) for line in kit.truth_lines(path)]


def whole(what, done, process, lines):
    if not kit.check(f"{what}: a whole trace", process is not None and kit.lost_nothing(done.trace), done.trace.problems, done.told()):
        return False
    differences = kit.compare(process, lines)
    return kit.check(f"{what}: {sum(map(kit.is_call, lines))} calls are equal", not differences, *differences)


def ends():
    for name, (words, handlers) in ENDS.items():
        for threads in [[], ["threads:4"]]:
            command = [kit.APP, *threads, *WORK, *words]
            what = name + (", threads" if threads else "")
            plain = kit.run(command, injected=False)
            done = kit.run(command, truth=True)
            kit.check(f"{what}: as without the library", (done.status, done.out, done.err) == (plain.status, plain.out, plain.err), plain.told(), done.told())
            p = done.process()
            if whole(what, done, p, lines_of(done.truth_dir, done.pid)) and handlers is not None:
                kit.equal(f"{what}: END record", p.ends(), [("exit", done.status)] if handlers else [])
                kit.equal(f"{what}: the spool file is gone", [f.name for f in done.spool.iterdir() if f.suffix == ".spool"] == [], handlers)


def signals():
    """From outside, at a moment when all threads are at work."""
    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1]:
        what = signal.Signals(number).name + " from outside"
        spool, truth = kit.scratch(), kit.scratch()
        child = subprocess.Popen([str(kit.APP), "threads:2", "random:0"], env=kit.environment("cuda13", True, spool, FAKE_TRUTH=truth),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        kit.check(f"{what}: at work", kit.until(lambda: kit.counted(truth, child.pid) > 500))
        child.send_signal(number)
        kit.equal(f"{what}: status", child.wait(), -number)
        trace = kit.trace_decode.load(spool)
        p = next((q for q in trace.recorded() if q.pid == child.pid), None)
        if kit.check(f"{what}: a whole trace", p is not None and not kit.damage(trace), trace.problems):
            differences = kit.compare(p, lines_of(truth, child.pid), slack=2)
            kit.check(f"{what}: {len(p.calls)} calls are equal", not differences, *differences)


def execs():
    done = kit.run([kit.APP, "alloc:100", "exec", "alloc:200", "exec", "vmm:2", "exit:3"], truth=True)
    kit.equal("exec: status", done.status, 3)
    images = sorted((p for p in done.trace.recorded() if p.pid == done.pid), key=lambda p: p.chunks[0].realtime)
    if kit.equal("exec: a trace of each image", (len(images), len({p.uid for p in images})), (3, 3)):
        for i, p in enumerate(images):
            whole(f"exec: image {i}", done, p, lines_of(done.truth_dir, done.pid, i))
        kit.equal("exec: only the last one ended", [bool(p.ends()) for p in images], [False, False, True])


def children(words, what, forked_from_cuda=False):
    plain = kit.run([kit.APP, *words], injected=False)
    done = kit.run([kit.APP, *words], truth=True)
    kit.check(f"{what}: as without the library", (done.status, done.out, done.err) == (plain.status, plain.out, plain.err), plain.told(), done.told())
    # a child that outlives its parent
    kit.until(lambda: not [pid for pid in kit.truth_files(done.truth_dir) if zombie(pid) is False])
    for pid in kit.truth_files(done.truth_dir):
        lines = lines_of(done.truth_dir, pid)
        p = done.process(pid)
        who = "parent" if pid == done.pid else "child"
        if forked_from_cuda and who == "child":
            # The driver refuses everything before it looks for a callback: nothing to record, and nothing of the parent's.
            kit.check(f"{what}: the child has none of the parent's records", p is None or not p.calls, p and len(p.calls))
        elif any(map(kit.is_call, lines)):
            whole(f"{what}: {who}", done, p, lines)
    return done


def trees():
    for workers in [3, 8]:
        state = kit.scratch() / "state"
        done = kit.run([kit.TREE, workers], truth=True, FAKE_GPUS=2, FAKE_STATE=state)
        what = f"a tree of {workers} workers"
        kit.equal(f"{what}: status", (done.status, done.err), (0, b""))
        pids = {}
        for line in done.out.decode().splitlines():
            words = line.split()
            pids[int(words[2].split("=")[1])] = (words[0], int(words[1].split("=")[1]))
        kit.until(lambda: not any(zombie(pid) is False for pid in pids))
        kit.check(f"{what}: nothing damaged", not kit.damage(done.trace), done.trace.problems)
        driver = done.process()
        kit.check(f"{what}: the driver has ranges and no calls", driver and len(driver.ranges()) >= 3 and not driver.calls, driver and driver.ranges())
        for pid, (kind, rank) in pids.items():
            p = done.process(pid)
            if kit.check(f"{what}: {kind} {rank} has a trace", p is not None):
                differences = kit.compare(p, lines_of(done.truth_dir, pid), slack=1 if kind == "killed" else 0)
                kit.check(f"{what}: calls of {kind} {rank} are equal", not differences and p.calls, *differences)
                kit.equal(f"{what}: its rank", p.attrs.get("env.RANK"), [str(rank)])


def zombie(pid):
    """Whether a process is over but not waited for; None = it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return None


def setuid():
    if os.geteuid() != 0:
        kit.skip("a setuid program", "needs root")
        return
    folder = kit.scratch()
    folder.chmod(0o755)
    program = folder / "fake_app"
    shutil.copy(kit.APP, program)
    program.chmod(0o4755 | stat.S_ISUID)
    spool = kit.scratch()
    spool.chmod(0o777)
    def as_nobody():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    for words in [["print:hello", "push:a", "pop", "exit:4"], ["apush:a", "apop", "exit:4"]]:
        plain = kit.run([program, *words], injected=False, before=as_nobody)
        done = kit.run([program, *words], spool=spool, before=as_nobody)
        kit.check(f"a setuid program ({words[0]}): as without the library", (done.status, done.out, done.err) == (plain.status, plain.out, plain.err),
                  plain.told(), done.told())
        kit.equal("and it writes nothing where its caller says", list(spool.iterdir()), [])


def static():
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    folder = kit.scratch()
    (folder / "s.c").write_text('#include <stdio.h>\nint main(void) { puts("static"); return 2; }\n')
    if not cc or subprocess.run([cc, "-static", "-o", folder / "s", folder / "s.c"], capture_output=True, check=False).returncode != 0:
        kit.skip("a static program", "no compiler or no static C library")
        return
    done = kit.run([folder / "s"])
    kit.equal("a static program", (done.status, done.out, done.err, list(done.spool.iterdir())), (2, b"static\n", b"", []))


def main():
    kit.need(kit.LIB, kit.APP, kit.TREE)
    ends()
    signals()
    execs()
    children(["alloc:50", "fork:alloc:20,exit:4", "alloc:30"], "fork after CUDA", forked_from_cuda=True)
    children(["fork:alloc:20,vmm:1,exit:4", "alloc:30"], "fork before CUDA")
    children(["fork:alloc:20,_exit:4", "fork:nccl:2", "exit:6"], "children use CUDA, the parent does not")
    children(["alloc:50", "spawn:alloc:20,exit:4", "alloc:30"], "spawn")
    children(["push:a", "fork:push:b,pop,exit:2", "pop", "alloc:10"], "ranges, fork, CUDA")
    children(["alloc:30", "background:sleep:300,print:x", "exit:1"], "a child that outlives", forked_from_cuda=True)
    children(["background:sleep:300,alloc:25", "exit:1"], "a child that outlives and uses CUDA")
    trees()
    setuid()
    static()
    kit.done()


main()
