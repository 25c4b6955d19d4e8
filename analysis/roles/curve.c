#include "analysis/facts/role_curve.h"

#include "analysis/roles/roles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int mt_role_curve_begin(struct mt_role_curve_run *run, struct mt_role_curve *out, uint64_t n_events)
{
    memset(out, 0, sizeof *out);
    run->out = out;
    run->step = n_events / MT_CURVE_POINTS + 1;
    run->end = 0;
    run->best = -1;
    if (n_events == 0)
        return 1;
    out->phase = mt_calloc((size_t)(n_events / run->step) + 1, 1);
    out->bytes =
        mt_calloc(((size_t)(n_events / run->step) + 1) * MT_ROLE_COUNT, sizeof *out->bytes);
    out->high = mt_calloc((size_t)(n_events / run->step) + 1, sizeof *out->high);
    return out->phase != NULL && out->bytes != NULL && out->high != NULL;
}

void mt_role_curve_point(struct mt_role_curve_run *run, uint64_t i, const int64_t roles[],
                         int64_t total, uint8_t phase)
{
    uint64_t *to;
    if (i >= run->end) {
        run->out->n++;
        run->end += run->step;
        run->best = -1;
    }
    if (total <= run->best)
        return;
    run->best = total;
    run->out->phase[run->out->n - 1] = phase;
    to = run->out->bytes + (size_t)(run->out->n - 1) * MT_ROLE_COUNT;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        to[r] = roles[r] > 0 ? (uint64_t)roles[r] : 0;
}

static double what_stays(const struct mt_role_curve *c, uint32_t i, const double left[])
{
    double sum = 0;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        sum += left[r] * (double)c->bytes[(size_t)i * MT_ROLE_COUNT + (size_t)r];
    return sum;
}

static int by_total(const void *a, const void *b)
{
    const struct mt_curve_high *x = a, *y = b;
    return (x->total < y->total) - (x->total > y->total);
}

void mt_role_curve_sort(struct mt_role_curve *c)
{
    double all[MT_ROLE_COUNT];
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        all[r] = 1;
    for (uint32_t i = 0; i < c->n; i++)
        c->high[i] = (struct mt_curve_high){what_stays(c, i, all), i, c->phase[i]};
    if (c->n > 1)
        qsort(c->high, c->n, sizeof *c->high, by_total);
}

void mt_role_curve_take(struct mt_role_curve *out, struct mt_roles *w)
{
    *out = w->curve;
    mt_role_curve_sort(out);
    memset(&w->curve, 0, sizeof w->curve);
}

void mt_role_curve_done(struct mt_role_curve *c)
{
    mt_free(c->phase);
    mt_free(c->bytes);
    mt_free(c->high);
    memset(c, 0, sizeof *c);
}

/* The roles of which not all stays: few, mostly. */
struct changed {
    uint8_t role[MT_ROLE_COUNT];
    double goes[MT_ROLE_COUNT];
    uint32_t n;
};

/* What stays is less than that, by the few roles that change and to a billionth of the total: of
 * more than rounding makes of two dozen numbers. */
static bool is_below(const struct mt_role_curve *c, const struct mt_curve_high *p,
                     const struct changed *of, double peak)
{
    const uint64_t *bytes = &c->bytes[(size_t)p->at * MT_ROLE_COUNT];
    double sum = p->total;
    for (uint32_t i = 0; i < of->n; i++)
        sum -= of->goes[i] * (double)bytes[of->role[i]];
    return sum + p->total * 1e-9 < peak;
}

double mt_role_curve_peak(const struct mt_role_curve *c, unsigned phase, const double left[])
{
    const bool occurs = c->n != 0 && memchr(c->phase, (int)phase, c->n) != NULL;
    struct changed of = {.n = 0};
    bool grows = false;
    double peak = 0;
    for (int r = 0; r < MT_ROLE_COUNT; r++) {
        grows = grows || left[r] > 1; /* of a saving below zero */
        if (left[r] < 1 || left[r] > 1) {
            of.role[of.n] = (uint8_t)r;
            of.goes[of.n++] = 1 - left[r];
        }
    }
    for (uint32_t i = 0; i < c->n; i++) {
        const struct mt_curve_high *p = &c->high[i];
        double sum;
        if (p->total <= peak && !grows) /* nor is any behind it higher */
            break;
        if ((occurs && p->phase != phase) || is_below(c, p, &of, peak))
            continue;
        sum = what_stays(c, p->at, left);
        peak = sum > peak ? sum : peak;
    }
    return peak;
}

/* How much a role comes and goes, in its own heights. */
static double unrest(const struct mt_role_curve *c, unsigned role)
{
    double sum = 0, top = 1;
    for (uint32_t i = 0; i < c->n; i++) {
        double now = (double)c->bytes[(size_t)i * MT_ROLE_COUNT + role];
        if (i != 0)
            sum += fabs(now - (double)c->bytes[(size_t)(i - 1) * MT_ROLE_COUNT + role]);
        top = now > top ? now : top;
    }
    return sum / top;
}

void mt_role_curve_layers(const struct mt_role_curve *c, uint8_t role[], unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && unrest(c, role[k]) < unrest(c, role[k - 1]); k--) {
            uint8_t other = role[k];
            role[k] = role[k - 1];
            role[k - 1] = other;
        }
}
