/* Copies of the weights that the job's own code keeps, optimizers that were replaced, and what is
 * made anew beside the old one: on traces small enough to check by hand. */
#include "cause_kit.h"

#define WEIGHTS "torch/nn/modules/linear.py:105:__init__|own/net.py:2:build|" MAIN
#define KEEP "own/teachers.py:9:remember|own/loop.py:30:turn|" MAIN
#define ROUND "own/teachers.py:7:score|own/loop.py:29:turn|" MAIN

enum { LAYERS = 6 };
static const uint64_t OF[] = {96 * MIB, 40 * MIB, 8 * MIB}; /* 864 MiB in all */
#define MODEL_BYTES (UINT64_C(6) * 144 * MIB)

static void model(struct heap *h, uint64_t more, unsigned layers, const char *stack)
{
    for (unsigned i = 0; i < layers; i++)
        for (unsigned k = 0; k < sizeof OF / sizeof *OF; k++)
            heap_alloc(h, OF[k] + more, stack);
}

/* The same from before the recording: blocks that nobody saw made. */
static void older(struct heap *h, const char *stack)
{
    for (unsigned i = 0; i < LAYERS; i++)
        for (unsigned k = 0; k < sizeof OF / sizeof *OF; k++) {
            h->b[h->n++] = (struct heap_block){h->next, OF[k], OF[k], stack, false, true};
            h->next += OF[k] + 2 * MIB;
        }
}

/* Sets in the sizes of the weights, in their numbers, by one line, two of them older than the
 * recording. Where all were seen made they are taken for models, as one is. Not where the sizes are
 * others, where they are those of a third of the model, nor where a set lacks a size that others
 * have. */
MT_TEST(a_copy_of_each_weight)
{
    enum { THREE, ONE, SEEN, OTHERS, PART, UNEVEN, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned sets = what == ONE ? 1 : 3;
        bool told = what == THREE;
        model(h, 0, LAYERS, WEIGHTS);
        for (unsigned i = 0; i < sets; i++) {
            if (what == THREE && i < 2) {
                older(h, KEEP);
                continue;
            }
            for (int k = 0; k < 5; k++)
                heap_free(h, heap_alloc(h, 16 * MIB, ROUND));
            if (what == PART)
                for (unsigned n = 0; n < LAYERS; n++)
                    heap_alloc(h, OF[1 + n % 2], KEEP);
            else
                model(h, what == OTHERS ? 512 : 0, LAYERS, KEEP);
        }
        for (int k = 0; what == UNEVEN && k < 30; k++)
            heap_alloc(h, OF[0], KEEP);
        heap_oom(h, 512 * MIB, GIB / 8, "own/loop.py:31:turn|" MAIN);
        {
            const struct mt_advice *p;
            FINISH(0);
            p = card(a, "P200");
            if (what <= SEEN) {
                const uint64_t *role = a->devices.p[0].roles.at_focus;
                MT_CHECK_EQ(role[MT_ROLE_DATA], told ? sets * MODEL_BYTES : 0);
                MT_CHECK_EQ(role[MT_ROLE_PARAM], told ? MODEL_BYTES : (1 + sets) * MODEL_BYTES);
            }
            MT_CHECK_EQ(c->weight_copies, told ? sets * MODEL_BYTES : 0);
            MT_CHECK_EQ(p != NULL, told);
            MT_CHECK(!told || heap_evidence(c,
                                            "3 copies of the weights, or of their gradients, "
                                            "tensor by tensor, from own/teachers.py:9 remember "
                                            "hold",
                                            sets * MODEL_BYTES));
            if (p != NULL) {
                MT_CHECK(p->is_top);
                MT_CHECK_EQ(p->saving.low, sets * MODEL_BYTES / 2);
                MT_CHECK_EQ(p->saving.high, sets * MODEL_BYTES);
            }
            DONE;
        }
    }
}

#define PASS                                                                                       \
    "own/net.py:40:forward|torch/nn/modules/module.py:60:_call_impl|own/loop.py:20:turn|" MAIN

