#!/usr/bin/env bash
# Many nodes without a shared disk: outputs that are named by host, rank, job and process; tar streams of spool folders, summaries and
# snapshots; the environment for the workers of a Ray cluster that runs already. About 2 s.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need tar
unset RANK OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK MV2_COMM_WORLD_RANK SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_JOB_ID PBS_JOBID LSB_JOBID RAY_JOB_ID \
    TORCHELASTIC_RUN_ID CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH PYTHONPATH MEMTRACE_SPOOL || true
export TMPDIR="$TMP/spools"
mkdir "$TMPDIR" # what is recorded on the way goes there, and nothing stays

# --- names
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" snapshot_rank7.pickle
RANK=7 SLURM_JOB_ID=81/2 run 0 summarize snapshot_rank7.pickle -o 'a.%r.%j.%%.%x.%.mts'
exists 'a.7.81_2.%.%x.%.mts'
run 0 summarize snapshot_rank7.pickle -o '%h.%p.mts'
check [ "$(find . -maxdepth 1 -name "$(uname -n).[0-9]*.mts" | wc -l)" -eq 1 ]
run 0 summarize snapshot_rank7.pickle -o '%h.%p.mts' # another process, another file
check [ "$(find . -maxdepth 1 -name "$(uname -n).[0-9]*.mts" | wc -l)" -eq 2 ]
PMI_RANK=3 OMPI_COMM_WORLD_RANK=4 run 0 summarize snapshot_rank7.pickle -o 'b%r.mts' # the first of the table
exists b4.mts
SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 run 0 summarize snapshot_rank7.pickle -o 'b%r.mts'
exists b5.mts
SLURM_PROCID=0 run 2 summarize snapshot_rank7.pickle -o 'c%r.mts' # as in a batch script
err_has "%r in the name is the rank, and no launcher says it here (RANK, "
run 2 summarize snapshot_rank7.pickle -o 'c%j.mts'
err_has "%j in the name is the job, and no launcher says it here (SLURM_JOB_ID, "
RANK='' run 2 summarize snapshot_rank7.pickle -o 'c%r.mts'
check [ -z "$(find . -maxdepth 1 -name 'c*.mts')" ]

# --- tar streams one behind the other: summaries and snapshots of several nodes
mkdir n0 n1
for i in 0 1 2 3; do
    cp snapshot_rank7.pickle "snapshot_rank$i.pickle"
    run 0 summarize "snapshot_rank$i.pickle" -o "n$((i / 2))/rank$i.mts"
done
run 0 report n0 n1 --format json -o folders.json
for n in n0 n1; do tar -C "$n" -cf - .; done > both.tar
"$MEMTRACE" report - --format json < both.tar > piped.json 2> .err || fail "two tar streams"
same <(jq '.ranks.groups, .ranks.says' folders.json) <(jq '.ranks.groups, .ranks.says' piped.json)
check [ "$(jq '.ranks.rows | length' piped.json)" -eq 4 ]
tar -cf s0.tar snapshot_rank0.pickle snapshot_rank1.pickle
tar -cf s1.tar snapshot_rank2.pickle snapshot_rank3.pickle
for n in 1 2 8; do
    cat s0.tar s1.tar | "$MEMTRACE" report --jobs "$n" - --format json > "snapshots.$n" 2> .err || fail "two tar streams of snapshots"
    check [ "$(jq -c '[.devices[].rank]' "snapshots.$n")" = "[0,1,2,3]" ]
done
same snapshots.1 snapshots.2
same snapshots.1 snapshots.8
{ cat s0.tar; head -c 100000 s1.tar; } | "$MEMTRACE" report - --format json > cut.json 2> .err
check [ $? -eq 3 ] # what came before the cut is reported
check [ "$(jq -c '[.devices[].rank]' cut.json)" = "[0,1,2]" ]

