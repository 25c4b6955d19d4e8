"""verl: one GRPO step on one rank, worker and vLLM engine in one process (Qwen3-8B, FSDP over 8, tensor parallel 2)."""

from .allocator import GIB, MIB, OutOfMemory
from .run import Run

SITE = "/usr/local/lib/python3.12/dist-packages/"
WORKERS = SITE + "verl/workers/fsdp_workers.py"
ACTOR = SITE + "verl/workers/actor/dp_actor.py"
FUNCTIONAL = SITE + "verl/utils/torch_functional.py"
ROLLOUT = SITE + "verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py"
MODULE = SITE + "torch/nn/modules/module.py"
QWEN = SITE + "transformers/models/qwen3/modeling_qwen3.py"
GPU_WORKER = SITE + "vllm/v1/worker/gpu_worker.py"
GPU_RUNNER = SITE + "vllm/v1/worker/gpu_model_runner.py"
FSDP = SITE + "torch/distributed/fsdp/_fully_shard/"
RAY = (
    SITE + "ray/_private/workers/default_worker.py:289 <module>",
    SITE + "ray/_private/worker.py:974 main_loop",
    SITE + "ray/_private/function_manager.py:696 actor_method_executor",
    SITE + "ray/util/tracing/tracing_helper.py:463 _resume_span",
    SITE + "verl/single_controller/ray/base.py:700 func",
    SITE + "verl/single_controller/base/decorator.py:456 inner",
)
NN = (MODULE + ":1751 _wrapped_call_impl", MODULE + ":1762 _call_impl")

VOCABULARY, HIDDEN, INNER, KV = 151936, 4096, 12288, 1024
LAYER = 2 * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV + 3 * HIDDEN * INNER)  # bf16 bytes of one layer
EMBEDDING = 2 * VOCABULARY * HIDDEN


