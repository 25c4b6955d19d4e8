#!/usr/bin/env bash
# The questions of docs/json.md, each a line for jq: of a run that failed, of one that did not, of two ranks and of a log alone.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3
sed -n '/^# Twenty questions/,$p' "$MT_SOURCE_DIR/docs/json.md" | grep '^jq ' > questions
check [ "$(wc -l < questions)" -eq 20 ]
python3 -B "$SAMPLES/gate/job.py" grows.pickle --keep-outputs || fail "job.py"
for input in "$SAMPLES/verl_grpo_oom_logprob.pickle" grows.pickle "$SAMPLES/verl_two_ranks.tar.gz" "$SAMPLES/cards.log" "$SAMPLES/driver_v1.trace.gz" "$SAMPLES/python_only.pickle"; do
    run 0 report "$input" -o report.json -q --force
    n=0
    while IFS= read -r question; do
        n=$((n + 1))
        bash -c "$question" > ".$n" 2> .err || fail "$question: $input"
        ok
    done < questions
    mkdir -p answers && mv .[0-9]* answers
    mv answers "answers.$(basename "$input")"
done

answer() # INPUT NUMBER TEXT
{
    if [ "$(cat "answers.$1/.$2")" = "$3" ]; then ok; else fail "question $2 of $1: $(head -c 300 "answers.$1/.$2")"; fi
}
verl=verl_grpo_oom_logprob.pickle
answer $verl 2 true
answer $verl 4 "utils/torch_functional.py:171 entropy_from_logits"
answer $verl 5 "old-policy log-prob (logits)"
answer $verl 7 "actor_rollout_ref.actor.entropy_from_logits_with_chunking=True"
check grep -qx "28991029248 worker/gpu_model_runner.py:2700 _allocate_kv_cache_tensors" "answers.$verl/.10"
check [ "$(wc -l < "answers.$verl/.10")" -eq 5 ]
check [ "$(jq .kv_cache "answers.$verl/.11")" = 28991029248 ]
answer grows.pickle 2 false
answer grows.pickle 4 "nobody recorded it"
answer grows.pickle 15 '["job/train.py:38 train_step",67108864]'
check [ "$(wc -l < answers.verl_two_ranks.tar.gz/.12)" -eq 2 ]
answer verl_two_ranks.tar.gz 13 1
answer cards.log 2 true
answer driver_v1.trace.gz 2 true
finish
