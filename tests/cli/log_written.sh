#!/usr/bin/env bash
# A program's settings in the forms in which people show them: banners, dictionaries, defaults of flags, capitals. What is proposed is written as the text has it.
# Each expectation was written down before the report was made.
# shellcheck disable=SC2016 # backquotes of Markdown
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # TEXT: the report of such a ticket
    printf 'OOM in my run\n\n%b\n' "$1" > t.txt
    run 0 report t.txt --force --format json -o t.json
}
set_to() { # KEY=VALUE, as it is proposed
    check [ "$(jq -r --arg s "$1" '[.advice[] | select(.top) | .set[] | select(.text == $s)] | length' t.json)" = 1 ]
}
not_set() { # TEXT
    check [ "$(jq -r --arg s "$1" '[.advice[] | .set[] | select(.text | contains($s))] | length' t.json)" = 0 ]
}

# ---- capitals and places stay: a configuration of yacs knows no batch_size ----
ask 'cfg.TRAIN.BATCH_SIZE: 8\ncfg.TRAIN.NUM_WORKERS: 4'
set_to 'cfg.TRAIN.BATCH_SIZE=4'
ask 'TRAIN.BATCH_SIZE: 8'
set_to 'TRAIN.BATCH_SIZE=4'
ask 'BATCH_SIZE = 8'
set_to 'BATCH_SIZE=4'
ask 'The batch size is 8.'
set_to 'batch_size=4'
ask '```yaml\nTRAIN:\n  BATCH_SIZE: 8\n  NUM_FRAMES: 32\nMODEL:\n  DEPTH: 12\n```'
set_to 'TRAIN.BATCH_SIZE: 4'
not_set 'batch_size='

# ---- what Transformers and Unsloth print before the first step ----
banner='***** Running training *****\n  Num Epochs = 3\n  Instantaneous batch size per device = 8\n  Total train batch size (w. parallel, distributed & accumulation) = 32\n  Gradient Accumulation steps = 4'
ask "$banner"
set_to 'per_device_train_batch_size=4'
# A command goes before it.
ask "\$ python go.py --per_device_train_batch_size 6\n\n$banner"
not_set 'per_device_train_batch_size=4'
ask '==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\nO^O/ _/    Batch size per device = 1 | Gradient accumulation steps = 8'
not_set per_device_train_batch_size

# ---- Python: dictionaries, fields of a class, defaults of flags ----
ask "args = {\n    'batch_size': 8,\n    'lr': 0.001,\n}"
set_to 'batch_size=4'
ask 'class Config:\n    batch_size: int = 8\n    lr: float = 0.1'
set_to 'batch_size=4'
ask 'parser.add_argument("--batch_size", type=int, default=8)\nparser.add_argument("--eval_batch_size", type=int, default=64)'
set_to '--batch_size 4'
ask "p.add_argument('--batch-size', default=8, type=int)"
set_to '--batch-size 4'
ask '$ python go.py --batch_size 2\n\nparser.add_argument("--batch_size", type=int, default=8)'
set_to '--batch_size 1'
# A command may have the short form, whose value is then another.
ask '$ python go.py -b 16\n\nparser.add_argument("-b", "--batch_size", type=int, default=8)'
not_set 'batch_size 4'
ask '$ python go.py -b 16\n\nparser.add_argument("--batch_size", "-b", type=int, default=8)'
not_set 'batch_size 4'

ask 'batch_size=20,epoch=10,learning_rate=0.1,GPU:small 8GB'
set_to 'batch_size=10'
# What was cut in vain is not cut again, neither from what it was nor from what it is.
ask '```\nrounds_each: 8->4->2\ntotal_num_envs: 128->64->32\nbatch_size: 32->8->4\nlog_every: 10\n```'
not_set 'batch_size'

# ---- a command without a prompt reads like a sentence: its flags are there once ----
ask 'python go_it.py --num_rays 4096'
set_to '--num_rays 2048'
ask 'python go_it.py --batch_size 8'
set_to '--batch_size 4'

# ---- switches of a program's own that are off: turned on by their names, spelt as the text spells them ----
train() { # TEXT: the same of a training
    printf 'OOM when training\n\n%b\n' "$1" > t.txt
    run 0 report t.txt --force --format json -o t.json
}
train 'python run.py --batch_size 1 --use_checkpoint False --lr 1e-3'
set_to '--use_checkpoint True'
not_set 'torch.utils.checkpoint'
train '```yaml\nmodel:\n  use_grad_checkpoint: false\n  width: 64\ntrain:\n  batch_size: 1\n```'
set_to 'model.use_grad_checkpoint: true'
train 'config.use_amp = False\nconfig.batch_size = 2'
set_to 'config.use_amp=True'
train 'python run.py --batch_size 1 --fp16 no'
set_to '--fp16 yes'
# What is on is not offered, nor is a second way to it; what is none, or has another word in it, is no switch that is off.
train 'python run.py --batch_size 1 --use_checkpoint --lr 1e-3'
not_set checkpoint
train 'python run.py --batch_size 1 --use_checkpoint null --no_use_amp False'
not_set 'use_checkpoint'
not_set 'use_amp'
# "no" of a name of several ways is not yes: Accelerate's knows no, fp16 and bf16.
train 'python run.py --batch_size 1 --mixed_precision no'
not_set 'mixed_precision yes'
printf 'OOM when sampling images\n\npython sample_it.py --cpu_offload False --n_samples 4\n' > t.txt
run 0 report t.txt --force --format json -o t.json
set_to '--cpu_offload True'
set_to '--n_samples 2'
printf 'OOM when sampling images\n\npython sample_it.py --offload_model False\n' > t.txt
run 0 report t.txt --force --format json -o t.json
set_to '--offload_model True'
# Nothing trains: recomputation frees nothing.
printf 'OOM in inference\n\npython sample_it.py --use_checkpoint False\n' > t.txt
run 0 report t.txt --force --format json -o t.json
not_set use_checkpoint
finish
