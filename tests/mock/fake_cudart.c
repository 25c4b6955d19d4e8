/* fake_cudart.c -- the few functions of libcudart that matter: they reach the driver through
 * cuGetProcAddress, as the real one does, with runtime callbacks around. FAKE_CUDART=quiet: without
 * driver callbacks, to test what the recorder makes of that. */
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Tells it from a real one that the machine may have. */
FAKE_EXPORT extern const int fake_cudart;
const int fake_cudart = 1;

static struct fake_hooks *hooks;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ready, quiet;
static struct {
    int (*init)(unsigned);
    int (*proc)(const char *, void **, int, uint64_t, int *);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*get_current)(void **);
    int (*alloc)(unsigned long long *, size_t);
    int (*free)(unsigned long long);
    int (*managed)(unsigned long long *, size_t, unsigned);
    int (*host)(void **, size_t, unsigned);
    int (*host_free)(void *);
    int (*async)(unsigned long long *, size_t, void *);
    int (*async_free)(unsigned long long, void *);
    int (*info)(size_t *, size_t *);
} cu;

static void get(void *f, const char *name)
{
    void *p = NULL;
    if (!cu.proc || cu.proc(name, &p, 12000, 0, NULL))
        ready = 0;
    memcpy(f, &p, sizeof p);
}

static void start(void)
{
    const char *q = getenv("FAKE_CUDART");
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return;
    hooks = (struct fake_hooks *)dlsym(lib, "fake_cuda_hooks");
    void *p = dlsym(lib, "cuGetProcAddress_v2");
    if (!hooks || !p)
        return;
    memcpy(&cu.proc, &p, sizeof p);
    ready = 1;
    quiet = q && !strcmp(q, "quiet");
    get(&cu.init, "cuInit");
    get(&cu.retain, "cuDevicePrimaryCtxRetain");
    get(&cu.set_current, "cuCtxSetCurrent");
    get(&cu.get_current, "cuCtxGetCurrent");
    get(&cu.alloc, "cuMemAlloc");
    get(&cu.free, "cuMemFree");
    get(&cu.managed, "cuMemAllocManaged");
    get(&cu.host, "cuMemHostAlloc");
    get(&cu.host_free, "cuMemFreeHost");
    get(&cu.async, "cuMemAllocAsync");
    get(&cu.async_free, "cuMemFreeAsync");
    get(&cu.info, "cuMemGetInfo");
}

/* The primary context of device 0, as the first runtime call makes it. */
static int begin(void)
{
    pthread_once(&once, start);
    if (!ready)
        return 35; /* cudaErrorInsufficientDriver */
    int r = cu.init(0);
    void *ctx = NULL;
    if (r || (!cu.get_current(&ctx) && ctx))
        return r;
    r = cu.retain(&ctx, 0);
    return r ? r : cu.set_current(ctx);
}

struct runtime_call {
    struct fake_cbdata cb;
    uint64_t data;
    uint32_t cbid;
    int on;
};

static void enter(struct runtime_call *c, uint32_t cbid, const char *name, const void *params,
                  int *ret)
{
    const unsigned char *mask = atomic_load(&hooks->masks[1]);
    memset(c, 0, sizeof *c);
    c->cbid = cbid;
    void *ctx = hooks->current();
    c->cb.function_name = name;
    c->cb.params = params;
    c->cb.return_value = ret;
    c->cb.context = ctx;
    c->cb.context_uid = hooks->context_uid(ctx);
    c->cb.correlation_data = &c->data;
    c->cb.correlation_id = atomic_fetch_add(&hooks->correlation, 1) + 1;
    *hooks->correlation_override() = c->cb.correlation_id;
    *hooks->quiet() = quiet;
    c->on = mask && mask[cbid];
    if (c->on)
        hooks->callback(2, cbid, &c->cb);
}

