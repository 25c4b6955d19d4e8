/* Lines of logs: every format, wrapped, prefixed, damaged, hostile. */
#include "mt_test.h"
#include "parser/log/log.h"
#include "frameworks.h"

#include <time.h>

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)

static struct mt_log l;

static uint64_t gib(double v) { return (uint64_t)(v * (double)GIB); }
static bool near(uint64_t a, uint64_t b) { return (a > b ? a - b : b - a) < 64; }
#define MT_CHECK_NEAR(a, b) MT_CHECK(near((a), (b)))

static enum mt_rc read_bytes(const char *p, size_t n)
{
    struct mt_source *src = NULL;
    struct mt_err err;
    enum mt_rc rc = MT_ENOMEM;
    memset(&err, 0, sizeof err);
    memset(&l, 0, sizeof l);
    if (mt_source_mem(&src, p, n) == MT_OK)
        rc = mt_log_read(&l, src, mt_framework_log_packages(mt_test_frameworks()), NULL, &err);
    mt_source_free(src);
    return rc;
}

static enum mt_rc read_text(const char *text) { return read_bytes(text, strlen(text)); }

static const struct mt_log_fact *only(enum mt_log_kind kind)
{
    static const struct mt_log_fact none = {.kind = MT_LOG_KIND_COUNT};
    MT_CHECK_EQ(l.facts.n, 1);
    if (l.facts.n == 0)
        return &none;
    MT_CHECK_STR(mt_log_kind_name(l.facts.p[0].kind), mt_log_kind_name(kind));
    return &l.facts.p[0];
}

#define NOW                                                                                        \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total "   \
    "capacity of 14.57 GiB of "                                                                    \
    "which "                                                                                       \
    "1.58 GiB is free. Process 2493055 has 12.02 GiB memory in use. Including non-PyTorch "        \
    "memory, this process has 966.00 "                                                             \
    "MiB "                                                                                         \
    "memory in use. 10.00 GiB allowed; Of the allocated memory 734.07 MiB is allocated by "        \
    "PyTorch, with 12.00 MiB allocated "                                                           \
    "in "                                                                                          \
    "private pools (e.g., CUDA Graphs), and 33.93 MiB is reserved by PyTorch but unallocated. If " \
    "reserved but unallocated "                                                                    \
    "memory is "                                                                                   \
    "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."

static void check_now(const struct mt_log_fact *f)
{
    MT_CHECK_EQ(f->gpu, 0);
    MT_CHECK_NEAR(f->value[MT_LO_REQUEST], gib(1.95));
    MT_CHECK_NEAR(f->value[MT_LO_CAPACITY], gib(14.57));
    MT_CHECK_NEAR(f->value[MT_LO_FREE], gib(1.58));
    MT_CHECK_EQ(f->value[MT_LO_THIS], 966 * MIB);
    MT_CHECK_NEAR(f->value[MT_LO_ALLOCATED], gib(734.07 / 1024));
    MT_CHECK_EQ(f->value[MT_LO_PRIVATE], 12 * MIB);
    MT_CHECK_NEAR(f->value[MT_LO_UNALLOCATED], gib(33.93 / 1024));
    MT_CHECK_EQ(f->value[MT_LO_ALLOWED], 10 * GIB);
    MT_CHECK_EQ(f->value[MT_LO_RESERVED], f->value[MT_LO_ALLOCATED] + f->value[MT_LO_UNALLOCATED]);
    MT_CHECK(f->hints_expandable);
}

MT_TEST(torch_now)
{
    MT_CHECK_EQ(read_text(NOW "\n"), MT_OK);
    MT_CHECK_EQ(l.facts.n, 2);
    if (l.facts.n == 2) {
        check_now(&l.facts.p[0]);
        MT_CHECK_STR(mt_log_kind_name(l.facts.p[1].kind), "other_process");
        MT_CHECK_EQ(l.facts.p[1].value[0], 2493055);
        MT_CHECK_NEAR(l.facts.p[1].value[1], gib(12.02));
    }
    mt_log_done(&l);
}

MT_TEST(torch_2_1_misspelt)
{
    read_text(
        "[rank7]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. "
        "GPU 3 has a total capacty of 79.15 GiB of which 6.00 MiB is free. Of the allocated memory "
        "70.00 GiB is allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated.");
    const struct mt_log_fact *f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->gpu, 3);
    MT_CHECK_EQ(f->rank, 7);
    MT_CHECK_NEAR(f->value[MT_LO_CAPACITY], gib(79.15));
    MT_CHECK_EQ(f->value[MT_LO_RESERVED], 72 * GIB);
    MT_CHECK_EQ(f->value[MT_LO_THIS], MT_LOG_NONE);
    MT_CHECK(!f->hints_expandable);
    mt_log_done(&l);
}

MT_TEST(torch_1_to_2_0)
{
    read_text("(WorkerDict pid=4711, ip=10.0.0.1) [rank3]: RuntimeError: CUDA out of memory. Tried "
              "to allocate 256.00 MiB (GPU 1; 11.00 GiB total capacity; 9.50 GiB already "
              "allocated; 0 bytes free; 10.00 GiB allowed; 9.75 GiB reserved in total by PyTorch)");
    const struct mt_log_fact *f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->pid, 4711);
    MT_CHECK_EQ(f->rank, 3);
    MT_CHECK_EQ(f->gpu, 1);
    MT_CHECK_EQ(f->value[MT_LO_FREE], 0);
    MT_CHECK_EQ(f->value[MT_LO_RESERVED], 39 * GIB / 4);
    MT_CHECK_EQ(f->value[MT_LO_UNALLOCATED], GIB / 4);
    MT_CHECK_EQ(f->value[MT_LO_ALLOWED], 10 * GIB);
    mt_log_done(&l);
    read_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 4.00 GiB total "
              "capacity; 3.00 GiB already allocated; 1.00 MiB free; 512.00 MiB cached)");
    f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->value[MT_LO_UNALLOCATED], 512 * MIB);
    MT_CHECK_EQ(f->value[MT_LO_RESERVED], 3 * GIB + 512 * MIB);
    mt_log_done(&l);
    read_text("RuntimeError: NPU out of memory. Tried to allocate 2.00 MiB (NPU 5; 60.00 GiB total "
              "capacity; 58.00 GiB already allocated; 1.00 MiB free; 59.00 GiB reserved in total "
              "by PyTorch)");
    f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->gpu, 5);
    mt_log_done(&l);
}

