/* strip.h -- every rank in one picture: a column for each, or for a few of them the highest. */
#ifndef MT_SAVED_STRIP_H
#define MT_SAVED_STRIP_H

#include "analysis/fleet/fleet.h"
#include "render/saved/table.h"

/* Of a page; other formats have none. f is finished. */
void mt_saved_strip(const struct mt_fleet *f, const struct mt_paper *k);

#endif
