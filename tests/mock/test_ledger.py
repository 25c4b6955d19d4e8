#!/usr/bin/env python3
"""The report against what a fake application says it holds: a little RL job, recorded and reported by the program itself. At the end of
each of its phases the application notes the bytes of every owner; the ledger has to show exactly those, and everything has to add up."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import kit
from kit import trace_decode

RECORDED = ("torch", "engine", "nccl", "math", "graphs", "context", "library", "unknown")
OWNERS = {"torch": ("torch",), "nccl": ("nccl",), "math": ("cublas",), "engine": ("cumem", "tms"), "context": ("context", "module")}
PHASES = {"gen": "rollout.generate", "old_log_prob": "logp_old", "update_actor": "train_actor", "update_weights": "weight_sync"}
MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")


def record(what, trace, command, status, **env):
    env.setdefault("FAKE_STATE", kit.scratch() / "gpus")  # another process asks NVML
    done = subprocess.run([MEMTRACE, "capture", "-q", "--spool", str(kit.scratch()), "-o", str(trace), "--", *map(str, command)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, env=kit.environment(injected=False, CUDA_MODULE_LOADING="EAGER", **env), timeout=300)
    kit.check(f"{what}: exit status {status}", done.returncode == status, done.returncode, done.stderr)


def reported(what, *inputs, status=0):
    made = subprocess.run([MEMTRACE, "report", *map(str, inputs), "--format", "json", "-o", "-"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=300)
    if not kit.check(f"{what}: the report", made.returncode == status, made.returncode, made.stderr):
        kit.done()
    return json.loads(made.stdout)


def coarse(report, tick):
    """Whether a column of the report is so wide, on a machine that is slow or busy, that a moment of `tick` ms does not fill one."""
    return any((ledger["last_time_ns"] - ledger["first_time_ns"]) // 480 > tick * 10**6 // 3 for ledger in report["job"]["ledgers"])


def capture(args, status, tick=40, **env):
    """A recorded run and its report: the job of the JSON report, the whole report, what the application said, the trace."""
    folder, truth = kit.scratch(), kit.scratch()
    trace, words = folder / "t.gz", [f"{args[0]}:tick={tick}", *args[1:]]
    record(" ".join(args), trace, [kit.APP, *words], status, FAKE_TRUTH=truth, **env)
    report = reported(" ".join(args), trace)
    if coarse(report, tick) and tick < 600:
        return capture(args, status, tick * 4, **env)
    said = []
    for path in sorted(truth.glob("*.held")):
        said += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return report["job"], report, said, trace


def adds_up(what, job):
    """Per column, per sample and at the focus: used = recorded + other + unexplained."""
    bad = []
    for ledger in job["ledgers"]:
        columns = ledger["columns"]
        for i, used in enumerate(columns["used"]):
            recorded = sum(columns[h][i] for h in RECORDED)
            if used is not None and used != recorded + columns["other"][i] + columns["unexplained"][i]:
                bad.append(("column", i))
        for c in ledger["checks"]:
            if c["used_bytes"] != c["recorded_bytes"] + c["other_bytes"] + c["unexplained_bytes"]:
                bad.append(("sample", c))
        focus = ledger["focus"]
        if focus["used_bytes"] is not None and "unexplained" not in [r["holder"] for r in focus["rows"]]:
            bad.append(("unexplained is not named", focus))
        if focus["used_bytes"] is not None and focus["used_bytes"] != sum(r["bytes"] for r in focus["rows"]):
            bad.append(("focus", focus))
    kit.check(f"{what}: every column, sample and the focus add up", job["ledgers"] and not bad, bad[:5])


def ledger_is_the_application(what, job, said):
    ledger = job["ledgers"][0]
    columns, n = ledger["columns"], len(ledger["columns"]["torch"])
    width = (ledger["last_time_ns"] - ledger["first_time_ns"]) // 480 + 1
    wrong, seen, phases = [], 0, []
    for line in said:
        at = (line["realtime"] - ledger["first_time_ns"]) // width - 1  # the whole column before it: the phase rests in it
        if line["phase"] in ("end", "step") or not 0 <= at < n:
            continue
        seen += 1
        for holder, owners in OWNERS.items():
            held = sum(line[o] for o in owners)
            if columns[holder][at] != held:
                wrong.append((line["phase"], holder, columns[holder][at], held))
        if line["phase"] in PHASES:
            phases.append((PHASES[line["phase"]], columns["phase"][at]))
    kit.check(f"{what}: {seen} phases, each owner holds what the application says", seen >= 5 and not wrong, wrong[:6])
    kit.check(f"{what}: the phases are those of its ranges", phases and all(a == b for a, b in phases), phases)


kit.need(kit.LIB, kit.APP, MEMTRACE)

job, report, said, trace = capture(["train:steps=3"], 0)
adds_up("no failure", job)
ledger_is_the_application("no failure", job, said)
kit.equal("no failure: the verdict", (report["verdict"]["kind"], report["verdict"]["from"]), ("driver_peak", "driver"))
asleep = [s for s in job["sleeps"] if s["is"] == "sleep" and s["holder"] == "engine"]
kit.check("the engine went to sleep in every step, and gave back all of it", len(asleep) >= 3 and all(s["left_bytes"] == 0 for s in asleep), asleep)
gen = [line["cumem"] for line in said if line["phase"] == "gen"]
awake = [s for s in job["sleeps"] if s["holder"] == "torch" and s["is"] == "sleep"]
kit.check("what PyTorch kept when it gave back pages is what it kept then, whatever its process did later",
          len(awake) == 3 and len({s["left_bytes"] for s in awake}) == 1 and awake[0]["left_bytes"] > 0, awake)
rows = {(r["holder"], r["library"]): r for r in job["ledgers"][0]["focus"]["rows"]}
kit.equal("the host's memory behind a reservation of NCCL is mapped", rows["nccl", "libnccl.so.2"]["reserved_unmapped_bytes"], 0)
kit.check("what it gave back is what it had", gen and all(s["bytes"] == gen[0] for s in asleep), gen, asleep)

for failing, holder in (("nccl", "nccl"), ("cumem", "engine"), ("torch", "torch")):
    job, report, said, trace = capture([f"train:oom={failing}:steps=2"], 1, RANK=3)
    adds_up(f"oom={failing}", job)
    ledger_is_the_application(f"oom={failing}", job, said)
    kit.equal(f"oom={failing}: the verdict", (report["verdict"]["kind"], report["verdict"]["rank"]), ("driver_oom", 3))
    fatal = [f for f in job["failures"] if f["fatal"]]
    if not kit.check(f"oom={failing}: one failure is fatal", len(fatal) == 1, job["failures"]):
        continue
    kit.equal(f"oom={failing}: whose call", fatal[0]["holder"], holder)
    kit.check(f"oom={failing}: what was free is known", fatal[0]["device_free_bytes"] is not None, fatal[0])
    kit.check(f"oom={failing}: said to be invisible to a snapshot where it is",
              ("no trace in a PyTorch snapshot" in job["because"]) == (failing != "torch"), job["because"])
    for kind in ("html", "text", "md"):
        out = subprocess.run([MEMTRACE, "report", str(trace), "--format", kind, "--full", "-o", "-"], stdout=subprocess.PIPE, check=False, timeout=300)
        kit.check(f"oom={failing}: {kind} opens with it", out.returncode == 0 and b"Rank 3 (fake_app" in b" ".join(out.stdout.split()))

# ---- a failure behind the cap -----------------------------------------------------------------------------------------------------------

spool, out = kit.scratch(), kit.scratch()
trace = out / "cap.gz"
subprocess.run([MEMTRACE, "capture", "-o", str(trace), "--max-mb", "1", "--", str(kit.APP), "device:0", "random:200000", "oom:nccl"],
               env=kit.environment("cuda13", False), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300)
p = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json"], stdout=subprocess.PIPE, check=False, timeout=300)
report = json.loads(p.stdout)
ledger, failed = report["job"]["ledgers"][0], report["job"]["failures"][-1]
focus = ledger["focus"]
kit.equal("behind the cap: the verdict is the failure", (report["verdict"]["kind"], ledger["records_lost"], p.returncode), ("driver_oom", True, 0))
kit.equal("behind the cap: the device's figure is the failed call's", focus["used_bytes"], ledger["capacity_bytes"] - failed["device_free_bytes"])
kit.equal("behind the cap: what was not recorded is the rest", focus["unexplained_bytes"], focus["used_bytes"] - focus["recorded_bytes"])
kit.check("behind the cap: the first sentence says that records are lost", "not recorded" in report["verdict"]["sentence"] and
          "records are lost" in report["verdict"]["sentence"], report["verdict"]["sentence"])

# ---- Python: snapshots inside, workers without marks ----------------------------------------------------------------------------------

MB = 1 << 20
JOB = pathlib.Path(__file__).with_name("ledger_job.py")


def python_job(status, tick=50, **env):
    folder, truth = kit.scratch(), kit.scratch()
    trace = folder / "t.gz"
    state = folder / "state"
    state.write_bytes(bytes(1 << 20))  # the workers share the GPU
    record("Python", trace, [sys.executable, JOB, 2], status, PYTHONPATH=kit.SOURCE / "tests/mock/python/fake_torch",
           PYTHONDONTWRITEBYTECODE=1, FAKE_TORCH_CUDA="libcuda.so.1", FAKE_STATE=state, LEDGER_OWNERS=kit.MOCK / "owners",
           LEDGER_TRUTH=truth, LEDGER_TICK=tick, **env)
    if tick < 800 and coarse(reported("Python", trace), tick):
        return python_job(status, tick * 4, **env)
    said = {int(path.stem): json.loads(path.read_text(encoding="utf-8")) for path in truth.glob("*.json")}
    kit.equal("Python: both workers ran", sorted(said), [0, 1])
    return trace, said


def reconciles(what, job, said):
    """What PyTorch believes = held + unmapped + not recorded; what the process holds = held + the others; as the job itself says."""
    got = {job["processes"][r["process"]]["rank"]: r for r in job["reconciled"]}
    if not kit.equal(f"{what}: a table for each snapshot", sorted(got), sorted(said)):
        return
    for rank, r in got.items():
        true = said[rank]
        others = collections.Counter()
        for row in r["others"]:
            others[row["holder"]] += row["bytes"]
        kit.equal(f"{what}, rank {rank}: PyTorch's view", [r[k + "_bytes"] for k in ("torch_reserved", "matched", "unmapped", "unseen")],
                  [true["believed"], true["torch"] + true["engine"], true["asleep"], true["unseen"]])
        kit.equal(f"{what}, rank {rank}: beside PyTorch", {h: others[h] for h in ("nccl", "math", "library")},
                  {h: true[h] for h in ("nccl", "math", "library")})
        kit.check(f"{what}, rank {rank}: both add up, and something is matched", r["adds_up"] and r["matched_bytes"] > 0
                  and r["torch_reserved_bytes"] == r["matched_bytes"] + r["unmapped_bytes"] + r["unseen_bytes"]
                  and r["driver_held_bytes"] == r["matched_bytes"] + sum(others.values()), r)


def owners_are(what, job, said):
    """Each segment is PyTorch's or somebody's: the rows of each worker at the focus."""
    held = collections.Counter()
    for row in job["ledgers"][0]["focus"]["rows"]:
        if row["process"] is not None:
            held[job["processes"][row["process"]]["rank"], row["holder"]] += row["bytes"]
    for rank, true in said.items():
        kit.equal(f"{what}, rank {rank}: its owners", {h: held[rank, h] for h in ("torch", "engine", "nccl", "math", "library", "unknown")},
                  {**{h: true[h] for h in ("torch", "engine", "nccl", "math", "library")}, "unknown": 0})


def python_jobs():
    trace, said = python_job(1, LEDGER_FAIL=1)
    report = reported("Python", trace)
    job = report["job"]
    adds_up("Python", job)
    reconciles("Python", job, said)
    owners_are("Python", job, said)
    fatal = [f for f in job["failures"] if f["fatal"]]
    kit.check("the worker has no marks; its failure has the phase that its parent had marked", len(fatal) == 1
              and (fatal[0]["holder"], fatal[0]["library"], fatal[0]["phase"], fatal[0]["mark"]) ==
              ("nccl", "libnccl.so.2", "weight_sync", "update_weights") and job["processes"][fatal[0]["process"]]["rank"] == 1, job["failures"])
    ledger = job["ledgers"][0]
    width = (ledger["last_time_ns"] - ledger["first_time_ns"]) // 480 + 1
    # half a tick later: the column of the unmaps themselves may begin in the phase before
    asleep = said[0]["time_ns"] + 25_000_000 - ledger["first_time_ns"]
    kit.equal("and so has the column in which the workers' engines slept", ledger["columns"]["phase"][asleep // width], "weight_sync")
    kit.equal("ranges of the parent alone", {p["phase"]: p["occurrences"] for p in job["phase_ranges"]}, {"rollout.generate": 1, "weight_sync": 1})
    parent = [p for p in job["processes"] if p["rank"] is None]
    kit.check("the parent is there, without a GPU", len(parent) == 1 and parent[0]["peak_bytes"] == 0 and parent[0]["calls"] == 0, parent)
    for kind, words in (("html", "PyTorch believes it holds"), ("html", "not held: unmapped, its pool sleeps"), ("text", "of it held"),
                        ("md", "PyTorch believes"), ("html", "unexplained"), ("text", "unexplained"), ("md", "unexplained")):
        out = subprocess.run([MEMTRACE, "report", str(trace), "--format", kind, "--full", "-o", "-"], stdout=subprocess.PIPE, check=False, timeout=300)
        kit.check(f"Python: {kind} says \"{words}\"", out.returncode == 0 and words.encode() in b" ".join(out.stdout.split()))

    data = trace.read_bytes()
    folder = kit.scratch()
    members = [(at, raw) for at, raw, whole in trace_decode.split_gzip(data, "t.gz", []) if whole]
    ends = [at for at, _ in members[1:]] + [len(data)]
    (folder / "t.gz").write_bytes(b"".join(data[at:end] for (at, raw), end in zip(members, ends) if b"torch_snapshot" not in raw))
    decoded = trace_decode.load(str(trace))
    for _, name, kind, whole in decoded.attached():
        if kind in ("torch_snapshot", b"torch_snapshot"):
            (folder / os.path.basename(name if isinstance(name, str) else name.decode())).write_bytes(whole)
    beside = sorted(folder.glob("*.pickle"))
    kit.equal("snapshots taken out of the trace", len(beside), 2)
    alone = reported("Python, without them", folder / "t.gz")["job"]
    kit.equal("without them nothing is reconciled", alone["reconciled"], [])
    apart = reported("Python, snapshots beside it", folder / "t.gz", *beside)["job"]
    same = ("ledgers", "failures", "sleeps", "reconciled", "phase_ranges", "processes", "sentence", "because")
    kit.equal("snapshots beside the trace give what snapshots inside give", {k: apart[k] for k in same}, {k: job[k] for k in same})

    trace2, said2 = python_job(0)
    quiet = reported("Python, no failure", trace2)["job"]
    adds_up("Python, no failure", quiet)
    reconciles("Python, no failure", quiet, said2)
    both = folder / "both.gz"
    both.write_bytes(data + trace2.read_bytes())
    two = reported("two traces in one file", both)["job"]
    adds_up("two traces in one file", two)
    kit.equal("its processes are those of both", sorted(p["pid"] for p in two["processes"]),
              sorted(p["pid"] for j in (job, quiet) for p in j["processes"]))
    kit.equal("and its tables", sorted(r["torch_reserved_bytes"] for r in two["reconciled"]),
              sorted(r["torch_reserved_bytes"] for j in (job, quiet) for r in j["reconciled"]))
    both.write_bytes(data + data)
    twice = reported("the same trace twice in one file", both)["job"]
    kit.equal("counts once", {k: twice[k] for k in same}, {k: job[k] for k in same})

    for n in range(1, len(members)):
        cut = folder / "cut.gz"
        cut.write_bytes(data[:(ends[n - 1] + ends[n]) // 2])  # in the middle of member n: those before it are whole
        part = reported(f"cut in member {n}", cut, status=3)
        want = trace_decode.Trace()
        want.add_bytes(b"".join(data[at:end] for (at, _), end in list(zip(members, ends))[:n]), "whole members")
        want.decode()
        got = part["job"]["processes"] if part["job"] else []
        kit.equal(f"cut in member {n}: the calls of all whole members", sorted(p["calls"] for p in got if p["calls"]),
                  sorted(len(p.calls) for p in want.recorded() if p.calls))


if kit.SANITIZED:
    kit.skip("Python", "a sanitizer build of the recorder cannot be loaded by python")
else:
    python_jobs()

# ---- a tree of processes ----------------------------------------------------------------------------------------------------------------

folder = kit.scratch()
state = folder / "state"
state.write_bytes(bytes(1 << 20))
record("tree", folder / "t.gz", [kit.TREE, 2, 60], 0, FAKE_STATE=state)
job = reported("tree", folder / "t.gz")["job"]
adds_up("tree", job)
names = collections.Counter(re.sub(r".*/", "", p["name"] or "") for p in job["processes"])
kit.check("tree: driver, workers, the killed one", names["fake_tree"] == 1 and names["fake_app"] >= 3, names)
kit.check("tree: ranges of one phase in several processes are not counted one by one",
          all(p["duration_ns"] <= max(l["last_time_ns"] for l in job["ledgers"]) - min(l["first_time_ns"] for l in job["ledgers"]) + 10**9
              for p in job["phase_ranges"]) and job["phase_ranges"], job["phase_ranges"])

kit.done()
