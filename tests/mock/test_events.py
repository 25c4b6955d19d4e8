#!/usr/bin/env python3
"""Exact event equality: every driver call that the fake application made and was told the result of is in the trace once, in order per
thread, with the same numbers, and nothing else is. All scenarios, CUPTI 11.8, 12 and 13, one thread and four."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

SCENARIOS = [
    ["alloc:1500"], ["random:3000"], ["steady:2000"], ["vmm:8"], ["expand:32:20"], ["async:1000"], ["leak:64:20"], ["host"], ["pools"], ["managed:50"],
    ["pitch"], ["arrays"], ["graphs:3"], ["contexts"], ["reset"], ["modules"], ["meminfo:20"], ["share"], ["imports"], ["errors"], ["cumem:2:50"], ["tms:2:50"],
    ["nccl:8"], ["oom"], ["oom1:1000000"], ["train"], ["train:small"],
]
THREADED = [["threads:4", "random:1500"], ["threads:4", "alloc:800", "vmm:3", "async:300"], ["threads:4", "cumem:1:30", "nccl:4", "host"]]
OWNERS = {"torch": "libc10_cuda.so", "nccl": "libnccl.so.2", "cublas": "libcublas.so.12", "cumem": "cumem_allocator.abi3.so",
          "tms": "torch_memory_saver.abi3.so"}
# Frames that say nothing about who wanted the memory.
BELOW = ("libcuda.so", "libcupti", "libcudart.so", "libmemtrace_inject.so")
# CUPTI writes a MEMORY2 record for these: operation, kind of memory.
MEMORY2 = {"mem_alloc": [(1, 3)], "mem_free": [(2, 3), (2, 5)], "managed_alloc": [(1, 5)], "host_alloc": [(1, 2)], "host_free": [(2, 2)],
           "async_alloc": [(1, 3)], "async_free": [(2, 3)], "array_create": [(1, 4)], "array_destroy": [(2, 4)]}


def run(words, variant="cuda13", **more):
    return kit.run([kit.APP, *words], variant=variant, truth=True, MEMTRACE_MAX_MB=0, **more)


def truth_of(done, pid=None):
    out = []
    for path in kit.truth_files(done.truth_dir).get(pid or done.pid, []):
        out += kit.truth_lines(path)
    return out


def owner_of(process, call):
    """The innermost library of a call's stack that is not the driver's side."""
    for name in process.owner(call.stack):
        if not name.startswith(BELOW):
            return name
    return None


def stacks(what, process, lines):
    """Stacks name the library that made the call."""
    made = {}
    for line in lines:
        if kit.is_call(line):
            made.setdefault(line["tid"], []).append(line)
    wrong, n = [], 0
    for tid, of in made.items():
        calls = [c for c in process.calls if c.tid == tid and not kit.is_watched(c)]
        for line, call in zip(sorted(of, key=lambda r: r["t0"]), calls):
            if call.stack:
                n += 1
                want = line.get("owner", "fake_app")
                got = owner_of(process, call)
                if got != want:
                    wrong.append(f"{line['op']} by {want}: {process.owner(call.stack)}")
    kit.check(f"{what}: {n} stacks name the owner", not wrong, *wrong[:5])
    return n


def joined(what, process):
    """Each MEMORY2 record belongs to a call of the same correlation id, address and size; each call of these kinds has one."""
    calls = {c.corr: c for c in process.calls if c.corr and not c.result and c.op in MEMORY2}
    wrong, seen = [], {}
    for r in process.of("memory2") + process.activities_left:
        call = calls.get(r.corr)
        if not call:
            wrong.append(f"no call for {dict(r)}")
            continue
        seen[r.corr] = seen.get(r.corr, 0) + 1
        size = call.size if call.size is not None else r.size  # a free does not say it
        address = call.addr if "array" not in call.op else r.addr  # an array has a handle
        if (r.op, r["kind"]) not in MEMORY2[call.op] or (r.addr, r.size) != (address, size):
            wrong.append(f"{dict(r)} for {dict(call)}")
    missing = [dict(c) for corr, c in calls.items() if corr not in seen and (c.addr or c.handle)]
    twice = [corr for corr, n in seen.items() if n > 1]
    kit.check(f"{what}: {len(seen)} activity records belong to their calls", not wrong and not missing and not twice, *wrong[:3], *missing[:3], twice[:3])
    return len(seen)


def one(words, variant="cuda13", **more):
    done = run(words, variant, **more)
    what = " ".join([*words, variant, *[f"{k}={v}" for k, v in more.items()]])
    if not kit.check(f"{what}: runs", done.status == 0 and not done.err, done.told()):
        return None, []
    p = done.process()
    if not kit.check(f"{what}: nothing lost", p is not None and kit.lost_nothing(done.trace), done.trace.problems, p and p.losses()):
        return None, []
    lines = truth_of(done)
    calls = [line for line in lines if kit.is_call(line)]
    differences = kit.compare(p, lines)
    kit.check(f"{what}: {len(calls)} calls are equal", not differences and (calls or "push" in words[0]), *differences)
    return p, lines


def runtime_calls():
    """Through libcudart: driver calls as ever; where no driver call is seen below, the runtime calls stand in."""
    mb = 1 << 20
    each = [("mem_alloc", 3 * mb, 0), ("mem_free", None, 0), ("host_alloc", mb, 0), ("host_free", None, 0)]
    want = each * 40 + [("mem_alloc", 1 << 50, 2)]
    for quiet in [False, True]:
        done = run(["rt:40"], FAKE_CUDART="quiet" if quiet else None)
        p = done.process()
        if not kit.check("calls through libcudart: a trace", p is not None and kit.lost_nothing(done.trace), done.told(), done.trace.problems):
            continue
        calls = [c for c in p.calls if c.op.startswith(("mem_", "host_"))]
        kit.equal(f"calls through libcudart{', seen by nobody else' if quiet else ''}", [(c.op, c.size, c.result or 0) for c in calls], want)
        kit.equal("and of which API", {bool(c.cbid & kit.trace_decode.CBID_RUNTIME) for c in calls}, {quiet})


def main():
    kit.need(kit.LIB, kit.APP)
    only = sys.argv[1:]
    for words in SCENARIOS:
        if only and words[0].split(":")[0] not in only:
            continue
        for variant in ["cuda13", "cuda12", "cuda118"]:
            p, lines = one(words, variant)
            if p:
                stacks(f"{words[0]} {variant}", p, lines)
                joined(f"{words[0]} {variant}", p)
    if only:
        kit.done()
    for words in THREADED:
        for variant in ["cuda13", "cuda118"]:
            p, lines = one(words, variant)
            if p:
                kit.check(f"{' '.join(words)} {variant}: four threads", len({c.tid for c in p.calls}) >= 4)
                joined(f"{' '.join(words)} {variant}", p)
                stacks(f"{' '.join(words)} {variant}", p, lines)
    # As in a process whose PyTorch brought its own libcupti along.
    p, _ = one([f"dlopen:{kit.MOCK / 'hashed' / 'libcupti-1a2b3c4d.so.13'}", "random:2000"], "hashed")
    if p:
        kit.check("a hashed libcupti is named", any("libcupti-1a2b3c4d" in s[2] for s in p.statuses), p.statuses)
    # Without parts of it.
    p, _ = one(["random:1000"], MEMTRACE_STACKS=0)
    kit.check("no stacks, no modules", p and not p.stacks and not p.modules and not any(c.stack for c in p.calls))
    p, _ = one(["random:1000"], MEMTRACE_MEMORY2=0)
    kit.check("no activity records", p and not p.of("memory2", "mempool") and not any(c.corr for c in p.calls))
    p, _ = one(["random:1000"], MEMTRACE_STACK_DEPTH=2)
    kit.check("stacks of two frames", p and p.stacks and max(len(s) for s in p.stacks.values()) <= 2)
    runtime_calls()
    # A library that calls a function of a newer driver.
    done = run(["alloc:10", "future"], FAKE_CUPTI="future")
    p = done.process()
    kit.check("a memory function of a newer driver is told of", p and "unknown_api" in p.codes() and any("cuMemFutureAlloc" in s[2] for s in p.statuses),
              p and p.statuses)
    # Owners one by one, through each library.
    for owner, library in OWNERS.items():
        p, lines = one([f"owner:{owner}", "alloc:20", "vmm:1"])
        if p:
            found = {owner_of(p, c) for c in p.calls if c.stack and c.op in ("mem_alloc", "vmm_create")}
            kit.equal(f"owner {owner}", found, {library})
    kit.done()


main()
