"""What only a log tells: other processes on the card, the host's memory. Beside a snapshot, or alone."""

from generator.record import GIB, MIB
from generator.scenario import Scenario

HF = {"framework": "hf", "backend": "plain", "shape": "qwen3_0.6b", "dp": 1, "micro": (8192,), "steps": 1}


def gib(n):
    return "%.2f GiB" % (n / GIB) if n >= GIB else "%.2f MiB" % (n / MIB)


def sentence(others):
    """The sentence with which PyTorch 2.6 fails, of this card; others: (pid, bytes) of other processes."""
    def make(played):
        foreign = sum(n for _, n in others)
        outside = 520 * MIB  # context and libraries of this process
        live = sum(played.live.values())
        return (
            "Traceback (most recent call last):\n"
            '  File "/root/sft/run_sft.py", line 88, in <module>\n    trainer.train()\n'
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which %s is "
            "free. "
            % (gib(played.request), gib(played.capacity + foreign + outside), gib(played.device_free))
            + "".join("Process %d has %s memory in use. " % (pid, gib(n)) for pid, n in others)
            + "Including non-PyTorch memory, this process has %s memory in use. Of the allocated memory %s is allocated by "
            "PyTorch, and %s is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
            "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)\n"
            % (gib(played.reserved + outside), gib(live), gib(played.reserved - live))
        )
    return make


RAY_KILL = """\
(TaskRunner pid=41023) step:115 - timing_s/update_actor:61.20 - timing_s/update_weights:9.31
(WorkerDict pid=41877) [verl/workers/fsdp_workers.py] update_actor, memory allocated (GB): 21.40, memory reserved (GB): \
38.00, device memory used/total (GB): 61.22/79.15
(raylet) Memory on the node (IP: 10.0.0.11, ID: 6c4f) where the task (actor ID: 8f12, name=WorkerDict, pid=41877, \
memory used=61.75GB) was running was 841.32GB / 882.00GB (0.953877), which exceeds the memory usage threshold of 0.95. \
Ray killed this worker (ID: 77aa) because it was the most recently scheduled task.
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
"""
KERNEL_KILL = """\
[  INFO] step 12 saved checkpoint
[91233.120001] python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0
[91233.120400] Out of memory: Killed process 20117 (python3) total-vm:412345678kB, anon-rss:229812345kB, \
file-rss:1024kB, shmem-rss:9437184kB
"""
RELAX_KILL = """\
(RayTrainGroup pid=991) [relax/backends/megatron/actor.py] Timer update_weights start
(raylet) Memory on the node (IP: 10.0.0.12, ID: 11aa) where the task (actor ID: 9b01, name=MegatronTrainRayActor, \
pid=991, memory used=310.20GB) was running was 1910.11GB / 2000.00GB (0.955055), which exceeds the memory usage \
threshold of 0.95. Ray killed this worker (ID: 3c) because it was the most recently scheduled task.
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
"""
SLEEP = """\
INFO 11-02 10:00:01 [gpu_worker.py:97] Sleep mode freed 0.00 GiB memory, 63.15 GiB memory is still in use.
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.15 GiB of \
which 1.10 GiB is free. \
Process 4242 has 63.60 GiB memory in use. Including non-PyTorch memory, this process has 14.45 GiB memory in use. Of \
the allocated memory \
13.10 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated \
memory is large try \
setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
"""
NCCL = """\
(MegatronTrainRayActor pid=991) NCCL WARN Failed to CUDA calloc async 4194304 bytes
(MegatronTrainRayActor pid=991) torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, unhandled \
cuda error
(MegatronTrainRayActor pid=991) ncclUnhandledCudaError: Call to CUDA function failed.
(MegatronTrainRayActor pid=991) Last error:
(MegatronTrainRayActor pid=991) Failed to CUDA calloc async 4194304 bytes
"""
SHARE_TOO_LARGE = """\
INFO 11-20 09:14:31 [gpu_model_runner.py:2653] Model loading took 14.2717 GiB and 6.201 seconds
ERROR 11-20 09:14:32 [core.py:790] ValueError: Free memory on device (21.44/79.15 GiB) on startup is less than desired GPU \
memory utilization (0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
"""
SHARE_TOO_SMALL = """\
INFO 11-20 09:15:02 [gpu_worker.py:298] Available KV cache memory: -1.63 GiB
ERROR 11-20 09:15:02 [core.py:790] ValueError: No available memory for the cache blocks. Try increasing \
`gpu_memory_utilization` when initializing the engine.
"""
SHARE_SGLANG = """\
[2025-11-20 10:00:01] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=10.11 GB, mem usage=14.30 GB.
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
"""
WORKER_KILLED = """\
RuntimeError: DataLoader worker (pid 44712) is killed by signal: Killed.
RuntimeError: DataLoader worker (pid(s) 44712, 44713) exited unexpectedly
"""
# the engine sleeps in a process of its own, and what it keeps is a small part of a card that the trainer fills
ASLEEP = """\
(vLLMHttpServer pid=811) INFO 11-20 10:00:01 [gpu_worker.py:130] Sleep mode freed 62.10 GiB memory, 7.31 GiB memory is still in use.
(WorkerDict pid=901) Before update_actor, memory allocated (GB): 10.64, memory reserved (GB): 12.11, device memory used/total (GB): 24.90/79.15
(WorkerDict pid=901) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB. GPU 3 has a total capacity of 79.15 GiB of \
which 11.45 GiB is free. Process 811 has 7.31 GiB memory in use. Including non-PyTorch memory, this process has 60.38 GiB memory in use. \
Of the allocated memory 57.20 GiB is allocated by PyTorch, and 1.10 GiB is reserved by PyTorch but unallocated.
"""
# a traceback in the name of the driver, whose worker another line names; colours, carets, another worker's lines in between
TRACEBACK = """\
\x1b[36m(TaskRunner pid=5001)\x1b[0m ray.exceptions.RayTaskError(OutOfMemoryError): \x1b[36mray::WorkerDict.ref_compute()\x1b[39m (pid=5122, \
ip=10.0.0.7, actor_id=3f, repr=<verl.single_controller.ray.base.WorkerDict object at 0x7f>)
\x1b[36m(TaskRunner pid=5001)\x1b[0m   File "/opt/verl/verl/workers/fsdp_workers.py", line 860, in compute_log_prob
\x1b[36m(TaskRunner pid=5001)\x1b[0m     output, entropys = self.actor.compute_log_prob(data=data, calculate_entropy=True)
\x1b[36m(WorkerDict pid=5123)\x1b[0m Actor use_remove_padding=True
\x1b[36m(TaskRunner pid=5001)\x1b[0m   File "/opt/verl/verl/workers/actor/dp_actor.py", line 240, in _forward_micro_batch
\x1b[36m(TaskRunner pid=5001)\x1b[0m     ^^^^^^^^^^^^^^^^^^^^^
\x1b[36m(TaskRunner pid=5001)\x1b[0m   File "/opt/verl/verl/utils/torch_functional.py", line 148, in entropy_from_logits
\x1b[36m(TaskRunner pid=5001)\x1b[0m torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 14.00 GiB. GPU 2 has a total capacity of \
79.11 GiB of which 5.10 GiB is free. Process 77 has 74.00 GiB memory in use. Of the allocated memory 71.20 GiB is allocated by PyTorch, and \
0.60 GiB is reserved by PyTorch but unallocated.
"""
# a container shows the card as the trainer's alone, and two thirds of it are neither free nor PyTorch's
CONTAINER = """\
  File "/opt/verl/verl/workers/fsdp_workers.py", line 445, in update_actor
  File "/opt/verl/verl/workers/actor/dp_actor.py", line 299, in update_policy
  File "/opt/conda/lib/python3.11/site-packages/torch/optim/adamw.py", line 220, in step
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 240.00 MiB. GPU 0 has a total capacity of 79.33 GiB of which 180.00 MiB is \
free. Process 31 has 79.10 GiB memory in use. Of the allocated memory 26.10 GiB is allocated by PyTorch, and 1.80 GiB is reserved by PyTorch \
but unallocated.
"""
GRAPHS_VLLM = """\
(Worker pid=3) ERROR 11-20 [multiproc.py:470]   File "/x/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2490, in capture_model
(Worker pid=3) ERROR 11-20 [multiproc.py:470]     with graph_capture(device=self.device):
(Worker pid=3) ERROR 11-20 [multiproc.py:470]   File "/x/site-packages/torch/cuda/graphs.py", line 84, in capture_end
(Worker pid=3) ERROR 11-20 [multiproc.py:470] RuntimeError: CUDA error: out of memory
"""
WAKE_SGLANG = """\
(SGLangHttpServer pid=25) [torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h func=cu_mem_create line=194
(WorkerDict pid=20) WARNING: request to resume_memory_occupation timed out (attempt 1)
"""
WAKE_VERL = """\
(W pid=4)   File "/opt/verl/verl/workers/sharding_manager/fsdp_vllm.py", line 79, in __enter__
(W pid=4)   File "/x/site-packages/vllm/device_allocator/cumem.py", line 75, in create_and_map
(W pid=4) RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62
"""
WARM_UP = """\
ERROR 06-02 [core.py:396] RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering \
`max_num_seqs` or `gpu_memory_utilization` when initializing the engine.
"""
TOO_LONG = """\
(LLMRayActor pid=207) ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that can be stored in
(LLMRayActor pid=207) KV cache (6048). Try increasing `gpu_memory_utilization`.
"""
MEASURE = """\
AssertionError: Error in memory profiling. Initial free memory 82.94 GiB,
current free memory 90.17 GiB. This happens when other processes sharing the same container release GPU memory.
"""
PINNED = """\
  File "/opt/verl/verl/utils/megatron_utils.py", line 435, in offload_megatron_model_to_cpu
    buffer.param_data.cpu_data = buffer.param_data.data.cpu().pin_memory()
torch.AcceleratorError: CUDA error: out of memory
"""
RAY_MONITOR = """\
(Actor pid=8) ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
(Actor pid=8) Memory on the node (IP: 10.0.0.4, ID: 37) where the task (actor ID: 65, name=RewardModelRayActor.__init__, pid=5315, memory \
used=1.67GB) was running was 445.48GB / 468.75GB (0.950365), which exceeds the memory usage threshold of 0.95.
"""
WORKER_DIED = """\
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a \
connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high \
memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.
"""
FRAGMENTS = """\
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 79.15 GiB of \
which 2.31 GiB is free. \
Including non-PyTorch memory, this process has 76.80 GiB memory in use. Of the allocated memory 55.10 GiB is allocated \
by PyTorch, and \
20.40 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting \
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
"""


