/* Roles of tensors: each from a trace made for it, every byte in exactly one after every event. */
#include "analysis/metrics/leak.h"
#include "analysis/metrics/stacks.h"
#include "analysis/roles/rules.h"
#include "role_make.h"

#include <time.h>

#define STEPS UINT64_C(5)

static void params(struct job *j)
{
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, PARAM_BYTES, S_INIT);
    drop(j, put(j, 7 * MIB, S_INIT)); /* a weight on its way */
}

static void expect_training(struct job *j)
{
    MT_CHECK_EQ(MADE(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, ACTIVATION), STEPS * MICROS * LAYERS * ACT_BYTES);
    MT_CHECK_EQ(MADE(j, LOGITS), STEPS * MICROS * 2 * LOGITS_BYTES);
    /* those that are added to the first are gradients too */
    MT_CHECK_EQ(MADE(j, GRAD), STEPS * MICROS * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_GRAD], (LAYERS + 1) * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, OPTIM_TEMP), STEPS * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, UNKNOWN), 0);
    MT_CHECK_EQ(j->f->n_steps_all, STEPS);
    MT_CHECK_EQ(j->f->n_micros_all, STEPS * MICROS);
    MT_CHECK_EQ(j->f->growth.n, 0);
    MT_CHECK_EQ(j->f->vocab, 32000);
    MT_CHECK_EQ(j->f->logits_tokens, 64);
    CHECK_SUMS(j);
}

static void train(bool empty_backward, bool grads_stay)
{
    struct job *j = job_new();
    struct model m = {.empty_backward = empty_backward, .grads_stay = grads_stay};
    params(j);
    for (uint64_t i = 0; i < STEPS; i++)
        train_step(j, &m);
    MT_CHECK(analyze(j));
    if (j->f != NULL) {
        expect_training(j);
        MT_CHECK_STR(j->f->steps_from, "optimizer phases");
        for (uint32_t i = 0; i < j->f->steps.n; i++) {
            MT_CHECK_EQ(j->f->steps.p[i].n_micros, MICROS);
            MT_CHECK(j->f->steps.p[i].whole == (i != 0));
        }
        for (uint32_t i = 0; i < j->f->micros.n; i++) {
            MT_CHECK(j->f->micros.p[i].has_backward);
            MT_CHECK_EQ(j->f->micros.p[i].tokens_bytes, LOGITS_BYTES);
        }
    }
    job_free(j);
}

MT_TEST(steady_training_has_every_role_and_no_growth) { train(false, false); }
MT_TEST(gradients_without_frames) { train(true, false); }
MT_TEST(gradients_that_stay_are_made_once) { train(false, true); }

MT_TEST(first_step_state_is_no_leak)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    params(j);
    for (int i = 0; i < 4; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK(j->f->steps.p[0].live_end > j->f->steps.p[0].live_begin + LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->growth.n, 0);
    job_free(j);
}

MT_TEST(a_leak_has_its_slope)
{
    struct job *j = job_new();
    struct model m = {.leak = 11 * MIB};
    params(j);
    for (int i = 0; i < 7; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_ASSERT(j->f->growth.n == 1);
    MT_CHECK_STR(j->f->growth.p[0].label, "u/model.py:8 scratch");
    MT_CHECK_EQ((uint64_t)(j->f->growth.p[0].slope + 0.5), 11 * MIB);
    MT_CHECK_EQ(j->f->growth.p[0].conf, MT_CONF_MARKED);
    MT_CHECK(j->f->growth.p[0].r2 > 0.999);
    MT_CHECK_EQ(j->f->growth.p[0].role, MT_ROLE_ACTIVATION);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(recorded_late)
{
    /* Parameters, both moments and a buffer were there before: told apart by the sizes of the
     * gradients. */
    struct job *j = job_new();
    struct model m = {.recorded_late = true};
    for (int i = 0; i < 3 * LAYERS; i++)
        (void)old_block(j, PARAM_BYTES);
    (void)old_block(j, 9 * MIB);
    for (int i = 0; i < 2; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, BEFORE), 9 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(state_that_is_made_anew_every_step)
{
    /* state["m"] = beta * m + ...: the moments of before are freed in the first optimizer step. */
    struct job *j = job_new();
    struct model m = {.recorded_late = true};
    uint64_t state[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        (void)old_block(j, PARAM_BYTES);
        state[i] = old_block(j, PARAM_BYTES);
    }
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < MICROS; k++)
            micro_batch(j, &m, k == 0);
        for (int i = 0; i < LAYERS; i++) {
            uint64_t fresh = put(j, PARAM_BYTES, S_ADAM);
            drop(j, state[i]);
            state[i] = fresh;
        }
        for (int i = 0; i < LAYERS; i++) {
            drop(j, m.grad[i]);
            m.grad[i] = 0;
        }
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 3 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_PARAM], LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_OPTIM_STATE], (LAYERS + 1) * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_BEFORE], 0);
    MT_CHECK_EQ(j->f->growth.n, 0);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(out_of_memory_in_the_forward_keeps_its_activations)
{
    struct job *j = job_new();
    uint64_t act[LAYERS], grad = 0;
    params(j);
    for (int i = 0; i < LAYERS; i++)
        act[i] = put(j, ACT_BYTES, S_FORWARD);
    bt_event(&j->bt, "oom", 12345, 900 * MIB, S_FORWARD);
    for (int i = 0; i < LAYERS; i++)
        drop(j, act[i]); /* the exception unwinds */
    (void)grad;
    MT_ASSERT(analyze(j));
    MT_CHECK(j->a->devices.p[0].focus_is_oom);
    MT_CHECK_EQ(AT_FOCUS(j, ACTIVATION), LAYERS * ACT_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

#define S_HEAD SITE "torch/nn/modules/linear.py:1:forward|" S_CALL "|" S_UPDATE
#define S_GATHER                                                                                   \
    SITE "torch/distributed/fsdp/_fully_shard/"                                                    \
         "_fsdp_collectives.py:3:foreach_all_gather_copy_out|" S_UPDATE
#define S_SAVE SITE "torch/distributed/checkpoint/state_dict_saver.py:3:save|" S_UPDATE
#define SMOOTH(tokens, width) (UINT64_C(32000) * (tokens) * (width))
#define ROWS(tokens, width) (UINT64_C(151936) * (tokens) * (width))

/* The head's output has no frame that says what it is. The request that fails does, or its size
 * does. */
static void logits_of(const char *stack)
{
    struct job *j = job_new();
    uint64_t head;
    params(j);
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, ACT_BYTES, S_FORWARD);
    head = put(j, ROWS(96, 2), S_HEAD);
    (void)put(j, ROWS(96, 4), S_HEAD);
    bt_event(&j->bt, "oom", 12345, ROWS(96, 4), stack);
    drop(j, head);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, LOGITS), ROWS(96, 6));
    MT_CHECK_EQ(AT_FOCUS(j, ACTIVATION), LAYERS * ACT_BYTES);
    MT_CHECK_EQ(j->f->vocab, 151936);
    MT_CHECK_EQ(j->f->logits_tokens, 96);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(logits_by_the_request_that_failed) { logits_of(S_LOSS); }
