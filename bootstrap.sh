#!/usr/bin/env bash
# Sets up what memtrace needs, builds it, and shows or tests it. Safe to run again: what is there is not fetched twice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage()
{
    cat <<'END'
usage: ./bootstrap.sh [COMMAND]

  demo           install what is missing, build, write report.html from a bundled sample (the default)
  test           install what is missing, build with warnings as errors, run the tests; ends with those it left out, and why
  test LABEL     only the tests with that label: ci (minutes) or full (all)
  build          install what is missing and build
  deps [KIND]    only install what is missing; KIND is build (the default), test, package or ci, each with what build has
  help           this text

BUILD_DIR is the folder to build in (default build).
END
}

say() { printf '%s\n' "$*"; }
die()
{
    printf 'bootstrap.sh: %s\n' "$*" >&2
    exit 1
}

build_dir="${BUILD_DIR:-build}"
jobs="$(nproc 2> /dev/null || echo 2)"
targets=() # all

# --- what is needed -------------------------------------------------------------------------------------------------------------
# Programs, as command:package. A command that is there needs no package.
tools_build=(cc:gcc make:make cmake:cmake ninja:ninja-build pkg-config:pkg-config objdump:binutils)
tools_test=(python3:python3 jq:jq git:git)
tools_package=(dpkg-shlibdeps:dpkg-dev fakeroot:fakeroot file:file strip:binutils python3:python3) # Python packs the wheel
tools_ci=(clang:clang clang-format:clang-format clang-tidy:clang-tidy cppcheck:cppcheck shellcheck:shellcheck zsh:zsh
    man:man-db mypy:mypy xz:xz-utils zstd:zstd bzip2:bzip2 lz4:lz4 zip:zip script:bsdutils xmllint:libxml2-utils
    node:nodejs npm:npm chromium:chromium cmark-gfm:cmark-gfm fish:fish valgrind:valgrind
    mpiexec:openmpi-bin gdb:gdb)
# An environment of Python's own, which the wheel is tried in.
libs_test=(python3-venv:-)
# Libraries, as package:pkg-config module.
libs_build=(libarchive-dev:libarchive zlib1g-dev:zlib libelf-dev:libelf nettle-dev:nettle libcjson-dev:libcjson libyaml-dev:yaml-0.1
    libxxhash-dev:libxxhash libsqlite3-dev:sqlite3 libisal-dev:- libdeflate-dev:-)
# For the tar.gz that needs only glibc.
libs_package=(liblzma-dev:liblzma libzstd-dev:libzstd liblz4-dev:liblz4 libbz2-dev:- libacl1-dev:- libxml2-dev:-)

# What clang's sanitizers and libFuzzer link with; part of another package on Ubuntu 22.04.
libs_ci=(libclang-rt-dev:- python3-jsonschema:- python3-distributed:- python3-mpi4py:-) # jsonschema: for docs/report.schema.json

have_package() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }

on_debian()
{
    [ -r /etc/os-release ] && command -v apt-get > /dev/null && command -v dpkg-query > /dev/null || return 1
    local ID="" ID_LIKE=""
    # shellcheck source=/dev/null
    . /etc/os-release
    case " $ID $ID_LIKE " in *" debian "* | *" ubuntu "*) return 0 ;; *) return 1 ;; esac
}

# Debian 12 has every package named here, also before its lists were ever fetched; Ubuntu lacks some.
is_offered()
{
    local ID=""
    # shellcheck source=/dev/null
    . /etc/os-release
    [ "$ID" = debian ] || apt-cache policy "$1" 2> /dev/null | grep -q 'Candidate: [0-9]'
}

# Of the libraries, what is only for systems that have it.
is_for_here()
{
    case "$1" in
        libclang-rt-dev | libdeflate-dev) is_offered "$1" ;;
        libisal-dev) # unpacks faster than zlib, which does all where it is not
            case "$(dpkg --print-architecture)" in amd64 | arm64) is_offered "$1" ;; *) false ;; esac ;;
    esac
}

# ensure KIND...: installs what is missing, or says what is and ends.
ensure()
{
    local kind entry missing=() tools=() libs=()
    for kind in "$@"; do
        case "$kind" in
            build) tools+=("${tools_build[@]}") libs+=("${libs_build[@]}") ;;
            test) tools+=("${tools_test[@]}") libs+=("${libs_test[@]}") ;;
            package) tools+=("${tools_package[@]}") libs+=("${libs_package[@]}") ;;
            ci) tools+=("${tools_ci[@]}") libs+=("${libs_ci[@]}") ;;
            *) die "deps: '$kind' is none of build, test, package, ci" ;;
        esac
    done
    if ! on_debian; then
        ensure_by_hand
        return
    fi
    for entry in "${tools[@]}"; do
        # Ubuntu ships Chromium as a snap only: the page test skips there.
        if [ "$entry" = chromium:chromium ] && ! is_offered chromium; then continue; fi
        command -v "${entry%%:*}" > /dev/null || missing+=("${entry#*:}")
    done
    # The compiler without the headers of the C library cannot build anything.
    have_package libc6-dev || missing+=(libc6-dev)
    for entry in "${libs[@]}"; do
        is_for_here "${entry%%:*}" || continue
        have_package "${entry%%:*}" || missing+=("${entry%%:*}")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0

    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
            root=(sudo -n)
        else
            say "Missing: ${missing[*]}"
            say "This needs root once; run:"
            say "    sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
            exit 1
        fi
    fi
    say "Installing: ${missing[*]}"
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q \
        || say "bootstrap.sh: the package lists could not be refreshed; trying with the ones there are" >&2
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" \
        || die "the packages could not be installed: ${missing[*]}"
}

