/* The cause on traces small enough to check by hand: each kind, what it must not be, and the
 * counter-factuals in bytes. */
#include "analysis/cause/cause.h"
#include "analysis/run/cause.h"
#include "cause_kit.h"

#define TABLE(line) "own/tables.py:" line ":build|" MAIN

/* 4 GiB asked for, 1 GiB free: 3 GiB less of what one line holds, or of the request; where the line
 * has less than that (SMALL), of the request alone; where the card had room, nothing. */
MT_TEST(the_smallest_change_by_the_numbers)
{
    enum { LARGE, SMALL, ROOM, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, (what == SMALL ? 1 : 8) * GIB, TABLE("5"));
        heap_oom(h, 4 * GIB, (what == ROOM ? 5 : 1) * GIB, TABLE("6"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->least != NULL, what != ROOM);
            if (c->least != NULL) {
                MT_CHECK_EQ(strstr(c->least, "3.00 GiB less of the 8.00 GiB that "
                                             "own/tables.py:5 build holds") != NULL,
                            what == LARGE);
                MT_CHECK_HAS(c->least, "3.00 GiB less in the request of 4.00 GiB at "
                                       "own/tables.py:6 build");
            }
            DONE;
        }
    }
}

/* Three buckets that a list keeps, the first by another operation of the same line; the fourth
 * fails. One that was let go of shows that the line keeps nothing. */
MT_TEST(what_a_line_keeps_turn_by_turn)
{
    enum { KEEPS, ONE_WENT, ONE_TURN, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 8 * GIB, TABLE("5"));
        heap_alloc(h, 600 * MIB, "??:0:at::_ops::clone::call(at::Tensor const&)|" TABLE("6"));
        for (int i = 0; i < 2 && what != ONE_TURN; i++) {
            unsigned block = heap_alloc(h, (500 + (uint64_t)i) * MIB, TABLE("6"));
            if (what == ONE_WENT && i == 0)
                heap_free(h, block);
        }
        heap_oom(h, 512 * MIB, 300 * MIB, TABLE("6"));
        {
            FINISH(0);
            MT_ASSERT(c->least != NULL);
            MT_CHECK_EQ(strstr(c->least, "at least 212.0 MiB less of the 1.56 GiB that "
                                         "own/tables.py:6 build made in 3 turns before and "
                                         "keeps") != NULL,
                        what == KEEPS);
            MT_CHECK_EQ(strstr(c->least, "in the request of 512.0 MiB") == NULL, what == KEEPS);
            DONE;
        }
    }
}

MT_TEST(a_full_card_is_capacity)
{
    struct heap *h = heap_new();
    const struct mt_what_if *w;
    heap_alloc(h, 30 * GIB, MODEL);
    heap_alloc(h, 8 * GIB, FORWARD);
    heap_oom(h, 4 * GIB, GIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK(c->known);
        MT_CHECK_EQ(c->conf, MT_CONF_MARKED);
        MT_CHECK_EQ(c->request, 4 * GIB);
        MT_CHECK_HAS(c->sentence, "30.00 GiB of it parameters");
        MT_CHECK(heap_evidence(c, "needs a segment of 4.00 GiB; 1.00 GiB was free", 4 * GIB));
        MT_CHECK_EQ(a->verdict.event, 4);
        MT_CHECK_EQ(c->event, 4);
        for (uint32_t i = 0; i < c->evidence.n; i++) {
            MT_CHECK_EQ(c->evidence.p[i].event, 4);
            MT_CHECK_EQ(c->evidence.p[i].since, 4);
        }
        w = heap_what_if(c, "no_fragmentation");
        MT_ASSERT(w != NULL);
        MT_CHECK(!w->fits);
        MT_CHECK_EQ(w->freed, 0);
        MT_CHECK_EQ(w->short_by, 3 * GIB);
        /* 4 GiB freed and a request of 2 GiB against 1 + 4 */
        w = heap_what_if(c, "half_temporaries");
        MT_ASSERT(w != NULL);
        MT_CHECK(w->fits);
        MT_CHECK_EQ(w->freed, 4 * GIB);
        MT_CHECK(heap_what_if(c, "engine_asleep") == NULL);
        MT_CHECK(heap_what_if(c, "no_foreign") == NULL);
        MT_CHECK_EQ(c->pins.n, 0);
        DONE;
    }
}

MT_TEST(holes_are_fragmentation_with_their_pins)
{
    struct heap *h = heap_new();
    for (int i = 0; i < 20; i++)
        heap_alloc_in(h, (uint64_t)(200 + i) * MIB, GIB, i < 10 ? MODEL : FORWARD);
    heap_oom(h, 2 * GIB, 512 * MIB, FORWARD);
    {
        FINISH(0);
        uint64_t free_bytes = 0;
        for (uint64_t i = 0; i < 20; i++)
            free_bytes += GIB - (200 + i) * MIB;
        MT_CHECK_EQ(c->kind, MT_CAUSE_FRAGMENTATION);
        MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_FRAGMENTATION);
        MT_CHECK_EQ(c->n_pins_all, 20);
        MT_CHECK_EQ(c->pinned_free, free_bytes);
        MT_ASSERT(c->pins.n == 16);
        MT_CHECK_EQ(c->pins.p[0].free, GIB - 200 * MIB); /* most free bytes first */
        MT_CHECK_EQ(c->pins.p[0].largest_free, GIB - 200 * MIB);
        MT_CHECK_EQ(c->pins.p[0].block_bytes, 200 * MIB);
        MT_CHECK_EQ(c->pins.p[0].attr.phase, MT_PH_INIT);
        MT_CHECK_EQ(c->pins.p[10].attr.phase, MT_PH_TRAIN_ACTOR);
        MT_CHECK_EQ(c->pins.p[0].event, 1); /* a segment and a block each */
        MT_CHECK_EQ(c->pins.p[10].event, 21);
        MT_CHECK_HAS(c->pins.p[0].label, "init_model");
        MT_CHECK_HAS(c->sentence, "20 segments");
        MT_CHECK_HAS(c->sentence, "from model set-up");
        MT_CHECK(heap_what_if(c, "no_fragmentation")->fits);
        MT_CHECK_EQ(heap_what_if(c, "no_fragmentation")->freed, free_bytes);
        DONE;
    }
}

/* The ends of many segments, none longer than the allocator's own step, are no fragmentation: the
 * card is full. */
