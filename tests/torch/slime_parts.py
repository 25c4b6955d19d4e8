"""What slime imports beside PyTorch, Transformers and Megatron, as little as its trainer calls: Ray in one process, the engine's side of the
weight update, and what Transformer Engine would do, with PyTorch's own attention."""
import contextlib
import importlib.machinery
import sys
import types

import torch


class Anything:
    def __init__(self, *a, **k):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *a, **k):
        return Anything()


class Ref:
    def __init__(self, value):
        self.value = value


class Handle:
    """Of an actor that lives in this process."""

    def __init__(self, actor):
        self.actor = actor

    def __getattr__(self, name):
        call = getattr(self.actor, name)
        return types.SimpleNamespace(remote=lambda *a, **k: Ref(call(*a, **k)))


def get(ref):
    if isinstance(ref, (list, tuple)):
        return [get(r) for r in ref]
    return ref.value if isinstance(ref, Ref) else ref


class Saver:
    """Unmaps pages below PyTorch, whose books are the same with and without."""

    _impl, pause, resume = None, staticmethod(lambda *a: None), staticmethod(lambda *a: None)
    disable = region = staticmethod(lambda *a, **k: contextlib.nullcontext())


class Bucket:
    """All tensors of a bucket in one, as the engine takes them."""

    supports_multi_dtypes = True

    def __init__(self, named_tensors):
        self.metadata = [(name, t.shape, t.dtype) for name, t in named_tensors]
        self.flat = torch.cat([t.flatten().view(torch.uint8) for _, t in named_tensors])

    def get_flattened_tensor(self):
        return self.flat

    def get_metadata(self):
        return self.metadata


def module(name, **members):
    parent, _, last = name.rpartition(".")
    if parent and parent not in sys.modules:
        module(parent)
    m = types.ModuleType(name)
    m.__path__, m.__spec__ = [], importlib.machinery.ModuleSpec(name, None)
    vars(m).update(members)
    sys.modules[name] = m
    if parent:
        setattr(sys.modules[parent], last, m)


def install():
    module("ray", get=get, put=Ref, ObjectRef=Ref, remote=lambda *a, **k: a[0] if a else lambda f: f, get_gpu_ids=lambda: [0],
           is_initialized=lambda: True)
    module("ray.actor", ActorHandle=Handle)
    module("ray._private.services", get_node_ip_address=lambda: "127.0.0.1")
    module("ray.util.placement_group", placement_group=None)
    module("ray.util.scheduling_strategies", PlacementGroupSchedulingStrategy=None)
    module("wandb", log=lambda *a, **k: None)
    module("torch_memory_saver", torch_memory_saver=Saver())
    module("sglang.srt.utils", MultiprocessingSerializer=types.SimpleNamespace(serialize=lambda o, output_str=False: o))
    module("sglang.srt.utils.patch_torch", monkey_patch_torch_reductions=lambda: None)
    module("sglang.srt.weight_sync.tensor_bucket", FlattenedTensorBucket=Bucket)
    module("sglang.srt.server_args", ServerArgs=Anything)
    module("sglang_router.launch_router", RouterArgs=Anything)


def attention(self, query, key, value, attention_mask, attn_mask_type=None, attention_bias=None, packed_seq_params=None):
    """Packed sequences, [tokens, heads, width]: flash attention keeps what Transformer Engine's would."""
    q, k, v = (t.unsqueeze(1).permute(1, 2, 0, 3) for t in (query, key, value))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    out = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True)[0]
    return out.permute(2, 0, 1, 3).reshape(query.shape[0], -1)


def patch(longest):
    """Local layers in the place of Transformer Engine's; what would be read from the device is told."""
    import megatron.core.models.common.embeddings.rope_utils as rope
    import megatron.core.optimizer.optimizer_config as optimizer_config
    import megatron.core.rerun_state_machine as rerun
    import megatron.core.transformer.dot_product_attention as core
    import slime.backends.megatron_utils.data as data
    import slime.backends.megatron_utils.hf_to_megatron as load
    import slime.backends.megatron_utils.megatron_to_hf as send

    def rotary(t, cu_seqlens, freqs, cp_group=None, **k):
        return rope._apply_rotary_pos_emb_bshd(t.unsqueeze(1), freqs[:1].expand(t.shape[0], -1, -1, -1), **k).squeeze(1)

    def fused(name):  # Transformer Engine has the norm inside the linear layer that follows
        return name.replace("input_layernorm.weight", "self_attention.linear_qkv.layer_norm_weight").replace(
            "pre_mlp_layernorm.weight", "mlp.linear_fc1.layer_norm_weight")

    packed, read, convert = data.PackedSeqParams, load._LOADERS["qwen2"], send.convert_qwen2_to_hf
    data.PackedSeqParams = lambda **k: packed(**{**k, "max_seqlen_q": longest, "max_seqlen_kv": longest})
    load._LOADERS["qwen2"] = lambda name, *a: read(fused(name), *a)
    send.convert_qwen2_to_hf = lambda args, name, param: convert(args, fused(name), param)
    core.DotProductAttention.forward, rope._apply_rotary_pos_emb_thd = attention, rotary
    rerun.RerunStateMachine.validate_result = lambda *a, **k: None
    optimizer_config.is_te_min_version = lambda *a, **k: False
