/* Which cause wins, and what was still to come: kinds that tickets have, on traces small enough to
 * check by hand. */
#include "analysis/cause/skew.h"
#include "cause_kit.h"

/* Pieces of 3 GiB in sum beside what could be let go of: an engine's, others', what a stream holds.
 * In one piece they would have served the request and nothing after it. Where the holder is less
 * than the pieces, they are the cause. */
MT_TEST(what_can_be_let_go_of_comes_before_pieces)
{
    enum { OF_ENGINE, OF_OTHERS, WAITING, N };
    static const enum mt_cause_kind kinds[N] = {MT_CAUSE_STALE_ENGINE, MT_CAUSE_FOREIGN,
                                                MT_CAUSE_PENDING_FREES};
    static const char *const first[N] = {"; memory of the other phase still held first, then fragm",
                                         "; memory outside this process's PyTorch first, then fr",
                                         "; frees that wait for a stream first, then fragment"};
    for (int what = 0; what < N; what++) {
        for (int large = 0; large < 2; large++) {
            struct heap *h = heap_new();
            uint64_t held = large ? 8 * GIB : 2 * GIB;
            uint64_t own = 4 * GIB + UINT64_C(6) * 612 * MIB + 128 * MIB;
            unsigned block = 0;
            heap_alloc(h, 4 * GIB, MODEL);
            if (what != OF_OTHERS)
                block = heap_alloc(h, held, what == OF_ENGINE ? KV : GATHER);
            for (int i = 0; i < 6; i++)
                heap_alloc_in(h, 100 * MIB, 612 * MIB, FORWARD);
            if (what == WAITING)
                heap_ask(h, block);
            heap_oom(h, GIB, 128 * MIB, FORWARD);
            if (what == WAITING)
                heap_gone(h, block);
            {
                FINISH(what == OF_OTHERS ? own + held : 0);
                MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_FRAGMENTATION);
                MT_CHECK_EQ(c->kind, large ? kinds[what] : MT_CAUSE_FRAGMENTATION);
                MT_CHECK_HAS(a->verdict.sentence,
                             large ? first[what] : "; fragmentation, not capacity");
                /* the pieces are evidence all the same */
                MT_CHECK(heap_evidence(c, "is free in 6 segments that live blocks hold",
                                       UINT64_C(6) * 512 * MIB));
                DONE;
            }
        }
    }
}

/* A layer asks for a GiB, and for a half after it; both stay. */
static unsigned layers(struct heap *h, unsigned n, bool halves, unsigned *block)
{
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++) {
        block[k++] = heap_alloc(h, GIB, FORWARD);
        if (halves)
            block[k++] = heap_alloc(h, 512 * MIB, "models/qwen2.py:61:mlp|" FORWARD);
    }
    return k;
}

/* After the request of the third layer the half of it comes, and where an earlier pass shows six
 * layers three whole ones more, and the first of its backward pass. Pieces that would have held the
 * request and less than all of that are not the cause. */
MT_TEST(what_a_pass_had_still_to_ask_for)
{
    for (int earlier = 0; earlier < 2; earlier++) {
        for (int room = 0; room < 2; room++) {
            struct heap *h = heap_new();
            unsigned block[32];
            uint64_t to_come = (earlier ? 3 * 3 * GIB / 2 + 64 * MIB : 0) + 512 * MIB;
            uint64_t holes = (room ? GIB + to_come : GIB + to_come / 2) / (256 * MIB);
            heap_alloc(h, 4 * GIB, MODEL);
            if (earlier) {
                unsigned n = layers(h, 6, true, block);
                heap_free(h, heap_alloc(h, 64 * MIB, ENGINE));
                while (n-- > 0)
                    heap_free(h, block[n]);
            }
            for (uint64_t i = 0; i < holes; i++)
                heap_alloc_in(h, 300 * MIB, 556 * MIB, MODEL);
            (void)layers(h, 2, true, block);
            heap_oom(h, GIB, 128 * MIB, FORWARD);
            {
                FINISH(0);
                MT_CHECK_EQ(c->pass_to_come, to_come);
                MT_CHECK_EQ(c->kind, room ? MT_CAUSE_FRAGMENTATION : MT_CAUSE_CAPACITY);
                MT_CHECK(heap_evidence(c,
                                       earlier
                                           ? "made 6 such requests, this one had made 2: after it"
                                           : "in 3 layers of this pass, and",
                                       to_come));
                MT_CHECK((strstr(a->verdict.because, "The same pass had") != NULL) == !room);
                DONE;
            }
        }
    }
}

/* Where a layer adds its request alone, or the place is new, nothing is known to come. */
MT_TEST(a_pass_that_says_nothing)
{
    for (unsigned n = 0; n <= 3; n++) {
        struct heap *h = heap_new();
        unsigned block[32];
        heap_alloc(h, 4 * GIB, MODEL);
        for (int i = 0; i < 5; i++)
            heap_alloc_in(h, 300 * MIB, 556 * MIB, MODEL);
        (void)layers(h, n, n == 1, block);
        heap_oom(h, GIB, 128 * MIB, FORWARD);
        {
            FINISH(0);
            MT_CHECK_EQ(c->pass_to_come, 0);
            MT_CHECK_EQ(c->kind, MT_CAUSE_FRAGMENTATION);
            DONE;
        }
    }
}

/* The optimizer makes two blocks for each gradient of a first step, and fails in the middle. What
 * would let the request fit has to leave room for the rest, too: with 128 MiB free an engine of
 * 1.5 GiB is not enough for 512 MiB and the 1.5 GiB after it, one of 2 GiB is. */
