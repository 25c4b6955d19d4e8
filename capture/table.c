/* table.c -- u64 -> two u64. Linear probing, deletion by moving the run back, so that no table
 * fills with graves. */
#include "capture/parts.h"
#include "parser/base/secret.h"

#include <string.h>

#define TABLE_MAX (1u << 23) /* 32 bytes each: a table of a hostile input ends here */

static uint32_t home(const struct mt_table *t, uint64_t key)
{
    return mt_hash_one(key) & (t->cap - 1);
}

struct mt_cell *mt_table_find(const struct mt_table *t, uint64_t key)
{
    if (t->cap == 0)
        return NULL;
    for (uint32_t i = home(t, key); t->cell[i].used; i = (i + 1) & (t->cap - 1))
        if (t->cell[i].key == key)
            return &t->cell[i];
    return NULL;
}

static bool grow(struct mt_table *t)
{
    struct mt_table big = {.cap = t->cap != 0 ? t->cap * 2 : 64};
    if (big.cap > TABLE_MAX)
        return false;
    big.cell = mt_calloc(big.cap, sizeof *big.cell);
    if (big.cell == NULL)
        return false;
    for (uint32_t i = 0; i < t->cap; i++) {
        uint32_t j;
        if (!t->cell[i].used)
            continue;
        for (j = home(&big, t->cell[i].key); big.cell[j].used; j = (j + 1) & (big.cap - 1)) {
        }
        big.cell[j] = t->cell[i];
    }
    big.n = t->n;
    mt_free(t->cell);
    *t = big;
    return true;
}

struct mt_cell *mt_table_put(struct mt_table *t, uint64_t key)
{
    struct mt_cell *c = mt_table_find(t, key);
    uint32_t i;
    if (c != NULL)
        return c;
    if ((uint64_t)(t->n + 1) * 4 > (uint64_t)t->cap * 3 && !grow(t))
        return NULL;
    for (i = home(t, key); t->cell[i].used; i = (i + 1) & (t->cap - 1)) {
    }
    t->cell[i] = (struct mt_cell){.key = key, .used = true};
    t->n++;
    return &t->cell[i];
}

void mt_table_drop(struct mt_table *t, uint64_t key)
{
    struct mt_cell *c = mt_table_find(t, key);
    uint32_t hole, i;
    if (c == NULL)
        return;
    hole = (uint32_t)(c - t->cell);
    for (i = (hole + 1) & (t->cap - 1); t->cell[i].used; i = (i + 1) & (t->cap - 1)) {
        uint32_t want = home(t, t->cell[i].key);
        /* a cell may move back to the hole unless its home lies behind the hole */
        if (((i - want) & (t->cap - 1)) >= ((i - hole) & (t->cap - 1))) {
            t->cell[hole] = t->cell[i];
            hole = i;
        }
    }
    t->cell[hole].used = false;
    t->n--;
}

void mt_table_done(struct mt_table *t)
{
    mt_free(t->cell);
    memset(t, 0, sizeof *t);
}