/* As it is pasted: cut into lines, with the prefix of Ray on each. */
MT_TEST(wrapped)
{
    read_text("x\n(W pid=9) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 "
              "MiB.\n(W pid=9) GPU 0 has a "
              "total capacity of "
              "80.00 GiB of which 8.00 MiB is free.\n(W pid=9) Including non-PyTorch memory, this "
              "process has 79.00 GiB memory "
              "in use. Of the "
              "allocated memory 77.00 GiB is\n(W pid=9) allocated by PyTorch, and 16.00 MiB is "
              "reserved by PyTorch but "
              "unallocated.\n");
    const struct mt_log_fact *f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->line, 2);
    MT_CHECK_EQ(f->pid, 9);
    MT_CHECK_EQ(f->value[MT_LO_CAPACITY], 80 * GIB);
    MT_CHECK_EQ(f->value[MT_LO_THIS], 79 * GIB);
    MT_CHECK_EQ(f->value[MT_LO_UNALLOCATED], 16 * MIB);
    MT_CHECK_EQ(f->value[MT_LO_ALLOCATED], 77 * GIB);
    mt_log_done(&l);
    /* Two failures in lines that follow each other are two. */
    read_text("CUDA out of memory. Tried to allocate 1.00 GiB.\nCUDA out of memory. Tried to "
              "allocate 2.00 GiB. GPU 1 has a "
              "total capacity of "
              "80.00 GiB of which 8.00 MiB is free.\n");
    MT_CHECK_EQ(l.facts.n, 2);
    if (l.facts.n == 2) {
        MT_CHECK_EQ(l.facts.p[0].value[MT_LO_REQUEST], GIB);
        MT_CHECK_EQ(l.facts.p[0].value[MT_LO_CAPACITY], MT_LOG_NONE);
        MT_CHECK_EQ(l.facts.p[1].gpu, 1);
    }
    mt_log_done(&l);
}

