/* Every device of every rank in one table, the worst first; each in each phase; and a small picture
 * of up to eight others. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/rows.h"
#include "render/svg/scale.h"
#include "render/svg/timeline.h"

#include "parser/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALL_TIMELINES = 8, SHOWN = 8, HEAT_ROWS = 64 };

struct place {
    const struct mt_rank *k;
    const struct mt_device_analysis *d;
    uint32_t order; /* in the input */
};

static uint32_t count(const struct mt_page *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->r->diagnosis->ranks.n; i++)
        n += p->r->diagnosis->ranks.p[i].analysis->devices.n;
    return n;
}

static bool has(const struct mt_page *p) { return p->r->diagnosis->ranks.n > 1 || count(p) > 1; }

static bool has_curve(const struct mt_device_analysis *d)
{
    return d->withheld == NULL && !d->end_state_only;
}

static uint64_t live(const struct mt_device_analysis *d)
{
    return has_curve(d) ? d->live_peak : d->focus.live;
}

/* What failed comes first, then what held the most. */
static int worse(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    bool fx = x->d->ooms.n != 0, fy = y->d->ooms.n != 0;
    if (fx != fy)
        return fx ? -1 : 1;
    if (live(x->d) != live(y->d))
        return live(x->d) > live(y->d) ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void row(const struct mt_page *p, struct mt_out *o, const struct place *at, uint64_t whole)
{
    char place[256], when[MT_WORDS], b[40], times[32], oom[160];
    const struct mt_device_analysis *d = at->d;
    bool curve = has_curve(d);
    (void)mt_row_place(p->r, at->k, d, place, sizeof place);
    mt_putf(o, "<tr%s data-place=\"", d == p->dev ? " class=\"me\"" : "");
    mt_html_s(o, place);
    mt_puts(o, "\"><th scope=\"row\">");
    mt_h_name(o, place, 120);
    mt_puts(o, d == p->dev ? " <small>(the verdict)</small></th>" : "</th>");
    mt_h_td_count(o, d->n_events);
    if (mt_state_unknown(d))
        mt_h_td_text(o, "not known");
    else
        mt_h_td_bytes(o, live(d));
    mt_h_td_share(o, live(d), whole, MT_COLOR_FIRST);
    mt_h_td_text(o, curve ? mt_moment_words(when, d, d->peak_event, d->peak_ns) : "dump");
    if (mt_state_unknown(d)) {
        mt_h_td_text(o, "-");
        mt_h_td_text(o, "-");
    } else {
        mt_h_td_bytes(o, d->live_end);
        mt_h_td_bytes(o, curve ? d->reserved_peak : d->reserved_end);
    }
    mt_h_td_text(o, d->capacity != 0 ? mt_fmt_percent(b, live(d), d->capacity) : "-");
    mt_puts(o, "<td>");
    if (d->ooms.n != 0) {
        const struct mt_oom *m = &d->ooms.p[0];
        (void)snprintf(times, sizeof times, "%u times, first", (unsigned)d->ooms.n);
        (void)snprintf(oom, sizeof oom, "%s asking for %s in %s", d->ooms.n == 1 ? "once," : times,
                       mt_row_request(b, m), MT_PHASE_CELL(m->attr.phase, m->attr.sub));
        mt_puts(o, "<strong class=\"oom\">");
        mt_h_words(o, oom, SIZE_MAX);
        mt_puts(o, "</strong>");
    } else {
        mt_puts(o, "none");
    }
    mt_puts(o, at->k->trace->damaged ? " <small>(incomplete input)</small></td></tr>\n"
                                     : "</td></tr>\n");
}

/* The highest bytes of a device while that phase held (mt_phase_outer()); 0 = it never did. */
static uint64_t highest(const struct mt_device_analysis *d, enum mt_phase phase)
{
    uint64_t most = 0;
    for (uint32_t i = 0; has_curve(d) && i < d->phases.n; i++)
        if (mt_phase_outer(d->phases.p[i].phase, d->phases.p[i].sub) == phase &&
            d->phases.p[i].peak_inside_event != MT_NO_EVENT && d->phases.p[i].peak_inside > most)
            most = d->phases.p[i].peak_inside;
    return most;
}

static void heat_cell(struct mt_out *o, uint64_t bytes, uint64_t whole)
{
    char b[32], exact[32];
    if (bytes == 0)
        mt_puts(o, "<td class=\"n\">-</td>");
    else
        mt_putf(o, "<td class=\"n heat%u\" title=\"%s bytes\">%s</td>",
                (unsigned)mt_scale_px(bytes, whole, 8), mt_fmt_count(exact, bytes),
                mt_fmt_bytes(b, bytes));
}

/* Which rank is high in which phase. */
static void heat(const struct mt_page *p, struct mt_out *o, const struct place *at, uint32_t n)
{
    const char *heads[1 + MT_PH_COUNT] = {"Rank and device"};
    char name[MT_PH_COUNT][80], place[256];
    enum mt_phase phase[MT_PH_COUNT];
    unsigned columns = 0;
    uint64_t whole = 0;
    for (int ph = 0; ph < MT_PH_COUNT; ph++) {
        uint64_t most = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t bytes = highest(at[i].d, (enum mt_phase)ph);
            most = bytes > most ? bytes : most;
        }
        if (most == 0)
            continue;
        (void)snprintf(name[columns], sizeof name[columns], "#%s",
                       mt_phase_words((enum mt_phase)ph));
        heads[1 + columns] = name[columns];
        phase[columns++] = (enum mt_phase)ph;
        whole = most > whole ? most : whole;
    }
    if (columns < 2 || n < 2)
        return;
    mt_puts(o, "<h3>Where each rank is high</h3>\n<p class=\"note\">The highest live bytes of a "
               "rank while a phase held. A stronger "
               "shade is more; the same shade is the same number of bytes in every cell.</p>\n");
    mt_h_table(o, "Highest live bytes by rank and phase", heads, 1 + columns);
    for (uint32_t i = 0; i < n && i < HEAT_ROWS; i++) {
        (void)mt_row_place(p->r, at[i].k, at[i].d, place, sizeof place);
        mt_puts(o, "<tr data-place=\"");
        mt_html_s(o, place);
        mt_puts(o, "\"><th scope=\"row\">");
        mt_h_name(o, place, 120);
        mt_puts(o, "</th>");
        for (unsigned c = 0; c < columns; c++)
            heat_cell(o, highest(at[i].d, phase[c]), whole);
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
    if (n > HEAT_ROWS)
        mt_putf(o, "<p class=\"note\">The %u with the most; %u more are in the table above.</p>\n",
                (unsigned)HEAT_ROWS, (unsigned)(n - HEAT_ROWS));
}

static void pictures(const struct mt_page *p, struct mt_out *o, const struct place *at, uint32_t n)
{
    char what[256];
    unsigned drawn = 0, left_out = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_device_analysis *d = at[i].d;
        struct mt_svg s = {.dev = d, .pal = &p->pal, .what = what, .id = drawn + 1, .small = true};
        if (d == p->dev || !mt_svg_timeline_has(d) || d->end_state_only)
            continue;
        if (drawn == SMALL_TIMELINES) {
            left_out++;
            continue;
        }
        if (drawn++ == 0)
            mt_puts(o, "<div class=\"multiples\">\n");
        mt_puts(o, "<figure><figcaption>");
        mt_h_name(o, mt_row_place(p->r, at[i].k, d, what, sizeof what), 120);
        mt_puts(o, "</figcaption>\n");
        mt_svg_timeline(o, &s);
        mt_puts(o, "</figure>\n");
    }
    if (drawn > 0)
        mt_puts(o, "</div>\n");
    if (left_out > 0)
        mt_putf(
            o,
            "<p class=\"note\">%u more have no picture here; their numbers are in the table.</p>\n",
            left_out);
}

