#!/usr/bin/env bash
# Of more than 64 ranks most are kept in brief (analysis/run/brief.h): memory does not grow with what is in them, and the answer is that of
# --full, which keeps all of every rank.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

# answer FILE: what a report says but for the detail of ranks
answer() { jq -c '[.verdict, .cause, .advice, .after, .settings, .lint, .ranks, (.provenance.inputs | map(del(.pytorch) + {pytorch})), .quality.jobs, (.quality.inputs | map(del(.diagnoses)))]' "$1"; }
# like_full STATUS INPUT...: the same answer as with --full, from fewer devices
like_full()
{
    local want="$1"
    shift
    run "$want" report --format json -o some.json -f "$@"
    run "$want" report --full --format json -o all.json -f "$@"
    same <(answer some.json) <(answer all.json)
    check [ "$(jq '.devices | length' some.json)" -eq 32 ]
    check [ "$(jq '.devices | length' all.json)" -eq "$(jq '.ranks.rows | length' all.json)" ]
    check [ "$(jq -c '.devices[0]' some.json)" = "$(jq -c '.devices[0]' all.json)" ]
}

python3 "$MT_SOURCE_DIR/tests/cli/brief_ranks.py" "$SAMPLES/verl_grpo_oom_logprob.pickle" ranks 90 || fail "brief_ranks.py"
like_full 0 ranks
check [ "$(jq -c '[.ranks.rows[.ranks.failures[]].rank]' some.json)" = '[30,45]' ]
check [ "$(jq -c '[.ranks.rows[.ranks.outliers[].row].rank] | sort' some.json)" = '[18,22,88]' ]
check [ "$(jq -c '[.ranks.rows[.ranks.failures[]].rank, .ranks.rows[.ranks.outliers[].row].rank] - [.devices[].rank]' some.json)" = '[]' ] # all of them are whole
check [ "$(jq '.ranks.rows | length' some.json)" -eq 90 ] # the second snapshot of a process has no row, whichever is in brief
check [ "$(jq '[.quality.caveats[] | select(test("are snapshots of one process"))] | length' some.json)" -eq 2 ]
check [ "$(jq '[.quality.caveats[] | select(test("Of 90 ranks 58 have a row"))] | length' some.json)" -eq 1 ]
check [ "$(jq '[.quality.caveats[] | select(test("have a row"))] | length' all.json)" -eq 0 ]
check [ "$(jq '.provenance.inputs | length' some.json)" -eq 92 ]

# Whoever analyses: the same bytes.
formats=(json html text md) numbers=(1 2 8)
[ -z "${MT_SANITIZE:-}" ] || formats=(html) numbers=(1 2) # a sanitizer is slow
for format in "${formats[@]}"; do
    for jobs in "${numbers[@]}"; do
        "$MEMTRACE" report --jobs "$jobs" --format "$format" -o by -f ranks 2> err || fail "--jobs $jobs --format $format"
        mv by "by$jobs"
        mv err "err$jobs"
        same by1 "by$jobs"
        same err1 "err$jobs"
    done
done
run 0 report --format html -o page.html ranks
check [ "$(grep -o 'data-place="rank' page.html | wc -l)" -ge 90 ] # a row for each
[ -z "${MT_SANITIZE:-}" ] || finish

# In another order other ranks are whole, and the answer is the same.
mapfile -t files < <(find ranks -name '*.pickle' | sort -r)
like_full 0 "${files[@]}"
run 0 report --format json -o forwards.json -f ranks
same <(jq .ranks some.json) <(jq .ranks forwards.json)

# As many as 64 are whole; limits and comparisons look at all of any number.
mapfile -t files < <(find ranks -name '*-end.pickle' | sort | head -n 64)
run 0 report --format json -o 64.json "${files[@]}"
check [ "$(jq '.devices | length' 64.json)" -eq 64 ]
run 4 check ranks --max phase:logp_old=80GiB
out_has "phase:logp_old: 82.26 GiB" # of all ranks, not: could not be checked
run 0 summarize ranks -o ranks.mts
check [ "$(gunzip -c < ranks.mts | jq '.devices | length')" -eq 90 ]

# Work that is not divided evenly: one rank against eighty.
tar -xzf "$SAMPLES/verl_two_ranks.tar.gz"
mkdir uneven
for rank in $(seq 80); do cp step5/torch_memory_rank0_pid4321.pickle "uneven/torch_memory_rank$((rank + 1))_pid$((4400 + rank)).pickle"; done
cp step5/torch_memory_rank1_pid4322.pickle uneven/torch_memory_rank0_pid4321.pickle
run 0 report --format json -o some.json -f uneven
run 0 report --full --format json -o all.json -f uneven
check [ "$(jq -r .cause.kind some.json)" = "$(jq -r .cause.kind all.json)" ]
check [ "$(jq -r .cause.sentence some.json | grep -c 'where 80 other ranks had 2048 tokens')" -eq 1 ]
same <(jq .cause.sentence some.json) <(jq .cause.sentence all.json)
same <(jq .ranks some.json) <(jq .ranks all.json)

# Numbers in names that are ranks only because all count from 0.
mkdir counted
for rank in $(seq 0 69); do cp "$SAMPLES/tiny.pickle" "counted/snapshot_$rank.pickle"; done
like_full 0 counted
check [ "$(jq '[.ranks.rows[].rank] | sort == [range(70)]' some.json)" = true ]

# Damage in a rank that is in brief is said as it is of any other.
head -c 3000 "$SAMPLES/verl_grpo_oom_logprob.pickle" > ranks/mt-node11-1095-1095-rank95-end.pickle
run 3 report --format json -o some.json -f ranks
run 3 report --full --format json -o all.json -f ranks
same <(jq '[.quality.inputs[] | select(.damaged)]' some.json) <(jq '[.quality.inputs[] | select(.damaged)]' all.json)
check [ "$(jq '[.quality.inputs[] | select(.damaged)] | length' some.json)" -eq 1 ]

# Memory: 300 ranks fit where all of them do not.
mkdir many
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" many/rank_0.pickle
for rank in $(seq 299); do ln many/rank_0.pickle "many/rank_$rank.pickle"; done
if [ -z "${MT_SANITIZE:-}" ]; then
    run 0 report --jobs 2 --max-memory 64MB --format text many
    "$MEMTRACE" report --jobs 2 --max-memory 64MB --format text --full many > .out 2> .err && fail "--full keeps all"
fi
finish
