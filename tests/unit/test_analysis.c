/* The replay and the verdict on traces small enough to check by hand. */
#include "analysis/cause/cause.h"
#include "analysis/setup/settings.h"
#include "analysis/cause/verdict.h"
#include "build_trace.h"
#include "load.h"
#include "mt_test.h"
#include "frameworks.h"

#include <time.h>

#define MIB (UINT64_C(1) << 20)

static struct mt_rules rules;
static struct mt_analysis *analyze(const struct mt_trace *t)
{
    return mt_analyze_all(t, &rules, false);
}

MT_TEST(rules_load) { MT_CHECK(mt_load_rules(&rules)); }

MT_TEST(anchored_on_the_end)
{
    /* The ring lost the beginning: a lone free and a block that nobody allocated. */
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    const struct mt_device_analysis *d;
    bt_trace(&x, 0);
    bt_event(&x, "free_requested", 0x200000, 4096, "");
    bt_event(&x, "free_completed", 0x200000, 4096, "");
    bt_event(&x, "alloc", 0x300000, 10000, "train.py:5:step|train.py:1:<module>");
    bt_event(&x, "free_requested", 0x300000, 10000, "");
    bt_segment(&x, 0, 0x200000, 20 * MIB, "8192i 512a 20962816i",
               "verl/workers/fsdp_workers.py:402:_build_model_optimizer|verl/workers/"
               "fsdp_workers.py:700:init_model");
    bt_segment(&x, 0, 0x2000000, 20 * MIB, "10240p 20961280i", "train.py:5:step");
    t = bt_done(&x);
    /* requested of the pending block as PyTorch would write it */
    t->blocks.p[3].requested = 10000;
    t->blocks.p[3].addr = 0x300000;
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    d = &a->devices.p[0];
    MT_CHECK(d->withheld == NULL);
    MT_CHECK_EQ(d->live_end, 512 + 10000);
    MT_CHECK_EQ(d->live_start, 512 + 4096);
    MT_CHECK_EQ(d->live_peak, 512 + 10000);
    MT_CHECK_EQ(d->peak_event, 2);
    MT_CHECK_EQ(d->pending_end, 10000);
    MT_CHECK_EQ(d->pending_start, 0);
    MT_CHECK_EQ(d->reserved_start, 40 * MIB);
    MT_CHECK_EQ(d->n_unmatched_frees, 1);
    MT_CHECK_EQ(d->birth_blocks[MT_BIRTH_BEFORE_TRACE], 1);
    MT_CHECK_EQ(d->birth_bytes[MT_BIRTH_GHOST], 512);
    MT_CHECK(d->phases.n > 1 && d->phases.p[1].retained + d->phases.p[0].retained ==
                                    d->live_end); /* the older block once, where its stack says */
    MT_CHECK_EQ(a->verdict.kind, MT_V_PEAK);
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* Both events of a plain free stand behind one another: nothing waited. */
MT_TEST(only_frees_that_wait_are_pending)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    bt_event(&x, "alloc", 0x200000, 10 * MIB, "train.py:5:step|train.py:1:<module>");
    bt_event(&x, "alloc", 0x1200000, 4 * MIB, "train.py:6:step|train.py:1:<module>");
    bt_event(&x, "alloc", 0x1700000, 2 * MIB, "train.py:7:step|train.py:1:<module>");
    bt_event(&x, "free_requested", 0x200000, 10 * MIB, "");
    bt_event(&x, "free_completed", 0x200000, 10 * MIB, "");
    bt_event(&x, "free_requested", 0x1200000, 4 * MIB, ""); /* waits while another one is freed */
    bt_event(&x, "free_requested", 0x1700000, 2 * MIB, "");
    bt_event(&x, "free_completed", 0x1700000, 2 * MIB, "");
    bt_event(&x, "free_completed", 0x1200000, 4 * MIB, "");
    bt_segment(&x, 0, 0x200000, 24 * MIB, "25165824i", "train.py:5:step");
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1 && a->devices.p[0].withheld == NULL);
    MT_CHECK_EQ(a->devices.p[0].pending_peak, 4 * MIB);
    MT_CHECK_EQ(a->devices.p[0].pending_end, 0);
    MT_CHECK_EQ(a->devices.p[0].live_peak, 16 * MIB);
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(negative_start_is_withheld)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    /* more than the end state holds: another pool's block */
    bt_event(&x, "alloc", 0x200000, 30 * MIB, "");
    bt_segment(&x, 0, 0x9000000, 20 * MIB, "1048576a 19922944i", "");
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    MT_CHECK(a->devices.p[0].withheld != NULL);
    MT_CHECK_EQ(a->devices.p[0].live_end, MIB);
    MT_CHECK_EQ(a->devices.p[0].timeline.n_columns, 0);
    MT_CHECK_HAS(a->verdict.sentence, "incomplete");
    MT_CHECK_HAS(a->verdict.because, "iB more than the end state"); /* in units for people */
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* Entries, and no segment that they could be anchored on: zeros would be no numbers. */
MT_TEST(no_segments_no_state)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    bt_event(&x, "alloc", 0x200000, 30 * MIB, "");
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    MT_CHECK(mt_state_unknown(&a->devices.p[0]));
    MT_CHECK_EQ(a->verdict.kind, MT_V_END_STATE);
    MT_CHECK_HAS(a->verdict.sentence,
                 "What device 0 held is not known: the snapshot lists none of its segments");
    MT_CHECK_HAS(a->verdict.because, "The trace allocates 30.0 MiB more than the end state");
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* Host memory that a healthy process pins is said where its peak is. */
MT_TEST(pinned_beside_a_peak)
{
    static struct mt_rec r;
    for (unsigned gib = 0; gib < 2; gib++) {
        struct bt x = bt_new();
        struct mt_trace *t;
        struct mt_analysis *a;
        bt_trace(&x, 0);
        bt_event(&x, "alloc", 0x9000000, MIB, "");
        bt_segment(&x, 0, 0x9000000, 20 * MIB, "1048576a 19922944i", "");
        (void)mt_build_segment_begin(x.b);
        mt_rec_reset(&r);
        mt_rec_set(&r, MT_K_ADDRESS, bt_int(0x7000000000));
        mt_rec_set(&r, MT_K_SIZE, bt_int((int64_t)((512 + 1024 * gib) * MIB)));
        mt_rec_set(&r, MT_K_ALLOCATED, bt_int(1));
        MT_CHECK(mt_build_host_segment(x.b, &r));
        t = bt_done(&x);
        a = analyze(t);
        MT_ASSERT(a != NULL && a->devices.n == 2);
        MT_CHECK_HAS(a->verdict.sentence, "peaked at 1.0 MiB live");
        MT_CHECK_STR(a->verdict.because,
                     gib == 0 ? "" : "Beside it the process pinned up to 1.50 GiB of host memory.");
        mt_analysis_free(a);
        mt_trace_free(t);
    }
}

