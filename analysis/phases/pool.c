#include "analysis/phases/pool.h"

#include "parser/base/mem.h"
#include "parser/base/secret.h"

#include <string.h>

static int pool_grow(struct mt_pool *p)
{
    uint32_t n = p->n_slots != 0 ? p->n_slots * 2 : 256;
    uint32_t *slot = mt_calloc(n, sizeof *slot);
    if (slot == NULL)
        return 0;
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t i = (uint32_t)mt_hash_bytes(mt_pool_at(p, k), p->size) & (n - 1);
        while (slot[i] != 0)
            i = (i + 1) & (n - 1);
        slot[i] = k + 1;
    }
    mt_free(p->slot);
    p->slot = slot;
    p->n_slots = n;
    return 1;
}

int mt_pool_add(struct mt_pool *p, const void *item, uint32_t *index)
{
    uint32_t i;
    if (p->n * 2 >= p->n_slots && !pool_grow(p))
        return 0;
    i = (uint32_t)mt_hash_bytes(item, p->size) & (p->n_slots - 1);
    for (; p->slot[i] != 0; i = (i + 1) & (p->n_slots - 1)) {
        if (memcmp(mt_pool_at(p, p->slot[i] - 1), item, p->size) == 0) {
            *index = p->slot[i] - 1;
            return 1;
        }
    }
    if (mt_vec_push(&p->item, &p->n, &p->cap, p->size) == NULL)
        return 0;
    *index = p->n - 1;
    memcpy(mt_pool_at(p, *index), item, p->size);
    p->slot[i] = p->n;
    return 1;
}

void mt_pool_done(struct mt_pool *p)
{
    mt_free(p->item);
    mt_free(p->slot);
}
