#!/usr/bin/env bash
# sysroot.sh SUITE ARCH FOLDER: the headers and libraries that memtrace is built with, of another Debian or for another processor, unpacked
# into FOLDER. Nothing of it is run, so the processor may be any. Needs debootstrap, root and a mirror of Debian.
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
suite="$1" arch="$2" folder="$3"
mirror="${MT_MIRROR:-http://deb.debian.org/debian}"
dev=libc6-dev,libarchive-dev,zlib1g-dev,libelf-dev,nettle-dev,libcjson-dev,libyaml-dev,libxxhash-dev,libsqlite3-dev
static=liblzma-dev,libzstd-dev,liblz4-dev,libbz2-dev,libacl1-dev,libxml2-dev
[ ! -e "$folder/unpacked" ] || exit 0
debootstrap --foreign --variant=minbase --arch="$arch" --include="$dev,$static,python3-minimal" "$suite" "$folder" "$mirror" > "$folder.log" 2>&1 \
    || { tail -n 5 "$folder.log"; exit 1; }
for package in "$folder"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
# links that say where they lead from the root of that system
find "$folder/usr/lib" "$folder/lib" -type l -lname '/*' | while read -r link; do ln -sfn "$(realpath -m --relative-to "$(dirname "$link")" "$folder$(readlink "$link")")" "$link"; done
: > "$folder/unpacked"
