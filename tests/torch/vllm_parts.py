"""What vLLM lacks on the simulated device: compiled kernels, Triton, and what PyTorch of its release has more than the one at hand.
A stand-in kernel allocates what the real one allocates, and computes nothing. `import vllm_parts` first."""
import importlib.machinery
import os
import sys
import types
import typing

os.environ.update(VLLM_NO_USAGE_STATS="1", USE_LIBUV="0", VLLM_USE_FLASHINFER_SAMPLER="0", TORCHDYNAMO_DISABLE="1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "standins"))
import missing  # noqa: E402

del sys.path[0]  # there is a flash_attn of other jobs
import torch  # noqa: E402
from torch._library import infer_schema  # noqa: E402

missing.NAMES = {"gguf", "partial_json_parser", "openai_harmony", "pybase64", "blake3", "mistral_common", "lark", "llguidance", "xgrammar",
                 "outlines_core", "compressed_tensors", "depyf", "anthropic", "mcp", "model_hosting_container_standards", "cv2", "numba",
                 "prometheus_fastapi_instrumentator", "lmformatenforcer", "torchvision", "torchaudio"}
KEPT = []  # libraries of kernels go with the last reference


def empty_module(name, **content):
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__dict__.update(content)
    sys.modules[name] = module
    return module


def allocator_settings(settings):
    """2.6 wants more than 20 MiB, and a number of 32 bits."""
    name, value = settings.split(":")
    torch._C._cuda_cudaCachingAllocator_set_allocator_settings(f"{name}:{min(max(int(value), 21), 2**31 - 1)}")


def later_pytorch():
    """Names and type annotations that PyTorch 2.6 does not know yet."""
    known = infer_schema.SUPPORTED_PARAM_TYPES
    for kind, schema in list(known.items()):
        if typing.get_origin(kind) is list:
            known[list[typing.get_args(kind)[0]]] = schema
            known.setdefault(typing.Optional[list[typing.get_args(kind)[0]]], schema + "?")
    torch.float4_e2m1fn_x2, torch.float8_e8m0fnu = torch.quint4x2, torch.quint2x4
    empty_module("torch.fx._graph_pickler", GraphPickler=object, Options=object)
    empty_module("torch._inductor.runtime.triton_helpers", libdevice=None)
    torch._C._accelerator_setAllocatorSettings = allocator_settings
    accelerator, cuda = torch.accelerator, torch.cuda
    for name in ("empty_cache", "memory_stats", "memory_reserved", "memory_allocated", "max_memory_allocated", "reset_peak_memory_stats"):
        setattr(accelerator, name, getattr(cuda, name))
    accelerator.device_index = cuda.device
    accelerator.get_memory_info = cuda.mem_get_info


def alias(tensor):
    """The same memory on the card, without a share in keeping it: weak references of graphs, pinned memory that the card reads."""
    storage = tensor.untyped_storage()
    raw = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), torch.device("cuda", 0), storage.nbytes())
    return torch.empty(0, dtype=tensor.dtype, device="cuda").set_(raw, tensor.storage_offset(), tensor.shape, tensor.stride())


def kernels():
    """In place or into what they are given, as the schemas of vLLM's bindings say; those that give back tensors are below."""
    fragment = {"_C": """rms_norm(Tensor! result, Tensor input, Tensor weight, float epsilon) -> ()
        fused_add_rms_norm(Tensor! input, Tensor! residual, Tensor weight, float epsilon) -> ()
        rotary_embedding(Tensor positions, Tensor! query, Tensor!? key, int head_size, Tensor cos_sin_cache, bool is_neox) -> ()
        silu_and_mul(Tensor! result, Tensor input) -> ()""",
                "_C_cache_ops": """reshape_and_cache_flash(Tensor key, Tensor value, Tensor! key_cache, Tensor! value_cache,
        Tensor slot_mapping, str kv_cache_dtype, Tensor k_scale, Tensor v_scale) -> ()"""}
    for name, schemas in fragment.items():
        library = torch.library.Library(name, "DEF")
        KEPT.append(library)
        for schema in schemas.replace(",\n       ", ",").split("\n"):
            library.define(schema.strip())
            library.impl(schema.strip().split("(")[0], lambda *a, **k: None, "CUDA")
    torch.ops._C.weak_ref_tensor = torch.ops._C.get_cuda_view_from_cpu_tensor = alias
    for name in ("scaled_mm_supports_fp8", "scaled_mm_supports_block_fp8", "scaled_mm_supports_fp4", "group_gemm_supported"):
        setattr(torch.ops._C, "cutlass_" + name, lambda *a: False)


