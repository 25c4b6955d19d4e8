/* Causes that lie in earlier passes or in no role at all, on traces small enough to check by hand.
 */
#include "cause_kit.h"

/* The largest holder has no role: the sentence names its line all the same, before the largest
 * role; not where a role has more. Two callers of one line are one holder. */
MT_TEST(the_largest_holder_without_a_role)
{
    for (int large = 0; large < 2; large++) {
        struct heap *h = heap_new();
        heap_alloc(h, 5 * GIB, MODEL);
        heap_alloc(h, large ? 4 * GIB : GIB, "own/shelf.py:4:fill|own/run.py:8:left|" MAIN);
        heap_alloc(h, 3 * GIB, "own/shelf.py:4:fill|own/run.py:9:right|" MAIN);
        heap_alloc(h, 2 * GIB, "own/other.py:7:keep|" MAIN);
        heap_oom(h, 2 * GIB, GIB, "own/shelf.py:9:find|" MAIN);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
            MT_CHECK_EQ(strstr(c->sentence,
                               ", 7.00 GiB of it tensors, made at own/shelf.py:4 fill, and "
                               "5.00 GiB parameters.") != NULL,
                        large);
            MT_CHECK_EQ(strstr(c->sentence, ", 5.00 GiB of it parameters.") != NULL, !large);
            DONE;
        }
    }
}

#define WEIGHTS "torch/nn/modules/linear.py:105:__init__|own/loop.py:2:build|" MAIN
#define STEP(line) "own/loop.py:" line ":step|" MAIN
#define LAYER "own/cell.py:5:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20")

#define ROOT                                                                                       \
    "torch/autograd/__init__.py:198:_make_grads|torch/autograd/__init__.py:340:backward|torch/"    \
    "_tensor.py:626:backward|" STEP("24")

/* So many of four layers, which stay, and what goes again at once. */
static void forward(struct heap *h, unsigned layer[4], unsigned n)
{
    heap_free(h, heap_alloc(h, 16 * MIB, STEP("12")));
    for (unsigned k = 0; k < n; k++) {
        layer[k] = heap_alloc(h, 256 * MIB, LAYER);
        heap_free(h, heap_alloc(h, 32 * MIB, LAYER));
    }
}

static void backward(struct heap *h, const unsigned layer[4], bool lets_go, bool bare)
{
    for (int k = 0; k < 4 && bare; k++) /* its loss, by a line of its own */
        heap_free(h, heap_alloc(h, 16 * MIB, STEP("22")));
    if (bare)
        heap_free(h, heap_alloc(h, 512, ROOT));
    heap_free(h, heap_alloc(h, 8 * MIB, bare ? "" : ENGINE));
    for (unsigned k = 4; k-- > 0 && lets_go;)
        heap_free(h, layer[k]);
}

/* Passes with a backward each. Where none of them lets go of its layers each adds as much again:
 * the graph is kept, and half the batch would only put the end off. Not where they do, where two
 * are under way at a time as in a pipeline, nor after one pass. APART: without frames of the
 * autograd thread the first pass is not known as training before its backward pass begins. */
MT_TEST(graphs_that_outlive_their_backward)
{
    enum { KEPT, APART, LET_GO, UNDER_WAY, ONE, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned layer[6][4], n = what == ONE ? 1 : 3;
        const struct mt_advice *half;
        bool kept = what == KEPT || what == APART;
        heap_alloc(h, 4 * GIB, WEIGHTS);
        forward(h, layer[0], 4);
        for (unsigned i = 0; i < n; i++) {
            if (what == UNDER_WAY)
                forward(h, layer[i + 1], 4);
            backward(h, layer[i], !kept && what != ONE, what == APART);
            if (what != UNDER_WAY)
                forward(h, layer[i + 1], i + 1 < n ? 4 : 2);
        }
        if (what == UNDER_WAY)
            forward(h, layer[n + 1], 2);
        heap_oom(h, 256 * MIB, 64 * MIB, LAYER);
        {
            FINISH(0);
            half = card(a, "P02");
            MT_CHECK_EQ(c->retained_graph, kept ? 3 * GIB : 0);
            MT_CHECK_EQ(c->kind == MT_CAUSE_LEAK, kept);
            MT_CHECK_EQ(card(a, "P155") != NULL, kept);
            if (kept) {
                MT_CHECK_HAS(c->sentence, "3.00 GiB of activations of the 3 passes before");
                MT_CHECK_HAS(c->sentence, "one pass of own/loop.py:20 step to the next");
                MT_CHECK_EQ(card(a, "P155")->is_top, true);
                MT_CHECK_EQ(card(a, "P155")->lacking, 0);
                MT_CHECK(!card(a, "P155")->left_open);
                /* less of the pass at hand alone, and that is not the end of it */
                MT_CHECK(half == NULL || (half->left_open && half->saving.bytes < GIB));
            } else if (what != ONE) {
                MT_CHECK(half != NULL && !half->left_open);
            }
            DONE;
        }
    }
}

