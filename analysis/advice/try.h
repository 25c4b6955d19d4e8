/* advice/try.h -- what changing a setting would free, asked of the same rules and numbers that
 * advice is made of (`report --try KEY=VALUE`). */
#ifndef MT_ADVICE_TRY_H
#define MT_ADVICE_TRY_H

#include "analysis/facts/analysis.h"
#include "analysis/setup/settings.h"

struct mt_fix_rules;

enum mt_tried_why {
    MT_TRIED_COUNTED,   /* card, current and saving say what it would do */
    MT_TRIED_NO_FIGURE, /* a rule is about it, and what it would free is not known here */
    MT_TRIED_NOT_HERE,  /* it has no part in the moment that matters */
    MT_TRIED_SAME,      /* the run has that value already */
    MT_TRIED_OTHER_WAY, /* it would need more; how much more is not counted */
    MT_TRIED_BEYOND,    /* the run would fail with it: bound is as far as one may go */
    MT_TRIED_NO_NUMBER, /* the setting is a number and the value is none */
    MT_TRIED_UNCOUNTED, /* a setting that no rule computes with */
    MT_TRIED_FOREIGN,   /* a key of another program only */
    MT_TRIED_UNKNOWN    /* no key that is known */
};
const char *mt_tried_id(enum mt_tried_why w); /* "counted" ... */

struct mt_tried {
    const char *key, *value; /* borrowed */
    enum mt_tried_why why;
    double bound;  /* of MT_TRIED_BEYOND */
    bool is_below; /* it: the value is less than the bound */
    /* card, lines, current, saving, lacking of the rule that counted it; card NULL where there is
     * none */
    struct mt_advice advice;
};
struct mt_tried_list {
    struct mt_tried *p;
    uint32_t n;
    struct mt_combined together; /* of those that were counted; sentence NULL where none was */
    uint64_t needed;             /* at the moment that matters, the failed request included */
};
/* Tries n settings, each with the others in force. a: NULL without a snapshot: then nothing is
 * counted, and fw, phase and sub say whose rules are looked through. MT_OK or MT_ENOMEM; free with
 * mt_tried_done() in any case. */
struct mt_try_in {
    struct mt_analysis *a;
    const struct mt_frameworks *fw;
    enum mt_phase phase, sub;
    const struct mt_fix_rules *rules;
    const struct mt_runconf *conf;
};
enum mt_rc mt_advice_try(struct mt_tried_list *out, const struct mt_try_in *in,
                         const struct mt_conf_entry *tries, uint32_t n, struct mt_err *err);
void mt_tried_done(struct mt_tried_list *l);

#endif
