"""Jobs whose trouble lies in the order of their requests, written out."""

from . import places as at
from .record import GIB, MIB


def _backward(job, kept, sizes):
    """Lets go of what a forward pass kept, from its end; then gradients of those sizes."""
    job.inside("train/backward")
    with job.call(at.ROOT + "train.py:119 main", *at.ROOT_GRAD):
        job.drop(job.new(512, "temp", "ones_like"))
    with job.autograd("MmBackward0"):
        for block in reversed(kept):
            job.drop(block)
        return [job.new(size, "grad", "mm") for size in sizes]


def _churn(job, saver):
    """Log-prob over long sequences leaves segments behind; training with shorter ones spreads over them and keeps some."""
    places, outer = job.places, ("torch_memory_saver/entrypoint.py:80 region",) if saver else ()
    logp = places.get("logp_old") or places.get("logp") or places["train_actor"]
    job.truth.step = 0
    job.phase("init")
    job.inside("logp_old")
    with job.call(*logp, *outer, *at.NN, at.HF_MODEL + ":270 forward"):
        job.drop(*[job.new(1300 * MIB, "temp", "mm") for _ in range(24)])
    job.inside("train_actor/forward")
    with job.call(*places["train_actor"], *places["micro"]["train_actor"], *outer):
        loose = []
        for _ in range(24):
            with job.call(*at.NN, at.HF_MODEL + ":216 forward"):
                job.new(620 * MIB, "activation", "mm")
            with job.call(*at.NN, at.HF_MODEL + ":82 forward"):
                loose.append(job.new(660 * MIB, "temp", "silu"))
        job.drop(*loose)
        with job.call(*at.NN, at.HF_MODEL + ":82 forward"):
            job.new(6 * GIB, "activation", "mm")


def churn(job):
    _churn(job, False)


def churn_memory_saver(job):
    _churn(job, True)


def pinned(job):
    """A dispatcher keeps small tensors of the log-prob pass; each lies in a segment that is free but for it."""
    job.phase("init")
    job.inside("logp_old")
    with job.call(*job.places["logp_old"]):
        for _ in range(22):
            with job.call(*at.NN, at.CORE + "transformer/moe/token_dispatcher.py:410 dispatch_preprocess"):
                probs = job.new(1000 * MIB, "temp", "mm")
                job.drop(probs)
                job.new(3 * MIB, "temp", "topk")
                hold = job.new(997 * MIB, "temp", "index_select")
            job.held.append(hold)
        job.drop(*job.held)
    job.inside("train_actor/forward")
    with job.call(*job.places["train_actor"]), job.model(at.HF_MODEL + ":508 forward"):
        job.new(5 * GIB, "activation", "mm")


def losses(job):
    """A second loss is appended to a list with its graph, which no backward lets go: 20 blocks a step. They lie between activations, so that
    what those leave is in pieces."""
    job.phase("init")
    train, module = (at.ROOT + "train.py:120 <module>", at.ROOT + "train.py:60 train_step"), at.ROOT + "model.py:33 forward"
    for step in range(job.steps):
        job.truth.step, kept = step, []
        job.inside("train/forward")
        with job.call(*train, *at.NN, module):
            for _ in range(20):
                kept.append(job.new(100 * MIB, "activation", "mm"))
                job.temp(100 * MIB, "temp", "gelu")
        with job.call(*train, at.ROOT + "losses.py:15 auxiliary_loss"):
            job.held += [job.new(45 * MIB, "unknown", "mm") for _ in range(20)]
        job.inside("train/backward")
        with job.autograd("MmBackward0"):
            grads = []
            for block in reversed(kept):
                grads += [job.new(64 * MIB, "grad", "mm") for _ in range(3)]
                job.drop(block)
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(*train, *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(64 * MIB, "optim_state", "zeros_like") for _ in range(120)]
        with job.call(*train, *at.ZERO):
            job.drop(*grads)


def load_split(job):
    """A shard of the checkpoint passes through a buffer of 530 MiB; the weight that follows sits in its place."""
    job.inside("rollout.load")
    with job.within_engine(*job.eng["load"]):
        for _ in range(80):
            job.drop(job.new(530 * MIB, "temp", "empty"))
            job.new(270 * MIB, "engine_weights", "empty")


