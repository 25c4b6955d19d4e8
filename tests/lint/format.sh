#!/usr/bin/env bash
# clang-format 14 leaves every C file as it is. `tests/lint/format.sh --fix` formats them.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
tool=""
for candidate in clang-format-14 clang-format; do
    if command -v "$candidate" > /dev/null && "$candidate" --version | grep -q 'version 14[.]'; then
        tool="$candidate"
        break
    fi
done
[ -n "$tool" ] || skip_all "clang-format 14 is not installed"
mapfile -t sources < <(files '*' | grep -E '^(capture|parser|analysis|render|cli|cmake|tests)/.*[.][ch]$')
if [ "${1:-}" = --fix ]; then
    "$tool" -i "${sources[@]}"
    exit
fi
"$tool" --dry-run --Werror "${sources[@]}" 2>&1 | grep -E 'error:' | cut -d : -f 1 | sort | uniq -c | sort -rn > "${TMPDIR:-/tmp}/format.$$"
while read -r count file; do
    complain "$file: $count places (tests/lint/format.sh --fix)"
done < "${TMPDIR:-/tmp}/format.$$"
rm -f "${TMPDIR:-/tmp}/format.$$"
finish
