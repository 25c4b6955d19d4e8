/* what_if.h -- what the settings to change first would do, and others with a figure: boxes to tick,
 * and for every set of them its bar and its answer, of which the style shows the one that is
 * ticked. No script. */
#ifndef MT_HTML_WHAT_IF_H
#define MT_HTML_WHAT_IF_H

#include "render/html/kit.h"

/* Of the verdict; nothing where no setting has a figure. */
void mt_h_what_if(const struct mt_page *p, struct mt_out *o);

#endif
