/* replay/live.c -- the blocks that are live at a moment. */
#include "analysis/replay/replay.h"

static int push_live(struct mt_live_set *s, const struct mt_live *l)
{
    struct mt_live *to = mt_vec_push((void **)&s->p, &s->n, &s->cap, sizeof *s->p);
    if (to == NULL)
        return 0;
    *to = *l;
    return 1;
}

/* In the order of birth: a table's own order is that of its secret. */
static int push_births(const struct mt_replay *r, const struct mt_addrmap *map,
                       struct mt_live_set *out)
{
    uint64_t n_words = r->d->events.n / 64 + 1, *born;
    int rc = 0;
    if (map->n == 0)
        return 1;
    if ((born = mt_calloc(n_words, sizeof *born)) == NULL)
        return 0;
    for (uint32_t i = 0; i < map->n_slots; i++)
        if (map->slot[i].value != 0)
            born[(map->slot[i].value - 1) / 64] |= UINT64_C(1) << (map->slot[i].value - 1) % 64;
    for (uint64_t w = 0; w < n_words; w++)
        for (uint64_t bits = born[w]; bits != 0; bits &= bits - 1) {
            uint64_t birth = w * 64 + (unsigned)__builtin_ctzll(bits);
            const struct mt_event *e = mt_event_at(r->d, birth);
            struct mt_live l = {e->addr,        e->size,          birth, 0, e->stack,
                                r->attr[birth], MT_BIRTH_IN_TRACE};
            if (!push_live(out, &l))
                goto out;
        }
    rc = 1;
out:
    mt_free(born);
    return rc;
}

int mt_replay_live_at(struct mt_replay *r, struct mt_phaser *ph, int64_t at,
                      struct mt_live_set *out)
{
    struct mt_addrmap map = {NULL, 0, 0};
    struct mt_live l;
    uint64_t from = 0;
    uint32_t birth;
    bool had;
    int rc = 0;
    if (r->near.n_slots != 0 && at >= 0 && r->near_at <= (uint64_t)at + 1) {
        if (!mt_addrmap_copy(&map, &r->near))
            goto out;
        from = r->near_at;
    }
    for (uint64_t i = from; at >= 0 && i <= (uint64_t)at && i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action == MT_ACT_ALLOC) {
            if (!mt_addrmap_put(&map, e->addr, (uint32_t)i, &had, &birth))
                goto out;
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            (void)mt_addrmap_take(&map, e->addr, &birth);
        }
    }
    if (!push_births(r, &map, out))
        goto out;
    for (uint32_t i = 0; i < r->old.n; i++) {
        const struct mt_old *b = &r->old.p[i];
        if (b->gone_at != UINT64_MAX && at >= 0 && b->gone_at <= (uint64_t)at)
            continue;
        l = (struct mt_live){b->addr,
                             b->size,
                             UINT64_MAX,
                             b->block_size,
                             b->stack,
                             mt_phaser_stack(ph, b->stack),
                             b->gone_at == UINT64_MAX ? MT_BIRTH_GHOST : MT_BIRTH_BEFORE_TRACE};
        if (!push_live(out, &l))
            goto out;
    }
    rc = 1;
out:
    mt_addrmap_done(&map);
    return rc;
}

int mt_replay_live_end(struct mt_replay *r, struct mt_phaser *ph, struct mt_live_set *out)
{
    const struct mt_trace *t = r->t;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (!mt_segment_is_on(s, r->d->ordinal, r->d->kind))
            continue;
        for (uint32_t k = s->first_block; k < s->first_block + s->n_blocks; k++) {
            const struct mt_block *b = &t->blocks.p[k];
            struct mt_live l = {b->addr,       b->requested, UINT64_MAX,
                                b->size,       b->stack,     mt_phaser_stack(ph, b->stack),
                                MT_BIRTH_GHOST};
            if (b->state != MT_BLOCK_INACTIVE && !push_live(out, &l))
                return 0;
        }
    }
    return 1;
}
