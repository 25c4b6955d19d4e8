/* What had still to come after the request that failed, and what the same place had asked for
 * before, on traces small enough to add up by hand. */
#include "cause_kit.h"

#define MLP "models/qwen2.py:61:mlp|" FORWARD
#define UNTRAINED(line)                                                                            \
    "own/model.py:" line ":forward|torch/nn/modules/module.py:60:_call_impl|" MAIN

/* A pass of three layers of that many bytes, each with a half of it beside; then its backward. */
static void pass(struct heap *h, uint64_t bytes)
{
    unsigned b[6], n = 0;
    for (unsigned i = 0; i < 3; i++) {
        b[n++] = heap_alloc(h, bytes, FORWARD);
        b[n++] = heap_alloc(h, bytes / 2, MLP);
    }
    heap_free(h, heap_alloc(h, bytes / 4, ENGINE));
    while (n-- > 0)
        heap_free(h, b[n]);
}

/* A batch that is longer than those before it: the sentence says by how much, and what came after
 * the same request is to come in proportion. One that is a little longer is not worth a word. */
MT_TEST(a_place_that_asks_for_more_than_before)
{
    static const struct {
        uint64_t request;
        const char *times;
    } of[] = {
        {1024, "; the request is 4.0 times the 256.0 MiB that this place had asked for before; "},
        {384, "; the request is 1.5 times the 256.0 MiB that this place had asked for before; "},
        {288, NULL},
        {256, NULL},
        {128, NULL}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct heap *h = heap_new();
        heap_alloc(h, 4 * GIB, MODEL);
        for (unsigned k = 0; k < 4; k++)
            pass(h, (k == 1 ? 256 : 200) * MIB);
        heap_oom(h, of[i].request * MIB, 100 * MIB, FORWARD);
        {
            FINISH(0);
            MT_CHECK_EQ(c->before_most, 256 * MIB);
            MT_CHECK_EQ(c->before_passes, 4);
            if (of[i].times != NULL)
                MT_CHECK_HAS(a->verdict.sentence, of[i].times);
            else
                MT_CHECK(strstr(a->verdict.sentence, " times the ") == NULL);
            MT_CHECK(of[i].times == NULL ||
                     heap_evidence(c, "had asked for 256.0 MiB at most in 4 earlier passes",
                                   of[i].request * MIB));
            /* two more layers, the rest of this one, and the first of the backward pass */
            MT_CHECK_EQ(c->pass_to_come, of[i].request * MIB * 15 / 4);
            DONE;
        }
    }
}

#define UPDATE(line) "torch/optim/own.py:" line ":step|torch/optim/optimizer.py:487:wrapper|" MAIN

/* After each pass a step takes 600 MiB for itself: more than the pass went on to after the request.
 * What the first step makes and keeps (STATE) comes once. */
MT_TEST(the_step_after_a_pass_is_to_come)
{
    for (int kept = 0; kept < 2; kept++) {
        struct heap *h = heap_new();
        heap_alloc(h, 4 * GIB, MODEL);
        for (unsigned k = 0; k < 2; k++) {
            unsigned first, second, temp;
            first = heap_alloc(h, 100 * MIB, FORWARD);
            second = heap_alloc(h, 50 * MIB, MLP);
            temp = heap_alloc(h, 40 * MIB, ENGINE);
            heap_free(h, temp);
            heap_free(h, second);
            heap_free(h, first);
            temp = heap_alloc(h, 600 * MIB, UPDATE("10"));
            if (k != 0 || kept == 0)
                heap_free(h, temp);
            if (k == 0 && kept != 0)
                break;
        }
        heap_oom(h, 100 * MIB, 10 * MIB, FORWARD);
        {
            FINISH(0);
            MT_CHECK_EQ(c->pass_to_come, (kept == 0 ? 500 : 90) * MIB);
            DONE;
        }
    }
}

#define EVAL(line) "own/eval.py:" line ":evaluate|" MAIN

/* A loop of an evaluation: scores, a copy of them that a name keeps, an order of which a view
 * stays. After one round, which began with nothing, the next has that one's copy and order beside
 * it until their successors are made: 100 for the scores, 100 for the copy. After more of them the
 * recording shows that the old order goes behind the temporary: 200 and 90 while the old copy is
 * gone. `gathers`: a list keeps the order of each round. */
