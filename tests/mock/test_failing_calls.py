#!/usr/bin/env python3
"""Calls of `memtrace capture`, `collect` and `attach` fail, each once, alone and with all behind it; never those of the job. The command has run to its
end with its own status, or it has not begun and the status is 125; a job that is attached to goes on. What was recorded is in the trace whole,
or a word says why not and the folder can be collected later.

    test_failing_calls.py [EVERY [COMMAND...]]     every which call of each kind (without it, 10 to 20 of each command and kind)"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
SHIM = kit.BUILD / "tests" / "libfail_calls.so"
EVERY = int(sys.argv[1]) if len(sys.argv) > 1 else 0
kit.need(kit.LIB, kit.APP, MEMTRACE, SHIM)
if kit.SANITIZED:
    kit.skip_all("a sanitizer has an allocator of its own")


def calls_in(trace):
    done = subprocess.run([MEMTRACE, "dump", str(trace)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=300)
    return sum(1 for line in done.stdout.splitlines() if b'"type":"call"' in line.replace(b": ", b":"))


class Failing:
    """A command of memtrace, run again and again."""
    name, at_least, runs = "", 0, 9

    def __init__(self):
        self.folder = kit.scratch()
        self.bad = collections.Counter()

    def begin(self, argv, kind, n=0, on=False, count=None, **more):
        env = kit.environment(injected=False, LD_PRELOAD=SHIM, MT_FAIL_ONLY="memtrace", MT_FAIL_KIND=kind, MT_FAIL_AT=n or None,
                              MT_FAIL_ON=1 if on else None, MT_FAIL_COUNT=count, **more)
        return subprocess.Popen([MEMTRACE, *map(str, argv)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)

    def run(self, *args, **more):
        begun = self.begin(*args, **more)
        err = begun.communicate(timeout=300)[1]
        return begun.returncode, err.decode(errors="replace").strip()

    def all(self):
        for kind in ("alloc", "io"):
            self.prepare()
            count = self.folder / "count"
            self.once(kind, count=count)
            total = int(count.read_text().split()[0])
            count.unlink()
            kit.check(f"{self.name}: {total} calls ({kind}), none of which failed, and all is well", total > self.at_least and not self.bad, self.bad)
            step = EVERY or max(1, total // self.runs)
            runs = 0
            for on in (False, True):
                for n in range(1, total + 1, step):
                    self.prepare()
                    runs += 1
                    self.once(kind, n, on)
            kit.check(f"{self.name}: {runs} runs with a failure ({kind})", not self.bad, self.bad)
            self.bad.clear()

    def wrong(self, what, kind, n, on, err):
        self.bad[what] += 1
        kit.note(f"{self.name}, {kind}, call {n}{' and all behind it' if on else ''}: {what}: {err[:300]!r}")

    def prepare(self):
        for path in self.folder.iterdir():
            subprocess.run(["rm", "-rf", str(path)], check=True)

    def once(self, kind, n=0, on=False, count=None):
        raise NotImplementedError


class Capture(Failing):
    name, at_least = "capture", 20
    JOB = ("device:0", "alloc:40", "touch:{}", "exit:7")

    def once(self, kind, n=0, on=False, count=None):
        spools, out, ran, truth = (self.folder / x for x in ("spools", "out.gz", "ran", "truth"))
        spools.mkdir()
        truth.mkdir()
        job = [word.format(ran) for word in self.JOB]
        status, err = self.run(["capture", "-q", "--no-symbols", "--spool", spools, "-o", out, "--", kit.APP, *job], kind, n, on, count, FAKE_TRUTH=truth,
                               FAKE_TRUTH_LINES=0)
        if status == 125:
            if ran.exists() or out.exists() or (not err and not on):
                self.wrong("125, and the command ran, or there is a trace, or no word", kind, n, on, err)
            return
        if status != 7 or not ran.exists():
            self.wrong(f"status {status}", kind, n, on, err)
            return
        # calls that were completed, by the job's own books
        made = sum(int.from_bytes(path.read_bytes()[:8], "little") for path in truth.glob("*.count"))
        if made < 40:
            self.wrong(f"the job made {made} calls", kind, n, on, err)
        if out.exists():
            got = calls_in(out)
        else:
            left = [path for path in spools.iterdir() if any(path.iterdir())]
            if n and left:
                subprocess.run([MEMTRACE, "collect", "-q", "--no-symbols", "-o", str(out), str(left[0])], stderr=subprocess.DEVNULL, check=False, timeout=300)
            got = calls_in(out) if out.exists() else 0
        if got < made and not err and not (on and kind == "io"):
            self.wrong(f"{got} of {made} calls, without a word", kind, n, on, err)


class Collect(Failing):
    name, at_least = "collect", 20

    def __init__(self):
        super().__init__()
        self.spool = kit.scratch()
        kit.check("collect: a recording to collect", kit.run([kit.APP, "device:0", "alloc:40", "exit:0"], spool=self.spool).status == 0)

    def once(self, kind, n=0, on=False, count=None):
        out = self.folder / "out.gz"
        before = sorted((p.name, p.stat().st_size) for p in self.spool.rglob("*"))
        status, err = self.run(["collect", "-q", "--no-symbols", "-o", out, self.spool], kind, n, on, count)
        if before != sorted((p.name, p.stat().st_size) for p in self.spool.rglob("*")):
            self.wrong("the recording is another", kind, n, on, err)
        if status not in (0, 1, 3) or (status != 0 and not err and not on) or (status == 1 and out.exists()):
            self.wrong(f"status {status}, {'a' if out.exists() else 'no'} trace", kind, n, on, err)
        if status == 0 and calls_in(out) < 40:
            self.wrong("not whole, without a word", kind, n, on, err)


class Attach(Failing):
    name, at_least, runs = "attach", 20, 4  # a second and a half each

    def __init__(self):
        super().__init__()
        kit.need_debugging()

    def once(self, kind, n=0, on=False, count=None):
        out, ready, go = (self.folder / x for x in ("out.gz", "ready", "go"))
        env = kit.environment(injected=False)
        job = subprocess.Popen([str(kit.APP), "device:0", f"touch:{ready}", f"await:{go}", "alloc:40", "exit:7"], env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
        while not ready.exists() and job.poll() is None:
            time.sleep(0.002)
        asked = self.begin(["attach", "-q", "--yes", "--no-symbols", "-o", out, job.pid], kind, n, on, count, TMPDIR=self.folder)
        limit = time.monotonic() + 20
        while asked.poll() is None and time.monotonic() < limit and str(kit.LIB.name) not in pathlib.Path(f"/proc/{job.pid}/maps").read_text():
            time.sleep(0.005)
        go.touch()
        said = job.communicate(timeout=300)[1]
        err = asked.communicate(timeout=300)[1].decode(errors="replace").strip()
        if job.returncode != 7 or said:
            self.wrong(f"the job: status {job.returncode}, {said[:200]!r}", kind, n, on, err)
        status = asked.returncode
        if status not in (0, 1, 125) or (status and not err and not on):
            self.wrong(f"status {status}", kind, n, on, err)


for command in (Capture, Collect, Attach):
    if command.name in (sys.argv[2:] or ("capture", "collect", "attach")):
        command().all()
kit.done()
