#include "render/view/one_clock.h"

#include "parser/base/mem.h"
#include "render/base/escape.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond so many samples the host's memory has the columns of the ledger. */
enum { MOST_SAMPLES = 4 * MT_TL_COLUMNS };

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

static void done(struct mt_clocked *l)
{
    mt_free(l->low);
    mt_free(l->high);
    l->low = l->high = NULL;
}

void mt_clocked_list_done(struct mt_clocked_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        done(&l->curve[i]);
    mt_free(l->at);
    l->at = NULL;
    l->n = l->torch = l->n_at = 0;
}

/* The stretch of a moment; those before and behind lie in the first and the last. */
static uint32_t stretch(const struct mt_clocked_list *x, uint64_t t)
{
    uint32_t low = 0, high = x->n_at;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (x->at[mid] <= t)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void raise(uint64_t *to, uint64_t v)
{
    if (*to == MT_CLOCKED_UNKNOWN || v > *to)
        *to = v;
}

/* From one moment until before another one that much was held. */
static void hold(struct mt_clocked *l, const struct mt_clocked_list *x, const struct mt_ledger *g,
                 uint64_t t0, uint64_t t1, uint64_t low, uint64_t high)
{
    if (t1 < g->t0_ns || t0 > g->t1_ns)
        return;
    for (uint32_t c = stretch(x, t0), end = stretch(x, t1); c <= end; c++) {
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

/* When a column of PyTorch's begins. */
static uint64_t begins(const struct mt_timeline *t, uint32_t c)
{
    return t->has_time ? mt_column_start(t, c) : t->when[c].first;
}

static const struct mt_timeline *by_events(const struct mt_device_analysis *d)
{
    return d->by_event.when != NULL ? &d->by_event : NULL;
}

/* Where that process's curve on that GPU is, or a new one: a process may have left several
 * snapshots, of one history. NULL: there is no room for more, or out of memory (*ok is false) */
static struct mt_clocked *curve_of(struct mt_clocked_list *out, const struct mt_reconcile *x,
                                   bool *ok)
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
    *ok = begin(l, out->n_at);
    return *ok ? l : NULL;
}

static void hold_columns(struct mt_clocked *l, const struct mt_clocked_list *x,
                         const struct mt_ledger *g, const struct mt_timeline *t, uint64_t end)
{
    for (uint32_t c = 0; c < t->n_columns; c++) {
        uint64_t from = begins(t, c);
        uint64_t to = c + 1 < t->n_columns ? begins(t, c + 1) - 1 : end;
        if (!t->has_time && to < t->when[c].last) /* the next one begins in the same moment */
            to = t->when[c].last;
        hold(l, x, g, from, to, t->total[c], t->reserved[c]);
    }
}

static uint64_t less(uint64_t a, uint64_t b) { return a < b ? a : b; }

static bool of_torch(struct mt_clocked_list *out, const struct mt_report *r,
                     const struct mt_ledger *g, const struct mt_reconcile *x)
{
    const struct mt_device_analysis *d = device_of(r, x);
    const struct mt_timeline *t = d != NULL ? &d->timeline : NULL;
    struct mt_clocked *l, by_time = {0}, by_event = {0};
    char place[MT_CLOCKED_LABEL - 32];
    bool ok = true;
    if (t == NULL || t->x1 < g->t0_ns || t->x0 > g->t1_ns)
        return true;
    l = curve_of(out, x, &ok);
    if (l == NULL)
        return ok;
    (void)snprintf(l->label, sizeof l->label, "PyTorch inside %s",
                   mt_row_place(r, &r->diagnosis->ranks.p[x->rank], d, place, sizeof place));
    l->low_words = "live";
    l->high_words = "reserved";
    ok = begin(&by_time, out->n_at) && begin(&by_event, out->n_at);
    if (ok) {
        hold_columns(&by_time, out, g, t, t->x1);
        if (by_events(d) != NULL)
            hold_columns(&by_event, out, g, by_events(d), t->x1);
        /* Each has the highest of its own stretch: the lower of two is nearer. */
        for (uint32_t i = 0; i < out->n_at; i++) {
            if (by_time.low[i] == MT_CLOCKED_UNKNOWN)
                continue;
            raise(&l->low[i], less(by_time.low[i], by_event.low[i]));
            raise(&l->high[i], less(by_time.high[i], by_event.high[i]));
        }
        l->peak_low = by_time.peak_low > l->peak_low ? by_time.peak_low : l->peak_low;
        l->peak_high = by_time.peak_high > l->peak_high ? by_time.peak_high : l->peak_high;
    }
    done(&by_time);
    done(&by_event);
    return ok;
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
static bool add_up(struct mt_clocked *l, const struct mt_clocked_list *x, const struct mt_ledger *g,
                   const struct moment *m, uint32_t n, uint32_t n_processes)
{
    struct moment *last = mt_calloc((size_t)n_processes + 1, sizeof *last);
    uint64_t rss = 0, pinned = 0;
    for (uint32_t i = 0; last != NULL && i < n; i++) {
        struct moment *of = &last[m[i].process];
        rss += m[i].rss - of->rss; /* unsigned sums wrap back */
        pinned += m[i].pinned - of->pinned;
        *of = m[i];
        hold(l, x, g, m[i].time_ns, i + 1 < n ? m[i + 1].time_ns - 1 : m[i].time_ns, rss, pinned);
    }
    mt_free(last);
    return last != NULL;
}

static bool of_host(struct mt_clocked_list *out, const struct mt_driverdiag *j,
                    const struct mt_ledger *g, const struct moment *m, uint32_t n)
{
    struct mt_clocked *l = &out->curve[out->n];
    if (n == 0)
        return true;
    *l = (struct mt_clocked){.low_words = "resident",
                             .high_words = "pinned",
                             .group_peak = j->host.peak,
                             .group_limit = j->host.limit};
    (void)snprintf(l->label, sizeof l->label, "Host memory of the recorded processes");
    out->n++;
    return begin(l, out->n_at) &&
           add_up(l, out, g, m, n, j->drivers.p[g->driver]->driver->processes.n);
}

/* ---- the stretches ---- */

static int by_value(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

/* Adds when the columns of a snapshot's curve begin. */
static void cut_torch(struct mt_clocked_list *out, const struct mt_report *r,
                      const struct mt_reconcile *x)
{
    const struct mt_device_analysis *d = device_of(r, x);
    const struct mt_timeline *e = d != NULL ? by_events(d) : NULL;
    for (uint32_t c = 0; d != NULL && c < d->timeline.n_columns; c++)
        out->at[out->n_at++] = begins(&d->timeline, c);
    for (uint32_t c = 0; e != NULL && c < e->n_columns; c++)
        out->at[out->n_at++] = begins(e, c);
    if (d != NULL)
        out->at[out->n_at++] = d->timeline.x1 + 1;
}

static bool cut(struct mt_clocked_list *out, const struct mt_report *r, uint32_t ledger,
                const struct moment *m, uint32_t n_moments)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    const struct mt_ledger *g = &j->ledgers.p[ledger];
    uint64_t width = (g->t1_ns - g->t0_ns) / MT_TL_COLUMNS + 1;
    size_t most = (size_t)g->n_columns + (n_moments <= MOST_SAMPLES ? n_moments : 0);
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->reconciled.n; i++)
        most += j->reconciled.p[i].ledger == ledger ? 2 * MT_TL_COLUMNS + 1 : 0;
    out->at = mt_calloc(most, sizeof *out->at);
    if (out->at == NULL)
        return false;
    for (uint32_t c = 0; c < g->n_columns; c++)
        out->at[out->n_at++] = g->t0_ns + c * width;
    for (uint32_t i = 0; n_moments <= MOST_SAMPLES && i < n_moments; i++)
        out->at[out->n_at++] = m[i].time_ns;
    for (uint32_t i = 0; i < j->reconciled.n; i++)
        if (j->reconciled.p[i].ledger == ledger)
            cut_torch(out, r, &j->reconciled.p[i]);
    qsort(out->at, out->n_at, sizeof *out->at, by_value);
    for (uint32_t i = 0; i < out->n_at; i++)
        if (out->at[i] >= g->t0_ns && out->at[i] <= g->t1_ns &&
            (n == 0 || out->at[i] != out->at[n - 1]))
            out->at[n++] = out->at[i];
    out->n_at = n;
    return true;
}

int mt_clocked_make(struct mt_clocked_list *out, const struct mt_report *r, uint32_t ledger)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    const struct mt_ledger *g = &j->ledgers.p[ledger];
    uint32_t n;
    struct moment *m;
    bool ok;
    memset(out, 0, sizeof *out);
    if (g->n_columns < 2)
        return 1;
    m = moments(j->drivers.p[g->driver]->driver, g, &n);
    ok = m != NULL && cut(out, r, ledger, m, n);
    for (uint32_t i = 0; ok && i < j->reconciled.n; i++)
        if (j->reconciled.p[i].ledger == ledger)
            ok = of_torch(out, r, g, &j->reconciled.p[i]);
    ok = ok && of_host(out, j, g, m, n);
    mt_free(m);
    return ok;
}