MT_TEST(state_that_is_still_to_come)
{
    static const uint64_t sizes[] = {GIB, 512 * MIB, 512 * MIB, 256 * MIB};
    for (unsigned enough = 0; enough < 2; enough++) {
        struct heap *h = heap_new();
        const struct mt_what_if *w;
        unsigned f;
        for (unsigned i = 0; i < 4; i++)
            heap_alloc(h, sizes[i], MODEL);
        heap_alloc(h, enough ? 2 * GIB : 3 * GIB / 2, KV);
        f = heap_alloc(h, GIB, FORWARD);
        for (unsigned i = 0; i < 4; i++)
            heap_alloc(h, sizes[i], ENGINE);
        heap_free(h, f);
        heap_alloc(h, GIB, STATE);
        heap_alloc(h, GIB, STATE);
        heap_alloc(h, 512 * MIB, STATE);
        heap_oom(h, 512 * MIB, 128 * MIB, STATE);
        {
            FINISH(0);
            /* of the second size one, two of the third, two of the last; the request is one */
            MT_CHECK_EQ(c->state_to_come, 2 * 512 * MIB + 2 * 256 * MIB);
            w = heap_what_if(c, "engine_asleep");
            MT_ASSERT(w != NULL);
            MT_CHECK_EQ(w->fits, enough);
            MT_CHECK_HAS(w->text, "and the 1.50 GiB of state that the step had still to make");
            MT_CHECK_EQ(c->kind, enough ? MT_CAUSE_STALE_ENGINE : MT_CAUSE_CAPACITY);
            DONE;
        }
    }
}

#define LIST                                                                                       \
    "torch/optim/adamw.py:600:_multi_tensor_adamw|torch/optim/optimizer.py:82:wrapper|" ACTOR

/* A list of temporaries, a block for each gradient, of which two are there: 768 MiB of it come
 * after the request, more than its 600 MiB of pieces leave. With all but one there it is pieces. */
MT_TEST(a_list_of_the_optimizer_that_is_not_whole)
{
    static const uint64_t sizes[] = {512 * MIB, 256 * MIB, 256 * MIB, 512 * MIB, 256 * MIB};
    for (unsigned made = 2; made <= 4; made += 2) {
        struct heap *h = heap_new();
        unsigned f;
        for (unsigned i = 0; i < 5; i++)
            heap_alloc_in(h, sizes[i], sizes[i] + 120 * MIB, MODEL);
        f = heap_alloc(h, GIB, FORWARD);
        for (unsigned i = 0; i < 5; i++)
            heap_alloc(h, sizes[i], ENGINE);
        heap_free(h, f);
        for (unsigned i = 0; i < 5; i++)
            heap_alloc(h, 2 * sizes[i], STATE);
        for (unsigned i = 0; i < made; i++)
            heap_alloc(h, sizes[i], LIST);
        heap_oom(h, 256 * MIB, 8 * MIB, LIST);
        {
            FINISH(0);
            MT_CHECK_EQ(c->pass_to_come, made == 2 ? 768 * MIB : 0);
            MT_CHECK_EQ(c->kind, made == 2 ? MT_CAUSE_CAPACITY : MT_CAUSE_FRAGMENTATION);
            if (made == 2)
                MT_CHECK(heap_evidence(c, "for each of 5 gradients", 768 * MIB));
            DONE;
        }
    }
}

#define LINE "own/loop.py:30 main"
#define LOOP "own/loop.py:30:main|" MAIN
#define CALLED "torch/nn/modules/module.py:60:_call_impl|" LOOP
enum loop { ASSIGNS, DELETES, OTHER_LINE, INSIDE, N_LOOPS };

/* Passes of a loop: four layers, and a result of a GiB, of which the one before goes at the line
 * that called the model, at another line, or inside PyTorch; or its own goes at the end of the
 * pass.
 */
static void loop(struct heap *h, enum loop how, unsigned n)
{
    unsigned result = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned layer[4], before = result;
        for (unsigned k = 0; k < 4; k++)
            layer[k] = heap_alloc(h, (64 + k) * MIB,
                                  k == 0 ? "own/model.py:3:forward|" CALLED
                                         : "own/model.py:5:forward|" CALLED);
        result = heap_alloc(h, GIB, "own/model.py:9:forward|" CALLED);
        if (i != 0 && how != DELETES)
            heap_free_at(h, before,
                         how == ASSIGNS      ? LOOP
                         : how == OTHER_LINE ? "own/loop.py:31:main|" MAIN
                                             : CALLED);
        heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
        for (unsigned k = 4; k-- > 0;)
            heap_free(h, layer[k]);
        if (how == DELETES)
            heap_free_at(h, result, LOOP);
    }
}

/* Where the line that makes the result lets go of the one before, a pass that fails needs one GiB
 * less; nothing says so of another line, and where it is let go of in time there is none. */
MT_TEST(the_result_of_the_pass_before)
{
    for (enum loop how = ASSIGNS; how < N_LOOPS; how++) {
        struct heap *h = heap_new();
        heap_alloc(h, 4 * GIB, MODEL);
        loop(h, how, 3);
        heap_alloc(h, 64 * MIB, "own/model.py:3:forward|" CALLED);
        heap_alloc(h, 64 * MIB, "own/model.py:5:forward|" CALLED);
        heap_oom(h, GIB, 128 * MIB, "own/model.py:9:forward|" CALLED);
        {
            FINISH(0);
            MT_CHECK_EQ(c->last_result, how == ASSIGNS ? GIB : 0);
            MT_CHECK_EQ(heap_what_if(c, "no_last_result") != NULL, how == ASSIGNS);
            if (how == ASSIGNS) {
                MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
                MT_CHECK_EQ(c->conf, MT_CONF_MARKED);
                MT_CHECK_STR(c->by, "no_last_result");
                MT_CHECK_STR(c->last_result_line, LINE);
                MT_CHECK_HAS(c->sentence, "still alive: 1.00 GiB, which " LINE " lets go of only");
                MT_CHECK(heap_evidence(c, "which goes only when " LINE, GIB));
            } else {
                MT_CHECK(strcmp(c->by, "no_last_result") != 0);
            }
            DONE;
        }
    }
}

/* Two passes before one backward, in one expression: the first is let go of there by the exception
 * alone. */
