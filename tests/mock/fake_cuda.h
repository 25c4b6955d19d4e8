/* fake_cuda.h -- inside the fake libcuda. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "fake.h"

#include <stdbool.h>

/* CUresult values */
enum {
    FAKE_OK = 0,
    FAKE_INVALID_VALUE = 1,
    FAKE_OOM = 2,
    FAKE_NOT_INITIALIZED = 3,
    FAKE_DEINITIALIZED = 4,
    FAKE_NO_DEVICE = 100,
    FAKE_INVALID_DEVICE = 101,
    FAKE_INVALID_CONTEXT = 201,
    FAKE_ALREADY_MAPPED = 208,
    FAKE_FILE_NOT_FOUND = 301,
    FAKE_INVALID_HANDLE = 400,
    FAKE_NOT_FOUND = 500,
    FAKE_CONTEXT_DESTROYED = 709,
    FAKE_ALREADY_REGISTERED = 712,
    FAKE_NOT_REGISTERED = 713,
    FAKE_NOT_SUPPORTED = 801
};

typedef unsigned long long fake_ptr;    /* CUdeviceptr */
typedef unsigned long long fake_handle; /* CUmemGenericAllocationHandle */

struct fake_location {
    int type; /* 1 device, 2 host, 3 host NUMA node, 4 the current one */
    int id;
};
struct fake_alloc_prop {
    int type, handle_types;
    struct fake_location location;
    void *win32;
    unsigned char flags[8];
};
struct fake_access {
    struct fake_location location;
    int flags;
};
struct fake_pool_props {
    int type, handle_types;
    struct fake_location location;
    void *win32;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
};
struct fake_multicast_prop {
    unsigned n_devices;
    size_t size;
    unsigned long long handle_types, flags;
};
struct fake_array_desc {
    size_t width, height;
    int format;
    unsigned channels;
};
struct fake_array3d_desc {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};
struct fake_alloc_node {
    struct fake_pool_props pool;
    const struct fake_access *access;
    size_t n_access, bytes;
    fake_ptr dptr;
};
struct fake_node { /* the part of CUgraphNodeParams that matters here */
    int type;      /* 10 memory allocation, 11 memory free */
    int reserved0[3];
    union {
        struct fake_alloc_node alloc;
        struct {
            fake_ptr dptr;
        } free;
        unsigned char bytes[232];
    } u;
    long long reserved2;
};
struct fake_ipc {
    unsigned char bytes[64];
};

struct fake_external {
    int type;
    union {
        int fd;
        void *other[2];
    } u;
    unsigned long long size;
    unsigned flags, reserved[16];
};
struct fake_external_buffer {
    unsigned long long offset, size;
    unsigned flags, reserved[16];
};
struct fake_external_mipmap {
    unsigned long long offset;
    struct fake_array3d_desc array;
    unsigned levels, reserved[16];
};

/* ---- fake_cuda_core.c ---- */

struct fake_context {
    uint32_t uid, ordinal;
    bool primary, alive;
    unsigned refs;
    uint64_t charged, local; /* local: of it, for the stacks of threads */
};

struct fake_machine {
    _Atomic int initialised, forked, torn; /* torn: its exit handler has run */
    unsigned n;                            /* visible devices */
    unsigned phys[FAKE_MAX_GPUS];          /* ordinal -> device of the machine */
    uint64_t total, other, context, module, graph, round;
    bool lazy; /* code comes with its first launch */
    struct fake_state *state;
    struct fake_slot *slot;
};
extern struct fake_machine fake_m;
extern struct fake_hooks fake_cuda_hooks;
extern const int fake_driver_default; /* fake_cuda_version.c */

/* NOT_INITIALIZED before cuInit and in forked children */
int fake_gate(void);
struct fake_context *fake_current(int *error); /* NULL: *error says why */
bool fake_ordinal_ok(int dev);
/* Takes bytes of a device; false = out of memory. */
bool fake_charge(unsigned ordinal, uint64_t bytes);
void fake_refund(unsigned ordinal, uint64_t bytes);
uint64_t fake_free_bytes(unsigned ordinal);

