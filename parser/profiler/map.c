/* profiler/map.c -- a table of open addresses. */
#include "parser/base/secret.h"
#include "parser/profiler/feed.h"

static uint32_t slot_of(const struct mt_pf_map *m, uint64_t key)
{
    uint32_t at = mt_hash_one(key) & (m->cap - 1);
    while (m->p[at].value != 0 && m->p[at].key != key)
        at = (at + 1) & (m->cap - 1);
    return at;
}

/* The value is kept plus 1, and so it is handed out: an index + 1. */
uint32_t *mt_pf_map_get(const struct mt_pf_map *m, uint64_t key)
{
    uint32_t at;
    if (m->n == 0)
        return NULL;
    at = slot_of(m, key);
    return m->p[at].value != 0 ? &m->p[at].value : NULL;
}

static int grow(struct mt_pf_map *m)
{
    struct mt_pf_map to = {NULL, m->n, m->cap != 0 ? m->cap * 2 : 256};
    if ((to.p = mt_calloc(to.cap, sizeof *to.p)) == NULL)
        return 0;
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->p[i].value != 0)
            to.p[slot_of(&to, m->p[i].key)] = m->p[i];
    mt_free(m->p);
    *m = to;
    return 1;
}

uint32_t *mt_pf_map_slot(struct mt_pf_map *m, uint64_t key)
{
    uint32_t at;
    if ((m->n + 1) * 2 > m->cap && !grow(m))
        return NULL;
    at = slot_of(m, key);
    m->n += m->p[at].value == 0;
    m->p[at].key = key;
    return &m->p[at].value;
}

int mt_pf_map_put(struct mt_pf_map *m, uint64_t key, uint32_t value)
{
    uint32_t *slot = mt_pf_map_slot(m, key);
    if (slot == NULL)
        return 0;
    *slot = value;
    return 1;
}

uint32_t mt_pf_map_take(struct mt_pf_map *m, uint64_t key)
{
    uint32_t hole, value, mask = m->cap - 1;
    if (m->n == 0 || (value = m->p[hole = slot_of(m, key)].value) == 0)
        return 0;
    m->n--;
    /* moves back what would not be found across the hole */
    for (uint32_t i = (hole + 1) & mask; m->p[i].value != 0; i = (i + 1) & mask) {
        uint32_t home = mt_hash_one(m->p[i].key) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->p[hole] = m->p[i];
            hole = i;
        }
    }
    m->p[hole].value = 0;
    return value;
}
