/* replay.h -- the exact replay of one device's trace, anchored on its end state.
 *
 * live: requested bytes from alloc to free_completed; pending: from free_requested to
 * free_completed; reserved: segments. The state before the first event is the end state minus
 * everything the trace did: a ring buffer that lost its beginning still gives exact numbers. Where
 * that start (or any moment) would be negative, events are missing and the curve is withheld, never
 * guessed. */
#ifndef MT_REPLAY_H
#define MT_REPLAY_H

#include "analysis/base/addrmap.h"
#include "analysis/facts/analysis.h"
#include "analysis/phases/phases.h"

#define MT_REPLAY_MAX_TOTAL                                                                        \
    (INT64_C(1) << 60) /* more bytes than any memory has: a damaged or forged trace */

struct mt_live {         /* one live block of a moment */
    uint64_t addr, size; /* requested bytes */
    uint64_t event;      /* of its allocation; UINT64_MAX when that is not in the trace */
    uint64_t block_size; /* what the allocator handed out; 0 = not known (rounded up from size) */
    mt_stack_id stack;
    struct mt_attr attr;
    uint8_t birth; /* enum mt_birth */
};
struct mt_live_set {
    struct mt_live *p;
    uint32_t n, cap;
};

/* A block that was live before the trace began, known by its free or because it never was freed. */
struct mt_old {
    uint64_t addr, size;
    uint64_t gone_at; /* event of its free_completed; UINT64_MAX = never (a ghost) */
    uint64_t block_size;
    mt_stack_id stack; /* 0 for freed ones: the stack of a free may be that of the free */
};

struct mt_replay {
    const struct mt_trace *t;
    uint32_t device;
    const struct mt_device *d;
    const struct mt_attr *attr; /* per event */
    struct mt_device_analysis *out;
    int64_t start_live, start_pending, start_reserved;
    MT_VEC(struct mt_old) old;
    struct mt_addrmap label_of; /* by stack: the first OOM with it */
    uint8_t *row_of;            /* [MT_PH_COUNT * MT_PH_COUNT]: phase row + 1, 0 = none yet */
    /* per event, or NULL: mt_replay_run() writes `freed` of allocations and of frees */
    struct mt_fate *fate;
    /* events up to the last that changes segments; UINT64_MAX before mt_replay_run() */
    uint64_t n_segment_events;
    struct mt_addrmap near; /* address -> event of its allocation, of what was live before event
                               near_at: where the search for */
    uint64_t near_at;       /* the blocks of the peak or of the first failure begins */
};

/* The end state and the anchored start; sets out->withheld when the start is negative. 1 on
 * success, 0 = out of memory. */
int mt_replay_anchor(struct mt_replay *r);
/* The forward run: curve, peaks, OOM states, phase rows, timeline. Needs mt_replay_anchor() and no
 * withheld. */
int mt_replay_run(struct mt_replay *r, struct mt_phaser *ph);
/* The blocks that are live after event `at` (-1 = at the start). */
int mt_replay_live_at(struct mt_replay *r, struct mt_phaser *ph, int64_t at,
                      struct mt_live_set *out);
/* The blocks that are live at the end, from the segments alone. */
int mt_replay_live_end(struct mt_replay *r, struct mt_phaser *ph, struct mt_live_set *out);
void mt_replay_done(struct mt_replay *r);

/* Adds an OOM event with all that it says by itself; its state (at) is not known yet. NULL = out of
 * memory. */
struct mt_oom *mt_replay_add_oom(struct mt_replay *r, const struct mt_event *e, uint64_t i);
/* Index of the row of (phase, sub) in out->phases; row 0 is (unattributed, -). UINT32_MAX = out of
 * memory. */
uint32_t mt_replay_row(struct mt_replay *r, struct mt_attr a);

/* holes.c: fills the hole fields of s, given the blocks that are live then. request 0 = any stream
 * and pool. */
int mt_holes(const struct mt_replay *r, const struct mt_live_set *live, uint64_t request,
             int64_t stream, bool pool_known, const uint64_t pool[2], struct mt_state *s);
/* A segment at a moment, or a run of mapped pages of an expandable one. */
struct mt_span {
    uint64_t addr, size;
    int64_t stream;
    uint64_t pool[2];
    bool pool_known, expandable;
};
/* Where a request may be served from. request 0 = anywhere. */
struct mt_wish {
    uint64_t request;
    int64_t stream;
    bool pool_known;
    uint64_t pool[2];
};
/* holes.c: the segments after event `at`, by address; *out is the caller's. *known is false where
 * the trace contradicts itself: then what is in *out means nothing. 0 = out of memory. */
int mt_spans_at(const struct mt_replay *r, int64_t at, struct mt_span **out, uint32_t *n,
                bool *known);
bool mt_span_serves(const struct mt_span *x, const struct mt_wish *w);
/* owners.c: groups live blocks by readable stack. */
int mt_owners(const struct mt_trace *t, const struct mt_live_set *live,
              struct mt_device_analysis *out);
/* pools.c: the table of segments in the end state. */
int mt_pools(const struct mt_trace *t, struct mt_phaser *ph, struct mt_device_analysis *out);

#endif
