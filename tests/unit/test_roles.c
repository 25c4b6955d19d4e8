/* Roles of tensors: each from a trace made for it, every byte in exactly one after every event. */
#include "analysis/metrics/stacks.h"
#include "analysis/roles/rules.h"
#include "role_make.h"

#define STEPS UINT64_C(5)

static void expect_training(struct job *j)
{
    MT_CHECK_EQ(MADE(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, ACTIVATION), STEPS * MICROS * LAYERS * ACT_BYTES);
    MT_CHECK_EQ(MADE(j, LOGITS), STEPS * MICROS * 2 * LOGITS_BYTES);
    /* those that are added to the first are gradients too */
    MT_CHECK_EQ(MADE(j, GRAD), STEPS * MICROS * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_GRAD], (LAYERS + 1) * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, OPTIM_TEMP), STEPS * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, UNKNOWN), 0);
    MT_CHECK_EQ(j->f->n_steps_all, STEPS);
    MT_CHECK_EQ(j->f->n_micros_all, STEPS * MICROS);
    MT_CHECK_EQ(j->f->growth.n, 0);
    MT_CHECK_EQ(j->f->vocab, 32000);
    MT_CHECK_EQ(j->f->logits_tokens, 64);
    CHECK_SUMS(j);
}

static void train(bool empty_backward, bool grads_stay)
{
    struct job *j = job_new();
    struct model m = {.empty_backward = empty_backward, .grads_stay = grads_stay};
    params(j);
    for (uint64_t i = 0; i < STEPS; i++)
        train_step(j, &m);
    MT_CHECK(analyze(j));
    if (j->f != NULL) {
        expect_training(j);
        MT_CHECK_STR(j->f->steps_from, "optimizer phases");
        for (uint32_t i = 0; i < j->f->steps.n; i++) {
            MT_CHECK_EQ(j->f->steps.p[i].n_micros, MICROS);
            MT_CHECK(j->f->steps.p[i].whole == (i != 0));
        }
        for (uint32_t i = 0; i < j->f->micros.n; i++) {
            MT_CHECK(j->f->micros.p[i].has_backward);
            MT_CHECK_EQ(j->f->micros.p[i].tokens_bytes, LOGITS_BYTES);
        }
    }
    job_free(j);
}

MT_TEST(steady_training_has_every_role_and_no_growth) { train(false, false); }
MT_TEST(gradients_without_frames) { train(true, false); }
MT_TEST(gradients_that_stay_are_made_once) { train(false, true); }

MT_TEST(first_step_state_is_no_leak)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    params(j);
    for (int i = 0; i < 4; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK(j->f->steps.p[0].live_end > j->f->steps.p[0].live_begin + LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->growth.n, 0);
    job_free(j);
}

