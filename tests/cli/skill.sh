#!/usr/bin/env bash
# skills/memtrace/SKILL.md: each command in it runs and says something, each key that it reads is there, and it is what is installed.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
skill="$MT_SOURCE_DIR/skills/memtrace/SKILL.md"
mkdir bin
ln -s "$MEMTRACE" bin/memtrace
PATH="$TMP/bin:$PATH"
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" oom.pickle
cp "$SAMPLES/fsdp_finetune.pickle" after.pickle
printf 'actor_rollout_ref:\n  actor:\n    use_dynamic_bsz: false\n  rollout:\n    log_prob_micro_batch_size_per_gpu: 8\n' > run.yaml
cp "$SAMPLES/cards.log" train.log
# shellcheck disable=SC2016 # Markdown's
sed -n '/^```sh$/,/^```$/p' "$skill" | grep -v '^```' > commands
check [ "$(wc -l < commands)" -ge 15 ]
while IFS= read -r command; do
    bash -o pipefail -c "$command" > .out 2> .err || fail "$command"
    ok
    case "$command" in
        jq*) if grep -q '"id": null\|"label": null\|"kind": null' .out || ! grep -q '[a-z]' .out; then fail "$command says nothing"; fi ;;
        *" -o "[!-]*) written="${command##* -o }" && check [ -s "${written%% *}" ] ;;
        *) check [ -s .out ] ;;
    esac
done < commands
check [ "$(head -n 1 "$skill")" = --- ]
check grep -q '^name: memtrace$' "$skill"
check [ "$(grep -c '' "$skill")" -lt 100 ] # it is read whole
# keys that are named in the text are keys of the JSON
for key in $(grep -oE '`(verdict|advice|owners|after|lint)[.a-z_0-9]*' "$skill" | tr -d '`' | sed 's/[.]$//' | sort -u); do
    jq -e ".$key | type != \"null\"" report.json > .out || fail "the report has no $key"
    ok
done
if [ -n "${MT_BINARY_DIR:-}" ] && [ -f "$MT_BINARY_DIR/cmake_install.cmake" ]; then
    check grep -q skills/memtrace "$MT_BINARY_DIR/cmake_install.cmake"
fi
finish
