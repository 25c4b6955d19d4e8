#!/usr/bin/env bash
# What has to exist for what: a reader its dictionary and sample, a module its test, the README its commands.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

n=0
while read -r reader; do
    n=$((n + 1))
    [ -s "tests/fuzz/dict/$reader.dict" ] || complain "parser/input/readers.def has '$reader', but there is no tests/fuzz/dict/$reader.dict"
    [ -f "parser/$reader/reader.c" ] || complain "parser/input/readers.def has '$reader', but there is no parser/$reader/reader.c"
    case "$reader" in
        pickle) files 'samples/*' | grep -q '[.]pickle$' || complain "no sample for the reader '$reader'" ;;
        native) files 'samples/*' | grep -q '[.]trace[.]gz$' || complain "no sample for the reader '$reader'" ;;
        *) files 'samples/*' | grep -q "$reader" || complain "no sample for the reader '$reader'" ;;
    esac
done < <(sed -n 's/^MT_READER(\([a-z0-9_]*\)).*/\1/p' parser/input/readers.def)
[ "$n" -ge 2 ] || complain "parser/input/readers.def: $n readers"

# A dictionary that libFuzzer cannot read stops it at the start.
for dict in tests/fuzz/dict/*.dict; do
    [ -f "$dict" ] || continue
    grep -vE '^(#.*|[A-Za-z0-9_]*=?"([^"\\]|\\["\\]|\\x[0-9a-fA-F]{2})+"|)$' "$dict" > /dev/null \
        && complain "$dict: a line is neither a comment nor name=\"value\": $(grep -vnE '^(#.*|[A-Za-z0-9_]*=?"([^"\\]|\\["\\]|\\x[0-9a-fA-F]{2})+"|)$' "$dict" | head -n 1)"
done

# A table whose keys come from a file starts from the secret of the process. These have keys of ours, or few slots that nobody probes.
git grep -nE 'XXH3_(64|128)bits\(|0x9e3779b97f4a7c15|16777619|0x100000001b3' -- '*.c' '*.h' 2> /dev/null \
    | grep -vE '^(parser/base/secret[.][ch]|capture/inject/|tests/)' \
    | grep -vE '^(analysis/phases/rules[.]c|cli/redact/(words|redact)[.]c|analysis/roles/(sizes|chunk)[.]c|analysis/replay/owners[.]c|parser/json/cache[.]h|parser/profiler/slices[.]c):' \
    | complain_each "a hash without the secret of parser/base/secret.h: "

for f in README.md CHANGELOG.md LICENSE docs/architecture.md docs/inputs.md docs/json.md samples/README.md; do
    [ -s "$f" ] || complain "$f is missing"
done
if [ -f README.md ]; then
    for command in './bootstrap.sh demo' './bootstrap.sh test' 'memtrace report'; do
        grep -qF "$command" README.md || complain "README.md does not show: $command"
    done
    # Every file of the project that it links to is there.
    while IFS= read -r target; do
        [ -e "$target" ] || complain "README.md links to $target, which is not there"
    done < <(grep -oE '\]\([^)#]+' README.md | sed 's/^](//' | grep -vE '^[a-z]+:')
fi
# The top level: what docs/architecture.md describes and nothing else.
files '*' | cut -d / -f 1 | sort -u \
    | grep -vxE 'CMakeLists[.]txt|CMakePresets[.]json|package[.]json|Dockerfile|CHANGELOG[.]md|LICENSE|README[.]md|SECURITY[.]md|bootstrap[.]sh|[.](ci|clang-format|clang-tidy|gitattributes|gitignore|github)|parser|analysis|render|cli|templates|capture|tests|samples|docs|cmake|python|skills' \
    > "${TMPDIR:-/tmp}/top.$$" && complain "not expected at the top level: $(tr '\n' ' ' < "${TMPDIR:-/tmp}/top.$$")"
rm -f "${TMPDIR:-/tmp}/top.$$"
finish
