/* advice/saving.c -- what a rule would change: the value that is set, the value to set, and the
 * bytes that this takes off the moment that matters. */
#include "analysis/advice/advice.h"

#include "analysis/metrics/phase.h"
#include "analysis/metrics/rows.h"
#include "analysis/setup/settings.h"
#include "analysis/base/words.h"
#include "analysis/base/frames.h"
#include "analysis/setup/keys.h"

#include <stdio.h>
#include <string.h>

#define N_TOP 3
/* A saving of less than a thousandth of the live bytes is not worth changing a setting. Chosen by
 * hand; a hundredth drops advice from 2 of 387 reports, a ten-thousandth adds none. */
#define WORTH 1000

_Static_assert(MT_ROLE_COUNT < 27, "bits of roles and of other sources would meet");

static bool holds(struct mt_value v) { return v.known && v.v != 0; }

/* The bytes by role are at hand: savings are computed. */
static bool computes(const struct mt_advice_query *q) { return mt_metrics_have_roles(q->metrics); }

static struct mt_value ask(const struct mt_advice_query *q, const struct mt_fix_expr *e)
{
    return e->e != NULL ? mt_expr_eval(e->e, mt_metric_get, q->metrics)
                        : (struct mt_value){0, false, MT_CONF_NONE};
}

/* A condition: mt_metrics_have_roles() says when one that is not known counts as held. */
static bool may_hold(const struct mt_advice_query *q, const struct mt_fix_expr *e)
{
    struct mt_value v = ask(q, e);
    return e->e == NULL || (v.known ? v.v != 0 : !computes(q));
}

bool mt_advice_line_holds(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    return may_hold(q, &l->when);
}

/* ---- current and proposed ---- */

static char *text_of(const char *s) { return mt_strndup(s, strlen(s)); }

/* "key=16384 (run.yaml:7)", "16384 (default)". 0 = out of memory. */
static int describe_current(const struct mt_advice_query *q, struct mt_advice *a)
{
    struct mt_runconf_hit hit;
    char where[160], text[1024];
    if (a->card->current[0] == 0 || q->conf == NULL ||
        !mt_runconf_find(q->conf, a->card->current, &hit))
        return 1;
    if (hit.is_default)
        (void)snprintf(text, sizeof text, "%.400s: %.200s (default)",
                       hit.key != NULL ? hit.key->key : a->card->current,
                       hit.value != NULL ? hit.value : "");
    else if (hit.entry != NULL && hit.value != NULL) {
        /* of "fsdp:d4" a part is looked up; shown is what stands there */
        const char *shown = hit.key != NULL && hit.key->part != NULL && hit.entry->value != NULL
                                ? hit.entry->value
                                : hit.value;
        (void)snprintf(text, sizeof text, "%.400s%s%.400s (%s)", hit.entry->key,
                       shown[0] != 0 ? ": " : "", shown,
                       mt_runconf_where(where, sizeof where, hit.entry));
    } else
        return 1;
    a->current = text_of(text);
    return a->current != NULL;
}

/* 8192, 0.45: as people write it, in any locale. */
static void number_text(char *buf, size_t cap, double v)
{
    double whole, rest;
    if (v < 0 || v > 1e15)
        v = 0;
    whole = (double)(uint64_t)(v + 0.0005);
    rest = v - whole;
    if (rest < 0.0005)
        (void)snprintf(buf, cap, "%llu", (unsigned long long)whole);
    else {
        unsigned hundredths = (unsigned)(rest * 100 + 0.5);
        if (hundredths % 10 == 0)
            (void)snprintf(buf, cap, "%llu.%u", (unsigned long long)whole, hundredths / 10);
        else
            (void)snprintf(buf, cap, "%llu.%02u", (unsigned long long)whole, hundredths);
    }
}

/* The line, its key and its value in one piece of memory. */
static int write_line(struct mt_advice *a, uint32_t i, const char *key, const char *value)
{
    const struct mt_fix_line *l = &a->card->set[i];
    const char *sep = l->syntax == MT_FIX_YAML ? ": " : l->syntax == MT_FIX_FLAG ? " " : "=";
    size_t nk = strlen(key) + 1, nv = strlen(value) + 1;
    char *p = mt_malloc(2 * (nk + nv) + 2);
    if (p == NULL)
        return 0;
    a->proposed_key = memcpy(p, key, nk);
    a->proposed_value = memcpy(p + nk, value, nv);
    a->proposed = p + nk + nv;
    (void)snprintf(a->proposed, nk + nv + 2, "%s%s%s", key, nv > 1 && nk > 1 ? sep : "", value);
    a->proposed_line = i;
    return 1;
}