/* Of what the ring buffer lost nothing is said. */
MT_TEST(a_ring_that_lost_its_beginning)
{
    for (int lost = 0; lost < 2; lost++) {
        struct bt x = bt_new();
        struct mt_trace *t;
        struct mt_analysis *a;
        bt_trace(&x, 0);
        bt_event(&x, "alloc", 0x9000000, MIB, "");
        bt_segment(&x, 0, 0x9000000, 20 * MIB, "1048576a 19922944i", "");
        t = bt_done(&x);
        t->devices.p[0].ring_overflowed = (int8_t)lost;
        a = analyze(t);
        MT_ASSERT(a != NULL && a->devices.n == 1);
        MT_CHECK_HAS(a->verdict.sentence,
                     lost != 0 ? "No out-of-memory event was recorded in the 1 entries that the "
                                 "ring buffer kept: device 0 peaked"
                               : "No out-of-memory event was recorded: device 0 peaked");
        mt_analysis_free(a);
        mt_trace_free(t);
    }
}

/* Two live blocks in a segment of 20 MiB with a hole between and behind them, then a request that
 * fails. */
static struct mt_trace *oom_trace(uint64_t request, uint64_t device_free, int64_t stream)
{
    struct bt x = bt_new();
    bt_trace(&x, 0);
    bt_event(&x, "segment_alloc", 0x2000000, 20 * MIB, "");
    bt_event(&x, "alloc", 0x2000000, 6 * MIB, "a.py:1:keep");
    bt_event(&x, "alloc", 0x2000000 + 6 * MIB, 4 * MIB, "a.py:2:drop");
    bt_event(&x, "alloc", 0x2000000 + 10 * MIB, 2 * MIB, "a.py:3:keep");
    bt_event(&x, "free_requested", 0x2000000 + 6 * MIB, 4 * MIB, "");
    bt_event(&x, "free_completed", 0x2000000 + 6 * MIB, 4 * MIB, "");
    bt_event_on(&x, "oom", device_free, request, stream, "a.py:9:want|a.py:8:<module>");
    /* the program unwinds and gives the segment back: only the trace knows the state at the failure
     */
    bt_event(&x, "free_requested", 0x2000000, 6 * MIB, "");
    bt_event(&x, "free_completed", 0x2000000, 6 * MIB, "");
    bt_event(&x, "free_requested", 0x2000000 + 10 * MIB, 2 * MIB, "");
    bt_event(&x, "free_completed", 0x2000000 + 10 * MIB, 2 * MIB, "");
    bt_event(&x, "segment_free", 0x2000000, 20 * MIB, "");
    return bt_done(&x);
}

