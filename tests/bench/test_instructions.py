#!/usr/bin/env python3
"""Reading, analysis and packing take no more instructions an event than instructions.json says, and 5 %. Needs valgrind and a Release build of the
compiler that the limits are of. Fifteen seconds."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from instructions import SKIP, judge  # noqa: E402

for counted, is_more in ((100.0, False), (104.9, False), (105.2, True), (300.0, True), (1.0, False)):
    if judge({"reading": counted}, {"reading": 100})[0][3] != is_more:
        print(f"not ok - {counted} of 100")
        sys.exit(1)

build = pathlib.Path(os.environ.get("MT_BINARY_DIR", "build"))
cache = build / "CMakeCache.txt"
if os.environ.get("MT_SANITIZE") or not cache.exists() or "CMAKE_BUILD_TYPE:STRING=Release" not in cache.read_text(encoding="utf-8"):
    print("# skipped: needs a Release build without sanitizers")
    sys.exit(SKIP)
sys.exit(subprocess.run([sys.executable, HERE / "instructions.py", "--memtrace", os.environ.get("MEMTRACE") or build / "memtrace"],
                        check=False).returncode)
