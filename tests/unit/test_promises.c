/* What is not promised, because the method needs the bytes, or because they are of another kind:
 * traces small enough to check by hand, each beside one that differs in that alone. */
#include "cause_kit.h"

#define CALL "torch/nn/modules/module.py:60:_call_impl|"
#define WEIGHTS "torch/nn/modules/linear.py:105:__init__|own/meta.py:2:build|" MAIN
#define INNER(line) "own/meta.py:" line ":inner|" MAIN
#define LAYER "own/net.py:5:forward|" CALL INNER("20")
#define ROOT                                                                                       \
    "torch/autograd/__init__.py:198:_make_grads|torch/autograd/__init__.py:340:backward|"          \
    "torch/_tensor.py:626:backward|" INNER("24")

/* A step of an inner loop: four layers, and a backward pass that makes three blocks a layer. */
static void inner_step(struct heap *h, bool kept, bool recorded)
{
    unsigned layer[4];
    for (unsigned k = 0; k < 4; k++)
        layer[k] = heap_alloc(h, 256 * MIB, LAYER);
    heap_free(h, heap_alloc(h, 512, ROOT));
    for (unsigned k = 4; k-- > 0;) {
        for (int i = 0; i < 3; i++) {
            unsigned made = heap_alloc(h, 40 * MIB, ENGINE);
            if (!recorded)
                heap_free(h, made);
        }
        if (!kept)
            heap_free(h, layer[k]);
    }
}

/* Inner steps whose backward passes keep what they make are differentiated through: neither is
 * their graph a leak, nor does half a batch, recomputation or the host do what it promises. Where
 * the backward passes leave nothing and the graph stays, it is let go of (P155). */
MT_TEST(a_backward_that_is_recorded)
{
    enum { RECORDED, RETAINED, LET_GO, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int i = 0; i < 5; i++)
            inner_step(h, what != LET_GO, what == RECORDED);
        heap_alloc(h, 256 * MIB, LAYER);
        heap_oom(h, 256 * MIB, 64 * MIB, LAYER);
        {
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].roles.recorded, what == RECORDED ? 60 * 40 * MIB : 0);
            MT_CHECK_EQ(c->kind == MT_CAUSE_LEAK, what == RETAINED);
            MT_CHECK_EQ(card(a, "P155") != NULL, what == RETAINED);
            MT_CHECK_EQ(card(a, "P190") != NULL && card(a, "P190")->is_top, what == RECORDED);
            MT_CHECK_EQ(card(a, "P02") != NULL, what != RECORDED);
            MT_CHECK(what != RECORDED || (card(a, "P01") == NULL && card(a, "P04") == NULL));
            MT_CHECK(what != RECORDED || c->left_open);
            DONE;
        }
    }
}

/* An estimate of the curvature: one forward pass, a backward pass of many short-lived blocks, and
 * the work that goes on with its gradients. What the graph of the gradients keeps may be a small
 * part of the blocks that were made, as long as the graph below it is there too. Gradients of a
 * second kind, as in another type, are left by a backward pass that lets go of its graph. */
MT_TEST(a_backward_that_is_recorded_with_work_behind_it)
{
    enum { TWICE, ONCE, FEW, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned layer[6];
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (unsigned k = 0; k < 6; k++)
            layer[k] = heap_alloc(h, 256 * MIB, LAYER);
        heap_free(h, heap_alloc(h, 512, ROOT));
        for (unsigned k = 6; k-- > 0;) {
            for (int i = 0; i < 12; i++)
                heap_free(h, heap_alloc(h, 40 * MIB, ENGINE));
            for (int i = 0; i < 2; i++)
                heap_alloc(h, (what == FEW ? 20 : 90) * MIB, ENGINE);
            if (what == ONCE)
                heap_free(h, layer[k]);
        }
        heap_alloc(h, 10 * MIB, INNER("30"));
        heap_oom(h, 256 * MIB, 64 * MIB, INNER("31"));
        {
            FINISH(0);
            MT_CHECK_EQ(a->devices.p[0].roles.recorded, what == TWICE ? 12 * 90 * MIB : 0);
            MT_CHECK_EQ(a->devices.p[0].roles.at_focus[MT_ROLE_GRAD],
                        what == TWICE ? 0 : UINT64_C(12) * (what == FEW ? 20 : 90) * MIB);
            MT_CHECK_EQ(a->devices.p[0].roles.at_focus[MT_ROLE_ACTIVATION],
                        what == TWICE  ? 6 * 256 * MIB + 12 * 90 * MIB
                        : what == ONCE ? 0
                                       : 6 * 256 * MIB);
            MT_CHECK_EQ(strstr(c->sentence, "1.05 GiB of it was left by a backward pass that is "
                                            "recorded itself (create_graph=True)") != NULL,
                        what == TWICE);
            MT_CHECK_EQ(card(a, "P190") != NULL && card(a, "P190")->is_top, what == TWICE);
            MT_CHECK(what != TWICE || (card(a, "P01") == NULL && card(a, "P04") == NULL));
            MT_CHECK_EQ(card(a, "P01") != NULL, what == FEW);
            MT_CHECK_EQ(c->kind, MT_CAUSE_CAPACITY);
            DONE;
        }
    }
}

#define STEP(line) "own/draw.py:" line ":draw|own/draw.py:50:main|" MAIN
#define TEST(line) "own/draw.py:" line ":test|own/draw.py:60:main|" MAIN
#define NET "own/net.py:7:forward|" CALL

/* So many calls of the model from one line; what each of its two layers makes stays. */
static unsigned calls(struct heap *h, const char *layer, const char *between, unsigned n,
                      unsigned *made)
{
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++) {
        made[k++] = heap_alloc(h, 64 * MIB, layer);
        heap_free(h, heap_alloc(h, 8 * MIB, layer));
        heap_free(h, heap_alloc(h, 4 * MIB, between));
    }
    return k;
}

/* A chain of calls whose backward comes at its end, longer this time than the times before: what
 * it has kept is for that backward, and letting go of it, or no_grad, is no advice. The same number
 * of calls from a line that no backward ever followed keep theirs for nothing. Whether memory runs
 * out within a call or between two of them is no matter. */
