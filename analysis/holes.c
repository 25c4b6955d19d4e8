/* The free space inside the segments at a moment: segments of the end state with the later segment events undone, minus the blocks
 * that are live then. Sizes of live blocks are rounded up to 512 bytes as the allocator does. A rest of up to 1 MiB behind a block of a
 * large segment was never split off (c10/cuda/CUDACachingAllocator.cpp, should_split): it belongs to that block and serves nobody. Where
 * such a rest lies before a free block they look like one hole, so a hole is an upper bound by less than 1 MiB. */
#include "analysis/replay.h"

#include <stdlib.h>
#include <string.h>

struct ranges {
    struct mt_span *p;
    uint32_t n, cap;
    uint64_t steps; /* work done: a hostile trace may ask for a quadratic amount */
    bool ok;
};
#define MAX_STEPS (UINT64_C(1) << 27)
#define ROUND UINT64_C(512)
#define SMALL_LIMIT (UINT64_C(1) << 20) /* requests up to 1 MiB are served from small segments */
#define SMALL_SEGMENT (UINT64_C(2) << 20)

static uint32_t lower(const struct ranges *r, uint64_t addr) /* first range that ends above addr */
{
    uint32_t lo = 0, hi = r->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (r->p[mid].addr + r->p[mid].size > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static int insert(struct ranges *r, const struct mt_span *x)
{
    uint32_t i = lower(r, x->addr);
    if (x->size == 0)
        return 1;
    if (i < r->n && r->p[i].addr < x->addr + x->size) { /* overlaps: the trace contradicts itself */
        r->ok = false;
        return 1;
    }
    if (x->expandable && i > 0 && r->p[i - 1].expandable && r->p[i - 1].stream == x->stream &&
        r->p[i - 1].addr + r->p[i - 1].size == x->addr) {
        r->p[i - 1].size += x->size;
        if (i < r->n && r->p[i].expandable && r->p[i].stream == x->stream &&
            r->p[i - 1].addr + r->p[i - 1].size == r->p[i].addr) {
            r->p[i - 1].size += r->p[i].size;
            memmove(r->p + i, r->p + i + 1, (r->n - i - 1) * sizeof *r->p);
            r->n--;
        }
        return 1;
    }
    if (x->expandable && i < r->n && r->p[i].expandable && r->p[i].stream == x->stream && x->addr + x->size == r->p[i].addr) {
        r->p[i].addr = x->addr;
        r->p[i].size += x->size;
        return 1;
    }
    if (mt_vec_push((void **)&r->p, &r->n, &r->cap, sizeof *r->p) == NULL)
        return 0;
    r->steps += r->n - i;
    memmove(r->p + i + 1, r->p + i, (r->n - 1 - i) * sizeof *r->p);
    r->p[i] = *x;
    return 1;
}

static int cut(struct ranges *r, uint64_t addr, uint64_t size)
{
    uint32_t i = lower(r, addr);
    struct mt_span *x, tail;
    if (size == 0)
        return 1;
    if (i >= r->n || r->p[i].addr > addr || r->p[i].addr + r->p[i].size < addr + size) {
        r->ok = false; /* not mapped at that time as far as we know */
        return 1;
    }
    x = &r->p[i];
    tail = *x;
    tail.addr = addr + size;
    tail.size = x->addr + x->size - tail.addr;
    x->size = addr - x->addr;
    if (x->size == 0) {
        r->steps += r->n - i;
        memmove(x, x + 1, (r->n - i - 1) * sizeof *x);
        r->n--;
    }
    return insert(r, &tail);
}

static int build(const struct mt_replay *r, int64_t at, struct ranges *out)
{
    const struct mt_trace *t = r->t;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        struct mt_span x = {s->addr, s->total, s->stream, {s->pool[0], s->pool[1]}, s->pool_known, s->is_expandable};
        if (mt_segment_is_on(s, r->d->ordinal, r->d->kind) && !insert(out, &x))
            return 0;
    }
    for (uint64_t i = r->d->events.n < r->n_segment_events ? r->d->events.n : r->n_segment_events;
         i-- > 0 && (int64_t)i > at;) {
        const struct mt_event *e = mt_event_at(r->d, i);
        const struct mt_lane *l = &t->lanes.p[e->lane];
        struct mt_span x = {e->addr,
                            e->size,
                            l->stream,
                            {l->pool[0], l->pool[1]},
                            (e->flags & MT_EV_POOL_KNOWN) != 0,
                            e->action == MT_ACT_SEGMENT_UNMAP};
        int ok = 1;
        if (e->action == MT_ACT_SEGMENT_ALLOC || e->action == MT_ACT_SEGMENT_MAP)
            ok = cut(out, e->addr, e->size);
        else if (e->action == MT_ACT_SEGMENT_FREE || e->action == MT_ACT_SEGMENT_UNMAP)
            ok = insert(out, &x);
        if (!ok)
            return 0;
        if (out->steps > MAX_STEPS || !out->ok) {
            out->ok = false;
            return 1;
        }
    }
    return 1;
}

static int by_addr(const void *pa, const void *pb)
{
    const struct mt_live *a = pa, *b = pb;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

int mt_spans_at(const struct mt_replay *r, int64_t at, struct mt_span **out, uint32_t *n, bool *known)
{
    struct ranges ranges = {.ok = true};
    if (!build(r, at, &ranges)) {
        mt_free(ranges.p);
        return 0;
    }
    *out = ranges.p;
    *n = ranges.n;
    *known = ranges.ok;
    return 1;
}

bool mt_span_serves(const struct mt_span *x, const struct mt_wish *w)
{
    if (w->request == 0)
        return true;
    if (x->stream != w->stream)
        return false;
    if (x->pool_known && (x->pool[0] != w->pool[0] || x->pool[1] != w->pool[1]))
        return false; /* a request whose pool was not recorded (before PyTorch 2.12) is taken for one of the common pool */
    return x->expandable || (x->size > SMALL_SEGMENT) == (w->request > SMALL_LIMIT);
}

/* Whether what is free behind a block is the rest of that block. */
static bool is_rest(const struct mt_span *x, uint64_t from, uint64_t size)
{
    return from > x->addr && size <= SMALL_LIMIT && x->size > SMALL_SEGMENT && !x->expandable;
}

/* Small and large requests never share a segment, so a block says which of the two an expandable one is for. */
static bool is_other_size(const struct mt_span *x, const struct mt_wish *w, const struct mt_live *first)
{
    return x->expandable && w->request != 0 && first->addr < x->addr + x->size &&
           (first->size > SMALL_LIMIT) != (w->request > SMALL_LIMIT);
}

static void hole(struct mt_state *s, uint64_t size, bool usable)
{
    if (size == 0)
        return;
    s->n_holes++;
    if (size > s->largest_free)
        s->largest_free = size;
    if (usable) {
        s->free_usable += size;
        if (size > s->largest_usable)
            s->largest_usable = size;
    }
}

int mt_holes(const struct mt_replay *r, const struct mt_live_set *live, uint64_t request, int64_t stream, bool pool_known,
             const uint64_t pool[2], struct mt_state *s)
{
    struct ranges ranges = {.ok = true};
    struct mt_wish w = {request, stream, pool_known, {pool[0], pool[1]}};
    struct mt_live *blocks = NULL;
    uint32_t k = 0;
    int rc = 0;
    if (!build(r, s->event, &ranges))
        goto out;
    s->n_segments = ranges.n;
    s->n_blocks = live->n;
    if (!ranges.ok) {
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
    for (uint32_t i = 0; i < ranges.n; i++) {
        const struct mt_span *x = &ranges.p[i];
        uint64_t cursor = x->addr, end = x->addr + x->size;
        bool usable = mt_span_serves(x, &w);
        while (k < live->n && blocks[k].addr < x->addr)
            k++;
        if (k < live->n && is_other_size(x, &w, &blocks[k]))
            usable = false;
        for (; k < live->n && blocks[k].addr < end; k++) {
            uint64_t size = blocks[k].block_size ? blocks[k].block_size : (blocks[k].size + ROUND - 1) / ROUND * ROUND;
            if (blocks[k].addr > cursor)
                hole(s, blocks[k].addr - cursor, usable && !is_rest(x, cursor, blocks[k].addr - cursor));
            if (blocks[k].addr + size > cursor)
                cursor = blocks[k].addr + size;
        }
        if (cursor < end)
            hole(s, end - cursor, usable && !is_rest(x, cursor, end - cursor));
    }
    s->holes_known = true;
    rc = 1;
out:
    mt_free(blocks);
    mt_free(ranges.p);
    return rc;
}
