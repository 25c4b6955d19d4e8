#!/usr/bin/env bash
# What a report says of logs that are cut, named only, or of cards that are not NVIDIA's; advice that exists there.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

says() { # FILE TEXT...
    run 0 report "$1" --force --format json -o "$1.json"
    run 0 report "$1" --force --format text --full -o "$1.text"
    for text in "${@:2}"; do
        check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text")
    done
}
says_not() { check [ "$(grep -cF -- "$2" "$1.text")" = 0 ]; }
cause() { check [ "$(jq -r .log_diagnosis.cause "$1.json")" = "$2" ]; }

# --log without anything beside it is the input; an option for nothing else.
printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU had 5.00 GiB free of 80\n' > typed.log
run 0 report --log typed.log --format json -o alone.json
check [ "$(jq -r .log_diagnosis.cause alone.json)" = capacity ]
run 1 report --log absent.log --format json -o absent.json
run 2 report

# One event in two lines is one failure; the numbers stand in the second.
cat > ray.log <<'END'
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.0.0.1, ID: a) where the task (actor ID: b, name=Trainer.__init__, pid=9, memory used=5.00GB) was running was 95.00GB / 99.00GB (0.9596), which exceeds the memory usage threshold of 0.95.
END
says ray.log 'host memory 95.00 GiB of 99.00 GiB' 'offload less'
says_not ray.log 'failures; this is the first'
cat > nccl.log <<'END'
h:1:2 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'

h:1:2 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 4194304 bytes
END
says nccl.log 'NCCL could not allocate 4.0 MiB'
says_not nccl.log 'failures; this is the first'

# An engine without a cache does not start, whether or not the error itself was pasted; where one was, that is it.
echo 'model weights take 9.00GiB; non_torch_memory takes 0.05GiB; PyTorch activation peak memory takes 1.50GiB; the rest of the memory reserved for KV Cache is -0.55GiB.' > kv.log
says kv.log 'here the share has to be larger' 'Give the inference engine a larger share'
cause kv.log engine_share
cat typed.log >> kv.log
says kv.log 'asked for 6.00 GiB'

# PyTorch's warning before it tries again is no failure, and not said to be harmless.
echo '[W1 CUDACachingAllocator.cpp:1] memory allocation failed with OOM on device 0 while trying to allocate 1073741824 bytes (free: 1048576, total: 25769803776).' > try.log
says try.log '1 time an allocation of PyTorch did not fit at the first try' 'no 1.00 GiB at the first try, 1.0 MiB were free'
says_not try.log harmless
cause try.log none

# Only named: by Ray, by PyTorch that failed over its own message. A line with numbers is preferred.
echo 'ray.exceptions.RayTaskError(OutOfMemoryError): ray::Trainer.fit() (pid=77, ip=10.0.0.1)' > named.log
says named.log 'A process (pid 77), in training, ran out of memory: Ray names an OutOfMemoryError of Trainer'
cause named.log unknown
cat typed.log >> named.log
says named.log 'asked for 6.00 GiB'
says_not named.log 'failures; this is the first'
echo 'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "/x/CUDACachingAllocator.cpp":99' > nvml.log
says nvml.log 'it asks NVML who holds the card'

