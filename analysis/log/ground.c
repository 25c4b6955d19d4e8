/* log/ground.c -- the ground of each change: it frees one holder of memory (a rule's "frees"), and
 * stands among the first only where the text shows that holder to be there and not small. What is
 * proven to fill the card comes first; a first change without effect costs a rerun. */
#include "analysis/log/diagnose.h"
#include "analysis/advice/advice.h"
#include "analysis/setup/keys.h"

#include <string.h>

/* What a job does when its engine has new weights: it generates, before anything trains. */
#define AFTER_SYNC                                                                                 \
    (1u << MT_FIX_WEIGHT_SYNC | 1u << MT_FIX_SWITCH | 1u << MT_FIX_ROLLOUT_KV_ALLOC |              \
     1u << MT_FIX_ROLLOUT_RUN | 1u << MT_FIX_ROLLOUT_GRAPH | 1u << MT_FIX_FOREIGN)

/* Of the card, what stays whatever the batch is: as much as all that a pass makes may well be. */
#define MUCH_OF 0.4

/* Holders, as a saving's `from`. */
struct ground {
    uint32_t must;  /* they alone are more than the card: a change of nothing else is no help */
    uint32_t leads; /* shown to be large: what frees them comes first */
    uint32_t shown; /* shown to be much of the card: what frees them is no guess */
    uint32_t none;  /* nothing shows them, or they are small beside the card */
    bool alone;     /* and what frees nothing but these before what frees other holders too */
    uint32_t comes; /* classes of what runs when it fails; 0 = any may */
};

/* ---- what the text shows of each holder ---- */

/* In 16 bits throughout, which nothing rules out, they are half, and fit. */
static bool may_fit(const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    double states = e->alone > 0 ? e->alone : e->cards <= 1 ? e->bytes : 0;
    return states > 0 && !e->mixed && states / 2 < e->card && d->model.held <= e->card &&
           d->model.served.frozen <= e->card;
}

/* Others have most of the card: they hold more than this process, which failed for a piece of it,
 * or it holds less than a quarter and more than half is somebody else's or outside its PyTorch. */
static bool is_theirs(const struct mt_logdiag *d)
{
    uint64_t own = mt_logdiag_torch(d);
    if (own == MT_LOG_NONE || d->capacity == MT_LOG_NONE)
        return false;
    return (d->cause == MT_CAUSE_FOREIGN && d->others != MT_LOG_NONE && d->others > own) ||
           (own < d->capacity / 4 && d->free != MT_LOG_NONE &&
            mt_log_or_zero(mt_log_minus(d->capacity, d->free + own)) > d->capacity / 2);
}

/* What a training keeps is known, and no matter: a tenth of the card, or less than any has. */
static bool is_small(const struct mt_logdiag *d)
{
    const double least = 2.0 * 1024 * 1024 * 1024;
    double states = mt_logdiag_states(d), card = d->model.estimate.card;
    return states > 0 && !mt_phase_is(d->sub, MT_IN_OPTIMIZER) &&
           (states < least || (card > 0 && states < card / 10));
}

/* No numbers of a failure speak for free memory in pieces, nor does a word. */
static bool shows_no_pieces(const struct mt_logdiag *d)
{
    bool no_line = (d->request == MT_LOG_NONE && d->cause == MT_CAUSE_UNKNOWN) || d->by_words;
    bool no_room = d->request != MT_LOG_NONE && d->cause == MT_CAUSE_CAPACITY &&
                   !mt_logdiag_fits_joined(d) && !mt_logdiag_has_holes(d);
    return (no_line || no_room) && !d->pieces_told;
}

/* The failed request are logits, and much of the card. */
static bool is_of_logits(const struct mt_logdiag *d)
{
    enum { MUCH = 8 };
    bool told = d->sub == MT_PH_LOGITS || d->made_of.what == MT_LOG_OF_LOGITS;
    return told && d->request != MT_LOG_NONE && d->capacity != MT_LOG_NONE &&
           d->request >= d->capacity / MUCH;
}

