/* What each phase of the job allocated, and what of it was there when it mattered. */
#include "render/base/escape.h"
#include "render/html/kit.h"

#include <stdio.h>

enum { SHOWN = 24 };

/* Neither allocated anything nor was there when it mattered: a row of zeros. */
static bool is_empty(const struct mt_phase_row *row, bool curve)
{
    return row->at_focus == 0 && (!curve || row->n_allocs == 0);
}

static uint64_t weight(const struct mt_phase_row *row)
{
    return row->at_focus > row->alloc_bytes ? row->at_focus : row->alloc_bytes;
}

static bool has(const struct mt_page *p) { return p->dev != NULL && p->dev->phases.n > 0; }

static void end_of(const struct mt_page *p, struct mt_out *o, const struct mt_phase_row *row,
                   bool last)
{
    const struct mt_device_analysis *d = p->dev;
    char when[MT_WORDS], b[32];
    uint64_t event = last ? row->last_event : row->first_event;
    if (row->n_allocs == 0) {
        mt_h_td_text(o, "-");
        return;
    }
    mt_puts(o, "<td class=\"n\">");
    mt_h_event(o, p, (int64_t)event,
               d->timeline.has_time
                   ? mt_moment_words(when, d, 0, last ? row->last_ns : row->first_ns)
                   : mt_fmt_count(b, event));
    mt_puts(o, "</td>");
}

static void peak_inside(const struct mt_page *p, struct mt_out *o, const struct mt_phase_row *row)
{
    char b[32], exact[32];
    if (row->peak_inside_event == MT_NO_EVENT) {
        mt_h_td_text(o, "-");
        return;
    }
    mt_putf(o, "<td class=\"n\" title=\"%s bytes\">", mt_fmt_count(exact, row->peak_inside));
    mt_h_event(o, p, row->peak_inside_event, mt_fmt_bytes(b, row->peak_inside));
    mt_puts(o, "</td>");
}

/* Where there are many rows, those that are not among the largest are folded away. */
static bool is_minor(const struct mt_device_analysis *d, uint32_t row)
{
    uint32_t larger = 0;
    if (d->phases.n <= SHOWN)
        return false;
    for (uint32_t i = 0; i < d->phases.n; i++)
        larger += weight(&d->phases.p[i]) > weight(&d->phases.p[row]) ||
                  (i < row && weight(&d->phases.p[i]) == weight(&d->phases.p[row]));
    return larger >= SHOWN;
}

static void put_row(const struct mt_page *p, struct mt_out *o, const struct mt_phase_row *row,
                    bool curve)
{
    const struct mt_device_analysis *d = p->dev;
    char words[MT_WORDS];
    mt_puts(o, "<tr><th scope=\"row\">");
    mt_h_swatch(o, mt_palette_row(&p->pal, row));
    mt_html_s(o, MT_PHASE_CELL(row->phase, row->sub));
    mt_puts(o, "</th>");
    if (curve) {
        end_of(p, o, row, false);
        end_of(p, o, row, true);
        mt_h_td_bytes(o, row->alloc_bytes);
        peak_inside(p, o, row);
        mt_h_td_bytes(o, row->retained);
    }
    mt_h_td_bytes(o, row->at_focus);
    mt_h_td_share(o, row->at_focus, d->focus.live, mt_palette_row(&p->pal, row));
    if (curve) {
        mt_puts(o, "<td>");
        mt_html_s(o, mt_conf_words(words, row->by_conf));
        mt_puts(o, "</td>");
    }
    mt_puts(o, "</tr>\n");
}

static void put_sum(struct mt_out *o, const struct mt_device_analysis *d, bool curve)
{
    char share[32];
    uint64_t sum = 0, allocated = 0;
    for (uint32_t i = 0; i < d->phases.n; i++) {
        sum += d->phases.p[i].at_focus;
        allocated += d->phases.p[i].alloc_bytes;
    }
    mt_puts(o, "<tr class=\"sum\"><th scope=\"row\">all phases</th>");
    if (curve) {
        mt_puts(o, "<td></td><td></td>");
        mt_h_td_bytes(o, allocated);
        mt_puts(o, "<td></td><td></td>");
    }
    mt_h_td_bytes(o, sum);
    mt_h_td_text(o, mt_fmt_percent(share, sum, d->focus.live));
    mt_puts(o, curve ? "<td></td></tr>\n" : "</tr>\n");
}

static void open_table(struct mt_out *o, const struct mt_device_analysis *d, bool curve)
{
    char at[64];
    const char *const full[] = {"Phase",
                                d->timeline.has_time ? "#First" : "#First event",
                                d->timeline.has_time ? "#Last" : "#Last event",
                                "#Allocated",
                                "#Peak inside",
                                "#Retained at its end",
                                at,
                                "#Share",
                                "Confidence"};
    const char *const still[] = {"Phase of birth", at, "#Share"};
    (void)snprintf(at, sizeof at, "#Live %s", mt_focus_words(d));
    if (curve)
        mt_h_table(o, "Phases", full, sizeof full / sizeof *full);
    else
        mt_h_table(o, "Phases", still, sizeof still / sizeof *still);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_device_analysis *d = p->dev;
    bool curve = d->withheld == NULL && !d->end_state_only;
    uint32_t minor = 0;
    mt_puts(o, "<p class=\"note\">");
    if (curve && d->timeline.has_time)
        mt_puts(o, "Times count from the first event of the device. ");
    mt_puts(o, curve ? "\xe2\x80\x9cPeak inside\xe2\x80\x9d is the highest live memory of the "
                       "whole device while the phase ran; "
                       "\xe2\x80\x9cretained\xe2\x80\x9d is what was allocated in it and still "
                       "live when it last ended. "
                     : "By the stacks of the live blocks. ");
    mt_puts(o, "How sure a phase is: <a href=\"#quality\">Data quality</a>.");
    mt_puts(o, "</p>\n");
    open_table(o, d, curve);
    for (uint32_t i = 0; i < d->phases.n; i++) {
        if (is_empty(&d->phases.p[i], curve))
            continue;
        if (is_minor(d, i))
            minor++;
        else
            put_row(p, o, &d->phases.p[i], curve);
    }
    put_sum(o, d, curve);
    mt_h_table_end(o);
    if (minor == 0)
        return;
    mt_putf(o, "<details class=\"more\"><summary>%u smaller phases</summary>\n", (unsigned)minor);
    open_table(o, d, curve);
    for (uint32_t i = 0; i < d->phases.n; i++)
        if (!is_empty(&d->phases.p[i], curve) && is_minor(d, i))
            put_row(p, o, &d->phases.p[i], curve);
    mt_h_table_end(o);
    mt_puts(o, "</details>\n");
}

const struct mt_panel mt_panel_phases = {"phases", "Phases", has, draw};
