#!/usr/bin/env bash
# What the injected library shows and needs: it is loaded into other people's processes, on machines that are older than this one.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

lib="${MT_BINARY_DIR:-build}/lib/memtrace/libmemtrace_inject.so"
[ -f "$lib" ] || skip_all "this build has no $lib (MEMTRACE_CAPTURE=OFF?)"
command -v readelf > /dev/null || skip_all "readelf is not installed (Debian package: binutils)"

exports="$(readelf --dyn-syms -W "$lib" | awk '$7 != "UND" && $5 != "LOCAL" && $8 != "" && $1 ~ /^[0-9]+:$/ { sub(/@.*/, "", $8); print $8 }' | sort -u)"
want="InitializeInjection
InitializeInjectionNvtx
InitializeInjectionNvtx2
memtrace_attach
memtrace_base
memtrace_mark
memtrace_nvml_serve
memtrace_pop
memtrace_push"
if [ -z "${MT_SANITIZE:-}" ]; then
    [ "$exports" = "$want" ] || complain "$lib exports: $(tr '\n' ' ' <<< "$exports")- expected: $(tr '\n' ' ' <<< "$want")"
else
    while IFS= read -r name; do
        grep -qx "$name" <<< "$exports" || complain "$lib does not export $name"
    done <<< "$want"
fi

# Text relocations would make the driver's dlopen() fail under SELinux; nodelete keeps the writer thread's code where it is.
dynamic="$(readelf -d -W "$lib")"
grep -q TEXTREL <<< "$dynamic" && complain "$lib has text relocations"
grep -q 'NODELETE' <<< "$dynamic" || complain "$lib can be unloaded while its thread runs: link it with -z nodelete"
grep -qE 'BIND_NOW|Flags:.* NOW' <<< "$dynamic" || complain "$lib binds lazily"
grep -qE 'R(UN)?PATH' <<< "$dynamic" && complain "$lib has a path to libraries of this machine"
readelf -lW "$lib" | grep -q 'GNU_STACK.*RWE' && complain "$lib wants an executable stack"

if [ -z "${MT_SANITIZE:-}" ]; then
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<< "$dynamic" \
        | grep -vxE 'libc[.]so[.]6|libz[.]so[.]1|ld-linux[^ ]*' | complain_each "$lib needs a library that a job may not have: "
    # dlopen() of a library that wants a newer glibc fails, silently, inside cuInit().
    newest="$(readelf --version-info -W "$lib" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)"
    [ -n "$newest" ] || complain "no glibc versions were seen in $lib: this lint no longer works"
    [ "$(printf '%s\nGLIBC_2.34\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.34 ] \
        || complain "$lib needs $newest; GLIBC_2.34 is the newest that may be used: $(readelf --dyn-syms -W "$lib" | grep -oE "[a-z_0-9A-Z]+@$newest" | tr '\n' ' ')"
fi
finish
