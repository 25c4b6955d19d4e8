#!/usr/bin/env bash
# The table "program of reinforcement learning x stage of its job": a text that names both gets, among what is to be changed first, a key of
# that program. A cell that is empty has its reason in stages.tsv, and a reason that is no longer true fails as well.
# shellcheck disable=SC2016 # backquotes of Markdown
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
table=$(dirname "$0")/stages.tsv

# What a text says of each stage.
declare -A said=(
    [cache]='vLLM does not start: ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.'
    [rollout]='CUDA out of memory during rollout generation.'
    [wake]='CUDA out of memory when the engine wakes up.'
    [logp]='CUDA out of memory while the old log-probs are computed.'
    [update]='CUDA out of memory in the update of the actor, in loss.backward().'
    [states]='CUDA out of memory in optimizer.step().'
    [sync]='CUDA out of memory when the weights are synced to the engine.'
    [save]='CUDA out of memory when the checkpoint is saved.'
    [host]='The host runs out of memory: Ray kills the workers, RAM is full.'
)
# What a text calls each program.
declare -A called=(
    [verl]=verl [easyr1]=EasyR1 [areal]=AReaL [slime]=slime [relax]=Relax [openrlhf]=OpenRLHF [trl]=TRL [nemorl]=NeMo-RL [skyrl]=SkyRL
    [roll]='ROLL (start_rlvr_pipeline)' [prime_rl]=prime-rl [swift]=ms-swift [open_instruct]=open-instruct [unsloth]=Unsloth
    [verifiers]='verifiers (vf-vllm)' [rlinf]=RLinf [orz]=Open-Reasoner-Zero
)

# Every program of the rules that learns by reinforcement has its rows, and those that do so beside other things.
check [ "$(cut -f1 "$table" | sort -u | grep -cvxF -f <(printf '%s\n' "${!called[@]}" program))" = 0 ]
while read -r id; do
    case $id in deepspeed_chat | trlx | verl_omni) continue ;; esac # no engine beside the trainer; tests/cli/log_levers.sh, log_kinds.sh
    check [ -n "${called[$id]-}" ]
done < <(jq -r '.frameworks[] | select(.kind == "rl") | .id' "$MT_SOURCE_DIR/analysis/rules/frameworks.json")

for program in "${!called[@]}"; do
    for stage in "${!said[@]}"; do
        check [ "$(awk -F'\t' -v p="$program" -v s="$stage" '$1 == p && $2 == s' "$table" | wc -l)" = 1 ]
    done
done

while IFS=$'\t' read -r program stage given key reason; do
    [ "$program" != program ] || continue
    name=$program-$stage
    {
        printf '# GRPO with %s\n\nI run GRPO with %s on 8 GPUs of 80 GB.\n\n%s\n' "${called[$program]}" "${called[$program]}" "${said[$stage]}"
        [ "$given" = - ] || printf '\n```\n%s\n```\n' "$given"
    } > "$name.md"
    also=()
    [ "$program" != relax ] || also=(--framework relax) # only files of its own tell it from slime
    run 0 report "$name.md" --force --format json -o "$name.json" "${also[@]}"
    own=$(jq --arg key "${key#-}" '[.advice[] | select(.top) | .set[] | select((.key + "=" + (.value // "")) | contains($key))] | length' "$name.json")
    if [ "$key" != - ]; then
        check [ "$own" -gt 0 ]
    else # the reason stands while nothing is told in the program's own words
        check [ -n "$reason" ]
        check [ "$(jq --arg p "$program" '[.advice[] | select(.top) | select(.title | test("memory settings$"))] | length' "$name.json")" = 0 ]
    fi
done < "$table"
finish
