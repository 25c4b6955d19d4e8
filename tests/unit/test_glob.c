/* Patterns with stars, beside the plainest way to match them. */
#include "mt_test.h"

#include "analysis/base/glob.h"

#include <string.h>

static bool plain(const char *pat, const char *s, const char *end)
{
    if (*pat == '\0')
        return s == end;
    if (*pat == '*')
        return plain(pat + 1, s, end) || (s < end && plain(pat, s + 1, end));
    return s < end && *s == *pat && plain(pat + 1, s + 1, end);
}

/* The i-th word of up to n letters out of `letters`. */
static void word(char *out, unsigned i, unsigned n, const char *letters)
{
    unsigned k = (unsigned)strlen(letters) + 1, at = 0;
    for (unsigned j = 0; j < n; j++, i /= k)
        if (i % k != 0)
            out[at++] = letters[i % k - 1];
    out[at] = '\0';
}

MT_TEST(every_short_pattern)
{
    unsigned hits = 0;
    for (unsigned i = 0; i < 4 * 4 * 4 * 4 * 4; i++)
        for (unsigned k = 0; k < 3 * 3 * 3 * 3 * 3; k++) {
            char pat[8], s[8];
            bool want;
            word(pat, i, 5, "ab*");
            word(s, k, 5, "ab");
            want = plain(pat, s, s + strlen(s));
            hits += want;
            if (mt_glob(pat, s, strlen(s)) != want)
                MT_FAIL_AT("\"%s\" on \"%s\"", pat, s);
        }
    MT_CHECK(hits > 1000);
}

/* Nothing behind n bytes is looked at, and a zero byte is one like any other. */
MT_TEST(the_end_is_where_n_says)
{
    MT_CHECK(mt_glob("*b", "abc", 2));
    MT_CHECK(!mt_glob("*c", "abc", 2));
    MT_CHECK(mt_glob("a*c", "a\0c", 3));
    MT_CHECK(!mt_glob("*b*", "a", 1));
    MT_CHECK(mt_glob("*", "", 0));
    MT_CHECK(mt_glob("", "", 0));
    MT_CHECK(!mt_glob("", "a", 1));
}

MT_MAIN(MT_RUN(every_short_pattern) MT_RUN(the_end_is_where_n_says))
