#!/usr/bin/env python3
"""A week in minutes: as many turns of the ring as a job of 10,000 calls a second makes in a week, through a ring that is smaller by the
same factor. Measures the size of the files all the while, and compares the report of what is left with the stand-in driver's own figures.

    ring_week.py [BUILD] [MILLION_CALLS]      (default: build, 24)

A week of 10,000 calls a second are 6 * 10**9 calls: through the 256 MiB of a real ring that is 24 * 10**6 through one of 1 MiB."""
import json
import os
import pathlib
import subprocess
import sys
import time

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
MILLIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 24
os.environ["MT_BINARY_DIR"] = str(BUILD)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mock"))
import kit  # noqa: E402

KEEP = 1


def main():
    spool, truth, trace = kit.scratch(), kit.scratch(), kit.scratch() / "t.gz"
    env = kit.environment("cuda13", True, spool, FAKE_TRUTH=truth, FAKE_TRUTH_LINES=0, FAKE_STATE=kit.scratch() / "gpus", MEMTRACE_KEEP_MB=KEEP,
                          MEMTRACE_MEMORY2=0, MEMTRACE_FLUSH_MS=100)
    rounds = MILLIONS * 10**6 // 72  # a round makes 72 calls
    words = ["device:0", "owner:torch", "leak:40:10", "owner:app", "leak:16:30", f"vmm:{rounds}", f"steady:{rounds * 10}", f"vmm:{rounds // 2}", "leak:8:3",
             "sleep:700"]
    start, most, held = time.monotonic(), 0, 0
    job = subprocess.Popen([str(kit.APP), *words], env=env)
    while job.poll() is None:
        sizes = []
        for f in spool.glob("*.gz"):
            try:
                sizes.append(f.stat().st_size)
            except FileNotFoundError:
                pass
        most = max(most, sum(sizes))
        status = pathlib.Path(f"/proc/{job.pid}/status").read_text(encoding="ascii", errors="replace")
        held = max([held, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))])
        time.sleep(0.05)
    seconds, made = time.monotonic() - start, kit.counted(truth, job.pid)
    subprocess.run([str(BUILD / "memtrace"), "collect", "-q", str(spool), "-o", str(trace)], check=True)
    report = json.loads(subprocess.run([str(BUILD / "memtrace"), "report", str(trace), "--format", "json", "-o", "-"], check=True, stdout=subprocess.PIPE).stdout)
    process, ledger = report["job"]["processes"][0], report["job"]["ledgers"][0]
    rest = {check["unexplained_bytes"] for check in ledger["checks"]}
    left = (ledger["last_time_ns"] - process["whole_time_ns"]) / 1e9
    print(f"{made} calls in {seconds:.0f} s; {process['records_let_go']} records let go, {process['calls']} calls left, the last {left:.1f} s")
    print(f"files: at most {most} bytes of {KEEP << 20}; trace {trace.stat().st_size}; resident at most {held} KiB")
    print(f"samples of what is left: {len(ledger['checks'])}; used on the device less recorded calls, bytes: {sorted(rest)}")
    kit.check("the files stay within the limit", most <= (KEEP << 20) * 5 // 4, most)
    kit.check("nothing is lost", not process["dropped_records"] and not process["missing_chunks"], process)
    kit.check("at the last sample the calls explain all of it", ledger["checks"][-1]["unexplained_bytes"] == 0, rest)
    # a sample is taken while a call is under way: it made 20 MiB that are not recorded yet
    kit.check("at each of the others all, or all but the call under way", max(abs(n) for n in rest) <= 20 << 20 and len(ledger["checks"]) > 1, rest)
    kit.check("no free is without its allocation", not process["unmatched_frees"] and not process["lost_frees"], process)
    kit.done()


main()
