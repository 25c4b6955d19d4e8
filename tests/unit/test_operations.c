/* Which operation made the bytes, and what fits it: traces small enough to check by hand, each
 * beside one that differs in that alone. */
#include "cause_kit.h"

#include "analysis/base/operation.h"

#define OP(name) "??:0:at::_ops::" name "::call(at::Tensor const&)|"
#define LINE(n) "own/work.py:" n ":work|own/work.py:90:main|" MAIN

static unsigned made(const struct mt_cause *c, enum mt_made_how how)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < c->n_made; i++)
        n += c->made[i].how == how;
    return n;
}

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
            MT_CHECK_EQ(made(c, MT_MADE_SPREAD), what == BYTES || what == OPERAND_GONE ? 0 : 1);
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

/* n numbers beside n others are meant to be one for each row; n x n of them are a mistake of shapes
 * as often as not. Powers of two are squares by chance: only the n numbers show it there. */
MT_TEST(what_is_paired)
{
    enum { ROWS, POWER, FAR_POWER, NO_ROWS, NO_SQUARE, PRODUCT, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        uint64_t n = what == POWER || what == FAR_POWER ? 8192 : 9000,
                 all = n * n * 4 + (what == NO_SQUARE ? 4096 : 0);
        const char *by = what == PRODUCT ? OP("matmul") LINE("6") : OP("sub_Tensor") LINE("6");
        heap_alloc(h, 2 * MIB, LINE("3"));
        heap_alloc(h, what == NO_ROWS || what == PRODUCT ? 40000 : n * 4, LINE("4"));
        for (int k = 0; what == FAR_POWER && k < 8; k++)
            heap_alloc(h, 3000, LINE("5"));
        heap_alloc(h, all, by);
        heap_oom(h, all, 64 * MIB, what == PRODUCT ? by : OP("pow_Tensor_Scalar") LINE("6"));
        {
            FINISH(0);
            MT_CHECK_EQ(made(c, MT_MADE_SPREAD), 1);
            MT_CHECK_EQ(c->made[0].rows, what <= POWER ? n : 0);
            MT_CHECK_EQ(c->made[0].square, what == NO_ROWS || what == PRODUCT ? n : 0);
            MT_CHECK_EQ(card(a, "P223") != NULL, what <= POWER);
            if (what <= POWER)
                MT_CHECK(heap_evidence(c, "numbers were there", 2 * all));
            /* the pairs of a product are P248's where nothing is trained */
            MT_CHECK_EQ(card(a, "P248") != NULL, what == PRODUCT);
            DONE;
        }
    }
}

/* A join whose parts are there: of one line, of one line and another block, of the last two. Where
 * they are gone, do not add up to it, or one would have to count two times, nothing is there
 * twice; nor where no join made it. */
MT_TEST(what_is_joined_of_what_is_there)
{
    enum { LINES, LINE_AND_ONE, TWO, GONE, OTHER_SIZES, TWO_TIMES, NO_JOIN, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned part[4] = {0};
        uint64_t sum = 0;
        heap_alloc(h, 3 * MIB, LINE("2"));
        for (int i = 0; i < 4; i++) {
            uint64_t size = what == TWO && i > 1 ? MIB
                            : what == TWO_TIMES  ? 50 * MIB
                                                 : (uint64_t)(50 + i) * MIB;
            const char *at =
                (what == LINE_AND_ONE && i == 0) || (what == TWO && i == 1) ? LINE("4") : LINE("5");
            part[i] = heap_alloc(h, size, at);
            sum += what == TWO && i > 1 ? 0 : size;
        }
        heap_alloc(h,
                   sum + (what == OTHER_SIZES ? 4096
                          : what == TWO_TIMES ? 50 * MIB
                                              : 0),
                   what == NO_JOIN ? OP("linear") LINE("6") : OP("cat") LINE("6"));
        for (int i = 0; what == GONE && i < 4; i++)
            heap_free(h, part[i]);
        heap_oom(h, 80 * MIB, 64 * MIB, OP("linear") LINE("7"));
        {
            FINISH(0);
            MT_CHECK_EQ(made(c, MT_MADE_JOINED), what <= TWO || what == NO_JOIN);
            MT_CHECK_EQ(card(a, "P225") != NULL, what <= TWO);
            if (card(a, "P225") != NULL)
                MT_CHECK_EQ(card(a, "P225")->saving.high, sum);
            DONE;
        }
    }
}

