/* page_data.h -- what the page's script works on: the index, the packed blocks
 * (docs/report-data.md) and the script itself. */
#ifndef MT_HTML_PAGE_DATA_H
#define MT_HTML_PAGE_DATA_H

#include "render/html/kit.h"

/* What decodes the events, before anything is drawn: a browser takes as long to begin a worker as
 * to lay out the first screen, and does both at once. */
void mt_page_worker(const struct mt_page *p, struct mt_out *o);
void mt_page_data(const struct mt_page *p, struct mt_out *o);

#endif
