#!/usr/bin/env bash
# Names of other people's frameworks are data: tests/lint/names.py, with tests/lint/names.txt for what is allowed.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 > /dev/null || skip_all "python3 is not installed"
shopt -s lastpipe
python3 tests/lint/names.py | grep -v -e ' names are allowed$' -e ' complaints$' | complain_each ""
finish
