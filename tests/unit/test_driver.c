/* The ledger: exact replay of recorded calls, sums that add up at every column and sample,
 * failures, sleep and wake, phases. */
#include "analysis/ledger/driver.h"
#include "tests/unit/build_driver.h"
#include "tests/unit/mt_test.h"
#include "analysis/phases/phases.h"
#include "frameworks.h"

static struct mt_phase_rules *rules;

static struct mt_driverdiag *make_with(const struct mt_trace *const *t, uint32_t n,
                                       const struct mt_claims *claims, uint32_t n_claims)
{
    struct mt_driverdiag_opts o = {.phases = rules};
    struct mt_driverdiag *j = NULL;
    struct mt_err err = {.rc = MT_OK};
    if (rules == NULL && mt_phase_rules_load(&rules, mt_test_frameworks(), NULL, 0, NULL, &err) < 0)
        abort();
    o.phases = rules;
    if (mt_driverdiag_make(&j, t, n, claims, n_claims, &o, &err) < 0)
        printf("# %s\n", err.msg);
    return j;
}
static struct mt_driverdiag *make(const struct mt_trace *t) { return make_with(&t, 1, NULL, 0); }

/* Every promise of docs/ledger.md that a reader can check. */
static void check_sums(const struct mt_driverdiag *j)
{
    for (uint32_t i = 0; i < j->ledgers.n; i++) {
        const struct mt_ledger *l = &j->ledgers.p[i];
        int64_t rows = 0, peak = 0, named_rows = 0;
        for (uint32_t c = 0; c < l->n_columns; c++) {
            const int64_t *by = l->by_holder + (size_t)c * MT_HOLD_COUNT;
            int64_t named = 0;
            for (int h = 0; h < MT_HOLD_OTHER; h++) {
                MT_CHECK(by[h] >= 0);
                named += by[h];
            }
            MT_CHECK_EQ(named, l->named[c]);
            if (l->used[c] != 0)
                MT_CHECK_EQ((int64_t)l->used[c],
                            named + by[MT_HOLD_OTHER] + by[MT_HOLD_UNEXPLAINED]);
            if (named > peak)
                peak = named;
        }
        MT_CHECK_EQ(peak, l->peak_named);
        for (uint32_t k = 0; k < l->checks.n; k++) {
            const struct mt_ledger_check *c = &l->checks.p[k];
            MT_CHECK_EQ((int64_t)c->used, (int64_t)(c->named + c->other) + c->unexplained);
        }
        for (uint32_t k = 0; k < l->rows.n; k++) {
            rows += l->rows.p[k].bytes;
            if (l->rows.p[k].holder < MT_HOLD_OTHER)
                named_rows += l->rows.p[k].bytes;
        }
        MT_CHECK_EQ(named_rows, l->focus_named);
        if (l->focus_used != 0)
            MT_CHECK_EQ(rows, l->focus_used);
    }
    for (uint32_t i = 0; i < j->reconciled.n; i++)
        MT_CHECK(j->reconciled.p[i].adds_up);
}

static int64_t row_bytes(const struct mt_ledger *l, enum mt_holder h, const char *library)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < l->rows.n; i++)
        if (l->rows.p[i].holder == h &&
            (library == NULL ||
             (l->rows.p[i].library != NULL && strcmp(l->rows.p[i].library, library) == 0)))
            sum += l->rows.p[i].bytes;
    return sum;
}

static struct bd one_process(void)
{
    struct bd x = bd_new();
    uint32_t g = bd_gpu(&x, "node1", "GPU-1", 80 * BD_GIB);
    (void)bd_process(&x, "node1", 4711, "train", 3, g);
    return x;
}

