#!/usr/bin/env python3
"""watch() and phase(): what they leave, and that the job does not notice. Every job runs twice, without and with them: standard output, exit
status and standard error, but for our own lines, are the same bytes. The PyTorch is the stand-in of tests/mock/python.

MEMTRACE_TEST_PYTHON: the interpreter to test with, if it is not the one that runs this."""

import glob
import json
import os
import re
import socket
import subprocess
import sys
import unittest

from kit import FAIL, MEMTRACE, SOURCE, Job

sys.path.insert(0, str(SOURCE / "python"))
import memtrace._watch as watching  # noqa: E402


class Watched(Job):
    def test_snapshot_page_and_the_line_of_the_report(self):
        lines = self.job("import torch" + FAIL + "watch()\nfail()\nprint('went on')", RANK="3")
        self.assertEqual([f.split("pid")[0] for f in self.files()], ["oom_rank3_"] * 3)
        snapshot, = glob.glob(str(self.folder / "*_1.pickle"))
        page, = glob.glob(str(self.folder / "*_1.html"))
        report = subprocess.run([MEMTRACE, "report", "--format=json", "-o", "-", snapshot], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(lines, ["[memtrace] %s Report: %s" % (json.loads(report)["verdict"]["sentence"], page)])
        self.assertGreater(os.path.getsize(page), 20000)
        summary, = glob.glob(str(self.folder / "*_1.mts"))
        self.assertLess(os.path.getsize(summary), 32769)
        small = subprocess.run([MEMTRACE, "report", "--format=json", "-o", "-", summary], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(json.loads(small)["verdict"], json.loads(report)["verdict"])

    def test_a_folder_that_is_named_by_host_rank_and_job(self):
        code = "import torch, memtrace._watch as w" + FAIL + """
os.environ.update(RANK='3', PBS_JOBID='9/1')
watch(folder + '/%h-%r-%j-%%-%x')
fail()
print(w._named('%r %p %j', None) == 'x %d 9_1' % os.getpid())
"""
        self.assertEqual(len(self.job(code)), 1)
        folder, = glob.glob(str(self.folder / "*"))
        self.assertEqual(os.path.basename(folder), "%s-3-9_1-%%-%%x" % socket.gethostname())
        self.assertEqual(len(os.listdir(folder)), 3)

    def test_the_launchers_of_the_program(self):
        table = (SOURCE / "parser" / "model" / "launchers.def").read_text(encoding="utf-8")
        for name, kind in (("RANKS", "RANK"), ("JOBS", "JOB")):
            said = tuple(re.findall(r'^MT_%s_VARIABLE\("(\w+)"\)' % kind, table, re.M))
            self.assertGreater(len(said), 3)
            self.assertEqual(getattr(watching, name), said)
        self.assertEqual(watching.NEEDS, dict(re.findall(r'^MT_RANK_NEEDS\("(\w+)", "(\w+)"\)', table, re.M)))

    def test_a_failure_that_ends_the_job(self):
        lines = self.job("import torch\nwatch()\ntorch.cuda.allocate(2 << 30)", status=1)
        self.assertEqual(len(lines), 1)
        self.assertEqual(len(self.files()), 3)

    def test_of_many_the_first_and_the_last_two(self):
        code = "import torch" + FAIL + "memtrace._watch.SHARE = 1e9\nwatch()\nfor i in range(6): fail()"
        self.assertEqual(len(self.job(code)), 6)
        self.assertEqual(sorted({f.split("_")[-1] for f in self.files()}), ["%d.%s" % (n, e) for n in (1, 5, 6) for e in ("html", "mts", "pickle")])

    def test_a_job_that_lives_with_failures_is_not_slowed(self):
        lines = self.job("import torch" + FAIL + "watch()\nfor i in range(50): fail()")
        self.assertEqual(len(lines), 3)

    def test_other_observers_and_histories(self):
        code = """
            import torch
            seen = []
            torch._C._cuda_attach_out_of_memory_observer(lambda *a: seen.append(('before', a)))
            torch.cuda.memory._record_memory_history(max_entries=7)
            watch()
            torch.cuda.init()
            torch._C._cuda_attach_out_of_memory_observer(lambda *a: seen.append(('after', a)))
            for i in range(2):
                try: torch.cuda.allocate(2 << 30)
                except torch.OutOfMemoryError: pass
            print(seen, torch._C.history)"""
        self.assertEqual(len(self.job(code)), 2)
        self.assertEqual([row["arguments"]["max_entries"] for row in self.called("record")], [7, 7])  # the job's own, in both runs

    def test_cuda_is_not_begun_for_it(self):
        self.job("import torch\nwatch()\nprint(torch.cuda.is_initialized())")
        self.assertFalse(os.path.exists(self.scratch / "log"))

    def test_the_compiler_is_not_imported(self):
        self.assertEqual(len(self.job("import torch" + FAIL + "watch()\nfail()\nprint('_inductor' in vars(torch))")), 1)
        self.assertEqual(self.called("compiler"), [])

    def test_versions_of_pytorch(self):
        for version in ("2.9", "2.1", "2.0", "1.13"):
            with self.subTest(version):
                self.assertEqual(len(self.job("import torch" + FAIL + "watch()\nfail()", FAKE_TORCH=version)), 1)
        for version in ("nocuda", "broken", "async"):
            with self.subTest(version):
                code = "try: import torch\nexcept ImportError: pass\nwatch()\nprint('on')"
                self.job(code + ("\ntorch.cuda.init()" if version == "async" else ""), FAKE_TORCH=version)
        line, = self.job("sys.path[:] = [p for p in sys.path if 'fake_torch' not in p]\nwatch()\nprint('on')")
        self.assertIn("nothing is watched", line)

    def test_nothing_can_be_written(self):
        (self.scratch / "file").write_text("")
        for code in ("import torch" + FAIL + "watch(folder + '/../file/oom')\nfail()",
                     "import torch, resource" + FAIL + "watch()\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\nfail()",
                     "import torch" + FAIL + "def broken(*a): raise RuntimeError('no')\ntorch.cuda.memory._dump_snapshot = broken\nwatch()\nfail()"):
            with self.subTest(code):
                line, = self.job(code, FAKE_TORCH_LOG="")
                self.assertIn("nothing could be saved", line)
        line, = self.job("import torch" + FAIL + "watch()\nfail()", MEMTRACE_PROGRAM="/nonexistent")
        self.assertIn("Snapshot: ", line)
        self.job("import torch" + FAIL + "watch()\nos.close(2)\nfail()")

    def test_a_full_disk_and_one_that_is_read_only(self):
        for options, then, want in (("size=64k", "dd if=/dev/zero of=full bs=4k >&- 2>&-", "nothing could be saved: "),  # no byte more
                                    ("size=24k", "true", "Snapshot: "),  # the snapshot, but not its page
                                    ("size=8m", "mount -o remount,ro .", "nothing could be saved: ")):
            with self.subTest(options + " " + then):
                self.on_a_disk(options, then)
                code = "import torch" + FAIL + "watch()\nfail()\nfail()\nprint(sorted(f for f in os.listdir(folder) if not f.startswith('oom_')))"
                lines = self.job(code, FAKE_TORCH_LOG="")
                self.assertEqual(len(lines), 2)
                self.assertTrue(all(want in line for line in lines), lines)

    def test_memory_runs_out_inside(self):
        code = "import torch" + FAIL + """
real = torch.cuda.memory._dump_snapshot
def dump(path):
    real(path)
    torch.cuda.allocate(2 << 30)
torch.cuda.memory._dump_snapshot = dump
watch()
fail()
fail()
"""
        self.assertEqual(len(self.job(code)), 2)

    def test_an_interrupt_goes_to_the_job(self):
        code = """
            import signal, torch
            def dump(path):
                open(path, 'w').close()
                os.kill(os.getpid(), signal.SIGINT)
            torch.cuda.memory._dump_snapshot = dump
            watch()
            if not WATCH: torch._C._cuda_attach_out_of_memory_observer(lambda *a: os.kill(os.getpid(), signal.SIGINT))
            try: torch.cuda.allocate(2 << 30)
            except KeyboardInterrupt: print('interrupted')"""
        self.assertEqual(self.job(code), [])
        self.assertEqual(self.files(), [])

    def test_an_interrupt_while_the_page_is_written_leaves_no_half(self):
        program = self.scratch / "program"
        program.write_text('#!/bin/sh\n: > "$5.1-0.tmp"\nkill -INT $PPID\nexec sleep 30\n')
        program.chmod(0o755)
        code = """
            import signal, torch
            watch()
            if not WATCH: torch._C._cuda_attach_out_of_memory_observer(lambda *a: os.kill(os.getpid(), signal.SIGINT))
            try: torch.cuda.allocate(2 << 30)
            except KeyboardInterrupt: print('interrupted')"""
        self.assertEqual(self.job(code, MEMTRACE_PROGRAM=str(program)), [])
        self.assertEqual([name.split(".")[-1] for name in self.files()], ["pickle"])

    def test_fork_spawn_threads(self):
        fork = "import torch" + FAIL + """
watch()
torch.cuda.init()
pid = os.fork()
if pid == 0:
    for observer in torch._C.observers: observer(0, 1, 1, 0)
    os._exit(7)
print(os.waitpid(pid, 0)[1])
"""
        self.assertEqual(self.job(fork), [])
        threads = "import torch, threading" + FAIL + """
watch()
torch.cuda.init()
many = [threading.Thread(target=fail) for i in range(8)]
for t in many: t.start()
for t in many: t.join()
"""
        self.assertGreaterEqual(len(self.job(threads)), 1)

    def test_spawned_processes(self):
        code = """
            import multiprocessing, torch
            def work(folder, watched):
                if watched: memtrace.watch(folder)
                try: torch.cuda.allocate(2 << 30)
                except torch.OutOfMemoryError as e: print("caught", e, flush=True)
            if __name__ == "__main__":
                watch()
                for i in range(2):
                    p = multiprocessing.get_context("spawn").Process(target=work, args=(folder, WATCH))
                    p.start()
                    p.join()
                    print(p.exitcode)"""
        self.assertEqual(len(self.job(code)), 2)
        self.assertEqual(len({f.split("_")[1] for f in self.files()}), 2)  # the pids
        self.assertEqual(len(self.files()), 6)

    def test_ranks_of_launchers(self):
        for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"):
            with self.subTest(name):
                self.job("import torch" + FAIL + "watch()\nfail()", **{name: "41", "SLURM_STEP_NUM_TASKS": "64"})
                self.assertTrue(all(f.startswith("oom_rank41_") for f in self.files()), self.files())
        self.job("import torch" + FAIL + "watch(folder + '/batch')\nfail()", SLURM_PROCID="0")  # a batch script, and what it starts by itself
        self.assertEqual([f for f in os.listdir(self.folder / "batch") if "rank" in f], [])
        told = """
import types
torch.distributed = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 5)
watch(folder + '/vllm')
fail()
"""
        self.job("import torch" + FAIL + told, RANK="0")  # as in a worker of vLLM, whose group knows better
        self.assertEqual({f.split("_")[1] for f in os.listdir(self.folder / "vllm")}, {"rank5"})

    def test_eight_processes_in_one_folder(self):
        code = "import torch" + FAIL + "watch()\nfail()"
        command = self.command(code, True)
        many = [subprocess.Popen(command, env=self.environment({"SLURM_PROCID": str(i), "SLURM_STEP_NUM_TASKS": "8"}), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for i in range(8)]
        lines = [p.communicate(timeout=120)[1].decode().splitlines() for p in many]
        self.assertTrue(all(p.returncode == 0 and len(line) == 1 for p, line in zip(many, lines)), lines)
        self.assertEqual({f.split("_")[1] for f in self.files()}, {"rank%d" % i for i in range(8)})
        self.assertEqual(len(self.files()), 24)

    def test_phases(self):
        code = """
            import types, torch
            calls = []
            class Function:
                def __init__(self, name): self.name = name
                def __enter__(self): calls.append('+' + self.name)
                def __exit__(self, *why): calls.append('-' + self.name)
            on = [False]
            torch.autograd = types.SimpleNamespace(profiler=types.SimpleNamespace(record_function=Function), _profiler_enabled=lambda: on[0])
            phase = memtrace.phase
            with phase('off'): pass
            on[0] = True
            with phase('a'), phase('b'): pass
            @phase('again')
            def again(n): return n and again(n - 1)
            again(1)
            one = phase('one')
            with one:
                with one: pass
            try:
                with phase('error'): raise ValueError('the job')
            except ValueError as e: calls.append(str(e))
            def broken(self, *why): raise RuntimeError
            Function.__exit__ = broken
            with phase('broken'): pass
            del torch.autograd
            with phase('gone'): pass
            want = '+a +b -b -a +again +again -again -again +one +one -one -one +error -error'.split() + ['the job', '+broken']
            assert calls == want, calls
            print('done')"""
        self.assertEqual(self.job(code), [])


if __name__ == "__main__":
    unittest.main()
