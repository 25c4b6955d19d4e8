/* live.h -- the books of what was let go: which of it is still there.
 *
 * A recording that keeps the newest only (ring.h) reads each chunk that it lets go once more. What
 * those calls left behind -- live memory, handles, mappings, contexts, pools -- and what nobody may
 * lose -- failures, what was said of the recording, open ranges, the last figures of the devices --
 * stays here and is written as a checkpoint. A call that stays is kept as it was recorded, with its
 * time, thread and stack, so a replay of the checkpoint and of what follows gives the same sums as
 * one of the whole recording (docs/ledger.md, "A recording that keeps the newest").
 *
 * Used by the writer thread alone; memory comes from malloc(). Decodes only what this process wrote
 * itself, but trusts nothing of it: a record that is cut off ends its chunk. */
#ifndef MTI_LIVE_H
#define MTI_LIVE_H

#include "capture/inject/kept.h"

/* ---- live.c ---- */

/* One chunk that is let go, header included, with MTI_LIVE_ROOM zeroes behind it. Its definitions
 * (STRING, MODULE, STACK ...) go to `defined` as they are. False: out of memory; the books say
 * nothing any more. */
#define MTI_LIVE_ROOM 512u
bool mti_live_chunk(const unsigned char *chunk, size_t bytes, struct mti_kept *defined);
/* All that stays, as records. */
void mti_live_write(struct mti_kept *out);
struct mti_live_sums {
    uint64_t start;                    /* MONOTONIC of the first chunk */
    uint64_t until;                    /* of the last record */
    uint64_t records, calls, failures; /* that were let go; failures: for which there was no room */
    uint64_t chunks;
    uint32_t entries;
};
struct mti_live_sums mti_live_sums(void);
void mti_live_forget(
    void); /* in the child of a fork: as at the start; what there was is left alone */

/* ---- among live*.c ---- */

/* live_calls.c: a call that succeeded, or failed for want of memory */
bool mti_live_call(const struct mti_call *c, uint32_t tid, bool lossless);
void mti_live_calls_write(struct mti_kept *out);
uint32_t mti_live_calls_n(void);
uint64_t mti_live_calls_failures_left_out(void);
void mti_live_calls_forget(void);

/* live_rest.c: ranges, samples, status, losses, ends. `payload`: behind time and thread. */
struct mti_live_record {
    unsigned type;
    uint64_t time;
    uint32_t tid;
    const unsigned char *payload;
    size_t n;
};
bool mti_live_rest(const struct mti_live_record *r);
/* A call failed for want of memory: the ranges that are open stay. */
void mti_live_rest_failed(void);
void mti_live_rest_write(struct mti_kept *out);
void mti_live_rest_forget(void);

/* Room for one more element of `size` bytes in a list of n of *cap; false: out of memory. */
bool mti_live_grow(void *list, uint32_t n, uint32_t *cap, size_t size);

#endif
