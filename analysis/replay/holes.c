/* The free space inside the segments at a moment: segments of the end state with the later segment
 * events undone, minus the blocks that are live then. Sizes of live blocks are rounded up to 512
 * bytes as the allocator does. A rest of up to 1 MiB behind a block of a large segment was never
 * split off (c10/cuda/CUDACachingAllocator.cpp, should_split): it belongs to that block and serves
 * nobody. Where such a rest lies before a free block they look like one hole, so a hole is an upper
 * bound by less than 1 MiB. */
#include "analysis/replay/replay.h"

#include "analysis/base/spanset.h"

#include <stdlib.h>
#include <string.h>

#define ROUND UINT64_C(512)
#define SMALL_LIMIT (UINT64_C(1) << 20) /* requests up to 1 MiB are served from small segments */
#define SMALL_SEGMENT (UINT64_C(2) << 20)

/* The id of a range in the set says where its stream and pool are: OF_SEGMENT | index of a segment
 * of the end state, or the lane of an event << 2 | POOL_KNOWN | EXPANDABLE. */
#define OF_SEGMENT (UINT32_C(1) << 31)
enum { POOL_KNOWN = 2, EXPANDABLE = 1 };

static struct mt_span span_of(const struct mt_trace *t, const struct mt_spanset_item *x)
{
    struct mt_span to = {.addr = x->addr, .size = x->end - x->addr};
    if ((x->id & OF_SEGMENT) != 0) {
        const struct mt_segment *s = &t->segments.p[x->id & ~OF_SEGMENT];
        to.stream = s->stream;
        memcpy(to.pool, s->pool, sizeof to.pool);
        to.pool_known = s->pool_known;
        to.expandable = s->is_expandable;
        to.large = s->is_large;
    } else {
        const struct mt_lane *l = &t->lanes.p[x->id >> 2];
        to.stream = l->stream;
        memcpy(to.pool, l->pool, sizeof to.pool);
        to.pool_known = (x->id & POOL_KNOWN) != 0;
        to.expandable = (x->id & EXPANDABLE) != 0;
        to.large = to.size > SMALL_SEGMENT;
    }
    return to;
}

/* Whether two ranges join: mapped pages of one stream that touch are one space to allocate from. */
static bool joins(const void *ctx, uint32_t a, uint32_t b)
{
    struct mt_span x = span_of(ctx, &(struct mt_spanset_item){.id = a}),
                   y = span_of(ctx, &(struct mt_spanset_item){.id = b});
    return x.expandable && y.expandable && x.stream == y.stream;
}

static enum mt_span_rc undo_segment_event(struct mt_spanset *set, const struct mt_trace *t,
                                          const struct mt_event *e)
{
    uint32_t id = (uint32_t)e->lane << 2 | ((e->flags & MT_EV_POOL_KNOWN) != 0 ? POOL_KNOWN : 0u) |
                  (e->action == MT_ACT_SEGMENT_UNMAP ? EXPANDABLE : 0u);
    if (!mt_action_is_segment(e->action))
        return MT_SPAN_OK;
    if (e->action == MT_ACT_SEGMENT_ALLOC || e->action == MT_ACT_SEGMENT_MAP)
        return mt_spanset_cut(set, e->addr, e->size);
    return mt_spanset_add(set, e->addr, e->size, id, joins, t);
}

static enum mt_span_rc build_spans(const struct mt_replay *r, int64_t at, struct mt_spanset *set)
{
    const struct mt_trace *t = r->t;
    enum mt_span_rc rc = MT_SPAN_OK;
    for (uint32_t i = 0; rc == MT_SPAN_OK && i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (mt_segment_is_on(s, r->d->ordinal, r->d->kind))
            rc = mt_spanset_add(set, s->addr, s->total, OF_SEGMENT | i, joins, t);
    }
    for (uint64_t i = r->d->events.n < r->n_segment_events ? r->d->events.n : r->n_segment_events;
         rc == MT_SPAN_OK && i-- > 0 && (int64_t)i > at;)
        rc = undo_segment_event(set, t, mt_event_at(r->d, i));
    return rc;
}