MT_TEST(logits_by_their_size_alone) { logits_of(S_FORWARD); }

#define S_LOGP SITE "verl/workers/fsdp_workers.py:8:compute_log_prob" MAIN
#define S_LOGP_FORWARD "/home/u/model.py:7:decoder|" S_CALL "|" S_LOGP
#define S_LOGP_HEAD SITE "torch/nn/modules/linear.py:1:forward|" S_CALL "|" S_LOGP
#define S_ENTROPY SITE "verl/utils/torch_functional.py:3:entropy_from_logits|" S_LOGP

/* The log-probs are computed with few tokens, and their frames prove the vocabulary; training has
 * more than twice as many, and a loss of its own that no frame names. `width` bytes of the head's
 * output there, and what lies beside it. */
static void logits_of_another_pass(unsigned width, bool with_half, uint64_t weight, bool found)
{
    const uint64_t large = ROWS(1200, 1) * width;
    struct job *j = job_new();
    uint64_t few[3], half = 0;
    params(j);
    if (weight != 0)
        (void)put(j, weight, S_INIT);
    few[0] = put(j, ACT_BYTES, S_LOGP_FORWARD);
    few[1] = put(j, ROWS(96, 2), S_LOGP_HEAD);
    few[2] = put(j, ROWS(96, 4), S_ENTROPY);
    for (int i = 0; i < 3; i++)
        drop(j, few[i]);
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, ACT_BYTES, S_FORWARD);
    if (with_half)
        half = put(j, large / 2, S_HEAD);
    (void)put(j, large, S_HEAD);
    (void)put(j, large, S_BACKWARD);
    bt_event(&j->bt, "oom", 12345, large, S_BACKWARD);
    if (half != 0)
        drop(j, half);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 151936);
    MT_CHECK_EQ(AT_FOCUS(j, LOGITS), found ? 2 * large + (with_half ? large / 2 : 0) : 0);
    MT_CHECK_EQ(AT_FOCUS(j, GRAD), found ? 0 : large);
    MT_CHECK_EQ(j->f->logits_tokens, found ? 1200 : 96);
    MT_CHECK_EQ(j->f->logits_elem, found ? width : 4);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(logits_of_a_pass_with_larger_batches)
{
    logits_of_another_pass(2, false, 0, true);
    logits_of_another_pass(4, true, 0, true);
    /* the head in the type of the pass, as large as 1200 rows */
    logits_of_another_pass(2, false, ROWS(1200, 4), false);
}

/* The head's output in 16 bits before a loss in chunks, and in another pass a larger one with its
 * copy in 32 bits. */
static void logits_in_chunks(bool larger)
{
    struct job *j = job_new();
    uint64_t few[3];
    params(j);
    few[0] = put(j, ACT_BYTES, S_LOGP_FORWARD);
    few[1] = put(j, ROWS(960, 2), S_LOGP_HEAD);
    few[2] = put(j, ROWS(96, 4), S_ENTROPY);
    drop(j, put(j, ROWS(96, 2), S_ENTROPY));
    for (int i = 0; i < 3; i++)
        drop(j, few[i]);
    (void)put(j, ACT_BYTES, S_FORWARD);
    if (larger) {
        (void)put(j, ROWS(1200, 2), S_HEAD);
        (void)put(j, ROWS(1200, 4), S_HEAD);
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 151936);
    MT_CHECK_EQ(j->f->logits_tokens, larger ? 1200 : 960);
    MT_CHECK_EQ(j->f->logits_elem, larger ? 4 : 2);
    job_free(j);
}

MT_TEST(the_type_of_the_logits_is_that_of_the_largest)
{
    logits_in_chunks(false);
    logits_in_chunks(true);
}

/* A loss that takes half of its rows at a time in 32 bits, each as large as the head's output in
 * 16: two operations of one line, then another's. CPython has one frame of its own more in the
 * first. */
static void chunks_as_large_as_the_head(unsigned chunks)
{
    static const char *const of[][2] = {
        {S_ENTROPY, "??:0:PyObject_Vectorcall|" S_ENTROPY},
        {SITE "verl/utils/torch_functional.py:8:entropy_from_logits|" S_LOGP, SITE
         "verl/utils/torch_functional.py:8:entropy_from_logits|??:0:PyObject_Vectorcall|" S_LOGP}};
    const uint64_t size = ROWS(1920, 2);
    struct job *j = job_new();
    uint64_t head, one, two;
    params(j);
    (void)put(j, ACT_BYTES, S_LOGP_FORWARD);
    head = put(j, size, S_LOGP_HEAD);
    for (unsigned i = 0; i < chunks; i++) {
        one = put(j, size, of[0][i == 0]);
        two = put(j, size, of[0][i == 0]);
        drop(j, one);
        drop(j, put(j, size, of[1][i == 0]));
        drop(j, two);
    }
    drop(j, head);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 151936);
    MT_CHECK_EQ(j->f->logits_tokens, chunks == 2 ? 1920 : 960);
    MT_CHECK_EQ(j->f->logits_elem, chunks == 2 ? 2 : 4);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(the_type_of_the_logits_by_their_chunks)
{
    chunks_as_large_as_the_head(2);
    chunks_as_large_as_the_head(1);
}

/* Rounded to PyTorch's 512 bytes; in a backward pass the gradient of the head is whole rows too. */
MT_TEST(requests_that_are_rows_of_the_vocabulary)
{
    struct mt_role_facts f = {.vocab = 151936, .vocab_split = 1, .logits_tokens = 96};
    MT_CHECK(mt_is_logits_request(&f, ROWS(70, 2), false));
    MT_CHECK(mt_is_logits_request(&f, ROWS(70, 2) + 511, false));
    MT_CHECK(!mt_is_logits_request(&f, ROWS(70, 2) + 512, false));
    MT_CHECK(!mt_is_logits_request(&f, ROWS(63, 2), false)); /* a few rows are anything */
    MT_CHECK(!mt_is_logits_request(&f, ROWS(1024, 2), true));
    MT_CHECK(mt_is_logits_request(&f, ROWS(96, 2), true) &&
             mt_is_logits_request(&f, ROWS(96, 4), true));
    f.vocab = 0;
    MT_CHECK(!mt_is_logits_request(&f, ROWS(96, 2), false));
    f = (struct mt_role_facts){
        .vocab = 32000, .vocab_split = 1, .vocab_is_smooth = true, .logits_tokens = 250};
    MT_CHECK(!mt_is_logits_request(&f, UINT64_C(4000) * 11008 * 2, false)); /* of a layer */
    MT_CHECK(mt_is_logits_request(&f, SMOOTH(250, 2), false) &&
             mt_is_logits_request(&f, SMOOTH(250, 4), false));
    MT_CHECK(mt_is_logits_request(&f, SMOOTH(246, 4), false) &&
             !mt_is_logits_request(&f, SMOOTH(240, 4), false)); /* four sequences, shifted */
}