static bool has_moved(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    for (uint32_t i = 0; i < l->n_key_frames; i++) {
        if (mt_trace_has_frame(q->trace, l->key_frames[i].a, l->key_frames[i].b))
            return true;
    }
    return false;
}

/* The first shown line with something to compute. */
static int propose(const struct mt_advice_query *q, struct mt_advice *a, struct mt_value *proposed)
{
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        bool moved = (a->lines >> i & 1) != 0 && has_moved(q, l);
        struct mt_value v = {0, false, MT_CONF_NONE};
        char number[40], layout[MT_FIX_LAYOUT];
        const char *key;
        if ((a->lines >> i & 1) != 0 && l->layout != NULL &&
            mt_advice_layout(q->conf, l->layout, layout, sizeof layout, &key))
            return write_line(a, i, key, layout);
        if ((a->lines >> i & 1) == 0 || (l->propose.e == NULL && !moved))
            continue;
        if (l->propose.e != NULL) {
            v = ask(q, &l->propose);
            v.known = v.known && v.v >= 0;
        }
        if (!v.known && !moved)
            continue;
        number_text(number, sizeof number, v.v);
        *proposed = v;
        return write_line(a, i, moved ? l->key_since : l->key, v.known ? number : l->value);
    }
    return 1;
}

static void be_cautious(const struct mt_advice_query *q, struct mt_advice *a)
{
    for (uint32_t i = 0; i < a->card->n_set; i++)
        if ((a->lines >> i & 1) != 0 && holds(ask(q, &a->card->set[i].caution_when)))
            a->cautions |= 1ull << i;
}

/* ---- saving ---- */

static uint64_t bytes_of(double v) { return v >= 1.8e19 ? UINT64_MAX : v > 0 ? (uint64_t)v : 0; }

static double number(struct mt_metrics *m, const char *name)
{
    struct mt_value v = mt_metric_get(m, name, strlen(name));
    return v.known ? v.v : 0;
}

/* Bytes that there are to be saved from; no bound where a part of them is outside this trace. */
static double there(struct mt_metrics *m, uint32_t from)
{
    double sum = 0;
    char name[48];
    if ((from & MT_FIX_FROM_OUTSIDE) != 0)
        return 1e18;
    for (int r = 0; r < MT_ROLE_COUNT; r++) {
        (void)snprintf(name, sizeof name, "role.%s", mt_role_id((enum mt_role)r));
        if ((from >> r & 1) != 0)
            sum += number(m, name);
    }
    if ((from & MT_FIX_FROM_CACHE) != 0)
        sum += number(m, "reserved_free");
    if ((from & MT_FIX_FROM_PENDING) != 0)
        sum += number(m, "pending");
    if ((from & MT_FIX_FROM_REQUEST) != 0)
        sum += number(m, "request");
    if ((from & MT_FIX_FROM_GROWN) != 0)
        sum += number(m, "grown");
    return sum;
}

/* What is left of every source after several savings: each takes its share of what the ones before
 * it left. */
struct pot {
    double size[32], left[32];
    double grown[MT_ROLE_COUNT];   /* of the size of a role: what grows from step to step */
    double pending[MT_ROLE_COUNT]; /* and what waits for a stream */
};

/* Bytes of several roles go from each in proportion. */
static void take_part(struct pot *pot, const double of[MT_ROLE_COUNT], double bytes)
{
    double sum = 0;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        sum += of[r];
    for (int r = 0; r < MT_ROLE_COUNT && sum > 0; r++) {
        double share = bytes >= sum ? 1 : bytes / sum;
        if (pot->size[r] > 0)
            pot->left[r] *= 1 - share * (of[r] < pot->size[r] ? of[r] / pot->size[r] : 1);
    }
}

