/* log/figures.c -- what the sizes of one failed line say together. */
#include "analysis/log/diagnose.h"

/* The segment that PyTorch asks the driver for: c10/cuda/CUDACachingAllocator.cpp, kSmallBuffer,
 * kLargeBuffer, kRoundLarge. */
uint64_t mt_logdiag_segment(uint64_t request)
{
    const uint64_t mib = UINT64_C(1) << 20;
    if (request == MT_LOG_NONE || request > MT_LOG_EXA)
        return request;
    return request <= mib       ? 2 * mib
           : request < 10 * mib ? 20 * mib
                                : (request + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

uint64_t mt_logdiag_own_outside(const struct mt_logdiag *d)
{
    uint64_t lacks = mt_log_minus(d->request, d->free),
             more = d->outside != MT_LOG_NONE && d->outside > MT_OWN_CONTEXT
                        ? d->outside - MT_OWN_CONTEXT
                        : 0;
    return lacks != MT_LOG_NONE && more > lacks ? more : 0;
}

bool mt_logdiag_had_room(const struct mt_logdiag *d)
{
    return d->request != MT_LOG_NONE && d->free != MT_LOG_NONE && d->request != MT_LOG_EXA &&
           d->free >= mt_logdiag_segment(d->request) + MT_LOG_ROUNDED;
}

bool mt_logdiag_had_much(const struct mt_logdiag *d)
{
    uint64_t much = d->capacity != MT_LOG_NONE ? d->capacity / 10 : 0;
    if (much < UINT64_C(1) << 30)
        much = UINT64_C(1) << 30;
    return mt_logdiag_had_room(d) && d->free - mt_logdiag_segment(d->request) >= much;
}

uint64_t mt_logdiag_cached(const struct mt_logdiag *d)
{
    if (mt_logdiag_overcounts(d) && d->this_process == MT_LOG_NONE)
        return 0; /* of what is over, nobody knows that it is on the card to be packed better */
    if (!mt_logdiag_unmapped(d))
        return mt_log_or_zero(d->unallocated);
    return mt_log_or_zero(mt_log_minus(d->this_process, d->allocated));
}

/* What remains at the ends of segments on any card that is full. */
static bool only_crumbs(const struct mt_logdiag *d)
{
    return d->unallocated == MT_LOG_NONE || d->reserved == MT_LOG_NONE ||
           mt_logdiag_cached(d) < d->reserved / 30;
}

bool mt_logdiag_more_to_come(const struct mt_logdiag *d)
{
    return d->phase == MT_PH_INIT || d->phase == MT_PH_ROLLOUT_LOAD || d->phase == MT_PH_CKPT_LOAD;
}

/* Of the ends of segments half may be won, never all, and only by segments that give back what they
 * do not use: no size of blocks joins them to what is free on the card. */
static bool may_join(const struct mt_logdiag *d, uint64_t cached)
{
    if (only_crumbs(d))
        return !d->no_expandable && !mt_logdiag_more_to_come(d) &&
               mt_log_or_zero(mt_log_minus(d->request, d->free)) <= cached / 2;
    return cached >= d->request / 10 && d->free + cached >= d->request;
}

bool mt_logdiag_fits_joined(const struct mt_logdiag *d)
{
    return d->cause == MT_CAUSE_CAPACITY && d->request <= d->capacity && d->free != MT_LOG_NONE &&
           !mt_logdiag_had_room(d) && may_join(d, mt_logdiag_cached(d));
}

bool mt_logdiag_has_holes(const struct mt_logdiag *d)
{
    return d->request != MT_LOG_NONE && mt_logdiag_cached(d) >= d->request && !only_crumbs(d);
}

bool mt_logdiag_overcounts(const struct mt_logdiag *d)
{
    uint64_t used = d->allocated != MT_LOG_NONE ? d->allocated : d->reserved;
    return d->request != MT_LOG_EXA && d->capacity != MT_LOG_NONE && used != MT_LOG_NONE &&
           used > d->capacity + MT_LOG_ROUNDED;
}

bool mt_logdiag_unmapped(const struct mt_logdiag *d)
{
    return d->this_process != MT_LOG_NONE && d->reserved != MT_LOG_NONE &&
           d->reserved > d->this_process + MT_LOG_ROUNDED && !d->is_spilled;
}

bool mt_logdiag_full_before(const struct mt_logdiag *d)
{
    enum { NEXT_TO_NOTHING = 50, MOST = 2 };
    bool sets_up = mt_phase_is(d->phase, MT_SETS_UP) && d->phase != MT_PH_ROLLOUT_KV_ALLOC;
    return sets_up && d->request != MT_LOG_NONE && d->request != MT_LOG_EXA &&
           d->free != MT_LOG_NONE && d->capacity != MT_LOG_NONE && d->allocated == MT_LOG_NONE &&
           d->reserved == MT_LOG_NONE && d->this_process == MT_LOG_NONE &&
           d->free < d->capacity / NEXT_TO_NOTHING && d->request > d->capacity / MOST;
}
