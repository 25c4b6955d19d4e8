#!/usr/bin/env python3
"""Contexts of two processes that begin on one card at the same moment: what was measured over both calls counts once. The answers of NVML are
old when they come (FAKE_NVML=late), so that one process asks before and creates after the other one's context."""
import json
import os
import subprocess

import kit

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
CONTEXT_MIB = 500  # fake.h

kit.need(kit.LIB, kit.APP, MEMTRACE)
seen = []
for apart_ms in (0, 5, 10, 15, 20, 30):
    trace = kit.scratch() / "t.gz"
    line = f"{kit.APP} device:0 sleep:400 & sleep 0.{apart_ms:03}; {kit.APP} device:0 sleep:400 & wait"
    done = subprocess.run([MEMTRACE, "capture", "-q", "--spool", str(kit.scratch()), "-o", str(trace), "--", "bash", "-c", line], stderr=subprocess.PIPE,
                          check=False, timeout=300, env=kit.environment(injected=False, FAKE_NVML="late:20", FAKE_STATE=kit.scratch() / "gpus"))
    kit.check(f"{apart_ms} ms apart: recorded", done.returncode == 0, done.returncode, done.stderr)
    made = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json", "-o", "-"], stdout=subprocess.PIPE, check=False, timeout=300)
    ledger = json.loads(made.stdout)["job"]["ledgers"][0]
    seen.append(max(ledger["columns"]["context"]) >> 20)
kit.check("two contexts are never more than two", max(seen) <= 2 * CONTEXT_MIB, seen)
kit.check("and they are measured", sum(seen) >= 2 * CONTEXT_MIB, seen)
kit.done()
