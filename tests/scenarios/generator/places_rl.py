"""Places of SkyRL, ROLL, prime-rl and ms-swift, as places.py has them of the others."""

from .places import CLIP, CORE, HT, MODULE, RAY, ROOT, SCHEDULE, SHARD, trl

# -- SkyRL: FSDP2, or Megatron; vLLM in processes of its own
SK = ROOT + "SkyRL/skyrl/backends/skyrl_train/"
SKW, SKF, SKS, SKU = SK + "workers/worker.py", SK + "workers/fsdp/fsdp_worker.py", SK + "distributed/fsdp_strategy.py", SK + "distributed/fsdp_utils.py"
skyrl = dict(
    trl,
    init=RAY + (SKF + ":132 init_model", SKS + ":188 prepare", SKS + ":256 _fsdp_init_train_model", SKU + ":209 apply_fsdp2") + SHARD,
    rollout=None, generate=None,
    logp_old=RAY + (SKF + ":327 forward", SKW + ":1145 forward", SKW + ":1313 _forward_micro_batch"),
    train_actor=RAY + (SKW + ":842 forward_backward", SKW + ":913 _forward_backward_micro"),
    micro={"train_actor": ()},
    logprob=(SK + "workers/model_wrapper.py:241 forward", SK + "utils/torch_utils.py:115 logprobs_from_logits", SK + "utils/torch_utils.py:158 logprobs_from_logits_v2"),
    entropy=(SK + "workers/model_wrapper.py:241 forward", SK + "utils/torch_utils.py:58 chunked_entropy_from_logits"),
    backward=(SKS + ":148 backward",),
    step={"train_actor": RAY + (SKW + ":1131 optim_step", SKS + ":152 optimizer_step")},
    clip=RAY + (SKW + ":1131 optim_step", SKS + ":152 optimizer_step", SKU + ":238 fsdp2_clip_grad_norm_") + CLIP[1:],
    onload={"param": (SKS + ":136 backload_to_gpu", SKU + ":82 load_fsdp2_model_to_gpu"), "optim": (SKS + ":136 backload_to_gpu", SKU + ":100 load_fsdp_optimizer")},
    offload={"param": (SKS + ":116 offload_to_cpu", SKU + ":67 offload_fsdp2_model_to_cpu"), "optim": (SKS + ":116 offload_to_cpu", SKU + ":88 offload_fsdp_optimizer")},
    sync=RAY + (SKF + ":267 broadcast_to_inference_engines",),
    send=(SKF + ":75 extract_weights", SKF + ":125 _gather_tensor"), bucket=(SK + "weight_sync/cuda_ipc_strategy.py:147 send_chunks",),
    sleep=RAY + (SK + "inference_servers/new_inference_worker_wrap.py:90 skyrl_sleep_for_weight_sync",), wake=None,
    save=RAY + (SKW + ":532 save_checkpoint", SKS + ":361 save_checkpoint"),
)
SKM = SK + "workers/megatron/"
SKFWD = (SKM + "megatron_model_wrapper.py:560 forward_backward_mini_batch", SCHEDULE, CORE + "pipeline_parallel/schedules.py:402 forward_step")
skyrl_megatron = dict(
    skyrl,
    init=RAY + (SKM + "megatron_worker.py:840 init_model", SKM + "megatron_worker.py:480 make_megatron_module"),
    logp_old=None, logp=RAY + (SKM + "megatron_worker.py:520 forward", SKM + "megatron_model_wrapper.py:230 forward", SCHEDULE),
    train_actor=RAY + (SKM + "megatron_worker.py:1010 forward_backward",),
    micro={"train_actor": SKFWD},
    logprob=(SKM + "megatron_model_wrapper.py:600 loss_func", SK + "distributed/megatron/model_utils.py:200 from_parallel_logits_to_logprobs"),
    entropy=(SKM + "megatron_model_wrapper.py:600 loss_func", SK + "distributed/megatron/model_utils.py:400 vocab_parallel_entropy"),
    loss=(CORE + "pipeline_parallel/schedules.py:430 forward_step_calc_loss", SKM + "megatron_model_wrapper.py:600 loss_func"),
    step={"train_actor": ()},
    sync=RAY + (SKM + "megatron_worker.py:1385 broadcast_to_inference_engines",), send=(SKM + "megatron_worker.py:150 extract_weights",),
    save=RAY + (SKW + ":532 save_checkpoint", SK + "distributed/megatron/megatron_strategy.py:300 save_checkpoint"),
)

