"""SkyRL, ROLL, prime-rl and ms-swift: memory runs out in training, in a pass without gradients, in generation and in the weight update, and the
settings that are named are the framework's own (of the versions that analysis/rules/fixes/ names)."""

from cells import ACT, HALF, LONG, LOSS, MANY
from generator.record import GIB, MIB
from generator.scenario import Scenario
from logs import SITE, WORKER, frames, torch_says
from savings import PACKED, STATES, sequences_of
from tickets import MEGATRON, VLLM

SKYRL = {"framework": "skyrl"}
SKYRL_MEGATRON = dict(MEGATRON, framework="skyrl_megatron")
ROLL = {"framework": "roll"}
PRIME = {"framework": "prime_rl"}
SWIFT = {"framework": "swift", "backend": "plain", "dp": 1, "shape": "qwen2_1.5b", "layers": 6}
IE, SC = "generator.inference_engine.", ".strategy_args.strategy_config."
LOGITS = ("capacity", "giant_tensor")
RUN = dict(VLLM, kv=20 * GIB)
CHUNKS = {"step": ("weight_sync",), "sync": "chunks", "bucket": 4096 * MIB, "layers": 20, "steps": 1}
GENERATES = ("rollout.generate", "rollout.prefill", "rollout.decode", "rollout.sample")

SKYRL_ARGS = ("python -m skyrl.train.entrypoints.main_base trainer.strategy=fsdp trainer.placement.colocate_all=true trainer.micro_train_batch_size_per_gpu=8 "
              "trainer.micro_forward_batch_size_per_gpu=16 trainer.max_prompt_length=512 generator.sampling_params.max_generate_length=1024 "
              "trainer.gradient_checkpointing=false generator.inference_engine.gpu_memory_utilization=0.8 generator.inference_engine.max_num_seqs=512 generator.inference_engine.weight_transfer_threshold_cuda_ipc_GB=4")
ROLL_YAML = """\
rollout_batch_size: 64
prompt_length: 2048
response_length: 4096
model_update_buffer_size_mb: 4096
actor_train:
  training_args:
    per_device_train_batch_size: 4
  strategy_args:
    strategy_name: fsdp2_train
    strategy_config:
      fsdp_size: 16
      reshard_after_forward: true
      offload_policy: false
  infer_batch_size: 4
actor_infer:
  strategy_args:
    strategy_name: vllm
    strategy_config:
      gpu_memory_utilization: 0.8
      max_model_len: 8000
reference:
  strategy_args:
    strategy_name: fsdp2_infer
  infer_batch_size: 8
"""
PRIME_ARGS = "uv run rl --trainer.model.seq-len 8192 --trainer.model.cp 1 --no-trainer.model.optim-cpu-offload --inference.vllm.gpu-memory-utilization 0.9"
SWIFT_ARGS = ("swift rlhf --rlhf_type grpo --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.55 --per_device_train_batch_size 4 --sleep_level 0 "
              "--max_completion_length 1024 --deepspeed zero2")
SETS = {"skyrl": ["--args", SKYRL_ARGS], "roll": ["--config", "{folder}/rlvr.yaml"], "prime_rl": ["--args", PRIME_ARGS], "swift": ["--args", SWIFT_ARGS]}
RULE = {"skyrl": "B52", "roll": "B53", "prime_rl": "B54", "swift": "B55"}


def case(framework, name, job, fail, sets, set_up=True, not_sets=(), **more):
    """sets: the lines that are typed."""
    more.setdefault("cause", "capacity")
    more.setdefault("must_not", ["B29", "B30", "B31", "P08", "B41", "B33"])
    rule = RULE[framework]
    return Scenario("rl-%s-%s" % (framework.replace("_", "-"), name), "%s: %s" % (framework, name), job, fail, must=[rule], sets={rule: sets}, not_sets={rule: list(not_sets)},
                    options=SETS[framework] if set_up else (), files={"rlvr.yaml": ROLL_YAML} if framework == "roll" and set_up else {}, **more)


def by_name(name, ticket, text, **more):
    """A log whose processes' names, or whose paths, are all that tells the framework."""
    return Scenario("rl-log-" + name, ticket, {}, snapshot=False, files={"job.log": text}, cause=more.pop("cause", "capacity"), **more)


