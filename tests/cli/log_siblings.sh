#!/usr/bin/env bash
# Processes of one size whose numbers follow each other are one launch on one card; others are somebody else's.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # PROCESSES: the sentence's part about them
    printf 'It stops at once\n\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 8.00 MiB is free. %s Of the allocated memory 5.20 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated.\n' "$1" > text.md
    run 0 report text.md --force --format json -o text.json
    both=$(jq -r '.cause.sentence + " " + .log_diagnosis.because' text.json)
}
says() { check [ "$(grep -cF -- "$1" <<< "$both")" = "$2" ]; }
offers() { check [ "$(jq --arg id "$1" '[.advice[] | select(.top and (.id | startswith($id)))] | length' text.json)" = "$2" ]; }
has() { printf 'Process %s has %s GiB memory in use. ' "$@"; }

ask "$(has 9104 5.80 9101 5.75 9103 5.85 9102 5.70)"
says 'their numbers follow each other, as of one launch' 1
says 'this process outside PyTorch' 0
says 'other processes about' 1
offers B106 1
check [ "$(grep -c 'kill PID' text.json)" = 0 ]
# Far apart: nobody knows whose they are.
ask "$(has 1204 5.80 9101 5.75 40103 5.85 77102 5.70)"
says 'as of one launch' 0
says 'other processes about' 1
# Two other sizes beside it: no ranks of one job.
ask "$(has 9101 5.75 9102 9.40 9103 8.30)"
says 'as of one launch' 0
says 'this process outside PyTorch' 1
finish
