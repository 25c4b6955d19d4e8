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

struct times {
    uint64_t first, last, before;
    bool back;
};

static void add_time(struct times *t, uint64_t ns)
{
    t->first = ns < t->first ? ns : t->first;
    t->last = ns > t->last ? ns : t->last;
    t->back |= ns < t->before;
    t->before = ns;
}

/* The earliest and the latest time, and whether the clock goes back somewhere. Most are whole
 * microseconds, of which a stretch is looked at as they lie. */
static struct times measure_times(const struct mt_device *d)
{
    struct times t = {.first = UINT64_MAX};
    for (uint64_t i = 0; i < d->events.n; i += MT_STRETCH_EVENTS) {
        const struct mt_stretch *s = &d->events.stretches.p[i >> MT_STRETCH_SHIFT];
        uint64_t left = d->events.n - i, n = left < MT_STRETCH_EVENTS ? left : MT_STRETCH_EVENTS;
        uint16_t most = 0;
        bool back = false;
        for (uint64_t k = 0; s->width != MT_STRETCH_US && k < n; k++)
            add_time(&t, mt_event_ns(d, i + k));
        if (s->width != MT_STRETCH_US)
            continue;
        for (uint64_t k = 1; k < n; k++) {
            most = s->us[k] > most ? s->us[k] : most;
            back |= s->us[k] < s->us[k - 1];
        }
        add_time(&t, s->first_ns); /* the earliest: us counts from it */
        add_time(&t, s->first_ns + (uint64_t)most * 1000);
        t.back |= back;
        t.before = mt_event_ns(d, i + n - 1);
    }
    return t;
}

/* What the addresses and sizes of events have in common. */
struct reach {
    uint64_t bits, highest;
    bool too_large;
};

static void measure_events(struct reach *r, const struct mt_event *e, uint64_t n)
{
    uint64_t bits = r->bits, highest = r->highest;
    bool large = false;
    for (const struct mt_event *end = e + n; e < end; e++) {
        large |= e->size > MT_PACK_MAX && is_counted(e);
        if (e->action >= MT_ACT_ALLOC && e->action <= MT_ACT_SEGMENT_UNMAP) {
            bits |= e->addr;
            highest = e->addr > highest ? e->addr : highest;
        }
    }
    r->bits = bits;
    r->highest = highest;
    r->too_large |= large;
}

/* Times, addresses and sizes of all events, for the units in which they are written. */
static int measure(const struct mt_pack_in *in, bool *too_large)
{
    struct mt_pack *p = in->pack;
    const struct mt_device *d = in->r->d;
    struct times t = measure_times(d);
    struct reach r = {.too_large = false};
    uint64_t span;
    for (uint64_t i = 0; i < d->events.n; i += MT_CHUNK_EVENTS) {
        uint64_t left = d->events.n - i;
        measure_events(&r, mt_event_at(d, i), left < MT_CHUNK_EVENTS ? left : MT_CHUNK_EVENTS);
    }
    p->goes_back = t.back;
    *too_large = *too_large || r.too_large;
    for (uint32_t i = 0; i < in->r->old.n; i++) {
        r.bits |= in->r->old.p[i].addr;
        r.highest = in->r->old.p[i].addr > r.highest ? in->r->old.p[i].addr : r.highest;
        *too_large = *too_large || in->r->old.p[i].size > MT_PACK_MAX;
    }
    for (uint32_t i = 0; i < in->r->t->segments.n; i++)
        if (mt_segment_is_on(&in->r->t->segments.p[i], d->ordinal, d->kind)) {
            r.bits |= in->r->t->segments.p[i].addr;
            r.highest =
                in->r->t->segments.p[i].addr > r.highest ? in->r->t->segments.p[i].addr : r.highest;
        }
    p->addr_unit = (r.bits & 511) == 0 ? 512 : 1;
    if (r.highest / p->addr_unit > MT_PACK_MAX)
        p->addr_unit = 0;
    p->has_time = d->events.n != 0 && d->n_with_time == d->events.n && t.last > t.first;
    if (!p->has_time) {
        p->goes_back = false;
        return 1;
    }
    span = t.last - t.first;
    p->t0_ns = t.first;
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
    mt_overview_done(&p->by_time);
    mt_overview_done(&p->by_event);
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
