/* advice.c -- from a verdict to the settings worth trying. What may be advised, and why not, is
 * data in the rules; here is only how that data is read. */
#include "analysis/advice/fit.h"
#include "analysis/advice/weigh.h"

#include "analysis/metrics/metrics.h"
#include "analysis/setup/keys.h"
#include "analysis/base/frames.h"

#include <stdio.h>
#include <string.h>

#define TRAINING_CLASSES                                                                           \
    (1u << MT_FIX_LOSS | 1u << MT_FIX_FORWARD_BACKWARD | 1u << MT_FIX_BACKWARD |                   \
     1u << MT_FIX_GRAD_CLIP | 1u << MT_FIX_OPTIMIZER)
#define ROLLOUT_CLASSES                                                                            \
    (1u << MT_FIX_ROLLOUT_KV_ALLOC | 1u << MT_FIX_ROLLOUT_RUN | 1u << MT_FIX_ROLLOUT_GRAPH)

struct pick {
    struct mt_fit fit;
    const struct mt_advice_query *q;
    uint32_t classes; /* those whose remedies may have evidence */
    struct mt_advice *out;
    uint32_t n, n_top, most_top;
    bool any_phase;  /* the phase is not known: only what settings or bytes prove */
    bool only_set;   /* and of these what the run sets itself */
    bool is_tail;    /* what is offered now stands behind all else */
    bool has_led;    /* the program's own settings stand first */
    bool few_pieces; /* what keeps them together is no first thing to try */
    bool nomem;
};

static bool was_given(const struct pick *p, const char *id)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (strcmp(p->out[i].rule->id, id) == 0)
            return true;
    }
    return false;
}

static bool is_instead(const struct pick *p, const struct mt_fix_rule *r)
{
    for (uint32_t i = 0; i < r->n_instead_of; i++)
        if (was_given(p, r->instead_of[i]))
            return true;
    return false;
}

/* The line that says what a card is about; NULL when it has none to show. */
static const char *first_line(const struct mt_fix_card *card, uint64_t lines)
{
    for (uint32_t i = 0; i < card->n_set; i++) {
        if ((lines >> i & 1) != 0)
            return card->set[i].text;
    }
    return NULL;
}

/* Two rules may end in the same setting ("put the engine to sleep", "release its memory"): once is
 * enough. */
static bool line_was_given(const struct pick *p, const char *text)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const char *first = first_line(p->out[i].card, p->out[i].lines);
        if (first != NULL && strcmp(first, text) == 0)
            return true;
    }
    return false;
}

static bool is_first(const struct mt_advice *a)
{
    return a->proposed != NULL && (a->lines & ((1ull << a->proposed_line) - 1)) == 0;
}

/* The same with values that were computed: two ways to lay out a model may come to one. */
static bool typed_before(const struct pick *p)
{
    const struct mt_advice *a = &p->out[p->n];
    if (!is_first(a) || a->lines != 1ull << a->proposed_line)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        if (is_first(&p->out[i]) && strcmp(p->out[i].proposed, a->proposed) == 0)
            return true;
    }
    return false;
}

/* Takes current. */
static void add_settled(struct pick *p, const struct mt_advice *a, enum mt_settled_why why,
                        char *current)
{
    struct mt_settled *slot = p->q->settled != NULL ? MT_VEC_PUSH(p->q->settled) : NULL;
    p->nomem = p->nomem || (p->q->settled != NULL && slot == NULL);
    if (slot != NULL)
        *slot = (struct mt_settled){a->rule, a->card, why, current};
    else
        mt_free(current);
}

/* Keeps what is worth to be said of a card that is nothing to type: of those that stand first for
 * the phase, and what the trace contradicts. */
static void settle(struct pick *p, struct mt_advice *a, enum mt_settled_why why)
{
    if (why == MT_SETTLED_NOT || p->q->settled == NULL || (!a->in_row && why != MT_SETTLED_FINDING))
        return;
    for (uint32_t i = 0; i < p->q->settled->n; i++) {
        const struct mt_settled *s = &p->q->settled->p[i];
        if (s->rule == a->rule || (s->current != NULL && a->current != NULL && s->why == why &&
                                   strcmp(s->current, a->current) == 0))
            return;
    }
    add_settled(p, a, why, a->current);
    a->current = NULL;
}

