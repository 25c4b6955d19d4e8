/* base/glob.h -- patterns of rules. */
#ifndef MT_GLOB_H
#define MT_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of s, of n bytes, is what the pattern says: '*' stands for any bytes. */
bool mt_glob(const char *pattern, const char *s, size_t n);

#endif
