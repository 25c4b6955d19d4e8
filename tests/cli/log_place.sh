#!/usr/bin/env bash
# Where it failed, where no traceback of Python's own form says it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

oom='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of 15.90 GiB of which 819.25 MiB is free.'
# ask TEXT: a ticket with the text
ask() {
    printf '# Out of memory\n\n%b\n' "$1" > place.md
    run 0 report place.md --no-config --force --format json -o place.json
}
site() { check [ "$(jq -r '.log_diagnosis.site // .verdict.site // "-"' place.json)" = "$1" ]; }

# A frame and its code in one line, with an arrow or without, above the error or below it.
ask "$oom\n-> attention.py:211 scores = torch.matmul(q, k)"
site 'attention.py:211'
ask "→ net/attention.py line 211: scores = torch.matmul(q, k)\n$oom"
site 'net/attention.py:211'
ask "attention.py(211) scores = torch.matmul(q, k)\n$oom"
site 'attention.py:211'
# A function's name above its line of code.
ask "stitch_tiles\n    canvas = torch.zeros((n, h, w), device=device)\n$oom"
site 'stitch_tiles'
# The error's class glued to the name.
ask "  File \"/w/sampler/nodes.py\", line 41, in load_unet$oom"
site 'sampler/nodes.py:41 load_unet'
# A sentence.
ask "$oom\n\nThe error is raised in models/unet.py line 88 after the first epoch. I changed data/set.py too."
site 'models/unet.py:88'
ask "$oom\n\nIt crashes at unet.py:88."
site 'unet.py:88'

# No place: a logger's line, a warning, a word alone, two places, a line that says nothing of a failure.
ask "INFO train.py:74 loading the model (7B)\n$oom"
site -
ask "/w/site-packages/lib/a.py:12: UserWarning: this fails in b.py line 9\n  warn(x)\n\n\n\n$oom"
site -
ask "Example\n    canvas = torch.zeros((n, h, w), device=device)\n$oom"
site -
ask "$oom\n\nIt fails in unet.py line 88 or in unet.py line 91."
site -
ask "$oom\n\nIt fails in unet.py line 88 of one version and in net.py line 88 of the other."
site -
ask "$oom\n\nI changed unet.py line 88 to a smaller batch."
site -
ask "$oom\n[2023-04-21 19:09:43,055] [ERROR] [launch.py:434:sigkill_handler] ['python', 'x.py'] exits with return code = 1"
site -
finish
