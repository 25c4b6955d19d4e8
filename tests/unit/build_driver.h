/* build_driver.h -- driver models by hand: what the reader of a memtrace trace would give, without
 * a file. */
#ifndef MT_TEST_BUILD_DRIVER_H
#define MT_TEST_BUILD_DRIVER_H

#include "parser/model/driver.h"
#include "tests/unit/build_trace.h"

#define BD_MIB (UINT64_C(1) << 20)
#define BD_GIB (UINT64_C(1) << 30)
#define BD_T0 UINT64_C(1700000000000000000)
#define BD_MS UINT64_C(1000000)
#define BD_S UINT64_C(1000000000)

struct bd {
    struct bt bt;
    struct mt_driver *d;
    uint64_t now; /* of the next call */
    uint32_t process;
};

static inline void *bd_push(void **p, uint32_t *n, uint32_t *cap, size_t size)
{
    void *at = mt_vec_push(p, n, cap, size);
    if (at == NULL)
        abort();
    return at;
}
#define BD_PUSH(v) bd_push((void **)&(v)->p, &(v)->n, &(v)->cap, sizeof *(v)->p)

static inline struct bd bd_new(void)
{
    struct bd x = {.bt = bt_new(), .d = mt_calloc(1, sizeof(struct mt_driver)), .now = BD_T0};
    if (x.d == NULL)
        abort();
    return x;
}

static inline mt_str_id bd_str(struct bd *x, const char *s) { return bt_str(&x->bt, s).id; }

static inline uint32_t bd_gpu(struct bd *x, const char *host, const char *uuid, uint64_t total)
{
    struct mt_gpu *g = BD_PUSH(&x->d->gpus);
    g->host = bd_str(x, host);
    g->uuid = bd_str(x, uuid);
    g->name = bd_str(x, "NVIDIA H100");
    g->total = total;
    return x->d->gpus.n - 1;
}

/* A process that sees the GPU as ordinal 0 (MT_NONE32: none); later calls belong to it. */
static inline uint32_t bd_process(struct bd *x, const char *host, uint32_t pid, const char *name,
                                  int32_t rank, uint32_t gpu)
{
    struct mt_process *p = BD_PUSH(&x->d->processes);
    p->uid = 0x1000 + pid;
    p->pid = pid;
    p->host = bd_str(x, host);
    p->name = bd_str(x, name);
    p->command = bd_str(x, name);
    p->rank = rank;
    p->local_rank = -1;
    p->end = MT_END_EXIT;
    p->has_cuda = gpu != MT_NONE32;
    x->process = x->d->processes.n - 1;
    if (gpu != MT_NONE32) {
        struct mt_gpu_view *v = BD_PUSH(&x->d->views);
        v->process = x->process;
        v->gpu = gpu;
        v->index = gpu;
        v->ordinal = 0;
    }
    return x->process;
}

/* "libnccl.so.2:ncclCommInitRank|python3:main": library:function, innermost first */
static inline mt_stack_id bd_stack(struct bd *x, const char *spec)
{
    char buf[1024];
    size_t n = 0;
    bool in_library = true; /* the first ':' of a frame ends it; C++ names have more */
    for (const char *s = spec; *s != '\0' && n + 4 < sizeof buf; s++) {
        buf[n++] = *s;
        if (*s == '|')
            in_library = true;
        if (*s == ':' && in_library) {
            buf[n++] = '0';
            buf[n++] = ':';
            in_library = false;
        }
    }
    buf[n] = '\0';
    return bt_stack(&x->bt, buf).id;
}

#define BD_TORCH                                                                                   \
    "libcudart.so.12:cudaMalloc|libc10_cuda.so:c10::cuda::allocate|libtorch_cpu.so:at::empty|"     \
    "python3:main"
#define BD_NCCL                                                                                    \
    "libcuda.so.1:cuMemCreate|libnccl.so.2:ncclCuMemAlloc|libnccl.so.2:ncclCommInitRank|libtorch_" \
    "cuda.so:c10d::init"
#define BD_CUMEM "cumem_allocator.abi3.so:create_and_map|libc10_cuda.so:malloc|python3:main"
#define BD_CUBLAS "libcublas.so.12:cublasCreate_v2|libtorch_cuda.so:at::cuda::getHandle"

