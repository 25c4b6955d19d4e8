#!/usr/bin/env python3
"""NVIDIA's own libcupti where no driver is: the library survives it, the job does not notice, the trace says what happened."""
import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

INITIALIZE = r"""
import ctypes, os, sys
lib = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
print(lib.InitializeInjection(), lib.InitializeInjection())
"""


def real_libraries():
    found = []
    for pattern in ["usr/local/cuda*/lib64/libcupti.so.*", "usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*",
                    "usr/lib/x86_64-linux-gnu/libcupti.so.*"]:
        for path in pathlib.Path("/").glob(pattern):
            if path.resolve() not in found and len(path.suffixes) <= 3:
                found.append(path.resolve())
    return found


def main():
    kit.need(kit.LIB, kit.APP, kit.MOCK / "nocupti" / "libcuda.so.1")
    libraries = real_libraries()
    if not libraries:
        kit.skip_all("no libcupti of NVIDIA on this machine")
    if kit.SANITIZED:
        kit.skip_all("NVIDIA's libraries do not run under a sanitizer")
    plain = kit.run([kit.APP, "print", "alloc:200", "exit:7"], variant="nocupti", injected=False)
    for library in libraries:
        name = f"{library.parent.parent.name}/{library.name}"
        version = ctypes.c_uint32()
        ctypes.CDLL(str(library)).cuptiGetVersion(ctypes.byref(version))
        for how, more in {"named": {"MEMTRACE_CUPTI": library}, "mapped before": {"LD_PRELOAD": library}}.items():
            done = kit.run([kit.APP, "print", "alloc:200", "exit:7"], variant="nocupti", **more)
            what = f"{name}, {how}"
            kit.equal(f"{what}: the job does not notice", (done.status, done.out, done.err), (plain.status, plain.out, plain.err))
            p = done.process()
            if kit.check(f"{what}: a trace", p is not None and not done.trace.problems, done.trace.problems):
                told = [s for s in p.statuses if s[0] in ("cupti_error", "subscriber_busy")]
                kit.check(f"{what}: the error is named", told and told[0][1] == 2 and "cuptiSubscribe" in told[0][2], p.statuses)
                kit.check(f"{what}: version and path", any(s[0] == "cupti_version" and str(version.value) in s[2] and library.name in s[2]
                                                          for s in p.statuses), p.statuses)
                kit.check(f"{what}: nothing recorded, nothing dropped", not p.calls and not p.losses(), p.losses())
        done = kit.run([sys.executable, "-c", INITIALIZE], variant=None, MEMTRACE_CUPTI=library)
        kit.equal(f"{name}, no libcuda at all: InitializeInjection", (done.status, done.out, done.err), (0, b"1 1\n", b""))
        p = done.process()
        kit.check(f"{name}, no libcuda at all: the error is named", p is not None and p.codes() & {"cupti_error", "cupti_missing"},
                  p.statuses if p else done.trace.problems)
    kit.done()


main()
