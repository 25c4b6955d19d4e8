/* callbacks.c -- every driver call of calls.def becomes a CALL record when it returns. At ENTER
 * only the clock is read; what may change the device's memory by an amount nobody tells (contexts,
 * code, graphs) is measured before and after. Runs on the job's threads. */
#include "capture/inject/attach.h"
#include "capture/inject/cupti.h"

#include <stdatomic.h>

#define OP(x) (UINT64_C(1) << MT_WO_##x)
_Static_assert(MT_WO_COUNT <= 64, "sets of operations are bit masks");

/* Asking for memory or for what will take some: worth a stack. */
#define OPS_STACK                                                                                  \
    (OP(MEM_ALLOC) | OP(MANAGED_ALLOC) | OP(HOST_ALLOC) | OP(HOST_REGISTER) | OP(ASYNC_ALLOC) |    \
     OP(POOL_CREATE) | OP(VMM_RESERVE) | OP(VMM_CREATE) | OP(VMM_IMPORT) | OP(VMM_RETAIN) |        \
     OP(MULTICAST_CREATE) | OP(MULTICAST_BIND) | OP(IPC_OPEN) | OP(ARRAY_CREATE) |                 \
     OP(GRAPH_ALLOC_NODE) | OP(GRAPH_INSTANTIATE) | OP(GRAPH_UPLOAD) | OP(CONTEXT_CREATE) |        \
     OP(CONTEXT_RETAIN) | OP(CONTEXT_LIMIT) | OP(MODULE_LOAD))

/* Their effect is CHANGE in wire.h. */
#define MT_OP_NONE(sym) 0
#define MT_OP_DEVICE_ADD(sym) 0
#define MT_OP_DEVICE_SUB(sym) 0
#define MT_OP_MANAGED_ADD(sym) 0
#define MT_OP_HOST_ADD(sym) 0
#define MT_OP_HOST_SUB(sym) 0
#define MT_OP_POOL_ADD(sym) 0
#define MT_OP_POOL_SUB(sym) 0
#define MT_OP_VMM(sym) 0
#define MT_OP_HANDLE_ADD(sym) 0
#define MT_OP_HANDLE_SUB(sym) 0
#define MT_OP_CHANGE(sym) OP(sym)
#define MT_OP_SET(sym, name, effect) | MT_OP_##effect(sym)
static const uint64_t ops_change = 0 MT_WIRE_OPS(MT_OP_SET);

#define OPS_CONTEXT                                                                                \
    (OP(CONTEXT_CREATE) | OP(CONTEXT_DESTROY) | OP(CONTEXT_RETAIN) | OP(CONTEXT_RELEASE) |         \
     OP(CONTEXT_RESET))
#define OPS_GRAPH (OP(GRAPH_INSTANTIATE) | OP(GRAPH_UPLOAD) | OP(GRAPH_EXEC_DESTROY))
/* CUPTI writes a MEMORY2 record for these. */
#define OPS_ACTIVITY                                                                               \
    (OP(MEM_ALLOC) | OP(MEM_FREE) | OP(MANAGED_ALLOC) | OP(HOST_ALLOC) | OP(HOST_FREE) |           \
     OP(ASYNC_ALLOC) | OP(ASYNC_FREE))
/* And perhaps for these: it has a kind of memory for arrays. */
#define OPS_CORRELATED (OPS_ACTIVITY | OP(ARRAY_CREATE) | OP(ARRAY_DESTROY))

static _Thread_local struct {
    uint64_t recorded; /* operations recorded since the runtime call that is open was entered */
    uint64_t used;     /* of the device at the ENTER of the call `corr` */
    uint64_t asked;    /* when */
    uint32_t corr, device;
    bool measured;
} tls;

_Atomic bool mti_driver_up;

/* Failures for want of memory that were urgent. */
#define FIRST_FAILURES 64u
static struct {
    _Atomic uint64_t first, last;
    _Atomic uint32_t n;
} failures;

#define MAX_UNKNOWN 64u
static uint32_t unknown_ids[MAX_UNKNOWN];
static size_t n_unknown;
static _Atomic uint64_t unknown_said;

static uint64_t bit(uint32_t op) { return op < 64 ? UINT64_C(1) << op : 0; }

/* ---- ENTER ---- */

/* Code that is loaded lazily takes nothing before its first launch: of 15 loads on an H100 none
 * changed the device's memory. The second library of a process that retains the primary context
 * gets the one that is there: each has its own CUDA runtime, so there are many. */
static bool may_take(const struct mti_row *row, uint32_t ordinal)
{
    if (row->op == MT_WO_MODULE_LOAD || row->op == MT_WO_MODULE_UNLOAD)
        return !mti_code_is_lazy();
    return row->op != MT_WO_CONTEXT_RETAIN || !mti_has_context(ordinal);
}

