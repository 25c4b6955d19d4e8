#include "parser/base/mem.h"
#include "parser/base/big.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Sums alone: nothing else is published through them, so no order is needed. */
static _Atomic uint64_t used, limit;
static _Thread_local uint64_t calls, fail_at, failures;

static void account(uint64_t bytes) /* also a negative number, modulo 2^64 */
{
    atomic_fetch_add_explicit(&used, bytes, memory_order_relaxed);
}

static bool refuse(size_t n)
{
    uint64_t max = atomic_load_explicit(&limit, memory_order_relaxed), held = mt_mem_used();
    bool no;
    calls++;
    no = (fail_at != 0 && calls >= fail_at) || (max != 0 && n > max - (held < max ? held : max));
    failures += no;
    return no;
}

static void *failed(void)
{
    failures++;
    return NULL;
}

static size_t size_of(void *p)
{
    size_t size;
    return p == NULL ? 0 : mt_big_find(p, &size) ? size : malloc_usable_size(p);
}

void *mt_malloc(size_t n)
{
    void *p;
    if (refuse(n))
        return NULL;
    if ((p = malloc(n ? n : 1)) == NULL)
        return failed();
    account(malloc_usable_size(p));
    return p;
}

/* Big tables are hit at random, and with 4 KiB pages nearly every hit misses the TLB too. A pass
 * from front to back stalls at the end of each page. */
void *mt_malloc_big(size_t n)
{
    void *p = NULL;
    if (n < MT_BIG_MIN)
        return mt_malloc(n);
    if (refuse(n))
        return NULL;
    if ((p = mt_big_new(n, false)) == NULL && (p = malloc(n)) == NULL)
        return failed();
    account(size_of(p));
    return p;
}

void *mt_malloc_pages(size_t n)
{
    void *p;
    if (!mt_big_has_pages())
        return mt_malloc(n);
    if (refuse(n))
        return NULL;
    if ((p = mt_big_pages(n)) == NULL)
        return failed();
    account(n);
    return p;
}

void mt_free_pages(void *p, size_t n)
{
    if (!mt_big_has_pages()) {
        mt_free(p);
        return;
    }
    account(0 - (uint64_t)n);
    mt_big_pages_free(p, n);
}

void *mt_calloc(size_t n, size_t size)
{
    size_t total;
    void *p = NULL;
    if (__builtin_mul_overflow(n, size, &total))
        return failed();
    if (refuse(total))
        return NULL;
    if (total >= MT_BIG_MIN)
        p = mt_big_new(total, true);
    if (p == NULL && (p = calloc(1, total ? total : 1)) == NULL)
        return failed();
    account(size_of(p));
    return p;
}

static void release(void *p)
{
    size_t size;
    if (mt_big_find(p, &size))
        mt_big_free(p);
    else
        free(p);
}

void *mt_realloc(void *p, size_t n)
{
    size_t old = size_of(p), size;
    bool is_big = mt_big_find(p, &size), grows = n > old;
    void *q;
    if (refuse(grows ? n - old : 0))
        return NULL;
    if (is_big && n >= MT_BIG_MIN) {
        q = mt_big_resize(p, n);
    } else if (is_big || (grows && n >= MT_BIG_MIN && (q = mt_big_new(n, false)) != NULL)) {
        if (is_big && (q = malloc(n ? n : 1)) == NULL)
            return failed();
        if (p != NULL)
            memcpy(q, p, grows ? old : n);
        release(p);
    } else {
        q = realloc(p, n ? n : 1);
    }
    if (q == NULL)
        return failed();
    account((uint64_t)size_of(q) - old); /* less than before, too: size_t may have 32 bits */
    return q;
}

void mt_free(void *p)
{
    if (p == NULL)
        return;
    account(0 - (uint64_t)size_of(p));
    release(p);
}

char *mt_strndup(const char *s, size_t n)
{
    char *p = mt_malloc(n + 1);
    if (p != NULL) {
        memcpy(p, s, n);
        p[n] = '\0';
    }
    return p;
}

void mt_mem_limit(uint64_t bytes) { atomic_store_explicit(&limit, bytes, memory_order_relaxed); }
uint64_t mt_mem_used(void) { return atomic_load_explicit(&used, memory_order_relaxed); }
uint64_t mt_mem_failures(void) { return failures; }
void mt_mem_fail_after(uint64_t n) { fail_at = n ? calls + n : 0; }
uint64_t mt_mem_calls(void) { return calls; }

struct mt_arena_block {
    struct mt_arena_block *next;
    _Alignas(16) unsigned char data[];
};

void *mt_arena_alloc(struct mt_arena *a, size_t n, size_t align)
{
    size_t at = (a->used + align - 1) & ~(align - 1);
    if (a->head == NULL || at > a->cap || n > a->cap - at) {
        /* small first: a report over many ranks keeps one or two of each */
        size_t block = a->head == NULL && n <= 4096 ? 8192 : 65536;
        size_t cap = n > 16384 ? n : block - sizeof(struct mt_arena_block) - 32;
        struct mt_arena_block *b = mt_malloc(sizeof *b + cap);
        if (b == NULL)
            return NULL;
        /* a large object gets its own block; the current one stays in use */
        if (n > 16384 && a->head != NULL) {
            b->next = a->head->next;
            a->head->next = b;
            return b->data;
        }
        b->next = a->head;
        a->head = b;
        a->cap = cap;
        a->used = at = 0;
    }
    a->used = at + n;
    return a->head->data + at;
}

char *mt_arena_strndup(struct mt_arena *a, const char *s, size_t n)
{
    char *p = mt_arena_alloc(a, n + 1, 1);
    if (p != NULL) {
        memcpy(p, s, n);
        p[n] = '\0';
    }
    return p;
}

void mt_arena_done(struct mt_arena *a)
{
    struct mt_arena_block *b = a->head;
    while (b != NULL) {
        struct mt_arena_block *next = b->next;
        mt_free(b);
        b = next;
    }
    memset(a, 0, sizeof *a);
}

int mt_vec_grow(void **p, uint32_t *cap, uint32_t n, size_t elem)
{
    uint64_t want = *cap ? *cap + (uint64_t)*cap / 2 + 8 : 16;
    void *q;
    if (n <= *cap)
        return 1;
    if (want < n)
        want = n;
    if (want > UINT32_MAX)
        return 0;
    q = mt_realloc(*p, (size_t)want * elem);
    if (q == NULL)
        return 0;
    *p = q;
    *cap = (uint32_t)want;
    return 1;
}
