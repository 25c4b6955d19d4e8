/* run/one_process.h -- several snapshots of one process, as the recorder leaves them at a failure
 * and at the end: no ranks. */
#ifndef MT_RUN_ONE_PROCESS_H
#define MT_RUN_ONE_PROCESS_H

#include "analysis/run/diagnose.h"

/* Whether `later` has all that `earlier` has: both are of one process (number, and host or the
 * recorder's id of it), their histories begin at the same event, and the later one goes on. */
bool mt_has_all_of(const struct mt_rank *later, const struct mt_rank *earlier);
/* Moves every snapshot of which another one has all from d->ranks to d->earlier; the order stays.
 * MT_OK, or MT_ENOMEM with nothing moved. */
enum mt_rc mt_set_earlier_aside(struct mt_diagnosis *d);

#endif
