#!/usr/bin/env python3
"""A training step under FSDP, then its checkpoint: saved, or read back, in one of the ways that PyTorch has. Records the history, and
beside it what PyTorch says it holds: OUT.pickle and OUT.truth.json, as loop.py does.

    save_job.py OUT fsdp1|fsdp2|dcp|plain [--cpu] [--optimizer] [--load cuda|cpu] [--oom] ..."""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
import rank
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.distributed.checkpoint.default_planner as planner
import torch.distributed.checkpoint.state_dict as states
import truth
from model import CausalLM, DecoderLayer
from torch.distributed.fsdp import FullOptimStateDictConfig, FullStateDictConfig, FullyShardedDataParallel as FSDP, StateDictType
from torch.distributed.fsdp.wrap import ModuleWrapPolicy


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("way", choices=["fsdp1", "fsdp2", "dcp", "plain"])
    p.add_argument("--cpu", action="store_true", help="the gathered tensors go to the host one by one")
    p.add_argument("--optimizer", action="store_true", help="the optimizer's state too")
    p.add_argument("--load", choices=["cuda", "cpu"], help="the checkpoint is read there and loaded")
    p.add_argument("--oom", action="store_true", help="the snapshot is written where a request fails")
    p.add_argument("--stacks", default="all")
    for name, value in (("world", 8), ("layers", 4), ("hidden", 1024), ("vocab", 32000), ("batch", 2), ("length", 128)):
        p.add_argument("--" + name, type=int, default=value)
    return p.parse_args()


A = arguments()
WEIGHTS = os.path.join(tempfile.mkdtemp(), "weights.pt")


def held(tensors):
    """Bytes on the device by storage: a storage counts once."""
    local = [getattr(t, "_local_tensor", t) for t in tensors if torch.is_tensor(t)]
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in local if t.is_cuda}.values())


class Truth(truth.Ends):
    model, optimizer, gradients, gathered = None, None, 0, 0

    def take(self, *_):
        self.end("snapshot")
        self.roles = {"weights": held(self.model.parameters()), "gradients": self.gradients, "gathered": self.gathered,
                      "optimizer": held(t for s in self.optimizer.state.values() for t in s.values())}
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")

    def write(self, error=None):
        said = {"torch": torch.__version__, "arguments": sys.argv[2:], "phases": self.ends, "roles": self.roles, "error": error}
        with open(A.out + ".truth.json", "w", encoding="utf-8") as f:
            f.write(json.dumps(said, indent=1) + "\n")


TRUTH = Truth()


def wrap(model):
    if A.way == "fsdp1":
        return FSDP(model, auto_wrap_policy=ModuleWrapPolicy({DecoderLayer}), device_id=torch.cuda.current_device())
    if A.way in ("fsdp2", "dcp"):
        from torch.distributed._composable.fsdp import fully_shard

        for layer in model.layers:
            fully_shard(layer)
        return fully_shard(model)
    return model


def build():
    model = wrap(CausalLM(A.vocab, A.hidden, A.layers).to("cuda", torch.bfloat16))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-5)


def train(model, optimizer):
    ids = torch.randint(1, A.vocab, (A.batch, A.length), device="cuda")
    logits = model(ids).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten()).backward()
    TRUTH.gradients = held(p.grad for p in model.parameters())
    optimizer.step()
    optimizer.zero_grad()


def gather(model, optimizer):
    """What is to be written, by the functions for it."""
    if A.way == "fsdp1":
        kinds = FullStateDictConfig(offload_to_cpu=A.cpu, rank0_only=A.cpu), FullOptimStateDictConfig(offload_to_cpu=A.cpu, rank0_only=A.cpu)
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, *kinds):
            weights = model.state_dict()
            TRUTH.end("weights gathered")
            return weights, FSDP.optim_state_dict(model, optimizer) if A.optimizer else {}
    if A.way == "plain":
        return model.state_dict(), optimizer.state_dict() if A.optimizer else {}
    options = states.StateDictOptions(full_state_dict=A.way == "fsdp2", cpu_offload=A.cpu)
    weights = states.get_model_state_dict(model, options=options)
    TRUTH.end("weights gathered")
    return weights, states.get_optimizer_state_dict(model, optimizer, options=options) if A.optimizer else {}


def tensors(tree):
    if isinstance(tree, dict):
        for t in tree.values():
            yield from tensors(t)
    elif torch.is_tensor(tree):
        yield tree


def keep(model, optimizer):
    weights, state = gather(model, optimizer)
    TRUTH.gathered = held([*tensors(weights), *tensors(state)])
    TRUTH.end("gathered")
    if A.way == "dcp":
        planner._validate_global_plan = lambda *_: True  # the other ranks' parts are not there
        dcp.save({"model": weights, "optim": state}, checkpoint_id=os.path.dirname(WEIGHTS), process_group=dist.new_group([0]))
    else:
        torch.save({"model": weights, "optim": state}, WEIGHTS)


def bring_back(model):
    read = torch.load(WEIGHTS, map_location=A.load)["model"]
    TRUTH.end("read")
    if A.way == "fsdp1":
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=A.cpu, rank0_only=False)):
            model.load_state_dict(read)
    elif A.way == "fsdp2":
        states.set_model_state_dict(model, read, options=states.StateDictOptions(full_state_dict=True))
    else:
        model.load_state_dict(read)


def job():
    TRUTH.model, TRUTH.optimizer = model, optimizer = build()
    TRUTH.end("build")
    train(model, optimizer)
    TRUTH.end("train")
    keep(model, optimizer)
    TRUTH.end("keep")
    if A.load:
        bring_back(model)
        TRUTH.end("bring_back")
    train(model, optimizer)
    TRUTH.end("train")


def main():
    rank.join(A.world)
    dist.init_process_group()
    torch.cuda.set_device(0)
    return truth.record(job, TRUTH, A.stacks, A.oom)


if __name__ == "__main__":
    sys.exit(main())