#define JUDGE                                                                                      \
    "own/judge.py:5:forward|torch/nn/modules/module.py:60:_call_impl|own/judge.py:9:judge|" MAIN
#define STEP_OF                                                                                    \
    "torch/optim/adamw.py:80:_init_group|torch/optim/adamw.py:81:step|torch/optim/"                \
    "optimizer.py:82:wrapper|own/loop.py:29:step|" MAIN

/* Calls of a model whose graph stays while another model has its backward pass in each round: the
 * picture of a guided sampler. Not where a backward pass lets go of the calls one round later, nor
 * where one alone is left. STEPS: some batches of a training are given up, and what was raised
 * keeps their graph over steps of the optimizer. PEAK: nothing fails; no later backward pass lets
 * go of it. LATER: one at the end does. */
MT_TEST(graphs_that_others_go_by)
{
    enum { GUIDED, PEAK, LATER, NEXT, ONE, STEPS, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned layer[6][4], rounds = what == ONE ? 1 : 4, last;
        bool fails = what != PEAK && what != LATER;
        heap_alloc(h, 4 * GIB, WEIGHTS);
        for (unsigned i = 0; i < rounds; i++) {
            unsigned other = heap_alloc(h, 64 * MIB, JUDGE), own[4];
            heap_free(h, heap_alloc(h, 16 * MIB, JUDGE));
            if (what == STEPS) { /* a batch of the same line that is not given up */
                forward(h, own, 4);
                backward(h, own, true, false);
                heap_alloc(h, MIB, STEP_OF);
            }
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
            heap_free(h, other);
            if (what == NEXT && i != 0)
                backward(h, layer[i - 1], true, false);
            forward(h, layer[i], 4);
        }
        if (fails) {
            heap_free(h, heap_alloc(h, 64 * MIB, JUDGE));
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
            forward(h, layer[rounds], 2);
            heap_oom(h, 256 * MIB, 64 * MIB, LAYER);
        } else {
            last = heap_alloc(h, GIB, JUDGE);
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
            heap_free(h, last);
            if (what == PEAK) /* behind the backward pass, when Python lets go of it */
                heap_free(h, heap_alloc(h, 16 * MIB, STEP("12")));
            for (unsigned i = 0; i < rounds; i++)
                for (unsigned k = 0; k < 4; k++)
                    heap_free(h, layer[i][k]);
        }
        {
            FINISH(0);
            bool kept = what == GUIDED || what == PEAK || what == STEPS;
            uint64_t bytes = c->bypassed_graph;
            MT_CHECK_EQ(bytes != 0, kept);
            MT_CHECK_EQ(c->retained_graph, bytes);
            MT_CHECK_EQ(card(a, "P155") != NULL && card(a, "P155")->is_top, kept);
            if (kept)
                MT_CHECK_EQ(bytes, what == STEPS ? 3 * GIB : 4 * GIB);
            if (kept && fails) {
                MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
                MT_CHECK_HAS(c->sentence, "Graphs that nothing goes back through: ");
                MT_CHECK_HAS(c->sentence, "earlier calls from own/loop.py:20 step were still");
            }
            DONE;
        }
    }
}

