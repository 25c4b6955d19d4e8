/* export.c -- what is taken from a device while its events and fates are there, and what all
 * formats share. */
#include "render/export/impl.h"

#include "analysis/roles/roles.h"
#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "analysis/base/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLICES = 20000 };

/* ---- the curve ---- */

struct walk {
    int64_t role[MT_ROLE_COUNT], live, pending, reserved, best;
    uint32_t next_old;
};

static void add(int64_t *sum, uint64_t bytes) { *sum = (int64_t)((uint64_t)*sum + bytes); }
static void subtract(int64_t *sum, uint64_t bytes) { *sum = (int64_t)((uint64_t)*sum - bytes); }
static uint64_t at_least_0(int64_t v) { return v > 0 ? (uint64_t)v : 0; }

static void apply(struct walk *k, const struct mt_roles *w, const struct mt_event *e, uint32_t i)
{
    unsigned role;
    switch ((enum mt_action)e->action) {
    case MT_ACT_ALLOC:
        add(&k->role[w->fate[i].role], e->size);
        add(&k->live, e->size);
        break;
    case MT_ACT_FREE_REQUESTED: add(&k->pending, e->size); break;
    case MT_ACT_FREE_COMPLETED:
        role = w->fate[i].role;
        if (w->fate[i].freed ==
            MT_NEVER) /* older than the trace: they stand in the order of their frees */
            role =
                k->next_old < w->r->old.n ? w->old_role[k->next_old++] : (unsigned)MT_ROLE_UNKNOWN;
        subtract(&k->role[role], e->size);
        subtract(&k->live, e->size);
        subtract(&k->pending, e->size);
        break;
    case MT_ACT_SEGMENT_ALLOC:
    case MT_ACT_SEGMENT_MAP: add(&k->reserved, e->size); break;
    case MT_ACT_SEGMENT_FREE:
    case MT_ACT_SEGMENT_UNMAP: subtract(&k->reserved, e->size); break;
    case MT_ACT_OOM:
    case MT_ACT_OTHER:
    case MT_ACT_SNAPSHOT:
    case MT_ACT_ANNOTATE:
    case MT_ACT_COUNT: break;
    }
}

static void put_point(struct mt_export_point *p, const struct walk *k, uint64_t x)
{
    int64_t unknown = k->role[MT_ROLE_UNKNOWN];
    p->x = x;
    p->live = at_least_0(k->live);
    p->pending = at_least_0(k->pending);
    p->reserved = at_least_0(k->reserved);
    for (int r = 0; r < MT_ROLE_COUNT; r++) {
        p->role[r] = at_least_0(k->role[r]);
        /* more of it was freed than allocated: the excess was counted as unknown */
        if (k->role[r] < 0 && r != MT_ROLE_UNKNOWN)
            unknown = (int64_t)((uint64_t)unknown + (uint64_t)k->role[r]);
    }
    p->role[MT_ROLE_UNKNOWN] = at_least_0(unknown);
}

static int new_point(struct mt_export_track *t, const struct walk *k, uint64_t x)
{
    struct mt_export_point *p = MT_VEC_PUSH(&t->points);
    if (p != NULL)
        put_point(p, k, x);
    return p != NULL;
}

static bool changes(const struct mt_attr *attr, uint32_t i)
{
    return i > 0 && (attr[i].phase != attr[i - 1].phase || attr[i].sub != attr[i - 1].sub);
}

/* The length from which stretches of sub-phases are kept: any but none at all, unless there are too
 * many. */
static uint64_t least_length(const struct mt_attr *attr, uint32_t n, uint64_t span, bool by_time)
{
    uint32_t many = 1;
    for (uint32_t i = 1; i < n; i++)
        many += changes(attr, i);
    return (many > MAX_SLICES ? span / MAX_SLICES : 0) + (by_time ? 1u : 0u);
}

/* One sub-phase after the other; those too short to be seen are counted. */
static int new_slice(struct mt_export_track *t, struct mt_attr a, uint64_t x0, uint64_t x1,
                     uint64_t least)
{
    struct mt_export_slice *s;
    if (a.sub == MT_PH_NONE)
        return 1;
    if (x1 - x0 < least) {
        t->n_short++;
        return 1;
    }
    s = MT_VEC_PUSH(&t->slices);
    if (s != NULL)
        *s = (struct mt_export_slice){x0, x1, a.phase, a.sub};
    return s != NULL;
}

