/* What is packed for the page is what the trace says: order, sizes, addresses, owners and totals
 * exactly, times within 200 us, read from every place where a page may begin to read. */
#include "pack_read.h"
#include "build_trace.h"
#include "load.h"
#include "render/html/page_plan.h"

#include <dirent.h>

struct block {
    uint64_t size, addr, site, event;
    bool live, pending;
};
struct reader {
    const struct mt_roles *w;
    const struct mt_attr *attr;
    const struct mt_pack *p;
    const struct mt_device_analysis *o;
    struct pr_sites sites;
    struct block *block;
    uint64_t *place, n_place; /* addresses of allocations, in units */
    uint64_t n_block, next_id, event, tick, n_lost, farthest;
    int64_t live, pending, reserved, peak;
    const int64_t *true_live; /* after each event */
    /* coarse: read with times in steps, which only the beginning may be */
    bool bad, coarse;
};
#define SAY(r, ...)                                                                                \
    do {                                                                                           \
        if (!(r)->bad)                                                                             \
            MT_FAIL_AT(__VA_ARGS__);                                                               \
        (r)->bad = true;                                                                           \
    } while (0)

static const struct mt_event *at(const struct reader *r, uint64_t i)
{
    return mt_event_at(r->w->r->d, i);
}

static struct block *of(struct reader *r, uint64_t back)
{
    if (back == 0 || back > r->next_id || !r->block[r->next_id - back].live) {
        SAY(r, "event %llu refers to a block that is not live", (unsigned long long)r->event);
        return NULL;
    }
    return &r->block[r->next_id - back];
}

static void want(struct reader *r, unsigned action)
{
    if (r->event >= r->p->n_events || at(r, r->event)->action != action)
        SAY(r, "event %llu is no %s", (unsigned long long)r->event,
            mt_action_name((enum mt_action)action));
}

static void want_block(struct reader *r, const struct block *b, bool sized)
{
    const struct mt_event *e = at(r, r->event);
    if (b != NULL && r->p->addr_unit != 0 && b->addr != e->addr)
        SAY(r, "event %llu is of another address", (unsigned long long)r->event);
    if (b != NULL && sized && b->size != e->size)
        SAY(r, "event %llu is of another size", (unsigned long long)r->event);
}

static void step(struct reader *r)
{
    if (r->live != r->true_live[r->event])
        SAY(r, "after event %llu %lld bytes are live, not %lld", (unsigned long long)r->event,
            (long long)r->true_live[r->event], (long long)r->live);
    r->peak = r->live > r->peak ? r->live : r->peak;
    r->event++;
}

static uint64_t depth_of(const struct mt_trace *t, mt_stack_id s)
{
    uint64_t n = 0;
    for (; s != 0; s = t->stacks.p[s].parent)
        n++;
    return n;
}

/* The site says the stack, role, phase and lane of the event. */
static void want_site(struct reader *r, uint64_t site, unsigned role)
{
    const struct mt_event *e = at(r, r->event);
    const struct mt_trace *t = r->w->r->t;
    struct mt_attr a = r->attr[r->event];
    const struct pr_site *s;
    uint64_t depth = 0;
    if (site >= r->sites.n) {
        SAY(r, "event %llu has site %llu", (unsigned long long)r->event, (unsigned long long)site);
        return;
    }
    s = &r->sites.site[site];
    for (uint64_t k = s->stack; k != 0; k = r->sites.parent[k])
        depth++;
    if (s->role != role || s->phase != a.phase || s->sub != (a.sub != MT_PH_NONE ? a.sub + 1u : 0))
        SAY(r, "event %llu: another role or phase", (unsigned long long)r->event);
    if (depth != depth_of(t, e->stack) ||
        (e->stack != 0 && r->sites.line[s->stack] != t->frames.p[t->stacks.p[e->stack].frame].line))
        SAY(r, "event %llu: another stack", (unsigned long long)r->event);
}

static void want_time(struct reader *r)
{
    uint64_t t = r->p->t0_ns + r->tick * r->p->tick_ns, want_ns;
    if (!r->p->has_time || r->event >= r->p->n_events)
        return;
    want_ns = mt_event_ns(r->w->r->d, r->event);
    want_ns = t > want_ns ? t - want_ns : want_ns - t;
    r->farthest = want_ns > r->farthest ? want_ns : r->farthest;
}