#define USE(line) "own/apply.py:" line ":apply|" MAIN
#define NET "own/net.py:7:forward|torch/nn/modules/module.py:60:_call_impl|"
#define BLOCK NET USE("31")

/* A call of a model with so many layers of ten; a graph has all of them together, without one each
 * goes when the next is there. The result goes to the host. */
static void call(struct heap *h, const char *block, const char *end, unsigned n, bool graph,
                 uint64_t size)
{
    unsigned layer[10], k;
    heap_free(h, heap_alloc(h, size, USE("30")));
    for (k = 0; k < n; k++) {
        layer[k] = heap_alloc(h, size, block);
        if (!graph && k != 0)
            heap_free_at(h, layer[k - 1], block);
    }
    for (k = graph ? 0 : n - 1; n == 10 && k < n; k++)
        heap_free_at(h, layer[k], end);
}

/* Nothing is trained in the whole recording. Two calls that kept all of their layers until they
 * were over ran with autograd on, and so does the larger one that fails. Not where they let go of
 * each layer, after one call alone, or where a backward pass is there. */
MT_TEST(a_graph_that_nobody_asked_for)
{
    enum { GRAPH, IN_LINE, NO_GRAD, ONE, TRAINS, TRIAL, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        bool graph = what == GRAPH || what == IN_LINE;
        for (int i = 0; i < 8; i++) /* moved to the card */
            heap_alloc(h, 128 * MIB,
                       "torch/nn/modules/module.py:942:_apply|torch/nn/modules/"
                       "module.py:1050:cuda|own/apply.py:20:build|" MAIN);
        for (int i = 0; i < (what == ONE ? 1 : 3); i++)
            call(h, what == TRIAL ? NET USE("20") : BLOCK, what == IN_LINE ? USE("31") : USE("32"),
                 10, what != NO_GRAD, 64 * MIB);
        if (what == TRAINS)
            heap_free(h, heap_alloc(h, 8 * MIB, ENGINE));
        call(h, BLOCK, "", 6, what != NO_GRAD, 512 * MIB);
        heap_oom(h, 512 * MIB, 64 * MIB, BLOCK);
        {
            FINISH(0);
            MT_CHECK_EQ(a->verdict.phase == MT_PH_INFER, graph);
            MT_CHECK_EQ(c->graph_of_none, graph ? 3 * GIB : 0);
            MT_CHECK_EQ(strstr(c->sentence, "Autograd is on where nothing is trained: 3.00 GiB") !=
                            NULL,
                        graph);
            MT_CHECK_EQ(card(a, "P05") != NULL && card(a, "P05")->is_top, graph);
            MT_CHECK(!graph || c->last_result == 0);
            DONE;
        }
    }
}

#define OTHER "torch/nn/modules/linear.py:105:__init__|own/loop.py:9:build_other|" MAIN

static void layer_of(struct heap *h, const uint64_t *kb, size_t n)
{
    for (size_t i = 0; i < n; i++)
        heap_alloc(h, kb[i] << 10, WEIGHTS);
}

/* An embedding, four layers of eight tensors and a head. */
static void model(struct heap *h)
{
    static const uint64_t kb[] = {4096, 4, 8192, 8, 8192, 4, 12288, 12};
    heap_alloc(h, 96 * MIB, WEIGHTS);
    for (int l = 0; l < 4; l++)
        layer_of(h, kb, 8);
    heap_alloc(h, 60 * MIB, WEIGHTS);
}

/* Layers of two kinds, three of one and one of the other; `expert`: what only the last one has, in
 * KiB, larger than all else. */
static void two_kinds(struct heap *h, uint64_t expert)
{
    static const uint64_t line[] = {6144, 4, 2048, 8, 8192, 4, 12288, 12},
                          full[] = {4096, 4, 1024, 16, 8192, 4, 12288, 12};
    for (int l = 0; l < 3; l++)
        layer_of(h, line, 8);
    layer_of(h, full, 8);
    if (expert != 0)
        layer_of(h, &expert, 1);
}

