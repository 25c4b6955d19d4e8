#!/usr/bin/env python3
"""What the injected library costs: nanoseconds added to a driver call, and bytes of trace per call. Prints Markdown tables.

    python3 capture.py --build ../../build [--rounds 9] [--calls 800000] [--against LIBRARY] [--strict]

Each round runs every configuration once, in turn; what a configuration adds is the difference to the run of the same round with a library
that does nothing, and the median over the rounds is given. That is CPU time of the threads that call, so that what else runs on the machine
does not count. Beside it: the time on the clock (with more threads than cores it holds the waiting for a core) and the CPU time
of the whole process, the thread that compresses included. The driver and CUPTI are those of tests/mock: their own work per call is
in the first row, and what CUPTI's way to a callback takes in the second. --against measures a second libmemtrace_inject.so in the same
rounds. Needs a C compiler for the two small libraries to compare with. Python 3.9 or newer.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import zlib

NULL = "int InitializeInjection(void) { return 1; }\n"
# Callbacks that return at once: what CUPTI (here: the fake of it) itself takes. The ids are those of the calls of capture_calls.c.
EMPTY = """
#include <dlfcn.h>
#include <stdint.h>
static void callback(void *user, int domain, uint32_t id, const void *data) { (void)user, (void)domain, (void)id, (void)data; }
int InitializeInjection(void)
{
    static const uint32_t ids[] = {243, 245, 547, 549, 550, 551, 552, 553};
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW), *subscriber = 0;
    int (*subscribe)(void **, void *, void *) = (int (*)(void **, void *, void *))dlsym(cupti, "cuptiSubscribe");
    int (*enable)(uint32_t, void *, int, uint32_t) = (int (*)(uint32_t, void *, int, uint32_t))dlsym(cupti, "cuptiEnableCallback");
    subscribe(&subscriber, (void *)callback, 0);
    for (unsigned i = 0; i < sizeof ids / sizeof *ids; i++)
        enable(1, subscriber, 1, ids[i]);
    return 1;
}
"""
CALLS = {"MEMTRACE_STACKS": "0", "MEMTRACE_MEMORY2": "0"}
MEMORY2 = {"MEMTRACE_STACKS": "0", "MEMTRACE_MEMORY2": "1"}
STACKS = {"MEMTRACE_STACKS": "1", "MEMTRACE_MEMORY2": "1"}
RING = {**CALLS, "MEMTRACE_MAX_MB": None, "MEMTRACE_KEEP_MB": "1"}  # the least there is: it turns all the time
RING_MORE = 5  # per cent that the ring may add to the row before it
CONFIGURATIONS = [  # name, library, settings, frames below the calls, goal in ns
    ("a library that does nothing", "null", {}, 0, None),
    ("callbacks that return at once", "empty", {}, 0, None),
    ("callbacks only", "ours", CALLS, 0, 300),
    ("callbacks only, a ring of 1 MiB", "ours", RING, 0, None),
    ("+ MEMORY2", "ours", MEMORY2, 0, 1000),
    ("+ stacks, 8 frames", "ours", STACKS, 0, 4000),
    ("+ stacks, 24 frames", "ours", STACKS, 24, 4000),
]
SIZES = [("alloc and free in turn", "loop", 5), ("random sizes and lifetimes", "mix", 10), ("virtual memory", "vmm", None)]
HEADER_RECORDS = 44  # in a chunk's header, docs/trace-format.md: u32, number of records


def compiled(folder, name, text):
    source, out = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text(text)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", out, source, "-ldl"], check=True)
    return out


def records(path):
    """Records in the chunks of one .gz."""
    data, n = path.read_bytes(), 0
    while data:
        member = zlib.decompressobj(31)
        raw = member.decompress(data)
        n += int.from_bytes(raw[HEADER_RECORDS:HEADER_RECORDS + 4], "little")
        data = member.unused_data
    return n


class Bench:
    def __init__(self, args, folder):
        build = pathlib.Path(args.build).resolve()
        self.program = build / "tests" / "tool_capture_calls"
        self.fakes = build / "tests" / "mock" / "cuda13"
        ours = build / "lib" / "memtrace" / "libmemtrace_inject.so"
        for path in [self.program, self.fakes / "libcuda.so.1", ours] + ([args.against] if args.against else []):
            if not path.exists():
                sys.exit(f"capture.py: {path} is not there: build all targets of {build} first")
        self.libraries = {"null": compiled(folder, "null", NULL), "empty": compiled(folder, "empty", EMPTY), "ours": ours}
        self.configurations = list(CONFIGURATIONS)
        if args.against:
            self.libraries["other"] = args.against.resolve()
            self.configurations += [(name + ", --against", "other", *rest) for name, library, *rest in CONFIGURATIONS if library == "ours"]
        self.folder = folder

    def run(self, mode, threads, calls, library, settings, frames):
        """What capture_calls prints, then size of the trace and records in it (no library: 0)."""
        spool = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMTRACE", "FAKE_", "CUDA_", "NVTX_", "LD_"))}
        env.update({"LD_LIBRARY_PATH": str(self.fakes), "CUDA_INJECTION64_PATH": str(self.libraries[library]),
                    "MEMTRACE_SPOOL": str(spool), "MEMTRACE_MAX_MB": "0", "FAKE_TOTAL_MB": "1000000", **settings})
        env = {k: v for k, v in env.items() if v is not None}
        done = subprocess.run([self.program, mode, str(threads), str(calls), str(frames)], env=env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"capture.py: {self.program} ended with {done.returncode}: {done.stderr}")
        count, wall, cpu, process, all_calls = done.stdout.split()
        traces = list(spool.glob("*.gz"))
        let_go = any(f.name.endswith(".base.gz") for f in traces)
        size, n = sum(f.stat().st_size for f in traces), sum(records(f) for f in traces)
        shutil.rmtree(spool)
        if library in ("ours", "other") and not let_go and n < int(all_calls):
            sys.exit(f"capture.py: {all_calls} calls were made, {n} records are in the trace: nothing was measured ({done.stderr})")
        return {"calls": int(count), "wall": float(wall), "cpu": float(cpu), "process": float(process), "all": int(all_calls),
                "size": size, "records": n, "turned": let_go}


def times(bench, args):
    print("| threads | configuration | CPU ns per call | added, median | of the rounds | goal | clock ns per call | CPU ns per call, process |")
    print("|---|---|---|---|---|---|---|---|")
    missed = []
    for threads in [1, 4]:
        taken = {name: [] for name, *_ in bench.configurations}
        for _ in range(args.rounds):
            for name, library, settings, frames, _goal in bench.configurations:
                taken[name].append(bench.run("loop", threads, max(args.calls // threads, 2), library, settings, frames))
        base = [t["cpu"] for t in taken[CONFIGURATIONS[0][0]]]
        for name, library, _settings, _frames, goal in bench.configurations:
            cells = {key: statistics.median(t[key] for t in taken[name]) for key in ("cpu", "wall", "process")}
            added = [t["cpu"] - b for t, b in zip(taken[name], base)]
            median = statistics.median(added)
            more = ["", ""] if library == "null" else [f"{median:.0f}", f"{min(added):.0f} to {max(added):.0f}"]
            told = "" if goal is None else f"≤ {goal}: {'met' if median <= goal else '**missed**'}"
            print("| " + " | ".join([str(threads), name, f"{cells['cpu']:.0f}", *more, told, f"{cells['wall']:.0f}", f"{cells['process']:.0f}"])
                  + " |", flush=True)
            if goal is not None and median > goal and library == "ours":
                missed.append((threads, name))
        if not ring(taken, threads):
            missed.append((threads, "ring"))
    return missed


def ring(taken, threads):
    """What the ring adds to a call of the job's threads, and to the CPU time of the process; whether the first is within its goal."""
    names = [name for name, _library, settings, *_ in CONFIGURATIONS if settings in (CALLS, RING)]
    more = {}
    for key in ("cpu", "process"):
        pairs = [with_ring[key] / without[key] - 1 for without, with_ring in zip(*(taken[name] for name in names))]
        more[key] = 100 * statistics.median(pairs)
    turned, within = all(run["turned"] for run in taken[names[1]]), more["cpu"] <= RING_MORE
    told = f"≤ {RING_MORE} %: {'met' if within else '**missed**'}" if turned else "it did not turn: more --calls are needed"
    print(f"| {threads} | what the ring adds to that of the row before it | | {more['cpu']:+.1f} % | | {told} | | {more['process']:+.1f} % |", flush=True)
    return within or not turned


