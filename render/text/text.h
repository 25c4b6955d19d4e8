/* text.h -- the report for a terminal. */
#ifndef MT_RENDER_TEXT_H
#define MT_RENDER_TEXT_H

#include "render/view/report.h"

/* As wide as r->columns, between 60 and 160. */
void mt_render_text(const struct mt_report *r, struct mt_out *o);

#endif
