/* profiler/feed.h -- the allocations and frees of one device on their way to the builder. A
 * recording may have no addresses, or bytes that come and go without an event: then they are made
 * up, so that the sum after every event is that of the recording. */
#ifndef MT_PROFILER_FEED_H
#define MT_PROFILER_FEED_H

#include "parser/model/builder.h"

/* map.c: 64-bit keys to 32-bit numbers. Zeroed struct = empty. */
struct mt_pf_map {
    struct mt_pf_pair {
        uint64_t key;
        uint32_t value; /* + 1; 0 = empty */
    } * p;
    uint32_t n, cap;
};
uint32_t *mt_pf_map_get(const struct mt_pf_map *m, uint64_t key);     /* NULL = not there */
int mt_pf_map_put(struct mt_pf_map *m, uint64_t key, uint32_t value); /* 0 = out of memory */
/* Where the value of a key stands, 0 where it is new: the caller sets it at once. NULL = out of
 * memory. */
uint32_t *mt_pf_map_slot(struct mt_pf_map *m, uint64_t key);
uint32_t mt_pf_map_take(struct mt_pf_map *m, uint64_t key); /* what it was; 0 = not there */

enum { MT_PF_LANES = 10 }; /* categories of a memory timeline; 0 in a trace */

struct mt_pf_block {
    uint64_t addr, size;
    uint32_t older, newer; /* in its list: index + 1 */
    uint32_t lane;
};

struct mt_pf_feed {
    struct mt_builder *b;
    uint64_t next_addr; /* made up */
    int64_t live, low;  /* bytes since the first event, and the least that this ever was */
    uint64_t reserved;
    MT_VEC(struct mt_pf_block) blocks; /* live; unused ones are linked by `older` from `unused` */
    uint32_t unused, newest;
    bool by_sizes; /* there is a list for each size and lane; else one, which ends with newest */
    struct mt_pf_map by_addr, by_size;
    /* bytes without a block of their own, last in first out */
    MT_VEC(struct mt_pf_block) pile[MT_PF_LANES];
    bool nomem; /* else it is the builder that refused */
};

/* Wraps: sizes that are made up may add up to anything, and the replay refuses them. */
static inline int64_t mt_pf_sum(int64_t a, uint64_t b) { return (int64_t)((uint64_t)a + b); }

void mt_pf_feed_init(struct mt_pf_feed *d, struct mt_builder *b);
void mt_pf_feed_done(struct mt_pf_feed *d);
/* ts: ns since the epoch. addr NULL: made up. Calls return 1, or 0 when out of memory or refused.
 */
int mt_pf_alloc(struct mt_pf_feed *d, int64_t ts, const uint64_t *addr, uint64_t size,
                uint32_t lane, mt_stack_id stack);
/* addr NULL: the last block of that size and lane; none: one from before the recording. */
int mt_pf_free(struct mt_pf_feed *d, int64_t ts, const uint64_t *addr, uint64_t size, uint32_t lane,
               mt_stack_id stack);
/* So many bytes more or less, of which the recording has no blocks. */
int mt_pf_change(struct mt_pf_feed *d, int64_t ts, int64_t bytes, uint32_t lane, mt_stack_id stack);
/* A request that failed. */
int mt_pf_refused_request(struct mt_pf_feed *d, int64_t ts, uint64_t size, mt_stack_id stack);
/* The device's reserved bytes from now on. */
int mt_pf_reserve(struct mt_pf_feed *d, int64_t ts, uint64_t reserved, mt_stack_id stack);

/* totals.c: what a recording says is allocated in all, held against its events. Zeroed = nothing
 * was said yet. */
struct mt_pf_totals {
    bool known;                /* some event says it */
    int64_t start;             /* what was allocated before the first event */
    uint64_t end_reserved;     /* by the last event */
    uint64_t n_unseen, unseen; /* changes without an event, and the most that they made up */
    uint64_t n_contradictions;
};
/* Before an event of so many bytes is fed (below 0: freed, 0: nothing came of it), behind which so
 * much is allocated and reserved: what changed without an event is fed. 1, or 0 as above. */
int mt_pf_totals_note(struct mt_pf_totals *k, struct mt_pf_feed *d, int64_t bytes,
                      uint64_t allocated, uint64_t reserved, int64_t ts, mt_stack_id stack);
/* At the end: the bytes of before the first event. */
uint64_t mt_pf_totals_start(const struct mt_pf_totals *k, const struct mt_pf_feed *d);
/* unseen: where bytes come from that no event has. */
void mt_pf_totals_say(struct mt_trace *t, const struct mt_pf_totals *k, int device,
                      const char *unseen);

#endif
