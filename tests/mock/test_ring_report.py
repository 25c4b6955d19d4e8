#!/usr/bin/env python3
"""The report of a recording that keeps the newest: the same as of one that keeps all, from the checkpoint on; failures at its end and
before it; taken while the job runs."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402
import ring_lib  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
TURN = "random:70000"  # fills a MiB about twice


def environment(**more):
    return kit.environment("cuda13", False, FAKE_STATE=kit.scratch() / "gpus", CUDA_MODULE_LOADING="EAGER", **more)


SAMPLED = ["touch:{at}", "await:{end}"]  # the last words of a job that ends when the device was sampled once more


def recorded(what, options, words, status=0):
    """The report of a job that was recorded with these options."""
    return ring_lib.undisturbed(what, lambda: recorded_once(what, options, words, status), lambda r: process(r)["dropped_records"])


def recorded_once(what, options, words, status):
    trace, spool, at, end = kit.scratch() / "t.gz", kit.scratch(), kit.scratch() / "at", kit.scratch() / "end"
    child = subprocess.Popen([MEMTRACE, "capture", "-q", "--spool", str(spool), "-o", str(trace), "--flush-ms", "20", *options, "--", str(kit.APP),
                              *[word.format(at=at, end=end) for word in words]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
    if SAMPLED[0] in words:
        kit.until(lambda: at.exists() or child.poll() is not None)
        folder = next(spool.iterdir())
        seen = kit.samples(folder)
        kit.check(f"{what}: the device is sampled after the last call", kit.until(lambda: kit.samples(folder) > seen + 1 or child.poll() is not None))
        end.touch()
    _, err = child.communicate(timeout=600)
    kit.check(f"{what}: exit status {status}", child.returncode == status, child.returncode, err[-500:])
    return reported(what, trace)


def reported(what, trace):
    made = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=300)
    kit.check(f"{what}: the report", made.returncode == 0, made.returncode, made.stderr)
    return {**json.loads(made.stdout), "process": kit.trace_decode.load(trace).recorded()[0]}


MEASURED = ("context", "graphs", "unexplained")  # over a call, where NVML answers in time: a busy machine measures one more or one less


def rows(report):
    return [{k: row[k] for k in ("holder", "library", "bytes", "live_allocations", "label") if k in row}
            for row in report["job"]["ledgers"][0]["focus"]["rows"] if row["bytes"] and row["holder"] not in MEASURED]


def process(report):
    return report["job"]["processes"][0]


def as_all():
    """A peak at the end: who holds what is the same, to the byte, however much was let go."""
    words = ["device:0", "owner:nccl", "leak:40:5", "owner:torch", "leak:100:3", "owner:app", "modules", "arrays:2", "host", "cumem:1:20", TURN, "graphs:2",
             "owner:cublas", "leak:900:12", *SAMPLED]
    all_of, ring = recorded("all", ["--all"], words), recorded("ring", ["--keep", "1MiB"], words)
    kit.check("all: nothing is let go", "whole_time_ns" not in process(all_of), process(all_of))
    if not kit.check("ring: something is let go", process(ring).get("records_let_go", 0) > 10000, process(ring)):
        return
    kit.equal("ring: who holds what at the peak", rows(ring), rows(all_of))
    kit.equal("ring: what the device had in use then", ring["job"]["ledgers"][0]["focus"]["used_bytes"], all_of["job"]["ledgers"][0]["focus"]["used_bytes"])
    grown = sum(c.get("change", 0) for c in ring["process"].calls if c["op"] == "context_retain")
    kit.equal("ring: what was measured over a call that was let go", grown > 0, any(r["holder"] == "context" for r in ring["job"]["ledgers"][0]["focus"]["rows"]))
    for name in ("unmatched_frees", "lost_frees", "missing_chunks", "dropped_records", "pinned_end_bytes"):
        kit.equal(f"ring: {name} of the process", process(ring)[name], process(all_of)[name])
    kit.equal("ring: the ledger begins where it is whole", ring["job"]["ledgers"][0]["first_time_ns"], process(ring)["whole_time_ns"])
    kit.check("ring: the sentence says what was kept", "which are what was kept" in ring["job"]["sentence"], ring["job"]["sentence"])
    kit.check("ring: and nothing else does it", "which are what was kept" not in all_of["job"]["sentence"], all_of["job"]["sentence"])
    kit.check("ring: the caveat says so", any("older records were let go" in c for c in caveats(ring)), caveats(ring))


def caveats(report):
    return json.dumps({k: v for k, v in report.items() if k != "process"}).split('"')


def failure_at_the_end():
    report = recorded("failure at the end", ["--keep", "1MiB"], ["device:0", "owner:torch", "leak:500:3", "owner:app", TURN, "oom:fatal"], status=1)
    failed = report["job"]["failures"]
    kit.check("failure at the end: the verdict", report["verdict"]["kind"] == "driver_oom" and failed, report["verdict"])
    kit.check("failure at the end: who held what", failed[-1]["device_free_bytes"] and any(r["holder"] == "torch" and r["bytes"] == 1500 << 20
              for r in report["job"]["ledgers"][0]["focus"]["rows"]), report["job"]["ledgers"][0]["focus"]["rows"])
    kit.check("failure at the end: what was let go is said", "before the failure was let go" in report["job"]["because"], report["job"]["because"])


def failure_let_go():
    """It was survived, and its file is gone: the call, its stack and its phase are there."""
    report = recorded("failure let go", ["--keep", "1MiB"], ["device:0", "push:rollout", "oom", "pop", TURN, TURN])
    failed = report["job"]["failures"]
    if not kit.check("failure let go: it is there", failed, report["job"]["sentence"]):
        return
    f = failed[0]
    kit.check("failure let go: before what was kept", f["time_ns"] < process(report)["whole_time_ns"], f["time_ns"], process(report))
    kit.check("failure let go: survived, with stack, free memory and phase", f["survived"] and f["site"] and f["device_free_bytes"] and
              f["phase"].startswith("rollout"), f)
    kit.check("failure let go: who held what is not claimed", not any(f["held_bytes"].values()), f["held_bytes"])
    kit.check("failure let go: it is counted", "failed and the job went on" in report["job"]["sentence"], report["job"]["sentence"])


def while_it_runs():
    """`memtrace collect` of a job that runs: whole, time after time."""
    spool, truth = kit.scratch(), kit.scratch()
    env = kit.environment("cuda13", True, spool, FAKE_TRUTH=truth, FAKE_TRUTH_LINES=0, MEMTRACE_KEEP_MB=1, MEMTRACE_MEMORY2=0, MEMTRACE_FLUSH_MS=20)
    child = subprocess.Popen([str(kit.APP), "device:0", "leak:10:20", "random:0"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kit.check("while it runs: it turns", kit.until(lambda: any(f.name.endswith(".base.gz") for f in spool.iterdir())))
    for i in range(5):
        trace, before = kit.scratch() / "t.gz", kit.counted(truth, child.pid)
        done = subprocess.run([MEMTRACE, "collect", "-q", str(spool), "-o", str(trace)], stderr=subprocess.PIPE, check=False, timeout=300)
        read = kit.trace_decode.load(trace)
        p = read.recorded()[0]
        rest = sum(1 for c in p.calls if c["chunk_kind"] == kit.trace_decode.PROCESS)
        kit.check(f"while it runs, {i}: whole", done.returncode == 0 and not read.problems and not p.missing, done.stderr, read.problems)
        kit.check(f"while it runs, {i}: every call so far", p.dropped or before <= p.checkpoint[3] + rest, before, p.checkpoint, rest)
        report = reported(f"while it runs, {i}", trace)
        kit.check(f"while it runs, {i}: what does not go is there", any(r["bytes"] >= 200 << 20 for r in report["job"]["ledgers"][0]["focus"]["rows"]),
                  report["job"]["sentence"])
    child.kill()
    child.wait()


def options():
    for words in (["--all", "--keep", "1MiB"], ["--all", "--last", "1m"], ["--max-mb", "1", "--keep", "1MiB"], ["--last", "1"], ["--last", "0s"]):
        done = subprocess.run([MEMTRACE, "capture", *words, "--", "true"], stderr=subprocess.PIPE, check=False, timeout=60)
        kit.check(f"{' '.join(words)}: refused", done.returncode == 125 and b"--" in done.stderr, done.returncode, done.stderr)


def main():
    kit.need(kit.LIB, kit.APP, MEMTRACE)
    options()
    as_all()
    failure_at_the_end()
    failure_let_go()
    while_it_runs()
    kit.done()


main()
