#!/usr/bin/env python3
"""Scripts in plain PyTorch that keep more than they need, and what they are without that. Records PyTorch's memory history, OUT.pickle, and beside it
what the job knows, OUT.plain.json: its peaks, and those of the same job on a large card with the mistake and without it.

    plain_job.py OUT graphs|folds|copies|shampoo [--free]"""
import argparse
import copy
import json
import os
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch import nn

TOKENS, WORDS, WIDTH = 256, 12000, 512


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x):
        x = self.words(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def train_step(model, optimizer, rows):
    x = torch.zeros(rows, TOKENS, dtype=torch.long, device="cuda")
    loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


class Runner:
    """A graph for each batch size, as servers have them."""

    def __init__(self, model, pool):
        self.model, self.pool, self.graphs, self.outputs = model, pool, {}, {}

    @torch.no_grad()
    def capture(self, rows):
        x = torch.zeros(rows, TOKENS, dtype=torch.long, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.model(x)
        self.graphs[rows], self.outputs[rows] = graph, out


def graphs(free):
    runner = Runner(Model().cuda().half(), torch.cuda.graph_pool_handle() if free else None)
    sizes = [2, 4, 8, 16, 24, 32]
    for rows in reversed(sizes) if free else sizes:
        runner.capture(rows)


def folds(free):
    """A model for each part of the data; all of them are kept."""
    kept = {}
    for fold in range(4):
        model = Model().cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for _ in range(3):
            train_step(model, optimizer, 4)
        if not free:
            kept[fold] = (model, optimizer)
        del model, optimizer


def copies(free):
    """The weights of every second step are kept."""
    model, best = Model().cuda(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(14):
        train_step(model, optimizer, 4)
        if step % 2 == 1:
            best.append({k: v.cpu() if free else v.clone() for k, v in model.state_dict().items()})


class Shampoo(torch.optim.Optimizer):
    """For each side of a weight a matrix and its inverse root; of sides up to `widest` only."""

    def __init__(self, params, widest):
        super().__init__(params, {"lr": 1e-3})
        self.widest = widest

    @torch.no_grad()
    def step(self):
        for p in (p for group in self.param_groups for p in group["params"]):
            kept = self.state[p]
            for i, n in enumerate(p.shape):
                if n > self.widest:
                    continue
                if f"gram{i}" not in kept:
                    kept[f"gram{i}"] = torch.eye(n, device=p.device)
                    kept[f"root{i}"] = torch.zeros(n, n, device=p.device)
                rows = p.grad.movedim(i, 0).reshape(n, -1)
                kept[f"gram{i}"].add_(rows @ rows.t())
            p.add_(p.grad, alpha=-1e-3)


def shampoo(free):
    model = Model().cuda()
    optimizer = Shampoo(model.parameters(), 4096 if free else 1 << 30)
    for _ in range(2):
        train_step(model, optimizer, 4)


def hooks(free):
    """A hook keeps the outputs of a layer of all steps."""
    model, seen = Model().cuda(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    if not free:
        model.layers[2].register_forward_hook(lambda module, inputs, out: seen.append(out))
    for _ in range(40):
        train_step(model, optimizer, 8)


def average(free):
    """Beside the model that trains a copy that is averaged; on the host with --free."""
    model = Model(8).cuda()
    mean = copy.deepcopy(model).requires_grad_(False)
    mean = mean.cpu() if free else mean
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(3):
        train_step(model, optimizer, 4)
        with torch.no_grad():
            for kept, p in zip(mean.parameters(), model.parameters()):
                kept.lerp_(p.to(kept.device), 0.001)


def pairs(free):
    """Differences of all pairs, summed; without a tensor of all of them with --free."""
    layer = nn.Linear(128, 64).cuda()
    optimizer = torch.optim.Adam(layer.parameters())
    for rows in (512, 1024, 4096):
        x = layer(torch.zeros(rows, 128, device="cuda"))
        far = torch.cdist(x, x, compute_mode="use_mm_for_euclid_dist") if free else ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
        far.mean().backward()
        optimizer.step()
        optimizer.zero_grad()


KINDS = {"graphs": graphs, "folds": folds, "copies": copies, "shampoo": shampoo, "hooks": hooks, "average": average, "pairs": pairs}


def played(kind, free):
    """Peaks of the whole job, in a process of its own, on a card that has room."""
    done = subprocess.run([sys.executable, __file__, "-", kind] + (["--free"] if free else []), stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, MT_SIM_MEMORY=str(64 << 30)))
    return json.loads(done.stdout.decode().splitlines()[-1])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("kind", choices=sorted(KINDS))
    p.add_argument("--free", action="store_true", help="without the mistake")
    args = p.parse_args()
    told = {"error": None}
    if args.out != "-":
        torch.cuda.memory._record_memory_history(max_entries=200000, stacks="python")
    try:
        KINDS[args.kind](args.free)
    except torch.OutOfMemoryError as error:
        told["error"] = str(error)
        if args.out == "-":
            raise
    stats = torch.cuda.memory_stats()
    told.update(requested_peak=stats["requested_bytes.all.peak"], reserved_peak=stats["reserved_bytes.all.peak"])
    if args.out == "-":
        print(json.dumps(told))
        return
    torch.cuda.memory._dump_snapshot(args.out + ".pickle")
    told.update(kind=args.kind, weights=sum(p.nbytes for p in Model(8).parameters()), whole=played(args.kind, False), whole_free=played(args.kind, True))
    with open(args.out + ".plain.json", "w", encoding="utf-8") as f:
        json.dump(told, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
