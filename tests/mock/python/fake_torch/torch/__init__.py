"""A stand-in for PyTorch: as much of torch.cuda as recording memory history needs, with the same names, signatures and order of events.

FAKE_TORCH: version whose signatures are had: 2.9 (default), 2.1, 2.0, 1.13; "nocuda", "broken", "async" (an allocator without history).
FAKE_TORCH_CUDA: libcuda to initialise, as the real one does. What was called is appended to FAKE_TORCH_LOG, a line of JSON each."""
import json
import os

mode = os.environ.get("FAKE_TORCH", "2.9")
__version__ = mode if mode[0].isdigit() else "2.9.0"


def log(what, **more):
    path = os.environ.get("FAKE_TORCH_LOG")
    if path:
        with open(path, "a") as f:
            f.write(json.dumps(dict(more, what=what, pid=os.getpid())) + "\n")


class OutOfMemoryError(RuntimeError):
    pass


class _CModule:
    def __init__(self):
        self.history = False
        self.observers = []

    def _cuda_init(self):
        log("init")
        if os.environ.get("FAKE_TORCH_CUDA"):  # a libcuda to initialise
            import ctypes

            self.cuda = ctypes.CDLL(os.environ["FAKE_TORCH_CUDA"])
            log("cuInit", result=self.cuda.cuInit(0))

    def _cuda_isHistoryEnabled(self):
        return self.history

    def _cuda_attach_out_of_memory_observer(self, f):
        self.observers.append(f)


_C = _CModule()
if mode == "broken":
    raise ImportError("libtorch_cuda.so: cannot open shared object file")

def __getattr__(name):
    if name == "_inductor":  # lazily, as the real one
        import importlib

        return importlib.import_module("torch._inductor")
    raise AttributeError(name)


from torch import cuda  # noqa: E402
from torch import nn  # noqa: E402,F401 -- as the real one, which imports much after torch.cuda