static void table(const struct mt_page *p, struct mt_out *o, const struct place *at, uint32_t n,
                  uint64_t whole)
{
    static const char *const heads[] = {"Rank and device", "#Events",      "#Peak live",
                                        "#Of the highest", "#At",          "#Live at end",
                                        "#Peak reserved",  "#Of capacity", "Out of memory"};
    mt_h_table(o, "Ranks and devices", heads, sizeof heads / sizeof *heads);
    for (uint32_t i = 0; i < n; i++)
        row(p, o, &at[i], whole);
    mt_h_table_end(o);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    uint32_t n = 0, all = count(p), shown;
    uint64_t whole = 0;
    struct place *at = mt_calloc(all, sizeof *at);
    if (at == NULL) {
        o->error = o->error != 0 ? o->error : ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < p->r->diagnosis->ranks.n; i++) {
        const struct mt_analysis *a = p->r->diagnosis->ranks.p[i].analysis;
        for (uint32_t k = 0; k < a->devices.n; k++, n++) {
            at[n] = (struct place){&p->r->diagnosis->ranks.p[i], &a->devices.p[k], n};
            whole = live(at[n].d) > whole ? live(at[n].d) : whole;
        }
    }
    qsort(at, n, sizeof *at, worse);
    shown = n < SHOWN ? n : SHOWN;
    if (p->r->diagnosis->same_job != NULL && p->r->diagnosis->same_job->missing != NULL) {
        mt_puts(o, "<p class=\"note\">");
        mt_h_words(o, p->r->diagnosis->same_job->missing, 2000);
        mt_puts(o, "</p>\n");
    }
    table(p, o, at, shown, whole);
    if (shown < n) {
        mt_putf(o, "<details class=\"more\"><summary>%u more</summary>\n", (unsigned)(n - shown));
        table(p, o, at + shown, n - shown, whole);
        mt_puts(o, "</details>\n");
    }
    heat(p, o, at, n);
    pictures(p, o, at, n);
    mt_free(at);
}

const struct mt_panel mt_panel_ranks = {"ranks", "Ranks and devices", has, draw};