/* ---- fake_cuda_entry.c: the call in progress on this thread ---- */

struct fake_call {
    struct fake_cbdata cb;
    struct fake_call *prev;
    uint64_t data, pc;
    uint32_t cbid, corr;
    bool active, on;
};
struct fake_call *fake_call_now(void);
void fake_memory2(uint32_t op, uint32_t kind, uint64_t address, uint64_t bytes, uint32_t device,
                  uint32_t context);
int fake_resolve(const char *symbol, int version, uint64_t flags, void **pfn);

/* ---- fake_cuda_mem.c: objects by address or handle ---- */

enum fake_kind {
    FAKE_K_DEVICE = 1 << 0,
    FAKE_K_MANAGED = 1 << 1,
    FAKE_K_HOST = 1 << 2,
    FAKE_K_REGISTERED = 1 << 3,
    FAKE_K_ASYNC = 1 << 4,
    FAKE_K_IPC = 1 << 5,
    FAKE_K_ARRAY = 1 << 6,
    FAKE_K_MIPMAP = 1 << 7,
    FAKE_K_MODULE = 1 << 8,
    FAKE_K_LIBRARY = 1 << 9,
    FAKE_K_POOL = 1 << 10,
    FAKE_K_GRAPH = 1 << 11,
    FAKE_K_EXEC = 1 << 12,
    FAKE_K_STREAM = 1 << 13,
    FAKE_K_GRAPHMEM = 1 << 14,
    FAKE_K_EXTERNAL = 1 << 15,
    FAKE_K_IMPORTED = 1 << 16 /* memory of others, freed as one's own is */
};
struct fake_obj {
    uint64_t key, size, charged;
    uint32_t kind, device, context, refs;
    void *extra;
    struct fake_obj *next;
};
struct fake_obj *fake_new(uint64_t key, unsigned kind, uint64_t size, uint64_t charged,
                          unsigned device, uint32_t context);
struct fake_obj *fake_find(uint64_t key, unsigned kinds);
/* out of the table; the caller frees it */
struct fake_obj *fake_take(uint64_t key, unsigned kinds);
void fake_free_of_context(uint32_t context);
uint64_t fake_va_take(uint64_t size); /* device addresses; reused by freed ones of the same class */
void fake_va_give(uint64_t addr, uint64_t size);
uint64_t fake_handle_new(void); /* values for handles that the driver would have as pointers */

/* ---- fake_cuda_pool.c ---- */
void fake_pools_trim(void); /* at a synchronisation: what is free beyond the threshold goes back */

/* The implementations behind the entry points. */
#define FAKE_F0(g, id, f) int fake_##f(void);
#define FAKE_F1(g, id, f, A, a) int fake_##f(A a);
#define FAKE_F2(g, id, f, A, a, B, b) int fake_##f(A a, B b);
#define FAKE_F3(g, id, f, A, a, B, b, C, c) int fake_##f(A a, B b, C c);
#define FAKE_F4(g, id, f, A, a, B, b, C, c, D, d) int fake_##f(A a, B b, C c, D d);
#define FAKE_F5(g, id, f, A, a, B, b, C, c, D, d, E, e) int fake_##f(A a, B b, C c, D d, E e);
#define FAKE_F6(g, id, f, A, a, B, b, C, c, D, d, E, e, F, f6)                                     \
    int fake_##f(A a, B b, C c, D d, E e, F f6);
#define FAKE_F8(g, id, f, A, a, B, b, C, c, D, d, E, e, F, f6, G, g7, H, h)                        \
    int fake_##f(A a, B b, C c, D d, E e, F f6, G g7, H h);
#include "fake_cuda.def"
#include "fake_cuda_undef.h"

#endif
