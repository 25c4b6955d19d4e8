#!/usr/bin/env bash
# A launch script or a file of settings named beside a log or a snapshot is the run's; JSON may be a snapshot and is not guessed at.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" s.pickle
printf 'python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=0.7\n' > run.sh
printf 'data: {max_prompt_length: 1024}\n' > more.yaml
run 0 report s.pickle run.sh more.yaml --format json -o out.json
set_in() { jq -r --arg k "$1" '.settings[] | select(.setting == $k) | "\(.value) \(.set_in)"' out.json; }
check [ "$(set_in gpu_memory_utilization)" = '0.7 run.sh' ]
check [ "$(set_in max_prompt_len)" = '1024 more.yaml' ]

# What cannot be read as settings has its message, and the report is written.
printf 'a: [1\nb: }\n' > bad.yaml
run 3 report s.pickle bad.yaml --format json -o out.json --force
err_has 'bad.yaml'
check [ "$(jq -r '.verdict.sentence | length > 0' out.json)" = true ]

# Alone it is no input; with --no-auto neither.
run 1 report run.sh --format json -o alone.json
check [ ! -e alone.json ]
run 3 report s.pickle run.sh --no-auto --format json -o out.json --force
check [ "$(jq -r '[.settings[] | select(.set_in == "run.sh")] | length' out.json)" = 0 ]

# Two snapshots stay two.
cp "$SAMPLES/tiny.pickle" t.pickle
run 0 report t.pickle s.pickle --format json -o two.json
check [ "$(jq '.devices | length' two.json)" = 2 ]

# A flag that the run was given as key=value is typed so again.
printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.33 GiB. GPU 0 has a total capacity of 23.64 GiB of which 500.00 MiB is free. Process 1 has 23.10 GiB memory in use. Of the allocated memory 22.10 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.\n' > o.log
printf 'tool segment train imgsz=640 batch=8\n' > o.sh
run 0 report o.log o.sh --format text --full -o o.txt
check grep -q 'imgsz=320' o.txt
check [ "$(grep -c -- '--imgsz' o.txt)" = 0 ]
printf 'tool train --imgsz 640\n' > o.sh
run 0 report o.log o.sh --format text --full -o o.txt --force
check grep -q -- '--imgsz 320' o.txt
finish
