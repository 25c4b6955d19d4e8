#!/usr/bin/env python3
"""memtrace.cluster over executors of the standard library: what comes back is what `memtrace report` says of the summaries, a task whose
worker is killed is run again, a file that cannot be read is named and the rest reported."""

import concurrent.futures
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("MT_SOURCE_DIR") or HERE.parents[1])
MEMTRACE = os.environ.get("MEMTRACE") or str(SOURCE / "build" / "memtrace")
SAMPLE = SOURCE / "samples" / "verl_grpo_oom_logprob.pickle"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "python"))
os.environ["MEMTRACE_PROGRAM"] = MEMTRACE
from memtrace import MemtraceError, cluster  # noqa: E402


def die_once(mark, task, *arguments):
    """The first task that comes here is killed with its process, as by a node that goes down."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return task(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


class Killed(concurrent.futures.Executor):
    """A pool whose worker dies in the middle; as engines do, it goes on with new workers."""

    def __init__(self, mark):
        self.mark, self.pools = mark, [concurrent.futures.ProcessPoolExecutor(2)]
        self.broken = 0

    def submit(self, fn, /, *args, **kwargs):
        try:
            return self.pools[-1].submit(functools.partial(die_once, self.mark, fn), *args, **kwargs)
        except concurrent.futures.process.BrokenProcessPool:
            self.broken += 1
            self.pools.append(concurrent.futures.ProcessPoolExecutor(2))
            return self.submit(fn, *args, **kwargs)

    def shutdown(self, wait=True, **more):
        for pool in self.pools:
            pool.shutdown(wait, **more)


class Cluster(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="memtrace-cluster-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.paths = [self.folder / ("snapshot_rank%d.pickle" % i) for i in range(6)]
        for path in self.paths:
            shutil.copyfile(SAMPLE, path)

    def ranks(self, merged):
        return [row.rank for row in merged["ranks"].rows]

    def test_executors(self):
        for kind in (concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor):
            with self.subTest(kind.__name__), kind(2) as pool:
                merged = cluster.summarize(self.paths, pool)
                self.assertEqual(self.ranks(merged), list(range(6)))
                self.assertEqual(merged.failed, {})
                self.assertEqual(merged["ranks"].groups[0].rows, 6)
                self.assertIn("Rank 0, device 0 ran out of memory", merged.verdict.sentence)
                self.assertLess(max(map(len, merged.summaries.values())), 32769)

    def test_the_same_as_by_hand(self):
        sums = self.folder / "sums"
        sums.mkdir()
        for i, path in enumerate(self.paths):
            subprocess.run([MEMTRACE, "summarize", "-q", "-o", str(sums / ("%d.mts" % i)), str(path)], check=True)
        hand = json.loads(subprocess.run([MEMTRACE, "report", "--format=json", "-o", "-", str(sums)], check=True, stdout=subprocess.PIPE).stdout)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            merged = cluster.summarize(self.paths, pool).to_dict()
        self.assertEqual(merged["ranks"]["says"], hand["ranks"]["says"])
        self.assertEqual(merged["verdict"], hand["verdict"])

    def test_a_worker_is_killed(self):
        mark = str(self.folder / "killed")
        with Killed(mark) as pool:
            merged = cluster.summarize(self.paths, pool)
            self.assertEqual(pool.broken, 1)
        self.assertEqual(self.ranks(merged), list(range(6)))
        self.assertEqual(merged.failed, {})

    def test_no_retries(self):
        with Killed(str(self.folder / "killed")) as pool:
            try:
                merged = cluster.summarize(self.paths, pool, retries=0)
                self.assertNotEqual(merged.failed, {})
            except MemtraceError as e:
                self.assertIn("its task was lost", str(e))

    def test_what_cannot_be_read(self):
        self.paths[2].write_bytes(b"no snapshot")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            merged = cluster.summarize(self.paths, pool)
            self.assertEqual(list(merged.failed), [2])
            self.assertFalse(merged.failed[2].startswith("memtrace: "))
            self.assertEqual(self.ranks(merged), [0, 1, 3, 4, 5])
            self.assertTrue(any(p.startswith("Missing: rank 2") for p in merged["ranks"].problems))
            with self.assertRaises(MemtraceError):
                cluster.summarize([self.paths[2]], pool)
            with self.assertRaises(TypeError):
                cluster.summarize([], pool)

    def test_options(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            merged = cluster.summarize(self.paths[:2], pool, redact=True, capacity="80GiB")
        self.assertTrue(merged.provenance.redacted)
        self.assertEqual(merged["ranks"].rows[0].capacity_bytes, 80 << 30)

    def test_other_forms(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            merged = cluster.summarize(self.paths[:2], pool)
        self.assertIn("All ranks", merged.text())
        self.assertIn("# ", merged.markdown())
        self.assertIn("<iframe", merged._repr_html_())
        merged.save(str(self.folder / "r.html"))
        self.assertIn("<html", (self.folder / "r.html").read_text(encoding="utf-8"))
        self.assertEqual(merged.provenance.command, "memtrace report summaries --max-members 3")

    def test_the_same_path_twice_and_a_damaged_one(self):
        whole = self.paths[3].read_bytes()
        self.paths[3].write_bytes(whole[:len(whole) // 2])
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            merged = cluster.summarize([self.paths[0], self.paths[0], self.paths[3]], pool)
        self.assertEqual(list(merged.summaries), [0, 1, 2])
        self.assertTrue(any("and again in" in w for w in merged.warnings), merged.warnings)
        self.assertTrue(any("the file ends" in w for w in merged.warnings), merged.warnings)

    def test_what_the_merge_does_not_take(self):
        summary = cluster.summary(self.paths[0])
        names = {0: "000000.mts", 1: "000001.mts"}
        merged = cluster._merged(names, {0: summary, 1: b"no summary"}, {}, {0: "", 1: ""}, None)
        self.assertEqual(list(merged.failed), [1])
        with self.assertRaises(cluster.MergeError) as e:
            cluster._merged(names, {0: summary}, {1: "gone"}, {0: ""}, "/nowhere/memtrace")
        self.assertEqual((e.exception.summaries, e.exception.failed), ({0: summary}, {1: "gone"}))

    def test_long_and_secret_names(self):
        long = self.folder / ("s3cret" + "\u00e9" * 115 + "_rank1.pickle")
        shutil.copyfile(SAMPLE, long)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.assertEqual(cluster.summarize([self.paths[0], long], pool).failed, {})
            merged = cluster.summarize([self.paths[0], long], pool, redact=True)
        self.assertNotIn("s3cret", json.dumps(merged["ranks"].to_dict()))

    def test_wrong_calls(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for one in (str(self.paths[0]), b"x", self.paths[0]):
                with self.assertRaises(TypeError):
                    cluster.summarize(one, pool)
            with self.assertRaisesRegex(MemtraceError, "no summary"):
                cluster.summarize(self.paths[:1], pool, help=True)
            self.assertIsNone(cluster.summarize(self.paths[:1], pool).ranks)

    def test_too_slow(self):
        slow = self.folder / "slow"
        slow.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
        slow.chmod(0o755)
        with self.assertRaisesRegex(MemtraceError, "not ready after"):
            cluster.summary(self.paths[0], binary=str(slow), timeout=0.05)
        with concurrent.futures.ThreadPoolExecutor(2) as pool, self.assertRaisesRegex(MemtraceError, "its task was lost: not ready"):
            cluster.summarize(self.paths[:1], pool, binary=str(slow), timeout=0.05, retries=0)


if __name__ == "__main__":
    unittest.main()
