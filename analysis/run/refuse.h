/* run/refuse.h -- advice that a lint of level error would refuse beside what the run is set to. */
#ifndef MT_REFUSE_H
#define MT_REFUSE_H

#include "analysis/facts/analysis.h"
#include "analysis/run/lint.h"

/* Runs the lints over the settings with each card's lines added and takes those cards out of list
 * that bring an error which known does not have; of a card that lists several ways, those ways. *n:
 * how many cards. */
enum mt_rc mt_refuse_advice(struct mt_advice_list *list, const struct mt_lint_in *in,
                            const struct mt_lint *known, uint32_t *n, struct mt_err *err);

#endif