/* The failed request is of the model's weights, gradients or states. */
static bool is_of_model(const struct mt_logdiag *d)
{
    return d->made_of.what == MT_LOG_OF_MATRIX || d->made_of.what == MT_LOG_OF_FLAT ||
           d->made_of.what == MT_LOG_OF_MODEL || d->made_of.what == MT_LOG_OF_BLOCK ||
           d->made_of.what == MT_LOG_OF_BUCKET || d->made_of.copies > 0;
}

static struct ground ground_of(const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    struct ground g = {.must = mt_logdiag_too_much(d)};
    if (e->card > 0 && mt_logdiag_states(d) > MUCH_OF * e->card)
        g.shown |= MT_FIX_STATES;
    if (e->card > 0 && d->model.served.frozen > MUCH_OF * e->card)
        g.shown |= 1u << MT_ROLE_PARAM;
    if (d->cause == MT_CAUSE_REQUEST && !is_of_model(d))
        g.none |= MT_FIX_STATES; /* one tensor larger than the card, and it is none of these */
    if (mt_logdiag_full_before(d)) {
        g.leads |= MT_FIX_FROM_OUTSIDE;
        g.none |= 1u << MT_ROLE_KV_CACHE | 1u << MT_ROLE_GRAPH_POOL; /* they come after weights */
    }
    if (is_theirs(d) && d->phase == MT_PH_UNATTRIBUTED && !d->engine_failed)
        g.must = MT_FIX_FROM_OUTSIDE | MT_FIX_ENGINE; /* an engine of the job may be who has it */
    else if (is_theirs(d))
        g.none |= MT_FIX_PASS; /* what a trainer keeps, or an engine, may be what they have */
    if (e->card > 0 && e->each > e->card && e->cut <= 0)
        g.leads |= MT_FIX_STATES; /* unless something divides it that the text does not show */
    if (d->is_asleep || mt_logdiag_unmapped(d))
        g.leads |= MT_FIX_ENGINE;
    if (is_of_logits(d)) {
        g.leads = 1u << MT_ROLE_LOGITS;
        g.alone = true;
        g.none |= e->each > 0 ? MT_FIX_STATES : 0;
    }
    if (is_small(d) ||
        (d->model.budget.little && (mt_logdiag_fits_amply(d) || mt_logdiag_is_of_pass(d))))
        g.none |= MT_FIX_STATES;
    if (d->made_of.what != MT_LOG_OF_BUCKET) /* 1 GB of 16 bits at DeepSpeed's own size */
        g.none |= 1u << MT_ROLE_GRAD_REDUCE;
    if (shows_no_pieces(d))
        g.none |= MT_FIX_FROM_CACHE;
    if (d->phase == MT_PH_UNATTRIBUTED && d->sub == MT_PH_NONE && d->after == MT_PH_WEIGHT_SYNC)
        g.comes = AFTER_SYNC;
    g.must &= ~g.none;
    g.leads &= ~g.none;
    return g;
}

/* ---- what a change frees ---- */

static uint32_t frees_of(const struct mt_advice *a)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < a->card->n_set; i++)
        if ((a->lines >> i & 1) != 0)
            all |= mt_fix_frees(a->card, &a->card->set[i]);
    return all & ~MT_FIX_FROM_REQUEST; /* that the change made it, a->made_it says */
}

static bool has_ground(const struct ground *g, uint32_t frees)
{
    return frees == 0 || ((frees & ~g->none) != 0 && (g->must == 0 || (frees & g->must) != 0));
}

/* One before it among the first has the line. */
static bool is_typed(const struct mt_advice_list *list, uint32_t first, const struct mt_advice *a,
                     const struct mt_fix_line *l)
{
    for (const struct mt_advice *b = &list->p[first]; b < a; b++)
        for (uint32_t k = 0; b->is_top && k < b->card->n_set; k++)
            if ((b->lines >> k & 1) != 0 && strcmp(b->card->set[k].text, l->text) == 0)
                return true;
    return false;
}

