"""Programs for fine-tuning: LLaMA-Factory, Axolotl, torchtune, and torchtitan and the Trainer of Transformers. Their jobs run out where others do; what is
to be typed has to be a setting that the program at hand has."""

from cells import GATHERED_ANYWHERE
from generator.scenario import Scenario
from logs import SITE, TRAINER, alone, frames, torch_says
from tickets import COLOCATED

ONE = {"backend": "plain", "dp": 1, "shape": "qwen2_1.5b", "layers": 6, "steps": 1}
LF = dict(ONE, framework="llamafactory")
AXOLOTL = dict(ONE, framework="axolotl")
TUNE = dict(ONE, framework="torchtune_single")
SHARDED = {"shape": "qwen2_1.5b", "dp": 8, "steps": 1}
EVAL = {"begin": ("init",), "step": ("evaluate",), "logp": (4096,), "steps": 1}
FULL = ("capacity", "giant_tensor")
SAVE = {"step": ("train_actor", "ckpt_save"), "layers": 12, "micro": (512,), "dp": 64, "steps": 1}
STATES = {"layers": 24, "micro": (512,), "optimizer": "fused", "param_bytes": 2}
# lines that belong to other programs
HF_LINES = ["gradient_checkpointing=True", "per_device_train_batch_size=<half>, gradient_accumulation_steps=<twice>"]

LF_YAML = """\
model_name_or_path: Qwen/Qwen2.5-1.5B-Instruct
stage: sft
do_train: true
finetuning_type: full
dataset: alpaca_en_demo
template: qwen
cutoff_len: 4096
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
"""
AXOLOTL_YAML = """\
base_model: Qwen/Qwen2.5-1.5B
sequence_len: 8192
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
gradient_checkpointing: true
"""
TUNE_YAML = """\
tokenizer:
  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer
  max_seq_len: 8192
dataset:
  packed: True
optimizer:
  _component_: torch.optim.AdamW
  fused: True
batch_size: 2
gradient_accumulation_steps: 8
enable_activation_checkpointing: True
enable_activation_offloading: False
"""


def ft(name, ticket, job, fail, config="", **more):
    if config:
        more.update(options=["--config", "{folder}/run.yaml"], files={"run.yaml": config})
    more.setdefault("cause", FULL)
    return Scenario("finetune-" + name, ticket, job, fail=fail, **more)


LF_SRC = "/root/LLaMA-Factory/src/llamafactory/"
LF_EAGER = frames("", (LF_SRC + "launcher.py", 23, "<module>"), (LF_SRC + "train/tuner.py", 50, "run_exp"), (LF_SRC + "train/sft/workflow.py", 118, "run_sft"),
                  (SITE + "transformers/trainer.py", 4100, "evaluate"), (LF_SRC + "train/sft/trainer.py", 195, "prediction_step"),
                  (SITE + "transformers/models/llama/modeling_llama.py", 381, "forward"), (SITE + "torch/nn/functional.py", 1860, "softmax")) + torch_says(
                      3.17, 23.65, 2.52, 17.72, 2.94)
LF_TRAINS = frames("", (LF_SRC + "launcher.py", 23, "<module>"), (LF_SRC + "train/tuner.py", 50, "run_exp"), TRAINER,
                   (SITE + "transformers/models/llama/modeling_llama.py", 381, "forward")) + torch_says(3.17, 23.65, 2.52, 19.72, 0.4)
AX_LOSS = frames("[rank1]:   ", (SITE + "axolotl/cli/train.py", 121, "<module>"), (SITE + "axolotl/train.py", 220, "train"), TRAINER,
                 (SITE + "transformers/models/qwen3/modeling_qwen3.py", 500, "forward"), (SITE + "transformers/loss/loss_utils.py", 55, "ForCausalLMLoss")) + "[rank1]: " + torch_says(
                     18.55, 79.1, 10.87, 66.26, 0.07)
AX_BACKWARD = frames("[rank1]:   ", (SITE + "axolotl/cli/train.py", 121, "<module>"), (SITE + "axolotl/train.py", 220, "train"), TRAINER,
                     (SITE + "accelerate/accelerator.py", 2196, "backward"), (SITE + "torch/autograd/__init__.py", 267, "backward")) + "[rank1]: " + torch_says(
                         2, 23.67, 1.59, 19.75, 1.78)
