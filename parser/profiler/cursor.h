/* profiler/cursor.h -- the tokens of an event whose text is in the window: white space, strings,
 * numbers. Behind the end comes the window's margin, so whole vectors and words may be loaded. */
#ifndef MT_PROFILER_CURSOR_H
#define MT_PROFILER_CURSOR_H

#include "parser/base/num.h"
#include "parser/json/text.h"

#include <string.h>

struct mt_pf_text {
    const unsigned char *p;
    size_t n;
};

struct mt_pf_cursor {
    const unsigned char *p, *end;
};

/* Passes `word`, where it stands there. */
#define MT_PF_PASS(c, word)                                                                        \
    ((size_t)((c)->end - (c)->p) >= sizeof(word) - 1 &&                                            \
     mt_pf_same((c)->p, word, sizeof(word) - 1) && ((c)->p += sizeof(word) - 1, true))

/* memcmp() in words and vectors, because compilers call a function for it even where n is known. n
 * bytes may be read at both. */
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
static inline bool
mt_pf_same(const void *one, const void *two, size_t n)
{
    const unsigned char *p = one, *q = two;
    uint64_t a, b, other = 0;
    if (n < 4)
        return memcmp(p, q, n) == 0;
    if (n < 8) {
        uint32_t c, d, e, f;
        memcpy(&c, p, sizeof c);
        memcpy(&d, q, sizeof d);
        memcpy(&e, p + n - 4, sizeof e);
        /* cppcheck-suppress pointerOutOfBoundsCond ; it takes a shorter text for a longer n */
        memcpy(&f, q + n - 4, sizeof f);
        return ((c ^ d) | (e ^ f)) == 0;
    }
#if defined(__x86_64__) && defined(__GNUC__)
    if (n >= 16) {
        __m128i all = _mm_set1_epi8(-1);
        for (size_t i = 0; i < n; i += 16) {
            size_t at = i + 16 <= n ? i : n - 16;
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + at));
            __m128i w = _mm_loadu_si128((const __m128i *)(const void *)(q + at));
            all = _mm_and_si128(all, _mm_cmpeq_epi8(v, w));
        }
        return _mm_movemask_epi8(all) == 0xffff;
    }
#endif
    for (size_t i = 0; i < n; i += 8) {
        size_t at = i + 8 <= n ? i : n - 8;
        memcpy(&a, p + at, sizeof a);
        memcpy(&b, q + at, sizeof b);
        other |= a ^ b;
    }
    return other == 0;
}

#if defined(__x86_64__) && defined(__GNUC__)
static inline __m128i mt_pf_load(const unsigned char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* A bit for each of 64 bytes: whether it was told by its vector. */
static inline uint64_t mt_pf_mask(__m128i a, __m128i b, __m128i c, __m128i d)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(a) |
           (uint64_t)(unsigned)_mm_movemask_epi8(b) << 16 |
           (uint64_t)(unsigned)_mm_movemask_epi8(c) << 32 |
           (uint64_t)(unsigned)_mm_movemask_epi8(d) << 48;
}
#endif

/* The same as mt_json_quote() and for longer texts: 64 bytes at a time, so that no branch depends
 * on how long one is. */
static inline const unsigned char *mt_pf_quote(const unsigned char *p, const unsigned char *end)
{
#if defined(__x86_64__) && defined(__GNUC__)
    const __m128i a = _mm_set1_epi8('"'), b = _mm_set1_epi8('\\');
    for (; p < end; p += 64) {
        __m128i v[4];
        uint64_t m;
        for (int i = 0; i < 4; i++) {
            __m128i x = mt_pf_load(p + 16 * i);
            v[i] = _mm_or_si128(_mm_cmpeq_epi8(x, a), _mm_cmpeq_epi8(x, b));
        }
        if ((m = mt_pf_mask(v[0], v[1], v[2], v[3])) != 0) {
            p += __builtin_ctzll(m);
            return p < end ? p : end;
        }
    }
    return end;
#else
    return mt_json_quote(p, end);
#endif
}

