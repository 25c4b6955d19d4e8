#!/usr/bin/env bash
# valgrind.sh BUILD [TEST...]: the unit tests (or those named) and a report of each small sample in every format under valgrind: no use of memory that
# was never written, no access out of bounds, nothing lost. BUILD is one without sanitizers. A test that has not ended after MT_LIMIT seconds
# (300) is named. AddressSanitizer, which CI runs, sees no value that was never written: this does.
set -uo pipefail
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
source="$(cd "$(dirname "$0")/../.." && pwd)" build="$(realpath "$1")"
shift
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
failed=0 n=0 slow=()
# Its own mistakes give 99. Blocks that are still reachable at the end are no leak.
grind=(timeout -s KILL "${MT_LIMIT:-300}" valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --child-silent-after-fork=yes)

# said NAME STATUS LOG
said()
{
    n=$((n + 1))
    case "$2" in
        137) slow+=("$1") ;;
        99)
            failed=1
            echo "not ok - $1"
            grep '^==' "$3" | head -n 30
            ;;
        0 | 77) ;;
        *) failed=1 && echo "not ok - $1: status $2" && tail -n 3 "$3" ;;
    esac
}

[ $# -gt 0 ] || { mapfile -t all < <(cd "$build/tests" && find . -maxdepth 1 -type f -executable \( -name 'test_*' -o -name 'cli_*' -o -name 'inject_*' \) -printf '%f\n' | sort) && set -- "${all[@]}"; }
for name in "$@"; do
    (cd "$build/tests" && "${grind[@]}" "./$name") > "$scratch/log" 2>&1
    said "unit.$name" "$?" "$scratch/log"
done
for sample in "$source"/samples/{tiny.pickle,cards.log,driver_v1.trace.gz,verl_two_ranks.tar.gz} "$source"/samples/memray/{killed_v12,aggregated_v13}.bin \
    "$source"/samples/nsys/job.sqlite "$source"/samples/profiler/tiny.pt.trace.json; do
    for format in text md json html; do
        "${grind[@]}" "$build/memtrace" report --no-config -q --redact --format "$format" -o "$scratch/out" -f "$sample" > "$scratch/log" 2>&1
        said "${sample##*/} as $format" "$?" "$scratch/log"
    done
done
echo "$n runs; not ended in time: ${slow[*]:-none}"
exit "$failed"
