#!/usr/bin/env bash
# Settings as people paste them into a ticket: overrides without their command, with the numbers of a listing, behind a launcher.
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

finish
