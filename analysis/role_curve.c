#include "analysis/role_curve.h"

#include "analysis/roles.h"

#include <string.h>

static void count(int64_t *roles, int64_t *total, unsigned role, uint64_t bytes, bool gone)
{
    roles[role] += gone ? -(int64_t)bytes : (int64_t)bytes;
    *total += gone ? -(int64_t)bytes : (int64_t)bytes;
}

/* Role of what an event frees; the frees of blocks older than the trace come in the order of r->old. */
static unsigned freed_role(const struct mt_roles *w, uint32_t event, uint32_t *next_old)
{
    if (w->fate[event].freed != MT_NEVER)
        return w->fate[event].role;
    return *next_old < w->r->old.n ? w->old_role[(*next_old)++] : (unsigned)MT_ROLE_UNKNOWN;
}

int mt_role_curve_make(struct mt_role_curve *out, const struct mt_roles *w)
{
    int64_t roles[MT_ROLE_COUNT] = {0}, total = 0, best = -1;
    uint32_t n, step, next_old = 0, at = 0, end;

    memset(out, 0, sizeof *out);
    if (w->fate == NULL || w->old_role == NULL || w->r->d->events.n == 0 || w->r->d->events.n >= UINT32_MAX)
        return 1;
    n = (uint32_t)w->r->d->events.n;
    step = end = n / MT_CURVE_POINTS + 1;
    out->phase = mt_calloc(n / step + 1, 1);
    out->bytes = mt_calloc((size_t)(n / step + 1) * MT_ROLE_COUNT, sizeof *out->bytes);
    if (out->phase == NULL || out->bytes == NULL) {
        mt_role_curve_done(out);
        return 0;
    }
    for (uint32_t i = 0; i < w->r->old.n; i++)
        count(roles, &total, w->old_role[i], w->r->old.p[i].size, false);
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_event *e = mt_event_at(w->r->d, i);
        if (i == end) {
            at++;
            end += step;
            best = -1;
        }
        if (e->action == MT_ACT_ALLOC)
            count(roles, &total, w->fate[i].role, e->size, false);
        else if (e->action == MT_ACT_FREE_COMPLETED)
            count(roles, &total, freed_role(w, i, &next_old), e->size, true);
        if (total <= best)
            continue;
        best = total;
        out->phase[at] = w->r->attr[i].phase;
        for (int r = 0; r < MT_ROLE_COUNT; r++)
            out->bytes[(size_t)at * MT_ROLE_COUNT + (size_t)r] = roles[r] > 0 ? (uint64_t)roles[r] : 0;
    }
    out->n = at + 1;
    return 1;
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
