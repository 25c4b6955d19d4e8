/* One recorded call and what it does to the books. */
#include "analysis/ledger/impl.h"

#include <stdlib.h>

#define TOO_MUCH                                                                                   \
    (UINT64_C(1) << 46) /* no allocation is 64 TiB: a damaged record must not                      \
                         spoil the sums */
#define TOO_HIGH (UINT64_C(1) << 60)

static struct mt_driver_process *sum_of(struct mt_books *b, uint32_t proc)
{
    return &b->proc[proc].sum;
}

static uint32_t ledger_of(const struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    const struct mt_proc *p = &b->proc[proc];
    uint32_t n_gpus = b->driver->drivers.p[p->driver]->driver->gpus.n;
    if (c->gpu < n_gpus)
        return b->ledger_of[p->driver][c->gpu];
    return p->only_ledger != MT_NONE32 ? p->only_ledger : b->ledger_of[p->driver][n_gpus];
}

/* Bytes of the device that begin to be held by the caller of c. */
static void hold(struct mt_books *b, struct mt_held *h, const struct mt_call *c)
{
    uint32_t proc = h->proc, ledger = ledger_of(b, proc, c), row;
    struct mt_who w;
    if (h->size == 0 || h->size > TOO_MUCH || b->run[ledger].named > TOO_HIGH ||
        b->proc[proc].bytes > TOO_HIGH)
        return;
    w = mt_call_who(b, proc, c);
    row = mt_row_of(b, proc, ledger, w);
    if (row == MT_NONE32)
        return;
    h->row = row;
    mt_row_move(b, row, (int64_t)h->size, 1);
    h->block = mt_move_begin(b, row, h->size);
    mt_oom_succeeded(b, proc, (enum mt_holder)w.holder, h->size);
}

static uint64_t counted(uint64_t size) { return size < TOO_MUCH ? size : 0; }

static void manage(struct mt_books *b, uint32_t proc, uint32_t ledger, uint64_t size, bool add)
{
    uint64_t *now = &b->run[ledger].managed;
    struct mt_ledger *l = &b->driver->ledgers.p[ledger];
    *now = add ? *now + counted(size) : *now - counted(size);
    b->proc[proc].managed =
        add ? b->proc[proc].managed + counted(size) : b->proc[proc].managed - counted(size);
    if (!b->second_pass && *now > l->managed_peak && mt_ledger_is_whole(b, ledger))
        l->managed_peak = *now;
}

static void pin(struct mt_books *b, uint32_t proc, uint64_t size, bool add)
{
    struct mt_proc *p = &b->proc[proc];
    if (add) {
        const struct mt_driver_phase *ph = mt_driver_phase_at(b, proc, b->now, true);
        unsigned phase = ph != NULL ? (unsigned)ph->phase : MT_PH_UNATTRIBUTED;
        if (phase != p->pin_phase)
            p->pin_before = p->pinned;
        p->pin_phase = (uint8_t)phase;
    }
    p->pinned = add ? p->pinned + counted(size) : p->pinned - counted(size);
    if (p->pinned > p->sum.pinned_peak && mt_proc_is_whole(b, proc))
        p->sum.pinned_peak = p->pinned;
}

static void code_gone(struct mt_books *b, uint32_t ledger)
{
    struct mt_ledger_run *r = &b->run[ledger];
    if (--r->n_code == 0)
        r->code_grew = 0;
}

/* Takes the bytes of an entry out of the sums and drops the entry. Managed memory has its ledger in
 * `row`. */
static void give_back(struct mt_books *b, struct mt_held *h)
{
    struct mt_held was = *h;
    mt_held_drop(b, h);
    if (was.space == MT_SP_CODE)
        code_gone(b, was.refs);
    else if ((was.flags & MT_HF_MANAGED) != 0)
        manage(b, was.proc, was.row, was.size, false);
    else if (was.space == MT_SP_PINNED ||
             (was.space == MT_SP_HANDLE && (was.flags & MT_HF_HOST) != 0))
        pin(b, was.proc, was.size, false);
    else if (was.row != MT_NONE32 && was.space != MT_SP_MAPPED) {
        (void)mt_row_move(b, was.row, -(int64_t)was.size, -1);
        mt_move_end(b, was.row, was.size, was.block);
        if (was.space == MT_SP_HANDLE)
            mt_burst_update(b, was.row);
    }
}

