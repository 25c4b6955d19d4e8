#!/usr/bin/env bash
# The layers: parser <- analysis <- render <- cli; which library each may use; who may print, end the program, or ask the environment.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

# may INCLUDER INCLUDED
may()
{
    case "$1:$2" in
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
    case "$included" in
        */*) to="${included%%/*}" ;;
        *) complain "$file:$line: \"$included\": write includes from the project root"; continue ;;
    esac
    may "$from" "$to" || complain "$file:$line: $from/ may not include $included"
    [ -f "$included" ] || complain "$file:$line: there is no $included"
done < <(files 'parser/*' 'analysis/*' 'render/*' 'cli/*' | grep -E '[.](c|h|def)$' \
    | xargs grep -HnoE '^[ \t]*#[ \t]*include[ \t]*"[^"]+"' | sed -E 's/#[ \t]*include[ \t]*"([^"]+)"/\1/; s/: *([^:]*)$/:\1/')
[ "$n" -gt 50 ] || complain "only $n includes were seen: this lint no longer works"

# A library belongs to one layer. cli/version.c names their versions.
only() # HEADERS FOLDER
{
    files 'parser/*' 'analysis/*' 'render/*' 'cli/*' | grep -E '[.](c|h)$' | grep -v -e "^$2/" -e '^cli/version[.]c$' \
        | xargs grep -HnE "^[ \t]*#[ \t]*include[ \t]*<($1)[^>]*>" | complain_each "only $2/ may use this library: "
    [ -n "$(files "$2/*" | xargs grep -lE "^[ \t]*#[ \t]*include[ \t]*<($1)")" ] || complain "nothing in $2/ includes <$1>: this lint no longer works"
}
# shopt lastpipe keeps the count: complain_each runs in this shell
shopt -s lastpipe
only 'cjson/' analysis
only 'zlib[.]h|archive|nettle/' parser
only 'xxhash' parser

# Comments and strings may say printf.
strip() { sed -E 's|/\*[^*]*\*/||g; s|^[ \t]*/?\*.*||; s|"([^"\\]\|\\.)*"|""|g' "$1"; }
bad='(^|[^a-zA-Z0-9_])(printf|fprintf|vprintf|vfprintf|puts|putchar|fputs|perror|exit|_exit|_Exit|abort|assert|getenv|secure_getenv|setlocale|signal|sigaction|system|popen|malloc|calloc|realloc|free|strdup|strndup|asprintf|sprintf|gets|strtok|atoi|atol|strtod|atof|time|localtime|gmtime|rand)[ ]*[(]'
allow_memory='^parser/base/mem[.]c$'
while IFS= read -r file; do
    words="$bad"
    if [[ "$file" =~ $allow_memory ]]; then words="${bad//malloc|calloc|realloc|free|/}"; fi
    strip "$file" | grep -nE "$words" | complain_each "$file: a library calls what it may not: "
done < <(files 'parser/*' 'analysis/*' 'render/*' | grep -E '[.](c|h)$')
finish
