/* What became of the blocks of a stack in their forward pass. Those of the pass that memory ran out
 * in were all let go of by the exception: they are what those before them were, in the layers
 * before and in earlier passes. */
#include "analysis/roles/impl.h"

enum { WENT = 1, STAYED = 2 };

static uint64_t key_of(mt_stack_id stack, uint64_t size)
{
    return (uint64_t)stack << 40 ^ (size + 511) / 512;
}

int mt_fared_note(struct mt_rwork *k, const struct mt_event *e, bool went)
{
    const uint64_t keys[] = {key_of(e->stack, e->size), key_of(e->stack, 0)};
    uint32_t what = went ? WENT : STAYED;
    for (unsigned i = 0; i < 2 && e->stack != 0; i++) {
        uint32_t old = 0;
        bool had;
        (void)mt_addrmap_get(&k->fared, keys[i], &old);
        if ((old & what) == 0 && !mt_addrmap_put(&k->fared, keys[i], old | what, &had, &old))
            return 0;
    }
    return 1;
}

/* Of its stack and size; where there were none, of its stack: batches differ. */
bool mt_fared_went(const struct mt_rwork *k, const struct mt_event *e)
{
    uint32_t what = 0;
    if (e->stack != 0 && !mt_addrmap_get(&k->fared, key_of(e->stack, e->size), &what))
        (void)mt_addrmap_get(&k->fared, key_of(e->stack, 0), &what);
    return what == WENT;
}

uint32_t mt_last_alloc(const struct mt_rwork *k, uint64_t last, uint32_t first)
{
    while (last > first && mt_event_at(k->r->d, last)->action != MT_ACT_ALLOC)
        last--;
    return (uint32_t)last;
}
