#include "analysis/advice/try.h"

#include "analysis/advice/fit.h"
#include "analysis/advice/weigh.h"
#include "analysis/base/key.h"
#include "analysis/setup/keys.h"

#include <string.h>

const char *mt_tried_id(enum mt_tried_why w)
{
    static const char *const id[] = {"counted", "no_figure", "not_here",  "same",    "other_way",
                                     "beyond",  "no_number", "uncounted", "foreign", "unknown"};
    return id[w];
}

struct trial {
    const struct mt_advice_query *q;
    struct mt_fit fit;
    const struct mt_conf_entry *e;
    uint32_t classes; /* of the verdict */
    struct mt_tried *best;
    bool found;
    unsigned rank;  /* of best */
    bool goes_with; /* a line that belongs to another one has this key */
    bool is_ours;   /* the key is of the run's framework, or of any program */
};

/* Of "PYTORCH_CUDA_ALLOC_CONF.expandable_segments" what stands behind the dot, where the line sets
 * that variable and that part of it; NULL = it does not. */
static const char *part_of(const struct mt_fix_line *l, const char *key)
{
    size_t n = strlen(l->key);
    const char *part = key + n + 1;
    if (l->syntax != MT_FIX_ENV || strncmp(key, l->key, n) != 0 || key[n] != '.')
        return NULL;
    return strncmp(l->value, part, strlen(part)) == 0 && l->value[strlen(part)] == ':' ? part
                                                                                       : NULL;
}

/* The line of the card that sets the key, or, where the key is another name of the card's setting,
 * the first one; n_set = none. What merely goes with another line frees nothing by itself, unless
 * it is the number that the bytes follow. */
static uint32_t line_of(struct trial *t, const struct mt_fix_card *card, uint64_t lines)
{
    uint32_t first = card->n_set;
    for (uint32_t i = 0; i < card->n_set; i++) {
        const struct mt_fix_line *l = &card->set[i];
        if ((lines >> i & 1) == 0 || l->key[0] == 0)
            continue;
        if (l->goes_with && l->propose.e == NULL) {
            t->goes_with = t->goes_with || mt_same_key(l->key, t->e->key);
            continue;
        }
        if (mt_same_key(l->key, t->e->key) || part_of(l, t->e->key) != NULL)
            return i;
        if (first == card->n_set && !l->goes_with)
            first = i;
    }
    return card->current[0] != 0 && t->is_ours &&
                   mt_runconf_has_key(t->q->conf, card->current, t->e->key)
               ? first
               : card->n_set;
}

/* Which of two rules' answers is the better one: the lower. That a rule types the opposite word
 * says less than that another one has no part here. */
static unsigned rank(enum mt_tried_why why, bool is_number)
{
    return why == MT_TRIED_BEYOND                    ? 0
           : why == MT_TRIED_NOT_HERE                ? 2 * MT_TRIED_OTHER_WAY + 1
           : why == MT_TRIED_OTHER_WAY && !is_number ? 2 * MT_TRIED_OTHER_WAY + 2
                                                     : 2 * (unsigned)why;
}

static bool is_number(const char *value)
{
    return value[0] != 0 && strchr("0123456789.", value[0]) != NULL;
}

/* On or off, of which a rule types one; of other words it knows only its own. */
static bool is_switch(const char *value)
{
    return value[0] == 0 || mt_runconf_is_true(value) || mt_runconf_is_false(value);
}

/* The value of the line is a number. */
static bool takes_number(const struct mt_fix_card *card, const struct mt_fix_line *l)
{
    return l->propose.e != NULL || l->moves != MT_FIX_EITHER || card->moves != MT_FIX_EITHER;
}

/* What the rule would type if the run had this value: the rule's bound, where the value is beyond
 * it. */
static bool is_beyond(const struct trial *t, const struct mt_fix_card *card,
                      const struct mt_fix_line *l, struct mt_value v, double *bound)
{
    enum mt_fix_way way = l->moves != MT_FIX_EITHER ? l->moves : card->moves;
    struct mt_value none = {0, false, MT_CONF_NONE}, next = {1, v.v < 1, MT_CONF_MARKED};
    if (way == MT_FIX_EITHER)
        return false;
    if (l->propose.e != NULL) {
        mt_metrics_rule(t->q->metrics, v, none);
        next = mt_weigh_ask(t->q, &l->propose);
    }
    *bound = next.v;
    return next.known && next.v > 0 && (way == MT_FIX_DOWN ? next.v > v.v : next.v < v.v);
}

