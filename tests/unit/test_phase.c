/* What one stack says by itself: every rule of precedence and its exceptions. */
#include "phase_make.h"
#include "frameworks.h"

MT_TEST(certain_backward_needs_the_engine)
{
    MT_CHECK_STR(alone(CPP ":at::empty|" ENGINE), "train/backward inferred method.autograd_engine");
    MT_CHECK_STR(
        alone(CPP ":torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)"),
        "train/backward inferred method.autograd_engine");
    MT_CHECK_STR(alone(CPP ":torch::autograd::generated::SplitBackward12_copy::apply()"),
                 "train/backward inferred method.autograd_engine");
    MT_CHECK_STR(alone(CPP ":torch::autograd::AccumulateGrad::apply()"),
                 "train/backward inferred method.autograd_engine");
    MT_CHECK_STR(alone(CPP ":torch::autograd::python::PythonEngine::thread_init(int)"),
                 "train/backward inferred method.autograd_engine");
    MT_CHECK_STR(
        alone(CPP ":torch::autograd::Node::operator()(x)|" CPP ":torch::autograd::Engine::x"),
        "train/backward inferred method.autograd_engine");
    /* these occur in every forward stack */
    MT_CHECK_STR(alone(VARIABLE "|" CALL "|" MAIN),
                 "unattributed/forward marked phase.torch.module._call_impl");
    MT_CHECK_STR(alone(CPP ":torch::autograd::THPVariable_add|" MAIN),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone(CPP ":MyBackwardX::apply()|" MAIN),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone(CPP ":Backward::applyx"), "train/backward inferred method.autograd_engine");
    /* a Python function may have such a name; its file tells that it is none of the engine */
    MT_CHECK_STR(alone("/home/u/Engine.py:torch::autograd::Engine::|" MAIN),
                 "unattributed/- none method.no_signature");
}

MT_TEST(outermost_only_counts_outermost)
{
    const char *apply = "/v/torch/autograd/function.py:apply";
    char text[512];
    MT_CHECK_STR(alone("/home/u/m.py:f|/v/torch/autograd/function.py:apply"),
                 "train/backward inferred phase.torch.function.apply.outermost");
    snprintf(text, sizeof text, "%s|%s|%s", "/home/u/m.py:f", apply, CALL "|" MAIN);
    MT_CHECK_STR(alone(text), "unattributed/forward marked phase.torch.module._call_impl");
    /* C++ frames may stand outside of it, between, or behind */
    MT_CHECK_STR(alone("/home/u/m.py:f|/v/torch/autograd/function.py:apply|" CPP ":start_thread"),
                 "train/backward inferred phase.torch.function.apply.outermost");
    /* the module run by python -m, and a thread's bootstrap, are no backward */
    MT_CHECK_STR(alone("<frozen runpy>:_run_module_as_main"),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone("/usr/lib/python3.11/threading.py:_bootstrap"),
                 "unattributed/- none method.no_signature");
}

MT_TEST(recompute_and_gradient_reduce_in_backward)
{
    MT_CHECK_STR(alone(CALL "|/v/torch/utils/checkpoint.py:recompute_fn|/v/torch/utils/"
                            "checkpoint.py:unpack_hook|" ENGINE),
                 "train/recompute inferred phase.torch.checkpoint.recompute_fn");
    MT_CHECK_STR(alone(CALL "|/v/torch/utils/checkpoint.py:unpack_hook"),
                 "train/recompute inferred phase.torch.checkpoint.unpack_hook");
    MT_CHECK_STR(alone(CALL "|/v/megatron/core/tensor_parallel/random.py:backward|/v/torch/"
                            "autograd/function.py:apply|" ENGINE),
                 "train/recompute inferred phase.megatron.random.backward");
    /* re-entrant checkpointing: the gradients of the recomputed layer */
    MT_CHECK_STR(alone("/v/torch/autograd/__init__.py:backward|/v/torch/utils/"
                       "checkpoint.py:backward|/v/torch/autograd/"
                       "function.py:apply|" ENGINE),
                 "train/backward inferred method.autograd_engine");
    MT_CHECK_STR(
        alone("/v/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:foreach_reduce|"
              "/v/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:post_backward|" ENGINE),
        "train/grad_reduce inferred phase.torch._fsdp_collectives.foreach_reduce");
    /* the forward side of checkpointing is a forward; the marker stays readable as the rule */
    MT_CHECK_STR(alone("/home/u/m.py:f|/v/torch/utils/checkpoint.py:checkpoint|" CALL),
                 "unattributed/forward marked phase.torch.checkpoint.checkpoint");
}

