/* The moment of the failure (or of the peak): which blocks were live, in which segments, and
 * whether the request would have fitted without some of them. One pass over the events, then
 * sorting: nothing here is quadratic. */
#include "analysis/cause/impl.h"
#include "analysis/cause/verdict.h"
#include "analysis/base/frames.h"

#include <stdlib.h>
#include <string.h>

#define ROUND UINT64_C(512)
/* Expandable segments map and give back whole pages: of 20 MiB where requests above 1 MiB are
 * served, of 2 MiB for the smaller ones (kLargeBuffer and kSmallBuffer of
 * CUDACachingAllocator.cpp). */
#define LARGE_PAGE (UINT64_C(20) << 20)
#define SMALL_PAGE (UINT64_C(2) << 20)
#define MIB (UINT64_C(1) << 20)

static int by_addr(const void *pa, const void *pb)
{
    const struct mt_held *a = pa, *b = pb;
    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

static struct mt_held *push(struct mt_moment *m)
{
    return mt_vec_push((void **)&m->held, &m->n_held, &m->cap_held, sizeof *m->held);
}

static int add_old_blocks(struct mt_moment *m, struct mt_phaser *ph, int64_t at)
{
    const struct mt_replay *r = m->w->r;
    for (uint32_t i = 0; i < r->old.n; i++) {
        const struct mt_old *o = &r->old.p[i];
        struct mt_held *h;
        if (o->gone_at != UINT64_MAX && at >= 0 && o->gone_at <= (uint64_t)at)
            continue;
        h = push(m);
        if (h == NULL)
            return 0;
        h->addr = o->addr;
        h->size = o->size;
        h->room = o->block_size != 0 ? o->block_size : (o->size + ROUND - 1) / ROUND * ROUND;
        h->event = UINT64_MAX;
        h->stack = o->stack;
        h->attr = mt_phaser_stack(ph, o->stack);
        h->role = m->w->old_role != NULL ? m->w->old_role[i] : MT_ROLE_BEFORE;
        h->life = m->w->old_life != NULL ? m->w->old_life[i] : MT_LIFE_UNKNOWN;
    }
    return 1;
}

static int add_new_blocks(struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    for (uint32_t i = 0; i < m->w->there.n; i++) {
        const uint32_t event = m->w->there.p[i];
        const struct mt_event *e = mt_event_at(r->d, event);
        const struct mt_fate *f = &m->w->fate[event];
        struct mt_held *h = push(m);
        if (h == NULL)
            return 0;
        *h = (struct mt_held){.addr = e->addr,
                              .size = e->size,
                              .room = (e->size + ROUND - 1) / ROUND * ROUND,
                              .event = event,
                              .stack = e->stack,
                              .attr = r->attr[event],
                              .role = f->role,
                              .life = f->life};
    }
    return 1;
}

/* Those whose free was requested and waits. Most frees are requested and completed by one event
 * after the other. */
static int mark_pending(struct mt_moment *m, int64_t at)
{
    const struct mt_device *d = m->w->r->d;
    struct mt_addrmap asked = {NULL, 0, 0};
    uint32_t unused;
    bool had;
    int ok = 1;
    for (uint64_t i = 0; ok && at >= 0 && i <= (uint64_t)at && i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        if (e->action == MT_ACT_FREE_REQUESTED) {
            const struct mt_event *next = i < (uint64_t)at ? mt_event_at(d, i + 1) : NULL;
            if (next == NULL || next->action != MT_ACT_FREE_COMPLETED || next->addr != e->addr)
                ok = mt_addrmap_put(&asked, e->addr, 0, &had, &unused);
        } else if (asked.n != 0 &&
                   (e->action == MT_ACT_FREE_COMPLETED || e->action == MT_ACT_ALLOC)) {
            (void)mt_addrmap_take(&asked, e->addr, &unused);
        }
    }
    for (uint32_t i = 0; ok && i < m->n_held; i++)
        m->held[i].pending = mt_addrmap_get(&asked, m->held[i].addr, &unused);
    mt_addrmap_done(&asked);
    return ok;
}

static void find_spans(struct mt_moment *m)
{
    uint32_t s = 0;
    for (uint32_t i = 0; i < m->n_held; i++) {
        struct mt_held *h = &m->held[i];
        while (s < m->n_span && m->span[s].addr + m->span[s].size <= h->addr)
            s++;
        h->span = m->laid_out && s < m->n_span && h->addr >= m->span[s].addr ? s : UINT32_MAX;
    }
}

bool mt_moment_pool_private(const struct mt_moment *m, const struct mt_held *h)
{
    const struct mt_span *s = h->span != UINT32_MAX ? &m->span[h->span] : NULL;
    if (m->d->sums_only) /* it may be: pools are not recorded */
        return true;
    return s != NULL && s->pool_known && (s->pool[0] != 0 || s->pool[1] != 0);
}

static void sum_roles(struct mt_moment *m)
{
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        bool here = mt_is_of_stretch(m, h);
        m->role[h->role] += h->size;
        m->pending += h->pending ? h->size : 0;
        if (h->role == MT_ROLE_KV_CACHE || h->role == MT_ROLE_ENGINE_WEIGHTS) {
            m->engine += h->size;
            m->engine_private += mt_moment_pool_private(m, h) ? h->size : 0;
        } else if (mt_is_transient(h->role)) {
            m->temporaries += here ? h->size : 0;
            m->residue += !here && h->event != UINT64_MAX && !h->pending ? h->size : 0;
        } else if (h->role == MT_ROLE_WEIGHT_SYNC && !here && h->event != UINT64_MAX) {
            m->residue += h->size;
        }
    }
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        m->training += mt_is_trainers(m, r) ? m->role[r] : 0;
    for (uint32_t i = 0; i < m->f->growth.n; i++) {
        const struct mt_growth *g = &m->f->growth.p[i];
        if (g->conf >= MT_CONF_INFERRED && g->last > g->first) {
            m->growth += g->last - g->first;
            m->sure_growth += g->conf >= MT_CONF_MARKED ? g->last - g->first : 0;
        }
    }
    if (m->growth > m->d->focus.live)
        m->growth = m->d->focus.live;
}

