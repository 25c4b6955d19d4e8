/* replay.c -- the forward run. */
#include "analysis/replay/replay.h"

#include "analysis/replay/timeline.h"
#include "analysis/base/frames.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 255 };
#define MAX_TOTAL MT_REPLAY_MAX_TOTAL

/* Adds to a signed total; wraps instead of overflowing (the totals that matter are checked against
 * MAX_TOTAL). */
static void add_to(int64_t *total, uint64_t bytes) { *total = (int64_t)((uint64_t)*total + bytes); }
static void take_from(int64_t *total, uint64_t bytes)
{
    *total = (int64_t)((uint64_t)*total - bytes);
}

static char *copy_text(const char *s) { return mt_strndup(s, strlen(s)); }

uint32_t mt_replay_new_row(struct mt_replay *r, struct mt_attr a)
{
    uint8_t *slot = &r->row_of[(uint32_t)a.phase * MT_PH_COUNT + a.sub];
    struct mt_phase_row *row;
    /* more pairs than any job has: the bytes of the rest count as unattributed */
    if (r->out->phases.n >= MAX_ROWS) {
        *slot = 1;
        return 0;
    }
    row = MT_VEC_PUSH(&r->out->phases);
    if (row == NULL)
        return UINT32_MAX;
    row->phase = (enum mt_phase)a.phase;
    row->sub = (enum mt_phase)a.sub;
    row->first_event = UINT64_MAX;
    row->peak_inside_event = MT_NO_EVENT;
    *slot = (uint8_t)r->out->phases.n;
    return r->out->phases.n - 1;
}

enum { MIN_KEPT = 1 << 15, MAX_KEPT = 1 << 16 }; /* events, slots */

/* State of the forward run. */
struct run {
    struct mt_addrmap map;  /* live blocks: address -> event of the allocation */
    struct mt_addrmap kept; /* the same as it was before event kept_at */
    uint64_t kept_at, keep_next;
    int64_t rows[256];
    int64_t total, pending, reserved;
    uint64_t n_allocs;
    uint32_t row;       /* phase row of the event at hand */
    uint8_t phase, sub; /* of that row */
};

static void run_done(struct run *u)
{
    mt_addrmap_done(&u->map);
    mt_addrmap_done(&u->kept);
}

/* Keeps a copy of the table of live blocks every MIN_KEPT events, or every as many as it has slots,
 * while it has at most MAX_KEPT: mt_replay_live_at() begins at the copy instead of the first event.
 */
static int keep_state(struct run *u, uint64_t i)
{
    u->keep_next = i + (u->map.n_slots > MIN_KEPT ? u->map.n_slots : MIN_KEPT);
    if (u->map.n_slots == 0 || u->map.n_slots > MAX_KEPT)
        return 1;
    if (!mt_addrmap_copy(&u->kept, &u->map))
        return 0;
    u->kept_at = i;
    return 1;
}

/* Keeps the copy nearest to this event: the peak and the failure that counts are asked for later.
 */
static void keep_state_near(struct mt_replay *r, struct run *u)
{
    struct mt_addrmap m = r->near;
    if (u->kept_at <= r->near_at)
        return;
    r->near = u->kept;
    r->near_at = u->kept_at;
    u->kept = m;
    u->kept_at = 0;
}

static int add_old(struct mt_replay *r, uint64_t addr, uint64_t size, uint64_t gone_at,
                   uint64_t block_size, mt_stack_id stack)
{
    struct mt_old *old = MT_VEC_PUSH(&r->old);
    if (old == NULL)
        return 0;
    *old = (struct mt_old){addr, size, gone_at, block_size, stack};
    return 1;
}

