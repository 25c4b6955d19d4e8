/* Words in texts of all lengths, beside the plainest way to look for them; the text ends where the
 * block does, so that a sanitizer sees what is read behind it. */
#include "mt_test.h"

#include "parser/base/find.h"

#include <stdlib.h>
#include <string.h>

static const char *plain(const char *s, size_t n, const char *word, size_t w)
{
    for (size_t i = 0; i + w <= n; i++)
        if (memcmp(s + i, word, w) == 0)
            return s + i;
    return NULL;
}

MT_TEST(every_length)
{
    static const char *const words[] = {"a", "ab", "aab", "abab", "aaaaaaaaaaaaaaaaaaaaab", "b\0a"};
    static const size_t wide[] = {1, 2, 3, 4, 22, 3};
    uint64_t seed = 3, found = 0, missed = 0;
    for (size_t n = 0; n < 100; n++)
        for (int round = 0; round < 60; round++) {
            char *s = malloc(n + 1);
            MT_ASSERT(s != NULL);
            s = realloc(s, n > 0 ? n : 1);
            for (size_t i = 0; i < n; i++) {
                seed = seed * UINT64_C(6364136223846793005) + 1;
                s[i] = "aab"[(seed >> 40) % ((unsigned)round % 3 + 1)];
                if (round % 7 == 6 && (seed >> 50) % 5 == 0)
                    s[i] = '\0';
            }
            for (size_t k = 0; k < sizeof wide / sizeof *wide; k++) {
                const char *want = plain(s, n, words[k], wide[k]);
                found += want != NULL;
                missed += want == NULL;
                if (mt_find(s, n, words[k], wide[k]) != want)
                    MT_FAIL_AT("word %u in %u bytes", (unsigned)k, (unsigned)n);
            }
            MT_CHECK(mt_find(s, n, "", 0) == s);
            free(s);
        }
    MT_CHECK(found > 5000 && missed > 5000);
}

MT_MAIN(MT_RUN(every_length))