MT_TEST(a_leak_has_its_slope)
{
    struct job *j = job_new();
    struct model m = {.leak = 11 * MIB};
    params(j);
    for (int i = 0; i < 7; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_ASSERT(j->f->growth.n == 1);
    MT_CHECK_STR(j->f->growth.p[0].label, "u/model.py:8 scratch");
    MT_CHECK_EQ((uint64_t)(j->f->growth.p[0].slope + 0.5), 11 * MIB);
    MT_CHECK_EQ(j->f->growth.p[0].conf, MT_CONF_MARKED);
    MT_CHECK(j->f->growth.p[0].r2 > 0.999);
    MT_CHECK_EQ(j->f->growth.p[0].role, MT_ROLE_ACTIVATION);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(recorded_late)
{
    /* Parameters, both moments and a buffer were there before: told apart by the sizes of the
     * gradients. */
    struct job *j = job_new();
    struct model m = {.recorded_late = true};
    for (int i = 0; i < 3 * LAYERS; i++)
        (void)old_block(j, PARAM_BYTES);
    (void)old_block(j, 9 * MIB);
    for (int i = 0; i < 2; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, BEFORE), 9 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(state_that_is_made_anew_every_step)
{
    /* state["m"] = beta * m + ...: the moments of before are freed in the first optimizer step. */
    struct job *j = job_new();
    struct model m = {.recorded_late = true};
    uint64_t state[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        (void)old_block(j, PARAM_BYTES);
        state[i] = old_block(j, PARAM_BYTES);
    }
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < MICROS; k++)
            micro_batch(j, &m, k == 0);
        for (int i = 0; i < LAYERS; i++) {
            uint64_t fresh = put(j, PARAM_BYTES, S_ADAM);
            drop(j, state[i]);
            state[i] = fresh;
        }
        for (int i = 0; i < LAYERS; i++) {
            drop(j, m.grad[i]);
            m.grad[i] = 0;
        }
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 3 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_PARAM], LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_OPTIM_STATE], (LAYERS + 1) * PARAM_BYTES);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_BEFORE], 0);
    MT_CHECK_EQ(j->f->growth.n, 0);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(out_of_memory_in_the_forward_keeps_its_activations)
{
    struct job *j = job_new();
    uint64_t act[LAYERS], grad = 0;
    params(j);
    for (int i = 0; i < LAYERS; i++)
        act[i] = put(j, ACT_BYTES, S_FORWARD);
    bt_event(&j->bt, "oom", 12345, 900 * MIB, S_FORWARD);
    for (int i = 0; i < LAYERS; i++)
        drop(j, act[i]); /* the exception unwinds */
    (void)grad;
    MT_ASSERT(analyze(j));
    MT_CHECK(j->a->devices.p[0].focus_is_oom);
    MT_CHECK_EQ(AT_FOCUS(j, ACTIVATION), LAYERS * ACT_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

#define S_SAVE SITE "torch/distributed/checkpoint/state_dict_saver.py:3:save|" S_UPDATE

/* A full state dict, and a model of which each rank keeps a part. */
MT_TEST(whole_parameters_of_a_checkpoint_and_before_sharding)
{
    struct job *j = job_new();
    uint64_t whole[60];
    for (int i = 0; i < 60; i++)
        whole[i] = put(j, PARAM_BYTES + (uint64_t)(i % 7) * 512, S_INIT);
    (void)put(j, 4 * PARAM_BYTES, S_INIT);
    bt_event(&j->bt, "segment_alloc", 4096, 2 * MIB, S_INIT);
    for (int i = 0; i < 60; i++)
        drop(j, whole[i]);
    for (int i = 0; i < 30; i++)
        whole[i] = put(j, PARAM_BYTES, S_SAVE);
    for (int i = 0; i < 30; i++)
        drop(j, whole[i]);
    bt_event(&j->bt, "segment_free", 4096, 2 * MIB, "");
    MT_ASSERT(analyze(j));
    MT_CHECK(MADE(j, PARAM) >= 64 * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, CHECKPOINT), 30 * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, TEMP), 0);
    CHECK_SUMS(j);
    job_free(j);
}

#define S_LOAD SITE "torch/serialization.py:1471:load" MAIN

/* What is read from a checkpoint and let go is a copy; what stays became the model, and a read that
 * fails leaves copies. */
MT_TEST(what_is_read_from_a_checkpoint)
{
    struct job *j = job_new();
    uint64_t read[8];
    for (int i = 0; i < 8; i++)
        read[i] = put(j, PARAM_BYTES, S_LOAD);
    for (int i = 0; i < 6; i++)
        drop(j, read[i]);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, CHECKPOINT), 6 * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

/* Layers that bring their weights to the device when they are called and let them go for the next:
 * parameters, and one forward pass. */
MT_TEST(weights_that_layers_fetch)
{
    struct job *j = job_new();
    for (int i = 0; i < LAYERS; i++) {
        uint64_t w =
            put(j, PARAM_BYTES,
                SITE "torch/nn/modules/module.py:3:convert|" SITE
                     "torch/nn/modules/module.py:2:_apply|" SITE
                     "torch/nn/modules/module.py:4:to|/home/u/offload.py:9:fetch|" S_CALL MAIN);
        for (int k = 0; k < 12; k++)
            drop(j, put(j, SCRATCH_BYTES, "/home/u/model.py:8:scratch|" S_CALL MAIN));
        drop(j, w);
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, TEMP), LAYERS * 12 * SCRATCH_BYTES);
    MT_CHECK_EQ(j->f->occurrences.n, 1);
    CHECK_SUMS(j);
    job_free(j);
}

/* What is kept by code that runs after the optimizer's step is not its state. */
MT_TEST(what_follows_the_optimizer_is_not_its_state)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    params(j);
    for (int i = 0; i < 3; i++) {
        train_step(j, &m);
        (void)put(j, 11 * MIB, "/home/u/run.py:44:append_metrics|" S_UPDATE);
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, UNKNOWN), 3 * 11 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* A large segment's block keeps a rest of 1 MiB or less; a free block behind it would be larger. */
MT_TEST(rests_of_blocks_serve_nobody)
{
    struct job *j = job_new();
    bt_event(&j->bt, "segment_alloc", 0x40000000, 20 * MIB, S_FORWARD);
    bt_event(&j->bt, "alloc", 0x40000000, 4 * MIB, S_FORWARD);
    bt_event(&j->bt, "alloc", 0x40000000 + 8 * MIB, 11 * MIB, S_FORWARD);
    bt_event(&j->bt, "oom", 12345, 30 * MIB, S_FORWARD);
    bt_segment(&j->bt, 0, 0x40000000, 20 * MIB, "4194304a 4194304i 12582912a", "");
    j->t = bt_done(&j->bt);
    struct mt_analyze_opts o = {
        .phases = j->rules.phases, .fixes = j->rules.fixes, .only_device = -1, .framework = -1};
    struct mt_err err = {.rc = MT_OK};
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) >= 0);
    MT_CHECK(j->a->devices.p[0].focus.holes_known);
    MT_CHECK_EQ(j->a->devices.p[0].focus.n_holes, 2);
    MT_CHECK_EQ(j->a->devices.p[0].focus.free_usable, 4 * MIB);
    job_free(j);
}

