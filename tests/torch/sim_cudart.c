/* sim_cudart.c -- the part of libcudart.so.12 that PyTorch's allocator depends on, over the
 * driver's interface. Kernels are not run: sizes, stacks and the order of allocations are PyTorch's
 * own, values are not. What is not here, standin.py makes: it returns success. */
#include "sim.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COPY_LIMIT                                                                                 \
    (1u << 20) /* larger copies into the device are left out: they would cost host memory and      \
                  nobody reads them */

static _Thread_local int current, last;
static _Atomic uintptr_t handles = 0x10000;
static _Atomic uint64_t captures;
static _Atomic int capturing;

static int result(int error)
{
    if (error)
        last = error;
    return error;
}

static void *handle(void) { return (void *)(atomic_fetch_add(&handles, 64) + 64); }

static void use(void)
{
    void *context;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, current);
    cuCtxSetCurrent(context);
}

/* ---- devices ---- */

int cudaGetDeviceCount(int *count)
{
    cuInit(0);
    return result(cuDeviceGetCount(count));
}

int cudaGetDevice(int *device)
{
    *device = current;
    return 0;
}

int cudaSetDevice(int device)
{
    int count = 0;
    cudaGetDeviceCount(&count);
    if (device < 0 || device >= count)
        return result(101);
    current = device;
    use();
    return 0;
}

int cudaRuntimeGetVersion(int *version)
{
    *version = 12040;
    return 0;
}

int cudaDriverGetVersion(int *version) { return cuDriverGetVersion(version); }

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    return sim_attribute(value, attribute) ? 0 : cuDeviceGetAttribute(value, attribute, device);
}

int cudaDeviceGetPCIBusId(char *text, int length, int device)
{
    int bus = 0;
    cuDeviceGetAttribute(&bus, 33, device);
    snprintf(text, (size_t)length, "0000:%02X:00.0", bus);
    return 0;
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return 0;
}

/* cudaDeviceProp of CUDA 12, as far as PyTorch reads it. */
#define PROP_SIZE 1032
struct prop {
    char name[256], uuid[16], luid[8];
    unsigned luid_mask;
    size_t total, shared_per_block;
    int regs_per_block, warp;
    size_t pitch;
    int threads_per_block, threads_dim[3], grid[3], clock;
    size_t constant;
    int major, minor;
    size_t texture[2];
    int overlap, processors, timeout, integrated, map_host, compute_mode, textures[40];
    size_t surface_alignment;
    int concurrent, ecc, bus, device, domain, tcc, engines, unified, memory_clock, memory_width, l2,
        l2_persisting, threads_per_processor, priorities, global_l1, local_l1;
    size_t shared_per_processor;
    int regs_per_processor, managed, multi, group, atomics, ratio, pageable, concurrent_managed,
        preemption, registered, cooperative, cooperative_multi;
    size_t shared_optin;
    int host_tables, managed_from_host, blocks_per_processor;
};
_Static_assert(offsetof(struct prop, total) == 288 && offsetof(struct prop, major) == 360 &&
                   offsetof(struct prop, processors) == 388 &&
                   offsetof(struct prop, shared_optin) == 696,
               "the layout of cudaDeviceProp");
_Static_assert(sizeof(struct prop) < PROP_SIZE, "its size");

int cudaGetDeviceProperties_v2(struct prop *p, int device)
{
    cuInit(0);
    memset(p, 0, PROP_SIZE);
    cuDeviceGetName(p->name, sizeof p->name, device);
    p->uuid[15] = (char)(device + 1);
    cuDeviceTotalMem_v2(&p->total, device);
    p->shared_per_block = 49152;
    p->regs_per_block = p->regs_per_processor = 65536;
    p->warp = 32;
    p->pitch = 0x7fffffff;
    p->threads_per_block = p->threads_dim[0] = p->threads_dim[1] = 1024;
    p->threads_dim[2] = 64;
    p->grid[0] = 0x7fffffff;
    p->grid[1] = p->grid[2] = 65535;
    p->clock = 1980000;
    p->constant = 65536;
    p->major = 9;
    p->texture[0] = 512;
    p->texture[1] = 32;
    p->overlap = p->map_host = p->concurrent = p->ecc = p->unified = p->priorities = p->global_l1 =
        p->local_l1 = p->managed = 1;
    p->processors = 132;
    cuDeviceGetAttribute(&p->bus, 33, device); /* PyTorch finds the device again in NVML by it */
    p->engines = 3;
    p->memory_clock = 2619000;
    p->memory_width = 5120;
    p->l2 = 52428800;
    p->threads_per_processor = 2048;
    p->shared_per_processor = 233472;
    p->cooperative = 1;
    p->shared_optin = 232448;
    p->blocks_per_processor = 32;
    return 0;
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return 0;
}

