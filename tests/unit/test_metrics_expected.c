/* Expected bytes beside measured ones, on traces and settings small enough to multiply by hand; what is missing is said. */
#include "analysis/metrics_expected.h"
#include "analysis/runconf.h"
#include "heap_make.h"

#define CLIP "torch/nn/utils/clip_grad.py:60:clip_grad_norm_|" ACTOR
#define MM "??:0:MmBackward0::apply|" ENGINE
/* 2 layers of 4 x 1024 x 1024 + 3 x 1024 x 4096 + 2 x 1024, an embedding and a head of 32000 x 1024, the last norm */
#define SHAPE                                                                                                                  \
    "model_type=llama num_hidden_layers=2 hidden_size=1024 intermediate_size=4096 num_attention_heads=16 "                     \
    "num_key_value_heads=16 vocab_size=32000 "
#define PARAMS (UINT64_C(2) * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024) + 2 * UINT64_C(32000) * 1024 + 1024)
#define FP32 "actor_rollout_ref.actor.fsdp_config.model_dtype=fp32 "

static struct mt_rules rules;

MT_TEST(rules_load) { MT_CHECK(mt_rules_load(&rules)); }

struct found {
    struct mt_trace *t;
    struct mt_runconf *conf;
    struct mt_analysis *a;
};

static struct found look(struct heap *h, const char *args, uint64_t capacity)
{
    struct found f = {NULL, NULL, NULL};
    struct mt_err err = {.rc = MT_OK};
    struct mt_analyze_opts o = {
        .phases = rules.phases, .fixes = rules.fixes, .only_device = -1, .framework = -1, .capacity = capacity};
    char blocks[96];
    for (unsigned i = 0; i < h->n; i++)
        if (h->b[i].live) {
            snprintf(blocks, sizeof blocks, h->b[i].room > h->b[i].size ? "%llua %llui" : "%llua",
                     (unsigned long long)h->b[i].size, (unsigned long long)(h->b[i].room - h->b[i].size));
            bt_segment(&h->x, 0, h->b[i].addr, h->b[i].room, blocks, h->b[i].stack);
        }
    f.t = bt_done(&h->x);
    free(h);
    if (mt_runconf_new(&f.conf, &err) == MT_OK && mt_conf_args(&f.conf->conf, args, strlen(args), "--args", false, &err) >= 0 &&
        mt_runconf_added(f.conf, MT_FROM_ARGS, &err) == MT_OK) {
        o.conf = f.conf;
        (void)mt_analyze(&f.a, f.t, &o, &err);
    }
    return f;
}

static void done(struct found *f)
{
    mt_analysis_free(f->a);
    mt_runconf_free(f->conf);
    mt_trace_free(f->t);
}

static const struct mt_expect *of(const struct found *f, enum mt_role role)
{
    const struct mt_expected *e = f->a != NULL && f->a->devices.n == 1 ? f->a->devices.p[0].expected : NULL;
    for (uint32_t i = 0; e != NULL && i < e->v.n; i++)
        if (e->v.p[i].role == role)
            return &e->v.p[i];
    return NULL;
}

/* Three steps of training: parameters, gradients as large times `factor`, moments. */
static struct heap *training(uint64_t params, uint64_t factor)
{
    struct heap *h = heap_new();
    heap_alloc(h, params, MODEL);
    for (int i = 0; i < 3; i++) {
        unsigned act = heap_alloc(h, 128 * MIB, FORWARD), grad;
        grad = heap_alloc(h, params * factor, "??:0:torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)|" MM);
        heap_free(h, act);
        heap_free(h, heap_alloc(h, 4096, CLIP));
        if (i == 0) {
            heap_alloc(h, params, STATE);
            heap_alloc(h, params, STATE);
        }
        heap_free(h,
                  heap_alloc(h, MIB, "torch/optim/adamw.py:90:_multi_tensor_adamw|torch/optim/optimizer.py:82:wrapper|" ACTOR));
        heap_free(h, grad);
    }
    return h;
}