MT_TEST(crumbs_are_not_fragmentation)
{
    struct heap *h = heap_new();
    for (int i = 0; i < 40; i++)
        heap_alloc_in(h, 509 * MIB, 510 * MIB, FORWARD);
    heap_oom(h, 24 * MIB, 10 * MIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_CAPACITY);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK_EQ(c->pins.n, 0);
        DONE;
    }
}

MT_TEST(logits_are_a_giant_tensor)
{
    const uint64_t tokens = 32768, vocab = 151936;
    struct heap *h = heap_new();
    heap_alloc(h, 8 * GIB, MODEL);
    heap_alloc(h, tokens * vocab * 2, LOSS);
    heap_oom(h, tokens * vocab * 4, 4 * GIB, LOSS);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_GIANT_TENSOR);
        MT_CHECK_EQ(c->conf, MT_CONF_MARKED);
        MT_CHECK_EQ(c->tokens, tokens);
        MT_CHECK_EQ(c->vocab, vocab);
        MT_CHECK_EQ(c->vocab_split, 1);
        MT_CHECK_EQ(c->elem, 4);
        MT_CHECK(!c->vocab_is_guess);
        MT_CHECK_HAS(c->sentence, "the request is logits of 32768 tokens");
        MT_CHECK(heap_evidence(c, "32768 tokens x 151936 x 4 bytes", tokens * vocab * 4));
        MT_CHECK(
            heap_evidence(c, "live were logits and their gradient already", tokens * vocab * 2));
        /* it is said once */
        MT_CHECK(!heap_evidence(c, "live: logits and their gradient", tokens * vocab * 2));
        DONE;
    }
}

/* 62,431,395,840 bytes: the product is sure, how tokens and a split vocabulary share it is not. */
MT_TEST(shape_of_58_gib)
{
    struct heap *h = heap_new();
    heap_alloc(h, 10 * GIB, MODEL);
    heap_oom(h, UINT64_C(62431395840), 20 * GIB, LOSS);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_GIANT_TENSOR);
        MT_CHECK_EQ(c->vocab, 152064);
        MT_CHECK_EQ(c->tokens * (c->vocab / c->vocab_split) * c->elem, UINT64_C(62431395840));
        DONE;
    }
}

/* The vectors of a model are live and no head of such a vocabulary: sizes alone name it. */
MT_TEST(a_vocabulary_without_a_head_is_a_guess)
{
    struct heap *h = heap_new();
    heap_alloc(h, 10 * GIB, MODEL);
    for (int i = 0; i < 8; i++)
        heap_alloc(h, 8192, MODEL);
    heap_oom(h, UINT64_C(62431395840), 20 * GIB, LOSS);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_GIANT_TENSOR);
        MT_CHECK(c->vocab_is_guess);
        MT_CHECK_HAS(c->sentence, "the request has the size of logits, perhaps of 102640 tokens");
        MT_CHECK(heap_evidence(c,
                               ": a guess by the size, for no head of such a vocabulary is live.",
                               UINT64_C(62431395840)));
        DONE;
    }
}

/* 8192 tokens of a vocabulary of 131072 over four ranks, in 32 bits: a power of two, which 4095 x
 * 131104 x 2 also comes to after rounding. */
MT_TEST(a_power_of_two_names_no_vocabulary)
{
    struct heap *h = heap_new();
    heap_alloc(h, 40 * GIB, MODEL);
    heap_oom(h, GIB, GIB / 2, LOSS);
    {
        FINISH(0);
        MT_CHECK_EQ(c->tokens, 0);
        MT_CHECK_EQ(c->vocab, 0);
        DONE;
    }
}

/* The same size asked for by the model's forward is no logits, and small beside the card no giant.
 */
MT_TEST(size_alone_is_no_giant)
{
    struct heap *h = heap_new();
    heap_alloc(h, 60 * GIB, MODEL);
    heap_oom(h, UINT64_C(4096) * 151936 * 4, GIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK_EQ(c->tokens, 0);
        MT_CHECK_EQ(c->elem, 0);
        DONE;
    }
}

MT_TEST(cache_in_training_is_stale)
{
    struct heap *h = heap_new();
    const struct mt_what_if *w;
    heap_alloc(h, 10 * GIB, MODEL);
    heap_alloc(h, 15 * GIB, KV);
    heap_alloc(h, 15 * GIB, KV);
    heap_alloc(h, 6 * GIB, FORWARD);
    heap_oom(h, 5 * GIB, GIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_STALE_ENGINE);
        /* not in a private pool: it cannot have been unmapped */
        MT_CHECK_EQ(c->conf, MT_CONF_MARKED);
        MT_CHECK_HAS(c->sentence, "30.00 GiB of KV cache and engine weights");
        w = heap_what_if(c, "engine_asleep");
        MT_ASSERT(w != NULL);
        MT_CHECK(w->fits);
        MT_CHECK_EQ(w->freed, 30 * GIB);
        MT_CHECK(heap_what_if(c, "training_offloaded") == NULL);
        DONE;
    }
}

/* The card is smaller than what stands in the books: the engine sleeps, its memory is not there. */
MT_TEST(an_engine_that_sleeps_is_not_stale)
{
    struct heap *h = heap_new();
    heap_alloc(h, 10 * GIB, MODEL);
    heap_alloc(h, 30 * GIB, KV);
    heap_alloc(h, 6 * GIB, FORWARD);
    heap_oom(h, 5 * GIB, GIB, FORWARD);
    {
        FINISH(17 * GIB);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK(!heap_what_if(c, "engine_asleep")->fits);
        MT_CHECK_EQ(heap_what_if(c, "engine_asleep")->freed, 0);
        MT_CHECK_HAS(heap_what_if(c, "engine_asleep")->text, "given back (0 B)");
        MT_CHECK(heap_evidence(c, "was not physically there", 30 * GIB));
        DONE;
    }
}

/* In its own phase the cache is where it belongs. */
MT_TEST(cache_in_rollout_is_not_stale)
{
    struct heap *h = heap_new();
    heap_alloc(h, 10 * GIB, MODEL);
    heap_alloc(h, 30 * GIB, KV);
    heap_oom(h, 5 * GIB, GIB, GENERATE);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK(heap_what_if(c, "engine_asleep") == NULL);
        DONE;
    }
}

