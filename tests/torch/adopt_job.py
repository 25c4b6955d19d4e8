"""adopt_job.py NAME TREE FOLDER: the places that docs/adopt/adopt.py changed in a framework's tree (--write), called until memory runs out.

The changed files are the framework's own, loaded from TREE under their own names. What they import beyond that (Ray, Megatron, Transformers,
the rest of the framework) is a module whose attributes do nothing. watch() leaves its files in FOLDER/oom; the last line says the phases."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import pathlib
import sys
import types

import torch
import torch.distributed as dist

NAME, TREE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()


class Nothing(type):
    """A class that does nothing: called it is itself, or the one function that it was given."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {})

    def __call__(cls, *args, **more):
        return args[0] if len(args) == 1 and not more and callable(args[0]) else cls

    def __enter__(cls):
        return cls

    def __exit__(cls, *why):
        return None

    def __or__(cls, other):
        return cls

    __ror__ = __getitem__ = __or__

    def __bool__(cls):
        return False

    def __iter__(cls):
        return iter(())


class Module(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Nothing(name, (), {}))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last of all: a module that nobody else has is an empty one, where the framework's files ask for it. Its own are, but for those named."""

    def __init__(self, top, root, real):
        self.top, self.root, self.real = top, root, real

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == self.top and name in self.real:
            file = self.root / (name.replace(".", "/") + ".py")
            return importlib.util.spec_from_file_location(name, file)
        frame = sys._getframe()
        while "importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__:
            frame = frame.f_back
            if frame is None:
                break
        if name.split(".")[0] != self.top and not (frame and frame.f_code.co_filename.startswith(str(TREE))):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


class First(importlib.abc.MetaPathFinder):
    """The framework's names, before the path: a package of that name may be installed."""

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return self.finder.find_spec(name) if name.split(".")[0] == self.finder.top else None


def load(root, *names):
    finder = Finder(names[0].split(".")[0], TREE / root, set(names))
    sys.meta_path.insert(0, First(finder))
    sys.meta_path.append(finder)
    return [importlib.import_module(n) for n in names]


def fill():
    kept = []
    while True:
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))


def until_full(call):
    try:
        call()
    except torch.OutOfMemoryError as e:
        print("caught", str(e).split(". ")[0])
        return
    raise AssertionError("memory did not run out")


def begun(call):
    """A function with `watch()` in it. What comes after that needs the framework, which is not there."""
    from memtrace._watch import _watch

    assert _watch.pid == 0
    try:
        call()
    except Exception as e:
        print("# then %s: %s" % (type(e).__name__, str(e)[:90]))
    torch.empty(1, device="cuda")  # a history begins with CUDA, and a phase is in it from there on
    assert _watch.pid == os.getpid() and _watch.folder == str(FOLDER / "oom"), "watch() was not called"


def anything(**more):
    return types.SimpleNamespace(**more)


def verl():
    _, workers, profile = load("", "verl.utils.memtrace_hooks", "verl.workers.engine_workers", "verl.utils.profiler.profile")
    begun(lambda: workers.TrainingWorker.__init__(anything(), anything()))

    class Worker:
        profiler = None

        @profile.DistProfiler.annotate(color="blue", role="actor_compute_log_prob")
        def compute_log_prob(self, batch):
            assert batch == 3
            fill()

    assert Worker.compute_log_prob.__name__ == "compute_log_prob"
    until_full(lambda: Worker().compute_log_prob(3))


def areal():
    dist.init_process_group("gloo", init_method="file://%s/store" % FOLDER, rank=0, world_size=1)
    _, fsdp, tracer = load("", "areal.utils.memtrace_hooks", "areal.engine.fsdp_engine", "areal.utils.perf_tracer")
    begun(lambda: fsdp.FSDPEngine.create_process_group(anything(config=anything(backend=None))))
    assert tracer.GLOBAL_TRACER is None
    with tracer.trace_scope("areal.nothing") as scope:
        assert isinstance(scope, tracer._NullContext)

    def forward():
        with tracer.trace_scope("fsdp_engine.forward", category="compute"):
            fill()

    until_full(forward)


