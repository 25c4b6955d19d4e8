#!/usr/bin/env bash
# Logs that say little: what helps most jobs is said as that, and what cannot help is not said.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

says() { # ASKED CARD FREE ALLOCATED UNALLOCATED
    echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $1. GPU 2 has a total capacity of $2 of which $3 is free. Including non-PyTorch memory, this process has $2 memory in use. Of the allocated memory $4 is allocated by PyTorch, and $5 is reserved by PyTorch but unallocated."
}
ask() { # FILE ARG...: its report as JSON and text
    run 0 report "$1" --force --format json -o "$1.json" "${@:2}"
    run 0 report "$1" --force --format text --full -o "$1.text" "${@:2}"
}
tops() { jq -r '[.advice[] | select(.top) | .id] | join(" ")' "$1.json"; }
cause() { jq -r .log_diagnosis.cause "$1.json"; }
is() { check [ "$1" = "$2" ]; }
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }

# A line alone: weak claims, as such; the setting of the program that a path names; recomputation only where something trains.
says '3.00 GiB' '23.64 GiB' '1.25 GiB' '21.10 GiB' '0.40 GiB' > bare.log
ask bare.log
is "$(cause bare.log)" capacity
is "$(tops bare.log)" 'P30 P31 P32'
has bare.log 'To try first in most jobs: what ran here is not known'
has bare.log 'If nothing trains'
{ echo '(pid=4) /opt/verl/verl/trainer/main_ppo.py'; cat bare.log; } > named.log
ask named.log
check [ "$(jq '[.advice[:3][].set[0].key | startswith("actor_rollout_ref.")] | all' named.log.json)" = true ]
# What the settings prove comes before what helps most jobs.
ask named.log --args 'actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16'
has named.log 'the phase is not known, and this holds in any'
is "$(jq -r '.advice[0].set[0].value' named.log.json)" 8

# A request that no card serves: the shape, no recomputation; the side of a square of so many bytes.
{ echo '  File "/home/u/pairs.py", line 7, in main'; echo '    d = torch.cdist(x, x)'; says '400.00 GiB' '39.39 GiB' '30.00 GiB' '9.00 GiB' '0.10 GiB'; } > pairs.log
ask pairs.log
is "$(cause pairs.log)" request
is "$(jq -r '.advice[0].id' pairs.log.json)" P35
has pairs.log 'The request alone is 10 times the card'
has pairs.log 'about 327 thousand numbers'
has_not pairs.log torch.utils.checkpoint
has_not pairs.log 'the device is full'

# More was free: nothing that frees memory helps, whatever ran.
{ echo '  File "/opt/py/site-packages/torch/nn/modules/module.py", line 1, in _call_impl'; echo '  File "/home/u/net.py", line 7, in forward'
  says '20.00 MiB' '79.11 GiB' '41.00 GiB' '35.00 GiB' '1.00 GiB'; } > free.log
