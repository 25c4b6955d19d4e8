#!/usr/bin/env bash
# What the sizes of PyTorch's sentence prove together: a full card or a limit, counters above the card, holes that are worth packing. Each expectation
# was written down before the report was made.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

new() { # ASKED CARD FREE ALLOCATED UNALLOCATED [PROCESSES [THIS]]
    echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $1. GPU 0 has a total capacity of $2 of which $3 is free. ${6:-}${7:+Including non-PyTorch memory, this process has $7 memory in use. }Of the allocated memory $4 is allocated by PyTorch, and $5 is reserved by PyTorch but unallocated."
}
old() { # ASKED CARD ALLOCATED FREE RESERVED
    echo "RuntimeError: CUDA out of memory. Tried to allocate $1 (GPU 0; $2 total capacity; $3 already allocated; $4 free; $5 reserved in total by PyTorch)"
}
means() { # FILE CAUSE TEXT... ; '!TEXT' = not said
    run 0 report "$1" --force --format json -o "$1.json"
    run 0 report "$1" --force --format text --full -o "$1.text"
    check [ "$(jq -r .log_diagnosis.cause "$1.json")" = "$2" ]
    for text in "${@:3}"; do
        case "$text" in
            '!'*) check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "${text#!}")" = 0 ] ;;
            *) check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text") ;;
        esac
    done
}

# Small cards with several hundred MiB that nobody could use: full, and less use is the cure.
old '58.00 MiB' '7.79 GiB' '5.91 GiB' '182.00 MiB' '6.28 GiB' > rtx.log
means rtx.log capacity '182.0 MiB were free when PyTorch asked' 'The card was full' '!a limit' '!P34'
old '20.00 MiB' '8.00 GiB' '6.50 GiB' '640.00 MiB' '6.60 GiB' > laptop.log
means laptop.log capacity 'using less is the cure' '!a limit'
new '170.00 MiB' '23.64 GiB' '720.00 MiB' '22.10 GiB' '300.00 MiB' '' '22.90 GiB' > a5000.log
means a5000.log capacity 'and 170.0 MiB would have done' '!a limit'
new '1.00 GiB' '79.15 GiB' '3.20 GiB' '70.10 GiB' '4.00 GiB' '' '75.90 GiB' > a100.log
means a100.log capacity 'The card was full' '!a limit'
# A segment of 20 MiB serves 2 MiB: what is free has room for the block, and none for it.
old '2.00 MiB' '11.17 GiB' '10.50 GiB' '19.00 MiB' '10.70 GiB' > k80.log
means k80.log capacity 'from segments of 20.0 MiB, for which the 19.0 MiB that were free had no room' '!a limit'
# A third of the card free is no full card.
old '14.00 MiB' '15.78 GiB' '9.50 GiB' '5.10 GiB' '9.70 GiB' > v100.log
means v100.log limit 'More was free than was asked for'
old '2.00 GiB' '24.00 GiB' '3.00 GiB' '20.00 GiB' '3.10 GiB' > slice.log
means slice.log limit 'More was free than was asked for'

# Counters above the card: an engine's sleep, where processes are named or one is in the job; Windows, where its paths are; else both are said.
new '1.50 GiB' '79.15 GiB' '500.00 MiB' '60.50 GiB' '20.00 GiB' 'Process 77 has 48.60 GiB memory in use. ' '30.00 GiB' > awake.log
means awake.log other_processes 'the process has only 30.00 GiB of the card' '!would have sufficed as well' '!max_split_size'
new '1.50 GiB' '79.15 GiB' '500.00 MiB' '90.00 GiB' '10.00 GiB' 'Process 11 has 40.00 GiB memory in use. Process 12 has 38.60 GiB memory in use. ' > two.log
means two.log capacity "what an engine's sleep mode unmapped" '!other processes 7' '!Windows' '!max_split_size'
new '1.50 GiB' '79.15 GiB' '500.00 MiB' '90.00 GiB' '10.00 GiB' 'Process 11 has 78.60 GiB memory in use. ' > one.log
means one.log capacity 'the process has only 78.60 GiB of the card' '!other processes 7'
{ echo '(WorkerDict pid=5)   File "/opt/py/site-packages/verl/workers/fsdp_workers.py", line 5, in update_actor'; echo "(WorkerDict pid=5) $(new '1.50 GiB' '79.15 GiB' '500.00 MiB' '90.00 GiB' '10.00 GiB')"; } > verl.log
means verl.log capacity "what an engine's sleep mode unmapped" '!Windows'
new '1.50 GiB' '12.00 GiB' '0 bytes' '14.00 GiB' '1.00 GiB' '' '17179869184.00 GiB' > wddm.log
means wddm.log capacity 'more than the card has' '17179869184 GiB is no amount'
{ printf '%s\n' '  File "D:\work\train.py", line 5, in <module>'; new '1.50 GiB' '12.00 GiB' '0 bytes' '14.00 GiB' '1.00 GiB'; } > windows.log
means windows.log capacity 'unless its CUDA sysmem fallback is switched off' '!sleep'

# Holes of less than a tenth of what is reserved are the margin of a full card; while weights are loaded none are the cause.
old '120.00 MiB' '23.70 GiB' '21.20 GiB' '60.00 MiB' '22.40 GiB' > margin.log
means margin.log capacity 'That is little of what it holds' max_split_size '!so this is'
{ echo '  File "/opt/py/site-packages/transformers/modeling_utils.py", line 9, in from_pretrained'; new '500.00 MiB' '23.70 GiB' '60.00 MiB' '17.00 GiB' '5.00 GiB'; } > load.log
means load.log capacity 'What is loaded was not all there yet'
new '500.00 MiB' '23.70 GiB' '60.00 MiB' '17.00 GiB' '5.00 GiB' > holes.log
means holes.log fragmentation expandable_segments:True

# What the process itself holds outside PyTorch: a quarter of the card is the cause, less is said; a share of the card that nobody named has is said too.
new '200.00 MiB' '23.60 GiB' '100.00 MiB' '14.10 GiB' '512.00 MiB' '' '23.40 GiB' > outside.log
means outside.log outside_torch 'This process holds 8.80 GiB of the card outside PyTorch' NCCL_MAX_NCHANNELS '!nvidia-smi --query-compute-apps'
new '2.00 GiB' '79.15 GiB' '900.00 MiB' '70.10 GiB' '512.00 MiB' '' '78.20 GiB' > some.log
means some.log capacity 'This process holds 7.60 GiB of the card outside PyTorch'
new '2.00 GiB' '79.15 GiB' '900.00 MiB' '76.90 GiB' '512.00 MiB' '' '78.20 GiB' > context.log
means context.log capacity '!of the card outside PyTorch, and without them'
new '2.00 GiB' '79.15 GiB' '900.00 MiB' '30.00 GiB' '512.00 MiB' 'Process 9 has 10.00 GiB memory in use. ' '31.20 GiB' > unnamed.log
means unnamed.log other_processes '37.07 GiB of the card in no process that is named'
finish
