/* Passes that keep what a backward pass would want, in a recording in which nothing is trained: a
 * model that is used without no_grad. Without any pass that trains, no phase is known for them, and
 * the first forward pass of a training looks the same. Two earlier calls from its line settle it:
 * each had its layers' blocks together until the call was over, and let go of them before the next
 * one, and no backward pass came between. A pass without gradients lets go of each as it goes on.
 */
#include "analysis/phases/impl.h"
#include "analysis/base/addrmap.h"
#include "analysis/base/calls.h"
#include "parser/base/mem.h"

/* Chosen by hand. Blocks of a call that are there at its end: fewer may be results; autograd keeps
 * a third or more of what is made. Calls: one may be a trial before the training. */
enum { MIN_KEPT = 6, OF_MADE = 3, MIN_CALLS = 2 };

struct call {
    uint64_t first; /* event */
    mt_frame_id line;
    uint32_t made, live, at_end;
    bool ended;
};

struct look {
    const struct mt_trace *t;
    const struct mt_device *d;
    const struct mt_attr *attr;
    mt_frame_id *line, *near; /* by stack */
    mt_frame_id at;           /* of the call at work; 0 = none is */
    MT_VEC(struct call) calls;
    struct mt_addrmap of; /* address of a block -> its call */
};

/* Whether something may be trained, or a phase of these passes is known already. */
static bool is_told(const struct look *l)
{
    for (uint64_t i = 0; i < l->d->events.n; i++) {
        const struct mt_attr a = l->attr[i];
        if (mt_event_at(l->d, i)->action != MT_ACT_ALLOC)
            continue;
        if (mt_phase_is(a.sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER) ||
            (mt_phase_is(a.sub, MT_IN_FORWARD) && a.phase != MT_PH_UNATTRIBUTED))
            return true;
    }
    return false;
}

static void end_call(struct look *l)
{
    struct call *c = l->calls.n != 0 ? &l->calls.p[l->calls.n - 1] : NULL;
    if (l->at != 0 && c != NULL) {
        c->ended = true;
        c->at_end = c->live;
    }
    l->at = 0;
}

static int begin_call(struct look *l, uint64_t i, mt_frame_id line)
{
    struct call *c = MT_VEC_PUSH(&l->calls);
    if (c == NULL)
        return 0;
    *c = (struct call){.first = i, .line = line};
    l->at = line;
    return 1;
}

static int see(struct look *l, uint64_t i)
{
    const struct mt_event *e = mt_event_at(l->d, i);
    mt_frame_id line = e->stack != 0 ? l->line[e->stack] : l->at;
    uint32_t call;
    bool had;
    if (e->action == MT_ACT_FREE_COMPLETED) {
        if (mt_addrmap_take(&l->of, e->addr, &call))
            l->calls.p[call].live--;
        return 1;
    }
    if (e->action != MT_ACT_ALLOC && e->action != MT_ACT_FREE_REQUESTED)
        return 1;
    if (e->action == MT_ACT_ALLOC && !mt_phase_is(l->attr[i].sub, MT_IN_FORWARD))
        line = 0; /* a module that is moved to the card is called, too */
    if (line != l->at)
        end_call(l);
    if (e->action != MT_ACT_ALLOC || line == 0)
        return 1;
    if (l->at == 0 && !begin_call(l, i, line))
        return 0;
    l->calls.p[l->calls.n - 1].made++;
    l->calls.p[l->calls.n - 1].live++;
    return mt_addrmap_put(&l->of, e->addr, l->calls.n - 1, &had, &call);
}

/* Whether each call that ended kept its blocks together and had let go of them when the next one
 * began, as far as this is known of the calls before that one. */
static bool was_let_go(const struct look *l, uint32_t begun)
{
    const struct call *c = &l->calls.p[begun - 1];
    return c->at_end >= MIN_KEPT && c->at_end * OF_MADE >= c->made && c->live * 4 <= c->at_end;
}

/* The first event of such calls from the line of the last one; UINT64_MAX = they are none, or
 * memory ran out (*ok false). */
static uint64_t find(struct look *l, bool *ok)
{
    uint32_t n = 0;
    uint64_t first = UINT64_MAX;
    for (uint64_t i = 0; i < l->d->events.n; i++) {
        uint32_t before = l->calls.n;
        if (!(*ok = see(l, i)))
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
    struct look l = {.t = t, .d = d, .attr = out};
    struct mt_file_kinds files;
    uint64_t first = UINT64_MAX;
    size_t n = (size_t)t->stacks.n + 1;
    bool ok = true;
    if (is_told(&l))
        return 1;
    l.line = mt_calloc(n, sizeof *l.line);
    l.near = mt_calloc(n, sizeof *l.near);
    ok = l.line != NULL && l.near != NULL && mt_file_kinds_init(&files, t);
    if (ok) {
        mt_stack_calls(t, &files, l.line, l.near);
        mt_file_kinds_done(&files);
        first = find(&l, &ok);
    }
    for (uint64_t i = first; ok && i < d->events.n; i++)
        if (out[i].phase == MT_PH_UNATTRIBUTED) {
            out[i].phase = MT_PH_INFER;
            out[i].rule_conf = MT_METHOD_FOR_NONE << 4 | MT_CONF_CARRIED;
        }
    mt_free(l.line);
    mt_free(l.near);
    MT_VEC_DONE(&l.calls);
    mt_addrmap_done(&l.of);
    return ok;
}
