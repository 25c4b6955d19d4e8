#!/usr/bin/env bash
# Where a report goes, what is never overwritten, and that a failure leaves nothing.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir sub
cp "$SAMPLES/tiny.pickle" sub/snap.pickle
leftovers() { find . -name '*.tmp' | grep -q .; }

# HTML goes beside the first input, everything else to standard output
run 0 report sub/snap.pickle
out_empty
check [ "$(wc -l < .err)" -eq 1 ]
err_has "sub/snap.pickle.html written: "
exists sub/snap.pickle.html
check grep -qi '<html' sub/snap.pickle.html
for format in text md json; do
    run 0 report --format "$format" sub/snap.pickle
    err_empty
    check [ -s .out ]
    cp .out "made.$format"
    run 0 report --format="$format" -o "file.$format" sub/snap.pickle
    out_empty
    same "made.$format" "file.$format"
done
run 0 report sub/snap.pickle -o -
cp .out page
same page sub/snap.pickle.html
err_empty
run 0 report -o- sub/snap.pickle
same .out page
# the options that only say where and how loudly do not change a byte
run 0 report -q --force --output=other.html sub/snap.pickle
err_empty
same other.html page

# standard input
(cd sub && "$MEMTRACE" report - < snap.pickle 2> /dev/null)
exists sub/memtrace-report.html
run 0 report --format json - < sub/snap.pickle
out_has '"verdict"'

# never over a file that is there
cp other.html before
run 1 report sub/snap.pickle -o other.html
err_has "other.html already exists; give another name with -o, or --force"
same other.html before
run 1 report sub/snap.pickle
err_has "--force"
run 0 report --title other sub/snap.pickle -o other.html --force
check [ "$(cksum < other.html)" != "$(cksum < before)" ]
run 1 report sub/snap.pickle -o sub/snap.pickle --force
err_has "is the input itself"
same sub/snap.pickle "$SAMPLES/tiny.pickle"
ln -s snap.pickle sub/link
run 1 report sub/snap.pickle -o sub/link --force
err_has "is the input itself"

# with --force a link stays a link
printf old > target
ln -s target link.html
run 0 report sub/snap.pickle -o link.html --force
check [ -L link.html ]
same target page

# refused before anything is read
run 1 report sub/snap.pickle -o nowhere/report.html
err_has "the folder nowhere does not exist"
run 1 report sub/snap.pickle -o sub
err_has "is a folder"
run 1 report sub/snap.pickle -o new/
absent new
run 1 report does-not-exist.pickle -o never.html
absent never.html
run 1 dump does-not-exist.pickle -o never.txt
absent never.txt
run 0 dump sub/snap.pickle -o dump.txt
run 0 dump sub/snap.pickle
same .out dump.txt
run 1 dump sub/snap.pickle -o dump.txt
err_has "--force"

# the name says the format, and whether it is compressed
for ending in json md txt html JSON; do
    run 0 report sub/snap.pickle -o "ends.$ending"
    run 0 report sub/snap.pickle -o "ends2.$ending.gz"
    gzip -dc "ends2.$ending.gz" > unpacked || fail "ends2.$ending.gz is not compressed"
    same "ends.$ending" unpacked
done
check [ "$(jq -r .schema_version ends.json)" = 1 ]
check grep -q '^### memtrace' ends.md
check grep -q '^<!doctype html>' ends.html
check grep -q '^OUT OF MEMORY' ends.txt
run 0 report sub/snap.pickle --format json -o ends.other
check [ "$(jq -r .schema_version ends.other)" = 1 ]

# devices, full disks, readers that go away
run 0 report sub/snap.pickle -o /dev/null
if [ -w /dev/full ]; then
    run 1 report sub/snap.pickle -o /dev/full
    err_has "No space left on device"
    "$MEMTRACE" report --format text --full sub/snap.pickle > /dev/full 2> .err
    check [ $? -eq 1 ]
    err_has "standard output: cannot be written"
    "$MEMTRACE" info sub/snap.pickle > /dev/full 2> .err
    check [ $? -eq 1 ]
    "$MEMTRACE" --help > /dev/full 2> .err
    check [ $? -eq 1 ]
fi
(ulimit -f 1 && trap '' XFSZ && "$MEMTRACE" report sub/snap.pickle -o toobig.html) 2> .err
check [ $? -eq 1 ]
err_has "toobig.html: cannot be written"
absent toobig.html
# wherever the room ends: in the first block, inside, one short of the whole
for format in text md json html; do
    run 0 report -q --format "$format" -o "full.$format" sub/snap.pickle
    blocks=$((($(wc -c < "full.$format") + 1023) / 1024))
    for n in 1 $((blocks / 2)) $((blocks - 1)); do
        [ "$n" -lt "$blocks" ] || continue
        (ulimit -f "$n" && "$MEMTRACE" report -q --format "$format" -o "cut.$format" sub/snap.pickle > .out) 2> .err
        check [ $? -eq 1 ]
        err_has "cut.$format: cannot be written: File too large"
        absent "cut.$format"
        check [ -z "$(find . -maxdepth 1 -name "cut.$format*")" ]
    done