/* A bucket is known by its size, and what lies beside it is a parameter, in two types or one. */
MT_TEST(the_largest_tensor_of_a_weight_synchronisation)
{
    struct mt_owner owners[] = {
        {.largest = 512 * MIB, .bytes = 512 * MIB, .attr = {.phase = MT_PH_WEIGHT_SYNC}},
        {.largest = 600 * MIB, .bytes = 900 * MIB, .attr = {.phase = MT_PH_WEIGHT_SYNC}},
        {.largest = 700 * MIB, .bytes = 700 * MIB, .attr = {.phase = MT_PH_TRAIN_ACTOR}}};
    struct mt_device_analysis *d = calloc(1, sizeof *d);
    MT_ASSERT(d != NULL);
    MT_CHECK(mt_sync_tensor(d, 0) == 0);
    d->owners.p = owners;
    d->owners.n = 3;
    MT_CHECK(mt_sync_tensor(d, 0) == 300 * MIB);           /* 600 in 32 bits, 300 beside it */
    MT_CHECK(mt_sync_tensor(d, 600) == 0);                 /* set in MiB */
    MT_CHECK(mt_sync_tensor(d, (double)(600 * MIB)) == 0); /* or in bytes */
    owners[1].bytes = 600 * MIB;
    MT_CHECK(mt_sync_tensor(d, 0) == 600 * MIB);
    free(d);
}

/* Every pass has more tokens than the one before: none of them costs a look at all events. */
MT_TEST(passes_that_grow)
{
    enum { N = 20000 };
    struct job *j = job_new();
    clock_t before;
    drop(j, put(j, ROWS(96, 4), S_ENTROPY));
    for (uint64_t i = 0; i < N; i++) {
        drop(j, put(j, ROWS(400 + i, 2), S_HEAD));
        drop(j, put(j, MIB, S_BACKWARD));
    }
    before = clock();
    MT_ASSERT(analyze(j));
    MT_CHECK((double)(clock() - before) / CLOCKS_PER_SEC < 4.0);
    MT_CHECK_EQ(j->f->vocab, 151936);
    job_free(j);
}

MT_TEST(a_size_that_no_vocabulary_divides_is_no_logits)
{
    struct job *j = job_new();
    params(j);
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, 96 * MIB, S_HEAD);
    bt_event(&j->bt, "oom", 12345, 192 * MIB, S_FORWARD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, LOGITS), 0);
    MT_CHECK_EQ(AT_FOCUS(j, ACTIVATION), LAYERS * ACT_BYTES + 96 * MIB);
    MT_CHECK_EQ(j->f->vocab, 0);
    job_free(j);
}

/* 1000 tokens x a layer of 5632 are 176 whole rows of a vocabulary of 32000, for both share the
 * factor 125: chance, and no logits. A copy in another type and a shift by one token are. */
MT_TEST(layers_that_are_whole_rows_by_chance)
{
    const uint64_t layer = UINT64_C(1000) * 5632 * 4, shifted = UINT64_C(999) * 32000 * 4,
                   half = UINT64_C(1000) * 32000 * 2;
    struct job *j = job_new();
    params(j);
    for (int i = 0; i < 22; i++)
        (void)put(j, layer, S_FORWARD);
    (void)put(j, half, S_FORWARD);
    (void)put(j, shifted, S_LOSS);
    bt_event(&j->bt, "oom", 12345, shifted, S_LOSS);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 32000);
    MT_CHECK_EQ(j->f->logits_tokens, 999);
    MT_CHECK_EQ(AT_FOCUS(j, LOGITS), half + shifted);
    MT_CHECK_EQ(AT_FOCUS(j, ACTIVATION), 22 * layer);
    CHECK_SUMS(j);
    job_free(j);
}

/* Weights of 1600 x 6400, cast for each layer and kept, are 1024 rows of a vocabulary of 10000, and
 * nothing in the pass is larger. */
MT_TEST(layers_as_large_as_the_logits)
{
    const uint64_t cast = UINT64_C(1600) * 6400 * 2, logits = UINT64_C(800) * 10000 * 4;
    struct job *j = job_new();
    params(j);
    for (int i = 0; i < 48; i++)
        (void)put(j, cast, S_FORWARD);
    (void)put(j, logits, S_LOSS);
    bt_event(&j->bt, "oom", 12345, logits, S_LOSS);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 10000);
    MT_CHECK(AT_FOCUS(j, LOGITS) <= logits + cast); /* the last has none after it */
    MT_CHECK(AT_FOCUS(j, ACTIVATION) >= 47 * cast);
    CHECK_SUMS(j);
    job_free(j);
}

#define S_CRITIC SITE "verl/workers/fsdp_workers.py:8:update_critic" MAIN
#define S_CRITIC_MLP "/home/u/model.py:9:mlp|" S_CALL "|" S_CRITIC
#define S_CRITIC_NORM "/home/u/model.py:8:norm|" S_CALL "|" S_CRITIC

/* Tokens that are a multiple of 125: a layer's block of 14336 columns is whole rows of a vocabulary
 * of 32000, whatever the pass. Only where the head makes a block once, after the layers, is it of
 * logits. */
static void layers_of_another_pass(bool head)
{
    const uint64_t mlp = UINT64_C(4000) * 14336 * 2, hidden = UINT64_C(4000) * 4096 * 2;
    struct job *j = job_new();
    uint64_t few[2], up;
    params(j);
    few[0] = put(j, ACT_BYTES, S_LOGP_FORWARD);
    few[1] = put(j, SMOOTH(96, 4), S_LOSS);
    for (int i = 0; i < 2; i++)
        drop(j, few[i]);
    for (int i = 0; i < LAYERS; i++) {
        (void)put(j, hidden, head ? S_FORWARD_TEMP : S_CRITIC_NORM);
        (void)put(j, mlp, head ? S_FORWARD : S_CRITIC_MLP);
        (void)put(j, mlp, head ? S_FORWARD : S_CRITIC_MLP);
    }
    (void)put(j, hidden, head ? S_FORWARD_TEMP : S_CRITIC_NORM);
    if (head)
        (void)put(j, SMOOTH(4000, 2), S_HEAD);
    up = put(j, hidden, S_BACKWARD);
    drop(j, put(j, mlp, S_BACKWARD));
    drop(j, put(j, ACT_BYTES, S_BACKWARD));
    drop(j, up);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 32000);
    MT_CHECK_EQ(MADE(j, LOGITS), SMOOTH(96, 4) + (head ? SMOOTH(4000, 2) : 0));
    MT_CHECK_EQ(j->f->logits_tokens, head ? 2000 : 96); /* 4 bytes an element where that divides */
    MT_CHECK_EQ(MADE(j, ACTIVATION) - ACT_BYTES, (2 * LAYERS) * mlp + (LAYERS + 1) * hidden);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(layers_of_another_pass_that_are_whole_rows)
{
    layers_of_another_pass(false);
    layers_of_another_pass(true);
}

/* The norm before the head makes whole rows as well; the loss takes its logits in chunks that are
 * smaller. */
