/* mem.h -- the only allocator calls of the libraries: counted, limited, and able to fail on purpose
 * in tests.
 *
 * mt_mem_limit() bounds the bytes held through these calls (process-wide; 0 = unlimited).
 * Thread-safety: any thread may call any of them, and free what another one allocated. Two threads
 * that ask at the same moment may pass the limit by one request together. An arena and a growing
 * array belong to one thread at a time. */
#ifndef MT_MEM_H
#define MT_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *mt_malloc(size_t n); /* n == 0 gives a unique pointer; NULL on failure */
/* uses huge pages from 4 MiB on; for tables that are read over and over */
void *mt_malloc_big(size_t n);
/* n bytes, many KiB, that are the system's again as soon as mt_free_pages() has them, whatever was
 * allocated after them; for what is given back while something else grows. n: the same both times,
 * above 0 */
void *mt_malloc_pages(size_t n);
void mt_free_pages(void *p, size_t n);
void *mt_calloc(size_t n, size_t size);    /* checks the product; with huge pages too */
void *mt_realloc(void *p, size_t n);       /* NULL on failure, p stays valid */
void mt_free(void *p);                     /* NULL is fine */
char *mt_strndup(const char *s, size_t n); /* NUL-terminated copy */

void mt_mem_limit(uint64_t bytes);
uint64_t mt_mem_used(void);

/* How many allocations of this thread were refused by the limit, by the system or by the hook
 * below. For libraries that do not say why they failed: compare before and after. */
uint64_t mt_mem_failures(void);

/* Test hook, for this thread: its n-th allocation from now (1 = the next) and all after it fail; 0
 * switches it off. mt_mem_calls() counts them. */
void mt_mem_fail_after(uint64_t n);
uint64_t mt_mem_calls(void);

/* Arena: many small objects that die together. Zeroed struct = empty arena. */
struct mt_arena_block;
struct mt_arena {
    struct mt_arena_block *head;
    size_t used, cap;
};
void *mt_arena_alloc(struct mt_arena *a, size_t n, size_t align); /* NULL on failure */
char *mt_arena_strndup(struct mt_arena *a, const char *s, size_t n);
void mt_arena_done(struct mt_arena *a);

/* Growing array: struct { T *p; uint32_t n, cap; }. MT_VEC_PUSH yields a pointer to a zeroed new
 * element, NULL on failure. */
#define MT_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *p;                                                                                      \
        uint32_t n, cap;                                                                           \
    }
int mt_vec_grow(void **p, uint32_t *cap, uint32_t n, size_t elem);
static inline void *mt_vec_push(void **p, uint32_t *n, uint32_t *cap, size_t elem)
{
    if ((*n >= *cap || *p == NULL) && (*n == UINT32_MAX || !mt_vec_grow(p, cap, *n + 1, elem)))
        return NULL;
    return memset((unsigned char *)*p + (size_t)(*n)++ * elem, 0, elem);
}
#define MT_VEC_PUSH(v) mt_vec_push((void **)&(v)->p, &(v)->n, &(v)->cap, sizeof *(v)->p)
#define MT_VEC_DONE(v) (mt_free((v)->p), (v)->p = NULL, (v)->n = (v)->cap = 0)

#endif