static void special(struct reader *r, struct pr_block *c, struct pr_block *a)
{
    static const unsigned action[] = {MT_ACT_SEGMENT_ALLOC, MT_ACT_SEGMENT_FREE, MT_ACT_SEGMENT_MAP,
                                      MT_ACT_SEGMENT_UNMAP};
    uint64_t kind = pr_var(&c->col[9]), v = kind != 11 ? pr_var(&c->col[9]) : 0;
    static uint64_t addr;
    struct block *b;
    switch (kind) {
    case 1:
        want(r, MT_ACT_FREE_REQUESTED);
        b = of(r, v);
        want_block(r, b, true);
        if (b != NULL) {
            b->pending = true;
            r->pending += (int64_t)b->size;
        }
        break;
    case 2:
        want(r, MT_ACT_FREE_COMPLETED);
        b = of(r, v);
        want_block(r, b, true);
        if (b != NULL) {
            b->live = false;
            r->live -= (int64_t)b->size;
            r->pending -= (int64_t)b->size;
        }
        break;
    case 3:
        want(r, MT_ACT_FREE_REQUESTED);
        r->pending += (int64_t)v;
        break;
    case 4:
        want(r, MT_ACT_FREE_COMPLETED);
        r->live -= (int64_t)v;
        r->pending -= (int64_t)v;
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        want(r, action[kind - 5]);
        if (v != at(r, r->event)->size)
            SAY(r, "event %llu: another size", (unsigned long long)r->event);
        r->reserved += kind == 5 || kind == 7 ? (int64_t)v : -(int64_t)v;
        if (a != NULL) {
            addr = (a->col[4].at == 0 ? 0 : addr) + (uint64_t)pr_zig(&a->col[4]);
            if (addr * r->p->addr_unit != at(r, r->event)->addr)
                SAY(r, "event %llu: another segment", (unsigned long long)r->event);
            MT_CHECK(pr_var(&a->col[5]) < r->sites.n_lanes);
        }
        break;
    case 9:
        want(r, MT_ACT_OOM);
        if (v <= MT_PACK_MAX && v != at(r, r->event)->size)
            SAY(r, "event %llu: another request", (unsigned long long)r->event);
        (void)pr_var(&c->col[9]);
        v = pr_var(&c->col[9]);
        MT_CHECK(v > 0);
        want_site(r, v - 1, MT_ROLE_UNKNOWN);
        break;
    case 10: want(r, MT_ACT_SNAPSHOT); break;
    case 11: break;
    case 12: /* counts as no event */
        b = of(r, v);
        want_block(r, b, false);
        if (b != NULL)
            b->live = false;
        r->n_lost++;
        return;
    default: SAY(r, "kind %llu", (unsigned long long)kind); return;
    }
    step(r);
}

static uint64_t place(struct reader *r, struct pr_block *a)
{
    static uint64_t other;
    uint64_t number = pr_wide(&a->col[0]);
    if (number > r->n_place)
        SAY(r, "event %llu has address %llu of %llu", (unsigned long long)r->event,
            (unsigned long long)number, (unsigned long long)r->n_place);
    else if (number != 0)
        return r->place[number - 1];
    return other = (a->col[3].at == 0 ? 0 : other) + (uint64_t)pr_zig(&a->col[3]);
}

static void operation(struct reader *r, struct pr_block *c, struct pr_block *t, struct pr_block *m,
                      struct pr_block *a)
{
    uint64_t op = pr_wide(&c->col[0]);
    struct block *b;
    if (r->p->has_time) {
        unsigned byte = t->col[0].at < t->col[0].n ? t->col[0].p[t->col[0].at++] : 0;
        r->tick += byte < 16    ? byte
                   : byte < 255 ? (uint64_t)(8 + (byte & 7)) << ((byte >> 3) - 1)
                                : (uint64_t)pr_zig(&t->col[1]);
        want_time(r);
    }
    if (op == 0) {
        want(r, MT_ACT_ALLOC);
        b = &r->block[r->next_id];
        *b = (struct block){.live = true, .event = r->event + 1};
        b->site = pr_wide(&c->col[3]);
        b->size = pr_wide(&c->col[6]) * 512 + (m != NULL ? pr_wide(&m->col[0]) : 0);
        b->addr = a != NULL ? place(r, a) * r->p->addr_unit : 0;
        want_block(r, b, true);
        want_site(r, b->site, r->w->fate[r->event].role);
        r->next_id++;
        r->live += (int64_t)b->size;
        step(r);
    } else if (op == 1) {
        special(r, c, a);
    } else {
        want(r, MT_ACT_FREE_REQUESTED);
        b = of(r, op - 1);
        want_block(r, b, true);
        step(r);
        want(r, MT_ACT_FREE_COMPLETED);
        want_block(r, b, true);
        if (b != NULL) {
            b->live = false;
            r->live -= (int64_t)b->size;
        }
        step(r);
    }
}