MT_TEST(what_a_layer_makes_is_not_in_chunks)
{
    const uint64_t hidden = UINT64_C(4000) * 4096 * 2;
    struct job *j = job_new();
    params(j);
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < 2; k++)
            (void)put(j, hidden, S_LOGP_FORWARD);
    (void)put(j, hidden, "/home/u/model.py:8:norm|" S_CALL "|" S_LOGP);
    (void)put(j, SMOOTH(250, 4), S_ENTROPY);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 32000);
    MT_CHECK_EQ(j->f->logits_tokens, 250);
    MT_CHECK_EQ(MADE(j, LOGITS), SMOOTH(250, 4));
    job_free(j);
}

/* Pictures and grids have sizes with the factors of 32000 as well: without a frame that speaks of
 * logits such a vocabulary proves nothing. */
MT_TEST(a_smooth_vocabulary_needs_frames)
{
    struct job *j = job_new();
    (void)put(j, UINT64_C(40704) * 32000 * 4, S_FORWARD);
    (void)put(j, UINT64_C(40704) * 32000, S_FORWARD);
    bt_event(&j->bt, "oom", 12345, UINT64_C(40704) * 32000 * 4, S_FORWARD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 0);
    MT_CHECK_EQ(AT_FOCUS(j, LOGITS), 0);
    job_free(j);
}

/* Blocks of the size of cuBLAS's larger workspace that every layer keeps are tensors. */
MT_TEST(workspaces_are_few)
{
    for (unsigned n = 2; n <= 40; n += 38) {
        struct job *j = job_new();
        char stack[256];
        params(j);
        for (unsigned i = 0; i < n; i++) {
            (void)snprintf(stack, sizeof stack, "/home/u/model.py:%u:scores|" S_CALL "|" S_UPDATE,
                           100 + i);
            (void)put(j, 32 * MIB, stack);
        }
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, WORKSPACE), n <= 8 ? n * 32 * MIB : 0);
        CHECK_SUMS(j);
        job_free(j);
    }
}

/* The embedding has as many rows as the vocabulary, like logits. In a backward pass the size of a
 * gathered parameter decides. */
MT_TEST(the_gradient_of_the_embedding_is_no_logits)
{
    struct job *j = job_new();
    uint64_t whole, act[LAYERS];
    params(j);
    whole = put(j, ROWS(64, 2), S_GATHER);
    for (int i = 0; i < LAYERS; i++)
        act[i] = put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, ROWS(96, 4), S_LOSS);
    (void)put(j, ROWS(96, 4), S_BACKWARD);
    (void)put(j, ACT_BYTES, S_BACKWARD);
    (void)put(j, ROWS(64, 2), S_BACKWARD);
    bt_event(&j->bt, "oom", 12345, 900 * MIB, S_BACKWARD);
    for (int i = 0; i < LAYERS; i++)
        drop(j, act[i]);
    drop(j, whole);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, GRAD), ROWS(64, 2));
    MT_CHECK_EQ(AT_FOCUS(j, UNSHARDED), ROWS(64, 2));
    MT_CHECK_EQ(AT_FOCUS(j, LOGITS), ROWS(96, 8));
    CHECK_SUMS(j);
    job_free(j);
}

/* A full state dict, and a model of which each rank keeps a part. */
MT_TEST(whole_parameters_of_a_checkpoint_and_before_sharding)
{
    struct job *j = job_new();
    uint64_t whole[60];
    for (int i = 0; i < 60; i++)
        whole[i] = put(j, PARAM_BYTES + (uint64_t)(i % 7) * 512, S_INIT);
    (void)put(j, 4 * PARAM_BYTES, S_INIT);
    bt_event(&j->bt, "segment_alloc", 4096, 2 * MIB, S_INIT);
    for (int i = 0; i < 60; i++)
        drop(j, whole[i]);
    for (int i = 0; i < 30; i++)
        whole[i] = put(j, PARAM_BYTES, S_SAVE);
    for (int i = 0; i < 30; i++)
        drop(j, whole[i]);
    bt_event(&j->bt, "segment_free", 4096, 2 * MIB, "");
    MT_ASSERT(analyze(j));
    MT_CHECK(MADE(j, PARAM) >= 64 * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, CHECKPOINT), 30 * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, TEMP), 0);
    CHECK_SUMS(j);
    job_free(j);
}

#define S_LOAD SITE "torch/serialization.py:1471:load" MAIN

/* What is read from a checkpoint and let go is a copy; what stays became the model, and a read that
 * fails leaves copies. */
MT_TEST(what_is_read_from_a_checkpoint)
{
    struct job *j = job_new();
    uint64_t read[8];
    for (int i = 0; i < 8; i++)
        read[i] = put(j, PARAM_BYTES, S_LOAD);
    for (int i = 0; i < 6; i++)
        drop(j, read[i]);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, CHECKPOINT), 6 * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

/* Layers that bring their weights to the device when they are called and let them go for the next:
 * parameters, and one forward pass. */
MT_TEST(weights_that_layers_fetch)
{
    struct job *j = job_new();
    for (int i = 0; i < LAYERS; i++) {
        uint64_t w =
            put(j, PARAM_BYTES,
                SITE "torch/nn/modules/module.py:3:convert|" SITE
                     "torch/nn/modules/module.py:2:_apply|" SITE
                     "torch/nn/modules/module.py:4:to|/home/u/offload.py:9:fetch|" S_CALL MAIN);
        for (int k = 0; k < 12; k++)
            drop(j, put(j, SCRATCH_BYTES, "/home/u/model.py:8:scratch|" S_CALL MAIN));
        drop(j, w);
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, TEMP), LAYERS * 12 * SCRATCH_BYTES);
    MT_CHECK_EQ(j->f->occurrences.n, 1);
    CHECK_SUMS(j);
    job_free(j);
}

/* What is kept by code that runs after the optimizer's step is not its state. */
MT_TEST(what_follows_the_optimizer_is_not_its_state)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    params(j);
    for (int i = 0; i < 3; i++) {
        train_step(j, &m);
        (void)put(j, 11 * MIB, "/home/u/run.py:44:append_metrics|" S_UPDATE);
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, UNKNOWN), 3 * 11 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* A large segment's block keeps a rest of 1 MiB or less; a free block behind it would be larger. */
MT_TEST(rests_of_blocks_serve_nobody)
{
    struct job *j = job_new();
    bt_event(&j->bt, "segment_alloc", 0x40000000, 20 * MIB, S_FORWARD);
    bt_event(&j->bt, "alloc", 0x40000000, 4 * MIB, S_FORWARD);
    bt_event(&j->bt, "alloc", 0x40000000 + 8 * MIB, 11 * MIB, S_FORWARD);
    bt_event(&j->bt, "oom", 12345, 30 * MIB, S_FORWARD);
    bt_segment(&j->bt, 0, 0x40000000, 20 * MIB, "4194304a 4194304i 12582912a", "");
    j->t = bt_done(&j->bt);
    struct mt_analyze_opts o = {
        .phases = j->rules.phases, .fixes = j->rules.fixes, .only_device = -1, .framework = -1};
    struct mt_err err = {.rc = MT_OK};
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) >= 0);
    MT_CHECK(j->a->devices.p[0].focus.holes_known);
    MT_CHECK_EQ(j->a->devices.p[0].focus.n_holes, 2);
    MT_CHECK_EQ(j->a->devices.p[0].focus.free_usable, 4 * MIB);
    job_free(j);
}

