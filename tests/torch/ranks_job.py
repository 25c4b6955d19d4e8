#!/usr/bin/env python3
"""Two ranks that really run, each a process with a card of its own, joined by Gloo: data-parallel training in which the second has
longer sequences and runs out of memory, and the first waits for it. Each writes OUT.rankN.pickle and what it knows, OUT.rankN.truth.json.

    ranks_job.py OUT [--length 128 512] ..."""
import argparse
import json
import os
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from model import CausalLM
from torch import nn


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--length", type=int, nargs=2, default=[128, 512], help="of the sequences of each rank")
    for name, value in (("layers", 2), ("hidden", 512), ("vocab", 32000), ("batch", 2), ("steps", 2)):
        p.add_argument("--" + name, type=int, default=value)
    return p.parse_args()


A = arguments()


def held(tensors):
    """Bytes on the device by storage: a storage counts once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if torch.is_tensor(t) and t.is_cuda}.values())


def step(model, optimizer, length):
    ids = torch.randint(1, A.vocab, (A.batch, length), device="cuda")
    logits = model(ids).logits
    nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()


def rank(me, folder):
    out, said = f"{A.out}.rank{me}", {}
    torch.cuda.set_device(me)
    dist.init_process_group("gloo", init_method="file://" + os.path.join(folder, "meet"), rank=me, world_size=2)
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")

    def take(*_):
        s = torch.cuda.memory_stats()
        said.update({"requested": s["requested_bytes.all.current"], "requested_peak": s["requested_bytes.all.peak"],
                     "reserved": s["reserved_bytes.all.current"], "weights": held(model.parameters()),
                     "optimizer": held(t for s in optimizer.state.values() for t in s.values())})
        torch.cuda.memory._dump_snapshot(out + ".pickle")

    torch._C._cuda_attach_out_of_memory_observer(take)
    model = nn.parallel.DistributedDataParallel(CausalLM(A.vocab, A.hidden, A.layers).to("cuda", torch.bfloat16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    error = None
    try:
        for number in range(A.steps):
            step(model, optimizer, A.length[me] if number else A.length[0])
    except RuntimeError as e:  # the other one's end is a broken connection here
        traceback.print_exc()
        error = str(e) if isinstance(e, torch.cuda.OutOfMemoryError) else "connection"
    if not said:
        take()
    with open(out + ".truth.json", "w", encoding="utf-8") as f:
        f.write(json.dumps({"torch": torch.__version__, "arguments": sys.argv[2:], "rank": me, **said, "error": error}, indent=1) + "\n")
    os._exit(0)  # Gloo would wait for the other one


if __name__ == "__main__":
    mp.spawn(rank, args=(tempfile.mkdtemp(),), nprocs=2)
