#!/usr/bin/env bash
# Public tickets as they were pasted: tracebacks that are cut, frames without their callers, a line of code alone, cards that are no GPUs. What each
# has to say was written down before the report was made.
# shellcheck disable=SC2016 # what a log says in backquotes is not run
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

torch_says() { # PREFIX ASKED CARD FREE PROCESS ALLOCATED UNALLOCATED [OTHERS]
    echo "$1torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $2. GPU 0 has a total capacity of $3 of which $4 is free. ${8:-}Including non-PyTorch memory, this process has $5 memory in use. Of the allocated memory $6 is allocated by PyTorch, and $7 is reserved by PyTorch but unallocated."
}
frames() { # PREFIX, then FILE LINE FUNCTION CODE of each
    local prefix=$1
    shift
    while [ $# -gt 0 ]; do
        printf '%s  File "/opt/py/lib/python3.12/site-packages/%s", line %s, in %s\n%s    %s\n' "$prefix" "$1" "$2" "$3" "$prefix" "$4"
        shift 4
    done
}
ticket() { # FILE CAUSE IDS-OF-WHICH-ONE-IS-AMONG-THE-FIRST-THREE TEXT...
    run 0 report "$1" --force --format json -o "$1.json"
    run 0 report "$1" --force --format text --full -o "$1.text"
    check [ "$(jq -r .log_diagnosis.cause "$1.json")" = "$2" ]
    [ "$3" = - ] || check [ "$(jq -r --arg ids " $3 " '[.advice[:3][].id | select(. as $id | $ids | contains(" \($id) "))] | length > 0' "$1.json")" = true ]
    for text in "${@:4}"; do
        check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text")
    done
}
says_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }

# vLLM 52181, 28143, 16343: an engine that loads, with nothing of its loader in the traceback. Never advice for generation.
p='(EngineCore pid=1686793) '
{ frames "$p" vllm/model_executor/layers/fused_moe/unquantized_fused_moe_method.py 122 create_weights 'torch.empty(' torch/utils/_device.py 122 __torch_function__ 'return func(*args, **kwargs)'
  torch_says "$p" '512.00 MiB' '44.29 GiB' '313.75 MiB' '43.98 GiB' '43.75 GiB' '29.69 MiB'; } > moe.log
p='(EngineCore_DP0 pid=12473) ERROR 11-05 12:19:32 [core.py:708] '
{ frames "$p" vllm/model_executor/models/llama.py 583 _init_model 'return LlamaModel(vllm_config=vllm_config,' vllm/compilation/decorators.py 201 __init__ 'old_init(self, vllm_config=vllm_config, **kwargs)' \
    vllm/model_executor/models/llama.py 362 __init__ 'self.start_layer, self.end_layer, self.layers = make_layers('
  torch_says "$p" '112.00 MiB' '23.55 GiB' '20.44 MiB' '23.52 GiB' '23.10 GiB' '11.00 MiB'; } > llama.log
p='ERROR 04-09 05:39:54 [core.py:390] '
{ frames "$p" vllm/model_executor/models/utils.py 610 make_layers 'maybe_offload_to_cpu(layer_fn(prefix=f"{prefix}.{idx}"))' vllm/model_executor/models/llama.py 254 __init__ 'self.mlp = LlamaMLP('
  torch_says "$p" '350.00 MiB' '23.68 GiB' '212.81 MiB' '23.40 GiB' '22.90 GiB' '20.00 MiB'; } > layers.log
for log in moe llama layers; do
    ticket $log.log capacity B47 'in rollout weight loading, asked for' 'The traceback is cut' 'The engine was still loading'
    says_not $log.log max-num-batched-tokens
done

# vLLM 12529, NCCL 1645: the sampler, by its frames, and by a line of code alone.
p='> ERROR 03-13 09:00:43 [core.py:330] '
{ frames "$p" vllm/v1/sample/sampler.py 104 sample 'random_sampled = self.topk_topp_sampler(' vllm/v1/sample/ops/topk_topp_sampler.py 91 forward_native 'logits = apply_top_k_top_p(logits, k, p)'
  torch_says "$p" '594.00 MiB' '23.64 GiB' '130.44 MiB' '23.50 GiB' '22.80 GiB' '60.00 MiB'; } > sampler.log