MT_TEST(what_an_exception_lets_go_of_is_no_result)
{
    struct heap *h = heap_new();
    unsigned first;
    heap_alloc(h, 4 * GIB, MODEL);
    loop(h, DELETES, 2);
    first = heap_alloc(h, GIB, "own/model.py:8:forward|" CALLED);
    heap_free(h, heap_alloc(h, 8 * MIB, "own/loop.py:40:score|" LOOP));
    heap_alloc(h, 64 * MIB, "own/model.py:3:forward|" CALLED);
    heap_alloc(h, GIB, "own/model.py:8:forward|" CALLED);
    heap_oom(h, GIB, 128 * MIB, "own/model.py:9:forward|" CALLED);
    heap_free_at(h, first, LOOP);
    {
        FINISH(0);
        MT_CHECK_EQ(c->last_result, 0);
        MT_CHECK(heap_what_if(c, "no_last_result") == NULL);
        DONE;
    }
}

/* Nothing failed: the peak is where both are there. */
MT_TEST(two_results_at_the_peak)
{
    for (int deletes = 0; deletes < 2; deletes++) {
        struct heap *h = heap_new();
        heap_alloc(h, 4 * GIB, MODEL);
        loop(h, deletes ? DELETES : ASSIGNS, 4);
        {
            FINISH(80 * GIB);
            MT_CHECK_EQ(c->kind, MT_CAUSE_NONE);
            MT_CHECK_EQ(c->last_result, deletes ? 0 : GIB);
            MT_CHECK_EQ(strstr(c->next.sentence, "the result of the pass before") != NULL,
                        !deletes);
            MT_CHECK(!c->keeps_results);
            DONE;
        }
    }
}

/* What a hook keeps of every pass goes when the function ends, at the line of its call, which all
 * passes went through: newest first as a list lets go of it, or oldest first. */
MT_TEST(what_is_kept_of_every_pass)
{
    for (int oldest = 0; oldest < 2; oldest++) {
        struct heap *h = heap_new();
        unsigned kept[12], n = sizeof kept / sizeof *kept;
        heap_alloc(h, 4 * GIB, MODEL);
        for (unsigned i = 0; i < n; i++) {
            heap_free(h, heap_alloc(h, 64 * MIB, "own/model.py:3:forward|" CALLED));
            kept[i] = heap_alloc(h, 512 * MIB, "own/model.py:9:forward|" CALLED);
            heap_free(h, heap_alloc(h, 8 * MIB, "own/cka.py:4:read|" MAIN));
        }
        heap_free(h, heap_alloc(h, 256 * MIB, "own/cka.py:8:matrix|" LOOP));
        for (unsigned i = 0; i < n; i++)
            heap_free_at(h, kept[oldest ? i : n - 1 - i], LOOP);
        {
            FINISH(0);
            MT_CHECK_EQ(c->last_result, (n - 1) * 512 * MIB);
            MT_CHECK(c->keeps_results);
            MT_CHECK(strstr(c->next.sentence, "the result of the pass before") == NULL);
            MT_CHECK_HAS(c->next.sentence, "5.50 GiB of it was kept of earlier passes, which " LINE
                                           " lets go of only when it is over");
            DONE;
        }
    }
}

/* x = layer(x), a hundred times in one pass: each is the input of the next. */
MT_TEST(the_input_of_a_layer_is_no_result)
{
    struct heap *h = heap_new();
    unsigned x;
    heap_alloc(h, 4 * GIB, MODEL);
    x = heap_alloc(h, 64 * MIB, "own/model.py:3:forward|" CALLED);
    for (unsigned i = 0; i < 50; i++) {
        unsigned y = heap_alloc(h, GIB, "own/layer.py:7:forward|own/model.py:5:forward|" CALLED);
        heap_free_at(h, x, "own/model.py:5:forward|" CALLED);
        x = y;
    }
    heap_oom(h, GIB, 128 * MIB, "own/layer.py:7:forward|own/model.py:5:forward|" CALLED);
    {
        FINISH(0);
        MT_CHECK_EQ(c->last_result, 0);
        DONE;
    }
}

#define PREDICT "own/predict.py:57:predict|" MAIN
#define UNET "own/unet.py:98:forward|torch/nn/modules/module.py:60:_call_impl|" PREDICT

/* Batches of sizes of their own through a model whose layers are lines of their own: of each some
 * results stay. `between`: the input of a batch is made where the model is called. */
static uint64_t predict(struct heap *h, unsigned batches, unsigned results, bool between)
{
    uint64_t kept = 0;
    for (unsigned i = 0; i < batches; i++) {
        unsigned input = 0, down, up;
        if (between)
            input = heap_alloc(h, 32 * MIB, "own/predict.py:52:predict|" MAIN);
        down = heap_alloc(h, 128 * MIB, "own/unet.py:21:forward|" UNET);
        up = heap_alloc(h, 256 * MIB, "own/unet.py:33:forward|" UNET);
        for (unsigned k = 0; k < results; k++) {
            uint64_t size = (128 + 16 * (i % 5)) * MIB;
            heap_alloc(h, size,
                       k == 0 ? "own/unet.py:75:forward|" UNET : "own/unet.py:76:forward|" UNET);
            kept += size;
        }
        heap_free(h, up);
        heap_free(h, down);
        if (between)
            heap_free(h, input);
    }
    return kept;
}

/* Each batch leaves the call of the model, so that its results are told from the layers of one
 * pass, whatever their sizes. Without that they might be layers; in a job that trains the same
 * number was there in a pass before. */
