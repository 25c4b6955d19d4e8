/* profiler/feed.c -- one device's blocks, with the addresses that a recording lacks made up. */
#include "parser/profiler/feed.h"

#include <string.h>

/* No device's memory lies there. */
#define MADE_UP (UINT64_C(1) << 62)

void mt_pf_feed_init(struct mt_pf_feed *d, struct mt_builder *b)
{
    memset(d, 0, sizeof *d);
    d->b = b;
    d->next_addr = MADE_UP;
}

void mt_pf_feed_done(struct mt_pf_feed *d)
{
    for (uint32_t i = 0; i < MT_PF_LANES; i++)
        MT_VEC_DONE(&d->pile[i]);
    MT_VEC_DONE(&d->blocks);
    mt_free(d->by_addr.p);
    mt_free(d->by_size.p);
}

static int nomem(struct mt_pf_feed *d)
{
    d->nomem = true;
    return 0;
}

static int emit(struct mt_pf_feed *d, enum mt_action action, int64_t ts, uint64_t addr,
                uint64_t size, mt_stack_id stack)
{
    /* whole microseconds, as a snapshot has them */
    uint64_t ns = ts > 0 ? (uint64_t)ts / 1000 * 1000 : 0;
    return mt_build_plain_event(d->b, (struct mt_event_kind){.action = (uint8_t)action}, addr, size,
                                ns, stack);
}

static uint64_t size_key(uint64_t size, uint32_t lane) { return size | (uint64_t)lane << 60; }

static uint64_t make_up(struct mt_pf_feed *d, uint64_t size)
{
    uint64_t addr = d->next_addr;
    d->next_addr += (size | 511) + 1;
    return addr;
}

/* Puts a block behind the newest of its list: that of its size and lane, or of all. at: index + 1
 */
static int link_block(struct mt_pf_feed *d, uint32_t at)
{
    struct mt_pf_block *k = &d->blocks.p[at - 1];
    uint32_t *last =
        d->by_sizes ? mt_pf_map_slot(&d->by_size, size_key(k->size, k->lane)) : &d->newest;
    if (last == NULL)
        return nomem(d);
    k->older = *last;
    k->newer = 0;
    if (k->older != 0)
        d->blocks.p[k->older - 1].newer = at;
    *last = at;
    return 1;
}

/* Recordings that have addresses are never asked for a block of some size: lists by size are made
 * when the first one is. The list of all is in the order in which they came. */
static int list_by_size(struct mt_pf_feed *d)
{
    uint32_t at = d->newest, next;
    if (d->by_sizes)
        return 1;
    d->by_sizes = true;
    while (at != 0 && d->blocks.p[at - 1].older != 0)
        at = d->blocks.p[at - 1].older;
    for (; at != 0; at = next) {
        next = d->blocks.p[at - 1].newer;
        if (!link_block(d, at))
            return 0;
    }
    return 1;
}

/* The newest block of a size and lane: index + 1. 0 = there is none, or out of memory. */
static uint32_t of_size(struct mt_pf_feed *d, uint64_t size, uint32_t lane)
{
    const uint32_t *at = list_by_size(d) ? mt_pf_map_get(&d->by_size, size_key(size, lane)) : NULL;
    return at != NULL ? *at : 0;
}

/* Takes a block off its list and the table. at: index + 1 */
static void forget(struct mt_pf_feed *d, uint32_t at)
{
    struct mt_pf_block *k = &d->blocks.p[at - 1];
    mt_pf_map_take(&d->by_addr, k->addr);
    if (k->older != 0)
        d->blocks.p[k->older - 1].newer = k->newer;
    if (k->newer != 0)
        d->blocks.p[k->newer - 1].older = k->older;
    else if (!d->by_sizes)
        d->newest = k->older;
    else if (k->older != 0)
        *mt_pf_map_get(&d->by_size, size_key(k->size, k->lane)) = k->older;
    else
        mt_pf_map_take(&d->by_size, size_key(k->size, k->lane));
    k->older = d->unused;
    d->unused = at;
}

static int remember(struct mt_pf_feed *d, uint64_t addr, uint64_t size, uint32_t lane)
{
    uint32_t at = d->unused;
    if (at != 0)
        d->unused = d->blocks.p[at - 1].older;
    else if (MT_VEC_PUSH(&d->blocks) == NULL)
        return nomem(d);
    else
        at = d->blocks.n;
    d->blocks.p[at - 1] = (struct mt_pf_block){.addr = addr, .size = size, .lane = lane};
    if (!mt_pf_map_put(&d->by_addr, addr, at))
        return nomem(d);
    return link_block(d, at);
}

