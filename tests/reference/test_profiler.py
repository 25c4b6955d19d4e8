#!/usr/bin/env python3
"""Every sample of torch.profiler and those of the guides, against profiler.py, to the byte; the same job as a snapshot and as a trace;
what is cut anywhere; what is made up to contradict itself."""

import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import profiler  # noqa: E402

ROOT = HERE.parent.parent
MEMTRACE = os.environ.get("MEMTRACE", str(ROOT / "build" / "memtrace"))
SAMPLES = sorted((ROOT / "samples" / "profiler").iterdir())
FAILED = []


def check(what, ok, *more):
    print("ok" if ok else "not ok", "-", what, *(more if not ok else ()))
    if not ok:
        FAILED.append(what)


def report(path):
    done = subprocess.run([MEMTRACE, "report", "--format", "json", "-o", "-", str(path)], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode in (0, 3) else None, done.stderr.decode()


def every_sample():
    check("there are samples", len(SAMPLES) >= 5, SAMPLES)
    guides = [ROOT / "tests" / "guides" / "in" / n for n in ("prof.json", "prof.json.gz", "timeline.json")]
    for path in SAMPLES + guides:
        wrong = profiler.compare(MEMTRACE, str(path))
        check("%s equals the reference to the byte" % path.name, not wrong, *wrong)


def one_job_two_recordings():
    """What a profiler counts is rounded, and ends when a free is asked for: that is all they differ in."""
    _, snapshot, _ = report(ROOT / "samples" / "fsdp_finetune.pickle")
    _, trace, _ = report(ROOT / "samples" / "profiler" / "finetune_rank3.pt.trace.json.gz")
    s, t = snapshot["devices"][0], trace["devices"][0]
    check("as many allocations", s["allocations"] == t["allocations"], s["allocations"], t["allocations"])
    check("the same highest reserve", s["reserved_peak_bytes"] == t["reserved_peak_bytes"])
    check("the peak at the same moment", s["peak_time_ns"] == t["peak_time_ns"], s["peak_time_ns"], t["peak_time_ns"])
    more = t["live_peak_bytes"] - s["live_peak_bytes"]
    check("the peaks differ by the rounding", 0 <= more < 512 * s["allocations"], more)
    check("the same phase", snapshot["verdict"]["phase"] == trace["verdict"]["phase"] and
          snapshot["verdict"]["sub_phase"] == trace["verdict"]["sub_phase"])
    check("the same holder", snapshot["owners"][0]["label"] == trace["owners"][0]["label"], trace["owners"][0]["label"])
    check("the card's size is taken from the trace", t["capacity_bytes"] == 85049016320)


def caveats_of(*paths):
    done = subprocess.run([MEMTRACE, "report", "--format", "json", "-o", "-", *map(str, paths)], capture_output=True, check=True)
    return [c for c in json.loads(done.stdout)["quality"]["caveats"] if "the same bytes of device 0" in c]


def both_at_once(folder):
    trace, snapshot = ROOT / "samples" / "profiler" / "finetune_rank3.pt.trace.json.gz", ROOT / "samples" / "fsdp_finetune.pickle"
    said = caveats_of(trace, snapshot)
    check("two books of the same bytes are explained", len(said) == 1 and said[0].endswith("1016 B more than the snapshot: 1016 B by rounding."), said)
    said = caveats_of(ROOT / "samples" / "profiler" / "finetune_2021.pt.trace.json.gz", snapshot)
    check("without addresses not in parts", len(said) == 1 and "1016 B more than the snapshot, at another moment: its blocks are whole" in said[0], said)
    said = caveats_of(ROOT / "samples" / "profiler" / "verl_oom_rank0.pt.trace.json.gz", ROOT / "samples" / "verl_grpo_oom_logprob.pickle")
    check("and at a failure", len(said) == 1 and "At the failure the trace has" in said[0], said)
    said = caveats_of(trace, ROOT / "samples" / "python_only.pickle")
    check("those of two jobs are not", not said, said)
    for rank, one in ((3, True), (4, False)):
        copy = os.path.join(folder, "snapshot_rank%d.pickle" % rank)
        with open(copy, "wb") as f:
            f.write(snapshot.read_bytes())
        said = caveats_of(trace, copy)
        check("rank %d is %s" % (rank, "the trace's" if one else "another one"), bool(said) == one, said)


def what_waits(folder):
    """A block that waits for another stream, one that was not split, one that is rounded: each has its part of the difference."""
    us, low, mid, high, mib = 1700000000000000, 1 << 21, 1 << 22, 1 << 23, 1 << 20
    segment = {"device": 0, "address": low, "total_size": 20 * mib, "stream": 0, "segment_type": "large", "blocks": [
        {"address": low, "size": 1024, "requested_size": 900, "state": "active_allocated"},
        {"address": low + 1024, "size": high - low - 1024, "requested_size": 0, "state": "inactive"},
        {"address": high, "size": 2 * mib + 4096, "requested_size": 2 * mib, "state": "active_allocated"},
        {"address": high + 2 * mib + 4096, "size": 12 * mib - 4096, "requested_size": 0, "state": "inactive"}]}

    def said_of(waiting):
        entries = [("alloc", low, 900, 0), ("alloc", mid, waiting, 10), ("free_requested", mid, waiting, 20), ("alloc", high, 2 * mib, 30),
                   ("free_completed", mid, waiting, 40)]
        snapshot = {"segments": [segment], "device_traces": [[{"action": a, "addr": addr, "size": size, "stream": 0, "time_us": us + t, "frames": []}
                                                              for a, addr, size, t in entries]]}
        events = [event(us, 1024, 1024, low), event(us + 10, waiting, 1024 + waiting, mid), event(us + 20, -waiting, 1024, mid),
                  event(us + 30, 2 * mib + 4096, 1024 + 2 * mib + 4096, high)]
        paths = [os.path.join(folder, n) for n in ("waits.json", "waits.trace.json")]
        for path, what in zip(paths, (snapshot, {"schemaVersion": 1, "traceEvents": events})):
            with open(path, "w", encoding="utf-8") as f:
                json.dump(what, f)
        return caveats_of(*paths)

    said = said_of(mib)  # both peak at the third block
    want = "At its peak the trace has 2.0 MiB, 1019.9 KiB less than the snapshot: 124 B by rounding, 4.0 KiB at the end of blocks, " \
        "too little to be split off, without 1.0 MiB that waited for other streams."
    check("each part is told", len(said) == 1 and want in said[0], said)
    said = said_of(3 * mib)  # the trace peaks at the second
    want = "2.0 MiB less than the snapshot, at another moment: its blocks are whole, and those that waited for other streams count as free " \
        "(3.0 MiB at the snapshot's peak)."
    check("of two moments no parts", len(said) == 1 and want in said[0], said)


def one_failure_two_recordings():
    """A request that failed: the same words as far as a profiler knows, and none of what it does not know."""
    _, snapshot, _ = report(ROOT / "samples" / "verl_grpo_oom_logprob.pickle")
    _, trace, _ = report(ROOT / "samples" / "profiler" / "verl_oom_rank0.pt.trace.json.gz")
    s, t = snapshot["devices"][0]["ooms"][0], trace["devices"][0]["ooms"][0]
    for key in ("request_bytes", "time_ns", "phase", "sub_phase", "reserved_bytes"):
        check("the failure's " + key, s[key] == t[key], s[key], t[key])
    check("what was free on the device is not known", t["device_free_bytes"] is None)
    check("one cause", snapshot["cause"]["id"] == trace["cause"]["id"], trace["cause"]["id"])
    said = json.dumps([trace["verdict"], trace["cause"]])
    check("nothing is said of the device's free bytes", "free on the device;" not in said and "neither reserved here nor free" not in said, said)
    idle = [a for a in trace["advice"] if any("free_cache_engine" in str(line) for line in a["set"])]
    check("an engine whose pools are not known is not said to be awake", not idle, idle)


def event(ts, size, allocated=None, addr=None, reserved=1 << 30, tid=1, device=0, pid=7):
    args = {"Bytes": size, "Device Type": 1, "Device Id": device}
    if allocated is not None:
        args.update({"Total Allocated": allocated, "Total Reserved": reserved})
    if addr is not None:
        args["Addr"] = addr
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": pid, "tid": tid, "ts": ts, "args": args}


def op(ts, dur, name, tid=1, cat="cpu_op"):
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": {}}


def made_up(folder):
    def write(name, events):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return path

    # bytes that come and go without an event are in the curve
    path = write("unseen.json", [event(10, 512, 1512, 4096), event(20, 512, 9000, 8192), event(30, -512, 1000, 4096), event(40, -512, 488, 8192)])
    _, r, _ = report(path)
    found, d = profiler.facts(path)[0][1], r["devices"][0]
    check("bytes of threads that are not followed are in the curve",
          all(d[k] == found[k] for k in ("live_start_bytes", "live_peak_bytes", "live_end_bytes", "reserved_peak_bytes")), d, found)
    check("and said", any("without an event" in c for c in r["quality"]["caveats"]), r["quality"]["caveats"])

    # threads one after the other, slices after their events, a parent that comes last: the order of a file says nothing
    events = [event(1000 + 10 * i, 1024 * (i + 1), None, 1 << 20 | i << 12) for i in range(50)]
    events += [op(1000 + 10 * i - 2, 4, "aten::mm") for i in range(50)] + [op(900, 900, "train.py(7): step", cat="python_function")]
    straight = write("straight.json", events)
    rng = random.Random(7)
    rng.shuffle(events)
    mixed = write("mixed.json", events)
    a = subprocess.run([MEMTRACE, "dump", straight], capture_output=True, check=True).stdout
    b = subprocess.run([MEMTRACE, "dump", mixed], capture_output=True, check=True).stdout
    def played(dump):
        rows, out = {}, []
        for line in map(json.loads, dump.splitlines()):
            if line["type"] == "stack":
                rows[line["id"]] = line["frames"]
            if line["type"] == "event":
                out.append((line["action"], line["addr"], line["size"], line["time_ns"], rows.get(line.get("stack"))))
        return out
    check("events in any order are one trace", played(a) == played(b))
    check("an operator inside of a function", played(a)[3][4] == [["aten::mm", "", 0], ["step", "train.py", 7]], played(a)[3])

    # of random rows the reference and the program make the same curve
    for seed in range(40):
        rng = random.Random(seed)
        live, total, rows = {}, rng.randrange(0, 1 << 20), []
        for i in range(rng.randrange(1, 60)):
            if live and rng.random() < 0.45:
                addr = rng.choice(sorted(live))
                total -= live[addr]
                rows.append(event(100 + i * 3, -live.pop(addr), total, addr, 1 << 28 | rng.randrange(3) << 21))
            else:
                addr, size = 4096 * (i + 1), 512 * rng.randrange(1, 99)
                live[addr] = size
                total += size
                rows.append(event(100 + i * 3, size, total, addr, 1 << 28 | rng.randrange(3) << 21))
        for with_totals in (True, False):
            if not with_totals:
                for row in rows:
                    for key in ("Total Allocated", "Total Reserved", "Addr"):
                        row["args"].pop(key)
            wrong = profiler.compare(MEMTRACE, write("random.json", rows))
            if wrong:
                check("random events %d" % seed, False, *wrong)
    check("80 traces of random events", True)

    status, _, words = report(write("none.json", [op(1, 2, "aten::mm")]))
    check("a trace without memory says which option was off", status == 1 and "profile_memory=True" in words, status, words)
    path = os.path.join(folder, "none2.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "profile_memory": 1, "traceEvents": [op(1, 2, "aten::mm")]}, file)
    status, _, words = report(path)
    check("with the option on it says what else", status == 1 and "ProfilerActivity.CPU" in words, status, words)
    _, r, _ = report(write("pids.json", [event(1, 512, addr=512), event(2, 512, addr=512, pid=8)]))
    check("two processes are not mixed", r["devices"][0]["live_peak_bytes"] == 512 and any("other processes" in c for c in r["quality"]["caveats"]))


def cut(folder):
    """Whatever is in front of the cut is there, and the curve ends where it ends."""
    path = ROOT / "samples" / "profiler" / "finetune_rank3.pt.trace.json.gz"
    data = gzip.decompress(path.read_bytes())
    whole = json.loads(data)["traceEvents"]
    where = os.path.join(folder, "cut.json")
    for part in (0.2, 0.5, 0.93, 0.999):
        at = int(len(data) * part)
        with open(where, "wb") as file:
            file.write(data[:at])
        status, r, words = report(where)
        kept = [e for e in json.loads(data[: data.rindex(b"\n  },", 0, at) + 4] + b"]}")["traceEvents"] if e["name"] == "[memory]"]
        totals = [e["args"]["Total Allocated"] for e in kept]
        check("cut at %g: exit status 3" % part, status == 3, status, words)
        check("cut at %g: the curve up to there" % part, r is not None and r["devices"][0]["live_peak_bytes"] == max(totals) and
              r["devices"][0]["live_end_bytes"] == totals[-1])
        check("cut at %g: said with its offset" % part, r is not None and any("the trace ends" in c and "(offset %d)" % at in c for c in r["quality"]["caveats"]),
              r and r["quality"]["caveats"])
    check("the whole has more", len(whole) > 1000)


def main():
    every_sample()
    one_job_two_recordings()
    one_failure_two_recordings()
    with tempfile.TemporaryDirectory() as folder:
        both_at_once(folder)
        what_waits(folder)
        made_up(folder)
        cut(folder)
    done = subprocess.run([sys.executable, str(ROOT / "samples" / "make_profiler.py"), "--check"], capture_output=True, check=False)
    check("samples/profiler is what its script makes", done.returncode == 0, done.stdout.decode())
    print("%d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
