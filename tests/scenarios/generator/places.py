"""Where things happen: the public functions of each framework, outermost first, as "file:line function". Line numbers are
plausible, not exact. A place that does not begin with a slash lies in SITE."""

SITE = "/opt/venv/lib/python3.12/site-packages/"
ROOT = "/root/"
MODULE = "torch/nn/modules/module.py"
FULLY = "torch/distributed/fsdp/_fully_shard/"
CORE = ROOT + "Megatron-LM/megatron/core/"

RAY = (
    "ray/_private/workers/default_worker.py:289 <module>",
    "ray/_private/worker.py:974 main_loop",
    "ray/_private/function_manager.py:696 actor_method_executor",
)
VERL = RAY + ("verl/single_controller/ray/base.py:700 func", "verl/single_controller/base/decorator.py:456 inner")
NN = (MODULE + ":1751 _wrapped_call_impl", MODULE + ":1762 _call_impl")
LINEAR = "torch/nn/modules/linear.py:125 forward"
PIPELINING = "torch/distributed/pipelining/"
BACKWARD = ("torch/_tensor.py:626 backward", "torch/autograd/__init__.py:347 backward")
ROOT_GRAD = ("torch/_tensor.py:626 backward", "torch/autograd/__init__.py:340 backward",
    "torch/autograd/__init__.py:198 _make_grads")
ADAMW = ("torch/optim/optimizer.py:485 wrapper", "torch/optim/adamw.py:220 step")
COMPILED = "torch/_functorch/_aot_autograd/"
RECORDS = ("torch/_inductor/cudagraph_trees.py:2150 record_function", "torch/_inductor/cudagraph_trees.py:860 __init__",
           "torch/_inductor/cudagraph_trees.py:1260 _record")
AVERAGED = ("torch/optim/swa_utils.py:229 __init__", "/usr/lib/python3.12/copy.py:162 deepcopy", "torch/nn/parameter.py:68 __deepcopy__")
TUNING = ("torch/_inductor/compile_fx.py:1863 compile_fx", "torch/_inductor/select_algorithm.py:2033 benchmark_in_current_process",
          "torch/_inductor/select_algorithm.py:1960 get_inputs", "torch/_dynamo/testing.py:345 rand_strided")
INIT_GROUP = ("torch/optim/adam.py:175 _init_group",)
FOREACH = ("torch/optim/adam.py:949 adam", "torch/optim/adam.py:766 _multi_tensor_adam")
CLIP = ("torch/nn/utils/clip_grad.py:218 clip_grad_norm_", "torch/nn/utils/clip_grad.py:97 _get_total_norm")
ZERO = ("torch/optim/optimizer.py:1012 zero_grad",)
GATHER = (FULLY + "_fsdp_param_group.py:265 unshard", FULLY + "_fsdp_collectives.py:150 foreach_all_gather")
COPY_OUT = (
    FULLY + "_fsdp_param_group.py:290 wait_for_unshard",
    FULLY + "_fsdp_collectives.py:221 foreach_all_gather_copy_out",
)
PRE_FORWARD = (FULLY + "_fsdp_state.py:227 _pre_forward", FULLY + "_fsdp_param_group.py:330 pre_forward")
HOOK_IN = (FULLY + "_fsdp_state.py:276 _pre_backward", FULLY + "_fsdp_param_group.py:377 pre_backward")
HOOK_OUT = (
    "torch/autograd/function.py:307 apply",
    FULLY + "_fsdp_param_group.py:786 backward",
    FULLY + "_fsdp_param_group.py:438 post_backward",
)
REDUCE = FULLY + "_fsdp_collectives.py:%d foreach_reduce"  # line 452: what goes in; 480: the shard that comes out
FLAT = (
    "torch/distributed/fsdp/_runtime_utils.py:380 _pre_forward",
    "torch/distributed/fsdp/_flat_param.py:1310 unshard",
    "torch/distributed/fsdp/_flat_param.py:1330 _alloc_padded_unsharded_flat_param",
)
FLAT_IN = (
    "torch/distributed/fsdp/_runtime_utils.py:700 _pre_backward_hook",
    "torch/distributed/fsdp/_flat_param.py:1330 _alloc_padded_unsharded_flat_param",
)
FLAT_INIT = (
    "torch/distributed/fsdp/fully_sharded_data_parallel.py:483 __init__",
    "torch/distributed/fsdp/_init_utils.py:590 _init_param_handle_from_module",
    "torch/distributed/fsdp/_flat_param.py:560 __init__",
    "torch/distributed/fsdp/_flat_param.py:760 _init_flat_param_and_metadata",
)
FLAT_DONE = (
    "torch/distributed/fsdp/_runtime_utils.py:440 _post_forward",
    "torch/distributed/fsdp/_runtime_utils.py:330 _reshard",
    "torch/distributed/fsdp/_flat_param.py:1620 _free_unsharded_flat_param",
)
FLAT_CLIP = ("torch/distributed/fsdp/fully_sharded_data_parallel.py:1090 clip_grad_norm_",)
FLAT_OUT = (
    "torch/distributed/fsdp/_runtime_utils.py:755 _post_backward_hook",
    "torch/distributed/fsdp/_runtime_utils.py:840 _reduce_grad",
)
SHARD = ("torch/distributed/fsdp/_fully_shard/_fully_shard.py:213 fully_shard",
    FULLY + "_fsdp_param.py:266 _init_sharded_param")
CHECKPOINT = ("torch/utils/checkpoint.py:488 checkpoint",)
RECOMPUTE = ("torch/utils/checkpoint.py:1124 unpack_hook", "torch/utils/checkpoint.py:1507 recompute_fn")
MCORE_CHECKPOINT = (
    CORE + "transformer/transformer_block.py:420 _checkpointed_forward",
    CORE + "tensor_parallel/random.py:560 checkpoint",
    CORE + "tensor_parallel/random.py:420 forward",
)
MCORE_RECOMPUTE = ("torch/autograd/function.py:307 apply", CORE + "tensor_parallel/random.py:470 backward")
ZERO3 = "deepspeed/runtime/zero/"
ZERO3_INIT = (ZERO3 + "partition_parameters.py:1080 _convert_to_deepspeed_param",
    ZERO3 + "partition_parameters.py:1620 _partition_param")
