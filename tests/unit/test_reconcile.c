/* What a snapshot claims, and how that agrees with the driver's calls: every byte of both totals is
 * accounted for. */
#include "analysis/ledger/driver.h"
#include "tests/unit/build_driver.h"
#include "tests/unit/mt_test.h"
#include "analysis/phases/phases.h"
#include "frameworks.h"

static struct mt_driverdiag *make(const struct mt_trace *driver, const struct mt_claims *claims,
                                  uint32_t n)
{
    static struct mt_phase_rules *rules;
    struct mt_driverdiag_opts o;
    struct mt_driverdiag *j = NULL;
    struct mt_err err = {.rc = MT_OK};
    memset(&o, 0, sizeof o);
    if (rules == NULL && mt_phase_rules_load(&rules, mt_test_frameworks(), NULL, 0, NULL, &err) < 0)
        abort();
    o.phases = rules;
    if (mt_driverdiag_make(&j, &driver, 1, claims, n, &o, &err) < 0)
        printf("# %s\n", err.msg);
    return j;
}

static uint64_t open_bytes(const struct mt_claims *c)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->list.n; i++)
        sum += c->list.p[i].t1_ns == 0 ? c->list.p[i].size : 0;
    return sum;
}

/* When [addr, addr + size) was held: the claim that has it whole, open or closed. */
static const struct mt_claim *claim_at(const struct mt_claims *c, uint64_t addr, bool open)
{
    for (uint32_t i = 0; i < c->list.n; i++)
        if (c->list.p[i].addr == addr && (c->list.p[i].t1_ns == 0) == open)
            return &c->list.p[i];
    return NULL;
}

MT_TEST(claims_follow_segments)
{
    struct bt x = bt_new();
    struct mt_claims c;
    struct mt_trace *t;
    bt_trace(&x, 0);
    bt_event(&x, "segment_alloc", 0x10000, 0x1000, ""); /* stays */
    bt_event(&x, "segment_alloc", 0x20000, 0x1000, ""); /* goes */
    bt_event(&x, "segment_free", 0x20000, 0x1000, "");
    bt_event(&x, "segment_free", 0x30000, 0x1000, ""); /* there before the trace */
    bt_event(&x, "segment_map", 0x100000, 0x4000, ""); /* unmapped in the middle */
    bt_event(&x, "segment_unmap", 0x101000, 0x1000, "");
    bt_segment(&x, 0, 0x10000, 0x1000, "4096a", "");
    bt_segment(&x, 0, 0x40000, 0x1000, "4096a", ""); /* since before the trace */
    bt_segment(&x, 0, 0x100000, 0x1000, "4096a", "");
    bt_segment(&x, 0, 0x102000, 0x2000, "8192a", "");
    t = bt_done(&x);
    MT_ASSERT(mt_claims_note(&c, t, NULL) >= 0 && mt_claims_make(&c, NULL) >= 0);
    MT_CHECK_EQ(open_bytes(&c), 0x1000 + 0x1000 + 0x1000 + 0x2000);
    MT_ASSERT(claim_at(&c, 0x10000, true) != NULL && claim_at(&c, 0x40000, true) != NULL);
    MT_CHECK(claim_at(&c, 0x10000, true)->t0_ns != 0);
    MT_CHECK_EQ(claim_at(&c, 0x40000, true)->t0_ns, 0);
    MT_CHECK(claim_at(&c, 0x102000, true) != NULL && claim_at(&c, 0x102000, true)->t0_ns != 0);
    MT_ASSERT(claim_at(&c, 0x20000, false) != NULL && claim_at(&c, 0x30000, false) != NULL &&
              claim_at(&c, 0x101000, false) != NULL);
    MT_CHECK(claim_at(&c, 0x20000, false)->t0_ns != 0);
    MT_CHECK_EQ(claim_at(&c, 0x30000, false)->t0_ns, 0);
    MT_CHECK_EQ(claim_at(&c, 0x101000, false)->size, 0x1000);
    mt_claims_done(&c);
    mt_trace_free(t);
}

/* PyTorch with two segments, one mapped pool of an engine that sleeps and one that is awake, one
 * segment that nobody recorded; NCCL and a context beside it. */
