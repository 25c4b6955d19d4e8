#!/usr/bin/env bash
# same.sh PROGRAM OTHER FILE...: two programs say the same bytes of each file, as JSON and as a page, with the same status. OTHER may be
# several words: "qemu-aarch64-static -L FOLDER PROGRAM".
set -uo pipefail
[ $# -ge 3 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
one="$1"
read -r -a other <<< "$2"
shift 2
n=0 differ=0
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
for file in "$@"; do
    for format in json html; do
        "$one" report --no-config -q --format "$format" -o - "$file" > "$scratch/a" 2> /dev/null
        a=$?
        "${other[@]}" report --no-config -q --format "$format" -o - "$file" > "$scratch/b" 2> /dev/null
        b=$?
        n=$((n + 1))
        if [ "$a" -ne "$b" ] || ! cmp -s "$scratch/a" "$scratch/b"; then
            differ=$((differ + 1))
            echo "differs: $file as $format, status $a and $b"
        fi
    done
done
echo "$n reports, $differ differ"
[ "$differ" -eq 0 ] && [ "$n" -gt 0 ]
