#!/usr/bin/env bash
# `memtrace rules`: fix rules, phase rules and role rules, listed and explained; a file of one's own; what is no rule.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

run 0 rules
out_has 'fix rules that can be advised'
out_has "role rules: frames that tell what a tensor is for ('memtrace rules roles' lists them)"
check [ "$(grep -c '^role\.' "$TMP/.out")" = 0 ]

# All of them, each with its source, in both forms.
n="$(grep -c '^{"id": "role\.' "$MT_SOURCE_DIR/analysis/rules/roles.json")"
run 0 rules roles
check [ "$(grep -c '^role\.' "$TMP/.out")" = "$n" ]
check [ "$(grep -c '^    source ' "$TMP/.out")" = "$n" ]
out_has "$n role rules"
out_has 'Vocabularies by which logits are told from their size'
out_has '151936     Qwen'
run 0 rules --all --json
check [ "$(jq -r 'select(.rule == "role") | .id' "$TMP/.out" | wc -l)" = "$n" ]
check [ "$(jq -r 'select(.rule == "role" and (.source == "" or .role == "")) | .id' "$TMP/.out" | wc -l)" = 0 ]
run 0 rules --all
check [ "$(grep -c '^role\.' "$TMP/.out")" = "$n" ]

# By role, by id, by framework; with other rules beside them.
run 0 rules kv_cache --json
check [ "$(jq -r .role "$TMP/.out" | sort -u)" = kv_cache ]
run 0 rules role.vllm.cache_engine._allocate_kv_cache V01
out_has 'vllm/worker/cache_engine.py _allocate_kv_cache'
out_has 'the frame was seen in a recorded snapshot'
out_has 'V01  '
run 0 rules roles --framework vllm --json
check [ "$(jq -r .framework "$TMP/.out" | sort -u)" = vllm ]
# A library's file is one framework's, whether a rule tells its phase or its role.
run 0 rules --all --framework deepspeed --json
check [ "$(jq -r .rule "$TMP/.out" | sort -u | tr '\n' ' ')" = 'fix phase role ' ]
run 0 rules --all --json
check [ "$(jq -r 'select((.file_suffix // .file // "") | startswith("deepspeed/")) | .framework' "$TMP/.out" | sort -u)" = deepspeed ]
run 0 rules --phase weight_sync
if grep -q 'role rules' "$TMP/.out"; then fail 'a phase has no role rules'; else ok; fi

# A line that is made of the present layout says so.
run 0 rules A12
out_has 'actor.backend as it is set, with d halved and c doubled'

# What is no rule; what a file of one's own does.
run 2 rules role.none
err_has "there is no rule 'role.none'"
run 0 rules V06
cp .out V06
run 2 rules --phase weigth_sync
err_has '(did you mean weight_sync?)'
run 2 rules --phase nowhere
err_has 'classes are init, rollout_kv_alloc'
run 0 rules v06 # as it is typed in a hurry
same .out V06
run 0 rules --help
out_has "'roles' lists the role rules"
printf '%s' '{"schema_version": 1, "roles": [{"id": "mine", "framework": "f", "role": "kv_cache", "file": "u/model.py", "function": "decoder", "status": "G", "source": "s"}]}' > mine.json
run 0 rules --rules mine.json mine
out_has 'u/model.py decoder'
out_has 'the file of --rules'
run 0 rules --rules mine.json roles
out_has "$((n + 1)) role rules"

# The build has read the built-in rules already; beside a file of --rules they are read now. Either way they say the same.
printf '%s' '{"schema_version": 1}' > nothing.json
run 0 rules --all --json
cp .out built
run 0 rules --rules nothing.json --all --json
same .out built
for f in verl_grpo_oom_logprob.pickle fsdp_finetune.pickle; do
    "$MEMTRACE" report --format json -o - "$SAMPLES/$f" | jq 'del(.provenance.command)' > built
    "$MEMTRACE" report --rules nothing.json --format json -o - "$SAMPLES/$f" | jq 'del(.provenance.command)' > now
    same now built
done
# What the build makes of them is the same each time, to the byte.
if [ -x "${MT_BINARY_DIR:-none}/mt_rules_checked" ] && [ -f "$MT_BINARY_DIR/generated/rule_image.c" ]; then
    for i in 1 2 3; do
        PADDING="$(head -c "${i}00" /dev/zero | tr '\0' x)" "$MT_BINARY_DIR/mt_rules_checked" "image$i.c"
        check cmp -s "image$i.c" "$MT_BINARY_DIR/generated/rule_image.c"
    done
fi
finish
