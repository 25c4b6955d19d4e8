#!/usr/bin/env bash
# Which library each layer may use; who may print, end the program, or ask the environment. Who may include whom: rooms.sh.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

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
only 'archive' parser render # reads packed inputs; packs the JSON of a page
only 'sqlite3[.]h' parser
only 'nettle/' parser render cli # hashes of inputs, of the page's script, of redacted names
only 'zlib[.]h' parser capture render cli
only 'isa-l' parser render # opens it and unpacks; packs the columns of a page
only 'libdeflate[.]h' parser render # opens it; packs the columns of a page
only 'gelf[.]h|libelf' capture
only 'xxhash' parser

# strip WORDS < FILES: where WORDS stand, as file:line: text. Comments and strings may say printf. One process for all files: one for each takes a minute.
strip()
{
    # shellcheck disable=SC2016 # words of awk
    xargs awk '{gsub(/\/[*][^*]*[*]\//, ""); sub(/^[ \t]*\/?[*].*/, ""); gsub(/"([^"\\]|\\.)*"/, "\"\""); print FILENAME ":" FNR ": " $0}' | grep -E "$1"
}
bad='(^|[^a-zA-Z0-9_])(printf|fprintf|vprintf|vfprintf|puts|putchar|fputs|perror|exit|_exit|_Exit|abort|assert|getenv|secure_getenv|setlocale|signal|sigaction|system|popen|malloc|calloc|realloc|free|strdup|strndup|asprintf|sprintf|gets|strtok|atoi|atol|strtod|atof|time|localtime|gmtime|rand)[ ]*[(]'
libraries() { files 'parser/*' 'analysis/*' 'render/*' 'capture/*' | grep -E '[.](c|h)$' | grep -vE '^capture/(inject|include)/|^capture/(launch|asker|attach_call|env)[.]c$'; }
said="a library calls what it may not: "
libraries | grep -v '^parser/base/mem[.]c$' | strip "$bad" | complain_each "$said"
[ -n "$(echo parser/base/mem.c | strip "$bad")" ] || complain "nothing in parser/base/mem.c calls malloc: this lint no longer works"
echo parser/base/mem.c | strip "${bad//malloc|calloc|realloc|free|/}" | complain_each "$said"

# env.c alone reads the environment, launch.c and asker.c alone fork and deal with signals; the injected library has an env.c of its own.
echo capture/env.c | strip "${bad//getenv|/}" | complain_each "$said"
printf '%s\n' capture/launch.c capture/asker.c | strip "(^|[^a-zA-Z0-9_])(printf|fprintf|puts|perror|exit|abort|assert|getenv|system|popen|malloc|calloc|realloc|free|strdup)[ ]*[(]" \
    | complain_each "$said"
# The allocator of cJSON is the process's: it is set in one place, which every JSON text of people goes through.
files 'parser/*' 'analysis/*' 'render/*' 'cli/*' 'capture/*' | grep -E '[.](c|h)$' | grep -v '^parser/base/json_text[.]c$' \
    | xargs grep -HnE 'cJSON_(InitHooks|Parse)' | complain_each "mt_json_text() parses JSON: "
files 'capture/inject/*' | grep -E '[.]c$' | grep -vE '/(env|abi_check)[.]c$' \
    | strip '(^|[^a-zA-Z0-9_])(getenv|secure_getenv|printf|fprintf|puts|perror|exit|_exit|abort|assert|signal|sigaction|setlocale|system|popen)[ ]*[(]' \
    | complain_each "the injected library calls what it may not: "
finish
