/* What single rules promise and propose, by numbers whose truth is known. */
#include "advice_bench.h"
#include "parser/model/intern.h"
#include "analysis/advice/lines.h"
#include "frameworks.h"

/* A trace with one stack of one frame, for owners and requests of b. */
static void one_stack(struct bench *b, struct mt_trace **t, const char *file, const char *name)
{
    struct mt_frame *f;
    struct mt_stack_node *s;
    *t = mt_trace_new();
    MT_ASSERT(*t != NULL);
    f = MT_VEC_PUSH(&(*t)->frames);
    s = MT_VEC_PUSH(&(*t)->stacks);
    MT_ASSERT(f != NULL && s != NULL);
    f->file = mt_strpool_add(&(*t)->str, file, strlen(file));
    f->name = mt_strpool_add(&(*t)->str, name, strlen(name));
    f->line = 1;
    *s = (struct mt_stack_node){.frame = (*t)->frames.n - 1};
    MT_ASSERT(mt_intern_functions(*t));
    b->a.trace = *t;
}

static void owner(struct bench *b, uint64_t blocks, uint64_t bytes)
{
    struct mt_owner *o = MT_VEC_PUSH(&b->d->owners);
    MT_ASSERT(o != NULL);
    o->stack = 1;
    o->blocks = blocks;
    o->bytes = bytes;
}

/* 50 million elements stay of each bucket, whatever it has now: two bytes each, or four where it is
 * larger than the default in two. */
MT_TEST(buckets_of_any_size)
{
    const struct {
        uint64_t blocks, bytes, saved, least;
    } of[] = {{1, 1000000000, 900000000, 800000000},
              {1, 400000000, 300000000, 200000000},
              {2, 2000000000, 1800000000, 1600000000},
              {1, 2000000000, 1800000000, 1800000000}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        struct mt_trace *t;
        const struct mt_advice *v;
        setup(&b, NULL, NULL);
        one_stack(&b, &t, "/v/site-packages/deepspeed/runtime/zero/stage_1_and_2.py",
                  "setup_buckets");
        owner(&b, of[i].blocks, of[i].bytes);
        role(&b, MT_ROLE_GRAD_REDUCE, of[i].bytes);
        b.a.fw.main = FW(openrlhf);
        v = advise(&b, "B44");
        MT_ASSERT(v != NULL);
        MT_CHECK_EQ(v->saving.bytes, of[i].saved);
        MT_CHECK_EQ(v->saving.low, of[i].least);
        teardown(&b);
        mt_trace_free(t);
    }
}

/* slime, in an update over 3072 tokens of which `longest` are one sequence. */
static void update_of_slime(struct bench *b, const char *args, uint64_t longest)
{
    setup(b, args, NULL);
    b->a.fw.main = FW(slime);
    mt_test_part(&b->a.fw, true, true);
    role(b, MT_ROLE_ACTIVATION, 16 * GIB);
    b->d->roles.vocab = 151936;
    b->d->roles.logits_tokens = 3072;
    b->d->roles.logits_elem = 2;
    b->d->roles.sequences.longest = longest;
}

/* A budget below the longest sequence frees nothing: what the settings bound it by, or one of both
 * bounds, or the longest that is seen. */
MT_TEST(no_budget_below_the_longest_sequence)
{
    static const struct {
        const char *args;
        uint64_t longest;
        const char *proposed; /* NULL = not offered */
        bool caution;
    } of[] = {
        {NULL, 0, "1536", true},
        {NULL, 2000, "2000", true},
        {NULL, 3072, NULL, false},
        {"--use-dynamic-batch-size --rollout-max-response-len 2048 --max-tokens-per-gpu 4096", 0,
         "2048", true},
        {"--use-dynamic-batch-size --rollout-max-response-len 2048 --max-tokens-per-gpu 4096", 2500,
         "2500", true},
        {"--use-dynamic-batch-size --rollout-max-response-len 2048 --rollout-max-prompt-len 512",
         1000, "2560", false},
        {"--use-dynamic-batch-size --rollout-max-response-len 2048 --rollout-max-prompt-len 2048",
         1000, NULL, false},
        {("--use-dynamic-batch-size --rollout-max-response-len 2048 --rollout-max-prompt-len 2048 "
          "--context-parallel-size 2"),
         1000, "2048", false},
        /* a budget that nobody reads */
        {"--max-tokens-per-gpu 4096", 0, NULL, false},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        const struct mt_advice *v;
        char note[MT_ADVICE_NOTE];
        update_of_slime(&b, of[i].args, of[i].longest);
        v = advise(&b, "X09");
        MT_CHECK_EQ(v != NULL, of[i].proposed != NULL);
        if (v != NULL && of[i].proposed != NULL) {
            MT_CHECK_STR(v->proposed_value, of[i].proposed);
            MT_CHECK_HAS(mt_advice_note(v, v->proposed_line, note),
                         of[i].caution ? "; not below the longest sequence" : "takes effect");
            MT_CHECK((strstr(note, "longest") != NULL) == of[i].caution);
        }
        teardown(&b);
    }
}

