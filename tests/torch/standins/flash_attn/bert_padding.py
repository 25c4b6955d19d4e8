"""How many positions are no padding is a value on the device, which has none: it is a share of them."""
import os

import torch

SHARE = float(os.environ.get("VALID", "0.75"))


def rearrange(x, pattern):
    if not pattern.startswith("b s"):
        raise NotImplementedError(pattern)
    return x.flatten(0, 1)


def index_first_axis(x, indices):
    return x[indices]


def unpad_input(x, mask, *_):
    indices = torch.arange(int(mask.numel() * SHARE), device=mask.device)
    lengths = mask.sum(-1, dtype=torch.int32)
    starts = torch.zeros(len(lengths) + 1, dtype=torch.int32, device=mask.device)
    return x.flatten(0, 1)[indices], indices, starts, int(mask.shape[1] * SHARE), lengths


def pad_input(hidden_states, indices, batch, seqlen):
    out = hidden_states.new_zeros(batch * seqlen, *hidden_states.shape[1:])
    return out.index_put((indices,), hidden_states).unflatten(0, (batch, seqlen))
