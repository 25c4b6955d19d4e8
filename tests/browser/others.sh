#!/usr/bin/env bash
# others.sh [FOLDER] -- does a report work in Firefox and in WebKitGTK? Not a part of the test suite: it needs both browsers,
#   apt-get install firefox-esr webkit2gtk-driver xvfb xauth     (Debian 12)
# $MEMTRACE names the program. With FOLDER it leaves a screenshot of each there. A browser that is not installed is said and left out;
# with neither it ends with 77. README.md has the last result.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
export MT_SOURCE_DIR=${MT_SOURCE_DIR:-$(cd ../.. && pwd)}
export MEMTRACE=${MEMTRACE:-$MT_SOURCE_DIR/build/memtrace}
out=${1:+$(realpath -m "$1")}

if ! command -v node > /dev/null; then
    echo "# skipped: there is no node"
    exit 77
fi
# MiniBrowser of WebKitGTK has no mode without a display
if [ -z "${DISPLAY:-}" ] && command -v xvfb-run > /dev/null && command -v xauth > /dev/null; then
    exec xvfb-run -a -s "-screen 0 1600x1200x24" node others.mjs ${out:+"$out"}
fi
exec node others.mjs ${out:+"$out"}
