#!/usr/bin/env bash
# What of a model lies on one card, worked out of a text's words: that it does not fit, that it is little and a pass is the matter, or that
# all fits amply and the error's line is missing. Amounts are products done by hand.
# About 3 s.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

ask() { # NAME: reads the ticket from standard input
    cat > "$1.log"
    run 0 report "$1.log" --force --no-config --format text -o "$1.text"
}
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
oom() { # REQUEST CAPACITY PROCESS ALLOCATED
    echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $1. GPU 0 has a total capacity of $2 GiB of which 45.75 MiB is free. Including non-PyTorch memory, this process has $3 GiB memory in use. Of the allocated memory $4 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated."
}
back='Traceback (most recent call last):
  File "train.py", line 88, in <module>
    loss.backward()
  File "/usr/lib/python3/site-packages/torch/_tensor.py", line 521, in backward'

# ---- parameters that a line counts ----

# 124,354,560 x 16 bytes = 1.85 GiB of 23.69; no weights advice.
small() { printf 'My run stops after some steps\n\n%s\n\n%s\n' "$1" "$back"; oom '2.30 GiB' 23.69 23.60 21.90; }
for line in 'number of parameters: 124.35M' 'Total params: 124,354,560' 'The model has 124.35 million parameters.' 'Model Params: 124.35M' 'num_params = 124354560' '总参数量：124.35 百万' '124 M     Trainable params' 'Number of trainable parameters = 124,354,560'; do
    small "$line" | ask counted
    has counted 'M parameters x 16 bytes'
    has counted 'GiB at the most, of 23.69 GiB: the rest is of what a pass makes'
    has counted 'backward() twice'
done
small 'number of parameters: 124.44M' | ask exact
has exact '124.4 M parameters x 16 bytes (weights, gradients, Adam'
has exact 'is 1.85 GiB at the most'
# A model's own number is no size of its parameters, no rank's part, no group of an optimizer, and no part that is switched on.
for line in '6,174.298 Total estimated model params size (MB)' ' > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 124354560' 'params of layer 124354560' '124M active parameters' 'The optimizer has 148 parameters' 'The backbone has 124M parameters' 'number of parameters of the decoder: 124M' '1.2 M Non-trainable params' '"stage3_max_live_parameters": 100000000' '"stage3_param_persistence_threshold": 100000' 'def step(params, n=124000000)'; do
    small "$line" | ask uncounted
    has_not uncounted 'x 16 bytes'
done
# Half of the card, and more than what PyTorch held less half: nothing is said. 1.4e9 x 16 = 20.9 GiB.
small 'number of parameters: 1.4B' | ask large
has_not large 'at the most, of'
# Adapters: 6,759,387,136 x 2 bytes = 12.59 GiB.
{ printf 'It stops\n\ntrainable params: 20,971,520 || all params: 6,759,387,136 || trainable%%: 0.3103\n%s\n' "$back"; oom '1.96 GiB' 79.15 79.10 77.20; } | ask peft
has peft 'Under the adapters 6.76 B parameters stay in 16 bits: 12.59 GiB'
has peft 'weights and adapters'

# ---- what stays does not fit ----

