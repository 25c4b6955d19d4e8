/* nsys/calls.c -- rows of CUDA_GPU_MEMORY_USAGE_EVENTS as the calls they were, and calls of CUDA
 * that returned "out of memory". */
#include "parser/nsys/impl.h"

#include <string.h>

#define OUT_OF_MEMORY 2 /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */

enum kind { PAGEABLE, PINNED, DEVICE, ARRAY, MANAGED, STATIC, MANAGED_STATIC, KINDS };

uint64_t mt_ns_time(const struct mt_ns *m, int64_t ns)
{
    /* a session of an unknown day begins a second after the epoch: 0 is no time */
    int64_t base = m->epoch_ns != 0 ? m->epoch_ns : 1000000000;
    return ns > -base && ns < INT64_MAX / 2 ? (uint64_t)(base + ns) : (uint64_t)base;
}

uint32_t mt_ns_process(struct mt_ns *m, int64_t global)
{
    uint64_t uid = (uint64_t)global & ~UINT64_C(0xffffff);
    struct mt_process *p;
    if (m->last_process < m->d->processes.n && m->d->processes.p[m->last_process].uid == uid)
        return m->last_process;
    for (uint32_t i = 0; i < m->d->processes.n; i++)
        if (m->d->processes.p[i].uid == uid)
            return m->last_process = i;
    if (m->d->processes.n >= 65536) { /* made up: a machine has no more */
        m->fatal = true;
        mt_fail(m->err, MT_ELIMIT, "an export of Nsight Systems with more than 65536 processes");
        return MT_NONE32;
    }
    p = MT_VEC_PUSH(&m->d->processes);
    if (p == NULL) {
        mt_ns_nomem(m);
        return MT_NONE32;
    }
    memset(p, 0, sizeof *p);
    p->uid = uid;
    p->pid = (uint32_t)(uid >> 24 & 0xffffff);
    p->host = m->host;
    p->rank = p->local_rank = -1;
    return m->last_process = m->d->processes.n - 1;
}

/* What the numbers of memKind mean, where the export says it: they never changed so far. */
static void kinds_of(struct mt_ns *m, uint8_t meaning[16])
{
    static const char *const texts[] = {"SELECT id, name FROM ENUM_CUDA_MEM_KIND", NULL};
    static const char *const names[KINDS] = {"_PAGEABLE",      "_PINNED",  "_DEVICE",
                                             "_ARRAY",         "_MANAGED", "_DEVICE_STATIC",
                                             "_MANAGED_STATIC"};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    for (uint8_t i = 0; i < 16; i++)
        meaning[i] = i < KINDS ? i : KINDS;
    while (s != NULL && mt_ns_next(m, s)) {
        const char *name = (const char *)sqlite3_column_text(s, 1);
        int64_t id = sqlite3_column_int64(s, 0);
        for (uint8_t k = 0; name != NULL && k < KINDS && id >= 0 && id < 16; k++) {
            size_t n = strlen(name), len = strlen(names[k]);
            if (n >= len && strcmp(name + n - len, names[k]) == 0)
                meaning[id] = k; /* the longer ones stand further back */
        }
    }
    sqlite3_finalize(s);
}

static enum mt_wire_op op_of(enum kind k, bool frees, bool pool)
{
    switch (k) {
    case PINNED: return frees ? MT_WO_HOST_FREE : MT_WO_HOST_ALLOC;
    case MANAGED:
    case MANAGED_STATIC: return frees ? MT_WO_MEM_FREE : MT_WO_MANAGED_ALLOC;
    case DEVICE:
    case ARRAY:
    case STATIC:
        return pool    ? (frees ? MT_WO_ASYNC_FREE : MT_WO_ASYNC_ALLOC)
               : frees ? MT_WO_MEM_FREE
                       : MT_WO_MEM_ALLOC;
    case PAGEABLE:
    case KINDS: break;
    }
    return MT_WO_OTHER;
}

/* Its number in the file stands in `rare` until all are in order. */
static struct mt_call *call(struct mt_ns *m, int64_t global, int64_t ns)
{
    uint32_t process = mt_ns_process(m, global);
    struct mt_call *k = process != MT_NONE32 ? MT_VEC_PUSH(&m->d->calls) : NULL;
    struct mt_process *p;
    if (k == NULL) {
        if (!m->fatal)
            mt_ns_nomem(m);
        return NULL;
    }
    memset(k, 0, sizeof *k);
    k->process = process;
    k->time_ns = mt_ns_time(m, ns);
    k->gpu = MT_NONE32;
    k->rare = m->d->calls.n;
    p = &m->d->processes.p[process];
    if (p->first_ns == 0 || k->time_ns < p->first_ns)
        p->first_ns = k->time_ns;
    if (k->time_ns > p->last_ns)
        p->last_ns = k->time_ns;
    p->has_cuda = true;
    p->n_calls++;
    return k;
}

