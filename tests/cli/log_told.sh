#!/usr/bin/env bash
# What a text says in words alone: the program, the phase, a cause. It counts where nothing else tells, and is marked as told. About 6 s.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # NAME TEXT
    printf '%b\n' "$2" > "$1"
    run 0 report "$1" --force --no-config --format json -o "$1.json"
    run 0 report "$1" --force --no-config --format text -o "$1.text"
}
phase() { check [ "$(jq -r .verdict.phase "$1.json")" = "$2" ]; }
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }

# The phase: in a title, in a sentence over two lines, in Chinese; the special one before the one that a whole job is called by.
ask title 'OOM in weight sync with our new nodes\n\nAny hint is welcome.'
phase title weight_sync
has title 'The phase is what line 1 says.'
ask lines 'We train a 7B model. Writing the shards, that is saving the\nmodel, causes OOM.'
phase lines ckpt_save
ask special 'Training hits OOM on 8 cards.\nIt is OOM again when the engine is woken up.'
phase special rollout.wake_sleep
ask chinese '同步权重的时候会导致oom'
phase chinese weight_sync
ask saving 'OOM when saving the model'
phase saving ckpt_save
# What did not fail, and what is only asked about, tells none.
ask denied 'OOM on one node. There is no OOM in the weight sync.'
phase denied unattributed
ask other 'OOM on one node.\n\nInference works.'
phase other unattributed
# "oom" inside a word tells of none; what was not met is no failure.
ask bloom 'We are training bloom-7b here.\n\nThen OOM when saving the model.'
phase bloom ckpt_save
for text in 'We did not get an OOM while training.' '训练过程中没有出现显存不足，只是很慢。'; do
    echo "$text" > met
    run 1 report met --force --no-config --format text -o met.text
done
# PyTorch's own sentence is no person's.
ask own 'we follow the training recipe and get\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 22.00 GiB memory in use. Of the allocated memory 21.10 GiB is allocated by PyTorch, and 400.00 MiB is reserved by PyTorch but unallocated.'
phase own unattributed
# A traceback without its error, and a script that does one thing alone.
ask cut 'it stops with OOM\n  File "/w/go.py", line 9, in <module>\n    loss.backward()\n  File "/opt/py/site-packages/torch/_tensor.py", line 521, in backward'
phase cut train
ask script 'OOM\n\npipe = StableDiffusionPipeline.from_pretrained(name)\nimage = pipe(prompt).images[0]'
phase script infer
has script 'pipe.enable_model_cpu_offload()'
# A log of a job is no text of a person: its first lines do not tell the last ones.
{ echo 'OOM in weight sync is what we fear'; seq 300; echo 'CUDA out of memory'; } > long
run 0 report long --force --no-config --format json -o long.json
phase long unattributed
# Its lines of words, however many, leave room for its own error.
{ seq -f 'request %.0f waits, the pool is out of memory' 70000; echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.'; } > many
run 0 report many --force --no-config --format json -o many.json
check [ "$(jq -r .verdict.request_bytes many.json)" = 2147483648 ]

# The program, by a name in words; not one of a path, nor one that is not used.
ask named 'Qwen with verl runs into OOM on 8 cards'
has named 'actor_rollout_ref.'
has_not named 'nothing here says what ran'
ask engine 'vLLM gives me OOM at 32k tokens'
has engine '--gpu-memory-utilization'
has_not engine 'backward()'
ask tuner 'OOM with LLaMA-Factory on a 4090'
has tuner 'gradient_accumulation_steps'
ask shared 'trl: OOM in gather_if_zero3'
has_not shared 'SWIFT_'
ask path 'OOM, the data lie in /data/verl/train.parquet'
has path 'nothing here says what ran'
ask unused 'OOM without verl as well'
has unused 'nothing here says what ran'

# A cause, marked as the text's; not one that the text denies, nor PyTorch's own hint.
ask cause 'OOM after two hours: memory keeps growing'
has cause 'The text itself, line 1, names a cause: memory that is kept from step to step.'
ask pieces 'OOM at step 2, the freed blocks leave fragmented gaps'
has pieces 'free memory in pieces'
check [ "$(jq -r '.advice[0].title' pieces.json)" = 'Expandable segments' ]
ask no_cause 'OOM after two hours, and it is not a memory leak'
has_not no_cause 'names a cause'
has_not own 'names a cause'
ask asked 'Is this a memory leak? We get OOM at step 1000.'
has_not asked 'names a cause'
finish
