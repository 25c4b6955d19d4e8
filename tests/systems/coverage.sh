#!/usr/bin/env bash
# coverage.sh FOLDER [CTEST ARGUMENT...]: builds memtrace with gcov's counters in FOLDER, runs the tests that run C of ours (or those that the
# arguments choose, as -R '^unit[.]'), and says which share of lines and branches ran, by layer and for the ten worst files.
# Exit status 1: below MT_LINES (95) or MT_BRANCHES (85) percent in all. A test that fails is named and does not end it: some cannot pass
# where gcov writes files of its own. What ends by _exit() or a signal counts nothing, so the recorder's figures are lower bounds.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$1"
folder="$(realpath "$1")"
shift
jobs="${MT_JOBS:-2}"
[ $# -gt 0 ] || set -- -L '^ci$' -E '^(lint|web|browser|js|gpu|bench|torch|guides)[.]|^cli[.]package$|^mock.test_(faults|hostile|sanitizers)$|^python.test_wheel$'
cmake -S "$here/../.." -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O0 --coverage -fprofile-update=atomic" \
    -DMEMTRACE_STATIC_DEPS=OFF > "$folder.log" 2>&1 || { tail -n 20 "$folder.log"; exit 1; }
cmake --build "$folder" -j "$jobs" >> "$folder.log" 2>&1 || { tail -n 20 "$folder.log"; exit 1; }
find "$folder" -name '*.gcda' -delete
(cd "$folder" && ctest -j "$jobs" --timeout 900 "$@") > "$folder/tests.log" 2>&1 || sed -n '/tests FAILED/,/^Errors/p' "$folder/tests.log"
grep 'tests passed' "$folder/tests.log"
python3 -B "$here/coverage.py" "$folder" "$(realpath "$here/../..")" "${MT_LINES:-95}" "${MT_BRANCHES:-85}"
