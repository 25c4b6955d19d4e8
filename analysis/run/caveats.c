/* run/caveats.c -- the list of what limits the trust. */
#include "analysis/run/quality_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void mt_caveat_add(struct mt_caveats *c, const char *fmt, ...)
{
    char text[1024], **slot;
    va_list ap;
    if (c->nomem || c->q->caveats.n == MT_MAX_CAVEATS)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    slot = MT_VEC_PUSH(&c->q->caveats);
    if (slot != NULL)
        *slot = mt_strndup(text, strlen(text));
    if (slot != NULL && *slot == NULL)
        c->q->caveats.n--;
    c->nomem = slot == NULL || *slot == NULL;
}

void mt_caveats_of_trace(struct mt_caveats *c, const struct mt_trace *t)
{
    for (uint32_t i = 0; i < t->diags.n; i++) {
        const struct mt_diag *d = &t->diags.p[i];
        if (d->has_offset)
            mt_caveat_add(c, "%s (offset %llu)", mt_str(t, d->text), (unsigned long long)d->offset);
        else
            mt_caveat_add(c, "%s", mt_str(t, d->text));
    }
}

void mt_quality_done(struct mt_quality *q)
{
    for (uint32_t i = 0; i < q->caveats.n; i++)
        mt_free(q->caveats.p[i]);
    MT_VEC_DONE(&q->caveats);
}
