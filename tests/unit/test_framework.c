/* Which framework a trace comes from. */
#include "analysis/setup/framework.h"
#include "load.h"
#include "mt_test.h"
#include "parser/model/builder.h"
#include "frameworks.h"

#include <time.h>

/* Frames "file:function", separated by '|', innermost first; '||' ends a stack. */
static struct mt_frameworks detect(const char *frames)
{
    static const struct mt_limits limits = MT_LIMITS_DEFAULT;
    struct mt_frameworks fw;
    struct mt_trace *t = mt_trace_new();
    struct mt_builder *b = mt_builder_new(t, &limits);
    mt_frame_id stack[16];
    mt_stack_id unused;
    uint32_t depth = 0;
    if (b == NULL)
        abort();
    while (*frames != '\0') {
        size_t len = strcspn(frames, "|"), file = len;
        mt_str_id name, path;
        mt_frame_id id;
        while (frames[file] != ':' || (file > 0 && frames[file - 1] == ':') ||
               frames[file + 1] == ':')
            file--;
        if (!mt_build_str(b, frames + file + 1, len - file - 1, &name) ||
            !mt_build_str(b, frames, file, &path) || !mt_build_frame(b, name, path, 1, &id) ||
            depth == sizeof stack / sizeof *stack)
            abort();
        stack[depth++] = id;
        frames += len + (frames[len] == '|');
        if (*frames == '|' || *frames == '\0') {
            if (!mt_build_stack(b, stack, depth, &unused))
                abort();
            depth = 0;
            frames += *frames == '|';
        }
    }
    if (!mt_build_finish(b))
        abort();
    MT_CHECK(mt_frameworks_detect(mt_test_frameworks(), t, &fw));
    mt_builder_free(b);
    mt_trace_free(t);
    return fw;
}

static const char *main_of(const char *frames)
{
    return mt_framework_at(mt_test_frameworks(), detect(frames).main)->id;
}
static const char *engine_of(const char *frames)
{
    return mt_framework_at(mt_test_frameworks(), detect(frames).engine)->id;
}
#define HAS(fw, part) (((fw).parts & (part)) != 0)

MT_TEST(every_framework_has_a_name)
{
    const struct mt_framework_rules *r = mt_test_frameworks();
    for (int i = 0; i < mt_framework_count(r); i++) {
        MT_CHECK_EQ(mt_framework_find(r, mt_framework_at(r, i)->id), i);
        MT_CHECK(mt_framework_at(r, i)->words[0] != '\0');
    }
    MT_CHECK_STR(mt_framework_at(r, FW(nemorl))->words, "NeMo-RL");
    MT_CHECK_STR(mt_framework_at(r, FW(swift))->words, "ms-swift");
    MT_CHECK_STR(mt_framework_at(r, MT_FW_NONE)->words, "plain PyTorch");
    MT_CHECK(mt_framework_is_rl(r, FW(verl)) && mt_framework_is_rl(r, FW(swift)) &&
             !mt_framework_is_rl(r, FW(megatron)) && !mt_framework_is_rl(r, MT_FW_NONE));
    MT_CHECK(mt_framework_is_main(r, FW(vllm)) && mt_framework_is_main(r, MT_FW_NONE) &&
             !mt_framework_is_main(r, FW(fsdp)) && !mt_framework_is_main(r, FW(pytorch)));
    MT_CHECK_EQ(mt_framework_find(r, "Verl"), -1);
    MT_CHECK_EQ(mt_framework_find(r, ""), -1);
}

