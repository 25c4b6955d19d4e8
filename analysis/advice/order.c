/* advice/order.c -- which cards come first. */
#include "analysis/advice/weigh.h"

#include <string.h>

#define N_TOP 3

/* ---- order ---- */

static bool has_saving(const struct mt_advice *a)
{
    return a->saving.known && a->rule->kind == MT_FIX_SETTING;
}

void mt_advice_rank(struct mt_advice *list, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < n; i++) {
        uint64_t most = 0;
        uint32_t pick = i;
        struct mt_advice best;
        if (!has_saving(&list[i]))
            continue;
        for (uint32_t k = i; k < n; k++) {
            if (has_saving(&list[k]) && list[k].saving.bytes > most)
                most = list[k].saving.bytes;
        }
        /* Of those within a tenth of the largest the one that stands first. */
        while (pick < n && (!has_saving(&list[pick]) || list[pick].saving.bytes < most - most / 10))
            pick++;
        if (pick >= n)
            continue;
        /* Moves through the places of those with a saving only. */
        best = list[pick];
        for (uint32_t k = pick; k > i;) {
            uint32_t to = k--;
            while (k > i && !has_saving(&list[k]))
                k--;
            list[to] = list[k];
        }
        list[i] = best;
    }
}

static bool is_one_of(const struct mt_advice *list, const struct mt_advice *a, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k].is_top && a->rule->group[0] != 0 &&
            strcmp(a->rule->group, list[k].rule->group) == 0)
            return true;
    }
    return false;
}

/* Of what has a formula but not the numbers for it one is named; the rest gives way to what was
 * computed. */
void mt_advice_mark_top(struct mt_advice *list, uint32_t n)
{
    uint32_t n_top = 0, n_lacking = 0;
    for (uint32_t i = 0; i < n; i++)
        list[i].is_top = false;
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < n && n_top < N_TOP; i++) {
            bool lacks = !list[i].saving.known && list[i].card->saving != NULL;
            if (list[i].is_top || list[i].rule->kind != MT_FIX_SETTING ||
                (!list[i].in_row && !list[i].saving.known) ||
                (turn == 0 && lacks && n_lacking > 0) || is_one_of(list, &list[i], n))
                continue;
            list[i].is_top = true;
            n_top++;
            n_lacking += lacks;
        }
    }
}
