"""What a fix is said to save against what it saves: the same job is played again with the fix applied. No memory failure here:
the highest instant of a place before and after. The place stays the highest of its phase in both runs."""

import re

from generator import copies, operations, scripts
from generator.record import GIB, MIB
from generator.scenario import Scenario
from cells import NEMO, OPENRLHF, TRL
from tickets import AREAL, COLOCATED, MEGATRON, NANO, SGLANG, VLLM

VERL_MEGATRON = dict(MEGATRON, framework="verl_megatron")
LONG = {"logp": (16384,), "step": ("logp_old",), "steps": 1}
MANY = {"checkpointing": False, "layers": 16, "micro": (4096,), "shape": "llama3_8b", "dp": 64, "steps": 2}
STATES = {"layers": 24, "micro": (512,), "shape": "qwen2_1.5b", "dp": 2, "steps": 2}
ROLLOUT = {"engine": "vllm", "engine_layers": 4, "kv": 2 * GIB, "begin": ("init", "rollout_init"), "shape": "qwen2_1.5b",
    "micro": (512,),
           "step": ("train_actor", "empty_cache", "generate"), "fused_head": True, "prefill": 131072, "running": 2048,
           "batched": 64,
           "optimizer": "fused", "steps": 2}


PLAIN = {"framework": "plain", "backend": "plain", "dp": 1, "shape": "qwen3_0.6b", "layers": 6, "steps": 2}
LOGP_OF_A_SCRIPT = {"step": ("logp_old", "train_actor"), "logp": (16384,), "micro": (512,), "entropy": False}
SHARE = {"share": 0.6, "card": 64 * GIB, "step": ("generate",), "prefill": 512, "running": 64}
CARD = ["--capacity", str(64 * GIB)]
STALE = {"engine": "vllm", "sleep": False, "engine_layers": 12, "kv": 8 * GIB, "dp": 1, "shape": "qwen2_1.5b", "layers": 8, "micro": (4096,),
         "begin": ("init", "rollout_init"), "step": ("generate", "train_actor"), "steps": 2, "optimizer": "fused"}
SLEEPS = {"sleep": True, "step": ("wake_engine", "generate", "sleep_engine", "train_actor")}
PACKED = dict(VLLM, shape="gpt2_medium", engine_layers=96, layers=96, kv=8 * GIB, step=("weight_sync",), sync="receive_packed", bucket=GIB)
AWAKE = ("none", "stale_engine", "capacity", "giant_tensor")


def tokens(values):
    """The token budget that the report proposes."""
    return {"cap": number(values)}


def number(values):
    found = [int(n) for v in values for n in re.findall(r"\d+", v)]
    if not found:
        raise ValueError("no number among the proposed values %s" % values)
    return found[-1]


def share(values):
    return {"share": float(values[-1])}


def bucket_mib(values):
    return {"bucket": number(values) * MIB}


def bucket_bytes(values):
    return {"bucket": number(values)}


def parallel(values):
    """Sequence parallel: each card has its part of the tokens."""
    return {"skew": 1.0 / number(values)}


def first(name):
    """Where another line with a number follows."""
    return lambda values: {name: int(values[0])}


def switch(name):
    return lambda values: {name: number(values)}


def sequences_of(present):
    """The same where lines with other numbers follow."""
    return lambda values: {"skew": int(values[0]) / present}


def saves(fix, job, where, change, phase, name="", **more):
    return Scenario("saving-%s%s" % (fix.lower(), "-" + name if name else ""), "played again with %s applied" % fix, job, phase=phase, must=[fix],
    saves={fix: change},
                    where=where, cause=more.pop("cause", ("none", "capacity", "giant_tensor")), kind="peak", **more)


def fewer_of(present):
    """So many sequences of `present` in a micro-batch: that part of its tokens."""
    return lambda values: {"skew": number(values) / present}


