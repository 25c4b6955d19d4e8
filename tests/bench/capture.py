#!/usr/bin/env python3
"""What the injected library costs: nanoseconds added to a driver call, and bytes of trace per call. Prints Markdown tables.

    python3 capture.py --build ../../build [--rounds 9] [--calls 400000] [--strict]

Each round runs every configuration once, in turn; what is added is the difference to the run of the same round with a library that
does nothing, and the median over the rounds is given. CPU time of the calling threads, so that what else runs on the machine does not
count; wall time of the whole is given beside it. The driver and CUPTI are those of tests/mock: their own work per call is in the
first row. Needs a C compiler for the two small libraries to compare with. Python 3.9 or newer.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

NULL = "int InitializeInjection(void) { return 1; }\n"
# Callbacks that return at once: what CUPTI (here: the fake of it) itself takes.
EMPTY = """
#define _GNU_SOURCE
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
CONFIGURATIONS = [  # name, library, settings, goal in ns
    ("nothing injected but a library that does nothing", "null", {}, None),
    ("callbacks that return at once", "empty", {}, None),
    ("callbacks only", "ours", {"MEMTRACE_STACKS": "0", "MEMTRACE_MEMORY2": "0"}, 300),
    ("+ MEMORY2", "ours", {"MEMTRACE_STACKS": "0", "MEMTRACE_MEMORY2": "1"}, 1000),
    ("+ stacks, 8 frames", "ours", {"MEMTRACE_STACKS": "1", "MEMTRACE_MEMORY2": "1"}, 4000),
    ("+ stacks, 24 frames and more", "ours", {"MEMTRACE_STACKS": "1", "MEMTRACE_MEMORY2": "1", "FRAMES": "24"}, 4000),
]
SIZES = [("alloc and free in turn", "loop", 5), ("random sizes and lifetimes", "mix", 10), ("virtual memory", "vmm", None)]


def compiled(folder, name, text):
    source, out = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text(text)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", out, source, "-ldl"], check=True)
    return out


class Bench:
    def __init__(self, args, folder):
        build = pathlib.Path(args.build).resolve()
        self.program = build / "tests" / "tool_capture_calls"
        self.fakes = build / "tests" / "mock" / "cuda13"
        self.libraries = {"null": compiled(folder, "null", NULL), "empty": compiled(folder, "empty", EMPTY),
                          "ours": build / "lib" / "memtrace" / "libmemtrace_inject.so"}
        for path in [self.program, self.fakes / "libcuda.so.1", self.libraries["ours"]]:
            if not path.exists():
                sys.exit(f"capture.py: {path} is not there: build all targets of {build} first")
        self.folder = folder

    def run(self, mode, threads, calls, library, settings):
        """(wall ns per call and thread, CPU ns per call, calls, bytes of trace)."""
        spool = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMTRACE", "FAKE_", "CUDA_", "NVTX_"))}
        env.update({"LD_LIBRARY_PATH": str(self.fakes), "CUDA_INJECTION64_PATH": str(self.libraries[library]), "MEMTRACE_SPOOL": str(spool),
                    "MEMTRACE_MAX_MB": "0", "FAKE_TOTAL_MB": "1000000"})
        env.update(settings)
        frames = env.pop("FRAMES", "0")
        done = subprocess.run([self.program, mode, str(threads), str(calls), frames], env=env, capture_output=True, text=True, check=True)
        count, wall, cpu = done.stdout.split()
        size = sum(f.stat().st_size for f in spool.glob("*.gz"))
        shutil.rmtree(spool)
        return float(wall), float(cpu), int(count), size


def times(bench, args):
    print("| threads | configuration | CPU ns per call | added, median | of the rounds | wall ns per call | goal |\n|---|---|---|---|---|---|---|")
    missed = []
    for threads in [1, 4]:
        taken = {name: [] for name, *_ in CONFIGURATIONS}
        for _ in range(args.rounds):
            for name, library, settings, _goal in CONFIGURATIONS:
                taken[name].append(bench.run("loop", threads, args.calls // threads, library, settings))
        base = [cpu for _, cpu, _, _ in taken[CONFIGURATIONS[0][0]]]
        for name, library, _settings, goal in CONFIGURATIONS:
            cpu = [t[1] for t in taken[name]]
            added = [a - b for a, b in zip(cpu, base)]
            median = statistics.median(added)
            wall = statistics.median(t[0] for t in taken[name]) * min(threads, os.cpu_count()) / threads
            spread = f"{min(added):.0f} to {max(added):.0f}" if library != "null" else ""
            told = "" if goal is None else f"≤ {goal}: {'met' if median <= goal else 'missed'}"
            print(f"| {threads} | {name} | {statistics.median(cpu):.0f} | {f'{median:.0f}' if library != 'null' else ''} | {spread} | {wall:.0f} | {told} |",
                  flush=True)
            if goal is not None and median > goal:
                missed.append((threads, name))
    return missed


def sizes(bench, args):
    print("\n| work | calls only | with MEMORY2 | with MEMORY2 and stacks | goal, calls only |\n|---|---|---|---|---|")
    missed = []
    for name, mode, goal in SIZES:
        row = []
        for memory2, stacks in [("0", "0"), ("1", "0"), ("1", "1")]:
            settings = {"MEMTRACE_STACKS": stacks, "MEMTRACE_MEMORY2": memory2}
            _, _, count, size = bench.run(mode, 1, args.calls, "ours", settings)
            row.append(size / (count * 1.05))  # the warm-up is in the trace as well
        told = "" if goal is None else f"≤ {goal}: {'met' if row[0] <= goal else 'missed'}"
        print(f"| {name} | " + " | ".join(f"{b:.1f} B" for b in row) + f" | {told} |", flush=True)
        if goal is not None and row[0] > goal:
            missed.append(name)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=400_000)
    parser.add_argument("--strict", action="store_true", help="a missed goal is exit status 1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, pathlib.Path(folder))
        missed = times(bench, args) + sizes(bench, args)
    return 1 if missed and args.strict else 0


sys.exit(main())