MT_TEST(a_chain_that_one_backward_follows)
{
    for (int what = 0; what < 4; what++) {
        struct heap *h = heap_new();
        bool chain = what & 1, between = what & 2;
        unsigned made[16], n;
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int i = 0; i < 3; i++) {
            n = calls(h, NET STEP("12"), STEP("13"), chain ? 3 : 1, made);
            heap_free(h, heap_alloc(h, 16 * MIB, ENGINE));
            while (n-- > 0)
                heap_free(h, made[n]);
        }
        if (chain)
            (void)calls(h, NET STEP("12"), STEP("13"), 12, made);
        else
            (void)calls(h, NET TEST("32"), TEST("33"), 12, made);
        heap_oom(h, 64 * MIB, 32 * MIB,
                 between ? (chain ? STEP("13") : TEST("33"))
                         : (chain ? NET STEP("12") : NET TEST("32")));
        {
            FINISH(0);
            MT_CHECK_EQ(c->kind == MT_CAUSE_LEAK, !chain);
            MT_CHECK_EQ(card(a, "P07") != NULL || card(a, "P22") != NULL, !chain);
            DONE;
        }
    }
}

#define TASK(line) "own/tasks.py:" line ":remember|own/tasks.py:70:main|" MAIN
#define TRAIN "own/net.py:7:forward|" CALL "own/tasks.py:60:train|own/tasks.py:71:main|" MAIN

/* A block that is there at the end, and whose birth the recording has lost. */
static void old(struct heap *h, uint64_t size, const char *stack)
{
    h->b[h->n++] = (struct heap_block){h->next, size, size, stack, false, true};
    h->next += size + 2 * MIB;
}

/* Each task leaves a block of 300 MiB; the recording has the last one alone. Then a request finds
 * 400 MiB in pieces: room for one task more, and no cause. Pieces are the cause where one task
 * alone left something, or where what lies there came before any backward pass. */
MT_TEST(rounds_are_more_than_pieces)
{
    enum { ROUNDS, ONE, SET_UP, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        unsigned act;
        for (int i = 0; i < 5 && what != ONE; i++)
            old(h, 300 * MIB, TASK("27"));
        if (what == SET_UP)
            heap_alloc(h, 300 * MIB, TASK("27"));
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int i = 0; i < 10; i++) /* a tenth of each is in use */
            heap_alloc_in(h, 4 * MIB, 44 * MIB, WEIGHTS);
        for (int i = 0; i < 6; i++) {
            act = heap_alloc(h, 64 * MIB, TRAIN);
            heap_free(h, heap_alloc(h, 16 * MIB, ENGINE));
            heap_free(h, act);
            if (i == 3 && what != SET_UP)
                heap_alloc(h, 300 * MIB, TASK("27"));
        }
        heap_oom(h, 64 * MIB, 2 * MIB, TRAIN);
        {
            FINISH(0);
            MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_FRAGMENTATION);
            MT_CHECK_EQ(c->rounds, what == ROUNDS ? 1800 * MIB : 0);
            MT_CHECK_EQ(c->kind, what == ROUNDS ? MT_CAUSE_CAPACITY : MT_CAUSE_FRAGMENTATION);
            MT_CHECK_EQ(card(a, "P191") != NULL, what == ROUNDS);
            if (what == ROUNDS)
                MT_CHECK_HAS(c->sentence,
                             "1.76 GiB was kept round by round, of 6 rounds, most of it "
                             "at own/tasks.py:27 remember; the last round added "
                             "300.0");
            DONE;
        }
    }
}

#define GRADS "own/net.py:7:forward|" CALL "own/noise.py:60:train|own/noise.py:71:main|" MAIN

/* Each backward pass leaves a whole set of gradients beside those of the passes before: somebody
 * keeps them. How many are left of the loop nothing shows, so no promise goes beyond the request.
 * Where they are added up into one set, nothing is kept round by round; nor where each pass is that
 * of a model of its own. */
MT_TEST(gradients_of_each_pass)
{
    enum { KEPT, ADDED, MODELS, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        for (unsigned i = 0; i < (what == MODELS ? 40 : 8); i++)
            heap_alloc(h, 100 * MIB + i % 8 * MIB, WEIGHTS);
        for (unsigned i = 0; i < 5; i++) {
            unsigned act = heap_alloc(h, 64 * MIB, GRADS);
            for (unsigned k = 8; k-- > 0;) {
                unsigned grad = heap_alloc(h, 100 * MIB + k * MIB, ENGINE);
                if (what == ADDED && i != 0)
                    heap_free(h, grad);
            }
            heap_free(h, act);
        }
        heap_oom(h, 64 * MIB, 2 * MIB, GRADS);
        {
            FINISH(0);
            MT_CHECK_EQ(c->rounds, what == KEPT ? 5 * 828 * MIB : 0);
            MT_CHECK_EQ(c->rounds_grads, what == KEPT ? 4 * 828 * MIB : 0);
            MT_CHECK_EQ(card(a, "P229") != NULL && card(a, "P229")->is_top, what == KEPT);
            MT_CHECK(card(a, "P191") == NULL);
            MT_CHECK(what != KEPT || c->left_open);
            if (what == KEPT)
                MT_CHECK_HAS(c->sentence, "4.04 GiB was kept round by round, of 5 rounds");
            DONE;
        }
    }
}

#define MOVE(line) "own/chain.py:" line ":move|own/chain.py:30:main|" MAIN
#define FORCE "torch/autograd/__init__.py:503:grad|" MOVE("18")

/* Steps of a sampler: no weights, and the force is a gradient of the energy. SAMPLER: each backward
 * pass leaves three blocks, and the forward one: both are recorded for a derivative of the force
 * that nobody takes (P294), no gradients of parameters. FORCES: one block a step is the forces
 * themselves, which a list keeps. TRAINED: beside weights and an optimizer it is another matter,
 * and there alone it is a training. */