/* One line, one fact: kind, the values that have to come out, the text. */
#define N MT_LOG_NONE
static const struct {
    const char *line;
    enum mt_log_kind kind;
    uint64_t value[4];
    const char *text;
} lines[] = {
    {"INFO 03-01 10:30:57 worker.py:267] the current vLLM instance can use total_gpu_memory "
     "(22.00GiB) x gpu_memory_utilization (0.90) = 19.75GiB",
     MT_LOG_VLLM_BUDGET,
     {22 * GIB, 9000, 79 * GIB / 4, N},
     ""},
    {"INFO worker.py:267] model weights take 2.50GiB; non_torch_memory takes -0.05GiB; PyTorch "
     "activation peak memory takes "
     "1.50GiB; the rest "
     "of the memory reserved for KV Cache is 15.50GiB.",
     MT_LOG_VLLM_PROFILE,
     {5 * GIB / 2, 0, 3 * GIB / 2, 31 * GIB / 2},
     ""},
    {"INFO executor_base.py:110] # CUDA blocks: 36332, # CPU blocks: 9362",
     MT_LOG_VLLM_BLOCKS,
     {36332, 9362, N, N},
     ""},
    {"INFO gpu_executor.py:122] # GPU blocks: 7, # CPU blocks: 0",
     MT_LOG_VLLM_BLOCKS,
     {7, 0, N, N},
     ""},
    {"(EngineCore_DP0 pid=212) INFO 10-06 [kv_cache_utils.py:1087] GPU KV cache size: 49,152 "
     "tokens",
     MT_LOG_VLLM_TOKENS,
     {49152, N, N, N},
     ""},
    {"INFO [gpu_worker.py:298] Available KV cache memory: 45.50 GiB",
     MT_LOG_VLLM_KV,
     {91 * GIB / 2, N, N, N},
     ""},
    {"INFO [gpu_model_runner.py:2392] Model loading took 14.25 GiB and 3.421 seconds",
     MT_LOG_VLLM_WEIGHTS,
     {57 * GIB / 4, N, N, N},
     ""},
    {"INFO model_runner.py:1072] Loading model weights took 14.2500 GB",
     MT_LOG_VLLM_WEIGHTS,
     {57 * GIB / 4, N, N, N},
     ""},
    {"INFO [gpu_model_runner.py:3480] Graph capturing finished in 8 secs, took 0.25 GiB",
     MT_LOG_VLLM_GRAPHS,
     {GIB / 4, N, N, N},
     ""},
    {"INFO [gpu_worker.py:117] Sleep mode freed 71.25 GiB memory, 1.50 GiB memory is still in use.",
     MT_LOG_SLEEP,
     {285 * GIB / 4, 3 * GIB / 2, N, N},
     ""},
    {"ValueError: Free memory on device cuda:1 (3.25/79.50 GiB) on startup is less than desired "
     "GPU memory utilization (0.9, 71.50 GiB). Decrease GPU memory utilization or reduce GPU "
     "memory used by other processes.",
     MT_LOG_VLLM_STARTUP,
     {13 * GIB / 4, 159 * GIB / 2, 9000, 143 * GIB / 2},
     ""},
    {"ValueError: Free memory on device (3.25/79.50 GiB) on startup is less than desired GPU "
     "memory utilization (0.95, 71.50 "
     "GiB).",
     MT_LOG_VLLM_STARTUP,
     {13 * GIB / 4, 159 * GIB / 2, 9500, 143 * GIB / 2},
     ""},
    {"ValueError: To serve at least one request with the models's max seq len (131072), (4.00 GiB "
     "KV cache is needed, which is "
     "larger than the "
     "available KV cache memory (0.50 GiB).",
     MT_LOG_VLLM_NO_KV,
     {4 * GIB, GIB / 2, N, N},
     ""},
    {"ValueError: No available memory for the cache blocks. Try increasing "
     "`gpu_memory_utilization`",
     MT_LOG_VLLM_NO_KV,
     {N, N, N, N},
     ""},
    {"AssertionError: Expandable segments are not compatible with memory pool. Please track",
     MT_LOG_POOL_REFUSED,
     {N, N, N, N},
     ""},
    {"[2026-08-17 16:52:10 TP0] Load weight end. elapsed=100.59 s, type=X, avail mem=97.25 GB, mem "
     "usage=15.50 GB.",
     MT_LOG_SGLANG_WEIGHTS,
     {389 * GIB / 4, 31 * GIB / 2, N, N},
     ""},
    {"[x] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1933682, KV size: 12.50 GB",
     MT_LOG_SGLANG_KV,
     {1933682, 25 * GIB / 2, N, N},
     ""},
    {"[x] KV Cache is allocated. #tokens: 19, K size: 6.00 GB, V size: 6.50 GB",
     MT_LOG_SGLANG_KV,
     {19, 25 * GIB / 2, N, N},
     ""},
    {"[x] Memory pool end. avail mem=10.50 GB", MT_LOG_SGLANG_POOL, {21 * GIB / 2, N, N, N}, ""},
    {"[x] Capture cuda graph end. Time elapsed: 5.12 s. mem usage=0.50 GB. avail mem=10.50 GB.",
     MT_LOG_SGLANG_GRAPHS,
     {GIB / 2, 21 * GIB / 2, N, N},
     ""},
    {"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
     MT_LOG_SGLANG_NO_KV,
     {N, N, N, N},
     ""},
    {"(WorkerDict pid=77) INFO:2026-01-01 10:00:00,123:After FSDP, memory allocated (GB): 5.50, "
     "memory reserved (GB): 7.25, "
     "device memory "
     "used/total (GB): 23.75/24.00",
     MT_LOG_TORCH_USAGE,
     {11 * GIB / 2, 29 * GIB / 4, 95 * GIB / 4, 24 * GIB},
     "After FSDP"},
    {"[Rank 3] Memory-Usage before wake_up model: {'gpu': '0', 'total_GB': 80, 'free_GB': 10.0, "
     "'used_GB': 70.0, "
     "'allocated_GB': 60.0, "
     "'reserved_GB': 65.0}",
     MT_LOG_TORCH_USAGE,
     {60 * GIB, 65 * GIB, 70 * GIB, 80 * GIB},
     "before wake_up model"},
    {"node:1:2 [3] include/alloc.h:228 NCCL WARN Failed to CUDA calloc async 536870912 bytes",
     MT_LOG_NCCL_OOM,
     {512 * MIB, N, N, N},
     ""},
    {"Last error: Failed to CUDA calloc 10485760 bytes", MT_LOG_NCCL_OOM, {10 * MIB, N, N, N}, ""},
    {"NCCL WARN Cuda failure 2 'out of memory'", MT_LOG_NCCL_OOM, {N, N, N, N}, ""},
    {"NCCL WARN Failed to CUDA host alloc 4096 bytes", MT_LOG_HOST_OOM, {4096, N, N, N}, ""},
    {"CUDA Error: out of memory at /w/csrc/cumem_allocator.cpp:62",
     MT_LOG_CUMEM_OOM,
     {N, N, N, N},
     ""},
    {"error: \"Call to wake_up method failed: CUDA Error: out of memory at <path>:163\"",
     MT_LOG_CUMEM_OOM,
     {N, N, N, N},
     ""},
    {"[torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h "
     "func=cu_mem_create line=194",
     MT_LOG_SAVER_OOM,
     {N, N, N, N},
     ""},
    {"[torch_memory_saver.cpp] CUresult error  result=2 file=csrc/a.cpp func=cu_mem_create "
     "line=103",
     MT_LOG_SAVER_OOM,
     {N, N, N, N},
     ""},
    {"[torch_memory_saver.cpp] cudaError error: 2 (out of memory)  file=csrc/core.cpp func=resume "
     "line=172",
     MT_LOG_SAVER_OOM,
     {N, N, N, N},
     ""},
    {"[torch_memory_saver.cpp] hipError_t error  result=2 file=csrc/a.cpp func=cu_mem_create "
     "line=103",
     MT_LOG_SAVER_OOM,
     {N, N, N, N},
     ""},
    {"RuntimeError: CUDA error: out of memory", MT_LOG_CUDA_OOM, {N, N, N, N}, ""},
    {"RuntimeError: HIP error: out of memory", MT_LOG_CUDA_OOM, {N, N, N, N}, "HIP"},
    {"RuntimeError: Triton Error [CUDA]: out of memory", MT_LOG_CUDA_OOM, {N, N, N, N}, "Triton"},
    {"level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
     MT_LOG_CUDA_OOM,
     {N, N, N, N},
     "Level Zero"},
    {"RuntimeError: CUDA driver error: out of memory", MT_LOG_CUDA_OOM, {N, N, N, N}, ""},
    {"RuntimeError: /x/fused.cpp:90 in function run: CUDA Error: out of memory",
     MT_LOG_CUDA_OOM,
     {N, N, N, N},
     ""},
    {"Error out of memory at line 12 in file /x/ops.cu",
     MT_LOG_CUDA_OOM,
     {N, N, N, N},
     "bitsandbytes"},
    {"RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
     MT_LOG_CUDA_OOM,
     {N, N, N, N},
     "cuDNN"},
    {"RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling",
     MT_LOG_CUDA_OOM,
     {N, N, N, N},
     "hipBLAS"},
    {"a:1:2 [0] misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment "
     "/dev/shm/nccl-x (size 4)",
     MT_LOG_HOST_OOM,
     {N, N, N, N},
     "shared"},
    {"DataLoader worker (pid 6) is killed by signal: Bus error. It is possible that dataloader's "
     "workers are out of shared "
     "memory.",
     MT_LOG_HOST_OOM,
     {N, N, N, N},
     "shared"},
    {"RuntimeError: unable to write to file </torch_1>: No space left on device (28)",
     MT_LOG_HOST_OOM,
     {N, N, N, N},
     "shared"},
    {"OSError: [WinError 1455] The paging file is too small for this operation",
     MT_LOG_HOST_OOM,
     {N, N, N, N},
     ""},
    {"EL0004: [PID: 71] 2026-01-02-03:04:05.006.007 Failed to allocate memory.",
     MT_LOG_NPU_OOM,
     {N, N, N, N},
     ""},
    {"Failed to allocate resource[DeviceMemory] with info [size:1073741824]. Reason: Memory",
     MT_LOG_NPU_OOM,
     {GIB, N, N, N},
     ""},
    {"[2026-01-02 03:04:05 TP1] Decode out of memory happened. #retracted_reqs: 3, "
     "#new_token_ratio: 0.1 -> 0.2",
     MT_LOG_RETRIED,
     {3, N, N, N},
     "SGLang"},
    {"[TP1] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 10",
     MT_LOG_RETRIED,
     {2, N, N, N},
     "SGLang"},
    {"[torch_memory_saver.cpp] cuMemCreate CUDA_ERROR_OUT_OF_MEMORY (may not be an issue e.g. "
     "torch allocator will retry)",
     MT_LOG_RETRIED,
     {N, N, N, N},
     "torch_memory_saver"},
    {"RuntimeError: Decode out of memory. Try to lower your batch size.\nTry to allocate 7 "
     "tokens.\nAvaliable tokens: 64\n",
     MT_LOG_SGLANG_KV_FULL,
     {7, 64, N, N},
     ""},
    {"[2026-01-02 03:04:05,678] [INFO] [utils.py:838:see_memory_usage] CPU Virtual Memory:  used = "
     "12.5 GB, percent = 40.25%",
     MT_LOG_HOST_USAGE,
     {25 * GIB / 2, 4025, N, N},
     ""},
    {"[INFO] [utils.py:837:see_memory_usage] before step\n[INFO] [utils.py:838:see_memory_usage] "
     "MA 1.5 GB         Max_MA 2.5 GB         CA 3.5 GB         Max_CA 4 GB \n",
     MT_LOG_TORCH_USAGE,
     {3 * GIB / 2, 7 * GIB / 2, N, N},
     "before step"},
    {"[ERROR] [launch.py:324:sigkill_handler] ['python', 'x.py'] exits with return code = -9",
     MT_LOG_KILLED,
     {N, N, N, N},
     ""},
    {"RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. "
     "Please try lowering",
     MT_LOG_VLLM_WARMUP,
     {1024, N, N, N},
     ""},
    {"ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that "
     "can be stored in KV cache "
     "(6048).",
     MT_LOG_VLLM_NO_KV,
     {N, N, 8192, 6048},
     ""},
    {"AssertionError: Error in memory profiling. Initial free memory 1073741824, current free "
     "memory 2147483648. This",
     MT_LOG_VLLM_MEASURE,
     {GIB, 2 * GIB, N, N},
     ""},
    {"(WorkerDict pid=118271) Before vllm offload in sharding manager: 58.50 GB / 79.25 GB.",
     MT_LOG_TORCH_USAGE,
     {N, N, 117 * GIB / 2, 317 * GIB / 4},
     "Before vllm offload in sharding manager"},
    {"(W pid=3) Before building sglang rollout, memory allocated (GB): 28.50, memory reserved "
     "(GB): 33.25",
     MT_LOG_TORCH_USAGE,
     {57 * GIB / 2, 133 * GIB / 4, N, N},
     "Before building sglang rollout"},
    {"ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
     MT_LOG_RAY_KILL,
     {N, N, N, N},
     ""},
    {"(raylet) node_manager.cc:3277: 2 Workers (tasks / actors) killed due to memory pressure "
     "(OOM), 0 Workers crashed",
     MT_LOG_RAY_KILL,
     {N, N, N, N},
     ""},
    {"srun: error: gpu001: task 0: Out Of Memory", MT_LOG_KERNEL_KILL, {N, N, N, N}, ""},
    {"    reason: OOMKilled", MT_LOG_KERNEL_KILL, {N, N, N, N}, ""},
    {"  traceback : Signal 9 (SIGKILL) received by PID 178", MT_LOG_KILLED, {N, N, N, N}, ""},
    {"\xe5\xb7\xb2\xe6\x9d\x80\xe6\xad\xbb", MT_LOG_KILLED, {N, N, N, N}, ""},
    {"Worker exit type: SYSTEM_ERROR Worker exit detail: the process was killed by the OOM killer, "
     "or",
     MT_LOG_KILLED,
     {N, N, N, N},
     "Ray"},
    {"Worker exit type: SYSTEM_ERROR Worker exit detail: The worker may have exceeded K8s pod "
     "memory limits.",
     MT_LOG_KILLED,
     {1, N, N, N},
     "Ray"},
    {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
     MT_LOG_CUBLAS_OOM,
     {N, N, N, N},
     ""},
    {"(raylet) Memory on the node (IP: 10.0.62.231, ID: e5d9) where the task (task ID: 435, "
     "name=allocate_memory, pid=11362, memory used=1.25GB) was running was 27.50GB / 28.75GB "
     "(0.962273), which exceeds the memory usage threshold of 0.95.",
     MT_LOG_RAY_KILL,
     {55 * GIB / 2, 115 * GIB / 4, 5 * GIB / 4, N},
     "allocate_memory"},
    {"Memory on the node (IP: 10.10.10.1) was 110.50GB / 121.50GB (0.907749), which exceeds the "
     "memory usage threshold of "
     "0.900000.",
     MT_LOG_RAY_KILL,
     {221 * GIB / 2, 243 * GIB / 2, N, N},
     ""},
    {"[12345.6] Out of memory: Killed process 1234 (python3) total-vm:123kB, anon-rss:1048576kB, "
     "file-rss:0kB",
     MT_LOG_KERNEL_KILL,
     {1234, GIB, N, N},
     "python3"},
    {"Memory cgroup out of memory: Killed process 9 (ray::Worker) total-vm:1kB",
     MT_LOG_KERNEL_KILL,
     {9, N, 1, N},
     "ray::Worker"},
    {"slurmstepd: error: Detected 2 oom_kill events in StepId=1.0. Some of the step tasks have "
     "been OOM Killed.",
     MT_LOG_KERNEL_KILL,
     {N, N, N, N},
     ""},
    {"RuntimeError: [enforce fail at alloc_cpu.cpp:114] DefaultCPUAllocator: can't allocate "
     "memory: you tried to allocate 4096 "
     "bytes. Error code 12",
     MT_LOG_HOST_OOM,
     {4096, N, N, N},
     ""},
    {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 GiB for an array",
     MT_LOG_HOST_OOM,
     {3 * GIB, N, N, N},
     ""},
    {"MemoryError", MT_LOG_HOST_OOM, {N, N, N, N}, ""},
    {"(TaskRunner pid=5) MemoryError: cannot allocate", MT_LOG_HOST_OOM, {N, N, N, N}, ""},
    {"terminate called after throwing an instance of 'std::bad_alloc'",
     MT_LOG_HOST_OOM,
     {N, N, N, N},
     ""},
    {"OSError: [Errno 12] Cannot allocate memory", MT_LOG_HOST_OOM, {N, N, N, N}, ""},
    {"Killed", MT_LOG_KILLED, {N, N, N, N}, ""},
    {"[rank0]: Killed", MT_LOG_KILLED, {N, N, N, N}, ""},
    {"run.sh: line 12: 12345 Killed                  python train.py",
     MT_LOG_KILLED,
     {N, N, N, N},
     ""},
    {"torch.distributed.elastic ... failed (exitcode: -9) local_rank: 0",
     MT_LOG_KILLED,
     {N, N, N, N},
     ""},
    {"RuntimeError: DataLoader worker (pid 44712) is killed by signal: Killed. ",
     MT_LOG_KILLED,
     {N, N, N, N},
     "loader"},
    {"# `DataLoader worker (pid xxx) is killed by signal`", MT_LOG_KILLED, {N, N, N, N}, "loader"},
    {"DataLoader process (pid 31) exited is killed by signal: Killed.",
     MT_LOG_KILLED,
     {N, N, N, N},
     "loader"},
};
#undef N