# --- recordings of several nodes
library="$(recorder)"
app="${MT_BINARY_DIR:-}/tests/fake_app"
if [ -z "$library" ] || [ ! -x "$app" ]; then finish; fi
run 0 doctor --ray
check [ "$(wc -l < .out)" -eq 1 ]
err_has "memtrace collect $TMPDIR/memtrace-"
cp .out ray.json
spool="$(jq -r .env_vars.MEMTRACE_SPOOL ray.json)"
check [ "$(jq -r .env_vars.CUDA_INJECTION64_PATH ray.json)" = "$library" ]
check [ -d "$spool" ]
if [ -z "${MT_SANITIZE:-}" ]; then # a recorder with sanitizers needs a job with them
    mapfile -t vars < <(jq -r '.env_vars | to_entries[] | select(.key != "PYTHONPATH") | "\(.key)=\(.value)"' ray.json)
    worker() { env "${vars[@]}" LD_LIBRARY_PATH="$MT_BINARY_DIR/tests/mock/cuda13" RANK="$1" "$app" device:0 leak:64:1; }
    for i in 0 1; do
        rm -rf "$spool" # another node, where nobody made it
        worker "$i" || fail "the worker"
        check [ -d "$spool" ]
        tar -C "$spool" -cf "node$i.tar" .
    done
    rm -rf "$spool"
    vars=("${vars[@]/MEMTRACE_SPOOL_MAKE=1/MEMTRACE_SPOOL_MAKE=0}")
    worker 2 || fail "the worker"
    absent "$spool" # of a recording that is over nothing comes back
    cat node0.tar node1.tar | "$MEMTRACE" collect --from - -o all.gz > .out 2> .err || fail "collect --from -"
    err_has "2 processes"
    run 0 info all.gz
    out_has "rank 0"
    out_has "rank 1"
    gzip node1.tar
    run 0 collect --from node0.tar node1.tar.gz -o packed.gz
    err_has "2 processes"
    run 3 collect --from node0.tar node0.tar -o twice.gz
    err_has "and was in what came before"
    head -c 1200 node0.tar > cut.tar
    run 3 collect --from cut.tar node1.tar.gz -o cut.gz
    err_has "cut.tar: "
    exists cut.gz
fi
run 0 doctor --ray --spool "$TMP/named"
check [ "$(jq -r .env_vars.MEMTRACE_SPOOL .out)" = "$TMP/named" ]
check [ -d named ]
run 1 doctor --ray --spool no/such/folder
err_has "no/such/folder, for the recording: No such file or directory"
run 1 collect --from both.tar -o nothing.gz
err_has "no file of a recording (mt-*)"
run 1 collect --from ray.json -o nothing.gz
err_has "ray.json: it is no tar file"
run 2 collect n0 n1 -o nothing.gz
absent nothing.gz
RANK=6 run 0 capture -q -o 'trace.%r.gz' -- true
exists trace.6.gz
run 125 capture -o 'trace.%r.gz' -- touch ran
absent ran

# --- a summary beside the trace
absent trace.6.mts
if [ -z "${MT_SANITIZE:-}" ]; then
    export LD_LIBRARY_PATH="$MT_BINARY_DIR/tests/mock/cuda13"
    run 0 capture -q --summarize -o '100%%.gz' -- "$app" device:0 leak:64:2
    exists '100%.gz'
    check [ "$(gunzip -c < '100%.mts' | jq -r .verdict.kind)" = driver_peak ]
    run 7 capture -q -f --summarize -o '100%%.gz' -- "$app" device:0 leak:64:1 exit:7
    run 9 capture -q --summarize -o other.gz -- sh -c 'exit 9' # nothing of a GPU: nothing to summarize
    absent other.mts
    mkdir taken.mts
    run 3 capture -q --summarize -o taken.gz -- "$app" device:0 leak:64:1 exit:3 # the job's status, whatever comes of the summary
    err_has "the trace could not be summarized; it is whole"
    exists taken.gz
    unset LD_LIBRARY_PATH
fi
rm -rf "$spool"
check [ -z "$(ls -A "$TMPDIR")" ]
finish