MT_TEST(owners_and_frees)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 100, BD_TORCH);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 200, BD_CUBLAS);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x3000, 400, "flash_attn_2_cuda.so:fwd|python3:main");
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x4000, 800, NULL);
    (void)bd_call(&x, MT_WO_ASYNC_ALLOC, 0x5000, 1600, BD_TORCH);
    (void)bd_call(&x, MT_WO_MEM_FREE, 0x1000, 0, NULL);
    (void)bd_call(&x, MT_WO_MEM_FREE, 0x9999, 0, NULL);               /* never seen allocated */
    (void)bd_call(&x, MT_WO_MEM_FREE, 0, 0, NULL);                    /* cudaFree(NULL) */
    bd_call(&x, MT_WO_MEM_ALLOC, 0x6000, 3200, BD_TORCH)->result = 1; /* failed: no effect */
    /* the free of 0x2000 was lost */
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 6400, BD_CUBLAS);
    (void)bd_call(&x, MT_WO_MANAGED_ALLOC, 0x7000, 12800, BD_TORCH);
    (void)bd_call(&x, MT_WO_HOST_ALLOC, 0x8000, 25600, BD_TORCH);
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_CHECK_EQ(j->ledgers.n, 1);
    MT_CHECK_EQ(j->ledgers.p[0].peak_named, 400 + 800 + 1600 + 6400);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_TORCH, NULL), 1600);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_MATH, "libcublas.so.12"), 6400);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_LIBRARY, "flash_attn_2_cuda.so"), 400);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_UNKNOWN, NULL), 800);
    MT_CHECK_EQ(j->ledgers.p[0].managed_peak, 12800);
    MT_CHECK_EQ(j->processes.p[0].pinned_peak, 25600);
    MT_CHECK_EQ(j->processes.p[0].n_unmatched_frees, 1);
    MT_CHECK_EQ(j->processes.p[0].n_lost_frees, 1);
    MT_CHECK_EQ(j->processes.p[0].n_failed, 1);
    MT_CHECK_EQ(j->kind, MT_V_PEAK);
    MT_CHECK_STR(j->ledgers.p[0].name, "GPU 0 of node1 (NVIDIA H100, 80.00 GiB)");
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(handles_are_counted_by_reference)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    /* NCCL: created, mapped, released while mapped, retained under another name, unmapped, released
     */
    (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 1000, 7, BD_NCCL);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x100000, 1000, 7, NULL);
    (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 7, NULL);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1, 5, BD_TORCH); /* 1005 held */
    (void)bd_vmm(&x, MT_WO_VMM_RETAIN, 0x100000, 0, 8, NULL);
    (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 8, NULL);
    (void)bd_vmm(&x, MT_WO_VMM_UNMAP, 0x100000, 1000, 0, NULL); /* 5 held */
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2, 7, BD_TORCH);
    /* mapped twice: held once, until the last of the three goes */
    (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 2000, 9, BD_CUMEM);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x200000, 2000, 9, NULL);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x300000, 2000, 9, NULL);
    (void)bd_vmm(&x, MT_WO_VMM_UNMAP, 0x200000, 2000, 0, NULL);
    (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 9, NULL);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x3, 3000, BD_TORCH); /* 5015 held, the peak */
    (void)bd_vmm(&x, MT_WO_VMM_UNMAP, 0x300000, 2000, 0, NULL);
    /* host memory and memory of others are not the device's */
    bd_vmm(&x, MT_WO_VMM_CREATE, 0, 9000, 10, BD_NCCL)->location = 3;
    (void)bd_vmm(&x, MT_WO_VMM_IMPORT, 0, 9000, 11, BD_NCCL);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x400000, 9000, 11, NULL);
    (void)bd_call(&x, MT_WO_IPC_OPEN, 0x500000, 9000, BD_NCCL);
    (void)bd_call(&x, MT_WO_MEM_FREE, 0x500000, 0, NULL); /* a pool's pointer, a mapped buffer */
    bd_vmm(&x, MT_WO_ARRAY_CREATE, 0, 0, 12, BD_NCCL)->cbid = 487;
    (void)bd_vmm(&x, MT_WO_ARRAY_DESTROY, 0, 0, 12, NULL);
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_CHECK_EQ(j->ledgers.p[0].peak_named, 5 + 7 + 2000 + 3000);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_ENGINE, "cumem_allocator.abi3.so"), 2000);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_NCCL, NULL), 0);
    MT_CHECK_EQ(j->processes.p[0].pinned_peak, 9000);
    MT_CHECK_EQ(j->processes.p[0].n_imported, 2);
    MT_CHECK_EQ(j->processes.p[0].n_unmatched_frees, 0);
    MT_CHECK_STR(mt_driver_call_words(MT_WO_VMM_IMPORT, 555), "cuMemImportFromShareableHandle");
    MT_CHECK_STR(mt_driver_call_words(MT_WO_VMM_IMPORT, 485), "cuImportExternalMemory");
    MT_CHECK_STR(mt_driver_call_words(MT_WO_POOL_CREATE, 0), "cuMemPoolCreate");
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(samples_and_other_processes)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    const struct mt_ledger *l;
    bd_sample(&x, 0, 500, MT_WY_START);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 1000, BD_TORCH);
    bd_sample(&x, 0, 2500, MT_WY_PERIODIC);
    bd_use(&x, 4711, 1800);
    bd_use(&x, 99, 600);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 4000, BD_TORCH);
    (void)bd_call(&x, MT_WO_MEM_FREE, 0x1000, 0, NULL);
    bd_sample(&x, 0, 900, MT_WY_PERIODIC); /* less than is recorded: shown as it is */
    bd_use(&x, 4711, 900);
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    l = &j->ledgers.p[0];
    MT_ASSERT(l->checks.n == 3);
    MT_CHECK_EQ(l->checks.p[0].unexplained, 500);
    MT_CHECK_EQ(l->checks.p[1].other, 600);
    MT_CHECK_EQ(l->checks.p[1].unexplained, 2500 - 1000 - 600);
    MT_CHECK_EQ(l->checks.p[2].unexplained, 900 - 4000);
    MT_CHECK_EQ(l->max_unexplained, 3100);
    MT_CHECK_EQ(l->peak_used, 2500);
    /* at the peak the last sample was the second: what came since is added to it */
    MT_CHECK_EQ(l->focus_named, 5000);
    MT_CHECK_EQ(l->focus_used, 6500);
    MT_CHECK_EQ(row_bytes(l, MT_HOLD_OTHER, NULL), 600);
    MT_CHECK_EQ(row_bytes(l, MT_HOLD_UNEXPLAINED, NULL), 900);
    MT_CHECK(!l->foreign_pids);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(pid_namespaces_are_noticed)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 1000, BD_TORCH);
    bd_sample(&x, 0, 1500, MT_WY_PERIODIC);
    bd_use(&x, 123456, 1500); /* us, by another number */
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_CHECK(j->ledgers.p[0].foreign_pids);
    MT_CHECK_EQ(j->ledgers.p[0].checks.p[0].other, 0);
    MT_CHECK_EQ(j->ledgers.p[0].checks.p[0].unexplained, 500);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(contexts_graphs_and_their_end)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    struct mt_call *c = bd_call(&x, MT_WO_CONTEXT_RETAIN, 0, 0, BD_TORCH);
    c->has_change = 1;
    c->change = 500;
    c = bd_call(&x, MT_WO_GRAPH_INSTANTIATE, 0, 0, BD_TORCH);
    c->has_change = 1;
    c->change = 70;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 1000, BD_TORCH);
    c = bd_call(&x, MT_WO_GRAPH_EXEC_DESTROY, 0, 0, BD_TORCH);
    c->has_change = 1;
    c->change = -90; /* more than was measured to come: never below zero */
    c = bd_call(&x, MT_WO_CONTEXT_RELEASE, 0, 0, BD_TORCH);
    c->has_change = 1;
    c->change = -1500; /* the context and the allocation in it */
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 33, BD_TORCH);
    bd_sample(&x, 0, 100, MT_WY_PERIODIC);
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_CHECK_EQ(j->ledgers.p[0].peak_named, 1570);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_CONTEXT, NULL), 500);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_GRAPHS, NULL), 70);
    MT_CHECK_EQ(j->ledgers.p[0].checks.p[0].named, 33);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

