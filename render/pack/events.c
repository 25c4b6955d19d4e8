/* The walk over the events: operations into columns, chunk by chunk, and the overviews beside them.
 */
#include "render/pack/impl.h"

#include <string.h>

enum { PLACES, OTHER_PLACES = 3, SPANS, LANES, N_ADDRESSES };
#define TOLERANCE_NS UINT64_C(100000)

/* Gaps between operations, fine or in steps. */
struct clock {
    struct mt_bytes col[2]; /* bytes; gaps that need more */
    uint64_t tick;          /* what the reader has reached */
};

struct walk {
    const struct mt_pack_in *in;
    struct mt_pack *p;
    struct mt_sites sites;
    struct mt_pack_state s;
    struct mt_pack_pools pools;
    struct mt_ovs overviews;
    struct mt_bytes col[N_OPERATION_COLUMNS], rest[N_SIZES], addr[N_ADDRESSES];
    struct mt_bytes places; /* addresses that have a number */
    uint64_t last_place;
    bool has_rest;
    struct mt_blob_kind kind[3]; /* of events, remainders, addresses */
    struct clock fine, coarse;
    int64_t role[MT_ROLE_COUNT];
    uint64_t tolerance;            /* in ticks */
    uint64_t last_addr, last_span; /* in units, of this chunk */
    /* of the chunks in a page, without addresses, with coarse times */
    uint64_t cost;
    uint64_t key_at;    /* event of the last keyframe */
    uint32_t in_chunk;  /* events */
    uint64_t i, tick;   /* event at work; its time, where there are times */
    uint64_t base;      /* of the stretch of events at work, in ticks */
    const uint16_t *us; /* ticks since then; NULL = other times, or ticks */
    uint32_t whole;     /* slot: the completion at i is part of the operation before; MT_NO_SLOT */
    uint32_t lane_of_last, lane_cached; /* lanes change seldom */
};

static struct mt_ov_now now(const struct walk *w, uint64_t event)
{
    return (struct mt_ov_now){w->s.live > 0 ? (uint64_t)w->s.live : 0,
                              w->s.pending > 0 ? (uint64_t)w->s.pending : 0,
                              w->s.reserved > 0 ? (uint64_t)w->s.reserved : 0, w->role, event};
}

/* ---- time ---- */

/* The byte whose value is nearest, or 255. */
static inline void put_time(struct clock *c, uint64_t tick, uint64_t tolerance)
{
    uint64_t d = tick > c->tick ? tick - c->tick : 0;
    unsigned shift = 60u - (unsigned)__builtin_clzll(d | 8); /* leaves 8 to 15, or less than 8 */
    uint64_t m = (d + (UINT64_C(1) << shift >> 1)) >> shift, value = m << shift;
    unsigned b = (shift << 3) + (unsigned)m; /* of 16 as of 8 one shift further */
    uint64_t reached = c->tick + value, off = reached > tick ? reached - tick : tick - reached;
    if (b >= 255 || off > tolerance) {
        b = 255;
        mt_put_zig(&c->col[1], (int64_t)tick - (int64_t)c->tick);
        reached = tick;
    }
    mt_put_byte(&c->col[0], b);
    c->tick = reached;
}

/* Rounded, but never to behind the end. */
static void put_times(struct walk *w, uint64_t tick)
{
    uint64_t step = w->p->time_step, rounded = (tick + step / 2) & ~(step - 1); /* a power of 2 */
    put_time(&w->fine, tick, w->tolerance);
    if (step > 1)
        put_time(&w->coarse, rounded < w->p->end ? rounded : w->p->end, w->tolerance);
}

/* ---- operations ---- */

static void put_op(struct walk *w, uint64_t op)
{
    mt_put_wide(&w->col[OPS], op);
    if (w->p->has_time)
        put_times(w, w->tick);
}

static void put_special(struct walk *w, unsigned kind)
{
    put_op(w, OP_SPECIAL);
    mt_put_byte(&w->col[SPECIALS], kind);
}

static void put_ref(struct walk *w, unsigned kind, uint32_t slot)
{
    put_special(w, kind);
    mt_put_var(&w->col[SPECIALS], w->s.next_id - w->s.block.p[slot].id);
}

