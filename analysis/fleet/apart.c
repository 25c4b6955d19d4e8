/* fleet/apart.c -- how far apart two ranks are by the ends of the steps that they trained.
 *
 * A step's gradients are of all ranks, so no rank is a step ahead of another: what the ends of the
 * same steps differ by on two ranks is the difference of their clocks, within one step (Python runs
 * ahead of the card) and what it varies by. That tells a clock that is seconds or minutes off,
 * which is what turns the order of failures round, from clocks that a time server keeps together.
 * Steps are counted from the last one, which may be one more on a rank: of the three ways to lay
 * one row of steps against the other the one in which the difference varies least is taken, and of
 * equally good ones that in which it is smallest. */
#include "analysis/fleet/impl.h"

enum { ALIKE = 20 };

uint64_t mt_fleet_period(const struct mt_fleet_row *r)
{
    uint64_t most = 0;
    for (uint32_t i = 1; i < r->n_steps; i++) {
        uint64_t n = r->steps_ns[i] - r->steps_ns[i - 1];
        most = n > most ? n : most;
    }
    return most;
}

/* a without its last `more` steps, or b without as many of its own where that is negative. */
static bool lay(const struct mt_fleet_row *a, const struct mt_fleet_row *b, int more,
                struct mt_fleet_apart *out)
{
    uint32_t na = a->n_steps - (more > 0), nb = b->n_steps - (more < 0);
    uint32_t n = na < nb ? na : nb;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 1; i <= n; i++) {
        int64_t by = (int64_t)(a->steps_ns[na - i] - b->steps_ns[nb - i]);
        least = by < least ? by : least;
        most = by > most ? by : most;
    }
    if (n < MT_FLEET_LEAST)
        return false;
    out->varies = (uint64_t)most - (uint64_t)least;
    out->by = least + (int64_t)(out->varies / 2);
    return true;
}

bool mt_fleet_compare(const struct mt_fleet_row *a, const struct mt_fleet_row *b,
                      struct mt_fleet_apart *out)
{
    uint64_t step =
        mt_fleet_period(b) > mt_fleet_period(a) ? mt_fleet_period(b) : mt_fleet_period(a);
    struct mt_fleet_apart way[3];
    bool can[3], found = false;
    uint64_t least = UINT64_MAX;
    if (a->n_steps < MT_FLEET_LEAST || b->n_steps < MT_FLEET_LEAST)
        return false;
    for (int i = 0; i < 3; i++) {
        can[i] = lay(a, b, i - 1, &way[i]) && way[i].varies <= step;
        if (can[i] && way[i].varies < least)
            least = way[i].varies;
    }
    for (int i = 0; i < 3; i++) {
        can[i] = can[i] && way[i].varies <= 2 * least + step / ALIKE;
        if (can[i] && (!found || mt_fleet_size_of(way[i].by) < mt_fleet_size_of(out->by)))
            *out = way[i];
        found |= can[i];
    }
    if (can[1] && mt_fleet_size_of(out->by) > 2 * step) /* far off as they are, none lacks a step */
        *out = way[1];
    return found && mt_fleet_size_of(out->by) <= MT_FLEET_HOUR;
}