/* Code is in no sum, and is told beside what no call says: of whom, and by how much that grew
 * around its loading. */
MT_TEST(code_that_no_call_says_the_size_of)
{
    struct bd x = one_process();
    const struct mt_ledger *l;
    struct mt_trace *t;
    struct mt_driverdiag *j;
    char words[MT_CODE_WORDS];
    static const struct {
        enum mt_wire_op op;
        uint64_t context, module, image;
        const char *stack;
    } code[] = {
        {MT_WO_CODE_LOAD, 0x10, 1, 6 << 20, BD_TORCH}, {MT_WO_CODE_LOAD, 0x10, 2, 5 << 20, BD_NCCL},
        {MT_WO_CODE_LOAD, 0x10, 3, 4 << 20, BD_TORCH}, {MT_WO_CODE_UNLOAD, 0x10, 3, 4 << 20, NULL},
        {MT_WO_CODE_UNLOAD, 0x10, 9, 1, NULL},          /* older than the recording */
        {MT_WO_CODE_LOAD, 0x10, 2, 5 << 20, BD_NCCL},   /* the number again */
        {MT_WO_CODE_LOAD, 0x20, 1, 3 << 20, BD_TORCH}}; /* goes with its context */
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 100 << 20, BD_TORCH);
    bd_sample(&x, 0, 500 << 20, MT_WY_PERIODIC);
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) {
        struct mt_call *c = bd_call(&x, code[i].op, 0, code[i].image, code[i].stack);
        c->handle = code[i].module;
        c->context = code[i].context;
    }
    bd_call(&x, MT_WO_CONTEXT_DESTROY, 0, 0, BD_TORCH)->handle = 0x20;
    bd_sample(&x, 0, 520 << 20, MT_WY_PERIODIC);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 100 << 20, BD_TORCH);
    bd_sample(&x, 0, 650 << 20, MT_WY_PERIODIC); /* 30 more, by whatever: no code came */
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    l = &j->ledgers.p[0];
    MT_CHECK_EQ(l->focus_unexplained, 450 << 20);
    MT_CHECK_EQ(l->focus_named, 200 << 20);
    MT_CHECK_EQ(l->code.n, 2);
    MT_CHECK(l->code.p[0].holder == MT_HOLD_TORCH && l->code.p[0].n == 1 &&
             l->code.p[0].image == 6 << 20);
    MT_CHECK(l->code.p[1].holder == MT_HOLD_NCCL && l->code.p[1].n == 1 &&
             l->code.p[1].image == 5 << 20);
    MT_CHECK_EQ(l->code_grew, 20 << 20);
    MT_CHECK_STR(
        mt_ledger_code_words(l, words),
        "Code is in what is unexplained: 2 modules of 11.0 MiB as images (the device takes "
        "more or less), most of it first launched by PyTorch; 20.0 MiB came between the "
        "samples around its loading.");
    MT_CHECK_EQ(j->processes.p[0].n_lost_frees + j->processes.p[0].n_unmatched_frees, 0);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

/* A job of two processes on one GPU, driven by a third without one: rank 3's NCCL fails during
 * update_weights. */
