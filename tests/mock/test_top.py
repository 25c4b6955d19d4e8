#!/usr/bin/env python3
"""memtrace top: what it says of a job that runs, against the job's own books and against the report of the same recording; that it finds jobs,
follows them, tells failures and growth, and leaves the recording as it is."""
import json
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
OWNERS = {"torch": "torch", "nccl": "nccl", "math": "cublas", "engine": "cumem"}
kit.need(kit.LIB, kit.APP, kit.MOCK / "cuda13" / "libcuda.so.1")


class Job:
    """A recorded job. {at} and {end} in its words are files: it makes the first when it has done its work, and waits for the second."""

    def __init__(self, *steps, command=None):
        self.spool, self.truth = kit.scratch(), kit.scratch()
        self.at, self.gate = self.spool / "at", self.spool / "end"
        steps = [s.format(at=self.at, end=self.gate) for s in steps]
        command = command and [word.format(at=self.at, end=self.gate) for word in command]
        command = [MEMTRACE, "capture", "-q", "--no-torch", "--spool", str(self.spool), "-o", str(self.spool / "t.gz"), "--",
                   *map(str, command or [kit.APP, *steps])]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                      env=kit.environment(injected=False, FAKE_TRUTH=self.truth, FAKE_STATE=self.spool / "gpus"))
        kit.until(lambda: list(self.spool.glob("memtrace-*/mt-*.spool")) or self.child.poll() is not None)
        self.dir = next(iter(self.spool.glob("memtrace-*")), None)

    def books(self, n=1):
        """The last line of the job's own books, once it is there."""
        def lines():
            return [json.loads(x) for f in self.truth.glob("*.held") for x in f.read_text().splitlines() if '"end"' in x]
        kit.until(lambda: len(lines()) >= n)
        return lines()

    def ready(self, n=1):
        """n processes have done their work, and wait."""
        return kit.until(lambda: len(list(self.spool.glob("at*"))) >= n or self.child.poll() is not None)

    def end(self):
        self.gate.touch()
        _, err = self.child.communicate(timeout=300)
        return self.child.returncode, err