MT_TEST(a_graph_through_the_steps_of_a_sampler)
{
    enum { SAMPLER, FORCES, TRAINED, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        if (what == TRAINED) {
            heap_alloc(h, 300 * MIB, WEIGHTS);
            heap_alloc(h, 600 * MIB, STATE);
        }
        heap_alloc(h, 80 * MIB, MOVE("28"));
        for (int step = 0; step < 10; step++) {
            unsigned moved = heap_alloc(h, 80 * MIB, MOVE("16"));
            heap_free(h, heap_alloc(h, 80 * MIB, MOVE("17")));
            heap_free(h, heap_alloc(h, 512, FORCE));
            for (int k = 0; k < 12; k++) {
                unsigned made = heap_alloc(h, 80 * MIB, ENGINE);
                if (k % 4 != 0 || (what == FORCES && k != 0))
                    heap_free(h, made);
            }
            if (what == FORCES)
                heap_free(h, moved);
        }
        heap_oom(h, 80 * MIB, 40 * MIB, ENGINE);
        {
            FINISH(0);
            const struct mt_role_facts *f = &a->devices.p[0].roles;
            const struct mt_advice *none = card(a, "P294");
            MT_CHECK(c->known);
            MT_CHECK_EQ(none != NULL && none->is_top, what == SAMPLER);
            MT_CHECK(what != SAMPLER || card(a, "P229") == NULL);
            MT_CHECK_EQ(mt_phase_is(a->verdict.phase, MT_TRAINS), what == TRAINED);
            if (what == SAMPLER) {
                MT_CHECK_EQ(f->recorded_graph, 30 * 80 * MIB);
                MT_CHECK_EQ(f->at_focus[MT_ROLE_GRAD], 0);
                MT_CHECK_HAS(c->sentence, "create_graph=True");
                MT_CHECK(none->only_if != NULL);
            }
            DONE;
        }
    }
}

#define FIRST "own/net.py:9:forward|" CALL "own/first.py:30:main|" MAIN

/* One line of the first pass, in six layers. SIZES: a small block that goes beside a large one
 * that stays. ONE_SIZE: of three alike one stays. GOES: each goes when the next layer is over. */
enum { SIZES, ONE_SIZE, GOES, N_FIRST };
static void first_pass(struct heap *h, int what)
{
    unsigned last = 0, scratch, other;
    for (int layer = 0; layer < 6; layer++) {
        scratch = heap_alloc(h, (what == SIZES ? 8 : 128) * MIB, FIRST);
        other = heap_alloc(h, (what == SIZES ? 8 : 128) * MIB, FIRST);
        if (what == GOES && layer != 0)
            heap_free_at(h, last, FIRST);
        last = what == GOES ? scratch : heap_alloc(h, 128 * MIB, FIRST);
        if (what != GOES)
            heap_free_at(h, scratch, FIRST);
        heap_free_at(h, other, FIRST);
        for (int k = 0; k < 8; k++) /* what other lines do */
            heap_free(h, heap_alloc(h, 4 * MIB, "own/net.py:12:mix|" CALL FIRST));
    }
}

/* Memory runs out in the first pass: nothing shows yet what a backward would let go of. What has
 * been there much longer than what its line let go of waits for it, and so does a block of another
 * size; what lives no longer than those before it is no more than they were. */
MT_TEST(what_a_first_pass_keeps)
{
    for (int what = 0; what < N_FIRST; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 100 * MIB, WEIGHTS);
        first_pass(h, what);
        heap_oom(h, 128 * MIB, 32 * MIB, FIRST);
        {
            FINISH(0);
            uint64_t kept = a->devices.p[0].roles.at_focus[MT_ROLE_ACTIVATION];
            const struct mt_advice *host = card(a, "P04");
            MT_CHECK(c->known);
            if (what == GOES)
                MT_CHECK_EQ(kept, 0);
            else
                MT_CHECK(kept >= 5 * 128 * MIB && kept <= 6 * 128 * MIB);
            MT_CHECK_EQ(host != NULL, what != GOES);
            MT_CHECK(host == NULL || host->lacking == 0);
            DONE;
        }
    }
}

#define EPOCH "own/net.py:9:forward|" CALL "own/epoch.py:20:train|own/epoch.py:40:main|" MAIN
#define SCORE "own/net.py:9:forward|" CALL "own/epoch.py:30:score|own/epoch.py:41:main|" MAIN

/* Behind training, a call from a line that no backward pass ever followed fails in its first
 * blocks: it may be an evaluation, and neither activations nor two backward passes are spoken of.
 * Not where the line was trained, behind two passes alone, where several blocks are kept, nor where
 * the line that trains has begun the pass. */
MT_TEST(a_pass_that_may_be_no_training)
{
    enum { UNTOLD, TRAINED, TWO, KEPT, PART, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        const char *last = what == TRAINED ? EPOCH : SCORE;
        unsigned act[3];
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int i = 0; i < (what == TWO ? 2 : 4); i++) {
            for (int k = 0; k < 3; k++)
                act[k] = heap_alloc(h, 32 * MIB, EPOCH);
            heap_free(h, heap_alloc(h, 16 * MIB, ENGINE));
            for (int k = 0; k < 3; k++)
                heap_free(h, act[k]);
        }
        if (what == PART)
            heap_alloc(h, 32 * MIB, EPOCH);
        for (int k = 0; k < (what == KEPT ? 5 : 2); k++)
            heap_alloc(h, 512 * MIB, last);
        heap_oom(h, 512 * MIB, 64 * MIB, last);
        {
            FINISH(0);
            bool untold = what == UNTOLD;
            MT_CHECK(c->known);
            MT_CHECK_EQ(a->verdict.phase == MT_PH_UNATTRIBUTED, untold);
            MT_CHECK_EQ(a->devices.p[0].roles.at_focus[MT_ROLE_ACTIVATION] == 0, untold);
            MT_CHECK_EQ(card(a, "P192") != NULL && card(a, "P192")->is_top, untold);
            MT_CHECK(!untold || card(a, "P192")->saving.bytes == 768 * MIB);
            MT_CHECK_EQ(card(a, "P02") == NULL, untold);
            MT_CHECK(!untold || (card(a, "P01") == NULL && card(a, "P04") == NULL));
            DONE;
        }
    }
}

#define TEACH(line) "own/teach.py:" line ":loss|own/teach.py:60:main|" MAIN
#define KL "torch/nn/functional.py:3396:kl_div|" TEACH("38")
#define SOFTMAX "torch/nn/functional.py:2248:log_softmax|" TEACH("36")
#define CROSS "torch/nn/functional.py:3494:cross_entropy|" TEACH("35")
#define HEAD "own/net.py:22:forward|" CALL TEACH("34")

