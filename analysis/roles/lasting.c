/* What a line of the job's own made and kept, while it made as large ones again and again that
 * went: the inverse of an earlier run, the best result so far. By its life in one long stretch
 * without a known phase it would be a temporary; a temporary does not outlive others of its line.
 */
#include "analysis/roles/impl.h"

/* Chosen by hand, as cause/outlived.c has it; smaller blocks matter to nobody. */
enum { MIN_GONE = 8, MIN_BYTES = 1 << 20 };

/* By stack: blocks of its last size; how many were made, and are there. */
struct line {
    uint64_t size;
    uint32_t made, live;
};

static bool may_last(const struct mt_rwork *k, uint32_t i)
{
    const struct mt_event *e = mt_event_at(k->r->d, i);
    struct mt_attr a = k->r->attr[i];
    return e->action == MT_ACT_ALLOC && e->stack != 0 && e->size >= MIN_BYTES &&
           a.phase == MT_PH_UNATTRIBUTED && a.sub == MT_PH_NONE &&
           (k->w->fate[i].role == MT_ROLE_TEMP || k->w->fate[i].role == MT_ROLE_UNKNOWN);
}

/* of: by stack; at: by event, how many its stack had made before it. Of equal blocks those that
 * came later and are gone went before this one. */
static void end_of(const struct mt_rwork *k, const struct line *of, const uint32_t *at,
                   uint32_t birth)
{
    const struct mt_event *e = mt_event_at(k->r->d, birth);
    const struct line *l = &of[e->stack];
    struct mt_fate *f = &k->w->fate[birth];
    uint32_t later = l->size == e->size ? l->made - at[birth] : 0;
    if (later < l->live + MIN_GONE)
        return;
    f->role = MT_ROLE_DATA;
    f->why = MT_WHY_LIFE;
    if (f->freed < mt_n_events(k))
        k->w->fate[f->freed].role = MT_ROLE_DATA;
}

/* Something that is there at the focus may be such a block: in most traces nothing is. */
static bool is_asked(const struct mt_rwork *k)
{
    for (uint32_t i = 0; i < k->w->there.n; i++)
        if (may_last(k, k->w->there.p[i]))
            return true;
    return false;
}

int mt_lasting_find(struct mt_rwork *k)
{
    uint32_t n = k->r->attr != NULL ? mt_n_events(k) : 0;
    uint32_t last = k->focus >= 0 && (uint64_t)k->focus < n ? (uint32_t)k->focus + 1 : n;
    struct line *of;
    uint32_t *at;
    bool ok;
    if (n == 0 || !is_asked(k))
        return 1;
    of = mt_calloc((size_t)k->r->t->stacks.n + 1, sizeof *of);
    at = mt_calloc((size_t)n + 1, sizeof *at);
    ok = of != NULL && at != NULL;
    for (uint32_t i = 0; ok && i < last; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        uint32_t birth = k->w->fate[i].freed;
        if (may_last(k, i)) {
            struct line *l = &of[e->stack];
            if (l->size != e->size)
                *l = (struct line){.size = e->size};
            at[i] = ++l->made;
            l->live++;
        } else if (e->action == MT_ACT_FREE_COMPLETED && birth < i && at[birth] != 0) {
            struct line *l = &of[mt_event_at(k->r->d, birth)->stack];
            l->live -= l->live != 0 && l->size == e->size;
        }
    }
    for (uint32_t i = 0; ok && i < last; i++)
        if (at[i] != 0 && k->w->fate[i].freed >= last)
            end_of(k, of, at, i);
    mt_free(of);
    mt_free(at);
    return ok;
}
