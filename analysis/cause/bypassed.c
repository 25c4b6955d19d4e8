/* Graphs that other backward passes went by: of a batch that was given up, of a warm-up without a
 * backward pass, of what a log, a closure or an exception refers to, of a sampler's model whose
 * picture goes from step to step. Of one line that calls a model, calls that are over and have
 * their graph still. Two of them or more that an optimizer's step came after twice: weights have
 * changed, and no gradient can come of it. Without steps, two or more that a whole backward pass
 * came after, where no backward pass ever let go of anything of that line: a pipeline that has
 * several batches under way does. Where nothing failed, the rest of the recording tells: no
 * backward pass let go of it later. */
#include "analysis/cause/impl.h"

/* Chosen by hand: one may have a reason of its own. */
enum { MIN_CALLS = 2 };

/* A call that is over and of which a graph is there: few of all, found from the blocks that are
 * there. */
struct past {
    mt_frame_id line;
    uint32_t round;       /* backward passes that have begun before its end */
    uint64_t first, last; /* events */
    uint64_t let_go;      /* of what is live at the moment, by a backward pass that came later */
    struct mt_rest_of_pass rest;
};

/* What is left of the calls of a line, as far as other passes went by it. */
struct left {
    bool fed;          /* some backward pass let go of what its calls made */
    uint32_t calls;    /* of which a graph is there */
    uint32_t n, twice; /* those that passes went by, and those of them that count for MIN_CALLS */
    uint64_t bytes, last;
};

struct history {
    MT_VEC(struct past) calls; /* in order */
    bool backward;
    uint32_t round;    /* backward passes that have begun */
    struct left *line; /* by frame */
};

static bool is_kept_role(unsigned role) { return mt_is_transient(role) || role == MT_ROLE_UNKNOWN; }

static bool in_backward(const struct mt_moment *m, uint64_t i)
{
    return mt_phase_is(m->w->r->attr[i].sub, MT_IN_BACKWARD);
}

/* The line that called a model when an allocation was made; 0 = none, or a backward pass made it.
 */
static mt_frame_id called_at(const struct mt_moment *m, uint64_t i)
{
    mt_frame_id line = m->call_of[mt_event_at(m->w->r->d, i)->stack];
    return line != 0 && !in_backward(m, i) ? line : 0;
}

/* The allocations around one that the same call made, as far as they are behind `after`. False
 * where the call at the moment is not over. */
static bool find_ends(const struct mt_moment *m, struct past *p, uint64_t after, uint64_t at)
{
    const struct mt_device *d = m->w->r->d;
    for (uint64_t i = p->first; i-- > after;) {
        if (mt_event_at(d, i)->action != MT_ACT_ALLOC)
            continue;
        if (called_at(m, i) != p->line)
            break;
        p->first = i;
        p->rest.made++;
    }
    for (uint64_t i = p->last + 1; i <= at; i++) {
        if (mt_event_at(d, i)->action != MT_ACT_ALLOC)
            continue;
        if (called_at(m, i) != p->line)
            return true;
        p->last = i;
        p->rest.made++;
    }
    return m->oom != NULL; /* what failed is no allocation: it ended the call */
}

/* Fills h->calls. *any: of some line there are enough. 0 = out of memory. */
static int find_calls(const struct mt_moment *m, struct history *h, uint64_t at, bool *any)
{
    const struct mt_roles *w = m->w;
    uint64_t after = 0;
    for (uint32_t k = 0; k < w->there.n;) {
        uint64_t i = w->there.p[k];
        struct past p = {.line = called_at(m, i), .first = i, .last = i, .rest.made = 1}, *to;
        bool over;
        if (p.line == 0) {
            k++;
            continue;
        }
        over = find_ends(m, &p, after, at);
        for (; k < w->there.n && w->there.p[k] <= p.last; k++)
            if (is_kept_role(w->fate[w->there.p[k]].role)) {
                p.rest.live++;
                p.rest.bytes += mt_event_at(w->r->d, w->there.p[k])->size;
            }
        after = p.last + 1;
        if (!over || !mt_is_of_graph(&p.rest))
            continue;
        if ((to = MT_VEC_PUSH(&h->calls)) == NULL)
            return 0;
        *to = p;
        if (++h->line[p.line].calls >= MIN_CALLS)
            *any = true;
    }
    return 1;
}