p='(VllmWorker rank=1 pid=572) ERROR 03-20 02:29:07 [multiproc_executor.py:375] '
{ echo "$p    logits_sort, logits_idx = logits.sort(dim=-1, descending=False)"; torch_says "$p" '1.74 GiB' '23.69 GiB' '1.07 GiB' '22.61 GiB' '20.10 GiB' '400.00 MiB'; } > sort.log
for log in sampler sort; do
    ticket $log.log capacity B41 'in rollout generation (sampling), asked for' --max-num-seqs
    check [ "$(jq -r '[.advice[].id] | .[0] == "B41" and (index("B51") | not)' $log.log.json)" = true ]
done
# Log-probabilities of prompts are made in the sampler too: there tokens count.
{ frames "$p" vllm/v1/worker/gpu_model_runner.py 9 _get_prompt_logprobs_dict 'logprobs = self.sampler.compute_logprobs(logits)'
  torch_says "$p" '594.00 MiB' '23.64 GiB' '130.44 MiB' '23.50 GiB' '22.80 GiB' '60.00 MiB'; } > prompt.log
ticket prompt.log capacity B51 'in sampling, asked for'
check [ "$(jq -r '.advice[0].id' prompt.log.json)" = B51 ]
# What the line itself names comes first.
echo '(EngineCore_DP0 pid=17) RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.' > warmup.log
ticket warmup.log engine_share B41 'try itself out with 1024 requests'
check [ "$(jq -r '.advice[0].id' warmup.log.json)" = B41 ]

# verl 3124, TRL 2776: optimizers without the step that calls them.
p='(TaskRunner pid=4022070) '
{ frames "$p" megatron/core/optimizer/distrib_optimizer.py 2093 step_with_ready_grads 'update_successful = super().step_with_ready_grads()' \
    transformer_engine/pytorch/optimizers/fused_adam.py 438 step 'self.initialize_state(p, store_param_remainders)'
  torch_says "$p" '1.19 GiB' '79.11 GiB' '900.00 MiB' '78.20 GiB' '76.10 GiB' '512.00 MiB'; } > adam.log
ticket adam.log capacity V24 'in training (optimizer step), asked for' optimizer_cpu_offload
echo '    denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)' > sqrt.log
torch_says '' '130.00 MiB' '94.99 GiB' '87.19 MiB' '94.89 GiB' '93.50 GiB' '400.00 MiB' >> sqrt.log
ticket sqrt.log capacity 'B06 B08' 'in training (optimizer step), asked for'

# NeMo-RL 3793, SkyRL 1221: nothing but the method that Ray names.
{ echo 'ray.exceptions.RayTaskError(OutOfMemoryError): ray::DTensorPolicyWorkerV2.get_logprobs() (pid=2671339, ip=10.65.16.209, actor_id=d5, repr=DTensorPolicyWorkerV2[rank=0])'
  echo '  File "/root/lib/python3.13/concurrent/futures/_base.py", line 402, in __get_result'
  torch_says '' '9.27 GiB' '79.11 GiB' '5.50 GiB' '73.60 GiB' '68.00 GiB' '4.90 GiB'; } > logprobs.log
ticket logprobs.log capacity B29 'log-prob, asked for' policy.logprob_batch_size
{ echo 'ray.exceptions.RayTaskError(OutOfMemoryError): ray::FSDPPolicyWorkerBase.init_model() (pid=141722, ip=10.0.42.164, actor_id=a28f, repr=<x>)'
  torch_says '' '260.00 MiB' '21.95 GiB' '202.62 MiB' '3.28 GiB' '2.86 GiB' '112.47 MiB' 'Process 136096 has 18.46 GiB memory in use. '; } > init.log
