/* A row a rank, or a group of ranks that peaked alike. */
#include "render/html/rank_rows.h"

#include "parser/base/mem.h"
#include "render/base/escape.h"
#include "render/svg/scale.h"
#include "render/svg/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 24, WIDTH = 1000, HEIGHT = 40, STEPS = 250, ALIKE = 100, BLUE = 2 };

struct row {
    const struct mt_place *at; /* the highest of its group */
    uint32_t like;             /* others that peaked within 1 % of it */
    uint64_t apart;            /* from the median */
};
/* What all rows share. */
struct frame {
    bool by_time;
    uint64_t x0, x1, top, failed; /* failed: on that axis; 0 = nothing did */
};

static bool is_drawn(const struct mt_device_analysis *d)
{
    return mt_svg_timeline_has(d) && !d->end_state_only && d->timeline.n_columns != 0;
}

static int by_turn(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    bool x = a->at->dev->ooms.n != 0, y = b->at->dev->ooms.n != 0;
    if (x != y)
        return x ? -1 : 1;
    if (a->apart != b->apart)
        return a->apart > b->apart ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* One that failed stands for itself. The list is by bytes, highest first, so equals are neighbours
 * but for failures between them. */
static uint32_t group(struct row *row, const struct mt_place *at, uint32_t n)
{
    uint32_t rows = 0, last = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_drawn(at[i].dev))
            continue;
        if (at[i].dev->ooms.n == 0 && last != UINT32_MAX &&
            row[last].at->live -
                    (at[i].live < row[last].at->live ? at[i].live : row[last].at->live) <=
                row[last].at->live / ALIKE) {
            row[last].like++;
            continue;
        }
        row[rows] = (struct row){.at = &at[i]};
        last = at[i].dev->ooms.n == 0 ? rows : last;
        rows++;
    }
    return rows;
}

/* Behind the last event: on an axis of events the last one has a width, too. Columns of time count
 * their events, so they can be drawn by event. */
static uint64_t end_of(const struct frame *f, const struct mt_timeline *t)
{
    uint64_t n = 0;
    if (f->by_time)
        return t->x1;
    if (!t->has_time)
        return t->x1 + 1;
    for (uint32_t i = 0; i < t->n_columns; i++)
        n += t->events[i];
    return n;
}

static void measure(const struct mt_page *p, struct frame *f, const struct mt_place *at, uint32_t n)
{
    f->x0 = UINT64_MAX;
    f->by_time = true;
    for (uint32_t i = 0; i < n; i++)
        f->by_time = f->by_time && (!is_drawn(at[i].dev) || at[i].dev->timeline.has_time);
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_device_analysis *d = at[i].dev;
        uint64_t top = d->capacity > at[i].live ? d->capacity : at[i].live;
        uint64_t x0 = f->by_time ? d->timeline.x0 : 0, x1;
        if (!is_drawn(d))
            continue;
        x1 = end_of(f, &d->timeline);
        f->x0 = x0 < f->x0 ? x0 : f->x0;
        f->x1 = x1 > f->x1 ? x1 : f->x1;
        f->top = top > f->top ? top : f->top;
    }
    if (p->dev->ooms.n != 0 && is_drawn(p->dev))
        f->failed = f->by_time ? p->dev->ooms.p[0].time_ns : p->dev->ooms.p[0].event;
}

static uint32_t px(const struct frame *f, uint64_t x)
{
    return x > f->x0 ? mt_scale_px(x - f->x0, f->x1 - f->x0, WIDTH) : 0;
}

/* The highest of each of so many stretches: no peak is lost. */
static void area(struct mt_out *o, const struct frame *f, const struct mt_timeline *t,
                 const char *color)
{
    uint32_t steps = t->n_columns < STEPS ? t->n_columns : STEPS, y = 0;
    uint64_t before = 0; /* events of the columns so far */
    mt_putf(o, "<path fill=\"%s\" d=\"M%" PRIu32 " %dV%d", color, px(f, f->by_time ? t->x0 : 0),
            HEIGHT, HEIGHT);
    for (uint32_t s = 0; s < steps; s++) {
        uint32_t from = (uint32_t)((uint64_t)s * t->n_columns / steps),
                 to = (uint32_t)((uint64_t)(s + 1) * t->n_columns / steps);
        uint64_t high = 0, x = f->by_time == t->has_time ? mt_column_start(t, from) : before;
        uint32_t tall;
        for (uint32_t i = from; i < to; i++) {
            high = t->total[i] > high ? t->total[i] : high;
            before += t->events[i];
        }
        tall = mt_scale_px(high, f->top, HEIGHT);
        if (s != 0 && tall == y)
            continue;
        mt_putf(o, "H%" PRIu32 "V%" PRIu32, px(f, x), HEIGHT - tall);
        y = tall;
    }
    mt_putf(o, "H%" PRIu32 "V%dz\"/>", px(f, end_of(f, t)), HEIGHT);
}

