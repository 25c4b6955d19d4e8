"""Jobs of people's own code that keep copies of their weights, their gradients or their data: what fills the card is one line's."""

from . import places as at
from .record import MIB

MAIN, LBFGS = at.ROOT + "train.py:%d main", ("torch/optim/optimizer.py:493 wrapper", "torch/optim/lbfgs.py:%d step")


def _forward(job, layer=None):
    """What a forward pass keeps; layer(number) makes more in each layer."""
    kept = []
    job.inside("train/forward")
    with job.call(MAIN % 118, *at.NN, at.ROOT + "model.py:33 forward"):
        for number in range(job.layers):
            kept += layer(number) if layer else []
            kept.append(job.new(24 * MIB, "activation", "mm"))
    return kept


def _backward(job, kept, sizes):
    """Gradients of weights of those sizes, and nothing of the forward any more."""
    job.inside("train/backward")
    with job.autograd("AccumulateGrad"):
        grads = [job.new(size, "grad", "new_empty_strided") for size in reversed(sizes)]
        job.drop(*kept)
    return grads


def _adamw(job, sizes, grads):
    """A step; makes its state where there is none."""
    job.inside("train/optimizer")
    with job.run.annotate("Optimizer.step#AdamW.step"), job.call(MAIN % 121, *at.ADAMW):
        if not job.states:
            with job.call(*at.INIT_GROUP):
                job.states = [job.new(size, "optim_state", "zeros_like") for size in sizes for _ in range(2)]
    with job.call(MAIN % 122, *at.ZERO):
        job.drop(*grads)


def teachers(job):
    """Clones of all weights that one line makes before the training. outputs: eight sets of them, else two."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    with job.call(MAIN % 95, at.ROOT + "teachers.py:22 remember"):
        job.held = [job.new(size, "data", "clone") for _ in range(8 if job.outputs else 2) for size in sizes]
    for step in range(job.steps):
        job.truth.step = step
        _adamw(job, sizes, _backward(job, _forward(job), sizes))


def lbfgs(job):
    """L-BFGS, two tensors as large as all weights in each iteration, beside four for good. outputs: as many as there are iterations, else ten
    pairs at most."""
    job.phase("init")
    sizes, pairs = [block.requested for block in job.params], []
    with job.call(MAIN % 118, LBFGS[0], LBFGS[1] % 330):
        closure = at.ROOT + "train.py:110 closure"
        for number in range(22):
            job.inside("train/forward")
            with job.call(closure, *at.NN, at.ROOT + "model.py:33 forward"):
                kept = [job.new(160 * MIB, "activation", "mm") for _ in range(12)]
            grads = _backward(job, kept, sizes)
            job.inside("train/history")
            if number == 21:  # memory ran out before
                return
            if number == 0:
                job.states = [job.new(sum(sizes), "optim_state", "cat") for _ in range(4)]
            pairs.append([job.new(sum(sizes), "optim_state", op) for op in ("sub", "mul")])
            if not job.outputs and len(pairs) > 10:
                job.drop(*pairs.pop(0))
            job.drop(*grads)


def stages(job):
    """A second optimizer for the same weights. outputs: the first one is still referred to, so that its state stays."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    for step in range(job.steps):
        job.truth.step = step
        if step == job.steps // 2:
            with job.call(MAIN % 115):
                if job.outputs:
                    job.held, job.states = job.states, []
                else:
                    job.drop(*job.states)
                    job.states = []
        _adamw(job, sizes, _backward(job, _forward(job), sizes))


def shuffles(job):
    """Data on the card that each epoch shuffles whole. outputs: the shuffled ones of the epoch before go when the new ones are there."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    with job.call(MAIN % 90, at.ROOT + "data.py:8 fill"):
        job.held = [job.new(3000 * MIB, "data", "zeros")]
    shuffled = None
    for step in range(job.steps):
        job.truth.step = step
        job.inside("train/shuffle")
        if shuffled and not job.outputs:
            with job.call(MAIN % 99):
                job.drop(shuffled)
        with job.call(MAIN % 100, at.ROOT + "data.py:21 shuffled"):
            fresh = job.new(3000 * MIB, "data", "index")
        if shuffled and job.outputs:
            with job.call(MAIN % 100):
                job.drop(shuffled)
        shuffled = fresh
        for _ in range(3):
            _adamw(job, sizes, _backward(job, _forward(job), sizes))


def wakes(job):
    """An engine in the same process makes its cache behind each step, and lets it go before the next. outputs: the step leaves the gradients
    where they are, as zero_grad(set_to_none=False) does."""
    job.phase("init")
    sizes, grads = [block.requested for block in job.params], []
    for step in range(job.steps):
        job.truth.step = step
        kept = _forward(job)
        if grads:
            job.inside("train/backward")
            with job.autograd("MmBackward0"):
                job.drop(job.new(24 * MIB, "temp", "mm"), *kept)
        else:
            grads = _backward(job, kept, sizes)
        _adamw(job, sizes, [] if job.outputs else grads)
        grads = grads if job.outputs else []
        job.inside("wake")
        with job.call(MAIN % 130, at.ROOT + "engine.py:14 wake"):
            cache = [job.new(1024 * MIB, "kv_cache", "empty") for _ in range(job.layers)]
        with job.call(MAIN % 132, at.ROOT + "engine.py:19 sleep"):
            job.drop(*cache)


def answers(job):
    """Answers are generated with a cache that grows by a token at a time, then trained on. outputs: the cache goes with them to the training."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    line = (at.ROOT + "rl.py:36 main", "torch/utils/_contextlib.py:116 decorate_context", at.ROOT + "rl.py:31 sample")
    for step in range(job.steps):
        job.truth.step, past = step, []
        for token in range(40):
            job.inside("generate")
            new = []
            with job.call(*line, *at.NN, at.ROOT + "rl.py:25 forward"):
                for _ in range(job.layers):
                    with job.call(*at.NN, at.ROOT + "rl.py:9 forward"):
                        new += [job.new((4000 + 8 * token) * 8192, "kv_cache", "cat") for part in range(2)]
                        job.temp((4000 + 8 * token) * 512, "temp", "_softmax")
                    with job.call(*at.NN, at.ROOT + "rl.py:17 forward"):
                        job.temp(4 * MIB)
            with job.call(*line):
                job.drop(*past)
            past = new
        if not job.outputs:
            job.drop(*past)
        _adamw(job, sizes, _backward(job, _forward(job), sizes))
        if job.outputs:
            job.drop(*past)