/* Clones that are sent away and go before anything else runs are temporaries; what is there until
 * the next copy, some passes later, are weights. */
MT_TEST(clones_that_go_at_once)
{
    for (int stay = 0; stay < 2; stay++) {
        struct heap *h = heap_new();
        unsigned first = 0, n = 0;
        model(h, 0, LAYERS, WEIGHTS);
        for (int turn = 0; turn < 3; turn++) {
            unsigned of = heap_alloc(h, 64 * MIB, PASS);
            heap_free(h, heap_alloc(h, 32 * MIB, ENGINE));
            heap_free(h, of);
            for (; stay && n > 0; n--)
                heap_free(h, first + n - 1);
            first = h->n;
            model(h, 0, LAYERS, KEEP);
            n = h->n - first;
            if (turn == 2)
                heap_free(
                    h, heap_alloc(h, MODEL_BYTES, "own/send.py:3:flat|own/loop.py:31:turn|" MAIN));
            for (; !stay && n > 0; n--)
                heap_free(h, first + n - 1);
        }
        heap_free(h, heap_alloc(h, 64 * MIB, PASS));
        {
            const uint64_t *role;
            FINISH(0);
            MT_CHECK(c->known);
            role = a->devices.p[0].roles.at_focus;
            MT_CHECK_EQ(role[MT_ROLE_PARAM], stay ? 2 * MODEL_BYTES : MODEL_BYTES);
            MT_CHECK_EQ(role[MT_ROLE_GRAD], 0);
            DONE;
        }
    }
}

/* A tensor as large as all weights, or as those of the last layers, at a line that makes one in
 * each round. Not where the size is no sum of weights made one after the other, one alone, nor
 * where all weights are alike. */
MT_TEST(a_flat_copy_of_all_weights)
{
    enum { ALL, LAST, NO_SUM, ONE, EQUAL, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        uint64_t size = MODEL_BYTES - (what == LAST ? 144 * MIB : what == NO_SUM ? MIB : 0);
        unsigned n = what == ONE ? 1 : 6;
        for (int k = 0; what == EQUAL && k < 12; k++)
            heap_alloc(h, 72 * MIB, WEIGHTS);
        if (what != EQUAL)
            model(h, 0, LAYERS, WEIGHTS);
        for (unsigned i = 0; i < n; i++) {
            for (int k = 0; k < 20; k++)
                heap_free(h, heap_alloc(h, 16 * MIB, ROUND));
            heap_free(h, heap_alloc(h, 96 * MIB, ENGINE));
            heap_alloc(h, size, KEEP);
        }
        heap_oom(h, size, GIB / 8, KEEP);
        {
            bool told = what == ALL || what == LAST;
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].roles.at_focus[MT_ROLE_DATA], told ? n * size : 0);
            MT_CHECK_EQ(c->weight_copies, told ? n * size : 0);
            MT_CHECK_EQ(card(a, "P200") != NULL, told);
            MT_CHECK_EQ(strstr(c->sentence, ": flat copies of weights") != NULL, told);
            MT_CHECK_EQ(strstr(c->sentence, "Each of the last 5 rounds added ") != NULL, told);
            DONE;
        }
    }
}

#define CALL "torch/nn/modules/module.py:60:_call_impl|own/loop.py:20:turn|" MAIN
#define MAKES "own/norm.py:15:weight|" CALL
#define OTHER "own/net.py:40:forward|" CALL

/* A forward pass that makes the weights of its layers anew. Not where its other tensors have those
 * sizes as well: with as many tokens as a layer is wide all activations do. */
