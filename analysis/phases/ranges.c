/* Recorded annotations (record_function ranges) as evidence. They are pushed by one thread but hold
 * for the process: what the autograd thread allocates meanwhile belongs to them as well. Of
 * overlapping ranges the one that began last holds. */
#include "analysis/base/glob.h"
#include "analysis/phases/impl.h"

#include <stdlib.h>
#include <string.h>

/* A whole range of the device whose name a rule knows. */
struct known {
    uint64_t t0, t1; /* both inside */
    uint32_t order;  /* in the trace */
    uint16_t rule;
};

struct knowns {
    MT_VEC(struct known) v;
};

/* The rule with the longest pattern; of equally long ones an overlay's, then the earlier one. */
uint32_t mt_annotation_rule(const struct mt_phase_rules *r, const char *s, size_t n)
{
    uint32_t best = 0;
    size_t best_len = 0;
    for (uint32_t i = MT_METHOD_COUNT; i < r->rule.n; i++) {
        size_t len;
        if (r->rule.p[i].level != 'A' || !mt_glob(r->rule.p[i].function, s, n))
            continue;
        len = strlen(r->rule.p[i].function);
        if (best == 0 || len > best_len ||
            (len == best_len &&
             (r->code.p[i].flags & MT_RF_OVERLAY) > (r->code.p[best].flags & MT_RF_OVERLAY))) {
            best = i;
            best_len = len;
        }
    }
    return best;
}

enum mt_phase mt_annotation_phase(const struct mt_phase_rules *r, const char *s, size_t n)
{
    return mt_rule_phase(r, mt_annotation_rule(r, s, n));
}

static int by_start(const void *pa, const void *pb)
{
    const struct known *a = pa, *b = pb;
    if (a->t0 != b->t0)
        return a->t0 < b->t0 ? -1 : 1;
    if (a->t1 != b->t1)
        return a->t1 > b->t1 ? -1 : 1; /* the outer one first */
    return a->order < b->order ? -1 : a->order > b->order;
}

/* A range whose end was not recorded lasts until the next of the same name begins, or to the end of
 * the trace: a process that ran out of memory inside one never left it. One whose start is missing
 * could have begun at any time and says nothing. */
static int collect(struct knowns *out, const struct mt_phaser *p, int32_t ordinal, bool coarse)
{
    const struct mt_trace *t = p->t;
    uint32_t *memo = mt_calloc((size_t)t->str.ref.n, sizeof *memo); /* rule + 1, by name */
    /* start of the later range of that name */
    uint64_t *begins = mt_malloc((size_t)t->str.ref.n * sizeof *begins);
    int ok = memo != NULL && begins != NULL;
    for (uint32_t i = 0; ok && i < t->str.ref.n; i++)
        begins[i] = UINT64_MAX;
    for (uint32_t i = t->ranges.n; ok && i-- > 0;) {
        const struct mt_range *g = &t->ranges.p[i];
        struct known *k;
        uint64_t end = g->t1_ns;
        if (g->device != ordinal || g->t0_ns == 0)
            continue;
        if (end == 0 && (end = begins[g->name]) != UINT64_MAX)
            end--;
        begins[g->name] = g->t0_ns;
        if (memo[g->name] == 0)
            memo[g->name] =
                mt_annotation_rule(p->rules, mt_str(p->t, g->name), mt_str_len(p->t, g->name)) + 1u;
        if (memo[g->name] == 1 || end < g->t0_ns ||
            mt_phase_is(mt_rule_phase(p->rules, memo[g->name] - 1), MT_COARSE) != coarse)
            continue;
        k = MT_VEC_PUSH(&out->v);
        ok = k != NULL;
        if (ok)
            *k = (struct known){g->t0_ns, end, i, (uint16_t)(memo[g->name] - 1)};
    }
    mt_free(memo);
    mt_free(begins);
    return ok;
}

static int change(struct mt_spans *s, uint64_t t0, uint16_t rule)
{
    struct mt_span *last = s->v.n != 0 ? &s->v.p[s->v.n - 1] : NULL;
    if (last == NULL || last->t0 != t0) {
        last = MT_VEC_PUSH(&s->v);
        if (last == NULL)
            return 0;
        last->t0 = t0;
    }
    last->rule = rule;
    return 1;
}

/* Ends every range on top of the open ones that is over before `now`. */
static int close_until(struct mt_spans *s, const struct known *k, const uint32_t *open, uint32_t *n,
                       uint64_t now)
{
    while (*n != 0 && k[open[*n - 1]].t1 < now) {
        uint64_t end = k[open[*n - 1]].t1;
        while (*n != 0 && k[open[*n - 1]].t1 <= end) /* those below may have ended before */
            (*n)--;
        if (!change(s, end + 1, *n != 0 ? k[open[*n - 1]].rule : 0))
            return 0;
    }
    return 1;
}

enum mt_rc mt_spans_build(struct mt_spans *s, const struct mt_phaser *p, int32_t ordinal,
                          bool coarse, struct mt_err *err)
{
    struct knowns k = {{NULL, 0, 0}};
    uint32_t *open = NULL, n_open = 0;
    enum mt_rc rc = MT_ENOMEM;
    if (!collect(&k, p, ordinal, coarse))
        goto out;
    if (k.v.n == 0) {
        rc = MT_OK;
        goto out;
    }
    qsort(k.v.p, k.v.n, sizeof *k.v.p, by_start);
    open = mt_malloc((size_t)k.v.n * sizeof *open);
    if (open == NULL || !change(s, 0, 0))
        goto out;
    for (uint32_t i = 0; i < k.v.n; i++) {
        if (!close_until(s, k.v.p, open, &n_open, k.v.p[i].t0) ||
            !change(s, k.v.p[i].t0, k.v.p[i].rule))
            goto out;
        open[n_open++] = i;
    }
    if (!close_until(s, k.v.p, open, &n_open, UINT64_MAX))
        goto out;
    rc = MT_OK;
out:
    MT_VEC_DONE(&k.v);
    mt_free(open);
    return rc < 0 ? mt_fail(err, rc, "out of memory while reading the annotations") : rc;
}

uint32_t mt_spans_rule(struct mt_spans *s, uint64_t time_ns)
{
    uint32_t at = s->at;
    if (s->v.n == 0 || time_ns == 0)
        return 0;
    if (time_ns < s->v.p[at].t0) { /* threads may record out of order */
        uint32_t lo = 0, hi = at;
        while (hi - lo > 1) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (s->v.p[mid].t0 <= time_ns)
                lo = mid;
            else
                hi = mid;
        }
        at = lo;
    }
    while (at + 1 < s->v.n && s->v.p[at + 1].t0 <= time_ns)
        at++;
    s->at = at;
    return s->v.p[at].rule;
}
