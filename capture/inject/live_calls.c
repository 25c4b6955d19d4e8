/* live_calls.c -- which calls stay when what was recorded is let go: those whose effect is still
 * there. The rules are those of the ledger (analysis/ledger/apply.c), which replays what is written
 * here: a call stays as long as leaving it out would change a sum. */
#define _GNU_SOURCE 1
#include "capture/inject/abi_cuda.h"
#include "capture/inject/live_table.h"

#include <string.h>

#define CBID_RELEASE 550u /* cuMemRelease */
#define CBID_RETAIN 565u  /* cuMemRetainAllocationHandle */
#define ORDINALS 64u
#define APIS 64u
/* Calls of contexts, and those whose change was measured: so many stay one by one; of a job that
 * makes graphs all day the others are added up by their operation. */
#define MEASURED_MAX 4096u
/* Failures: the first ones and the newest. */
#define FAILURES_FIRST 1024u
#define FAILURES_NEWEST 3072u

static struct {
    uint32_t primary[ORDINALS]; /* references to the primary context */
    uint32_t measured;          /* entries */
    uint32_t last_of[MT_WO_COUNT];
    uint32_t apis;
    struct failure {
        struct mti_call c;
        uint32_t tid;
    } * failures;
    uint32_t n_failures, cap_failures, oldest; /* oldest: of the newest ones, a ring */
    uint64_t left_out;
} C;

static struct mti_live *at(uint32_t i) { return mti_live_at(i); }

static bool add(enum mti_space space, uint64_t key, const struct mti_call *c, uint32_t tid)
{
    uint32_t old = mti_live_find(space, key);
    if (old) /* its end was not recorded */
        mti_live_drop(old);
    return mti_live_add(space, key, c, tid) != 0;
}

static void remove_one(enum mti_space space, uint64_t key)
{
    uint32_t i = mti_live_find(space, key);
    if (i)
        mti_live_drop(i);
}

static void remove_memory(uint64_t address)
{
    uint32_t i = mti_live_find(MTI_SP_ADDRESS, address);
    if (i)
        mti_live_drop(i);
    else
        remove_one(MTI_SP_SHARED, address);
}

/* ---- virtual memory ---- */

/* The entry that carries the references of a handle. */
static uint32_t handle_of(uint64_t handle)
{
    uint32_t i = mti_live_find(MTI_SP_HANDLE, handle);
    return i && at(i)->alias ? mti_live_find(MTI_SP_HANDLE, at(i)->link) : i;
}

static void unref(uint64_t handle)
{
    uint32_t i = handle_of(handle);
    if (i && --at(i)->refs == 0)
        mti_live_drop(i);
}

static bool map(const struct mti_call *c, uint32_t tid)
{
    uint32_t old = mti_live_find(MTI_SP_MAPPED, c->addr), i;
    uint64_t link = c->handle;
    if (old) {
        uint64_t was = at(old)->link;
        mti_live_drop(old);
        unref(was);
    }
    i = handle_of(c->handle);
    if (i) {
        struct mti_live *h = at(i);
        h->refs++;
        h->until = c->t1 > h->until ? c->t1 : h->until;
        link = h->key;
    }
    i = mti_live_add(MTI_SP_MAPPED, c->addr, c, tid);
    if (i)
        at(i)->link = link;
    return i != 0;
}

/* Every mapping of a range: there may be several, one after the other. */
static void unmap(const struct mti_call *c)
{
    uint64_t addr = c->addr, left = c->size;
    do {
        uint32_t i = mti_live_find(MTI_SP_MAPPED, addr);
        if (!i)
            return;
        uint64_t size = at(i)->c.size, link = at(i)->link;
        mti_live_drop(i);
        unref(link);
        if (size == 0)
            return;
        addr += size;
        left = left > size ? left - size : 0;
    } while (left);
}

static void release(const struct mti_call *c)
{
    uint32_t i = mti_live_find(MTI_SP_HANDLE, c->handle);
    if (!i)
        return;
    uint64_t handle = c->handle;
    if (at(i)->alias) {
        handle = at(i)->link;
        if (--at(i)->refs == 0)
            mti_live_drop(i);
    } else {
        at(i)->own--;
    }
    i = handle_of(handle);
    if (i && c->t1 > at(i)->until)
        at(i)->until = c->t1;
    unref(handle);
}

static bool import_or_retain(const struct mti_call *c, uint32_t tid)
{
    uint32_t i = handle_of(c->handle), m;
    if (i) {
        uint32_t named = mti_live_find(MTI_SP_HANDLE, c->handle);
        if (named != i)
            at(named)->refs++;
        else
            at(i)->own++;
        at(i)->refs++;
        return true;
    }
    m = c->op == MT_WO_VMM_RETAIN ? mti_live_find(MTI_SP_MAPPED, c->addr) : 0;
    i = m ? handle_of(at(m)->link) : 0;
    if (i) { /* the driver names the same memory differently */
        uint64_t link = at(i)->key;
        at(i)->refs++;
        i = mti_live_add(MTI_SP_HANDLE, c->handle, c, tid);
        if (i) {
            at(i)->alias = true;
            at(i)->link = link;
        }
        return i != 0;
    }
    if (!add(MTI_SP_HANDLE, c->handle, c, tid))
        return false;
    at(mti_live_find(MTI_SP_HANDLE, c->handle))->imported = true;
    return true;
}

