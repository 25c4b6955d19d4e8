/* advice/weigh.h -- how a card is weighed: what the files of advice/ share. Private to them. */
#ifndef MT_ADVICE_WEIGH_H
#define MT_ADVICE_WEIGH_H

#include "analysis/advice/advice.h"

#include "analysis/metrics/metrics.h"
#include "analysis/setup/settings.h"

/* The bytes by role are at hand: savings are computed. */
bool mt_weigh_computes(const struct mt_advice_query *q);
/* Not known where the card has no such expression. */
struct mt_value mt_weigh_ask(const struct mt_advice_query *q, const struct mt_fix_expr *e);

/* Fills saving, saving_of, fits_known and lacking of a card whose current and proposed numbers
 * are told to the metrics. false = a saving is known and too small to change a setting for. */
bool mt_weigh_saving(const struct mt_advice_query *q, struct mt_advice *a);

#endif
