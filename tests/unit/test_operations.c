/* Which operation made the bytes, and what fits it: traces small enough to check by hand, each
 * beside one that differs in that alone. */
#include "cause_kit.h"

#include "analysis/base/operation.h"

#define OP(name) "??:0:at::_ops::" name "::call(at::Tensor const&)|"
#define LINE(n) "own/work.py:" n ":work|own/work.py:90:main|" MAIN

/* Two vectors of 4 MiB, and what an operation makes of them. The tensor is spread where nothing
 * like it was there, and not where an operand has its shape, whether that is still there or not. */
MT_TEST(what_is_stretched)
{
    enum { SPREAD, OPERAND, OPERAND_GONE, PRODUCT, BYTES, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned old = 0;
        heap_alloc(h, 4 * MIB, LINE("3"));
        heap_alloc(h, 4 * MIB, LINE("4"));
        if (what == OPERAND || what == OPERAND_GONE)
            old = heap_alloc(h, 256 * MIB, OP("matmul") LINE("5"));
        if (what == BYTES) /* a mask of one byte an element beside numbers of eight */
            heap_alloc(h, 32 * MIB, OP("gt_Scalar") LINE("5"));
        heap_alloc(h, 256 * MIB,
                   what == PRODUCT ? OP("matmul") LINE("6") : OP("sub_Tensor") LINE("6"));
        if (what == OPERAND_GONE)
            heap_free(h, old);
        heap_oom(h, 256 * MIB, 64 * MIB, OP("pow_Tensor_Scalar") LINE("7"));
        {
            FINISH(0);
            const struct mt_advice *pairs = card(a, "P240");
            /* the product's result is of much smaller ones, too: no row names it */
            MT_CHECK_EQ(c->n_spreads, what == BYTES || what == OPERAND_GONE ? 0 : 1);
            MT_CHECK_EQ(pairs != NULL, what == SPREAD);
            if (pairs != NULL) {
                MT_CHECK_EQ(pairs->saving.high, 512 * MIB);
                MT_CHECK(pairs->is_top && pairs->lacking == 0);
            }
            MT_CHECK(strstr(a->verdict.sentence, "(pow)") != NULL);
            DONE;
        }
    }
}

/* The request, and what is there, are of one operation: its own change is offered and no other. */
MT_TEST(what_each_operation_is_offered)
{
    static const struct {
        const char *held, *asked, *rule;
    } rows[] = {
        {OP("linear") LINE("5"), OP("one_hot") LINE("6"), "P242"},
        {OP("argsort") LINE("5"), OP("argsort") LINE("5"), "P243"},
        {OP("upsample_bilinear2d_vec") LINE("5"), OP("linear") LINE("6"), "P244"},
        {"torch/nn/functional.py:4001:interpolate|" LINE("5"), LINE("6"), "P244"},
        {OP("exp") LINE("5"), OP("mul_Tensor") LINE("6"), "P245"},
        {OP("repeat") LINE("5"), OP("linear") LINE("6"), "P241"},
        {OP("matmul") LINE("5"), OP("matmul") LINE("6"), "P248"},
        {OP("matmul") LINE("5"), OP("linear") LINE("6"), NULL},
    };
    static const char *const all[] = {"P240", "P241", "P242", "P243",
                                      "P244", "P245", "P246", "P248"};
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct heap *h = heap_new();
        heap_alloc(h, 20 * MIB, LINE("3"));
        heap_alloc(h, 300 * MIB, rows[r].held);
        heap_oom(h, 300 * MIB, 64 * MIB, rows[r].asked);
        {
            FINISH(0);
            MT_CHECK(c->known);
            for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
                MT_CHECK_EQ(card(a, all[k]) != NULL,
                            rows[r].rule != NULL && strcmp(rows[r].rule, all[k]) == 0);
            DONE;
        }
    }
}

/* A tensor that grows by 32 MiB each time, the old one beside the new. One that is made anew in the
 * same size, or in sizes that come and go, is not joined to itself. */
MT_TEST(what_is_joined_again_and_again)
{
    enum { GROWS, SAME, TURNS, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned old = heap_alloc(h, 256 * MIB, OP("cat") LINE("8"));
        uint64_t size = 256;
        for (int i = 0; i < 5; i++) {
            unsigned next;
            size = what == GROWS ? size + 32 : what == SAME ? 256 : i % 2 == 0 ? 320 : 256;
            next = heap_alloc(h, size * MIB, OP("cat") LINE("8"));
            heap_free(h, old);
            old = next;
        }
        heap_oom(h, (size + 32) * MIB, 64 * MIB, OP("cat") LINE("8"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->regrown, what == GROWS ? size * MIB : 0);
            MT_CHECK_EQ(card(a, "P246") != NULL, what == GROWS);
            DONE;
        }
    }
}

/* Below the job's line the outermost operator counts; private ones have no name; without C++ frames
 * it is the function of torch's in which the Python frames end. */
MT_TEST(which_operation_it_is)
{
    static const struct {
        const char *stack, *name;
    } rows[] = {
        {"??:0:at::_ops::mm::call(x)|" OP("linear") LINE("5"), "linear"},
        {"??:0:at::_ops::_foobar::call(x)|" OP("sum_dim_IntList") LINE("5"), "sum_dim"},
        {OP("add__Tensor") LINE("5"), "add_"},
        {"torch/functional.py:407:einsum|" LINE("5"), "einsum"},
        {OP("bmm") "torch/functional.py:407:einsum|" LINE("5"), "bmm"},
        {LINE("5"), ""},
        {"own/work.py:7:inner|" LINE("5"), ""},
    };
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct heap *h = heap_new();
        heap_alloc(h, 20 * MIB, LINE("3"));
        heap_oom(h, 300 * MIB, 64 * MIB, rows[r].stack);
        {
            FINISH(0);
            char name[64] = "";
            bool told =
                mt_stack_operation(a->trace, a->devices.p[0].ooms.p[0].stack, name, sizeof name);
            MT_CHECK_EQ(told, rows[r].name[0] != '\0');
            MT_CHECK_STR(name, rows[r].name);
            MT_CHECK(c->known);
            DONE;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(MT_RUN(rules_load) MT_RUN(what_is_stretched) MT_RUN(what_each_operation_is_offered)
            MT_RUN(what_is_joined_again_and_again) MT_RUN(which_operation_it_is) MT_RUN(rules_done))
