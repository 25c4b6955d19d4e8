/* Passes that keep their graph although a backward pass followed each of them: a recurrent state
 * that is handed on without detach(), a loss that is kept, retain_graph=True. Then nothing of any
 * earlier pass goes, and each adds as much again: a smaller batch puts the end off, no more. Where
 * some pass lets go of its own (a pipeline that has several under way, a generator whose turn comes
 * later) it is none of that kind. */
#include "analysis/cause/impl.h"

/* Passes, chosen by hand: one may have a reason of its own. */
enum { MIN_PASSES = 2 };

/* What is left at the moment of what a pass made inside calls of a model. */
static struct mt_rest_of_pass rest_of(const struct mt_moment *m, const struct mt_micro *p,
                                      uint64_t at)
{
    struct mt_rest_of_pass out = {0, 0, 0};
    for (uint64_t i = p->first; i <= p->last && i <= at; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        const struct mt_fate *f = &m->w->fate[i];
        if (e->action != MT_ACT_ALLOC || m->call_of[e->stack] == 0 ||
            !mt_phase_is(m->w->r->attr[i].sub, MT_IN_FORWARD) ||
            !(mt_is_transient(f->role) || f->role == MT_ROLE_UNKNOWN))
            continue;
        out.made++;
        if (f->freed > at) {
            out.live++;
            out.bytes += e->size;
        }
    }
    return out;
}

/* Where the forward passes of a job begin to be known as training with the first backward pass, the
 * lists have the first pass in two: a forward, and a backward that calls no model. */
static bool backward_comes_apart(const struct mt_moment *m, uint32_t i, uint32_t now, uint64_t at)
{
    const struct mt_micro *next = &m->f->micros.p[i + 1];
    return i + 1 < now && next->has_backward && rest_of(m, next, at).made < 2;
}

/* The line that calls the model for the largest block of it. */
static mt_frame_id line_of(const struct mt_moment *m)
{
    uint64_t most = 0;
    mt_frame_id line = 0;
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->event == UINT64_MAX || h->size <= most || !mt_is_unused_graph(m, h->event))
            continue;
        most = h->size;
        line = m->call_of[h->stack];
    }
    return line;
}

void mt_moment_retained(struct mt_moment *m)
{
    uint64_t at = m->d->focus.event >= 0 ? (uint64_t)m->d->focus.event : 0;
    struct mt_graph g = {.line = 1, .retained = true};
    uint32_t now = mt_micro_at(m->f, at);
    if (m->oom == NULL || m->call_of == NULL || m->w->r->attr == NULL || m->graph.line != 0 ||
        now == UINT32_MAX || m->f->recorded != 0) /* a second backward needs them all */
        return;
    if (at > m->f->micros.p[now].last) /* the pass at hand has no request in the lists yet */
        now++;
    for (uint32_t i = 0; i < now; i++) {
        struct mt_rest_of_pass rest = rest_of(m, &m->f->micros.p[i], at);
        if (rest.made < 2) /* of no model */
            continue;
        if (!m->f->micros.p[i].has_backward && !backward_comes_apart(m, i, now, at))
            continue;
        if (!mt_is_of_graph(&rest))
            return;
        g.passes++;
        g.bytes += rest.bytes;
        g.until = m->f->micros.p[i].last + 1;
    }
    if (g.passes < MIN_PASSES)
        return;
    m->graph = g;
    m->graph.line = line_of(m);
    if (m->graph.line == 0)
        m->graph = (struct mt_graph){.line = 0};
}