/* Lines of a card that list a way each, and of which the default already goes one. */
static void settle_lines(struct pick *p, const struct mt_advice *a)
{
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        char text[600];
        if ((a->contradicted >> i & 1) == 0)
            continue;
        (void)snprintf(text, sizeof text, "%.560s (default)", l->text);
        add_settled(p, a, MT_SETTLED_FINDING, mt_strndup(text, strlen(text)));
    }
}

/* Lines for these classes are shown. What helps whatever ran has those of any pass. */
static uint32_t line_classes(const struct pick *p, const struct mt_fix_card *card,
                             enum mt_fix_class class)
{
    return mt_fit_judges(&p->fit, card) || class == MT_FIX_UNKNOWN ? p->classes : 1u << class;
}

/* In any phase: by the bytes that the card asks for, by what is set, or as what the settings show
 * to be the cause. */
static bool is_proven(const struct pick *p, const struct mt_advice *a)
{
    return a->made_it || mt_fit_judges(&p->fit, a->card) ||
           (a->current != NULL && !(p->only_set && a->by_default));
}

/* The framework's own default of a key; NULL = none is known. */
static const char *default_of(const struct pick *p, const char *key)
{
    const struct mt_runconf *conf = p->q->conf;
    for (uint32_t i = 0; conf != NULL && i < conf->keys.n; i++)
        if (conf->keys.p[i].framework == p->q->fw->main && conf->keys.p[i].part == NULL &&
            strcmp(conf->keys.p[i].key, key) == 0)
            return conf->keys.p[i].fallback;
    return NULL;
}

/* Without settings nobody knows whether the run has switched off what is on by default. */
static bool is_usual(const struct pick *p, const struct mt_advice *a)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        const char *usual;
        if ((a->lines >> i & 1) == 0 || l->goes_with)
            continue;
        usual = mt_fix_is_typed(l) && l->propose.e == NULL && l->moves == MT_FIX_EITHER
                    ? default_of(p, l->key)
                    : NULL;
        if (usual == NULL || !mt_weigh_same_value(usual, l->value))
            return false;
        n++;
    }
    return n != 0 && a->current == NULL;
}

/* Where the phase is not known, of the lines that fit those that help most jobs; all of them where
 * the card marks none. */
static uint64_t usual_lines(const struct pick *p, const struct mt_fix_card *card, uint64_t lines)
{
    uint64_t usual = 0;
    for (uint32_t i = 0; i < card->n_set; i++)
        if (mt_weigh_holds(mt_weigh_ask(p->q, &card->set[i].usual)))
            usual |= 1ull << i;
    return (lines & usual) != 0 ? lines & usual : lines;
}

/* It keeps pieces together, and they are few: behind all else. */
static bool is_late(const struct pick *p, const struct mt_fix_rule *r)
{
    return p->few_pieces && (r->phases & 1u << MT_FIX_FRAGMENTATION) != 0;
}

/* Said of any job, and nothing at hand speaks for it: no first change beside what the program
 * itself has for this. */
static bool is_filler(const struct pick *p, const struct mt_advice *a, enum mt_fix_class class)
{
    const uint32_t own = 1u << MT_FIX_FRAGMENTATION | 1u << MT_FIX_FOREIGN | 1u << MT_FIX_LEAK |
                         1u << MT_FIX_STREAMS | 1u << MT_FIX_NCCL | 1u << MT_FIX_HOST_MEMORY;
    return p->has_led && !mt_metrics_have_roles(p->q->metrics) && (own >> class & 1) == 0 &&
           !a->made_it && a->current == NULL &&
           ((a->rule->frameworks & ~mt_framework_kind(p->fit.fw, MT_FWK_LIBRARY)) == 0 ||
            (p->fit.main != 0 && (a->rule->frameworks & p->fit.main) == 0)); /* or others' alone */
}