static void read_request(struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    const struct mt_event *e;
    if (m->oom == NULL)
        return;
    m->phase = (enum mt_phase)m->oom->attr.phase;
    m->sub = (enum mt_phase)m->oom->attr.sub;
    m->wish.request = m->oom->request;
    m->wish.stream = m->oom->stream;
    if (m->oom->event >= r->d->events.n)
        return;
    e = mt_event_at(r->d, m->oom->event);
    m->wish.pool_known = (e->flags & MT_EV_POOL_KNOWN) != 0;
    memcpy(m->wish.pool, r->t->lanes.p[e->lane].pool, sizeof m->wish.pool);
}

/* Prefill and decode are one stretch: a batch of an engine is one or the other, and sampling reads
 * the logits that the batch left. */
static unsigned stretch_of(unsigned phase)
{
    return phase == MT_PH_ROLLOUT_PREFILL || phase == MT_PH_ROLLOUT_DECODE ? MT_PH_ROLLOUT_GENERATE
                                                                           : phase;
}

/* The first event of the stretch of one coarse phase that the event `at` lies in. */
static uint64_t stretch_begin(const struct mt_replay *r, int64_t at)
{
    uint64_t i = at > 0 ? (uint64_t)at : 0;
    if (r->attr == NULL || r->d->events.n == 0)
        return 0;
    if (i >= r->d->events.n)
        i = r->d->events.n - 1;
    while (i > 0 && stretch_of(r->attr[i - 1].phase) == stretch_of(r->attr[i].phase))
        i--;
    return i;
}

/* Back over the backward at hand, and from there to the one before it. */
static uint64_t pass_begin(const struct mt_moment *m, int64_t at)
{
    const struct mt_attr *attr = m->w->r->attr;
    uint64_t i = at > 0 ? (uint64_t)at : 0;
    if (attr == NULL || i >= m->w->r->d->events.n || !mt_phase_is(m->sub, MT_IN_BACKWARD))
        return m->began;
    while (i > 0 && mt_phase_is(attr[i - 1].sub, MT_IN_BACKWARD))
        i--;
    while (i > 0 && !mt_phase_is(attr[i - 1].sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER) &&
           (attr[i - 1].phase == m->phase || attr[i - 1].phase == MT_PH_UNATTRIBUTED))
        i--;
    return i;
}

int mt_moment_fill(struct mt_moment *m, struct mt_phaser *ph)
{
    int64_t at = m->d->focus.event;
    memset(m->role, 0, sizeof m->role);
    m->growth = m->sure_growth = 0;
    if (m->w->fate != NULL &&
        (!add_new_blocks(m) || (m->d->focus.pending != 0 && !mark_pending(m, at))))
        return 0;
    if (!add_old_blocks(m, ph, at) ||
        (m->d->focus.holes_known && !mt_spans_at(m->w->r, at, &m->span, &m->n_span, &m->laid_out)))
        return 0;
    if (m->n_held > 1)
        qsort(m->held, m->n_held, sizeof *m->held, by_addr);
    find_spans(m);
    sum_roles(m);
    return 1;
}

