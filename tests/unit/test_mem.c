/* Memory: what grows beyond a few MiB keeps its bytes, its place in the books, and lies in huge
 * pages. */
#include "parser/base/big.h"
#include "parser/base/mem.h"
#include "tests/unit/mt_test.h"

#include <pthread.h>

#define MIB ((size_t)1 << 20)

static unsigned char byte_at(size_t i) { return (unsigned char)(i * 31 + (i >> 12)); }

static size_t wrong_bytes(const unsigned char *p, size_t from, size_t to)
{
    size_t wrong = 0;
    for (size_t i = from; i < to; i++)
        wrong += p[i] != byte_at(i);
    return wrong;
}

/* Several at once, grown in turn, so that none can stay where it is. */
MT_TEST(lists_grow_and_keep_what_they_hold)
{
    enum { N = 3 };
    unsigned char *p[N] = {NULL};
    size_t size[N] = {0}, asked, n_big = 0;
    uint64_t used = mt_mem_used();
    for (size_t n = 1000; n < 40 * MIB; n += n / 2 + 8) {
        for (int k = 0; k < N; k++) {
            unsigned char *q = mt_realloc(p[k], n);
            MT_ASSERT(q != NULL);
            p[k] = q;
            for (size_t i = size[k]; i < n; i++)
                q[i] = byte_at(i);
            size[k] = n;
            if (mt_big_find(q, &asked)) {
                n_big++;
                MT_CHECK_EQ(asked, n);
                MT_CHECK_EQ((uintptr_t)q % (2 * MIB), 0);
                MT_CHECK(n >= MT_BIG_MIN);
            }
        }
    }
    for (int k = 0; k < N; k++) {
        MT_CHECK_EQ(wrong_bytes(p[k], 0, size[k]), 0);
        MT_CHECK(mt_mem_used() - used >= size[k]);
        mt_free(p[k]);
    }
    MT_CHECK_EQ(mt_mem_used(), used);
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
    MT_CHECK(n_big >= (size_t)N * 5);
#else
    MT_CHECK(n_big < 1000);
#endif
}

MT_TEST(what_is_freed_is_used_again_but_not_for_zeros)
{
    unsigned char *p = mt_malloc_big(12 * MIB), *q;
    uintptr_t at = (uintptr_t)p;
    size_t asked, wrong = 0;
    MT_ASSERT(p != NULL);
    memset(p, 0xa5, 12 * MIB);
    mt_free(p);
    q = mt_calloc(11 * MIB, 1);
    MT_ASSERT(q != NULL);
    for (size_t i = 0; i < 11 * MIB; i++)
        wrong += q[i] != 0;
    MT_CHECK_EQ(wrong, 0);
    p = mt_malloc_big(9 * MIB); /* smaller: the end is given back */
    MT_ASSERT(p != NULL);
    memset(p, 0x5a, 9 * MIB);
    if (mt_big_find(p, &asked)) {
        MT_CHECK_EQ((uintptr_t)p, at);
        MT_CHECK_EQ(asked, 9 * MIB);
    }
    mt_free(q);
    mt_free(p);
    p = mt_malloc_big(40 * MIB); /* larger than what is kept */
    MT_ASSERT(p != NULL);
    memset(p, 1, 40 * MIB);
    mt_free(p);
}

MT_TEST(lists_shrink_to_what_is_used)
{
    static const size_t sizes[] = {30 * MIB,    9 * MIB + 5, 9 * MIB + 6, 4 * MIB,
                                   4 * MIB - 1, 100,         6 * MIB};
    uint64_t used = mt_mem_used();
    unsigned char *p = mt_realloc(NULL, 50 * MIB), *q;
    size_t held = 50 * MIB;
    MT_ASSERT(p != NULL);
    for (size_t i = 0; i < held; i++)
        p[i] = byte_at(i);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        q = mt_realloc(p, sizes[s]);
        MT_ASSERT(q != NULL);
        p = q;
        held = sizes[s] < held ? sizes[s] : held;
        MT_CHECK_EQ(wrong_bytes(p, 0, held), 0);
        MT_CHECK(mt_mem_used() - used >= sizes[s] && mt_mem_used() - used < sizes[s] + 2 * MIB);
    }
    mt_free(p);
    MT_CHECK_EQ(mt_mem_used(), used);
}

MT_TEST(a_list_that_may_not_grow_stays)
{
    uint64_t used = mt_mem_used();
    unsigned char *p = mt_realloc(NULL, 8 * MIB);
    MT_ASSERT(p != NULL);
    memset(p, 7, 8 * MIB);
    mt_mem_limit(used + 10 * MIB);
    MT_CHECK(mt_realloc(p, 12 * MIB) == NULL);
    mt_mem_limit(0);
    mt_mem_fail_after(1);
    MT_CHECK(mt_realloc(p, 12 * MIB) == NULL);
    MT_CHECK(mt_realloc(p, 100) == NULL);
    mt_mem_fail_after(0);
    MT_CHECK(mt_realloc(p, SIZE_MAX - 100) == NULL);
    MT_CHECK(p[0] == 7 && p[8 * MIB - 1] == 7);
    mt_free(p);
    MT_CHECK_EQ(mt_mem_used(), used);
}

/* Lists that grow, move and go, beside those of other threads. */
static void *grow_often(void *arg)
{
    unsigned char mark = *(const unsigned char *)arg;
    size_t *wrong = mt_calloc(1, sizeof *wrong);
    for (int i = 0; i < 30 && wrong != NULL; i++) {
        unsigned char *p = NULL, *q;
        for (size_t n = MIB; n <= 16 * MIB && (q = mt_realloc(p, n)) != NULL; n *= 2) {
            p = q;
            *wrong += n != MIB && (p[0] != mark || p[n / 2 - 1] != mark);
            p[0] = p[n - 1] = mark;
        }
        q = mt_calloc(1, 5 * MIB);
        *wrong += p == NULL || q == NULL || q[0] != 0 || q[5 * MIB - 1] != 0;
        mt_free(p);
        mt_free(q);
    }
    return wrong;
}

MT_TEST(threads_keep_their_own_lists)
{
    enum { N = 4 };
    static unsigned char mark[N] = {1, 2, 3, 4};
    pthread_t thread[N];
    uint64_t used = mt_mem_used();
    for (int i = 0; i < N; i++)
        MT_ASSERT(pthread_create(&thread[i], NULL, grow_often, &mark[i]) == 0);
    for (int i = 0; i < N; i++) {
        void *wrong = NULL;
        MT_ASSERT(pthread_join(thread[i], &wrong) == 0 && wrong != NULL);
        MT_CHECK_EQ(*(size_t *)wrong, 0);
        mt_free(wrong); /* of another thread */
    }
    MT_CHECK_EQ(mt_mem_used(), used);
}

MT_MAIN(MT_RUN(lists_grow_and_keep_what_they_hold)
            MT_RUN(what_is_freed_is_used_again_but_not_for_zeros)
                MT_RUN(lists_shrink_to_what_is_used) MT_RUN(a_list_that_may_not_grow_stays)
                    MT_RUN(threads_keep_their_own_lists))
