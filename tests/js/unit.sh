#!/usr/bin/env bash
# The page's modules under node's own test runner.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need node
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' || skip_all "node is older than 18"
export MEMTRACE
tests=("$MT_SOURCE_DIR"/tests/js/*.test.js)
check node --test --test-reporter=spec "${tests[@]}"
finish