/* Reads the state before a chunk into r (load), or compares what was read so far with it. */
static void keyframe(struct reader *r, const struct mt_pack_chunk *c, bool load)
{
    struct pr_block k;
    uint64_t v[8], id = 0, addr = 0;
    int64_t pending = 0;
    uint64_t n_live = 0;
    if (!pr_open(&k, &c->key))
        return;
    for (int i = 0; i < 8; i++)
        if (i != 4)
            v[i] = pr_var(&k.col[0]);
        else
            pending = pr_zig(&k.col[0]);
    if (load) {
        memset(r->block, 0, r->n_block * sizeof *r->block);
        r->event = v[0];
        r->tick = v[1];
        r->next_id = v[2];
        r->live = (int64_t)v[3];
        r->pending = pending;
        r->reserved = (int64_t)v[5];
    } else if (v[0] != r->event || (v[1] != r->tick && !r->coarse) || v[2] != r->next_id ||
               (int64_t)v[3] != r->live || pending != r->pending || (int64_t)v[5] != r->reserved) {
        SAY(r, "the keyframe before event %llu does not agree with the events",
            (unsigned long long)v[0]);
    }
    for (uint64_t i = 0; i < v[6]; i++) {
        struct block b = {.live = true};
        id += pr_var(&k.col[1]);
        b.site = pr_var(&k.col[2]);
        b.size = pr_var(&k.col[3]) * 512;
        b.size += pr_var(&k.col[4]);
        b.pending = k.col[5].at < k.col[5].n && k.col[5].p[k.col[5].at++] != 0;
        b.event = pr_var(&k.col[6]);
        addr += r->p->addr_unit != 0 ? (uint64_t)pr_zig(&k.col[7]) : 0;
        b.addr = addr * r->p->addr_unit;
        if (id >= r->next_id || b.site >= r->sites.n) {
            SAY(r, "keyframe: block %llu", (unsigned long long)id);
            break;
        }
        if (load)
            r->block[id] = b;
        else if (memcmp(&b.size, &r->block[id].size, sizeof b.size) != 0 ||
                 b.addr != r->block[id].addr || b.site != r->block[id].site ||
                 b.event != r->block[id].event || !r->block[id].live ||
                 b.pending != r->block[id].pending)
            SAY(r, "keyframe before event %llu: block %llu differs", (unsigned long long)r->event,
                (unsigned long long)id);
    }
    for (uint64_t i = 0; i < r->next_id; i++)
        n_live += r->block[i].live;
    if (n_live != v[6])
        SAY(r, "keyframe: %llu blocks, not %llu", (unsigned long long)v[6],
            (unsigned long long)n_live);
    addr = 0;
    for (uint64_t i = 1; i < v[7]; i++) {
        uint64_t size;
        if (r->p->addr_unit != 0) {
            uint64_t before = addr;
            addr += pr_var(&k.col[8]);
            MT_CHECK(i == 1 || addr > before);
        }
        size = pr_var(&k.col[9]);
        MT_CHECK(size > 0 && pr_var(&k.col[10]) / 2 < r->sites.n_lanes);
    }
    pr_close(&k);
}

static void chunk(struct reader *r, const struct mt_pack_chunk *x)
{
    struct pr_block c, t, m, a;
    bool has_a = x->addresses.p != NULL;
    if (!pr_open(&c, &x->events) ||
        (r->p->has_time && !pr_open(&t, mt_chunk_times(x, r->coarse))) ||
        (x->has_rest && !pr_open(&m, &x->rest)) || (has_a && !pr_open(&a, &x->addresses)))
        return;
    MT_CHECK_EQ(x->has_rest, x->rest.p != NULL);
    while (!pr_end(&c.col[0]) && !r->bad)
        operation(r, &c, &t, x->has_rest ? &m : NULL, has_a ? &a : NULL);
    MT_CHECK_EQ(r->event, x->first + x->n);
    pr_close(&c);
    if (r->p->has_time)
        pr_close(&t);
    if (x->has_rest)
        pr_close(&m);
    if (has_a)
        pr_close(&a);
}

/* From one keyframe to the end of the track. */
static void read_from(struct reader *r, uint32_t first)
{
    r->n_lost = 0;
    keyframe(r, &r->p->chunks.p[first], true);
    r->peak = r->live;
    for (uint32_t i = first; i < r->p->chunks.n && !r->bad; i++) {
        if (r->p->partial && r->p->chunks.p[i].events.p == NULL)
            return; /* what it costs to leave it out is looked at in windows() */
        if (i != first && r->p->chunks.p[i].key.p != NULL)
            keyframe(r, &r->p->chunks.p[i], false);
        chunk(r, &r->p->chunks.p[i]);
    }
    if (r->bad)
        return;
    MT_CHECK_EQ(r->event, r->p->n_events);
    MT_CHECK_EQ((uint64_t)r->live, r->o->live_end);
    MT_CHECK_EQ((uint64_t)r->reserved, r->o->reserved_end);
    MT_CHECK_EQ(r->next_id, r->p->n_old + r->p->n_allocs);
    MT_CHECK(r->farthest <= 200000 || r->farthest <= 2 * r->p->tick_ns);
    if (first == 0) {
        MT_CHECK_EQ((uint64_t)r->peak, r->o->live_peak);
        MT_CHECK_EQ(r->n_lost > 0, r->p->n_lost > 0);
    }
}

