/* Private pools, and what they tell of the blocks in them. */
#include "analysis/roles/impl.h"

enum { MAX_POOLS = 256 };

static struct mt_pool_role *pool_of(struct mt_rwork *k, const uint64_t id[2])
{
    struct mt_pool_role *p;
    for (uint32_t i = 0; i < k->pools.n; i++)
        if (k->pools.p[i].pool[0] == id[0] && k->pools.p[i].pool[1] == id[1])
            return &k->pools.p[i];
    if (k->pools.n >= MAX_POOLS)
        return &k->pools.p[MAX_POOLS - 1];
    p = MT_VEC_PUSH(&k->pools);
    if (p != NULL) {
        p->pool[0] = id[0];
        p->pool[1] = id[1];
        p->role = MT_ROLE_UNKNOWN;
    }
    return p;
}

static void count(const struct mt_rwork *k, struct mt_pool_role *p, mt_stack_id stack,
                  struct mt_attr a, uint64_t size)
{
    uint8_t why;
    unsigned role = mt_role_by_stack(k, stack, a, &why);
    if (size > UINT64_MAX - p->all)
        return;
    p->all += size;
    p->bytes[role] += size;
}

static bool can_name_a_pool(unsigned role)
{
    return role == MT_ROLE_KV_CACHE || role == MT_ROLE_ENGINE_WEIGHTS ||
           role == MT_ROLE_GRAPH_POOL || role == MT_ROLE_COMM || role == MT_ROLE_WEIGHT_SYNC ||
           role == MT_ROLE_PARAM || role == MT_ROLE_OPTIM_STATE || role == MT_ROLE_OFFLOAD;
}

static int pools_of_segments(struct mt_rwork *k)
{
    const struct mt_trace *t = k->r->t;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        struct mt_pool_role *p;
        struct mt_pool_span *span;
        if (!s->pool_known || (s->pool[0] == 0 && s->pool[1] == 0) ||
            !mt_segment_is_on(s, k->r->d->ordinal, k->r->d->kind))
            continue;
        p = pool_of(k, s->pool);
        span = MT_VEC_PUSH(&k->spans);
        if (p == NULL || span == NULL)
            return 0;
        *span = (struct mt_pool_span){
            s->addr, s->total < UINT64_MAX - s->addr ? s->addr + s->total : UINT64_MAX, 0,
            (uint32_t)(p - k->pools.p)};
        for (uint32_t b = s->first_block; b < s->first_block + s->n_blocks; b++)
            if (t->blocks.p[b].state != MT_BLOCK_INACTIVE)
                count(k, p, t->blocks.p[b].stack, mt_phaser_stack(k->ph, t->blocks.p[b].stack),
                      t->blocks.p[b].requested);
    }
    return 1;
}

static bool has_private_lane(const struct mt_trace *t)
{
    for (uint32_t i = 0; i < t->lanes.n; i++)
        if (t->lanes.p[i].pool[0] != 0 || t->lanes.p[i].pool[1] != 0)
            return true;
    return false;
}

