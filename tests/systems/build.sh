#!/usr/bin/env bash
# build.sh SYSROOT MACHINE BUILD [CMAKE ARGUMENT...]: memtrace and its wheel for the system in SYSROOT (sysroot.sh), in the folder BUILD.
# MACHINE: x86_64, aarch64, s390x or i386; another one than this machine's needs gcc-MACHINE-linux-gnu (i386: gcc-i686-linux-gnu) and
# qemu-user-static. MT_TARGET: what is built instead of program and wheel.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)"
MT_SYSROOT="$(realpath "$1")" MT_MACHINE="$2" build="$3"
export MT_SYSROOT MT_MACHINE
libraries="$MT_SYSROOT/usr/lib/$MT_MACHINE-linux-gnu"
export PKG_CONFIG_SYSROOT_DIR="$MT_SYSROOT" PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR="$libraries/pkgconfig:$MT_SYSROOT/usr/share/pkgconfig"
cmake -S "$here/../.." -B "$build" -DCMAKE_TOOLCHAIN_FILE="$here/sysroot.cmake" "${@:4}"
# shellcheck disable=SC2086 # a target a word
cmake --build "$build" -j "${MT_JOBS:-2}" --target ${MT_TARGET:-memtrace memtrace_made wheel}
