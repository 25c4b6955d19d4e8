/* mt_test.h -- the whole unit-test framework: TAP on standard output, both values of a failed
 * comparison, exit 1 on any failure.
 *
 *     MT_TEST(name) { MT_CHECK_EQ(1 + 1, 2); }      // one per behaviour; run in file order
 *     MT_MAIN(MT_RUN(name) MT_RUN(other))
 *
 * MT_SKIP("why") ends a test as skipped; MT_REQUIRE_SHARED() does so where the shared data folder
 * is absent. */
#ifndef MT_TEST_H
#define MT_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tests of damage change or cut a sample at each byte; under AddressSanitizer, where that takes
 * twenty times as long, at one of seven. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MT_TEST_STRIDE 7u
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MT_TEST_STRIDE 7u
#endif
#ifndef MT_TEST_STRIDE
#define MT_TEST_STRIDE 1u
#endif

static int mt_n_checks, mt_n_failed, mt_n_skipped, mt_test_no;
static bool mt_skipping;

#define MT_TEST(name) static void test_##name(void)
#define MT_RUN(name)                                                                               \
    do {                                                                                           \
        int before = mt_n_failed;                                                                  \
        mt_skipping = false;                                                                       \
        test_##name();                                                                             \
        printf("%s %d - %s%s\n", mt_n_failed == before ? "ok" : "not ok", ++mt_test_no, #name,     \
               mt_skipping ? " # SKIP" : "");                                                      \
    } while (0);
/* Exit status 77 when every test of the file was skipped: ctest shows it as skipped. */
#define MT_MAIN(runs)                                                                              \
    int main(void)                                                                                 \
    {                                                                                              \
        runs printf("1..%d\n# %d checks, %d failed, %d skipped\n", mt_test_no, mt_n_checks,        \
                    mt_n_failed, mt_n_skipped);                                                    \
        if (mt_n_failed != 0)                                                                      \
            return 1;                                                                              \
        return mt_n_skipped == mt_test_no ? 77 : 0;                                                \
    }
#define MT_FAIL_AT(...)                                                                            \
    do {                                                                                           \
        mt_n_failed++;                                                                             \
        printf("# %s:%d: ", __FILE__, __LINE__);                                                   \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
    } while (0)
#define MT_CHECK(cond)                                                                             \
    do {                                                                                           \
        mt_n_checks++;                                                                             \
        if (!(cond))                                                                               \
            MT_FAIL_AT("failed: %s", #cond);                                                       \
    } while (0)
#define MT_CHECK_EQ(a, b)                                                                          \
    do {                                                                                           \
        long long mt_a = (long long)(a), mt_b = (long long)(b);                                    \
        mt_n_checks++;                                                                             \
        if (mt_a != mt_b)                                                                          \
            MT_FAIL_AT("%s == %s: got %lld, want %lld", #a, #b, mt_a, mt_b);                       \
    } while (0)
#define MT_CHECK_STR(a, b)                                                                         \
    do {                                                                                           \
        const char *mt_a = (a), *mt_b = (b);                                                       \
        mt_n_checks++;                                                                             \
        if (mt_a == NULL || strcmp(mt_a, mt_b) != 0)                                               \
            MT_FAIL_AT("%s: got \"%s\", want \"%s\"", #a, mt_a ? mt_a : "(null)", mt_b);           \
    } while (0)
#define MT_CHECK_HAS(hay, needle)                                                                  \
    do {                                                                                           \
        const char *mt_a = (hay), *mt_b = (needle);                                                \
        mt_n_checks++;                                                                             \
        if (mt_a == NULL || strstr(mt_a, mt_b) == NULL)                                            \
            MT_FAIL_AT("%s: \"%s\" has no \"%s\"", #hay, mt_a ? mt_a : "(null)", mt_b);            \
    } while (0)
/* Ends the running test when the condition fails. */
#define MT_ASSERT(cond)                                                                            \
    do {                                                                                           \
        mt_n_checks++;                                                                             \
        if (!(cond)) {                                                                             \
            MT_FAIL_AT("failed: %s", #cond);                                                       \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define MT_SKIP(why)                                                                               \
    do {                                                                                           \
        printf("# skipped: %s\n", why);                                                            \
        mt_skipping = true;                                                                        \
        mt_n_skipped++;                                                                            \
        return;                                                                                    \
    } while (0)

/* Folder with the real snapshots: $MEMTRACE_SHARED_DATA, else MT_SHARED_DATA from the build; NULL
 * when it is not there. */
static inline const char *mt_shared_data(void)
{
    static char path[1024];
    const char *e = getenv("MEMTRACE_SHARED_DATA");
    FILE *f;
#ifdef MT_SHARED_DATA
    if (e == NULL)
        e = MT_SHARED_DATA;
#endif
    if (e == NULL)
        return NULL;
    snprintf(path, sizeof path, "%s/torch/replay_reference.json", e);
    f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    fclose(f);
    snprintf(path, sizeof path, "%s", e);
    return path;
}
#define MT_REQUIRE_SHARED()                                                                        \
    do {                                                                                           \
        if (mt_shared_data() == NULL)                                                              \
            MT_SKIP("the shared data folder is not there");                                        \
    } while (0)

/* Whole file into malloc'ed memory; NULL when it cannot be read. */
static inline unsigned char *mt_slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    unsigned char *p = NULL;
    long len;
    if (f == NULL)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
        p = malloc((size_t)len + 1);
        if (p != NULL) {
            *n = fread(p, 1, (size_t)len, f);
            p[*n] = 0;
        }
    }
    fclose(f);
    return p;
}

#endif