static void check_oom(uint64_t request, uint64_t device_free, int64_t stream,
                      enum mt_verdict_kind kind, uint64_t usable, uint64_t largest)
{
    struct mt_trace *t = oom_trace(request, device_free, stream);
    struct mt_analysis *a = analyze(t);
    const struct mt_oom *o;
    MT_ASSERT(a != NULL && a->devices.n == 1 && a->devices.p[0].ooms.n == 1);
    o = &a->devices.p[0].ooms.p[0];
    MT_CHECK_EQ(a->verdict.kind, kind);
    MT_CHECK_EQ(o->event, 6);
    MT_CHECK_EQ(o->request, request);
    MT_CHECK_EQ(o->device_free, device_free);
    MT_CHECK_EQ(o->at.live, 8 * MIB);
    MT_CHECK_EQ(o->at.reserved, 20 * MIB);
    MT_CHECK(o->at.holes_known);
    MT_CHECK_EQ(o->at.n_holes, 2);
    MT_CHECK_EQ(o->at.free_usable, usable);
    MT_CHECK_EQ(o->at.largest_usable, largest);
    MT_CHECK_EQ(a->devices.p[0].live_end, 0);
    MT_CHECK_EQ(a->devices.p[0].owners.n, 2);
    MT_CHECK_STR(a->devices.p[0].owners.p[0].label, "a.py:1 keep");
    MT_CHECK_EQ(a->devices.p[0].focus.live, 8 * MIB);
    MT_CHECK_HAS(a->verdict.sentence, "ran out of memory");
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(oom_capacity) { check_oom(64 * MIB, 1 * MIB, 0, MT_V_OOM_CAPACITY, 12 * MIB, 8 * MIB); }
MT_TEST(oom_fragmentation)
{
    check_oom(12 * MIB, 1 * MIB, 0, MT_V_OOM_FRAGMENTATION, 12 * MIB, 8 * MIB);
}
MT_TEST(oom_limit) { check_oom(12 * MIB, 12 * MIB, 0, MT_V_OOM_LIMIT, 12 * MIB, 8 * MIB); }
/* Holes of another stream cannot serve the request: capacity, although the bytes would suffice. */
MT_TEST(oom_other_stream) { check_oom(12 * MIB, 1 * MIB, 7, MT_V_OOM_CAPACITY, 0, 0); }

/* Neither the holes nor the device alone, but both together: in one piece it would have fitted. */
MT_TEST(oom_in_pieces)
{
    check_oom(16 * MIB, 8 * MIB, 0, MT_V_OOM_FRAGMENTATION, 12 * MIB, 8 * MIB);
}
/* Holes below a tenth of the request do not make a full device fragmented. */
MT_TEST(oom_crumbs) { check_oom(256 * MIB, 250 * MIB, 0, MT_V_OOM_CAPACITY, 12 * MIB, 8 * MIB); }

/* One live block, a hole of `hole` MiB behind it, a request that the hole and the device hold
 * together. */
static enum mt_verdict_kind kind_with_hole(uint64_t hole, uint64_t request, uint64_t device_free)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    enum mt_verdict_kind kind;
    char blocks[64];
    (void)snprintf(blocks, sizeof blocks, "1048576000a %llui", (unsigned long long)(hole * MIB));
    bt_trace(&x, 0);
    bt_event(&x, "segment_alloc", 0x2000000, (1000 + hole) * MIB, "");
    bt_event(&x, "alloc", 0x2000000, 1000 * MIB, "a.py:1:keep");
    bt_event(&x, "oom", device_free * MIB, request * MIB, "a.py:9:want|a.py:8:<module>");
    bt_segment(&x, 0, 0x2000000, (1000 + hole) * MIB, blocks, "a.py:1:keep");
    t = bt_done(&x);
    a = analyze(t);
    kind = a != NULL ? a->verdict.kind : MT_V_EMPTY;
    if (a != NULL && kind == MT_V_OOM_CAPACITY)
        MT_CHECK(strstr(a->verdict.because, "just enough for it") != NULL ||
                 strstr(a->verdict.because, "together enough for it, and nothing shows") != NULL);
    mt_analysis_free(a);
    mt_trace_free(t);
    return kind;
}