MT_TEST(by_the_shape_of_the_model)
{
    struct found f = look(training(PARAMS * 4, 1), SHAPE FP32, 0);
    const struct mt_expect *p = of(&f, MT_ROLE_PARAM), *g = of(&f, MT_ROLE_GRAD), *o = of(&f, MT_ROLE_OPTIM_STATE);
    MT_ASSERT(p != NULL && g != NULL && o != NULL);
    MT_CHECK(p->known && !p->at_most && !p->more);
    MT_CHECK_EQ(p->bytes, PARAMS * 4);
    MT_CHECK_EQ(p->measured, PARAMS * 4);
    MT_CHECK_EQ(p->phase, MT_PH_TRAIN_ACTOR);
    MT_CHECK(g->known && !g->at_most && !g->more);
    MT_CHECK_EQ(g->bytes, PARAMS * 4);
    MT_CHECK_EQ(o->bytes, PARAMS * 8);
    MT_CHECK_EQ(o->measured, PARAMS * 8);
    MT_CHECK_HAS(o->text, "by the model's shape");
    done(&f);
}

MT_TEST(by_the_measured_parameters)
{
    struct found f = look(training(512 * MIB, 1), "", 0);
    const struct mt_expect *p = of(&f, MT_ROLE_PARAM), *g = of(&f, MT_ROLE_GRAD), *o = of(&f, MT_ROLE_OPTIM_STATE);
    MT_ASSERT(p != NULL && g != NULL && o != NULL);
    MT_CHECK(!p->known && p->bytes == 0 && p->extra == NULL);
    MT_CHECK_HAS(p->text, "(layers) is not among the settings");
    MT_CHECK(g->known && g->at_most && !g->more);
    MT_CHECK_EQ(g->bytes, 512 * MIB);
    MT_CHECK_EQ(o->bytes, GIB);
    MT_CHECK_HAS(o->text, "(measured)");
    done(&f);
}

MT_TEST(more_than_expected_names_the_bytes)
{
    struct found f = look(training(512 * MIB, 3), SHAPE FP32, 0);
    const struct mt_expect *p = of(&f, MT_ROLE_PARAM), *g = of(&f, MT_ROLE_GRAD);
    MT_ASSERT(p != NULL && g != NULL);
    MT_CHECK(p->known && p->more == (512 * MIB > PARAMS * 4 + PARAMS * 4 / 10 + 64 * MIB));
    MT_CHECK(g->known && g->more);
    MT_ASSERT(g->extra != NULL);
    MT_CHECK_HAS(g->extra, "more than expected");
    MT_CHECK_HAS(g->extra, "of all, 1.50 GiB of");
    done(&f);
}

