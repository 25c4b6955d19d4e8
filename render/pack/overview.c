/* The track in buckets that share an axis equally, each a true state at its highest instant. */
#include "render/pack/impl.h"

#include <string.h>

/* The first x that belongs to bucket col. */
static uint64_t start_of(const struct mt_ov *v, uint32_t col)
{
    uint64_t q = v->span / v->n, rest = v->span % v->n;
    return v->x0 + q * col + (rest * col + v->n - 1) / v->n;
}

static void store_groups(const struct mt_pack *p, uint64_t *to, const struct mt_ov_now *now)
{
    uint64_t rest = now->live;
    for (uint32_t i = 0; i < p->n_groups; i++) {
        int64_t bytes = now->role[p->group[i]];
        to[i] = bytes <= 0               ? 0
                : (uint64_t)bytes < rest ? (uint64_t)bytes
                                         : rest; /* a contradictory trace: never more than live */
        rest -= to[i];
    }
    to[p->n_groups] = rest;
}

static uint64_t *groups_of(const struct mt_ov *v, uint32_t col)
{
    return v->group + (size_t)col * (v->p->n_groups + 1);
}

static void store(struct mt_ov *v, uint32_t col, const struct mt_ov_now *now)
{
    struct mt_ov_bucket *b = &v->bucket[col];
    b->high = b->low = now->live;
    b->reserved = now->reserved;
    b->pending = now->pending;
    b->at = now->event;
    store_groups(v->p, groups_of(v, col), now);
}

static int begin(struct mt_ov *v, struct mt_pack *p, bool by_time, const struct mt_ov_now *start)
{
    uint64_t last = by_time ? p->end : p->n_events != 0 ? p->n_events - 1 : 0;
    memset(v, 0, sizeof *v);
    v->p = p;
    v->by_time = by_time;
    v->span = last + 1;
    v->fine =
        v->span >= MT_PACK_BUCKETS * MT_PACK_FINE && p->n_events > MT_PACK_BUCKETS * MT_PACK_FINE
            ? MT_PACK_FINE
            : 1;
    v->n = v->fine != 1                ? MT_PACK_BUCKETS * MT_PACK_FINE
           : v->span < MT_PACK_BUCKETS ? (uint32_t)v->span
                                       : MT_PACK_BUCKETS;
    v->bucket = mt_calloc(v->n, sizeof *v->bucket);
    v->coarse_phase = mt_calloc(v->n / v->fine + 1, 1);
    v->group = mt_calloc((size_t)v->n * (p->n_groups + 1), sizeof *v->group);
    if (v->bucket == NULL || v->coarse_phase == NULL || v->group == NULL)
        return 0;
    v->next_x = v->n > 1 ? start_of(v, 1) : UINT64_MAX;
    store(v, 0, start);
    return 1;
}

/* The phase with most events, + 1; `else_` where there are none. */
static uint8_t majority(const uint32_t count[MT_PH_COUNT], uint8_t else_)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < MT_PH_COUNT; i++)
        if (count[i] > best) {
            best = count[i];
            else_ = (uint8_t)(i + 1);
        }
    return else_;
}

_Static_assert(MT_PH_COUNT <= 64, "a bit for each phase");

/* As majority() of those that were seen; their counts are added to `sum`, where there is one, and
 * zero afterwards. */
static uint8_t take_majority(uint32_t count[MT_PH_COUNT], uint64_t *seen, uint32_t *sum,
                             uint8_t else_)
{
    uint32_t best = 0;
    for (; *seen != 0; *seen &= *seen - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(*seen);
        if (count[i] > best) {
            best = count[i];
            else_ = (uint8_t)(i + 1);
        }
        if (sum != NULL)
            sum[i] += count[i];
        count[i] = 0;
    }
    return else_;
}

static void close_coarse(struct mt_ov *v, uint32_t col)
{
    uint32_t c = col / v->fine;
    v->coarse_phase[c] =
        take_majority(v->coarse_count, &v->coarse_seen, NULL, c != 0 ? v->coarse_phase[c - 1] : 0);
}

static void close_bucket(struct mt_ov *v)
{
    v->coarse_seen |= v->seen;
    v->bucket[v->col].phase = take_majority(v->count, &v->seen, v->coarse_count,
                                            v->col != 0 ? v->bucket[v->col - 1].phase : 0);
}

