#!/usr/bin/env bash
# What one line says of a failure that another line is about: what had begun and not ended, Ray's method behind the traceback, the
# driver's own words, what an engine gave back when it went to sleep.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

OOM='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of 23.55 GiB of which 20.44 MiB is free. Including non-PyTorch memory, this process has 23.52 GiB memory in use. Of the allocated memory 23.10 GiB is allocated by PyTorch, and 11.00 MiB is reserved by PyTorch but unallocated.'
# says FILE TEXT...: a "!" in front: does not
says() {
    run 0 report "$1" --force --format text --full -o "$1.text"
    for text in "${@:2}"; do
        case "$text" in
            '!'*) check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "${text#!}")" = 0 ] ;;
            *) check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text") ;;
        esac
    done
}

# An engine's beginnings, and its ends.
p='[2026-01-12 10:00:00 TP1] '
{ echo "${p}Load weight begin. avail mem=23.24 GB"; echo "${p}$OOM"; } > loads.log
says loads.log 'in rollout weight loading, asked for' 'It had begun to load in line 1, with 23.24 GiB free, and no line says that it ended' --tp-size
{ echo "${p}Load weight begin. avail mem=23.24 GB"; echo "${p}Load weight end. type=Q, dtype=torch.bfloat16, avail mem=9.00 GB, mem usage=14.24 GB."
  echo "${p}Capture cuda graph begin. This can take up to several minutes. avail mem=1.50 GB"
  printf 'Capturing batches (bs=32 avail_mem=1.20 GB):   0%%| | 0/5\rCapturing batches (bs=24 avail_mem=0.10 GB):  20%%| | 1/5\n'
  echo "${p}RuntimeError: CUDA error: out of memory"; } > graphs.log
says graphs.log 'in CUDA-graph capture, failed' 'It had begun to capture CUDA graphs in line 3, with 1.50 GiB free; 102.4 MiB were left at a batch of 24' --disable-cuda-graph
{ sed '$d' graphs.log; echo "${p}Capture cuda graph end. Time elapsed: 9.00 s. mem usage=1.40 GB. avail mem=0.10 GB."; echo "${p}RuntimeError: CUDA error: out of memory"; } > after.log
says after.log '!CUDA-graph capture' '!It had begun'
{ echo '(EngineCore_DP0 pid=7) INFO 11-05 [gpu_model_runner.py:3000] Starting to load model m...'; echo "(EngineCore_DP0 pid=8) $OOM"; } > another.log
says another.log '!It had begun'

# The loop of an engine that serves, the operation alone, Ray's method behind its traceback.
{ echo '  File "/opt/py/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 900, in run_busy_loop'; echo '    self._process_engine_step()'; echo "$OOM"; } > loop.log
says loop.log 'in rollout generation, asked for' --max-num-seqs
{ echo '  File "/opt/py/lib/python3.12/site-packages/torch/nn/functional.py", line 3500, in cross_entropy'; echo "$OOM"; } > loss.log
says loss.log 'in logits, asked for'
p='(main_task pid=9) '
{ echo "$p  File \"/opt/py/torch/nn/functional.py\", line 2000, in gelu"; echo "${p}    return torch._C._nn.gelu(input)"; echo "${p}$OOM"
  echo "${p}Unhandled error: ray::WorkerDict.ref_compute_ref_log_prob() (pid=77, ip=10.0.0.1, actor_id=1)"
  echo "$p  File \"/job/verl/single_controller/ray/base.py\", line 399, in func"; } > behind.log
says behind.log 'in reference log-prob'

# More was free, and the driver's own words are why.
{ echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 3 has a total capacity of 79.11 GiB of which 40.00 GiB is free. Of the allocated memory 8.51 GiB is allocated by PyTorch, and 31.00 MiB is reserved by PyTorch but unallocated.'
  echo 'CUDA Error: invalid device ordinal at /workspace/csrc/cumem_allocator.cpp:131'; } > pool.log
says pool.log 'Line 2 has the reason: the driver said "invalid device ordinal"' 'no lack of memory'
# What is mapped again, and counters that hold what was unmapped.
{ echo 'INFO 09-10 [gpu_worker.py:115] Sleep mode freed 11.25 GiB memory, 3.00 GiB memory is still in use.'
  echo '  File "/opt/py/vllm/entrypoints/llm.py", line 1572, in wake_up'; echo 'CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62'; } > wake.log
says wake.log 'To wake it maps the 11.25 GiB again that it gave back when it went to sleep (line 1)'
echo "${OOM/23.10 GiB is allocated/31.50 GiB is allocated}" > unmapped.log
says unmapped.log 'PyTorch counts 31.51 GiB, but the process has only 23.52 GiB of the card' '!sysmem' '!Windows'
OOM=${OOM/, this process has 23.52 GiB memory in use/}
echo "${OOM/23.10 GiB is allocated/31.50 GiB is allocated}" > spilled.log
says spilled.log 'an inference engine that sleeps in this process unmapped the rest' 'as Windows does' '!sysmem'
# Two processes that write at once, PyTorch on cudaMallocAsync as programs print it, a TPU when it runs, what an engine measured before.
{ printf '%s' "$OOM"; echo "${OOM/GPU 0/GPU 3}"; } > twice.log
run 0 report twice.log --force --format json -o twice.json
check [ "$(jq -c '[.logs[0].facts[] | select(.failure) | .device]' twice.json)" = '[0,3]' ]
printf 'Error occurred when executing KSampler:\n\nAllocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 10.04 GiB\nRequested               : 40.00 MiB\nDevice limit            : 11.99 GiB\nFree (according to CUDA): 0 bytes\n' > async.log
says async.log 'asked for 40.0 MiB and 0 B of 11.99 GiB were free: PyTorch held 10.04 GiB'
echo 'jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 512.00M. That was not possible. There are 96.50M free.; (0x0x0_HBM0)' > tpu.log
says tpu.log 'XLA could not allocate 512.0 MiB on the TPU, 96.5 MiB were free' '!GPU' '!CUDA'
# shellcheck disable=SC2016  # backticks of the log's own
{ echo 'INFO 10-12 model weights take 0.00GiB; non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes 1.41GiB; the rest of the memory reserved for KV Cache is 0.50GiB.'
  echo 'ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.'; } > weights.log
says weights.log 'Weights of nothing (line 1) cannot be'
# A folder whose logs say nothing of memory: which were read.
mkdir quiet && echo 'epoch 1 loss 0.2' > quiet/train.log && echo x > quiet/notes.md
run 1 report quiet
err_has 'train.log was read as a log, and has no line about memory'
echo 'epoch 2' > quiet/rank_1.log
run 1 report quiet
err_has 'rank_1.log and 1 more were read as logs'
finish