/* One block of `size` with this stack among some forward work; what was made of it. */
static uint64_t one(enum mt_role role, uint64_t size, const char *stack, bool stays)
{
    struct job *j = job_new();
    uint64_t b, made = 0;
    params(j);
    drop(j, put(j, ACT_BYTES, S_FORWARD));
    b = put(j, size, stack);
    if (!stays)
        drop(j, b);
    drop(j, put(j, ACT_BYTES, S_BACKWARD));
    drop(j, put(j, PARAM_BYTES, S_ADAM));
    drop(j, put(j, ACT_BYTES, S_FORWARD));
    if (analyze(j)) {
        made = j->f->alloc_bytes[role] - (role == MT_ROLE_PARAM ? LAYERS * PARAM_BYTES : 0) -
               (role == MT_ROLE_OPTIM_TEMP ? PARAM_BYTES : 0);
        CHECK_SUMS(j);
    }
    job_free(j);
    return made;
}
#define IS(role, stack, stays) MT_CHECK_EQ(one(MT_ROLE_##role, 13 * MIB, stack, stays), 13 * MIB)

MT_TEST(roles_by_frames)
{
    IS(UNSHARDED,
       SITE "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:1:foreach_all_gather|" S_CALL
            "|" S_UPDATE,
       false);
    IS(UNSHARDED,
       SITE "torch/distributed/fsdp/_flat_param.py:1:_alloc_padded_unsharded_flat_param|" S_CALL
            "|" S_UPDATE,
       false);
    IS(GRAD_REDUCE,
       SITE "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:2:foreach_reduce|" S_BACKWARD,
       false);
    IS(GRAD,
       SITE "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:2:foreach_reduce|" S_BACKWARD,
       true);
    IS(GRAD_REDUCE, "??:0:c10d::Reducer::initialize_buckets(std::vector<int>)|" S_UPDATE, true);
    IS(GRAD, "??:0:torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)|" S_BACKWARD,
       false);
    IS(RECOMPUTE,
       "/home/u/model.py:7:decoder|" S_CALL "|" SITE
       "torch/utils/checkpoint.py:4:unpack_hook|" S_BACKWARD,
       false);
    IS(COMM, SITE "megatron/core/utils.py:3:get_tensor|" S_CALL "|" S_UPDATE, true);
    IS(OFFLOAD, SITE "verl/utils/activation_offload.py:3:tensor_push|" S_CALL "|" S_UPDATE, false);
    IS(OPTIM_STATE, SITE "verl/utils/fsdp_utils.py:3:load_fsdp_optimizer|" S_UPDATE, true);
    IS(PARAM, SITE "verl/utils/fsdp_utils.py:3:load_fsdp_model_to_gpu|" S_UPDATE, true);
    IS(WEIGHT_SYNC, SITE "verl/workers/fsdp_workers.py:3:rollout_mode" MAIN, false);
    IS(KV_CACHE,
       SITE "vllm/worker/cache_engine.py:83:_allocate_kv_cache|" SITE
            "vllm/worker/worker.py:2:initialize_cache" MAIN,
       true);
    IS(ENGINE_WEIGHTS,
       SITE "vllm/model_executor/layers/linear.py:178:create_weights|" SITE
            "vllm/worker/worker.py:2:load_model" MAIN,
       true);
    IS(GRAPH_POOL, SITE "vllm/v1/worker/gpu_model_runner.py:2:capture_model" MAIN, true);
    IS(WORKSPACE, "??:0:at::cuda::getCurrentCUDABlasHandle()|" S_FORWARD, true);
    IS(GRAD_REDUCE,
       SITE "megatron/core/distributed/param_and_grad_buffer.py:9:start_grad_sync|" S_BACKWARD,
       false);
    IS(OPTIM_TEMP, SITE "torch/nn/utils/clip_grad.py:9:clip_grad_norm_|" S_UPDATE, false);
}

MT_TEST(workspaces_by_size)
{
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 8519680, S_FORWARD, true), 8519680);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 8519680, S_BACKWARD, true), 8519680);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 8519680, S_FORWARD, false), 0);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 33554432, S_FORWARD, true), 33554432);
    /* may as well be a gradient */
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 33554432, S_BACKWARD, true), 0);
    MT_CHECK_EQ(one(MT_ROLE_WORKSPACE, 33554433, S_FORWARD, true), 0);
}