MT_TEST(each_line)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        read_text(lines[i].line);
        const struct mt_log_fact *f = only(lines[i].kind);
        for (int k = 0; k < 4; k++)
            if (!near(f->value[k], lines[i].value[k]) && f->value[k] != lines[i].value[k])
                MT_FAIL_AT("value %d is %llu: %s", k, (unsigned long long)f->value[k],
                           lines[i].line);
        MT_CHECK_STR(f->text, lines[i].text);
        mt_log_done(&l);
    }
}

MT_TEST(prefixes)
{
    read_text("node:1:2 [3] NCCL WARN Failed to CUDA calloc 8 bytes\n");
    MT_CHECK_EQ(only(MT_LOG_NCCL_OOM)->gpu, 3);
    mt_log_done(&l);
    read_text("(EngineCore_DP0 pid=212) Sleep mode freed 1.00 GiB memory, 2.00 GiB memory is still "
              "in use.\n");
    MT_CHECK_EQ(only(MT_LOG_SLEEP)->pid, 212);
    mt_log_done(&l);
    read_text("\033[36m(WorkerDict pid=77)\033[0m [rank12]: CUDA error: out of memory\n");
    MT_CHECK_EQ(only(MT_LOG_CUDA_OOM)->rank, 12);
    mt_log_done(&l);
}

