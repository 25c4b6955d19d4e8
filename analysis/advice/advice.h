/* advice.h -- which fix rules apply to a verdict, in the order to try them. */
#ifndef MT_ADVICE_H
#define MT_ADVICE_H

#include "analysis/facts/cause.h"
#include "analysis/base/expr.h"
#include "analysis/advice/rules.h"

struct mt_metrics;
struct mt_advice_query {
    const struct mt_fix_rules *rules;
    const struct mt_trace *trace; /* its settings and frames; NULL = unknown */
    const struct mt_frameworks *fw;
    enum mt_phase phase, sub; /* of the verdict */
    /* The row of a leak comes first, then fragmentation's where the metric says so, then that of
     * what others hold; host memory has remedies of its own. NONE = no row but the phase's. */
    enum mt_cause_kind cause;
    /* Of the snapshot, or what a log or a driver trace told (mt_metrics_told()); NULL = unknown. */
    struct mt_metrics *metrics;
    const struct mt_runconf *conf;   /* NULL = not known */
    struct mt_settled_list *settled; /* where that goes; NULL = nowhere */
};

/* The class whose remedies fit; MT_FIX_CLASS_COUNT when the phase says nothing. */
enum mt_fix_class mt_advice_class(const struct mt_advice_query *q);

/* Writes at most mt_fix_rules_count() entries to out and returns how many; UINT32_MAX = out of
 * memory. The first three real settings of the rows of order.json are marked as top; with metrics
 * those that save most. The caller frees their texts (mt_advice_done()). */
uint32_t mt_advice_select(const struct mt_advice_query *q, struct mt_advice *out);
/* The same into list, behind what is in it and without what is. false = out of memory. */
bool mt_advice_add(const struct mt_advice_query *q, struct mt_advice_list *list);
/* Adds to list what is not in it of more, which is emptied. false = out of memory. */
bool mt_advice_move(struct mt_advice_list *list, struct mt_advice_list *more);

/* Fills a->advice and a->combined from a->verdict, a->fw, a->trace and conf, which may be NULL. */
enum mt_rc mt_advise(struct mt_analysis *a, const struct mt_fix_rules *rules,
                     const struct mt_runconf *conf, struct mt_err *err);

/* Takes list->p[i] out, which is not to be typed because of says; what is to be changed first has
 * to be found again. false = out of memory. */
bool mt_advice_refuse(struct mt_advice_list *list, uint32_t i, const char *says);
/* What is to be changed first, and what that does together, after some were taken out. */
enum mt_rc mt_advise_again(struct mt_analysis *a, const struct mt_fix_rules *rules,
                           const struct mt_runconf *conf, struct mt_err *err);

/* ---- advice/proposal.c ---- */

/* Whether a line of a card is shown as far as its condition goes. */
bool mt_advice_line_holds(const struct mt_advice_query *q, const struct mt_fix_line *l);
/* Takes lines that are set already off a->card's and computes current, proposed and saving. 1 = it
 * is worth offering, 0 = it is not, *why saying what is worth to be said of that, -1 = out of
 * memory. */
int mt_advice_weigh(const struct mt_advice_query *q, struct mt_advice *a, enum mt_settled_why *why);
/* advice/allocation.c: AReaL's allocation string with one degree moved, into buf: "fsdp:d4" with d
 * halved and c doubled is "fsdp:d2c2". AT_END: the string is known, and the degree cannot be
 * halved, or heads cannot be divided so far, or its backend is none of those that can. *key is what
 * to type it under. */
enum mt_layout_found { MT_LAYOUT_NOT_KNOWN, MT_LAYOUT_AT_END, MT_LAYOUT_MADE };
enum mt_layout_found mt_advice_layout(const struct mt_runconf *conf,
                                      const struct mt_fix_layout *layout, char *buf, size_t cap,
                                      const char **key);

/* ---- advice/order.c, saving.c ---- */

#define MT_ADVICE_TOP 3 /* so many changes stand first, at most */
/* list[i] comes to stand at `at`, before it; those between go one further. */
void mt_advice_move_up(struct mt_advice *list, uint32_t i, uint32_t at);
/* Of list[0..n) one that is among the first shrinks the same as a, in another way. */
bool mt_advice_has_group(const struct mt_advice *list, const struct mt_advice *a, uint32_t n);
/* Puts list[first..n) in order of saving: what has none keeps its place. */
void mt_advice_rank(struct mt_advice *list, uint32_t first, uint32_t n);
/* What keeps pieces together, where more may come than this request, stands behind what made the
 * request and has no figure. */
void mt_advice_pieces_last(struct mt_advice *list, uint32_t n);
/* Without savings: in list[first..n) what made the request stands first, as one of the three: of
 * list[0..n) so many are among these. */
uint32_t mt_advice_made_first(struct mt_advice *list, uint32_t first, uint32_t n);
/* Without savings: in list[first..n) what the framework has by default, and only some runs have
 * switched off, stands behind all else that is to be changed. */
void mt_advice_late_last(struct mt_advice *list, uint32_t first, uint32_t n);
/* Marks the three to change first. */
void mt_advice_mark_top(struct mt_advice *list, uint32_t n);
/* Marks more of those that stand first for the phase, where no savings are computed. */
void mt_advice_fill_top(struct mt_advice *list, uint32_t n);
/* Leaves among those the smallest set that is enough, where one of them is. */
void mt_advice_smallest(struct mt_analysis *a, struct mt_metrics *m);
/* Live at the moment that matters, and the failed request. */
uint64_t mt_advice_needed(struct mt_metrics *m);
/* Fills a->combined. 1, or 0 = out of memory. */
int mt_advice_combine(struct mt_analysis *a, struct mt_metrics *m);
/* Fills a->choices. */
void mt_advice_choices(struct mt_analysis *a, struct mt_metrics *m);

#endif
