/* The calls of a model, one after the other, with what each makes and still has. */
#include "analysis/phases/impl.h"
#include "analysis/base/calls.h"
#include "parser/base/mem.h"

int mt_pass_walk_begin(struct mt_pass_walk *w, const struct mt_trace *t, const struct mt_device *d,
                       const struct mt_attr *attr)
{
    struct mt_file_kinds files;
    size_t n = (size_t)t->stacks.n + 1;
    *w = (struct mt_pass_walk){.t = t, .d = d, .attr = attr};
    w->line = mt_calloc(n, sizeof *w->line);
    w->near = mt_calloc(n, sizeof *w->near);
    if (w->line == NULL || w->near == NULL || !mt_file_kinds_init(&files, t))
        return 0;
    mt_stack_calls(t, &files, w->line, w->near);
    mt_file_kinds_done(&files);
    return 1;
}

static void end_call(struct mt_pass_walk *w)
{
    struct mt_pass_call *c = w->calls.n != 0 ? &w->calls.p[w->calls.n - 1] : NULL;
    if (w->at != 0 && c != NULL) {
        c->ended = true;
        c->at_end = c->live;
    }
    w->at = 0;
}

static int begin_call(struct mt_pass_walk *w, uint64_t i, mt_frame_id line)
{
    struct mt_pass_call *c = MT_VEC_PUSH(&w->calls);
    if (c == NULL)
        return 0;
    *c = (struct mt_pass_call){.first = i, .line = line, .round = w->round};
    w->at = line;
    return 1;
}

int mt_pass_walk_see(struct mt_pass_walk *w, uint64_t i)
{
    const struct mt_event *e = mt_event_at(w->d, i);
    mt_frame_id line = e->stack != 0 ? w->line[e->stack] : w->at;
    uint32_t call;
    bool had;
    if (e->action == MT_ACT_FREE_COMPLETED) {
        if (mt_addrmap_take(&w->of, e->addr, &call))
            w->calls.p[call].live--;
        return 1;
    }
    if (e->action != MT_ACT_ALLOC && e->action != MT_ACT_FREE_REQUESTED)
        return 1;
    if (e->action == MT_ACT_ALLOC) {
        bool backward = mt_phase_is(w->attr[i].sub, MT_IN_BACKWARD);
        w->round += backward && !w->in_backward;
        w->in_backward = backward;
        if (!mt_phase_is(w->attr[i].sub, MT_IN_FORWARD) &&
            w->attr[i].sub != MT_PH_ONLOAD_OFFLOAD) /* a layer may fetch its weights */
            line = 0; /* a module that is moved to the card is called, too */
    }
    if (line != w->at)
        end_call(w);
    if (e->action != MT_ACT_ALLOC || line == 0)
        return 1;
    if (w->at == 0 && !begin_call(w, i, line))
        return 0;
    w->calls.p[w->calls.n - 1].made++;
    w->calls.p[w->calls.n - 1].live++;
    return mt_addrmap_put(&w->of, e->addr, w->calls.n - 1, &had, &call);
}

void mt_pass_walk_done(struct mt_pass_walk *w)
{
    mt_free(w->line);
    mt_free(w->near);
    MT_VEC_DONE(&w->calls);
    mt_addrmap_done(&w->of);
}
