#include "analysis/run/cause.h"

#include <string.h>

void mt_cause_of_log(struct mt_cause_told *out, const struct mt_logdiag *d)
{
    memset(out, 0, sizeof *out);
    out->kind = mt_cause_main(d->cause);
    out->known = out->kind != MT_CAUSE_NONE || d->cause == MT_CAUSE_NONE;
    out->conf = (uint8_t)(strcmp(d->confidence, "high") == 0     ? MT_CONF_MARKED
                          : strcmp(d->confidence, "medium") == 0 ? MT_CONF_INFERRED
                          : strcmp(d->confidence, "low") == 0    ? MT_CONF_LOW
                                                                 : MT_CONF_NONE);
    out->request = d->request != MT_LOG_NONE ? d->request : 0;
    out->sentence = d->sentence;
    out->because = d->because;
}

static bool would_fit(const struct mt_driver_oom *o, uint64_t freed)
{
    return freed != 0 && o->request != 0 &&
           freed >= o->request - (o->free < o->request ? o->free : o->request);
}

void mt_cause_of_driver(struct mt_cause_told *out, const struct mt_driverdiag *j)
{
    const struct mt_driver_oom *o = j->kind == MT_V_OOM ? &j->ooms.p[j->oom] : NULL;
    uint64_t held = 0, outside;
    memset(out, 0, sizeof *out);
    out->known = true;
    out->sentence = o != NULL || j->host.kills != 0 ? j->sentence : NULL;
    out->because = out->sentence != NULL ? j->because : NULL;
    if (o == NULL && j->host.kills != 0) {
        out->kind = MT_CAUSE_HOST;
        out->conf = MT_CONF_MARKED;
    }
    if (o == NULL)
        return;
    for (int h = 0; h < MT_HOLD_UNEXPLAINED; h++)
        held += o->held[h];
    outside = o->held[MT_HOLD_OTHER] + o->held[MT_HOLD_NCCL] + o->held[MT_HOLD_CONTEXT] +
              o->held[MT_HOLD_MATH];
    out->request = o->request;
    out->conf = MT_CONF_MARKED;
    if (o->is_host) {
        out->kind = MT_CAUSE_HOST;
    } else if (mt_phase_is(o->phase, MT_NEEDS_NO_ENGINE) && o->held[MT_HOLD_ENGINE] >= held / 10 &&
               would_fit(o, o->held[MT_HOLD_ENGINE])) {
        out->kind = MT_CAUSE_STALE_ENGINE;
    } else if (o->who == MT_HOLD_ENGINE && (o->in_wake || mt_phase_is(o->phase, MT_OF_ENGINE)) &&
               j->idle >= held / 10 && would_fit(o, j->idle)) {
        /* the other way round: what the trainer has cached and does not use */
        out->kind = MT_CAUSE_STALE_ENGINE;
        out->conf = MT_CONF_INFERRED; /* as of a snapshot taken afterwards */
    } else if (o->held[MT_HOLD_OTHER] >= held / 10 && would_fit(o, o->held[MT_HOLD_OTHER])) {
        out->kind = MT_CAUSE_FOREIGN;
    } else if (o->who != MT_HOLD_TORCH && o->who != MT_HOLD_ENGINE && o->who != MT_HOLD_UNKNOWN) {
        /* NCCL, cuBLAS, graphs, a context: what failed is outside PyTorch */
        out->kind = MT_CAUSE_FOREIGN;
    } else if (outside >= held / 4 && would_fit(o, outside)) {
        out->kind = MT_CAUSE_FOREIGN;
        out->conf = MT_CONF_INFERRED;
    } else if (j->growth.n != 0 && would_fit(o, j->growth.last - j->growth.first)) {
        out->kind = MT_CAUSE_LEAK;
        out->conf = MT_CONF_INFERRED;
    } else {
        out->kind = MT_CAUSE_CAPACITY;
    }
}
