/* gzip_out.h -- a sink that compresses what it gets into another one. Same input, same bytes: no
 * name, no time in its header. */
#ifndef MT_GZIP_OUT_H
#define MT_GZIP_OUT_H

#include "render/base/out.h"

struct mt_gzip_out {
    struct mt_out out; /* write here */
    struct mt_gzip_state *state;
};

/* to is borrowed and gets the errors of this one. 1, or 0 = out of memory. */
int mt_gzip_out_open(struct mt_gzip_out *g, struct mt_out *to);
/* Writes the end; what is wrong is in to->error. */
void mt_gzip_out_close(struct mt_gzip_out *g);

#endif
