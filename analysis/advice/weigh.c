#include "analysis/advice/weigh.h"

#include <stdio.h>

bool mt_weigh_computes(const struct mt_advice_query *q)
{
    return mt_metrics_have_roles(q->metrics);
}

struct mt_value mt_weigh_ask(const struct mt_advice_query *q, const struct mt_fix_expr *e)
{
    return e->e != NULL ? mt_expr_eval(e->e, mt_metric_get, q->metrics)
                        : (struct mt_value){0, false, MT_CONF_NONE};
}

bool mt_weigh_find_line(const struct mt_advice_query *q, const struct mt_fix_line *l,
                        struct mt_runconf_hit *hit)
{
    char flag[128];
    bool found = q->conf != NULL && mt_runconf_find(q->conf, l->key, hit);
    struct mt_runconf_hit other;
    if (q->conf == NULL || (found && !hit->is_default) ||
        (l->syntax != MT_FIX_PYTHON && l->syntax != MT_FIX_YAML))
        return found;
    (void)snprintf(flag, sizeof flag, "--%.120s", l->key);
    if (!mt_runconf_find(q->conf, flag, &other))
        return found;
    *hit = other;
    return true;
}
