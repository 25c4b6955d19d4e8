import torch


class FlashAttnVarlenFunc(torch.autograd.Function):
    """Output and log-sum-exp forward; the three gradients and their accumulator backward, with heads repeated for grouped queries."""

    @staticmethod
    def forward(ctx, q, k, v):
        out = torch.empty_like(q)
        lse = torch.empty((q.shape[-2], q.shape[:-2].numel()), dtype=torch.float32, device=q.device)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, _):
        q, k, v, _, lse = ctx.saved_tensors
        grads = [torch.empty_like(t) for t in (q, k, v)]
        work = [torch.empty_like(lse), torch.empty(q.shape, dtype=torch.float32, device=q.device)]
        if k.shape[-2] != q.shape[-2]:
            work += [torch.empty_like(q), torch.empty_like(q)]
        del work
        return tuple(grads)


def flash_attn_varlen_func(q, k, v, *_, **__):
    return FlashAttnVarlenFunc.apply(q, k, v)


def flash_attn_func(q, k, v, *_, **__):
    return FlashAttnVarlenFunc.apply(q, k, v)


def flash_attn_with_kvcache(*_, **__):
    raise NotImplementedError