# -- ROLL on FSDP2
RO = ROOT + "ROLL/roll/"
RB, RF, RU = RO + "pipeline/base_worker.py", RO + "distributed/strategy/fsdp2_strategy.py", RO + "third_party/fsdp2/model_update.py"
roll = dict(
    trl,
    init=RAY + (RB + ":40 initialize", RF + ":1362 initialize", RF + ":1076 initialize_fsdp2_model") + SHARD,
    rollout=None, generate=None,
    logp_old=RAY + (RB + ":130 compute_log_probs", RF + ":1106 forward_step"),
    train_actor=RAY + (RB + ":63 train_step", RF + ":1565 train_step"),
    micro={"train_actor": ()},
    logprob=(RB + ":213 loss_func", RF + ":1304 op_compute_log_probs"), entropy=(RB + ":213 loss_func", RF + ":1344 op_compute_entropy"),
    backward=(), step={"train_actor": ()}, clip=(RF + ":1433 _clip_grad_norm",) + CLIP,
    onload={"param": (RF + ":933 load_states",), "optim": (RF + ":933 load_states",)},
    offload={"param": (RF + ":948 offload_states",), "optim": (RF + ":948 offload_states",)},
    sync=RAY + (RB + ":330 start_model_update", RF + ":1696 model_update", RU + ":94 model_update", RU + ":221 _colocated_model_update"),
    send=(RU + ":23 gather_fsdp2_weights",), bucket=(RU + ":23 gather_fsdp2_weights",),
    sleep=RAY + (RO + "distributed/strategy/vllm_strategy.py:420 offload_states",), wake=RAY + (RO + "distributed/strategy/vllm_strategy.py:400 load_states",),
    save=RAY + (RB + ":327 do_checkpoint", RF + ":503 save_checkpoint"),
)

# -- prime-rl: one function is the whole trainer; the engine has GPUs of its own
PR = ROOT + "prime-rl/src/prime_rl/"
PT = PR + "trainer/rl/train.py"
PRIME = (ROOT + "prime-rl/.venv/bin/trainer.py:10 <module>", PT + ":748 main", PT + ":70 train")
prime_rl = dict(
    trl,
    init=PRIME + (PR + "trainer/model.py:1314 setup_model", PR + "trainer/model.py:823 setup_fsdp") + SHARD,
    rollout=None, generate=None, logp_old=None,
    train_actor=PRIME, micro={"train_actor": (PR + "trainer/model.py:1431 forward",)},
    logprob=(PR + "trainer/rl/loss.py:50 selective_log_softmax",), entropy=(PR + "trainer/rl/loss.py:59 compute_entropy",),
    backward=(), step={"train_actor": ()}, clip=CLIP,
    sync=PRIME + (PR + "transports/weights/nccl.py:195 broadcast_weights", PR + "transports/weights/nccl.py:140 broadcast_weights"),
    send=(PR + "transports/weights/nccl.py:163 _resolve_dtensors",), bucket=(PR + "transports/weights/nccl.py:33 broadcast_state_dict",),
    wake=None, sleep=None,
    save=PRIME + (PR + "trainer/ckpt.py:254 save", PR + "trainer/ckpt.py:167 save_to_path"),
)

# -- ms-swift's GRPO: TRL's trainer, with the engine in the same process
SW = "swift/rlhf_trainers/"
SG, SR = SW + "grpo_trainer.py", SW + "rollout_mixin.py"
SWIFT = ("swift/cli/rlhf.py:7 <module>", "swift/pipelines/train/rlhf.py:120 rlhf_main", "swift/trainers/mixin.py:961 train", HT + ":2240 train",
         HT + ":2555 _inner_training_loop", SG + ":1818 training_step", HT + ":3718 training_step")
SCORE = (SG + ":189 _prepare_inputs", SR + ":123 _generate_and_score_completions")
swift = dict(
    trl,
    init=SWIFT[:2] + ("swift/model/register.py:300 get_model", "transformers/modeling_utils.py:4264 from_pretrained", MODULE + ":942 _apply"),
    rollout=SWIFT[:2] + (SR + ":371 _prepare_vllm", SR + ":459 _prepare_vllm_engine"),
    generate=SWIFT + SCORE + (SG + ":215 _rollout_samples", SR + ":1162 _generate_completions", SR + ":1181 _fast_infer",
                              SR + ":1122 _infer_single_or_multi_turn", SR + ":1316 _colocate_rollout", SR + ":1342 _engine_infer"),
    logp_old=SWIFT + SCORE + (SG + ":737 _prepare_batch_inputs", SG + ":1601 _get_per_token_logps_and_entropies",
                              SG + ":1625 _get_per_token_logps_and_entropies_single"),
    train_actor=SWIFT,
    micro={"train_actor": (SG + ":862 compute_loss", SG + ":878 _compute_loss", SG + ":948 _compute_loss_and_metrics",
                           SG + ":1601 _get_per_token_logps_and_entropies", SG + ":1625 _get_per_token_logps_and_entropies_single",
                           SG + ":1554 _get_logps_via_local_forward")},
    logprob=("trl/trainer/utils.py:1400 selective_log_softmax",), entropy=(SW + "utils.py:644 entropy_from_logits",),
    step={"train_actor": SWIFT[:5] + ("accelerate/optimizer.py:165 step",)},
    clip=SWIFT[:5] + ("accelerate/accelerator.py:2700 clip_grad_norm_",) + CLIP,
    sync=SWIFT + SCORE + (SR + ":1181 _fast_infer", SR + ":643 _move_model_to_vllm", SR + ":974 _move_full_model_to_vllm"),
    send=(SR + ":907 _collect_state_dict_for_vllm",), bucket=(SR + ":907 _collect_state_dict_for_vllm",),
    sleep=SWIFT + SCORE + (SR + ":1181 _fast_infer", "vllm/entrypoints/llm.py:1500 sleep"),
    wake=SWIFT + SCORE + (SR + ":1181 _fast_infer", "vllm/entrypoints/llm.py:1520 wake_up"),
    save=SWIFT[:5] + ("swift/trainers/mixin.py:587 _save_checkpoint",),
)
