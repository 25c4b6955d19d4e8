/* Logits, vocabularies and heads: by requests, by sizes, by chunks, and what is as large as they by
 * chance. */
#include "analysis/metrics/leak.h"
#include "analysis/metrics/stacks.h"
#include "role_make.h"

#include <time.h>

#define S_HEAD SITE "torch/nn/modules/linear.py:1:forward|" S_CALL "|" S_UPDATE
#define S_GATHER                                                                                   \
    SITE "torch/distributed/fsdp/_fully_shard/"                                                    \
         "_fsdp_collectives.py:3:foreach_all_gather_copy_out|" S_UPDATE
#define SMOOTH(tokens, width) (UINT64_C(32000) * (tokens) * (width))
#define ROWS(tokens, width) (UINT64_C(151936) * (tokens) * (width))

/* A head of a vocabulary, and the vectors of the layers, which tell how wide it is. */
static void head_of(struct job *j, uint64_t vocab)
{
    for (int i = 0; i < 2 * LAYERS + 1; i++)
        (void)put(j, 2048, S_INIT);
    (void)put(j, vocab * 2048, S_INIT);
}

/* The head's output has no frame that says what it is. The request that fails does, or its size and
 * a head do. */
static void logits_of(const char *stack, bool has_head)
{
    struct job *j = job_new();
    uint64_t head;
    params(j);
    if (has_head)
        head_of(j, 151936);
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
    MT_CHECK(!j->f->vocab_is_guess); /* without vectors it cannot be told whether a head is there */
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(logits_by_the_request_that_failed) { logits_of(S_LOSS, false); }
MT_TEST(logits_by_their_size_and_a_head) { logits_of(S_FORWARD, true); }

/* A loss in 16 bits: nothing of half the size is there. The token ids that the job's own line
 * makes, 8 bytes each, say how many tokens there are. */
static void width_by_ids(uint64_t n_ids, uint64_t tokens, uint64_t width)
{
    struct job *j = job_new();
    params(j);
    head_of(j, 151936);
    (void)put(j, n_ids * 8, S_UPDATE);
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, ROWS(2048, 2), S_HEAD);
    (void)put(j, ROWS(2048, 2), S_LOSS);
    bt_event(&j->bt, "oom", 12345, ROWS(2048, 2), S_LOSS);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 151936);
    MT_CHECK_EQ(j->f->logits_tokens, tokens);
    MT_CHECK_EQ(j->f->logits_elem, width);
    job_free(j);
}

MT_TEST(logits_in_16_bits_by_token_ids) { width_by_ids(2048, 2048, 2); }
MT_TEST(logits_in_32_bits_by_token_ids) { width_by_ids(1024, 1024, 4); }
MT_TEST(logits_without_token_ids) { width_by_ids(999, 1024, 4); }

/* A film has whole rows of some vocabulary, and its model has no head of it. */
MT_TEST(no_logits_without_head_or_frames)
{
    struct job *j = job_new();
    params(j);
    head_of(j, 11008);
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, ROWS(96, 2), S_FORWARD);
    bt_event(&j->bt, "oom", 12345, ROWS(96, 4), S_FORWARD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 0);
    MT_CHECK_EQ(AT_FOCUS(j, LOGITS), 0);
    MT_CHECK_EQ(AT_FOCUS(j, ACTIVATION), LAYERS * ACT_BYTES + ROWS(96, 2));
    job_free(j);
}

/* 10000, which divides 50000, is in the table. */
MT_TEST(a_head_tells_a_vocabulary_that_no_table_has)
{
    struct job *j = job_new();
    params(j);
    head_of(j, 50000);
    (void)put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, UINT64_C(50000) * 640 * 4, S_LOSS);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 50000);
    MT_CHECK_EQ(j->f->logits_tokens, 640);
    MT_CHECK(!j->f->vocab_is_guess);
    job_free(j);

    j = job_new(); /* a model, but no such head */
    params(j);
    head_of(j, 11008);
    (void)put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, UINT64_C(151936) * 640 * 4, S_LOSS);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->vocab, 151936);
    MT_CHECK(j->f->vocab_is_guess);
    job_free(j);
}

