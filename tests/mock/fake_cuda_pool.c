/* fake_cuda_pool.c -- stream-ordered memory pools and the memory of graphs. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (32 * FAKE_MB) /* a pool takes and gives back device memory in these */

struct pool {
    uint64_t handle;
    unsigned device;
    uint64_t reserved, used, threshold, reserved_high, used_high;
    bool dead; /* destroyed, but not everything of it is freed */
    struct pool *next;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool defaults[FAKE_MAX_GPUS];
static struct pool *current_pool[FAKE_MAX_GPUS];
static struct pool *pools; /* all, the used default ones included */

static uint64_t blocks(uint64_t n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }

/* Under pool_lock, as all with a struct pool. */
static struct pool *default_pool(unsigned dev)
{
    struct pool *p = &defaults[dev];
    if (!p->handle) {
        p->handle = fake_handle_new();
        p->device = dev;
        p->next = pools;
        pools = p;
    }
    return p;
}

static struct pool *pool_of(const void *handle)
{
    struct pool *p = pools;
    while (p && (p->handle != (uintptr_t)handle || p->dead))
        p = p->next;
    return p;
}

static void pool_event(const struct pool *p, uint32_t op, uint64_t keep)
{
    struct fake_call *c = fake_call_now();
    if (!(atomic_load(&fake_cuda_hooks.activity) & 2) || !c)
        return;
    struct fake_mempool m = {.op = op,
                             .correlation = c->corr,
                             .device = p->device,
                             .keep = keep,
                             .pool = p->handle,
                             .size = p->reserved,
                             .threshold = p->threshold,
                             .utilized = p->used};
    fake_cuda_hooks.mempool(&m);
}

static void shrink(struct pool *p, uint64_t keep)
{
    uint64_t want = blocks(p->used);
    if (want < keep)
        want = blocks(keep);
    if (want < p->reserved) {
        fake_refund(p->device, p->reserved - want);
        p->reserved = want;
    }
}

void fake_pools_trim(void)
{
    pthread_mutex_lock(&pool_lock);
    for (struct pool *p = pools; p; p = p->next)
        if (p->reserved > p->threshold)
            shrink(p, p->threshold);
    pthread_mutex_unlock(&pool_lock);
}

static void async_event(const struct pool *p, uint32_t op, uint64_t addr, uint64_t size,
                        void *stream)
{
    struct fake_call *c = fake_call_now();
    if (!(atomic_load(&fake_cuda_hooks.activity) & 1) || !c)
        return;
    struct fake_context *ctx = fake_current(NULL);
    struct fake_memory m = {.op = op,
                            .kind = 3,
                            .correlation = c->corr,
                            .device = p->device,
                            .context = ctx ? ctx->uid : UINT32_MAX,
                            .stream = fake_cuda_hooks.stream_id(stream),
                            .address = addr,
                            .bytes = size,
                            .pc = c->pc,
                            .is_async = 1,
                            .pool_type = 1,
                            .pool = p->handle,
                            .threshold = p->threshold,
                            .pool_size = p->reserved,
                            .utilized = p->used};
    fake_cuda_hooks.memory(&m);
}

/* Under pool_lock. */
static int pool_alloc(struct pool *p, fake_ptr *out, uint64_t size, void *stream)
{
    if (size > fake_m.total)
        return FAKE_OOM;
    uint64_t want = blocks(p->used + size);
    if (want > p->reserved) {
        if (!fake_charge(p->device, want - p->reserved))
            return FAKE_OOM;
        p->reserved = want;
    }
    uint64_t a = fake_va_take(size);
    struct fake_obj *o = a ? fake_new(a, FAKE_K_ASYNC, size, 0, p->device, 0) : NULL;
    if (!o)
        return FAKE_OOM;
    o->extra = p;
    p->used += size;
    if (p->used > p->used_high)
        p->used_high = p->used;
    if (p->reserved > p->reserved_high)
        p->reserved_high = p->reserved;
    *out = a;
    async_event(p, 1, a, size, stream);
    return FAKE_OK;
}

int fake_cuMemAllocFromPoolAsync(fake_ptr *dptr, size_t bytesize, void *pool, void *hStream)
{
    if (!dptr || !bytesize)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&pool_lock);
    struct pool *p = pool_of(pool);
    int r = p ? pool_alloc(p, dptr, bytesize, hStream) : FAKE_INVALID_VALUE;
    pthread_mutex_unlock(&pool_lock);
    return r;
}
int fake_cuMemAllocFromPoolAsync_ptsz(fake_ptr *dptr, size_t bytesize, void *pool, void *hStream)
{
    return fake_cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream);
}

