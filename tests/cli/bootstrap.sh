#!/usr/bin/env bash
# bootstrap.sh: what it says without root, that a second run fetches nothing, and what it does on an unknown system.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
[ -r /etc/os-release ] || skip_all "no /etc/os-release"
grep -qiE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release || skip_all "bootstrap.sh installs packages on Debian and Ubuntu only"
script="$MT_SOURCE_DIR/bootstrap.sh"
unset BUILD_DIR # of who runs the tests
mkdir bin
fake() { printf '#!/bin/sh\n%s\n' "$2" > "bin/$1" && chmod +x "bin/$1"; }

# not root, no sudo without a password: the exact line, nothing else, status 1
fake dpkg-query 'exit 1'
fake id 'echo 1000'
fake sudo 'exit 1'
fake apt-get "echo called >> '$TMP/apt'; exit 1"
PATH="$TMP/bin:$PATH" bash "$script" deps build > .out 2> .err
check [ $? -eq 1 ]
out_has "sudo apt-get update && sudo apt-get install -y --no-install-recommends"
for package in libc6-dev libarchive-dev zlib1g-dev nettle-dev libcjson-dev libyaml-dev libxxhash-dev libsqlite3-dev; do out_has "$package"; done
absent apt

# with sudo that asks for nothing, that is what is called
# shellcheck disable=SC2016
fake sudo 'shift; [ "$1" = true ] || exec "$@"'
fake apt-get "echo \"\$*\" >> '$TMP/apt'"
PATH="$TMP/bin:$PATH" bash "$script" deps build > .out 2> .err
check [ $? -eq 0 ]
check grep -q '^update' apt
check grep -q '^install .*libarchive-dev' apt
rm apt

# a machine that has nothing: what packs also builds
PATH="$TMP/bin:$PATH" bash "$script" deps package > .out 2> .err
check grep -q '^install .*libarchive-dev.*liblzma-dev' apt
rm apt

# everything is there: no package manager, no network
fake dpkg-query 'echo installed'
fake sudo 'exit 1'
PATH="$TMP/bin:$PATH" bash "$script" deps build > .out 2> .err
check [ $? -eq 0 ]
absent apt

# another distribution: pkg-config decides
mkdir other && sed -e 's|/etc/os-release|./os-release|g' -e "s|^cd .*|cd '$TMP/other'|" "$script" > other/bootstrap.sh
printf 'ID=arch\n' > other/os-release
bash other/bootstrap.sh deps build > .out 2> .err
check [ $? -eq 0 ]
PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH='' bash other/bootstrap.sh deps build > .out 2> .err
check [ $? -eq 1 ]
out_has "neither Debian nor Ubuntu"
out_has "libarchive (library and headers)"

# what is built, and what the tests left out
# shellcheck disable=SC2016 # for the inner shell
fake cmake '[ "$1" != --version ] || { echo "cmake version 3.25.1"; exit 0; }; echo "$*" >> calls; mkdir -p build/Testing/Temporary'
fake ctest 'printf "# skipped: no node\n# skipped: no node\n# skipped: the shared data folder is not there\n" > Testing/Temporary/LastTest.log'
(cd other && CI='' PATH="$TMP/bin:$PATH" bash bootstrap.sh test) > .out 2> .err
check [ $? -eq 0 ]
out_has "3 tests or parts of tests were left out:"
check grep -qE '^ +2 no node$' .out
out_has "./bootstrap.sh deps ci"
out_has "which are not public: tests/reference/README.md"
check grep -q -e '-DBUILD_TESTING=ON' other/calls
rm other/calls
(cd other && PATH="$TMP/bin:$PATH" bash bootstrap.sh build) > .out 2> .err
check grep -q -e '-DBUILD_TESTING=OFF' other/calls
(cd other && PATH="$TMP/bin:$PATH" bash bootstrap.sh demo) > .out 2> .err
check grep -q -e '--target memtrace memtrace_made$' other/calls # `cmake --install` wants the second

bash "$script" frobnicate > .out 2> .err
check [ $? -eq 2 ]
bash "$script" help > .out 2> .err
check [ $? -eq 0 ]
out_has "./bootstrap.sh [COMMAND]"
finish
