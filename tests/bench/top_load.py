#!/usr/bin/env python3
"""What `memtrace top` takes of a core at one look a second, beside 64 processes of which each holds memory on 8 GPUs and goes on making calls.

    top_load.py [BUILD] [SECONDS]      (default: build, 20)

The driver is that of tests/mock. The first look reads what was recorded until then and is told apart."""
import os
import pathlib
import subprocess
import sys
import time

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
os.environ["MT_BINARY_DIR"] = str(BUILD)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mock"))
import kit  # noqa: E402
import json  # noqa: E402

PROCESSES, GPUS = 64, 8
MOST = 2  # per cent of one core
ROUND = ["random:36", "sleep:100"]  # about 340 calls a second in each process


def cpu(pid):
    """Seconds of CPU time, and resident bytes."""
    at = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(at[11]) + int(at[12])) / os.sysconf("SC_CLK_TCK"), int(at[21]) * os.sysconf("SC_PAGE_SIZE")


def main():
    spool, stop = kit.scratch(), kit.scratch() / "stop"
    env = kit.environment("cuda13", False, FAKE_STATE=kit.scratch() / "gpus", FAKE_GPUS=GPUS, FAKE_CONTEXT_MB=50)
    held = [word for gpu in range(GPUS) for word in (f"device:{gpu}", "leak:1:4")]
    script = " ".join(map(str, [kit.APP, *held, "device:$((i % 8))", *ROUND * (10 * (SECONDS + 120))]))
    job = subprocess.Popen([str(BUILD / "memtrace"), "capture", "-q", "--no-torch", "--spool", str(spool), "-o", str(spool / "t.gz"), "--", "bash", "-c",
                            f"for i in $(seq {PROCESSES}); do {script} & done; until [ -e {stop} ]; do sleep 0.2; done; kill $(jobs -p); wait"],
                           env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kit.until(lambda: len(list(spool.glob("memtrace-*/mt-*.spool"))) == PROCESSES)
    folder = next(iter(spool.glob("memtrace-*")))
    top = subprocess.Popen([str(BUILD / "memtrace"), "top", "--json", "--interval", "1", str(folder)], stdout=subprocess.PIPE, text=True)
    looks = []
    for _ in range(30):  # until all of them hold memory on all GPUs
        looks.append(json.loads(top.stdout.readline()))
        if len(looks) > 1 and all(p["held"] for p in looks[-1]["processes"]):
            break
    first, begin = cpu(top.pid), time.monotonic()
    made = -sum(p["calls"] for p in looks[-1]["processes"])
    for n in range(SECONDS):
        looks.append(json.loads(top.stdout.readline()))
    after, seconds = cpu(top.pid), time.monotonic() - begin
    made += sum(p["calls"] for p in looks[-1]["processes"])
    stop.touch()
    top.terminate()
    top.communicate()
    job.wait()
    share = 100 * (after[0] - first[0]) / seconds
    kit.check("all processes and GPUs are seen", len(looks[-1]["processes"]) == PROCESSES and len(looks[-1]["devices"]) == GPUS)
    print(f"{SECONDS} looks in {seconds:.1f} s, {made / seconds:.0f} calls a second: {share:.2f} % of a core, {after[1] / 2**20:.1f} MiB; until the first of them {first[0]:.2f} s")
    kit.check(f"at most {MOST} % of a core", share <= MOST, share)
    kit.done()


main()
