/* Lines of logs: Ray's sentence and its table of processes, what an observer of failed allocations
 * writes, the machine, lines of use, errors that are no want of memory. */
#include "mt_test.h"
#include "parser/log/log.h"
#include "frameworks.h"

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)

static struct mt_log l;

static void read_text(const char *text)
{
    struct mt_source *src = NULL;
    struct mt_err err;
    memset(&err, 0, sizeof err);
    memset(&l, 0, sizeof l);
    MT_CHECK_EQ(mt_source_mem(&src, text, strlen(text)), MT_OK);
    MT_CHECK_EQ(mt_log_read(&l, src, mt_framework_log_packages(mt_test_frameworks()), NULL, &err),
                MT_OK);
    mt_source_free(src);
}

static const struct mt_log_fact *fact(uint32_t i)
{
    static const struct mt_log_fact none = {.kind = MT_LOG_KIND_COUNT};
    MT_CHECK(i < l.facts.n);
    return i < l.facts.n ? &l.facts.p[i] : &none;
}

static const char *kind(uint32_t i) { return mt_log_kind_name(fact(i)->kind); }

#define NODE                                                                                       \
    "Memory on the node (IP: 10.0.0.7, ID: fc) where the task (actor ID: f9, name=Env.__init__, "  \
    "pid=43, memory used=2.25GB) was running was "

MT_TEST(wrapped_by_a_terminal)
{
    static const char *const forms[] = {
        (NODE "59.50GB / 62.25GB (0.95), which exceeds the memory usage threshold of 0.95.\n"),
        (NODE "59.50GB / 62\n.25GB (0.95), which exceeds the memory usage threshold of 0.95.\n"),
        (NODE "59.5\n0GB / 62.25GB (0.95), which exceeds the memory usage threshold of 0.95.\n"),
        ("(raylet) " NODE "59.50GB / 6\n2.25GB (0.95), which exceeds\n"),
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        read_text(forms[i]);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_STR(kind(0), "ray_kill");
        MT_CHECK_EQ(fact(0)->value[0], 119 * GIB / 2);
        MT_CHECK_EQ(fact(0)->value[1], 249 * GIB / 4);
        MT_CHECK_EQ(fact(0)->value[2], 9 * GIB / 4);
        MT_CHECK_EQ(fact(0)->pid, 43);
        MT_CHECK_STR(fact(0)->text, "Env.__init__");
        mt_log_done(&l);
    }
}

static void check_table(void)
{
    MT_CHECK_EQ(l.facts.n, 3);
    MT_CHECK_STR(kind(1), "host_process");
    MT_CHECK_EQ(fact(1)->value[0], 4012);
    MT_CHECK_EQ(fact(1)->value[1], 23 * GIB / 4);
    MT_CHECK_STR(fact(1)->text, "python run.py --x 1");
    MT_CHECK_STR(fact(2)->text, "ray::Env.step");
    mt_log_done(&l);
}

