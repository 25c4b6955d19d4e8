#!/usr/bin/env python3
"""run.py without a GPU: the checks that calls.py makes run on the stand-ins for CUDA (tests/mock) and for PyTorch (standin/), those of the
training loop compute on the sample trace; skipping, stopping, results and what is packed. Environment: MT_BINARY_DIR, MEMTRACE."""
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import types
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import lab as gpu_lab  # noqa: E402
import run as gpu_run  # noqa: E402

SOURCE = os.environ.get("MT_SOURCE_DIR") or os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("MT_BINARY_DIR") or os.path.join(SOURCE, "build")
MEMTRACE = os.environ.get("MEMTRACE") or os.path.join(BUILD, "memtrace")
FAKES = os.path.join(BUILD, "tests", "mock", "cuda13")
SAMPLE = os.path.join(SOURCE, "samples", "driver_v1.trace.gz")
CAN_RECORD = os.path.exists(os.path.join(FAKES, "libcuda.so.1")) and os.path.exists(os.path.join(BUILD, "lib/memtrace/libmemtrace_inject.so"))
SANITIZED = bool(os.environ.get("MT_SANITIZE"))


def start(*args, env=None):
    e = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    e.update(env or {}, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([sys.executable, os.path.join(HERE, "run.py"), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=e, check=False)


class SampleLab(gpu_lab.Lab):
    """Every recording is the sample trace; the workload has printed what it is told to."""
    printed, status = "", 0

    def script(self, name, *args):
        return [sys.executable, "-c", "print(%r); raise SystemExit(%d)" % (self.printed, self.status)]

    def capture(self, name, argv, *options, **more):
        return self.plain(argv, **more), SAMPLE


class Folder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = held.name

    def path(self, name):
        return os.path.join(self.folder, name)


class Skipping(Folder):
    def test_without_pytorch_and_without_gpu(self):
        os.mkdir(self.path("torch"))
        for body, said in (("raise ImportError('no such wheel')", "no such wheel"),
                           ("class cuda:\n    is_available = staticmethod(lambda: False)\n__version__ = '9.9'", "PyTorch 9.9 sees no GPU")):
            with open(self.path("torch/__init__.py"), "w", encoding="utf-8") as f:
                f.write(body + "\n")
            p = start("--build", BUILD, "--out", self.path("out"), env={"PYTHONPATH": self.folder})
            self.assertEqual(p.returncode, 77, p.stderr)
            self.assertIn(said, p.stdout)
            self.assertTrue(p.stdout.startswith("# skipped: "))
            self.assertFalse(os.path.exists(self.path("out")))

    def test_names_of_checks(self):
        p = start("--build", BUILD, "--out", self.path("out"), "--only", "totals_plain,nonsense")
        self.assertEqual(p.returncode, 2)
        self.assertIn("no check named nonsense", p.stderr)

    def test_nothing_that_runs_in_the_folder(self):
        with open(self.path("memtrace"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho libarchive.so.13: cannot open >&2\nexit 127\n")
        os.chmod(self.path("memtrace"), 0o755)
        with self.assertRaises(SystemExit) as e:
            gpu_lab.find_memtrace(self.folder)
        self.assertIn("libarchive.so.13", str(e.exception))
        os.mkdir(self.path("bin"))
        os.symlink(MEMTRACE, self.path("bin/memtrace"))
        self.assertEqual(gpu_lab.find_memtrace(self.folder), self.path("bin/memtrace"))


class Running(Folder):
    def sleepy(self):
        """A memtrace whose doctor never ends."""
        with open(self.path("memtrace"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho $$ > %s\nsleep 1000\n" % self.path("pid"))
        os.chmod(self.path("memtrace"), 0o755)
        return types.SimpleNamespace(build=self.folder, quick=True)

    def one(self, limit, least, left):
        f = gpu_run.CHECKS["environment"]
        gpu_run.CHECKS["environment"] = (f[0], limit, least)
        self.addCleanup(gpu_run.CHECKS.__setitem__, "environment", f)
        return gpu_run.start_one("environment", self.sleepy(), self.folder, left)

    def test_a_check_that_hangs_is_stopped_with_its_children(self):
        for limit in (3, 30, 300):  # a busy machine has to come as far as to the child
            entry = self.one(limit, 0, 1000)
            self.assertEqual((entry["result"], entry["why"]), ("failed", f"stopped after {limit} s (environment.hung.txt)"))
            with open(self.path("environment.hung.txt"), encoding="utf-8") as f:
                hung = f.read()
            if os.path.exists(self.path("pid")):
                break
        self.assertRegex(hung, r"== process \d+: sleep 1000")
        self.assertRegex(hung, r"-- thread \d+ sleep: \['State:\\tS")
        with open(self.path("pid"), encoding="ascii") as f:
            pid = f.read().strip()
        state = ""
        for _ in range(600):  # killed; it has to run once more to end, and whoever is init here may be slow to see it
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                    state = f.read().rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return
            if state in "ZX":
                return
            time.sleep(0.1)
        self.fail(f"still there: {state}")

    def test_no_time_left(self):
        entry = self.one(60, 15, 14)
        self.assertEqual(entry["result"], "skipped")
        self.assertIn("14 s were left", entry["why"])
        self.assertFalse(os.path.exists(self.path("pid")))

    def test_what_was_seen_before_a_crash_is_kept(self):
        lab = gpu_lab.Lab(MEMTRACE, self.folder, "totals_plain")
        lab.note(a=1)
        lab.note(b=2)
        self.assertEqual(gpu_run.read_json(self.path("totals_plain.seen.json")), {"a": 1, "b": 2})


class Results(Folder):
    def test_table_and_package(self):
        entry = {"result": "failed", "what": "something", "why": "a | b\nc", "seen": {"k": 1}, "seconds": 2.5}
        gpu_lab.write_results(self.folder, {"gpu": "X"}, {"one": entry})
        with open(self.path("results.md"), encoding="utf-8") as f:
            self.assertEqual(f.read(), 'gpu: X  \n\n| check | result | s | seen |\n|---|---|---|---|\n'
                                       '| `one`: something | failed | 2.5 | a \\| b c; {"k": 1} |\n')
        with open(self.path("results.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f), {"about": {"gpu": "X"}, "checks": {"one": entry}})
        os.mkdir(self.path("work"))
        for name, size in (("small.log", 10), ("empty.log", 0), ("large.gz", 5000), ("middle.gz", 2000), ("x.seen.json", 5)):
            with open(self.path("work/" + name), "wb") as f:
                f.write(os.urandom(size))
        left = gpu_lab.Pack(self.path("work"), self.folder, limit=4096, each=4000).write()
        self.assertEqual(left, ["large.gz"])
        with tarfile.open(self.path("artifacts.tar.gz")) as tar:
            self.assertEqual(tar.getnames(), ["small.log", "middle.gz"])
        self.assertLess(os.path.getsize(self.path("artifacts.tar.gz")), 4096 + 1024)


class OnTheSample(Folder):
    """What is computed from a report, on a trace whose numbers are known."""

    def lab(self, printed="", status=0):
        lab = SampleLab(MEMTRACE, self.folder, "x")
        lab.printed, lab.status = printed, status
        return lab

    def test_ledger(self):
        lab = self.lab()
        report = lab.report(SAMPLE)
        table = gpu_lab.ledgers_of(report)
        self.assertEqual(len(table), len(report["job"]["ledgers"]))
        self.assertEqual(table[0]["samples"], len(report["job"]["ledgers"][0]["checks"]))
        self.assertEqual(table[0]["held_MiB"]["engine"], 512)
        gpu_lab.within(table, 1 << 40)
        with self.assertRaisesRegex(AssertionError, "are unexplained on"):
            gpu_lab.within(table, 0)
        report["job"]["ledgers"][0]["checks"][0]["used_bytes"] += 1
        with self.assertRaises(AssertionError):
            gpu_lab.ledgers_of(report)
        for without in ({"job": {"ledgers": []}}, {}):
            with self.assertRaisesRegex(AssertionError, "no ledger"):
                gpu_lab.ledgers_of(without)

    def test_training_loop(self):
        steps = "\n".join(json.dumps({"step": i, "ms": ms}) for i, ms in enumerate((900, 10, 30, 20)))
        lab = self.lab(steps)
        gpu_run.loop_pair(lab, True, "plain", [], [])
        self.assertEqual(lab.seen["plain"]["ms_per_step"], [20, 20])
        self.assertIn("rollout.generate", lab.seen["plain"]["phases"])
        self.assertEqual([r["adds_up"] for r in lab.seen["plain"]["adds_up"]], [True] * lab.seen["plain"]["reconciled"])
        self.assertGreater(lab.seen["plain"]["reconciled"], 0)
        with self.assertRaisesRegex(AssertionError, "without the recorder: status 4"):
            gpu_run.loop_pair(self.lab(steps, 4), True, "plain", [], [])

    def test_out_of_memory(self):
        told = '{"oom": "CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of 1.00 GiB"}'
        lab = self.lab(told % "40.00 MiB", 1)
        gpu_run.into_a_real_oom(lab, True)
        self.assertIn(40 << 20, lab.seen["failed_requests"])
        self.assertGreater(os.path.getsize(self.path("loop_oom.html")), 1000)
        with self.assertRaisesRegex(AssertionError, "PyTorch asked for"):
            gpu_run.into_a_real_oom(self.lab(told % "4.00 GiB", 1), True)

    def test_keys_are_documented(self):
        with open(os.path.join(SOURCE, "docs", "json.md"), encoding="utf-8") as f:
            documented = set(re.findall(r"`([a-z_]+)(?:\[\])?`", f.read()))
        used = set()
        for name in ("run.py", "lab.py"):
            with open(os.path.join(HERE, name), encoding="utf-8") as f:
                text = f.read()
            for chain in re.findall(r'\b(?:report|ledger|c|r|f|s|x)((?:\["[a-z_]+"\])+)', text):
                used |= set(re.findall(r'"([a-z_]+)"', chain))
            for keys in re.findall(r"for k in \(([^)]*)\)", text):
                used |= set(re.findall(r'"([a-z_]+)"', keys))
        of_dump = {"op", "cbid", "result", "size", "corr", "kind", "text", "level", "time_ns", "dur_ns"}  # of `memtrace dump`
        self.assertLessEqual({"job", "verdict", "ledgers", "checks", "unexplained_bytes", "adds_up", "request_bytes"}, used)
        self.assertEqual(used - of_dump - documented, set())
        dump = self.lab().dump(SAMPLE)
        for kind, keys in (("call", ("op", "cbid", "result")), ("activity", ("kind", "op")), ("status", ("text", "level"))):
            found = gpu_lab.rows(dump, kind)
            self.assertTrue(found, kind)
            for row in found:
                self.assertLessEqual(set(keys), set(row))


@unittest.skipUnless(CAN_RECORD and not SANITIZED, "needs the recorder and the stand-ins, without sanitizers")
class OnStandIns(Folder):
    def test_all_checks(self):
        p = start("--build", BUILD, "--out", self.path("out"), "--work", self.path("work"), "--quick",
                  env={"PYTHONPATH": os.path.join(HERE, "standin"), "LD_LIBRARY_PATH": FAKES, "FAKE_STATE": self.path("state")})
        with open(self.path("out/results.json"), encoding="utf-8") as f:
            checks = json.load(f)["checks"]
        self.assertEqual(list(checks), list(gpu_run.CHECKS), p.stdout + p.stderr)
        beyond = {"totals_expandable", "totals_graphs", "with_torch_profiler", "captures_under_flush", "code_loaded_lazily",
                  "first_kernels", "snapshot_takes", "fixes_save_what_they_promise"}  # what the stand-in for PyTorch cannot do
        self.assertEqual(p.returncode, 1)
        for name, entry in checks.items():
            loop = name.startswith(("training", "into", "snapshots", "nccl"))
            library = name in ("totals_jax", "totals_cupy")  # not here as a rule, and where they are they want a real card
            want = ("skipped", "failed") if loop or library else ("failed",) if name in beyond else ("ok",)
            self.assertIn(entry["result"], want, f"{name}: {json.dumps(entry)[:2000]}")
        self.assertEqual(checks["driver_callbacks_under_cudart"]["seen"]["driver_allocs"], 599)
        self.assertEqual(checks["totals_plain"]["seen"]["ledgers"][0]["max_unexplained_MiB"], 0)
        self.assertEqual(checks["sleep_and_wake"]["seen"]["workload"]["mapped"], 512 * gpu_lab.MIB)
        self.assertEqual({k: v["status"] for k, v in checks["ends"]["seen"].items()}, {"return": 0, "os._exit": 3, "raise": 5, "abort": 134})
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["artifacts.tar.gz", "results.json", "results.md"])
        with tarfile.open(self.path("out/artifacts.tar.gz")) as tar:
            self.assertLessEqual({"plain.trace.gz", "vmm.trace.gz", "doctor.txt", "plain.log"}, set(tar.getnames()))


if __name__ == "__main__":
    unittest.main()
