#!/usr/bin/env python3
"""Why a process has no snapshot is said in the report: the lines of the recorder's hook for PyTorch are read, equal ones of several processes said once."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE") or str(kit.BUILD / "memtrace")
FULL = "Traceback (most recent call last): |   File \"x.py\", line 9, in dump |     with open(part, \"wb\") as f: | OSError: [Errno 28] No space left on device"
CUDA = ("Traceback (most recent call last): |   File \"x.py\", line 9, in setup |     flags = a | b |   File \"y.py\", line 3, in g |     h() | RuntimeError: CUDA error: out of memory | "
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1 | Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.")
LINES = {
    f"hooking torch.cuda failed: {CUDA}": "PyTorch's memory history was not recorded, so there is no snapshot of it: RuntimeError: CUDA error: out of memory.",
    f"dump oom1 failed: {FULL}": "the snapshot of the moment when memory ran out could not be taken: OSError: [Errno 28] No space left on device.",
    f"dump exit failed: {FULL}": "the snapshot at its end could not be taken: OSError: [Errno 28] No space left on device.",
    "recording failed: TypeError: no such argument": "PyTorch's memory history was not recorded, so there is no snapshot of it: TypeError: no such argument.",
    "the program records its own memory history: it is left alone": "it records PyTorch's memory history itself, so none was taken at its end; give the report the snapshot that it writes, too.",
    "this torch has no out of memory observer": "no snapshot is taken when its memory runs out: this PyTorch cannot tell of it.",
}
FINE = ["torch 2.6.0: recording {'enabled': 'all'}", "dumped mt-a-1-0-rank0-exit-dev0.pickle (12 bytes) begun 17.000000",
        "SIGUSR2 is not handled: the program has a handler for it"]


def caveats(spool):
    trace = kit.scratch() / "t.gz"
    done = subprocess.run([MEMTRACE, "collect", str(spool), "-o", str(trace)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    kit.equal("the status of collect", done.returncode, 0)
    made = subprocess.run([MEMTRACE, "report", str(trace), "--format", "json", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if not kit.check("there is a report", made.returncode == 0, made.stderr):
        kit.done()
    return json.loads(made.stdout)["quality"]["caveats"]


def main():
    kit.need(MEMTRACE, kit.APP, kit.LIB)
    spool = kit.scratch()
    stems = []
    for _ in range(2):
        before = set(spool.iterdir())
        kit.run([kit.APP, "leak:1"], spool=spool)
        stems += [f.name.rsplit(".", 1)[0] for f in set(spool.iterdir()) - before if f.suffix in (".spool", ".gz")][:1]
    kit.equal("two processes", len(stems), 2)
    without = caveats(spool)
    for stem in stems:
        (spool / f"{stem}-torch.txt").write_text("".join(f"1700000000.000001 {line}\n" for line in [*FINE, *LINES, *LINES]), encoding="utf-8")
    new = [c for c in caveats(spool) if c not in without]
    kit.equal("as many sentences as kinds of trouble", len(new), len(LINES))
    for line, words in LINES.items():
        said = [c for c in new if c.endswith(words)]
        kit.check(line[:40], len(said) == 1 and ", and 1 more: " in said[0], new)
    (spool / f"{stems[0]}-torch.txt").write_bytes(b"no time\n\n 7 \n1.0 recording failed:  | \n1.0 dump exit failed: \xff\xfe <b>|\n1.0 dump exit failed: " + b"x" * 9000 + b"\n1.0 dump oom")
    (spool / f"{stems[1]}-torch.txt").unlink()
    new = [c for c in caveats(spool) if c not in without]
    kit.check("damaged lines end somewhere", 3 <= len(new) <= 4 and all(len(c) < 1024 and not c.endswith(": .") for c in new), new)
    kit.done()


main()