static void measure_before(const struct mti_row *row, const struct mti_cupti_data *d)
{
    tls.measured = false;
    if (!mti_enter())
        return;
    uint32_t ordinal;
    if (mti_row_device(row, d->params, &ordinal))
        mti_device_used(ordinal);
    else if (!mti_context_device(d->context, true, &ordinal)) {
        mti_leave();
        return;
    }
    tls.corr = d->correlation_id;
    tls.device = ordinal;
    tls.measured = may_take(row, ordinal) &&
                   mti_measure(ordinal, (bit(row->op) & OPS_CONTEXT) != 0, &tls.used, &tls.asked);
    mti_leave();
}

static bool is_launch(const struct mti_row *row)
{
    return row->cbid == MTI_CBID_GRAPH_LAUNCH || row->cbid == MTI_CBID_GRAPH_LAUNCH_PTSZ;
}

/* Of the launches of a graph the first alone is a call to record. */
static bool is_first_launch(const struct mti_cupti_data *d)
{
    const struct mti_p_upload *p = d->params;
    return p && d->correlation_data && mti_graph_first(p->handle);
}

/* A call whose change is measured lasts from the first question to the last answer: only so does a
 * reader know which other process's context is in both figures. */
static void on_enter(const struct mti_row *row, const struct mti_cupti_data *d)
{
    bool measures = (bit(row->op) & ops_change) != 0;
    if (is_launch(row) && !is_first_launch(d)) {
        if (d->correlation_data)
            *d->correlation_data = 0; /* so that its end is known as one of no interest */
        return;
    }
    if (measures)
        measure_before(row, d);
    if (d->correlation_data)
        *d->correlation_data = measures && tls.measured ? tls.asked : mti_now();
}

/* ---- EXIT ---- */

static void fill_device(struct mti_call *c, const struct mti_cupti_data *d)
{
    uint32_t ordinal;
    /* A context that may be gone by now is not asked about: it was seen when the call was entered.
     */
    bool may_ask = !(bit(c->op) & (OP(CONTEXT_DESTROY) | OP(CONTEXT_RELEASE) | OP(CONTEXT_RESET)));
    if (d->context) {
        c->context = d->context;
        c->mask |= MT_WF_CONTEXT;
    }
    if (c->mask & MT_WF_DEVICE) {
        if (!c->result || c->result == MTI_CU_OUT_OF_MEMORY) /* else it may not exist */
            mti_device_used(c->device);
    } else if (mti_context_device(d->context, may_ask, &ordinal)) {
        c->device = ordinal;
        c->mask |= MT_WF_DEVICE;
    }
}

/* Contexts that come and go. */
static void follow_contexts(const struct mti_call *c)
{
    if (c->result != MTI_CU_SUCCESS)
        return;
    uint64_t op = bit(c->op);
    if ((op & (OP(CONTEXT_CREATE) | OP(CONTEXT_RETAIN))) && (c->mask & MT_WF_HANDLE) &&
        (c->mask & MT_WF_DEVICE))
        mti_context_is(c->handle, c->device);
    else if (op & OP(CONTEXT_DESTROY))
        mti_context_gone(c->handle);
    else if (op & (OP(CONTEXT_RELEASE) | OP(CONTEXT_RESET)))
        mti_context_gone(0);
}

static void follow_graphs(const struct mti_call *c, const struct mti_row *row)
{
    bool ok = c->result == MTI_CU_SUCCESS;
    if (c->op == MT_WO_GRAPH_INSTANTIATE ? ok && (c->mask & MT_WF_HANDLE) != 0
                                         : is_launch(row) && !ok)
        mti_graph_made(c->handle);
    else if (c->op == MT_WO_GRAPH_EXEC_DESTROY || (c->op == MT_WO_GRAPH_UPLOAD && ok))
        (void)mti_graph_first(c->handle);
}

static void follow_pinned(const struct mti_call *c)
{
    if (c->result != MTI_CU_SUCCESS || !(c->mask & MT_WF_ADDR))
        return;
    uint64_t op = bit(c->op);
    if (op & (OP(HOST_ALLOC) | OP(HOST_REGISTER)))
        mti_pinned_add(c->addr, c->size);
    else if (op & (OP(HOST_FREE) | OP(HOST_UNREGISTER)))
        mti_pinned_sub(c->addr);
}

static void out_of_memory(struct mti_call *c)
{
    mti_request_sample();
    if (mti_cuda_mem_info(&c->free, &c->total))
        c->mask |= MT_WF_FREE | MT_WF_TOTAL;
}

