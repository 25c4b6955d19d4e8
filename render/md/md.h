/* md.h -- the report in Markdown, for a ticket. */
#ifndef MT_MD_H
#define MT_MD_H

#include "render/view/report.h"

void mt_render_md(const struct mt_report *r, struct mt_out *o);

#endif
