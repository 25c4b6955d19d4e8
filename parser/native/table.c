/* native/table.c -- the hash tables of the trace reader. */
#include "parser/base/secret.h"
#include "parser/native/impl.h"

#include <string.h>

static uint32_t place(const struct mt_idmap *m, uint64_t key)
{
    uint32_t i = mt_hash_one(key) & (m->cap - 1);
    while (m->key[i] != 0 && m->key[i] != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

uint32_t mt_idmap_get(const struct mt_idmap *m, uint64_t key)
{
    uint32_t i;
    if (m->cap == 0 || key == 0)
        return MT_NONE32;
    i = place(m, key);
    return m->key[i] == key ? m->val[i] : MT_NONE32;
}

static int grow(struct mt_idmap *m)
{
    struct mt_idmap next = {NULL, NULL, m->n, m->cap != 0 ? m->cap * 2 : 256};
    if (m->cap > UINT32_MAX / 4)
        return 0;
    next.key = mt_calloc(next.cap, sizeof *next.key);
    next.val = mt_malloc(next.cap * sizeof *next.val);
    if (next.key == NULL || next.val == NULL) {
        mt_idmap_done(&next);
        return 0;
    }
    for (uint32_t i = 0; i < m->cap; i++) {
        if (m->key[i] != 0) {
            uint32_t k = place(&next, m->key[i]);
            next.key[k] = m->key[i];
            next.val[k] = m->val[i];
        }
    }
    mt_idmap_done(m);
    *m = next;
    return 1;
}

int mt_idmap_put(struct mt_idmap *m, uint64_t key, uint32_t val)
{
    uint32_t i;
    if (key == 0)
        return 1;
    if ((uint64_t)(m->n + 1) * 3 > (uint64_t)m->cap * 2 && !grow(m))
        return 0;
    i = place(m, key);
    if (m->key[i] == key)
        return 1;
    m->key[i] = key;
    m->val[i] = val;
    m->n++;
    return 1;
}

void mt_idmap_done(struct mt_idmap *m)
{
    mt_free(m->key);
    mt_free(m->val);
    memset(m, 0, sizeof *m);
}

static uint32_t seen_hash(const struct mt_seen_chunk *c)
{
    return mt_hash_pair(mt_hash_pair(c->uid, c->seq), c->realtime ^ c->kind);
}

static bool same_chunk(const struct mt_seen_chunk *a, const struct mt_seen_chunk *b)
{
    return a->uid == b->uid && a->seq == b->seq && a->realtime == b->realtime && a->kind == b->kind;
}

static uint32_t seen_place(const struct mt_seen_table *s, const struct mt_seen_chunk *c)
{
    uint32_t i = seen_hash(c) & (s->n_slots - 1);
    while (s->slot[i] != 0 && !same_chunk(&s->list.p[s->slot[i] - 1], c))
        i = (i + 1) & (s->n_slots - 1);
    return i;
}

struct mt_seen_chunk *mt_seen_chunk(struct mt_seen_table *s, const struct mt_seen_chunk *key)
{
    struct mt_seen_chunk *c;
    uint32_t i;
    if ((uint64_t)(s->list.n + 1) * 3 > (uint64_t)s->n_slots * 2) {
        struct mt_seen_table next = *s;
        next.n_slots = s->n_slots != 0 ? s->n_slots * 2 : 256;
        if (s->n_slots > UINT32_MAX / 4 ||
            (next.slot = mt_calloc(next.n_slots, sizeof *next.slot)) == NULL)
            return NULL;
        for (uint32_t k = 0; k < s->list.n; k++)
            next.slot[seen_place(&next, &s->list.p[k])] = k + 1;
        mt_free(s->slot);
        *s = next;
    }
    i = seen_place(s, key);
    if (s->slot[i] != 0)
        return &s->list.p[s->slot[i] - 1];
    c = MT_VEC_PUSH(&s->list);
    if (c == NULL)
        return NULL;
    *c = *key;
    c->used = 0;
    s->slot[i] = s->list.n;
    return c;
}

void mt_seen_done(struct mt_seen_table *s)
{
    MT_VEC_DONE(&s->list);
    mt_free(s->slot);
    memset(s, 0, sizeof *s);
}