static int gather_curve(struct mt_export_track *t, const struct mt_roles *w,
                        const struct mt_attr *attr, const struct mt_device_analysis *o)
{
    const struct mt_replay *r = w->r;
    struct walk k = {.best = -1, .pending = r->start_pending, .reserved = r->start_reserved};
    uint32_t n = (uint32_t)r->d->events.n;
    uint64_t x0 = t->by_time ? o->timeline.x0 : 0,
             x1 = t->by_time ? o->timeline.x1 : (uint64_t)n - 1;
    uint64_t step = (x1 - x0) / MT_EXPORT_BUCKETS + 1,
             least = least_length(attr, n, x1 - x0, t->by_time);
    uint64_t x = x0, since = x0, bucket = 0;
    /* a burst of events is cut as well, not only the time */
    uint32_t every = n / MT_EXPORT_BUCKETS + 1;
    /* of it unknown: what no block accounts for, mostly nothing */
    k.live = k.role[MT_ROLE_UNKNOWN] = r->start_live;
    for (uint32_t i = 0; i < r->old.n; i++) {
        add(&k.role[w->old_role[i]], r->old.p[i].size);
        subtract(&k.role[MT_ROLE_UNKNOWN], r->old.p[i].size);
    }
    if (!new_point(t, &k, x0))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        uint64_t now = t->by_time ? mt_event_ns(r->d, i) : i;
        if (now > x && now <= x1) /* a clock that goes backwards stands still */
            x = now;
        if (changes(attr, i)) {
            if (!new_slice(t, attr[i - 1], since, x, least))
                return 0;
            since = x;
        }
        apply(&k, w, e, i);
        if (i % every == 0 || (x - x0) / step != bucket) {
            bucket = (x - x0) / step;
            k.best = k.live;
            if (!new_point(t, &k, x))
                return 0;
        } else if (k.live > k.best) {
            k.best = k.live;
            put_point(&t->points.p[t->points.n - 1], &k, x);
        }
    }
    return new_slice(t, attr[n - 1], since, x, least) && new_point(t, &k, x1);
}

/* ---- moments ---- */

static int by_stack(const void *pa, const void *pb)
{
    const struct mt_live *a = pa, *b = pb;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}
