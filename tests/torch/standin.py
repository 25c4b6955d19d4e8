#!/usr/bin/env python3
"""Stand-ins for NVIDIA's libraries, for exactly what one build of PyTorch asks of them:

    standin.py [--capture] OUT LIBRARY...   # LIBRARY: libtorch_cuda.so, libc10_cuda.so, libtorch_python.so ...; needs gcc, nm and readelf

OUT gets one shared library for each of NVIDIA's that the given ones need. What sim_*.c do not define returns 0, and what is called
Create stores a handle through its first argument. With --capture the driver is that of ../mock, which loads the injected library and
has a libcupti.so.12 that calls it: for `memtrace capture`."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# soname: (sources, how its symbols are called where they have no version)
LIBRARIES = {
    "libcuda.so.1": (["sim_driver.c"], r"cu[A-Z]\w+$"),
    "libcudart.so.12": (["sim_cudart.c"], None),
    "libcublas.so.12": ([], None),
    "libcublasLt.so.12": (["sim_more.c"], None),
    "libcudnn.so.9": (["sim_more.c"], None),
    "libcufft.so.11": ([], None),
    "libcurand.so.10": ([], r"curand\w+$"),
    "libcusolver.so.11": ([], None),
    "libcusparse.so.12": ([], None),
    "libnvrtc.so.12": (["sim_more.c"], None),
    "libnvToolsExt.so.1": ([], None),
    "libnccl.so.2": (["sim_more.c"], r"nccl[A-Z]\w+$"),
    "libnvidia-ml.so.1": (["sim_more.c"], None),
}
# Looked up at run time, so nothing imports them.
BY_NAME = {
    "libcudart.so.12": ["cudaDeviceReset"],
    "libcuda.so.1": ["cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMulticastAddDevice", "cuMulticastBindMem",
                     "cuMulticastCreate", "cuMemsetD32Async", "cuStreamWriteValue32"],
    "libnvidia-ml.so.1": ["nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetNvLinkRemoteDeviceType",
                          "nvmlDeviceGetNvLinkRemotePciInfo_v2"],
}


MOCK = os.path.join("..", "mock")
CAPTURE = {
    "libcuda.so.1": ([os.path.join(MOCK, f"fake_{n}.c") for n in ("state", "cuda_entry", "cuda_core", "cuda_mem", "cuda_vmm", "cuda_pool",
                                                                  "cuda_version")], r"cu[A-Z]\w+$"),
    "libnvidia-ml.so.1": ([os.path.join(MOCK, f"fake_{n}.c") for n in ("nvml", "state")], None),
    "libnvToolsExt.so.1": (["sim_nvtx.c", os.path.join(MOCK, "fake_nvtx.c")], None),
    "libcupti.so.12": ([os.path.join(MOCK, f"fake_{n}.c") for n in ("cupti", "cupti_activity", "state")], None),
}


def undefined(library):
    out = subprocess.run(["readelf", "--dyn-syms", "-W", library], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in out.splitlines():
        f = line.split()
        if len(f) >= 8 and f[6] == "UND":
            yield f[7]


def compiled(sources, flags, out, base):
    """Their objects, and the functions that they define for others."""
    objects, names = [], set()
    for s in sources:
        objects.append(os.path.join(out, f"{base}.{os.path.basename(s)[:-2]}.o"))
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-fPIC", "-fno-builtin", "-w", *flags, "-I" + HERE, "-c", "-o", objects[-1],
                        os.path.join(HERE, s)], check=True)
        nm = subprocess.run(["nm", "--defined-only", "-g", objects[-1]], stdout=subprocess.PIPE, check=True, text=True).stdout
        names |= {line.split()[2] for line in nm.splitlines()}
    return objects, names


def make(out, soname, wanted):
    sources, _ = LIBRARIES[soname]
    base = soname.split(".so")[0]
    flags = ["-DSIM_" + base[3:].replace("-", "_"), "-DFAKE_DRIVER_DEFAULT=12060", "-DFAKE_CUPTI_MAJOR=12"]
    objects, have = compiled(sources, flags, out, base)
    lines, versioned = ["#include <stdint.h>", "static char object[65536];"], {}
    for name in sorted(wanted):
        name, _, version = name.partition("@")
        version = version.lstrip("@")
        versioned.setdefault(version, []).append(name)
        if name in have:
            continue
        if "Create" in name and not name.startswith(("cudaStream", "cudaEvent")):
            lines.append(f"int {name}(void **a) {{ if (a) *a = object; return 0; }}")
        else:
            lines.append(f"intptr_t {name}(void) {{ return 0; }}")
    c, script = os.path.join(out, base + ".c"), os.path.join(out, base + ".map")
    with open(c, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    with open(script, "w", encoding="utf-8") as f:
        for version, names in versioned.items():
            f.write(f"{version or 'NONE'} {{ global: {' '.join(n + ';' for n in names)} }};\n" if version else "")
    argv = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-fno-builtin", "-w", *flags, "-o", os.path.join(out, soname), c,
            *objects, "-Wl,-soname," + soname, "-L" + out, "-Wl,-Bsymbolic", "-pthread", "-ldl"]
    if any(versioned):
        argv.append("-Wl,--version-script=" + script)
    if soname in ("libcudart.so.12", "libnvidia-ml.so.1"):
        argv.append("-l:libcuda.so.1")
    subprocess.run(argv, check=True)
    print(f"{soname}: {len(wanted)} functions, {len(have & {w.partition('@')[0] for w in wanted})} of them with an answer")


def main():
    words = sys.argv[1:]
    if words[:1] == ["--capture"]:
        LIBRARIES.update(CAPTURE)
        words = words[1:]
    if len(words) < 2:
        sys.exit(__doc__)
    out, symbols = words[0], {s for library in words[1:] for s in undefined(library)}
    os.makedirs(out, exist_ok=True)
    for soname, (_, pattern) in LIBRARIES.items():
        wanted = {s for s in symbols if s.endswith("@" + soname) or (pattern and re.match(pattern, s))}
        make(out, soname, wanted | set(BY_NAME.get(soname, [])))


if __name__ == "__main__":
    main()
