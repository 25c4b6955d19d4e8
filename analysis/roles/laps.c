/* The last two whole steps, where something grows: what is live after each of their events, and
 * what of it the stack that grows most holds, so that one can be laid over the other. */
#include "analysis/roles/impl.h"

#include <string.h>

/* What an event adds and takes away; *grown: whether it is of that stack. */
static int64_t change(const struct mt_rwork *k, const bool *is, uint32_t i, bool *grown)
{
    const struct mt_event *e = mt_event_at(k->r->d, i);
    uint32_t born = k->w->fate[i].freed;
    *grown = is[e->stack];
    if (e->action == MT_ACT_ALLOC)
        return (int64_t)e->size;
    if (e->action != MT_ACT_FREE_COMPLETED)
        return 0;
    *grown = false;
    if (born != MT_NEVER && born < i) {
        e = mt_event_at(k->r->d, born);
        *grown = is[e->stack];
    }
    return -(int64_t)e->size;
}

/* What those stacks hold when an event is about to happen. */
static int64_t held_before(const struct mt_rwork *k, const bool *is, uint32_t first)
{
    int64_t held = 0;
    for (uint32_t i = 0; i < first; i++) {
        const struct mt_event *e;
        if (k->w->fate[i].freed < first)
            continue;
        e = mt_event_at(k->r->d, i);
        if (e->action == MT_ACT_ALLOC && is[e->stack])
            held += (int64_t)e->size;
    }
    return held;
}

/* False: the sums do not come out at what is live at the end of the step. Each column shows its
 * highest moment, so what is held at the end is kept apart. */
static bool fill(const struct mt_rwork *k, const bool *is, struct mt_lap *lap)
{
    const struct mt_step *s = &k->out->steps.p[lap->step];
    int64_t live = (int64_t)s->live_begin, grown = held_before(k, is, (uint32_t)s->first);
    lap->events = s->last - s->first + 1;
    lap->n = lap->events < MT_LAP_COLUMNS ? (uint32_t)lap->events : MT_LAP_COLUMNS;
    lap->peak = s->peak;
    for (uint64_t i = 0; i < lap->events; i++) {
        uint32_t column = (uint32_t)(i * lap->n / lap->events);
        bool is_grown;
        int64_t by = change(k, is, (uint32_t)(s->first + i), &is_grown);
        live += by;
        grown += is_grown ? by : 0;
        if (live < 0 || grown < 0)
            return false;
        if ((uint64_t)live >= lap->live[column]) {
            lap->live[column] = (uint64_t)live;
            lap->grown[column] = (uint64_t)grown;
        }
    }
    lap->grown_end = (uint64_t)grown;
    return (uint64_t)live == s->live_end;
}

int mt_laps_make(struct mt_rwork *k, const bool *is)
{
    struct mt_role_facts *f = k->out;
    uint32_t last = f->steps.n;
    bool good = true;
    while (last > 0 && !f->steps.p[last - 1].whole)
        last--;
    if (f->growth.n == 0 || last < 2 || !f->steps.p[last - 2].whole)
        return 1;
    for (uint32_t i = last - 2; i < last; i++) {
        struct mt_lap *lap = MT_VEC_PUSH(&f->laps);
        if (lap == NULL)
            return 0;
        memset(lap, 0, sizeof *lap);
        lap->step = i;
        good = good && fill(k, is, lap);
    }
    if (!good || f->laps.p[1].grown_end != f->growth.p[0].last)
        f->laps.n = 0;
    return 1;
}