/* 32 bits of what is there in 16; and what was made of something wider, or of what is gone. The
 * same sizes of a complex transform are numbers that were real. */
MT_TEST(what_is_there_in_a_wider_type)
{
    enum { WIDER, FOUR_TIMES, NARROWER, GONE, NO_CAST, COMPLEX, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned old;
        heap_alloc(h, 150 * MIB, LINE("2")); /* half of it is there, too, and was made before */
        old = heap_alloc(h,
                         (what == NARROWER     ? 600
                          : what == FOUR_TIMES ? 75
                                               : 150) *
                             MIB,
                         OP("linear") LINE("5"));
        heap_alloc(h, 300 * MIB,
                   what == NO_CAST   ? OP("linear") LINE("6")
                   : what == COMPLEX ? OP("fft_fft") LINE("6")
                                     : OP("to_dtype") LINE("6"));
        if (what == GONE)
            heap_free(h, old);
        heap_oom(h, 80 * MIB, 64 * MIB, OP("linear") LINE("7"));
        {
            FINISH(0);
            if (what != NARROWER) /* what is narrower was made of something narrower still */
                MT_CHECK_EQ(made(c, MT_MADE_WIDENED), what != GONE);
            MT_CHECK_EQ(card(a, "P226") != NULL, what == WIDER || what == FOUR_TIMES);
            MT_CHECK_EQ(card(a, "P227") != NULL, what == COMPLEX);
            DONE;
        }
    }
}

#define NET "torch/nn/modules/module.py:60:_call_impl|own/solve.py:20:solve|" MAIN
#define BACKWARD                                                                                   \
    "??:0:torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> "       \
    "const&)"
#define WEIGHT "torch/nn/modules/linear.py:106:__init__|own/net.py:5:__init__|" MAIN

/* A pass that comes by one line forty times: in a loop with two weights, with a narrower layer at
 * the same place in each round (WIDTHS), over forty layers, of ten times, over few, and over
 * weights that no block is known of: none, or the sum that a recording of torch.profiler begins
 * with. The line that made most is named in each, with its tensors. */
