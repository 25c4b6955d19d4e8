/* folders.h -- text without the folders of whoever wrote it: what is published in a ticket. */
#ifndef MT_FOLDERS_H
#define MT_FOLDERS_H

#include "render/base/out.h"

/* The text with the last parts alone of paths from the root. known: how many bytes of s are folders
 * of a path that is known whole (blanks may be in it), 0 = none; NULL = nothing is known. m is made
 * here, and the caller ends it with mt_out_done(). */
const char *mt_without_folders(struct mt_out *m, const char *text,
                               size_t (*known)(const char *s, const void *ctx), const void *ctx);

#endif
