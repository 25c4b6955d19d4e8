"""Modules that a training worker imports and does not need here: any attribute of theirs is a class that does nothing, or hands back
the function that it decorates. `import missing` first."""
import importlib
import importlib.abc
import importlib.machinery
import sys
import types

NAMES = {"ray", "hydra", "zmq", "vllm", "torchdata", "datasets", "wandb", "fastapi", "uvicorn", "aiohttp", "cachetools"}


class Nothing(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {})

    def __call__(cls, *args, **more):
        return args[0] if len(args) == 1 and not more and callable(args[0]) else Nothing(cls.__name__, (), {})

    def __or__(cls, other):
        return cls

    __ror__ = __getitem__ = __or__

    def __bool__(cls):
        return False


class Module(types.ModuleType):
    __path__ = []
    __version__ = "0.11.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Nothing(name, (), {}))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in NAMES else None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


def instantiate(config, **_):
    """hydra's: a dictionary with a _target_ becomes an object of that class."""
    from omegaconf import OmegaConf

    def make(value):
        if isinstance(value, list):
            return [make(v) for v in value]
        if not isinstance(value, dict):
            return value
        fields = {k: make(v) for k, v in value.items() if k != "_target_"}
        if "_target_" not in value:
            return fields
        module, name = value["_target_"].rsplit(".", 1)
        return getattr(importlib.import_module(module), name)(**fields)

    return make(OmegaConf.to_container(config, resolve=True) if OmegaConf.is_config(config) else config)


sys.meta_path.append(Finder())
sys.modules.setdefault("hydra.utils", importlib.import_module("hydra.utils")).__dict__["instantiate"] = instantiate