# What checks the page's script and drives a browser: development tools, of which nothing gets into the program.
ensure_web()
{
    [ ! -e tests/web/node_modules/.package-lock.json ] || [ tests/web/package-lock.json -nt tests/web/node_modules/.package-lock.json ] || return 0
    local try
    for try in 1 2 3; do # a registry may be slow to answer
        if (cd tests/web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then return 0; fi
        say "bootstrap.sh: npm, attempt $try of 3 failed" >&2
        sleep 5
    done
    die "npm could not install what tests/web/package-lock.json names"
}

# An unknown distribution: go on when everything that the build itself needs is found, else say what is.
ensure_by_hand()
{
    local entry missing=()
    for entry in "${tools_build[@]}"; do
        [ "$entry" = ninja:ninja-build ] || command -v "${entry%%:*}" > /dev/null || missing+=("${entry%%:*}")
    done
    for entry in "${libs_build[@]}"; do
        [ "${entry#*:}" = - ] || pkg-config --exists "${entry#*:}" 2> /dev/null || missing+=("${entry#*:} (library and headers)")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    say "This is neither Debian nor Ubuntu, so nothing is installed for you. memtrace needs a C17 compiler, CMake 3.18 or newer, make or"
    say "ninja, pkg-config, binutils and the libraries libarchive, zlib, libelf, nettle, cJSON, libyaml, SQLite and xxHash with their headers."
    say "Missing here:"
    printf '    %s\n' "${missing[@]}"
    exit 1
}

check_cmake()
{
    local version
    version="$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')"
    [ "$(printf '%s\n' 3.18 "$version" | sort -V | head -n 1)" = 3.18 ] || die "CMake 3.18 or newer is needed; this is $version"
}

build()
{
    local generator=()
    check_cmake
    if [ ! -f "$build_dir/CMakeCache.txt" ] && command -v ninja > /dev/null; then
        generator=(-G Ninja)
    fi
    cmake -S . -B "$build_dir" "${generator[@]}" "$@" > "$build_dir.configure.log" 2>&1 \
        || { cat "$build_dir.configure.log"; rm -f "$build_dir.configure.log"; die "cmake failed; the text above says why"; }
    rm -f "$build_dir.configure.log"
    cmake --build "$build_dir" -j "$jobs" "${targets[@]}"
}

demo()
{
    local said
    targets=(--target memtrace memtrace_made) # what `cmake --install` needs too
    build
    said="$("$build_dir/memtrace" report samples/verl_grpo_oom_logprob.pickle -o report.html --force 2>&1)" || die "$said"
    say ""
    say "$said"
    say ""
    say "The report: $PWD/report.html (one file; open it in a browser, attach it to a ticket)"
    say "Your own:   $build_dir/memtrace report YOUR_SNAPSHOT.pickle"
}

# "100% tests passed" says nothing of those that did not run.
say_skips()
{
    local log="$build_dir/Testing/Temporary/LastTest.log" n
    n="$(grep -c '^# skipped: ' "$log" || true)"
    [ "$n" -gt 0 ] || return 0
    say ""
    say "$n tests or parts of tests were left out:"
    grep -h '^# skipped: ' "$log" | sed 's/^# skipped: //' | sort | uniq -c | sort -rn
    [ -e tests/web/node_modules/.package-lock.json ] || say "What the page's tests need is installed by: ./bootstrap.sh deps ci"
    if grep -q '^# skipped: .*shared data' "$log"; then say "The shared data are recordings of others, which are not public: tests/reference/README.md names where they are from."; fi
}

# What failed inside the failed tests, once more at the end: a long log is often kept by its first and last lines only.
say_failures()
{
    local log="$build_dir/Testing/Temporary/LastTest.log"
    say ""
    say "Checks that failed:"
    grep -h -E '^(not ok|[0-9. ]*✖|.*runtime error:|ERROR: |==[0-9]+==ERROR)' "$log" | sort -u | head -40 || true
}

# A skip hides what was not tested. With CI set only two reasons are good enough: the shared data and a GPU are not everywhere.
check_skips()
{
    local log="$build_dir/Testing/Temporary/LastTest.log" bad
    [ -n "${CI:-}" ] && [ "${CI:-}" != false ] || return 0
    bad="$(grep -h '^# skipped: ' "$log" | grep -v -i -E 'shared data|GPU|sanitizer' | sort | uniq -c || true)"
    [ -z "$bad" ] && return 0
    say ""
    say "Skipped tests, which CI=$CI makes a failure:"
    say "$bad"
    return 1
}

run_tests()
{
    local select=() rc=0
    [ $# -eq 0 ] || select=(-L "^$1\$")
    build -DMEMTRACE_WERROR=ON -DBUILD_TESTING=ON
    (cd "$build_dir" && ctest --output-on-failure --no-label-summary -j "$((jobs + 1))" "${select[@]}") || rc=$?
    say_skips
    [ "$rc" -eq 0 ] || say_failures
    check_skips || rc=1
    return "$rc"
}

case "${1:-demo}" in
    demo)
        ensure build
        demo
        ;;
    build)
        ensure build
        build -DBUILD_TESTING=OFF # two fifths of the steps are tests
        ;;
    test)
        shift
        ensure build test package
        run_tests "$@"
        ;;
    deps)
        shift
        [ $# -gt 0 ] || set -- build
        if [ "$1" = ci ]; then set -- build test package ci; fi
        [ "$1" = build ] || set -- build "$@" # nobody tests or packs without
        ensure "$@"
        case " $* " in *" ci "*) ensure_web ;; esac
        say "Everything for '$*' is there."
        ;;
    help | -h | --help) usage ;;
    *)
        usage >&2
        exit 2
        ;;
esac