/* The next curly bracket, or '|' or '~', in a string or not; end = there is none. */
static inline const unsigned char *mt_pf_bracket(const unsigned char *p, const unsigned char *end)
{
#if defined(__x86_64__) && defined(__GNUC__)
    for (const __m128i below = _mm_set1_epi8('{' - 1); p < end; p += 64) {
        uint64_t m = mt_pf_mask(
            _mm_cmpgt_epi8(mt_pf_load(p), below), _mm_cmpgt_epi8(mt_pf_load(p + 16), below),
            _mm_cmpgt_epi8(mt_pf_load(p + 32), below), _mm_cmpgt_epi8(mt_pf_load(p + 48), below));
        if (m != 0) {
            p += __builtin_ctzll(m);
            return p < end ? p : end;
        }
    }
    return end;
#else
    while (p < end && (*p < '{' || *p > '~'))
        p++;
    return p;
#endif
}

/* The same n bytes, at least 1. 64 bytes may be read behind each of them. */
static inline bool mt_pf_same_name(const unsigned char *p, const unsigned char *q, size_t n)
{
#if defined(__x86_64__) && defined(__GNUC__)
    for (;; p += 64, q += 64, n -= 64) {
        uint64_t m = mt_pf_mask(_mm_cmpeq_epi8(mt_pf_load(p), mt_pf_load(q)),
                                _mm_cmpeq_epi8(mt_pf_load(p + 16), mt_pf_load(q + 16)),
                                _mm_cmpeq_epi8(mt_pf_load(p + 32), mt_pf_load(q + 32)),
                                _mm_cmpeq_epi8(mt_pf_load(p + 48), mt_pf_load(q + 48)));
        if (n <= 64)
            return ~m << (64 - n) == 0; /* n: at least 1 */
        if (m != UINT64_MAX)
            return false;
    }
#else
    return memcmp(p, q, n) == 0;
#endif
}

/* Passes white space. */
static inline void mt_pf_space(struct mt_pf_cursor *c)
{
    if (c->p >= c->end || *c->p > ' ')
        return;
#if defined(__x86_64__) && defined(__GNUC__)
    for (const __m128i blank = _mm_set1_epi8(' '); c->p < c->end; c->p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)c->p);
        unsigned m = (unsigned)_mm_movemask_epi8(_mm_cmpgt_epi8(v, blank));
        if (m != 0) {
            c->p += __builtin_ctz(m);
            break;
        }
    }
    c->p = c->p < c->end ? c->p : c->end;
#else
    while (c->p < c->end && *c->p <= ' ')
        c->p++;
#endif
}

/* What reads a token takes p and returns what follows the token, or NULL. That keeps a cursor in
 * registers: one whose address a function is given is written and read again at every step. */

/* Moves a cursor on behind what was read; false = it could not be. */
static inline bool mt_pf_on(struct mt_pf_cursor *c, const unsigned char *behind)
{
    if (behind == NULL)
        return false;
    c->p = behind;
    return true;
}
#define MT_PF_READ(what, c, to) mt_pf_on(c, mt_pf_##what((c)->p, (c)->end, to))

/* p at the opening quote; text without the quotes, escapes as they are. */
static inline const unsigned char *mt_pf_string(const unsigned char *p, const unsigned char *end,
                                                struct mt_pf_text *s)
{
    const unsigned char *from = ++p;
    while ((p = mt_json_quote(p, end)) < end && *p == '\\')
        p += 2;
    if (p >= end)
        return NULL;
    *s = (struct mt_pf_text){from, (size_t)(p - from)};
    return p + 1;
}

static inline bool mt_pf_is_digit(unsigned c) { return c - '0' < 10; }

/* How many of the eight bytes at p are digits up to the first that is none; *v: their number. All
 * in one word, whose lowest byte is the first digit. */
