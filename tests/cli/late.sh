#!/usr/bin/env bash
# libarchive and SQLite are opened when they are needed: nothing else fails where they are not there, and what fails says what is missing.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
name="$(sed -n 's/^MEMTRACE_LATE_ARCHIVE:[A-Z]*=//p' "$MT_BINARY_DIR/CMakeCache.txt")"
case "$name" in libarchive*) ;; *) skip_all "libarchive is linked in this build" ;; esac
ldd "$MEMTRACE" > .out
out_lacks libarchive

cp "$SAMPLES/tiny.pickle" here.pickle
tar cf here.tar here.pickle
run 0 report --format json here.pickle
cp .out before.json
run 0 info here.tar
run 0 --version
out_has ", libarchive "
# A file of that name that is no library, where it is looked for first.
mkdir none && : > "none/$name"
export LD_LIBRARY_PATH="$TMP/none${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
run 0 report --format json here.pickle
same .out before.json
run 1 info here.tar
err_has "packed with tar, and libarchive cannot be loaded on this machine; its package is libarchive13"
err_has "install that, or unpack the file first"
gzip -k here.pickle # zlib's own
run 0 info here.pickle.gz
run 1 report --format html -o page.html here.pickle
err_has "page.html: cannot be written, as a page is packed: libarchive cannot be loaded on this machine"
absent page.html
run 0 --version
out_has ", no libarchive, "

sqlite="$(sed -n 's/^MEMTRACE_LATE_SQLITE:[A-Z]*=//p' "$MT_BINARY_DIR/CMakeCache.txt")"
case "$sqlite" in libsqlite3*) ;; *) finish ;; esac
ldd "$MEMTRACE" > .out
out_lacks libsqlite3
database="$SAMPLES/nsys/job.sqlite"
run 0 info "$database"
out_has "Nsight Systems"
: > "none/$sqlite"
run 1 info "$database"
err_has "an SQLite database, as Nsight Systems exports, and SQLite cannot be loaded on this machine; its package is libsqlite3-0"
run 0 report --format json here.pickle
same .out before.json
run 0 --version
out_has ", no SQLite, "
finish