/* ---- contexts, and what was measured ---- */

/* Takes out what goes with a context (0 = all of them) of the device of c; its bytes. */
static uint64_t purge(const struct mti_call *c, uint64_t context)
{
    uint64_t bytes = 0;
    for (uint32_t i = mti_live_first(), next; i; i = next) {
        const struct mti_live *e = at(i);
        next = mti_live_after(i);
        if ((e->space != MTI_SP_ADDRESS && e->space != MTI_SP_ARRAY && e->space != MTI_SP_CODE) ||
            (context && e->c.context != context) ||
            (e->c.mask & c->mask & MT_WF_DEVICE && e->c.device != c->device))
            continue;
        if (e->c.op != MT_WO_MANAGED_ALLOC && e->space != MTI_SP_CODE)
            bytes += e->c.size;
        mti_live_drop(i);
    }
    return bytes;
}

static bool is_retain(uint32_t op) { return op == MT_WO_CONTEXT_RETAIN; }
static bool is_release(uint32_t op) { return op == MT_WO_CONTEXT_RELEASE; }

static bool is_context(uint32_t op)
{
    return op == MT_WO_CONTEXT_CREATE || op == MT_WO_CONTEXT_DESTROY || is_retain(op) ||
           is_release(op) || op == MT_WO_CONTEXT_RESET;
}

/* A release that ends nothing, and the last retain without a figure: both stay away. */
static bool cancels(const struct mti_call *c)
{
    uint32_t i = C.last_of[MT_WO_CONTEXT_RETAIN];
    if (!is_release(c->op) || c->change || !i || !at(i)->used || !is_retain(at(i)->c.op) ||
        at(i)->c.change || at(i)->c.device != c->device || at(i)->space != MTI_SP_NONE)
        return false;
    mti_live_drop(i);
    C.last_of[MT_WO_CONTEXT_RETAIN] = 0;
    C.measured--;
    return true;
}

static bool keep_measured(const struct mti_call *c, uint32_t tid)
{
    uint32_t last = C.last_of[c->op];
    if (C.measured < MEASURED_MAX) {
        C.last_of[c->op] = mti_live_add(MTI_SP_NONE, c->op, c, tid);
        C.measured++;
        return C.last_of[c->op] != 0;
    }
    if (!last || !c->change)
        return true;
    struct mti_live *e = at(last);
    e->c.change += c->change;
    e->c.mask |= MT_WF_CHANGE;
    e->c.t0 = e->c.t1 = c->t1;
    mti_live_to_end(last);
    return true;
}

static bool measured(const struct mti_call *from, uint32_t tid, bool lossless)
{
    struct mti_call c = *from;
    uint32_t *refs = &C.primary[c.device % ORDINALS];
    bool last = false;
    uint64_t purged = 0;
    if (is_retain(c.op))
        ++*refs;
    else if (is_release(c.op))
        last = *refs && --*refs == 0 && lossless;
    if (last)
        purged = purge(&c, c.context);
    else if (c.op == MT_WO_CONTEXT_RESET)
        purged = purge(&c, 0);
    else if (c.op == MT_WO_CONTEXT_DESTROY && (c.handle || c.context))
        purged = purge(&c, c.handle ? c.handle : c.context);
    if (c.change) /* the figure has in it what went with the context, which is not replayed */
        c.change += (int64_t)purged;
    if (!is_context(c.op) && !c.change)
        return true;
    if (!last && cancels(&c))
        return true;
    return keep_measured(&c, tid);
}

/* ---- failures ---- */

static bool failed(const struct mti_call *c, uint32_t tid)
{
    if (c->op == MT_WO_OTHER || c->op == MT_WO_MEM_INFO)
        return true;
    if (C.n_failures < FAILURES_FIRST + FAILURES_NEWEST) {
        if (!mti_live_grow(&C.failures, C.n_failures, &C.cap_failures, sizeof *C.failures))
            return false;
        C.failures[C.n_failures++] = (struct failure){*c, tid};
        return true;
    }
    C.failures[FAILURES_FIRST + C.oldest] = (struct failure){*c, tid};
    C.oldest = (C.oldest + 1) % FAILURES_NEWEST;
    C.left_out++;
    return true;
}

uint64_t mti_live_calls_failures_left_out(void) { return C.left_out; }

/* ---- all ---- */

static bool unknown_api(const struct mti_call *c, uint32_t tid)
{
    if (mti_live_find(MTI_SP_API, c->cbid) || C.apis >= APIS)
        return true;
    C.apis++;
    return mti_live_add(MTI_SP_API, c->cbid, c, tid) != 0;
}

