"""A small Llama-like model in plain PyTorch, called as those of transformers are: where that is not installed, and for tests/torch."""
import math
from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

HEADS, KV_HEADS = 8, 4
Output = namedtuple("Output", "logits")  # FSDP looks for tensors in it


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return self.weight * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.size = hidden // HEADS
        self.q_proj = nn.Linear(hidden, HEADS * self.size, bias=False)
        self.k_proj = nn.Linear(hidden, KV_HEADS * self.size, bias=False)
        self.v_proj = nn.Linear(hidden, KV_HEADS * self.size, bias=False)
        self.o_proj = nn.Linear(HEADS * self.size, hidden, bias=False)

    def forward(self, x, cache):
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, HEADS, self.size).transpose(1, 2)
        k = self.k_proj(x).view(b, n, KV_HEADS, self.size).transpose(1, 2)
        v = self.v_proj(x).view(b, n, KV_HEADS, self.size).transpose(1, 2)
        if cache is not None:
            k, v = cache.update(self, k, v)
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size)  # no mask: what is computed matters to nobody
        return self.o_proj((F.softmax(scores.float(), -1).to(q.dtype) @ v).transpose(1, 2).reshape(b, n, -1))


class MLP(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, hidden * 3, bias=False)
        self.up_proj = nn.Linear(hidden, hidden * 3, bias=False)
        self.down_proj = nn.Linear(hidden * 3, hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.self_attn, self.mlp = Attention(hidden), MLP(hidden)
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(hidden), RMSNorm(hidden)

    def forward(self, x, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class KVCache:
    def __init__(self):
        self.held = {}

    def update(self, layer, k, v):
        if layer in self.held:
            old_k, old_v = self.held[layer]
            k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        self.held[layer] = k, v
        return k, v


class CausalLM(nn.Module):
    def __init__(self, vocab, hidden, layers):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(DecoderLayer(hidden) for _ in range(layers))
        self.norm = RMSNorm(hidden)
        self.lm_head = nn.Linear(hidden, vocab, bias=False)
        self.checkpointing = False
        self.cache = None  # of the last generate()

    def gradient_checkpointing_enable(self, **_):
        self.checkpointing = True

    def forward(self, ids, cache=None, use_cache=False):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            if self.checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x, cache)
        return Output(self.lm_head(self.norm(x)))

    @torch.no_grad()
    def generate(self, prompt, max_new_tokens, **_):
        """Greedy, so that nothing depends on values: on a simulated device they are 0."""
        cache = self.cache = KVCache()
        ids = new = prompt
        for _ in range(max_new_tokens):
            new = torch.argmax(self(new, cache).logits[:, -1], -1, keepdim=True)
            ids = torch.cat([ids, new], 1)
        return ids
