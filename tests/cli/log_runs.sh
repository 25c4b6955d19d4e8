#!/usr/bin/env bash
# What somebody says that runs, beside the run that fails, is named: the value it has, the other run, its first steps.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # TEXT: the part of the sentence about it
    printf '%s\n' "$1" > text.md
    run 0 report text.md --no-config --force --format json -o text.json
    because=$(jq -r .log_diagnosis.because text.json)
}
says() { check [ "$(grep -cF -- "$1" <<< "$because")" = 1 ]; }
silent() {
    ask "$1"
    check [ "$(grep -cE 'it runs with|" runs:|went through' <<< "$because")" = 0 ]
}

ask 'CUDA out of memory with two engines. With one engine it works.'
says 'it runs with "one engine": what the run that fails has in its place'
ask 'With 12 frames it runs fine, but with 13 frames it runs out of GPU memory.'
says 'it runs with "12 frames"'
ask 'I get CUDA out of memory. It works with --shards 4, but not with --shards 2.'
says 'it runs with "--shards 4"'
ask 'My DPO training runs out of GPU memory, but SFT works with the same settings.'
says '"SFT" runs: what the run that fails has beyond it'
ask 'CUDA out of memory. BTW the coarse script ran and gave correct results.'
says '"coarse script" runs'
ask 'I get CUDA out of memory. The first 200 steps run fine, but then it crashes.'
says '"first 200 steps" went through: what grows'
# Somebody else has the value.
ask 'CUDA out of memory. Other-Trainer runs without OOM with mbs=8, but mine does not.'
says '"Other-Trainer" runs'

# A description, a denial, a wish, what others claim, tools.
silent 'I get CUDA out of memory. My job runs with 8 GPUs and batch size 4.'
silent 'I get CUDA out of memory. Nothing works, not even 1 image, but I need it.'
silent 'I get CUDA out of memory, however it does not work with 1 GPU.'
silent 'I get CUDA out of memory. I want it to work with 24 GB, but it does not.'
silent 'I get CUDA out of memory. The paper says it works with 24GB, but mine fails.'
silent 'CUDA out of memory. nvidia-smi works fine but the job crashes'
silent 'I get CUDA out of memory. It runs out of memory with 2 images, but why?'
finish
