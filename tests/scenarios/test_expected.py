#!/usr/bin/env python3
"""The bytes that a report expects of a role are those that the generator allocates, which computes tensors from the model's shape and knows no
formula of memtrace: in several frameworks, with the settings of the run and without them. Without what a product needs, the report says so."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from generator import job as jobs, scenario as scenarios  # noqa: E402
from generator.record import GIB, MIB, Truth  # noqa: E402
from generator.scenario import Scenario, build  # noqa: E402
from generator.shapes import SHAPES  # noqa: E402

NEAR = 0.005  # shards are rounded down tensor by tensor
TYPES = {"qwen3_8b": "qwen3", "qwen2_1.5b": "qwen2", "qwen3_0.6b": "qwen3", "llama3_8b": "llama"}


def model(name, layers):
    s = SHAPES[name]
    return {"model_type": TYPES[name], "num_hidden_layers": layers, "hidden_size": s.hidden, "intermediate_size": s.inner,
            "num_attention_heads": s.heads, "num_key_value_heads": s.kv_heads, "head_dim": s.head, "vocab_size": s.vocab,
            "tie_word_embeddings": s.tied}


def flags(name, layers, gpus, tp=1, more=""):
    s = SHAPES[name]
    return ("--num-layers %d --hidden-size %d --ffn-hidden-size %d --num-attention-heads %d --num-query-groups %d --kv-channels %d "
            "--vocab-size %d --swiglu --tensor-model-parallel-size %d --actor-num-nodes 1 --actor-num-gpus-per-node %d "
            "--max-tokens-per-gpu 4096 --update-weight-buffer-size %d"
            % (s and layers, s.hidden, s.inner, s.heads, s.kv_heads, s.head, s.vocab, tp, gpus, 512 * MIB)
            + ("" if s.tied else " --untie-embeddings-and-output-weights") + more)


class Noted(Truth):
    """Also the highest of each role; of gradients when they are clipped, not one layer's in the middle of a backward."""

    def add(self, block, size, role):
        super().add(block, size, role)
        self.highest = getattr(self, "highest", {})
        now = dict(self.live) if self.where.endswith("/clip") else {role: self.live[role]}
        for name, n in now.items():
            if name != "grad" or self.where.endswith("/clip"):
                self.highest[name] = max(n, self.highest.get(name, 0))


