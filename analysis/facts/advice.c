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
    a->current = a->proposed = a->proposed_key = a->proposed_value = NULL;
}
