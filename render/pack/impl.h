/* pack/impl.h -- what the files of the packer share; nobody else includes it.
 *
 *   pack/bytes.c     columns
 *   pack/blob.c      compressed blocks
 *   pack/seldom.c    those that hardly any page carries
 *   pack/sites.c     stacks, sites, lanes
 *   pack/key.c       the state between two events: live blocks, segments; keyframes
 *   pack/events.c    the walk over the events
 *   pack/overview.c  the track in buckets
 *   pack/phases.c    stretches, steps, occurrences, annotations
 *   pack/marks.c     findings, and the chunks around them
 *   pack.c           one device from beginning to end
 *   pack/calls.c     the same of the calls of the driver on one GPU
 *   pack/ledger.c    what the driver saw */
#ifndef MT_PACK_IMPL_H
#define MT_PACK_IMPL_H

#include "analysis/roles/roles.h"
#include "analysis/base/spanset.h"
#include "parser/base/strpool.h"
#include "render/pack/pack.h"

void mt_pack_free(struct mt_pack *p);

/* What packing one device needs on the way. */
struct mt_pack_in {
    const struct mt_roles *w;
    const struct mt_replay *r;
    const struct mt_attr *attr;
    struct mt_phaser *ph;
    const struct mt_device_analysis *o;
    struct mt_pack *pack;
};
static inline uint64_t mt_pack_tick(const struct mt_pack *p, uint64_t time_ns)
{
    return time_ns > p->t0_ns ? (time_ns - p->t0_ns) / p->tick_ns : 0;
}

/* ---- pack/seldom.c ---- */

/* It waits, or is made at once. */
int mt_pack_seldom(struct mt_pack *p, struct mt_blob *out, struct mt_bytes *columns, unsigned n,
                   enum mt_blob_way way);

/* ---- pack/sites.c ---- */

struct mt_site_key {
    mt_stack_id stack;
    uint32_t lane; /* dense, of this pack */
    uint8_t role, phase, sub;
};
/* Events of old recordings name the stream alone; segments of the end state their pool too. */
enum mt_lane_known { MT_LANE_STREAM, MT_LANE_POOL, MT_LANE_NOTHING };
struct mt_site_lane {
    int64_t stream;
    uint64_t pool[2];
    enum mt_lane_known known;
};
struct mt_sites {
    const struct mt_trace *t;
    MT_VEC(struct mt_site_key) site;
    uint32_t *slot; /* site + 1, by hash */
    uint32_t n_slots;
    uint32_t *lane_of; /* lane of the trace << 1 | pool known -> dense + 1 */
    MT_VEC(struct mt_site_lane) lane;
    char *const *words; /* by lane, where a lane is something else than a stream and a pool */
};
int mt_sites_begin(struct mt_sites *s, const struct mt_trace *t);
void mt_sites_done(struct mt_sites *s);
/* UINT32_MAX = out of memory, as below */
uint32_t mt_sites_lane(struct mt_sites *s, uint32_t lane, bool pool_known);
/* Of a stream and pool that only a segment names. */
uint32_t mt_sites_find_lane(struct mt_sites *s, int64_t stream, const uint64_t pool[2],
                            bool pool_known);
uint32_t mt_sites_get(struct mt_sites *s, const struct mt_site_key *k);
int mt_sites_blob(struct mt_sites *s, struct mt_press *press, const struct mt_device_analysis *o,
                  struct mt_blob *out);

/* Strings of a block: each once, as it is shown; the first is "". */
struct mt_pack_strings {
    struct mt_strpool seen; /* its ids are the indices */
    struct mt_bytes *sizes, *text;
};
uint32_t mt_pack_string(struct mt_pack_strings *s, const char *text, size_t n);

/* ---- pack/key.c ---- */

#define MT_NO_SLOT UINT32_MAX
struct mt_pack_block {
    uint64_t addr, size, id;
    uint32_t site, next, prev; /* the live ones in order of id; next also chains the free ones */
    uint32_t event;            /* of its allocation + 1; 0 = before the trace */
    uint32_t place;            /* of one that the trace allocated */
    bool pending;
};
/* Where the trace allocates: a place for each address, in the order of their first allocations, so
 * that an address is looked for once for all that is asked of it. Beyond MT_PLACES_MOST it is one
 * place after the other for what is live. */
#define MT_PLACES_MOST (UINT32_C(1) << 20)
struct mt_pack_state {
    MT_VEC(struct mt_pack_block) block;
    uint32_t free_head, head, tail, n_live;
    struct mt_addrmap places, others; /* address -> place; the first MT_PLACES_MOST, and beyond */
    MT_VEC(uint32_t) slot_at;         /* by place, MT_NO_SLOT; of a free one the next free */
    uint32_t free_place;
    struct mt_addrmap old_at; /* address -> slot, of what was there before */
    uint32_t *same_old;       /* of an old block: the next one at the same address */
    /* next_old: the one that the next free of an unknown block is of */
    uint32_t n_old, next_old;
    struct mt_spanset span; /* segments; id: lane << 1 | expandable */
    bool spans_known;
    uint64_t next_id;
    int64_t live, pending, reserved;
};
int mt_state_begin(struct mt_pack_state *s, const struct mt_pack_in *in, struct mt_sites *sites);
void mt_state_done(struct mt_pack_state *s);
/* The slot of what is live at an address; MT_NO_SLOT. */
uint32_t mt_state_find(const struct mt_pack_state *s, uint64_t addr);
/* 1, or 0 = out of memory. The block's place is looked for; *is_new: it had none. *lost: what was
 * live there so far, MT_NO_SLOT = nothing; it is still live afterwards. */
