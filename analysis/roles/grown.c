/* A cache that each pass makes anew, one token longer (torch.cat): the next block of its stack is a
 * little larger, and is there before the one before goes. What only grows with the tokens, as the
 * scores of an attention do, goes before the next is made; what is collected never goes. */
#include "analysis/roles/impl.h"

/* Chosen by hand: a loop of fewer tokens has made no cache that matters; one step adds no more than
 * a part of what is there. */
enum { MIN_STEPS = 4, MOST_ADDED = 4, FEW = 4 };

void mt_grown_note(struct mt_grown *g, uint64_t before, uint64_t size, uint32_t freed, uint32_t now)
{
    if (size > before && size - before <= before / MOST_ADDED && freed != MT_NEVER && freed > now)
        g->up++;
    else if (freed != MT_NEVER) /* the last pass of a trace lets go of nothing */
        g->other++;
}

bool mt_is_grown(const struct mt_grown *g) { return g->up >= MIN_STEPS && g->up > g->other * FEW; }

unsigned mt_grown_role(uint8_t grown)
{
    return grown == MT_GROWN_CACHE ? MT_ROLE_KV_CACHE : MT_ROLE_DATA;
}