/* Three models alike beside another one, also where a fourth is on its way. One model is one: of
 * many layers, also of small ones; of layers of two kinds, whose embedding may be elsewhere, and
 * where one kind has the largest tensor of all; and what one line made beside three alike may be
 * what they are parts of. */
MT_TEST(models_alike)
{
    enum { ALIKE, ON_ITS_WAY, LAYERS, SMALL, KINDS, NO_TABLE, EXPERTS, FEW, PARTS, BEFORE, N };
    static const uint64_t kb[] = {4096, 4, 8192, 8, 8192, 4, 12288, 12};
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        uint64_t one = (96 + 60 + 4 * 32) * MIB + UINT64_C(4) * (28 << 10);
        bool alike = what == ALIKE || what == ON_ITS_WAY, parts = what == PARTS || what == BEFORE;
        heap_alloc(h, 100 * MIB, alike || what == PARTS || what == NO_TABLE ? OTHER : WEIGHTS);
        for (int i = 0; i < 3 && (alike || parts); i++)
            model(h);
        for (int i = 0; i < 12 && (what == LAYERS || what == SMALL); i++)
            layer_of(h, kb, what == SMALL ? 6 : 8);
        for (int i = 0; i < (what == FEW ? 3 : 12) && what >= KINDS && what <= FEW; i++)
            two_kinds(h, what == EXPERTS ? 64 << 10 : 0);
        if (what == ON_ITS_WAY)
            heap_alloc(h, 96 * MIB, WEIGHTS);
        if (what == PARTS)
            heap_alloc(h, 30 * MIB, WEIGHTS);
        for (int i = 0; i < 3; i++)
            heap_free(h, heap_alloc(h, 64 * MIB, BLOCK));
        heap_alloc(h, 64 * MIB, BLOCK);
        heap_oom(h, 64 * MIB, 32 * MIB, BLOCK);
        {
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].roles.model_copies, alike ? 3 : 0);
            MT_CHECK_EQ(a->devices.p[0].roles.one_copy, alike ? one : 0);
            MT_CHECK(what != FEW || a->devices.p[0].roles.second_model == 0);
            MT_CHECK_EQ(strstr(c->sentence, "those of 3 models alike, 284.1 MiB each") != NULL,
                        alike);
            DONE;
        }
    }
}

/* The autograd thread has no frames at all: the line that called it is that of the main thread, its
 * last one before. Also of torch.autograd.grad(), which makes no root gradient of its own, in a job
 * that has backward passes; not where no backward pass is known. */
