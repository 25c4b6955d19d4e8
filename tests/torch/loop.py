#!/usr/bin/env python3
"""A reinforcement-learning loop on a small Llama-like model in plain PyTorch: generate with a growing KV cache, log-probabilities of
the policy and of a reference, update with AdamW, weight sync. Records PyTorch's own memory history, and beside it what PyTorch says it
holds: OUT.pickle and OUT.truth.json. Runs on a GPU, or on the stand-ins of standin.py, where values are 0 but sizes, order and stacks
are the same.

    loop.py OUT [--steps 2] [--stacks all] [--checkpoint] [--parallel ddp|fsdp1|fsdp2] [--oom capacity|fragmentation] [--profile] ..."""
import argparse
import contextlib
import json
import os
import sys
import traceback


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--stacks", choices=["all", "python"], default="all")
    p.add_argument("--entries", type=int, default=100000)
    p.add_argument("--checkpoint", action="store_true")
    p.add_argument("--expandable", action="store_true")
    p.add_argument("--parallel", choices=["ddp", "fsdp1", "fsdp2"])
    p.add_argument("--world", type=int, default=8)
    p.add_argument("--rank", type=int, default=0)
    p.add_argument("--oom", choices=["capacity", "fragmentation"])
    p.add_argument("--annotate", action="store_true", help="record_function around each phase")
    p.add_argument("--pool", action="store_true", help="what is collected lies in a MemPool of its own")
    p.add_argument("--graph", action="store_true", help="the rollout's first forward as a CUDA graph")
    p.add_argument("--profile", action="store_true", help="torch.profiler records the same job: OUT.pt.trace.json")
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--hidden", type=int, default=512)
    p.add_argument("--vocab", type=int, default=32000)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--prompt", type=int, default=128)
    p.add_argument("--response", type=int, default=8)
    return p.parse_args()


ARGS = arguments()
if ARGS.expandable:  # before the first allocation
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from model import CausalLM, DecoderLayer  # noqa: E402

@torch.no_grad()
def generate(model, prompt, n):
    model.eval()
    ids = model.generate(prompt, max_new_tokens=n)
    TRUTH.kv_cache = sum(held_by(t for pair in model.cache.held.values() for t in pair).values())
    model.cache = None
    return ids


def log_probs(model, ids):
    logits = model(ids).logits[:, :-1]
    return torch.gather(F.log_softmax(logits.float(), -1), 2, ids[:, 1:, None]).squeeze(-1)


@torch.no_grad()
def compute_log_prob(model, ids):
    model.eval()
    return log_probs(model, ids)


@torch.no_grad()
def compute_ref_log_prob(model, ids):
    return log_probs(model, ids)


def update_policy(model, optimizer, ids, old, ref):
    model.train()
    new = log_probs(model, ids)
    ratio = torch.exp(new - old)
    loss = -torch.min(ratio, ratio.clamp(0.8, 1.2)).mean() + 0.001 * (new - ref).mean()
    loss.backward()
    TRUTH.gradients = sum(held_by(p.grad for p in model.parameters() if p.grad is not None).values())
    TRUTH.end("backward")
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    TRUTH.end("optimizer")
    optimizer.zero_grad()


@torch.no_grad()
def sync_weights(source, target):
    if ARGS.parallel == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

        with FSDP.summon_full_params(source, writeback=False):
            return copy_weights(source, target)
    return copy_weights(source, target)


def copy_weights(source, target):
    for a, b in zip(source.parameters(), target.parameters()):
        a = a.full_tensor() if hasattr(a, "full_tensor") else a
        b.copy_(a.detach().to(b.dtype))


def held_by(tensors):
    """Bytes by storage: a storage counts once."""
    found = {}
    for t in tensors:
        t = getattr(t, "_local_tensor", t)
        if t.is_cuda and t.untyped_storage().nbytes():
            found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
    return found


