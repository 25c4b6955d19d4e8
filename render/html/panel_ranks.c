/* Every device of every rank in one table, the worst first; each over time, on one clock; and
 * each in each phase. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/html/rank_rows.h"
#include "render/view/rows.h"
#include "render/svg/scale.h"

#include "parser/base/mem.h"

#include <errno.h>
#include <stdio.h>

enum { HEAT_ROWS = 64 };

static bool has(const struct mt_page *p) { return mt_h_has_rows(p, mt_section_ranks, NULL); }

/* The highest bytes of a device while that phase held (mt_phase_outer()); 0 = it never did. */
static uint64_t highest(const struct mt_device_analysis *d, enum mt_phase phase)
{
    uint64_t most = 0;
    for (uint32_t i = 0; mt_row_has_peak(d) && i < d->phases.n; i++)
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
static void heat(const struct mt_page *p, struct mt_out *o, const struct mt_place *at, uint32_t n)
{
    const char *heads[1 + MT_PH_COUNT] = {"Rank and device"};
    char name[MT_PH_COUNT][80], place[256];
    enum mt_phase phase[MT_PH_COUNT];
    unsigned columns = 0;
    uint64_t whole = 0;
    for (int ph = 0; ph < MT_PH_COUNT; ph++) {
        uint64_t most = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t bytes = highest(at[i].dev, (enum mt_phase)ph);
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
    mt_puts(o,
            "<details class=\"more\"><summary>Where each rank is high, phase by phase</summary>"
            "\n<p class=\"note\">The highest live bytes of a rank while a phase held. A stronger "
            "shade is more; the same shade is the same number of bytes in every cell.</p>\n");
    mt_h_table(o, "Highest live bytes by rank and phase", heads, 1 + columns);
    for (uint32_t i = 0; i < n && i < HEAT_ROWS; i++) {
        (void)mt_row_place(p->r, at[i].rank, at[i].dev, place, sizeof place);
        mt_puts(o, "<tr data-place=\"");
        mt_html_s(o, place);
        mt_puts(o, "\"><th scope=\"row\">");
        mt_h_name(o, place, 120);
        mt_puts(o, "</th>");
        for (unsigned c = 0; c < columns; c++)
            heat_cell(o, highest(at[i].dev, phase[c]), whole);
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
    if (n > HEAT_ROWS)
        mt_putf(o, "<p class=\"note\">The %u with the most; %u more are in the table above.</p>\n",
                (unsigned)HEAT_ROWS, (unsigned)(n - HEAT_ROWS));
    mt_puts(o, "</details>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    uint32_t n;
    struct mt_place *at = mt_places(p->r, &n);
    if (at == NULL) {
        o->error = o->error != 0 ? o->error : ENOMEM;
        return;
    }
    mt_h_rank_rows(p, o, at, n);
    mt_h_rows(o, p, mt_section_ranks, NULL);
    heat(p, o, at, n);
    mt_free(at);
}

const struct mt_panel mt_panel_ranks = {"ranks", "Ranks and devices", has, draw};
