/* Every device of every rank in one table, and a small picture of up to eight others. */
#include "render/escape.h"
#include "render/html.h"
#include "render/rows.h"
#include "render/svg_timeline.h"

#include <stdio.h>

enum { SMALL_TIMELINES = 8 };

static uint32_t count(const struct mt_page *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->r->n_ranks; i++)
        n += p->r->ranks[i].analysis->devices.n;
    return n;
}

static bool has(const struct mt_page *p) { return p->r->n_ranks > 1 || count(p) > 1; }

static void row(const struct mt_page *p, struct mt_out *o, const struct mt_rank *k, const struct mt_device_analysis *d)
{
    char place[256], when[MT_WORDS], b[32], oom[128], phase[MT_WORDS];
    bool curve = d->withheld == NULL && !d->end_state_only;
    mt_puts(o, d == p->dev ? "<tr class=\"me\"><th scope=\"row\">" : "<tr><th scope=\"row\">");
    mt_h_name(o, mt_row_place(p->r, k, d, place, sizeof place), 120);
    mt_puts(o, d == p->dev ? " <small>(the verdict)</small></th>" : "</th>");
    mt_h_td_count(o, d->n_events);
    mt_h_td_bytes(o, curve ? d->live_peak : d->focus.live);
    mt_h_td_text(o, curve ? mt_moment_words(when, d, d->peak_event, d->peak_ns) : "dump");
    mt_h_td_bytes(o, d->live_end);
    mt_h_td_bytes(o, curve ? d->reserved_peak : d->reserved_end);
    mt_h_td_text(o, d->capacity != 0 ? mt_fmt_percent(b, curve ? d->live_peak : d->focus.live, d->capacity) : "-");
    mt_puts(o, "<td>");
    if (d->ooms.n != 0) {
        const struct mt_oom *m = &d->ooms.p[0];
        (void)snprintf(oom, sizeof oom, "%u, asking for %s in %s", (unsigned)d->ooms.n, mt_fmt_bytes(b, m->request),
                       mt_phase_pair_words(phase, (enum mt_phase)m->attr.phase, (enum mt_phase)m->attr.sub));
        mt_puts(o, "<strong class=\"oom\">");
        mt_html_s(o, oom);
        mt_puts(o, "</strong>");
    } else {
        mt_puts(o, "none");
    }
    mt_puts(o, k->trace->damaged ? " <small>(incomplete input)</small></td></tr>\n" : "</td></tr>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Rank and device", "#Events",        "#Peak live",   "#At",
                                        "#Live at end",    "#Peak reserved", "#Of capacity", "Out of memory"};
    char what[256];
    unsigned drawn = 0, left_out = 0;
    mt_h_table(o, "Ranks and devices", heads, sizeof heads / sizeof *heads);
    for (uint32_t i = 0; i < p->r->n_ranks; i++)
        for (uint32_t k = 0; k < p->r->ranks[i].analysis->devices.n; k++)
            row(p, o, &p->r->ranks[i], &p->r->ranks[i].analysis->devices.p[k]);
    mt_h_table_end(o);
    for (uint32_t i = 0; i < p->r->n_ranks; i++) {
        for (uint32_t k = 0; k < p->r->ranks[i].analysis->devices.n; k++) {
            const struct mt_device_analysis *d = &p->r->ranks[i].analysis->devices.p[k];
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
            mt_h_name(o, mt_row_place(p->r, &p->r->ranks[i], d, what, sizeof what), 120);
            mt_puts(o, "</figcaption>\n");
            mt_svg_timeline(o, &s);
            mt_puts(o, "</figure>\n");
        }
    }
    if (drawn > 0)
        mt_puts(o, "</div>\n");
    if (left_out > 0)
        mt_putf(o, "<p class=\"note\">%u more have no picture here; their numbers are in the table.</p>\n", left_out);
}

const struct mt_panel mt_panel_ranks = {"ranks", "Ranks and devices", has, draw};