/* 128256 is four times 32064: the same sizes, and the head decides. */
MT_TEST(of_two_vocabularies_the_head_decides)
{
    static const uint64_t of[] = {32064, 128256};
    for (int i = 0; i < 2; i++) {
        struct job *j = job_new();
        params(j);
        head_of(j, of[i]);
        (void)put(j, ACT_BYTES, S_FORWARD);
        (void)put(j, UINT64_C(128256) * 640 * 4, S_LOSS);
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(j->f->vocab, of[i]);
        MT_CHECK_EQ(j->f->logits_tokens, 640 * (i == 0 ? 4 : 1));
        MT_CHECK(!j->f->vocab_is_guess);
        job_free(j);
    }
}

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

#define SERVES                                                                                     \
    "/home/u/serve.py:9:answer|torch/utils/_contextlib.py:116:decorate_context|" MAIN_LINE
#define MAIN_LINE "/home/u/run.py:3:<module>"

/* A mask for each word has the size of logits, and the job's own code fills it: no head makes that.
 * What it adds to them is of their size, too, and is logits. */
MT_TEST(a_mask_that_is_filled_is_no_logits)
{
    static const char *const of[] = {"??:0:at::_ops::zeros::call(x)|" SERVES,
                                     "??:0:at::_ops::add_Tensor::call(x)|" SERVES};
    for (int what = 0; what < 2; what++) {
        struct job *j = job_new();
        head_of(j, 151936);
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < LAYERS; i++)
                drop(j, put(j, ACT_BYTES,
                            SITE "torch/nn/modules/linear.py:1:forward|" S_CALL "|" SERVES));
            drop(j, put(j, ROWS(96, 2),
                        SITE "torch/nn/modules/linear.py:1:forward|" S_CALL "|" SERVES));
        }
        (void)put(j, ROWS(96, 2), of[what]);
        bt_event(&j->bt, "oom", 12345, ROWS(96, 4), "??:0:at::_ops::mul_Tensor::call(x)|" SERVES);
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, LOGITS), what == 0 ? 0 : ROWS(96, 2));
        CHECK_SUMS(j);
        job_free(j);
    }
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

MT_MAIN(
    MT_RUN(a_mask_that_is_filled_is_no_logits) MT_RUN(logits_by_the_request_that_failed) MT_RUN(
        logits_by_their_size_and_a_head) MT_RUN(logits_in_16_bits_by_token_ids)
        MT_RUN(logits_in_32_bits_by_token_ids) MT_RUN(logits_without_token_ids) MT_RUN(
            no_logits_without_head_or_frames) MT_RUN(a_head_tells_a_vocabulary_that_no_table_has)
            MT_RUN(of_two_vocabularies_the_head_decides)
                MT_RUN(logits_of_a_pass_with_larger_batches)
                    MT_RUN(the_type_of_the_logits_is_that_of_the_largest) MT_RUN(
                        the_type_of_the_logits_by_their_chunks)
                        MT_RUN(requests_that_are_rows_of_the_vocabulary) MT_RUN(
                            the_largest_tensor_of_a_weight_synchronisation) MT_RUN(passes_that_grow)
                            MT_RUN(a_size_that_no_vocabulary_divides_is_no_logits)
                                MT_RUN(layers_that_are_whole_rows_by_chance)
                                    MT_RUN(layers_as_large_as_the_logits)
                                        MT_RUN(layers_of_another_pass_that_are_whole_rows)
                                            MT_RUN(what_a_layer_makes_is_not_in_chunks)
                                                MT_RUN(a_smooth_vocabulary_needs_frames)
                                                    MT_RUN(workspaces_are_few) MT_RUN(
                                                        the_gradient_of_the_embedding_is_no_logits))