ZERO3_FETCH = (
    ZERO3 + "parameter_offload.py:440 pre_sub_module_forward_function",
    ZERO3 + "partitioned_param_coordinator.py:290 fetch_sub_module",
    ZERO3 + "partition_parameters.py:1250 all_gather_coalesced",
)
ZERO3_FETCH_IN = (
    "torch/autograd/function.py:307 apply",
    ZERO3 + "parameter_offload.py:480 pre_sub_module_backward_function",
    ZERO3 + "partitioned_param_coordinator.py:290 fetch_sub_module",
    ZERO3 + "partition_parameters.py:1250 all_gather_coalesced",
)
ZERO3_DONE = (ZERO3 + "parameter_offload.py:460 post_sub_module_forward_function",
    ZERO3 + "partitioned_param_coordinator.py:460 release_sub_module")
ZERO3_OUT = (ZERO3 + "stage3.py:1180 reduce_partition_and_remove_grads", ZERO3 + "stage3.py:1250 __avg_scatter_grads")
# How each kind of sharding does it: shards made, gathered in forward and backward, given back, gradients reduced, norm taken.
SHARDING = {
    "fsdp2": {"init": SHARD,
              "done": (FULLY + "_fsdp_state.py:240 _post_forward", FULLY + "_fsdp_param_group.py:352 post_forward"),
              "done_in": HOOK_OUT, "out": HOOK_OUT + (REDUCE % 452,), "shard": HOOK_OUT + (REDUCE % 480,)},
    "fsdp1": {"init": FLAT_INIT, "gather": FLAT, "gather_in": FLAT_IN, "done": FLAT_DONE, "done_in": FLAT_OUT[:1],
              "out": FLAT_OUT, "shard": FLAT_OUT},
    "zero3": {"init": ZERO3_INIT, "gather": ZERO3_FETCH, "gather_in": ZERO3_FETCH_IN, "done": ZERO3_DONE,
              "done_in": ZERO3_OUT[:1], "out": ZERO3_OUT, "shard": ZERO3_OUT},
}
LM_HEAD = ("torch/nn/modules/linear.py:125 forward",)

GPT = CORE + "models/gpt/gpt_model.py:420 forward"
MCORE_LAYER = CORE + "transformer/transformer_layer.py:430 forward"
MCORE_HEAD = CORE + "tensor_parallel/layers.py:950 forward"
MCORE_CE = CORE + "tensor_parallel/cross_entropy.py:72 forward"
SCHEDULE = CORE + "pipeline_parallel/schedules.py:520 forward_backward_no_pipelining"
MCORE = {
    "buffer": (CORE + "distributed/distributed_data_parallel.py:220 _allocate_buffers_for_parameters",),
    "param_data": (CORE + "distributed/param_and_grad_buffer.py:612 __init__",),
    "grad_data": (CORE + "distributed/param_and_grad_buffer.py:623 __init__",),
    "main": (CORE + "optimizer/distrib_optimizer.py:330 _build_model_and_main_param_groups",),
    "step": (CORE + "optimizer/optimizer.py:580 step", CORE + "optimizer/optimizer.py:560 step_with_ready_grads"),
    "clip": (CORE + "optimizer/optimizer.py:540 clip_grad_norm", CORE + "optimizer/clip_grads.py:80 get_grad_norm_fp32"),
    "reduce": (CORE + "distributed/finalize_model_grads.py:300 finalize_model_grads",
               CORE + "distributed/param_and_grad_buffer.py:380 finish_grad_sync",
               CORE + "distributed/param_and_grad_buffer.py:330 start_grad_sync"),
}

HF_MODEL = "transformers/models/qwen3/modeling_qwen3.py"
VLLM_MODEL = "vllm/model_executor/models/qwen3.py"

# -- verl before its model engines, on FSDP
W, A, C = "verl/workers/fsdp_workers.py", "verl/workers/actor/dp_actor.py", "verl/workers/critic/dp_critic.py"
FUNCTIONAL = "verl/utils/torch_functional.py"
verl = {
    "init": VERL + (W + ":870 init_model", W + ":402 _build_model_optimizer"),
    "rollout": VERL + (W + ":870 init_model", W + ":560 _build_rollout",
                       "verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py:138 __init__"),
    "generate": VERL + (W + ":930 generate_sequences",
                        "verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py:301 generate_sequences"),
    "logp_old": VERL + (W + ":1010 compute_log_prob", A + ":338 compute_log_prob", A + ":188 _forward_micro_batch"),
    "logp_ref": VERL + (W + ":1042 compute_ref_log_prob", A + ":338 compute_log_prob", A + ":188 _forward_micro_batch"),
    "values": VERL + (W + ":1420 compute_values", C + ":150 compute_values", C + ":60 _forward_micro_batch"),
    "train_actor": VERL + (W + ":985 update_actor", A + ":432 update_policy"),
    "train_critic": VERL + (W + ":1450 update_critic", C + ":210 update_critic"),
    "micro": {"train_actor": (A + ":188 _forward_micro_batch",), "train_critic": (C + ":60 _forward_micro_batch",)},
    "logprob": (FUNCTIONAL + ":106 logprobs_from_logits",), "entropy": (FUNCTIONAL + ":171 entropy_from_logits",),
    "chunked": (FUNCTIONAL + ":190 entropy_from_logits_with_chunking",),
    "step": {"train_actor": (A + ":300 _optimizer_step",), "train_critic": (C + ":130 _optimizer_step",)},
    "clip": ("verl/utils/fsdp_utils.py:560 fsdp2_clip_grad_norm_",) + CLIP[1:],
    "onload": {"param": ("verl/utils/fsdp_utils.py:190 load_fsdp_model_to_gpu",),
               "optim": ("verl/utils/fsdp_utils.py:240 load_fsdp_optimizer",)},
    "offload": {"param": ("verl/utils/fsdp_utils.py:150 offload_fsdp_model_to_cpu",),
                "optim": ("verl/utils/fsdp_utils.py:215 offload_fsdp_optimizer",)},
    "sync": VERL + (W + ":655 rollout_mode",),
    "send": ("verl/workers/rollout/vllm_rollout/vllm_rollout.py:301 update_weights",),
    "bucket": ("verl/workers/rollout/vllm_rollout/vllm_rollout.py:301 update_weights",
               "verl/workers/rollout/vllm_rollout/bucketed_weight_transfer.py:88 _init_buffer"),
    "wake": VERL + (W + ":655 rollout_mode", "verl/workers/rollout/vllm_rollout/vllm_rollout.py:260 resume"),
    "sleep": VERL + (W + ":700 trainer_mode", "verl/workers/rollout/vllm_rollout/vllm_rollout.py:280 release"),
    "save": VERL + (W + ":1100 save_checkpoint", "verl/utils/checkpoint/fsdp_checkpoint_manager.py:210 save_checkpoint"),
    "load": VERL + (W + ":1130 load_checkpoint", "verl/utils/checkpoint/fsdp_checkpoint_manager.py:110 load_checkpoint",
                    "torch/optim/optimizer.py:900 load_state_dict"),
    "eval": None,
}

