#!/usr/bin/env bash
# check.sh types|lint: the page's script under tsc or eslint. Ends with 77 where `npm ci` was not run in this folder.
set -u
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$here" || exit 1
if ! command -v node > /dev/null || [ ! -d node_modules ]; then
    echo "# skipped: no node, or no tests/web/node_modules ('npm ci' in tests/web makes it)"
    exit 77
fi
case "${1:-}" in
    types) node node_modules/typescript/bin/tsc -p . ;;
    # The files lie outside this folder, and a configuration speaks of what lies below it.
    lint) cd ../.. && node "$here/node_modules/eslint/bin/eslint.js" --no-config-lookup -c "$here/eslint.config.js" --max-warnings 0 templates/js ;;
    *)
        echo "usage: check.sh types|lint" >&2
        exit 2
        ;;
esac
