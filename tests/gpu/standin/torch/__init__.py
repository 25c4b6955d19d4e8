"""A stand-in for PyTorch on the stand-ins for CUDA (tests/mock): as much as calls.py needs, so that run.py can be tried without a GPU.
Memory comes from libcudart as in the real one; a caching allocator and kernels there are not."""
import ctypes
import weakref

_cudart = ctypes.CDLL("libcudart.so.13")
__version__ = "0.0.standin"
uint8 = "uint8"


class version:
    cuda = "13.0"


class OutOfMemoryError(RuntimeError):
    pass


def _release(p):
    _cudart.cudaFree(ctypes.c_void_p(p))


class Tensor:
    def __init__(self, n):
        p = ctypes.c_void_p()
        if _cudart.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(n)) != 0:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate %.2f MiB." % (n / 2**20))
        self.n = n
        cuda.held += n
        self.end = weakref.finalize(self, self._end, p.value, n)

    @staticmethod
    def _end(p, n):
        cuda.held -= n
        _release(p)


def empty(n, dtype="float32", device=None):
    return Tensor(n * (1 if dtype == uint8 else 4))


def ones(n, device=None):
    return Tensor(4 * n)


class cuda:
    held = 0

    @staticmethod
    def init():
        cuda.mem_get_info()

    @staticmethod
    def is_available():
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def get_device_name(_index=0):
        return "stand-in"

    @staticmethod
    def mem_get_info():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        _cudart.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    @staticmethod
    def memory_allocated():
        return cuda.held

    memory_reserved = memory_allocated
