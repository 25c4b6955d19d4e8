#!/usr/bin/env bash
# Kinds of texts that people bring: settings under names of the job's own, a question without a failure's line, a phase that stands in words, engines
# that share a card with a trainer, hosts that are full. What each has to say was written down before the report was made. Takes two seconds.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

says='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 39.59 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 38.40 GiB memory in use. Of the allocated memory 36.10 GiB is allocated by PyTorch, and 1.30 GiB is reserved by PyTorch but unallocated.'
tells() { # FILE TEXT... ; '!TEXT' = not said; run.sh beside it, where it is there
    local config=()
    [ ! -e run.sh ] || config=(--config run.sh)
    run 0 report "$1" --force "${config[@]}" --format json -o "$1.json"
    run 0 report "$1" --force "${config[@]}" --format text -o "$1.text"
    for text in "${@:2}"; do
        case "$text" in
            '!'*) check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "${text#!}")" = 0 ] ;;
            *) check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text") ;;
        esac
    done
}

# A flag of the command goes before a default, with a word before its name too.
echo "$says" > job.log
echo 'accelerate launch distill.py --per_device_train_batch_size 1 --learning_rate 1e-5 --num_train_epochs 2 --student_gradient_checkpointing' > run.sh
tells job.log '!(default)' '!gradient_checkpointing=True' 'halve the longest input'
sed -i 's/--student_/--/' run.sh
tells job.log '!(default)' '!gradient_checkpointing=True'
sed -i 's/--gradient_checkpointing//' run.sh
tells job.log 'gradient_checkpointing=True' 'False (default)'
rm run.sh
{ echo "Namespace(policy_gradient_checkpointing=True, per_device_train_batch_size=2, learning_rate=1e-05, num_train_epochs=1, weight_decay=0.0)"; cat job.log; } > space.log
tells space.log '!(default)' '!gradient_checkpointing=True'

finish