MT_TEST(packages_and_checkouts)
{
    MT_CHECK_STR(main_of("/usr/lib/python3.11/site-packages/verl/trainer/main_ppo.py:run"), "verl");
    MT_CHECK_STR(main_of("/w/verl/verl/workers/fsdp_workers.py:init_model"), "verl");
    MT_CHECK_STR(main_of("/w/AReaL/areal/engine/fsdp_engine.py:train_batch"), "areal");
    MT_CHECK_STR(main_of("/w/slime/slime/backends/megatron_utils/actor.py:train|/w/Megatron-LM/"
                         "megatron/core/utils.py:f"),
                 "slime");
    MT_CHECK_STR(main_of("/w/Relax/relax/backends/megatron/actor.py:train"), "relax");
    MT_CHECK_STR(main_of("/v/dist-packages/openrlhf/cli/train_ppo_ray.py:train"), "openrlhf");
    MT_CHECK_STR(main_of("/v/site-packages/trl/trainer/grpo_trainer.py:_generate|/v/site-packages/"
                         "transformers/trainer.py:train"),
                 "trl");
    MT_CHECK_STR(
        main_of("/opt/nemo-rl/nemo_rl/models/policy/workers/dtensor_policy_worker_v2.py:train"),
        "nemorl");
    MT_CHECK_STR(main_of("/w/SkyRL/skyrl/backends/skyrl_train/workers/worker.py:forward_backward"),
                 "skyrl");
    /* before 2026 */
    MT_CHECK_STR(main_of("/w/SkyRL/skyrl-train/skyrl_train/workers/worker.py:ppo_train"), "skyrl");
    MT_CHECK_STR(main_of("/w/ROLL/roll/pipeline/base_worker.py:train_step"), "roll");
    MT_CHECK_STR(main_of("/w/prime-rl/src/prime_rl/trainer/rl/train.py:train"), "prime_rl");
    /* an egg is a folder around the package; a checkout has no site-packages */
    MT_CHECK_STR(main_of("/v/site-packages/trl-0.9-py3.8.egg/trl/trainer/dpo_trainer.py:a"), "trl");
    MT_CHECK_STR(main_of("/home/me/checkout/swift/cli/sft.py:main"), "swift");
    MT_CHECK_STR(main_of("/v/site-packages/swift/rlhf_trainers/grpo_trainer.py:training_step"),
                 "swift");
    /* 3.x */
    MT_CHECK_STR(main_of("/w/ms-swift/swift/trainers/rlhf_trainer/grpo_trainer.py:training_step"),
                 "swift");
    /* its trainers are TRL's with more: whoever has more frames, it is ms-swift */
    MT_CHECK_STR(main_of("/v/site-packages/trl/trainer/dpo_trainer.py:a|/v/site-packages/trl/"
                         "trainer/dpo_trainer.py:b|"
                         "/v/site-packages/swift/trainers/mixin.py:train|/v/site-packages/"
                         "transformers/trainer.py:train"),
                 "swift");
    MT_CHECK_STR(main_of("C:\\py\\Lib\\site-packages\\transformers\\trainer.py:train"),
                 "transformers");
    MT_CHECK_STR(main_of("/w/torchtitan/torchtitan/train.py:train_step"), "torchtitan");
    MT_CHECK_STR(main_of("/v/site-packages/pytorch_lightning/loops/fit_loop.py:run|/v/"
                         "site-packages/deepspeed/runtime/engine.py:step"),
                 "lightning");
    MT_CHECK_STR(engine_of("/v/site-packages/vllm/v1/worker/gpu_worker.py:load_model"), "vllm");
    MT_CHECK_STR(engine_of("/v/site-packages/nanovllm/engine/model_runner.py:allocate_kv_cache"),
                 "nanovllm");
    MT_CHECK_STR(engine_of("/w/mini-sglang/python/minisgl/engine/engine.py:forward_batch"),
                 "minisgl");
    MT_CHECK_STR(
        engine_of("/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py:run_batch"),
        "sglang");
    MT_CHECK_STR(main_of("/v/site-packages/vllm/v1/worker/gpu_worker.py:load_model"), "none");
}

#define LF "/root/LLaMA-Factory/src/llamafactory/"
#define TRL                                                                                        \
    "/v/site-packages/trl/trainer/dpo_trainer.py:compute_loss|/v/site-packages/transformers/"      \
    "trainer.py:training_step"