static void offer(struct pick *p, const struct mt_fix_rule *r, const struct mt_fix_card *card,
                  enum mt_fix_class class, bool may_be_top)
{
    const char *first;
    uint64_t lines;
    enum mt_settled_why why;
    int weighed;

    if (was_given(p, r->id) || !mt_fit_rule(&p->fit, r) || is_instead(p, r))
        return;
    may_be_top = may_be_top && !p->is_tail && !is_late(p, r);
    if ((r->phases & 1u << MT_FIX_LEAK) !=
        0) /* to look for elsewhere, to change first only where it is the cause */
        may_be_top = may_be_top && p->q->cause == MT_CAUSE_LEAK;
    lines = mt_fit_lines(&p->fit, card, line_classes(p, card, class));
    if (class == MT_FIX_UNKNOWN)
        lines = usual_lines(p, card, lines);
    first = first_line(card, lines);
    if (card->n_set > 0 && (first == NULL || line_was_given(p, first)))
        return;
    p->out[p->n] =
        (struct mt_advice){.rule = r, .card = card, .lines = lines, .in_row = may_be_top};
    weighed = mt_advice_weigh(p->q, &p->out[p->n], &why);
    p->nomem = p->nomem || weighed < 0;
    if (weighed == 0)
        settle(p, &p->out[p->n], why);
    else if (weighed > 0)
        settle_lines(p, &p->out[p->n]);
    if ((p->q->cause == MT_CAUSE_STALE_ENGINE && strcmp(r->group, "sleep") == 0) ||
        (p->q->cause == MT_CAUSE_SKEW && strcmp(r->group, "skew") == 0) ||
        (p->q->cause == MT_CAUSE_FOREIGN && strcmp(r->group, "own_card") == 0) ||
        (p->q->cause == MT_CAUSE_FRAGMENTATION && class == MT_FIX_FRAGMENTATION))
        p->out[p->n].made_it = true; /* what holds the memory, not the request */
    p->out[p->n].any_phase = p->any_phase;
    p->out[p->n].is_weak = class == MT_FIX_UNKNOWN && strcmp(r->group, "what_ran") != 0;
    if (weighed <= 0 || typed_before(p) ||
        (p->any_phase && class != MT_FIX_UNKNOWN && !is_proven(p, &p->out[p->n]))) {
        mt_advice_done(&p->out[p->n]);
        return;
    }
    p->out[p->n].is_late = is_late(p, r) || is_usual(p, &p->out[p->n]);
    if (may_be_top && is_filler(p, &p->out[p->n], class))
        may_be_top = !(p->out[p->n].is_filler = true);
    if (may_be_top && r->kind == MT_FIX_SETTING && p->n_top < p->most_top) {
        p->out[p->n].is_top = true;
        p->n_top++;
        p->has_led = p->has_led || r->leads;
    }
    p->n++;
}

static void offer_column(struct pick *p, enum mt_fix_class class, mt_fw col)
{
    uint32_t n;
    const struct mt_fix_step *step = mt_fix_order(p->q->rules, class, col, &n);
    for (uint32_t i = 0; i < n; i++)
        offer(p, mt_fix_rule_at(p->q->rules, step[i].rule), step[i].card, class, true);
}

/* What a program alone has, in its own words (programs.json), before what any job has. */
static void offer_own(struct pick *p, enum mt_fix_class class)
{
    uint32_t n = mt_fix_rules_count(p->q->rules);
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_fix_rule *r = mt_fix_rule_at(p->q->rules, i);
        if (r->leads && (r->frameworks & p->fit.main) != 0 &&
            ((r->phases >> class & 1) != 0 || class == MT_FIX_UNKNOWN))
            offer(p, r, &r->card, class, true);
    }
}

static void offer_row(struct pick *p, enum mt_fix_class class)
{
    /* no trainer that would have settings for it */
    bool engine_first = p->fit.is_plain && mt_metric_get(p->q->metrics, "engine_failed", 13).v > 0;
    offer_own(p, class);
    if (!engine_first)
        offer_column(p, class, p->fit.column);
    for (int f = 1; f < mt_framework_count(p->fit.fw); f++)
        if ((p->fit.engines >> f & 1) != 0)
            offer_column(p, class, (mt_fw)f);
    if (engine_first)
        offer_column(p, class, p->fit.column);
    offer_column(p, class, MT_FW_NONE);
}

