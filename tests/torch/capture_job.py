#!/usr/bin/env python3
"""Jobs for `memtrace capture`: capture_job.py SCENARIO OUT. Writes OUT.<rank>.json: what PyTorch and the driver say at the end, or where the
memory ran out. Run by capture.py; knows nothing of memtrace."""
import json
import os
import sys

SCENARIO, OUT = sys.argv[1], sys.argv[2]
RANK = int(os.environ.get("RANK", "0"))
if SCENARIO.startswith("expandable"):  # before the first allocation
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
elif SCENARIO == "async":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"

import torch  # noqa: E402

MIB = 1 << 20
SAID = {"scenario": SCENARIO, "pid": os.getpid(), "errors": []}


def tensor(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def write():
    free, total = torch.cuda.mem_get_info()
    SAID.update(used=total - free, total=total, reserved=torch.cuda.memory_reserved(), allocated=torch.cuda.memory_allocated(),
                peak_reserved=torch.cuda.max_memory_reserved(), peak_allocated=torch.cuda.max_memory_allocated())
    with open("%s.%d.json" % (OUT, RANK), "w", encoding="utf-8") as f:
        json.dump(SAID, f)


def build():
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).to("cuda")
    return model, torch.optim.AdamW(model.parameters())


def step(model, optimizer, batch=512):
    with torch.profiler.record_function("forward"):
        loss = model(torch.randn(batch, 2048, device="cuda")).sum()
    with torch.profiler.record_function("backward"):
        loss.backward()
    with torch.profiler.record_function("optimizer"):
        optimizer.step()
        optimizer.zero_grad()


def plain(steps=3):
    model, optimizer = build()
    for _ in range(steps):
        step(model, optimizer)
    return model, optimizer


def grow(held):
    """Until memory runs out."""
    with torch.profiler.record_function("generate"):
        while True:
            held.append(tensor(192))


def caught():
    job, held = plain(), []
    try:
        grow(held)
    except torch.cuda.OutOfMemoryError as e:
        SAID["errors"].append(str(e))
    held.clear()
    torch.cuda.empty_cache()
    step(*job)
    return job


def fatal():
    job, held = plain(), []
    try:
        grow(held)
    except torch.cuda.OutOfMemoryError as e:
        SAID["errors"].append(str(e))
        write()
        raise
    return job


def own_first():
    torch.cuda.memory._record_memory_history(max_entries=1000)
    job = plain()
    torch.cuda.memory._dump_snapshot(OUT + ".own.pickle")
    return job


def own_later():
    job = plain()
    torch.cuda.memory._record_memory_history(max_entries=1000)
    step(*job)
    torch.cuda.memory._dump_snapshot(OUT + ".own.pickle")
    return job


def own_off():
    """As trainers do after a few steps, though nobody had switched it on."""
    job = plain()
    torch.cuda.memory._record_memory_history(enabled=None)
    step(*job)
    return job


def own_oom():
    torch.cuda.memory._record_memory_history(max_entries=1000)
    return caught()


def large():
    job = plain(1)
    for _ in range(int(os.environ.get("MT_EVENTS", "1000000")) // 4):
        torch.empty(1024, device="cuda")
    return job


def ranks():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=RANK, world_size=int(os.environ["WORLD_SIZE"]))
    job = plain(), tensor(256 * (RANK + 1))
    torch.distributed.destroy_process_group()
    return job


def pool():
    own = torch.cuda.MemPool()
    job = plain()
    with torch.cuda.use_mem_pool(own):
        held = [tensor(100) for _ in range(4)]
    del held[::2]
    return job, own, held


def graph():
    job, (model, _) = None, build()
    static = torch.randn(512, 2048, device="cuda")
    with torch.no_grad():
        model(static)
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            out = model(static)
    for _ in range(3):
        g.replay()
    return job, model, g, out, static


def empty():
    job = plain()
    held = [tensor(512) for _ in range(4)]
    del held
    SAID["before_empty_cache"] = torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    return job


def fork():
    job = plain()
    pid = os.fork()
    if not pid:
        os._exit(0)  # as a worker of a data loader that never touches CUDA
    os.waitpid(pid, 0)
    pid = os.fork()
    if not pid:
        sys.exit(0)  # with all handlers of the parent
    os.waitpid(pid, 0)
    step(*job)
    return job


JOBS = {"plain": plain, "oom_caught": caught, "oom_fatal": fatal, "expandable": plain, "expandable_oom_caught": caught,
        "expandable_oom_fatal": fatal, "own_first": own_first, "own_later": own_later, "own_off": own_off, "own_oom": own_oom, "large": large,
        "ranks": ranks, "pool": pool, "graph": graph, "async": plain, "empty_cache": empty, "fork": fork}

if __name__ == "__main__":
    KEPT = JOBS[SCENARIO]()
    write()
