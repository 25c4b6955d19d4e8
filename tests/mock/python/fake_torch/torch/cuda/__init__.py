"""torch.cuda: lazy initialisation as in torch/cuda/__init__.py."""
import os
import threading
import traceback

import torch
from torch import mode

_initialized = _initializing = False
_queued_calls = []
_initialization_lock = threading.Lock()
_init_pid = None


def is_available():
    return mode != "nocuda"


def is_initialized():
    return _initialized and _init_pid == os.getpid()


def _lazy_call(f, **kwargs):
    with _initialization_lock:
        if is_initialized():
            f()
        else:
            _queued_calls.append((f, traceback.format_stack()))


def init():
    _lazy_init()


def _lazy_init():
    global _initialized, _initializing, _init_pid
    if is_initialized():
        return
    if _initialized:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")
    if mode == "nocuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    torch._C._cuda_init()
    _initializing, _init_pid = True, os.getpid()
    for f, where in _queued_calls:
        f()
    _initialized, _initializing = True, False


def current_device():
    _lazy_init()
    return 0


def allocate(n, limit=1 << 30):
    """A tensor of n bytes."""
    _lazy_init()
    if n > limit:
        for observer in torch._C.observers:
            observer(1, n, limit, 0)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate %d bytes" % n)


from torch.cuda import memory  # noqa: E402
from torch.cuda.memory import *  # noqa: E402,F401,F403