static void measure_after(struct mti_call *c, const struct mti_cupti_data *d)
{
    uint64_t now, asked;
    if (!tls.measured || tls.corr != d->correlation_id)
        return;
    tls.measured = false;
    if (mti_measure(tls.device, false, &now, &asked) && now != tls.used) {
        c->change = (int64_t)(now - tls.used);
        c->mask |= MT_WF_CHANGE;
    }
    c->t1 = mti_now();
}

/* Whether this failure goes before what fills the spool: the first ones, and then one in every 64th
 * of the time since the first. Storms of failures that are survived must not take the room of the
 * one that ends the job. */
static bool is_urgent_failure(uint64_t now)
{
    uint64_t first = 0;
    if (atomic_compare_exchange_strong(&failures.first, &first, now))
        first = now;
    uint64_t last = atomic_load_explicit(&failures.last, memory_order_relaxed);
    if (atomic_load_explicit(&failures.n, memory_order_relaxed) >= FIRST_FAILURES &&
        now - last < (now - first) / FIRST_FAILURES)
        return false;
    atomic_fetch_add_explicit(&failures.n, 1, memory_order_relaxed);
    atomic_store_explicit(&failures.last, now, memory_order_relaxed);
    return true;
}

static void record(struct mti_call *c, const struct mti_cupti_data *d)
{
    if (bit(c->op) & ops_change)
        measure_after(c, d);
    fill_device(c, d);
    if (c->result)
        c->mask |= MT_WF_RESULT;
    bool oom = c->result == MTI_CU_OUT_OF_MEMORY;
    mti_urgent(oom && is_urgent_failure(c->t1));
    if (oom)
        out_of_memory(c);
    if ((bit(c->op) & OPS_STACK) || oom) {
        c->stack = mti_stack();
        if (c->stack)
            c->mask |= MT_WF_STACK;
    }
    /* to join the activity record by */
    if ((bit(c->op) & OPS_CORRELATED) && mti_set.memory2 && d->correlation_id) {
        c->corr = d->correlation_id;
        c->mask |= MT_WF_CORR;
    }
    if ((bit(c->op) & OPS_ACTIVITY) && c->result == MTI_CU_SUCCESS)
        mti_activity_expected();
    mti_emit_call(c);
    mti_since(c);
    mti_urgent(false);
    if (bit(c->op) & OPS_CONTEXT)
        follow_contexts(c);
    else
        follow_pinned(c);
    tls.recorded |= bit(c->op);
    if (c->result == MTI_CU_SUCCESS && !atomic_load_explicit(&mti_driver_up, memory_order_relaxed))
        atomic_store_explicit(&mti_driver_up, true, memory_order_release);
}

static void begin_call(struct mti_call *c, const struct mti_cupti_data *d, uint64_t now)
{
    uint64_t entered = d->correlation_data ? *d->correlation_data : 0;
    *c = (struct mti_call){.t1 = now, .t0 = entered && entered <= now ? entered : now};
    c->result = d->result ? (uint32_t) * (const int *)d->result : 0;
}

/* A launch: the first of its graph, or one that found no memory. */
static bool is_of_interest(const struct mti_cupti_data *d)
{
    return (d->correlation_data && *d->correlation_data) ||
           (d->result && *(const int *)d->result == MTI_CU_OUT_OF_MEMORY);
}

static void on_exit_driver(const struct mti_row *row, uint32_t cbid, const struct mti_cupti_data *d)
{
    uint64_t now;
    if (!d->params || (is_launch(row) && !is_of_interest(d)) || !mti_enter())
        return;
    struct mti_call c;
    now = mti_now();
    begin_call(&c, d, now);
    c.cbid = cbid;
    c.op = row->op;
    if (row->decode(d->params, &c)) {
        record(&c, d);
        if (bit(c.op) & OPS_GRAPH)
            follow_graphs(&c, row);
    }
    mti_leave();
}

/* The runtime API calls the driver through its public entry points, so this is for the day when it
 * does not. */
static void on_exit_runtime(const struct mti_row *row, uint32_t cbid,
                            const struct mti_cupti_data *d)
{
    uint64_t now = mti_now();
    if ((tls.recorded & bit(row->op)) || !d->params || !mti_enter())
        return;
    struct mti_call c;
    begin_call(&c, d, now);
    c.cbid = cbid | MT_WIRE_CBID_RUNTIME;
    c.op = row->op;
    /* cudaFree(NULL) and cudaMalloc(0) have nothing to do in the driver. */
    if (row->decode(d->params, &c) && (c.mask & MT_WF_SIZE ? c.size : c.addr))
        record(&c, d);
    mti_leave();
}

