#define _GNU_SOURCE 1
#include "parser/base/secret.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct mt_secret mt_secret;

/* splitmix64 (Steele, Lea, Flood 2014): any seed, also 0, gives a sequence that is good enough for
 * tests and where the system has no random numbers yet. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t mt_hash_bytes(const void *p, size_t n)
{
    return XXH3_64bits_withSecret(p, n, mt_secret.bytes, sizeof mt_secret.bytes);
}

/* The factor of mt_hash_one() is odd and large: a product with it keeps what x has. */
static void whole(void) { mt_secret.b |= UINT64_C(1) << 63 | 1; }

void mt_secret_fix(uint64_t seed)
{
    mt_secret.a = next(&seed);
    mt_secret.b = next(&seed);
    for (size_t i = 0; i < sizeof mt_secret.bytes; i += sizeof seed) {
        uint64_t v = next(&seed);
        memcpy(mt_secret.bytes + i, &v, sizeof v);
    }
    whole();
}

__attribute__((constructor)) static void draw(void)
{
    struct timespec now = {0, 0};
    if (getrandom(&mt_secret, sizeof mt_secret, GRND_NONBLOCK) != (ssize_t)sizeof mt_secret) {
        /* early at boot, or forbidden: better than a number that everybody knows */
        clock_gettime(CLOCK_REALTIME, &now);
        mt_secret_fix((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^
                      (uint64_t)getpid() << 16 ^ (uint64_t)(uintptr_t)&now);
    }
    whole();
}
