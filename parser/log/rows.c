/* log/rows.c -- lines of logs that say one thing: a table of them; and the names of the kinds. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

/* Lines that say one thing. The values of the holes become value[0..]. `and`: the line must hold
 * this too. */
struct row {
    enum mt_log_kind kind;
    const char *pattern, *and, *text;
};
static const struct row rows[] = {
    {MT_LOG_NCCL_OOM, "Failed to CUDA calloc async %n bytes", NULL, NULL},
    {MT_LOG_NCCL_OOM, "Failed to CUDA calloc %n bytes", NULL, NULL},
    {MT_LOG_HOST_OOM, "Failed to CUDA host alloc %n bytes", NULL, NULL},
    {MT_LOG_NCCL_OOM, "Cuda failure 2 'out of memory'", NULL, NULL},
    {MT_LOG_NCCL_OOM, "Cuda failure 'out of memory'", NULL, NULL},
    {MT_LOG_CUMEM_OOM, "CUDA Error: out of memory at", "cumem_allocator", NULL},
    {MT_LOG_CUMEM_OOM, "CUDA Error: out of memory at", "wake_up", NULL},
    {MT_LOG_SAVER_OOM, "error: 2 (", "[torch_memory_saver", NULL},
    {MT_LOG_SAVER_OOM, "error result=2 ", "[torch_memory_saver", NULL},
    {MT_LOG_VLLM_WARMUP, "UDA out of memory occurred when warming up sampler with %n", NULL, NULL},
    {MT_LOG_VLLM_WARMUP, "UDA out of memory occurred when warming up pooler", NULL, NULL},
    /* asked only for the sentence of a failure */
    {MT_LOG_TORCH_OOM, "NVML_SUCCESS == ", "CUDACachingAllocator", "nvml"},
    {MT_LOG_TORCH_OOM, "rror: CUDA out of memory", NULL, NULL},
    {MT_LOG_TORCH_OOM, "rror: HIP out of memory", NULL, NULL},
    {MT_LOG_TORCH_OOM, "rror: NPU out of memory", NULL, NULL},
    {MT_LOG_TORCH_OOM, "rror: XPU out of memory", NULL, NULL},
    {MT_LOG_CUDA_OOM, "CUDA error: out of memory", NULL, NULL},
    {MT_LOG_CUDA_OOM, "HIP error: out of memory", NULL, "HIP"},
    {MT_LOG_CUDA_OOM, "in memory space hbm. Used %s of %s hbm", NULL, "TPU"},
    {MT_LOG_CUDA_OOM, "Attempting to allocate %s. That was not possible. There are %s free", NULL,
     "TPU at run time"},
    {MT_LOG_CUDA_OOM,
     "Attempting to reserve %s at the bottom of memory. That was not possible. There are %s free",
     NULL, "TPU at run time"},
    /* tsl/framework, gpu_cudamallocasync_allocator.cc */
    {MT_LOG_CUDA_OOM, "cuMemAllocAsync failed to allocate %n bytes", NULL, "XLA"},
    {MT_LOG_CUDA_OOM, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate %n bytes", NULL,
     "XLA"},
    {MT_LOG_CUDA_OOM, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate %b", NULL, "XLA"},
    {MT_LOG_CUDA_OOM, "RESOURCE_EXHAUSTED: Failed to allocate request for %b", NULL, "XLA"},
    {MT_LOG_CUDA_OOM, "RESOURCE_EXHAUSTED: Out of memory allocating %n bytes", NULL, "XLA"},
    /* before jaxlib 0.3 */
    {MT_LOG_CUDA_OOM, "Resource exhausted: Out of memory while trying to allocate %n bytes", NULL,
     "XLA"},
    {MT_LOG_CUDA_OOM, "Resource exhausted: Failed to allocate request for %b", NULL, "XLA"},
    {MT_LOG_CUDA_OOM, "Out of memory allocating %n bytes", "OutOfMemoryError", "CuPy"},
    {MT_LOG_CUDA_OOM, "std::bad_alloc: out_of_memory: CUDA", NULL, "RAPIDS"},
    {MT_LOG_CUDA_OOM, "std::bad_alloc: out_of_memory: RMM", NULL, "RAPIDS"},
    {MT_LOG_CUDA_OOM, "hipErrorOutOfMemory", NULL, "HIP"},
    {MT_LOG_CUDA_OOM, "Triton Error [CUDA]: out of memory", NULL, "Triton"},
    {MT_LOG_CUDA_OOM, "Triton Error [HIP]: out of memory", NULL, "Triton"},
    {MT_LOG_CUDA_OOM, "CUDA_ERROR_OUT_OF_MEMORY", NULL, NULL},
    {MT_LOG_CUDA_OOM, "cudaErrorMemoryAllocation", NULL, NULL},
    {MT_LOG_CUDA_OOM, "error=2 : out of memory", "THCudaCheck", NULL}, /* PyTorch before 1.0 */
    {MT_LOG_CUDA_OOM, "Allocation failed for size::%n", "PT_DEVMEM", "Gaudi"},
    {MT_LOG_CUDA_OOM, "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", NULL, "Level Zero"},
    {MT_LOG_CUDA_OOM, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", NULL, "Level Zero"},
    /* where it would have to page */
    {MT_LOG_CUDA_OOM, "UR_RESULT_ERROR_OUT_OF_RESOURCES", NULL, "Level Zero"},
    {MT_LOG_CUDA_OOM, "CUDA driver error: out of memory", NULL, NULL},
    {MT_LOG_CUDA_OOM, "CUDA Error: out of memory", NULL, NULL},
    {MT_LOG_CUDA_OOM, "Cuda error: out of memory", NULL, NULL},
    {MT_LOG_CUDA_OOM, "non-zero status: 2 cuMemCreate failed", NULL, "NVSHMEM"},
    {MT_LOG_CUDA_OOM, "cuda failed with error 2 out of memory", NULL, NULL},
    {MT_LOG_CUDA_OOM, "CUDA: out of memory", "cudaSuccess", NULL}, /* TVM's check, in DGL too */
    {MT_LOG_CUDA_OOM, "cudaMalloc retry failed: out of memory", NULL, "MXNet"},
    {MT_LOG_CUDA_OOM, "size %n bytes (cudaMalloc error out of memory", NULL, "FAISS"},
    {MT_LOG_CUDA_OOM, "cudaMalloc failed: out of memory", NULL, "cudaMalloc"},
    {MT_LOG_HOST_OOM, "failed to extend /dev/shm/", NULL, "shared"}, /* NCCL */
    {MT_LOG_CUDA_OOM, "Error Code 2: OutOfMemory (Requested size was %n bytes", NULL, "TensorRT"},
    {MT_LOG_CUDA_OOM, "Requested amount of GPU memory (%n bytes) could not be allocated", NULL,
     "TensorRT"},
    {MT_LOG_CUDA_OOM, "Error Code 2: OutOfMemory (", NULL, "TensorRT"},
    {MT_LOG_CUDA_OOM, "[NV_ERR_NO_MEMORY]", NULL, "NVIDIA's kernel driver"}, /* dmesg */
    {MT_LOG_CUDA_OOM, "Error out of memory at line ", NULL, "bitsandbytes"},
    {MT_LOG_CUDA_OOM, "CUDNN_STATUS_ALLOC_FAILED", NULL, "cuDNN"},
    {MT_LOG_CUDA_OOM, "HIPBLAS_STATUS_ALLOC_FAILED", NULL, "hipBLAS"},
    {MT_LOG_HOST_OOM, "UR_RESULT_ERROR_OUT_OF_HOST_MEMORY", NULL, NULL},
    {MT_LOG_HOST_OOM, "rror while creating shared memory segment", NULL, "shared"},
    {MT_LOG_HOST_OOM, "workers are out of shared memory", NULL, "shared"},
    {MT_LOG_HOST_OOM, "insufficient shared memory (shm)", NULL, "shared"},
    {MT_LOG_HOST_OOM, "No space left on device", "/dev/shm", "shared"},
    {MT_LOG_HOST_OOM, "ObjectStoreFullError: ", NULL, "shared by Ray"},
    {MT_LOG_HOST_OOM, "ArrowMemoryError: malloc of size %n failed", NULL, NULL},
    {MT_LOG_HOST_OOM, "unable to write to file", "No space left on device", "shared"},
    {MT_LOG_HOST_OOM, "paging file is too small", NULL, NULL},
    {MT_LOG_HOST_OOM, "[WinError 1455]", NULL, NULL}, /* the same in any language */
    {MT_LOG_HOST_OOM, "DefaultCPUAllocator: not enough memory: you tried to allocate %n bytes",
     NULL, NULL},
    {MT_LOG_NPU_OOM, "Failed to allocate resource[DeviceMemory] with info [size:%n]", NULL, NULL},
    {MT_LOG_NPU_OOM, "EL0004", "ailed to allocate memory", NULL},
    {MT_LOG_NPU_OOM, "size:%n,", "rtMalloc fail", NULL}, /* one of the lines that follow EL0004 */
    {MT_LOG_CUBLAS_OOM, "CUBLAS_STATUS_ALLOC_FAILED", NULL, NULL},
    {MT_LOG_VLLM_PROFILE,
     "model weights take %b; non_torch_memory takes %b; PyTorch activation peak memory takes %b; "
     "the rest of the memory "
     "reserved for KV Cache is %b",
     NULL, NULL},
    {MT_LOG_VLLM_PROFILE,
     "Actual usage is %b for weight, %b for peak activation, %b for non-torch memory", NULL,
     "started"},
    {MT_LOG_VLLM_BUDGET, "total_gpu_memory (%b) x gpu_memory_utilization (%r) = %b", NULL, NULL},
    {MT_LOG_VLLM_WEIGHTS, "Model loading took %b", NULL, NULL},
    {MT_LOG_VLLM_WEIGHTS, "Loading model weights took %b", NULL, NULL},
    {MT_LOG_VLLM_KV, "Available KV cache memory: -%b", NULL, "short"},
    {MT_LOG_VLLM_KV, "Available KV cache memory: %b", NULL, NULL},
    {MT_LOG_VLLM_TOKENS, "GPU KV cache size: %n tokens", NULL, NULL},
    {MT_LOG_VLLM_BLOCKS, "# GPU blocks: %n, # CPU blocks: %n", NULL, NULL},
    {MT_LOG_VLLM_BLOCKS, "# CUDA blocks: %n, # CPU blocks: %n", NULL, NULL},
    {MT_LOG_VLLM_BLOCKS, "# cuda blocks: %n, # CPU blocks: %n", NULL, NULL},
    {MT_LOG_VLLM_NO_KV, "No available memory for the cache blocks", NULL, NULL},
    {MT_LOG_VLLM_NO_KV, "Cannot auto-fit max_model_len: not enough GPU memory", NULL, NULL},
    {MT_LOG_SLEEP, "Sleep mode freed %b memory, %b memory is still in use", NULL, NULL},
    {MT_LOG_SGLANG_POOL, "Memory pool end. avail mem=%b", NULL, NULL},
    {MT_LOG_SGLANG_NO_KV, "Not enough memory. Please try to increase --mem-fraction-static", NULL,
     NULL},
    {MT_LOG_SGLANG_NO_KV, "Not enough GPU memory for hybrid (mamba/linear-attention) state cache",
     NULL, NULL},
    {MT_LOG_SGLANG_KV_FULL, "alloc_req_slots runs out of memory", NULL, NULL},
    {MT_LOG_SGLANG_KV_FULL, "Out of memory even after retracting all other requests", NULL, NULL},
    {MT_LOG_RETRIED, "Decode out of memory happened. #retracted_reqs: %n", NULL, "SGLang"},
    {MT_LOG_RETRIED, "KV cache pool is full. Retract requests. #retracted_reqs: %n", NULL,
     "SGLang"},
    {MT_LOG_NO_EXPANDABLE, "expandable_segments not supported on this platform", NULL, NULL},
    {MT_LOG_KERNEL_LIMIT, "Required: %n, Hardware limit: %n", "out of resource", NULL},
    {MT_LOG_KERNEL_LIMIT, "Required: %n Hardware limit: %n", "out of resource", NULL},
    {MT_LOG_ILLEGAL, "an illegal memory access was encountered", NULL, NULL},
    {MT_LOG_WORKSPACE, "size %n and alignment %n, but only %n bytes available in AlignedAllocator",
     NULL, NULL},
    {MT_LOG_WORKSPACE, "size %n and alignment %n in AlignedAllocator", NULL, NULL},
    {MT_LOG_POOL_REFUSED, "Expandable segments are not compatible with memory pool", NULL, NULL},
    {MT_LOG_RAY_KILL, "killed due to the node running low on memory", NULL, NULL},
    {MT_LOG_RAY_KILL, "killed due to memory pressure (OOM)", NULL, NULL},
    /* the advice below a kill, where nothing above it was pasted; not whoever else links to that
       page */
    {MT_LOG_RAY_KILL, "ray-oom-prevention.html", "Refer to the documentation", NULL},
    {MT_LOG_KERNEL_KILL, "etected %n oom_kill event", NULL, NULL},
    {MT_LOG_KERNEL_KILL, "etected %n oom-kill event", NULL, NULL},
    {MT_LOG_KERNEL_KILL, ": Out Of Memory", "srun: error", NULL},
    {MT_LOG_KERNEL_KILL, "OOMKill", NULL, NULL},
    {MT_LOG_KERNEL_KILL, "xceeded job memory limit", NULL, NULL}, /* Slurm */
    {MT_LOG_KERNEL_KILL, "xceeded step memory limit", NULL, NULL},
    {MT_LOG_KERNEL_KILL, "job killed: mem", NULL, NULL}, /* PBS */
    {MT_LOG_KERNEL_KILL, "TERM_MEMLIMIT", NULL, NULL},   /* LSF */
    /* it evicts */
    {MT_LOG_KERNEL_KILL, "The node was low on resource: memory", NULL, "Kubernetes"},
    {MT_LOG_HOST_OOM, "DefaultCPUAllocator: can't allocate memory: you tried to allocate %n bytes",
     NULL, NULL},
    {MT_LOG_HOST_OOM, "MemoryError: Unable to allocate %b", NULL, NULL},
    {MT_LOG_HOST_OOM, "ould not allocate pinned host memory of size: %n", NULL, "pinned"},
    {MT_LOG_HOST_OOM, "session crashed after using all available RAM", NULL, NULL}, /* Colab */
    {MT_LOG_HOST_OOM, "std::bad_alloc", NULL, NULL},
    /* rdma-core: what a network card works on is locked, up to a limit of the process */
    {MT_LOG_HOST_OOM, "Cannot allocate memory", "ibv_", "locked"},
    {MT_LOG_HOST_OOM, "Cannot allocate memory", NULL, NULL},
    {MT_LOG_KILLED, "line %n: %n Killed", NULL, NULL},
    {MT_LOG_KILLED, "exitcode: -9", NULL, NULL},
    {MT_LOG_KILLED, "exit code: -9", NULL, NULL},
    {MT_LOG_KILLED, "exitcode : -9", NULL, NULL},
    {MT_LOG_KILLED, "exits with return code = -9", NULL, NULL},
    {MT_LOG_KILLED, "exits with return code = 137", NULL, NULL},
    {MT_LOG_KILLED, "Signal 9 (SIGKILL)", NULL, NULL},
    {MT_LOG_KILLED, ": Killed", "srun: error", NULL},
    {MT_LOG_KILLED, "exited on signal 9", NULL, NULL}, /* mpirun */
    {MT_LOG_KILLED, "erminated by signal 9", NULL, NULL},
    {MT_LOG_KILLED, "xit status -9", NULL, NULL},
    {MT_LOG_KILLED, "xit code -9", NULL, NULL},
    {MT_LOG_KILLED, "xited with code -9", NULL, NULL},
    {MT_LOG_KILLED, "xit code is 137", NULL, NULL}, /* YARN */
    {MT_LOG_KILLED, "signal: killed", NULL, NULL},  /* Go */
    {MT_LOG_KILLED, "] %n killed ", NULL, NULL},    /* zsh */
    {MT_LOG_KILLED, "]+ Killed ", NULL, NULL},      /* bash, of a job in the background */
    {MT_LOG_KILLED, "The worker died unexpectedly while executing", NULL, "Ray"},
    {MT_LOG_KILLED, "The worker may have exceeded K8s pod memory limits", NULL, "Ray"},
    {MT_LOG_KILLED, "Worker exit type: SYSTEM_ERROR", "OOM killer", NULL},
    {MT_LOG_KILLED, "Worker exit type: SYSTEM_ERROR", "memory limits", NULL},
    {MT_LOG_KILLED, "exit code 137", NULL, NULL},
    {MT_LOG_KILLED, "exited with code 137", NULL, NULL},
    {MT_LOG_KILLED, "exit status 137", NULL, NULL},
    {MT_LOG_KILLED, "xit code: 137", NULL, NULL},
    {MT_LOG_KILLED, "xit Code: 137", NULL, NULL},
    {MT_LOG_KILLED, "died with <Signals.SIGKILL: 9>", NULL, NULL},
    {MT_LOG_KILLED, "(exitcode: 137", NULL, NULL},
    {MT_LOG_KILLED, "SIGKILL", "signal", NULL},
    {MT_LOG_KILLED, "DataLoader worker (pid(s) %n", "exited unexpectedly", "loader"},
};

/* Ray's memory monitor has been read in the lines above, with its table below it or not. */
static bool is_known_kill(const struct mt_log *l, uint64_t number)
{
    uint32_t i = l->facts.n;
    while (i > 1 && l->facts.p[i - 1].kind == MT_LOG_HOST_PROC)
        i--;
    return i > 0 && l->facts.p[i - 1].kind == MT_LOG_RAY_KILL &&
           number - l->facts.p[l->facts.n - 1].line <= 40;
}

/* PyTorch's second line about an error that has been read: "Search for `cudaErrorMemoryAllocation'
 * in https://docs.nvidia.com/..." */
static bool is_where_to_read(const struct mt_log *l, uint64_t number, const char *s)
{
    const struct mt_log_fact *last = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    return last != NULL && mt_log_has_stack(last->kind) && number - last->line <= 4 &&
           strstr(s, "Search for ") != NULL && strstr(s, " in https://") != NULL;
}

/* Which pairs of characters a line has: nearly every row is passed over by the first three letters
 * of its pattern, without a search. */
struct pairs {
    uint64_t bit[64 * 64 / 64];
};

static unsigned pair(const char *p) { return ((unsigned)p[0] & 63) << 6 | ((unsigned)p[1] & 63); }

static void pairs_of(struct pairs *q, const char *s)
{
    memset(q, 0, sizeof *q);
    for (; s[0] != '\0' && s[1] != '\0'; s++)
        q->bit[pair(s) / 64] |= UINT64_C(1) << pair(s) % 64;
}

/* false: the pattern is nowhere in the line. A blank or hole stands for more than itself. */
static bool may_have(const struct pairs *q, const char *pattern)
{
    for (int i = 0; i < 3 && pattern[i] != '\0' && pattern[i + 1] != '\0'; i++) {
        if (pattern[i] == ' ' || pattern[i] == '%' || pattern[i + 1] == ' ' ||
            pattern[i + 1] == '%')
            return true;
        if ((q->bit[pair(pattern + i) / 64] >> pair(pattern + i) % 64 & 1) == 0)
            return false;
    }
    return true;
}

/* A row's pattern that is a name of a programming interface, not words of a message. */
static bool is_name(const char *pattern) { return strpbrk(pattern, " %:[") == NULL; }

/* vLLM's sum when all is there: "Desired GPU memory utilization is (0.86, 20.32 GiB). Actual usage
 * is 3.61 GiB for weight, 0.59 GiB for peak activation, 0.02 GiB for non-torch memory, and 2.28 GiB
 * for CUDAGraph memory. ... Current kv cache memory in use is 17292353024 bytes." */
static void after_start(struct mt_log_fact *f, const char *s)
{
    struct mt_log_got g;
    uint64_t activation = f->value[1];
    f->value[1] = f->value[2];
    f->value[2] = activation;
    f->value[3] = mt_log_value(s, "Current kv cache memory in use is %n bytes");
    f->value[4] = mt_log_value(s, "and %b for CUDAGraph memory");
    if (mt_log_find(s, "Desired GPU memory utilization is (%r, %b)", &g) != NULL)
        f->value[5] = g.v[1];
}

int mt_log_row(struct mt_log *l, uint64_t number, const char *s)
{
    struct pairs pairs;
    if (mt_log_first_try(l, number, s) || mt_log_pool_error(l, number, s) ||
        mt_log_xla_card(l, number, s))
        return 1;
    /* before PyTorch empties its cache and tries again */
    if (strstr(s, "may not be an issue") != NULL) {
        struct mt_log_fact *f = strstr(s, "torch_memory_saver") != NULL
                                    ? mt_log_add(l, MT_LOG_RETRIED, number, s)
                                    : NULL;
        if (f != NULL)
            mt_log_keep_text(f, "torch_memory_saver", 18);
        return f != NULL;
    }
    pairs_of(&pairs, s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mt_log_fact *f;
        got g;
        const char *end =
            may_have(&pairs, rows[i].pattern) ? mt_log_find(s, rows[i].pattern, &g) : NULL;
        size_t n;
        if (end == NULL || (rows[i].and != NULL && strstr(s, rows[i].and) == NULL))
            continue;
        n = strlen(rows[i].pattern);
        if (is_name(rows[i].pattern) && mt_log_is_code(s, end - n, n))
            continue;
        if (strcmp(rows[i].pattern, "ray-oom-prevention.html") == 0 && is_known_kill(l, number))
            return 0;
        if (rows[i].kind == MT_LOG_CUDA_OOM && is_where_to_read(l, number, s))
            return 0;
        if (rows[i].kind == MT_LOG_CUDA_OOM && rows[i].text == NULL && mt_log_is_cumem(s))
            return mt_log_gpu_error(l, number, s);
        f = mt_log_add(l, rows[i].kind, number, s);
        if (f == NULL)
            return 1;
        mt_log_thc(f, s);
        /* Slurm counts events and bash says its own line: neither is a value of the fact. */
        for (int k = 0; f->kind != MT_LOG_KERNEL_KILL && f->kind != MT_LOG_KILLED && k < g.n; k++)
            f->value[k] = g.v[k];
        if (f->kind == MT_LOG_VLLM_PROFILE && rows[i].text != NULL)
            after_start(f, s);
        if (f->kind == MT_LOG_VLLM_KV && rows[i].text != NULL) { /* what is lacking */
            f->value[1] = f->value[0];
            f->value[0] = 0;
        }
        if (rows[i].text != NULL)
            mt_log_keep_text(f, rows[i].text, strlen(rows[i].text));
        f->platform = rows[i].kind == MT_LOG_NPU_OOM || strstr(s, "NPU out of") != NULL ? 'N'
                      : strstr(f->text, "HIP") != NULL || strstr(f->text, "hip") != NULL ||
                              strstr(rows[i].pattern, "HIP") != NULL
                          ? 'H'
                      : strcmp(f->text, "Level Zero") == 0 || strstr(s, "XPU out of") != NULL ? 'X'
                      : strncmp(f->text, "TPU", 3) == 0                                       ? 'T'
                                                                                              : 0;
        if (f->kind == MT_LOG_WORKSPACE) { /* the alignment stands between */
            f->value[1] = f->value[2];
            f->value[2] = MT_LOG_NONE;
        }
        if (f->kind == MT_LOG_NPU_OOM && f->pid < 0 && l->facts.n > 1 &&
            f[-1].kind == MT_LOG_NPU_OOM && number - f[-1].line <= 8)
            f->pid = f[-1].pid; /* only the first line of CANN's report has it */
        if (f->kind == MT_LOG_KILLED && g.n == 2 && strncmp(rows[i].pattern, "line ", 5) == 0)
            f->pid = mt_log_small(g.v[1]); /* of what the shell started */
        if (f->kind == MT_LOG_KILLED && strstr(s, "Worker exit type") != NULL)
            mt_log_keep_text(f, "Ray", 3);
        if (f->kind == MT_LOG_KILLED && strcmp(f->text, "Ray") == 0) {
            mt_log_stack_called(l, f, mt_log_writer(s, NULL));
            mt_log_actor_take(l, f, s);
        }
        if (f->kind == MT_LOG_NCCL_OOM && mt_log_find(s, ":%n:%n [%n]", &g) != NULL) {
            f->pid = mt_log_small(g.v[0]); /* host:pid:thread [device] */
            f->gpu = mt_log_small(g.v[2]);
        }
        return 1;
    }
    return mt_log_gpu_error(l, number, s);
}

const char *mt_log_kind_name(enum mt_log_kind k)
{
    static const char *const names[MT_LOG_KIND_COUNT] = {
        [MT_LOG_TORCH_OOM] = "torch_oom",
        [MT_LOG_OTHER_PROC] = "other_process",
        [MT_LOG_NCCL_OOM] = "nccl_oom",
        [MT_LOG_CUMEM_OOM] = "cumem_oom",
        [MT_LOG_SAVER_OOM] = "saver_oom",
        [MT_LOG_CUDA_OOM] = "cuda_oom",
        [MT_LOG_NPU_OOM] = "npu_oom",
        [MT_LOG_CUBLAS_OOM] = "cublas_oom",
        [MT_LOG_VLLM_WEIGHTS] = "vllm_weights",
        [MT_LOG_VLLM_BUDGET] = "vllm_budget",
        [MT_LOG_VLLM_PROFILE] = "vllm_profile",
        [MT_LOG_VLLM_KV] = "vllm_kv",
        [MT_LOG_VLLM_TOKENS] = "vllm_tokens",
        [MT_LOG_VLLM_BLOCKS] = "vllm_blocks",
        [MT_LOG_VLLM_GRAPHS] = "vllm_graphs",
        [MT_LOG_VLLM_STARTUP] = "vllm_startup",
        [MT_LOG_VLLM_NO_KV] = "vllm_no_kv",
        [MT_LOG_VLLM_WARMUP] = "vllm_warmup",
        [MT_LOG_VLLM_MEASURE] = "vllm_measure",
        [MT_LOG_VLLM_BEGUN] = "vllm_begun",
        [MT_LOG_SGLANG_BEGUN] = "sglang_begun",
        [MT_LOG_SAVE_BEGUN] = "save_begun",
        [MT_LOG_POOL_ERROR] = "pool_error",
        [MT_LOG_SLEEP] = "sleep",
        [MT_LOG_SGLANG_WEIGHTS] = "sglang_weights",
        [MT_LOG_SGLANG_KV] = "sglang_kv",
        [MT_LOG_SGLANG_POOL] = "sglang_pool",
        [MT_LOG_SGLANG_GRAPHS] = "sglang_graphs",
        [MT_LOG_SGLANG_KV_FULL] = "sglang_kv_full",
        [MT_LOG_SGLANG_NO_KV] = "sglang_no_kv",
        [MT_LOG_POOL_REFUSED] = "pool_refused",
        [MT_LOG_TORCH_USAGE] = "torch_usage",
        [MT_LOG_COUNTERS] = "counters",
        [MT_LOG_CARD] = "card",
        [MT_LOG_CARD_PROC] = "card_process",
        [MT_LOG_NPU_PART] = "npu_part",
        [MT_LOG_NPU_RECORD] = "npu_record",
        [MT_LOG_HEAP] = "heap",
        [MT_LOG_HEAP_PLACE] = "heap_place",
        [MT_LOG_HOST_USAGE] = "host_usage",
        [MT_LOG_RETRIED] = "retried",
        [MT_LOG_NO_EXPANDABLE] = "no_expandable",
        [MT_LOG_KERNEL_LIMIT] = "kernel_limit",
        [MT_LOG_RAY_KILL] = "ray_kill",
        [MT_LOG_KERNEL_KILL] = "kernel_kill",
        [MT_LOG_HOST_OOM] = "host_oom",
        [MT_LOG_HOST_PROC] = "host_process",
        [MT_LOG_KILLED] = "killed",
        [MT_LOG_STOPPED] = "stopped",
        [MT_LOG_ILLEGAL] = "illegal_access",
        [MT_LOG_WORKSPACE] = "workspace",
        [MT_LOG_CUT] = "traceback_cut",
    };
    return (unsigned)k < MT_LOG_KIND_COUNT ? names[k] : "unknown";
}
