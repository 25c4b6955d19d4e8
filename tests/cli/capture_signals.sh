#!/usr/bin/env bash
# memtrace capture as a launcher: signals, the terminal, and what the command leaves behind. The rest is in capture.sh.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH PYTHONPATH MEMTRACE_SPOOL MEMTRACE_INJECT MEMTRACE_STACKS NSYS_PROFILING_SESSION_ID || true
library="$(recorder)"
[ -n "$library" ] || skip_all "this build has no recorder (MEMTRACE_CAPTURE=OFF)"
mkdir spools
export TMPDIR="$TMP/spools"
# until_true COMMAND...: waits for it, a minute at most. The functions below are such commands.
until_true() { for ((n = 0; n < 1200; n++)); do "$@" 2> /dev/null && return 0; sleep 0.05; done; return 1; }
# shellcheck disable=SC2317
has() { grep -qx -e "$2" "$1"; }
# shellcheck disable=SC2317
gone() { ! kill -0 "$1"; }
# shellcheck disable=SC2317
state() { cut -d ' ' -f 3 "/proc/$1/stat"; }
# shellcheck disable=SC2317
is() { [ "$(state "$1")" = "$2" ]; }

# shellcheck disable=SC2317
alarmed() { has got ALRM || gone "$launcher"; }

# --- signals
# counts what arrives; ends with 42 when there is a file `stop`: see catcher.c
cp "$MT_BINARY_DIR/tests/tool_catcher" catcher || exit 1
begin() # OUTPUT
{
    rm -f got pid stop
    "$MEMTRACE" capture -q -o "$1" ./catcher 2> .err &
    launcher=$!
    check until_true test -s pid
}
begin t.gz
for s in HUP USR1 USR2 TERM ALRM RTMIN INT; do
    kill -"$s" "$launcher"
    [ "$s" = INT ] || until_true has got "$s" # a shell's background commands ignore INT
done
touch stop
wait "$launcher"
check [ $? -eq 42 ]
for s in HUP USR1 USR2 TERM ALRM RTMIN; do check [ "$(grep -cx "$s" got)" -eq 1 ]; done
# a job that signals its whole group gets each once, not twice
rm -f got
cat > grouped << 'EOF'
#!/bin/bash
trap 'echo TERM >> got' TERM
kill -TERM 0
mkfifo "fifo.$$" && exec 3<> "fifo.$$" && rm "fifo.$$"
read -r -t 0.3 -u 3
exit 5
EOF
chmod +x grouped
setsid -w "$MEMTRACE" capture -q -o u.gz ./grouped 2> .err
check [ $? -eq 5 ]
check [ "$(grep -c TERM got)" -eq 1 ]
# Stopped and continued: memtrace stops with the command, as a shell needs it, and goes on with it. In a process group of its own:
# the kernel does not stop members of an orphaned one, which this script's may be.
set -m
begin stopped.gz
set +m
kill -TSTP "$launcher"
check until_true is "$(cat pid)" T
check until_true is "$launcher" T
kill -CONT "$launcher"
check until_true is "$launcher" S
check until_true has got CONT
touch stop
wait "$launcher"
check [ $? -eq 42 ]
# Signals that come when the command is ending, here while we cannot look, do not end us in its place.
rm -f stopped-late
# shellcheck disable=SC2016
"$MEMTRACE" capture -q -o late.gz -- sh -c 'kill -STOP $PPID; kill -USR1 $PPID; kill -USR2 $PPID; kill -TERM $PPID; echo $$ > ending; exit 3' 2> .err &
launcher=$!
check until_true test -s ending
check until_true is "$(cat ending)" Z
kill -CONT "$launcher"
wait "$launcher"
check [ $? -eq 3 ]
exists late.gz
# An alarm that was set before memtrace was executed is for the command. It ends whoever does not expect it yet: later on a slower machine.
if command -v python3 > /dev/null; then
    for seconds in 1 5 25; do
        rm -f got pid stop
        python3 -c 'import os, signal, sys; signal.alarm(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])' \
            "$seconds" "$MEMTRACE" capture -f -q -o alarm.gz ./catcher 2> .err &
        launcher=$!
        until_true alarmed
        if has got ALRM 2> /dev/null; then break; fi
        wait "$launcher"
    done
    check has got ALRM
    touch stop
    wait "$launcher"
    check [ $? -eq 42 ]