static struct mt_trace *oom_job(void)
{
    struct bd x = bd_new();
    uint32_t g = bd_gpu(&x, "node7", "GPU-a", 80 * BD_GIB), guide, engine, train;
    uint64_t at;
    guide = bd_process(&x, "node7", 1, "verl.trainer.main_ppo", -1, MT_NONE32);
    engine = bd_process(&x, "node7", 50, "vllm.engine", -1, g);
    x.d->processes.p[engine].end = MT_END_RUNNING;
    for (unsigned i = 0; i < 10; i++) {
        (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 3 * BD_GIB, 100 + i, BD_CUMEM);
        (void)bd_vmm(&x, MT_WO_VMM_MAP, BD_GIB * (1000 + 4 * i), 3 * BD_GIB, 100 + i, BD_CUMEM);
    }
    train = bd_process(&x, "node7", 4711, "verl.workers", 3, g);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x7000000000, 41 * BD_GIB, BD_TORCH);
    /* PyTorch: refused, gives back its cache, gets it */
    bd_call(&x, MT_WO_MEM_ALLOC, 0, 8 * BD_GIB, BD_TORCH)->result = 2;
    x.process = engine;
    for (unsigned i = 0; i < 4; i++) {
        (void)bd_vmm(&x, MT_WO_VMM_UNMAP, BD_GIB * (1000 + 4 * i), 3 * BD_GIB, 0, BD_CUMEM);
        (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 100 + i, BD_CUMEM);
    }
    x.process = train;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x6000000000, 8 * BD_GIB, BD_TORCH);
    x.now += 2 * BD_S;
    at = x.now;
    x.process = engine;
    for (unsigned i = 0; i < 4; i++) {
        (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 3 * BD_GIB, 200 + i, BD_CUMEM);
        (void)bd_vmm(&x, MT_WO_VMM_MAP, BD_GIB * (1000 + 4 * i), 3 * BD_GIB, 200 + i, BD_CUMEM);
    }
    x.process = train;
    bd_vmm(&x, MT_WO_VMM_CREATE, 0, 512 * BD_MIB, 0, BD_NCCL)->result = 2;
    bd_sample(&x, g, 80 * BD_GIB - 210 * BD_MIB, MT_WY_OOM);
    bd_use(&x, 4711, 50 * BD_GIB);
    bd_use(&x, 50, 30 * BD_GIB);
    x.process = guide;
    bd_range(&x, "step", BD_T0, x.now + BD_S);
    bd_range(&x, "gen", BD_T0, at - BD_S);
    bd_range(&x, "update_weights", at - BD_S / 2, 0);
    return bd_done(&x);
}

MT_TEST(failures_and_the_sentence)
{
    struct mt_trace *t = oom_job();
    struct mt_driverdiag *j = make(t);
    const struct mt_driver_oom *o;
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_ASSERT(j->ooms.n == 2);
    MT_CHECK(j->ooms.p[0].survived);
    MT_CHECK_EQ(j->n_survived, 1);
    MT_CHECK_EQ(j->kind, MT_V_OOM);
    MT_CHECK_EQ(j->oom, 1);
    o = &j->ooms.p[1];
    MT_CHECK(o->is_fatal && !o->survived && !o->in_wake);
    MT_CHECK_EQ(o->who, MT_HOLD_NCCL);
    MT_CHECK_EQ(o->phase, MT_PH_WEIGHT_SYNC);
    MT_CHECK_EQ(o->free, 210 * BD_MIB);
    MT_CHECK_STR(mt_str(t, o->phase_mark), "update_weights");
    MT_CHECK_STR(j->sentence,
                 "Rank 3 (verl.workers, pid 4711) on GPU 0 of node7 ran out of GPU memory during "
                 "weight sync (update_weights): "
                 "NCCL (libnccl.so.2) asked the driver for 512.0 MiB and the device had 210.0 MiB "
                 "free of 80.00 GiB: PyTorch "
                 "holds 49.00 GiB, engine pools 30.00 GiB, everything else 814.0 MiB.");
    MT_CHECK_HAS(j->because, "Device used 79.79 GiB = 79.00 GiB by recorded calls + 0 B of other "
                             "processes + 814.0 MiB unexplained.");
    MT_CHECK_HAS(j->because, "49.00 GiB of it belongs to the process that failed.");
    MT_CHECK_HAS(
        j->because,
        "The call was cuMemCreate in ncclCommInitRank, called from c10d::init (libtorch_cuda.so)");
    MT_CHECK_HAS(j->because, "This failure leaves no trace in a PyTorch snapshot.");
    MT_CHECK(j->ledgers.p[0].focus_is_oom);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(sleep_and_wake)
{
    struct mt_trace *t = oom_job();
    struct mt_driverdiag *j = make(t);
    MT_ASSERT(j != NULL);
    MT_ASSERT(j->sleeps.n == 3);
    MT_CHECK(j->sleeps.p[0].is_wake && !j->sleeps.p[1].is_wake && j->sleeps.p[2].is_wake);
    MT_CHECK_EQ(j->sleeps.p[0].bytes, 30 * BD_GIB);
    MT_CHECK_EQ(j->sleeps.p[1].bytes, 12 * BD_GIB);
    MT_CHECK_EQ(j->sleeps.p[1].left, 18 * BD_GIB);
    MT_CHECK_EQ(j->sleeps.p[2].left, 30 * BD_GIB);
    MT_CHECK_EQ(j->sleeps.p[1].n_calls, 4);
    MT_CHECK_EQ(j->sleeps.p[1].who, MT_HOLD_ENGINE);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(phases_of_the_job)
{
    struct mt_trace *t = oom_job();
    struct mt_driverdiag *j = make(t);
    bool saw_gen = false, saw_sync = false;
    MT_ASSERT(j != NULL);
    MT_ASSERT(j->phases.n == 2); /* "step" is no phase */
    MT_CHECK_EQ(j->phases.p[0].phase, MT_PH_ROLLOUT_GENERATE);
    MT_CHECK_EQ(j->phases.p[0].peak_named, 71 * BD_GIB);
    MT_CHECK_EQ(j->phases.p[1].phase, MT_PH_WEIGHT_SYNC);
    MT_CHECK_EQ(j->phases.p[1].peak_named, 79 * BD_GIB);
    for (uint32_t c = 0; c < j->ledgers.p[0].n_columns; c++) {
        saw_gen |= j->ledgers.p[0].phase[c] == MT_PH_ROLLOUT_GENERATE;
        saw_sync |= j->ledgers.p[0].phase[c] == MT_PH_WEIGHT_SYNC;
    }
    MT_CHECK(saw_gen && saw_sync);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

/* Which failures count as survived. */
MT_TEST(survival)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    /* asks again for less: not the same */
    bd_call(&x, MT_WO_MEM_ALLOC, 0, 4000, BD_TORCH)->result = 2;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 2000, BD_TORCH);
    x.now += 40 * BD_S;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 10, BD_TORCH);    /* ... but it goes on */
    bd_call(&x, MT_WO_MEM_ALLOC, 0, 5000, BD_TORCH)->result = 2; /* first try */
    (void)bd_call(&x, MT_WO_MEM_FREE, 0x1000, 0, NULL);
    bd_call(&x, MT_WO_MEM_ALLOC, 0, 5000, BD_TORCH)->result = 2; /* after release: the end */
    bd_mem_info(&x, 1234, 80 * BD_GIB);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x3000, 5, BD_CUBLAS);
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_ASSERT(j->ooms.n == 3);
    MT_CHECK(j->ooms.p[0].survived);
    MT_CHECK(!j->ooms.p[1].survived && !j->ooms.p[2].survived);
    MT_CHECK(!j->ooms.p[1].is_fatal && j->ooms.p[2].is_fatal);
    MT_CHECK_EQ(j->ooms.p[1].free, 0);
    MT_CHECK_EQ(j->ooms.p[2].free, 1234);
    MT_CHECK_EQ(j->ledgers.p[0].focus_named, 10);
    MT_CHECK(strstr(j->sentence, "no trace") == NULL);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

