/* timeline.h -- fills struct mt_timeline during the forward run. */
#ifndef MT_TIMELINE_H
#define MT_TIMELINE_H

#include "analysis/replay/replay.h"

struct mt_tl_run {
    struct mt_timeline *tl;
    uint32_t col;      /* current column */
    uint64_t next_x;   /* x at which the next column begins */
    uint32_t n_events; /* so far; of a trace with more than that counts no roles are made */
    uint32_t n_before; /* of them, before the column */
    uint64_t high, low, reserved; /* of the column so far; low: nothing is as high before it has an
                                     event */
    uint64_t row_events[256];     /* events of the column by phase row */
};

/* by_time is for traces where every event has a time and time passes; else x is the event number.
 */
int mt_tl_begin(struct mt_tl_run *run, struct mt_timeline *tl, const struct mt_device *d,
                bool by_time);
/* Before the event at x >= run->next_x is applied: closes columns that end before it. live[] has
 * n_rows entries (signed, because a filtered trace may drive one below zero); the state is the one
 * before the event. */
void mt_tl_advance(struct mt_tl_run *run, uint64_t x, const int64_t *live, uint32_t n_rows,
                   uint64_t total, uint64_t pending, uint64_t reserved);
/* The state after the event, where it is the highest or the lowest of its column. */
void mt_tl_extreme(struct mt_tl_run *run, const int64_t *live, uint32_t n_rows, uint64_t total,
                   uint64_t pending, uint64_t reserved);
/* The state after every event. */
static inline void mt_tl_event(struct mt_tl_run *run, const int64_t *live, uint32_t n_rows,
                               uint64_t total, uint64_t pending, uint64_t reserved, uint32_t row)
{
    if (total > run->high || total < run->low || reserved > run->reserved)
        mt_tl_extreme(run, live, n_rows, total, pending, reserved);
    run->n_events++;
    run->row_events[row < 255 ? row : 255]++;
}
void mt_tl_end(struct mt_tl_run *run, uint32_t n_rows);
/* Moves bytes that were counted in row 0 throughout to the row that they belong to. */
void mt_tl_move(struct mt_timeline *tl, uint32_t row, uint64_t bytes);
void mt_timeline_done(struct mt_timeline *tl);

#endif