def slime():
    dist.init_process_group("gloo", init_method="file://%s/store" % FOLDER, rank=0, world_size=1)
    _, _, actor, timers = load("", "slime.utils.memtrace_hooks", "slime.utils.misc", "slime.ray.train_actor", "slime.observability.timer")
    actor.dist = anything(init_process_group=lambda **_: None, get_rank=dist.get_rank, get_world_size=dist.get_world_size)
    given = anything(distributed_backend="gloo", distributed_timeout_minutes=1, num_gpus_per_node=1)
    # the classes have a base that does nothing, and so are made without one
    begun(lambda: actor.TrainRayActor.init(anything(_rank=0), given, "actor", False))
    timer_phases(timers)


def timer_phases(timers):
    class Actor:
        @timers.timer
        def log_probs(self):
            return torch.empty(1 << 20, device="cuda")

    Actor().log_probs()

    def train():
        with timers.timer("actor_train"):
            fill()

    until_full(train)
    assert set(timers.Timer().log_dict()) == {"log_probs", "actor_train"}


def relax():
    class Base:
        def init(self, *unused):
            pass

    class Singleton(type):
        def __call__(cls):
            return cls.__dict__.get("_one") or (setattr(cls, "_one", super().__call__()) or cls._one)

    for name, value in (("relax.distributed.ray.train_actor", {"TrainRayActor": Base}), ("relax.utils.misc", {"SingletonMeta": Singleton})):
        sys.modules[name] = Module(name)
        vars(sys.modules[name]).update(value)
    _, timers, actor = load("", "relax.utils.memtrace_hooks", "relax.utils.timer", "relax.backends.megatron.actor")

    begun(lambda: actor.MegatronTrainRayActor()._init(anything(tq_config=None), "actor"))
    timers.Timer().start_time.clear()
    timer_phases(timers)


def trl():
    _, profiling = load("", "trl.extras.memtrace_hooks", "trl.extras.profiling")
    import memtrace

    begun(lambda: memtrace.watch("oom/"))  # by the callback of the Trainer, not by this kit

    class Trainer:
        args = anything(report_to=[])
        accelerator = anything(is_main_process=True)
        state = anything(global_step=1)

        @profiling.profiling_decorator
        def _prepare_inputs(self):
            with profiling.profiling_context(self, "sync_weights"):
                fill()

    until_full(lambda: Trainer()._prepare_inputs())


def vllm():
    _, worker = load("", "vllm.memtrace_hooks", "vllm.v1.worker.gpu_worker")
    self = anything(device_config=anything(device=torch.device("cuda")), local_rank=0, model_config=anything(dtype=torch.float16, seed=0),
                    vllm_config=anything(), rank=0, distributed_init_method="")
    worker._check_if_gpu_supports_dtype = lambda dtype: None
    begun(lambda: worker.Worker.init_device(self))
    worker.CuMemAllocator = anything(get_instance=lambda: anything(sleep=lambda *_, **__: None, wake_up=lambda tags: fill()))
    worker.GiB_bytes = 1 << 30
    worker.Worker.sleep(self)
    until_full(lambda: worker.Worker.wake_up(self))


def sglang():
    _, workers, scheduler = load("python", "sglang.srt.memtrace_hooks", "sglang.srt.managers.tp_worker", "sglang.srt.managers.scheduler")

    class Loop:
        def __init__(self, *unused):
            pass

        def get_init_info(self):
            return {}

        def run_event_loop(self):
            torch.empty(1, device="cuda")  # the model
            runner = anything(update_weights_from_disk=lambda *_, **__: fill())
            request = anything(model_path="", load_format="auto", recapture_cuda_graph=False)
            until_full(lambda: workers.BaseTpWorker.update_weights_from_disk(anything(model_runner=runner), request))

    scheduler.Scheduler = Loop
    parameters = inspect.signature(scheduler.run_scheduler_process).parameters.values()
    given = [anything(send=lambda what: None) if p.name == "pipe_writer" else 0 for p in parameters if p.default is p.empty]
    begun(lambda: scheduler.run_scheduler_process(*given))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.chdir(FOLDER)
    globals()[NAME]()
    import memtrace

    left = sorted(FOLDER.glob("oom/*.pickle"))
    assert len(left) == 1, left
    report = memtrace.report(str(left[0]))
    print("%s: out of memory in %s; phases: %s" % (NAME, report.verdict.phase, ", ".join(p["phase_name"] for p in report["phases"])))


main()
