#!/usr/bin/env bash
# Where an allocation fails, whichever: an error that says memory, no crash, no half report.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
shim="$MT_BINARY_DIR/tests/libfail_alloc.so"
[ -z "${MT_SANITIZE:-}" ] || skip_all "a sanitizer has an allocator of its own"
[ -f "$shim" ] || skip_all "the C library is not glibc: $shim was not built"
check python3 -B "$MT_SOURCE_DIR/tests/cli/out_of_memory.py" "$MEMTRACE" "$shim" "$SAMPLES/tiny.pickle"
finish
