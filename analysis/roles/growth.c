/* Growth from step to step: the bytes of each stack at the ends of the whole steps. The first step,
 * which sets up state, never counts as whole, so its state is not taken for a leak. */
#include "analysis/base/frames.h"
#include "analysis/roles/impl.h"

#include <stdlib.h>
#include <string.h>

/* Whole steps that are compared, and bytes from the first to the last of them. Chosen by hand: 5
 * steps, and 16 KiB or 4 MiB, change none of 387 reports. MAX_*: what bounds the work. */
enum { MIN_STEPS = 3, MIN_GROWN = 256 * 1024 };
enum { MAX_COMPARED = 4096, MAX_CANDIDATES = 256, MAX_GROWTH = 32 };

/* A stack that holds more at the last of the steps than at the first. */
struct span {
    mt_stack_id stack;
    uint32_t index; /* of its series */
    uint64_t grown;
    char *label;
    uint32_t last_event; /* of its last block that outlived its step */
};
struct growing {
    uint32_t first, n; /* steps that are compared */
    struct ends {
        uint64_t first, last; /* bytes at the ends of the first and of the last step */
    } * ends;                 /* by stack */
    uint32_t *index;          /* by stack: of its series + 1 */
    double *series;           /* n numbers each */
    MT_VEC(struct span) spans;
};

