#!/usr/bin/env bash
# Every sample's report, byte for byte: text, Markdown, JSON and info of each, HTML of two, the line dump of the tiny one in all its
# encodings. After a change that is meant: MT_UPDATE_GOLDEN=1 bash tests/golden/reports.sh (or through ctest -R golden), then read
# the difference with git.
# shellcheck source=tests/cli/lib.sh
. "${MT_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}/tests/cli/lib.sh" || exit 1

EXPECT="$MT_SOURCE_DIR/tests/golden/expect"
mkdir -p "$EXPECT"

# golden NAME ARGUMENT...: the output of memtrace in the samples folder is that of the file
golden()
{
    local name="$1"
    shift
    (cd "$SAMPLES" && LC_ALL=C.UTF-8 "$MEMTRACE" "$@") > "$TMP/.out" 2> "$TMP/.err"
    case "$name" in *.html) # the script and its data have tests of their own
        sed -i -e '/<script[^>]*>.*<\/script>/d' -e '/<script/,/<\/script>/d' -e "s/'sha256-[^']*'/'sha256-'/" "$TMP/.out" ;;
    esac
    if [ -n "${MT_UPDATE_GOLDEN:-}" ]; then
        cp "$TMP/.out" "$EXPECT/$name"
        ok
    elif cmp -s "$TMP/.out" "$EXPECT/$name"; then
        ok
    else
        diff -u "$EXPECT/$name" "$TMP/.out" | cut -c1-300 | head -40
        fail "$name differs (re-record with MT_UPDATE_GOLDEN=1)"
    fi
}

for sample in verl_grpo_oom_logprob fsdp_finetune expandable_segments fragmentation_oom python_only tiny; do
    golden "$sample.txt" report "$sample.pickle" --format text --full -o -
    golden "$sample.md" report "$sample.pickle" --format md -o -
    golden "$sample.json" report "$sample.pickle" --format json -o -
    golden "$sample.info" info "$sample.pickle"
done
for sample in verl_grpo_oom_logprob.pickle fsdp_finetune.pickle verl_two_ranks.tar.gz cards.log driver_v1.trace.gz; do # one screen of each
    golden "screen.${sample%%.*}.txt" report "$sample" --format text -o -
done
for sample in verl_grpo_oom_logprob tiny; do
    golden "$sample.html" report "$sample.pickle" --format html -o - --capacity 80GiB
done
for ranks in verl_two_ranks verl_two_ranks_truncated; do
    golden "$ranks.txt" report "$ranks.tar.gz" --format text --full -o -
    golden "$ranks.info" info "$ranks.tar.gz"
done
for log in cards cards_npu; do
    golden "$log.txt" report "$log.log" --format text --full -o -
    golden "$log.json" report "$log.log" --format json -o -
done
for sample in verl_oom_rank0.pt.trace.json.gz finetune_rank3.pt.trace.json.gz finetune_2021.pt.trace.json.gz finetune.timeline.json finetune.timeline.raw.json.gz; do
    golden "profiler.${sample%%.gz}.txt" report "profiler/$sample" --format text --full -o -
    golden "profiler.${sample%%.gz}.info" info "profiler/$sample"
done
for sample in operator_memory operator_memory_2023; do
    golden "ascend.$sample.txt" report "ascend/$sample.csv" --format text --full -o -
    golden "ascend.$sample.info" info "ascend/$sample.csv"
done
golden ascend.memory_record.txt report ascend/memory_record.csv --format text --full -o -
golden ascend.dump dump ascend/operator_memory_2023.csv
golden profiler.tiny.dump dump profiler/tiny.pt.trace.json
for sample in memory_snapshot_time1767322800_rank3_snapshot.pickle killed_v12.bin aggregated_v13.bin; do
    golden "memray.$sample.txt" report "memray/$sample" --format text --full -o -
    golden "memray.$sample.info" info "memray/$sample"
done
golden memray.stats.txt report memray/memray-stats-train.json --format text --full -o -
golden nsys.job.txt report nsys/job.sqlite --format text --full -o -
golden nsys.job.info info nsys/job.sqlite
golden nsys.failed_first.txt report nsys/failed_first.sqlite --format text --full -o -
golden memray.tiny.dump dump memray/tiny_v12.bin
golden page.txt report fragmentation_oom.trace_plot.html --format text --full -o -

# The trace of format version 1: what is read out of it must never change.
golden driver_v1.dump dump driver_v1.trace.gz
golden driver_v1.info info driver_v1.trace.gz

# One dump for all encodings of one snapshot.
golden tiny.dump dump tiny.pickle
for other in "$SAMPLES"/tiny.*; do
    "$MEMTRACE" dump "$other" > "$TMP/.out" 2> "$TMP/.err"
    same "$TMP/.out" "$EXPECT/tiny.dump"
done

# The same bytes whatever the folder, the locale, the time zone and the environment.
cd "$SAMPLES" || exit 1
for format in html text md json; do
    "$MEMTRACE" report tiny.pickle --format "$format" -o - > "$TMP/a" 2> /dev/null
    (export TZ=Pacific/Kiritimati LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 HOME=/ COLUMNS=40 MALLOC_PERTURB_=77
        "$MEMTRACE" report tiny.pickle --format "$format" -o -) > "$TMP/b" 2> /dev/null
    [ "$format" = text ] || same "$TMP/a" "$TMP/b"
done
finish
