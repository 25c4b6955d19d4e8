/* The state between two events, and the keyframes made of it. */
#include "render/pack/impl.h"

#include <string.h>

static uint32_t new_slot(struct mt_pack_state *s)
{
    uint32_t slot = s->free_head;
    if (slot != MT_NO_SLOT) {
        s->free_head = s->block.p[slot].next;
        return slot;
    }
    return MT_VEC_PUSH(&s->block) != NULL ? s->block.n - 1 : MT_NO_SLOT;
}

/* Ids only grow, so the list stays in their order. */
static void append(struct mt_pack_state *s, uint32_t slot)
{
    struct mt_pack_block *b = &s->block.p[slot];
    b->prev = s->tail;
    b->next = MT_NO_SLOT;
    if (s->tail != MT_NO_SLOT)
        s->block.p[s->tail].next = slot;
    else
        s->head = slot;
    s->tail = slot;
    s->n_live++;
}

void mt_state_drop(struct mt_pack_state *s, uint32_t slot)
{
    struct mt_pack_block *b = &s->block.p[slot];
    if (b->prev != MT_NO_SLOT)
        s->block.p[b->prev].next = b->next;
    else
        s->head = b->next;
    if (b->next != MT_NO_SLOT)
        s->block.p[b->next].prev = b->prev;
    else
        s->tail = b->prev;
    b->next = s->free_head;
    s->free_head = slot;
    s->n_live--;
}

/* ---- addresses ---- */

static bool find_place(const struct mt_pack_state *s, uint64_t addr, uint32_t *place)
{
    return mt_addrmap_get(&s->places, addr, place) ||
           (s->others.n != 0 && mt_addrmap_get(&s->others, addr, place));
}

/* What is live at an address where the trace has allocated. */
static bool live_at(const struct mt_pack_state *s, uint64_t addr, uint32_t *slot)
{
    uint32_t place;
    if (!find_place(s, addr, &place))
        return false;
    *slot = s->slot_at.p[place];
    return *slot != MT_NO_SLOT;
}

uint32_t mt_state_find(const struct mt_pack_state *s, uint64_t addr)
{
    uint32_t slot;
    return live_at(s, addr, &slot) || mt_addrmap_get(&s->old_at, addr, &slot) ? slot : MT_NO_SLOT;
}

static int new_place(struct mt_pack_state *s, uint64_t addr, uint32_t *place)
{
    uint32_t old;
    bool had;
    if (s->free_place != MT_NO_SLOT) {
        *place = s->free_place;
        s->free_place = s->slot_at.p[*place];
    } else {
        if (MT_VEC_PUSH(&s->slot_at) == NULL)
            return 0;
        *place = s->slot_at.n - 1;
    }
    s->slot_at.p[*place] = MT_NO_SLOT;
    return mt_addrmap_put(*place < MT_PLACES_MOST ? &s->places : &s->others, addr, *place, &had,
                          &old);
}

/* A block is no longer there; a place without a number has another address next. */
static void leave(struct mt_pack_state *s, uint32_t slot)
{
    const struct mt_pack_block *b = &s->block.p[slot];
    uint32_t unused;
    s->slot_at.p[b->place] = MT_NO_SLOT;
    if (b->place < MT_PLACES_MOST)
        return;
    (void)mt_addrmap_take(&s->others, b->addr, &unused);
    s->slot_at.p[b->place] = s->free_place;
    s->free_place = b->place;
}

int mt_state_add(struct mt_pack_state *s, struct mt_pack_block *b, uint32_t *lost, bool *is_new)
{
    uint32_t slot = new_slot(s);
    *is_new = !find_place(s, b->addr, &b->place);
    if (slot == MT_NO_SLOT || (*is_new && !new_place(s, b->addr, &b->place)))
        return 0;
    s->block.p[slot] = *b;
    append(s, slot);
    *lost = s->slot_at.p[b->place];
    s->slot_at.p[b->place] = slot;
    return 1;
}

/* The frees of blocks older than the trace come in the order of r->old. */
static uint32_t take_old(struct mt_pack_state *s, uint64_t addr)
{
    uint32_t slot, old;
    bool had;
    if (s->next_old >= s->n_old)
        return MT_NO_SLOT;
    slot = s->next_old++;
    if (s->block.p[slot].addr != addr)
        return MT_NO_SLOT;
    if (mt_addrmap_take(&s->old_at, addr, &old) && s->same_old[slot] != MT_NO_SLOT &&
        !mt_addrmap_put(&s->old_at, addr, s->same_old[slot], &had, &old))
        return MT_NO_SLOT;
    return slot;
}

