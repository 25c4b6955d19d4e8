#!/usr/bin/env bash
# Clocks of nodes, held against each other by the ends of steps (analysis/fleet/clocks.c): the same answer from snapshots, from summaries, and
# from what was merged of these.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

# says FILE WORDS
says() { check [ "$(jq -r '.ranks.says[]' "$1" | grep -c -F -e "$2")" -eq 1 ]; }

# right FILE: rank 1 failed first, and the clock of rank 2 is 30 s behind
right()
{
    check [ "$(jq -c '[.ranks.rows[.ranks.failures[]].rank]' "$1")" = '[1,2]' ]
    says "$1" "rank 1 ran out of memory first, rank 2 10.0 s later (a clock seems off: by the clocks as they are rank 2 was first)"
    check [ "$(jq '[.ranks.rows[].clock_ahead_ns | . == 0]' -c "$1")" = '[true,true,false,true]' ]
    check [ "$(jq '.ranks.rows[2] | .clock_ahead_ns < 0 and (.clock_ahead_ns + 30000000000 | fabs) < .clock_within_ns' "$1")" = true ]
    says "$1" "that of rank 2 is 30.0 s behind the others'"
}

# made OUTDIR [LATER [HOST...]]
made() { python3 "$MT_SOURCE_DIR/tests/cli/clock_ranks.py" "$SAMPLES/torch/plain_hooks.pickle.gz" "$@" || fail "clock_ranks.py"; }

made ranks 10
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
out_has "rank 1 ran out of memory first, rank 2 10.0 s"

# Closer than the clocks are known by: who was first is not known.
made close
run 0 report --format json -o close.json close
says close.json "rank 1 and rank 2 ran out of memory, in what order is not known since a clock seems off"
says close.json "Out of memory: rank 2, asking for 93.8 MiB in training (backward), 0.5 s after the first, give or take 3.8 s."

# one FILE: of one host, which has one clock: rank 2 failed 20 s before, whatever its steps are apart by
one()
{
    check [ "$(jq -c '[.ranks.rows[] | .host, .clock_ahead_ns]' "$1")" = '["node0",0,"node0",0,"node0",0,"node0",0]' ]
    says "$1" "rank 2 ran out of memory first, rank 1 20.0 s later;"
    check [ "$(jq '[.ranks.says[] | select(startswith("Clocks"))] | length' "$1")" -eq 0 ]
}
made same 10 node0 node0 node0 node0
run 0 report --format json -o same.json same
one same.json
mkdir same_sums same_parts
for rank in 0 1 2 3; do run 0 summarize same/*-rank$rank-end.pickle -o same_sums/$rank.mts; done
run 0 report --format json -o same_merged.json same_sums
one same_merged.json
run 0 summarize same_sums/0.mts same_sums/1.mts -o same_parts/a.mts
run 3 summarize same_sums/2.mts same_sums/3.mts -o same_parts/b.mts
run 0 report --format json -o same_again.json same_parts
one same_again.json

# Of two hosts: rank 2 is not with its neighbour, so nothing is known of their clock; with one that is like it, the clock is.
made torn 10 node0 node0 node1 node1
run 0 report --format json -o torn.json torn
check [ "$(jq -c '[.ranks.rows[].clock_ahead_ns]' torn.json)" = '[null,null,null,null]' ]
says torn.json "rank 2 ran out of memory first, rank 1 20.0 s later;"
made own 10 node0 node0 node1 node0
run 0 report --format json -o own.json own
says own.json "that of node1 is 30.0 s behind the others'"
says own.json "rank 1 ran out of memory first, rank 2 10.0 s later (a clock seems off"

# Another person's machine names stay out of what is passed on.
run 0 report --format json --redact -o hidden.json own
check [ "$(jq -c '[.ranks.rows[].host] | map(startswith("node")) | any' hidden.json)" = false ]
check [ "$(grep -c -e 'node[01]' hidden.json)" -eq 0 ]

# With no steps there is nothing to compare, and that is said.
run 0 report --format json -o none.json "$SAMPLES/verl_two_ranks.tar.gz"
check [ "$(jq -c '[.ranks.rows[].clock_ahead_ns]' none.json)" = '[null,null]' ]
finish