def frames(prefix, *places):
    return "".join('%s  File "%s", line %d, in %s\n' % (prefix, file, line, name) for file, line, name in places)


def torch_says(request, capacity, free, allocated, unallocated, more="", gpu=0):
    return ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free. %sOf the "
            "allocated memory %s is allocated by PyTorch, and %s is reserved by PyTorch but unallocated.\n"
            % (gib(int(request * GIB)), gpu, gib(int(capacity * GIB)), gib(int(free * GIB)), more, gib(int(allocated * GIB)), gib(int(unallocated * GIB))))


SITE = "/x/site-packages/"
DIFFUSERS = SITE + "diffusers/"
TRAINER = (SITE + "transformers/trainer.py", 2900, "training_step")
# upside down, as some shells of clusters show it
UPSIDE_DOWN = (
    torch_says(40, 139.8, 30.2, 97.1, 1.9) + "        ^^^^^^^^\n    logits = logits.float()\n"
    + frames("", ("/opt/slime/slime/utils/ppo_utils.py", 90, "compute_log_probs"), ("/opt/slime/slime/backends/megatron_utils/loss.py", 70, "get_log_probs_and_entropy"),
             ("/opt/slime/slime/backends/megatron_utils/actor.py", 300, "compute_log_prob")) + "Traceback (most recent call last):\n")
CAUGHT = (frames("", ("/opt/verl/verl/workers/fsdp_workers.py", 445, "update_actor"), ("/opt/verl/verl/utils/logger/aggregate.py", 12, "log"))
          + "ValueError: not a number\nstep 4\n" + torch_says(8, 79.1, 4.1, 70.1, 1.0))
WORKER = "(%s pid=4242, ip=10.0.0.9) "
SKYRL = (frames(WORKER % "FSDPRefWorkerBase", ("/w/skyrl/backends/skyrl_train/workers/fsdp/fsdp_worker.py", 450, "forward"),
                ("/w/skyrl/backends/skyrl_train/workers/worker.py", 1600, "_forward_micro_batch"), ("/w/skyrl/backends/skyrl_train/utils/torch_utils.py", 130, "logprobs_from_logits"))
         + WORKER % "FSDPRefWorkerBase" + torch_says(18.5, 79.1, 12.1, 62.1, 1.5))
SKYRL_TRAIN = (frames(WORKER % "FSDPCriticWorkerBase", ("/w/skyrl/backends/skyrl_train/workers/worker.py", 1420, "forward_backward"),
                      ("/w/skyrl/backends/skyrl_train/distributed/fsdp_strategy.py", 149, "backward"))
               + WORKER % "FSDPCriticWorkerBase" + torch_says(4, 79.1, 2.1, 72.1, 1.5))
ORZ = (frames(WORKER % "PolicyRayActorBase", ("/w/orz/ppo/actors.py", 470, "ppo_train"), ("/w/orz/ppo/actors.py", 520, "training_step"), ("/w/orz/ppo/models.py", 95, "log_probs_from_logits"))
       + WORKER % "PolicyRayActorBase" + torch_says(8, 79.1, 4.1, 70.1, 1.0))
ROLL = (frames(WORKER % "ActorWorker(reference-0)", ("/w/roll/pipeline/base_worker.py", 140, "compute_log_probs"), ("/w/roll/distributed/strategy/megatron_strategy.py", 680, "op_compute_log_probs"))
        + WORKER % "ActorWorker(reference-0)" + torch_says(9, 79.1, 4.1, 70.1, 1.0))
MICE = "[2026-02-03 04:05:06,070] [INFO] [utils.py:%d:see_memory_usage] %s\n"
DEEPSPEED_KILLED = (MICE % (781, "Before initializing optimizer states") + MICE % (782, "MA 11.0 GB         Max_MA 11.0 GB         CA 12.0 GB         Max_CA 12 GB ")
                    + MICE % (789, "CPU Virtual Memory:  used = 240.5 GB, percent = 95.5%")
                    + "[2026-02-03 04:05:36,070] [ERROR] [launch.py:325:sigkill_handler] ['python', 'sft.py', '--local_rank=3'] exits with return code = -9\n")
IPYTHON = """\
File ~/env/lib/deepspeed/runtime/zero/stage3.py:600, in DeepSpeedZeroOptimizer_Stage3.__init__(self, module, optimizer)
    599 if self.offload_optimizer:
--> 600     self._create(module)

File ~/env/lib/deepspeed/accelerator/cuda_accelerator.py:292, in CUDA_Accelerator.pin_memory(self, tensor)
    291 def pin_memory(self, tensor):
--> 292     return tensor.pin_memory()

RuntimeError: CUDA error: out of memory
"""
CANN = """\
[rank5]:[E101 call aclnnAny failed, error code is 207001
EL0004: [PID: 99] 2026-01-02-03:04:05.006.007 Failed to allocate memory.
        Possible Cause: Available memory is insufficient.
        Failed to allocate resource[DeviceMemory] with info [size:1073741824]. Reason: Memory resources are exhausted.
"""
XPU_FULL = """\
torch.OutOfMemoryError: XPU out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 12.00 GiB. Of the allocated memory \
11.90 GiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated.
"""
XPU_BLOCK = """\
RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 5.50 GiB (GPU  0; 16.00 GiB total \
capacity; 1.00 GiB already allocated; 1.25 GiB reserved in total by PyTorch)
"""
KV_FULL = """\
[2026-03-04 05:06:07 TP0] Decode out of memory. Try to lower your batch size.
Try to allocate 30 tokens.
Available tokens: 12
"""
PUT_OFF = """\
[2026-03-04 05:06:07 TP0] Decode out of memory happened. #retracted_reqs: 2, #new_token_ratio: 0.10 -> 0.20
[torch_memory_saver.cpp] cuMemCreate CUDA_ERROR_OUT_OF_MEMORY (may not be an issue e.g. torch allocator will retry)
"""
TOO_LARGE = torch_says(36, 23.9, 20.1, 2.1, 0.2)
IN_CONTAINER = ('  File "/opt/ms-swift/swift/trainers/rlhf_trainer/grpo_trainer.py", line 900, in _score\n[rank9]: '
                + torch_says(2.5, 79.1, 2.4, 47.0, 3.4, "Including non-PyTorch memory, this process has 0 bytes memory in use. ", 7))
FULL_CARD = frames("", TRAINER) + torch_says(0.2, 39.4, 0.18, 36.1, 1.15, "Including non-PyTorch memory, this process has 39.20 GiB memory in use. ")
ALL_BUT = (frames("", TRAINER, (SITE + "trl/trainer/grpo_trainer.py", 1190, "compute_loss"), (SITE + "trl/trainer/grpo_trainer.py", 800, "_get_per_token_logps"))
           + torch_says(4.6, 79.1, 3.7, 70.1, 3.8))
LOADING = frames("", (SITE + "sglang/srt/model_executor/model_runner.py", 500, "load_model")) + torch_says(1.5, 79.1, 0.6, 77.0, 0.3)
LOADS_VLLM = (frames("", (SITE + "vllm/v1/worker/gpu_worker.py", 136, "load_model"), (SITE + "vllm/model_executor/models/llama.py", 340, "__init__"))
              + torch_says(1.9, 44.5, 0.9, 43.0, 0.02))
LOADS_WORDS = "ERROR Failed to load model - not enough GPU memory. Try lowering --gpu-memory-utilization. (original error: %s)\n" % torch_says(1.9, 44.5, 0.9, 43.0, 0.02).strip()
LOADS_BESIDE = frames("", (SITE + "vllm/v1/worker/gpu_worker.py", 136, "load_model")) + torch_says(1.9, 44.5, 0.9, 10.0, 0.02, "Process 77 has 33.20 GiB memory in use. ")
LOADS_TRL = (frames("", (SITE + "trl/trainer/grpo_trainer.py", 404, "__init__"), (SITE + "vllm/worker/worker.py", 183, "load_model")) + torch_says(1.9, 44.5, 0.9, 43.0, 0.02))
LARGER_PROFILE = frames("", (SITE + "vllm/v1/worker/gpu_worker.py", 300, "determine_available_memory")) + torch_says(192, 15.9, 11.2, 2.1, 0.2)
TRIES_SAMPLER = (frames("", (SITE + "vllm/v1/worker/gpu_model_runner.py", 3300, "_dummy_sampler_run"), (SITE + "vllm/v1/sample/sampler.py", 96, "forward"))
                 + torch_says(0.58, 23.6, 0.3, 22.6, 0.2))
WAKE_OPENRLHF = "(LLMRayActor pid=226) ERROR [core.py:459] RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62 [repeated 3x across cluster]\n"
LOGITS_SLIME = (frames("", ("/opt/slime/slime/backends/megatron_utils/actor.py", 300, "train_actor"), ("/opt/slime/slime/backends/megatron_utils/loss.py", 70, "get_log_probs_and_entropy"))
                + torch_says(61, 79.1, 27.1, 44.6, 0.4))
SLIME_TRAINS = frames("", ("/opt/slime/slime/backends/megatron_utils/actor.py", 300, "train_actor")) + torch_says(2, 79.1, 1, 44.6, 0.4)
FSDP2_LOADS = (frames("(WorkerDict pid=7) ", ("/opt/verl/verl/workers/fsdp_workers.py", 400, "init_model"), ("/opt/verl/verl/utils/fsdp_utils.py", 400, "fsdp2_load_full_state_dict"))
               + "(WorkerDict pid=7) " + torch_says(0.3, 95, 0.1, 93.1, 0.02))
RAY_SAYS = ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.1, ID: a) where the task (actor "
            "ID: b, name=Trainer.fit, pid=9, memory used=5.00GB) was running was 95.00GB / 99.00GB (0.9596), which exceeds the memory usage threshold of 0.95.\n")
HOST_AND_GPU = (frames("(WorkerDict pid=7) ", ("/opt/verl/verl/workers/fsdp_workers.py", 445, "update_actor"), ("/opt/verl/verl/workers/actor/dp_actor.py", 200, "update_policy"))
                + "(WorkerDict pid=7) " + torch_says(8, 79.1, 4.1, 70.1, 1.0) + RAY_SAYS)