MT_TEST(what_a_loop_keeps)
{
    enum { LOOP, TWICE, WIDTHS, LAYERS, FEW, KEEPS_NOTHING, NO_WEIGHTS, SUM, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned weights[40], kept[40], second[80] = {0},
                                        per_round = what == TWICE || what == WIDTHS;
        unsigned n = what == LAYERS       ? 40
                     : what >= NO_WEIGHTS ? 0
                                          : 2,
                 rounds = what == FEW ? 10 : 40;
        for (unsigned i = 0; i < n; i++)
            weights[i] = heap_alloc(h, MIB, WEIGHT);
        for (int pass = 0; pass < 3; pass++) {
            for (unsigned i = 0; i < rounds; i++) {
                kept[i] = heap_alloc(h, 12 * MIB, OP("tanh") "own/net.py:9:forward|" NET);
                if (what == KEEPS_NOTHING && i > 0)
                    heap_free(h, kept[i - 1]);
                for (unsigned k = 0; what == TWICE && k < 2; k++)
                    second[2 * i + k] =
                        heap_alloc(h, MIB, OP("mul_Tensor") "own/net.py:7:forward|" NET);
                for (unsigned k = 0; what == WIDTHS && k < 2; k++)
                    second[2 * i + k] = heap_alloc(h, (k == 0 ? 12 : 1) * MIB,
                                                   OP("tanh") "own/net.py:9:forward|" NET);
            }
            if (pass == 2)
                break;
            for (unsigned i = 0; i < n; i++)
                weights[i] =
                    heap_alloc(h, MIB, "??:0:torch::autograd::AccumulateGrad::apply()|" BACKWARD);
            for (unsigned i = what == KEEPS_NOTHING ? rounds - 1 : 0; i < rounds; i++)
                heap_free_at(h, kept[i], BACKWARD);
            for (unsigned i = 0; per_round && i < 2 * rounds; i++)
                heap_free_at(h, second[i], BACKWARD);
            for (unsigned i = 0; i < n; i++)
                heap_free_at(h, weights[i], "torch/optim/optimizer.py:9:zero_grad|" MAIN);
        }
        heap_oom(h, 12 * MIB, 4 * MIB, OP("linear") "own/net.py:8:forward|" NET);
        if (what == SUM) {
            h->n = 0; /* no segments */
            mt_build_totals(h->x.b, MT_DEV_CUDA, 0, 488 * MIB, 488 * MIB, 0);
        }
        {
            FINISH(0);
            bool loop = what == LOOP || per_round;
            MT_CHECK_EQ(c->maker.rounds, loop ? 40 : 0);
            MT_CHECK_EQ(c->maker.loop, !loop            ? 0
                                       : what == TWICE  ? 560 * MIB
                                       : what == WIDTHS ? 1000 * MIB
                                                        : 480 * MIB);
            MT_CHECK_EQ(card(a, "P228") != NULL, loop);
            if (what != KEEPS_NOTHING) {
                MT_CHECK_EQ(c->maker.n, what == WIDTHS ? 3 * rounds : rounds);
                MT_CHECK(strstr(c->sentence, "own/net.py:9 forward made ") != NULL);
                MT_CHECK(strstr(c->sentence,
                                " tensors of up to 12.0 MiB, there at once, by tanh.") != NULL);
            }
            MT_CHECK_EQ(strstr(c->sentence, "goes round in a loop: 40 rounds") != NULL, loop);
            DONE;
        }
    }
}

/* Where no phase could be told the verdict names the functions at work, without the script's entry,
 * and the cause the operation that made most; a tensor that is filled is made of no smaller one. */
MT_TEST(where_no_phase_is_told)
{
    static const struct {
        const char *by, *in, *says, *because;
    } rows[] = {
        {OP("zeros"), "own/work.py:5:table|own/work.py:9:__init__|own/run.py:3:main|" MAIN,
         " in a phase that could not be told (__init__, table): ",
         " of it tensors of zeros, made at own/work.py:5 table. That line has one tensor, by "
         "zeros."},
        {OP("mul_Tensor"), "own/work.py:5:table|" MAIN,
         " in a phase that could not be told (table): ",
         " of it tensors of mul, made at own/work.py:5 table. That line has one tensor, by mul, of "
         "tensors that are much smaller."},
    };
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct heap *h = heap_new();
        char stack[256];
        (void)snprintf(stack, sizeof stack, "%s%s", rows[r].by, rows[r].in);
        heap_alloc(h, MIB, LINE("3"));
        heap_alloc(h, 600 * MIB, stack);
        (void)snprintf(stack, sizeof stack, "own/work.py:6%s", strchr(rows[r].in, ':') + 2);
        heap_oom(h, 300 * MIB, 64 * MIB, stack);
        {
            FINISH(0);
            MT_CHECK_HAS(a->verdict.sentence, rows[r].says);
            MT_CHECK_HAS(c->sentence, rows[r].because);
            DONE;
        }
    }
}

#define ROUND "own/bandit.py:27:update|own/bandit.py:40:simulate|" MAIN