ticket init.log other_processes 'B35 B52' 'in model set-up, asked for' 'Without the 18.46 GiB of the other process the request would have fitted'
# A worker that brings its model back is not one that generates.
echo 'ray.exceptions.RayTaskError(OutOfMemoryError): ray::LLMActor.backload_to_gpu() (pid=7, ip=10.0.0.1)' > backload.log
torch_says '' '2.00 GiB' '79.11 GiB' '0.50 GiB' '78.00 GiB' '70.00 GiB' '300.00 MiB' >> backload.log
ticket backload.log capacity - 'in onload and offload, asked for'
says_not backload.log 'rollout generation'

# Bagel 157: FSDP's hooks alone.
{ frames '[rank7]: ' torch/distributed/fsdp/_state_dict_utils.py 782 _pre_state_dict_hook '_pre_state_dict_hook_fn[fsdp_state._state_dict_type](' \
    torch/distributed/fsdp/_state_dict_utils.py 303 _full_pre_state_dict_hook '_common_unshard_pre_state_dict_hook('
  torch_says '[rank7]: ' '27.20 GiB' '79.15 GiB' '20.11 GiB' '59.00 GiB' '56.00 GiB' '2.10 GiB'; } > state.log
ticket state.log capacity B87 'FSDP was gathering the whole state dict on the GPU'

# FramePack 369, Eagle 65: the request itself. What a recomputation would free is no part of it.
{ echo '    x = torch.nn.functional.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)'
  echo '        ^^^^^^^^^^^^^^^^^^^^^^^^'
  torch_says '' '29.76 GiB' '8.00 GiB' '3.65 GiB' '4.30 GiB' '2.81 GiB' '512.83 MiB'; } > sdpa.log
ticket sdpa.log request P45 'in forward, asked for 29.76 GiB' 'The request alone is 3 times the card'
says_not sdpa.log 'in place of softmax(q k^T) v'
says_not sdpa.log torch.utils.checkpoint
torch_says '' '27.21 GiB' '31.37 GiB' '20.98 GiB' '10.38 GiB' '9.44 GiB' '345.86 MiB' > eagle.log
ticket eagle.log capacity - 'The request alone is 86 % of the card'

# SGLang 29838, LWM 60, vLLM 40381: an NPU, a TPU, a buffer of a fixed size.
echo 'torch.OutOfMemoryError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capacity; 56.05 GiB already allocated; 56.05 GiB current active; 5.04 MiB free; 58.39 GiB reserved in total by PyTorch).If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.' > npu.log
ticket npu.log fragmentation B01 'on NPU 0 asked for' 'CANN itself, HCCL'
says_not npu.log .empty_cache # its own allocator empties it before it raises
check [ "$(jq '[.log_diagnosis.sentence, .log_diagnosis.because, (.advice[].set[] | .key, .value)] | join(" ") | test("GPU|CUDA|torch.cuda")' npu.log.json)" = false ]
echo 'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm.' > tpu.log
ticket tpu.log capacity - 'needs 21.95 GiB of the 15.48 GiB that the TPU has'
check [ "$(jq '.advice | length' tpu.log.json)" = 0 ]
echo "(EngineCore pid=269) RuntimeError: Error in function 'aligned_alloc' at /workspace/include/flashinfer/allocator.h:49: Buffer overflow when allocating memory for batch_prefill_tmp_v with size 536346624 and alignment 16, but only 413138944 bytes available in AlignedAllocator. Increase the workspace buffer size." > workspace.log
ticket workspace.log setting - "FlashInfer's workspace is too small: 511.5 MiB needed, 394.0 MiB there" VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE 'more than 536346624'
# One line of code, with its frame in a script of one's own or alone; one method of a worker of Ray, by whose name it is.
says_phase() { # FILE WORDS
    run 0 report "$1" --force --format text --full -o "$1.text"
    check grep -qF -- "in $2, asked for" <(tr -s ' \n' ' ' < "$1.text")
}
while IFS='|' read -r code words; do
    { echo "    $code"; torch_says '' '130.00 MiB' '94.99 GiB' '87.19 MiB' '94.89 GiB' '93.50 GiB' '400.00 MiB'; } > alone.log
    says_phase alone.log "$words"
    { printf '  File "/home/u/main.py", line 7, in run\n    %s\n' "$code"; torch_says '' '130.00 MiB' '94.99 GiB' '87.19 MiB' '94.89 GiB' '93.50 GiB' '400.00 MiB'; } > framed.log
    says_phase framed.log "$words"
