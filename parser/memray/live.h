/* memray/live.h -- an allocation and a free of a block, which are nearly all that a recording has:
 * in line, as no function of their own would be worth its call. */
#ifndef MT_MEMRAY_LIVE_H
#define MT_MEMRAY_LIVE_H

#include "parser/base/secret.h"
#include "parser/memray/impl.h"

#define MT_MR_MAX_SIZE (UINT64_C(1) << 56)

static inline int mt_mr_emit(struct mt_mr *m, enum mt_action action, uint64_t addr, uint64_t size,
                             mt_stack_id stack)
{
    return mt_build_plain_event(m->b, (struct mt_event_kind){.action = (uint8_t)action}, addr, size,
                                m->now_ns, stack) ||
           mt_mr_refused(m);
}

/* ---- shares of the peak: what was there at the last one, and what changed since ---- */

static inline uint32_t mt_mr_owner(uint32_t thread, enum mt_mr_kind kind)
{
    return thread * MT_MR_KINDS + kind;
}

static inline void mt_mr_count(struct mt_mr *m, uint32_t owner, int64_t bytes)
{
    struct mt_mr_share *s = &m->shares.p[owner - MT_MR_KINDS];
    if (s->n_peaks != m->n_peaks) {
        s->n_peaks = m->n_peaks;
        s->at_peak += s->since;
        s->since = 0;
    }
    s->since += bytes;
    m->live += (uint64_t)bytes;
    if (m->live > m->peak) {
        m->peak = m->live;
        m->n_peaks++;
        m->rss_at_peak = m->rss;
    }
}

/* Sizes beyond what an address reaches are damage, and must not add up to nonsense. */
static inline bool mt_mr_is_odd(struct mt_mr *m, uint64_t size)
{
    bool odd = size > MT_MR_MAX_SIZE || m->live > MT_MR_MAX_SIZE;
    m->n_odd += odd;
    return odd;
}

/* ---- blocks ---- */

/* Where the block of that address is, or where it belongs. */
static inline struct mt_mr_block *mt_mr_block_at(const struct mt_mr *m, uint64_t addr)
{
    uint32_t mask = m->blocks.cap - 1, at = mt_hash_one(addr) & mask;
    while (m->blocks.p[at].owner != MT_MR_EMPTY && m->blocks.p[at].addr != addr)
        at = (at + 1) & mask;
    return &m->blocks.p[at];
}

static inline int mt_mr_drop(struct mt_mr *m, struct mt_mr_block *k)
{
    mt_mr_count(m, k->owner, -(int64_t)k->size);
    k->owner = MT_MR_GONE;
    return mt_mr_emit(m, MT_ACT_FREE_COMPLETED, k->addr, k->size, 0);
}

static inline int mt_mr_alloc(struct mt_mr *m, uint64_t addr, uint64_t size, enum mt_mr_kind kind,
                              mt_stack_id stack)
{
    struct mt_mr_block *k;
    if (mt_mr_is_odd(m, size))
        return 1;
    if (m->blocks.n == m->blocks.cap / 4 * 3 && !mt_mr_make_room(m))
        return 0;
    k = mt_mr_block_at(m, addr);
    if (k->owner > MT_MR_GONE) { /* freed by what memray does not see */
        m->n_lost_frees++;
        if (!mt_mr_drop(m, k))
            return 0;
    }
    m->blocks.n += k->owner == MT_MR_EMPTY;
    *k = (struct mt_mr_block){addr, size, stack, mt_mr_owner(m->thread, kind)};
    m->n_allocs++;
    mt_mr_count(m, k->owner, (int64_t)size);
    return mt_mr_emit(m, MT_ACT_ALLOC, addr, size, stack);
}

static inline int mt_mr_free(struct mt_mr *m, uint64_t addr)
{
    struct mt_mr_block *k = m->blocks.cap != 0 ? mt_mr_block_at(m, addr) : NULL;
    if (k != NULL && k->owner > MT_MR_GONE)
        return mt_mr_drop(m, k);
    m->n_old_frees += addr != 0;
    return 1;
}

#endif