static void put_size(struct walk *w, unsigned kind, uint64_t size)
{
    put_special(w, kind);
    mt_put_var(&w->col[SPECIALS], size);
}

static uint32_t lane_of(struct walk *w, const struct mt_event *e)
{
    uint32_t key = (uint32_t)e->lane << 1 | ((e->flags & MT_EV_POOL_KNOWN) != 0 ? 1u : 0u);
    if (key != w->lane_of_last || w->lane_cached == UINT32_MAX) {
        w->lane_cached = mt_sites_lane(&w->sites, e->lane, (key & 1) != 0);
        w->lane_of_last = key;
    }
    return w->lane_cached;
}

static uint32_t site_of(struct walk *w, const struct mt_event *e, unsigned role)
{
    struct mt_attr a = w->in->attr[w->i];
    struct mt_site_key k = {e->stack, lane_of(w, e), (uint8_t)role, a.phase, a.sub};
    return k.lane != UINT32_MAX ? mt_sites_get(&w->sites, &k) : UINT32_MAX;
}

static void put_address(const struct walk *w, struct mt_bytes *to, uint64_t addr, uint64_t *last)
{
    uint64_t units = addr / w->p->addr_unit;
    mt_put_zig(to, (int64_t)units - (int64_t)*last);
    *last = units;
}

/* An allocator hands out the same addresses again and again: the track has a list of them. */
static void put_place(struct walk *w, const struct mt_pack_block *b, bool is_new)
{
    bool numbered = b->place < MT_PLACES_MOST;
    if (w->p->addr_unit == 0)
        return;
    mt_put_wide(&w->addr[PLACES], numbered ? (uint64_t)b->place + 1 : 0);
    if (!numbered)
        put_address(w, &w->addr[OTHER_PLACES], b->addr, &w->last_addr);
    else if (is_new)
        put_address(w, &w->places, b->addr, &w->last_place);
}

/* Wraps instead of overflowing: live bytes are bounded, those of one role are not where a trace
 * contradicts itself. */
static void add_to(int64_t *total, uint64_t bytes) { *total = (int64_t)((uint64_t)*total + bytes); }

static int alloc(struct walk *w, const struct mt_event *e)
{
    unsigned role = w->in->w->fate[w->i].role;
    struct mt_pack_block b = {
        .addr = e->addr, .size = e->size, .id = w->s.next_id, .event = (uint32_t)w->i + 1};
    uint32_t lost;
    bool is_new;
    b.site = site_of(w, e, role);
    if (b.site == UINT32_MAX || !mt_state_add(&w->s, &b, &lost, &is_new))
        return 0;
    if (lost != MT_NO_SLOT) { /* its free is not in the trace: the account never gets it back */
        put_ref(w, S_LOST, lost);
        mt_state_drop(&w->s, lost);
        w->p->n_lost++;
    }
    put_op(w, OP_ALLOC);
    mt_put_wide(&w->col[SITES], b.site);
    mt_put_wide(&w->col[SIZES], e->size / 512);
    mt_put_wide(w->rest, e->size % 512);
    w->has_rest = w->has_rest || e->size % 512 != 0;
    w->s.next_id++;
    w->s.live += (int64_t)e->size;
    add_to(&w->role[role], e->size);
    put_place(w, &b, is_new);
    return 1;
}

/* Whether the next event comes soon enough to have the same time. */
static bool follows(const struct mt_device *d, uint64_t i)
{
    uint64_t ns = mt_event_ns(d, i), next = mt_event_ns(d, i + 1);
    return next >= ns && next - ns <= TOLERANCE_NS;
}

/* Whether the free requested now is completed by the very next event, for one operation to say
 * both. */
static bool is_whole(const struct walk *w, const struct mt_event *e, uint32_t slot)
{
    const struct mt_event *c;
    if (w->in_chunk + 2 > MT_PACK_CHUNK || w->i + 1 >= w->p->n_events ||
        w->s.block.p[slot].pending || w->s.block.p[slot].size != e->size)
        return false;
    c = mt_event_at(w->in->r->d, w->i + 1);
    return c->action == MT_ACT_FREE_COMPLETED && c->addr == e->addr && c->size == e->size &&
           (!w->p->has_time || follows(w->in->r->d, w->i)) && mt_state_is_next(&w->s, slot);
}

