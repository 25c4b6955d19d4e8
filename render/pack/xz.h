/* pack/xz.h -- a text, packed as small as it gets. */
#ifndef MT_PACK_XZ_H
#define MT_PACK_XZ_H

#include "render/pack/bytes.h"

/* A text as a file of xz, which `memtrace` reads back as it reads any packed input. 0, or an errno:
 * ENOTSUP where this machine's libarchive cannot write xz, MT_NO_LIBRARY where there is none. */
int mt_blob_xz(struct mt_blob *out, const void *p, size_t n);

#endif
