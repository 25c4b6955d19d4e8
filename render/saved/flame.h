/* flame.h -- who holds the memory of two runs as one flame graph: a box a function, as wide as what
 * both runs hold below it, in one hue where that grew and in another where it shrank. Lines of code
 * move between runs, so a function is known by its file and name. */
#ifndef MT_SAVED_FLAME_H
#define MT_SAVED_FLAME_H

#include "analysis/compare/diff.h"
#include "render/base/out.h"

/* Of owners[] of both reports, on the devices that are compared; nothing where there are none. */
void mt_flame_put(const struct mt_diff *d, struct mt_out *o);

#endif
