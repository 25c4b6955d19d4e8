# shellcheck shell=bash
# What every lint starts with: the list of the project's own files, and complaints that are counted.
set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
COMPLAINTS=0

# Tracked files and new ones that git does not ignore; without git, everything but build folders.
files()
{
    if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@" | sort -u
    else
        find . -type f -not -path './build*' -not -path './.git/*' -not -path './_packages/*' -not -path '*/__pycache__/*' -not -path '*/node_modules/*' | sed 's|^\./||' | sort \
            | if [ $# -gt 0 ]; then grep -E "$(printf '%s\n' "$@" | sed 's/[.]/[.]/g; s/[*]/.*/g; s/^/^(.*\/)?/; s/$/$/' | paste -sd '|')"; else cat; fi
    fi | while IFS= read -r f; do [ ! -f "$f" ] || printf '%s\n' "$f"; done
}
complain()
{
    COMPLAINTS=$((COMPLAINTS + 1))
    printf '%s\n' "$*"
}
# complaints from standard input, one a line
complain_each() { while IFS= read -r line; do complain "$1$line"; done; }
finish()
{
    [ "$COMPLAINTS" -eq 0 ] || printf '%d complaints\n' "$COMPLAINTS"
    [ "$COMPLAINTS" -eq 0 ]
    exit $?
}
skip_all()
{
    printf '# skipped: %s\n' "$1"
    exit 77
}
