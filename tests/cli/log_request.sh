#!/usr/bin/env bash
# What a request is made of, and what a training keeps on a card, worked out of the numbers of a text; and which changes then stand first.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
fence='```'

ask() { run 0 report "$1.md" --force --format json -o "$1.json"; }
says() { check [ "$(jq -r '"\(.log_diagnosis.sentence) \(.log_diagnosis.because)"' "$1.json" | grep -cF -- "$2")" = 1 ]; }
says_not() { check [ "$(jq -r '"\(.log_diagnosis.sentence) \(.log_diagnosis.because)"' "$1.json" | grep -cF -- "$2")" = 0 ]; }
tops() { check [ "$(jq -r '[.advice[] | select(.top) | .id] | join(" ")' "$1.json")" = "$2" ]; }
oom() { # REQUEST CAPACITY ALLOCATED FREE RESERVED
    printf 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate %s (GPU 0; %s total capacity; %s already allocated; %s free; %s reserved in total by PyTorch)\n' "$@"
}

# 8 x 40 heads x 2,048 x 2,048 x 4 bytes; with 7 samples no number of heads comes out.
for batch in 8 7; do
    { printf '# OOM\n\npython train.py --batch_size %s --max_length 2048\n\n' $batch; oom '5.00 GiB' '39.59 GiB' '35.10 GiB' '2.20 GiB' '36.00 GiB'; } > scores$batch.md
    ask scores$batch
done
says scores8 '8 x 40 heads x 2048 x 2048 tokens x 4 bytes is the request'
check [ "$(jq -r '.advice[0].id' scores8.json)" = P211 ]
says_not scores7 'heads x'

# Four bytes of each of 13 billion weights, whole, and a quarter of them on each of four GPUs.
{ printf '# OOM when I start to train a 13B model\n\n'; oom '48.50 GiB' '79.20 GiB' '31.30 GiB' '47.10 GiB' '31.40 GiB'; } > flat.md
{ printf '# OOM when I start to train a 13B model on 4 GPUs\n\n'; oom '12.12 GiB' '31.70 GiB' '27.30 GiB' '3.10 GiB' '27.40 GiB'; } > part.md
for name in flat part; do ask $name; says $name 'billion weights in 32 bits'; check [ "$(jq -r '.advice[0].id' $name.json)" = P132 ]; done
says part "one card's part"

# Logits of a small model are as large as its weights: nothing is said of those.
{ printf '# OOM when I start to train a 1.5B model\n\n'; oom '5.60 GiB' '23.64 GiB' '18.34 GiB' '3.67 GiB' '18.41 GiB'; } > small.md
ask small
says_not small 'weights in 32 bits'

# How many GPUs, the text does not say: what fits on none of its cards.
printf '# Training a 13B model runs out of memory on A100 40G\n\nFull fine-tuning with my own loop.\n' > alone.md
ask alone
says alone 'it takes ZeRO-3 or FSDP over 5 such GPUs or more'
check [ "$(jq -r '.advice[0].id' alone.json)" = P132 ]
printf '# Training a 13B model with LoRA runs out of memory on A100 40G\n\nMy own loop.\n' > lora.md
ask lora
says_not lora 'ZeRO-3 or FSDP over'

# Several GPUs, a script of its own, and nothing that divides: that alone comes first.
printf '# OOM as I fine-tune a 13B LLaVA on 4*A800 80G with torchrun\n\nNo DeepSpeed. It fails in the first steps of the training.\n' > plain.md
ask plain
says plain 'undivided it cannot fit'
tops plain P208
# Programs that mostly train adapters: nothing is said of states where nobody says that all weights are trained.
printf '# Unsloth: 13B GRPO training runs out of memory on A100 40G after 200 steps\n\nAny idea?\n' > adapters.md
ask adapters
says_not adapters 'ZeRO-3 or FSDP over'

# Megatron: 18 bytes over tensor and pipeline parallel, 12 of them over the data-parallel ranks, by a command and the variables above it.
# shellcheck disable=SC2016 # the variables are the text's
{ printf '# OOM as I finetune LLaMA 13B with Megatron-LM, A100 40G\n\n%s\nTP=2\nPP=1 # one stage\n\ntorchrun --nproc_per_node 8 pretrain_gpt.py \\\n  --tensor-model-parallel-size $TP \\\n  --pipeline-model-parallel-size ${PP} \\\n  --finetune --bf16\n%s\n' "$fence" "$fence"; } > core.md
ask core
says core '18 bytes / 2 (tensor x pipeline parallel) = 109.10 GiB'
says core '54.55 GiB with --use-distributed-optimizer over 4 data-parallel ranks'
tops core P212
check [ "$(jq -r '[.advice[0].set[] | select(.key == "--tensor-model-parallel-size") | .value][0]' core.json)" = 4 ]

