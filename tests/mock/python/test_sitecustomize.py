#!/usr/bin/env python3
"""The PyTorch hook (capture/site) with a fake torch: what it records and dumps, and that the job does not notice.

Every job below is run twice, without and with the hook; standard output, standard error and exit status must be the same bytes.
MEMTRACE_TEST_PYTHON: the interpreter to test with, if it is not the one that runs this."""
import glob
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("MT_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SITE = os.path.join(SOURCE, "capture", "site")
PYTHON = os.environ.get("MEMTRACE_TEST_PYTHON") or sys.executable
PRELUDE = "import os, sys\nsys.path.insert(0, %r)\n" % os.path.join(HERE, "fake_torch")


class Run:
    """A job with the hook, compared with the same job without it."""

    def __init__(self, test, code, flags=(), env=None, status=0, hook=True, path=(), compare=True, send=None, main=None):
        self.dir = tempfile.mkdtemp(prefix="memtrace-hook-")
        test.addCleanup(shutil.rmtree, self.dir, True)
        self.spool = os.path.join(self.dir, "spool")
        os.mkdir(self.spool)
        script = os.path.join(self.dir, "job.py")
        with open(script, "w") as f:
            f.write(PRELUDE + textwrap.dedent(code))
        results = []
        for with_hook in (False, True) if compare else (True,):
            e = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MEMTRACE_", "RANK"))}
            e.update(PYTHONDONTWRITEBYTECODE="1", FAKE_TORCH_LOG=os.path.join(self.dir, "log%d" % with_hook), SITE=SITE)
            e.update(env or {})
            paths = list(path)
            if with_hook:
                e["MEMTRACE_SPOOL"] = self.spool
                if hook:
                    paths.insert(0, SITE)
            if paths:
                e["PYTHONPATH"] = os.pathsep.join(paths)
            argv = [PYTHON, "-B", *flags] + (main or [script])
            p = subprocess.Popen(argv, env=e, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if send:
                p.stdout.readline()
                p.send_signal(send)
            results.append(p.communicate(timeout=120) + (p.returncode,))
        self.stdout, self.stderr, self.status = results[-1]
        if compare:
            test.assertEqual(results[0], results[1], "the job noticed")
        test.assertEqual(self.status, status, self.stderr.decode(errors="replace"))
        self.files = sorted(os.listdir(self.spool))
        test.assertFalse([f for f in self.files if f.endswith(".part")], "a file was left half written")

    def dumps(self):
        return [f for f in self.files if f.endswith(".pickle")]

    def kinds(self):
        """What the dumps are for, in order of their names."""
        return [re.search(r"-(oom\d|exit|usr\d|own)-dev", f).group(1) for f in self.dumps()]

    def log(self, what, with_hook=1):
        try:
            with open(os.path.join(self.dir, "log%d" % with_hook)) as f:
                return [x for x in map(json.loads, f) if x["what"] == what]
        except FileNotFoundError:
            return []

    def notes(self):
        text = ""
        for name in sorted(glob.glob(os.path.join(self.spool, "*-torch.txt"))):
            with open(name) as f:
                text += f.read()
        return text


USE = "import torch\ntorch.cuda.init()\nprint('used', flush=True)\n"
OOM = "def oom():\n    try:\n        torch.cuda.allocate(1 << 40)\n    except RuntimeError as e:\n        print(e)\n"


class Hook(unittest.TestCase):
    def test_plain(self):
        r = Run(self, USE)
        self.assertEqual(r.kinds(), ["exit"])
        self.assertRegex(r.dumps()[0], r"^mt-.+-\d+-0-rankx-exit-dev0\.pickle$")
        with open(os.path.join(r.spool, r.dumps()[0]), "rb") as f:
            self.assertIn("segments", pickle.load(f))
        a = r.log("record")[0]["arguments"]
        self.assertEqual((a["enabled"], a["context"], a["stacks"], a["max_entries"], a["global_record_annotations"]),
                         ("all", "alloc", "python", 100000, True))
        self.assertEqual(len(r.log("record")), 1)
        self.assertEqual(len(r.log("init")), 1)

    def test_the_name_follows_the_files_of_the_library(self):
        code = USE.replace("torch.cuda.init()", """
            h, p = os.uname().nodename, os.getpid()
            if "MEMTRACE_SPOOL" in os.environ:
                d = os.environ["MEMTRACE_SPOOL"]
                for i, n in enumerate(["mt-%s-%d-00000000000000aa.gz", "mt-%s-%d-00000000000000bb.spool", "mt-%s-1%d-00000000000000cc.spool",
                                       "mt-%s-%d-zz.spool", "mt-%s-%d-00000000000000dd.txt"]):
                    open(os.path.join(d, n % (h, p)), "w").close()
                open(os.path.join(d, "mt-a-b-%d-00000000000000ee.spool" % p), "w").close()
            torch.cuda.init()
            """.replace("\n            ", "\n"))
        r = Run(self, code, env={"RANK": "7"})
        self.assertEqual(len(r.dumps()), 1)
        self.assertRegex(r.dumps()[0], r"-00000000000000bb-rank7-exit-dev0\.pickle$")
        self.assertTrue(any(f.endswith("-00000000000000bb-torch.txt") for f in r.files))

    def test_old_signatures(self):
        want = {"2.1": {"enabled": "all", "max_entries": 7, "context": "all", "stacks": "all"},
                "2.0": {"enabled": True, "trace_alloc_max_entries": 7, "trace_alloc_record_context": True, "record_context_cpp": True},
                "1.13": {"enabled": True}}
        for version, expected in want.items():
            with self.subTest(version):
                r = Run(self, USE, env={"FAKE_TORCH": version, "MEMTRACE_TORCH_MAX_ENTRIES": "7", "MEMTRACE_TORCH_STACKS": "all",
                                        "MEMTRACE_TORCH_CONTEXT": "all"})
                a = r.log("record")[0]["arguments"]
                self.assertEqual({k: a[k] for k in expected}, expected)
                self.assertEqual(r.kinds(), ["exit"])

    def test_only_imported(self):
        r = Run(self, "import torch\nprint(torch.cuda.is_initialized(), torch.cuda.memory.__loader__.__class__.__name__)\n")
        self.assertEqual(r.files, [])
        self.assertEqual(r.log("init"), [])

    def test_without_torch(self):
        r = Run(self, "print([type(f).__name__ for f in sys.meta_path if type(f).__name__ != 'Finder'])\n"
                      "try:\n    import torch.nothing_of_this_name\nexcept ImportError as e:\n    print(e)\n")
        self.assertEqual(r.files, [])
        r = Run(self, "sys.path.pop(0)\nimport torch\n", status=1)
        self.assertEqual(r.files, [])

    def test_torch_that_cannot_be_imported(self):
        self.assertEqual(Run(self, USE, env={"FAKE_TORCH": "broken"}, status=1).files, [])

    def test_torch_without_cuda(self):
        self.assertEqual(Run(self, USE, env={"FAKE_TORCH": "nocuda"}, status=1).files, [])

    def test_allocator_without_history(self):
        r = Run(self, USE, env={"FAKE_TORCH": "async"})
        self.assertEqual(r.dumps(), [])
        self.assertIn("recording failed", r.notes())
        self.assertIn("cudaMallocAsync", r.notes())

    def test_switched_off(self):
        for off in ("0", "off", "no"):
            self.assertEqual(Run(self, USE, env={"MEMTRACE_TORCH": off}).files, [])

    def test_no_spool(self):
        r = Run(self, USE + "os.environ.pop('MEMTRACE_SPOOL', None)\n")
        self.assertEqual(r.kinds(), ["exit"])
        code = "import subprocess\nprint(subprocess.call([sys.executable, '-c', 'import torch; torch.cuda.init()']))\n"
        r = Run(self, "os.environ['PYTHONPATH'] = os.environ['SITE'] + ':' + sys.path[0]\nos.environ['MEMTRACE_SPOOL'] = '/nonexistent'\n" + code)
        self.assertEqual(r.files, [])

    def test_out_of_memory(self):
        r = Run(self, USE + OOM + "for i in range(3):\n    oom()\n")
        self.assertEqual(r.kinds(), ["exit", "oom1", "oom2", "oom3"])
        self.assertTrue(all(f.endswith("dev1.pickle") for f in r.dumps() if "oom" in f))
        self.assertEqual(len(r.log("dump")), 4)

    def test_many_out_of_memory(self):
        """The first and the last two stay; a storm is not followed, one after a rest is."""
        hook = "import time, types\nhook = getattr(sys, '_memtrace_hook', types.SimpleNamespace(oom_next=0))\n"
        r = Run(self, USE + OOM + hook + "for i in range(6):\n    oom()\n    while time.monotonic() < hook.oom_next:\n        time.sleep(0.01)\n")
        self.assertEqual(r.kinds(), ["exit", "oom1", "oom5", "oom6"])
        r = Run(self, USE + OOM + hook + "for i in range(3):\n    oom()\nhook.oom_next += 1000\nfor i in range(50):\n    oom()\n")
        self.assertEqual(r.kinds(), ["exit", "oom1", "oom2", "oom3"])

    def test_rank(self):
        for env, rank in (({"OMPI_COMM_WORLD_RANK": "7"}, "7"), ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}, "3"), ({"SLURM_PROCID": "0"}, "x"), ({"RANK": "1", "SLURM_PROCID": "3"}, "1"), ({}, "x")):
            self.assertIn(f"-rank{rank}-", Run(self, USE, env=env).dumps()[0])

    def test_out_of_memory_that_kills(self):
        r = Run(self, USE + "torch.cuda.allocate(1 << 40)\n", status=1)
        self.assertEqual(r.kinds(), ["exit", "oom1"])

    def test_exits(self):
        self.assertEqual(Run(self, USE + "sys.exit(3)\n", status=3).kinds(), ["exit"])
        self.assertEqual(Run(self, USE + "raise KeyError('x')\n", status=1).kinds(), ["exit"])
        self.assertEqual(Run(self, USE + OOM + "oom()\nsys.stdout.flush()\nos._exit(4)\n", status=4).kinds(), ["oom1"])
        self.assertEqual(Run(self, USE + "os.kill(os.getpid(), 9)\n", status=-9).kinds(), [])
        self.assertEqual(Run(self, USE + "import atexit\natexit.register(print, 'bye')\nos.abort()\n", status=-6).kinds(), [])
        self.assertEqual(Run(self, "import atexit\natexit.register(print, 'bye')\n" + USE).kinds(), ["exit"])

    def test_sigusr2(self):
        wait = "import time\nfor i in range(600):\n    time.sleep(0.05)\n    if done(): break\n"
        r = Run(self, USE + "import glob\ndef done(): return glob.glob(os.environ['MEMTRACE_SPOOL'] + '/*usr1*.pickle')\n" + wait,
                send=signal.SIGUSR2, compare=False)
        self.assertEqual(r.kinds(), ["exit", "usr1"])
        # the program's own handler stays, whether it was there before or comes later
        own = "import signal\ngot = []\nsignal.signal(signal.SIGUSR2, lambda *a: got.append(1))\n"
        done = "def done(): return got\n"
        for code in (own + USE, USE.replace("print", own + "print")):
            r = Run(self, code + done + wait + "print(got)\n", send=signal.SIGUSR2)
            self.assertEqual(r.kinds(), ["exit"])
        r = Run(self, own + USE)
        self.assertIn("SIGUSR2 is not handled", r.notes())
        # a handler that Python does not know of
        r = Run(self, "import faulthandler, signal\nfaulthandler.register(signal.SIGUSR2, file=open(os.devnull, 'w'))\n" + USE)
        self.assertIn("SIGUSR2 is not handled", r.notes())
        # without CUDA it kills, as ever; and a forked child too
        Run(self, "import torch\nprint(1, flush=True)\nimport time\ntime.sleep(60)\n", send=signal.SIGUSR2, status=-signal.SIGUSR2)
        r = Run(self, USE + "import signal, time\na, b = os.pipe()\npid = os.fork()\nif pid == 0:\n    os.write(b, b'x')\n"
                      "    time.sleep(60)\n    os._exit(1)\nos.read(a, 1)\nos.kill(pid, signal.SIGUSR2)\nprint(os.waitpid(pid, 0)[1])\n")
        self.assertIn(b"12", r.stdout)
        self.assertEqual(r.kinds(), ["exit"])

    def test_forked_children(self):
        # the parent only imports: the child initialises CUDA and dumps under its own pid
        r = Run(self, "import torch\npid = os.fork()\nif pid == 0:\n    torch.cuda.init()\n    sys.exit(5)\n"
                      "print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]), torch.cuda.is_initialized())\n")
        self.assertEqual(r.kinds(), ["exit"])
        self.assertEqual(len(r.log("record")), 1)
        self.assertIn("-%d-0-rankx" % r.log("record")[0]["pid"], r.dumps()[0])
        # both: two dumps
        r = Run(self, "import torch\npid = os.fork()\ntorch.cuda.init()\nif pid:\n    os.waitpid(pid, 0)\n")
        self.assertEqual(r.kinds(), ["exit", "exit"])
        # the parent has CUDA: the child cannot, and neither dumps nor disturbs
        r = Run(self, USE + OOM + "pid = os.fork()\nif pid == 0:\n    try:\n        torch.cuda.init()\n    except RuntimeError as e:\n"
                      "        print(e)\n    sys.exit(0)\nos.waitpid(pid, 0)\n")
        self.assertEqual(r.kinds(), ["exit"])

    def test_multiprocessing(self):
        job = """
            import multiprocessing as mp
            def work(i):
                import torch
                torch.cuda.init()
                return os.getpid() > 0
            if __name__ == "__main__":
                import torch
                mp.set_start_method(%r)
                with mp.Pool(2) as pool:
                    print(pool.map(work, range(2), 1))
                    pool.close()
                    pool.join()
                p = mp.Process(target=work, args=(1,))
                p.start()
                p.join()
                print(p.exitcode)
            """
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                r = Run(self, job % method)
                pids = {x["pid"] for x in r.log("record")}
                self.assertEqual(len(r.log("record")), len(pids))
                self.assertGreaterEqual(len(pids), 2)
                self.assertEqual(sorted(re.search(r"-(\d+)-0-rankx-exit", f).group(1) for f in r.dumps()), sorted(map(str, pids)))
                self.assertEqual(len(r.log("init")), len(pids))

    def test_programs_own_recording(self):
        # what was recorded before it is kept, and at the first failure its history is read, if it has a bound
        for call, kinds in (("torch.cuda.memory._record_memory_history()", []),
                            ("torch.cuda.memory._record_memory_history(max_entries=5)", ["oom1"]),
                            ("torch.cuda.memory._record_memory_history('all', max_entries=10**7)", []),
                            ("torch.cuda.init(); torch.cuda.memory._record_memory_history('all', max_entries=5)", ["oom1", "own"]),
                            ("from torch.cuda.memory import _record_memory_history as f; torch.cuda.init(); f(enabled='all')", ["own"])):
            with self.subTest(call):
                r = Run(self, "import torch\n" + OOM + call + "\noom()\noom()\ntorch.cuda.memory._dump_snapshot('mine.pickle')\n"
                              "torch.cuda.memory._record_memory_history(enabled=None)\n")
                self.assertEqual(r.kinds(), kinds)
                self.assertEqual(r.notes().count("left alone"), 1)
                own = [x["arguments"] for x in r.log("record", 0)]
                self.assertEqual([x["arguments"] for x in r.log("record")][-len(own):], own)

    def test_program_switches_off_what_it_had_not_switched_on(self):
        for call in ("torch.cuda.init(); torch.cuda.memory._record_memory_history(enabled=None)",
                     "torch.cuda.memory._record_memory_history(None)"):
            with self.subTest(call):
                r = Run(self, "import torch\n" + OOM + call + "\noom()\n")
                self.assertEqual(r.kinds(), ["exit", "oom1"])
                self.assertNotIn("left alone", r.notes())
                self.assertEqual(r.log("record")[-1]["arguments"]["enabled"], "all")

    def test_signature_is_kept(self):
        Run(self, "import inspect, torch\nf = torch.cuda.memory._record_memory_history\n"
                  "print(f.__name__, f.__module__, inspect.signature(f), f.__doc__)\n")

    def test_error_in_the_hook(self):
        r = Run(self, "import torch\ndef broken(*a): raise OSError('no room')\ntorch.cuda.memory._dump_snapshot = broken\n"
                      "torch._C._cuda_attach_out_of_memory_observer = broken\ntorch.cuda.init()\n")
        self.assertEqual(r.dumps(), [])
        self.assertIn("dump exit failed", r.notes())
        self.assertIn("out of memory observer failed", r.notes())
        self.assertIn("OSError: no room", r.notes())
        r = Run(self, "import torch\ndel torch.cuda.memory._record_memory_history\ntorch.cuda.init()\n")
        self.assertIn("recording failed", r.notes())
        r = Run(self, USE + "if 'MEMTRACE_SPOOL' in os.environ:\n    import shutil\n    shutil.rmtree(os.environ['MEMTRACE_SPOOL'])\n"
                            "    os.mkdir(os.environ['MEMTRACE_SPOOL'], 0o500)\n")

    def test_the_compiler_is_not_imported(self):
        r = Run(self, "import torch\ntorch.cuda.init()\n")
        self.assertEqual(r.kinds(), ["exit"])
        self.assertEqual(r.log("compiler"), [])
        # what the job does with it stays as it is, also while a snapshot is taken
        for code in ("import torch._inductor\n" + OOM + "torch.cuda.init()\noom()\nprint(torch._inductor.codecache)\n",
                     "import torch\n" + OOM + "old = torch.cuda.memory._dump_snapshot\ndef dump(name):\n    torch._inductor.log\n    old(name)\n"
                     "torch.cuda.memory._dump_snapshot = dump\ntorch.cuda.init()\noom()\ndump('mine.pickle')\nprint(torch._inductor.codecache)\n"):
            with self.subTest(code):
                self.assertEqual(len(Run(self, code).log("compiler")), 1)

    def test_full_disk(self):
        r = Run(self, "import torch\ndef half(name):\n    with open(name, 'wb') as f:\n        f.write(b'x')\n    raise OSError(28, 'No space')\n"
                      "torch.cuda.memory._dump_snapshot = half\ntorch.cuda.init()\n")
        self.assertEqual([f for f in r.files if "pickle" in f], [])

    def test_shadowed_sitecustomize(self):
        d = tempfile.mkdtemp(prefix="memtrace-shadow-")
        self.addCleanup(shutil.rmtree, d, True)

        def shadow(text):
            with open(os.path.join(d, "sitecustomize.py"), "w") as f:
                f.write(text)

        shadow("import sys\nsys.users = __name__, __file__, __spec__.name\nvalue = 42\n")
        r = Run(self, "import sitecustomize\nprint(sys.users, sitecustomize.value, sitecustomize.__file__)\n" + USE, path=[d])
        self.assertEqual(r.kinds(), ["exit"])
        shadow("import a_module_that_is_not_there\n")
        r = Run(self, USE, path=[d])
        self.assertEqual(r.kinds(), ["exit"])
        shadow("raise ValueError('theirs')\n")
        r = Run(self, USE, path=[d])
        self.assertIn(b"theirs", r.stderr)
        os.mkdir(os.path.join(d, "p"))
        shadow("import sys\nsys.users = 1\n")
        r = Run(self, "print(sys.users)\n" + USE, path=["", d, SITE, SITE + "/"])
        self.assertEqual(r.kinds(), ["exit"])

    def test_isolated(self):
        # PYTHONPATH does not reach it: nothing happens here, the library's own way does it (below)
        for flag in ("-I", "-E", "-S"):
            self.assertEqual(Run(self, USE, flags=[flag], hook=True).dumps() if flag != "-S" else [], [])

    def test_late_installation(self):
        """As capture/inject/python.c does it: in the middle of the first initialisation, or after it."""
        late = ("def late():\n    if 'MEMTRACE_SPOOL' not in os.environ: return\n    p = os.path.join(os.environ['SITE'], '_memtrace_hook.py')\n"
                "    exec(compile(open(p, 'rb').read(), p, 'exec'), {'__name__': '_memtrace_hook', '__file__': p, '_memtrace_late': True})\n")
        inside = late + ("import torch\nreal = torch._C._cuda_init\ndef init():\n    real()\n    late()\n"
                         "torch._C._cuda_init = init\ntorch.cuda.init()\n")
        for code in (inside, late + USE + "late()\n", late + "late()\n" + USE, late + USE + "late()\nlate()\n"):
            for flag in ("-I", "-s"):
                r = Run(self, code, flags=[flag], hook=False)
                self.assertEqual(r.kinds(), ["exit"])
                self.assertEqual(len(r.log("record")), 1)
        r = Run(self, late + USE + "late()\n")  # with both: once
        self.assertEqual(len(r.log("record")), 1)
        r = Run(self, late + "import torch\ntorch.cuda.memory._record_memory_history()\nlate()\n", hook=False)
        self.assertEqual(r.dumps(), [])

    def test_threads(self):
        r = Run(self, "import threading, torch\nt = threading.Thread(target=torch.cuda.init)\nt.start()\nt.join()\n" + OOM +
                      "ts = [threading.Thread(target=oom) for i in range(8)]\nfor t in ts: t.start()\nfor t in ts: t.join()\n")
        self.assertIn("exit", r.kinds())
        self.assertIn("oom1", r.kinds())
        self.assertIn("another thread", r.notes())

    def test_other_ways_to_start(self):
        self.assertEqual(Run(self, "", main=["-c", PRELUDE + USE]).kinds(), ["exit"])
        self.assertEqual(Run(self, "", main=["-X", "dev", "-W", "error", "-c", PRELUDE + USE]).kinds(), ["exit"])
        r = Run(self, "import subprocess\nsubprocess.check_call([sys.executable, '-c', %r])\n" % (PRELUDE + USE))
        self.assertEqual(r.kinds(), ["exit"])
        r = Run(self, "import venv\nvenv.create('v', with_pip=False, symlinks=True)\nimport subprocess\n"
                      "subprocess.check_call(['v/bin/python', '-c', %r])\n" % (PRELUDE + USE))
        self.assertEqual(r.kinds(), ["exit"])

    def test_names_it_leaves(self):
        Run(self, "print(sorted(k for k in sys.modules if 'memtrace' in k), [k for k in vars(sys.modules['__main__']) if 'memtrace' in k])\n")


if __name__ == "__main__":
    if not hasattr(os, "fork"):
        print("# skipped: needs fork()")
        sys.exit(77)
    unittest.main(verbosity=1)
