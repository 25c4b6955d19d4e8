#!/usr/bin/env bash
# musl.sh: whether each source of the program (the recorder is for glibc, as NVIDIA's libraries are) compiles against the headers of musl, for which
# Debian has no libraries to link with: nothing is built and nothing is run. Needs musl-tools and the headers of the libraries.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# of /usr/include these alone: the rest is glibc's
for header in archive.h archive_entry.h zlib.h zconf.h nettle cjson yaml.h sqlite3.h xxhash.h libelf.h gelf.h; do
    for folder in /usr/include "/usr/include/$(gcc -print-multiarch)"; do
        [ ! -e "$folder/$header" ] || cp -rL "$folder/$header" "$scratch/"
    done
done
n=0 bad=0
for file in parser/*/*.c analysis/*/*.c render/*/*.c cli/*.c cli/*/*.c capture/*.c capture/inject/redact*.c; do
    n=$((n + 1))
    musl-gcc -std=c17 -fsyntax-only -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -I. -isystem "$scratch" '-DMEMTRACE_VERSION=""' '-DMEMTRACE_HOME=""' \
        '-DMEMTRACE_BUILD_TYPE=""' '-DMEMTRACE_BUILD_SANITIZE=""' '-DMEMTRACE_CAPTURE_STATE=""' '-DMT_LIBRARY=""' "$file" || bad=$((bad + 1))
done
echo "$n files, $bad do not compile"
[ "$bad" -eq 0 ]