/* A process that tried less and ended well has survived, although it went on for less than half a
 * minute. */
MT_TEST(ended_well)
{
    for (int status = 0; status < 2; status++) {
        for (unsigned went_on = 0; went_on < 2; went_on++) {
            struct bd x = one_process();
            struct mt_trace *t;
            struct mt_driverdiag *j;
            x.d->processes.p[0].end = MT_END_STATUS;
            x.d->processes.p[0].end_status = status;
            bd_call(&x, MT_WO_MEM_ALLOC, 0, 4000, BD_TORCH)->result = 2;
            if (went_on != 0)
                (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 2000, BD_TORCH);
            t = bd_done(&x);
            j = make(t);
            MT_ASSERT(j != NULL && j->ooms.n == 1);
            MT_CHECK_EQ(j->ooms.p[0].survived, status == 0 && went_on != 0);
            MT_CHECK_EQ(j->kind == MT_V_OOM, status != 0 || went_on == 0);
            mt_driverdiag_free(j);
            mt_trace_free(t);
        }
    }
}

/* Two contexts begin together: each is measured with the other inside, and both count once. */
MT_TEST(measured_beside_others)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    struct mt_call *c;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 1000, BD_TORCH);
    x.now += BD_S;
    c = bd_call(&x, MT_WO_CONTEXT_RETAIN, 0, 0, BD_TORCH);
    c->has_change = 1;
    c->change = 500;
    c->dur_ns = 300000000;
    x.d->processes.p[0].end = MT_END_RUNNING;
    (void)bd_process(&x, "node1", 4712, "next", 4, 0);
    x.now += BD_S / 10;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 70, BD_NCCL);
    c = bd_call(&x, MT_WO_CONTEXT_RETAIN, 0, 0, BD_TORCH);
    c->has_change = 1;
    c->change = 500 + 70 + 400;
    c->dur_ns = 300000000;
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_CHECK_EQ(j->ledgers.p[0].peak_named, 1000 + 500 + 70 + 400);
    MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_CONTEXT, NULL), 900);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

/* What is held when a burst of unmaps is over, not when the process is, and not after a free of
 * something else. Physical memory that is released after the unmaps belongs to it. */
MT_TEST(held_after_a_burst)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 1000, BD_TORCH);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 500, BD_TORCH);
    for (unsigned i = 0; i < 4; i++) {
        (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 100, 10 + i, BD_TORCH);
        (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x100000 + 100 * i, 100, 10 + i, BD_TORCH);
    }
    for (unsigned i = 0; i < 3; i++)
        (void)bd_vmm(&x, MT_WO_VMM_UNMAP, 0x100000 + 100 * i, 100, 0, BD_TORCH);
    for (unsigned i = 0; i < 3; i++)
        (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 10 + i, BD_TORCH);
    (void)bd_call(&x, MT_WO_MEM_FREE, 0x2000, 0, BD_TORCH);
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL && j->sleeps.n == 2);
    MT_CHECK(!j->sleeps.p[1].is_wake);
    MT_CHECK_EQ(j->sleeps.p[1].left, 1000 + 500 + 100);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

/* Who held the GPU when memory ran out is not changed by what another process gives back before the
 * device is asked. */