/* Behind the bucket at work, up to and without `to`: the state that the last event left. */
static void fill(struct mt_ov *v, uint32_t to, const struct mt_ov_now *now)
{
    close_bucket(v);
    for (uint32_t k = v->col + 1; k <= to; k++) {
        if (k % v->fine == 0)
            close_coarse(v, k - 1);
        if (k == to)
            break;
        store(v, k, now);
        v->bucket[k].phase = v->bucket[v->col].phase;
    }
}

/* To the bucket of x, which is not that at work. */
static void move(struct mt_ov *v, uint64_t x, const struct mt_ov_now *now)
{
    uint32_t to = v->col;
    while (to + 1 < v->n && start_of(v, to + 1) <= x)
        to++;
    fill(v, to, now);
    v->col = to;
    v->next_x = to + 1 < v->n ? start_of(v, to + 1) : UINT64_MAX;
}

/* ---- the block ---- */

enum { C_HEAD, C_EVENTS, C_HIGH, C_LOW, C_RESERVED, C_PENDING, C_AT, C_PHASE, C_GROUP };

static void difference(struct mt_bytes *b, uint64_t now, uint64_t *before)
{
    mt_put_zig(b, (int64_t)now - (int64_t)*before);
    *before = now;
}

/* The phase that held most of bucket i of so many. */
static uint8_t phase_of(const struct mt_ov *v, uint32_t i, uint32_t merge)
{
    uint32_t n = merge / v->fine, count[MT_PH_COUNT] = {0};
    if (merge == 1)
        return v->bucket[i].phase;
    for (uint32_t k = i * n; n > 1 && k < (i + 1) * n; k++)
        for (uint32_t b = k * v->fine; v->coarse_phase[k] != 0 && b < (k + 1) * v->fine; b++)
            count[v->coarse_phase[k] - 1] += v->bucket[b].events;
    return majority(count, v->coarse_phase[i * n]);
}

/* The fine overview (merge == 1 where there is a coarse one) is in pages of windows alone. */
static int write(const struct mt_ov *v, uint32_t merge, struct mt_blob *out)
{
    struct mt_bytes c[C_GROUP + MT_PACK_GROUPS + 1];
    uint64_t before[C_GROUP + MT_PACK_GROUPS + 1] = {0};
    uint32_t n_groups = v->p->n_groups + 1, n = v->n / merge;
    int rc;
    memset(c, 0, sizeof c);
    mt_put_var(&c[C_HEAD], n);
    mt_put_var(&c[C_HEAD], v->by_time);
    mt_put_var(&c[C_HEAD], v->x0);
    mt_put_var(&c[C_HEAD], v->x0 + v->span);
    mt_put_var(&c[C_HEAD], n_groups);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = i * merge, best = UINT32_MAX, end = from + merge;
        uint64_t events = 0, low = UINT64_MAX, reserved = 0;
        for (uint32_t k = from; k < end; k++)
            events += v->bucket[k].events;
        /* what a bucket without events shows belongs to the one before */
        for (uint32_t k = from; k < end; k++) {
            if (v->bucket[k].events == 0 && events != 0 && k != 0)
                continue;
            best = best == UINT32_MAX || v->bucket[k].high > v->bucket[best].high ? k : best;
            low = v->bucket[k].low < low ? v->bucket[k].low : low;
            reserved = v->bucket[k].reserved > reserved ? v->bucket[k].reserved : reserved;
        }
        mt_put_var(&c[C_EVENTS], events);
        difference(&c[C_HIGH], v->bucket[best].high, &before[C_HIGH]);
        difference(&c[C_LOW], low, &before[C_LOW]);
        difference(&c[C_RESERVED], reserved, &before[C_RESERVED]);
        difference(&c[C_PENDING], v->bucket[best].pending, &before[C_PENDING]);
        difference(&c[C_AT], v->bucket[best].at, &before[C_AT]);
        mt_put_var(&c[C_PHASE], phase_of(v, i, merge));
        for (uint32_t g = 0; g < n_groups; g++)
            difference(&c[C_GROUP + g], v->group[(size_t)best * n_groups + g],
                       &before[C_GROUP + g]);
    }
    rc = merge != 1 || v->fine == 1 ? mt_blob_make(&v->p->press, out, c, C_GROUP + n_groups)
                                    : mt_blob_quick(&v->p->press, out, c, C_GROUP + n_groups);
    for (uint32_t i = 0; i < C_GROUP + n_groups; i++)
        mt_bytes_done(&c[i]);
    return rc;
}

static bool is_thinned(const struct mt_ov *v) { return v->n / v->fine == MT_PACK_BUCKETS; }

