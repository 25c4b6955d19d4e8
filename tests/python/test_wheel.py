#!/usr/bin/env python3
"""The wheel, as somebody gets it: built by CMake, installed by pip without an index into a fresh environment, and run there.

Every Python on the PATH from 3.8 on is tried (MEMTRACE_TEST_PYTHON names one alone). A package's own test stands in job.py, which runs in the
environment. Needs python3-venv and pip, and the static libraries of `./bootstrap.sh deps package`."""

import base64
import csv
import glob
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("MT_SOURCE_DIR") or HERE.parents[1])
BUILD = pathlib.Path(os.environ.get("MT_BINARY_DIR") or SOURCE / "build")
MEMTRACE = os.environ.get("MEMTRACE") or str(BUILD / "memtrace")
CMAKE = os.environ.get("CMAKE") or "cmake"
SAMPLE = SOURCE / "samples" / "verl_grpo_oom_logprob.pickle"
MOCK = BUILD / "tests" / "mock" / "cuda12"
COUNT = {"ok": 0, "failed": 0}


def check(what, ok, *more):
    COUNT["ok" if ok else "failed"] += 1
    print("ok" if ok else "not ok", "-", what, *(more if not ok else ()), flush=True)
    return ok


def skip_all(why):
    print("# skipped: " + why)
    sys.exit(77)


def clean_environment(**more):
    drop = ("PYTHON", "MEMTRACE", "PIP_", "CUDA_INJECTION", "NVTX_INJECTION", "VIRTUAL_ENV", "RANK")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env.update(PYTHONDONTWRITEBYTECODE="1", PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_CONFIG_FILE=os.devnull, **more)
    return env


def run(*command, **more):
    env = clean_environment(**more.pop("env", {}))
    return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, check=False, **more)


def built():
    """The wheel's bytes and name, built anew."""
    done = subprocess.run([CMAKE, "--build", str(BUILD), "--target", "wheel"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, SOURCE_DATE_EPOCH="1767322800"), check=False, universal_newlines=True)
    if done.returncode:
        if re.search("unknown target|No rule to make target", done.stdout):
            skip_all("this build has no wheel (a sanitizer, MEMTRACE_STATIC_DEPS=OFF, or no objdump)")
        if re.search(r"cannot find -l|lib\w+\.a: No such file", done.stdout):
            skip_all("no static libraries ('./bootstrap.sh deps package' installs them)")
        print(done.stdout[-3000:])
        sys.exit("the wheel was not built")
    wheels = glob.glob(str(BUILD / "dist" / "*.whl"))
    assert len(wheels) == 1, wheels
    with open(wheels[0], "rb") as file:
        return pathlib.Path(wheels[0]), file.read()