MT_TEST(parameter_and_gradient_buffer_by_the_order_of_lines)
{
#define BUFFER(line)                                                                               \
    SITE "megatron/core/distributed/param_and_grad_buffer.py:" line ":__init__|" S_INIT
    struct job *j = job_new();
    (void)put(j, 3 * MIB, BUFFER("586"));
    (void)put(j, 6 * MIB, BUFFER("592"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), 3 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD), 6 * MIB);
    job_free(j);
    j = job_new();
    /* without a distributed optimizer there is only the gradients' */
    (void)put(j, 6 * MIB, BUFFER("592"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), 0);
    MT_CHECK_EQ(MADE(j, GRAD), 6 * MIB);
    job_free(j);
}

/* The constructor stands in many stacks: only the lines that make the buffers themselves have an
 * order. */
MT_TEST(lines_that_only_call_have_no_order)
{
#define ZERO3(line)                                                                                \
    SITE "deepspeed/runtime/zero/stage3.py:" line ":_setup_for_real_optimizer|" S_INIT
    struct job *j = job_new();
    (void)put(j, 5 * MIB,
              SITE "deepspeed/runtime/zero/stage3.py:1091:_create_fp32_partitions|" ZERO3("640"));
    (void)put(j, 3 * MIB, ZERO3("702"));
    (void)put(j, 6 * MIB, ZERO3("711"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 5 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD_REDUCE), 3 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD), 6 * MIB);
    job_free(j);
}

/* ZeRO 1 and 2: the fp32 master alone, or with a buffer behind it where the optimizer is on the
 * host. */