/* ---- errors ---- */

int cudaGetLastError(void)
{
    int error = last;
    last = 0;
    return error;
}

int cudaPeekAtLastError(void) { return last; }

const char *cudaGetErrorString(int error)
{
    return error == 2 ? "out of memory" : error ? "simulated failure" : "no error";
}

const char *cudaGetErrorName(int error)
{
    return error == 2 ? "cudaErrorMemoryAllocation" : error ? "cudaErrorUnknown" : "cudaSuccess";
}

/* ---- memory ---- */

int cudaMalloc(void **at, size_t size)
{
    uint64_t p = 0;
    use();
    int error = cuMemAlloc_v2(&p, size);
    *at = (void *)(uintptr_t)p;
    return result(error);
}

int cudaFree(void *at)
{
    use();
    return at ? result(cuMemFree_v2((uintptr_t)at)) : 0;
}

/* Over a driver without pools, memory that is taken and given back at once. */
int cudaMallocAsync(void **at, size_t size, void *stream)
{
    uint64_t p = 0;
    use();
    int error = cuMemAllocAsync ? cuMemAllocAsync(&p, size, stream) : cuMemAlloc_v2(&p, size);
    *at = (void *)(uintptr_t)p;
    return result(error);
}

int cudaFreeAsync(void *at, void *stream)
{
    use();
    return result(cuMemFreeAsync ? cuMemFreeAsync((uintptr_t)at, stream)
                                 : cuMemFree_v2((uintptr_t)at));
}

int cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    use();
    *pool = NULL;
    return result(cuDeviceGetDefaultMemPool ? cuDeviceGetDefaultMemPool(pool, device) : 0);
}

int cudaMemPoolSetAttribute(void *pool, int attribute, void *value)
{
    return result(cuMemPoolSetAttribute ? cuMemPoolSetAttribute(pool, attribute, value) : 0);
}

int cudaMemPoolGetAttribute(void *pool, int attribute, void *value)
{
    memset(value, 0, sizeof(uint64_t));
    return result(cuMemPoolGetAttribute ? cuMemPoolGetAttribute(pool, attribute, value) : 0);
}

int cudaMemPoolTrimTo(void *pool, size_t keep)
{
    return result(cuMemPoolTrimTo ? cuMemPoolTrimTo(pool, keep) : 0);
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    use();
    return result(cuMemGetInfo_v2(free_bytes, total));
}

int cudaHostAlloc(void **at, size_t size, unsigned flags)
{
    use();
    return result(cuMemHostAlloc(at, size, flags));
}

int cudaFreeHost(void *at)
{
    use();
    return result(cuMemFreeHost(at));
}

int cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    *device = host;
    return 0;
}

struct pointer {
    int type, device;
    void *on_device, *on_host;
};

int cudaPointerGetAttributes(struct pointer *a, const void *at)
{
    int device = 0, kind = mt_sim_kind ? mt_sim_kind((uintptr_t)at, &device) : 0;
    *a = (struct pointer){kind, kind ? device : -2, kind ? (void *)at : NULL,
                          kind == 2 ? NULL : (void *)at};
    return 0;
}

/* cudaMemcpyKind: 0 host to host, 1 to the device, 2 to the host, 3 on the device, 4 by the
 * addresses. */
