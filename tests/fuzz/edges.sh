#!/usr/bin/env bash
# edges.sh BUILD [--write]: how many edges of each target samples, regress and corpus reach, held against edges.tsv: a tenth less, and the exit
# status is 1. A corpus that no longer opens (a format that changed, a check that refuses all of it at its first byte) shows so, where replays
# pass. --write takes down what there is now. BUILD has MEMTRACE_FUZZ=ON (clang 14: another compiler counts other edges).
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mapfile -t names < <(sed -n 's/^MT_READER(\([a-z0-9_]*\)).*/\1/p' "$here/../../parser/input/readers.def")
bad=0
for name in "${names[@]}" log saved rules redact; do
    seeds=()
    for dir in "$here/../../samples" "$here/regress/$name" "$here/corpus/$name"; do [ ! -d "$dir" ] || seeds+=("$dir"); done
    "$1/tests/fuzz/fuzz_$name" -runs=0 -max_len=65536 "${seeds[@]}" > "$work/log" 2>&1 || { tail -n 20 "$work/log"; bad=1; }
    now="$(grep -oE 'cov: [0-9]+' "$work/log" | tail -n 1 | cut -d' ' -f2 || true)"
    was="$(awk -v name="$name" '$1 == name { print $2 }' "$here/edges.tsv" 2> /dev/null || true)"
    printf '%s\t%s\n' "$name" "${now:-0}" >> "$work/now"
    printf '%-10s %6s edges, %6s before\n' "$name" "${now:-0}" "${was:-none}"
    [ "${2:-}" = --write ] || [ "$((${now:-0} * 10))" -ge "$((${was:-1} * 9))" ] || { printf '%s: too few\n' "$name" && bad=1; }
done
[ "${2:-}" != --write ] || cp "$work/now" "$here/edges.tsv"
exit "$bad"
