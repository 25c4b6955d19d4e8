"""What SGLang imports and this machine lacks: Triton, its compiled kernels, Transformers. A kernel does nothing, as on the simulated
device, but allocates what the real one allocates. `install()` before anything of sglang."""
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import os
import pickle
import sys
import types

import torch

NAMES = {"triton", "sgl_kernel", "flashinfer", "transformers", "huggingface_hub", "torchvision", "torchao", "xgrammar", "outlines", "gguf",
         "compressed_tensors", "tvm_ffi", "pybase64", "partial_json_parser", "interegular", "sentencepiece", "openai", "llguidance", "cuda", "pynvml",
         "openai_harmony", "IPython", "einops", "scipy", "numba", "soundfile", "tiktoken", "modelscope", "datasets", "cutlass", "anthropic",
         "torch_memory_saver", "fastapi", "uvicorn", "uvloop", "starlette", "aiohttp", "PIL", "orjson", "setproctitle", "xxhash", "prometheus_client",
         "zstandard", "decord", "av", "timm", "watchfiles", "py_spy", "blobfile", "kernels", "quack", "smg_grpc_servicer", "smg_grpc_proto", "grpc"}


class Anything(type):
    """A class of which every attribute is one more, that can be called, decorated with, subscribed and inherited from."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return make(cls.__module__, name)

    def __call__(cls, *args, **more):
        if len(args) == 1 and not more and callable(args[0]):
            return args[0]
        return super().__call__()

    def __getitem__(cls, key):
        return cls

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __bool__(cls):
        return False

    def __iter__(cls):
        return iter(())


class Something:
    def __init_subclass__(cls, **_):
        pass

    @classmethod
    def __get_pydantic_core_schema__(cls, *_):
        return {"type": "any"}

    def __init__(self, *args, **more):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Something()

    def __call__(self, *args, **more):
        return args[0] if len(args) == 1 and not more and callable(args[0]) else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def make(module, name):
    known = KNOWN.get(module.split(".")[0], {}).get(name)
    if known is not None:
        return known
    if module.startswith("transformers") and name.endswith("Config"):
        return type(name, (Config,), {})
    return Anything(name, (Something,), {"__module__": module})


class Kernel:
    """What triton.jit makes of a function: it can be launched, and does nothing."""

    def __init__(self, fn):
        self.fn, self.__name__, self.__doc__ = fn, getattr(fn, "__name__", "kernel"), None

    def __getitem__(self, grid):
        return lambda *a, **k: None

    def __call__(self, *args, **more):
        return None

    def run(self, *args, **more):
        return None


def jit(fn=None, **_):
    return Kernel(fn) if callable(fn) else jit


class Config:
    """Transformers' configuration of a model, as far as an engine asks."""

    model_type = ""

    def __init__(self, **fields):
        self.__dict__.update({"architectures": None, "torch_dtype": None, "quantization_config": None, "tie_word_embeddings": False,
                              "rope_scaling": None, "pad_token_id": None, **fields})

    def __init_subclass__(cls, **_):
        pass

    @classmethod
    def from_pretrained(cls, folder, **_):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            return cls(**json.load(f))

    @classmethod
    def from_dict(cls, fields, **_):
        return cls(**fields)

    @classmethod
    def get_config_dict(cls, folder, **_):
        return dict(cls.from_pretrained(folder).__dict__), {}

    @classmethod
    def register(cls, *_, **__):
        pass

    def get_text_config(self, **_):
        return self

    def to_dict(self):
        return dict(self.__dict__)

    def update(self, fields):
        self.__dict__.update(fields)


class Module(types.ModuleType):
    """Any attribute is there."""

    __path__ = []
    __file__ = "/nowhere/__init__.py"
    __version__ = "99.0.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, make(self.__name__, name))


class Mapping(dict):
    _extra_content = {}

    def register(self, *_, **__):
        pass


