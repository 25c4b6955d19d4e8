#!/usr/bin/env bash
# Runs the job and holds its memory against limits and the run that was accepted last; the options are those of job.py.
# MEMTRACE: the program; FORMAT: of its output.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
memtrace="${MEMTRACE:-memtrace}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
if [ "${1:-}" = --accept ]; then
    (cd "$folder" && python3 -B "$here/job.py" job.pickle && "$memtrace" report job.pickle -q --force -o "$here/baseline.json")
    exit
fi
python3 -B "$here/job.py" "$folder/job.pickle" "$@"
"$memtrace" check "$folder/job.pickle" --limits "$here/limits" --baseline "$here/baseline.json" --tolerance 2% --format "${FORMAT:-text}"
