/* fleet/clocks.c -- clocks of nodes held against each other, by the ends of the steps that their
 * ranks trained.
 *
 * A step's gradients are of all ranks, so no rank is a step ahead of another: what the ends of the
 * same steps differ by on two ranks is the difference of their clocks, within one step (Python runs
 * ahead of the card) and what it varies by. That tells a clock that is seconds or minutes off,
 * which is what turns the order of failures round, from clocks that a time server keeps together.
 * Steps are counted from the last one, which may be one more on a rank: of the three ways to lay
 * one row of steps against the other the one in which the difference varies least is taken, and of
 * equally good ones that in which it is smallest. */
#include "analysis/fleet/fleet.h"

enum { LEAST = 3, ALIKE = 20 };
#define SECOND UINT64_C(1000000000)
#define HOUR (UINT64_C(3600) * SECOND) /* farther apart they are not of one job: check.c */

struct apart {
    int64_t by; /* the first is later by this */
    uint64_t varies;
};

static uint64_t size_of(int64_t n) { return n < 0 ? 0 - (uint64_t)n : (uint64_t)n; }

/* The longest step of a row. */
static uint64_t period(const struct mt_fleet_row *r)
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
                struct apart *out)
{
    uint32_t na = a->n_steps - (more > 0), nb = b->n_steps - (more < 0);
    uint32_t n = na < nb ? na : nb;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 1; i <= n; i++) {
        int64_t by = (int64_t)(a->steps_ns[na - i] - b->steps_ns[nb - i]);
        least = by < least ? by : least;
        most = by > most ? by : most;
    }
    if (n < LEAST)
        return false;
    out->varies = (uint64_t)most - (uint64_t)least;
    out->by = least + (int64_t)(out->varies / 2);
    return true;
}

/* Whether their steps are the same ones, and how far their clocks are apart then. */
static bool compare(const struct mt_fleet_row *a, const struct mt_fleet_row *b, struct apart *out)
{
    uint64_t step = period(b) > period(a) ? period(b) : period(a);
    struct apart way[3];
    bool can[3], found = false;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        can[i] = lay(a, b, i - 1, &way[i]) && way[i].varies <= step;
        if (can[i] && way[i].varies < least)
            least = way[i].varies;
    }
    for (int i = 0; i < 3; i++) {
        can[i] = can[i] && way[i].varies <= 2 * least + step / ALIKE;
        if (can[i] && (!found || size_of(way[i].by) < size_of(out->by)))
            *out = way[i];
        found |= can[i];
    }
    if (can[1] && size_of(out->by) > 2 * step) /* far off as they are, none lacks a step */
        *out = way[1];
    return found && size_of(out->by) <= HOUR;
}

/* The clock that most have: the row in the middle, by how far each is from the first. Their number.
 * k: room for all rows. */
static uint32_t against(struct mt_fleet *f, uint32_t first, struct mt_fleet_keyed *k)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct apart d = {0, 0};
        if (f->rows.p[i].n_steps >= LEAST && compare(&f->rows.p[i], &f->rows.p[first], &d))
            k[n++] = (struct mt_fleet_keyed){(uint64_t)(d.by + (int64_t)HOUR), 0, i};
    }
    mt_fleet_sort(k, n);
    return n;
}

int mt_fleet_align(struct mt_fleet *f)
{
    struct mt_fleet_keyed *k = mt_calloc(f->rows.n + 1, sizeof *k);
    uint32_t n = 0, first = 0;
    if (k == NULL)
        return 0;
    while (first < f->rows.n && f->rows.p[first].n_steps < LEAST)
        first++;
    if (first < f->rows.n)
        n = against(f, first, k);
    f->n_aligned = 0;
    f->clocks_within = 0;
    for (uint32_t i = 0; n > 1 && i < n; i++) {
        struct mt_fleet_row *r = &f->rows.p[k[i].row];
        const struct mt_fleet_row *usual = &f->rows.p[k[(n - 1) / 2].row];
        struct apart d = {0, 0};
        if (r != usual && !compare(r, usual, &d))
            continue;
        r->is_aligned = true;
        r->clock_within = period(usual) + d.varies / 2;
        if (size_of(d.by) > SECOND && size_of(d.by) > 2 * r->clock_within)
            r->ahead_ns = d.by;
        else if (r->clock_within > f->clocks_within)
            f->clocks_within = r->clock_within;
        f->n_aligned++;
    }
    mt_free(k);
    return 1;
}
