"""phase(): a named stretch of the job, in whatever records it."""

import os
import sys
from contextlib import ContextDecorator
from typing import Any, List, Optional, Tuple


# Set before the process began, by whoever records it.
INJECTED = os.environ.get("CUDA_INJECTION64_PATH", "")
OURS = INJECTED.endswith("libmemtrace_inject.so")
NVTX = not OURS and bool(os.environ.get("NVTX_INJECTION64_PATH"))


NOTHING = (None, None, None)


def _recorder() -> Any:
    """The library of `memtrace capture`; None while CUDA has not begun in this process."""
    import ctypes

    try:
        library = ctypes.CDLL(INJECTED, mode=ctypes.DEFAULT_MODE | os.RTLD_NOLOAD)
        library.memtrace_push.argtypes, library.memtrace_push.restype = [ctypes.c_char_p], None
        library.memtrace_pop.argtypes, library.memtrace_pop.restype = [], None
        return library
    except (OSError, AttributeError):
        return None


def _is_recorded(torch: Any) -> bool:
    """Whether anybody of PyTorch's own looks at record_function."""
    if getattr(torch.autograd, "_profiler_enabled", lambda: False)():
        return True
    # before CUDA has begun there is no allocator to ask, and PyTorch asks it all the same
    return torch.cuda.is_initialized() and bool(getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)())


class phase(ContextDecorator):
    """with phase("log_prob"): ... or @phase("log_prob"). A range of memtrace's recorder, or of NVTX where another tool has CUDA's
    ranges, and a record_function of PyTorch where its profiler or its memory history is on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.open: List[Tuple[Any, Any, Any]] = []

    def _recreate_cm(self) -> "phase":  # a decorated function may call itself
        return phase(self.name)

    def __enter__(self) -> "phase":
        torch = sys.modules.get("torch")
        if torch is None and not OURS:
            self.open.append(NOTHING)
            return self
        recorder = nvtx = function = None
        try:
            recorder = _recorder() if OURS else None
            if recorder is not None:
                recorder.memtrace_push(self.name.encode("utf-8", "replace"))
            if torch is not None:
                if NVTX and torch.cuda.is_initialized():
                    torch.cuda.nvtx.range_push(self.name)
                    nvtx = torch.cuda.nvtx
                if _is_recorded(torch):
                    entered = torch.autograd.profiler.record_function(self.name)
                    entered.__enter__()
                    function = entered
        except Exception:
            pass
        self.open.append((recorder, nvtx, function))
        return self

    def __exit__(self, *why: Any) -> Optional[bool]:
        if not self.open:
            return None
        recorder, nvtx, function = entered = self.open.pop()
        if entered == NOTHING:  # nobody records: nothing to end
            return None
        for end in (None if function is None else lambda: function.__exit__(None, None, None), None if nvtx is None else nvtx.range_pop,
                    None if recorder is None else recorder.memtrace_pop):
            try:
                if end is not None:
                    end()
            except Exception:
                pass
        return None
