"""What a recipe of torchtune is given by its configuration: a small Qwen2 of random weights, rows of ones, and a checkpointer that writes nothing. And what
torchtune imports and these recipes do not use: modules in which every name is there."""
import importlib.abc
import importlib.machinery
import sys
import types

import torch
from torch.utils.data import DataLoader, DistributedSampler

ABSENT = ("torchao", "torchdata", "datasets", "blobfile", "kagglehub", "torchvision")


class AnyName(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Thing


class Thing(metaclass=AnyName):
    def __init__(self, *args, **more):
        pass

    def __call__(self, *args, **more):
        return args[0] if args else self

    def __class_getitem__(cls, item):
        return cls


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        return "0.9.0" if name == "__version__" else KNOWN.get(name, Thing)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in ABSENT else None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


class Loader(DataLoader):
    def state_dict(self):
        return {}


KNOWN = {"StatefulDataLoader": Loader, "StatefulDistributedSampler": DistributedSampler}
sys.meta_path.append(Finder())


def model():
    from torchtune.models.qwen2 import qwen2

    return qwen2(vocab_size=151936, num_layers=2, num_heads=14, num_kv_heads=2, embed_dim=896, intermediate_dim=4864, max_seq_len=4096, attn_dropout=0.0,
                 norm_eps=1e-6, rope_base=1e6)


class Checkpointer:
    def __init__(self, **more):
        del more

    def load_checkpoint(self):
        torch.set_default_dtype(torch.bfloat16)
        weights = model().state_dict()
        torch.set_default_dtype(torch.float32)
        return {"model": weights}

    def save_checkpoint(self, *args, **more):
        pass


class Tokenizer:
    pad_id = 0


class Rows(torch.utils.data.Dataset):
    def __init__(self, tokenizer=None, tokens=1024, **more):
        del tokenizer, more
        self.tokens = tokens

    def __len__(self):
        return 16

    def __getitem__(self, index):
        return {"tokens": [1] * self.tokens, "labels": [1] * self.tokens}


class Quiet:
    def __init__(self, **more):
        del more

    def log_config(self, config):
        pass

    def log_dict(self, *args, **more):
        pass

    def close(self):
        pass
