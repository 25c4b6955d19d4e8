/* expected/impl.h -- between expected/expected.c, which measures, expected/states.c: parameters,
 * gradients, optimizer, and expected/rows.c, which both fill. */
#ifndef MT_EXPECTED_IMPL_H
#define MT_EXPECTED_IMPL_H

#include "analysis/expected/expected.h"
#include "analysis/setup/layout.h"
#include "analysis/setup/keys.h"

#define MT_EXPECT_LIMIT 1e18 /* bytes; a larger result is no size */

struct mt_expect_high {
    uint64_t bytes;
    int64_t event;
};
struct mt_expect_work {
    struct mt_expected *out;
    const struct mt_roles *w;
    const struct mt_device_analysis *d;
    const struct mt_runconf *conf;
    struct mt_run_shape s;
    struct mt_expect_high (*high)[MT_ROLE_COUNT]; /* by coarse phase */
    bool seen[MT_PH_COUNT];
    bool ok;
};

/* A row where the role occurs in the phase, else NULL. */
struct mt_expect *mt_expect_row(struct mt_expect_work *k, unsigned role, unsigned phase);
/* Sets the bytes of a row; mt_expect_say() has to follow. `more`: measured exceeds them by a tenth
 * and by 64 MiB, whichever is more. */
void mt_expect_set(struct mt_expect_work *k, struct mt_expect *e, double bytes, bool at_most);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void mt_expect_say(struct mt_expect_work *k, struct mt_expect *e, const char *fmt, ...);

/* A factor of a formula, " / 8 (tensor parallel)" or "2 x ", for an argument of a printf: lives
 * until the end of the full expression. A factor of one, as of a job that divides nothing, says
 * nothing and is "". */
struct mt_expect_factor {
    char s[48];
};
struct mt_expect_factor mt_expect_over(double n, const char *of);
struct mt_expect_factor mt_expect_times(double n);
#define MT_OVER(n, of) (mt_expect_over(n, of).s)
#define MT_TIMES(n) (mt_expect_times(n).s)

/* Bytes of the parameters at an event that PEFT's tuners made: what is trained of a model whose
 * other weights are frozen. 0 = none are told. */
double mt_expect_measured_adapters(const struct mt_expect_work *k, int64_t event);

/* The rows of the states, in the phase where each is highest. */
void mt_expect_params(struct mt_expect_work *k, unsigned phase);
void mt_expect_gradients(struct mt_expect_work *k, unsigned phase);
void mt_expect_optimizer(struct mt_expect_work *k, unsigned phase);

#endif