ask free.log
is "$(cause free.log)" limit
is "$(tops free.log)" P34
has_not free.log torch.utils.checkpoint
# Unless the line names the limit: then use has to shrink, or the limit to grow.
{ echo '  File "/home/u/net.py", line 7, in forward'
  echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 60.00 GiB is free. 16.00 GiB allowed; Of the allocated memory 15.00 GiB is allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated.'; } > capped.log
ask capped.log
is "$(cause capped.log)" limit
check [ "$(tops capped.log | wc -w)" -gt 1 ]

# A full card of which somebody gave a little back before the message was written is a full card.
says '1.10 GiB' '139.81 GiB' '1.50 GiB' '130.00 GiB' '0.60 GiB' > late.log
ask late.log
is "$(cause late.log)" capacity
has late.log 'The card was full'

# Others hold the card, and yet pieces of the own cache would have been enough: both are said.
says '2.00 GiB' '44.00 GiB' '0.20 GiB' '22.00 GiB' '2.60 GiB' | sed 's/this process has 44.00/this process has 25.00/' > both.log
ask both.log
is "$(cause both.log)" other_processes
has both.log 'would have sufficed as well, in one piece'
has both.log expandable_segments

# No number at all: who holds the card comes first.
echo 'RuntimeError: CUDA error: out of memory' > none.log
ask none.log
is "$(jq -r '.advice[0].id' none.log.json)" P33
has none.log nvidia-smi
# An attention that asked is told from other shapes.
{ echo '  File "/home/u/layers/self_attention.py", line 30, in scores'; says '9.00 GiB' '79.11 GiB' '1.00 GiB' '70.00 GiB' '0.10 GiB'; } > scores.log
ask scores.log
is "$(jq -r '.advice[0].id' scores.log.json)" P15
# What the failing line itself can be replaced by stands before what scales it.
{ echo '  File "/opt/verl/verl/workers/actor/dp_actor.py", line 300, in compute_log_prob'
  echo '  File "/opt/verl/verl/utils/torch_functional.py", line 148, in entropy_from_logits'; says '9.00 GiB' '79.11 GiB' '1.00 GiB' '70.00 GiB' '0.10 GiB'; } > entropy.log
ask entropy.log
is "$(jq -r '.advice[0].set[0].key' entropy.log.json)" actor_rollout_ref.actor.entropy_from_logits_with_chunking
check [ "$(tops entropy.log | wc -w)" = 3 ]

# diffusers: a clip that is encoded or decoded at once, a pipeline whose parts all lie on the card, a training script's own flags.
full() { says "$1" '23.64 GiB' '0.50 GiB' '22.10 GiB' '0.05 GiB'; }
{ echo '  File "/opt/py/site-packages/diffusers/pipelines/wan/pipeline_wan.py", line 9, in __call__'
  echo '  File "/opt/py/site-packages/diffusers/models/autoencoders/autoencoder_kl_wan.py", line 9, in encode'; full '5.00 GiB'; } > clip.log
ask clip.log
is "$(jq -r '.advice[0].set[0].value' clip.log.json)" 'pipe.vae.enable_tiling()'
has clip.log 'in inference'
has_not clip.log 'traceback is cut: the phase is read from what is left of it. The'
{ echo '  File "/opt/py/site-packages/diffusers/pipelines/flux/pipeline_flux.py", line 9, in __call__'
  echo '  File "/opt/py/site-packages/diffusers/models/transformers/transformer_flux.py", line 9, in forward'; full '0.90 GiB'; } > parts.log
ask parts.log
is "$(jq -r '.advice[0].set[0].value' parts.log.json)" 'pipe.enable_model_cpu_offload()'
has_not parts.log enable_tiling
full '0.90 GiB' > script.log
cat > script.sh <<'S'
#!/bin/bash
accelerate launch train_controlnet.py --pretrained_model_name_or_path=/m --train_batch_size=6 --resolution=768 --use_ema
S
ask script.log --config script.sh
is "$(jq -r '[.advice[:2][] | .set[0] | .key + " " + .value] | join(", ")' script.log.json)" '--train_batch_size 3, --gradient_checkpointing '
check [ "$(jq '[.settings[] | .setting] | index("mini_batch")' script.log.json)" = null ]
# The same flag of another program keeps its meaning.
ask script.log --args '--train_batch_size 128 --micro_train_batch_size 4 --pretrain /m --zero_stage 3'
check [ "$(jq '[.settings[] | .setting] | index("mini_batch")' script.log.json)" != null ]
# A name tells the phase where no program is known, and the report says that it does.
{ echo '  File "/home/u/mine/run.py", line 7, in fit'; echo '  File "/home/u/mine/muon.py", line 70, in _init_group'; says '1.00 GiB' '79.11 GiB' '0.30 GiB' '75.00 GiB' '0.10 GiB'; } > muon.log
ask muon.log
has muon.log 'training (optimizer step)'
has muon.log 'the phase is read from the name of _init_group'
has_not muon.log 'what ran here is not known'
# The place of a notebook's frame has the line of its arrow; where nothing says one, none is made up.
{ echo 'Input In [3], in <cell line: 5>()'; echo '      4 for b in data:'; echo '----> 5     use(b)'; echo
  echo 'Input In [2], in use(b)'; echo '      1 def use(b):'; echo '----> 2     return b @ b.T'; echo; full '0.90 GiB'; } > cell.log
ask cell.log
is "$(jq -r .log_diagnosis.sentence cell.log.json | grep -o 'at <cell>:2 use,')" 'at <cell>:2 use,'
{ echo '/home/u/net.py in mix(self, x)'; echo '   1203     y = x'; echo '-> 1204     return x @ y'; full '0.90 GiB'; } > arrow.log
ask arrow.log
has arrow.log 'net.py:1204 mix'
{ echo '/home/u/net.py in mix(self, x)'; full '0.90 GiB'; } > still.log
ask still.log
has still.log 'u/net.py mix'
# What ran is named where a line says it, whatever it was doing; a flag that many scripts have makes no engine of one.
{ echo '$ accelerate launch --config_file z.yaml tools/tune_it.py --model m'; full '0.90 GiB'; } > script2.log
ask script2.log
has script2.log 'what tune_it.py was doing is not known'
has_not script2.log 'inference engine'
{ full '0.90 GiB'; echo '======'; echo 'pre/train_it.py FAILED'; } > elastic.log
ask elastic.log
has elastic.log 'the phase is read from the name of train_it.py, and may be another'
{ echo '  File "/opt/py/bin/torchrun", line 8, in <module>'; echo '  File "/home/u/go_on.py", line 3, in <module>'; echo '  File "/home/u/parts.py", line 9, in gather_all'; full '0.90 GiB'; } > module.log
ask module.log
has module.log 'what go_on.py was doing'
{ echo '  File "/home/u/parts.py", line 9, in gather_all'; full '0.90 GiB'; } > part.log
ask part.log
has part.log 'the line that asked does not tell the phase'
# A logger has the sentence in its own line; the traceback right below ends in the error's bare name.
{ full '0.90 GiB' | sed 's/^torch.OutOfMemoryError/10:00:00 ERROR app: step 7 failed/'; echo 'Traceback (most recent call last):'; echo '  File "/home/u/s.py", line 41, in eval_step'
  echo '  File "/home/u/s.py", line 9, in pool'; echo 'torch.cuda.OutOfMemoryError: CUDA out of memory.'; } > logger.log
ask logger.log
has logger.log 'in evaluation, asked for 921.6 MiB at u/s.py:9 pool'
# Names with commas in nvidia-smi's csv; all rows of the table count, wherever the failure stands.
{ echo 'pid, process_name, used_gpu_memory [MiB]'; echo '31, serve --ids 1,2, three, 20480 MiB'; echo '32, python3, 512 MiB'; full '0.90 GiB'; } > commas.log
ask commas.log
has commas.log 'serve --ids 1,2, three (pid 31) 20.00 GiB, python3 (pid 32) 512.0 MiB'
# Processes that are named with the sentence and write into the log are of the job.
shares() { # PID NAME
    echo "(Worker pid=$1) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.20 GiB is free. Process 711 has 39.00 GiB memory in use. Process $2 has 38.90 GiB memory in use. Of the allocated memory 37.00 GiB is allocated by PyTorch, and 1.10 GiB is reserved by PyTorch but unallocated."
}
{ shares 711 722; shares 722 722; } > mates.log
ask mates.log
has mates.log 'Process 722 writes into this log too: it is of the same job'
{ shares 711 733; shares 722 733; } > strangers.log
ask strangers.log
has_not strangers.log 'of the same job, and two'

# A heading is not cut in the middle of a word, however long the program's name is.
for name in run_my_tuning.py run_the_longest_of_my_experiments_again.py; do
    printf 'It breaks\n\npython %s\n\nThe GPU runs out of memory.\n' "$name" > long.log
    run 0 report long.log --force --no-config --format text -o long.text
    check grep -qE '^To try first in most jobs: what .* was doing is not known$' long.text
    check [ "$(grep -c '^To try first.*[.][.][.]$' long.text)" = 0 ]
done

# A demonstration only runs, whether it goes or not: no change of a training. One of somebody who trains is none.
shown() { # TEXT N: whether the change of trainings stands in the list
    printf '%s\n\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n' "$1" > shown.log
    run 0 report shown.log --force --no-config --format text -o shown.text
    check [ "$(grep -c 'keep less of each pass for the backward' shown.text)" = "$2" ]
}
shown 'My 12 GB card cannot run the demo of this repository.' 0
shown 'It breaks, as was demonstrated in the issue before.' 1
shown 'It breaks on my card of 12 GB.' 1
finish
