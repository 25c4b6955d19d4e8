"""Each phase in each framework: the rows and columns of the table "phase of the failure -> settings in the order to try", as
far as a trace can show the evidence that a setting needs. Expectations are those of the guides (verl pull requests 4720 and 4722,
AReaL's handling_oom.md, Relax's oom-troubleshooting.md) and of the code they name."""

from generator import scripts
from generator.record import GIB, MIB
from generator.scenario import Scenario
from logs import RAY_SAYS
from tickets import AREAL, MEGATRON, SGLANG, VLLM

RELAX = dict(MEGATRON, framework="relax")
VERL_MEGATRON = dict(MEGATRON, framework="verl_megatron")
VERL_NEW = {"framework": "verl_new"}
PLAIN = {"framework": "plain", "backend": "plain", "dp": 1, "shape": "gpt2_medium", "layers": 12}
HF = {"framework": "hf", "backend": "plain", "dp": 1, "shape": "qwen3_0.6b", "layers": 8}
TRL = {"framework": "trl", "backend": "plain", "dp": 1, "shape": "qwen2_1.5b", "layers": 6}
OPENRLHF = {"framework": "openrlhf", "backend": "zero3", "param_bytes": 2, "state_bytes": 4}
NEMO = {"framework": "nemorl", "param_bytes": 2}
GATHERED_ANYWHERE = ["torch.distributed.checkpoint.save(get_model_state_dict(model), checkpoint_id=path)"]  # what a loop of one's own does
BETWEEN = ("V17", "V19", "V22")  # moved out between phases: back on the card while the actor is updated
LOSS, ACT = ("logits", "loss"), ("forward", "backward", "recompute", "logits", "loss", "fsdp_unshard")
VERL_ENGINE = dict(engine="vllm", begin=("init", "rollout_load", "rollout_profile", "rollout_kv"), step=(), engine_layers=12,
    kv=16 * GIB)
VERL_RUN = dict(VERL_ENGINE, begin=("init", "rollout_init"), step=("generate",), steps=1)
LONG = {"micro": (1024,), "logp": (16384,), "step": ("logp_old",), "steps": 1}
MANY = {"checkpointing": False, "layers": 16, "micro": (4096,), "shape": "llama3_8b", "steps": 1, "dp": 64}
HALF = {"steps": 1, "layers": 12, "micro": (512,)}

SLIME_ARGS = "--max-tokens-per-gpu 9216 --sglang-mem-fraction-static 0.7 --colocate --rollout-num-gpus-per-engine 2"
AREAL_YAML = """\
actor:
  backend: "fsdp:d8"
  gradient_checkpointing: true
  mb_spec:
    max_tokens_per_mb: 16384
rollout:
  backend: "sglang:d8"
  max_concurrent_rollouts: 256
gconfig:
  max_new_tokens: 4096
train_dataset:
  max_length: 1024
sglang:
  mem_fraction_static: 0.9
"""


def cell(row, column, job, fail, **more):
    more.setdefault("cause", "capacity")
    return Scenario("cell-%s-%s" % (row, column), "table of phases and settings: %s, %s" % (row, column), job, fail, **more)