/* Entries that go at one time. They go in the order in which they came: the table's own order is
 * that of its secret, and pages draw what goes. */
struct held_list {
    MT_VEC(struct mt_held) v;
};

static void note_held(struct mt_books *b, struct held_list *list, const struct mt_held *h)
{
    struct mt_held *to = MT_VEC_PUSH(&list->v);
    if (to != NULL)
        *to = *h;
    else
        b->nomem = true;
}

static int by_birth(const void *pa, const void *pb)
{
    const struct mt_held *a = pa, *b = pb;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->space != b->space)
        return a->space < b->space ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static void give_back_all(struct mt_books *b, struct held_list *list)
{
    if (list->v.n > 1)
        qsort(list->v.p, list->v.n, sizeof *list->v.p, by_birth);
    for (uint32_t i = 0; i < list->v.n; i++) {
        const struct mt_held *was = &list->v.p[i];
        struct mt_held *h = mt_held_find(b, was->proc, (enum mt_space)was->space, was->key);
        if (h != NULL)
            give_back(b, h);
    }
    MT_VEC_DONE(&list->v);
}

/* Adds an entry at a key. An entry that is there already was freed by a call that was not recorded.
 */
static struct mt_held *enter(struct mt_books *b, uint32_t proc, enum mt_space space, uint64_t key,
                             const struct mt_call *c)
{
    struct mt_held *h = mt_held_find(b, proc, space, key);
    if (h != NULL) {
        sum_of(b, proc)->n_lost_frees++;
        give_back(b, h);
    }
    h = mt_held_add(b, proc, space, key);
    if (h != NULL) {
        h->size = c->size;
        h->stack = c->stack;
        h->link = c->context;
    }
    return h;
}

static void leave(struct mt_books *b, uint32_t proc, enum mt_space space, uint64_t key)
{
    struct mt_held *h = mt_held_find(b, proc, space, key);
    if (h == NULL && space == MT_SP_DEVICE)
        h = mt_held_find(b, proc, MT_SP_SHARED, key);
    if (h == NULL)
        sum_of(b, proc)->n_unmatched_frees++;
    else
        give_back(b, h);
}

/* ---- virtual memory management ---- */

/* The entry that carries the bytes of a handle: an alias stands for another
 * one. */
static struct mt_held *handle_of(struct mt_books *b, uint32_t proc, uint64_t handle)
{
    struct mt_held *h = mt_held_find(b, proc, MT_SP_HANDLE, handle);
    if (h != NULL && (h->flags & MT_HF_ALIAS) != 0)
        h = mt_held_find(b, proc, MT_SP_HANDLE, h->link);
    return h;
}

static void unref(struct mt_books *b, uint32_t proc, uint64_t handle)
{
    struct mt_held *h = handle_of(b, proc, handle);
    if (h != NULL && --h->refs == 0)
        give_back(b, h);
}

static void create(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    struct mt_held *h = enter(b, proc, MT_SP_HANDLE, c->handle, c);
    if (h == NULL)
        return;
    h->link = 0;
    if (c->location > 1) {
        h->flags = MT_HF_HOST;
        pin(b, proc, c->size, true);
    } else {
        hold(b, h, c);
    }
}

static void import_or_retain(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    struct mt_held *h = handle_of(b, proc, c->handle), *m;
    if (h != NULL) {
        struct mt_held *alias = mt_held_find(b, proc, MT_SP_HANDLE, c->handle);
        if (alias != h)
            alias->refs++;
        h->refs++;
        return;
    }
    m = c->op == MT_WO_VMM_RETAIN ? mt_held_find(b, proc, MT_SP_MAPPED, c->addr) : NULL;
    /* the driver may name the same memory differently */
    if (m != NULL && (h = handle_of(b, proc, m->link)) != NULL) {
        uint64_t link = h->key;
        h->refs++;
        h = mt_held_add(b, proc, MT_SP_HANDLE, c->handle);
        if (h != NULL) {
            h->flags = MT_HF_ALIAS;
            h->link = link;
        }
        return;
    }
    h = enter(b, proc, MT_SP_HANDLE, c->handle, c);
    if (h == NULL)
        return;
    h->flags = MT_HF_IMPORTED;
    h->link = 0;
    sum_of(b, proc)->n_imported += c->op == MT_WO_VMM_IMPORT;
}