int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    int device;
    if (kind == 4)
        kind = mt_sim_kind && mt_sim_kind((uintptr_t)to, &device) != 2 ? 2 : 3;
    if (!mt_sim_kind && kind == 2)
        memset(to, 0, size);
    else if (kind == 0 || (mt_sim_kind && (kind == 2 || size <= COPY_LIMIT)))
        memmove(to, from, size);
    return 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    (void)stream;
    return cudaMemcpy(to, from, size, kind);
}

int cudaMemset(void *at, int value, size_t size)
{
    if (mt_sim_kind && size <= COPY_LIMIT)
        memset(at, value, size);
    return 0;
}

int cudaMemsetAsync(void *at, int value, size_t size, void *stream)
{
    (void)stream;
    return cudaMemset(at, value, size);
}

/* ---- streams, events, capture ---- */

int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    *stream = handle();
    return 0;
}

int cudaStreamCreate(void **stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

int cudaStreamGetPriority(void *stream, int *priority)
{
    (void)stream;
    *priority = 0;
    return 0;
}

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
    (void)flags;
    *event = handle();
    return 0;
}

int cudaEventCreate(void **event) { return cudaEventCreateWithFlags(event, 0); }

int cudaEventElapsedTime(float *ms, void *from, void *to)
{
    (void)from;
    (void)to;
    *ms = 1.0f;
    return 0;
}

int cudaStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = capturing;
    return 0;
}

int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph,
                                const void ***dependencies, size_t *count)
{
    (void)stream;
    *status = capturing;
    if (id)
        *id = captures;
    if (graph)
        *graph = NULL;
    if (dependencies)
        *dependencies = NULL;
    if (count)
        *count = 0;
    return 0;
}

int cudaStreamBeginCapture(void *stream, int mode)
{
    (void)stream;
    (void)mode;
    captures++;
    capturing = 1;
    return 0;
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    (void)stream;
    capturing = 0;
    *graph = handle();
    return cuGraphCreate ? result(cuGraphCreate(graph, 0)) : 0;
}

int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags)
{
    *exec = handle();
    return cuGraphInstantiateWithFlags ? result(cuGraphInstantiateWithFlags(exec, graph, flags))
                                       : 0;
}

int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}

int cudaGraphLaunch(void *exec, void *stream)
{
    return cuGraphLaunch ? result(cuGraphLaunch(exec, stream)) : 0;
}

int cudaGraphExecDestroy(void *exec)
{
    return cuGraphExecDestroy ? result(cuGraphExecDestroy(exec)) : 0;
}

int cudaGraphDestroy(void *graph) { return cuGraphDestroy ? result(cuGraphDestroy(graph)) : 0; }

/* One node, or PyTorch warns of an empty graph. */
int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    (void)graph;
    (void)nodes;
    *count = 1;
    return 0;
}

/* ---- kernels ---- */

struct function {
    size_t shared, constant, local;
    int threads, registers, ptx, binary, cache, dynamic_shared, carveout;
};

int cudaFuncGetAttributes(struct function *a, const void *function)
{
    (void)function;
    *a = (struct function){
        .threads = 1024, .registers = 32, .ptx = 90, .binary = 90, .dynamic_shared = 49152};
    return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                           int threads, size_t shared,
                                                           unsigned flags)
{
    (void)function;
    (void)threads;
    (void)shared;
    (void)flags;
    *blocks = 2;
    return 0;
}

static _Thread_local struct {
    unsigned grid[3], block[3];
    size_t shared;
    void *stream;
} configuration;

struct dim {
    unsigned x, y, z;
};

unsigned __cudaPushCallConfiguration(struct dim grid, struct dim block, size_t shared, void *stream)
{
    memcpy(configuration.grid, &grid, sizeof grid);
    memcpy(configuration.block, &block, sizeof block);
    configuration.shared = shared;
    configuration.stream = stream;
    return 0;
}

int __cudaPopCallConfiguration(struct dim *grid, struct dim *block, size_t *shared, void **stream)
{
    memcpy(grid, configuration.grid, sizeof *grid);
    memcpy(block, configuration.block, sizeof *block);
    *shared = configuration.shared;
    *stream = configuration.stream;
    return 0;
}

static void *fat_binary;

void **__cudaRegisterFatBinary(void *binary)
{
    (void)binary;
    return &fat_binary;
}
