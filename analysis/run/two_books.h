/* run/two_books.h -- a trace of torch.profiler and a snapshot of the same process: two books of the
 * same bytes, and in what they differ. */
#ifndef MT_RUN_TWO_BOOKS_H
#define MT_RUN_TWO_BOOKS_H

#include "analysis/run/diagnose.h"

/* At the moment that matters: the first failure, else the peak. The trace has `more` bytes than the
 * snapshot. */
struct mt_two_books {
    int32_t ordinal;
    bool at_failure;
    bool in_parts; /* both are at the same block: more = rounded + unsplit - waited */
    uint64_t live; /* by the trace */
    int64_t more;
    uint64_t rounded; /* sizes up to the next step of the allocator */
    uint64_t unsplit; /* in parts: the rests of cached blocks that were too small to be split off */
    uint64_t waited;  /* for other streams: free by the trace */
};

/* Whether device i of the trace is in the snapshot, too. Then *out is filled. */
bool mt_two_books(const struct mt_rank *trace, uint32_t i, const struct mt_rank *snapshot,
                  struct mt_two_books *out);

/* The snapshot that has what rank number `trace` has, and knows more of it: number of its rank, or
 * `trace` itself where there is none. */
uint32_t mt_better_book(const struct mt_rank *ranks, uint32_t n, uint32_t trace);

#endif
