#!/usr/bin/env bash
# Settings as people paste them into a ticket: overrides without their command, with the numbers of a listing, behind a launcher.
# shellcheck disable=SC2016,SC1003 # variables and backslashes of what is pasted; jq's own
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # FILE: its report as JSON and text
    run 0 report "$1" --force --format json -o "$1.json"
    run 0 report "$1" --force --format text --full -o "$1.text"
}
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
set_to() { check [ "$(jq -r --arg key "$2" '[.settings[]? | select(.key == $key)] | .[0].value' "$1.json")" = "$3" ]; }

# A piece of a launch script: what it sets is known, what it does not set is not.
cat > piece.txt << 'TEXT'
GRPO with LoRA runs out of memory

Eight H100 cards. My settings:

    data.train_batch_size=64 \
    data.max_response_length=4096 \
    actor_rollout_ref.model.path=/models/mine \
    actor_rollout_ref.model.target_modules=["q_proj"] \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
    actor_rollout_ref.rollout.name=$ENGINE \

What may I change?
TEXT
ask piece.txt
has piece.txt 'Framework: verl'
set_to piece.txt actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu 1
set_to piece.txt data.max_response_length 4096
has_not piece.txt 'ppo_micro_batch_size_per_gpu=<'
has_not piece.txt 'gradient_checkpointing=True or'
has_not piece.txt '(default)'

# The same without backslashes, one to a line; a sentence with such a name in it is none.
printf 'OOM in PPO\n\nactor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2\nactor_rollout_ref.rollout.gpu_memory_utilization=0.7\n\nself.actor.batch_size=12 is what the class has\nI set critic.model.path=x but it did not help.\n' > rows.txt
ask rows.txt
set_to rows.txt actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu 2
set_to rows.txt actor_rollout_ref.rollout.gpu_memory_utilization 0.7
set_to rows.txt critic.model.path null

# Line numbers of an editor are no arguments; values of a list that goes on are.
printf 'CUDA out of memory in training\n\n  1 python3 -m verl.trainer.main_ppo \\\n  2     data.max_prompt_length=256 \\\n 10     actor_rollout_ref.actor.ppo_mini_batch_size=16 \\\n 11     trainer.n_gpus_per_node=8\n' > numbers.txt
ask numbers.txt
set_to numbers.txt data.max_prompt_length 256
set_to numbers.txt actor_rollout_ref.actor.ppo_mini_batch_size 16
printf 'CUDA out of memory in training\n\nvllm serve m/m \\\n  --cuda-graph-sizes \\\n  2 4 \\\n  --max-num-seqs 64\n' > list.txt
ask list.txt
set_to list.txt --max-num-seqs 64

# A command of which the last line says that it goes on: the rest is not in the text.
printf 'CUDA out of memory\n\npython3 -m verl.trainer.main_ppo \\\n    data.max_prompt_length=256 \\\n    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\\n' > cut.txt
ask cut.txt
set_to cut.txt actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu 4
has_not cut.txt '(default)'

# Other launchers than torchrun.
printf 'OOM in step 3\n\ndeepspeed --master_port 29501 main.py --actor_model_name_or_path m/opt-1.3b --per_device_train_batch_size 2 --actor_zero_stage 2 --enable_hybrid_engine --actor_gradient_checkpointing\n' > chat.txt
ask chat.txt
has chat.txt 'Framework: DeepSpeed-Chat'
set_to chat.txt --actor-zero-stage 2
has_not chat.txt 'save_on_cpu'

# Programs by a name that only they have, in words alone.
printf 'Out of memory when the engine wakes\n\nIt fails in self.actor_rollout_wg.generate_sequences after the second step.\n' > wg.txt
ask wg.txt
has wg.txt 'Framework: verl'
printf 'OOM in the rollout\n\nWhatever I choose for sglang-mem-fraction-static, the rollout runs out of memory.\n' > named.txt
ask named.txt
has named.txt '--sglang-mem-fraction-static'

