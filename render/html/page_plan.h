/* page_plan.h -- what a page of a given size carries of the packed tracks.
 *
 * Given up in this order: addresses; times finer than 32 us; exact events except around findings;
 * the fine overview; all exact events. Sizes stay whole: a total made of rounded ones would be
 * wrong. The worst and the median rank come first, the others as long as there is room. */
#ifndef MT_PAGE_PLAN_H
#define MT_PAGE_PLAN_H

#include "render/pack/calls.h"
#include "render/pack/pack.h"
#include "render/view/report.h"

enum mt_grain { MT_GRAIN_THIN, MT_GRAIN_COARSE, MT_GRAIN_FINE }; /* of the overviews */
enum mt_detail { MT_DETAIL_NONE, MT_DETAIL_WINDOWS, MT_DETAIL_ALL };
struct mt_track_plan {
    uint32_t rank, device; /* index in the report, and in its analysis */
    const struct mt_pack *pack;
    enum mt_detail detail;
    bool addresses, coarse; /* coarse: times in steps */
    enum mt_grain grain;
    uint64_t n_exact;    /* events */
    struct mt_blob nvtx; /* none where there is nothing */
};
/* The calls on one GPU: a track as well, whose number comes after those of the devices. */
struct mt_calls_plan {
    struct mt_call_pack calls;
    struct mt_track_plan track; /* rank and device of no meaning */
};
struct mt_page_plan {
    /* in the order of ranks and devices: their index is the track's number */
    MT_VEC(struct mt_track_plan) track;
    MT_VEC(struct mt_calls_plan) calls; /* of GPUs that have some, worst first */
    MT_VEC(struct mt_blob) ledger;      /* of the job, in its order */
    struct mt_blob report;              /* as JSON: who has the page alone has all of its numbers */
    uint64_t max_size;
};

/* Everything; packs what is not packed yet, once, as a page may be written twice. 0, or an errno;
 * done() either way. */
int mt_page_plan_begin(struct mt_page_plan *p, const struct mt_report *r);
void mt_page_plan_done(struct mt_page_plan *p);
/* Before detail is given up: packs what waits in the tracks. 0 = out of memory. */
int mt_page_plan_settle(const struct mt_page_plan *p, const struct mt_report *r);
/* Bytes of the packed blocks as planned. */
uint64_t mt_page_plan_cost(const struct mt_page_plan *p);
/* overviews alone */
void mt_page_plan_clear(struct mt_page_plan *p);
/* 0 = out of memory */
int mt_page_plan_fit(struct mt_page_plan *p, const struct mt_report *r, uint64_t bytes);

const struct mt_blob *mt_plan_overview(const struct mt_track_plan *t, const struct mt_overview *v);
/* True where there is no history to look at. */
bool mt_plan_withheld(const struct mt_track_plan *t);
/* Whether a chunk is in the page. */
bool mt_plan_has(const struct mt_track_plan *t, uint32_t chunk);
/* "addresses of blocks", one reason after the other: NULL behind the last. */
const char *mt_plan_left_out(const struct mt_track_plan *t, unsigned i);

#endif
