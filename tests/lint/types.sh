#!/usr/bin/env bash
# The Python package and what changes other trees are typed: mypy, as strict as it is, for the oldest Python that they run on.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
command -v mypy > /dev/null || skip_all "mypy is not installed"
shopt -s lastpipe
{
    mypy --strict --python-version 3.8 --cache-dir=/dev/null --no-error-summary python/memtrace
    mypy --strict --python-version 3.9 --cache-dir=/dev/null --no-error-summary docs/adopt/adopt.py
} | complain_each ""
finish