class Truth:
    """What PyTorch says of itself, with the number of entries that its history then had."""

    def __init__(self):
        self.ends, self.kv_cache, self.gradients, self.peak, self.reserved_peak, self.allocated_peak = [], 0, 0, 0, 0, 0
        self.policy, self.optimizer, self.others, self.said = None, None, [], None

    def end(self, name):
        if ARGS.profile and name != "snapshot":
            return  # each makes thousands of calls, which would all be in the trace
        s = torch.cuda.memory_stats()
        self.peak = max(self.peak, s["requested_bytes.all.peak"])
        self.reserved_peak = max(self.reserved_peak, s["reserved_bytes.all.peak"])
        self.allocated_peak = max(self.allocated_peak, s["allocated_bytes.all.peak"])
        self.ends.append({"name": name, "events": len(torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]),
                          "requested": s["requested_bytes.all.current"], "requested_peak": s["requested_bytes.all.peak"],
                          "reserved": s["reserved_bytes.all.current"]})
        torch.cuda.reset_peak_memory_stats()

    def roles(self):
        policy = list(self.policy.parameters())
        return {"weights": sum(held_by(policy + [p for m in self.others for p in m.parameters()]).values()),
                "gradients_after_backward": self.gradients,
                "optimizer": sum(held_by(t for s in self.optimizer.state.values() for t in s.values() if torch.is_tensor(t)).values()),
                "kv_cache_end_of_generate": self.kv_cache}

    def take(self):
        """At the moment of the snapshot."""
        self.end("snapshot")
        s = torch.cuda.memory_stats()
        keep = ["requested_bytes.all.current", "allocated_bytes.all.current", "active_bytes.all.current", "reserved_bytes.all.current",
                "num_alloc_retries", "segment.all.current", "active.all.current"]
        self.said = {"torch": torch.__version__, "arguments": sys.argv[2:], "requested_peak": self.peak, "reserved_peak": self.reserved_peak,
                     **({"allocated_peak": self.allocated_peak} if ARGS.profile else {}),
                     "end": {k: s[k] for k in keep}, "phases": self.ends, "roles": self.roles()}

    def write(self, error=None):
        with open(ARGS.out + ".truth.json", "w", encoding="utf-8") as f:
            json.dump({**self.said, "error": error}, f, indent=1)
            f.write("\n")


TRUTH = Truth()


def profiler():
    """Sees the GPU's memory by what its own thread reports: activities of the GPU need a real one."""
    if not ARGS.profile:
        return contextlib.nullcontext()
    import torch._dynamo  # noqa: F401  the first optimizer imports it: a million calls

    options = {"activities": [torch.profiler.ProfilerActivity.CPU], "profile_memory": True, "with_stack": True, "record_shapes": True}
    # PyTorch 2.6 under Python 3.13 dies of the first module or optimizer that it looks into: it is shown another function as theirs, once
    call, step = nn.Module.__call__, torch.optim.Optimizer._optimizer_step_code
    nn.Module.__call__ = torch.optim.Optimizer._optimizer_step_code = lambda: None
    with torch.profiler.profile(**options):
        pass
    nn.Module.__call__, torch.optim.Optimizer._optimizer_step_code = call, step
    return torch.profiler.profile(on_trace_ready=lambda p: p.export_chrome_trace(ARGS.out + ".pt.trace.json"), **options)


class Phase:
    def __init__(self, name):
        self.name = name
        self.mark = torch.profiler.record_function(name) if ARGS.annotate else None

    def __enter__(self):
        if self.mark:
            self.mark.__enter__()

    def __exit__(self, kind, *rest):
        if self.mark:
            self.mark.__exit__(kind, *rest)
        if kind is None:
            TRUTH.end(self.name)


def parallel(model):
    if ARGS.parallel == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if ARGS.parallel == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy

        return FSDP(model, auto_wrap_policy=ModuleWrapPolicy({DecoderLayer}), device_id=torch.cuda.current_device(), use_orig_params=True)
    if ARGS.parallel == "fsdp2":
        from torch.distributed._composable.fsdp import fully_shard

        for layer in model.layers:
            fully_shard(layer)
        return fully_shard(model)
    return model


