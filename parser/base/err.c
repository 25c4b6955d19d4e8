#include "parser/base/err.h"

#include <stdarg.h>
#include <stdio.h>

#if defined(__GNUC__)
__attribute__((format(printf, 3, 0)))
#endif
static enum mt_rc
vfail(struct mt_err *err, enum mt_rc rc, const char *fmt, va_list ap)
{
    if (err == NULL)
        return rc;
    err->rc = rc;
    err->has_offset = false;
    err->offset = 0;
    err->n_ctx = 0;
    if (vsnprintf(err->msg, sizeof err->msg, fmt, ap) < 0)
        err->msg[0] = '\0';
    return rc;
}

enum mt_rc mt_fail(struct mt_err *err, enum mt_rc rc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfail(err, rc, fmt, ap);
    va_end(ap);
    return rc;
}

enum mt_rc mt_fail_at(struct mt_err *err, enum mt_rc rc, uint64_t offset, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfail(err, rc, fmt, ap);
    va_end(ap);
    if (err != NULL) {
        err->has_offset = true;
        err->offset = offset;
    }
    return rc;
}

void mt_err_context(struct mt_err *err, const char *fmt, ...)
{
    va_list ap;
    if (err == NULL || err->n_ctx >= MT_ERR_CTX)
        return;
    va_start(ap, fmt);
    if (vsnprintf(err->ctx[err->n_ctx], sizeof err->ctx[0], fmt, ap) >= 0)
        err->n_ctx++;
    va_end(ap);
}

char *mt_printable(char *out, unsigned long cap, const void *s, unsigned long n)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *p = s;
    unsigned long o = 0;
    if (cap == 0)
        return out;
    for (unsigned long i = 0; i < n; i++) {
        bool plain = p[i] >= 0x20 && p[i] < 0x7f && p[i] != '\\';
        unsigned long need = plain ? 1 : 4;
        if (o + need + 4 > cap) { /* room for "..." and the end */
            for (int k = 0; k < 3 && o + 1 < cap; k++)
                out[o++] = '.';
            break;
        }
        if (plain) {
            out[o++] = (char)p[i];
        } else {
            out[o++] = '\\';
            out[o++] = 'x';
            out[o++] = hex[p[i] >> 4];
            out[o++] = hex[p[i] & 15];
        }
    }
    out[o] = '\0';
    return out;
}