#define JOINED "??:0:at::_ops::cat::call(c10::ArrayRef<at::Tensor>, long)|" TEACH("34")
#define SCALED "??:0:at::_ops::div_Tensor::call(at::Tensor const&)|" TEACH("34")
#define SUM "??:0:at::_ops::add_Tensor::call(at::Tensor const&)|" ENGINE
#define PRODUCT                                                                                    \
    "??:0:at::_ops::mm::call(at::Tensor const&)|??:0:at::_ops::linear::call(at::Tensor const&)|"   \
    "own/net.py:22:forward|" CALL TEACH("34")

/* A cross-entropy that is fused with the head makes no logits. What else reads them still does: a
 * divergence, or a softmax beside it. A softmax alone has weights, or one word, of its own: only
 * pieces of the rows are sure to fit it. One of another size is an attention's. Where C++ frames
 * tell that no product made the logits, they are of no head; where parts are joined, of a part of
 * one. MARGIN: the job's own line makes more of their shape between the head and the loss. SUMMED:
 * autograd adds gradients of the head up, which are whole rows, too. */
MT_TEST(logits_that_another_loss_reads)
{
    enum {
        ALONE,
        DIVERGENCE,
        BESIDE,
        ITS_OWN,
        ATTENTION,
        GATHERED,
        QUOTIENT,
        TOLD,
        MARGIN,
        SUMMED,
        N
    };
    static const uint64_t row = UINT64_C(50257) * 4;
    static const char *const third[] = {CROSS, KL,    SOFTMAX, HEAD,   SOFTMAX,
                                        CROSS, CROSS, CROSS,   SCALED, CROSS};
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        bool shared = what == DIVERGENCE || what == BESIDE;
        const char *head = what == GATHERED   ? JOINED
                           : what == QUOTIENT ? SCALED
                           : what >= TOLD     ? PRODUCT
                                              : HEAD;
        unsigned made[3];
        heap_alloc(h, row * 768, WEIGHTS);
        for (int pass = 0; pass < 3; pass++) {
            uint64_t size = row * (pass < 2 ? 512 : 2048);
            made[0] = heap_alloc(h, size, head);
            made[1] =
                heap_alloc(h, what == ITS_OWN ? size : 4096, what == ITS_OWN ? SOFTMAX : CROSS);
            if (what != ITS_OWN) {
                heap_free(h, made[1]);
                made[1] = heap_alloc(h, size, CROSS);
            }
            if (pass == 2)
                break;
            made[2] = heap_alloc(h, what == ATTENTION ? 48 * MIB + 4096 : size, third[what]);
            heap_free(h, heap_alloc(h, 512, ENGINE));
            if (what == SUMMED) /* gradients of the head, of two passes through it */
                heap_free(h, heap_alloc(h, row * 768, SUM));
            for (int k = 3; k-- > 0;)
                heap_free(h, made[k]);
        }
        heap_oom(h, row * 2048, 64 * MIB, what == ITS_OWN ? SOFTMAX : CROSS);
        {
            FINISH(0);
            MT_CHECK(c->known);
            MT_CHECK_EQ(a->devices.p[0].roles.vocab, 50257);
            MT_CHECK_EQ(card(a, "B09") == NULL, shared || what == ITS_OWN || what == GATHERED ||
                                                    what == QUOTIENT || what == MARGIN);
            MT_CHECK_EQ(card(a, "P287") == NULL, card(a, "B09") != NULL || what == QUOTIENT);
            DONE;
        }
    }
}

#define ANSWER(line)                                                                               \
    "own/say.py:" line ":answer|torch/utils/_contextlib.py:116:decorate_context|own/say.py:"       \
    "60:main|" MAIN
#define SPOKEN "own/net.py:22:forward|" CALL ANSWER("34")
#define CHOSEN "torch/nn/functional.py:2142:softmax|" ANSWER("36")
#define SCORED "torch/nn/functional.py:2248:log_softmax|" ANSWER("36")

/* Answers under no_grad: where the logits go through a softmax to draw the next token, there is no
 * log-softmax to take in pieces. Where they go through one, there is. */
MT_TEST(pieces_of_a_log_softmax_that_is_there)
{
    static const uint64_t row = UINT64_C(50257) * 4;
    for (int scored = 0; scored < 2; scored++) {
        struct heap *h = heap_new();
        const char *read = scored ? SCORED : CHOSEN;
        unsigned made[2];
        heap_alloc(h, row * 768, WEIGHTS);
        for (int pass = 0; pass < 3; pass++) {
            uint64_t size = row * (pass < 2 ? 512 : 2048);
            made[0] = heap_alloc(h, size, SPOKEN);
            made[1] = heap_alloc(h, size, read);
            heap_free(h, heap_alloc(h, 8 * MIB, ANSWER("37")));
            if (pass == 2)
                break;
            heap_free(h, made[1]);
            heap_free(h, made[0]);
        }
        heap_oom(h, row * 2048, 64 * MIB, read);
        {
            FINISH(0);
            MT_CHECK(c->known);
            MT_CHECK_EQ(a->verdict.phase, MT_PH_INFER);
            MT_CHECK(a->devices.p[0].roles.at_focus[MT_ROLE_LOGITS] != 0);
            MT_CHECK_EQ(card(a, "P10") != NULL, scored);
            MT_CHECK(card(a, "P09") != NULL);
            DONE;
        }
    }
}

#define FIT(line) "own/field.py:" line ":forward|" CALL "own/field.py:60:main|" MAIN

/* Four lines of each pass follow the samples, two a table: in the third pass the table is six times
 * as large (GROWN), or all is. Half the samples free half of what follows them, and nothing of the
 * table. */