static void take(struct pot *pot, uint32_t from, double bytes)
{
    double sum = 0;
    if ((from & MT_FIX_FROM_GROWN) != 0) {
        take_part(pot, pot->grown, bytes);
        return;
    }
    if (from == MT_FIX_FROM_PENDING && pot->size[29] <= 0) {
        take_part(pot, pot->pending, bytes);
        return;
    }
    for (int b = 0; b < 32; b++)
        sum += (from >> b & 1) != 0 ? pot->size[b] : 0;
    for (int b = 0; b < 32 && sum > 0; b++) {
        double share = bytes >= sum ? 1 : bytes / sum;
        if ((from >> b & 1) != 0)
            pot->left[b] *= 1 - share;
    }
}

static double taken(const struct pot *pot, uint32_t from)
{
    double sum = 0;
    for (int b = 0; b < 32; b++)
        sum += (from >> b & 1) != 0 ? pot->size[b] * (1 - pot->left[b]) : 0;
    return sum;
}

static void pot_fill(struct pot *pot, struct mt_metrics *m)
{
    double waiting = 0;
    memset(pot, 0, sizeof *pot);
    for (int b = 0; b < 32; b++)
        pot->left[b] = 1;
    for (int r = 0; r < MT_ROLE_COUNT; r++) {
        pot->size[r] = there(m, 1u << r);
        pot->grown[r] = mt_metrics_grown(m, (enum mt_role)r);
        pot->pending[r] = mt_metrics_pending(m, (enum mt_role)r);
        waiting += pot->pending[r];
    }
    pot->size[30] = number(m, "reserved_free");
    pot->size[29] = waiting > 0 ? 0 : number(m, "pending"); /* else it is among the roles' */
    pot->size[27] = number(m, "request");
}

/* A saving at the focus may be less at the peak, where another moment of the phase becomes the
 * highest. */
static double at_peak(struct mt_metrics *m, uint32_t from, double bytes)
{
    struct pot pot;
    if ((from & (MT_FIX_FROM_CACHE | MT_FIX_FROM_PENDING | MT_FIX_FROM_OUTSIDE)) != 0)
        return bytes;
    pot_fill(&pot, m);
    take(&pot, from, bytes);
    return mt_metrics_peak_saving(m, pot.left, bytes);
}

static struct mt_saving compute(const struct mt_advice_query *q, const struct mt_fix_saving *s)
{
    static const double spread[] = {0.1, 0.3, 0.6}; /* by confidence */
    struct mt_value v = ask(q, &s->bytes), low = ask(q, &s->low), high = ask(q, &s->high);
    struct mt_saving out = {.known = v.known, .conf = s->conf};
    double most = there(q->metrics, s->from);
    if (!v.known)
        return out;
    if (v.conf <= MT_CONF_LOW)
        out.conf = MT_FIX_LOW;
    else if (v.conf <= MT_CONF_INFERRED && out.conf == MT_FIX_HIGH)
        out.conf = MT_FIX_MEDIUM;
    v.v = v.v < 0 ? 0 : v.v > most ? most : v.v;
    if (!low.known)
        low.v = v.v * (1 - spread[out.conf]);
    if (!high.known)
        high.v = v.v * (1 + spread[out.conf]);
    out.alone[0] = low.v < v.v ? low.v : v.v;
    out.alone[1] = v.v;
    out.alone[2] = high.v > most ? most : high.v > v.v ? high.v : v.v;
    out.low = bytes_of(at_peak(q->metrics, s->from, out.alone[0]));
    out.bytes = bytes_of(at_peak(q->metrics, s->from, out.alone[1]));
    out.high = bytes_of(at_peak(q->metrics, s->from, out.alone[2]));
    return out;
}

static void find_saving(const struct mt_advice_query *q, struct mt_advice *a)
{
    a->saving_of = a->card->saving;
    if (a->saving_of != NULL)
        a->saving = compute(q, a->saving_of);
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_saving *s = a->card->set[i].saving;
        struct mt_saving one;
        if ((a->lines >> i & 1) == 0 || s == NULL)
            continue;
        one = compute(q, s);
        if (one.known && one.bytes > 0 && (!a->saving.known || one.bytes > a->saving.bytes)) {
            a->saving = one;
            a->saving_of = s;
        }
    }
}

