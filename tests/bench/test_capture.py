#!/usr/bin/env python3
"""capture.py still measures: a short run of it prints every row. Times and sizes are not looked at; it stops by itself when the library
recorded less than was called."""
import os
import pathlib
import shutil
import subprocess
import sys

build = pathlib.Path(os.environ.get("MT_BINARY_DIR", "build"))
source = pathlib.Path(os.environ.get("MT_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
if os.environ.get("MT_SANITIZE") or not shutil.which("cc") or not (build / "tests" / "mock" / "cuda13" / "libcuda.so.1").exists():
    print("# skipped: needs a C compiler and a build with the fakes, without sanitizers")
    sys.exit(77)
done = subprocess.run([sys.executable, source / "tests" / "bench" / "capture.py", "--build", build, "--rounds", "1", "--calls", "4000",
                       "--against", build / "lib" / "memtrace" / "libmemtrace_inject.so"], stdout=subprocess.PIPE, text=True)
rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| ")]
ok = done.returncode == 0 and len(rows) == 31  # two heads, twelve rows of times and one of the ring for 1 and 4 threads, three of sizes
print("ok" if ok else "not ok", "- every configuration is measured")
if not ok:
    print(f"# status {done.returncode}, {len(rows)} rows")
sys.exit(not ok)