static void one(const struct mt_page *p, struct mt_out *o, const struct frame *f,
                const struct row *r)
{
    const struct mt_device_analysis *d = r->at->dev;
    bool failed = d->ooms.n != 0;
    char place[256], bytes[32], count[32];
    (void)mt_row_place(p->r, r->at->rank, d, place, sizeof place);
    mt_puts(o, "<li data-place=\"");
    mt_html_s(o, place);
    mt_puts(o, "\"><span class=\"rank\">");
    mt_h_name(o, place, 60);
    mt_puts(o, "</span>");
    mt_putf(o, "<span class=\"what\"><b>%s</b>%s", mt_fmt_bytes(bytes, r->at->live),
            failed ? " <strong class=\"oom\">out of memory</strong>" : "");
    if (r->like != 0)
        mt_putf(o, " <small>and %s like it</small>", mt_fmt_count(count, r->like));
    mt_putf(o,
            "</span><svg width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Live memory, at most %s\">",
            HEIGHT, WIDTH, HEIGHT, bytes);
    area(o, f, &d->timeline, failed ? mt_color_oom : mt_color_hex(BLUE));
    if (f->failed != 0)
        mt_putf(o,
                "<path class=\"when\" stroke=\"%s\" stroke-width=\"2\" "
                "vector-effect=\"non-scaling-stroke\" d=\"M%" PRIu32 " 0v%d\"/>",
                mt_color_oom, px(f, f->failed), HEIGHT);
    mt_puts(o, "</svg></li>\n");
}

static void words(const struct mt_page *p, struct mt_out *o, const struct frame *f)
{
    char place[256], top[32], span[48];
    if (f->by_time)
        (void)snprintf(span, sizeof span, "%.3f s of one clock", (double)(f->x1 - f->x0) / 1e9);
    else
        (void)snprintf(span, sizeof span, "events: not all of them have times");
    mt_putf(o, "<p class=\"note\">Live memory, every row over the same %s and up to the same %s",
            span, mt_fmt_bytes(top, f->top));
    if (f->failed != 0) {
        mt_puts(o, "; the line is the failure of ");
        mt_h_name(o, mt_row_place(p->r, p->rank, p->dev, place, sizeof place), 120);
    }
    mt_puts(o, ".</p>\n");
}

void mt_h_rank_rows(const struct mt_page *p, struct mt_out *o, const struct mt_place *at,
                    uint32_t n)
{
    struct row *row = mt_calloc((size_t)n + 1, sizeof *row);
    struct frame f = {.failed = 0};
    uint32_t rows;
    uint64_t median = n != 0 ? at[n / 2].live : 0;
    if (row == NULL) {
        o->error = o->error != 0 ? o->error : ENOMEM;
        return;
    }
    rows = group(row, at, n);
    measure(p, &f, at, n);
    for (uint32_t i = 0; i < rows; i++)
        row[i].apart =
            row[i].at->live > median ? row[i].at->live - median : median - row[i].at->live;
    qsort(row, rows, sizeof *row, by_turn);
    if (rows != 0 && f.x1 > f.x0) {
        words(p, o, &f);
        mt_puts(o, "<ol class=\"rows\" aria-label=\"Memory of each rank over time\">\n");
        for (uint32_t i = 0; i < rows && i < ROWS; i++)
            one(p, o, &f, &row[i]);
        mt_puts(o, "</ol>\n");
        mt_h_more(o, rows > ROWS ? rows - ROWS : 0);
        if (n > 2)
            mt_puts(o, "<p class=\"note\">Failed ones first, then those furthest from the median; "
                       "ranks whose highest bytes are within 1 % share a row.</p>\n");
    }
    mt_free(row);
}
