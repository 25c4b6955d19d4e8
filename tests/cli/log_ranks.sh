#!/usr/bin/env bash
# A number that divides work over ranks is a whole part of them, or the program refuses to start: with known ranks it divides them,
# with unknown ones it is no number, and one rank has nothing to divide.
# shellcheck disable=SC2016 # backquotes of Markdown
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { run 0 report "$1.md" --force --format json -o "$1.json"; }
# value NAME KEY EXPECTED: what is to be typed for the key; "" = the key is not offered
value() {
    check [ "$(jq -r --arg key "$2" '[.advice[] | (.set[]?, .proposed // empty) | select(.key == $key) | .value] | last // ""' "$1.json")" = "$3" ]
}
# job NAME LAUNCH FLAGS
job() {
    # shellcheck disable=SC2016 # backquotes of Markdown
    printf 'CUDA out of memory in the backward pass\n\nMy command:\n\n```\n%s \\\n    %s\n```\n' "$2" "$3" > "$1.md"
    ask "$1"
}

swift='--rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --per_device_train_batch_size 1 --max_length 8192'
job five "NPROC_PER_NODE=5 swift rlhf" "$swift"
value five --sequence_parallel_size ''
job six "NPROC_PER_NODE=6 swift rlhf" "$swift"
value six --sequence_parallel_size 2
job alone "NPROC_PER_NODE=1 swift rlhf" "$swift"
value alone --sequence_parallel_size ''
job nobody "swift rlhf" "$swift"
value nobody --sequence_parallel_size '<a number that divides the GPUs>'

ray='--pretrain meta-llama/Llama-3-8b --micro_train_batch_size 2 --zero_stage 3 --vllm_num_engines 2'
# the role's own GPUs count, not those of the machine
job one "CUDA_VISIBLE_DEVICES=0,1,2,3 python3 -m openrlhf.cli.train_ppo_ray" "$ray --actor_num_nodes 1 --actor_num_gpus_per_node 1"
value one --ring_attn_size ''
job four "python3 -m openrlhf.cli.train_ppo_ray" "$ray --actor_num_nodes 1 --actor_num_gpus_per_node 4"
value four --ring_attn_size 2
job grown "python3 -m openrlhf.cli.train_ppo_ray" "$ray --actor_num_nodes 1 --actor_num_gpus_per_node 6 --ring_attn_size 2"
value grown --ring_attn_size '' # 4 does not divide 6

# nvidia-smi's table has card 1 in a row of its own: that is no job of one card
job table "swift rlhf" "$swift"
printf '\n|   1  NVIDIA H100 80GB HBM3           On  |   00000000:28:00.0 Off |                    0 |\n' >> table.md
ask table
value table --sequence_parallel_size '<a number that divides the GPUs>'
finish