MT_TEST(optimizer_state_in_rollout_is_stale)
{
    struct heap *h = heap_new();
    const struct mt_what_if *w;
    heap_alloc(h, 10 * GIB, MODEL);
    heap_free(h, heap_alloc(h, GIB, FORWARD));
    heap_alloc(h, 12 * GIB, STATE);
    heap_alloc(h, 4 * GIB, GENERATE);
    heap_oom(h, 5 * GIB, GIB, GENERATE);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_STALE_ENGINE);
        MT_CHECK_HAS(c->sentence, "Training memory still held");
        w = heap_what_if(c, "training_offloaded");
        MT_ASSERT(w != NULL);
        MT_CHECK(w->fits);
        MT_CHECK_EQ(w->freed, 12 * GIB);
        DONE;
    }
}

/* Beside an engine with weights of its own the trainer's parameters wait for the next update as
 * well. */
MT_TEST(parameters_beside_an_engine_are_the_trainers)
{
    struct heap *h = heap_new();
    const struct mt_what_if *w;
    heap_alloc(h, 10 * GIB, MODEL);
    heap_free(h, heap_alloc(h, GIB, FORWARD));
    heap_alloc(h, 12 * GIB, STATE);
    heap_alloc(h, 4 * GIB, LOADED);
    heap_alloc(h, 4 * GIB, KV);
    heap_oom(h, 5 * GIB, GIB, KV);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_STALE_ENGINE);
        MT_CHECK_HAS(c->sentence, "22.00 GiB of parameters, optimizer state and gradients");
        w = heap_what_if(c, "training_offloaded");
        MT_ASSERT(w != NULL);
        MT_CHECK_EQ(w->freed, 22 * GIB);
        MT_CHECK_HAS(w->text, "the trainer's parameters");
        DONE;
    }
}

MT_TEST(pending_frees)
{
    struct heap *h = heap_new();
    unsigned p;
    heap_alloc(h, 20 * GIB, MODEL);
    p = heap_alloc(h, 8 * GIB, GATHER);
    heap_ask(h, p);
    heap_alloc(h, GIB, FORWARD);
    heap_oom(h, 4 * GIB, GIB, FORWARD);
    heap_gone(h, p);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_PENDING_FREES);
        MT_CHECK_HAS(c->sentence, "8.00 GiB had been freed");
        MT_ASSERT(heap_what_if(c, "no_pending_frees") != NULL);
        MT_CHECK(heap_what_if(c, "no_pending_frees")->fits);
        MT_CHECK_EQ(heap_what_if(c, "no_pending_frees")->freed, 8 * GIB);
        DONE;
    }
}

/* Without them it would not have fitted either: they are evidence, not the cause. */
MT_TEST(few_pending_frees_are_no_cause)
{
    struct heap *h = heap_new();
    heap_alloc(h, 20 * GIB, MODEL);
    heap_ask(h, heap_alloc(h, 3 * GIB, GATHER));
    heap_oom(h, 8 * GIB, GIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK_EQ(heap_what_if(c, "no_pending_frees")->short_by, 4 * GIB);
        MT_CHECK(heap_evidence(c, "waited for another stream", 3 * GIB));
        DONE;
    }
}

MT_TEST(memory_of_others)
{
    for (int given = 0; given < 2; given++) {
        struct heap *h = heap_new();
        heap_alloc(h, 40 * GIB, MODEL);
        heap_oom(h, 4 * GIB, GIB, FORWARD);
        {
            FINISH(given ? 80 * GIB : 0);
            /* without the card's size it cannot be known */
            MT_CHECK_EQ(c->kind, given ? MT_CAUSE_FOREIGN : MT_CAUSE_CAPACITY);
            MT_CHECK((heap_what_if(c, "no_foreign") != NULL) == (given != 0));
            if (given) {
                MT_CHECK_EQ(heap_what_if(c, "no_foreign")->freed, 39 * GIB);
                MT_CHECK_EQ(c->conf, MT_CONF_INFERRED);
            }
            DONE;
        }
    }
}

/* A context and NCCL take a GiB of every card. */
MT_TEST(a_context_is_not_foreign)
{
    struct heap *h = heap_new();
    heap_alloc(h, 76 * GIB, MODEL);
    heap_oom(h, 3 * GIB, 2 * GIB, FORWARD);
    {
        FINISH(80 * GIB);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK(heap_what_if(c, "no_foreign")->fits);
        DONE;
    }
}

MT_TEST(a_limit)
{
    struct heap *h = heap_new();
    heap_alloc(h, 20 * GIB, MODEL);
    heap_oom(h, 4 * GIB, 30 * GIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_LIMIT);
        MT_CHECK_EQ(c->kind, MT_CAUSE_LIMIT);
        DONE;
    }
}

/* Eight steps of forward, backward, optimizer; one stack keeps a block of each step. */
static void steps(struct heap *h, unsigned n, uint64_t kept)
{
    heap_alloc(h, 4 * GIB, MODEL);
    for (unsigned i = 0; i < n; i++) {
        unsigned f[4], g;
        if (kept != 0)
            heap_alloc(h, kept, "trainer/metrics.py:7:remember|" ACTOR);
        for (unsigned k = 0; k < 4; k++)
            f[k] = heap_alloc(h, 512 * MIB, FORWARD);
        g = heap_alloc(h, 256 * MIB, ENGINE);
        for (unsigned k = 4; k-- > 0;)
            heap_free(h, f[k]);
        if (i == 0)
            heap_alloc(h, 2 * GIB, STATE);
        heap_free(h, heap_alloc(h, 64 * MIB,
                                "torch/optim/adamw.py:90:_multi_tensor_adamw|torch/optim/"
                                "optimizer.py:82:wrapper|" ACTOR));
        heap_free(h, g);
    }
}

static const struct mt_evidence *evidence(const struct mt_cause *c, const char *words)
{
    for (uint32_t i = 0; i < c->evidence.n; i++)
        if (strstr(c->evidence.p[i].text, words) != NULL)
            return &c->evidence.p[i];
    return NULL;
}

/* Bytes of a stack whose blocks are never freed, up to and with an event. */
static uint64_t held_until(const struct mt_trace *t, mt_stack_id stack, uint64_t event)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i <= event; i++) {
        const struct mt_event *e = mt_event_at(&t->devices.p[0], i);
        bytes += e->action == MT_ACT_ALLOC && e->stack == stack ? e->size : 0;
    }
    return bytes;
}

