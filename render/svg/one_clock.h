/* svg/one_clock.h -- below the picture of a GPU's memory by owner, on its clock and as wide:
 * PyTorch's own view from inside its processes, and host memory. Nothing where neither was
 * recorded. */
#ifndef MT_SVG_ONE_CLOCK_H
#define MT_SVG_ONE_CLOCK_H

#include "render/view/report.h"

void mt_svg_one_clock(struct mt_out *o, const struct mt_report *r, uint32_t ledger);

#endif
