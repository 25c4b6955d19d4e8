/* One device from beginning to end. */
#include "render/pack/pack.h"

#include "render/pack/impl.h"

#include <string.h>

static int refuse(struct mt_pack *p, const char *why)
{
    p->why = mt_strndup(why, strlen(why));
    return p->why != NULL;
}

/* Whether the size goes into totals, which the page counts in doubles. */
static bool is_counted(const struct mt_event *e)
{
    return e->action != MT_ACT_OOM && e->action != MT_ACT_SNAPSHOT && e->action != MT_ACT_OTHER &&
           e->action != MT_ACT_ANNOTATE;
}

/* The earliest and the latest time, and whether the clock goes back somewhere. */
static void measure_times(const struct mt_device *d, uint64_t *t0, uint64_t *t1, bool *back)
{
    uint64_t first = UINT64_MAX, last = 0, before = 0;
    bool falls = false;
    for (uint64_t i = 0; i < d->events.n; i += MT_STRETCH_EVENTS) {
        const struct mt_stretch *s = &d->events.stretches.p[i >> MT_STRETCH_SHIFT];
        uint64_t left = d->events.n - i, n = left < MT_STRETCH_EVENTS ? left : MT_STRETCH_EVENTS;
        if (s->width == MT_STRETCH_ONE)
            n = 1;
        for (uint64_t k = 0; k < n; k++) {
            uint64_t ns = mt_event_ns(d, i + k);
            first = ns < first ? ns : first;
            last = ns > last ? ns : last;
            falls |= ns < before;
            before = ns;
        }
    }
    *t0 = first;
    *t1 = last;
    *back = falls;
}

/* Times, addresses and sizes of all events, for the units in which they are written. */
static int measure(const struct mt_pack_in *in, bool *too_large)
{
    struct mt_pack *p = in->pack;
    const struct mt_device *d = in->r->d;
    uint64_t t0, t1, bits = 0, highest = 0, span;
    bool back, large = false;
    measure_times(d, &t0, &t1, &back);
    for (uint64_t i = 0; i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        large |= e->size > MT_PACK_MAX && is_counted(e);
        if (e->action >= MT_ACT_ALLOC && e->action <= MT_ACT_SEGMENT_UNMAP) {
            bits |= e->addr;
            highest = e->addr > highest ? e->addr : highest;
        }
    }
    p->goes_back = back;
    *too_large = *too_large || large;
    for (uint32_t i = 0; i < in->r->old.n; i++) {
        bits |= in->r->old.p[i].addr;
        highest = in->r->old.p[i].addr > highest ? in->r->old.p[i].addr : highest;
        *too_large = *too_large || in->r->old.p[i].size > MT_PACK_MAX;
    }
    for (uint32_t i = 0; i < in->r->t->segments.n; i++)
        if (mt_segment_is_on(&in->r->t->segments.p[i], d->ordinal, d->kind)) {
            bits |= in->r->t->segments.p[i].addr;
            highest =
                in->r->t->segments.p[i].addr > highest ? in->r->t->segments.p[i].addr : highest;
        }
    p->addr_unit = (bits & 511) == 0 ? 512 : 1;
    if (highest / p->addr_unit > MT_PACK_MAX)
        p->addr_unit = 0;
    p->has_time = d->events.n != 0 && d->n_with_time == d->events.n && t1 > t0;
    if (!p->has_time) {
        p->goes_back = false;
        return 1;
    }
    span = t1 - t0;
    p->t0_ns = t0;
    p->tick_ns = (span / UINT32_MAX / 1000 + 1) * 1000;
    p->end = span / p->tick_ns;
    for (p->time_step = 1; 2 * p->time_step * p->tick_ns <= MT_PACK_STEP_NS;)
        p->time_step *= 2;
    return 1;
}

