/* Stretches of one coarse phase: where they begin and end, and which of the memory they do not
 * need. */
#include "analysis/roles/impl.h"

enum { MAX_OCCURRENCES = 1024 };

static void end_at(struct mt_rwork *k, uint64_t last)
{
    struct mt_occurrence *o =
        k->out->occurrences.n != 0 ? &k->out->occurrences.p[k->out->occurrences.n - 1] : NULL;
    if (o == NULL || o->last != UINT64_MAX)
        return;
    o->last = last;
    o->t1_ns = mt_event_ns(k->r->d, last);
}

int mt_occurrence_next(struct mt_rwork *k, uint32_t event, unsigned phase)
{
    struct mt_occurrence *o;
    /* what comes before the first allocation belongs to it */
    uint64_t first = k->out->n_occurrences_all == 0 ? 0 : event;
    if (first != 0)
        end_at(k, first - 1);
    k->out->n_occurrences_all++;
    if (k->out->occurrences.n >= MAX_OCCURRENCES)
        return 1;
    if ((o = MT_VEC_PUSH(&k->out->occurrences)) == NULL)
        return 0;
    o->phase = (uint8_t)phase;
    o->step = UINT32_MAX;
    o->first = first;
    o->last = UINT64_MAX;
    o->t0_ns = mt_event_ns(k->r->d, first);
    o->peak_event = MT_NO_EVENT;
    return 1;
}

void mt_occurrences_end(struct mt_rwork *k)
{
    if (k->r->d->events.n != 0)
        end_at(k, k->r->d->events.n - 1);
}

uint64_t mt_useless(unsigned phase, const uint64_t roles[MT_ROLE_COUNT])
{
    uint64_t trainer =
        roles[MT_ROLE_GRAD] + roles[MT_ROLE_GRAD_REDUCE] + roles[MT_ROLE_OPTIM_STATE];
    uint64_t engine =
        roles[MT_ROLE_KV_CACHE] + roles[MT_ROLE_ENGINE_WEIGHTS] + roles[MT_ROLE_GRAPH_POOL];
    if (mt_phase_is(phase, MT_OF_ENGINE))
        return trainer;
    if (!mt_phase_is(phase, MT_NEEDS_NO_ENGINE))
        return 0;
    return mt_phase_is(phase, MT_TRAINS) ? engine : trainer + engine;
}