KILLED_77 = "Out of memory: Killed process 77 (python) total-vm:1kB, anon-rss:99000000kB\n"
GPU_AND_HOST = (KILLED_77 + frames("[rank0]: ", TRAINER) + "[rank0]: " + torch_says(8, 79.1, 4.1, 70.1, 1.0))
OLD_SAYS = ("RuntimeError: CUDA out of memory. Tried to allocate 1.20 GiB (%s 0; 15.78 GiB total capacity; 9.10 GiB already allocated; 512.75 MiB free; 13.90 GiB reserved in total by "
            "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.\n")
NO_EXPANDABLE = ("[W1 CUDAAllocatorConfig.h:28] Warning: expandable_segments not supported on this platform (function operator())\n" + frames("", TRAINER)
                 + torch_says(3.9, 44.4, 2.0, 34.4, 7.1))
SKYRL_SYNC = (frames("(MegatronPolicyWorkerBase pid=7) ", ("/w/skyrl/backends/skyrl_train/workers/megatron/megatron_worker.py", 900, "broadcast_to_inference_engines"))
              + "(MegatronPolicyWorkerBase pid=7) " + torch_says(2, 79.1, 1, 74, 1.5))
NEMO_SYNC = (frames("(MegatronPolicyWorker pid=7) ", (SITE + "vllm/distributed/weight_transfer/nccl_engine.py", 200, "trainer_send_weights"))
             + "(MegatronPolicyWorker pid=7) " + torch_says(2, 79.1, 1, 74, 1.5))
PRIME_RL = frames("", ("/opt/prime-rl/src/prime_rl/trainer/rl/train.py", 400, "train"), ("/opt/prime-rl/src/prime_rl/trainer/rl/loss.py", 60, "selective_log_softmax")) + torch_says(2, 79.1, 1, 74, 1.5)
UNSLOTH = frames("", ("/content/unsloth_compiled_cache/UnslothGRPOTrainer.py", 1400, "compute_loss"), (SITE + "torch/autograd/__init__.py", 300, "backward")) + torch_says(2, 14.7, 1, 11, 1.5)
UNMAPPED = torch_says(5.9, 23.6, 3.7, 20.3, 0.07, "Process 343 has 19.90 GiB memory in use. ")
UPDATES = "[2026-01-01 TP0] Failed to update parameter online: %s\n" % torch_says(1, 79.1, 0.5, 77, 0.2).strip()
GATHERED = frames("[rank7]: ", ("/x/train/fsdp_utils.py", 109, "save"), (SITE + "torch/distributed/fsdp/_state_dict_utils.py", 303, "_full_pre_state_dict_hook")) + "[rank7]: " + torch_says(1, 39.4, 0.6, 37.2, 0.9)
SGLANG_STREAM = (frames("", (SITE + "sglang/srt/managers/tp_worker_overlap_thread.py", 111, "forward_thread_func"), (SITE + "vllm/utils.py", 928, "_patched_set_stream"))
                 + "RuntimeError: CUDA error: out of memory\n")
AS_JSON = '{"error":{"message":"%s"}}\n' % torch_says(
    0.02, 23.5, 0.01, 1.3, 0.1, "Including non-PyTorch memory, this process has 1.80 GiB memory in use. Process 5 has 21.60 GiB memory in use. ").strip()
COLAB = "[/usr/lib/python3/dist-packages/transformers/trainer.py](https://localhost:8080/#) in training_step(self, model)\n   2000 x\n\n" + torch_says(9, 14.7, 3.7, 10.6, 0.2)[6:]
SHARED = "RuntimeError: DataLoader worker (pid 6) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.\n"
RESUMED = frames("", ("/opt/megatron-lm/megatron/checkpointing.py", 572, "load_checkpoint"), (SITE + "torch/optim/optimizer.py", 379, "load_state_dict")) + torch_says(1.2, 79.3, 0.7, 77.0, 0.4)
FIRST_WITHOUT = torch_says(0.4, 9.7, 0.1, 6.6, 2.6) + "[rank0]: Traceback (most recent call last):\n" + frames("[rank0]: ", TRAINER) + "[rank0]: " + torch_says(0.4, 9.7, 0.1, 6.6, 2.6)

EVALUATES = (SITE + "transformers/trainer.py", 2515, "evaluation_loop")
EVAL_KEEPS = frames("", EVALUATES, (SITE + "transformers/trainer_pt_utils.py", 97, "nested_concat")) + torch_says(4.2, 15.9, 1.1, 13.9, 0.3)
EVAL_RUNS = (frames("", EVALUATES, (SITE + "transformers/trainer.py", 2700, "prediction_step"), (SITE + "transformers/models/llama/modeling_llama.py", 300, "forward"))
             + torch_says(4.2, 15.9, 1.1, 13.9, 0.3))
IMAGES = frames("", TRAINER, (SITE + "transformers/models/qwen2_vl/modeling_qwen2_vl.py", 1178, "get_image_features")) + torch_says(9.2, 14.7, 5.6, 8.1, 0.3)
ADAPTER_SENT = frames("", ("/opt/verl/verl/workers/sharding_manager/fsdp_vllm.py", 94, "__enter__"), (SITE + "torch/distributed/fsdp/fully_sharded_data_parallel.py", 700, "summon_full_params"))
BY_LAYERS = frames("", ("/opt/verl/verl/utils/fsdp_utils.py", 590, "layered_summon_lora_params"), (SITE + "torch/distributed/fsdp/fully_sharded_data_parallel.py", 700, "summon_full_params"))
GATHERS = torch_says(0.5, 79.3, 0.2, 76.7, 1.1)
VERL_RESUMES = (frames("", ("/opt/verl/verl/utils/checkpoint/fsdp_checkpoint_manager.py", 130, "load_checkpoint"), (SITE + "torch/serialization.py", 1500, "load"))
                + torch_says(4.64, 79.33, 1.11, 74.1, 2.4))
EACH_LOADS = frames("", (SITE + "transformers/modeling_utils.py", 5000, "from_pretrained")) + torch_says(0.5, 63.9, 0.1, 62.9, 0.1)
SCRIPT = "$ python train.py --data coco.yaml --imgsz 1280 --batch 64 --device 0\n" + torch_says(1.5, 79.1, 0.6, 77.0, 0.3)
REARRANGES = (frames("", (SITE + "vllm/v1/worker/gpu_worker.py", 300, "load_model"), (SITE + "vllm/model_executor/model_loader/utils.py", 100, "process_weights_after_loading"))
              + torch_says(0.02, 184.31, 0.021, 181.8, 0.013))
GRPO = (SITE + "trl/trainer/grpo_trainer.py", 1400, "_get_per_token_logps_and_entropies")
GRPO_LOSS = frames("", TRAINER, (SITE + "trl/trainer/grpo_trainer.py", 1500, "compute_loss"), GRPO) + torch_says(4.6, 19.7, 2.1, 15.4, 1.2)
GRPO_LAYER = (frames("", TRAINER, (SITE + "trl/trainer/grpo_trainer.py", 1500, "compute_loss"), GRPO, (SITE + "transformers/models/qwen3/modeling_qwen3.py", 200, "forward"))
              + torch_says(4.6, 19.7, 2.1, 15.4, 1.2))
RAISED_AGAIN = (frames("", (SITE + "sglang/srt/model_executor/model_runner.py", 934, "init_cuda_graphs"), (SITE + "sglang/srt/model_executor/cuda_graph_runner.py", 269, "__init__"))
                + torch_says(0.44, 95.0, 0.3, 92.3, 1.1).replace("torch.OutOfMemoryError: ", "Exception: Capture cuda graph failed: "))
LEFTOVER = ("ValueError: Free memory on device xpu:0 (0.22/30.3 GiB) on startup is less than desired GPU memory utilization (0.7, 21.21 GiB). "
            "Decrease GPU memory utilization or reduce GPU memory used by other processes.\n")
SAYS_VERSION = "(Worker pid=9) INFO 03-05 11:22:33 [llm_engine.py:234] Initializing a V0 LLM engine (v%s) with config: model='m'\n"
ENC_DEC = frames("", (SITE + "vllm/worker/enc_dec_model_runner.py", 350, "profile_run")) + torch_says(10.2, 44.4, 9.1, 33.3, 0.3)
SAVES = (frames("", (SITE + "accelerate/accelerator.py", 3439, "save_model"), (SITE + "accelerate/accelerator.py", 4002, "get_state_dict"),
                (SITE + "torch/distributed/tensor/_api.py", 600, "full_tensor")) + torch_says(0.5, 39.4, 0.3, 37.4, 0.9))
DPO_LOSS = (frames("", TRAINER, (SITE + "trl/trainer/dpo_trainer.py", 1500, "compute_loss"), (SITE + "transformers/models/qwen3/modeling_qwen3.py", 200, "forward"))
            + torch_says(0.9, 79.1, 0.6, 75.9, 0.9))
ADAPTER_DPO = (frames("", TRAINER, (SITE + "trl/trainer/dpo_trainer.py", 1500, "compute_loss"), (SITE + "peft/tuners/lora/layer.py", 700, "forward"))
               + torch_says(0.9, 79.1, 0.6, 75.9, 0.9))
TOKENS_UNBOUND = (frames("", ("/root/slime/slime/backends/megatron_utils/actor.py", 449, "train_actor"), ("/root/slime/slime/utils/ppo_utils.py", 672, "calculate_log_probs_and_entropy"))
                  + torch_says(58.15, 139.81, 47.69, 82.55, 2.06))
UNCHUNKED = (frames("(MegatronPolicyWorker pid=9) ", ("/opt/nemo-rl/nemo_rl/models/policy/workers/megatron_policy_worker.py", 500, "train"),
                    ("/opt/nemo-rl/nemo_rl/distributed/model_utils.py", 1012, "from_parallel_logits_to_logprobs"))
             + "(MegatronPolicyWorker pid=9) " + torch_says(12.6, 79.19, 12.44, 60.1, 2.1))
CLONED = frames("", ("/opt/verl/verl/workers/rollout/sglang_rollout/utils.py", 100, "get_named_tensor_buckets")) + torch_says(1.4, 79.1, 0.9, 75.9, 0.9)
REFERENCE_AT_ONCE = (frames("", (SITE + "trl/trainer/grpo_trainer.py", 1200, "_generate_and_score_completions"), (SITE + "trl/trainer/grpo_trainer.py", 900, "_get_per_token_logps"))
                     + torch_says(12.2, 79.3, 4.8, 68.7, 1.1))
LOADED_TWICE = (frames("", ("/w/megatron/bridge/training/checkpointing.py", 1400, "load_checkpoint"), (SITE + "transformer_engine/pytorch/optimizers/fused_adam.py", 400, "load_state_dict"))
                + torch_says(1.1, 79.0, 0.6, 76.9, 0.7))
