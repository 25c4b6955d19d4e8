"""job.py HOW [FOLDER]: PyTorch runs out of memory; with FOLDER, memtrace.watch(FOLDER) is on. Nothing in the output may tell the two apart.

cost: what watch() and phase() take, per step and per call, of CPU time: no kernel runs here, and others may use the machine."""
import multiprocessing
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


def fill(n=sys.maxsize):
    kept = []
    while len(kept) < n:
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))


def caught():
    try:
        fill()
    except torch.OutOfMemoryError as e:
        print("caught", str(e).split(". ")[0])


def message():
    """What the error says. In a process that was started or forked by this one, too."""
    try:
        fill()
    except torch.OutOfMemoryError as e:
        return str(e).split(" this process has ")[0].split("Process ")[0]


def tell(pipe):
    pipe.send(message())


def processes(method, n):
    context = multiprocessing.get_context(method)
    pipes = [context.Pipe(duplex=False) for _ in range(n)]
    jobs = [context.Process(target=tell, args=(out,)) for _, out in pipes]
    for j in jobs:
        j.start()
    for (told, _), j in zip(pipes, jobs):
        print(told.recv())
        j.join()
        print(j.exitcode)


def observers():
    """The job has an observer and a history of its own, and its observer runs out of memory once more."""
    calls = []

    def own(device, alloc, total, free):
        calls.append((device, alloc))
        if len(calls) == 1:
            print("inside", message())

    torch.cuda.memory._record_memory_history(max_entries=1000, stacks="python")
    torch._C._cuda_attach_out_of_memory_observer(own)
    print(message(), calls, torch._C._cuda_isHistoryEnabled())


def stopped():
    """Control-C while memory is out: with watch() it comes while the page is made, without it in the sleep."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    fill(1)  # CUDA has begun
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        message()
        time.sleep(60)
    except KeyboardInterrupt:
        print("stopped")
    print(torch.cuda.memory_allocated(), torch.ones(3, device="cuda").numel(), message())


def training(steps):
    model = torch.nn.Sequential(*[Layer() for _ in range(16)])
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    best = []
    for _ in range(steps):
        begun = time.process_time()
        model(torch.ones(8, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        best.append(time.process_time() - begun)
    best.sort()
    return best[len(best) // 2] * 1e3


def call(body, n=20000):
    begun = time.process_time()
    for _ in range(n):
        body()
    return (time.process_time() - begun) / n * 1e6


def cost():
    import memtrace

    def one():
        with memtrace.phase("log_prob"):
            pass

    def plain():
        with torch.autograd.profiler.record_function("log_prob"):
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
    print("# phase(): %.2f us where nothing records, %.1f us with the history on, where PyTorch's record_function alone takes %.1f" % (off, call(one), call(plain)))


def main():
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
    elif HOW == "stopped":
        stopped()
    elif HOW == "eight":
        processes("spawn", 8)
    elif HOW == "fork":
        processes("fork", 2)
    elif HOW == "observers":
        observers()
    elif HOW == "cost":
        cost()


if HOW != "cost" and len(sys.argv) > 2:  # in each process that is spawned, too
    import memtrace
    memtrace.watch(sys.argv[2])
if __name__ == "__main__":
    main()