/* A card of many settings keeps those that have a ground, where some do, and no line that stands
 * before it already. false = nothing of it has one. */
static bool stands(const struct mt_advice_list *list, uint32_t first, struct mt_advice *a,
                   const struct ground *g)
{
    uint64_t kept = 0;
    uint32_t known = 0;
    bool any = false, is_new = a->card->n_set == 0;
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        uint32_t frees = mt_fix_frees(a->card, l) & ~MT_FIX_FROM_REQUEST;
        if ((a->lines >> i & 1) == 0 || is_typed(list, first, a, l))
            continue;
        is_new = true;
        known |= frees;
        if (!has_ground(g, frees))
            continue;
        kept |= UINT64_C(1) << i;
        any = any || (!l->goes_with && (g->must == 0 || frees != 0));
    }
    if (any)
        a->lines = kept;
    return is_new && (any || known == 0);
}

/* ---- which stand first ---- */

/* The pieces are the matter: much of the card is in no use at all. */
static bool is_loose(const struct mt_logdiag *d)
{
    return d->cause == MT_CAUSE_FRAGMENTATION && d->allocated != MT_LOG_NONE &&
           d->capacity != MT_LOG_NONE && d->capacity != 0 &&
           (double)d->allocated < 0.6 * (double)d->capacity;
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

/* Takes from the first changes those that may wait behind what is sure. */
static void let_wait(struct mt_advice_list *list, uint32_t first, const struct ground *g,
                     const struct mt_logdiag *d, const struct mt_log_fact *f,
                     const struct mt_framework_rules *rules)
{
    bool is_first = first < list->n && list->p[first].is_top;
    bool pieces = is_first && d->pieces_told && keeps_together(list->p[first].rule);
    bool sure = first < list->n && (list->p[first].made_it || pieces);
    bool undivided = d->model.estimate.card > 0 &&
                     d->model.estimate.each > d->model.estimate.card; /* it fits on no card */
    /* a death that Ray alone tells: memory is only one of the usual reasons. What comes first has
       evidence of its own, or finds the reason; the rest waits for that */
    bool untold = d->cause == MT_CAUSE_KILLED && strcmp(f->text, "Ray") == 0;
    /* all that is held are copies of one thing, or all that is told fits: nothing else is the
       matter */
    bool alone = d->made_of.copies > 0 || mt_logdiag_fits_with_pass(d);
    uint32_t n_weak = 0; /* beside others on the card: one guess is enough */
    for (uint32_t i = first; i < list->n; i++) {
        struct mt_advice *a = &list->p[i];
        n_weak += a->is_top && a->is_weak;
        if ((untold && i > first) || (d->cause == MT_CAUSE_FOREIGN && a->is_weak && n_weak > 1) ||
            ((d->grows || d->growth_told) && (a->rule->phases & 1u << MT_FIX_LEAK) == 0 &&
             d->cause != MT_CAUSE_HOST) ||
            (alone && !a->made_it))
            a->is_top = false;
        if (i > first && is_first &&
            ((sure && (a->is_weak || undivided || is_loose(d))) || pieces ||
             is_guess_beside(a, &list->p[first], rules)) &&
            !a->made_it && a->current == NULL && is_any_jobs(a->rule, rules) &&
            (frees_of(a) & g->shown) == 0)
            a->is_top = false; /* of any job, and nothing of this one speaks for it */
    }
}

/* What frees a holder takes a free place among the first; and comes to stand before what does not,
 * where the holder is proven or leads. */
static void put_first(struct mt_advice_list *list, uint32_t first, const struct ground *g)
{
    uint32_t at = first, n = 0,
             holders = g->must != 0    ? g->must
                       : g->leads != 0 ? g->leads
                                       : g->shown;
    bool moves = (g->must | g->leads) != 0;
    for (uint32_t i = first; i < list->n; i++) /* of it alone: the surest */
        if (list->p[i].is_top && g->alone && (frees_of(&list->p[i]) & ~holders) == 0)
            mt_advice_move_up(list->p, i, at++);
    for (uint32_t i = first; i < list->n; i++)
        n += list->p[i].is_top;
    for (uint32_t i = at; i < list->n; i++) {
        struct mt_advice *a = &list->p[i];
        bool frees = (frees_of(a) & holders) != 0;
        if (frees && !a->is_top && n < MT_ADVICE_TOP && a->rule->kind == MT_FIX_SETTING &&
            !a->is_late && a->in_row && !mt_advice_has_group(&list->p[first], a, i - first) &&
            stands(list, first, a, g))
            a->is_top = (n++, true);
        if (moves && a->is_top && (a->made_it || frees))
            mt_advice_move_up(list->p, i, at++);
    }
}

/* Of a near miss the sentence says that what keeps the pieces together may do: it costs nothing,
 * and is shown beside what comes first. */
static void show_cheapest(struct mt_advice_list *list, uint32_t first, const struct mt_logdiag *d,
                          const struct mt_framework_rules *rules)
{
    if (mt_logdiag_short(d) == 0 || !mt_logdiag_fits_joined(d) || first >= list->n ||
        d->engine != NULL || !is_any_jobs(list->p[first].rule, rules))
        return;
    for (uint32_t i = first; i < list->n; i++)
        if (keeps_together(list->p[i].rule) && list->p[i].rule->kind == MT_FIX_SETTING) {
            list->p[i].is_top = true;
            return;
        }
}

/* Nothing that stood first has a ground, and nothing else has one: what the text shows and what
 * helps most jobs disagree, and a guess is more than silence. */
static void keep_some(struct mt_advice_list *list, uint32_t first, const uint32_t *was, uint32_t n)
{
    for (uint32_t i = first; i < list->n; i++)
        if (list->p[i].is_top)
            return;
    for (uint32_t i = 0; i < n; i++) {
        list->p[was[i]].is_top = true;
        list->p[was[i]].is_filler = false;
    }
}

void mt_logdiag_ground(struct mt_advice_list *list, uint32_t first, struct mt_logdiag *d,
                       const struct mt_log_fact *f, const struct mt_framework_rules *rules,
                       const struct mt_runconf *conf)
{
    struct ground g = ground_of(d);
    uint32_t was[MT_ADVICE_TOP], n_was = 0; /* nothing is moved where nothing is left */
    if (g.must == MT_FIX_STATES && may_fit(d) && !(first < list->n && list->p[first].made_it))
        g.leads |= MT_FIX_STATES, g.must = 0;
    d->uncured = lacks_cure(list, first, d, conf);
    let_wait(list, first, &g, d, f, rules);
    for (uint32_t i = first; i < list->n; i++) { /* a gather asked: of no pass */
        const struct mt_advice *a = &list->p[i];
        if (a->made_it && (frees_of(a) & 1u << MT_ROLE_UNSHARDED) != 0)
            g.must |= MT_FIX_STATES | 1u << MT_ROLE_UNSHARDED;
    }
    for (uint32_t i = first; i < list->n; i++) {
        struct mt_advice *a = &list->p[i];
        if (a->is_top && n_was < MT_ADVICE_TOP)
            was[n_was++] = i;
        if (g.alone && (g.none & MT_FIX_STATES) != 0 && frees_of(a) != 0 &&
            (frees_of(a) & ~g.none) == 0)
            a->made_it = false; /* it ran: what divides it, the text only does not show */
        if (a->made_it)
            continue;
        if (!has_ground(&g, frees_of(a)) || (a->is_top && !stands(list, first, a, &g)) ||
            (g.comes != 0 && (a->rule->phases & g.comes) == 0) ||
            (g.must != 0 && frees_of(a) == 0 && is_any_jobs(a->rule, rules)))
            a->is_top = !(a->is_filler = true); /* nor where another gives up its place */
    }
    if ((g.must | g.leads | g.shown) != 0)
        put_first(list, first, &g);
    keep_some(list, first, was, n_was);
    show_cheapest(list, first, d, rules);
}