MT_TEST(growth_is_a_leak)
{
    struct heap *h = heap_new();
    steps(h, 8, GIB);
    heap_oom(h, 512 * MIB, 128 * MIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
        MT_CHECK_HAS(c->sentence, "remember");
        MT_CHECK_HAS(c->sentence, "per step) held by");
        MT_ASSERT(heap_what_if(c, "no_growth") != NULL);
        MT_CHECK(heap_what_if(c, "no_growth")->fits);
        {
            const struct mt_evidence *e =
                evidence(c, "at the same point of the first and the last");
            const struct mt_growth *g = a->devices.p[0].roles.growth.p;
            MT_ASSERT(e != NULL && a->devices.p[0].roles.growth.n == 1);
            MT_CHECK(e->since < e->event && e->event <= c->event);
            MT_CHECK_EQ(held_until(t, g->stack, (uint64_t)e->since), g->first);
            MT_CHECK_EQ(held_until(t, g->stack, (uint64_t)e->event), g->last);
            MT_CHECK_EQ(g->last - g->first, e->bytes);
        }
        DONE;
    }
}

/* What is free would have held the request in one piece. Eight steps of a GiB each are more than
 * that, half a GiB of holes a step is more than one of 64 MiB each. */
MT_TEST(a_leak_comes_before_its_pieces)
{
    for (int leaks = 0; leaks < 2; leaks++) {
        struct heap *h = heap_new();
        steps(h, 8, leaks ? GIB : 64 * MIB);
        for (int i = 0; i < 8; i++)
            heap_alloc_in(h, 100 * MIB, 612 * MIB, FORWARD);
        heap_oom(h, GIB, 128 * MIB, FORWARD);
        {
            FINISH(0);
            MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_FRAGMENTATION);
            MT_CHECK_EQ(c->kind, leaks ? MT_CAUSE_LEAK : MT_CAUSE_FRAGMENTATION);
            MT_CHECK_HAS(c->sentence, leaks ? "Growth from step to step" : "Fragmentation: ");
            MT_CHECK_HAS(a->verdict.sentence, leaks ? "; a leak first, then fragmentation"
                                                    : "; fragmentation, not capacity");
            MT_CHECK_EQ(c->conf, MT_CONF_MARKED);
            DONE;
        }
    }
}

/* A failure that the program catches: what it does then is counted, what an exception does on its
 * way up is not. The one that it does not go on from counts. */
MT_TEST(a_failure_that_was_caught)
{
    for (unsigned after = 99; after <= 100; after++) {
        struct heap *h = heap_new();
        heap_alloc(h, 30 * GIB, MODEL);
        heap_oom(h, 4 * GIB, GIB, FORWARD);
        for (unsigned i = 0; i < after; i++)
            heap_free(h, heap_alloc(h, 64 * MIB, FORWARD));
        heap_oom(h, 5 * GIB, GIB, "lm/model.py:12:loss|" MAIN);
        heap_oom(h, 3 * GIB, GIB, MODEL);
        {
            FINISH(0);
            /* 5 GiB is what it went on to, 3 its handler's */
            MT_CHECK_EQ(c->request, (after == 100 ? 5 : 4) * GIB);
            MT_CHECK_EQ(a->devices.p[0].ooms.n, 3);
            MT_CHECK_EQ(heap_evidence(c, "1 request had failed before, and the program went on", 0),
                        after == 100);
            MT_CHECK(evidence(c, "did not end the process") == NULL);
            DONE;
        }
    }
}

#define CONV                                                                                       \
    "torch/nn/modules/conv.py:548:_conv_forward|torch/nn/modules/conv.py:553:forward|torch/nn/"    \
    "modules/module.py:60:_call_impl|torch/nn/modules/container.py:253:forward|lm/model.py:9:"     \
    "forward|lm/model.py:5:step|" MAIN
#define NORM                                                                                       \
    "torch/nn/functional.py:28:batch_norm|torch/nn/modules/batchnorm.py:19:forward|torch/nn/"      \
    "modules/module.py:60:_call_impl|torch/nn/modules/container.py:253:forward|lm/model.py:9:"     \
    "forward|lm/model.py:5:step|" MAIN

/* A convolution that asks for a large workspace and does with a smaller one: its output is there,
 * and the next operation of the pass asks. The request that ends the job is another. Where the
 * output goes first, the failure is one. */
MT_TEST(tries_of_a_library_are_no_failures)
{
    for (unsigned i = 0; i < 4; i++) {
        /* native: the stacks have frames of C++ as well, which differ */
        bool gone = (i & 1) != 0, native = (i & 2) != 0;
        const char *asks = native ? "??:0:find_plan|" CONV : CONV;
        struct heap *h = heap_new();
        unsigned out;
        heap_alloc(h, 30 * GIB, MODEL);
        out = heap_alloc(h, GIB, native ? "??:0:empty_cuda|" CONV : CONV);
        heap_oom(h, 6 * GIB, 2 * GIB, asks);
        heap_oom(h, 5 * GIB, 2 * GIB, asks);
        if (gone)
            heap_free(h, out);
        if (!native || gone) /* else the next request is the one that fails */
            heap_alloc(h, GIB, NORM);
        heap_oom(h, 2 * GIB, GIB, NORM);
        {
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].n_tries, gone ? 0 : 2);
            MT_CHECK_EQ(a->devices.p[0].ooms.n, gone ? 3 : 1);
            MT_CHECK_EQ(c->request, (gone ? 6 : 2) * GIB);
            MT_CHECK(gone ||
                     heap_evidence(c,
                                   "2 requests of at most 6.00 GiB failed and the operation "
                                   "did without",
                                   6 * GIB));
            DONE;
        }
    }
}

/* The same where nothing fails in the end: PyTorch's history has them, so they are said. */
MT_TEST(tries_without_a_failure)
{
    struct heap *h = heap_new();
    heap_alloc(h, 30 * GIB, MODEL);
    heap_alloc(h, GIB, CONV);
    heap_oom(h, 6 * GIB, 2 * GIB, CONV);
    heap_alloc(h, GIB, NORM);
    {
        FINISH(0);
        MT_CHECK_EQ(a->devices.p[0].n_tries, 1);
        MT_CHECK_EQ(a->devices.p[0].ooms.n, 0);
        MT_CHECK(heap_evidence(
            c, "1 request of at most 6.00 GiB failed and the operation did without", 6 * GIB));
        DONE;
    }
}

#define BATCH                                                                                      \
    "lm/model.py:9:forward|torch/nn/modules/module.py:60:_call_impl|transformers/"                 \
    "trainer.py:70:evaluation_loop|" MAIN
#define LAYER "lm/layer.py:5:forward|" BATCH
#define OUTPUT "lm/head.py:7:forward|" BATCH