/* Rules that fit the class without standing in its row: the framework's own first. */
static void offer_rest(struct pick *p, enum mt_fix_class class)
{
    uint32_t n = mt_fix_rules_count(p->q->rules);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            const struct mt_fix_rule *r = mt_fix_rule_at(p->q->rules, i);
            bool own = (r->frameworks & p->fit.main) != 0;
            bool engine_only =
                !own && (r->frameworks & mt_framework_kind(p->fit.fw, MT_FWK_LIBRARY)) == 0;
            uint32_t classes = mt_fit_judges(&p->fit, &r->card) ? p->classes : 1u << class;
            if ((r->phases & classes) == 0 || r->kind > MT_FIX_TIP || own != (pass == 0))
                continue;
            if (!engine_only || (ROLLOUT_CLASSES >> class & 1) != 0 ||
                mt_fit_judges(&p->fit, &r->card))
                offer(p, r, &r->card, class, false);
        }
    }
}

static uint32_t finish(struct pick *p)
{
    for (uint32_t i = 0; p->nomem && i < p->n; i++)
        mt_advice_done(&p->out[i]);
    return p->nomem ? UINT32_MAX : p->n;
}

/* What the trace lacks, where its own conditions find that. */
static void offer_capture(struct pick *p)
{
    uint32_t n = mt_fix_rules_count(p->q->rules);
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_fix_rule *r = mt_fix_rule_at(p->q->rules, i);
        if (r->kind == MT_FIX_RECORD && mt_fit_judges(&p->fit, &r->card))
            offer(p, r, &r->card, MT_FIX_CAPTURE, false);
    }
}

/* Where the phase is not known, what the settings prove in any phase: what the run sets before what
 * it leaves at a default, of training first, and the engine's share of the card. */
static void offer_any(struct pick *p, uint32_t most)
{
    p->any_phase = true;
    p->classes = TRAINING_CLASSES | ROLLOUT_CLASSES | 1u << MT_FIX_LOGP;
    for (int pass = 0; pass < 2; pass++) {
        p->only_set = pass == 0;
        p->most_top = MT_ADVICE_TOP - 1;
        offer_row(p, MT_FIX_FORWARD_BACKWARD);
        p->most_top = most;
        offer_row(p, MT_FIX_ROLLOUT_RUN);
        offer_row(p, MT_FIX_OPTIMIZER);
    }
    p->only_set = false;
    p->classes |= 1u << MT_FIX_UNKNOWN;
    if (p->n_top < most &&
        !mt_metrics_have_roles(
            p->q->metrics)) /* what helps most jobs: the weakest claim there is */
        offer_row(p, MT_FIX_UNKNOWN);
    p->any_phase = false;
}

/* The recording is of the host: whoever asks about the GPU has to record that. */
static bool lacks_gpu(const struct mt_advice_query *q)
{
    return q->trace != NULL && !mt_is_of_tensors(q->trace);
}