static void on_unknown(uint32_t cbid, const struct mti_cupti_data *d)
{
    size_t i = 0;
    while (i < n_unknown && unknown_ids[i] != cbid)
        i++;
    if (i == n_unknown || !mti_enter())
        return;
    const char *name = d->function ? d->function : "?";
    if (!(atomic_fetch_or_explicit(&unknown_said, UINT64_C(1) << i, memory_order_relaxed) >> i & 1))
        mti_status(
            MT_ST_UNKNOWN_API, 1,
            "%s was called: a memory function of a newer driver, whose bytes are not counted",
            name);
    struct mti_call c;
    begin_call(&c, d, mti_now());
    c.cbid = cbid;
    c.op = MT_WO_OTHER;
    c.name = mti_string(name, strnlen(name, 128));
    if (c.name)
        c.mask |= MT_WF_NAME;
    record(&c, d);
    mti_leave();
}

static void on_state(uint32_t cbid, const struct mti_cupti_state_data *d)
{
    if ((cbid != MTI_CUPTI_FATAL_ERROR && cbid != MTI_CUPTI_ERROR) || !mti_enter())
        return;
    mti_status(MT_ST_CUPTI_ERROR, cbid == MTI_CUPTI_FATAL_ERROR ? 2 : 1,
               "CUPTI reports: %.200s (%s)", d->message ? d->message : "an error",
               mti_cupti_error(d->result));
    mti_leave();
}

void mti_callback(void *user, int domain, uint32_t cbid, const void *data)
{
    (void)user;
    if (!data || !mti_on())
        return;
    const struct mti_cupti_data *d = data;
    if (domain == MTI_CUPTI_DRIVER) {
        const struct mti_row *row = mti_row_driver(cbid);
        if (row && d->site == MTI_CUPTI_EXIT)
            on_exit_driver(row, cbid, d);
        else if (row)
            on_enter(row, d);
        else if (cbid == MTI_CUPTI_CBID_VERSION)
            mti_cupti_probe_seen();
        else if (d->site == MTI_CUPTI_EXIT)
            on_unknown(cbid, d);
        else if (d->correlation_data)
            *d->correlation_data = mti_now();
    } else if (domain == MTI_CUPTI_RUNTIME) {
        const struct mti_row *row = mti_row_runtime(cbid);
        if (row && d->site == MTI_CUPTI_EXIT) {
            on_exit_runtime(row, cbid, d);
        } else if (row) {
            tls.recorded = 0;
            if (d->correlation_data)
                *d->correlation_data = mti_now();
        }
    } else if (domain == MTI_CUPTI_RESOURCE) {
        mti_code(cbid, data, tls.measured);
    } else if (domain == MTI_CUPTI_STATE) {
        on_state(cbid, data);
    }
}

/* ---- what a newer driver has ---- */

static bool starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* Names like those of calls.def; not copies, fills, hints and questions. */
static bool is_memory_function(const char *name)
{
    static const char *const no[] = {
        "cuMemcpy",        "cuMemset",     "cuMemGet",      "cuMemAdvise",  "cuMemPrefetch",
        "cuMemRange",      "cuMemDiscard", "cuMemBatch",    "cuMemPoolGet", "cuMemPoolSet",
        "cuMemSetMemPool", "cuMemHostGet", "cuMulticastGet"};
    static const char *const yes[] = {"cuMem", "cuGraphAddMem", "cuMulticast",
                                      "cuIpc", "cuArray",       "cuMipmappedArray"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (starts(name, no[i]))
            return false;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (starts(name, yes[i]))
            return true;
    return false;
}

size_t mti_unknown_ids(uint32_t *ids, size_t room)
{
    n_unknown = 0;
    if (!mti_cupti.callback_name)
        return 0;
    unsigned missing = 0;
    for (uint32_t id = MTI_CUPTI_CBID_KNOWN; id < MTI_CUPTI_CBID_KNOWN + 512 && missing < 4; id++) {
        const char *name = NULL;
        if (mti_cupti.callback_name(MTI_CUPTI_DRIVER, id, &name) != MTI_CUPTI_SUCCESS || !name) {
            missing++;
            continue;
        }
        missing = 0;
        if (is_memory_function(name) && n_unknown < MAX_UNKNOWN && n_unknown < room)
            unknown_ids[n_unknown++] = id;
    }
    memcpy(ids, unknown_ids, n_unknown * sizeof ids[0]);
    return n_unknown;
}

void mti_callbacks_forget(void)
{
    memset(&tls, 0, sizeof tls);
    failures.first = failures.last = 0;
    failures.n = 0;
    unknown_said = 0;
    mti_driver_up = false;
}