/* A call of the present process on GPU 0 of the present view, a millisecond after the last one. */
static inline struct mt_call *bd_call(struct bd *x, enum mt_wire_op op, uint64_t addr,
                                      uint64_t size, const char *stack)
{
    struct mt_call *c = BD_PUSH(&x->d->calls);
    x->now += BD_MS;
    c->time_ns = x->now;
    c->op = (uint16_t)op;
    c->addr = addr;
    c->size = size;
    c->stack = stack != NULL && stack[0] != '\0' ? bd_stack(x, stack) : 0;
    c->process = x->process;
    c->gpu = MT_NONE32;
    for (uint32_t i = 0; i < x->d->views.n; i++)
        if (x->d->views.p[i].process == x->process && x->d->views.p[i].ordinal == 0)
            c->gpu = x->d->views.p[i].gpu;
    return c;
}
static inline void bd_mem_info(struct bd *x, uint64_t bytes_free, uint64_t total)
{
    struct mt_call *c = bd_call(x, MT_WO_MEM_INFO, 0, 0, NULL);
    struct mt_call_rare *r = BD_PUSH(&x->d->rare);
    r->free = bytes_free;
    r->total = total;
    c->rare = x->d->rare.n;
}
static inline struct mt_call *bd_vmm(struct bd *x, enum mt_wire_op op, uint64_t addr, uint64_t size,
                                     uint64_t handle, const char *stack)
{
    struct mt_call *c = bd_call(x, op, addr, size, stack);
    c->handle = handle;
    c->location = op == MT_WO_VMM_CREATE ? 1 : 0;
    return c;
}

static inline void bd_sample(struct bd *x, uint32_t gpu, uint64_t used, enum mt_wire_why why)
{
    struct mt_gpu_sample *s = BD_PUSH(&x->d->samples);
    x->now += BD_MS;
    s->time_ns = x->now;
    s->used = used;
    s->total = x->d->gpus.p[gpu].total;
    s->free = s->total - used;
    s->process = x->process;
    s->gpu = gpu;
    s->first_use = x->d->uses.n;
    s->why = (uint8_t)why;
}
static inline void bd_use(struct bd *x, uint32_t pid, uint64_t used) /* of the last sample */
{
    struct mt_gpu_use *u = BD_PUSH(&x->d->uses);
    u->pid = pid;
    u->used = used;
    x->d->samples.p[x->d->samples.n - 1].n_uses++;
}

static inline void bd_range(struct bd *x, const char *name, uint64_t t0, uint64_t t1)
{
    struct mt_nvtx *r = BD_PUSH(&x->d->ranges);
    r->t0_ns = t0;
    r->t1_ns = t1;
    r->name = bd_str(x, name);
    r->process = x->process;
}

static int bd_by_place(const void *pa, const void *pb)
{
    const struct mt_call *a = pa, *b = pb;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static inline struct mt_trace *bd_done(struct bd *x)
{
    struct mt_driver *d = x->d;
    struct mt_trace *t;
    if (d->calls.n > 1)
        qsort(d->calls.p, d->calls.n, sizeof *d->calls.p, bd_by_place);
    for (uint32_t i = 0; i < d->processes.n; i++) {
        struct mt_process *p = &d->processes.p[i];
        p->first_ns = p->last_ns = 0;
        for (uint32_t k = 0; k < d->calls.n; k++) {
            if (d->calls.p[k].process != i)
                continue;
            if (p->n_calls++ == 0)
                p->first_call = k;
            if (p->first_ns == 0)
                p->first_ns = d->calls.p[k].time_ns;
            p->last_ns = d->calls.p[k].time_ns;
        }
        for (uint32_t k = 0; k < d->samples.n; k++)
            if (d->samples.p[k].process == i && d->samples.p[k].time_ns > p->last_ns)
                p->last_ns = d->samples.p[k].time_ns;
        for (uint32_t k = 0; k < d->ranges.n; k++)
            if (d->ranges.p[k].process == i && d->ranges.p[k].t1_ns > p->last_ns)
                p->last_ns = d->ranges.p[k].t1_ns;
        p->last_ns += 1;
    }
    t = bt_done(&x->bt);
    t->driver = d;
    t->meta.format = MT_FMT_MEMTRACE;
    return t;
}

#endif
