/* ranks.h -- what a command keeps of the snapshots and driver traces it has read, until it writes.
 */
#ifndef MT_RANKS_H
#define MT_RANKS_H

#include "analysis/ledger/driver.h"
#include "render/pack/pack.h"

struct mt_loaded {
    struct mt_trace *trace; /* without its events */
    struct mt_analysis *analysis;
    struct mt_packs packs; /* its history, for the page */
    /* what it says of its segments: needed where the driver was recorded as well */
    struct mt_claims claims;
    uint32_t order; /* of reading */
};

struct mt_ranks {
    MT_VEC(struct mt_loaded) list;
    MT_VEC(struct mt_trace *) drivers; /* traces of driver calls; no ranks */
};

/* Both take over what they are given, also when they fail. 1, or 0 = out of memory. packs: NULL =
 * none. */
int mt_ranks_add(struct mt_ranks *r, struct mt_trace *t, struct mt_analysis *a,
                 struct mt_packs *packs);
int mt_ranks_add_driver(struct mt_ranks *r, struct mt_trace *t);
/* By rank where the name says one; the others after them, as they were given. */
void mt_ranks_sort(struct mt_ranks *r);
/* What the driver saw, over all traces of it. */
enum mt_rc mt_ranks_driver(struct mt_driverdiag **out, const struct mt_ranks *r,
                           const struct mt_driverdiag_opts *o, struct mt_err *err);
void mt_ranks_done(struct mt_ranks *r);

#endif
