#!/usr/bin/env bash
# --help, the man page and the completions of three shells name the same options, and the program takes every one of them.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$SAMPLES/tiny.pickle" .
cp "$SAMPLES/tiny.pickle" rank0.pickle
"$MEMTRACE" report tiny.pickle -q -o base.json || fail "base.json"
"$MEMTRACE" __man > memtrace.1 || fail "__man"
"$MEMTRACE" __complete-bash > memtrace.bash || fail "__complete-bash"
"$MEMTRACE" __complete-zsh > _memtrace || fail "__complete-zsh"
"$MEMTRACE" __complete-fish > memtrace.fish || fail "__complete-fish"

for c in report ticket diff check info dump export rules howto capture attach collect top snap doctor schema; do
    "$MEMTRACE" "$c" --help | sed -n '/^Options:/,/^Examples:/p' | grep -oE '^ +(-[a-zA-Z0-9], )?--[a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+' \
        | sort > "$c.help"
    check [ -s "$c.help" ]
    sed -n "/^[.]SS $c/,/^[.]S[SH] /p" memtrace.1 | tail -n +2 | sed '/^[.]S[SH] /d' | grep -oE '^(\\fB\\-[a-zA-Z0-9]\\fR, )?\\fB\\-\\-[a-z0-9\\-]+\\fR' \
        | sed 's/.*\\fB\\-\\-/--/; s/\\fR$//; s/\\-/-/g' | sort > "$c.man"
    same "$c.help" "$c.man"
    sed -n "s/^        $c) words=\"\(.*\)\" ;;/\1/p" memtrace.bash | tr ' ' '\n' | grep -e '^--' | sort > "$c.bash"
    same "$c.help" "$c.bash"
    sed -n "/^    $c)/,/;;/p" _memtrace | grep -oE "^        '(\(-[a-zA-Z0-9] --[a-z0-9-]+\)'|--[a-z0-9-]+)" | grep -oE -e '--[a-z0-9-]+' | sort > "$c.zsh"
    same "$c.help" "$c.zsh"
    sed -n "s/^complete -c memtrace -n '__fish_seen_subcommand_from $c'.* -l \\([a-z0-9-]*\\) .*/--\\1/p" memtrace.fish | sort > "$c.fish"
    same "$c.help" "$c.fish"
    case "$c" in capture | attach | collect | top | snap | doctor | schema | howto) continue ;; esac # what these do with an option is tested by capture*.sh
    while read -r option; do
        grep -q -e "^ .*$option [A-Z]" <("$MEMTRACE" "$c" --help) && value=(4096) || value=()
        case "$option" in
            --format) value=(json) ;;
            --fail-on) value=(never) ;;
            --threshold | --tolerance) value=(5%) ;;
            --max) value=(peak=1TiB) ;;
            --limits) printf 'peak = 1TiB # all of it\n' > limits && value=(limits) ;;
            --baseline) value=(base.json) ;;
            --framework) value=(verl) ;;
            --frames) value=(all) ;;
            --phase) value=(weight_sync) ;;
            --device) value=(0) ;;
            --try) value=(PYTORCH_CUDA_ALLOC_CONF.expandable_segments=True) ;;
            --to) value=(folded) ;;
            --at) value=(peak --to folded) ;;
            --rank) value=(0) ;;
            --redact-key) value=(0123456789abcdef) ;;
            --rules) printf '{"schema_version": 1, "phases": [], "fixes": []}' > rules.json && value=(rules.json) ;;
            --output) value=("out.$c") ;;
            --log | --config) printf 'a: 1\n' > some.yaml && value=(some.yaml) ;;
            --max-size) value=(20MB) ;;
            --max-memory | --max-string | --max-bytes | --capacity) value=(1GiB) ;;
        esac
        input=(tiny.pickle)
        want=0
        [ "$c" != check ] || want=4 # memory ran out
        [ "$c" != diff ] || input=(tiny.pickle rank0.pickle)
        [ "$c" != rules ] || input=()
        [ "$c" != ticket ] || rm -rf memtrace-ticket.* # it overwrites nothing
        [ "$option" != --rank ] || input=(rank0.pickle)
        [ "$option" != --help ] || want=0
        run "$want" "$c" "$option" "${value[@]}" "${input[@]}"
        rm -f tiny.pickle.html{,.gz}
        [ "$c" != report ] || [ "${#value[@]}" -eq 0 ] || run 0 "$c" "$option=${value[0]}" "${input[@]}" --force
        rm -f tiny.pickle.html{,.gz}
    done < "$c.help"
done
# Sizes say the same with every spelling; what is read comes back in the report's own command line.
for size in 80GiB 80G 81920MiB 85899345920; do
    run 0 report --format json --capacity "$size" tiny.pickle
    cp .out "capacity.$size"
    same capacity.80GiB "capacity.$size"
done

if command -v man > /dev/null; then
    man --warnings -l memtrace.1 > page 2> warnings
    check [ ! -s warnings ]
    check grep -q 'EXIT STATUS' page
fi
check bash -n memtrace.bash
if command -v shellcheck > /dev/null; then
    check shellcheck memtrace.bash
fi
if command -v fish > /dev/null; then
    check fish --no-execute memtrace.fish
    # shellcheck disable=SC2016 # fish's own
    as_fish() { XDG_DATA_HOME="$TMP" XDG_CONFIG_HOME="$TMP" fish --no-config -c 'source memtrace.fish; complete -C "$argv[1]"' -- "$1" | cut -f1 | tr '\n' ' '; }
    check [ "$(as_fish 'memtrace rep')" = "report " ]
    check [ "$(as_fish 'memtrace capture --no-t')" = "--no-torch " ]
    check [ "$(as_fish 'memtrace report --format m')" = "md " ]
    check [ "$(as_fish 'memtrace report --framework sli')" = "slime " ]
fi
if command -v zsh > /dev/null; then
    check zsh -n _memtrace
fi
complete_as() # WORD... -> COMPREPLY, one a line
{
    bash -c '. ./memtrace.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memtrace; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
check [ "$(complete_as memtrace rep)" = report ]
check [ "$(complete_as memtrace capture --no-t)" = --no-torch ]
check [ "$(complete_as memtrace collect -o tiny.p)" = tiny.pickle ]
check [ "$(complete_as memtrace report --for)" = "$(printf -- '--format\n--force')" ]
check [ "$(complete_as memtrace report --format m)" = md ]
check [ "$(complete_as memtrace report --framework sli)" = slime ]
check [ "$(complete_as memtrace info tiny.p)" = tiny.pickle ]
check [ "$(complete_as memtrace help du)" = dump ]
finish
