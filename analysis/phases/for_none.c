/* Passes that keep what a backward pass would want, in a recording in which nothing is trained: a
 * model that is used without no_grad. Without any pass that trains, no phase is known for them, and
 * the first forward pass of a training looks the same. Two earlier calls from its line settle it:
 * each had its layers' blocks together until the call was over, and let go of them before the next
 * one, and no backward pass came between. A pass without gradients lets go of each as it goes on.
 */
#include "analysis/phases/impl.h"

/* Chosen by hand. Blocks of a call that are there at its end: fewer may be results; autograd keeps
 * a third or more of what is made. Calls: one may be a trial before the training. */
enum { MIN_KEPT = 6, OF_MADE = 3, MIN_CALLS = 2 };

bool mt_passes_are_told(const struct mt_device *d, const struct mt_attr *out)
{
    for (uint64_t i = 0; i < d->events.n; i++) {
        const struct mt_attr a = out[i];
        if (mt_event_at(d, i)->action != MT_ACT_ALLOC)
            continue;
        if (mt_phase_is(a.sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER) ||
            (mt_phase_is(a.sub, MT_IN_FORWARD) && a.phase != MT_PH_UNATTRIBUTED))
            return true;
    }
    return false;
}

/* Whether each call that ended kept its blocks together and had let go of them when the next one
 * began, as far as this is known of the calls before that one. */
static bool was_let_go(const struct mt_pass_walk *l, uint32_t begun)
{
    const struct mt_pass_call *c = &l->calls.p[begun - 1];
    return c->at_end >= MIN_KEPT && c->at_end * OF_MADE >= c->made && c->live * 4 <= c->at_end;
}

/* The first event of such calls from the line of the last one; UINT64_MAX = they are none, or
 * memory ran out (*ok false). */
static uint64_t find(struct mt_pass_walk *l, bool *ok)
{
    uint32_t n = 0;
    uint64_t first = UINT64_MAX;
    for (uint64_t i = 0; i < l->d->events.n; i++) {
        uint32_t before = l->calls.n;
        if (!(*ok = mt_pass_walk_see(l, i)))
            return UINT64_MAX;
        if (before != 0 && l->calls.n != before && !was_let_go(l, before))
            return UINT64_MAX;
    }
    for (uint32_t c = 0; c + 1 < l->calls.n; c++) /* a trial is made from a line of its own */
        if (l->calls.p[c].line == l->calls.p[l->calls.n - 1].line)
            first = n++ == 0 ? l->calls.p[c].first : first;
    return n >= MIN_CALLS ? first : UINT64_MAX;
}

bool mt_phase_keeps_for_none(struct mt_attr a) { return mt_attr_rule(a) == MT_METHOD_FOR_NONE; }

int mt_for_none_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out)
{
    struct mt_pass_walk w;
    uint64_t first = UINT64_MAX;
    bool ok;
    if (mt_passes_are_told(d, out))
        return 1;
    ok = mt_pass_walk_begin(&w, t, d, out);
    if (ok)
        first = find(&w, &ok);
    for (uint64_t i = first; ok && i < d->events.n; i++)
        if (out[i].phase == MT_PH_UNATTRIBUTED) {
            out[i].phase = MT_PH_INFER;
            out[i].rule_conf = MT_METHOD_FOR_NONE << 4 | MT_CONF_CARRIED;
        }
    mt_pass_walk_done(&w);
    return ok;
}
