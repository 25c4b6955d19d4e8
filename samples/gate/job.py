#!/usr/bin/env python3
"""An example of a job whose memory is gated (README.md): the training loop of a small model, on the imitation of PyTorch's allocator
that the samples are made with, so that it runs on any machine. A real job would call torch.cuda.memory._record_memory_history() before
and torch.cuda.memory._dump_snapshot() after.

    job.py OUTPUT [--tokens N] [--keep-outputs]"""

import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from imitate import encode  # noqa: E402
from imitate.allocator import GIB, MIB  # noqa: E402
from imitate.run import Run  # noqa: E402

SITE = "/opt/venv/lib/python3.12/site-packages/"
JOB = "/workspace/job/"
NN = (SITE + "torch/nn/modules/module.py:1751 _wrapped_call_impl", SITE + "torch/nn/modules/module.py:1762 _call_impl")
BACKWARD = (SITE + "torch/_tensor.py:626 backward", SITE + "torch/autograd/__init__.py:347 backward")
ADAMW = (SITE + "torch/optim/optimizer.py:485 wrapper", SITE + "torch/optim/adamw.py:220 step")


def job(tokens, keep_outputs, steps=6, layers=8, hidden=2048, vocabulary=32000):
    run = Run(80 * GIB, seed=18, start_us=1764400000000000)
    sizes = [24 * hidden * hidden] * layers + [2 * vocabulary * hidden]
    kept, states = [], []
    with run.call(JOB + "train.py:61 <module>", JOB + "train.py:18 build"):
        weights = [run.new(size, "empty_memory_format") for size in sizes]
    for step in range(steps):
        saved = []
        with run.call(JOB + "train.py:61 <module>", JOB + "train.py:33 train_step"):
            with run.call(*NN):
                for index in range(layers):
                    with run.call(*NN, JOB + "model.py:%d forward" % (40 + index % 2)):
                        saved.append(run.new(8 * tokens * hidden * 2, "mm"))
                with run.call(*NN, JOB + "model.py:52 forward", SITE + "torch/nn/modules/linear.py:125 forward"):
                    logits = run.new(tokens * vocabulary * 2, "mm")
            with run.call(JOB + "train.py:36 train_step", SITE + "torch/nn/functional.py:3494 cross_entropy"):
                probs = run.new(tokens * vocabulary * 4, "_log_softmax")
                loss = run.new(4, "nll_loss_forward")
            if keep_outputs:
                with run.call(JOB + "train.py:38 train_step"):
                    kept.append(run.new(64 * MIB, "clone"))
            with run.call(*BACKWARD):
                root = run.new(4, "ones_like")
        soft = run.grad(tokens * vocabulary * 4, "LogSoftmaxBackward0", "_log_softmax_backward_data")
        run.grad_drop(probs)
        flow = run.grad(tokens * hidden * 2, "MmBackward0", "mm")
        run.grad_drop(soft, logits)
        grads = []
        for size in reversed(sizes):
            grads.append(run.grad(size, "AccumulateGrad", "empty_like"))
            if saved:
                run.grad_drop(saved.pop())
        run.grad_drop(flow)
        with run.call(JOB + "train.py:61 <module>", JOB + "train.py:42 train_step"):
            with run.annotate("Optimizer.step#AdamW.step"), run.call(*ADAMW):
                if not states:
                    with run.call(SITE + "torch/optim/adamw.py:175 _init_group"):
                        states = [run.new(2 * size, "zeros_like") for size in sizes for _ in (0, 1)]
                with run.call(SITE + "torch/optim/adam.py:766 _multi_tensor_adam"):
                    run.drop(*[run.new(size, "_foreach_sqrt") for size in sizes[:-1]])
            with run.annotate("Optimizer.zero_grad#AdamW.zero_grad"), run.call(SITE + "torch/optim/optimizer.py:1012 zero_grad"):
                run.drop(*grads)
        with run.call(JOB + "train.py:61 <module>", JOB + "train.py:33 train_step"):
            run.drop(root, loss)
        run.clock.idle(100000)
    assert len(weights) == len(sizes) and len(kept) == (steps if keep_outputs else 0)
    return run.snapshot()


def main():
    parser = argparse.ArgumentParser(description="Runs the example job and writes its memory snapshot.")
    parser.add_argument("output")
    parser.add_argument("--tokens", type=int, default=8192, help="of a batch")
    parser.add_argument("--keep-outputs", action="store_true", help="keep something of every step, as a list of losses with their graph does")
    args = parser.parse_args()
    with open(args.output, "wb") as file:
        file.write(encode.pickle4(job(args.tokens, args.keep_outputs)))


if __name__ == "__main__":
    main()