MT_TEST(innermost_sub_phase_wins)
{
    MT_CHECK_STR(alone("/v/torch/nn/utils/clip_grad.py:clip_grad_norm_|/v/verl/workers/actor/"
                       "dp_actor.py:_optimizer_step|"
                       "/v/verl/workers/actor/dp_actor.py:update_policy|" UPDATE_ACTOR),
                 "train_actor/grad_clip marked phase.torch.clip_grad.clip_grad_norm_");
    MT_CHECK_STR(alone("/v/torch/optim/adamw.py:_multi_tensor_adamw|" STEP "|" UPDATE_ACTOR),
                 "train_actor/optimizer marked phase.torch.adamw._multi_tensor_adamw");
    MT_CHECK_STR(alone("/v/torch/optim/adamw.py:_init_group|/v/torch/optim/adamw.py:step|" STEP),
                 "train/optim_state_init inferred phase.torch.adamw._init_group");
    /* a closure: the model runs inside optimizer.step */
    MT_CHECK_STR(alone(CALL "|" STEP "|" MAIN),
                 "unattributed/forward marked phase.torch.module._call_impl");
    MT_CHECK_STR(alone(ENGINE "|" STEP "|" MAIN), "train/backward inferred method.autograd_engine");
    /* the module that a Lightning strategy calls */
    MT_CHECK_STR(alone(CALL "|/v/lightning/pytorch/strategies/strategy.py:training_step|/v/"
                            "lightning/pytorch/strategies/"
                            "strategy.py:optimizer_step"),
                 "unattributed/forward marked phase.lightning.strategy.training_step");
}

MT_TEST(markers_that_tell_more_than_forward)
{
    MT_CHECK_STR(alone("/v/verl/utils/torch_functional.py:entropy_from_logits|/v/verl/workers/"
                       "actor/dp_actor.py:_forward_micro_batch|"
                       "/v/verl/workers/actor/dp_actor.py:compute_log_prob|" LOG_PROB),
                 "logp_old/logits marked phase.verl.torch_functional.entropy_from_logits");
    MT_CHECK_STR(
        alone("/v/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:foreach_all_gather|"
              "/v/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:pre_forward|" CALL
              "|" LOG_PROB),
        "logp_old/fsdp_unshard marked phase.torch._fsdp_collectives.foreach_all_gather");
    /* what Megatron's last stage returns in fp32 */
    MT_CHECK_STR(
        alone(
            "/v/megatron/core/transformer/module.py:float_conversion|/v/megatron/core/transformer/"
            "module.py:float16_to_fp32|" CALL
            "|/v/megatron/core/pipeline_parallel/schedules.py:forward_step|"
            "/v/slime/backends/megatron_utils/model.py:train_one_step|/v/slime/backends/"
            "megatron_utils/actor.py:train_actor"),
        "train_actor/logits marked phase.megatron.module.float_conversion");
    /* the same in backward stays backward */
    MT_CHECK_STR(
        alone("/v/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:foreach_all_gather|"
              "/v/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:pre_backward|" ENGINE),
        "train/backward inferred method.autograd_engine");
    MT_CHECK_STR(alone("/v/torch/_inductor/runtime/triton_heuristics.py:kernel_call|" CALL),
                 "unattributed/compile.autotune marked phase.torch.triton_heuristics.kernel_call");
    /* a marker from memory does not make a checked phase uncertain */
    MT_CHECK_STR(alone("/v/torch/distributed/distributed_c10d.py:broadcast|/v/verl/workers/"
                       "fsdp_workers.py:update_weights"),
                 "weight_sync/- marked phase.verl.fsdp_workers.update_weights");
    MT_CHECK_STR(alone("/v/torch/distributed/distributed_c10d.py:broadcast|" MAIN),
                 "unattributed/comm low phase.torch.distributed_c10d.broadcast");
    /* a role without a phase of its own is the rule, no more */
    MT_CHECK_STR(alone("/v/verl/utils/activation_offload.py:tensor_push|" CALL "|" UPDATE_ACTOR),
                 "train_actor/forward marked phase.verl.activation_offload.tensor_push");
}