/* Each round makes a state anew and lets go of the last one. One that stays through eight others is
 * held by something; the last one is the loop's own. Said where memory ran out, and at a peak. */
MT_TEST(what_stays_while_others_go)
{
    static const struct {
        unsigned rounds, keeps; /* keeps: the round whose state stays; 0 = none */
        bool fails, says;
    } rows[] = {{14, 3, true, true},   {14, 3, false, true}, {14, 0, true, false},
                {14, 0, false, false}, {10, 3, true, false}, {12, 3, true, true}};
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct heap *h = heap_new();
        unsigned last = heap_alloc(h, 100 * MIB, "own/bandit.py:12:__init__|" MAIN);
        for (unsigned i = 1; i <= rows[r].rounds; i++) {
            unsigned now = heap_alloc(h, 100 * MIB, OP("sub_Tensor") ROUND);
            if (rows[r].keeps == 0 || i != rows[r].keeps + 1)
                heap_free(h, last);
            last = now;
        }
        if (rows[r].fails)
            heap_oom(h, 300 * MIB, 64 * MIB, OP("mul_Tensor") ROUND);
        else
            heap_free(h,
                      heap_alloc(h, 110 * MIB, OP("mul_Tensor") "own/bandit.py:26:update|" MAIN));
        {
            FINISH(0);
            MT_CHECK_EQ(c->outlived, rows[r].says ? 100 * MIB : 0);
            MT_CHECK_EQ(strstr(c->sentence,
                               "own/bandit.py:27 update made in 1 tensor has outlived ") != NULL,
                        rows[r].says);
            if (!rows[r].fails && rows[r].keeps != 0) /* a peak has its line, too */
                MT_CHECK_HAS(
                    c->sentence,
                    "own/bandit.py:27 update made 200.0 MiB of what was live: 2 tensors of "
                    "up to 100.0 MiB, there at once, by sub.");
            DONE;
        }
    }
}

/* An index that multiplies its source; the line that made most works on that shape, further on.
 * Nothing is said where a block was live that may be the source, or where it is only filled. */