MT_TEST(weights_that_a_pass_makes)
{
    for (int wide = 0; wide < 2; wide++) {
        struct heap *h = heap_new();
        uint64_t made = 0;
        model(h, 0, LAYERS, WEIGHTS);
        for (unsigned i = 0; i < LAYERS; i++)
            for (unsigned k = 0; k < 3; k++) {
                heap_alloc(h, OF[k], MAKES);
                heap_alloc(h, wide ? OF[k] : 12 * MIB, OTHER);
                made += OF[k];
            }
        heap_oom(h, 96 * MIB, 16 * MIB, MAKES);
        {
            const struct mt_advice *p;
            FINISH(0);
            p = card(a, "P205");
            MT_CHECK_EQ(c->made_weights, wide ? 0 : made);
            MT_CHECK_EQ(c->copies_beside, 0);
            if (!wide) /* half of what the other line made, and nothing of the weights */
                MT_CHECK(card(a, "P02") == NULL ||
                         card(a, "P02")->saving.bytes <= 18 * 12 * MIB / 2);
            MT_CHECK_EQ(c->weight_copies, 0);
            MT_CHECK_EQ(p != NULL, !wide);
            MT_CHECK_EQ(
                heap_evidence(c, "own/norm.py:15 weight made weights in its pass: 18", made),
                !wide);
            DONE;
        }
    }
}

#define SCALES "own/adapter.py:81:forward|" CALL
#define PAIRS "own/views.py:40:compare|own/loop.py:21:turn|" MAIN

/* Two lines of a layer make its weights anew in a wider type, and autograd keeps them: they are
 * told with the line that has most. One size alone, more often than weights have it, is of pairs of
 * views and has that size by chance. */
MT_TEST(weights_in_a_wider_type)
{
    for (int pairs = 0; pairs < 2; pairs++) {
        struct heap *h = heap_new();
        model(h, 0, LAYERS, WEIGHTS);
        for (unsigned i = 0; i < LAYERS; i++)
            for (unsigned k = 0; k < 3; k++) {
                heap_alloc(h, 12 * MIB, OTHER);
                heap_alloc(h, pairs ? 96 * MIB : 2 * OF[k], pairs ? PAIRS : MAKES);
                if (!pairs)
                    heap_alloc(h, 2 * OF[k], SCALES);
            }
        heap_oom(h, 96 * MIB, 16 * MIB, pairs ? PAIRS : MAKES);
        {
            FINISH(0);
            MT_CHECK_EQ(strstr(c->sentence, "3.38 GiB of what waits for the backward pass is made "
                                            "of the weights") != NULL,
                        !pairs);
            MT_CHECK_EQ(strstr(c->sentence, "in a wider type, most of it at own/norm.py:15 weight, "
                                            "of 2 lines") != NULL,
                        !pairs);
            MT_CHECK_EQ(c->made_weights, 0);
            DONE;
        }
    }
}

#define PENALTY "own/remember.py:40:penalty|own/loop.py:22:turn|" MAIN
#define IN_MODEL "own/remember.py:40:penalty|" CALL

/* Terms of a loss over the weights, two sets of them and a part of a third when memory runs out:
 * half the batch, the host and recomputation leave them. In the model's own call they are weights
 * that it makes; in other sizes, anything. */
MT_TEST(terms_over_the_weights)
{
    enum { TERMS, MODELS, OTHERS, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned made[64], n = 0;
        const char *line = what == MODELS ? IN_MODEL : PENALTY;
        uint64_t kept = 0, more = what == OTHERS ? 20 * MIB : 0;
        model(h, 0, LAYERS, WEIGHTS);
        for (int pass = 0; pass < 3; pass++) {
            n = 0;
            for (unsigned i = 0; i < LAYERS; i++)
                made[n++] = heap_alloc(h, 12 * MIB, OTHER);
            kept = 0;
            for (unsigned i = 0; i < 3 * LAYERS - (pass == 2); i++)
                for (unsigned k = 0; k < 3; k++) {
                    kept += OF[k] + more;
                    made[n++] = heap_alloc(h, OF[k] + more, line);
                    heap_free(h, heap_alloc(h, OF[k], line)); /* what no graph needs */
                }
            if (pass == 2)
                break;
            heap_free(h, heap_alloc(h, 96 * MIB, ENGINE));
            while (n-- > 0)
                heap_free(h, made[n]);
        }
        heap_oom(h, 96 * MIB, 16 * MIB, line);
        {
            bool told = what == TERMS;
            const struct mt_advice *p;
            FINISH(0);
            p = card(a, "P206");
            MT_CHECK_EQ(c->weight_terms, told ? kept - MODEL_BYTES : 0);
            MT_CHECK_EQ(c->copies_beside, told ? kept : 0);
            MT_CHECK_EQ(c->made_weights, what == MODELS ? kept : 0);
            MT_CHECK_EQ(p != NULL && p->is_top, told);
            MT_CHECK_EQ(heap_evidence(c, "terms of the loss over the weights", kept), told);
            MT_CHECK_EQ(card(a, "P04") != NULL, !told);
            MT_CHECK_EQ(card(a, "P02") != NULL && card(a, "P02")->saving.bytes > 100 * MIB,
                        what == OTHERS);
            DONE;
        }
    }
}

