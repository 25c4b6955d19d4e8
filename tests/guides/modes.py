"""Modes and versions of one program: what starts it, or the form of its error, tells which of its keys there are. sane.py runs these with its own jobs."""

import pathlib
import random
import re

import kit

# OpenRLHF's of v0.6.1 (train_ppo), v0.8.0 and of 3c3be623 (2026).
OLDER = "micro_train_batch_size gradient_checkpointing zero_stage adam_offload"
PACKED = " packing_samples ring_attn_size"
NEWER = "train.micro_batch_size model.gradient_checkpointing_enable ds.zero_stage ds.adam_offload ds.ring_attn_size ds.packing_samples"
# ms-swift 3602360a and 2.6.1; TRL 0.24's scripts.
SWIFT = "per_device_train_batch_size gradient_checkpointing max_length deepspeed attn_impl use_liger_kernel tuner_type dataloader_num_workers"
FREE = " padding_free packing sequence_parallel_size"
SLEEPS = (" vllm_gpu_memory_utilization vllm_max_num_seqs vllm_enforce_eager vllm_tensor_parallel_size steps_per_generation sleep_level offload_model"
          " offload_optimizer move_model_batches max_completion_length")
CORE = ("micro_batch_size recompute_granularity recompute_method recompute_num_layers context_parallel_size tensor_model_parallel_size"
        " optimizer_cpu_offload use_precision_aware_optimizer max_length tuner_type attn_impl padding_free dataloader_num_workers")
TRL = "per_device_train_batch_size gradient_checkpointing use_liger_kernel optim deepspeed dataloader_num_workers peft_config"
# verl b178a3cd: fsdp_sft_trainer of config/sft_trainer.yaml, sft_trainer of config/sft_trainer_engine.yaml.
SFT_OLD = ("data.micro_batch_size_per_gpu data.max_length model.enable_gradient_checkpointing model.use_liger model.strategy model.fsdp_config.cpu_offload"
           " model.fsdp_config.offload_params model.lora_rank ulysses_sequence_parallel_size use_remove_padding model.fsdp_config.model_dtype")
SFT_NEW = ("data.micro_batch_size_per_gpu data.max_token_len_per_gpu data.use_dynamic_bsz data.max_length model.enable_gradient_checkpointing model.use_liger"
           " model.enable_activation_offload model.use_remove_padding model.use_fused_kernels model.lora_rank engine.ulysses_sequence_parallel_size engine.strategy"
           " engine.offload_policy engine.param_offload engine.optimizer_offload engine.dtype engine.model_dtype")
# (program, what starts it, the flags that it has there)
ENTRIES = (
    ("openrlhf", "deepspeed --module openrlhf.cli.train_ppo", OLDER + " micro_rollout_batch_size"),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_sft", OLDER + PACKED + " use_liger_kernel"),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_dpo", OLDER + PACKED + " use_liger_kernel ref_offload"),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_rm", OLDER + PACKED),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_kto", OLDER + " use_liger_kernel ref_offload"),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_kd", OLDER + " use_liger_kernel teacher_offload"),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_sft", NEWER + " ds.use_liger_kernel"),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_dpo", NEWER + " ds.use_liger_kernel ref.offload"),
    ("openrlhf", "deepspeed --module openrlhf.cli.train_rm", NEWER),
    ("swift", "swift sft", SWIFT + FREE),
    ("swift", "swift pt", SWIFT + FREE),
    ("swift", "swift rlhf --rlhf_type dpo", SWIFT + FREE),
    ("swift", "swift rlhf --rlhf_type kto", SWIFT + FREE),
    ("swift", "swift rlhf --rlhf_type orpo", SWIFT),
    ("swift", "swift rlhf --rlhf_type rm", SWIFT),
    ("swift", "swift rlhf --rlhf_type grpo --use_vllm true --vllm_mode colocate", SWIFT + FREE + SLEEPS),
    ("swift", "megatron sft", CORE),
    ("swift", "megatron pt", CORE),
    ("swift", "swift sft --sft_type full --model_type qwen1half-7b-chat", "batch_size gradient_checkpointing max_length sft_type dataloader_num_workers"),
    ("swift", "swift sft --train_type full", SWIFT.replace("tuner_type", "train_type") + FREE),
    ("trl", "trl sft", TRL + " max_length padding_free packing activation_offloading loss_type"),
    ("trl", "trl dpo", TRL + " max_length padding_free activation_offloading precompute_ref_log_probs"),
    ("trl", "trl kto", TRL + " max_length activation_offloading precompute_ref_log_probs"),
    ("trl", "trl grpo --use_vllm true", TRL + " vllm_enable_sleep_mode vllm_gpu_memory_utilization vllm_tensor_parallel_size num_generations max_completion_length generation_batch_size"),
    ("verl_sft", "torchrun -m verl.trainer.fsdp_sft_trainer model.partial_pretrain=Qwen/Qwen2.5-7B", SFT_OLD),
    ("verl_sft", "torchrun -m verl.trainer.sft_trainer model.path=Qwen/Qwen2.5-7B", SFT_NEW),
    ("llamafactory", "llamafactory-cli train --stage sft", None),
    ("axolotl", "axolotl train cfg.yml", None),
)
BATCHES = ("micro_train_batch_size", "train.micro_batch_size", "micro_rollout_batch_size", "per_device_train_batch_size", "micro_batch_size", "batch_size",
           "data.micro_batch_size_per_gpu")
