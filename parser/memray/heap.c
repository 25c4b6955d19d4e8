/* memray/heap.c -- what is live: blocks by their address, mapped ranges in chunks. A free gives the
 * address alone, an munmap may take a part of a range, or of several. */
#include "parser/memray/impl.h"

#include <string.h>

/* The trace has ranges at addresses that no block can have: the first block of a range may lie
 * where the range begins. */
#define RANGES_AT (UINT64_C(1) << 62)
#define MADE_UP (UINT64_C(1) << 63)
#define MAX_SIZE (UINT64_C(1) << 56)
/* No kernel allows a process more: the default is 65530. */
enum { MAX_CHUNKS = 16384 };

void mt_mr_heap_done(struct mt_mr *m)
{
    for (uint32_t i = 0; i < m->chunks.n; i++)
        mt_free(m->chunks.p[i]);
    MT_VEC_DONE(&m->chunks);
    MT_VEC_DONE(&m->blocks);
    MT_VEC_DONE(&m->parts);
    mt_free(m->by_addr.p);
    mt_free(m->range_by_begin.p);
}

static int emit(struct mt_mr *m, enum mt_action action, uint64_t addr, uint64_t size,
                mt_stack_id stack)
{
    uint64_t ns = m->now_ms > 0 ? (uint64_t)m->now_ms * 1000000 : 0;
    return mt_build_plain_event(m->b, action, addr, size, ns, stack) || mt_mr_refused(m);
}

/* ---- shares of the peak: what was there at the last one, and what changed since ---- */

static void share(struct mt_mr_share *s, uint64_t n_peaks, int64_t bytes)
{
    if (s->n_peaks != n_peaks) {
        s->n_peaks = n_peaks;
        s->at_peak += s->since;
        s->since = 0;
    }
    s->since += bytes;
}

uint64_t mt_mr_of_peak(const struct mt_mr *m, const struct mt_mr_share *s)
{
    int64_t bytes = s->at_peak + (s->n_peaks != m->n_peaks ? s->since : 0);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

void mt_mr_count(struct mt_mr *m, uint32_t thread, enum mt_mr_kind kind, int64_t bytes)
{
    if (thread != 0)
        share(&m->threads.p[thread - 1].share, m->n_peaks, bytes);
    share(&m->kinds[kind], m->n_peaks, bytes);
    m->live += (uint64_t)bytes;
    if (m->live > m->peak) {
        m->peak = m->live;
        m->n_peaks++;
        m->rss_at_peak = m->rss;
    }
}

void mt_mr_rss(struct mt_mr *m, uint64_t rss, int64_t ms)
{
    m->now_ms = ms;
    m->rss = rss;
    if (rss > m->rss_high)
        m->rss_high = rss;
}

/* Sizes beyond what an address reaches are damage, and must not add up to nonsense. */
static bool is_odd(struct mt_mr *m, uint64_t size)
{
    bool odd = size > MAX_SIZE || m->live > MAX_SIZE;
    m->n_odd += odd;
    return odd;
}

/* ---- blocks ---- */

/* Of the block that was taken off the table. */
static int drop(struct mt_mr *m, uint64_t addr, uint32_t at)
{
    struct mt_mr_block *k = &m->blocks.p[at - 1];
    uint64_t size = k->size;
    mt_mr_count(m, k->thread, (enum mt_mr_kind)k->kind, -(int64_t)size);
    k->stack = m->unused;
    m->unused = at;
    return emit(m, MT_ACT_FREE_COMPLETED, addr, size, 0);
}

int mt_mr_alloc(struct mt_mr *m, uint64_t addr, uint64_t size, enum mt_mr_kind kind,
                mt_stack_id stack)
{
    uint32_t at, *slot;
    if (is_odd(m, size))
        return 1;
    if ((slot = mt_pf_map_slot(&m->by_addr, addr)) == NULL)
        return mt_mr_nomem(m);
    if (*slot != 0) { /* freed by what memray does not see */
        m->n_lost_frees++;
        if (!drop(m, addr, *slot))
            return 0;
    }
    at = m->unused;
    if (at != 0)
        m->unused = m->blocks.p[at - 1].stack;
    else if (MT_VEC_PUSH(&m->blocks) == NULL)
        return mt_mr_nomem(m);
    else
        at = m->blocks.n;
    m->blocks.p[at - 1] = (struct mt_mr_block){size, stack, m->thread, (uint8_t)kind};
    *slot = at;
    m->n_allocs++;
    mt_mr_count(m, m->thread, kind, (int64_t)size);
    return emit(m, MT_ACT_ALLOC, addr, size, stack);
}

int mt_mr_free(struct mt_mr *m, uint64_t addr)
{
    uint32_t at = mt_pf_map_take(&m->by_addr, addr);
    if (at != 0)
        return drop(m, addr, at);
    m->n_old_frees += addr != 0;
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
    mt_mr_count(m, r.thread, MT_MR_MMAP, (int64_t)(r.end - r.begin));
    return emit(m, MT_ACT_ALLOC, r.key, r.end - r.begin, r.stack);
}

int mt_mr_map(struct mt_mr *m, uint64_t addr, uint64_t size, mt_stack_id stack)
{
    if (is_odd(m, size) || size == 0 || addr > UINT64_MAX - size)
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
    mt_mr_count(m, r.thread, MT_MR_MMAP, -(int64_t)(r.end - r.begin));
    if (!emit(m, MT_ACT_FREE_COMPLETED, r.key, r.end - r.begin, 0))
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
