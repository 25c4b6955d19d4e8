/* palette.h -- which role and which phase has which colour. A role has its own in every report.
 *
 * Phases: nine fixed colours that stay apart with every kind of colour blindness and on light and
 * dark pages, none of them red: red is kept for running out of memory. Phases that occur in nearly
 * every job have a preferred colour; the rest take what is left, the most bytes first; what finds
 * none shares the colour of "other phases". */
#ifndef MT_PALETTE_H
#define MT_PALETTE_H

#include "render/view/report.h"

enum {
    MT_COLOR_OTHER = 0, /* all phases without a colour of their own */
    MT_COLOR_UNATTRIBUTED = 1,
    MT_COLOR_FIRST = 2,
    MT_COLOR_COUNT = 11, /* of phases */
    MT_COLOR_ALL = 24
};
struct mt_palette {
    uint8_t of[MT_PH_COUNT][MT_PH_COUNT]; /* [phase][sub] */
};

void mt_palette_build(struct mt_palette *p, const struct mt_report *r);
static inline unsigned mt_palette_row(const struct mt_palette *p, const struct mt_phase_row *row)
{
    return p->of[row->phase][row->sub];
}
unsigned mt_role_color(unsigned role);
const char *mt_color_hex(unsigned color); /* "#2e44b3" */
const char *mt_color_ink(unsigned color); /* the colour of text that is readable on it */
extern const char *const mt_color_oom;    /* the one red */

#endif