# Cards of other makers: their options, their tools, and nothing that records CUDA alone.
npu='NPU out of memory. Tried to allocate 100.00 MiB (NPU 0; 60.00 GiB total capacity;'
echo "RuntimeError: $npu 50.00 GiB already allocated; 50.00 GiB current active; 5.00 MiB free; 58.00 GiB reserved in total by PyTorch)" > npu.log
says npu.log PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
says_not npu.log .empty_cache # its own allocator empties it before it raises
says_not npu.log PYTORCH_CUDA_ALLOC_CONF=
says_not npu.log 'memtrace capture'
echo "RuntimeError: $npu 10.00 GiB already allocated; 10.00 GiB current active; 5.00 MiB free; 10.10 GiB reserved in total by PyTorch)" > npu2.log
says npu2.log npu-smi
says_not npu2.log nvidia-smi
hip='HIP out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total capacity of 60.00 GiB of which 5.00 MiB is free. Of the allocated memory'
echo "RuntimeError: $hip 50.00 GiB is allocated by PyTorch, and 8.00 GiB is reserved by PyTorch but unallocated." > hip.log
says hip.log PYTORCH_HIP_ALLOC_CONF=expandable_segments:True
says_not hip.log .empty_cache
says_not hip.log PYTORCH_CUDA_ALLOC_CONF=
xpu='XPU out of memory. Tried to allocate'
echo "torch.OutOfMemoryError: $xpu 6.00 GiB. GPU 0 has a total capacity of 16.00 GiB. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated." > xpu.log
says xpu.log UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1
cause xpu.log limit
says_not xpu.log 'memtrace capture'
echo "torch.OutOfMemoryError: $xpu 6.00 GiB. GPU 0 has a total capacity of 16.00 GiB. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated." > xpu2.log
says xpu2.log 'PyTorch held 12.00 GiB'
cause xpu2.log capacity
echo "torch.OutOfMemoryError: $xpu 1.00 GiB. GPU 0 has a total capacity of 16.00 GiB. Of the allocated memory 2.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated." > xpu3.log
says xpu3.log 'PyTorch held only 2.00 GiB of the card'

# A little more free than was asked for is a full card, of which something was given back.
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 300.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 500.00 MiB is free. Including non-PyTorch memory, this process has 23.00 GiB memory in use. Of the allocated memory 22.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.' > more.log
says more.log '500.0 MiB were free when PyTorch asked' 'The card was full'

# A worker of the data loader: what helps is no setting of the GPU's.
echo 'RuntimeError: DataLoader worker (pid 19) is killed by signal: Killed.' > loader.log
says loader.log "A worker of PyTorch's data loader died" num_workers
check [ "$(jq -r '[.advice[] | select(.id | test("^(B|P)"))] | length' loader.log.json)" = 0 ]
# Nor where a person shortens it; another signal is no matter of memory.
printf '# My loader dies\n\nDataLoader worker (pid(s) xxx) is killed by signal\n' > short.log
says short.log "A worker of PyTorch's data loader died" num_workers
echo 'RuntimeError: DataLoader worker (pid 8) is killed by signal: Segmentation fault.' > segv.log
run 1 report segv.log -o segv.html

# The engine's share is in the words of the framework that starts it, also where it did not start.
cat > start.log <<'END'
  File "/opt/py/site-packages/trl/trainer/grpo_trainer.py", line 9, in __init__
  File "/opt/py/site-packages/vllm/v1/worker/gpu_worker.py", line 9, in init_device
ValueError: Free memory on device (50.00/80.00 GiB) on startup is less than desired GPU memory utilization (0.9, 72.00 GiB).
END
says start.log 'Change first 1. TRL' vllm_gpu_memory_utilization= nvidia-smi
# Nothing tells of other processes: the advice does not either, and how to learn more is not left out.
printf '  File "/opt/megatron/training.py", line 9, in load_checkpoint\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB\n' > load.log
says load.log 'Record'
says_not load.log nvidia-smi

# PyTorch on cudaMallocAsync; more in use than the card has; what Windows has not.
cat > async.log <<'END'
  File "C:\x\torch\nn\modules\linear.py", line 9, in forward
torch.OutOfMemoryError: Allocation on device 1 would exceed allowed memory. (out of memory)
Currently allocated     : 10.00 GiB
Requested               : 1.00 GiB
Device limit            : 11.00 GiB
Free (according to CUDA): 0 bytes
PyTorch limit (set by user-supplied memory fraction)
                        : 17179869184.00 GiB
END
says async.log 'on GPU 1 asked for 1.00 GiB at modules/linear.py:9 forward, and 0 B of 11.00 GiB were free: PyTorch held 10.00 GiB'
cause async.log capacity