/* What only looks like it. */
MT_TEST(nothing)
{
    static const char *const quiet[] = {
        "",
        "\n\n\n",
        "this may not be an issue",
        "[INFO] [utils.py:837:see_memory_usage] before step",
        "[ERROR] [launch.py:324] ['python', 'x.py'] exits with return code = 1",
        "Worker exit type: SYSTEM_ERROR Worker exit detail: exit code 1",
        "Loaded 3.10 GB / 8.00 GB of shards",
        "Killed the old worker and started another",
        "Reminder: tried to allocate 3 workers",
        "Sleep mode freed memory",
        "Tried to allocate 2.00 GiB but then did not",
        "loss: 0.1, memory: fine",
        "Process 1 has 2 GiB memory in use", /* belongs to no failure */
        "# GPU blocks: many, # CPU blocks: few",
        "Model loading took ages",
        "KV Cache is allocated",
    };
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        MT_CHECK_EQ(read_text(quiet[i]), MT_OK);
        if (l.facts.n != 0)
            MT_FAIL_AT("a fact in: %s", quiet[i]);
        mt_log_done(&l);
    }
    MT_CHECK_EQ(l.n_lines, 0 + 1);
}

MT_TEST(line_ends)
{
    read_text("one\r\ntwo\r\nKilled\r\n");
    MT_CHECK_EQ(only(MT_LOG_KILLED)->line, 3);
    MT_CHECK_EQ(l.n_lines, 3);
    mt_log_done(&l);
    read_text("10%\r20%\r30%\rKilled\nlast");
    MT_CHECK_EQ(only(MT_LOG_KILLED)->line, 1);
    MT_CHECK_EQ(l.n_lines, 2);
    mt_log_done(&l);
    read_text("a\n\n\nMemoryError");
    MT_CHECK_EQ(only(MT_LOG_HOST_OOM)->line, 4);
    mt_log_done(&l);
}

