/* The pools of segments whose events do not name theirs: what is still there at the end has it in
 * the end state. */
#include "render/pack/impl.h"

static void find_ends(struct mt_pack_pools *p, const struct mt_device *d, uint64_t n)
{
    uint32_t old;
    bool had;
    p->made = true;
    for (uint64_t i = 0; i < n && !p->failed; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        if (e->action == MT_ACT_SEGMENT_UNMAP)
            p->unmaps = true;
        else if (e->action == MT_ACT_SEGMENT_FREE)
            p->failed = !mt_addrmap_put(&p->freed, e->addr, (uint32_t)i, &had, &old);
    }
}

const struct mt_segment *mt_pools_last(struct mt_pack_pools *p, const struct mt_replay *r,
                                       uint64_t i)
{
    const struct mt_event *e = mt_event_at(r->d, i);
    bool maps = e->action == MT_ACT_SEGMENT_MAP;
    const struct mt_segment *s = mt_state_last_segment(r, e->addr);
    uint32_t end;
    if (s == NULL || s->pool_known == 0 || (s->is_expandable != 0) != maps ||
        s->stream != r->t->lanes.p[e->lane].stream)
        return NULL;
    if (!p->made)
        find_ends(p, r->d, r->n_segment_events);
    /* Mappings may end in parts: where any does, which one is left is not searched for, and all
     * keep the same lane. */
    if (p->failed || (maps ? p->unmaps : mt_addrmap_get(&p->freed, e->addr, &end) && end > i))
        return NULL;
    return s;
}

void mt_pools_done(struct mt_pack_pools *p) { mt_addrmap_done(&p->freed); }