# The sentence was cut off behind the request: nothing follows the place.
cat > brief.log <<'END'
Traceback (most recent call last):
  File "/w/fit.py", line 31, in step
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB
END
says brief.log 'asked for 3.00 GiB at w/fit.py:31 step.'
echo 'torch.OutOfMemoryError: Allocation on device' > async2.log
says async2.log 'The allocator is cudaMallocAsync'
printf '%s\n' '  File "C:\x\torch\autograd\__init__.py", line 9, in backward' 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 11.00 GiB of which 0 bytes is free. Of the allocated memory 16.00 GiB is allocated by PyTorch, and 700.00 MiB is reserved by PyTorch but unallocated.' > spill.log
says spill.log 'That is more than the card has'
cause spill.log capacity
sed 's/ 16.00 GiB is/ 8.00 GiB is/;s/ 700.00 MiB/ 2.50 GiB/' spill.log > windows.log
says windows.log max_split_size_mb
cause windows.log fragmentation
says_not windows.log '=expandable_segments:True'
says_not windows.log 'memtrace capture --'

# One object of a logger in JSON, alone in its file; a snapshot that is none is still refused.
printf '%s\n' '{"level":"error","msg":"Traceback:\n  File \"/x/torch/autograd/__init__.py\", line 9, in backward\nRuntimeError: CUDA error: out of memory"}' > object.log
says object.log 'in training (backward), failed: a call of CUDA could not allocate'
echo '{"other":"RuntimeError: CUDA error: out of memory"}' > other.json
run 1 report other.json

# Other libraries, by name.
echo '/x/mem_heap.cpp:9: non-zero status: 2 cuMemCreate failed' > nvshmem.log
says nvshmem.log 'a call of NVSHMEM could not allocate'
echo 'misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: No space left on device (28)' > shm.log
says shm.log 'shared memory, not the GPU'
echo '[TRT] [E] Error Code 2: OutOfMemory (Requested size was 9 bytes.)' > trt.log
says trt.log 'a call of TensorRT could not allocate'

# A worker of Ray that died says nothing of memory: to find the reason comes first, and nothing beside it.
echo 'The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: (1) killed by SIGKILL by OOM killer due to high memory usage' > died.log
says died.log 'A worker of Ray died' 'Change first 1. See what was killed'
check [ "$(run 0 report died.log --force --format json -o died.json; jq '[.advice[] | select(.top)] | length' died.json)" = 1 ]

# Shared memory of a multiprocessor is none of what a GPU runs out of.
echo 'triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 300, Hardware limit: 200. Reducing' > chip.log
says chip.log 'The log tells of no failure for want of memory; a kernel wants more shared memory' 'num_stages'
cause chip.log none

# vLLM's own estimate; the driver's line in the system's log.
echo 'ValueError: (4.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.00 GiB). Based on the available memory, the estimated maximum model length is 6000.' > fits.log
says fits.log "By vLLM's own estimate 6000 tokens would fit"
echo 'NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)' > dmesg.log
says dmesg.log "NVIDIA's kernel driver could not allocate" 'share their memory'
# Weights that do not fit are no matter of the engine's share: more GPUs first, in the words of whoever starts it.
full='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 44.00 GiB of which 1.00 GiB is free. Of the allocated memory 42.00 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.'
printf '  File "/x/vllm/v1/worker/gpu_worker.py", line 9, in load_model\n%s\n' "$full" > weights.log
says weights.log '--tensor-parallel-size 2' 'quantised' 'no smaller share makes room'
says_not weights.log --gpu-memory-utilization
printf '(LLMRayActor pid=7) %s\n' "$(sed 's/$/ x/' weights.log | head -n 1)" "$full" > weights2.log
says weights2.log '--vllm.tensor_parallel_size 2'
# A request that no card has is no matter of the share either.
printf '  File "/x/vllm/v1/worker/gpu_worker.py", line 9, in determine_available_memory\n%s\n' "${full/2.00 GiB./90.00 GiB.}" > beyond.log
says beyond.log 'The request alone is 2 times the card' --max-num-seqs
says_not beyond.log --gpu-memory-utilization

