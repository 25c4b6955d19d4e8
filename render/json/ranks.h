/* ranks.h -- the value of "ranks" in a report, of ranks that were analysed or merged. */
#ifndef MT_JSON_RANKS_H
#define MT_JSON_RANKS_H

#include "analysis/fleet/fleet.h"
#include "render/base/jsonw.h"

void mt_json_ranks(struct mt_jsonw *w, const struct mt_fleet *f);

#endif
