/* fleet/order.c -- how sure the order of two failures is. */
#include "analysis/fleet/impl.h"

static uint64_t moment(const struct mt_fleet_row *r) { return mt_fleet_moment(r, r->failed_ns); }

uint64_t mt_fleet_doubt(const struct mt_fleet_row *a, const struct mt_fleet_row *b)
{
    uint64_t within = a->clock_within + b->clock_within;
    if (a->clock == b->clock)
        return 0;
    /* clocks that agree as far as steps can tell are kept together by a time server, as a rule */
    if (a->ahead_ns == 0 && b->ahead_ns == 0)
        return MT_FLEET_SECOND;
    return within > MT_FLEET_SECOND ? within : MT_FLEET_SECOND;
}

bool mt_fleet_is_moved(const struct mt_fleet_row *a, const struct mt_fleet_row *b)
{
    return a->clock != b->clock && (a->ahead_ns != 0 || b->ahead_ns != 0);
}

enum mt_fleet_order mt_fleet_order(const struct mt_fleet *f, uint32_t *by_clock)
{
    const struct mt_fleet_row *first = &f->rows.p[f->failed.p[0]];
    bool is_sure = true;
    *by_clock = f->failed.p[0];
    for (uint32_t i = 1; i < f->failed.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[f->failed.p[i]];
        if (r->failed_ns < f->rows.p[*by_clock].failed_ns)
            *by_clock = f->failed.p[i];
        if (mt_fleet_is_moved(first, r) && moment(r) - moment(first) < mt_fleet_doubt(first, r))
            is_sure = false;
    }
    return !is_sure                      ? MT_FLEET_NOT_SURE
           : *by_clock != f->failed.p[0] ? MT_FLEET_TURNED
                                         : MT_FLEET_AS_IT_IS;
}
