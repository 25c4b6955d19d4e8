/* Ranges and marks of all processes -> phases of the job. A process has the phase of its own
 * ranges; where it has none, of the ranges of processes that never touched a GPU: these drive the
 * job. Of overlapping ranges the one that began last counts. */
#include "analysis/ledger/impl.h"
#include "analysis/phases/phases.h"

#include <stdlib.h>

enum { MAX_OPEN = 256 };

/* The phase of a name: a phase id or its plain name (memtrace_push), else an
 * annotation rule; -1 = none. */
static int phase_of_name(const struct mt_phase_rules *r, const char *s, size_t n)
{
    int phase = mt_phase_find(s, n);
    enum mt_phase told;
    if (phase >= 0 && phase != MT_PH_NONE && phase != MT_PH_UNATTRIBUTED)
        return phase;
    if (r == NULL)
        return -1;
    told = mt_annotation_phase(r, s, n);
    return told != MT_PH_NONE ? (int)told : -1;
}

static int by_time(const void *pa, const void *pb)
{
    const struct mt_driver_phase *a = pa, *b = pb;
    if (a->t0_ns != b->t0_ns)
        return a->t0_ns < b->t0_ns ? -1 : 1;
    if (a->t1_ns != b->t1_ns)
        return a->t1_ns > b->t1_ns ? -1 : 1; /* the outer one first */
    if (a->driver != b->driver)
        return a->driver < b->driver ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Collects the ranges of a trace. One that was never closed lasts until the next of its name and
 * process begins, else to the end of the process. */
static int collect(struct mt_books *b, uint32_t driver)
{
    const struct mt_trace *t = b->driver->drivers.p[driver];
    const struct mt_driver *d = t->driver;
    uint64_t *begins = mt_calloc((size_t)t->str.ref.n + 1, sizeof *begins);
    int16_t *memo = mt_calloc((size_t)t->str.ref.n + 1, sizeof *memo);
    int ok = begins != NULL && memo != NULL;
    for (uint32_t i = d->ranges.n; ok && i-- > 0;) {
        const struct mt_nvtx *r = &d->ranges.p[i];
        struct mt_driver_phase *p;
        uint64_t end = r->t1_ns;
        if (r->is_mark || r->process >= d->processes.n ||
            b->proc_of[driver][r->process] == MT_NONE32)
            continue;
        if (end < r->t0_ns) {
            end = d->processes.p[r->process].last_ns;
            if (begins[r->name] > r->t0_ns && begins[r->name] < end)
                end = begins[r->name] - 1;
        }
        begins[r->name] = r->t0_ns;
        if (memo[r->name] == 0)
            memo[r->name] =
                (int16_t)(phase_of_name(b->o->phases, mt_str(t, r->name), mt_str_len(t, r->name)) +
                          2);
        if (memo[r->name] == 1 || end < r->t0_ns)
            continue;
        p = MT_VEC_PUSH(&b->driver->phases);
        ok = p != NULL;
        if (ok)
            *p = (struct mt_driver_phase){.driver = driver,
                                          .process = r->process,
                                          .phase = (enum mt_phase)(memo[r->name] - 2),
                                          .name = r->name,
                                          .t0_ns = r->t0_ns,
                                          .t1_ns = end,
                                          .peak_ledger = MT_NONE32};
    }
    mt_free(begins);
    mt_free(memo);
    return ok;
}

static int span(struct mt_phase_spans *s, uint64_t t0, uint32_t range)
{
    struct mt_phase_span *last = s->v.n != 0 ? &s->v.p[s->v.n - 1] : NULL;
    if (last == NULL || last->t0 != t0) {
        last = MT_VEC_PUSH(&s->v);
        if (last == NULL)
            return 0;
        last->t0 = t0;
    }
    last->range = range;
    return 1;
}

static int close_until(const struct mt_driver_phase *k, struct mt_phase_spans *s,
                       const uint32_t *open, uint32_t *n, uint64_t now)
{
    while (*n != 0 && k[open[*n - 1]].t1_ns < now) {
        uint64_t end = k[open[*n - 1]].t1_ns;
        while (*n != 0 && k[open[*n - 1]].t1_ns <=
                              end) /* ranges below it on the stack may have ended earlier */
            (*n)--;
        if (!span(s, end + 1, *n != 0 ? open[*n - 1] + 1 : 0))
            return 0;
    }
    return 1;
}

/* The ranges of one process (guide: of all processes without a GPU) as a
 * sequence without overlap. */
static int sweep(struct mt_books *b, struct mt_phase_spans *s, const uint32_t *of, uint32_t n,
                 bool coarse, uint32_t *open)
{
    const struct mt_driver_phase *k = b->driver->phases.p;
    uint32_t n_open = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (mt_phase_is(k[of[i]].phase, MT_COARSE) != coarse)
            continue;
        if (!close_until(k, s, open, &n_open, k[of[i]].t0_ns) ||
            !span(s, k[of[i]].t0_ns, of[i] + 1))
            return 0;
        open[n_open++] = of[i];
    }
    return close_until(k, s, open, &n_open, UINT64_MAX);
}

