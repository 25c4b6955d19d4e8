/* native/call.c -- driver calls and CUPTI's own records: the hot part of a trace. */
#include "parser/native/impl.h"

#include <string.h>

static void mention(struct mt_native *n, uint32_t ordinal)
{
    if (ordinal < MT_MAX_GPUS)
        n->procs.p[n->process].ordinals[ordinal / 64] |= UINT64_C(1) << ordinal % 64;
}

/* Room for one more; it counts only once it is known to be whole. */
#define ROOM(v)                                                                                    \
    ((v)->n < (v)->cap || ((v)->n < UINT32_MAX &&                                                  \
                           mt_vec_grow((void **)&(v)->p, &(v)->cap, (v)->n + 1, sizeof *(v)->p)))

enum {
    RARE = MT_WF_OFFSET | MT_WF_STREAM | MT_WF_POOL | MT_WF_FLAGS | MT_WF_NAME | MT_WF_FREE |
           MT_WF_TOTAL
};

/* Fields in order of their bits; those beyond what is known come last and stay unread. */
static inline void fields(struct mt_native *n, struct mt_cursor *c, struct mt_call *k,
                          struct mt_call_rare *rare, uint64_t mask)
{
    if (mask & MT_WF_RESULT)
        k->result = mt_cur_u32(c);
    if (mask & MT_WF_ADDR)
        k->addr = mt_cur_delta(c, &n->addr);
    if (mask & MT_WF_SIZE)
        k->size = mt_cur_u(c);
    if (mask & MT_WF_HANDLE)
        k->handle = mt_cur_delta(c, &n->handle);
    if (mask & MT_WF_OFFSET)
        rare->offset = mt_cur_u(c);
    if (mask & MT_WF_STREAM)
        rare->stream = mt_cur_u(c);
    if (mask & MT_WF_DEVICE)
        k->gpu = mt_cur_u32(c);
    if (mask & MT_WF_CONTEXT)
        k->context = mt_cur_delta(c, &n->context);
    if (mask & MT_WF_POOL)
        rare->pool = mt_cur_delta(c, &n->pool);
    if (mask & MT_WF_FLAGS)
        rare->flags = (uint32_t)mt_cur_u(c);
    if (mask & MT_WF_STACK)
        k->stack = mt_cur_u32(c);
    if ((mask & ~(uint64_t)(MT_WF_FREE - 1)) == 0)
        return;
    if (mask & MT_WF_FREE)
        rare->free = mt_cur_u(c);
    if (mask & MT_WF_TOTAL)
        rare->total = mt_cur_u(c);
    if (mask & MT_WF_LOCATION)
        k->location = (uint8_t)mt_cur_u(c);
    if (mask & MT_WF_CHANGE) {
        k->change = mt_unzigzag(mt_cur_u(c));
        k->has_change = 1;
    }
    if (mask & MT_WF_NAME)
        rare->name = mt_cur_u32(c);
    if (mask & MT_WF_CORR)
        k->corr = (uint32_t)mt_cur_delta(c, &n->corr);
}

int mt_native_call(struct mt_native *n, struct mt_cursor *from)
{
    struct mt_driver *d = n->d;
    struct mt_cursor c = *from; /* in registers */
    struct mt_call_rare rare;
    struct mt_call *k;
    uint64_t op, dur, mask;
    if (!ROOM(&d->calls) || !ROOM(&d->rare))
        return mt_native_nomem(n);
    k = &d->calls.p[d->calls.n];
    *k = n->blank;
    k->process = n->process;
    k->time_ns = mt_cur_timed(&c, n, &k->tid);
    op = mt_cur_u(&c);
    k->op = op < MT_WO_COUNT ? (uint16_t)op : MT_WO_OTHER;
    k->cbid = mt_cur_u32(&c);
    dur = mt_cur_u(&c);
    k->dur_ns = dur < UINT32_MAX ? (uint32_t)dur : UINT32_MAX;
    mask = mt_cur_u(&c);
    memset(&rare, 0, sizeof rare);
    fields(n, &c, k, &rare, mask);
    from->bad = c.bad;
    if (c.bad || n->mute)
        return 1;
    if (mask & MT_WF_DEVICE)
        mention(n, k->gpu);
    if (mask & RARE && (rare.offset | rare.stream | rare.pool | rare.free | rare.total |
                        rare.flags | rare.name) != 0) {
        d->rare.p[d->rare.n++] = rare;
        k->rare = d->rare.n;
    }
    n->unsorted |=
        d->calls.n > 0 && mt_native_before(k->process, k->time_ns, k[-1].process, k[-1].time_ns);
    d->calls.n++;
    return mt_native_count(n);
}

static inline int push_activity(struct mt_native *n, const struct mt_cursor *c,
                                const struct mt_activity *a)
{
    struct mt_driver *d = n->d;
    struct mt_activity *p;
    if (c->bad || n->mute)
        return 1;
    if (!ROOM(&d->activities))
        return mt_native_nomem(n);
    p = &d->activities.p[d->activities.n];
    *p = *a;
    if (a->gpu != MT_NONE32)
        mention(n, a->gpu);
    n->unsorted |= d->activities.n > 0 &&
                   mt_native_before(p->process, p->time_ns, p[-1].process, p[-1].time_ns);
    d->activities.n++;
    return mt_native_count(n);
}

int mt_native_memory2(struct mt_native *n, struct mt_cursor *from)
{
    struct mt_activity a = {.process = n->process, .gpu = MT_NONE32};
    struct mt_cursor now = *from, *c = &now;
    uint32_t tid;
    uint64_t mask;
    a.time_ns = mt_cur_timed(c, n, &tid);
    a.op = (uint8_t)mt_cur_u(c);
    a.kind = (uint8_t)mt_cur_u(c);
    mask = mt_cur_u(c);
    if (mask & MT_WM_ADDR)
        a.addr = mt_cur_delta(c, &n->addr);
    if (mask & MT_WM_SIZE)
        a.size = mt_cur_u(c);
    if (mask & MT_WM_DEVICE)
        a.gpu = mt_cur_u32(c);
    if (mask & MT_WM_CONTEXT)
        mt_cur_u(c);
    if (mask & MT_WM_STREAM)
        mt_cur_u(c);
    if (mask & MT_WM_CORR)
        a.corr = (uint32_t)mt_cur_delta(c, &n->corr);
    if (mask & MT_WM_POOL)
        mt_cur_delta(c, &n->pool);
    if (mask & MT_WM_POOL_TYPE)
        mt_cur_u(c);
    if (mask & MT_WM_UTILIZED)
        a.utilized = mt_cur_u(c);
    if (mask & MT_WM_NAME)
        a.name = mt_cur_u32(c);
    if (mask & MT_WM_SOURCE)
        a.source = mt_cur_u32(c);
    from->bad = now.bad;
    return push_activity(n, c, &a);
}

int mt_native_mempool(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_activity a = {.process = n->process, .is_pool = true};
    uint32_t tid;
    a.time_ns = mt_cur_timed(c, n, &tid);
    a.op = (uint8_t)mt_cur_u(c);
    a.gpu = mt_cur_u32(c);
    a.addr = mt_cur_delta(c, &n->pool);
    a.size = mt_cur_u(c);
    mt_cur_u(c); /* release threshold */
    a.utilized = mt_cur_u(c);
    return push_activity(n, c, &a);
}