int fake_cuMemAllocAsync(fake_ptr *dptr, size_t bytesize, void *hStream)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!dptr || !bytesize)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&pool_lock);
    struct pool *p = current_pool[c->ordinal] ? current_pool[c->ordinal] : default_pool(c->ordinal);
    r = pool_alloc(p, dptr, bytesize, hStream);
    pthread_mutex_unlock(&pool_lock);
    return r;
}
int fake_cuMemAllocAsync_ptsz(fake_ptr *dptr, size_t bytesize, void *hStream)
{
    return fake_cuMemAllocAsync(dptr, bytesize, hStream);
}

static void pool_gone(struct pool *p)
{
    struct pool **at = &pools;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p);
}

int fake_cuMemFreeAsync(fake_ptr dptr, void *hStream)
{
    struct fake_obj *o = fake_take(dptr, FAKE_K_ASYNC);
    if (!o)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&pool_lock);
    struct pool *p = o->extra;
    p->used -= o->size;
    async_event(p, 2, dptr, o->size, hStream);
    if (p->dead && !p->used) {
        shrink(p, 0);
        pool_gone(p);
    }
    pthread_mutex_unlock(&pool_lock);
    fake_va_give(o->key, o->size);
    free(o);
    return FAKE_OK;
}
int fake_cuMemFreeAsync_ptsz(fake_ptr dptr, void *hStream)
{
    return fake_cuMemFreeAsync(dptr, hStream);
}

int fake_cuMemPoolCreate(void **pool, const struct fake_pool_props *poolProps)
{
    if (!pool || !poolProps || poolProps->type != 1 || poolProps->location.type != 1)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(poolProps->location.id))
        return FAKE_INVALID_DEVICE;
    struct pool *p = calloc(1, sizeof *p);
    if (!p)
        return FAKE_OOM;
    p->handle = fake_handle_new();
    p->device = (unsigned)poolProps->location.id;
    pthread_mutex_lock(&pool_lock);
    p->next = pools;
    pools = p;
    pool_event(p, 1, 0);
    pthread_mutex_unlock(&pool_lock);
    *pool = (void *)(uintptr_t)p->handle; /* NOLINT(performance-no-int-to-ptr) */
    return FAKE_OK;
}

int fake_cuMemPoolDestroy(void *pool)
{
    pthread_mutex_lock(&pool_lock);
    struct pool *p = pool_of(pool);
    bool ok = p && !(p >= defaults && p < defaults + FAKE_MAX_GPUS);
    if (ok) {
        pool_event(p, 2, 0);
        for (unsigned i = 0; i < FAKE_MAX_GPUS; i++)
            if (current_pool[i] == p)
                current_pool[i] = NULL;
        p->dead = true;
        if (!p->used) {
            shrink(p, 0);
            pool_gone(p);
        }
    }
    pthread_mutex_unlock(&pool_lock);
    return ok ? FAKE_OK : FAKE_INVALID_VALUE;
}

int fake_cuMemPoolTrimTo(void *pool, size_t minBytesToKeep)
{
    pthread_mutex_lock(&pool_lock);
    struct pool *p = pool_of(pool);
    if (p) {
        shrink(p, minBytesToKeep);
        pool_event(p, 3, minBytesToKeep);
    }
    pthread_mutex_unlock(&pool_lock);
    return p ? FAKE_OK : FAKE_INVALID_VALUE;
}

/* CUmemPool_attribute: 1-3 int switches, 4 threshold, 5 reserved, 6 its high, 7 used, 8 its high.
 */
int fake_cuMemPoolSetAttribute(void *pool, int attr, void *value)
{
    if (!value || attr < 1 || attr > 8)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&pool_lock);
    struct pool *p = pool_of(pool);
    if (p && attr == 4)
        memcpy(&p->threshold, value, 8);
    if (p && attr == 6)
        p->reserved_high = p->reserved;
    if (p && attr == 8)
        p->used_high = p->used;
    pthread_mutex_unlock(&pool_lock);
    return p ? FAKE_OK : FAKE_INVALID_VALUE;
}

int fake_cuMemPoolGetAttribute(void *pool, int attr, void *value)
{
    if (!value || attr < 1 || attr > 8)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&pool_lock);
    struct pool *p = pool_of(pool);
    if (p && attr < 4)
        memset(value, 0, sizeof(int));
    if (p && attr >= 4) {
        uint64_t v[] = {p->threshold, p->reserved, p->reserved_high, p->used, p->used_high};
        memcpy(value, &v[attr - 4], 8);
    }
    pthread_mutex_unlock(&pool_lock);
    return p ? FAKE_OK : FAKE_INVALID_VALUE;
}

