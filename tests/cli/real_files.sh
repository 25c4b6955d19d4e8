#!/usr/bin/env bash
# Public snapshots, where the shared data folder is there: info and all four formats of each, re-encodings equal to their originals,
# bad inputs refused with a message that helps and without an output file.
# shellcheck source=tests/cli/lib.sh
. "$MT_SOURCE_DIR/tests/cli/lib.sh" || exit 1

DATA="${MEMTRACE_SHARED_DATA:-}/torch"
[ -f "$DATA/replay_reference.json" ] || skip_all "the shared data folder is not there"

for file in "$DATA"/*.pickle "$DATA"/derived/[!b]*; do
    run 0 info "$file"
    out_has "PyTorch memory snapshot"
    for format in html text md json; do
        run 0 report "$file" --full --format "$format" -o "out.$format" --force
        check test -s "out.$format"
    done
    check grep -q 'http-equiv="Content-Security-Policy"' out.html
    check test "$(grep -cE '(src|href)="?https?:' out.html)" -eq 0
done

# A re-encoding is the same snapshot.
same_dump()
{
    "$MEMTRACE" dump "$DATA/$1" > a 2> .err
    "$MEMTRACE" dump "$DATA/derived/$2" > b 2> .err
    check test -s a
    same a b
}
for p in proto0.pickle proto1.pickle proto2.pickle proto3.pickle proto5.pickle json; do
    same_dump cs336_silmont_small_torch2.6.pickle "cs336_silmont_small.$p"
done
same_dump flexgen_oom_state_only_torch2.0.pickle flexgen_oom.torch_jit_pickler.pickle
same_dump flexgen_oom_state_only_torch2.0.pickle flexgen_oom_state_only.json
same_dump verl_pr851_megatron_vllm_mempools_torch2.6.pickle verl_pr851.torch_jit_pickler.pickle
same_dump verl_pr851_megatron_vllm_mempools_torch2.6.pickle verl_pr851_megatron_vllm_mempools_torch2.6.json.gz

# What info says is what is in the file.
info() { run 0 info "$DATA/$1"; }
info verl_pr851_megatron_vllm_mempools_torch2.6.pickle
out_has "no history"
info derived/cs336_silmont_small.proto0.pickle
out_has "protocol 0"
info derived/verl_pr851.torch_jit_pickler.pickle
out_has "torch::jit::Pickler"
info derived/verl_pr851_megatron_vllm_mempools_torch2.6.json.gz
out_has "JSON, in gzip"
info derived/synthetic_new_fields.pickle
out_has "some_future_action"
out_has "ring buffer overflowed"
info derived/decomfl.ring5000.pickle
out_has "5,000"
info flexgen_oom_state_only_torch2.0.pickle
out_has "state only"

# Damaged: a report, a banner, exit status 3.
for format in html text md json; do
    run 3 report "$DATA/derived/bad_truncated.pickle" --full --format "$format" -o "t.$format" --force
    check test -s "t.$format"
    check grep -q 40000 "t.$format"
done
check grep -q '"damaged": true' t.json

# Refused: exit status 1, no output file, words that help.
refused()
{
    local file="$1"
    shift
    for format in html text md json; do
        run 1 report "$DATA/derived/$file" --format "$format" -o never
        absent never
    done
    for word in "$@"; do
        err_has "$word"
    done
}
refused bad_global.pickle GLOBAL "offset 2" "executes nothing"
refused bad_memo_bomb.pickle "offset 10" APPENDS
refused bad_lfs_pointer.pickle git-lfs "git lfs pull"
refused bad_not_snapshot.pickle "not a memory snapshot" _dump_snapshot
finish
