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

/* What a job calls its blocks: of those born in the trace by event, of older ones by address. */
struct mt_names {
    struct mt_addrmap of_event, of_addr;
    bool has_forward; /* notes name the forward pass of blocks of the backward pass */
};

struct mt_replay {
    const struct mt_trace *t;
    uint32_t device;
    const struct mt_device *d;
    struct mt_names names;      /* mt_names_make(); zeroed = there are none */
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

/* failed.c: whether the operation whose request failed at event i went on without it */
bool mt_oom_is_a_try(const struct mt_replay *r, uint64_t i);
/* Whether a failure of that stack after so many allocations is the one that counts, by what came
 * before: the program had gone on, or tried the same again. */
bool mt_oom_is_next(const struct mt_device_analysis *o, mt_stack_id stack, uint64_t n_allocs);
/* Puts the one that counts first. */
void mt_ooms_decide(struct mt_device_analysis *o);
/* Index of the row of (phase, sub) in out->phases; row 0 is (unattributed, -). UINT32_MAX = out of
 * memory. */
uint32_t mt_replay_new_row(struct mt_replay *r, struct mt_attr a);
static inline uint32_t mt_replay_row(struct mt_replay *r, struct mt_attr a)
{
    const uint8_t at = r->row_of[(uint32_t)a.phase * MT_PH_COUNT + a.sub];
    return at != 0 ? at - 1u : mt_replay_new_row(r, a);
}

/* holes.c: fills the hole fields of s and the table r->out->pools_at, given the blocks that are
 * live then. request 0 = any stream and pool. */
int mt_holes(const struct mt_replay *r, const struct mt_live_set *live, uint64_t request,
             int64_t stream, bool pool_known, const uint64_t pool[2], struct mt_state *s);
/* A segment at a moment, or a run of mapped pages of an expandable one. */
struct mt_span {
    uint64_t addr, size;
    int64_t stream;
    uint64_t pool[2];
    bool pool_known, expandable, large;
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
/* owners.c: groups live blocks by readable stack, and by name where the job gives them one. */
int mt_owners(const struct mt_replay *r, const struct mt_live_set *live,
              struct mt_device_analysis *out);
/* names.c: 1, or 0 = out of memory */
int mt_names_make(struct mt_names *n, const struct mt_trace *t, uint32_t device);
void mt_names_done(struct mt_names *n);
/* Of a block: event UINT64_MAX = born before the trace. 0 = the job gave it none. */
mt_str_id mt_name_of(const struct mt_names *n, uint64_t event, uint64_t addr);
/* The stack of the forward pass behind an allocation of the backward pass; 0 = not said. */
mt_stack_id mt_forward_of(const struct mt_replay *r, uint64_t event);
/* As people read it, into buf, which is returned: the job's name first, then the line; of a block
 * of the backward pass that of the forward. */
char *mt_birth_label(const struct mt_replay *r, uint64_t event, mt_stack_id stack, mt_str_id name,
                     char *buf, size_t cap);
/* pools.c: the row of a table where segments of that kind are added up; NULL = out of memory. */
struct mt_pool_row *mt_pool_row_of(struct mt_pool_rows *rows, const struct mt_span *kind);
/* The table of segments in the end state; rows of the focus get their order and labels. */
int mt_pools(const struct mt_trace *t, struct mt_phaser *ph, struct mt_device_analysis *out);

#endif