uint32_t mt_advice_select(const struct mt_advice_query *q, struct mt_advice *out)
{
    enum mt_fix_class class = mt_advice_class(q);
    bool with_bytes = mt_metrics_have_roles(q->metrics);
    struct pick p = {.q = q, .out = out, .most_top = MT_ADVICE_TOP};
    bool fragmented = mt_fit_is(q, MT_METRIC_fragmented);
    /* what could be let go of was more than the pieces: they come after it */
    bool pieces_last = fragmented && with_bytes && q->cause != MT_CAUSE_FRAGMENTATION &&
                       q->cause != MT_CAUSE_NONE && q->cause != MT_CAUSE_LEAK;
    /* nor are they much of what is held, by the line of a log */
    bool few = fragmented && !with_bytes && mt_fit_is(q, MT_METRIC_few_pieces);
    /* the bytes joined would just have been enough: what surely frees some comes before that */
    bool just = fragmented && !with_bytes && !few && q->cause == MT_CAUSE_CAPACITY &&
                class != MT_FIX_CLASS_COUNT;
    /* nothing at hand keeps pieces together: a newer PyTorch is no first thing to try */
    bool late = fragmented && !with_bytes && !few && q->cause == MT_CAUSE_CAPACITY &&
                class == MT_FIX_CLASS_COUNT && mt_fit_is(q, MT_METRIC_no_expandable);
    uint32_t n_first;

    mt_fit_make(&p.fit, q);
    p.few_pieces = few;
    if (q->cause == MT_CAUSE_LEAK)
        offer_row(&p, MT_FIX_LEAK);
    if (q->cause == MT_CAUSE_PENDING_FREES)
        offer_row(&p, MT_FIX_STREAMS);
    if (q->cause == MT_CAUSE_FOREIGN ||
        (q->cause == MT_CAUSE_OUTSIDE && mt_fit_is(q, MT_METRIC_own_outside)))
        offer_row(&p, MT_FIX_FOREIGN);
    if (fragmented && !just && !late && !pieces_last && !few)
        offer_row(&p, MT_FIX_FRAGMENTATION);
    if (q->cause == MT_CAUSE_REQUEST || (with_bytes && mt_fit_is(q, MT_METRIC_beyond_card))) {
        p.most_top = class != MT_FIX_CLASS_COUNT ? 1 : MT_ADVICE_TOP;
        p.classes = 1u << MT_FIX_REQUEST;
        n_first = p.n;
        offer_row(&p, MT_FIX_REQUEST);
        if (!with_bytes) /* two may have made it so large */
            p.n_top = mt_advice_made_first(out, n_first, p.n);
    }
    if (q->cause == MT_CAUSE_LIMIT && !with_bytes)
        offer_row(&p, MT_FIX_LIMIT);
    n_first = p.n;
    if (q->cause == MT_CAUSE_LIMIT && !with_bytes && !mt_fit_is(q, MT_METRIC_capped)) {
        /* nothing lacked: what frees memory is no help */
    } else if (class == MT_FIX_CLASS_COUNT) {
        offer_any(&p, late ? MT_ADVICE_TOP - 1 : MT_ADVICE_TOP);
        p.most_top = MT_ADVICE_TOP;
        if (late)
            offer_row(&p, MT_FIX_FRAGMENTATION);
    } else {
        /* With the bytes by role at hand, what holds memory decides rather than the place in the
         * step. */
        p.classes = 1u << class;
        if (with_bytes && (TRAINING_CLASSES & p.classes) != 0)
            p.classes |= TRAINING_CLASSES;
        if (with_bytes && class != MT_FIX_HOST_MEMORY)
            p.classes |= 1u << MT_FIX_NCCL | 1u << MT_FIX_CAPTURE | 1u << MT_FIX_FRAGMENTATION;
        p.most_top = MT_ADVICE_TOP - 1;
        if (just)
            offer_column(&p, class, p.fit.column);
        p.most_top = MT_ADVICE_TOP;
        if (just)
            offer_row(&p, MT_FIX_FRAGMENTATION);
        offer_row(&p, class);
        offer_rest(&p, class);
    }
    if (pieces_last || few || mt_fit_is(q, MT_METRIC_fits_only_here))
        offer_row(&p, MT_FIX_FRAGMENTATION);
    if (with_bytes) {
        offer_capture(&p);
        mt_advice_rank(out, 0, n_first);
        mt_advice_rank(out, n_first, p.n);
        if (mt_fit_is(q, MT_METRIC_fragmented) && mt_fit_is(q, MT_METRIC_left_open))
            mt_advice_pieces_last(out, p.n);
        mt_advice_mark_top(out, p.n);
    } else {
        (void)mt_advice_made_first(out, n_first, p.n);
        mt_advice_late_last(out, n_first, p.n);
        if (just) /* a place was kept for what keeps pieces together */
            mt_advice_fill_top(out, p.n);
    }
    p.is_tail = true; /* how to learn more, in the framework's own words */
    if (class == MT_FIX_CLASS_COUNT || lacks_gpu(q) ||
        (class != MT_FIX_HOST_MEMORY && !mt_fit_is(q, MT_METRIC_recorded)))
        offer_row(&p, MT_FIX_CAPTURE);
    return finish(&p);
}

