#include "analysis/advice/lines.h"

#include <stdio.h>

const char *mt_advice_line(const struct mt_advice *a, uint32_t i)
{
    return a->proposed != NULL && i == a->proposed_line ? a->proposed : a->card->set[i].text;
}

const char *mt_advice_note(const struct mt_advice *a, uint32_t i, char buf[MT_ADVICE_NOTE])
{
    const char *note = a->card->set[i].note,
               *caution = (a->cautions >> i & 1) != 0 ? a->card->set[i].caution : "";
    (void)snprintf(buf, MT_ADVICE_NOTE, "%.500s%s%.500s", note,
                   note[0] != 0 && caution[0] != 0 ? "; " : "", caution);
    return buf;
}
