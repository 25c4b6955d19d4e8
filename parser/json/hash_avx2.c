/* The same XXH3 as in json/hash.c, compiled for AVX2: xxhash.h picks its vector code by the
 * compiler's target, and the hash is a third of the time spent on a stack. Called only after the
 * CPU said that it has AVX2. */
#include "parser/base/secret.h"
#include "parser/json/scan.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <assert.h>
#include <immintrin.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define XXH_INLINE_ALL
#define XXH_VECTOR 2 /* XXH_AVX2 */
#include <xxhash.h>

struct mt_json_hash mt_json_hash_avx2(const void *p, size_t n)
{
    XXH128_hash_t h = XXH3_128bits_withSecret(p, n, mt_secret.bytes, sizeof mt_secret.bytes);
    return (struct mt_json_hash){h.low64, h.high64};
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

struct mt_json_hash mt_json_hash_avx2(const void *p, size_t n) { return mt_json_hash_base(p, n); }

#endif