static void release(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    struct mt_held *h = mt_held_find(b, proc, MT_SP_HANDLE, c->handle);
    uint64_t handle = c->handle;
    if (h == NULL) {
        sum_of(b, proc)->n_unmatched_frees++;
        return;
    }
    if ((h->flags & MT_HF_ALIAS) != 0) {
        handle = h->link;
        if (--h->refs == 0)
            mt_held_drop(b, h);
    }
    unref(b, proc, handle);
}

static void map(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    struct mt_held *h = handle_of(b, proc, c->handle),
                   *m = mt_held_find(b, proc, MT_SP_MAPPED, c->addr);
    uint32_t row = MT_NONE32, who = MT_NONE32;
    uint64_t handle = c->handle;
    if (m != NULL) { /* an unmap was not seen */
        uint64_t old = m->link;
        sum_of(b, proc)->n_lost_frees++;
        mt_held_drop(b, m);
        unref(b, proc, old);
        h = handle_of(b, proc, c->handle);
    }
    if (h != NULL) {
        h->refs++;
        handle = h->key;
        row = h->row;
        who = h->row;
        if (row != MT_NONE32 && b->proc[proc].sweep != NULL &&
            b->rows.p[row].holder != MT_HOLD_ENGINE && b->rows.p[row].holder != MT_HOLD_TORCH) {
            /* the address is known only now: does PyTorch say that it is its own? */
            bool yes = false;
            if (!mt_claim_sweep_has(b->proc[proc].sweep, c->addr, c->size, c->time_ns, &yes))
                b->nomem = true;
            if (yes) {
                uint32_t to =
                    mt_row_of(b, proc, b->rows.p[row].ledger, (struct mt_who){MT_HOLD_TORCH, 0});
                if (to != MT_NONE32) {
                    (void)mt_row_move(b, row, -(int64_t)h->size, -1);
                    (void)mt_row_move(b, to, (int64_t)h->size, 1);
                    mt_move_end(b, row, h->size, h->block);
                    h->block = mt_move_begin(b, to, h->size);
                    h->row = row = who = to;
                }
            }
        }
    } else {
        sum_of(b, proc)->n_unmatched_frees++;
    }
    m = mt_held_add(b, proc, MT_SP_MAPPED, c->addr);
    if (m == NULL)
        return;
    m->size = c->size;
    m->link = handle;
    m->row = row;
    m->stack = c->stack;
    if (who != MT_NONE32)
        mt_burst_call(b, who, true, c->size);
}

/* Unmaps every mapping of a range: there may be several, one after the other. */
static void unmap(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    uint64_t addr = c->addr, left = c->size;
    do {
        struct mt_held *m = mt_held_find(b, proc, MT_SP_MAPPED, addr);
        struct mt_held was;
        if (m == NULL) {
            sum_of(b, proc)->n_unmatched_frees++;
            return;
        }
        was = *m;
        mt_held_drop(b, m);
        if (was.row != MT_NONE32)
            mt_burst_call(b, was.row, false, was.size);
        unref(b, proc, was.link);
        if (was.size == 0)
            return;
        addr += was.size;
        left = left > was.size ? left - was.size : 0;
    } while (left != 0);
}

/* ---- contexts, modules, graphs ---- */

static bool is_memory_on(const struct mt_books *b, const struct mt_held *h, uint32_t ledger)
{
    return (h->space == MT_SP_DEVICE || h->space == MT_SP_ARRAYS) && h->row != MT_NONE32 &&
           ((h->flags & MT_HF_MANAGED) != 0 ? h->row == ledger
                                            : b->rows.p[h->row].ledger == ledger);
}

/* Allocations of a context, or of all contexts of the process on that GPU, go
 * with it. Returns their bytes. */
static uint64_t purge(struct mt_books *b, uint32_t proc, uint32_t ledger, uint64_t context)
{
    uint64_t before = b->run[ledger].named;
    struct held_list list = {.v = {NULL, 0, 0}};
    for (uint32_t i = 0; i < b->held_cap; i++) {
        const struct mt_held *h = &b->held[i];
        if (h->used && h->proc == proc && (context == 0 || h->link == context) &&
            (h->space == MT_SP_CODE ? h->refs == ledger : is_memory_on(b, h, ledger)))
            note_held(b, &list, h);
    }
    give_back_all(b, &list);
    return before - b->run[ledger].named;
}

