#!/usr/bin/env bash
# What the prose compares and tells of time. A text in which nothing failed, and somebody says that memory keeps growing: what grows is looked for, and nothing is told as a failure.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { run 0 report "$1.md" --force --format json -o "$1.json"; }
says() { check [ "$(jq -r '.log_diagnosis.sentence' "$1.json" | grep -cF -- "$2")" = 1 ]; }
tops() { check [ "$(jq -r '[.advice[] | select(.top) | .id] | join(" ")' "$1.json")" = "$2" ]; }

printf '# GPU memory increases with every step in our segmentation training\n\nAfter each epoch it is 2 GB more. Batch 8, U-Net, PyTorch 2.3.\n' > card.md
printf '# CPU memory usage keeps increasing during validation\n\nRAM goes from 40 GB to 200 GB in ten epochs of training.\n' > host.md
printf '# Possible memory leak in the reward worker\n\nWe run GRPO for days, and the usage climbs.\n' > leak.md
printf '# 显存一直在涨\n\n训练的时候每一步显存都在增加。\n' > chinese.md
for name in card host leak chinese; do
    ask $name
    says $name 'The text tells of no failure: line 1 says in words that'
    says $name 'keeps growing'
    check [ "$(jq '[.log_diagnosis.sentence, .log_diagnosis.because | select(. != null) | contains("ran out")] | any' $name.json)" = false ]
done
says host "the host's memory"
tops card P213
tops chinese P213
check [ "$(jq -r '[.advice[] | select(.top) | .id][0]' host.json)" = P180 ]

# Where memory ran out of what grew, by the text's own words, that is looked for first, and alone.
printf '# PPO training: GPU memory leaks until it is OOM\n\nThe memory usage increases with each iteration, and in the end we get CUDA out of memory.\n' > leaked.md
ask leaked
says leaked 'ran out of memory'
tops leaked P213
printf '# Memory consumption increases with iterations\n\nThe rollout workers take 40 MB more of RAM in each of them.\n' > workers.md
ask workers
says workers 'keeps growing'

# The difference to what ran is the cause: going back comes first. What is no version says nothing.
printf '# CUDA OOM in training after upgrading transformers to 4.50\n\nThe same script and data fit with 4.46.\n' > version.md
printf '# CUDA OOM in training of a linear regression\n\nI upgraded the card to 24 GB, and still no luck.\n' > other.md
for name in version other; do ask $name; done
check [ "$(jq -r '.advice[0].id' version.json)" = P214 ]
check [ "$(jq '[.advice[] | select(.id == "P214")] | length' other.json)" = 0 ]

# Where the phase is not known and the framework is, too; and what piles up, or goes up after every step, is kept.
printf '# slime CUDA OOM\n\nThe one change against the stable version is the new branch.\n' > stable.md
ask stable
check [ "$(jq -r '.advice[0].id' stable.json)" = P214 ]
for says in 'Memory goes up after every rollout step.' 'However low I set the batch, memory piles up.'; do
    printf '# slime: OOM after many steps\n\n%s\n' "$says" > piles.md
    ask piles
    tops piles P213
done
# What the run that works goes without is the cause; what fails all the same, is wished or asked is none.
n=0
for text in 'If I leave the Argument out, it runs fine.' 'Without sample packing it trains.' 'It runs fine without the vision tower.' 'When I disable EMA, training works.'; do
    printf '# verl: CUDA OOM in training\n\n%s\n' "$text" > contrast$n.md
    ask contrast$n
    check [ "$(jq -r '.advice[0].id' contrast$n.json)" = P261 ]
    n=$((n + 1))
done
check grep -qF 'it runs without "the Argument"' <(jq -r .log_diagnosis.because contrast0.json)
for text in 'It runs without errors on the big card.' 'If I remove EMA it runs out of memory later.' 'Would it run without packing?' 'It never works without offload.' 'If I remove EMA it still fails, and inference works.' 'I tried without success.' 'I tried the old adapter, without xformers, reinstalling; none worked.' 'Without xformers nothing works.' 'I tried without xformers; inference works.'; do
    printf '# verl: CUDA OOM in training\n\n%s\n' "$text" > none.md
    ask none
    check [ "$(jq '[.advice[] | select(.id == "P261")] | length' none.json)" = 0 ]
done

# With a failure's words the failure is told; a change's title, a wish and a guide tell of nothing.
printf '# Memory keeps growing in training, then CUDA out of memory\n\nIt fails at step 900.\n' > both.md
ask both
says both 'ran out of memory'
printf '# Fix memory leak in the data loader\n\nThis change frees the batches.\n' > fixed.md
printf '# Notes\n\nA cache that grows over time is trimmed.\n' > notes.md
for name in fixed notes; do run 1 report $name.md --no-config --force --format text -o $name.text; done
finish