# name: job, model as config.json (or None), arguments, roles whose expected bytes are compared, name of the file where it says the rank
VERL = "trainer.n_gpus_per_node=8 trainer.nnodes=1 actor_rollout_ref.actor.fsdp_config.model_dtype=fp32 "
STATES = ("param", "grad", "optim_state")
CASES = {
    "verl": (dict(shape="qwen2_1.5b", layers=6, steps=2), model("qwen2_1.5b", 6), VERL, STATES + ("logits",)),
    "verl-8b": (dict(shape="qwen3_8b", layers=2, steps=2, dp=4), model("qwen3_8b", 2), VERL.replace("=8", "=4"), STATES),
    "verl-measured": (dict(shape="qwen2_1.5b", layers=6, steps=2), None, VERL, ("grad", "optim_state", "logits")),
    "verl-entropy": (dict(shape="qwen2_1.5b", layers=6, steps=2, entropy_in_train=True), None, VERL, ("logits",)),
    "verl-logp": (dict(shape="qwen2_1.5b", layers=6, steps=1, step=("logp_old",), entropy=False), None, VERL, ("logits",)),
    "verl-fsdp1": (dict(backend="fsdp1", shape="qwen2_1.5b", layers=6, steps=2), model("qwen2_1.5b", 6), VERL, STATES),
    "areal": (dict(framework="areal", param_bytes=2, grad_bytes=2, state_bytes=2, shape="qwen3_8b", layers=3),
              model("qwen3_8b", 3), "actor.backend=fsdp:d8 actor.dtype=bfloat16 actor.optimizer.type=adam", STATES),
    "slime": (dict(backend="megatron", framework="slime", param_bytes=2, shape="qwen3_8b", layers=2), None,
              flags("qwen3_8b", 2, 8), STATES),
    "relax-tp2": (dict(backend="megatron", framework="relax", param_bytes=2, shape="qwen3_8b", layers=2, tp=2, dp=4), None,
                  flags("qwen3_8b", 2, 8, 2), STATES),
    "verl-megatron": (dict(backend="megatron", framework="verl_megatron", param_bytes=2, shape="llama3_8b", layers=1, dp=8),
                      model("llama3_8b", 1), "trainer.n_gpus_per_node=8 trainer.nnodes=1 "
                      "actor_rollout_ref.actor.strategy=megatron", STATES),
    "plain": (dict(framework="plain", backend="plain", dp=1, shape="qwen3_0.6b", layers=6, steps=3), None, "",
              ("grad", "optim_state")),
    "hf": (dict(framework="hf", backend="plain", dp=1, shape="qwen3_0.6b", layers=6, steps=3), None, "", ("grad", "optim_state", "logits")),
    "trl": (dict(framework="trl", backend="plain", dp=1, shape="qwen3_0.6b", layers=4, steps=2), None, "", ("grad", "optim_state", "logits")),
    # the first of two stages: half of the layers and the embedding, whose head is on the last one
    "slime-pp2": (dict(backend="megatron", framework="slime", param_bytes=2, shape="qwen3_8b", layers=2, first_stage=True), None,
                  flags("qwen3_8b", 4, 16, more=" --pipeline-model-parallel-size 2"), STATES, "snapshot_rank3.pickle"),
    "verl-sgd": (dict(shape="qwen2_1.5b", layers=6, steps=2, optimizer="sgd"), model("qwen2_1.5b", 6),
                 VERL + "actor_rollout_ref.actor.optim.optimizer=SGD", ("param", "grad")),
    "zero3": (dict(framework="openrlhf", backend="zero3", param_bytes=2, grad_bytes=2, micro=(12288,), steps=2), model("qwen3_8b", 4),
              "--zero-stage 3 --bf16 true WORLD_SIZE=8", STATES),
    "openrlhf": (dict(framework="openrlhf", backend="zero3", param_bytes=2, state_bytes=4, micro=(12288,), steps=2), None, "", ("logits",)),
    "vllm": (dict(engine="vllm", framework="none", begin=("rollout_init",), step=("generate",), steps=1, engine_layers=12,
                  kv=6 * GIB, weights_tp=2), model("qwen3_8b", 12), "--tensor-parallel-size 2 --kv-cache-memory-bytes %d" % (6 * GIB),
             ("engine_weights", "kv_cache")),
    "sglang": (dict(engine="sglang", framework="none", begin=("rollout_init",), step=("generate",), steps=1, engine_layers=8,
                    kv=4 * GIB), model("qwen3_8b", 8),
               "--tp-size 1 --max-total-tokens %d" % (4 * GIB // (2 * 8 * 8 * 128 * 2)), ("engine_weights", "kv_cache")),
}


class Zero3(scenarios.Whole):
    """With the 32-bit copy of its part that ZeRO 3 makes before the first step."""

    def make_params(self):
        super().make_params()
        if self.backend == "zero3" and self.grad_bytes == 2:
            with self.call("deepspeed/runtime/zero/stage3.py:420 _create_fp32_partitions"):
                self.main = [self.new(4 * n, "optim_state", "_to_copy") for _, n in self.shards()]


def report(program, folder, name, job, config, args, file="snapshot.pickle"):
    played = build(Scenario(name, "expected bytes", job))
    (folder / file).write_bytes(played.data)
    extra = ["--args", args] if args else []
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        extra += ["--config", str(folder / "config.json")]
    done = subprocess.run([program, "report", str(folder / file), "--format", "json", "-o", "-", *extra],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return played, json.loads(done.stdout)["devices"][0]["expected"]


def true_bytes(played, role):
    """Highest of a role over the job, as the generator allocated it."""
    return played.truth.highest[role]


def main():
    jobs.Truth, scenarios.Whole = Noted, Zero3
    program, wrong, compared = os.environ.get("MEMTRACE", "memtrace"), [], 0
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        for name, (job, config, args, roles, *file) in CASES.items():
            if only and name not in only:
                continue
            folder = pathlib.Path(scratch) / name
            folder.mkdir()
            played, rows = report(program, folder, name, job, config, args, *file)
            for role in roles:
                row = next((r for r in rows if r["role"] == role), None)
                is_ = true_bytes(played, role)
                if row is None or row["expected_bytes"] is None:
                    wrong.append("%s: %s: nothing expected, is %d: %s" % (name, role, is_, row and row.get("unknown")))
                elif abs(row["expected_bytes"] - is_) > NEAR * is_:
                    wrong.append("%s: %s: expected %d, is %d (%s)" % (name, role, row["expected_bytes"], is_, row["formula"]))
                elif row["more_than_expected"]:
                    wrong.append("%s: %s: said to be more than expected" % (name, role))
                else:
                    compared += 1
            print(name, json.dumps(rows)) if only else None
    for line in wrong:
        print("WRONG " + line)
    print("%d scenarios, %d roles as the generator has them, %d wrong" % (len(CASES), compared, len(wrong)))
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
