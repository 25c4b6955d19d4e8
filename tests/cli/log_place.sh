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
# A traceback's head, a line of code without its frame, and the error's class alone: its own line, and the phase.
for error in torch.cuda.OutOfMemoryError torch.OutOfMemoryError 'torch.cuda.OutOfMemoryError: CUDA out of memory.'; do
    ask "Traceback (most recent call last):\n    net = AutoModel.from_pretrained(where)\n$error"
    check [ "$(jq -r '.verdict.phase' place.json)" = init ]
    check [ "$(jq -r '.log_diagnosis.sentence' place.json | grep -cF 'in words')" = 0 ]
done
ask "Traceback (most recent call last):\n    loss.backward()\ntorch.OutOfMemoryError"
check [ "$(jq -r '.verdict | "\(.phase) \(.sub_phase)"' place.json)" = 'train backward' ]
# As a title it is a person's, and a class in a sentence is no line of its own.
printf 'torch.OutOfMemoryError\n\nIt is raised as torch.cuda.OutOfMemoryError here, why?\n' > title.md
run 0 report title.md --no-config --force --format json -o title.json
check [ "$(jq -r '.log_diagnosis.sentence' title.json | grep -cF 'in words')" = 1 ]
finish
