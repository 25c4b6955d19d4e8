#!/usr/bin/env bash
# A key is offered where the script that runs has it: another script of the same framework, or an older version, refuses it at start.
# shellcheck source=tests/cli/lib.sh
# shellcheck disable=SC2016 # backquotes of Markdown
. "$(dirname "$0")/lib.sh"
need jq

# job NAME LINE [WHERE]: a ticket with that command
job() {
    printf 'CUDA out of memory in %s\n\nThe command:\n\n```\n%s\n```\n' "${3:-training}" "$2" > "$1.md"
    run 0 report "$1.md" --force --format json -o "$1.json"
}
lines() { jq -r '[.advice[].set[]? | .text] | join("\n")' "$1.json"; }
has() { check grep -qF -- "$2" <(lines "$1"); }
has_not() { check [ "$(lines "$1" | grep -cF -- "$2")" = 0 ]; }

# NeMo-RL: run_sft.py and run_rm.py take no log-probs and generate nothing; Megatron is named where it runs
job sft 'uv run examples/run_sft.py --config=examples/configs/sft.yaml policy.train_micro_batch_size=4 cluster.gpus_per_node=8'
has sft policy.train_micro_batch_size=2
has sft policy.dtensor_cfg.activation_checkpointing=true
has_not sft logprob
has_not sft policy.generation
has_not sft policy.megatron_cfg
job rm 'uv run examples/run_rm.py --config=examples/configs/rm.yaml policy.train_micro_batch_size=4'
has rm policy.train_micro_batch_size=2
has_not rm logprob
job grpo 'uv run examples/run_grpo_math.py policy.train_micro_batch_size=4 policy.logprob_batch_size=8'
has grpo policy.logprob_batch_size=4

# OpenRLHF: PPO as a script of examples/ is older than packing, Liger and an engine's sleep
ppo='--pretrain meta-llama/Llama-2-7b --micro_train_batch_size 4 --zero_stage 2 --actor_num_gpus_per_node'
job old "python3 examples/train_ppo_ray.py $ppo 2"
has old '--micro_train_batch_size 2'
has_not old packing_samples
has_not old use_liger_kernel
has_not old vllm_enable_sleep
job new "python3 -m openrlhf.cli.train_ppo_ray $ppo 2"
has new --packing_samples
# ZeRO divides nothing on one rank, and an engine sleeps where it shares the cards
has new '--zero_stage 3'
has_not new vllm_enable_sleep
job lone "python3 -m openrlhf.cli.train_ppo_ray $ppo 1"
has_not lone '--zero_stage 3'
job shared "python3 -m openrlhf.cli.train_ppo_ray $ppo 2 --colocate_all_models --vllm_num_engines 2"
has shared --vllm_enable_sleep

# ms-swift: --vllm_device is of versions before padding-free and colocation, and auto takes a card of the engine's own
swift='swift rlhf --rlhf_type grpo --use_vllm true --model Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 2 --max_completion_length 1024'
job auto "NPROC_PER_NODE=7 $swift --vllm_device auto"
has auto '--max_completion_length 512'
has_not auto sleep_level
has_not auto padding_free
job beside "NPROC_PER_NODE=8 $swift --vllm_device auto --num_infer_workers 8"
has beside '--sleep_level 1'
job now "NPROC_PER_NODE=8 $swift --vllm_mode colocate"
has now '--sleep_level 1'
has now '--padding_free true'

# TRL: use_vllm is off by default, and a command that has no word of it generates with the model itself
grpo='accelerate launch grpo_text.py --model_name_or_path m --max_completion_length 512 --num_generations 4 --num_train_epochs 2 --learning_rate 1e-6'
job bare "$grpo # GRPOTrainer of trl" generation
has_not bare vllm
job served "$grpo --use_vllm true --vllm_mode colocate # GRPOTrainer of trl" generation
has served vllm_gpu_memory_utilization

# ColossalAI's Chat application: a word for the plugin in two scripts, batches of its own in the third
job tune 'torchrun --nproc_per_node 4 train_sft.py --pretrain /m/coati --model llama --strategy colossalai_zero2'
has tune '--strategy colossalai_zero2_cpu'
has_not tune LowLevelZeroPlugin
job chat 'torchrun --nproc_per_node 4 train_prompts.py --pretrain /m/coati --model opt --strategy colossalai_zero2 --train_batch_size 4'
has chat '--experience_batch_size 4'
has chat '--train_batch_size 2'
has_not chat colossalai_zero2_cpu
has_not chat LowLevelZeroPlugin
finish
