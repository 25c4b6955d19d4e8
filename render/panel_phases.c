/* What each phase of the job allocated, and what of it was there when it mattered. */
#include "render/escape.h"
#include "render/html.h"

#include <stdio.h>

static bool has(const struct mt_page *p) { return p->dev != NULL && p->dev->phases.n > 0; }

static void end_of(struct mt_out *o, const struct mt_device_analysis *d, const struct mt_phase_row *row, bool last)
{
    char when[MT_WORDS], b[32];
    if (row->n_allocs == 0)
        mt_h_td_text(o, "-");
    else if (d->timeline.has_time)
        mt_h_td_text(o, mt_moment_words(when, d, 0, last ? row->last_ns : row->first_ns));
    else
        mt_h_td_text(o, mt_fmt_count(b, last ? row->last_event : row->first_event));
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_device_analysis *d = p->dev;
    bool curve = d->withheld == NULL && !d->end_state_only;
    char at[64], words[MT_WORDS];
    const char *const full[] = { "Phase", d->timeline.has_time ? "#First" : "#First event", d->timeline.has_time ? "#Last" : "#Last event",
                                 "#Allocated", "#Peak inside", "#Retained at its end", at, "#Share", "Confidence" };
    const char *const still[] = { "Phase of birth", at, "#Share" };
    uint64_t sum = 0, allocated = 0;
    (void)snprintf(at, sizeof at, "#Live %s", mt_focus_words(d));
    mt_puts(o, "<p class=\"note\">");
    mt_puts(o, curve ? "Times count from the first event of the device. \xe2\x80\x9c" "Peak inside\xe2\x80\x9d is the highest live memory of the "
                       "whole device while the phase ran; \xe2\x80\x9cretained\xe2\x80\x9d is what was allocated in it and still live when it "
                       "last ended."
                     : "By the stacks of the live blocks.");
    mt_puts(o, "</p>\n");
    if (curve)
        mt_h_table(o, "Phases", full, sizeof full / sizeof *full);
    else
        mt_h_table(o, "Phases", still, sizeof still / sizeof *still);
    for (uint32_t i = 0; i < d->phases.n; i++) {
        const struct mt_phase_row *row = &d->phases.p[i];
        if (!curve && row->at_focus == 0)
            continue;
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_h_swatch(o, mt_palette_row(&p->pal, row));
        mt_html_s(o, mt_phase_pair_words(words, row->phase, row->sub));
        mt_puts(o, "</th>");
        if (curve) {
            end_of(o, d, row, false);
            end_of(o, d, row, true);
            mt_h_td_bytes(o, row->alloc_bytes);
            if (row->peak_inside_event == MT_NO_EVENT)
                mt_h_td_text(o, "-");
            else
                mt_h_td_bytes(o, row->peak_inside);
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
        sum += row->at_focus;
        allocated += row->alloc_bytes;
    }
    mt_puts(o, "<tr class=\"sum\"><th scope=\"row\">all phases</th>");
    if (curve) {
        mt_puts(o, "<td></td><td></td>");
        mt_h_td_bytes(o, allocated);
        mt_puts(o, "<td></td><td></td>");
    }
    mt_h_td_bytes(o, sum);
    mt_h_td_text(o, mt_fmt_percent(words, sum, d->focus.live));
    mt_puts(o, curve ? "<td></td></tr>\n" : "</tr>\n");
    mt_h_table_end(o);
}

const struct mt_panel mt_panel_phases = { "phases", "Phases", has, draw };