static void overview(const struct reader *r, const struct mt_blob *blob, bool time)
{
    struct pr_block b;
    uint64_t n, events = 0, high = 0, reserved_high = 0;
    uint64_t v[32] = {0}, g;
    if (!pr_open(&b, blob))
        return;
    n = pr_var(&b.col[0]);
    MT_CHECK_EQ(pr_var(&b.col[0]), time ? 1 : 0);
    MT_CHECK_EQ(pr_var(&b.col[0]), 0);
    /* the last one has a width */
    MT_CHECK_EQ(pr_var(&b.col[0]), time ? r->p->end + 1 : r->p->n_events);
    g = pr_var(&b.col[0]);
    MT_CHECK_EQ(g, r->p->n_groups + 1);
    MT_CHECK_EQ(b.n, 8 + g);
    MT_CHECK(n <= MT_PACK_BUCKETS * MT_PACK_FINE);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        events += pr_var(&b.col[1]);
        for (unsigned k = 2; k < 7; k++)
            v[k] += (uint64_t)pr_zig(&b.col[k]);
        MT_CHECK(pr_var(&b.col[7]) <= MT_PH_COUNT);
        for (unsigned k = 0; k < g; k++)
            sum += v[8 + k] += (uint64_t)pr_zig(&b.col[8 + k]);
        if (sum != v[2] || v[3] > v[2]) {
            MT_FAIL_AT("bucket %llu: groups %llu, high %llu, low %llu", (unsigned long long)i,
                       (unsigned long long)sum, (unsigned long long)v[2], (unsigned long long)v[3]);
            break;
        }
        /* The event that it names has that state. */
        if (v[6] > 0 ? (uint64_t)r->true_live[v[6] - 1] != v[2] : v[2] != r->o->live_start) {
            MT_FAIL_AT("bucket %llu: event %llu", (unsigned long long)i, (unsigned long long)v[6]);
            break;
        }
        high = v[2] > high ? v[2] : high;
        reserved_high = v[4] > reserved_high ? v[4] : reserved_high;
    }
    MT_CHECK_EQ(events, r->p->n_events);
    MT_CHECK_EQ(high, r->o->live_peak);
    MT_CHECK_EQ(reserved_high, r->o->reserved_peak);
    pr_close(&b);
}

static void phases(const struct reader *r)
{
    struct pr_block b;
    uint64_t first = 0, i = 0, text = 0;
    if (!pr_open(&b, &r->p->phases))
        return;
    MT_ASSERT(b.n == 10);
    for (uint64_t n = 0; !pr_end(&b.col[0]) && !r->p->phases_left_out; n++) {
        uint64_t phase = pr_var(&b.col[1]), sub = pr_var(&b.col[2]), before = first;
        first += pr_var(&b.col[0]);
        MT_CHECK(n == 0 ? first == 0 : first > before);
        for (i = first; i < r->p->n_events && r->attr[i].phase == phase &&
                        (r->p->subs_left_out ||
                         (r->attr[i].sub != MT_PH_NONE ? r->attr[i].sub + 1u : 0) == sub);
             i++) {
        }
        if (pr_end(&b.col[0]))
            MT_CHECK_EQ(i, r->p->n_events);
    }
    for (unsigned k = 3; k < 8; k++)
        while (!pr_end(&b.col[k]))
            (void)pr_var(&b.col[k]);
    while (!pr_end(&b.col[8]))
        text += pr_var(&b.col[8]);
    MT_CHECK_EQ(text, b.col[9].n);
    b.col[9].at = b.col[9].n;
    pr_close(&b);
}

/* The chunks of a page that shows windows: all are there, each window begins with a state, and
 * every finding is inside one. */
static unsigned windows(const struct mt_pack *p)
{
    struct mt_track_plan t = {.pack = p, .detail = MT_DETAIL_WINDOWS};
    unsigned n = 0;
    for (uint32_t i = 0; i < p->chunks.n; i++) {
        bool has = mt_plan_has(&t, i), before = i != 0 && mt_plan_has(&t, i - 1);
        MT_CHECK(has || !p->chunks.p[i].wanted);
        if (!has)
            continue;
        n++;
        MT_CHECK(p->chunks.p[i].events.p != NULL && (before || p->chunks.p[i].key.p != NULL));
    }
    for (uint32_t i = 0; i < p->marks.n; i++)
        MT_CHECK(mt_plan_has(&t, (uint32_t)(p->marks.p[i].from / MT_PACK_CHUNK)) &&
                 mt_plan_has(&t, (uint32_t)(p->marks.p[i].to / MT_PACK_CHUNK)));
    return n;
}

struct seen {
    struct mt_packs packs;
    uint64_t max_size;
    uint32_t n_windows, n_chunks;
    bool partial;
    unsigned n_read, n_runs, n_withheld, n_waited;
    uint64_t n_lost;
};