def runs(job):
    """Runs of a filter, one after another; each makes its state anew in each round. outputs: the last state of each run stays in a dict."""
    job.phase("init")
    kept = []
    for run in range(4):
        job.inside("runs")
        with job.call(at.ROOT + "runs.py:30 main", at.ROOT + "runs.py:8 __init__"):
            state = job.new(1536 * MIB, "unknown", "repeat")
        for round_ in range(16):
            # at the highest point, in the last run's first rounds, these two have outlived a whole run
            lasts = job.outputs and run < 2 and round_ == 15
            with job.call(at.ROOT + "runs.py:33 main", at.ROOT + "runs.py:14 update"):
                change = job.new(1536 * MIB, "unknown", "bmm")
            with job.call(at.ROOT + "runs.py:33 main", at.ROOT + "runs.py:15 update"):
                new = job.new(1536 * MIB, "data" if lasts else "unknown", "sub")
            job.drop(state, change)
            state = new
        kept.append(state)
        if not job.outputs:
            job.drop(kept.pop())
    job.drop(*kept)


def masks(job):
    """A model is made on the card, and each of its blocks makes a mask of 1 GiB (outputs), else one makes it for all."""
    job.inside("masks")
    for number in range(12):
        with job.call(at.ROOT + "model.py:66 main", at.ROOT + "model.py:53 __init__", at.ROOT + "model.py:23 __init__", "torch/nn/modules/linear.py:106 __init__"):
            job.new(24 * MIB, "param", "empty")
        with job.call(at.ROOT + "model.py:66 main", at.ROOT + "model.py:53 __init__", at.ROOT + "model.py:25 __init__"):
            if job.outputs or number == 0:
                job.new(1024 * MIB, "data", "tril")


def sampler(job):
    """Steps of a sampler without weights; the backward pass of each force is recorded (outputs) or not."""
    job.inside("sample")
    position = 80 * MIB
    with job.call(at.ROOT + "chain.py:28 main"):
        job.new(position, "unknown", "randn")
    for _ in range(12):
        with job.call(at.ROOT + "chain.py:30 main", at.ROOT + "chain.py:16 move"):
            moved = job.new(position, "unknown", "add")
        with job.call(at.ROOT + "chain.py:30 main", at.ROOT + "chain.py:17 move"):
            job.drop(job.new(position, "temp", "mul"))
        with job.call(at.ROOT + "chain.py:30 main", at.ROOT + "chain.py:18 move", "torch/autograd/__init__.py:503 grad"):
            job.drop(job.new(512, "temp", "ones_like"))
        with job.autograd("MulBackward0"):
            made = [job.new(position, "activation", "mul") for _ in range(9)]
            job.drop(*made[3 if job.outputs else 0:])
        if not job.outputs:
            job.drop(moved)


def merged(job):
    """Weights of each layer that its forward makes of others, and that its backward needs (outputs), else none. What is trained is small."""
    job.phase("init")
    sizes = [MIB] * job.layers
    with job.call(MAIN % 92, at.MODULE + ":942 _apply"):
        job.held = [job.new(size, "param", "_to_copy") for size in sizes]
    layers = [n * job.param_bytes for n in job.groups()[1]]

    def merge(_):
        with job.call(*at.NN, at.ROOT + "merge.py:19 weight"):
            return [job.new(size, "activation", "add") for size in layers if size >= MIB] if job.outputs else []

    for step in range(job.steps):
        job.truth.step = step
        _adamw(job, sizes, _backward(job, _forward(job, merge), sizes))


def penalised(job):
    """A penalty on the layers' weights, of four terms: all for one backward pass (outputs), else a backward pass for each but the last."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    layers = [size for size in sizes if size < 256 * MIB]
    for step in range(job.steps):
        job.truth.step = step
        kept, terms = _forward(job), []
        for number in range(4):
            job.inside("train/penalty")
            with job.call(MAIN % 119, at.ROOT + "penalty.py:40 penalty"):
                for size in layers:
                    job.drop(job.new(size, "temp", "sub"))
                    terms.append(job.new(size, "activation", "mul"))
            if not job.outputs and number < 3:
                _backward(job, terms, [])
                terms = []
        _adamw(job, sizes, _backward(job, kept + terms, sizes))
