/* Adapters that PEFT made, measured: where they are there, gradients and optimizer state follow
 * them and not the frozen model. */
#include "analysis/expected/impl.h"
#include "analysis/base/frames.h"

double mt_expect_measured_adapters(const struct mt_expect_work *k, int64_t event)
{
    const struct mt_replay *r = k->w->r;
    double bytes = 0;
    for (int64_t i = 0; i <= event && (uint64_t)i < r->d->events.n; i++) {
        const struct mt_fate *f = &k->w->fate[i];
        const struct mt_event *e;
        if (f->role != MT_ROLE_PARAM || (int64_t)f->freed <= event ||
            (e = mt_event_at(r->d, (uint64_t)i))->action != MT_ACT_ALLOC)
            continue;
        bytes += mt_stack_goes_through(r->t, e->stack, "peft/tuners/", "") ? (double)e->size : 0;
    }
    return bytes;
}
