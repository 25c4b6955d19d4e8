/* advice/saving.c -- the bytes that a card takes off the moment that matters, alone and together
 * with others. */
#include "analysis/advice/weigh.h"

#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

/* A saving of less than a thousandth of the live bytes is not worth changing a setting. Chosen by
 * hand; a hundredth drops advice from 2 of 387 reports, a ten-thousandth adds none. */
#define WORTH 1000
_Static_assert(MT_ROLE_COUNT < 27, "bits of roles and of other sources would meet");

/* ---- saving ---- */

/* Products of fractions miss a whole number by a little, on either side. */
static uint64_t bytes_of(double v)
{
    return v >= 1.8e19 ? UINT64_MAX : v > 0 ? (uint64_t)(v + 0.5) : 0;
}

static double number(struct mt_metrics *m, const char *name)
{
    struct mt_value v = mt_metric_get(m, name, strlen(name));
    return v.known ? v.v : 0;
}

/* What comes after the request is not known, as behind a constructor, or the next pass may ask for
 * more than this one. */
static bool may_go_on(struct mt_metrics *m)
{
    return number(m, "left_open") > 0 || number(m, "leaps") > 0 || number(m, "set_up_series") > 0;
}

/* Bytes that there are to be saved from; no bound where a part of them is outside this trace. */
static double there(struct mt_metrics *m, uint32_t from)
{
    double sum = 0;
    if ((from & MT_FIX_FROM_OUTSIDE) != 0)
        return 1e18;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        sum += (from >> r & 1) != 0 ? mt_metrics_of_role(m, (enum mt_role)r) : 0;
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
    double come[MT_ROLE_COUNT];    /* and of what is still to come */
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

static void take_live(struct pot *pot, uint32_t from, double bytes)
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

static void take(struct pot *pot, const struct mt_fix_saving *s, double bytes)
{
    double was[MT_ROLE_COUNT];
    memcpy(was, pot->left, sizeof was);
    take_live(pot, s->from, bytes);
    for (int r = 0; r < MT_ROLE_COUNT && !s->only_live; r++)
        pot->come[r] *= was[r] > 0 ? pot->left[r] / was[r] : 1;
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
        pot->come[r] = 1;
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
static double at_peak(struct mt_metrics *m, const struct mt_fix_saving *s, double bytes)
{
    struct pot pot;
    if ((s->from & (MT_FIX_FROM_CACHE | MT_FIX_FROM_PENDING | MT_FIX_FROM_OUTSIDE)) != 0)
        return bytes;
    pot_fill(&pot, m);
    take(&pot, s, bytes);
    return mt_metrics_peak_saving(m, pot.left, bytes);
}

/* What is to come, where a saving bounds it. */
static double bounded(double to_come, const struct mt_saving *s)
{
    return s->to_come >= 0 && s->to_come < to_come ? s->to_come : to_come;
}

/* The failed request and what was still to come, as things were. */
static double asked_for(struct mt_metrics *m)
{
    double all[MT_ROLE_COUNT];
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        all[r] = 1;
    return number(m, "request") + mt_metrics_to_come(m, all);
}

/* Of what was still to come, what does not come with that. A pass that failed early needs most of
 * its bytes after the request: a figure of what is live alone tells of a part of the need only. */
static double less_to_come(struct mt_metrics *m, const struct mt_saving *out,
                           const struct mt_fix_saving *s, double bytes)
{
    struct pot pot;
    pot_fill(&pot, m);
    take(&pot, s, bytes);
    return asked_for(m) - number(m, "request") - bounded(mt_metrics_to_come(m, pot.come), out);
}

static struct mt_saving compute(const struct mt_advice_query *q, const struct mt_fix_saving *s)
{
    static const double spread[] = {0.1, 0.3, 0.6}; /* by confidence */
    struct mt_value v = mt_weigh_ask(q, &s->bytes), low = mt_weigh_ask(q, &s->low),
                    high = mt_weigh_ask(q, &s->high), rest = mt_weigh_ask(q, &s->to_come);
    struct mt_saving out = {.known = v.known, .conf = s->conf, .to_come = rest.known ? rest.v : -1};
    double most = there(q->metrics, s->from), later[3], all[3];
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
    for (int i = 0; i < 3; i++) {
        later[i] = less_to_come(q->metrics, &out, s, out.alone[i]);
        all[i] = at_peak(q->metrics, s, out.alone[i]) + later[i];
    }
    out.low = bytes_of(all[0]);
    out.bytes = bytes_of(all[1]);
    out.high = bytes_of(all[2]);
    out.later = bytes_of(later[1]);
    return out;
}

static struct mt_value told(double v, bool known)
{
    return (struct mt_value){v, known, known ? MT_CONF_MARKED : MT_CONF_NONE};
}

static void tell_typed(const struct mt_advice_query *q, const struct mt_typed *t)
{
    mt_metrics_rule(q->metrics, told(t->from, t->from_known), told(t->to, t->to_known));
}

static void find_saving(const struct mt_advice_query *q, struct mt_advice *a)
{
    a->saving_of = a->card->saving;
    if (a->saving_of != NULL && a->n_typed != 0) /* its number is that of the line */
        tell_typed(q, &a->typed[0]);
    if (a->saving_of != NULL)
        a->saving = compute(q, a->saving_of);
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_saving *s = a->card->set[i].saving;
        struct mt_saving one;
        if ((a->lines >> i & 1) == 0 || s == NULL)
            continue;
        for (uint32_t k = 0; k < a->n_typed; k++)
            if (a->typed[k].line == i)
                tell_typed(q, &a->typed[k]);
        one = compute(q, s);
        if (one.known && one.bytes > 0 && (!a->saving.known || one.bytes > a->saving.bytes)) {
            a->saving = one;
            a->saving_of = s;
        }
    }
    for (uint32_t i = 0; i < a->card->n_set && a->saving.known; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        if ((a->lines >> i & 1) == 0 ||
            l->saving != (a->saving_of == a->card->saving ? NULL : a->saving_of))
            continue;
        if (l->only_if[0] != '\0' && mt_weigh_holds(mt_weigh_ask(q, &l->only_if_when)))
            a->only_if = l->only_if;
        break; /* the line that the figure stands for */
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

/* Two of one group shrink the same: the one that frees more has all that both do. */
static bool is_done_by_another(const struct mt_analysis *a, uint32_t at, int which)
{
    const struct mt_advice *d = &a->advice.p[at];
    for (uint32_t i = 0; i < a->advice.n && d->rule->group[0] != '\0'; i++) {
        const struct mt_advice *o = &a->advice.p[i];
        double more = o->saving.alone[which + 1] - d->saving.alone[which + 1];
        if (i != at && o->is_top && o->saving.known &&
            strcmp(o->rule->group, d->rule->group) == 0 && (more > 0 || (more == 0 && i < at)))
            return true;
    }
    return false;
}

/* What settings do for the failed request: bytes that they free, of them from PyTorch's cache, and
 * what is still to come after it with them. */
struct gain {
    double saved, cache, to_come, outside;
};

/* By all that are top. */
static struct gain together(const struct mt_analysis *a, struct mt_metrics *m, int which)
{
    struct pot pot;
    double outside = 0, cache, to_come;
    pot_fill(&pot, m);
    for (uint32_t i = 0; i < a->advice.n; i++) {
        const struct mt_advice *d = &a->advice.p[i];
        double bytes = d->saving.alone[which + 1];
        if (!d->is_top || !d->saving.known)
            continue;
        if (is_asleep_by_another(a, d) || is_done_by_another(a, i, which))
            continue;
        if ((d->saving_of->from & MT_FIX_FROM_OUTSIDE) != 0)
            outside = bytes > outside ? bytes : outside;
        else
            take(&pot, d->saving_of, bytes);
    }
    cache = taken(&pot, MT_FIX_FROM_CACHE);
    to_come = mt_metrics_to_come(m, pot.come);
    for (uint32_t i = 0; i < a->advice.n; i++)
        if (a->advice.p[i].is_top && a->advice.p[i].saving.known)
            to_come = bounded(to_come, &a->advice.p[i].saving);
    return (struct gain){mt_metrics_peak_saving(m, pot.left, taken(&pot, ~0u)) + outside, cache,
                         to_come, outside};
}

/* By one alone. */
static struct gain alone(struct mt_metrics *m, const struct mt_advice *a, int which)
{
    uint32_t from = a->saving_of->from;
    double bytes = a->saving.alone[which];
    struct pot pot;
    pot_fill(&pot, m);
    take(&pot, a->saving_of, bytes);
    return (struct gain){bytes, from == MT_FIX_FROM_CACHE ? bytes : 0,
                         bounded(mt_metrics_to_come(m, pot.come), &a->saving),
                         (from & MT_FIX_FROM_OUTSIDE) != 0 ? bytes : 0};
}

/* How much room the same bytes make. LIKELY: what is freed lies beside every hole and joins it.
 * SURELY: no hole helps the request, each being smaller than it; only what comes after it may go
 * there. And a percent of what is asked for, a few MiB at most, is lost where the driver rounds up.
 */
enum room { SURELY, LIKELY };

/* What the failed request, and what was still to come after it, lack with that; not above 0: it
 * would have fitted. */
static double lacking(struct mt_metrics *m, struct gain g, enum room room)
{
    static const double part = 0.01, most = 4 << 20; /* lost; chosen by hand */
    /* Expandable segments map and give back large blocks in pages of so much (kLargeBuffer of
     * CUDACachingAllocator.cpp): of five reruns with smaller holes none served the request and what
     * came after it. */
    static const double page = 20 << 20;
    double holes = number(m, number(m, "fragmented") > 0 ? "largest_free" : "free_usable"),
           asked = number(m, "request") + g.to_come;
    if (number(m, "set_up_series") > 0) /* the next of them asks for as much */
        asked += number(m, "request");
    bool crumbs = mt_metric_get(m, "largest_free", 12).known && number(m, "largest_free") < page;
    if (g.cache > 0 && crumbs) {
        g.saved -= g.cache;
        g.cache = 0;
    }
    /* it failed in spite of them: they are in pieces, or elsewhere; what comes after it may go
     * there */
    if (number(m, "free") + holes >= number(m, "request"))
        holes = room == SURELY || crumbs ? 0 : g.to_come < holes ? g.to_come : holes;
    if (room == SURELY && holes > g.to_come)
        holes = g.to_come;
    if (room == SURELY)
        asked += asked * part < most ? asked * part : most;
    return asked - number(m, "free") - (g.cache > holes ? g.cache : holes) - g.saved + g.cache;
}

static bool request_is_known(struct mt_metrics *m) { return mt_metric_get(m, "request", 7).known; }

/* What is to be changed first, and no more than that: the first one, two or three with which the
 * failed request would have fitted even if each frees the least that it may; what is the cause
 * itself needs to be enough by its estimate only. Where no three do, or nothing failed, they stay;
 * so they do where nothing shows how much more the pass would have asked for, and where a cache
 * goes on to grow. What hangs on something that no recording tells is not all that is said. */
void mt_advice_smallest(struct mt_analysis *a, struct mt_metrics *m)
{
    bool tells = request_is_known(m) && number(m, "kept_open") <= 0 &&
                 (number(m, "left_open") <= 0 ||
                  (number(m, "fragmented") > 0 && number(m, "grown_cache") <= 0));
    struct mt_advice *p = a->advice.p;
    uint32_t top[MT_ADVICE_TOP], n = 0;
    bool made = false; /* by what has no figure: pieces end with this request, and that does not */
    for (uint32_t i = 0; i < a->advice.n; i++)
        if (p[i].is_top && n < MT_ADVICE_TOP)
            top[n++] = i;
    for (uint32_t k = 0; k < n; k++)
        made = made || (p[top[k]].made_it && !p[top[k]].saving.known);
    made = made && number(m, "left_open") > 0;
    for (uint32_t size = 1; tells && size < n; size++) {
        for (uint32_t mask = 1; mask < 1u << n; mask++) {
            uint32_t members = 0, figures = 0, least = 0, sure = 0, pieces = 0;
            for (uint32_t k = 0; k < n; k++) {
                p[top[k]].is_top = (mask >> k & 1) != 0;
                members += p[top[k]].is_top;
                figures += p[top[k]].is_top && p[top[k]].saving.known;
                least += p[top[k]].is_top && !p[top[k]].made_it;
                sure += p[top[k]].is_top && p[top[k]].only_if == NULL;
                pieces += p[top[k]].is_top && p[top[k]].saving.known &&
                          p[top[k]].saving_of->from == MT_FIX_FROM_CACHE;
            }
            if (members == size && figures == size && sure != 0 && !(made && pieces == size) &&
                lacking(m, together(a, m, least == 0 ? 0 : -1), LIKELY) <= 0)
                return;
        }
    }
    for (uint32_t k = 0; k < n; k++)
        p[top[k]].is_top = true;
}

/* What grows from step to step, or from pass to pass, goes on to grow: less of something else puts
 * the end off. */
static bool grows_on(struct mt_metrics *m, const struct mt_advice *a)
{
    enum { WORTH_NAMING = 20 };
    bool grows = number(m, "grown") * WORTH_NAMING > number(m, "live") ||
                 number(m, "retained_graph") > 0 || number(m, "kept") > 0 ||
                 number(m, "kept_open") > 0;
    return grows && (a->rule->phases >> MT_FIX_LEAK & 1) == 0;
}

/* How many parts are enough where a half is not, though they free a tenth less than is reckoned; 0
 * = none that a job may have, or the card has no such figure. */
static uint32_t enough_parts(const struct mt_advice_query *q, const struct mt_advice *a)
{
    enum { MOST = 16 }; /* chosen by hand: batches are rarely of more */
    static const double sure = 0.9;
    struct mt_value all = mt_weigh_ask(q, &a->saving_of->parted);
    struct mt_advice cut = *a;
    for (uint32_t n = 4; all.known && n <= MOST; n *= 2) {
        cut.saving.alone[0] = all.v * (1 - 1.0 / n) * sure;
        if (lacking(q->metrics, alone(q->metrics, &cut, 0), LIKELY) <= 0)
            return n;
    }
    return 0;
}

bool mt_weigh_saving(const struct mt_advice_query *q, struct mt_advice *a)
{
    struct mt_metrics *m = q->metrics;
    find_saving(q, a);
    if (a->saving.known && request_is_known(m)) {
        double least = lacking(m, alone(m, a, 0), LIKELY);
        a->fits_known = true;
        a->lacking = bytes_of(least > 0 ? least : lacking(m, alone(m, a, 0), SURELY));
        a->is_narrow = least <= 0 && a->lacking != 0;
        a->is_probable = least <= 0 || lacking(m, alone(m, a, 1), LIKELY) <= 0;
        a->left_open = may_go_on(m) || grows_on(m, a);
        a->parts = a->is_probable || a->n_typed != 0 ? 0 : enough_parts(q, a);
    }
    return !a->saving.known ||
           a->saving.bytes > bytes_of(mt_metric_get(q->metrics, "live", 4).v) / WORTH;
}

uint64_t mt_advice_needed(struct mt_metrics *m)
{
    return bytes_of(number(m, "live")) + (request_is_known(m) ? bytes_of(asked_for(m)) : 0);
}

/* What all that are top do. */
static struct mt_outcome outcome(const struct mt_analysis *a, struct mt_metrics *m)
{
    struct mt_outcome o = {.fits_known = request_is_known(m)};
    struct gain g[3];
    double to_come = asked_for(m) - number(m, "request");
    for (int i = 0; i < 3; i++)
        g[i] = together(a, m, i - 1);
    o.low = bytes_of(g[0].saved + to_come - g[0].to_come);
    o.bytes = bytes_of(g[1].saved + to_come - g[1].to_come);
    o.high = bytes_of(g[2].saved + to_come - g[2].to_come);
    o.beside = bytes_of(g[1].cache + g[1].outside);
    if (o.fits_known) {
        o.lacking = bytes_of(lacking(m, g[1], LIKELY));
        o.is_sure = lacking(m, g[0], SURELY) <= 0 && !may_go_on(m);
    }
    return o;
}

void mt_advice_choices(struct mt_analysis *a, struct mt_metrics *m)
{
    struct mt_choices *c = &a->choices;
    struct mt_advice *p = a->advice.p;
    memset(c, 0, sizeof *c);
    c->needed = mt_advice_needed(m);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < a->advice.n && c->n < MT_CHOICES; i++)
            if (p[i].is_top == (pass == 0) && p[i].saving.known &&
                (pass == 0 || (p[i].rule->kind == MT_FIX_SETTING && p[i].lines != 0)))
                c->of[c->n++] = i;
        c->n_first = pass == 0 ? c->n : c->n_first;
    }
    for (uint32_t set = 0; set < 1u << c->n; set++) {
        for (uint32_t i = 0; i < c->n; i++)
            p[c->of[i]].is_top = (set >> i & 1) != 0;
        c->with[set] = outcome(a, m);
    }
    for (uint32_t i = 0; i < c->n; i++)
        p[c->of[i]].is_top = i < c->n_first;
}

int mt_advice_combine(struct mt_analysis *a, struct mt_metrics *m)
{
    static const char *const all[] = {"this setting", "these two settings", "these three settings"};
    static const char *const some[] = {"the one of these settings that has a figure",
                                       "the two of these settings that have a figure"};
    struct mt_combined *c = &a->combined;
    bool failed = request_is_known(m), open = may_go_on(m);
    double more = asked_for(m) - number(m, "request");
    uint64_t held = mt_advice_needed(m);
    char text[400], mid[32], asked[96], lacks[32], low[32], high[32], all_of[32];
    struct mt_outcome o;
    const char *with;
    uint32_t n_top = 0;
    const char *hangs_on = NULL;
    int n = 0;

    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < a->advice.n; i++) {
        n_top += a->advice.p[i].is_top;
        if (a->advice.p[i].is_top && a->advice.p[i].only_if != NULL)
            hangs_on = a->advice.p[i].only_if;
        if (a->advice.p[i].is_top && a->advice.p[i].saving.known) {
            c->n++;
            if (a->advice.p[i].saving.conf > c->saving.conf)
                c->saving.conf = a->advice.p[i].saving.conf;
        }
    }
    if (c->n == 0)
        return (c->sentence = mt_strndup("", strlen(""))) != NULL;
    with = c->n < n_top && c->n <= 2 ? some[c->n - 1] : all[c->n < 3 ? c->n - 1 : 2];
    o = outcome(a, m);
    c->saving.known = true;
    c->saving.low = o.low;
    c->saving.bytes = o.bytes;
    c->saving.high = o.high;
    (void)mt_words_bytes(mid, c->saving.bytes);
    (void)mt_words_bytes(low, c->saving.low);
    (void)mt_words_bytes(high, c->saving.high);
    c->needed = held;
    (void)mt_words_bytes(all_of, held);
    if (c->saving.high <= held)
        n = snprintf(text, sizeof text, "With %s: about %s less than the %s %s at this moment",
                     with, mid, all_of, failed ? "needed" : "live");
    else /* cached bytes, or another process's, are among them */
        n = snprintf(text, sizeof text, "With %s: about %s more room at this moment", with, mid);
    if (n > 0 && (size_t)n < sizeof text &&
        strcmp(low, high) != 0) /* as it is printed: a range of one number says nothing */
        n += snprintf(text + n, sizeof text - (size_t)n, " (%s to %s)", low, high);
    if (n > 0 && (size_t)n < sizeof text && failed) {
        c->fits_known = true;
        c->fits = o.lacking == 0;
        if (more <= 0)
            (void)mt_words_bytes(asked, bytes_of(number(m, "request")));
        else if (number(m, "state_to_come") > 0)
            (void)snprintf(asked, sizeof asked,
                           "%s and the state that the step had still to make, %s,",
                           MT_BYTES(bytes_of(number(m, "request"))), MT_BYTES(bytes_of(more)));
        else
            (void)snprintf(asked, sizeof asked, "%s and the %s that had to come after it",
                           MT_BYTES(bytes_of(number(m, "request"))), MT_BYTES(bytes_of(more)));
        if (c->fits)
            (void)snprintf(text + n, sizeof text - (size_t)n,
                           "; the failed request of %s would %shave fitted%s%s%s.", asked,
                           o.is_sure ? "" : "probably ", hangs_on != NULL ? ", if " : "",
                           hangs_on != NULL ? hangs_on : "",
                           open ? "; what else was to come, this recording does not show" : "");
        else
            (void)snprintf(text + n, sizeof text - (size_t)n,
                           "; the failed request of %s would not have fitted: %s would lack.",
                           asked, mt_words_bytes(lacks, o.lacking));
    } else if (n > 0 && (size_t)n + 1 < sizeof text) {
        text[n] = '.';
        text[n + 1] = 0;
    }
    return (c->sentence = mt_strndup(text, strlen(text))) != NULL;
}
