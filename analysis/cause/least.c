/* The smallest change by the numbers alone: what the failed request lacked, and whose bytes that
 * could be. It is said where no rule fits, so that no failure goes without a change. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/base/words.h"
#include "analysis/cause/verdict.h"

#include <stdio.h>
#include <string.h>

/* What the request and what is known to come after it lack. Holes that would have been enough in
 * one piece were in the way rather than of use. */
static uint64_t lacking(const struct mt_cause *c, const struct mt_oom *o)
{
    uint64_t holes = o->at.holes_known ? o->at.free_usable : 0,
             asked = o->request + c->pass_to_come + c->state_to_come, have = o->device_free;
    if (have + holes < o->request)
        have += holes;
    return asked > have ? asked - have : 0;
}

int mt_cause_least(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_device_analysis *d = m->d;
    const struct mt_owner *most = d->owners.n != 0 ? &d->owners.p[0] : NULL;
    uint64_t lacks = m->oom != NULL ? lacking(c, m->oom) : 0;
    char text[1024], asker[256] = "";
    int n = 0;
    if (lacks == 0 || m->oom->request == 0 || d->withheld != NULL || d->sums_only ||
        m->oom->device_free >= mt_segment_size(m->oom->request))
        return 1;
    if (m->oom->stack != 0)
        (void)mt_stack_label(m->w->r->t, m->oom->stack, asker, sizeof asker);
    if (most != NULL && most->stack != 0 && most->bytes >= lacks)
        n = snprintf(text, sizeof text,
                     "The smallest change by the numbers is %s less of the %s that %.300s holds: "
                     "let go of before, made in pieces, in a smaller type, or kept on the host",
                     MT_BYTES(lacks), MT_BYTES(most->bytes), most->label);
    if (lacks <= m->oom->request && n >= 0 && (size_t)n < sizeof text)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s %s less in the request of %s%s%s: in pieces, or in a smaller type",
                      n != 0 ? ". Or" : "The smallest change by the numbers is", MT_BYTES(lacks),
                      MT_BYTES(m->oom->request), asker[0] != '\0' ? " at " : "", asker);
    if (n <= 0 || (size_t)n >= sizeof text - 2)
        return 1;
    (void)snprintf(text + n, sizeof text - (size_t)n, ".");
    c->least = mt_strndup(text, strlen(text));
    return c->least != NULL;
}