static void places(struct reader *r)
{
    struct pr_block b;
    uint64_t at = 0;
    if (r->p->addr_unit == 0 || !pr_open(&b, &r->p->places))
        return;
    r->place = calloc(r->p->n_allocs + 1, sizeof *r->place);
    while (r->n_place < r->p->n_allocs && !pr_end(&b.col[0]))
        r->place[r->n_place++] = at += (uint64_t)pr_zig(&b.col[0]);
    pr_close(&b);
}

static void equal(const struct mt_blob *a, const struct mt_blob *b)
{
    MT_CHECK(a->waits == MT_BLOB_MADE && b->waits == MT_BLOB_MADE && a->n == b->n &&
             (a->n == 0 || memcmp(a->p, b->p, a->n) == 0));
}

/* What waited is the same afterwards as what did not; how many blocks did */
static unsigned settled(struct mt_pack *p, const struct mt_pack *at_once)
{
    unsigned n = p->by_event.fine.waits != MT_BLOB_MADE ? 1 : 0;
    for (uint32_t i = 0; i < p->chunks.n; i++)
        n += (p->chunks.p[i].key.waits != MT_BLOB_MADE ? 1u : 0u) +
             (p->chunks.p[i].coarse.waits != MT_BLOB_MADE ? 1u : 0u);
    MT_CHECK(!p->waits || p->chunks.n < 2 || n != 0);
    MT_CHECK(mt_pack_settle(p) && mt_pack_settle(p) && !p->waits);
    MT_CHECK_EQ(p->chunks.n, at_once->chunks.n);
    MT_CHECK_EQ(p->partial, at_once->partial);
    for (uint32_t i = 0; i < p->chunks.n && i < at_once->chunks.n; i++) {
        equal(&p->chunks.p[i].key, &at_once->chunks.p[i].key);
        equal(&p->chunks.p[i].events, &at_once->chunks.p[i].events);
        equal(&p->chunks.p[i].times, &at_once->chunks.p[i].times);
        equal(&p->chunks.p[i].coarse, &at_once->chunks.p[i].coarse);
    }
    equal(&p->by_event.fine, &at_once->by_event.fine);
    equal(&p->by_event.thin, &at_once->by_event.thin);
    equal(&p->by_time.fine, &at_once->by_time.fine);
    equal(&p->by_time.thin, &at_once->by_time.thin);
    return n;
}

/* Packs as the report does, and reads it all back while the trace is still there. */
static int pack_and_read(void *arg, const struct mt_roles *w, const struct mt_attr *attr,
                         struct mt_phaser *ph, const struct mt_device_analysis *o,
                         struct mt_err *err)
{
    struct seen *s = arg;
    struct reader r = {.w = w, .attr = attr, .o = o};
    int64_t *live, total = (int64_t)o->live_start;
    struct mt_packs at_once = {.max_size = s->max_size};
    struct mt_pack *packed;
    if (!mt_pack_device(&s->packs, w, attr, ph, o, err) ||
        !mt_pack_device(&at_once, w, attr, ph, o, err))
        return 0;
    r.p = packed = s->packs.list.p[s->packs.list.n - 1];
    s->n_waited += settled(packed, at_once.list.p[0]);
    mt_packs_done(&at_once);
    s->n_lost += r.p->n_lost;
    s->n_windows = windows(r.p);
    s->n_chunks = r.p->chunks.n;
    s->partial = r.p->partial;
    if (r.p->why != NULL) {
        s->n_withheld++;
        MT_CHECK_EQ(r.p->chunks.n, 0);
        return 1;
    }
    r.true_live = live = calloc(r.p->n_events + 1, sizeof *live);
    r.n_block = r.p->n_old + r.p->n_allocs + 1;
    r.block = calloc(r.n_block, sizeof *r.block);
    for (uint64_t i = 0; i < r.p->n_events; i++) {
        const struct mt_event *e = mt_event_at(w->r->d, i);
        total += e->action == MT_ACT_ALLOC            ? (int64_t)e->size
                 : e->action == MT_ACT_FREE_COMPLETED ? -(int64_t)e->size
                                                      : 0;
        live[i] = total;
    }
    places(&r);
    if (pr_sites(&r.sites, &r.p->sites)) {
        for (uint32_t i = 0; i < r.p->chunks.n && !r.bad; i++)
            if (r.p->chunks.p[i].key.p != NULL) {
                read_from(&r, i);
                r.coarse = true;
                if (!r.bad && r.p->chunks.n != 0)
                    read_from(&r, 0);
                s->n_runs++;
            }
        overview(&r, &r.p->by_event.coarse, false);
        MT_CHECK_EQ(r.p->by_event.thin.p != NULL, r.p->n_events >= MT_PACK_BUCKETS);
        if (r.p->by_event.thin.p != NULL)
            overview(&r, &r.p->by_event.thin, false);
        if (r.p->by_time.thin.p != NULL)
            overview(&r, &r.p->by_time.thin, true);
        if (r.p->by_event.fine.p != NULL)
            overview(&r, &r.p->by_event.fine, false);
        if (r.p->has_time)
            overview(&r, &r.p->by_time.coarse, true);
        if (r.p->has_time && r.p->by_time.fine.p != NULL)
            overview(&r, &r.p->by_time.fine, true);
        phases(&r);
        s->n_read++;
    }
    pr_sites_done(&r.sites);
    free(live);
    free(r.place);
    free(r.block);
    return 1;
}