MT_TEST(half_a_batch_of_what_follows_it)
{
    static const char *const line[] = {FIT("21"), FIT("22"), FIT("23"),
                                       FIT("24"), FIT("30"), FIT("31")};
    for (int all = 0; all < 2; all++) {
        struct heap *h = heap_new();
        unsigned made[6];
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int pass = 0; pass < 4; pass++) {
            uint64_t times = pass == 3 ? 6 : 1;
            for (int k = 0; k < 6; k++)
                made[k] =
                    heap_alloc(h, (k < 4 ? 8 * (all ? times : 1) : 64 * times) * MIB, line[k]);
            if (pass == 3)
                break;
            heap_free(h, heap_alloc(h, 72 * MIB, FIT("32")));
            heap_free(h, heap_alloc(h, 16 * MIB, ENGINE));
            for (int k = 6; k-- > 0;)
                heap_free(h, made[k]);
        }
        heap_oom(h, 6 * 72 * MIB, 64 * MIB, FIT("32"));
        {
            FINISH(0);
            const struct mt_advice *half = card(a, "P02");
            MT_CHECK_EQ(c->apart, all ? 0 : 2 * 6 * 64 * MIB);
            MT_CHECK_EQ(half != NULL && half->saving.bytes > 400 * MIB, all);
            if (all) { /* no block tells how many samples there are: no promise without that */
                MT_ASSERT(half->only_if != NULL && a->combined.sentence != NULL);
                MT_CHECK_EQ(strstr(a->combined.sentence, half->only_if) != NULL,
                            half->is_top && a->combined.fits);
            }
            DONE;
        }
    }
}

/* Four equal calls, of which the last is so many times as large that half of it does not fit: into
 * how many parts it has to go is told, and none where half is enough. */
MT_TEST(parts_that_are_enough)
{
    enum { HALF, QUARTER, N };
    static const unsigned parts[] = {0, 4};
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        uint64_t times = what == HALF ? 3 : 6;
        unsigned made[4];
        heap_alloc(h, 64 * MIB, WEIGHTS);
        for (int pass = 0; pass < 4; pass++) {
            for (int k = 0; k < 4; k++)
                made[k] = heap_alloc(h, 64 * MIB * (pass == 3 ? times : 1), FIT("21"));
            if (pass == 3)
                break;
            heap_free(h, heap_alloc(h, 512 * MIB, FIT("32")));
            heap_free(h, heap_alloc(h, 16 * MIB, ENGINE));
            for (int k = 4; k-- > 0;)
                heap_free(h, made[k]);
        }
        heap_oom(h, times * 512 * MIB, 512 * MIB, FIT("32"));
        {
            FINISH(0);
            const struct mt_advice *half = card(a, "P02");
            MT_ASSERT(half != NULL && c->known);
            MT_CHECK_EQ(half->parts, parts[what]);
            DONE;
        }
    }
}

#define CROSS_AT(line)                                                                             \
    "own/cin.py:" line ":cross|own/cin.py:24:forward|" CALL "own/cin.py:52:main|" MAIN

/* Layers in a loop, of which the first makes its large block elsewhere; the backward pass of the
 * last has let go of that of its own, and makes two gradients as large. An earlier layer that is
 * computed again comes back when those are gone: most of what it keeps is freed. Where the backward
 * pass has made little by then, it is not. */
MT_TEST(recomputed_behind_a_large_backward)
{
    for (int large = 0; large < 2; large++) {
        struct heap *h = heap_new();
        uint64_t grad = (large ? 512 : 8) * MIB;
        heap_alloc(h, 100 * MIB, WEIGHTS);
        heap_alloc(h, 160 * MIB,
                   "own/cin.py:17:cross|own/cin.py:24:forward|" CALL "own/cin.py:52:main|" MAIN);
        heap_alloc(h, 16 * MIB, CROSS_AT("19"));
        heap_alloc(h, 512 * MIB, CROSS_AT("18"));
        heap_alloc(h, 16 * MIB, CROSS_AT("19"));
        heap_free(h, heap_alloc(h, 512 * MIB, CROSS_AT("18")));
        heap_alloc(h, 16 * MIB, CROSS_AT("19"));
        heap_free(h, heap_alloc(h, 512, ENGINE));
        heap_alloc(h, grad, ENGINE);
        heap_alloc(h, grad, ENGINE);
        heap_oom(h, grad, 4 * MIB, ENGINE);
        {
            FINISH(0);
            const struct mt_advice *again = card(a, "P01");
            MT_CHECK(c->known);
            MT_CHECK_EQ(again != NULL && again->saving.bytes >= 480 * MIB, large);
            DONE;
        }
    }
}

#define BUILD "own/build.py:24:add|own/build.py:40:main|" MAIN

/* A request fails in pieces, and no earlier pass shows what comes after it. Where all pieces are
 * little beside what is live, joined they may serve this request and hardly more; where they are
 * less than this request, what was free on the device has to be added: capacity. */
MT_TEST(pieces_that_serve_one_request)
{
    static const uint64_t hole[] = {16, 100, 9};
    for (int i = 0; i < 3; i++) {
        bool much = hole[i] == 100, less = hole[i] == 9;
        struct heap *h = heap_new();
        heap_alloc(h, (less ? 400 : 2000) * MIB, WEIGHTS);
        for (int k = 0; k < 10; k++)
            heap_alloc_in(h, 4 * MIB, (hole[i] + 4) * MIB, WEIGHTS);
        heap_alloc(h, 64 * MIB, BUILD);
        heap_oom(h, 128 * MIB, (less ? 100 : 2) * MIB, BUILD);
        {
            FINISH(0);
            MT_CHECK_EQ(a->verdict.kind, less ? MT_V_OOM_CAPACITY : MT_V_OOM_FRAGMENTATION);
            MT_CHECK(c->left_open);
            MT_CHECK_EQ(c->fits_only_here, less);
            MT_CHECK_EQ(strstr(a->verdict.sentence, "; fragmentation, not capacity") != NULL, much);
            MT_CHECK_EQ(strstr(a->verdict.sentence, "; fragmentation at this request, and") != NULL,
                        !much && !less);
            MT_CHECK_EQ(strstr(a->verdict.sentence, "; capacity, since nothing shows") != NULL,
                        less);
            MT_CHECK(card(a, "B01") != NULL && card(a, "B01")->left_open);
            DONE;
        }
    }
}

#define KEPT "own/deep.py:9:forward|" CALL "own/deep.py:30:main|" MAIN
#define BEHIND "own/deep.py:15:head|" CALL "own/deep.py:31:main|" MAIN
#define SCATTERED "own/deep.py:20:setup|" MAIN

/* 100 MiB of a layer at a time stays, and 75 of each may go to the host at least. Ten holes of 4
 * MiB serve no request of 320 MiB: that it fits with them (HOLES), or by less than a percent
 * (BORDER), is no promise but likely. With room to spare it is promised; without holes it lacks
 * what it lacks. */
