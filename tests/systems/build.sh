#!/usr/bin/env bash
# build.sh SYSROOT MACHINE BUILD [CMAKE ARGUMENT...]: memtrace and its wheel for the system in SYSROOT (sysroot.sh), in the folder BUILD.
# MACHINE: x86_64 or aarch64; another one than this machine's needs gcc-MACHINE-linux-gnu and qemu-user-static.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)"
MT_SYSROOT="$(realpath "$1")" MT_MACHINE="$2" build="$3"
export MT_SYSROOT MT_MACHINE
libraries="$MT_SYSROOT/usr/lib/$MT_MACHINE-linux-gnu"
export PKG_CONFIG_SYSROOT_DIR="$MT_SYSROOT" PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR="$libraries/pkgconfig:$MT_SYSROOT/usr/share/pkgconfig"
cmake -S "$here/../.." -B "$build" -DCMAKE_TOOLCHAIN_FILE="$here/sysroot.cmake" "${@:4}"
cmake --build "$build" -j "${MT_JOBS:-2}" --target memtrace memtrace_made wheel