def join():
    """One of eight ranks: PyTorch's fake group answers for the others."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if ARGS.parallel == "ddp":  # it waits for results that the fake group does not make; NCCL's stand-in makes them
        torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=ARGS.rank, world_size=ARGS.world)
    else:
        torch.distributed.init_process_group("fake", store=FakeStore(), rank=ARGS.rank, world_size=ARGS.world)


def build_models():
    policy, reference, rollout = (CausalLM(ARGS.vocab, ARGS.hidden, ARGS.layers).to("cuda", torch.bfloat16) for _ in range(3))
    if ARGS.checkpoint:
        policy.gradient_checkpointing_enable()
    policy = parallel(policy)
    return policy, reference, rollout, torch.optim.AdamW(policy.parameters(), lr=1e-5)


def dump_at_oom(device, alloc, device_alloc, device_free):
    """As the trainers do it: the snapshot is written where the request failed, before anything is unwound."""
    TRUTH.take()
    torch.cuda.memory._dump_snapshot(ARGS.out + ".pickle")


def collect(replay_buffer):
    """Long batches give their memory back to the cache; of the short ones that are cut from it, every other one stays."""
    block = 64 << 20
    long = [torch.empty(block, dtype=torch.uint8, device="cuda") for _ in range(torch.cuda.mem_get_info()[0] // block - 1)]
    count = len(long)
    del long
    short = [torch.empty(block // 2, dtype=torch.uint8, device="cuda") for _ in range(2 * count)]
    replay_buffer += short[::2]


@torch.no_grad()
def capture_graph(model):
    model.eval()
    ids = torch.zeros((ARGS.batch, ARGS.prompt), dtype=torch.long, device="cuda")
    model(ids)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = model(ids).logits
    return graph, ids, logits


def fit(policy, reference, rollout, optimizer):
    replay_buffer = []
    pool = torch.cuda.MemPool() if ARGS.pool else None
    with Phase("capture_graph") if ARGS.graph else contextlib.nullcontext():
        graph = capture_graph(rollout) if ARGS.graph else None
    for step in range(ARGS.steps):
        length = ARGS.prompt << ({"capacity": 4, "fragmentation": 2}.get(ARGS.oom, 0) * step)
        prompt = torch.randint(1, ARGS.vocab, (ARGS.batch, length), device="cuda")
        with Phase("generate"):
            if graph:
                graph[0].replay()
            ids = generate(rollout, prompt, ARGS.response)
        with Phase("compute_log_prob"):
            old = compute_log_prob(policy, ids)
        with Phase("compute_ref_log_prob"):
            ref = compute_ref_log_prob(reference, ids)
        with Phase("update_policy"):
            update_policy(policy, optimizer, ids, old, ref)
        with Phase("sync_weights"):
            sync_weights(policy, rollout)
        if pool:
            with Phase("collect"), torch.cuda.use_mem_pool(pool):
                replay_buffer += [ids.clone(), old.clone(), ref.clone(), torch.empty(5 << 20, dtype=torch.uint8, device="cuda")]
        if ARGS.oom == "fragmentation":
            collect(replay_buffer)
    TRUTH.kept = pool, graph, replay_buffer  # until the snapshot


def main():
    if ARGS.parallel:
        join()
    torch.cuda.set_device(ARGS.rank % torch.cuda.device_count())
    torch.manual_seed(0)
    torch.cuda.memory._record_memory_history(max_entries=ARGS.entries, stacks=ARGS.stacks)
    if ARGS.oom:
        torch._C._cuda_attach_out_of_memory_observer(dump_at_oom)
    with Phase("build_models"):
        policy, reference, rollout, optimizer = build_models()
    TRUTH.policy, TRUTH.optimizer, TRUTH.others = policy, optimizer, [reference, rollout]
    try:
        with profiler():
            fit(policy, reference, rollout, optimizer)
    except torch.cuda.OutOfMemoryError as e:
        with open(ARGS.out + ".log", "w", encoding="utf-8") as f:
            f.write(traceback.format_exc())
        TRUTH.write(str(e))
        return 1
    TRUTH.take()
    torch.cuda.memory._dump_snapshot(ARGS.out + ".pickle")
    TRUTH.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
