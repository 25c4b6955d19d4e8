#!/usr/bin/env bash
# Summaries: small, read like any input, merged into one report that names who failed first and who stands out; what is wrong with them is
# said by name.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

# One rank.
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" snapshot_rank7.pickle
run 0 summarize snapshot_rank7.pickle -o rank7.mts
check [ "$(wc -c < rank7.mts)" -le 32768 ]
gunzip -c < rank7.mts > rank7.json
check [ "$(jq -c .summary rank7.json)" = '{"version":1,"detail":false,"halved":0}' ]
run 0 report snapshot_rank7.pickle --format json -o whole.json
same <(jq .verdict whole.json) <(jq .verdict rank7.json)
same <(jq '.devices[0] | {curve, roles, pools, live_peak_bytes, peak_time_ns}' whole.json) <(jq '.devices[0] | {curve, roles, pools, live_peak_bytes, peak_time_ns}' rank7.json)
grep -oE '"(first|last)_time_ns": ?[0-9]+' whole.json | tr -d ' ' | sort -u > a
grep -oE '"(first|last)_time_ns":[0-9]+' rank7.json | sort -u > b
same a b # to the nanosecond
run 0 info rank7.mts
out_has "report of memtrace"
run 0 diff rank7.mts snapshot_rank7.pickle --format json
check [ "$(jq '.second.peak_bytes == .first.peak_bytes' .out)" = true ]
run 4 check rank7.mts --max peak=1GiB
"$MEMTRACE" summarize - -o - < snapshot_rank7.pickle > piped.mts 2> .err || fail "a pipe"
run 0 report - --format text < piped.mts
out_has "ran out of memory in old-policy log-prob"
run 0 summarize rank7.mts -o again.mts
run 0 summarize snapshot_rank7.pickle --detail -o detail.mts
check [ "$(gunzip -c < detail.mts | jq .summary.detail)" = true ]
run 2 summarize snapshot_rank7.pickle
err_has "-o names the file"
cp snapshot_rank7.pickle Secretname_rank7.pickle
run 0 summarize Secretname_rank7.pickle --redact -o hidden.mts
if gunzip -c < hidden.mts | grep -q Secretname; then fail "a name in a redacted summary"; else ok; fi
run 2 report rank7.mts --redact --format text
err_has "was written without --redact"

# Many: two fail, three hold more (tests/bench/summaries.py).
python3 "$MT_SOURCE_DIR/tests/bench/summaries.py" 64 rank7.mts sums > want || fail "summaries.py"
run 0 report sums --format json -o all.json
check [ "$(jq -c '[.ranks.rows[.ranks.failures[]].rank]' all.json)" = "$(jq -c .failed want)" ]
check [ "$(jq -c '[.ranks.rows[.ranks.outliers[].row].rank] | sort' all.json)" = "$(jq -c .more want)" ]
check [ "$(jq -r '[.ranks.outliers[].role] | unique[]' all.json)" = kv_cache ]
check [ "$(jq '.ranks.rows | length' all.json)" -eq 64 ]
check [ "$(jq '.verdict.rank' all.json)" -eq 21 ]
check [ "$(jq '[.ranks.groups[].rows] | add' all.json)" -eq 64 ]
check [ "$(jq '.ranks.groups[0].rows' all.json)" -eq 61 ]
check [ "$(jq '.ranks | .lowest.bytes <= .median.bytes and .median.bytes < .highest.bytes' all.json)" = true ]
check [ "$(jq '.ranks | [.rows[].live_peak_bytes] | max' all.json)" -eq "$(jq .ranks.highest.bytes all.json)" ]
run 0 report sums --format text
out_has "rank 21 ran out of memory first, rank 32 0.8 s"
out_has "rank 16, rank 62 stand out"
out_has "Ranks 0-11, 13-15, 17-61, 63: 66.26 to 66.52 GiB (61)"
check [ "$(wc -l < .out)" -le 90 ]
cp .out forwards
mapfile -t files < <(find sums -name '*.mts' | sort -r)
run 0 report "${files[@]}" --format text
same <(sed -n '/All ranks/,/To change/p' forwards) <(sed -n '/All ranks/,/To change/p' .out) # in any order
run 0 report sums --format md -o -
check [ "$(wc -c < .out)" -le 60000 ]
run 0 report sums -o sums.html
check grep -q '<svg viewBox' sums.html
check [ "$(grep -o '<rect' sums.html | wc -l)" -eq 64 ]
# Two nodes, then both.
mkdir low high
for i in $(seq 0 31); do cp "sums/rank$i.mts" low; cp "sums/rank$((i + 32)).mts" high; done
run 0 summarize low -o low.mts
run 3 summarize high -o high.mts # ranks 0 to 31 are not there
run 0 report low.mts high.mts --format json -o both.json
check [ "$(jq -c ".quality.damaged, .ranks.problems" both.json | tr -d "\n")" = "false[]" ]
check [ "$(jq '.ranks.rows | length' both.json)" -eq 64 ]
same <(jq '.ranks | .failures, .groups, .outliers' all.json) <(jq '.ranks | .failures, .groups, .outliers' both.json)

