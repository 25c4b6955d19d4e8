#include "analysis/run/brief.h"

#include "analysis/cause/skew.h"
#include "analysis/cause/verdict.h"
#include "analysis/run/one_process.h"
#include "parser/model/driver.h"

#include <string.h>

/* ---- what stays ---- */

/* Its list becomes as long as it has members. 0 = out of memory, and nothing has changed. */
static int trim(void **p, uint32_t *cap, uint32_t n, size_t size)
{
    void *q = n != 0 ? mt_malloc(n * size) : NULL;
    if (n != 0 && q == NULL)
        return 0;
    if (n != 0)
        memcpy(q, *p, n * size);
    mt_free(*p);
    *p = q;
    *cap = n;
    return 1;
}
#define TRIM(v) trim((void **)&(v)->p, &(v)->cap, (v)->n, sizeof *(v)->p)

/* Of each phase the stretch with the most that follows the tokens: ranks of uneven work are
 * compared by it. */
static void keep_highest(struct mt_role_facts *f)
{
    uint32_t n = 0, k;
    for (uint32_t i = 0; i < f->occurrences.n; i++) {
        const struct mt_occurrence o = f->occurrences.p[i];
        for (k = 0; k < n && f->occurrences.p[k].phase != o.phase; k++)
            ;
        if (k == n)
            f->occurrences.p[n++] = o;
        else if (mt_tokens_in(o.peak_roles) > mt_tokens_in(f->occurrences.p[k].peak_roles))
            f->occurrences.p[k] = o;
    }
    f->occurrences.n = n;
}

/* Of each phase in which a model is trained or scored one row, where anything was allocated: by
 * them two processes of one rank are told apart. */
static void keep_work(struct mt_device_analysis *d)
{
    uint32_t n = 0, k;
    for (uint32_t i = 0; i < d->phases.n; i++) {
        const struct mt_phase_row row = d->phases.p[i];
        for (k = 0; k < n && d->phases.p[k].phase != row.phase; k++)
            ;
        if (k == n && row.n_allocs != 0 && mt_phase_is(row.phase, MT_TRAINS | MT_SCORES))
            d->phases.p[n++] = row;
    }
    d->phases.n = n;
}

/* By their ends clocks are held against each other. */
static void keep_last_steps(struct mt_role_facts *f)
{
    uint32_t n = 0, at = f->steps.n;
    if (f->n_steps_all != f->steps.n) /* the last ones are not here */
        f->steps.n = at = 0;
    f->n_steps_all = 0;
    while (at > 0 && n < MT_BRIEF_STEPS)
        n += f->steps.p[--at].whole;
    if (at != 0)
        memmove(f->steps.p, f->steps.p + at, (f->steps.n - at) * sizeof *f->steps.p);
    f->n_steps_all = f->steps.n -= at;
}

static int shorten_device(struct mt_device_analysis *d)
{
    const struct mt_device_analysis all = *d;
    d->withheld = NULL;
    memset(&d->ooms, 0, sizeof d->ooms);
    memset(&d->phases, 0, sizeof d->phases);
    memset(&d->roles.occurrences, 0, sizeof d->roles.occurrences);
    memset(&d->roles.steps, 0, sizeof d->roles.steps);
    mt_device_analysis_done(d); /* whatever else there is; then what stays comes back */
    d->withheld = all.withheld;
    d->ooms = all.ooms;
    d->phases = all.phases;
    d->roles.occurrences = all.roles.occurrences;
    d->roles.steps = all.roles.steps;
    for (uint32_t i = 0; i < d->ooms.n; i++) {
        struct mt_oom *o = &d->ooms.p[i];
        mt_free(o->label);
        o->label = NULL;
        o->stack = o->forward = 0; /* there are no stacks any more */
    }
    d->ooms.n = d->ooms.n < MT_BRIEF_OOMS ? d->ooms.n : MT_BRIEF_OOMS;
    keep_highest(&d->roles);
    keep_work(d);
    keep_last_steps(&d->roles);
    return TRIM(&d->ooms) && TRIM(&d->phases) && TRIM(&d->roles.occurrences) &&
           TRIM(&d->roles.steps);
}

/* The words of what was wrong with an input: as a rule there are none, and no pool is needed. */
static int keep_words(struct mt_trace *t)
{
    struct mt_strpool all = t->str, own;
    bool any = t->diags.n != 0 || t->unknown_keys.n != 0 || t->unknown_actions.n != 0;
    int ok = 1;
    memset(&own, 0, sizeof own);
    if (any && !mt_strpool_init(&own))
        ok = 0;
    for (uint32_t pass = 0; any && ok && pass < 2; pass++) { /* first that there is room */
        for (uint32_t i = 0; ok && i < t->diags.n + t->unknown_keys.n + t->unknown_actions.n; i++) {
            uint32_t k = i - t->diags.n, a = k - t->unknown_keys.n;
            mt_str_id *id = i < t->diags.n          ? &t->diags.p[i].text
                            : k < t->unknown_keys.n ? &t->unknown_keys.p[k].name
                                                    : &t->unknown_actions.p[a].name;
            mt_str_id now = mt_strpool_add(&own, all.ref.p[*id].p, all.ref.p[*id].len);
            ok = now != MT_STR_FAIL;
            if (pass == 1)
                *id = now;
        }
    }
    if (!ok) {
        mt_strpool_done(&own);
        return 0;
    }
    mt_strpool_done(&all);
    t->str = own;
    return 1;
}