/* An evaluation of so many batches: each runs four layers and keeps its output. */
static void evaluate(struct heap *h, unsigned batches, bool keeps, unsigned layers)
{
    heap_alloc(h, 2 * GIB, MODEL);
    for (unsigned i = 0; i < batches; i++) {
        unsigned output;
        for (unsigned k = 0; k < layers; k++)
            heap_free(h, heap_alloc(h, 64 * MIB, LAYER));
        output = heap_alloc(h, GIB, OUTPUT);
        if (!keeps)
            heap_free(h, output);
    }
    heap_oom(h, GIB, 128 * MIB, OUTPUT);
}

MT_TEST(outputs_that_are_kept_are_growth)
{
    struct heap *h = heap_new();
    evaluate(h, 9, true, 4);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
        MT_CHECK_EQ(c->conf, MT_CONF_INFERRED);
        MT_CHECK_HAS(c->sentence, "9.00 GiB in 9 blocks");
        MT_ASSERT(heap_what_if(c, "no_kept") != NULL);
        MT_CHECK(heap_what_if(c, "no_kept")->fits);
        MT_CHECK_EQ(heap_what_if(c, "no_kept")->freed, 9 * GIB);
        MT_ASSERT(evidence(c, "kept 9 blocks, in 9 rounds") != NULL);
        /* the model, four layers, the output of each */
        MT_CHECK_EQ(evidence(c, "kept 9 blocks, in 9 rounds")->since, 23);
        MT_CHECK_EQ(evidence(c, "kept 9 blocks, in 9 rounds")->event, 23 + 8 * 22);
        MT_CHECK_EQ(c->event, 23 + 8 * 22 + 1);
        DONE;
    }
}

/* Seven are too few, one layer between them may be a layer itself, and what is freed is no growth.
 */
MT_TEST(outputs_that_may_be_layers_are_not)
{
    static const struct {
        unsigned batches, layers;
        bool keeps;
    } quiet[] = {{7, 4, true}, {9, 1, true}, {9, 4, false}};
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        struct heap *h = heap_new();
        evaluate(h, quiet[i].batches, quiet[i].keeps, quiet[i].layers);
        {
            FINISH(0);
            MT_CHECK(c->kind != MT_CAUSE_LEAK);
            MT_CHECK(heap_what_if(c, "no_kept") == NULL);
            DONE;
        }
    }
}

MT_TEST(steady_training_is_healthy)
{
    struct heap *h = heap_new();
    steps(h, 8, 0);
    {
        FINISH(8 * GIB);
        MT_CHECK_EQ(c->kind, MT_CAUSE_NONE);
        MT_CHECK(c->known);
        MT_CHECK_STR(c->sentence, "");
        MT_CHECK_EQ(c->evidence.n + c->what_ifs.n + c->pins.n, 0);
        DONE;
    }
}

/* Steady training that then fails is not a leak, though state appeared in the first step. */
MT_TEST(state_of_the_first_step_is_no_leak)
{
    struct heap *h = heap_new();
    steps(h, 4, 0);
    heap_oom(h, GIB, 128 * MIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK(heap_what_if(c, "no_growth") == NULL);
        DONE;
    }
}

/* A state of two tensors that the first step set up, when the second fails. */
MT_TEST(state_of_the_first_step_is_said)
{
    struct heap *h = heap_new();
    unsigned f;
    heap_alloc(h, 4 * GIB, MODEL);
    f = heap_alloc(h, 2 * GIB, FORWARD);
    heap_alloc(h, 256 * MIB, ENGINE);
    heap_free(h, f);
    heap_alloc(h, 2 * GIB, STATE); /* 9, after 2 + 2 + 2 + 3 events and its segment */
    heap_alloc(h, 2 * GIB, STATE);
    heap_free(h, heap_alloc(h, 64 * MIB,
                            "torch/optim/adamw.py:90:_multi_tensor_adamw|torch/optim/"
                            "optimizer.py:82:wrapper|" ACTOR));
    heap_alloc(h, 2 * GIB, FORWARD);
    heap_oom(h, 2 * GIB, 128 * MIB, FORWARD);
    {
        const struct mt_evidence *e;
        FINISH(0);
        e = evidence(c, "appeared in the first step");
        MT_ASSERT(e != NULL);
        MT_CHECK_EQ(e->bytes, 4 * GIB);
        MT_CHECK_EQ(e->since, 10);
        MT_CHECK_EQ(e->event, 12);
        DONE;
    }
}

MT_TEST(inference_alone_is_healthy)
{
    struct heap *h = heap_new();
    heap_alloc(h, 14 * GIB, "vllm/model_executor/layers/linear.py:1:create_weights|" MAIN);
    heap_alloc(h, 40 * GIB,
               "vllm/v1/worker/gpu_model_runner.py:5:_allocate_kv_cache_tensors|" MAIN);
    for (int i = 0; i < 20; i++)
        heap_free(h, heap_alloc(h, GIB, GENERATE));
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_NONE);
        MT_CHECK(c->known);
        DONE;
    }
}

MT_TEST(left_by_an_earlier_phase)
{
    struct heap *h = heap_new();
    heap_alloc(h, 4 * GIB, MODEL);
    heap_alloc(h, 6 * GIB,
               "models/qwen2.py:50:forward|torch/nn/modules/module.py:60:_call_impl|"
               "verl/workers/fsdp_workers.py:97:compute_log_prob|" MAIN);
    heap_alloc(h, GIB, FORWARD);
    heap_oom(h, 2 * GIB, GIB, FORWARD);
    {
        FINISH(0);
        MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
        MT_CHECK_EQ(c->conf, MT_CONF_INFERRED);
        MT_CHECK_HAS(c->sentence, "6.00 GiB");
        MT_CHECK_HAS(c->sentence, "old-policy log-prob");
        DONE;
    }
}

/* Its sampler works on the logits that the same batch made in its forward pass. */
MT_TEST(logits_of_a_batch_are_not_left_by_an_earlier_phase)
{
    const char *logits = "sglang/srt/layers/logits_processor.py:9:_get_logits|sglang/srt/"
                         "model_executor/model_runner.py:8:forward_decode|"
                         "sglang/srt/managers/scheduler.py:7:event_loop_overlap";
    const char *sample = "sglang/srt/layers/sampler.py:6:forward|sglang/srt/managers/"
                         "scheduler.py:7:event_loop_overlap";
    struct heap *h = heap_new();
    heap_alloc(h, 6 * GIB, logits);
    heap_oom(h, 2 * GIB, GIB, sample);
    {
        FINISH(0);
        MT_CHECK(c->kind != MT_CAUSE_LEAK);
        MT_CHECK(heap_what_if(c, "no_residue") == NULL);
        MT_CHECK(heap_what_if(c, "half_temporaries") != NULL);
        DONE;
    }
}