# 32e9 x 2 = 59.60 GiB; what a pass makes is no matter, though a training is spoken of.
{ echo 'LoRA finetuning of a 32B model on an RTX 4090 fails'; oom '270.00 MiB' 23.65 23.60 22.90; } | ask base
has base 'Under the adapters about 32 B parameters stay in 16 bits: 59.60 GiB on every card'
has base 'in 16 bits they do not fit on it'
has base 'load_in_4bit=True'
has_not base 'halve the batch'
# Several ranks: divide it, too.
{ echo 'LoRA finetuning of a 32B model with the Trainer of transformers fails'; echo; oom '270.00 MiB' 79.15 79.10 78.90 | sed 's/^/[rank1]: /'; } | ask fits
has_not fits 'they do not fit'
{ echo 'Running Foo 2.5-72B-Chat with LoRA'; echo; printf '[rank1]:   File "/v/transformers/trainer.py", line 2240, in train\n[rank1]:   File "/v/torch/nn/modules/module.py", line 1329, in convert\n'; oom '462.00 MiB' 79.19 79.10 77.40 | sed 's/^/[rank1]: /; s/GPU 0/GPU 1/'; } | ask ranks
has ranks 'about 72 B parameters stay in 16 bits: 134.11 GiB'
has ranks '--zero_stage 3 --zero3_init_flag true'
# A well-known model that is named in two words: 72,705,376,256 x 2 = 135.42 GiB, and 29,568 x 8,192 x 2 bytes are 462 MiB.
sed 's/Foo 2.5-72B-Chat/Qwen 2.5-72B-Instruct/' ranks.log | ask known
has known '72.7 B parameters stay in 16 bits: 135.42 GiB'
has known '29568 x 8192 (the MLP'
# ZeRO-3 over four: 13e9 x 2 / 4 = 6.05 GiB; of two stages that are named, none.
{ echo 'LoRA of a 13B model with ZeRO-3 on 4 GPUs fails'; oom '270.00 MiB' 23.65 23.60 22.90; } | ask divided
has divided 'stay in 16 bits, divided over 4 GPUs: 6.05 GiB'
has_not divided 'they do not fit'
{ echo 'LoRA of a 13B model with ZeRO-3 or ZeRO-2 on 4 GPUs fails'; oom '270.00 MiB' 23.65 23.60 22.90; } | ask either
has_not either 'Under the adapters'
# 70e9 / 2 = 32.60 GiB: in 4 bits already, so QLoRA is no advice.
{ echo 'QLoRA of a 70B model on one RTX 4090: out of memory'; oom '112.00 MiB' 23.65 23.60 23.20; } | ask bits
has bits 'about 70 B parameters stay in 4 bits: 32.60 GiB'
has bits 'Change first 1. A smaller model, or its layers over more cards'
has_not bits 'Frozen weights in 4 bits'
has_not bits 'Put less into one pass'
# An engine: 14,659,502,080 x 2 = 27.31 GiB, on a card of 23.68.
{ printf 'I run\n\nvllm serve microsoft/phi-4 --gpu-memory-utilization 0.80\n\non a 3090\n'; oom '350.00 MiB' 23.68 23.60 23.20; } | ask engine
has engine '27.31 GiB in 16 bits'
has engine '--cpu-offload-gb'
has_not engine '--max-num-seqs'
# One that takes its weights from the driver: 7e9 x 2 = 13.04 GiB of the 14.53 outside PyTorch.
{ printf 'lmdeploy serve api_server foo/bar-7b-chat --server-port 23333\n\ndoes not start\n'; oom '112.00 MiB' 14.90 14.86 0.33; } | ask outside
has outside 'about 7 B parameters x 2 bytes = 13.04 GiB on a card, which has 14.90 GiB: they are most of the'
has outside '--tp 2'
has_not outside 'NCCL_MAX_NCHANNELS'
has_not outside '--cache-max-entry-count'
# With fp16=True weights are in 32 bits: 1.55e9 x 16 = 23.10 GiB; without it half of that would fit.
t4() { echo "The model has 1.55 B parameters. I fine-tune it with $1, batch size 16."; oom '20.00 MiB' 14.75 14.70 14.20; }
t4 'fp16=True' | ask mixed
has mixed '1.55 B parameters x 16 bytes = 23.10 GiB'
has_not mixed 'half of it where'
t4 'fp16=True' | sed 's/^torch/[rank1]: torch/' | ask several
has_not several 'x 16 bytes'
t4 'the Trainer' | ask unmixed
has_not unmixed 'x 16 bytes'
# A whole copy of the engine in each process of the trainer: 8e9 x 2 = 14.90 GiB.
colocated() { printf '8B GRPO on 4 V100, out of memory\n\npython -m torch.distributed.run --nproc_per_node 4 /w/swift/cli/rlhf.py --rlhf_type grpo --train_type lora --use_vllm true --vllm_mode %s --deepspeed zero3_offload %s\n' "$1" "$2"; }
colocated colocate '' | ask copy
has copy 'The engine in each process has a whole copy, about 8 B parameters x 2 bytes = 14.90 GiB'
has copy '--vllm_tensor_parallel_size 2'
has_not copy 'Under the adapters'
colocated server '' | ask server
has_not server 'has a whole copy'

# A diffusion model's transformer by its name, 11.9e9 x 2 = 22.17 GiB: a part, so it is no bound of what is little. Another thing of that name.
{ echo 'LoRA training on FLUX with an RTX 4090 stops'; oom '54.00 MiB' 23.63 23.60 20.73; } | ask flux
has flux 'about 11.9 B parameters stay in 16 bits: 22.17 GiB'
has flux 'base_model_precision=int8-quanto'
has_not flux 'Frozen weights in 4 bits (QLoRA)'
{ echo 'I train FLUX.1-dev and it stops'; oom '1.20 GiB' 79.15 79.10 77.20; } | ask part
has part 'Of its transformer about 11.9 B parameters stay in 16 bits: 22.17 GiB'
has_not part 'at the most'
for text in 'I load a LoRA for FLUX in ComfyUI and it stops' 'LoRA training on FLUX.2 stops' 'Training of our solar flux model stops' 'LoRA training on FLUX and Qwen-Image stops'; do
    { echo "$text"; oom '54.00 MiB' 23.63 23.60 20.73; } | ask no_flux
    has_not no_flux 'parameters stay in 16 bits'
