"""The same jobs as torch.profiler records them: a Chrome trace, in the form of PyTorch 2.x and in that of 2021, and what
export_memory_timeline() makes of it.

A snapshot of the imitated allocator is played again. What it says of an event is turned into what a profiler sees: Python functions and
operators that are open while something is allocated, blocks in the allocator's rounded sizes, frees when they are asked for (not when
other streams are done), and the sums of the device after every event."""

import json

from .allocator import up

MAIN, AUTOGRAD, PID = 4711, 4790, 4711
CATEGORIES = ["PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL", None]


def operator(name):
    """The operator or autograd node that a C++ frame stands for, outermost first."""
    if name.startswith("at::_ops::"):
        return ["aten::" + name[len("at::_ops::"):].split("::")[0]]
    if name.startswith("torch::autograd::generated::") and "::apply(" in name:
        node = name[len("torch::autograd::generated::"):].split("::")[0]
        return ["autograd::engine::evaluate_function: " + node, node]
    return []


def thread_of(frames):
    return AUTOGRAD if any("Engine::thread_main" in f["name"] for f in frames) else MAIN


def places(frames):
    """(category of the event, name), outermost first. C++ frames of Python itself are not seen."""
    out = []
    for f in reversed(frames):
        if f["filename"].endswith(".py"):
            out.append(("python_function", "%s(%d): %s" % (f["filename"].split("site-packages/")[-1], f["line"], f["name"])))
    # operators are inside of all Python functions, or around them on an autograd thread
    ops = [("cpu_op", name) for f in reversed(frames) for name in operator(f["name"])]
    return ops + out if thread_of(frames) == AUTOGRAD and out else out + ops


def memory_events(snapshot):
    """(us, thread, places, bytes, address, allocated, reserved); no address: a request that failed"""
    trace = snapshot["device_traces"][0]
    reserved = sum(s["total_size"] for s in snapshot["segments"])
    live = {b["address"]: up(b["requested_size"], 512) for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"}
    for e in reversed(trace):  # back to the start
        if e["action"] in ("segment_alloc", "segment_map"):
            reserved -= e["size"]
        elif e["action"] in ("segment_free", "segment_unmap"):
            reserved += e["size"]
        elif e["action"] == "alloc":
            live.pop(e["addr"], None)
        elif e["action"] == "free_requested":
            live[e["addr"]] = up(e["size"], 512)
    allocated = sum(live.values())
    for e in trace:
        if e["action"] in ("segment_alloc", "segment_map"):
            reserved += e["size"]
        elif e["action"] in ("segment_free", "segment_unmap"):
            reserved -= e["size"]
        elif e["action"] in ("alloc", "free_requested"):
            size = up(e["size"], 512) * (1 if e["action"] == "alloc" else -1)
            allocated += size
            frames = e.get("frames", [])
            yield e["time_us"], thread_of(frames), places(frames), size, e["addr"], allocated, reserved
        elif e["action"] == "oom":
            frames = e.get("frames", [])
            yield e["time_us"], thread_of(frames), places(frames), e["size"], None, allocated, reserved


class Threads:
    """The slices of every thread: what two events in a row have in common stays open."""

    def __init__(self):
        self.open, self.slices, self.at = {}, [], {}

    def close(self, tid, keep, now):
        stack = self.open.setdefault(tid, [])
        while len(stack) > keep:
            start, cat, name = stack.pop()
            self.slices.append((start, now - 0.002 * len(stack) - start, tid, cat, name))

    def seen(self, tid, places, us):
        stack = self.open.setdefault(tid, [])
        same = 0
        while same < min(len(stack), len(places)) and stack[same][1:] == places[same]:
            same += 1
        # an operator is called for each of its allocations
        same = min([same] + [i for i, (cat, _) in enumerate(places) if cat == "cpu_op"])
        self.close(tid, same, us - 0.5)
        for cat, name in places[same:]:
            stack.append((us - 0.375 + 0.002 * len(stack), cat, name))

    def end(self, us):
        for tid in list(self.open):
            self.close(tid, 0, us)


def gathered(snapshot, base):
    """Slices and memory events, with times in microseconds since base."""
    threads, memory = Threads(), []
    for event in memory_events(snapshot):
        threads.seen(event[1], event[2], event[0] - base)
        memory.append((event[0] - base,) + event[1:])
    threads.end(memory[-1][0] + 1)
    marks, spans = {}, []
    for a in snapshot.get("external_annotations", []):
        if a["stage"] == "START":
            marks.setdefault(a["name"], []).append(a["time_us"] - base)
        else:
            start = marks[a["name"]].pop()
            spans.append((start, a["time_us"] - base - start, MAIN, "user_annotation", a["name"]))
    return threads.slices + spans, memory


def steps(spans, first, last):
    """ProfilerStep#N as profiler.step() marks them: up to the end of every optimizer step."""
    ends = sorted(s[0] + s[1] for s in spans if s[4].startswith("Optimizer.zero_grad")) or [last]
    starts = [first - 1] + [e + 2 for e in ends[:-1]]
    return [(s, e + 1 - s, MAIN, "user_annotation", "ProfilerStep#%d" % i) for i, (s, e) in enumerate(zip(starts, ends), 1)]


def number(us):
    return "%.3f" % us


HEAD = """
{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": %d,
      "computeMajor": 8, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 108
    }
  ],
"""


def chrome_trace(snapshot, rank=0, memory_of_card=85049016320):
    """As torch.profiler of PyTorch 2.x writes it, with profile_memory=True and with_stack=True."""
    base = next(memory_events(snapshot))[0] - 86400 * 10**6
    spans, memory = gathered(snapshot, base)
    spans += steps(spans, memory[0][0], memory[-1][0])
    events = []
    for i, (start, dur, tid, cat, name) in enumerate(spans):
        args = '"Python id": %d' % i if cat == "python_function" else '"External id": %d,"Record function id": 0, "Ev Idx": %d' % (i + 1, i)
        events.append((start, 0, '    "ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d,\n    "ts": %s, "dur": %s,\n    "args": {\n      %s\n    }'
                       % (cat, json.dumps(name, ensure_ascii=False)[1:-1], PID, tid, number(start), number(dur), args)))
    for i, (us, tid, _, size, addr, allocated, reserved) in enumerate(memory):
        where = "" if addr is None else '"Addr": %d, ' % addr
        args = ('"Total Reserved": %d, "Total Allocated": %d, "Bytes": %d, %s"Device Id": 0, "Device Type": 1, "Ev Idx": %d'
                % (reserved, allocated, size, where, len(spans) + i))
        events.append((us, 1, '    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "%s",\n    "pid": %d, "tid": %d,\n    "ts": %s,\n    "args": {\n      %s\n    }'
                       % ("[OutOfMemory]" if addr is None else "[memory]", PID, tid, number(us), args)))
        if i % 50 == 0:  # what a device did, and other events that hold no memory
            events.append((us, 2, '    "ph": "X", "cat": "kernel", "name": "void at::native::kernel<4, \\"x\\">(int, float*)", "pid": 0, "tid": 7,\n'
                           '    "ts": %s, "dur": 12.5,\n    "args": {\n      "device": 0, "stream": 7, "grid": [108, 1, 1]\n    }' % number(us + 3)))
            events.append((us, 3, '    "ph": "s", "id": %d, "pid": %d, "tid": %d, "ts": %s,\n    "cat": "ac2g", "name": "ac2g"' % (i, PID, tid, number(us))))
    events.sort(key=lambda e: (e[0], e[1]))
    text = HEAD % memory_of_card
    text += '  "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 8},\n' % rank
    text += '  "with_stack": 1, "profile_memory": 1,\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": %d,\n  "traceEvents": [' % (base * 1000)
    for e in events:
        text += "\n  {\n" + e[2] + "\n  },"
    text += '\n  {\n    "ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",\n    "ts": %s\n  }\n  ],\n' % number(memory[-1][0] + 5)
    text += '  "traceName": "rank%d.pt.trace.json"\n}\n' % rank
    return text.encode()


def chrome_trace_2021(snapshot):
    """As PyTorch 1.8 wrote it: no addresses, no sums, times since the epoch, Python frames inside of operators."""
    events = []
    for us, tid, where, size, addr, _, _ in memory_events(snapshot):
        if addr is None:
            continue
        python = [name for cat, name in reversed(where) if cat == "python_function"]
        ops = [name for cat, name in where if cat == "cpu_op"]
        for depth, name in enumerate(ops):
            args = {"Device": PID, "External id": len(events), "Trace name": "PyTorch Profiler", "Trace iteration": 0}
            if python:
                args["Call stack"] = ";".join(python)
            events.append({"ph": "X", "cat": "Operator", "name": name.split(": ")[-1], "pid": PID, "tid": str(tid),
                           "ts": us - 1, "dur": 2 + len(ops) - depth, "args": args})
        events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": PID, "tid": tid, "ts": us,
                       "args": {"Device Type": 1, "Device Id": 0, "Bytes": size}})
        if size > 0:
            events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": PID, "tid": tid, "ts": us,
                           "args": {"Device Type": 0, "Device Id": -1, "Bytes": 8}})
    return (json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=1) + "\n").encode()


