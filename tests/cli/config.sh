#!/usr/bin/env bash
# Settings of the run: --config (YAML, JSON, scripts), --args; which one holds; lint; what is not shown.
# shellcheck disable=SC2016 # scripts and logs as they are
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" s.pickle

cat > run.yaml << 'END'
actor_rollout_ref:
  rollout: {gpu_memory_utilization: 0.6, name: vllm}
  actor:
    use_dynamic_bsz: True
    ppo_max_token_len_per_gpu: 4096
    ppo_micro_batch_size_per_gpu: 1
    fsdp_config: {cpu_offload: True}
data: {max_prompt_length: 2048, max_response_length: 4096}
secret_token: hf_abcdefghijklmnopqrstuvwxyz
END
for format in html text md json; do
    run 0 report s.pickle --config run.yaml --args 'actor_rollout_ref.rollout.gpu_memory_utilization=0.7 api_key=sk-secret' \
        --full --format "$format" -o "out.$format"
    check grep -q 'gpu_memory_utilization' "out.$format"
    check grep -q 'does not exist' "out.$format"
    check [ "$(grep -c 'hf_abc\|sk-secret' "out.$format")" = 0 ]
done
value() { jq -r --arg k "$1" '.settings[] | select(.setting == $k) | .value' out.json; }
check [ "$(value gpu_memory_utilization)" = 0.7 ]
check [ "$(value tokens_per_gpu)" = 4096 ]
check [ "$(jq -r '.settings[] | select(.setting == "tokens_per_gpu") | "\(.set_in):\(.line)"' out.json)" = run.yaml:5 ]
check [ "$(jq -r '[.lint[].id] | sort | join(" ")' out.json)" = 'V21 dead-micro-batch tokens-below-sequence' ]
check [ "$(jq -r '.lint[] | select(.id == "V21") | .where' out.json)" = run.yaml:7 ]
check [ "$(jq -r '.lint[] | select(.id == "V21") | .level' out.json)" = error ]

# JSON and a launch script, which is read and never run.
printf '{"num_attention_heads": 40, "vocab_size": 151936}' > model.json
cat > launch.sh << 'END'
#!/bin/bash
touch was_run
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
len=1024
python3 -m verl.trainer.main_ppo data.max_prompt_length=$len \
    actor_rollout_ref.rollout.name=vllm
END
run 0 report s.pickle --config model.json --config launch.sh --format json -o out.json --force
check [ ! -e was_run ]
check [ "$(value heads)" = 40 ]
check [ "$(value max_prompt_len)" = 1024 ]
check [ "$(jq -r '.lint[0].id' out.json)" = expandable-sleep ]
check [ "$(jq -r '.lint[0].where' out.json)" = 'launch.sh:3' ]

# Without any, nothing is made up.
run 0 report s.pickle --format json -o out.json --force
check [ "$(jq -r '[.settings[] | select(.set_in != "the snapshot")] | length' out.json)" = 0 ]

# The allocator settings of the snapshot count, and hold before what a file says.
printf 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False x --y 1\n' > env.sh
run 0 report "$SAMPLES/expandable_segments.pickle" --config env.sh --format json -o out.json --force
check [ "$(value expandable_segments)" = True ]

