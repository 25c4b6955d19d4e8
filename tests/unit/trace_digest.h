/* trace_digest.h -- a trace as a few numbers that do not depend on ids or on the encoding: two
 * readers of the same snapshot must give the same. Texts are hashed, never ids. Keys and actions
 * that are not understood count by name only.
 *
 * MT_CHECK_SAME(t, u);    // reports the first part that differs */
#ifndef MT_TEST_TRACE_DIGEST_H
#define MT_TEST_TRACE_DIGEST_H

#include "parser/model/trace.h"

#include <stdlib.h>
#include <string.h>

struct mt_digest {
    uint64_t events, devices, segments, blocks, ranges, notes, settings, unknown, flags;
};

static inline uint64_t mt_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static inline uint64_t mt_mix_str(uint64_t h, const struct mt_trace *t, mt_str_id id)
{
    const char *s = mt_str(t, id);
    uint32_t n = mt_str_len(t, id);
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
    return mt_mix(h, n);
}

/* One number per stack id; free() it. A caller always has a smaller id than what it called. */
static inline uint64_t *mt_stack_digests(const struct mt_trace *t)
{
    uint64_t *h = calloc((size_t)t->stacks.n + 1, sizeof *h);
    for (uint32_t i = 1; h != NULL && i < t->stacks.n; i++) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[i].frame];
        if (t->stacks.p[i].parent >= i)
            abort(); /* the digest would not be one */
        h[i] = mt_mix(
            mt_mix_str(mt_mix_str(mt_mix(h[t->stacks.p[i].parent], 77), t, f->name), t, f->file),
            f->line);
    }
    return h;
}

static inline struct mt_digest mt_digest_of(const struct mt_trace *t)
{
    struct mt_digest d = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint64_t *st = mt_stack_digests(t);
    if (st == NULL)
        abort();
    for (uint32_t i = 0; i < t->devices.n; i++) {
        const struct mt_device *v = &t->devices.p[i];
        d.devices =
            mt_mix(mt_mix(mt_mix(mt_mix(d.devices, (uint64_t)v->ordinal), v->kind), v->events.n),
                   v->n_with_stack);
        d.devices =
            mt_mix(mt_mix(mt_mix(d.devices, v->ring_max_entries), (uint64_t)v->ring_overflowed),
                   v->n_with_time);
        for (int a = 0; a < MT_ACT_COUNT; a++)
            d.devices = mt_mix(d.devices, v->n_by_action[a]);
        for (uint64_t k = 0; k < v->events.n; k++) {
            const struct mt_event *e = mt_event_at(v, k);
            const struct mt_lane *l = &t->lanes.p[e->lane];
            d.events = mt_mix(mt_mix(mt_mix(mt_mix(d.events, mt_event_ns(v, k)), e->addr), e->size),
                              st[e->stack]);
            d.events =
                mt_mix(mt_mix(d.events, (uint64_t)e->action << 8 | e->flags), (uint64_t)l->stream);
            d.events = mt_mix(mt_mix(d.events, l->pool[0]), l->pool[1]);
        }
    }
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        d.segments =
            mt_mix(mt_mix(mt_mix(mt_mix(d.segments, s->addr), s->total), s->allocated), s->active);
        d.segments = mt_mix(
            mt_mix(mt_mix(mt_mix(d.segments, s->requested), (uint64_t)s->stream), s->pool[0]),
            s->pool[1]);
        d.segments =
            mt_mix(mt_mix(mt_mix(d.segments, (uint64_t)s->device), st[s->stack]), s->n_blocks);
        d.segments =
            mt_mix(d.segments, (uint64_t)s->is_large | (uint64_t)s->is_expandable << 1 |
                                   (uint64_t)s->pool_known << 2 | (uint64_t)s->is_host << 3);
    }
    for (uint32_t i = 0; i < t->blocks.n; i++) {
        const struct mt_block *b = &t->blocks.p[i];
        d.blocks =
            mt_mix(mt_mix(mt_mix(mt_mix(d.blocks, b->addr), b->size), b->requested), st[b->stack]);
        d.blocks = mt_mix(mt_mix(d.blocks, b->segment), b->state);
    }
    for (uint32_t i = 0; i < t->ranges.n; i++) {
        const struct mt_range *r = &t->ranges.p[i];
        d.ranges = mt_mix(mt_mix_str(mt_mix(mt_mix(d.ranges, r->t0_ns), r->t1_ns), t, r->name),
                          (uint64_t)r->device);
    }
    for (uint32_t i = 0; i < t->notes.n; i++) {
        const struct mt_note *n = &t->notes.p[i];
        d.notes =
            mt_mix(mt_mix_str(mt_mix(mt_mix(d.notes, n->device), n->event), t, n->text), n->kind);
    }
    for (uint32_t i = 0; i < t->settings.n; i++) /* sums: their order is the dict's */
        d.settings += mt_mix_str(mt_mix_str(1, t, t->settings.p[i].key), t, t->settings.p[i].value);
    for (uint32_t i = 0; i < t->unknown_keys.n; i++)
        d.unknown += mt_mix_str(1, t, t->unknown_keys.p[i].name);
    for (uint32_t i = 0; i < t->unknown_actions.n; i++)
        d.unknown += mt_mix_str(2, t, t->unknown_actions.p[i].name);
    d.flags = (uint64_t)t->meta.is_bare_list | (uint64_t)t->meta.legacy_blocks << 1 |
              (uint64_t)t->meta.has_device_traces << 2 | (uint64_t)t->meta.has_annotations << 3 |
              (uint64_t)t->meta.has_settings << 4 | (uint64_t)t->meta.has_host << 5 |
              (uint64_t)t->damaged << 6;
    free(st);
    return d;
}

/* Name of the first part that differs, NULL when all are the same. */
static inline const char *mt_digest_diff(const struct mt_digest *a, const struct mt_digest *b)
{
    return a->flags != b->flags         ? "flags"
           : a->devices != b->devices   ? "devices"
           : a->events != b->events     ? "events"
           : a->segments != b->segments ? "segments"
           : a->blocks != b->blocks     ? "blocks"
           : a->ranges != b->ranges     ? "ranges"
           : a->notes != b->notes       ? "notes"
           : a->settings != b->settings ? "settings"
           : a->unknown != b->unknown   ? "unknown keys and actions"
                                        : NULL;
}

#define MT_CHECK_SAME(t, u)                                                                        \
    do {                                                                                           \
        struct mt_digest mt_da = mt_digest_of(t), mt_db = mt_digest_of(u);                         \
        const char *mt_dd = mt_digest_diff(&mt_da, &mt_db);                                        \
        mt_n_checks++;                                                                             \
        if (mt_dd != NULL)                                                                         \
            MT_FAIL_AT("%s and %s differ: %s", #t, #u, mt_dd);                                     \
    } while (0)

#endif