# Mistakes that the settings show.
says() { check [ "$(jq --arg id "$2" '[.lint[]? | select(.id == $id)] | length' "$1.json")" = "${3:-1}" ]; }
says_not() { says "$1" "$2" 0; }
script() { printf 'CUDA out of memory in training\n\n#!/bin/bash\n%b\nswift rlhf \\\n  --rlhf_type grpo \\\n  --model m/n\n' "$2" > "$1.txt"; ask "$1.txt"; }
script alone 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nNPROC_PER_NODE=4 \\'
says alone.txt not-exported
script joined 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True \\\nNPROC_PER_NODE=4 \\'
says_not joined.txt not-exported
script exported 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nexport PYTORCH_CUDA_ALLOC_CONF'
says_not exported.txt not-exported
script written 'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
says_not written.txt not-exported
script tried 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n\nI tried this line as well. The script:\n'
says_not tried.txt not-exported
for line in 'export VLLM_ATTENTION_BACKEND=XFORMERS' 'I tried this one:\nVLLM_ATTENTION_BACKEND=XFORMERS\n\nand then'; do
    printf 'CUDA out of memory in training\n\n%b\nexport DIR=/w\npython3 -m verl.trainer.main_ppo \\\n  data.train_files=$DIR/x.parquet \\\n  data.max_prompt_length=256\n' "$line" > values.txt
    ask values.txt
    says_not values.txt not-exported
done
for end in '' 'export PYTORCH_CUDA_ALLOC_CONF'; do # a script that is given, not pasted
    printf '#!/bin/bash\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n%s\ntorchrun --nproc_per_node 4 fit.py --lr 1\n' "$end" > run.sh
    run 0 report piece.txt --config run.sh --force --format json -o script.json
    check [ "$(jq '[.lint[]? | select(.id == "not-exported")] | length' script.json)" = "$([ -n "$end" ] && echo 0 || echo 1)" ]
done

verl() { printf 'CUDA out of memory in training\n\npython3 -m verl.trainer.main_ppo \\\n  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \\\n  %b\n' "$2" > "$1.txt"; ask "$1.txt"; }
verl small 'actor_rollout_ref.actor.ppo_mini_batch_size=4 trainer.n_gpus_per_node=8 trainer.nnodes=1'
says small.txt mini-batch-below-gpus
verl many 'actor_rollout_ref.actor.ppo_mini_batch_size=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8'
says_not many.txt mini-batch-below-gpus
verl variable 'actor_rollout_ref.actor.ppo_mini_batch_size=4 actor_rollout_ref.rollout.n=$N trainer.n_gpus_per_node=8'
says_not variable.txt mini-batch-below-gpus
verl more 'actor_rollout_ref.actor.ppo_mini_batch_size=4 trainer.n_gpus_per_node=8 \\'
says_not more.txt mini-batch-below-gpus
verl nodes 'actor_rollout_ref.actor.ppo_mini_batch_size=16 trainer.n_gpus_per_node=8 trainer.nnodes=4'
says nodes.txt mini-batch-below-gpus

chat() { printf 'CUDA out of memory\n\ndeepspeed main.py --actor_model_name_or_path %s --actor_zero_stage 3 --actor_lora_dim 8 --actor_lora_module_name %s --actor_gradient_checkpointing\n' "$2" "$3" > "$1.txt"; ask "$1.txt"; }
chat gptj EleutherAI/gpt-j-6b decoder.layers.
says gptj.txt adapter-names-nothing
chat opt facebook/opt-6.7b decoder.layers.
says_not opt.txt adapter-names-nothing
chat named EleutherAI/gpt-j-6b transformer.h.
says_not named.txt adapter-names-nothing

# Flags of the version whose flags are set: older ones of DeepSpeed-Chat generate by the batch of training.
printf 'OOM in generation of step 3\n\ndeepspeed main.py --actor_model_name_or_path m/opt-1.3b --per_device_train_batch_size 8 --generation_batch_numbers 1 --actor_zero_stage 2 --max_prompt_seq_len 128 --max_answer_seq_len 128\n' > older.txt
ask older.txt
has_not older.txt --per_device_generation_batch_size
has_not older.txt '--max_answer_seq_len <'
has older.txt '--actor_zero_stage 3'
printf 'OOM in generation of step 3\n\ndeepspeed main.py --actor_model_name_or_path m/opt-1.3b --per_device_generation_batch_size 8 --per_device_training_batch_size 8 --actor_zero_stage 3 --max_prompt_seq_len 512 --max_answer_seq_len 512\n' > newer.txt
ask newer.txt
has_not newer.txt '--per_device_train_batch_size <'
has newer.txt '--max_answer_seq_len <'
has_not newer.txt '--actor_zero_stage 3 '

