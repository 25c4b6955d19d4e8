/* log/first.c -- which of the changes may stand first: those that act on what the text shows to be
 * the matter. Beside one of these the others wait; a first change without effect costs a rerun. */
#include "analysis/log/diagnose.h"
#include "analysis/advice/advice.h"
#include "analysis/setup/keys.h"

#include <string.h>

/* The pieces are the matter: much of the card is in no use at all. */
static bool is_loose(const struct mt_logdiag *d)
{
    return d->cause == MT_CAUSE_FRAGMENTATION && d->allocated != MT_LOG_NONE &&
           d->capacity != MT_LOG_NONE && d->capacity != 0 &&
           (double)d->allocated < 0.6 * (double)d->capacity;
}

/* What is there whatever runs is more than the card: less in one pass is no help. */
static bool is_too_much(const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    const struct mt_logdiag_served *v = &d->model.served;
    return d->model.beyond > 0 || d->model.is_over_share ||
           (e->card > 0 &&
            (v->weights > e->card || v->frozen > e->card || d->model.held > e->card ||
             e->bytes > e->card || (e->cut > 0 && e->each > e->card) || e->alone > e->card));
}

static bool keeps_together(const struct mt_fix_rule *r)
{
    return (r->phases & 1u << MT_FIX_FRAGMENTATION) != 0;
}

static bool is_any_jobs(const struct mt_fix_rule *r, const struct mt_framework_rules *rules)
{
    return (r->frameworks & ~mt_framework_kind(rules, MT_FWK_LIBRARY)) == 0;
}

/* Beside a change that names a value of this job, is its program's own or of what ran, what helps
 * most jobs is no more than a guess. */
static bool is_guess_beside(const struct mt_advice *a, const struct mt_advice *lead,
                            const struct mt_framework_rules *rules)
{
    return a->is_weak && (lead->current != NULL || !is_any_jobs(lead->rule, rules) ||
                          strcmp(lead->rule->group, "what_ran") == 0);
}

/* The sentence says pieces, and no change against them can be offered, though it is not on. */
static bool lacks_cure(const struct mt_advice_list *list, uint32_t first,
                       const struct mt_logdiag *d, const struct mt_runconf *conf)
{
    if (conf != NULL &&
        (mt_run_is_set(conf, "expandable_segments") ||
         (conf->tries != NULL && conf->tries(conf->says_of, "expandable segments"))))
        return false;
    for (uint32_t i = first; i < list->n; i++)
        if (keeps_together(list->p[i].rule))
            return false;
    return d->cause == MT_CAUSE_FRAGMENTATION;
}

void mt_logdiag_first(struct mt_advice_list *list, uint32_t first, struct mt_logdiag *d,
                      const struct mt_log_fact *f, const struct mt_framework_rules *rules,
                      const struct mt_runconf *conf)
{
    bool is_first = first < list->n && list->p[first].is_top;
    bool pieces = is_first && d->pieces_told && keeps_together(list->p[first].rule);
    bool sure = first < list->n && (list->p[first].made_it || pieces);
    bool undivided = d->model.estimate.card > 0 &&
                     d->model.estimate.each > d->model.estimate.card; /* it fits on no card */
    bool no_line = ((d->request == MT_LOG_NONE && d->cause == MT_CAUSE_UNKNOWN) || d->by_words) &&
                   !d->pieces_told;
    /* a death that Ray alone tells: memory is only one of the usual reasons. What comes first has
       evidence of its own, or finds the reason; the rest waits for that */
    bool untold = d->cause == MT_CAUSE_KILLED && strcmp(f->text, "Ray") == 0;
    bool alone = sure && is_too_much(d);
    d->uncured = lacks_cure(list, first, d, conf);
    for (uint32_t i = first; i < list->n; i++) {
        struct mt_advice *a = &list->p[i];
        if ((untold && i > first) ||
            ((d->grows || d->growth_told) && (a->rule->phases & 1u << MT_FIX_LEAK) == 0 &&
             d->cause != MT_CAUSE_HOST) ||
            (alone && !a->made_it))
            a->is_top = false;
        if (i > first && is_first &&
            ((sure && (a->is_weak || undivided || is_loose(d))) ||
             (no_line && keeps_together(a->rule)) || pieces ||
             is_guess_beside(a, &list->p[first], rules)) &&
            !a->made_it && a->current == NULL && is_any_jobs(a->rule, rules))
            a->is_top = false; /* of any job, and nothing of this one speaks for it */
    }
}