MT_TEST(rubbish)
{
    char buf[4096];
    size_t n = 0;
    uint32_t x = 1;
    for (; n < 2000; n++) {
        x = x * 1664525u + 1013904223u;
        buf[n] = (char)(x >> 24);
    }
    buf[n++] = '\n';
    memcpy(buf + n, "Kil", 3);
    memcpy(buf + n + 3, "led\n\0\0\n", 7);
    n += 10;
    MT_CHECK_EQ(read_bytes(buf, n), MT_OK);
    only(MT_LOG_KILLED);
    mt_log_done(&l);
    /* Sizes beyond 64 bits are no sizes. */
    read_text("Available KV cache memory: 99999999999999999999999999 TiB\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
    read_text("Available KV cache memory: 9999999999 TiB\n");
    MT_CHECK_EQ(only(MT_LOG_VLLM_KV)->value[0], MT_LOG_NONE);
    mt_log_done(&l);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One line of 100 MB, what it begins with and what follows. */
MT_TEST(very_long_line)
{
    size_t n = (size_t)100 << 20;
    char *p = malloc(n + 64);
    double t0 = seconds();
    MT_CHECK(p != NULL);
    if (p == NULL)
        return;
    memset(p, 'x', n);
    memcpy(p, "Available KV cache memory: 1.00 GiB ", 36);
    memcpy(p + n, "\nKilled\n", 8);
    MT_CHECK_EQ(read_bytes(p, n + 8), MT_OK);
    MT_CHECK_EQ(l.facts.n, 2);
    MT_CHECK_EQ(l.n_long, 1);
    MT_CHECK_EQ(l.n_lines, 2);
    MT_CHECK_EQ(l.n_bytes, n + 8);
    mt_log_done(&l);
    MT_CHECK(seconds() - t0 < 20);
    free(p);
}

/* Pieces of the patterns over and over: the work has to stay linear. */
MT_TEST(hostile_repeats)
{
    static const char *const pieces[] = {"Process 1 has 1 MiB memory in use ",
                                         "ried to allocate 1 GiB out of memory ",
                                         "name=",
                                         "( ( (",
                                         "was running was 1 GB",
                                         "0000000000",
                                         "Killed process ",
                                         ". 1.",
                                         "'gpu': ",
                                         "Memory-Usage ",
                                         ", memory allocated (GB): "};
    size_t n = (size_t)4 << 20;
    char *p = malloc(n);
    double t0 = seconds();
    MT_CHECK(p != NULL);
    for (size_t i = 0; p != NULL && i < sizeof pieces / sizeof *pieces; i++) {
        size_t k = strlen(pieces[i]);
        for (size_t at = 0; at < n; at++)
            p[at] = at % 16000 == 15999 ? '\n' : pieces[i][at % 16000 % k];
        memcpy(p, "CUDA out of memory. Tried to allocate 1 GiB ", 44);
        MT_CHECK_EQ(read_bytes(p, n), MT_OK);
        MT_CHECK(l.facts.n <= MT_LOG_MAX_FACTS);
        mt_log_done(&l);
    }
    MT_CHECK(seconds() - t0 < 60);
    free(p);
}

MT_TEST(too_many_facts)
{
    size_t n = 0, lines_n = MT_LOG_MAX_FACTS + 100;
    char *p = malloc(lines_n * 7);
    MT_CHECK(p != NULL);
    for (size_t i = 0; p != NULL && i < lines_n; i++, n += 7)
        memcpy(p + n, "Killed\n", 7);
    MT_CHECK_EQ(read_bytes(p, n), MT_OK);
    MT_CHECK_EQ(l.facts.n, MT_LOG_MAX_FACTS);
    MT_CHECK_EQ(l.n_dropped, 100);
    mt_log_done(&l);
    free(p);
}

MT_TEST(out_of_memory)
{
    enum mt_rc rc = MT_ENOMEM;
    uint64_t held = mt_mem_used();
    for (uint64_t i = 1; i < 40 && rc == MT_ENOMEM; i++) {
        struct mt_source *src = NULL;
        struct mt_err err;
        memset(&err, 0, sizeof err);
        MT_CHECK_EQ(mt_source_mem(&src, NOW "\nKilled\n", sizeof NOW + 7), MT_OK);
        mt_mem_fail_after(i);
        rc = mt_log_read(&l, src, mt_framework_log_packages(mt_test_frameworks()), NULL, &err);
        mt_mem_fail_after(0);
        MT_CHECK(rc == MT_OK || err.rc == MT_ENOMEM);
        mt_log_done(&l);
        mt_source_free(src);
    }
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(mt_mem_used(), held);
}

/* Files of frameworks; not somebody's folder of that name, not a file of another package. */
MT_TEST(paths)
{
    char text[8192];
    size_t n = 0;
    MT_CHECK_EQ(
        read_text(
            "(A pid=9) [relax/backends/megatron/actor.py] Timer start\n"
            "  File \"/v/site-packages/verl/workers/fsdp_workers.py\", line 3, in update_actor\n"
            "[relax/backends/megatron/actor.py:12] again, areal/engine/fsdp_engine.py and verl/ "
            "and .py\n"
            "  File \"/v/torch/nn/module.py\", line 1\n myverl/workers/x.py verl/workers/x.pyc\n"),
        MT_OK);
    MT_CHECK(l.facts.n == 1 && l.facts.p[0].kind == MT_LOG_CUT); /* no error behind the frames */
    MT_CHECK_EQ(l.paths.n, 3);
    MT_ASSERT(l.paths.n == 3);
    MT_CHECK_STR(l.paths.p[0].path, "relax/backends/megatron/actor.py");
    MT_CHECK_EQ(l.paths.p[0].n, 2);
    MT_CHECK_STR(l.paths.p[1].path, "/v/site-packages/verl/workers/fsdp_workers.py");
    MT_CHECK_STR(l.paths.p[2].path, "areal/engine/fsdp_engine.py");
    mt_log_done(&l);
    /* Many of them, and one that is very long. */
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "verl/workers/f%d.py\n", i);
    MT_CHECK_EQ(read_text(text), MT_OK);
    MT_CHECK_EQ(l.paths.n, MT_LOG_MAX_PATHS);
    mt_log_done(&l);
    n = (size_t)snprintf(text, sizeof text, "verl/");
    while (n < 900)
        n += (size_t)snprintf(text + n, sizeof text - n, "abcdefg/");
    (void)snprintf(text + n, sizeof text - n, "end.py");
    MT_CHECK_EQ(read_text(text), MT_OK);
    MT_ASSERT(l.paths.n == 1);
    MT_CHECK_EQ(strlen(l.paths.p[0].path), sizeof l.paths.p[0].path - 1);
    MT_CHECK_HAS(l.paths.p[0].path, "abcdefg/end.py");
    mt_log_done(&l);
}

/* Two workers in one log, and one whose traceback the driver prints. */
MT_TEST(tracebacks)
{
    read_text("(A pid=1) Traceback (most recent call last):\n"
              "(A pid=1)   File \"/x/verl/a.py\", line 7, in update_actor\n"
              "(B pid=2)   File \"/x/vllm/b.py\", line 8, in load\n"
              "(A pid=1)   File \"/x/verl/c.py\", line 9, in <module>\n"
              "(A pid=1) CUDA error: out of memory\n"
              "(C pid=3) CUDA error: out of memory\n"
              "(B pid=2) CUDA error: out of memory\n");
    MT_CHECK_EQ(l.facts.n, 3);
    MT_ASSERT(l.facts.n == 3 && l.stacks.n == 2);
    MT_CHECK_EQ(l.facts.p[0].stack, 1);
    MT_CHECK_EQ(l.facts.p[1].stack, 0);
    MT_CHECK_EQ(l.facts.p[2].stack, 2);
    MT_ASSERT(l.stacks.p[0].frames.n == 2 && l.stacks.p[1].frames.n == 1);
    MT_CHECK_STR(l.stacks.p[0].frames.p[0].file, "/x/verl/a.py");
    MT_CHECK_STR(l.stacks.p[0].frames.p[1].function, "<module>");
    MT_CHECK_EQ(l.stacks.p[0].frames.p[1].line, 9);
    MT_CHECK_STR(l.stacks.p[1].frames.p[0].function, "load");
    mt_log_done(&l);
    read_text(
        "(D pid=5) error: ray::Policy.get_logprobs() (pid=77, ip=10.0.0.1, repr=Policy[rank=6])\n"
        "(D pid=5)   File \"/x/a.py\", line 7, in f\n"
        "(D pid=5) CUDA error: out of memory\n");
    const struct mt_log_fact *f = only(MT_LOG_CUDA_OOM);
    MT_CHECK_EQ(f->pid, 77);
    MT_CHECK_EQ(f->rank, 6);
    MT_CHECK_EQ(f->stack, 1);
    mt_log_done(&l);
    /* host memory that cannot be pinned; a size that no card has */
    read_text("  File \"/x/a.py\", line 7, in f\n    t = t.cpu().pin_memory()\nCUDA error: out of "
              "memory\n");
    only(MT_LOG_HOST_OOM);
    mt_log_done(&l);
    read_text("CUDA out of memory. Tried to allocate more than 1EB memory.\n");
    MT_CHECK_EQ(only(MT_LOG_TORCH_OOM)->value[MT_LO_REQUEST], MT_LOG_EXA);
    mt_log_done(&l);
    /* over two lines */
    read_text("Error in memory profiling. Initial free memory 1.00 GiB,\ncurrent free memory 2.00 "
              "GiB. This\n");
    MT_CHECK_EQ(only(MT_LOG_VLLM_MEASURE)->value[1], 2 * GIB);
    mt_log_done(&l);
}

/* What is too far away, too much, or broken. */
MT_TEST(tracebacks_that_are_odd)
{
    size_t cap = 1 << 20, n = 0;
    char *text = malloc(cap);
    MT_ASSERT(text != NULL);
    n += (size_t)snprintf(text + n, cap - n, "  File \"/x/a.py\", line 7, in f\n");
    for (int i = 0; i < 70; i++)
        n += (size_t)snprintf(text + n, cap - n, "another line\n");
    (void)snprintf(text + n, cap - n, "CUDA error: out of memory\n");
    read_text(text);
    MT_CHECK_EQ(only(MT_LOG_CUDA_OOM)->stack, 0);
    mt_log_done(&l);
    /* more failures than are kept, each with more frames than are kept */
    for (int round = 0, k = 0; round < 40; round++) {
        n = round == 0 ? 0 : n;
        for (k = 0; k < 300; k++)
            n += (size_t)snprintf(text + n, cap - n, "  File \"/x/a.py\", line %d, in f%d\n", k, k);
        n += (size_t)snprintf(text + n, cap - n, "CUDA error: out of memory\n");
    }
    read_text(text);
    MT_CHECK_EQ(l.stacks.n, MT_LOG_MAX_STACKS);
    MT_ASSERT(l.facts.n == 40 && l.stacks.n != 0 && l.stacks.p[0].frames.n == 256);
    MT_CHECK_STR(l.stacks.p[0].frames.p[255].function, "f299");
    MT_CHECK_EQ(l.facts.p[39].stack, 0);
    mt_log_done(&l);
    free(text);
    read_text("File \"\nFile \"x\nFile \"\", line 3, in f\nFile \"a\", line "
              "99999999999999999999999, in f\nFile \"a\", line 3\n"
              "ray::a() (pid=99999999999999,\nray::\nTraceback (most recent call "
              "last)\n\033[\n\033[3\n\033\nCUDA error: out "
              "of memory\n");
    MT_CHECK_EQ(only(MT_LOG_CUDA_OOM)->stack, 0);
    mt_log_done(&l);
}

/* Cut at the width of a terminal, in the middle of words; and where the sentence begins on a line
 * of its own. */
MT_TEST(cut_by_a_terminal)
{
    read_text("[rank1]:   File \"/x/site-packages/torch/opt\nim/adamw.py\", line 9, in step\n"
              "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
              "GPU  has a to\n"
              "tal capacity of 24.00 GiB of which 1.50 GiB is free. Including non-PyTorch memory, "
              "this process has\n"
              " 22.00 GiB memory in use. Of the allocated memory 19.00 GiB is allocated by "
              "PyTorch, and 1.75 GiB i\n"
              "s reserved by PyTorch but unallocated.\nnext line 9.00 GiB allowed;\n");
    const struct mt_log_fact *f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->rank, 1);
    MT_CHECK_EQ(f->gpu, -1);
    MT_CHECK_EQ(f->value[MT_LO_CAPACITY], 24 * GIB);
    MT_CHECK_EQ(f->value[MT_LO_FREE], 3 * GIB / 2);
    MT_CHECK_EQ(f->value[MT_LO_THIS], 22 * GIB);
    MT_CHECK_EQ(f->value[MT_LO_UNALLOCATED], 7 * GIB / 4);
    MT_CHECK_EQ(f->value[MT_LO_ALLOWED], MT_LOG_NONE);
    MT_CHECK_EQ(l.stacks.n, 1);
    if (l.stacks.n == 1)
        MT_CHECK_STR(l.stacks.p[0].frames.p[0].file, "/x/site-packages/torch/optim/adamw.py");
    mt_log_done(&l);
    read_text("   torch.OutOfMemoryError: CUDA out of memory.\n   Tried to allocate 1.00 GiB.\n   "
              "GPU 7 has a total capacity of 24.00 GiB of which 0.50 GiB is free.\n   Of the "
              "allocated memory 21.00 GiB is allocated by PyTorch.\n");
    f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->gpu, 7);
    MT_CHECK_EQ(f->value[MT_LO_ALLOCATED], 21 * GIB);
    mt_log_done(&l);
    /* the driver does not find a process in a container: 0 bytes are no figure */
    read_text("CUDA out of memory. Tried to allocate 1.00 GiB. GPU 7 has a total capacity of 24.00 "
              "GiB of which 0.50 GiB is free. Including non-PyTorch memory, this process has 0 "
              "bytes memory in use. Of the allocated memory 12.00 GiB is allocated by PyTorch, and "
              "1.00 GiB is reserved by PyTorch but unallocated.");
    MT_CHECK_EQ(only(MT_LOG_TORCH_OOM)->value[MT_LO_THIS], MT_LOG_NONE);
    mt_log_done(&l);
    read_text("Current platform can NOT allocate memory block with size larger than 4GB! Tried to "
              "allocate 6.50 GiB (GPU  0; 16.00 GiB total capacity; 0 bytes already allocated; 0 "
              "bytes reserved in total by PyTorch)");
    f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->value[MT_LO_ALLOWED], 4 * GIB);
    MT_CHECK_STR(f->text, "block");
    mt_log_done(&l);
}