static struct mt_pool_span *span_at(const struct mt_rwork *k, uint64_t addr)
{
    uint32_t lo = 0, hi = k->spans.n; /* segments are sorted by address */
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (k->spans.p[mid].addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo != 0 && addr < k->spans.p[lo - 1].end ? &k->spans.p[lo - 1] : NULL;
}

/* *out: the private pool of an allocation, NULL = the common pool. By the recorded pool; before
 * PyTorch 2.12, which does not record it, by the segments of the end state. false = out of memory.
 */
static bool pool_of_event(struct mt_rwork *k, const struct mt_event *e, uint64_t event,
                          struct mt_pool_role **out)
{
    const uint64_t *pool = k->r->t->lanes.p[e->lane].pool;
    const struct mt_pool_span *span;
    *out = NULL;
    if ((e->flags & MT_EV_POOL_KNOWN) != 0)
        return (pool[0] == 0 && pool[1] == 0) || (*out = pool_of(k, pool)) != NULL;
    span = span_at(k, e->addr);
    *out = span != NULL && event >= span->since ? &k->pools.p[span->pool] : NULL;
    return true;
}

/* Dates the segments: addresses may have been another segment's before. */
static void date_spans(struct mt_rwork *k)
{
    for (uint64_t i = 0; k->spans.n != 0 && i < k->r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        struct mt_pool_span *span = e->action == MT_ACT_SEGMENT_ALLOC ? span_at(k, e->addr) : NULL;
        if (span != NULL && span->addr == e->addr)
            span->since = i;
    }
}

/* The frames of what a capture itself makes, beside the pool: the state of random numbers. */
static bool has_captures(const struct mt_rwork *k)
{
    for (uint32_t i = 0; i < k->r->t->stacks.n; i++)
        if (k->w->stack_role[i] != MT_NO_STACK_ROLE &&
            (k->w->stack_role[i] & 0xffu) == MT_ROLE_GRAPH_POOL)
            return true;
    return false;
}

/* A capture that is given no pool makes one of its own: (number, 0). Pools that a program makes,
 * for graphs to share or for anything else, as gradients that NCCL knows, are (0, number)
 * (ATen/cuda/CUDAGraph.cpp, c10/cuda/CUDACachingAllocator.h: MempoolId_t). */
static bool is_captured(const struct mt_pool_role *p, bool captures)
{
    return (p->pool[0] != 0 && p->pool[1] == 0) ||
           (captures && p->bytes[MT_ROLE_GRAD] < (p->all - p->bytes[MT_ROLE_WORKSPACE]) / 2 + 1);
}

int mt_pool_roles(struct mt_rwork *k)
{
    const struct mt_trace *t = k->r->t;
    bool captures = has_captures(k);
    struct mt_role_pool *fact;
    if (!pools_of_segments(k))
        return 0;
    date_spans(k);
    if ((has_private_lane(t) || k->spans.n != 0) && k->r->attr != NULL)
        for (uint64_t i = 0; i < k->r->d->events.n; i++) {
            const struct mt_event *e = mt_event_at(k->r->d, i);
            struct mt_pool_role *p = NULL;
            if (e->action == MT_ACT_ALLOC && !pool_of_event(k, e, i, &p))
                return 0;
            if (p != NULL)
                count(k, p, e->stack, k->r->attr[i], e->size);
        }
    for (uint32_t i = 0; i < k->pools.n; i++) {
        struct mt_pool_role *p = &k->pools.p[i];
        for (unsigned role = 0; role < MT_ROLE_COUNT; role++)
            if (can_name_a_pool(role) &&
                p->bytes[role] >
                    (p->all - p->bytes[MT_ROLE_WORKSPACE]) /
                        2) /* without the workspaces of libraries, which are in any pool */
                p->role = (uint8_t)role;
        if (p->role == MT_ROLE_UNKNOWN && is_captured(p, captures))
            p->role = MT_ROLE_GRAPH_POOL;
        if ((fact = MT_VEC_PUSH(&k->out->pools)) == NULL)
            return 0;
        *fact = (struct mt_role_pool){{p->pool[0], p->pool[1]}, p->role};
    }
    return 1;
}

/* A trainer's private pool, as torch_memory_saver makes one, holds weights, gradients and state
 * side by side: that most of it is one of them says nothing of a block. An engine's pool is for one
 * purpose. */
static unsigned role_in_pool(const struct mt_pool_role *p)
{
    return p->role == MT_ROLE_PARAM || p->role == MT_ROLE_OPTIM_STATE ? MT_ROLE_COUNT : p->role;
}

unsigned mt_pool_role_at(const struct mt_rwork *k, uint64_t addr, uint64_t event)
{
    const struct mt_pool_span *span = span_at(k, addr);
    return span != NULL && event >= span->since ? role_in_pool(&k->pools.p[span->pool])
                                                : MT_ROLE_COUNT;
}

unsigned mt_pool_role_of(const struct mt_rwork *k, const struct mt_event *e, uint64_t event)
{
    const uint64_t *pool = k->r->t->lanes.p[e->lane].pool;
    if (!(e->flags & MT_EV_POOL_KNOWN))
        return mt_pool_role_at(k, e->addr, event);
    if (pool[0] == 0 && pool[1] == 0)
        return MT_ROLE_COUNT;
    for (uint32_t i = 0; i < k->pools.n; i++)
        if (k->pools.p[i].pool[0] == pool[0] && k->pools.p[i].pool[1] == pool[1])
            return role_in_pool(&k->pools.p[i]);
    return MT_ROLE_COUNT;
}

bool mt_is_told_by_phase(struct mt_attr a, unsigned pool)
{
    return mt_attr_conf(a) == MT_CONF_MARKED &&
           ((pool == MT_ROLE_KV_CACHE && a.phase == MT_PH_ROLLOUT_LOAD) ||
            (pool == MT_ROLE_ENGINE_WEIGHTS && a.phase == MT_PH_ROLLOUT_KV_ALLOC));
}
