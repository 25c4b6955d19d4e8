/* advice/order.c -- which cards come first. */
#include "analysis/advice/weigh.h"

#include <string.h>

/* ---- order ---- */

static bool has_saving(const struct mt_advice *a)
{
    return a->saving.known && a->rule->kind == MT_FIX_SETTING;
}

/* Free of cost: a card says "none" of it. */
static bool is_free(const struct mt_advice *a) { return strcmp(a->card->cost, "none") == 0; }

/* Enough alone, as far as is known: where more may come, what frees most is better. What is the
 * cause itself needs to be enough by its estimate only, as in mt_advice_smallest(). */
static bool is_enough(const struct mt_advice *a)
{
    return a->fits_known && (a->lacking == 0 || a->is_narrow || (a->made_it && a->is_probable)) &&
           !a->left_open;
}

/* What made the request, or is the cause, comes first, then what is enough alone: there the gentler
 * and the surer one, and of those what the order of the phase names. What is not enough goes by its
 * bytes. */
static int before(const struct mt_advice *a, const struct mt_advice *b)
{
    bool enough_a = is_enough(a), enough_b = is_enough(b);
    if (a->made_it != b->made_it)
        return a->made_it ? -1 : 1;
    if (enough_a != enough_b)
        return enough_a ? -1 : 1;
    if (!enough_a)
        return 0;
    if (is_free(a) != is_free(b))
        return is_free(a) ? -1 : 1;
    if (a->saving.conf != b->saving.conf)
        return a->saving.conf < b->saving.conf ? -1 : 1;
    return a->in_row == b->in_row ? 0 : a->in_row ? -1 : 1;
}

/* The next of list[i..n): of equals those within a quarter of the largest saving, and of these the
 * one that stands first. UINT32_MAX = none has a saving. */
static uint32_t next_best(const struct mt_advice *list, uint32_t i, uint32_t n)
{
    uint32_t best = UINT32_MAX;
    uint64_t most = 0;
    for (uint32_t k = i; k < n; k++)
        if (has_saving(&list[k]) && (best == UINT32_MAX || before(&list[k], &list[best]) < 0))
            best = k;
    for (uint32_t k = i; k < n && best != UINT32_MAX; k++)
        if (has_saving(&list[k]) && before(&list[k], &list[best]) == 0 &&
            list[k].saving.bytes > most)
            most = list[k].saving.bytes;
    for (uint32_t k = i; k < n && best != UINT32_MAX; k++)
        if (has_saving(&list[k]) && before(&list[k], &list[best]) == 0 &&
            list[k].saving.bytes >= most - most / 4)
            return k;
    return best;
}

void mt_advice_rank(struct mt_advice *list, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < n; i++) {
        uint32_t pick = has_saving(&list[i]) ? next_best(list, i, n) : UINT32_MAX;
        struct mt_advice best;
        if (pick == UINT32_MAX)
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

void mt_advice_move_up(struct mt_advice *list, uint32_t i, uint32_t at)
{
    struct mt_advice moved = list[i];
    for (; i > at; i--)
        list[i] = list[i - 1];
    list[at] = moved;
}

void mt_advice_pieces_last(struct mt_advice *list, uint32_t n)
{
    uint32_t at = 0;
    while (at < n && (list[at].rule->phases >> MT_FIX_FRAGMENTATION & 1) == 0)
        at++;
    for (uint32_t i = at + 1; i < n; i++) {
        const struct mt_advice *made = &list[i];
        if (made->made_it && !made->saving.known && made->rule->kind == MT_FIX_SETTING)
            mt_advice_move_up(list, i, at++);
    }
}

bool mt_advice_has_group(const struct mt_advice *list, const struct mt_advice *a, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k].is_top && a->rule->group[0] != 0 &&
            strcmp(a->rule->group, list[k].rule->group) == 0)
            return true;
    }
    return false;
}

void mt_advice_fill_top(struct mt_advice *list, uint32_t n)
{
    uint32_t n_top = 0;
    for (uint32_t i = 0; i < n; i++)
        n_top += list[i].is_top;
    for (uint32_t i = 0; i < n && n_top < MT_ADVICE_TOP; i++) {
        if (list[i].is_top || !list[i].in_row || list[i].is_filler ||
            list[i].rule->kind != MT_FIX_SETTING)
            continue;
        list[i].is_top = true;
        n_top++;
    }
}

uint32_t mt_advice_made_first(struct mt_advice *list, uint32_t first, uint32_t n)
{
    uint32_t n_top = 0;
    for (uint32_t i = first; i < n; i++) {
        if (!list[i].made_it || list[i].rule->kind != MT_FIX_SETTING)
            continue;
        list[i].is_top = true;
        mt_advice_move_up(list, i, first++);
    }
    for (uint32_t i = 0; i < n; i++)
        if (list[i].is_top && ++n_top > MT_ADVICE_TOP)
            list[i].is_top = false;
    return n_top < MT_ADVICE_TOP ? n_top : MT_ADVICE_TOP;
}

void mt_advice_late_last(struct mt_advice *list, uint32_t first, uint32_t n)
{
    bool was_top = false;
    for (uint32_t i = first, end = n; i < end;) {
        struct mt_advice late = list[i];
        if (!late.is_late) {
            i++;
            continue;
        }
        was_top = was_top || late.is_top;
        late.is_top = false;
        for (uint32_t k = i; k + 1 < n; k++)
            list[k] = list[k + 1];
        list[n - 1] = late;
        end--;
    }
    if (was_top)
        mt_advice_fill_top(list, n);
}

/* Of what has a formula but not the numbers for it one is named; the rest gives way to what was
 * computed. */
void mt_advice_mark_top(struct mt_advice *list, uint32_t n)
{
    uint32_t n_top = 0, n_lacking = 0;
    for (uint32_t i = 0; i < n; i++)
        list[i].is_top = false;
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < n && n_top < MT_ADVICE_TOP; i++) {
            bool lacks = !list[i].saving.known && list[i].card->saving != NULL;
            if (list[i].is_top || list[i].rule->kind != MT_FIX_SETTING ||
                (!list[i].in_row && !list[i].saving.known && !list[i].made_it) ||
                (turn == 0 && lacks && n_lacking > 0) || mt_advice_has_group(list, &list[i], n))
                continue;
            list[i].is_top = true;
            n_top++;
            n_lacking += lacks;
        }
    }
}