MT_TEST(results_of_batches_of_any_size)
{
    static const struct {
        unsigned batches, results;
        bool between, trained, is_kept;
    } jobs[] = {{9, 1, true, false, true},
                {9, 2, true, false, true},
                {9, 1, true, true, true},
                {7, 1, true, false, false},
                {9, 1, false, false, false}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct heap *h = heap_new();
        uint64_t kept;
        heap_alloc(h, 2 * GIB, MODEL);
        if (jobs[i].trained) {
            unsigned f = heap_alloc(h, 128 * MIB, "own/unet.py:75:forward|" UNET);
            heap_free(h, heap_alloc(h, 64 * MIB, "own/train.py:3:main|" MAIN));
            heap_free(h, heap_alloc(h, 64 * MIB, ENGINE));
            heap_free(h, f);
        }
        kept = predict(h, jobs[i].batches, jobs[i].results, jobs[i].between);
        heap_oom(h, 256 * MIB, 128 * MIB, "own/unet.py:33:forward|" UNET);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind == MT_CAUSE_LEAK && strcmp(c->by, "no_kept") == 0, jobs[i].is_kept);
            if (jobs[i].is_kept) {
                MT_ASSERT(heap_what_if(c, "no_kept") != NULL);
                MT_CHECK_EQ(heap_what_if(c, "no_kept")->freed, kept);
                MT_CHECK_HAS(c->sentence, jobs[i].results == 2 ? "in 18 blocks" : "in 9 blocks");
                MT_CHECK(heap_evidence(c, "in 9 rounds of this phase", kept));
            }
            DONE;
        }
    }
}

/* A round calls its model three times, and what it makes outside of these calls stays: rounds of
 * the line, although no step and no pass marks them. One call a round may be a layer's, where the
 * job's own code goes through the layers. */
#define INFER "torch/utils/_contextlib.py:116:decorate_context|"
#define INSIDE                                                                                     \
    "own/unet.py:21:forward|torch/nn/modules/module.py:60:_call_impl|own/"                         \
    "guess.py:107:round|" INFER MAIN
MT_TEST(rounds_of_calls_of_a_line)
{
    for (unsigned calls = 1; calls <= 3; calls += 2) {
        struct heap *h = heap_new();
        for (unsigned i = 0; i < 4; i++) { /* layers, and their caches beside them: no steps */
            heap_alloc(h, 500 * MIB, MODEL);
            heap_alloc(h, 4 * MIB, "own/guess.py:80:__init__|" INFER MAIN);
        }
        heap_free(h, heap_alloc(h, 32 * MIB, "own/unet.py:2:forward|" INSIDE)); /* of a prompt */
        for (unsigned i = 0; i < 10; i++) {
            for (unsigned k = 0; k < calls; k++)
                heap_free(h, heap_alloc(h, 32 * MIB, INSIDE));
            heap_alloc(h, 256 * MIB, "own/guess.py:113:round|" INFER MAIN);
        }
        heap_oom(h, 256 * MIB, 128 * MIB, "own/guess.py:113:round|" INFER MAIN);
        {
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].roles.steps.n, 0);
            MT_CHECK_EQ(strcmp(c->by, "no_kept") == 0, calls == 3);
            if (calls == 3)
                MT_CHECK_HAS(c->sentence, "most of it at own/guess.py:113 round; each of 10 passes "
                                          "added 256.0 MiB");
            DONE;
        }
    }
}

/* Each pass leaves a block of half the size of a weight: autocast's copy, made anew each time. Of
 * another size it is a result. */
MT_TEST(copies_of_weights_that_each_pass_makes)
{
    for (int cast = 0; cast < 2; cast++) {
        struct heap *h = heap_new();
        heap_alloc(h, 512 * MIB, MODEL);
        heap_alloc(h, GIB, MODEL);
        for (unsigned i = 0; i < 10; i++) {
            heap_free(h, heap_alloc(h, 32 * MIB, "own/predict.py:52:predict|" MAIN));
            heap_alloc(h, cast ? 256 * MIB : 250 * MIB, "own/head.py:5:forward|" UNET);
        }
        heap_oom(h, 256 * MIB, 128 * MIB, "own/head.py:5:forward|" UNET);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
            MT_CHECK_EQ(c->kept_casts, cast ? 10 * 256 * MIB : 0);
            MT_CHECK_EQ(strstr(c->sentence, "as autocast copies them") != NULL, cast);
            for (uint32_t i = 0; i < a->advice.n; i++) {
                MT_CHECK(!cast || strcmp(a->advice.p[i].rule->id, "P07") != 0);
                MT_CHECK(cast || strcmp(a->advice.p[i].rule->id, "P11") != 0);
            }
            DONE;
        }
    }
}

#define TEST(line) "own/train.py:" line ":test|" MAIN

#define HEAD "own/model.py:15:head|torch/nn/modules/module.py:60:_call_impl|" TEST("21")

/* A pass from that line, of four layers that stay. */
static void pass_from(struct heap *h, const char *line, unsigned layer[4])
{
    char input[200], forward[400];
    (void)snprintf(input, sizeof input, "own/train.py:9:main|" MAIN);
    (void)snprintf(forward, sizeof forward,
                   "own/model.py:5:forward|torch/nn/modules/module.py:60:_call_impl|%s", line);
    heap_free(h, heap_alloc(h, 16 * MIB, input));
    for (unsigned k = 0; k < 4; k++)
        layer[k] = heap_alloc(h, 256 * MIB, forward);
}

/* Steps of training, each of so many passes before its backward; then passes from a line of their
 * own, or from that of the training. `heads`: after each of them another line calls a module, as
 * where a cell and its head take turns. What a backward pass has followed several times over, it
 * may follow more often. */
