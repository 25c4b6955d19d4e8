/* verdict.h -- from the numbers to one sentence. */
#ifndef MT_VERDICT_H
#define MT_VERDICT_H

#include "analysis/facts/analysis.h"

/* What the allocator would ask the driver for to serve a request of this size: 2 MiB up to 1 MiB,
 * 20 MiB below 10 MiB, else rounded up to 2 MiB (c10/cuda/CUDACachingAllocator.cpp,
 * get_allocation_size). */
uint64_t mt_segment_size(uint64_t request);
/* struct mt_cause, fits_only_here; the rest of the cause is known. */
bool mt_fits_only_here(const struct mt_device_analysis *d);
enum mt_verdict_kind mt_oom_kind(const struct mt_device_analysis *d, const struct mt_oom *o);
/* Chooses the device that the verdict is about and writes the sentence; 1, or 0 = out of memory. */
int mt_verdict_make(struct mt_analysis *a);

/* The rank a report over several speaks for: the earliest OOM, else the highest peak against
 * capacity (or in bytes). */
uint32_t mt_primary_rank(const struct mt_analysis *const *a, uint32_t n);

/* Whether a request that failed is out of what its place had asked for in earlier passes, and how
 * often it is that: "3.2". */
#define MT_TIMES 32
bool mt_asked_more(const struct mt_cause *c);
const char *mt_asked_times(char buf[MT_TIMES], const struct mt_cause *c);

#endif
