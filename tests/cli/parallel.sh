#!/usr/bin/env bash
# --jobs N: the report, the messages and the exit status are the same for any N; one rank that fails stops no other.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# same WANTED_STATUS ARGUMENT...: with 1, 2 and 8 threads
same()
{
    local want="$1" n got
    shift
    for n in 1 2 8; do
        rm -f report
        "$MEMTRACE" report --jobs "$n" --output report "$@" > "$TMP/.out" 2> "$TMP/.err"
        got=$?
        if [ "$got" -eq "$want" ]; then ok; else fail "--jobs $n $*: exit status $got, expected $want"; fi
        mv report "report.$n" 2> /dev/null || : > "report.$n"
        mv .err "err.$n"
    done
    for n in 2 8; do
        check cmp "report.1" "report.$n"
        check cmp "err.1" "err.$n"
    done
}

# One packed file: a thread unpacks it ahead of the reader. Whole, cut short, with a wrong sum, with bytes behind it, over a limit, no snapshot.
python3 "$MT_SOURCE_DIR/tests/bench/gen.py" 8000 big.pickle > /dev/null
gzip -1 -k big.pickle
same 0 --format json big.pickle.gz
check [ "$(stat -c %s big.pickle.gz)" -gt 262144 ]
check grep -q '"encoding": "gzip"' report.2
same 0 --format html big.pickle.gz
head -c 200000 big.pickle.gz > cut.pickle.gz
same 3 --format json cut.pickle.gz
check grep -q "gzip stream ends early" err.2
{ head -c -8 big.pickle.gz; printf 'wrongsum'; } > sum.pickle.gz
same 3 --format json sum.pickle.gz
check grep -q "gzip CRC mismatch" err.2
{ cat big.pickle.gz; printf 'more'; } > more.pickle.gz
same 0 --format json more.pickle.gz
check grep -q "are no gzip follow the gzip data" report.2
same 3 --format json --max-bytes 1M big.pickle.gz
head -c 400000 /dev/urandom | gzip > noise.gz
same 1 --format json noise.gz
tar -czf tarred.gz big.pickle
same 0 --format json tarred.gz

mkdir mixed
for i in 0 1 2 3 4 5 6 7; do
    case $((i % 4)) in
        0) cp "$SAMPLES/verl_grpo_oom_logprob.pickle" "mixed/rank_$i.pickle" ;;
        1) cp "$SAMPLES/tiny.pickle" "mixed/rank_$i.pickle" ;;
        2) cp "$SAMPLES/torch/ddp.pickle.gz" "mixed/rank_$i.pickle.gz" ;;
        3) cp "$SAMPLES/expandable_segments.pickle" "mixed/rank_$i.pickle" ;;
    esac
done
cp "$SAMPLES/cards.log" mixed/run.log
cp "$SAMPLES/cards.log" mixed/rank_2.log
printf 'actor_rollout_ref:\n  rollout:\n    gpu_memory_utilization: 0.6\n' > mixed/config.yaml
same 0 --format json mixed
check [ "$(grep -c '"rank": ' report.1)" -ge 8 ]
same 0 --format html mixed
same 0 --format text --full mixed
same 0 --format json --redact --redact-key "$(seq -s , 100)" mixed
same 0 --format json mixed/rank_*

# a damaged rank, one that is none, one that may not be read, a link, an archive, a report of ours, an empty file
head -c 3000 "$SAMPLES/verl_grpo_oom_logprob.pickle" > mixed/rank_8.pickle
echo nothing > mixed/rank_9.pickle
cp "$SAMPLES/tiny.pickle" mixed/rank_91.pickle
chmod 0 mixed/rank_91.pickle
ln -s rank_1.pickle mixed/rank_92.pickle
cp "$SAMPLES/verl_two_ranks.tar.gz" "$SAMPLES/verl_two_ranks_truncated.tar.gz" "$SAMPLES/driver_v1.trace.gz" mixed
"$MEMTRACE" report --format json -o mixed/old.json "$SAMPLES/tiny.pickle" 2> .err || fail "a report"
: > mixed/rank_93.pickle
same 3 --format json mixed
check grep -q rank_9.pickle err.1
same 3 --format json mixed/[!o]* missing.pickle # without the report, which is read back alone
check grep -q missing.pickle err.1
same 3 --format json mixed mixed/rank_0.pickle mixed/rank_0.pickle # twice, and once more inside a folder
same 0 --format json --device 0 "$SAMPLES/torch/pipeline"
same 0 --format html "$SAMPLES/verl_two_ranks.tar.gz"
same 3 --format json "$SAMPLES/verl_two_ranks_truncated.tar.gz"
# what finds no memory beside others is read again alone
mkdir many
for i in 0 1 2 3 4 5 6 7; do cp "$SAMPLES/verl_grpo_oom_logprob.pickle" "many/rank_$i.pickle"; done
same 0 --format json --max-memory 30MB many

if [ -n "${MT_FEW:-}${MT_SANITIZE:-}" ]; then finish; fi # a sanitizer is slow

# every sample folder with several ranks, and the members of a stream
same 3 --format json "$SAMPLES"
for folder in "$SAMPLES"/torch/*/; do
    [ "$(find "$folder" -type f | wc -l)" -lt 2 ] || same 0 --format json "$folder"
done
for n in 1 2 8; do
    tar -C mixed -cf - rank_0.pickle rank_1.pickle rank_2.log rank_3.pickle | "$MEMTRACE" report --jobs "$n" --format json - > "piped.$n" 2> "err.$n" \
        || fail "standard input with --jobs $n"
done
check cmp piped.1 piped.2
check cmp piped.1 piped.8
check cmp err.1 err.8

"$MEMTRACE" report --jobs 0 --format json -o - many > .out 2> .err
run 2 report --jobs some many
run 2 report --jobs -1 many
finish
