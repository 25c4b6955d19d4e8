# shellcheck shell=bash
# What every shell test starts with. In: MEMTRACE (the program), MT_SOURCE_DIR, MT_BINARY_DIR. Ends with `finish`.
set -u
# Signals that a background job or a service manager ignores (INT, PIPE) would be ignored in all that runs here too: no shell can undo that.
if [ -z "${MT_SIGNALS_RESET:-}" ] && ! grep -qE '^SigIgn:[[:blank:]]*0+$' /proc/self/status && env --default-signal true 2> /dev/null; then
    MT_SIGNALS_RESET=1 exec env --default-signal bash "$0" "$@"
fi
export LC_ALL=C
umask 022
export XDG_CONFIG_HOME=/nonexistent # no memtrace.toml of whoever runs this
export MEMTRACE_PAGER= # on a terminal too, nobody is there to leave it
unset NO_COLOR COLUMNS CDPATH BASH_ENV ENV POSIXLY_CORRECT GREP_OPTIONS TAR_OPTIONS MT_SIGNALS_RESET || true
: "${MEMTRACE:?the program to test}" "${MT_SOURCE_DIR:?}"
case "$MEMTRACE" in /*) ;; *) MEMTRACE="$PWD/$MEMTRACE" ;; esac
export SAMPLES="$MT_SOURCE_DIR/samples"
TMP="$(mktemp -d)"
trap 'rm -rf "$TMP"' EXIT
cd "$TMP" || exit 1
case "$TMP" in *[!A-Za-z0-9_./-]*) Q="'" ;; *) Q="" ;; esac # what the program puts around a path of $TMP where it is to be typed
export Q
N=0 FAILED=0

# The recorder of this build; nothing where it was built without. A wheel that was made here has one of its own below.
recorder()
{
    local file
    file="$(dirname "$MEMTRACE")/lib/memtrace/libmemtrace_inject.so"
    [ ! -f "$file" ] || printf '%s\n' "$file"
}

ok() { N=$((N + 1)); }
fail()
{
    N=$((N + 1)) FAILED=$((FAILED + 1))
    printf 'not ok: line %s: %s\n' "${BASH_LINENO[1]}" "$1"
    for f in out err; do
        [ ! -s "$TMP/.$f" ] || { printf '  %s: ' "$f"; head -c 1500 "$TMP/.$f"; echo; }
    done
}
skip_all()
{
    printf '# skipped: %s\n' "$1"
    exit 77
}
need() { command -v "$1" > /dev/null || skip_all "$1 is not installed"; }

# run WANTED_STATUS ARGUMENT...: runs memtrace; standard output and error stay in .out and .err
run()
{
    local want="$1" got
    shift
    "$MEMTRACE" "$@" > "$TMP/.out" 2> "$TMP/.err"
    got=$?
    if [ "$got" -eq "$want" ]; then ok; else fail "memtrace $*: exit status $got, expected $want"; fi
}
out_has() { if grep -qF -e "$1" "$TMP/.out"; then ok; else fail "standard output has no '$1'"; fi; }
err_has() { if grep -qF -e "$1" "$TMP/.err"; then ok; else fail "standard error has no '$1'"; fi; }
err_lacks() { if grep -qF -e "$1" "$TMP/.err"; then fail "standard error has '$1'"; else ok; fi; }
out_lacks() { if grep -qF -e "$1" "$TMP/.out"; then fail "standard output has '$1'"; else ok; fi; }
out_empty() { if [ -s "$TMP/.out" ]; then fail "standard output is not empty"; else ok; fi; }
err_empty() { if [ -s "$TMP/.err" ]; then fail "standard error is not empty"; else ok; fi; }
exists() { if [ -e "$1" ]; then ok; else fail "$1 is not there"; fi; }
absent() { if [ -e "$1" ]; then fail "$1 is there"; else ok; fi; }
same() { if cmp -s "$1" "$2"; then ok; else fail "$1 and $2 differ"; fi; }
check() { if "$@"; then ok; else fail "false: $*"; fi; }

finish()
{
    printf '%d checks, %d failed\n' "$N" "$FAILED"
    [ "$FAILED" -eq 0 ] && [ "$N" -gt 0 ]
    exit $?
}