/* What the trace shows of micro-batches, where the settings are not at hand. */
MT_TEST(packing_that_is_seen_is_on)
{
    for (int packed = 0; packed < 2; packed++) {
        struct bench b;
        update_of_slime(&b, NULL, 1000);
        b.d->roles.sequences.in_micro = 4;
        b.d->roles.sequences.packed = packed != 0;
        MT_CHECK_EQ(advise(&b, "X11") != NULL, !packed);
        b.d->roles.sequences.in_micro = 1;
        MT_CHECK(advise(&b, "X12") == NULL);
        b.d->roles.sequences.in_micro = 4;
        b.d->roles.sequences.longest = 3000; /* nearly all of the tokens are one sequence's */
        MT_CHECK(advise(&b, "X12") == NULL);
        teardown(&b);
    }
}

/* One stage of a pipeline has nothing to rebalance with. */
MT_TEST(one_stage_is_no_pipeline)
{
    static const char *const functions[] = {"forward_backward_no_pipelining",
                                            "forward_backward_pipelining_without_interleaving"};
    for (int i = 0; i < 2; i++) {
        struct bench b;
        struct mt_trace *t;
        setup(&b, NULL, NULL);
        one_stack(&b, &t, "/w/megatron/core/pipeline_parallel/schedules.py", functions[i]);
        b.a.fw.main = FW(megatron);
        mt_test_part(&b.a.fw, true, true);
        b.a.verdict.phase = MT_PH_INIT;
        b.a.verdict.sub = MT_PH_NONE;
        role(&b, MT_ROLE_PARAM, 16 * GIB);
        MT_CHECK_EQ(advise(&b, "B27") != NULL, i == 1);
        teardown(&b);
        mt_trace_free(t);
    }
}

/* slime's own switch for expandable segments, but not where training is put to sleep below PyTorch.
 */