MT_TEST(the_line_that_called_the_backward)
{
    enum { BACKWARD, GRAD, FORWARD_ONLY, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned layer[4];
        heap_alloc(h, GIB, WEIGHTS);
        for (int i = 0; i < 3; i++) {
            forward(h, layer, 4);
            if (what != FORWARD_ONLY) {
                heap_free(h, heap_alloc(h, 512, ROOT));
                heap_free(h, heap_alloc(h, 64 * MIB, ""));
            }
            for (unsigned k = 4; k-- > 0;)
                heap_free(h, layer[k]);
        }
        forward(h, layer, 4);
        heap_alloc(h, 512, what == BACKWARD ? ROOT : STEP("23"));
        heap_alloc(h, 64 * MIB, "");
        heap_oom(h, 256 * MIB, 64 * MIB, "");
        {
            FINISH(0);
            MT_CHECK(c->known);
            MT_CHECK_EQ(a->verdict.sub == MT_PH_BACKWARD, what != FORWARD_ONLY);
            MT_CHECK_EQ(strstr(a->verdict.sentence, "256.0 MiB in a backward pass called by "
                                                    "own/loop.py:24 step, with") != NULL,
                        what == BACKWARD);
            MT_CHECK_EQ(strstr(a->verdict.sentence, "256.0 MiB in a backward pass called by "
                                                    "own/loop.py:23 step, with") != NULL,
                        what == GRAD);
            DONE;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

/* A plain script: the pass, a loss of the job's own that no phase is known of, its backward. What
 * the forward keeps is for that backward, and nothing that earlier rounds left. Of a pass before,
 * whose backward is over, it is. */
MT_TEST(a_forward_is_kept_for_its_backward)
{
    for (unsigned before = 0; before < 2; before++) {
        struct heap *h = heap_new();
        heap_alloc(h, GIB, "net.py:5:__init__|" MAIN);
        for (unsigned i = 0; i < 10; i++)
            heap_alloc(h, GIB, "net.py:36:forward|torch/nn/modules/module.py:60:_call_impl|" MAIN);
        heap_alloc(h, GIB, "run.py:20:stylize|" MAIN);
        heap_alloc(h, GIB / 8, ENGINE);
        if (before) {
            heap_alloc(h, GIB, "net.py:36:forward|torch/nn/modules/module.py:60:_call_impl|" MAIN);
            heap_alloc(h, GIB / 8, "run.py:20:stylize|" MAIN);
            heap_alloc(h, GIB / 8, ENGINE);
        }
        heap_oom(h, 2 * GIB, GIB, ENGINE);
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind, before ? MT_CAUSE_LEAK : MT_CAUSE_CAPACITY);
            DONE;
        }
    }
}

/* No backward pass has been there, and call after call kept its graph: a rollout whose loss is
 * still to come, or scores of a model that trains nothing. Both are said; not where each call let
 * go of its layers, nor behind a backward pass. */
MT_TEST(a_graph_for_a_backward_to_come)
{
    enum { OPEN, NO_GRAPH, TRAINED, N, ROUNDS = 9 };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned layer[ROUNDS + 1][4];
        const struct mt_advice *no_graph;
        heap_alloc(h, GIB, WEIGHTS);
        if (what == TRAINED) {
            forward(h, layer[0], 4);
            backward(h, layer[0], true, false);
        }
        for (unsigned i = 0; i < ROUNDS; i++) {
            forward(h, layer[i], 4);
            for (unsigned k = 0; k < 4 && what == NO_GRAPH; k++)
                heap_free(h, layer[i][k]);
            heap_free(h, heap_alloc(h, 8 * MIB, "own/data.py:3:batch|" MAIN));
        }
        forward(h, layer[ROUNDS], 1);
        heap_oom(h, 512 * MIB, 64 * MIB, LAYER);
        {
            FINISH(0);
            bool open = what == OPEN;
            no_graph = card(a, "P247");
            MT_CHECK_EQ(c->kept_open != 0, open);
            MT_CHECK_EQ(no_graph != NULL, open);
            MT_CHECK_EQ(strstr(c->sentence, "needed if one behind all of them is to come") != NULL,
                        open);
            if (open) {
                MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
                MT_ASSERT(no_graph != NULL && no_graph->only_if != NULL);
                MT_CHECK(card(a, "P07") == NULL && card(a, "P05") == NULL);
                MT_CHECK_HAS(no_graph->only_if, "no backward pass through them is to come");
            }
            DONE;
        }
    }
}

#define SCORES(line)                                                                               \
    "own/net.py:38:forward|torch/nn/modules/module.py:60:_call_impl|own/kto.py:71:logps|"          \
    "own/kto.py:" line ":loss|" MAIN

/* Two passes before the one backward of a first step, from two lines of the loss: both are named.
 * Not where the earlier one is little, where it let go of its layers, or where the two are one
 * line. */