static void note_alloc(struct mt_replay *r, struct mt_phase_row *p, const struct mt_event *e,
                       uint64_t i, struct mt_attr a)
{
    p->n_allocs++;
    p->alloc_bytes += e->size;
    p->by_conf[mt_attr_conf(a)] += e->size;
    if (p->first_event == UINT64_MAX) {
        p->first_event = i;
        p->first_ns = mt_event_ns(r->d, i);
    }
    p->last_event = i;
    p->last_ns = mt_event_ns(r->d, i);
    r->out->by_conf[mt_attr_conf(a)] += e->size;
    r->out->n_allocs++;
    r->out->alloc_bytes += e->size;
    if (a.phase == MT_PH_UNATTRIBUTED && a.sub == MT_PH_NONE)
        r->out->unattributed_bytes += e->size;
}

/* The label of the last failure. A job that catches failures and tries again records thousands with
 * one stack, so labels are kept by stack. */
static char *oom_label(struct mt_replay *r)
{
    uint32_t last = r->out->ooms.n - 1, at, unused;
    uint64_t key = (uint64_t)r->out->ooms.p[last].stack << 9;
    char label[512];
    bool had;
    const struct mt_oom *o = &r->out->ooms.p[last];
    const struct mt_note *name = mt_note_of(r->t, r->device, o->event, MT_NOTE_USER_METADATA);
    if (name != NULL || o->forward != 0)
        return copy_text(mt_birth_label(r, o->event, o->stack, name != NULL ? name->text : 0, label,
                                        sizeof label));
    if (mt_addrmap_get(&r->label_of, key, &at))
        return copy_text(r->out->ooms.p[at].label);
    if (!mt_addrmap_put(&r->label_of, key, last, &had, &unused))
        return NULL;
    return copy_text(mt_stack_label(r->t, r->out->ooms.p[last].stack, label, sizeof label));
}

struct mt_oom *mt_replay_add_oom(struct mt_replay *r, const struct mt_event *e, uint64_t i)
{
    struct mt_oom *o = MT_VEC_PUSH(&r->out->ooms);
    if (o == NULL)
        return NULL;
    o->event = i;
    o->time_ns = mt_event_ns(r->d, i);
    o->request = e->size;
    o->device_free = e->addr;
    o->stack = e->stack;
    o->attr = r->attr[i];
    o->stream = r->t->lanes.p[e->lane].stream;
    o->at.event = MT_NO_EVENT;
    o->forward = mt_forward_of(r, i);
    o->label = oom_label(r);
    return o->label != NULL ? o : NULL;
}

static int note_oom(struct mt_replay *r, struct run *u, const struct mt_event *e, uint64_t i)
{
    struct mt_device_analysis *d = r->out;
    struct mt_oom *o;
    if (mt_oom_is_a_try(r, i)) {
        d->n_tries++;
        d->largest_try = e->size > d->largest_try ? e->size : d->largest_try;
        return 1;
    }
    if (mt_oom_is_next(d, e->stack, u->n_allocs)) {
        keep_state_near(r, u);
        d->oom_counts = d->ooms.n;
    }
    o = mt_replay_add_oom(r, e, i);
    if (o == NULL)
        return 0;
    o->n_allocs = u->n_allocs;
    o->at.event = (int64_t)i;
    o->at.time_ns = o->time_ns;
    o->at.live = u->total > 0 ? (uint64_t)u->total : 0;
    o->at.pending = u->pending > 0 ? (uint64_t)u->pending : 0;
    o->at.reserved = u->reserved > 0 ? (uint64_t)u->reserved : 0;
    o->at.reserved_free = u->reserved > u->total ? (uint64_t)(u->reserved - u->total) : 0;
    return 1;
}

