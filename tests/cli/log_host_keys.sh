#!/usr/bin/env bash
# Host memory: keys of the text and of the program, not the same lines for all; another allocator is a first change for programs whose guides name it alone.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
fence='```'

ask() { run 0 report "$1.md" --force --format json -o "$1.json"; }
first() { check [ "$(jq -r '.advice[0].id' "$1.json")" = "$2" ]; }
types() { check [ "$(jq -r --arg key "$2" '[.advice[] | select(.top) | .set[] | select(.key == $key) | .value][0]' "$1.json")" = "$3" ]; }
no_malloc() { check [ "$(jq '[.advice[] | select(.top) | .set[].value | select(contains("malloc"))] | length' "$1.json")" = 0 ]; }

{ printf '# The node runs out of host memory in our verl job\n\n%sbash\npython3 -m verl.trainer.main_ppo actor_rollout_ref.actor.fsdp_config.optimizer_offload=True actor_rollout_ref.model.path=Qwen/Qwen2.5-14B\n%s\n' "$fence" "$fence"; } > verl.md
printf '# RLinf: out of host memory\n\nEight A100, total_num_envs is 64 for maniskill.\n' > envs.md
printf '# Ray OOM: workers are killed\n\nOur agents call a code interpreter, a hundred sandboxes on the node.\n' > tools.md
{ printf '# out of host memory when I fine-tune a 70B\n\nLoading checkpoint shards:  40%%|####      | 12/30 [01:00<01:30]\nLoading checkpoint shards:  43%%|####      | 13/30 [01:05<01:25]\n'; } > load.md
for name in verl envs tools load; do ask $name; done
for name in envs tools load; do no_malloc $name; done
first verl V40
types verl actor_rollout_ref.actor.fsdp_config.optimizer_offload False
first envs P209
types envs env.eval.total_num_envs '<half of its value>'
first tools P210
first load P73
finish
