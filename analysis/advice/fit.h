/* advice/fit.h -- which rules fit a verdict, and which of a card's lines. Private to advice/. */
#ifndef MT_ADVICE_FIT_H
#define MT_ADVICE_FIT_H

#include "analysis/advice/advice.h"
#include "analysis/metrics/metrics.h"

enum { MT_FIT_LEFT_OUT = 64 }; /* rows that leave lines out, at most */

struct mt_fit {
    const struct mt_advice_query *q;
    const struct mt_framework_rules *fw;
    uint64_t engines;    /* of those that occur */
    uint64_t main, seen; /* bits of the framework and of everything that occurs */
    uint64_t told;       /* by settings: of rows that exclude each other these are there */
    uint64_t usual;      /* backends of the main program where nothing tells of one */
    mt_fw column;        /* of order.json */
    bool is_plain;       /* the column is that of jobs without a framework */
    uint32_t role;       /* enum mt_fix_role of the phase; 0 = not known */
    /* what lines are left out by, of metrics that are yes: mt_metric_row.leaves_out */
    const char *const *left_out[MT_FIT_LEFT_OUT];
    uint32_t n_left_out;
    bool is_told; /* what a text says is asked of conf */
    bool keeps;   /* a text says of something that it is to stay as it is */
};
/* q has to outlive it. */
void mt_fit_make(struct mt_fit *p, const struct mt_advice_query *q);
/* Whether the rule is for this job, as far as frames, backends and the allocator's settings tell.
 */
bool mt_fit_rule(const struct mt_fit *p, const struct mt_fix_rule *r);
/* Bit i: card->set[i] is for this framework and model, and for one of the classes (1 << enum
 * mt_fix_class). */
uint64_t mt_fit_lines(const struct mt_fit *p, const struct mt_fix_card *card, uint32_t classes);
/* The card's own conditions say whether it fits, line by line. */
bool mt_fit_judges(const struct mt_fit *p, const struct mt_fix_card *card);
/* A metric that is yes. */
bool mt_fit_is(const struct mt_advice_query *q, enum mt_metric which);

#endif