static int apply_event(struct mt_replay *r, struct run *u, struct mt_phase_row *p,
                       const struct mt_event *e, uint64_t i, struct mt_attr a)
{
    uint32_t birth;
    bool had;
    switch ((enum mt_action)e->action) {
    case MT_ACT_ALLOC:
        u->n_allocs++;
        if (!mt_addrmap_put(&u->map, e->addr, (uint32_t)i, &had, &birth))
            return 0;
        r->out->n_double_allocs += had;
        add_to(&u->total, e->size);
        add_to(&u->rows[u->row], e->size);
        note_alloc(r, p, e, i, a);
        break;
    case MT_ACT_FREE_REQUESTED:
        add_to(&u->pending, e->size);
        if (r->fate != NULL)
            r->fate[i].freed = (uint32_t)i;
        break;
    case MT_ACT_FREE_COMPLETED:
        take_from(&u->pending, e->size);
        take_from(&u->total, e->size);
        if (mt_addrmap_take(&u->map, e->addr, &birth)) {
            take_from(&u->rows[mt_replay_row(r, r->attr[birth])], e->size);
            if (r->fate != NULL) {
                r->fate[i].freed = birth;
                r->fate[birth].freed = (uint32_t)i;
            }
        } else {
            take_from(&u->rows[0], e->size);
            r->out->n_unmatched_frees++;
            if (!add_old(r, e->addr, e->size, i, 0, 0))
                return 0;
        }
        break;
    case MT_ACT_SEGMENT_ALLOC:
    case MT_ACT_SEGMENT_MAP:
        add_to(&u->reserved, e->size);
        r->n_segment_events = i + 1;
        break;
    case MT_ACT_SEGMENT_FREE:
    case MT_ACT_SEGMENT_UNMAP:
        take_from(&u->reserved, e->size);
        r->n_segment_events = i + 1;
        break;
    case MT_ACT_OOM:
        if (!note_oom(r, u, e, i))
            return 0;
        break;
    case MT_ACT_OTHER:
    case MT_ACT_SNAPSHOT:
    case MT_ACT_ANNOTATE:
    case MT_ACT_COUNT: break;
    }
    return 1;
}

/* What was there all the time, of a recording that has the sum but no blocks: one block without an
 * address. */
static int find_rest(struct mt_replay *r)
{
    uint64_t old = 0;
    for (uint32_t i = 0; i < r->old.n; i++)
        old += r->old.p[i].size;
    if (old > r->out->live_start) {
        r->out->withheld = copy_text("more is freed in it than can have been there: its events "
                                     "contradict each other");
        return r->out->withheld != NULL;
    }
    return old == r->out->live_start ||
           add_old(r, 0, r->out->live_start - old, UINT64_MAX, r->out->live_start - old, 0);
}

/* Finds the ghosts: blocks that are active at the end and were not allocated in the trace, so live
 * throughout. */
static int find_ghosts(struct mt_replay *r, struct run *u)
{
    const struct mt_trace *t = r->t;
    uint32_t at;
    if (r->d->has_totals)
        return find_rest(r);
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (!mt_segment_is_on(s, r->d->ordinal, r->d->kind))
            continue;
        for (uint32_t k = s->first_block; k < s->first_block + s->n_blocks; k++) {
            const struct mt_block *b = &t->blocks.p[k];
            if (b->state != MT_BLOCK_INACTIVE && !mt_addrmap_get(&u->map, b->addr, &at) &&
                !add_old(r, b->addr, b->requested, UINT64_MAX, b->size, b->stack))
                return 0;
        }
    }
    return 1;
}

static void count_births(struct mt_replay *r)
{
    struct mt_device_analysis *o = r->out;
    o->birth_blocks[MT_BIRTH_IN_TRACE] = o->n_allocs;
    o->birth_bytes[MT_BIRTH_IN_TRACE] = o->alloc_bytes;
    for (uint32_t i = 0; i < r->old.n; i++) {
        enum mt_birth b =
            r->old.p[i].gone_at == UINT64_MAX ? MT_BIRTH_GHOST : MT_BIRTH_BEFORE_TRACE;
        o->birth_blocks[b]++;
        o->birth_bytes[b] += r->old.p[i].size;
    }
}

