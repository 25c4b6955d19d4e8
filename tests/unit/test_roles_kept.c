/* What torch.load left on the card, data of the job's own, gradients that nobody asked for, on
 * traces small enough to check by hand. */
#include "role_make.h"

#define READ                                                                                       \
    SITE "torch/storage.py:292:to|" SITE                                                           \
         "torch/serialization.py:693:default_restore_location|" SITE                               \
         "torch/serialization.py:1462:load|/home/u/resume.py:8:resume" MAIN

#define READ_BY_TRAINER                                                                            \
    SITE "torch/serialization.py:1462:load|" SITE                                                  \
         "transformers/trainer.py:3535:_load_optimizer_and_scheduler" MAIN

#define S_PREDICT "/home/u/model.py:7:decoder|" S_CALL MAIN

static void read_copies(struct job *j, unsigned n, const char *stack)
{
    for (unsigned k = 0; k < n; k++)
        for (int i = 0; i < LAYERS; i++)
            (void)put(j, PARAM_BYTES, stack);
}

enum until { AFTER_STEPS, OWN_STATE, NO_STEP, PREDICTS };

static void run_until(struct job *j, enum until until)
{
    struct model m = {.recorded_late = until != OWN_STATE};
    for (int s = 0; until <= OWN_STATE && s < 3; s++)
        train_step(j, &m);
    for (int s = 0; until == PREDICTS && s < 12; s++)
        drop(j, put(j, ACT_BYTES, S_PREDICT));
    if (until == NO_STEP)
        (void)put(j, ACT_BYTES, S_FORWARD);
}

/* A checkpoint is read beside a model. By then the job trains; its optimizer makes a state of its
 * own, or has taken over what was read: two copies where there are three or more. One copy or two
 * may be weights that nobody needs and may be states, of a file of their own; the counts of steps
 * beside them tell, and so does a trainer that reads for its optimizer. Before any step one copy is
 * the weights'; a job that predicts has no states. */
MT_TEST(a_checkpoint_beside_its_model)
{
    static const struct {
        unsigned copies;
        enum until until;
        bool counts;
        const char *by;
        unsigned left, state; /* of the copies that were read */
    } cases[] = {
        {1, AFTER_STEPS, false, READ, 0, 0},
        {2, AFTER_STEPS, false, READ, 0, 0},
        {3, AFTER_STEPS, false, READ, 1, 2},
        {4, AFTER_STEPS, false, READ, 2, 2},
        {4, OWN_STATE, false, READ, 4, 0},
        {1, AFTER_STEPS, true, READ, 0, 1},
        {2, AFTER_STEPS, true, READ, 0, 2},
        {1, NO_STEP, false, READ, 1, 0},
        {2, NO_STEP, false, READ, 0, 0},
        {3, NO_STEP, false, READ, 1, 0},
        {2, PREDICTS, false, READ, 2, 0},
        {2, AFTER_STEPS, false, READ_BY_TRAINER, 0, 2},
        {2, NO_STEP, false, READ_BY_TRAINER, 0, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job *j = job_new();
        uint64_t copy = LAYERS * PARAM_BYTES, own = cases[i].until == OWN_STATE ? 2 * copy : 0;
        params(j);
        read_copies(j, cases[i].copies, cases[i].by);
        for (int n = 0; n < LAYERS && cases[i].counts; n++)
            (void)put(j, 4, READ);
        run_until(j, cases[i].until);
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, CHECKPOINT), cases[i].left * copy);
        MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE),
                    cases[i].state * copy + own + (cases[i].counts ? LAYERS * 4 : 0));
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
    read_copies(j, 1, READ);
    for (int s = 0; s < 3; s++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, CHECKPOINT), 0);
    CHECK_SUMS(j);
    job_free(j);
}

#define IDLE_BYTES (5 * MIB + 512)