/* ---- lists ---- */

/* What one class found set, another may have lines of that are not: then it is offered. */
static bool is_offered(const struct mt_advice_list *list, const struct mt_settled *s)
{
    for (uint32_t i = 0; s->why == MT_SETTLED_SET && i < list->n; i++)
        if (list->p[i].card == s->card)
            return true;
    return false;
}

static bool has_rule(const struct mt_advice_list *list, const struct mt_fix_rule *r)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->p[i].rule == r)
            return true;
    }
    return false;
}

bool mt_advice_move(struct mt_advice_list *list, struct mt_advice_list *more)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < more->n; i++) {
        struct mt_advice *slot;
        if (has_rule(list, more->p[i].rule))
            continue;
        slot = MT_VEC_PUSH(list);
        ok = slot != NULL;
        if (ok) {
            *slot = more->p[i];
            more->p[i].current = more->p[i].proposed_key = NULL; /* the slot owns them */
            more->p[i].typed = NULL;
            more->p[i].n_typed = 0;
        }
    }
    for (uint32_t i = 0; ok && i < more->settled.n; i++) {
        struct mt_settled *slot;
        if (is_offered(list, &more->settled.p[i]))
            continue;
        slot = MT_VEC_PUSH(&list->settled);
        ok = slot != NULL;
        if (ok) {
            *slot = more->settled.p[i];
            more->settled.p[i].current = NULL;
        }
    }
    mt_advice_list_done(more);
    return ok;
}

bool mt_advice_add(const struct mt_advice_query *q, struct mt_advice_list *list)
{
    uint32_t n = mt_fix_rules_count(q->rules) + 1;
    struct mt_advice_list chosen = {.p = mt_calloc(n, sizeof *chosen.p), .cap = n};
    struct mt_advice_query own = *q;
    if (chosen.p == NULL)
        return false;
    own.settled = &chosen.settled;
    n = mt_advice_select(&own, chosen.p);
    chosen.n = n != UINT32_MAX ? n : 0;
    return mt_advice_move(list, &chosen) && n != UINT32_MAX;
}

/* Of a snapshot without bytes by role, or of host memory: what it says all the same. */
static enum mt_rc forget_roles(struct mt_metrics **made, const struct mt_advice_query *q,
                               bool pinned)
{
    static const enum mt_metric kept[] = {MT_METRIC_fragmented, MT_METRIC_gradients_dominate,
                                          MT_METRIC_inference_only};
    struct mt_advice_query old = {.metrics = *made};
    enum mt_rc rc = mt_metrics_told(made, mt_fix_rules_metrics(q->rules), q->conf, q->trace, false);
    for (size_t i = 0; rc == MT_OK && i < sizeof kept / sizeof *kept; i++)
        if (mt_fit_is(&old, kept[i]))
            mt_metrics_set(*made, kept[i], 1, MT_CONF_MARKED);
    if (rc == MT_OK && pinned) /* a snapshot has no other memory of the host */
        mt_metrics_set(*made, MT_METRIC_host_pinned, 1, MT_CONF_MARKED);
    if (rc == MT_OK && lacks_gpu(q)) {
        mt_metrics_set(*made, MT_METRIC_host_only, 1, MT_CONF_MARKED);
        mt_metrics_set(*made, MT_METRIC_host_mapped, q->trace->meta.mostly_mapped, MT_CONF_MARKED);
    }
    if (rc == MT_OK)
        mt_metrics_place(*made, q->phase, q->sub);
    mt_metrics_free(old.metrics);
    return rc;
}

/* What the advice on a is asked of. view: the settings as this framework reads them; its defaults
 * only where settings are known at all. */
