#include "analysis/advice/weigh.h"

#include <stdio.h>
#include <string.h>

bool mt_weigh_computes(const struct mt_advice_query *q)
{
    return mt_metrics_have_roles(q->metrics);
}

struct mt_value mt_weigh_ask(const struct mt_advice_query *q, const struct mt_fix_expr *e)
{
    return e->e != NULL ? mt_expr_eval(e->e, mt_metric_get, q->metrics)
                        : (struct mt_value){0, false, MT_CONF_NONE};
}

/* "model.seq_len" of "--trainer.model.seq-len": the file of one part of a program, or a piece of a
 * file, leaves out what stands above it. A name alone could be anything's. */
static bool find_below(const struct mt_advice_query *q, const char *key, struct mt_runconf_hit *hit)
{
    char flag[128];
    struct mt_runconf_hit other;
    for (const char *dot = strchr(key, '.'); dot != NULL && strchr(dot + 1, '.') != NULL;
         dot = strchr(dot + 1, '.')) {
        int n = snprintf(flag, sizeof flag, "--%s", dot + 1);
        if (n < 0 || (size_t)n >= sizeof flag || !mt_runconf_find(q->conf, flag, &other) ||
            other.entry == NULL)
            continue;
        *hit = other;
        return hit->is_prefixed = true;
    }
    return false;
}

bool mt_weigh_find_line(const struct mt_advice_query *q, const struct mt_fix_line *l,
                        struct mt_runconf_hit *hit)
{
    char flag[128];
    bool found = q->conf != NULL && mt_runconf_find(q->conf, l->key, hit);
    struct mt_runconf_hit other;
    if (q->conf != NULL && (!found || hit->is_default) && find_below(q, l->key, hit))
        return true;
    if (q->conf == NULL || (found && !hit->is_default) ||
        (l->syntax != MT_FIX_PYTHON && l->syntax != MT_FIX_YAML))
        return found;
    (void)snprintf(flag, sizeof flag, "--%.120s", l->key);
    if (!mt_runconf_find(q->conf, flag, &other))
        return found;
    *hit = other;
    return true;
}