static int weigh(const struct mt_advice_query *q, struct mt_advice *a)
{
    struct mt_value none = {0, false, MT_CONF_NONE}, current = none, proposed = none, off;
    char name[80];
    int n;

    if (!describe_current(q, a))
        return -1;
    if (a->card->current[0] != 0) {
        n = snprintf(name, sizeof name, "setting.%s", a->card->current);
        if (n > 0 && (size_t)n < sizeof name)
            current = mt_metric_of_run(q->conf, name, (size_t)n);
    }
    mt_metrics_rule(q->metrics, current, none);
    if (!propose(q, a, &proposed))
        return -1;
    if (computes(q))
        mt_metrics_rule(q->metrics, current, proposed);
    off = ask(q, &a->card->unless);
    /* A default is no evidence against what the trace shows. */
    if (holds(off) && off.conf > MT_CONF_CARRIED)
        return 0;
    if (!may_hold(q, &a->card->when))
        return 0;
    if (current.known && proposed.known && current.conf > MT_CONF_CARRIED &&
        current.v >= proposed.v && current.v <= proposed.v)
        return 0;
    be_cautious(q, a);
    if (!computes(q))
        return 1;
    find_saving(q, a);
    return !a->saving.known ||
           a->saving.bytes > bytes_of(mt_metric_get(q->metrics, "live", 4).v) / WORTH;
}

int mt_advice_weigh(const struct mt_advice_query *q, struct mt_advice *a)
{
    struct mt_value none = {0, false, MT_CONF_NONE};
    int worth = weigh(q, a);
    mt_metrics_rule(q->metrics, none, none);
    return worth;
}

/* ---- order ---- */

static bool has_saving(const struct mt_advice *a)
{
    return a->saving.known && a->rule->kind == MT_FIX_SETTING;
}

void mt_advice_rank(struct mt_advice *list, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < n; i++) {
        uint64_t most = 0;
        uint32_t pick = i;
        struct mt_advice best;
        if (!has_saving(&list[i]))
            continue;
        for (uint32_t k = i; k < n; k++) {
            if (has_saving(&list[k]) && list[k].saving.bytes > most)
                most = list[k].saving.bytes;
        }
        /* Of those within a tenth of the largest the one that stands first. */
        while (pick < n && (!has_saving(&list[pick]) || list[pick].saving.bytes < most - most / 10))
            pick++;
        if (pick >= n)
            continue;
        /* Moves through the places of those with a saving only. */
        best = list[pick];
        for (uint32_t k = pick; k > i;) {
            uint32_t to = k--;
            while (k > i && !has_saving(&list[k]))
                k--;
            list[to] = list[k];
        }
        list[i] = best;
    }
}

static bool is_one_of(const struct mt_advice *list, const struct mt_advice *a, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k].is_top && a->rule->group[0] != 0 &&
            strcmp(a->rule->group, list[k].rule->group) == 0)
            return true;
    }
    return false;
}

/* Of what has a formula but not the numbers for it one is named; the rest gives way to what was
 * computed. */
void mt_advice_mark_top(struct mt_advice *list, uint32_t n)
{
    uint32_t n_top = 0, n_lacking = 0;
    for (uint32_t i = 0; i < n; i++)
        list[i].is_top = false;
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < n && n_top < N_TOP; i++) {
            bool lacks = !list[i].saving.known && list[i].card->saving != NULL;
            if (list[i].is_top || list[i].rule->kind != MT_FIX_SETTING ||
                (!list[i].in_row && !list[i].saving.known) ||
                (turn == 0 && lacks && n_lacking > 0) || is_one_of(list, &list[i], n))
                continue;
            list[i].is_top = true;
            n_top++;
            n_lacking += lacks;
        }
    }
}

/* ---- together ---- */

/* An engine that is put to sleep gives all of its memory back: a smaller share of the card frees
 * nothing more then. */
static bool is_asleep_by_another(const struct mt_analysis *a, const struct mt_advice *d)
{
    if ((d->saving_of->from >> MT_ROLE_KV_CACHE & 1) == 0 || strcmp(d->rule->group, "sleep") == 0)
        return false;
    for (uint32_t i = 0; i < a->advice.n; i++) {
        const struct mt_advice *o = &a->advice.p[i];
        if (o->is_top && o->saving.known && strcmp(o->rule->group, "sleep") == 0)
            return true;
    }
    return false;
}