# Of merged ranks none is left out of a summary, and a limit is held against all of them.
python3 "$MT_SOURCE_DIR/tests/bench/summaries.py" 700 rank7.mts many > want.many || fail "summaries.py"
run 0 summarize many -o many.mts
run 0 report many.mts --format json -o many.json
check [ "$(jq '.ranks.rows | length' many.json)" -eq 700 ]
check [ "$(jq -c '[.ranks.rows[.ranks.failures[]].rank]' many.json)" = "$(jq -c .failed want.many)" ]
most="$(jq '.ranks.highest.bytes' all.json)"
run 4 check sums --max "peak=$most" # memory ran out all the same
out_has "ok    peak: 82.83 GiB of 82.83 GiB"
run 4 check sums --max "peak=$((most - 1))"
out_has "FAIL  peak: 82.83 GiB, 1 B over the limit"
run 4 check sums --max role:logits=900GiB
out_has "role:logits: not known"

# Names that one summary still has; damage of one rank.
mkdir names damaged
cp rank7.mts names/Hush_rank7.mts
cp snapshot_rank7.pickle names/Hush_rank5.pickle
run 2 report names --redact --format json
err_has "was written without --redact"
for i in 0 1 2 4 5 6; do cp "sums/rank$i.mts" damaged; done
head -c "$(($(wc -c < snapshot_rank7.pickle) * 9 / 10))" snapshot_rank7.pickle > cut_rank3.pickle
run 3 summarize cut_rank3.pickle -o damaged/rank3.mts
run 3 report damaged --format json -o cut.json
err_has "rank 3, device 0: its input was incomplete"
check [ "$(jq '.ranks.outliers | length' cut.json)" -eq 0 ]
cp cut_rank3.pickle two_rank3.pickle
cp snapshot_rank7.pickle two_rank7.pickle
run 3 summarize two_rank3.pickle two_rank7.pickle -o two.mts
run 3 report two.mts sums/rank1.mts --format json

# A snapshot beside them.
cp snapshot_rank7.pickle snapshot_rank64.pickle
run 0 report sums snapshot_rank64.pickle --format json -o mixed.json
check [ "$(jq '.ranks.rows | length' mixed.json)" -eq 65 ]
check [ "$(jq '.ranks.failures | length' mixed.json)" -eq 3 ]

# Ranks that are analysed here and those of summaries have one hash of settings: equal ranks are one group.
mkdir twins
for i in 0 1 2 3; do cp snapshot_rank7.pickle "twins/snapshot_rank$i.pickle"; done
for i in 0 1; do run 0 summarize "twins/snapshot_rank$i.pickle" -o "twins/rank$i.mts"; rm "twins/snapshot_rank$i.pickle"; done
run 0 report twins --format json -o twins.json
check [ "$(jq -c '[.ranks.groups[].rows]' twins.json)" = "[4]" ]
check [ "$(jq '[.ranks.rows[].settings_hash] | unique | length' twins.json)" -eq 1 ]

# Of equal ranks the lowest speaks, in whatever order they come.
mapfile -t files < <(find twins -type f | sort)
mapfile -t back < <(find twins -type f | sort -r)
run 0 report "${files[@]}" --format json -o there.json
run 0 report "${back[@]}" --format json -o back.json
check [ "$(jq .verdict.rank there.json)" -eq 0 ]
same <(jq .verdict there.json) <(jq .verdict back.json)

# A rank that a log alone knows is a row; one that a recording knows has failed.
cat > node.log << 'EOF'
[rank9]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Process 1 has 77.9 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated.
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 5 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Process 1 has 77.9 GiB memory in use. Of the allocated memory 71.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated.
EOF
run 0 summarize node.log -o node.mts
mkdir calm
for i in 0 1 2 3 4; do cp "sums/rank$i.mts" calm; done
run 0 report calm node.mts --format json -o told.json
check [ "$(jq -c '[.ranks.rows[.ranks.failures[]] | [.rank, .told, .live_peak_bytes != null]]' told.json)" = "[[3,false,true],[9,true,false]]" ]
check [ "$(jq '.verdict.rank' told.json)" -eq 9 ] # the line that came first
run 0 report calm node.mts --format text
out_has "6 ranks: rank 3 and rank 9 ran out of memory, in what order is not known"
run 0 summarize calm node.mts -o told.mts
run 0 report told.mts sums/rank5.mts --format json -o again.json
check [ "$(jq -c '[.ranks.rows[.ranks.failures[]] | [.rank, .told]]' again.json)" = "[[3,false],[9,true]]" ]
run 0 report twins node.log --format json -o live.json
check [ "$(jq '[.ranks.rows[] | select(.rank == 9)] | length' live.json)" -eq 1 ]