MT_TEST(what_fits_by_little_is_likely)
{
    enum { HOLES, BORDER, SPARE, NONE, N };
    static const uint64_t room[] = {4 * MIB, 21 * MIB, 32 * MIB, 4 * MIB};
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 500 * MIB, WEIGHTS);
        for (int i = 0; i < 10; i++)
            heap_alloc_in(h, 12 * MIB, (what == HOLES ? 16 : 12) * MIB, SCATTERED);
        for (int i = 0; i < 4; i++) {
            heap_alloc(h, 100 * MIB, KEPT);
            heap_free(h, heap_alloc(h, 8 * MIB, KEPT));
        }
        heap_oom(h, 320 * MIB, room[what], BEHIND);
        {
            FINISH(0);
            const struct mt_advice *host = card(a, "P04");
            MT_CHECK(c->known);
            MT_ASSERT(host != NULL && host->fits_known);
            MT_CHECK_EQ(host->saving.low, 300 * MIB);
            MT_CHECK_EQ(host->is_probable, what != NONE);
            MT_CHECK_EQ(host->is_narrow, what == HOLES || what == BORDER);
            MT_CHECK_EQ(host->lacking == 0, what == SPARE);
            MT_CHECK(what != NONE || host->lacking == 16 * MIB);
            DONE;
        }
    }
}

/* Holes of 6 or 26 MiB, twelve of them, are enough for a request in bytes. Expandable segments give
 * back pages of 20 MiB and no part of one: holes that are smaller are no promise. */
MT_TEST(holes_that_are_less_than_a_page)
{
    for (int wide = 0; wide < 2; wide++) {
        uint64_t hole = (wide ? 26 : 6) * MIB;
        struct heap *h = heap_new();
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int k = 0; k < 12; k++)
            heap_alloc_in(h, 8 * MIB, hole + 8 * MIB, WEIGHTS);
        heap_oom(h, hole * 10, 2 * MIB, BUILD);
        {
            FINISH(0);
            const struct mt_advice *joined = card(a, "B01");
            MT_CHECK(c->known);
            MT_CHECK_EQ(a->verdict.kind, MT_V_OOM_FRAGMENTATION);
            MT_ASSERT(joined != NULL && joined->fits_known);
            MT_CHECK_EQ(joined->is_probable, wide);
            DONE;
        }
    }
}

#define DEEP(line) "own/stack.py:" line ":forward|" CALL "own/stack.py:30:main|" MAIN
#define SCORE_OF "own/stack.py:50:score|own/stack.py:31:main|" MAIN

/* Eight calls of one line keep 64 and 16 MiB each, and what is asked for behind them is gone before
 * one of them is computed again: their inputs stay, 16 MiB each or, at the worst, 64. Of a call
 * that keeps more than what lies behind it (ONE), the rest comes on top. Where there is one weight
 * for all (LOOP), it may be one call with a loop inside, which comes back whole but for the
 * request: the least is reckoned so. */
MT_TEST(recomputed_call_by_call)
{
    enum { LAYERS, ONE, LOOP, N, CALLS = 8 };
    static const uint64_t frees[] = {640 - 112, 976 - 112 - 216, 640 - 112},
                          least[] = {640 - 7 * 64, 0, 100};
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        for (int i = 0; i < (what == LOOP ? 1 : CALLS); i++)
            heap_alloc(h, (what == LOOP ? 320 : 40) * MIB, WEIGHTS);
        for (int i = 0; i < CALLS; i++) {
            heap_alloc(h, (what == ONE && i == 0 ? 400 : 64) * MIB, DEEP("9"));
            heap_alloc(h, 16 * MIB, DEEP("10"));
        }
        heap_oom(h, (what == LOOP ? 100 : 200) * MIB, 10 * MIB, SCORE_OF);
        {
            FINISH(0);
            const struct mt_advice *again = card(a, "P01");
            MT_CHECK(c->pieces.known);
            MT_CHECK_EQ(c->pieces.n, CALLS);
            MT_CHECK_EQ(c->pieces.frees, frees[what] * MIB);
            MT_CHECK_EQ(c->pieces.least, least[what] * MIB);
            MT_ASSERT(again != NULL && again->saving.known);
            MT_CHECK_EQ(again->saving.bytes, frees[what] * MIB);
            MT_CHECK_EQ(again->saving.low, (uint64_t)(0.9 * (double)c->pieces.least + 0.5));
            DONE;
        }
    }
}

#define QUANT "own/net.py:3:quant|own/net.py:5:forward|" CALL INNER("20")

/* Half a batch leaves alone what a line makes of the weights, in a wider type: a tensor for each
 * weight of each size. Outputs whose sizes are those of weights come in other numbers. */
MT_TEST(what_is_made_of_the_weights)
{
    enum { WEIGHT, OUTPUT, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        for (int k = 0; k < 8; k++) {
            heap_alloc(h, 60 * MIB, WEIGHTS);
            heap_alloc(h, 20 * MIB, WEIGHTS);
        }
        heap_free(h, heap_alloc(h, 512, ROOT));
        for (int k = 0; k < 7; k++) {
            heap_alloc(h, 120 * MIB, QUANT);
            heap_alloc(h, 40 * MIB, QUANT);
            if (what == OUTPUT)
                heap_alloc(h, 40 * MIB, QUANT);
            heap_alloc(h, 50 * MIB, LAYER);
        }
        heap_oom(h, 50 * MIB, 10 * MIB, LAYER);
        {
            FINISH(0);
            MT_CHECK_EQ(c->copies_kept, what == WEIGHT ? 7 * 160 * MIB : 0);
            DONE;
        }
    }
}

/* A sum over all windows is made once, behind many calls; behind one call it is of its batch. */
MT_TEST(what_is_made_once_for_many_calls)
{
    for (int calls = 1; calls <= 5; calls += 4) {
        struct heap *h = heap_new();
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int k = 0; k < calls; k++) {
            unsigned first = heap_alloc(h, 64 * MIB, SPOKEN);
            heap_free(h, heap_alloc(h, 32 * MIB, SPOKEN));
            heap_free(h, first);
        }
        heap_alloc(h, 2 * GIB, ANSWER("46"));
        heap_oom(h, 4 * GIB, 64 * MIB, ANSWER("47"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->between_calls, calls == 5 ? 6 * GIB : 0);
            MT_CHECK_EQ(card(a, "P09") != NULL, calls == 1);
            DONE;
        }
    }
}

