#!/usr/bin/env bash
# The layers: parser <- analysis <- render <- cli, parser <- capture <- cli, the injected library alone; which library each may use; who may print, end the program, or ask the environment.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

# may INCLUDER INCLUDED-FOLDER INCLUDED-FILE
may()
{
    case "$1:$3" in
        inject:parser/model/wire.h | inject:capture/inject/*) return 0 ;; # nothing else comes into other people's processes
        capture:capture/inject/redact.h | cli:capture/inject/redact.h) return 0 ;; # command lines are redacted by the same rules
        *:capture/inject/* | inject:*) return 1 ;;
    esac
    case "$1:$2" in
        capture:capture | capture:parser | cli:capture) ;;
        parser:parser | analysis:analysis | render:render | cli:cli) ;;
        analysis:parser | render:parser | cli:parser) ;;
        render:analysis | cli:analysis | cli:render) ;;
        *) return 1 ;;
    esac
}
n=0
while IFS=: read -r file line included; do
    n=$((n + 1))
    from="${file%%/*}"
    case "$file" in
        capture/inject/abi_check.c) continue ;; # compares with NVIDIA's headers; never linked
        capture/inject/*) from=inject ;;
    esac
    case "$included" in
        */*) to="${included%%/*}" ;;
        *) complain "$file:$line: \"$included\": write includes from the project root"; continue ;;
    esac
    may "$from" "$to" "$included" || complain "$file:$line: $from/ may not include $included"
    [ -f "$included" ] || complain "$file:$line: there is no $included"
done < <(files 'parser/*' 'analysis/*' 'render/*' 'cli/*' 'capture/*' | grep -E '[.](c|h|def)$' | grep -v '^capture/include/' \
    | xargs grep -HnoE '^[ \t]*#[ \t]*include[ \t]*"[^"]+"' | sed -E 's/#[ \t]*include[ \t]*"([^"]+)"/\1/; s/: *([^:]*)$/:\1/')
[ "$n" -gt 50 ] || complain "only $n includes were seen: this lint no longer works"

# A library belongs to some layers. cli/version.c names their versions.
only() # HEADERS FOLDER...
{
    local header="$1" folder here="" where
    shift
    where="$(printf ' -e ^%s/' "$@")"
    # shellcheck disable=SC2086 # words
    files 'parser/*' 'analysis/*' 'render/*' 'cli/*' 'capture/*' | grep -E '[.](c|h)$' | grep -v $where -e '^cli/version[.]c$' \
        | xargs grep -HnE "^[ \t]*#[ \t]*include[ \t]*<($header)[^>]*>" | complain_each "only $* may use this library: "
    for folder in "$@"; do
        here="$(files "$folder/*" | xargs grep -lE "^[ \t]*#[ \t]*include[ \t]*<($header)")"
        [ -n "$here" ] || complain "nothing in $folder/ includes <$header>: this lint no longer works"
    done
}
# shopt lastpipe keeps the count: complain_each runs in this shell
shopt -s lastpipe
only 'cjson/' analysis parser
only 'yaml[.]h' parser
only 'archive' parser
only 'nettle/' parser render cli # hashes of inputs, of the page's script, of redacted names
only 'zlib[.]h' parser capture render cli
only 'gelf[.]h|libelf' capture
only 'xxhash' parser

# Comments and strings may say printf.
strip() { sed -E 's|/\*[^*]*\*/||g; s|^[ \t]*/?\*.*||; s|"([^"\\]\|\\.)*"|""|g' "$1"; }
bad='(^|[^a-zA-Z0-9_])(printf|fprintf|vprintf|vfprintf|puts|putchar|fputs|perror|exit|_exit|_Exit|abort|assert|getenv|secure_getenv|setlocale|signal|sigaction|system|popen|malloc|calloc|realloc|free|strdup|strndup|asprintf|sprintf|gets|strtok|atoi|atol|strtod|atof|time|localtime|gmtime|rand)[ ]*[(]'
allow_memory='^parser/base/mem[.]c$'
while IFS= read -r file; do
    words="$bad"
    if [[ "$file" =~ $allow_memory ]]; then words="${bad//malloc|calloc|realloc|free|/}"; fi
    strip "$file" | grep -nE "$words" | complain_each "$file: a library calls what it may not: "
done < <(files 'parser/*' 'analysis/*' 'render/*' 'capture/*' | grep -E '[.](c|h)$' | grep -vE '^capture/(inject|include)/|^capture/launch[.]c$')

# launch.c alone reads the environment, forks and deals with signals; the injected library hears of the environment through env.c.
strip capture/launch.c | grep -nE "(^|[^a-zA-Z0-9_])(printf|fprintf|puts|perror|exit|abort|assert|system|popen|malloc|calloc|realloc|free|strdup)[ ]*[(]" \
    | complain_each "capture/launch.c: a library calls what it may not: "
while IFS= read -r file; do
    strip "$file" | grep -nE '(^|[^a-zA-Z0-9_])(getenv|secure_getenv|printf|fprintf|puts|perror|exit|_exit|abort|assert|signal|sigaction|setlocale|system|popen)[ ]*[(]' \
        | complain_each "$file: the injected library calls what it may not: "
done < <(files 'capture/inject/*' | grep -E '[.]c$' | grep -vE '/(env|abi_check)[.]c$')
finish