static void choose_groups(struct mt_pack *p, const struct mt_role_facts *f)
{
    bool taken[MT_ROLE_COUNT] = {false};
    while (p->n_groups < MT_PACK_GROUPS) {
        unsigned best = MT_ROLE_COUNT;
        for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
            if (!taken[r] && f->peak[r] != 0 &&
                (best == MT_ROLE_COUNT || f->peak[r] > f->peak[best]))
                best = r;
        if (best == MT_ROLE_COUNT)
            return;
        taken[best] = true;
        p->group[p->n_groups++] = (uint8_t)best;
    }
}

static int fill(const struct mt_pack_in *in)
{
    struct mt_pack *p = in->pack;
    const struct mt_device_analysis *o = in->o;
    bool too_large = o->live_peak > MT_PACK_MAX || o->reserved_peak > MT_PACK_MAX ||
                     o->pending_peak > MT_PACK_MAX;
    p->n_events = o->n_events;
    p->n_allocs = o->n_allocs;
    p->n_old = in->r->old.n;
    p->start_pending = in->r->start_pending;
    if (o->withheld != NULL) {
        p->withheld = true;
        return refuse(p, o->withheld);
    }
    if (o->n_events == 0)
        return refuse(p, "the snapshot has no history: only the state at the dump");
    if (in->w->fate == NULL || in->w->old_role == NULL || !measure(in, &too_large))
        return refuse(p, "the history is longer than memtrace can follow block by block");
    if (too_large)
        return refuse(p, "sizes in the trace are larger than the page can count");
    if (p->has_time && o->peak_event >= 0)
        p->peak_tick = mt_pack_tick(p, o->peak_ns);
    choose_groups(p, &o->roles);
    mt_role_curve_layers(&o->curve, p->group, p->n_groups);
    return mt_pack_marks(in) && mt_pack_events(in) && mt_pack_phases(in);
}

int mt_pack_device(void *arg, const struct mt_roles *w, const struct mt_attr *attr,
                   struct mt_phaser *ph, const struct mt_device_analysis *o, struct mt_err *err)
{
    struct mt_packs *packs = arg;
    struct mt_pack **to = MT_VEC_PUSH(&packs->list);
    struct mt_pack_in in = {.w = w, .r = w->r, .attr = attr, .ph = ph, .o = o};
    int ok;
    (void)err;
    if (to == NULL)
        return 0;
    *to = in.pack = mt_calloc(1, sizeof **to);
    if (in.pack == NULL) {
        packs->list.n--;
        return 0;
    }
    in.pack->device = o->device;
    in.pack->max_size = packs->max_size;
    in.pack->waits = packs->waits;
    ok = fill(&in);
    mt_free(in.pack->wanted);
    in.pack->wanted = NULL;
    mt_press_done(&in.pack->press);
    return ok;
}

void mt_pack_free(struct mt_pack *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->chunks.n; i++) {
        mt_blob_done(&p->chunks.p[i].key);
        mt_blob_done(&p->chunks.p[i].events);
        mt_blob_done(&p->chunks.p[i].rest);
        mt_blob_done(&p->chunks.p[i].addresses);
        mt_blob_done(&p->chunks.p[i].times);
        mt_blob_done(&p->chunks.p[i].coarse);
    }
    MT_VEC_DONE(&p->chunks);
    for (uint32_t i = 0; i < p->marks.n; i++)
        mt_free(p->marks.p[i].text);
    MT_VEC_DONE(&p->marks);
    mt_blob_done(&p->by_time.thin);
    mt_blob_done(&p->by_event.thin);
    mt_blob_done(&p->by_time.coarse);
    mt_blob_done(&p->by_time.fine);
    mt_blob_done(&p->by_event.coarse);
    mt_blob_done(&p->by_event.fine);
    mt_blob_done(&p->sites);
    mt_blob_done(&p->places);
    mt_blob_done(&p->phases);
    mt_press_done(&p->press);
    mt_free(p->why);
    mt_free(p);
}

void mt_packs_done(struct mt_packs *p)
{
    for (uint32_t i = 0; i < p->list.n; i++)
        mt_pack_free(p->list.p[i]);
    MT_VEC_DONE(&p->list);
}