/* 0 = out of memory; then it has its detail still. What cannot be trimmed is only longer. */
static int shorten(struct mt_rank *k)
{
    struct mt_analysis *a = k->analysis;
    const char *pytorch = mt_trace_pytorch(k->trace);
    if (!keep_words(k->trace))
        return 0;
    k->trace->meta.pytorch = pytorch;
    mt_trace_forget(k->trace);
    (void)TRIM(&k->trace->devices);
    for (uint32_t i = 0; i < a->devices.n; i++)
        (void)shorten_device(&a->devices.p[i]);
    (void)TRIM(&a->devices);
    mt_advice_list_done(&a->advice);
    memset(&a->advice, 0, sizeof a->advice);
    mt_free(a->combined.sentence);
    memset(&a->combined, 0, sizeof a->combined);
    memset(&a->choices, 0, sizeof a->choices);
    mt_free(a->verdict.sentence);
    mt_free(a->verdict.because);
    a->verdict.sentence = a->verdict.because = NULL;
    mt_claims_done(&k->claims);
    k->claims = (struct mt_claims){.pid = -1, .rank = -1, .trace = k->trace};
    a->is_brief = true;
    return 1;
}

/* ---- which ones ---- */

/* How many of each stay whole; together fewer than MT_BRIEF_WHOLE. */
enum { FAILED = 12, HIGHEST = 10, LOWEST = 4 };

struct turn {
    uint64_t failed_ns; /* UINT64_MAX = it has no clock */
    uint64_t held;
    bool failed, is_earlier;
};

static struct turn turn_of(const struct mt_diagnosis *d, uint32_t at)
{
    const struct mt_rank *k = &d->ranks.p[d->whole.p[at]];
    struct turn t = {UINT64_MAX, 0, false, false};
    for (uint32_t i = 0; i < k->analysis->devices.n; i++) {
        const struct mt_device_analysis *v = &k->analysis->devices.p[i];
        uint64_t ns = v->ooms.n != 0 ? v->ooms.p[0].time_ns - 1 : UINT64_MAX; /* 0 comes last */
        uint64_t held = v->withheld != NULL ? v->live_end : v->live_peak;
        t.failed |= v->ooms.n != 0;
        t.failed_ns = ns < t.failed_ns ? ns : t.failed_ns;
        if (v->kind == MT_DEV_CUDA && held > t.held)
            t.held = held;
    }
    for (uint32_t i = 0; i < d->whole.n && !t.is_earlier; i++)
        t.is_earlier = i != at && mt_has_all_of(&d->ranks.p[d->whole.p[i]], k);
    return t;
}

/* Whether it is among the first, the highest or the lowest. Of equal ones those that were read
 * first are. */
static bool is_wanted(const struct turn *t, uint32_t n, uint32_t at)
{
    uint32_t before = 0, above = 0, below = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == at || t[i].is_earlier)
            continue;
        before += t[i].failed && (t[i].failed_ns < t[at].failed_ns ||
                                  (i < at && t[i].failed_ns == t[at].failed_ns));
        above += t[i].held > t[at].held || (i < at && t[i].held == t[at].held);
        below += t[i].held < t[at].held || (i < at && t[i].held == t[at].held);
    }
    return (t[at].failed && before < FAILED) || above < HIGHEST || below < LOWEST;
}

/* The place in d->whole of the one that is missed least: one of which another has all, else the
 * last of those that are not wanted. */
static uint32_t choose(const struct mt_diagnosis *d)
{
    struct turn t[MT_BRIEF_FROM + 1] = {{0, 0, false, false}};
    const struct mt_analysis *a[MT_BRIEF_FROM + 1] = {NULL};
    uint32_t n = d->whole.n, speaks;
    for (uint32_t i = 0; i < n; i++) {
        t[i] = turn_of(d, i);
        a[i] = d->ranks.p[d->whole.p[i]].analysis;
    }
    for (uint32_t i = n; i-- > 0;)
        if (t[i].is_earlier)
            return i;
    speaks = mt_primary_rank(a, n);
    for (uint32_t i = n; i-- > 0;)
        if (i != speaks && !is_wanted(t, n, i))
            return i;
    return n - 1; /* cannot be: more are whole than are wanted */
}

uint32_t mt_brief_next(struct mt_diagnosis *d)
{
    uint32_t most = d->whole.n < d->ranks.n ? MT_BRIEF_WHOLE : MT_BRIEF_FROM, at, order;
    if (d->whole.n <= most || d->whole.n > MT_BRIEF_FROM + 1 || d->drivers.n != 0)
        return MT_NONE32;
    at = choose(d);
    order = d->whole.p[at];
    if (!shorten(&d->ranks.p[order]))
        return MT_NONE32;
    memmove(&d->whole.p[at], &d->whole.p[at + 1], (d->whole.n - at - 1) * sizeof *d->whole.p);
    d->whole.n--;
    return order;
}