MT_TEST(passes_that_no_backward_follows)
{
    static const struct {
        unsigned accumulate, tests;
        bool own_line, heads;
        uint64_t graph;
    } jobs[] = {{1, 2, true, false, GIB}, {1, 3, true, false, 2 * GIB}, {1, 1, true, false, 0},
                {2, 2, false, false, 0},  {1, 2, false, false, GIB},    {2, 5, false, false, 0},
                {2, 5, false, true, 0},   {2, 3, true, true, 2 * GIB}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct heap *h = heap_new();
        unsigned layer[8][4];
        heap_alloc(h, 4 * GIB, MODEL);
        for (unsigned step = 0; step < 3; step++) {
            for (unsigned k = 0; k < jobs[i].accumulate; k++) {
                pass_from(h, TEST("20"), layer[k]);
                if (jobs[i].heads)
                    heap_free(h, heap_alloc(h, 8 * MIB, HEAD));
            }
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
            for (unsigned k = 0; k < jobs[i].accumulate * 4; k++)
                heap_free(h, layer[k / 4][k % 4]);
        }
        for (unsigned k = 0; k < jobs[i].tests; k++) {
            pass_from(h, jobs[i].own_line ? TEST("40") : TEST("20"), layer[k]);
            if (jobs[i].heads && k + 1 < jobs[i].tests)
                heap_free(h, heap_alloc(h, 8 * MIB, HEAD));
        }
        heap_oom(
            h, 256 * MIB, 128 * MIB,
            jobs[i].own_line
                ? "own/model.py:5:forward|torch/nn/modules/module.py:60:_call_impl|" TEST("40")
                : "own/model.py:5:forward|torch/nn/modules/module.py:60:_call_impl|" TEST("20"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->unused_graph, jobs[i].graph);
            MT_CHECK_EQ(strcmp(c->by, "no_graph") == 0, jobs[i].graph != 0);
            if (jobs[i].own_line && jobs[i].graph != 0) {
                MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
                MT_CHECK_STR(c->unused_graph_line, "own/train.py:40 test");
                MT_CHECK_EQ(c->unused_now, GIB);
                MT_CHECK_HAS(c->sentence, "Autograd is on where nothing is trained");
            }
            DONE;
        }
    }
}

/* Evaluation after training: six layers of two blocks each, and the result of the pass, which is
 * kept. Without gradients the layers go, and at most the states of all layers stay: no graph. */
MT_TEST(results_that_are_kept_are_no_graph)
{
    enum { NO_GRAD, NO_GRAD_STATES, GRAD, N };
    static const char forward[] =
        "own/model.py:5:forward|torch/nn/modules/module.py:60:_call_impl|" TEST("40");
    static const char result[] =
        "own/model.py:9:forward|torch/nn/modules/module.py:60:_call_impl|" TEST("40");
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned block[12];
        heap_alloc(h, 4 * GIB, MODEL);
        for (unsigned step = 0; step < 3; step++) {
            pass_from(h, TEST("20"), block);
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
            for (unsigned k = 0; k < 4; k++)
                heap_free(h, block[k]);
        }
        for (unsigned pass = 0; pass < 4; pass++) {
            heap_free(h, heap_alloc(h, 16 * MIB, "own/train.py:9:main|" MAIN));
            for (unsigned k = 0; k < 12; k++)
                block[k] = heap_alloc(h, 64 * MIB, forward);
            heap_alloc(h, 512 * MIB, result);
            for (unsigned k = 0; k < 12 && what != GRAD; k++)
                if (what == NO_GRAD || k % 4 != 0)
                    heap_free(h, block[k]);
        }
        heap_free(h, heap_alloc(h, 16 * MIB, "own/train.py:9:main|" MAIN));
        heap_alloc(h, 64 * MIB, forward);
        heap_oom(h, 256 * MIB, 128 * MIB, forward);
        {
            bool no_grad = false;
            FINISH(0);
            MT_CHECK_EQ(c->unused_graph, what == GRAD ? UINT64_C(4) * (12 * 64 + 512) * MIB : 0);
            MT_CHECK_EQ(strcmp(c->by, "no_graph") == 0, what == GRAD);
            for (uint32_t i = 0; i < a->advice.n; i++)
                no_grad = no_grad || strcmp(a->advice.p[i].rule->id, "P22") == 0;
            MT_CHECK_EQ(no_grad, what == GRAD);
            DONE;
        }
    }
}

/* A rank that needs `need` in its forward pass; it fails at the last GiB of it, or not at all. */
static struct mt_analysis *rank_of(int rank, uint64_t need, bool fails, struct mt_trace **t)
{
    struct heap *h = heap_new();
    struct mt_analysis *a;
    heap_alloc(h, 4 * GIB, MODEL);
    heap_alloc(h, need - GIB, FORWARD);
    if (fails)
        heap_oom(h, GIB, 256 * MIB, FORWARD);
    else
        heap_free(h, heap_alloc(h, GIB, FORWARD));
    a = heap_done(h, &rules, 0, t);
    (*t)->meta.rank = rank;
    return a;
}

/* Half as much again as any other rank, and enough less in the mean of all: nothing less is skew.
 */
MT_TEST(a_rank_that_has_more_to_do)
{
    static const struct {
        uint64_t own, other;
        bool skew;
    } jobs[] = {{9, 3, true}, {9, 6, true}, {9, 7, false}, {4, 4, false}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct mt_trace *t[3];
        struct mt_analysis *a[3];
        uint64_t even = (jobs[i].own + 2 * jobs[i].other) * GIB / 3;
        const struct mt_cause *c;
        bool changed = false;
        for (int r = 0; r < 3; r++)
            a[r] = rank_of(r, (r == 2 ? jobs[i].own : jobs[i].other) * GIB, r == 2, &t[r]);
        MT_CHECK(mt_cause_skew(a[2], 0, a, 3, &changed));
        c = a[2]->devices.p[0].cause;
        MT_CHECK_EQ(changed, jobs[i].skew);
        MT_CHECK_EQ(c->kind, jobs[i].skew ? MT_CAUSE_SKEW : MT_CAUSE_CAPACITY);
        MT_CHECK(c->skew / MIB == (jobs[i].skew ? (jobs[i].own * GIB - even) / MIB : 0) ||
                 c->skew / MIB + 1 == (jobs[i].own * GIB - even) / MIB);
        if (jobs[i].skew) {
            MT_CHECK_HAS(c->sentence, "rank 2 had 9.00 GiB of what follows the tokens");
            MT_CHECK_HAS(c->sentence, jobs[i].other == 3
                                          ? "2 other ranks had 3.00 GiB in the same"
                                          : "2 other ranks had 6.00 GiB in the same");
            MT_ASSERT(heap_what_if(c, "even") != NULL);
            MT_CHECK(heap_what_if(c, "even")->fits);
            MT_CHECK(heap_evidence(c, "Rank 1: ", jobs[i].other * GIB));
        }
        /* nothing failed there */
        MT_CHECK(mt_cause_skew(a[0], 0, a, 3, &changed) && !changed);
        for (int r = 0; r < 3; r++) {
            mt_analysis_free(a[r]);
            mt_trace_free(t[r]);
        }
    }
}

