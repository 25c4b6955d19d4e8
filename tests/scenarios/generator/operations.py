"""Jobs of people's own code in which one operation makes what fills the card."""

from . import places as at
from .copies import MAIN, _adamw, _backward, _forward
from .record import MIB

SIZE = 3000 * MIB


def _behind_layers(where, made):
    """A training that keeps what made(job) gives behind its layers, until the backward pass."""
    def script(job):
        job.phase("init")
        sizes = [block.requested for block in job.params]
        for step in range(job.steps):
            job.truth.step = step
            kept = _forward(job)
            job.inside(where)
            kept += made(job)
            _adamw(job, sizes, _backward(job, kept, sizes))
    return script


def scores(*operations, mended=()):
    """A loss of the job's own behind the layers: a tensor of each operation, kept for the backward pass (outputs), else of those that are mended."""
    def made(job):
        with job.call(MAIN % 119, at.ROOT + "loss.py:12 score"):
            return [job.new(SIZE, "activation", name) for name in (operations if job.outputs else mended)]
    return _behind_layers("train/score", made)


def kernel(first, second):
    """No model at all: a matrix, and a second one made of it (outputs) or the first one written over."""
    def script(job):
        job.inside("fit")
        with job.call(MAIN % 30, at.ROOT + "kernel.py:7 fit"):
            for _ in range(3):
                made = [job.new(SIZE, "unknown", first)]
                if job.outputs:
                    made.append(job.new(SIZE, "unknown", second))
                job.drop(*made)
    return script


def scored(job):
    """A model scores batch after batch, and nothing is trained yet: each call keeps its graph (outputs), or lets go of each layer."""
    job.phase("init")
    for _ in range(12):
        job.inside("score")
        with job.call(MAIN % 49, at.ROOT + "data.py:4 batch"):
            job.drop(job.new(8 * MIB, "temp", "empty"))
        with job.call(MAIN % 50, *at.NN, at.ROOT + "model.py:33 forward"):
            kept = []
            for _ in range(6):
                kept.append(job.new(40 * MIB, "activation", "mm"))
                if not job.outputs:
                    job.drop(*kept[:-1])
                    del kept[:-1]
        if job.outputs:
            job.held.extend(kept)
        else:
            job.drop(*kept)


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


def trained(*made, mended=()):
    """Behind the layers, at lines of their own: (line, operation, bytes) that the backward pass needs (outputs), else of those that are mended."""
    def at_lines(job):
        kept = []
        for line, name, size in made if job.outputs else mended:
            with job.call(MAIN % 119, at.ROOT + "head.py:%d head" % line):
                kept.append(job.new(size, "activation", name))
        return kept
    return _behind_layers("train/head", at_lines)


def solver(job):
    """A layer that is gone through eighty times in one pass; all of it is kept (outputs), or the input of each eight and the last eight."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    for step in range(job.steps):
        job.truth.step = step
        kept = _forward(job)
        job.inside("train/solve")
        with job.call(MAIN % 119, at.ROOT + "solver.py:31 to_fixed_point", *at.NN, at.ROOT + "cell.py:12 forward"):
            for number in range(1, 81):
                kept.append(job.new(36 * MIB, "activation", "tanh"))
                if not job.outputs and number % 8 == 0 and number < 80:
                    job.drop(*kept[-8:-1])
                    del kept[-8:-1]
        _adamw(job, sizes, _backward(job, kept, sizes))


def noise(job):
    """The gradients of each of eight micro-batches are kept, to compare their norms (outputs); or their norms, as numbers."""
    job.phase("init")
    sizes = [block.requested for block in job.params]
    for step in range(job.steps):
        job.truth.step = step
        sets = []
        for _ in range(8):
            sets.append(_backward(job, _forward(job), sizes))
            if not job.outputs and len(sets) > 1:
                job.drop(*sets.pop(0))
        _adamw(job, sizes, [block for one in sets for block in one])