/* The failure first, the innermost frame below it. */
MT_TEST(upside_down)
{
    static const char frames[] =
        "  File \"/x/c.py\", line 3, in inner\n    inner()\n  File \"/x/a.py\", line 1, in outer\n";
    char text[1024];
    for (int headed = 0; headed < 2; headed++) {
        (void)snprintf(text, sizeof text, "CUDA error: out of memory\n    ^^^^^\n    alloc()\n%s%s",
                       frames, headed ? "Traceback (most recent call last):\nbye\n" : "");
        read_text(text);
        const struct mt_log_fact *f = only(MT_LOG_CUDA_OOM);
        MT_CHECK_EQ(f->stack, 1);
        MT_CHECK(l.stacks.n == 1 && l.stacks.p[0].frames.n == 2 &&
                 strcmp(l.stacks.p[0].frames.p[0].function, "outer") == 0);
        mt_log_done(&l);
    }
    /* the next one's traceback, another writer's frames, frames that are far away */
    (void)snprintf(
        text, sizeof text,
        "CUDA error: out of memory\nTraceback (most recent call last):\n%sValueError: x\n", frames);
    read_text(text);
    MT_CHECK_EQ(only(MT_LOG_CUDA_OOM)->stack, 0);
    mt_log_done(&l);
    (void)snprintf(text, sizeof text, "(A pid=3) CUDA error: out of memory\n%s", frames);
    read_text(text);
    MT_CHECK_EQ(only(MT_LOG_CUDA_OOM)->stack, 0);
    mt_log_done(&l);
    (void)snprintf(text, sizeof text, "CUDA error: out of memory\n1\n2\n3\n4\n5\n6\n7\n8\n%s",
                   frames);
    read_text(text);
    MT_CHECK_EQ(only(MT_LOG_CUDA_OOM)->stack, 0);
    mt_log_done(&l);
}

/* The same place with the outermost frame first: its line of code calls the next one. */
MT_TEST(below_in_order)
{
    read_text("CUDA error: out of memory\n  File \"/x/a.py\", line 1, in outer\n    y = inner(3)\n"
              "  File \"/x/c.py\", line 3, in inner\n    alloc()\n");
    const struct mt_log_fact *f = only(MT_LOG_CUDA_OOM);
    MT_CHECK_EQ(f->stack, 1);
    MT_CHECK(l.stacks.n == 1 && l.stacks.p[0].frames.n == 2);
    if (l.stacks.n == 1)
        MT_CHECK_STR(l.stacks.p[0].frames.p[1].function, "inner");
    mt_log_done(&l);
}

