/* fleet.h -- the ranks of a report as rows that are grouped. */
#ifndef MT_VIEW_FLEET_H
#define MT_VIEW_FLEET_H

#include "analysis/fleet/fleet.h"
#include "render/view/report.h"

/* Every device of every rank; finished. 0 = out of memory; mt_fleet_done() in any case. */
int mt_report_fleet(struct mt_fleet *f, const struct mt_report *r);

#endif
