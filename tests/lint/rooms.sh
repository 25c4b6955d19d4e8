#!/usr/bin/env bash
# The rooms and their arrows are those of rooms.txt: see rooms.py.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 > /dev/null || skip_all "python3 is not installed"
build="${MT_BINARY_DIR:-build}"
[ -z "${MT_SANITIZE:-}" ] || build=/nonexistent # a sanitizer's symbols are in its objects
command -v nm > /dev/null || build=/nonexistent
python3 tests/lint/rooms.py "$build" || exit 1