int mt_state_add(struct mt_pack_state *s, struct mt_pack_block *b, uint32_t *lost, bool *is_new);
/* What a free ends; MT_NO_SLOT where the trace contradicts itself. It is still live afterwards. */
uint32_t mt_state_take(struct mt_pack_state *s, uint64_t addr);
/* The same of what mt_state_find() has just given: whether mt_state_take() would give it; and then
 * in its stead. */
bool mt_state_is_next(const struct mt_pack_state *s, uint32_t slot);
void mt_state_take_found(struct mt_pack_state *s, uint32_t slot);
void mt_state_drop(struct mt_pack_state *s, uint32_t slot);
int mt_state_segment(struct mt_pack_state *s, const struct mt_event *e, uint32_t lane);
/* The segment of the end state in which an address lies; NULL. */
const struct mt_segment *mt_state_last_segment(const struct mt_replay *r, uint64_t addr);
int mt_state_key(const struct mt_pack_state *s, struct mt_pack *p, uint64_t first, uint64_t tick,
                 struct mt_blob *out);

/* ---- pack/pools.c ---- */

struct mt_pack_pools {
    struct mt_addrmap freed; /* address -> the last event that frees a segment there */
    bool made, failed, unmaps;
};
/* The segment of the end state that event i has made, where it is still that one; NULL = gone
 * since, or failed. */
const struct mt_segment *mt_pools_last(struct mt_pack_pools *p, const struct mt_replay *r,
                                       uint64_t i);
void mt_pools_done(struct mt_pack_pools *p);

/* ---- pack/overview.c ---- */

struct mt_ov_bucket {
    uint64_t high, low, reserved, pending, at;
    uint32_t events;
    uint8_t phase;
};
struct mt_ov {
    struct mt_pack *p;
    bool by_time;
    uint64_t x0, span;
    uint32_t n, col, fine; /* buckets; the one at work; how many make one of the coarse overview */
    uint64_t next_x;
    struct mt_ov_bucket *bucket;
    uint8_t *coarse_phase;
    uint64_t *group; /* n * (groups + 1) */
    /* Events of the bucket at work by phase, and of those of a coarse one; which phases occur, a
     * bit each. */
    uint32_t count[MT_PH_COUNT], coarse_count[MT_PH_COUNT];
    uint64_t seen, coarse_seen;
};
/* What a bucket shows of a moment. */
struct mt_ov_now {
    uint64_t live, pending, reserved;
    const int64_t *role;
    uint64_t event; /* + 1 */
};
/* The overviews of a track, fed together: what lies between two of their bounds, which in a long
 * track are few beside the events, is added up once and put into the bucket of each at the next
 * bound. */
struct mt_ovs {
    struct mt_pack *p;
    struct mt_ov by_event, by_time;
    uint64_t next_event, next_tick;
    int64_t high; /* -1 = no event yet */
    uint64_t low, reserved, pending, at;
    uint32_t events, run, run_phase; /* phases come in runs: counted when one ends */
    bool dirty;                      /* the groups of the highest instant are not stored yet */
    uint64_t group[MT_PACK_GROUPS + 1];
};
int mt_ovs_begin(struct mt_ovs *v, struct mt_pack *p, const struct mt_ov_now *at);
/* A bound is reached: the state before the event at (event, tick). */
void mt_ovs_move(struct mt_ovs *v, uint64_t event, uint64_t tick, const struct mt_ov_now *now);
void mt_ovs_keep(struct mt_ovs *v, const struct mt_ov_now *now);
/* Behind a run of events of one phase; `next` begins another. */
void mt_ovs_turn(struct mt_ovs *v, uint32_t next);
/* Before an event is applied; falls: it takes live bytes away. tick: where the track has times. */
static inline void mt_ovs_before(struct mt_ovs *v, uint64_t event, uint64_t tick, bool falls,
                                 const struct mt_ov_now *now)
{
    if (event >= v->next_event || tick >= v->next_tick)
        mt_ovs_move(v, event, tick, now);
    if (falls && v->dirty)
        mt_ovs_keep(v, now);
}
static inline void mt_ovs_after(struct mt_ovs *v, const struct mt_ov_now *now, unsigned phase)
{
    if ((int64_t)now->live > v->high) {
        v->high = (int64_t)now->live;
        v->pending = now->pending;
        v->at = now->event;
        v->dirty = true;
    }
    v->low = now->live < v->low ? now->live : v->low;
    v->reserved = now->reserved > v->reserved ? now->reserved : v->reserved;
    v->events++;
    if (phase != v->run_phase)
        mt_ovs_turn(v, phase);
    v->run++;
}
/* Makes the blocks. */
int mt_ovs_end(struct mt_ovs *v, const struct mt_ov_now *now);
/* Makes those that wait. 1, or 0 = out of memory. */
int mt_overview_settle(struct mt_overview *o);
void mt_overview_done(struct mt_overview *o);
void mt_ovs_done(struct mt_ovs *v);

/* ---- operations, as the columns of a chunk have them (docs/report-data.md) ---- */

enum { OP_ALLOC, OP_SPECIAL, OP_WHOLE };
enum {
    S_REQUESTED = 1,
    S_COMPLETED,
    S_UNKNOWN_REQUESTED,
    S_UNKNOWN_COMPLETED,
    S_SEGMENT_ALLOC,
    S_SEGMENT_FREE,
    S_SEGMENT_MAP,
    S_SEGMENT_UNMAP,
    S_OOM,
    S_SNAPSHOT,
    S_OTHER,
    S_LOST
};
enum { OPS, SITES = 3, SIZES = 6, SPECIALS = 9, N_OPERATION_COLUMNS, N_SIZES = 3 };

/* ---- the rest ---- */

int mt_pack_events(const struct mt_pack_in *in);
int mt_pack_phases(const struct mt_pack_in *in);
int mt_pack_marks(const struct mt_pack_in *in);

#endif