/* One block of `size` with this stack among some forward work; what was made of it. */
static uint64_t one(enum mt_role role, uint64_t size, const char *stack, bool stays)
{
    struct job *j = job_new();
    uint64_t b, made = 0;
    params(j);
    drop(j, put(j, ACT_BYTES, S_FORWARD));
    b = put(j, size, stack);
    if (!stays)
        drop(j, b);
    drop(j, put(j, ACT_BYTES, S_BACKWARD));
    drop(j, put(j, PARAM_BYTES, S_ADAM));
    drop(j, put(j, ACT_BYTES, S_FORWARD));
    if (analyze(j)) {
        made = j->f->alloc_bytes[role] - (role == MT_ROLE_PARAM ? LAYERS * PARAM_BYTES : 0) -
               (role == MT_ROLE_OPTIM_TEMP ? PARAM_BYTES : 0);
        CHECK_SUMS(j);
    }
    job_free(j);
    return made;
}
#define IS(role, stack, stays) MT_CHECK_EQ(one(MT_ROLE_##role, 13 * MIB, stack, stays), 13 * MIB)

MT_TEST(roles_by_frames)
{
    IS(UNSHARDED,
       SITE "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:1:foreach_all_gather|" S_CALL
            "|" S_UPDATE,
       false);
    IS(UNSHARDED,
       SITE "torch/distributed/fsdp/_flat_param.py:1:_alloc_padded_unsharded_flat_param|" S_CALL
            "|" S_UPDATE,
       false);
    IS(GRAD_REDUCE,
       SITE "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:2:foreach_reduce|" S_BACKWARD,
       false);
    IS(GRAD,
       SITE "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:2:foreach_reduce|" S_BACKWARD,
       true);
    IS(GRAD_REDUCE, "??:0:c10d::Reducer::initialize_buckets(std::vector<int>)|" S_UPDATE, true);
    IS(GRAD, "??:0:torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)|" S_BACKWARD,
       false);
    IS(RECOMPUTE,
       "/home/u/model.py:7:decoder|" S_CALL "|" SITE
       "torch/utils/checkpoint.py:4:unpack_hook|" S_BACKWARD,
       false);
    IS(COMM, SITE "megatron/core/utils.py:3:get_tensor|" S_CALL "|" S_UPDATE, true);
    IS(OFFLOAD, SITE "verl/utils/activation_offload.py:3:tensor_push|" S_CALL "|" S_UPDATE, false);
    IS(OPTIM_STATE, SITE "verl/utils/fsdp_utils.py:3:load_fsdp_optimizer|" S_UPDATE, true);
    IS(PARAM, SITE "verl/utils/fsdp_utils.py:3:load_fsdp_model_to_gpu|" S_UPDATE, true);
    IS(WEIGHT_SYNC, SITE "verl/workers/fsdp_workers.py:3:rollout_mode" MAIN, false);
    IS(KV_CACHE,
       SITE "vllm/worker/cache_engine.py:83:_allocate_kv_cache|" SITE
            "vllm/worker/worker.py:2:initialize_cache" MAIN,
       true);
    IS(ENGINE_WEIGHTS,
       SITE "vllm/model_executor/layers/linear.py:178:create_weights|" SITE
            "vllm/worker/worker.py:2:load_model" MAIN,
       true);
    IS(GRAPH_POOL, SITE "vllm/v1/worker/gpu_model_runner.py:2:capture_model" MAIN, true);
    IS(WORKSPACE, "??:0:at::cuda::getCurrentCUDABlasHandle()|" S_FORWARD, true);
    IS(GRAD_REDUCE,
       SITE "megatron/core/distributed/param_and_grad_buffer.py:9:start_grad_sync|" S_BACKWARD,
       false);
    IS(OPTIM_TEMP, SITE "torch/nn/utils/clip_grad.py:9:clip_grad_norm_|" S_UPDATE, false);
}

MT_TEST(workspaces_by_size)
{
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 8519680, S_FORWARD, true), 8519680);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 8519680, S_BACKWARD, true), 8519680);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 8519680, S_FORWARD, false), 0);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 33554432, S_FORWARD, true), 33554432);
    /* may as well be a gradient */
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 33554432, S_BACKWARD, true), 0);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 33554433, S_FORWARD, true), 0);
}

MT_TEST(parameter_and_gradient_buffer_by_the_order_of_lines)
{
#define BUFFER(line)                                                                               \
    SITE "megatron/core/distributed/param_and_grad_buffer.py:" line ":__init__|" S_INIT
    struct job *j = job_new();
    (void)put(j, 3 * MIB, BUFFER("586"));
    (void)put(j, 6 * MIB, BUFFER("592"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), 3 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD), 6 * MIB);
    job_free(j);
    j = job_new();
    /* without a distributed optimizer there is only the gradients' */
    (void)put(j, 6 * MIB, BUFFER("592"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), 0);
    MT_CHECK_EQ(MADE(j, GRAD), 6 * MIB);
    job_free(j);
}

/* The constructor stands in many stacks: only the lines that make the buffers themselves have an
 * order. */
MT_TEST(lines_that_only_call_have_no_order)
{
#define ZERO3(line)                                                                                \
    SITE "deepspeed/runtime/zero/stage3.py:" line ":_setup_for_real_optimizer|" S_INIT
    struct job *j = job_new();
    (void)put(j, 5 * MIB,
              SITE "deepspeed/runtime/zero/stage3.py:1091:_create_fp32_partitions|" ZERO3("640"));
    (void)put(j, 3 * MIB, ZERO3("702"));
    (void)put(j, 6 * MIB, ZERO3("711"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 5 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD_REDUCE), 3 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD), 6 * MIB);
    job_free(j);
}

/* ZeRO 1 and 2: the fp32 master alone, or with a buffer behind it where the optimizer is on the
 * host. */
