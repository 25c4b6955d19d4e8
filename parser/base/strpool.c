#include "parser/base/strpool.h"

#include "parser/base/secret.h"

#include <string.h>

int mt_strpool_init(struct mt_strpool *p)
{
    memset(p, 0, sizeof *p);
    p->n_slots = 1024;
    p->slot = mt_calloc(p->n_slots, sizeof *p->slot);
    return p->slot != NULL && mt_strpool_add(p, "", 0) == 0;
}

void mt_strpool_done(struct mt_strpool *p)
{
    mt_arena_done(&p->arena);
    MT_VEC_DONE(&p->ref);
    mt_free(p->slot);
    memset(p, 0, sizeof *p);
}

static uint32_t probe(const struct mt_strpool *p, const void *s, size_t n, uint32_t h)
{
    uint32_t mask = p->n_slots - 1, i = h & mask;
    while (p->slot[i] != 0) {
        const struct mt_strref *r = &p->ref.p[p->slot[i] - 1];
        if (r->hash == h && r->len == n && memcmp(r->p, s, n) == 0)
            break;
        i = (i + 1) & mask;
    }
    return i;
}

mt_str_id mt_strpool_find(const struct mt_strpool *p, const void *s, size_t n)
{
    uint32_t i = p->slot[probe(p, s, n, (uint32_t)mt_hash_bytes(s, n))];
    return i ? i - 1 : MT_STR_FAIL;
}

static int grow(struct mt_strpool *p)
{
    uint32_t n = p->n_slots * 2;
    uint32_t *slot = mt_calloc(n, sizeof *slot);
    if (slot == NULL)
        return 0;
    for (uint32_t id = 0; id < p->ref.n; id++) {
        uint32_t i = p->ref.p[id].hash & (n - 1);
        while (slot[i] != 0)
            i = (i + 1) & (n - 1);
        slot[i] = id + 1;
    }
    mt_free(p->slot);
    p->slot = slot;
    p->n_slots = n;
    return 1;
}

mt_str_id mt_strpool_add(struct mt_strpool *p, const void *s, size_t n)
{
    uint32_t h = (uint32_t)mt_hash_bytes(s, n), i;
    struct mt_strref *r;
    if (n >= UINT32_MAX)
        return MT_STR_FAIL;
    i = probe(p, s, n, h);
    if (p->slot[i] != 0)
        return p->slot[i] - 1;
    if (p->ref.n >= UINT32_MAX - 2)
        return MT_STR_FAIL;
    if ((uint64_t)(p->ref.n + 1) * 3 > (uint64_t)p->n_slots * 2) {
        if (!grow(p))
            return MT_STR_FAIL;
        i = probe(p, s, n, h);
    }
    r = MT_VEC_PUSH(&p->ref);
    if (r == NULL)
        return MT_STR_FAIL;
    r->p = mt_arena_strndup(&p->arena, s, n);
    if (r->p == NULL) {
        p->ref.n--;
        return MT_STR_FAIL;
    }
    r->len = (uint32_t)n;
    r->hash = h;
    p->slot[i] = p->ref.n;
    return p->ref.n - 1;
}