static uint64_t last_made(const struct mt_moment *m)
{
    const struct mt_device *dev = m->w->r->d;
    uint64_t i = m->oom != NULL && m->oom->event < dev->events.n ? m->oom->event : 0;
    while (i > 0)
        if (mt_event_at(dev, --i)->action == MT_ACT_ALLOC)
            return i;
    return UINT64_MAX;
}

int mt_moment_make(struct mt_moment *m, const struct mt_roles *w, const struct mt_role_facts *f,
                   const struct mt_device_analysis *d, struct mt_phaser *ph)
{
    *m = (struct mt_moment){.w = w, .f = f, .d = d, .oom = d->ooms.n != 0 ? &d->ooms.p[0] : NULL};
    m->phase = (enum mt_phase)d->focus_attr.phase;
    m->sub = (enum mt_phase)d->focus_attr.sub;
    read_request(m);
    m->began = stretch_begin(w->r, d->focus.event);
    m->pass_began = pass_begin(m, d->focus.event);
    m->last_made = last_made(m);
    if (d->withheld != NULL)
        return 1;
    if (m->oom == NULL) { /* mt_moment_fill() adds the blocks when a forecast needs them */
        memcpy(m->role, f->at_focus, sizeof m->role);
        sum_roles(m);
        return 1;
    }
    if (!mt_moment_fill(m, ph))
        return 0;
    m->visible = d->focus.reserved + m->oom->device_free;
    if (d->capacity != 0 && !d->sums_only) {
        m->outside = d->capacity > m->visible ? d->capacity - m->visible : 0;
        m->absent = m->visible > d->capacity ? m->visible - d->capacity : 0;
    }
    return 1;
}

void mt_moment_done(struct mt_moment *m)
{
    mt_free(m->held);
    mt_free(m->span);
    mt_free(m->result_line);
    mt_free(m->call_of);
    mt_free(m->call_began);
    mt_free(m->call_most);
    m->result_line = m->call_of = NULL;
    m->call_began = m->call_most = NULL;
    m->held = NULL;
    m->span = NULL;
}

mt_frame_id mt_moment_line(const struct mt_moment *m, mt_stack_id s, uint32_t *known)
{
    mt_frame_id line = 0;
    if (s == 0 || s >= m->w->r->t->stacks.n)
        return 0;
    if (known[s] == 0) {
        if (mt_stack_site(m->w->r->t, NULL, s, &line) != MT_SITE_PYTHON)
            line = 0;
        known[s] = line + 1;
    }
    return known[s] - 1;
}

