#!/usr/bin/env bash
# night.sh BUILD SECONDS [TARGET...]: fuzzes each target for that long and keeps what reached new edges.
#
# BUILD is a build with MEMTRACE_FUZZ=ON (clang). A target is a reader of parser/input/readers.def, or log, pieces, saved, rules, redact, whole; default: all of them.
# Of the inputs found, those that add edges to samples/ and regress/ are kept in corpus/TARGET, the smallest first, at most MT_KEEP bytes
# of each target (120000). ctest replays them. One line of figures for each target: runs, edges of the seeds, edges at the end, files, bytes.
# Exit status 1: a target found a crash, a leak, a timeout; its input and its log are named.
set -euo pipefail
[ "$#" -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$(cd "$1" && pwd)"
seconds="$2"
shift 2
if [ "$#" -eq 0 ]; then
    mapfile -t names < <(sed -n 's/^MT_READER(\([a-z0-9_]*\)).*/\1/p' "$here/../../parser/input/readers.def")
    set -- "${names[@]}" log pieces saved rules redact whole
fi
work="$(mktemp -d)"
failed=0
edges() { grep -oE 'cov: [0-9]+' "$1" | tail -n 1 | cut -d' ' -f2; }
printf '%-10s %10s %8s %8s %6s %8s\n' target runs seeds edges files bytes
for name in "$@"; do
    program="$build/tests/fuzz/fuzz_$name"
    found="$work/$name.found" base="$work/$name.base" seeds="$work/$name.seeds" log="$work/$name.log"
    mkdir -p "$found" "$base" "$here/corpus/$name"
    # What the corpus need not hold: ctest replays it anyway.
    find "$here/../../samples" "$here/regress/$name" -type f -size -65 -exec cp -t "$base" -- {} + 2> /dev/null || true
    cp -r "$base" "$seeds"
    dict=()
    [ ! -f "$here/dict/$name.dict" ] || dict=("-dict=$here/dict/$name.dict")
    "$program" -runs=0 -max_len=65536 "$base" > "$log.seeds" 2>&1 || true
    if ! (cd "$work" && "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 "${dict[@]}" \
        "$found" "$base" "$here/corpus/$name") > "$log" 2>&1; then
        printf '%s: see %s; its input lies in %s\n' "$name" "$log" "$work"
        failed=1
    fi
    find "$base" -type f -printf '%f\n' | sort > "$work/$name.names"
    "$program" -set_cover_merge=1 -max_len=8192 "$base" "$here/corpus/$name" "$found" > "$log.merge" 2>&1 || true
    rm -rf "$here/corpus/$name"
    mkdir -p "$here/corpus/$name"
    kept=0
    while read -r size file; do
        grep -qxF "${file##*/}" "$work/$name.names" && continue
        kept=$((kept + size))
        [ "$kept" -le "${MT_KEEP:-120000}" ] || break
        cp "$file" "$here/corpus/$name/"
    done < <(find "$base" -type f -printf '%s %p\n' | sort -n)
    "$program" -runs=0 -max_len=65536 "$seeds" "$here/corpus/$name" > "$log.end" 2>&1 || true
    printf '%-10s %10s %8s %8s %6s %8s\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(edges "$log.seeds")" "$(edges "$log.end")" \
        "$(find "$here/corpus/$name" -type f | wc -l)" "$(find "$here/corpus/$name" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }')"
done
[ "$failed" -ne 0 ] || rm -rf "$work"
exit "$failed"
