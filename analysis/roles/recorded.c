/* A backward pass that is recorded itself, as with create_graph=True: an inner loop whose updates
 * are differentiated through, a penalty on gradients. It keeps what it makes for a second backward,
 * together with the forward passes before it. An ordinary backward pass leaves the gradients of
 * parameters and nothing else. Told before any of it is let go: since the last step. */
#include "analysis/roles/impl.h"

/* Of the blocks that backward passes made, a third is there still, as of a forward pass whose graph
 * is kept; fewer than MIN_RECORDED are chance. Chosen by hand. */
enum { MIN_RECORDED = 8, SHARE = 3 };

static bool has_size_of_weight(struct mt_rwork *k, uint64_t size)
{
    const struct mt_size_use *u = mt_size_use(k, size, false);
    return u != NULL && (u->param || u->built || u->outside != 0);
}

void mt_recorded_find(struct mt_rwork *k, int64_t focus)
{
    const struct mt_role_facts *f = k->out;
    uint64_t bytes = 0;
    uint32_t made = 0, live = 0;
    int64_t since = 0;
    for (uint32_t i = 0; i < f->steps.n && !f->steps_are_guessed; i++)
        if ((int64_t)f->steps.p[i].last < focus)
            since = (int64_t)f->steps.p[i].last + 1;
    for (int64_t i = since; k->r->attr != NULL && i <= focus; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, (uint64_t)i);
        const struct mt_fate *fate = &k->w->fate[i];
        if (e->action != MT_ACT_ALLOC || !mt_phase_is(k->r->attr[i].sub, MT_IN_BACKWARD))
            continue;
        made++;
        if ((fate->freed != MT_NEVER && (int64_t)fate->freed <= focus) ||
            has_size_of_weight(k, e->size))
            continue;
        live++;
        bytes += e->size;
    }
    if (live >= MIN_RECORDED && live >= made / SHARE)
        k->out->recorded = bytes;
}
