#include "analysis/advice/weigh.h"

bool mt_weigh_computes(const struct mt_advice_query *q)
{
    return mt_metrics_have_roles(q->metrics);
}

struct mt_value mt_weigh_ask(const struct mt_advice_query *q, const struct mt_fix_expr *e)
{
    return e->e != NULL ? mt_expr_eval(e->e, mt_metric_get, q->metrics)
                        : (struct mt_value){0, false, MT_CONF_NONE};
}
