"""watch(): when PyTorch runs out of memory, a snapshot, a page and one line. Nothing in it may fail the job or change what it does.

Only PyTorch's own observer of failures is used, beside whatever others there are, and a memory history is switched on only where none is
on. Every step may fail for itself; what failed is the line then. Interrupts go to the job, as without us."""

import glob
import importlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from ._program import program
from ._upload import Left, Upload, give, wanted

# Those of parser/model/launchers.def; torchrun, Ray and vLLM set the first.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
NEEDS = {"SLURM_PROCID": "SLURM_STEP_NUM_TASKS"}  # a rank only where that is set: a batch script has the first, too
JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "RAY_JOB_ID", "TORCHELASTIC_RUN_ID")
LAST = 2        # kept beside the first
SHARE = 0.05    # of the time since watch(), after the first three, for failures that a job lives with
LIMIT = 60.0    # seconds that a page and its summary may take


def _say(text: str) -> None:
    try:
        os.write(2, ("[memtrace] " + text + "\n").encode("utf-8", "replace"))
    except OSError:
        pass


def _rank(torch: Any) -> Optional[int]:
    try:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return int(torch.distributed.get_rank())
    except Exception:
        pass
    for name in RANKS:
        if os.environ.get(name, "").isdigit() and (name not in NEEDS or os.environ.get(NEEDS[name])):
            return int(os.environ[name])
    return None


def _named(folder: str, rank: Optional[int]) -> str:
    """As the program names its outputs (cli/pattern.h): %h the host, %r the rank, %j the job, %p the process. What is not known is an x,
    since a job must not fail for it."""
    job = next((v for v in map(os.environ.get, JOBS) if v), "x")
    values = {"h": socket.gethostname(), "r": "x" if rank is None else str(rank), "j": job, "p": str(os.getpid()), "%": "%"}

    def safe(value: str) -> str:
        plain = value.lstrip(".")  # no name begins with a dot: ".." is another folder
        return "_" * (len(value) - len(plain)) + re.sub("[/\x00-\x1f]", "_", plain)

    return re.sub("%([hrjp%])", lambda m: safe(values[m.group(1)]), folder)


class _NoCompiler:
    """As no_compiler of the recorder's hook (capture/site/_memtrace_hook.py), where the reason stands."""

    def __getattr__(self, name: str) -> Any:
        if name == "codecache":
            raise AttributeError(name)
        return getattr(importlib.import_module("torch._inductor"), name)


def dump(torch: Any, path: str) -> None:
    memory, names, spare = torch.cuda.memory, vars(torch), _NoCompiler()
    spared = "torch._inductor" not in sys.modules and names.setdefault("_inductor", spare) is spare
    try:
        if hasattr(memory, "_dump_snapshot"):
            memory._dump_snapshot(path)
        else:  # 1.13
            import pickle

            with open(path, "wb") as file:
                pickle.dump(memory._snapshot(), file)
    finally:
        if spared and names.get("_inductor") is spare:
            del names["_inductor"]


