/* page_index.h -- the index of the page's data, as JSON (docs/report-data.md). */
#ifndef MT_PAGE_INDEX_H
#define MT_PAGE_INDEX_H

#include "render/html.h"
#include "render/page_plan.h"

void mt_page_index(const struct mt_page *p, const struct mt_page_plan *plan, struct mt_out *o);

#endif