TUNE_LOSS = frames("[rank0]:   ", (SITE + "recipes/full_finetune_distributed.py", 964, "<module>"), (SITE + "torchtune/config/_parse.py", 99, "wrapper"),
                   (SITE + "recipes/full_finetune_distributed.py", 959, "recipe_main"), (SITE + "recipes/full_finetune_distributed.py", 820, "train"),
                   (SITE + "torchtune/modules/transformer.py", 640, "forward")) + "[rank0]: " + torch_says(2.42, 21.96, 0.16, 20.3, 1.15)
# the modules of torchtune in a loop of one's own: no recipe, none of its settings
TUNE_AS_LIBRARY = TUNE_LOSS.replace("recipes/full_finetune_distributed.py", "mine/loop.py").replace("torchtune/config/_parse.py", "mine/main.py")
LF_JOINS = frames("", (LF_SRC + "launcher.py", 23, "<module>"), (LF_SRC + "train/tuner.py", 50, "run_exp"), (SITE + "transformers/trainer.py", 2515, "evaluation_loop"),
                  (SITE + "transformers/trainer_pt_utils.py", 97, "nested_concat")) + torch_says(3.4, 15.9, 1.1, 13.1, 0.9)
LF_IMAGES = frames("", (LF_SRC + "launcher.py", 23, "<module>"), (LF_SRC + "train/tuner.py", 50, "run_exp"), TRAINER,
                   (SITE + "transformers/models/qwen2_vl/modeling_qwen2_vl.py", 1178, "get_image_features")) + torch_says(9.2, 14.7, 5.6, 8.1, 0.3)
AX_LOADS = frames("", (SITE + "axolotl/cli/train.py", 121, "<module>"), (SITE + "axolotl/loaders/model.py", 160, "load"),
                  (SITE + "transformers/modeling_utils.py", 4100, "from_pretrained")) + torch_says(0.5, 79.3, 0.2, 76.7, 1.1)
LF_SAVES = frames("", (LF_SRC + "launcher.py", 23, "<module>"), (LF_SRC + "train/tuner.py", 50, "run_exp"), (SITE + "transformers/trainer.py", 4000, "save_model"),
                  (SITE + "accelerate/utils/fsdp_utils.py", 108, "save_fsdp_model"), (SITE + "torch/distributed/fsdp/_state_dict_utils.py", 380, "_full_pre_state_dict_hook")) + torch_says(
                      0.5, 79.3, 0.2, 76.7, 1.1)
JOINS = frames("", (SITE + "transformers/trainer.py", 2515, "evaluation_loop"), (SITE + "transformers/trainer_pt_utils.py", 97, "nested_concat"),
               (SITE + "transformers/trainer_pt_utils.py", 58, "torch_pad_and_concatenate")) + torch_says(3.4, 15.9, 1.1, 13.1, 0.9)