done

# What is not known: a training of all weights beside one of adapters, adapters that are merged, a program that has 4 bits unless told otherwise.
for text in 'LoRA of a 13B model trains, full fine-tuning of it runs out of memory' 'Merging the LoRA adapter into our 13B model fails' 'Unsloth: LoRA training of a 13B model fails'; do
    { echo "$text"; oom '270.00 MiB' 23.65 23.60 22.90; } | ask untold
    has_not untold 'Under the adapters'
done

# ---- all fits ----

ample='GRPO with Qwen2.5-1.5B on 8 H100 runs out of memory

accelerate launch --num_processes %s --config_file zero3.yaml grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --per_device_train_batch_size 1 --max_prompt_length 512 --max_completion_length %s --bf16

Why?
'
# shellcheck disable=SC2059
{ printf "$ample" 7 1024 | ask ample; printf "$ample" 7 131072 | ask long; }
has ample 'of the card'
has ample 'no size that the text tells explains a failure'
has ample '1. See what fills the card before a setting is changed'
has_not ample 'per_device_train_batch_size='
has_not long 'no size that the text tells'
# Somebody who speaks of the length, of which no setting tells: it may be the length.
echo 'Fine-tuning a 1B model on one H100 runs out of memory in the first step. Why?' | ask short
has short 'that is not what fills it. The error'
has short '1. See what fills the card before a setting is changed'
echo 'Fine-tuning a 1B model on one H100 with a context length of 128k tokens runs out of memory' | ask context
has_not context 'See what fills the card'
# The launcher's own count beats the cards of the title, and so do the cards that it may see: 1,543,714,304 x 16 / 6 = 3.83 GiB.
ranks() { printf '8 H100, GRPO of a 1.5B runs out of memory\n\n%s swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-1.5B-Instruct --train_type full --torch_dtype bfloat16 --deepspeed zero3\n' "$1"; }
for count in 'NPROC_PER_NODE=6' 'CUDA_VISIBLE_DEVICES=0,1,2,3,4,5'; do
    ranks "$count" | ask launched
    has launched 'x 16 bytes / 6 GPUs = 3.83 GiB'
done
ranks 'FOO=1' | ask title
has title 'x 16 bytes / 8 GPUs = 2.88 GiB'
# A model that only runs and is small: 1.5e9 x 2 = 2.79 GiB of 23.65, so no smaller weights.
{ printf 'Inference of a 1.5B model with AutoModelForCausalLM fails on long inputs\n\n'; oom '2.70 GiB' 23.65 23.60 22.90; } | ask runs
has runs '1.5 B parameters x 2 bytes = 2.79 GiB on a card'
has runs 'a small part of it: the rest is what a pass makes of its input'
has_not runs 'load_in_4bit'
# "support" and "endpoint" have no method in them.
{ echo 'Does it support our endpoint? Inference of a 13B model fails'; oom '270.00 MiB' 23.65 23.60 22.90; } | ask words
has words '13 B parameters x 2 bytes = 24.21 GiB'

# ---- the request as one matrix of the model, or a square ----

