#!/usr/bin/env bash
# Clocks of nodes, held against each other by the ends of steps (analysis/fleet/clocks.c): the same answer from snapshots, from summaries, and
# from what was merged of these.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

# right FILE: rank 1 failed first, and the clock of rank 2 is 30 s behind
right()
{
    check [ "$(jq -c '[.ranks.rows[.ranks.failures[]].rank]' "$1")" = '[1,2]' ]
    check [ "$(jq -r '.ranks.says[0]' "$1" | grep -c 'rank 1 ran out of memory first, rank 2 0.5 s later')" -eq 1 ]
    check [ "$(jq '[.ranks.rows[].clock_ahead_ns | . == 0]' -c "$1")" = '[true,true,false,true]' ]
    check [ "$(jq '.ranks.rows[2] | .clock_ahead_ns < 0 and (.clock_ahead_ns + 30000000000 | fabs) < .clock_within_ns' "$1")" = true ]
    check [ "$(jq -r '.ranks.says[]' "$1" | grep -c "that of rank 2 is 30.0 s behind the others'")" -eq 1 ]
}

python3 "$MT_SOURCE_DIR/tests/cli/clock_ranks.py" "$SAMPLES/torch/plain_hooks.pickle.gz" ranks || fail "clock_ranks.py"
run 0 report --format json -o whole.json ranks
right whole.json
mkdir sums
for rank in 0 1 2 3; do run 0 summarize "ranks/snapshot_rank$rank.pickle" -o "sums/$rank.mts"; done
run 0 report --format json -o merged.json sums
right merged.json
mkdir parts
run 0 summarize sums/0.mts sums/1.mts -o parts/a.mts
run 3 summarize sums/2.mts sums/3.mts -o parts/b.mts # ranks 0 and 1 are missing there
run 0 report --format json -o again.json parts
right again.json

# Among so many that most are in brief.
for rank in $(seq 4 75); do cp ranks/snapshot_rank0.pickle "ranks/snapshot_rank$rank.pickle"; done
run 0 report --format json -o many.json ranks
check [ "$(jq '.devices | length' many.json)" -eq 32 ]
check [ "$(jq '[.ranks.rows[] | select(.clock_ahead_ns != 0) | .rank]' -c many.json)" = '[2]' ]
run 0 report --format text ranks
out_has "rank 1 ran out of memory first, rank 2 0.5 s"

# With no steps there is nothing to compare, and that is said.
run 0 report --format json -o none.json "$SAMPLES/verl_two_ranks.tar.gz"
check [ "$(jq -c '[.ranks.rows[].clock_ahead_ns]' none.json)" = '[null,null]' ]
finish