static int free_block(struct mt_pf_feed *d, int64_t ts, uint32_t at, mt_stack_id stack)
{
    struct mt_pf_block k = d->blocks.p[at - 1];
    forget(d, at);
    d->live = mt_pf_sum(d->live, 0 - k.size);
    return emit(d, MT_ACT_FREE_COMPLETED, ts, k.addr, k.size, stack);
}

static int free_old(struct mt_pf_feed *d, int64_t ts, uint64_t addr, uint64_t size,
                    mt_stack_id stack)
{
    d->live = mt_pf_sum(d->live, 0 - size);
    if (d->live < d->low)
        d->low = d->live;
    return emit(d, MT_ACT_FREE_COMPLETED, ts, addr, size, stack);
}

int mt_pf_alloc(struct mt_pf_feed *d, int64_t ts, const uint64_t *addr, uint64_t size,
                uint32_t lane, mt_stack_id stack)
{
    uint64_t where = addr != NULL ? *addr : make_up(d, size);
    const uint32_t *was = mt_pf_map_get(&d->by_addr, where);
    /* a thread that is not recorded has freed what was there */
    if (was != NULL && !free_block(d, ts, *was, 0))
        return 0;
    d->live = mt_pf_sum(d->live, size);
    return remember(d, where, size, lane) && emit(d, MT_ACT_ALLOC, ts, where, size, stack);
}

int mt_pf_free(struct mt_pf_feed *d, int64_t ts, const uint64_t *addr, uint64_t size, uint32_t lane,
               mt_stack_id stack)
{
    const uint32_t *there = addr != NULL ? mt_pf_map_get(&d->by_addr, *addr) : NULL;
    uint32_t at = addr == NULL ? of_size(d, size, lane) : there != NULL ? *there : 0;
    if (d->nomem)
        return 0;
    if (at != 0 && d->blocks.p[at - 1].size == size)
        return free_block(d, ts, at, stack);
    /* the sizes differ: what was there is gone, and something else was freed */
    if (at != 0 && !free_block(d, ts, at, 0))
        return 0;
    return free_old(d, ts, addr != NULL ? *addr : make_up(d, size), size, stack);
}

static int pile_up(struct mt_pf_feed *d, int64_t ts, uint64_t size, uint32_t lane,
                   mt_stack_id stack)
{
    struct mt_pf_block *k = MT_VEC_PUSH(&d->pile[lane]);
    if (k == NULL)
        return nomem(d);
    k->addr = make_up(d, size);
    k->size = size;
    d->live = mt_pf_sum(d->live, size);
    return emit(d, MT_ACT_ALLOC, ts, k->addr, size, stack);
}

int mt_pf_change(struct mt_pf_feed *d, int64_t ts, int64_t bytes, uint32_t lane, mt_stack_id stack)
{
    uint64_t left = bytes < 0 ? 0 - (uint64_t)bytes : 0;
    uint32_t at;
    if (bytes > 0)
        return pile_up(d, ts, (uint64_t)bytes, lane, stack);
    while (left != 0 && d->pile[lane].n != 0) {
        struct mt_pf_block k = d->pile[lane].p[--d->pile[lane].n];
        d->live = mt_pf_sum(d->live, 0 - k.size);
        if (!emit(d, MT_ACT_FREE_COMPLETED, ts, k.addr, k.size, 0))
            return 0;
        if (k.size > left && !pile_up(d, ts, k.size - left, lane, stack))
            return 0;
        left -= k.size < left ? k.size : left;
    }
    if (left == 0)
        return 1;
    at = of_size(d, left, lane);
    if (d->nomem)
        return 0;
    return at != 0 ? free_block(d, ts, at, 0) : free_old(d, ts, make_up(d, left), left, 0);
}

int mt_pf_reserve(struct mt_pf_feed *d, int64_t ts, uint64_t reserved, mt_stack_id stack)
{
    bool more = reserved > d->reserved;
    uint64_t by = more ? reserved - d->reserved : d->reserved - reserved;
    d->reserved = reserved;
    return by == 0 || emit(d, more ? MT_ACT_SEGMENT_ALLOC : MT_ACT_SEGMENT_FREE, ts, 0, by, stack);
}

int mt_pf_refused_request(struct mt_pf_feed *d, int64_t ts, uint64_t size, mt_stack_id stack)
{
    return emit(d, MT_ACT_OOM, ts, 0, size, stack);
}