def category(where):
    names = " ".join(name for _, name in where)
    if "build_model" in names:
        return "PARAMETER"
    if "_init_group" in names:
        return "OPTIMIZER_STATE"
    if "post_backward" in names:
        return "GRADIENT"
    if "Backward0" in names:
        return "AUTOGRAD_DETAIL"
    if "forward" in names:
        return "ACTIVATION"
    return "TEMPORARY" if where else None


def timeline(snapshot):
    """(raw, coalesced): what MemoryProfileTimeline makes of the same job. Every fifth block changes its category once, and every third
    parameter is written in place."""
    raw, cats, grown = [], {}, 0
    for us, _, where, size, addr, _, _ in memory_events(snapshot):
        if addr is None:
            continue
        ns = us * 1000
        if size > 0:
            cat = CATEGORIES.index(category(where))
            if category(where) == "PARAMETER" and not grown:
                raw.append([-1, 1, size, cat])
            else:
                grown = 1
                raw.append([ns, 2, size, cat])
            cats[addr] = cat
            if len(raw) % 5 == 0 and grown:
                to = CATEGORIES.index("TEMPORARY") if len(raw) % 3 else cat
                raw += [[ns + 500, 3, -size, cat], [ns + 500, 3, size, to]]
                cats[addr] = to
        else:
            raw.append([ns, 4, size, cats.pop(addr)])
    first = next(r[0] for r in raw if r[0] > 0) // 1000
    times, sizes = [], []
    for ns, _, size, cat in raw:
        us = ns // 1000 if ns > 0 else first
        if not times or times[-1] != us:
            times.append(us)
            sizes.append(list(sizes[-1]) if sizes else [0] * 9)
        sizes[-1][cat + 1] += size
    return json.dumps(raw).encode(), json.dumps([times, sizes]).encode()