#define STEPS(how) "torch/optim/adam.py:476:" how "|torch/optim/optimizer.py:82:wrapper|" MAIN
#define ROWS(type) "at::native::index_select_out_cuda_impl<" type ">(at::Tensor&)|" SPOKEN

/* What takes one tensor at a time is no foreach; a kernel that says 16 bits leaves none to save. */
MT_TEST(what_frames_say_of_the_form)
{
    for (int what = 0; what < 2; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, GIB, WEIGHTS);
        heap_free(h, heap_alloc(h, 512, ROOT));
        heap_oom(h, GIB, 10 * MIB,
                 what == 0 ? STEPS("_single_tensor_adam") : STEPS("_multi_tensor_adam"));
        {
            FINISH(0);
            const struct mt_advice *fused = card(a, "B06");
            MT_ASSERT(c->known && fused != NULL);
            MT_CHECK_EQ(strstr(fused->card->title, "foreach") != NULL, what == 1);
            DONE;
        }
        h = heap_new();
        heap_alloc(h, GIB, WEIGHTS);
        for (int k = 0; k < 3; k++)
            heap_free(h,
                      heap_alloc(h, 256 * MIB, what == 0 ? ROWS("c10::BFloat16") : ROWS("float")));
        heap_oom(h, GIB, 10 * MIB, SPOKEN);
        {
            FINISH(0);
            const struct mt_advice *half = card(a, "P41");
            MT_CHECK(c->known && (half != NULL) == (what == 1));
            MT_CHECK(half == NULL || half->only_if != NULL);
            DONE;
        }
    }
}

#define RATIO(line) "own/ratio.py:" line ":ratio|own/ratio.py:50:main|" MAIN

/* A function of the job's own whose lines each made a tensor that the backward needs. While it
 * runs, its names hold them: what autograd saves on the host does not go from the card. Where
 * another function asks, this one is over. Of a line that was come to four times the last is held.
 */
MT_TEST(what_names_still_hold)
{
    enum { AT_WORK, OVER, IN_TURNS, N };
    static const char *const line[] = {RATIO("20"), RATIO("21"), RATIO("22"), RATIO("23")};
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (int i = 0; i < 4; i++)
            heap_alloc(h, 50 * MIB, KEPT);
        for (int i = 0; i < 4; i++)
            heap_alloc(h, GIB, what == IN_TURNS ? line[0] : line[i]);
        heap_oom(h, GIB, 64 * MIB, what == OVER ? BEHIND : RATIO("24"));
        {
            FINISH(0);
            const struct mt_advice *host = card(a, "P04");
            uint64_t named = what == OVER ? 0 : what == IN_TURNS ? GIB : 4 * GIB;
            MT_CHECK_EQ(a->devices.p[0].roles.at_focus[MT_ROLE_ACTIVATION], 4 * GIB + 200 * MIB);
            MT_CHECK_EQ(c->named, named);
            MT_CHECK(host == NULL || host->saving.bytes <= 4 * GIB + 200 * MIB - named);
            MT_CHECK(what == IN_TURNS || (host != NULL && host->is_probable) == (what == OVER));
            DONE;
        }
    }
}

#define FILLS(line, by) "own/bank.py:" line ":refill|own/bank.py:" by "|own/bank.py:60:main|" MAIN
#define HARVESTED                                                                                  \
    "own/bank.py:9:harvest|torch/utils/_contextlib.py:116:decorate_context|" FILLS("102",          \
                                                                                   "30:batch")

/* A buffer that is filled as it is made, and again in the loop: joined, then joined anew in another
 * order. The join fails: the second copy was still to come, as in the first call, and pieces that
 * serve the join do not serve both. What was made right before the join is what it reads. */
MT_TEST(what_the_same_function_went_on_to)
{
    for (int first = 0; first < 2; first++) {
        struct heap *h = heap_new();
        unsigned joined;
        heap_alloc(h, 100 * MIB, WEIGHTS);
        joined = heap_alloc(h, (first ? 6 : 1) * GIB, FILLS("103", "20:__init__"));
        heap_alloc(h, (first ? 6 : 1) * GIB, FILLS("104", "20:__init__"));
        heap_free(h, joined);
        for (int i = 0; i < 5; i++)
            heap_alloc_in(h, 512 * MIB, 2 * GIB, "own/bank.py:40:step|own/bank.py:61:main|" MAIN);
        heap_alloc(h, 3 * GIB, HARVESTED);
        heap_oom(h, 6 * GIB, 2 * GIB, FILLS("103", "30:batch"));
        {
            FINISH(0);
            MT_CHECK_EQ(c->pass_to_come, first ? 6 * GIB : 0);
            MT_CHECK_EQ(heap_evidence(c, "An earlier call of the same function", 6 * GIB), first);
            MT_CHECK_EQ(c->kind == MT_CAUSE_FRAGMENTATION, !first);
            MT_CHECK(card(a, "P17") == NULL);
            DONE;
        }
    }
}

#define NET_AT(line) "own/net.py:" line ":forward|" CALL ANSWER("34")
#define TABLE "own/table.py:12:make|" ANSWER("31")

/* A table that is made for each question: its sizes are its own while the passes behind it are as
 * large each time. Where those grow with it, half the batch is half of both. */
MT_TEST(what_has_sizes_of_its_own)
{
    static const char *const net[] = {NET_AT("20"), NET_AT("21"), NET_AT("22"),
                                      NET_AT("23"), NET_AT("24"), NET_AT("25"),
                                      NET_AT("26"), NET_AT("27"), NET_AT("28")};
    enum { OWN, WITH_PASS, ALWAYS, N };
    for (int what = 0; what < N; what++) {
        struct heap *h = heap_new();
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (unsigned i = 1; i <= 3; i++) {
            unsigned table = heap_alloc(h, (what == ALWAYS ? 3 : i * i) * 256 * MIB, TABLE);
            for (unsigned k = 0; k < 9; k++)
                heap_free(h, heap_alloc(h, (what == WITH_PASS ? i * i : 4) * 16 * MIB, net[k]));
            if (i != 3)
                heap_free(h, table);
        }
        heap_oom(h, 4 * GIB, 64 * MIB, TABLE);
        {
            FINISH(0);
            MT_CHECK_EQ(c->between_calls, what == OWN ? 4 * GIB + 9 * 256 * MIB : 0);
            MT_CHECK_EQ(card(a, "P09") != NULL, what != OWN);
            DONE;
        }
    }
}