def sizes(bench, args):
    print("\n| bytes of trace per call (per record) | calls only | with MEMORY2 | with MEMORY2 and stacks | goal, calls only |")
    print("|---|---|---|---|---|")
    missed = []
    for name, mode, goal in SIZES:
        got = [bench.run(mode, 1, args.calls, "ours", settings, 0) for settings in (CALLS, MEMORY2, STACKS)]
        each = got[0]["size"] / got[0]["all"]
        told = "" if goal is None else f"≤ {goal}: {'met' if each <= goal else '**missed**'}"
        cells = [f"{t['size'] / t['all']:.1f} ({t['size'] / t['records']:.1f})" for t in got]
        print("| " + " | ".join([name, *cells, told]) + " |", flush=True)
        if goal is not None and each > goal:
            missed.append(name)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder with everything in it")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=800_000, help="timed calls of a run, of all threads together")
    parser.add_argument("--against", type=pathlib.Path, metavar="LIBRARY", help="another build of libmemtrace_inject.so to measure as well")
    parser.add_argument("--strict", action="store_true", help="a missed goal is exit status 1")
    args = parser.parse_args()
    if args.rounds < 1 or args.calls < 2:
        parser.error("at least 1 round of 2 calls")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, pathlib.Path(folder))
        missed = times(bench, args) + sizes(bench, args)
    return 1 if missed and args.strict else 0


sys.exit(main())
