#!/usr/bin/env bash
# Lines of a program's settings are asked one by one; the bound of the input itself; copies of weights, where no pass runs.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

# ask TEXT: a ticket with the text
ask() {
    printf '# Out of memory\n\n%b\n' "$1" > input.md
    run 0 report input.md --no-config --force --format json -o input.json
}
first() { check [ "$(jq -r '.advice[0].id' input.json)" = "$1" ]; }
lines() { jq -r '.advice[] | select(.id == "'"$1"'" and .top) | .set[].text' input.json; }
has() { check grep -qF -- "$2" <(lines "$1"); }
lacks() { check [ "$(lines "$1" | grep -cF -- "$2")" = 0 ]; }
oom='RuntimeError: CUDA out of memory. Tried to allocate 256.00 MiB (GPU 0; 24.00 GiB total capacity; 23.15 GiB already allocated; 0 bytes free; 23.16 GiB reserved in total by PyTorch)'

# TRL: what belongs to another trainer, is on, or is off by another switch, is not typed; the numbers of the command are, halved.
ask 'torchrun --nproc_per_node 4 grpo_math.py --model_name_or_path house/Base-3B --use_vllm false --max_completion_length 1024 --num_generations 8 --per_device_train_batch_size 1 --bf16 true\n\nIt uses the GRPOTrainer of TRL, and training runs out of memory on 4 A100.'
has B31 'max_completion_length=512'
has B31 'num_generations=4'
has B31 'use_liger_kernel=True'
for other in max_length padding_free packing activation_offloading vllm_ per_device_train; do lacks B31 "$other"; done
# Two answers are the least, and one switch of the bundle that is off has its own line.
ask 'torchrun --nproc_per_node 4 grpo_math.py --model_name_or_path house/Base-3B --gradient_checkpointing false --num_generations 2\n\nIt uses the GRPOTrainer of TRL, and training runs out of memory.'
has B31 'gradient_checkpointing=True'
lacks B31 num_generations
check [ "$(jq -r '.advice[] | select(.id == "B31") | .set[] | select(.text | startswith("gradient")) | .note' input.json)" = 'without it the activations of every layer wait for the backward' ]
# SFT: the other way round.
ask 'python tune.py --model_name_or_path house/Base-3B --per_device_train_batch_size 4\n\nMy SFTTrainer of TRL runs out of memory in training.'
has B31 'max_length=<tokens>'
lacks B31 num_generations
# Adapters save nothing where the states are small.
ask 'GRPOTrainer of TRL, Qwen3-0.6B, ZeRO-3 on 8 GPUs with 24GB each: training runs out of memory.'
lacks B31 LoraConfig

# Images without a bound, by the flag of the program; one that is set is halved instead.
ask 'torchrun --nproc_per_node 8 src/open_r1/grpo_jsonl.py --num_generations 4 --max_completion_length 384\n\ntraining OOM'
has P276 '--max_pixels 401408'
lacks B31 use_liger_kernel # its trainer computes the log-probabilities itself
ask 'torchrun --nproc_per_node 8 src/open_r1/grpo_jsonl.py --num_generations 4 --max_pixels 802816\n\ntraining of a VLM goes OOM'
has P162 '--max_pixels 401408'
lacks P276 max_pixels

# A volume's maps, weights that are copied, residues: no training advice.
ask "sliding_window_inference\n    count_map = torch.zeros(output_shape, dtype=torch.float32, device=device)\n$oom"
first P277
ask "  File \"/w/edit/main.py\", line 97, in <dictcomp>\n    saved = {k: v.detach().clone() for k, v in weights.items()}\n$oom"
first P278
has P278 '.to("cpu", copy=True)'
check [ "$(jq -r '[.advice[] | select(.top) | .id] | join(" ")' input.json)" = P278 ]
ask "  File \"/w/edit/main.py\", line 97, in <dictcomp>\n    batch = {k: v.clone() for k, v in batch.items()}\n$oom" # no weights
lacks P278 cpu
ask "I predict the structure of a complex of 2000 residues.\n\n$oom"
first P279
has P279 set_chunk_size
check [ "$(jq -r '[.advice[] | select(.top) | .set[].text] | map(select(test("checkpoint|backward"))) | length' input.json)" = 0 ]
ask "I predict the structure of a complex of 2000 residues, and I decreased the chunk size.\n\n$oom"
lacks P279 set_chunk_size
ask "I fine-tune ESMFold on my residues: training fails.\n\n$oom" # it trains
lacks P279 chains
finish
