#!/usr/bin/env bash
# oss-fuzz.sh [TARGET...]: builds the fuzz targets (or those named: pickle, log, whole ...) as OSS-Fuzz and ClusterFuzzLite expect it. In, from their
# base image: CC, CFLAGS, LIB_FUZZING_ENGINE, OUT. Left in $OUT: fuzz_*, with their dictionary, their seeds as a zip, and the libraries that
# another image lacks. Of their Dockerfile this is all:
#     FROM gcr.io/oss-fuzz-base/base-builder
#     RUN apt-get update && apt-get install -y cmake ninja-build pkg-config zip libarchive-dev zlib1g-dev libelf-dev nettle-dev libcjson-dev \
#         libyaml-dev libxxhash-dev libsqlite3-dev
#     COPY . $SRC/memtrace
#     RUN printf '#!/bin/sh\nexec $SRC/memtrace/tests/fuzz/oss-fuzz.sh\n' > $SRC/build.sh
set -euo pipefail
: "${CC:?}" "${OUT:?}" "${LIB_FUZZING_ENGINE:?}"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source="$(realpath "$here/../..")" build="${MT_BUILD:-$(mktemp -d)}"
if [ "$#" -eq 0 ]; then
    mapfile -t names < <(sed -n 's/^MT_READER(\([a-z0-9_]*\)).*/\1/p' "$source/parser/input/readers.def")
    set -- "${names[@]}" log pieces saved rules redact whole
fi
# The sanitizer is in CFLAGS, so the build is told of none; its own hardening would only slow it down.
cmake -S "$source" -B "$build" -G Ninja "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_C_FLAGS=${CFLAGS:-}" -DCMAKE_BUILD_TYPE=None -DMEMTRACE_FUZZ=ON \
    "-DMEMTRACE_FUZZ_ENGINE=$LIB_FUZZING_ENGINE" -DMEMTRACE_STATIC_DEPS=OFF -DMEMTRACE_CAPTURE=OFF "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath,'\$ORIGIN/lib'"
cmake --build "$build" -j "${MT_JOBS:-$(nproc)}" --target "${@/#/fuzz_}"
mkdir -p "$OUT/lib"
for name in "$@"; do
    cp "$build/tests/fuzz/fuzz_$name" "$OUT/"
    # What every image has: the loader, libc and the compiler's own.
    ldd "$build/tests/fuzz/fuzz_$name" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -vE '/(libc|libm|libpthread|libdl|librt|libresolv|libgcc_s|libstdc\+\+)[.]so' |
        xargs -r cp -L -u -t "$OUT/lib"
    [ ! -f "$here/dict/$name.dict" ] || cp "$here/dict/$name.dict" "$OUT/fuzz_$name.dict"
    seeds=("$source/samples")
    for folder in "$here/corpus/$name" "$here/regress/$name"; do [ ! -d "$folder" ] || seeds+=("$folder"); done
    # by names of their own: the fuzzer looks at no folders
    kept="$(mktemp -d)"
    find "${seeds[@]}" -type f -size -65 -print0 | while IFS= read -r -d '' file; do cp "$file" "$kept/$(sha1sum < "$file" | cut -c1-40)"; done
    rm -f "$OUT/fuzz_${name}_seed_corpus.zip"
    (cd "$kept" && zip -q -r "$OUT/fuzz_${name}_seed_corpus.zip" .)
    rm -rf "$kept"
done
