"""What no ticket and no cell of the table reaches: for each setting of the guides a job, a log or a configuration whose
report offers it, or, where the code does not know or ignores it, says so (docs/guide-settings.tsv names the scenario for every
setting). And advice that has to be the right one of two."""

from cells import AREAL_YAML, LONG, OPENRLHF, RELAX, TRL, VERL_MEGATRON
from generator import scripts
from generator.record import GIB
from generator.scenario import Scenario
from tickets import AREAL

SMALL = {"steps": 1, "layers": 4, "micro": (512,), "shape": "qwen2_1.5b", "dp": 2}
ARCHON = dict(AREAL, framework="areal_archon")
ANY = ("none", "capacity", "giant_tensor")
RL = "actor_rollout_ref."


def job(name, ticket, switches, **more):
    more.setdefault("cause", ANY)
    return Scenario("reach-" + name, ticket, switches, kind=more.pop("kind", "peak"), **more)


def config(name, ticket, text, framework=None, **more):
    """A small job of a framework with a configuration."""
    return job(name, ticket, dict(SMALL, **(framework or {})), options=["--config", "{folder}/run.yaml"],
               files={"run.yaml": text}, **more)


def log(name, ticket, text, cause, options=(), **more):
    scenario = Scenario("reach-" + name, ticket, {}, snapshot=False, files={"job.log": text}, cause=cause, options=options,
                        **more)
    if cause == "host":
        scenario.must_not = tuple(more.get("must_not", ()))
    return scenario


OOM = """\
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which \
2.31 GiB is free. Including non-PyTorch memory, this process has 76.80 GiB memory in use. Of the allocated memory 74.10 GiB \
is allocated by PyTorch, and 1.40 GiB is reserved by PyTorch but unallocated.
"""
RAY = """\
(WorkerDict pid=41877) [verl/workers/fsdp_workers.py] start
%s(raylet) Memory on the node (IP: 10.0.0.11, ID: 6c4f) where the task (actor ID: 8f12, name=WorkerDict, pid=41877, \
memory used=61.75GB) was running was 841.32GB / 882.00GB (0.953877), which exceeds the memory usage threshold of 0.95. \
Ray killed this worker (ID: 77aa) because it was the most recently scheduled task.
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
"""
NPU = '  File "/usr/local/lib/python3.11/site-packages/torch_npu/npu/memory.py", line 12, in empty_cache\n'
NO_BLOCKS = """\
(WorkerDict pid=7) [verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py] init
INFO 11-02 10:00:01 [gpu_worker.py:298] Available KV cache memory: -1.05 GiB
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
"""
STARTUP = """\
(WorkerDict pid=7) [verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py] init
ValueError: Free memory on device (31.25/79.15 GiB) on startup is less than desired GPU memory utilization (0.6, 47.49 GiB). \
Decrease GPU memory utilization or reduce GPU memory used by other processes.
"""
SGLANG_NO_KV = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"

OLD_AREAL = """\
allocation_mode: sglang:d4t1p1+fsdp:d4
tp_size: 2
sp_size: 2
actor:
  sglang:
    mem_fraction_static: 0.8
gconfig:
  max_new_tokens: 1024
  max_tokens_per_mb: 10240
"""
OLD_VERL = """\
actor_rollout_ref:
  actor:
    megatron: {grad_offload: True}
    fsdp_config: {cpu_offload: True, offload_params: True}
global_profiler:
  enabled: True
  global_tool_config:
    torch_memory: {trace_alloc_max_entries: 100000, stack_depth: 32}
"""
AREAL_BATCH = AREAL_YAML.replace("  max_length: 1024", "  max_length: 1024\n  batch_size: 64")