done << 'EOF'
accelerator.backward(loss)|training (backward)
self.optimizer.step()|training (optimizer step)
loss = F.cross_entropy(out.view(-1, n), y.view(-1))|loss
attn = torch.softmax(attn_weights, dim=-1)|forward
ids = model.generate(**batch, max_new_tokens=64)|rollout generation
net = AutoModel.from_pretrained(name).cuda()|model set-up
state = torch.load(path, map_location="cuda")|checkpoint load
EOF
while IFS='|' read -r method words; do
    { echo "ray.exceptions.RayTaskError(OutOfMemoryError): ray::$method() (pid=4711, ip=10.0.0.1)"; torch_says '' '130.00 MiB' '94.99 GiB' '87.19 MiB' '94.89 GiB' '93.50 GiB' '400.00 MiB'; } > method.log
    says_phase method.log "$words"
done << 'EOF'
CriticModelActor.fit|critic update
ReferenceModelActor.forward|reference log-prob
PolicyModelActor.broadcast_to_vllm|weight sync
WorkerDict.critic_compute_values|value estimation
WorkerDict.ref_compute_ref_log_prob|reference log-prob
lm_policy-0-0:MegatronPolicyWorker.offload_after_refit|onload and offload
EOF
# The logits are made in a forward whose line says so.
{ printf '  File "/opt/py/lib/python3.12/site-packages/transformers/models/llama/modeling_llama.py", line 9, in forward\n    logits = logits.float()\n'; torch_says '' '4.64 GiB' '79.11 GiB' '87.19 MiB' '79.00 GiB' '78.00 GiB' '400.00 MiB'; } > float.log
says_phase float.log logits

# A terminal cut the sentence within a word, and within the size itself.
torch_says '' '1.16 GiB' '79.11 GiB' '412.00 MiB' '78.69 GiB' '75.12 GiB' '310.20 MiB' > whole.log
for width in 40 57 67 69 70 80; do
    fold -w "$width" whole.log > folded.log
    ticket folded.log capacity - 'asked for 1.16 GiB and 412.0 MiB of 79.11 GiB were free: PyTorch held 75.42 GiB'
done
# torch_npu's workspace, which is none of PyTorch's cache.
echo '[rank2]: RuntimeError: NPU out of memory. NPUWorkspaceAllocator tried to allocate 1.89 GiB(NPU 2; 60.96 GiB total capacity; 1.79 GiB free). If you want to reduce memory usage, take a try to set the environment variable TASK_QUEUE_ENABLE=1.' > workspace.log
ticket workspace.log capacity - 'Rank 2 on NPU 2 asked for 1.89 GiB and 1.79 GiB of 60.96 GiB were free'
says_not workspace.log CUDA

# The copy of all logits in 32 bits: chunks come after it, unless the line is of what is called for each chunk. Tokens where the vocabulary is known.
big() { torch_says '' '9.27 GiB' '79.15 GiB' '900.00 MiB' '78.20 GiB' '76.90 GiB' '512.00 MiB'; }
echo 'python3 train.py --hf-checkpoint /m/q --vocab-size 151936 --use-dynamic-batch-size --max-tokens-per-gpu 16384' > slime.sh
{ frames '' slime/backends/megatron_utils/actor.py 400 compute_log_prob 'x' slime/backends/megatron_utils/loss.py 100 get_log_probs_and_entropy 'logits = logits.float()'; big; } > float.log
ticket float.log capacity X10 'It is the copy of all logits in 32 bits'
check [ "$(jq -r '[.advice[].id] | index("X16")' float.log.json)" = null ]
{ frames '' slime/backends/megatron_utils/actor.py 400 compute_log_prob 'x' slime/utils/ppo_utils.py 90 compute_log_probs 'logits = logits.float()'; big; } > chunk.log
ticket chunk.log capacity X16
says_not chunk.log 'come after it'
run 0 report float.log --force --config slime.sh --format text --full -o float.text
check grep -qF 'the request is about 16378 tokens at once' <(tr -s ' \n' ' ' < float.text)
finish
