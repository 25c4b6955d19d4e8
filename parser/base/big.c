#define _GNU_SOURCE /* mremap() */
#include "parser/base/big.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MT_WATCHED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MT_WATCHED 1 /* AddressSanitizer finds overruns only in its own allocator's blocks */
#endif

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#if defined(MT_WATCHED)
bool mt_big_has_pages(void) { return false; }
#else
bool mt_big_has_pages(void) { return true; }
#endif

/* All of it is filled at once: a fault for each page takes several times as long. */
#if defined(MAP_POPULATE)
#define AT_ONCE MAP_POPULATE
#else
#define AT_ONCE 0
#endif

void *mt_big_pages(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | AT_ONCE, -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

void mt_big_pages_free(void *p, size_t n) { munmap(p, n); }

#if defined(MADV_HUGEPAGE) && defined(MREMAP_FIXED) && !defined(MT_WATCHED)

#define HUGE_PAGE ((size_t)2 << 20)

/* In no order. 512 are 2 GiB at least; what comes after them is left to malloc(). The lock is for
 * the list: blocks change their places in it when another one is freed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block {
    unsigned char *p;
    size_t size, mapped;
} blocks[512];
static size_t n_blocks;

/* The one that was freed last, for whoever asks next and needs no zeros: the memo of a reader is
 * the fates of its events a moment later, and clearing pages is a tenth of a large report. */
#define MAX_SPARE ((size_t)16 << 20)
static struct block spare;

static struct block *find(const void *p)
{
    for (size_t i = 0; i < n_blocks; i++)
        if (blocks[i].p == p)
            return &blocks[i];
    return NULL;
}

static size_t rounded(size_t size)
{
    return size > SIZE_MAX - 2 * HUGE_PAGE ? 0 : (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

/* Addresses that begin where a huge page does. */
static unsigned char *reserve(size_t n, int protection)
{
    unsigned char *p, *from;
    size_t before;
    if (n == 0 || (p = mmap(NULL, n + HUGE_PAGE, protection,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED)
        return NULL;
    before = (HUGE_PAGE - ((uintptr_t)p & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    from = p + before;
    if (before != 0)
        munmap(p, before);
    munmap(from + n, HUGE_PAGE - before);
    return from;
}

bool mt_big_find(const void *p, size_t *size)
{
    const struct block *b;
    if (((uintptr_t)p & 4095) != 0) /* hardly anything of malloc() gets further */
        return false;
    pthread_mutex_lock(&lock);
    if ((b = find(p)) != NULL)
        *size = b->size;
    pthread_mutex_unlock(&lock);
    return b != NULL;
}

/* The spare block, if it is large enough, cut to n bytes. Under the lock. */
static unsigned char *take_spare(size_t n)
{
    unsigned char *p = spare.p;
    if (n == 0 || n > spare.mapped)
        return NULL;
    if (n < spare.mapped)
        munmap(p + n, spare.mapped - n);
    spare = (struct block){.p = NULL};
    return p;
}

void *mt_big_new(size_t size, bool zeros)
{
    struct block b = {.size = size, .mapped = rounded(size)};
    bool full;
    if (!zeros) {
        pthread_mutex_lock(&lock);
        b.p = take_spare(b.mapped);
        pthread_mutex_unlock(&lock);
    }
    if (b.p == NULL && (b.p = reserve(b.mapped, PROT_READ | PROT_WRITE)) == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    full = n_blocks == sizeof blocks / sizeof *blocks;
    if (!full)
        blocks[n_blocks++] = b;
    pthread_mutex_unlock(&lock);
    if (full) {
        munmap(b.p, b.mapped);
        return NULL;
    }
    (void)madvise(b.p, b.mapped, MADV_HUGEPAGE);
    return b.p;
}

static void *resize(struct block *b, size_t size)
{
    size_t mapped = rounded(size);
    if (b == NULL || mapped == 0)
        return NULL;
    if (mapped < b->mapped)
        munmap(b->p + mapped, b->mapped - mapped);
    if (mapped > b->mapped && mremap(b->p, b->mapped, mapped, 0) == MAP_FAILED) {
        /* reserve() fails under a limit on addresses (ulimit -v): then the kernel chooses the place
         */
        unsigned char *to = reserve(mapped, PROT_NONE);
        void *q = to != NULL ? mremap(b->p, b->mapped, mapped, MREMAP_MAYMOVE | MREMAP_FIXED, to)
                             : mremap(b->p, b->mapped, mapped, MREMAP_MAYMOVE);
        if (q == MAP_FAILED) {
            if (to != NULL)
                munmap(to, mapped);
            return NULL;
        }
        b->p = q;
    }
    b->size = size;
    b->mapped = mapped;
    return b->p;
}

/* A block is moved and unmapped under the lock: else another thread could be given its old address
 * and add that to the list beside the row that still names it. */
void *mt_big_resize(void *p, size_t size)
{
    void *q;
    pthread_mutex_lock(&lock);
    q = resize(find(p), size);
    pthread_mutex_unlock(&lock);
    return q;
}

void mt_big_free(void *p)
{
    struct block *b;
    pthread_mutex_lock(&lock);
    if ((b = find(p)) != NULL) {
        struct block old = *b;
        *b = blocks[--n_blocks];
        if (old.mapped <= MAX_SPARE) {
            struct block other = spare;
            spare = old;
            old = other;
        }
        if (old.p != NULL)
            munmap(old.p, old.mapped);
    }
    pthread_mutex_unlock(&lock);
}

#else

bool mt_big_find(const void *p, size_t *size)
{
    (void)p;
    (void)size;
    return false;
}

void *mt_big_new(size_t size, bool zeros)
{
    (void)size;
    (void)zeros;
    return NULL;
}

void *mt_big_resize(void *p, size_t size)
{
    (void)p;
    (void)size;
    return NULL;
}

void mt_big_free(void *p) { (void)p; }

#endif