def last_stage(job):
    """The last stage of a pipeline by PyTorch's schedule: one micro-batch at a time, whose logits stay until they are joined."""
    job.phase("init")
    step = (at.ROOT + "train.py:120 <module>", at.PIPELINING + "schedules.py:503 step", at.PIPELINING + "schedules.py:712 _step_microbatches")
    one = step + (at.PIPELINING + "stage.py:689 forward_one_chunk",)
    rows = 2048 * 151936
    for number in range(job.steps):
        job.truth.step, outputs = number, []
        for _ in range(16):
            job.inside("train_actor/forward")
            with job.call(*one, *at.NN, at.ROOT + "model.py:33 forward"):
                kept = [job.new(24 * MIB, "activation", "mm") for _ in range(8)]
            with job.call(*one, *at.NN, at.ROOT + "model.py:53 forward", *at.NN, *at.LM_HEAD):
                outputs.append(job.new(rows * 2, "logits", "mm"))
            with job.call(*step, at.PIPELINING + "schedules.py:367 _compute_loss", at.ROOT + "train.py:40 loss"):
                wide = job.new(rows * 4, "logits", "_to_copy")
                with job.call("torch/nn/functional.py:3494 cross_entropy"):
                    soft = job.new(rows * 4, "logits", "_log_softmax")
                job.drop(wide)
            job.inside("train_actor/backward")
            with job.autograd("NllLossBackward0"):
                job.temp(rows * 4, "logits", "nll_loss_backward")
            with job.autograd("ToCopyBackward0"):
                back = job.new(rows * 2, "logits", "_to_copy")
            job.drop(soft)
            if not job.outputs:
                job.drop(outputs.pop())
            job.drop(back, *kept)
        if job.outputs:
            job.inside("train_actor/forward")
            with job.call(*step[:2], at.PIPELINING + "schedules.py:397 _merge_outputs", at.PIPELINING + "microbatch.py:451 merge_chunks"):
                job.drop(job.new(16 * rows * 2, "temp", "cat"))
        job.drop(*outputs)


def gathered(job):
    """One process, several devices: each runs a part of the batch, and the first one gathers the outputs of all, for the loss. skew: of how many
    devices this one has them; 0 = it is another one."""
    job.phase("init")
    line, own = (at.ROOT + "train.py:66 main",), ("torch/nn/parallel/data_parallel.py:193 forward",)
    rows = 4096 * 50257
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(*line, *own, "torch/nn/parallel/parallel_apply.py:97 _worker", *at.NN, at.ROOT + "model.py:33 forward"):
            kept = [job.new(60 * MIB, "activation", "mm") for _ in range(10)]
        with job.call(*line, *own, "torch/nn/parallel/parallel_apply.py:97 _worker", *at.NN, at.ROOT + "model.py:53 forward", *at.NN, *at.LM_HEAD):
            part = job.new(rows * 2, "logits", "mm")
        loss = []
        if job.skew:
            with job.call(*line, *own, "torch/nn/parallel/scatter_gather.py:75 gather"):
                loss.append(job.new(int(job.skew * rows * 2), "activation", "cat"))
            with job.call(at.ROOT + "train.py:67 main", "torch/nn/functional.py:3494 cross_entropy"):
                loss.append(job.new(int(job.skew * rows * 4), "logits", "_to_copy"))
                loss.append(job.new(int(job.skew * rows * 4), "logits", "_log_softmax"))
        job.inside("train/backward")
        with job.autograd("NllLossBackward0"):
            if job.skew:
                job.temp(int(job.skew * rows * 4), "logits", "nll_loss_backward")
            job.drop(*loss)
        with job.autograd("MmBackward0"):
            grads = []
            for block in reversed(kept):
                grads.append(job.new(24 * MIB, "grad", "mm"))
                job.drop(block)
        job.drop(part)
        with job.call(at.ROOT + "train.py:70 main", *at.ZERO):
            job.drop(*grads)


def strays(job):
    """What goes to the default device, by code that names none."""
    job.phase("init")
    with job.call(at.ROOT + "train.py:31 main", at.ROOT + "data.py:120 to_tensor"):
        for _ in range(12):
            job.held.append(job.new(128 * MIB, "unknown", "empty"))


