/* kept.h -- chunks of kind KEPT, as gzip members in a file of the caller's (member.c, kept.c).
 * Writer thread. */
#ifndef MTI_KEPT_H
#define MTI_KEPT_H

#include "capture/inject/core.h"

#define ZLIB_CONST 1
#include <zlib.h>

/* ---- member.c ---- */

#define MTI_GZ_HEAD (10u + 2u + 4u + MT_WIRE_EXTRA)
/* more than deflate can make of a slot */
#define MTI_GZ_ROOM (MTI_GZ_HEAD + MTI_SLOT + (MTI_SLOT >> 3) + 64u)

struct mti_packer {
    z_stream z;
    bool ready;
    unsigned char *out; /* MTI_GZ_ROOM */
};
/* The chunk, header included, as a gzip member in k->out; its size, or 0. */
size_t mti_member(struct mti_packer *k, const unsigned char *chunk, uint32_t bytes);

/* ---- kept.c ---- */

/* What each chunk of a checkpoint begins with; times are MONOTONIC. */
struct mti_checkpoint {
    uint64_t first_seq, time, start, parts, records, calls, failures;
};

/* The file is open for one member at a time: a job that closes all its descriptors, and gets the
 * same number for a file of its own, must not find our bytes in it. */
struct mti_kept {
    const char *path;
    const struct mti_checkpoint *checkpoint; /* NULL = definitions */
    uint64_t seq, realtime, monotonic;       /* of the next chunk; seq counts chunks */
    uint64_t bytes;                          /* that were written */
    int error; /* errno of the last flush, 0 = it was written; sticky for a checkpoint */
    void (*between)(void); /* called after each chunk; may be NULL */
    struct mti_packer *packer;
    unsigned char *raw; /* MTI_SLOT */
    uint32_t used, records;
    bool open;
    struct mti_delta delta;
};
/* Begins a record that takes at most `room` bytes; mti_end() does not end it, mti_kept_end() does.
 */
void mti_kept_begin(struct mti_kept *k, struct mti_w *w, unsigned type, size_t room);
void mti_kept_end(struct mti_kept *k, struct mti_w *w);
void mti_kept_raw(struct mti_kept *k, unsigned type, const unsigned char *payload, size_t n);
void mti_kept_timed(struct mti_kept *k, unsigned type, uint64_t time, uint32_t tid,
                    const unsigned char *payload, size_t n);
void mti_kept_call(struct mti_kept *k, const struct mti_call *c, uint32_t tid);
/* Writes the open chunk; the last of a checkpoint ends with the number of its parts. Definitions
 * that cannot be written stay in the open chunk: there must be no record before a flush that
 * succeeds. */
void mti_kept_flush(struct mti_kept *k, bool last);

#endif
