#!/usr/bin/env python3
"""One of torchtune's recipes as it is, on a small Qwen2: OUT.pickle is PyTorch's memory history of two steps, OUT.tune.json what PyTorch said of its peak, and of
that of the same steps with half the batch. The folder of torchtune's repository is on PYTHONPATH, and what it needs (torchtune_parts.py has the rest).

    torchtune_job.py OUT REPOSITORY [RECIPE] [--batch N] [--set KEY=VALUE]...     # with --set, the recipe's own, there is no second run"""
import argparse
import gc
import json
import os
import runpy
import sys
import tempfile
import traceback

import torch

import torchtune_parts  # noqa: F401: the modules that torchtune imports

CONFIG = """\
output_dir: %(folder)s
model: {_component_: torchtune_parts.model}
tokenizer: {_component_: torchtune_parts.Tokenizer}
checkpointer: {_component_: torchtune_parts.Checkpointer, checkpoint_dir: %(folder)s, checkpoint_files: [], output_dir: %(folder)s, model_type: QWEN2}
resume_from_checkpoint: False
dataset: {_component_: torchtune_parts.Rows, packed: False}
seed: 1
shuffle: False
batch_size: %(batch)d
epochs: 1
optimizer: {_component_: torch.optim.AdamW, fused: True, lr: 1e-5}
optimizer_in_bwd: False
loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}
max_steps_per_epoch: 2
gradient_accumulation_steps: 1
clip_grad_norm: null
compile: False
device: cuda
dtype: bf16
enable_activation_checkpointing: False
enable_activation_offloading: False
metric_logger: {_component_: torchtune_parts.Quiet, log_dir: %(folder)s}
log_every_n_steps: 1
log_peak_memory_stats: False
log_level: ERROR
"""


def run(file, folder, batch, settings=()):
    """Returns the text of the failure; None when there is none."""
    path = os.path.join(folder, "run.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(CONFIG % {"folder": folder, "batch": batch})
    sys.argv = [file, "--config", path, *settings]
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as end:
        assert not end.code, end.code
    except torch.OutOfMemoryError as error:
        traceback.print_exc()
        return str(error)
    return None


def run_half(said, file, folder, batch):
    torch.cuda.memory._record_memory_history(enabled=None)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    said["error_of_half"] = run(file, folder, batch)
    said["requested_peak_of_half"] = torch.cuda.memory_stats()["requested_bytes.all.peak"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("repository")
    p.add_argument("recipe", nargs="?", default="full_finetune_single_device")
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    args = p.parse_args()
    file = os.path.join(args.repository, "recipes", args.recipe + ".py")
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
    with tempfile.TemporaryDirectory() as folder:
        said = {"torch": torch.__version__, "error": run(file, folder, args.batch, args.set), "requested_peak": torch.cuda.memory_stats()["requested_bytes.all.peak"]}
        torch.cuda.memory._dump_snapshot(args.out + ".pickle")
        if args.set:
            said["settings"] = args.set
        else:
            run_half(said, file, folder, args.batch // 2)
    with open(args.out + ".tune.json", "w", encoding="utf-8") as f:
        json.dump(said, f, indent=1)
        f.write("\n")
    os._exit(0)  # the accelerator's state is not taken down in order on the stand-ins


if __name__ == "__main__":
    main()
