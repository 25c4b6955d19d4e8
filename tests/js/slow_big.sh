#!/usr/bin/env bash
# What big pages say, at every level of detail.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
need node
need python3
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' || skip_all "node is older than 20"
export MEMTRACE
check python3 -B "$MT_SOURCE_DIR/tests/bench/gen.py" 1000000 big.pickle --p4
check node "$MT_SOURCE_DIR/tests/js/big.js" "$TMP/big.pickle" 25000000 4350000 4000000 2500000 700000
finish
