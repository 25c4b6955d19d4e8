/* run/quality_impl.h -- what the files that say what limits the trust share. */
#ifndef MT_QUALITY_IMPL_H
#define MT_QUALITY_IMPL_H

#include "analysis/run/diagnose.h"

struct mt_caveats {
    struct mt_quality *q;
    bool nomem;
};
/* One more sentence, of at most 1,023 bytes, unless there are MT_MAX_CAVEATS. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void mt_caveat_add(struct mt_caveats *c, const char *fmt, ...);
/* What the reader of t noted. */
void mt_caveats_of_trace(struct mt_caveats *c, const struct mt_trace *t);

/* quality_host.c: what the host held at the GPU's moment, where memray recorded it. */
void mt_caveats_of_host(struct mt_caveats *c, const struct mt_diagnosis *d);

/* quality_driver.c: of the recording of the driver's calls. */
void mt_caveats_of_driver(struct mt_caveats *c, const struct mt_driverdiag *j);
/* torch_notes.c: why snapshots are missing, as far as the recorder noted it. Equal sentences of
 * several processes become one. */
void mt_caveats_of_torch(struct mt_caveats *c, const struct mt_driverdiag *j);

#endif