MT_TEST(held_at_the_failure)
{
    for (unsigned gives_back = 0; gives_back < 2; gives_back++) {
        struct bd x = one_process();
        struct mt_trace *t;
        struct mt_driverdiag *j;
        const struct mt_driver_oom *o;
        uint32_t engine = bd_process(&x, "node1", 50, "engine", -1, 0);
        x.d->processes.p[engine].end = MT_END_RUNNING;
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 30 * BD_GIB, BD_CUMEM);
        x.process = 0;
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 40 * BD_GIB, BD_TORCH);
        bd_call(&x, MT_WO_MEM_ALLOC, 0, 20 * BD_GIB, BD_TORCH)->result = 2;
        x.process = engine;
        if (gives_back)
            (void)bd_call(&x, MT_WO_MEM_FREE, 0x1000, 0, BD_CUMEM);
        x.process = 0;
        bd_sample(&x, 0, gives_back ? 41 * BD_GIB : 71 * BD_GIB, MT_WY_OOM);
        t = bd_done(&x);
        j = make(t);
        MT_ASSERT(j != NULL && j->ooms.n == 1);
        check_sums(j);
        o = &j->ooms.p[0];
        MT_CHECK_EQ(o->held[MT_HOLD_ENGINE], 30 * BD_GIB);
        MT_CHECK_EQ(o->held[MT_HOLD_TORCH], 40 * BD_GIB);
        /* the sample is of another moment */
        MT_CHECK_EQ(o->held[MT_HOLD_UNEXPLAINED], gives_back ? 0 : BD_GIB);
        MT_CHECK_EQ(o->free, gives_back ? 0 : 9 * BD_GIB);
        MT_CHECK_EQ(row_bytes(&j->ledgers.p[0], MT_HOLD_ENGINE, NULL), 30 * BD_GIB);
        mt_driverdiag_free(j);
        mt_trace_free(t);
    }
}

/* Steps of an update that each keep so many MiB more, and one in which memory runs out. */
static struct mt_driverdiag *steps(const unsigned *keeps, unsigned n, bool gives_back,
                                   struct mt_trace **t)
{
    struct bd x = one_process();
    for (unsigned i = 0; i < n; i++) {
        uint64_t t0 = x.now + BD_MS / 2;
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000 + i * 0x1000, keeps[i] * BD_MIB, BD_TORCH);
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x800, 20 * BD_GIB, BD_TORCH);
        (void)bd_call(&x, MT_WO_MEM_FREE, 0x800, 0, NULL);
        bd_range(&x, "update_actor", t0, x.now + BD_MS / 2);
    }
    bd_range(&x, "update_actor", x.now + BD_MS / 2, x.now + 9 * BD_MS);
    if (gives_back)
        (void)bd_call(&x, MT_WO_MEM_FREE, 0x2000, 0, NULL);
    bd_call(&x, MT_WO_MEM_ALLOC, 0, 60 * BD_GIB, BD_TORCH)->result = 2;
    *t = bd_done(&x);
    return make(*t);
}

MT_TEST(growth_by_steps)
{
    static const struct {
        unsigned keeps[5], n;
        bool gives_back;
        uint32_t found;
    } cases[] = {
        /* whatever the first one set up */
        {{30000, 3000, 3000, 3000, 3000}, 5, false, 4},
        /* too few */
        {{30000, 3000, 3000, 3000}, 4, false, 3},
        {{30000, 3000, 3000}, 3, false, 0},
        /* one step without */
        {{30000, 3000, 3000, 0, 3000}, 5, false, 0},
        /* as larger batches have it */
        {{30000, 3000, 1000, 5000, 9000}, 5, false, 0},
        /* next to nothing */
        {{30000, 3000, 30, 30, 30}, 5, false, 0},
        /* it was not kept */
        {{30000, 3000, 3000, 3000, 3000}, 5, true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mt_trace *t;
        struct mt_driverdiag *j = steps(cases[i].keeps, cases[i].n, cases[i].gives_back, &t);
        MT_ASSERT(j != NULL && j->kind == MT_V_OOM);
        check_sums(j);
        MT_CHECK_EQ(j->growth.n, cases[i].found);
        if (i == 0) {
            MT_CHECK_EQ(j->growth.who, MT_HOLD_TORCH);
            MT_CHECK_EQ(j->growth.first, 33000 * BD_MIB);
            MT_CHECK_EQ(j->growth.last, 42000 * BD_MIB);
            MT_CHECK_HAS(j->because, "After each of the last 4 update_actor before it (the first "
                                     "is left out) PyTorch held more");
        }
        mt_driverdiag_free(j);
        mt_trace_free(t);
    }
}

/* The same where nothing fails: said, once there are enough of them. Each update is much shorter
 * than a column of the report, and what follows it is as long as several; the sentence has the
 * phase of the instant all the same. */
MT_TEST(growth_without_a_failure)
{
    for (unsigned n = 6; n <= 7; n++) {
        struct bd x = one_process();
        struct mt_trace *t;
        struct mt_driverdiag *j;
        for (unsigned i = 0; i < n; i++) {
            uint64_t t0 = x.now + BD_MS / 2;
            (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000 + i * 0x1000, (i == 0 ? 3000 : 600) * BD_MIB,
                          BD_NCCL);
            (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x800, 20 * BD_GIB, BD_TORCH);
            (void)bd_call(&x, MT_WO_MEM_FREE, 0x800, 0, NULL);
            bd_range(&x, "update_actor", t0, x.now + BD_MS / 2);
            bd_range(&x, "update_weights", x.now + BD_MS / 2, x.now + 5000 * BD_MS);
            x.now += 5000 * BD_MS;
        }
        t = bd_done(&x);
        j = make(t);
        MT_ASSERT(j != NULL && j->kind == MT_V_PEAK);
        check_sums(j);
        MT_CHECK_HAS(j->sentence, "No allocation failed");
        MT_CHECK_HAS(j->sentence, " during actor update: PyTorch holds 20.00 GiB, NCCL ");
        MT_CHECK_HAS(j->because, " were left there: what fails next would be in that phase.");
        MT_CHECK_EQ(j->growth.n, n == 7 ? 6 : 0);
        MT_CHECK_EQ(
            strstr(
                j->because,
                "After each of the last 6 update_actor (the first is left out) NCCL held more: ") !=
                NULL,
            n == 7);
        mt_driverdiag_free(j);
        mt_trace_free(t);
    }
}

/* What is lost may have failed. */
MT_TEST(no_verdict_on_what_is_lost)
{
    for (int lost = 0; lost < 3; lost++) {
        struct bd x = one_process();
        struct mt_trace *t;
        struct mt_driverdiag *j;
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 20 * BD_GIB, BD_TORCH);
        x.d->processes.p[0].n_dropped = lost == 1 ? 900 : 0;
        x.d->processes.p[0].n_missing = lost == 2 ? 1 : 0;
        t = bd_done(&x);
        j = make(t);
        MT_ASSERT(j != NULL && j->kind == MT_V_PEAK);
        if (lost == 0) {
            MT_CHECK_HAS(j->sentence, "No allocation failed: ");
            MT_CHECK_HAS(j->because, "(75 %) were left there.");
        } else {
            MT_CHECK_HAS(j->sentence, "are lost, so whether an allocation failed is not known; in "
                                      "what was recorded, ");
            MT_CHECK(strstr(j->sentence, "No allocation failed") == NULL);
            MT_CHECK(strstr(j->because, "were left") == NULL);
        }
        mt_driverdiag_free(j);
        mt_trace_free(t);
    }
}