static void requested(struct walk *w, const struct mt_event *e)
{
    uint32_t slot = mt_state_find(&w->s, e->addr);
    w->s.pending += (int64_t)e->size;
    if (slot == MT_NO_SLOT || w->s.block.p[slot].size != e->size) {
        put_size(w, S_UNKNOWN_REQUESTED, e->size);
    } else if (is_whole(w, e, slot)) {
        put_op(w, OP_WHOLE + w->s.next_id - w->s.block.p[slot].id - 1);
        w->whole = slot;
    } else {
        put_ref(w, S_REQUESTED, slot);
        w->s.block.p[slot].pending = true;
    }
}

static void completed(struct walk *w, const struct mt_event *e)
{
    const struct mt_fate *f = &w->in->w->fate[w->i];
    uint32_t next_old = w->s.next_old, slot = w->whole;
    unsigned role = f->freed != MT_NEVER    ? f->role
                    : next_old < w->s.n_old ? w->in->w->old_role[next_old]
                                            : MT_ROLE_UNKNOWN;
    w->s.live -= (int64_t)e->size;
    w->s.pending -= (int64_t)e->size;
    add_to(&w->role[role < MT_ROLE_COUNT ? role : MT_ROLE_UNKNOWN], -e->size);
    if (slot != MT_NO_SLOT)
        mt_state_take_found(&w->s, slot);
    else
        slot = mt_state_take(&w->s, e->addr);
    if (w->whole != MT_NO_SLOT) {
        w->whole = MT_NO_SLOT;
    } else if (slot != MT_NO_SLOT && w->s.block.p[slot].size == e->size) {
        put_ref(w, S_COMPLETED, slot);
    } else { /* another size than was allocated: the block ends, and the books lose what the event
                says */
        if (slot != MT_NO_SLOT) {
            put_ref(w, S_LOST, slot);
            w->p->n_lost++;
        }
        put_size(w, S_UNKNOWN_COMPLETED, e->size);
    }
    if (slot != MT_NO_SLOT)
        mt_state_drop(&w->s, slot);
}

static int segment(struct walk *w, const struct mt_event *e)
{
    static const unsigned kind[] = {S_SEGMENT_ALLOC, S_SEGMENT_FREE, S_SEGMENT_MAP,
                                    S_SEGMENT_UNMAP};
    bool adds = e->action == MT_ACT_SEGMENT_ALLOC || e->action == MT_ACT_SEGMENT_MAP;
    uint32_t lane = lane_of(w, e);
    const struct mt_segment *last = adds && (e->flags & MT_EV_POOL_KNOWN) == 0
                                        ? mt_pools_last(&w->pools, w->in->r, w->i)
                                        : NULL;
    if (last != NULL)
        lane = mt_sites_find_lane(&w->sites, last->stream, last->pool, true);
    if (lane == UINT32_MAX || w->pools.failed)
        return 0;
    put_size(w, kind[e->action - MT_ACT_SEGMENT_ALLOC], e->size);
    if (w->p->addr_unit != 0) {
        put_address(w, &w->addr[SPANS], e->addr, &w->last_span);
        mt_put_var(&w->addr[LANES], lane);
    }
    w->s.reserved += adds ? (int64_t)e->size : -(int64_t)e->size;
    return mt_state_segment(&w->s, e, lane);
}