SCENARIOS = [
    # -- LLaMA-Factory
    ft("loss-llamafactory", "LLaMA-Factory 5709, open-thoughts 6: cutoff_len", dict(LF, micro=(16384,)), "train_actor/loss", LF_YAML, phase="train",
       top="logits", must=["P02", "B62", "B09"], must_not=["P01", "B31", "P14"],
       sets={"P02": "per_device_train_batch_size: 2", "B09": "enable_liger_kernel: true"}, not_sets={"P02": HF_LINES, "B09": ["use_liger_kernel=True"]}),
    ft("activations-llamafactory", "checkpointing was switched off", dict(LF, layers=24, checkpointing=False, micro=(4096,)), "train_actor/", phase="train",
       must=["P01", "P04", "P02"], must_not=["B31"],
       sets={"P01": "disable_gradient_checkpointing: false", "P04": "use_unsloth_gc: true", "P02": "per_device_train_batch_size: <half>"},
       not_sets={"P01": HF_LINES, "P02": HF_LINES}),
    ft("states-llamafactory", "full fine-tuning on one card", dict(LF, **STATES), "train_actor/", LF_YAML, phase="train",
       must=["B32", "B08", "P12"], sets={"B32": "finetuning_type: lora", "B08": "optim: adamw_bnb_8bit", "P12": "deepspeed: examples/deepspeed/ds_z3_config.json"}),
    ft("reference-llamafactory", "DPO: the reference in the step of the policy", dict(LF, framework="llamafactory_dpo", step=("train_actor", "logp_ref"), logp=(16384,),
                                                                                      micro=(1024,), entropy=False), "logp_ref",
       LF_YAML, phase="logp_ref", top="logits", must=["P09"], must_not=["B09", "P01", "B31"], sets={"P09": "per_device_train_batch_size: 2"}),
    ft("eval-llamafactory", "transformers 17089, LLaMA-Factory 3398: the outputs of an evaluation", dict(LF, **dict(EVAL, eval_keep="joined", eval_batches=8)), "eval",
       late=True, cause=FULL + ("leak",), phase="eval", top="logits", must=["B64", "P09"], must_not=["B84"],
       sets={"B64": "eval_accumulation_steps: 1", "P09": "per_device_eval_batch_size: <half>"}, not_sets={"B64": ["eval_accumulation_steps=1"]}),
    # -- Axolotl
    ft("loss-axolotl", "Axolotl, packed rows", dict(AXOLOTL, micro=(16384,)), "train_actor/loss", AXOLOTL_YAML, phase="train", top="logits",
       must=["P02", "B62", "B09"], must_not=["P01", "B31"],
       sets={"P02": "micro_batch_size: 1", "B09": ["liger_fused_linear_cross_entropy: true", "chunked_cross_entropy: true"]}, not_sets={"P02": HF_LINES}),
    ft("activations-axolotl", "gradient_checkpointing is false by default", dict(AXOLOTL, layers=24, checkpointing=False, micro=(4096,)), "train_actor/", phase="train",
       must=["P01", "P04"], must_not=["B31"], sets={"P01": "gradient_checkpointing: true", "P04": "activation_offloading: true"}),
    ft("states-axolotl", "states of one rank under FSDP2", dict(SHARDED, framework="axolotl", **dict(STATES, layers=28, param_bytes=4)), "train_actor/", phase="train",
       must=["B65"], must_not=["P03", "P12"], sets={"B65": "fsdp_config.offload_params: true"},
       not_sets={"B65": ["deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json"]}),
    ft("optimizer-axolotl", "bitsandbytes' optimizers are refused on FSDP2", dict(SHARDED, framework="axolotl", **dict(STATES, layers=28, param_bytes=4, steps=2)),
       "train_actor/", late=True, phase="train", must=["B08"], sets={"B08": "optimizer: adamw_torch_8bit"}, not_sets={"B08": ["optimizer: adamw_bnb_8bit"]}),
    ft("eval-axolotl", "Axolotl 1813: only with an evaluation", dict(AXOLOTL, **dict(EVAL, logp=(32768,), eval_batches=4)), "eval", late=True, phase="eval",
       must=["P09"], must_not=["B64", "P01"], sets={"P09": "eval_batch_size: <half>"}),
    ft("save-axolotl", "Axolotl 3596: the whole model is gathered", dict(SAVE, framework="axolotl"), "ckpt_save", late=True, phase="ckpt_save",
       top="checkpoint", must=["B79"], must_not=["P01", "P02", "B62", "B78"], sets={"B79": "fsdp_config.state_dict_type: SHARDED_STATE_DICT"}, not_sets={"B79": GATHERED_ANYWHERE}),
    # -- Unsloth
    ft("loss-unsloth", "unsloth 1744: a trainer of its own making", dict(LF, framework="unsloth", micro=(16384,)), "train_actor/loss", phase="train", top="logits",
       must=["B67"], must_not=["B31", "P01", "P02"], sets={"B67": ["per_device_train_batch_size=<half of its value>", "max_seq_length=<tokens>"]}),
    ft("states-unsloth", "adapters are what it trains", dict(LF, framework="unsloth", **STATES), "train_actor/", phase="train", must=["B67", "B08"],
       sets={"B08": 'optim="adamw_8bit"'}, not_sets={"B08": ["--optim adamw_bnb_8bit"]}),
    ft("eval-unsloth", "one large batch of an evaluation", dict(LF, framework="unsloth", **dict(EVAL, logp=(16384,), eval_batches=4)), "eval", late=True, phase="eval", must=["B67"],
       must_not=["B64"], sets={"B67": "per_device_eval_batch_size=<half>"}),
    # its engine is given the weights that it trains: they cannot leave the card
    ft("engine-unsloth", "vLLM within Unsloth", dict(COLOCATED, framework="unsloth"), "rollout.kv_alloc", late=True, cause=("capacity", "stale_engine"), phase="rollout.kv_alloc",
       must=["B67"], must_not=["P16"], sets={"B67": "gpu_memory_utilization=<lower than it is>"}),
    # -- torchtune
    ft("loss-torchtune", "a recipe for one card", dict(TUNE, micro=(16384,)), "train_actor/loss", TUNE_YAML, phase="train", top="logits",
       must=["P02", "B62", "B09"], must_not=["P01"], sets={"P02": "batch_size=1", "B09": "loss._component_=torchtune.modules.loss.LinearCrossEntropyLoss"},
       not_sets={"P02": ["halve the batch of one forward and call backward() twice per optimizer step"]}),
    ft("activations-torchtune", "checkpointing is off in the recipes for adapters", dict(TUNE, layers=24, checkpointing=False, micro=(4096,)), "train_actor/", phase="train",
       must=["P01", "P04"], sets={"P01": "enable_activation_checkpointing=True", "P04": ["enable_activation_checkpointing=True", "enable_activation_offloading=True"]},
       not_sets={"P01": ["torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"]}),
    ft("states-torchtune", "full fine-tuning on one card", dict(TUNE, **STATES), "train_actor/", phase="train", must=["B66", "B08"],
       sets={"B66": ["optimizer_in_bwd=True", "gradient_accumulation_steps=1", "clip_grad_norm=null"], "B08": "optimizer._component_=bitsandbytes.optim.PagedAdamW8bit"}),
    ft("shards-torchtune", "the same over eight cards", dict(SHARDED, framework="torchtune", **dict(STATES, layers=28, param_bytes=4)), "train_actor/", phase="train",
       must=["B65", "B32"], must_not=["P03", "P12"],
       sets={"B65": "fsdp_cpu_offload=True", "B32": "tune run --nproc_per_node <GPUs> lora_finetune_distributed --config <the model>/..._lora"}),
    ft("reference-torchtune", "DPO: the reference in the loop of the policy", dict(TUNE, framework="torchtune_dpo", step=("train_actor", "logp_ref"), logp=(16384,), micro=(1024,),
                                                                                   entropy=False), "logp_ref", phase="logp_ref", top="logits", must=["P09"],
       must_not=["P01", "P05", "B09"], sets={"P09": "batch_size=<half>"}),
    ft("eval-torchtune", "validation within the training loop", dict(SHARDED, framework="torchtune", layers=6, **dict(EVAL, logp=(32768,), eval_batches=4)), "eval", late=True,
       phase="eval", must=["P09"], must_not=["P01", "P05"], sets={"P09": "batch_size_val=<half>"}),
    ft("save-torchtune", "save_checkpoint of a recipe", dict(SAVE, framework="torchtune"), "ckpt_save", late=True, phase="ckpt_save", top="checkpoint",
       must=["B79"], must_not=["P01", "P02", "B62", "B78"], sets={"B79": "enable_async_checkpointing=True"}, not_sets={"B79": GATHERED_ANYWHERE}),
    # -- torchtitan, and the Trainer by itself
    ft("loss-torchtitan", "torchtitan: half the local batch", dict(SHARDED, framework="torchtitan", layers=6, micro=(16384,)), "train_actor/loss", phase="train", top="logits",
       must=["P02", "B62"], sets={"P02": "--training.local_batch_size <half>"}),
    ft("activations-torchtitan", "selective checkpointing is the default", dict(ONE, framework="torchtitan", layers=24, checkpointing=False, micro=(4096,)), "train_actor/", phase="train", must=["P01"],
       sets={"P01": "--activation_checkpoint.mode full"}),
    ft("eval-hf", "transformers 17089, 7158, 8476: nested_concat", dict(LF, framework="hf", **dict(EVAL, eval_keep="joined", eval_batches=8)), "eval", late=True,
       cause=FULL + ("leak",), phase="eval", top="logits", must=["B64"], must_not=["B33", "P07", "B84"],
       sets={"B64": ["eval_accumulation_steps=1", "prediction_loss_only=True"]}, not_sets={"B64": ["eval_accumulation_steps: 1"]}),
    ft("adapters-hf", "adapters on weights in 16 bits", dict(LF, framework="hf", lora=True, param_bytes=2, layers=28, micro=(1024,)), "train_actor/", phase="train",
       must=["B63"], must_not=["B32"]),
    # -- logs alone
    alone("eval-llamafactory", "LLaMA-Factory 3398: the scores of an attention that is written out", LF_EAGER, "capacity", phase="eval", must=["P15", "P09"],
          must_not=["B31"], sets={"P15": "flash_attn: fa2", "P09": "per_device_eval_batch_size: <half>"}),
    alone("train-llamafactory", "checkpointing is on by default: a log says nothing else", LF_TRAINS, "capacity", phase="train", must=["P02"], must_not=["P01", "B31"],
          sets={"P02": "per_device_train_batch_size: <half>"}),
    Scenario("log-train-llamafactory-without", "it was switched off", {}, snapshot=False, files={"job.log": LF_TRAINS, "run.yaml": LF_YAML + "disable_gradient_checkpointing: true\n"},
             cause="capacity", phase="train", must=["P01", "P02"], sets={"P01": "disable_gradient_checkpointing: false", "P02": "per_device_train_batch_size: 2"},
             options=["--config", "{folder}/run.yaml"]),
    alone("loss-axolotl", "logits that Transformers' loss makes 32 bits wide", AX_LOSS, "capacity", phase="train", sub=("logits",), must=["P02", "B09"],
          sets={"B09": ["liger_fused_linear_cross_entropy: true"]}),
    alone("backward-axolotl", "Axolotl 1813", AX_BACKWARD, "capacity", phase="train", must=["P02"], must_not=["B31"], sets={"P02": "micro_batch_size: <half>"}),
    alone("forward-torchtune", "llama-cookbook 898: a recipe of torchtune", TUNE_LOSS, "capacity", phase="train", must=["P01", "P02"],
          sets={"P01": "enable_activation_checkpointing=True", "P02": "batch_size=<half>"}),
    alone("torchtune-as-a-library", "the same modules in a loop of one's own", TUNE_AS_LIBRARY, "capacity",
          not_sets={"P01": ["enable_activation_checkpointing=True"], "P02": ["batch_size=<half>"]}),
    alone("eval-joins", "transformers 17089", JOINS, "capacity", phase="eval", must=["B84"], must_not=["B64"], sets={"B84": "eval_accumulation_steps=1"}),
    alone("eval-joins-llamafactory", "LLaMA-Factory 3398, in its own words", LF_JOINS, "capacity", phase="eval", must=["B84"], must_not=["B64"],
          sets={"B84": "eval_accumulation_steps: 1"}, not_sets={"B84": ["eval_accumulation_steps=1"]}),
    alone("images-llamafactory", "Qwen2-VL: images have a bound of their own", LF_IMAGES, "capacity", phase="train", must=["B85"], sets={"B85": "image_max_pixels: 262144"}),
    alone("saves-llamafactory", "the whole model is gathered for one file", LF_SAVES, "capacity", phase="ckpt_save", must=["B79"], must_not=["B78", "B87"],
          sets={"B79": "fsdp_state_dict_type: SHARDED_STATE_DICT"}, not_sets={"B79": GATHERED_ANYWHERE}),
    alone("loads-axolotl", "every process loads all weights", AX_LOADS, "capacity", phase="init", must=["B88"],
          sets={"B88": "fsdp_config.cpu_ram_efficient_loading: true"}, not_sets={"B88": ["from_pretrained(<model>, dtype=torch.bfloat16)"]}),
]
