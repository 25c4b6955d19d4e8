/* replay/anchor.c -- the state before the first event: the end state minus everything the trace
 * did. */
#include "analysis/replay/replay.h"

#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

/* *out = end - (came - went), where that is an amount that memory can have; sums of hostile sizes
 * may be of any. The builtin works as if with numbers of any length. */
static bool before(int64_t *out, uint64_t end, uint64_t came, uint64_t went)
{
    int64_t more;
    return !__builtin_sub_overflow(came, went, &more) && !__builtin_sub_overflow(end, more, out) &&
           *out <= MT_REPLAY_MAX_TOTAL && *out >= -MT_REPLAY_MAX_TOTAL;
}

static char *copy_text(const char *s) { return mt_strndup(s, strlen(s)); }

int mt_replay_anchor(struct mt_replay *r)
{
    struct mt_device_analysis *o = r->out;
    const struct mt_trace *t = r->t;
    const uint64_t *by = r->d->bytes_by_action;
    int64_t live = 0, pending = 0, reserved = 0;
    uint64_t taken, given;
    char buf[256], size[32];
    r->n_segment_events = UINT64_MAX;
    r->row_of = mt_calloc((size_t)MT_PH_COUNT * MT_PH_COUNT, 1);
    if (r->row_of == NULL ||
        mt_replay_row(r, (struct mt_attr){0, MT_PH_UNATTRIBUTED, MT_PH_NONE}) != 0)
        return 0;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (!mt_segment_is_on(s, r->d->ordinal, r->d->kind))
            continue;
        o->reserved_end += s->total;
        for (uint32_t k = s->first_block; k < s->first_block + s->n_blocks; k++) {
            const struct mt_block *b = &t->blocks.p[k];
            if (b->state == MT_BLOCK_INACTIVE)
                continue;
            o->live_end += b->requested;
            o->rounding_loss += b->size > b->requested ? b->size - b->requested : 0;
            if (b->state == MT_BLOCK_PENDING_FREE)
                o->pending_end += b->requested;
        }
    }
    if (r->d->has_totals) {
        o->live_end = r->d->live_end;
        o->reserved_end = r->d->reserved_end;
    }
    if (r->d->events.n >= UINT32_MAX) {
        o->withheld =
            copy_text("it has more than four billion events, which is more than can be replayed");
        return o->withheld != NULL;
    }
    if (!r->d->has_totals && r->d->events.n != 0 && (r->d->is_cut || r->t->segments_cut)) {
        o->withheld =
            copy_text(r->d->is_cut ? "the input ends inside its trace: what happened between "
                                     "the last entry that is there and the end "
                                     "state is missing, so the curve has no anchor"
                                   : "the input ends inside the segments, so the end state "
                                     "that anchors the curve is not known");
        return o->withheld != NULL;
    }
    if (r->d->sums_overflow ||
        !before(&live, o->live_end, by[MT_ACT_ALLOC], by[MT_ACT_FREE_COMPLETED]) ||
        !before(&pending, o->pending_end, by[MT_ACT_FREE_REQUESTED], by[MT_ACT_FREE_COMPLETED]) ||
        __builtin_add_overflow(by[MT_ACT_SEGMENT_ALLOC], by[MT_ACT_SEGMENT_MAP], &taken) ||
        __builtin_add_overflow(by[MT_ACT_SEGMENT_FREE], by[MT_ACT_SEGMENT_UNMAP], &given) ||
        !before(&reserved, o->reserved_end, taken, given)) {
        o->withheld = copy_text(
            "its sizes add up to more bytes than any memory has: the trace is damaged or made up");
        return o->withheld != NULL;
    }
    if (live < 0 || reserved < 0) {
        (void)snprintf(buf, sizeof buf,
                       "the trace allocates %s more than the end state can hold: events are "
                       "missing, or the snapshot was taken "
                       "inside a memory pool and shows only that pool",
                       mt_words_bytes(size, (uint64_t)(live < 0 ? -live : -reserved)));
        o->withheld = copy_text(buf);
        return o->withheld != NULL;
    }
    if (r->d->n_by_action[MT_ACT_ALLOC] == 0 && r->d->n_by_action[MT_ACT_FREE_COMPLETED] >= 16 &&
        live > reserved) {
        o->withheld = copy_text("it frees more than can have been there at its start and has no "
                                "allocation: allocations were not recorded");
        return o->withheld != NULL;
    }
    r->start_live = live;
    r->start_reserved = reserved;
    /* A trace without any request of a free (skip_actions) cannot tell what waited. */
    if (pending < 0 || (r->d->n_by_action[MT_ACT_FREE_REQUESTED] == 0 &&
                        r->d->n_by_action[MT_ACT_FREE_COMPLETED] != 0))
        pending = 0;
    r->start_pending = pending;
    o->live_start = (uint64_t)r->start_live;
    o->pending_start = (uint64_t)r->start_pending;
    o->reserved_start = (uint64_t)r->start_reserved;
    return 1;
}
