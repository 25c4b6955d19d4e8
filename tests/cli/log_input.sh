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
# Pairs and rewards: their length, by the value at hand; nothing of the others.
for trainer in DPO Reward; do
    ask "I train with ${trainer}Trainer of TRL, ${trainer}Config(per_device_train_batch_size=4, max_length=2048). It runs out of memory in training."
    has B31 'max_length=1024'
    for other in packing padding_free num_generations; do lacks B31 "$other"; done
done
ask 'PPOTrainer of TRL, OOM while training.'
for other in packing padding_free max_length; do lacks B31 "$other"; done
# An engine on cards of its own needs no sleep.
ask 'GRPOTrainer of TRL with use_vllm=True, vllm_mode="server", num_generations=8. OOM in training.'
lacks B31 vllm_
# Adapters save nothing where the states are small.
ask 'GRPOTrainer of TRL, Qwen3-0.6B, ZeRO-3 on 8 GPUs with 24GB each: training runs out of memory.'
lacks B31 LoraConfig

# Unsloth: the values of a sentence and of a script; every answer of a prompt is in its pass.
ask 'SFTTrainer with unsloth, per_device_train_batch_size = 4, max_seq_length = 8192. Training goes out of memory on a 4090.'
has B67 'per_device_train_batch_size=2'
has B67 'max_seq_length=4096'
lacks B67 num_generations
# shellcheck disable=SC2016 # marks of Markdown
ask 'Unsloth, training OOM\n\n```python\nmodel, tokenizer = FastLanguageModel.from_pretrained("house/Base-3B", load_in_4bit=True)\nargs = GRPOConfig(per_device_train_batch_size=1, num_generations=8, max_completion_length=1024)\n```'
has B67 'num_generations=4'
has B67 'max_completion_length=512'
lacks B67 per_device_train_batch_size
# ms-swift without vLLM: nothing of vLLM.
ask 'swift rlhf --rlhf_type grpo --model house/Base-7B --use_vllm false --max_completion_length 2048 --per_device_train_batch_size 2\n\nIt goes OOM.'
has B55 '--max_completion_length 1024'
lacks B55 vllm
ask 'swift rlhf --rlhf_type grpo --model house/Base-7B --use_vllm true --per_device_train_batch_size 2\n\nIt goes OOM.'
has B55 vllm
# A program of its own: what it calls a mini-batch, once, however often the text has it.
ask "\`\`\`yaml\nhost_args:\n  kind: small\n  minibatch_size: 4\n\`\`\`\n\n$oom"
has P280 'minibatch_size: 2'
lacks P30 'halve the batch'
ask "minibatch_size: 1\n\n$oom"
lacks P280 minibatch

# Images without a bound, by the flag of the program; one that is set is halved instead.
ask 'torchrun --nproc_per_node 8 src/open_r1/grpo_jsonl.py --num_generations 4 --max_completion_length 384\n\ntraining OOM'
has P276 '--max_pixels 401408'
lacks B31 use_liger_kernel # its trainer computes the log-probabilities itself
ask 'torchrun --nproc_per_node 8 src/open_r1/grpo_jsonl.py --num_generations 4 --max_pixels 802816\n\ntraining of a VLM goes OOM'
has P162 '--max_pixels 401408'
lacks P276 max_pixels

ask 'swift rlhf --rlhf_type dpo --model Qwen/Qwen2-VL-2B-Instruct --learning_rate 1e-5 --batch_size 1\n\nIt runs out of memory.'
has P276 'MAX_PIXELS=401408'
# Weights that are gathered are no pixels.
ask '  File "/w/src/open_r1/trainer/grpo_trainer.py", line 560, in _generate\n    with unwrap_model_for_generation(model, self.accelerator) as whole:\n\ntorchrun src/open_r1/grpo_jsonl.py --num_generations 4\n\nIt runs out of memory.'
lacks P276 max_pixels

# A request larger than the card in a model of images: what writes it out, and how many pixels there are.
ask '  File "/x/site-packages/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py", line 320, in forward\n    attn_output = F.scaled_dot_product_attention(q, k, v, attention_mask)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 131.22 GiB. GPU 0 has a total capacity of 79.33 GiB of which 1.27 GiB is free.\n\nSFT on videos.'
has B85 'max_pixels=1280*28*28'
has B85 '"nframes": 16'

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
# A test's script, and one that is given a video: nothing for a backward pass. A script that trains and tests is a training.
for what in '  File "/w/seg/test.py", line 80, in main\n    out = net(x)' 'python run_depth.py --video clip.mp4 --encoder large'; do
    ask "$what\n$oom"
    check [ "$(jq -r '[.advice[] | select(.top) | .id] | map(select(. == "P31" or . == "P01" or . == "P02")) | length' input.json)" = 0 ]
done
ask "  File \"/w/seg/test.py\", line 80, in main\n    loss.backward()\n$oom"
check [ "$(jq -r '[.advice[] | select(.top) | .id] | map(select(. == "P05" or . == "P32")) | length' input.json)" = 0 ]
finish
