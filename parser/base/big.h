/* big.h -- blocks of many MiB, in huge pages of their own. Only mem.c includes it.
 *
 * What lies in 4 KiB pages costs a fault for each when it is first touched, and what grows by
 * realloc() breaks huge pages up. These blocks are mappings that begin where a huge page does, so
 * that growing moves huge pages whole and copies nothing. Thread-safety: any thread may call any of
 * them; a block belongs to one thread at a time. */
#ifndef MT_BIG_H
#define MT_BIG_H

#include <stdbool.h>
#include <stddef.h>

#define MT_BIG_MIN ((size_t)4 << 20)

/* Whether p is such a block; then *size is what was asked for. */
bool mt_big_find(const void *p, size_t *size);
/* A new one; NULL: there are none on this system, or no memory. */
void *mt_big_new(size_t size);
/* Of p, to size >= MT_BIG_MIN; NULL: p stays as it is. */
void *mt_big_resize(void *p, size_t size);
void mt_big_free(void *p);

#endif
