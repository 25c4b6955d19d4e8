#!/usr/bin/env bash
# A change without a ground in the text is left out: activations where others hold the card, a flag of a newer engine, a kind of request
# that nobody makes, tensors on the host before they are computed again.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # NAME: reads the ticket from standard input
    cat > "$1.md"
    run 0 report "$1.md" --force --format json -o "$1.json"
}
top() { jq -r '[.advice[] | select(.top) | .set[]? | .text] | join("\n")' "$1.json"; }
has() { check grep -qF -- "$2" <(top "$1"); }
has_not() { check [ "$(top "$1" | grep -cF -- "$2")" = 0 ]; }
full() { echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $1 (GPU 0; 12.00 GiB total capacity; $2 already allocated; $3 free; $2 reserved in total by PyTorch)"; }

# 10.9 of 12 GiB are not this PyTorch's: no activation fills the card
{ echo 'My training of a decoder fails.'; full '20.00 MiB' '1.02 GiB' '12.00 MiB'; } | ask others
has others nvidia-smi
has_not others checkpoint
{ echo 'My training of a decoder fails.'; full '520.00 MiB' '10.90 GiB' '212.00 MiB'; } | ask own
has own checkpoint
# on the host only what is not computed again already
has_not own save_on_cpu
{ echo 'My training of a decoder fails in the backward.'; echo 'I run: python train.py --gradient_checkpointing --batch_size 1 --lr 1e-4'; full '520.00 MiB' '10.90 GiB' '212.00 MiB'; } | ask again
has again save_on_cpu

# vLLM: the size of the cache in bytes is a flag of V1's versions
cache() {
    printf 'vllm serve m\n\nTraceback (most recent call last):\n  File "%s", line 90, in %s\n    kv = torch.zeros(shape, dtype=dtype, device=device)\n' "$1" "$2"
    echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 100.00 MiB is free. Process 4 has 9.00 GiB memory in use. Process 5 has 14.50 GiB memory in use.'
}
cache /opt/vllm/worker/cache_engine.py _allocate_kv_cache | ask v0
has_not v0 kv-cache-memory-bytes
cache /opt/vllm/v1/worker/gpu_model_runner.py _allocate_kv_cache_tensors | ask v1
has v1 kv-cache-memory-bytes

# SGLang: log-probabilities of prompts where somebody asks for them
server='My sglang.launch_server --model-path m --context-length 8192 fails on long prompts.'
error='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB. GPU 0 has a total capacity of 79.14 GiB of which 2.00 GiB is free. Process 3 has 77.10 GiB memory in use. Of the allocated memory 75.90 GiB is allocated by PyTorch, and 600.00 MiB is reserved by PyTorch but unallocated.'
ask plain <<< "$server"$'\n\n'"$error"
has plain --mem-fraction-static
has_not plain PROCESSER_CHUNK
ask asked <<< "$server"' The requests have return_logprob.'$'\n\n'"$error"
has asked PROCESSER_CHUNK
finish