class Grpo:
    def __init__(self, layers, seed, capacity, kv_layer, start_us=1764000000000000):
        self.run = Run(
            capacity, seed, start_us=start_us, extra={"compile_context": "N/A", "user_metadata": ""}
        )
        self.layers, self.kv_layer = layers, kv_layer

    def module(self, place):
        return self.run.call(*NN, place)

    def init(self):
        run = self.run
        with run.call(*RAY, WORKERS + ":870 init_model"):
            self.shards = []
            with run.call(
                WORKERS + ":402 _build_model_optimizer",
                SITE + "torch/distributed/fsdp/_fully_shard/_fully_shard.py:213 fully_shard",
                FSDP + "_fsdp_param.py:266 _init_sharded_param",
            ):
                for index in range(self.layers + 1):
                    share = (LAYER if index else 2 * EMBEDDING) * 2 // 8  # fp32 shards
                    for part in (share // 3, share - share // 3):
                        self.shards.append(run.new(part, "zeros"))
            with run.call(
                WORKERS + ":560 _build_rollout",
                ROLLOUT + ":138 __init__",
                SITE + "vllm/entrypoints/llm.py:297 __init__",
                SITE + "vllm/v1/engine/core.py:82 __init__",
            ):
                self.engine()

    def engine(self):
        run = self.run
        with run.call(
            GPU_WORKER + ":213 load_model",
            GPU_RUNNER + ":1875 load_model",
            SITE + "vllm/model_executor/model_loader/base_loader.py:44 load_model",
            SITE + "vllm/model_executor/layers/linear.py:413 create_weights",
        ):
            for index in range(self.layers):
                for part in (HIDDEN * (HIDDEN + 2 * KV), HIDDEN * HIDDEN, 2 * HIDDEN * INNER, HIDDEN * INNER):
                    run.new(part, "empty", pool=(0, 1))  # two bytes each, halved by tensor parallelism
            run.new(EMBEDDING, "empty", pool=(0, 1))
        with run.call(
            GPU_WORKER + ":245 determine_available_memory",
            GPU_RUNNER + ":2413 profile_run",
            GPU_RUNNER + ":2302 _dummy_run",
        ):
            tokens = 8192
            for index in range(3):
                with run.call(*NN, SITE + "vllm/model_executor/models/qwen3.py:%d forward" % (210 + index)):
                    a, b = run.new(tokens * HIDDEN * 2, "mm"), run.new(tokens * INNER * 2, "mm")
                    run.drop(a, b)
        with run.call(
            GPU_WORKER + ":290 initialize_from_config",
            GPU_RUNNER + ":2880 initialize_kv_cache",
            GPU_RUNNER + ":2790 initialize_kv_cache_tensors",
            GPU_RUNNER + ":2700 _allocate_kv_cache_tensors",
        ):
            for index in range(self.layers):
                run.new(self.kv_layer, "zeros", pool=(0, 2))

    def weight_sync(self):
        run = self.run
        with run.call(
            *RAY,
            WORKERS + ":655 rollout_mode",
            SITE + "verl/workers/rollout/vllm_rollout/vllm_rollout.py:301 update_weights",
        ):
            for index in range(self.layers):
                full = run.new(LAYER, "_allgather_base_")
                cast = run.new(LAYER // 2, "_to_copy")
                run.drop(full, cast)

    def generate(self, steps=6):
        run = self.run
        with run.call(
            *RAY,
            WORKERS + ":930 generate_sequences",
            ROLLOUT + ":301 generate_sequences",
            SITE + "vllm/v1/engine/core.py:240 step",
            GPU_WORKER + ":330 execute_model",
            GPU_RUNNER + ":1420 execute_model",
        ):
            for step in range(steps):
                tokens = 8192 if step == 0 else 256
                hidden = run.new(tokens * HIDDEN * 2, "mm")
                with run.call(*NN, SITE + "vllm/model_executor/models/qwen3.py:214 forward"):
                    gate = run.new(tokens * INNER * 2, "mm")
                    run.drop(gate)
                logits = run.new(256 * VOCABULARY * 4, "_to_copy")
                with run.call(
                    *NN,
                    SITE + "vllm/v1/sample/sampler.py:71 forward",
                    SITE + "vllm/v1/sample/sampler.py:131 sample",
                ):
                    probs = run.new(256 * VOCABULARY * 4, "_softmax")
                    run.drop(probs)
                run.drop(logits, hidden)
                run.clock.idle(20000)

    def log_prob(self, token_counts):
        """Forward over micro-batches of so many tokens. Everything that is alive when a request fails is dropped by unwinding."""
        run = self.run
        with run.call(*RAY, WORKERS + ":1010 compute_log_prob", ACTOR + ":338 compute_log_prob"):
            for tokens in token_counts:
                alive = []
                try:
                    with run.call(ACTOR + ":188 _forward_micro_batch"):
                        self.micro_batch(tokens, alive)
                    run.drop(*alive)
                except OutOfMemory:
                    run.drop(*reversed(alive))
                    return False
        return True

    def micro_batch(self, tokens, alive):
        run = self.run

        def new(size, op):
            alive.append(run.new(size, op))
            return alive[-1]

        def drop(*blocks):
            run.drop(*blocks)
            for block in blocks:
                alive.remove(block)

        with self.module(QWEN + ":508 forward"):
            hidden = new(tokens * HIDDEN * 2, "embedding")
            for index in range(self.layers):
                with run.call(*NN):
                    with run.call(
                        FSDP + "_fsdp_state.py:227 _pre_forward",
                        FSDP + "_fsdp_param_group.py:330 pre_forward",
                        FSDP + "_fsdp_param_group.py:265 unshard",
                        FSDP + "_fsdp_collectives.py:150 foreach_all_gather",
                    ):
                        gathered = new(LAYER, "empty_memory_format")
                    with run.call(QWEN + ":270 forward"):
                        with run.call(*NN, QWEN + ":216 forward"):
                            query = new(tokens * (HIDDEN + 2 * KV) * 2, "mm")
                            attention = new(tokens * HIDDEN * 2, "_flash_attention_forward")
                            drop(query)
                        with run.call(*NN, QWEN + ":82 forward"):
                            gate, upper = new(tokens * INNER * 2, "mm"), new(tokens * INNER * 2, "mm")
                            fused = new(tokens * INNER * 2, "mul_Tensor")
                            drop(gate, upper)
                            after = new(tokens * HIDDEN * 2, "mm")
                            drop(fused, attention)
                    drop(gathered, hidden)
                    hidden = after
        with self.module(QWEN + ":553 forward"):
            logits = new(tokens * VOCABULARY * 2, "mm")
            drop(hidden)
        with run.call(FUNCTIONAL + ":106 logprobs_from_logits"):
            chosen = new(tokens * 4, "gather")
            drop(chosen)
        with run.call(FUNCTIONAL + ":171 entropy_from_logits"):
            wide = new(tokens * VOCABULARY * 4, "_to_copy")
            with run.call(SITE + "torch/nn/functional.py:2140 softmax"):
                probs = new(tokens * VOCABULARY * 4, "_softmax")
            drop(probs, wide, logits)

    def update(self, tokens):
        """One micro-batch of update_actor: forward that saves, backward on the autograd thread."""
        run = self.run
        with run.call(*RAY, WORKERS + ":985 update_actor", ACTOR + ":432 update_policy"):
            saved = []
            with run.call(ACTOR + ":188 _forward_micro_batch"):
                for index in range(self.layers):
                    with self.module(QWEN + ":270 forward"):
                        saved.append(run.new(tokens * HIDDEN * 2, "mm"))
                        saved.append(run.new(tokens * INNER * 2, "mm"))
                with self.module(QWEN + ":553 forward"):
                    logits = run.new(tokens * VOCABULARY * 2, "mm")
            with run.call(
                SITE + "torch/_tensor.py:648 backward",
                SITE + "torch/autograd/__init__.py:353 backward",
                SITE + "torch/autograd/__init__.py:199 _make_grads",
            ):
                root = run.new(4, "ones_like")
        grad = run.grad(tokens * VOCABULARY * 2, "MmBackward0", "mm")
        run.grad_drop(logits)
        grads = []
        for index in range(self.layers):
            inner, outer = saved.pop(), saved.pop()
            step = run.grad(tokens * INNER * 2, "MmBackward0", "mm")
            grads.append(run.grad(LAYER // 4, "AccumulateGrad", "empty_like"))
            run.grad_drop(step, inner, outer)
        run.grad_drop(grad)
        with run.call(*RAY, WORKERS + ":985 update_actor", ACTOR + ":470 update_policy"):
            with run.call(
                ACTOR + ":300 _optimizer_step",
                SITE + "torch/optim/adamw.py:232 step",
                SITE + "torch/optim/adam.py:164 _init_group",
            ):
                for index in range(2 * self.layers):
                    run.new(LAYER // 4, "zeros_like")
            run.drop(root, *grads)


def oom_logprob():
    """36 layers, 77.2 GiB for PyTorch, KV cache of 27 GiB. The second micro-batch is one long packed sequence."""
    job = Grpo(layers=36, seed=1, capacity=int(77.2 * GIB) // (2 * MIB) * 2 * MIB, kv_layer=768 * MIB)
    job.init()
    job.run.clock.idle(4000000)
    job.weight_sync()
    job.generate()
    job.run.clock.idle(60000000)
    fitted = job.log_prob([2048, 32768])
    assert not fitted
    return job.run.snapshot()


def two_ranks():
    """Four layers, small cards; rank 1 has the longer sequences and runs out in log_prob, rank 0 goes on to update_actor."""
    out = []
    for rank, tokens in ((0, 2048), (1, 12288)):
        job = Grpo(
            layers=4,
            seed=10 + rank,
            capacity=22 * GIB,
            kv_layer=512 * MIB,
            start_us=1764000100000000 + 137 * rank,
        )
        job.init()
        job.weight_sync()
        job.generate(2)
        if job.log_prob([tokens]):
            job.update(tokens)
        out.append(job.run.snapshot())
    return out
