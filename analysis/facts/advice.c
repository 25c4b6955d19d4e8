#include "analysis/facts/analysis.h"

const char *mt_fix_conf_name(enum mt_fix_conf c)
{
    static const char *const name[] = {"high", "medium", "low"};
    return name[c];
}

void mt_advice_done(struct mt_advice *a)
{
    mt_free(a->current);
    mt_free(a->proposed_key); /* begins the memory of all three */
    for (uint32_t i = 0; i < a->n_typed; i++)
        mt_free(a->typed[i].key);
    mt_free(a->typed);
    a->typed = NULL;
    a->n_typed = 0;
    a->current = a->proposed = a->proposed_key = a->proposed_value = NULL;
}

void mt_advice_list_done(struct mt_advice_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        mt_advice_done(&list->p[i]);
    MT_VEC_DONE(list);
    for (uint32_t i = 0; i < list->settled.n; i++)
        mt_free(list->settled.p[i].current);
    MT_VEC_DONE(&list->settled);
}