static int place_ghosts(struct mt_replay *r, struct mt_phaser *ph)
{
    struct mt_device_analysis *o = r->out;
    uint64_t *bytes = mt_calloc(256, sizeof *bytes);
    if (bytes == NULL)
        return 0;
    for (uint32_t i = 0; i < r->old.n; i++) {
        struct mt_attr a = {0, MT_PH_UNATTRIBUTED, MT_PH_NONE};
        uint32_t row;
        if (r->old.p[i].gone_at != UINT64_MAX || r->old.p[i].stack == 0)
            continue;
        a = mt_phaser_stack(ph, r->old.p[i].stack);
        row = mt_replay_row(r, a);
        if (row == UINT32_MAX) {
            mt_free(bytes);
            return 0;
        }
        bytes[row] += r->old.p[i].size;
    }
    for (uint32_t row = 1; row < o->phases.n; row++) {
        if (bytes[row] != 0) {
            struct mt_phase_row *unknown = &o->phases.p[0]; /* counted as unattributed until now */
            mt_tl_move(&o->timeline, row, bytes[row]);
            mt_tl_move(&o->by_event, row, bytes[row]);
            unknown->retained -= bytes[row] < unknown->retained ? bytes[row] : unknown->retained;
        }
        if (o->phases.p[row].n_allocs == 0)
            o->phases.p[row].retained = bytes[row];
    }
    mt_free(bytes);
    return 1;
}

static int withhold(struct mt_replay *r, const struct run *u, uint64_t i)
{
    const char *what = "pending";
    int64_t total = u->pending;
    char buf[256];
    if ((uint64_t)u->total > MAX_TOTAL || (uint64_t)u->reserved > MAX_TOTAL) {
        what = (uint64_t)u->total > MAX_TOTAL ? "live" : "reserved";
        total = (uint64_t)u->total > MAX_TOTAL ? u->total : u->reserved;
    }
    (void)snprintf(buf, sizeof buf,
                   "at event %llu the %s bytes would be %s: events are missing from the trace",
                   (unsigned long long)i, what,
                   total < 0 ? "negative" : "more than any memory has");
    r->out->withheld = copy_text(buf);
    return r->out->withheld != NULL;
}

/* Whether a completed free was requested by the event before it. PyTorch writes both events of
 * every free, one behind the other unless another stream still uses the block; only such a free
 * waits. */
static bool ends_at_once(const struct mt_replay *r, const struct mt_event *e, uint64_t i)
{
    const struct mt_event *before =
        e->action == MT_ACT_FREE_COMPLETED && i > 0 ? mt_event_at(r->d, i - 1) : NULL;
    return before != NULL && before->action == MT_ACT_FREE_REQUESTED && before->addr == e->addr;
}

static void note_pending(struct mt_device_analysis *o, int64_t pending)
{
    if (pending > 0 && (uint64_t)pending > o->pending_peak)
        o->pending_peak = (uint64_t)pending;
}

static inline void before_event(struct mt_tl_run *tl, const struct run *u,
                                const struct mt_device_analysis *o, uint64_t x)
{
    if (x >= tl->next_x)
        mt_tl_advance(tl, x, u->rows, o->phases.n, (uint64_t)u->total,
                      u->pending > 0 ? (uint64_t)u->pending : 0, (uint64_t)u->reserved);
}

static inline void after_event(struct mt_tl_run *tl, const struct run *u,
                               const struct mt_device_analysis *o, uint32_t row)
{
    mt_tl_event(tl, u->rows, o->phases.n, (uint64_t)u->total,
                u->pending > 0 ? (uint64_t)u->pending : 0, (uint64_t)u->reserved, row);
}

/* The row of an event whose phase is another one than that of the event before. 0 = out of memory.
 */
static int to_row(struct mt_replay *r, struct run *u, struct mt_attr a, uint64_t i)
{
    struct mt_phase_row *was;
    uint32_t row = mt_replay_row(r, a);
    if (row == UINT32_MAX)
        return 0;
    u->phase = a.phase;
    u->sub = a.sub;
    if (row != u->row || i == 0) {
        int64_t left = u->rows[u->row];
        was = &r->out->phases.p[u->row];
        was->retained = left > 0 ? (uint64_t)left : 0;
        r->out->phases.p[row].n_occurrences++;
        u->row = row;
    }
    return 1;
}

