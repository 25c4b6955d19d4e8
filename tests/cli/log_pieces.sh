#!/usr/bin/env bash
# Where a sentence says that memory lay in pieces, a change against that is among the first, or the sentence says why none is.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

error='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.15 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 78.50 GiB memory in use. Of the allocated memory 55.40 GiB is allocated by PyTorch, and 22.00 GiB is reserved by PyTorch but unallocated.'
why='Expandable segments, which keep them together, are not among the changes'
ask() { # TEXT: of pieces; FIRST WHY follow: whether B01 stands among the first, and whether the sentence says why it does not
    printf '%s\n\n%s\n' "$1" "$error" > text.md
    run 0 report text.md --force --format json -o text.json
    check [ "$(jq -r .log_diagnosis.cause text.json)" = fragmentation ]
    check [ "$(jq '[.advice[] | select(.top and .id == "B01")] | length' text.json)" = "$2" ]
    check [ "$(jq -r .log_diagnosis.because text.json | grep -cF "$why")" = "$3" ]
}
for own in 'a job of mine' 'I train with trl GRPO.' 'A GRPO run of ms-swift' 'LLaMA-Factory finetuning' 'verl PPO'; do
    ask "$own" 1 0
done
for engine in 'I train with trl GRPO and vLLM.' 'I train with OpenRLHF.'; do
    ask "$engine" 0 1
done
# It is on: nobody is told why it is not offered.
ask 'I train with trl GRPO and vLLM.

export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True' 0 0
finish