SCENARIOS = [
    # more tokens than the budget that the run's settings name: lower means lower than that
    Scenario("reach-budget-below-the-tokens", "a budget of 8192 that other settings overrule", dict(micro=(16384,), steps=2), phase="train_actor",
             must=["V06"], sets={"V06": "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=4096"},
             options=["--args", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192"]),
    Scenario("reach-budget-at-its-floor", "a budget of one sequence cannot be lowered", dict(micro=(16384,), steps=2), phase="train_actor",
             must_not=["V06"], options=["--args", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192 data.max_prompt_length=1024 "
             "data.max_response_length=9000"]),
    # -- keys that do not exist, have moved or do nothing: said of the configuration that sets them
    config("old-keys-verl", "verl's OOM guide, keys as it writes them", OLD_VERL, lint=["V18", "V21", "V43"]),
    config("old-keys-areal", "AReaL's page, 2025 edition", OLD_AREAL, AREAL, lint=["A26", "A27", "A28", "A29"]),
    config("two-layouts-areal", "AReaL since 1.0.3 with a layout of before", "allocation_mode: sglang:d4+fsdp:d4\nactor:\n  backend: fsdp:d4\n", AREAL, lint=["A25"]),
    Scenario("reach-batch-size-areal", "AReaL's page: the batch size does not change the peak", dict(AREAL, micro=(16384,), steps=1),
             fail="train_actor/loss", cause=("capacity", "giant_tensor"), phase="train_actor", must=["A04", "A12"],
             must_not=["A08"], lint=["A08"], options=["--config", "{folder}/run.yaml"], files={"run.yaml": AREAL_BATCH}),
    job("zeros-like-weights", "zeros of the sizes of a model are no copy of it", dict(framework="plain", backend="plain", dp=1, shape="qwen3_0.6b",
        layers=6, script=scripts.best_so_far, steps=3, outputs="zeros"), phase=("train", "unattributed"), must_not=["P18"]),
    job("compile-graphs", "what a forward keeps stays in the pool of CUDA graphs, in the optimizer step too",
        dict(framework="plain", backend="plain", dp=1, shape="qwen3_0.6b", script=scripts.graphed, steps=3), phase="train", must=["P48"]),
    job("compile-no-graphs", "the same without graphs", dict(framework="plain", backend="plain", dp=1, shape="qwen3_0.6b", script=scripts.graphed,
        steps=3, outputs=False), phase="train", must_not=["P48"]),
    job("batch-size-of-a-job-that-runs", "nobody is told so who does not look for memory", dict(SMALL, **AREAL), no_lint=["A08"],
        must=["A01"], sets={"A01": 'actor.backend: "fsdp:d4t2"'},
        options=["--config", "{folder}/run.yaml"], files={"run.yaml": AREAL_BATCH}),
    # -- layouts: half the data-parallel groups of the present one
    job("layout-areal", "AReaL: d8 becomes d4c2, d4t2", dict(AREAL, micro=(16384,), steps=1), must=["A12", "A13"],
        sets={"A12": 'actor.backend: "fsdp:d4c2"', "A13": 'actor.backend: "fsdp:d4t2"'},
        options=["--config", "{folder}/areal.yaml"], files={"areal.yaml": AREAL_YAML}),
    config("layout-areal-allocation-mode", "AReaL, 2025: one string for trainer and engine", OLD_AREAL.splitlines()[0] + "\n",
           dict(AREAL, micro=(16384,)), must=["A12"], sets={"A12": 'allocation_mode: "sglang:d4t1p1+fsdp:d2c2"'}),
    job("layout-areal-unknown", "AReaL without its configuration", dict(AREAL, micro=(16384,), steps=1), must=["A12", "A13"],
        sets={"A12": 'actor.backend: "<backend>:d<data / 2>c<2 x context>"', "A13": 'actor.backend: "fsdp:d<data / 2>t<2 x tensor>"'}),
    job("layout-areal-one-gpu", "nothing to halve", dict(AREAL, micro=(16384,), steps=1), must_not=["A12", "A13"],
        options=["--config", "{folder}/areal.yaml"], files={"areal.yaml": AREAL_YAML.replace("fsdp:d8", "fsdp:d1")}),
    job("layout-archon", "AReaL, Training 3: pipeline and expert parallelism", dict(ARCHON, **dict(SMALL, layers=24, optimizer="fused")),
        must=["A14", "A15"], must_not=["A13"], sets={"A14": 'actor.backend: "archon:d4p2"'},
        options=["--config", "{folder}/areal.yaml"], files={"areal.yaml": AREAL_YAML.replace("fsdp:d8", "archon:d8")}),
    job("resharding-archon", "AReaL, Training 3: pipeline memory guide",
        dict(ARCHON, reshard=False, layers=80, dp=64, micro=(64,), shape="gpt2_medium", optimizer="fused", steps=1), must=["A16"]),
    # -- long sequences over several GPUs
    job("long-sequences-verl", "verl's OOM guide, Ulysses: above 32k tokens", dict(micro=(8192,), steps=1, dp=8), must=["V31"],
        options=["--args", RL + "actor.ulysses_sequence_parallel_size=4 data.max_prompt_length=8192 data.max_response_length=32768"]),
    job("short-sequences-verl", "the same with 8k tokens", dict(micro=(8192,), steps=1, dp=8), must_not=["V31"],
        options=["--args", RL + "actor.ulysses_sequence_parallel_size=4 data.max_prompt_length=1024 data.max_response_length=7168"]),
    # -- what Megatron can keep on the host while another phase runs
    job("states-in-the-rollout-verl-megatron", "verl's OOM guide: offloading between phases",
        dict(VERL_MEGATRON, engine="vllm", engine_layers=4, kv=2 * GIB, begin=("init", "rollout_init"), shape="qwen2_1.5b", layers=8,
             micro=(512,), step=("train_actor", "empty_cache", "generate"), prefill=131072, running=2048, optimizer="fused", dp=1, steps=2),
        phase="rollout.generate", must=["V17", "V19"], must_not=["V22", "V18"]),
    job("reference-verl-megatron", "verl's OOM guide: the reference model between phases",
        dict(VERL_MEGATRON, **dict(LONG, layers=8, logp=(512,))), phase="logp_old", must=["V20", "V17"], must_not=["V23"]),
    # -- the optimizer on the host already: its copies can be hidden
    job("optimizer-on-host-relax", "Relax, Solution 5", dict(RELAX, steps=1, layers=12, dp=1, micro=(512,), optimizer="fused"),
        fail="train_actor/optimizer", kind="oom_capacity", cause="capacity", must=["X14"],
        options=["--args", "--optimizer-cpu-offload --use-precision-aware-optimizer --train-memory-margin-bytes 4294967296"]),
    job("prefetch-areal", "AReaL, Training 4: what the step by layers fetches ahead", dict(AREAL, **dict(SMALL, layers=24, optimizer="fused")),
        must=["A19"], must_not=["A18"], sets={"A19": "actor.fsdp.optim_step_prefetch_layers: 0"},
        options=["--args", "actor.fsdp.per_layer_optim_step=true actor.backend=fsdp:d4"]),
    # -- a log that does not say where: what the next run should record
    log("record-relax", "Relax, Steps 2 to 4", "[relax/backends/megatron/actor.py] start\n" + OOM, "capacity",
        must=["X02", "X03", "X04", "X07", "P06"], must_not=["B37", "B38"]),
    log("record-verl", "a log alone has no history to keep more of", "[verl/workers/fsdp_workers.py] start\n" + OOM, "capacity",
        must=["P06", "B39"], must_not=["B37", "B38"]),
    # -- host memory: the other allocator, and that of another processor
    log("host-tcmalloc-is-on", "verl's OOM guide, memory-efficient allocators", RAY % "", "host", must=["V40"], must_not=["V37", "V38", "V39"],
        options=["--args", "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"]),
    log("host-npu", "verl's OOM guide: ARM machines and NPUs", RAY % NPU, "host", must=["V39", "V40", "V42"], must_not=["V37", "V38"]),
    log("host-x86", "the same elsewhere", RAY % "", "host", must=["V37", "V38", "V40", "V41", "V42"], must_not=["V39"]),
    # -- the engine's share: no room inside it, or less on the card than it is
    log("engine-share-too-small", "Awesome-ML-SYS PR 259: raise the fraction", NO_BLOCKS, "capacity", must=["V01/up"],
        must_not=["V01/down"], sets={"V01": RL + "rollout.gpu_memory_utilization=0.6"}),
    log("engine-share-too-large", "vLLM 20860: others hold the card when the engine starts", STARTUP, "capacity",
        must=["V01/down"], must_not=["V01/up"], sets={"V01": RL + "rollout.gpu_memory_utilization=0.39"}),
    log("engine-share-too-small-relax", "Relax, Solution 11", "[relax/backends/sglang/engine.py] x\n" + SGLANG_NO_KV, "capacity",
        must=["X20/up"], must_not=["X20/down"]),
    job("engine-share-by-log", "the log beside the snapshot of the engine decides",
        dict(engine="vllm", begin=("init", "rollout_load", "rollout_profile"), step=(), engine_layers=12, steps=0), kind="",
        cause=("none", "capacity"), must=["V01/up"], must_not=["V01/down"],
        options=["--log", "{folder}/job.log"], files={"job.log": NO_BLOCKS}),
    # -- supervised fine-tuning and GRPO have settings of their own
    job("sft-trl", "TRL: SFTConfig", dict(TRL, framework="trl_sft", micro=(16384,)), must=["B31", "B09"],
        sets={"B31": ["padding_free=True", "packing=True", "max_length=<tokens>", "per_device_train_batch_size=<half of its value>"]},
        not_sets={"B31": ["vllm_gpu_memory_utilization=<lower than it is>"]}),
    job("grpo-trl", "TRL: GRPOConfig", dict(TRL, micro=(16384,)), must=["B31"], sets={"B31": "per_device_train_batch_size=<half of its value>"},
        not_sets={"B31": ["padding_free=True", "packing=True", "max_length=<tokens>", "activation_offloading=True"]}),
    # -- flags of OpenRLHF before and after they got sections
    job("older-openrlhf", "OpenRLHF before 0.9: one name without sections", dict(OPENRLHF, micro=(12288,), steps=1), must=["B30"],
        sets={"B30": "--micro_train_batch_size 2"}, not_sets={"B30": ["--train.micro_batch_size 2", "--zero_stage 3"]},
        options=["--args", "--micro_train_batch_size 4 --train_batch_size 128 --zero_stage 3"]),
    job("newer-openrlhf", "OpenRLHF with sections", dict(OPENRLHF, micro=(12288,), steps=1), must=["B30"],
        sets={"B30": "--train.micro_batch_size 2"}, not_sets={"B30": ["--micro_train_batch_size 2", "--ds.zero_stage 3"]},
        options=["--args", "--train.micro_batch_size 4"]),
    # what the job's own line brings to the card between the backward and the optimizer is no gradient
    job("next-batch", "prefetchers: the next batch is loaded after the backward", dict(framework="plain", backend="plain", dp=1, shape="qwen3_0.6b", layers=6, script=scripts.prefetches, steps=4),
        phase=("train", "unattributed")),
    # the autograd thread has no frames: gradients of a second pass are added to those of the first, and are no activations
    job("python-stacks-second-pass", "stacks=\"python\", two micro-batches to a step", dict(framework="plain", backend="plain", dp=1, shape="qwen3_0.6b", layers=6, micro=(2048, 2048), steps=3, mode="python"),
        phase=("train", "unattributed")),
    # the smallest step of ZeRO that suffices: the parameters are divided last
    job("openrlhf-stage-0", "OpenRLHF, DeepSpeed's stage 0: gradients and states are most of it", dict(OPENRLHF, backend="plain", dp=1, shape="qwen2_1.5b", layers=8, micro=(512,), state_bytes=4),
        must=["B30"], sets={"B30": "--ds.zero_stage 2"}, not_sets={"B30": "--ds.zero_stage 3"}, options=["--args", "--ds.zero_stage 0"]),
    job("openrlhf-stage-2", "the same, and those are divided already", dict(OPENRLHF, backend="plain", dp=1, shape="qwen2_1.5b", layers=8, micro=(512,), state_bytes=4),
        must=["B30"], sets={"B30": "--ds.zero_stage 3"}, not_sets={"B30": "--ds.zero_stage 2"}, options=["--args", "--ds.zero_stage 2"]),
    # what the run is set to already is not typed once more
    job("openrlhf-is-on", "OpenRLHF, with two of the lines set", dict(OPENRLHF, micro=(12288,), steps=1), must=["B30"],
        not_sets={"B30": ["--train.micro_batch_size 1", "--ds.packing_samples"]}, options=["--args", "--train.micro_batch_size 1 --ds.packing_samples"]),
]