# -- verl's model engines (0.8 and later), FSDP2
E, X = "verl/workers/engine_workers.py", "verl/workers/engine/fsdp/transformer_impl.py"
TRAIN = ("verl/workers/engine/base.py:150 train_batch", X + ":690 forward_backward_batch")
INFER = (E + ":380 infer_batch", "verl/workers/engine/base.py:180 infer_batch", X + ":690 forward_backward_batch",
    X + ":960 forward_step")
verl_new = dict(
    verl,
    init=VERL + (E + ":500 init_model", X + ":420 initialize", X + ":380 _build_fsdp_module"),
    rollout=VERL + (E + ":520 init_model", "verl/workers/rollout/vllm_rollout/vllm_async_server.py:210 launch_server"),
    generate=VERL + ("verl/workers/rollout/vllm_rollout/vllm_async_server.py:420 generate",),
    logp_old=VERL + (E + ":700 compute_log_prob",) + INFER,
    logp_ref=VERL + (E + ":693 compute_ref_log_prob",) + INFER,
    train_actor=VERL + (E + ":710 update_actor", E + ":312 train_mini_batch", E + ":341 train_batch") + TRAIN,
    micro={"train_actor": (X + ":960 forward_step",)},
    logprob=(X + ":880 prepare_model_outputs", FUNCTIONAL + ":106 logprobs_from_logits"),
    entropy=(X + ":880 prepare_model_outputs", FUNCTIONAL + ":171 entropy_from_logits"),
    step={"train_actor": (X + ":620 optimizer_step",)},
    sync=VERL + (E + ":760 update_weights", X + ":800 get_per_tensor_param"),
    save=VERL + (E + ":800 save_checkpoint", X + ":860 save_checkpoint"),
)

# -- verl on Megatron
M, MA = "verl/workers/megatron_workers.py", "verl/workers/actor/megatron_actor.py"
MFWD = (MA + ":440 forward_backward_batch", SCHEDULE, CORE + "pipeline_parallel/schedules.py:402 forward_step",
    MA + ":520 forward_step")
verl_megatron = dict(
    verl,
    init=VERL + (M + ":310 init_model", M + ":220 _build_model_optimizer"),
    rollout=VERL + (M + ":330 init_model", M + ":260 _build_rollout",
                    "verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py:138 __init__"),
    generate=VERL + (M + ":560 generate_sequences",
                     "verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py:301 generate_sequences"),
    logp_old=VERL + (M + ":640 compute_log_prob", MA + ":190 compute_log_prob") + MFWD,
    logp_ref=VERL + (M + ":600 compute_ref_log_prob", MA + ":190 compute_log_prob") + MFWD,
    train_actor=VERL + (M + ":742 update_actor", MA + ":690 update_policy"),
    train_critic=None,
    micro={"train_actor": MFWD},
    logprob=(MA + ":480 logits_processor", "verl/utils/megatron/tensor_parallel.py:150 vocab_parallel_log_probs_from_logits"),
    entropy=(MA + ":480 logits_processor", "verl/utils/megatron/tensor_parallel.py:100 vocab_parallel_entropy"),
    step={"train_actor": ()},
    onload={"param": ("verl/utils/megatron_utils.py:700 load_megatron_model_to_gpu",),
            "optim": ("verl/utils/megatron_utils.py:800 load_megatron_optimizer",)},
    offload={"param": ("verl/utils/megatron_utils.py:663 offload_megatron_model_to_cpu",),
             "optim": ("verl/utils/megatron_utils.py:760 offload_megatron_optimizer",)},
    sync=VERL + (M + ":480 rollout_mode", "verl/utils/megatron_utils.py:900 per_tensor_generator"),
    save=VERL + (M + ":780 save_checkpoint",),
)