MT_TEST(outermost_coarse_phase_wins_but_for_exceptions)
{
    MT_CHECK_STR(alone("/v/verl/workers/actor/dp_actor.py:compute_log_prob|" REF_LOG_PROB),
                 "logp_ref/- marked phase.verl.fsdp_workers.compute_ref_log_prob");
    /* a: set-up gives way, again and again */
    MT_CHECK_STR(alone("/v/vllm/worker/cache_engine.py:_allocate_kv_cache|/v/vllm/engine/"
                       "llm_engine.py:_initialize_kv_caches|"
                       "/v/verl/workers/fsdp_workers.py:_build_rollout|" INIT_MODEL),
                 "rollout.kv_alloc/- marked phase.vllm.cache_engine._allocate_kv_cache");
    MT_CHECK_STR(alone("/home/u/x.py:f|" INIT_MODEL),
                 "init/- marked phase.verl.fsdp_workers.init_model");
    /* b: below anything */
    MT_CHECK_STR(alone("/v/vllm/v1/worker/gpu_worker.py:wake_up|" GENERATE),
                 "rollout.wake_sleep/- marked phase.vllm.gpu_worker.wake_up");
    MT_CHECK_STR(alone("/v/vllm/v1/worker/gpu_model_runner.py:execute_model|/v/verl/workers/"
                       "fsdp_workers.py:rollout_mode|" GENERATE),
                 "weight_sync/- marked phase.verl.fsdp_workers.rollout_mode");
    MT_CHECK_STR(alone("/v/verl/utils/fsdp_utils.py:collect_lora_params|" GENERATE),
                 "weight_sync/- marked phase.verl.fsdp_utils.collect_lora_params");
    /* c: slime's log-probs inside train_actor */
    MT_CHECK_STR(alone("/v/slime/backends/megatron_utils/model.py:forward_only|/v/slime/backends/"
                       "megatron_utils/actor.py:compute_log_prob|"
                       "/v/slime/backends/megatron_utils/actor.py:train_actor"),
                 "logp/- marked phase.slime.actor.compute_log_prob");
    /* d: TRL */
    MT_CHECK_STR(alone("/v/trl/trainer/grpo_trainer.py:_get_per_token_logps_and_entropies|"
                       "/v/trl/trainer/grpo_trainer.py:_generate_and_score_completions|/v/"
                       "transformers/trainer.py:training_step"),
                 "logp/- marked phase.trl.grpo_trainer._get_per_token_logps_and_entropies");
    MT_CHECK_STR(
        alone(
            "/v/trl/trainer/grpo_trainer.py:_get_per_token_logps_and_entropies|/v/trl/trainer/"
            "grpo_trainer.py:_compute_loss|"
            "/v/trl/trainer/grpo_trainer.py:compute_loss|/v/transformers/trainer.py:training_step"),
        "train/forward marked phase.trl.grpo_trainer._compute_loss");
    MT_CHECK_STR(alone("/v/trl/trainer/grpo_trainer.py:_get_per_token_logps|/v/trl/trainer/"
                       "grpo_trainer.py:compute_loss|"
                       "/v/transformers/trainer.py:training_step"), /* its name until 0.19 */
                 "train/forward marked phase.trl.grpo_trainer.compute_loss");
    MT_CHECK_STR(alone("/v/swift/rlhf_trainers/grpo_trainer.py:_get_per_token_logps_and_entropies|/"
                       "v/swift/rlhf_trainers/"
                       "grpo_trainer.py:_prepare_batch_inputs|/v/swift/rlhf_trainers/"
                       "grpo_trainer.py:training_step"),
                 "logp/- marked phase.swift.grpo_trainer._get_per_token_logps_and_entropies");
    MT_CHECK_STR(
        alone("/v/swift/rlhf_trainers/grpo_trainer.py:_get_per_token_logps_and_entropies|/v/swift/"
              "rlhf_trainers/"
              "grpo_trainer.py:compute_loss|/v/swift/rlhf_trainers/grpo_trainer.py:training_step"),
        "train_actor/forward marked phase.swift.grpo_trainer.compute_loss");
    MT_CHECK_STR(
        alone("/w/prime_rl/trainer/model.py:setup_model|/w/prime_rl/trainer/rl/train.py:train"),
        "init/- marked phase.prime_rl.model.setup_model");
    MT_CHECK_STR(
        alone("/w/prime_rl/trainer/rl/loss.py:compute_loss|/w/prime_rl/trainer/rl/train.py:train"),
        "train_actor/loss marked phase.prime_rl.loss.compute_loss");
    MT_CHECK_STR(alone("/v/torch/nn/modules/module.py:convert|/v/torch/nn/modules/"
                       "module.py:_apply|/w/skyrl_train/distributed/"
                       "fsdp_utils.py:load_fsdp2_model_to_gpu|/w/skyrl_train/workers/"
                       "worker.py:backload_to_gpu"),
                 "onload_offload/- marked phase.skyrl.fsdp_utils.load_fsdp2_model_to_gpu");
    MT_CHECK_STR(alone("/v/trl/trainer/grpo_trainer.py:_generate|/v/trl/trainer/"
                       "grpo_trainer.py:training_step"),
                 "rollout.generate/- marked phase.trl.grpo_trainer._generate");
    /* e: the profiling run executes the model */
    MT_CHECK_STR(alone("/v/vllm/worker/model_runner.py:execute_model|/v/vllm/worker/"
                       "model_runner.py:profile_run"),
                 "rollout.profile/- marked phase.vllm.model_runner.profile_run");
    MT_CHECK_STR(alone("/v/vllm/v1/worker/gpu_model_runner.py:_dummy_run|/v/vllm/v1/worker/"
                       "gpu_model_runner.py:capture_model"),
                 "rollout.graph/- marked phase.vllm.gpu_model_runner.capture_model");
    /* f: generation for validation is an evaluation; its inside stays readable */
    MT_CHECK_STR(alone("/v/vllm/v1/worker/gpu_model_runner.py:execute_model|/v/trl/trainer/"
                       "grpo_trainer.py:prediction_step"),
                 "eval/rollout.generate marked phase.vllm.gpu_model_runner.execute_model");
    /* g: offload never replaces a phase */
    MT_CHECK_STR(alone("/v/openrlhf/trainer/ray/ppo_actor.py:offload_states|/v/openrlhf/trainer/"
                       "ray/ppo_actor.py:ppo_train"),
                 "train_actor/- marked phase.openrlhf.ppo_actor.ppo_train");
    MT_CHECK_STR(alone("/v/openrlhf/trainer/ray/ppo_actor.py:ppo_train|/v/openrlhf/trainer/ray/"
                       "ppo_actor.py:offload_states"),
                 "train_actor/- marked phase.openrlhf.ppo_actor.ppo_train");
    MT_CHECK_STR(alone("/v/openrlhf/trainer/ray/ppo_actor.py:offload_states|" MAIN),
                 "onload_offload/- marked phase.openrlhf.ppo_actor.offload_states");
    MT_CHECK_STR(alone("/v/verl/utils/fsdp_utils.py:load_fsdp_optimizer|" UPDATE_ACTOR),
                 "train_actor/onload_offload marked phase.verl.fsdp_utils.load_fsdp_optimizer");
}