static int write_rest(const struct mt_ov *v, struct mt_overview *out)
{
    return (!is_thinned(v) || write(v, v->fine * MT_PACK_THIN, &out->thin)) &&
           (v->fine == 1 || write(v, 1, &out->fine));
}

static int end(struct mt_ov *v, const struct mt_ov_now *now, struct mt_overview *out)
{
    fill(v, v->n, now);
    if (!write(v, v->fine, &out->coarse))
        return 0;
    if (!v->p->waits || !is_thinned(v))
        return write_rest(v, out);
    out->waits = mt_malloc(sizeof *v);
    if (out->waits == NULL)
        return 0;
    *out->waits = *v;
    memset(v, 0, sizeof *v);
    return 1;
}

/* ---- both ---- */

void mt_ovs_turn(struct mt_ovs *v, uint32_t next)
{
    uint32_t phase = v->run_phase < MT_PH_COUNT ? v->run_phase : 0;
    if (v->run != 0) {
        v->by_event.count[phase] += v->run;
        v->by_event.seen |= UINT64_C(1) << phase;
        v->by_time.count[phase] += v->run;
        v->by_time.seen |= UINT64_C(1) << phase;
    }
    v->run = 0;
    v->run_phase = next;
}

void mt_ovs_keep(struct mt_ovs *v, const struct mt_ov_now *now)
{
    store_groups(v->p, v->group, now);
    v->dirty = false;
}

/* The events since the last bound, into the bucket at work. */
static void take(struct mt_ov *v, const struct mt_ovs *from)
{
    struct mt_ov_bucket *b = &v->bucket[v->col];
    /* the first bucket has the state before the first event */
    bool first = b->events == 0 && v->col != 0;
    if (first || (uint64_t)from->high > b->high) {
        b->high = (uint64_t)from->high;
        b->pending = from->pending;
        b->at = from->at;
        memcpy(groups_of(v, v->col), from->group, (v->p->n_groups + 1) * sizeof *v->group);
    }
    b->low = first || from->low < b->low ? from->low : b->low;
    b->reserved = first || from->reserved > b->reserved ? from->reserved : b->reserved;
    b->events += from->events;
}

static void start(struct mt_ovs *v)
{
    v->high = -1;
    v->low = UINT64_MAX;
    v->reserved = 0;
    v->events = 0;
    v->next_event = v->by_event.next_x;
    v->next_tick = v->p->has_time ? v->by_time.next_x : UINT64_MAX;
}

static void close_stretch(struct mt_ovs *v, const struct mt_ov_now *now)
{
    mt_ovs_turn(v, v->run_phase);
    if (v->dirty)
        mt_ovs_keep(v, now);
    if (v->events == 0)
        return;
    take(&v->by_event, v);
    if (v->p->has_time)
        take(&v->by_time, v);
}

void mt_ovs_move(struct mt_ovs *v, uint64_t event, uint64_t tick, const struct mt_ov_now *now)
{
    close_stretch(v, now);
    if (event >= v->next_event)
        move(&v->by_event, event, now);
    if (tick >= v->next_tick)
        move(&v->by_time, tick, now);
    start(v);
}

int mt_ovs_begin(struct mt_ovs *v, struct mt_pack *p, const struct mt_ov_now *at)
{
    memset(v, 0, sizeof *v);
    v->p = p;
    if (!begin(&v->by_event, p, false, at) || (p->has_time && !begin(&v->by_time, p, true, at)))
        return 0;
    start(v);
    return 1;
}

static void done(struct mt_ov *v)
{
    mt_free(v->bucket);
    mt_free(v->coarse_phase);
    mt_free(v->group);
}

int mt_overview_settle(struct mt_overview *o)
{
    if (o->waits == NULL)
        return 1;
    if (!write_rest(o->waits, o))
        return 0;
    done(o->waits);
    mt_free(o->waits);
    o->waits = NULL;
    return 1;
}

void mt_overview_done(struct mt_overview *o)
{
    if (o->waits != NULL)
        done(o->waits);
    mt_free(o->waits);
    mt_blob_done(&o->thin);
    mt_blob_done(&o->coarse);
    mt_blob_done(&o->fine);
}

void mt_ovs_done(struct mt_ovs *v)
{
    done(&v->by_event);
    done(&v->by_time);
    memset(v, 0, sizeof *v);
}

int mt_ovs_end(struct mt_ovs *v, const struct mt_ov_now *now)
{
    close_stretch(v, now);
    return end(&v->by_event, now, &v->p->by_event) &&
           (!v->p->has_time || end(&v->by_time, now, &v->p->by_time));
}