# -- AReaL on FSDP2
AE, AP = ROOT + "AReaL/areal/engine/fsdp_engine.py", ROOT + "AReaL/areal/trainer/ppo/actor.py"
AC, VP = ROOT + "AReaL/areal/trainer/ppo/critic.py", ROOT + "AReaL/areal/utils/functional/vocab_parallel.py"
AREAL = (ROOT + "AReaL/examples/math/gsm8k_rl.py:60 <module>", ROOT + "AReaL/areal/trainer/rl_trainer.py:420 train")
AFWD = (AE + ":520 forward_batch", AE + ":560 forward_backward_batch")
areal = dict(
    verl,
    init=AREAL[:1] + (ROOT + "AReaL/areal/trainer/rl_trainer.py:180 __init__", AE + ":240 initialize",
    AE + ":960 _create_device_model"),
    rollout=None, generate=None,
    logp_old=AREAL + (AP + ":110 compute_logp", AP + ":90 _compute_logp") + AFWD,
    logp_ref=None,
    values=AREAL + (AC + ":60 compute_values", AC + ":70 _compute_values") + AFWD,
    train_actor=AREAL + (AP + ":260 ppo_update", AP + ":300 _ppo_update", AE + ":470 train_batch",
    AE + ":560 forward_backward_batch"),
    train_critic=AREAL + (AC + ":120 ppo_update", AC + ":140 _ppo_update", AE + ":470 train_batch",
    AE + ":560 forward_backward_batch"),
    micro={"train_actor": (), "train_critic": ()},
    logprob=(AE + ":1210 _compute_logprobs_and_loss", VP + ":120 gather_logprobs_entropy",
    VP + ":70 _gather_logprobs_entropy"),
    entropy=(AE + ":1210 _compute_logprobs_and_loss", VP + ":120 gather_logprobs_entropy",
    VP + ":70 _gather_logprobs_entropy"),
    step={"train_actor": (AE + ":640 optimizer_step",), "train_critic": (AE + ":640 optimizer_step",)},
    clip=(AE + ":640 optimizer_step", ROOT + "AReaL/areal/engine/fsdp_utils/grad.py:90 fsdp2_clip_grad_norm") + CLIP[1:],
    onload={"param": (AE + ":760 onload",), "optim": (AE + ":760 onload",)},
    offload={"param": (AE + ":740 offload",), "optim": (AE + ":740 offload",)},
    sync=AREAL + (AE + ":1300 update_weights", AE + ":1400 _update_weights_from_distributed"),
    send=(AE + ":1340 _get_full_tensor",),
    bucket=(AE + ":1370 _update_bucket_weights_from_distributed",),
    wake=None, sleep=None,
    save=AREAL + (AE + ":820 save", AE + ":850 _save_model_to_hf"),
    load=AREAL + (AE + ":880 load", AE + ":900 _load_from_dcp"),
)


def _renamed(places, old, new):
    """The same places in another file."""
    if isinstance(places, str):
        return places.replace(old, new)
    if isinstance(places, dict):
        return {key: _renamed(value, old, new) for key, value in places.items()}
    return tuple(_renamed(p, old, new) for p in places) if isinstance(places, tuple) else places


# -- AReaL on Archon: the same methods in an engine of its own
areal_archon = _renamed(areal, "areal/engine/fsdp_engine.py", "areal/experimental/engine/archon_engine.py")
areal_megatron = _renamed(areal, "areal/engine/fsdp_engine.py", "areal/engine/megatron_engine.py")


def _slime(root, name):
    actor, model = root + "backends/megatron_utils/actor.py", root + "backends/megatron_utils/model.py"
    loss, weights = root + "backends/megatron_utils/loss.py", root + "backends/megatron_utils/update_weight/"
    if name == "relax":
        actor, model, loss = (root + "backends/megatron/%s.py" % x for x in ("actor", "model", "loss"))
        weights = root + "backends/megatron/weight_update/"
    forward = (model + ":260 forward_only", SCHEDULE, CORE + "pipeline_parallel/schedules.py:402 forward_step")
    tensor = weights + "update_weight_from_tensor.py"
    entropy = root + "utils/ppo_utils.py:718 calculate_log_probs_and_entropy"
    return dict(
        verl,
        init=RAY + (actor + ":71 init", model + ":142 setup_model_and_optimizer"),
        rollout=None, generate=None, logp_ref=None, values=None, train_critic=None,
        logp=RAY + (actor + ":266 train", actor + ":330 train_actor", actor + ":300 compute_log_prob") + forward,
        logp_old=None,
        train_actor=RAY + (actor + ":266 train", actor + ":345 train_actor", model + ":420 train",
            model + ":318 train_one_step"),
        micro={"train_actor": (SCHEDULE, CORE + "pipeline_parallel/schedules.py:402 forward_step",
            model + ":255 forward_step")},
        logprob=(loss + ":120 get_log_probs_and_entropy", entropy),
        entropy=(loss + ":120 get_log_probs_and_entropy", entropy),
        loss=(CORE + "pipeline_parallel/schedules.py:430 forward_step_calc_loss", loss + ":420 loss_function",
              loss + ":300 policy_loss_function"),
        step={"train_actor": ()},
        onload={"param": (actor + ":210 wake_up",), "optim": (actor + ":210 wake_up",)},
        offload={"param": (actor + ":190 sleep",), "optim": (actor + ":190 sleep",)},
        sync=RAY + (actor + ":480 update_weights", tensor + ":80 update_weights"),
        send=(weights + "hf_weight_iterator_direct.py:60 get_hf_weight_chunks", weights + "common.py:30 all_gather_param")
        if name == "slime" else (tensor + ":140 _send_hf_params",),
        bucket=(tensor + ":140 _send_hf_params",),
        wake=RAY + (actor + ":210 wake_up",), sleep=RAY + (actor + ":190 sleep",),
        save=RAY + (actor + ":520 save_model", model + ":600 save"),
        load=RAY + (actor + ":560 load_other_checkpoint",),
        collective=(root + "utils/reloadable_process_group.py:120 _wrap_low_level_call",),
    )


slime = _slime(ROOT + "slime/slime/", "slime")
relax = _slime(ROOT + "Relax/relax/", "relax")