# Nothing but pieces: 20 of 79 GiB are in use. Of a full card both count.
pieces() { # ALLOCATED LOOSE
    echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 78.05 GiB memory in use. Of the allocated memory $1 GiB is allocated by PyTorch, and $2 GiB is reserved by PyTorch but unallocated."
}
{ printf '# OOM in training\n\n'; pieces 20.00 57.00; } > loose.md
{ printf '# OOM in training\n\n'; pieces 64.00 13.00; } > full.md
for name in loose full; do ask $name; check [ "$(jq -r '.advice[0].id' $name.json)" = B01 ]; done
tops loose B01
check [ "$(jq '[.advice[] | select(.top)] | length' full.json)" != 1 ]
# A side that the text names, squared: 52,000^2 x 4 bytes = 10.07 GiB, and three more of it held; of exactly 36,864 (5.06 GiB) none need be held.
{ printf '# My graph model is out of memory in training\n\nI pass a 900 x 52,000 matrix to it.\n\n'; oom '10.10 GiB' '39.50 GiB' '30.30 GiB' '8.80 GiB' '30.40 GiB'; } > side.md
{ printf '# My graph model is out of memory in training\n\nIts input is 36864 by 12.\n\n'; oom '5.06 GiB' '15.70 GiB' '12.30 GiB' '2.80 GiB' '12.40 GiB'; } > exact.md
for name in side exact; do ask $name; says $name 'a side of the matrix that the text names squared'; check [ "$(jq -r '.advice[0].id' $name.json)" = P300 ]; done
says side 'held 3 times as much'
tops side P300
# No whole part of what is held, another request, a side of an image, tokens: nothing is said.
{ printf '# My graph model is out of memory in training\n\nI pass a 900 x 52,000 matrix to it.\n\n'; oom '10.10 GiB' '39.50 GiB' '27.30 GiB' '8.80 GiB' '28.40 GiB'; } > no_part.md
{ printf '# My graph model is out of memory in training\n\nI pass a 900 x 52,000 matrix to it.\n\n'; oom '8.10 GiB' '39.50 GiB' '24.30 GiB' '7.80 GiB' '28.40 GiB'; } > other.md
{ printf '# My net is out of memory in training\n\nImages of 1024x1024 on a 3090.\n\n'; oom '4.00 MiB' '23.60 GiB' '22.30 GiB' '2.80 MiB' '22.40 GiB'; } > image.md
for name in no_part other image; do ask $name; says_not $name 'names squared'; done

# Blocks of one size are all that is held, and one more is asked for: 13,020,000,000 weights x 4 bytes = 48.50 GiB of a language model whose
# size nobody tells. In a pass, of images, beside something else, or of adapters nothing is said.
again() { printf '# Out of memory\n\n%s\n\n' "$1"; oom '48.50 GiB' '79.20 GiB' "$2" '0 bytes' '98.00 GiB'; }
again 'It fails when I train with sft on an A100.' '97.00 GiB' > again.md
ask again
says again 'a copy of 13.02 billion weights in 32 bits'
says again 'PyTorch held 2 times as much'
tops again P132
again 'It fails when I train with sft on an A100.' '80.20 GiB' > beside.md
again 'It fails when I train my vision model on an A100.' '97.00 GiB' > vision.md
again 'It fails when I train adapters (LoRA) with sft on an A100.' '97.00 GiB' > lora.md
again 'It fails when I train with sft on an A100.

Traceback (most recent call last):
  File "train.py", line 9, in <module>
    loss.backward()
  File "/v/site-packages/torch/_tensor.py", line 521, in backward' '97.00 GiB' > back.md
for name in beside vision lora back; do ask $name; says_not $name 'billion weights in 32 bits'; done

# The MLP's width for each token of a pass, where the tokens are a power of two: 14336 x 16384 x 2 bytes of Mistral-7B. Another number of them,
# a weight (14336 x 4096), a model of another width: nothing of the kind.
wide() { printf '# I finetune %s and it is out of memory in training\n\n' "$2"; oom "$1" '39.50 GiB' '38.30 GiB' '300.00 MiB' '38.90 GiB'; }
wide '448.00 MiB' mistralai/Mistral-7B-v0.3 > wide.md
ask wide
says wide '16384 tokens x 14336'
wide '476.00 MiB' mistralai/Mistral-7B-v0.3 > odd.md
wide '112.00 MiB' mistralai/Mistral-7B-v0.3 > weight.md
wide '448.00 MiB' Qwen/Qwen2.5-7B > others.md
for name in odd weight others; do ask $name; says_not $name 'tokens x'; done

finish