/* ---- nothing failed: what would be next ---- */

/* 38 GiB live at the peak, in the actor's forward. */
static struct heap *almost_full(void)
{
    struct heap *h = heap_new();
    heap_alloc(h, 30 * GIB, MODEL);
    heap_free(h, heap_alloc(h, 8 * GIB, FORWARD));
    return h;
}

MT_TEST(a_full_card_is_next_to_fail)
{
    struct heap *h = almost_full();
    {
        FINISH(39 * GIB);
        MT_CHECK_EQ(a->verdict.kind, MT_V_PEAK);
        MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
        MT_CHECK_EQ(c->conf, MT_CONF_INFERRED);
        MT_CHECK_EQ(c->request, 0);
        MT_CHECK(c->next.made && c->next.tight && c->next.headroom_known);
        MT_CHECK_EQ(c->next.headroom, GIB);
        MT_CHECK_EQ(c->next.attr.phase, MT_PH_TRAIN_ACTOR);
        MT_CHECK_EQ(c->next.role, MT_ROLE_PARAM);
        MT_CHECK_EQ(c->next.role_bytes, 30 * GIB);
        MT_CHECK_HAS(c->sentence, "Next to fail: actor update (forward). At its peak 38.00 GiB of "
                                  "the card's 39.00 GiB were live");
        MT_CHECK_HAS(c->sentence, "at most 1.00 GiB (2 %) were left");
        MT_CHECK_STR(c->sentence, c->next.sentence);
        MT_CHECK(heap_evidence(c, "The card has 39.00 GiB; 38.00 GiB were live", GIB));
        MT_CHECK(heap_evidence(c, "8.00 GiB of the 38.00 GiB live", 8 * GIB));
        MT_CHECK_EQ(c->what_ifs.n + c->pins.n, 0); /* nothing was asked for */
        DONE;
    }
}

/* One twentieth is left, or the card is not known, or the books hold more than it has: nobody is
 * frightened. */
MT_TEST(a_card_with_room_has_no_cause)
{
    static const uint64_t cards[] = {40 * GIB, 80 * GIB, 0, 37 * GIB};
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        struct heap *h = almost_full();
        FINISH(cards[i]);
        MT_CHECK_EQ(c->kind, MT_CAUSE_NONE);
        MT_CHECK(c->known && c->next.made && !c->next.tight);
        MT_CHECK_STR(c->sentence, "");
        MT_CHECK_EQ(c->evidence.n, 0);
        MT_CHECK_EQ(c->next.headroom_known, i < 2);
        MT_CHECK_EQ(c->next.headroom, i < 2 ? cards[i] - 38 * GIB : 0);
        MT_CHECK_HAS(c->next.sentence, i < 2    ? "Nothing was near its limit."
                                       : i == 2 ? "not known without the card's size"
                                                : "hold more than the card has");
        DONE;
    }
}

/* An engine fills its share on purpose: only the last fiftieth is tight. */
MT_TEST(an_engine_fills_its_card)
{
    for (int tight = 0; tight < 2; tight++) {
        struct heap *h = heap_new();
        heap_alloc(h, 14 * GIB, "vllm/model_executor/layers/linear.py:1:create_weights|" MAIN);
        heap_alloc(h, 35 * GIB,
                   "vllm/v1/worker/gpu_model_runner.py:5:_allocate_kv_cache_tensors|" MAIN);
        heap_free(h, heap_alloc(h, GIB, GENERATE));
        {
            FINISH(tight ? 50 * GIB + 512 * MIB : 52 * GIB);
            MT_CHECK_EQ(c->kind, tight ? MT_CAUSE_CAPACITY : MT_CAUSE_NONE);
            MT_CHECK_EQ(c->next.tight, tight != 0);
            DONE;
        }
    }
}

/* Keys and values of the job's own generation that a training still holds are told beside the
 * cause; not where an engine has them, which keeps its cache, nor in the generation itself. */
MT_TEST(a_cache_of_a_generation_that_is_over)
{
    enum { OVER, OF_AN_ENGINE, LITTLE, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 8 * GIB, MODEL);
        if (what == OF_AN_ENGINE)
            heap_alloc(h, GIB, "vllm/model_executor/layers/linear.py:7:create_weights|" MODEL);
        heap_alloc(h, what == LITTLE ? GIB : 6 * GIB, KV);
        heap_alloc(h, 8 * GIB, FORWARD);
        heap_oom(h, 9 * GIB, GIB, FORWARD);
        {
            FINISH(0);
            MT_CHECK_EQ(strstr(c->sentence, " 6.00 GiB of KV cache was there still, of a "
                                            "generation that is over: actor update does not need "
                                            "it.") != NULL,
                        what == OVER);
            MT_CHECK_EQ(strstr(c->sentence, "a generation that is over") != NULL, what == OVER);
            DONE;
        }
    }
}

MT_TEST(what_makes_it_next)
{
    static const enum mt_cause_kind want[] = {MT_CAUSE_STALE_ENGINE, MT_CAUSE_GIANT_TENSOR,
                                              MT_CAUSE_PENDING_FREES, MT_CAUSE_LEAK};
    static const char *const words[] = {
        "10.00 GiB of it KV cache and engine weights, which this phase does not need",
        "of it logits and their gradient", "had been freed by the program",
        "10.00 GiB of it temporaries that earlier phases left behind"};
    for (unsigned i = 0; i < 4; i++) {
        struct heap *h = heap_new();
        unsigned b;
        heap_alloc(h, 8 * GIB, MODEL);
        if (i == 0)
            heap_alloc(h, 10 * GIB, KV);
        if (i == 1)
            heap_alloc(h, UINT64_C(32768) * 151936 * 2, LOSS);
        if (i == 3)
            heap_alloc(h, 10 * GIB,
                       "models/qwen2.py:50:forward|torch/nn/modules/module.py:60:_call_impl|"
                       "verl/workers/fsdp_workers.py:97:compute_log_prob|" MAIN);
        b = heap_alloc(h, i == 2 ? 10 * GIB : GIB, FORWARD);
        if (i == 2) {
            heap_ask(h, b);
            heap_alloc(h, GIB, FORWARD);
        }
        {
            FINISH(i == 1 ? 18 * GIB + 700 * MIB : 19 * GIB + 256 * MIB);
            MT_CHECK_EQ(c->kind, want[i]);
            MT_CHECK(c->next.tight);
            MT_CHECK_HAS(c->sentence, words[i]);
            DONE;
        }
    }
}