MT_TEST(what_the_rest_of_a_round_takes)
{
    for (unsigned rounds = 1; rounds < 4; rounds++)
        for (int gathers = 0; gathers < 2; gathers++) {
            struct heap *h = heap_new();
            unsigned copy = 0, order = 0;
            heap_free(h, heap_alloc(h, 90 * MIB, EVAL("13")));
            for (unsigned k = 0; k < rounds; k++) {
                unsigned scores = heap_alloc(h, 100 * MIB, EVAL("10")), old = copy, sorted;
                if (k != 0)
                    heap_free(h, old);
                copy = heap_alloc(h, 100 * MIB, EVAL("11"));
                heap_free(h, scores);
                old = order;
                order = heap_alloc(h, 200 * MIB, EVAL("12"));
                sorted = heap_alloc(h, 90 * MIB, EVAL("13"));
                heap_free(h, sorted);
                if (k != 0 && !gathers)
                    heap_free(h, old);
            }
            heap_oom(h, 100 * MIB, 10 * MIB, EVAL("10"));
            {
                FINISH(0);
                MT_CHECK_EQ(c->pass_to_come, (rounds == 1 ? 200 - 100 : 290 - 100) * MIB);
                MT_CHECK(
                    heap_evidence(c, "The round before of the same loop went on", c->pass_to_come));
                DONE;
            }
        }
}

/* A pass over `n` times as much: two places grow by n, one by its square, and its gradient with it.
 */
static void squared_pass(struct heap *h, uint64_t n)
{
    unsigned mlp = heap_alloc(h, 64 * n * MIB, UNTRAINED("10")),
             square = heap_alloc(h, 16 * n * n * MIB, UNTRAINED("11")),
             head = heap_alloc(h, 32 * n * MIB, UNTRAINED("12")),
             grad = heap_alloc(h, 16 * n * n * MIB, ENGINE);
    heap_free(h, head);
    heap_free(h, square);
    heap_free(h, grad);
    heap_free(h, mlp);
}

/* A request that grew with the square of the batch says nothing of the places that grow with the
 * batch; and who goes back to what had fitted has no more to come than there was then. */
MT_TEST(not_all_grows_as_the_request_does)
{
    struct heap *h = heap_new();
    heap_alloc(h, GIB, "run.py:5:build|" MAIN);
    for (unsigned k = 0; k < 3; k++)
        squared_pass(h, 1);
    heap_alloc(h, 256 * MIB, UNTRAINED("10"));
    heap_oom(h, 256 * MIB, 100 * MIB, UNTRAINED("11"));
    {
        FINISH(0);
        const struct mt_advice *d = card(a, "P63");
        MT_CHECK_EQ(c->before_rest, 48 * MIB);
        /* four times the head; sixteen times the gradient, which is as large as the request was */
        MT_CHECK_EQ(c->pass_to_come, (128 + 256) * MIB);
        MT_ASSERT(d != NULL);
        MT_CHECK(d->fits_known);
        MT_CHECK_EQ(d->lacking, 0);
        DONE;
    }
}

/* The parameters tell how many layers there are: what the first pass has still to make of them. An
 * embedding and a head of one size are no two layers. */
MT_TEST(layers_that_are_left)
{
    for (unsigned i = 0; i < 8; i++) {
        unsigned done = 2 + i / 2, heads = 1 + i % 2;
        struct heap *h = heap_new();
        for (unsigned k = 0; k < heads; k++)
            heap_alloc(h, 300 * MIB, MODEL);
        for (unsigned k = 0; k < 6; k++) {
            heap_alloc(h, 100 * MIB, MODEL);
            heap_alloc(h, 100 * MIB, MODEL);
            heap_alloc(h, 200 * MIB, MODEL);
        }
        for (unsigned k = 0; k < done; k++) {
            heap_alloc(h, GIB, FORWARD);
            heap_alloc(h, 512 * MIB, MLP);
        }
        heap_oom(h, GIB, 128 * MIB, FORWARD);
        {
            FINISH(0);
            MT_CHECK_EQ(c->pass_to_come, 512 * MIB + (5 - done) * (GIB + 512 * MIB));
            MT_CHECK(c->left_open); /* gradients, and state */
            MT_CHECK(done == 5 ||
                     heap_evidence(c, " of 6 layers of this pass, and each left 1.50 GiB",
                                   c->pass_to_come));
            DONE;
        }
    }
}

/* The same tensors in the same order once more: a second model, of which the rest is to come. In
 * one piece the holes would have held the request alone. A first model of equal layers is none. */