SWIFT_FILE = "/opt/conda/lib/python3.11/site-packages/swift/rlhf_trainers/"
SWIFT_V3 = "/opt/ms-swift/swift/trainers/rlhf_trainer/grpo_trainer.py"

SCENARIOS = [
    # -- SkyRL
    case("skyrl", "activations", dict(SKYRL, **MANY), "train_actor/", ["trainer.gradient_checkpointing=true", "trainer.micro_train_batch_size_per_gpu=4"], late=True,
         phase="train", sub=ACT, top="activation", not_sets=["trainer.policy.megatron_config.context_parallel_size=2", "trainer.micro_forward_batch_size_per_gpu=8"]),
    case("skyrl", "loss", dict(SKYRL, steps=1), "train_actor/loss", ["trainer.micro_train_batch_size_per_gpu=4", "trainer.policy.sequence_parallel_size=2"], phase="train", sub=LOSS,
         top="logits", cause=LOGITS, not_sets=["trainer.fused_lm_head_logprob=true"]),
    case("skyrl", "loss-megatron", dict(SKYRL_MEGATRON, steps=1, micro=(32768,), layers=1), "train_actor/loss", ["trainer.fused_lm_head_logprob=true"], phase="train",
         top="logits", cause=LOGITS, set_up=False, not_sets=["trainer.policy.sequence_parallel_size=2"]),
    Scenario("rl-skyrl-init-megatron", "SkyRL on Megatron: the model and its buffer of gradients do not fit", dict(SKYRL_MEGATRON, layers=16), "init", late=True, cause="capacity",
             phase="init", must=["B50"], sets={"B50": "trainer.policy.megatron_config.tensor_model_parallel_size=<2 x tensor>"}, not_sets={"B50": ["--tensor-model-parallel-size <2 x tensor>"]}),
    case("skyrl", "logp", dict(SKYRL, **LONG), "logp_old", ["trainer.micro_forward_batch_size_per_gpu=8"], phase="infer", top="logits", cause=LOGITS,
         not_sets=["trainer.micro_train_batch_size_per_gpu=4"]),
    case("skyrl", "optimizer", dict(SKYRL, dp=2, **HALF), "train_actor/optimizer", ["trainer.policy.fsdp_config.cpu_offload=true"], phase="train", sub=("optimizer", "optim_state_init")),
    case("skyrl", "sync", dict(SKYRL, **CHUNKS), "weight_sync", [IE + "weight_transfer_threshold_cuda_ipc_GB=2"],
         late=True, phase="weight_sync", not_sets=[IE + "offload_kv_for_weight_sync=true"]),
    case("skyrl", "run", RUN, "rollout.generate", [IE + "gpu_memory_utilization=0.75"], phase=GENERATES, top="kv_cache"),
    # parameters and optimizer state come back for training, and are known for what they are
    Scenario("rl-skyrl-comes-back", "SkyRL's offload between phases", dict(SKYRL, optim_offload=True, param_offload=True, dp=1, layers=8, micro=(512,), steps=2), "train_actor/",
             cause="capacity", phase="train", must=["B52"]),
    # the budget in tokens is set: the micro batch sizes are ignored then
    Scenario("rl-skyrl-by-tokens", "SkyRL with max_tokens_per_microbatch", dict(SKYRL, steps=1), "train_actor/loss", cause=LOGITS, phase="train", top="logits", must=["B52"],
             not_sets={"B52": ["trainer.micro_train_batch_size_per_gpu=4"]}, options=["--args", "trainer.max_tokens_per_microbatch=32768 trainer.micro_train_batch_size_per_gpu=8"]),
    # -- ROLL
    case("roll", "activations", dict(ROLL, **MANY), "train_actor/", ["actor_train.model_args.disable_gradient_checkpointing: false",
         "actor_train.training_args.per_device_train_batch_size: 2"], late=True, phase="train", sub=ACT, top="activation",
         not_sets=["actor_train" + SC + "recompute_granularity: full", "actor_train" + SC + "context_parallel_size: 2"]),
    case("roll", "loss", dict(ROLL, steps=1), "train_actor/loss", ["actor_train.training_args.per_device_train_batch_size: 2", "actor_train.model_args.ulysses_size: 2"], phase="train",
         sub=LOSS, top="logits", cause=LOGITS),
    case("roll", "logp", dict(ROLL, **LONG), "logp_old", ["actor_train.infer_batch_size: 2"], phase="logp", top="logits", cause=LOGITS),
    case("roll", "optimizer", dict(ROLL, dp=2, **HALF), "train_actor/optimizer", ["actor_train" + SC + "offload_policy: true"], phase="train", sub=("optimizer", "optim_state_init")),
    case("roll", "sync", dict(ROLL, **CHUNKS), "weight_sync", ["model_update_buffer_size_mb: 2048"], late=True,
         phase="weight_sync"),
    case("roll", "run", RUN, "rollout.generate", ["actor_infer" + SC + "gpu_memory_utilization: 0.75"], phase=GENERATES, top="kv_cache",
         not_sets=["actor_infer" + SC + "mem_fraction_static: 0.6"]),
    # -- prime-rl
    case("prime_rl", "activations", dict(PRIME, **MANY), "train_actor/", ["--trainer.model.ac", "--trainer.model.ac-offloading"], late=True, phase="train_actor", sub=ACT, top="activation"),
    case("prime_rl", "loss", dict(PRIME, steps=1), "train_actor/loss", ["--trainer.model.cp 2", "--trainer.model.fused-lm-head-token-chunk-size 1024"], phase="train_actor", sub=LOSS,
         top="logits", cause=LOGITS),
    case("prime_rl", "optimizer", dict(PRIME, dp=2, **HALF), "train_actor/optimizer", ["--trainer.model.optim-cpu-offload"], phase="train_actor", sub=("optimizer", "optim_state_init")),
    case("prime_rl", "sync", dict(PRIME, step=("train_actor", "weight_sync"), sync="full", layers=8, micro=(2048,), steps=1), "weight_sync",
         ["--trainer.model.optim-cpu-offload"], late=True, phase="weight_sync", not_sets=["--inference.vllm.gpu-memory-utilization 0.8"]),
    case("prime_rl", "run", RUN, "rollout.generate", ["--inference.vllm.gpu-memory-utilization 0.85"], phase=GENERATES, top="kv_cache"),
    # -- ms-swift
    case("swift", "loss", dict(SWIFT, micro=(16384,), steps=1), "train_actor/loss", ["--per_device_train_batch_size 2", "--use_liger_kernel true", "--sequence_parallel_size 2"],
         phase="train_actor", top="logits", cause=LOGITS, not_sets=["--context_parallel_size 2", "--micro_batch_size 1"]),
    case("swift", "logp", dict(SWIFT, **LONG), "logp_old", ["--per_device_train_batch_size 2"], phase="logp", top="logits", cause=LOGITS, not_sets=["--use_liger_kernel true"]),
    case("swift", "generate", dict(SWIFT, engine="vllm", engine_layers=6, kv=20 * GIB, begin=("init", "rollout_init"), step=("generate",), steps=1), "rollout.generate",
         ["--vllm_gpu_memory_utilization 0.5", "--offload_model true"], phase=GENERATES, top="kv_cache"),
    case("swift", "sync", dict(SWIFT, step=("weight_sync",), sync="full", steps=1), "weight_sync", ["--move_model_batches 16"], late=True, phase="weight_sync"),
    Scenario("rl-skyrl-engine-never-sleeps", "SkyRL's engines can sleep with colocate_all only", dict(SKYRL, engine="vllm", sleep=False, engine_layers=6, kv=20 * GIB, micro=(512,),
             begin=("init", "rollout_init"), step=("generate", "train_actor"), steps=2, optimizer="fused", fused_head=True), "train_actor/", cause="stale_engine", phase="train", top="kv_cache",
             must=["B34"], sets={"B34": "trainer.placement.colocate_all=true"}),
    Scenario("rl-skyrl-packed-update", "SkyRL sets vLLM's buffers itself", dict(PACKED, buckets=2), kind="peak", phase="weight_sync", must=["B52"], must_not=["B72"], options=SETS["skyrl"]),
    case("swift", "engine-never-sleeps", dict(SWIFT, engine="vllm", sleep=False, engine_layers=6, kv=20 * GIB, micro=(512,), begin=("init", "rollout_init"), step=("generate", "train_actor"),
         steps=2, optimizer="fused", fused_head=True), "train_actor/", ["--sleep_level 1"], cause="stale_engine", phase="train_actor", top="kv_cache", must_not=["B31"]),
    # -- played again with a line applied
    Scenario("saving-b52", "played again with B52 applied", dict(SKYRL, **dict(STATES, optimizer="fused")), "train_actor", late=True, cause="capacity", phase="train", must=["B52"],
             saves={"B52": {"offload_policy": True}}, where="train_actor"),
    Scenario("saving-b52-set", "played again with half of the sequences that are set", dict(SKYRL, micro=(16384,), steps=2), "train_actor", late=True, cause=LOGITS, phase="train", must=["B52"],
             saves={"B52": sequences_of(8)}, where="train_actor", options=["--args", "trainer.micro_train_batch_size_per_gpu=8"]),
    Scenario("saving-b53", "played again with B53 applied", dict(ROLL, **dict(STATES, optimizer="fused")), "train_actor", late=True, cause="capacity", phase="train", must=["B53"],
             saves={"B53": {"offload_policy": True}}, where="train_actor"),
    Scenario("saving-b54", "played again with B54 applied", dict(PRIME, **dict(STATES, optimizer="fused")), "train_actor", late=True, cause="capacity", phase="train_actor", must=["B54"],
             saves={"B54": {"offload_policy": True}}, where="train_actor"),
    Scenario("saving-b55", "played again with B55 applied", dict(SWIFT, **LONG), "logp_old", late=True, cause=LOGITS, phase="logp", must=["B55"],
             saves={"B55": {"skew": 0.5}}, where="logp_old"),
    # -- logs: by the names of the processes, and by the paths in the lines
    by_name("skyrl-by-name", "SkyRL", WORKER % "MegatronPolicyWorkerBase" + torch_says(2, 79.1, 1, 74, 1.5), must_not=["B29"]),
    by_name("roll", "ROLL", frames("(x pid=7) ", ("/w/roll/pipeline/base_worker.py", 475, "start_model_update"), ("/w/roll/third_party/fsdp2/model_update.py", 94, "model_update"))
            + "(x pid=7) " + torch_says(2, 79.1, 1, 74, 1.5), phase="weight_sync", must=["B53"], sets={"B53": "model_update_buffer_size_mb: 512"}),
    by_name("prime-rl", "prime-rl", frames("", ("/opt/prime-rl/src/prime_rl/trainer/rl/train.py", 400, "train"), ("/opt/prime-rl/src/prime_rl/trainer/model.py", 1314, "setup_model"))
            + torch_says(2, 79.1, 1, 74, 1.5), phase="init", must_not=["B29", "P01"]),
    by_name("swift", "ms-swift", frames("[rank0]: ", (SWIFT_FILE + "grpo_trainer.py", 1818, "training_step"), (SWIFT_FILE + "rollout_mixin.py", 974, "_move_model_to_vllm"))
            + "[rank0]: " + torch_says(2, 79.1, 1, 74, 1.5), phase="weight_sync", must=["B55"], sets={"B55": "--move_model_batches 16"}),
    by_name("swift-v3", "ms-swift 3", frames("[rank0]: ", (SWIFT_V3, 1807, "training_step"), (SWIFT_V3, 1006, "compute_loss"), (SWIFT_V3, 1608, "_get_per_token_logps_and_entropies"))
            + "[rank0]: " + torch_says(8, 79.1, 4, 70, 1.5), phase="train_actor", must=["B55"], must_not=["B31"]),
    by_name("swift-images", "ms-swift 5292", frames("[rank0]: ", (SWIFT_FILE + "grpo_trainer.py", 1818, "training_step"), (SITE + "transformers/models/qwen2_vl/modeling_qwen2_vl.py", 1178, "get_image_features"))
            + "[rank0]: " + torch_says(9.2, 14.7, 5.6, 8.1, 0.3), must=["B85"], sets={"B85": "MAX_PIXELS=1003520"}, not_sets={"B85": ["AutoProcessor.from_pretrained(<model>, max_pixels=1280*28*28)"]}),
    by_name("skyrl-engine-share", "SkyRL: the engine's share leaves no cache", "(skyrl_entrypoint pid=7) start\n(skyrl_entrypoint pid=7) File \"/w/SkyRL/skyrl/train/entrypoints/main_base.py\", line 9, in f\n"
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n", must=["B52"],
            sets={"B52": IE + "gpu_memory_utilization=<more than it is, at most 0.95>"}, must_not=["P08"]),
]
