/* metrics/get.c -- a number of a device by its name. */
#include "analysis/metrics/impl.h"

#include "analysis/metrics/rows.h"

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
            slot->v = mt_metric_row_of(row, m->d, m->t);
    }
    return slot->v;
}

struct mt_value mt_metric_get(void *metrics, const char *name, size_t n)
{
    struct mt_metrics *m = metrics;
    const struct mt_role_facts *f = &m->d->roles;
    struct mt_value none = {0, false, MT_CONF_NONE}, run = mt_metric_of_run(m->conf, name, n);
    int i = mt_metric_find(name, n);
    if (mt_metric_begins(name, n, "setting.") || (run.known && (i < 0 || !m->value[i].known)))
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
    i = mt_metric_row_find(m->rules, name, n);
    return i >= 0 ? of_row(m, (uint32_t)i) : none;
}
