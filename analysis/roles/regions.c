/* Stretches of forward, backward or optimizer work inside a coarse phase; in the same walk, what is
 * there at the focus, and how the blocks of a stack follow each other. */
#include "analysis/roles/impl.h"

enum mt_group mt_group_of(unsigned sub, enum mt_group now)
{
    switch (sub) {
    case MT_PH_FORWARD:
    case MT_PH_LOSS:
    case MT_PH_LOGITS:
    case MT_PH_ROLLOUT_SAMPLE: return MT_G_FORWARD;
    case MT_PH_BACKWARD:
    case MT_PH_RECOMPUTE:
    case MT_PH_GRAD_REDUCE: return MT_G_BACKWARD;
    case MT_PH_OPTIMIZER:
    case MT_PH_OPTIM_STATE_INIT:
    case MT_PH_GRAD_CLIP: return MT_G_OPTIMIZER;
    default: return now;
    }
}

/* The last block of each stack. */
struct last_block {
    uint64_t size;
    uint32_t event; /* + 1 */
    struct mt_grown grown;
    bool several; /* two of one size at a time, as of layers */
};

/* Notes on the last block of the same stack and size whether this one overlaps with it or comes
 * after its free; where the size is another, how it has grown. */
static inline void note_again(struct mt_rwork *k, struct last_block *last, const struct mt_event *e,
                              uint32_t i, bool of_tensors)
{
    struct last_block *l = &last[e->stack];
    if (l->event != 0 && e->stack != 0) {
        struct mt_fate *f = &k->w->fate[l->event - 1];
        if (l->size == e->size) {
            f->life |= f->freed > i ? MT_SEEN_OVERLAP : MT_SEEN_AGAIN;
            l->several = l->several || f->freed > i;
        } else if (of_tensors)
            mt_grown_note(&l->grown, l->size, e->size, f->freed, i,
                          l->several && e->size > l->size && f->freed <= i &&
                              mt_is_handed_on(k, l->event - 1, i));
    }
    l->size = e->size;
    l->event = i + 1;
}

/* Keeps the largest block of a region, and the largest that the region computed: gathered or moved
 * parameters are not computed by it, and what frames call a temporary is no logits. */
static inline void note_largest(const struct mt_rwork *k, struct mt_region *g, unsigned sub,
                                const struct mt_event *e)
{
    uint64_t size = e->size;
    uint16_t role = k->w->stack_role[e->stack];
    if (size > g->largest)
        g->largest = size;
    if (size > g->computed && (role == MT_NO_STACK_ROLE || (role & 0xff) != MT_ROLE_TEMP) &&
        sub != MT_PH_FSDP_UNSHARD && sub != MT_PH_COMM && sub != MT_PH_ONLOAD_OFFLOAD)
        g->computed = size;
}

/* Looks at the failed request as at a block of its pass. Memory often runs out for the logits, so
 * no block of the trace would tell their size. */
static void note_request(struct mt_rwork *k, const struct mt_event *e, uint32_t i)
{
    struct mt_attr a = k->r->attr[i];
    bool by_frame =
        a.sub == MT_PH_LOGITS || k->w->stack_role[e->stack] == (MT_ROLE_LOGITS | MT_WHY_FRAME << 8);
    struct mt_region *g = k->regions.n != 0 ? &k->regions.p[k->regions.n - 1] : NULL;
    if (by_frame || a.sub == MT_PH_LOSS)
        mt_vocab_see(k, e->size, by_frame);
    if (g != NULL && g->phase == a.phase && g->group == mt_group_of(a.sub, MT_G_OTHER))
        note_largest(k, g, a.sub, e);
}

/* Keys and values, or layers: one tensor alone that is joined to is an index or a buffer. */
static int find_grown(struct mt_rwork *k, const struct last_block *last)
{
    const uint32_t n = k->r->t->stacks.n;
    uint32_t of_all = 0;
    bool several = false;
    if (!mt_is_of_tensors(k->r->t))
        return 1;
    if ((k->w->grown = mt_calloc((size_t)n + 1, 1)) == NULL)
        return 0;
    for (uint32_t s = 0; s < n; s++) {
        k->w->grown[s] =
            mt_is_grown(&last[s].grown) || (last[s].several && mt_is_grown_in_turn(&last[s].grown))
                ? MT_GROWN
                : 0;
        of_all += k->w->grown[s] != 0;
        several = several || (k->w->grown[s] != 0 && last[s].several);
    }
    for (uint32_t s = 0; s < n && (several || of_all > 1); s++)
        k->w->grown[s] = k->w->grown[s] != 0 ? MT_GROWN_CACHE : 0;
    return 1;
}

static int add_there(struct mt_rwork *k, uint32_t event)
{
    uint32_t *at = MT_VEC_PUSH(&k->w->there);
    if (at != NULL)
        *at = event;
    return at != NULL;
}

int mt_regions_make(struct mt_rwork *k)
{
    const struct mt_device *d = k->r->d;
    struct last_block *last = mt_calloc((size_t)k->r->t->stacks.n + 1, sizeof *last);
    struct mt_region now = {0, 0, 0, 0, MT_G_OTHER, MT_PH_COUNT};
    struct mt_region *at;
    const bool of_tensors = mt_is_of_tensors(k->r->t);
    int rc = 0;
    if (last == NULL)
        return 0;
    for (uint32_t i = 0, n = mt_n_events(k); i < n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        struct mt_attr a;
        enum mt_group g;
        bool by_frame;
        if (e->action != MT_ACT_ALLOC) {
            if (e->action == MT_ACT_OOM)
                note_request(k, e, i);
            continue;
        }
        a = k->r->attr[i];
        if ((int64_t)i <= k->focus && (int64_t)k->w->fate[i].freed > k->focus && !add_there(k, i))
            goto out;
        note_again(k, last, e, i, of_tensors);
        by_frame = a.sub == MT_PH_LOGITS ||
                   k->w->stack_role[e->stack] == (MT_ROLE_LOGITS | MT_WHY_FRAME << 8);
        if (by_frame || a.sub == MT_PH_LOSS)
            mt_vocab_see(k, e->size, by_frame);
        if (a.phase != now.phase && !mt_occurrence_next(k, i, a.phase))
            goto out;
        g = mt_group_of(a.sub, a.phase != now.phase ? MT_G_OTHER : (enum mt_group)now.group);
        if (g != now.group || a.phase != now.phase) {
            if ((at = MT_VEC_PUSH(&k->regions)) == NULL)
                goto out;
            now = (struct mt_region){k->regions.n == 1 ? 0 : i, i, 0, 0, (uint8_t)g, a.phase};
            *at = now;
        }
        at = &k->regions.p[k->regions.n - 1];
        at->last_alloc = i;
        note_largest(k, at, a.sub, e);
    }
    mt_occurrences_end(k);
    rc = find_grown(k, last);
out:
    mt_free(last);
    return rc;
}

uint32_t mt_region_at(const struct mt_rwork *k, uint32_t event)
{
    uint32_t lo = 0, hi = k->regions.n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (k->regions.p[mid].first <= event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo != 0 ? lo - 1 : UINT32_MAX;
}
