/* pack/calls.h -- the recorded calls that hold memory of one GPU as a track of the page: blocks are
 * allocations of the driver, their roles the holders (behind those of PyTorch's blocks), their
 * lanes the call and its process. */
#ifndef MT_PACK_CALLS_H
#define MT_PACK_CALLS_H

#include "analysis/ledger/driver.h"
#include "render/pack/pack.h"

/* Heights of a failed request, as the index has them. */
struct mt_call_asked {
    uint64_t live, reserved, base, top, end, room;
};
struct mt_call_pack {
    struct mt_pack *pack;            /* NULL = there are no single calls to look at */
    uint32_t ledger;                 /* of the job, in its order */
    int64_t peak_event, focus_event; /* -1 = none */
    uint64_t peak_live, focus_live;
    bool focus_is_oom;
    uint64_t home[2];                   /* events; equal = the whole */
    MT_VEC(struct mt_call_asked) asked; /* of the marks of failures, in their order */
};

/* 1, or 0 = out of memory; done() either way. */
int mt_call_pack_make(struct mt_call_pack *out, const struct mt_driverdiag *j, uint32_t ledger);
void mt_call_pack_done(struct mt_call_pack *p);

#endif