MT_TEST(two_passes_before_one_backward)
{
    enum { TWO, LITTLE, NO_GRAPH, ONE_LINE, N, LAYERS = 6 };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, GIB, WEIGHTS);
        for (unsigned k = 0; k < LAYERS; k++) {
            unsigned block = heap_alloc(h, what == LITTLE ? 8 * MIB : GIB + k * MIB, SCORES("81"));
            if (what == NO_GRAPH)
                heap_free(h, block);
        }
        heap_free(h, heap_alloc(h, 8 * MIB, "own/kto.py:72:logps|own/kto.py:81:loss|" MAIN));
        for (unsigned k = 0; k < LAYERS; k++)
            heap_alloc(h, GIB + k * MIB, what == ONE_LINE ? SCORES("81") : SCORES("82"));
        heap_oom(h, GIB, 64 * MIB, what == ONE_LINE ? SCORES("81") : SCORES("82"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->kept_open != 0, what == TWO || what == ONE_LINE);
            MT_CHECK_EQ(strstr(c->sentence, "Two passes were there at once: 6.01 GiB of it is of "
                                            "the one from own/kto.py:81 loss, besides that of "
                                            "own/kto.py:82,") != NULL,
                        what == TWO);
            MT_CHECK_EQ(card(a, "P247") != NULL, what == TWO || what == ONE_LINE);
            DONE;
        }
    }
}

#define WITHOUT_GRAD "torch/utils/_contextlib.py:116:decorate_context|" MAIN
#define JOINS "own/index.py:49:add|own/index.py:60:main|" WITHOUT_GRAD
#define ENCODES                                                                                    \
    "own/net.py:7:forward|torch/nn/modules/module.py:60:_call_impl|own/index.py:58:"               \
    "main|" WITHOUT_GRAD

/* Tensors that each round makes anew, longer: one alone is an index or a buffer of the job's own,
 * several at a time are keys and values of layers. */
MT_TEST(what_grows_alone_is_no_cache)
{
    for (unsigned several = 1; several <= 2; several++) {
        struct heap *h = heap_new();
        unsigned old[2] = {0, 0};
        heap_alloc(h, GIB, WEIGHTS);
        for (unsigned i = 0; i < 12; i++) {
            unsigned part = heap_alloc(h, 16 * MIB, ENCODES), now[2] = {0, 0};
            for (unsigned k = 0; k < several; k++)
                now[k] = heap_alloc(h, (1024 + 16 * i) * MIB, JOINS);
            for (unsigned k = 0; k < several && i != 0; k++)
                heap_free(h, old[k]);
            memcpy(old, now, sizeof old);
            heap_free(h, part);
        }
        heap_oom(h, (1024 + 16 * 12) * MIB, 64 * MIB, JOINS);
        {
            FINISH(0);
            const uint64_t *role = a->devices.p[0].roles.at_focus;
            MT_CHECK_EQ(role[MT_ROLE_DATA] > GIB, several == 1);
            MT_CHECK_EQ(role[MT_ROLE_KV_CACHE] > GIB, several == 2);
            MT_CHECK(c->kind != MT_CAUSE_NONE);
            DONE;
        }
    }
}

#define ADDS                                                                                       \
    "own/net.py:40:attend|torch/nn/modules/module.py:60:_call_impl|own/server.py:97:"              \
    "step|own/server.py:116:main|" WITHOUT_GRAD
#define TAKES_IN "own/server.py:87:join|own/server.py:115:main|" WITHOUT_GRAD

/* One line of a server joins a request to the keys and values, another adds a token: each makes all
 * of it anew, a little longer, and what it was made of goes. It grows from round to round with what
 * is served, and is no leak. Where a line's blocks go before the other line makes its own, as of
 * batches that get longer, they are no cache. */
MT_TEST(a_cache_that_two_lines_hand_on)
{
    enum { LAYERS = 4, ROUNDS = 24, FIRST = 20 };
    for (int handed = 0; handed < 2; handed++) {
        struct heap *h = heap_new();
        unsigned cache[LAYERS], now[LAYERS];
        heap_alloc(h, GIB, WEIGHTS);
        for (unsigned k = 0; k < LAYERS; k++)
            cache[k] = heap_alloc(h, FIRST * 16 * MIB, TAKES_IN);
        for (unsigned i = 1; i < ROUNDS; i++)
            for (int line = 0; line < 2; line++) {
                for (unsigned k = 0; k < LAYERS && !handed; k++)
                    heap_free(h, cache[k]);
                for (unsigned k = 0; k < LAYERS; k++)
                    now[k] = heap_alloc(h, (FIRST + i) * 16 * MIB + (unsigned)line * MIB,
                                        line == 0 ? TAKES_IN : ADDS);
                for (unsigned k = 0; k < LAYERS && handed; k++)
                    heap_free(h, cache[k]);
                memcpy(cache, now, sizeof cache);
                heap_free(h, heap_alloc(h, 8 * MIB, ENCODES));
            }
        heap_oom(h, (FIRST + ROUNDS) * 16 * MIB, 64 * MIB, TAKES_IN);
        {
            FINISH(0);
            const struct mt_role_facts *f = &a->devices.p[0].roles;
            MT_CHECK_EQ(f->at_focus[MT_ROLE_KV_CACHE] > GIB, handed);
            MT_CHECK(!handed || (f->growth.n == 0 && c->kind != MT_CAUSE_LEAK));
            DONE;
        }
    }
}

