/* The audits on traces small enough to check by hand: each where its subject occurs, none where it
 * does not, findings only where there is something to act on. */
#include "analysis/audit/audit.h"
#include "heap_make.h"

static struct mt_rules rules;

MT_TEST(rules_load) { MT_CHECK(mt_load_rules(&rules)); }

#define FINISH(capacity)                                                                           \
    struct mt_trace *t;                                                                            \
    struct mt_analysis *a = heap_done(h, &rules, capacity, &t);                                    \
    MT_ASSERT(a != NULL && a->devices.n == 1 && a->devices.p[0].audits != NULL)
#define DONE                                                                                       \
    mt_analysis_free(a);                                                                           \
    mt_trace_free(t)

static uint64_t number(const struct mt_audit *v, uint32_t row, uint32_t column)
{
    if (row >= v->rows.n || column >= v->n_columns ||
        v->rows.p[row].cell[column].kind == MT_CELL_TEXT)
        return UINT64_MAX;
    return v->rows.p[row].cell[column].number;
}

MT_TEST(nothing_to_audit)
{
    struct heap *h = heap_new();
    heap_alloc(h, GIB, MODEL);
    for (int i = 0; i < 5; i++)
        heap_free(h, heap_alloc(h, 64 * MIB, FORWARD));
    {
        FINISH(0);
        MT_CHECK_EQ(a->devices.p[0].audits->v.n, 0);
        DONE;
    }
}

static void train_step(struct heap *h, uint64_t state)
{
    unsigned f = heap_alloc(h, 2 * GIB, FORWARD), g = heap_alloc(h, 512 * MIB, ENGINE);
    heap_free(h, f);
    if (state != 0)
        heap_alloc(h, state, STATE);
    heap_free(h, heap_alloc(h, 64 * MIB,
                            "torch/optim/adamw.py:90:_multi_tensor_adamw|torch/optim/"
                            "optimizer.py:82:wrapper|" ACTOR));
    heap_free(h, g);
}

MT_TEST(first_step_predicts_the_second)
{
    struct heap *h = heap_new();
    heap_alloc(h, 4 * GIB, MODEL);
    train_step(h, 8 * GIB);
    train_step(h, 0);
    train_step(h, 0);
    {
        const struct mt_audit *v;
        FINISH(16 * GIB);
        v = heap_audit(a, "first_step");
        MT_ASSERT(v != NULL && v->rows.n == 4);
        MT_CHECK_EQ(number(v, 0, 1), 4 * GIB + 2 * GIB + 512 * MIB);
        MT_CHECK_EQ(number(v, 1, 1), 8 * GIB);
        MT_CHECK_EQ(number(v, 2, 1), 14 * GIB + 512 * MIB);
        MT_CHECK_EQ(number(v, 3, 1), 14 * GIB + 512 * MIB); /* and so it was */
        /* two events to an allocation, three to a free */
        MT_CHECK_EQ(v->event, 10);
        MT_CHECK(!v->finding);
        DONE;
    }
}

MT_TEST(first_step_that_the_second_will_not_fit)
{
    struct heap *h = heap_new();
    heap_alloc(h, 4 * GIB, MODEL);
    train_step(h, 8 * GIB);
    heap_alloc(h, GIB, FORWARD);
    heap_oom(h, 2 * GIB, 64 * MIB, FORWARD);
    {
        const struct mt_audit *v;
        FINISH(13 * GIB + 512 * MIB);
        v = heap_audit(a, "first_step");
        MT_ASSERT(v != NULL);
        MT_CHECK(v->finding);
        MT_CHECK_EQ(v->bytes, 8 * GIB);
        MT_CHECK_HAS(v->sentence, "more than the card has");
        DONE;
    }
}

/* gather, work, next gather, free of the one before */
static void gathers(struct heap *h, bool kept)
{
    unsigned g[12];
    heap_alloc(h, GIB, MODEL);
    for (unsigned i = 0; i < 12; i++) {
        g[i] = heap_alloc(h, 256 * MIB, GATHER);
        heap_free(h, heap_alloc(h, 8 * MIB, FORWARD));
        if (!kept && i > 0)
            heap_free(h, g[i - 1]);
    }
    for (unsigned i = kept ? 0 : 11; i < 12; i++)
        heap_free(h, g[i]);
}