#define DRAWS(frames)                                                                              \
    frames "own/noise.py:53:generate|torch/utils/_contextlib.py:116:decorate_context|"             \
           "own/noise.py:60:main|" MAIN
#define DRAWN DRAWS("own/net.py:22:forward|" CALL)

/* Passes of a generation over one, four and sixteen rows: the noise behind each is as many times as
 * large, so half the rows is half of all. Noise that is as large whatever the rows, with a request
 * that grows, is no such thing. Where each has more rows than the one before, so may the next. */
MT_TEST(temporaries_that_grow_with_the_request)
{
    static const unsigned rows_of[2][3] = {{1, 4, 16}, {4, 1, 16}};
    for (int rows = 0; rows < 3; rows++) {
        struct heap *h = heap_new();
        unsigned noise[2];
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (unsigned i = 0; i < 3; i++) {
            unsigned n = rows_of[rows == 2][i];
            (void)heap_alloc(h, 4096, "own/noise.py:58:main|" MAIN);
            heap_free(h, heap_alloc(h, n * 16 * MIB, DRAWN));
            for (int k = 0; k < 2; k++)
                noise[k] = heap_alloc(h, (rows ? n : 16) * 64 * MIB,
                                      k == 0 ? DRAWS("own/noise.py:38:add_noise|")
                                             : DRAWS("own/noise.py:39:add_noise|"));
            if (n == 16)
                break;
            heap_free(h, heap_alloc(h, n * 64 * MIB, DRAWS("own/noise.py:40:add_noise|")));
            heap_free(h, noise[0]);
            heap_free(h, noise[1]);
        }
        heap_oom(h, GIB, 64 * MIB, DRAWS("own/noise.py:40:add_noise|"));
        {
            FINISH(0);
            const struct mt_advice *half = card(a, "P09");
            MT_CHECK(half != NULL && half->saving.known);
            MT_CHECK_EQ(half != NULL ? half->saving.bytes : 0, rows ? 3 * GIB / 2 : GIB / 2);
            MT_CHECK_EQ(c->leaps, rows != 2); /* the next may have more rows still */
            MT_CHECK_EQ(half != NULL && half->left_open, rows != 2);
            DONE;
        }
    }
}

#define CAT "own/net.py:40:attend|" CALL ANSWER("36")

/* Keys and values of two layers, one token longer with each pass. A sequence alone has those of the
 * pass at hand and of the one before: half the batch halves them. Each branch of a search keeps its
 * own: fewer of these are advised, and no smaller batch. Where nothing failed, a cache in its full
 * length would only raise the peak. */
MT_TEST(caches_that_branches_keep)
{
    for (unsigned turn = 0; turn < 3; turn++) {
        unsigned branches = turn == 1 ? 9 : 1;
        bool fails = turn != 2;
        struct heap *h = heap_new();
        heap_alloc(h, 100 * MIB, WEIGHTS);
        for (unsigned b = 0; b < branches; b++) {
            unsigned old[4] = {0}, now[4];
            for (unsigned i = 0; i < 8; i++) {
                heap_free(h, heap_alloc(h, 8 * MIB, SPOKEN));
                for (unsigned k = 0; k < 4; k++) {
                    now[k] = heap_alloc(h, (256 + 2 * i) * MIB, CAT);
                    if (i != 0)
                        heap_free(h, old[k]);
                }
                memcpy(old, now, sizeof old);
            }
        }
        if (fails)
            heap_oom(h, 272 * MIB, 64 * MIB, CAT);
        {
            FINISH(0);
            const struct mt_role_facts *f = &a->devices.p[0].roles;
            MT_CHECK(f->grown_cache >= branches * 4 * 256 * MIB);
            /* of a branch, five are there when the first is let go of */
            MT_CHECK_EQ(f->kept_cache, branches == 1 ? 0 : (9 * 4 - 5) * 270 * MIB);
            MT_CHECK_EQ(card(a, "P286") != NULL && card(a, "P286")->is_top, branches == 9);
            MT_CHECK_EQ(card(a, "P09") != NULL, branches == 1);
            MT_CHECK_EQ(card(a, "P62") != NULL, branches == 1 && fails);
            MT_CHECK(!fails || c->kind != MT_CAUSE_NONE);
            DONE;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(
    MT_RUN(rules_load) MT_RUN(a_backward_that_is_recorded) MT_RUN(
        a_backward_that_is_recorded_with_work_behind_it) MT_RUN(a_chain_that_one_backward_follows)
        MT_RUN(rounds_are_more_than_pieces) MT_RUN(gradients_of_each_pass) MT_RUN(
            a_graph_through_the_steps_of_a_sampler) MT_RUN(what_a_first_pass_keeps)
            MT_RUN(a_pass_that_may_be_no_training) MT_RUN(logits_that_another_loss_reads) MT_RUN(
                pieces_of_a_log_softmax_that_is_there) MT_RUN(half_a_batch_of_what_follows_it)
                MT_RUN(parts_that_are_enough) MT_RUN(recomputed_behind_a_large_backward)
                    MT_RUN(pieces_that_serve_one_request) MT_RUN(what_fits_by_little_is_likely)
                        MT_RUN(holes_that_are_less_than_a_page) MT_RUN(recomputed_call_by_call)
                            MT_RUN(what_is_made_of_the_weights)
                                MT_RUN(what_is_made_once_for_many_calls)
                                    MT_RUN(what_frames_say_of_the_form)
                                        MT_RUN(what_names_still_hold)
                                            MT_RUN(what_the_same_function_went_on_to)
                                                MT_RUN(what_has_sizes_of_its_own)
                                                    MT_RUN(temporaries_that_grow_with_the_request)
                                                        MT_RUN(caches_that_branches_keep)
                                                            MT_RUN(rules_done))