#define CLOSURE                                                                                    \
    "own/fit.py:12:closure|torch/optim/lbfgs.py:330:step|torch/optim/"                             \
    "optimizer.py:493:wrapper|own/fit.py:20:fit|" MAIN
#define HISTORY                                                                                    \
    "torch/optim/lbfgs.py:400:step|torch/optim/optimizer.py:493:wrapper|own/fit.py:20:fit|" MAIN

/* What L-BFGS keeps: two tensors as large as all weights an iteration. A history that is no longer
 * than ten pairs cannot be cut. */
MT_TEST(a_history_of_lbfgs)
{
    for (int is_long = 0; is_long < 2; is_long++) {
        struct heap *h = heap_new();
        unsigned n = is_long ? 20 : 8;
        model(h, 0, LAYERS, WEIGHTS);
        for (unsigned i = 0; i < n; i++) {
            for (int k = 0; k < 6; k++)
                heap_free(h, heap_alloc(h, 4 * MIB, CLOSURE));
            heap_free(h, heap_alloc(h, 4 * MIB, ENGINE));
            heap_alloc(h, MODEL_BYTES, HISTORY);
            heap_alloc(h, MODEL_BYTES, HISTORY);
        }
        heap_alloc(h, 4 * MIB, CLOSURE);
        heap_free(h, heap_alloc(h, 4 * MIB, ENGINE));
        heap_oom(h, 96 * MIB, 16 * MIB, ENGINE);
        {
            const struct mt_advice *p;
            FINISH(0);
            p = card(a, "P201");
            MT_CHECK_EQ(c->history, 2 * n * MODEL_BYTES);
            MT_CHECK_EQ(c->history_one, MODEL_BYTES);
            MT_CHECK_EQ(p != NULL, is_long);
            MT_CHECK(!is_long || heap_evidence(c, "Each of the last 19 rounds added 1.69 GiB.",
                                               2 * n * MODEL_BYTES));
            MT_CHECK(card(a, "P200") == NULL);
            if (p != NULL) {
                MT_CHECK(p->is_top);
                MT_CHECK_EQ(p->saving.bytes, (2 * n - 24) * MODEL_BYTES);
            }
            DONE;
        }
    }
}

#define FIT "own/stages.py:50:fit|" MAIN
#define AUTOGRAD "torch/autograd/graph.py:823:_engine_run_backward|" FIT
#define FIRST                                                                                      \
    "torch/optim/adamw.py:80:_init_group|torch/optim/adamw.py:81:step|torch/optim/"                \
    "optimizer.py:82:wrapper|" FIT

#define UPDATE                                                                                     \
    "torch/optim/adamw.py:90:_single_tensor_adamw|torch/optim/adamw.py:81:step|torch/optim/"       \
    "optimizer.py:82:wrapper|" FIT

static void make_state(struct heap *h, unsigned each)
{
    heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
    for (unsigned i = 0; i < LAYERS; i++)
        for (unsigned k = 0; k < 3; k++)
            for (unsigned n = 0; n < each; n++)
                heap_alloc(h, OF[k], FIRST);
}

