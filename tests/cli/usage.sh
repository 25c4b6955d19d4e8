#!/usr/bin/env bash
# What is said about a wrong command line, and the exit status 2 that goes with it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$SAMPLES/tiny.pickle" .

usage() # MESSAGE ARGUMENT...
{
    local message="$1"
    shift
    run 2 "$@"
    out_empty
    err_has "$message"
    check [ "$(wc -l < .err)" -eq 1 ]
}
usage "'memtrace --help' lists all commands"
usage "did you mean 'memtrace report'?" reprot
usage "did you mean 'memtrace info'?" inf
usage "'frobnicate' is no command; see" frobnicate
usage "to report on that file: memtrace report 'tiny.pickle'" tiny.pickle
usage "did you mean --format?" report --fromat html tiny.pickle
usage "did you mean --capacity?" report --capcity=80GiB tiny.pickle
usage "unknown option '-z'" report -z tiny.pickle
usage "unknown option '--frobnicate'" report --frobnicate tiny.pickle
usage "'memtrace info' has no option '--capacity'" info --capacity 3 tiny.pickle
usage "'pdf' is none of html, text, md or json" report --format pdf tiny.pickle
usage "--format needs a value" report tiny.pickle --format
usage "--force takes no value" report --force=yes tiny.pickle
usage "unknown framework 'vrel' (did you mean verl?)" report --framework vrel tiny.pickle
usage "'-1' is not a whole number; GPUs are counted from 0" report --device -1 tiny.pickle
usage "'80Q' is not a size; write bytes or a number with a unit, as 80GiB" report --capacity 80Q tiny.pickle
usage "is not a size" report --capacity "" tiny.pickle
usage "--capacity: 80 is 80 bytes: did you mean 80GiB?" report --capacity 80 tiny.pickle
usage "--capacity: a card has at least 1GiB" report --capacity 0 tiny.pickle
usage "--capacity: a card has at least 1GiB" report --capacity 1023MiB tiny.pickle
usage "--format html and -o x.json contradict each other: leave out --format, or let the name end in .html" report --format html -o x.json tiny.pickle
usage "--format text and -o x.md.gz contradict each other" report --format text --full -o x.md.gz tiny.pickle
usage "is not a size" report --capacity 99999999999999999999GiB tiny.pickle
usage "0 is too small" report --max-depth 0 tiny.pickle
usage "5000M is too large" report --max-depth 5000M tiny.pickle
usage "the file name is empty" report -o "" tiny.pickle
usage "report: which file? usage: memtrace report INPUT..." report
usage "an operand is empty" report ""
usage "one operand too many" dump tiny.pickle tiny.pickle
usage "there is no rule 'x'" rules x
usage "can be read only once" report - -
usage "a command has to come first" --
usage "short options stand apart: -q -f" report -qf tiny.pickle
usage "collect: which folder?" collect
# a name cannot steer the terminal
usage "is no command" "$(printf 'a\033[2Jb')"
if grep -q "$(printf '\033')" .err; then fail "an escape sequence got through"; else ok; fi

run 0 --help
out_has "usage: memtrace COMMAND"
err_empty
cp .out overview
run 0 help
same .out overview
run 0 -h
same .out overview
for c in report info dump rules capture attach collect top snap doctor; do
    run 0 "$c" --help
    err_empty
    out_has "usage: memtrace $c"
    out_has "Options:"
    out_has "Examples:"
    cp .out "$c.help"
    run 0 help "$c"
    same .out "$c.help"
    check [ "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' "$c.help")" -le 80 ]
    check grep -qF "  $c " overview
done
# what an option does here, not elsewhere
for word in HTML 'telling it from'; do if grep -qF "$word" rules.help dump.help; then fail "$word in the wrong help"; else ok; fi; done

# a name is said once, as it was typed, however long or foreign it is
for name in 'é.pickle' "$(printf 'a\nb')" "$(printf 'long/%.0s' $(seq 40))x" "$(printf 'é%.0s' $(seq 90))"; do
    run 1 info "$name"
    check [ "$(grep -o ': cannot open it' .err | wc -l)" -eq 1 ]
    check [ "$(tr -dc : < .err | wc -c)" -eq 3 ] # memtrace: NAME: cannot open it: why
    err_lacks '\x'
done
run 1 info 'é.pickle'
err_has 'memtrace: é.pickle: cannot open it'

run 0 --version
check [ "$(head -n 1 .out | cut -d ' ' -f 1)" = memtrace ]
for word in zlib libarchive nettle cJSON SQLite xxHash capture: reads: build:; do out_has "$word"; done
err_empty
finish