def tests_in_between(job):
    """After steps of training the job's own loop tests the model, from a line of its own. eval_grad: autograd is on, so that each pass stands beside
    the one before."""
    job.phase("init")
    model = (*at.NN, at.ROOT + "model.py:33 forward")
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(at.ROOT + "train.py:118 main", *model):
            kept = [job.new(40 * MIB, "activation", "mm") for _ in range(12)]
        with job.call(at.ROOT + "train.py:119 main", "torch/nn/functional.py:3494 cross_entropy"):
            loss = job.new(8 * MIB, "temp", "nll_loss")
        job.inside("train/backward")
        grads = []
        with job.autograd("MmBackward0"):
            for block in reversed(kept):
                grads.append(job.new(48 * MIB, "grad", "mm"))
                job.drop(block)
        job.drop(loss)
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)
    before = []
    for _ in range(3):
        job.inside("test/forward")
        with job.call(at.ROOT + "train.py:140 test"):
            image = job.new(16 * MIB, "unknown", "_to_copy")
        with job.call(at.ROOT + "train.py:141 test", *model):
            kept = [job.new(120 * MIB, "activation", "mm")]
            for _ in range(15):
                kept.append(job.new(120 * MIB, "activation", "mm"))
                if not job.eval_grad:
                    job.drop(kept.pop(0))
        with job.call(at.ROOT + "train.py:141 test"):
            job.drop(*before)
        before = kept
        job.drop(image)


def handed_on(job):
    """A recurrent state goes from one pass to the next with its graph (outputs): no backward pass lets go of what its forward kept."""
    job.phase("init")
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(at.ROOT + "train.py:118 main", *at.NN, at.ROOT + "cell.py:33 forward"):
            kept = [job.new(200 * MIB, "activation", "mm") for _ in range(12)]
        with job.call(at.ROOT + "train.py:119 main", "torch/nn/functional.py:3494 cross_entropy"):
            loss = job.new(8 * MIB, "temp", "nll_loss")
        job.inside("train/backward")
        grads = []
        with job.autograd("MmBackward0"):
            for block in reversed(kept):
                grads.append(job.new(48 * MIB, "grad", "mm"))
                if job.outputs:
                    job.held.append(block)
                else:
                    job.drop(block)
        job.drop(loss)
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:121 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(48 * MIB, "optim_state", "zeros_like") for _ in range(24)]
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)


def teacher(job):
    """A model that no optimizer has is run with gradients (outputs): they stay from step to step, and its passes keep what they made."""
    job.phase("init")
    with job.call(at.ROOT + "train.py:60 main", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
        job.held_weights = [job.new(64 * MIB, "param", "_to_copy") for _ in range(12)]
    with job.call(at.ROOT + "train.py:61 main", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
        job.held_weights += [job.new(8 * MIB, "param", "_to_copy") for _ in range(24)]
    idle = []
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(at.ROOT + "train.py:117 main", *at.NN, at.ROOT + "model.py:33 forward"):
            kept = []
            for _ in range(12):
                block = job.new(100 * MIB, "activation" if job.outputs else "temp", "mm")
                if job.outputs:
                    kept.append(block)
                else:
                    job.drop(block)
        with job.call(at.ROOT + "train.py:118 main", *at.NN, at.ROOT + "small.py:21 forward"):
            kept += [job.new(50 * MIB, "activation", "mm") for _ in range(6 + 2 * (step == job.steps - 1))]
        with job.call(at.ROOT + "train.py:119 main", "torch/nn/functional.py:3494 cross_entropy"):
            loss = job.new(8 * MIB, "temp", "nll_loss")
        job.inside("train/backward")
        grads = []
        with job.autograd("MmBackward0"):
            for block in reversed(kept):
                job.drop(block)
            grads = [job.new(8 * MIB, "grad", "mm") for _ in range(24)]
            for _ in range(12 if job.outputs else 0):
                block = job.new(64 * MIB, "grad", "mm")
                if step == 0:
                    idle.append(block)
                else:  # added to the one that is there
                    job.drop(block)
        job.drop(loss)
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:121 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(8 * MIB, "optim_state", "zeros_like") for _ in range(48)]
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)