def cdiv(a, b):
    return -(a // -b)


def rmsnorm(x, weight, eps=1e-6, out=None, **_):
    return torch.empty_like(x) if out is None else out


def act_and_mul(x, out=None, **_):
    return x.new_empty(*x.shape[:-1], x.shape[-1] // 2) if out is None else out


def attention(q, *args, return_softmax_lse=False, out=None, **_):
    """FlashAttention 3: the result, the sums of each row, and the counter of its scheduler."""
    out = torch.empty_like(q) if out is None else out
    sums = torch.empty(q.shape[-2], q.numel() // q.shape[-1] // q.shape[-2], dtype=torch.float32, device=q.device)
    torch.empty(1, dtype=torch.int32, device=q.device)
    return (out, sums) if return_softmax_lse else out


def schedule(batch_size=1, **_):
    """FlashAttention 3: what it plans for each sequence, and how many it has planned."""
    return torch.empty(4 * -(-batch_size // 4) + 1, dtype=torch.int32, device="cuda")


def weak_ref(t):
    """The same bytes, without keeping them."""
    if not torch.is_tensor(t):
        return t
    whole = t.untyped_storage()
    storage = torch._C._construct_storage_from_data_pointer(whole.data_ptr(), t.device, whole.nbytes())
    return torch.empty(0, dtype=t.dtype, device=t.device).set_(storage, t.storage_offset(), t.size(), t.stride())


def sampled(probs, *_, **__):
    return torch.empty(len(probs), dtype=torch.int32, device=probs.device)


def renormed(probs, *_, **__):
    return torch.empty_like(probs)


class Saver:
    """torch_memory_saver: its pool, in which PyTorch sees memory all the same while it is unmapped; nothing is unmapped here."""

    enabled, pool = True, None

    def region(self, **_):
        self.pool = self.pool or torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pool)

    def cuda_graph(self, **more):
        return torch.cuda.graph(**more)

    def disable(self):
        return contextlib.nullcontext()

    def pause(self, **_):
        pass

    resume = pause


class Wrapper:
    """FlashInfer: each keeps 8 MiB of plans on the device, beside the workspace that it is given."""

    def __init__(self, workspace, *_, **__):
        self.plans = torch.empty(8 << 20, dtype=torch.uint8, device=workspace.device)

    def run(self, q, *_, **__):
        return torch.empty_like(q)

    def run_return_lse(self, q, *_, **__):
        return torch.empty_like(q), torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing

    forward, forward_return_lse = run, run_return_lse


def nothing(*_, **__):
    return None


KERNELS = {"rmsnorm": rmsnorm, "gemma_rmsnorm": rmsnorm, "fused_add_rmsnorm": nothing, "silu_and_mul": act_and_mul, "gelu_and_mul": act_and_mul,
           "gelu_tanh_and_mul": act_and_mul, "flash_attn_with_kvcache": attention, "flash_attn_varlen_func": attention,
           "get_scheduler_metadata": schedule, "weak_ref_tensor": weak_ref, "apply_rope_with_cos_sin_cache_inplace": nothing,
           "rotary_embedding": nothing, "min_p_sampling_from_probs": sampled, "top_k_top_p_sampling_from_probs": sampled,
           "top_k_renorm_prob": renormed, "top_p_renorm_prob": renormed}
TRITON = {"jit": jit, "cdiv": cdiv, "next_power_of_2": lambda n: 1 << max(n - 1, 0).bit_length(), "autotune": lambda *a, **k: lambda fn: fn,
          "heuristics": lambda *a, **k: lambda fn: fn,
          "get_current_target": lambda: types.SimpleNamespace(backend="cuda", arch=90, warp_size=32)}
TRANSFORMERS = {"get_logger": logging.getLogger, "CONFIG_MAPPING": Mapping(), "PretrainedConfig": Config, "PreTrainedConfig": Config,
                "AutoConfig": Config, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES": {"qwen2": "Qwen2ForCausalLM"}}
FLASHINFER = {"merge_state": lambda a, sums, *_, **__: (torch.empty_like(a), torch.empty_like(sums)),
              **{f"Batch{n}KVCacheWrapper": Wrapper for n in ("PrefillWithPaged", "DecodeWithPaged", "PrefillWithRagged")}}
KNOWN = {"torch_memory_saver": {"torch_memory_saver": Saver()},
         "sgl_kernel": KERNELS, "flashinfer": FLASHINFER, "triton": TRITON, "transformers": TRANSFORMERS,
         "tvm_ffi": {"find_libtvm_ffi": str}}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in NAMES else None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


def as_newer_torch():
    """Names of a newer PyTorch than this one, and operators of compiled kernels, which are nowhere registered."""
    for name in ("_cuda_beginAllocateCurrentThreadToPool", "_cuda_endAllocateToPool", "_cuda_releasePool", "_cuda_beginAllocateToPool"):
        torch.cuda.memory.__dict__.setdefault(name, getattr(torch._C, name, None))
    register = torch.library.register_fake

    def register_fake(op, *args, **more):
        return (lambda fn: fn) if isinstance(op, str) and op.split("::")[0] in NAMES else register(op, *args, **more)

    torch.library.register_fake = register_fake


def answer_for_values(rows):
    """Masks on the device are all zero here. What SGLang takes by one is a part of a batch: as many rows as it takes at once."""
    get, put, nonzero = torch.Tensor.__getitem__, torch.Tensor.__setitem__, torch.nonzero

    def is_mask(key):
        return torch.is_tensor(key) and key.is_cuda and key.dtype is torch.bool

    def nonzero_(mask, **more):
        if not is_mask(mask):
            return nonzero(mask, **more)
        found = torch.empty(min(len(mask), rows), dtype=torch.int64, device=mask.device)
        return (found,) if more.get("as_tuple") else found[:, None]

    torch.Tensor.__getitem__ = lambda t, key: get(t, nonzero_(key, as_tuple=True)[0]) if is_mask(key) else get(t, key)
    torch.Tensor.__setitem__ = lambda t, key, value: None if is_mask(key) else put(t, key, value)
    torch.nonzero = nonzero_


def answer_for_compiler():
    """SGLang compiles some of its kernels when they are first asked for."""
    for name in ("kernels.jit.utils.compile.loader", "kernels.jit.utils.compile", "kernels.jit.utils", "jit_kernel.utils"):
        try:
            importlib.import_module("sglang." + name).load_jit = lambda *_, **__: Something()
        except ImportError:
            pass


def install():
    as_newer_torch()
    sys.meta_path.append(Finder())
    sys.modules.setdefault("dill", pickle)
    answer_for_compiler()
