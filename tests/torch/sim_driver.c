/* sim_driver.c -- a GPU that is not there, as libcuda.so.1: memory with a budget, virtual memory
 * management, nothing computed. Device memory is host memory that was never touched (mapped, not
 * reserved), at the same addresses in every run. */
#include "sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define DEVICES 16
#define GRAIN (2ull << 20)
#define FIRST 0x302000000ull /* where a card's first allocation tends to lie */

enum kind { RESERVED = 1, ALLOCATED, HANDLE, HOST };

struct span {
    uint64_t at, size;
    int device, kind, refs;
};

static struct {
    pthread_mutex_t lock;
    struct span *spans; /* sorted by address; handles have numbers above every address */
    size_t count, cap;
    uint64_t next_handle, used[DEVICES], total, other;
    int devices;
} world = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_handle = 1ull << 60};

static _Thread_local int current;

static uint64_t number(const char *name, uint64_t without)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, NULL, 0) : without;
}

static void begin(void)
{
    pthread_mutex_lock(&world.lock);
    if (world.devices)
        return;
    uint64_t devices = number("MT_SIM_DEVICES", 1);
    world.devices = devices < 1 ? 1 : devices > DEVICES ? DEVICES : (int)devices;
    world.total = number("MT_SIM_MEMORY", 85017755648ull);
    world.other = number("MT_SIM_OTHER", 0) + number("MT_SIM_CONTEXT", 518ull << 20);
}

static int end(int result)
{
    pthread_mutex_unlock(&world.lock);
    return result;
}

