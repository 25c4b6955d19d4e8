#!/usr/bin/env python3
"""The report against what a fake application says it holds: a little RL job, recorded and reported by the program itself. At the end of
each of its phases the application notes the bytes of every owner; the ledger has to show exactly those, and everything has to add up."""
import json
import os
import subprocess

import kit

RECORDED = ("torch", "engine", "nccl", "math", "graphs", "context", "library", "unknown")
OWNERS = {"torch": ("torch",), "nccl": ("nccl",), "math": ("cublas",), "engine": ("cumem", "tms"), "context": ("context", "module")}
PHASES = {"gen": "rollout.generate", "old_log_prob": "logp_old", "update_actor": "train_actor", "update_weights": "weight_sync"}
MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")


def capture(args, status, **env):
    """A recorded run and its report: the job of the JSON report, the whole report, what the application said, the folder."""
    folder, truth = kit.scratch(), kit.scratch()
    trace = folder / "t.gz"
    done = subprocess.run([MEMTRACE, "capture", "-q", "-o", str(trace), "--", str(kit.APP), *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, env=kit.environment(injected=False, FAKE_TRUTH=truth, **env), timeout=300)
    kit.equal(f"{' '.join(args)}: exit status", done.returncode, status)
    made = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=300)
    if not kit.check(f"{' '.join(args)}: the report", made.returncode == 0, made.stderr):
        kit.done()
    report = json.loads(made.stdout)
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

job, report, said, trace = capture(["train:steps=3:tick=40"], 0)
adds_up("no failure", job)
ledger_is_the_application("no failure", job, said)
kit.equal("no failure: the verdict", (report["verdict"]["kind"], report["verdict"]["from"]), ("driver_peak", "driver"))
asleep = [s for s in job["sleeps"] if s["is"] == "sleep" and s["holder"] == "engine"]
kit.check("the engine went to sleep in every step, and gave back all of it", len(asleep) >= 3 and all(s["left_bytes"] == 0 for s in asleep), asleep)
gen = [line["cumem"] for line in said if line["phase"] == "gen"]
kit.check("what it gave back is what it had", gen and all(s["bytes"] == gen[0] for s in asleep), gen, asleep)

for failing, holder in (("nccl", "nccl"), ("cumem", "engine"), ("torch", "torch")):
    job, report, said, trace = capture([f"train:oom={failing}:steps=2:tick=40"], 1, RANK=3)
    adds_up(f"oom={failing}", job)
    ledger_is_the_application(f"oom={failing}", job, said)
    kit.equal(f"oom={failing}: the verdict", (report["verdict"]["kind"], report["verdict"]["rank"]), ("driver_oom", 3))
    fatal = [f for f in job["failures"] if f["fatal"]]
    if not kit.check(f"oom={failing}: one failure is fatal", len(fatal) == 1, job["failures"]):
        continue
    kit.equal(f"oom={failing}: whose call", fatal[0]["holder"], holder)
    kit.check(f"oom={failing}: what was free is known", fatal[0]["device_free_bytes"] is not None, fatal[0])
    kit.check(f"oom={failing}: said to be invisible to a snapshot where it is",
              ("no trace in a PyTorch snapshot" in job["sentence"]) == (failing != "torch"), job["sentence"])
    for kind in ("html", "text", "md"):
        out = subprocess.run([MEMTRACE, "report", str(trace), "--format", kind, "-o", "-"], stdout=subprocess.PIPE, check=False, timeout=300)
        kit.check(f"oom={failing}: {kind} opens with it", out.returncode == 0 and b"Rank 3 (fake_app" in b" ".join(out.stdout.split()))

kit.done()
