/* Where steps end: annotations of optimizer calls, several of which may make one step. */
#include "role_make.h"

/* An optimizer call over `blocks` allocations of one parameter each, with the annotation that PyTorch writes around it. */
static void optimizer_call(struct job *j, unsigned blocks)
{
    for (int end = 0; end < 2; end++) {
        struct mt_rec r;
        mt_rec_reset(&r);
        mt_rec_set(&r, MT_K_NAME, bt_str(&j->bt, "Optimizer.step#AdamW.step"));
        mt_rec_set(&r, MT_K_STAGE, bt_str(&j->bt, end ? "END" : "START"));
        mt_rec_set(&r, MT_K_TIME_US, bt_int((int64_t)(j->bt.clock_us += 10)));
        mt_rec_set(&r, MT_K_DEVICE, bt_int(0));
        if (!mt_build_annotation(j->bt.b, &r))
            abort();
        for (unsigned i = 0; !end && i < blocks; i++)
            drop(j, put(j, PARAM_BYTES, S_ADAM));
    }
}

/* Events of the optimizer calls that end steps, by the steps that were found. */
static void check_ends(const struct job *j, const uint64_t *end, uint32_t n)
{
    MT_CHECK_STR(j->f->steps_from, "annotations");
    MT_CHECK_EQ(j->f->steps.n, n);
    for (uint32_t i = 0; i < n && i < j->f->steps.n; i++)
        MT_CHECK_EQ(j->f->steps.p[i].last, end[i]);
}

static uint64_t n_events(const struct job *j) { return (j->bt.t->devices.n != 0) ? j->bt.t->devices.p[0].events.n : 0; }

/* Groups of parameters with a call each, and one call before all work that sets up the state: three steps. */
MT_TEST(calls_without_a_pass_between_them_end_one_step)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    uint64_t end[3];
    optimizer_call(j, 2);
    for (int i = 0; i < 3; i++) {
        micro_batch(j, &m, true);
        optimizer_call(j, 2);
        optimizer_call(j, 1);
        drop(j, put(j, 512, S_ADAM)); /* a norm that is logged between two calls */
        optimizer_call(j, 2);
        end[i] = n_events(j) - 1;
        for (int k = 0; k < LAYERS; k++) {
            drop(j, m.grad[k]);
            m.grad[k] = 0;
        }
    }
    MT_ASSERT(analyze(j));
    end[2] = n_events(j) - 1;   /* nothing is allocated after it */
    for (int i = 0; i < 2; i++) /* a step begins with the first allocation after its mark */
        end[i] += 2 * LAYERS;
    check_ends(j, end, 3);
    for (uint32_t i = 0; i < j->f->steps.n; i++)
        MT_CHECK_EQ(j->f->steps.p[i].n_micros, 1);
    job_free(j);
}

/* Accumulation: two micro-batches, one call. */
MT_TEST(passes_before_a_call_are_one_step)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    for (int i = 0; i < 2; i++) {
        micro_batch(j, &m, true);
        micro_batch(j, &m, false);
        optimizer_call(j, 2);
        for (int k = 0; k < LAYERS; k++) {
            drop(j, m.grad[k]);
            m.grad[k] = 0;
        }
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->steps.n, 2);
    for (uint32_t i = 0; i < j->f->steps.n; i++)
        MT_CHECK_EQ(j->f->steps.p[i].n_micros, 2);
    job_free(j);
}

/* Where no pass is recognised, nothing tells groups from steps: each call is one. */
MT_TEST(every_call_where_passes_are_not_known)
{
    struct job *j = job_new();
    for (int i = 0; i < 4; i++) {
        drop(j, put(j, ACT_BYTES, "/home/u/run.py:9:read"));
        optimizer_call(j, 2);
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_STR(j->f->steps_from, "annotations");
    MT_CHECK_EQ(j->f->steps.n, 4);
    job_free(j);
}

MT_MAIN(MT_RUN(calls_without_a_pass_between_them_end_one_step) MT_RUN(passes_before_a_call_are_one_step)
            MT_RUN(every_call_where_passes_are_not_known))