#define SCORE                                                                                      \
    "own/net.py:9:forward|torch/nn/modules/module.py:60:_call_impl|own/score.py:31:main|" MAIN
#define TOKENS                                                                                     \
    "own/net.py:3:embed|torch/nn/modules/module.py:60:_call_impl|own/score.py:20:main|" MAIN

/* Nothing has trained, and all batches are made before the first pass, by code that looks like a
 * pass: what the passes keep is told from the layers of one pass all the same. Neither recomputing
 * nor a smaller batch makes it less. */
MT_TEST(a_list_of_batches_before_the_passes)
{
    for (int lists = 0; lists < 2; lists++) {
        struct heap *h = heap_new();
        heap_alloc(h, 2 * GIB, MODEL);
        for (int i = 0; lists && i < 12; i++)
            heap_alloc(h, 2 * MIB, TOKENS);
        for (int i = 0; i < 12; i++) {
            unsigned x = heap_alloc(h, 32 * MIB, "own/net.py:5:first|" SCORE);
            for (int k = 0; k < 4; k++)
                heap_free(h, heap_alloc(h, 64 * MIB, "own/layer.py:7:forward|" SCORE));
            heap_alloc(h, 2 * GIB, "own/net.py:7:last|" SCORE);
            heap_free(h, x);
        }
        heap_oom(h, 64 * MIB, 16 * MIB, "own/layer.py:7:forward|" SCORE);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
            MT_ASSERT(heap_what_if(c, "no_kept") != NULL);
            MT_CHECK_EQ(heap_what_if(c, "no_kept")->freed, 24 * GIB);
            MT_CHECK(card(a, "P07") != NULL && card(a, "P01") == NULL && card(a, "P04") == NULL);
            MT_CHECK(card(a, "P02") == NULL && card(a, "P09") == NULL);
            DONE;
        }
    }
}

#define JUDGE(line)                                                                                \
    "lm/model.py:" line ":forward|torch/nn/modules/module.py:60:_call_impl|own/check.py:70:"       \
    "validate|" MAIN

/* Rounds keep 9 GiB, and a request of so much joins them: half the batch makes twice as many
 * rounds, and asks for the same. Of another size it may be the batch's. */
MT_TEST(what_joins_the_rounds_is_no_batch)
{
    for (int joins = 0; joins < 2; joins++) {
        struct heap *h = heap_new();
        heap_alloc(h, 3 * GIB,
                   "torch/nn/modules/linear.py:105:__init__|own/check.py:12:load|" MAIN);
        for (int i = 0; i < 9; i++) {
            for (int k = 0; k < 4; k++)
                heap_free(h, heap_alloc(h, 64 * MIB, "lm/layer.py:5:forward|" JUDGE("9")));
            heap_alloc(h, GIB, "lm/head.py:7:forward|" JUDGE("9"));
        }
        heap_oom(h, joins ? 9 * GIB : 3 * GIB, GIB, JUDGE("12"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
            MT_CHECK(card(a, "P07") != NULL);
            MT_CHECK_EQ(card(a, "P09") != NULL, !joins);
            DONE;
        }
    }
}

/* Pages of 20 MiB: 8 MiB of weights, MIDDLE that waits for a stream, weights to the end. Without
 * what waits its free run is 1 MiB too small for the request, and gives back the pages that it
 * covers whole, one in the first case and two in the second; 15 MiB are free besides. */
MT_TEST(pages_that_go_back)
{
    static const struct {
        uint64_t middle, lack;
    } run[] = {{37, 40 - 15 - 20}, {52, 60 - 15 - 40}};
    for (int i = 0; i < 2; i++) {
        const uint64_t addr = UINT64_C(0x7f0000000000), all = (i == 0 ? 60 : 80) * MIB,
                       from = addr + 8 * MIB, size = run[i].middle * MIB, to = from + size;
        struct heap *h = heap_new();
        char blocks[96];
        bt_event(&h->x, "segment_map", addr, all, MODEL);
        bt_event(&h->x, "alloc", addr, 8 * MIB, MODEL);
        bt_event(&h->x, "alloc", from, size, FORWARD);
        bt_event(&h->x, "alloc", to, addr + all - to, MODEL);
        bt_event(&h->x, "free_requested", from, size, "");
        heap_oom(h, (i == 0 ? 38 : 53) * MIB, 15 * MIB, FORWARD);
        snprintf(blocks, sizeof blocks, "+%llua %llup %llua", (unsigned long long)(8 * MIB),
                 (unsigned long long)size, (unsigned long long)(addr + all - to));
        bt_segment(&h->x, 0, addr, all, blocks, MODEL);
        {
            FINISH(0);
            const struct mt_what_if *w = heap_what_if(c, "no_pending_frees");
            MT_ASSERT(w != NULL);
            MT_CHECK_EQ(w->freed, size);
            MT_CHECK_EQ(w->short_by, run[i].lack * MIB);
            DONE;
        }
    }
}

/* A backward pass asks for as much as a weight has: its gradient, which no smaller batch makes
 * less. Where a forward pass makes blocks of that size too, it may be one of theirs. */
MT_TEST(the_gradient_of_a_large_weight)
{
    for (int like = 0; like < 2; like++) {
        struct heap *h = heap_new();
        unsigned x;
        heap_alloc(h, 20 * GIB, MODEL);
        heap_alloc(h, 64 * MIB, MODEL);
        x = heap_alloc(h, like ? 20 * GIB : 3 * GIB, FORWARD);
        heap_free(h, heap_alloc(h, 64 * MIB, ENGINE));
        heap_oom(h, 20 * GIB, 10 * GIB, ENGINE);
        heap_free(h, x);
        {
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].roles.request_role, like ? MT_ROLE_UNKNOWN : MT_ROLE_GRAD);
            MT_CHECK(c->known);
            DONE;
        }
    }
}

