#!/usr/bin/env bash
# The injected library and the fakes built with ThreadSanitizer and with AddressSanitizer + UBSan, and run with several threads: no
# report. Build folders of its own, kept between runs below MT_BINARY_DIR.
set -u
: "${MT_BINARY_DIR:?}" "${MT_SOURCE_DIR:?}"
cmake=${CMAKE:-cmake}
failed=0

ok() { echo "ok - $1"; }
bad() {
    echo "not ok - $1"
    failed=1
}

if [ -n "${MT_SANITIZE:-}" ]; then
    echo "# skipped: this is a sanitizer build already"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build NAME SANITIZERS: 0 = built, 1 = failed, 2 = this compiler cannot
build() {
    local dir=$MT_BINARY_DIR/tests/sanitize-$1 flags=${2//;/,}
    echo 'int main(void) { return 0; }' >"$work/probe.c"
    if ! "${CC:-cc}" "-fsanitize=$flags" -o "$work/probe" "$work/probe.c" 2>/dev/null || ! "$work/probe" 2>/dev/null; then
        return 2
    fi
    "$cmake" -S "$MT_SOURCE_DIR" -B "$dir" -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DMEMTRACE_SANITIZE=$2" -DMEMTRACE_STATIC_DEPS=OFF \
        >"$work/$1.log" 2>&1 && "$cmake" --build "$dir" --target memtrace_inject fakes -j "$(nproc)" >>"$work/$1.log" 2>&1
}

# run NAME WHAT WORDS...: fake_app with the library, in the sanitizer's build folder
run() {
    local name=$1 what=$2 status
    shift 2
    local dir=$MT_BINARY_DIR/tests/sanitize-$name
    mkdir -p "$work/spool"
    env -u LD_PRELOAD LD_LIBRARY_PATH="$dir/tests/mock/$what" CUDA_INJECTION64_PATH="$dir/lib/memtrace/libmemtrace_inject.so" \
        NVTX_INJECTION64_PATH="$dir/lib/memtrace/libmemtrace_inject.so" MEMTRACE_SPOOL="$work/spool" MEMTRACE_FLUSH_MS=20 MEMTRACE_SAMPLE_MS=20 \
        TSAN_OPTIONS="die_after_fork=0:halt_on_error=0:exitcode=66:log_path='$work/report':suppressions='$MT_SOURCE_DIR/tests/mock/tsan_suppressions.txt'" \
        ASAN_OPTIONS="detect_leaks=0:exitcode=66:log_path='$work/report':allocator_may_return_null=1" \
        UBSAN_OPTIONS="halt_on_error=1:exitcode=66:print_stacktrace=1:log_path='$work/report'" \
        timeout 100 "$dir/tests/fake_app" "$@" >"$work/out" 2>&1
    status=$?
    # A ring that never let go of a file would show nothing of that work. On a busy machine the writer comes too late for that, and drops.
    if [ -n "${MEMTRACE_KEEP_MB:-}" ] && ! compgen -G "$work/spool/*.base.gz" >/dev/null; then
        if [ "${again:-0}" -lt 4 ]; then
            rm -rf "$work/spool"
            again=$((${again:-0} + 1)) run "$name" "$what" "$@"
            return
        fi
        bad "$name, $what, $*: the ring did not turn"
    fi
    # What was recorded is whole in these builds too.
    if ! python3 "$MT_SOURCE_DIR/tests/reference/trace_decode.py" "$work/spool" >"$work/trace" 2>&1 || ! grep -q ' call' "$work/trace"; then
        bad "$name, $what, $*: the trace"
        sed 's/^/#     /' "$work/trace" | tail -20
    fi
    if [ $status -eq 0 ] && ! compgen -G "$work/report*" >/dev/null; then
        ok "$name, $what: $*"
    else
        bad "$name, $what: $* (status $status)"
        cat "$work"/report* "$work/out" 2>/dev/null | head -60 | sed 's/^/#     /'
    fi
    rm -rf "$work/spool" "$work"/report*
}

for name in thread address; do
    case $name in
    thread) sanitizers=thread ;;
    address) sanitizers="address;undefined" ;;
    esac
    build "$name" "$sanitizers"
    case $? in
    0) ok "$name: built" ;;
    2)
        echo "ok - $name # skip this compiler has no runtime for it"
        continue
        ;;
    *)
        bad "$name: built"
        tail -20 "$work/$name.log" | sed 's/^/#     /'
        continue
        ;;
    esac
    run "$name" cuda13 threads:4 random:1500
    run "$name" cuda118 threads:4 alloc:500 vmm:3 async:200 ranges:200 meminfo:20
    run "$name" cuda12 threads:4 cumem:1:20 tms:1:20 nccl:4 pools graphs:1 modules errors
    run "$name" cuda13 train:small
    # The ring: the writer's thread lets files go and writes checkpoints while threads call, and a child is forked in the middle.
    MEMTRACE_KEEP_MB=1 run "$name" cuda13 device:0 threads:4 random:15000 threads:1 leak:3:1
    MEMTRACE_KEEP_MB=1 MEMTRACE_LAST_S=1 run "$name" cuda12 device:0 threads:4 random:3000 fork:push:a,pop,_exit:0 vmm:600 async:3000 random:3000
    run "$name" cuda13 host arrays contexts share oom rt:20 reset
    run "$name" cuda13 threads:4 random:300 threads:1 fork:push:a,pop,_exit:0 alloc:10
done
exit $failed
