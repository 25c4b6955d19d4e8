#!/usr/bin/env python3
"""Everything that only a real GPU can prove, in one command:

    python3 tests/gpu/run.py --build BUILD_FOLDER --out RESULTS [--quick]

Needs a build folder, an NVIDIA GPU and PyTorch; transformers for the training loop. Writes RESULTS/results.json, RESULTS/results.md and the
traces and snapshots of each run. A check that cannot run here says why; one that finds a difference fails; the exit status is 1 when any
failed. tests/gpu/README.md lists what each check is for and which run has proven it."""
import argparse
import gzip
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
CHECKS = []


def check(f):
    CHECKS.append(f)
    return f


class Skip(Exception):
    pass


class Lab:
    """Runs programs with and without the recorder and reads what was recorded."""

    def __init__(self, build, out):
        self.memtrace = os.path.join(os.path.abspath(build), "memtrace")
        self.out = os.path.abspath(out)
        os.makedirs(self.out, exist_ok=True)

    def path(self, name):
        return os.path.join(self.out, name)

    def plain(self, argv, **more):
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, check=False, **more)

    def script(self, name, *args):
        return [sys.executable, os.path.join(HERE, name), *[str(a) for a in args]]

    def capture(self, name, argv, *options):
        """(process, trace): the command under the recorder."""
        trace = self.path(f"{name}.trace.gz")
        p = self.plain([self.memtrace, "capture", "-o", trace, "--force", *options, "--", *argv])
        with open(self.path(f"{name}.log"), "w", encoding="utf-8") as f:
            f.write(f"$ {' '.join(argv)}\n{p.stdout}\n--- stderr\n{p.stderr}\n--- status {p.returncode}\n")
        return p, trace

    def dump(self, trace):
        p = self.plain([self.memtrace, "dump", trace])
        if p.returncode not in (0, 3):
            raise RuntimeError(f"dump: {p.stderr.strip()}")
        return [json.loads(line) for line in p.stdout.splitlines() if line]

    def report(self, trace, *more):
        p = self.plain([self.memtrace, "report", trace, *more, "--format", "json", "-o", "-", "-q"])
        if p.returncode not in (0, 3):
            raise RuntimeError(f"report: {p.stderr.strip()}")
        return json.loads(p.stdout)


def rows(dump, kind):
    key = "type" if dump and "type" in dump[0] else next(iter(dump[0])) if dump else "type"
    return [r for r in dump if r.get(key) == kind]