bool mti_live_call(const struct mti_call *c, uint32_t tid, bool lossless)
{
    if (c->result)
        return failed(c, tid);
    switch (c->op) {
    case MT_WO_MEM_ALLOC:
    case MT_WO_ASYNC_ALLOC:
    case MT_WO_MANAGED_ALLOC: return add(MTI_SP_ADDRESS, c->addr, c, tid);
    case MT_WO_MEM_FREE:
    case MT_WO_ASYNC_FREE: remove_memory(c->addr); return true;
    case MT_WO_HOST_ALLOC:
    case MT_WO_HOST_REGISTER: return add(MTI_SP_PINNED, c->addr, c, tid);
    case MT_WO_HOST_FREE:
    case MT_WO_HOST_UNREGISTER: remove_one(MTI_SP_PINNED, c->addr); return true;
    case MT_WO_ARRAY_CREATE: return add(MTI_SP_ARRAY, c->handle, c, tid);
    case MT_WO_ARRAY_DESTROY: remove_one(MTI_SP_ARRAY, c->handle); return true;
    case MT_WO_POOL_CREATE: return add(MTI_SP_POOL, c->pool, c, tid);
    case MT_WO_POOL_DESTROY: remove_one(MTI_SP_POOL, c->pool); return true;
    case MT_WO_IPC_OPEN: return add(MTI_SP_SHARED, c->addr, c, tid);
    case MT_WO_IPC_CLOSE: remove_one(MTI_SP_SHARED, c->addr); return true;
    case MT_WO_VMM_RESERVE: return add(MTI_SP_RESERVED, c->addr, c, tid);
    case MT_WO_VMM_ADDRESS_FREE: remove_one(MTI_SP_RESERVED, c->addr); return true;
    case MT_WO_VMM_CREATE: return add(MTI_SP_HANDLE, c->handle, c, tid);
    case MT_WO_VMM_RELEASE: release(c); return true;
    case MT_WO_VMM_MAP: return map(c, tid);
    case MT_WO_VMM_UNMAP: unmap(c); return true;
    case MT_WO_VMM_IMPORT:
    case MT_WO_VMM_RETAIN: return import_or_retain(c, tid);
    case MT_WO_GRAPH_INSTANTIATE:
    case MT_WO_GRAPH_UPLOAD:
    case MT_WO_GRAPH_EXEC_DESTROY:
    case MT_WO_GRAPH_TRIM:
    case MT_WO_CONTEXT_CREATE:
    case MT_WO_CONTEXT_DESTROY:
    case MT_WO_CONTEXT_RETAIN:
    case MT_WO_CONTEXT_RELEASE:
    case MT_WO_CONTEXT_RESET:
    case MT_WO_CONTEXT_LIMIT:
    case MT_WO_MODULE_LOAD:
    case MT_WO_MODULE_UNLOAD: return measured(c, tid, lossless);
    case MT_WO_CODE_LOAD: return add(MTI_SP_CODE, mt_code_key(c->context, c->handle), c, tid);
    case MT_WO_CODE_UNLOAD:
        remove_one(MTI_SP_CODE, mt_code_key(c->context, c->handle));
        return true;
    case MT_WO_MEM_INFO: return add(MTI_SP_INFO, c->device, c, tid);
    case MT_WO_OTHER: return unknown_api(c, tid);
    default: return true; /* no effect on memory */
    }
}

/* ---- as records ---- */

/* References that no call of the list makes: handles that were released while they are mapped, or
 * retained by their own name. */
static void write_references(struct mti_kept *out)
{
    for (uint32_t i = mti_live_first(); i; i = mti_live_after(i)) {
        const struct mti_live *h = at(i);
        struct mti_call c = {.t0 = h->c.t1, .t1 = h->c.t1, .handle = h->key, .mask = MT_WF_HANDLE};
        if (h->space != MTI_SP_HANDLE)
            continue;
        c.op = MT_WO_VMM_RETAIN;
        c.cbid = CBID_RETAIN;
        for (int32_t n = h->alias ? (int32_t)h->refs : h->own; n > 1; n--)
            mti_kept_call(out, &c, h->tid);
        if (h->alias || h->own > 0)
            continue;
        c.op = MT_WO_VMM_RELEASE;
        c.cbid = CBID_RELEASE;
        c.t0 = c.t1 = h->until;
        mti_kept_call(out, &c, h->tid);
    }
}

void mti_live_calls_write(struct mti_kept *out)
{
    for (uint32_t i = 0; i < C.n_failures; i++)
        mti_kept_call(out, &C.failures[i].c, C.failures[i].tid);
    for (uint32_t i = mti_live_first(); i; i = mti_live_after(i))
        mti_kept_call(out, &at(i)->c, at(i)->tid);
    write_references(out);
}

uint32_t mti_live_calls_n(void) { return mti_live_count(); }

void mti_live_calls_forget(void)
{
    mti_live_table_forget();
    memset(&C, 0, sizeof C);
}
