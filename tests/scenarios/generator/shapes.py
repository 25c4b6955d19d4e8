"""Model shapes as their public configurations have them. Layers are given with the job: fewer of them, the same tensors."""

from collections import namedtuple

Shape = namedtuple("Shape", "hidden inner heads kv_heads head vocab tied")
SHAPES = {
    "qwen3_8b": Shape(4096, 12288, 32, 8, 128, 151936, False),
    "qwen3_0.6b": Shape(1024, 3072, 16, 8, 128, 151936, True),
    "qwen2_1.5b": Shape(1536, 8960, 12, 2, 128, 151936, True),
    "qwen2_7b": Shape(3584, 18944, 28, 4, 128, 152064, False),
    "qwen2_72b": Shape(8192, 29568, 64, 8, 128, 152064, False),
    "qwen3.5_9b": Shape(4096, 12288, 32, 8, 128, 248320, False),
    "llama3_8b": Shape(4096, 14336, 32, 8, 128, 128256, False),
    "gpt2_medium": Shape(1024, 4096, 16, 16, 64, 50304, True),
}


def layer_params(s):
    """Elements of each weight of one layer."""
    q, kv = s.heads * s.head, s.kv_heads * s.head
    return [
        s.hidden * q, s.hidden * kv, s.hidden * kv, q * s.hidden,
        s.hidden * s.inner, s.hidden * s.inner, s.inner * s.hidden, 2 * s.hidden,
    ]


def fused_params(s):
    """The same as Megatron and the engines keep them."""
    q, k, v, o, gate, up, down, norms = layer_params(s)
    return [q + k + v, o, gate + up, down, norms]


def outer_params(s):
    """Embedding, final norm, head."""
    return [s.vocab * s.hidden, s.hidden] + ([] if s.tied else [s.vocab * s.hidden])


def layer_ops(s, tokens, tp):
    """What one layer allocates in a forward over so many tokens: (module, bytes, operator, saved for the backward)."""
    h, q, kv, inner = s.hidden, s.heads * s.head // tp, s.kv_heads * s.head // tp, s.inner // tp
    return [
        ("norm", tokens * h * 4, "_to_copy", False),
        ("norm", tokens * h * 2, "mul_Tensor", True),
        ("attn", tokens * q * 2, "mm", True),
        ("attn", tokens * kv * 2, "mm", True),
        ("attn", tokens * kv * 2, "mm", True),
        ("attn", tokens * q * 2, "_flash_attention_forward", True),
        ("attn", tokens * (s.heads // tp) * 4, "_flash_attention_forward", True),
        ("attn", tokens * h * 2, "mm", False),
        ("layer", tokens * h * 2, "add_Tensor", True),
        ("norm", tokens * h * 4, "_to_copy", False),
        ("norm", tokens * h * 2, "mul_Tensor", True),
        ("mlp", tokens * inner * 2, "mm", True),
        ("mlp", tokens * inner * 2, "mm", True),
        ("mlp", tokens * inner * 2, "silu", True),
        ("mlp", tokens * inner * 2, "mul_Tensor", True),
        ("mlp", tokens * h * 2, "mm", False),
        ("layer", tokens * h * 2, "add_Tensor", True),
    ]
