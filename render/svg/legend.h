/* svg/legend.h -- colour, name and bytes at the moment that matters of every phase in a picture.
 * Internal to the svg_*.c files. */
#ifndef MT_SVG_LEGEND_H
#define MT_SVG_LEGEND_H

#include "render/svg/timeline.h"

struct mt_legend {
    struct mt_legend_entry {
        unsigned color;
        const struct mt_phase_row *row; /* NULL: several phases */
        uint64_t bytes;
        uint32_t n_rows;
    } entry[MT_COLOR_COUNT + 2];
    unsigned n;
};
/* Entries by bytes, largest first, of the colours that are used (NULL = of those with bytes). */
void mt_legend_build(struct mt_legend *l, const struct mt_svg *s, const bool *used);
uint32_t mt_legend_height(const struct mt_legend *l);
void mt_legend_draw(struct mt_out *o, const struct mt_legend *l, uint32_t x, uint32_t y);
/* Text of at most `columns` characters, escaped, cut with an ellipsis. */
void mt_svg_text(struct mt_out *o, const char *s, size_t columns);

#endif