static void leave(struct runtime_call *c)
{
    *hooks->correlation_override() = 0;
    *hooks->quiet() = 0;
    c->cb.site = 1;
    if (c->on && atomic_load(&hooks->masks[1]))
        hooks->callback(2, c->cbid, &c->cb);
}

/* name is what CUPTI calls it; PARAMS is a struct of the arguments; CALL is the driver call. */
#define RUNTIME(cbid, name, params, call)                                                          \
    int r_ = begin();                                                                              \
    if (r_)                                                                                        \
        return r_;                                                                                 \
    struct runtime_call c_;                                                                        \
    enter(&c_, cbid, name, params, &r_);                                                           \
    r_ = call;                                                                                     \
    leave(&c_);                                                                                    \
    return r_;

FAKE_EXPORT int cudaMalloc(void **devPtr, size_t size);
int cudaMalloc(void **devPtr, size_t size)
{
    struct {
        void **devPtr;
        size_t size;
    } p = {devPtr, size};
    RUNTIME(20, "cudaMalloc_v3020", &p, cu.alloc((unsigned long long *)(void *)devPtr, size))
}

FAKE_EXPORT int cudaFree(void *devPtr);
int cudaFree(void *devPtr)
{
    struct {
        void *devPtr;
    } p = {devPtr};
    RUNTIME(22, "cudaFree_v3020", &p, devPtr ? cu.free((uintptr_t)devPtr) : 0)
}

FAKE_EXPORT int cudaMallocHost(void **ptr, size_t size);
int cudaMallocHost(void **ptr, size_t size)
{
    struct {
        void **ptr;
        size_t size;
    } p = {ptr, size};
    RUNTIME(25, "cudaMallocHost_v3020", &p, cu.host(ptr, size, 0))
}

FAKE_EXPORT int cudaHostAlloc(void **pHost, size_t size, unsigned flags);
int cudaHostAlloc(void **pHost, size_t size, unsigned flags)
{
    struct {
        void **pHost;
        size_t size;
        unsigned flags;
    } p = {pHost, size, flags};
    RUNTIME(27, "cudaHostAlloc_v3020", &p, cu.host(pHost, size, flags))
}

FAKE_EXPORT int cudaFreeHost(void *ptr);
int cudaFreeHost(void *ptr)
{
    struct {
        void *ptr;
    } p = {ptr};
    RUNTIME(26, "cudaFreeHost_v3020", &p, cu.host_free(ptr))
}

FAKE_EXPORT int cudaMallocManaged(void **devPtr, size_t size, unsigned flags);
int cudaMallocManaged(void **devPtr, size_t size, unsigned flags)
{
    struct {
        void **devPtr;
        size_t size;
        unsigned flags;
    } p = {devPtr, size, flags};
    RUNTIME(206, "cudaMallocManaged_v6000", &p,
            cu.managed((unsigned long long *)(void *)devPtr, size, flags))
}

FAKE_EXPORT int cudaMallocAsync(void **devPtr, size_t size, void *hStream);
int cudaMallocAsync(void **devPtr, size_t size, void *hStream)
{
    struct {
        void **devPtr;
        size_t size;
        void *hStream;
    } p = {devPtr, size, hStream};
    RUNTIME(373, "cudaMallocAsync_v11020", &p,
            cu.async((unsigned long long *)(void *)devPtr, size, hStream))
}

FAKE_EXPORT int cudaFreeAsync(void *devPtr, void *hStream);
int cudaFreeAsync(void *devPtr, void *hStream)
{
    struct {
        void *devPtr;
        void *hStream;
    } p = {devPtr, hStream};
    RUNTIME(375, "cudaFreeAsync_v11020", &p, cu.async_free((uintptr_t)devPtr, hStream))
}

FAKE_EXPORT int cudaMemGetInfo(size_t *free_, size_t *total);
int cudaMemGetInfo(size_t *free_, size_t *total)
{
    struct {
        size_t *free_, *total;
    } p = {free_, total};
    RUNTIME(30, "cudaMemGetInfo_v3020", &p, cu.info(free_, total))
}
