#!/usr/bin/env bash
# aarch64.sh FOLDER PROGRAM: memtrace for aarch64, built here and run by qemu. FOLDER keeps the sysroot (Debian 12) and the build; PROGRAM is a
# memtrace of this machine, whose reports of every sample have to be the same bytes. Needs gcc-aarch64-linux-gnu, qemu-user-static, debootstrap,
# root and a mirror of Debian. The wheel is left in FOLDER/build/dist.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)"
mkdir -p "$1"
folder="$(realpath "$1")" program="$(realpath "$2")" source="$(realpath "$here/../..")"
root="$folder/sysroot" build="$folder/build"
failed=0
said() { if [ "$2" -eq 0 ]; then echo "ok - $1"; else echo "not ok - $1" && failed=1; fi; }
"$here/sysroot.sh" bookworm arm64 "$root"
"$here/build.sh" "$root" aarch64 "$build" -G Ninja -DBUILD_TESTING=ON > "$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log"; exit 1; }
export MT_SYSROOT="$root" MT_MACHINE=aarch64 # what sysroot.cmake reads, where CMake configures once more
# shellcheck disable=SC2046 # a target a word
cmake --build "$build" -j "${MT_JOBS:-2}" --target fake_app $(ninja -C "$build" -t targets all | sed -nE 's/^(tests\/mock\/(cuda12|owners)\/[^:]*): .*/\1/p') >> "$folder/build.log" 2>&1
qemu=(qemu-aarch64-static -L "$root")
ours=("${qemu[@]}" "$build/wheel/bin/memtrace")
file -b "${ours[-1]}" | cut -d, -f1-2
cd "$source/samples"
"$here/same.sh" "$program" "${ours[*]}" ./*.pickle ./*.json ./*.gz ./*.html ./*.log torch/*.gz real/*.gz memray/* nsys/* && rc=0 || rc=$?
said "reports of the samples: the same bytes as on this machine" "$rc"
# The recorder: the launcher starts qemu, which starts the job with the launcher's environment.
cd "$folder" && rm -f t.gz
"${ours[@]}" capture -q -o t.gz -- "${qemu[@]}" -E "LD_LIBRARY_PATH=$build/tests/mock/cuda12" "$build/tests/fake_app" train:oom=nccl:steps=2 > app.out 2> app.err && rc=0 || rc=$?
said "capture: the job ends as it ends, with status 1" $((rc != 1))
"${ours[@]}" report t.gz --format text -o - > app.txt && rc=0 || rc=$?
said "capture: a recording that is reported" "$rc"
grep -q 'NCCL (libnccl.so.2) asked' app.txt && rc=0 || rc=$?
said "capture: the failed call is in it" "$rc"
# A program of aarch64 in the place of the one of this machine, for tests of the command line.
printf '#!/bin/sh\nexec %s "$@"\n' "${ours[*]}" > "$folder/memtrace"
chmod +x "$folder/memtrace"
for name in ticket diff check howto config; do # others take half an hour each here
    MEMTRACE="$folder/memtrace" MT_SOURCE_DIR="$source" MT_BINARY_DIR="$build" XDG_CONFIG_HOME=/nonexistent bash "$source/tests/cli/$name.sh" > "$folder/$name.log" 2>&1 && rc=0 || rc=$?
    said "tests/cli/$name.sh: $(tail -n 1 "$folder/$name.log")" "$rc"
done
exit "$failed"
