/* Expected bytes beside measured ones, on traces and settings small enough to multiply by hand;
 * what is missing is said. */
#include "analysis/expected/expected.h"
#include "analysis/setup/settings.h"
#include "heap_make.h"
#include "frameworks.h"

#define CLIP "torch/nn/utils/clip_grad.py:60:clip_grad_norm_|" ACTOR
#define MM "??:0:MmBackward0::apply|" ENGINE
/* 2 layers of 4 x 1024 x 1024 + 3 x 1024 x 4096 + 2 x 1024, an embedding and a head of 32000 x
 * 1024, the last norm */
#define SHAPE                                                                                      \
    "model_type=llama num_hidden_layers=2 hidden_size=1024 intermediate_size=4096 "                \
    "num_attention_heads=16 "                                                                      \
    "num_key_value_heads=16 vocab_size=32000 "
#define PARAMS                                                                                     \
    (UINT64_C(2) * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024) + 2 * UINT64_C(32000) * 1024 +   \
     1024)
#define FP32 "actor_rollout_ref.actor.fsdp_config.model_dtype=fp32 "

static struct mt_rules rules;

MT_TEST(rules_load) { MT_CHECK(mt_load_rules(&rules)); }

struct found {
    struct mt_trace *t;
    struct mt_runconf *conf;
    struct mt_analysis *a;
};

static struct found look_at(struct heap *h, const char *args, uint64_t capacity, int32_t rank)
{
    struct found f = {NULL, NULL, NULL};
    struct mt_err err = {.rc = MT_OK};
    struct mt_analyze_opts o = {.phases = rules.phases,
                                .fixes = rules.fixes,
                                .only_device = -1,
                                .framework = -1,
                                .capacity = capacity};
    char blocks[96];
    for (unsigned i = 0; i < h->n; i++)
        if (h->b[i].live) {
            snprintf(blocks, sizeof blocks, h->b[i].room > h->b[i].size ? "%llua %llui" : "%llua",
                     (unsigned long long)h->b[i].size,
                     (unsigned long long)(h->b[i].room - h->b[i].size));
            bt_segment(&h->x, 0, h->b[i].addr, h->b[i].room, blocks, h->b[i].stack);
        }
    f.t = bt_done(&h->x);
    f.t->meta.rank = rank;
    free(h);
    if (mt_runconf_new(&f.conf, mt_test_frameworks(), &err) == MT_OK &&
        mt_conf_args(&f.conf->conf, args, strlen(args), "--args", false, &err) >= 0 &&
        mt_runconf_added(f.conf, MT_FROM_ARGS, &err) == MT_OK) {
        o.conf = f.conf;
        (void)mt_analyze(&f.a, f.t, &o, &err);
    }
    return f;
}

static struct found look(struct heap *h, const char *args, uint64_t capacity)
{
    return look_at(h, args, capacity, -1);
}

static void done(struct found *f)
{
    mt_analysis_free(f->a);
    mt_runconf_free(f->conf);
    mt_trace_free(f->t);
}

static const struct mt_expect *of(const struct found *f, enum mt_role role)
{
    const struct mt_expected *e =
        f->a != NULL && f->a->devices.n == 1 ? f->a->devices.p[0].expected : NULL;
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
        grad = heap_alloc(
            h, params * factor,
            "??:0:torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)|" MM);
        heap_free(h, act);
        heap_free(h, heap_alloc(h, 4096, CLIP));
        if (i == 0) {
            heap_alloc(h, params, STATE);
            heap_alloc(h, params, STATE);
        }
        heap_free(h, heap_alloc(h, MIB,
                                "torch/optim/adamw.py:90:_multi_tensor_adamw|torch/optim/"
                                "optimizer.py:82:wrapper|" ACTOR));
        heap_free(h, grad);
    }
    return h;
}

