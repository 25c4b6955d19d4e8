#include "parser/base/text.h"
#include "parser/model/builder_impl.h"

#include <stdlib.h>
#include <string.h>

static int by_place(const struct mt_segment *a, const struct mt_segment *b)
{
    if (a->is_host != b->is_host)
        return a->is_host < b->is_host ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    return a->first_block < b->first_block ? -1 : a->first_block > b->first_block;
}

static int cmp_segment(const void *a, const void *b) { return by_place(a, b); }

static int cmp_block(const void *pa, const void *pb)
{
    const struct mt_block *a = pa, *b = pb;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Sorts segments by device and address, and blocks by segment and address. Real files are in that
 * order already. */
static int sort_segments(struct mt_builder *b)
{
    struct mt_trace *t = b->t;
    struct mt_block *out;
    uint32_t n = 0;
    bool sorted = true;
    t->blocks.n = b->n_owned_blocks;
    for (uint32_t i = 1; i < t->segments.n && sorted; i++)
        sorted = by_place(&t->segments.p[i - 1], &t->segments.p[i]) <= 0;
    if (!sorted) {
        qsort(t->segments.p, t->segments.n, sizeof *t->segments.p, cmp_segment);
        out = mt_malloc((size_t)t->blocks.n * sizeof *out);
        if (out == NULL)
            return mt_b_nomem(b);
        for (uint32_t i = 0; i < t->segments.n; i++) {
            struct mt_segment *s = &t->segments.p[i];
            if (s->n_blocks != 0)
                memcpy(out + n, t->blocks.p + s->first_block, s->n_blocks * sizeof *out);
            s->first_block = n;
            n += s->n_blocks;
        }
        if (n != 0)
            memcpy(t->blocks.p, out, n * sizeof *out);
        mt_free(out);
    }
    for (uint32_t i = 0; i < t->segments.n; i++) {
        struct mt_segment *s = &t->segments.p[i];
        struct mt_block *k;
        if (s->n_blocks == 0)
            continue;
        k = t->blocks.p + s->first_block;
        for (uint32_t j = 1; j < s->n_blocks; j++) {
            if (k[j].addr < k[j - 1].addr) {
                qsort(k, s->n_blocks, sizeof *k, cmp_block);
                break;
            }
        }
        for (uint32_t j = 0; j < s->n_blocks; j++)
            k[j].segment = i;
    }
    return 1;
}

static int cmp_device(const void *pa, const void *pb)
{
    const struct mt_device *a = pa, *b = pb;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static int settle_devices(struct mt_builder *b)
{
    struct mt_trace *t = b->t;
    /* ordinal and kind of the device that a note names, by old index */
    MT_VEC(uint32_t) old = {NULL, 0, 0};
    uint32_t unused;
    int rc = 0;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (i > 0 && s->device == s[-1].device && s->is_host == s[-1].is_host)
            continue;
        if (mt_b_device(b, s->device, s->is_host ? MT_DEV_HOST : MT_DEV_CUDA, &unused) == NULL)
            return mt_b_nomem(b);
    }
    for (uint32_t i = 0; i < t->devices.n; i++) {
        uint32_t *o = MT_VEC_PUSH(&old);
        struct mt_device *d = &t->devices.p[i];
        const struct mt_ring *r = &b->ring_all;
        if (o == NULL)
            goto out;
        *o = (uint32_t)d->ordinal << 1 | (d->kind == MT_DEV_HOST);
        d->is_cut = t->damaged && b->in_trace && (uint32_t)d->ordinal == b->next_ordinal &&
                    b->next_kind == d->kind;
        if (d->kind != MT_DEV_CUDA)
            continue;
        d->ring_max_entries = r->max;
        d->ring_overflowed = r->overflowed;
        if ((uint32_t)d->ordinal < b->ring.n) {
            r = &b->ring.p[d->ordinal];
            if (r->max != 0)
                d->ring_max_entries = r->max;
            if (r->overflowed >= 0)
                d->ring_overflowed = r->overflowed;
        }
    }
    if (t->devices.n > 1)
        qsort(t->devices.p, t->devices.n, sizeof *t->devices.p, cmp_device);
    for (uint32_t i = 0; i < t->notes.n; i++) {
        uint32_t key = old.p[t->notes.p[i].device];
        for (uint32_t d = 0; d < t->devices.n; d++)
            if (((uint32_t)t->devices.p[d].ordinal << 1 | (t->devices.p[d].kind == MT_DEV_HOST)) ==
                key)
                t->notes.p[i].device = d;
    }
    rc = 1;
out:
    MT_VEC_DONE(&old);
    return rc || mt_b_nomem(b);
}

static int cmp_fx(const void *a, const void *b)
{
    const struct mt_fx *x = a, *y = b;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static int cmp_note(const void *a, const void *b)
{
    const struct mt_note *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* They come in order, but for devices that do not. */
static void sort_notes(struct mt_trace *t)
{
    bool sorted = true;
    for (uint32_t i = 1; i < t->notes.n && sorted; i++)
        sorted = cmp_note(&t->notes.p[i - 1], &t->notes.p[i]) <= 0;
    if (!sorted)
        qsort(t->notes.p, t->notes.n, sizeof *t->notes.p, cmp_note);
    if (t->fx.n > 1)
        qsort(t->fx.p, t->fx.n, sizeof *t->fx.p, cmp_fx);
}

/* START and END pair like brackets per (name, device). An end without a start began before
 * recording; a start without an end was still open when the snapshot was taken. */
static int pair_annotations(struct mt_builder *b)
{
    enum { LOOK_BACK = 1024 };
    struct mt_trace *t = b->t;
    for (uint32_t i = 0; i < b->marks.n; i++) {
        const struct mt_mark *m = &b->marks.p[i];
        struct mt_range *r = NULL;
        if (m->is_end) {
            for (uint32_t k = t->ranges.n, steps = 0; k-- > 0 && steps < LOOK_BACK; steps++) {
                struct mt_range *c = &t->ranges.p[k];
                if (c->t1_ns == 0 && c->t0_ns != 0 && c->name == m->name &&
                    c->device == m->device) {
                    c->t1_ns = m->time_ns;
                    r = c;
                    break;
                }
            }
            if (r != NULL)
                continue;
        }
        if ((r = MT_VEC_PUSH(&t->ranges)) == NULL)
            return mt_b_nomem(b);
        r->name = m->name;
        r->device = m->device;
        *(m->is_end ? &r->t1_ns : &r->t0_ns) = m->time_ns;
    }
    return 1;
}

/* Sorts settings by key. A nested dict ends before its parent in a pickle and after it in JSON: in
 * file order the same settings would differ by encoding. */
static void sort_settings(struct mt_trace *t)
{
    for (uint32_t i = 1; i < t->settings.n; i++) {
        struct mt_setting x = t->settings.p[i];
        uint32_t k = i;
        for (; k > 0 && strcmp(mt_str(t, t->settings.p[k - 1].key), mt_str(t, x.key)) > 0; k--)
            t->settings.p[k] = t->settings.p[k - 1];
        t->settings.p[k] = x;
    }
}

/* Handles skip_actions of newer PyTorch. A free that was requested and never completed would hold
 * its block for ever. If the trace has no completion at all, and no block awaits its free at the
 * end, then completions were not recorded: the request counts as the free. */
static void settle_skipped(struct mt_trace *t, struct mt_device *d)
{
    enum { ENOUGH = 16 }; /* a short ring may begin between request and completion */
    uint64_t *n = d->n_by_action, *bytes = d->bytes_by_action;
    d->no_requests = n[MT_ACT_FREE_COMPLETED] != 0 && n[MT_ACT_FREE_REQUESTED] == 0;
    if (n[MT_ACT_FREE_COMPLETED] != 0 || n[MT_ACT_FREE_REQUESTED] < ENOUGH || d->is_cut)
        return;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (!mt_segment_is_on(s, d->ordinal, d->kind))
            continue;
        for (uint32_t k = s->first_block; k < s->first_block + s->n_blocks; k++)
            if (t->blocks.p[k].state == MT_BLOCK_PENDING_FREE)
                return;
    }
    for (uint64_t i = 0; i < d->events.n; i++) {
        struct mt_event *e = &d->events.chunk[i >> MT_CHUNK_SHIFT][i & (MT_CHUNK_EVENTS - 1)];
        if (e->action == MT_ACT_FREE_REQUESTED)
            e->action = MT_ACT_FREE_COMPLETED;
    }
    n[MT_ACT_FREE_COMPLETED] = n[MT_ACT_FREE_REQUESTED];
    bytes[MT_ACT_FREE_COMPLETED] = bytes[MT_ACT_FREE_REQUESTED];
    n[MT_ACT_FREE_REQUESTED] = bytes[MT_ACT_FREE_REQUESTED] = 0;
    mt_trace_diag(t, MT_DIAG_NOTE, false, 0,
                  "device %d has no free_completed entries (skip_actions): blocks are taken as "
                  "free from the moment that it "
                  "was requested",
                  d->ordinal);
}

int mt_build_finish(struct mt_builder *b)
{
    struct mt_trace *t = b->t;
    t->segments_cut = t->damaged && (b->in_segments || (!b->saw_segments && !t->meta.is_bare_list));
    if (!sort_segments(b) || !settle_devices(b) || !pair_annotations(b))
        return 0;
    if (!mt_intern_functions(t))
        return mt_b_nomem(b);
    for (uint32_t i = 0; i < t->devices.n; i++)
        settle_skipped(t, &t->devices.p[i]);
    sort_settings(t);
    sort_notes(t);
    if (b->n_bad_records != 0)
        mt_trace_diag(t, MT_DIAG_NOTE, false, 0, "%llu record%s a field and %s left out",
                      (unsigned long long)b->n_bad_records,
                      mt_plural(b->n_bad_records, " lacks", "s lack"),
                      mt_plural(b->n_bad_records, "was", "were"));
    if (b->n_bad_values != 0)
        mt_trace_diag(
            t, MT_DIAG_NOTE, false, 0,
            "%llu value%s cannot be a number of bytes, a device or a known state and %s read as 0",
            (unsigned long long)b->n_bad_values, mt_plural(b->n_bad_values, "", "s"),
            mt_plural(b->n_bad_values, "was", "were"));
    if (b->n_lost_lanes != 0 || b->n_lost_pools != 0)
        mt_trace_diag(t, MT_DIAG_NOTE, false, 0,
                      "more than 4096 streams or pools: %llu %s put on the default one",
                      (unsigned long long)b->n_lost_lanes + (unsigned long long)b->n_lost_pools,
                      mt_plural((unsigned long long)b->n_lost_lanes + b->n_lost_pools, "entry was",
                                "entries were"));
    t->sealed = true;
    return 1;
}
