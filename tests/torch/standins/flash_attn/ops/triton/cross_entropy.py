import torch


class CrossEntropyLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels, inplace_backward):
        losses, lse, z_losses = (torch.empty(len(logits), device=logits.device) for _ in range(3))
        ctx.save_for_backward(logits, lse, labels)
        ctx.inplace_backward = inplace_backward
        ctx.mark_non_differentiable(z_losses)
        return losses, z_losses

    @staticmethod
    def backward(ctx, *_):
        logits = ctx.saved_tensors[0]
        return (logits if ctx.inplace_backward else torch.empty_like(logits)), None, None


def cross_entropy_loss(logits, labels, inplace_backward=False, **_):
    return CrossEntropyLoss.apply(logits, labels, inplace_backward)
