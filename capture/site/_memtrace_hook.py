# _memtrace_hook.py -- PyTorch memory snapshots without a change to the job.
#
# Run by sitecustomize.py at the start of every Python process of the job, or (python -I, -S, -E) by the injected library when CUDA is
# initialised. Waits for `import torch.cuda`, then for the first CUDA initialisation (torch.cuda._lazy_call: recording would otherwise
# initialise CUDA itself, and break programs that fork first), then records the allocator's history, bounded, and dumps it
#     when memory runs out (the first time and the last two are kept), at exit, and on SIGUSR2 where nobody handles that signal
# into MEMTRACE_SPOOL as mt-<host>-<pid>-<uid>-rank<R>-<oom1|exit|usr1|own>-dev<N>.pickle, written as *.part and renamed.
# A program that records its own history is left alone: what was recorded until then is dumped (own), and when its memory runs out, its
# history is read once if it has a bound. What was done, and what went wrong, is in mt-<host>-<pid>-<uid>-torch.txt.
# Nothing is ever printed, and no exception leaves.
#
# Settings: MEMTRACE_TORCH=0 (off), MEMTRACE_TORCH_MAX_ENTRIES (100000 events), MEMTRACE_TORCH_STACKS (python; all: C++ too),
# MEMTRACE_TORCH_CONTEXT (alloc; all: stacks of frees too).
import _thread
import os
import sys

OOM_SHARE = 20  # a snapshot at an out-of-memory error after the third waits this many times as long as the one before took
MAX_ENTRIES = 1000000
# Of a process that was attached, which has none of it in its environment: lines of NAME=value.
GIVEN = dict(line.split("=", 1) for line in globals().get("_memtrace_settings", "").split("\n") if "=" in line)
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")  # as capture/tally.c
OWN = "the program records its own memory history: it is left alone"


def setting(name, default=None):
    return GIVEN.get(name) or os.environ.get(name) or default


class no_compiler:
    """While PyTorch takes a snapshot. It asks torch._inductor for the source lines of compiled code, and to ask for that attribute imports
    the whole compiler: 4.2 s and 100 MB in a process that never compiled (PyTorch 2.11 on an H100; the same question is in 2.6 to 2.14).
    Such a process has no compiled code, so an object without a `codecache` answers; all else that is asked of it comes from the real one."""

    def __enter__(self):
        names = vars(sys.modules["torch"])
        self.names = None if "torch._inductor" in sys.modules or "_inductor" in names else names
        if self.names is not None:
            self.names["_inductor"] = self

    def __exit__(self, *why):
        if self.names is not None and self.names.get("_inductor") is self:
            del self.names["_inductor"]

    def __getattr__(self, name):
        if name == "codecache":
            raise AttributeError(name)
        import importlib

        return getattr(importlib.import_module("torch._inductor"), name)