done
set -o pipefail
"$MEMTRACE" dump "$SAMPLES/verl_grpo_oom_logprob.pickle" 2> .err | head -n 1 > /dev/null
check [ "${PIPESTATUS[0]}" -eq 141 ]
err_empty
if [ "$(id -u)" -ne 0 ]; then
    mkdir readonly && chmod 555 readonly
    run 1 report sub/snap.pickle -o readonly/report.html
    err_has "Permission denied"
fi

# a closed standard output is nowhere to write to, a closed standard input no empty file
"$MEMTRACE" report --format text --full sub/snap.pickle >&- 2> .err
check [ $? -eq 1 ]
err_has "standard output: cannot be written"
"$MEMTRACE" info - <&- > .out 2> .err
check [ $? -eq 1 ]
err_has "Bad file descriptor"

# the umask decides who may read it
(umask 027 && "$MEMTRACE" report -q sub/snap.pickle -o mode.html)
check [ "$(stat -c %a mode.html)" = 640 ]

# a report that is replaced hands on its mode; beyond ulimit -f standard output fails by name too, and not by a signal
echo old > private.html
chmod 600 private.html
(umask 022 && "$MEMTRACE" report -q sub/snap.pickle -o private.html --force)
check [ "$(stat -c %a private.html)" = 600 ]
check grep -q '^<!doctype html>' private.html
if [ "$(id -u)" -eq 0 ]; then # and its owner, where the user may
    chown 1234:2345 private.html
    run 0 report -q sub/snap.pickle -o private.html --force
    check [ "$(stat -c '%u:%g %a' private.html)" = "1234:2345 600" ]
fi
(ulimit -f 1 && "$MEMTRACE" report --format html sub/snap.pickle -o - > large.html) 2> .err
check [ $? -eq 1 ]
err_has "standard output: cannot be written: File too large"
# nor by what cannot be said on standard error
(ulimit -f 0 && "$MEMTRACE" report nobody 2> .err)
check [ $? -eq 1 ]

# nothing that the run reads is overwritten, whatever names it: a snapshot cannot be taken again
mkdir reads
printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB.\n' > reads/a.log
echo 'a: 1' > reads/a.yaml
echo 'abcdefghijklmnopqrstuvwxyz' > reads/key
echo '[report]' > reads/memtrace.toml
cp sub/snap.pickle reads/rank0.pickle
ln -s reads/a.log reads-link
cp -R reads as-it-was
keeps() # FILE ARGUMENTS...
{
    local file=$1
    shift
    run 1 report -q "$@" -o "$file" --force
    err_has "was read by this run"
    check cmp -s "reads/$(basename "$(realpath "$file")")" "as-it-was/$(basename "$(realpath "$file")")"
}
keeps reads/a.log sub/snap.pickle --log reads/a.log
keeps reads-link sub/snap.pickle --log reads/a.log
keeps reads/a.yaml sub/snap.pickle --config reads/a.yaml
keeps reads/key sub/snap.pickle --redact-key @reads/key
keeps reads/rank0.pickle reads
check [ "$(find reads -name '*.tmp' | wc -l)" -eq 0 ]
# what lies beside it and is passed over may go: the report of the last time, in each format
for ending in html json md txt; do
    run 0 report -q reads -o "reads/again.$ending"
    run 0 report -q reads -o "reads/again.$ending" --force
done
(cd reads && run 0 report -q . && run 0 report -q . --force)

# interrupted while it writes: nothing stays
mkfifo pipe
"$MEMTRACE" dump - -o interrupted.txt < pipe 2> /dev/null &
pid=$!
exec 9> pipe
head -c 100 sub/snap.pickle >&9
for ((i = 0; i < 600; i++)); do
    find . -name 'interrupted.txt.*' | grep -q . && break
    sleep 0.1
done
check leftovers
kill -TERM "$pid"
wait "$pid"
check [ $? -eq 143 ]
exec 9>&-
absent interrupted.txt
if leftovers; then fail "a temporary file stayed"; else ok; fi

# a file that may not grow that large: a sentence, and nothing is left
mkdir narrow
(
    ulimit -f 10
    trap - XFSZ
    "$MEMTRACE" report "$SAMPLES/tiny.pickle" -o narrow/a.html > .out 2> .err
    echo $? > .status
)
check [ "$(cat .status)" -eq 1 ]
err_has 'narrow/a.html: cannot be written: File too large'
check [ -z "$(ls -A narrow)" ]
# no title is the title of a report without one
run 0 report "$SAMPLES/tiny.pickle" --format text --full --title ''
check grep -q '^memtrace  tiny.pickle' .out
# what is read over ssh fits a terminal of 80 columns: but for the lines to type and the command at the end
for sample in verl_grpo_oom_logprob.pickle expandable_segments.pickle verl_two_ranks_truncated.tar.gz driver_v1.trace.gz; do
    "$MEMTRACE" report "$SAMPLES/$sample" --format text --full -q -o wide.txt --force 2> .err
    check [ -s wide.txt ]
    LC_ALL=C.UTF-8 grep -E '^.{81,}' wide.txt | grep -vE '^(memtrace |       [^ ])' > .wide
    if [ -s .wide ]; then fail "$sample: wider than 80 columns: $(head -1 .wide)"; else ok; fi
done
finish
