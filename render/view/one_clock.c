#include "render/view/one_clock.h"

#include "parser/base/mem.h"
#include "render/base/escape.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begin(struct mt_clocked *l, uint32_t n)
{
    l->low = mt_calloc(n, sizeof *l->low);
    l->high = mt_calloc(n, sizeof *l->high);
    if (l->low == NULL || l->high == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        l->low[i] = l->high[i] = MT_CLOCKED_UNKNOWN;
    return true;
}

void mt_clocked_done(struct mt_clocked *l)
{
    mt_free(l->low);
    mt_free(l->high);
    l->low = l->high = NULL;
}

void mt_clocked_list_done(struct mt_clocked_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        mt_clocked_done(&l->curve[i]);
    l->n = l->torch = 0;
}

/* The column of a moment, as the ledger has it; those before and behind lie in the first and the
 * last. */
static uint32_t column(const struct mt_ledger *g, uint64_t t)
{
    uint64_t c = (t > g->t0_ns ? t - g->t0_ns : 0) / ((g->t1_ns - g->t0_ns) / MT_TL_COLUMNS + 1);
    return c < g->n_columns ? (uint32_t)c : g->n_columns - 1;
}

static void raise(uint64_t *to, uint64_t v)
{
    if (*to == MT_CLOCKED_UNKNOWN || v > *to)
        *to = v;
}

/* From one moment until before another one that much was held. */
static void hold(struct mt_clocked *l, const struct mt_ledger *g, uint64_t t0, uint64_t t1,
                 uint64_t low, uint64_t high)
{
    if (t1 < g->t0_ns || t0 > g->t1_ns)
        return;
    for (uint32_t c = column(g, t0), end = column(g, t1); c <= end; c++) {
        raise(&l->low[c], low);
        raise(&l->high[c], high);
    }
    l->peak_low = low > l->peak_low ? low : l->peak_low;
    l->peak_high = high > l->peak_high ? high : l->peak_high;
}

bool mt_clocked_has_line(const struct mt_clocked *l) { return l->peak_high > l->peak_low / 64; }

char *mt_clocked_words(char buf[static MT_CLOCKED_WORDS], const struct mt_clocked *l)
{
    char low[32], high[32];
    size_t n;
    (void)snprintf(buf, MT_CLOCKED_WORDS, "%s: at most %s %s", l->label,
                   mt_fmt_bytes(low, l->peak_low), l->low_words);
    n = strlen(buf);
    if (mt_clocked_has_line(l))
        (void)snprintf(buf + n, MT_CLOCKED_WORDS - n, ", %s %s (dashed)",
                       mt_fmt_bytes(high, l->peak_high), l->high_words);
    n = strlen(buf);
    if (l->group_peak != 0)
        (void)snprintf(buf + n, MT_CLOCKED_WORDS - n, "; the job's control group at most %s%s%s",
                       mt_fmt_bytes(low, l->group_peak), l->group_limit != 0 ? " of " : "",
                       l->group_limit != 0 ? mt_fmt_bytes(high, l->group_limit) : "");
    return buf;
}

/* ---- PyTorch's ---- */

static const struct mt_device_analysis *device_of(const struct mt_report *r,
                                                  const struct mt_reconcile *x)
{
    const struct mt_analysis *a =
        x->rank < r->diagnosis->ranks.n ? r->diagnosis->ranks.p[x->rank].analysis : NULL;
    for (uint32_t i = 0; a != NULL && i < a->devices.n; i++) {
        const struct mt_device_analysis *d = &a->devices.p[i];
        if (d->ordinal == x->ordinal && d->kind != MT_DEV_HOST && d->withheld == NULL &&
            d->timeline.has_time && d->timeline.n_columns != 0)
            return d;
    }
    return NULL;
}

/* Where that process's curve on that GPU is, or a new one: a process may have left several
 * snapshots, of one history. NULL: there is no room for more, or out of memory (*ok is false) */
static struct mt_clocked *curve_of(struct mt_clocked_list *out, const struct mt_ledger *g,
                                   const struct mt_reconcile *x, bool *ok)
{
    struct mt_clocked *l = NULL;
    for (uint32_t i = 0; i < out->n; i++)
        if (out->curve[i].driver == x->driver && out->curve[i].process == x->process)
            return &out->curve[i];
    if (out->n == MT_CLOCKED_MOST - 1)
        return NULL;
    l = &out->curve[out->n++];
    *l = (struct mt_clocked){.driver = x->driver, .process = x->process};
    out->torch++;
    *ok = begin(l, g->n_columns);
    return *ok ? l : NULL;
}

static bool of_torch(struct mt_clocked_list *out, const struct mt_report *r,
                     const struct mt_ledger *g, const struct mt_reconcile *x)
{
    const struct mt_device_analysis *d = device_of(r, x);
    const struct mt_timeline *t = d != NULL ? &d->timeline : NULL;
    struct mt_clocked *l;
    char place[MT_CLOCKED_LABEL - 32];
    bool ok = true;
    if (t == NULL || t->x1 < g->t0_ns || t->x0 > g->t1_ns)
        return true;
    l = curve_of(out, g, x, &ok);
    if (l == NULL)
        return ok;
    (void)snprintf(l->label, sizeof l->label, "PyTorch inside %s",
                   mt_row_place(r, &r->diagnosis->ranks.p[x->rank], d, place, sizeof place));
    l->low_words = "live";
    l->high_words = "reserved";
    for (uint32_t c = 0; c < t->n_columns; c++)
        hold(l, g, mt_column_start(t, c),
             c + 1 < t->n_columns ? mt_column_start(t, c + 1) - 1 : t->x1, t->total[c],
             t->reserved[c]);
    return true;
}

/* ---- the host's ---- */

/* A sample of a process, or its end: then it holds nothing. */
struct moment {
    uint64_t time_ns, rss, pinned;
    uint32_t process, order;
};

static int by_time(const void *pa, const void *pb)
{
    const struct moment *a = pa, *b = pb;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_here(const struct mt_driver *d, const struct mt_ledger *g, uint32_t process)
{
    return process < d->processes.n &&
           (g->gpu == MT_NONE32 || d->processes.p[process].host == d->gpus.p[g->gpu].host);
}

static struct moment *moments(const struct mt_driver *d, const struct mt_ledger *g, uint32_t *n)
{
    struct moment *m = mt_calloc(d->host_samples.n + d->processes.n + (size_t)1, sizeof *m);
    *n = 0;
    for (uint32_t i = 0; m != NULL && i < d->host_samples.n; i++) {
        const struct mt_host_sample *s = &d->host_samples.p[i];
        if (is_here(d, g, s->process))
            m[(*n)++] = (struct moment){s->time_ns, s->rss, s->pinned, s->process, i};
    }
    if (m == NULL || *n == 0)
        return m;
    for (uint32_t i = 0; i < d->processes.n; i++)
        if (is_here(d, g, i))
            m[(*n)++] = (struct moment){d->processes.p[i].last_ns + 1, 0, 0, i, UINT32_MAX};
    qsort(m, *n, sizeof *m, by_time);
    return m;
}

/* The sum over the processes, from sample to sample. */
static bool add_up(struct mt_clocked *l, const struct mt_ledger *g, const struct moment *m,
                   uint32_t n, uint32_t n_processes)
{
    struct moment *last = mt_calloc((size_t)n_processes + 1, sizeof *last);
    uint64_t rss = 0, pinned = 0;
    for (uint32_t i = 0; last != NULL && i < n; i++) {
        struct moment *of = &last[m[i].process];
        rss += m[i].rss - of->rss; /* unsigned sums wrap back */
        pinned += m[i].pinned - of->pinned;
        *of = m[i];
        hold(l, g, m[i].time_ns, i + 1 < n ? m[i + 1].time_ns - 1 : m[i].time_ns, rss, pinned);
    }
    mt_free(last);
    return last != NULL;
}

int mt_clocked_host(struct mt_clocked *out, const struct mt_driverdiag *j, uint32_t ledger,
                    bool *known)
{
    const struct mt_ledger *g = &j->ledgers.p[ledger];
    const struct mt_driver *d = j->drivers.p[g->driver]->driver;
    uint32_t n;
    struct moment *m = moments(d, g, &n);
    bool ok = m != NULL;
    memset(out, 0, sizeof *out);
    *known = ok && n != 0 && g->n_columns > 1;
    if (*known) {
        (void)snprintf(out->label, sizeof out->label, "Host memory of the recorded processes");
        out->low_words = "resident";
        out->high_words = "pinned";
        out->group_peak = j->host.peak;
        out->group_limit = j->host.limit;
        ok = begin(out, g->n_columns) && add_up(out, g, m, n, d->processes.n);
    }
    mt_free(m);
    return ok;
}

int mt_clocked_make(struct mt_clocked_list *out, const struct mt_report *r, uint32_t ledger)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    const struct mt_ledger *g = &j->ledgers.p[ledger];
    bool known = false;
    memset(out, 0, sizeof *out);
    if (g->n_columns < 2)
        return 1;
    for (uint32_t i = 0; i < j->reconciled.n; i++)
        if (j->reconciled.p[i].ledger == ledger && !of_torch(out, r, g, &j->reconciled.p[i]))
            return 0;
    if (!mt_clocked_host(&out->curve[out->n], j, ledger, &known)) {
        mt_clocked_done(&out->curve[out->n]);
        return 0;
    }
    out->n += known;
    return 1;
}