/* A step of an optimizer that makes its state: so many blocks for each weight. */
static void first_step(struct heap *h, unsigned each)
{
    make_state(h, each);
    for (int i = 0; i < 8; i++) {
        heap_free(h, heap_alloc(h, 32 * MIB, "own/net.py:40:forward|" CALL));
        heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
    }
}

/* A stage grows an embedding, gets a new optimizer, and memory runs out while that makes its state.
 * All of the old state is the one's before, that of the embedding too, which has no weight any more
 * and which alone proves nothing. Where the state at hand is the first, there is none. */
MT_TEST(state_of_what_has_grown_since)
{
    for (int stages = 1; stages <= 2; stages++) {
        struct heap *h = heap_new();
        unsigned embed;
        model(h, 0, LAYERS, WEIGHTS);
        embed = heap_alloc(h, 300 * MIB, WEIGHTS);
        if (stages == 2) {
            make_state(h, 2);
            heap_alloc(h, 300 * MIB, FIRST);
            heap_alloc(h, 300 * MIB, FIRST);
            for (int i = 0; i < 2; i++) {
                heap_free(h, heap_alloc(h, 32 * MIB, "own/net.py:40:forward|" CALL));
                heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
                heap_free(h, heap_alloc(h, 4 * MIB, UPDATE));
            }
            heap_alloc(h, 400 * MIB, WEIGHTS);
            heap_free(h, embed);
            heap_free(h, heap_alloc(h, 32 * MIB, "own/net.py:40:forward|" CALL));
        }
        make_state(h, 2);
        heap_oom(h, 400 * MIB, 16 * MIB, FIRST);
        {
            FINISH(0);
            MT_CHECK_EQ(c->old_state, stages == 2 ? 2 * MODEL_BYTES + 600 * MIB : 0);
            MT_CHECK_EQ(card(a, "P202") != NULL, stages == 2);
            DONE;
        }
    }
}

/* Two optimizers for one model, one after the other. Not one, however much it keeps of a weight. */
MT_TEST(an_optimizer_that_was_replaced)
{
    enum { ADAM, TWO_ADAMS, AMSGRAD, TWO_AMSGRADS, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned each = what >= AMSGRAD ? 3 : 2;
        bool two = what == TWO_ADAMS || what == TWO_AMSGRADS;
        model(h, 0, LAYERS, WEIGHTS);
        first_step(h, each);
        if (two)
            first_step(h, each);
        heap_oom(h, 512 * MIB, 16 * MIB, "own/net.py:40:forward|" CALL);
        {
            const struct mt_advice *p;
            FINISH(0);
            p = card(a, "P202");
            MT_CHECK_EQ(c->old_state, two ? each * MODEL_BYTES : 0);
            MT_CHECK_EQ(p != NULL, two);
            MT_CHECK_EQ(heap_evidence(c, "of optimizers that others have replaced", c->old_state),
                        two);
            if (p != NULL)
                MT_CHECK_EQ(p->saving.bytes, each * MODEL_BYTES);
            DONE;
        }
    }
}

#define SORTED "own/replay.py:14:sort|own/loop.py:18:turn|" MAIN

/* What a line makes anew in each turn, in the second one. Not where there are two of it already,
 * where no pass lies between, where it is little, nor in the backward pass. */