static struct mt_trace *driver(bool with_stacks)
{
    struct bd x = bd_new();
    struct mt_call *c;
    (void)bd_gpu(&x, "node1", "GPU-1", 80 * BD_GIB);
    (void)bd_process(&x, "node1", 4711, "train", 0, 0);
    c = bd_call(&x, MT_WO_CONTEXT_RETAIN, 0, 0, NULL);
    c->has_change = 1;
    c->change = 500;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x10000, 0x1000, with_stacks ? BD_TORCH : NULL);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x20000, 0x2000, with_stacks ? BD_TORCH : NULL);
    (void)bd_vmm(&x, MT_WO_VMM_RESERVE, 0x100000, 0x10000, 0, BD_CUMEM);
    (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 0x3000, 7, BD_CUMEM);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x100000, 0x3000, 7, BD_CUMEM);
    (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 0x4000, 8, BD_CUMEM);
    (void)bd_vmm(&x, MT_WO_VMM_MAP, 0x108000, 0x4000, 8, BD_CUMEM);
    (void)bd_vmm(&x, MT_WO_VMM_UNMAP, 0x100000, 0x3000, 0, BD_CUMEM);
    (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 7, BD_CUMEM);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x90000, 0x700, BD_NCCL);
    x.now += 60 * BD_S;
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0xa0000, 0x10000, BD_TORCH); /* after the snapshot */
    return bd_done(&x);
}

static struct mt_trace *snapshot(void)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    x.clock_us = BD_T0 / 1000 + 1000; /* the driver's calls return at 2, 3, ... ms */
    bt_trace(&x, 0);
    bt_event(&x, "segment_alloc", 0x10000, 0x1000, "");
    bt_event(&x, "segment_alloc", 0x20000, 0x2000, "");
    x.clock_us += 1000;
    bt_event(&x, "segment_alloc", 0x100000, 0x3000, "");
    x.clock_us += 100000;
    bt_event(&x, "segment_alloc", 0x108000, 0x4000, "");
    bt_segment(&x, 0, 0x10000, 0x1000, "4096a", "");
    bt_segment(&x, 0, 0x20000, 0x2000, "8192a", "");
    bt_segment(&x, 0, 0x50000, 0x800, "2048a", "");
    bt_segment(&x, 0, 0x100000, 0x3000, "12288a", "");
    bt_segment(&x, 0, 0x108000, 0x4000, "16384a", "");
    t = bt_done(&x);
    t->meta.uid = 0x1000 + 4711;
    t->meta.pid = 4711;
    return t;
}

static void both_totals(bool with_stacks)
{
    struct mt_trace *d = driver(with_stacks), *s = snapshot();
    struct mt_claims c;
    const struct mt_reconcile *r;
    struct mt_driverdiag *j;
    uint64_t rest = 0;
    MT_ASSERT(mt_claims_note(&c, s, NULL) >= 0 && mt_claims_make(&c, NULL) >= 0);
    MT_CHECK_EQ(mt_claims_process(&c, d), 0);
    j = make(d, &c, 1);
    MT_ASSERT(j != NULL && j->reconciled.n == 1);
    r = &j->reconciled.p[0];
    MT_CHECK_EQ(r->torch_reserved, 0x1000 + 0x2000 + 0x800 + 0x3000 + 0x4000);
    MT_CHECK_EQ(r->matched, 0x1000 + 0x2000 + 0x4000);
    MT_CHECK_EQ(r->unmapped, 0x3000);
    MT_CHECK_EQ(r->unseen, 0x800);
    MT_CHECK_EQ(r->driver_held, 500 + 0x1000 + 0x2000 + 0x4000 + 0x700);
    MT_CHECK(r->adds_up);
    for (uint32_t i = 0; i < r->others.n; i++) {
        rest += (uint64_t)r->others.p[i].bytes;
        MT_CHECK(r->others.p[i].holder == MT_HOLD_CONTEXT || r->others.p[i].holder == MT_HOLD_NCCL);
    }
    MT_CHECK_EQ(r->matched + rest, r->driver_held);
    MT_CHECK_EQ(r->idle, 0);
    MT_CHECK_EQ(r->ledger, 0);
    MT_ASSERT(r->gone[0].site != NULL); /* the block of the pool that sleeps */
    MT_CHECK_EQ(r->gone[0].bytes, 0x3000);
    MT_CHECK(r->gone[1].site == NULL);
    /* also without stacks they are PyTorch's, because the snapshot says so; the pool stays the
     * engine's */
    for (uint32_t i = 0; i < j->ledgers.p[0].rows.n; i++) {
        const struct mt_ledger_row *w = &j->ledgers.p[0].rows.p[i];
        MT_CHECK(w->holder != MT_HOLD_UNKNOWN);
        if (w->holder == MT_HOLD_TORCH)
            MT_CHECK_EQ(w->bytes, 0x1000 + 0x2000 + 0x10000);
        if (w->holder == MT_HOLD_ENGINE)
            MT_CHECK_EQ(w->bytes, 0x4000);
        if (w->holder == MT_HOLD_ENGINE)
            MT_CHECK_EQ(w->reserved_va, 0x10000 - 0x4000);
    }
    mt_driverdiag_free(j);
    mt_claims_done(&c);
    mt_trace_free(d);
    mt_trace_free(s);
}
MT_TEST(totals_meet) { both_totals(true); }
MT_TEST(totals_meet_without_stacks) { both_totals(false); }

