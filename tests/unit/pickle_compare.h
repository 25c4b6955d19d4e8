/* pickle_compare.h -- one pickle through the straight line of the reader and, fed byte by byte,
 * through the machine that looks at one opcode at a time: both must say the same. */
#ifndef MT_TEST_PICKLE_COMPARE_H
#define MT_TEST_PICKLE_COMPARE_H

#include "tests/unit/mt_test.h"
#include "tests/unit/pickle_make.h"
#include "tests/unit/trace_digest.h"

static inline void compare(const struct bytes *b, size_t n)
{
    struct result fast = read_mem(b->p, n, NULL), slow = read_slow(b->p, n, 1, MT_OK, "");
    MT_CHECK_EQ(fast.rc, slow.rc);
    MT_CHECK_STR(fast.err.msg, slow.err.msg);
    MT_CHECK_EQ(fast.t == NULL, slow.t == NULL);
    if (fast.t != NULL && slow.t != NULL) {
        MT_CHECK_SAME(fast.t, slow.t);
        MT_CHECK_EQ(fast.t->meta.pickle_protocol, slow.t->meta.pickle_protocol);
        MT_CHECK_EQ(fast.t->n_distinct_stacks, slow.t->n_distinct_stacks);
        MT_CHECK_EQ(fast.t->diags.n, slow.t->diags.n);
        for (uint32_t i = 0; i < fast.t->diags.n && i < slow.t->diags.n; i++)
            MT_CHECK_STR(diag_text(fast.t, i), diag_text(slow.t, i));
    }
    mt_trace_free(fast.t);
    mt_trace_free(slow.t);
}

#endif
