#include "render/view/choices.h"

#include "render/base/escape.h"
#include "render/view/diagnosis.h"

#include <stdio.h>
#include <string.h>

uint64_t mt_outcome_needed(const struct mt_choices *c, uint32_t set)
{
    const struct mt_outcome *o = &c->with[set];
    uint64_t saved = o->bytes - (o->beside < o->bytes ? o->beside : o->bytes);
    return c->needed - (saved < c->needed ? saved : c->needed);
}

char *mt_outcome_words(char buf[MT_OUTCOME_WORDS], const struct mt_choices *c, uint32_t set)
{
    const struct mt_outcome *o = &c->with[set];
    char size[32], low[32], high[32];
    int n = !o->fits_known ? 0
            : o->lacking != 0
                ? snprintf(buf, MT_OUTCOME_WORDS, "lacks %s: ", mt_fmt_bytes(size, o->lacking))
                : snprintf(buf, MT_OUTCOME_WORDS, "%sfits: ", o->is_sure ? "" : "probably ");
    n += snprintf(buf + n, MT_OUTCOME_WORDS - (size_t)n, "%s %s",
                  mt_fmt_bytes(size, mt_outcome_needed(c, set)), o->fits_known ? "needed" : "live");
    if (o->high == 0)
        return buf;
    n +=
        snprintf(buf + n, MT_OUTCOME_WORDS - (size_t)n, ", %s freed", mt_fmt_bytes(size, o->bytes));
    if (strcmp(mt_fmt_bytes(low, o->low), mt_fmt_bytes(high, o->high)) != 0)
        (void)snprintf(buf + n, MT_OUTCOME_WORDS - (size_t)n, " (%s to %s)", low, high);
    return buf;
}

const char *mt_tried_words(char buf[MT_SETTLED_WORDS], const struct mt_tried *t)
{
    char saving[MT_SAVING_WORDS], enough[MT_SAVING_WORDS];
    const char *title = t->advice.card != NULL ? t->advice.card->title : "";
    switch (t->why) {
    case MT_TRIED_COUNTED:
        (void)mt_saving_words(saving, &t->advice.saving);
        (void)mt_enough_words(enough, &t->advice);
        (void)snprintf(buf, MT_SETTLED_WORDS, "frees %s%s%s", saving, enough[0] != '\0' ? "; " : "",
                       enough);
        return buf;
    case MT_TRIED_NO_FIGURE:
        (void)snprintf(buf, MT_SETTLED_WORDS,
                       "helps here (%s); what it frees cannot be told from what was given", title);
        return buf;
    case MT_TRIED_NOT_HERE: return "frees nothing at this moment";
    case MT_TRIED_SAME: return "is what the run has already";
    case MT_TRIED_OTHER_WAY:
        return "frees nothing: that way it takes more, and how much more is not counted";
    case MT_TRIED_BEYOND:
        (void)snprintf(buf, MT_SETTLED_WORDS,
                       "is %s than this run can do with: %.10g is as far as it goes (%s)",
                       t->is_below ? "less" : "more", t->bound, title);
        return buf;
    case MT_TRIED_NO_NUMBER: return "is no number, and this setting is one";
    case MT_TRIED_UNCOUNTED: return "is known, but memtrace does not count what it changes";
    case MT_TRIED_FOREIGN: return "does nothing here: the key is another program's";
    case MT_TRIED_UNKNOWN: break;
    }
    return "does nothing that memtrace knows of: is the key written right?";
}
