"""For the jobs that run a framework: one rank of many, and what the job itself says of its memory, beside the recording."""
import collections
import json
import os
import sys
import traceback

import torch
import torch.distributed as dist

PHASES, KEPT = [], {}


class Answers(dist.Store):
    """What the first rank would have written: an id for NCCL, of which the stand-in looks at nothing."""

    def get(self, key):
        return b"0" * 128

    def set(self, key, value):
        pass

    def add(self, key, value):
        return value

    def check(self, keys):
        return False

    def wait(self, keys, *_):
        pass


def join(world, me=0):
    """NCCL's stand-in answers for the other ranks; what would be asked over Gloo is answered with what this rank has."""
    os.environ.update(RANK=str(me), LOCAL_RANK="0", WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    init, new = dist.init_process_group, dist.new_group
    import torch.testing._internal.distributed.fake_pg  # noqa: F401  the backend that Gloo's groups get

    def new_group(ranks=None, timeout=None, backend=None, **more):
        more.pop("device_id", None)
        return new(ranks=ranks, backend="fake" if backend == "gloo" else backend, **more)

    def fill(object_list, obj, group=None):
        object_list[:] = [obj] * len(object_list)

    def gather(obj, object_gather_list=None, dst=0, group=None, **more):
        if object_gather_list is not None:
            fill(object_gather_list, obj)

    def scatter(scatter_object_output_list, scatter_object_input_list=None, **more):
        scatter_object_output_list[0] = scatter_object_input_list[0]

    KEPT["store"] = dist.HashStore() if me == 0 else Answers()  # C++ calls Python as long as this lives
    dist.init_process_group = lambda *a, **k: init("nccl", store=KEPT["store"], rank=me, world_size=world)
    dist.new_group = dist.distributed_c10d.new_group = new_group
    dist.all_gather_object, dist.gather_object = fill, gather
    dist.broadcast_object_list = lambda *a, **k: None
    dist.scatter_object_list = scatter


def end(name):
    """What PyTorch holds now, with the number of entries that its history has."""
    s = collections.defaultdict(int, torch.cuda.memory_stats())
    PHASES.append({"name": name, "events": len(torch.cuda.memory._snapshot()["device_traces"][0]),
                   "requested": s["requested_bytes.all.current"], "requested_peak": s["requested_bytes.all.peak"]})
    torch.cuda.reset_peak_memory_stats()


def mark(owner, attribute, name):
    call = getattr(owner, attribute)

    def timed(*a, **k):
        end("before " + name)
        result = call(*a, **k)
        end(name)
        return result

    setattr(owner, attribute, timed)


def held(tensors):
    """Bytes by storage: a storage counts once."""
    found = {}
    for t in tensors:
        if torch.is_tensor(t) and t.is_cuda and t.untyped_storage().nbytes():
            found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
    return found


def roles(model, optimizer):
    """What Megatron's chunks, their buffers and the optimizer really hold."""
    buffers = [b for m in model for b in m.buffers + m.expert_parallel_buffers]
    weights = held([p for m in model for p in m.parameters()] + [b.param_data for b in buffers])
    main, state = {}, {}
    for o in getattr(optimizer, "chained_optimizers", [optimizer]):
        state.update(held(t for s in o.optimizer.state.values() for t in s.values()))
        main.update(held(p for g in o.optimizer.param_groups for p in g["params"]))
    main = {k: v for k, v in main.items() if k not in weights}
    return {"weights": sum(weights.values()), "gradients": sum(held(b.grad_data for b in buffers).values()),
            "main_params": sum(main.values()), "moments": sum(state.values())}


def write(out, error=None):
    said = {"torch": torch.__version__, "arguments": sys.argv[1:], "phases": PHASES, "error": error,
            "roles": roles(*KEPT["built"]) if "built" in KEPT else None, **KEPT.get("more", {})}
    with open(out + ".megatron.json", "w", encoding="utf-8") as f:
        json.dump(said, f, indent=1)
        f.write("\n")


def record(out, job):
    """The job with its history; the snapshot is of the end, or of the moment where a request failed."""

    def observer(device, alloc, device_alloc, device_free):
        end("oom")
        torch.cuda.memory._dump_snapshot(out + ".pickle")

    torch._C._cuda_attach_out_of_memory_observer(observer)
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="all")
    torch.cuda.init()
    try:
        job()
    except torch.OutOfMemoryError as e:
        traceback.print_exc()
        write(out, str(e))
        return 1
    end("snapshot")
    torch.cuda.memory._dump_snapshot(out + ".pickle")
    write(out)
    return 0