MT_TEST(a_second_model_that_is_being_loaded)
{
    static const uint64_t sizes[] = {900, 100, 200, 300, 100, 210, 300, 100, 220, 300, 110, 40};
    enum { N = sizeof sizes / sizeof *sizes };
    for (unsigned second = 0; second < 2; second++) {
        struct heap *h = heap_new();
        uint64_t rest = (sizes[10] + sizes[11]) * MIB;
        for (unsigned i = 0; i < N; i++)
            heap_alloc_in(h, sizes[i] * MIB, (sizes[i] + 20) * MIB, MODEL);
        for (unsigned i = 0; i < 9; i++)
            heap_alloc_in(h, (second ? sizes[i] : 700 + i) * MIB,
                          (second ? sizes[i] + 20 : 740) * MIB, MODEL);
        heap_oom(h, 300 * MIB, 30 * MIB, MODEL);
        {
            FINISH(0);
            MT_CHECK_EQ(c->pass_to_come, second ? rest : 0);
            MT_CHECK(c->left_open == !second);
            MT_CHECK(!second || heap_evidence(c, "the next tensor of a second model", rest));
            MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
            DONE;
        }
    }
}

/* Set-up that is not over goes on as it began: pieces that would have held one request more and a
 * little beside are not the cause, pieces of a half of all that was made are. */
MT_TEST(pieces_while_a_model_is_loaded)
{
    for (unsigned much = 0; much < 2; much++) {
        struct heap *h = heap_new();
        for (unsigned i = 0; i < 20; i++)
            heap_alloc_in(h, (300 + i) * MIB, (much ? 550 : 330) * MIB, MODEL);
        heap_oom(h, 400 * MIB, 100 * MIB, MODEL);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, much ? MT_CAUSE_FRAGMENTATION : MT_CAUSE_CAPACITY);
            DONE;
        }
    }
}

/* The first forward pass of a program that nothing tells: a block a layer, and two of something
 * between each two. Those are layers, no batches. */
MT_TEST(layers_of_one_pass_are_no_leak)
{
    for (unsigned passes = 1; passes <= 12; passes += 11) {
        struct heap *h = heap_new();
        heap_alloc(h, 2 * GIB, MODEL);
        for (unsigned i = 0; i < 12; i++) {
            if (i == 0 || passes > 1)
                heap_free(h, heap_alloc(h, 16 * MIB, UNTRAINED("3")));
            heap_free(h, heap_alloc(h, 8 * MIB, UNTRAINED("5")));
            heap_alloc(h, 256 * MIB, UNTRAINED("7"));
            heap_free(h, heap_alloc(h, 8 * MIB, UNTRAINED("5")));
        }
        heap_oom(h, 512 * MIB, 128 * MIB, UNTRAINED("9"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, passes == 1 ? MT_CAUSE_CAPACITY : MT_CAUSE_LEAK);
            DONE;
        }
    }
}

/* What goes while its pass goes on waits for no backward pass, though two of it are alive at once;
 * in the pass that memory ran out in, what those before it tell. */
MT_TEST(what_goes_inside_its_pass)
{
    struct heap *h = heap_new();
    unsigned kept[8], skip[8];
    heap_alloc(h, 2 * GIB, MODEL);
    for (unsigned p = 0; p < 2; p++) {
        for (unsigned i = 0; i < 8; i++) {
            kept[i] = heap_alloc(h, 100 * MIB, FORWARD);
            for (unsigned k = 0; k < 6; k++) /* longer than one operation */
                heap_free(h, heap_alloc(h, MIB, MLP));
            skip[i] = heap_alloc(h, 60 * MIB, "models/qwen2.py:70:skip|" FORWARD);
            if (i != 0)
                heap_free(h, skip[i - 1]);
            if (p == 1 && i == 4)
                break;
        }
        if (p == 1)
            break;
        heap_free(h, skip[7]);
        heap_free(h, heap_alloc(h, 50 * MIB, "models/qwen2.py:80:head|" FORWARD));
        heap_free(h, heap_alloc(h, 50 * MIB, ENGINE));
        for (unsigned i = 8; i-- > 0;)
            heap_free(h, kept[i]);
    }
    heap_oom(h, 512 * MIB, 128 * MIB, FORWARD);
    {
        FINISH(0);
        const struct mt_role_facts *f = &a->devices.p[0].roles;
        MT_CHECK_EQ(f->at_focus[MT_ROLE_ACTIVATION], 5 * 100 * MIB);
        MT_CHECK_EQ(f->at_focus[MT_ROLE_TEMP], 60 * MIB);
        MT_CHECK_EQ(f->alloc_bytes[MT_ROLE_ACTIVATION], 13 * 100 * MIB);
        MT_CHECK(c != NULL);
        DONE;
    }
}