def said(p):
    """The last JSON line that a workload printed."""
    lines = [line for line in p.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(f"the workload said nothing (status {p.returncode}): {p.stderr.strip()[-800:]}")
    return json.loads(lines[-1])


def nvidia_smi(*fields):
    exe = shutil.which("nvidia-smi")
    if exe is None:
        raise Skip("no nvidia-smi")
    p = subprocess.run([exe, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, text=True,
                       timeout=60, check=False)
    return [line.split(", ") for line in p.stdout.strip().splitlines()]


def ledger_agrees(report, slack):
    """Each sample: used = recorded + other + unexplained, and what is unexplained is small. Returns what was seen."""
    ledgers = report["job"]["ledgers"]
    if not ledgers:
        raise AssertionError("no ledger: no driver call was recorded")
    seen = []
    for ledger in ledgers:
        for c in ledger["checks"]:
            assert c["used_bytes"] == c["recorded_bytes"] + c["other_bytes"] + c["unexplained_bytes"], c
        worst = max((abs(c["unexplained_bytes"]) for c in ledger["checks"]), default=None)
        seen.append({"gpu": ledger["name"], "samples": len(ledger["checks"]), "max_unexplained_MiB": None if worst is None else worst // MIB,
                     "recorded_peak_MiB": ledger["recorded_peak_bytes"] // MIB, "used_peak_MiB": (ledger["used_peak_bytes"] or 0) // MIB})
        assert ledger["checks"], "no sample of the device was taken"
        assert worst <= slack, f"{worst // MIB} MiB are unexplained on {ledger['name']}; at most {slack // MIB} were expected"
    return seen


# ---- the open questions ------------------------------------------------------------------------------------------------------------


@check
def environment(lab, _quick):
    """driver, CUDA, PyTorch, CUPTI; memtrace doctor"""
    import torch

    p = lab.plain([lab.memtrace, "doctor"])
    with open(lab.path("doctor.txt"), "w", encoding="utf-8") as f:
        f.write(p.stdout + p.stderr)
    smi = nvidia_smi("name", "driver_version", "memory.total") if shutil.which("nvidia-smi") else []
    assert p.returncode == 0, p.stdout
    return {"gpus": smi, "torch": torch.__version__, "cuda": torch.version.cuda, "gpu_count": torch.cuda.device_count()}


@check
def driver_callbacks_under_cudart(lab, quick):
    """driver callbacks fire under cudaMalloc and cudaFree"""
    n = 1000 if quick else 20000
    p, trace = lab.capture("cudart", lab.script("calls.py", "cudart", n), "--no-torch")
    asked = said(p)["calls"] + 200
    calls = rows(lab.dump(trace), "call")
    alloc = sum(1 for c in calls if c["op"] == "mem_alloc" and c["cbid"] < 0x10000)
    free = sum(1 for c in calls if c["op"] == "mem_free" and c["cbid"] < 0x10000)
    runtime = sum(1 for c in calls if c["cbid"] >= 0x10000)
    assert alloc >= asked // 2 and free >= asked // 2, f"{alloc} allocations and {free} frees for {asked} calls"
    return {"asked": asked, "driver_allocs": alloc, "driver_frees": free, "runtime_fallback_records": runtime}


@check
def cost_per_call(lab, quick):
    """nanoseconds that recording adds to cudaMalloc and cudaFree"""
    n, runs = (1000, 2) if quick else (20000, 5)
    argv = lab.script("calls.py", "cudart", n)
    variants = {"none": None, "callbacks": ("--no-torch", "--no-stacks"), "stacks": ("--no-torch",)}
    got = {k: [] for k in variants}
    for _ in range(runs):
        for name, options in variants.items():
            p = lab.plain(argv) if options is None else lab.capture(f"cost_{name}", argv, *options)[0]
            got[name].append(said(p)["ns_per_call"])
    base = statistics.median(got["none"])
    return {"ns_per_call": {k: round(statistics.median(v)) for k, v in got.items()},
            "added": {k: round(statistics.median(v) - base) for k, v in got.items() if k != "none"}}


@check
def memory_added(lab, _quick):
    """GPU memory that the recorder itself takes"""
    argv = lab.script("calls.py", "plain")
    without = said(lab.plain(argv))["used"]
    with_it = said(lab.capture("added", argv, "--no-torch")[0])["used"]
    assert abs(with_it - without) <= 64 * MIB, f"{(with_it - without) // MIB} MiB more are used with the recorder"
    return {"without_MiB": without // MIB, "with_MiB": with_it // MIB}


def against_nvml(lab, name, slack):
    p, trace = lab.capture(name, lab.script("calls.py", name))
    assert p.returncode == 0, p.stderr[-800:]
    return {"workload": said(p), "ledgers": ledger_agrees(lab.report(trace), slack)}


@check
def totals_plain(lab, _quick):
    """totals against NVML: default allocator"""
    return against_nvml(lab, "plain", 600 * MIB)


@check
def totals_expandable(lab, _quick):
    """totals against NVML: expandable segments"""
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    try:
        seen = against_nvml(lab, "plain", 600 * MIB)
        calls = rows(lab.dump(lab.path("plain.trace.gz")), "call")
        assert any(c["op"] == "vmm_create" for c in calls), "no cuMemCreate was recorded with expandable segments"
        return seen
    finally:
        del os.environ["PYTORCH_CUDA_ALLOC_CONF"]


@check
def totals_async(lab, _quick):
    """totals against NVML: cudaMallocAsync"""
    return against_nvml(lab, "async", 1200 * MIB)


@check
def totals_graphs(lab, _quick):
    """totals against NVML: CUDA graphs"""
    return against_nvml(lab, "graph", 600 * MIB)


@check
def sleep_and_wake(lab, _quick):
    """unmap and map of an engine's pool is seen, and the ledger follows"""
    p, trace = lab.capture("vmm", lab.script("calls.py", "vmm"), "--no-torch")
    what, report = said(p), lab.report(trace)
    agrees = ledger_agrees(report, 600 * MIB)
    dropped = what["used"] - what["asleep"]
    assert abs(dropped - what["mapped"]) <= 32 * MIB, what
    return {"workload": what, "ledgers": agrees, "sleeps": len(report["job"]["sleeps"])}


@check
def failure_is_seen(lab, _quick):
    """a failing cudaMalloc: an event with the request, cuMemGetInfo inside the callback"""
    p, trace = lab.capture("oom", lab.script("calls.py", "oom"), "--no-torch")
    what = said(p)
    assert what["result"] == 2, what
    failed = [c for c in rows(lab.dump(trace), "call") if c["result"] == 2 and c.get("size") == what["asked"]]
    assert failed, "the failing call is not in the trace"
    return {"asked": what["asked"], "free_recorded": failed[0].get("free"), "total_recorded": failed[0].get("total")}


@check
def secondary_records(lab, _quick):
    """what MEMORY2 covers: kinds seen for runtime, VMM, host and graph allocations"""
    seen = {}
    for name in ("cudart", "vmm", "graph", "async"):
        trace = lab.path(f"{name}.trace.gz")
        if not os.path.exists(trace):
            continue
        dump = lab.dump(trace)
        kinds, known = {}, {c["corr"]: c["op"] for c in rows(dump, "call") if c.get("corr")}
        for a in rows(dump, "activity"):
            key = f"kind {a['kind']} op {a['op']} ({known.get(a.get('corr'), 'no call')})"
            kinds[key] = kinds.get(key, 0) + 1
        seen[name] = kinds
    assert any(seen.values()), "no MEMORY2 record at all"
    return seen


@check
def after_kill_9(lab, quick):
    """kill -9: completed calls and activity records that were not flushed"""
    lost = []
    for i in range(2 if quick else 10):
        trace = lab.path("killed.trace.gz")
        p = subprocess.Popen([lab.memtrace, "capture", "-o", trace, "--force", "--no-torch", "--", *lab.script("calls.py", "forever")],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = p.stdout.readline()
        time.sleep(0.3 + 0.17 * i)
        children = subprocess.run(["pgrep", "-P", str(p.pid)], stdout=subprocess.PIPE, text=True, check=False).stdout.split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        rest, _ = p.communicate(timeout=120)
        done = int((first + rest).strip().splitlines()[-1])
        assert p.returncode == 137, p.returncode
        recorded = sum(1 for c in rows(lab.dump(trace), "call") if c["op"] in ("mem_alloc", "mem_free"))
        lost.append(max(0, done - recorded))
    assert not any(lost), f"calls that had returned and are not in the trace: {lost}"
    return {"runs": len(lost), "lost": sum(lost)}


@check
def with_torch_profiler(lab, _quick):
    """torch.profiler in the same process: the job runs, the recorder keeps recording"""
    alone = said(lab.plain(lab.script("calls.py", "profiler")))
    p, trace = lab.capture("profiler", lab.script("calls.py", "profiler"), "--no-torch")
    assert p.returncode == 0, p.stderr[-800:]
    dump = lab.dump(trace)
    return {"alone": alone, "together": said(p), "calls": len(rows(dump, "call")),
            "status": [s["text"] for s in rows(dump, "status") if s["level"] != "note"]}


@check
def ends(lab, _quick):
    """exit order with the real libraries: return, os._exit, exception, abort"""
    results = {}
    for name, last in (("return", "pass"), ("os._exit", "import os; os._exit(3)"), ("raise", "raise SystemExit(5)"),
                       ("abort", "import os; os.abort()")):
        argv = [sys.executable, "-c", f"import torch; x = torch.ones(1 << 20, device='cuda'); {last}"]
        want = lab.plain(argv)
        got, trace = lab.capture(f"end_{name.replace('.', '')}", argv)
        expected = want.returncode if want.returncode >= 0 else 128 - want.returncode
        assert got.returncode == expected, f"{name}: {got.returncode} instead of {expected}: {got.stderr[-400:]}"
        results[name] = {"status": got.returncode, "calls": len(rows(lab.dump(trace), "call"))}
    return results


@check
def nccl(lab, _quick):
    """NCCL on two GPUs: its memory has a name"""
    import torch

    n = torch.cuda.device_count()
    if n < 2:
        raise Skip(f"{n} GPU")
    line = " & ".join(" ".join(lab.script("calls.py", "nccl", r, 2)) for r in range(2)) + " & wait"
    p, trace = lab.capture("nccl", ["bash", "-c", line])
    assert p.returncode == 0, p.stderr[-800:]
    report = lab.report(trace)
    holders = {r["holder"] for ledger in report["job"]["ledgers"] for r in ledger["focus"]["rows"]}
    assert "nccl" in holders, holders
    return {"ledgers": ledger_agrees(report, 900 * MIB), "holders": sorted(holders)}


def loop_args(quick):
    return ["--steps", "2" if quick else "4", "--nvtx"]


@check
def training_loop(lab, quick):
    """a small RL loop: phases, reconciliation with its snapshot, overhead per step"""
    try:
        import transformers  # noqa: F401
    except ImportError as e:
        raise Skip("transformers is not installed") from e
    argv = lab.script("rl_loop.py", *loop_args(quick))
    results = {}
    for name, more, options in (("plain", [], []), ("expandable", ["--expandable"], []), ("checkpointing", ["--checkpoint"], []),
                                ("no_torch", [], ["--no-torch"])):
        base = lab.plain([*argv, *more])
        p, trace = lab.capture(f"loop_{name}", [*argv, *more], *options)
        assert p.returncode == base.returncode == 0, p.stderr[-800:]
        steps = [[json.loads(x)["ms"] for x in q.stdout.splitlines() if x.startswith('{"step"')][1:] for q in (base, p)]
        report = lab.report(trace)
        entry = {"ms_per_step": [round(statistics.median(s), 1) for s in steps], "ledgers": ledger_agrees(report, 900 * MIB),
                 "phases": sorted({x["phase"] for x in report["job"]["phase_ranges"]}), "trace_bytes": os.path.getsize(trace)}
        if not options:
            assert report["job"]["reconciled"], "no snapshot was matched with the driver's calls"
            for r in report["job"]["reconciled"]:
                assert r["adds_up"], r
            entry["reconciled"] = len(report["job"]["reconciled"])
        results[name] = entry
    return results


@check
def into_a_real_oom(lab, _quick):
    """the loop runs out of memory: headline, request and phase against PyTorch's own sentence"""
    try:
        import transformers  # noqa: F401
    except ImportError as e:
        raise Skip("transformers is not installed") from e
    p, trace = lab.capture("loop_oom", lab.script("rl_loop.py", "--oom", "--nvtx", "--batch", 16))
    assert p.returncode == 1, p.stderr[-800:]
    sentence = said(p)["oom"]
    size = re.search(r"Tried to allocate ([0-9.]+) (GiB|MiB)", sentence)
    asked = float(size.group(1)) * (1 << 30 if size.group(2) == "GiB" else MIB)
    report = lab.report(trace)
    fatal = [f for f in report["job"]["failures"] if not f["survived"]]
    requests = [f["request_bytes"] for f in fatal]
    with open(lab.path("loop_oom.html"), "wb") as f:
        f.write(subprocess.run([lab.memtrace, "report", trace, "-o", "-", "-q"], stdout=subprocess.PIPE, check=False).stdout)
    assert report["verdict"]["kind"].startswith("oom"), report["verdict"]
    assert any(abs(r - asked) <= 64 * MIB for r in requests) or report["verdict"]["sentence"], requests
    return {"pytorch": sentence, "memtrace": report["verdict"]["sentence"], "failed_requests": requests}


@check
def snapshots_for_samples(lab, quick):
    """real snapshots of the loop, small enough to keep: samples/real/"""
    try:
        import transformers  # noqa: F401
    except ImportError as e:
        raise Skip("transformers is not installed") from e
    kept = {}
    for name, more in (("loop_all", []), ("loop_python", ["--stacks", "python"]), ("loop_expandable", ["--expandable"]),
                       ("loop_checkpoint", ["--checkpoint"]), ("loop_oom_torch", ["--oom", "--batch", "16"])):
        path = lab.path(f"{name}.pickle")
        p = lab.plain(lab.script("rl_loop.py", "--snapshot", path, *([] if "--oom" in more else loop_args(quick)), *more))
        assert os.path.exists(path), p.stderr[-800:]
        with open(path, "rb") as f, gzip.open(path + ".gz", "wb", 9) as g:
            shutil.copyfileobj(f, g)
        report = lab.report(path)
        kept[name] = {"bytes": os.path.getsize(path + ".gz"), "verdict": report["verdict"]["sentence"]}
        os.unlink(path)
    return kept


# ---- running them --------------------------------------------------------------------------------------------------------------------


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help="a build folder of memtrace")
    p.add_argument("--out", required=True, help="folder for the results")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--only", help="comma-separated names of checks")
    a = p.parse_args()
    try:
        import torch

        if not torch.cuda.is_available():
            raise Skip("PyTorch sees no GPU")
    except ImportError:
        print("# skipped: PyTorch is not installed")
        return 77
    except Skip as e:
        print(f"# skipped: no GPU: {e}")
        return 77
    lab, results = Lab(a.build, a.out), {}
    names = a.only.split(",") if a.only else None
    for f in CHECKS:
        if names and f.__name__ not in names:
            continue
        started = time.monotonic()
        try:
            entry = {"result": "ok", "seen": f(lab, a.quick)}
        except Skip as e:
            entry = {"result": "skipped", "why": str(e)}
        except Exception as e:  # the other checks go on
            entry = {"result": "failed", "why": str(e) or type(e).__name__, "trace": traceback.format_exc()}
        entry["what"] = f.__doc__
        entry["seconds"] = round(time.monotonic() - started, 1)
        results[f.__name__] = entry
        print(f"{entry['result']:8} {f.__name__}: {entry.get('why') or json.dumps(entry['seen'])[:300]}", flush=True)
        with open(lab.path("results.json"), "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    with open(lab.path("results.md"), "w", encoding="utf-8") as out:
        out.write("| check | result | seen |\n|---|---|---|\n")
        for name, e in results.items():
            out.write(f"| {name}: {e['what']} | {e['result']} | `{(e.get('why') or json.dumps(e.get('seen')))[:600]}` |\n")
    return 1 if any(e["result"] == "failed" for e in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