static int event(struct walk *w, const struct mt_event *e)
{
    uint32_t site;
    switch ((enum mt_action)e->action) {
    case MT_ACT_ALLOC: return alloc(w, e);
    case MT_ACT_FREE_REQUESTED: requested(w, e); break;
    case MT_ACT_FREE_COMPLETED: completed(w, e); break;
    case MT_ACT_SEGMENT_ALLOC:
    case MT_ACT_SEGMENT_FREE:
    case MT_ACT_SEGMENT_MAP:
    case MT_ACT_SEGMENT_UNMAP: return segment(w, e);
    case MT_ACT_OOM:
        site = site_of(w, e, MT_ROLE_UNKNOWN);
        if (site == UINT32_MAX)
            return 0;
        put_size(w, S_OOM, e->size);
        mt_put_var(&w->col[SPECIALS], e->addr);
        mt_put_var(&w->col[SPECIALS], (uint64_t)site + 1);
        break;
    case MT_ACT_SNAPSHOT: put_size(w, S_SNAPSHOT, e->size); break;
    case MT_ACT_OTHER:
    case MT_ACT_ANNOTATE:
    case MT_ACT_COUNT: put_special(w, S_OTHER); break;
    }
    return 1;
}

/* ---- chunks ---- */

/* A keyframe costs as much as there are live blocks: made only where the events since the last one
 * pay for it. */
static bool gets_key(const struct walk *w)
{
    return w->i == 0 || w->i - w->key_at >= 4 * ((uint64_t)w->s.n_live + w->s.span.n);
}

static int begin_chunk(struct walk *w)
{
    struct mt_pack_chunk *c = MT_VEC_PUSH(&w->p->chunks);
    if (c == NULL)
        return 0;
    c->first = w->i;
    c->wanted = w->p->wanted[w->i / MT_PACK_CHUNK];
    w->in_chunk = 0;
    w->has_rest = false;
    w->last_addr = w->last_span = 0;
    if (!gets_key(w))
        return 1;
    w->key_at = w->i;
    return mt_state_key(&w->s, w->p, w->i, w->fine.tick, &c->key);
}

/* Of a chunk without addresses and, where they do not wait, with coarse times. */
static uint64_t cost_of(const struct mt_pack_chunk *c)
{
    return mt_blob_cost(&c->events) + mt_blob_cost(&c->rest) +
           mt_blob_cost(mt_chunk_times(c, c->coarse.waits == MT_BLOB_MADE));
}

/* Nothing waits any more where the page may be too small for the whole track: then it needs that,
 * and how much it takes is known. */
static int settle(struct walk *w)
{
    if (!w->p->waits || w->p->max_size == 0 || w->cost <= w->p->max_size)
        return 1;
    if (!mt_pack_settle(w->p))
        return 0;
    w->cost = 0;
    for (uint32_t i = 0; i < w->p->chunks.n; i++)
        w->cost += cost_of(&w->p->chunks.p[i]);
    return 1;
}

/* A page that cannot hold the whole track needs the chunks with findings only, and those before one
 * that has no keyframe. */
static bool is_needed(struct walk *w, const struct mt_pack_chunk *c)
{
    w->p->partial = w->p->partial || (w->p->max_size != 0 && w->cost > w->p->max_size);
    return !w->p->partial || c->wanted || !gets_key(w);
}

static int end_times(struct walk *w, struct mt_pack_chunk *c)
{
    return !w->p->has_time || (mt_blob_noise(&w->p->press, &c->times, w->fine.col, 2) &&
                               (w->p->time_step == 1 ||
                                mt_pack_seldom(w->p, &c->coarse, w->coarse.col, 2, MT_BLOB_NOISE)));
}

static int end_chunk(struct walk *w)
{
    struct mt_pack_chunk *c = &w->p->chunks.p[w->p->chunks.n - 1];
    c->n = w->in_chunk;
    c->has_rest = w->has_rest;
    if (!settle(w))
        return 0;
    if (!is_needed(w, c)) {
        for (int i = 0; i < N_OPERATION_COLUMNS; i++)
            w->col[i].n = 0;
        for (int i = 0; i < N_ADDRESSES; i++)
            w->addr[i].n = 0;
        w->rest[0].n = w->rest[1].n = 0;
        w->fine.col[0].n = w->fine.col[1].n = w->coarse.col[0].n = w->coarse.col[1].n = 0;
        return 1;
    }
    if (!mt_blob_next(&w->p->press, &c->events, w->col, N_OPERATION_COLUMNS, &w->kind[0]) ||
        !end_times(w, c))
        return 0;
    if (w->has_rest && !mt_blob_next(&w->p->press, &c->rest, w->rest, N_SIZES, &w->kind[1]))
        return 0;
    w->rest[0].n = w->rest[1].n = 0;
    w->cost += cost_of(c);
    return w->p->addr_unit == 0 ||
           mt_blob_next(&w->p->press, &c->addresses, w->addr, N_ADDRESSES, &w->kind[2]);
}

