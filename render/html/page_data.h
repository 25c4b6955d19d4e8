/* page_data.h -- what the page's script works on: the index, the packed blocks
 * (docs/report-data.md) and the script itself. */
#ifndef MT_HTML_PAGE_DATA_H
#define MT_HTML_PAGE_DATA_H

#include "render/html/kit.h"

void mt_page_data(const struct mt_page *p, struct mt_out *o);

#endif
