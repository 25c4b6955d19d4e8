#!/usr/bin/env python3
"""Everything that only a real GPU can prove, in one command of at most ten minutes:

    python3 tests/gpu/run.py --build FOLDER --out RESULTS [--quick] [--only NAME,...]

FOLDER is a build folder or an installed or unpacked package of memtrace. Needs an NVIDIA GPU and PyTorch; the training loop takes its
model from transformers where that is installed, else from model.py (random weights; nothing is fetched). Each check runs in a process
of its own with a limit; after each, RESULTS has results.json, results.md and artifacts.tar.gz (traces, snapshots, logs). A check that
cannot run here says why; one that finds a difference fails; the exit status is 1 when any failed, 77 without a GPU. tests/gpu/README.md
lists what each check is for and which run has proven it."""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import (MIB, Lab, Pack, Skip, autopsy, children, compress, elapsed, environment as clean_environment, find_memtrace,  # noqa: E402
                 ledgers_of, rows, said, within, write_json, write_results)

CHECKS = {}
PROBE = """
import json, torch
if not torch.cuda.is_available():
    raise SystemExit("PyTorch %s sees no GPU" % torch.__version__)
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "gpus": torch.cuda.device_count(),
                  "gpu": torch.cuda.get_device_name(0)}))
"""


def check(limit, least=15):
    """limit: seconds after which it is stopped; least: with less left it is not started. They run in the order of this file."""
    def add(f):
        CHECKS[f.__name__] = (f, limit, least)
        return f
    return add


# ---- the open questions ------------------------------------------------------------------------------------------------------------