MT_TEST(programs_that_drive_trainers)
{
    struct mt_frameworks fw = detect(TRL "|" LF "train/tuner.py:run_exp");
    MT_CHECK_EQ(fw.main, FW(llamafactory));
    MT_CHECK_EQ(fw.frames[FW(trl)], 1);
    MT_CHECK_STR(main_of(TRL "|/v/site-packages/axolotl/train.py:execute_training"), "axolotl");
    MT_CHECK_STR(main_of(TRL), "trl");
    /* its newer trainers have other settings, and drive none of the others' */
    MT_CHECK_STR(main_of(LF "v1/core/base_trainer.py:fit"), "none");
    MT_CHECK_STR(main_of("/content/unsloth_compiled_cache/UnslothGRPOTrainer.py:compute_loss|" TRL),
                 "unsloth");
    MT_CHECK_STR(main_of(TRL "|/v/site-packages/unsloth/models/llama.py:forward|" LF
                             "train/tuner.py:run_exp"),
                 "llamafactory");
    /* what is driven does not count, however many frames it has */
    MT_CHECK_STR(main_of("/a/verl/workers/a.py:f|/v/site-packages/trl/x.py:f|/v/site-packages/trl/"
                         "y.py:f|/v/site-packages/unsloth/models/llama.py:forward"),
                 "verl");
    /* those of reinforcement learning stay what they are */
    MT_CHECK_STR(main_of("/a/verl/workers/a.py:f|/v/site-packages/axolotl/x.py:f"), "verl");
    /* modules in a loop of one's own, and a recipe */
    MT_CHECK_STR(
        main_of("/v/site-packages/torchtune/modules/transformer.py:forward|/w/mine.py:main"),
        "none");
    MT_CHECK_EQ(
        detect("/v/site-packages/torchtune/modules/transformer.py:forward").frames[FW(torchtune)],
        1);
    MT_CHECK_STR(
        main_of("/v/site-packages/torchtune/modules/transformer.py:forward|/w/my_recipe.py:train|"
                "/v/site-packages/torchtune/config/_parse.py:wrapper"),
        "torchtune");
    MT_CHECK(HAS(detect(LF "model/model_utils/checkpointing.py:backward"), MT_PART_CHECKPOINTING));
    MT_CHECK(
        !HAS(detect(LF "model/model_utils/checkpointing.py:custom_gradient_checkpointing_func"),
             MT_PART_CHECKPOINTING));
    MT_CHECK(HAS(
        detect(
            "/v/site-packages/axolotl/monkeypatch/gradient_checkpointing/offload_cpu.py:backward"),
        MT_PART_CHECKPOINTING));
    MT_CHECK(mt_framework_is_program(mt_test_frameworks(), FW(axolotl)) &&
             mt_framework_is_program(mt_test_frameworks(), FW(nemorl)));
    /* a library whose flags are a script's */
    MT_CHECK(mt_framework_is_program(mt_test_frameworks(), FW(transformers)) &&
             !mt_framework_is_program(mt_test_frameworks(), FW(accelerate)) &&
             !mt_framework_is_program(mt_test_frameworks(), FW(vllm)));
}

MT_TEST(a_directory_name_proves_nothing)
{
    MT_CHECK_STR(main_of("/home/x/trl/my.py:train"), "none");
    MT_CHECK_STR(
        main_of("/home/x/roll/train.py:main|/home/x/roll/utils/a.py:f|/home/x/swift/my.py:f"),
        "none");
    MT_CHECK_STR(main_of("/home/x/skyrl/run.py:f|/home/x/SkyRL/examples/train/gsm8k/x.py:f"),
                 "none");
    MT_CHECK_STR(main_of("/home/x/verl/train.py:main|/home/x/areal/run.py:main"), "none");
    MT_CHECK_STR(main_of("/home/verl/env/lib/python3.12/site-packages/torch/optim/adam.py:step"),
                 "none");
    MT_CHECK_STR(main_of("/w/verl/verl/workers/rollout/megatron/x.py:f"), "verl");
    MT_CHECK_STR(main_of("/home/x/myverl/workers/a.py:f"), "none");
    MT_CHECK_STR(engine_of("/w/verl/verl/workers/rollout/vllm_rollout/vllm_rollout.py:f"), "none");
    /* a program of its own in another's package, whose library it uses */
    MT_CHECK_STR(main_of("/w/verl/verl/workers/engine/fsdp/a.py:f|/w/verl/verl/workers/b.py:g|"
                         "/w/verl/verl/trainer/sft_trainer.py:fit"),
                 "verl_sft");
    MT_CHECK_STR(main_of("/v/site-packages/verl/trainer/fsdp_sft_trainer.py:training_step"),
                 "verl_sft");
    MT_CHECK_STR(main_of("/w/verl/verl/trainer/ppo/sft_trainer.py:f"), "verl");
    /* models of Transformers in a script of one's own: not its Trainer */
    MT_CHECK_STR(main_of("/v/site-packages/transformers/models/qwen2/modeling_qwen2.py:forward"),
                 "none");
    MT_CHECK_EQ(detect("/v/site-packages/transformers/models/qwen2/modeling_qwen2.py:forward")
                    .frames[FW(transformers)],
                1);
    /* a virtual environment inside a checkout */
    MT_CHECK_STR(main_of("/w/verl/verl/.venv/lib/site-packages/areal/x.py:f"), "areal");
    MT_CHECK_STR(main_of("??:verl/workers/x"), "none");
    MT_CHECK_STR(main_of(""), "none");
}

