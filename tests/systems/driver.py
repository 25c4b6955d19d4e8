"""Calls the driver as a job does, and ends with status 6."""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context, p = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
for _ in range(5):
    assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(3 << 20)) == 0
sys.exit(6)