MT_TEST(what_multiplies_its_source)
{
    enum { MULTIPLIES, HAS_A_SOURCE, FILLS, SMALL, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 10 * MIB, LINE("3"));
        if (what == HAS_A_SOURCE)
            heap_alloc(h, 50 * MIB, LINE("4"));
        if (what == SMALL)
            heap_alloc(h, 5 * GIB, LINE("4"));
        heap_alloc(h, 300 * MIB,
                   what == FILLS ? OP("zeros") LINE("5") : OP("index_Tensor") LINE("5"));
        for (unsigned i = 0; i < 2; i++)
            heap_alloc(h, 300 * MIB, OP("sub_Tensor") "own/loss.py:9:snr|" MAIN);
        heap_oom(h, 300 * MIB, 64 * MIB, OP("mul_Tensor") "own/loss.py:10:snr|" MAIN);
        {
            FINISH(0);
            MT_CHECK_EQ(strstr(c->sentence,
                               " made one tensor of 300.0 MiB, by index, more than 29 times as "
                               "large as any that was live then; what has its shape is 1.17 GiB, "
                               "the failed request among it.") != NULL,
                        what == MULTIPLIES);
            MT_CHECK_EQ(strstr(c->sentence, "times as large as any") != NULL, what == MULTIPLIES);
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

#define AXES(n)                                                                                    \
    "own/paint.py:" n ":axes|torch/utils/_contextlib.py:116:decorate_context|own/paint.py:"        \
    "60:main|" MAIN
#define IN_MODEL                                                                                   \
    "own/net.py:22:forward|torch/nn/modules/module.py:60:_call_impl|own/paint.py:34:paint|torch/"  \
    "utils/_contextlib.py:116:decorate_context|own/paint.py:60:main|" MAIN

/* Directions of all rows: the data less their mean, times each other. Half of the batch has other
 * ones, so it is not offered (P09); in place or part by part is (P295). A quotient, a product
 * without a mean and a mean without a product are no such statistic. */
MT_TEST(what_is_a_statistic_of_all_rows)
{
    enum { CENTRED, COVARIANCE, QUOTIENT, NO_MEAN, NO_PRODUCT, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        bool of_all = what == CENTRED || what == COVARIANCE;
        for (int call = 0; call < 2; call++) {
            uint64_t size = (call == 0 ? 64 : 2048) * MIB;
            unsigned full = heap_alloc(h, size, IN_MODEL), less, small;
            small = heap_alloc(h, 4096,
                               what == NO_MEAN ? OP("amax") AXES("42") : OP("mean_dim") AXES("42"));
            less = heap_alloc(h, size,
                              what == QUOTIENT || what == COVARIANCE ? OP("div_Tensor") AXES("42")
                                                                     : OP("sub_Tensor") AXES("42"));
            heap_free(h, small);
            small = heap_alloc(h, 4 * MIB,
                               what == NO_PRODUCT   ? OP("abs") AXES("43")
                               : what == COVARIANCE ? OP("cov") AXES("43")
                                                    : OP("matmul") AXES("43"));
            if (call == 1)
                break;
            heap_free(h, small);
            heap_free(h, less);
            heap_free(h, full);
        }
        {
            FINISH(0);
            const struct mt_advice *half = card(a, "P09"), *all = card(a, "P295");
            MT_CHECK(c->known || c->kind == MT_CAUSE_NONE);
            MT_CHECK_EQ(half == NULL, of_all);
            MT_CHECK_EQ(all != NULL && all->is_top, of_all);
            DONE;
        }
    }
}

/* Scores of all pairs and their softmax. ATTENTION: a second product weighs values with them, and a
 * fused one needs neither whole (P15). MATCHING: nothing is weighed, the matrix itself is read.
 * FIRST: the first call failed in its softmax, and nothing tells what would have followed. */
MT_TEST(what_a_softmax_weighs)
{
    enum { ATTENTION, MATCHING, FIRST, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        for (int call = what == FIRST; call < 3; call++) {
            uint64_t size = (call == 0 ? 64 : 1024) * MIB;
            unsigned made[4], n = 0;
            made[n++] = heap_alloc(h, 16 * MIB, IN_MODEL);
            made[n++] = heap_alloc(h, size, OP("bmm") AXES("42"));
            if (what == FIRST) {
                heap_oom(h, size, 64 * MIB, OP("softmax_int") AXES("43"));
                break;
            }
            made[n++] = heap_alloc(h, size, OP("softmax_int") AXES("43"));
            made[n++] = what == ATTENTION ? heap_alloc(h, 8 * MIB, OP("bmm") AXES("44"))
                                          : heap_alloc(h, size, OP("mul_Tensor") AXES("44"));
            while (call != 2 && n > 0)
                heap_free(h, made[--n]);
        }
        {
            FINISH(0);
            MT_CHECK(c != NULL);
            MT_CHECK_EQ(a->devices.p[0].roles.unweighted.n, what == MATCHING);
            MT_CHECK_EQ(card(a, "P15") != NULL, what != MATCHING);
            DONE;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(MT_RUN(rules_load) MT_RUN(what_is_stretched) MT_RUN(what_each_operation_is_offered)
            MT_RUN(what_is_joined_again_and_again) MT_RUN(what_is_paired)
                MT_RUN(what_is_joined_of_what_is_there) MT_RUN(what_is_there_in_a_wider_type)
                    MT_RUN(what_a_loop_keeps) MT_RUN(where_no_phase_is_told)
                        MT_RUN(what_multiplies_its_source) MT_RUN(what_stays_while_others_go)
                            MT_RUN(which_operation_it_is) MT_RUN(what_is_a_statistic_of_all_rows)
                                MT_RUN(what_a_softmax_weighs) MT_RUN(rules_done))