fi
# What memtrace ignores for itself the command does not inherit.
"$MEMTRACE" capture -q -o ignored.gz grep SigIgn /proc/self/status > ignored
check [ "$(cat ignored)" = "$(grep SigIgn /proc/self/status)" ]
# A limit on the size of files: refused before the start, or the recording stays; never SIGXFSZ in place of the status.
(ulimit -f 0 && "$MEMTRACE" capture -q -o xfsz.gz touch ran 2> /dev/null)
check [ $? -eq 125 ]
(ulimit -f 0 && "$MEMTRACE" capture -q -o xfsz.gz touch ran 2> said)
check [ $? -eq 125 ]
absent ran
check [ -z "$(ls -A spools)" ]
# Standard output that the command closes is closed for its reader, standard input for its writer.
# shellcheck disable=SC2016
"$MEMTRACE" capture -q -o closed.gz -- bash -c 'exec >&-; for ((i = 0; i < 1200; i++)); do [ ! -e seen ] || exit 0; sleep 0.05; done; exit 9' 2> .err | { cat; touch seen; }
check [ "${PIPESTATUS[0]}" -eq 0 ]

# --- what goes on without the command
# SIGKILL of the launcher: the command goes on, and the recording waits for `memtrace collect`
begin v.gz
kill -9 "$launcher"
wait "$launcher" 2> /dev/null
check kill -0 "$(cat pid)"
touch stop
check until_true gone "$(cat pid)"
absent v.gz
run 0 collect "$TMP"/spools/memtrace-* -o v.gz
exists v.gz
check [ -n "$(ls -A spools)" ]
check [ "$(gzip -dc v.gz 2> /dev/null | grep -c 'catcher')" -ge 1 ]
rm -rf spools/memtrace-*
# A child that outlives the command has not used a GPU yet: its folder stays for it.
rm -f pid stop got
run 0 capture -o outlived.gz -- sh -c './catcher > /dev/null 2>&1 & exit 0'
err_has "1 process that the command started is still alive"
err_has "memtrace collect $Q$TMP/spools/memtrace-"
check until_true test -s pid
check [ -d "$(tr '\0' '\n' < "/proc/$(cat pid)/environ" | sed -n 's/^MEMTRACE_SPOOL=//p')" ]
touch stop
check until_true gone "$(cat pid)"
run 0 collect "$TMP"/spools/memtrace-* -o outlived-all.gz --remove
check [ -z "$(ls -A spools)" ]

# --- the terminal
export MEMTRACE
# `exec`: script(1) runs a command by $SHELL, and dash ends by a SIGINT that its command has outlived
if command -v script > /dev/null; then
    script -qec "exec \"\$MEMTRACE\" capture -q -o x.gz -- sh -c 'test -t 0 && test -t 1 && test -t 2 && stty size > size && echo terminal; exit 6'" typescript > .out 2>&1 < /dev/null
    check [ $? -eq 6 ]
    out_has "terminal"
    # Ctrl-C reaches the command once, which decides; memtrace goes on to write the trace.
    rm -f got pid stop
    { until_true test -s pid; printf '\003'; until_true has got INT; touch stop; } | script -qec "exec \"\$MEMTRACE\" capture -q -o y.gz -- ./catcher" typescript > .out 2>&1
    check [ $? -eq 42 ]
    check [ "$(grep -c INT got)" -eq 1 ]
    exists y.gz
fi
finish
