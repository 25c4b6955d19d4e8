#!/usr/bin/env bash
# Amounts of a card's memory in a person's words: which number is of what, by the words beside it; in doubt none.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

# ask TEXT: a ticket of PyTorch's memory, then the text
ask() {
    printf '# Training goes OOM\n\n%b\n' "$1" > told.md
    run 0 report told.md --no-config --force --format json -o told.json
}
# is REQUEST FREE TOTAL, in MiB; - = not told
is() {
    check [ "$(jq -r '.log_diagnosis | [.request_bytes, .device_free_bytes, .capacity_bytes] | map(if . == null then "-" else . / 1048576 | floor | tostring end) | join(" ")' told.json)" = "$1 $2 $3" ]
}

# In sentences, lists, tables, quotes; short forms; broken in two by a terminal.
ask 'It tried to allocate 2.5G and only 300M of 24g were free.'
is 2560 300 24576
ask '- tried to allocate 2.50 GiB\n- free: 300 MiB\n- total: 24 GB'
is 2560 300 24576
ask '1. request 2.5 GB\n2) it asked for 2.5 GB\n* 300M left'
is 2560 300 -
ask '| asked for | 2.5 GiB |\n| free | 300M |\n| total | 24G |'
is 2560 300 24576
ask '> it asked for 2.5\n> GiB, 300 MiB left'
is 2560 300 -
ask 'The step asked for 2.5 GiB, and\nonly 300 MiB were left.'
is 2560 300 -
ask 'It was 300M left of 24G.'
is - 300 24576
# What cards have, whatever was done with them.
ask 'I used four GPUs with 24GB of memory, and it fails at the start.'
check [ "$(jq -r .log_diagnosis.sentence told.json | grep -c 'in use')" = 0 ]
ask 'It asked for 2.5 GiB, and the card has 300 MB free.'
is 2560 300 -
ask 'The GPU has 20 GB in use when it fails.'
check [ "$(jq -r .log_diagnosis.sentence told.json | grep -c '20.00 GiB.* in use')" = 1 ]
ask 'It uses two cards with 16 GB each. It asked for 2.5 GiB and 300 MiB were left.'
is 2560 300 16384
# In Chinese.
ask '训练爆显存：尝试分配 2.5 GiB，显存总共 24GB，只剩 300M。'
is 2560 300 24576
ask '申请 2.5G、空闲 300M，24G 显存的卡。'
is 2560 300 24576

# What is in use.
used() { check grep -qF -- "$1" <(jq -r '.log_diagnosis.sentence' told.json); }
ask 'nvidia-smi shows that it uses 22 out of 24 GB.'
used '22.00 GiB of 24.00 GiB were in use'
ask '显存占用 22.5/24GB 之后报错。'
used '22.50 GiB of 24.00 GiB were in use'
ask 'GPU memory usage is 22.5G.'
used '22.50 GiB were in use'
ask 'PyTorch 占用 22.5G，申请 1G。'
used 'PyTorch held 22.50 GiB'

# Of something else, of another time, of several, or against each other: no number.
for words in 'The 300M model is left out.' 'The model uses 15 GB for its weights.' 'I would need 2.5G free.' 'It asked for 2.5G, then it asked for 3.5G.' 'Earlier 300M were left.' \
    'The host has 300M left.' '主机内存只剩 300M。' 'There are 30m left of the job.' 'It works with 2.5G free.' '300 images were left.' 'Version 2.5g of it is free software.'; do
    ask "$words"
    is - - -
done
ask 'It asked for 2.5G, 3G were free.' # not at that moment
is 2560 - -
ask 'Our A100 80GB has 300M of 640 GB left.' # not of that card
is - 300 -
ask 'On an RTX 4090 it asked for 30G.'
is - - -

# The line of a program that has them goes before; and a number of few digits explains no request.
ask 'Only 300M are left.\n\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 47.40 GiB of which 99.06 MiB is free.'
is 2048 99 48537

