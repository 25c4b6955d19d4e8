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

/* Blocks of a stack. turns: as many as a loop has of two turns of its own, which are there when the
 * first is let go of; a sequence needs no more of them. */
struct line {
    uint32_t live, turns;
};

/* What is there of each grown stack beyond two turns of its loop, the oldest first. */
static int sum_kept(struct mt_rwork *k, int64_t focus)
{
    struct line *line = mt_calloc((size_t)k->r->t->stacks.n + 1, sizeof *line);
    if (line == NULL)
        return 0;
    for (int64_t i = 0; i <= focus; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, (uint64_t)i);
        uint32_t born = k->w->fate[i].freed;
        if (e->action == MT_ACT_ALLOC && k->w->grown[e->stack])
            line[e->stack].live++;
        else if (e->action == MT_ACT_FREE_COMPLETED && born != MT_NEVER &&
                 k->w->grown[mt_event_at(k->r->d, born)->stack]) {
            struct line *of = &line[mt_event_at(k->r->d, born)->stack];
            of->turns = of->turns != 0 ? of->turns : of->live;
            of->live--;
        }
    }
    for (uint32_t at = 0; at < k->w->there.n; at++) {
        const struct mt_event *e = mt_event_at(k->r->d, k->w->there.p[at]);
        struct line *of = &line[e->stack];
        if (k->w->fate[k->w->there.p[at]].role != MT_ROLE_KV_CACHE || of->turns == 0 ||
            of->live <= of->turns)
            continue;
        k->out->kept_cache += e->size;
        of->live--;
    }
    mt_free(line);
    return 1;
}

int mt_grown_sum(struct mt_rwork *k, int64_t focus)
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
    return k->out->grown_cache == 0 || sum_kept(k, focus);
}