MT_TEST(holes_are_next)
{
    struct heap *h = heap_new();
    for (int i = 0; i < 20; i++)
        heap_alloc_in(h, 200 * MIB, GIB, i < 10 ? MODEL : FORWARD);
    {
        FINISH(20 * GIB + 512 * MIB);
        MT_CHECK_EQ(c->kind, MT_CAUSE_FRAGMENTATION);
        MT_CHECK_EQ(c->n_pins_all, 20);
        MT_CHECK_EQ(c->pinned_free, 20 * (GIB - 200 * MIB));
        MT_CHECK_HAS(c->sentence, "more free, but in segments that live blocks hold");
        DONE;
    }
}

MT_TEST(holes_on_a_larger_card_are_nothing)
{
    struct heap *h = heap_new();
    for (int i = 0; i < 20; i++)
        heap_alloc_in(h, 200 * MIB, GIB, i < 10 ? MODEL : FORWARD);
    {
        FINISH(24 * GIB);
        MT_CHECK_EQ(c->kind, MT_CAUSE_NONE);
        MT_CHECK_EQ(c->pins.n + c->n_pins_all, 0);
        DONE;
    }
}

MT_TEST(growth_says_when)
{
    struct heap *h = heap_new();
    steps(h, 8, GIB);
    {
        FINISH(80 * GIB);
        MT_CHECK_EQ(c->kind, MT_CAUSE_LEAK);
        MT_CHECK(!c->next.tight);
        MT_CHECK_HAS(c->sentence, "nothing has failed yet");
        MT_ASSERT(a->devices.p[0].roles.growth.n == 1);
        MT_CHECK_EQ(c->next.steps_left,
                    (uint64_t)((double)c->next.headroom / a->devices.p[0].roles.growth.p[0].slope) +
                        1);
        MT_CHECK_HAS(c->next.sentence, "more steps");
        DONE;
    }
}

/* Events that contradict the end state: there was a failure, and nothing decides. */
MT_TEST(a_withheld_curve_has_no_cause)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    struct mt_analysis *a;
    bt_trace(&x, 0);
    bt_event(&x, "alloc", 0x200000, 30 * MIB, FORWARD);
    bt_event(&x, "oom", MIB, 4 * MIB, FORWARD);
    bt_segment(&x, 0, 0x9000000, 20 * MIB, "1048576a 19922944i", "");
    t = bt_done(&x);
    a = mt_analyze_all(t, &rules, false);
    MT_ASSERT(a != NULL && a->devices.n == 1);
    MT_CHECK(a->devices.p[0].withheld != NULL);
    MT_CHECK_EQ(a->devices.p[0].cause->kind, MT_CAUSE_NONE);
    MT_CHECK(!a->devices.p[0].cause->next.made);
    MT_CHECK(!a->devices.p[0].cause->known);
    MT_CHECK_EQ(a->verdict.event, 1); /* the failure itself is in the trace */
    MT_CHECK_EQ(a->devices.p[0].cause->event, 1);
    MT_CHECK_HAS(a->devices.p[0].cause->sentence, "cannot be told");
    mt_analysis_free(a);
    mt_trace_free(t);
}

MT_TEST(from_a_log)
{
    struct mt_logdiag d = {
        .cause = MT_CAUSE_FOREIGN, .confidence = "high", .request = GIB, .sentence = NULL};
    struct mt_cause_told c;
    mt_cause_of_log(&c, &d);
    MT_CHECK_EQ(c.kind, MT_CAUSE_FOREIGN);
    MT_CHECK_EQ(c.conf, MT_CONF_MARKED);
    MT_CHECK_EQ(c.request, GIB);
    d.cause = MT_CAUSE_UNKNOWN;
    d.request = MT_LOG_NONE;
    mt_cause_of_log(&c, &d);
    MT_CHECK_EQ(c.kind, MT_CAUSE_NONE);
    MT_CHECK(!c.known);
    MT_CHECK_EQ(c.request, 0);
    d.cause = MT_CAUSE_KILLED;
    d.confidence = "low";
    mt_cause_of_log(&c, &d);
    MT_CHECK_EQ(c.kind, MT_CAUSE_HOST);
    MT_CHECK_EQ(c.conf, MT_CONF_LOW);
}

MT_TEST(from_driver_calls)
{
    struct mt_driver_oom o = {
        .request = 4 * GIB, .free = GIB, .who = MT_HOLD_TORCH, .phase = MT_PH_TRAIN_ACTOR};
    struct mt_driverdiag j = {.kind = MT_V_OOM, .sentence = NULL};
    struct mt_cause_told c;
    j.ooms.p = &o;
    j.ooms.n = 1;
    o.held[MT_HOLD_TORCH] = 60 * GIB;
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_CAPACITY);
    o.held[MT_HOLD_ENGINE] = 15 * GIB; /* mapped while the actor is updated */
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_STALE_ENGINE);
    o.phase = MT_PH_ROLLOUT_GENERATE;
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_CAPACITY);
    o.held[MT_HOLD_OTHER] = 12 * GIB;
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_FOREIGN);
    o.held[MT_HOLD_OTHER] = 0;
    o.who = MT_HOLD_NCCL;
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_FOREIGN);
    o.is_host = true;
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_HOST);
    j.kind = MT_V_PEAK;
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_NONE);
    MT_CHECK(c.known);
}

/* What the trainer has cached and does not use, when the engine wakes; what has grown step by step.
 */
MT_TEST(from_what_was_there_before)
{
    struct mt_driver_oom o = {.request = 5 * GIB,
                              .free = 4 * GIB,
                              .who = MT_HOLD_ENGINE,
                              .phase = MT_PH_ROLLOUT_WAKE_SLEEP,
                              .in_wake = true};
    struct mt_driverdiag j = {.kind = MT_V_OOM, .idle = 33 * GIB};
    struct mt_cause_told c;
    j.ooms.p = &o;
    j.ooms.n = 1;
    o.held[MT_HOLD_TORCH] = 45 * GIB;
    o.held[MT_HOLD_ENGINE] = 30 * GIB;
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_STALE_ENGINE);
    MT_CHECK_EQ(c.conf, MT_CONF_INFERRED);
    j.idle = GIB; /* next to nothing of what is held */
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_CAPACITY);
    j.idle = 33 * GIB;
    o.request = 40 * GIB; /* it would not have done */
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_CAPACITY);
    o.who = MT_HOLD_TORCH;
    o.request = 6 * GIB;
    o.phase = MT_PH_LOGP_OLD;
    o.in_wake = false;
    o.held[MT_HOLD_ENGINE] = 0;
    j.idle = 0;
    j.growth = (struct mt_driver_growth){
        .who = MT_HOLD_TORCH, .n = 3, .first = 36 * GIB, .last = 39 * GIB};
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_LEAK);
    MT_CHECK_EQ(c.conf, MT_CONF_INFERRED);
    o.request = 8 * GIB; /* without the growth it would have failed as well */
    mt_cause_of_driver(&c, &j);
    MT_CHECK_EQ(c.kind, MT_CAUSE_CAPACITY);
}

