#!/usr/bin/env bash
# What the PyTorch of a text does not have is not offered, whichever rule would type it.
# shellcheck disable=SC2016 # backquotes of Markdown
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

old='RuntimeError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 7.79 GiB total capacity; 6.60 GiB already allocated; 60.00 MiB free; 6.71 GiB reserved in total by PyTorch)'
typed() { # NAME TEXT: how many lines type it
    printf '%s\n' "$2" > text.md
    run 0 report text.md --force --format json -o text.json
    jq --arg name "$1" '[.advice[].set[].text | select(contains($name))] | length' text.json
}
is() { check [ "$1" = "$2" ]; }
is_more() { check [ "$1" -gt 0 ]; }

mine='I train a net of my own, in loss.backward().'
is_more "$(typed use_reentrant "$mine

torch.cuda.OutOfMemoryError: CUDA out of memory.")"
is "$(typed use_reentrant "$mine

$old")" 0
# quoted in a sentence that goes on
is "$(typed use_reentrant "$mine It stops with \`$old\`. I tried more workers, but it stays.")" 0
is_more "$(typed 'checkpoint(block, x)' "$mine It stops with \`$old\`. I tried more workers, but it stays.")"
# 1.8 has neither inference_mode nor a fused attention
for name in inference_mode scaled_dot_product expandable_segments 'torch.compile('; do
    is "$(typed "$name" "It samples images with a net of my own, nothing is trained.

PyTorch version: 1.8.1

$old")" 0
done
is_more "$(typed inference_mode "It samples images with a net of my own, nothing is trained.

torch.cuda.OutOfMemoryError: CUDA out of memory.")"
# A card that is the engine's is no place for layers of what is trained.
is_more "$(typed 'device_map="auto"' 'I run a 30B model with my script, and it runs out of GPU memory while the model is being loaded.')"
is "$(typed 'device_map="auto"' 'I train a 30B model with GRPO, one card for it and one for vLLM, and it runs out of GPU memory while the model is being loaded.')" 0
finish
