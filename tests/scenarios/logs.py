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
FRAGMENTS = """\
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 79.15 GiB of \
which 2.31 GiB is free. \
Including non-PyTorch memory, this process has 76.80 GiB memory in use. Of the allocated memory 55.10 GiB is allocated \
by PyTorch, and \
20.40 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting \
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
"""


def alone(name, ticket, text, cause, **more):
    return Scenario("log-" + name, ticket, {}, snapshot=False, files={"job.log": text}, cause=cause, **more)


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
    alone("nccl-cannot-allocate", "slime 956, PR 1086", NCCL, "foreign"),
    alone("engine-share-too-large", "vLLM: less is free at start than its share of the card", SHARE_TOO_LARGE, "capacity", must=["P08/down"],
          must_not=["B34", "P08/up"], sets={"P08": "--gpu-memory-utilization 0.27"}),
    alone("engine-share-too-small", "vLLM: the share leaves nothing for the cache; sleeping helps nobody", SHARE_TOO_SMALL, "capacity",
          must=["P08/up"], must_not=["B34", "B13"]),
    alone("engine-share-too-small-sglang", "SGLang: the same", SHARE_SGLANG, "capacity", must=["P08/up"], must_not=["B34", "B20"]),
    alone("dataloader-worker-killed", "a killed process that loads data", WORKER_KILLED, "host"),
    alone("asleep-and-full", "a trainer that fills the card beside an engine that sleeps", ASLEEP, "capacity", must_not=["B35"]),
    alone("reserved-but-unallocated", "SkyRL PR 1768", FRAGMENTS, "fragmentation", must=["B01", "B04"]),
]
