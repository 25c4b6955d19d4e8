#!/usr/bin/env python3
"""One stage of a pipeline by PyTorch's own schedules (torch.distributed.pipelining): a model in equal parts, each rank one of them, the
others answered by NCCL's stand-in. Records the history, and beside it what the stage holds: OUT.pickle and OUT.truth.json, as loop.py does.

    pipe_job.py OUT 1f1b|gpipe [--stage 0] [--stages 4] [--micro-batches 8] [--oom] ..."""
import argparse
import json
import os
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
import rank
import torch
import torch.distributed as dist
import torch.nn.functional as F
import truth
from model import DecoderLayer, RMSNorm
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.utils.checkpoint import checkpoint


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("schedule", choices=["1f1b", "gpipe"])
    p.add_argument("--checkpoint", action="store_true", help="only the inputs of layers are kept")
    p.add_argument("--loss-inside", action="store_true", help="the last stage gives its loss, not its logits")
    p.add_argument("--oom", action="store_true", help="the snapshot is written where a request fails")
    for name, value in (("stage", 0), ("stages", 4), ("micro-batches", 8), ("layers", 2), ("hidden", 512), ("vocab", 32000), ("batch", 2),
                        ("length", 160), ("steps", 2)):
        p.add_argument("--" + name, type=int, default=value)
    return p.parse_args()


A = arguments()


class Part(nn.Module):
    """The layers of one stage, with the embedding before the first and the head behind the last."""

    def __init__(self):
        super().__init__()
        first, last = A.stage == 0, A.stage == A.stages - 1
        self.embed_tokens = nn.Embedding(A.vocab, A.hidden) if first else None
        self.layers = nn.ModuleList(DecoderLayer(A.hidden) for _ in range(A.layers))
        self.norm = RMSNorm(A.hidden) if last else None
        self.lm_head = nn.Linear(A.hidden, A.vocab, bias=False) if last else None

    def forward(self, x, labels=None):
        x = self.embed_tokens(x) if self.embed_tokens is not None else x
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if A.checkpoint else layer(x)
        if self.lm_head is None:
            return x
        x = self.lm_head(self.norm(x))
        return x if labels is None else loss_of(x, labels) + torch.zeros(1, device="cuda")


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


def held(tensors):
    """Bytes on the device by storage: a storage counts once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if torch.is_tensor(t) and t.is_cuda}.values())


class Truth(truth.Ends):
    model, optimizer, gradients = None, None, 0
    alive, most, base, waiting, roles = 0, 0, 0, 0, None  # micro-batches under way, the most; bytes that the first backward of a step finds

    def take(self, *_):
        self.end("snapshot")
        self.roles = {"weights": held(self.model.parameters()), "gradients": self.gradients, "in_flight": self.most, "waiting": self.waiting,
                      "optimizer": held(t for s in self.optimizer.state.values() for t in s.values())}
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")

    def write(self, error=None):
        said = {"torch": torch.__version__, "arguments": sys.argv[2:], "phases": self.ends, "roles": self.roles, "error": error}
        with open(A.out + ".truth.json", "w", encoding="utf-8") as f:
            f.write(json.dumps(said, indent=1) + "\n")

    def count(self, model):
        """How many micro-batches are between their forward and their backward."""
        def begin(*_):
            self.alive += 1
            self.most = max(self.most, self.alive)

        model.register_forward_pre_hook(begin)


TRUTH = Truth()


def main():
    rank.join(A.stages, A.stage)
    dist.init_process_group()
    torch.cuda.set_device(0)
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="all")
    if A.oom:
        torch._C._cuda_attach_out_of_memory_observer(TRUTH.take)
    try:
        job()
    except RuntimeError as e:  # a stage wraps what its module raises
        traceback.print_exc()
        if not TRUTH.roles:
            raise
        TRUTH.write(str(e))
        return 1
    TRUTH.take()
    TRUTH.write()
    return 0


def job():
    TRUTH.model = model = Part().to("cuda", torch.bfloat16)
    TRUTH.optimizer = optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    TRUTH.end("build")
    hidden = torch.zeros(A.batch, A.length, A.hidden, dtype=torch.bfloat16, device="meta")
    ids = torch.zeros(A.batch, A.length, dtype=torch.long, device="meta")
    logits = torch.zeros(A.batch, A.length, A.vocab, dtype=torch.bfloat16, device="meta")
    first, last = A.stage == 0, A.stage == A.stages - 1
    outputs = logits if last and not A.loss_inside else torch.zeros(1, device="meta") if last else hidden
    TRUTH.count(model)
    stage = PipelineStage(model, A.stage, A.stages, torch.device("cuda"), input_args=(ids if first else hidden,),
                          output_args=(outputs,))
    schedule = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}[A.schedule](stage, A.micro_batches, loss_fn=(lambda loss, _: loss) if A.loss_inside else loss_of)
    backward = stage.backward_one_chunk

    def one_chunk(*a, **k):
        TRUTH.waiting = TRUTH.waiting or torch.cuda.memory_stats()["requested_bytes.all.current"] - TRUTH.base
        backward(*a, **k)
        TRUTH.alive -= 1

    stage.backward_one_chunk = one_chunk
    for _ in range(A.steps):
        TRUTH.base, TRUTH.waiting = torch.cuda.memory_stats()["requested_bytes.all.current"], 0
        batch = torch.randint(1, A.vocab, (A.batch * A.micro_batches, A.length), device="cuda")
        if last:
            schedule.step(target=batch, **({"labels": batch} if A.loss_inside else {}))
        else:
            schedule.step(*([batch] if first else []))
        TRUTH.gradients = held(p.grad for p in model.parameters())
        TRUTH.end("schedule")
        optimizer.step()
        TRUTH.end("optimizer")
        optimizer.zero_grad()


if __name__ == "__main__":
    sys.exit(main())
