#!/usr/bin/env bash
# Settings that a log says: Hydra's overrides, commands, arguments that programs print. They are the run's, below what is given.
# shellcheck disable=SC2016 # what a log says in backquotes is not run
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

OOM='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 79.11 GiB of which 412.00 MiB is free. Of the allocated memory 75.12 GiB is allocated by PyTorch, and 310.20 MiB is reserved by PyTorch but unallocated.'
# log NAME LINES: with the failure behind them
log() { { printf '%b' "$2"; echo "${3:-}$OOM"; } > "$1.log"; }
# sets NAME KEY VALUE LINE: what the report lists
sets() {
    run 0 report "$1.log" --force --format json -o "$1.json"
    check [ "$(jq -r --arg key "$2" '[.settings[] | select(.key == $key)] | .[0] | "\(.value) \(.set_in):\(.line)"' "$1.json")" = "$3 $1.log:$4" ]
}
none() {
    run 0 report "$1.log" --force --format json -o "$1.json"
    check [ "$(jq '[.settings // [] | .[]] | length' "$1.json")" = 0 ]
}

log hydra "x\nError executing job with overrides: ['data.train_batch_size=96', '+data.max_prompt_length=512', \"trainer.logger=['console','wandb']\", 'actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16']\n"
sets hydra actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu 16 2
sets hydra data.max_prompt_length 512 2
check [ "$(jq -r '[.advice[].set[]? | select(.key == "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu") | .value][0]' hydra.json)" = 8 ]
log serve '(base) u@n7:~$ HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 vllm serve m \\\n   --gpu-memory-utilization 0.94 \\\n   --max-num-seqs=512\nline\n' '(EngineCore_DP0 pid=3) '
sets serve --gpu-memory-utilization 0.94 1
sets serve --max-num-seqs 512 1
check [ "$(grep -c hf_abcdefgh serve.json)" = 0 ]
log spread '+ python3 -m verl.trainer.main_ppo \\\n(TaskRunner pid=9)   actor_rollout_ref.rollout.gpu_memory_utilization=0.7 \\\n(TaskRunner pid=9)   data.max_response_length=2048 $@\n'
sets spread actor_rollout_ref.rollout.gpu_memory_utilization 0.7 1
sets spread data.max_response_length 2048 1
log args "INFO 10-12 [utils.py:233] non-default args: {'max_model_len': 32768, 'compilation_config': {'level': 3, 'sizes': [1, 2]}, 'enforce_eager': True, 'quantization': None}\n" '(EngineCore_DP0 pid=3) '
sets args --max-model-len 32768 1
sets args --enforce-eager '' 1
check [ "$(jq '[.settings[].key] | index("--quantization")' args.json)" = null ]
log server "[2026-01-12] server_args=ServerArgs(model_path='m', mem_fraction_static=0.88, chunked_prefill_size=8192, max_running_requests=None)\n" 'sglang::scheduler: '
sets server --mem-fraction-static 0.88 1
log list 'Flags:\n   - `--max-tokens-per-gpu 32768`\n   - `--sglang-mem-fraction-static 0.7`\n'
sets list --max-tokens-per-gpu 32768 2
sets list --sglang-mem-fraction-static 0.7 3
p='(MegatronTrainRayActor pid=8) '
log dotted "$p  micro_batch_size ................................ 1\n$p  max_tokens_per_gpu .............................. 9216\n$p  tied ... no\n" "$p"
sets dotted --max-tokens-per-gpu 9216 1
log short 'python -m sglang.launch_server --model-path m -tp 4\\\n --mem-fraction-static 0.8 -m x\n' 'sglang::scheduler: '
sets short --tp 4 1
sets short --mem-fraction-static 0.8 1
# What is not in a list of all arguments has its default, but not where a part of the list is missing.
fails='Traceback (most recent call last):\n  File "/x/trl/trainer/sft_trainer.py", line 9, in compute_loss\n    loss = self.loss_fn()\n'
batch() { jq -r '[.advice[].set[]? | select(.text | startswith("per_device_train_batch_size=")) | .value][0]' "$1.json"; }
log all "Namespace(vllm_enable_sleep_mode=False, max_length=4096, lr=1e-5)\n$fails"
sets all --max-length 4096 1
check [ "$(batch all)" = 4 ]
log cut "Namespace(vllm_enable_sleep_mode=False, max_length=4096, lr=1e-\n$fails"
sets cut --max-length 4096 1
check [ "$(batch cut)" = '<half of its value>' ]
log dots "Namespace(vllm_enable_sleep_mode=False, max_length=4096, ...)\n$fails"
sets dots --max-length 4096 1
check [ "$(batch dots)" = '<half of its value>' ]
# What is given holds before it, and prose is none.
run 0 report list.log --args '--max-tokens-per-gpu 4096' --force --format json -o both.json
check [ "$(jq -r '[.settings[] | select(.key == "--max-tokens-per-gpu")] | .[0].value' both.json)" = 4096 ]
log prose 'Please try --max-num-seqs 3, or launch it again with --gpu-memory-utilization 0.5.\nusage: train.py [-h] [--micro-batch-size N]\n    parser.add_argument("--micro-batch-size", type=int)\nWe train with --max-tokens-per-gpu 3\n'
none prose
# Secrets are none of a report's, names none of a redacted one's.
log secret "Error executing job with overrides: ['actor_rollout_ref.model.path=/home/alice/acme-7b', 'data.max_prompt_length=77', 'trainer.wandb_api_key=0123456789abcdef0123456789abcdef01234567']\n"
run 0 report secret.log --redact --force --format json -o secret.json
check [ "$(grep -cE 'alice|acme|0123456789abcdef' secret.json)" = 0 ]
finish