# Which stage of the pipeline holds more, from snapshots, from summaries, and from a report that was merged already.
mkdir stages stage_sums
for i in 0 1; do cp "$SAMPLES/torch/oom_capacity.pickle.gz" "stages/rank_$i.pickle.gz"; cp "$SAMPLES/torch/fsdp1.pickle.gz" "stages/rank_$((i + 2)).pickle.gz"; done
echo 'torchrun --nproc-per-node 4 pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2' > stages.sh
run 0 report --config stages.sh --format json -o stages.json stages
for i in 0 1 2 3; do run 0 summarize --config stages.sh -o "stage_sums/rank_$i.mts" "stages/rank_$i.pickle.gz"; done
run 0 report --format json -o merged_stages.json stage_sums
run 0 report --format json -o again_stages.json merged_stages.json
for of in stages merged_stages again_stages; do
    check test "$(jq -c '.ranks.layout | [.tensor, .context, .data, .pipeline, (.parts[] | select(.dimension == "pipeline") | .median_bytes)]' "$of.json")" = '[2,1,1,2,1311354336,567764168]'
    check test "$(jq '[.ranks.says[] | select(startswith("By pipeline stage (medians): 0 1.22 GiB, 1 541.5 MiB; 0 holds 709.1 MiB more than 1"))] | length' "$of.json")" = 1
done
rm stages/rank_3.pickle.gz # whose part is not here: nothing is said of parts
run 0 report --config stages.sh --format json -o fewer.json stages
check test "$(jq .ranks.layout fewer.json)" = null

# diff of merged ranks compares every rank.
mkdir fewer
for i in 0 1 2 4; do cp "sums/rank$i.mts" fewer; done
gunzip -c < sums/rank3.mts | sed -E 's/"live_peak_bytes":[0-9]+/"live_peak_bytes":1073741824/' | gzip > fewer/rank3.mts
run 0 diff calm fewer --format json
check [ "$(jq -c '.first.ranks, .second.ranks' .out | tr -d '\n')" = "55" ]
check [ "$(jq -r '.ranks[0].label, .ranks[0].second_bytes' .out | tr '\n' ' ')" = "rank 3, device 0 1073741824 " ]

# Snapshots alone are grouped too.
mkdir snaps
for i in $(seq 0 16); do cp snapshot_rank7.pickle "snaps/snapshot_rank$i.pickle"; done
run 0 report snaps --format text
out_has "Ranks 0-16: 66.26 GiB (17)"
out_lacks "rank 5, device 0 "
run 0 report snaps --format md -o -
out_has "Ranks 0-16: 66.26 GiB (17)"
run 0 report snaps --format json -o -
check [ "$(jq '.ranks.groups[0].rows' .out)" -eq 17 ]

# Damage: each by name, the rest reported.
broken()
{
    rm -rf bad
    cp -r sums bad
}
broken
head -c 3000 sums/rank3.mts > bad/rank3.mts
run 3 report bad --format text
err_has "bad/rank3.mts"
err_has "Missing: rank 3:"
out_has "63 ranks"
broken
echo "no summary at all" > bad/rank5.mts
run 3 report bad --format text
err_has "bad/rank5.mts"
for v in 0 2; do
    broken
    gunzip -c < sums/rank9.mts | sed "s/\"summary\":{\"version\":1/\"summary\":{\"version\":$v/" | gzip > bad/rank9.mts
    run 3 report bad --format text
    err_has "bad/rank9.mts: this summary of memtrace has the version $v"
    run 1 report bad/rank9.mts --format text
done
broken
cp sums/rank4.mts bad/copy.mts
run 3 report bad --format text
err_has "rank 4, device 0 is in bad/copy.mts and again in bad/rank4.mts"
broken
rm bad/rank33.mts bad/rank40.mts bad/rank41.mts
run 3 report bad --format text
err_has "Missing: ranks 33, 40-41:"
broken
gunzip -c < sums/rank8.mts | sed 's/"framework":"verl"/"framework":"slime"/' | gzip > bad/rank8.mts
run 3 report bad --format text
err_has "These files are not of one job"
err_has "slime"
out_has "64 ranks"
broken
gunzip -c < sums/rank8.mts | sed -E 's/_time_ns":1764/_time_ns":1765/g' | gzip > bad/rank8.mts
run 3 report bad --format text
err_has "had ended for"
run 2 report sums rank7.mts whole.json --format text
err_has "is read back alone"
finish