/* An engine wakes once it has slept: what it maps first, it loads. */
MT_TEST(a_wake_follows_a_sleep)
{
    for (unsigned slept = 0; slept < 2; slept++) {
        struct bd x = one_process();
        struct mt_trace *t;
        struct mt_driverdiag *j;
        for (unsigned i = 0; i < 3; i++) {
            (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, BD_GIB, 10 + i, BD_CUMEM);
            (void)bd_vmm(&x, MT_WO_VMM_MAP, BD_GIB * (100 + i), BD_GIB, 10 + i, BD_CUMEM);
        }
        for (unsigned i = 0; slept && i < 3; i++) {
            (void)bd_vmm(&x, MT_WO_VMM_UNMAP, BD_GIB * (100 + i), BD_GIB, 0, BD_CUMEM);
            (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 10 + i, BD_CUMEM);
        }
        /* before anything is mapped again */
        bd_vmm(&x, MT_WO_VMM_CREATE, 0, BD_GIB, 0, BD_CUMEM)->result = 2;
        t = bd_done(&x);
        j = make(t);
        MT_ASSERT(j != NULL && j->ooms.n == 1);
        MT_CHECK_EQ(j->ooms.p[0].in_wake, slept != 0);
        mt_driverdiag_free(j);
        mt_trace_free(t);
    }
}

/* A reservation counts as not mapped where nothing is mapped, whoever's memory is. */
MT_TEST(reserved_and_not_mapped)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    (void)bd_call(&x, MT_WO_VMM_RESERVE, 0x10000, 1000, BD_NCCL);
    (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 300, 1, BD_NCCL);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x10000, 300, 1, BD_NCCL);
    bd_vmm(&x, MT_WO_VMM_CREATE, 0, 200, 2, BD_NCCL)->location = 3; /* of the host */
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x10000 + 300, 200, 2, BD_NCCL);
    (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 50, 3, BD_TORCH);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x90000, 50, 3, BD_TORCH); /* elsewhere */
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    for (uint32_t i = 0; i < j->ledgers.p[0].rows.n; i++)
        MT_CHECK_EQ(j->ledgers.p[0].rows.p[i].reserved_va,
                    j->ledgers.p[0].rows.p[i].holder == MT_HOLD_NCCL ? 500 : 0);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(same_process_in_two_traces_counts_once)
{
    struct mt_trace *a = oom_job(), *b = oom_job();
    const struct mt_trace *both[2] = {a, b};
    struct mt_driverdiag *j = make_with(both, 2, NULL, 0);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_CHECK_EQ(j->ledgers.n, 1);
    MT_CHECK_EQ(j->processes.n, 3);
    MT_CHECK_EQ(j->ledgers.p[0].peak_named, 79 * BD_GIB);
    mt_driverdiag_free(j);
    mt_trace_free(a);
    mt_trace_free(b);
}

MT_TEST(a_process_that_ends_holds_nothing)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 1000, BD_TORCH);
    x.now += BD_S;
    (void)bd_process(&x, "node1", 4712, "next", 4, 0);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 600, BD_TORCH); /* same address, another process */
    x.now += BD_S;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x3000, 200, BD_TORCH);
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    MT_CHECK_EQ(j->ledgers.p[0].peak_named, 1000);
    MT_CHECK_EQ(j->processes.p[1].peak, 800);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

