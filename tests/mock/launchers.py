#!/usr/bin/env python3
"""launchers.py [NAME...] -- memtrace capture with the launchers of a real PyTorch. Not a part of the test suite: it needs PyTorch (a build
for the CPU is enough: the GPU is the stand-in's), and takes minutes. $MEMTRACE names the program, $MT_BINARY_DIR the folder with
lib/memtrace and tests/mock, as for the other tests here. Every job runs twice, without the recorder and with it: output and status have to be
the same, the trace has to hold what the job did, and nothing may be left behind. docs/capture.md has the last result."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
JOB = pathlib.Path(__file__).resolve().parent / "launchers_job.py"
PY = sys.executable
MB = 1 << 20
TORCHRUN = [PY, JOB, "torchrun", "--local-addr", "localhost", "--standalone"]


def start(command, folder, **more):
    env = kit.environment(injected=False, TMPDIR=folder, FAKE_GPUS=4, OMP_NUM_THREADS=1, GLOO_SOCKET_IFNAME="lo", **more)
    out, err = open(folder / "out", "wb"), open(folder / "err", "wb")
    with out, err:
        return subprocess.Popen([str(word) for word in command], env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
                                start_new_session=True)


class Seen:
    """What the trace says of each process that allocated: (MiB of its allocations, rank, world, attempt, ranges, how it ended)."""

    def __init__(self, folder):
        trace = kit.trace_decode.load(folder / "t.gz")
        self.problems = trace.problems
        self.of = []
        for p in trace.recorded():
            sizes = [c["size"] // MB for c in p.calls if c.get("op") == "mem_alloc" and not c.get("result")]
            env = {k[4:]: v[-1] for k, v in p.attrs.items() if k.startswith("env.")}
            if sizes:
                self.of.append({"sizes": sizes, "rank": env.get("RANK"), "local": env.get("LOCAL_RANK"), "world": env.get("WORLD_SIZE"),
                                "attempt": env.get("TORCHELASTIC_RESTART_COUNT"), "ranges": [x[2] for x in p.ranges()], "ends": p.ends()})
        self.of.sort(key=lambda x: (x["sizes"], x["attempt"] or ""))

    def sizes(self):
        return [x["sizes"][0] for x in self.of if x["sizes"] == x["sizes"][:1] * 3]


def twice(name, command, ignore=None, timeout=120, works=True, **more):
    """The command alone, then recorded: (status, Seen), or None when it does not work here at all."""
    plain, recorded = kit.scratch(), kit.scratch()
    seconds = []
    for folder, words in ((plain, command), (recorded, [MEMTRACE, "capture", "-o", recorded / "t.gz", "--", *command])):
        child, begun = start(words, folder, **more), time.monotonic()
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if folder is plain:
                kit.skip(name, "the job does not end here without a recorder either")
                return None
        seconds.append(time.monotonic() - begun)
        if works and folder is plain and child.returncode:
            kit.skip(name, f"the job ends with status {child.returncode} here without a recorder either")
            return None
        (folder / "status").write_text(str(child.returncode))
    status = (plain / "status").read_text()
    said = (recorded / "err").read_text()
    kit.equal(f"{name}: status", (recorded / "status").read_text(), status)
    lines = [sorted(line for line in (f / "out").read_text().splitlines() if not ignore or not re.search(ignore, line))
             for f in (plain, recorded)]
    kit.equal(f"{name}: output", lines[1], lines[0])
    kit.equal(f"{name}: nothing is left in the folder of recordings", [p.name for p in recorded.glob("memtrace-*")], [])
    kit.note(f"{name}: {seconds[0]:.2f} s alone, {seconds[1]:.2f} s recorded, status {status}")
    if not kit.check(f"{name}: there is a trace", (recorded / "t.gz").exists(), said[-1500:]):
        return None
    seen = Seen(recorded)
    seen.said = said
    kit.equal(f"{name}: the trace is whole", seen.problems, [])
    return seen


def ranks(name, seen, want, world):
    """want: rank -> MiB of the ranks of one attempt."""
    if seen is None:
        return
    kit.equal(f"{name}: every rank with its calls", [(x["rank"], x["local"], x["world"], x["sizes"]) for x in seen.of],
              [(str(r), str(r), str(world), [m] * 3) for r, m in want])
    kit.check(f"{name}: the phase of every rank", all(x["ranges"] == ["rollout"] for x in seen.of), seen.of)
    kit.check(f"{name}: rank by rank in the summary", re.findall(r", rank (\d+)\)", seen.said) == sorted(str(r) for r, _ in want), seen.said)


def torchrun():
    ranks("torchrun", twice("torchrun", [*TORCHRUN, "--nproc-per-node", 4, "--", "train"]), [(r, 32 + r) for r in range(4)], 4)


def restarts():
    seen = twice("restarts", [*TORCHRUN, "--nproc-per-node", 3, "--max-restarts", 2, "--", "train", "fail", 2])
    if seen is None:
        return
    got = [(x["rank"], x["attempt"]) for x in seen.of if x["rank"] == "1"]
    kit.equal("restarts: the rank that fails is there once for each attempt", got, [("1", "0"), ("1", "1"), ("1", "2")])
    ends = [x["ends"] for x in seen.of if x["rank"] == "1"]
    kit.check("restarts: with its status", all(("exit", 7) in e for e in ends[:2]) and ("exit", 0) in ends[2], ends)


def killed():
    seen = twice("killed", [*TORCHRUN, "--nproc-per-node", 2, "--", "train", "kill"], works=False)
    if seen:
        kit.equal("killed: its calls are there", seen.sizes(), [32, 33])
        kit.check("killed: without an exit of its own", ("gone", 0) in seen.of[1]["ends"], seen.of[1])


def interrupted():
    """Ctrl-C: the terminal tells the whole process group."""
    folder = kit.scratch()
    child = start([MEMTRACE, "capture", "-o", folder / "t.gz", "--", *TORCHRUN, "--nproc-per-node", 2, "--", "train", "sleep",
                   folder / "ready"], folder)
    until = time.monotonic() + 90
    while time.monotonic() < until and not all((folder / f"ready.{r}").exists() for r in range(2)):
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGINT)
    try:
        child.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    kit.check("Ctrl-C: it ends, and not well", child.returncode not in (0, 125, -9), child.returncode)
    if kit.check("Ctrl-C: there is a trace", (folder / "t.gz").exists(), (folder / "err").read_text()[-1500:]):
        kit.equal("Ctrl-C: with both ranks", Seen(folder).sizes(), [32, 33])
    kit.equal("Ctrl-C: nothing is left", [p.name for p in folder.glob("memtrace-*")], [])


def spawn():
    ranks("mp.spawn", twice("mp.spawn", [PY, JOB, "spawn"]), [(r, 32 + r) for r in range(3)], 3)


def methods():
    for method in ("fork", "spawn", "forkserver"):
        for job, want in (("processes", [32, 33]), ("loader", [40])):
            seen = twice(f"{job} {method}", [PY, JOB, job, method])
            if seen:
                kit.equal(f"{job} {method}: who used the GPU", seen.sizes(), want)


def forked():
    seen = twice("fork after CUDA", [PY, "-W", "ignore::DeprecationWarning", JOB, "forked"])
    if seen:
        kit.equal("fork after CUDA: the parent, and what the child became", seen.sizes(), [40, 42])


def compiled():
    with tempfile.TemporaryDirectory() as cache:
        seen = twice("torch.compile", [PY, JOB, "compiled"], TORCHINDUCTOR_CACHE_DIR=cache, timeout=300)
    if seen:
        kit.equal("torch.compile: one process used the GPU", seen.sizes(), [40])


def surroundings():
    mine, venv = kit.scratch(), kit.scratch()
    for name, value in (("sitecustomize", 1), ("usercustomize", 2)):
        (mine / f"{name}.py").write_text(f"of_the_user = {value}\n")
    subprocess.run([PY, "-m", "venv", "--system-site-packages", "--without-pip", venv], check=True)
    job, other = [JOB, "hook"], r"^hook "
    for name, command, more, custom in (
            ("own sitecustomize", [PY, *job], {"PYTHONPATH": mine}, "1 2"), ("python -I", [PY, "-I", *job], {}, None),
            ("python -E", [PY, "-E", *job], {}, None), ("a venv", [venv / "bin" / "python", *job], {}, None),
            ("exec chain", ["nohup", "nice", "setsid", "-w", "env", "X=1", "sh", "-c", 'exec "$@"', "sh", PY, *job], {}, None),
            ("LD_PRELOAD", [PY, *job], {"LD_PRELOAD": "libm.so.6"}, None)):
        seen = twice(name, command, ignore=other, **more)
        if seen:
            kit.equal(f"{name}: recorded", seen.sizes(), [40])
            line = re.search(r"^hook (\w+) custom (.*) \[", (kit._scratch[-1] / "out").read_text(), re.M)
            kit.check(f"{name}: the hook for PyTorch is there", line and line[1] == "True", line and line[0])
            kit.check(f"{name}: with what the user has", custom is None or line and line[2] == custom, line and line[0])
    for name, command in (("python -S", [PY, "-S", JOB, "chain"]), ("-X importtime", [PY, "-X", "importtime", JOB, "must", 40]),
                          ("processes that start each other", [PY, JOB, "chain", "a", "b", "c"]),
                          ("closed output", [PY, JOB, "closed"])):
        seen = twice(name, command)
        if seen:
            kit.equal(f"{name}: recorded", seen.sizes(), [40])
    seen = twice("two at once", ["bash", "-c", '"$0" "$1" must 41 & "$0" "$1" must 42; wait', PY, JOB])
    if seen:
        kit.equal("two at once: both", seen.sizes(), [41, 42])


def main():
    kit.need(MEMTRACE, kit.LIB, kit.MOCK / "cuda13")
    found = subprocess.run([PY, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=False)
    if found.returncode:
        kit.skip_all("python3 has no PyTorch")
    kit.note("PyTorch", found.stdout.strip(), "Python", sys.version.split()[0])
    tests = {f.__name__: f for f in (torchrun, restarts, killed, interrupted, spawn, methods, forked, compiled, surroundings)}
    for name in sys.argv[1:] or tests:
        tests[name]()
    kit.done()


main()
