/* svg/ledger.h -- a GPU's memory over time as a static picture: bytes by
 * holder, the device's own figure, its samples, the capacity, the phases of the
 * job above, the failures. Only presentation attributes, as in svg/timeline.h.
 */
#ifndef MT_SVG_LEDGER_H
#define MT_SVG_LEDGER_H

#include "render/view/report.h"

struct mt_svg_ledger {
    const struct mt_driverdiag *driver;
    uint32_t ledger;
    bool small; /* one of several: no legend, fewer ticks */
};
/* True when there is a curve to draw. */
bool mt_svg_ledger_has(const struct mt_ledger *l);
void mt_svg_ledger(struct mt_out *o, const struct mt_svg_ledger *s);
unsigned mt_holder_color(enum mt_holder h); /* of render/view/palette.h */

#endif