/* A card where the request would have fitted in one piece and left nothing is full. */
MT_TEST(oom_of_a_full_card)
{
    /* 1 MiB would be left of 1041 */
    MT_CHECK_EQ(kind_with_hole(20, 40, 21), MT_V_OOM_CAPACITY);
    MT_CHECK_EQ(kind_with_hole(20, 24, 22), MT_V_OOM_CAPACITY);      /* 18 */
    MT_CHECK_EQ(kind_with_hole(40, 40, 38), MT_V_OOM_FRAGMENTATION); /* 38 */
    /* 2, and the pieces are a twentieth of the card, less than the request: nothing shows more */
    MT_CHECK_EQ(kind_with_hole(60, 70, 12), MT_V_OOM_CAPACITY);
}

static void check_because(uint64_t request, uint64_t device_free, int64_t stream, const char *words)
{
    struct mt_trace *t = oom_trace(request, device_free, stream);
    struct mt_analysis *a = analyze(t);
    MT_ASSERT(a != NULL);
    MT_CHECK_HAS(a->verdict.because, words);
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(oom_words)
{
    check_because(
        16 * MIB, 8 * MIB, 0,
        "together enough for it, but the largest hole was 8.0 MiB (2 holes in 1 segment)");
    check_because(256 * MIB, 250 * MIB, 0, "just enough");
    check_because(64 * MIB, 1 * MIB, 0, "no rearrangement");
    check_because(64 * MIB, 1 * MIB, 7, "Nothing was free");
}

/* Freed by the program but held for another stream: full, and the reason is told. */
/* A size that nothing could have says nothing: neither 0 B nor a cause. One that is merely absurd
 * is a size. */
MT_TEST(oom_of_an_impossible_size)
{
    struct mt_trace *t = oom_trace(UINT64_C(1) << 62, 1 * MIB, 0);
    struct mt_analysis *a = analyze(t);
    const struct mt_cause *c;
    MT_ASSERT(a != NULL && a->devices.n == 1 && a->devices.p[0].ooms.n == 1);
    MT_CHECK_EQ(a->devices.p[0].ooms.p[0].request, 0);
    MT_CHECK_EQ(a->verdict.kind, MT_V_OOM);
    MT_CHECK_HAS(
        a->verdict.sentence,
        "it asked for a size that its entry does not tell at a.py:9 want, with 1.0 MiB free on "
        "the device:");
    MT_CHECK(strstr(a->verdict.sentence, "0 B") == NULL);
    MT_CHECK_HAS(
        a->verdict.because,
        "Without the size of the request, capacity and fragmentation cannot be told apart.");
    c = a->devices.p[0].cause;
    MT_ASSERT(c != NULL && c->sentence != NULL && c->evidence.n != 0);
    MT_CHECK_EQ(c->kind, MT_CAUSE_NONE);
    MT_CHECK_EQ(c->what_ifs.n, 0);
    MT_CHECK_STR(c->sentence, "The cause cannot be told: the size of the request is not known.");
    MT_CHECK_HAS(c->evidence.p[0].text, "none that a device could have");
    mt_analysis_free(a);
    mt_trace_free(t);
    t = oom_trace(UINT64_C(1) << 59, 1 * MIB, 0);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1 && a->devices.p[0].ooms.n == 1);
    MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_CAPACITY);
    MT_CHECK_HAS(a->verdict.sentence, "it asked for 512.00 PiB");
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(oom_while_frees_wait)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    bt_event(&x, "segment_alloc", 0x2000000, 20 * MIB, "");
    bt_event(&x, "alloc", 0x2000000, 20 * MIB, "a.py:1:buffer");
    bt_event(&x, "free_requested", 0x2000000, 20 * MIB, "");
    bt_event_on(&x, "oom", MIB, 64 * MIB, 0, "a.py:9:want");
    bt_event(&x, "free_completed", 0x2000000, 20 * MIB, "");
    bt_event(&x, "segment_free", 0x2000000, 20 * MIB, "");
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL);
    MT_CHECK_HAS(a->verdict.sentence, "all of the 20.0 MiB reserved was live");
    MT_CHECK_HAS(a->verdict.because, "20.0 MiB had been freed already");
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* What fails in its first forward has trained nothing yet: that is no reason to call it inference.
 */
