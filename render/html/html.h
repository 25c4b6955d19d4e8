/* html.h -- the report as one page that opens anywhere (docs/report-data.md says what its script
 * reads). */
#ifndef MT_HTML_H
#define MT_HTML_H

#include "render/view/report.h"

/* Gives up detail to stay below r->max_size; 0 there = as large as it gets. */
void mt_render_html(const struct mt_report *r, struct mt_out *o);

#endif