SCENARIOS = [
    # -- a model is loaded
    cell("init", "verl", dict(full_load=True, layers=8), "init", late=True, phase="init", must_not=["V22"]),
    cell("init", "areal", dict(AREAL, full_load=True, layers=8), "init", late=True, phase="init", must=["A21", "A01"],
         top="param"),
    cell("init", "relax", dict(RELAX, layers=8), "init", phase="init", must=["X01", "B27"]),
    cell("init", "slime", dict(MEGATRON, layers=8), "init", phase="init", must=["B46", "B50", "B27"], must_not=["A21", "X13"]),
    cell("init", "megatron", dict(MEGATRON, framework="megatron", layers=8), "init", phase="init", must=["B46", "B50", "B27"]),
    cell("init", "plain", dict(PLAIN, layers=24), "init", phase="init", late=True, top="param", must_not=["B34", "B33"]),
    cell("init", "hf", dict(HF, layers=16), "init", phase="init", late=True, top="param", must_not=["B34", "B33"]),
    # -- the engine cannot allocate its cache
    cell("kv", "verl", VERL_ENGINE, "rollout.kv_alloc", late=True, phase="rollout.kv_alloc", top="kv_cache",
         must=["V01/down", "V34"], must_not=["V01/up", "V35", "V36", "B14"]),  # the card ran out, not the share
    cell("kv", "vllm", dict(VLLM, kv=30 * GIB), "rollout.kv_alloc", late=True, phase="rollout.kv_alloc", top="kv_cache",
         must=["P08/down", "B15"], must_not=["B14"]),
    cell("kv", "sglang", dict(SGLANG, kv=30 * GIB), "rollout.kv_alloc", late=True, phase="rollout.kv_alloc", top="kv_cache",
         must_not=["B17", "B18", "B19"]),
    cell("kv", "areal", dict(SGLANG, kv=30 * GIB), "rollout.kv_alloc", late=True, phase="rollout.kv_alloc", top="kv_cache",
         must=["A06", "A09"], options=["--config", "{folder}/areal.yaml"], files={"areal.yaml": AREAL_YAML}),
    cell("kv", "slime", dict(SGLANG, kv=30 * GIB), "rollout.kv_alloc", late=True, phase="rollout.kv_alloc", top="kv_cache",
         must=["X20"],
         options=["--args", SLIME_ARGS]),
    # -- the engine runs
    cell("run", "verl", VERL_RUN, "rollout.generate", phase="rollout.generate", top="kv_cache",
         must=["V01/down", "V36", "V35"],
         must_not=["V01/up", "B17", "B18", "B13"]),
    cell("run", "vllm", dict(VLLM, kv=20 * GIB), "rollout.generate",
         phase=("rollout.generate", "rollout.prefill", "rollout.decode"),
         top="kv_cache", must_not=["B17", "B18", "B34"]),
    cell("run-prefill", "sglang", dict(SGLANG, kv=20 * GIB, prefill=32768, running=32), "rollout.generate",
         phase="rollout.prefill",
         top="kv_cache", must=["B17"]),
    cell("run-decode", "sglang", dict(SGLANG, kv=20 * GIB, prefill=64, running=8192), "rollout.generate", late=True,
         phase=("rollout.prefill", "rollout.decode"), top="kv_cache", must=["B18"]),
    cell("run", "areal", dict(SGLANG, kv=20 * GIB, prefill=32768, running=32), "rollout.generate", phase="rollout.prefill",
         top="kv_cache",
         must=["A05", "A06", "B17"], options=["--config", "{folder}/areal.yaml"], files={"areal.yaml": AREAL_YAML}),
    cell("run", "slime", dict(SGLANG, kv=20 * GIB, prefill=32768, running=32), "rollout.generate", phase="rollout.prefill",
         top="kv_cache",
         must=["X20/down", "B17"], must_not=["X20/up"],
         options=["--args", SLIME_ARGS]),
    # -- CUDA graphs
    cell("graphs", "verl", dict(VERL_RUN, graph_sizes=(8192, 4096, 512, 256), layers=4, batched=1024, running=64),
         "rollout.graph", late=True,
         phase="rollout.graph", must=["V02", "V03"], must_not=["B19"]),
    cell("graphs", "sglang", dict(SGLANG, graph_sizes=(8192, 4096, 512, 256), batched=1024, running=64), "rollout.graph",
         late=True,
         phase="rollout.graph", must=["B19"], must_not=["V02", "V03"]),
    # -- log-probabilities without gradients
    cell("logp", "verl", LONG, "logp_old", phase="logp_old", top="logits", cause=("capacity", "giant_tensor"),
         must=["V06", "V25", "B23"],
         must_not=["V12", "V15", "V26", "B21", "V24"]),
    cell("logp-ref", "verl", dict(LONG, step=("logp_ref",), entropy=False), "logp_ref", phase="logp_ref", top="logits",
         cause=("capacity", "giant_tensor"), must=["V06"], must_not=["V25", "V12"]),
    cell("logp-new", "verl", dict(LONG, **VERL_NEW), "logp_old", phase="logp_old", top="logits",
         cause=("capacity", "giant_tensor"),
         must=["V06", "V25", "B23"]),
    cell("logp-megatron", "verl", dict(VERL_MEGATRON, **dict(LONG, layers=1)), "logp_old", phase="logp_old",
         cause=("capacity", "giant_tensor"), must=["V06", "B100"], must_not=["V29", "V14"]),
    cell("values", "verl", dict(LONG, step=("values",), layers=2, logp=(131072,)), "values", phase="values",
         must_not=["V25", "V12"]),
    cell("logp", "areal", dict(AREAL, **LONG), "logp_old", phase="logp_old", top="logits", cause=("capacity", "giant_tensor"),
         must=["A04", "A12"], must_not=["A11", "A18"]),
    cell("logp", "slime", dict(MEGATRON, **dict(LONG, step=("logp_step",), layers=1)), "logp", phase=("logp", "logp_old"),
         cause=("capacity", "giant_tensor"), must=["X10", "X16", "X09"], must_not=["X08", "X13"]),
    cell("logp", "relax", dict(RELAX, **dict(LONG, step=("logp_step",), layers=1)), "logp", phase=("logp", "logp_old"),
         cause=("capacity", "giant_tensor"), must=["X10", "X16", "X09"], must_not=["X08", "X13"]),
    cell("logp", "trl", dict(TRL, **LONG), "logp_old", phase="logp", top="logits", cause=("capacity", "giant_tensor"),
         must=["B31"]),
    cell("logp", "openrlhf", dict(OPENRLHF, **LONG), "logp_old", phase="logp_old", top="logits",
         cause=("capacity", "giant_tensor"),
         must=["B30"]),
    cell("logp", "nemorl", dict(NEMO, **LONG), "logp_old", phase="logp_old", top="logits", cause=("capacity", "giant_tensor"),
         must=["B29"]),
    # -- the loss: logits dominate
    cell("loss", "verl", dict(steps=1), "train_actor/loss", phase="train_actor", sub=LOSS, top="logits",
         cause=("capacity", "giant_tensor"),
         must=["V06", "B23"], must_not=("V12", "V26", "V08", "V07", "V33") + BETWEEN),
    cell("loss-new", "verl", dict(VERL_NEW, steps=1), "train_actor/loss", phase="train_actor", sub=LOSS, top="logits",
         cause=("capacity", "giant_tensor"), must=["V06", "B23"], must_not=("V12", "V26") + BETWEEN),
    cell("loss-megatron", "verl", dict(VERL_MEGATRON, steps=1, micro=(32768,), layers=1), "train_actor/loss",
         phase="train_actor",
         top="logits", cause=("capacity", "giant_tensor"), must=["V06"], must_not=("V12", "V15", "V29", "V14") + BETWEEN),
    cell("loss", "areal", dict(AREAL, steps=1), "train_actor/loss", phase="train_actor", sub=LOSS, top="logits",
         cause=("capacity", "giant_tensor"), must=["A04", "A12"], must_not=["A11", "A21"]),
    cell("loss", "slime", dict(MEGATRON, steps=1, micro=(32768,), layers=1), "train_actor/loss", phase="train_actor",
         sub=LOSS + ("forward",), top="logits", cause=("capacity", "giant_tensor"), must=["X11", "X09", "X15"],
         must_not=["X08", "X10", "B05"]),
    cell("loss", "relax", dict(RELAX, steps=1, micro=(32768,), layers=1), "train_actor/loss", phase="train_actor",
         sub=LOSS + ("forward",),
         top="logits", cause=("capacity", "giant_tensor"), must=["X11", "X09", "X15"], must_not=["X08", "X10"]),
    cell("loss", "trl", dict(TRL, micro=(16384,), steps=1), "train_actor/loss", phase="train_actor", top="logits",
         cause=("capacity", "giant_tensor"), must=["B31", "B09"]),
    cell("loss", "hf", dict(HF, micro=(16384,), steps=1), "train_actor/loss", phase="train", top="logits",
         cause=("capacity", "giant_tensor"), must=["B09"], must_not=["B33"]),
    cell("loss-gradients-there", "hf", dict(HF, micro=(2048, 2048, 16384), steps=2), "train_actor/loss", phase="train", top="logits",
         cause=("capacity", "giant_tensor"), must=["B05"]),
    cell("loss", "plain", dict(PLAIN, micro=(16384,), last_micro=(32768,)), "train_actor/loss", step=1, phase="train",
         sub=LOSS, top="logits",
         cause=("capacity", "giant_tensor"), must=["P02"]),
    cell("loss", "openrlhf", dict(OPENRLHF, micro=(12288,), steps=1), "train_actor/loss", phase="train_actor", top="logits",
         cause=("capacity", "giant_tensor"), must=["B30"]),
    cell("loss", "nemorl", dict(NEMO, steps=1), "train_actor/loss", phase="train_actor", top="logits",
         cause=("capacity", "giant_tensor"),
         must=["B29"]),
    # -- forward and backward: activations dominate
    cell("activations", "verl", MANY, "train_actor/", late=True, phase="train_actor", sub=ACT, top="activation",
         must=["V12", "V06", "B25"],
         must_not=("B33",) + BETWEEN),
    cell("activations-critic", "verl", dict(MANY, step=("train_critic",)), "train_critic/forward", late=True,
         phase="train_critic", sub=ACT, top="activation",
         must=["V13", "V08"], must_not=("V12", "V06", "B23", "V26") + BETWEEN),
    cell("activations-megatron", "verl", dict(VERL_MEGATRON, **dict(MANY, tp=4, micro=(16384,))), "train_actor/",
         phase="train_actor",
         sub=ACT, top="activation", must=["V14", "V06"], must_not=("V12", "V15", "V29") + BETWEEN),
    cell("activations", "areal", dict(AREAL, **MANY), "train_actor/", late=True, phase="train_actor", sub=ACT,
         top="activation", must=["A11", "A04"]),
    cell("activations", "slime", dict(MEGATRON, **dict(MANY, tp=4, micro=(16384,))), "train_actor/", phase="train_actor",
         sub=ACT,
         top="activation", must=["X08", "X09", "B36"], must_not=["B05"]),  # Megatron's buffer of gradients stays
    cell("activations", "relax", dict(RELAX, **dict(MANY, tp=4, micro=(16384,))), "train_actor/", phase="train_actor",
         sub=ACT,
         top="activation", must=["X08", "X09"]),
    cell("activations", "plain", dict(PLAIN, checkpointing=False, layers=24, micro=(4096,), last_micro=(8192,)),
         "train_actor/", step=1, phase="train",
         sub=ACT, top="activation", must=["P01", "P12", "P04"], must_not=["P03", "P05", "B33"]),
    cell("activations", "hf", dict(HF, checkpointing=False, layers=24, micro=(8192,), steps=1), "train_actor/", phase="train",
         sub=ACT,
         top="activation", must=["P01"], must_not=["B33"]),
    # -- backward: gradients dominate
    cell("gradients", "verl",
         dict(VERL_NEW, defer_sync=True, layers=20, micro=(256, 256, 256), steps=1, dp=64, shape="llama3_8b"),
         "train_actor/backward", phase="train_actor", sub=("backward", "recompute", "fsdp_unshard", "grad_reduce"),
         top="grad", must=["B24"],
         must_not=("V12", "V33", "B33") + BETWEEN),
    cell("gradients", "areal", dict(AREAL, dp=1, layers=16, micro=(256,), steps=1, shape="llama3_8b"), "train_actor/backward",
         late=True,
         phase="train_actor", must=["B28"], must_not=["A11"]),
    cell("gradients", "plain", dict(PLAIN, micro=(256,), layers=24, steps=1), "train_actor/backward", late=True,
         phase="train",
         must_not=["P01", "B33"]),
    cell("gradients", "slime", dict(MEGATRON, dp=64, micro=(256,), layers=12, steps=1), "train_actor/backward", late=True,
         phase="train_actor", top="grad", must=["B26"], must_not=["X08"]),
    # -- gradient clipping and reduction
    cell("clip", "verl", dict(HALF, backend="fsdp1", dp=2, clip_copy=True, layers=24), "train_actor/clip", late=True,
         phase="train_actor",
         sub=("grad_clip",), must=["B06", "V32", "B32"], must_not=("V12", "V06") + BETWEEN),
    cell("clip", "areal", dict(AREAL, **dict(HALF, dp=1, clip_copy=True, shape="llama3_8b")), "train_actor/clip", late=True,
         phase="train_actor", sub=("grad_clip",), must=["B28"], must_not=["A11", "A04"]),
    cell("clip", "slime", dict(MEGATRON, **dict(HALF, dp=1, clip_copy=True)), "train_actor/clip", phase="train_actor",
         sub=("grad_clip",),
         must=["B26"], must_not=["X08", "X09"]),
    # -- the optimizer's step
    cell("optimizer", "verl", dict(HALF, dp=2, micro=(512,), shape="qwen2_1.5b"), "train_actor/optimizer",
         phase="train_actor",
         sub=("optimizer", "optim_state_init"), top="optim_state", must=["B21", "B08", "B06"],
         must_not=("V24", "V12", "V06") + BETWEEN),
    cell("optimizer-megatron", "verl", dict(VERL_MEGATRON, **dict(HALF, dp=1, optimizer="fused")), "train_actor/optimizer",
         phase="train_actor", sub=("optimizer", "optim_state_init"), top="optim_state", must=["V24"],
         must_not=("B21", "V14") + BETWEEN),
    cell("optimizer", "areal", dict(AREAL, **dict(HALF, dp=2, layers=16, shape="qwen2_1.5b")), "train_actor/optimizer",
         phase="train_actor", sub=("optimizer", "optim_state_init"), must=["A18", "A17"], must_not=["A04", "A11"]),
    cell("optimizer", "slime", dict(MEGATRON, **dict(HALF, dp=1, optimizer="fused")), "train_actor/optimizer",
         phase="train_actor",
         sub=("optimizer", "optim_state_init"), top="optim_state", must=["X13", "B26"], must_not=["X08", "X09"]),
    cell("optimizer-host-full", "slime", dict(MEGATRON, **dict(HALF, dp=1, optimizer="fused")), "train_actor/optimizer",
         phase="train_actor",
         sub=("optimizer", "optim_state_init"), top="optim_state", must=["B26"], must_not=["X13"],
         options=["--log", "{folder}/job.log"], files={"job.log": RAY_SAYS}),
    cell("optimizer", "relax", dict(RELAX, **dict(HALF, dp=1, optimizer="fused")), "train_actor/optimizer",
         phase="train_actor",
         sub=("optimizer", "optim_state_init"), top="optim_state", must=["X13"], must_not=["X08", "X09"]),
    cell("optimizer", "plain", dict(PLAIN, layers=24, micro=(512,), steps=1), "train_actor/optimizer", phase="train",
         sub=("optimizer", "optim_state_init"), must=["B07", "P13"], must_not=["B06", "P01", "P03", "B32", "B33"]),  # the state fails, before any foreach temporary
    cell("optimizer", "nemorl", dict(NEMO, dp=2, **HALF), "train_actor/optimizer", phase="train_actor",
         sub=("optimizer", "optim_state_init"), must=["B29"]),
    # -- weight sync
    cell("sync", "verl", dict(step=("weight_sync",), sync="bucket", bucket=2048 * MIB, steps=1), "weight_sync", late=True,
         phase="weight_sync", top="weight_sync", must=["B22"], must_not=["B01"]),
    cell("sync", "areal", dict(AREAL, step=("weight_sync",), sync="chunks", bucket=1024 * MIB, steps=1), "weight_sync",
         late=True,
         phase="weight_sync", must=["A22", "A24"], must_not=["B01"]),
    # two tensors, each larger than any bucket, are under way: a smaller one frees nothing (saving-x17 is where it does)
    cell("sync", "slime", dict(MEGATRON, tp=8, step=("weight_sync",), sync="chunks", bucket=512 * MIB, steps=1),
         "weight_sync", late=True,
         phase="weight_sync", must=["B36"], must_not=["B01", "X17"]),
    cell("sync", "relax", dict(RELAX, tp=8, step=("weight_sync",), sync="chunks", bucket=512 * MIB, steps=1), "weight_sync",
         late=True,
         phase="weight_sync", must=["B36"], must_not=["B01", "X17"]),
    cell("sync", "openrlhf", dict(OPENRLHF, step=("weight_sync",), steps=1), "weight_sync", phase="weight_sync",
         must=["B30"]),
    cell("sync", "nemorl", dict(NEMO, step=("weight_sync",), sync="chunks", steps=1), "weight_sync", phase="weight_sync",
         must=["B29"]),
    # -- from rollout to training: what was to be gone is still there
    cell("switch", "verl",
         dict(engine="vllm", sleep=False, engine_layers=12, kv=20 * GIB, optim_offload=True, dp=1, micro=(256,), layers=12,
                                begin=("init", "rollout_init"), step=("generate", "train_actor"), steps=2, fused_head=True,
                                optimizer="fused"),
         "train_actor/", cause="stale_engine", phase="train_actor", top="kv_cache", must=["B13|B34"]),
    cell("switch", "slime",
         dict(MEGATRON, optim_offload=True, dp=1, step=("train_actor", "others_wake"), steps=2, micro=(512,),
         optimizer="fused",
                                 foreign_later=40 * GIB), "train_actor/onload", step=1, cause="foreign",
                                 phase=("train_actor", "onload_offload"),
         must=["B34"], options=["--capacity", "{card}"]),
    cell("switch", "areal",
         dict(AREAL, optim_offload=True, step=("train_actor", "others_wake"), steps=2, dp=1, layers=12, micro=(256,),
                                 optimizer="fused", foreign_later=40 * GIB), "train_actor/onload", step=1, cause="foreign",
                                 phase="train_actor", must=["B20|B34"], options=["--capacity", "{card}"]),
    # -- a collective
    cell("collective", "areal", dict(AREAL, collective=6 * GIB, micro=(256,), fused_head=True, steps=1), "train_actor/comm",
         phase="train_actor", cause=("capacity", "giant_tensor"), sub=("comm",), must_not=["A04", "A11"]),
    cell("collective", "plain", dict(PLAIN, collective=6 * GIB, micro=(256,), steps=2), "train_actor/comm", sub=("comm",),
         cause=("capacity", "giant_tensor"),
         must_not=["P01", "P02"]),
    cell("collective", "verl", dict(collective=6 * GIB, micro=(256,), fused_head=True, steps=1), "train_actor/comm",
         phase="train_actor", cause=("capacity", "giant_tensor"), sub=("comm",), must=["B10"],
         must_not=("V12", "V06") + BETWEEN),
    cell("collective", "relax", dict(RELAX, collective=6 * GIB, micro=(256,), steps=1), "train_actor/comm",
         phase="train_actor", cause=("capacity", "giant_tensor"), sub=("comm",), must=["X06"], must_not=["X08", "X09"]),
    # -- fragmentation
    cell("fragments", "verl", dict(script=scripts.churn, shape="qwen3_0.6b", layers=1), "train_actor", capacity=35 * GIB,
         cause="fragmentation", phase="train_actor", must=["B01", "B03"], must_not=["B33"]),
    cell("fragments", "areal", dict(AREAL, script=scripts.churn, shape="qwen3_0.6b", layers=1), "train_actor",
         capacity=35 * GIB,
         cause="fragmentation", phase="train_actor", must=["B28", "B01"], must_not=["B33"]),
    cell("fragments", "relax", dict(RELAX, script=scripts.churn_memory_saver, shape="qwen3_0.6b", layers=1), "train_actor",
         capacity=35 * GIB, cause="fragmentation", phase="train_actor", must=["B02"], must_not=["B01"]),
    cell("fragments", "hf", dict(HF, script=scripts.churn, layers=1), "train_actor", capacity=35 * GIB, cause="fragmentation",
         phase="train", must=["B01"], must_not=["B33"]),
    # -- checkpoint and evaluation
    cell("save", "verl", dict(step=("train_actor", "ckpt_save"), layers=12, micro=(512,), dp=64, steps=1), "ckpt_save",
         late=True,
         phase="ckpt_save", top="checkpoint", must=["B79"], must_not=["V12", "V06", "B23", "B78"],
         sets={"B79": "actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra]"}, not_sets={"B79": GATHERED_ANYWHERE}),
    cell("save-sharded", "slime", dict(MEGATRON, step=("train_actor", "ckpt_save"), layers=12, micro=(512,), dp=64, steps=1), "ckpt_save", late=True, phase="ckpt_save",
         must=["B79"], must_not=["B78"], sets={"B79": "--ckpt-format torch_dist"}, not_sets={"B79": GATHERED_ANYWHERE}),
    cell("save", "areal", dict(AREAL, step=("train_actor", "ckpt_save"), layers=16, micro=(512,), dp=64, steps=1,
         param_bytes=4), "ckpt_save",
         late=True, phase="ckpt_save", top="checkpoint", must=["B78", "B79"], must_not=["A04", "A11", "B80"]),
    cell("read", "plain", dict(PLAIN, begin=("init", "ckpt_read"), layers=24), "ckpt_load", late=True, phase="ckpt_load", must=["B80"],
         must_not=["B78", "B79"]),
    cell("eval", "hf", dict(HF, begin=("init",), step=("evaluate",), eval_keep=True, eval_batches=8, logp=(4096,), steps=1),
         "eval",
         late=True, phase="eval", top="logits", must_not=["P01", "B33"]),
    cell("eval-keeps", "hf", dict(HF, begin=("init",), step=("evaluate",), eval_keep=True, eval_batches=20, logp=(4096,), steps=1),
         "eval", late=True, cause="leak", phase="eval", top="logits", must_not=["P01"]),
    cell("eval-keeps", "plain", dict(PLAIN, shape="qwen3_0.6b", begin=("init",), step=("evaluate",), eval_keep=True, eval_batches=20, logp=(4096,), steps=1),
         "eval", late=True, cause="leak", top="logits", must_not=["P01", "B33"]),
    cell("eval-lets-go", "hf", dict(HF, begin=("init",), step=("evaluate",), eval_batches=20, logp=(32768,), layers=24, steps=1),
         "eval", late=True, cause=("capacity", "giant_tensor"), phase="eval", must_not=["P01", "B33"]),
    # one batch, of which each layer keeps: no growth
    cell("eval-with-gradients", "hf", dict(HF, begin=("init",), step=("evaluate",), eval_grad=True, checkpointing=False, eval_batches=1, layers=32,
         logp=(4096,), steps=1), "eval", late=True, cause=("capacity", "giant_tensor"), phase="eval", must_not=["B33"]),
    cell("save", "slime", dict(MEGATRON, tp=8, step=("train_actor", "ckpt_save"), layers=12, micro=(512,), dp=64, steps=1),
         "ckpt_save",
         late=True, phase="ckpt_save", must_not=["X08", "X09"]),
    # -- what the trace cannot tell
    cell("capture", "python-only", dict(mode="python", framework="megatron", backend="megatron", param_bytes=2, micro=(4096,),
                                           last_micro=(8192,)),
         "train_actor/loss", step=1, phase="train", cause=("capacity", "giant_tensor"), must=["B38"]),
]
