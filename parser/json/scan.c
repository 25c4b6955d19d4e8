#include "parser/json/scan.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define MT_X86 1
#include <immintrin.h>
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#endif
#endif
#else
#define MT_X86 0
#endif

/* '[' '\' ']' are neighbours in ASCII, and '{' '|' '}' are the same three with bit 5 set. So one
 * range test finds brackets and backslashes together (FOLD 0), or with bit 5 forced brackets,
 * braces and backslashes (FOLD 0x20; a '|' is a false alarm that costs time only). */
enum { FOLD_ARRAY = 0, FOLD_ANY = 0x20, FIRST = '[' };

static inline const unsigned char *end_scalar(struct mt_json_scan *st, const unsigned char *p,
                                              const unsigned char *end, unsigned fold)
{
    for (; p < end; p++) {
        unsigned c = *p;
        if (st->esc != 0) {
            st->esc = 0;
        } else if (c == '\\') {
            st->esc = 1;
        } else if (c == '"') {
            st->in_str = ~st->in_str;
        } else if (st->in_str == 0) {
            unsigned d = (c | fold) - (FIRST | fold);
            if (d == 0) {
                if (++st->depth > st->max_depth) {
                    st->too_deep = true;
                    return NULL;
                }
            } else if (d == 2 && --st->depth == 0) {
                return p + 1;
            }
        }
    }
    return NULL;
}

static const unsigned char *array_end_scalar(struct mt_json_scan *st, const unsigned char *p,
                                             const unsigned char *end)
{
    return end_scalar(st, p, end, FOLD_ARRAY);
}

static const unsigned char *any_end_scalar(struct mt_json_scan *st, const unsigned char *p,
                                           const unsigned char *end)
{
    return end_scalar(st, p, end, FOLD_ANY);
}

#if MT_X86

/* One block of 64 bytes that holds a bracket or a backslash, as bit masks: quotes, backslashes,
 * openers, closers. Returns the index of the closer that ends the scan, else -1. */
__attribute__((always_inline)) static inline int block(struct mt_json_scan *st, uint64_t quote,
                                                       uint64_t bs, uint64_t open, uint64_t shut)
{
    uint64_t in = 0;
    if ((bs | st->esc) != 0) {
        /* Every second byte of a run of backslashes escapes the byte after it; runs start at even
         * or odd bits. */
        const uint64_t even = UINT64_C(0x5555555555555555);
        uint64_t b = bs & ~st->esc, follows = b << 1 | st->esc, odd = b & ~even & ~follows, seq,
                 esc;
        st->esc = __builtin_add_overflow(odd, b, &seq);
        esc = (even ^ seq << 1) & follows;
        quote &= ~esc;
        open &= ~esc;
        shut &= ~esc;
    }
    in = quote ^ quote << 1;
    in ^= in << 2;
    in ^= in << 4;
    in ^= in << 8;
    in ^= in << 16;
    in ^= in << 32;
    in ^= st->in_str;
    st->in_str = (uint64_t)0 - (in >> 63);
    open &= ~in;
    shut &= ~in;
    for (uint64_t both = open | shut; both != 0; both &= both - 1) {
        uint64_t bit = both & (0 - both);
        if ((open & bit) != 0) {
            if (++st->depth > st->max_depth) {
                st->too_deep = true;
                return -1;
            }
        } else if (--st->depth == 0) {
            return __builtin_ctzll(bit);
        }
    }
    return -1;
}

#define LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define EQ(a, b) _mm_cmpeq_epi8(a, b)

static inline uint64_t mask_sse2(const unsigned char *p, __m128i c, __m128i bits)
{
    uint64_t m = 0;
    for (int i = 3; i >= 0; i--)
        m = m << 16 | (unsigned)_mm_movemask_epi8(EQ(_mm_or_si128(LOAD(p + 16 * i), bits), c));
    return m;
}

static inline uint64_t parity_sse2(__m128i acc)
{
    return (uint64_t)0 - (uint64_t)(__builtin_popcount((unsigned)_mm_movemask_epi8(acc)) & 1);
}

__attribute__((always_inline)) static inline const unsigned char *end_sse2(struct mt_json_scan *st,
                                                                           const unsigned char *p,
                                                                           const unsigned char *end,
                                                                           unsigned fold)
{
    const __m128i q = _mm_set1_epi8('"'), bs = _mm_set1_epi8('\\'), two = _mm_set1_epi8(2),
                  zero = _mm_setzero_si128();
    const __m128i f = _mm_set1_epi8((char)fold), first = _mm_set1_epi8((char)(FIRST | fold));
    /* per byte lane, the parity of the quotes in blocks without a special byte */
    __m128i acc = zero;
    uint64_t esc = st->esc;
    for (; end - p >= 64; p += 64) {
        __m128i v0 = LOAD(p), v1 = LOAD(p + 16), v2 = LOAD(p + 32), v3 = LOAD(p + 48), least;
        least = _mm_min_epu8(_mm_min_epu8(_mm_sub_epi8(_mm_or_si128(v0, f), first),
                                          _mm_sub_epi8(_mm_or_si128(v1, f), first)),
                             _mm_min_epu8(_mm_sub_epi8(_mm_or_si128(v2, f), first),
                                          _mm_sub_epi8(_mm_or_si128(v3, f), first)));
        if (esc == 0 && _mm_movemask_epi8(EQ(_mm_min_epu8(least, two), least)) == 0) {
            acc = _mm_xor_si128(acc, _mm_xor_si128(_mm_xor_si128(EQ(v0, q), EQ(v1, q)),
                                                   _mm_xor_si128(EQ(v2, q), EQ(v3, q))));
        } else {
            int at;
            st->in_str ^= parity_sse2(acc);
            acc = zero;
            at = block(st, mask_sse2(p, q, zero), mask_sse2(p, bs, zero), mask_sse2(p, first, f),
                       mask_sse2(p, _mm_add_epi8(first, two), f));
            if (at >= 0)
                return p + at + 1;
            if (st->too_deep)
                return NULL;
            esc = st->esc;
        }
    }
    st->in_str ^= parity_sse2(acc);
    return end_scalar(st, p, end, fold);
}