/* A peak of PyTorch's books at which the driver had an engine's pool unmapped: the statement of the
 * device leads. */
MT_TEST(a_peak_that_was_not_there)
{
    for (unsigned awake = 0; awake < 2; awake++) {
        struct bd x = bd_new();
        struct bt y = bt_new();
        struct mt_trace *d, *s;
        struct mt_analysis a;
        struct mt_device_analysis dev;
        struct mt_claims c;
        struct mt_driverdiag *j;
        (void)bd_gpu(&x, "node1", "GPU-1", 80 * BD_GIB);
        (void)bd_process(&x, "node1", 4711, "train", 0, 0);
        (void)bd_vmm(&x, MT_WO_VMM_RESERVE, 64 * BD_GIB, 12 * BD_GIB, 0, BD_CUMEM);
        (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, 12 * BD_GIB, 7, BD_CUMEM);
        (void)bd_vmm(&x, MT_WO_VMM_MAP, 64 * BD_GIB, 12 * BD_GIB, 7, BD_CUMEM);
        if (awake == 0) {
            (void)bd_vmm(&x, MT_WO_VMM_UNMAP, 64 * BD_GIB, 12 * BD_GIB, 0, BD_CUMEM);
            (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 7, BD_CUMEM);
        }
        (void)bd_call(&x, MT_WO_MEM_ALLOC, BD_GIB, 50 * BD_GIB, BD_TORCH);
        x.now += 10 * BD_S;
        (void)bd_call(&x, MT_WO_MEM_FREE, 0x77, 0, NULL);
        d = bd_done(&x);
        y.clock_us = BD_T0 / 1000;
        bt_trace(&y, 0);
        bt_event(&y, "segment_alloc", 64 * BD_GIB, 12 * BD_GIB, "");
        y.clock_us += 1000000;
        bt_event(&y, "segment_alloc", BD_GIB, 50 * BD_GIB, "");
        bt_segment(&y, 0, 64 * BD_GIB, 12 * BD_GIB, "12884901888a", "");
        bt_segment(&y, 0, BD_GIB, 50 * BD_GIB, "53687091200a", "");
        s = bt_done(&y);
        s->meta.uid = 0x1000 + 4711;
        s->meta.pid = 4711;
        MT_ASSERT(mt_claims_note(&c, s, NULL) >= 0 && mt_claims_make(&c, NULL) >= 0);
        memset(&a, 0, sizeof a);
        memset(&dev, 0, sizeof dev);
        dev.peak_ns = s->devices.p[0].last_time_ns + BD_S;
        a.devices.p = &dev;
        a.devices.n = 1;
        a.verdict.kind = MT_V_PEAK;
        mt_claims_peak(&c, &a);
        MT_CHECK_EQ(c.peak_ns, dev.peak_ns);
        j = make(d, &c, 1);
        MT_ASSERT(j != NULL && j->books_peaks.n == 1 && j->reconciled.n == 1);
        MT_CHECK_EQ(j->books_peaks.p[0].reserved, 62 * BD_GIB);
        MT_CHECK_EQ(j->books_peaks.p[0].unmapped, awake ? 0 : 12 * BD_GIB);
        MT_CHECK_EQ(mt_books_peak_counts(&j->books_peaks.p[0]), awake == 0);
        MT_CHECK_EQ(j->kind, MT_V_PEAK);
        MT_CHECK_HAS(j->sentence, "was fullest with");
        MT_CHECK_EQ(strstr(j->because, "PyTorch's books had 62.00 GiB reserved at their own peak, "
                                       "but the driver had unmapped 12.00 "
                                       "GiB of it by then.") != NULL,
                    awake == 0);
        mt_driverdiag_free(j);
        a.verdict.kind = MT_V_OOM; /* a failure has a moment of its own */
        c.peak_ns = 0;
        mt_claims_peak(&c, &a);
        MT_CHECK_EQ(c.peak_ns, 0);
        mt_claims_done(&c);
        mt_trace_free(d);
        mt_trace_free(s);
    }
}

