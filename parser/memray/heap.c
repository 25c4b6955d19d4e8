/* memray/heap.c -- what is live: blocks by their address (live.h), mapped ranges in chunks. A free
 * gives the address alone, an munmap may take a part of a range, or of several. */
#include "parser/memray/live.h"

#include <string.h>

/* The trace has ranges at addresses that no block can have: the first block of a range may lie
 * where the range begins. */
#define RANGES_AT (UINT64_C(1) << 62)
#define MADE_UP (UINT64_C(1) << 63)
/* No kernel allows a process more: the default is 65530. */
enum { MAX_CHUNKS = 16384 };

void mt_mr_heap_done(struct mt_mr *m)
{
    for (uint32_t i = 0; i < m->chunks.n; i++)
        mt_free(m->chunks.p[i]);
    MT_VEC_DONE(&m->chunks);
    MT_VEC_DONE(&m->parts);
    MT_VEC_DONE(&m->shares);
    mt_free(m->blocks.p);
    mt_free(m->range_by_begin.p);
}

/* ---- shares of the peak ---- */

static int64_t at_peak(const struct mt_mr *m, uint32_t owner)
{
    const struct mt_mr_share *s = &m->shares.p[owner - MT_MR_KINDS];
    return s->at_peak + (s->n_peaks != m->n_peaks ? s->since : 0);
}

uint64_t mt_mr_thread_at_peak(const struct mt_mr *m, uint32_t thread)
{
    int64_t bytes = 0;
    for (unsigned kind = 0; kind < MT_MR_KINDS; kind++)
        bytes += at_peak(m, mt_mr_owner(thread, (enum mt_mr_kind)kind));
    return bytes > 0 ? (uint64_t)bytes : 0;
}

uint64_t mt_mr_kind_at_peak(const struct mt_mr *m, enum mt_mr_kind kind)
{
    int64_t bytes = 0;
    for (uint32_t thread = 1; thread <= m->threads.n; thread++)
        bytes += at_peak(m, mt_mr_owner(thread, kind));
    return bytes > 0 ? (uint64_t)bytes : 0;
}

void mt_mr_now(struct mt_mr *m, int64_t ms) { m->now_ns = ms > 0 ? (uint64_t)ms * 1000000 : 0; }

void mt_mr_rss(struct mt_mr *m, uint64_t rss)
{
    m->rss = rss;
    if (rss > m->rss_high)
        m->rss_high = rss;
}

/* ---- blocks ---- */

/* A table without those that are gone, twice as large as what is live or more: then a quarter of
 * it is left until the next. A small one grows in any case: it is in the processor's cache. */
int mt_mr_make_room(struct mt_mr *m)
{
    struct mt_mr_block *old = m->blocks.p;
    uint32_t n = m->blocks.cap, live = 0;
    uint64_t cap = n == 0 ? 256 : n < 16384 ? 2 * (uint64_t)n : 16384;
    for (uint32_t i = 0; i < n; i++)
        live += old[i].owner > MT_MR_GONE;
    while (cap < 2 * (uint64_t)live)
        cap *= 2;
    if (cap > UINT32_MAX || (m->blocks.p = mt_calloc((size_t)cap, sizeof *old)) == NULL) {
        m->blocks.p = old;
        return mt_mr_nomem(m);
    }
    m->blocks.cap = (uint32_t)cap;
    m->blocks.n = live;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].owner > MT_MR_GONE)
            *mt_mr_block_at(m, old[i].addr) = old[i];
    mt_free(old);
    return 1;
}

/* ---- ranges ---- */

/* An address for the trace: the range's own, unless another one begins there. */
static int key_of(struct mt_mr *m, uint64_t begin, uint64_t *key)
{
    *key = RANGES_AT | begin;
    if (begin < RANGES_AT && mt_pf_map_get(&m->range_by_begin, begin) == NULL)
        return mt_pf_map_put(&m->range_by_begin, begin, 1) || mt_mr_nomem(m);
    *key = MADE_UP + m->n_made_up++;
    return 1;
}

static void measure(struct mt_mr_chunk *c)
{
    c->high = 0;
    for (uint32_t i = 0; i < c->n; i++)
        c->high = c->r[i].end > c->high ? c->r[i].end : c->high;
}

/* Chunk number i becomes two, the second with n_second of its ranges. */
static int split(struct mt_mr *m, uint32_t i, uint32_t n_second)
{
    struct mt_mr_chunk *c;
    if (m->chunks.n == MAX_CHUNKS)
        return mt_mr_broken(m, "more mapped ranges at a time than any process can have");
    if ((c = mt_malloc(sizeof *c)) == NULL || MT_VEC_PUSH(&m->chunks) == NULL) {
        mt_free(c);
        return mt_mr_nomem(m);
    }
    c->n = n_second;
    if (n_second != 0) {
        struct mt_mr_chunk *first = m->chunks.p[i++];
        first->n -= n_second;
        memcpy(c->r, first->r + first->n, n_second * sizeof *c->r);
        measure(first);
    }
    measure(c);
    memmove(m->chunks.p + i + 1, m->chunks.p + i, (m->chunks.n - 1 - i) * sizeof *m->chunks.p);
    m->chunks.p[i] = c;
    return 1;
}

