#!/usr/bin/env bash
# export: sums against the report's own numbers, the structure that each viewer asks for, moments, ranks, and what cannot be had.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
oom="$SAMPLES/verl_grpo_oom_logprob.pickle"

cat > check.py << 'EOF'
import json, re, sys
def report(path):
    return json.load(open(path))["devices"]
def fail(*what):
    print(*what)
    sys.exit(1)
def folded(path, want):
    total = 0
    for line in open(path, encoding="utf-8"):
        stack, _, bytes_ = line.rstrip("\n").rpartition(" ")
        if not stack or not re.fullmatch(r"[0-9]+", bytes_) or "" in stack.split(";"):
            fail("no folded line:", line)
        total += int(bytes_)
    if total != int(want):
        fail("folded: sum", total, "wanted", want)
def speedscope(path, *wants):
    d = json.load(open(path))
    if d["$schema"] != "https://www.speedscope.app/file-format-schema.json" or not d["exporter"].startswith("memtrace "):
        fail("schema, exporter")
    frames = d["shared"]["frames"]
    if not all(isinstance(f["name"], str) and set(f) <= {"name", "file", "line", "col"} for f in frames):
        fail("frames")
    used = set()
    for p in d["profiles"]:
        if p["type"] != "sampled" or p["unit"] != "bytes" or p["startValue"] != 0 or len(p["samples"]) != len(p["weights"]):
            fail("profile", p["name"])
        if sum(p["weights"]) != p["endValue"] or any(w <= 0 for w in p["weights"]):
            fail("weights of", p["name"])
        if any(not s or not all(0 <= i < len(frames) for i in s) for s in p["samples"]):
            fail("samples of", p["name"])
        used.update(i for s in p["samples"] for i in s)
    if used != set(range(len(frames))):
        fail("frames that no sample has")
    names = {p["name"]: p["endValue"] for p in d["profiles"]}
    for want in wants:
        name, _, value = want.rpartition("=")
        if names.get(name) != int(value):
            fail(name, "is", names.get(name), "wanted", value, "of", sorted(names))
