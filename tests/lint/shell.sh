#!/usr/bin/env bash
# Every shell script goes through shellcheck.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
command -v shellcheck > /dev/null || skip_all "shellcheck is not installed"
mapfile -t scripts < <(files '*.sh' '.ci/*')
[ "${#scripts[@]}" -gt 5 ] || complain "only ${#scripts[@]} scripts were seen"
shellcheck -x "${scripts[@]}" || complain "shellcheck: see above"
finish