uint64_t mt_moment_need(const struct mt_moment *m, uint64_t request)
{
    bool expandable = false;
    for (uint32_t i = 0; m->laid_out && i < m->n_span && !expandable; i++)
        expandable = m->span[i].expandable && mt_span_serves(&m->span[i], &m->wish);
    return expandable && request > MIB ? (request + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE
                                       : mt_segment_size(request);
}

struct layout {
    uint64_t returned, largest;
};

/* Adds the free run [a, b) of a span: to the largest hole that serves the request, and to the bytes
 * that go back to the device (a whole segment; of an expandable one every whole page). */
static void add_free_run(struct layout *l, const struct mt_span *s, uint64_t a, uint64_t b,
                         bool serves)
{
    if (a >= b)
        return;
    if (serves && b - a > l->largest)
        l->largest = b - a;
    if (s->expandable) {
        /* what is mapped begins where a page does */
        uint64_t page = s->large ? LARGE_PAGE : SMALL_PAGE, first = (a - s->addr + page - 1) / page,
                 last = (b - s->addr) / page;
        l->returned += last > first ? (last - first) * page : 0;
    } else if (a == s->addr && b == s->addr + s->size) {
        l->returned += s->size;
    }
}

static struct layout measure_layout(const struct mt_moment *m, bool all)
{
    struct layout l = {0, 0};
    uint32_t k = 0;
    for (uint32_t i = 0; i < m->n_span; i++) {
        const struct mt_span *s = &m->span[i];
        uint64_t cursor = s->addr, end = s->addr + s->size;
        bool serves = mt_span_serves(s, &m->wish);
        for (; k < m->n_held && m->held[k].addr < end; k++) {
            const struct mt_held *h = &m->held[k];
            if (h->addr < s->addr || (h->drop && !all))
                continue;
            add_free_run(&l, s, cursor, h->addr, serves);
            if (h->addr + h->room > cursor)
                cursor = h->addr + h->room;
        }
        add_free_run(&l, s, cursor, end, serves);
    }
    return l;
}

void mt_moment_all_fit(const struct mt_moment *m, struct mt_fit *f, uint64_t have, uint64_t need)
{
    if (m->to_come.kind != MT_TO_COME_STATE || have >= need + m->to_come.bytes)
        return;
    f->fits = false;
    f->short_by = need + m->to_come.bytes - have;
}

struct mt_fit mt_moment_fit(const struct mt_moment *m)
{
    struct mt_fit f = {false, 0, 0, 0};
    uint64_t need = mt_moment_need(m, m->wish.request),
             have = m->oom != NULL ? m->oom->device_free : 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        f.dropped += m->held[i].drop ? m->held[i].size : 0;
    if (m->laid_out) {
        struct layout with = measure_layout(m, true), without = measure_layout(m, false);
        f.returned = without.returned - with.returned;
        f.fits = without.largest > with.largest && without.largest >= m->wish.request;
    } else {
        f.returned = f.dropped;
    }
    have += f.returned;
    f.fits = f.fits || have >= need;
    f.short_by = f.fits ? 0 : need - have;
    mt_moment_all_fit(m, &f, have + (m->laid_out ? m->oom->at.free_usable : 0), need);
    return f;
}

static int by_free(const void *pa, const void *pb)
{
    const struct mt_pin *a = pa, *b = pb;
    if (a->free != b->free)
        return a->free > b->free ? -1 : 1;
    return a->segment < b->segment ? -1 : a->segment > b->segment;
}

struct pin_now {
    struct mt_pin pin;
    const struct mt_held *largest;
};

static void measure_pin(const struct mt_moment *m, uint32_t i, uint32_t *k, struct pin_now *out)
{
    const struct mt_span *s = &m->span[i];
    uint64_t cursor = s->addr, end = s->addr + s->size, used = 0, hole;
    memset(out, 0, sizeof *out);
    for (; *k < m->n_held && m->held[*k].addr < end; (*k)++) {
        const struct mt_held *h = &m->held[*k];
        if (h->addr < s->addr)
            continue;
        hole = h->addr > cursor ? h->addr - cursor : 0;
        out->pin.largest_free = hole > out->pin.largest_free ? hole : out->pin.largest_free;
        out->pin.free += hole;
        cursor = h->addr + h->room > cursor ? h->addr + h->room : cursor;
        used += h->size;
        if (out->largest == NULL || h->size > out->largest->size)
            out->largest = h;
    }
    hole = end > cursor ? end - cursor : 0;
    out->pin.largest_free = hole > out->pin.largest_free ? hole : out->pin.largest_free;
    out->pin.free += hole;
    out->pin.segment = s->addr;
    out->pin.total = s->size;
    out->pin.block_bytes = used;
}

int mt_moment_pins(const struct mt_moment *m, struct mt_cause *c)
{
    enum { MAX_PINS = 16 };
    struct pin_now now;
    MT_VEC(struct mt_pin) all = {NULL, 0, 0};
    uint32_t k = 0;
    char label[512];
    int rc = 0;
    for (uint32_t i = 0; m->laid_out && i < m->n_span; i++) {
        struct mt_pin *p;
        measure_pin(m, i, &k, &now);
        if (!mt_span_serves(&m->span[i], &m->wish) || now.largest == NULL || now.pin.free == 0)
            continue;
        now.pin.role = now.largest->role;
        now.pin.attr = now.largest->attr;
        now.pin.label = NULL;
        p = MT_VEC_PUSH(&all);
        if (p == NULL)
            goto out;
        *p = now.pin;
        p->stack = now.largest->stack;
        p->event = now.largest->event != UINT64_MAX ? (int64_t)now.largest->event : MT_NO_LINK;
    }
    if (all.n > 1)
        qsort(all.p, all.n, sizeof *all.p, by_free);
    c->n_pins_all = all.n;
    for (uint32_t i = 0; i < all.n; i++)
        c->pinned_free += all.p[i].free;
    for (uint32_t i = 0; i < all.n && i < MAX_PINS; i++) {
        struct mt_pin *p = MT_VEC_PUSH(&c->pins);
        uint64_t born;
        if (p == NULL)
            goto out;
        *p = all.p[i];
        born = p->event >= 0 ? (uint64_t)p->event : UINT64_MAX;
        (void)mt_birth_label(m->w->r, born, p->stack, mt_name_of(&m->w->r->names, born, 0), label,
                             sizeof label);
        p->label = mt_strndup(label, strlen(label));
        if (p->label == NULL)
            goto out;
    }
    rc = 1;
out:
    MT_VEC_DONE(&all);
    return rc;
}
