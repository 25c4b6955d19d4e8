/* A cache that each pass makes anew, one token longer (torch.cat): the next block of its stack is a
 * little larger, and is there before the one before goes. What only grows with the tokens, as the
 * scores of an attention do, goes before the next is made; what is collected never goes. */
#include "analysis/roles/impl.h"

/* Chosen by hand: a loop of fewer tokens has made no cache that matters; one step adds no more than
 * a part of what is there. */
enum { MIN_STEPS = 4, MOST_ADDED = 4, FEW = 4 };

struct run {
    uint32_t last; /* event + 1 of the stack's last block */
    uint32_t up, other;
};

static void note(const struct mt_rwork *k, struct run *r, const struct mt_event *e, uint32_t i)
{
    const struct mt_event *before = r->last != 0 ? mt_event_at(k->r->d, r->last - 1) : NULL;
    uint32_t freed = before != NULL ? k->w->fate[r->last - 1].freed : 0;
    if (before != NULL && e->size != before->size) {
        if (e->size > before->size && e->size - before->size <= before->size / MOST_ADDED &&
            freed != MT_NEVER && freed > i)
            r->up++;
        else if (freed != MT_NEVER) /* the last pass of a trace lets go of nothing */
            r->other++;
    }
    r->last = i + 1;
}

int mt_grown_find(struct mt_rwork *k)
{
    uint32_t n = k->r->t->stacks.n;
    struct run *run = mt_calloc((size_t)n + 1, sizeof *run);
    k->w->grown = mt_calloc((size_t)n + 1, 1);
    for (uint32_t i = 0; run != NULL && k->w->grown != NULL && i < mt_n_events(k); i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        if (e->action == MT_ACT_ALLOC && e->stack != 0 && e->stack < n)
            note(k, &run[e->stack], e, i);
    }
    for (uint32_t s = 0; run != NULL && k->w->grown != NULL && s < n; s++)
        k->w->grown[s] = run[s].up >= MIN_STEPS && run[s].up > run[s].other * FEW;
    mt_free(run);
    return run != NULL && k->w->grown != NULL;
}

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
