/* json/text.h -- JSON as a stream of tokens over a struct mt_source: strings, numbers, and values
 * passed over.
 *
 * What json.dump() of Python writes is read, which is a little more than JSON: NaN, Infinity,
 * -Infinity, lone surrogates, integers of any size. A call returns 1, or 0 with `fail` and `why`
 * set; `p` is then where the trouble is. */
#ifndef MT_PARSER_JSON_TEXT_H
#define MT_PARSER_JSON_TEXT_H

#include "parser/model/builder.h"
#include "parser/json/scan.h"
#include "parser/base/source.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <emmintrin.h>
#endif

enum mt_json_fail {
    MT_JF_NONE,
    MT_JF_END, /* the stream ended inside the document */
    MT_JF_BAD, /* no JSON here; why.msg says what was found */
    MT_JF_STOP /* a limit or memory: why.rc */
};

struct mt_json {
    struct mt_source *src;
    /* the rest of the window; src->cur lags behind until the next refill */
    const unsigned char *p, *end;
    const struct mt_limits *lim;
    const struct mt_json_simd *simd;
    unsigned char *scratch; /* a string with escapes, decoded */
    size_t cap_scratch;
    /* members, frames, and 64 bytes looked over ahead of reading them: what tests bound */
    uint64_t steps;
    enum mt_json_fail fail;
    struct mt_err why;
};

void mt_json_init(struct mt_json *j, struct mt_source *src, const struct mt_limits *lim);
void mt_json_done(struct mt_json *j); /* src->cur is where reading stopped */
static inline uint64_t mt_json_offset(const struct mt_json *j)
{
    return j->src->base + (uint64_t)(j->p - j->src->buf);
}

/* Makes n bytes available at p; returns 0 (without `fail`) when the stream ends before. Pointers
 * into the window die. */
int mt_json_more(struct mt_json *j, size_t n);

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int mt_json_stop(struct mt_json *j, enum mt_rc rc, const char *fmt, ...);
/* "expected X, found Y" at p, or MT_JF_END when the stream is at its end. Returns 0. */
int mt_json_expected(struct mt_json *j, const char *what);

int mt_json_space_slow(struct mt_json *j);
/* Passes white space; returns the byte at p, or -1 at the end of the stream. */
static inline int mt_json_space(struct mt_json *j)
{
    if (j->p<j->end && * j->p> ' ')
        return *j->p;
    return mt_json_space_slow(j);
}

/* The first of two bytes in [p, end), or end. The window has a margin behind its end, so whole
 * vectors may be loaded. */
static inline const unsigned char *mt_json_either(const unsigned char *p, const unsigned char *end,
                                                  char one, char other)
{
#if defined(__x86_64__) && defined(__GNUC__)
    const __m128i a = _mm_set1_epi8(one), b = _mm_set1_epi8(other);
    for (; p < end; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned m =
            (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, a), _mm_cmpeq_epi8(v, b)));
        if (m != 0) {
            p += __builtin_ctz(m);
            return p < end ? p : end;
        }
    }
    return end;
#else
    while (p < end && *p != (unsigned char)one && *p != (unsigned char)other)
        p++;
    return p;
#endif
}
static inline const unsigned char *mt_json_quote(const unsigned char *p, const unsigned char *end)
{
    return mt_json_either(p, end, '"', '\\');
}

/* p at the opening quote. The text is in the window or in scratch and lives until the next call. */
int mt_json_string(struct mt_json *j, const unsigned char **s, size_t *n);
/* p at '-', a digit, or a letter: a number, true, false, null, NaN, Infinity. */
int mt_json_scalar(struct mt_json *j, struct mt_val *v);
/* p at the first byte of any value. Memory does not grow; depth: containers already open around it.
 */
int mt_json_skip(struct mt_json *j, uint32_t depth);

#endif