/* 1 when the trace could be analysed. */
static int read_back(struct seen *s, const struct mt_trace *t)
{
    struct mt_rules rules;
    struct mt_err err = {.rc = MT_OK};
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .detail = {pack_and_read, s}};
    struct mt_analysis *a = NULL;
    s->packs = (struct mt_packs){.max_size = s->max_size, .waits = true};
    s->n_read = s->n_runs = s->n_withheld = s->n_waited = 0;
    s->n_lost = 0;
    if (!mt_load_rules(&rules))
        return 0;
    o.phases = rules.phases;
    o.fixes = rules.fixes;
    if (mt_analyze(&a, t, &o, &err) < 0)
        MT_FAIL_AT("%s", err.msg);
    mt_analysis_free(a);
    mt_packs_done(&s->packs);
    mt_rules_done(&rules);
    return a != NULL;
}

static void folder(const char *dir, unsigned least)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    unsigned n = 0;
    char path[1200];
    while (d != NULL && (e = readdir(d)) != NULL) {
        size_t len = strlen(e->d_name);
        enum mt_rc rc;
        struct mt_trace *t;
        struct seen s = {.max_size = 0};
        if (len < 7 || strcmp(e->d_name + len - 7, ".pickle") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        printf("# %s\n", e->d_name);
        t = mt_load(path, &rc);
        if (t != NULL && t->driver == NULL && read_back(&s, t))
            n += s.n_read != 0;
        mt_trace_free(t);
    }
    if (d != NULL)
        closedir(d);
    MT_CHECK(n >= least);
}

MT_TEST(samples_come_back) { folder(MT_SAMPLES, 6); }

MT_TEST(real_files_come_back)
{
    char dir[1100];
    MT_REQUIRE_SHARED();
    snprintf(dir, sizeof dir, "%s/torch", mt_shared_data());
    folder(dir, 8);
}

/* ---- made-up traces ---- */

struct made {
    struct bt x;
    uint64_t seed, time_us;
    bool timed;
};

static uint64_t below(struct made *m, uint64_t n)
{
    m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (m->seed >> 33) % n;
}

static struct made make(bool timed)
{
    struct made m = {
        .x = bt_new(), .seed = 7, .time_us = UINT64_C(1700000000000000), .timed = timed};
    bt_trace(&m.x, 0);
    return m;
}

static void put(struct made *m, const char *action, uint64_t addr, uint64_t size, const char *stack)
{
    static struct mt_rec r;
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_ACTION, bt_str(&m->x, action));
    mt_rec_set(&r, strcmp(action, "oom") == 0 ? MT_K_DEVICE_FREE : MT_K_ADDR,
               bt_int((int64_t)addr));
    mt_rec_set(&r, MT_K_SIZE, bt_int((int64_t)size));
    mt_rec_set(&r, MT_K_STREAM, bt_int((int64_t)below(m, 3)));
    if (m->timed)
        mt_rec_set(&r, MT_K_TIME_US, bt_int((int64_t)m->time_us));
    if (stack[0] != '\0')
        mt_rec_set(&r, MT_K_FRAMES, bt_stack(&m->x, stack));
    if (!mt_build_event(m->x.b, &r))
        abort();
}

static void check_made(struct made *m, struct seen *s)
{
    struct mt_trace *t = bt_done(&m->x);
    MT_CHECK(read_back(s, t));
    mt_trace_free(t);
}

static const char *const stacks[] = {"a.py:1:f|b.py:2:g", "a.py:3:h|b.py:2:g", "",
                                     "c.py:9:step|a.py:3:h|b.py:2:g"};

/* Every kind of event in any order: blocks allocated twice, freed twice, freed with another size,
 * requests of nothing, segments that overlap, a clock that jumps both ways. More than one chunk. */