MT_TEST(the_one_with_more_frames_wins)
{
    struct mt_frameworks fw =
        detect("/a/verl/workers/a.py:f|/a/verl/workers/a.py:g|/a/trl/trainer/x.py:f|"
               "/a/vllm/v1/a.py:f|/a/sglang/srt/a.py:f|/a/sglang/srt/a.py:g");
    MT_CHECK_EQ(fw.main, FW(verl));
    MT_CHECK_EQ(fw.engine, FW(sglang));
    MT_CHECK_EQ(fw.frames[FW(verl)], 2);
    MT_CHECK_EQ(fw.frames[FW(trl)], 1);
    MT_CHECK(!fw.forced);
}

MT_TEST(parts_of_pytorch)
{
    struct mt_frameworks fw = detect("/v/torch/distributed/fsdp/_fully_shard/_fsdp_param.py:f");
    MT_CHECK(HAS(fw, MT_PART_FSDP2) && !HAS(fw, MT_PART_FSDP1) && !HAS(fw, MT_PART_DDP) &&
             !HAS(fw, MT_PART_COMPILED) && !HAS(fw, MT_PART_CHECKPOINTING));
    fw = detect(
        "/v/torch/distributed/fsdp/_flat_param.py:f|/v/torch/utils/checkpoint.py:checkpoint");
    MT_CHECK(HAS(fw, MT_PART_FSDP1) && !HAS(fw, MT_PART_FSDP2) && HAS(fw, MT_PART_CHECKPOINTING));
#define CHUNK                                                                                      \
    "/v/torch/utils/checkpoint.py:checkpoint|/v/trl/trainer/"                                      \
    "sft_trainer.py:_chunked_cross_entropy_loss"
#define LAYER "/v/torch/utils/checkpoint.py:checkpoint|/v/transformers/modeling_layers.py:__call__"
    MT_CHECK(!HAS(detect("/v/trl/trainer/sft_trainer.py:_chunk|" CHUNK),
                  MT_PART_CHECKPOINTING)); /* of the loss alone */
    MT_CHECK(HAS(detect("/v/trl/trainer/sft_trainer.py:_chunk|" CHUNK "||/v/q.py:forward|" LAYER),
                 MT_PART_CHECKPOINTING));
    fw = detect("/v/torch/nn/parallel/distributed.py:forward");
    MT_CHECK(HAS(fw, MT_PART_DDP) && !HAS(fw, MT_PART_FSDP1));
    fw = detect("??:c10d::Reducer::initialize_buckets(int)");
    MT_CHECK(HAS(fw, MT_PART_DDP));
    fw = detect("/w/megatron/core/tensor_parallel/random.py:fork");
    MT_CHECK(HAS(fw, MT_PART_CORE) && !HAS(fw, MT_PART_CHECKPOINTING));
    MT_CHECK(HAS(detect("/w/megatron/core/tensor_parallel/random.py:checkpoint"),
                 MT_PART_CHECKPOINTING));
    MT_CHECK(HAS(detect("/tmp/torchinductor_u/ab/cab.py:call"), MT_PART_COMPILED));
    MT_CHECK(HAS(detect("C:\\v\\torch\\_inductor\\runtime\\triton_heuristics.py:run"),
                 MT_PART_COMPILED));
    /* every optimizer step passes here, compiled or not */
    MT_CHECK(!HAS(detect("/v/torch/_dynamo/eval_frame.py:_fn"), MT_PART_COMPILED));
    MT_CHECK(HAS(detect("/v/site-packages/deepspeed/runtime/engine.py:step"), MT_PART_ZERO));
}

/* Stacks as deep as they may be, each frame of them a checkpoint's: what is looked at of one is not
 * walked again for the next. */
