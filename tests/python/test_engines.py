#!/usr/bin/env python3
"""memtrace.cluster on engines that users have, where their packages are installed: Dask with a scheduler and workers of its own, one of which is
killed in the middle; mpi4py.futures; Ray. About 10 s. Each that is not installed is skipped by name."""

import concurrent.futures
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("MT_SOURCE_DIR") or HERE.parents[1])
MEMTRACE = os.environ.get("MEMTRACE") or str(SOURCE / "build" / "memtrace")
SAMPLE = SOURCE / "samples" / "verl_grpo_oom_logprob.pickle"
RANKS = 12
# Debian's packages are for Debian's Python, which need not be the one that runs this.
PYTHONS = [sys.executable, "/usr/bin/python3"]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "python"))
os.environ["MEMTRACE_PROGRAM"] = MEMTRACE
os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE / "python"), str(HERE)])


def has(*modules):
    return all(importlib.util.find_spec(m) is not None for m in modules)


def slow(mark, task, *arguments):
    """The first task that comes here says who it is and waits to be killed."""
    try:
        with os.fdopen(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY), "w", encoding="utf-8") as f:
            f.write("%d\n" % os.getpid())
        time.sleep(600)
    except FileExistsError:
        pass
    return task(*arguments)


class Engines(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="memtrace-engines-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.paths = [str(self.folder / ("snapshot_rank%d.pickle" % i)) for i in range(RANKS)]
        for path in self.paths:
            shutil.copyfile(SAMPLE, path)

    def merged(self, merged):
        self.assertEqual(merged.failed, {})
        self.assertEqual([row.rank for row in merged["ranks"].rows], list(range(RANKS)))
        self.assertEqual(merged["ranks"].groups[0].rows, RANKS)

    def start(self, *command):
        """A process in a session of its own, which is gone after the test."""
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    @unittest.skipUnless(has("distributed"), "python3-distributed is not installed")
    def test_dask(self):
        import distributed

        from memtrace import cluster

        where = self.folder / "scheduler.json"
        self.start(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                   "--scheduler-file", str(where))
        workers = [self.start(sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(where), "--nthreads", "2", "--no-nanny",
                              "--no-dashboard", "--name", "w%d" % i, "--local-directory", str(self.folder / ("w%d" % i))) for i in range(3)]
        with distributed.Client(scheduler_file=str(where), timeout=60) as client:
            client.wait_for_workers(3, timeout=60)
            with client.get_executor() as pool:
                self.merged(cluster.summarize(self.paths, pool))
            # Dask gives up a task whose workers died too often, at once where that is not allowed at all: ours is then run again by us
            for allowed in (3, 0):
                with self.subTest(allowed=allowed), client.get_executor(pure=False) as pool:
                    client.run_on_scheduler(lambda n, dask_scheduler: setattr(dask_scheduler, "allowed_failures", n), allowed)
                    mark = self.folder / ("held%d" % allowed)
                    self.merged(self.with_a_death(cluster, Marked(pool, str(mark)), mark, workers))

    def with_a_death(self, cluster, pool, mark, workers):
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            result = beside.submit(cluster.summarize, self.paths, pool)
            end = time.monotonic() + 60
            while not (mark.exists() and mark.read_text().endswith("\n")):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
            held = int(mark.read_text())
            self.assertIn(held, [w.pid for w in workers])
            os.kill(held, signal.SIGKILL)
            return result.result(120)

    @unittest.skipUnless(has("mpi4py") and shutil.which("mpiexec"), "python3-mpi4py or mpiexec is not installed")
    def test_mpi(self):
        job = self.folder / "job.py"
        job.write_text("import sys\nfrom mpi4py.futures import MPIPoolExecutor\nfrom memtrace import cluster\n"
                       "if __name__ == '__main__':\n    with MPIPoolExecutor() as pool:\n        r = cluster.summarize(sys.argv[1:], pool)\n"
                       "    print(len(r['ranks'].rows), r.failed, r.verdict.sentence)\n", encoding="utf-8")
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        done = subprocess.run(["mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures", str(job), *self.paths], env=env, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("%d {} Rank 0, device 0 ran out of memory" % RANKS, done.stdout)

    @unittest.skipUnless(has("ray"), "Ray is not installed")
    def test_ray(self):
        import ray

        from memtrace import cluster

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        self.addCleanup(ray.shutdown)
        self.merged(cluster.summarize(self.paths, RayExecutor(ray)))


class Marked(concurrent.futures.Executor):
    """Every task passes slow()."""

    def __init__(self, pool, mark):
        self.pool, self.mark = pool, mark

    def submit(self, fn, /, *args, **kwargs):
        return self.pool.submit(slow, self.mark, fn, *args, **kwargs)


class RayExecutor(concurrent.futures.Executor):
    """As in docs/cluster.md."""

    def __init__(self, ray):
        self.ray = ray

    def submit(self, fn, /, *args, **kwargs):
        return self.ray.remote(fn).remote(*args, **kwargs).future()


if __name__ == "__main__":
    wanted = ("distributed", "mpi4py", "ray")
    best = max(PYTHONS, key=lambda p: subprocess.run(
        [p, "-c", "import importlib.util as u; print(sum(u.find_spec(m) is not None for m in %r))" % (wanted,)],
        stdout=subprocess.PIPE, check=False).stdout.strip() if os.access(p, os.X_OK) else b"")
    if best != sys.executable and not os.environ.get("MT_ENGINES_PYTHON"):
        os.environ["MT_ENGINES_PYTHON"] = best
        os.execv(best, [best, *sys.argv])
    if not any(map(has, wanted)):
        print("# skipped: python3-distributed, python3-mpi4py and Ray are not installed")
        sys.exit(77)
    unittest.main(verbosity=2)
