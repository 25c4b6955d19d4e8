#include "parser/input/budget.h"

#include <limits.h>
#include <time.h>

static int64_t now(void)
{
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void mt_budget_start(struct mt_budget *b)
{
    b->started = now();
    atomic_store(&b->n_files, 0);
}

bool mt_budget_file(struct mt_budget *b, const struct mt_limits *lim)
{
    /* what was taken beyond the limit is given back: the number must not run around */
    if (atomic_fetch_add(&b->n_files, 1) < lim->max_members)
        return true;
    atomic_fetch_sub(&b->n_files, 1);
    return false;
}

int mt_budget_ms(const struct mt_budget *b, const struct mt_limits *lim)
{
    int64_t left;
    if (lim->max_time == 0)
        return -1;
    left = b->started + (int64_t)lim->max_time * 1000 - now();
    return left <= 0 ? 0 : left < INT_MAX ? (int)left : INT_MAX;
}
