/* expected/expected.h -- how many bytes a role should have in a phase, by the model's shape and the
 * run's settings, beside what it had.
 *
 * A row stands only where the phase ran and the role occurs. What cannot be computed says why;
 * nothing is guessed. */
#ifndef MT_EXPECTED_H
#define MT_EXPECTED_H

#include "analysis/roles/roles.h"
#include "analysis/setup/settings.h"

struct mt_expect {
    uint8_t role, phase; /* coarse phase in which the role is highest */
    bool known;
    bool at_most;      /* the expectation is a limit, not a size */
    bool more;         /* measured exceeds it by more than a tenth and 64 MiB */
    uint64_t bytes;    /* expected; 0 when not known */
    uint64_t measured; /* highest of that role in that phase */
    int64_t event;     /* of that */
    char *text;        /* how it is computed, with its numbers; or why it is not known */
    char *extra;       /* where `more`: which bytes those are; else NULL */
};
struct mt_expected {
    MT_VEC(struct mt_expect) v;
};

/* Per device, while the working set w is there. conf may be NULL. MT_OK or MT_ENOMEM;
 * mt_expected_done() frees in both cases. */
enum mt_rc mt_expected_make(struct mt_expected *out, const struct mt_roles *w,
                            const struct mt_device_analysis *d, const struct mt_frameworks *fw,
                            const struct mt_runconf *conf);
void mt_expected_done(struct mt_expected *e);

#endif