MT_TEST(nonsense_comes_back)
{
    static const char *const action[] = {
        "alloc",          "alloc",         "free_requested", "free_completed",
        "free_requested", "segment_alloc", "segment_free",   "segment_map",
        "segment_unmap",  "oom",           "snapshot",       "something_new"};
    for (int timed = 0; timed < 2; timed++) {
        struct made m = make(timed != 0);
        struct seen s = {.max_size = 0};
        for (int i = 0; i < 150000; i++) {
            uint64_t what = below(&m, 60), addr = 4096 + 1024 * below(&m, 500),
                     size = below(&m, 8) != 0 ? addr / 3 : below(&m, 100000);
            m.time_us += below(&m, 3000);
            if (below(&m, 500) == 0)
                m.time_us -= below(&m, 4000000);
            put(&m, action[what < 48 ? what % 4 : what % 12], addr, size, stacks[below(&m, 4)]);
            if (below(&m, 3) == 0) { /* a free as it should be */
                put(&m, "free_requested", addr, size, "");
                m.time_us += below(&m, 150);
                put(&m, "free_completed", addr, size, "");
            }
        }
        bt_segment(&m.x, 0, UINT64_C(1) << 40, UINT64_C(1) << 40, "1099511627776a", stacks[0]);
        check_made(&m, &s);
        MT_CHECK_EQ(s.n_read, 1);
        MT_CHECK(s.n_runs >= 3);
        MT_CHECK(s.n_lost > 1000);
    }
}

static void put_steps(struct made *m, int n)
{
    uint64_t top = 0;
    char blocks[64];
    for (int step = 0; step < n; step++) {
        uint64_t base = UINT64_C(0x7f0000000000);
        for (uint64_t i = 0; i < 60; i++) {
            put(m, "alloc", base + i * 1048576, 1000000 + i * 700, stacks[i % 4]);
            m->time_us += below(m, 90);
        }
        for (uint64_t i = 60; i-- > 0;) {
            put(m, "free_requested", base + i * 1048576, 1000000 + i * 700, "");
            if (i % 7 == 0)
                put(m, "snapshot", 0, 0, "");
            m->time_us += i % 5 == 0 ? 101 : 3;
            put(m, "free_completed", base + i * 1048576, 1000000 + i * 700, "");
        }
        put(m, "alloc", UINT64_C(0x7e0000000000) + top, 4096, stacks[0]);
        top += 4096;
        m->time_us += below(m, 60000000);
    }
    snprintf(blocks, sizeof blocks, "%llua", (unsigned long long)top);
    bt_segment(&m->x, 0, UINT64_C(0x7d0000000000), top, blocks, "");
}

/* A job as it is: steps with activations that go in reverse order, state that stays, record_stream,
 * times in ms to minutes. */
MT_TEST(steps_come_back)
{
    struct made m = make(true);
    struct seen s = {.max_size = 0};
    put_steps(&m, 400);
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_read, 1);
    MT_CHECK_EQ(s.n_lost, 0);
    MT_CHECK(!s.partial && s.n_waited > 2);
}

/* Too long for its page: the rest is dropped while packing, and what is kept reads as before. */
MT_TEST(a_long_track_keeps_its_findings)
{
    struct made m = make(true);
    struct seen s = {.max_size = 30000};
    put_steps(&m, 2500);
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_read, 1);
    MT_CHECK(s.partial);
    MT_CHECK(s.n_chunks >= 6 && s.n_windows >= 1 && s.n_windows < s.n_chunks);
}

/* What began before the trace is freed in it, twice at one address; frees begun before it are
 * completed in it. */
MT_TEST(what_was_there_before)
{
    struct made m = make(true);
    struct seen s = {.max_size = 0};
    for (int i = 0; i < 3; i++) {
        m.time_us += 5;
        put(&m, "free_requested", 512, 100, "");
        m.time_us += 5;
        put(&m, "free_completed", 512, 100, "");
    }
    put(&m, "free_completed", 1024, 700, "");
    put(&m, "free_requested", 5120, 300, ""); /* of what is not known */
    put(&m, "alloc", 512, 100, stacks[0]);
    put(&m, "free_requested", 512, 100, "");
    put(&m, "free_completed", 512, 99, ""); /* other than was asked for */
    put(&m, "free_requested", 512, 100, "");
    put(&m, "free_completed", 512, 100, "");
    bt_segment(&m.x, 0, 2048, 4096, "1024a 1024i 2048p", stacks[1]);
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_read, 1);
}

/* A trace that contradicts itself: live bytes stay small, what one role gains and loses adds up to
 * more than a number holds. */
MT_TEST(forged_sums_come_back)
{
    const uint64_t size = UINT64_C(1) << 51;
    struct made m = make(true);
    struct seen s = {.max_size = 0};
    for (uint64_t i = 0; i < 4200; i++) {
        m.time_us += 5;
        put(&m, "alloc", 512, size, stacks[0]);
        put(&m, "free_requested", 4096 + 512 * i, size, "");
        put(&m, "free_completed", 4096 + 512 * i, size, "");
    }
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_read, 1);
    MT_CHECK_EQ(s.n_lost, 4199);
}

