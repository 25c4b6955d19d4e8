#!/usr/bin/env bash
# The subject of a commit has at most 72 characters, so that git log --oneline can be read; the story stands in the body. Commits up to
# `since` are older than the rule. Where that commit is not there (a shallow clone, a copy without git) nothing is looked at.
# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
since=84ebae0d88974b2c5f9377012dd4f19736df4260
git merge-base --is-ancestor "$since" HEAD 2> /dev/null || skip_all "the history is not here"
complain_each "a subject of more than 72 characters: " < <(LC_ALL=C.UTF-8 git log --no-merges --format='%h %s' "$since..HEAD" | LC_ALL=C.UTF-8 grep -E '^[0-9a-f]+ .{73}')
finish