STAGES = ("zero_stage", "ds.zero_stage")
NO_LIST = {"llamafactory": "per_device_train_batch_size", "axolotl": "micro_batch_size"}
KNOWN = {}  # of each program, the flags that one of its entries has
for _program, _, _flags in ENTRIES:
    KNOWN.setdefault(_program, set()).update((_flags or "").split())
# What came with which PyTorch, by its release notes.
SINCE = {"use_reentrant": 1.11, "max_split_size_mb": 1.10, "garbage_collection_threshold": 1.12, "expandable_segments": 2.01, "inference_mode": 1.09, "save_on_cpu": 1.10,
         "scaled_dot_product_attention": 2.00, "sdpa_kernel": 2.03, "_record_memory_history": 2.01, "fully_shard": 2.06, "set_to_none": 1.07, "fused=True": 1.13,
         "torch.autocast": 1.10, "torch.cuda.amp": 1.06, "torch.compile": 2.00, "limit_all_gathers": 1.12, "_cuda_clearCublasWorkspaces": 1.12, "mmap=True": 2.01}
OLD = (
    (1.03, "RuntimeError: CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 7.79 GiB total capacity; 6.20 GiB already allocated; 50.00 MiB free; 17.64 MiB cached)"),
    (2.00, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 7.79 GiB total capacity; 5.20 GiB already allocated; 50.00 MiB free; "
           "7.30 GiB reserved in total by PyTorch)"),
    (1.08, "PyTorch version: 1.8.1\nRuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 7.79 GiB total capacity; 4.20 GiB already allocated; 50.00 MiB free; "
           "7.30 GiB reserved in total by PyTorch)"),
)
CALLS = (
    [("train.py", "<module>", "loss.backward()"), ("torch/tensor.py", "backward", "torch.autograd.backward(self)")],
    [("train.py", "<module>", "out = model(x)"), ("torch/nn/modules/module.py", "__call__", "self.forward(*input)"), ("models/net.py", "forward", "return F.relu(x)")],
    [("eval.py", "<module>", "with torch.no_grad(): outs.append(model(x))"), ("models/net.py", "attention", "torch.matmul(q, k)")],
    [("train.py", "<module>", "optimizer.step()"), ("torch/optim/adam.py", "step", "state['exp_avg'] = torch.zeros_like(p.data)")],
    [("load.py", "<module>", "model.cuda()"), ("torch/nn/modules/module.py", "cuda", "return t.cuda(device)")],
)


def keys_in(line):
    """The key that a line types, however it is written."""
    found = re.match(r"(?:--)?([A-Za-z_][\w.-]*)(?=[ =:]|$)", (line.key or line.text).strip())
    return found.group(1).replace("-", "_") if found else ""


def check_entry(memtrace, scratch, number, entry, log):
    """Flags of one entry point: no card types one that it refuses."""
    program, start, flags = entry
    pick, own = random.Random(f"entry {number} {start}"), (flags or NO_LIST[program]).split()
    usual = {k: "8" for k in BATCHES if k in own} | {k: "2" for k in STAGES if k in own}
    dashes = "" if program == "verl_sft" else "--"  # Hydra's have none
    settings = {dashes + k: v for k, v in usual.items() if number % 3 != 0 or pick.random() < 0.7} or {dashes + next(iter(usual)): "8"}
    launch = pathlib.Path(scratch) / f"entry-{number}.launch"
    launch.write_text(f"#!/bin/sh\n{start} {kit.as_args(settings)}\n", encoding="utf-8")
    run = kit.Run(memtrace, [log], configs=[launch], cwd=scratch)
    if run.report is None:
        return [(program, "no report", "-", run.errors.strip()[-120:], settings, log)]
    out = list(kit.contradictions(run))
    for card in run.cards:
        for line in card.lines if flags else ():
            key = keys_in(line)
            if key in KNOWN[program] and key not in own:
                out.append(("refused", card.id, f"{key} is no flag of {start}"))
    return [(start, kind, card, what, settings, log) for kind, card, what in out]


def check_old(memtrace, scratch, number):
    """What an older PyTorch says when memory runs out: no card types what it does not have."""
    version, sentence = OLD[number % len(OLD)]
    frames = "".join(f'  File "{p if p[0] != "t" or "/" not in p else "/usr/lib/python3/site-packages/" + p}", line {40 + n}, in {f}\n    {code}\n'
                     for n, (p, f, code) in enumerate(CALLS[number // len(OLD)]))
    log = pathlib.Path(scratch) / f"old-{number}.log"
    head, last = sentence.rsplit("\n", 1) if "\n" in sentence else ("", sentence)
    log.write_text(f"{head}\nTraceback (most recent call last):\n{frames}{last}\n", encoding="utf-8")
    run = kit.Run(memtrace, [log], cwd=scratch)
    if run.report is None:
        return [("pytorch", "no report", "-", run.errors.strip()[-120:], {}, log.name)]
    return [("pytorch", "too new", card.id, f"{line.text} with PyTorch {version:.2f}", {}, log.name)
            for card in run.cards for line in card.lines for name, since in SINCE.items()
            if since > version and name in line.text and "or newer" not in line.text]


def jobs(submit, memtrace, scratch, frameworks, logs):
    """All of both, handed to submit(function, ...)."""
    for n, entry in enumerate(e for e in ENTRIES if e[0] in frameworks):
        for i in range(6):
            yield submit(check_entry, memtrace, scratch, 10 * n + i, entry, logs[i % len(logs)])
    if "pytorch" in frameworks:
        for number in range(len(OLD) * len(CALLS)):
            yield submit(check_old, memtrace, scratch, number)