MT_TEST(beside_a_rule_for_the_function_last_is_the_highest_line_of_several)
{
#define ZERO2(line) SITE "deepspeed/runtime/zero/stage_1_and_2.py:" line ":__init__|" S_INIT
    struct job *j = job_new();
    (void)put(j, 5 * MIB, ZERO2("489"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 5 * MIB);
    job_free(j);
    j = job_new();
    (void)put(j, 5 * MIB, ZERO2("489"));
    (void)put(j, 6 * MIB, ZERO2("588"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, OPTIM_STATE), 5 * MIB);
    MT_CHECK_EQ(MADE(j, GRAD_REDUCE), 6 * MIB);
    job_free(j);
}

MT_TEST(private_pools_are_named_by_their_frames)
{
    struct job *j = job_new();
    uint64_t weights = put(j, 4 * MIB, SITE "vllm/worker/worker.py:2:load_model" MAIN), other, kv;
    other = put(j, MIB, "");
    kv = put(j, 40 * MIB,
             SITE "vllm/worker/cache_engine.py:83:_allocate_kv_cache|" SITE
                  "vllm/worker/worker.py:2:initialize_cache" MAIN);
    (void)put(j, 2 * MIB, "/home/u/run.py:1:<module>");
    /* where the blocks lie is known from the segments of the end state */
    for (unsigned i = 0; i < j->n; i++) {
        char block[32];
        const char *stack = j->live[i].addr == kv ? SITE
                                "vllm/worker/cache_engine.py:83:_allocate_kv_cache"
                            : j->live[i].addr == weights ? SITE "vllm/worker/worker.py:2:load_model"
                                                         : "";
        snprintf(block, sizeof block, "%" PRIu64 "a", j->live[i].size);
        bt_segment(&j->bt, 0, j->live[i].addr, j->live[i].size, block, stack);
    }
    j->n = 0;
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    /* pool ids: written into the sealed trace, as the readers do */
    {
        struct mt_analyze_opts o = {.phases = j->rules.phases,
                                    .fixes = j->rules.fixes,
                                    .only_device = -1,
                                    .framework = -1,
                                    .verify = true};
        struct mt_err err = {.rc = MT_OK};
        j->t = bt_done(&j->bt);
        for (uint32_t i = 0; i < j->t->segments.n; i++) {
            struct mt_segment *s = &j->t->segments.p[i];
            s->pool_known = 1;
            s->pool[1] = s->addr == kv ? 2 : s->addr == weights || s->addr == other ? 1 : 0;
        }
        MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
        j->f = &j->a->devices.p[0].roles;
    }
    MT_CHECK_EQ(j->f->pools.n, 2);
    MT_CHECK_EQ(AT_FOCUS(j, KV_CACHE), 40 * MIB);
    /* with the block in their pool that has no frames */
    MT_CHECK_EQ(AT_FOCUS(j, ENGINE_WEIGHTS), 5 * MIB);
    MT_CHECK_EQ(j->f->why_at_focus[MT_WHY_POOL], 5 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* A trainer that runs inside torch_memory_saver has all it owns in one private pool: frames say
 * which block is what. */
MT_TEST(a_trainers_private_pool_is_for_no_single_purpose)
{
    static const struct {
        const char *stack;
        uint64_t mib;
    } made[] = {
        {SITE "megatron/core/distributed/param_and_grad_buffer.py:664:__init__|" S_INIT, 20},
        {SITE "megatron/core/distributed/param_and_grad_buffer.py:670:__init__|" S_INIT, 40},
        {SITE "megatron/core/optimizer/"
              "distrib_optimizer.py:373:_build_model_and_main_param_groups|" S_INIT,
         40},
        {SITE "megatron/core/optimizer/__init__.py:373:init_state_fn|" S_INIT, 40},
        {SITE "megatron/core/optimizer/__init__.py:374:init_state_fn|" S_INIT, 40},
        {S_INIT, 200}};
    struct mt_err err = {.rc = MT_OK};
    struct job *j = job_new();
    struct mt_analyze_opts o = {.phases = j->rules.phases,
                                .fixes = j->rules.fixes,
                                .only_device = -1,
                                .framework = -1,
                                .verify = true};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char block[32];
        uint64_t addr = put(j, made[i].mib * MIB, made[i].stack);
        snprintf(block, sizeof block, "%" PRIu64 "a", made[i].mib * MIB);
        bt_segment(&j->bt, 0, addr, made[i].mib * MIB, block, made[i].stack);
    }
    j->n = 0;
    j->t = bt_done(&j->bt);
    for (uint32_t i = 0; i < j->t->segments.n; i++) {
        j->t->segments.p[i].pool_known = 1;
        j->t->segments.p[i].pool[1] = 1;
    }
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), 220 * MIB);
    MT_CHECK_EQ(AT_FOCUS(j, GRAD), 40 * MIB);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 120 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* torch_memory_saver: what is larger names the pool. `weights_seen`, `cache_seen`: their allocation
 * is in the trace. */
static void one_pool(bool weights_seen, bool cache_seen)
{
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct job *j = job_new();
    struct mt_err err = {.rc = MT_OK};
    const char *load = SITE "sglang/srt/layers/layernorm.py:4:__init__|" SITE
                            "sglang/srt/model_executor/model_runner.py:5:load_model" MAIN;
    const char *pool = SITE "sglang/srt/mem_cache/memory_pool.py:6:_create_buffers" MAIN;
    uint64_t weights = weights_seen ? put(j, 2 * MIB, load) : 0x30000000,
             kv = cache_seen ? put(j, 8 * MIB, pool) : 0x40000000;
    bt_segment(&j->bt, 0, weights, 2 * MIB, "2097152a", load);
    bt_segment(&j->bt, 0, kv, 8 * MIB, "8388608a", pool);
    j->n = 0;
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    j->t = bt_done(&j->bt);
    for (uint32_t i = 0; i < j->t->segments.n; i++) {
        j->t->segments.p[i].pool_known = 1;
        j->t->segments.p[i].pool[1] = 1;
    }
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_CHECK_EQ(j->f->pools.p[0].role, MT_ROLE_KV_CACHE);
    MT_CHECK_EQ(AT_FOCUS(j, ENGINE_WEIGHTS), 2 * MIB);
    MT_CHECK_EQ(AT_FOCUS(j, KV_CACHE), 8 * MIB);
    if (weights_seen || cache_seen)
        CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(weights_in_the_pool_of_the_cache_are_told_by_their_phase)
{
    one_pool(true, true);
    one_pool(false, true);
    one_pool(false, false); /* a state without history */
}

/* Before PyTorch 2.12 an allocation does not say its pool, and what a capture makes is gone when it
 * ends: its segments stay. */
MT_TEST(the_pool_of_a_graph_is_known_by_its_segments)
{
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct job *j = job_new();
    struct mt_err err = {.rc = MT_OK};
    const char *capture = SITE "sglang/srt/model_executor/cuda_graph_runner.py:5:capture" MAIN;
    uint64_t inputs = put(j, 2 * MIB, capture), inside = put(j, 8 * MIB, capture);
    drop(j, inside);
    bt_segment(&j->bt, 0, inputs, 2 * MIB, "2097152a", capture);
    bt_segment(&j->bt, 0, inside, 8 * MIB, "8388608i", "");
    j->n = 0;
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    j->t = bt_done(&j->bt);
    for (uint32_t i = 0; i < j->t->segments.n; i++) {
        j->t->segments.p[i].pool_known = 1;
        j->t->segments.p[i].pool[1] = j->t->segments.p[i].addr == inside;
    }
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_ASSERT(j->f->pools.n == 1);
    MT_CHECK_EQ(j->f->pools.p[0].role, MT_ROLE_GRAPH_POOL);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_GRAPH_POOL], 10 * MIB);
    MT_CHECK_EQ(mt_graph_segments(&j->a->devices.p[0], NULL), 8 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* What lay at the addresses of a graph's segment before that was made: once from before the trace,
 * once made in it. */
MT_TEST(what_was_there_before_a_pools_segment_is_not_in_it)
{
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct job *j = job_new();
    struct mt_err err = {.rc = MT_OK};
    const char *capture = SITE "sglang/srt/model_executor/cuda_graph_runner.py:5:capture" MAIN;
    const uint64_t size[] = {16 * MIB, 12 * MIB, 8 * MIB}, at = 0x40000000;
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            bt_event(&j->bt, "segment_alloc", at, size[i], capture);
        if (i != 0)
            bt_event(&j->bt, "alloc", at, size[i], i == 1 ? S_FORWARD : capture);
        bt_event(&j->bt, "free_requested", at, size[i], "");
        bt_event(&j->bt, "free_completed", at, size[i], "");
        if (i == 1)
            bt_event(&j->bt, "segment_free", at, size[0], "");
    }
    bt_segment(&j->bt, 0, at, size[2], "8388608i", "");
    mt_build_saw_key(j->bt.b, MT_K_SEGMENTS);
    j->t = bt_done(&j->bt);
    j->t->segments.p[0].pool_known = 1;
    j->t->segments.p[0].pool[1] = 1;
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    MT_ASSERT(mt_analyze(&j->a, j->t, &o, &err) == MT_OK);
    j->f = &j->a->devices.p[0].roles;
    MT_CHECK_EQ(j->f->pools.p[0].role, MT_ROLE_GRAPH_POOL);
    MT_CHECK_EQ(j->f->alloc_bytes[MT_ROLE_GRAPH_POOL], size[2]);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_GRAPH_POOL], size[2]);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(memory_of_no_use_to_the_phase)
{
    struct job *j = job_new();
    struct model m = {.leak = 0};
    params(j);
    train_step(j, &m);
    drop(j, put(j, MIB, SITE "verl/workers/fsdp_workers.py:5:generate_sequences" MAIN));
    MT_ASSERT(analyze(j));
    MT_ASSERT(j->f->occurrences.n == 3);
    MT_CHECK_EQ(j->f->occurrences.p[0].phase, MT_PH_INIT);
    MT_CHECK_EQ(j->f->occurrences.p[0].retained, LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->occurrences.p[1].retained_roles[MT_ROLE_OPTIM_STATE],
                2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->occurrences.p[1].useless, 0);
    MT_CHECK_EQ(j->f->occurrences.p[2].phase, MT_PH_ROLLOUT_GENERATE);
    MT_CHECK_EQ(j->f->occurrences.p[2].useless, 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(j->f->occurrences.p[2].peak, j->f->occurrences.p[2].live_begin + MIB);
    for (uint32_t i = 0; i < 3; i++)
        MT_CHECK_EQ(sum(j->f->occurrences.p[i].peak_roles, MT_ROLE_COUNT),
                    j->f->occurrences.p[i].peak);
    job_free(j);
}

MT_TEST(pending_bytes_have_a_role)
{
    struct job *j = job_new();
    uint64_t act, top;
    params(j);
    act = put(j, ACT_BYTES, S_FORWARD);
    bt_event(&j->bt, "free_requested", act, ACT_BYTES, ""); /* another stream still reads it */
    top = put(j, 50 * MIB, S_FORWARD);
    bt_event(&j->bt, "free_completed", act, ACT_BYTES, "");
    for (unsigned i = 0; i < j->n; i++)
        if (j->live[i].addr == act)
            j->live[i] = j->live[--j->n];
    drop(j, top);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->pending_at_focus[MT_ROLE_ACTIVATION] + j->f->pending_at_focus[MT_ROLE_TEMP],
                ACT_BYTES);
    MT_CHECK_EQ(sum(j->f->pending_at_focus, MT_ROLE_COUNT), j->a->devices.p[0].focus.pending);
    job_free(j);
}