MT_TEST(beside_a_rule_for_the_function_last_is_the_highest_line_of_several)
{
#define ZERO2(line) SITE "deepspeed/runtime/zero/stage_1_and_2.py:" line ":__init__|" S_INIT
    struct job *j = job_new();
    (void)put(j, 5 * MIB, ZERO2("489"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 5 * MIB);
    job_free(j);
    j = job_new();
    (void)put(j, 5 * MIB, ZERO2("489"));
    (void)put(j, 6 * MIB, ZERO2("588"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 5 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD_REDUCE), 6 * MIB);
    job_free(j);
}

MT_TEST(private_pools_are_named_by_their_frames)
{
    struct job *j = job_new();
    uint64_t weights = put(j, 4 * MIB, SITE "vllm/worker/worker.py:2:load_model" MAIN), other, kv;
    other = put(j, MIB, "");
    kv = put(j, 40 * MIB,
             SITE "vllm/worker/cache_engine.py:83:_allocate_kv_cache|" SITE
                  "vllm/worker/worker.py:2:initialize_cache" MAIN);
    (void)put(j, 2 * MIB, "/home/u/run.py:1:<module>");
    /* where the blocks lie is known from the segments of the end state */
    for (unsigned i = 0; i < j->n; i++) {
        char block[32];
        const char *stack = j->live[i].addr == kv ? SITE
                                "vllm/worker/cache_engine.py:83:_allocate_kv_cache"
                            : j->live[i].addr == weights ? SITE "vllm/worker/worker.py:2:load_model"
                                                         : "";
        snprintf(block, sizeof block, "%" PRIu64 "a", j->live[i].size);
        bt_segment(&j->bt, 0, j->live[i].addr, j->live[i].size, block, stack);
    }
    j->n = 0;
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    /* pool ids: written into the sealed trace, as the readers do */
    {
        struct mt_analyze_opts o = {.phases = j->rules.phases,
                                    .fixes = j->rules.fixes,
                                    .only_device = -1,
                                    .framework = -1,
                                    .verify = true};
        struct mt_err err = {.rc = MT_OK};
        j->t = bt_done(&j->bt);
        for (uint32_t i = 0; i < j->t->segments.n; i++) {
            struct mt_segment *s = &j->t->segments.p[i];
            s->pool_known = 1;
            s->pool[1] = s->addr == kv ? 2 : s->addr == weights || s->addr == other ? 1 : 0;
        }
        MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
        j->f = &j->a->devices.p[0].roles;
    }
    MT_CHECK_EQ(j->f->pools.n, 2);
    MT_CHECK_EQ(AT_FOCUS(j, KV_CACHE), 40 * MIB);
    /* with the block in their pool that has no frames */
    MT_CHECK_EQ(AT_FOCUS(j, ENGINE_WEIGHTS), 5 * MIB);
    MT_CHECK_EQ(j->f->why_at_focus[MT_WHY_POOL], 5 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* A trainer that runs inside torch_memory_saver has all it owns in one private pool: frames say
 * which block is what. */
MT_TEST(a_trainers_private_pool_is_for_no_single_purpose)
{
    static const struct {
        const char *stack;
        uint64_t mib;
    } made[] = {
        {SITE "megatron/core/distributed/param_and_grad_buffer.py:664:__init__|" S_INIT, 20},
        {SITE "megatron/core/distributed/param_and_grad_buffer.py:670:__init__|" S_INIT, 40},
        {SITE "megatron/core/optimizer/"
              "distrib_optimizer.py:373:_build_model_and_main_param_groups|" S_INIT,
         40},
        {SITE "megatron/core/optimizer/__init__.py:373:init_state_fn|" S_INIT, 40},
        {SITE "megatron/core/optimizer/__init__.py:374:init_state_fn|" S_INIT, 40},
        {S_INIT, 200}};
    struct mt_err err = {.rc = MT_OK};
    struct job *j = job_new();
    struct mt_analyze_opts o = {.phases = j->rules.phases,
                                .fixes = j->rules.fixes,
                                .only_device = -1,
                                .framework = -1,
                                .verify = true};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char block[32];
        uint64_t addr = put(j, made[i].mib * MIB, made[i].stack);
        snprintf(block, sizeof block, "%" PRIu64 "a", made[i].mib * MIB);
        bt_segment(&j->bt, 0, addr, made[i].mib * MIB, block, made[i].stack);
    }
    j->n = 0;
    j->t = bt_done(&j->bt);
    for (uint32_t i = 0; i < j->t->segments.n; i++) {
        j->t->segments.p[i].pool_known = 1;
        j->t->segments.p[i].pool[1] = 1;
    }
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), 220 * MIB);
    MT_CHECK_EQ(AT_FOCUS(j, GRAD), 40 * MIB);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 120 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* torch_memory_saver: what is larger names the pool. `weights_seen`, `cache_seen`: their allocation
 * is in the trace. */
static void one_pool(bool weights_seen, bool cache_seen)
{
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct job *j = job_new();
    struct mt_err err = {.rc = MT_OK};
    const char *load = SITE "sglang/srt/layers/layernorm.py:4:__init__|" SITE
                            "sglang/srt/model_executor/model_runner.py:5:load_model" MAIN;
    const char *pool = SITE "sglang/srt/mem_cache/memory_pool.py:6:_create_buffers" MAIN;
    uint64_t weights = weights_seen ? put(j, 2 * MIB, load) : 0x30000000,
             kv = cache_seen ? put(j, 8 * MIB, pool) : 0x40000000;
    bt_segment(&j->bt, 0, weights, 2 * MIB, "2097152a", load);
    bt_segment(&j->bt, 0, kv, 8 * MIB, "8388608a", pool);
    j->n = 0;
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    j->t = bt_done(&j->bt);
    for (uint32_t i = 0; i < j->t->segments.n; i++) {
        j->t->segments.p[i].pool_known = 1;
        j->t->segments.p[i].pool[1] = 1;
    }
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_CHECK_EQ(j->f->pools.p[0].role, MT_ROLE_KV_CACHE);
    MT_CHECK_EQ(AT_FOCUS(j, ENGINE_WEIGHTS), 2 * MIB);
    MT_CHECK_EQ(AT_FOCUS(j, KV_CACHE), 8 * MIB);
    if (weights_seen || cache_seen)
        CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(weights_in_the_pool_of_the_cache_are_told_by_their_phase)
{
    one_pool(true, true);
    one_pool(false, true);
    one_pool(false, false); /* a state without history */
}

/* Before PyTorch 2.12 an allocation does not say its pool, and what a capture makes is gone when it
 * ends: its segments stay. */
MT_TEST(the_pool_of_a_graph_is_known_by_its_segments)
{
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct job *j = job_new();
    struct mt_err err = {.rc = MT_OK};
    const char *capture = SITE "sglang/srt/model_executor/cuda_graph_runner.py:5:capture" MAIN;
    uint64_t inputs = put(j, 2 * MIB, capture), inside = put(j, 8 * MIB, capture);
    drop(j, inside);
    bt_segment(&j->bt, 0, inputs, 2 * MIB, "2097152a", capture);
    bt_segment(&j->bt, 0, inside, 8 * MIB, "8388608i", "");
    j->n = 0;
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    j->t = bt_done(&j->bt);
    for (uint32_t i = 0; i < j->t->segments.n; i++) {
        j->t->segments.p[i].pool_known = 1;
        j->t->segments.p[i].pool[1] = j->t->segments.p[i].addr == inside;
    }
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_ASSERT(j->f->pools.n == 1);
    MT_CHECK_EQ(j->f->pools.p[0].role, MT_ROLE_GRAPH_POOL);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_GRAPH_POOL], 10 * MIB);
    MT_CHECK_EQ(mt_graph_segments(&j->a->devices.p[0], NULL), 8 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* What lay at the addresses of a graph's segment before that was made: once from before the trace,
 * once made in it. */
MT_TEST(what_was_there_before_a_pools_segment_is_not_in_it)
{
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct job *j = job_new();
    struct mt_err err = {.rc = MT_OK};
    const char *capture = SITE "sglang/srt/model_executor/cuda_graph_runner.py:5:capture" MAIN;
    const uint64_t size[] = {16 * MIB, 12 * MIB, 8 * MIB}, at = 0x40000000;
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            bt_event(&j->bt, "segment_alloc", at, size[i], capture);
        if (i != 0)
            bt_event(&j->bt, "alloc", at, size[i], i == 1 ? S_FORWARD : capture);
        bt_event(&j->bt, "free_requested", at, size[i], "");
        bt_event(&j->bt, "free_completed", at, size[i], "");
        if (i == 1)
            bt_event(&j->bt, "segment_free", at, size[0], "");
    }
    bt_segment(&j->bt, 0, at, size[2], "8388608i", "");
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    j->t = bt_done(&j->bt);
    j->t->segments.p[0].pool_known = 1;
    j->t->segments.p[0].pool[1] = 1;
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_CHECK_EQ(j->f->pools.p[0].role, MT_ROLE_GRAPH_POOL);
    MT_CHECK_EQ(j->f->alloc_bytes[MT_ROLE_GRAPH_POOL], size[2]);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_GRAPH_POOL], size[2]);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(memory_of_no_use_to_the_phase)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    params(j);
    train_step(j, &m);
    drop(j, put(j, MIB, SITE "verl/workers/fsdp_workers.py:5:generate_sequences" MAIN));
    MT_ASSERT(analyze(j));
    MT_ASSERT(j->f->occurrences.n == 3);
    MT_CHECK_EQ(j->f->occurrences.p[0].phase, MT_PH_INIT);
    MT_CHECK_EQ(j->f->occurrences.p[0].retained, LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->occurrences.p[1].retained_roles[MT_ROLE_OPTIM_STATE],
                2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->occurrences.p[1].useless, 0);
    MT_CHECK_EQ(j->f->occurrences.p[2].phase, MT_PH_ROLLOUT_GENERATE);
    MT_CHECK_EQ(j->f->occurrences.p[2].useless, 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->occurrences.p[2].peak, j->f->occurrences.p[2].live_begin + MIB);
    for (uint32_t i = 0; i < 3; i++)
        MT_CHECK_EQ(sum(j->f->occurrences.p[i].peak_roles, MT_ROLE_COUNT),
                    j->f->occurrences.p[i].peak);
    job_free(j);
}