# phi-4: 2 x 17,920 x 5,120 x 2 bytes are 350 MiB; it is loading, whatever the batch is. Qwen2.5-7B: 18,944 x 3,584 x 4 bytes are 259 MiB.
has engine '35840 x 5120 (twice the MLP'
has engine 'still being built or loaded'
step='Traceback (most recent call last):
  File "train.py", line 120, in train
    optimizer.step()
  File "/usr/lib/python3/site-packages/torch/optim/adamw.py", line 188, in step
    adamw(
  File "/usr/lib/python3/site-packages/torch/optim/adamw.py", line 120, in _init_group
    state["exp_avg_sq"] = torch.zeros_like('
state() { printf 'Full training of Qwen2.5-7B stops\n\n%s\n' "$step"; oom "$1" 79.15 79.10 77.20; }
state '260.00 MiB' | ask state
has state '18944 x 3584 (the MLP'
has state 'x 4 bytes is the request: one matrix of the model, most likely a state of the optimizer, whole: nothing divides it'
state '264.00 MiB' | ask other
has_not other 'is the request'
# In a forward a tensor of so many tokens may be as large.
{ printf 'Full training of Qwen2.5-7B stops\n\nTraceback (most recent call last):\n  File "train.py", line 12, in train\n    loss = model(x)\n  File "/u/site-packages/transformers/models/qwen2/modeling_qwen2.py", line 46, in forward\n    h = self.up_proj(x)\n'; oom '130.00 MiB' 79.15 79.10 77.20; } | ask forward
has_not forward 'one matrix of the model'
# 65,536 x 65,536 x 1 byte are 4 GiB.
square() { printf 'It stops\n\npython run.py --max_seq_length %s --batch_size 1\n\n' "$1"; oom '4.00 GiB' 23.69 23.60 20.00; }
square 65536 | ask square
has square '65536 x 65536 tokens x 1 bytes is the request: most likely a matrix of all pairs'
square 60000 | ask rectangle
has_not rectangle 'all pairs'
# The card's size before its name: 3,100,000,000 x 16 bytes = 46.19 GiB, more than a card of 40 GB has; on one of 80 GB nothing is said.
for card in '40GB A100' '40 GB A100' '40G A100'; do
    printf 'My run on a %s stops\n\nIt runs out of GPU memory, why?\n\nINFO >>   Num Epochs = 4\nINFO >>   Number of trainable parameters = 3,100,000,000\n' "$card" | ask before
    has before '3.1 B parameters x 16 bytes = 46.19 GiB'
    has before 'a card has 39.39 GiB by the text'
    has before 'trains adapters only'
done
printf 'My run on a 80GB A100 stops\n\nIt runs out of GPU memory, why?\n\nINFO >>   Num Epochs = 4\nINFO >>   Number of trainable parameters = 3,100,000,000\n' | ask before
has_not before 'a card has'

# The model's name above a trainer's own folders, and a key about what is saved: 9e9 x 16 bytes = 134.11 GiB on each of 4 cards, or 33.53.
# shellcheck disable=SC2016 # backquotes of Markdown
job() { printf '# Training runs out of GPU memory\n\nI train on 4 GPUs.\n\n```\ntorchrun --nproc_per_node 4 train.py \\\n    --model_name_or_path %s \\\n    --learning_rate 1e-5 --bf16 true --num_train_epochs 1 \\\n    %s\n```\n' "$1" "$2"; }
for path in /m/my-9b-chat /out/my-9b-chat/v2-20250102-101112/checkpoint-40 /out/my-9b-chat/checkpoint-40/; do
    job "$path" '--save_only_model true' | ask folders
    has folders '= 134.11 GiB of parameters, gradients'
    has folders '33.53 GiB where ZeRO-3 or FSDP divides it over 4 GPUs'
done
# A folder that the model's name does not stand in, and a key that has a part trained alone.
job /m/9b-data/mine '--save_only_model true' | ask folders
has_not folders '134.11 GiB'
job /m/my-9b-chat '--train_only_head true' | ask folders
has_not folders '134.11 GiB'

# More is trained than adapters are: 700,000,000 of 3,500,000,000 are 20 %. Of 1 %, of nine tenths, of no adapters' trainer and with a high rank
# nothing is said.
some() { printf 'My tuning stops\n\n%s\n%s\n\n' "$2" "$1"; oom '1.20 GiB' 15.60 15.50 14.60; }
for line in 'Trainable parameters = 700,000,000 of 3,500,000,000 (20.00% trained)' 'trainable params: 700,000,000 || all params: 3,500,000,000 || trainable%: 20.0000'; do
    some "$line" 'I use LoRA.' | ask some
    has some '20 % of the parameters are trained'
    has some 'take embed_tokens and lm_head out'
    check [ "$(grep -c '^  1. Adapters without' some.text)" = 1 ]
    some "$line" $'I tune with LLaMA-Factory:\nllamafactory-cli train --stage sft --finetuning_type lora --lora_rank 256 --learning_rate 1e-4' | ask some
    has_not some 'of the parameters are trained'
done
for line in 'Trainable parameters = 35,000,000 of 3,500,000,000 (1.00% trained)' 'Trainable parameters = 3,150,000,000 of 3,500,000,000 (90.00% trained)' '700 M Trainable params, 3.5 B Total params'; do
    some "$line" 'I use it.' | ask some
    has_not some 'of the parameters are trained'
done

finish