/* Most times are whole microseconds, and so are most ticks: no division for these. */
static void next_time(struct walk *w)
{
    const struct mt_device *d = w->in->r->d;
    uint64_t k = w->i & (MT_STRETCH_EVENTS - 1);
    if (k == 0) {
        const struct mt_stretch *s = &d->events.stretches.p[w->i >> MT_STRETCH_SHIFT];
        w->us = s->width == MT_STRETCH_US && w->p->tick_ns == 1000 ? s->us : NULL;
        w->base = mt_pack_tick(w->p, s->first_ns);
    }
    w->tick = w->us != NULL ? w->base + w->us[k] : mt_pack_tick(w->p, mt_event_ns(d, w->i));
}

static int walk(struct walk *w)
{
    const struct mt_device *d = w->in->r->d;
    struct mt_ov_now at = now(w, 0);
    int64_t old = 0;
    for (uint32_t i = 0; i < w->s.n_old; i++) {
        add_to(&w->role[w->in->w->old_role[i]], w->in->r->old.p[i].size);
        add_to(&old, w->in->r->old.p[i].size);
    }
    /* where the trace contradicts itself */
    add_to(&w->role[MT_ROLE_UNKNOWN], (uint64_t)w->s.live - (uint64_t)old);
    if (!mt_ovs_begin(&w->overviews, w->p, &at))
        return 0;
    for (w->i = 0; w->i < w->p->n_events; w->i++) {
        const struct mt_event *e = mt_event_at(d, w->i);
        bool falls = e->action == MT_ACT_FREE_COMPLETED;
        if (w->p->has_time)
            next_time(w);
        if (w->in_chunk == MT_PACK_CHUNK || w->i == 0) {
            if ((w->i != 0 && !end_chunk(w)) || !begin_chunk(w))
                return 0;
        }
        mt_ovs_before(&w->overviews, w->i, w->tick, falls, &at);
        if (!event(w, e))
            return 0;
        w->in_chunk++;
        at = now(w, w->i + 1);
        mt_ovs_after(&w->overviews, &at, w->in->attr[w->i].phase);
    }
    return (w->p->n_events == 0 || end_chunk(w)) && mt_ovs_end(&w->overviews, &at) &&
           mt_sites_blob(&w->sites, &w->p->press, w->in->o, &w->p->sites) &&
           (w->p->addr_unit == 0 || mt_blob_make(&w->p->press, &w->p->places, &w->places, 1));
}

int mt_pack_events(const struct mt_pack_in *in)
{
    struct walk *w = mt_calloc(1, sizeof *w);
    int ok;
    if (w == NULL)
        return 0;
    w->in = in;
    w->p = in->pack;
    w->lane_cached = UINT32_MAX;
    w->whole = MT_NO_SLOT;
    w->tolerance = TOLERANCE_NS / (in->pack->tick_ns != 0 ? in->pack->tick_ns : 1);
    ok = mt_sites_begin(&w->sites, in->r->t) && mt_state_begin(&w->s, in, &w->sites) && walk(w);
    for (int i = 0; i < N_OPERATION_COLUMNS; i++)
        mt_bytes_done(&w->col[i]);
    for (int i = 0; i < N_ADDRESSES; i++)
        mt_bytes_done(&w->addr[i]);
    for (int i = 0; i < N_SIZES; i++)
        mt_bytes_done(&w->rest[i]);
    for (int i = 0; i < 2; i++) {
        mt_bytes_done(&w->fine.col[i]);
        mt_bytes_done(&w->coarse.col[i]);
    }
    mt_bytes_done(&w->places);
    mt_ovs_done(&w->overviews);
    mt_pools_done(&w->pools);
    mt_state_done(&w->s);
    mt_sites_done(&w->sites);
    mt_free(w);
    return ok;
}