static size_t position(uint64_t at)
{
    size_t lo = 0, hi = world.count;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (world.spans[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct span *insert(struct span s)
{
    if (world.count == world.cap) {
        size_t cap = world.cap ? world.cap * 2 : 64;
        struct span *p = realloc(world.spans, cap * sizeof *p);
        if (!p)
            return NULL;
        world.spans = p;
        world.cap = cap;
    }
    size_t i = position(s.at);
    memmove(&world.spans[i + 1], &world.spans[i], (world.count - i) * sizeof s);
    world.spans[i] = s;
    world.count++;
    return &world.spans[i];
}

static struct span *find(uint64_t at, int kind)
{
    size_t i = position(at);
    return i < world.count && world.spans[i].at == at && world.spans[i].kind == kind
               ? &world.spans[i]
               : NULL;
}

static void drop(struct span *s)
{
    size_t i = (size_t)(s - world.spans);
    memmove(s, s + 1, (--world.count - i) * sizeof *s);
}

/* The lowest gap that fits, as a driver would reuse addresses. */
static uint64_t place(uint64_t size, int kind, int device)
{
    uint64_t at = FIRST;
    for (size_t i = 0; i < world.count && world.spans[i].kind != HANDLE; i++) {
        const struct span *s = &world.spans[i];
        if (s->kind == HOST)
            continue;
        if (s->at >= at + size)
            break;
        if (s->at + s->size > at)
            at = s->at + s->size;
    }
    at = (at + GRAIN - 1) & ~(GRAIN - 1);
    void *got = mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED)
        return 0;
    return insert((struct span){at, size, device, kind, 1}) ? at : 0;
}

static int room(int device, uint64_t size)
{
    return world.other + world.used[device] + size <= world.total;
}

static uint64_t up(uint64_t size) { return (size + GRAIN - 1) / GRAIN * GRAIN; }

/* ---- devices and contexts ---- */

int cuInit(unsigned flags)
{
    (void)flags;
    begin();
    return end(0);
}

int cuDriverGetVersion(int *version)
{
    *version = 12080;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    begin();
    *count = world.devices;
    return end(0);
}

int cuDeviceGet(int *device, int ordinal)
{
    begin();
    *device = ordinal;
    return end(ordinal >= 0 && ordinal < world.devices ? 0 : 101);
}

int cuDeviceGetName(char *name, int length, int device)
{
    (void)device;
    snprintf(name, (size_t)length, "Simulated GPU");
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    begin();
    *bytes = world.total;
    return end(0);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 33 ? device + 1 : 0; /* PCI bus */
    (void)sim_attribute(value, attribute);
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = (void *)(uintptr_t)(0x1000 + (unsigned)device);
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = 1;
    return 0;
}

int cuCtxGetCurrent(void **context)
{
    *context = (void *)(uintptr_t)(0x1000 + (unsigned)current);
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    current = context ? (int)((uintptr_t)context & 15) : 0;
    return 0;
}

int cuGetErrorString(int error, const char **text)
{
    *text = error == 2 ? "out of memory" : error ? "simulated failure" : "no error";
    return 0;
}

int cuGetErrorName(int error, const char **text)
{
    *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : error ? "CUDA_ERROR_UNKNOWN" : "CUDA_SUCCESS";
    return 0;
}

/* ---- memory ---- */

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    begin();
    uint64_t used = world.other + world.used[current];
    *total = world.total;
    *free_bytes = used < world.total ? world.total - used : 0;
    return end(0);
}

int cuMemAlloc_v2(uint64_t *at, size_t size)
{
    begin();
    uint64_t rounded = up(size);
    if (!size || !room(current, rounded))
        return end(size ? 2 : 1);
    *at = place(rounded, ALLOCATED, current);
    if (!*at)
        return end(2);
    world.used[current] += rounded;
    return end(0);
}

int cuMemFree_v2(uint64_t at)
{
    begin();
    struct span *s = find(at, ALLOCATED);
    if (!s)
        return end(at ? 1 : 0);
    munmap((void *)(uintptr_t)s->at, s->size);
    world.used[s->device] -= s->size;
    drop(s);
    return end(0);
}

int cuMemHostAlloc(void **at, size_t size, unsigned flags)
{
    (void)flags;
    *at = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (!*at)
        return 2;
    begin();
    insert((struct span){(uintptr_t)*at, size, 0, HOST, 1});
    return end(0);
}

int cuMemFreeHost(void *at)
{
    begin();
    struct span *s = find((uintptr_t)at, HOST);
    if (s) {
        drop(s);
        free(at);
    }
    return end(0);
}

/* 1: pinned host memory, 2: device memory, 0: neither; not in NVIDIA's library, see sim.h. */
int mt_sim_kind(uint64_t at, int *device)
{
    begin();
    size_t i = position(at + 1);
    const struct span *s = i ? &world.spans[i - 1] : NULL;
    int kind = !s || at - s->at >= s->size ? 0 : s->kind == HOST ? 1 : 2;
    *device = kind ? s->device : 0;
    return end(kind);
}

struct prop {
    int type, handle_types, location_type, device;
};

int cuMemGetAllocationGranularity(size_t *grain, const struct prop *prop, int option)
{
    (void)prop;
    (void)option;
    *grain = GRAIN;
    return 0;
}

int cuMemAddressReserve(uint64_t *at, size_t size, size_t alignment, uint64_t wish,
                        unsigned long long flags)
{
    (void)alignment;
    (void)wish;
    (void)flags;
    begin();
    *at = place(up(size), RESERVED, current);
    return end(*at ? 0 : 2);
}

int cuMemAddressFree(uint64_t at, size_t size)
{
    (void)size;
    begin();
    struct span *s = find(at, RESERVED);
    if (!s)
        return end(1);
    munmap((void *)(uintptr_t)s->at, s->size);
    drop(s);
    return end(0);
}

int cuMemCreate(uint64_t *handle, size_t size, const struct prop *prop, unsigned long long flags)
{
    (void)flags;
    begin();
    if (!room(prop->device, size))
        return end(2);
    *handle = world.next_handle += 16;
    if (!insert((struct span){*handle, size, prop->device, HANDLE, 1}))
        return end(2);
    world.used[prop->device] += size;
    return end(0);
}

/* A handle lives until it was released and no mapping holds it. PyTorch releases only after
 * unmapping, so mappings need no count. */
int cuMemRelease(uint64_t handle)
{
    begin();
    struct span *s = find(handle, HANDLE);
    if (!s)
        return end(1);
    world.used[s->device] -= s->size;
    drop(s);
    return end(0);
}

int cuMemMap(uint64_t at, size_t size, size_t offset, uint64_t handle, unsigned long long flags)
{
    (void)at;
    (void)size;
    (void)offset;
    (void)flags;
    begin();
    return end(find(handle, HANDLE) ? 0 : 1);
}

int cuMemSetAccess(uint64_t at, size_t size, const void *access, size_t count)
{
    (void)at;
    (void)size;
    (void)access;
    (void)count;
    return 0;
}

int cuMemUnmap(uint64_t at, size_t size)
{
    madvise((void *)(uintptr_t)at, size, MADV_DONTNEED);
    return 0;
}