static void event(struct mt_ns *m, sqlite3_stmt *s, const uint8_t meaning[16])
{
    enum { START, PROCESS, DEVICE_ID, ADDRESS, BYTES, KIND, OP, POOL };
    int64_t kind = sqlite3_column_int64(s, KIND), op = sqlite3_column_int64(s, OP);
    int64_t size = sqlite3_column_int64(s, BYTES), device = sqlite3_column_int64(s, DEVICE_ID);
    enum kind what = kind >= 0 && kind < 16 ? (enum kind)meaning[kind] : KINDS;
    enum mt_wire_op as = op_of(what, op == 1, sqlite3_column_int64(s, POOL) != 0);
    struct mt_call *k;
    m->n_events++;
    if (what == PAGEABLE) {
        m->n_host++;
        return;
    }
    if (as == MT_WO_OTHER || op < 0 || op > 1 || size < 0 || size > INT64_C(1) << 50 ||
        device < 0 || device > 4095) {
        m->n_odd++;
        return;
    }
    k = call(m, sqlite3_column_int64(s, PROCESS), sqlite3_column_int64(s, START));
    if (k == NULL)
        return;
    k->op = (uint16_t)as;
    k->addr = (uint64_t)sqlite3_column_int64(s, ADDRESS);
    k->size = op == 0 ? (uint64_t)size : 0;
    k->gpu = (uint32_t)device;
}

int mt_ns_events(struct mt_ns *m)
{
    static const char *const texts[] = {
        "SELECT start, globalPid, deviceId, address, bytes, memKind, memoryOperationType, "
        "localMemoryPoolAddress FROM CUDA_GPU_MEMORY_USAGE_EVENTS",
        "SELECT start, globalPid, deviceId, address, bytes, memKind, memoryOperationType, 0 "
        "FROM CUDA_GPU_MEMORY_USAGE_EVENTS",
        NULL};
    uint8_t meaning[16];
    sqlite3_stmt *s;
    kinds_of(m, meaning);
    s = mt_ns_select(m, texts);
    while (s != NULL && !m->fatal && mt_ns_next(m, s))
        event(m, s, meaning);
    sqlite3_finalize(s);
    return !m->fatal;
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Of the calls that can fail for want of memory. "cudaMalloc_v3020" */
static enum mt_wire_op failed_op(const char *name)
{
    static const struct {
        const char *name;
        enum mt_wire_op op;
    } ops[] = {{"cudaMallocManaged", MT_WO_MANAGED_ALLOC},
               {"cudaMallocHost", MT_WO_HOST_ALLOC},
               {"cudaMallocAsync", MT_WO_ASYNC_ALLOC},
               {"cudaMallocFromPool", MT_WO_ASYNC_ALLOC},
               {"cudaMalloc", MT_WO_MEM_ALLOC},
               {"cudaHostAlloc", MT_WO_HOST_ALLOC},
               {"cudaHostRegister", MT_WO_HOST_REGISTER},
               {"cuMemAllocManaged", MT_WO_MANAGED_ALLOC},
               {"cuMemAllocHost", MT_WO_HOST_ALLOC},
               {"cuMemHostAlloc", MT_WO_HOST_ALLOC},
               {"cuMemHostRegister", MT_WO_HOST_REGISTER},
               {"cuMemAllocAsync", MT_WO_ASYNC_ALLOC},
               {"cuMemAllocFromPool", MT_WO_ASYNC_ALLOC},
               {"cuMemAlloc", MT_WO_MEM_ALLOC},
               {"cuMemCreate", MT_WO_VMM_CREATE}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (starts(name, ops[i].name))
            return ops[i].op;
    return MT_WO_OTHER;
}

/* What was asked for is not in such a row. */
int mt_ns_failures(struct mt_ns *m)
{
    static const char *const texts[] = {
        "SELECT r.end, r.globalTid, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r JOIN StringIds "
        "AS s ON s.id = r.nameId WHERE r.returnValue = 2",
        NULL};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    while (s != NULL && !m->fatal && mt_ns_next(m, s)) {
        const char *name = (const char *)sqlite3_column_text(s, 2);
        enum mt_wire_op op = name != NULL ? failed_op(name) : MT_WO_OTHER;
        int64_t tid = sqlite3_column_int64(s, 1);
        struct mt_call *k;
        if (op == MT_WO_OTHER)
            continue;
        if ((k = call(m, tid, sqlite3_column_int64(s, 0))) == NULL)
            break;
        k->op = (uint16_t)op;
        k->result = OUT_OF_MEMORY;
        k->tid = (uint32_t)(tid & 0xffffff);
        m->n_failed++;
    }
    sqlite3_finalize(s);
    return !m->fatal;
}
