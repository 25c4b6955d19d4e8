/* rule_image.h -- while memtrace is built: the allocator that rules are loaded into, and what makes
 * an image of what lies there (analysis/run/rule_image.h). */
#ifndef MT_CMAKE_RULE_IMAGE_H
#define MT_CMAKE_RULE_IMAGE_H

#include <stdbool.h>

/* Whether pointers can be told from numbers here. */
bool rule_image_can(void);
/* From here on mt_malloc() and its like take from region 0 or 1, which is empty then. */
bool rule_image_begin(int region);
/* Writes OUT.c. root[k]: the first block of region k; both were filled by the same calls. NULL = an
 * empty image. false = it could not be made, and why is on stderr. */
bool rule_image_write(const char *path, const void *const root[2]);

#endif
