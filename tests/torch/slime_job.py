#!/usr/bin/env python3
"""slime's Megatron actor on a small Qwen2: loads the checkpoint, sends the weights, and per rollout log-probs of the reference and the
policy, training, weights again. slime, its Megatron-LM and Transformers have to be on PYTHONPATH.

    slime_job.py OUT CHECKPOINT_FOLDER [an option of slime or Megatron-LM ...]"""
import os
import random
import sys

os.environ.update(CUDA_DEVICE_MAX_CONNECTIONS="1", TORCHDYNAMO_DISABLE="1")
OUT, CHECKPOINT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

import numpy  # noqa: E402
import rank  # noqa: E402
import slime_parts  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

WORLD, VOCAB, LENGTHS, PROMPT = int(os.environ.get("MT_WORLD", "1")), 32000, (1024, 1536, 2048, 3072), 512
OPTIONS = f"""--hf-checkpoint {CHECKPOINT} --load {CHECKPOINT} --ref-load {CHECKPOINT} --num-layers 2 --hidden-size 1024
--ffn-hidden-size 2816 --num-attention-heads 16 --num-query-groups 8 --group-query-attention --seq-length 4096 --max-position-embeddings 8192
--vocab-size {VOCAB} --make-vocab-size-divisible-by 1 --rotary-base 10000 --position-embedding-type rope --normalization RMSNorm
--norm-epsilon 1e-6 --swiglu --disable-bias-linear --add-qkv-bias --untie-embeddings-and-output-weights --transformer-impl local
--no-persist-layer-norm --no-gradient-accumulation-fusion --no-masked-softmax-fusion --no-rope-fusion --no-bias-swiglu-fusion
--no-bias-dropout-fusion --attention-dropout 0 --hidden-dropout 0 --tokenizer-type NullTokenizer --micro-batch-size 1 --actor-num-nodes 1
--actor-num-gpus-per-node {WORLD} --num-gpus-per-node {WORLD} --rollout-num-gpus-per-engine 1 --colocate --num-rollout 1
--rollout-batch-size 2 --n-samples-per-prompt 2 --global-batch-size 2 --rollout-max-response-len 3072 --prompt-data /dev/null --lr 1e-6
--lr-decay-style constant --advantage-estimator grpo --use-kl-loss --kl-loss-coef 0.001 --kl-loss-type low_var_kl
--use-dynamic-batch-size --max-tokens-per-gpu 4096 --log-probs-chunk-size 1024 --debug-train-only""".split()


def checkpoint():
    config = transformers.Qwen2Config(
        vocab_size=VOCAB, hidden_size=1024, intermediate_size=2816, num_hidden_layers=2, num_attention_heads=16, num_key_value_heads=8,
        max_position_embeddings=8192, tie_word_embeddings=False, rms_norm_eps=1e-6, architectures=["Qwen2ForCausalLM"])
    if os.path.exists(os.path.join(CHECKPOINT, "config.json")):
        return
    from safetensors.torch import save_file

    with torch.device("meta"):
        names = transformers.AutoModelForCausalLM.from_config(config).state_dict()
    config.save_pretrained(CHECKPOINT)
    save_file({k: torch.zeros(v.shape, dtype=torch.bfloat16) for k, v in names.items()}, os.path.join(CHECKPOINT, "model.safetensors"))


def rollout(args, seed):
    """As the rollout manager hands it over: sequences, and which of them make a micro-batch and a step."""
    random.seed(seed)
    n = args.rollout_batch_size * args.n_samples_per_prompt
    lengths = [random.choice(LENGTHS) for _ in range(n)]
    micro, counts = [], []
    for first in range(0, n, args.global_batch_size):
        step, total = [[]], 0
        for i in range(first, first + args.global_batch_size):
            if step[-1] and total + lengths[i] > args.max_tokens_per_gpu:
                step.append([])
                total = 0
            step[-1].append(i)
            total += lengths[i]
        micro += step
        counts.append(len(step))
    rank.KEPT.setdefault("more", {}).setdefault("micro_batches", []).append([sum(lengths[i] for i in m) for m in micro])
    responses = [length - PROMPT for length in lengths]
    return {"partition": list(range(n)), "tokens": [torch.zeros(length, dtype=torch.long) for length in lengths], "total_lengths": lengths,
            "response_lengths": responses, "loss_masks": [torch.ones(r, dtype=torch.int) for r in responses], "rewards": [0.5] * n,
            "raw_reward": [0.5] * n, "truncated": [0] * n, "sample_indices": list(range(n)), "micro_batch_indices": micro,
            "num_microbatches": counts, "global_batch_sizes": [args.global_batch_size] * len(counts),
            "rollout_mask_sums": torch.tensor([float(r) for r in responses])}


class Manager:
    """Of the engines: one, on this card."""

    new = 1

    def get_updatable_engines_and_lock(self):
        new, self.new = self.new, 0
        return [slime_parts.Handle(self)], slime_parts.Handle(self), new, [1], [0], None

    def __getattr__(self, name):
        return lambda *a, **k: None


def train(args):
    import slime.backends.megatron_utils.actor as slime
    from slime.utils.misc import Box

    actor = slime.MegatronTrainRayActor(WORLD, 0, "127.0.0.1", 29999)
    for name in ("initialize_model_and_optimizer", "load_checkpoint", "forward_only", "train"):
        rank.mark(slime, name, name)
    actor.init(args, "actor", with_ref=True)
    rank.KEPT["built"] = actor.model, actor.optimizer
    actor.rollout_manager = slime_parts.Handle(Manager())
    rank.mark(actor, "update_weights", "update_weights")
    rank.mark(actor.optimizer, "step", "optimizer")
    actor.update_weights()
    for n in range(args.num_rollout):
        actor.train(n, [Box(slime_parts.Ref(rollout(args, n)))] * WORLD)
        actor.update_weights()
        actor.clear_memory()


if __name__ == "__main__":
    numpy.__version__ = "1.26.4"  # slime asks for it; nothing here depends on it
    rank.join(WORLD)
    checkpoint()
    transformers.AutoTokenizer.from_pretrained = lambda *a, **k: slime_parts.Anything()
    slime_parts.install()
    slime_parts.patch(max(LENGTHS))
    from slime.utils.arguments import parse_args

    sys.argv = ["train.py", *OPTIONS, *sys.argv[3:]]
    ARGS = parse_args()
    ARGS.debug_train_only = False  # it was for the parser, which would ask for SGLang
    sys.exit(rank.record(OUT, lambda: train(ARGS)))
