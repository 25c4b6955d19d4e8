#!/usr/bin/env bash
# What people type, paste and script every day, and what used to go wrong there without a word.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
cp "$SAMPLES/tiny.pickle" "$SAMPLES/verl_grpo_oom_logprob.pickle" .

# --- the card by its name, or by a size that a card can have
capacity() { run 0 report tiny.pickle --format json -q --capacity "$1" && jq .devices[0].capacity_bytes .out; }
check [ "$(capacity H100-80)" -eq $((81089 << 20)) ]
for same_name in h100 'H100 80GB' 'NVIDIA H100 80GB HBM3' h800; do check [ "$(capacity "$same_name")" -eq $((81089 << 20)) ]; done
check [ "$(capacity 4090)" -lt $((24 << 30)) ] # no number of bytes
check [ "$(capacity 'NVIDIA GeForce RTX 4090')" -eq "$(capacity rtx4090)" ]
check [ "$(capacity H200)" -gt $((139 << 30)) ]
check [ "$(capacity A100-40)" -lt "$(capacity A100-80)" ]
check [ "$(capacity 910B)" -gt $((60 << 30)) ]
check [ "$(capacity 80GiB)" -eq $((80 << 30)) ]
run 0 report tiny.pickle --format json -q --capacity H100-80
check [ "$(jq -r .devices[0].capacity_from .out)" = option ]
out_has '--capacity H100-80"'
for wrong in A100 H1000 GeForce 'NVIDIA' -; do # of 40 or of 80; none at all
    run 2 report tiny.pickle --capacity "$wrong"
    err_has "or the name of a card: H100-80"
done
run 2 report tiny.pickle --capacity 40
err_has '40 is 40 bytes: did you mean 40GiB?'
run 0 report tiny.pickle --format json --capacity 80GB
err_has '80GB is 74.51 GiB; a card that is sold as one of 80 GB has more: --capacity H100-80 is 79.19 GiB'
printf '{"schema_version": 1, "cards": [{"card": "Own-9", "also": ["4090"], "mib": 9000, "source": "here"}]}' > cards.json
run 0 report tiny.pickle --format json --rules cards.json --capacity own9
check [ "$(jq .devices[0].capacity_bytes .out)" -eq $((9000 << 20)) ]
run 0 report tiny.pickle --format json --rules cards.json --capacity 4090
check [ "$(jq .devices[0].capacity_bytes .out)" -eq $((9000 << 20)) ]
for bad in '"card": "x", "source": ""' '"card": "x", "mib": 5, "source": ""' '"card": "-", "mib": 9000, "source": ""' '"card": "x", "mib": 9000.5, "source": ""'; do
    printf '{"schema_version": 1, "cards": [{%s}]}' "$bad" > bad.json
    run 1 report tiny.pickle --rules bad.json -o - # also when no card is asked for
    err_has 'bad.json: card'
done

# --- a trace that nobody named never keeps a job from starting
library="$(recorder)"
if [ -n "$library" ]; then
    mkdir job spools && cd job || exit 1
    export TMPDIR="$TMP/spools"
    printf mine > trace.gz
    run 5 capture -- sh -c 'touch ran; exit 5'
    exists ran
    check [ "$(cat trace.gz)" = mine ]
    exists trace-2.gz
    run 0 capture -- true
    exists trace-3.gz
    ln -s nowhere trace-4.gz
    run 0 capture -- true
    exists trace-5.gz
    run 0 capture --force -- true
    check [ "$(head -c 4 trace.gz)" != mine ]
    rm ran
    run 125 capture -o trace-2.gz -- touch ran
    err_has "already exists"
    absent ran
    cd .. || exit 1
    unset TMPDIR
fi

# --- what a script reads
json() { "$MEMTRACE" report "$@" --format json -q 2> /dev/null; }
cp tiny.pickle rank0.pickle
cp verl_grpo_oom_logprob.pickle rank1.pickle
json rank0.pickle rank1.pickle > two.json
for array in devices phases owners; do
    check [ "$(jq -r ".${array}[0] | [.rank, .device] | @csv" two.json)" = "$(jq -r '.verdict | [.rank, .device] | @csv' two.json)" ]