MT_TEST(table_of_processes)
{
    read_text(NODE
              "59.50GB / 62.25GB (0.95). Top 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n"
              "4012\t5.75\tpython run.py --x 1\n4331\t2.25\tray::Env.step\n\n77\t1.5\tno row\n");
    check_table();
    read_text("(raylet) " NODE "59.50GB / 62.25GB (0.95). Top 10 memory users: PID  MEM(GB) "
              "COMMAND\n(raylet) 4012  5.75  python run.py --x 1\n(raylet) 4331    2.25    "
              "ray::Env.step\n(raylet) something else\n(raylet) 5\n(raylet) 6\n(raylet) 7\n"
              "(raylet) 77 1.50 no row\n");
    check_table();
    /* no kill above it: nobody's table */
    read_text("PID MEM(GB) COMMAND\n4012 5.75 python run.py\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

#define W "(WorkerDict pid=7) "
#define OBSERVED                                                                                   \
    W "ERROR:[torch_memory] CUDA OOM on device 3: requested=4981391360 total=85031780352 "         \
      "free=1202716672; dumping allocator snapshot\n" W                                            \
      "ERROR:[torch_memory] Python stack at OOM:\n" W                                              \
      "  File \"/x/verl/workers/fsdp_workers.py\", line 812, in compute_log_prob\n" W              \
      "    f()\n" W                                                                                \
      "  File \"/x/verl/utils/torch_functional.py\", line 148, in entropy_from_logits\n" W         \
      "    g()\n" W "  File \"/x/verl/utils/profiler/torch_memory_profile.py\", line 9, in "       \
      "_on_out_of_memory\n" W                                                                      \
      "    logger.error(\"[torch_memory] Python stack at OOM:\\n%s\", x)\n" W                      \
      "ERROR:[torch_memory] allocator memory at OOM: {'total_memory_gb': 79.19, "                  \
      "'reserved_memory_gb': 76.0, 'allocated_memory_gb': 70.0, 'cached_memory_gb': 6.0}\n"

static void check_exact(const struct mt_log_fact *f)
{
    MT_CHECK_STR(mt_log_kind_name(f->kind), "torch_oom");
    MT_CHECK_EQ(f->gpu, 3);
    MT_CHECK_EQ(f->pid, 7);
    MT_CHECK_EQ(f->value[MT_LO_REQUEST], 4981391360);
    MT_CHECK_EQ(f->value[MT_LO_CAPACITY], 85031780352);
    MT_CHECK_EQ(f->value[MT_LO_FREE], 1202716672);
    MT_CHECK_EQ(f->value[MT_LO_RESERVED], 76 * GIB);
    MT_CHECK_EQ(f->value[MT_LO_UNALLOCATED], 6 * GIB);
    MT_CHECK(f->stack != 0);
    if (f->stack != 0) {
        const struct mt_log_stack *s = &l.stacks.p[f->stack - 1];
        MT_CHECK_EQ(s->frames.n, 2);
        MT_CHECK_STR(s->frames.p[s->frames.n - 1].function, "entropy_from_logits");
    }
}

MT_TEST(observer)
{
    read_text(OBSERVED);
    MT_CHECK_EQ(l.facts.n, 1);
    check_exact(fact(0));
    mt_log_done(&l);
    /* PyTorch's sentence of the same failure: one failure, with the exact bytes */
    read_text(OBSERVED W
              "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 3 has a "
              "total capacity of 79.19 GiB of which 1.12 GiB is free. Of the allocated memory "
              "70.00 GiB is allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but "
              "unallocated.\n");
    MT_CHECK_EQ(l.facts.n, 2);
    MT_CHECK_STR(kind(0), "torch_usage");
    MT_CHECK_EQ(fact(0)->value[2], 85031780352 - 1202716672);
    check_exact(fact(1));
    mt_log_done(&l);
    /* of another request: two failures */
    read_text(OBSERVED W "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. "
                         "GPU 3 has a total capacity of 79.19 GiB of which 1.12 GiB is free.\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check_exact(fact(0));
    MT_CHECK_EQ(fact(1)->value[MT_LO_REQUEST], 9 * GIB);
    mt_log_done(&l);
    read_text("[torch_memory] NPU OOM on device 1: requested=100 total_or_limit=900 free=50; x\n");
    MT_CHECK_EQ(fact(0)->platform, 'N');
    MT_CHECK_EQ(fact(0)->value[MT_LO_CAPACITY], 900);
    mt_log_done(&l);
}

MT_TEST(machine)
{
    read_text(
        "Linux gh200 6.8.0 aarch64\n  File \"/usr/lib/aarch64-linux-gnu/x.py\", line 1, in f\n");
    MT_CHECK_EQ(l.n_arm, 2);
    MT_CHECK_EQ(l.n_x86, 0);
    mt_log_done(&l);
    read_text("  File \"D:\\\\jobs\\\\fit.py\", line 1, in f\nat C:\\Users\\x\\y.py\nratio "
              "a:\\b\nx/y/z\n");
    MT_CHECK_EQ(l.n_windows, 2);
    MT_CHECK_EQ(l.n_unix, 0);
    mt_log_done(&l);
    read_text("  File \"/srv/jobs/fit.py\", line 1, in f\n 3/5 of http://x/y/z\n");
    MT_CHECK_EQ(l.n_windows, 0);
    MT_CHECK_EQ(l.n_unix, 1);
    mt_log_done(&l);
    read_text("Platform: Linux-5.15-x86_64-with-glibc2.35\n");
    MT_CHECK_EQ(l.n_arm, 0);
    MT_CHECK_EQ(l.n_x86, 1);
    mt_log_done(&l);
}

MT_TEST(lines_of_use)
{
    read_text("20260110-10:00:05.123 FSDPEngine Rank 2 INFO: Memory-Usage ppo update: memory "
              "allocated (GB): 20.50, memory reserved (GB): 24.50, device memory used/total (GB): "
              "30.25/79.00\n"
              "INFO:Memory usage [After actor update]: Total: 79.00 GB, Allocated: 70.50 GB, "
              "Reserved: 76.00 GB, Cached: 5.50 GB\n");
    MT_CHECK_EQ(l.facts.n, 2);
    MT_CHECK_STR(fact(0)->text, "ppo update");
    MT_CHECK_EQ(fact(0)->rank, 2);
    MT_CHECK_EQ(fact(0)->value[0], 41 * GIB / 2);
    MT_CHECK_EQ(fact(0)->value[3], 79 * GIB);
    MT_CHECK_STR(fact(1)->text, "After actor update");
    MT_CHECK_EQ(fact(1)->value[0], 141 * GIB / 2);
    MT_CHECK_EQ(fact(1)->value[1], 76 * GIB);
    MT_CHECK_EQ(fact(1)->value[2], MT_LOG_NONE);
    MT_CHECK_EQ(fact(1)->value[3], 79 * GIB);
    mt_log_done(&l);
}

MT_TEST(no_want_of_memory)
{
    read_text("RuntimeError: CUDA error: an illegal memory access was encountered\n");
    MT_CHECK_STR(kind(0), "illegal_access");
    mt_log_done(&l);
    read_text("(EngineCore pid=269) RuntimeError: Error in function 'aligned_alloc' at "
              "/w/allocator.h:49: Buffer overflow when allocating memory for batch_prefill_tmp_v "
              "with size 536346624 and alignment 16, but only 413138944 bytes available in "
              "AlignedAllocator. Increase the workspace buffer size.\n"
              "RuntimeError: Failed to allocate memory for batch_prefill_tmp_v with size 435814400 "
              "and alignment 16 in AlignedAllocator\n");
    MT_CHECK_EQ(l.facts.n, 2);
    MT_CHECK_STR(kind(0), "workspace");
    MT_CHECK_EQ(fact(0)->value[0], 536346624);
    MT_CHECK_EQ(fact(0)->value[1], 413138944);
    MT_CHECK_EQ(fact(1)->value[0], 435814400);
    MT_CHECK_EQ(fact(1)->value[1], MT_LOG_NONE);
    mt_log_done(&l);
    read_text("XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of "
              "memory in memory space hbm. Used 21.75G of 15.50G hbm.\n");
    MT_CHECK_STR(kind(0), "cuda_oom");
    MT_CHECK_EQ(fact(0)->platform, 'T');
    MT_CHECK_EQ(fact(0)->value[0], 87 * GIB / 4);
    MT_CHECK_EQ(fact(0)->value[1], 31 * GIB / 2);
    mt_log_done(&l);
}

/* llama.cpp: one failure, whichever of its lines were pasted, and what it was for. */
MT_TEST(llama_cpp)
{
    static const struct {
        const char *text;
        uint64_t bytes, what;
        int32_t gpu;
    } cases[] = {
        {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 512.00 MiB on device 3: "
         "cudaMalloc "
         "failed: out of memory\nalloc_tensor_range: failed to allocate CUDA3 buffer of size "
         "536870912\nllama_model_load: error loading model: unable to allocate CUDA3 buffer\n",
         512 * MIB, MT_LB_WEIGHTS, 3},
        {"ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 1048576\n", MIB,
         MT_LB_COMPUTE, 1},
        {"alloc_tensor_range: failed to allocate Vulkan0 buffer of size 1048576\n"
         "llama_init_from_model: failed to allocate buffer for kv cache\n",
         MIB, MT_LB_CACHE, 0},
        {"ggml_vulkan: Device memory allocation of size 1048576 failed.\n", MIB, MT_LOG_NONE, -1},
        {"Error: llama runner process has terminated: cudaMalloc failed: out of memory\n",
         MT_LOG_NONE, MT_LOG_NONE, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_text(cases[i].text);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_STR(kind(0), "cuda_oom");
        MT_CHECK_STR(fact(0)->text, "llama.cpp");
        MT_CHECK_EQ(fact(0)->value[0], cases[i].bytes);
        MT_CHECK_EQ(fact(0)->value[1], cases[i].what);
        MT_CHECK_EQ(fact(0)->gpu, cases[i].gpu);
        mt_log_done(&l);
    }
    read_text("alloc_tensor_range: failed to allocate CPU buffer of size 1048576\n"); /* the host */
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

/* Lines that are no fact, and tell what held the host's memory. A full bar has ended. */
MT_TEST(hints)
{
    read_text(
        "Loading checkpoint shards:  40%|####      | 2/5\nstep\nTime to load cpu_adam op: 2 s\n"
        "Map (num_proc=8): 100%|######| 9/9\nKilled\n");
    MT_CHECK_EQ(l.hint[MT_LH_LOAD], 1);
    MT_CHECK_EQ(l.hint[MT_LH_OFFLOAD], 3);
    MT_CHECK_EQ(l.hint[MT_LH_DATA], 0);
    MT_CHECK_EQ(l.hint[MT_LH_SPILL], 0);
    MT_CHECK_EQ(l.facts.n, 1);
    mt_log_done(&l);
    read_text(
        "Loading checkpoint shards: 100%|##########| 5/5\n(raylet) Spilled 9 MiB, 3 objects\n");
    MT_CHECK_EQ(l.hint[MT_LH_LOAD], 0);
    MT_CHECK_EQ(l.hint[MT_LH_SPILL], 2);
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

/* What lists, bars and steps say of it is that it is over, or never was. */
MT_TEST(hints_that_are_none)
{
    read_text("cpu_adam ............... [NO] ....... [OKAY]\n"
              "Loading safetensors checkpoint shards:  50% Completed | 2/4\n"
              "Loading safetensors checkpoint shards: 100% Completed | 4/4\nKilled\n");
    MT_CHECK_EQ(l.hint[MT_LH_OFFLOAD], 0);
    MT_CHECK_EQ(l.hint[MT_LH_LOAD], 0);
    mt_log_done(&l);
    read_text("Resuming from checkpoint-100\nLoading checkpoint shards:  40%|####| 2/5\n"
              "{'loss': 1.2, 'epoch': 1.01}\nKilled\n");
    MT_CHECK_EQ(l.hint[MT_LH_RESUME], 0);
    MT_CHECK_EQ(l.hint[MT_LH_LOAD], 0);
    mt_log_done(&l);
    read_text("***** Running training *****\nAttempting to resume from /x\n");
    MT_CHECK_EQ(l.hint[MT_LH_RESUME], 2);
    mt_log_done(&l);
    read_text("multi_modal_inputs of 512 samples\n");
    MT_CHECK_EQ(l.hint[MT_LH_IMAGES], 1);
    mt_log_done(&l);
}

MT_TEST(schedulers)
{
    static const struct {
        const char *text;
        enum mt_log_stop why;
    } cases[] = {
        {"slurmstepd: error: *** JOB 42 ON n7 CANCELLED AT 2026-05-01T10:00:00 DUE TO TIME LIMIT "
         "***\n",
         MT_LS_TIME},
        {"slurmstepd: error: *** STEP 42.0 ON n7 CANCELLED AT 2026-05-01T10:00:00 DUE TO "
         "PREEMPTION ***\n",
         MT_LS_PREEMPTED},
        {"srun: error: *** JOB 42 ON n7 CANCELLED AT 2026-05-01T10:00:00 DUE TO NODE FAILURE, SEE "
         "SLURMCTLD LOG FOR DETAILS ***\n",
         MT_LS_NODE},
        {"slurmstepd: error: *** JOB 42 ON n7 CANCELLED AT 2026-05-01T10:00:00 DUE TO JOB REQUEUE "
         "***\n",
         MT_LS_REQUEUED},
        {"slurmstepd: error: *** JOB 42 ON n7 CANCELLED AT 2026-05-01T10:00:00 ***\n",
         MT_LS_CANCELLED},
        {"slurmstepd: error: *** STEP 42.0 ON n7 CANCELLED AT 2026-05-01T10:00:00 ***\n",
         MT_LS_STEP},
        {"=>> PBS: job killed: walltime 3622 exceeded limit 3600\n", MT_LS_TIME},
        {"TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n", MT_LS_TIME},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_text(cases[i].text);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_STR(kind(0), "stopped");
        MT_CHECK_EQ(fact(0)->value[0], cases[i].why);
        mt_log_done(&l);
    }
    read_text("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n");
    MT_CHECK_STR(kind(0), "kernel_kill");
    mt_log_done(&l);
}

/* Programs that have no PyTorch, or lie beside it. */
MT_TEST(other_allocators)
{
#define TF "ResourceExhaustedError: OOM when allocating tensor with shape"
    static const struct {
        const char *text, *kind, *whose;
        uint64_t bytes;
        int32_t gpu;
    } cases[] = {
        {TF "[64,128,112] and type float on /job:a/device:GPU:1 by allocator GPU_1_bfc\n",
         "cuda_oom", "TensorFlow", (uint64_t)64 * 128 * 112 * 4, 1},
        {TF "[4,1024] and type half on /job:a/device:GPU:0 by allocator\n", "cuda_oom",
         "TensorFlow", 8192, 0},
        {TF "[] and type int64 on /job:a/device:GPU:0 by allocator\n", "cuda_oom", "TensorFlow", 8,
         0},
        {TF "[99999999999,99999999999] and type float on /device:GPU:0 by\n", "cuda_oom",
         "TensorFlow", MT_LOG_NONE, 0},
        {TF "[4,10\n", "cuda_oom", "TensorFlow", MT_LOG_NONE, -1},
        {TF "[1024] and type double on /job:a/device:CPU:0 by allocator cpu\n", "host_oom", "",
         8192, -1},
        {"cuda_device_api.cc:117: Check failed: e == cudaSuccess || e == cudaErrorCudartUnloading: "
         "CUDA: out of memory\n",
         "cuda_oom", "", MT_LOG_NONE, -1},
        {"NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory\n", "host_oom",
         "locked", MT_LOG_NONE, -1},
        {"k.cu:88: cudaMalloc failed: out of memory\n", "cuda_oom", "cudaMalloc", MT_LOG_NONE, -1},
        {"StandardGpuResources: alloc fail type FlatData dev 0 space Device stream 0x55d1 size "
         "1610612736 bytes (cudaMalloc error out of memory [2])\n",
         "cuda_oom", "FAISS", 1610612736, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_text(cases[i].text);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_STR(kind(0), cases[i].kind);
        MT_CHECK_STR(fact(0)->text, cases[i].whose);
        MT_CHECK_EQ(fact(0)->value[0], cases[i].bytes);
        MT_CHECK_EQ(fact(0)->gpu, cases[i].gpu);
        mt_log_done(&l);
    }
}

MT_MAIN(MT_RUN(hints_that_are_none) MT_RUN(schedulers) MT_RUN(other_allocators) MT_RUN(llama_cpp)
            MT_RUN(hints) MT_RUN(wrapped_by_a_terminal) MT_RUN(table_of_processes) MT_RUN(observer)
                MT_RUN(machine) MT_RUN(lines_of_use) MT_RUN(no_want_of_memory))
