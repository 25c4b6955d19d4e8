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

static void add(struct mt_legend *l, const struct mt_device_analysis *d, unsigned role)
{
    struct mt_legend_entry e = {(uint8_t)role, d->roles.at_focus[role]};
    unsigned at;
    for (at = l->n++; at > 0 && l->entry[at - 1].bytes < e.bytes; at--)
        l->entry[at] = l->entry[at - 1];
    l->entry[at] = e;
}

void mt_legend_build(struct mt_legend *l, const struct mt_device_analysis *d, const uint8_t *roles,
                     unsigned n)
{
    l->n = 0;
    for (unsigned i = 0; i < (roles != NULL ? n : MT_ROLE_COUNT); i++)
        if (roles != NULL || d->roles.at_focus[i] != 0)
            add(l, d, roles != NULL ? roles[i] : i);
}

unsigned mt_legend_number(const struct mt_legend *l, unsigned role)
{
    unsigned i = 0;
    while (i < l->n && l->entry[i].role != role)
        i++;
    return i + 1;
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
                left, base + 2, mt_color_hex(mt_role_color(e->role)));
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%u ", left + 18, base + 12, i + 1);
        mt_svg_text(o, mt_role_words((enum mt_role)e->role), NAME_COLUMNS);
        mt_putf(o,
                "</text><text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" text-anchor=\"end\">%s</text>\n",
                left + COLUMN_WIDTH - 36, base + 12, mt_fmt_bytes(bytes, e->bytes));
    }
}