done
check [ "$(jq '.devices[.verdict.device_index].device == .verdict.device' two.json)" = true ]
check [ "$(jq .verdict.out_of_memory two.json)" = true ]
json "$SAMPLES/fsdp_finetune.pickle" > fine.json
check [ "$(jq .verdict.out_of_memory fine.json)" = false ]
json "$SAMPLES/python_only.pickle" > other.json
check [ "$(jq '.verdict | if .kind == "peak" then .out_of_memory == false elif .kind == "end_state" then .out_of_memory == null else true end' other.json)" = true ]
printf 'Killed\nslurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n' > killed.log
check [ "$(json killed.log | jq '.verdict.out_of_memory')" = true ] # of the host
printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.\n' > oom.log
check [ "$(json oom.log | jq -c '.verdict | [.out_of_memory, .kind, .device_index]')" = '[true,"log",null]' ]
json verl_grpo_oom_logprob.pickle > verl.json
check [ "$(jq -r .verdict.site verl.json)" = 'utils/torch_functional.py:171 entropy_from_logits' ]
check [ "$(jq .verdict.request_bytes verl.json)" -eq 19914555392 ]
# advice in the order of text and Markdown, each with its phase
"$MEMTRACE" report verl_grpo_oom_logprob.pickle --format text --full -q | sed -n '/^All advice/,$p' | sed -n 's/^ *[0-9]*\. //p' > order.text
jq -r '.advice[].title' verl.json > order.json
check [ -s order.json ]
check [ "$(sed 's/ *$//' order.json | cut -c1-60)" = "$(cut -c1-60 order.text)" ]
check [ "$(jq -r '.advice | map(.phase) | unique | join(" ")' verl.json)" = "$(jq -r .verdict.phase verl.json)" ]
# frames that people wrote, unless all are asked for
run 0 report verl_grpo_oom_logprob.pickle --format json -q --frames all
check [ "$(jq '[.owners[].frames[] | .file | select(test("/torch/nn/"))] | length' .out)" -gt 0 ]
check [ "$(jq '[.owners[].frames[] | .file | select(test("/torch/nn/"))] | length' verl.json)" -eq 0 ]
check [ "$(jq '[.owners[] | select(.frames == [])] | length' verl.json)" -eq "$(jq '[.owners[] | select(.frames == [])] | length' .out)" ]
check [ "$(jq '.verdict.frames | length' verl.json)" -lt "$(jq '.verdict.frames | length' .out)" ]
# the curve: its highest is the peak, and it ends at the end
check [ "$(jq '.devices[0] | (.curve.live_bytes | max) == .live_peak_bytes and (.curve.live_bytes | length) == (.curve.reserved_bytes | length)' verl.json)" = true ]

# --- text: one screen, all with --full, ASCII where there is nothing else, as narrow as the terminal
lines() { "$MEMTRACE" report "$@" --format text -q 2> /dev/null | wc -l; }
for sample in verl_grpo_oom_logprob.pickle fsdp_finetune.pickle fragmentation_oom.pickle tiny.pickle; do
    check [ "$(lines "$SAMPLES/$sample")" -le 60 ]
    check [ "$(lines "$SAMPLES/$sample" --full)" -gt 150 ]
done
mkdir ranks
for ((i = 0; i < 200; i++)); do cp tiny.pickle "ranks/rank$i.pickle"; done
check [ "$(lines ranks)" -le 84 ] # two changes with their bytes, however many ranks there are
run 0 report ranks --format text -q
out_has 'Ranks 0-199: 15.0 MiB (200)'
run 0 report verl_grpo_oom_logprob.pickle --format text -q
out_has 'There is more: --full'
out_has 'asked for 18.55'
out_has 'actor_rollout_ref.actor.entropy_from_logits_with_chunking=True'
out_has 'worker/gpu_model_runner.py:2700 _allocate_kv_cache_tensors'
foreign() { LC_ALL=C grep -cP '[\x80-\xff]' || true; }
check [ "$(LC_ALL=C "$MEMTRACE" report verl_grpo_oom_logprob.pickle --format text --full -q | foreign)" -eq 0 ]
check [ "$(LC_ALL='' LANG=de_DE "$MEMTRACE" report verl_grpo_oom_logprob.pickle --format text --full -q | foreign)" -eq 0 ]
check [ "$(LC_ALL=C.UTF-8 "$MEMTRACE" report verl_grpo_oom_logprob.pickle --format text --full -q | foreign)" -gt 5 ]
for columns in 30 40 60; do
    COLUMNS=$columns "$MEMTRACE" report verl_grpo_oom_logprob.pickle --format text --full -q > narrow
    # but for what is typed, and for names that do not break
    check [ "$(awk -v most="$columns" 'length > most && / .* / && !/^ *[^ ]+$/ && !/^ {7}/ && !/^memtrace/' narrow | grep -vcE '[^ ]{18,}')" -eq 0 ]
done
# through a pager on a terminal, not elsewhere, and not when it is not wanted
if command -v script > /dev/null; then
    on_terminal() { env -u MEMTRACE_PAGER TERM=xterm "$@" script -qec "$MEMTRACE report tiny.pickle --format text -q $MORE" /dev/null < /dev/null; }
    MORE='' check [ "$(MORE='' on_terminal PAGER="sed s/^/PAGED/" | grep -c '^PAGED')" -gt 20 ]
    check [ "$(MORE='' on_terminal PAGER=no-such-pager | grep -c 'OUT OF MEMORY')" -eq 1 ]
    check [ "$(MORE=--no-pager on_terminal PAGER="sed s/^/PAGED/" | grep -c '^PAGED')" -eq 0 ]
    check [ "$(MORE='' on_terminal PAGER='' | grep -c 'OUT OF MEMORY')" -eq 1 ]
    check [ "$(MORE='' on_terminal PAGER=less MEMTRACE_PAGER="sed s/^/OWN/" | grep -c '^OWN')" -gt 20 ]
    check [ "$(env -u MEMTRACE_PAGER TERM=xterm PAGER='sed s/^/PAGED/' script -qec "$MEMTRACE rules V06" /dev/null < /dev/null | grep -c '^PAGED')" -gt 10 ]
    # One that does not start, or fails before it reads, swallows nothing; one that is left early changes no exit status.
    printf '#!/no/such/interpreter\n' > bad-pager && printf '#!/bin/sh\nexit 3\n' > failing-pager && chmod +x bad-pager failing-pager
    check [ "$(MORE='' on_terminal PAGER="$PWD/bad-pager" | grep -c 'OUT OF MEMORY')" -eq 1 ]
    check [ "$(MORE='' on_terminal PAGER="$PWD/failing-pager" | grep -c 'OUT OF MEMORY')" -eq 1 ]
    MORE='--full' on_terminal PAGER='head -n 1' > .out
    check [ $? -eq 0 ]
    check [ "$(wc -l < .out)" -eq 1 ]
    MORE='--full' on_terminal PAGER='head -n 1; false' > .out
    check [ $? -eq 0 ]
    check [ "$(wc -l < .out)" -eq 1 ]
    check [ "$(MORE=-o\ - on_terminal PAGER="sed s/^/PAGED/" | grep -c '^PAGED')" -gt 20 ]
