/* page_index.h -- the index of the page's data, as JSON (docs/report-data.md). */
#ifndef MT_PAGE_INDEX_H
#define MT_PAGE_INDEX_H

#include "render/html/kit.h"
#include "render/html/page_plan.h"

/* True where the recording ties the track to the ledger of its GPU. */
bool mt_page_ledger(const struct mt_page *p, const struct mt_track_plan *t, uint32_t *ledger);
void mt_page_index(const struct mt_page *p, const struct mt_page_plan *plan, struct mt_out *o);

#endif