T = ROOT + "Megatron-LM/megatron/training/training.py"
PRETRAIN = (ROOT + "Megatron-LM/pretrain_gpt.py:280 <module>", T + ":700 pretrain")
megatron = dict(
    slime,
    init=PRETRAIN + (T + ":1100 setup_model_and_optimizer", T + ":900 get_model"),
    train_actor=PRETRAIN + (T + ":1900 train", T + ":1250 train_step"),
    logp=None,
    micro={"train_actor": (SCHEDULE, CORE + "pipeline_parallel/schedules.py:402 forward_step",
                           ROOT + "Megatron-LM/pretrain_gpt.py:200 forward_step")},
    logprob=(MCORE_CE,), entropy=(MCORE_CE,),
    loss=(CORE + "pipeline_parallel/schedules.py:430 forward_step_calc_loss",),
    load=PRETRAIN + (T + ":1100 setup_model_and_optimizer",
                     ROOT + "Megatron-LM/megatron/training/checkpointing.py:1500 load_checkpoint",
                     CORE + "optimizer/distrib_optimizer.py:700 load_state_dict",
                     CORE + "optimizer/distrib_optimizer.py:640 _init_optimizer_states_with_dummy_values"),
    save=PRETRAIN + (T + ":1900 train", T + ":1700 save_checkpoint_and_time"),
    sync=None, wake=None, sleep=None,
)

# -- TRL: the engine lives in the trainer's process
G, HT = "trl/trainer/grpo_trainer.py", "transformers/trainer.py"
TRL = (ROOT + "grpo.py:40 <module>", HT + ":2240 train", HT + ":2555 _inner_training_loop")
trl = dict(
    verl,
    init=(ROOT + "grpo.py:31 <module>", G + ":230 __init__", "transformers/modeling_utils.py:4264 from_pretrained",
          MODULE + ":942 _apply"),
    rollout=(ROOT + "grpo.py:31 <module>", G + ":420 __init__", "trl/generation/vllm_generation.py:150 _init_vllm"),
    generate=TRL + (G + ":980 training_step", G + ":1400 _generate_and_score_completions", G + ":1250 _generate_single_turn",
                    "trl/generation/vllm_generation.py:480 generate"),
    logp_old=TRL + (G + ":980 training_step", G + ":1400 _generate_and_score_completions",
                    G + ":800 _get_per_token_logps_and_entropies"),
    logp_ref=None, values=None, train_critic=None,
    train_actor=TRL + (G + ":990 training_step",),
    micro={"train_actor": (G + ":1700 compute_loss", G + ":1750 _compute_loss",
    G + ":800 _get_per_token_logps_and_entropies")},
    logprob=("trl/trainer/utils.py:1400 selective_log_softmax",), entropy=("trl/trainer/utils.py:1480 entropy_from_logits",),
    backward=("accelerate/accelerator.py:2550 backward",),
    step={"train_actor": TRL[2:] + ("accelerate/optimizer.py:165 step",)},
    clip=TRL[2:] + ("accelerate/accelerator.py:2700 clip_grad_norm_",) + CLIP,
    sync=TRL + (G + ":980 training_step", G + ":1400 _generate_and_score_completions",
                "trl/generation/vllm_generation.py:300 sync_weights"),
    send=("trl/generation/vllm_generation.py:280 _push_param_to_vllm",),
    bucket=("trl/generation/vllm_generation.py:280 _push_param_to_vllm",),
    sleep=TRL + (G + ":980 training_step", "vllm/entrypoints/llm.py:1500 sleep"),
    wake=TRL + (G + ":980 training_step", "vllm/entrypoints/llm.py:1520 wake_up"),
    save=TRL + (G + ":1900 _save_checkpoint",),
)
SFT = "trl/trainer/sft_trainer.py"
trl_sft = dict(
    trl,
    init=(ROOT + "sft.py:24 <module>", SFT + ":310 __init__", "transformers/modeling_utils.py:4264 from_pretrained",
          MODULE + ":942 _apply"),
    rollout=None, generate=None, logp_old=None, sync=None, wake=None, sleep=None,
    train_actor=(ROOT + "sft.py:60 <module>",) + TRL[1:] + (SFT + ":1180 training_step",),
    micro={"train_actor": (SFT + ":1090 compute_loss",)},
    logprob=("transformers/loss/loss_utils.py:60 ForCausalLMLoss", "torch/nn/functional.py:3494 cross_entropy"),
)

# -- OpenRLHF on DeepSpeed; vLLM runs in other processes
O, DS = "openrlhf/trainer/ray/ppo_actor.py", "openrlhf/utils/deepspeed/deepspeed.py"
openrlhf = dict(
    trl,
    init=RAY + (O + ":250 init_model_from_pretrained", DS + ":200 prepare", DS + ":240 _ds_init_train_model"),
    rollout=None, generate=None,
    logp_old=RAY + (O + ":480 forward", "openrlhf/models/actor.py:180 forward"),
    train_actor=RAY + (O + ":420 fit", O + ":110 ppo_train", O + ":190 training_step"),
    micro={"train_actor": ("openrlhf/models/actor.py:180 forward",)},
    logprob=("openrlhf/models/utils.py:110 log_probs_from_logits",),
    entropy=("openrlhf/models/utils.py:140 compute_entropy",),
    backward=(DS + ":130 backward",),
    step={"train_actor": (DS + ":140 optimizer_step",)},
    clip=(DS + ":140 optimizer_step",) + CLIP,
    sync=RAY + (O + ":520 broadcast_to_vllm",), send=(O + ":310 _broadcast_param",), bucket=(O + ":340 _handle_cuda_ipc",),
    sleep=None, wake=None,
    save=RAY + (O + ":600 save_checkpoint", DS + ":420 save_ckpt"),
)

# -- NeMo-RL on DTensor (FSDP2); vLLM in other processes
N = "nemo_rl/models/policy/workers/dtensor_policy_worker_v2.py"
nemorl = dict(
    trl,
    init=RAY + (N + ":160 __init__",) + SHARD,
    rollout=None, generate=None,
    logp_old=RAY + (N + ":820 get_logprobs",),
    train_actor=RAY + (N + ":520 train",),
    micro={"train_actor": ()},
    logprob=("nemo_rl/distributed/model_utils.py:120 get_logprobs_from_logits",),
    entropy=("nemo_rl/distributed/model_utils.py:160 compute_entropy",),
    backward=(),
    step={"train_actor": ()}, clip=CLIP,
    sync=RAY + (N + ":1300 stream_weights_via_ipc_zmq",), send=(N + ":1320 dtensor_params_generator",),
    bucket=("nemo_rl/models/policy/utils.py:400 stream_weights_via_ipc_zmq_impl",),
    onload={"param": (), "optim": ()}, offload={"param": (), "optim": ()},
    sleep=RAY + (N + ":1400 offload_before_refit",), wake=RAY + (N + ":1380 prepare_for_training",),
    save=RAY + (N + ":1450 save_checkpoint",),
)