MT_TEST(pending_bytes_have_a_role)
{
    struct job *j = job_new();
    uint64_t act, top;
    params(j);
    act = put(j, ACT_BYTES, S_FORWARD);
    bt_event(&j->bt, "free_requested", act, ACT_BYTES, ""); /* another stream still reads it */
    top = put(j, 50 * MIB, S_FORWARD);
    bt_event(&j->bt, "free_completed", act, ACT_BYTES, "");
    for (unsigned i = 0; i < j->n; i++)
        if (j->live[i].addr == act)
            j->live[i] = j->live[--j->n];
    drop(j, top);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->pending_at_focus[MT_ROLE_ACTIVATION] + j->f->pending_at_focus[MT_ROLE_TEMP],
                ACT_BYTES);
    MT_CHECK_EQ(sum(j->f->pending_at_focus, MT_ROLE_COUNT), j->a->devices.p[0].focus.pending);
    job_free(j);
}

MT_TEST(contradictions_still_add_up)
{
    struct job *j = job_new();
    uint64_t a = put(j, 4 * MIB, S_FORWARD);
    bt_event(&j->bt, "alloc", a, 6 * MIB, S_FORWARD);   /* its free was lost */
    bt_event(&j->bt, "free_completed", a, 5 * MIB, ""); /* of another size */
    bt_event(&j->bt, "free_completed", a, 1 * MIB, "");
    (void)put(j, 3 * MIB, S_FORWARD);
    j->live[0].size = 9 * MIB;
    MT_ASSERT(analyze(j));
    CHECK_SUMS(j);
    job_free(j);
}

/* Any order of any frames: the sums hold, and nothing reads beyond its arrays (the sanitizers
 * look). */
MT_TEST(any_sequence_adds_up)
{
    static const char *const stacks[] = {S_INIT,
                                         S_FORWARD,
                                         S_FORWARD_TEMP,
                                         S_LOSS,
                                         S_BACKWARD,
                                         S_ADAM,
                                         S_ADAM_STATE,
                                         "",
                                         "/home/u/run.py:9:<module>",
                                         SITE
                                         "verl/workers/fsdp_workers.py:5:generate_sequences" MAIN,
                                         SITE "verl/workers/fsdp_workers.py:3:rollout_mode" MAIN};
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 40; round++) {
        struct job *j = job_new();
        for (int i = 0; i < 600; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            if (j->n != 0 && (seed >> 40) % 9 < 4)
                drop(j, j->live[(seed >> 20) % j->n].addr);
            else if ((seed >> 33) % 97 == 0)
                bt_event(&j->bt, "oom", 4096, 77 * MIB, stacks[(seed >> 50) % 11]);
            else
                (void)put(j, 1 + (seed >> 24) % (4 * MIB), stacks[(seed >> 50) % 11]);
        }
        MT_ASSERT(analyze(j));
        CHECK_SUMS(j);
        for (uint32_t i = 0; i < j->f->occurrences.n; i++)
            MT_CHECK_EQ(sum(j->f->occurrences.p[i].peak_roles, MT_ROLE_COUNT),
                        j->f->occurrences.p[i].peak);
        for (uint32_t i = 1; i < j->f->steps.n; i++) {
            MT_CHECK_EQ(j->f->steps.p[i].first, j->f->steps.p[i - 1].last + 1);
            MT_CHECK_EQ(j->f->steps.p[i].live_begin, j->f->steps.p[i - 1].live_end);
        }
        job_free(j);
    }
}