/* A model that no optimizer has gets gradients in the first step, which stay. Not where its sizes
 * have states too, where they go with each step, where no gradient ever goes (an optimizer without
 * states beside AdamW, zero_grad(set_to_none=False)), nor before two steps are over. */
MT_TEST(gradients_that_no_optimizer_uses)
{
    enum { IDLE, STEPPED, CLEARED, NONE_GOES, EARLY, N };
    for (int what = 0; what < N; what++) {
        struct job *j = job_new();
        struct model m = {.grads_stay = what == NONE_GOES};
        uint64_t grad[LAYERS];
        params(j);
        for (int i = 0; i < LAYERS; i++)
            (void)put(j, IDLE_BYTES, S_INIT);
        for (int s = 0; s < (what == EARLY ? 1 : 4); s++) {
            micro_batch(j, &m, false);
            for (int i = 0; i < LAYERS && (s == 0 || what == CLEARED); i++)
                grad[i] = put(j, IDLE_BYTES, S_BACKWARD);
            if (s == 0 && what == STEPPED)
                for (int i = 0; i < LAYERS; i++)
                    (void)put(j, IDLE_BYTES, S_ADAM_STATE);
            train_step(j, &m);
            for (int i = 0; i < LAYERS && what == CLEARED; i++)
                drop(j, grad[i]);
        }
        (void)put(j, 64 * MIB, S_FORWARD); /* the highest moment */
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(j->f->idle_grads, what == IDLE ? LAYERS * IDLE_BYTES : 0);
        CHECK_SUMS(j);
        job_free(j);
    }
}

/* A momentum is one block a weight: what makes the two moments of Adam smaller does nothing to it.
 * Sizes that no weight has, as of shards, tell nothing. */
MT_TEST(state_that_is_one_block_a_weight)
{
    for (int each = 1; each <= 3; each++)
        for (int shards = 0; shards < 2; shards++) {
            struct job *j = job_new();
            struct model m = {.recorded_late = true};
            uint64_t size = shards ? 2 * PARAM_BYTES + 512 : PARAM_BYTES;
            params(j);
            for (int s = 0; s < 3; s++) {
                for (int i = 0; s == 0 && i < each * LAYERS; i++)
                    (void)put(j, size, S_ADAM_STATE);
                train_step(j, &m);
            }
            (void)put(j, 64 * MIB, S_FORWARD); /* the highest moment */
            MT_ASSERT(analyze(j));
            MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), (uint64_t)each * LAYERS * size);
            MT_CHECK_EQ(j->f->lone_state, each == 1 && !shards ? LAYERS * PARAM_BYTES : 0);
            CHECK_SUMS(j);
            job_free(j);
        }
}

#define S_OWN "/home/u/shelf.py:5:fill" MAIN

/* A table that the job made before its passes, and one that came later. Not what is made in a call
 * of the model, what has the size of a weight, what no pass has found there yet, or what one line
 * leaves in each step: that is a leak, or results. */
MT_TEST(data_of_the_jobs_own)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    (void)put(j, 40 * MIB, S_OWN);
    (void)put(j, PARAM_BYTES, S_OWN);
    params(j);
    for (int s = 0; s < 4; s++) {
        train_step(j, &m);
        (void)put(j, 9 * MIB + 512, "/home/u/shelf.py:8:append" MAIN);
        if (s == 1 || s == 3)
            (void)put(j, 6 * MIB + 512,
                      s == 1 ? "/home/u/shelf.py:12:more" MAIN : "/home/u/shelf.py:13:last" MAIN);
        (void)put(j, 4 * MIB + 512, "/home/u/model.py:99:keep|" S_CALL "|" S_OWN);
    }
    (void)put(j, 64 * MIB, S_FORWARD); /* the highest moment */
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, DATA), 46 * MIB + 512);
    CHECK_SUMS(j);
    job_free(j);
}

/* A bank that passes filled and later ones read. While it may be filled further, or with only one
 * pass since beside the one at hand, it may as well be a leak, or results. */