printf 'OOM\n\ndeepspeed /w/DeepSpeed-Chat/training/step2_reward_model_finetuning/main.py --per_device_train_batch_size 4\n' > two.txt
ask two.txt
has two.txt '--per_device_train_batch_size 2'
has_not two.txt '--per_device_training_batch_size'

# PyTorch's end of a gather, in a text that has ZeRO-3 on: what ZeRO-3 may hold whole comes first.
gather='  File "/w/lib/python3.9/site-packages/torch/distributed/distributed_c10d.py", line 1432, in all_gather'
for stage in ZeRO-3 DDP; do
    { printf 'OOM in the second step of the training\n\nI train with %s on four cards.\n\nTraceback (most recent call last):\n%s\n    work = group.allgather([tensor_list], [tensor])\n' "$stage" "$gather"
      echo 'RuntimeError: CUDA out of memory. Tried to allocate 274.00 MiB (GPU 1; 23.70 GiB total capacity; 21.95 GiB already allocated; 25.69 MiB free; 22.28 GiB reserved in total by PyTorch)'; } > gather.txt
    ask gather.txt
    check [ "$(jq -r '.advice[0].id == "P130"' gather.txt.json)" = "$([ $stage = DDP ] && echo false || echo true)" ]
done
has_not gather.txt stage3_max_live_parameters

# An engine with cards of its own: its share is nothing to the training. It is where they share the cards, and where the engine failed.
recipe() { printf 'GRPO runs out of memory\n\n# GRPO trainer config\nmodel_name_or_path: m/seven\nbf16: true\nuse_vllm: true\n%b\nvllm_gpu_memory_utilization: 0.7\nper_device_train_batch_size: 1\nmax_prompt_length: 512\nmax_completion_length: 1024\nnum_generations: 4\n' "$2" > "$1.txt"; ask "$1.txt"; }
recipe device 'vllm_device: auto'
has_not device.txt 'vllm_gpu_memory_utilization='
has device.txt 'use_peft: true'
has_not device.txt 'peft_config'
recipe server 'vllm_mode: server'
has_not server.txt 'vllm_gpu_memory_utilization='
recipe shared 'vllm_mode: colocate'
has shared.txt 'vllm_gpu_memory_utilization=0.6'
recipe adapters 'use_peft: true'
has_not adapters.txt 'trains adapters only'
for words in 'I use QLoRA and the DPOTrainer.' 'The DPOTrainer runs, I am using LoRA.' 'I have the DPOTrainer and no adapter.'; do
    printf 'DPO runs out of memory\n\n%s\n' "$words" > dpo.txt
    ask dpo.txt
    check [ "$(grep -c 'trains adapters only' dpo.txt.text)" = "$([[ $words = *LoRA* ]] && echo 0 || echo 2)" ]
done
for mode in server colocate; do
    printf 'GRPO runs out of memory\n\nswift rlhf --rlhf_type grpo --model m/n --use_vllm true --vllm_mode %s --per_device_train_batch_size 2 --deepspeed zero3\n' $mode > $mode.swift
    ask $mode.swift
done
has_not server.swift --vllm_gpu_memory_utilization
has_not server.swift '--sleep_level 1'
has colocate.swift --vllm_gpu_memory_utilization

# Shared memory that a loader's workers fill; an argument that the loader of that age lacks, and that no loader takes without workers, is not typed.
{ echo 'ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).'
  printf '  File "/opt/conda/lib/python3.6/site-packages/torch/utils/data/dataloader.py", line 480, in _try_get_batch\n    data = self.data_queue.get(timeout=timeout)\nRuntimeError: DataLoader worker (pid 325) is killed by signal: Bus error.\n'; } > bus.txt
ask bus.txt
has bus.txt 'docker run --shm-size=16g'
has bus.txt 'num_workers=<fewer>'
has_not bus.txt 'prefetch_factor=2'

# No phase is told: a log-prob micro-batch far above that of the training is named, an even one is not; no token budget where sequences are counted.
for rows in 16 2; do
    verl logp "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=$rows \\\\"
    sed -i 's/ in training//' logp.txt
    ask logp.txt
    check [ "$(jq '[.advice[] | select(.id == "V09")] | length' logp.txt.json)" = "$([ $rows = 16 ] && echo 1 || echo 0)" ]
done
has_not logp.txt 'ppo_max_token_len_per_gpu=<'

finish