MT_TEST(deep_stacks_of_checkpoints)
{
    enum { DEPTH = 4096, STACKS = 200 };
    static const struct mt_limits limits = MT_LIMITS_DEFAULT;
    struct mt_trace *t = mt_trace_new();
    struct mt_builder *b = mt_builder_new(t, &limits);
    mt_frame_id *stack = calloc(DEPTH, sizeof *stack);
    struct mt_frameworks fw;
    mt_str_id checkpoint, file, loss, sft;
    mt_stack_id unused;
    clock_t began;
    MT_ASSERT(b != NULL && stack != NULL);
    MT_ASSERT(mt_build_str(b, "checkpoint", 10, &checkpoint) &&
              mt_build_str(b, "/v/torch/utils/checkpoint.py", 28, &file));
    MT_ASSERT(mt_build_str(b, "_chunked_cross_entropy_loss", 27, &loss) &&
              mt_build_str(b, "/v/trl/trainer/sft_trainer.py", 29, &sft));
    for (uint32_t i = 0; i < STACKS; i++) {
        for (uint32_t k = 0; k < DEPTH - 1; k++)
            MT_ASSERT(mt_build_frame(b, checkpoint, file, 1 + (k == DEPTH - 2 ? i : 0), &stack[k]));
        MT_ASSERT(mt_build_frame(b, loss, sft, 1, &stack[DEPTH - 1]) &&
                  mt_build_stack(b, stack, DEPTH, &unused));
    }
    MT_ASSERT(mt_build_finish(b));
    began = clock();
    MT_CHECK(mt_frameworks_detect(mt_test_frameworks(), t, &fw) && !HAS(fw, MT_PART_CHECKPOINTING));
    MT_CHECK((double)(clock() - began) / CLOCKS_PER_SEC < 2);
    mt_builder_free(b);
    mt_trace_free(t);
    free(stack);
}

MT_TEST(public_verl_snapshot)
{
    char path[1200];
    struct mt_frameworks fw;
    struct mt_trace *t;
    enum mt_rc rc;
    MT_REQUIRE_SHARED();
    snprintf(path, sizeof path, "%s/torch/verl_pr851_megatron_vllm_mempools_torch2.6.pickle",
             mt_shared_data());
    t = mt_load(path, &rc);
    MT_ASSERT(t != NULL);
    MT_CHECK(mt_frameworks_detect(mt_test_frameworks(), t, &fw));
    MT_CHECK_EQ(fw.main, FW(verl));
    MT_CHECK_EQ(fw.engine, FW(vllm));
    MT_CHECK(HAS(fw, MT_PART_CORE) && !HAS(fw, MT_PART_FSDP1) && !HAS(fw, MT_PART_FSDP2));
    mt_trace_free(t);
    snprintf(path, sizeof path, "%s/torch/cs336_wedson_512_training.pickle", mt_shared_data());
    t = mt_load(path, &rc);
    MT_ASSERT(t != NULL);
    MT_CHECK(mt_frameworks_detect(mt_test_frameworks(), t, &fw));
    MT_CHECK_EQ(fw.main, MT_FW_NONE);
    MT_CHECK_EQ(fw.engine, MT_FW_NONE);
    mt_trace_free(t);
}

/* A word stands by itself; with a star it ends a name. Neither where it is denied. */
MT_TEST(words_of_a_text)
{
    uint64_t n[MT_FW_MAX] = {0};
    MT_CHECK(mt_framework_is_said("we use GSplat here", "gsplat"));
    MT_CHECK(!mt_framework_is_said("we use mygsplat here", "gsplat"));
    MT_CHECK(!mt_framework_is_said("it works without gsplat", "gsplat"));
    MT_CHECK(mt_framework_is_said("a FooVideoPipeline(x)", "*videopipeline"));
    MT_CHECK(mt_framework_is_said("VideoPipeline", "*videopipeline"));
    MT_CHECK(!mt_framework_is_said("a FooVideoPipelines", "*videopipeline"));
    MT_CHECK(!mt_framework_is_said("a FooPipeline", "*videopipeline"));
    MT_CHECK(!mt_framework_is_said("instead of FooVideoPipeline", "*videopipeline"));
    mt_framework_of_words(mt_test_frameworks(), "from x import FooVideoPipeline", n);
    MT_CHECK_EQ(n[FW(diffusers)], 1);
    mt_framework_of_words(mt_test_frameworks(), "x/FooVideoPipeline/y", n); /* a folder */
    MT_CHECK_EQ(n[FW(diffusers)], 1);
}

MT_MAIN(MT_RUN(words_of_a_text) MT_RUN(every_framework_has_a_name) MT_RUN(packages_and_checkouts)
            MT_RUN(programs_that_drive_trainers) MT_RUN(a_directory_name_proves_nothing)
                MT_RUN(the_one_with_more_frames_wins) MT_RUN(parts_of_pytorch)
                    MT_RUN(deep_stacks_of_checkpoints) MT_RUN(public_verl_snapshot))