MT_TEST(every_allocation_may_fail)
{
    struct job *j = job_new();
    struct model m = {.leak = 3 * MIB};
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct mt_err err = {.rc = MT_OK};
    uint64_t calls;
    params(j);
    for (int i = 0; i < 5; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    mt_analysis_free(j->a);
    calls = mt_mem_calls();
    MT_CHECK_EQ(mt_analyze(&j->a, j->t, &o, &err), MT_OK);
    calls = mt_mem_calls() - calls;
    for (uint64_t n = 1; n <= calls; n += 1 + n / 50) {
        struct mt_analysis *a = NULL;
        mt_mem_fail_after(n);
        MT_CHECK(mt_analyze(&a, j->t, &o, &err) < 0 && a == NULL);
        mt_mem_fail_after(0);
    }
    job_free(j);
}

/* ---- rules ---- */

#define RULE(more)                                                                                 \
    "{\"schema_version\":1,\"roles\":[{\"id\":\"mine\",\"framework\":\"f\",\"role\":\"kv_cache\"," \
    "\"file\":\"u/"                                                                                \
    "model.py\",\"function\":\"decoder\",\"status\":\"G\",\"source\":\"s\"" more "}]}"

static const char *refused(const char *text)
{
    static struct mt_err err;
    struct mt_role_rules *r = NULL;
    memset(&err, 0, sizeof err);
    if (mt_role_rules_load(&r, text, strlen(text), "mine.json", &err) >= 0) {
        mt_role_rules_free(r);
        return "accepted";
    }
    return err.msg;
}

MT_TEST(rule_files_are_read_strictly)
{
    MT_CHECK_STR(refused(RULE("")), "accepted");
    MT_CHECK_STR(refused(RULE(",\"lines\":\"first\",\"note\":\"n\"")), "accepted");
    MT_CHECK_STR(refused("{\"schema_version\":1}"), "accepted");
    MT_CHECK_HAS(refused("{"), "mine.json: line 1, column 1: not valid JSON");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":{}}"), "\"roles\" has to be a list");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":[7]}"), "role rule 1: is not an object");
    MT_CHECK_HAS(refused(RULE(",\"lnes\":\"first\"")), "field \"lnes\": is not known");
    MT_CHECK_HAS(refused(RULE(",\"lines\":\"second\"")),
                 "field \"lines\": \"second\" is not one of first, last");
    MT_CHECK_HAS(refused(RULE(",\"always\":\"yes\"")),
                 "field \"always\": has a meaning for the role grad_reduce only");
    MT_CHECK_STR(
        refused("{\"schema_version\":1,\"roles\":[{\"id\":\"a\",\"framework\":\"f\",\"role\":"
                "\"grad_reduce\",\"file\":"
                "\"a.py\","
                "\"function\":\"f\",\"status\":\"G\",\"source\":\"s\",\"always\":\"yes\"}]}"),
        "accepted");
    MT_CHECK_HAS(refused(RULE(",\"always\":\"no\"")), "field \"always\": has to be \"yes\"");
    MT_CHECK_HAS(refused(RULE(",\"id\":\"b\"")), "field \"id\": is there twice");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":[{\"id\":\"a\",\"framework\":\"f\","
                         "\"role\":\"kv\",\"file\":"
                         "\"a.py\",\"function\":\"f\","
                         "\"status\":\"G\","
                         "\"source\":\"s\"}]}"),
                 "field \"role\": is no role");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":[{\"id\":\"a\"}]}"),
                 "field \"framework\": is missing");
    MT_CHECK_HAS(
        refused("{\"schema_version\":1,\"vocabularies\":[{\"size\":12,\"source\":\"x\"}]}"),
        "from 1000 to");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"vocabularies\":[{\"size\":1200}]}"),
                 "vocabulary 1: field \"source\": is missing");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"vocabularies\":[{\"size\":1200,\"source\":\"x\"},"
                         "{\"size\":1200,"
                         "\"source\":\"x\"}]}"),
                 "twice");
}

MT_TEST(an_overlay_changes_a_role)
{
    struct job *j = job_new();
    struct mt_role_rules *r = NULL;
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct mt_analysis *a = NULL;
    struct mt_err err = {.rc = MT_OK};
    params(j);
    (void)put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, ACT_BYTES, S_FORWARD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, ACTIVATION), 2 * ACT_BYTES);
    MT_ASSERT(mt_role_rules_load(&r, RULE(""), strlen(RULE("")), "mine.json", &err) >= 0);
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    o.roles = r;
    MT_ASSERT(mt_analyze(&a, j->t, &o, &err) == MT_OK);
    MT_CHECK_EQ(a->devices.p[0].roles.alloc_bytes[MT_ROLE_KV_CACHE], 2 * ACT_BYTES);
    mt_analysis_free(a);
    mt_role_rules_free(r);
    job_free(j);
}

MT_TEST(ids)
{
    for (int i = 0; i < MT_ROLE_COUNT; i++) {
        const char *id = mt_role_id((enum mt_role)i);
        MT_CHECK_EQ(mt_role_find(id, strlen(id)), i);
        MT_CHECK(mt_role_words((enum mt_role)i)[0] != '\0');
    }
    MT_CHECK_EQ(mt_role_find("kv", 2), -1);
    for (int i = 0; i < MT_LIFE_COUNT; i++)
        MT_CHECK(mt_life_id((enum mt_life)i)[0] != '\0');
    for (int i = 0; i < MT_WHY_COUNT; i++)
        MT_CHECK(mt_role_why_id((enum mt_role_why)i)[0] != '\0');
}

MT_MAIN(
    MT_RUN(steady_training_has_every_role_and_no_growth) MT_RUN(gradients_without_frames) MT_RUN(
        gradients_that_stay_are_made_once) MT_RUN(first_step_state_is_no_leak) MT_RUN(a_leak_has_its_slope)
        MT_RUN(recorded_late) MT_RUN(state_that_is_made_anew_every_step) MT_RUN(
            out_of_memory_in_the_forward_keeps_its_activations) MT_RUN(logits_by_the_request_that_failed)
            MT_RUN(logits_by_their_size_alone) MT_RUN(logits_of_a_pass_with_larger_batches) MT_RUN(
                the_type_of_the_logits_is_that_of_the_largest) MT_RUN(the_type_of_the_logits_by_their_chunks)
                MT_RUN(requests_that_are_rows_of_the_vocabulary) MT_RUN(
                    the_largest_tensor_of_a_weight_synchronisation) MT_RUN(passes_that_grow)
                    MT_RUN(a_size_that_no_vocabulary_divides_is_no_logits) MT_RUN(
                        layers_that_are_whole_rows_by_chance) MT_RUN(layers_as_large_as_the_logits)
                        MT_RUN(layers_of_another_pass_that_are_whole_rows) MT_RUN(
                            what_a_layer_makes_is_not_in_chunks)
                            MT_RUN(a_smooth_vocabulary_needs_frames) MT_RUN(
                                workspaces_are_few) MT_RUN(the_gradient_of_the_embedding_is_no_logits)
                                MT_RUN(whole_parameters_of_a_checkpoint_and_before_sharding) MT_RUN(
                                    what_is_read_from_a_checkpoint) MT_RUN(weights_that_layers_fetch)
                                    MT_RUN(what_follows_the_optimizer_is_not_its_state) MT_RUN(
                                        rests_of_blocks_serve_nobody) MT_RUN(roles_by_frames)
                                        MT_RUN(workspaces_by_size) MT_RUN(
                                            parameter_and_gradient_buffer_by_the_order_of_lines)
                                            MT_RUN(lines_that_only_call_have_no_order) MT_RUN(
                                                beside_a_rule_for_the_function_last_is_the_highest_line_of_several)
                                                MT_RUN(private_pools_are_named_by_their_frames) MT_RUN(
                                                    a_trainers_private_pool_is_for_no_single_purpose)
                                                    MT_RUN(
                                                        weights_in_the_pool_of_the_cache_are_told_by_their_phase)
                                                        MT_RUN(the_pool_of_a_graph_is_known_by_its_segments) MT_RUN(
                                                            what_was_there_before_a_pools_segment_is_not_in_it)
                                                            MT_RUN(memory_of_no_use_to_the_phase)
                                                                MT_RUN(pending_bytes_have_a_role) MT_RUN(
                                                                    contradictions_still_add_up)
                                                                    MT_RUN(any_sequence_adds_up) MT_RUN(
                                                                        every_allocation_may_fail)
                                                                        MT_RUN(
                                                                            rule_files_are_read_strictly)
                                                                            MT_RUN(
                                                                                an_overlay_changes_a_role)
                                                                                MT_RUN(ids))
