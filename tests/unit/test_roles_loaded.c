/* What torch.load left on the card, on traces small enough to check by hand. */
#include "role_make.h"

#define READ                                                                                       \
    SITE "torch/storage.py:292:to|" SITE                                                           \
         "torch/serialization.py:693:default_restore_location|" SITE                               \
         "torch/serialization.py:1462:load|/home/u/resume.py:8:resume" MAIN

static void read_copies(struct job *j, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        for (int i = 0; i < LAYERS; i++)
            (void)put(j, PARAM_BYTES, READ);
}

/* A checkpoint is read beside a model. By then the job trains; its optimizer makes a state of its
 * own, or has taken over what was read: two copies where there are three or more, one of two. */
MT_TEST(a_checkpoint_beside_its_model)
{
    static const struct {
        unsigned copies;
        bool own_state;
        unsigned left, state; /* of the copies that were read */
    } cases[] = {
        {1, false, 1, 0}, {2, false, 1, 1}, {3, false, 1, 2}, {4, false, 2, 2}, {4, true, 4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job *j = job_new();
        struct model m = {.recorded_late = !cases[i].own_state};
        uint64_t copy = LAYERS * PARAM_BYTES, own = cases[i].own_state ? 2 * copy : 0;
        params(j);
        read_copies(j, cases[i].copies);
        for (int s = 0; s < 3; s++)
            train_step(j, &m);
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, CHECKPOINT), cases[i].left * copy);
        MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), cases[i].state * copy + own);
        MT_CHECK_EQ(AT_FOCUS(j, PARAM), copy);
        CHECK_SUMS(j);
        job_free(j);
    }
}

/* The model is what was read: nothing else has its sizes. */
MT_TEST(a_model_that_was_read)
{
    struct job *j = job_new();
    struct model m = {.recorded_late = true};
    read_copies(j, 1);
    for (int s = 0; s < 3; s++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, CHECKPOINT), 0);
    CHECK_SUMS(j);
    job_free(j);
}

MT_MAIN(MT_RUN(a_checkpoint_beside_its_model) MT_RUN(a_model_that_was_read))