/* Whether the rule's formula is for this value: a number that goes its way, or what it types. */
static enum mt_tried_why fits(const struct trial *t, const struct mt_fix_card *card,
                              const struct mt_fix_line *l, struct mt_value current,
                              struct mt_value v, double *bound)
{
    bool number = takes_number(card, l);
    const char *part = part_of(l, t->e->key);
    enum mt_fix_way way = l->moves != MT_FIX_EITHER ? l->moves : card->moves;
    if (number && !is_number(t->e->value))
        return MT_TRIED_NO_NUMBER;
    if (number && current.known && !mt_weigh_goes(way, current.v, v.v))
        return MT_TRIED_OTHER_WAY;
    if (number && is_beyond(t, card, l, v, bound))
        return MT_TRIED_BEYOND;
    if (!number &&
        !mt_weigh_same_value(t->e->value, part != NULL ? l->value + strlen(part) + 1 : l->value))
        return is_switch(t->e->value) ? MT_TRIED_OTHER_WAY : MT_TRIED_UNCOUNTED;
    return MT_TRIED_COUNTED;
}

/* The line's own formula comes to nothing for this value. */
static bool frees_nothing(const struct trial *t, const struct mt_fix_line *l)
{
    struct mt_value v = {0, false, MT_CONF_NONE};
    if (l->saving != NULL && mt_weigh_computes(t->q))
        v = mt_weigh_ask(t->q, &l->saving->bytes);
    return v.known && v.v <= 0;
}

/* Bytes by one card. false = out of memory. */
static bool by_card(struct trial *t, const struct mt_fix_rule *r, const struct mt_fix_card *card)
{
    struct mt_value none = {0, false, MT_CONF_NONE}, current = none,
                    v = mt_setting_number(t->e->value);
    uint32_t classes = mt_fit_judges(&t->fit, card) ? UINT32_MAX : t->classes;
    uint32_t i = line_of(t, card, mt_fit_lines(&t->fit, card, classes));
    struct mt_advice a = {.rule = r, .card = card};
    enum mt_tried_why why;
    double bound = 0;
    if (i == card->n_set)
        return true;
    a.lines = 1ull << i;
    if (!mt_weigh_current(t->q, &a, &current))
        return false;
    if (card->set[i].moves != MT_FIX_EITHER)
        current = mt_weigh_line_number(t->q, &card->set[i]);
    if (!takes_number(card, &card->set[i]))
        v = none; /* "True" is no proposal: what follows a number is not known without it */
    why = fits(t, card, &card->set[i], current, v, &bound);
    mt_metrics_rule(t->q->metrics, current, v);
    if (why == MT_TRIED_COUNTED &&
        (!mt_weigh_may_hold(t->q, &card->when) || mt_weigh_is_off(t->q, card)))
        why = MT_TRIED_NOT_HERE;
    if (why == MT_TRIED_COUNTED && mt_weigh_computes(t->q))
        (void)mt_weigh_saving(t->q, &a);
    if (why == MT_TRIED_COUNTED && !a.saving.known)
        why = frees_nothing(t, &card->set[i]) ? MT_TRIED_OTHER_WAY : MT_TRIED_NO_FIGURE;
    if (why == MT_TRIED_COUNTED && a.saving.bytes == 0)
        why = is_number(t->e->value) ? MT_TRIED_OTHER_WAY : MT_TRIED_NOT_HERE;
    mt_metrics_rule(t->q->metrics, none, none);
    /* the surest answer, and of equals the first: rows of the phase come before the rest */
    if (t->found && t->rank <= rank(why, is_number(t->e->value))) {
        mt_advice_done(&a);
        return true;
    }
    if (t->found)
        mt_advice_done(&t->best->advice);
    t->found = true;
    t->rank = rank(why, is_number(t->e->value));
    t->best->why = why;
    t->best->bound = bound;
    t->best->is_below = v.v < bound;
    t->best->advice = a;
    return true;
}

static bool by_row(struct trial *t, enum mt_fix_class class, mt_fw column)
{
    uint32_t n;
    const struct mt_fix_step *step = mt_fix_order(t->q->rules, class, column, &n);
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++) {
        const struct mt_fix_rule *r = mt_fix_rule_at(t->q->rules, step[i].rule);
        ok = !mt_fit_rule(&t->fit, r) || by_card(t, r, step[i].card);
    }
    return ok;
}

static bool by_rules(struct trial *t)
{
    bool ok = true;
    for (uint32_t i = 0; i < mt_fix_rules_count(t->q->rules) && ok; i++) {
        const struct mt_fix_rule *r = mt_fix_rule_at(t->q->rules, i);
        if (!mt_fit_rule(&t->fit, r))
            continue;
        ok = by_card(t, r, &r->card);
        for (uint32_t k = 0; k < r->n_variants && ok; k++)
            ok = by_card(t, r, &r->variants[k]);
    }
    return ok;
}

static bool is_same(const struct mt_runconf *conf, const struct mt_conf_entry *e)
{
    struct mt_runconf_hit hit;
    return conf != NULL && mt_runconf_find(conf, e->key, &hit) && hit.value != NULL &&
           (!hit.is_default || conf->any) && mt_weigh_same_value(hit.value, e->value);
}