/* Segments without a block in use, and who uses what is not there. */
MT_TEST(blocks_that_are_not_there)
{
    struct bt x = bt_new();
    struct mt_trace *d = driver(true), *s;
    struct mt_claims c;
    const struct mt_reconcile *r;
    struct mt_driverdiag *j;
    x.clock_us = BD_T0 / 1000 + 200000;
    bt_trace(&x, 0);
    bt_event(&x, "alloc", 0x10000, 512, "");
    bt_segment(&x, 0, 0x10000, 0x1000, "1024i 3072i", ""); /* there, and only cache */
    bt_segment(&x, 0, 0x20000, 0x2000, "4096a 4096i", "");
    bt_segment(&x, 0, 0x50000, 0x800, "2048i", ""); /* cache, but nobody saw it */
    bt_segment(&x, 0, 0x100000, 0x3000, "8192a 4096i", "worker.py:7:load");
    bt_segment(&x, 0, 0x108000, 0x4000, "16384a", "");
    s = bt_done(&x);
    s->meta.uid = 0x1000 + 4711;
    s->meta.pid = 4711;
    for (uint32_t i = 0; i < s->segments.n; i++)
        s->segments.p[i].pool_known = 1;
    MT_ASSERT(mt_claims_note(&c, s, NULL) >= 0 && mt_claims_make(&c, NULL) >= 0);
    j = make(d, &c, 1);
    MT_ASSERT(j != NULL && j->reconciled.n == 1);
    r = &j->reconciled.p[0];
    MT_CHECK(r->adds_up);
    MT_CHECK_EQ(r->idle, 0x1000);
    MT_CHECK_EQ(r->unmapped, 0x3000);
    MT_ASSERT(r->gone[0].site != NULL);
    MT_CHECK_EQ(r->gone[0].bytes, 0x2000);
    MT_CHECK(r->gone[1].site == NULL);
    mt_driverdiag_free(j);
    mt_claims_done(&c);
    mt_trace_free(d);
    mt_trace_free(s);
}

MT_TEST(which_process)
{
    struct mt_trace *d = driver(true), *s = snapshot();
    struct mt_claims c;
    MT_ASSERT(mt_claims_note(&c, s, NULL) >= 0 && mt_claims_make(&c, NULL) >= 0);
    c.uid = 99; /* of a process that is not in this trace */
    MT_CHECK_EQ(mt_claims_process(&c, d), MT_NONE32);
    c.uid = 0;
    MT_CHECK_EQ(mt_claims_process(&c, d), 0);
    c.pid = 1;
    MT_CHECK_EQ(mt_claims_process(&c, d), MT_NONE32);
    c.pid = -1;
    c.rank = 0;
    MT_CHECK_EQ(mt_claims_process(&c, d), 0);
    c.rank = 5;
    MT_CHECK_EQ(mt_claims_process(&c, d), MT_NONE32);
    c.rank = -1;
    MT_CHECK_EQ(mt_claims_process(&c, d), 0); /* the only one there is */
    c.dump_ns = BD_T0 + 3600 * BD_S;          /* another day */
    MT_CHECK_EQ(mt_claims_process(&c, d), MT_NONE32);
    mt_claims_done(&c);
    mt_trace_free(d);
    mt_trace_free(s);
}

/* Claims that overlap, end before they begin, or wrap around. */
MT_TEST(hostile_claims)
{
    struct mt_trace *d = driver(false), *s = snapshot();
    struct mt_claims c;
    struct mt_driverdiag *j;
    uint64_t r = 7;
    MT_ASSERT(mt_claims_note(&c, s, NULL) >= 0 && mt_claims_make(&c, NULL) >= 0);
    for (unsigned i = 0; i < 3000; i++) {
        struct mt_claim *k = MT_VEC_PUSH(&c.list);
        MT_ASSERT(k != NULL);
        r = r * UINT64_C(6364136223846793005) + 1442695040888963407;
        k->addr = (r & 1) != 0 ? r >> 44 : UINT64_MAX - (r >> 40);
        k->size = r >> 20 & 0xffffff;
        k->t0_ns = (r & 2) != 0 ? BD_T0 + (r >> 30 & 0xffffff) : 0;
        k->t1_ns = (r & 4) != 0 ? BD_T0 + (r >> 28 & 0xffffff) : 0;
    }
    j = make(d, &c, 1);
    MT_CHECK(j != NULL);
    mt_driverdiag_free(j);
    mt_claims_done(&c);
    mt_trace_free(d);
    mt_trace_free(s);
}

MT_MAIN(MT_RUN(claims_follow_segments) MT_RUN(totals_meet) MT_RUN(totals_meet_without_stacks)
            MT_RUN(blocks_that_are_not_there) MT_RUN(a_peak_that_was_not_there)
                MT_RUN(which_process) MT_RUN(hostile_claims))
