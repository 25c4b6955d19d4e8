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
# ---- a holder that the text does not show ----

first() { check [ "$(jq -r '[.advice[] | select(.top) | .id][0]' "$1.json")" = "$2" ]; }
line() { # REQUEST FREE ALLOCATED LOOSE
    echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $1. GPU 0 has a total capacity of 79.14 GiB of which $2 is free. Process 3 has 78.90 GiB memory in use. Of the allocated memory $3 is allocated by PyTorch, and $4 is reserved by PyTorch but unallocated."
}
run_dpo='deepspeed --module openrlhf.cli.train_dpo --pretrain /m/base --zero_stage 3 --max_len 2048'

# a bucket is 1 GB, and none was asked for; the ends of full segments are no pieces
{ echo 'DPO training fails.'; echo "$run_dpo"; line '462.00 MiB' '300.00 MiB' '75.10 GiB' '1.61 GiB'; } | ask ends
has ends --gradient_checkpointing
has_not ends bucket
has_not ends expandable
# 9 GiB are: with what is free they would have been enough
{ echo 'DPO training fails.'; echo "$run_dpo"; line '4.00 GiB' '300.00 MiB' '67.10 GiB' '9.00 GiB'; } | ask loose
has loose expandable

# logits asked for: what makes these alone smaller comes first, though nothing says what divides the model
{ echo 'SFT of qwen3-32b crashes at step 635 on 4 GPUs'; echo; echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.51 GiB.'; echo 'GPU 1 total: 178.36 GiB | Free: 44.84 GiB | PyTorch allocated: 130.43 GiB'; echo '-> masked_ce.py line 74: logits = logits.float()'; } | ask logits
first logits B09
has_not logits fully_shard

# new weights are in the engine: what comes is generation, no training
{ echo 'slime out of memory after update_weights'; echo; echo 'We train with slime and Megatron; memory runs out right after update_weights.'; } | ask synced
has_not synced --recompute-granularity
has_not synced --max-tokens-per-gpu
{ echo 'slime out of memory in training'; echo; echo 'We train with slime and Megatron; memory runs out in the training step.'; } | ask trained
has trained --recompute-granularity

# others have 10.5 GiB, this process 3.4 of 14.7
theirs() { # ALLOCATED OWN THEIRS
    echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.54 GiB. GPU 0 has a total capacity of 14.74 GiB of which 722.00 MiB is free. Process 7 has $3 GiB memory in use. Including non-PyTorch memory, this process has $2 GiB memory in use. Of the allocated memory $1 GiB is allocated by PyTorch, and 70.00 MiB is reserved by PyTorch but unallocated."
}
{ echo 'My test of TRL DPOTrainer fails.'; theirs 3.34 3.56 10.47; } | ask most
has most nvidia-smi
has_not most precompute_ref_log_probs
{ echo 'My test of TRL DPOTrainer fails.'; theirs 9.21 9.51 4.47; } | ask some
has some nvidia-smi
has some precompute_ref_log_probs

# the line that gathers all weights to generate: no batch is in it, and no line stands twice
gather() { printf '[rank0]:   File "/v/site-packages/transformers/trainer.py", line 3698, in training_step\n[rank0]:     loss = self.compute_loss(model, inputs)\n[rank0]:   File "/w/open_r1/trainer/grpo_trainer.py", line 560, in _generate_and_score_completions\n[rank0]:     with unwrap_model_for_generation(model, self.accelerator) as unwrapped_model:\n'; }
{ echo 'GRPO with LoRA of a 72B model out of memory'; echo; gather; } | ask gather
first gather P270
has_not gather per_device_train_batch_size
check [ "$(jq -r '[.advice[] | select(.top) | .set[]?.text | select(startswith("ds3_gather"))] | length' gather.json)" = 1 ]

# 140 B below an adapter: 261 GiB in 16 bits, and 65 in 4, which leaves no room on 80 GB. Divided over the nodes they fit. Of that model the
# vocabulary alone is not known.
{ printf 'LoRA of Mixtral-8x22B fails\nWe have 4 nodes, 8*A100-80G on each node.\n\nmodel_name_or_path: ./Mixtral-8x22B\nstage: dpo\ndo_train: true\nfinetuning_type: lora\nlora_target: all\ntemplate: mistral\ncutoff_len: 4096\nper_device_train_batch_size: 1\nbf16: true\n\nllamafactory-cli train dpo.yaml\n\nTraceback (most recent call last):\n    model = AutoModelForCausalLM.from_pretrained(**init_kwargs)\ntorch.cuda.OutOfMemoryError\n'; } | ask moe
check grep -qF 'about 140 B parameters stay in 16 bits: 261.19 GiB' <(jq -r '.log_diagnosis.because' moe.json)
first moe P263
has_not moe quantization_bit
has_not moe nvidia-smi

# ZeRO-3 leaves weights of 4 bits whole on each card: 72.7 B x 4 bits = 33.86 GiB, and the reference of DPO is another copy
{ echo 'DPO LoRA training of a 72B model fails on 8 GPUs.'; echo "torchrun --module openrlhf.cli.train_dpo --pretrain /m/Qwen2.5-72B-Instruct --zero_stage 3 --max_len 2048 --micro_train_batch_size 1 --bf16 --load_in_4bit --lora_rank 32 --adam_offload"; line '462.00 MiB' '300.00 MiB' '75.10 GiB' '1.61 GiB'; } | ask packed
check grep -qF '72.7 B parameters stay in 4 bits: 33.86 GiB on every card' <(jq -r '.log_diagnosis.because' packed.json)
has packed --ref_offload

# ---- a holder that is much of the card ----

# 3 B x 16 bytes / 2 GPUs = 22.35 of 47.5 GiB: ZeRO's states on the host are no guess; of 80 GB they are less than a third
much() { printf 'GRPO with TRL GRPOTrainer out of memory\nI run on two %s.\n\ntorchrun --nproc_per_node=2 grpo.py --deepspeed zero3.json --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct --per_device_train_batch_size 1 --num_generations 2 --bf16 --gradient_checkpointing true\n' "$1"; }
much 'A6000 GPUs (48G)' | ask much
has much offload_optimizer
much 'A100-80G GPUs' | ask less
has_not less offload_optimizer
# swift's DDP: 2 B x 16 bytes on each of 8 cards; with ZeRO in the command none is offered
swift='OOM during RLHF training of Qwen2-VL-2B with the Swift framework\nA single node with 8 H100 GPUs.\n\ntorchrun --nproc_per_node 8 swift/cli/rlhf.py --rlhf_type dpo --model_type qwen2-vl-2b-instruct --sft_type full --batch_size 1 --gradient_checkpointing true --learning_rate 5e-5 --max_length 4096'
printf '%b\n' "$swift" | ask ddp
has ddp '--deepspeed zero3'
printf '%b\n' "$swift --deepspeed default-zero3" | ask zero
has_not zero '--deepspeed zero3'

# ---- the card is full before the model is there ----

# the cache's share comes behind the weights; where the process has some already, nobody else need have the card
before() { printf 'vLLM out of memory during CUDA initialization, before any model weights are loaded\n\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 23.04 GiB (GPU 0; 23.52 GiB total%s; %s free)\n\nfrom vllm import LLM\nllm = LLM(model="/m/big", tensor_parallel_size=1)\n' "$1" "$2"; }
before '' '0 bytes' | ask full
first full P33
has_not full gpu-memory-utilization
check grep -qF 'this process had nothing yet' <(jq -r '.log_diagnosis.because' full.json)
before '' '9.00 GiB' | ask room
check [ "$(jq -r '.log_diagnosis.because' room.json | grep -c 'had nothing yet')" = 0 ]
before ' capacity; 20.10 GiB already allocated' '0 bytes' | ask own
check [ "$(jq -r '.log_diagnosis.because' own.json | grep -c 'had nothing yet')" = 0 ]

# one tensor larger than the card, made while a model is built: smaller sizes there, no smaller weights
{ echo 'Building the generator fails.'; echo; printf 'Traceback (most recent call last):\n  File "main.py", line 5, in main\n    gan = Generator(cfg)\n  File "networks/generator.py", line 177, in __init__\n    mask = torch.zeros(n, n, device="cuda")\n'; echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.21 GiB (GPU 0; 31.75 GiB total capacity; 1.00 GiB already allocated; 29.00 GiB free; 1.10 GiB reserved in total by PyTorch)'; } | ask tensor
has tensor 'fewer rows, channels or layers'
has_not tensor bfloat16
# a program that has settings of its own: what other programs call it is no third change (7 B in 16 bits are a third of 40 GB)
{ printf 'ColossalAI PPO of LLaMA-7B with LoRA is out of memory on A100-40G GPUs\n\ntorchrun --nproc_per_node=8 train_prompts.py --pretrain /m/llama-7b --model llama --strategy colossalai_gemini --prompt_dataset p.json --pretrain_dataset q.json --lora_rank 2\n'; } | ask third
has third --experience_batch_size
has_not third load_in_4bit

# states of 1.5 GiB are no matter, but where their own step failed
small() { printf 'OOM in my fine-tuning\n\nI train a 0.1B model on one GPU.\n\nTraceback (most recent call last):\n  File "train.py", line 40, in main\n    %s\n  File "/v/site-packages/torch/%s\n' "$1" "$2"; line '200.00 MiB' '68.00 MiB' '76.90 GiB' '100.00 MiB'; }
small 'optimizer.step()' 'optim/adamw.py", line 175, in _init_group' | ask step
first step B08
small 'loss.backward()' '_tensor.py", line 521, in backward' | ask back
has back checkpoint
has_not back AdamW8bit
finish
