"""What the tests of jobs share: a script that runs twice, without and with memtrace in it, on the stand-in for PyTorch of tests/mock/python."""

import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("MT_SOURCE_DIR") or HERE.parents[1])
MEMTRACE = os.environ.get("MEMTRACE") or str(SOURCE / "build" / "memtrace")
PYTHON = os.environ.get("MEMTRACE_TEST_PYTHON") or sys.executable
PRELUDE = """
import os, sys
sys.path[:0] = [%r, %r]
folder = sys.argv[1]
import memtrace
WATCH = len(sys.argv) > 2
def watch(folder=folder, **more):
    if WATCH: memtrace.watch(folder, **more)
""" % (str(SOURCE / "python"), str(SOURCE / "tests" / "mock" / "python" / "fake_torch"))
FAIL = """
def fail():
    try: torch.cuda.allocate(2 << 30)
    except torch.OutOfMemoryError as e: print("caught", e)
"""


class Job(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="memtrace-watch-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.folder = self.scratch / "oom"

    def command(self, code, watched):
        script = self.scratch / "job.py"
        script.write_text(PRELUDE + textwrap.dedent(code))
        return self.mounted + [PYTHON, "-B", str(script), str(self.folder)] + ["watch"] * watched

    mounted = []

    def on_a_disk(self, options, then="true"):
        """From now on the folder is a small disk of its own for the job, in which `then` was done."""
        self.folder.mkdir(exist_ok=True)
        inside = 'mount -t tmpfs -o "$2" none "$1" && cd "$1" && { eval "$3"; cd /; shift 3; exec "$@"; }'
        self.mounted = ["unshare", "--mount", "--map-root-user", "sh", "-c", inside, "sh", str(self.folder), options, then]
        if subprocess.run(self.mounted + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no disk can be mounted here")

    def environment(self, more):
        drop = ("PYTHON", "MEMTRACE", "RANK", "SLURM", "OMPI", "PMI", "CUDA_INJ", "NVTX_INJ")
        env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
        env.update(dict(MEMTRACE_PROGRAM=MEMTRACE, FAKE_TORCH_LOG=str(self.scratch / "log")), **more)
        return env

    def job(self, code, status=0, **more):
        """Our lines of the run with watch."""
        results = []
        for watched in (False, True):
            done = subprocess.run(self.command(code, watched), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  env=self.environment(more), timeout=120)
            lines = done.stderr.decode(errors="replace").splitlines()
            ours = [line for line in lines if line.startswith("[memtrace] ")]
            results.append((done.returncode, done.stdout, [line for line in lines if line not in ours]))
            if not watched:
                self.assertEqual(ours, [])
        self.assertEqual(results[0], results[1], "the job noticed")
        self.assertEqual(results[0][0], status, results[0])
        self.assertEqual(glob.glob(str(self.folder / "*.part")) + glob.glob(str(self.folder / "*.tmp")), [])
        return ours

    def files(self):
        return sorted(os.listdir(self.folder)) if self.folder.is_dir() else []

    def called(self, what):
        with open(self.scratch / "log", encoding="utf-8") as log:
            return [row for row in map(json.loads, log) if row["what"] == what]
