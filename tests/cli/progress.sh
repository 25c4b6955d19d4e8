#!/usr/bin/env bash
# Progress: on a terminal, after half a second, gone at the end; never in a script.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need script
script -qec true /dev/null > /dev/null 2>&1 < /dev/null || skip_all "no pseudo-terminal can be opened here"
sample="$SAMPLES/verl_grpo_oom_logprob.pickle"
slow() # a snapshot with 8 MiB of blanks in it, for about two and a half seconds
{
    head -c 1 "$SAMPLES/tiny.json"
    for _ in 1 2 3 4 5 6 7 8; do
        head -c 1048576 /dev/zero | tr '\0' ' '
        sleep 0.3
    done
    tail -c +2 "$SAMPLES/tiny.json"
}
export -f slow
SHELL="$(command -v bash)" && export SHELL # script runs its command in it, and only bash hands functions on
export sample MEMTRACE
TERM=xterm script -qec 'bash -c "slow | \"$MEMTRACE\" info -"' /dev/null < /dev/null > typed 2>&1
check grep -q 'reading standard input: ' typed
check grep -q '/s' typed
# every progress line is followed by one that erases it
check [ "$(tr '\r' '\n' < typed | grep -A 1 'reading ' | tail -n 1 | cut -c 1-3)" = "$(printf '\033[K')" ]
TERM=xterm script -qec 'bash -c "slow | \"$MEMTRACE\" info -q -"' /dev/null < /dev/null > quiet 2>&1
if grep -q 'reading ' quiet; then fail 'progress in spite of -q'; else ok; fi
slow | "$MEMTRACE" info - > .out 2> .err
err_empty
TERM=xterm script -qec '"$MEMTRACE" info "$sample"' /dev/null < /dev/null > fast 2>&1
check grep -q segments fast

# a report goes on after reading: what is analysed, how fast, how long still, what is written
if command -v python3 > /dev/null; then
    python3 -B - > big.json << 'EOF'
import sys
out = sys.stdout.write
frames = '[{"name": "f", "filename": "x.py", "line": 1}]'
out('{"segments": [], "device_traces": [[')
for i in range(400000):
    out('%s{"action": "%s", "addr": %d, "size": 512, "stream": 0, "time_us": %d, "frames": %s}' % (
        "," if i else "", ("alloc", "free_requested", "free_completed")[i % 3], 4096 + i // 3 % 64 * 512, i + 1, frames))
    if i % 3 == 0 and i > 399990:
        break
out(']]}')
EOF
    slow_big() { sleep 2 && cat big.json; } # the first line is due long before the input comes, however slow the start
    export -f slow_big
    TERM=xterm script -qec 'bash -c "slow_big | \"$MEMTRACE\" report --format json -o big.out -"' /dev/null < /dev/null > worked 2>&1
    check grep -q 'reading standard input: ' worked
    check grep -q 'analysing standard input' worked
    check grep -q ' events' worked
    check [ "$(tr '\r' '\n' < worked | grep -A 1 'analysing ' | tail -n 1 | cut -c 1-3)" = "$(printf '\033[K')" ]
    slow_big | "$MEMTRACE" report --format json -o - - > .out 2> .err
    err_empty
    TERM=dumb script -qec 'bash -c "slow_big | \"$MEMTRACE\" report --format json -o big2.out -"' /dev/null < /dev/null > dull 2>&1
    if grep -q 'analysing ' dull; then fail 'progress on a dumb terminal'; else ok; fi
fi

# colours: a terminal only, and not with NO_COLOR
escape="$(printf '\033')"
TERM=xterm script -qec '"$MEMTRACE" report --format text "$sample"' /dev/null < /dev/null > colored 2>&1
check grep -q "$escape" colored
NO_COLOR=1 TERM=xterm script -qec '"$MEMTRACE" report --format text "$sample"' /dev/null < /dev/null > plain 2>&1
if grep -q "$escape" plain; then fail "NO_COLOR was set"; else ok; fi
run 0 report --format text "$sample"
if grep -q "$escape" .out; then fail "colours in a file"; else ok; fi
finish