fi
PAGER='sed s/^/PAGED/' "$MEMTRACE" report tiny.pickle --format text -q > .out
out_lacks PAGED

# --- Markdown: what it stood on, no folders, and never more than a comment takes
mkdir -p "$TMP/home/alice/secret-project"
cp verl_grpo_oom_logprob.pickle "$TMP/home/alice/secret-project/v.pickle"
printf 'actor_rollout_ref:\n  rollout:\n    gpu_memory_utilization: 0.6\n  model:\n    path: /home/alice/models/Qwen2-7B\n' > "$TMP/home/alice/secret-project/run.yaml"
printf 'INFO vllm v0.8.5 starts\n' > "$TMP/home/alice/secret-project/train.log"
run 0 report "$TMP/home/alice/secret-project/v.pickle" --config "$TMP/home/alice/secret-project/run.yaml" --log "$TMP/home/alice/secret-project/train.log" --format md -q --capacity H100-80
for word in /home secret-project "$TMP"; do out_lacks "$word"; done
mv "$TMP/home/alice/secret-project" "$TMP/home/alice/my secret project"
(cd "$TMP/home/alice/my secret project" && "$MEMTRACE" report "$PWD/v.pickle" --config "$PWD/run.yaml" --log "$PWD/train.log" --format md -q) > with_blanks 2> .err
check [ -s with_blanks ]
check grep -q 'run.yaml:3' with_blanks
if grep -qE 'secret|alice' with_blanks; then fail "a folder with blanks is in the ticket"; else ok; fi
out_has 'memtrace report v.pickle --capacity H100-80 --log train.log --config run.yaml'
out_has '**Environment**'
out_has '- PyTorch: 2.5 or newer by the fields of the snapshot'
out_has '- Framework: verl (by the recorded stacks), vLLM generates'
out_has '- Card: 79.19 GiB, by --capacity'
run 0 report oom.log --format md -q --args 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
out_has '- Allocator: PYTORCH_CUDA_ALLOC_CONF.expandable_segments=True'
out_has '- Card: 79.10 GiB, by a log'
run 0 report verl_grpo_oom_logprob.pickle --format md -q
check [ "$(grep -c '| not known |' .out)" -eq 0 ]
run 0 report ranks --format md -q
check [ "$(wc -c < .out)" -lt 60000 ]
printf '%s\n' "$(for ((i = 0; i < 4000; i++)); do echo "[rank$i]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $((i + 20)).00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Of the allocated memory $i.00 MiB is allocated by PyTorch."; done)" > many.log
run 0 report ranks many.log --format md -q
check [ "$(wc -c < .out)" -lt 60000 ]
check [ "$(grep -c '^<details' .out)" -eq "$(grep -c '^</details>' .out)" ]

# --- our own words, given back
for format in md txt; do
    run 0 report tiny.pickle -q -o "own.$format"
    run 1 report "own.$format"
    err_has 'a report of memtrace'
    err_has 'name its page or its JSON'
done
run 0 report tiny.pickle -q -o own.md.gz
run 1 report own.md.gz
err_has 'a report of memtrace as Markdown'
run 0 version
cp .out as_command
run 0 --version
same .out as_command
run 2 versoin
err_has "did you mean 'memtrace version'?"

# --- a key that is nearly right
run 0 report verl_grpo_oom_logprob.pickle --format json -q --args actor_rollout_ref.rollout.gpu_memory_utilisation=0.5
check [ "$(jq -r '.lint[].id' .out)" = near-key ]
out_has 'did you mean actor_rollout_ref.rollout.gpu_memory_utilization?'

# --- what the docs print is what jq 1.6 takes
sed -n "s/^memtrace info --json trace.gz | jq '\(.*\)'$/\1/p" "$MT_SOURCE_DIR/docs/json.md" > filter
check [ -s filter ]
"$MEMTRACE" info --json "$SAMPLES/driver_v1.trace.gz" > info.json 2> /dev/null
check [ "$(jq -f filter info.json | jq -s 'length > 0')" = true ]
finish
