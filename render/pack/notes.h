/* pack/notes.h -- named ranges over time (annotations, NVTX) as columns of a block
 * (docs/report-data.md). */
#ifndef MT_PACK_NOTES_H
#define MT_PACK_NOTES_H

#include "analysis/ledger/driver.h"
#include "render/pack/impl.h"

enum { MT_MAX_NOTES = 20000 }; /* of one track; those that begin first */

struct mt_pack_note {
    uint64_t t0, t1; /* ticks */
    mt_str_id name;
    uint32_t order;
};
/* Sorts them and writes name, first tick, length and lane into c[0..3]; names come from t. */
void mt_pack_notes(struct mt_pack_note *v, uint32_t n, const struct mt_trace *t,
                   struct mt_pack_strings *strings, struct mt_bytes *c);

/* The NVTX ranges of the process that a track is of, where the recording tells which one that is.
 * out->p is NULL where there are none. 1, or 0 = out of memory. */
int mt_nvtx_blob(struct mt_blob *out, const struct mt_pack *p, const struct mt_driverdiag *driver,
                 uint32_t rank);

#endif