class Watch:
    """The one of this process."""

    def __init__(self) -> None:
        self.folder = ""
        self.pid = 0
        self.begun = self.spent = 0.0
        self.failures = 0
        self.upload: List[Any] = []
        self.kept: List[str] = []  # stems of the last ones, the first left out
        self.lock = threading.Lock()

    def start(self, folder: str, entries: int, stacks: str, upload: Upload) -> None:
        torch: Any = importlib.import_module("torch")
        fresh = self.pid != os.getpid()
        self.folder = os.path.abspath(folder)
        self.upload = wanted(upload, _say)
        if not fresh:
            return
        attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None) or getattr(torch._C, "_cuda_attachOutOfMemoryObserver", None)
        if attach is None:
            _say("watch: this PyTorch has no CUDA, or is older than 1.13: nothing is watched")
            return
        if self.pid:  # a fork of a process that watched
            self.failures, self.kept, self.lock = 0, [], threading.Lock()
        self.pid, self.begun = os.getpid(), time.monotonic()
        # CUDA is not initialised by us: programs that fork first would break
        torch.cuda._lazy_call(lambda: self.begin(torch, attach, entries, stacks))

    def begin(self, torch: Any, attach: Callable[..., Any], entries: int, stacks: str) -> None:
        try:
            enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
            if enabled is None or not enabled():
                self.record(torch, entries, stacks)
            attach(self.observed)
        except Exception as e:
            _say("watch: nothing is watched: %s" % e)

    @staticmethod
    def record(torch: Any, entries: int, stacks: str) -> None:
        import inspect

        function = torch.cuda.memory._record_memory_history
        names = inspect.signature(function).parameters
        if "max_entries" in names:
            wanted = {"enabled": "all", "context": "alloc", "stacks": stacks, "max_entries": entries, "global_record_annotations": True}
        else:  # 1.13, 2.0
            wanted = {"enabled": True, "record_context": True, "trace_alloc_max_entries": entries, "trace_alloc_record_context": True}
        function(**{k: v for k, v in wanted.items() if k in names})

    def observed(self, device: int, *unused: Any) -> None:
        """PyTorch calls this where it is about to raise; other threads are not waited for."""
        if os.getpid() != self.pid or not self.lock.acquire(False):
            return
        begun = time.monotonic()
        try:
            self.failures += 1
            if self.failures <= 1 + LAST or self.spent < SHARE * (begun - self.begun):
                self.save(sys.modules["torch"], int(device))
        except Exception as e:
            _say("out of memory, and nothing could be saved: %s" % e)
        finally:
            self.spent += time.monotonic() - begun
            self.lock.release()

    def save(self, torch: Any, device: int) -> None:
        rank = _rank(torch)
        name = "%spid%d_%d" % ("" if rank is None else "rank%d_" % rank, self.pid, self.failures)
        folder = _named(self.folder, rank)
        os.makedirs(folder, exist_ok=True)
        stem = os.path.join(folder, "oom_" + name)
        part = stem + ".part"
        try:
            dump(torch, part)
            os.replace(part, stem + ".pickle")
        finally:
            if os.path.exists(part):
                os.unlink(part)
        report, plain = self.page(stem), "out of memory on GPU %d, pid %d." % (device, self.pid)
        if isinstance(report, str):
            _say("%s Snapshot: %s.pickle (%s)" % (plain, stem, report))
        else:
            _say("%s Report: %s.html" % (report["verdict"]["sentence"] or plain, stem))
            give(self.upload, Left(stem + ".pickle", stem + ".html", report), _say)
        self.forget(stem)

    @staticmethod
    def page(stem: str) -> "Dict[str, Any] | str":
        """Writes the page. The report that it carries, or why there is none."""
        import json

        page, end = stem + ".html", time.monotonic() + LIMIT
        commands = (["report", "--quiet", "--force", "-o", page, stem + ".pickle"], ["report", "--quiet", "--format=json", "-o", "-", page])
        try:
            for command in commands:
                done = subprocess.run([program(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      timeout=end - time.monotonic(), check=False)
                if done.returncode not in (0, 3):
                    return done.stderr.decode("utf-8", "replace").strip().replace("\n", " ") or "no report"
            report: "Dict[str, Any]" = json.loads(done.stdout)
            try:
                # a few KiB for who puts many ranks together; read from the page, so that nothing is analysed twice
                subprocess.run([program(), "summarize", "--quiet", "--force", "-o", stem.replace("%", "%%") + ".mts", page],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=end - time.monotonic(), check=False)
            except (OSError, subprocess.SubprocessError):
                pass
            report["verdict"]["sentence"]
            return report
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as e:
            return "no report: %s" % e
        finally:
            for half in glob.glob(glob.escape(stem) + ".*.tmp"):  # of a program that was killed: out of time, or an interrupt of the job
                try:
                    os.unlink(half)
                except OSError:
                    pass

    def forget(self, stem: str) -> None:
        """Of many failures the first and the last two stay."""
        if self.failures > 1:
            self.kept.append(stem)
        while len(self.kept) > LAST:
            old = self.kept.pop(0)
            for ending in (".pickle", ".html", ".mts"):
                try:
                    os.unlink(old + ending)
                except OSError:
                    pass


_watch = Watch()


def watch(folder: "str | os.PathLike[str]" = "oom", *, entries: int = 100000, stacks: str = "python", upload: Upload = ()) -> None:
    """From now on, when PyTorch runs out of memory in this process: a snapshot and its page in `folder`, and one line on standard error.
    Records PyTorch's memory history of the last `entries` events unless one is recorded already; stacks="all" has C++ frames too.
    upload: "wandb", "mlflow", a SummaryWriter of TensorBoard, or several of them: page and snapshot go to that run as well."""
    try:
        _watch.start(os.fspath(folder), entries, stacks, upload)
    except Exception as e:
        _say("watch: nothing is watched: %s" % e)
