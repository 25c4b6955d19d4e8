#!/usr/bin/env python3
"""Whoever loaded the injected library may unload it (a copy of NVTX does when its initialiser returns 0, ctypes may): its thread, its exit
and fork handlers are still there, so the library stays."""
import sys

import kit

PROGRAM = """
import _ctypes, ctypes, os, sys, time
library = ctypes.CDLL(sys.argv[1])
library.memtrace_push(b"a range")
for _ in range(3):
    try:
        _ctypes.dlclose(library._handle)
    except OSError:  # it was closed often enough
        break
time.sleep(0.1)  # the writer thread runs meanwhile
child = os.fork()
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0, "the forked child failed"
print("libmemtrace_inject.so" in open("/proc/self/maps").read())
"""


def main():
    kit.need(kit.LIB)
    if kit.SANITIZED:
        kit.skip_all("the library of a sanitizer build cannot be loaded into Python")
    run = kit.run([sys.executable, "-c", PROGRAM, kit.LIB], MEMTRACE_FLUSH_MS=10)
    if kit.equal("a program that unloads the library goes on and ends well", run.status, 0):
        kit.equal("the library is still there", run.out, b"True\n")
    else:
        kit.note(run.told())
    process = run.process()
    kit.check("the range is recorded, and the end of the process", process is not None and kit.lost_nothing(run.trace)
              and any(r["type"] == "end" for r in process.records), run.trace.problems)
    kit.done()


main()