/* Bytes saved by all that are top; of them from PyTorch's cache in *cache. */
static double together(const struct mt_analysis *a, struct mt_metrics *m, int which, double *cache)
{
    struct pot pot;
    double outside = 0;
    pot_fill(&pot, m);
    for (uint32_t i = 0; i < a->advice.n; i++) {
        const struct mt_advice *d = &a->advice.p[i];
        double bytes = d->saving.alone[which + 1];
        if (!d->is_top || !d->saving.known)
            continue;
        if (is_asleep_by_another(a, d))
            continue;
        if ((d->saving_of->from & MT_FIX_FROM_OUTSIDE) != 0)
            outside = bytes > outside ? bytes : outside;
        else
            take(&pot, d->saving_of->from, bytes);
    }
    *cache = taken(&pot, MT_FIX_FROM_CACHE);
    return mt_metrics_peak_saving(m, pot.left, taken(&pot, ~0u)) + outside;
}

/* Room for the failed request after that many bytes. */
static double room(struct mt_metrics *m, double saved, double cache)
{
    double holes = number(m, number(m, "fragmented") > 0 ? "largest_free" : "free_usable");
    return number(m, "free") + (cache > holes ? cache : holes) + saved - cache;
}

int mt_advice_combine(struct mt_analysis *a, struct mt_metrics *m)
{
    static const char *const all[] = {"this setting", "these two settings", "these three settings"};
    static const char *const some[] = {"the one of these settings that has a figure",
                                       "the two of these settings that have a figure"};
    struct mt_combined *c = &a->combined;
    struct mt_value request = mt_metric_get(m, "request", 7);
    uint64_t held = bytes_of(number(m, "live"));
    char text[400], mid[32], asked[32], lacks[32], low[32], high[32], all_of[32];
    double bytes[3], cache[3];
    const char *with;
    uint32_t n_top = 0;
    int n = 0;

    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < a->advice.n; i++) {
        n_top += a->advice.p[i].is_top;
        if (a->advice.p[i].is_top && a->advice.p[i].saving.known) {
            c->n++;
            if (a->advice.p[i].saving.conf > c->saving.conf)
                c->saving.conf = a->advice.p[i].saving.conf;
        }
    }
    if (c->n == 0)
        return (c->sentence = text_of("")) != NULL;
    with = c->n < n_top && c->n <= 2 ? some[c->n - 1] : all[c->n < 3 ? c->n - 1 : 2];
    for (int i = 0; i < 3; i++)
        bytes[i] = together(a, m, i - 1, &cache[i]);
    c->saving.known = true;
    c->saving.low = bytes_of(bytes[0]);
    c->saving.bytes = bytes_of(bytes[1]);
    c->saving.high = bytes_of(bytes[2]);
    (void)mt_words_bytes(mid, c->saving.bytes);
    (void)mt_words_bytes(low, c->saving.low);
    (void)mt_words_bytes(high, c->saving.high);
    held += request.known ? bytes_of(request.v) : 0;
    (void)mt_words_bytes(all_of, held);
    if (c->saving.high <= held)
        n = snprintf(text, sizeof text, "With %s: about %s less than the %s %s at this moment",
                     with, mid, all_of, request.known ? "needed" : "live");
    else /* cached bytes, or another process's, are among them */
        n = snprintf(text, sizeof text, "With %s: about %s more room at this moment", with, mid);
    if (n > 0 && (size_t)n < sizeof text &&
        strcmp(low, high) != 0) /* as it is printed: a range of one number says nothing */
        n += snprintf(text + n, sizeof text - (size_t)n, " (%s to %s)", low, high);
    if (n > 0 && (size_t)n < sizeof text && request.known) {
        bool sure = room(m, bytes[0], cache[0]) >= request.v;
        double left = request.v - room(m, bytes[1], cache[1]);
        c->fits_known = true;
        c->fits = left <= 0;
        (void)mt_words_bytes(asked, bytes_of(request.v));
        if (c->fits)
            (void)snprintf(text + n, sizeof text - (size_t)n,
                           "; the failed request of %s would %shave fitted.", asked,
                           sure ? "" : "probably ");
        else
            (void)snprintf(text + n, sizeof text - (size_t)n,
                           "; the failed request of %s would not have fitted: %s would lack.",
                           asked, mt_words_bytes(lacks, bytes_of(left)));
    } else if (n > 0 && (size_t)n + 1 < sizeof text) {
        text[n] = '.';
        text[n + 1] = 0;
    }
    return (c->sentence = text_of(text)) != NULL;
}
