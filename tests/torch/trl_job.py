#!/usr/bin/env python3
"""A real job of TRL or of Transformers' Trainer on a small Qwen2 of zeros: the trainer's own loop, with its generation, log-probs, loss,
backward pass and optimizer. Records PyTorch's memory history, and beside it what the job knows: OUT.pickle and OUT.trl.json. On the
stand-ins of standin.py every value is 0: where TRL or Transformers asks for one, the answer is given here, and no allocation changes.
When a function of the trainer begins and ends is seen by sys.monitoring, which adds no frame to a stack (Python 3.12).

    trl_job.py OUT grpo|rloo|sft|dpo|trainer|generate [--lora] [--eval] [--set NAME=VALUE of the trainer's configuration] ..."""
import argparse
import json
import os
import sys
import tempfile
import traceback

import tokenizers
import torch
import transformers
from transformers import AutoModelForCausalLM, GenerationMixin, PreTrainedTokenizerFast, Qwen2Config

TOOL = 4


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("job", choices=["grpo", "rloo", "sft", "dpo", "trainer", "generate"])
    p.add_argument("--stacks", choices=["all", "python"], default="all")
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--hidden", type=int, default=896)
    p.add_argument("--mlp", type=int, default=4864)
    p.add_argument("--vocab", type=int, default=151936)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--prompt", type=int, default=64)
    p.add_argument("--response", type=int, default=4)
    p.add_argument("--cache", help="cache_implementation of generate")
    p.add_argument("--lora", action="store_true")
    p.add_argument("--fp32", action="store_true")
    p.add_argument("--eval", action="store_true")
    p.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    return p.parse_args()


ARGS = arguments()