/* An error that was caught is not what a later failure came from; one that memory may be behind is.
 */
MT_TEST(caught_errors)
{
    static const struct {
        const char *end;
        uint32_t stack;
    } ends[] = {
        {"ValueError: no number", 0},    {"pkg.sub.ParseError: x", 0},
        {"RuntimeError: NCCL error", 1}, {"torch.distributed.DistBackendError: NCCL error", 1},
        {"    raise ValueError: x", 1},  {"said ValueError: x", 1}};
    char text[512];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int prefix = 0; prefix < 2; prefix++) {
            const char *p = prefix ? "(W pid=5) " : "";
            (void)snprintf(text, sizeof text,
                           "%sTraceback (most recent call last):\n%s  File \"/x/a.py\", line 1, in "
                           "f\n%s%s\nstep\n%sCUDA error: "
                           "out of memory\n",
                           p, p, p, ends[i].end, p);
            read_text(text);
            if (only(MT_LOG_CUDA_OOM)->stack != ends[i].stack)
                MT_FAIL_AT("a traceback that ends in: %s", ends[i].end);
            mt_log_done(&l);
        }
}

MT_TEST(ipython)
{
    read_text(
        "File ~/env/lib/deepspeed/runtime/engine.py:1184, in "
        "DeepSpeedEngine._configure_optimizer(self, a, b)\n"
        "   1183 x = 1\n-> 1184 self.optimizer = make()\n\n"
        "File /env/lib/deepspeed/accelerator/cuda_accelerator.py:200, in "
        "CUDA_Accelerator.pin_memory(self, t)\n"
        "    199 def pin_memory(self, t):\n--> 200     return t.pin_memory()\n\nRuntimeError: CUDA "
        "error: out of memory\n"
        "File /no/number.py, in f(x)\nFile x:3, in f(\nFile /a.txt:3, in f(\nFile \nFile /\n");
    const struct mt_log_fact *f = only(MT_LOG_HOST_OOM);
    MT_CHECK_STR(f->text, "pinned");
    MT_ASSERT(l.stacks.n == 1 && l.stacks.p[0].frames.n == 2);
    MT_CHECK_STR(l.stacks.p[0].frames.p[0].function, "_configure_optimizer");
    MT_CHECK_EQ(l.stacks.p[0].frames.p[0].line, 1184);
    MT_CHECK_STR(l.stacks.p[0].frames.p[1].file,
                 "/env/lib/deepspeed/accelerator/cuda_accelerator.py");
    mt_log_done(&l);
}

/* Colab and older notebooks; the second half of the sentence alone. */
MT_TEST(notebooks)
{
    read_text("[/usr/lib/python3/transformers/trainer.py](https://localhost:8080/#) in "
              "training_step(self, x)\n   1 x\n"
              "/tmp/ipykernel_36/773422404.py in <cell line: 0>()\n/usr/lib/python3/torch/a.py in "
              "forward(self)\n"
              "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n"
              "/no/a.pyc in f(x)\n/no/a.py in\n/no/a.py in f\n[/no/a.py](x in "
              "f(\n[/no/a.py\n/.py\n[\n/\n");
    const struct mt_log_fact *f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->stack, 1);
    MT_ASSERT(l.stacks.n == 1 && l.stacks.p[0].frames.n == 3);
    MT_CHECK_STR(l.stacks.p[0].frames.p[0].file, "/usr/lib/python3/transformers/trainer.py");
    MT_CHECK_STR(l.stacks.p[0].frames.p[0].function, "training_step");
    MT_CHECK_STR(l.stacks.p[0].frames.p[1].function, "<cell line: 0>");
    MT_CHECK_STR(l.stacks.p[0].frames.p[2].function, "forward");
    mt_log_done(&l);
    read_text("  Tried to allocate 8.00 MiB. GPU 0 has a total capacity of 24.00 GiB of\n  which "
              "4.00 MiB is free. ...\n");
    f = only(MT_LOG_TORCH_OOM);
    MT_CHECK_EQ(f->value[MT_LO_REQUEST], 8 * MIB);
    MT_CHECK_EQ(f->value[MT_LO_FREE], 4 * MIB);
    mt_log_done(&l);
}

MT_TEST(names_of_processes)
{
    static const char *const of[][2] = {
        {"(RefWorker pid=7, ip=10.0.0.1) ", "RefWorker"},
        {"\033[36m(ActorWorker(reference-0) pid=7)\033[0m ", "ActorWorker(reference-0)"},
        {"(VllmWorker rank=1 pid=7) ", "VllmWorker"},
        {"x) pid=7 ", ""},
        {"pid=7 ", ""},
        {"(((( pid=7 ", ""},
        {"", ""}};
    char text[256];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        (void)snprintf(text, sizeof text, "%sCUDA error: out of memory", of[i][0]);
        read_text(text);
        MT_CHECK_STR(only(MT_LOG_CUDA_OOM)->who, of[i][1]);
        mt_log_done(&l);
    }
    read_text("(D pid=5) ray::CriticWorkerBase.forward() (pid=77, ip=1)\n(D pid=5)   File "
              "\"/x/a.py\", line 7, in f\n"
              "(D pid=5) CUDA error: out of memory\n");
    MT_CHECK_STR(only(MT_LOG_CUDA_OOM)->who, "CriticWorkerBase");
    mt_log_done(&l);
}

MT_TEST(names)
{
    for (int k = 0; k < MT_LOG_KIND_COUNT; k++)
        MT_CHECK(strcmp(mt_log_kind_name((enum mt_log_kind)k), "unknown") != 0);
}

MT_MAIN(MT_RUN(torch_now) MT_RUN(torch_2_1_misspelt) MT_RUN(torch_1_to_2_0) MT_RUN(wrapped)
            MT_RUN(each_line) MT_RUN(prefixes) MT_RUN(nothing) MT_RUN(line_ends) MT_RUN(rubbish)
                MT_RUN(very_long_line) MT_RUN(hostile_repeats) MT_RUN(too_many_facts)
                    MT_RUN(out_of_memory) MT_RUN(paths) MT_RUN(tracebacks)
                        MT_RUN(tracebacks_that_are_odd) MT_RUN(cut_by_a_terminal)
                            MT_RUN(upside_down) MT_RUN(below_in_order) MT_RUN(caught_errors)
                                MT_RUN(ipython) MT_RUN(names_of_processes) MT_RUN(notebooks)
                                    MT_RUN(names))
