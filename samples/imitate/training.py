"""Fine-tuning runs without a reinforcement learning framework, and one Megatron training step under slime."""

from .allocator import GIB, MIB, OutOfMemory
from .run import Run

SITE = "/opt/venv/lib/python3.12/site-packages/"
SCRIPT = "/workspace/finetune/train.py"
MODEL = "/workspace/finetune/model.py"
MODULE = SITE + "torch/nn/modules/module.py"
FSDP = SITE + "torch/distributed/fsdp/_fully_shard/"
NN = (MODULE + ":1751 _wrapped_call_impl", MODULE + ":1762 _call_impl")
BACKWARD = (SITE + "torch/_tensor.py:626 backward", SITE + "torch/autograd/__init__.py:347 backward")
ROOT_GRAD = BACKWARD[:1] + (
    SITE + "torch/autograd/__init__.py:340 backward",
    SITE + "torch/autograd/__init__.py:198 _make_grads",
)
ADAMW = (SITE + "torch/optim/optimizer.py:485 wrapper", SITE + "torch/optim/adamw.py:220 step")


def fsdp_finetune(steps=3, layers=6, tokens=8192, vocabulary=128256, hidden=2048):
    """FSDP2: parameters are gathered layer by layer on a second stream, gradients reduced in the backward."""
    run = Run(40 * GIB, seed=2, start_us=1764100000000000)
    comm = 139910000000  # the handle of a side stream
    layer = 2 * 12 * hidden * hidden
    gather = (FSDP + "_fsdp_param_group.py:265 unshard", FSDP + "_fsdp_collectives.py:150 foreach_all_gather")
    copy_out = (
        FSDP + "_fsdp_param_group.py:290 wait_for_unshard",
        FSDP + "_fsdp_collectives.py:221 foreach_all_gather_copy_out",
    )
    hook_in = (FSDP + "_fsdp_state.py:276 _pre_backward", FSDP + "_fsdp_param_group.py:377 pre_backward")
    hook_out = (
        SITE + "torch/autograd/function.py:307 apply",
        FSDP + "_fsdp_param_group.py:786 backward",
        FSDP + "_fsdp_param_group.py:438 post_backward",
    )
    reduce = (FSDP + "_fsdp_collectives.py:296 foreach_reduce",)
    with run.call(SCRIPT + ":212 <module>", SCRIPT + ":160 main"):
        with run.call(SCRIPT + ":88 build_model", FSDP + "_fsdp_param.py:266 _init_sharded_param"):
            shards = [run.new(size, "zeros") for size in [layer // 2] * layers + [vocabulary * hidden]]
    states = []
    for step in range(steps):
        saved = []
        with run.call(SCRIPT + ":212 <module>", SCRIPT + ":171 main", SCRIPT + ":120 training_step"):
            with run.call(*NN, MODEL + ":141 forward"):
                x = run.new(tokens * hidden * 2, "embedding")
                saved.append(x)
                for index in range(layers):
                    with run.call(*NN):
                        with run.call(
                            FSDP + "_fsdp_state.py:227 _pre_forward",
                            FSDP + "_fsdp_param_group.py:330 pre_forward",
                        ):
                            with run.call(*gather):
                                packed = run.new(layer, "empty_memory_format", stream=comm)
                            with run.call(*copy_out):
                                full = run.new(layer, "empty_memory_format")
                                run.gpu.record_stream(packed, wait=3)
                                run.drop(packed)
                        with run.call(MODEL + ":97 forward"):
                            with run.call(*NN, MODEL + ":55 attention"):
                                saved.append(run.new(3 * tokens * hidden * 2, "mm"))
                                saved.append(
                                    run.new(tokens * hidden * 2, "_scaled_dot_product_flash_attention")
                                )
                            with run.call(*NN, MODEL + ":74 mlp"):
                                saved.append(run.new(4 * tokens * hidden * 2, "mm"))
                                saved.append(run.new(4 * tokens * hidden * 2, "gelu"))
                        with run.call(FSDP + "_fsdp_param_group.py:352 post_forward"):
                            run.drop(full)
                with run.call(*NN, SITE + "torch/nn/modules/linear.py:125 forward"):
                    logits = run.new(tokens * vocabulary * 2, "mm")
            with run.call(SCRIPT + ":104 loss_fn"):
                wide = run.new(tokens * vocabulary * 4, "_to_copy")
                with run.call(SITE + "torch/nn/functional.py:3494 cross_entropy"):
                    probs = run.new(tokens * vocabulary * 4, "_log_softmax")
                    loss = run.new(4, "nll_loss_forward")
                run.drop(wide)
            with run.call(*ROOT_GRAD):
                root = run.new(4, "ones_like")
        # the autograd thread
        nll = run.grad(tokens * vocabulary * 4, "NllLossBackward0", "nll_loss_backward")
        soft = run.grad(tokens * vocabulary * 4, "LogSoftmaxBackward0", "_log_softmax_backward_data")
        run.grad_drop(nll, probs)
        narrow = run.grad(tokens * vocabulary * 2, "ToCopyBackward0", "_to_copy")
        run.grad_drop(soft, logits)
        flow = run.grad(tokens * hidden * 2, "MmBackward0", "mm")
        run.grad_drop(narrow)
        grads = []
        for index in range(layers):
            packed = run.grad(layer, "MmBackward0", "empty_memory_format", hook_in + gather, stream=comm)
            full = run.grad(layer, "MmBackward0", "empty_memory_format", hook_in + copy_out)
            run.gpu.record_stream(packed, wait=4)
            run.grad_drop(packed, python=hook_in)
            for part in range(4):
                unsharded = run.grad(layer // 4, "AccumulateGrad", "empty_like")
                grads.append(unsharded)
                run.grad_drop(saved.pop())
            bucket = run.grad(layer * 2, "MmBackward0", "empty_memory_format", hook_out + reduce, stream=comm)
            shard = run.grad(layer // 2, "MmBackward0", "empty_memory_format", hook_out + reduce, stream=comm)
            run.grad_drop(*grads[-4:], full, python=hook_out)
            del grads[-4:]
            grads.append(shard)
            run.gpu.record_stream(bucket, wait=2)
            run.grad_drop(bucket, python=hook_out)
        run.grad_drop(flow, saved.pop())
        with run.call(SCRIPT + ":212 <module>", SCRIPT + ":176 main"):
            with run.call(
                SITE + "torch/nn/utils/clip_grad.py:218 clip_grad_norm_",
                SITE + "torch/nn/utils/clip_grad.py:97 _get_total_norm",
            ):
                norms = [run.new(4, "linalg_vector_norm") for _ in grads]
                run.drop(*norms)
            with run.annotate("Optimizer.step#AdamW.step"), run.call(*ADAMW):
                if not states:
                    with run.call(SITE + "torch/optim/adamw.py:175 _init_group"):
                        states = [
                            run.new(size, "zeros_like")
                            for size in [layer // 2] * layers + [vocabulary * hidden]
                            for _ in (0, 1)
                        ]
                with run.call(
                    SITE + "torch/optim/adam.py:949 adam", SITE + "torch/optim/adam.py:766 _multi_tensor_adam"
                ):
                    scratch = [run.new(layer // 2, "_foreach_sqrt") for _ in range(layers)]
                    run.drop(*scratch)
            with run.annotate("Optimizer.zero_grad#AdamW.zero_grad"), run.call(
                SITE + "torch/optim/optimizer.py:1012 zero_grad"
            ):
                run.drop(*grads)
        with run.call(SCRIPT + ":212 <module>", SCRIPT + ":180 main"):
            run.drop(root, loss)
        run.clock.idle(250000)
    assert len(shards) == layers + 1
    return run.snapshot()


def expandable_segments():
    """slime's train_actor on Megatron with expandable segments: the step before left cached pages, the failing request makes the
    allocator give them back first."""
    run = Run(60 * GIB, seed=3, expandable=True, conf="expandable_segments:True", start_us=1764200000000000)
    root = "/root/"
    actor = root + "slime/slime/backends/megatron_utils/actor.py"
    model = root + "slime/slime/backends/megatron_utils/model.py"
    core = root + "Megatron-LM/megatron/core/"
    ray = SITE + "ray/_private/workers/default_worker.py:282 <module>"
    hidden, inner, vocabulary, layers = 5120, 13824, 152064, 10
    with run.call(ray, actor + ":71 init", model + ":142 setup_model_and_optimizer"):
        with run.call(core + "distributed/param_and_grad_buffer.py:612 __init__"):
            run.new(6 * GIB, "zeros")
            run.new(12 * GIB, "zeros")
        with run.call(core + "optimizer/distrib_optimizer.py:330 _build_model_and_main_param_groups"):
            for _ in range(12):
                run.new(GIB // 2, "clone")
    train = (
        ray,
        actor + ":266 train",
        actor + ":345 train_actor",
        model + ":420 train",
        model + ":318 train_one_step",
        core + "pipeline_parallel/schedules.py:520 forward_backward_no_pipelining",
    )
    forward = (
        core + "pipeline_parallel/schedules.py:402 forward_step",
        model + ":255 forward_step",
        *NN,
        core + "models/gpt/gpt_model.py:420 forward",
    )
    for tokens in (8192, 14336):
        saved, masks = [], []
        try:
            with run.call(*train, *forward):
                for index in range(layers):
                    with run.call(*NN, core + "transformer/transformer_layer.py:430 forward"):
                        for width in (3 * hidden, hidden, hidden, 2 * inner, inner):
                            saved.append(run.new(tokens * width * 2, "mm"))
                        with run.call(core + "transformer/dot_product_attention.py:150 forward"):
                            masks.append(run.new(tokens * hidden * 2 + 512 * tokens, "_softmax"))
                run.drop(*masks)
                with run.call(*NN, core + "tensor_parallel/layers.py:950 forward"):
                    saved.append(run.new(tokens * vocabulary * 2, "mm"))
                with run.call(core + "tensor_parallel/cross_entropy.py:72 forward"):
                    saved.append(run.new(tokens * vocabulary * 4, "_to_copy"))
            with run.call(*train, core + "pipeline_parallel/schedules.py:455 backward_step", *ROOT_GRAD):
                saved.append(run.new(4, "ones_like"))
            run.grad_drop(saved.pop())
            saved.append(run.grad(tokens * vocabulary * 4, "MulBackward0", "mul_Tensor"))
            for index in range(layers):
                step = run.grad(tokens * inner * 4, "MmBackward0", "mm")
                run.grad_drop(step, *[saved.pop() for _ in range(5 if index else 3)])
            with run.call(*train):
                run.drop(*saved)
            with run.call(
                ray,
                actor + ":266 train",
                actor + ":345 train_actor",
                model + ":420 train",
                model + ":340 train_one_step",
                core + "optimizer/optimizer.py:580 step",
                core + "optimizer/optimizer.py:560 step_with_ready_grads",
            ):
                scratch = [run.new(700 * MIB + 512 * index, "_foreach_mul") for index in range(3)]
                run.drop(*scratch)
            run.clock.idle(900000)
        except OutOfMemory:
            run.grad_drop(*reversed(saved))
            return run.snapshot()
    raise AssertionError("the sample is meant to run out of memory")


def fragmentation_oom():
    """transformers' Trainer with sequences of changing length: many segments, each with a hole that nothing large fits into."""
    run = Run(22 * GIB, seed=4, start_us=1764300000000000)
    trainer = SITE + "transformers/trainer.py"
    llama = SITE + "transformers/models/llama/modeling_llama.py"
    step = (
        "/workspace/sft/run_sft.py:88 <module>",
        trainer + ":2240 train",
        trainer + ":2555 _inner_training_loop",
        trainer + ":3718 training_step",
    )
    kept, alive = [], []
    with run.call(
        "/workspace/sft/run_sft.py:41 <module>",
        SITE + "transformers/modeling_utils.py:4264 from_pretrained",
        SITE + "torch/nn/modules/module.py:942 _apply",
    ):
        kept += [run.new(64 * MIB, "_to_copy") for _ in range(48)]
    try:
        with run.call(*step, trainer + ":3780 compute_loss", *NN, llama + ":830 forward"):
            # a long sequence leaves segments of 1.25 GiB behind
            long = []
            for index in range(14):
                with run.call(*NN, llama + ":%d forward" % (310 + index % 2)):
                    long.append(run.new(1280 * MIB, "mm"))
            run.drop(*long)
            # a shorter one spreads over them: what is saved stays, what is not leaves a hole behind it
            holes = []
            for index in range(14):
                with run.call(*NN, llama + ":318 forward"):
                    alive.append(run.new(600 * MIB, "mm"))
                with run.call(*NN, llama + ":174 forward"):
                    holes.append(run.new(640 * MIB, "silu"))
            run.drop(*holes)
            with run.call(*NN, llama + ":842 forward"):
                alive.append(run.new(2560 * MIB, "mm"))
    except OutOfMemory:
        with run.call(*step):
            run.drop(*reversed(alive))
        return run.snapshot()
    raise AssertionError("the sample is meant to run out of memory")


def python_only(steps=4, layers=6, tokens=4096, hidden=1024, vocabulary=50304):
    """stacks="python", and a ring of 600 entries that forgot the beginning: allocations of the autograd thread have no frames at all."""
    run = Run(16 * GIB, seed=5, mode="python", start_us=1764400000000000, ring=600)
    script = "/home/user/gpt/train.py"
    gpt = "/home/user/gpt/model.py"
    with run.call(
        script + ":190 <module>",
        SITE + "torch/nn/modules/module.py:1340 to",
        SITE + "torch/nn/modules/module.py:942 _apply",
        SITE + "torch/nn/modules/module.py:1326 convert",
    ):
        weights = [run.new(12 * hidden * hidden * 4 // 3, "_to_copy") for _ in range(3 * layers)]
    states, grads = [], []
    for step in range(steps):
        saved = []
        with run.call(script + ":301 <module>", *NN, gpt + ":184 forward"):
            for index in range(layers):
                with run.call(*NN, gpt + ":106 forward"):
                    with run.call(*NN, gpt + ":62 forward"):
                        saved.append(run.new(tokens * 3 * hidden * 2, "mm"))
                        temporary = run.new(16 * 1024 * 1024 * 2, "_softmax")
                        saved.append(run.new(tokens * hidden * 2, "mm"))
                        run.drop(temporary)
                    with run.call(*NN, gpt + ":83 forward"):
                        saved.append(run.new(tokens * 4 * hidden * 2, "mm"))
                        saved.append(run.new(tokens * 4 * hidden * 2, "gelu"))
            with run.call(*NN, SITE + "torch/nn/modules/linear.py:125 forward"):
                saved.append(run.new(tokens * vocabulary * 2, "mm"))
            with run.call(SITE + "torch/nn/functional.py:3494 cross_entropy"):
                saved.append(run.new(tokens * vocabulary * 4, "_log_softmax"))
                loss = run.new(4, "nll_loss_forward")
        with run.call(script + ":305 <module>", *ROOT_GRAD):
            root = run.new(4, "ones_like")
        flow = run.grad(tokens * vocabulary * 4, "LogSoftmaxBackward0", "mm")
        run.grad_drop(saved.pop())
        for index in range(len(saved)):
            run.grad_drop(run.grad(tokens * hidden * 4, "MmBackward0", "mm"))
            if index % 4 < 3 and step == 0 and len(grads) < len(weights):
                grads.append(run.grad(12 * hidden * hidden * 4 // 3, "AccumulateGrad", "mm"))
            run.grad_drop(saved.pop())
        run.grad_drop(flow)
        with run.annotate("Optimizer.step#AdamW.step"), run.call(script + ":309 <module>", *ADAMW):
            if not states:
                with run.call(SITE + "torch/optim/adamw.py:175 _init_group"):
                    states = [
                        run.new(12 * hidden * hidden * 4 // 3, "zeros_like") for _ in range(2 * len(weights))
                    ]
            with run.call(SITE + "torch/optim/adam.py:766 _multi_tensor_adam"):
                scratch = [run.new(12 * hidden * hidden * 4 // 3, "_foreach_sqrt") for _ in range(6)]
                run.drop(*scratch)
        with run.call(script + ":311 <module>"):
            run.drop(root, loss)
        run.clock.idle(120000)
    return run.snapshot()


def tiny():
    """The smallest thing that has a bit of everything: an annotation, a delayed free, a backward, a failed request, odd characters."""
    run = Run(
        60 * MIB, seed=6, start_us=1764500000000000, extra={"compile_context": "N/A", "user_metadata": ""}
    )
    script = "/home/user/tiny/train.py"
    run.stacks.mode = "python"
    with run.call(script + ":9 <module>", SITE + "torch/nn/modules/module.py:942 _apply"):
        weight = run.new(3 * MIB + 100, "_to_copy")
    with run.call(script + ":14 <module>", *NN, script + ":5 forward"):
        x = run.new(1000, "mm")
        y = run.new(12 * MIB, "mm")
        run.gpu.record_stream(y, wait=1)
        run.drop(y)
    with run.call(script + ":15 <module>", *ROOT_GRAD):
        root = run.new(4, "ones_like")
    run.stacks.mode = "all"
    native = [
        ("at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", "??"),
        (
            "torch::autograd::generated::MmBackward0::apply("
            "std::vector<at::Tensor, std::allocator<at::Tensor> >&&)",
            "??",
        ),
        ("torch::autograd::Engine::evaluate_function()", "??"),
    ]
    grad = run.gpu.malloc(3 * MIB + 100, run.stacks.build_thread(native, ()))
    run.stacks.mode = "python"
    with run.annotate("Optimizer.step#SGD.step"), run.call(
        script + ":16 <module>", SITE + "torch/optim/optimizer.py:485 wrapper"
    ):
        run.drop(run.new(3 * MIB + 100, "mul_Tensor"))
    try:
        with run.call(script + ":20 <module>", *NN, script + ':6 forward_<b>"&\u00e9\u4e2d</b>'):
            run.new(40 * MIB, "mm")
    except OutOfMemory:
        assert weight and x and root and grad
        return run.snapshot()
    raise AssertionError("the sample is meant to run out of memory")