SCENARIOS = [
    # token budgets
    saves("V06", dict(micro=(16384,), steps=2), "train_actor", tokens, "train_actor", must_not=["V12"]),
    saves("A04", dict(AREAL, micro=(16384,), steps=2), "train_actor", tokens, "train_actor"),
    saves("X09", dict(MEGATRON, micro=(24576,), steps=2), "train_actor", tokens, "train_actor"),
    saves("B94", dict(MEGATRON, micro=(24576,), steps=2), "train_actor", parallel, "train_actor"),
    saves("X10", dict(MEGATRON, layers=1, **dict(LONG, step=("logp_step",), logp=(32768,))), "logp", tokens,
          ("logp", "logp_old")),
    saves("V08", dict(MANY, step=("train_critic",), checkpointing=True, micro=(65536,), layers=4), "train_critic", tokens,
          "train_critic", options=["--args", "critic.ppo_max_token_len_per_gpu=65536"]),
    saves("V29", dict(micro=(16384,), steps=2), "train_actor", parallel, "train_actor"),
    saves("A12", dict(AREAL, micro=(16384,), steps=2), "train_actor", {"skew": 0.5}, "train_actor"),
    saves("X16", dict(MEGATRON, layers=1, entropy=False, **dict(LONG, step=("logp_step",), logp=(32768,))), "logp",
          switch("loss_chunk"),
          ("logp", "logp_old")),
    # less kept for the backward
    saves("V12", MANY, "train_actor", {"checkpointing": True}, "train_actor"),
    saves("V13", dict(MANY, step=("train_critic",), shape="qwen3_0.6b", layers=20, micro=(16384,)), "train_critic", {"checkpointing": True}, "train_critic"),
    saves("A11", dict(AREAL, **MANY), "train_actor", {"checkpointing": True}, "train_actor"),
    saves("X08", dict(MEGATRON, **dict(MANY, tp=4, micro=(16384,))), "train_actor", {"checkpointing": True}, "train_actor",
          loose={"X08": "each layer keeps a block last that is wider than what the next layer reads, and that is reckoned as its input"}),
    saves("V14", dict(VERL_MEGATRON, **dict(MANY, tp=4, micro=(16384,))), "train_actor", {"checkpointing": True}, "train_actor",
          loose={"V14": "each layer keeps a block last that is wider than what the next layer reads, and that is reckoned as its input"}),
    saves("V15", dict(micro=(65536,), fused_head=True, layers=24, dp=64, steps=2, shape="qwen3_0.6b"), "train_actor",
          {"act_offload": True}, "train_actor"),
    # a promise is of the whole pass: what was still to come counts, and is not known where no pass came so far
    Scenario("kept-first-forward", "the first forward fails in its fifth layer of sixteen", dict(PLAIN, checkpointing=False, layers=16, micro=(8192,), fused_head=True),
             fail="train_actor/forward", capacity=3 * GIB, cause="capacity", top="param", must=["P01", "P02"],
             keeps={"P01": ({"checkpointing": True}, False), "P04": ({"act_offload": True}, False), "P02": ({"skew": 0.5}, False)}),
    Scenario("kept-first-loss", "the first loss fails, before any gradient", dict(PLAIN, checkpointing=False, layers=16, micro=(8192,)), fail="train_actor/loss", cause="giant_tensor",
             must=["B09", "P02"], keeps={"P04": ({"act_offload": True}, False), "P02": ({"skew": 0.5}, False)}),
    Scenario("kept-longer", "a batch four times as long as those before it, early in its forward", dict(PLAIN, checkpointing=False, layers=16, micro=(1024,), last_micro=(4096,), steps=3),
             fail="train_actor/forward", cause="capacity", must=["P02", "P01"], keeps={"P04": ({"act_offload": True}, False), "P02": ({"skew": 0.5}, False)}),
    Scenario("kept-longer-late", "the same, at its highest instant", dict(PLAIN, checkpointing=False, layers=16, micro=(1024,), last_micro=(4096,), steps=3),
             fail="train_actor/", late=True, cause=("giant_tensor", "capacity"), must=["P02"],
             keeps={"P01": ({"checkpointing": True}, False), "P04": ({"act_offload": True}, True), "P02": ({"skew": 0.5}, True)}),
    Scenario("one-unit", "fully_shard() of the model alone: each pass gathers all of it", dict(framework="plain", backend="fsdp2", one_unit=True, dp=8, shape="qwen3_0.6b", layers=12, micro=(2048,), steps=2),
             phase="train", must=["P60"], must_not=["P49"], kind="peak", sets={"P60": "for layer in model.layers: fully_shard(layer)"}),
    Scenario("one-unit-fails", "the same fails at the gradient of its embedding, which no smaller batch makes less", dict(framework="plain", backend="fsdp2", one_unit=True, dp=8, shape="qwen3_0.6b", layers=12, micro=(64,), steps=2),
             fail="train_actor/backward", late=True, phase="train", cause=("capacity", "giant_tensor"), must=["P60"], must_not=["P02", "P49"]),
    Scenario("one-unit-no", "the same, each layer a unit", dict(framework="plain", backend="fsdp2", dp=8, shape="qwen3_0.6b", layers=12, micro=(512,), steps=2),
             phase="train", must_not=["P60"], kind="peak", cause=("none", "capacity", "giant_tensor")),
    # the output head
    saves("B23", dict(micro=(32768,), layers=4, dp=64, steps=2, shape="qwen3_0.6b"), "train_actor", {"fused_head": True}, "train_actor"),
    saves("V26", dict(micro=(16384,), entropy_in_train=True, steps=2), "train_actor", {"entropy_checkpointing": True},
          "train_actor"),
    saves("V25", LONG, "logp_old", {"chunk": 2048}, "logp_old"),
    # optimizer, gradients, parameters
    saves("B06", dict(STATES), "train_actor", {"optimizer": "fused"}, "train_actor"),
    saves("B21", dict(STATES, optimizer="fused"), "train_actor", {"offload_policy": True}, "train_actor"),
    saves("A18", dict(AREAL, **dict(STATES, optimizer="fused", state_bytes=4)), "train_actor", {"optimizer": "per_layer"},
          "train_actor"),
    saves("A17", dict(AREAL, **dict(STATES, optimizer="fused", state_bytes=4)), "train_actor", {"offload_policy": True},
          "train_actor"),
    saves("X13", dict(MEGATRON, layers=8, dp=1, micro=(512,), steps=2, optimizer="fused"), "train_actor",
          {"optimizer": "cpu"},
          "train_actor"),
    saves("V24", dict(VERL_MEGATRON, layers=8, dp=1, micro=(512,), steps=2, optimizer="fused"), "train_actor",
          {"optimizer": "cpu"},
          "train_actor"),
    saves("V33", dict(reshard=False, layers=80, dp=64, micro=(64,), shape="gpt2_medium", optimizer="fused", steps=1), "train_actor",
          {"reshard": True}, "train_actor"),
    saves("A21", dict(AREAL, full_load=True, layers=16, step=(), steps=0), "init", {"full_load": False}, "init"),
    saves("B08", dict(STATES, optimizer="fused"), "train_actor", {"optimizer": "8bit"}, "train_actor"),
    saves("B24", dict(framework="verl_new", defer_sync=True, layers=20, micro=(256, 256, 256), steps=2, dp=64,
          shape="llama3_8b"),
          "train_actor", {"defer_sync": False}, "train_actor",
          loose={"B24": "while a module's gradients are reduced they are whole once more; the largest are those of embedding and head"}),
    saves("V22", dict(ROLLOUT, layers=16, dp=2), "rollout.generate", {"param_offload": True, "optim_offload": True},
          "rollout.generate",
          cause=("none", "stale_engine", "capacity")),
    # fine-tuning
    saves("B62", dict(framework="axolotl", backend="plain", dp=1, micro=(16384,), shape="qwen2_1.5b", layers=6, steps=2), "train_actor", fewer_of(8192), "train",
          options=["--config", "{folder}/run.yaml"], files={"run.yaml": "sequence_len: 8192\nsample_packing: true\nmicro_batch_size: 2\n"}),
    saves("B63", dict(framework="llamafactory", backend="plain", dp=1, lora=True, param_bytes=2, micro=(512,), shape="qwen3_8b", layers=16, steps=2), "train_actor",
          {"quantized": True}, "train", options=["--config", "{folder}/config.json"], files={"config.json": '{"hidden_size": 4096, "vocab_size": 151936}'}),
    saves("B64", dict(framework="hf", backend="plain", dp=1, shape="qwen2_1.5b", layers=6, begin=("init",), step=("evaluate",), eval_keep="joined", eval_batches=8,
                      logp=(4096,), steps=1), "eval", {"eval_keep": False}, "eval", cause=("none", "leak", "capacity", "giant_tensor")),
    saves("B65", dict(STATES, framework="torchtune", optimizer="fused"), "train_actor", {"offload_policy": True}, "train"),
    saves("B66", dict(STATES, framework="torchtune_single", backend="plain", dp=1, optimizer="fused"), "train_actor", {"in_backward": True}, "train"),
    saves("B67", dict(framework="unsloth", backend="plain", dp=1, micro=(16384,), shape="qwen2_1.5b", layers=6, steps=2), "train_actor", {"skew": 0.5}, "train"),
    # weight sync
    saves("B22", dict(step=("weight_sync",), sync="bucket", bucket=2048 * MIB, steps=1), "weight_sync", bucket_mib,
          "weight_sync"),
    saves("A24", dict(AREAL, step=("weight_sync",), sync="chunks", bucket=1024 * MIB, steps=1, shape="qwen2_1.5b", layers=24),
          "weight_sync", bucket_mib, "weight_sync"),
    saves("X17", dict(MEGATRON, tp=8, step=("weight_sync",), sync="chunks", bucket=2048 * MIB, steps=1, shape="qwen2_1.5b",
          layers=24),
          "weight_sync", bucket_bytes, "weight_sync"),
    # checkpoints
    saves("B78", dict(AREAL, step=("train_actor", "ckpt_save"), layers=16, micro=(512,), dp=64, steps=1, param_bytes=4), "ckpt_save", {"ckpt": "host"}, "ckpt_save"),
    saves("B79", dict(step=("train_actor", "ckpt_save"), layers=12, micro=(512,), dp=64, steps=1), "ckpt_save", {"ckpt": "shards"}, "ckpt_save"),
    saves("B80", dict(PLAIN, begin=("init", "ckpt_read"), step=(), steps=0, shape="gpt2_medium", layers=24), "ckpt_load", {"ckpt": "host"}, "ckpt_load"),
    saves("P22", dict(PLAIN, script=scripts.tests_in_between, eval_grad=True, steps=3), "test", {"eval_grad": False}, ("train", "unattributed", "eval")),
    Scenario("saving-p61", "played again with P61 applied: a model is loaded while something refers to the one before", dict(PLAIN, script=scripts.reloads), fail="reload", late=True,
             cause="capacity", phase="init", top="param", must=["P61"], must_not=["P02", "P01"], saves={"P61": {"outputs": False}}, where="reload"),
    Scenario("saving-p63", "played again with P63 applied: in one layer of the last step one expert gets most tokens", dict(PLAIN, script=scripts.uneven_experts, steps=4), fail="train/loss", step=3,
             late=True, cause="capacity", phase="train", must=["P63"], saves={"P63": {"outputs": False}}, where="train", keeps={"P63": ({"outputs": False}, True)}),
    Scenario("saving-p155", "played again with P155 applied: a state goes from pass to pass with its graph", dict(PLAIN, script=scripts.handed_on, steps=4), fail="train/forward", step=3,
             late=True, cause="leak", phase="train", top="activation", must=["P155"], saves={"P155": {"outputs": False}}, where="train"),
    Scenario("saving-p290", "played again with P290 applied: one row is 20 times as long as those before it, and the others are padded to it", dict(PLAIN, script=scripts.long_row), fail="serve", step=4,
             cause="capacity", phase="infer", top="temp", must=["P290"], saves={"P290": {"outputs": False}}, where="serve"),
    Scenario("saving-p192", "played again with P192 applied: the whole test set at once, from a line that nothing trains from", dict(PLAIN, script=scripts.whole_set, steps=4), fail="test",
             cause="capacity", phase="unattributed", sub=("forward",), top="temp", must=["P192"], must_not=["P01", "P02", "P04"], saves={"P192": {"outputs": False}}, where="test"),
    # what a line of the job's own has more than once
    Scenario("saving-p200", "played again with P200 applied: eight sets of clones of the weights", dict(PLAIN, script=copies.teachers, ring=700), fail="train/backward", step=1, late=True, cause="capacity", phase="train",
             must=["P200"], saves={"P200": {"outputs": False}}, where="train"),
    Scenario("saving-p201", "played again with P201 applied: the history of L-BFGS", dict(PLAIN, script=copies.lbfgs), fail="train/backward", late=True, cause=("capacity", "leak"), phase="train",
             must=["P201"], must_not=["P200"], saves={"P201": {"outputs": False}}, where="train", grows=("train.py:118 main", 1999740928)),
    Scenario("saving-p202", "played again with P202 applied: the optimizer of an earlier stage", dict(PLAIN, script=copies.stages, steps=4), fail="train/optimizer", step=2, late=True, cause="capacity", phase="train",
             must=["P202"], saves={"P202": {"outputs": False}}, where="train"),
    Scenario("saving-p203", "played again with P203 applied: data that each epoch shuffles whole", dict(PLAIN, script=copies.shuffles), fail="train/shuffle", step=1, late=True, cause="capacity", must=["P203"],
             saves={"P203": {"outputs": False}}, where="train/shuffle"),
    Scenario("saving-p205", "played again with P205 applied: weights that each layer's forward makes", dict(PLAIN, script=copies.merged, layers=24), fail="train/forward", step=1, late=True, cause="capacity", phase=("train", "forward", "unattributed"),
             must=["P205"], saves={"P205": {"outputs": False}}, where="train"),
    Scenario("saving-p206", "played again with P206 applied: a penalty over the weights, of four terms", dict(PLAIN, script=copies.penalised, steps=3, layers=24), fail="train/backward", step=1, late=True, cause="capacity",
             must=["P206"], must_not=["P02", "P04"], saves={"P206": {"outputs": False}}, where="train"),
    # what one operation makes
    Scenario("saving-p240", "played again with P240 applied: all pairs as one tensor", dict(PLAIN, script=operations.scores("sub", "pow_Tensor_Scalar"), steps=2), fail="train/score", step=1, late=True, cause="capacity",
             must=["P240"], saves={"P240": {"outputs": False}}, where="train"),
    Scenario("saving-p241", "played again with P241 applied: a mask that is repeated for each head", dict(PLAIN, script=operations.scores("repeat", "add_Tensor", mended=("add_Tensor",)), steps=2), fail="train/score", step=1, late=True, cause="capacity",
             must=["P241"], saves={"P241": {"outputs": False}}, where="train"),
    Scenario("saving-p242", "played again with P242 applied: labels as rows of zeros and a one", dict(PLAIN, script=operations.scores("one_hot", "one_hot"), steps=2), fail="train/score", step=1, late=True, cause="capacity",
             must=["P242"], saves={"P242": {"outputs": False}}, where="train"),
    Scenario("saving-p243", "played again with P243 applied: scores that are sorted as a whole", dict(PLAIN, script=operations.scores("sort", "sort"), steps=2), fail="train/score", step=1, late=True, cause="capacity",
             must=["P243"], saves={"P243": {"outputs": False}}, where="train"),
    Scenario("saving-p245", "played again with P245 applied: a matrix that is written over", dict(PLAIN, script=operations.kernel("exp", "mul")), fail="fit", late=True, cause="capacity",
             must=["P245"], must_not=["P01", "P02"], saves={"P245": {"outputs": False}}, where="fit"),
    Scenario("saving-p247", "played again with P247 applied: scores whose graph is kept before anything is trained", dict(PLAIN, script=operations.scored), fail="score", late=True, cause="capacity",
             must=["P247"], must_not=["P07"], saves={"P247": {"outputs": False}}, where="score"),
    Scenario("saving-p248", "played again with P248 applied: a product beside a matrix of its size", dict(PLAIN, script=operations.kernel("matmul", "matmul")), fail="fit", late=True, cause="capacity",
             must=["P248"], must_not=["P01", "P02"], saves={"P248": {"outputs": False}}, where="fit"),
    Scenario("saving-p230", "played again with P230 applied: a softmax beside what it is made of", dict(PLAIN, script=operations.kernel("matmul", "softmax")), fail="fit", late=True, cause="capacity",
             must=["P230"], must_not=["P01", "P02"], saves={"P230": {"outputs": False}}, where="fit"),
    Scenario("saving-p246", "played again with P246 applied: a tensor that is joined with each round's", dict(PLAIN, script=operations.bank), fail="collect", late=True, cause="capacity",
             must=["P246"], saves={"P246": {"outputs": False}}, where="collect"),
    Scenario("saving-p223", "played again with P223 applied: a column of predictions beside a row of targets", dict(PLAIN, script=operations.trained((5, "linear", 112000), (6, "sub_Tensor", 3136000000), (6, "pow_Tensor_Scalar", 3136000000),
                                                                                                                                 mended=((5, "linear", 112000), (6, "sub_Tensor", 112000), (6, "pow_Tensor_Scalar", 112000)))),
             fail="train/head", step=1, late=True, cause="capacity", must=["P223"], saves={"P223": {"outputs": False}}, where="train"),
    Scenario("saving-p224", "played again with P224 applied: similarities of all samples", dict(PLAIN, script=operations.trained((5, "linear", 57344000), (6, "matmul", 3136000000), (7, "exp", 3136000000),
                                                                                                               mended=((5, "linear", 57344000), (6, "matmul", 114688000), (7, "exp", 114688000)))),
             fail="train/head", step=1, late=True, cause="capacity", must=["P224"], must_not=["P248", "P223"], saves={"P224": {"outputs": False}}, where="train"),
    Scenario("saving-p225", "played again with P225 applied: what two branches give, joined", dict(PLAIN, script=operations.trained((5, "convolution", 1500 * MIB), (6, "convolution", 1400 * MIB), (7, "cat", 2900 * MIB), (8, "relu", 900 * MIB),
                                                                                                                  mended=((5, "convolution", 1500 * MIB), (6, "convolution", 1400 * MIB), (8, "relu", 900 * MIB)))),
             fail="train/head", step=1, late=True, cause="capacity", must=["P225"], must_not=["P246"], saves={"P225": {"outputs": False}}, where="train"),
    Scenario("saving-p226", "played again with P226 applied: 32 bits of what is there in 16", dict(PLAIN, script=operations.trained((5, "linear", 1500 * MIB), (6, "to_dtype", 3000 * MIB), (7, "relu", 900 * MIB),
                                                                                                                  mended=((5, "linear", 1500 * MIB), (7, "relu", 900 * MIB)))),
             fail="train/head", step=1, late=True, cause="capacity", must=["P226"], saves={"P226": {"outputs": False}}, where="train"),
    Scenario("saving-p227", "played again with P227 applied: a complex transform of real numbers", dict(PLAIN, script=operations.trained((5, "linear", 1500 * MIB), (6, "fft_fft", 3000 * MIB), (7, "relu", 900 * MIB),
                                                                                                                       mended=((5, "linear", 1500 * MIB), (6, "fft_rfft", 1501 * MIB), (7, "relu", 900 * MIB)))),
             fail="train/head", step=1, late=True, cause="capacity", must=["P227"], must_not=["P226"], saves={"P227": {"outputs": False}}, where="train"),
    Scenario("saving-p228", "played again with P228 applied: the rounds of a fixed point", dict(PLAIN, script=operations.solver), fail="train/solve", step=1, late=True, cause="capacity",
             must=["P228"], saves={"P228": {"outputs": False}}, where="train"),
    Scenario("saving-p229", "played again with P229 applied: norms of each micro-batch's gradients in place of the gradients", dict(PLAIN, script=operations.noise), fail="train/backward", step=1, late=True, cause="capacity",
             must=["P229"], must_not=["P191"], saves={"P229": {"outputs": False}}, where="train"),
    saves("P156", dict(PLAIN, script=scripts.teacher, steps=4), "train", {"outputs": False}, "train"),
    saves("P158", dict(PLAIN, script=scripts.frozen, steps=4), "train", {"outputs": False}, "train"),
    saves("P159", dict(PLAIN, script=scripts.per_sample, steps=3), "train", {"outputs": False}, "train"),
    saves("P157", dict(PLAIN, script=scripts.ensemble, steps=1), "predict", {"outputs": False}, ("eval", "infer", "unattributed")),
    saves("P17", dict(PLAIN, script=scripts.results, steps=5), "train/forward", {"outputs": False}, "train"),
    saves("B97", dict(TRL, reference=True, micro=(512,), steps=2), "train_actor", {"reference": False}, "train_actor", must_not=["P18"]),
    saves("P41", dict(PLAIN, begin=("init",), step=("evaluate",), layers=16, logp=(64,), steps=1), "eval", {"param_bytes": 2}, ("unattributed", "eval", "infer")),
    saves("P18", dict(PLAIN, reference=True, micro=(512,)), "train_actor", {"reference": False}, "train"),
    saves("B82", dict(PLAIN, script=scripts.last_stage), "train_actor", {"outputs": False}, "train",
          loose={"B82": "an earlier moment of the step, before the outputs are joined, is then the highest"}),
    # the engine
    saves("V34", dict(ROLLOUT, engine_layers=28, step=("generate",), prefill=512, running=64), "rollout", switch("weights_tp"), "rollout.generate",
          options=["--args", "actor_rollout_ref.rollout.tensor_model_parallel_size=1"]),
    saves("V35", dict(ROLLOUT, prefill=64, step=("generate",)), "rollout.generate", switch("running"), "rollout.generate"),
    saves("V36", dict(ROLLOUT, running=8, step=("generate",), prefill=131072), "rollout.generate", switch("prefill"),
          "rollout.generate", options=["--args", "actor_rollout_ref.rollout.max_num_batched_tokens=131072"]),
    saves("B17", dict(SGLANG, prefill=131072, running=8, batched=64, kv=4 * GIB, steps=2), "rollout.generate",
          switch("prefill"),
          ("rollout.prefill", "rollout.generate"), options=["--args", "--chunked-prefill-size 131072"]),
    saves("B18", dict(SGLANG, prefill=64, running=8192, batched=64, kv=4 * GIB, steps=2), "rollout.generate",
          switch("running"),
          ("rollout.decode", "rollout.generate")),
    saves("B49", dict(SGLANG, prompt_logprobs=32768, running=8, batched=64, kv=4 * GIB, steps=2), "rollout.generate", first("prompt_logprobs"),
          ("rollout.prefill", "rollout.generate"), cause=("none", "giant_tensor")),
    saves("B48", dict(SGLANG, requests=4096, prefill=16384, running=8, batched=64, kv=4 * GIB, steps=2), "rollout", switch("requests"),
          ("rollout.prefill", "rollout.generate", "rollout.kv_alloc")),
    saves("B41", dict(VLLM, prefill=64, running=8192, kv=4 * GIB, steps=2), "rollout.generate", switch("running"), "rollout.generate"),
    saves("B51", dict(VLLM, prefill=131072, running=8, kv=4 * GIB, steps=2), "rollout.generate", switch("prefill"), "rollout.generate",
          options=["--args", "--max-num-batched-tokens 131072"]),
    saves("V02", dict(engine="vllm", begin=("init", "rollout_init"), step=(), engine_layers=12, kv=4 * GIB, steps=0,
          batched=1024, running=64,
                      graph_sizes=(8192, 4096, 512)), "rollout", {"graph_sizes": ()}, "rollout.graph"),
    # the same levers in other words
    saves("V04", dict(micro=(16384,), steps=2), "train_actor", fewer_of(8), "train_actor",
          options=["--args", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8"]),
    saves("V09", dict(LONG, layers=2), "logp_old", fewer_of(8), "logp_old",
          options=["--args", "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8"]),
    saves("B100", dict(VERL_MEGATRON, **dict(MANY, tp=4, micro=(16384,))), "train_actor", parallel, "train_actor",
          options=["--args", "actor_rollout_ref.actor.megatron.context_parallel_size=1"]),
    saves("V05", dict(micro=(4096, 16384), steps=2), "train_actor", tokens, "train_actor"),
    saves("V07", dict(MANY, step=("train_critic",), checkpointing=True, micro=(65536,), layers=4), "train_critic", fewer_of(8), "train_critic",
          options=["--args", "critic.ppo_micro_batch_size_per_gpu=8"]),
    saves("V30", dict(MANY, step=("train_critic",), checkpointing=True, micro=(65536,), layers=4), "train_critic", parallel, "train_critic"),
    saves("V16", dict(step=("train_critic",), micro=(65536,), fused_head=True, layers=24, dp=64, steps=2, shape="qwen3_0.6b"), "train_critic",
          {"act_offload": True}, "train_critic"),
    saves("X11", dict(MEGATRON, micro=(24576,), steps=2), "train_actor", tokens, "train_actor"),
    saves("X12", dict(MEGATRON, micro=(16384,), steps=2), "train_actor", fewer_of(8), "train_actor", options=["--args", "--micro-batch-size 8"]),
    saves("A20", dict(AREAL, **dict(STATES, optimizer="fused", state_bytes=4)), "train_actor", {"optimizer": "sgd"}, "train_actor"),
    saves("V19", dict(ROLLOUT, backend="megatron", framework="verl_megatron", param_bytes=2, layers=16, dp=2), "rollout.generate", {"optim_offload": True}, "rollout.generate",
          cause=("none", "stale_engine", "capacity")),
    saves("V17", dict(ROLLOUT, backend="megatron", framework="verl_megatron", param_bytes=2, layers=16, dp=2), "rollout.generate", {"param_offload": True}, "rollout.generate",
          cause=("none", "stale_engine", "capacity")),
    saves("B32", dict(STATES), "train_actor", {"lora": True}, "train_actor"),
    saves("B09", dict(PLAIN, framework="hf", micro=(16384,)), "train_actor", {"fused_head": True}, "train"),
    saves("P01", dict(PLAIN, checkpointing=False, layers=16, micro=(8192,)), "train_actor", {"checkpointing": True}, "train"),
    saves("P02", dict(PLAIN, micro=(16384,)), "train_actor", {"skew": 0.5}, "train"),
    saves("A09", dict(AREAL, **dict(ROLLOUT, engine="sglang", engine_layers=28, step=("generate",), prefill=512, running=64)), "rollout", {"weights_tp": 2}, ("rollout.generate", "rollout.prefill")),
    # the engine's share of the card
    saves("V01", dict(ROLLOUT, **SHARE), "rollout", share, ("rollout.generate", "rollout.kv_alloc", "rollout.prefill"),
          options=CARD + ["--args", "actor_rollout_ref.rollout.gpu_memory_utilization=0.6"]),
    saves("A06", dict(AREAL, **dict(ROLLOUT, engine="sglang", **SHARE)), "rollout", share, ("rollout.generate", "rollout.kv_alloc", "rollout.prefill"),
          options=CARD + ["--args", "sglang.mem_fraction_static=0.6"]),
    saves("X20", dict(MEGATRON, **dict(ROLLOUT, engine="sglang", **SHARE)), "rollout", share, ("rollout.generate", "rollout.kv_alloc", "rollout.prefill"),
          options=CARD + ["--args", "--sglang-mem-fraction-static 0.6"]),
    Scenario("saving-p08", "played again with P08 applied", dict(COLOCATED, framework="plain", share=0.9, card=64 * GIB), fail="rollout.kv_alloc", capacity=64 * GIB,
             cause="stale_engine", phase="rollout.kv_alloc", must=["P08/down"], saves={"P08": share}, where="rollout.kv_alloc",
             options=CARD + ["--args", "--gpu-memory-utilization 0.9"]),
    # weights that travel packed: smaller buffers, and one buffer fewer
    saves("B72", dict(PACKED, buckets=2), "weight_sync", first("bucket"), "weight_sync", sets={"B72": "packed_buffer_size_bytes=268435456"}),
    Scenario("saving-b72-fewer", "played again with one buffer", dict(PACKED, bucket=256 * MIB), kind="peak", phase="weight_sync", must=["B72"],
             saves={"B72": {"buckets": 1}}, where="weight_sync", sets={"B72": "packed_num_buffers=1"}, not_sets={"B72": "packed_buffer_size_bytes=268435456"}),
    Scenario("saving-b76", "played again with B76 applied", dict(VLLM, kv=8 * GIB, draft=2 * GIB), kind="peak", cause=("none", "capacity", "giant_tensor"),
             phase="rollout.generate", must=["B76"], saves={"B76": {"draft": 0}}, where="rollout.generate"),
    # nano-vllm and mini-sglang
    Scenario("saving-b73", "played again with B73 applied", dict(NANO, share=0.9, card=64 * GIB, prefill=262144), fail="rollout.generate", capacity=64 * GIB,
             cause=("capacity", "giant_tensor"), phase=("rollout.generate", "rollout.prefill"), must=["B73"], saves={"B73": share}, where="rollout", options=CARD),
    saves("B74", dict(NANO, batched=131072, kv=GIB, step=()), "rollout.profile", switch("batched"), "rollout.profile", options=["--args", "max_num_batched_tokens=131072"]),
    saves("B75", dict(NANO, engine="minisgl", step=(), steps=0, begin=("rollout_load", "rollout_kv", "rollout_graph"), kv=4 * GIB,
                      graph_sizes=(8192, 4096, 512)), "rollout", {"graph_sizes": ()}, "rollout.graph"),
    Scenario("saving-p16", "played again with P16 applied", dict(COLOCATED, framework="plain"), fail="rollout.kv_alloc", late=True, cause="stale_engine",
             phase="rollout.kv_alloc", must=["P16"], saves={"P16": {"begin": ("rollout_load", "rollout_profile", "rollout_kv")}}, where="rollout.kv_alloc"),
    # the engine sleeps while training runs
    saves("B13", dict(STALE, framework="plain", backend="plain"), "train_actor", SLEEPS, ("train_actor", "train"), cause=AWAKE),
    saves("B42", dict(STALE, expandable=True), "train_actor", SLEEPS, ("train_actor", "train"), cause=AWAKE, must_not=["B13"],
          options=["--args", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True actor_rollout_ref.rollout.free_cache_engine=True"]),
    saves("B34", dict(STALE, **dict(MEGATRON, engine="sglang")), "train_actor", SLEEPS, ("train_actor", "train"), cause=AWAKE),
    saves("B20", dict(STALE, **dict(AREAL, engine="sglang")), "train_actor", SLEEPS, ("train_actor", "train"), cause=AWAKE),
    saves("P18", dict(PLAIN, script=scripts.best_so_far, steps=3), "train", {"outputs": False}, ("train", "unattributed"), name="best"),
    saves("P49", dict(PLAIN, script=scripts.accumulates, steps=3), "train", {"outputs": False}, "train", must_not=["P14"]),
    saves("B115", dict(VLLM, step=(), steps=0, kv=4 * GIB, batched=1024, running=64, graph_sizes=(8192, 4096, 512)), "rollout",
          {"graph_sizes": ()}, "rollout.graph", must_not=["V02"]),
    saves("B19", dict(SGLANG, step=(), steps=0, kv=4 * GIB, batched=1024, running=64, graph_sizes=(8192, 4096, 512)), "rollout",
          {"graph_sizes": ()}, "rollout.graph"),
    # layouts, transfers, holes
    saves("A13", dict(AREAL, micro=(16384,), steps=2), "train_actor", {"tp": 2}, "train_actor"),
    saves("A14", dict(MEGATRON, framework="areal_megatron", dp=8, layers=32, micro=(256,), optimizer="fused", steps=2), "train_actor", {"layers": 16, "dp": 4, "first_stage": True},
          "train_actor"),
    saves("A16", dict(AREAL, framework="areal_archon", reshard=False, layers=80, dp=64, micro=(64,), shape="gpt2_medium", optimizer="fused", steps=1),
          "train_actor", {"reshard": True}, "train_actor"),
    saves("B11", dict(backend="fsdp2", layers=24, stream_wait=500, logp=(512,), step=("logp_old",), shape="llama3_8b", steps=1), "logp_old",
          {"stream_wait": 0}, "logp_old", cause=("none", "capacity", "pending_frees"),
          loose={"B11": "another moment, with less that waits, is then the highest"}),
    Scenario("saving-b105", "played again with B105 applied",
             dict(MEGATRON, framework="slime", micro=(4096,), steps=1), fail="train_actor/", late=True, ranks=[{"skew": 1.0}, {"skew": 1.1}, {"skew": 3.0}],
             cause="skew", phase="train_actor", must=["B105"], saves={"B105": {"skew": 1.7}}, where="train_actor"),
    Scenario("saving-b114", "played again with B114 applied", dict(PLAIN, micro=(4096,)), fail="train", late=True, ranks=[{"skew": 1.0}, {"skew": 1.1}, {"skew": 3.0}],
             cause="skew", phase="train", must=["B114"], must_not=["B104"], saves={"B114": {"skew": 1.7}}, where="train"),
    Scenario("saving-b104", "played again with B104 applied", dict(PLAIN, script=scripts.gathered, skew=4.0), fail="train/", late=True,
             peers=[{"skew": 0.0}] * 3, cause="skew", phase="train", top="logits", must=["B104"], must_not=["B114"], saves={"B104": {"skew": 1.0}}, where="train"),
    Scenario("saving-b106", "played again with B106 applied: ranks whose tensors go to the default device",
             dict(framework="plain", backend="plain", dp=1, shape="qwen3_0.6b", layers=6, script=scripts.results, steps=3), fail="train/forward", step=1,
             ranks=[{}, {}, {"foreign": 3 * GIB + 12 * MIB}], strays={"script": scripts.strays}, cause="foreign", phase="train", must=["B106"], saves={"B106": {}}, where="strays", options=["--capacity", "{card}"]),
    Scenario("saving-b01", "played again with B01 applied", dict(script=scripts.churn, shape="qwen3_0.6b", layers=1), fail="train_actor",
             capacity=35 * GIB, cause="fragmentation", phase="train_actor", must=["B01"], saves={"B01": {"expandable": True}}, where="holes"),
    Scenario("saving-b45", "played again with B45 applied", dict(MEGATRON, script=scripts.churn, shape="qwen3_0.6b", layers=1), fail="train_actor",
             capacity=35 * GIB, cause="fragmentation", phase="train_actor", must=["B45"], must_not=["B01"], saves={"B45": {"expandable": True}}, where="holes"),
    saves("P03", dict(PLAIN, shape="gpt2_medium", layers=96, micro=(256,), optimizer="fused"), "train_actor", {"backend": "fsdp2", "dp": 2}, "train",
          options=["--args", "WORLD_SIZE=2"], must_not=["P12"]),
    saves("P04", dict(PLAIN, checkpointing=False, layers=16, micro=(8192,)), "train_actor", {"act_offload": True}, "train"),
    saves("P05", dict(PLAIN, framework="hf_own", begin=("init",), step=("evaluate",), checkpointing=False, layers=16, logp=(8192,), eval_grad=True, steps=1),
          "eval", {"eval_grad": False}, "eval"),
    saves("P11", dict(PLAIN, begin=("init",), step=("evaluate",), layers=16, logp=(512,), autocast=True, steps=1), "eval", {"autocast": False}, ("unattributed", "eval"),
          must_not=["P05"]),
    saves("P14", dict(PLAIN, micro=(1280,), layers=64, checkpointing=False, optimizer="fused", zero_grad="late"), "train_actor", {"zero_grad": True}, "train"),
    saves("P231", dict(PLAIN, script=copies.wakes, steps=3), "wake", {"outputs": False}, "rollout.wake_sleep", must_not=["P14"]),
    saves("P13", dict(PLAIN, micro=(256,), layers=24, shape="gpt2_medium", optimizer="fused"), "train_actor", {"lora": True}, "train", must_not=["B32"]),
    saves("P15", dict(PLAIN, checkpointing=False, layers=8, micro=(2048,), scores=2048), "train_actor", {"scores": 0}, "train"),
    saves("P15", dict(PLAIN, checkpointing=False, layers=8, micro=(2048,), scores=2048, scores_by="operations"), "train_actor", {"scores": 0}, "train", name="operations"),
    saves("P45", dict(PLAIN, checkpointing=False, layers=8, micro=(2048,), scores=2048, scores_by="sdpa"), "train_actor", {"scores": 0}, "train", must_not=["P15"]),
    saves("P288", dict(PLAIN, script=copies.answers, layers=16, steps=2), "train/backward", {"outputs": False}, "train"),
    Scenario("saving-p292", "played again with P292 applied: each block makes a mask of its own", dict(PLAIN, script=copies.masks), fail="masks", late=True,
             cause="capacity", phase="unattributed", must=["P292"], saves={"P292": {"outputs": False}}, where="masks"),
    Scenario("saving-p294", "played again with P294 applied: a graph reaches through the steps of a sampler", dict(PLAIN, script=copies.sampler), fail="sample", late=True,
             cause="capacity", phase="unattributed", must=["P294"], must_not=["P229"], saves={"P294": {"outputs": False}}, where="sample"),
    saves("P289", dict(PLAIN, script=copies.runs, layers=4), "runs", {"outputs": False}, ("unattributed", "data")),
    saves("P287", dict(PLAIN, micro=(16384,), entropy_in_train=True), "train_actor", {"loss_parts": 4}, "train", must_not=["B09"]),
    saves("P46", dict(PLAIN, ema=True, micro=(512,)), "train_actor", {"ema": False}, "train", must_not=["P18"]),
    saves("P47", dict(PLAIN, tunes=2 * GIB, micro=(512,)), "train_actor", {"tunes": 0}, ("train", "unattributed")),
    # passes without gradients of a plain script
    saves("P09", dict(PLAIN, **LOGP_OF_A_SCRIPT), "logp_old", {"skew": 0.5}, "logp", must_not=["P01", "P02"]),
    saves("P10", dict(PLAIN, **LOGP_OF_A_SCRIPT), "logp_old", {"loss_chunk": 1024}, "logp"),
    # what is kept from step to step, and from batch to batch
    saves("B33", dict(leak=512 * MIB, steps=12, micro=(1024,), shape="qwen2_1.5b", layers=4), "train_actor", {"leak": 0}, "train_actor", cause="leak", grows=("append_metrics", 512 * MIB)),
    Scenario("saving-p07", "played again with P07 applied", dict(framework="hf", backend="plain", shape="qwen3_0.6b", dp=1, layers=6, begin=("init",),
             step=("evaluate",), eval_keep=True, eval_batches=20, logp=(4096,), steps=1),
             fail="eval", late=True, cause="leak", phase="eval", top="logits", must=["P07"], must_not=["B33"], saves={"P07": {"eval_keep": False}},
             where="eval"),
    # a framework's own list of settings: the line that saves most
    saves("B30", dict(OPENRLHF, micro=(12288,), steps=2), "train_actor", first("cap"), "train_actor",
          loose={"B30/try": "with several micro-batches the gradients of the first are there while the next ones run"}),
    saves("B44", dict(OPENRLHF, micro=(512,), steps=2, bucket_elements=500000000), "train_actor", {"bucket_elements": 50000000}, "train_actor"),
    saves("B31", dict(TRL, micro=(16384,), steps=2), "train_actor", {"skew": 0.5}, "train_actor"),
    # the number that is set is known: half of it, and a quarter
    saves("B31", dict(TRL, micro=(16384,), steps=2), "train_actor", sequences_of(8), "train_actor", name="set", options=["--args", "--per_device_train_batch_size 8"]),
    saves("B30", dict(OPENRLHF, micro=(12288,), steps=2), "train_actor", sequences_of(8), "train_actor", name="set", options=["--args", "--train.micro_batch_size 8 --ds.zero_stage 3"]),
    saves("P02", dict(framework="torchtune", micro=(16384,), steps=2), "train_actor", sequences_of(8), "train", name="set", options=["--args", "batch_size=8"]),
    saves("B29", dict(NEMO, **dict(STATES, optimizer="fused")), "train_actor", {"offload_policy": True}, "train_actor"),
    saves("B26", dict(MEGATRON, layers=8, dp=1, micro=(512,), steps=2, optimizer="fused"), "train_actor", {"state_bytes": 2}, "train_actor"),
    saves("B46", dict(MEGATRON, layers=8, dp=64, micro=(256,), steps=1, optimizer="fused"), "train_actor", {"grad_bytes": 2}, "train_actor"),
    saves("B50", dict(MEGATRON, layers=8, dp=64, begin=("init",), step=(), steps=0), "init", {"tp": 2, "dp": 32}, "init"),
    saves("B28", dict(AREAL, framework="areal_archon", layers=8, dp=8, micro=(64,), shape="llama3_8b", optimizer="fused", steps=1),
          "train_actor", {"reduce_bytes": 2}, "train_actor"),
]