# Both memories: each has its advice, and nothing more is moved to a host that is full.
verl='  File "/opt/verl/verl/workers/fsdp_workers.py", line 9, in update_actor'
printf '%s\n' "$verl" "$full" '[x] Out of memory: Killed process 7 (python) total-vm:1kB, anon-rss:9000000kB' > both.log
says both.log 'The host ran out of memory as well, in line 3: the kernel killed python' 'offload less' ppo_max_token_len_per_gpu
says_not both.log offload=True
printf '%s\n' '[x] Out of memory: Killed process 7 (python) total-vm:1kB, anon-rss:9000000kB' "$verl" "$full" > both2.log
says both2.log 'The host ran out of memory, not the GPU' 'GPU memory ran out as well, in line 3: PyTorch could not allocate 2.00 GiB' ppo_max_token_len_per_gpu
# A kill after a failure is mostly the launcher's: said, and not counted.
printf '%s\n' "$full" 'job exited with code 137' > after.log
says after.log 'Line 2 says: killed by a signal. A launcher does that'
says_not after.log 'failures; this is the first'
says_not after.log 'offload less'

# A limit of a container is not the whole host; a sentence that ends before what is reserved has numbers all the same.
echo '[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python,pid=7,uid=0' > group.log
says group.log 'the kernel killed python (pid 7)' 'the limit of a control group'
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Of the allocated memory 5.00 GiB is allocated by PyTorch' > unsaid.log
says unsaid.log '72.90 GiB of the card are neither free nor held by PyTorch'
echo 'RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 2.00 GB, max allowed: 7.50 GB). Tried to allocate 1024.00 MB on private pool.' > mps.log
says mps.log 'asked for 1.00 GiB and 512.0 MiB of 7.50 GiB were free' PYTORCH_MPS_HIGH_WATERMARK_RATIO
echo 'ray.exceptions.ObjectStoreFullError: Failed to put object x in object store because it is full.' > store.log
says store.log --object-store-memory

# More than is in use: the one process that is named is this one, and an engine in it sleeps.
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.90 GiB. GPU 0 has a total capacity of 23.60 GiB of which 3.70 GiB is free. Process 7 has 19.90 GiB memory in use. Of the allocated memory 20.30 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.' > asleep.log
says asleep.log 'PyTorch counts 20.40 GiB, but the process has only 19.90 GiB of the card'
cause asleep.log capacity

# What is not there is not advised; a margin that somebody keeps is named.
printf '%s\n' 'Warning: expandable_segments not supported on this platform' "${full/ 42.00/ 34.00}" > none.log
sed -i 's/ 20.00 MiB is reserved/ 8.00 GiB is reserved/' none.log
says none.log max_split_size_mb
says_not none.log '=expandable_segments:True'
printf '%s\n' '[torch_memory_saver.cpp] TorchMemorySaver::malloc return OOM since memory_margin_bytes=1073741824 (alloc)size=2147483648 free_bytes=3000000000' "${full/of which 1.00/of which 2.80}" > margin.log
says margin.log 'torch_memory_saver leaves 1.00 GiB of the card free (line 1)' --train-memory-margin-bytes
# A state dict that is gathered whole.
printf '%s\n' "/x/fsdp.py:7: UserWarning: Failed to clone() tensor with name head. Error: ${full#torch.OutOfMemoryError: }" > gather.log
says gather.log 'offload_to_cpu=True, rank0_only=True'
# Settings that engines of other makers have.
echo 'RuntimeError: [TM][ERROR] CUDA runtime error: out of memory /x/allocator.h:7' > tm.log
says tm.log cache_max_entry_count
echo 'RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1048576 bytes.' > xla.log
says xla.log 'a call of XLA could not allocate 1.0 MiB' XLA_PYTHON_CLIENT_MEM_FRACTION
finish