def flash_attention_3():
    """Writes where it is told to; what it adds is the logarithm of each row's sum, 32 bits for each head and query."""
    def fwd(q, k, v, k_new, v_new, q_v, out, *more):
        return torch.empty_like(q) if out is None else out, q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32), None, None

    def get_scheduler_metadata(batch, *more):
        return torch.empty(4 * batch + 1, dtype=torch.int32, device="cuda")

    empty_module("vllm.vllm_flash_attn._vllm_fa3_C")
    torch.ops._vllm_fa3_C = types.SimpleNamespace(fwd=fwd, get_scheduler_metadata=get_scheduler_metadata)


class Launch:
    """A Triton kernel: every grid of it does nothing."""

    def __init__(self, function):
        self.fn, self.__name__ = function, function.__name__

    def __getitem__(self, grid):
        return lambda *a, **k: None


def triton():
    import vllm.triton_utils

    def jit(function=None, **more):
        return Launch(function) if function else Launch

    for name in ("jit", "heuristics", "autotune"):
        setattr(vllm.triton_utils.triton, name, jit if name == "jit" else lambda *a, **k: lambda kernel: kernel)
    vllm.triton_utils.triton.next_power_of_2 = lambda n: 1 << max(n - 1, 0).bit_length()
    vllm.triton_utils.tl.constexpr = float
    vllm.triton_utils.HAS_TRITON = os.environ.get("VLLM_USE_V2_MODEL_RUNNER") == "1"


def platform():
    """The card is asked through CUDA's runtime, as on a Jetson: there is no NVML."""
    import vllm.platforms
    import vllm.third_party.pynvml as pynvml

    def absent():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    pynvml.nvmlInit = absent
    vllm.platforms.builtin_platform_plugins["cuda"] = lambda: "vllm.platforms.cuda.CudaPlatform"


def models():
    """A model is looked at in this process: another would lack these parts."""
    import vllm.model_executor.models.registry as registry

    registry._run_in_subprocess = lambda f: f()


class Trainer:
    """The other side of a weight update: what it sends is there at once."""

    def broadcast(self, tensor, src, stream=None):
        pass


def trainer():
    from vllm.distributed.weight_transfer.nccl_engine import NCCLWeightTransferEngine

    NCCLWeightTransferEngine._stateless_init_process_group = staticmethod(lambda *a, **k: Trainer())


def checkpoint(model, a):
    """Names and shapes of the weights as the trainer has them: before vLLM joins some of them."""
    kv = 128 * (a.hidden // 128)
    parts = {"qkv_proj": {"q_proj": 2 * a.hidden, "k_proj": kv, "v_proj": kv}, "gate_up_proj": {"gate_proj": 3 * a.hidden, "up_proj": 3 * a.hidden}}
    for name, weight in model.named_parameters():
        for joined, of in parts.items():
            if f".{joined}." in name:
                yield from ((name.replace(joined, part), [rows, weight.shape[1]]) for part, rows in of.items())
                break
        else:
            yield name, list(weight.shape)


def compiled():
    """What torch.compile makes of these is a kernel that writes its result."""
    import vllm.v1.sample.sampler as sampler

    sampler.batched_count_greater_than = lambda x, values: torch.empty(x.shape[0], dtype=torch.int64, device=x.device)


later_pytorch()
for extension in ("vllm._C", "vllm._C_stable_libtorch", "vllm._moe_C"):
    empty_module(extension)
for part in (kernels, flash_attention_3, triton, platform, models, trainer, compiled):
    part()