def long_row(job):
    """A server decodes; in the last call one row is 20 times as long as the others (outputs), which are padded to it."""
    job.phase("init")
    with job.call(at.ROOT + "serve.py:60 main", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
        for _ in range(8):
            job.new(16 * MIB, "param", "_to_copy")
    for step in range(5):
        job.truth.step = step
        job.inside("serve")
        size = (20 if job.outputs and step == 4 else 1) * 64 * MIB
        for _ in range(4):
            with job.call(at.ROOT + "serve.py:118 main", "torch/utils/_contextlib.py:116 decorate_context", at.ROOT + "serve.py:90 decode", *at.NN, at.ROOT + "net.py:33 forward"):
                first = job.new(size, "temp", "index")
                second = job.new(size, "temp", "index")
            job.drop(first, second)
        with job.call(at.ROOT + "serve.py:118 main", "torch/utils/_contextlib.py:116 decorate_context", at.ROOT + "serve.py:92 decode", *at.NN, at.ROOT + "net.py:50 forward"):
            job.drop(job.new(4 * MIB, "temp", "mm"))


def whole_set(job):
    """After each epoch the whole test set at once (outputs), else half of it, from a line that nothing trains from."""
    job.phase("init")
    with job.call(at.ROOT + "train.py:60 main", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
        for _ in range(8):
            job.new(16 * MIB, "param", "_to_copy")
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(at.ROOT + "train.py:118 main", *at.NN, at.ROOT + "net.py:33 forward"):
            kept = [job.new(20 * MIB, "activation", "mm") for _ in range(6)]
        grads = _backward(job, kept, [16 * MIB] * 8)
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)
    job.inside("test")
    size = (1200 if job.outputs else 600) * MIB
    with job.call(at.ROOT + "train.py:130 main", at.ROOT + "train.py:90 accuracy", *at.NN, at.ROOT + "net.py:33 forward"):
        last = job.new(size, "temp", "mm")
        for _ in range(5):
            block = job.new(size, "temp", "mm")
            job.drop(last)
            last = block


def frozen(job):
    """Adapters are trained on a frozen base: in 32 bits (outputs), else in 16."""
    job.inside("init")
    with job.call(at.ROOT + "train.py:60 main", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
        for _ in range(48):
            job.new((192 if job.outputs else 96) * MIB, "param", "_to_copy")
            job.new(2 * MIB, "param", "_to_copy")
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(at.ROOT + "train.py:118 main", *at.NN, at.ROOT + "model.py:33 forward"):
            kept = [job.new(50 * MIB, "activation", "mm") for _ in range(12 + 2 * (step == job.steps - 1))]
        grads = _backward(job, kept, [2 * MIB] * 48)
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:121 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(2 * MIB, "optim_state", "zeros_like") for _ in range(96)]
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)


def per_sample(job):
    """Gradients of each of 96 samples, clipped one by one: of all at once (outputs), else of half of them."""
    job.inside("init")
    with job.call(at.ROOT + "train.py:60 main", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
        weights = [job.new(4 * MIB, "param", "_to_copy") for _ in range(8)]
    samples = 96 if job.outputs else 48
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/backward")
        with job.call(at.ROOT + "train.py:117 main", "torch/_functorch/apis.py:203 wrapped", "torch/_functorch/vmap.py:331 vmap_impl"):
            job.drop(job.new(512, "temp", "to_copy"))
        with job.call(at.ROOT + "train.py:118 main", *at.ROOT_GRAD):
            job.drop(job.new(512, "temp", "ones_like"))
        with job.autograd("MmBackward0"):
            grads = [job.new(samples * 4 * MIB, "grad", "mm") for _ in weights]
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)


