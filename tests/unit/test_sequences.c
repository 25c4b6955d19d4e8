/* Sequences that a framework moves and masks one by one: the longest, how many make a micro-batch,
 * and whether by count or by tokens. */
#include "analysis/facts/sequences.h"
#include "role_make.h"

#define DATA "/w/slime/slime/backends/megatron_utils/data.py"
#define ACTOR "/w/slime/slime/backends/megatron_utils/actor.py"
#define S_TOKENS ACTOR ":259:_get_rollout_data" MAIN
#define S_IMAGES ACTOR ":275:_get_rollout_data" MAIN
#define S_CAT DATA ":81:get_batch" MAIN
#define S_MASK SITE "torch/nn/functional.py:5:pad|" DATA ":116:get_batch" MAIN
#define S_PART                                                                                     \
    "/w/slime/slime/backends/megatron_utils/cp_utils.py:9:slice_with_cp|" DATA ":60:get_"          \
    "batch" MAIN

/* get_batch for n sequences, and the pass over them. */
static void micro(struct job *j, unsigned n, bool in_parts)
{
    for (unsigned i = 0; in_parts && i < n; i++)
        drop(j, put(j, 4096, S_PART));
    (void)put(j, 8192, S_CAT);
    for (unsigned i = 0; i < n; i++)
        (void)put(j, 2048, S_MASK);
    drop(j, put(j, ACT_BYTES, S_FORWARD));
}

static struct mt_sequences seen(struct job *j)
{
    struct mt_sequences s = {0, 0, false};
    MT_CHECK(analyze(j));
    if (j->f != NULL)
        s = j->f->sequences;
    job_free(j);
    return s;
}

MT_TEST(the_longest_by_the_first_line_that_moves)
{
    struct job *j = job_new();
    struct mt_sequences s;
    (void)put(j, 8 * 1000, S_TOKENS);
    (void)put(j, 8 * 3072, S_TOKENS);
    (void)put(j, 8 * 512, S_TOKENS);
    (void)put(j, 64 * MIB, S_IMAGES); /* more than its tokens, and not tokens */
    s = seen(j);
    MT_CHECK_EQ(s.longest, 3072);
    MT_CHECK_EQ(s.in_micro, 0);
    MT_CHECK(!s.packed);
}

MT_TEST(micro_batches_by_tokens_hold_what_fits)
{
    static const unsigned by_tokens[] = {1, 1, 3, 2, 1};
    struct job *j = job_new();
    struct mt_sequences s;
    for (unsigned i = 0; i < 5; i++)
        micro(j, by_tokens[i], false);
    s = seen(j);
    MT_CHECK_EQ(s.in_micro, 3);
    MT_CHECK(s.packed);
}

/* A fixed number of sequences, whole or in parts for context parallelism; cut at both ends of the
 * trace. */
MT_TEST(a_fixed_count_is_no_packing)
{
    for (int in_parts = 0; in_parts < 2; in_parts++) {
        struct job *j = job_new();
        struct mt_sequences s;
        (void)put(j, 2048, S_MASK);
        drop(j, put(j, ACT_BYTES, S_FORWARD));
        for (unsigned i = 0; i < 4; i++)
            micro(j, 2, in_parts != 0);
        (void)put(j, 8192, S_CAT);
        (void)put(j, 2048, S_MASK);
        s = seen(j);
        MT_CHECK_EQ(s.in_micro, 2);
        MT_CHECK(!s.packed);
    }
}

MT_TEST(other_code_of_that_name_tells_nothing)
{
    struct job *j = job_new();
    struct mt_sequences s;
    (void)put(j, 8 * 3072, "/home/u/actor.py:3:_get_rollout_data" MAIN);
    (void)put(j, 8 * 3072, "/home/u/data.py:3:get_batch" MAIN);
    s = seen(j);
    MT_CHECK_EQ(s.longest, 0);
    MT_CHECK_EQ(s.in_micro, 0);
}

MT_MAIN(MT_RUN(the_longest_by_the_first_line_that_moves)
            MT_RUN(micro_batches_by_tokens_hold_what_fits) MT_RUN(a_fixed_count_is_no_packing)
                MT_RUN(other_code_of_that_name_tells_nothing))
