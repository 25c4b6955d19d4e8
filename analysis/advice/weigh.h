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

static inline bool mt_weigh_holds(struct mt_value v) { return v.known && v.v != 0; }
/* A condition: mt_metrics_have_roles() says when one that is not known counts as held. */
bool mt_weigh_may_hold(const struct mt_advice_query *q, const struct mt_fix_expr *e);
/* Ranks that are known are whole groups of the number that the line would type. A job with one GPU
 * for a role, or seven for groups of two, is refused at start. */
bool mt_weigh_divides_ranks(const struct mt_advice_query *q, const struct mt_fix_line *l);
/* What stands for such a number where a log does not tell the ranks; NULL: it may be typed. */
const char *mt_weigh_unknown_ranks(const struct mt_advice_query *q, const struct mt_fix_line *l);
/* Two values that a program reads as the same: "True" and "1", 8192 and "8192". */
bool mt_weigh_same_value(const char *set, const char *want);
/* Whether a number goes the way of the card. */
bool mt_weigh_goes(enum mt_fix_way way, double from, double to);
/* What the card's `unless` says against it. A default is no evidence against what a trace shows. */
bool mt_weigh_is_off(const struct mt_advice_query *q, const struct mt_fix_card *card);
/* What the run has for the line's key. A file and code name a flag without dashes. */
bool mt_weigh_find_line(const struct mt_advice_query *q, const struct mt_fix_line *l,
                        struct mt_runconf_hit *hit);
/* advice/spell.c: a switch to be turned on, spelt as the run spells it off: "False" becomes "True",
 * "no" "yes". Any other value stays. */
const char *mt_spell_like(const char *now, const char *value);
/* MT_CONF_JSON or MT_CONF_TOML where the run's settings of that line are in such a
 * file; else MT_CONF_FORM_COUNT: it is typed as the rule has it. */
uint8_t mt_spell_form(const struct mt_advice_query *q, const struct mt_advice *a,
                      const struct mt_fix_line *l);
/* key, value and text of out, in one piece of memory; sep: between the two where the form is no
 * file's. false = out of memory. */
bool mt_spell_line(struct mt_typed *out, uint8_t form, const char *sep, const char *key,
                   const char *value);
/* The lines of a weighed card that are typed as the rule has them, in the form of the run's file.
 */
bool mt_spell_lines(const struct mt_advice_query *q, struct mt_advice *a);
/* The number of a line that moves by itself, as the run has it. */
struct mt_value mt_weigh_line_number(const struct mt_advice_query *q, const struct mt_fix_line *l);
/* Fills current and by_default of a card, and the number of it. 0 = out of memory. */
int mt_weigh_current(const struct mt_advice_query *q, struct mt_advice *a,
                     struct mt_value *current);
/* What the advice on a is asked of, with metrics that the caller frees; view keeps the settings. */
enum mt_rc mt_weigh_prepare(struct mt_advice_query *q, const struct mt_analysis *a,
                            struct mt_runconf *view);
/* Fills saving, saving_of, fits_known and lacking of a card whose current and proposed numbers
 * are told to the metrics. false = a saving is known and too small to change a setting for. */
bool mt_weigh_saving(const struct mt_advice_query *q, struct mt_advice *a);

#endif