def run(*options, **more):
    return subprocess.run([MEMTRACE, "top", *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=300, **more)


def look(*options):
    done = run("-1", "--json", *options)
    kit.check("top ends well", done.returncode == 0 and done.stderr == "", done.returncode, done.stderr)
    return json.loads(done.stdout)


def held(device):
    out = {}
    for owner in device["owners"]:
        out[owner["holder"]] = out.get(owner["holder"], 0) + owner["bytes"]
    return out


# One process after its work: all owners, to the byte; the same from the slots (at once) and from the finished members (later).
job = Job("train:tick=5", "touch:{at}", "await:{end}")
job.ready()
books = job.books()[0]
want = {holder: books[name] for holder, name in OWNERS.items() if books[name]}
for when in ("at once", "after a flush"):
    if when == "after a flush":
        kit.check("a member is finished", kit.until(lambda: list(job.dir.glob("mt-*.gz"))))
    seen = look(job.dir)
    device = seen["devices"][0]
    kit.equal(f"{when}: every owner, to the byte", {k: v for k, v in held(device).items() if v}, want)
    kit.equal(f"{when}: and their sum", device["recorded"], sum(want.values()))
known = books["context"] + books["module"]


def sampled():
    """Whether the device was sampled since the work was done: then it has what no call says."""
    global seen, device  # pylint: disable=global-statement
    seen = look(job.dir)
    device = seen["devices"][0]
    return device["rest"] > known


kit.check("the device is sampled", kit.until(sampled))
kit.equal("used is what is named and the rest", device["used"], device["recorded"] + device["other"] + device["rest"])
kit.check("the rest is what no call says: context, module and the graph's", known < device["rest"] <= known + (80 << 20), known, device["rest"])
kit.equal("the process", [(p["name"], p["runs"], p["held"], p["failures"], p["lost"]) for p in seen["processes"]], [("fake_app", True, sum(want.values()), 0, 0)])
kit.equal("what grew most", (seen["growth"]["holder"], seen["growth"]["bytes"]), ("torch", books["torch"]))
text = run("-1", job.dir).stdout
kit.check("the same as text", "PyTorch" in text and "failures: 0" in text and "GPU 0 of" in text, text)
pid = seen["processes"][0]["pid"]
kit.equal("by the number of the process", look(pid)["recordings"], [str(job.dir)])
kit.equal("by that of memtrace capture", look(job.child.pid)["recordings"], [str(job.dir)])
kit.check("found by itself", str(job.dir) in look()["recordings"])
status, err = job.end()
kit.equal("the job ends as it would", (status, err), (0, ""))
rows = [json.loads(x) for x in subprocess.run([MEMTRACE, "dump", str(job.spool / "t.gz")], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()]
kit.equal("its trace has every call", sum(r["type"] == "call" for r in rows), seen["processes"][0]["calls"])
done = run("-1", job.dir)
kit.check("the recording is over", done.returncode == 1 and "no recording goes on there" in done.stderr, done.stderr)

# It follows: a line for each look until the recording ends; phases as they come; a failure, which the process does not survive.
gate = kit.scratch() / "phase"
job = Job(f"train:tick=1:steps=1:oom=nccl:gate={gate}")
with subprocess.Popen([MEMTRACE, "top", "--json", str(job.dir)], stdout=subprocess.PIPE, text=True) as follower:
    looks, lines = [], [json.loads(follower.stdout.readline())]
    for n in range(1, 7):  # init, gen, old_log_prob, update_actor, update_weights, step: it waits at the end of each
        here = gate.with_name(f"phase.{n}.here")
        kit.check(f"phase {n} is reached", kit.until(lambda at=here: at.exists() or job.child.poll() is not None))
        done = run("-1", "--json", job.dir)
        if done.returncode == 0:
            looks.append(json.loads(done.stdout))
        if n == 6:
            lines.append(json.loads(follower.stdout.readline()))
        gate.with_name(f"phase.{n}").touch()
    lines += [json.loads(x) for x in follower.communicate(timeout=300)[0].splitlines()]
kit.check("it ends with the recording", follower.returncode == 0 and len(lines) >= 2, follower.returncode, len(lines))
phases = {d["phase"] for line in looks for d in line["devices"]} - {None}
kit.check("phases of the job", {"rollout.generate", "logp_old", "train_actor", "weight_sync"} <= phases, phases)
job.end()

# Several processes; the first has failed, gone on and ended. Its failures stay, what it held does not.
train = f"{kit.APP} train:tick=1 touch:{{at}}$i await:{{end}} &"
job = Job(command=["bash", "-c", f"{kit.APP} oom; for i in 1 2; do {train} done; wait"])
job.ready(2)
job.books(2)
seen = look(job.dir)
if kit.equal("the first has ended", [p["runs"] for p in seen["processes"]], [False, True, True]):
    ended = next(p for p in seen["processes"] if not p["runs"])
    kit.equal("two run and hold, together", {k: v for k, v in held(seen["devices"][0]).items() if v}, {k: 2 * v for k, v in want.items()})
    kit.check("the failures are told", seen["failures"] == ended["failures"] > 0 and ended["held"] == 0, ended)
    kit.equal("and whose the last was", seen["last_failure"]["pid"], ended["pid"])
job.end()

# A recording that keeps the newest, with the beginning let go: what is still held from then is in the checkpoint.
job = Job(command=["bash", "-c", f"MEMTRACE_KEEP_MB=1 MEMTRACE_FLUSH_MS=20 {kit.APP} leak:64:3 alloc:150000 leak:32:2 touch:{{at}} await:{{end}}"])
job.ready()
kit.check("the oldest is let go", kit.until(lambda: list(job.dir.glob("*.base.gz")) and not list(job.dir.glob("*.0.gz"))))
calls = -1
while calls != (now := sum(p["calls"] for p in look(job.dir)["processes"])):
    calls = now
    time.sleep(0.2)
seen = look(job.dir)
kit.equal("of a recording that keeps the newest: all that is held", [p["held"] for p in seen["processes"]], [256 << 20])
kit.equal("nothing is lost", [p["lost"] for p in seen["processes"]], [0])
job.end()

for word, status, why in (("/nowhere", 1, "no such folder"), (os.getpid(), 1, "is not recorded"), ("999999999", 1, "there is no process")):
    done = run("-1", word)
    kit.check(f"'{word}'", done.returncode == status and why in done.stderr, done.returncode, done.stderr)
kit.done()
