#include "parser/base/source.h"

#include "parser/base/mem.h"

#include <string.h>

enum { WINDOW = 1 << 18, MARGIN = 64 /* readers may load vectors past `end` */ };

static enum mt_rc new_source(struct mt_source **out, size_t window,
                             size_t (*read)(void *, unsigned char *, size_t, enum mt_rc *,
                                            struct mt_err *),
                             void (*close)(void *), void *ctx)
{
    struct mt_source *s = mt_calloc(1, sizeof *s);
    if (s != NULL && (s->buf = mt_malloc(window + MARGIN)) == NULL) {
        mt_free(s);
        s = NULL;
    }
    if (s == NULL) {
        if (close != NULL)
            close(ctx);
        return MT_ENOMEM;
    }
    s->cap = window;
    s->cur = s->end = s->buf;
    memset(s->buf, 0, MARGIN);
    s->read = read;
    s->close = close;
    s->ctx = ctx;
    *out = s;
    return MT_OK;
}

enum mt_rc mt_source_new(struct mt_source **out,
                         size_t (*read)(void *, unsigned char *, size_t, enum mt_rc *,
                                        struct mt_err *),
                         void (*close)(void *), void *ctx)
{
    return new_source(out, WINDOW, read, close, ctx);
}

void mt_source_free(struct mt_source *s)
{
    if (s == NULL)
        return;
    if (s->close != NULL)
        s->close(s->ctx);
    mt_free(s->buf);
    mt_free(s);
}

size_t mt_source_fill(struct mt_source *s, size_t n)
{
    size_t have = (size_t)(s->end - s->cur), got;
    if (s->eof)
        return have;
    if (n > s->cap) {
        size_t cap = s->cap, at = (size_t)(s->cur - s->buf);
        unsigned char *buf;
        while (cap < n)
            cap = cap > SIZE_MAX / 2 ? n : cap * 2;
        buf = mt_realloc(s->buf, cap + MARGIN);
        if (buf == NULL) {
            s->eof = true;
            s->status = mt_fail_at(&s->err, MT_ENOMEM, mt_source_offset(s),
                                   "out of memory for a window of %zu bytes", cap);
            return have;
        }
        s->buf = buf;
        s->cap = cap;
        s->cur = buf + at;
        s->end = s->cur + have;
    }
    if (s->cur != s->buf) {
        s->base += (uint64_t)(s->cur - s->buf);
        memmove(s->buf, s->cur, have);
        s->cur = s->buf;
        s->end = s->buf + have;
    }
    while (have < n) {
        enum mt_rc rc = MT_OK;
        size_t room = s->cap - have;
        uint64_t at = s->base + have;
        if (s->max_bytes != 0 && room > s->max_bytes - (at < s->max_bytes ? at : s->max_bytes))
            room = (size_t)(s->max_bytes - (at < s->max_bytes ? at : s->max_bytes));
        if (room == 0) { /* a stream of exactly that length ends here and is fine */
            unsigned char one;
            s->eof = true;
            if (s->read(s->ctx, &one, 1, &rc, &s->err) == 0) {
                s->status = rc;
                break;
            }
            s->status = mt_fail_at(&s->err, MT_ELIMIT, at,
                                   "the input is longer than %llu bytes (raise --max-bytes)",
                                   (unsigned long long)s->max_bytes);
            break;
        }
        got = s->read(s->ctx, s->buf + have, room, &rc, &s->err);
        have += got;
        s->end = s->buf + have;
        if (rc != MT_OK) {
            s->eof = true;
            s->status = rc;
            break;
        }
        if (got == 0) {
            s->eof = true;
            break;
        }
    }
    memset(s->buf + have, 0, MARGIN); /* the rest of the window was never cleared */
    if (s->progress != NULL)
        s->progress(s->progress_arg, s->base + have);
    return have;
}

struct mem_ctx {
    const unsigned char *p;
    size_t n;
};

static size_t mem_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc, struct mt_err *err)
{
    struct mem_ctx *m = ctx;
    (void)rc;
    (void)err;
    if (n > m->n)
        n = m->n;
    if (n == 0)
        return 0;
    memcpy(dst, m->p, n);
    m->p += n;
    m->n -= n;
    return n;
}

enum mt_rc mt_source_mem(struct mt_source **out, const void *p, size_t n)
{
    struct mem_ctx *m = mt_malloc(sizeof *m);
    if (m == NULL)
        return MT_ENOMEM;
    m->p = p;
    m->n = n;
    /* No larger than the bytes are: a reader that goes too far then leaves the block, which a
     * sanitizer sees, and a small input costs little. */
    return new_source(out, n < WINDOW ? n + 1 : WINDOW, mem_read, mt_free, m);
}
