#include "render/base/out.h"

#include "parser/base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FD_BUFFER = 1 << 16 };

static int fd_write(void *ctx, const void *p, size_t n)
{
    const char *s = p;
    int fd = *(int *)ctx;
    while (n > 0) {
        ssize_t k = write(fd, s, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno;
        s += k;
        n -= (size_t)k;
    }
    return 0;
}

int mt_out_mem(struct mt_out *o)
{
    memset(o, 0, sizeof *o);
    o->cap = 4096;
    o->buf = mt_malloc(o->cap);
    if (o->buf == NULL)
        o->error = ENOMEM;
    return o->buf != NULL;
}

int mt_out_fd(struct mt_out *o, int fd)
{
    int *ctx = mt_malloc(sizeof *ctx);
    memset(o, 0, sizeof *o);
    o->buf = mt_malloc(FD_BUFFER);
    o->cap = FD_BUFFER;
    if (ctx == NULL || o->buf == NULL) {
        mt_free(ctx);
        mt_free(o->buf);
        o->buf = NULL;
        o->error = ENOMEM;
        return 0;
    }
    *ctx = fd;
    o->ctx = ctx;
    o->write = fd_write;
    return 1;
}

static void flush(struct mt_out *o)
{
    if (o->error == 0 && o->used > 0)
        o->error = o->write(o->ctx, o->buf, o->used);
    o->used = 0;
}

int mt_out_finish(struct mt_out *o)
{
    if (o->write != NULL) {
        flush(o);
    } else if (o->error == 0) {
        mt_putc(o, '\0');
        if (o->error == 0) {
            o->used--;
            o->n--;
        }
    }
    return o->error;
}

void mt_out_done(struct mt_out *o)
{
    mt_free(o->buf);
    mt_free(o->ctx);
    memset(o, 0, sizeof *o);
}

void mt_put_slow(struct mt_out *o, const void *p, size_t n)
{
    if (o->error != 0 || n == 0)
        return;
    if (n > o->cap - o->used) {
        if (o->write != NULL) {
            flush(o);
            if (n > o->cap) {
                if (o->error == 0)
                    o->error = o->write(o->ctx, p, n);
                o->n += n;
                return;
            }
        } else {
            size_t cap = o->cap;
            unsigned char *buf;
            while (cap - o->used < n) {
                if (cap > SIZE_MAX / 2) {
                    o->error = ENOMEM;
                    return;
                }
                cap *= 2;
            }
            buf = mt_realloc(o->buf, cap);
            if (buf == NULL) {
                o->error = ENOMEM;
                return;
            }
            o->buf = buf;
            o->cap = cap;
        }
    }
    if (o->error != 0)
        return;
    memcpy(o->buf + o->used, p, n);
    o->used += n;
    o->n += n;
}

void mt_putu(struct mt_out *o, uint64_t v)
{
    char text[20];
    size_t at = sizeof text;
    do
        text[--at] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    mt_put(o, text + at, sizeof text - at);
}

void mt_putf(struct mt_out *o, const char *fmt, ...)
{
    char small[1024];
    va_list ap;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        o->error = o->error ? o->error : EINVAL;
    } else if ((size_t)n < sizeof small) {
        mt_put(o, small, (size_t)n);
    } else {
        char *big = mt_malloc((size_t)n + 1);
        if (big == NULL) {
            o->error = o->error ? o->error : ENOMEM;
            return;
        }
        va_start(ap, fmt);
        (void)vsnprintf(big, (size_t)n + 1, fmt, ap);
        va_end(ap);
        mt_put(o, big, (size_t)n);
        mt_free(big);
    }
}
