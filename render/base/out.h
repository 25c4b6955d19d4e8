/* out.h -- where a renderer writes: a buffered sink with a sticky error, so that callers check once
 * at the end. */
#ifndef MT_OUT_H
#define MT_OUT_H

#include "parser/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mt_out {
    int (*write)(void *ctx, const void *p, size_t n); /* 0 = ok, else an errno value */
    void *ctx;
    int error;  /* first errno; 0 = fine. Later writes are dropped */
    uint64_t n; /* bytes accepted */
    unsigned char *buf;
    size_t used, cap;
};

/* Over a growing memory buffer: text in o->buf, o->used bytes, NUL-terminated by mt_out_finish().
 */
int mt_out_mem(struct mt_out *o); /* 1 on success */
/* Over a file descriptor (borrowed). */
int mt_out_fd(struct mt_out *o, int fd);
int mt_out_finish(struct mt_out *o); /* flushes; returns o->error */
void mt_out_done(struct mt_out *o);  /* frees the buffer */

void mt_put_slow(struct mt_out *o, const void *p, size_t n);
static inline void mt_put(struct mt_out *o, const void *p, size_t n)
{
    if (o->error != 0 || n == 0 || n > o->cap - o->used) {
        mt_put_slow(o, p, n);
        return;
    }
    memcpy(o->buf + o->used, p, n);
    o->used += n;
    o->n += n;
}
static inline void mt_puts(struct mt_out *o, const char *s) { mt_put(o, s, strlen(s)); }
static inline void mt_putc(struct mt_out *o, char c) { mt_put(o, &c, 1); }
void mt_putu(struct mt_out *o, uint64_t v); /* in decimal */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void mt_putf(struct mt_out *o, const char *fmt, ...);

#endif