MT_TEST(first_forward_is_not_inference)
{
    struct bt x = bt_new();
    uint32_t halves = UINT32_MAX, recomputes = UINT32_MAX;
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    for (uint64_t at = 0x2000000; at <= 0x4000000; at += 0x2000000) {
        bt_event(&x, "segment_alloc", at, 10 * MIB, "");
        bt_event(&x, "alloc", at, 10 * MIB, "model.py:1:forward");
    }
    bt_event_on(&x, "oom", MIB, 32 * MIB, 0, "model.py:9:forward");
    for (uint64_t at = 0x2000000; at <= 0x4000000; at += 0x2000000) {
        bt_event(&x, "free_requested", at, 10 * MIB, "");
        bt_event(&x, "free_completed", at, 10 * MIB, "");
        bt_event(&x, "segment_free", at, 10 * MIB, "");
    }
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL);
    for (uint32_t i = 0; i < a->advice.n; i++) {
        const char *id = a->advice.p[i].rule->id;
        halves = strcmp(id, "P02") == 0 ? i : halves;
        recomputes = strcmp(id, "P01") == 0 ? i : recomputes;
        MT_CHECK(strcmp(id, "P09") != 0); /* smaller batches where nothing is trained */
    }
    /* smaller micro-batches halve the failed request, too; recomputing does not */
    MT_CHECK(halves < recomputes && recomputes != UINT32_MAX);
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(segment_sizes)
{
    MT_CHECK_EQ(mt_segment_size(1), 2 * MIB);
    MT_CHECK_EQ(mt_segment_size(MIB), 2 * MIB);
    MT_CHECK_EQ(mt_segment_size(MIB + 1), 20 * MIB);
    MT_CHECK_EQ(mt_segment_size(10 * MIB), 10 * MIB);
    MT_CHECK_EQ(mt_segment_size(10 * MIB + 1), 12 * MIB);
}

