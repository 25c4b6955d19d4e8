/* The first pass of all, which memory runs out in: no backward pass came yet, so frames do not tell
 * a training from inference. It keeps its layers' blocks as autograd does, and the function that it
 * runs in is called as a training is (grpo_step, train_epoch). Either alone is little: inference
 * without no_grad keeps as much, and a function that trains evaluates, too. */
#include "analysis/phases/impl.h"

/* As for_none.c has them. */
enum { MIN_KEPT = 6, OF_MADE = 3 };

/* The first failure; UINT64_MAX = none. */
static uint64_t failure(const struct mt_device *d)
{
    for (uint64_t i = 0; i < d->events.n; i++)
        if (mt_event_at(d, i)->action == MT_ACT_OOM)
            return i;
    return UINT64_MAX;
}

int mt_first_find(const struct mt_phaser *p, const struct mt_device *d, struct mt_attr *out)
{
    uint64_t at = d->n_by_action[MT_ACT_OOM] != 0 ? failure(d) : UINT64_MAX;
    uint32_t rule =
        at != UINT64_MAX ? mt_stack_verdict_of(p, mt_event_at(d, at)->stack)->kept_rule : 0;
    const struct mt_pass_call *call;
    struct mt_pass_walk w;
    bool ok;
    if (rule == 0 || mt_passes_are_told(d, out))
        return 1;
    ok = mt_pass_walk_begin(&w, p->t, d, out) != 0;
    for (uint64_t i = 0; ok && i < at; i++)
        ok = mt_pass_walk_see(&w, i) != 0;
    call = ok && w.at != 0 && w.calls.n == 1 ? &w.calls.p[0] : NULL;
    if (call != NULL && call->live >= MIN_KEPT && call->live * OF_MADE >= call->made)
        for (uint64_t i = call->first; i < d->events.n; i++)
            if (out[i].phase == MT_PH_UNATTRIBUTED) {
                out[i].phase = (uint8_t)mt_rule_phase(p->rules, rule);
                out[i].rule_conf = (uint16_t)(rule << 4 | MT_CONF_LOW);
            }
    mt_pass_walk_done(&w);
    return ok;
}