@check(60)
def environment(lab, _quick):
    """driver, CUDA, CUPTI; memtrace doctor"""
    p = lab.plain([lab.memtrace, "doctor"])
    with open(lab.path("doctor.txt"), "w", encoding="utf-8") as f:
        f.write(p.stdout + p.stderr)
    lab.note(doctor=p.returncode, told=(p.stdout + p.stderr).strip().splitlines()[-12:])
    if shutil.which("nvidia-smi"):
        smi = lab.plain(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,memory.used,memory.reserved", "--format=csv,noheader"])
        lab.note(nvidia_smi=smi.stdout.strip().splitlines())
    assert p.returncode == 0, "memtrace doctor says that this machine cannot record"


@check(90)
def driver_callbacks_under_cudart(lab, quick):
    """driver callbacks fire under cudaMalloc and cudaFree"""
    p, trace = lab.capture("cudart", lab.script("calls.py", "cudart", 500 if quick else 3000), "--no-torch", "--memory2")
    asked = said(p)["calls"] + 200
    dump = lab.dump(trace)
    calls = rows(dump, "call")
    alloc = sum(1 for c in calls if c["op"] == "mem_alloc" and c["cbid"] < 0x10000)
    free = sum(1 for c in calls if c["op"] == "mem_free" and c["cbid"] < 0x10000)
    runtime = sum(1 for c in calls if c["cbid"] >= 0x10000)
    with_stack = sum(1 for c in calls if c["op"] == "mem_alloc" and c.get("stack"))
    lab.note(asked=asked, driver_allocs=alloc, driver_frees=free, runtime_fallback_records=runtime, allocs_with_stack=with_stack,
             said=[s["text"][:200] for s in rows(dump, "status")])  # which libcupti, driver, NVML: all that is needed if nothing came
    assert alloc >= asked // 2 and free >= asked // 2, f"{alloc} allocations and {free} frees for {asked} calls"


@check(110)
def first_kernels(lab, _quick):
    """one operation after the other alone and recorded: seconds of each, so that what waits has a name"""
    for name, options in (("alone", None), ("recorded", ("--no-torch",)), ("with_history", ())):
        argv = lab.script("calls.py", "kernels")
        p = lab.plain(argv, log=f"first_kernels_{name}") if options is None else lab.capture(f"first_kernels_{name}", argv, *options)[0]
        lab.note(**{name: {"seconds": p.seconds, "operations": said(p)["operations"], "failed": said(p)["failed"]}})
        assert p.returncode == 0, p.stderr[-800:]
    slow = {k: (s, lab.seen["recorded"]["operations"][k]) for k, s in lab.seen["alone"]["operations"].items()
            if lab.seen["recorded"]["operations"][k] > 3 * s + 2}
    assert not slow, f"much slower with the recorder: {slow}"


@check(40)
def snapshot_takes(lab, _quick):
    """how long PyTorch takes for its first snapshot, and which modules it imports for it"""
    for name in ("first", "spared"):
        lab.note(**{name: said(lab.plain(lab.script("calls.py", "snapshot", int(name == "spared"))))})


def against_nvml(lab, name, slack, *options, label=None, **more):
    p, trace = lab.capture(label or name, lab.script("calls.py", name), *options, **more)
    assert p.returncode == 0, p.stderr[-800:]
    lab.note(workload=said(p))
    table = ledgers_of(lab.report(trace))
    lab.note(ledgers=table)
    within(table, slack)
    return trace


@check(60)
def totals_plain(lab, _quick):
    """totals against NVML: default allocator; the context is measured; nothing is said in an ordinary run"""
    trace = against_nvml(lab, "plain", 900 * MIB)
    dump = lab.dump(trace)
    contexts = [c.get("change", 0) for c in rows(dump, "call") if c["op"] == "context_retain"]
    modules = [c.get("change", 0) for c in rows(dump, "call") if c["op"] == "module_load"]
    lab.note(context_retain_change_MiB=[c // MIB for c in contexts], module_loads=len(modules), module_change_MiB=sum(modules) // MIB,
             statuses=[s["text"][:160] for s in rows(dump, "status") if s["level"] != "note"],
             notes=[s["text"][:160] for s in rows(dump, "status") if s["level"] == "note"])
    assert not lab.seen["statuses"], "the recorder complains in an ordinary run"
    assert contexts and max(contexts) > 100 * MIB, "what the context took was not measured (NVML opened too late?)"


@check(60)
def failure_is_seen(lab, _quick):
    """a failing cudaMalloc: an event with the request, cuMemGetInfo inside the callback"""
    p, trace = lab.capture("oom", lab.script("calls.py", "oom"), "--no-torch")
    what = said(p)
    lab.note(workload=what)
    assert what["result"] == 2, what
    calls = rows(lab.dump(trace), "call")
    failed = [c for c in calls if c["result"] == 2 and c.get("size") == what["asked"]]
    assert failed, "the failing call is not in the trace"
    lab.note(free_recorded=failed[0].get("free"), total_recorded=failed[0].get("total"))
    report = lab.report(trace)
    lab.note(failures=[{k: f[k] for k in ("call", "request_bytes", "device_free_bytes", "holder", "survived")}
                       for f in report["job"]["failures"]])
    assert report["job"]["failures"], "the report has no failure"


@check(90)
def ends(lab, _quick):
    """exit order with the real libraries: return, os._exit, exception, abort"""
    for name, last in (("return", "pass"), ("os._exit", "import os; os._exit(3)"), ("raise", "raise SystemExit(5)"),
                       ("abort", "import os; os.abort()")):
        argv = [sys.executable, "-c", f"import torch; x = torch.ones(1 << 20, device='cuda'); {last}"]
        want = {"return": 0, "os._exit": 3, "raise": 5, "abort": 134}[name]
        got, trace = lab.capture(f"end_{name.replace('.', '')}", argv)
        lab.note(**{name: {"status": got.returncode, "calls": len(rows(lab.dump(trace), "call"))}})
        assert got.returncode == want, f"{name}: {got.returncode} instead of {want}: {got.stderr[-400:]}"
        assert lab.seen[name]["calls"], f"{name}: nothing was recorded"


@check(60)
def children_of_a_cuda_process(lab, _quick):
    """fork, spawn and exec after CUDA: statuses and time with and without the recorder"""
    alone = said(lab.plain(lab.script("calls.py", "children")))
    lab.note(alone=alone)
    p, _trace = lab.capture("children", lab.script("calls.py", "children"))
    together = said(p)
    lab.note(alone=alone, together=together, stderr=p.stderr[-300:])
    assert p.returncode == 0 and together["statuses"] == alone["statuses"], (alone, together)
    assert together["seconds"] < alone["seconds"] + 5, "a child waits for something"


@check(60)
def captures_under_flush(lab, quick):
    """CUDA graph capture in global mode while the recorder flushes CUPTI every millisecond"""
    argv = lab.script("calls.py", "captures", 2000 if quick else 6000)
    alone = said(lab.plain(argv))
    lab.note(alone=alone)
    p, _trace = lab.capture("captures", argv, "--no-torch", "--flush-ms", "1", MEMTRACE_SAMPLE_MS="1")
    together = said(p)
    lab.note(alone=alone, together=together)
    assert p.returncode == 0 and not together["broken"] and not alone["broken"], together["broken"]
    assert together["captures"] >= alone["captures"] // 3, "captures take three times as long"


def loop_args(quick):
    return ["--steps", "2" if quick else "4", "--nvtx"]


def loop_pair(lab, quick, name, more, options):
    """The loop without and with the recorder."""
    argv = lab.script("rl_loop.py", *loop_args(quick), *more)
    base = lab.plain(argv)
    p, trace = lab.capture(f"loop_{name}", argv, *options)
    assert base.returncode == 0, f"without the recorder: status {base.returncode}: {base.stderr[-800:]}"
    assert p.returncode == 0, f"with the recorder: status {p.returncode}: {p.stderr[-800:]}"
    steps = [[json.loads(x)["ms"] for x in q.stdout.splitlines() if x.startswith('{"step"')][1:] for q in (base, p)]
    report = lab.report(trace)
    entry = {"ms_per_step": [round(statistics.median(s), 1) for s in steps], "trace_bytes": os.path.getsize(trace),
             "phases": sorted({x["phase"] for x in report["job"]["phase_ranges"]}), "reconciled": len(report["job"]["reconciled"]),
             "status": sorted({s["text"][:160] for s in rows(lab.dump(trace), "status") if s["level"] != "note"})}
    lab.note(**{name: entry})
    entry["ledgers"] = ledgers_of(report)
    lab.note(**{name: entry})
    if "--no-torch" not in options:
        entry["adds_up"] = [{k: r[k] for k in ("adds_up", "torch_reserved_bytes", "matched_bytes", "unmapped_bytes", "unseen_bytes")}
                            for r in report["job"]["reconciled"]]
        lab.note(**{name: entry})
        assert report["job"]["reconciled"], f"{name}: no snapshot was matched with the driver's calls"
        for r in report["job"]["reconciled"]:
            assert r["adds_up"], r
    assert entry["phases"], f"{name}: no phase was recognised"
    within(entry["ledgers"], 900 * MIB)


@check(120, 40)
def training_loop(lab, quick):
    """a small RL loop: phases, reconciliation with its snapshot, overhead per step"""
    loop_pair(lab, quick, "plain", [], [])


@check(120, 30)
def into_a_real_oom(lab, _quick):
    """the loop runs out of memory: headline, request and phase against PyTorch's own sentence"""
    p, trace = lab.capture("loop_oom", lab.script("rl_loop.py", "--oom", "--nvtx", "--batch", 16))
    assert p.returncode == 1, f"status {p.returncode}: {p.stderr[-800:]}"
    sentence = said(p)["oom"]
    lab.note(pytorch=sentence)
    size = re.search(r"Tried to allocate ([0-9.]+) (GiB|MiB)", sentence)
    assert size, sentence
    asked = float(size.group(1)) * (1 << 30 if size.group(2) == "GiB" else MIB)
    report = lab.report(trace)
    requests = [f["request_bytes"] for f in report["job"]["failures"]]
    lab.note(memtrace=report["verdict"]["sentence"], second=report["verdict"].get("second"), kind=report["verdict"]["kind"],
             phase=[report["verdict"]["phase"], report["verdict"]["sub_phase"]], failed_requests=requests)
    html = lab.plain([lab.memtrace, "report", trace, "-o", lab.path("loop_oom.html"), "-q"])
    lab.note(html=html.returncode)
    assert "oom" in report["verdict"]["kind"], report["verdict"]["kind"]
    assert any(abs(r - asked) <= 64 * MIB for r in requests), f"PyTorch asked for {asked:.0f} bytes, the failed calls for {requests}"


@check(150, 40)
def fixes_save_what_they_promise(lab, quick):
    """each fix that the report of a plain run names and the loop can apply: bytes promised against bytes measured"""
    more = ["--prompt", 1024 if quick else 2048, "--steps", 3, "--entries", 60000]
    path = lab.path("loop_base.pickle")

    def peak(p):
        return max(json.loads(x)["peak"] for x in p.stdout.splitlines() if x.startswith('{"step"'))

    base = peak(lab.plain(lab.script("rl_loop.py", *more, "--snapshot", path)))
    advice = {a["id"]: a for a in lab.report(path).get("advice", [])}
    lab.note(peak_MiB=base // MIB, advised=list(advice))
    for key, change in (("P01", ["--checkpoint"]), ("P02", ["--batch", 4]), ("B01", ["--expandable"])):
        if key not in advice:
            continue
        a, after = advice[key], peak(lab.plain(lab.script("rl_loop.py", *more, *change)))
        lab.note(**{key: {"promised_MiB": [(a.get(k) or 0) // MIB for k in ("saving_low_bytes", "saving_bytes", "saving_high_bytes")],
                          "measured_MiB": (base - after) // MIB}})
    assert advice, "the report of a run that fills the card names no fix"


@check(60)
def totals_expandable(lab, _quick):
    """totals against NVML: expandable segments"""
    conf = "expandable_segments:True"  # the second name is that of PyTorch 2.9 and later
    trace = against_nvml(lab, "plain", 600 * MIB, label="expandable", PYTORCH_CUDA_ALLOC_CONF=conf, PYTORCH_ALLOC_CONF=conf)
    calls = rows(lab.dump(trace), "call")
    lab.note(creates=sum(1 for c in calls if c["op"] == "vmm_create"), maps=sum(1 for c in calls if c["op"] == "vmm_map"))
    assert lab.seen["creates"], "no cuMemCreate was recorded with expandable segments"


@check(60)
def sleep_and_wake(lab, _quick):
    """unmap and map of an engine's pool is seen, and the ledger follows"""
    p, trace = lab.capture("vmm", lab.script("calls.py", "vmm"), "--no-torch", "--memory2")
    what, report = said(p), lab.report(trace)
    table = ledgers_of(report)
    lab.note(workload=what, ledgers=table, sleeps=[{k: s[k] for k in ("is", "holder", "bytes", "calls")} for s in report["job"]["sleeps"]])
    within(table, 600 * MIB)
    dropped = what["used"] - what["asleep"]
    assert abs(dropped - what["mapped"]) <= 32 * MIB, what


@check(60)
def totals_graphs(lab, _quick):
    """totals against NVML: CUDA graphs"""
    against_nvml(lab, "graph", 600 * MIB, "--memory2")


@check(60)
def totals_async(lab, _quick):
    """totals against NVML: cudaMallocAsync"""
    against_nvml(lab, "async", 1200 * MIB, "--memory2")


@check(60)
def two_processes_on_one_card(lab, _quick):
    """two processes of one job on one card: both in one trace, and together the device's own figure"""
    line = " & ".join(" ".join(lab.script("calls.py", "plain")) for _ in range(2)) + " & wait"
    p, trace = lab.capture("two_processes", ["bash", "-c", line], "--no-torch")
    assert p.returncode == 0, p.stderr[-800:]
    table = ledgers_of(lab.report(trace))
    processes = sorted({c["process"] for c in rows(lab.dump(trace), "call") if c["op"] == "mem_alloc"})
    lab.note(workload=[json.loads(x) for x in p.stdout.splitlines() if x.startswith("{")], ledgers=table, processes=len(processes))
    assert len(processes) == 2, processes
    within(table, 900 * MIB, ends=True)


def another_library(lab, name):
    if lab.plain([sys.executable, "-c", f"import {name}"]).returncode != 0:
        raise Skip(f"no {name} here")
    against_nvml(lab, name, 900 * MIB, "--no-torch")


@check(60)
def totals_jax(lab, _quick):
    """totals against NVML: JAX, which takes three quarters of the card at once"""
    another_library(lab, "jax")


@check(60)
def totals_cupy(lab, _quick):
    """totals against NVML: CuPy"""
    another_library(lab, "cupy")


@check(60)
def code_loaded_lazily(lab, _quick):
    """kernels that are loaded at their first launch: how much of the device that is, and that it stays in 'unexplained' or has a name"""
    p, trace = lab.capture("kernels", lab.script("calls.py", "kernels"), "--no-torch", MEMTRACE_CODE="1")
    what = said(p)
    report = lab.report(trace)
    loads = [c for c in rows(lab.dump(trace), "call") if c["op"] == "code_load"]
    lab.note(workload=what, ledgers=ledgers_of(report), code_loads=len(loads), code_image_MiB=sum(c.get("size", 0) for c in loads) // MIB,
             code=[{k: at[k] for k in ("unexplained_bytes", "code", "code_grew_bytes")} for at in (one["focus"] for one in report["job"]["ledgers"])])
    assert len(what["failed"]) <= 2, what["failed"]
    assert loads, "CUPTI told of no module (resource callbacks)"


@check(60, 5)
def secondary_records(lab, _quick):
    """what MEMORY2 covers: kinds seen for runtime, VMM, host and graph allocations"""
    for name in ("cudart", "vmm", "graph", "async"):
        trace = lab.path(f"{name}.trace.gz")
        if not os.path.exists(trace):
            continue
        dump = lab.dump(trace)
        kinds, known = {}, {c["corr"]: c["op"] for c in rows(dump, "call") if c.get("corr")}
        for a in rows(dump, "activity"):
            key = f"kind {a['kind']} op {a['op']} ({known.get(a.get('corr'), 'no call')})"
            kinds[key] = kinds.get(key, 0) + 1
        lab.note(**{name: kinds})
    if not lab.seen:
        raise Skip("none of the traces it reads was made")
    assert any(lab.seen.values()), "no MEMORY2 record at all"


@check(60)
def with_torch_profiler(lab, _quick):
    """torch.profiler in the same process: the job runs, the recorder keeps recording"""
    alone = said(lab.plain(lab.script("calls.py", "profiler")))
    lab.note(alone=alone)
    if not alone["gpu_supported"]:
        raise Skip("this PyTorch was built without CUPTI")
    assert alone["gpu_events_in_profile"] > 0, "the profiler sees no GPU here, even alone"
    p, trace = lab.capture("profiler", lab.script("calls.py", "profiler"), "--no-torch")
    lab.note(returncode=p.returncode, stderr=p.stderr[-400:])
    assert p.returncode == 0, p.stderr[-800:]
    dump = lab.dump(trace)
    large = [c for c in rows(dump, "call") if c["op"] == "mem_alloc" and c.get("size", 0) >= 64 * MIB]
    lab.note(together=said(p), calls=len(rows(dump, "call")), allocations_after_the_profile=len(large),
             status=[s["text"] for s in rows(dump, "status") if s["level"] != "note"])
    assert len(large) >= 4, "what was allocated after the profile is not in the trace"


@check(45)
def memory_added(lab, _quick):
    """GPU memory that the recorder itself takes"""
    argv = lab.script("calls.py", "plain")
    without = said(lab.plain(argv))["used"]
    with_it = said(lab.capture("added", argv, "--no-torch")[0])["used"]
    lab.note(without_MiB=without // MIB, with_MiB=with_it // MIB)
    assert abs(with_it - without) <= 64 * MIB, f"{(with_it - without) // MIB} MiB more are used with the recorder"


@check(90)
def after_kill_9(lab, quick):
    """kill -9: completed calls that are not in the trace"""
    runs = []
    for i in range(2 if quick else 3):
        trace = lab.path("killed.trace.gz")
        with open(lab.path("killed.log"), "w", encoding="utf-8") as err:
            p = subprocess.Popen([lab.memtrace, "capture", "-o", trace, "--force", "--no-torch", "--", *lab.script("calls.py", "forever")],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True, env=clean_environment())
            first = p.stdout.readline()
            time.sleep(0.3 + 0.17 * i)
            for child in children(p.pid):
                os.kill(child, signal.SIGKILL)
            rest, _ = p.communicate()
        assert p.returncode == 137, f"status {p.returncode} instead of 137"
        done = int((first + rest).strip().splitlines()[-1])  # whole pairs of calls on 1 MiB
        calls = rows(lab.dump(trace), "call")
        alloc = sum(1 for c in calls if c["op"] == "mem_alloc" and c.get("size") == MIB)
        free = sum(1 for c in calls if c["op"] == "mem_free")
        runs.append({"done": done, "allocs": alloc, "frees": free})
        lab.note(runs=runs)
        assert alloc >= done // 2 and free >= done // 2, runs[-1]


@check(120, 20)
def cost_per_call(lab, quick):
    """nanoseconds that recording adds to cudaMalloc and cudaFree"""
    n, runs = (900, 1) if quick else (6000, 1)  # each process measures three times
    argv = lab.script("calls.py", "cudart", n)
    variants = {"none": None, "callbacks": ("--no-torch", "--no-stacks"), "memory2": ("--no-torch", "--no-stacks", "--memory2"),
                "stacks": ("--no-torch",)}
    got = {k: [] for k in variants}
    for _ in range(runs):
        for name, options in variants.items():
            p = lab.plain(argv) if options is None else lab.capture(f"cost_{name}", argv, *options)[0]
            got[name].append(round(said(p)["ns_per_call"]))
            lab.note(ns_per_call=got)
    base = statistics.median(got["none"])
    lab.note(added={k: round(statistics.median(v) - base) for k, v in got.items() if k != "none"})


@check(120, 40)
def training_loop_expandable(lab, quick):
    """the same with expandable segments"""
    loop_pair(lab, quick, "expandable", ["--expandable"], [])


@check(180, 40)
def snapshots_for_samples(lab, quick):
    """real snapshots of the loop, small enough to keep: samples/real/"""
    for name, more in (("loop_all", []), ("loop_oom_torch", ["--oom", "--batch", "16"]), ("loop_expandable", ["--expandable"]),
                       ("loop_checkpoint", ["--checkpoint"]), ("loop_python", ["--stacks", "python"])):
        path = lab.path(f"{name}.pickle")
        p = lab.plain(lab.script("rl_loop.py", "--snapshot", path, "--entries", 12000, *([] if "--oom" in more else loop_args(quick)), *more))
        assert os.path.exists(path), f"{name}: status {p.returncode}: {p.stderr[-800:]}"
        report = lab.report(path)
        lab.note(**{name: {"bytes": compress(path), "verdict": report["verdict"]["sentence"]}})


@check(120, 40)
def training_loop_more(lab, quick):
    """the same with activation checkpointing, and without PyTorch's own history"""
    loop_pair(lab, quick, "no_torch", [], ["--no-torch"])
    loop_pair(lab, quick, "checkpointing", ["--checkpoint"], [])


@check(90)
def nccl(lab, _quick):
    """NCCL on two GPUs: its memory has a name"""
    n = json.loads(lab.plain([sys.executable, "-c", PROBE]).stdout)["gpus"]
    if n < 2:
        raise Skip(f"{n} GPU")
    line = " & ".join(" ".join(lab.script("calls.py", "nccl", r, 2)) for r in range(2)) + " & wait"
    p, trace = lab.capture("nccl", ["bash", "-c", line])
    assert p.returncode == 0, p.stderr[-800:]
    table = ledgers_of(lab.report(trace))
    holders = sorted({h for row in table for h in row["held_MiB"]})
    lab.note(ledgers=table, holders=holders)
    assert "nccl" in holders, holders
    within(table, 900 * MIB)


# ---- running them --------------------------------------------------------------------------------------------------------------------


def run_one(name, lab, quick):
    """In a process of its own: the entry of one check, written where the parent finds it."""
    try:
        CHECKS[name][0](lab, quick)
        entry = {"result": "ok"}
    except Skip as e:
        entry = {"result": "skipped", "why": str(e)}
    except Exception as e:  # everything, as the other checks go on
        entry = {"result": "failed", "why": str(e) or type(e).__name__, "trace": traceback.format_exc()}
    write_json(lab.path(f"{name}.result.json"), {**entry, "seen": lab.seen})


def read_json(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def left_behind(name, args, work):
    """The recording of a check that was stopped: collected from its spool folder; the last calls tell where the job was."""
    found = {}
    for folder in sorted(n for n in os.listdir(work) if n.startswith("memtrace-") and os.path.isdir(os.path.join(work, n))):
        lab = Lab(find_memtrace(args.build), work)
        trace = lab.path(f"{name}.left.trace.gz")
        p = lab.plain([lab.memtrace, "collect", lab.path(folder), "-o", trace, "--force"])
        if p.returncode == 0 and os.path.exists(trace):
            calls = rows(lab.dump(trace), "call")
            found["left_behind"] = {"calls": len(calls), "last": [{k: c.get(k) for k in ("time_ns", "dur_ns", "op", "result", "size")} for c in calls[-3:]]}
        shutil.rmtree(lab.path(folder), ignore_errors=True)
    return found


def start_one(name, args, work, left):
    """The entry of one check. It is stopped at its limit, with everything that it started."""
    f, limit, least = CHECKS[name]
    started = time.monotonic()
    entry = {"result": "skipped", "why": f"{left:.0f} s were left of --budget, it wants at least {least}", "seen": {}}
    if left >= least:
        for stale in ("result", "seen"):
            if os.path.exists(os.path.join(work, f"{name}.{stale}.json")):
                os.unlink(os.path.join(work, f"{name}.{stale}.json"))
        argv = [sys.executable, os.path.abspath(__file__), "--build", args.build, "--out", work, "--check", name]
        with open(os.path.join(work, f"{name}.output.txt"), "wb") as out:
            p = subprocess.Popen(argv + ["--quick"] * args.quick, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=clean_environment(),
                                 start_new_session=True)
            late, seconds = False, min(limit, left)
            try:
                p.wait(seconds)
            except subprocess.TimeoutExpired:
                late = True
                autopsy(p.pid, os.path.join(work, f"{name}.hung.txt"))
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            p.wait()
        entry = read_json(os.path.join(work, f"{name}.result.json"))
        if entry is None:
            why = f"stopped after {seconds:.0f} s ({name}.hung.txt)" if late else f"ended with status {p.returncode} and no result: {name}.output.txt"
            entry = {"result": "failed", "why": why, "seen": read_json(os.path.join(work, f"{name}.seen.json")) or {}}
            entry["seen"].update(left_behind(name, args, work))
    return {**entry, "what": f.__doc__, "seconds": elapsed(started)}


def probe():
    """What PyTorch says about this machine, or None and why not; in a process of its own, which may hang or crash."""
    try:
        p = subprocess.run([sys.executable, "-c", PROBE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=180, check=False, env=clean_environment())
    except subprocess.TimeoutExpired:
        return None, "importing PyTorch takes more than 180 s"
    lines = p.stderr.strip().splitlines()
    if p.returncode != 0:
        return None, lines[-1] if lines else f"PyTorch ended with status {p.returncode}"
    return json.loads(p.stdout.splitlines()[-1]), None


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help="a build folder of memtrace, or an installed or unpacked package")
    p.add_argument("--out", required=True, help="folder for the results: three files")
    p.add_argument("--quick", action="store_true", help="fewer repetitions")
    p.add_argument("--only", help="comma-separated names of checks")
    p.add_argument("--budget", type=float, default=540, help="seconds for all of it (default 540)")
    p.add_argument("--work", help="folder for everything that is made (default: a temporary one, removed at the end)")
    p.add_argument("--check", choices=list(CHECKS), help=argparse.SUPPRESS)
    args = p.parse_args()
    args.names = args.only.split(",") if args.only else list(CHECKS)
    unknown = [n for n in args.names if n not in CHECKS]
    if unknown:
        p.error(f"no check named {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    return args


def main():
    args, started = arguments(), time.monotonic()
    if args.check:
        run_one(args.check, Lab(find_memtrace(args.build), args.out, args.check), args.quick)
        return 0
    about, why = probe()
    if about is None:
        print(f"# skipped: no GPU to test with: {why}")
        return 77
    memtrace = find_memtrace(args.build)
    about.update(memtrace=subprocess.run([memtrace, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()[0],
                 date=time.strftime("%Y-%m-%d"), python=sys.version.split()[0], kernel=os.uname().release)
    os.makedirs(args.out, exist_ok=True)
    work = os.path.abspath(args.work) if args.work else tempfile.mkdtemp(prefix="memtrace-gpu-")
    os.makedirs(work, exist_ok=True)
    results, pack = {}, Pack(work, args.out)
    keeper = None  # without a client the driver shuts the GPU down between two processes: seconds each where persistence mode is off
    if shutil.which("nvidia-smi"):
        keeper = subprocess.Popen(["nvidia-smi", "-l", "3600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in args.names:
        entry = results[name] = start_one(name, args, work, args.budget - (time.monotonic() - started))
        print(f"{entry['result']:8} {entry['seconds']:6.1f} s  {name}: {entry.get('why') or ''} {json.dumps(entry['seen'])[:600]}", flush=True)
        write_results(args.out, about, results)
        left = pack.write()
    if keeper:
        keeper.kill()
        keeper.wait()
    if left:
        print(f"# left out of artifacts.tar.gz: {', '.join(left)}")
    if not args.work:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if any(e["result"] == "failed" for e in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
