/* State that an optimizer of the job's own makes in the step in which memory runs out: how long its
 * blocks would have lived is not known. What a step needs for one parameter is gone, or let go of,
 * when the next one's is there; what is kept of each is live together. Lists of temporaries are
 * live together as well, but one line makes all of a list before any other line asks (foreach). */
#include "analysis/roles/impl.h"

/* Whether the line came back for a later block after another line had asked. closed: by stack. */
static void close_run(bool *closed, mt_stack_id *run, mt_stack_id stack)
{
    if (*run != stack && *run != 0)
        closed[*run] = true;
    *run = stack;
}

int mt_stays_find(struct mt_rwork *k)
{
    const struct mt_device_analysis *o = k->r->out;
    uint64_t oom = o->ooms.n != 0 ? o->ooms.p[0].event : 0;
    mt_stack_id run = 0;
    bool *closed;
    if (oom == 0 || o->ooms.p[0].attr.sub != MT_PH_OPTIMIZER || k->r->attr == NULL)
        return 1;
    closed = mt_calloc((size_t)k->r->t->stacks.n + 1, sizeof *closed);
    if (closed == NULL)
        return 0;
    for (uint64_t i = oom; i-- > 0 && mt_phase_is(k->r->attr[i].sub, MT_IN_OPTIMIZER);) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        struct mt_fate *f = &k->w->fate[i];
        if (e->action != MT_ACT_ALLOC)
            continue;
        close_run(closed, &run, e->stack);
        if (closed[e->stack] && f->role == MT_ROLE_OPTIM_TEMP && f->why == MT_WHY_PHASE &&
            f->freed > oom) {
            f->role = MT_ROLE_OPTIM_STATE;
            if (f->freed < mt_n_events(k))
                k->w->fate[f->freed].role = MT_ROLE_OPTIM_STATE;
        }
    }
    mt_free(closed);
    return 1;
}