# What cannot be read.
printf 'a: [1\nb: }\n' > bad.yaml
run 3 report s.pickle --config bad.yaml --format json -o bad.json
err_has 'bad.yaml'
err_has 'line 2'
check [ "$(jq -r '.verdict.kind' bad.json)" = oom_capacity ]
run 1 report s.pickle --config absent.yaml
err_has 'absent.yaml'
run 3 report s.pickle --config s.pickle --format json -o bad.json --force
run 2 report s.pickle --config
run 2 report s.pickle --config ''
# A Python script: by --config and beside the log; what only a run would know is not known, and one without settings is told.
cat > job.py << 'END'
from vllm import LLM
SEQS = 96
llm = LLM(model="m", max_num_seqs=SEQS, gpu_memory_utilization=float(x))
END
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total capacity of 39.50 GiB of which 300.00 MiB is free. Of the allocated memory 38.10 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.' > job.log
run 0 report job.log --config job.py --format json -o py.json --force
check [ "$(jq -r '.settings[] | select(.set_in == "job.py" and .value == "96") | .line' py.json)" = 3 ]
cp py.json first.json
run 0 report job.log job.py --format json -o py.json --force
check cmp <(jq -c "[.settings, [.advice[].id]]" first.json) <(jq -c "[.settings, [.advice[].id]]" py.json)
echo 'print("hello")' > none.py
run 0 report job.log --config none.py --format json -o py.json --force
err_has "without a setting in plain text"
# Settings that cannot be read are named with their line and left out; what the log proves stays.
printf 'learning_rate: 1e-4\nper_device_train_batch_size: 8\n<<<<<<< HEAD\ngradient_accumulation_steps: 4\n=======\ngradient_accumulation_steps: 2\n>>>>>>> theirs\n' > merge.yaml
run 3 report job.log --config merge.yaml --format json -o left.json --force
err_has 'merge.yaml: line 3: '
check [ "$(jq -r .log_diagnosis.cause left.json)" = capacity ]
check [ "$(jq -r '.settings | length' left.json)" = 0 ]
check [ "$(jq -r '.quality.unreadable[0].name' left.json)" = merge.yaml ]
check [ "$(jq -r '.quality.damaged' left.json)" = true ]
run 3 report job.log --config merge.yaml --config job.py --format json -o left.json --force
check [ "$(jq -r '.settings[] | select(.value == "96") | .set_in' left.json)" = job.py ]
# Of a script what stands before a quote that nothing ends is used.
printf '#!/bin/sh\npython3 train.py --per_device_train_batch_size 8 \\\n  --run_name "long run \\\n  --max_seq_length 4096\n' > quote.sh
run 3 report job.log --config quote.sh --format json -o left.json --force
err_has 'quote.sh: line 3: '
check [ "$(jq -r '[.settings[].value] | index("8") != null' left.json)" = true ]
check [ "$(jq -r '[.settings[].value] | index("4096")' left.json)" = null ]
check [ "$(grep -c '(default)' left.json)" = 0 ]
# A default is told over whole settings alone: a command, a file that names its model; no lines of a file.
echo 'ERROR [core.py:790] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.' > share.log
told() { run "${2:-0}" report share.log --config "$1" --format text --full -o told.txt --force; grep -c '(default)' told.txt || true; }
printf '    max_num_seqs: 512\n    enable_chunked_prefill: true\n' > lines.yaml
check [ "$(told lines.yaml)" = 0 ]
printf 'model: /ckpt/Qwen3-8B\nmax_num_seqs: 512\n' > named.yaml
check [ "$(told named.yaml)" != 0 ]
printf 'vllm serve /ckpt/Qwen3-8B --max-num-seqs 512\n' > serve.sh
check [ "$(told serve.sh)" != 0 ]
printf 'vllm serve ${CKPT} --max-num-seqs 512 --served-model-name ${NAM' > torn.sh
check [ "$(told torn.sh 3)" = 0 ]
err_has 'torn.sh: line 1: '
check grep -q 512 told.txt
# The length of a text, where a script calls it a block; an engine's blocks are of its cache.
printf 'torchrun --nproc_per_node=8 tune/sft.py --block_size=16384 --train_file_path=d --learning_rate 1e-5\n' > block.sh
run 0 report job.log --config block.sh --format text --full -o block.txt --force
check grep -q -- '--block_size 8192' block.txt
printf 'vllm serve /ckpt/Qwen3-8B --block-size 32\n' > blocks.sh
run 0 report job.log --config blocks.sh --format text --full -o block.txt --force
check [ "$(grep -c -- '--block-size 16' block.txt)" = 0 ]
# The lines of an .ini under another name.
printf 'max_num_seqs = 96\ngpu_memory_utilization = 0.8\n' > engine.yaml
run 0 report job.log --config engine.yaml --format json -o left.json --force
check [ "$(jq -r '[.settings[].value] | index("96") != null' left.json)" = true ]
finish
