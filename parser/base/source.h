/* source.h -- a peekable stream of decompressed bytes; readers see nothing else.
 *
 * A source owns a sliding window. Readers look at [cur, end), advance cur, and call
 * mt_source_need() when fewer bytes remain than they want. Pointers into the window die at the next
 * mt_source_need() that has to refill. Offsets are of the decompressed stream. A source never
 * returns an error from need(): a broken stream simply ends early, and `status` says why, so that a
 * reader can keep what was whole. Thread-safety: one thread per source. */
#ifndef MT_SOURCE_H
#define MT_SOURCE_H

#include "parser/base/err.h"
#include "parser/base/limits.h"

#include <stddef.h>
#include <stdint.h>

struct mt_source {
    const unsigned char *cur, *end;
    unsigned char *buf; /* window */
    size_t cap;
    uint64_t base; /* stream offset of buf[0] */
    bool eof;      /* no byte will follow `end` */
    /* MT_OK at a clean end; else what broke, with `err` filled: I/O, CRC, truncated gzip, ratio
     * limit */
    enum mt_rc status;
    struct mt_err err;
    uint64_t max_bytes; /* the stream ends with MT_ELIMIT there; 0 = unlimited */
    /* Backend: read up to n bytes into dst, return how many, 0 at the end; on a broken stream set
     * *rc and fill *err (bytes returned before it are still good). Called only by source.c. */
    size_t (*read)(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc, struct mt_err *err);
    void (*close)(void *ctx);
    void *ctx;
    /* Called now and then with the stream offset, for progress; may be NULL. */
    void (*progress)(void *arg, uint64_t offset);
    void *progress_arg;
};

/* Makes at least n bytes available at cur unless the stream ends before; returns end - cur. The
 * window grows when n is larger than it (bounded by the caller's limits; on failure to grow, status
 * is MT_ENOMEM and the stream ends). */
size_t mt_source_fill(struct mt_source *s, size_t n);
static inline size_t mt_source_need(struct mt_source *s, size_t n)
{
    size_t have = (size_t)(s->end - s->cur);
    return have >= n ? have : mt_source_fill(s, n);
}
static inline uint64_t mt_source_offset(const struct mt_source *s)
{
    return s->base + (uint64_t)(s->cur - s->buf);
}

/* A source over memory (tests, fuzzing). The bytes are borrowed. */
enum mt_rc mt_source_mem(struct mt_source **out, const void *p, size_t n);
/* A source over the backend above; takes ownership of ctx also on failure. */
enum mt_rc mt_source_new(struct mt_source **out,
                         size_t (*read)(void *, unsigned char *, size_t, enum mt_rc *,
                                        struct mt_err *),
                         void (*close)(void *), void *ctx);
void mt_source_free(struct mt_source *s); /* NULL is fine */

#endif
