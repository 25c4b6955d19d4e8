/* view/enough.c -- how far a setting goes alone, and which others would do as well. */
#include "render/base/escape.h"
#include "render/view/diagnosis.h"

#include <stdio.h>
#include <string.h>

char *mt_enough_words(char buf[MT_SAVING_WORDS], const struct mt_advice *a)
{
    char size[32], parts[32] = "";
    size_t n;
    buf[0] = '\0';
    if (a->parts != 0)
        (void)snprintf(parts, sizeof parts, "; in %u parts", (unsigned)a->parts);
    if (a->fits_known && a->lacking == 0)
        (void)snprintf(buf, MT_SAVING_WORDS,
                       a->left_open ? "enough for this request; what comes after it is not known"
                                    : "enough alone");
    else if (a->fits_known && a->is_probable)
        (void)snprintf(buf, MT_SAVING_WORDS,
                       a->left_open
                           ? "probably enough for this request; what comes after it is not known"
                           : "probably enough alone");
    else if (a->fits_known)
        (void)snprintf(buf, MT_SAVING_WORDS, "not enough alone, %s short%s%s",
                       mt_fmt_bytes(size, a->lacking), parts,
                       a->parts == 0 ? "" : " it probably would be");
    n = strlen(buf);
    if (a->only_if != NULL && n != 0 && (a->lacking == 0 || a->is_probable))
        (void)snprintf(buf + n, MT_SAVING_WORDS - n, ", if %s", a->only_if);
    return buf;
}

uint32_t mt_saving_line(const struct mt_advice *a)
{
    uint32_t l = 0;
    while (l < a->card->n_set &&
           ((a->lines >> l & 1) == 0 || a->card->set[l].saving != a->saving_of))
        l++;
    for (l = l < a->card->n_set ? l : 0; l < a->card->n_set && (a->lines >> l & 1) == 0;)
        l++;
    return l;
}

const char *mt_instead_words(char buf[MT_SETTLED_WORDS], const struct mt_advice_list *list)
{
    enum { MOST = 3 };
    unsigned shown = 0;
    bool first_is_enough = false;
    int n = 0;
    for (uint32_t i = 0; list != NULL && i < list->n; i++) {
        const struct mt_advice *a = &list->p[i];
        char size[32];
        uint32_t l = mt_saving_line(a);
        bool enough =
            a->fits_known && a->lacking == 0 && !a->left_open && a->rule->kind == MT_FIX_SETTING;
        first_is_enough = first_is_enough || (a->is_top && enough);
        if (a->is_top || !enough || shown == MOST || l == a->card->n_set)
            continue;
        n += snprintf(buf + n, MT_SETTLED_WORDS - (size_t)n, "%s%.300s (%s%s%.80s)",
                      shown++ == 0 ? "Or one of these, each enough alone: " : ", ",
                      mt_advice_line(a, l), mt_fmt_bytes(size, a->saving.bytes),
                      a->only_if != NULL ? ", if " : "", a->only_if != NULL ? a->only_if : "");
    }
    return shown != 0 && first_is_enough ? buf : NULL;
}