/* Expandable: map and unmap undone backwards, neighbours merge. */
MT_TEST(expandable_holes)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    bt_event(&x, "segment_map", 0x10000000, 40 * MIB, "");
    bt_event(&x, "alloc", 0x10000000, 30 * MIB, "a.py:1:big");
    bt_event(&x, "segment_map", 0x10000000 + 40 * MIB, 20 * MIB, "");
    bt_event(&x, "oom", MIB, 100 * MIB, "a.py:2:want");
    bt_event(&x, "free_requested", 0x10000000, 30 * MIB, "");
    bt_event(&x, "free_completed", 0x10000000, 30 * MIB, "");
    bt_event(&x, "segment_unmap", 0x10000000 + 20 * MIB, 40 * MIB, "");
    bt_segment(&x, 0, 0x10000000, 20 * MIB, "20971520i", "");
    t = bt_done(&x);
    t->segments.p[0].is_expandable = 1;
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.p[0].ooms.n == 1);
    MT_CHECK(a->devices.p[0].ooms.p[0].at.holes_known);
    MT_CHECK_EQ(a->devices.p[0].ooms.p[0].at.reserved, 60 * MIB);
    MT_CHECK_EQ(a->devices.p[0].ooms.p[0].at.largest_usable, 30 * MIB);
    MT_CHECK_EQ(a->devices.p[0].ooms.p[0].at.n_holes, 1);
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(columns_are_true_states)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    const struct mt_timeline *tl;
    uint64_t peak = 0;
    bt_trace(&x, 0);
    for (uint64_t i = 0; i < 3000; i++) { /* one spike far narrower than a column */
        bt_event(&x, "alloc", 0x1000000 + i * 4096, i == 1501 ? 9 * MIB : 4096, "a.py:1:f");
        bt_event(&x, "free_requested", 0x1000000 + i * 4096, i == 1501 ? 9 * MIB : 4096, "");
        bt_event(&x, "free_completed", 0x1000000 + i * 4096, i == 1501 ? 9 * MIB : 4096, "");
    }
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    tl = &a->devices.p[0].timeline;
    MT_CHECK(tl->has_time);
    MT_CHECK_EQ(tl->n_columns, MT_TL_COLUMNS);
    for (uint32_t c = 0; c < tl->n_columns; c++) {
        uint64_t sum = 0;
        for (uint32_t g = 0; g < tl->n_roles; g++)
            sum += tl->live[(size_t)c * tl->n_roles + g];
        MT_CHECK_EQ(sum, tl->total[c]);
        if (tl->total[c] > peak)
            peak = tl->total[c];
    }
    MT_CHECK_EQ(peak, 9 * MIB);
    MT_CHECK_EQ(a->devices.p[0].live_peak, 9 * MIB);
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(owner_sums_are_exact)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    uint64_t sum, rows = 0, stacks = 0;
    bt_trace(&x, 0);
    for (uint64_t i = 0; i < 1000; i++) { /* more owners than the list holds */
        char stack[64];
        snprintf(stack, sizeof stack, "a.py:%llu:f", (unsigned long long)(i % 700 + 1));
        bt_event(&x, "alloc", 0x1000000 + i * 8192, 1000 + i, stack);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        bt_event(&x, "free_requested", 0x1000000 + i * 8192, 1000 + i, "");
        bt_event(&x, "free_completed", 0x1000000 + i * 8192, 1000 + i, "");
    }
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    sum = a->devices.p[0].owners_rest_bytes;
    for (uint32_t i = 0; i < a->devices.p[0].owners.n; i++)
        sum += a->devices.p[0].owners.p[i].bytes;
    for (uint32_t i = 0; i < a->devices.p[0].phases.n; i++)
        rows += a->devices.p[0].phases.p[i].at_focus;
    for (uint32_t i = 0; i < a->devices.p[0].by_stack.n; i++)
        stacks += a->devices.p[0].by_stack.p[i].bytes;
    MT_CHECK_EQ(stacks, a->devices.p[0].focus.live); /* all of them, however many */
    MT_CHECK_EQ(a->devices.p[0].n_owners_all, 700);
    MT_CHECK_EQ(sum, a->devices.p[0].focus.live);
    MT_CHECK_EQ(rows, a->devices.p[0].focus.live);
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(forged_frees)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    /* completed and never asked for: all of them would have been pending at the start */
    for (int i = 0; i < 300; i++) {
        bt_event(&x, "alloc", 4096, UINT64_C(1) << 52, "a.py:1:f");
        bt_event(&x, "free_completed", 4096, UINT64_C(1) << 52, "");
    }
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    MT_CHECK(a->devices.p[0].withheld != NULL);
    MT_CHECK(a->devices.p[0].pending_peak < UINT64_C(1) << 61);
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* Sizes that no machine has, in a number that would overflow any sum: withheld, never undefined. */
MT_TEST(forged_sizes)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    for (uint64_t i = 0; i < 600; i++) {
        bt_event(&x,
                 i % 3 == 0   ? "free_completed"
                 : i % 3 == 1 ? "alloc"
                              : "segment_free",
                 i << 40, (UINT64_C(1) << 56) - 1, "a.py:1:f");
        bt_event(&x, "segment_alloc", UINT64_MAX - i, (UINT64_C(1) << 56) - 1, "");
    }
    bt_event(&x, "oom", 0, (UINT64_C(1) << 56) - 1, "a.py:2:g");
    t = bt_done(&x);
    a = analyze(t);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    MT_CHECK(a->devices.p[0].withheld != NULL);
    MT_CHECK_EQ(a->verdict.kind, MT_V_OOM);
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* A job that catches its OOM and tries again: one deep stack, thousands of times. Reading it every
 * time takes seconds. */