# -- transformers' Trainer, and a script of one's own
HF = (ROOT + "sft/run_sft.py:88 <module>", HT + ":2240 train", HT + ":2555 _inner_training_loop")
hf = dict(
    trl,
    init=(ROOT + "sft/run_sft.py:41 <module>", "transformers/modeling_utils.py:4264 from_pretrained", MODULE + ":942 _apply"),
    rollout=None, generate=None, logp_old=None, sync=None, sleep=None, wake=None,
    train_actor=HF + (HT + ":3718 training_step",),
    micro={"train_actor": (HT + ":3780 compute_loss",)},
    logprob=("transformers/loss/loss_utils.py:60 ForCausalLMLoss", "torch/nn/functional.py:3494 cross_entropy"),
    entropy=("transformers/loss/loss_utils.py:60 ForCausalLMLoss", "torch/nn/functional.py:3494 cross_entropy"),
    step={"train_actor": HF + ("accelerate/optimizer.py:165 step",)},
    clip=HF + ("accelerate/accelerator.py:2700 clip_grad_norm_",) + CLIP,
    save=HF + (HT + ":3150 _save_checkpoint",),
    eval=HF + (HT + ":4300 evaluate", HT + ":4500 evaluation_loop", HT + ":4700 prediction_step"),
)
hf_own = dict(  # a Trainer whose prediction_step is the job's own: Transformers' runs without gradients
    hf, eval=HF + (HT + ":4300 evaluate", HT + ":4500 evaluation_loop", ROOT + "sft/run_sft.py:70 prediction_step"),
)
# -- programs for fine-tuning: two that drive the Trainer, one with loops of its own, each with settings of its own
LF = ROOT + "LLaMA-Factory/src/llamafactory/"
LF_RUN = (LF + "launcher.py:180 <module>", LF + "train/tuner.py:168 run_exp", LF + "train/tuner.py:116 _training_function")
LF_SFT = LF_RUN + (LF + "train/sft/workflow.py:133 run_sft",) + HF[1:]
llamafactory = dict(
    hf,
    init=LF_RUN + (LF + "train/sft/workflow.py:52 run_sft", LF + "model/loader.py:178 load_model") + hf["init"][1:],
    train_actor=LF_SFT + (HT + ":3718 training_step",),
    micro={"train_actor": (LF + "train/sft/trainer.py:175 compute_loss", HT + ":3780 compute_loss")},
    step={"train_actor": LF_SFT + hf["step"]["train_actor"][-1:]}, clip=LF_SFT + hf["clip"][len(HF):],
    save=LF_SFT + hf["save"][-1:],
    eval=LF_SFT + (HT + ":4300 evaluate", HT + ":4500 evaluation_loop", LF + "train/sft/trainer.py:195 prediction_step", HT + ":4700 prediction_step"),
)
LF_DPO = LF_RUN + (LF + "train/dpo/workflow.py:110 run_dpo",) + HF[1:]
DPO_LOSS = LF_DPO + (HT + ":3718 training_step", LF + "train/dpo/trainer.py:325 compute_loss", "trl/trainer/dpo_trainer.py:1510 compute_loss",
                     LF + "train/dpo/trainer.py:295 get_batch_loss_metrics")
llamafactory_dpo = dict(
    llamafactory,
    train_actor=DPO_LOSS[:-3], micro={"train_actor": DPO_LOSS[-3:] + (LF + "train/dpo/trainer.py:240 concatenated_forward",)},
    logp_ref=DPO_LOSS + (LF + "train/dpo/trainer.py:270 compute_reference_log_probs", LF + "train/dpo/trainer.py:240 concatenated_forward"),
    logprob=(LF + "train/trainer_utils.py:612 get_batch_logps",),
    step={"train_actor": LF_DPO + hf["step"]["train_actor"][-1:]}, clip=LF_DPO + hf["clip"][len(HF):],
)
UN = "/content/unsloth_compiled_cache/UnslothSFTTrainer.py"
UN_TRAIN = ("/content/sft.py:60 <module>", HT + ":2240 train", "<string>:330 _fast_inner_training_loop")
unsloth = dict(
    hf,
    init=("/content/sft.py:12 <module>", "unsloth/models/loader.py:594 from_pretrained", "unsloth/models/llama.py:2640 from_pretrained") + hf["init"][1:],
    train_actor=UN_TRAIN + (UN + ":1190 training_step", "<string>:40 _unsloth_training_step"), micro={"train_actor": (UN + ":1150 compute_loss",)},
    step={"train_actor": UN_TRAIN + hf["step"]["train_actor"][-1:]}, clip=UN_TRAIN + hf["clip"][len(HF):],
)
AX = "axolotl/"
AX_TRAIN = (AX + "cli/train.py:150 <module>", AX + "cli/train.py:130 do_cli", AX + "cli/train.py:70 do_train", AX + "train.py:660 train",
            AX + "train.py:226 execute_training") + HF[1:]
axolotl = dict(
    hf,
    init=AX_TRAIN[:3] + (AX + "train.py:640 train", AX + "train.py:570 setup_model_and_trainer", AX + "train.py:100 setup_model_and_tokenizer",
                         AX + "loaders/model.py:180 load") + hf["init"][1:],
    train_actor=AX_TRAIN + (HT + ":3718 training_step",),
    micro={"train_actor": (AX + "core/trainers/base.py:445 compute_loss", HT + ":3780 compute_loss")},
    step={"train_actor": AX_TRAIN + hf["step"]["train_actor"][-1:]}, clip=AX_TRAIN + hf["clip"][len(HF):],
    save=AX_TRAIN + (AX + "core/trainers/base.py:910 _save_checkpoint", HT + ":3150 _save_checkpoint"),
    eval=AX_TRAIN + (AX + "core/trainers/base.py:466 evaluate", HT + ":4300 evaluate", HT + ":4500 evaluation_loop",
                     AX + "core/trainers/base.py:480 prediction_step", HT + ":4700 prediction_step"),
)


