/* metrics/rules.c -- the table of metrics that are rows. */
#include "analysis/metrics/impl.h"

uint32_t mt_metric_rules_count(const struct mt_metric_rules *r) { return r->row.n; }

const struct mt_metric_row *mt_metric_row_at(const struct mt_metric_rules *r, uint32_t i)
{
    return &r->row.p[i];
}

int mt_metric_row_find(const struct mt_metric_rules *r, const char *name, size_t n)
{
    for (uint32_t i = 0; r != NULL && i < r->row.n; i++) {
        const char *known = r->row.p[i].name;
        if (n > 0 && known[0] == name[0] && strncmp(known, name, n) == 0 && known[n] == '\0')
            return (int)i;
    }
    return -1;
}

void mt_metric_rules_free(struct mt_metric_rules *r)
{
    if (r == NULL)
        return;
    for (uint32_t i = 0; i < r->exprs.n; i++)
        mt_expr_free(r->exprs.p[i]);
    MT_VEC_DONE(&r->exprs);
    MT_VEC_DONE(&r->row);
    MT_VEC_DONE(&r->by_name);
    mt_arena_done(&r->arena);
    mt_free(r);
}