ONLINE_DPO = (frames("", TRAINER, (SITE + "trl/trainer/online_dpo_trainer.py", 600, "training_step"), (SITE + "trl/trainer/online_dpo_trainer.py", 500, "_forward"))
              + torch_says(4.9, 79.1, 2.6, 72.9, 0.9))
ZERO3_SYNC = (frames("", (SITE + "trl/trainer/grpo_trainer.py", 900, "_move_model_to_vllm"), (SITE + "deepspeed/runtime/zero/partition_parameters.py", 2100, "__enter__"))
              + torch_says(1.1, 79.1, 0.6, 75.9, 0.9))



def alone(name, ticket, text, cause, **more):
    return Scenario("log-" + name, ticket, {}, snapshot=False, files={"job.log": text}, cause=cause, **more)


MODULE = (SITE + "torch/nn/modules/module.py", 1747, "_call_impl")
NO_GRAD = (SITE + "torch/utils/_contextlib.py", 116, "decorate_context")


def net(*where):
    return frames("", *where) + torch_says(3, 23.6, 1.2, 21, 0.9)


SCENARIOS = [
    Scenario("log-leftover-process", "vLLM 20860, GraphGen 130, with the sentence of the failure", dict(HF, foreign=31 * GIB),
             fail="train_actor/",
             cause="foreign", phase="train", must=["B35"], options=["--log", "{folder}/job.log"],
             files={"job.log": sentence([(30117, 31 * GIB)])}),
    Scenario("log-fifteen-contexts", "returnn 1466: fifteen processes of 1.19 GiB", dict(HF, foreign=15 * 1219 * MIB),
             fail="train_actor/",
             cause="foreign", phase="train", must=["B35"], options=["--log", "{folder}/job.log"],
             files={"job.log": sentence([(30100 + i, 1219 * MIB) for i in range(15)])}),
    Scenario("log-nobody-else", "the same job alone on a smaller card", dict(HF), fail="train_actor/",
             cause=("capacity", "giant_tensor"),
             phase="train", must_not=["B35"], options=["--log", "{folder}/job.log"], files={"job.log": sentence([])}),
    alone("ray-kills-a-worker", "verl 3453, 4995", RAY_KILL, "host", must=["V40|V37|V38"]),
    alone("ray-kills-a-relax-actor", "Relax, weights backuper: a copy of the weights in host memory", RELAX_KILL, "host",
          must=["X18"]),
    alone("kernel-kills-the-process", "verl 1964: a checkpoint is saved", KERNEL_KILL, "host"),
    alone("sleep-freed-nothing", "vLLM PR 11743, pytorch 147851: expandable segments with sleep mode", SLEEP,
          ("stale_engine", "foreign")),
    alone("nccl-cannot-allocate", "slime 956, PR 1086", NCCL, "foreign", must=["B04"]),
    alone("engine-share-too-large", "vLLM: less is free at start than its share of the card", SHARE_TOO_LARGE, "capacity", must=["P08/down"],
          must_not=["B34", "P08/up"], sets={"P08": "--gpu-memory-utilization 0.27"}),
    alone("engine-share-too-small", "vLLM: the share leaves nothing for the cache; sleeping helps nobody", SHARE_TOO_SMALL, "capacity",
          must=["P08/up"], must_not=["B34", "B13"]),
    alone("engine-share-too-small-sglang", "SGLang: the same", SHARE_SGLANG, "capacity", must=["P08/up"], must_not=["B34", "B20"]),
    alone("dataloader-worker-killed", "a killed process that loads data", WORKER_KILLED, "host"),
    alone("asleep-and-full", "a trainer that fills the card beside an engine that sleeps", ASLEEP, "capacity", must_not=["B35"]),
    alone("traceback-names-the-phase", "verl 2828, EasyR1 9: the phase from the frames, the process from Ray's line", TRACEBACK, "capacity",
          phase="logp_old", sub=("logits",), must=["V06", "V25", "P06"], must_not=["V12", "V17"]),
    alone("card-full-in-a-container", "verl 647: lower the engine's share", CONTAINER, "foreign", phase="train_actor", sub=("optimizer",),
          must=["B34", "V01/down"], must_not=["V24"]),
    alone("graph-capture-vllm", "vLLM 19186, 15598: a smaller share, fewer sequences", GRAPHS_VLLM, ("none", "capacity"), phase="rollout.graph",
          must=["P08/down", "B41"], must_not=["P08/up"], sets={"B115": "--enforce-eager", "P08": "--gpu-memory-utilization <less than it is>"}),
    alone("wake-up-sglang", "SGLang 14092, verl 1431: a smaller share", WAKE_SGLANG, "foreign", phase="rollout.wake_sleep",
          must=["V01/down"], must_not=["B34", "B20"]),
    alone("wake-up-verl", "verl 302, lmm-r1 43: a smaller share, the trainer offloaded", WAKE_VERL, "foreign", phase="rollout.wake_sleep",
          must=["V22", "V01/down"], must_not=["V17", "V19", "B13", "B34"]),
    alone("warm-up-vllm", "TRL 3523", WARM_UP, "capacity", phase="rollout.profile", must=["P08/down", "B41"], must_not=["P08/up"]),
    alone("sequence-too-long", "OpenRLHF 336, over two lines", TOO_LONG, "capacity", phase="rollout.kv_alloc", must=["B30"],
          must_not=["P08/down"], sets={"B30": "--vllm.gpu_memory_utilization <more than it is, at most 0.95>"}),
    alone("others-gave-back-while-it-measured", "vLLM 56830, ms-swift 3241, over two lines", MEASURE, "foreign", phase="rollout.init",
          must_not=["P08/down", "P08/up"]),
    alone("host-memory-cannot-be-pinned", "verl 6690's place: CUDA says the same of host memory", PINNED, "host", must_not=["V17"]),
    alone("ray-monitor-in-two-lines", "OpenRLHF 911, 171", RAY_MONITOR, "host", must=["P38"], must_not=["V40"]),
    alone("worker-of-ray-died", "verl-agent 52, verl 3349: nothing says why", WORKER_DIED, "host", must=["V40"]),
    alone("reserved-but-unallocated", "SkyRL PR 1768", FRAGMENTS, "fragmentation", must=["B01"], must_not=["B04"]),
    alone("traceback-upside-down", "slime 1951", UPSIDE_DOWN, "capacity", phase="logp", sub=("logits",)),
    alone("error-that-was-caught", "its traceback is not that of the failure", CAUGHT, "capacity", phase="unattributed"),
    alone("skyrl-reference", "SkyRL: the process's name tells the role", SKYRL, "capacity", phase="logp_ref", sub=("logits",)),
    alone("skyrl-critic", "SkyRL", SKYRL_TRAIN, "capacity", phase="train_critic", sub=("backward",)),
    alone("orz-policy", "Open-Reasoner-Zero 21's project", ORZ, "capacity", phase="train_actor", sub=("logits",)),
    alone("roll-reference", "ROLL 159", ROLL, "capacity", phase="logp_ref", sub=("logits",)),
    alone("deepspeed-killed", "DeepSpeed 3160, 4890: the host was full", DEEPSPEED_KILLED, "host", must=["V40"]),
    alone("deepspeed-launcher-killed", "its launcher's line alone", "[2026-02-03 04:05:36,070] [ERROR] [launch.py:325:sigkill_handler] ['/v/bin/python', '-u', 'tune.py', '--local_rank=1', '--deepspeed', "
          "'zero2.json'] exits with return code = -9\n", "host", must=["P39", "V40"]),
    alone("ipython-pins", "transformers 24658, DeepSpeed 6651", IPYTHON, "host", must=["V40"]),
    alone("cann-cannot-allocate", "vllm-ascend 3141", CANN, "foreign"),
    alone("xpu-full", "torch-xpu-ops 1324: nothing says what is free", XPU_FULL, "capacity"),
    alone("xpu-block", "intel-extension-for-pytorch 629: a limit of one block", XPU_BLOCK, "limit"),
    alone("kv-cache-full-sglang", "SGLang 4602, 7353", KV_FULL, "capacity", phase="rollout.generate", must=["P08/up"], must_not=["P08/down", "B33"]),
    alone("put-off", "SGLang 4184: no failure", PUT_OFF, "none"),
    alone("larger-than-the-card", "TheRock 1054, pytorch 134208", TOO_LARGE, "giant_tensor", must_not=["B01", "B35"]),
    alone("container-says-nothing", "ms-swift 5943: 0 bytes in use", IN_CONTAINER, "foreign", must=["B35"]),
    alone("ends-of-segments", "stanford_alpaca 308, OpenRLHF 95: a full card", FULL_CARD, "capacity", phase="train", must=["P01", "P02"]),
    alone("all-but-enough", "TRL 3172: unallocated and free together", ALL_BUT, "capacity", phase="train", must=["B01", "B31"]),
    alone("engine-loads", "SGLang 19781", LOADING, "capacity", phase="rollout.load", must=["B47"], must_not=["B33", "P01", "P08"], sets={"B47": "--tp-size 2"}),
    alone("engine-loads-too-much", "vLLM 7721, 15182: weights are loaded before the share is looked at", LOADS_VLLM, "capacity", phase="rollout.load",
          must=["B47"], must_not=["P08", "B41", "B13"], sets={"B47": "--tensor-parallel-size 2"}),
    alone("engine-loads-by-its-words", "vLLM's own sentence, which advises a smaller share", LOADS_WORDS, "capacity", phase="rollout.load", must=["B47"], must_not=["P08"]),
    alone("engine-loads-beside-others", "a process that was left holds the card", LOADS_BESIDE, "foreign", phase="rollout.load", must=["B35"], must_not=["P08"]),
    alone("trl-loads-its-engine", "TRL 2688's place", LOADS_TRL, "capacity", phase="rollout.load", must=["B47"], must_not=["B31"], sets={"B47": "vllm_tensor_parallel_size=2"}),
    alone("larger-than-the-card-in-profile", "gpustack 4963: no share helps", LARGER_PROFILE, "giant_tensor", phase="rollout.profile", must=["B41"], must_not=["P08"]),
    alone("trial-run-of-the-sampler", "the place of samples/torch/vllm/oom_profile: rows of logits are sequences, whatever a step may take", TRIES_SAMPLER, "capacity", phase="rollout.profile",
          sub=("rollout.sample",), must=["B41"], must_not=["B51", "P09"], sets={"B41": "--max-num-seqs <half of its value>"}),
    alone("engine-wakes-openrlhf", "OpenRLHF 1050: only the process's name tells the framework", WAKE_OPENRLHF, "foreign", phase="rollout.wake_sleep",
          must=["B30"], must_not=["P08", "B44"], sets={"B30": "--vllm.gpu_memory_utilization <lower than it is>"}),
    alone("logits-slime", "slime 1767, 1951: fewer tokens before recomputing", LOGITS_SLIME, "capacity", phase="train_actor", sub=("logits",), must=["X11", "X09"]),
    alone("fsdp2-loads-in-verl", "verl 1517: it is FSDP2 already, and the engine is not there yet", FSDP2_LOADS, "capacity", phase="init", must_not=["V32", "V34"]),
    alone("host-and-gpu", "PRIME 59: both ran out", HOST_AND_GPU, "capacity", phase="train_actor", must=["V06", "V40"], must_not=["V22", "V15", "B21"]),
    alone("engine-loads-and-host", "the same as log-engine-loads-too-much, and the host ran out", LOADS_VLLM + RAY_SAYS, "capacity", phase="rollout.load",
          must=["B47", "V40"], not_sets={"B47": "--cpu-offload-gb <GiB of weights to keep on the host>"}),
    alone("slime-trains-beside-its-engine", "nothing but the place is told", SLIME_TRAINS, "foreign", phase="train_actor", must=["B34"]),
    alone("slime-and-host", "the same, and the host ran out: nothing can be moved there", SLIME_TRAINS + RAY_SAYS, "foreign", phase="train_actor", must=["V40"], must_not=["B34"]),
    alone("gpu-and-host", "the kernel's kill first", GPU_AND_HOST, "host", must=["V40", "P01"], must_not=["P04"]),
    alone("no-expandable-segments", "torchtune 1965: PyTorch warns that they do not exist there", NO_EXPANDABLE, "fragmentation", phase="train", must=["B02"], must_not=["B01"]),
    alone("torch-too-old", "the line of PyTorch to 2.0: no such option", frames("", TRAINER) + OLD_SAYS % "GPU", "fragmentation", must=["B02"], must_not=["B01"],
          sets={"B02": "or a PyTorch of 2.1 or newer, with expandable_segments:True in its place"}, no_lint=["fragmentation-expandable-off"]),
    alone("torch-too-old-by-its-name", "only PyTorch 2.2 and newer writes that sentence: the version is another environment's", "PyTorch version: 2.0.1+cu118\n" + FRAGMENTS, "fragmentation", must=["B01"],
          must_not=["B02"]),
    alone("npu-keeps-the-older-line", "torch_npu has the option", frames("", TRAINER) + (OLD_SAYS % "NPU").replace("CUDA", "NPU"), "fragmentation", must=["B01"], must_not=["B02"]),
    alone("engine-asleep-in-this-process", "RAGEN 92: PyTorch counts more than the one process that is named has", UNMAPPED, "capacity", must_not=["B35"]),
    alone("sglang-updates-weights", "SGLang PR 10597, AReaL: only the words tell the phase", UPDATES, "capacity", phase="weight_sync"),
    alone("skyrl-syncs", "SkyRL 1623: its processes' names are not NeMo-RL's", SKYRL_SYNC, "capacity", phase="weight_sync", must=["B52"], must_not=["B29"]),
    alone("nemorl-by-name", "only the process's name tells the framework", NEMO_SYNC, "capacity", phase="weight_sync", must=["B29"]),
    alone("prime-rl", "prime-rl: its trainer", PRIME_RL, "capacity", phase="train_actor", sub=("logits",)),
    alone("unsloth", "unsloth 1744, 3864: a copy of TRL's trainer", UNSLOTH, "capacity", must=["B67"], must_not=["B31"], sets={"B67": "unsloth_grpo_mini_batch=1"}),
    alone("turbomind", "LMDeploy 2236, 1019", "RuntimeError: [TM][ERROR] CUDA runtime error: out of memory /x/turbomind/utils/memory_utils.cu:32\n", "none"),
    alone("state-dict-gathered", "Bagel 157, stanford_alpaca 65", GATHERED, "capacity", sub=("fsdp_unshard",), must=["B87"], must_not=["P03"],
          sets={"B87": "FSDP.set_state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True))"}),
    alone("sglang-calls-vllm", "SGLang 4547", SGLANG_STREAM, ("none", "capacity"), phase="rollout.generate", must=["B17"], must_not=["B41"]),
    alone("colab", "unsloth 465, 3373: a notebook's traceback", COLAB, "capacity", phase="train", must=["P01"], must_not=["B82", "B63", "B05"]),
    alone("shared-memory", "pytorch 5040: /dev/shm", SHARED, "host", must_not=["V37"]),
    alone("checkpoint-loads", "Megatron-LM 380", RESUMED, "capacity", phase="ckpt_load", must_not=["B33"]),
    alone("sentence-in-json", "MOSS-TTSD 71", AS_JSON, "foreign", must=["B35"]),
    alone("traceback-at-the-second", "TRL 3436: the sentence stands twice", FIRST_WITHOUT, "fragmentation", phase="train", must=["B01"]),
    # what solved the ticket has to be among the advice
    alone("evaluation-keeps-logits", "Transformers 17089, 8476, 25313", EVAL_KEEPS, "capacity", phase="eval", must=["B84", "P09"], sets={"B84": "eval_accumulation_steps=1"}),
    alone("evaluation-forward", "the same loop, in a layer", EVAL_RUNS, "capacity", phase="eval", must=["P09"], must_not=["B84", "B85", "B78", "B79"]),
    alone("images-of-any-size", "unsloth 1326, ms-swift 5292", IMAGES, "capacity", phase="train", must=["B85", "P01"]),
    alone("adapter-gathered-whole", "verl PR 1127", ADAPTER_SENT + GATHERS, "capacity", phase="weight_sync", must=["B86"], sets={"B86": "actor_rollout_ref.rollout.layered_summon=True"}),
    alone("adapter-gathered-by-layers", "verl PR 6512: it is on already", BY_LAYERS + GATHERS, "capacity", phase="weight_sync", must_not=["B86"], lint=["verl-summons-whole"]),
    alone("checkpoint-loaded-to-the-card", "verl PR 7286", VERL_RESUMES, "capacity", phase="ckpt_load", must=["B87"], must_not=["B88", "B89"]),
    alone("each-process-loads-all", "ms-swift PR 9980, AReaL 845", EACH_LOADS, "capacity", phase="init", must=["B88"], must_not=["B87", "B80"]),
    alone("weights-rearranged-in-the-pool", "vLLM 43951, 48680", REARRANGES, "capacity", phase="rollout.load", must=["B47", "B89"], must_not=["B80"]),
    alone("grpo-loss", "TRL 3678, 3456: what is for other trainers is not shown", GRPO_LOSS, "capacity", sub=("logits",), must=["B31", "B09"],
          sets={"B09": "use_liger_kernel=True"}, not_sets={"B31": ["activation_offloading=True", "padding_free=True", "packing=True"]}),
    alone("grpo-layer", "the same trainer, in a layer: no logits", GRPO_LAYER, "capacity", sub=("forward",), must=["B31"], must_not=["B09", "B01"],
          no_lint=["trl-reference-at-once"]),
    alone("tokens-unbound", "slime 1951, before 0.3.0", TOKENS_UNBOUND, "capacity", phase="train_actor", must=["X09"], lint=["slime-tokens-unbound"]),
    alone("loss-unchunked", "NeMo-RL 2871", UNCHUNKED, "capacity", must=["B29", "B01"], lint=["nemorl-loss-unchunked"]),
    alone("buckets-cloned", "verl 6733", CLONED, "capacity", phase="weight_sync", must=["B22"], lint=["verl-buckets-cloned"]),
    alone("reference-at-once", "TRL PR 3740", REFERENCE_AT_ONCE, "capacity", must=["B31"], lint=["trl-reference-at-once"]),
    alone("adam-loaded-twice", "Megatron-Bridge PR 4936", LOADED_TWICE, "capacity", phase="ckpt_load", must=["B87"], lint=["te-adam-loaded-twice"]),
    alone("capture-raised-again", "SGLang 5634, 5285: the frames of the capture are in the error above", RAISED_AGAIN, "capacity", phase="rollout.graph", must=["B19", "P08"]),
    alone("leftover-fills-the-card", "vLLM 50135: no share of what is left would do", LEFTOVER, "capacity", must=["B35"], must_not=["P08"]),
    alone("vllm-keeps-samples", "verl 429, ms-swift 3508", SAYS_VERSION % "0.7.3" + RAY_SAYS, "host", must=["V40"], lint=["vllm-keeps-samples"]),
    alone("vllm-keeps-samples-no-more", "vLLM PR 16472", SAYS_VERSION % "0.8.5.post1" + RAY_SAYS, "host", no_lint=["vllm-keeps-samples"]),
    alone("profiles-an-encoder", "vLLM 10569, 8879", ENC_DEC, "capacity", phase="rollout.profile", must=["B41"]),
    alone("saved-whole", "accelerate 3633, PR 1181, torchtune PR 1495", SAVES, "capacity", phase="ckpt_save", must=["B87"], must_not=["P09", "P05", "B84", "B78", "B79"],
          sets={"B87": "fsdp_config.fsdp_state_dict_type: SHARDED_STATE_DICT"}, not_sets={"B87": 'torch.load(path, map_location="cpu", mmap=True)'}),
    alone("reference-beside-the-policy", "TRL PR 885", DPO_LOSS, "capacity", must=["B97"], must_not=["P18"], sets={"B97": "precompute_ref_log_probs=True"}, not_sets={"B31": "packing=True"}),
    alone("reference-of-an-adapter", "with an adapter the base is the reference: there is no second model", ADAPTER_DPO, "capacity", must=["B31"], must_not=["B97", "P18"]),
    alone("verl-on-fsdp", "the file of the actor tells the backend", frames("", ("/w/verl/workers/actor/dp_actor.py", 390, "update_policy")) + torch_says(3, 79.1, 2, 74, 1),
          "capacity", phase="train_actor", must=["V06", "V12"], must_not=["V14"]),
    alone("verl-on-megatron", "the same", frames("", ("/w/verl/workers/actor/megatron_actor.py", 590, "update_policy")) + torch_says(3, 79.1, 2, 74, 1),
          "capacity", phase="train_actor", must=["V06", "V14"], must_not=["V12", "V29"]),
    alone("unsloth-by-its-banner", "Unsloth 465: the frames are Transformers' alone", "==((====))==  Unsloth 2025.3.19: Fast Qwen2 patching. Transformers: 4.50.0.\n" + frames("", TRAINER)
          + torch_says(1.2, 14.7, 0.4, 13.1, 0.3), "capacity", must=["B67"], must_not=["B31"]),
    alone("online-dpo", "TRL 3701", ONLINE_DPO, "capacity", must=["B31"], must_not=["B01"], sets={"B31": "per_device_train_batch_size=<half of its value>"},
          not_sets={"B31": ["activation_offloading=True", "packing=True", "precompute_ref_log_probs=True"]}),
    alone("says-nothing-of-what-ran", "a line alone", torch_says(3, 23.6, 1.2, 21.3, 0.4), "capacity", must=["P30", "P31", "P32"], must_not=["P33", "P34", "P35", "B35"]),
    alone("says-nothing-at-all", "a driver's error without a number", "RuntimeError: CUDA error: out of memory\n", "none", must=["P33"]),
    alone("more-was-free", "a refusal with half the card free", torch_says(0.02, 79.1, 40, 35, 1.0), "limit", must=["P34"], must_not=["P01", "P02", "P04", "P30"]),
    alone("a-small-card", "what lies outside PyTorch is the process's own context", frames("", ("/home/u/gen.py", 8, "main"))
          + "RuntimeError: CUDA out of memory. Tried to allocate 120.00 MiB (GPU 0; 2.00 GiB total capacity; 1.20 GiB already allocated; 10.00 MiB free; 1.30 GiB reserved in total by PyTorch)\n",
          "capacity", must_not=["B35"]),
    alone("a-small-card-with-a-desktop", "a tenth of the card is no other job", frames("", ("/home/u/gen.py", 8, "main"))
          + torch_says(0.3, 4, 0.1, 2.9, 0.05, "Including non-PyTorch memory, this process has 3.45 GiB memory in use. "), "capacity", must_not=["B35"]),
    alone("a-small-card-and-a-game", "half of it is somebody's", frames("", ("/home/u/gen.py", 8, "main"))
          + torch_says(0.5, 6, 0.1, 2.4, 0.05, "Including non-PyTorch memory, this process has 2.95 GiB memory in use. "), "foreign"),
    alone("joins-what-it-collected", "all outputs of a loop, at its end", 'Traceback (most recent call last):\n  File "/home/u/encode.py", line 55, in encode_all\n    return torch.cat(outs)\n'
          + torch_says(11, 23.6, 9, 14, 0.1), "capacity", must=["P42"]),
    alone("joins-two-of-one-pass", "no list that a loop filled", 'Traceback (most recent call last):\n  File "/home/u/net.py", line 55, in up\n    x = torch.cat([x, skip], 1)\n'
          + torch_says(1, 23.6, 0.5, 22, 0.1), "capacity", must=["P30"], must_not=["P42"]),
    alone("killed-by-nobody", "a shell's word", "step 100 loss 2.1\nKilled\n", "host", must=["P39", "V41"], must_not=["V37", "V40", "V42"], sets={"P39": 'dmesg -T | grep -i -E "out of memory|oom-kill|killed process"'}),
    alone("engine-alone-on-its-card", "a trial run: no trainer to be moved, no share that bounds it", "ERROR 08-01 10:01:40 [core.py:515] Traceback (most recent call last):\n"
          + frames("ERROR 08-01 10:01:40 [core.py:515] ", (SITE + "vllm/v1/worker/gpu_worker.py", 205, "determine_available_memory"), (SITE + "vllm/model_executor/models/qwen2.py", 100, "forward"))
          + "ERROR 08-01 10:01:40 [core.py:515] " + torch_says(0.6, 15.8, 0.2, 15.2, 0.06), "capacity", phase="rollout.profile", must=["B51", "B47"], must_not=["P16", "P08"]),
    alone("engine-lacks-more-than-a-cache", "vLLM prints a negative size", "INFO [gpu_worker.py:227] Available KV cache memory: -6.42 GiB\n"
          "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n", "capacity", phase="rollout.kv_alloc",
          must=["P08/up", "B47"], must_not=["P16"]),
    alone("xla-on-a-gpu", "JAX: nothing of PyTorch's helps", "jax.errors.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes.\n", "none", must=["P43", "P30"], must_not=["P31", "P32"]),
    alone("trains-with-lightning", "its own trainer's words before PyTorch's", frames("", (SITE + "pytorch_lightning/loops/optimization/automatic.py", 311, "_training_step"), ("/home/u/unet.py", 120, "forward"))
          + torch_says(1.2, 23.6, 0.6, 21.9, 0.2), "capacity", must=["P44", "P01"], sets={"P44": 'Trainer(precision="bf16-mixed")'}, not_sets={"P44": "batch=<half>"}),
    alone("box-pairs", "MMDetection compares every anchor with every box", frames("", ("/w/mmdet/core/bbox/assigners/approx_max_iou_assigner.py", 120, "assign"), ("/w/mmdet/core/bbox/iou_calculators/iou2d_calculator.py", 190, "bbox_overlaps"))
          + torch_says(1.9, 23.6, 0.6, 21.9, 0.2), "capacity", must=["P110", "P44"], sets={"P110": "assigner=dict(type='MaxIoUAssigner', ..., gpu_assign_thr=100)", "P44": "data.samples_per_gpu=<half>"}),
    alone("trains-with-yolov5", "train.py of YOLOv5", frames("", ("/w/train.py", 310, "train"), ("/w/models/yolo.py", 114, "_forward_once"))
          + torch_says(0.4, 10.7, 0.2, 9.6, 0.3), "capacity", must=["P44"], sets={"P44": "--img-size <smaller>"}),
    alone("trains-with-detectron2", "the same", frames("", ("/w/detectron2/engine/train_loop.py", 310, "run_step"), ("/w/detectron2/layers/wrappers.py", 114, "forward"))
          + torch_says(0.4, 10.7, 0.2, 9.6, 0.3), "capacity", must=["P44"], sets={"P44": "SOLVER.IMS_PER_BATCH <half>"}),
    alone("zero-init", "it divides already: FSDP's flags are nothing there", frames("[rank3]: ", (SITE + "transformers/modeling_utils.py", 4097, "from_pretrained"),
          (SITE + "deepspeed/runtime/zero/partition_parameters.py", 1050, "_zero_init_param")) + "[rank3]: " + torch_says(0.5, 79.1, 0.3, 77.2, 0.3), "capacity", phase="init", must=["B88"],
          sets={"B88": '"offload_param": {"device": "cpu"}'}, not_sets={"B88": ["fsdp_config.fsdp_cpu_ram_efficient_loading: true", "deepspeed_config.zero3_init_flag: true"]}),
    alone("eager-attention", "generate() of a model that was loaded with it", frames("", ("/home/u/run.py", 40, "<module>"), (SITE + "transformers/generation/utils.py", 2460, "generate"),
          (SITE + "transformers/models/llama/modeling_llama.py", 240, "eager_attention_forward")) + torch_says(32, 79.1, 20, 57.9, 0.6), "capacity", must=["P15"],
          sets={"P15": 'from_pretrained(<model>, attn_implementation="sdpa")'}),
    alone("evaluation-pads", "outputs of all ranks in one width, before any function may reduce them", frames("", (SITE + "transformers/trainer.py", 4300, "evaluation_loop"),
          (SITE + "accelerate/utils/operations.py", 680, "_pad_across_processes")) + torch_says(9.3, 79.1, 4.4, 72.9, 1.1), "capacity", phase="eval", must=["B84", "P09"],
          sets={"B84": "prediction_loss_only=True"}, not_sets={"B84": "eval_accumulation_steps=1"}),
    alone("all-pairs", "a matrix of distances larger than the card", frames("", ("/home/u/pairs.py", 8, "nearest")) + torch_says(300, 39.4, 30, 8, 0.1), "giant_tensor",
          must=["P35"], must_not=["P01", "P31"]),
    alone("decodes-an-image", "an autoencoder of a pipeline", frames("", (DIFFUSERS + "pipelines/flux/pipeline_flux.py", 990, "__call__"),
                                                                    (DIFFUSERS + "models/autoencoders/autoencoder_kl.py", 320, "decode")) + torch_says(9, 23.6, 6, 16.8, 0.1),
          "capacity", phase="infer", must=["D01", "D02", "D03"], must_not=["P02"]),
    alone("denoises", "the transformer of a pipeline", frames("", (DIFFUSERS + "pipelines/flux/pipeline_flux.py", 950, "__call__"),
                                                              (DIFFUSERS + "models/transformers/transformer_flux.py", 500, "forward")) + torch_says(0.9, 23.6, 0.5, 22, 0.1),
          "capacity", phase="infer", must=["D02"], must_not=["D01"]),
    Scenario("log-trains-an-image-model", "a training script of diffusers and its flags", {}, snapshot=False, cause="capacity",
             files={"job.log": torch_says(0.9, 23.6, 0.5, 22, 0.1), "train.sh": "#!/bin/bash\naccelerate launch train_text_to_image.py --pretrained_model_name_or_path=/m "
                    "--train_batch_size=8 --resolution=768 --use_ema --gradient_checkpointing\n"},
             options=["--config", "{folder}/train.sh"], must=["P02", "D04", "D05"], must_not=["P01"], sets={"P02": "--train_batch_size 4", "D04": "--resolution 384"}),
    alone("a-fork-of-verl", "EasyR1: keys of its own, and counters that hold what the engine's sleep unmapped",
          frames("", ("/root/EasyR1/verl/workers/fsdp_workers.py", 520, "compute_log_probs"), ("/root/EasyR1/verl/workers/actor/dp_actor.py", 90, "_forward_micro_batch"))
          + torch_says(5, 79.1, 2, 84, 12, "Process 7 has 76.90 GiB memory in use. "), "capacity", phase="logp_old", must=["B107"], must_not=["B01", "V06", "V12"],
          sets={"B107": "worker.actor.micro_batch_size_per_device_for_experience=4"}),
    alone("videos-by-reinforcement", "verl-omni: its own keys, and none of verl's", frames("", ("/w/verl_omni/trainer/diffusion/ray_diffusion_trainer.py", 90, "fit"),
          ("/w/verl_omni/workers/engine.py", 41, "forward")) + torch_says(3, 79.1, 1.2, 75, 0.9), "capacity", must=["B117"], must_not=["V06", "V12", "V01"]),
    alone("fields-of-an-experiment", "Open-Reasoner-Zero wakes its engines", frames("", ("/w/orz/ppo/trainer.py", 70, "train"), ("/w/orz/ppo/actors.py", 55, "backload_to_gpu"))
          + torch_says(3, 79.1, 1.2, 75, 0.9), "capacity", must=["B118"], must_not=["P08", "V01"]),
    alone("states-of-colossalai", "its optimizer divides them itself", frames("", (SITE + "colossalai/zero/low_level/low_level_optim.py", 480, "step")) + torch_says(2, 23.6, 0.4, 22, 0.2),
          "capacity", must=["B119"], must_not=["P03", "B06"]),
    Scenario("log-four-models-of-a-chat", "PPO of ColossalAI's Chat application: its own batches, and no plugin that it refuses", {}, snapshot=False, cause="capacity",
             files={"job.log": frames("", (SITE + "coati/trainer/ppo.py", 180, "_training_step")) + torch_says(0.9, 39.6, 0.5, 37, 0.9), "run.sh": "torchrun --nproc_per_node=4 train_prompts.py --pretrain /m/opt --model opt "
                    "--strategy colossalai_zero2 --train_batch_size 8\n"},
             options=["--config", "{folder}/run.sh"], must=["P296"], must_not=["B119"], sets={"P296": "--train_batch_size 4"}),
    Scenario("log-three-models-of-a-chat", "step 3 of DeepSpeed-Chat: its own flags, and none that is set", {}, snapshot=False, cause="capacity",
             files={"job.log": torch_says(0.9, 39.6, 0.5, 37, 0.9), "run.sh": "deepspeed main.py --actor_model_name_or_path /m/opt --critic_model_name_or_path /m/rm "
                    "--per_device_training_batch_size 4 --actor_zero_stage 3 --critic_zero_stage 3 --enable_hybrid_engine --actor_gradient_checkpointing\n"},
             options=["--config", "{folder}/run.sh"], must=["B120"], must_not=["P01", "P03"], sets={"B120": "--offload"}),
    Scenario("log-a-policy-for-robots", "RLinf: the actor has one card, over which nothing is divided", {}, snapshot=False, cause="capacity",
             files={"job.log": torch_says(0.9, 23.6, 0.5, 22, 0.3), "maniskill.yaml": "cluster:\n  component_placement:\n    actor: 2\n    env: 0-1\nactor:\n  micro_batch_size: 40\n"},
             options=["--config", "{folder}/maniskill.yaml"], must=["B121"], must_not=["P30", "P31"], sets={"B121": "cluster.component_placement.actor: all"}),
    Scenario("log-a-bound-of-pixels", "the environment of a script bounds the pixels: old value and new", {}, snapshot=False, cause="capacity",
             files={"job.log": torch_says(20, 44.5, 9.5, 34, 0.3), "run.sh": "MAX_PIXELS=1204224 swift sft --model /m/qwen2.5-vl --train_type lora --dataset d.jsonl\n"},
             options=["--config", "{folder}/run.sh"], must=["P162"], must_not=["P30"], sets={"P162": "MAX_PIXELS=602112"}),
    alone("a-host-full-after-days", "the text says how long it went well", "Trains fine, but after three days the kernel kills it.\n" + KILLED_77, "host", must=["P180"], must_not=["V40"]),
    alone("a-host-full-at-once", "nothing tells of growth", "The kernel kills it in the first step.\n" + KILLED_77, "host", must=["V40"], must_not=["P180"]),
    alone("what-an-evaluation-keeps", "a text says that memory grows, and its evaluation failed", "Memory keeps growing while we validate, and there it is OOM in the evaluation.\n"
          + torch_says(0.5, 23.6, 0.3, 22, 0.3), "capacity", phase="eval", must=["P161"], must_not=["P01", "P02"]),
    alone("weights-in-four-bits", "AutoGPTQ's files, and nothing trains", frames("", ("/w/q.py", 14, "<module>"), (SITE + "auto_gptq/modeling/_base.py", 290, "quantize"))
          + torch_says(9, 23.6, 6.5, 16, 0.3), "capacity", must=["P160"], must_not=["P01", "P02", "P31"], sets={"P160": "model.quantize(..., cache_examples_on_gpu=False)"}),
    alone("turns-on-one-card", "an engine's sleep mode unmapped what PyTorch still counts, and nothing tells the program",
          torch_says(3, 79.1, 1.2, 84, 2, "Process 7 has 77.60 GiB memory in use. "), "capacity", must=["P154"], must_not=["B01"]),
    alone("ranks-on-one-card", "each rank took the first card", "$ torchrun --nproc_per_node=3 fit.py\n" + frames("[rank1]: ", ("/w/depth/fit.py", 14, "main"))
          + "[rank1]: " + torch_says(1, 79.1, 0.2, 25, 0.9, "Process 31 has 26.40 GiB memory in use. Process 32 has 26.10 GiB memory in use. Including non-PyTorch memory, this process "
                                     "has 26.40 GiB memory in use. "), "foreign", must=["B106"], must_not=["B35"],
          sets={"B106": 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'}),
    alone("an-engine-of-another-size", "a rank, and a process that is none", frames("[rank1]: ", ("/w/depth/fit.py", 14, "main"))
          + "[rank1]: " + torch_says(1, 79.1, 0.2, 25, 0.9, "Process 31 has 52.20 GiB memory in use. Including non-PyTorch memory, this process has 26.40 GiB memory in use. "),
          "foreign", must=["B35"], must_not=["B106"]),
    alone("two-strangers-alike", "nothing shows ranks", torch_says(1, 79.1, 0.2, 38, 0.9, "Process 31 has 39.40 GiB memory in use. Including non-PyTorch memory, this process has 39.40 GiB memory "
          "in use. "), "foreign", must=["B35"], must_not=["B106"]),
    alone("one-image-at-a-time", "a key that no table has, by its shape", "$ python fit.py --imgs-per-gpu 1 --val_batch_size 16\n" + frames("", ("/w/depth/fit.py", 14, "train_one_epoch"),
          ("/w/depth/net.py", 88, "forward")) + torch_says(1, 23.6, 0.5, 22, 0.1), "capacity", phase="train", must=["P01", "P126"], must_not=["P02", "P36"]),
    alone("seconds-of-something", "of sound in a batch, or until the job ends: a name that may be either is not typed, nor what is no batch of one pass", "$ python fit.py --total_batch_size 512 --max-duration 700\n" + frames("", ("/w/depth/fit.py", 14, "train_one_epoch"),
          ("/w/depth/net.py", 88, "forward")) + torch_says(1, 23.6, 0.5, 22, 0.1), "capacity", phase="train", must=["P02"], must_not=["P36"]),
    Scenario("log-batch-in-a-file", "its last component tells, however it is nested", {}, snapshot=False, cause="capacity",
             files={"job.log": frames("", ("/w/depth/fit.py", 14, "train_one_epoch"), ("/w/depth/net.py", 88, "forward")) + torch_says(1, 23.6, 0.5, 22, 0.1),
                    "job.yaml": "solver:\n  epochs: 9\n  train:\n    batch_size_per_device: 6\n    total_batch_size: 96\n"},
             options=["--config", "{folder}/job.yaml"], must=["P36"], sets={"P36": "solver.train.batch_size_per_device: 3"}),
    alone("llama-cpp-loads", "no PyTorch: the weights", "load_tensors: offloading 48 repeating layers to GPU\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 22016.00 MiB on device 1: "
          "cudaMalloc failed: out of memory\nalloc_tensor_range: failed to allocate CUDA1 buffer of size 23085449216\nllama_model_load: error loading model: unable to allocate CUDA1 buffer\n",
          "none", must=["P72"], must_not=["P30", "P31", "P32"], sets={"P72": "-ngl <fewer layers>"}, not_sets={"P72": "-ub 128"}),
    alone("llama-cpp-computes", "what it was for stands behind it, and nothing else was pasted", "ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 4026531840\n"
          "llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers\n", "none", must=["P72"], sets={"P72": "-ub 128"}),
    alone("xla-before-its-error-had-a-name", "JAX of 2021", "RuntimeError: Resource exhausted: Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0\n", "none", must=["P43"]),
    alone("ray-without-an-address", "a ticket's author cut it out", "(raylet) Memory on the node (...) where the task (...) was running was 230.10GB / 240.00GB (0.958750), which exceeds the "
          "memory usage threshold of 0.95.\n", "host", must=["V40"]),
    alone("killed-while-loading", "the last line before it", "Loading checkpoint shards:  20%|##        | 3/15 [00:30<02:00, 10.0s/it]\nKilled\n", "host", phase="init", must=["P73", "P39"],
          must_not=["V40", "V42"]),
    alone("killed-while-resuming", "a checkpoint of all ranks", "Resuming from checkpoint /out/step-400\nseed 1\nKilled\n", "host", phase="ckpt_load", must=["P77", "P39"], must_not=["V40", "V42"]),
    alone("resumed-long-ago", "steps stand in between", "Resuming from checkpoint /out/step-400\n" + "step 401 loss 2.0\n" * 30 + "Killed\n", "host", must=["P39", "V41"], must_not=["P77"]),
    alone("helper-without-gradients", "inside of a loss that is trained on", frames("", ("/w/depth/run.py", 14, "main"), (SITE + "torch/nn/modules/module.py", 1736, "_call_impl"),
          (SITE + "torch/utils/_contextlib.py", 116, "decorate_context"), ("/w/depth/match.py", 88, "forward")) + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", must=["P30"], must_not=["P09"]),
    alone("in-the-file-of-a-loss", "what people call it", frames("", ("/w/depth/losses/chamfer.py", 14, "pairs"), ("/w/depth/geometry.py", 88, "forward")) + torch_says(3, 23.6, 1.2, 21, 0.9),
          "capacity", phase="train", must=["P02"], must_not=["P09"]),
    alone("scores-by-hand", "the line names them, no function does", 'Traceback (most recent call last):\n  File "/w/depth/predict.py", line 8, in forward\n    attn = (q @ k.transpose(-2, -1)) * self.scale\n'
          + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", phase="infer", must=["P15"], not_sets={"P15": "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)"}),
    alone("a-line-without-its-indent", "pasted with two blanks before it", "  out = F.scaled_dot_product_attention(q, k, v)\n" + torch_says(9, 23.6, 1.2, 21, 0.9), "capacity", must=["P45"],
          must_not=["P15"]),
    alone("frame-without-its-file", "what was left of it", "  line 299, in update_critic\n" + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", phase="train_critic"),
    alone("frame-by-its-file", "the file first", "[rank2]: heads.py:29 in compute_ref_log_prob\n[rank2]: " + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", phase="logp_ref"),
    alone("frame-as-others-write-it", "the name first", "  at training_step (trainer.py:29)\n" + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", phase="train"),
    alone("method-behind-a-role", "verl's workers of several roles", "ray::WorkerDict.critic_save_checkpoint() (pid=7, ip=10.0.0.3)\n" + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", phase="ckpt_save"),
    alone("method-without-its-pid", "cut behind it", "ray::RolloutActor.wake_up()\n" + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", phase="rollout.wake_sleep"),
    alone("a-path-of-any-length", "its end tells", frames("", ("/w/depth/fit.py", 14, "train_one_epoch"), ("/data/" + "projects/" * 14 + "depth/net.py", 88, "forward")) + torch_says(3, 23.6, 1.2, 21, 0.9),
          "capacity", phase="train", sub=("forward",)),
    alone("killed-after-loading", "what is loaded is no reason", "Loading checkpoint shards: 100%|##########| 15/15 [02:30<00:00, 10.0s/it]\nstep 1 loss 2.0\nKilled\n", "host", must=["P39", "V41"], must_not=["P73", "V40"]),
    alone("killed-while-data-are-made", "a map of datasets", "Running tokenizer on dataset (num_proc=32):  61%|######    | 610000/1000000 [02:00<01:20]\nKilled\n", "host", must=["P74", "P39"],
          must_not=["V40", "V42"]),
    alone("killed-beside-an-optimizer", "DeepSpeed says where it works", "Adam Optimizer #0 is created with AVX512 arithmetic capability.\nstep 1 loss 2.0\nKilled\n", "host", must=["P75", "P39"], must_not=["V40"]),
    alone("killed-by-full-objects", "Ray spills", "(raylet) Spilled 61234 MiB, 812 objects, write throughput 900 MiB/s.\n" + RAY_SAYS, "host", must=["P76"]),
    alone("killed-between-files-of-a-save", "the first file is not the last", "Saving model checkpoint to /out/step-9\nConfiguration saved in /out/step-9/config.json\nKilled\n", "host", phase="ckpt_save",
          must=["P52"], must_not=["V42"]),
    alone("used-from-a-web-page", "a program of nobody's, around a model that it only uses", frames("", ("/srv/clips/gradio_page.py", 140, "on_click"), ("/srv/clips/net/decoder.py", 31, "forward"))
          + torch_says(6, 23.6, 1.2, 21, 0.9), "capacity", phase="infer", must=["P09", "P71"], must_not=["P01", "P02", "P04", "P14"]),
    alone("gradients-are-off", "no name tells more than PyTorch's own wrapper", frames("", ("/w/depth/run.py", 14, "main"), (SITE + "torch/utils/_contextlib.py", 116, "decorate_context"),
          ("/w/depth/net.py", 88, "forward")) + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", phase="infer", must=["P09"], must_not=["P01", "P02", "P05"]),
    alone("trains-by-its-name", "the script alone says it", frames("", ("/w/depth/train_depth.py", 14, "main"), ("/w/depth/net.py", 88, "forward")) + torch_says(3, 23.6, 1.2, 21, 0.9),
          "capacity", phase="train", must=["P01", "P02"]),
    alone("a-forward-of-nobody", "whether it trains nothing says", frames("", ("/w/depth/main.py", 14, "main"), ("/w/depth/net.py", 88, "forward")) + torch_says(3, 23.6, 1.2, 21, 0.9),
          "capacity", must=["P30", "P31", "P32"], must_not=["P01", "P02"]),
    alone("fused-attention-itself", "what failed is no cure", 'Traceback (most recent call last):\n  File "/w/depth/train_depth.py", line 88, in forward\n    x = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)\n'
          + torch_says(9, 23.6, 1.2, 21, 0.9), "capacity", phase="train", must=["P45"], must_not=["P15"]),
    alone("small-fused-attention", "its result alone: the kernel is as it should be", 'Traceback (most recent call last):\n  File "/w/depth/train_depth.py", line 88, in forward\n'
          "    x = F.scaled_dot_product_attention(q, k, v)\n" + torch_says(0.1, 23.6, 0.05, 22, 0.2), "capacity", phase="train", must_not=["P15", "P45"]),
    alone("flash-attention-itself", "the same of another package", frames("", ("/w/depth/train_depth.py", 88, "forward"), (SITE + "flash_attn/flash_attn_interface.py", 96, "_flash_attn_forward"))
          + torch_says(2, 23.6, 1.2, 21, 0.9), "capacity", phase="train", must=["P01"], must_not=["P15", "P45"]),
    alone("zero3-gathers-for-the-engine", "TRL PR 5766, PR 3133", ZERO3_SYNC, "capacity", phase="weight_sync", must=["B31"], sets={"B31": "FSDP2 instead of DeepSpeed ZeRO-3"}),
    alone("flags-of-a-script", "a project that nobody knows", SCRIPT, "capacity", must=["P36", "P37"], sets={"P36": "--batch 32", "P37": "--imgsz 640"}),
    alone("host-keeps-what-sleeps", "Ray kills beside engines that sleep", "$ python3 -m openrlhf.cli.train_ppo_ray --vllm_enable_sleep --vllm_num_engines 8 --micro_train_batch_size 2 --zero_stage 2\n"
          + RAY_SAYS, "host", must=["P38", "V37"], not_sets={"P38": "leave out --ds.adam_offload (--adam_offload)"}),
    alone("host-refuses", "numpy's own words, in an evaluation", "MemoryError: Unable to allocate 5.12 GiB for an array with shape (40000, 34000) and data type float32\n", "host",
          must=["P39"], must_not=["V37", "V40"]),
    alone("own-outside", "NCCL, graphs and a second library in the process", torch_says(0.2, 79.1, 0.1, 50, 0.5, "Including non-PyTorch memory, this process has 78.95 GiB memory in use. "), "foreign",
          must=["P53"], must_not=["B35", "B01"]),
    alone("host-while-saving", "Ray kills while a checkpoint is written", "(WorkerDict pid=7) INFO: Saving model to /ckpt/global_step_100/model_world_size_8_rank_0.pt\n(WorkerDict pid=7) verl/utils/checkpoint/fsdp_checkpoint_manager.py\n"
          + RAY_SAYS, "host", must=["P52"], sets={"P52": "actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra]"}),
    alone("host-after-saving", "the same when it was written", "(WorkerDict pid=7) INFO: Saving model to /ckpt/global_step_100/model.pt\n(WorkerDict pid=7) Saved model to /ckpt/global_step_100/model.pt\n" + RAY_SAYS,
          "host", must_not=["P52"]),
    alone("masters-do-not-fit", "DeepSpeed's set-up, the end of the traceback", frames("", (SITE + "deepspeed/runtime/zero/stage_1_and_2.py", 600, "__init__")) + torch_says(7, 79.1, 1, 77, 0.2),
          "capacity", phase="init", must=["P50"], must_not=["P03", "P01", "P30"], sets={"P50": "zero_optimization.offload_optimizer.device: cpu"}),
    alone("weights-of-an-unknown-trainer", "names of functions alone", frames("", ("/w/mine/sync.py", 8, "stream_weights"), ("/w/mine/layout.py", 40, "joined")) + torch_says(7, 79.1, 1, 77, 0.2),
          "capacity", phase="weight_sync", must=["P51"], must_not=["P01", "P30"]),
    alone("optimizer-of-an-unknown-trainer", "names of functions alone", frames("", ("/w/mine/loop.py", 8, "train"), ("/w/mine/loop.py", 80, "my_optimizer_step"), ("/w/mine/sophia.py", 40, "lerp"))
          + torch_says(7, 79.1, 1, 77, 0.2), "capacity", phase="train", must=["B08"], must_not=["P30", "P01"]),
    alone("test-inside-an-unknown-trainer", "the innermost name counts", frames("", ("/w/mine/loop.py", 8, "train"), ("/w/mine/loop.py", 90, "validation_step"), ("/w/mine/blocks.py", 40, "mix"))
          + torch_says(7, 79.1, 1, 77, 0.2), "capacity", phase="eval", must=["P05"], must_not=["P30", "P01"]),
    # what files are called: whole words of the program's own; and functions without gradients
    alone("compiled", "a file of PyTorch is no program", net(("/w/main.py", 88, "run_epoch"), MODULE, (SITE + "torch/_dynamo/eval_frame.py", 574, "_fn"), MODULE, ("/w/unet.py", 50, "forward")),
          "capacity", phase="unattributed"),
    alone("retrieval", "it ends in eval", net(("/w/train_retrieval.py", 88, "<module>"), MODULE, ("/w/model.py", 44, "forward")), "capacity", phase="train"),
    alone("pretrained", "a name that ends otherwise than a trainer's", net(("/w/run_pretrained.py", 88, "<module>"), MODULE, ("/w/net.py", 44, "forward")), "capacity", phase="unattributed"),
    alone("trains-in-a-server", "a file further in", net(("/w/ComfyUI/execution.py", 88, "execute"), ("/w/ComfyUI/nodes/train_network.py", 9, "run"), MODULE, ("/w/net.py", 44, "forward")), "capacity", phase="train"),
    alone("average-of-weights", "no_grad's wrapper, nothing is inferred", net(("/w/main.py", 60, "main"), NO_GRAD, ("/w/ema.py", 33, "update")), "capacity", phase="train", must_not=["P71"]),
    alone("teacher", "a trainer's forward without gradients", net(("/w/train.py", 60, "main"), NO_GRAD, ("/w/train.py", 33, "teacher_logits"), MODULE, ("/w/net.py", 44, "forward")), "capacity",
          phase="unattributed", must_not=["P71", "P02"]),
    alone("scores-in-a-trainer", "the same of an evaluation", net(("/w/train.py", 60, "main"), NO_GRAD, ("/w/train.py", 33, "score"), MODULE, ("/w/net.py", 44, "forward")), "capacity",
          phase="eval", must_not=["P71"]),
    alone("evaluates-a-loss", "a file of a loss below evaluate()", net(("/w/main.py", 60, "main"), ("/w/main.py", 33, "evaluate"), ("/w/losses/chamfer.py", 4, "pairs")), "capacity", phase="eval"),
    alone("mixture", "log-probabilities of no policy", net(("/w/gmm.py", 60, "main"), ("/w/gmm.py", 33, "compute_log_prob")), "capacity", phase="unattributed"),
    alone("jax-trains", "the phase is known by its name, and nothing of PyTorch's helps", frames("", ("/w/train.py", 30, "train_step"), (SITE + "jax/_src/pjit.py", 340, "cache_miss"))
          + "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 34359738368 bytes.\n", "none", phase="train", must=["P43"], must_not=["P01", "P02"]),
]