MT_TEST(containers_and_unverified_rows)
{
    MT_CHECK_STR(alone("/v/verl/workers/engine/fsdp/transformer_impl.py:forward_backward_batch"),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone("/v/vllm/worker/model_runner.py:capture_model"),
                 "rollout.graph/- low phase.vllm.model_runner.capture_model");
    MT_CHECK_STR(alone("/v/torch/serialization.py:load|" MAIN),
                 "ckpt_load/- marked phase.torch.serialization.load");
    /* a coarse phase by a sub-phase marker, where no coarse marker decides */
    MT_CHECK_STR(
        alone("/v/torch/nn/modules/module.py:convert|/v/torch/nn/modules/module.py:_apply|" MAIN),
        "init/- marked phase.torch.module.convert");
    /* a layer that fetches its weights when it is called is no set-up; a model that runs while
     * another is set up is a forward */
    MT_CHECK_STR(alone("/v/torch/nn/modules/module.py:convert|/v/torch/nn/modules/"
                       "module.py:_apply|/v/torch/nn/modules/module.py:to|"
                       "/home/u/offload.py:fetch|/v/torch/nn/modules/module.py:_call_impl|" MAIN),
                 "unattributed/onload_offload marked phase.torch.module.convert");
    MT_CHECK_STR(
        alone(
            "/v/torch/nn/modules/module.py:_call_impl|/v/torch/nn/modules/module.py:_apply|" MAIN),
        "init/forward marked phase.torch.module._call_impl");
}

