#!/usr/bin/env bash
# A request that was nearly met: by how much, what is free and unused together, and what costs nothing among the first changes.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # ASKED FREE UNUSED TEXT: an own text of a 23.64 GiB card
    printf '%s\n\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s MiB. GPU 0 has a total capacity of 23.64 GiB of which %s MiB is free. Including non-PyTorch memory, this process has 22.90 GiB memory in use. Of the allocated memory 22.20 GiB is allocated by PyTorch, and %s MiB is reserved by PyTorch but unallocated.\n' "$4" "$1" "$2" "$3" > text.md
    run 0 report text.md --force --format json -o text.json
    because=$(jq -r .log_diagnosis.because text.json)
    pieces=$(jq '[.advice[] | select(.top and .id == "B01")] | length' text.json)
}
says() { check [ "$(grep -cF -- "$1" <<< "$because")" = "$2" ]; }

# 100 MiB short of 800, and twice as much is unused: they may join.
ask 800.00 700.00 220.00 'The demo stops.'
says 'Only 100.0 MiB more had to be free' 1
says 'together with what was free' 1
says 'no fragmentation' 0
check [ "$pieces" = 1 ]
# The two would do, but all of the ends never join.
ask 800.00 600.00 220.00 'The demo stops.'
says 'the ends of many segments' 1
says 'no fragmentation' 0
check [ "$pieces" = 0 ]
# They would not do: the sum is said.
ask 800.00 400.00 220.00 'The demo stops.'
says 'with what was free 620.0 MiB, less than the 800.0 MiB' 1
says 'more had to be free' 0
# A PyTorch without expandable segments joins nothing.
printf 'The demo stops.\n\nRuntimeError: CUDA out of memory. Tried to allocate 800.00 MiB (GPU 0; 23.64 GiB total capacity; 22.20 GiB already allocated; 700.00 MiB free; 22.41 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.\n' > text.md
run 0 report text.md --force --format json -o text.json
because=$(jq -r .log_diagnosis.because text.json)
says 'PyTorch had reserved only 215.0 MiB' 1
check [ "$(jq '[.advice[] | select(.id == "B01" or .id == "B02")] | length' text.json)" = 0 ]
# A small request on a full card lacks little, and that says nothing.
ask 20.00 2.00 220.00 'The demo stops.'
says 'more had to be free' 0
# What is loaded was not all there yet.
ask 800.00 700.00 220.00 'It fails while the model is being loaded onto the card.'
says 'more had to be free' 0
finish