MT_TEST(a_bank_that_passes_filled)
{
    for (int filled = 2; filled < 8; filled++) {
        struct job *j = job_new();
        struct model m = {.leak = 0};
        params(j);
        for (int s = 0; s < 7; s++) {
            train_step(j, &m);
            if (s < filled)
                (void)put(j, 9 * MIB + 512, "/home/u/bank.py:8:fill" MAIN);
        }
        (void)put(j, 64 * MIB, S_FORWARD); /* the highest moment */
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, DATA), filled <= 5 ? (uint64_t)filled * (9 * MIB + 512) : 0);
        CHECK_SUMS(j);
        job_free(j);
    }
}

#define S_CACHE "/home/u/engine.py:85:make_room" MAIN

/* One tensor for each layer, made one after the other outside of any pass: keys and values; or both
 * of them by one line (ONE_LINE), which Python's interpreter comes to by several ways (WAYS). As
 * many of other sizes, one more or less, or with the next one made when the one before is gone,
 * they are not. */
MT_TEST(one_tensor_for_each_layer)
{
    enum { CACHE, TWO_LINES, ONE_LINE, WAYS, ONE_MORE, SIZES, ONE_BY_ONE, OF_WEIGHTS, N };
    for (int what = 0; what < N; what++) {
        struct job *j = job_new();
        params(j);
        for (int i = 0; i < LAYERS + (what == ONE_MORE); i++) {
            uint64_t at = put(j,
                              what == OF_WEIGHTS ? PARAM_BYTES
                              : what == SIZES    ? 9 * MIB + (unsigned)i * MIB
                                                 : 9 * MIB,
                              what == WAYS && i > 1
                                  ? "/home/u/engine.py:85:make_room|??:0:_PyObject_MakeTpCall" MAIN
                                  : S_CACHE);
            if (what == ONE_LINE)
                (void)put(j, 9 * MIB, S_CACHE);
            if (what == ONE_BY_ONE)
                drop(j, at);
            if (what == TWO_LINES)
                (void)put(j, 9 * MIB, "/home/u/engine.py:86:make_room" MAIN);
        }
        for (int s = 0; s < 6; s++)
            drop(j, put(j, 40 * MIB, S_PREDICT));
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, KV_CACHE), what == CACHE || what == WAYS ? LAYERS * 9 * MIB
                                           : what == TWO_LINES || what == ONE_LINE
                                               ? LAYERS * 18 * MIB
                                               : 0);
        CHECK_SUMS(j);
        job_free(j);
    }
}

/* Each round makes a state anew and lets go of the last one. What stayed through nine that went is
 * no temporary of the stretch; the last one, and one that few outlived, may be. */
MT_TEST(what_outlasts_others_of_its_line)
{
    for (unsigned rounds = 4; rounds <= 14; rounds += 10) {
        struct job *j = job_new();
        uint64_t last = 0;
        for (unsigned i = 0; i < rounds; i++) {
            uint64_t now = put(j, 3 * MIB, "/home/u/bandit.py:27:update" MAIN);
            if (last != 0 && i != 2) /* the second stays */
                drop(j, last);
            last = now;
        }
        (void)put(j, 9 * MIB, "/home/u/bandit.py:30:update" MAIN); /* the peak */
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, DATA), rounds > 10 ? 3 * MIB : 0);
        CHECK_SUMS(j);
        job_free(j);
    }
}

MT_MAIN(MT_RUN(what_outlasts_others_of_its_line) MT_RUN(a_checkpoint_beside_its_model)
            MT_RUN(one_tensor_for_each_layer) MT_RUN(a_model_that_was_read)
                MT_RUN(gradients_that_no_optimizer_uses) MT_RUN(state_that_is_one_block_a_weight)
                    MT_RUN(data_of_the_jobs_own) MT_RUN(a_bank_that_passes_filled))
