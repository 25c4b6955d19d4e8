#!/usr/bin/env python3
"""Megatron-LM's own pretrain_gpt.py on a small model with its mock data: recording and truth. Megatron-LM has to be on PYTHONPATH.

    megatron_job.py OUT [an option of Megatron-LM ...]"""
import os
import runpy
import sys
import types

os.environ.update(CUDA_DEVICE_MAX_CONNECTIONS="1", TORCHDYNAMO_DISABLE="1")
OPTIONS = """--num-layers 2 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024
--micro-batch-size 2 --global-batch-size 4 --train-iters 2 --lr 1e-4 --bf16 --transformer-impl local --no-persist-layer-norm
--no-gradient-accumulation-fusion --no-masked-softmax-fusion --no-rope-fusion --no-bias-swiglu-fusion --no-bias-dropout-fusion
--mock-data --tokenizer-type NullTokenizer --vocab-size 32000 --swiglu --disable-bias-linear --normalization RMSNorm
--position-embedding-type rope --untie-embeddings-and-output-weights --eval-iters 0 --eval-interval 100 --split 100,0,0
--log-interval 1 --num-workers 0""".split()
OUT = os.path.abspath(sys.argv[1])

import numpy  # noqa: E402
import rank  # noqa: E402


def sample_index(sizes, documents, sequence, epochs, tokens, drop_last=True, extra=1):
    """Where each sample of the mock data begins; Megatron has it in C++, which wants a compiler."""
    ends = numpy.cumsum(sizes[documents].astype(numpy.int64))
    at = numpy.arange((epochs * tokens - extra) // sequence + 1, dtype=numpy.int64) * sequence
    document = numpy.minimum(numpy.searchsorted(ends, at, side="right"), len(documents) - 1)
    return numpy.stack([document, at - (ends - sizes[documents])[document]], 1).astype(numpy.int32)


def job():
    helpers = types.ModuleType("megatron.core.datasets.helpers_cpp")
    helpers.build_sample_idx_int32 = helpers.build_sample_idx_int64 = sample_index
    sys.modules[helpers.__name__] = helpers
    import megatron.core.datasets.utils as datasets
    import megatron.core.rerun_state_machine as rerun
    import megatron.legacy.fused_kernels as kernels
    import megatron.training.training as training

    datasets.compile_helpers = lambda: None
    kernels.load = lambda args: None
    rerun.RerunStateMachine.validate_result = lambda *a, **k: None  # values mean nothing here
    setup = training.setup_model_and_optimizer

    def set_up(*a, **k):
        built = setup(*a, **k)
        rank.end("set-up")
        rank.KEPT["built"] = built[:2]
        rank.mark(built[1], "step", "optimizer")
        return built

    training.setup_model_and_optimizer = set_up
    rank.mark(training, "train_step", "train_step")
    megatron = next(p for p in sys.path if os.path.exists(os.path.join(p, "pretrain_gpt.py")))
    runpy.run_path(os.path.join(megatron, "pretrain_gpt.py"), run_name="__main__")


if __name__ == "__main__":
    rank.join(int(os.environ.get("MT_WORLD", "1")), int(os.environ.get("MT_RANK", "0")))
    sys.argv = ["pretrain_gpt.py", *OPTIONS, *sys.argv[2:]]
    sys.exit(rank.record(OUT, job))
