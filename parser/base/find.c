#include "parser/base/find.h"

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>

/* Where the first and the last byte of the word stand as far apart as in it, of the next 16 places;
 * a bit each. */
static unsigned places(const char *s, const char *word, size_t w)
{
    const __m128i first = _mm_set1_epi8(word[0]), last = _mm_set1_epi8(word[w - 1]);
    __m128i a, b;
    memcpy(&a, s, sizeof a);
    memcpy(&b, s + w - 1, sizeof b);
    return (unsigned)_mm_movemask_epi8(
        _mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, last)));
}
enum { WIDE = 16 };
#else
static unsigned places(const char *s, const char *word, size_t w)
{
    (void)s, (void)word, (void)w;
    return 0;
}
enum { WIDE = 0 };
#endif

/* The first of these places, a bit each from s on, that has the word. */
static inline const char *first_of(unsigned at, const char *s, const char *word, size_t w)
{
    for (; at != 0; at &= at - 1)
        if (memcmp(s + __builtin_ctz(at), word, w) == 0)
            return s + __builtin_ctz(at);
    return NULL;
}

const char *mt_find(const char *s, size_t n, const char *word, size_t w)
{
    const char *end, *found;
    unsigned at;
    if (w == 0)
        return s;
    if (n < w)
        return NULL;
    end = s + (n - w) + 1; /* behind the last place */
    if (WIDE != 0 && end - s >= WIDE) {
        for (; end - s >= WIDE; s += WIDE)
            if ((at = places(s, word, w)) != 0 && (found = first_of(at, s, word, w)) != NULL)
                return found;
        /* the rest are some of the last 16 */
        at = s < end ? places(end - WIDE, word, w) >> (WIDE - (end - s)) : 0;
        return first_of(at, s, word, w);
    }
    while (s < end && (s = memchr(s, word[0], (size_t)(end - s))) != NULL) {
        if (memcmp(s, word, w) == 0)
            return s;
        s++;
    }
    return NULL;
}