MT_TEST(what_is_made_anew_beside_the_old_one)
{
    enum { AGAIN, LIST, NO_PASS, LITTLE, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        uint64_t size = what == LITTLE ? 64 * MIB : 2 * GIB;
        model(h, 0, LAYERS, WEIGHTS);
        heap_alloc(h, 3 * GIB, "own/replay.py:3:fill|" MAIN);
        heap_alloc(h, size, SORTED);
        if (what == LIST)
            heap_alloc(h, size, SORTED);
        for (int i = 0; i < 3 && what != NO_PASS; i++) {
            unsigned of = heap_alloc(h, 64 * MIB, OTHER);
            heap_free(h, heap_alloc(h, 32 * MIB, ENGINE));
            heap_free(h, of);
        }
        heap_oom(h, size, 16 * MIB, SORTED);
        {
            const struct mt_advice *p;
            FINISH(0);
            p = card(a, "P203");
            MT_CHECK_EQ(c->remade, what == AGAIN ? size : 0);
            MT_CHECK_EQ(p != NULL, what == AGAIN);
            if (p != NULL) {
                MT_CHECK_EQ(p->saving.high, size);
                MT_CHECK_EQ(p->saving.low, 0);
            }
            DONE;
        }
    }
}

#define INFER "torch/utils/_contextlib.py:116:decorate_context|"
#define TURN(line) "own/rank.py:" line ":evaluate|" INFER "own/rank.py:60:main|" MAIN

/* A name of a loop's body without gradients holds what a later line made the round before, when the
 * next round begins. Not where the round before began with one (a state that goes round), where two
 * are kept, where another function made it, nor in the first round. */
MT_TEST(what_the_round_before_left)
{
    enum { LEFT, GOES_ROUND, LIST, OTHER_LINE, ROUND_ONE, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned scores = 0, state = 0;
        model(h, 0, LAYERS, WEIGHTS);
        if (what == GOES_ROUND)
            state = heap_alloc(h, 2 * GIB, "own/rank.py:50:main|" MAIN);
        heap_free(h,
                  heap_alloc(
                      h, 64 * MIB,
                      "own/net.py:9:forward|torch/nn/modules/module.py:60:_call_impl|" TURN("42")));
        if (what != ROUND_ONE)
            scores = heap_alloc(h, GIB, TURN("43"));
        if (what == LIST)
            heap_alloc(h, 2 * GIB, TURN("45"));
        heap_alloc(h, 2 * GIB, what == OTHER_LINE ? "own/rank.py:70:main|" MAIN : TURN("45"));
        if (what == GOES_ROUND)
            heap_free(h, state);
        if (what != ROUND_ONE)
            heap_free(h, scores);
        heap_free(h,
                  heap_alloc(
                      h, 64 * MIB,
                      "own/net.py:9:forward|torch/nn/modules/module.py:60:_call_impl|" TURN("42")));
        heap_oom(h, GIB, 16 * MIB, TURN("43"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->remade, what == LEFT ? 2 * GIB : 0);
            MT_CHECK_EQ(card(a, "P203") != NULL, what == LEFT);
            if (what == LEFT)
                MT_CHECK_HAS(c->sentence, "made at own/rank.py:45 evaluate in the round before");
            DONE;
        }
    }
}

/* What unfold makes and what is computed with it: P204 names the line. Not where it is little. */
MT_TEST(windows_by_unfold)
{
    for (int much = 0; much < 2; much++) {
        struct heap *h = heap_new();
        model(h, 0, LAYERS, WEIGHTS);
        for (int i = 0; i < 3; i++) {
            heap_alloc(h, 64 * MIB, OTHER);
            heap_alloc(h, (much ? 576 : 16) * MIB,
                       "torch/nn/functional.py:5530:unfold|own/local.py:17:around|" CALL);
        }
        heap_oom(h, 576 * MIB, 16 * MIB, OTHER);
        {
            FINISH(0);
            MT_CHECK(c->known);
            MT_CHECK_EQ(card(a, "P204") != NULL, much);
            DONE;
        }
    }
}

/* Gradients that a step has used are let go of before the engine wakes: enough for its cache. One
 * backward pass later they are in use again, as they are where no step was yet; a pass that trains
 * has its own word for them. */