int mt_driver_phases_make(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    uint32_t n, *of = NULL, *open = NULL, *start = NULL;
    int ok = 1;
    for (uint32_t i = 0; ok && i < j->drivers.n; i++)
        ok = collect(b, i);
    if (!ok)
        return 0;
    n = j->phases.n;
    if (n != 0)
        qsort(j->phases.p, n, sizeof *j->phases.p, by_time);
    b->phases.n = b->n_procs;
    b->phases.coarse = mt_calloc((size_t)b->n_procs + 1, sizeof *b->phases.coarse);
    b->phases.sub = mt_calloc((size_t)b->n_procs + 1, sizeof *b->phases.sub);
    of = mt_malloc(((size_t)n + 1) * sizeof *of);
    open = mt_malloc(((size_t)n + 1) * sizeof *open);
    start = mt_calloc((size_t)b->n_procs + 2, sizeof *start);
    ok = b->phases.coarse != NULL && b->phases.sub != NULL && of != NULL && open != NULL &&
         start != NULL;
    if (!ok)
        goto out;
    for (uint32_t i = 0; i < n; i++)
        start[b->proc_of[j->phases.p[i].driver][j->phases.p[i].process] + 1]++;
    for (uint32_t p = 0; p < b->n_procs; p++)
        start[p + 1] += start[p];
    for (uint32_t i = 0; i < n; i++)
        of[start[b->proc_of[j->phases.p[i].driver][j->phases.p[i].process]]++] = i;
    for (uint32_t p = 0, at = 0; ok && p < b->n_procs; at = start[p++])
        ok = sweep(b, &b->phases.coarse[p], of + at, start[p] - at, true, open) &&
             sweep(b, &b->phases.sub[p], of + at, start[p] - at, false, open);
    if (ok) {
        uint32_t m = 0;
        for (uint32_t i = 0; i < n; i++) {
            const struct mt_driver_phase *p = &j->phases.p[i];
            if (!j->drivers.p[p->driver]->driver->processes.p[p->process].has_cuda)
                of[m++] = i;
        }
        ok = sweep(b, &b->phases.guide_coarse, of, m, true, open) &&
             sweep(b, &b->phases.guide_sub, of, m, false, open);
    }
out:
    mt_free(of);
    mt_free(open);
    mt_free(start);
    return ok;
}

void mt_driver_phases_done(struct mt_driver_phases *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->coarse != NULL)
            MT_VEC_DONE(&p->coarse[i].v);
        if (p->sub != NULL)
            MT_VEC_DONE(&p->sub[i].v);
    }
    mt_free(p->coarse);
    mt_free(p->sub);
    MT_VEC_DONE(&p->guide_coarse.v);
    MT_VEC_DONE(&p->guide_sub.v);
}

static uint32_t at(const struct mt_phase_spans *s, uint64_t t)
{
    uint32_t lo = 0, hi = s->v.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->v.p[mid].t0 <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo != 0 ? s->v.p[lo - 1].range : 0;
}

const struct mt_driver_phase *mt_driver_phase_at(const struct mt_books *b, uint32_t proc,
                                                 uint64_t t, bool coarse)
{
    uint32_t range =
        proc < b->n_procs ? at(coarse ? &b->phases.coarse[proc] : &b->phases.sub[proc], t) : 0;
    if (range == 0)
        range = at(coarse ? &b->phases.guide_coarse : &b->phases.guide_sub, t);
    return range != 0 ? &b->driver->phases.p[range - 1] : NULL;
}

/* ---- the highest sum inside each ---- */

static void account(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->open_phases.n; i++) {
        struct mt_driver_phase *p = &b->driver->phases.p[b->open_phases.p[i]];
        if (b->high_since > p->peak_named || p->peak_ledger == MT_NONE32) {
            p->peak_named = b->high_since;
            p->peak_ledger = b->high_ledger;
        }
    }
    b->high_since = 0;
    b->high_ledger = MT_NONE32;
    for (uint32_t i = 0; i < b->driver->ledgers.n; i++) {
        if (b->run[i].named > b->high_since || b->high_ledger == MT_NONE32) {
            b->high_since = b->run[i].named;
            b->high_ledger = i;
        }
    }
}

static void note_left(const struct mt_books *b, struct mt_driver_phase *p)
{
    if (p->peak_ledger >= b->driver->ledgers.n)
        return;
    for (int h = 0; h < MT_HOLD_OTHER; h++)
        p->left[h] = b->run[p->peak_ledger].by[h] > 0 ? (uint64_t)b->run[p->peak_ledger].by[h] : 0;
}

static uint64_t next_end(const struct mt_books *b)
{
    uint64_t end = UINT64_MAX;
    for (uint32_t i = 0; i < b->open_phases.n; i++)
        if (b->driver->phases.p[b->open_phases.p[i]].t1_ns < end)
            end = b->driver->phases.p[b->open_phases.p[i]].t1_ns;
    return end;
}

void mt_driver_phases_advance(struct mt_books *b, uint64_t now)
{
    struct mt_driverdiag *j = b->driver;
    for (;;) {
        uint64_t begin =
                     b->next_phase < j->phases.n ? j->phases.p[b->next_phase].t0_ns : UINT64_MAX,
                 end = b->phase_end;
        uint32_t kept = 0, *open;
        if (end < begin && end < now) {
            account(b);
            for (uint32_t i = 0; i < b->open_phases.n; i++) {
                if (j->phases.p[b->open_phases.p[i]].t1_ns > end)
                    b->open_phases.p[kept++] = b->open_phases.p[i];
                else
                    note_left(b, &j->phases.p[b->open_phases.p[i]]);
            }
            b->open_phases.n = kept;
        } else if (begin <= now && begin != UINT64_MAX) {
            account(b);
            if (b->open_phases.n >=
                MAX_OPEN) { /* so many ranges are open only when none is ever closed */
                b->next_phase++;
                continue;
            }
            open = MT_VEC_PUSH(&b->open_phases);
            if (open == NULL) {
                b->nomem = true;
                return;
            }
            *open = b->next_phase++;
        } else {
            return;
        }
        b->phase_end = next_end(b);
    }
}
