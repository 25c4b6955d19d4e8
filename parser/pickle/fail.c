/* The ways to fail that every file of the pickle reader has. */
#include "parser/pickle/impl.h"

#include <stdarg.h>
#include <stdio.h>

int mt_pk_fail(struct pk *m, enum pk_stop stop, enum mt_rc rc, const char *fmt, ...)
{
    char text[MT_ERR_MSG];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    m->stop = stop;
    mt_fail_at(&m->err, rc, mt_pk_offset(m), "%s", text);
    return 0;
}

int mt_pk_nomem(struct pk *m)
{
    return mt_pk_fail(m, PK_FAIL, MT_ENOMEM,
                      "out of memory after %llu MiB (a limit can be raised with --max-memory)",
                      (unsigned long long)(mt_mem_used() >> 20));
}

int mt_pk_builder_failed(struct pk *m)
{
    const struct mt_err *e = mt_builder_err(m->b);
    return mt_pk_fail(m, PK_FAIL, e->rc != MT_OK ? e->rc : MT_EINTERN, "%s", e->msg);
}
