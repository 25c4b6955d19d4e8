/* big.h -- blocks of many MiB, in huge pages of their own. Only mem.c includes it.
 *
 * Memory in 4 KiB pages costs a fault for each page that is first touched, and realloc() breaks
 * huge pages up. These blocks are mappings that begin at a huge page: growing one moves huge pages
 * whole and copies nothing. Thread-safety: any thread may call any of them; a block belongs to one
 * thread at a time. */
#ifndef MT_BIG_H
#define MT_BIG_H

#include <stdbool.h>
#include <stddef.h>

#define MT_BIG_MIN ((size_t)4 << 20)

/* True if p is such a block; then *size is the size that was asked for. */
bool mt_big_find(const void *p, size_t *size);
/* A new block, of zeros or of anything; NULL: this system has no huge pages, or no memory, or 512
 * blocks exist. */
void *mt_big_new(size_t size, bool zeros);
/* Grows or shrinks block p to size >= MT_BIG_MIN and returns its new address; NULL: p stays as it
 * is. */
void *mt_big_resize(void *p, size_t size);
void mt_big_free(void *p);

/* n bytes in pages of their own, which are the system's again when they are freed: malloc() keeps
 * what is freed below something that is in use. n has to be the same both times. Whether to use
 * them: AddressSanitizer watches malloc()'s blocks alone. */
bool mt_big_has_pages(void);
void *mt_big_pages(size_t n); /* NULL = no memory */
void mt_big_pages_free(void *p, size_t n);

#endif
