#!/usr/bin/env python3
"""Memory of others in the ledger: a shared pool and a pointer of it, memory of another interface mapped as a buffer and as an array. What
was made elsewhere is in no sum, and what is freed of it here is no free of something that nobody saw allocated."""
import json
import os
import subprocess

import kit

MB = 1 << 20
MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")


def report(*words, **env):
    """The job of the report on a recording of the fake application."""
    trace = kit.scratch() / "t.gz"
    env = kit.environment(injected=False, FAKE_STATE=kit.scratch() / "gpus", CUDA_MODULE_LOADING="EAGER", **env)
    done = subprocess.run([MEMTRACE, "capture", "-q", "--spool", str(kit.scratch()), "-o", str(trace), "--", kit.APP, *words], stderr=subprocess.PIPE,
                          check=False, env=env, timeout=300)
    kit.check(f"{' '.join(words)}: recorded", done.returncode == 0, done.stderr)
    made = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json", "-o", "-"], stdout=subprocess.PIPE, check=False, timeout=300)
    return json.loads(made.stdout)["job"]


kit.need(kit.LIB, kit.APP, MEMTRACE)
for more in ({}, {"MEMTRACE_KEEP_MB": 1}):
    # enough calls behind them that a ring of 1 MiB lets the imports go
    words = ["device:0", "imports:64", "leak:32:1", *(["alloc:300000"] if more else []), "sleep:300"]
    job = report(*words, **more)
    process, ledger = job["processes"][0], job["ledgers"][0]
    what = "in a ring" if more else "whole"
    kit.check(f"{what}: the ring turned, or there is none", bool(process.get("records_let_go")) == bool(more), process)
    kit.check(f"{what}: each free has what it frees", not process["unmatched_frees"] and not process["lost_frees"], process)
    kit.check(f"{what}: nothing of others is in a sum", ledger["checks"][-1]["unexplained_bytes"] == 0, ledger["checks"][-1])
    if not more:
        kit.equal("a pointer of a pool, another interface's memory, a buffer of it", process["imports"], 3)
kit.done()
