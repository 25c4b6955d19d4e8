#!/usr/bin/env bash
# edges.sh BUILD [--write]: runs each target over samples, regress and corpus, and then over 2000 inputs made of them. How many edges the first
# reach is held against edges.tsv: a tenth less, or an input that shows a fault, and the exit status is 1. A corpus that no longer opens (a format
# that changed, a check that refuses all of it at its first byte) shows so, where replays pass. --write takes down what there is now. BUILD has
# MEMTRACE_FUZZ=ON (clang 14: another compiler counts other edges).
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mapfile -t names < <(sed -n 's/^MT_READER(\([a-z0-9_]*\)).*/\1/p' "$here/../../parser/input/readers.def")
names+=(log saved rules redact)

# shellcheck disable=SC2317 # xargs runs it
target() # BUILD NAME
{
    local seeds=() dict=() dir
    for dir in "$here/../../samples" "$here/regress/$2" "$here/corpus/$2"; do [ ! -d "$dir" ] || seeds+=("$dir"); done
    [ ! -f "$here/dict/$2.dict" ] || dict=("-dict=$here/dict/$2.dict")
    mkdir "$work/$2"
    "$1/tests/fuzz/fuzz_$2" "-runs=$(($(find "${seeds[@]}" -type f | wc -l) + 2000))" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
        "${dict[@]}" "$work/$2" "${seeds[@]}" > "$work/$2.log" 2>&1 || touch "$work/$2.failed"
}
export -f target
export here work
# shellcheck disable=SC2016 # of the shell that xargs starts
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'target "$1" "$2"' - "$1" '{}'

bad=0
for name in "${names[@]}"; do
    now="$(sed -n 's/.*INITED.*cov: \([0-9]*\).*/\1/p' "$work/$name.log" | head -n 1)"
    was="$(awk -v name="$name" '$1 == name { print $2 }' "$here/edges.tsv" 2> /dev/null || true)"
    printf '%s\t%s\n' "$name" "${now:-0}" >> "$work/now"
    printf '%-10s %6s edges, %6s before\n' "$name" "${now:-0}" "${was:-none}"
    if [ -e "$work/$name.failed" ]; then
        tail -n 60 "$work/$name.log"
        printf '%s: the input that shows it is here: crash-*, oom-* or timeout-*\n' "$name"
        bad=1
    elif [ "${2:-}" != --write ] && [ "$((${now:-0} * 10))" -lt "$((${was:-1} * 9))" ]; then
        printf '%s: too few\n' "$name"
        bad=1
    fi
done
[ "${2:-}" != --write ] || cp "$work/now" "$here/edges.tsv"
exit "$bad"
