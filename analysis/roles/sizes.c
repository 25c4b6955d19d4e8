/* What is noted of sizes while the passes go over the events. */
#include "analysis/roles/impl.h"

void mt_vocab_see(struct mt_rwork *k, uint64_t size, bool by_frame)
{
    uint32_t i = 0;
    if (size < MT_MIN_LOGITS)
        return;
    if (by_frame && size > k->logits_max)
        k->logits_max = size;
    while (i < k->n_seen && k->seen[i].size != size)
        i++;
    if (i == k->n_seen) {
        if (k->n_seen == MT_SEEN_SIZES) { /* the smallest says least */
            for (uint32_t j = i = 0; j < k->n_seen; j++)
                if (k->seen[j].size < k->seen[i].size)
                    i = j;
            if (k->seen[i].size >= size)
                return;
        } else {
            k->n_seen++;
        }
        k->seen[i] = (struct mt_seen_size){size, 0};
    }
    k->seen[i].bytes += size < UINT64_MAX - k->seen[i].bytes ? size : 0;
}

struct mt_size_use *mt_size_use(struct mt_rwork *k, uint64_t size, bool make)
{
    uint32_t at, unused, *recent = &k->recent[(size * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
    struct mt_size_use *u;
    bool had;
    if (*recent != 0 && k->sizes.p[*recent - 1].size == size)
        return &k->sizes.p[*recent - 1];
    if (*recent == 0 && !make) /* no size with this hash was ever made */
        return NULL;
    if (*recent != 0 && mt_addrmap_get(&k->size_at, size << 9, &at)) {
        *recent = at + 1;
        return &k->sizes.p[at];
    }
    if (!make || (u = MT_VEC_PUSH(&k->sizes)) == NULL)
        return NULL;
    u->size = size;
    if (!mt_addrmap_put(&k->size_at, size << 9, k->sizes.n - 1, &had, &unused))
        return NULL;
    *recent = k->sizes.n;
    return u;
}

unsigned mt_role_by_name(struct mt_rwork *k, uint64_t event, uint64_t addr)
{
    mt_str_id name = mt_name_of(&k->r->names, event, addr);
    uint32_t role, unused;
    bool had;
    if (name == 0)
        return MT_ROLE_COUNT;
    if (mt_addrmap_get(&k->named, (uint64_t)name << 9, &role))
        return role;
    role = mt_role_of_name(k->rules, mt_str(k->r->t, name), mt_str_len(k->r->t, name));
    /* without memory it is looked up each time */
    (void)mt_addrmap_put(&k->named, (uint64_t)name << 9, role, &had, &unused);
    return role;
}
