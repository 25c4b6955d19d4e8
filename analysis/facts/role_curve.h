/* role_curve.h -- bytes by role over the trace, thinned out: what a change leaves of the other
 * moments. */
#ifndef MT_ROLE_CURVE_H
#define MT_ROLE_CURVE_H

#include "analysis/facts/role_facts.h"

#define MT_CURVE_POINTS                                                                            \
    1024u /* the trace is cut into so many pieces; of each its highest instant is kept */

struct mt_curve_high {
    double total; /* bytes of all roles, added up in their order */
    uint32_t at;
    uint8_t phase; /* as of that point */
};
struct mt_role_curve {
    uint32_t n;      /* 0 = there is no curve */
    uint8_t *phase;  /* [n]: coarse phase */
    uint64_t *bytes; /* [n * MT_ROLE_COUNT] */
    /* [n], the highest first: whoever looks for a peak is done after the few that can be it */
    struct mt_curve_high *high;
};

/* While it is made: n is the number of pieces begun, `end` the event at which the next begins. */
struct mt_role_curve_run {
    struct mt_role_curve *out;
    uint64_t step, end;
    int64_t best; /* live bytes of the highest instant of this piece */
};
/* 0 = out of memory */
int mt_role_curve_begin(struct mt_role_curve_run *run, struct mt_role_curve *out,
                        uint64_t n_events);
/* The state after event i, where i >= run->end or total > run->best. */
void mt_role_curve_point(struct mt_role_curve_run *run, uint64_t i, const int64_t roles[],
                         int64_t total, uint8_t phase);

struct mt_roles;
/* Fills `high`, which has room. */
void mt_role_curve_sort(struct mt_role_curve *c);
/* After mt_roles_make(), which made it: hands it over, sorted. */
void mt_role_curve_take(struct mt_role_curve *out, struct mt_roles *w);
void mt_role_curve_done(struct mt_role_curve *c);

/* Highest live bytes of a phase when of each role left[role] stays; of all phases when the phase
 * does not occur. The curve is sorted. */
double mt_role_curve_peak(const struct mt_role_curve *c, unsigned phase, const double left[]);
/* Puts n roles in the order of the layers of a picture: what stays at the bottom, what comes and
 * goes on top of it; of equals the earlier one stays the lower. */
void mt_role_curve_layers(const struct mt_role_curve *c, uint8_t role[], unsigned n);

#endif