def newest_glibc(wheel, folder):
    """By the symbols themselves, not by what the packer reads."""
    found = set()
    for path in wheel.namelist():
        data = wheel.read(path)
        if data[:4] == b"\x7fELF":
            file = pathlib.Path(folder) / "elf"
            file.write_bytes(data)
            said = subprocess.run(["objdump", "-T", str(file)], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
            found |= {(int(a), int(b)) for a, b in re.findall(r"\(?GLIBC_(\d+)\.(\d+)", said)}
    return max(found)


def what_is_in_it(path, folder):
    with zipfile.ZipFile(path) as wheel:
        info = "%s.dist-info" % "-".join(path.name.split("-")[:2])
        rows = list(csv.reader(io.StringIO(wheel.read(info + "/RECORD").decode())))
        names = {r[0] for r in rows}
        check("RECORD names every file once", names == set(wheel.namelist()) and len(rows) == len(names))
        wrong = [n for n, digest, size in rows if digest and (
            digest != "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(wheel.read(n)).digest()).rstrip(b"=").decode() or int(size) != len(wheel.read(n)))]
        check("RECORD has their digests", not wrong, wrong)
        tag = "py3-none-manylinux_%d_%d_%s" % (*newest_glibc(wheel, folder), os.uname().machine)
        check("the tag names the newest glibc that is asked for", path.name.endswith("-%s.whl" % tag), path.name, tag)
        check("no address, for none was chosen", b"Project-URL" not in wheel.read(info + "/METADATA"))
        check("no dependency", b"Requires-Dist" not in wheel.read(info + "/METADATA"))
        check("the program runs for everybody", wheel.getinfo("memtrace/_program/bin/memtrace").external_attr >> 16 & 0o777 == 0o755)
        for part in ("lib/memtrace/libmemtrace_inject.so", "lib/memtrace/site/sitecustomize.py", "include/memtrace.h"):
            check("%s is in it" % part, "memtrace/_program/" + part in names)
        check("the skill is in it", wheel.read("memtrace/skills/memtrace/SKILL.md") == (SOURCE / "skills/memtrace/SKILL.md").read_bytes())
        check("it is typed", "memtrace/py.typed" in names)


def pythons():
    """{version: program} of those that work and can make environments."""
    named = os.environ.get("MEMTRACE_TEST_PYTHON")
    found = {}
    for name in [named] if named else [sys.executable] + ["python3.%d" % n for n in range(8, 16)]:
        path = shutil.which(name)
        done = run(path, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])") if path else None
        if done is not None and done.returncode == 0:
            found.setdefault(done.stdout.decode().strip(), path)
    return found


def installed(version, python, wheel, folder):
    bin_folder = folder / "env" / "bin"
    done = run(python, "-m", "venv", folder / "env")
    if not check("%s: a fresh environment" % version, done.returncode == 0, done.stderr.decode()):
        return
    done = run(bin_folder / "python", "-m", "pip", "install", "--no-index", wheel)
    if not check("%s: pip installs it without an index" % version, done.returncode == 0, done.stderr.decode()):
        return
    done = run(bin_folder / "python", "-m", "pip", "check")
    check("%s: pip finds nothing missing" % version, done.returncode == 0, done.stdout.decode())
    ours = run(MEMTRACE, "report", "--format", "json", "-o", "-", SAMPLE)
    for how in ([bin_folder / "memtrace"], [bin_folder / "python", "-m", "memtrace"]):
        name = "%s: %s" % (version, " ".join(pathlib.Path(how[0]).name.split() + [str(h) for h in how[1:]]))
        done = run(*how, "report", "--format", "json", "-o", "-", SAMPLE)
        check("%s report says what the program built here says" % name, done.returncode == 0 and done.stdout == ours.stdout, done.stderr.decode())
        check("%s: its exit status is the program's" % name, run(*how, "report", folder / "none").returncode == 1)
    page = folder / "page.html"
    done = run(bin_folder / "memtrace", "report", SAMPLE, "-o", page)
    check("%s: a page" % version, done.returncode == 0 and page.stat().st_size > 50000)
    done = run(bin_folder / "python", HERE / "job.py", SAMPLE, SOURCE / "samples", folder, env={"FAKE_TORCH": str(SOURCE / "tests/mock/python/fake_torch")})
    check("%s: import memtrace" % version, done.returncode == 0, done.stdout.decode(), done.stderr.decode())
    recorded(version, bin_folder, folder)


def recorded(version, bin_folder, folder):
    if not (MOCK / "libcuda.so.1").exists():
        print("# %s: no stand-ins for the driver were built" % version)
        return
    script = folder / "train.py"
    script.write_text("import ctypes, sys\nsys.path.insert(0, %r)\nimport torch\ncuda = ctypes.CDLL('libcuda.so.1')\nassert cuda.cuInit(0) == 0\n"
                      "context, p = ctypes.c_void_p(), ctypes.c_uint64()\nassert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0\n"
                      "assert cuda.cuCtxSetCurrent(context) == 0\nfor _ in range(5):\n"
                      "    assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(3 << 20)) == 0\ntorch.cuda.init()\nprint('the job')\nsys.exit(6)\n"
                      % str(SOURCE / "tests" / "mock" / "python" / "fake_torch"))
    done = run(bin_folder / "memtrace", "capture", "-o", folder / "t.gz", "--", bin_folder / "python", script, cwd=folder,
               env={"LD_LIBRARY_PATH": str(MOCK), "TMPDIR": str(folder)})
    check("%s: capture -- python: exit status, output" % version, done.returncode == 6 and done.stdout == b"the job\n", done.returncode, done.stdout, done.stderr.decode())
    check("%s: the recorder saw the driver's calls" % version, b"peak 15.0 MiB" in done.stderr, done.stderr.decode())
    info = run(bin_folder / "memtrace", "info", folder / "t.gz")
    check("%s: and the hook PyTorch's" % version, b"-exit-dev0.pickle" in info.stdout, info.stdout.decode())


def main():
    found = pythons()
    if not found:
        skip_all("python3-venv is not installed")
    path, first = built()
    time_of = path.stat().st_mtime_ns
    again, second = built()
    check("built twice, the same bytes", first == second and again.name == path.name and again.stat().st_mtime_ns != time_of)
    with tempfile.TemporaryDirectory(prefix="memtrace-wheel-") as folder:
        what_is_in_it(path, folder)
        for version, python in sorted(found.items()):
            each = pathlib.Path(folder) / version
            each.mkdir()
            installed(version, python, path, each)
    print("# %(ok)d ok, %(failed)d failed" % COUNT)
    return 1 if COUNT["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
