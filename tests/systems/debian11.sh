#!/usr/bin/env bash
# debian11.sh ROOT: the wheel that runs where glibc is as old as 2.29, built by Debian 11's own compiler and CMake, and tried there (wheel.sh).
# ROOT is what `debootstrap --variant=minbase --include=python3,python3-venv bullseye ROOT` made; packages are installed into it. The wheel is
# left in ROOT/build/dist. Needs root and a mirror of Debian.
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)" root="$(realpath "$1")"
packages=(gcc libc6-dev cmake ninja-build pkg-config binutils python3-venv libarchive-dev zlib1g-dev libelf-dev nettle-dev libcjson-dev libyaml-dev
    libxxhash-dev libsqlite3-dev liblzma-dev libzstd-dev liblz4-dev libbz2-dev libacl1-dev libxml2-dev)
chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}" > "$root/installed.log" 2>&1 \
    || { tail -n 5 "$root/installed.log"; exit 1; }
rm -rf "$root/memtrace"
mkdir "$root/memtrace"
(cd "$here/../.." && git ls-files -z | tar -c --null -T -) | tar -x -C "$root/memtrace"
# shellcheck disable=SC2016 # for the inner shell
chroot "$root" sh -ec '
    cmake -S /memtrace -B /build -G Ninja -DBUILD_TESTING=ON
    cmake --build /build -j "$1" --target memtrace memtrace_made wheel $(ninja -C /build -t targets all | sed -n "s|^\(tests/mock/cuda12/[^:]*\): .*|\1|p")' \
    sh "${MT_JOBS:-2}"
"$here/wheel.sh" "$root" "$root"/build/dist/*.whl "$root/build"