# A line with the request alone: the rest from the lines beside it, each number by its label, without a unit by that of the others.
alone='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.'
ask "$alone\nGPU 1 total: 24 GiB | Free: 300 MiB | PyTorch allocated: 22.5 GiB"
is 2560 300 24576
used 'on GPU 1'
used 'PyTorch held 22.50 GiB'
ask "$alone\ntotal: 24 GB, free: 0.5, allocated 22.5"
is 2560 512 24576
ask "$alone\nThere were 0.3 GiB free, and earlier it asked for 3.5 GiB." # of another moment
is 2560 - -
ask "$alone\ntotal: 24 GB, free: 3 of 8 jobs"
is 2560 - -
# Typed by hand: other capitals, a letter too few, a unit left out where the number is most of the card.
ask 'torch.OutOfMemoryError: CUDA out of memory. Tried to alocate 640.00MiB. GPY 1 has a total capacity of 24.00 GiB of which 112.00 MiB is free. Of the alocated memory 22.70 is alocated by pytorch and 68.18 is reserved by PyTOrch but unalocated.'
is 640 112 24576
used 'on GPU 1'
used 'PyTorch held 22.70 GiB'
ask 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 3 has a'
used 'on GPU 3'

# The one process that the line names has all that is in use: it is the one that failed. Where something is left over, it is another.
for used in 78.08 60.08; do
    printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.02 GiB is free. Process 1234 has %s GiB memory in use.\n' $used > one$used.log
    run 0 report one$used.log --no-config --force --format json -o one$used.json
done
check [ "$(jq -r .log_diagnosis.cause one78.08.json)" = capacity ]
check [ "$(jq -r .log_diagnosis.cause one60.08.json)" = other_processes ]

# The error's line as somebody shortened it.
for line in '(GPU 1; 23.52 GiB total; 0 bytes free)' '(GPU 1; 23.52 GiB total, 0 bytes free)' '(GPU 1; 23.52 GiB total; 20.50 GiB already allocated; 0 bytes free)'; do
    printf 'Our server does not start\n\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\nTried to allocate 3.04 GiB %s\n' "$line" > short.log
    run 0 report short.log --force --no-config --format json -o short.json
    check [ "$(jq -r '.log_diagnosis | "\(.device_free_bytes) \(.capacity_bytes) \(.cause)"' short.json)" = '0 25254407680 capacity' ]
    run 0 report short.log --force --no-config --format text -o short.text
    check grep -qF 'and 0 B of 23.52 GiB were' <(tr -s ' \n' ' ' < short.text)
    check [ "$(grep -cF 'no more numbers' short.text)" = 0 ]
done
# 2^64 bytes are no amount; 17.18 GiB are one.
for has in '17179869184.00' '**17179869184.00' '17.18'; do
    printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 400.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has %s GiB memory in use. Of the allocated memory 16.00 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated.\n' "$has" > unreal.log
    run 0 report unreal.log --force --no-config --format json -o unreal.json
    check [ "$(jq -r .log_diagnosis.because unreal.json | grep -cF 'GiB is no amount')" = "$([[ $has = *179869* ]] && echo 1 || echo 0)" ]
    check [ "$(jq -r .log_diagnosis.request_bytes unreal.json)" = 419430400 ]
done
# A size behind a card's name is that card's, where no card of that name has it.
size() { check [ "$(jq -r .log_diagnosis.because told.json | grep -cF -- "$1")" = "$2" ]; }
ask 'I train a model with 9B parameters and Adam on one H100 60GB GPU, full fine-tuning.'
size '60.00 GiB' 1
ask 'I train a model with 9B parameters and Adam on one H100 80GB GPU, full fine-tuning.'
size '79.19 GiB' 1
# What grows from step to step has gone through steps: its states fit.
ask 'I train a model with 9B parameters and Adam on one H100 80GB GPU, full fine-tuning. Memory keeps increasing with every step until it stops.'
size '79.19 GiB' 0
finish