MT_TEST(gradients_that_a_step_has_used)
{
    enum { USED, PASS_AGAIN, NO_STEP, IN_TRAINING, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        model(h, 0, LAYERS, WEIGHTS);
        for (int step = 0; step < 2; step++) {
            unsigned kept = heap_alloc(h, 32 * MIB, "own/net.py:40:forward|" CALL);
            for (unsigned i = 0; i < LAYERS && step == 0; i++)
                for (unsigned k = 0; k < 3; k++)
                    heap_alloc(h, OF[k], ENGINE);
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
            heap_free(h, kept);
            for (unsigned i = 0; i < LAYERS * 3 && step == 0 && what != NO_STEP; i++)
                heap_alloc(h, OF[i % 3], FIRST);
            if (what != NO_STEP)
                heap_free(h, heap_alloc(h, OF[0], UPDATE));
        }
        if (what == PASS_AGAIN) {
            heap_free(h, heap_alloc(h, 32 * MIB, "own/net.py:40:forward|" CALL));
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
        }
        for (int i = 0; i < 3 && what != IN_TRAINING; i++)
            heap_alloc(h, 512 * MIB, "own/engine.py:8:wake|" MAIN);
        heap_oom(h, 512 * MIB, 16 * MIB,
                 what == IN_TRAINING ? "own/net.py:40:forward|" CALL
                                     : "own/engine.py:8:wake|" MAIN);
        {
            const struct mt_advice *p;
            FINISH(0);
            p = card(a, "P231");
            MT_CHECK_EQ(p != NULL, what == USED);
            MT_CHECK(c->known);
            if (p != NULL) {
                MT_CHECK_EQ(p->saving.bytes, MODEL_BYTES);
                MT_CHECK(p->fits_known && p->lacking == 0);
            }
            DONE;
        }
    }
}

#define MUON                                                                                       \
    "own/muon.py:78:orthogonal|own/muon.py:96:step|torch/optim/optimizer.py:82:wrapper|" FIT

/* A step of the job's own that fails among its temporaries, with pieces that would serve this
 * request: what the step holds comes first, and pieces are not all that is said. Where PyTorch
 * steps, pieces are. */
MT_TEST(pieces_inside_a_step_of_the_jobs_own)
{
    for (int own = 0; own < 2; own++) {
        struct heap *h = heap_new();
        const char *stack = own ? MUON : UPDATE;
        model(h, 0, LAYERS, WEIGHTS);
        heap_free(h, heap_alloc(h, 32 * MIB, "own/net.py:40:forward|" CALL));
        model(h, 0, LAYERS, ENGINE);
        for (int i = 0; i < 5; i++)
            heap_alloc_in(h, (700 + (uint64_t)i) * MIB, (950 + (uint64_t)i) * MIB, stack);
        heap_oom(h, 500 * MIB, 300 * MIB, stack);
        {
            const struct mt_advice *one, *pieces;
            FINISH(0);
            one = card(a, "P148");
            pieces = card(a, "B01");
            MT_CHECK_EQ(c->kind, MT_CAUSE_FRAGMENTATION);
            MT_CHECK(c->left_open);
            MT_CHECK_EQ(one != NULL, own);
            MT_ASSERT(pieces != NULL);
            MT_CHECK(pieces->is_top);
            MT_CHECK(one == NULL || (one->is_top && one < pieces));
            DONE;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(MT_RUN(rules_load) MT_RUN(a_copy_of_each_weight) MT_RUN(clones_that_go_at_once)
            MT_RUN(a_flat_copy_of_all_weights) MT_RUN(weights_that_a_pass_makes)
                MT_RUN(terms_over_the_weights) MT_RUN(weights_in_a_wider_type)
                    MT_RUN(a_history_of_lbfgs) MT_RUN(an_optimizer_that_was_replaced)
                        MT_RUN(state_of_what_has_grown_since)
                            MT_RUN(what_is_made_anew_beside_the_old_one)
                                MT_RUN(what_the_round_before_left) MT_RUN(windows_by_unfold)
                                    MT_RUN(gradients_that_a_step_has_used)
                                        MT_RUN(pieces_inside_a_step_of_the_jobs_own)
                                            MT_RUN(rules_done))
