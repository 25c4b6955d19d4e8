#!/usr/bin/env python3
"""Code that comes with its first launch, graphs that are uploaded by theirs, local memory: what is recorded of them, and what the report says
of the bytes. The stand-in for the driver takes 8 MiB for a module, whose image has 5 MiB."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
MIB = 1 << 20
KERNELS = ["owner:torch", "kernels:6", "owner:cublas", "kernels:3", "owner:app"]


def report(spool):
    trace = kit.scratch() / "t.gz"
    subprocess.run([MEMTRACE, "collect", "-q", str(spool), "-o", str(trace)], check=True)
    done = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json", "-o", "-"], check=True, stdout=subprocess.PIPE)
    text = subprocess.run([MEMTRACE, "report", str(trace), "--format", "text", "-o", "-"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(done.stdout)["job"], text


def run(*steps, **more):
    """Runs the steps once the device was sampled with the context on it, and ends when it was sampled after them."""
    spool, gates = kit.scratch(), [kit.scratch() / "go", kit.scratch() / "end"]
    more = {"MEMTRACE_CODE": 1, **more}
    env = kit.environment("cuda13", True, spool, FAKE_STATE=kit.scratch() / "gpus", MEMTRACE_MEMORY2=0, MEMTRACE_FLUSH_MS=20, MEMTRACE_SAMPLE_MS=20, **more)
    marks = [kit.scratch() / "a", kit.scratch() / "b"]
    child = subprocess.Popen([str(kit.APP), "device:0", "leak:100:1", f"touch:{marks[0]}", f"await:{gates[0]}", *steps, f"touch:{marks[1]}", f"await:{gates[1]}"],
                             env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for mark, gate in zip(marks, gates):
        kit.until(lambda m=mark: m.exists() or child.poll() is not None)
        seen = kit.samples(spool)
        kit.until(lambda n=seen: kit.samples(spool) > n + 1 or child.poll() is not None)
        gate.touch()
    child.communicate()
    p = next(q for q in kit.trace_decode.load(spool).recorded() if q.pid == child.pid)
    return p, child.returncode, spool


def calls(p, *ops):
    return [c for c in p.calls if c["op"] in ops]


def focus(job):
    at = job["ledgers"][0]["focus"]
    kit.equal("it adds up", at["used_bytes"], sum(r["bytes"] for r in at["rows"]))
    return at, {r["holder"]: r["bytes"] for r in at["rows"]}


def lazily():
    p, status, spool = run(*KERNELS)
    loads = calls(p, "code_load")
    kit.equal("lazily: each module once, though launched twice", (status, len(loads)), (0, 9))
    kit.equal("lazily: the size of the images, the device", {(c["size"], c.get("device"), c["cbid"], c.get("flags", 0)) for c in loads},
              {(5 * MIB, 0, 0x20006, 0)})
    kit.check("lazily: with the stack of who launched", all(c.get("stack") for c in loads))
    kit.equal("lazily: its load took nothing", [c.get("change", 0) for c in calls(p, "module_load")], [0] * 9)
    job, text = report(spool)
    at, held = focus(job)
    kit.equal("lazily: the bytes are in no owner's sum", (held["unexplained"], held["context"], at["recorded_bytes"]), (72 * MIB, 500 * MIB, 600 * MIB))
    kit.equal("lazily: whose it is", [(c["holder"], c["library"], c["modules"], c["image_bytes"]) for c in at["code"]],
              [("torch", None, 6, 30 * MIB), ("math", "libcublas.so.12", 3, 15 * MIB)])
    kit.equal("lazily: what the samples around it say", at["code_grew_bytes"], 72 * MIB)
    kit.check("lazily: in words", "Code is in what is unexplained: 9 modules of 45.0 MiB as images (the device takes more or less), most of it first "
              "launched by PyTorch; 72.0 MiB came between the samples around its loading." in " ".join(text.split()), text)
    return spool


def eagerly():
    p, _, spool = run(*KERNELS, CUDA_MODULE_LOADING="EAGER")
    kit.equal("eagerly: within the call that is measured", [(c["size"], c.get("flags", 0)) for c in calls(p, "code_load")], [(5 * MIB, 1)] * 9)
    at, held = focus(report(spool)[0])
    kit.equal("eagerly: measured, and not told twice", (held["context"], held["unexplained"], at["code"], at["code_grew_bytes"]), (572 * MIB, 0, [], 0))


def switched_off():
    p, _, spool = run(*KERNELS, MEMTRACE_CODE=None)  # as it is unless somebody asks
    kit.equal("switched off: nothing of it", len(calls(p, "code_load", "code_unload")), 0)
    at, held = focus(report(spool)[0])
    kit.equal("switched off: unexplained all the same", (held["unexplained"], at["code"]), (72 * MIB, []))


def unloaded():
    p, _, spool = run("modules", "leak:10:1")
    n = len(calls(p, "code_load"))
    kit.check("unloaded: each that came goes", n >= 4 and n == len(calls(p, "code_unload")), n)
    at, _ = focus(report(spool)[0])
    kit.equal("unloaded: no code is left", (at["code"], at["code_grew_bytes"]), ([], 0))


def launched():
    p, status, spool = run("launches:50")
    found = [(c["cbid"], c.get("change", 0)) for c in calls(p, "graph_upload")]
    kit.equal("a graph: the first of 50 launches", (status, found), (0, [(514, 64 * MIB)]))
    _, held = focus(report(spool)[0])
    kit.equal("a graph: its memory is the graphs'", (held["graphs"], held["unexplained"]), (65 * MIB, 0))
    p, _, _ = run("graphs:2")
    kit.equal("a graph that was uploaded: no launch of it", sorted(c["cbid"] for c in calls(p, "graph_upload")), [514, 514, 580, 580])
    p, _, spool = run("launches:3", FAKE_TOTAL_MB=640)
    kit.equal("no memory for it: each launch that fails", [(c["cbid"], c.get("result")) for c in calls(p, "graph_upload")], [(514, 2)] * 3)
    kit.check("no memory for it: the report says so", report(spool)[0]["failure"] is not None and "cuGraphLaunch" in report(spool)[1])


def local_memory():
    p, _, spool = run("limits:8192")
    kit.equal("local memory: measured", [(c.get("flags", 0), c["offset"], c.get("change")) for c in calls(p, "context_limit")], [(0, 8192, 512 * MIB)])
    _, held = focus(report(spool)[0])
    kit.equal("local memory: the context's", (held["context"], held["unexplained"]), (1012 * MIB, 0))


def in_a_ring():
    p, _, spool = run(*KERNELS, "random:60000", MEMTRACE_KEEP_MB=1)
    kit.check("in a ring: it turned", p.checkpoint and p.checkpoint[3] > 1000, p.checkpoint)
    kit.equal("in a ring: the code that is there stays", len(calls(p, "code_load")), 9)
    at, _ = focus(report(spool)[0])
    kit.equal("in a ring: and is told", sum(c["modules"] for c in at["code"]), 9)


def main():
    kit.need(kit.LIB, kit.APP, kit.MOCK / "cuda13" / "libcuda.so.1")
    parts = (launched, in_a_ring, lazily, eagerly, switched_off, unloaded, local_memory)
    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:  # nearly all of it is waiting for samples
        for done in [pool.submit(part) for part in parts]:
            done.result()
    kit.done()


main()