uint32_t mt_state_take(struct mt_pack_state *s, uint64_t addr)
{
    uint32_t slot;
    if (!live_at(s, addr, &slot))
        return take_old(s, addr);
    leave(s, slot);
    return slot;
}

bool mt_state_is_next(const struct mt_pack_state *s, uint32_t slot)
{
    return s->block.p[slot].id >= s->n_old || slot == s->next_old;
}

void mt_state_take_found(struct mt_pack_state *s, uint32_t slot)
{
    if (s->block.p[slot].id >= s->n_old)
        leave(s, slot);
    else
        (void)take_old(s, s->block.p[slot].addr);
}

/* ---- segments ---- */

static uint32_t span_id(uint32_t lane, bool expandable)
{
    return lane << 1 | (expandable ? 1u : 0u);
}

static bool joins(const void *ctx, uint32_t a, uint32_t b)
{
    (void)ctx;
    return a == b && (a & 1) != 0;
}

int mt_state_segment(struct mt_pack_state *s, const struct mt_event *e, uint32_t lane)
{
    bool adds = e->action == MT_ACT_SEGMENT_ALLOC || e->action == MT_ACT_SEGMENT_MAP;
    uint32_t id = span_id(lane, e->action == MT_ACT_SEGMENT_MAP);
    enum mt_span_rc rc;
    if (!s->spans_known)
        return 1;
    rc = adds ? mt_spanset_add(&s->span, e->addr, e->size, id, joins, NULL)
              : mt_spanset_cut(&s->span, e->addr, e->size);
    if (rc == MT_SPAN_CONTRADICTS) {
        s->spans_known = false;
        mt_spanset_done(&s->span);
    }
    return rc != MT_SPAN_NOMEM;
}

static int begin_spans(struct mt_pack_state *s, const struct mt_replay *r, struct mt_sites *sites)
{
    struct mt_span *span = NULL;
    uint32_t n = 0, lane = 0;
    int ok;
    if (!mt_spans_at(r, -1, &span, &n, &s->spans_known))
        return 0;
    ok = 1;
    for (uint32_t i = 0; ok && s->spans_known && i < n; i++) {
        if (i == 0 || span[i].stream != span[i - 1].stream ||
            span[i].pool[0] != span[i - 1].pool[0] || span[i].pool[1] != span[i - 1].pool[1] ||
            span[i].pool_known != span[i - 1].pool_known)
            lane = mt_sites_find_lane(sites, span[i].stream, span[i].pool, span[i].pool_known);
        ok = lane != UINT32_MAX &&
             mt_spanset_insert(&s->span, span[i].addr, span[i].addr + span[i].size,
                               span_id(lane, span[i].expandable));
    }
    mt_free(span);
    return ok;
}

/* ---- the beginning ---- */

