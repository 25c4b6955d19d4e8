/* svg/legend.h -- number, colour, name and bytes at the moment that matters of every role in a
 * picture.
 * Internal to the svg_*.c files. */
#ifndef MT_SVG_LEGEND_H
#define MT_SVG_LEGEND_H

#include "render/base/out.h"
#include "render/view/palette.h"

struct mt_legend {
    struct mt_legend_entry {
        uint8_t role;
        uint64_t bytes;
    } entry[MT_ROLE_COUNT];
    unsigned n;
};
/* Entries by bytes, largest first, of n roles (NULL = of all that have bytes). */
void mt_legend_build(struct mt_legend *l, const struct mt_device_analysis *d, const uint8_t *roles,
                     unsigned n);
/* From 1. */
unsigned mt_legend_number(const struct mt_legend *l, unsigned role);
uint32_t mt_legend_height(const struct mt_legend *l);
void mt_legend_draw(struct mt_out *o, const struct mt_legend *l, uint32_t x, uint32_t y);
/* Text of at most `columns` characters, escaped, cut with an ellipsis. */
void mt_svg_text(struct mt_out *o, const char *s, size_t columns);

#endif