int fake_cuDeviceGetDefaultMemPool(void **pool_out, int dev)
{
    if (!pool_out)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    pthread_mutex_lock(&pool_lock);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    *pool_out = (void *)(uintptr_t)default_pool((unsigned)dev)->handle;
    pthread_mutex_unlock(&pool_lock);
    return FAKE_OK;
}

int fake_cuDeviceGetMemPool(void **pool, int dev)
{
    int r = fake_cuDeviceGetDefaultMemPool(pool, dev);
    if (r)
        return r;
    pthread_mutex_lock(&pool_lock);
    if (current_pool[dev])
        *pool =
            (void *)(uintptr_t)current_pool[dev]->handle; /* NOLINT(performance-no-int-to-ptr) */
    pthread_mutex_unlock(&pool_lock);
    return FAKE_OK;
}

int fake_cuDeviceSetMemPool(int dev, void *pool)
{
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    pthread_mutex_lock(&pool_lock);
    struct pool *p = pool_of(pool);
    bool ok = p && p->device == (unsigned)dev;
    if (ok)
        current_pool[dev] = p;
    pthread_mutex_unlock(&pool_lock);
    return ok ? FAKE_OK : FAKE_INVALID_VALUE;
}

/* ---- graphs ---- */

/* Memory of alloc nodes is taken when the graph is uploaded or first launched, and stays in the
 * device's graph pool until trimmed. */
struct graph {
    uint64_t bytes; /* of its alloc nodes */
    uint64_t addr[64], size[64];
    unsigned n;
};
struct exec {
    uint64_t bytes, overhead;
    bool resident;
};
static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t graph_cached[FAKE_MAX_GPUS]; /* taken, no longer used by an exec */

int fake_cuGraphCreate(void **phGraph, unsigned flags)
{
    if (!phGraph || flags)
        return FAKE_INVALID_VALUE;
    struct graph *g = calloc(1, sizeof *g);
    uint64_t h = fake_handle_new();
    struct fake_obj *o = g ? fake_new(h, FAKE_K_GRAPH, 0, 0, 0, 0) : NULL;
    if (!o) {
        free(g);
        return FAKE_OOM;
    }
    o->extra = g;
    *phGraph = (void *)(uintptr_t)h; /* NOLINT(performance-no-int-to-ptr) */
    return FAKE_OK;
}

static struct graph *graph_of(const void *h)
{
    struct fake_obj *o = fake_find((uintptr_t)h, FAKE_K_GRAPH);
    return o ? o->extra : NULL;
}

int fake_cuGraphDestroy(void *hGraph)
{
    struct fake_obj *o = fake_take((uintptr_t)hGraph, FAKE_K_GRAPH);
    if (!o)
        return FAKE_INVALID_VALUE;
    struct graph *g = o->extra;
    for (unsigned i = 0; i < g->n; i++)
        fake_va_give(g->addr[i], g->size[i]);
    free(g);
    free(o);
    return FAKE_OK;
}

int fake_cuGraphAddMemAllocNode(void **phGraphNode, void *hGraph, void *const *dependencies,
                                size_t numDependencies, struct fake_alloc_node *nodeParams)
{
    struct graph *g = graph_of(hGraph);
    if (!phGraphNode || !g || !nodeParams || !nodeParams->bytes ||
        (numDependencies && !dependencies))
        return FAKE_INVALID_VALUE;
    if (nodeParams->pool.location.type != 1 || !fake_ordinal_ok(nodeParams->pool.location.id))
        return FAKE_INVALID_VALUE;
    if (g->n == 64)
        return FAKE_NOT_SUPPORTED;
    uint64_t a = fake_va_take(nodeParams->bytes);
    if (!a)
        return FAKE_OOM;
    g->addr[g->n] = a;
    g->size[g->n++] = nodeParams->bytes;
    g->bytes += nodeParams->bytes;
    nodeParams->dptr = a;
    *phGraphNode = (void *)(uintptr_t)fake_handle_new(); /* NOLINT(performance-no-int-to-ptr) */
    return FAKE_OK;
}

int fake_cuGraphAddMemFreeNode(void **phGraphNode, void *hGraph, void *const *dependencies,
                               size_t numDependencies, fake_ptr dptr)
{
    const struct graph *g = graph_of(hGraph);
    if (!phGraphNode || !g || (numDependencies && !dependencies))
        return FAKE_INVALID_VALUE;
    for (unsigned i = 0; i < g->n; i++)
        if (g->addr[i] == dptr) {
            /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
            *phGraphNode = (void *)(uintptr_t)fake_handle_new();
            return FAKE_OK;
        }
    return FAKE_INVALID_VALUE;
}

