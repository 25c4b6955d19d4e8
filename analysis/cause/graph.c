/* What autograd keeps of a pass that no backward pass follows: an evaluation inside a training job
 * without no_grad. The line that calls the model there was come to again, and in this trace no
 * backward pass ever followed it as often. Where one did follow several calls of that line, it may
 * follow more of them (truncated backpropagation through time, losses that are summed): nothing is
 * said there. A pass without gradients lets go of all but its results:
 * where little else is left, no graph is kept. */
#include "analysis/cause/impl.h"

#include <string.h>

/* Calls of the model by line. */
struct calls {
    uint32_t *round; /* number of backward passes before the calls that are counted in n */
    uint32_t *n;
    uint32_t *most; /* calls that one backward pass followed */
};

struct passes {
    uint32_t round;
    uint64_t last_backward;   /* event */
    mt_frame_id call, before; /* at work; the last one */
    bool backward;
};

/* A block, or the request for one. */
static bool is_made(const struct mt_event *e)
{
    return e->action == MT_ACT_ALLOC || e->action == MT_ACT_OOM;
}

static void note_event(const struct mt_moment *m, struct calls *c, struct passes *p, uint64_t i,
                       mt_stack_id stack)
{
    mt_frame_id line = m->call_of[stack];
    bool backward = mt_phase_is(m->w->r->attr[i].sub, MT_IN_BACKWARD);
    if (backward && !p->backward) {
        if (c->round[p->before] == p->round && c->n[p->before] > c->most[p->before])
            c->most[p->before] = c->n[p->before];
        p->round++;
    }
    p->backward = backward;
    if (backward) {
        p->last_backward = i;
        p->call = 0;
        return;
    }
    if (line != 0 && line != p->call) {
        c->n[line] = c->round[line] == p->round ? c->n[line] + 1 : 1;
        c->round[line] = p->round;
        p->before = line;
    }
    p->call = line;
}

/* What a backward pass lets go of was made by calls that it follows, also where those of another
 * line came after them. */
static void note_free(const struct mt_moment *m, struct calls *c, const struct passes *p,
                      uint64_t i)
{
    uint32_t born = m->w->fate[i].freed;
    mt_frame_id line =
        p->backward && born < i ? m->call_of[mt_event_at(m->w->r->d, born)->stack] : 0;
    if (line != 0 && c->round[line] + 1 == p->round && c->n[line] > c->most[line])
        c->most[line] = c->n[line];
}

bool mt_is_unused_graph(const struct mt_moment *m, uint64_t event)
{
    unsigned role;
    mt_frame_id call;
    if (m->graph.line == 0 || (event <= m->graph.since && !m->graph.bypassed) ||
        event >= m->graph.until)
        return false;
    call = m->call_of[mt_event_at(m->w->r->d, event)->stack];
    if (m->graph.retained ? call == 0 : call != m->graph.line)
        return false;
    role = m->w->fate[event].role;
    return mt_is_transient(role) || role == MT_ROLE_UNKNOWN;
}

/* Autograd keeps about half of what a forward pass makes, or more. With
 * no gradients the results stay: one block, or with the states of all layers about a tenth. The
 * share is of blocks and not of bytes, for a convolution's workspace is large. */
bool mt_is_of_graph(const struct mt_rest_of_pass *p)
{
    return p->live >= 2 && 3 * p->live >= p->made;
}

static void add_live(struct mt_moment *m, uint64_t at)
{
    struct mt_rest_of_pass pass = {0, 0, 0};
    uint64_t of_graph = 0;
    for (uint64_t i = m->graph.since + 1; i <= at; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        bool inside = m->call_of[e->stack] == m->graph.line, live = m->w->fate[i].freed > at;
        if (e->action != MT_ACT_ALLOC)
            continue;
        if (!inside || i >= m->graph.until) { /* the pass is over */
            of_graph += mt_is_of_graph(&pass) ? pass.bytes : 0;
            pass = (struct mt_rest_of_pass){0, 0, 0};
        }
        if (inside && i < m->graph.until)
            pass.made++;
        if (live && mt_is_unused_graph(m, i)) {
            pass.live++;
            pass.bytes += e->size;
            m->graph.bytes += e->size;
        } else if (live && inside && i >= m->graph.until &&
                   m->w->fate[i].role == MT_ROLE_ACTIVATION) {
            m->graph.now += e->size;
        }
    }
    of_graph += mt_is_of_graph(&pass) ? pass.bytes : 0;
    if (of_graph < m->graph.bytes / 2 + 1) /* none, or most of it are results */
        m->graph = (struct mt_graph){.line = 0};
}

/* Whether the line was come to twice since the last backward pass that began before the moment, in
 * calls that nothing of that pass follows. In most traces it was not, and no other call counts. */
static bool came_again(const struct mt_moment *m, mt_frame_id line, uint64_t at)
{
    const struct mt_replay *r = m->w->r;
    mt_frame_id call = 0;
    uint64_t i = at + 1;
    uint32_t n = 0;
    for (; i > 0; i--)
        if (mt_phase_is(r->attr[i - 1].sub, MT_IN_BACKWARD) && is_made(mt_event_at(r->d, i - 1)))
            break;
    if (i == 0 || m->call_began[line] <= i)
        return false;
    for (; i <= at; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (!is_made(e))
            continue;
        n += m->call_of[e->stack] == line && line != call;
        call = m->call_of[e->stack];
    }
    return n >= 2;
}

/* Walks all that ran up to the moment. */
static void walk(const struct mt_moment *m, struct calls *c, struct passes *p, uint64_t at)
{
    for (uint64_t i = 0; i <= at; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (is_made(e))
            note_event(m, c, p, i, e->stack);
        else if (e->action == MT_ACT_FREE_COMPLETED)
            note_free(m, c, p, i);
    }
}

/* What memory ran out for may lie between two calls of a model whose graph waits for a backward
 * pass: how many calls such a pass follows is asked there, too (cause/kept.c). */
int mt_moment_graph(struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    size_t n = (size_t)r->t->frames.n + 1;
    struct calls c;
    struct passes p = {.round = 1};
    uint64_t at = (uint64_t)m->d->focus.event;
    mt_frame_id line;
    bool again;
    int ok;
    if (m->call_of == NULL || r->attr == NULL) /* mt_moment_result() has looked */
        return 1;
    line = m->call_of[mt_event_at(r->d, at)->stack];
    again = line != 0 && came_again(m, line, at);
    if (!again && (m->oom == NULL || line != 0))
        return 1;
    c = (struct calls){mt_calloc(n, sizeof *c.round), mt_calloc(n, sizeof *c.n),
                       mt_calloc(n, sizeof *c.most)};
    ok = c.round != NULL && c.n != NULL && c.most != NULL;
    if (ok)
        walk(m, &c, &p, at);
    if (ok && again && p.last_backward != 0 && c.round[line] == p.round && c.n[line] >= 2 &&
        c.most[line] < 2 && c.n[line] > c.most[line] && m->call_began[line] > p.last_backward + 1) {
        m->graph = (struct mt_graph){.line = line,
                                     .passes = c.n[line] - 1,
                                     .since = p.last_backward,
                                     .until = m->call_began[line] - 1};
        add_live(m, at);
    }
    mt_free(c.round);
    mt_free(c.n);
    m->call_most = c.most;
    return ok;
}
