/* Keys that would all fall into one slot of a table without a secret spread over it. */
#include "parser/base/secret.h"
#include "parser/base/strpool.h"
#include "tests/unit/mt_test.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define N 4096u
#define SLOTS 65536u

/* So many different slots for N keys; by chance about 3,970. */
static unsigned slots_of(const uint64_t *key)
{
    static unsigned char taken[SLOTS];
    unsigned n = 0;
    memset(taken, 0, sizeof taken);
    for (unsigned i = 0; i < N; i++) {
        unsigned at = (unsigned)mt_hash_one(key[i]) & (SLOTS - 1);
        n += !taken[at];
        taken[at] = 1;
    }
    return n;
}

/* The inverse of an odd factor modulo 2^64, by Newton. */
static uint64_t inverse(uint64_t a)
{
    uint64_t x = a;
    for (int i = 0; i < 6; i++)
        x *= 2 - a * x;
    return x;
}

/* Any secret does; the first ones here, so that the test is always the same. */
#define SECRETS 20u

MT_TEST(addresses_spread)
{
    static uint64_t key[N];
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    unsigned n = 0;
    /* a factor that everybody knows can be undone: these have the products 1, 2, 3 ... */
    for (uint64_t y = 1; n < N; y++)
        if ((y * inverse(golden)) >> 55 == 0)
            key[n++] = y * inverse(golden) << 9;
    for (unsigned s = 0; s < SECRETS; s++) {
        mt_secret_fix(s);
        MT_CHECK(slots_of(key) > 3800);
    }
    for (unsigned shift = 0; shift < 52; shift++) {
        mt_secret_fix(shift);
        for (uint64_t i = 0; i < N; i++)
            key[i] = UINT64_C(0x7f0000000000) + (i << shift);
        MT_CHECK(slots_of(key) > 3800);
    }
}

MT_TEST(pairs_spread)
{
    static uint64_t key[N];
    mt_secret_fix(7);
    for (uint64_t i = 0; i < N; i++)
        key[i] = mt_hash_pair(i & 63, i >> 6);
    MT_CHECK(slots_of(key) > 3800);
    MT_CHECK(mt_hash_pair(1, 2) != mt_hash_pair(2, 1));
}

MT_TEST(names_spread)
{
    enum { NAMES = 1024 };
    static unsigned char taken[NAMES];
    struct mt_strpool pool;
    char name[16];
    unsigned n = 0, n_slots = 0;
    mt_secret_fix(7);
    MT_ASSERT(mt_strpool_init(&pool));
    /* names with equal low bits of XXH3 as it comes */
    for (unsigned i = 0; n < NAMES; i++) {
        (void)snprintf(name, sizeof name, "%08u", i);
        if ((XXH3_64bits(name, 8) & (NAMES - 1)) == 77) {
            MT_ASSERT(mt_strpool_add(&pool, name, 8) != MT_STR_FAIL);
            n++;
        }
    }
    for (uint32_t id = 1; id < pool.ref.n; id++) {
        unsigned at = pool.ref.p[id].hash & (NAMES - 1);
        n_slots += !taken[at];
        taken[at] = 1;
    }
    MT_CHECK_EQ(pool.ref.n, NAMES + 1);
    MT_CHECK(n_slots > 550); /* by chance 647 */
    mt_strpool_done(&pool);
}

MT_MAIN(MT_RUN(addresses_spread) MT_RUN(pairs_spread) MT_RUN(names_spread))
