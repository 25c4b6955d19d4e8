#!/usr/bin/env bash
# report --open: the programs of $BROWSER in their order, xdg-open where there is a display, a sentence where there is neither.
# shellcheck disable=SC2016 # not expanded here
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$SAMPLES/tiny.pickle" .
unset BROWSER DISPLAY WAYLAND_DISPLAY WSL_DISTRO_NAME
mkdir bin
printf '#!/bin/sh\nprintf "%%s|" "$0" "$@" > "%s/opened"\n' "$TMP" > bin/good
printf '#!/bin/sh\nexit 3\n' > bin/bad
chmod +x bin/good bin/bad
cp bin/good bin/xdg-open
PATH="$TMP/bin:$PATH"
good() { printf '%s/bin/good|' "$TMP"; }

run 0 report tiny.pickle -o a.html --open
err_has 'there is no display here'
err_has "$TMP/a.html"
exists a.html

BROWSER="good" run 0 report tiny.pickle -o b.html --open
check [ "$(cat opened)" = "$(good)$TMP/b.html|" ]
err_lacks '--open'
rm opened

# in order; "%s" is the page; the page's name is no shell's business
BROWSER="/nowhere/at/all:bad:good --new %s --end" run 0 report tiny.pickle -o 'c; touch evil.html' --open -q
check [ "$(cat opened)" = "$(good)--new|$TMP/c; touch evil.html|--end|" ]
absent evil.html
err_empty
rm opened

BROWSER="/nowhere/at/all" run 0 report tiny.pickle -o d.html --open
err_has 'no program of $BROWSER'
exists d.html

DISPLAY=:9 run 0 report tiny.pickle -o e.html --open
check [ "$(cat opened)" = "$TMP/bin/xdg-open|$TMP/e.html|" ]
rm opened

# only a page in a file can be opened; said before anything is read
for wrong in "--format text --full" "--format html -o -" "--format json -o x.json" "--gzip"; do
    # shellcheck disable=SC2086 # words
    BROWSER="good" run 2 report tiny.pickle $wrong --open
    err_has '--open shows a page that was written to a file'
    out_empty
done
absent opened
absent x.json
# nothing was written: nothing is opened
BROWSER="good" run 1 report /nowhere/at/all -o f.html --open
absent opened
finish