def checkpoint(path):
    """Weights of zeros: a header and a hole. The tokenizer knows words w0 to w999."""
    config = Qwen2Config(hidden_size=ARGS.hidden, intermediate_size=ARGS.mlp, num_hidden_layers=ARGS.layers, vocab_size=ARGS.vocab,
                         num_attention_heads=ARGS.hidden // 64, num_key_value_heads=2, tie_word_embeddings=True, eos_token_id=1, pad_token_id=2)
    config.architectures, config.dtype = ["Qwen2ForCausalLM"], "float32" if ARGS.fp32 else "bfloat16"
    config.save_pretrained(path)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    head, at, elem = {"__metadata__": {"format": "pt"}}, 0, 4 if ARGS.fp32 else 2
    for name, p in model.named_parameters():
        head[name] = {"dtype": "F32" if ARGS.fp32 else "BF16", "shape": list(p.shape), "data_offsets": [at, at + p.numel() * elem]}
        at += p.numel() * elem
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(path, "model.safetensors"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        f.truncate(8 + len(text) + at)
    words = {"w0": 0, "<eos>": 1, "<pad>": 2, "<unk>": 3, **{f"w{i}": i for i in range(4, 1000)}}
    t = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    t.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<eos>", pad_token="<pad>", unk_token="<unk>", padding_side="left")


def held(tensors):
    """Bytes by storage: a storage counts once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if t is not None and t.is_cuda}.values())


class Truth:
    """What PyTorch and the job say of themselves, with the number of entries that the history then had."""

    def __init__(self):
        self.names, self.open, self.spans, self.trainer, self.base, self.kv_cache, self.gradients, self.said = {}, [], [], None, 0, 0, 0, None

    def entries(self):
        s = torch.cuda.memory_stats()
        kinds = ("allocation.all.allocated", "allocation.all.freed", "active.all.freed", "segment.all.allocated", "segment.all.freed")
        return sum(s[k] for k in kinds) - self.base

    def watch(self, function, name):
        self.names[function.__code__] = name
        sys.monitoring.set_local_events(TOOL, function.__code__, sys.monitoring.events.PY_START | sys.monitoring.events.PY_RETURN)

    def begins(self, code, _):
        self.open.append((self.names[code], self.entries()))

    def ends(self, code, _, value):
        name, first = self.open.pop()
        self.spans.append({"name": name, "first": first, "end": self.entries(), "requested": torch.cuda.memory_stats()["requested_bytes.all.current"]})
        if name == "generate":
            cache = sys._getframe(1).f_locals["model_kwargs"]["past_key_values"]
            self.kv_cache = max(self.kv_cache, held(t for layer in cache.layers for t in (layer.keys, layer.values)))
        if name == "backward":
            self.gradients = max(self.gradients, held(p.grad for p in self.trainer.model.parameters()))

    def install(self):
        import accelerate.optimizer

        sys.monitoring.use_tool_id(TOOL, "truth")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, self.begins)
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_RETURN, self.ends)
        self.watch(GenerationMixin._sample, "generate")
        self.watch(accelerate.Accelerator.backward, "backward")
        self.watch(accelerate.optimizer.AcceleratedOptimizer.step, "optimizer")
        self.watch(transformers.Trainer.evaluation_loop, "eval")

    def roles(self):
        models = [self.trainer.model] + ([self.trainer.ref_model] if getattr(self.trainer, "ref_model", None) else [])
        state = self.trainer.optimizer.state.values() if getattr(self.trainer, "optimizer", None) else []
        return {"weights": held(p for m in models for p in m.parameters()), "gradients": self.gradients,
                "optimizer": held(t for s in state for t in s.values() if torch.is_tensor(t)), "kv_cache": self.kv_cache}

    def take(self, *_):
        """At the moment of the snapshot: at the end, or where a request failed."""
        s = torch.cuda.memory_stats()
        self.said = {"entries": self.entries(), "requested": s["requested_bytes.all.current"], "reserved": s["reserved_bytes.all.current"],
                     "requested_peak": s["requested_bytes.all.peak"], "inside": [name for name, _ in self.open]}
        self.said["roles"] = self.roles() if self.trainer is not None else None
        torch.cuda.memory._dump_snapshot(ARGS.out + ".pickle")

    def write(self, error):
        said = {"arguments": sys.argv[2:], "torch": torch.__version__, "transformers": transformers.__version__, **self.said, "spans": self.spans, "error": error}
        with open(ARGS.out + ".trl.json", "w", encoding="utf-8") as f:
            json.dump(said, f, indent=1)
            f.write("\n")


TRUTH = Truth()


def steer(trainer_class=None):
    """What follows from values on the device."""
    seen = {}

    def unfinished(self, this_peer_finished, synced_gpus, device):
        loop = id(sys._getframe(1))
        seen[loop] = seen.get(loop, 0) + 1
        if seen[loop] <= ARGS.response:
            return True
        del seen[loop]
        return False

    GenerationMixin._has_unfinished_sequences = unfinished
    if trainer_class is None:
        return
    module = sys.modules[trainer_class.__module__]
    for name in ("nanmin", "nanmax"):  # a mask of zeros selects nothing
        if hasattr(module, name):
            setattr(module, name, getattr(torch, name[3:]))
    theirs = getattr(trainer_class, "_generate_single_turn", None)

    def _generate_single_turn(self, prompt_ids, *rest):
        """Completions are as long as they were generated."""
        answer, ids = theirs(self, prompt_ids, *rest), [[5] * ARGS.response for _ in prompt_ids]
        return (ids, *answer[1:]) if isinstance(answer, tuple) else ids

    if theirs is not None:
        trainer_class._generate_single_turn = _generate_single_turn
    tokens = ARGS.batch * (ARGS.prompt + ARGS.response - 1)
    index = torch.Tensor.__index__
    torch.Tensor.__index__ = lambda t: -(-tokens // 256) * 256 if t.is_cuda else index(t)  # SFT's loss: as many chunks as there are tokens


def configuration(cls, **more):
    for pair in ARGS.set:
        name, value = pair.split("=", 1)
        try:
            more[name] = json.loads(value)
        except ValueError:
            more[name] = value
    more = {"gradient_checkpointing": False, "per_device_train_batch_size": ARGS.batch, "eval_strategy": "steps" if ARGS.eval else "no", "eval_steps": 1, **more}
    return cls(output_dir=tempfile.mkdtemp(), report_to=[], max_steps=ARGS.steps, save_strategy="no", bf16=True, disable_tqdm=True, **more)


def build(path, tokenizer):
    from datasets import Dataset

    words = [" ".join(f"w{4 + i % 900}" for i in range(n)) for n in (ARGS.prompt, ARGS.response, ARGS.prompt + ARGS.response)]
    more = {"processing_class": tokenizer}
    if ARGS.lora:
        from peft import LoraConfig

        more["peft_config"] = LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM")
    kind = {"model_init_kwargs": {"dtype": "float32" if ARGS.fp32 else "bfloat16"}}
    if ARGS.job == "trainer":
        data = Dataset.from_list([{"input_ids": list(range(4, 4 + ARGS.prompt + ARGS.response))} for _ in range(64)])
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32 if ARGS.fp32 else torch.bfloat16)
        return transformers.Trainer(model=model, args=configuration(transformers.TrainingArguments), train_dataset=data, eval_dataset=data if ARGS.eval else None,
                                    data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False))
    import trl

    if ARGS.job in ("grpo", "rloo"):
        trainer, config = (trl.GRPOTrainer, trl.GRPOConfig) if ARGS.job == "grpo" else (trl.RLOOTrainer, trl.RLOOConfig)
        row = {"prompt": words[0]}
        args = configuration(config, beta=0.04, num_generations=ARGS.batch, max_completion_length=ARGS.response, **kind)
        more["reward_funcs"] = lambda completions, **_: [float(len(c)) for c in completions]
    elif ARGS.job == "sft":
        trainer, row, args = trl.SFTTrainer, {"text": words[2]}, configuration(trl.SFTConfig, max_length=ARGS.prompt + ARGS.response, **kind)
    else:
        trainer, row = trl.DPOTrainer, {"prompt": words[0], "chosen": " " + words[1], "rejected": " " + words[1]}
        args = configuration(trl.DPOConfig, max_length=ARGS.prompt + ARGS.response, **kind)
    steer(trainer)
    rows = Dataset.from_list([dict(row) for _ in range(64)])
    return trainer(model=path, args=args, train_dataset=rows, eval_dataset=rows if ARGS.eval else None, **more)


class Generation:
    """Transformers alone."""

    def __init__(self, path):
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16).cuda()
        steer()

    def train(self):
        prompt = torch.randint(4, 100, (ARGS.batch, ARGS.prompt), device="cuda")
        more = {"cache_implementation": ARGS.cache} if ARGS.cache else {}
        for _ in range(ARGS.steps):
            self.model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=ARGS.response, do_sample=True, top_k=0, disable_compile=True, **more)


def main():
    torch.cuda.set_device(0)
    with tempfile.TemporaryDirectory() as path:
        tokenizer = checkpoint(path)
        torch.cuda.memory._record_memory_history(max_entries=1000000, stacks=ARGS.stacks)
        TRUTH.base = TRUTH.entries()
        torch._C._cuda_attach_out_of_memory_observer(TRUTH.take)
        TRUTH.install()
        try:
            TRUTH.trainer = Generation(path) if ARGS.job == "generate" else build(path, tokenizer)
            TRUTH.trainer.train()
        except torch.cuda.OutOfMemoryError as e:
            traceback.print_exc()
            TRUTH.write(str(e))
            return 1
    TRUTH.take()
    TRUTH.write(None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
