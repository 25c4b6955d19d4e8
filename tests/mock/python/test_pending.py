#!/usr/bin/env python3
"""The PyTorch hook where PYTHONPATH does not reach: the injected library brings it, by Py_AddPendingCall. With the fake libcuda."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("MT_BINARY_DIR") or HERE.parents[2] / "build")
LIB = BUILD / "lib" / "memtrace" / "libmemtrace_inject.so"
CUDA = BUILD / "tests" / "mock" / "cuda13" / "libcuda.so.1"
PYTHON = os.environ.get("MEMTRACE_TEST_PYTHON") or sys.executable
PRELUDE = f"import os, sys\nsys.path.insert(0, {str(HERE / 'fake_torch')!r})\n"
USE = "import torch\ntorch.cuda.init()\nfor i in range(1000): pass\nprint('used')\n"

failed = 0


def check(what, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} - {what}" + ("" if good else f": {why}"), flush=True)


def run(code, flags, site=False, **more):
    """(standard output, error, status), the files of the spool; without and with the library."""
    with tempfile.TemporaryDirectory(prefix="memtrace-pending-") as d:
        results, spool = [], pathlib.Path(d, "spool")
        spool.mkdir()
        for captured in (False, True):
            env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MEMTRACE_", "CUDA_", "NVTX_", "RANK"))}
            env.update(PYTHONDONTWRITEBYTECODE="1", FAKE_TORCH_CUDA=str(CUDA), LD_LIBRARY_PATH=str(CUDA.parent), RANK="3", **more)
            if captured:
                env.update(MEMTRACE_SPOOL=str(spool), CUDA_INJECTION64_PATH=str(LIB), NVTX_INJECTION64_PATH=str(LIB))
                if site:
                    env["PYTHONPATH"] = str(LIB.parent / "site")
            p = subprocess.run([PYTHON, "-B", *flags, "-c", PRELUDE + code], env=env, cwd=d, capture_output=True, timeout=120, check=False)
            results.append((p.stdout, p.stderr, p.returncode))
        check(f"{' '.join(flags) or 'plain'}: the job does not notice", results[0] == results[1], results)
        return results[1], sorted(f.name for f in spool.iterdir())


def main():
    if os.environ.get("MT_SANITIZE"):
        print("# skipped: a sanitizer's runtime cannot be loaded into a Python that has none")
        return 77
    if not LIB.exists() or not CUDA.exists():
        print(f"# skipped: there is no {LIB if not LIB.exists() else CUDA}")
        return 77
    probe = subprocess.run([PYTHON, "-c", "import ctypes; ctypes.CDLL(None).Py_AddPendingCall"], capture_output=True, check=False)
    if probe.returncode:
        print("# skipped: this Python does not show its functions")
        return 77
    for flags in (["-I"], ["-S"], ["-E"], []):
        (_out, err, status), files = run(USE, flags)
        what = " ".join(flags) or "plain"
        check(f"{what}: status", status == 0, err)
        dumps = [f for f in files if f.endswith(".pickle")]
        check(f"{what}: one snapshot, at exit", len(dumps) == 1 and dumps[0].endswith("-rank3-exit-dev0.pickle"), files)
        traces = [f for f in files if re.search(r"-[0-9a-f]{16}(\.[0-9]+)?\.(gz|spool)$", f)]
        check(f"{what}: named as the trace is", len(traces) == 1 and len(dumps) == 1 and
              dumps[0].startswith(re.sub(r"(\.[0-9]+)?\.(gz|spool)$", "", traces[0]) + "-rank"), files)
    _r, files = run(USE, [], site=True)
    check("with PYTHONPATH too: one snapshot", len([f for f in files if f.endswith(".pickle")]) == 1, files)
    _r, files = run("import threading, torch\nt = threading.Thread(target=torch.cuda.init)\nt.start()\nt.join()\n"
                    "for i in range(1000): pass\nprint(1)\n", ["-I"])
    check("CUDA initialised in a thread", len([f for f in files if f.endswith(".pickle")]) == 1, files)
    _r, files = run(USE, ["-I"], MEMTRACE_TORCH="0")
    check("switched off", not [f for f in files if f.endswith((".pickle", ".txt"))], files)
    _r, files = run("import ctypes\nc = ctypes.CDLL(os.environ['FAKE_TORCH_CUDA'])\nprint(c.cuInit(0))\n"
                    "print([k for k in vars() if 'memtrace' in k], [k for k in sys.modules if 'memtrace' in k], sys.argv)\n", ["-I"])
    check("without torch: no snapshot", not [f for f in files if f.endswith((".pickle", ".txt"))], files)
    snippet = ("import ctypes\nmt = ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH']) if 'MEMTRACE_SPOOL' in os.environ else None\n"
               "if mt:\n    mt.memtrace_push(b'rollout')\n    mt.memtrace_pop()\nprint(1)\n")
    _r, files = run(snippet, ["-I"])
    check("memtrace_push() through ctypes leaves a trace", [f for f in files if f.endswith(".gz")], files)
    print(f"# {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