#define GATHERS(main)                                                                              \
    "own/net.py:19:gather|own/net.py:27:forward|torch/nn/modules/module.py:60:_call_impl|"         \
    "own/server.py:58:decode|own/server.py:" main ":main|" WITHOUT_GRAD
#define EMBEDS(main)                                                                               \
    "own/net.py:5:forward|torch/nn/modules/module.py:60:_call_impl|own/server.py:57:decode|"       \
    "own/server.py:" main ":main|" WITHOUT_GRAD

/* A search adds tokens to a cache of each node and keeps the last ones: their bytes and their
 * number are told. Where requests take turns, each has one that is as young as the others'. */
MT_TEST(caches_of_nodes_that_are_over)
{
    enum { LAYERS = 2, NODES = 12, TOKENS = 6 };
    for (int turns = 0; turns < 2; turns++) {
        struct heap *h = heap_new();
        unsigned cache[NODES][LAYERS];
        heap_alloc(h, GIB, WEIGHTS);
        for (unsigned i = 0; i < NODES * TOKENS; i++) {
            unsigned node = turns ? i % NODES : i / TOKENS, token = turns ? i / NODES : i % TOKENS;
            for (unsigned k = 0; k < LAYERS; k++) {
                unsigned now = heap_alloc(h, (256 + 4 * token) * MIB, ADDS);
                if (token != 0)
                    heap_free(h, cache[node][k]);
                cache[node][k] = now;
            }
            heap_free(h, heap_alloc(h, 8 * MIB, EMBEDS("71")));
        }
        heap_oom(h, 256 * MIB, 64 * MIB, ADDS);
        {
            FINISH(0);
            MT_CHECK_EQ(strstr(c->sentence, "6.47 GiB of it is keys and values in 24 blocks that "
                                            "own/net.py:40 attend made: the last of each of 12 "
                                            "rows of passes") != NULL,
                        !turns);
            MT_CHECK_EQ(strstr(c->sentence, "keys and values in") != NULL, !turns);
            DONE;
        }
    }
}

/* A server decodes, and no pass of it is known: the request is many times what the place had asked
 * for in earlier calls, whoever made them. Not where it is twice that, where sizes differ within a
 * call, as in the stages of a network, or where it is little beside the card. */
MT_TEST(a_request_out_of_proportion)
{
    enum { FAR, TWICE, STAGES, LITTLE, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        uint64_t least = what == LITTLE ? 4 * MIB : 128 * MIB,
                 request = what == TWICE ? 2 * least : 20 * least;
        const struct mt_advice *apart;
        heap_alloc(h, 8 * GIB, WEIGHTS);
        for (unsigned call = 0; call < 4; call++) {
            heap_free(h, heap_alloc(h, 4 * MIB, EMBEDS("71")));
            for (unsigned k = 0; k < 4; k++)
                heap_free(h, heap_alloc(h, least, GATHERS("71")));
        }
        heap_free(h, heap_alloc(h, 4 * MIB, EMBEDS("74")));
        heap_alloc(h, what == STAGES ? least : request, GATHERS("74"));
        heap_oom(h, request, what == LITTLE ? 8 * MIB : 192 * MIB, GATHERS("74"));
        {
            FINISH(0);
            apart = card(a, "P290");
            MT_CHECK_EQ(c->before_most, what == TWICE || what == STAGES ? 0 : least);
            MT_CHECK_EQ(strstr(c->sentence, "A request out of proportion: 2.50 GiB, 20.0 times") !=
                            NULL,
                        what == FAR);
            MT_CHECK_EQ(apart != NULL, what == FAR);
            DONE;
        }
    }
}