#define OF_TABLE                                                                                   \
    "??:0:torch::autograd::generated::EmbeddingBackward0::apply(std::vector<at::Tensor, "          \
    "std::allocator<at::Tensor> >&&)|" ENGINE

/* That of a table is whole whatever the batch: P147. */
MT_TEST(the_gradient_of_a_table)
{
    for (int table = 0; table < 2; table++) {
        struct heap *h = heap_new();
        heap_alloc(h, 20 * GIB,
                   "torch/nn/modules/sparse.py:140:__init__|own/train.py:2:main|" MAIN);
        heap_alloc(h, 3 * GIB,
                   "own/net.py:50:forward|torch/nn/modules/module.py:60:_call_impl|" MAIN);
        heap_free(h, heap_alloc(h, 64 * MIB, ENGINE));
        heap_oom(h, 20 * GIB, 10 * GIB, table ? OF_TABLE : ENGINE);
        {
            FINISH(0);
            MT_CHECK(c->known);
            MT_CHECK_EQ(a->devices.p[0].roles.request_role, MT_ROLE_GRAD);
            MT_CHECK_EQ(card(a, "P147") != NULL, table);
            DONE;
        }
    }
}

/* Code of no known phase asks for more than all that is live, and half of what is there. */
MT_TEST(one_request_of_no_known_phase)
{
    static const struct {
        uint64_t live, request, device_free;
        enum mt_cause_kind kind;
    } jobs[] = {{8 * GIB, 30 * GIB, 20 * GIB, MT_CAUSE_GIANT_TENSOR},
                {8 * GIB, 40 * GIB, 20 * GIB, MT_CAUSE_GIANT_TENSOR},
                {20 * GIB, 18 * GIB, 12 * GIB, MT_CAUSE_CAPACITY},
                {4 * GIB, 10 * GIB, 8 * GIB, MT_CAUSE_GIANT_TENSOR},
                {20 * GIB, 10 * GIB, 8 * GIB, MT_CAUSE_CAPACITY}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct heap *h = heap_new();
        heap_alloc(h, jobs[i].live, "own/table.py:4:read|" MAIN);
        heap_oom(h, jobs[i].request, jobs[i].device_free, "own/match.py:8:all_pairs|" MAIN);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, jobs[i].kind);
            DONE;
        }
    }
}

#define OWN_STEP "own/train.py:9:step|own/train.py:40:main|" MAIN
#define OWN_CALL "torch/nn/modules/module.py:60:_call_impl|" OWN_STEP
#define GATHERED                                                                                   \
    "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:40:foreach_all_gather|" OWN_CALL

/* One unit of FSDP has the gradients of the whole model before they are reduced, in each pass: that
 * is no accumulation without a reduction. Where each layer is a unit it is. */
MT_TEST(whole_gradients_of_one_unit)
{
    for (int layers = 0; layers < 2; layers++) {
        struct heap *h = heap_new();
        heap_alloc(h, GIB, "torch/nn/modules/linear.py:105:__init__|own/train.py:2:main|" MAIN);
        for (int i = 0; i < 3; i++) {
            unsigned f[20], grad[20], k, g = 0;
            for (k = 0; k < 20; k++) {
                if (k % (layers ? 2 : 20) == 0) {
                    if (k != 0)
                        heap_free(h, g);
                    g = heap_alloc(h, layers ? 800 * MIB : 8 * GIB, GATHERED);
                }
                f[k] = heap_alloc(h, 64 * MIB, "own/net.py:50:forward|" OWN_CALL);
            }
            while (k-- > 0) {
                grad[k] = heap_alloc(h, 400 * MIB, ENGINE);
                heap_free(h, heap_alloc(h, 32 * MIB, ENGINE));
                heap_free(h, f[k]);
            }
            heap_free(h, g);
            for (k = 0; i < 2 && k < 20; k++)
                heap_free_at(h, grad[k], "torch/optim/optimizer.py:900:zero_grad|" OWN_STEP);
        }
        heap_oom(
            h, 16 * GIB, 4 * GIB,
            "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:371:foreach_reduce|torch/"
            "distributed/fsdp/_fully_shard/_fsdp_param_group.py:400:post_backward|" MAIN);
        {
            FINISH(0);
            MT_CHECK(c->known);
            MT_CHECK_EQ(a->devices.p[0].one_unit != 0, !layers);
            MT_CHECK_EQ(card(a, "P60") != NULL, !layers);
            MT_CHECK_EQ(card(a, "P49") != NULL, layers);
            DONE;
        }
    }
}

#define AHEAD "own/reader.py:14:decode|own/reader.py:22:run_ahead|" MAIN

/* A reader holds 20 GiB ahead of the first pass: P146. Not where a weight has the size of its
 * blocks, where their sizes differ, or where they are few or not most of what is live. */
MT_TEST(what_a_reader_holds_ahead)
{
    enum { READER, WEIGHTS, SIZES, FEW, LITTLE, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned n = what == FEW ? 10 : 20;
        heap_alloc(h, what == WEIGHTS ? GIB : 512 * MIB,
                   "torch/nn/modules/linear.py:105:__init__|own/train.py:2:main|" MAIN);
        for (unsigned i = 0; i < n; i++) {
            heap_free(h, heap_alloc(h, 256 * MIB, "own/reader.py:12:decode|" MAIN));
            heap_alloc(h, what == SIZES ? (512 + 64 * i) * MIB : GIB, AHEAD);
        }
        if (what == LITTLE)
            heap_alloc(h, 30 * GIB, "own/net.py:30:forward|" OWN_CALL);
        heap_alloc(h, 2 * GIB, "own/net.py:50:forward|" OWN_CALL);
        heap_oom(h, 3 * GIB, GIB, "own/net.py:51:forward|" OWN_CALL);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
            MT_CHECK_EQ(c->hoard, what == READER ? 20 * GIB : 0);
            MT_CHECK_EQ(card(a, "P146") != NULL, what == READER);
            MT_CHECK_EQ(strstr(c->sentence,
                               "20.00 GiB of it 20 blocks that own/reader.py:14 decode made") !=
                            NULL,
                        what == READER);
            DONE;
        }
    }
}

