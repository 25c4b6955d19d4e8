/* fleet/sort.c -- rows in the order of numbers that they have. */
#include "analysis/fleet/fleet.h"

#include <stdlib.h>

static int by_key(const void *p, const void *q)
{
    const struct mt_fleet_keyed *x = p, *y = q;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void mt_fleet_sort(struct mt_fleet_keyed *k, uint32_t n)
{
    if (n > 1)
        qsort(k, n, sizeof *k, by_key);
}
