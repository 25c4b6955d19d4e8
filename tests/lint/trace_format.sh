#!/usr/bin/env bash
# docs/trace-format.md has every number of parser/model/wire.h: record types, operations, fields, status codes, losses, ends.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
wire=parser/model/wire.h doc=docs/trace-format.md

# numbers PREFIX: "N NAME" of each row of an enumeration
numbers() { sed -nE "s/^[ ]*$1([A-Z0-9_]+) = ([0-9]+).*/\2 \1/p" "$wire"; }
# sentence WORD: the paragraph that begins with it, as one line
sentence() { awk -v word="$1:" 'index($0, word) == 1 { p = 1 } p && /^$/ { exit } p { printf "%s ", $0 }' "$doc"; }

n=0
while read -r number name; do
    n=$((n + 1))
    grep -qF "| $number | $name |" "$doc" || complain "$doc lacks record type $number $name"
done < <(tr '\n' ' ' < "$wire" | grep -oE 'MT_WR_[A-Z0-9_]+ = +[0-9]+' | sed -E 's/MT_WR_([A-Z0-9_]+) = +([0-9]+)/\2 \1/')
[ "$n" -ge 23 ] || complain "$wire: only $n record types were seen: this lint no longer works"

for kind in "status:MT_ST_:19" "loss:MT_LO_:5" "end:MT_WE_:5"; do
    IFS=: read -r word prefix least <<< "$kind"
    text="$(sentence "$word")" n=0
    while read -r number _; do
        n=$((n + 1))
        grep -qE "[:,] $number [A-Za-z]" <<< "$text" || complain "$doc, \"$word:\" lacks $number ($prefix... of $wire)"
    done < <(numbers "$prefix")
    [ "$n" -ge "$least" ] || complain "$wire: only $n numbers of $prefix were seen: this lint no longer works"
    listed="$(grep -oE '[:,] [0-9]+ [A-Za-z]' <<< "$text" | wc -l)"
    [ "$listed" -eq "$n" ] || complain "$doc, \"$word:\" lists $listed, $wire has $n"
done

# Operations, numbered from 0 in the order of the rows.
n=0
ops="$(tr '\n' ' ' < "$doc")"
while read -r name; do
    grep -qF " $n $name" <<< "$ops" || complain "$doc lacks operation $n $name"
    n=$((n + 1))
done < <(sed -n '/define MT_WIRE_OPS/,/^$/p' "$wire" | grep -oE '[A-Z]\([A-Z0-9_]+, "?[a-z0-9_]+' | grep -oE '[a-z0-9_]+$')
[ "$n" -ge 46 ] || complain "$wire: only $n operations were seen: this lint no longer works"

# Fields of CALL and MEMORY2: bit and value.
n=0
while read -r bit; do
    n=$((n + 1))
    grep -qE "^[|] $bit [|] $((1 << bit)) [|]" "$doc" || complain "$doc lacks the field with bit $bit"
done < <(grep -oE 'MT_W[FM]_[A-Z0-9_]+ = 1 << [0-9]+' "$wire" | grep -oE '[0-9]+$')
[ "$n" -ge 29 ] || complain "$wire: only $n fields were seen: this lint no longer works"
finish
