/* secret.h -- hashes that a file cannot aim at.
 *
 * Every table whose keys come from a file starts from a secret of this process. Without one, a file
 * of a few megabytes whose names or addresses all fall into one slot takes minutes (160,000 such
 * addresses: 38 s, the same number of others: 0.1 s). No output depends on the secret: tables are
 * asked, never walked.
 *
 * The secret is drawn before main(), so threads may read it. */
#ifndef MT_PARSER_BASE_SECRET_H
#define MT_PARSER_BASE_SECRET_H

#include <stddef.h>
#include <stdint.h>

#define MT_SECRET_SIZE 192 /* as long as XXH3's own (XXH3_SECRET_DEFAULT_SIZE) */

struct mt_secret {
    uint64_t a, b;
    unsigned char bytes[MT_SECRET_SIZE]; /* for XXH3_*_withSecret() */
};
extern struct mt_secret mt_secret;

/* Hash of two numbers. The second factor is for keys in steps of a power of two, as addresses are:
 * the first alone leaves one secret in 25 with fewer than 85 % of the slots that chance would take,
 * both never (3,000 secrets, 52 steps, 4,096 keys). */
static inline uint32_t mt_hash_pair(uint64_t x, uint64_t y)
{
    x ^= mt_secret.a;
    y ^= mt_secret.b;
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide m = (wide)x * y;
    x = (uint64_t)m ^ (uint64_t)(m >> 64);
#else
    x = (x ^ (y >> 32 | y << 32)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 29) * y;
#endif
    x ^= x >> 32;
    return (uint32_t)(x * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static inline uint32_t mt_hash_one(uint64_t x) { return mt_hash_pair(x, 0); }

/* Hash of n bytes. */
uint64_t mt_hash_bytes(const void *p, size_t n);

/* Fixes the secret, for counting instructions and for tests that compare two. Before anything is
 * hashed, on the only thread. */
void mt_secret_fix(uint64_t seed);

#endif