enum mt_rc mt_weigh_prepare(struct mt_advice_query *q, const struct mt_analysis *a,
                            struct mt_runconf *view)
{
    const struct mt_device_analysis *d = &a->devices.p[a->verdict.device];
    enum mt_rc rc;
    if (q->conf != NULL && a->fw.main > MT_FW_NONE) {
        *view = *q->conf;
        view->forced = q->conf->forced && !q->conf->by_trace;
        view->framework = q->conf->any || view->forced ? (int)a->fw.main : -1;
        q->conf = view;
    } else if (q->conf != NULL && a->fw.own_script) {
        *view = *q->conf;
        view->framework = -1;
        view->foreign = true;
        q->conf = view;
    }
    q->phase = a->verdict.phase;
    q->sub = a->verdict.sub;
    /* A larger share helps an engine that found no room for its cache in it, which only its log
     * says. Where the trace shows the cache being allocated, the share is what fills the card,
     * whether the allocation failed or not. */
    if (q->conf != NULL && q->conf->kv_refused && d->ooms.n == 0)
        q->phase = MT_PH_ROLLOUT_KV_ALLOC;
    else if (q->phase == MT_PH_ROLLOUT_KV_ALLOC && d->ooms.n == 0)
        q->phase = MT_PH_ROLLOUT_GENERATE;
    q->cause = d->kind != MT_DEV_CUDA ? MT_CAUSE_HOST
               : d->cause != NULL     ? d->cause->kind
                                      : q->cause;
    rc = mt_metrics_make(&q->metrics, a, d, mt_fix_rules_metrics(q->rules), q->conf);
    if (rc == MT_OK && (!mt_metrics_have_roles(q->metrics) || q->cause == MT_CAUSE_HOST))
        rc = forget_roles(&q->metrics, q, d->kind == MT_DEV_HOST);
    return rc;
}

static enum mt_rc advise(struct mt_analysis *a, const struct mt_fix_rules *rules,
                         const struct mt_runconf *conf, bool again, struct mt_err *err)
{
    struct mt_advice_query q = {.rules = rules, .trace = a->trace, .fw = &a->fw, .conf = conf};
    struct mt_runconf view;
    bool ok;
    if (a->verdict.kind == MT_V_EMPTY || a->verdict.device >= a->devices.n ||
        (a->devices.p[a->verdict.device].kind == MT_DEV_CPU &&
         mt_is_of_tensors(a->trace))) /* no rule is about a CPU's tensors */
        return MT_OK;
    ok = mt_weigh_prepare(&q, a, &view) == MT_OK && (again || mt_advice_add(&q, &a->advice));
    if (ok && mt_metrics_have_roles(q.metrics)) {
        if (again)
            mt_advice_mark_top(a->advice.p, a->advice.n);
        mt_advice_smallest(a, q.metrics);
        mt_free(a->combined.sentence);
        ok = mt_advice_combine(a, q.metrics);
        mt_advice_choices(a, q.metrics);
    } else if (ok && again) {
        mt_advice_fill_top(a->advice.p, a->advice.n);
    }
    mt_metrics_free(q.metrics);
    return ok ? MT_OK : mt_fail(err, MT_ENOMEM, "out of memory while choosing advice");
}

enum mt_rc mt_advise(struct mt_analysis *a, const struct mt_fix_rules *rules,
                     const struct mt_runconf *conf, struct mt_err *err)
{
    return advise(a, rules, conf, false, err);
}

enum mt_rc mt_advise_again(struct mt_analysis *a, const struct mt_fix_rules *rules,
                           const struct mt_runconf *conf, struct mt_err *err)
{
    return advise(a, rules, conf, true, err);
}

bool mt_advice_refuse(struct mt_advice_list *list, uint32_t i, const char *says)
{
    struct mt_settled *slot = MT_VEC_PUSH(&list->settled);
    struct mt_advice a = list->p[i];
    if (slot == NULL)
        return false;
    *slot = (struct mt_settled){a.rule, a.card, MT_SETTLED_CLASH, mt_strndup(says, strlen(says))};
    list->n--;
    for (uint32_t k = i; k < list->n; k++)
        list->p[k] = list->p[k + 1];
    mt_advice_done(&a);
    return slot->current != NULL;
}