#define ROUND(line) "own/filter.py:" line ":update|own/filter.py:40:main|" MAIN

/* A state that each round makes anew, the one before going then. What is left of an earlier run has
 * outlived the rounds of this one: it is told, and let go of (P289). A line that collects what it
 * makes keeps most of it, and rounds too few are layers. */
MT_TEST(what_has_outlived_its_line)
{
    enum { LEFT, COLLECTED, FEW, GONE, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned state[40], n = 0;
        for (int i = 0; i < (what == FEW ? 5 : 20); i++) {
            bool over = i == 3 && what != GONE; /* of the first run, which somebody keeps */
            heap_free(h, heap_alloc(h, GIB, ROUND("14")));
            state[n++] = heap_alloc(h, GIB, ROUND("15"));
            if (i > 0 && !over && what != COLLECTED)
                heap_free(h, state[n - 2]);
        }
        heap_oom(h, GIB, 64 * MIB, ROUND("14"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->outlived, what == LEFT ? GIB : 0);
            MT_CHECK_EQ(strstr(c->sentence, "own/filter.py:15 update made in 1 tensor has "
                                            "outlived 16 others of that size") != NULL,
                        what == LEFT);
            MT_CHECK_EQ(card(a, "P289") != NULL && card(a, "P289")->is_top, what == LEFT);
            DONE;
        }
    }
}

#define BLOCK_OF                                                                                   \
    "own/net.py:25:__init__|own/net.py:40:__init__|own/net.py:53:__init__|own/"                    \
    "net.py:66:main|" MAIN
#define CACHE_OF "own/cache.py:13:__init__|own/net.py:66:main|" MAIN
#define IN_PASS(line) "own/net.py:" line ":forward|torch/nn/modules/module.py:60:_call_impl|" MAIN

/* A constructor that makes tensor after tensor of one size, and asks for one more. Masks are alike:
 * one serves all blocks (P292). A cache is one for each layer: less of each (P293). Two of a size
 * are weights; tensors of a pass are another matter. Moments in 8 bits are fewer bytes than the
 * next of them takes, and never enough. */
MT_TEST(what_a_constructor_makes_alike)
{
    enum { MASKS, CACHES, TWO, PASS, SIZES, N };
    static const char *const by[] = {"??:0:at::_ops::tril::call(at::Tensor const&, long)|" BLOCK_OF,
                                     "??:0:at::_ops::zeros::call(c10::ArrayRef)|" CACHE_OF,
                                     "??:0:at::_ops::tril::call(at::Tensor const&, long)|" BLOCK_OF,
                                     IN_PASS("25"),
                                     "??:0:at::_ops::zeros::call(c10::ArrayRef)|" CACHE_OF};
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        bool series = what == MASKS || what == CACHES;
        for (unsigned i = 0; i < 40; i++)
            heap_alloc(h, 32 * MIB + i % 8 * MIB, MODEL);
        for (unsigned i = 0; i < 80; i++)
            heap_alloc(h, 16 * MIB + i % 8 * MIB, STATE);
        for (unsigned i = 0; i < (what == TWO ? 2 : 12); i++)
            heap_alloc(h, GIB + (what == SIZES ? i * 2 * MIB : 0), by[what]);
        heap_oom(h, GIB, 600 * MIB, by[what]);
        {
            FINISH(0);
            const struct mt_advice *one = card(a, "P292");
            MT_CHECK(c->known);
            MT_CHECK_EQ(one != NULL && one->is_top, what == MASKS);
            MT_CHECK_EQ(card(a, "P293") != NULL && card(a, "P293")->is_top, what == CACHES);
            MT_CHECK(!series || card(a, "B08") == NULL);
            if (one != NULL) {
                MT_CHECK_EQ(one->saving.bytes, 11 * GIB);
                MT_CHECK_EQ(one->lacking, 0);
                MT_CHECK(one->left_open);
            }
            for (uint32_t i = 0; series && i < a->advice.n; i++) /* less than the next one takes */
                if (a->advice.p[i].saving.known && a->advice.p[i].saving.high < GIB)
                    MT_CHECK(a->advice.p[i].lacking != 0);
            DONE;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(
    MT_RUN(rules_load) MT_RUN(what_can_be_let_go_of_comes_before_pieces)
        MT_RUN(what_a_pass_had_still_to_ask_for) MT_RUN(a_pass_that_says_nothing) MT_RUN(
            state_that_is_still_to_come) MT_RUN(a_list_of_the_optimizer_that_is_not_whole)
            MT_RUN(what_an_exception_lets_go_of_is_no_result) MT_RUN(the_result_of_the_pass_before)
                MT_RUN(two_results_at_the_peak) MT_RUN(what_is_kept_of_every_pass) MT_RUN(
                    the_input_of_a_layer_is_no_result) MT_RUN(results_of_batches_of_any_size)
                    MT_RUN(rounds_of_calls_of_a_line) MT_RUN(a_rank_that_has_more_to_do) MT_RUN(
                        passes_that_no_backward_follows) MT_RUN(results_that_are_kept_are_no_graph)
                        MT_RUN(copies_of_weights_that_each_pass_makes)
                            MT_RUN(a_list_of_batches_before_the_passes)
                                MT_RUN(what_joins_the_rounds_is_no_batch)
                                    MT_RUN(the_gradient_of_a_large_weight)
                                        MT_RUN(pages_that_go_back) MT_RUN(the_gradient_of_a_table)
                                            MT_RUN(one_request_of_no_known_phase)
                                                MT_RUN(whole_gradients_of_one_unit)
                                                    MT_RUN(what_a_reader_holds_ahead)
                                                        MT_RUN(what_has_outlived_its_line)
                                                            MT_RUN(what_a_constructor_makes_alike)
                                                                MT_RUN(rules_done))