MT_TEST(contradictions_still_add_up)
{
    struct job *j = job_new();
    uint64_t a = put(j, 4 * MIB, S_FORWARD);
    bt_event(&j->bt, "alloc", a, 6 * MIB, S_FORWARD);   /* its free was lost */
    bt_event(&j->bt, "free_completed", a, 5 * MIB, ""); /* of another size */
    bt_event(&j->bt, "free_completed", a, 1 * MIB, "");
    (void)put(j, 3 * MIB, S_FORWARD);
    j->live[0].size = 9 * MIB;
    MT_ASSERT(analyze(j));
    CHECK_SUMS(j);
    job_free(j);
}

/* Any order of any frames: the sums hold, and nothing reads beyond its arrays (the sanitizers
 * look). */
MT_TEST(any_sequence_adds_up)
{
    static const char *const stacks[] = {S_INIT,
                                         S_FORWARD,
                                         S_FORWARD_TEMP,
                                         S_LOSS,
                                         S_BACKWARD,
                                         S_ADAM,
                                         S_ADAM_STATE,
                                         "",
                                         "/home/u/run.py:9:<module>",
                                         SITE
                                         "verl/workers/fsdp_workers.py:5:generate_sequences" MAIN,
                                         SITE "verl/workers/fsdp_workers.py:3:rollout_mode" MAIN};
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 40; round++) {
        struct job *j = job_new();
        for (int i = 0; i < 600; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            if (j->n != 0 && (seed >> 40) % 9 < 4)
                drop(j, j->live[(seed >> 20) % j->n].addr);
            else if ((seed >> 33) % 97 == 0)
                bt_event(&j->bt, "oom", 4096, 77 * MIB, stacks[(seed >> 50) % 11]);
            else
                (void)put(j, 1 + (seed >> 24) % (4 * MIB), stacks[(seed >> 50) % 11]);
        }
        MT_ASSERT(analyze(j));
        CHECK_SUMS(j);
        for (uint32_t i = 0; i < j->f->occurrences.n; i++)
            MT_CHECK_EQ(sum(j->f->occurrences.p[i].peak_roles, MT_ROLE_COUNT),
                        j->f->occurrences.p[i].peak);
        for (uint32_t i = 1; i < j->f->steps.n; i++) {
            MT_CHECK_EQ(j->f->steps.p[i].first, j->f->steps.p[i - 1].last + 1);
            MT_CHECK_EQ(j->f->steps.p[i].live_begin, j->f->steps.p[i - 1].live_end);
        }
        job_free(j);
    }
}

