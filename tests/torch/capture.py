#!/usr/bin/env python3
"""`memtrace capture` over PyTorch itself: every job of capture_job.py is recorded, and the report compared with what PyTorch and the driver said
in the job.

    MEMTRACE=build/memtrace LD_LIBRARY_PATH=SIM capture.py [SCENARIO...]      # SIM: what standin.py --capture made

Needs a python3 with PyTorch for CUDA."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MEMTRACE = os.environ.get("MEMTRACE", "memtrace")
FAILED = []
# scenario: (exit status, why its snapshots were written)
WANT = {"plain": (0, ["exit"]), "oom_caught": (0, ["exit", "oom1"]), "oom_fatal": (1, ["exit", "oom1"]), "expandable": (0, ["exit"]),
        "expandable_oom_caught": (0, ["exit", "oom1"]), "expandable_oom_fatal": (1, ["exit", "oom1"]), "own_first": (0, []),
        "own_later": (0, ["own"]), "own_off": (0, ["exit"]), "own_oom": (0, ["oom1"]), "large": (0, ["exit"]),
        "pool": (0, ["exit"]), "graph": (0, ["exit"]), "async": (0, []),
        "empty_cache": (0, ["exit"]), "fork": (0, ["exit"]), "ranks": (0, ["exit", "exit"])}
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def check(what, got, want):
    good = got == want
    if not good:
        FAILED.append(what)
    print(f"{'ok' if good else 'not ok'} - {what}" + ("" if good else f": {got!r} instead of {want!r}"), flush=True)


def report(*words):
    p = subprocess.run([MEMTRACE, "report", *words, "--format", "json", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       check=False)
    return p.returncode, json.loads(p.stdout)


def run(scenario, folder):
    """The job's status, the report, what the job said by rank."""
    out, trace = folder / "job", folder / "trace.gz"
    env = {**os.environ, "FAKE_STATE": str(folder / "gpus"), "PYTHONDONTWRITEBYTECODE": "1"}
    (folder / "gpus").write_bytes(bytes(1 << 20))
    if "oom" in scenario:
        env["FAKE_TOTAL_MB"] = "4096"
    command = [sys.executable, str(HERE / "capture_job.py"), scenario, str(out)]
    if scenario == "ranks":
        env["FAKE_GPUS"] = "2"
        command = ["sh", "-c", 'for r in 0 1; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 "$@" & done; wait', "sh", *command]
    p = subprocess.run([MEMTRACE, "capture", "-o", str(trace), "--", *command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       check=False)
    said = [json.loads(f.read_text()) for f in sorted(folder.glob("job.*.json"))]
    if not trace.exists() or not said:
        sys.exit(f"{scenario}: nothing was recorded\n{p.stdout}")
    return p.returncode, trace, said


def bytes_in(pattern, text):
    number, unit = re.search(pattern + r" ([\d.]+) (\w+)", text).groups()
    return float(number) * UNITS[unit], UNITS[unit] * 0.006


def near(got, pair):
    return abs(got - pair[0]) <= pair[1]


def compare_oom(scenario, r, error):
    """PyTorch's own sentence, in the verdict and to the digit."""
    check(f"{scenario}: the verdict is an out of memory", r["verdict"]["kind"].startswith("oom"), True)
    check(f"{scenario}: its phase", r["verdict"]["phase"], "rollout.generate")
    oom = r["devices"][0]["ooms"][0]
    check(f"{scenario}: the request", near(oom["request_bytes"], bytes_in("Tried to allocate", error)), True)
    free = re.search(r"of which ([\d.]+) (\w+) is free", error)
    check(f"{scenario}: what was free", near(oom["device_free_bytes"], (float(free[1]) * UNITS[free[2]], UNITS[free[2]] * 0.006)), True)
    unused = re.search(r"and ([\d.]+) (\w+) is reserved by PyTorch but unallocated", error)
    check(f"{scenario}: reserved and not allocated",
          near(oom["reserved_bytes"] - oom["live_bytes"], (float(unused[1]) * UNITS[unused[2]], UNITS[unused[2]] * 0.006)), True)


def compare(scenario):
    with tempfile.TemporaryDirectory() as name:
        status, trace, said = run(scenario, pathlib.Path(name))
        read, r = report(str(trace))
    want_status, want_kinds = WANT[scenario]
    check(f"{scenario}: exit status", (status, read), (want_status, 0))
    members = [i["member"] for i in r["provenance"]["inputs"] if i["format"] == "pickle"]
    if "oom1" in want_kinds and "exit" in want_kinds:  # the snapshot at the end has all of that at the failure
        check(f"{scenario}: one row for two snapshots of the process", ["-exit-" in d["member"] for d in r["devices"]], [True])
    kinds = sorted(re.search(r"-(oom\d|exit|usr\d|own)-dev", m)[1] for m in members)
    check(f"{scenario}: snapshots", kinds, want_kinds)
    ledgers = sorted(r["job"]["ledgers"], key=lambda g: g["name"])
    check(f"{scenario}: nothing unexplained", [g["max_unexplained_bytes"] for g in ledgers] == [0] * len(said) or scenario == "async", True)
    for rank, s in enumerate(said):
        g, what = ledgers[rank], f"{scenario}, rank {rank}"
        torch = [row for row in g["focus"]["rows"] if row["holder"] == "torch"]
        check(f"{what}: PyTorch's highest by the driver", torch[0]["peak_bytes"], s["peak_allocated" if scenario == "async" else "peak_reserved"])
        check(f"{what}: the card", g["capacity_bytes"], s["total"])
        ends = [d for d in r["devices"] if "-exit-" in d["member"] and d["device"] == rank]
        for d in ends:
            check(f"{what}: reserved at the end", d["reserved_end_bytes"], s["reserved"])
            if scenario != "large":  # the rest had left the ring
                check(f"{what}: reserved at most", d["reserved_peak_bytes"], s["peak_reserved"])
            check(f"{what}: rank", d["rank"], rank if scenario == "ranks" else None)
    for v in r["job"]["reconciled"]:
        check(f"{scenario}: PyTorch's books are the driver's", (v["unmapped_bytes"], v["unseen_bytes"], v["matched_bytes"]),
              (0, 0, v["torch_reserved_bytes"]))
    if "oom" in scenario:
        compare_oom(scenario, r, said[0]["errors"][0])
        check(f"{scenario}: survived or not", r["job"]["kind"] == "oom", scenario.endswith("fatal"))


def main():
    for scenario in sys.argv[1:] or WANT:
        compare(scenario)
    print(f"{len(FAILED)} failed")
    return bool(FAILED)


if __name__ == "__main__":
    sys.exit(main())
