#include "render/svg/legend.h"
#include "render/base/escape.h"
#include "render/view/view.h"

#include <inttypes.h>
#include <string.h>

enum { COLUMNS = 3, COLUMN_WIDTH = 372, ROW = 20, NAME_COLUMNS = 42 };

void mt_svg_text(struct mt_out *o, const char *s, size_t columns)
{
    size_t n = strlen(s), cut;
    if (mt_utf8_columns(s, n) <= columns) {
        mt_html(o, s, n);
        return;
    }
    for (cut = mt_utf8_cut(s, n, n - 1); cut > 0 && mt_utf8_columns(s, cut) + 1 > columns;)
        cut = mt_utf8_cut(s, cut, cut - 1);
    mt_html(o, s, cut);
    mt_puts(o, "\xe2\x80\xa6");
}

void mt_legend_build(struct mt_legend *l, const struct mt_svg *s, const bool *used)
{
    const struct mt_device_analysis *d = s->dev;
    memset(l, 0, sizeof *l);
    for (unsigned color = 0; color < MT_COLOR_COUNT; color++) {
        struct mt_legend_entry e = {.color = color};
        unsigned at;
        for (uint32_t i = 0; i < d->phases.n; i++) {
            if (mt_palette_row(s->pal, &d->phases.p[i]) != color)
                continue;
            e.bytes += d->phases.p[i].at_focus;
            e.row = &d->phases.p[i];
            e.n_rows++;
        }
        if (e.n_rows == 0 || (used == NULL ? e.bytes == 0 : !used[color]))
            continue;
        if (color == MT_COLOR_OTHER && e.n_rows > 1)
            e.row = NULL;
        for (at = l->n++; at > 0 && l->entry[at - 1].bytes < e.bytes; at--)
            l->entry[at] = l->entry[at - 1];
        l->entry[at] = e;
    }
}

uint32_t mt_legend_height(const struct mt_legend *l)
{
    return ROW * ((l->n + COLUMNS - 1) / COLUMNS);
}

void mt_legend_draw(struct mt_out *o, const struct mt_legend *l, uint32_t x, uint32_t y)
{
    char bytes[32];
    uint32_t rows = (l->n + COLUMNS - 1) / COLUMNS;
    for (unsigned i = 0; i < l->n; i++) {
        const struct mt_legend_entry *e = &l->entry[i];
        uint32_t left = x + i / rows * COLUMN_WIDTH, base = y + i % rows * ROW;
        mt_putf(o,
                "<rect x=\"%" PRIu32 "\" y=\"%" PRIu32
                "\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\"/>",
                left, base + 2, mt_color_hex(e->color));
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">", left + 18, base + 12);
        mt_svg_text(o, e->row != NULL ? MT_PHASE_CELL(e->row->phase, e->row->sub) : "other phases",
                    NAME_COLUMNS);
        mt_putf(o,
                "</text><text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" text-anchor=\"end\">%s</text>\n",
                left + COLUMN_WIDTH - 36, base + 12, mt_fmt_bytes(bytes, e->bytes));
    }
}
