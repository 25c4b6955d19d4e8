/* Bytes of the caches of passes (roles/grown.c) at the focus. */
#include "analysis/roles/impl.h"

/* The first event of the pass that the focus lies in; INT64_MAX where it lies in none. An engine's
 * cache is there before its passes. */
static int64_t begin_of_pass(const struct mt_role_facts *f, int64_t focus)
{
    uint32_t i = focus >= 0 ? mt_micro_at(f, (uint64_t)focus) : UINT32_MAX;
    return i != UINT32_MAX && focus <= (int64_t)f->micros.p[i].last ? (int64_t)f->micros.p[i].first
                                                                    : INT64_MAX;
}

void mt_grown_sum(struct mt_rwork *k, int64_t focus)
{
    int64_t pass = begin_of_pass(k->out, focus);
    for (uint32_t at = 0; at < k->w->there.n; at++) {
        const uint32_t i = k->w->there.p[at];
        const struct mt_event *e = mt_event_at(k->r->d, i);
        if (k->w->fate[i].role != MT_ROLE_KV_CACHE)
            continue;
        k->out->grown_cache += k->w->grown[e->stack] ? e->size : 0;
        k->out->pass_cache += k->w->grown[e->stack] || i >= pass ? e->size : 0;
    }
}
