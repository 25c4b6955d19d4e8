/* Bytes by role at the highest instant of each column of a timeline. */
#include "analysis/roles/impl.h"

#include <string.h>

int mt_columns_begin(struct mt_role_columns *c, struct mt_timeline *tl)
{
    *c = (struct mt_role_columns){.tl = tl};
    if (tl->n_columns == 0)
        return 1;
    tl->live = mt_calloc((size_t)tl->n_columns * MT_ROLE_COUNT, sizeof *tl->live);
    return tl->live != NULL;
}

void mt_columns_note(struct mt_role_columns *c, uint32_t event, const int64_t roles[])
{
    struct mt_timeline *tl = c->tl;
    for (; mt_columns_mark(c) <= event && c->next < tl->n_columns; c->next++)
        for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
            tl->live[(size_t)c->next * MT_ROLE_COUNT + r] = roles[r] > 0 ? (uint64_t)roles[r] : 0;
}

/* Of a thousand ranks each keeps its own: no room is left for roles that none of them has. */
void mt_columns_end(struct mt_role_columns *c)
{
    struct mt_timeline *tl = c->tl;
    uint64_t *fits, *to = tl->live;
    bool held[MT_ROLE_COUNT] = {false};
    for (size_t i = 0; i < (size_t)tl->n_columns * MT_ROLE_COUNT; i++)
        held[i % MT_ROLE_COUNT] = held[i % MT_ROLE_COUNT] || tl->live[i] != 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        if (held[r])
            tl->role[tl->n_roles++] = (uint8_t)r;
    for (uint32_t k = 0; k < tl->n_columns; k++)
        for (unsigned g = 0; g < tl->n_roles; g++)
            *to++ = tl->live[(size_t)k * MT_ROLE_COUNT + tl->role[g]];
    if (tl->n_roles == 0)
        return;
    fits = mt_realloc(tl->live, (size_t)tl->n_columns * tl->n_roles * sizeof *tl->live);
    if (fits != NULL)
        tl->live = fits;
}
