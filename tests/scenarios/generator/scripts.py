"""Jobs whose trouble lies in the order of their requests, written out."""

from . import places as at
from .record import GIB, MIB


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