class Hook:
    def __init__(self, spool):
        self.spool = spool
        self.handler = self.finder = None
        self.wrapped = []       # where our _record_memory_history is
        self.reset()

    def reset(self):
        self.pid = os.getpid()  # of the process that records
        self.active = False     # our recording is on
        self.users = False      # the program records itself
        self.bounded = False    # so few entries that they can be read when its memory runs out
        self.ooms = 0
        self.oom_names = []     # the snapshots of out-of-memory errors that are kept
        self.oom_next = 0.0     # time before which none is taken
        self.usr = 0
        self.exit_done = False
        self.lines = []
        self.lock = _thread.allocate_lock()

    # ---- files ----

    def prefix(self):
        """mt-<host>-<pid>-<uid>: as the injected library called its files, which are there once CUDA is; uid 0 without them."""
        pid, host, best = os.getpid(), os.uname().nodename, None
        for entry in os.scandir(self.spool):
            stem, dot, kind = entry.name.rpartition(".")
            part = stem.rsplit("-", 2)
            if kind not in ("spool", "gz") or len(part) != 3 or not part[0].startswith("mt-"):
                continue
            if part[1] != str(pid) or len(part[2]) != 16:
                continue
            try:
                int(part[2], 16)
                when = (part[0] == "mt-" + host, kind == "spool", entry.stat().st_mtime_ns)
            except (ValueError, OSError):
                continue
            if best is None or when > best[0]:
                best = (when, stem)
        if best:
            return best[1]
        host = "".join(c if c.isalnum() or c in "._-" else "_" for c in host)
        return "mt-%s-%d-0" % (host, pid)

    def note(self, text):
        """One more line in the text file of this process."""
        try:
            import time

            if len(self.lines) >= 100:
                return
            self.lines.append("%.6f %s\n" % (time.time(), text))
            path = os.path.join(self.spool, self.prefix() + "-torch.txt")
            with open(path + ".part", "w", encoding="utf-8", errors="backslashreplace") as f:
                f.writelines(self.lines)
            os.replace(path + ".part", path)
        except Exception:
            pass

    def failed(self, what):
        import traceback

        self.note("%s failed: %s" % (what, traceback.format_exc(limit=-6).strip().replace("\n", " | ")))

    @staticmethod
    def slurm_rank():
        """A batch script has SLURM_PROCID=0, and all that it starts by itself: that is no rank."""
        tasks = os.environ.get("SLURM_STEP_NUM_TASKS", "")
        return os.environ.get("SLURM_PROCID", "") if tasks.isdigit() and int(tasks) > 1 else ""

    def keep(self, path, seconds):
        """Of the snapshots of out-of-memory errors the first and the last two stay: a job may survive many before the one that ends it."""
        import time

        self.oom_names.append(path)
        if len(self.oom_names) > 3:
            try:
                os.unlink(self.oom_names.pop(1))
            except OSError:
                pass  # somebody has taken it away
        self.oom_next = time.monotonic() + OOM_SHARE * seconds if len(self.oom_names) >= 3 else 0.0

    def dump(self, why, device=None):
        """Writes a snapshot; why: oom1, exit, usr1, own. Another thread that is at it, or this one inside it, is not waited for."""
        if not (self.active or self.users) or os.getpid() != self.pid or not self.lock.acquire(False):
            return
        part = None
        try:
            import time

            torch = sys.modules.get("torch")
            memory = torch.cuda.memory
            if device is None:
                try:
                    device = torch.cuda.current_device()
                except Exception:
                    device = 0
            rank = next((v for v in map(os.environ.get, RANKS) if v), "") or self.slurm_rank()
            rank = rank if rank.isdigit() and len(rank) < 10 else "x"
            name = "%s-rank%s-%s-dev%d.pickle" % (self.prefix(), rank, why, device)
            path = os.path.join(self.spool, name)
            part = path + ".part"
            begun, started = time.time(), time.monotonic()
            with no_compiler():
                if hasattr(memory, "_dump_snapshot"):
                    memory._dump_snapshot(part)
                else:
                    import pickle

                    with open(part, "wb") as f:
                        pickle.dump(memory._snapshot(), f)
            os.replace(part, path)
            part = None
            if why.startswith("oom"):
                self.keep(path, time.monotonic() - started)
            self.note("dumped %s (%d bytes) begun %.6f" % (name, os.path.getsize(path), begun))
        except Exception:
            self.failed("dump " + why)
        finally:
            try:
                if part:
                    os.unlink(part)
            except OSError:
                pass
            self.lock.release()

    # ---- when CUDA is initialised ----

    def choose(self, function):
        """The arguments that this torch knows."""
        import inspect

        try:
            entries = max(1, int(setting("MEMTRACE_TORCH_MAX_ENTRIES", "100000")))
        except ValueError:
            entries = 100000
        stacks = "all" if setting("MEMTRACE_TORCH_STACKS", "python") == "all" else "python"
        context = setting("MEMTRACE_TORCH_CONTEXT", "alloc")
        context = context if context in ("state", "alloc", "all") else "alloc"
        names = inspect.signature(function).parameters
        if "max_entries" in names:  # 2.1 and later
            wanted = {"enabled": "all", "context": context, "stacks": stacks, "max_entries": entries, "global_record_annotations": True}
        else:  # 2.0, 1.13
            wanted = {"enabled": True, "record_context": True, "trace_alloc_max_entries": entries, "trace_alloc_record_context": True,
                      "record_context_cpp": stacks == "all"}
        return {k: v for k, v in wanted.items() if k in names}

    @staticmethod
    def is_bounded(function, args, kwargs):
        import inspect

        try:
            given = inspect.signature(function).bind(*args, **kwargs)
            given.apply_defaults()
            return given.arguments.get("max_entries", given.arguments.get("trace_alloc_max_entries", sys.maxsize)) <= MAX_ENTRIES
        except Exception:
            return False

    def on_init(self):
        """Called by torch.cuda once CUDA is initialised in this process."""
        try:
            if self.users:
                self.watch_oom()
                return
            if os.getpid() != self.pid:
                self.reset()
            torch = sys.modules["torch"]
            memory = torch.cuda.memory
            enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
            if enabled is not None and enabled():
                self.users = True
                self.note(OWN)
                self.watch_oom()
                return
            record = getattr(memory._record_memory_history, "_memtrace_original", memory._record_memory_history)
            arguments = self.choose(record)
            record(**arguments)
            self.active = True
            self.note("torch %s: recording %s" % (getattr(torch, "__version__", "?"), arguments))
        except Exception:
            self.failed("recording")
            return
        for what, install in (("out of memory observer", self.watch_oom), ("exit handler", self.watch_exit),
                              ("SIGUSR2 handler", self.watch_signal)):
            try:
                install()
            except Exception:
                self.failed(what)

    def watch_oom(self):
        c = sys.modules["torch"]._C
        attach = getattr(c, "_cuda_attach_out_of_memory_observer", None) or getattr(c, "_cuda_attachOutOfMemoryObserver", None)
        if attach is None:
            self.note("this torch has no out of memory observer")
            return
        pid = self.pid

        def observer(device, *unused):
            try:
                import time

                if os.getpid() == pid and (not self.ooms and self.bounded if self.users else time.monotonic() >= self.oom_next):
                    self.ooms += 1
                    self.dump("oom%d" % self.ooms, device if isinstance(device, int) else None)
            except Exception:
                self.failed("out of memory observer")

        attach(observer)

    def watch_exit(self):
        import atexit

        atexit.register(self.at_exit)
        # A forked multiprocessing child ends with os._exit(), after its own finalizers.
        util, process = sys.modules.get("multiprocessing.util"), sys.modules.get("multiprocessing.process")
        if util is not None and process is not None and getattr(process.current_process(), "_parent_pid", None) is not None:
            util.Finalize(None, self.at_exit, exitpriority=0)

    def at_exit(self):
        if not self.exit_done and os.getpid() == self.pid:
            self.exit_done = True
            if not self.users:
                self.dump("exit")

    def watch_signal(self):
        import signal
        import threading

        if threading.current_thread() is not threading.main_thread():
            self.note("SIGUSR2 is not handled: CUDA was initialised in another thread than the main one")
            return
        # What Python says of a handler that C code installed is not to be relied on.
        number, taken = signal.SIGUSR2, False
        with open("/proc/self/status") as f:
            for line in f:
                if line.startswith(("SigIgn:", "SigCgt:")):
                    taken = taken or bool(int(line.split()[1], 16) >> (number - 1) & 1)
        if taken or signal.getsignal(number) is not signal.SIG_DFL:
            self.note("SIGUSR2 is not handled: the program has a handler for it")
            return
        pid = self.pid

        def handler(signum, frame):
            if os.getpid() != pid:  # a forked child: as if there were no handler
                signal.signal(signum, signal.SIG_DFL)
                os.kill(os.getpid(), signum)
                return
            self.usr += 1
            if not self.users:
                self.dump("usr%d" % self.usr)

        self.handler = handler
        signal.signal(number, handler)
        signal.siginterrupt(number, False)

    # ---- a process that was attached, and is let go again ----

    def base(self):
        """What PyTorch held before the recording: a snapshot, and the addresses of its segments for the recorder."""
        segments = []
        try:
            import ctypes

            self.dump("base")
            if self.active or self.users:
                for s in sys.modules["torch"].cuda.memory._snapshot()["segments"]:
                    piece = (2 << 20 if s.get("segment_type") == "small" else 20 << 20) if s.get("is_expandable") else 0
                    segments += [s["address"], s["total_size"], s["device"], piece]
            library = os.path.join(os.path.dirname(os.path.dirname(__file__)), "libmemtrace_inject.so")
            numbers = (ctypes.c_uint64 * max(1, len(segments)))(*segments)
            ctypes.PyDLL(library).memtrace_base(numbers, ctypes.c_size_t(len(segments) // 4))
            self.note("%d segments were there before" % (len(segments) // 4))
        except Exception:
            self.failed("base")

    def detach(self):
        """Leaves Python as it was, but for the observer of out-of-memory errors, which PyTorch keeps, and which does nothing from now on."""
        try:
            import atexit
            import signal

            if self.active:
                self.dump("exit")
            atexit.unregister(self.at_exit)
            if self.handler is not None and signal.getsignal(signal.SIGUSR2) is self.handler:
                signal.signal(signal.SIGUSR2, signal.SIG_DFL)
            if self.finder is not None and self.finder in sys.meta_path:
                sys.meta_path.remove(self.finder)
            for place in self.wrapped:
                ours = vars(place).get("_record_memory_history")
                if hasattr(ours, "_memtrace_original"):
                    place._record_memory_history = ours._memtrace_original
                    if self.active and not self.users:
                        self.active = False
                        ours._memtrace_original(enabled=None)
            self.note("detached")
        except Exception:
            self.failed("detaching")
        self.active = self.users = False
        self.pid = 0
        if getattr(sys, "_memtrace_hook", None) is self:
            del sys._memtrace_hook

    # ---- when torch.cuda is imported ----

    def on_import(self, cuda):
        try:
            import functools

            memory = cuda.memory
            original = memory._record_memory_history

            @functools.wraps(original)
            def _record_memory_history(*args, **kwargs):
                if os.getpid() != self.pid:
                    self.reset()
                if not self.users and (args or [kwargs.get("enabled", "all")])[0] in (None, False):
                    self.note("the program switches off a memory history that it had not switched on: ours goes on")
                    if self.active:
                        return None
                    done = original(*args, **kwargs)  # initialises CUDA, and with it on_init(), before it switches off
                    if self.active:
                        original(**self.choose(original))
                    return done
                if not self.users:
                    self.dump("own")
                    self.users = True
                    self.note(OWN)
                self.bounded = self.is_bounded(original, args, kwargs)
                return original(*args, **kwargs)

            _record_memory_history._memtrace_original = original
            memory._record_memory_history = _record_memory_history
            self.wrapped = [memory]
            if getattr(cuda, "_record_memory_history", None) is original:
                cuda._record_memory_history = _record_memory_history
                self.wrapped.append(cuda)
            cuda._lazy_call(self.on_init)
        except Exception:
            self.failed("hooking torch.cuda")


class Finder:
    """Sees every import; finds nothing. The first one after torch.cuda was imported is the moment: torch imports more after it. So no
    loader is replaced, and no frame of ours is in the traceback of an import that fails."""

    def __init__(self, hook):
        self.hook = hook

    def find_spec(self, name, path=None, target=None):
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or getattr(getattr(cuda, "__spec__", None), "_initializing", False):
            return None
        try:
            sys.meta_path.remove(self)
        except ValueError:
            return None  # another thread has it
        self.hook.on_import(cuda)
        return None


def install(late):
    spool = setting("MEMTRACE_SPOOL")
    if not spool or setting("MEMTRACE_TORCH", "1").lower() in ("0", "no", "off", "false"):
        return
    if hasattr(sys, "_memtrace_hook") or not hasattr(os, "fork"):
        return
    if not os.path.isdir(spool):
        if setting("MEMTRACE_SPOOL_MAKE", "0").lower() in ("", "0", "no", "off", "false"):
            return
        os.mkdir(spool, 0o700)  # as the recorder does, which may come later
    hook = sys._memtrace_hook = Hook(spool)
    cuda = sys.modules.get("torch.cuda")
    if cuda is None:
        hook.finder = Finder(hook)
        sys.meta_path.insert(0, hook.finder)
    elif hasattr(cuda, "memory"):
        if late:
            hook.note("installed late, when %s" % ("the process was attached" if GIVEN else "CUDA was initialised"))
        hook.on_import(cuda)
    if GIVEN:
        hook.base()


try:
    install(globals().get("_memtrace_late", False))
except Exception:
    pass
