"""job.py HOW [FOLDER]: PyTorch runs out of memory; with FOLDER, memtrace.watch(FOLDER) is on. Nothing in the output may tell the two apart.

cost: what watch() and phase() take, per step and per call."""
import os
import signal
import sys
import threading
import time

import torch

HOW = sys.argv[1]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(1024, 1024, device="cuda")

    def forward(self, x):
        return torch.relu(self.inner(x))


def fill():
    kept = []
    while True:
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))


def caught():
    try:
        fill()
    except torch.OutOfMemoryError as e:
        print("caught", str(e).split(". ")[0])


def training(steps):
    model = torch.nn.Sequential(*[Layer() for _ in range(16)])
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    best = []
    for _ in range(steps):
        begun = time.perf_counter()
        model(torch.ones(8, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        best.append(time.perf_counter() - begun)
    best.sort()
    return best[len(best) // 2] * 1e3


def call(body, n=20000):
    begun = time.perf_counter()
    for _ in range(n):
        body()
    return (time.perf_counter() - begun) / n * 1e6


def cost():
    import memtrace

    def one():
        with memtrace.phase("log_prob"):
            pass

    training(20)  # what is loaded at first use
    off = call(one)
    history = {"max_entries": 100000, "stacks": "python"}
    without, recorded = [], []
    for _ in range(3):
        without.append(training(40))
        torch.cuda.memory._record_memory_history(**history)
        recorded.append(training(40))
        torch.cuda.memory._record_memory_history(enabled=None)
    begun = time.perf_counter()
    memtrace.watch("/tmp/none")
    began = (time.perf_counter() - begun) * 1e3
    watched = [training(40) for _ in range(3)]
    print("# a step: %.2f ms alone, %.2f ms with a memory history alone, %.2f ms with watch(); watch() itself %.1f ms"
          % (min(without), min(recorded), min(watched), began))
    print("# phase(): %.2f us where nothing records, %.1f us with the history on" % (off, call(one)))


if HOW != "cost" and len(sys.argv) > 2:
    import memtrace
    memtrace.watch(sys.argv[2])
if HOW == "ends":
    fill()
elif HOW == "catches":
    caught()
    print(torch.cuda.memory_allocated(), torch.ones(3, device="cuda").numel())
elif HOW == "thread":
    t = threading.Thread(target=caught)
    t.start()
    t.join()
elif HOW == "interrupt":
    signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
    caught()
    os.kill(os.getpid(), signal.SIGALRM)
    os.kill(os.getpid(), signal.SIGINT)
elif HOW == "cost":
    cost()