MT_TEST(every_allocation_may_fail)
{
    struct job *j = job_new();
    struct model m = {.leak = 3 * MIB};
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct mt_err err = {.rc = MT_OK};
    uint64_t calls;
    params(j);
    for (int i = 0; i < 5; i++)
        train_step(j, &m);
    MT_ASSERT(analyze(j));
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    mt_analysis_free(j->a);
    calls = mt_mem_calls();
    MT_CHECK_EQ(mt_analyze(&j->a, j->t, &o, &err), MT_OK);
    calls = mt_mem_calls() - calls;
    for (uint64_t n = 1; n <= calls; n += 1 + n / 50) {
        struct mt_analysis *a = NULL;
        mt_mem_fail_after(n);
        MT_CHECK(mt_analyze(&a, j->t, &o, &err) < 0 && a == NULL);
        mt_mem_fail_after(0);
    }
    job_free(j);
}

/* ---- rules ---- */

#define RULE(more)                                                                                 \
    "{\"schema_version\":1,\"roles\":[{\"id\":\"mine\",\"framework\":\"f\",\"role\":\"kv_cache\"," \
    "\"file\":\"u/"                                                                                \
    "model.py\",\"function\":\"decoder\",\"status\":\"G\",\"source\":\"s\"" more "}]}"

static const char *refused(const char *text)
{
    static struct mt_err err;
    struct mt_role_rules *r = NULL;
    memset(&err, 0, sizeof err);
    if (mt_role_rules_load(&r, text, strlen(text), "mine.json", &err) >= 0) {
        mt_role_rules_free(r);
        return "accepted";
    }
    return err.msg;
}

MT_TEST(rule_files_are_read_strictly)
{
    MT_CHECK_STR(refused(RULE("")), "accepted");
    MT_CHECK_STR(refused(RULE(",\"lines\":\"first\",\"note\":\"n\"")), "accepted");
    MT_CHECK_STR(refused("{\"schema_version\":1}"), "accepted");
    MT_CHECK_HAS(refused("{"), "mine.json: line 1, column 1: not valid JSON");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":{}}"), "\"roles\" has to be a list");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":[7]}"), "role rule 1: is not an object");
    MT_CHECK_HAS(refused(RULE(",\"lnes\":\"first\"")), "field \"lnes\": is not known");
    MT_CHECK_HAS(refused(RULE(",\"lines\":\"second\"")),
                 "field \"lines\": \"second\" is not one of first, last");
    MT_CHECK_HAS(refused(RULE(",\"always\":\"yes\"")),
                 "field \"always\": has a meaning for the role grad_reduce only");
    MT_CHECK_STR(
        refused("{\"schema_version\":1,\"roles\":[{\"id\":\"a\",\"framework\":\"f\",\"role\":"
                "\"grad_reduce\",\"file\":"
                "\"a.py\","
                "\"function\":\"f\",\"status\":\"G\",\"source\":\"s\",\"always\":\"yes\"}]}"),
        "accepted");
    MT_CHECK_HAS(refused(RULE(",\"always\":\"no\"")), "field \"always\": has to be \"yes\"");
    MT_CHECK_HAS(refused(RULE(",\"id\":\"b\"")), "field \"id\": is there twice");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":[{\"id\":\"a\",\"framework\":\"f\","
                         "\"role\":\"kv\",\"file\":"
                         "\"a.py\",\"function\":\"f\","
                         "\"status\":\"G\","
                         "\"source\":\"s\"}]}"),
                 "field \"role\": is no role");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"roles\":[{\"id\":\"a\"}]}"),
                 "field \"framework\": is missing");
    MT_CHECK_HAS(
        refused("{\"schema_version\":1,\"vocabularies\":[{\"size\":12,\"source\":\"x\"}]}"),
        "from 1000 to");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"vocabularies\":[{\"size\":1200}]}"),
                 "vocabulary 1: field \"source\": is missing");
    MT_CHECK_HAS(refused("{\"schema_version\":1,\"vocabularies\":[{\"size\":1200,\"source\":\"x\"},"
                         "{\"size\":1200,"
                         "\"source\":\"x\"}]}"),
                 "twice");
}