/* A pass of four times the size, by eight lines of which none has most of the difference: the roles
 * say what it is. */
MT_TEST(a_pass_that_had_more_to_do)
{
    enum { LINES = 8 };
    static const char *const line[LINES] = {
        "own/cell.py:1:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20"),
        "own/cell.py:2:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20"),
        "own/cell.py:3:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20"),
        "own/cell.py:4:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20"),
        "own/cell.py:5:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20"),
        "own/cell.py:6:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20"),
        "own/cell.py:7:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20"),
        "own/cell.py:8:forward|torch/nn/modules/module.py:60:_call_impl|" STEP("20")};
    struct heap *h = heap_new();
    heap_alloc(h, GIB, WEIGHTS);
    for (unsigned pass = 0; pass < 4; pass++) {
        unsigned kept[LINES];
        for (unsigned k = 0; k + (pass == 3) < LINES; k++)
            kept[k] = heap_alloc(h, (pass == 3 ? 512 : 128) * MIB, line[k]);
        if (pass == 3)
            break;
        heap_free(h, heap_alloc(h, 32 * MIB, ENGINE));
        for (unsigned k = LINES; k-- > 0;)
            heap_free_at(h, kept[k], ENGINE);
    }
    heap_oom(h, 512 * MIB, 64 * MIB, line[7]);
    {
        FINISH(0);
        MT_CHECK_HAS(c->sentence, "it had added 3.50 GiB where earlier ones had added 896.0 MiB at "
                                  "most; 3.50 GiB of what was live is activations.");
        DONE;
    }
}

/* 128 pictures of 197 tokens: maps of 256 x 197 numbers are whole rows of a known vocabulary. What
 * each layer makes is no logits; what comes once, behind them, may be. */
MT_TEST(maps_of_layers_are_no_logits)
{
    static const uint64_t row = 197 * 4;
    for (int once = 0; once < 2; once++) {
        struct heap *h = heap_new();
        unsigned layers = once ? 1 : 6;
        heap_alloc(h, 256 * 197 * 4 * 768, WEIGHTS);
        heap_alloc(h, 128 * row * 768, "own/patch.py:3:forward|" STEP("20"));
        for (unsigned i = 0; i < layers; i++) {
            heap_alloc(h, 128 * row * 768,
                       "own/cell.py:4:forward|torch/nn/modules/module.py:60:"
                       "_call_impl|" STEP("20"));
            heap_alloc(h, 128 * row * 3072, LAYER);
        }
        heap_oom(h, 128 * row * 2304, 64 * MIB, "own/cell.py:6:forward|" STEP("20"));
        {
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].roles.at_focus[MT_ROLE_LOGITS] != 0, once);
            MT_CHECK(c->kind != MT_CAUSE_NONE);
            DONE;
        }
    }
}

MT_MAIN(MT_RUN(rules_load) MT_RUN(a_forward_is_kept_for_its_backward)
            MT_RUN(the_largest_holder_without_a_role) MT_RUN(graphs_that_outlive_their_backward)
                MT_RUN(what_grows_alone_is_no_cache) MT_RUN(maps_of_layers_are_no_logits)
                    MT_RUN(a_cache_that_two_lines_hand_on) MT_RUN(a_request_out_of_proportion)
                        MT_RUN(a_pass_that_had_more_to_do) MT_RUN(two_passes_before_one_backward)
                            MT_RUN(caches_of_nodes_that_are_over) MT_RUN(graphs_that_others_go_by)
                                MT_RUN(a_graph_for_a_backward_to_come)
                                    MT_RUN(a_graph_that_nobody_asked_for) MT_RUN(models_alike)
                                        MT_RUN(the_line_that_called_the_backward)
                                            MT_RUN(rules_done))
