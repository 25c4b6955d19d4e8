#include "analysis/advice/weigh.h"

#include "analysis/setup/keys.h"

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

struct mt_value mt_weigh_line_number(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    struct mt_value v = {0, false, MT_CONF_NONE};
    struct mt_runconf_hit hit;
    bool found = mt_weigh_find_line(q, l, &hit);
    if (found)
        v = mt_setting_number(hit.value);
    if (found && hit.is_default && v.conf > MT_CONF_CARRIED)
        v.conf = MT_CONF_CARRIED;
    return v;
}

bool mt_weigh_divides_ranks(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    struct mt_value none = {0, false, MT_CONF_NONE}, ranks = mt_weigh_ask(q, &l->part_of),
                    to = mt_setting_number(l->value);
    double groups;
    if (l->part_of.e == NULL || !ranks.known)
        return true;
    if (l->propose.e != NULL) {
        struct mt_value v;
        mt_metrics_rule(q->metrics, mt_weigh_line_number(q, l), none);
        v = mt_weigh_ask(q, &l->propose);
        mt_metrics_rule(q->metrics, none, none);
        to = v.known ? v : to;
    }
    groups = to.known && to.v >= 1 ? ranks.v / to.v : 0;
    return groups >= 1 && groups <= (double)(uint64_t)groups + 0.0005;
}

const char *mt_weigh_unknown_ranks(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    return l->part_of.e != NULL && !mt_weigh_computes(q) && !mt_weigh_ask(q, &l->part_of).known
               ? "<a number that divides the GPUs>"
               : NULL;
}
