/* Where steps end: annotations of optimizer calls, several of which may make one step. */
#include "role_make.h"

/* An optimizer call over `blocks` allocations of one parameter each, with the annotation that
 * PyTorch writes around it. */
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

static uint64_t n_events(const struct job *j)
{
    return (j->bt.t->devices.n != 0) ? j->bt.t->devices.p[0].events.n : 0;
}

/* Groups of parameters with a call each, and one call before all work that sets up the state: three
 * steps. */
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

#define DPO SITE "trl/trainer/dpo_trainer.py"
#define S_STEP "|" SITE "transformers/trainer.py:9:training_step" MAIN
#define S_MODEL(line)                                                                              \
    "|" SITE "torch/nn/modules/module.py:1:_wrapped_call_impl|??:0:PyObject_Call|" DPO ":" line    \
    ":_compute_loss" S_STEP
#define S_LAYER(line) "/home/u/model.py:7:decoder" S_MODEL(line)
#define S_DPO_LOSS SITE "torch/nn/functional.py:3:logsigmoid|" DPO ":1600:_compute_loss" S_STEP

/* Policy, reference, loss and backward are one micro-batch; the reference's pass, from the second
 * line that calls a model, is its own phase. Where one line calls a model it is the policy. */
static void preferences(bool reference)
{
    struct job *j = job_new();
    uint64_t kept[LAYERS], loss, referred = 0;
    for (int i = 0; i < LAYERS; i++)
        kept[i] = put(j, ACT_BYTES, S_LAYER("1340"));
    for (int i = 0; reference && i < LAYERS; i++) {
        drop(j, put(j, ACT_BYTES, S_LAYER("1382")));
        referred += ACT_BYTES;
    }
    loss = put(j, MIB, S_DPO_LOSS);
    for (int i = LAYERS - 1; i >= 0; i--) {
        drop(j, put(j, PARAM_BYTES, S_BACKWARD));
        drop(j, kept[i]);
    }
    drop(j, loss);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->micros.n, 1);
    MT_CHECK(j->f->micros.n != 0 && j->f->micros.p[0].has_backward && j->f->micros.p[0].first == 0);
    for (uint32_t i = 0; i < j->a->devices.p[0].phases.n; i++)
        if (j->a->devices.p[0].phases.p[i].phase == MT_PH_LOGP_REF)
            referred -= j->a->devices.p[0].phases.p[i].alloc_bytes;
    MT_CHECK_EQ(referred, 0);
    MT_CHECK_EQ(MADE(j, ACTIVATION), LAYERS * ACT_BYTES + MIB);
    job_free(j);
}

MT_TEST(a_reference_inside_the_loss)
{
    preferences(true);
    preferences(false);
}

#define S_ZERO SITE "torch/optim/optimizer.py:975:zero_grad|" S_UPDATE

/* Steps of so many micro-batches. The optimizer allocates in the first `loud` of them only;
 * gradients go by zero_grad where the stacks of frees are recorded. Something of a MiB stays of
 * each step. */
static struct job *quiet_job(unsigned n, unsigned loud, unsigned accumulation, bool zero)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < accumulation; k++)
            micro_batch(j, &m, k == 0);
        for (int k = 0; k < LAYERS && i < loud; k++) {
            if (i == 0)
                m.state[k][0] = put(j, PARAM_BYTES, S_ADAM_STATE);
            drop(j, put(j, 512, S_ADAM));
        }
        for (int k = 0; k < LAYERS; k++) {
            drop_at(j, m.grad[k], zero ? S_ZERO : "");
            m.grad[k] = 0;
        }
        (void)put(j, MIB, "/home/u/run.py:31:remember|" S_UPDATE);
    }
    return j;
}

/* An optimizer that is quiet from its second step on marks none of them; the gradients do, and
 * where their frees tell nothing the order of the passes. Either shows what grows. */
MT_TEST(steps_of_an_optimizer_that_is_quiet)
{
    static const struct {
        unsigned n, loud, accumulation;
        bool zero;
        const char *from;
        unsigned steps; /* the rest after the last end is one */
    } jobs[] = {
        {8, 1, 1, true, "gradients let go of", 9}, {8, 1, 4, true, "gradients let go of", 9},
        {8, 0, 4, true, "gradients let go of", 9}, {8, 1, 1, false, "phase periodicity", 8},
        {8, 1, 4, false, "phase periodicity", 8},  {8, 0, 1, false, "phase periodicity", 8},
        {8, 8, 2, true, "optimizer phases", 8},    {4, 1, 2, true, "optimizer phases", 2}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct job *j = quiet_job(jobs[i].n, jobs[i].loud, jobs[i].accumulation, jobs[i].zero);
        MT_ASSERT(analyze(j));
        MT_CHECK_STR(j->f->steps_from, jobs[i].from);
        MT_CHECK_EQ(j->f->steps.n, jobs[i].steps);
        if (jobs[i].n == 8) {
            MT_ASSERT(j->f->growth.n == 1);
            MT_CHECK_HAS(j->f->growth.p[0].label, "remember");
            MT_CHECK_EQ((uint64_t)j->f->growth.p[0].slope, MIB);
            MT_CHECK_EQ(j->f->growth.p[0].conf, MT_CONF_MARKED);
        }
        job_free(j);
    }
}

MT_MAIN(MT_RUN(calls_without_a_pass_between_them_end_one_step)
            MT_RUN(passes_before_a_call_are_one_step) MT_RUN(every_call_where_passes_are_not_known)
                MT_RUN(a_reference_inside_the_loss) MT_RUN(steps_of_an_optimizer_that_is_quiet))
