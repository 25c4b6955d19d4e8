#!/usr/bin/env bash
# memtrace doctor: what it finds, what it misses, and its exit status.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH PYTHONPATH MEMTRACE_INJECT MEMTRACE_CUPTI RAY_ADDRESS NSYS_PROFILING_SESSION_ID || true
library="$(recorder)"
[ -n "$library" ] || skip_all "this build has no recorder (MEMTRACE_CAPTURE=OFF)"
need jq
mkdir tmp && export TMPDIR="$TMP/tmp"

state() { # CHECK WANTED
    local got
    got="$(jq -r --arg c "$1" 'select(.check == $c) | .state' .out)"
    if [ "$got" = "$2" ]; then ok; else fail "$1 is '$got', not '$2'"; fi
}
run 0 doctor
err_empty
out_has "'memtrace capture' works here"
out_has "CUDA_INJECTION64_PATH=$library"
check [ -z "$(ls -A tmp)" ]
run 0 doctor --json
state recorder ok
state glibc ok
state "PyTorch hook" ok
state "spool folder" ok
state injection ok
check [ "$(jq -r 'select(.can_capture != null) | .can_capture' .out)" = true ]
check [ "$(jq -r 'select(.environment != null) | .environment.NVTX_INJECTION64_PATH' .out)" = "$library" ]
if command -v python3 > /dev/null && [ -z "${MT_SANITIZE:-}" ]; then
    state Python ok
    # one of the user's own behind ours, as Debian's python has
    mkdir -p behind && : > behind/sitecustomize.py
    PYTHONPATH="$PWD/behind" run 0 doctor --json
    state Python ok
    # a python without PyTorch still says its version
    check [ "$(jq -r 'select(.check == "Python") | .text' .out | cut -d . -f 1)" = "Python 3" ]
fi
mkdir cuda && touch cuda/libcuda.so.1 cuda/libnvidia-ml.so.1 cuda/libcupti.so.13
LD_LIBRARY_PATH="/no/such:$TMP/cuda" run 0 doctor --json
state libcuda ok
state NVML ok
state libcupti ok
check grep -qF "$TMP/cuda/libcuda.so.1" .out
MEMTRACE_CUPTI="$TMP/cuda/libcupti.so.13" run 0 doctor --json
check grep -qF "MEMTRACE_CUPTI names $TMP/cuda/libcupti.so.13" .out
RAY_ADDRESS=auto run 0 doctor --json
state Ray note
# a recording that is left where its launcher was killed; an empty folder and one that a process was told of are none
check [ "$(jq -r 'select(.check == "recordings left") | .state' .out)" = "" ]
mkdir tmp/memtrace-empty tmp/memtrace-told tmp/memtrace-left && touch tmp/memtrace-told/mt-h-1-2.spool tmp/memtrace-left/mt-h-1-2.spool
MEMTRACE_SPOOL="$TMP/tmp/memtrace-told" sleep 300 &
told=$!
run 0 doctor --json
state "recordings left" note
check [ "$(jq -r 'select(.check == "recordings left") | .text' .out)" = "$TMP/tmp/memtrace-left holds a recording that no trace was made of" ]
kill "$told"
rm -r tmp/memtrace-*
# what stands in the way
CUDA_INJECTION64_PATH=/opt/nvidia/nsight-systems/libToolsInjection64.so run 1 doctor --json
state injection bad
check grep -qF "Nsight Systems" .out
TMPDIR=/no/such run 1 doctor --json
state "spool folder" bad
# a folder that takes files, but none of the size that a process has: less is recorded, not nothing
(ulimit -f 1000 && "$MEMTRACE" doctor --json > .out 2> .err)
check [ $? -eq 0 ]
state "spool folder" note
check [ -z "$(ls -A tmp)" ]
MEMTRACE_CUPTI=/no/such.so run 1 doctor --json
state libcupti bad
MEMTRACE_INJECT=/no/such.so run 1 doctor --json
state recorder bad
printf 'no library' > not.so
MEMTRACE_INJECT="$TMP/not.so" run 1 doctor --json
state recorder bad
mkdir alone && cp "$MEMTRACE" alone/memtrace
MEMTRACE="$TMP/alone/memtrace"
run 1 doctor
out_has "'memtrace capture' does not work here"
out_has "build with -DMEMTRACE_CAPTURE=ON"
# no python, or one that fails: said, not fatal
MEMTRACE="$(dirname "$(dirname "$(dirname "$library")")")/memtrace"
mkdir bin && printf '#!/bin/sh\nexit 3\n' > bin/python3 && chmod +x bin/python3
PATH="$TMP/bin" run 0 doctor
out_has "no python3 on the PATH"
# one that says something of its own first, and one that closes its output and goes on
if command -v python3 > /dev/null; then
    printf '#!/bin/sh\necho "Welcome to this cluster"\nexec %s "$@"\n' "$(command -v python3)" > bin/python3
    PATH="$TMP/bin:$PATH" run 0 doctor
    out_has "Python 3"
    if grep -q Welcome .out; then fail "the greeting was taken for an answer"; else ok; fi
fi
run 2 doctor operand
finish
