#!/usr/bin/env bash
# cpack: a .tar.gz that runs from anywhere with nothing but glibc, and a .deb with the right dependencies.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
[ -z "${MT_SANITIZE:-}" ] || skip_all "sanitizer builds are not packaged"
[ -f "$MT_BINARY_DIR/CPackConfig.cmake" ] || skip_all "this build has no packages (no dpkg-shlibdeps, MEMTRACE_STATIC_DEPS=OFF)"
grep -q 'CPACK_GENERATOR "[^"]*TGZ' "$MT_BINARY_DIR/CPackConfig.cmake" || skip_all "MEMTRACE_STATIC_DEPS=OFF"
cpack="${CPACK:-cpack}"

"$cpack" --config "$MT_BINARY_DIR/CPackConfig.cmake" -G TGZ -B "$TMP/tgz" > .out 2> .err || {
    grep -q 'could not be linked' .err && skip_all "no static libraries ('./bootstrap.sh deps package' installs them)"
    fail "cpack -G TGZ"
}
archive="$(find "$TMP/tgz" -maxdepth 1 -name 'memtrace-*.tar.gz')"
check [ -f "$archive" ]
mkdir -p "unpacked/some where" && tar xzf "$archive" -C "unpacked/some where"
top="$(find "$TMP/unpacked/some where" -mindepth 1 -maxdepth 1)"
check [ "$(printf '%s\n' "$top" | wc -l)" -eq 1 ]
exists "$top/bin/memtrace"
exists "$top/share/man/man1/memtrace.1"
exists "$top/share/bash-completion/completions/memtrace"
# Every library it asks for is glibc's own, or lies in the folder that was unpacked.
ldd "$top/bin/memtrace" > libraries
cat libraries
if grep -q 'not found' libraries; then fail "a library is missing"; else ok; fi
while IFS= read -r line; do
    name="${line%% *}"
    case "$name" in
        linux-vdso.so.1 | libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | */ld-linux*) ok ;;
        *) case "$line" in *" => $top/"*) ok ;; *) fail "neither glibc nor in the package: $line" ;; esac ;;
    esac
done < <(sed 's/^[[:blank:]]*//' libraries)
cp "$SAMPLES/tiny.pickle" here.pickle
MEMTRACE_BUILT="$MEMTRACE"
MEMTRACE="$top/bin/memtrace"
run 0 report --format json here.pickle
cp .out portable.json
run 0 info "$SAMPLES/verl_two_ranks.tar.gz"
for tool in xz zstd bzip2 lz4; do # the decompressors went along
    command -v "$tool" > /dev/null || continue
    "$tool" -c here.pickle > "here.$tool"
    run 0 info "here.$tool"
done
mv "unpacked/some where" moved
MEMTRACE="$TMP/moved/$(basename "$top")/bin/memtrace"
run 0 report here.pickle
if [ -f "$MT_BINARY_DIR/lib/memtrace/libmemtrace_inject.so" ]; then # the recorder went along
    exists "$TMP/moved/$(basename "$top")/include/memtrace.h"
    run 0 capture -q -o t.gz -- env
    out_has "CUDA_INJECTION64_PATH=$TMP/moved/$(basename "$top")/lib/memtrace/libmemtrace_inject.so"
    out_has "PYTHONPATH=$TMP/moved/$(basename "$top")/lib/memtrace/site"
    run 0 doctor
fi
MEMTRACE="$MEMTRACE_BUILT"
run 0 report --format json here.pickle
same .out portable.json

if grep -q 'CPACK_GENERATOR "[^"]*DEB' "$MT_BINARY_DIR/CPackConfig.cmake"; then
    "$cpack" --config "$MT_BINARY_DIR/CPackConfig.cmake" -G DEB -B "$TMP/deb" > .out 2> .err || fail "cpack -G DEB"
    package="$(find "$TMP/deb" -maxdepth 1 -name 'memtrace_*.deb')"
    check [ -f "$package" ]
    dpkg-deb -f "$package" Depends > depends
    cat depends
    dpkg-deb -f "$package" Recommends > recommends
    for library in libarchive libc6 libcjson libelf libnettle libyaml zlib1g; do check grep -q "$library" depends; done
    if pkg-config --exists "libisal >= 2.24"; then check grep -q libisal2 recommends; fi
    if pkg-config --exists libdeflate; then check grep -q libdeflate0 recommends; fi
    dpkg-deb -x "$package" root
    for file in usr/bin/memtrace usr/share/man/man1/memtrace.1 usr/share/bash-completion/completions/memtrace \
        usr/share/zsh/vendor-completions/_memtrace usr/share/doc/memtrace/copyright; do
        exists "root/$file"
    done
    MEMTRACE="$TMP/root/usr/bin/memtrace"
    run 0 report --format json here.pickle
    same .out portable.json
    if [ -f "$MT_BINARY_DIR/lib/memtrace/libmemtrace_inject.so" ]; then
        run 0 capture -q -o deb.gz -- env
        out_has "CUDA_INJECTION64_PATH=$TMP/root/usr/lib"
    fi
fi
finish
