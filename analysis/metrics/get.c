/* metrics/get.c -- a number of a device by its name. */
#include "analysis/metrics/impl.h"

#include "analysis/metrics/rows.h"

#include <stdio.h>
#include <string.h>

/* Most rows are never asked for: each is computed when it first is. */
static struct mt_value of_row(struct mt_metrics *m, uint32_t at)
{
    const struct mt_metric_row *row = mt_metric_row_at(m->rules, at);
    struct mt_row_value *slot = &m->row[at];
    if (!slot->made) {
        slot->made = true;
        if (row->how == MT_METRIC_IS)
            slot->v = mt_metric_row_is(row, mt_metric_get, m);
        else if (row->how == MT_METRIC_SEEN || m->roles)
            slot->v =
                mt_metric_row_of(row, m->d, m->t, m->conf, m->fw != NULL ? m->fw->rules : NULL);
    }
    return slot->v;
}

/* What was told, what follows from it, settings, traceback and phase: the surest first. */
static struct mt_value get_told(struct mt_metrics *m, const char *name, size_t n)
{
    const struct mt_metric_name is = mt_metric_named(m->rules, name, n);
    int i = is.metric, row = is.row;
    struct mt_value v;
    if (i >= 0 && m->value[i].known)
        return m->value[i];
    /* an engine that sleeps needs what it has while it wakes */
    if (in(m, MT_METRIC_sleeps) && n == 11 && memcmp(name, "engine_idle", n) == 0)
        return (struct mt_value){0, true, MT_CONF_MARKED};
    if (row >= 0 && mt_metric_row_at(m->rules, (uint32_t)row)->how == MT_METRIC_IS)
        return of_row(m, (uint32_t)row);
    v = mt_metric_of_run(m->conf, name, n);
    if (!v.known && m->of_failure)
        v = mt_metric_of_failure(m->rules, m->t, m->code, m->conf, name, n);
    if (!v.known && m->of_failure)
        v = mt_metric_of_place(name, n, (enum mt_phase)m->phase, (enum mt_phase)m->sub);
    return v;
}

static struct mt_value get_measured(struct mt_metrics *m, const char *name, size_t n)
{
    const struct mt_role_facts *f = &m->d->roles;
    struct mt_value none = {0, false, MT_CONF_NONE}, run = mt_metric_of_run(m->conf, name, n);
    const struct mt_metric_name is = mt_metric_named(m->rules, name, n);
    int i = is.metric;
    if (mt_metric_begins(name, n, "setting.") || mt_metric_begins(name, n, "set.") ||
        (run.known && (i < 0 || !m->value[i].known)))
        return run;
    if (i >= 0)
        return m->value[i];
    if (mt_metric_begins(name, n, "role.")) {
        i = mt_role_find(name + 5, n - 5);
        return i >= 0 && m->roles ? (struct mt_value){(double)f->at_focus[i], true, MT_CONF_MARKED}
                                  : none;
    }
    if (mt_metric_begins(name, n, "peak.")) {
        i = mt_role_find(name + 5, n - 5);
        return i >= 0 && f->made ? (struct mt_value){(double)f->peak[i], true, MT_CONF_MARKED}
                                 : none;
    }
    if (mt_metric_begins(name, n, "life.")) {
        i = mt_life_find(name + 5, n - 5);
        return i >= 0 && m->roles
                   ? (struct mt_value){(double)f->life_at_focus[i], true, MT_CONF_MARKED}
                   : none;
    }
    return is.row >= 0 ? of_row(m, (uint32_t)is.row) : none;
}

double mt_metrics_of_role(struct mt_metrics *m, enum mt_role role)
{
    char name[48];
    int n;
    struct mt_value v;
    if (m->d != NULL) /* as get_measured() has it: advice asks it hundreds of times */
        return m->roles ? (double)m->d->roles.at_focus[role] : 0;
    n = snprintf(name, sizeof name, "role.%s", mt_role_id(role));
    v = get_told(m, name, (size_t)n);
    return v.known ? v.v : 0;
}

struct mt_value mt_metric_get(void *metrics, const char *name, size_t n)
{
    struct mt_metrics *m = metrics;
    return m->d != NULL ? get_measured(m, name, n) : get_told(m, name, n);
}

double mt_metric_above_0(struct mt_metrics *m, const char *name)
{
    struct mt_value v = mt_metric_get(m, name, strlen(name));
    return v.known && v.v > 0 ? v.v : 0;
}