MT_TEST(expandable_segments_of_slime)
{
    const struct {
        const char *args, *function;
        bool offered;
    } of[] = {{NULL, "train", true},
              {"--offload-train --rollout-max-response-len 9", "train", false},
              {NULL, "wake_up", false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        struct mt_trace *t;
        update_of_slime(&b, of[i].args, 0);
        one_stack(&b, &t, "/w/slime/slime/backends/megatron_utils/actor.py", of[i].function);
        fail(&b, GIB / 2, GIB / 4);
        b.a.verdict.kind = MT_V_OOM_FRAGMENTATION;
        MT_CHECK_EQ(advise(&b, "B45") != NULL, of[i].offered);
        MT_CHECK(advise(&b, "B01") == NULL);
        teardown(&b);
        mt_trace_free(t);
    }
}

/* Set-up fails for the buffer of gradients itself, or for the state that the optimizer makes at
 * once: the request goes where the host takes it. */
MT_TEST(requests_for_gradients_and_state)
{
    const struct {
        mt_fw fw;
        enum mt_role made;
        const char *rule;
        uint64_t saved; /* 0 = not offered */
    } of[] = {
        {FW(openrlhf), MT_ROLE_GRAD, "B30", 4 * GIB},
        {FW(openrlhf), MT_ROLE_UNKNOWN, "B30", 0},
        {FW(slime), MT_ROLE_OPTIM_STATE, "X13", 4 * GIB},
        {FW(slime), MT_ROLE_GRAD, "X13", 0},
        {FW(slime), MT_ROLE_GRAD, "B46", 2 * GIB},
        {FW(slime), MT_ROLE_OPTIM_STATE, "B46", 0},
        {FW(slime), MT_ROLE_GRAD, "B50", 3 * GIB},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        const struct mt_advice *v;
        setup(&b, NULL, NULL);
        b.a.fw.main = of[i].fw;
        mt_test_part(&b.a.fw, false, of[i].fw == FW(slime));
        b.a.verdict.phase = MT_PH_INIT;
        b.a.verdict.sub = MT_PH_NONE;
        role(&b, MT_ROLE_PARAM, 2 * GIB);
        fail(&b, 4 * GIB, GIB);
        b.d->roles.request_role = (uint8_t)of[i].made;
        v = advise(&b, of[i].rule);
        MT_CHECK_EQ(v != NULL && v->saving.known ? v->saving.bytes : 0, of[i].saved);
        teardown(&b);
    }
}

/* Half of the chunk that is set, or of what the logits show: -1 is none, and a chunk that is
 * smaller than the smallest proposal stays. */
MT_TEST(chunks_of_a_prefill)
{
    const struct {
        mt_fw fw;
        const char *args;
        uint64_t tokens;
        const char *proposed; /* "" = a line without a number of its own, NULL = not offered */
        uint64_t saved;       /* 0 = not known */
    } of[] = {
        {FW(areal), NULL, 8192, "4096", 4 * GIB},
        {FW(areal), "sglang.chunked_prefill_size=-1", 8192, "4096", 4 * GIB},
        {FW(areal), "sglang.chunked_prefill_size=-1", 0, "", 0},
        {FW(slime), "--sglang-chunked-prefill-size 16384", 8192, "8192", 4 * GIB},
        {FW(slime), "--sglang-chunked-prefill-size 256", 256, NULL, 0},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        const struct mt_advice *v;
        setup(&b, of[i].args, NULL);
        b.a.fw.main = of[i].fw;
        b.a.fw.engine = FW(sglang);
        b.a.fw.frames[FW(sglang)] = 1;
        b.a.verdict.phase = MT_PH_ROLLOUT_PREFILL;
        b.a.verdict.sub = MT_PH_NONE;
        role(&b, MT_ROLE_LOGITS, 8 * GIB);
        b.d->roles.vocab = of[i].tokens != 0 ? 151936 : 0;
        b.d->roles.logits_tokens = of[i].tokens;
        b.d->roles.logits_elem = 2;
        v = advise(&b, "B17");
        MT_CHECK_EQ(v != NULL, of[i].proposed != NULL);
        if (v != NULL && of[i].proposed != NULL) {
            MT_CHECK_STR(v->proposed_value != NULL ? v->proposed_value : "", of[i].proposed);
            MT_CHECK_EQ(v->saving.known ? v->saving.bytes : 0, of[i].saved);
        }
        teardown(&b);
    }
}

/* Who trains adapters is not told to: what its gradients and state hold is for something else. */
MT_TEST(adapters_are_not_advised_twice)
{
    static const struct {
        const char *file, *rule;
        bool own;
    } of[] = {{"/v/site-packages/peft/tuners/lora/layer.py", "P13", false},
              {"/v/site-packages/unsloth/kernels/fast_lora.py", "P13", false},
              {"/v/src/megatron/bridge/peft/lora.py", "B32", true},
              {"/v/site-packages/peft/tuners/lora/layer.py", "B32", true},
              {"/v/site-packages/timm/layers/mlp.py", "P13", false},
              {"/v/site-packages/timm/layers/mlp.py", "B32", true}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        struct mt_trace *t;
        setup(&b, NULL, NULL);
        one_stack(&b, &t, of[i].file, "forward");
        role(&b, MT_ROLE_GRAD, 4 * GIB);
        role(&b, MT_ROLE_OPTIM_STATE, 8 * GIB);
        b.a.fw.main = of[i].own ? FW(transformers) : MT_FW_NONE;
        MT_CHECK_EQ(advise(&b, of[i].rule) != NULL, strstr(of[i].file, "timm") != NULL);
        teardown(&b);
        mt_trace_free(t);
    }
}

MT_MAIN(MT_RUN(adapters_are_not_advised_twice) MT_RUN(buckets_of_any_size)
            MT_RUN(no_budget_below_the_longest_sequence) MT_RUN(packing_that_is_seen_is_on)
                MT_RUN(one_stage_is_no_pipeline) MT_RUN(expandable_segments_of_slime)
                    MT_RUN(requests_for_gradients_and_state) MT_RUN(chunks_of_a_prefill))