/* The driver gives memory back after the last record of a process: while another one sees it
 * listed, it is there. */
MT_TEST(a_process_that_is_listed_is_still_there)
{
    for (int listed = 0; listed < 2; listed++) {
        struct bd x = one_process();
        struct mt_trace *t;
        struct mt_driverdiag *j;
        const struct mt_ledger *l;
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 1000, BD_TORCH);
        (void)bd_process(&x, "node1", 4712, "next", 4, 0);
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 600, BD_TORCH);
        x.now += BD_S;
        bd_sample(&x, 0, listed ? 1600 : 600, MT_WY_PERIODIC);
        bd_use(&x, 4712, 600);
        bd_use(&x, 4711, listed ? 1000 : 0);
        x.now += BD_S;
        bd_sample(&x, 0, 600, MT_WY_PERIODIC);
        bd_use(&x, 4712, 600);
        (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x3000, 200, BD_TORCH);
        t = bd_done(&x);
        j = make(t);
        MT_ASSERT(j != NULL);
        check_sums(j);
        l = &j->ledgers.p[0];
        MT_ASSERT(l->checks.n == 2);
        MT_CHECK_EQ(l->checks.p[0].named, listed ? 1600 : 600);
        MT_CHECK_EQ(l->checks.p[0].unexplained, 0);
        MT_CHECK_EQ(l->checks.p[0].other, 0);
        MT_CHECK_EQ(l->checks.p[1].named, 600);
        MT_CHECK_EQ(l->checks.p[1].unexplained, 0);
        mt_driverdiag_free(j);
        mt_trace_free(t);
    }
}

/* Nonsense must neither overflow nor crash; the sums still hold. */
MT_TEST(hostile_calls)
{
    struct bd x = one_process();
    struct mt_trace *t;
    struct mt_driverdiag *j;
    uint64_t r = 12345;
    for (unsigned i = 0; i < 60000; i++) {
        struct mt_call *c;
        r = r * UINT64_C(6364136223846793005) + 1442695040888963407;
        c = bd_call(&x, (enum mt_wire_op)((r >> 33) % (MT_WO_COUNT + 2)), r >> 60,
                    (r >> 20 & 7) == 0 ? UINT64_MAX - (r & 255) : r >> 44,
                    (r >> 40 & 1) != 0 ? BD_TORCH : BD_CUMEM);
        c->handle = r >> 57 & 7;
        c->result = (r >> 13 & 7) == 0 ? 2 : 0;
        c->location = (uint8_t)(r >> 50 & 3);
        c->has_change = (uint8_t)(r >> 9 & 1);
        c->change = (r >> 10 & 15) == 0 ? INT64_MIN : (int64_t)(r >> 40) - (1 << 22);
        c->gpu = (r >> 5 & 31) == 0 ? 77 : c->gpu;
        if ((i & 63) == 0)
            bd_sample(&x, 0, r >> 30, MT_WY_PERIODIC);
    }
    t = bd_done(&x);
    j = make(t);
    MT_ASSERT(j != NULL);
    check_sums(j);
    mt_driverdiag_free(j);
    mt_trace_free(t);
}

MT_TEST(out_of_memory_leaves_nothing)
{
    struct mt_trace *t = oom_job();
    struct mt_driverdiag_opts o = {.phases = rules};
    unsigned failed = 0;
    for (uint64_t n = 1; n < 4000; n++) {
        struct mt_driverdiag *j = NULL;
        struct mt_err err = {.rc = MT_OK};
        const struct mt_trace *list[1] = {t};
        uint64_t used = mt_mem_used();
        enum mt_rc rc;
        mt_mem_fail_after(n);
        rc = mt_driverdiag_make(&j, list, 1, NULL, 0, &o, &err);
        mt_mem_fail_after(0);
        failed += rc < 0;
        MT_CHECK((rc < 0) == (j == NULL));
        mt_driverdiag_free(j);
        MT_CHECK_EQ(mt_mem_used(), used);
        if (rc >= 0)
            break;
    }
    MT_CHECK(failed > 20);
    mt_trace_free(t);
}

MT_MAIN(MT_RUN(owners_and_frees) MT_RUN(handles_are_counted_by_reference)
            MT_RUN(samples_and_other_processes) MT_RUN(pid_namespaces_are_noticed) MT_RUN(
                contexts_graphs_and_their_end) MT_RUN(code_that_no_call_says_the_size_of)
                MT_RUN(failures_and_the_sentence) MT_RUN(sleep_and_wake) MT_RUN(phases_of_the_job)
                    MT_RUN(survival) MT_RUN(ended_well) MT_RUN(measured_beside_others)
                        MT_RUN(held_after_a_burst) MT_RUN(held_at_the_failure)
                            MT_RUN(growth_by_steps) MT_RUN(growth_without_a_failure)
                                MT_RUN(no_verdict_on_what_is_lost) MT_RUN(a_wake_follows_a_sleep)
                                    MT_RUN(reserved_and_not_mapped)
                                        MT_RUN(same_process_in_two_traces_counts_once)
                                            MT_RUN(a_process_that_ends_holds_nothing)
                                                MT_RUN(a_process_that_is_listed_is_still_there)
                                                    MT_RUN(hostile_calls)
                                                        MT_RUN(out_of_memory_leaves_nothing))
