#!/usr/bin/env python3
"""An evaluation of Transformers' Trainer with compute_metrics, on a small Qwen2: the logits of all batches are joined on the card. Records PyTorch's memory
history, OUT.pickle, and beside it what the job knows, OUT.eval.json: its peak, and that of the same evaluation with eval_accumulation_steps=1.

    eval_job.py OUT [--batches N] [--batch N]"""
import argparse
import json
import os
import tempfile
import traceback

import torch
import transformers
from transformers import Qwen2Config, Qwen2ForCausalLM, Trainer, TrainingArguments

TOKENS = 256


class Rows(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        row = torch.ones(TOKENS, dtype=torch.long)
        return {"input_ids": row, "labels": row, "attention_mask": row}


def requested(when):
    return torch.cuda.memory_stats()["requested_bytes.all." + when]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--batches", type=int, default=16)
    p.add_argument("--batch", type=int, default=4)
    args = p.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
    config = Qwen2Config(hidden_size=896, intermediate_size=4864, num_hidden_layers=2, vocab_size=151936, num_attention_heads=14, num_key_value_heads=2,
                         tie_word_embeddings=True)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model=model, args=TrainingArguments(output_dir=folder, per_device_eval_batch_size=args.batch, report_to=[]),
                          eval_dataset=Rows(args.batches * args.batch), compute_metrics=lambda all_of_it: {})
        said = {"torch": torch.__version__, "transformers": transformers.__version__, "error": None,
                "weights": sum(x.untyped_storage().nbytes() for x in {x.data_ptr(): x for x in model.parameters()}.values())}
        try:
            trainer.evaluate()
        except torch.OutOfMemoryError as error:
            traceback.print_exc()
            said["error"] = str(error)
        said["requested_peak"] = requested("peak")
        torch.cuda.memory._dump_snapshot(args.out + ".pickle")
        torch.cuda.memory._record_memory_history(enabled=None)
        torch.cuda.reset_peak_memory_stats()
        trainer.args.eval_accumulation_steps = 1
        trainer.evaluate()
        said["requested_peak_on_host"] = requested("peak")
    with open(args.out + ".eval.json", "w", encoding="utf-8") as f:
        json.dump(said, f, indent=1)
        f.write("\n")
    os._exit(0)  # the accelerator's state is not taken down in order on the stand-ins


if __name__ == "__main__":
    main()
