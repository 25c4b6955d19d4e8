"""Jobs of people's own code in which one operation makes what fills the card."""

from . import places as at
from .copies import MAIN, _adamw, _backward, _forward
from .record import MIB

SIZE = 3000 * MIB


def scores(*operations, mended=()):
    """A loss of the job's own behind the layers: a tensor of each operation, kept for the backward pass (outputs), else of those that are mended."""
    def script(job):
        job.phase("init")
        sizes = [block.requested for block in job.params]
        for step in range(job.steps):
            job.truth.step = step
            kept = _forward(job)
            job.inside("train/score")
            with job.call(MAIN % 119, at.ROOT + "loss.py:12 score"):
                for name in operations if job.outputs else mended:
                    kept.append(job.new(SIZE, "activation", name))
            _adamw(job, sizes, _backward(job, kept, sizes))
    return script


def kernel(job):
    """No model at all: a matrix, and a second one made of it (outputs) or the first one written over."""
    job.inside("fit")
    with job.call(MAIN % 30, at.ROOT + "kernel.py:7 fit"):
        for _ in range(3):
            made = [job.new(SIZE, "unknown", "exp")]
            if job.outputs:
                made.append(job.new(SIZE, "unknown", "mul"))
            job.drop(*made)


def bank(job):
    """What each round gives is joined with what there was (outputs), or goes into one tensor of the whole size."""
    job.inside("collect")
    rounds, part, old = 6, 512 * MIB, None
    with job.call(MAIN % 40, at.ROOT + "bank.py:11 collect"):
        whole = None if job.outputs else job.new(rounds * part, "unknown", "empty")
        for number in range(1, rounds + 1):
            new = job.new(part, "unknown", "linear")
            if job.outputs:
                joined = job.new(number * part, "unknown", "cat")
                if old:
                    job.drop(old)
                old = joined
            job.drop(new)
        job.drop(old or whole)
