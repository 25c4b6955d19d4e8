/* Checks of one subject each, as the analysis tabulated them. */
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/html/other_devices.h"

#include <stdio.h>

static bool has(const struct mt_page *p)
{
    return p->dev != NULL && p->dev->audits != NULL && p->dev->audits->v.n != 0;
}

static void table(struct mt_out *o, const struct mt_audit *a)
{
    char name[MT_AUDIT_COLUMNS][80], b[64];
    const char *heads[MT_AUDIT_COLUMNS];
    for (uint32_t c = 0; c < a->n_columns; c++) {
        (void)snprintf(name[c], sizeof name[c], "%s%s", mt_cell_is_number(a, c) ? "#" : "",
                       a->column[c]);
        heads[c] = name[c];
    }
    mt_h_table(o, a->title, heads, a->n_columns);
    for (uint32_t i = 0; i < a->rows.n; i++) {
        mt_puts(o, "<tr>");
        for (uint32_t c = 0; c < a->n_columns; c++) {
            const struct mt_cell *cell = &a->rows.p[i].cell[c];
            if (cell->kind == MT_CELL_BYTES) {
                mt_h_td_bytes(o, cell->number);
            } else if (cell->kind == MT_CELL_TEXT) {
                mt_puts(o, "<td>");
                mt_h_name(o, mt_cell_words(b, cell), 200);
                mt_puts(o, "</td>");
            } else if (mt_cell_is_number(a, c)) {
                mt_h_td_text(o, mt_cell_words(b, cell));
            } else {
                mt_puts(o, "<td>-</td>");
            }
        }
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
    if (a->rows_left_out != 0)
        mt_putf(o, "<p class=\"note\">%s more rows.</p>\n", mt_fmt_count(b, a->rows_left_out));
}

static void device(const struct mt_page *p, const struct mt_device_analysis *d, struct mt_out *o,
                   bool full)
{
    const struct mt_audits *all = d->audits;
    for (unsigned pass = 0; pass < 2; pass++) { /* what asks for something first */
        for (uint32_t i = 0; i < all->v.n; i++) {
            const struct mt_audit *a = &all->v.p[i];
            if (a->finding != (pass == 0))
                continue;
            mt_putf(o, "<details class=\"advice\"%s><summary>%s<b>",
                    full && a->finding ? " open" : "",
                    a->finding ? "<span class=\"flag\">To act on</span> " : "");
            mt_html_s(o, a->title);
            mt_puts(o, "</b>: ");
            mt_h_words(o, a->sentence, 1000);
            mt_puts(o, "</summary>\n");
            if (full && a->event >= 0 && mt_page_has_timeline(p)) {
                mt_h_when(o, p, "<p class=\"note\">In the timeline: ", a->event, a->event);
                mt_puts(o, "</p>\n");
            }
            if (full && a->rows.n != 0 && a->n_columns != 0)
                table(o, a);
            mt_puts(o, "</details>\n");
        }
    }
}

static bool occurs(const struct mt_device_analysis *d)
{
    return d->audits != NULL && d->audits->v.n != 0;
}

static char *words(char *buf, size_t cap, const struct mt_device_analysis *d)
{
    size_t n = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < d->audits->v.n; i++)
        if (d->audits->v.p[i].finding && n < cap)
            n += (size_t)snprintf(buf + n, cap - n, "%s%s", n == 0 ? "to act on: " : ", ",
                                  d->audits->v.p[i].title);
    if (n == 0)
        (void)snprintf(buf, cap, "nothing to act on");
    return buf;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_devices(p, o, occurs, device, words);
}

const struct mt_panel mt_panel_audits = {"audits", "Looked at", has, draw};