static int by_bytes(const void *pa, const void *pb)
{
    const struct mt_export_weight *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* total: what the curve says; UINT64_MAX = there is no curve. */
static int weigh(struct mt_export_moment *m, struct mt_live_set *live, uint64_t total)
{
    struct mt_export_weight *at = NULL;
    if (live->n > 1)
        qsort(live->p, live->n, sizeof *live->p, by_stack);
    for (uint32_t i = 0; i < live->n; i++) {
        if (live->p[i].size == 0) /* nothing to show, and no width in any viewer */
            continue;
        if (at == NULL || at->stack != live->p[i].stack) {
            at = MT_VEC_PUSH(&m->weights);
            if (at == NULL)
                return 0;
            at->stack = live->p[i].stack;
        }
        at->bytes += live->p[i].size;
        at->blocks++;
        m->live += live->p[i].size;
    }
    if (total != UINT64_MAX && m->live < total) {
        at = MT_VEC_PUSH(&m->weights);
        if (at == NULL)
            return 0;
        *at = (struct mt_export_weight){MT_EXPORT_LOST, total - m->live, 0};
        m->live = total;
    } else if (total != UINT64_MAX) {
        m->over = m->live - total;
    }
    if (m->weights.n > 1)
        qsort(m->weights.p, m->weights.n, sizeof *m->weights.p, by_bytes);
    return 1;
}

static int add_moment(struct mt_export_track *t, const struct mt_roles *w, struct mt_phaser *ph,
                      int64_t at, uint64_t total, const char *name)
{
    struct mt_export_moment *m = MT_VEC_PUSH(&t->moments);
    struct mt_live_set live = {NULL, 0, 0};
    int ok;
    if (m == NULL)
        return 0;
    m->event = at;
    m->name = mt_strndup(name, strlen(name));
    ok = m->name != NULL &&
         (at == MT_NO_EVENT ? mt_replay_live_end(w->r, ph, &live)
                            : mt_replay_live_at(w->r, ph, at, &live)) &&
         weigh(m, &live, total);
    mt_free(live.p);
    return ok;
}

static uint64_t live_after(const struct mt_roles *w, uint64_t at)
{
    int64_t live = w->r->start_live;
    for (uint64_t i = 0; i <= at; i++) {
        const struct mt_event *e = mt_event_at(w->r->d, i);
        if (e->action == MT_ACT_ALLOC)
            add(&live, e->size);
        else if (e->action == MT_ACT_FREE_COMPLETED)
            subtract(&live, e->size);
    }
    return at_least_0(live);
}

/* The highest moment of each coarse phase, in the order in which phases occur. */
static int phase_peaks(struct mt_export_track *t, const struct mt_roles *w, struct mt_phaser *ph,
                       const struct mt_device_analysis *o)
{
    const struct mt_phase_row *best[MT_PH_COUNT] = {NULL};
    char name[160];
    for (uint32_t i = 0; i < o->phases.n; i++) {
        const struct mt_phase_row *p = &o->phases.p[i];
        if (p->peak_inside_event != MT_NO_EVENT && p->phase != MT_PH_UNATTRIBUTED &&
            (best[p->phase] == NULL || p->peak_inside > best[p->phase]->peak_inside))
            best[p->phase] = p;
    }
    for (uint32_t i = 0; i < o->phases.n && t->moments.n < MT_EXPORT_MOMENTS; i++) {
        const struct mt_phase_row *p = best[o->phases.p[i].phase];
        if (p == NULL)
            continue;
        best[p->phase] = NULL;
        snprintf(name, sizeof name, "peak of %s", mt_phase_words(p->phase));
        if (!add_moment(t, w, ph, p->peak_inside_event, p->peak_inside, name))
            return 0;
    }
    return 1;
}

static int gather_moments(struct mt_export *x, struct mt_export_track *t, const struct mt_roles *w,
                          struct mt_phaser *ph, const struct mt_device_analysis *o)
{
    char name[96], number[32];
    /* only the default: whoever asks for a moment gets that one or none */
    if (o->withheld != NULL) {
        return x->at != MT_EXPORT_AT_DEFAULT ||
               add_moment(t, w, ph, MT_NO_EVENT, UINT64_MAX,
                          "live at the dump (the curve is withheld)");
    }
    if (x->at == MT_EXPORT_AT_EVENT) {
        if (x->event >= w->r->d->events.n)
            return 1;
        snprintf(name, sizeof name, "live after event %s", mt_fmt_count(number, x->event));
        return add_moment(t, w, ph, (int64_t)x->event, live_after(w, x->event), name);
    }
    if (x->at != MT_EXPORT_AT_OOM &&
        !add_moment(t, w, ph, o->peak_event, o->live_peak,
                    t->end_only ? "live at the dump" : "live at the peak"))
        return 0;
    if (o->ooms.n != 0 &&
        (x->at == MT_EXPORT_AT_OOM ||
         (x->at == MT_EXPORT_AT_DEFAULT && x->to == MT_EXPORT_SPEEDSCOPE)) &&
        !add_moment(t, w, ph, (int64_t)o->ooms.p[0].event, o->ooms.p[0].at.live,
                    "live when memory ran out"))
        return 0;
    return x->at != MT_EXPORT_AT_DEFAULT || x->to != MT_EXPORT_SPEEDSCOPE ||
           phase_peaks(t, w, ph, o);
}

int mt_export_device(void *arg, const struct mt_roles *w, const struct mt_attr *attr,
                     struct mt_phaser *ph, const struct mt_device_analysis *o, struct mt_err *err)
{
    struct mt_export *x = arg;
    struct mt_export_track *t = MT_VEC_PUSH(&x->tracks);
    (void)err; /* running out of memory is all that can go wrong, and 0 says that */
    if (t == NULL)
        return 0;
    t->trace = w->r->t;
    t->device = o->device;
    t->by_time = o->timeline.has_time;
    t->end_only = o->withheld != NULL || o->n_events == 0;
    if (x->to != MT_EXPORT_PERFETTO)
        return gather_moments(x, t, w, ph, o);
    return w->fate == NULL || w->old_role == NULL || o->withheld != NULL ||
           gather_curve(t, w, attr, o);
}

void mt_export_cut(struct mt_export *x, uint32_t n_tracks)
{
    while (x->tracks.n > n_tracks) {
        struct mt_export_track *t = &x->tracks.p[--x->tracks.n];
        for (uint32_t i = 0; i < t->moments.n; i++) {
            mt_free(t->moments.p[i].name);
            MT_VEC_DONE(&t->moments.p[i].weights);
        }
        MT_VEC_DONE(&t->moments);
        MT_VEC_DONE(&t->points);
        MT_VEC_DONE(&t->slices);
    }
}

void mt_export_done(struct mt_export *x)
{
    mt_export_cut(x, 0);
    MT_VEC_DONE(&x->tracks);
}

/* ---- what all formats share ---- */

void mt_render_export(const struct mt_export *x, const struct mt_report *r, struct mt_out *o)
{
    switch (x->to) {
    case MT_EXPORT_PERFETTO: mt_export_perfetto(x, r, o); break;
    case MT_EXPORT_SPEEDSCOPE: mt_export_speedscope(x, r, o); break;
    case MT_EXPORT_FOLDED: mt_export_folded(x, r, o); break;
    }
}
