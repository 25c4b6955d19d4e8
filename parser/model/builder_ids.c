/* model/builder_ids.c -- ids of strings, frames, stacks and pairs, and what all of the builder
 * stands on. */
#include "parser/base/secret.h"
#include "parser/model/builder_impl.h"

int mt_b_nomem(struct mt_builder *b)
{
    mt_fail(&b->err, MT_ENOMEM,
            "out of memory after %llu MiB (a limit can be raised with --max-memory)",
            (unsigned long long)(mt_mem_used() >> 20));
    return 0;
}

int mt_build_str(struct mt_builder *b, const void *s, size_t n, mt_str_id *id)
{
    *id = mt_strpool_add(&b->t->str, s, n);
    return *id != MT_STR_FAIL || mt_b_nomem(b);
}

int mt_build_frame(struct mt_builder *b, mt_str_id name, mt_str_id file, uint32_t line,
                   mt_frame_id *id)
{
    return mt_intern_frame(&b->intern, name, file, line, id) || mt_b_nomem(b);
}

int mt_build_stack(struct mt_builder *b, const mt_frame_id *ids, uint32_t n, mt_stack_id *id)
{
    return mt_intern_stack(&b->intern, ids, n, id) || mt_b_nomem(b);
}

int mt_build_pair(struct mt_builder *b, uint64_t p0, uint64_t p1, uint32_t *id)
{
    struct mt_pair *p;
    uint32_t at;
    if (b->last_pair < b->pairs.n && b->pairs.p[b->last_pair].v[0] == p0 &&
        b->pairs.p[b->last_pair].v[1] == p1) {
        *id = b->last_pair;
        return 1;
    }
    at = mt_hash_pair(p0, p1) & (MT_PAIR_SLOTS - 1);
    for (; b->pair_slot[at] != 0; at = (at + 1) & (MT_PAIR_SLOTS - 1)) {
        p = &b->pairs.p[b->pair_slot[at] - 1];
        if (p->v[0] == p0 && p->v[1] == p1) {
            *id = b->last_pair = b->pair_slot[at] - 1u;
            return 1;
        }
    }
    /* no process has so many pools: read the rest as the first and say so */
    if (b->pairs.n >= MT_MAX_PAIRS) {
        b->n_lost_pools++;
        *id = 0;
        return 1;
    }
    p = MT_VEC_PUSH(&b->pairs);
    if (p == NULL)
        return mt_b_nomem(b);
    p->v[0] = p0;
    p->v[1] = p1;
    *id = b->last_pair = b->pairs.n - 1;
    b->pair_slot[at] = (uint16_t)b->pairs.n;
    return 1;
}

int mt_b_count(struct mt_builder *b, struct mt_counted **p, uint32_t *n, uint32_t *cap,
               mt_str_id name)
{
    struct mt_counted *c;
    for (uint32_t i = 0; i < *n; i++) {
        if ((*p)[i].name == name) {
            (*p)[i].n++;
            return 1;
        }
    }
    if (*n >= 64)
        return 1;
    c = mt_vec_push((void **)p, n, cap, sizeof **p);
    if (c == NULL)
        return mt_b_nomem(b);
    c->name = name;
    c->n = 1;
    return 1;
}