int fake_cuGraphAddNode(void **phGraphNode, void *hGraph, void *const *dependencies,
                        size_t numDependencies, struct fake_node *nodeParams)
{
    if (!nodeParams)
        return FAKE_INVALID_VALUE;
    if (nodeParams->type == 10)
        return fake_cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies,
                                           &nodeParams->u.alloc);
    if (nodeParams->type == 11)
        return fake_cuGraphAddMemFreeNode(phGraphNode, hGraph, dependencies, numDependencies,
                                          nodeParams->u.free.dptr);
    return FAKE_NOT_SUPPORTED;
}
int fake_cuGraphAddNode_v2(void **phGraphNode, void *hGraph, void *const *dependencies,
                           const void *dependencyData, size_t numDependencies,
                           struct fake_node *nodeParams)
{
    (void)dependencyData;
    return fake_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

int fake_cuGraphInstantiateWithFlags(void **phGraphExec, void *hGraph, unsigned long long flags)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    const struct graph *g = graph_of(hGraph);
    if (!phGraphExec || !g || flags > 15)
        return FAKE_INVALID_VALUE;
    if (!fake_charge(c->ordinal, fake_m.graph))
        return FAKE_OOM;
    struct exec *e = malloc(sizeof *e);
    uint64_t h = fake_handle_new();
    struct fake_obj *o = e ? fake_new(h, FAKE_K_EXEC, 0, 0, c->ordinal, 0) : NULL;
    if (!o) {
        free(e);
        fake_refund(c->ordinal, fake_m.graph);
        return FAKE_OOM;
    }
    *e = (struct exec){.bytes = g->bytes, .overhead = fake_m.graph};
    o->extra = e;
    *phGraphExec = (void *)(uintptr_t)h; /* NOLINT(performance-no-int-to-ptr) */
    return FAKE_OK;
}
int fake_cuGraphInstantiate_v2(void **phGraphExec, void *hGraph, void **phErrorNode,
                               char *logBuffer, size_t bufferSize)
{
    (void)phErrorNode;
    if (logBuffer && bufferSize)
        logBuffer[0] = 0;
    return fake_cuGraphInstantiateWithFlags(phGraphExec, hGraph, 0);
}
int fake_cuGraphInstantiateWithParams(void **phGraphExec, void *hGraph, void *instantiateParams)
{
    return instantiateParams ? fake_cuGraphInstantiateWithFlags(phGraphExec, hGraph, 0)
                             : FAKE_INVALID_VALUE;
}
int fake_cuGraphInstantiateWithParams_ptsz(void **phGraphExec, void *hGraph,
                                           void *instantiateParams)
{
    return fake_cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams);
}

static int make_resident(const void *h)
{
    struct fake_obj *o = fake_find((uintptr_t)h, FAKE_K_EXEC);
    if (!o)
        return FAKE_INVALID_VALUE;
    struct exec *e = o->extra;
    int r = FAKE_OK;
    pthread_mutex_lock(&graph_lock);
    if (!e->resident) {
        uint64_t cached = graph_cached[o->device] < e->bytes ? graph_cached[o->device] : e->bytes;
        if (fake_charge(o->device, e->bytes - cached)) {
            graph_cached[o->device] -= cached;
            e->resident = true;
        } else
            r = FAKE_OOM;
    }
    pthread_mutex_unlock(&graph_lock);
    return r;
}
int fake_cuGraphUpload(void *hGraph, void *hStream) { return (void)hStream, make_resident(hGraph); }
int fake_cuGraphUpload_ptsz(void *hGraphExec, void *hStream)
{
    return (void)hStream, make_resident(hGraphExec);
}
int fake_cuGraphLaunch(void *hGraph, void *hStream) { return (void)hStream, make_resident(hGraph); }
int fake_cuGraphLaunch_ptsz(void *hGraphExec, void *hStream)
{
    return (void)hStream, make_resident(hGraphExec);
}

int fake_cuGraphExecDestroy(void *hGraphExec)
{
    struct fake_obj *o = fake_take((uintptr_t)hGraphExec, FAKE_K_EXEC);
    if (!o)
        return FAKE_INVALID_VALUE;
    struct exec *e = o->extra;
    pthread_mutex_lock(&graph_lock);
    if (e->resident)
        graph_cached[o->device] += e->bytes;
    pthread_mutex_unlock(&graph_lock);
    fake_refund(o->device, e->overhead);
    free(e);
    free(o);
    return FAKE_OK;
}

int fake_cuDeviceGraphMemTrim(int device)
{
    if (!fake_ordinal_ok(device))
        return FAKE_INVALID_DEVICE;
    pthread_mutex_lock(&graph_lock);
    fake_refund((unsigned)device, graph_cached[device]);
    graph_cached[device] = 0;
    pthread_mutex_unlock(&graph_lock);
    return FAKE_OK;
}