/* Each missing factor by its name. */
MT_TEST(what_is_missing_is_said)
{
    static const struct {
        const char *args, *words;
        enum mt_role role;
    } cases[] = {
        {"num_hidden_layers=2", "(hidden size)", MT_ROLE_PARAM},
        {SHAPE "model_type=mamba " FP32, "this model type", MT_ROLE_PARAM},
        {SHAPE "num_experts=8 " FP32, "experts", MT_ROLE_PARAM},
        {SHAPE "hidden_size=900000000000000 " FP32, "makes no model", MT_ROLE_PARAM},
        {SHAPE FP32 "actor_rollout_ref.model.lora_rank=8", "LoRA", MT_ROLE_GRAD},
        {FP32 "actor_rollout_ref.actor.optim.optimizer=AdamW8bit", "this optimizer's state", MT_ROLE_OPTIM_STATE},
        {FP32 "actor_rollout_ref.actor.fsdp_config.offload_policy=True", "on the host", MT_ROLE_OPTIM_STATE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct found f = look(training(64 * MIB, 1), cases[i].args, 0);
        const struct mt_expect *e = of(&f, cases[i].role);
        MT_ASSERT(e != NULL);
        if (e->known)
            MT_FAIL_AT("case %u: %s", (unsigned)i, e->text);
        MT_CHECK_EQ(e->bytes, 0);
        MT_CHECK_HAS(e->text, cases[i].words);
        done(&f);
    }
}

static struct heap *engine(uint64_t cache)
{
    struct heap *h = heap_new();
    heap_alloc(h, PARAMS * 2, "vllm/model_executor/layers/linear.py:1:create_weights|" MAIN);
    heap_alloc(h, cache, "vllm/v1/worker/gpu_model_runner.py:5:_allocate_kv_cache_tensors|" MAIN);
    heap_free(h, heap_alloc(h, MIB, GENERATE));
    return h;
}

MT_TEST(an_engine)
{
    /* 65536 tokens x 2 x 2 layers x 1024 x 2 bytes */
    static const struct {
        const char *args;
        uint64_t capacity, bytes;
        bool known, at_most;
    } cases[] = {{SHAPE "--tensor-parallel-size 1 --max-total-tokens 65536", 0, 512 * MIB, true, false},
                 {SHAPE "--tensor-parallel-size 2 --max-total-tokens 65536", 0, 256 * MIB, true, false},
                 {SHAPE "--kv-cache-memory-bytes 536870912", 0, 512 * MIB, true, false},
                 {"--gpu-memory-utilization 0.5", 4 * GIB, 2 * GIB - PARAMS * 2, true, true},
                 {"--gpu-memory-utilization 0.5", 0, 0, false, false},
                 {"", 4 * GIB, 0, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct found f = look(engine(512 * MIB), cases[i].args, cases[i].capacity);
        const struct mt_expect *e = of(&f, MT_ROLE_KV_CACHE), *w = of(&f, MT_ROLE_ENGINE_WEIGHTS);
        MT_ASSERT(e != NULL && w != NULL);
        MT_CHECK_EQ(e->known, cases[i].known);
        MT_CHECK_EQ(e->at_most, cases[i].at_most);
        MT_CHECK_EQ(e->bytes, cases[i].bytes);
        MT_CHECK_EQ(e->measured, 512 * MIB);
        MT_CHECK_EQ(e->more, i == 1); /* twice as much as there should be */
        MT_CHECK_EQ(w->known, i < 3); /* the engine's own default is 1 */
        MT_CHECK_EQ(w->bytes, i == 1 ? PARAMS : i < 3 ? PARAMS * 2 : 0);
        done(&f);
    }
}

/* verl moves optimizer state and parameters out between the phases: what is there in a rollout is not expected there. */
MT_TEST(moved_out_between_phases)
{
    struct heap *h = training(512 * MIB, 1);
    struct found f;
    const struct mt_expected *e;
    uint32_t found = 0;
    heap_free(h, heap_alloc(h, GIB, GENERATE));
    f = look(h, FP32 "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True", 0);
    MT_ASSERT(f.a != NULL && f.a->devices.n == 1);
    e = f.a->devices.p[0].expected;
    for (uint32_t i = 0; i < e->v.n; i++) {
        if (e->v.p[i].phase != MT_PH_ROLLOUT_GENERATE)
            continue;
        found++;
        MT_CHECK_EQ(e->v.p[i].role, MT_ROLE_OPTIM_STATE);
        MT_CHECK(e->v.p[i].known && e->v.p[i].more && e->v.p[i].bytes == 0);
        MT_CHECK_EQ(e->v.p[i].measured, GIB);
        MT_CHECK_HAS(e->v.p[i].text, "optimizer_offload");
        MT_CHECK_HAS(e->v.p[i].extra, "of all, 1.00 GiB of workers/fsdp_workers.py:30 update_actor");
    }
    MT_CHECK_EQ(found, 1);
    done(&f);
}

MT_TEST(a_state_alone_expects_nothing)
{
    struct heap *h = heap_new();
    struct found f;
    bt_segment(&h->x, 0, 0x1000000, 20 * MIB, "20971520a", MODEL);
    f = look(h, SHAPE FP32, 0);
    MT_ASSERT(f.a != NULL && f.a->devices.n == 1);
    MT_CHECK_EQ(f.a->devices.p[0].expected->v.n, 0);
    done(&f);
}

MT_TEST(out_of_memory_while_multiplying)
{
    for (uint64_t n = 1; n < 100000; n += 7) {
        struct found f;
        struct heap *h = training(64 * MIB, 4);
        f = (struct found){NULL, NULL, NULL};
        mt_mem_fail_after(0);
        f = look(h, SHAPE FP32, 0);
        MT_ASSERT(f.a != NULL);
        mt_analysis_free(f.a);
        f.a = NULL;
        {
            struct mt_analyze_opts o = {
                .phases = rules.phases, .fixes = rules.fixes, .only_device = -1, .framework = -1, .conf = f.conf};
            struct mt_err err = {.rc = MT_OK};
            enum mt_rc rc;
            mt_mem_fail_after(n);
            rc = mt_analyze(&f.a, f.t, &o, &err);
            mt_mem_fail_after(0);
            MT_CHECK((rc == MT_OK) == (f.a != NULL));
            done(&f);
            if (rc == MT_OK)
                break;
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(MT_RUN(rules_load) MT_RUN(by_the_shape_of_the_model) MT_RUN(by_the_measured_parameters)
            MT_RUN(more_than_expected_names_the_bytes) MT_RUN(what_is_missing_is_said) MT_RUN(an_engine)
                MT_RUN(moved_out_between_phases) MT_RUN(a_state_alone_expects_nothing) MT_RUN(out_of_memory_while_multiplying)
                    MT_RUN(rules_done))
