"""Jobs that are well: no cause may be named, nobody may be frightened."""

from generator.record import GIB
from generator.scenario import Scenario
from tickets import AREAL, MEGATRON, SGLANG, VLLM

ALARMS = ("B33", "B34", "B13", "B20", "B01", "B02", "B03", "B11", "B116", "B35", "B37")


def well(name, job, phase=(), **more):
    return Scenario("healthy-" + name, "a job that runs", job, phase=phase, must_not=ALARMS, **more)


SCENARIOS = [
    well("vllm-inference", dict(VLLM, step=("generate",), steps=4, kv=20 * GIB, graph_sizes=(256, 128, 64)), top="kv_cache"),
    well("sglang-inference", dict(SGLANG, step=("generate",), steps=4, kv=20 * GIB, graph_sizes=(256, 128, 64)),
         top="kv_cache"),
    well("plain-training",
         dict(framework="plain", backend="plain", dp=1, shape="gpt2_medium", layers=12, micro=(4096,), steps=4), "train"),
    well("plain-training-fused",
         dict(framework="plain", backend="plain", dp=1, shape="gpt2_medium", layers=12, micro=(4096, 2048), steps=4,
                                      optimizer="fused"), "train"),
    well("hf-training", dict(framework="hf", backend="plain", dp=1, shape="qwen3_0.6b", layers=6, micro=(4096,), steps=4),
         "train"),
    well("fsdp-training", dict(steps=4, micro=(2048, 4096), shape="qwen2_1.5b", layers=8), "train_actor"),
    well("megatron-training", dict(MEGATRON, framework="megatron", steps=4, micro=(4096, 2048)), "train"),
    well("areal-steps", dict(AREAL, step=("logp_old", "train_actor", "weight_sync"), sync="chunks", steps=4, logp=(2048,)),
         "train_actor"),
    well("slime-steps", dict(MEGATRON, step=("logp_step", "train_actor", "weight_sync"), sync="chunks", steps=4,
         logp=(4096,))),
    well("verl-steps-engine-sleeps",
         dict(engine="vllm", engine_layers=8, kv=8 * GIB, begin=("init", "rollout_init"), steps=4, shape="qwen2_1.5b",
                                          step=("wake_engine", "generate", "sleep_engine", "logp_old", "train_actor",
                                          "weight_sync")),
         "train_actor"),
    well("verl-offloads", dict(engine="vllm", engine_layers=8, kv=8 * GIB, begin=("init", "rollout_init"), steps=3,
         shape="qwen2_1.5b",
                               param_offload=True, optim_offload=True, graph_sizes=(64, 8),
                               step=("wake_engine", "generate", "sleep_engine", "train_actor")), "train_actor"),
    well("trl-steps-engine-sleeps",
         dict(framework="trl", backend="plain", dp=1, engine="vllm", engine_layers=8, kv=8 * GIB, steps=3,
                                         shape="qwen2_1.5b", begin=("init", "rollout_init"),
                                         step=("wake_engine", "generate", "sleep_engine", "logp_old", "train_actor",
                                         "weight_sync")),
         "train_actor"),
    well("states-appear-in-the-first-step", dict(steps=5, micro=(512,), shape="qwen2_1.5b", layers=12, dp=2), "train_actor"),
    well("resumed", dict(begin=("init", "ckpt_load"), steps=3, micro=(1024,), shape="qwen2_1.5b", layers=8), "train_actor"),
    well("expandable-segments",
         dict(framework="plain", backend="plain", dp=1, shape="gpt2_medium", layers=8, micro=(4096,), steps=3,
                                     expandable=True, conf="expandable_segments:True"), "train"),
]
