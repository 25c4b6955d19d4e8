#!/usr/bin/env bash
# The phase by what somebody says that the job does, by what the settings name, by the script that a command runs: weaker than words of a time, and said as that.
# A job that generates as often as it trains gets none of them. Each expectation was written down before the report was made.
# shellcheck disable=SC1003 # backslashes of continued lines
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

error='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total capacity of 39.50 GiB of which 300.00 MiB is free. Including non-PyTorch memory, this process has 39.20 GiB memory in use. Of the allocated memory 38.10 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.'
pools=${error/by PyTorch, and/by PyTorch, with 62.28 MiB allocated in private pools (e.g., CUDA Graphs), and}
text() { # NAME LINE... : with ERROR for the error's own line
    local name=$1
    shift
    printf '%s\n' "$@" | while IFS= read -r line; do
        if [ "$line" = ERROR ]; then echo "$error"; else echo "$line"; fi
    done > "$name.txt"
}
phase() { # NAME PHASE [TEXT]
    run 0 report "$1.txt" --force --format json -o "$1.json"
    check [ "$(jq -r .verdict.phase "$1.json")" = "$2" ]
    [ $# -lt 3 ] || check grep -qF -- "$3" "$1.json"
}

# ---- what somebody does with the program ----
text doing 'a question about a card' '' ERROR '' 'The number looks strange to me. (I am finetuning with small_speech.)'
phase doing train 'That it does so line 5 says, not that it failed there.'
text trying 'a question about a card' '' 'We are trying to train the small one on our own voices.' '' ERROR
phase trying train
text used 'a question about a card' '' 'I am running demo_faces on a laptop.' '' ERROR
phase used infer 'not that it failed there'
text pairs 'a question about a card' '' 'I try to run the DPO pipeline for a model of my own.' '' ERROR
phase pairs train 'not that it failed there'
text folds 'a question about a card' '' "I try to predict the structure of twelve chains, but I run out of memory: \`$error\`"
phase folds infer
# Not of a job that generates as often, nor of what went well.
text rl 'a question about a card' '' 'We are trying to train the small one with GRPO.' '' ERROR
phase rl unattributed
text well 'a question about a card' '' 'I am training another one and that works fine.' '' ERROR
phase well unattributed
text serves 'a question about a card' '' 'We want to train it later. First I serve it:' '' 'python3 -m sglang.launch_server --model-path m/small --port 3000' '' ERROR
phase serves unattributed
text last 'a question about a card' '' 'I was training another model last week.' '' ERROR
phase last unattributed
# Words of a time go before it.
text time 'it ran out of memory while saving the checkpoint' '' 'I am finetuning a small one.' '' ERROR
phase time ckpt_save

# What stands in brackets is a clause of its own: that it went well there takes nothing from the rest.
text brackets 'Training on 8 cards runs out of memory' '' 'I get OOM when the ref model is initialized (the actor is initialized perfectly).'
phase brackets init
text starts 'a question about cards' '' 'I hit an OOM when the vllm engine starts, but with one engine it runs.'
phase starts rollout.init

# The name of a setting tells no phase.
text key 'OOM again' '' 'When rollout.n is larger it ends with OOM.' '' 'data.train_batch_size=4 \\' 'actor_rollout_ref.rollout.n=64 \\' 'actor_rollout_ref.rollout.name=vllm'
phase key unattributed
text word 'OOM again' '' 'When the rollout begins it ends with OOM.' '' 'data.train_batch_size=4 \\' 'actor_rollout_ref.rollout.n=64 \\' 'actor_rollout_ref.rollout.name=vllm'
phase word rollout.generate

# ---- a sentence that points at the error below it ----
text below 'MEMORY ERROR: CUDA out of memory' '' 'When I try to fine-tune the small one, I get the message below. What else is there to do?' '' ERROR
phase below train 'The phase is what line 3 says.'
text above 'a question about a card' '' 'When I evaluate it all is well and the table below is made.' '' 'nothing here'
printf '\n\n\n\n\n\n%s\n' "$error" >> above.txt
phase above unattributed

# ---- settings that name a way to train in which nothing is generated ----
text stage 'a question about a card' '' 'model_name_or_path: /m/small' 'stage: dpo' 'finetuning_type: full' 'cutoff_len: 4096' 'per_device_train_batch_size: 1' '' ERROR
phase stage train 'The phase is what line 4 says.'
text ppo 'a question about a card' '' 'model_name_or_path: /m/small' 'stage: ppo' 'finetuning_type: full' 'cutoff_len: 4096' 'per_device_train_batch_size: 1' '' ERROR
phase ppo unattributed

# ---- the script of the command, where there is no traceback ----
text script 'a question about a card' '' '$ python tools/finetune.py --batch_size 4' '' ERROR
phase script train 'the phase is read from the name of finetune.py, and may be another'
text told 'OOM' '' 'I get OOM with this:' '$ python tools/finetune.py --batch_size 4'
phase told train
text converts 'a question about a card' '' '$ python tools/merge_lora.py --base a --out b' '' ERROR
phase converts init
text both 'a question about a card' '' '$ python examples/train_ppo.py --batch_size 4' '' ERROR
phase both unattributed
text engine 'a question about a card' '' '$ python train.py --batch_size 4' ''
echo "$pools" >> engine.txt
phase engine unattributed

# ---- a bar below the error, whose numbers the asker's sentence has too ----
text bar 'it stops after a few rounds and says torch.OutOfMemoryError: CUDA out of memory.' '' 'The whole error:' ERROR 'steps:   0%|            | 1/2100 [00:03<2:05:34,  3.59s/it, loss=0.473]'
phase bar train 'line 5, the last one in which the job says what it is at, is of training'

# ---- a call in a line of source that means one thing ----
text call 'a question about a card' '' 'Traceback (most recent call last):' '  File "/w/agents/run_agent.py", line 343, in run_agent' '    logs = algo.update_parameters()' ERROR
phase call train

# ---- what is used is on ----
text uses 'OOM when I train the small one' '' 'Activation checkpointing is used in all layers.' '' ERROR
text lacks 'OOM when I train the small one' '' 'No activation checkpointing is used in the layers.' '' ERROR
for name in uses lacks; do
    run 0 report "$name.txt" --force --format text -o "$name.text"
done
check [ "$(grep -c 'checkpoint(block' uses.text)" = 0 ]
check grep -q 'checkpoint(block' lacks.text
finish
