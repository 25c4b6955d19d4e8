#!/usr/bin/env bash
# --max-size, --any-size and --gzip: a page never gets larger than asked for, says what it gave up, and reads the same compressed.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3

python3 -B "$MT_SOURCE_DIR/tests/bench/gen.py" 200000 big.pickle
run 0 report -q big.pickle --max-size 25MB -o whole.html
whole="$(stat -c %s whole.html)"
grep -q '"level":"exact","left_out":\[\]' whole.html || fail "there is room for everything in $whole bytes"

level() { grep -oE '"level":"[a-z]+"' "$1" | cut -d'"' -f4; }
seen=
for size in $((whole - 20000)) $((whole * 2 / 3)) $((whole / 2)) $((whole / 3)) $((whole / 4)); do
    if ! "$MEMTRACE" report -f -q big.pickle --max-size "$size" -o part.html 2> err; then
        grep -q 'more than --max-size allows' err || fail "$(cat err)"
        absent part.html
        continue
    fi
    check [ "$(stat -c %s part.html)" -le "$size" ]
    grep -q '"left_out":\["' part.html || fail "$size: nothing is said of what was left out"
    grep -q 'The timeline leaves out what follows' part.html || fail "$size: the page does not say what it leaves out"
    seen="$seen $(level part.html)"
    rm part.html
done
for want in exact windows overview; do
    case "$seen" in *"$want"*) ;; *) fail "no page of the level $want: $seen" ;; esac
done

# Of many ranks, the one of the verdict and the median come first; an overview there is of each.
python3 -B "$MT_SOURCE_DIR/tests/bench/gen.py" 60000 one.pickle
mkdir ranks
for i in 0 1 2 3 4 5; do cp one.pickle "ranks/snapshot_rank$i.pickle"; done
run 0 report -q ranks --max-size 2200kB -o ranks.html
check [ "$(stat -c %s ranks.html)" -le 2200000 ]
check [ "$(level ranks.html | grep -c exact)" -ge 2 ]
check [ "$(level ranks.html | grep -c overview)" -ge 2 ]
check [ "$(grep -c -E 'id="mt-t[0-5]-e"' ranks.html)" -eq 6 ]
grep -q '<li>rank 5, device 0: exact events' ranks.html || fail "the page does not say which ranks it leaves out"

# Nothing is written that is larger than asked for, in no format.
for format in html text json; do
    run 1 report -q big.pickle --format "$format" --max-size 2000 -o small
    err_has 'more than --max-size allows'
    absent small
done
# Markdown gives up rows, and says so
run 0 report -q big.pickle --format md --max-size 3000 -o small.md
check [ "$(stat -c %s small.md)" -le 3000 ]
check grep -q 'more rows have no room' small.md
run 0 report -q big.pickle --format text --full --max-size 200kB -o small
run 2 report -q big.pickle --max-size 26MB -o page.html
err_has --any-size
run 0 report -q big.pickle --max-size 26MB --any-size -o page.html

# Compressed: the same page, the same bytes each time, and a name that says so.
run 0 report -q big.pickle --gzip
run 0 report -q big.pickle
same big.pickle.html <(gzip -dc big.pickle.html.gz)
run 0 report -q big.pickle --gzip -o again.gz
same big.pickle.html.gz again.gz
"$MEMTRACE" report -q big.pickle --gzip --format md -o - | gzip -dc > md.again || fail "to standard output"
run 0 report -q big.pickle --format md -o md.plain
same md.again md.plain
finish
