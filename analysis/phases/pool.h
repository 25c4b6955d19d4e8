/* phases/pool.h -- the small table that keeps equal things once. Inside the phase engine only. */
#ifndef MT_PHASES_POOL_H
#define MT_PHASES_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Interned structs of one size, compared as bytes: they may have no padding. Zeroed but for `size`
 * = empty. */
struct mt_pool {
    size_t size;
    void *item;
    uint32_t n, cap;
    uint32_t *slot; /* index + 1 */
    uint32_t n_slots;
};

static inline void *mt_pool_at(const struct mt_pool *p, uint32_t i)
{
    return (unsigned char *)p->item + (size_t)i * p->size;
}
int mt_pool_add(struct mt_pool *p, const void *item, uint32_t *index); /* 1, or 0 = out of memory */
void mt_pool_done(struct mt_pool *p);

#endif
