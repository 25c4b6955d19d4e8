#!/usr/bin/env bash
# Progress: on a terminal, after half a second, gone at the end; never in a script.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need script
script -qec true /dev/null > /dev/null 2>&1 < /dev/null || skip_all "no pseudo-terminal can be opened here"
sample="$SAMPLES/verl_grpo_oom_logprob.pickle" tiny="$SAMPLES/tiny.json"
slow() # INPUT [FILE WORDS]: JSON with blanks in it that go on until the words are in the file; without them, for two seconds
{
    local i=0 end="${2:+1200}"
    head -c 1 "$1"
    while [ "$i" -lt "${end:-20}" ] && ! { [ -n "${2:-}" ] && tr '\r' '\n' < "$2" | grep -q -e "$3"; }; do
        head -c 65536 /dev/zero | tr '\0' ' '
        sleep 0.1
        i=$((i + 1))
    done
    tail -c +2 "$1"
}
export -f slow
SHELL="$(command -v bash)" && export SHELL # script runs its command in it, and only bash hands functions on
export sample tiny MEMTRACE
TERM=xterm script -qec 'bash -c "slow \"$tiny\" typed reading.*/s | \"$MEMTRACE\" info -"' /dev/null < /dev/null > typed 2>&1
check grep -q 'reading standard input: ' typed
check grep -q '/s' typed
# every progress line is followed by one that erases it
check [ "$(tr '\r' '\n' < typed | grep -A 1 'reading ' | tail -n 1 | cut -c 1-3)" = "$(printf '\033[K')" ]
# where there is none it is waited for in vain, in all of them at once
TERM=xterm script -qec 'bash -c "slow \"$tiny\" | \"$MEMTRACE\" info -q -"' /dev/null < /dev/null > quiet 2>&1 &
slow "$tiny" | "$MEMTRACE" info - > piped 2> piped.err &
TERM=dumb script -qec 'bash -c "slow \"$tiny\" | \"$MEMTRACE\" report --format json -o dumb.out -"' /dev/null < /dev/null > dull 2>&1 &
slow "$tiny" | "$MEMTRACE" report --format json -o - - > piped.json 2> report.err &
wait
if grep -q 'reading ' quiet; then fail 'progress in spite of -q'; else ok; fi
check grep -q segments quiet
check grep -q segments piped
if grep -qE 'reading |analysing ' dull; then fail 'progress on a dumb terminal'; else ok; fi
check [ -s dumb.out ]
check [ -s piped.json ]
check [ ! -s piped.err ]
check [ ! -s report.err ]
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
    TERM=xterm script -qec 'bash -c "slow big.json worked reading | \"$MEMTRACE\" report --format json -o big.out -"' /dev/null < /dev/null > worked 2>&1
    check grep -q 'reading standard input: ' worked
    check grep -q 'analysing standard input' worked
    check grep -q ' events' worked
    check [ "$(tr '\r' '\n' < worked | grep -A 1 'analysing ' | tail -n 1 | cut -c 1-3)" = "$(printf '\033[K')" ]
fi

# colours: a terminal only, and not with NO_COLOR
escape="$(printf '\033')"
TERM=xterm script -qec '"$MEMTRACE" report --format text --full "$sample"' /dev/null < /dev/null > colored 2>&1
check grep -q "$escape" colored
NO_COLOR=1 TERM=xterm script -qec '"$MEMTRACE" report --format text --full "$sample"' /dev/null < /dev/null > plain 2>&1
if grep -q "$escape" plain; then fail "NO_COLOR was set"; else ok; fi
run 0 report --format text --full "$sample"
if grep -q "$escape" .out; then fail "colours in a file"; else ok; fi
finish