/* A cache that each token makes anew, a little longer: as many as came may come. */
MT_TEST(a_cache_that_grows_with_each_token)
{
    for (unsigned grows = 0; grows < 2; grows++) {
        struct heap *h = heap_new();
        unsigned cache = 0;
        heap_alloc(h, 2 * GIB, MODEL);
        for (unsigned i = 0; i < 12; i++) {
            unsigned next;
            heap_free(h, heap_alloc(h, 4 * MIB, UNTRAINED("3")));
            next = heap_alloc(h, (512 + (grows != 0 ? UINT64_C(4) * i : 0)) * MIB, UNTRAINED("7"));
            if (i != 0)
                heap_free(h, cache);
            cache = next;
        }
        heap_free(h, heap_alloc(h, 4 * MIB, UNTRAINED("3")));
        heap_oom(h, (512 + (grows != 0 ? UINT64_C(48) : 0)) * MIB, 128 * MIB, UNTRAINED("7"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->left_open, grows);
            MT_CHECK(strstr(a->verdict.sentence, " times the ") == NULL);
            DONE;
        }
    }
}

/* Copies of one layer that go when the layer is over, in a pass that no earlier one came so far in:
 * earlier tokens show that the place lets go of them. Where they never went, a layer keeps them. */
MT_TEST(what_a_layer_lets_go_of_again)
{
    enum { LAYERS = 4 };
    for (int lets_go = 0; lets_go < 2; lets_go++) {
        struct heap *h = heap_new();
        for (int k = 0; k < 12; k++)
            heap_alloc(h, 256 * MIB, MODEL);
        for (int token = 0; token < 3; token++)
            for (int layer = 0; layer < LAYERS && lets_go != 0; layer++) {
                unsigned copy[3];
                for (int k = 0; k < 3; k++)
                    copy[k] = heap_alloc(h, 64 * MIB, MLP);
                for (int k = 3; k-- > 0;)
                    heap_free(h, copy[k]);
            }
        for (int k = 0; k < 2; k++)
            heap_alloc(h, 4 * GIB, MLP);
        heap_oom(h, 4 * GIB, 256 * MIB, MLP);
        {
            FINISH(0);
            MT_CHECK_EQ(c->pass_to_come, lets_go != 0 ? 0 : 9 * 4 * GIB);
            DONE;
        }
    }
}

#define STEPPED "torch/optim/own.py:10:step|torch/optim/optimizer.py:487:wrapper|" MAIN

/* A pass whose backward leaves 512 MiB behind, as where the gradients of each are kept. */
static unsigned leaving_pass(struct heap *h, uint64_t leaves)
{
    unsigned first = heap_alloc(h, 100 * MIB, FORWARD), second = heap_alloc(h, 50 * MIB, MLP),
             left = heap_alloc(h, leaves, ENGINE);
    heap_free(h, second);
    heap_free(h, first);
    return left;
}

/* Passes of one step that each leave as much behind: how many are left an earlier step tells that
 * had more of them; else that is open. Passes that leave nothing add nothing. */
MT_TEST(passes_that_are_left_in_the_step)
{
    enum { NONE, OPEN, TOLD, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned left[8], n = what == TOLD ? 8 : 2;
        heap_alloc(h, 4 * GIB, MODEL);
        for (int step = 0; step < 2; step++) {
            for (unsigned k = 0; k < n; k++)
                left[k] = leaving_pass(h, 512 * MIB);
            heap_free(h, heap_alloc(h, 4 * MIB, STEPPED));
            for (unsigned k = 0; k < n; k++)
                heap_free(h, left[k]);
        }
        for (unsigned k = 0; k < 5; k++) {
            left[k] = leaving_pass(h, 512 * MIB);
            if (what == NONE)
                heap_free(h, left[k]);
        }
        heap_oom(h, 100 * MIB, 10 * MIB, FORWARD);
        {
            FINISH(0);
            MT_CHECK_EQ(c->left_open, what != NONE);
            /* the rest of this pass, and two more of the eight */
            MT_CHECK_EQ(c->pass_to_come, (50 + 512 + (what == TOLD ? 2 * 512U : 0)) * MIB);
            DONE;
        }
    }
}