MT_TEST(gathers_that_stay_and_gathers_that_go)
{
    for (int kept = 0; kept < 2; kept++) {
        struct heap *h = heap_new();
        gathers(h, kept != 0);
        {
            const struct mt_audit *v;
            FINISH(0);
            v = heap_audit(a, "fsdp_gathers");
            MT_ASSERT(v != NULL && v->rows.n == 1);
            MT_CHECK_EQ(v->finding, kept);
            MT_CHECK_EQ(number(v, 0, 1), 12);
            MT_CHECK_EQ(number(v, 0, 2), 12 * 256 * MIB);
            MT_CHECK_EQ(number(v, 0, 3), 256 * MIB);
            MT_CHECK_EQ(number(v, 0, 4), UINT64_C(256) * MIB * (kept ? 12u : 2u));
            MT_CHECK_EQ(v->event, 3 + 7 * (kept ? 11 : 1)); /* of the last gather, of the second */
            DONE;
        }
    }
}

/* Passes that gather once for the forward and once for the backward: the whole model is one unit.
 * Two layers of other sizes are none, nor is the first gather of a pass that failed right after it.
 */
MT_TEST(a_model_that_is_one_unit)
{
    enum { WHOLE, PARTS, CUT, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, GIB, MODEL);
        for (int i = 0; i < (what == CUT ? 1 : 4); i++) {
            unsigned f[20], g = heap_alloc(h, 8 * GIB, GATHER), k;
            for (k = 0; k < 20; k++) {
                if (what == PARTS && k == 10) {
                    heap_free(h, g);
                    g = heap_alloc(h, 6 * GIB, GATHER);
                }
                if (what == CUT && k == 3)
                    break;
                f[k] = heap_alloc(h, 64 * MIB, FORWARD);
            }
            if (what == CUT)
                break;
            heap_free(h, g);
            g = heap_alloc(h, (what == PARTS ? 6 : 8) * GIB, GATHER);
            while (k-- > 0) {
                heap_free(h, heap_alloc(h, 32 * MIB, ENGINE));
                heap_free(h, f[k]);
            }
            heap_free(h, g);
        }
        if (what == CUT)
            heap_oom(h, 64 * MIB, 0, FORWARD);
        {
            FINISH(0);
            const struct mt_audit *v = heap_audit(a, "fsdp_unit");
            MT_CHECK(a->devices.p[0].one_unit == (what == WHOLE ? 8 * GIB : 0));
            MT_CHECK((v != NULL) == (what == WHOLE));
            MT_CHECK(
                v == NULL ||
                (v->finding &&
                 strstr(v->sentence,
                        "gathers all of it at once, 8.00 GiB, where this rank keeps 1.00 GiB of") !=
                     NULL));
            DONE;
        }
    }
}

/* One layer may be gathered as many parameters: they are one group, however many. */
MT_TEST(one_layer_of_many_parameters)
{
    struct heap *h = heap_new();
    unsigned g[20];
    heap_alloc(h, GIB, MODEL);
    for (unsigned i = 0; i < 20; i++)
        g[i] = heap_alloc(h, 16 * MIB, GATHER);
    heap_free(h, heap_alloc(h, 8 * MIB, FORWARD));
    for (unsigned i = 0; i < 20; i++)
        heap_free(h, g[i]);
    {
        FINISH(0);
        MT_ASSERT(heap_audit(a, "fsdp_gathers") != NULL);
        MT_CHECK(!heap_audit(a, "fsdp_gathers")->finding);
        DONE;
    }
}

MT_TEST(delayed_frees)
{
    for (int late = 0; late < 2; late++) {
        struct heap *h = heap_new();
        unsigned p, q;
        heap_alloc(h, 4 * GIB, MODEL);
        p = heap_alloc(h, GIB, GATHER);
        heap_ask(h, p); /* 1 ms to each event */
        q = heap_alloc(h, 2 * GIB, FORWARD);
        if (!late)
            heap_gone(h, p);
        heap_alloc(h, 4 * GIB, FORWARD);
        if (late)
            heap_gone(h, p);
        heap_free(h, q);
        {
            const struct mt_audit *v;
            FINISH(0);
            v = heap_audit(a, "record_stream");
            MT_ASSERT(v != NULL && v->rows.n == 1);
            MT_CHECK_EQ(number(v, 0, 1), 1);
            MT_CHECK_EQ(number(v, 0, 2), GIB);
            MT_CHECK_STR(v->rows.p[0].cell[4].text, late ? "5.000 ms" : "3.000 ms");
            MT_CHECK_EQ(v->bytes, GIB);
            MT_CHECK_EQ(v->event, 6); /* the allocation that it did not wait for */
            MT_CHECK(!v->finding);    /* 1 of 11 GiB at the peak, or none */
            DONE;
        }
    }
}