def ensemble(job):
    """Four models alike predict one after the other. outputs: all of them stand on the card; else each is brought there for its turn."""
    job.phase("init")
    models = []
    for number in range(4):
        if not job.outputs and models:
            job.drop(*models.pop())
        with job.call(at.ROOT + "vote.py:20 load", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
            one = [job.new(96 * MIB, "param", "_to_copy")]
            for _ in range(6):
                one += [job.new(size, "param", "_to_copy") for size in (12 * MIB, 6144, 4 * MIB, 2048, 16 * MIB, 8192, 16 * MIB, 2048)]
            one.append(job.new(40 * MIB, "param", "_to_copy"))
        models.append(one)
    job.inside("predict/forward")
    for _ in range(2 * len(models)):
        with job.call(at.ROOT + "vote.py:33 predict", *at.NN, at.ROOT + "model.py:33 forward"):
            before = job.new(100 * MIB, "temp", "mm")
            for _ in range(5):
                block = job.new(100 * MIB, "temp", "mm")
                job.drop(before)
                before = block
            job.drop(before)


def results(job):
    """A loop assigns what the model returns: the old value goes when the new one is there. The last batch is longer."""
    job.phase("init")
    line, model = (at.ROOT + "train.py:118 main",), at.ROOT + "model.py:%d forward"
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(*line, *at.NN, model % 33):
            kept = [job.new(100 * MIB, "activation", "mm") for _ in range(12 + 2 * (step == job.steps - 1))]
        with job.call(*line, *at.NN, model % 36, *at.NN, model % 12):
            out = job.new(600 * MIB, "activation", "mm")
        with job.call(*line):
            job.drop(*job.held)
        job.held = [out]
        with job.call(at.ROOT + "train.py:119 main", "torch/nn/functional.py:3494 cross_entropy"):
            loss = job.new(8 * MIB, "temp", "nll_loss")
        job.inside("train/backward")
        grads = []
        with job.autograd("MmBackward0"):
            for block in reversed(kept):
                grads.append(job.new(48 * MIB, "grad", "mm"))
                job.drop(block)
        job.drop(loss)
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:121 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(48 * MIB, "optim_state", "zeros_like") for _ in range(24)]
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)
        if not job.outputs:
            with job.call(at.ROOT + "train.py:123 main"):
                job.drop(*job.held)
            job.held = []


def graphed(job):
    """A compiled model. outputs: with CUDA graphs, whose pool keeps what a pass computed once; else each pass makes its own and lets it go."""
    job.phase("init")
    with job.call(at.ROOT + "train.py:70 main", at.MODULE + ":942 _apply", at.MODULE + ":1341 convert"):
        job.held = [job.new(48 * MIB, "param", "_to_copy") for _ in range(24)]
    line, pool = (at.ROOT + "train.py:118 main",), (0, 1)
    record = at.RECORDS if job.outputs else ()
    forward = (*line, *at.NN, at.COMPILED + "runtime_wrappers.py:1940 forward", *record, "/tmp/torchinductor_u/ab/cab.py:180 call")
    backward = (at.COMPILED + "runtime_wrappers.py:2100 backward", *record, "/tmp/torchinductor_u/cd/ccd.py:250 call")
    made, grads = [], []
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        if not made:
            with job.call(*forward):
                made = [job.new(200 * MIB, "graph_pool" if job.outputs else "activation", "empty_strided", pool=pool if job.outputs else (0, 0))
                        for _ in range(24)]
        with job.call(*line, *at.NN, at.ROOT + "model.py:188 forward"):
            out = job.new(16 * MIB, "activation", "mm")
        job.inside("train/backward")
        with job.autograd("CompiledFunctionBackward", *backward):
            if not job.outputs:
                grads = [job.new(48 * MIB, "grad", "empty_strided") for _ in range(24)]
            elif not step:
                made += [job.new(48 * MIB, "graph_pool", "empty_strided", pool=pool) for _ in range(24)]
            job.drop(out)
            if not job.outputs:
                job.drop(*made)
                made = []
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:121 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(48 * MIB, "optim_state", "zeros_like") for _ in range(48)]
            job.drop(*[job.new(48 * MIB, "optim_temp", "_foreach_sqrt") for _ in range(48)])
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)
        grads = []


