#!/usr/bin/env bash
# Where driver_callbacks_under_cudart found no call: what changes that. Prints one line of each try: calls in the trace, and what the recorder said.
#     why_nothing.sh MEMTRACE OUT
set -u
memtrace="$1" out="$2"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
mkdir -p "$out"

# try NAME [VARIABLE=VALUE ...] -- [OPTION ...]
try()
{
    local name="$1" given=()
    shift
    while [ "$1" != -- ]; do given+=("$1") && shift; done
    shift
    env "${given[@]}" "$memtrace" capture -f -o "$out/why_$name.gz" "$@" -- python3 "$here/calls.py" cudart 300 > "$out/why_$name.log" 2>&1
    printf '%s: status %s, %s calls\n' "$name" "$?" "$("$memtrace" dump "$out/why_$name.gz" 2> /dev/null | grep -c '"type":"call"')"
    "$memtrace" dump "$out/why_$name.gz" 2> /dev/null | grep '"type":"status"' | head -n 8
}

python3 - << 'PYTHON'
import torch
torch.cuda.init()
with open("/proc/self/maps") as f:
    for path in sorted({line.split(maxsplit=5)[-1].strip() for line in f if any(n in line for n in ("libcuda", "cupti", "nvidia-ml"))}):
        print("mapped:", path)
PYTHON
try plain --
try no_torch -- --no-torch
try memory2 -- --no-torch --memory2
try no_stacks -- --no-torch --no-stacks
for cupti in $(find / -xdev -name 'libcupti.so.1[0-9]*' 2> /dev/null | head -n 3); do
    try "cupti$((++n))" "MEMTRACE_CUPTI=$cupti" -- --no-torch
    printf '    with %s\n' "$cupti"
done