/* What waited with no allocation between counts as well. */
MT_TEST(a_wait_that_nobody_noticed)
{
    struct heap *h = heap_new();
    unsigned p, q;
    heap_alloc(h, 4 * GIB, MODEL);
    p = heap_alloc(h, GIB, GATHER);
    q = heap_alloc(h, 2 * GIB, GATHER);
    heap_ask(h, p);
    heap_ask(h, q);
    heap_gone(h, p);
    heap_gone(h, q);
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "record_stream");
        MT_ASSERT(v != NULL && v->rows.n == 1);
        MT_CHECK_EQ(v->bytes, 3 * GIB);
        MT_CHECK_HAS(v->sentence, "up to 3.00 GiB waited at once");
        DONE;
    }
}

/* Scalars and messages that a collective holds on to are not worth a table. */
MT_TEST(a_few_late_bytes_are_not_mentioned)
{
    struct heap *h = heap_new();
    unsigned p;
    heap_alloc(h, 4 * GIB, MODEL);
    p = heap_alloc(h, 4096, GATHER);
    heap_ask(h, p);
    heap_alloc(h, GIB, FORWARD);
    heap_gone(h, p);
    {
        FINISH(0);
        MT_CHECK(heap_audit(a, "record_stream") == NULL);
        DONE;
    }
}

MT_TEST(a_backlog_is_a_finding)
{
    struct heap *h = heap_new();
    unsigned p;
    heap_alloc(h, 4 * GIB, MODEL);
    p = heap_alloc(h, 2 * GIB, GATHER);
    heap_ask(h, p);
    heap_alloc(h, GIB, FORWARD);
    heap_oom(h, 4 * GIB, GIB, FORWARD);
    heap_gone(h, p);
    {
        FINISH(0);
        MT_ASSERT(heap_audit(a, "record_stream") != NULL);
        MT_CHECK(heap_audit(a, "record_stream")->finding);
        DONE;
    }
}

MT_TEST(weight_sync_buckets)
{
    struct heap *h = heap_new();
    heap_alloc(h, 8 * GIB, MODEL);
    for (int step = 0; step < 3; step++) {
        unsigned one, two;
        heap_free(h, heap_alloc(h, GIB, FORWARD));
        one = heap_alloc(h, 512 * MIB, SYNC);
        two = heap_alloc(h, 512 * MIB, SYNC);
        heap_free(h, one);
        one = heap_alloc(h, 512 * MIB, SYNC);
        heap_free(h, two);
        heap_free(h, one);
    }
    heap_free(h, heap_alloc(h, GIB, FORWARD));
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "weight_sync");
        MT_ASSERT(v != NULL && v->rows.n == 3);
        MT_CHECK(!v->finding);
        MT_CHECK_EQ(number(v, 0, 1), 3);
        MT_CHECK_EQ(number(v, 0, 2), 512 * MIB);
        MT_CHECK_EQ(number(v, 0, 3), 2);
        MT_CHECK_EQ(number(v, 0, 4), GIB);
        MT_CHECK_EQ(number(v, 0, 6), 0);
        MT_CHECK_HAS(v->sentence, "none outlives its sync");
        MT_CHECK_EQ(v->event, 10); /* the second buffer */
        DONE;
    }
}

MT_TEST(weight_sync_that_leaves_its_buckets)
{
    struct heap *h = heap_new();
    heap_alloc(h, 8 * GIB, MODEL);
    for (int step = 0; step < 3; step++) {
        heap_free(h, heap_alloc(h, GIB, FORWARD));
        heap_alloc(h, 512 * MIB, SYNC);
    }
    heap_free(h, heap_alloc(h, GIB, FORWARD));
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "weight_sync");
        MT_ASSERT(v != NULL);
        MT_CHECK(v->finding);
        MT_CHECK_EQ(v->bytes, 512 * MIB);
        MT_CHECK_EQ(number(v, 0, 6), 512 * MIB);
        MT_CHECK_EQ(v->event, 9); /* the last before the forward allocates again */
        DONE;
    }
}

MT_TEST(weight_sync_that_leaves_a_scale)
{
    struct heap *h = heap_new();
    heap_alloc(h, 8 * GIB, MODEL);
    for (int step = 0; step < 3; step++) {
        unsigned one;
        heap_free(h, heap_alloc(h, GIB, FORWARD));
        one = heap_alloc(h, 512 * MIB, SYNC);
        heap_alloc(h, 4096, SYNC);
        heap_free(h, one);
    }
    heap_free(h, heap_alloc(h, GIB, FORWARD));
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "weight_sync");
        MT_ASSERT(v != NULL);
        MT_CHECK(!v->finding);
        MT_CHECK_HAS(v->sentence, "less than 1 MiB outlives a sync");
        DONE;
    }
}

