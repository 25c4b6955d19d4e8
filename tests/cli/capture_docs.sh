#!/usr/bin/env bash
# docs/capture.md against the code: every option, setting and recorded variable is in it, with its default, and nothing that is not there.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
doc="$MT_SOURCE_DIR/docs/capture.md" inject="$MT_SOURCE_DIR/capture/inject"
exists "$doc"

# same_lines WHAT CODE DOCS: two sorted lists; what is in one only is named
same_lines()
{
    check [ -s "$2" ]
    if cmp -s "$2" "$3"; then ok; else fail "$1: in the code and not in docs/capture.md: [$(comm -23 "$2" "$3" | tr '\n' ' ')]; in docs/capture.md only: [$(comm -13 "$2" "$3" | tr '\n' ' ')]"; fi
}
# Names in backquotes in the first column of the table that begins with the line $1.
table() { awk -v head="$1" 'index($0, head) == 1 { in_it = 1; next } in_it && !/^[|]/ { exit } in_it && !/^[|]-/ { split($0, cell, "|"); print cell[2] }' "$doc"; }
# shellcheck disable=SC2016 # backquotes of Markdown, here and below
quoted() { grep -oE '`[^`]+`' | tr -d '`' | sort; }

# --- recorded variables: NAME, NAME* for a prefix, and those of which only the fact is kept
rows() { sed -nE 's/^MTI_RECORD\("([A-Z0-9_]+)", (EXACT|PREFIX|SET),.*/\2 \1/p' "$inject/env_recorded.def"; }
check [ "$(rows | wc -l)" -eq "$(grep -c '^MTI_RECORD' "$inject/env_recorded.def")" ]
rows | awk '$1 == "SET" { print $2 }' | sort > set.code
rows | awk '$1 == "EXACT" { print $2 } $1 == "PREFIX" { print $2 "*" }' | sort > recorded.code
table '| recorded |' | grep 'only that they are set' | quoted > set.docs
table '| recorded |' | grep -v 'only that they are set' | quoted > recorded.docs
same_lines "recorded variables" recorded.code recorded.docs
same_lines "variables of which it is recorded that they are set" set.code set.docs

# --- settings, of the library, the Python hook and the programs
{
    sed -nE 's/^MTI_[A-Z]+\([a-z0-9_]+, "(MEMTRACE_[A-Z0-9_]+)".*/\1/p' "$inject/env.def"
    grep -hoE '"MEMTRACE_[A-Z0-9_]+"' "$MT_SOURCE_DIR"/capture/site/*.py | tr -d '"'
    grep -hoE '(getenv|mt_capture_env)\("MEMTRACE_[A-Z0-9_]+"\)' "$MT_SOURCE_DIR"/capture/*.c "$MT_SOURCE_DIR"/cli/*.c | grep -oE 'MEMTRACE_[A-Z0-9_]+'
} | sort -u > settings.code
table '| variable | default |' | quoted > settings.docs
same_lines "settings" settings.code settings.docs
defaults() # of the .def: NAME VALUE
{
    sed -nE 's/^MTI_NUMBER\([a-z0-9_]+, "([A-Z0-9_]+)", ([0-9]+),.*/\1 \2/p; s/^MTI_SWITCH\([a-z0-9_]+, "([A-Z0-9_]+)", true\).*/\1 1/p
        s/^MTI_SWITCH\([a-z0-9_]+, "([A-Z0-9_]+)", false\).*/\1 0/p' "$inject/env.def"
    sed -nE 's/.*setting\("(MEMTRACE_[A-Z_]+)", "([a-z0-9]+)"\).*/\1 \2/p' "$MT_SOURCE_DIR/capture/site/_memtrace_hook.py"
}
check [ "$(defaults | wc -l)" -ge 10 ]
while read -r name value; do
    if grep -qF "| \`$name\` | $value |" "$doc"; then ok; else fail "docs/capture.md does not say that $name is $value by default"; fi
done < <(defaults)

# --- options, with their defaults
options() { "$MEMTRACE" "$1" --help | sed -n '/^Options:/,/^Examples:/p' | grep -oE '^ +(-[a-zA-Z], )?--[a-z0-9-]+' | grep -oE -e '-[-a-zA-Z0-9]+' | sort; }
options capture > options.code
# shellcheck disable=SC2016 # backquotes of Markdown
table '| option of `capture` |' | quoted | sed 's/ .*//' | sort > options.docs
same_lines "options of capture" options.code options.docs
for command in collect doctor; do
    for option in $(options "$command"); do
        if grep -qE -e "\`${option}[ \`]" "$doc"; then ok; else fail "docs/capture.md lacks $option of $command"; fi
    done
done
while IFS= read -r line; do
    if grep -qE "^[|] .*\`--${line%% *} N\`.*default ${line##* }\b" "$doc"; then ok; else fail "docs/capture.md lacks the default ${line##* } of --${line%% *}"; fi
done < <("$MEMTRACE" capture --help | tr -s ' \n' ' ' | grep -oE -e '--[a-z-]+ N [^(]*\(default [0-9]+\)' | sed -E 's/^--([a-z-]+) .*default ([0-9]+)\)/\1 \2/')

# --- what is set for workers that inherit nothing; where the links lead
for name in $("$MEMTRACE" doctor --json | grep -oE '"[A-Z0-9_]+":' | tr -d '":'); do
    if grep -qF "\"$name\": \"" "$doc"; then ok; else fail "docs/capture.md does not hand $name to Ray's workers"; fi
done
while IFS= read -r target; do
    exists "$MT_SOURCE_DIR/docs/$target"
done < <(grep -oE '\]\([^):#]+\)' "$doc" | tr -d ']()')
finish