def own_model(place):
    return place.replace(HF_MODEL, "torchtune/modules/transformer.py")


def recipe(name, loss, **more):
    """One of torchtune's recipes: a file with its own loop."""
    file = "recipes/" + name + ".py"
    run = (file + ":1165 <module>", "torchtune/config/_parse.py:99 wrapper", file + ":1160 recipe_main")
    return dict(
        hf, model=own_model,
        init=run + (file + ":370 setup", file + ":690 _setup_model", MODULE + ":942 _apply"),
        train_actor=run + (file + ":1016 train",), micro={"train_actor": (file + ":%d %s" % loss,)},
        logprob=("torchtune/modules/loss/ce_chunked_output_loss.py:80 forward", "torch/nn/functional.py:3494 cross_entropy"),
        backward=(), step={"train_actor": run + (file + ":1049 train",)}, clip=CLIP,
        save=run + (file + ":1108 train", file + ":922 save_checkpoint", "torchtune/training/checkpointing/_checkpoint_client.py:380 save_checkpoint"),
        eval=run + (file + ":1137 train", file + ":891 validate", file + ":860 _loss_step"), **more)


torchtune = recipe("full_finetune_distributed", (858, "_loss_step"))
torchtune_single = recipe("full_finetune_single_device", (560, "_loss_step"))
torchtune_dpo = recipe("lora_dpo_single_device", (470, "concatenated_forward"))
torchtune_dpo["logp_ref"] = torchtune_dpo["train_actor"][:-1] + ("recipes/lora_dpo_single_device.py:544 train",) + torchtune_dpo["micro"]["train_actor"]
torchtune_dpo["train_actor"] = torchtune_dpo["train_actor"][:-1] + ("recipes/lora_dpo_single_device.py:517 train",)
TITAN = ROOT + "torchtitan/torchtitan/train.py"
torchtitan = dict(
    hf, init=(TITAN + ":760 <module>", TITAN + ":240 __init__") + SHARD,
    train_actor=(TITAN + ":765 <module>", TITAN + ":690 train", TITAN + ":580 train_step"),
    micro={"train_actor": (TITAN + ":530 forward_backward_step",)}, backward=(TITAN + ":540 forward_backward_step",),
    logprob=("torchtitan/components/loss.py:25 cross_entropy_loss", "torch/nn/functional.py:3494 cross_entropy"),
    step={"train_actor": (TITAN + ":765 <module>", TITAN + ":690 train", TITAN + ":620 train_step")}, clip=CLIP,
    save=(TITAN + ":765 <module>", TITAN + ":700 train", "torchtitan/components/checkpoint.py:440 save"),
    eval=(TITAN + ":765 <module>", TITAN + ":705 train", "torchtitan/components/validate.py:200 validate"),
)
SCRIPT = "/workspace/gpt/train.py"
plain = dict(
    hf,
    init=(SCRIPT + ":212 <module>", MODULE + ":1340 to", MODULE + ":942 _apply", MODULE + ":1326 convert"),
    generate=None, eval=(SCRIPT + ":300 <module>",),
    logp_old=(SCRIPT + ":230 <module>", "torch/utils/_contextlib.py:116 decorate_context", SCRIPT + ":90 compute_log_prob"),
    train_actor=(SCRIPT + ":240 <module>",),
    micro={"train_actor": (SCRIPT + ":120 training_step",)},
    logprob=("torch/nn/functional.py:3494 cross_entropy",), entropy=("torch/nn/functional.py:3494 cross_entropy",),
    backward=(), step={"train_actor": ()}, clip=CLIP,
    save=(SCRIPT + ":280 <module>", "torch/serialization.py:965 save"),
)

# -- an engine in a process of its own
none = dict.fromkeys(("init", "rollout", "generate", "sleep", "wake", "sync"))

