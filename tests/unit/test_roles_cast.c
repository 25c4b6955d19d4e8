/* Copies of weights that autocast makes, told apart from the inputs that it casts too: by size,
 * order and place. */
#include "role_make.h"

#define AT_LINEAR                                                                                  \
    SITE "torch/nn/modules/linear.py:125:forward|" S_CALL "|/home/u/model.py:20:forward|" S_CALL   \
         "|/home/u/run.py:9:evaluate" MAIN
#define AT_SCORES                                                                                  \
    "/home/u/model.py:44:scores|/home/u/model.py:31:forward|" S_CALL                               \
    "|/home/u/run.py:9:evaluate" MAIN
#define CAST "??:0:at::autocast::cached_cast(c10::ScalarType, at::Tensor const&, c10::DeviceType)|"
#define OF_LINEAR CAST AT_LINEAR
#define OF_SCORES CAST AT_SCORES

enum { N = 6 };
#define WIDE (UINT64_C(96) << 10) /* a weight in 32 bits */
#define SQUARE (UINT64_C(24) << 10)
#define BIAS (UINT64_C(512))
#define INPUT (UINT64_C(40) << 10) /* in 16 bits; no weight is as large */

static void weights(struct job *j, uint64_t size, int n)
{
    for (int i = 0; i < n; i++)
        (void)old_block(j, size);
}

/* Input and weight are cast, then the product is made. The input goes, unless autograd keeps it. */
static void linear(struct job *j, const char *stack, uint64_t first, uint64_t second, bool keep)
{
    uint64_t a = put(j, first, stack), b;
    if (second != 0)
        (void)put(j, second, stack);
    b = put(j, 8 * MIB, AT_LINEAR);
    if (!keep && second != 0)
        drop(j, a);
    drop(j, b);
}

static void check(struct job *j, uint64_t copies)
{
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM_CAST), copies);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_PARAM_CAST], copies);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(the_cast_of_a_weight_has_half_its_size)
{
    for (int keep = 0; keep < 2; keep++) {
        struct job *j = job_new();
        weights(j, WIDE, N);
        for (int i = 0; i < N; i++)
            linear(j, OF_LINEAR, INPUT, WIDE / 2, keep != 0);
        check(j, N * WIDE / 2);
    }
}

MT_TEST(the_weight_may_come_first_or_alone_or_with_a_bias)
{
    struct job *j = job_new();
    weights(j, WIDE, 3);
    weights(j, BIAS, 1);
    linear(j, OF_LINEAR, WIDE / 2, INPUT, true);
    linear(j, OF_LINEAR, WIDE / 2, 0, true);
    linear(j, OF_LINEAR, WIDE / 2, BIAS / 2, true);
    check(j, 3 * WIDE / 2 + BIAS / 2);
}

/* As many tokens as make an input as large as another layer's weight. */
MT_TEST(an_input_with_the_size_of_a_weight)
{
    struct job *j = job_new();
    weights(j, WIDE, 2 * N);
    weights(j, SQUARE, N);
    /* beyond doubt: this is where weights are cast */
    linear(j, OF_LINEAR, INPUT, SQUARE / 2, true);
    for (int i = 0; i < N - 1; i++) {
        linear(j, OF_LINEAR, WIDE / 2, SQUARE / 2, true);
        linear(j, OF_LINEAR, WIDE / 2, WIDE / 2, true);
        /* queries and keys: no weight is ever cast there */
        linear(j, OF_SCORES, WIDE / 2, WIDE / 2, true);
    }
    check(j, N * SQUARE / 2 + (N - 1) * WIDE / 2);
}

MT_TEST(more_copies_than_weights_are_tensors)
{
    struct job *j = job_new();
    weights(j, WIDE, 2);
    for (int i = 0; i < N; i++)
        linear(j, OF_LINEAR, WIDE / 2, 0, true);
    check(j, 0);
}

/* A pass before the trace left activations that go when its output does: their sizes are none of
 * weights. */
MT_TEST(what_goes_is_no_weight)
{
    struct job *j = job_new();
    uint64_t left[N];
    weights(j, WIDE, N);
    for (int i = 0; i < N; i++)
        left[i] = old_block(j, SQUARE);
    for (int i = 0; i < N; i++) {
        linear(j, OF_LINEAR, INPUT, WIDE / 2, true);
        linear(j, OF_SCORES, SQUARE / 2, INPUT, true);
    }
    for (int i = 0; i < N; i++)
        drop(j, left[i]);
    check(j, N * WIDE / 2);
}

MT_TEST(without_frames_of_autocast_there_are_none)
{
    struct job *j = job_new();
    weights(j, WIDE, N);
    for (int i = 0; i < N; i++)
        linear(j, AT_LINEAR, INPUT, WIDE / 2, true);
    check(j, 0);
}

/* A copy that is made for one operation is a temporary: cache_enabled=False without gradients. */
MT_TEST(a_copy_that_is_not_kept_is_a_temporary)
{
    struct job *j = job_new();
    weights(j, WIDE, N);
    for (int i = 0; i < N; i++)
        drop(j, put(j, WIDE / 2, OF_LINEAR));
    (void)put(j, MIB, AT_LINEAR);
    check(j, 0);
}

/* The head has rows of the vocabulary, like logits. */
MT_TEST(the_copy_of_the_head_is_no_logits)
{
    struct job *j = job_new();
    weights(j, WIDE, N);
    weights(j, LOGITS_BYTES * 2, 1);
    for (int i = 0; i < N; i++)
        linear(j, OF_LINEAR, INPUT, WIDE / 2, true);
    linear(j, OF_LINEAR, INPUT, LOGITS_BYTES, true);
    (void)put(j, LOGITS_BYTES, S_LOSS);
    check(j, N * WIDE / 2 + LOGITS_BYTES);
}

MT_MAIN(MT_RUN(the_cast_of_a_weight_has_half_its_size)
            MT_RUN(the_weight_may_come_first_or_alone_or_with_a_bias)
                MT_RUN(an_input_with_the_size_of_a_weight)
                    MT_RUN(more_copies_than_weights_are_tensors) MT_RUN(what_goes_is_no_weight)
                        MT_RUN(without_frames_of_autocast_there_are_none)
                            MT_RUN(a_copy_that_is_not_kept_is_a_temporary)
                                MT_RUN(the_copy_of_the_head_is_no_logits))