/* The call in which a block was made; NULL = in none of these. */
static struct past *call_at(const struct history *h, uint64_t event)
{
    uint32_t lo = 0, hi = h->calls.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (h->calls.p[mid].last < event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->calls.n && h->calls.p[lo].first <= event ? &h->calls.p[lo] : NULL;
}

static void note_free(const struct mt_moment *m, struct history *h, uint64_t i, uint64_t at)
{
    uint32_t born = m->w->fate[i].freed;
    const struct mt_event *e = born < i ? mt_event_at(m->w->r->d, born) : NULL;
    struct past *p;
    if (!h->backward || e == NULL || m->call_of[e->stack] == 0 ||
        !is_kept_role(m->w->fate[born].role))
        return;
    if (i <= at)
        h->line[m->call_of[e->stack]].fed = true;
    else if (born <= at && (p = call_at(h, born)) != NULL)
        p->let_go += e->size;
}

/* Steps of the optimizer that are over before the event; 0 where steps are guessed. n: those that
 * are known to be. */
static uint32_t steps_before(const struct mt_moment *m, uint64_t event, uint32_t n)
{
    while (!m->f->steps_are_guessed && n < m->f->steps.n && m->f->steps.p[n].last < event)
        n++;
    return n;
}

/* Adds up what is left, by line. */
static void add_left(const struct mt_moment *m, struct history *h, uint64_t at)
{
    /* the one at work is not over */
    uint32_t rounds = h->round - (h->backward ? 1 : 0), steps = steps_before(m, at, 0), before = 0;
    for (uint32_t i = 0; i < h->calls.n; i++) {
        const struct past *p = &h->calls.p[i];
        struct left *l = &h->line[p->line];
        bool by_step, by_pass;
        before = steps_before(m, p->last, before);
        by_step = steps > before;
        by_pass = m->oom != NULL ? !l->fed && rounds > p->round : p->let_go < p->rest.bytes / 4;
        if (!by_step && !by_pass)
            continue;
        l->twice += by_pass || steps > before + 1;
        l->n++;
        l->bytes += p->rest.bytes;
        l->last = p->last;
    }
}

static void note_birth(const struct mt_moment *m, struct history *h, uint64_t i)
{
    bool backward = in_backward(m, i);
    h->round += backward && !h->backward;
    h->backward = backward;
}

/* What passes did beside these calls, up to a failure. */
static void walk_before(const struct mt_moment *m, struct history *h, uint64_t at)
{
    uint32_t next = 0;
    for (uint64_t i = 0; i <= at; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC) {
            note_birth(m, h, i);
            if (next < h->calls.n && h->calls.p[next].last == i)
                h->calls.p[next++].round = h->round;
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            note_free(m, h, i, at);
        }
    }
}

/* What they let go of later, where nothing failed: the moment is an allocation. */
static void walk_behind(const struct mt_moment *m, struct history *h, uint64_t at)
{
    note_birth(m, h, at);
    for (uint64_t i = at + 1; i < m->w->r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC)
            note_birth(m, h, i);
        else if (e->action == MT_ACT_FREE_COMPLETED)
            note_free(m, h, i, at);
    }
}

int mt_moment_bypassed(struct mt_moment *m)
{
    uint64_t at = m->d->focus.event >= 0 ? (uint64_t)m->d->focus.event : 0;
    struct history h = {.round = 0};
    const struct left *best = NULL;
    bool any = false;
    int ok;
    if (m->call_of == NULL || m->w->r->attr == NULL || m->w->fate == NULL || m->graph.line != 0 ||
        m->f->recorded != 0 || m->d->focus.event < 0)
        return 1;
    h.line = mt_calloc((size_t)m->w->r->t->frames.n + 1, sizeof *h.line);
    ok = h.line != NULL && find_calls(m, &h, at, &any);
    if (ok && any) {
        (m->oom != NULL ? walk_before : walk_behind)(m, &h, at);
        add_left(m, &h, at);
    }
    for (uint32_t i = 0; ok && i < h.calls.n; i++) { /* of equal lines the one that came first */
        const struct left *l = &h.line[h.calls.p[i].line];
        if (l->twice >= MIN_CALLS && (best == NULL || l->bytes > best->bytes))
            best = l;
    }
    if (best != NULL)
        m->graph = (struct mt_graph){.line = (mt_frame_id)(best - h.line),
                                     .bypassed = true,
                                     .passes = best->n,
                                     .until = best->last + 1,
                                     .bytes = best->bytes};
    mt_free(h.line);
    MT_VEC_DONE(&h.calls);
    return ok;
}
