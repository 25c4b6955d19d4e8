/* html/rank_rows.h -- ranks below each other on one clock and one scale. */
#ifndef MT_HTML_RANK_ROWS_H
#define MT_HTML_RANK_ROWS_H

#include "render/html/kit.h"
#include "render/view/rows.h"

/* at: all devices, worst first. Those that failed come first, then who differs most; of those that
 * peaked alike one stands for all. */
void mt_h_rank_rows(const struct mt_page *p, struct mt_out *o, const struct mt_place *at,
                    uint32_t n);

#endif
