/* fleet/impl.h -- apart.c for clocks.c: two ranks by the ends of the steps that they trained. */
#ifndef MT_FLEET_IMPL_H
#define MT_FLEET_IMPL_H

#include "analysis/fleet/fleet.h"

enum { MT_FLEET_LEAST = 3 }; /* with fewer steps nothing is compared */
#define MT_FLEET_SECOND UINT64_C(1000000000)
#define MT_FLEET_HOUR                                                                              \
    (3600 * MT_FLEET_SECOND) /* farther apart they are not of one job: check.c                     \
                              */

struct mt_fleet_apart {
    int64_t by; /* the first is later by this */
    uint64_t varies;
};
static inline uint64_t mt_fleet_size_of(int64_t n) { return n < 0 ? 0 - (uint64_t)n : (uint64_t)n; }
/* The longest step of a row. */
uint64_t mt_fleet_period(const struct mt_fleet_row *r);
/* Whether their steps are the same ones, and how far they are apart then. */
bool mt_fleet_compare(const struct mt_fleet_row *a, const struct mt_fleet_row *b,
                      struct mt_fleet_apart *out);

#endif
