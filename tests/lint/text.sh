#!/usr/bin/env bash
# Every text file: no path of somebody's machine, no tabs or blanks at line ends, no leftovers, not too long.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
shopt -s lastpipe

text_files() { files '*' | grep -vE '[.](pickle|gz|xz|zst|bz2|lz4|zip|7z|tar|png|bin|sqlite)$|^samples/.*[.](json|html|tsv|csv)$|^tests/(data|golden|fuzz/(corpus|regress))/|^LICENSE$'; }
mapfile -t list < <(text_files)
declare -A lines # of each file
[ "${#list[@]}" -gt 60 ] || complain "only ${#list[@]} files were seen: this lint no longer works"

# Absolute paths of a home or of a work folder. Test data and samples imitate other people's paths on purpose.
mapfile -t code < <(printf '%s\n' "${list[@]}" | grep -vE '^(samples|tests)/')
grep -HnE '(^|[^A-Za-z0-9_.])/(home|root|Users|work|workspace|mnt)/[A-Za-z0-9]' "${code[@]}" | complain_each "a path of one machine: "
grep -HnE '(^|[^A-Za-z0-9_.])/wor[k]/[A-Za-z0-9]' "${list[@]}" | grep -v '^tests/lint/text[.]sh:' | complain_each "a path of one machine: "
grep -HnwE '(TODO|FIXME|XXX)' "${list[@]}" | grep -v '^tests/lint/text[.]sh:' | grep -vE '"(TODO|FIXME|XXX)"' | complain_each "a leftover: "
grep -HnE '[ 	]+$' "${list[@]}" | grep -v '[.]md:' | complain_each "blanks at the end of the line: "
grep -HnP '\t' "${list[@]}" | grep -vE '(^|/)(Makefile|[^:]*[.]tsv|[^:]*[.]py|tests/(golden|reference)/[^:]*):|tests/lint/' | complain_each "a tab: "
mapfile -t c_files < <(printf '%s\n' "${list[@]}" | grep -E '[.](c|h|def)$')
grep -HnE '^[ ]*//|[;{}] *// ' "${c_files[@]}" | grep -vE '^[^:]*:[0-9]+: [*] ' | complain_each "a // comment: "

# One wc and one awk for all files: a process for each would take minutes. awk counts a last line that does not end, wc does not.
{
    printf '%s\0' "${list[@]}" | xargs -0 wc -l | awk '$2 != "total" {print "wc", $1, $2}'
    printf '%s\0' "${list[@]}" | xargs -0 awk '{n[FILENAME]++} END {for (f in n) print "awk", n[f], f}'
} | while read -r by n f; do
    if [ "$by" = awk ]; then
        [ "$n" -eq "${lines["$f"]}" ] || complain "$f: no newline at the end"
        continue
    fi
    lines["$f"]="$n"
    case "$f" in
        */package-lock.json) ;; # made by npm
        tests/*) [ "$n" -le 1300 ] || complain "$f: $n lines; think about two files (1300 for tests)" ;;
        *.c | *.h | *.sh | *.py | *.def) [ "$n" -le 620 ] || complain "$f: $n lines; think about two files (600)" ;;
    esac
done
finish