def perfetto(path, peak, reserved, n_ooms, n_processes):
    d = json.load(open(path))
    events = d["traceEvents"]
    best, last, ts_of = {}, {}, {}
    n = {"M": 0, "C": 0, "X": 0, "i": 0}
    named = [e for e in events if e["ph"] == "M" and e["name"] == "thread_name" and e["args"]["name"]]
    threads = {(e["pid"], e["tid"]) for e in named}
    if len(threads) != len(named):
        fail("a thread that is named twice")
    live, roles = {}, {}
    for e in events:
        n[e["ph"]] += 1
        if e["ph"] != "M" and e["ts"] < 0:
            fail("before the start", e)
        if e["ph"] == "X" and e["dur"] < 0:
            fail("negative duration", e)
        if e["ph"] == "i" and e["s"] != "t":
            fail("scope", e)
        if e["ph"] in "Xi" and (e["tid"] == e["pid"] or (e["pid"], e["tid"]) not in threads):
            fail("a main thread, or one without a name", e)
        if e["ph"] != "C":
            continue
        if e["tid"] != 0 or list(e["args"]) != ["bytes"] or not isinstance(e["args"]["bytes"], int):
            fail("counter", e)
        key = (e["pid"], e["name"])
        if ts_of.get(key, 0) > e["ts"]:
            fail("a counter goes back in time", e)
        ts_of[key] = e["ts"]
        best[e["name"]] = max(best.get(e["name"], 0), e["args"]["bytes"])
        if e["name"] == "live":
            live.setdefault(e["pid"], {})[e["ts"]] = e["args"]["bytes"]
        elif e["name"].startswith("live: "):
            roles.setdefault(e["pid"], {}).setdefault(e["name"], {})[e["ts"]] = e["args"]["bytes"]
    if best.get("live", 0) != int(peak):
        fail("highest live", best.get("live"), "wanted", peak)
    if int(reserved) >= 0 and best.get("reserved", 0) > int(reserved):
        fail("highest reserved", best.get("reserved"), "wanted at most", reserved)
    if n["i"] != int(n_ooms):
        fail("out of memory", n["i"], "wanted", n_ooms)
    processes = [e for e in events if e["ph"] == "M" and e["name"] == "process_name"]
    if len(processes) != int(n_processes) or len({e["pid"] for e in processes}) != len(processes):
        fail("processes", [e["args"] for e in processes])
    if [e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"] != [e["pid"] for e in processes]:
        fail("order of processes")
    for pid, series in live.items(): # the roles add up to live at every instant
        at = {}
        for ts in sorted({t for s in roles.get(pid, {}).values() for t in s} | set(series)):
            for name, s in roles.get(pid, {}).items():
                at[name] = s.get(ts, at.get(name, 0))
            at["="] = series.get(ts, at.get("=", 0))
            if sum(v for k, v in at.items() if k != "=") != at["="]:
                fail("roles do not add up at", ts, at)
    for tid in {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}: # slices of one track nest or follow each other
        ends = []
        for e in sorted((e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == tid), key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= e["ts"] + 1e-6:
                ends.pop()
            if ends and e["ts"] + e["dur"] > ends[-1] + 1e-3:
                fail("slices overlap", e)
            ends.append(e["ts"] + e["dur"])
globals()[sys.argv[1]](*sys.argv[2:])
EOF
chk() { check python3 -B check.py "$@"; }
of() { python3 -c 'import json, sys
d = json.load(open("r.json"))["devices"][0]
for k in sys.argv[1].split("."):
    d = d[int(k)] if k.isdigit() else d[k]
print(d)' "$1"; }

for sample in "$SAMPLES"/{verl_grpo_oom_logprob,fragmentation_oom,fsdp_finetune,expandable_segments,python_only,tiny}.pickle; do
    "$MEMTRACE" report --format json -q "$sample" > r.json
    peak="$(of live_peak_bytes)" ooms="$(python3 -c 'import json; print(len(json.load(open("r.json"))["devices"][0]["ooms"]))')"
    run 0 export "$sample" --to folded
    err_empty
    chk folded .out "$peak"
    run 0 export "$sample" --to folded --at peak
    chk folded .out "$peak"
    run 0 export "$sample" --to speedscope
    chk speedscope .out "GPU 0: live at the peak=$peak"
    run 0 export "$sample"
    chk perfetto .out "$peak" "$(of reserved_peak_bytes)" "$ooms" 1
    if [ "$ooms" != 0 ]; then
        run 0 export "$sample" --to folded --at oom
        chk folded .out "$(of ooms.0.live_bytes)"
        cp .out at_oom
        run 0 export "$sample" --to folded --at "$(of ooms.0.event)"
        check [ "$(awk '{s += $NF} END {printf "%.0f", s}' at_oom)" = "$(awk '{s += $NF} END {printf "%.0f", s}' .out)" ]
        run 0 export "$sample" --to speedscope --at oom
        chk speedscope .out "GPU 0: live when memory ran out=$(of ooms.0.live_bytes)"
    fi
done
# at other events: the sums are those of a replay of the dump
for sample in verl_grpo_oom_logprob fsdp_finetune; do
    "$MEMTRACE" report --format json -q "$SAMPLES/$sample.pickle" > r.json
    "$MEMTRACE" dump "$SAMPLES/$sample.pickle" > d.jsonl
    for event in 0 1 17 100 "$(($(of events) / 2))" "$(($(of events) - 1))"; do
        run 0 export "$SAMPLES/$sample.pickle" --to folded --at "$event"
        chk folded .out "$(python3 -c 'import json, sys
live = int(sys.argv[2])
for line in open("d.jsonl"):
    e = json.loads(line)
    if e["type"] == "event" and e["n"] <= int(sys.argv[1]):
        live += {"alloc": e.get("size", 0), "free_completed": -e.get("size", 0)}.get(e.get("action"), 0)
print(live)' "$event" "$(of live_start_bytes)")"
    done
done

# ranks: a process each; one of them by --rank
run 0 export "$SAMPLES/verl_two_ranks.tar.gz" -o ranks.json
out_empty
check [ "$(grep -c process_name ranks.json)" = 2 ]
run 1 export "$SAMPLES/verl_two_ranks.tar.gz" -o ranks.json
err_has 'already exists'
run 0 export "$SAMPLES/verl_two_ranks.tar.gz" --rank 1
check [ "$(grep -c process_name .out)" = 1 ]
out_has '"rank 1, GPU 0"'
run 1 export "$SAMPLES/verl_two_ranks.tar.gz" --rank 7
err_has "--rank 7: no snapshot is of that rank"
out_empty
run 0 export "$SAMPLES/verl_two_ranks.tar.gz" --to folded
check [ "$(cut -d ';' -f 1 .out | sort -u | wc -l)" = 2 ]
run 3 export "$SAMPLES/verl_two_ranks_truncated.tar.gz"

# what cannot be had is said
run 1 export "$SAMPLES/tiny.pickle" --to folded --at 99999
err_has 'has no event 99999'
out_empty
run 1 export "$SAMPLES/python_only.pickle" --to folded --at oom
err_has 'no out-of-memory event'
run 1 export "$oom" --device 5
err_has '--device 5'
run 2 export "$oom" --at noon --to folded
err_has "none of peak, oom"
run 2 export "$oom" --at peak
err_has 'goes with speedscope and folded'
run 2 export "$oom" --to svg
run 1 export /nowhere/at/all

# what the driver saw
"$MEMTRACE" report --format json -q "$SAMPLES/driver_v1.trace.gz" > r.json
run 0 export "$SAMPLES/driver_v1.trace.gz"
chk perfetto .out "$(of live_peak_bytes)" "$(of reserved_peak_bytes)" 2 3
check python3 -c 'import json; d = json.load(open(".out"))
assert any(e["name"] == "device used" for e in d["traceEvents"] if e["ph"] == "C")
assert any(e["name"] == "process_name" and e["args"]["name"].startswith("driver: ") for e in d["traceEvents"])'
# ranges of a process that began before its GPU was used, two of which overlap: where they are, and on tracks where they nest
cat > nvtx.py << 'EOF'
import os, sys
sys.path.insert(0, os.environ["SAMPLES"])
import make_trace as m
from imitate import wire
chunks = m.trainer()
third = wire.Chunk(m.TRAINER, 2, wire.PROCESS, 4100, m.T0 - 5 * 10**8, m.MONO - 5 * 10**8)
for ms, name, ident in ((400, 3, 7), (300, 4, 8)):
    third.timed(wire.START, m.MONO - ms * 10**6, 4100, 1, name, 0, ident)
for ms, ident in ((200, 7), (100, 8), (50, 3)):
    third.timed(wire.END_RANGE, m.MONO - ms * 10**6, 4100, 1, 0, ident)
m.trainer = lambda: chunks
with open("overlap.trace", "wb") as f:
    f.write(m.make() + third.member())
EOF
python3 -B nvtx.py
run 0 export overlap.trace
chk perfetto .out "$(of live_peak_bytes)" "$(of reserved_peak_bytes)" 2 3
check python3 -c 'import json
e = [(e["name"], e["ts"], e["dur"], e["tid"]) for e in json.load(open(".out"))["traceEvents"] if e["ph"] == "X" and e["pid"] == 3 and e["tid"] < 305]
assert e == [("rollout generation", 0, 2098000, 301), ("actor update", 2298000, 650000, 301), ("rollout generation", 2598000, 200000, 301),
    ("actor update", 2698000, 200000, 302)], e'

# same input, same bytes
run 0 export "$oom" --to speedscope
cp .out first
run 0 export "$oom" --to speedscope
same first .out

# names that would break a format
python3 -B - > hostile.json << 'EOF'
import json
name = 'a;b\nc "d" </script>\x1b[31m\u2028 \x00 \u00e4'
frames = [{"name": name, "filename": "x;y/\n" + name + ".py", "line": 3}, {"name": "", "filename": "", "line": 0}, {"name": "outer", "filename": "o.py", "line": 1}]
block = {"size": 512, "requested_size": 500, "address": 4096, "state": "active_allocated", "frames": frames}
print(json.dumps({"segments": [{"device": 0, "address": 4096, "total_size": 2097152, "allocated_size": 512, "active_size": 512,
    "requested_size": 500, "stream": 0, "segment_type": "small", "blocks": [block, {"size": 2096640, "requested_size": 0, "address": 4608, "state": "inactive", "frames": []}]}],
    "device_traces": [[{"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0, "frames": frames},
                       {"action": "alloc", "addr": 4096, "size": 500, "stream": 0, "frames": frames, "time_us": 5}]]}))
EOF
run 0 export hostile.json --to folded
check [ "$(wc -l < .out)" = 1 ]
chk folded .out 500
check [ "$(tr -dc '\033' < .out | wc -c)" = 0 ]
check [ "$(head -n 1 .out | tr -dc ';' | wc -c)" = 2 ]
run 0 export hostile.json --to speedscope
chk speedscope .out "GPU 0: live at the peak=500"
run 0 export hostile.json
chk perfetto .out 500 2097152 0 1

# frees of another size than their allocation, and frees that are missing: the sum is that of the curve, or it is said by how much it is not
cat > lossy.py << 'EOF'
import json, sys
def e(action, addr, size):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "frames": [{"name": "f%d" % addr, "filename": "x.py", "line": 1}], "time_us": 7}
def b(addr, size, state="active_allocated"):
    return {"size": size, "requested_size": size if state != "inactive" else 0, "address": addr, "state": state, "frames": []}
blocks = [b(4096, 4096), b(8192, 4096), b(12288, 57344, "inactive")]
seg = {"device": 0, "address": 4096, "total_size": 65536, "allocated_size": 8192, "active_size": 8192, "requested_size": 8192, "stream": 0,
       "segment_type": "small", "blocks": blocks}
traces = {"larger": [e("alloc", 16384, 1024), e("free_requested", 16384, 2048), e("free_completed", 16384, 2048), e("alloc", 8192, 4096)],
          "missing": [e("alloc", 8192, 2048), e("alloc", 8192, 4096)]}
print(json.dumps({"segments": [seg], "device_traces": [traces[sys.argv[1]]]}))
EOF
python3 -B lossy.py larger > larger.json
run 0 export larger.json --to folded --at 0
chk folded .out 6144 # 4096 of the block that was there before, 1024, and the 1024 that its free counts besides
out_has '(its free is not in the trace) 1024'
err_empty
run 0 export larger.json --to speedscope
chk speedscope .out "GPU 0: live at the peak=8192"
run 0 export larger.json
chk perfetto .out 8192 65536 0 1
python3 -B lossy.py missing > missing.json
run 0 export missing.json --to folded --at 0
err_has 'the blocks hold 2.0 KiB more than the curve says'
finish