const struct mt_segment *mt_state_last_segment(const struct mt_replay *r, uint64_t addr)
{
    const struct mt_trace *t = r->t;
    uint32_t lo = 0, hi = t->segments.n;
    bool host = r->d->kind == MT_DEV_HOST;
    while (lo < hi) { /* sorted by (is_host, device, addr): the first one behind it */
        uint32_t mid = lo + (hi - lo) / 2;
        const struct mt_segment *x = &t->segments.p[mid];
        bool before = (x->is_host != 0) != host    ? !(x->is_host != 0)
                      : x->device != r->d->ordinal ? x->device < r->d->ordinal
                                                   : x->addr <= addr;
        if (before)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    return mt_segment_is_on(&t->segments.p[lo - 1], r->d->ordinal, r->d->kind) &&
                   addr - t->segments.p[lo - 1].addr < t->segments.p[lo - 1].total
               ? &t->segments.p[lo - 1]
               : NULL;
}

static int begin_old(struct mt_pack_state *s, const struct mt_pack_in *in, struct mt_sites *sites)
{
    const struct mt_replay *r = in->r;
    struct mt_pack_block *b;
    uint32_t old;
    bool had;
    for (uint32_t i = 0; i < r->old.n; i++) {
        const struct mt_old *x = &r->old.p[i];
        const struct mt_segment *seg = mt_state_last_segment(r, x->addr);
        struct mt_attr a = mt_phaser_stack(in->ph, x->stack);
        struct mt_site_key key = {x->stack, 0, in->w->old_role[i], a.phase, a.sub};
        if (seg != NULL)
            key.lane = mt_sites_find_lane(sites, seg->stream, seg->pool, seg->pool_known != 0);
        b = key.lane != UINT32_MAX ? MT_VEC_PUSH(&s->block) : NULL;
        if (b == NULL)
            return 0;
        *b = (struct mt_pack_block){
            .addr = x->addr, .size = x->size, .id = i, .site = mt_sites_get(sites, &key)};
        if (b->site == UINT32_MAX)
            return 0;
        append(s, i);
    }
    /* Backwards, so that the earliest freed of one address is found. */
    for (uint32_t i = r->old.n; i-- > 0;) {
        if (!mt_addrmap_put(&s->old_at, r->old.p[i].addr, i, &had, &old))
            return 0;
        s->same_old[i] = had ? old : MT_NO_SLOT;
    }
    return 1;
}

int mt_state_begin(struct mt_pack_state *s, const struct mt_pack_in *in, struct mt_sites *sites)
{
    memset(s, 0, sizeof *s);
    s->free_head = s->head = s->tail = s->free_place = MT_NO_SLOT;
    s->n_old = in->r->old.n;
    s->next_id = s->n_old;
    s->live = in->r->start_live;
    s->pending = in->r->start_pending;
    s->reserved = in->r->start_reserved;
    s->same_old = mt_malloc(((size_t)s->n_old + 1) * sizeof *s->same_old);
    return s->same_old != NULL && begin_old(s, in, sites) && begin_spans(s, in->r, sites);
}

void mt_state_done(struct mt_pack_state *s)
{
    MT_VEC_DONE(&s->block);
    mt_spanset_done(&s->span);
    mt_addrmap_done(&s->places);
    mt_addrmap_done(&s->others);
    MT_VEC_DONE(&s->slot_at);
    mt_addrmap_done(&s->old_at);
    mt_free(s->same_old);
}

/* ---- keyframe ---- */

int mt_state_key(const struct mt_pack_state *s, struct mt_pack *p, uint64_t first, uint64_t tick,
                 struct mt_blob *out)
{
    enum { HEAD, ID, SITE, SIZE, REST, STATE, EVENT, ADDRESS, SEG_ADDRESS, SEG_SIZE, SEG_LANE, N };
    _Static_assert(N <= MT_BLOB_COLUMNS, "they may wait");
    struct mt_bytes c[N];
    const struct mt_spanset_item *x;
    struct mt_spanset_at at;
    uint64_t id = 0, addr = 0;
    int rc;
    memset(c, 0, sizeof c);
    mt_put_var(&c[HEAD], first);
    mt_put_var(&c[HEAD], tick);
    mt_put_var(&c[HEAD], s->next_id);
    mt_put_var(&c[HEAD], s->live > 0 ? (uint64_t)s->live : 0);
    mt_put_zig(&c[HEAD], s->pending);
    mt_put_var(&c[HEAD], s->reserved > 0 ? (uint64_t)s->reserved : 0);
    mt_put_var(&c[HEAD], s->n_live);
    mt_put_var(&c[HEAD], s->spans_known ? (uint64_t)s->span.n + 1 : 0);
    for (uint32_t i = s->head; i != MT_NO_SLOT; i = s->block.p[i].next) {
        const struct mt_pack_block *b = &s->block.p[i];
        mt_put_var(&c[ID], b->id - id);
        mt_put_var(&c[SITE], b->site);
        mt_put_var(&c[SIZE], b->size / 512);
        mt_put_var(&c[REST], b->size % 512);
        mt_put_byte(&c[STATE], b->pending);
        mt_put_var(&c[EVENT], b->event);
        if (p->addr_unit != 0)
            mt_put_zig(&c[ADDRESS],
                       (int64_t)(b->addr / p->addr_unit) - (int64_t)(addr / p->addr_unit));
        id = b->id;
        addr = b->addr;
    }
    addr = 0;
    for (x = mt_spanset_find(&s->span, 0, &at); x != NULL; x = mt_spanset_next(&s->span, &at)) {
        if (p->addr_unit != 0)
            mt_put_var(&c[SEG_ADDRESS], x->addr / p->addr_unit - addr / p->addr_unit);
        mt_put_var(&c[SEG_SIZE], x->end - x->addr);
        mt_put_var(&c[SEG_LANE], x->id);
        addr = x->addr;
    }
    /* a page with all events has the first alone, and that one is mostly of few blocks */
    rc = first == 0 ? mt_blob_quick(&p->press, out, c, N)
                    : mt_pack_seldom(p, out, c, N, MT_BLOB_QUICK);
    for (int i = 0; i < N; i++)
        mt_bytes_done(&c[i]);
    return rc;
}
