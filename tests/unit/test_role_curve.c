/* The highest moment of a curve, of which most moments are passed over: to the last bit what a look
 * at all of them says. */
#include "mt_test.h"

#include "analysis/facts/role_curve.h"

#include <string.h>

enum { N = 300, PHASES = 3 };

static uint64_t seed = 7;
static uint64_t next(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

static double by_all(const struct mt_role_curve *c, unsigned phase, const double left[])
{
    bool occurs = memchr(c->phase, (int)phase, c->n) != NULL;
    double peak = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        double sum = 0;
        for (int r = 0; r < MT_ROLE_COUNT; r++)
            sum += left[r] * (double)c->bytes[(size_t)i * MT_ROLE_COUNT + (size_t)r];
        if ((!occurs || c->phase[i] == phase) && sum > peak)
            peak = sum;
    }
    return peak;
}

/* how: what part of a role may stay, in hundredths, at most */
static void check(uint64_t how, uint64_t largest)
{
    struct mt_role_curve c;
    struct mt_role_curve_run run;
    MT_ASSERT(mt_role_curve_begin(&run, &c, N));
    for (uint64_t i = 0; i < N; i++) {
        int64_t roles[MT_ROLE_COUNT], total = 0;
        for (int r = 0; r < MT_ROLE_COUNT; r++)
            total += roles[r] = next(3) == 0 ? (int64_t)next(largest) : 0;
        mt_role_curve_point(&run, i, roles, total, (uint8_t)next(PHASES));
    }
    mt_role_curve_sort(&c);
    MT_CHECK_EQ(c.n, N);
    for (unsigned phase = 0; phase <= PHASES; phase++) /* the last does not occur */
        for (int k = 0; k < 50; k++) {
            double left[MT_ROLE_COUNT], want, is;
            for (int r = 0; r < MT_ROLE_COUNT; r++)
                left[r] = next(3) == 0 ? (double)next(how) / 100 : 1;
            want = by_all(&c, phase, left);
            is = mt_role_curve_peak(&c, phase, left);
            MT_CHECK(memcmp(&want, &is, sizeof is) == 0);
        }
    mt_role_curve_done(&c);
}

MT_TEST(parts_go) { check(101, UINT64_C(80) << 30); }
MT_TEST(parts_grow) { check(300, UINT64_C(80) << 30); }
MT_TEST(as_large_as_it_gets) { check(101, UINT64_C(1) << 31 << 20); }
MT_TEST(single_bytes) { check(101, 5); }

MT_MAIN(MT_RUN(parts_go) MT_RUN(parts_grow) MT_RUN(as_large_as_it_gets) MT_RUN(single_bytes))