static int by_grown(const void *pa, const void *pb)
{
    const struct span *a = pa, *b = pb;
    if (a->grown != b->grown)
        return a->grown > b->grown ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int by_label(const void *pa, const void *pb)
{
    const struct span *a = pa, *b = pb;
    int c = strcmp(a->label, b->label);
    return c != 0 ? c : by_grown(pa, pb);
}

static int by_slope(const void *pa, const void *pb)
{
    const struct mt_growth *a = pa, *b = pb;
    if (a->slope > b->slope || a->slope < b->slope)
        return a->slope > b->slope ? -1 : 1;
    return strcmp(a->label, b->label);
}

/* Adds the bytes of every stack that are live at the end of the first and of the last step. */
static void add_ends(const struct mt_rwork *k, struct growing *g)
{
    const struct mt_step *step = &k->out->steps.p[g->first];
    const struct mt_fate *fate = k->w->fate;
    uint32_t first = (uint32_t)step[0].last, last = (uint32_t)step[g->n - 1].last;
    for (uint32_t i = 0, end = first; i <= last; i++) {
        const struct mt_event *e;
        if (i > first)
            end = last;
        if (fate[i].freed <= end || (e = mt_event_at(k->r->d, i))->action != MT_ACT_ALLOC)
            continue;
        if (i <= first)
            g->ends[e->stack].first += e->size;
        if (fate[i].freed > last)
            g->ends[e->stack].last += e->size;
    }
}

/* A block held at the ends of steps `from` to `to` - 1, as differences. */
static void add_held(struct growing *g, const struct mt_event *e, uint32_t event, uint32_t from,
                     uint32_t to)
{
    uint32_t index = g->index[e->stack];
    double *series;
    if (index == 0)
        return;
    from = from > g->first ? from - g->first : 0;
    to = to > g->first ? to - g->first : 0;
    if (from >= g->n || to <= from)
        return;
    series = g->series + (size_t)(index - 1) * g->n;
    series[from] += (double)e->size;
    if (to < g->n)
        series[to] -= (double)e->size;
    g->spans.p[index - 1].last_event = event;
}

/* Every block that outlives the step of its birth. */
static void add_series(struct mt_rwork *k, struct growing *g)
{
    const struct mt_role_facts *f = k->out;
    const struct mt_fate *fate = k->w->fate;
    for (uint32_t s = 0; s < f->steps.n; s++) {
        uint32_t last = (uint32_t)f->steps.p[s].last;
        for (uint32_t i = (uint32_t)f->steps.p[s].first; i <= last; i++) {
            const struct mt_event *e;
            uint32_t to = UINT32_MAX;
            if (fate[i].freed <= last || (e = mt_event_at(k->r->d, i))->action != MT_ACT_ALLOC)
                continue;
            if (fate[i].freed != MT_NEVER) /* most are freed in the next step */
                to = s + 1 < f->steps.n && fate[i].freed <= f->steps.p[s + 1].last
                         ? s + 1
                         : mt_step_at(f, fate[i].freed);
            add_held(g, e, i, s, to);
        }
    }
}

static int find_spans(const struct mt_rwork *k, struct growing *g)
{
    for (uint32_t i = 0; i < k->r->t->stacks.n; i++) {
        struct span *at;
        if (g->ends[i].last <= g->ends[i].first)
            continue;
        if ((at = MT_VEC_PUSH(&g->spans)) == NULL)
            return 0;
        at->stack = i;
        at->grown = g->ends[i].last - g->ends[i].first;
    }
    if (g->spans.n > 1)
        qsort(g->spans.p, g->spans.n, sizeof *g->spans.p, by_grown);
    if (g->spans.n > MAX_CANDIDATES)
        g->spans.n = MAX_CANDIDATES;
    for (uint32_t i = 0; i < g->spans.n; i++) {
        g->spans.p[i].index = i;
        g->index[g->spans.p[i].stack] = i + 1;
    }
    return 1;
}

/* Least squares over the series; also how many of its steps go up. */
static void fit_line(const double *y, uint32_t n, struct mt_growth *out, uint32_t *ups)
{
    double mx = ((double)n - 1) / 2, my = 0, sxx = 0, sxy = 0, syy = 0;
    *ups = 0;
    for (uint32_t i = 0; i < n; i++) {
        my += y[i] / (double)n;
        *ups += i != 0 && y[i] > y[i - 1];
    }
    for (uint32_t i = 0; i < n; i++) {
        sxx += ((double)i - mx) * ((double)i - mx);
        sxy += ((double)i - mx) * (y[i] - my);
        syy += (y[i] - my) * (y[i] - my);
    }
    out->slope = sxy / sxx;
    out->r2 = syy > 0 ? sxy * sxy / (sxx * syy) : 0;
}

/* Growth at every n-th step, as of what is kept now and then: rises of one size, within an eighth,
 * no fall between them, and about as many steps from each to the next. Two are enough where a whole
 * model and its optimizer's state come anew (weights). */
static bool is_periodic(const double *y, uint32_t n, bool weights)
{
    uint32_t least_rises = weights ? 2 : 3;
    double least = 0, most = 0;
    uint32_t rises = 0, last = 0, near = UINT32_MAX, far = 0;
    for (uint32_t i = 1; i < n; i++) {
        double up = y[i] - y[i - 1];
        if (up < 0)
            return false;
        if (up <= 0)
            continue;
        if (rises != 0) {
            near = i - last < near ? i - last : near;
            far = i - last > far ? i - last : far;
        }
        least = rises == 0 || up < least ? up : least;
        most = up > most ? up : most;
        last = i;
        rises++;
    }
    return rises >= least_rises && most - least <= most / 8 && far <= near + near / 2 + 1 &&
           n - 1 - last <= far;
}

static uint8_t confidence(uint32_t n, double r2)
{
    if (n >= 5 && r2 >= 0.95)
        return MT_CONF_MARKED;
    return n >= 4 && r2 >= 0.8 ? MT_CONF_INFERRED : MT_CONF_LOW;
}

/* Judges one readable stack: the spans [first, end) share its label. */
static int judge_growth(struct mt_rwork *k, struct growing *g, uint32_t first, uint32_t end)
{
    struct mt_growth now = {.label = NULL}, *at;
    struct span *top = &g->spans.p[first];
    double *series = g->series + (size_t)top->index * g->n;
    unsigned role = k->w->fate[top->last_event].role;
    uint32_t ups;
    /* keys and values, of which each round makes the whole anew: it grows with what is served */
    if (k->w->grown[top->stack] == MT_GROWN_CACHE && role == MT_ROLE_KV_CACHE)
        return 1;
    for (uint32_t i = first + 1; i < end; i++)
        for (uint32_t j = 0; j < g->n; j++)
            series[j] += g->series[(size_t)g->spans.p[i].index * g->n + j];
    for (uint32_t i = 1; i < g->n; i++)
        series[i] += series[i - 1];
    fit_line(series, g->n, &now, &ups);
    /* A step that rises once and stays is set-up, not growth: most steps have to go up, or every
       n-th. */
    if (series[g->n - 1] - series[0] < MIN_GROWN || now.slope <= 0 || now.r2 < 0.6 ||
        (ups * 3 < (g->n - 1) * 2 &&
         !is_periodic(series, g->n, role == MT_ROLE_PARAM || role == MT_ROLE_OPTIM_STATE)))
        return 1;
    if ((at = MT_VEC_PUSH(&k->out->growth)) == NULL)
        return 0;
    now.label = top->label;
    top->label = NULL;
    now.stack = top->stack;
    now.role = (uint8_t)role;
    now.n_steps = g->n;
    now.first = (uint64_t)series[0];
    now.last = (uint64_t)series[g->n - 1];
    now.first_event = k->out->steps.p[g->first].last;
    now.last_event = k->out->steps.p[g->first + g->n - 1].last;
    now.conf = confidence(g->n, now.r2);
    *at = now;
    return 1;
}

static int judge_all(struct mt_rwork *k, struct growing *g)
{
    char label[512];
    int ok = 1;
    for (uint32_t i = 0; ok && i < g->spans.n; i++) {
        (void)mt_stack_label(k->r->t, g->spans.p[i].stack, label, sizeof label);
        g->spans.p[i].label = mt_strndup(label, strlen(label));
        ok = g->spans.p[i].label != NULL;
    }
    if (ok && g->spans.n > 1)
        qsort(g->spans.p, g->spans.n, sizeof *g->spans.p, by_label);
    for (uint32_t i = 0, end; ok && i < g->spans.n; i = end) {
        for (end = i + 1;
             end < g->spans.n && strcmp(g->spans.p[end].label, g->spans.p[i].label) == 0; end++)
            ;
        ok = judge_growth(k, g, i, end);
    }
    return ok;
}

static int find_growth(struct mt_rwork *k, struct growing *g)
{
    size_t n = (size_t)k->r->t->stacks.n + 1;
    g->ends = mt_calloc(n, sizeof *g->ends);
    g->index = mt_calloc(n, sizeof *g->index);
    if (g->ends == NULL || g->index == NULL)
        return 0;
    add_ends(k, g);
    if (!find_spans(k, g))
        return 0;
    if (g->spans.n == 0)
        return 1;
    g->series = mt_calloc((size_t)g->spans.n * g->n, sizeof *g->series);
    if (g->series == NULL)
        return 0;
    add_series(k, g);
    return judge_all(k, g);
}

/* Of what grows most, the last steps. */
static int make_laps(struct mt_rwork *k, const struct growing *g)
{
    const struct mt_growth *most = k->out->growth.p;
    bool *is;
    int ok;
    if (k->out->growth.n == 0)
        return 1;
    if ((is = mt_calloc((size_t)k->r->t->stacks.n + 1, sizeof *is)) == NULL)
        return 0;
    for (uint32_t i = 0; i < g->spans.n; i++) /* the label of its first span is the growth's now */
        is[g->spans.p[i].stack] =
            g->spans.p[i].label != NULL && strcmp(g->spans.p[i].label, most->label) == 0;
    is[most->stack] = true;
    ok = mt_laps_make(k, is);
    mt_free(is);
    return ok;
}

/* The step that a failure ended: at its end the exception has let go of what it could. */
static bool is_cut(const struct mt_rwork *k, uint32_t step)
{
    const struct mt_device_analysis *o = k->r->out;
    return step + 1 == k->out->steps.n && o->ooms.n != 0 &&
           MT_OOM_BY_EVENT(o, o->ooms.n - 1)->event >= k->out->steps.p[step].first;
}

int mt_growth_make(struct mt_rwork *k)
{
    struct mt_role_facts *f = k->out;
    struct growing g = {.first = 0};
    int ok;
    for (uint32_t i = 0; i < f->steps.n; i++)
        if (f->steps.p[i].whole && !is_cut(k, i)) {
            g.first = g.n == 0 ? i : g.first;
            g.n = i - g.first + 1;
        }
    /* what is kept for a second backward comes in inner steps, and goes with the outer one */
    if (g.n < MIN_STEPS || k->w->fate == NULL || (f->recorded != 0 && f->steps_are_guessed))
        return 1;
    if (g.n > MAX_COMPARED) { /* the last steps: a leak goes on to the end */
        g.first += g.n - MAX_COMPARED;
        g.n = MAX_COMPARED;
    }
    ok = find_growth(k, &g);
    if (ok && f->growth.n > 1)
        qsort(f->growth.p, f->growth.n, sizeof *f->growth.p, by_slope);
    while (f->growth.n > MAX_GROWTH)
        mt_free(f->growth.p[--f->growth.n].label);
    ok = ok && make_laps(k, &g);
    for (uint32_t i = 0; i < g.spans.n; i++)
        mt_free(g.spans.p[i].label);
    mt_free(g.ends);
    mt_free(g.index);
    mt_free(g.series);
    MT_VEC_DONE(&g.spans);
    return ok;
}