static void change(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    uint32_t ledger = ledger_of(b, proc, c), row;
    uint64_t purged = 0;
    int64_t delta = c->has_change ? c->change : 0;
    /* What other recorded calls moved meanwhile has its owner: contexts of several processes begin
     * together. */
    int64_t meanwhile = mt_row_moved(
        &b->run[ledger], c->time_ns - (c->dur_ns < c->time_ns ? c->dur_ns : c->time_ns));
    bool grows = delta > 0;
    struct mt_held *h;
    if (c->op == MT_WO_CONTEXT_RETAIN || c->op == MT_WO_CONTEXT_RELEASE) {
        h = mt_held_find(b, proc, MT_SP_PRIMARY, ledger);
        if (c->op == MT_WO_CONTEXT_RETAIN && h != NULL)
            h->refs++;
        else if (c->op == MT_WO_CONTEXT_RETAIN)
            (void)mt_held_add(b, proc, MT_SP_PRIMARY, ledger);
        else if (h != NULL && h->refs > 0 && --h->refs == 0 && b->proc[proc].lossless)
            purged = purge(b, proc, ledger, c->context);
    } else if (c->op == MT_WO_CONTEXT_RESET) {
        purged = purge(b, proc, ledger, 0);
    } else if (c->op == MT_WO_CONTEXT_DESTROY && (c->handle != 0 || c->context != 0)) {
        purged = purge(b, proc, ledger, c->handle != 0 ? c->handle : c->context);
    }
    if (delta == 0 || delta > (int64_t)TOO_MUCH || delta < -(int64_t)TOO_MUCH ||
        b->run[ledger].named > TOO_HIGH)
        return;
    delta += (int64_t)purged; /* the measured figure has what was purged in it */
    if ((meanwhile > 0) == grows)
        delta -=
            meanwhile; /* never more than was measured: the end of a process is not known so well */
    if ((delta > 0) != grows)
        return;
    row = mt_row_of(b, proc, ledger, mt_call_who(b, proc, c));
    if (row != MT_NONE32) {
        (void)mt_row_move(b, row, delta, delta > 0 ? 1 : delta < 0 ? -1 : 0);
        mt_move_measured(b, row, delta);
    }
}

static void unload_code(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    struct mt_held *h = mt_held_find(b, proc, MT_SP_CODE, mt_code_key(c->context, c->handle));
    if (h != NULL) /* else it was measured, or is older than the recording */
        give_back(b, h);
}

/* Code is in no sum: how much of the device it takes is not told. */
static void load_code(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    const struct mt_call_rare *rare =
        mt_call_rare(b->driver->drivers.p[b->proc[proc].driver]->driver, c);
    struct mt_held *h;
    unload_code(b, proc, c); /* its number is given again where the context that it lay in went */
    if ((rare->flags & MT_WIRE_CODE_MEASURED) != 0)
        return; /* in the change of the call that it came in */
    h = enter(b, proc, MT_SP_CODE, mt_code_key(c->context, c->handle), c);
    if (h == NULL)
        return;
    h->refs = ledger_of(b, proc, c);
    b->run[h->refs].n_code++;
    b->run[h->refs].code_came = true;
}

/* ---- all ---- */

static void allocate(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    struct mt_held *h = enter(b, proc, MT_SP_DEVICE, c->addr, c);
    if (h == NULL)
        return;
    if (c->op == MT_WO_MANAGED_ALLOC) {
        h->flags = MT_HF_MANAGED;
        h->row = ledger_of(b, proc, c);
        manage(b, proc, h->row, c->size, true);
    } else {
        hold(b, h, c);
    }
}

