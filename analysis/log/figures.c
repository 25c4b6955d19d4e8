/* log/figures.c -- what the sizes of one failed line say together. */
#include "analysis/log/diagnose.h"

bool mt_logdiag_fits_joined(const struct mt_logdiag *d)
{
    return d->cause == MT_CAUSE_CAPACITY && d->request <= d->capacity && d->free != MT_LOG_NONE &&
           d->unallocated != MT_LOG_NONE && d->unallocated >= d->reserved / 30 &&
           d->unallocated < d->request && d->free + d->unallocated >= d->request;
}

bool mt_logdiag_spilled(const struct mt_logdiag *d)
{
    uint64_t used = d->allocated != MT_LOG_NONE ? d->allocated : d->reserved;
    return d->request != MT_LOG_EXA && d->capacity != MT_LOG_NONE && used != MT_LOG_NONE &&
           used > d->capacity + MT_LOG_ROUNDED;
}
