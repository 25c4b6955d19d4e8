#!/usr/bin/env python3
"""NVML is never in a process of the job: `memtrace capture` has a process that asks it. What it gives, what happens when it dies, is slow or has no
NVML, and that nothing of it is left."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
kit.need(kit.LIB, kit.APP, kit.MOCK / "cuda13" / "libcuda.so.1")
JOB = """
import ctypes, os, signal, subprocess, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_ulonglong()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(300 << 20)) == 0
time.sleep(0.8)
names = {line.split()[-1].rsplit("/", 1)[-1] for line in open("/proc/self/maps") if "/" in line}
print("cuda", any(n.startswith("libcuda.so") for n in names), "nvml", any(n.startswith("libnvidia-ml") for n in names), flush=True)
for end in sys.argv[1:]:
    for line in subprocess.run(["ps", "-eo", "pid,ppid,comm"], stdout=subprocess.PIPE, text=True).stdout.splitlines():
        pid, parent, name = line.split(maxsplit=2)
        if name == "memtrace-nvml" and parent == str(os.getppid()):
            os.kill(int(pid), getattr(signal, end))
time.sleep(1.5)
"""


def askers():
    """Of this test's recordings: those that have one of its folders open."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and pathlib.Path(f"/proc/{entry}/comm").read_text(encoding="ascii").strip() == "memtrace-nvml":
                if folder in pathlib.Path(f"/proc/{entry}/maps").read_text(encoding="utf-8", errors="replace"):
                    found.append(int(entry))
        except OSError:
            pass
    return found


def recorded(what, *ends, command=None, **env):
    trace = kit.scratch() / "t.gz"
    env.setdefault("FAKE_STATE", kit.scratch() / "gpus")
    command = command or [sys.executable, "-c", JOB, *ends]
    done = subprocess.run([MEMTRACE, "capture", "-q", "--no-torch", "--spool", folder, "-o", str(trace), "--", *map(str, command)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, env=kit.environment(injected=False, **env), timeout=60)
    kit.check(f"{what}: the job ends well", done.returncode == 0, done.stderr)
    kit.equal(f"{what}: no asker is left", askers(), [])
    kit.equal(f"{what}: nor its folder", os.listdir(folder), [])
    rows = [json.loads(line) for line in subprocess.run([MEMTRACE, "dump", str(trace)], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()]
    return done.stdout, {kind: [r for r in rows if r["type"] == kind] for kind in ("call", "gpu_sample", "status")}


folder = str(kit.scratch())

said, rows = recorded("as it is")
kit.equal("NVML is not in the process of the job", said, "cuda True nvml False\n")
kit.equal("the context is measured", [c.get("change") for c in rows["call"] if c["op"] == "context_retain"], [500 << 20])
kit.equal("samples are of the device", [rows["gpu_sample"][0]["used"], rows["gpu_sample"][-1]["used"]], [0, 800 << 20])
kit.equal("and of its processes", [p["used"] for p in rows["gpu_sample"][-1]["processes"]], [800 << 20])
kit.check("which NVML is said", any(s["text"].startswith("NVML 13.580") for s in rows["status"]), rows["status"])
kit.equal("nothing is complained of", [s["text"] for s in rows["status"] if s["level"] != "note"], [])

said, rows = recorded("it is killed", "SIGKILL")
kit.check("what was sampled before is kept", len(rows["gpu_sample"]) >= 2, rows["gpu_sample"])
kit.check("that it does not answer is said", any("does not answer" in s["text"] for s in rows["status"]), rows["status"])

said, rows = recorded("it is stopped", "SIGSTOP")
kit.check("that one does not answer is said", any("does not answer" in s["text"] for s in rows["status"]), rows["status"])

_, rows = recorded("several processes", command=["bash", "-c", f"for i in 1 2 3; do {kit.APP} device:0 sleep:700 & done; wait"])
kit.equal("each has samples", sorted({s["process"] for s in rows["gpu_sample"]}), [0, 1, 2])

for mode, text in (("missing", "nvmlInit_v2"), ("nopids", "the memory of single processes is not told")):
    _, rows = recorded(mode, FAKE_NVML=mode)
    kit.check(f"{mode}: why is said", any(text in s["text"] for s in rows["status"]), rows["status"])

_, rows = recorded("switched off", MEMTRACE_NVML=0)
kit.equal("switched off: no sample", rows["gpu_sample"], [])
kit.equal("switched off: no complaint", [s["text"] for s in rows["status"] if s["level"] != "note"], [])

# by hand nobody is there to ask, which is said with what to do
run = kit.run([kit.APP, "device:0", "sleep:700"], MEMTRACE_NVML_INSIDE=None)
kit.equal("by hand: the job is as ever", run.status, 0)
kit.check("by hand: what to do is said", any("memtrace capture" in s[2] and s[1] == 1 for s in run.process().statuses), run.process().statuses)

# the launcher is killed: the asker goes by itself
trace = kit.scratch() / "t.gz"
p = subprocess.Popen([MEMTRACE, "capture", "-q", "--spool", folder, "-o", str(trace), "--", str(kit.APP), "device:0", "sleep:1500"],
                     env=kit.environment(injected=False), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
for _ in range(100):
    if askers():
        break
    time.sleep(0.05)
kit.equal("one asker while it runs", len(askers()), 1)
p.send_signal(signal.SIGKILL)
p.wait()
for _ in range(100):
    if not askers():
        break
    time.sleep(0.05)
kit.equal("none after the launcher was killed", askers(), [])
kit.done()