MT_TEST(many_ooms_of_one_deep_stack)
{
    enum { N = 20000, DEPTH = 4000 };
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    static mt_frame_id ids[DEPTH];
    static struct mt_rec r;
    mt_str_id name = bt_str(&x, "call").id, file = bt_str(&x, "/v/torch/call.py").id;
    struct mt_val stack = {.type = MT_T_STACK};
    clock_t before;
    for (uint32_t i = 0; i < DEPTH; i++)
        MT_ASSERT(mt_build_frame(x.b, name, file, i + 1, &ids[i]));
    MT_ASSERT(mt_build_stack(x.b, ids, DEPTH, &stack.id));
    bt_trace(&x, 0);
    mt_rec_set(&r, MT_K_ACTION, bt_str(&x, "oom"));
    mt_rec_set(&r, MT_K_DEVICE_FREE, bt_int(1));
    mt_rec_set(&r, MT_K_SIZE, bt_int(4096));
    mt_rec_set(&r, MT_K_FRAMES, stack);
    for (int i = 0; i < N; i++)
        MT_ASSERT(mt_build_event(x.b, &r));
    bt_segment(&x, 0, 0x1000000, 2097152, "512a 2096640i", "");
    t = bt_done(&x);
    before = clock();
    a = analyze(t);
    MT_CHECK((double)(clock() - before) / CLOCKS_PER_SEC < 1.0);
    MT_ASSERT(a != NULL && a->devices.n == 1 && a->devices.p[0].ooms.n == N);
    MT_CHECK_STR(a->devices.p[0].ooms.p[0].label, "torch/call.py:1 call");
    MT_CHECK_STR(a->devices.p[0].ooms.p[N - 1].label, "torch/call.py:1 call");
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* The end state is later than the last entry of a trace that is cut: anchoring on it would give
 * wrong numbers. */
MT_TEST(cut_trace_has_no_anchor)
{
    for (int whole = 0; whole < 2; whole++) {
        struct bt x = bt_new();
        struct mt_trace *t;
        struct mt_analysis *a;
        bt_segment(&x, 0, 0x2000000, 20 * MIB, "1048576a 19922944i", "a.py:1:f");
        bt_trace(&x, 0);
        bt_event(&x, "alloc", 0x2000000, MIB, "a.py:1:f");
        if (whole)
            mt_build_saw_key(x.b, MT_K_ALLOCATOR_SETTINGS); /* the damage is behind the trace */
        mt_trace_diag(x.t, MT_DIAG_DAMAGE, true, 77, "cut");
        t = bt_done(&x);
        a = analyze(t);
        MT_ASSERT(a != NULL && a->devices.n == 1);
        MT_CHECK_EQ(t->devices.p[0].is_cut, !whole);
        MT_CHECK_EQ(a->devices.p[0].withheld != NULL, !whole);
        MT_CHECK_EQ(a->devices.p[0].live_end, MIB);
        if (!whole)
            MT_CHECK_HAS(a->devices.p[0].withheld, "no anchor");
        mt_analysis_free(a);
        mt_trace_free(t);
    }
}

MT_TEST(empty_snapshot)
{
    struct bt x = bt_new();
    struct mt_trace *t = bt_done(&x);
    struct mt_analysis *a = analyze(t);
    MT_ASSERT(a != NULL);
    MT_CHECK_EQ(a->verdict.kind, MT_V_EMPTY);
    mt_analysis_free(a);
    mt_trace_free(t);
}

/* A process without frames of a framework: the settings of the run name it, but not by keys alone
 * where a script of somebody's own asked. The command line goes before. */
MT_TEST(framework_by_settings)
{
    static const char args[] = "actor.backend=fsdp:d8 rollout.backend=sglang:d8";
    struct mt_trace *t = oom_trace(12 * MIB, MIB, 0);
    struct mt_analyze_opts o = {
        .phases = rules.phases, .fixes = rules.fixes, .only_device = -1, .framework = -1};
    struct mt_runconf *conf = NULL;
    struct mt_analysis *a = NULL;
    struct mt_err err = {.rc = MT_OK};
    MT_ASSERT(mt_runconf_new(&conf, mt_test_frameworks(), &err) == MT_OK);
    o.conf = conf;
    MT_ASSERT(mt_analyze(&a, t, &o, &err) == MT_OK);
    MT_CHECK(a->fw.main == MT_FW_NONE && !a->fw.by_settings);
    mt_analysis_free(a);
    MT_CHECK_EQ(mt_conf_args(&conf->conf, args, strlen(args), "--args", false, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(conf, MT_FROM_ARGS, &err), MT_OK);
    MT_ASSERT(mt_analyze(&a, t, &o, &err) == MT_OK);
    MT_CHECK(a->fw.main == MT_FW_NONE && a->fw.own_script && !a->fw.by_settings);
    mt_analysis_free(a);
    mt_runconf_tell(conf, FW(areal)); /* a log says it as well */
    MT_ASSERT(mt_analyze(&a, t, &o, &err) == MT_OK);
    MT_CHECK(a->fw.main == FW(areal) && a->fw.by_settings && !a->fw.own_script && !a->fw.forced);
    mt_analysis_free(a);
    o.framework = FW(verl);
    MT_ASSERT(mt_analyze(&a, t, &o, &err) == MT_OK);
    MT_CHECK(a->fw.main == FW(verl) && !a->fw.by_settings && a->fw.forced);
    mt_analysis_free(a);
    mt_runconf_free(conf);
    mt_trace_free(t);
}

MT_TEST(out_of_memory_anywhere)
{
    struct mt_trace *t = oom_trace(12 * MIB, MIB, 0);
    uint64_t before = mt_mem_used();
    for (uint64_t n = 1; n < 3000; n++) {
        struct mt_analyze_opts o = {
            .phases = rules.phases, .fixes = rules.fixes, .only_device = -1, .framework = -1};
        struct mt_analysis *a = NULL;
        struct mt_err err = {.rc = MT_OK};
        enum mt_rc rc;
        mt_mem_fail_after(n);
        rc = mt_analyze(&a, t, &o, &err);
        mt_mem_fail_after(0);
        mt_analysis_free(a);
        MT_CHECK_EQ(mt_mem_used(), before);
        if (rc == MT_OK)
            break;
        MT_CHECK_EQ(rc, MT_ENOMEM);
        MT_CHECK_EQ(err.rc, MT_ENOMEM);
    }
    mt_trace_free(t);
    mt_rules_done(&rules);
}

MT_MAIN(MT_RUN(rules_load) MT_RUN(anchored_on_the_end) MT_RUN(only_frees_that_wait_are_pending)
            MT_RUN(negative_start_is_withheld) MT_RUN(oom_capacity) MT_RUN(no_segments_no_state)
                MT_RUN(pinned_beside_a_peak) MT_RUN(a_ring_that_lost_its_beginning)
                    MT_RUN(oom_of_an_impossible_size) MT_RUN(oom_in_pieces) MT_RUN(oom_crumbs)
                        MT_RUN(oom_of_a_full_card) MT_RUN(oom_words) MT_RUN(oom_while_frees_wait)
                            MT_RUN(first_forward_is_not_inference) MT_RUN(oom_fragmentation)
                                MT_RUN(oom_limit) MT_RUN(oom_other_stream) MT_RUN(segment_sizes)
                                    MT_RUN(expandable_holes) MT_RUN(columns_are_true_states)
                                        MT_RUN(owner_sums_are_exact) MT_RUN(forged_frees)
                                            MT_RUN(forged_sizes) MT_RUN(many_ooms_of_one_deep_stack)
                                                MT_RUN(cut_trace_has_no_anchor)
                                                    MT_RUN(empty_snapshot)
                                                        MT_RUN(framework_by_settings)
                                                            MT_RUN(out_of_memory_anywhere))
