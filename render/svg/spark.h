/* svg/spark.h -- a row of small bars for a cell of a table: how something went from one time to the
 * next. */
#ifndef MT_SVG_SPARK_H
#define MT_SVG_SPARK_H

#include "render/base/out.h"

/* n values in their order, each as high as its part of most; where there are more than there is
 * room for, neighbours share a bar and the highest is drawn. label: in words, the program's own. */
void mt_svg_spark(struct mt_out *o, const uint64_t *v, unsigned n, uint64_t most, const char *color,
                  const char *label);

#endif
