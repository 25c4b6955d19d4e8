#!/usr/bin/env bash
# other.sh FOLDER ARCH PROGRAM: memtrace without the recorder for s390x (the highest byte comes first) or i386 (32 bits): unit tests, the golden
# reports, some tests of the command line, and reports of every sample, which have to be the same bytes as those of PROGRAM, a memtrace of this
# machine. FOLDER keeps the sysroot (Debian 12) and the build. Needs debootstrap, root, a mirror of Debian; gcc-s390x-linux-gnu and
# qemu-user-static, or gcc-i686-linux-gnu.
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$1"
folder="$(realpath "$1")" arch="$2" program="$(realpath "$3")" source="$(realpath "$here/../..")"
root="$folder/sysroot" build="$folder/build"
failed=0
said() { if [ "$2" -eq 0 ]; then echo "ok - $1"; else echo "not ok - $1" && failed=1; fi; }
slow='slow_'
case "$arch" in
    s390x) run=(qemu-s390x-static -L "$root") slow='slow_|damage|hostile' ;; # minutes each under qemu
    i386) run=("$root/lib/ld-linux.so.2" --library-path "$root/lib/i386-linux-gnu:$root/usr/lib/i386-linux-gnu") ;;
    *) echo "other.sh: s390x or i386" >&2 && exit 2 ;;
esac
"$here/sysroot.sh" bookworm "$arch" "$root"
# -O1: no number is measured here, and the build is the longest part
MT_TARGET=all "$here/build.sh" "$root" "$arch" "$build" -G Ninja -DMEMTRACE_CAPTURE=OFF -DMEMTRACE_STATIC_DEPS=OFF -DCMAKE_C_FLAGS_RELEASE=-O1 \
    > "$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log"; exit 1; }
file -b "$build/memtrace" | cut -d, -f1-2
# A program of that machine in the place of the one of this machine.
printf '#!/bin/sh\nexec %s "$@"\n' "${run[*]} $build/memtrace" > "$folder/memtrace"
chmod +x "$folder/memtrace"
(cd "$build" && ctest -j "${MT_JOBS:-2}" -R '^(unit|fuzz)[.]' -E "$slow" --output-on-failure) > "$folder/unit.log" 2>&1 && rc=0 || rc=$?
said "unit tests and replays: $(grep 'tests passed' "$folder/unit.log")" "$rc"
for name in golden/reports cli/{ticket,diff,check,howto,config,limits,export,rules}; do
    MEMTRACE="$folder/memtrace" MT_SOURCE_DIR="$source" MT_BINARY_DIR="$build" XDG_CONFIG_HOME=/nonexistent bash "$source/tests/$name.sh" > "$folder/${name##*/}.log" 2>&1 && rc=0 || rc=$?
    said "tests/$name.sh: $(tail -n 1 "$folder/${name##*/}.log")" "$rc"
done
cd "$source/samples"
"$here/same.sh" "$program" "$folder/memtrace" ./*.pickle ./*.json ./*.gz ./*.html ./*.log torch/*.gz real/*.gz memray/* nsys/* profiler/* && rc=0 || rc=$?
said "reports of the samples: the same bytes as on this machine" "$rc"
exit "$failed"
