/* Segments added up by what they can serve: pool, stream, size class. */
#include "analysis/replay/replay.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_POOL_ROWS = 512 };

struct mt_pool_row *mt_pool_row_of(struct mt_pool_rows *rows, const struct mt_span *kind)
{
    struct mt_pool_row *p;
    for (uint32_t i = 0; i < rows->n; i++) {
        p = &rows->p[i];
        if (p->pool[0] == kind->pool[0] && p->pool[1] == kind->pool[1] &&
            p->stream == kind->stream && p->pool_known == kind->pool_known &&
            p->is_large == kind->large && p->is_expandable == kind->expandable)
            return p;
    }
    if (rows->n >= MAX_POOL_ROWS)
        return &rows->p[MAX_POOL_ROWS - 1];
    p = MT_VEC_PUSH(rows);
    if (p != NULL) {
        p->pool[0] = kind->pool[0];
        p->pool[1] = kind->pool[1];
        p->stream = kind->stream;
        p->pool_known = kind->pool_known;
        p->is_large = kind->large;
        p->is_expandable = kind->expandable;
    }
    return p;
}

/* Labels private pools by the phase that owns most of their bytes. The id alone does not tell:
 * torch_memory_saver has a pool per tag, which is no CUDA graph. */
static int label_pool(const struct mt_trace *t, struct mt_phaser *ph, uint32_t first, uint32_t end,
                      struct mt_pool_row *p)
{
    uint64_t bytes[MT_PH_COUNT] = {0}, all = 0;
    int best = MT_PH_UNATTRIBUTED;
    const char *words = "";
    if (p->pool_known && (p->pool[0] != 0 || p->pool[1] != 0)) {
        for (uint32_t i = first; i < end; i++) {
            const struct mt_segment *s = &t->segments.p[i];
            if (s->pool[0] != p->pool[0] || s->pool[1] != p->pool[1] || s->stream != p->stream)
                continue;
            for (uint32_t k = s->first_block; k < s->first_block + s->n_blocks; k++) {
                const struct mt_block *b = &t->blocks.p[k];
                if (b->state == MT_BLOCK_INACTIVE)
                    continue;
                all += b->size;
                bytes[mt_phaser_stack(ph, b->stack).phase] += b->size;
            }
        }
        for (int i = 0; i < MT_PH_COUNT; i++)
            if (bytes[i] > bytes[best])
                best = i;
        if (best != MT_PH_UNATTRIBUTED && bytes[best] * 2 > all)
            words = mt_phase_words((enum mt_phase)best);
    }
    p->label = mt_strndup(words, strlen(words));
    return p->label != NULL;
}

static int cmp_pool(const void *pa, const void *pb)
{
    const struct mt_pool_row *a = pa, *b = pb;
    if (a->reserved != b->reserved)
        return a->reserved > b->reserved ? -1 : 1;
    for (int i = 0; i < 2; i++)
        if (a->pool[i] != b->pool[i])
            return a->pool[i] < b->pool[i] ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->is_large != b->is_large)
        return a->is_large ? -1 : 1;
    return (int)b->is_expandable - (int)a->is_expandable;
}

/* A pool at the focus is for what it is for at the dump, where it still is there. */
static bool label_focus(struct mt_device_analysis *out)
{
    for (uint32_t i = 0; i < out->pools_at.n; i++) {
        struct mt_pool_row *p = &out->pools_at.p[i];
        const char *words = "";
        for (uint32_t k = 0; k < out->pools.n; k++)
            if (out->pools.p[k].pool[0] == p->pool[0] && out->pools.p[k].pool[1] == p->pool[1] &&
                out->pools.p[k].stream == p->stream)
                words = out->pools.p[k].label;
        p->label = mt_strndup(words, strlen(words));
        if (p->label == NULL)
            return false;
    }
    if (out->pools_at.n > 1)
        qsort(out->pools_at.p, out->pools_at.n, sizeof *out->pools_at.p, cmp_pool);
    return true;
}

int mt_pools(const struct mt_trace *t, struct mt_phaser *ph, struct mt_device_analysis *out)
{
    /* segments are sorted by device, so each device looks at its own alone */
    uint32_t first = 0, end;
    while (first < t->segments.n &&
           !mt_segment_is_on(&t->segments.p[first], out->ordinal, out->kind))
        first++;
    for (end = first;
         end < t->segments.n && mt_segment_is_on(&t->segments.p[end], out->ordinal, out->kind);
         end++) {
        const struct mt_segment *s = &t->segments.p[end];
        struct mt_span kind = {.stream = s->stream,
                               .pool = {s->pool[0], s->pool[1]},
                               .pool_known = s->pool_known,
                               .expandable = s->is_expandable,
                               .large = s->is_large};
        struct mt_pool_row *p = mt_pool_row_of(&out->pools, &kind);
        if (p == NULL)
            return 0;
        p->n_segments++;
        p->reserved += s->total;
        for (uint32_t k = s->first_block; k < s->first_block + s->n_blocks; k++) {
            const struct mt_block *b = &t->blocks.p[k];
            if (b->state != MT_BLOCK_INACTIVE) {
                p->active += b->size;
                p->active_requested += b->requested;
            } else {
                p->free += b->size;
                p->n_free_blocks++;
                if (b->size > p->largest_free)
                    p->largest_free = b->size;
            }
        }
        p->requested += s->requested;
    }
    for (uint32_t i = 0; i < out->pools.n; i++)
        if (!label_pool(t, ph, first, end, &out->pools.p[i]))
            return 0;
    if (out->pools.n > 1)
        qsort(out->pools.p, out->pools.n, sizeof *out->pools.p, cmp_pool);
    return label_focus(out);
}
