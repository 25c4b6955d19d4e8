#include "analysis/replay/timeline.h"

#include <string.h>

/* When columns of events begin and end. */
static int begin_times(struct mt_timeline *tl, const struct mt_device *d)
{
    uint64_t before = 0;
    tl->when = mt_calloc(tl->n_columns, sizeof *tl->when);
    if (tl->when == NULL)
        return 0;
    for (uint32_t c = 0; c < tl->n_columns; c++) {
        uint64_t end = c + 1 < tl->n_columns ? mt_column_start(tl, c + 1) : tl->x1 + 1;
        uint64_t first = mt_event_ns(d, mt_column_start(tl, c));
        uint64_t last = mt_event_ns(d, end - 1);
        if (first < before || last < first) {
            mt_free(tl->when);
            tl->when = NULL;
            return 1;
        }
        tl->when[c] = (struct mt_column_time){first, last};
        before = last;
    }
    return 1;
}

int mt_tl_begin(struct mt_tl_run *run, struct mt_timeline *tl, const struct mt_device *d,
                bool by_time)
{
    uint64_t n = d->events.n;
    memset(run, 0, sizeof *run);
    memset(tl, 0, sizeof *tl);
    run->tl = tl;
    run->low = UINT64_MAX;
    if (n == 0)
        return 1;
    tl->has_time = by_time && d->n_with_time == n && mt_event_ns(d, n - 1) > mt_event_ns(d, 0);
    tl->x0 = tl->has_time ? mt_event_ns(d, 0) : 0;
    tl->x1 = tl->has_time ? mt_event_ns(d, n - 1) : n - 1;
    tl->n_columns =
        tl->x1 - tl->x0 + 1 < MT_TL_COLUMNS ? (uint32_t)(tl->x1 - tl->x0 + 1) : MT_TL_COLUMNS;
    tl->at = mt_calloc(tl->n_columns, sizeof *tl->at);
    tl->total = mt_calloc(tl->n_columns, sizeof *tl->total);
    tl->low = mt_calloc(tl->n_columns, sizeof *tl->low);
    tl->reserved = mt_calloc(tl->n_columns, sizeof *tl->reserved);
    tl->pending = mt_calloc(tl->n_columns, sizeof *tl->pending);
    tl->events = mt_calloc(tl->n_columns, sizeof *tl->events);
    tl->phase = mt_malloc(tl->n_columns);
    if (!tl->at || !tl->total || !tl->low || !tl->reserved || !tl->pending || !tl->events ||
        !tl->phase)
        return 0;
    memset(tl->phase, 255, tl->n_columns);
    if (!by_time && d->n_with_time == n && !begin_times(tl, d))
        return 0;
    run->next_x = tl->n_columns > 1 ? mt_column_start(tl, 1) : UINT64_MAX;
    return 1;
}

static void note_rows(struct mt_timeline *tl, const int64_t *live, uint32_t n_rows)
{
    uint32_t direct = n_rows < MT_TL_ROWS ? n_rows : MT_TL_ROWS - 1;
    uint64_t rest = 0;
    for (uint32_t i = 0; i < direct; i++)
        if (live[i] > 0 && (uint64_t)live[i] > tl->high[i])
            tl->high[i] = (uint64_t)live[i];
    for (uint32_t i = direct; i < n_rows; i++)
        rest += live[i] > 0 ? (uint64_t)live[i] : 0;
    if (n_rows >= MT_TL_ROWS && rest > tl->high[MT_TL_ROWS - 1])
        tl->high[MT_TL_ROWS - 1] = rest;
}

/* Most jobs have few of the rows that a column counts. */
static void close_column(struct mt_tl_run *run, uint32_t n_rows)
{
    const uint32_t n = n_rows < 256 ? n_rows : 256;
    uint64_t best = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (run->row_events[i] > best) {
            best = run->row_events[i];
            run->tl->phase[run->col] = (uint8_t)(i < 255 ? i : 254);
        }
    }
    run->tl->events[run->col] = run->n_events - run->n_before;
    memset(run->row_events, 0, n * sizeof *run->row_events);
    run->n_before = run->n_events;
    run->low = UINT64_MAX;
}

void mt_tl_advance(struct mt_tl_run *run, uint64_t x, const int64_t *live, uint32_t n_rows,
                   uint64_t total, uint64_t pending, uint64_t reserved)
{
    struct mt_timeline *tl = run->tl;
    uint32_t from = run->col;
    close_column(run, n_rows);
    while (run->next_x <= x && run->col + 1 < tl->n_columns) {
        run->col++;
        run->next_x = run->col + 1 < tl->n_columns ? mt_column_start(tl, run->col + 1) : UINT64_MAX;
    }
    if (run->col > from + 1)
        note_rows(tl, live, n_rows);
    /* a column without an event has the state before it */
    for (uint32_t k = from + 1; k < run->col; k++) {
        tl->at[k] = run->n_events - 1;
        tl->total[k] = tl->low[k] = total;
        tl->reserved[k] = reserved;
        tl->pending[k] = pending;
        tl->phase[k] = tl->phase[from];
    }
}

void mt_tl_extreme(struct mt_tl_run *run, const int64_t *live, uint32_t n_rows, uint64_t total,
                   uint64_t pending, uint64_t reserved)
{
    struct mt_timeline *tl = run->tl;
    const uint32_t c = run->col;
    const bool first = run->n_events == run->n_before;
    if (first || total > tl->total[c]) {
        note_rows(tl, live, n_rows);
        tl->at[c] = run->n_events;
        tl->total[c] = total;
        tl->pending[c] = pending;
    }
    if (first || total < tl->low[c])
        tl->low[c] = total;
    if (reserved > tl->reserved[c])
        tl->reserved[c] = reserved;
    run->high = tl->total[c];
    run->low = tl->low[c];
    run->reserved = tl->reserved[c];
}

void mt_tl_end(struct mt_tl_run *run, uint32_t n_rows)
{
    if (run->tl->n_columns == 0)
        return;
    close_column(run, n_rows);
    run->tl->n_rows = n_rows < MT_TL_ROWS ? n_rows : MT_TL_ROWS;
}

void mt_tl_move(struct mt_timeline *tl, uint32_t row, uint64_t bytes)
{
    uint64_t k = bytes < tl->high[0] ? bytes : tl->high[0];
    if (row >= MT_TL_ROWS)
        row = MT_TL_ROWS - 1;
    if (row >= tl->n_rows)
        tl->n_rows = row + 1;
    tl->high[0] -= k;
    tl->high[row] += k;
}

void mt_timeline_done(struct mt_timeline *tl)
{
    mt_free(tl->live);
    mt_free(tl->at);
    mt_free(tl->total);
    mt_free(tl->low);
    mt_free(tl->reserved);
    mt_free(tl->pending);
    mt_free(tl->events);
    mt_free(tl->when);
    mt_free(tl->phase);
    memset(tl, 0, sizeof *tl);
}