/* Half of a batch takes as much of what was still to come as of what was there: the figure has
 * both. */
MT_TEST(a_figure_has_what_was_not_asked_for_yet)
{
    struct heap *h = heap_new();
    heap_alloc(h, GIB, MODEL);
    for (unsigned k = 0; k < 3; k++)
        pass(h, 256 * MIB);
    pass(h, 256 * MIB);
    heap_alloc(h, 1024 * MIB, FORWARD);
    heap_alloc(h, 512 * MIB, MLP);
    heap_oom(h, 1024 * MIB, 900 * MIB, FORWARD);
    {
        FINISH(0);
        const struct mt_advice *half = card(a, "V04");
        /* 1.5 GiB of this pass are there; what comes is in proportion to the request */
        MT_ASSERT(half != NULL && half->saving.known && c->pass_to_come > GIB);
        MT_CHECK(half->saving.later > GIB / 2);
        MT_CHECK_EQ(half->saving.bytes,
                    (uint64_t)(half->saving.alone[1] + 0.5) + half->saving.later);
        DONE;
    }
}

/* Nothing failed: the line with most of the highest point is named, and how high the recording
 * would be without it. Not where it made the weights, nor on a card that is more than half empty.
 */
MT_TEST(the_highest_point_without_its_line)
{
    enum { WORK, WEIGHTS, EMPTY, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned out[4];
        heap_alloc(h, what == WEIGHTS ? 8 * GIB : GIB, MODEL);
        for (int k = 0; k < 4; k++) {
            heap_free(h, heap_alloc(h, GIB / 2, UNTRAINED("3")));
            out[k] = heap_alloc(h, GIB, "own/job.py:7:collect|" MAIN);
        }
        for (int k = 0; k < 4; k++)
            heap_free(h, out[k]);
        {
            FINISH(what == EMPTY ? 80 * GIB : 0);
            MT_CHECK_EQ(c->least != NULL, what == WORK);
            if (c->least != NULL)
                MT_CHECK_HAS(c->least, "own/job.py:7 collect, which has 4.00 GiB of the highest "
                                       "point. Without all that this line makes it would be "
                                       "1.50 GiB in place of 5.00 GiB");
            DONE;
        }
    }
}

/* What a hook keeps of ten passes is told by their number; two that a list keeps are not. */
MT_TEST(the_highest_point_of_what_passes_left)
{
    for (unsigned passes = 2; passes <= 10; passes += 8) {
        struct heap *h = heap_new();
        heap_alloc(h, GIB, MODEL);
        for (unsigned k = 0; k < passes; k++) {
            heap_free(h, heap_alloc(h, 8 * MIB, "own/job.py:5:read|" MAIN));
            heap_free(h, heap_alloc(h, GIB / 4, UNTRAINED("3")));
            heap_alloc(h, 4 * GIB / passes, UNTRAINED("3"));
        }
        {
            FINISH(0);
            MT_ASSERT(c->least != NULL);
            MT_CHECK_EQ(strstr(c->least, "4.00 GiB of the highest point, in 9 blocks that earlier "
                                         "passes left. Without") != NULL,
                        passes == 10);
            DONE;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(MT_RUN(rules_load) MT_RUN(a_place_that_asks_for_more_than_before)
            MT_RUN(not_all_grows_as_the_request_does) MT_RUN(the_step_after_a_pass_is_to_come)
                MT_RUN(what_the_rest_of_a_round_takes) MT_RUN(layers_that_are_left)
                    MT_RUN(a_second_model_that_is_being_loaded)
                        MT_RUN(pieces_while_a_model_is_loaded)
                            MT_RUN(layers_of_one_pass_are_no_leak) MT_RUN(what_goes_inside_its_pass)
                                MT_RUN(a_cache_that_grows_with_each_token)
                                    MT_RUN(what_a_layer_lets_go_of_again)
                                        MT_RUN(passes_that_are_left_in_the_step)
                                            MT_RUN(a_figure_has_what_was_not_asked_for_yet)
                                                MT_RUN(the_highest_point_without_its_line)
                                                    MT_RUN(the_highest_point_of_what_passes_left)
                                                        MT_RUN(rules_done))
