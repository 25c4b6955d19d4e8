/* Frames and stacks by value, also beyond the number of entries up to which slots hold a byte of
 * the hash: with that number made small, every table goes through the change. */
#define MT_INTERN_TAGGED 100
#include "parser/model/intern.c"

#include "tests/unit/mt_test.h"

MT_TEST(ids_stay_the_same_across_growth)
{
    struct mt_trace *t = mt_trace_new();
    struct mt_intern in;
    mt_frame_id frames[3000];
    mt_stack_id stacks[3000];
    MT_ASSERT(t != NULL && mt_intern_init(&in, t));
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 3000; i++) {
            mt_frame_id f = 0, ids[3];
            mt_stack_id s = 0;
            MT_ASSERT(mt_intern_frame(&in, i % 7, i % 11, i, &f));
            if (round == 0)
                frames[i] = f;
            MT_CHECK_EQ(f, frames[i]);
            ids[0] = f; /* innermost differs, the callers are shared */
            ids[1] = frames[i % 5];
            ids[2] = frames[0];
            MT_ASSERT(mt_intern_stack(&in, ids, 3, &s));
            if (round == 0)
                stacks[i] = s;
            MT_CHECK_EQ(s, stacks[i]);
        }
    }
    MT_CHECK_EQ(t->frames.n, 1 + 3000);
    MT_CHECK_EQ(t->stacks.n, 1 + 3000 + 5 + 1); /* one node each, five callers, one root */
    for (uint32_t i = 0; i < 3000; i++) {
        const struct mt_stack_node *n = &t->stacks.p[stacks[i]];
        MT_CHECK_EQ(n->frame, frames[i]);
        MT_CHECK_EQ(t->frames.p[n->frame].line, i);
        MT_CHECK_EQ(t->stacks.p[n->parent].frame, frames[i % 5]);
    }
    mt_intern_done(&in);
    mt_trace_free(t);
}

/* More than the table of whole stacks has room for, twice, and one that is the caller of all. */
MT_TEST(a_forgotten_stack_is_not_counted_again)
{
    enum { N = 70000 };
    struct mt_trace *t = mt_trace_new();
    struct mt_intern in;
    mt_frame_id root = 0, f = 0;
    mt_stack_id s;
    MT_ASSERT(t != NULL && mt_intern_init(&in, t) && mt_intern_frame(&in, 1, 1, 0, &root));
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < N; i++) {
            MT_ASSERT(mt_intern_frame(&in, 1, 1, i + 1, &f));
            MT_ASSERT(mt_intern_stack(&in, (const mt_frame_id[]){f, root}, 2, &s));
        }
    MT_CHECK_EQ(t->n_distinct_stacks, N);
    MT_ASSERT(mt_intern_stack(&in, &root, 1, &s));
    MT_CHECK_EQ(t->n_distinct_stacks, N + 1);
    mt_intern_done(&in);
    mt_trace_free(t);
}

MT_MAIN(MT_RUN(ids_stay_the_same_across_growth) MT_RUN(a_forgotten_stack_is_not_counted_again))
