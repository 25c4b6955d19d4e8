#!/usr/bin/env bash
# Owners of one name under stacks as deep as they may be, which are alike for a long way: where they were called from takes no longer than reading them.
# shellcheck source=tests/cli/lib.sh
. "${MT_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}/tests/cli/lib.sh" || exit 1

jq -nc 'def frame($name; $file; $line): {name: $name, filename: $file, line: $line};
    def stack($i): [frame("forward"; "/x/model.py"; 10)]
        + [range(13) as $k | (range(300) | frame("_call_impl"; "/p/site-packages/torch/nn/modules/module.py"; 1500 + .)), frame("mid"; "/x/mid.py"; $k)]
        + [frame("main"; "/x/run\($i).py"; 3)];
    [range(16) | {address: ((. + 1) * 1048576), size: 1048576, requested_size: 1048576, state: "active_allocated", frames: stack(.)}] as $blocks
    | {segments: [{device: 0, address: 1048576, total_size: 67108864, stream: 0, segment_type: "large", blocks: $blocks}],
       device_traces: [[$blocks[] | {action: "alloc", addr: .address, size, stream: 0, frames}]]}' > deep.json

# User time in milliseconds.
took()
{
    local TIMEFORMAT=%3U s
    s="$( { time "$MEMTRACE" report deep.json "$@" -q > .out 2> .err; } 2>&1)"
    echo $((10#${s//./}))
}
run 0 report deep.json --format text --full -o -
out_has 'forward'
read="$(took --format json -o -)"
check [ "$(took --format text --full -o -)" -lt $((10 * read + 500)) ]
check [ "$(took --format md -o -)" -lt $((10 * read + 500)) ]
finish
