#!/usr/bin/env bash
# Where a call fails, whichever (memory, or a file): an error that says why, no crash, no half report.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
shim="$MT_BINARY_DIR/tests/libfail_calls.so"
[ -z "${MT_SANITIZE:-}" ] || skip_all "a sanitizer has an allocator of its own"
[ -f "$shim" ] || skip_all "the C library is not glibc: $shim was not built"
for kind in alloc io; do
    check python3 -B "$MT_SOURCE_DIR/tests/cli/failing_calls.py" "$MEMTRACE" "$shim" "$SAMPLES" "$kind"
done
finish