#undef LOAD
#undef EQ

static const unsigned char *array_end_sse2(struct mt_json_scan *st, const unsigned char *p,
                                           const unsigned char *end)
{
    return end_sse2(st, p, end, FOLD_ARRAY);
}

static const unsigned char *any_end_sse2(struct mt_json_scan *st, const unsigned char *p,
                                         const unsigned char *end)
{
    return end_sse2(st, p, end, FOLD_ANY);
}

#define AVX2 __attribute__((target("avx2,popcnt,bmi")))

#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define EQ(a, b) _mm256_cmpeq_epi8(a, b)

AVX2 static inline uint64_t mask_avx2(const unsigned char *p, __m256i c, __m256i bits)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(EQ(_mm256_or_si256(LOAD(p), bits), c)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(EQ(_mm256_or_si256(LOAD(p + 32), bits), c))
               << 32;
}

AVX2 static inline uint64_t parity_avx2(__m256i acc)
{
    return (uint64_t)0 - (uint64_t)(__builtin_popcount((unsigned)_mm256_movemask_epi8(acc)) & 1);
}

AVX2 __attribute__((always_inline)) static inline const unsigned char *end_avx2(
    struct mt_json_scan *st, const unsigned char *p, const unsigned char *end, unsigned fold)
{
    const __m256i q = _mm256_set1_epi8('"'), bs = _mm256_set1_epi8('\\'), two = _mm256_set1_epi8(2);
    const __m256i zero = _mm256_setzero_si256();
    const __m256i f = _mm256_set1_epi8((char)fold), first = _mm256_set1_epi8((char)(FIRST | fold));
    __m256i acc = zero;
    uint64_t esc = st->esc;
#define AWAY(v) _mm256_sub_epi8(fold != 0 ? _mm256_or_si256(v, f) : v, first)
    for (; end - p >= 128; p += 128) {
        __m256i v0 = LOAD(p), v1 = LOAD(p + 32), v2 = LOAD(p + 64), v3 = LOAD(p + 96), least;
        least = _mm256_min_epu8(_mm256_min_epu8(AWAY(v0), AWAY(v1)),
                                _mm256_min_epu8(AWAY(v2), AWAY(v3)));
        least = EQ(_mm256_min_epu8(least, two), least);
        if (esc == 0 && _mm256_testz_si256(least, least)) {
            acc = _mm256_xor_si256(acc, _mm256_xor_si256(_mm256_xor_si256(EQ(v0, q), EQ(v1, q)),
                                                         _mm256_xor_si256(EQ(v2, q), EQ(v3, q))));
        } else {
            st->in_str ^= parity_avx2(acc);
            acc = zero;
            for (int i = 0; i < 128; i += 64) {
                int at = block(st, mask_avx2(p + i, q, zero), mask_avx2(p + i, bs, zero),
                               mask_avx2(p + i, first, f),
                               mask_avx2(p + i, _mm256_add_epi8(first, two), f));
                if (at >= 0)
                    return p + i + at + 1;
                if (st->too_deep)
                    return NULL;
            }
            esc = st->esc;
        }
    }
#undef AWAY
    st->in_str ^= parity_avx2(acc);
    return end_scalar(st, p, end, fold);
}

#undef LOAD
#undef EQ

AVX2 static const unsigned char *array_end_avx2(struct mt_json_scan *st, const unsigned char *p,
                                                const unsigned char *end)
{
    return end_avx2(st, p, end, FOLD_ARRAY);
}

AVX2 static const unsigned char *any_end_avx2(struct mt_json_scan *st, const unsigned char *p,
                                              const unsigned char *end)
{
    return end_avx2(st, p, end, FOLD_ANY);
}

#endif

static const struct mt_json_simd impls[MT_JSON_N_IMPL] = {
    [MT_JSON_SCALAR] = {array_end_scalar, any_end_scalar, mt_json_hash_base},
#if MT_X86
    [MT_JSON_SSE2] = {array_end_sse2, any_end_sse2, mt_json_hash_base},
    [MT_JSON_AVX2] = {array_end_avx2, any_end_avx2, mt_json_hash_avx2},
#endif
};

#if MT_X86
static bool has_avx2(void)
{
#ifdef CPU_FEATURE_ACTIVE
    /* What glibc's loader has found out. The compiler's own answer asks the processor a dozen times
     * in every start, 3.9 us each in a virtual machine, where the host answers. */
    return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(POPCNT) && CPU_FEATURE_ACTIVE(BMI1);
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi");
#endif
}
#endif

static _Thread_local const struct mt_json_simd *forced;

const struct mt_json_simd *mt_json_simd_get(enum mt_json_impl impl)
{
    if ((unsigned)impl >= MT_JSON_N_IMPL || impls[impl].hash == NULL)
        return NULL;
#if MT_X86
    if (impl == MT_JSON_AVX2 && !has_avx2())
        return NULL;
#endif
    return &impls[impl];
}

const struct mt_json_simd *mt_json_simd(void)
{
    for (int i = MT_JSON_N_IMPL; forced == NULL && i-- > 0;) {
        const struct mt_json_simd *s = mt_json_simd_get((enum mt_json_impl)i);
        if (s != NULL)
            return s;
    }
    return forced;
}

void mt_json_simd_force(const struct mt_json_simd *simd) { forced = simd; }