static int by_addr(const void *pa, const void *pb)
{
    const struct mt_live *a = pa, *b = pb;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

int mt_spans_at(const struct mt_replay *r, int64_t at, struct mt_span **out, uint32_t *n,
                bool *known)
{
    struct mt_spanset set = {.n = 0};
    enum mt_span_rc rc = build_spans(r, at, &set);
    struct mt_spanset_at pos;
    const struct mt_spanset_item *x;
    *n = 0;
    *known = rc == MT_SPAN_OK && !r->d->has_totals; /* sums are no segments */
    *out = rc != MT_SPAN_NOMEM ? mt_malloc(((size_t)set.n + 1) * sizeof **out) : NULL;
    if (*known && *out != NULL)
        for (x = mt_spanset_find(&set, 0, &pos); x != NULL; x = mt_spanset_next(&set, &pos))
            (*out)[(*n)++] = span_of(r->t, x);
    mt_spanset_done(&set);
    return *out != NULL;
}

bool mt_span_serves(const struct mt_span *x, const struct mt_wish *w)
{
    if (w->request == 0)
        return true;
    if (x->stream != w->stream)
        return false;
    if (x->pool_known && (x->pool[0] != w->pool[0] || x->pool[1] != w->pool[1]))
        return false; /* a request whose pool was not recorded (before PyTorch 2.12) is taken for
                         one of the common pool */
    return x->expandable || (x->size > SMALL_SEGMENT) == (w->request > SMALL_LIMIT);
}

/* Whether the free range is the unsplit rest of the block before it. */
static bool is_rest(const struct mt_span *x, uint64_t from, uint64_t size)
{
    return from > x->addr && size <= SMALL_LIMIT && x->size > SMALL_SEGMENT && !x->expandable;
}

/* Whether a span serves requests of the other size: small and large ones never share a segment. A
 * block in an expandable segment tells which of the two it is for. */
static bool is_other_size(const struct mt_span *x, const struct mt_wish *w,
                          const struct mt_live *first)
{
    return x->expandable && w->request != 0 && first->addr < x->addr + x->size &&
           (first->size > SMALL_LIMIT) != (w->request > SMALL_LIMIT);
}

/* row: of the table by pool. What is no hole of it, the unsplit rest of a block, is rounding. */
static void add_hole(struct mt_state *s, struct mt_pool_row *row, uint64_t size, bool rest,
                     bool usable)
{
    if (size == 0)
        return;
    if (!rest) {
        row->n_free_blocks++;
        row->free += size;
        row->largest_free = size > row->largest_free ? size : row->largest_free;
    }
    s->n_holes++;
    if (size > s->largest_free)
        s->largest_free = size;
    if (usable && !rest) {
        s->free_usable += size;
        if (size > s->largest_usable)
            s->largest_usable = size;
    }
}

int mt_holes(const struct mt_replay *r, const struct mt_live_set *live, uint64_t request,
             int64_t stream, bool pool_known, const uint64_t pool[2], struct mt_state *s)
{
    struct mt_span *span = NULL;
    uint32_t n = 0;
    bool known;
    struct mt_wish w = {request, stream, pool_known, {pool[0], pool[1]}};
    struct mt_live *blocks = NULL;
    uint32_t k = 0;
    int rc = 0;
    if (!mt_spans_at(r, s->event, &span, &n, &known))
        goto out;
    s->n_segments = n;
    s->n_blocks = live->n;
    if (!known) {
        rc = 1;
        goto out;
    }
    blocks = mt_malloc((live->n ? live->n : 1) * sizeof *blocks);
    if (blocks == NULL)
        goto out;
    if (live->n != 0) {
        memcpy(blocks, live->p, live->n * sizeof *blocks);
        qsort(blocks, live->n, sizeof *blocks, by_addr);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_span *x = &span[i];
        uint64_t cursor = x->addr, end = x->addr + x->size;
        bool usable = mt_span_serves(x, &w), rest;
        struct mt_pool_row *row = mt_pool_row_of(&r->out->pools_at, x);
        if (row == NULL)
            goto out;
        row->n_segments++;
        row->reserved += x->size;
        while (k < live->n && blocks[k].addr < x->addr)
            k++;
        if (k < live->n && is_other_size(x, &w, &blocks[k]))
            usable = false;
        for (; k < live->n && blocks[k].addr < end; k++) {
            uint64_t size = blocks[k].block_size ? blocks[k].block_size
                                                 : (blocks[k].size + ROUND - 1) / ROUND * ROUND;
            row->active_requested += blocks[k].size;
            if (blocks[k].addr > cursor) {
                rest = is_rest(x, cursor, blocks[k].addr - cursor);
                add_hole(s, row, blocks[k].addr - cursor, rest, usable);
            }
            if (blocks[k].addr + size > cursor)
                cursor = blocks[k].addr + size;
        }
        if (cursor < end)
            add_hole(s, row, end - cursor, is_rest(x, cursor, end - cursor), usable);
    }
    for (uint32_t i = 0; i < r->out->pools_at.n; i++)
        r->out->pools_at.p[i].active = r->out->pools_at.p[i].reserved - r->out->pools_at.p[i].free;
    s->holes_known = true;
    rc = 1;
out:
    mt_free(blocks);
    mt_free(span);
    return rc;
}