MT_TEST(nothing_to_pack_is_said)
{
    struct made m = make(true);
    struct seen s = {.max_size = 0};
    bt_segment(&m.x, 0, 4096, 4096, "4096a", stacks[0]); /* no event at all */
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_withheld, 1);
    m = make(true);
    put(&m, "alloc", 512, 4096, stacks[0]); /* more than the end state holds */
    bt_segment(&m.x, 0, 512, 4096, "4096i", stacks[0]);
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_withheld, 1);
    m = make(true);
    put(&m, "free_requested", 512, UINT64_C(1) << 54, ""); /* more than a double can count */
    put(&m, "free_completed", 512, UINT64_C(1) << 54, "");
    bt_segment(&m.x, 0, 512, 4096, "4096i", stacks[0]);
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_withheld, 1);
    m = make(true);
    m.time_us += 5;
    put(&m, "alloc", 512, 4096, stacks[0]);
    m.time_us += UINT64_C(86400000000) * 300; /* a clock of most of a year: ticks become longer */
    put(&m, "oom", 7, INT64_MAX, stacks[1]);
    bt_segment(&m.x, 0, 512, 4096, "4096a", stacks[0]);
    check_made(&m, &s);
    MT_CHECK_EQ(s.n_read, 1);
}

/* The same columns are the same block, wherever the memory of a compressor lies: ISA-L asks its own
 * address (blob.c). Three of four addresses of these columns made one byte more. */
MT_TEST(a_block_is_the_same_at_any_address)
{
    enum { N_COLUMNS = 11, N_PRESSES = 24 };
    static const unsigned char size[N_COLUMNS] = {9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1},
                               text[] = {0, 0, 0, 0, 0, 128, 32, 0, 2, 1, 128, 32, 2};
    struct mt_press press[N_PRESSES] = {{.isal = NULL}};
    struct mt_bytes col[N_COLUMNS] = {{.p = NULL}};
    struct mt_blob first = {.p = NULL}, other;
    for (unsigned k = 0; k < N_PRESSES; k++) {
        for (unsigned i = 0, at = 0; i < N_COLUMNS; at += size[i++])
            mt_put_bytes(&col[i], text + at, size[i]);
        MT_ASSERT(mt_blob_quick(&press[k], k == 0 ? &first : &other, col, N_COLUMNS) == 1);
        if (k != 0) {
            equal(&first, &other);
            mt_blob_done(&other);
        }
    }
    mt_blob_done(&first);
    for (unsigned i = 0; i < N_COLUMNS; i++)
        mt_bytes_done(&col[i]);
    for (unsigned k = 0; k < N_PRESSES; k++)
        mt_press_done(&press[k]);
}

/* Running out of memory anywhere leaves nothing behind and never half a pack that looks whole. */
MT_TEST(out_of_memory_while_packing)
{
    struct made m = make(true);
    struct mt_trace *t;
    struct mt_rules rules;
    struct mt_err err = {.rc = MT_OK};
    uint64_t before;
    unsigned failed = 0;
    for (int i = 0; i < 300; i++) {
        put(&m, "alloc", 4096 + 512 * (uint64_t)i, 512, stacks[i % 4]);
        m.time_us += 17;
    }
    bt_segment(&m.x, 0, 4096, 1 << 20, "1048576a", stacks[0]);
    t = bt_done(&m.x);
    MT_ASSERT(mt_load_rules(&rules));
    before = UINT64_MAX;
    for (uint64_t n = 0; n < 4000; n = n + 1 + n / 40) { /* 0: none fails */
        struct mt_packs packs = {.max_size = 0};
        struct mt_analyze_opts o = {.phases = rules.phases,
                                    .fixes = rules.fixes,
                                    .only_device = -1,
                                    .framework = -1,
                                    .detail = {mt_pack_device, &packs}};
        struct mt_analysis *a = NULL;
        enum mt_rc rc;
        mt_mem_fail_after(n);
        rc = mt_analyze(&a, t, &o, &err);
        mt_mem_fail_after(0);
        failed += rc < 0;
        MT_CHECK(rc == MT_OK || rc == MT_ENOMEM);
        if (rc == MT_OK && packs.list.n == 1)
            MT_CHECK(packs.list.p[0]->why == NULL && packs.list.p[0]->sites.p != NULL &&
                     packs.list.p[0]->phases.p != NULL);
        mt_analysis_free(a);
        mt_packs_done(&packs);
        if (before == UINT64_MAX)
            before =
                mt_mem_used(); /* what rules are compiled into when they are first asked stays */
        if (mt_mem_used() != before)
            MT_FAIL_AT("allocation %llu: %llu bytes are left", (unsigned long long)n,
                       (unsigned long long)(mt_mem_used() - before));
    }
    MT_CHECK(failed > 20);
    mt_rules_done(&rules);
    mt_trace_free(t);
}

MT_MAIN(MT_RUN(samples_come_back) MT_RUN(real_files_come_back) MT_RUN(nonsense_comes_back)
            MT_RUN(steps_come_back) MT_RUN(a_long_track_keeps_its_findings)
                MT_RUN(what_was_there_before) MT_RUN(forged_sums_come_back)
                    MT_RUN(nothing_to_pack_is_said) MT_RUN(a_block_is_the_same_at_any_address)
                        MT_RUN(out_of_memory_while_packing))
