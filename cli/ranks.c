#include "cli/ranks.h"
#include "analysis/run/analyze.h"

#include <stdlib.h>
#include <string.h>

int mt_ranks_add(struct mt_ranks *r, struct mt_trace *t, struct mt_analysis *a,
                 struct mt_packs *packs)
{
    struct mt_loaded *l = MT_VEC_PUSH(&r->list);
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (l == NULL || mt_claims_make(&l->claims, t, &err) < 0) {
        r->list.n -= l != NULL;
        if (packs != NULL)
            mt_packs_done(packs);
        mt_analysis_free(a);
        mt_trace_free(t);
        return 0;
    }
    mt_claims_peak(&l->claims, a);
    mt_trace_drop_events(t);
    l->trace = t;
    l->analysis = a;
    if (packs != NULL)
        l->packs = *packs;
    l->order = r->list.n - 1;
    return 1;
}

int mt_ranks_add_driver(struct mt_ranks *r, struct mt_trace *t)
{
    struct mt_trace **at = MT_VEC_PUSH(&r->drivers);
    if (at == NULL) {
        mt_trace_free(t);
        return 0;
    }
    *at = t;
    return 1;
}

static int by_rank(const void *pa, const void *pb)
{
    const struct mt_loaded *a = pa, *b = pb;
    int32_t ra = a->trace->meta.rank, rb = b->trace->meta.rank;
    if ((ra < 0) != (rb < 0))
        return ra < 0 ? 1 : -1;
    if (ra != rb)
        return ra < rb ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

void mt_ranks_sort(struct mt_ranks *r)
{
    if (r->list.n > 1)
        qsort(r->list.p, r->list.n, sizeof *r->list.p, by_rank);
}

enum mt_rc mt_ranks_driver(struct mt_driverdiag **out, const struct mt_ranks *r,
                           const struct mt_driverdiag_opts *o, struct mt_err *err)
{
    struct mt_claims *claims = mt_calloc((size_t)r->list.n + 1, sizeof *claims);
    enum mt_rc rc;
    if (claims == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory; raise --max-memory");
    for (uint32_t i = 0; i < r->list.n; i++)
        claims[i] = r->list.p[i].claims;
    rc = mt_driverdiag_make(out, (const struct mt_trace *const *)r->drivers.p, r->drivers.n, claims,
                            r->list.n, o, err);
    mt_free(claims);
    return rc;
}

void mt_ranks_done(struct mt_ranks *r)
{
    for (uint32_t i = 0; i < r->list.n; i++) {
        mt_analysis_free(r->list.p[i].analysis);
        mt_packs_done(&r->list.p[i].packs);
        mt_claims_done(&r->list.p[i].claims);
        mt_trace_free(r->list.p[i].trace);
    }
    MT_VEC_DONE(&r->list);
    for (uint32_t i = 0; i < r->drivers.n; i++)
        mt_trace_free(r->drivers.p[i]);
    MT_VEC_DONE(&r->drivers);
}
