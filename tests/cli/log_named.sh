#!/usr/bin/env bash
# Values that a text gives in a person's words, in whatever form: a change says from what to what.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

# ask NAME: the text on standard input
ask() {
    cat > "$1.md"
    run 0 report "$1.md" --no-config --force --format json -o "$1.json"
}
# value NAME KEY VALUE: what it is to be set to, the key in the form that the text has
value() { check [ "$(jq -r --arg key "$2" '[.advice[].set[]? | select(.key == $key) | .value][0]' "$1.json")" = "$3" ]; }
# the same whatever its form
any() { check [ "$(jq -r --arg key "$2" '[.advice[].set[]? | select((.key | gsub("-"; "_") | ltrimstr("__")) == $key) | .value][0]' "$1.json")" = "$3" ]; }
now() { check [ "$(jq -r --arg key "$2" '[.settings[]? | select(.key == $key) | .value][0]' "$1.json")" = "$3" ]; }

# A program's flags in a sentence, and names with blanks or dashes.
for words in 'I start it with --max-num-seqs 256 --max-model-len 16384.' 'We have max_num_seqs=256 set.' 'The max-num-seqs is 256 here.' 'With max num seqs 256.' '1) max_num_seqs: 256' '| max_num_seqs | 256 |' '* max_num_seqs 256'; do
    printf 'vLLM server goes OOM on one card\n\n%s\n' "$words" | ask flag
    any flag max_num_seqs 128
done
# In Chinese, also in the line that quotes the error.
for words in 'max_num_seqs 设的是 256。' 'max_num_seqs 从 512 降到 256 了。' '启动参数 max_num_seqs=256，报错 RuntimeError: CUDA out of memory. Tried to allocate 256.00 MiB。'; do
    printf 'vLLM 服务爆显存\n\n%s\n' "$words" | ask chinese
    any chinese max_num_seqs 128
done
# The second of two is in use.
for words in 'I lowered max_num_seqs from 512 to 256.' 'max_num_seqs 512 -> 256 is in use now.'; do
    printf 'vLLM server goes OOM on one card\n\n%s\n' "$words" | ask moved
    any moved max_num_seqs 128
done
# What goes well, is wished or asked is not in use; nor is what another word makes another thing.
for words in 'It works with max_num_seqs 256.' 'I would like max_num_seqs 256.' 'max_num_seqs 256 能跑。' 'With my own total max num seqs 256.' 'max_num_seqs 256k' 'max_num_seqs 50%'; do
    printf 'vLLM server goes OOM on one card\n\n%s\n' "$words" | ask other
    now other --max-num-seqs null
done
# SGLang's share too.
printf 'SGLang server fails with out of memory while capturing CUDA graphs, mem_fraction_static is 0.9.\n' | ask share
value share mem_fraction_static 0.85
# A line of a file that is too short to be told as one, and its key's form there.
printf 'axolotl QLoRA out of memory in training\n\n    sequence_len: 8192\n    micro_batch_size: 6\n' | ask file
value file micro_batch_size 3
value file sequence_len 4096

# A switch that a text says is on; one that is off, or is on another thing, is none.
for words in 'use_distributed_optimizer is already enabled.' 'use_distributed_optimizer 已经开了。' '- use_distributed_optimizer: on'; do
    printf 'Megatron-LM pretraining of a 13B model goes OOM at the optimizer step.\n\n%s\n' "$words" | ask switch
    value switch --use-distributed-optimizer null
    value switch --optimizer-cpu-offload ''
done
for words in 'use_distributed_optimizer is not enabled.' 'use_distributed_optimizer on the other cluster.' 'Should use_distributed_optimizer be on?'; do
    printf 'Megatron-LM pretraining of a 13B model goes OOM at the optimizer step.\n\n%s\n' "$words" | ask off
    value off --use-distributed-optimizer ''
done
# No budget below a sequence of the text's length, where only that length is known.
budget=actor_rollout_ref.actor.ppo_max_token_len_per_gpu
for length in 4096 16384; do printf 'verl OOM in the backward of update_actor, data.max_response_length=%s\n' $length | ask "budget$length"; done
check [ "$(jq -r --arg key $budget '[.advice[] | select(.top) | .set[]? | select(.key == $key)] | length' budget4096.json)" = 1 ]
check [ "$(jq -r --arg key $budget '[.advice[] | select(.top) | .set[]? | select(.key == $key)] | length' budget16384.json)" = 0 ]
# Of a key that has a shape, beside a trainer.
printf 'Fine-tuning with the Transformers Trainer goes OOM in evaluation, per_device_eval_batch_size is 12.\n' | ask shape
value shape per_device_eval_batch_size 6
# The workers of a loader, where the host is full; what nobody offloads is not offloaded less.
printf 'The OOM killer kills my job, num_workers=12, the DataLoader reads images.\n' | ask loader
value loader num_workers 6
check [ "$(jq '[.advice[].set[]? | select(.text | startswith("offload less"))] | length' loader.json)" = 0 ]

# A script of one's own: names that scripts have in common; a picture has one side, or two that are the same.
printf 'My U-Net training goes OOM. The batch size is 12, image size 448x448.\n' | ask script
value script batch_size 6
value script image_size 224
for words in 'global batch size 12' 'eval_batch_size=12' 'the batch size of 12 should do' 'micro-batches of batch size 12k' '(all)batch_size=12'; do
    printf 'My U-Net training goes OOM, %s.\n' "$words" | ask none
    value none batch_size null
done
printf 'My U-Net training goes OOM, image size 448x320.\n' | ask sides
value sides image_size null
printf 'YOLOv8 training goes OOM: imgsz=960 batch=24 on a 3070.\n' | ask short
value short imgsz 480
value short batch 12
printf 'My U-Net training goes OOM with --batch-size 12.\n' | ask dashes
value dashes --batch-size 6

# Beside a change that names the text's own value, or is of the program that it names, what helps most jobs is no first change.
top() { jq -r '[.advice[] | select(.top) | .id] | join(" ")' "$1.json"; }
printf 'RuntimeError: CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 23.70 GiB total capacity; 22.01 GiB already allocated; 60.56 MiB free; 22.40 GiB reserved in total by PyTorch)\n' > line
ask guess < line
check [ "$(top guess | wc -w)" = 3 ]
{ printf 'ResNet152 fails, batch_size 64.\n\n'; cat line; } | ask own
check [ "$(top own)" = P36 ]
printf 'ComfyUI goes out of VRAM.\n' | ask comfy
check [ "$(top comfy)" = P168 ]
finish
