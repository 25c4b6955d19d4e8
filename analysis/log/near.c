/* log/near.c -- a request that was nearly met: how much was missing, and whether bytes enough lay
 * unused. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

/* Any request that a full card refuses lacks little when it is small itself: only one that was
 * nearly met, by three quarters and to a hundredth of the card, is a near miss. */
uint64_t mt_logdiag_short(const struct mt_logdiag *d)
{
    uint64_t lacks = mt_log_or_zero(mt_log_minus(mt_logdiag_segment(d->request), d->free));
    bool is_near = d->cause == MT_CAUSE_CAPACITY && d->request != MT_LOG_EXA &&
                   d->capacity != MT_LOG_NONE && lacks <= d->capacity / 100 &&
                   lacks <= d->request / 4;
    return is_near && !mt_logdiag_overcounts(d) && !mt_logdiag_unmapped(d) &&
                   !mt_logdiag_more_to_come(d) && mt_logdiag_too_much(d) == 0
               ? lacks
               : 0;
}

void mt_logdiag_say_no_pieces(struct mt_sentence *t, const struct mt_logdiag *d)
{
    uint64_t all = d->unallocated + mt_log_or_zero(d->free);
    char a[32], b[32];
    mt_words_add(t, "Of what PyTorch had reserved only %s were not in use",
                 mt_words_bytes(a, d->unallocated));
    if (all >= d->request)
        mt_words_add(t, ": the ends of many segments, as on any full card.");
    else if (d->free != MT_LOG_NONE)
        mt_words_add(t,
                     ": with what was free %s, less than the %s asked for, so this is no "
                     "fragmentation.",
                     mt_words_bytes(a, all), mt_words_bytes(b, d->request));
    else
        mt_words_add(t, ": less than the %s asked for, so this is no fragmentation.",
                     mt_words_bytes(b, d->request));
}

/* The next requests are not seen: nothing is promised. */
void mt_logdiag_say_short(struct mt_sentence *t, const struct mt_logdiag *d)
{
    uint64_t lacks = mt_logdiag_short(d);
    if (lacks != 0)
        mt_words_add(t,
                     "%sOnly %s more had to be free for this request: a small change may be "
                     "enough, where nothing larger follows it.",
                     t->n != 0 ? " " : "", MT_BYTES(lacks));
}
