#include "analysis/facts/role_curve.h"

#include "analysis/roles/roles.h"

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
    return out->phase != NULL && out->bytes != NULL;
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

void mt_role_curve_take(struct mt_role_curve *out, struct mt_roles *w)
{
    *out = w->curve;
    memset(&w->curve, 0, sizeof w->curve);
}

void mt_role_curve_done(struct mt_role_curve *c)
{
    mt_free(c->phase);
    mt_free(c->bytes);
    memset(c, 0, sizeof *c);
}

double mt_role_curve_peak(const struct mt_role_curve *c, unsigned phase, const double left[])
{
    double peak[2] = {0, 0}; /* of all phases, of this one */
    bool occurs = false;
    for (uint32_t i = 0; i < c->n; i++) {
        double sum = 0;
        for (int r = 0; r < MT_ROLE_COUNT; r++)
            sum += left[r] * (double)c->bytes[(size_t)i * MT_ROLE_COUNT + (size_t)r];
        occurs = occurs || c->phase[i] == phase;
        for (int k = 0; k < 2; k++)
            peak[k] = sum > peak[k] && (k == 0 || c->phase[i] == phase) ? sum : peak[k];
    }
    return peak[occurs];
}
