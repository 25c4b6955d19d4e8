#!/usr/bin/env bash
# The libraries keep no state of their own: two threads may each make a diagnosis at once. So no object of theirs has data that can be
# written to, beyond these names, each with its reason. Tables of pointers (.data.rel.ro) are read-only once the program is loaded.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
command -v nm > /dev/null || skip_all "nm is not installed"
[ -z "${MT_SANITIZE:-}" ] || skip_all "the objects hold a sanitizer's own data"
build="${MT_BINARY_DIR:-build}"

allowed()
{
    cat << 'EOF'
parser/base/mem.c used atomic: a sum
parser/base/mem.c limit atomic: set once by main()
parser/base/mem.c calls of this thread: test hook
parser/base/mem.c fail_at of this thread: test hook
parser/base/mem.c failures of this thread: a sum
parser/base/big.c lock a mutex
parser/base/big.c blocks behind lock
parser/base/big.c n_blocks behind lock
parser/base/big.c spare behind lock
parser/base/secret.c mt_secret drawn before main() and never written again
parser/base/json_text.c once pthread_once_t: the allocator of cJSON
parser/json/scan.c forced of this thread: test hook
analysis/run/rule_image.c once pthread_once_t: where the built-in rules lie
analysis/run/rule_image.c moved behind once
EOF
    ! grep -q '^MT_isal_FOUND:INTERNAL=1' "$build/CMakeCache.txt" || cat << 'EOF'
parser/late/isal.c once pthread_once_t: the library
parser/late/isal.c real behind once
EOF
    ! grep -q '^MT_libdeflate_FOUND:INTERNAL=1' "$build/CMakeCache.txt" || cat << 'EOF'
parser/late/libdeflate.c once pthread_once_t: the library
parser/late/libdeflate.c real behind once
EOF
}

found=$(find "$build/CMakeFiles" -name '*.o' 2> /dev/null | grep -E '/mt_(parser|analysis|render)[.]dir/(parser|analysis|render)/' | sort)
n=$(printf '%s\n' "$found" | grep -c .)
[ "$n" -ne 0 ] || skip_all "there are no objects in $build"
[ "$n" -ge 150 ] || complain "only $n objects were seen: this lint no longer works"
# "cause.c.o:name |value|class|type|size|line|section": a local name that stands twice in a file has a number behind a dot
statics=$(printf '%s\n' "$found" | tr '\n' '\0' | xargs -0 nm -A -f sysv 2> /dev/null | awk -F'|' '
    $3 ~ /[bBdDCcsSgG]/ && $7 !~ /rel[.]ro/ && $7 !~ /^[.]rodata/ {
        at = index($1, ":"); file = substr($1, 1, at - 1); name = substr($1, at + 1)
        sub(/^.*[.]dir\//, "", file); sub(/[.]o$/, "", file); gsub(/ /, "", name); sub(/[.][0-9]+$/, "", name)
        sub(/^.*[.]/, "", name) # clang: function.name
        print file, name
    }' | sort -u)
list=$(allowed | cut -d' ' -f1,2 | sort -u)
comm -23 <(printf '%s\n' "$statics" | grep .) <(printf '%s\n' "$list") > "${TMPDIR:-/tmp}/statics.$$"
complain_each "a static that can be written to: " < "${TMPDIR:-/tmp}/statics.$$"
comm -13 <(printf '%s\n' "$statics" | grep .) <(printf '%s\n' "$list") > "${TMPDIR:-/tmp}/statics.$$"
complain_each "allowed, but no longer there: " < "${TMPDIR:-/tmp}/statics.$$"
rm -f "${TMPDIR:-/tmp}/statics.$$"
finish
