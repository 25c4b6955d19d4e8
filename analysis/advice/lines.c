#include "analysis/advice/lines.h"

#include <stdio.h>

static const struct mt_typed *typed(const struct mt_advice *a, uint32_t i)
{
    for (uint32_t k = 0; k < a->n_typed; k++)
        if (a->typed[k].line == i)
            return &a->typed[k];
    return NULL;
}

static bool is_proposed(const struct mt_advice *a, uint32_t i)
{
    return a->proposed != NULL && i == a->proposed_line;
}

const char *mt_advice_line(const struct mt_advice *a, uint32_t i)
{
    const struct mt_typed *t = typed(a, i);
    return is_proposed(a, i) ? a->proposed : t != NULL ? t->text : a->card->set[i].text;
}

const char *mt_advice_key(const struct mt_advice *a, uint32_t i)
{
    return is_proposed(a, i) ? a->proposed_key : a->card->set[i].key;
}

const char *mt_advice_value(const struct mt_advice *a, uint32_t i)
{
    const struct mt_typed *t = typed(a, i);
    return is_proposed(a, i) ? a->proposed_value : t != NULL ? t->value : a->card->set[i].value;
}

const char *mt_advice_note(const struct mt_advice *a, uint32_t i, char buf[MT_ADVICE_NOTE])
{
    const char *note = a->card->set[i].note,
               *caution = (a->cautions >> i & 1) != 0 ? a->card->set[i].caution : "";
    (void)snprintf(buf, MT_ADVICE_NOTE, "%.500s%s%.500s", note,
                   note[0] != 0 && caution[0] != 0 ? "; " : "", caution);
    return buf;
}
