/* native_call.c -- driver calls and CUPTI's own records: the hot part of a trace. */
#include "parser/native_impl.h"

#include <string.h>

static void mention(struct mt_native *n, uint32_t ordinal)
{
    if (ordinal < MT_MAX_GPUS)
        n->procs.p[n->process].ordinals[ordinal / 64] |= UINT64_C(1) << ordinal % 64;
}

static struct mt_call *new_call(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    if (d->calls.n == d->calls.cap &&
        (d->calls.n == UINT32_MAX || !mt_vec_grow((void **)&d->calls.p, &d->calls.cap, d->calls.n + 1, sizeof *d->calls.p))) {
        mt_native_nomem(n);
        return NULL;
    }
    return &d->calls.p[d->calls.n];
}

/* Fields in order of their bits; those beyond what is known come last and stay unread. */
static void fields(struct mt_native *n, struct mt_cursor *c, struct mt_call *k, uint64_t mask)
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
        k->offset = mt_cur_u(c);
    if (mask & MT_WF_STREAM)
        k->stream = mt_cur_u(c);
    if (mask & MT_WF_DEVICE)
        k->gpu = mt_cur_u32(c);
    if (mask & MT_WF_CONTEXT)
        k->context = mt_cur_delta(c, &n->context);
    if (mask & MT_WF_POOL)
        k->pool = mt_cur_delta(c, &n->pool);
    if (mask & MT_WF_FLAGS)
        k->flags = (uint32_t)mt_cur_u(c);
    if (mask & MT_WF_STACK)
        k->stack = mt_cur_u32(c);
    if ((mask & ~(uint64_t)(MT_WF_FREE - 1)) == 0)
        return;
    if (mask & MT_WF_FREE)
        k->free = mt_cur_u(c);
    if (mask & MT_WF_TOTAL)
        k->total = mt_cur_u(c);
    if (mask & MT_WF_LOCATION)
        k->location = (uint8_t)mt_cur_u(c);
    if (mask & MT_WF_CHANGE) {
        k->change = mt_unzigzag(mt_cur_u(c));
        k->has_change = 1;
    }
    if (mask & MT_WF_NAME)
        k->name = mt_cur_u32(c);
    if (mask & MT_WF_CORR)
        k->corr = (uint32_t)mt_cur_delta(c, &n->corr);
}

int mt_native_call(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_call *k = new_call(n);
    uint64_t op, dur, mask;
    if (k == NULL)
        return 0;
    memset(k, 0, sizeof *k);
    k->gpu = MT_NONE32;
    k->process = n->process;
    k->time_ns = mt_cur_timed(c, n, &k->tid);
    op = mt_cur_u(c);
    k->op = op < MT_WO_COUNT ? (uint16_t)op : MT_WO_OTHER;
    k->cbid = mt_cur_u32(c);
    dur = mt_cur_u(c);
    k->dur_ns = dur < UINT32_MAX ? (uint32_t)dur : UINT32_MAX;
    mask = mt_cur_u(c);
    fields(n, c, k, mask);
    if (c->bad || n->mute)
        return 1;
    if (mask & MT_WF_DEVICE)
        mention(n, k->gpu);
    n->d->calls.n++;
    return mt_native_count(n);
}

static int push_activity(struct mt_native *n, const struct mt_cursor *c, const struct mt_activity *a)
{
    struct mt_activity *p;
    if (c->bad || n->mute)
        return 1;
    p = MT_VEC_PUSH(&n->d->activities);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = *a;
    if (a->gpu != MT_NONE32)
        mention(n, a->gpu);
    return mt_native_count(n);
}

int mt_native_memory2(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_activity a = {.process = n->process, .gpu = MT_NONE32};
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