MT_TEST(an_overlay_changes_a_role)
{
    struct job *j = job_new();
    struct mt_role_rules *r = NULL;
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    struct mt_analysis *a = NULL;
    struct mt_err err = {.rc = MT_OK};
    params(j);
    (void)put(j, ACT_BYTES, S_FORWARD);
    (void)put(j, ACT_BYTES, S_FORWARD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, ACTIVATION), 2 * ACT_BYTES);
    MT_ASSERT(mt_role_rules_load(&r, RULE(""), strlen(RULE("")), "mine.json", &err) >= 0);
    o.phases = j->rules.phases;
    o.fixes = j->rules.fixes;
    o.roles = r;
    MT_ASSERT(mt_analyze(&a, j->t, &o, &err) == MT_OK);
    MT_CHECK_EQ(a->devices.p[0].roles.alloc_bytes[MT_ROLE_KV_CACHE], 2 * ACT_BYTES);
    mt_analysis_free(a);
    mt_role_rules_free(r);
    job_free(j);
}

MT_TEST(ids)
{
    for (int i = 0; i < MT_ROLE_COUNT; i++) {
        const char *id = mt_role_id((enum mt_role)i);
        MT_CHECK_EQ(mt_role_find(id, strlen(id)), i);
        MT_CHECK(mt_role_words((enum mt_role)i)[0] != '\0');
    }
    MT_CHECK_EQ(mt_role_find("kv", 2), -1);
    for (int i = 0; i < MT_LIFE_COUNT; i++)
        MT_CHECK(mt_life_id((enum mt_life)i)[0] != '\0');
    for (int i = 0; i < MT_WHY_COUNT; i++)
        MT_CHECK(mt_role_why_id((enum mt_role_why)i)[0] != '\0');
}

MT_MAIN(
    MT_RUN(steady_training_has_every_role_and_no_growth) MT_RUN(gradients_without_frames)
        MT_RUN(gradients_that_stay_are_made_once) MT_RUN(first_step_state_is_no_leak) MT_RUN(
            a_leak_has_its_slope) MT_RUN(recorded_late) MT_RUN(state_that_is_made_anew_every_step)
            MT_RUN(out_of_memory_in_the_forward_keeps_its_activations)
                MT_RUN(whole_parameters_of_a_checkpoint_and_before_sharding) MT_RUN(
                    what_is_read_from_a_checkpoint) MT_RUN(weights_that_layers_fetch)
                    MT_RUN(what_follows_the_optimizer_is_not_its_state) MT_RUN(
                        rests_of_blocks_serve_nobody) MT_RUN(roles_by_frames)
                        MT_RUN(workspaces_by_size) MT_RUN(
                            parameter_and_gradient_buffer_by_the_order_of_lines)
                            MT_RUN(lines_that_only_call_have_no_order) MT_RUN(
                                beside_a_rule_for_the_function_last_is_the_highest_line_of_several)
                                MT_RUN(private_pools_are_named_by_their_frames)
                                    MT_RUN(a_trainers_private_pool_is_for_no_single_purpose) MT_RUN(
                                        weights_in_the_pool_of_the_cache_are_told_by_their_phase)
                                        MT_RUN(the_pool_of_a_graph_is_known_by_its_segments) MT_RUN(
                                            what_was_there_before_a_pools_segment_is_not_in_it)
                                            MT_RUN(memory_of_no_use_to_the_phase)
                                                MT_RUN(pending_bytes_have_a_role)
                                                    MT_RUN(contradictions_still_add_up)
                                                        MT_RUN(any_sequence_adds_up) MT_RUN(
                                                            every_allocation_may_fail)
                                                            MT_RUN(rule_files_are_read_strictly)
                                                                MT_RUN(an_overlay_changes_a_role)
                                                                    MT_RUN(ids))