# -- engines
V = "vllm/v1/worker/gpu_worker.py"
VR = "vllm/v1/worker/gpu_model_runner.py"
vllm = {
    "outer": ("vllm/v1/engine/core.py:82 __init__",),
    "load": (V + ":213 load_model", VR + ":1875 load_model", "vllm/model_executor/model_loader/base_loader.py:44 load_model",
             "vllm/model_executor/layers/linear.py:413 create_weights"),
    "profile": (V + ":245 determine_available_memory", VR + ":2413 profile_run", VR + ":2302 _dummy_run"),
    "profile_sampler": (V + ":245 determine_available_memory", VR + ":2413 profile_run", VR + ":2350 _dummy_sampler_run"),
    "kv": (V + ":290 initialize_from_config", VR + ":2880 initialize_kv_cache", VR + ":2790 initialize_kv_cache_tensors",
           VR + ":2700 _allocate_kv_cache_tensors"),
    "graph": (V + ":310 compile_or_warm_up_model", VR + ":2600 capture_model", VR + ":2650 _capture_cudagraphs",
              VR + ":2302 _dummy_run", "vllm/compilation/cuda_graph.py:150 __call__"),
    "run": ("vllm/v1/engine/core.py:240 step", V + ":330 execute_model", VR + ":1420 execute_model"),
    "prefill": (), "decode": (),
    "model": VLLM_MODEL, "logits": ("vllm/model_executor/layers/logits_processor.py:60 forward",),
    "sample": NN + ("vllm/v1/sample/sampler.py:71 forward", "vllm/v1/sample/sampler.py:131 sample"),
    "sleep": ("vllm/device_allocator/cumem.py:210 sleep",), "wake": ("vllm/device_allocator/cumem.py:250 wake_up",),
    "prompt_logprobs": (VR + ":1700 _get_prompt_logprobs_dict",),
    "draft": (V + ":213 load_model", VR + ":1890 load_model", "vllm/v1/spec_decode/llm_base_proposer.py:1240 load_model",
              "vllm/model_executor/model_loader/base_loader.py:44 load_model", "vllm/model_executor/layers/linear.py:413 create_weights"),
    "experts": ("vllm/model_executor/layers/fused_moe/modular_kernel.py:600 _allocate_buffers", "vllm/v1/worker/workspace.py:92 get_simultaneous",
                "vllm/v1/worker/workspace.py:176 _ensure_workspace_size"),
    "packed": (V + ":600 update_weights", "vllm/distributed/weight_transfer/nccl_engine.py:187 receive_weights",
               "vllm/distributed/weight_transfer/packed_tensor.py:215 packed_nccl_broadcast_consumer"),
    "update": ("vllm/v1/worker/gpu_worker.py:600 update_weights",
    "verl/workers/rollout/vllm_rollout/utils.py:140 update_weights_from_ipc"),
}
N = "nanovllm/engine/model_runner.py"
NE = ("nanovllm/engine/llm_engine.py:66 generate", "nanovllm/engine/llm_engine.py:48 step", N + ":78 call")
nanovllm = {
    "outer": ("nanovllm/engine/llm_engine.py:31 __init__", N + ":37 __init__"),
    "load": ("nanovllm/models/qwen3.py:200 __init__", "nanovllm/models/qwen3.py:165 __init__", "nanovllm/layers/linear.py:25 __init__"),
    "profile": (N + ":90 warmup_model", N + ":212 run", N + ":194 run_model"), "profile_sampler": (N + ":90 warmup_model", N + ":213 run"),
    "kv": (N + ":115 allocate_kv_cache",), "graph": (N + ":238 capture_cudagraph",),
    "run": NE + (N + ":212 run", N + ":194 run_model"), "prefill": (), "decode": (), "model": "nanovllm/models/qwen3.py",
    "logits": ("nanovllm/models/qwen3.py:216 compute_logits", "nanovllm/layers/embed_head.py:61 forward"),
    "sample": NN + ("nanovllm/layers/sampler.py:11 forward",),
}
MS, ME = "minisgl/scheduler/scheduler.py", "minisgl/engine/engine.py"
minisgl = {
    "outer": (MS + ":50 __init__", ME + ":84 __init__"), "load": (ME + ":150 _load_weight_state_dict", "minisgl/models/weight.py:121 load_weight"),
    "profile": (), "profile_sampler": (), "kv": ("minisgl/kvcache/__init__.py:40 create_kvcache_pool", "minisgl/kvcache/mha_pool.py:28 __init__"),
    "graph": ("minisgl/engine/graph.py:100 __init__", "minisgl/engine/graph.py:143 _capture_graphs"),
    "run": (MS + ":131 run_forever", MS + ":90 overlap_loop", MS + ":230 _forward", ME + ":220 forward_batch"), "prefill": (), "decode": (),
    "model": "minisgl/models/qwen3.py", "logits": ("minisgl/models/qwen3.py:80 forward", "minisgl/layers/embedding.py:100 forward"),
    "sample": ("minisgl/engine/sample.py:75 sample", "minisgl/engine/sample.py:32 sample_impl"),
}
S, SR = "sglang/srt/managers/", "sglang/srt/model_executor/model_runner.py"
LOOP = (S + "scheduler.py:2600 run_scheduler_process", S + "scheduler.py:900 event_loop_overlap")
sglang = {
    "outer": (S + "scheduler.py:2600 run_scheduler_process", S + "scheduler.py:260 __init__", S + "tp_worker.py:90 __init__"),
    "load": (SR + ":620 load_model", "sglang/srt/model_loader/loader.py:440 load_model",
             "sglang/srt/layers/quantization/unquant.py:90 create_weights"),
    "draft": ("sglang/srt/speculative/eagle_worker_v2.py:150 __init__", SR + ":620 load_model", "sglang/srt/model_loader/loader.py:440 load_model",
              "sglang/srt/layers/quantization/unquant.py:90 create_weights"),
    "profile": (SR + ":1180 init_memory_pool", SR + ":1020 profile_max_num_token"),
    "profile_sampler": (SR + ":1180 init_memory_pool", SR + ":1020 profile_max_num_token"),
    "table": (SR + ":1180 init_memory_pool", "sglang/srt/mem_cache/memory_pool.py:92 __init__"),
    "kv": (SR + ":1180 init_memory_pool", "sglang/srt/mem_cache/memory_pool.py:420 __init__",
           "sglang/srt/mem_cache/memory_pool.py:480 _create_buffers"),
    "graph": (SR + ":1500 init_cuda_graphs", "sglang/srt/model_executor/cuda_graph_runner.py:380 capture",
              "sglang/srt/model_executor/cuda_graph_runner.py:520 capture_one_batch_size"),
    "run": LOOP + (S + "scheduler.py:1700 run_batch", S + "tp_worker.py:220 forward_batch_generation"),
    "prefill": (SR + ":1600 forward_extend",), "decode": (SR + ":1580 forward_decode",),
    "model": "sglang/srt/models/qwen3.py",
    "logits": NN + ("sglang/srt/layers/logits_processor.py:300 forward",
    "sglang/srt/layers/logits_processor.py:450 _get_logits"),
    "sample": NN + ("sglang/srt/layers/sampler.py:60 forward",),
    "sleep": (S + "scheduler_update_weights_mixin.py:110 release_memory_occupation",),
    "wake": (S + "scheduler_update_weights_mixin.py:150 resume_memory_occupation",),
    "prompt_logprobs": NN + ("sglang/srt/layers/logits_processor.py:300 forward",),
    "update": LOOP + (S + "scheduler_update_weights_mixin.py:60 update_weights_from_tensor",
    SR + ":900 update_weights_from_tensor"),
}


def full(places):
    return tuple(p if p[0] in "/<" else SITE + p for p in places)