/* The chunk that a range belongs to: the last that does not begin behind it. */
static uint32_t chunk_of(const struct mt_mr *m, uint64_t begin)
{
    uint32_t low = 0, high = m->chunks.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (m->chunks.p[mid]->r[0].begin <= begin)
            low = mid + 1;
        else
            high = mid;
    }
    return low != 0 ? low - 1 : 0;
}

static int insert(struct mt_mr *m, const struct mt_mr_range *r)
{
    struct mt_mr_chunk *c;
    uint32_t at = chunk_of(m, r->begin), i;
    if (m->chunks.n == 0 && !split(m, 0, 0))
        return 0;
    if (m->chunks.p[at]->n == MT_MR_RANGES) {
        if (!split(m, at, MT_MR_RANGES / 2))
            return 0;
        at = chunk_of(m, r->begin);
    }
    c = m->chunks.p[at];
    for (i = c->n; i > 0 && c->r[i - 1].begin > r->begin; i--)
        c->r[i] = c->r[i - 1];
    c->r[i] = *r;
    c->n++;
    c->high = r->end > c->high ? r->end : c->high;
    return 1;
}

static uint64_t in_common(const struct mt_mr_range *r, uint64_t begin, uint64_t end)
{
    uint64_t low = r->begin > begin ? r->begin : begin, high = r->end < end ? r->end : end;
    return low < high ? high - low : 0;
}

static int map(struct mt_mr *m, struct mt_mr_range r)
{
    if (!key_of(m, r.begin, &r.key) || !insert(m, &r))
        return 0;
    mt_mr_count(m, mt_mr_owner(r.thread, MT_MR_MMAP), (int64_t)(r.end - r.begin));
    return mt_mr_emit(m, MT_ACT_ALLOC, r.key, r.end - r.begin, r.stack);
}

int mt_mr_map(struct mt_mr *m, uint64_t addr, uint64_t size, mt_stack_id stack)
{
    if (mt_mr_is_odd(m, size) || size == 0 || addr > UINT64_MAX - size)
        return 1;
    for (uint32_t i = 0; i < m->chunks.n && m->chunks.p[i]->r[0].begin < addr + size; i++)
        for (uint32_t k = 0; m->chunks.p[i]->high > addr && k < m->chunks.p[i]->n; k++)
            m->overlaid += in_common(&m->chunks.p[i]->r[k], addr, addr + size);
    m->n_allocs++;
    return map(m, (struct mt_mr_range){addr, addr + size, 0, stack, m->thread});
}

/* Takes a range off, and keeps in `parts` what of it stays. */
static int unmap_one(struct mt_mr *m, struct mt_mr_range r, uint64_t begin, uint64_t end)
{
    struct mt_mr_range *part;
    if (r.key < MADE_UP)
        mt_pf_map_take(&m->range_by_begin, r.begin);
    mt_mr_count(m, mt_mr_owner(r.thread, MT_MR_MMAP), -(int64_t)(r.end - r.begin));
    if (!mt_mr_emit(m, MT_ACT_FREE_COMPLETED, r.key, r.end - r.begin, 0))
        return 0;
    if (r.begin < begin) {
        if ((part = MT_VEC_PUSH(&m->parts)) == NULL)
            return mt_mr_nomem(m);
        *part = (struct mt_mr_range){r.begin, begin, 0, r.stack, r.thread};
    }
    if (r.end > end) {
        if ((part = MT_VEC_PUSH(&m->parts)) == NULL)
            return mt_mr_nomem(m);
        *part = (struct mt_mr_range){end, r.end, 0, r.stack, r.thread};
    }
    return 1;
}

int mt_mr_unmap(struct mt_mr *m, uint64_t addr, uint64_t size)
{
    uint64_t end = size <= UINT64_MAX - addr ? addr + size : UINT64_MAX;
    uint32_t kept = 0;
    bool any = false, ok = true;
    m->parts.n = 0;
    for (uint32_t i = 0; i < m->chunks.n; i++) {
        struct mt_mr_chunk *c = m->chunks.p[i];
        uint32_t n = 0;
        bool look = c->r[0].begin < end && c->high > addr;
        for (uint32_t k = 0; look && k < c->n; k++) {
            struct mt_mr_range r = c->r[k];
            if (!ok || in_common(&r, addr, end) == 0) {
                c->r[n++] = r;
                continue;
            }
            any = true;
            ok = unmap_one(m, r, addr, end);
        }
        if (look) {
            c->n = n;
            measure(c);
        }
        if (c->n != 0)
            m->chunks.p[kept++] = c;
        else
            mt_free(c);
    }
    m->chunks.n = kept;
    m->n_old_frees += !any;
    m->n_parts += m->parts.n;
    for (uint32_t i = 0; ok && i < m->parts.n; i++)
        ok = map(m, m->parts.p[i]);
    return ok;
}