static enum mt_rc try_one(struct mt_tried *out, struct mt_advice_query *q,
                          const struct mt_conf_entry *e)
{
    struct trial t = {.q = q, .e = e, .best = out};
    enum mt_fix_class class = mt_advice_class(q);
    bool known, ok = true;
    *out = (struct mt_tried){.key = e->key, .value = e->value, .why = MT_TRIED_UNKNOWN};
    mt_fit_make(&t.fit, q);
    known = q->conf != NULL && mt_runconf_knows(q->conf, e->key, &t.is_ours);
    t.classes = class != MT_FIX_CLASS_COUNT ? 1u << class : UINT32_MAX;
    if (class != MT_FIX_CLASS_COUNT)
        ok = by_row(&t, class, t.fit.column) && by_row(&t, class, MT_FW_NONE);
    ok = ok && by_rules(&t);
    if (is_same(q->conf, e))
        out->why = MT_TRIED_SAME;
    else if (!t.found && (known || t.goes_with))
        out->why = t.is_ours || t.goes_with ? MT_TRIED_UNCOUNTED : MT_TRIED_FOREIGN;
    return ok ? MT_OK : MT_ENOMEM;
}

/* All that were counted, each finding what the one before it left. */
static enum mt_rc combine(struct mt_tried_list *out, const struct mt_try_in *in,
                          struct mt_metrics *m)
{
    struct mt_analysis all = *in->a;
    bool ok;
    out->needed = mt_advice_needed(m);
    memset(&all.advice, 0, sizeof all.advice);
    memset(&all.combined, 0, sizeof all.combined);
    all.advice.p = mt_calloc(out->n, sizeof *all.advice.p);
    if (all.advice.p == NULL)
        return MT_ENOMEM;
    for (uint32_t i = 0; i < out->n; i++)
        if (out->p[i].why == MT_TRIED_COUNTED) {
            all.advice.p[all.advice.n] = out->p[i].advice;
            all.advice.p[all.advice.n++].is_top = true;
        }
    ok = all.advice.n == 0 || mt_advice_combine(&all, m);
    out->together = all.combined;
    mt_free(all.advice.p);
    return ok ? MT_OK : MT_ENOMEM;
}

static enum mt_rc make(struct mt_advice_query *q, const struct mt_try_in *in,
                       struct mt_runconf *view)
{
    enum mt_rc rc;
    if (in->a != NULL)
        return mt_weigh_prepare(q, in->a, view);
    rc = mt_metrics_told(&q->metrics, mt_fix_rules_metrics(in->rules), q->conf, NULL, true);
    if (rc == MT_OK)
        mt_metrics_place(q->metrics, in->phase, in->sub);
    return rc;
}

/* Entry i with the others in force. */
static enum mt_rc try_nth(struct mt_tried_list *out, const struct mt_try_in *in,
                          const struct mt_conf_entry *tries, uint32_t n, uint32_t i,
                          struct mt_conf_entry *others)
{
    struct mt_advice_query q = {.rules = in->rules,
                                .trace = in->a != NULL ? in->a->trace : NULL,
                                .fw = in->fw,
                                .phase = in->phase,
                                .sub = in->sub,
                                .conf = in->conf};
    struct mt_runconf with, view;
    uint32_t n_others = 0;
    enum mt_rc rc;
    for (uint32_t k = 0; k < n; k++)
        if (k != i)
            others[n_others++] = tries[k];
    if (in->conf != NULL) {
        with = *in->conf;
        with.tried = others;
        with.n_tried = n_others;
        q.conf = &with;
    }
    rc = make(&q, in, &view);
    if (rc == MT_OK)
        rc = try_one(&out->p[i], &q, &tries[i]);
    out->n = i + 1;
    if (rc == MT_OK && i + 1 == n && in->a != NULL && mt_weigh_computes(&q))
        rc = combine(out, in, q.metrics);
    mt_metrics_free(q.metrics);
    return rc;
}

enum mt_rc mt_advice_try(struct mt_tried_list *out, const struct mt_try_in *in,
                         const struct mt_conf_entry *tries, uint32_t n, struct mt_err *err)
{
    struct mt_conf_entry *others = mt_calloc((size_t)n + 1, sizeof *others);
    enum mt_rc rc = MT_OK;
    memset(out, 0, sizeof *out);
    out->p = mt_calloc((size_t)n + 1, sizeof *out->p);
    if (out->p == NULL || others == NULL)
        rc = MT_ENOMEM;
    for (uint32_t i = 0; i < n && rc == MT_OK; i++)
        rc = try_nth(out, in, tries, n, i, others);
    mt_free(others);
    return rc == MT_OK ? rc : mt_fail(err, rc, "out of memory while trying settings");
}

void mt_tried_done(struct mt_tried_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        mt_advice_done(&l->p[i].advice);
    mt_free(l->p);
    mt_free(l->together.sentence);
    memset(l, 0, sizeof *l);
}
