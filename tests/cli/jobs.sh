#!/usr/bin/env bash
# Files of two jobs given together, ranks that are not there, odd names of ranks: what every format says of it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

# the same two ranks once more, a day later: another run
mkdir -p runA runB mixed
tar xzf "$SAMPLES/verl_two_ranks.tar.gz" -C runA --strip-components=1
python3 -B - << 'EOF'
import pathlib, pickle
for path in sorted(pathlib.Path("runA").rglob("*.pickle")):
    snapshot = pickle.loads(path.read_bytes())
    for trace in snapshot["device_traces"]:
        for entry in trace:
            entry["time_us"] += 26 * 3600 * 1000000
    pathlib.Path("runB", path.name).write_bytes(pickle.dumps(snapshot))
EOF
mapfile -t ranks < <(cd runB && find . -name '*.pickle' | sort)
check [ "${#ranks[@]}" -eq 2 ]

run 0 report --format json runA
err_empty
check [ "$(jq .quality.jobs .out)" = null ]
run 0 report --format json runA runB
err_has "warning: These files are not of one job: rank 0 began twice with nothing allocated: in runA/"
err_has " and, 26 h later, in runB/"
check [ "$(jq -c '[.quality.jobs.groups[] | [.files, .n_files, .has_verdict]]' .out)" = '[["runA (2 files)",2,true],["runB (2 files)",2,false]]' ]
for format in text md html; do
    run 0 report --full --format "$format" -o - runB runA
    tr '\n' ' ' < .out | tr -s ' ' > flat
    check grep -qF "These files are not of one job" flat
    check grep -qF "Make one report of each." flat
done
check grep -qF '>More than one job</h2>' flat
# inside an archive too; and without their paths where the report is redacted
tar czf both.tar.gz runA runB
run 0 report --format json both.tar.gz
check [ "$(jq -r '.quality.jobs.groups[1].files' .out)" = "both.tar.gz/runB (2 files)" ]
run 0 report --format json --redact runA runB
check [ "$(jq '.quality.jobs.groups | length' .out)" -eq 2 ]
if grep -qE 'run[AB]' .out .err; then fail "--redact leaves the names of folders"; else ok; fi
# one file twice is no second run
cp -r runA again
run 0 report --format json runA again
err_empty
check [ "$(jq .quality.jobs .out)" = null ]
# in one folder the process tells
for file in "${ranks[@]}"; do
    name="$(basename "$file" .pickle)"
    cp "runA/$name.pickle" "mixed/$name.pickle"
    cp "runB/$name.pickle" "mixed/${name}9.pickle" # another pid
done
run 0 report --format json mixed
check [ "$(jq -r '.quality.jobs.groups | length' .out)" -eq 2 ]
check [ "$(jq -r '.quality.jobs.groups[0].n_files' .out)" -eq 2 ]
err_has ", and both do the same work (likewise 1 more file)."

# 64 ranks of which two have a snapshot, each in its folder, and one file whose name says nothing; the logs of all; one of another rank ran out
mkdir -p job/rank_03 job/global_rank=17 job/node2-gpu5 job/logs
for folder in rank_03 global_rank=17 node2-gpu5; do cp "$SAMPLES/fsdp_finetune.pickle" "job/$folder/memory.pickle"; done
for rank in $(seq 0 63); do
    echo "Before update_actor, memory allocated (GB): 23.10, memory reserved (GB): 30.00, device memory used/total (GB): 40.00/79.10" \
        > "job/logs/rank_$rank.log"
done
echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.96 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free." \
    >> job/logs/rank_5.log
tar czf job.tar.gz job
run 0 report --format json job.tar.gz --args "trainer.n_gpus_per_node=8 trainer.nnodes=8"
check [ "$(jq -c '[.devices[].rank]' .out)" = '[3,17,null]' ]
check [ "$(jq -r .quality.jobs.missing_ranks .out)" = "Of the 64 ranks of the job 2 have a snapshot here: 3, 17; the names of 1 more file say no rank. Whether the others are as full is not known." ]
check [ "$(jq -r .quality.jobs.failed_elsewhere .out)" = "Memory ran out on rank 5, says the log, and no snapshot of it is here. What follows is about rank 3, which did not fail: give the snapshot of the rank that did." ]
run 0 report --format text --full -o - job.tar.gz
out_has "node2-gpu5/memory.pickle"
run 0 report --format html -o - job.tar.gz
out_has '>The rank that failed is not here</h2>'
# with its snapshot nothing is missing
mkdir -p with/rank_5 && cp "$SAMPLES/verl_grpo_oom_logprob.pickle" with/rank_5/memory.pickle && cp job/logs/rank_5.log with/
run 0 report --format json with
check [ "$(jq .quality.jobs .out)" = null ]
check [ "$(jq .verdict.rank .out)" -eq 5 ]

# Numbers at the end of names: without gaps and at one time they are ranks, of sequence lengths they are not; nor is a card that a log of another job names this one's.
mkdir -p ranks lengths
for i in 0 1; do cp runA/*rank"$i"_*.pickle "ranks/snapshot_$i.pickle"; done
cp ranks/snapshot_0.pickle lengths/memory_train_128.pickle
cp ranks/snapshot_1.pickle lengths/memory_train_256.pickle
run 0 report --format json ranks
check [ "$(jq -c '[.devices[].rank] | unique' .out)" = '[0,1]' ]
check [ "$(jq -r .verdict.sentence .out | grep -c '^Rank [01], device')" -eq 1 ]
run 0 report --format json lengths
check [ "$(jq -c '[.devices[].rank] | unique' .out)" = '[null]' ]
check [ "$(jq -r .verdict.sentence .out | grep -c 'ank')" -eq 0 ]
cp ranks/snapshot_1.pickle ranks/snapshot_3.pickle # a gap
run 0 report --format json ranks
check [ "$(jq -c '[.devices[].rank] | unique' .out)" = '[null]' ]
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 2.00 GiB of which 11.00 MiB is free.' > lengths/a.log
run 0 report --format json lengths
check [ "$(jq -c '.devices[0].capacity_bytes' .out)" = null ]
check [ "$(jq -r .quality.jobs.other_card .out | grep -c '^A log names a card of 2.00 GiB, and on ')" -eq 1 ]
run 0 report --format text --full -o - lengths
tr '\n' ' ' < .out | tr -s ' ' > flat
check grep -qF "A log names a card of 2.00 GiB, and on " flat
check grep -qF "they are of two jobs. That size is not used." flat
check [ "$(grep -c 'of the 2.00 GiB card' flat)" -eq 0 ]
run 0 report --format html -o - lengths
check grep -qF '>That card is not this one</h2>' .out

finish
