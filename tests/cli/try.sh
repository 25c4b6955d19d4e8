#!/usr/bin/env bash
# report --try: what a setting would have changed, in every format, and what is said of one that does nothing.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

cat > run.yaml <<'Y'
actor_rollout_ref:
  rollout:
    log_prob_micro_batch_size_per_gpu: 8
    gpu_memory_utilization: 0.6
  actor:
    use_dynamic_bsz: false
data:
  max_prompt_length: 1024
  max_response_length: 3072
Y
oom="$SAMPLES/verl_grpo_oom_logprob.pickle"
R=actor_rollout_ref.rollout
try() { run 0 report "$oom" --config run.yaml --capacity 80GiB --format json -o - "$@"; }
answer() { jq -r ".tried.settings[$1].answer" .out; }

# The report's own proposal and the trial of it are one number.
try --try $R.log_prob_micro_batch_size_per_gpu=4
check [ "$(answer 0)" = counted ]
check [ "$(jq '.tried.settings[0].saving_bytes' .out)" = "$(jq '[.advice[]|select((.set[0].key // "")|endswith("rollout.log_prob_micro_batch_size_per_gpu"))][0].saving_bytes' .out)" ]
check [ "$(jq '.tried.settings[0].lacking_bytes' .out)" = 0 ]
check [ "$(jq '.tried.after.fits' .out)" = true ]
half=$(jq '.tried.settings[0].saving_bytes' .out)

# Another value is counted by the same formula: a quarter of 8 frees half as much again as the half.
try --try $R.log_prob_micro_batch_size_per_gpu=2
check [ "$(jq ".tried.settings[0].saving_bytes * 2 - $half * 3 | fabs < 1e6" .out)" = true ]

# What does nothing says so: set already, the other way, no number, another program's key, no key at all.
try --try $R.log_prob_micro_batch_size_per_gpu=8 --try $R.gpu_memory_utilization=0.9 --try $R.max_num_seqs=many \
    --try --max-tokens-per-gpu=77 --try foo.bar=3
check [ "$(answer 0)" = same ]
check [ "$(answer 1)" = other_way ]
check [ "$(answer 2)" = no_number ]
check [ "$(answer 3)" = foreign ]
check [ "$(answer 4)" = unknown ]
check [ "$(jq '.tried.after' .out)" = null ]

# What merely goes with another setting frees nothing by itself.
try --try actor_rollout_ref.actor.strategy=fsdp2 --try $R.gpu_memory_utilization=true
check [ "$(answer 0)" = uncounted ]
check [ "$(answer 1)" = no_number ]

# What a snapshot alone was asked is answered as its advice is: no default speaks against it.
run 0 report "$oom" --format json -o -
key=$(jq -r '[.advice[].set[]|select(.key == "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu")][0]|"\(.key)=\(.value)"' .out)
said=$(jq '[.advice[]|select([.set[].key]|index("actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu"))][0].saving_bytes' .out)
check [ "${said:-null}" != null ]
run 0 report "$oom" --format json -o - --try "$key"
check [ "$(jq '.tried.settings[0].saving_bytes' .out)" = "$said" ]

# A value with which the run would fail is refused with its bound: the longest sequence is 4096 tokens.
try --try $R.log_prob_max_token_len_per_gpu=2048 --args $R.log_prob_use_dynamic_bsz=True --args actor_rollout_ref.actor.use_dynamic_bsz=True
check [ "$(answer 0)" = beyond ]
check jq -e '.tried.settings[0].sentence | test("less than this run can do with: 4096")' .out
try --try $R.log_prob_micro_batch_size_per_gpu=0
check [ "$(answer 0)" = beyond ]

# What it would trip is said, and only that.
try --try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
check [ "$(jq -r '[.tried.trips[]|select(.level == "error")|.id]|join(" ")' .out)" = expandable-sleep ]
try --try $R.log_prob_micro_batch_size_per_gpu=4
check [ "$(jq '.tried.trips|length' .out)" = 0 ]

# Several count with the others in force, and together no byte twice.
try --try $R.log_prob_micro_batch_size_per_gpu=4 --try actor_rollout_ref.model.use_fused_kernels=True
check [ "$(jq '.tried.after.settings' .out)" = 2 ]
check [ "$(jq '.tried.after.saving_bytes < ([.tried.settings[].saving_bytes]|add)' .out)" = true ]

# Every format has it; none without the option.
for f in text md html; do
    run 0 report "$oom" --config run.yaml --format $f -o - --try $R.log_prob_micro_batch_size_per_gpu=4
    out_has 'What was tried'
    out_has 'log_prob_micro_batch_size_per_gpu=4'
    run 0 report "$oom" --config run.yaml --format $f -o -
    if grep -q 'What was tried' .out; then fail "nobody asked ($f)"; else ok; fi
done
try
check [ "$(jq 'has("tried")' .out)" = false ]

# A log has no bytes: what helps is said without a number.
printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.10 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n' > oom.log
run 0 report oom.log --config run.yaml --format json -o - --try $R.gpu_memory_utilization=0.4
check [ "$(answer 0)" = no_figure ]

run 1 report "$oom" -o - --try nonsense
err_has 'KEY=VALUE is expected'
finish
