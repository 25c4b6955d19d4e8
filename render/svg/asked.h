/* svg/asked.h -- requests that failed, in the picture of memory over time. Internal to
 * svg/timeline.c. */
#ifndef MT_SVG_ASKED_H
#define MT_SVG_ASKED_H

#include "render/view/asked.h"
#include "render/svg/plot.h"

enum { MT_SVG_MAX_OOMS = 16, MT_SVG_ASKED_KEY = 20 /* the height of its key */ };

/* Before the layers, which so cover it where what lies beside a failure is higher. */
void mt_svg_asked(struct mt_out *o, const struct mt_plot *p);
/* The uppermost pixel of one; the foot of the plot where its size is not known. */
uint32_t mt_svg_asked_y(const struct mt_plot *p, const struct mt_oom *oom);
/* What the first is made of, with its sizes; nothing where it is not drawn. */
void mt_svg_asked_key(struct mt_out *o, const struct mt_plot *p, uint32_t y);
bool mt_svg_asked_has_key(const struct mt_svg *s);
/* Whether one at x would lie over the one at `last`: of failures that follow each other closely the
 * first is drawn, or none was to be seen. */
bool mt_svg_asked_hides(uint32_t x, uint32_t last);

#endif
