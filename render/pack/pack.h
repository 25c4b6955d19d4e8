/* pack.h -- the exact history of a device in the form that the page's script reads
 * (docs/report-data.md).
 *
 * Packed while the device is analysed, because the events and the fates of the blocks are given
 * back afterwards; what is kept is the compressed columns. Which of them a page carries is decided
 * when it is written (render/html/page_data.c), by its size. Everything in a pack is its own; it
 * refers to nothing of the trace. Const after mt_pack_device() but for mt_pack_settle(). */
#ifndef MT_PACK_H
#define MT_PACK_H

#include "analysis/facts/analysis.h"
#include "render/pack/bytes.h"

struct mt_phaser;

#define MT_PACK_CHUNK 65536u
#define MT_PACK_BUCKETS 2048u
#define MT_PACK_THIN                                                                               \
    4u /* buckets of the coarse overview in one of the thin, for reports over many ranks */
#define MT_PACK_FINE 8u /* buckets of the fine overview in one of the coarse */
#define MT_PACK_GROUPS 8u
#define MT_PACK_AROUND UINT64_C(20000) /* events on both sides of a finding that stay exact */
#define MT_PACK_BEFORE_OOM UINT64_C(50000)
#define MT_PACK_STEP_NS                                                                            \
    32000 /* of coarse times; with what the bytes are off it stays below 0.2 ms */

struct mt_pack_chunk {
    /* key: the state before it; none where one costs too much */
    struct mt_blob key, events, rest, addresses;
    /* coarse: times in steps of time_step; none where that is a tick */
    struct mt_blob times, coarse;
    uint64_t first;
    uint32_t n;
    bool has_rest, wanted; /* wanted: a finding lies in it */
};

enum mt_mark_kind { MT_MARK_OOM, MT_MARK_PEAK, MT_MARK_PIN, MT_MARK_GROWTH };
struct mt_pack_mark {
    enum mt_mark_kind kind;
    uint64_t from, to; /* events */
    char *text;
};

struct mt_ov;
struct mt_overview {
    /* thin and fine: none where the track is too short for them */
    struct mt_blob thin, coarse, fine;
    struct mt_ov *waits; /* what thin and fine are made of, where they are not made yet */
};

struct mt_pack {
    uint32_t device; /* index in the analysis */
    uint64_t n_events, n_allocs, n_old;
    bool withheld;
    char *why; /* why there is no more than the index says; NULL = there is */
    bool has_time, goes_back;
    uint64_t t0_ns, tick_ns, end;
    uint64_t time_step; /* of coarse times, in ticks */
    uint32_t addr_unit; /* 0 = no addresses */
    uint8_t group[MT_PACK_GROUPS];
    uint32_t n_groups;
    uint64_t peak_tick;
    int64_t start_pending;
    uint64_t n_lost; /* blocks that end without their free */
    struct mt_overview by_time, by_event;
    struct mt_blob sites, phases, places; /* places: addresses of allocations */
    MT_VEC(struct mt_pack_chunk) chunks;
    bool waits; /* what hardly any page carries: see mt_pack_settle() */
    /* while the device is packed */
    bool *wanted; /* by chunk */
    struct mt_press press;
    uint64_t max_size;
    bool partial; /* too long for a page of max_size: chunks without a finding have no blocks */
    MT_VEC(struct mt_pack_mark) marks;
    bool subs_left_out; /* too many stretches: coarse phases only */
    bool phases_left_out;
    uint64_t notes_left_out; /* annotations beyond the limit */
};
/* The times that a page carries. */
static inline const struct mt_blob *mt_chunk_times(const struct mt_pack_chunk *c, bool coarse)
{
    return coarse && c->coarse.p != NULL ? &c->coarse : &c->times;
}

/* The tracks of one rank. All zero is the empty list. max_size: of the page; exact events that
 * cannot fit into it are not kept. 0 = all. waits: keyframes but the first, other overviews and
 * coarse times, which a page with all events has not, are not made before one needs them: 4 % of
 * its CPU time with a million events, 8 % with 20,000, for 5 MB that are kept until then. */
struct mt_packs {
    uint64_t max_size;
    bool waits;
    MT_VEC(struct mt_pack *) list;
};

/* A struct mt_detail_hook's function: packs the device into arg, a struct mt_packs. */
int mt_pack_device(void *arg, const struct mt_roles *w, const struct mt_attr *attr,
                   struct mt_phaser *ph, const struct mt_device_analysis *o, struct mt_err *err);
/* Compresses what waits. 1, or 0 = out of memory. */
int mt_pack_settle(struct mt_pack *p);
void mt_packs_done(struct mt_packs *p);

#endif
