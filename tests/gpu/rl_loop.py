#!/usr/bin/env python3
"""A small reinforcement-learning loop with the memory behaviour of the big ones: a model with random weights (of
transformers, else that of model.py) generates, scores (log-probabilities of the policy and of a reference), trains (forward,
backward, optimizer) and hands its weights to a second copy. One process, one GPU. Nothing is downloaded.

    rl_loop.py --steps 3 --snapshot out.pickle --stacks all
    rl_loop.py --steps 3 --expandable --checkpoint --snapshot out.pickle --stacks python
    rl_loop.py --oom --snapshot oom.pickle          # the sequence grows until the card is full; ends with status 1

Prints one JSON line per step: milliseconds, allocated, reserved, device used."""
import argparse
import json
import os
import sys
import time


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--hidden", type=int, default=512)
    p.add_argument("--vocab", type=int, default=32000)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--prompt", type=int, default=64)
    p.add_argument("--response", type=int, default=32)
    p.add_argument("--expandable", action="store_true")
    p.add_argument("--checkpoint", action="store_true", help="activation checkpointing")
    p.add_argument("--oom", action="store_true", help="double the training sequence until the allocation fails")
    p.add_argument("--snapshot", help="record PyTorch's own history and write it here at the end, or at the OOM")
    p.add_argument("--stacks", choices=["all", "python"], default="all")
    p.add_argument("--entries", type=int, default=30000)
    p.add_argument("--nvtx", action="store_true", help="mark the phases with NVTX ranges")
    return p.parse_args()


ARGS = arguments()
if ARGS.expandable:  # before the first allocation
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402


class Phase:
    """What frameworks do: an annotation for the snapshot, an NVTX range for the driver."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.record = torch.autograd.profiler.record_function(self.name)
        self.record.__enter__()
        if ARGS.nvtx:
            torch.cuda.nvtx.range_push(self.name)

    def __exit__(self, *why):
        if ARGS.nvtx:
            torch.cuda.nvtx.range_pop()
        self.record.__exit__(*why)


def make_model():
    try:
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(vocab_size=ARGS.vocab, hidden_size=ARGS.hidden, intermediate_size=ARGS.hidden * 3, use_cache=True,
                             num_hidden_layers=ARGS.layers, num_attention_heads=8, num_key_value_heads=4,
                             max_position_embeddings=1 << 20)
        return LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    except Exception as e:  # absent, or of a version that builds it otherwise: the plain one does
        print(f"# the plain model: {type(e).__name__}: {e}", file=sys.stderr)
        from model import CausalLM

        return CausalLM(ARGS.vocab, ARGS.hidden, ARGS.layers).to("cuda", torch.bfloat16)


@torch.no_grad()
def generate(model, prompt, n):
    model.eval()
    return model.generate(prompt, max_new_tokens=n, min_new_tokens=n, do_sample=True, pad_token_id=0)


def log_probs(model, ids):
    logits = model(ids, use_cache=False).logits[:, :-1]
    return torch.gather(F.log_softmax(logits.float(), -1), 2, ids[:, 1:, None]).squeeze(-1)


@torch.no_grad()
def compute_log_prob(model, ids):
    model.eval()
    return log_probs(model, ids)


def update_policy(model, optimizer, ids, old):
    model.train()
    new = log_probs(model, ids)
    ratio = torch.exp(new - old)
    advantage = torch.randn_like(ratio)
    loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())


@torch.no_grad()
def sync_weights(source, target):
    """In buckets, as the trainers hand weights to the engine."""
    bucket, size = [], 0
    pairs = list(zip(source.parameters(), target.parameters()))
    for i, (a, b) in enumerate(pairs):
        bucket.append((a.detach().clone(), b))
        size += a.numel() * a.element_size()
        if size > 32 << 20 or i == len(pairs) - 1:
            for value, parameter in bucket:
                parameter.copy_(value)
            bucket, size = [], 0


def used():
    free, total = torch.cuda.mem_get_info()
    return total - free


def loop(policy, rollout, reference, optimizer):
    for step in range(1000 if ARGS.oom else ARGS.steps):
        started = time.perf_counter()
        length = ARGS.prompt << step if ARGS.oom else ARGS.prompt
        prompt = torch.randint(1, ARGS.vocab, (ARGS.batch, length), device="cuda")
        with Phase("gen"):
            ids = generate(rollout, prompt, ARGS.response) if not ARGS.oom or step == 0 else prompt
        with Phase("old_log_prob"):
            old = compute_log_prob(policy, ids)
        with Phase("ref"):
            compute_log_prob(reference, ids)
        with Phase("update_actor"):
            loss = update_policy(policy, optimizer, ids, old)
        with Phase("update_weights"):
            sync_weights(policy, rollout)
        torch.cuda.synchronize()
        print(json.dumps({"step": step, "ms": round((time.perf_counter() - started) * 1e3, 2), "loss": round(loss, 5),
                          "tokens": ids.numel(), "allocated": torch.cuda.memory_allocated(),
                          "reserved": torch.cuda.memory_reserved(), "peak": torch.cuda.max_memory_allocated(), "used": used()}),
              flush=True)
        torch.cuda.empty_cache()


def main():
    torch.manual_seed(0)
    if ARGS.snapshot:
        torch.cuda.memory._record_memory_history(max_entries=ARGS.entries, stacks=ARGS.stacks)
    with Phase("init"):
        policy, rollout, reference = make_model(), make_model(), make_model()
        if ARGS.checkpoint:
            policy.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-5)
    status = 0
    try:
        loop(policy, rollout, reference, optimizer)
    except torch.cuda.OutOfMemoryError as e:
        print(json.dumps({"oom": str(e).split("\n")[0]}), flush=True)
        status = 1
    if ARGS.snapshot:
        torch.cuda.memory._dump_snapshot(ARGS.snapshot)
    return status


if __name__ == "__main__":
    sys.exit(main())
