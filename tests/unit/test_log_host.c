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
    MT_CHECK_EQ(mt_log_read(&l, src, mt_framework_log_packages(mt_test_frameworks()), &err), MT_OK);
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

MT_MAIN(MT_RUN(wrapped_by_a_terminal) MT_RUN(table_of_processes) MT_RUN(observer) MT_RUN(machine)
            MT_RUN(lines_of_use) MT_RUN(no_want_of_memory))
