#!/usr/bin/env bash
# failing_calls.sh [EVERY-ALLOCATION EVERY-CALL-OF-A-FILE]: where a call fails, whichever (memory, or a file): an error that says why, no crash,
# no half report. Which calls: failing_calls.py.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
shim="$MT_BINARY_DIR/tests/libfail_calls.so"
[ -z "${MT_SANITIZE:-}" ] || skip_all "a sanitizer has an allocator of its own"
[ -f "$shim" ] || skip_all "the C library is not glibc: $shim was not built"
calls=(python3 -B "$MT_SOURCE_DIR/tests/cli/failing_calls.py" "$MEMTRACE" "$shim" "$SAMPLES")
check "${calls[@]}" alloc "${@:1:1}"
check "${calls[@]}" io "${@:2:1}"
finish