static inline unsigned mt_pf_digits8(const unsigned char *p, uint64_t *v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t w, other;
    unsigned n;
    memcpy(&w, p, sizeof w);
    w ^= each * '0';
    other = ((w + each * (0x80 - 10)) | w) & each * 0x80; /* right up to the first one */
    n = other != 0 ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    w = n != 0 ? w << (64 - 8 * n) : 0; /* as if zeros stood before */
    w = (w * 10 + (w >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    w = (w * 100 + (w >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *v = (w * 10000 + (w >> 32)) & UINT64_C(0xffffffff);
    return n;
#else
    unsigned n = 0;
    for (*v = 0; n < 8 && mt_pf_is_digit(p[n]); n++)
        *v = *v * 10 + (p[n] - (unsigned)'0');
    return n;
#endif
}

static inline uint64_t mt_pf_pow10(unsigned n) /* up to 8 */
{
    static const uint32_t of[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    return of[n];
}

/* The number of up to 16 digits at p; returns what follows them. */
static inline const unsigned char *mt_pf_digits16(const unsigned char *p, uint64_t *v)
{
    uint64_t rest;
    unsigned n = mt_pf_digits8(p, v);
    p += n;
    if (n == 8) {
        n = mt_pf_digits8(p, &rest);
        *v = *v * mt_pf_pow10(n) + rest;
        p += n;
    }
    return p;
}

#if defined(__x86_64__) && defined(__GNUC__)
/* Which of the 16 bytes at p are digits. */
static inline unsigned mt_pf_which(const unsigned char *p)
{
    __m128i d = _mm_sub_epi8(mt_pf_load(p), _mm_set1_epi8('0'));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(9)), d));
}

/* The number that the last n of 16 characters are. */
static inline uint64_t mt_pf_value(__m128i text, unsigned n)
{
    static const uint64_t last[4] = {0, 0, UINT64_MAX, UINT64_MAX};
    __m128i d = _mm_sub_epi8(text, _mm_set1_epi8('0'));
    uint64_t u;
    d = _mm_and_si128(d, mt_pf_load((const unsigned char *)last + n));
    /* neighbours are put together: two digits, then four, then eight; 2561 = 10 * 256 + 1 */
    d = _mm_srli_epi16(_mm_mullo_epi16(d, _mm_set1_epi16(2561)), 8);
    d = _mm_madd_epi16(d, _mm_set1_epi32(1 << 16 | 100));
    d = _mm_madd_epi16(_mm_packs_epi32(d, d), _mm_set1_epi32(1 << 16 | 10000));
    u = (uint64_t)_mm_cvtsi128_si64(d);
    return (u & UINT32_MAX) * 100000000 + (u >> 32);
}
#endif

/* How many digits stand at p, up to 16. 16 bytes may be read from it. */
static inline unsigned mt_pf_n_digits(const unsigned char *p)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return (unsigned)__builtin_ctz(~mt_pf_which(p));
#else
    unsigned n = 0;
    while (n < 16 && mt_pf_is_digit(p[n]))
        n++;
    return n;
#endif
}

/* And their number. At least 16 bytes stand before p. */
static inline unsigned mt_pf_number(const unsigned char *p, uint64_t *v)
{
#if defined(__x86_64__) && defined(__GNUC__)
    unsigned n = mt_pf_n_digits(p);
    *v = mt_pf_value(mt_pf_load(p + n - 16), n);
    return n;
#else
    return (unsigned)(mt_pf_digits16(p, v) - p);
#endif
}

/* Microseconds with three decimals, up to 11 digits before them, as nanoseconds; p as above.
 * Returns what follows them, or NULL. */
static inline const unsigned char *mt_pf_three_decimals(const unsigned char *p, int64_t *ns)
{
#if defined(__x86_64__) && defined(__GNUC__)
    const __m128i decimals = _mm_set_epi8(-1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    unsigned which = mt_pf_which(p), n = (unsigned)__builtin_ctz(~which);
    p += n;
    if (n == 0 || n > 11 || (which >> n & 31) != 14 || *p != '.')
        return NULL;
    *ns = (int64_t)mt_pf_value(_mm_or_si128(_mm_andnot_si128(decimals, mt_pf_load(p - 13)),
                                            _mm_and_si128(decimals, mt_pf_load(p - 12))),
                               n + 3);
    return p + 4;
#else
    uint64_t whole, part;
    unsigned n = mt_pf_number(p, &whole);
    p += n;
    if (n == 0 || n > 11 || *p != '.' || (mt_pf_number(p + 1, &part)) != 3)
        return NULL;
    *ns = (int64_t)(whole * 1000 + part);
    return p + 4;
#endif
}

/* A number or a number in quotes (threads of 2021), rounded towards zero. */
static inline const unsigned char *mt_pf_integer(const unsigned char *p, const unsigned char *end,
                                                 int64_t *v)
{
    bool quoted = p < end && *p == '"', negative;
    const unsigned char *from;
    uint64_t u;
    p += quoted;
    negative = p < end && *p == '-';
    p += negative;
    from = p;
    for (p = mt_pf_digits16(p, &u); p < end && mt_pf_is_digit(*p) && p - from < 19; p++)
        u = u * 10 + (*p - (unsigned)'0');
    if (p == from || p > end || u > INT64_MAX || (p < end && mt_pf_is_digit(*p)))
        return NULL;
    *v = negative ? -(int64_t)u : (int64_t)u;
    if (p < end && *p == '.') /* a fraction of no meaning here */
        while (p < end && (mt_pf_is_digit(*p) || *p == '.'))
            p++;
    return p + (quoted && p < end && *p == '"');
}

/* Unsigned, of 64 bits: addresses. */
static inline const unsigned char *mt_pf_address(const unsigned char *p, const unsigned char *end,
                                                 uint64_t *v)
{
    const unsigned char *from = p;
    uint64_t u;
    for (p = mt_pf_digits16(p, &u); p < end && mt_pf_is_digit(*p); p++)
        if (__builtin_mul_overflow(u, 10, &u) || __builtin_add_overflow(u, *p - (unsigned)'0', &u))
            return NULL;
    *v = u;
    return p != from && p <= end ? p : NULL;
}

/* Digits behind a point, as nanoseconds of a microsecond. */
static inline const unsigned char *mt_pf_thousandths(const unsigned char *p,
                                                     const unsigned char *end, uint64_t *v)
{
    unsigned n = mt_pf_digits8(p, v);
    p += n;
    if (n < 3)
        *v *= mt_pf_pow10(3 - n);
    else if (n > 3)
        *v /= mt_pf_pow10(n - 3);
    while (n == 8 && p < end && mt_pf_is_digit(*p))
        p++;
    return p;
}

#define MT_PF_MOST_NS (INT64_MAX / 4)

/* As a tool wrote it that knows doubles only: from its beginning, p at the exponent. */
static inline const unsigned char *mt_pf_exponent(const unsigned char *from, const unsigned char *p,
                                                  const unsigned char *end, int64_t *ns)
{
    double d;
    for (p++; p < end && (mt_pf_is_digit(*p) || *p == '-' || *p == '+'); p++)
        ;
    d = mt_num_double(from, (size_t)(p - from)) * 1000;
    if (!(d > -(double)MT_PF_MOST_NS && d < (double)MT_PF_MOST_NS))
        return NULL;
    *ns = (int64_t)d;
    return p;
}

/* Microseconds with a fraction, as nanoseconds. */
static inline const unsigned char *mt_pf_micros(const unsigned char *p, const unsigned char *end,
                                                int64_t *ns)
{
    const unsigned char *from = p, *digits;
    bool negative = p < end && *p == '-';
    uint64_t u, part = 0;
    p += negative;
    digits = p;
    for (p = mt_pf_digits16(p, &u); p < end && mt_pf_is_digit(*p) && p - digits < 18; p++)
        u = u * 10 + (*p - (unsigned)'0');
    if (p == digits)
        return NULL;
    if (p < end && *p == '.')
        p = mt_pf_thousandths(p + 1, end, &part);
    if (p < end && (*p | 32) == 'e')
        return mt_pf_exponent(from, p, end, ns);
    if (p > end || u > (uint64_t)MT_PF_MOST_NS / 1000)
        return NULL;
    u = u * 1000 + part;
    *ns = negative ? -(int64_t)u : (int64_t)u;
    return p;
}

#endif