MT_TEST(by_the_shape_of_the_model)
{
    struct found f = look(training(PARAMS * 4, 1), SHAPE FP32, 0);
    const struct mt_expect *p = of(&f, MT_ROLE_PARAM), *g = of(&f, MT_ROLE_GRAD),
                           *o = of(&f, MT_ROLE_OPTIM_STATE);
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
    const struct mt_expect *p = of(&f, MT_ROLE_PARAM), *g = of(&f, MT_ROLE_GRAD),
                           *o = of(&f, MT_ROLE_OPTIM_STATE);
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
        {SHAPE "num_experts=8 decoder_sparse_step=2 " FP32, "(which layers have experts)",
         MT_ROLE_PARAM},
        {SHAPE "kv_lora_rank=512 " FP32, "(head sizes of the latent attention)", MT_ROLE_PARAM},
        {SHAPE "hidden_size=900000000000000 " FP32, "makes no model", MT_ROLE_PARAM},
        {FP32 "actor_rollout_ref.model.lora_rank=8", "(LoRA), and their size is not known",
         MT_ROLE_GRAD},
        {SHAPE FP32
         "actor_rollout_ref.model.lora_rank=8 actor_rollout_ref.model.target_modules=.*attn",
         "layers named for them", MT_ROLE_GRAD},
        {"actor_rollout_ref.actor.optim.optimizer=AdamW8bit "
         "actor_rollout_ref.actor.fsdp_config.model_dtype=auto",
         "the type of the parameters", MT_ROLE_OPTIM_STATE},
        {FP32 "actor_rollout_ref.actor.optim.optimizer=adafactor", "the shape of each matrix",
         MT_ROLE_OPTIM_STATE},
        {FP32 "actor_rollout_ref.actor.optim.optimizer=adam_bf16", "this optimizer's state",
         MT_ROLE_OPTIM_STATE},
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

/* ---- optimizers, adapters, experts ---- */

static struct found trained(const char *args) { return look(training(256 * MIB, 1), args, 0); }

/* What a setting makes of P parameters of 4 bytes. Adafactor keeps rows + columns: 2 layers x (4 x
 * (1024 + 1024) + 3 x (1024 + 4096) + two norms of 1024), the last norm, 2 x (32000 + 1024). Muon:
 * one tensor for 2 x (4 x 1024 x 1024 + 3 x 1024 x 4096), two for the rest. */
MT_TEST(optimizers)
{
    enum {
        FACTORS = 2 * (4 * 2048 + 3 * 5120 + 2048) + 1024 + 2 * 33024,
        HIDDEN = 2 * (4 * 1024 * 1024 + 3 * 1024 * 4096)
    };
    static const struct {
        const char *name;
        uint64_t bytes;
        bool at_most;
    } cases[] = {{"AdamW", PARAMS * 8, false},
                 {"AdamW amsgrad=True", PARAMS * 12, false},
                 {"Lion", PARAMS * 4, false},
                 {"SGD", PARAMS * 4, true},
                 {"SGD momentum=0.9", PARAMS * 4, false},
                 {"SGD momentum=0", 0, false},
                 {"Adagrad", PARAMS * 4, false},
                 {"RMSprop", PARAMS * 12, true},
                 /* a scale of 4 bytes for each 256, of each moment */
                 {"AdamW8bit", PARAMS * 2 + PARAMS / 32, false},
                 {"lion_8bit", PARAMS + PARAMS / 64, false},
                 {"AdamW4bit", PARAMS + PARAMS / 16, false}, /* a scale for each 128 */
                 {"paged_adamw_8bit", 0, true},
                 {"adafactor", FACTORS * UINT64_C(4), false},
                 {"Muon", HIDDEN * UINT64_C(4) + (PARAMS - HIDDEN) * 8, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[1024];
        struct found f;
        const struct mt_expect *o;
        (void)snprintf(args, sizeof args, "%s actor_rollout_ref.actor.optim.optimizer=%s",
                       SHAPE FP32, cases[i].name);
        f = trained(args);
        o = of(&f, MT_ROLE_OPTIM_STATE);
        MT_ASSERT(o != NULL);
        if (!o->known || o->bytes != cases[i].bytes || o->at_most != cases[i].at_most)
            MT_FAIL_AT("%s: %llu, not %llu: %s", cases[i].name, (unsigned long long)o->bytes,
                       (unsigned long long)cases[i].bytes, o->text);
        done(&f);
    }
}

/* Rank 8 on every linear layer: 8 x (in + out) each, 4 bytes of a parameter; 2 layers of 4 x (1024
 * + 1024) + 3 x (1024 + 4096). */
MT_TEST(adapters_alone)
{
    const uint64_t all = UINT64_C(8) * 2 * (4 * 2048 + 3 * 5120) * 4,
                   two = UINT64_C(8) * 2 * (2 * 2048) * 4;
    struct found f = trained(SHAPE FP32 "actor_rollout_ref.model.lora_rank=8");
    const struct mt_expect *p = of(&f, MT_ROLE_PARAM), *g = of(&f, MT_ROLE_GRAD),
                           *o = of(&f, MT_ROLE_OPTIM_STATE);
    MT_ASSERT(p != NULL && g != NULL && o != NULL);
    MT_CHECK(p->known && p->at_most);
    MT_CHECK_EQ(p->bytes, PARAMS * 4 + all);
    MT_CHECK(g->known && g->at_most && g->more); /* the trace trains all of it */
    MT_CHECK_EQ(g->bytes, all);
    MT_CHECK_EQ(o->bytes, 2 * all);
    MT_CHECK_HAS(g->text, "LoRA's adapters");
    done(&f);
    f = trained(SHAPE FP32 "actor_rollout_ref.model.lora_rank=8 "
                           "actor_rollout_ref.model.target_modules=[q_proj,v_proj]");
    g = of(&f, MT_ROLE_GRAD);
    MT_ASSERT(g != NULL);
    MT_CHECK_EQ(g->bytes, two);
    done(&f);
    /* more bytes than 64 bits hold */
    f = trained(SHAPE FP32 "actor_rollout_ref.model.lora_rank=900000000000000");
    g = of(&f, MT_ROLE_GRAD);
    MT_ASSERT(g != NULL);
    MT_CHECK(!g->known);
    MT_CHECK_HAS(g->text, "888.18 PiB");
    done(&f);
}

/* Each expert's three linear layers, the router; latent attention's five, the shared expert. */
MT_TEST(adapters_of_experts_and_latent_attention)
{
    static const struct {
        const char *args;
        uint64_t params;
    } cases[] = {
        {"model_type=mixtral num_local_experts=8",
         UINT64_C(8) * 2 * (4 * 2048 + 8 * 3 * 5120 + 1032)},
        {"model_type=qwen3_moe num_experts=16 moe_intermediate_size=768 "
         "actor_rollout_ref.model.target_modules=[q_proj,up_proj]",
         UINT64_C(8) * 2 * (2048 + 16 * (1024 + 768))},
        {"model_type=qwen3_moe num_experts=16 moe_intermediate_size=768 "
         "actor_rollout_ref.model.target_modules=[k_proj,o_proj]",
         UINT64_C(8) * 2 * (2 * 2048)},
        /* the first layer dense; q 1024 -> 256 -> 16 x 96, keys and values 1024 -> 160, 128 -> 16 x
           128, out 1024 -> 1024 */
        {"model_type=deepseek_v3 n_routed_experts=16 moe_intermediate_size=768 n_shared_experts=1 "
         "first_k_dense_replace=1 "
         "q_lora_rank=256 kv_lora_rank=128 qk_nope_head_dim=64 qk_rope_head_dim=32 v_head_dim=64",
         UINT64_C(8) * (2 * (1280 + 256 + 1536 + 1184 + 128 + 2048 + 2048) + 3 * 5120 +
                        17 * 3 * 1792 + 1040 + 1025)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[1024];
        struct found f;
        const struct mt_expect *g;
        (void)snprintf(args, sizeof args, "%s actor_rollout_ref.model.lora_rank=8 %s", SHAPE FP32,
                       cases[i].args);
        f = trained(args);
        g = of(&f, MT_ROLE_GRAD);
        MT_ASSERT(g != NULL);
        if (!g->known || !g->at_most || g->bytes != cases[i].params * 4)
            MT_FAIL_AT("%s: %llu, not %llu: %s", cases[i].args, (unsigned long long)g->bytes,
                       (unsigned long long)cases[i].params * 4, g->text);
        done(&f);
    }
}

/* FSDP2's offload to the host leaves neither gradients nor states on the card. */
MT_TEST(all_of_it_on_the_host)
{
    struct found f = trained(SHAPE FP32 "actor_rollout_ref.actor.fsdp_config.offload_policy=True");
    const struct mt_expect *g = of(&f, MT_ROLE_GRAD), *o = of(&f, MT_ROLE_OPTIM_STATE);
    MT_ASSERT(g != NULL && o != NULL);
    MT_CHECK(g->known && g->bytes == 0 && g->more && o->known && o->bytes == 0 && o->more);
    MT_CHECK_HAS(o->text, "FSDP is set to keep the optimizer on the host");
    done(&f);
}

/* Layers of 4 x 1024 x 1024 (attention) and two norms; embedding, head and last norm. */
#define ENDS (2 * UINT64_C(32000) * 1024 + 1024)
#define ATTENTION (UINT64_C(4) * 1024 * 1024 + 2 * 1024)

MT_TEST(experts_by_family)
{
    static const struct {
        const char *args;
        uint64_t params;
    } cases[] = {
        /* 8 experts as wide as the MLP, a router */
        {"model_type=mixtral num_local_experts=8",
         ENDS + 2 * (ATTENTION + 8 * 1024 + UINT64_C(8) * 3 * 1024 * 4096)},
        {"model_type=qwen3_moe num_experts=16 moe_intermediate_size=768",
         ENDS + 2 * (ATTENTION + 16 * 1024 + UINT64_C(16) * 3 * 1024 * 768)},
        /* and a shared one with its gate */
        {"model_type=qwen2_moe num_experts=16 moe_intermediate_size=768 "
         "shared_expert_intermediate_size=2048",
         ENDS +
             2 * (ATTENTION + 16 * 1024 + 1024 + 3 * 1024 * 2048 + UINT64_C(16) * 3 * 1024 * 768)},
        /* the first layer dense, two shared ones */
        {"model_type=glm4_moe n_routed_experts=16 moe_intermediate_size=768 n_shared_experts=2 "
         "first_k_dense_replace=1",
         ENDS + 2 * ATTENTION + 3 * 1024 * 4096 + 16 * 1024 + 3 * 1024 * 1536 +
             UINT64_C(16) * 3 * 1024 * 768},
        /* latent attention: down 1024 x 256, its norm, up 256 x 16 x (64 + 32); 1024 x (128 + 32),
           norm, 128 x 16 x (64 + 64); out */
        {"model_type=deepseek_v3 n_routed_experts=16 moe_intermediate_size=768 n_shared_experts=1 "
         "first_k_dense_replace=1 "
         "q_lora_rank=256 kv_lora_rank=128 qk_nope_head_dim=64 qk_rope_head_dim=32 v_head_dim=64",
         ENDS +
             UINT64_C(2) * (1024 * 256 + 256 + 256 * 16 * 96 + 1024 * 160 + 128 + 128 * 16 * 128 +
                            1024 * 1024 + 2048) +
             3 * 1024 * 4096 + 16 * 1024 + 3 * 1024 * 768 + UINT64_C(16) * 3 * 1024 * 768},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[1024];
        struct found f;
        const struct mt_expect *p;
        (void)snprintf(args, sizeof args, "%s %s", SHAPE FP32, cases[i].args);
        f = trained(args);
        p = of(&f, MT_ROLE_PARAM);
        MT_ASSERT(p != NULL);
        if (!p->known || p->bytes != cases[i].params * 4)
            MT_FAIL_AT("%s: %llu, not %llu: %s", cases[i].args, (unsigned long long)p->bytes,
                       (unsigned long long)cases[i].params * 4, p->text);
        done(&f);
    }
}

/* ---- DeepSpeed, Megatron ---- */

/* The same steps with frames of another trainer. */
static struct heap *training_in(const char *frame)
{
    struct heap *h = training(256 * MIB, 1);
    heap_free(h, heap_alloc(h, 4096, frame));
    return h;
}
#define ZERO12 "deepspeed/runtime/zero/stage_1_and_2.py:10:step|" ACTOR
#define ZERO3 "deepspeed/runtime/zero/stage3.py:10:step|" ACTOR
#define MEGATRON "megatron/core/distributed/param_and_grad_buffer.py:10:__init__|" ACTOR

/* Of P parameters over 8 ranks: 2 bytes of a parameter and of a gradient, 12 of the 32-bit copy and
 * two moments. */
MT_TEST(deepspeed_by_stage)
{
    static const struct {
        const char *args, *frame;
        uint64_t params, grads, states;
    } cases[] = {
        {"bf16.enabled=true zero_optimization.stage=1 WORLD_SIZE=8", ZERO12, PARAMS * 2, PARAMS * 2,
         PARAMS * 12 / 8},
        {"bf16.enabled=true zero_optimization.stage=2 WORLD_SIZE=8", ZERO12, PARAMS * 2,
         PARAMS * 2 / 8, PARAMS * 12 / 8},
        {"bf16.enabled=true zero_optimization.stage=3 WORLD_SIZE=8", ZERO3, PARAMS * 2 / 8,
         PARAMS * 2 / 8, PARAMS * 12 / 8},
        /* the frames name the stage */
        {"WORLD_SIZE=8 --bf16", ZERO3, PARAMS * 2 / 8, PARAMS * 2 / 8, PARAMS * 12 / 8},
        {"fp16.enabled=true zero_optimization.stage=2 data_types.grad_accum_dtype=fp32 "
         "WORLD_SIZE=4",
         ZERO12, PARAMS * 2, PARAMS * 4 / 4, PARAMS * 12 / 4},
        {"bf16.enabled=false fp16.enabled=false zero_optimization.stage=2 WORLD_SIZE=4", ZERO12,
         PARAMS * 4, PARAMS * 4 / 4, PARAMS * 12 / 4},
        {"bf16.enabled=true zero_optimization.stage=1 WORLD_SIZE=8 optimizer.type=Lion", ZERO12,
         PARAMS * 2, PARAMS * 2, PARAMS * 8 / 8},
        {"bf16.enabled=true zero_optimization.stage=3 "
         "zero_optimization.offload_optimizer.device=cpu WORLD_SIZE=8",
         ZERO3, PARAMS * 2 / 8, 0, 0},
        {"bf16.enabled=true zero_optimization.stage=3 "
         "zero_optimization.offload_optimizer.device=cpu WORLD_SIZE=8 "
         "zero_optimization.offload_optimizer.ratio=0.75",
         ZERO3, PARAMS * 2 / 8, PARAMS * 2 / 8 / 4, PARAMS * 12 / 8 / 4},
        /* without ZeRO nothing is divided; in 32 bits there is no copy */
        {"bf16.enabled=true zero_optimization.stage=0 WORLD_SIZE=8", ZERO12, PARAMS * 2, PARAMS * 2,
         PARAMS * 12},
        {"bf16.enabled=false fp16.enabled=false zero_optimization.stage=0", ZERO12, PARAMS * 4,
         PARAMS * 4, PARAMS * 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[1024];
        struct found f;
        const struct mt_expect *p, *g, *o;
        (void)snprintf(args, sizeof args, "%s %s", SHAPE, cases[i].args);
        f = look(training_in(cases[i].frame), args, 0);
        p = of(&f, MT_ROLE_PARAM);
        g = of(&f, MT_ROLE_GRAD);
        o = of(&f, MT_ROLE_OPTIM_STATE);
        MT_ASSERT(p != NULL && g != NULL && o != NULL);
        if (!p->known || !g->known || !o->known || p->bytes != cases[i].params ||
            g->bytes != cases[i].grads || o->bytes != cases[i].states)
            MT_FAIL_AT("%s: %llu %llu %llu: %s; %s; %s", cases[i].args,
                       (unsigned long long)p->bytes, (unsigned long long)g->bytes,
                       (unsigned long long)o->bytes, p->text, g->text, o->text);
        done(&f);
    }
}

MT_TEST(deepspeed_says_what_is_missing)
{
    static const struct {
        const char *args, *frame, *words;
        enum mt_role role;
    } cases[] = {
        {SHAPE "bf16.enabled=true WORLD_SIZE=8", ZERO12, "ZeRO's stage is not among the settings",
         MT_ROLE_PARAM},
        {SHAPE "zero_optimization.stage=2 WORLD_SIZE=8", ZERO12, "type of the parameters",
         MT_ROLE_PARAM},
        {"zero_optimization.stage=2 WORLD_SIZE=8", ZERO12, "trains in 16 bits", MT_ROLE_GRAD},
        {SHAPE "bf16.enabled=true zero_optimization.stage=0 data_types.grad_accum_dtype=fp32",
         ZERO12, "depends on its version", MT_ROLE_GRAD},
        {"bf16.enabled=true zero_optimization.stage=2", ZERO12, "over how many ranks ZeRO divides",
         MT_ROLE_GRAD},
        {"bf16.enabled=true zero_optimization.stage=1", ZERO12, "over how many ranks ZeRO divides",
         MT_ROLE_OPTIM_STATE},
        {"bf16.enabled=true zero_optimization.stage=1 WORLD_SIZE=8 optimizer.type=muon", ZERO12,
         "this optimizer's state", MT_ROLE_OPTIM_STATE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct found f = look(training_in(cases[i].frame), cases[i].args, 0);
        const struct mt_expect *e = of(&f, cases[i].role);
        MT_ASSERT(e != NULL);
        MT_CHECK(!e->known);
        MT_CHECK_HAS(e->text, cases[i].words);
        done(&f);
    }
}

#define MLP (UINT64_C(3) * 1024 * 4096)
#define EMBEDDING (UINT64_C(32000) * 1024)
#define FLAGS                                                                                      \
    "--num-layers 8 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 16 "           \
    "--vocab-size 32000 --swiglu "                                                                 \
    "--untie-embeddings-and-output-weights --use-distributed-optimizer "

/* 8 layers on 4 stages of 16 ranks (tensor parallel 2, so 2 data-parallel ranks): the first has the
 * embedding, the last head and norm. */
MT_TEST(pipeline_stages)
{
    static const char args[] =
        FLAGS "--pipeline-model-parallel-size 4 --tensor-model-parallel-size 2 WORLD_SIZE=16 ";
    static const struct {
        const char *more;
        int32_t rank;
        uint64_t params; /* before tensor parallel */
        bool known;
    } cases[] = {
        {"", 0, 2 * (ATTENTION + MLP) + EMBEDDING, true},
        {"", 3, 2 * (ATTENTION + MLP) + EMBEDDING, true},
        {"", 4, 2 * (ATTENTION + MLP), true},
        {"", 15, 2 * (ATTENTION + MLP) + EMBEDDING + 1024, true},
        {"", -1, 0, false}, /* no name says the rank */
        {"--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 1", 0,
         ATTENTION + MLP + EMBEDDING, true},
        {"--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 1", 8,
         3 * (ATTENTION + MLP), true},
        {"--decoder-first-pipeline-num-layers 1", 0, 0, false}, /* 7 layers on 3 stages */
        {"--pipeline-model-parallel-layout Et*3|t*3|tL", 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char all[1024];
        struct found f;
        const struct mt_expect *p, *g, *o;
        uint64_t bytes = cases[i].params / 2 * 2; /* 16 bits, half of the tensors */
        (void)snprintf(all, sizeof all, "%s%s", args, cases[i].more);
        f = look_at(training_in(MEGATRON), all, 0, cases[i].rank);
        p = of(&f, MT_ROLE_PARAM);
        g = of(&f, MT_ROLE_GRAD);
        o = of(&f, MT_ROLE_OPTIM_STATE);
        MT_ASSERT(p != NULL && g != NULL && o != NULL);
        if (p->known != cases[i].known || p->bytes != bytes ||
            (p->known && (g->bytes != 2 * bytes || o->bytes != 6 * bytes / 2)))
            MT_FAIL_AT("rank %d %s: %llu, not %llu: %s", (int)cases[i].rank, cases[i].more,
                       (unsigned long long)p->bytes, (unsigned long long)bytes, p->text);
        done(&f);
    }
}

/* 16 ranks, tensor parallel 2: dense parameters are divided over 8 data-parallel ranks. Experts
 * over 4 (and 2 by tensor parallel): 2 ranks have the same ones. */
MT_TEST(experts_over_ranks)
{
    const uint64_t dense = 8 * (ATTENTION + 16 * 1024) + 2 * EMBEDDING + 1024,
                   experts = UINT64_C(8) * 16 * 3 * 1024 * 768;
    struct found f = look_at(
        training_in(MEGATRON),
        FLAGS "--num-experts 16 --moe-ffn-hidden-size 768 --expert-model-parallel-size 4 "
              "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 WORLD_SIZE=16",
        0, -1);
    const struct mt_expect *p = of(&f, MT_ROLE_PARAM), *g = of(&f, MT_ROLE_GRAD),
                           *o = of(&f, MT_ROLE_OPTIM_STATE);
    MT_ASSERT(p != NULL && g != NULL && o != NULL);
    MT_CHECK_EQ(p->bytes, (dense / 2 + experts / 8) * 2);
    MT_CHECK_EQ(g->bytes, (dense / 2 + experts / 8) * 4);
    MT_CHECK_EQ(o->bytes, 12 * (dense / 2 / 8 + experts / 8 / 2));
    MT_CHECK_HAS(p->text, "of experts / 4 (expert parallel) / 2");
    done(&f);
    f = look_at(training_in(MEGATRON),
                FLAGS
                "--num-experts 16 --moe-ffn-hidden-size 768 --moe-layer-freq [0]*2+[1]*6 "
                "--tensor-model-parallel-size 1 "
                "--expert-model-parallel-size 1 --pipeline-model-parallel-size 1 WORLD_SIZE=1 "
                "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8 "
                "--main-grads-dtype bf16",
                0, -1);
    p = of(&f, MT_ROLE_PARAM);
    g = of(&f, MT_ROLE_GRAD);
    o = of(&f, MT_ROLE_OPTIM_STATE);
    MT_ASSERT(p != NULL && g != NULL && o != NULL);
    MT_CHECK_EQ(p->bytes, (8 * ATTENTION + 2 * MLP +
                           6 * (16 * 1024 + UINT64_C(16) * 3 * 1024 * 768) + 2 * EMBEDDING + 1024) *
                              2);
    MT_CHECK_EQ(g->bytes, p->bytes);
    MT_CHECK_EQ(o->bytes, p->bytes / 2 * 7); /* 4 + 2 + 1 */
    done(&f);
}

#define ONE_STAGE                                                                                  \
    FLAGS "--pipeline-model-parallel-size 1 --tensor-model-parallel-size 2 WORLD_SIZE=16 "
#define ALL8 (8 * (ATTENTION + MLP) + 2 * EMBEDDING + 1024)

/* An MTP layer: a projection of 2 x 1024 to 1024, three norms, one more layer; on the last stage,
 * with a copy of the embedding. */
MT_TEST(layers_that_predict_further_tokens)
{
    const uint64_t one = ATTENTION + MLP + 2 * 1024 * 1024 + 3 * 1024;
    static const char two[] =
        FLAGS "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 WORLD_SIZE=16 ";
    const struct {
        const char *args, *more;
        int32_t rank;
        uint64_t params;
    } cases[] = {
        {ONE_STAGE, "--mtp-num-layers 1", -1, ALL8 + one},
        {ONE_STAGE, "--mtp-num-layers 2", -1, ALL8 + 2 * one},
        {two, "--mtp-num-layers 1", 0, 4 * (ATTENTION + MLP) + EMBEDDING},
        {two, "--mtp-num-layers 1", 15, 4 * (ATTENTION + MLP) + 2 * EMBEDDING + 1024 + one}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char all[1024];
        struct found f;
        const struct mt_expect *p;
        (void)snprintf(all, sizeof all, "%s%s", cases[i].args, cases[i].more);
        f = look_at(training_in(MEGATRON), all, 0, cases[i].rank);
        p = of(&f, MT_ROLE_PARAM);
        MT_ASSERT(p != NULL);
        if (!p->known || p->bytes != cases[i].params)
            MT_FAIL_AT("rank %d %s: %llu, not %llu: %s", (int)cases[i].rank, cases[i].more,
                       (unsigned long long)p->bytes, (unsigned long long)cases[i].params, p->text);
        done(&f);
    }
}

/* 16 ranks, tensor parallel 2: 8 data-parallel ranks. A matrix of a layer: a 32-bit copy and a
 * momentum; embedding, head, norms: Adam. */
MT_TEST(optimizer_of_megatron)
{
    const uint64_t matrices = 8 * (UINT64_C(4) * 1024 * 1024 + MLP) / 2, rest = ALL8 / 2 - matrices,
                   all = ALL8 / 2;
    static const char plain[] =
        "--num-layers 8 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 16 "
        "--vocab-size 32000 --swiglu "
        "--untie-embeddings-and-output-weights --pipeline-model-parallel-size 1 "
        "--tensor-model-parallel-size 2 WORLD_SIZE=16 ";
    const struct {
        const char *args, *more;
        bool at_most;
        uint64_t bytes;
        const char *why; /* NULL = known */
    } cases[] = {
        {plain, "--optimizer muon", false, 8 * matrices + 12 * rest, NULL},
        {plain, "--optimizer dist_muon", true, (8 * matrices + 12 * rest) / 8 + 12 * EMBEDDING / 2,
         NULL},
        {ONE_STAGE, "--optimizer muon", false, 0, "depends on its version"},
        {plain, "--optimizer muon --optimizer-cpu-offload", false, 0, NULL},
        {ONE_STAGE, "--optimizer adam --optimizer-cpu-offload", true, 0, NULL},
        {ONE_STAGE, "--optimizer adam --optimizer-cpu-offload --optimizer-offload-fraction 0.75",
         true, 12 * all / 8 / 4, NULL},
        {ONE_STAGE, "--optimizer adam --optimizer-cpu-offload --optimizer-offload-fraction 7",
         false, 0, "how much is not"},
        {ONE_STAGE,
         "actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True",
         false, 0, "how much is not"},
        {ONE_STAGE,
         "actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True "
         "actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=0.5",
         true, 12 * all / 8 / 2, NULL},
        {ONE_STAGE,
         "policy.megatron_cfg.optimizer.use_precision_aware_optimizer=true "
         "policy.megatron_cfg.optimizer.exp_avg_dtype=torch.bfloat16",
         false, 10 * all / 8, NULL},
        {ONE_STAGE, "--use-precision-aware-optimizer --exp-avg-dtype int3", false, 0,
         "a type that is set"},
        {ONE_STAGE, "--optimizer lion", false, 8 * all / 8, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[1024];
        struct found f;
        const struct mt_expect *o;
        (void)snprintf(args, sizeof args, "%s%s", cases[i].args, cases[i].more);
        f = look(training_in(MEGATRON), args, 0);
        o = of(&f, MT_ROLE_OPTIM_STATE);
        MT_ASSERT(o != NULL);
        if (o->known != (cases[i].why == NULL) || o->bytes != cases[i].bytes ||
            (o->bytes != 0 && o->at_most != cases[i].at_most))
            MT_FAIL_AT("%s: %llu, not %llu: %s", cases[i].more, (unsigned long long)o->bytes,
                       (unsigned long long)cases[i].bytes, o->text);
        if (cases[i].why != NULL)
            MT_CHECK_HAS(o->text, cases[i].why);
        done(&f);
    }
}

/* Megatron-Bridge's adapters: 16-bit, on fused projections, divided by tensor parallel in both of
 * their matrices. */
MT_TEST(adapters_of_megatron)
{
    const uint64_t attention = UINT64_C(8) * 8 * ((1024 + 3072) + 2048),
                   mlp = UINT64_C(8) * 8 * ((1024 + 8192) + 5120);
    const struct {
        const char *args;
        uint64_t params;
        const char *why;
    } cases[] = {
        {"actor_rollout_ref.model.lora.target_modules=[linear_qkv,linear_proj,linear_fc1,linear_"
         "fc2]",
         attention + mlp, NULL},
        {"actor_rollout_ref.model.lora.target_modules=[linear_qkv,linear_proj]", attention, NULL},
        {"actor_rollout_ref.model.lora.target_modules=all-linear", 0, "the layers named for them"},
        {"actor_rollout_ref.model.lora.target_modules=[linear_fc1] "
         "actor_rollout_ref.model.lora.type=dora",
         0, "of this type"},
        {"actor_rollout_ref.model.lora.target_modules=[linear_fc1] --num-experts 16 "
         "--moe-ffn-hidden-size 768 "
         "--expert-model-parallel-size 4",
         0, "Megatron's of experts"},
        {"", attention + mlp, NULL}, /* verl's default: all four */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[1024];
        struct found f;
        const struct mt_expect *p, *g, *o;
        (void)snprintf(args, sizeof args, "%sactor_rollout_ref.model.lora.rank=8 %s", ONE_STAGE,
                       cases[i].args);
        f = look(training_in(MEGATRON), args, 0);
        p = of(&f, MT_ROLE_PARAM);
        g = of(&f, MT_ROLE_GRAD);
        o = of(&f, MT_ROLE_OPTIM_STATE);
        MT_ASSERT(p != NULL && g != NULL && o != NULL);
        if (cases[i].why != NULL) {
            MT_CHECK(!g->known && !o->known);
            MT_CHECK_HAS(g->text, cases[i].why);
        } else if (p->bytes != ALL8 + cases[i].params || g->bytes != 2 * cases[i].params ||
                   o->bytes != 6 * cases[i].params / 8) {
            MT_FAIL_AT("%s: %llu %llu %llu: %s", cases[i].args, (unsigned long long)p->bytes,
                       (unsigned long long)g->bytes, (unsigned long long)o->bytes, g->text);
        }
        done(&f);
    }
}

/* A job that divides nothing: no factors of one in its formulas. */
MT_TEST(factors_of_one_are_not_said)
{
    struct found f = look(
        training_in(MEGATRON),
        FLAGS
        "--pipeline-model-parallel-size 1 --tensor-model-parallel-size 1 WORLD_SIZE=1 "
        "--num-experts 16 --moe-ffn-hidden-size 768 --expert-model-parallel-size 1 --optimizer sgd",
        0);
    MT_ASSERT(of(&f, MT_ROLE_PARAM) != NULL && of(&f, MT_ROLE_GRAD) != NULL &&
              of(&f, MT_ROLE_OPTIM_STATE) != NULL);
    for (unsigned i = 0; i < 3; i++) {
        static const enum mt_role roles[] = {MT_ROLE_PARAM, MT_ROLE_GRAD, MT_ROLE_OPTIM_STATE};
        const struct mt_expect *e = of(&f, roles[i]);
        if (strstr(e->text, "/ 1") != NULL || strstr(e->text, " 1 x") != NULL || !e->known)
            MT_FAIL_AT("%s", e->text);
    }
    MT_CHECK_HAS(of(&f, MT_ROLE_PARAM)->text, " parameters + 301989888 of experts) x 2 bytes");
    done(&f);
}

static struct heap *engine(uint64_t cache)
{
    struct heap *h = heap_new();
    heap_alloc(h, PARAMS * 2, "vllm/model_executor/layers/linear.py:1:create_weights|" MAIN);
    heap_alloc(h, cache, "vllm/v1/worker/gpu_model_runner.py:5:_allocate_kv_cache_tensors|" MAIN);
    heap_free(h,
              heap_alloc(h, MIB, "vllm/v1/worker/gpu_model_runner.py:7:_dummy_sampler_run|" MAIN));
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
    } cases[] = {
        {SHAPE "--tensor-parallel-size 1 --max-total-tokens 65536", 0, 512 * MIB, true, false},
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
        /* it is there in the trial run after it too */
        MT_CHECK_EQ(e->phase, MT_PH_ROLLOUT_KV_ALLOC);
        MT_CHECK_EQ(e->more, i == 1); /* twice as much as there should be */
        MT_CHECK_EQ(w->known, i < 3); /* the engine's own default is 1 */
        MT_CHECK_EQ(w->bytes, i == 1 ? PARAMS : i < 3 ? PARAMS * 2 : 0);
        done(&f);
    }
}

/* verl moves optimizer state and parameters out between the phases: what is there in a rollout is
 * not expected there. */
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
        MT_CHECK_HAS(e->v.p[i].extra,
                     "of all, 1.00 GiB of workers/fsdp_workers.py:30 update_actor");
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
            struct mt_analyze_opts o = {.phases = rules.phases,
                                        .fixes = rules.fixes,
                                        .only_device = -1,
                                        .framework = -1,
                                        .conf = f.conf};
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

#define SCRIPT "/home/u/train.py:9:<module>"
#define SCRIPT_CALL "/v/site-packages/torch/nn/modules/module.py:1:_call_impl|" SCRIPT

/* A script with a model of its own has no config.json that could be named; of one that a library
 * defines it is said. */
MT_TEST(nothing_is_asked_of_a_script_of_its_own)
{
    for (int library = 0; library < 2; library++) {
        struct heap *h = heap_new();
        unsigned act;
        heap_alloc(h, 512 * MIB, "/v/site-packages/torch/nn/modules/module.py:4:convert|" SCRIPT);
        act = heap_alloc(h, 64 * MIB,
                         library != 0 ? "/v/site-packages/transformers/models/llama/"
                                        "modeling_llama.py:7:forward|" SCRIPT_CALL
                                      : "/home/u/model.py:7:forward|" SCRIPT_CALL);
        heap_alloc(h, 512 * MIB, MM);
        heap_free(h, act);
        {
            struct found f = look(h, "", 0);
            const struct mt_expect *p = of(&f, MT_ROLE_PARAM);
            MT_CHECK((p != NULL) == (library != 0));
            MT_CHECK(p == NULL || !p->known);
            done(&f);
        }
    }
}

MT_TEST(rules_done) { mt_rules_done(&rules); }

MT_MAIN(MT_RUN(rules_load) MT_RUN(by_the_shape_of_the_model) MT_RUN(by_the_measured_parameters)
            MT_RUN(more_than_expected_names_the_bytes) MT_RUN(what_is_missing_is_said) MT_RUN(
                optimizers) MT_RUN(adapters_alone) MT_RUN(adapters_of_experts_and_latent_attention)
                MT_RUN(all_of_it_on_the_host) MT_RUN(experts_by_family) MT_RUN(deepspeed_by_stage)
                    MT_RUN(deepspeed_says_what_is_missing) MT_RUN(pipeline_stages)
                        MT_RUN(experts_over_ranks) MT_RUN(layers_that_predict_further_tokens)
                            MT_RUN(optimizer_of_megatron) MT_RUN(adapters_of_megatron)
                                MT_RUN(factors_of_one_are_not_said) MT_RUN(an_engine)
                                    MT_RUN(moved_out_between_phases)
                                        MT_RUN(a_state_alone_expects_nothing)
                                            MT_RUN(nothing_is_asked_of_a_script_of_its_own)
                                                MT_RUN(out_of_memory_while_multiplying)
                                                    MT_RUN(rules_done))
