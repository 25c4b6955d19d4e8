#!/usr/bin/env python3
"""GRPO on a model with low-rank adapters of PEFT: generation, log-probabilities of the policy and of the reference, which is the model
without its adapters, an update of the adapters, and at the end the adapters merged into the weights. Records the history, and beside it
what the job holds: OUT.pickle and OUT.truth.json, as loop.py does.

    lora_job.py OUT [--merge] [--checkpoint] [--oom] ..."""
import argparse
import json
import os
import sys

import peft
import torch
import torch.nn.functional as F
import transformers
import truth


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--checkpoint", action="store_true", help="gradient checkpointing")
    p.add_argument("--merge", action="store_true", help="the adapters are merged at the end")
    p.add_argument("--oom", action="store_true", help="the snapshot is written where a request fails")
    for name, value in (("steps", 2), ("layers", 4), ("hidden", 896), ("vocab", 32000), ("batch", 2), ("length", 160), ("rank", 32)):
        p.add_argument("--" + name, type=int, default=value)
    return p.parse_args()


A = arguments()


def held(tensors):
    """Bytes on the device by storage: a storage counts once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if torch.is_tensor(t) and t.is_cuda}.values())


class Truth(truth.Ends):
    model, optimizer, gradients, roles = None, None, 0, None

    def hold(self):
        named = list(self.model.named_parameters())
        self.roles = {"base": held(p for n, p in named if "lora_" not in n), "adapters": held(p for n, p in named if "lora_" in n),
                      "gradients": self.gradients, "optimizer": held(t for s in self.optimizer.state.values() for t in s.values())}

    def take(self, *_):
        self.end("snapshot")
        if self.roles is None:
            self.hold()
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")

    def write(self, error=None):
        said = {"torch": torch.__version__, "peft": peft.__version__, "transformers": transformers.__version__, "arguments": sys.argv[2:],
                "phases": self.ends, "roles": self.roles, "error": error}
        with open(A.out + ".truth.json", "w", encoding="utf-8") as f:
            f.write(json.dumps(said, indent=1) + "\n")


TRUTH = Truth()


def build():
    config = transformers.Qwen2Config(hidden_size=A.hidden, intermediate_size=A.hidden * 11 // 4, num_hidden_layers=A.layers, vocab_size=A.vocab,
                                      num_attention_heads=A.hidden // 64, num_key_value_heads=2, tie_word_embeddings=False)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa").to("cuda")
    model = peft.get_peft_model(model, peft.LoraConfig(r=A.rank, target_modules="all-linear", task_type="CAUSAL_LM"))
    if A.checkpoint:
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model, torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)


def log_probs(model, ids):
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    return torch.gather(F.log_softmax(logits.float(), -1), 2, ids[:, 1:, None]).squeeze(-1)


@torch.no_grad()
def compute_log_prob(model, ids):
    return log_probs(model, ids)


@torch.no_grad()
def compute_ref_log_prob(model, ids):
    with model.disable_adapter():
        return log_probs(model, ids)


def update_policy(model, optimizer, ids, old, ref):
    new = log_probs(model, ids)
    loss = -torch.exp(new - old).clamp(0.8, 1.2).mean() + 0.001 * (new - ref).mean()
    loss.backward()
    TRUTH.gradients = held(p.grad for p in model.parameters())
    optimizer.step()
    optimizer.zero_grad()


def job():
    TRUTH.model, TRUTH.optimizer = model, optimizer = build()
    TRUTH.end("build")
    for _ in range(A.steps):
        ids = torch.randint(1, A.vocab, (A.batch, A.length), device="cuda")
        old = compute_log_prob(model, ids)
        TRUTH.end("compute_log_prob")
        ref = compute_ref_log_prob(model, ids)
        TRUTH.end("compute_ref_log_prob")
        update_policy(model, optimizer, ids, old, ref)
        TRUTH.end("update_policy")
    if A.merge:
        TRUTH.hold()
        model.merge_and_unload()
        TRUTH.end("merge_and_unload")


def main():
    return truth.record(job, TRUTH, "all", A.oom)


if __name__ == "__main__":
    sys.exit(main())
