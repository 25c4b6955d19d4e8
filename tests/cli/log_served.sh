#!/usr/bin/env bash
# The well-known model that a text names, and what follows from its shape: weights and keys and values of what only runs, weights
# below adapters, logits that were asked for. The numbers are worked out by hand from the models' config.json.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

ask() { # NAME: reads the ticket from standard input
    cat > "$1.log"
    run 0 report "$1.log" --force --format text --full -o "$1.text" "${@:2}"
}
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
first_has() { check grep -qF -- "$2" <(sed -n '/^Change first/,/^  2\./p' "$1.text" | tr -s ' \n' ' '); }
# A card of $1 GiB that is full, where $2 GiB are asked for.
full() { echo "RuntimeError: CUDA out of memory. Tried to allocate $2 GiB (GPU 0; $1 GiB total capacity; $(($1 - 2)).00 GiB already allocated; 400.00 MiB free; $(($1 - 1)).00 GiB reserved in total by PyTorch)"; }

# 8,030,261,248 parameters; 32 layers, 8 heads of keys and values of 128: 131,072 bytes a token. 24 GiB less 16,060,522,496 bytes
# are 9,709,281,280: 74,075 tokens and a part.
{ echo 'Generating with Llama 3 8B in half precision on my card: model.generate runs out of memory after some batches'; full 24 1.50; } | ask llama
has llama '8.03 B parameters x 2 bytes = 14.96 GiB'
has llama '128.0 KiB of keys and values'
has llama '74,075'
# Answers of a batch: 16 x 2,048 x 131,072 bytes.
{ echo 'Inference with Llama 3 8B: model.generate with batch_size 16 and max_new_tokens 2048 runs out of memory'; full 24 1.50; } | ask answers
has answers '16 x 2,048 tokens of answers alone are 4.00 GiB'
# An engine's share: 0.9 x 24 GiB less 7,615,616,512 x 2 bytes, 57,344 a token: 138,839 tokens, 4 of 32,768. (Biases are not counted: four tokens more.)
serve() { printf 'vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len %s --gpu-memory-utilization 0.9 runs out of memory

```
vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len %s --gpu-memory-utilization 0.9
```
' "$1" "$1"; }
{ serve 32768; full 24 1.50; } | ask engine
has engine "the engine's share of the card has room for 138,8"
has engine 'tokens at the most, of all sequences together, 4 of 32,768'
{ serve 262144; full 24 1.50; } | ask longest
has longest 'less than one of 262,144'
# In 32 bits: 47 GiB less 32,121,044,992 bytes, 262,144 a token. With keys and values of 8 bits, or words of 32, nothing is worked out.
typed() { printf 'It runs out of memory\n\n    vllm serve meta-llama/Meta-Llama-3-8B --gpu-memory-utilization 1 %s\n\n' "$1"; }
{ typed '--dtype float32'; full 47 1.50; } | ask float
has float '8.03 B parameters x 4 bytes = 29.92 GiB'
has float '256.0 KiB of keys and values'
has float '69,979'
{ typed '--kv-cache-dtype fp8'; full 47 1.50; } | ask kv8
has_not kv8 'The weights are'
{ echo 'Inference of Llama-3-8B in fp32 runs out of memory'; full 24 1.50; } | ask words32
has_not words32 'The weights are'
# The name in one word, with what follows it; a path of a hub; its parts apart.
for name in Llama-3-8B-Instruct meta-llama/Meta-Llama-3-8B 'llama-3 8b'; do
    { echo "Inference of $name in half precision runs out of memory"; full 24 1.50; } | ask spelled
    has spelled '14.96 GiB on a card'
done
# Two models are spoken of, or another size: it is not known which of them it is.
{ echo 'Inference of Llama-3-8B works, but Qwen2.5-14B runs out of memory'; full 24 1.50; } | ask two
has_not two 'The weights are'
{ echo 'Inference of Qwen2.5-3B works for me, but the 32B model runs out of memory'; full 24 1.50; } | ask size
has_not size 'The weights are'
# Another model that is derived from one, and fewer bits.
{ echo 'Inference of Foo-Distill-Llama-3-8B-11B runs out of memory'; full 24 1.50; } | ask distilled
has_not distilled '128.0 KiB'
{ echo 'Inference of Llama-3-8B quantized to 4-bit runs out of memory'; full 24 1.50; } | ask bits
has_not bits 'The weights are'
{ echo 'Inference of Qwen2.5-14B in GGUF Q4_K_M runs out of memory'; full 24 1.50; } | ask gguf
has_not gguf 'The weights are'
# An engine: 32,763,876,352 parameters in 16 bits are more than the card, in AWQ's 4 they are not.
for kind in '' -AWQ; do
    { echo "I serve Qwen2.5-32B-Instruct$kind with vllm on one 24GB RTX 4090, max_model_len 32768, gpu_memory_utilization 0.95"; full 24 1.50; } | ask "served$kind"
done
has served 'The weights of the model that the text names are 61.03 GiB in 16 bits'
has_not served-AWQ 'The weights of the model'
has_not served-AWQ 'quantised already'
# They do not fit at all: no token has room, and the weights come first.
{ echo 'Inference of Qwen2.5-32B in half precision runs out of memory'; full 48 1.50; } | ask large
has large 'in 16 bits they do not fit on it'
first_has large 'load_in_4bit=True'
has_not large 'of keys and values'

# Below adapters: 8,190,735,360 parameters of Qwen3-8B in 16 bits.
{ echo 'I train LoRA adapters of Qwen3-8B with batch size 1 and run out of memory'; full 24 1.50; } | ask lora
{ echo 'I train LoRA adapters of Qwen3-8B in float32 with batch size 1 and run out of memory'; full 24 1.50; } | ask lora32
has_not lora32 'stay in 16 bits'
has lora '8.19 B parameters stay in 16 bits: 15.26 GiB on every card'
first_has lora 'Frozen weights in 4 bits'
{ echo 'I train LoRA adapters of Qwen3-8B with batch size 1 and run out of memory'; full 15 1.50; } | ask below
has below 'The card has 15.00 GiB: in 16 bits they do not fit on it'
for other in 'QLoRA in 4 bit' 'LoRA with ZeRO-3' 'LoRA with FSDP'; do
    { echo "I train Qwen3-8B by $other and run out of memory"; full 24 1.50; } | ask divided
    has_not divided 'stay in 16 bits'
done

# One card, told in words: all of 3,212,749,824 parameters x 16 bytes; 24 GiB hold half of that barely.
for one in 'one 24 GB RTX 4090' 'a single GPU' 'a single A100'; do
    { echo "Full fine-tuning of Llama-3.2-3B on $one runs out of memory at the first step"; full 24 1.50; } | ask alone
    has alone '3.21 B parameters x 16 bytes = 47.87 GiB'
    has alone 'that fits only where all of it is in 16 bits'
done
{ echo 'Full fine-tuning of Llama-3.2-3B, one run of many on GPUs that we share, runs out of memory'; full 24 1.50; } | ask several
has_not several 'x 16 bytes'

# Logits: 4 x 8,192 x 152,064 x 2 bytes are 9.28 GiB, which is no such product of another batch.
verl() { printf 'python3 -m verl.trainer.main_ppo data.max_prompt_length=1024 data.max_response_length=8192 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=%s\n' "$1"; }
{ echo 'OOM in update_actor'; verl 4; full 40 9.28; } | ask logits
has logits '4 x 8192 tokens x 152064 words of the vocabulary x 2 bytes is the request'
first_has logits 'use_fused_kernels=True'
{ echo 'OOM in update_actor'; verl 3; full 40 9.28; } | ask no_logits
has_not no_logits 'is the request'
# A size in words, of any model; while it is set up; over the cards that a device_map has. 12e9 x 2 bytes are 22.35 GiB, 30e9 x 2 / 2 are 27.94.
twelve='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 54.00 MiB. GPU 0 has a total capacity of 23.63 GiB of which 34.56 MiB is free. Of the allocated memory 22.73 GiB is allocated by PyTorch, and 35.86 MiB is reserved by PyTorch but unallocated.'
printf 'I train a LoRA on a 12B diffusion transformer. The error comes while the model is being prepared.\n\n%s\n' "$twelve" | ask prepared
has prepared '12 B parameters stay in 16 bits: 22.35 GiB'
first_has prepared 'load_in_4bit=True'
printf 'Inference of a 12B video model. It fails while the model is being moved to the card.\n\n%s\n' "$twelve" | ask moved
has moved '12 B parameters x 2 bytes = 22.35 GiB on a card'
first_has moved 'load_in_4bit=True'
printf 'Inference of a 30B model with device_map auto on 2 GPUs fails.\n\n%s\n' "$twelve" | ask over
has over '30 B parameters x 2 bytes, divided = 27.94 GiB on a card'
# More is allocated than of such a size may be, or less: what trains is no model that only runs, and what would fit is not all there.
printf 'Inference of a 7B model fails.\n\n%s\n' "${twelve/22.73/3.10}" | ask elsewhere
has_not elsewhere 'The weights are'
printf 'We train a 7B model.\n\n%s\n' "$twelve" | ask trained
has_not trained 'The weights are'
# An engine that holds more than its share as it is started has weights that no share bounds: a smaller share is no change.
sixteen='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of 15.60 GiB of which 700.88 MiB is free. Process 2514 has 14.91 GiB memory in use. Of the allocated memory 14.62 GiB is allocated by PyTorch, and 87.96 MiB is reserved by PyTorch but unallocated.'
command='python -m vllm.entrypoints.api_server --model /m/mine --tensor-parallel-size 2'
printf 'As soon as I run\n%s\nI get this:\n%s\n' "$command" "$sixteen" | ask started
first_has started '--cpu-offload-gb'
check [ "$(sed -n '/^Change first/,/^Log/p' started.text | grep -c 'gpu-memory-utilization 0')" = 0 ]
printf 'After an hour of requests to\n%s\nI get this:\n%s\n' "$command" "$sixteen" | ask later
has_not later 'no share bounds'
finish