int mt_replay_run(struct mt_replay *r, struct mt_phaser *ph)
{
    struct mt_device_analysis *o = r->out;
    struct run *u = mt_calloc(1, sizeof *u);
    /* one timeline by time, and a second one by event where there are times */
    struct mt_tl_run *tl = mt_calloc(2, sizeof *tl);
    int rc = 0;
    unsigned n_tl = 1;
    bool has_time,
        may_wait = r->start_pending != 0 || r->d->n_by_action[MT_ACT_FREE_REQUESTED] != 0;
    if (u == NULL || tl == NULL || !mt_tl_begin(tl, &o->timeline, r->d, true))
        goto out;
    if (o->timeline.has_time) {
        if (!mt_tl_begin(tl + 1, &o->by_event, r->d, false))
            goto out;
        n_tl = 2;
    }
    has_time = o->timeline.has_time;
    u->total = r->start_live;
    u->pending = r->start_pending;
    u->reserved = r->start_reserved;
    u->rows[0] = u->total;
    o->live_peak = o->live_start;
    o->peak_event = -1;
    o->reserved_peak = o->reserved_start;
    o->pending_peak = o->pending_start;
    o->focus.pending = o->pending_start;
    o->focus.reserved = o->reserved_start;
    r->n_segment_events = 0;
    for (uint64_t i = 0; i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        struct mt_attr a = r->attr[i];
        struct mt_phase_row *p;
        if (i >= u->keep_next && !keep_state(u, i))
            goto out;
        if ((a.phase != u->phase || a.sub != u->sub || i == 0) && !to_row(r, u, a, i))
            goto out;
        p = &o->phases.p[u->row];
        if (has_time)
            before_event(tl + 1, u, o, i);
        before_event(tl, u, o, has_time ? mt_event_ns(r->d, i) : i);
        if (may_wait && !ends_at_once(r, e, i))
            note_pending(o, u->pending);
        if (!apply_event(r, u, p, e, i, a))
            goto out;
        if ((uint64_t)u->total > MAX_TOTAL ||
            (uint64_t)u->reserved >
                MAX_TOTAL || /* negative totals are larger than MAX_TOTAL when unsigned */
            (uint64_t)u->pending + MAX_TOTAL > 2 * (uint64_t)MAX_TOTAL) {
            rc = withhold(r, u, i);
            goto out;
        }
        if ((uint64_t)u->total > o->live_peak) {
            o->live_peak = (uint64_t)u->total;
            o->peak_event = (int64_t)i;
            o->peak_ns = mt_event_ns(r->d, i);
            o->focus.pending = u->pending > 0 ? (uint64_t)u->pending : 0;
            o->focus.reserved = (uint64_t)u->reserved;
            if (o->ooms.n == 0)
                keep_state_near(r, u);
        }
        if ((uint64_t)u->reserved > o->reserved_peak)
            o->reserved_peak = (uint64_t)u->reserved;
        if ((uint64_t)u->total > p->peak_inside) {
            p->peak_inside = (uint64_t)u->total;
            p->peak_inside_event = (int64_t)i;
        }
        after_event(tl, u, o, u->row);
        if (has_time)
            after_event(tl + 1, u, o, u->row);
    }
    note_pending(o, u->pending);
    if (r->d->events.n > 0)
        o->phases.p[u->row].retained = u->rows[u->row] > 0 ? (uint64_t)u->rows[u->row] : 0;
    for (unsigned k = 0; k < n_tl; k++)
        mt_tl_end(tl + k, o->phases.n);
    if (!find_ghosts(r, u) || !place_ghosts(r, ph))
        goto out;
    count_births(r);
    mt_ooms_decide(o);
    rc = 1;
out:
    if (u != NULL)
        run_done(u);
    mt_free(u);
    mt_free(tl);
    return rc;
}

void mt_replay_done(struct mt_replay *r)
{
    MT_VEC_DONE(&r->old);
    mt_addrmap_done(&r->label_of);
    mt_names_done(&r->names);
    mt_addrmap_done(&r->near);
    mt_free(r->row_of);
    r->row_of = NULL;
}