def best_so_far(job):
    """outputs: after each step the job's own code copies the weights, which are the best so far, and lets the copy before go; "zeros": makes
    zeros of those sizes in their place."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    line, best = (at.ROOT + "train.py:118 main",), []
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/forward")
        with job.call(*line, *at.NN, at.ROOT + "model.py:33 forward"):
            kept = [job.new(24 * MIB, "activation", "mm") for _ in range(12)]
        job.inside("train/backward")
        with job.autograd("AccumulateGrad"):
            grads = [job.new(size, "grad", "new_empty_strided") for size in reversed(sizes)]
            job.drop(*kept)
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:121 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(size, "optim_state", "zeros_like") for size in sizes for _ in range(2)]
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)
        job.inside("train/keep")
        if job.outputs:
            with job.call(at.ROOT + "train.py:123 main", at.ROOT + "best.py:12 keep"):
                copy = [job.new(size, "param" if job.outputs is True else "unknown", "clone" if job.outputs is True else "zeros_like") for size in sizes]
                job.drop(*best)
                best = copy


def accumulates(job):
    """FSDP2, four micro-batches to a step. outputs: gradients are reduced after the last one only, until when all of them stay whole."""
    line, group = (at.ROOT + "train.py:150 main",), "torch/distributed/fsdp/_fully_shard/"
    layer = [32 * MIB, 16 * MIB, 60 * MIB, 60 * MIB]
    with job.call(at.ROOT + "train.py:80 main", group + "_fully_shard.py:200 fully_shard", group + "_fsdp_param.py:260 _init_sharded_param"):
        job.held = [job.new(size * 2 // 8, "param", "clone") for _ in range(24) for size in layer]
    reduces = (group + "_fsdp_param_group.py:400 post_backward", group + "_fsdp_collectives.py:340 foreach_reduce")
    for step in range(job.steps):
        job.truth.step, whole, parts = step, [], []
        for micro in range(4):
            job.inside("train/forward")
            with job.call(*line, *at.NN, at.ROOT + "model.py:40 forward", *at.NN, at.ROOT + "model.py:20 forward"):
                kept = [job.new(40 * MIB, "activation", "mm") for _ in range(24)]
            job.inside("train/backward")
            for number in range(24):
                with job.autograd("AccumulateGrad"):
                    fresh = [job.new(size, "grad", "new_empty_strided") for size in layer]
                    job.drop(kept.pop())
                    if micro and job.outputs:  # added to those that are there
                        job.drop(*fresh)
                    elif job.outputs:
                        whole.append(fresh)
                if micro == 3 or not job.outputs:
                    with job.autograd("FSDPBackward", *reduces):
                        if micro == 0 or job.outputs:
                            parts.append(job.new(sum(layer) * 2 // 8, "grad", "empty"))
                        job.drop(*(whole[number] if job.outputs else fresh))
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:160 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(size * 2 // 8, "optim_state", "zeros_like") for _ in range(24) for size in layer for _ in range(2)]
        with job.call(at.ROOT + "train.py:161 main", *at.ZERO):
            job.drop(*parts)


def reloads(job):
    """A notebook loads a model, uses it, and loads a larger one. outputs: something still refers to the first."""
    with job.call(*job.places["init"]):
        first = [job.new(n, "param", "_to_copy") for _ in range(16) for n in (24 * MIB, 8 * MIB, 60 * MIB, 60 * MIB)]
    line = (at.ROOT + "notebook.py:31 main", "torch/utils/_contextlib.py:116 decorate_context", at.ROOT + "notebook.py:12 answer")
    for _ in range(3):
        job.inside("answer")
        with job.call(*line, *at.NN, at.ROOT + "model.py:40 forward"):
            for _ in range(16):
                job.temp(30 * MIB)
    if not job.outputs:
        with job.call(at.ROOT + "notebook.py:34 main"):
            job.drop(*first)
    job.inside("reload")
    place = job.places["init"]
    with job.call(place[0].replace(":212 ", ":240 "), *place[1:]):
        for _ in range(20):
            for n in (36 * MIB, 12 * MIB, 90 * MIB, 90 * MIB):
                job.new(n, "param", "_to_copy")


def uneven_experts(job):
    """Six layers with experts. outputs: in the last step the router of one layer sends most of the tokens of all ranks to an expert of this one."""
    job.phase("init")
    line = (at.ROOT + "train.py:14 main",)
    for step in range(job.steps):
        job.truth.step, kept = step, []
        for layer in range(6):
            share = 16 if job.outputs and step == job.steps - 1 and layer == 3 else 1
            job.inside("train/forward")
            with job.call(*line, *at.NN, at.ROOT + "model.py:40 forward", *at.NN, at.ROOT + "model.py:18 forward"):
                kept.append(job.new(64 * MIB, "activation", "index"))
                with job.call(*at.NN, at.ROOT + "model.py:6 forward"):
                    kept += [job.new(share * 44 * MIB, "activation", "mm") for _ in range(4)]
                kept.append(job.new(64 * MIB, "activation", "index_add"))
        job.inside("train/loss")
        with job.call(*line):  # the job's own line, between the passes
            kept.append(job.new(480 * MIB, "logits", "_to_copy"))
        with job.call(at.ROOT + "train.py:15 main", "torch/nn/functional.py:3494 cross_entropy"):
            kept.append(job.new(480 * MIB, "logits", "_log_softmax"))
        job.inside("train/backward")
        grads = []
        with job.autograd("MmBackward0"):
            for block in reversed(kept):
                grads.append(job.new(12 * MIB, "grad", "mm"))
                job.drop(block)
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:17 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(12 * MIB, "optim_state", "zeros_like") for _ in grads for _ in range(2)]
        with job.call(at.ROOT + "train.py:18 main", *at.ZERO):
            job.drop(*grads)


def grown_cache(job):
    """A plain loop generates: the cache of each layer is joined with the keys and values of each token."""
    job.phase("init")
    line = (at.ROOT + "chat.py:36 main", "torch/utils/_contextlib.py:116 decorate_context", at.ROOT + "chat.py:31 generate")
    past = []
    for token in range(120):
        job.inside("generate")
        new = []
        with job.call(*line, *at.NN, at.ROOT + "chat.py:25 forward"):
            for layer in range(8):
                with job.call(*at.NN, at.ROOT + "chat.py:9 forward"):
                    for part in range(2):
                        new.append(job.new((4000 + 8 * token) * 8192, "kv_cache", "cat"))
                    job.temp((4000 + 8 * token) * 512, "temp", "_softmax")
                with job.call(*at.NN, at.ROOT + "chat.py:17 forward"):
                    job.temp(4 * MIB)
        with job.call(*line):
            job.drop(*past)
        past = new


def prefetches(job):
    """The next batch comes to the card after the backward pass, by the job's own line, before the optimizer steps. outputs: and something of it stays."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    batch = None
    for step in range(job.steps):
        job.truth.step, kept = step, []
        job.inside("train/forward")
        with job.call(at.ROOT + "train.py:118 main", *at.NN, at.ROOT + "model.py:33 forward"):
            kept = [job.new(96 * MIB, "activation", "mm") for _ in range(24)]
        job.inside("train/backward")
        with job.autograd("AccumulateGrad"):
            grads = [job.new(size, "grad", "new_empty_strided") for size in reversed(sizes)]
            job.drop(*kept)
        job.inside("train/load")
        with job.call(at.ROOT + "train.py:121 main", at.ROOT + "data.py:12 to_card"):
            fresh = job.new(1536 * MIB, "unknown", "_to_copy")
        if batch is not None:
            job.drop(batch)
        batch = fresh
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:122 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(size, "optim_state", "zeros_like") for size in sizes for _ in range(2)]
        with job.call(at.ROOT + "train.py:123 main", *at.ZERO):
            job.drop(*grads)


def all_pairs(job):
    """A forward compares every node with every other one: the last graph is four times as large."""
    job.phase("init")
    for step in range(job.steps):
        job.truth.step = step
        nodes = 24576 if step < job.steps - 1 else 98304
        job.inside("train/forward")
        with job.call(at.ROOT + "train.py:118 main", *at.NN, at.ROOT + "graph.py:33 forward"):
            kept = [job.new(nodes * 512, "activation", "mm") for _ in range(4)]
            kept.append(job.new(nodes * nodes, "activation", "cdist"))
        job.inside("train/backward")
        with job.autograd("CdistBackward0"):
            grads = []
            for block in reversed(kept):
                grads.append(job.new(40 * MIB, "grad", "mm"))
                job.drop(block)
        job.inside("train/optimizer")
        with job.run.annotate("Optimizer.step#AdamW.step"), job.call(at.ROOT + "train.py:121 main", *at.ADAMW):
            if not job.states:
                with job.call(*at.INIT_GROUP):
                    job.states = [job.new(40 * MIB, "optim_state", "zeros_like") for _ in range(10)]
        with job.call(at.ROOT + "train.py:122 main", *at.ZERO):
            job.drop(*grads)
