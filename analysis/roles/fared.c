/* What became of the blocks of a stack in their forward pass. Those of the pass that memory ran out
 * in were all let go of by the exception: they are what those before them were, in the layers
 * before and in earlier passes. */
#include "analysis/roles/impl.h"

enum { WENT = 1, STAYED = 2, BITS = 2 };

/* Chosen by hand: what has been there so many times as long as the longest-lived of those that went
 * is none of them; one line may make what goes and what is kept, in one size. */
enum { TIMES = 2, AT_LEAST = 24 };
#define LIVES (UINT64_C(1) << 63)

static uint64_t key_of(mt_stack_id stack, uint64_t size)
{
    return (uint64_t)stack << 40 ^ (size + 511) / 512;
}

/* What is noted of a stack alone: with the region, + 1, of its first block. */
static int note(struct mt_rwork *k, uint64_t key, uint32_t what, uint32_t region)
{
    uint32_t old = 0;
    bool had = mt_addrmap_get(&k->fared, key, &old);
    if (!had)
        old = (region + 1) << BITS;
    return (had && (old & what) != 0) || mt_addrmap_put(&k->fared, key, old | what, &had, &old);
}

int mt_fared_note(struct mt_rwork *k, const struct mt_event *e, bool went, uint32_t age,
                  uint32_t region)
{
    uint32_t what = went ? WENT : STAYED, life = 0;
    uint64_t key = key_of(e->stack, e->size);
    bool had;
    if (e->stack == 0)
        return 1;
    if (went && age != 0) {
        had = mt_addrmap_get(&k->fared, key | LIVES, &life);
        if ((!had || age > life) && !mt_addrmap_put(&k->fared, key | LIVES, age, &had, &life))
            return 0;
    }
    return note(k, key, what, region) && note(k, key_of(e->stack, 0), what, region);
}

/* Of its stack and size; where there were none, of its stack in an earlier region: batches differ.
 * In one pass blocks of other sizes are of other use. */
bool mt_fared_went(const struct mt_rwork *k, const struct mt_event *e, uint32_t age,
                   uint32_t region)
{
    uint64_t key = key_of(e->stack, e->size);
    uint32_t what = 0, life;
    if (e->stack == 0)
        return false;
    if (mt_addrmap_get(&k->fared, key, &what))
        return (what & (WENT | STAYED)) == WENT &&
               (!mt_addrmap_get(&k->fared, key | LIVES, &life) || age <= AT_LEAST ||
                age / TIMES <= life);
    return mt_addrmap_get(&k->fared, key_of(e->stack, 0), &what) && what >> BITS <= region &&
           (what & (WENT | STAYED)) == WENT;
}

uint32_t mt_last_alloc(const struct mt_rwork *k, uint64_t last, uint32_t first)
{
    while (last > first && mt_event_at(k->r->d, last)->action != MT_ACT_ALLOC)
        last--;
    return (uint32_t)last;
}
