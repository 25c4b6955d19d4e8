/* run/cause.h -- the same kinds of cause, read from a log or from a trace of driver calls,
 * which have sentences of their own. */
#ifndef MT_RUN_CAUSE_H
#define MT_RUN_CAUSE_H

#include "analysis/cause/cause.h"
#include "analysis/ledger/driver.h"
#include "analysis/log/diagnose.h"

struct mt_cause_told {
    enum mt_cause_kind kind;
    bool known;
    uint8_t conf;                   /* enum mt_conf */
    uint64_t request;               /* 0 = not said */
    const char *sentence, *because; /* of the log or the job; live as long as it */
};
void mt_cause_of_log(struct mt_cause_told *out, const struct mt_logdiag *d);
/* Bytes are those the driver's calls moved, so an engine that sleeps does not count as holding. */
void mt_cause_of_driver(struct mt_cause_told *out, const struct mt_driverdiag *j);

#endif