static void succeeded(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    const struct mt_call_rare *rare;
    struct mt_held *h;
    switch ((enum mt_wire_op)c->op) {
    case MT_WO_MEM_ALLOC:
    case MT_WO_ASYNC_ALLOC:
    case MT_WO_MANAGED_ALLOC: allocate(b, proc, c); break;
    case MT_WO_MEM_FREE:
    case MT_WO_ASYNC_FREE:
        if (c->addr != 0) /* cuMemFree(0) initialises CUDA */
            leave(b, proc, MT_SP_DEVICE, c->addr);
        break;
    case MT_WO_HOST_ALLOC:
    case MT_WO_HOST_REGISTER:
        if (enter(b, proc, MT_SP_PINNED, c->addr, c) != NULL)
            pin(b, proc, c->size, true);
        break;
    case MT_WO_HOST_FREE:
    case MT_WO_HOST_UNREGISTER:
        if (c->addr != 0)
            leave(b, proc, MT_SP_PINNED, c->addr);
        break;
    case MT_WO_ARRAY_CREATE:
        h = enter(b, proc, MT_SP_ARRAYS, c->handle, c);
        if (h != NULL)
            hold(b, h, c);
        break;
    case MT_WO_ARRAY_DESTROY: leave(b, proc, MT_SP_ARRAYS, c->handle); break;
    case MT_WO_VMM_RESERVE: (void)enter(b, proc, MT_SP_RESERVED, c->addr, c); break;
    case MT_WO_VMM_ADDRESS_FREE: leave(b, proc, MT_SP_RESERVED, c->addr); break;
    case MT_WO_VMM_CREATE: create(b, proc, c); break;
    case MT_WO_VMM_RELEASE: release(b, proc, c); break;
    case MT_WO_VMM_MAP: map(b, proc, c); break;
    case MT_WO_VMM_UNMAP: unmap(b, proc, c); break;
    case MT_WO_VMM_IMPORT:
    case MT_WO_VMM_RETAIN: import_or_retain(b, proc, c); break;
    case MT_WO_IPC_OPEN:
        h = enter(b, proc, MT_SP_SHARED, c->addr, c);
        if (h != NULL)
            h->flags = MT_HF_IMPORTED;
        sum_of(b, proc)->n_imported++;
        break;
    case MT_WO_IPC_CLOSE: leave(b, proc, MT_SP_SHARED, c->addr); break;
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
    case MT_WO_MODULE_UNLOAD: change(b, proc, c); break;
    case MT_WO_CODE_LOAD: load_code(b, proc, c); break;
    case MT_WO_CODE_UNLOAD: unload_code(b, proc, c); break;
    case MT_WO_MEM_INFO:
        rare = mt_call_rare(b->driver->drivers.p[b->proc[proc].driver]->driver, c);
        if (rare->total != 0)
            mt_oom_free_seen(b, proc, ledger_of(b, proc, c), rare->free);
        break;
    case MT_WO_OTHER:
    case MT_WO_POOL_CREATE:
    case MT_WO_POOL_DESTROY:
    case MT_WO_POOL_TRIM:
    case MT_WO_POOL_ATTRIBUTE:
    case MT_WO_VMM_ACCESS:
    case MT_WO_VMM_EXPORT:
    case MT_WO_MULTICAST_CREATE:
    case MT_WO_MULTICAST_BIND:
    case MT_WO_MULTICAST_UNBIND:
    case MT_WO_IPC_EXPORT:
    case MT_WO_GRAPH_ALLOC_NODE:
    case MT_WO_GRAPH_FREE_NODE:
    case MT_WO_COUNT: break;
    }
}

void mt_books_apply(struct mt_books *b, uint32_t proc, const struct mt_call *c, uint32_t index)
{
    b->call = index;
    if (c->result == 0) {
        if (c->op != MT_WO_MEM_INFO && c->op != MT_WO_OTHER)
            b->proc[proc].open_oom = MT_NONE32;
        succeeded(b, proc, c);
        return;
    }
    if (!b->second_pass)
        sum_of(b, proc)->n_failed++;
    if (c->result == 2 && c->op != MT_WO_OTHER &&
        c->op != MT_WO_MEM_INFO) /* CUDA_ERROR_OUT_OF_MEMORY */
        mt_oom_failed(b, proc, c, index, ledger_of(b, proc, c));
}

void mt_books_end(struct mt_books *b, uint32_t proc)
{
    struct held_list list = {.v = {NULL, 0, 0}};
    mt_burst_end(b, proc);
    b->call = MT_NONE32;
    for (uint32_t i = 0; i < b->held_cap; i++)
        if (b->held[i].used && b->held[i].proc == proc)
            note_held(b, &list, &b->held[i]);
    give_back_all(b, &list);
    for (uint32_t i = 0; i < b->rows.n; i++) /* what was only measured: contexts, modules, graphs */
        if (b->rows.p[i].proc == proc && b->rows.p[i].bytes != 0) {
            (void)mt_row_move(b, i, -b->rows.p[i].bytes, 0);
            mt_move_measured(b, i, INT64_MIN);
        }
}