/* A sync that failed in its middle says nothing of what outlives one. */
MT_TEST(weight_sync_cut_by_a_failure)
{
    struct heap *h = heap_new();
    heap_alloc(h, 8 * GIB, MODEL);
    for (int i = 0; i < 16; i++)
        heap_alloc(h, 512 * MIB, SYNC);
    heap_oom(h, 512 * MIB, 64 * MIB, SYNC);
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "weight_sync");
        MT_ASSERT(v != NULL && v->rows.n == 1);
        MT_CHECK_EQ(v->rows.p[0].cell[6].kind, MT_CELL_NONE);
        MT_CHECK(v->finding); /* sixteen buffers, as many bytes as the parameters: a full copy */
        MT_CHECK_HAS(v->sentence, "a full copy");
        MT_CHECK_EQ(v->event, 33); /* the sixteenth */
        DONE;
    }
}

MT_TEST(engine_in_training)
{
    struct heap *h = heap_new();
    heap_alloc(h, 4 * GIB, MODEL);
    heap_alloc(h, 20 * GIB, KV);
    heap_free(h, heap_alloc(h, GIB, GENERATE));
    train_step(h, 2 * GIB);
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "sleep_wake");
        MT_ASSERT(v != NULL);
        MT_CHECK(v->finding);
        MT_CHECK_EQ(v->bytes, 20 * GIB);
        MT_CHECK_HAS(v->sentence, "up to 20.00 GiB");
        MT_CHECK_EQ(v->event, 19); /* the peak of the training */
        DONE;
    }
}

/* Offload to the host and back, in frames that say so: freed there, allocated there. */
MT_TEST(offload_and_onload)
{
#define LOAD                                                                                       \
    "verl/utils/fsdp_utils.py:10:load_fsdp_model_to_gpu|verl/workers/"                             \
    "fsdp_workers.py:91:generate_sequences|" MAIN
    struct heap *h = heap_new();
    heap_alloc(h, 4 * GIB, MODEL);
    heap_free(h, heap_alloc(h, GIB, FORWARD));
    heap_free(h, heap_alloc(h, 2 * GIB, LOAD));
    heap_free(h, heap_alloc(h, GIB, GENERATE));
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "sleep_wake");
        MT_ASSERT(v != NULL && v->rows.n >= 1);
        MT_CHECK_EQ(number(v, 0, 2), 2 * GIB);
        MT_CHECK(!v->finding);
        MT_CHECK_EQ(v->event, MT_NO_LINK); /* it says what is not there */
        DONE;
    }
}

MT_TEST(rows_are_bounded)
{
    struct heap *h = heap_new();
    heap_alloc(h, GIB, MODEL);
    for (int i = 0; i < 100; i++) {
        heap_free(h, heap_alloc(h, 2 * MIB, FORWARD));
        heap_free(h, heap_alloc(h, 4 * MIB, SYNC));
    }
    {
        const struct mt_audit *v;
        FINISH(0);
        v = heap_audit(a, "weight_sync");
        MT_ASSERT(v != NULL);
        MT_CHECK_EQ(v->rows.n, MT_AUDIT_ROWS);
        MT_CHECK_EQ(v->rows_left_out, 100 - MT_AUDIT_ROWS);
        DONE;
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(MT_RUN(rules_load) MT_RUN(nothing_to_audit) MT_RUN(first_step_predicts_the_second)
            MT_RUN(first_step_that_the_second_will_not_fit)
                MT_RUN(gathers_that_stay_and_gathers_that_go) MT_RUN(a_model_that_is_one_unit)
                    MT_RUN(one_layer_of_many_parameters) MT_RUN(delayed_frees)
                        MT_RUN(a_wait_that_nobody_noticed)
                            MT_RUN(a_few_late_bytes_are_not_mentioned)
                                MT_RUN(a_backlog_is_a_finding) MT_RUN(weight_sync_buckets)
                                    MT_RUN(weight_sync_that_leaves_its_buckets)
                                        MT_RUN(weight_sync_that_leaves_a_scale)
                                            MT_RUN(weight_sync_cut_by_a_failure)
                                                MT_RUN(engine_in_training)
                                                    MT_RUN(offload_and_onload)
                                                        MT_RUN(rows_are_bounded) MT_RUN(rules_done))