MT_TEST(paths_match_by_whole_components)
{
    MT_CHECK_STR(alone("C:\\v\\site-packages\\verl\\workers\\fsdp_workers.py:update_actor"),
                 "train_actor/- marked phase.verl.fsdp_workers.update_actor");
    MT_CHECK_STR(alone("verl/workers/fsdp_workers.py:update_actor"),
                 "train_actor/- marked phase.verl.fsdp_workers.update_actor");
    MT_CHECK_STR(alone("/home/u/myverl/workers/fsdp_workers.py:update_actor"),
                 "train_actor/- low name.update_actor");
    MT_CHECK_STR(alone("/home/u/xverl/workers/fsdp_workers.py:update_actor"),
                 "train_actor/- low name.update_actor");
    MT_CHECK_STR(alone("/home/u/fsdp_workers.py:update_actor"),
                 "train_actor/- low name.update_actor");
    MT_CHECK_STR(alone("verl/workers/fsdp_workers.py:update_acto"),
                 "unattributed/- none method.no_signature");
}

MT_TEST(names_are_the_last_resort)
{
    MT_CHECK_STR(alone("/home/u/m.py:my_attention|" MAIN),
                 "unattributed/forward low method.by_name_forward");
    MT_CHECK_STR(alone("/home/u/m.py:forward_step2|" MAIN),
                 "unattributed/forward low method.by_name_forward");
    MT_CHECK_STR(alone("/home/u/m.py:xforward|" MAIN), "unattributed/- none method.no_signature");
    /* both passes, or a question whether to run them, is neither */
    MT_CHECK_STR(alone("/home/u/m.py:should_run_forward_backward|" MAIN),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone("/home/u/m.py:reduce|/v/megatron/core/"
                       "rerun_state_machine.py:should_run_forward_backward|"
                       "/v/megatron/training/training.py:train_step"),
                 "train/- marked phase.megatron.training.train_step");
    MT_CHECK_STR(alone("/home/u/m.py:total_loss_of|" MAIN),
                 "unattributed/forward low method.by_name_forward");
    MT_CHECK_STR(alone("/home/u/m.py:backward|" MAIN),
                 "train/backward low method.by_name_backward");
    MT_CHECK_STR(alone("/home/u/m.py:backward|/home/u/m.py:loss|" MAIN),
                 "train/backward low method.by_name_backward");
    MT_CHECK_STR(alone("/v/torch/nn/functional.py:softmax|" MAIN),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone("/tmp/ipykernel_81/12.py:loss_fn"),
                 "unattributed/forward low method.by_name_forward");
    MT_CHECK_STR(alone("C:\\Temp\\ipykernel_81\\12:loss_fn"),
                 "unattributed/forward low method.by_name_forward");
    MT_CHECK_STR(alone("<eval_with_key>.3:forward|" UPDATE_ACTOR),
                 "train_actor/forward low method.by_name_forward");
    MT_CHECK_STR(alone("??:forward"), "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone(""), "unattributed/- none method.no_stack");
}

/* Names of functions in the job's own code: nothing that a rule matches, no package, no PyTorch; a
 * folder called torch may be the job's. */
MT_TEST(names_of_own_functions)
{
    MT_CHECK_STR(alone("/job/loop.py:wake|" MAIN), "rollout.wake_sleep/- low name.wake");
    MT_CHECK_STR(alone("/job/sync.py:receive_weights|" MAIN),
                 "weight_sync/- low name.receive_weights");
    MT_CHECK_STR(alone("/job/harness.py:loglikelihood|" MAIN), "eval/- low name.loglikelihood");
    MT_CHECK_STR(alone("/job/torch/loop.py:sync_weights|" MAIN),
                 "weight_sync/- low name.sync_weights");
    MT_CHECK_STR(alone(CALL "|/job/loop.py:compute_ref_log_prob|" MAIN),
                 "logp_ref/forward low phase.torch.module._call_impl");
    MT_CHECK_STR(alone(CALL "|/job/loop.py:update_policy|" MAIN),
                 "train_actor/forward low phase.torch.module._call_impl");
    MT_CHECK_STR(alone(STEP "|/job/loop.py:update_policy|" MAIN),
                 "train_actor/optimizer inferred phase.torch.optimizer.wrapper");
    MT_CHECK_STR(alone(LOG_PROB "|/job/loop.py:update_policy|" MAIN),
                 "logp_old/- marked phase.verl.fsdp_workers.compute_log_prob");
    MT_CHECK_STR(alone("/v/site-packages/x/loop.py:sync_weights|" MAIN),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone("/src/pytorch/torch/x.py:sync_weights|" MAIN),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone("<frozen x>:sync_weights|" MAIN), "unattributed/- none method.no_signature");
    /* with gradients they may be anything */
    MT_CHECK_STR(alone(CALL "|/job/loop.py:generate|" MAIN),
                 "unattributed/forward marked phase.torch.module._call_impl");
    MT_CHECK_STR(alone(CALL "|/job/loop.py:compute_log_prob|" MAIN),
                 "unattributed/forward marked phase.torch.module._call_impl");
}

#define WRAPPER "/v/site-packages/torch/utils/_contextlib.py:decorate_context"

MT_TEST(functions_without_gradients)
{
    MT_CHECK_STR(alone(CALL "|/job/loop.py:score|" WRAPPER "|" MAIN),
                 "infer/forward inferred phase.torch.module._call_impl");
    MT_CHECK_STR(
        alone(CALL "|/job/loop.py:score|/v/torch/autograd/grad_mode.py:decorate_context|" MAIN),
        "infer/forward inferred phase.torch.module._call_impl");
    MT_CHECK_STR(alone(CALL "|/job/loop.py:generate|" WRAPPER "|" MAIN),
                 "rollout.generate/forward inferred phase.torch.module._call_impl");
    MT_CHECK_STR(alone(CALL "|/job/m.py:step|" WRAPPER "|/job/loop.py:generate|" MAIN),
                 "rollout.generate/forward inferred phase.torch.module._call_impl");
    MT_CHECK_STR(alone(CALL "|" LOG_PROB "|" WRAPPER "|" MAIN),
                 "logp_old/forward marked phase.torch.module._call_impl");
    /* a wrapper of another library; nothing is run; a backward pass below it: enable_grad; a frozen
     * part of a larger pass */
    MT_CHECK_STR(alone(CALL "|/job/loop.py:score|/job/_contextlib.py:decorate_context|" MAIN),
                 "unattributed/forward marked phase.torch.module._call_impl");
    MT_CHECK_STR(alone("/job/loop.py:generate|" WRAPPER "|" MAIN),
                 "unattributed/- none method.no_signature");
    MT_CHECK_STR(alone(MAKE_GRADS "|" BACKWARD "|" CALL "|/job/loop.py:generate|" WRAPPER "|" MAIN),
                 "train/backward inferred phase.torch.autograd._make_grads");
    MT_CHECK_STR(alone(CALL "|/job/loop.py:score|" WRAPPER "|" CALL "|" MAIN),
                 "unattributed/forward marked phase.torch.module._call_impl");
}

/* Many different verdicts: more than 16 bits number them. */
MT_TEST(more_than_65535_kinds_of_stacks)
{
    struct made m;
    mt_frame_id ids[6], frame[6][64];
    uint32_t count[6] = {0}, kinds = 0;
    mt_stack_id last = 0, first = 0;
    static const char levels[6] = {'M', 'S', 'C', 'O', 'm', 'S'};
    struct mt_phase_rules *r = NULL;
    MT_ASSERT(mt_phase_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, NULL) == MT_OK);
    start(&m);
    for (int k = 0; k < 6; k++) {
        for (uint32_t i = 1; i <= mt_phase_rules_count(r) && count[k] < 40; i++) {
            const struct mt_phase_rule *x = mt_phase_rule_at(r, i);
            bool is_role = x->level == 'M' && mt_phase_find(x->phase, strlen(x->phase)) < 0;
            if (levels[k] == 'm' ? is_role : x->level == levels[k] && !is_role)
                if (!mt_build_frame(m.b, str(&m, x->function, strlen(x->function)),
                                    str(&m, x->file_suffix, strlen(x->file_suffix)), 1,
                                    &frame[k][count[k]++]))
                    abort();
        }
    }
    for (uint32_t c = 0; c < count[2]; c++)
        for (uint32_t s = 0; s < count[1]; s++)
            for (uint32_t w = 0; w < count[0]; w++)
                for (uint32_t o = 0; o < 2 && kinds < 90000; o++, kinds++) {
                    ids[0] = frame[0][w];
                    ids[1] = frame[1][s];
                    ids[2] = frame[2][c];
                    ids[3] = frame[3][o];
                    if (!mt_build_stack(m.b, ids, 4, &last))
                        abort();
                    if (first == 0)
                        first = last;
                }
    MT_CHECK(kinds > 65536);
    alloc(&m, UPDATE_ACTOR);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train_actor/- marked phase.verl.fsdp_workers.update_actor");
    MT_CHECK(mt_phaser_stack(m.p, first).sub != MT_PH_NONE &&
             mt_phaser_stack(m.p, last).sub != MT_PH_NONE);
    MT_CHECK(mt_phaser_stack(m.p, first).phase != MT_PH_UNATTRIBUTED &&
             mt_phaser_stack(m.p, last).phase != MT_PH_UNATTRIBUTED);
    done(&m);
    mt_phase_rules_free(r);
}

MT_TEST(stack_ids_out_of_range_say_nothing)
{
    struct made m;
    start(&m);
    alloc(&m, UPDATE_ACTOR);
    MT_ASSERT(run(&m, false));
    MT_CHECK_EQ(mt_phaser_stack(m.p, 99999).phase, MT_PH_UNATTRIBUTED);
    done(&m);
}

MT_MAIN(MT_RUN(certain_backward_needs_the_engine) MT_RUN(outermost_only_counts_outermost)
            MT_RUN(recompute_and_gradient_reduce_in_backward) MT_RUN(innermost_sub_phase_wins)
                MT_RUN(markers_that_tell_more_than_forward)
                    MT_RUN(outermost_coarse_phase_wins_but_for_exceptions)
                        MT_RUN(containers_and_unverified_rows)
                            MT_RUN(paths_match_by_whole_components)
                                MT_RUN(names_are_the_last_resort) MT_RUN(names_of_own_functions)
                                    MT_RUN(functions_without_gradients)
                                        MT_RUN(more_than_65535_kinds_of_stacks)
                                            MT_RUN(stack_ids_out_of_range_say_nothing))
