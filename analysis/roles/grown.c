/* A cache that each pass makes anew, one token longer (torch.cat): the next block of its stack is a
 * little larger, and is there before the one before goes. What only grows with the tokens, as the
 * scores of an attention do, goes before the next is made; what is collected never goes. Where two
 * lines hand a cache to each other, as one joins requests and the other adds a token, a line's own
 * block has gone by then, and the other's, made before that and a little larger, is there. */
#include "analysis/roles/impl.h"

/* Chosen by hand: a loop of fewer tokens has made no cache that matters; one step adds no more than
 * a part of what is there. */
enum { MIN_STEPS = 4, MOST_ADDED = 4, FEW = 4 };

bool mt_is_handed_on(const struct mt_rwork *k, uint32_t birth, uint32_t now)
{
    enum { NEAR = 64 }; /* allocations: the end of a pass lies in between; chosen by hand */
    const struct mt_event *old = mt_event_at(k->r->d, birth);
    uint32_t n = 0;
    for (uint32_t i = k->w->fate[birth].freed; i-- > birth + 1 && n < NEAR;) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        if (e->action != MT_ACT_ALLOC)
            continue;
        n++;
        if (e->stack != old->stack && k->w->fate[i].freed > now && e->size >= old->size &&
            e->size - old->size <= old->size / MOST_ADDED)
            return true;
    }
    return false;
}

void mt_grown_note(struct mt_grown *g, uint64_t before, uint64_t size, uint32_t freed, uint32_t now,
                   bool handed_on)
{
    bool up = size > before && size - before <= before / MOST_ADDED && freed != MT_NEVER;
    if (up && freed > now)
        g->up++;
    else if (up && handed_on)
        g->in_turn++;
    else if (freed != MT_NEVER) /* the last pass of a trace lets go of nothing */
        g->other++;
}

bool mt_is_grown(const struct mt_grown *g) { return g->up >= MIN_STEPS && g->up > g->other * FEW; }

bool mt_is_grown_in_turn(const struct mt_grown *g)
{
    return g->up + g->in_turn >= MIN_STEPS && g->up + g->in_turn > g->other * FEW;
}

unsigned mt_grown_role(uint8_t grown)
{
    return grown == MT_GROWN_CACHE ? MT_ROLE_KV_CACHE : MT_ROLE_DATA;
}