/* Nothing in the real files failed within what they record: no cause, no scare. */
MT_TEST(real_files_have_no_cause)
{
    static const char *const files[] = {"cs336_wedson_1024_training",
                                        "cs336_wedson_512_training",
                                        "cs336_bcrafton_user_metadata",
                                        "cs336_magma_partial_frames",
                                        "decomfl_python_only_torch2.9",
                                        "cs336_silmont_bf16_torch2.6",
                                        "verl_pr851_megatron_vllm_mempools_torch2.6",
                                        "flexgen_oom_state_only_torch2.0"};
    MT_REQUIRE_SHARED();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1400];
        enum mt_rc rc;
        struct mt_trace *t;
        struct mt_analysis *a;
        snprintf(path, sizeof path, "%s/torch/%s.pickle", mt_shared_data(), files[i]);
        t = mt_load(path, &rc);
        MT_ASSERT(t != NULL);
        a = mt_analyze_all(t, &rules, false);
        MT_ASSERT(a != NULL && a->devices.n != 0);
        for (uint32_t k = 0; k < a->devices.n; k++) {
            const struct mt_device_analysis *d = &a->devices.p[k];
            MT_CHECK_EQ(d->cause->kind, MT_CAUSE_NONE);
            MT_CHECK_EQ(d->cause->known, !d->end_state_only && d->withheld == NULL);
            for (uint32_t n = 0; n < d->audits->v.n; n++)
                MT_CHECK(!d->audits->v.p[n].finding);
        }
        mt_analysis_free(a);
        mt_trace_free(t);
    }
}

/* Memory that runs out while the cause is looked for is an error, not a crash. */
MT_TEST(out_of_memory_while_looking)
{
    for (uint64_t n = 1; n < 4000; n += 37) {
        struct heap *h = heap_new();
        struct mt_analyze_opts o = {
            .phases = rules.phases, .fixes = rules.fixes, .only_device = -1, .framework = -1};
        struct mt_analysis *a = NULL;
        struct mt_err err = {.rc = MT_OK};
        struct mt_trace *t;
        enum mt_rc rc;
        for (int i = 0; i < 6; i++)
            heap_alloc_in(h, 200 * MIB, GIB, i < 3 ? MODEL : GATHER);
        heap_ask(h, heap_alloc(h, GIB, KV));
        heap_oom(h, 2 * GIB, 512 * MIB, FORWARD);
        for (unsigned i = 0; i < h->n; i++)
            bt_segment(&h->x, 0, h->b[i].addr, h->b[i].room,
                       h->b[i].room == GIB && h->b[i].size == GIB ? "1073741824p"
                                                                  : "209715200a 864026624i",
                       h->b[i].stack);
        t = bt_done(&h->x);
        free(h);
        mt_mem_fail_after(n);
        rc = mt_analyze(&a, t, &o, &err);
        mt_mem_fail_after(0);
        MT_CHECK((rc == MT_OK) == (a != NULL));
        mt_analysis_free(a);
        mt_trace_free(t);
        if (rc == MT_OK)
            break;
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(
    MT_RUN(rules_load) MT_RUN(a_cache_of_a_generation_that_is_over) MT_RUN(
        the_smallest_change_by_the_numbers) MT_RUN(what_a_line_keeps_turn_by_turn)
        MT_RUN(a_full_card_is_capacity) MT_RUN(holes_are_fragmentation_with_their_pins) MT_RUN(
            crumbs_are_not_fragmentation) MT_RUN(logits_are_a_giant_tensor) MT_RUN(shape_of_58_gib)
            MT_RUN(a_power_of_two_names_no_vocabulary) MT_RUN(
                a_vocabulary_without_a_head_is_a_guess) MT_RUN(size_alone_is_no_giant)
                MT_RUN(cache_in_training_is_stale) MT_RUN(an_engine_that_sleeps_is_not_stale) MT_RUN(
                    cache_in_rollout_is_not_stale) MT_RUN(optimizer_state_in_rollout_is_stale)
                    MT_RUN(parameters_beside_an_engine_are_the_trainers) MT_RUN(
                        pending_frees) MT_RUN(few_pending_frees_are_no_cause)
                        MT_RUN(memory_of_others) MT_RUN(a_context_is_not_foreign) MT_RUN(
                            a_limit) MT_RUN(growth_is_a_leak) MT_RUN(a_leak_comes_before_its_pieces)
                            MT_RUN(a_failure_that_was_caught) MT_RUN(
                                tries_of_a_library_are_no_failures) MT_RUN(tries_without_a_failure)
                                MT_RUN(outputs_that_are_kept_are_growth) MT_RUN(
                                    outputs_that_may_be_layers_are_not)
                                    MT_RUN(steady_training_is_healthy) MT_RUN(
                                        state_of_the_first_step_is_no_leak)
                                        MT_RUN(state_of_the_first_step_is_said) MT_RUN(
                                            inference_alone_is_healthy)
                                            MT_RUN(left_by_an_earlier_phase) MT_RUN(
                                                logits_of_a_batch_are_not_left_by_an_earlier_phase)
                                                MT_RUN(a_full_card_is_next_to_fail) MT_RUN(
                                                    a_card_with_room_has_no_cause)
                                                    MT_RUN(an_engine_fills_its_card) MT_RUN(
                                                        what_makes_it_next) MT_RUN(holes_are_next)
                                                        MT_RUN(holes_on_a_larger_card_are_nothing)
                                                            MT_RUN(growth_says_when) MT_RUN(
                                                                a_withheld_curve_has_no_cause)
                                                                MT_RUN(from_a_log) MT_RUN(
                                                                    from_driver_calls)
                                                                    MT_RUN(
                                                                        from_what_was_there_before)
                                                                        MT_RUN(
                                                                            real_files_have_no_cause)
                                                                            MT_RUN(
                                                                                out_of_memory_while_looking)
                                                                                MT_RUN(rules_done))
