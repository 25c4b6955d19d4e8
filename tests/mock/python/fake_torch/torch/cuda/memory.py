"""torch.cuda.memory: recording and snapshots, with the signatures of several versions (torch/cuda/memory.py)."""
import pickle
import sys
from inspect import signature

import torch
from torch import log, mode

_arguments = None


def _started(arguments):
    global _arguments
    if mode == "async":
        raise RuntimeError("cudaMallocAsync does not yet support recordHistory.")
    if not torch.cuda._initializing:  # lazyInitCUDA() in torch/csrc/cuda/memory_snapshot.cpp: this is why the hook must wait
        torch.cuda._lazy_init()
    log("record", arguments=arguments)
    _arguments = arguments
    torch._C.history = bool(arguments.get("enabled"))


def _impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None, clear_history=False,
          compile_context=False, global_record_annotations=False, skip_actions=None):
    _started({k: v for k, v in locals().items()})


def _impl21(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
    _started({k: v for k, v in locals().items()})


if mode == "2.0":
    def _record_memory_history(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False, device=None,
                               record_context_cpp=False):
        _started({k: v for k, v in locals().items()})
elif mode == "1.13":
    def _record_memory_history(enabled, device=None):
        _started({k: v for k, v in locals().items()})
else:
    def _record_memory_history(enabled="all", *args, **kwargs):
        return (_impl21 if mode == "2.1" else _impl)(enabled, *args, **kwargs)

    _record_memory_history.__signature__ = signature(_impl21 if mode == "2.1" else _impl)


def _snapshot(device=None):
    if hasattr(torch, "_inductor") and hasattr(torch._inductor, "codecache"):  # combined_traceback.cpp, for frames of compiled code
        torch._inductor.codecache.PyCodeCache.stack_frames_for_code("", 0)
    return {"segments": [{"device": 0, "address": 0x7F0000000000, "total_size": 2097152, "allocated_size": 512, "active_size": 512,
                          "requested_size": 512, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "frames": [],
                          "is_expandable": False,
                          "blocks": [{"address": 0x7F0000000000, "size": 512, "requested_size": 512, "state": "active_allocated",
                                      "frames": []},
                                     {"address": 0x7F0000000200, "size": 2096640, "requested_size": 0, "state": "inactive",
                                      "frames": []}]}],
            "device_traces": [[]], "allocator_settings": {}, "external_annotations": []}


if mode != "1.13":
    def _dump_snapshot(filename="dump_snapshot.pickle"):
        log("dump")
        with open(filename, "wb") as f:
            pickle.dump(_snapshot(), f)
