/* A request that makes anew what the same line made before the last passes, while that is still
 * there: a name that is assigned again holds the old value until the new one exists. Where a pass
 * has shown that it goes then, result.c knows it for certain; here it is the first time.
 *
 * Or what a later line of the same function made in the round before, of a loop without gradients:
 * a name of the loop's body that is assigned further down. The round before made the same request
 * when nothing of that size was there, so that it needs none. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/roles/roles.h"

/* A tenth of what is live, chosen by hand: a state that goes from one pass to the next is small. */
enum { OF_LIVE = 10, ROUNDED = 511, NEAR = 8 };

static bool may_be_of(const struct mt_moment *m, const struct mt_held *h)
{
    return h->stack == m->oom->stack && h->event != UINT64_MAX && !h->pending &&
           h->size <= m->oom->request && m->oom->request - h->size <= ROUNDED &&
           (mt_is_transient(h->role) || h->role == MT_ROLE_DATA || h->role == MT_ROLE_UNKNOWN);
}

/* Whether a forward pass began and its backward ended between the two events: layers of one pass
 * are not apart. */
static bool is_pass_between(const struct mt_moment *m, uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < m->f->micros.n; i++)
        if (m->f->micros.p[i].has_backward && m->f->micros.p[i].first > from &&
            m->f->micros.p[i].last < to)
            return true;
    return false;
}

/* The stack at the innermost line of the job's own; 0 = there is none. */
static mt_stack_id own_line(const struct mt_trace *t, mt_stack_id s)
{
    mt_frame_id frame = 0;
    if (mt_stack_site(t, NULL, s, &frame) != MT_SITE_PYTHON)
        return 0;
    while (s != 0 && t->stacks.p[s].frame != frame)
        s = t->stacks.p[s].parent;
    return s;
}

/* The next Python frame outwards; between them lie the interpreter's own. */
static mt_stack_id caller(const struct mt_trace *t, mt_stack_id s)
{
    do
        s = t->stacks.p[s].parent;
    while (s != 0 &&
           (mt_file_kind(NULL, t, t->frames.p[t->stacks.p[s].frame].file) & MT_FILE_PYTHON) == 0);
    return s;
}

/* Whether two stacks end in one call of one function, at other lines. */
static bool in_one_function(const struct mt_trace *t, mt_stack_id a, mt_stack_id b)
{
    const struct mt_frame *x, *y;
    if (a == 0 || b == 0)
        return false;
    x = &t->frames.p[t->stacks.p[a].frame];
    y = &t->frames.p[t->stacks.p[b].frame];
    if (x->file != y->file || x->name != y->name || x->line == y->line)
        return false;
    while (a != b && a != 0 && b != 0) {
        a = caller(t, a);
        b = caller(t, b);
        if (t->stacks.p[a].frame != t->stacks.p[b].frame)
            return false;
    }
    return a == b;
}

/* The last time before that event that the same line made as much; UINT64_MAX = it never did. */
static uint64_t asked_before(const struct mt_moment *m, uint64_t event)
{
    for (uint64_t i = event; i-- > 0;) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC && e->stack == m->oom->stack && e->size == m->oom->request)
            return i;
    }
    return UINT64_MAX;
}

static bool is_near(uint64_t a, uint64_t b) { return (a < b ? b - a : a - b) <= b / NEAR; }

/* Whether a block about as large was there when that event came. */
static bool was_there(const struct mt_moment *m, uint64_t at, uint64_t size)
{
    for (uint64_t i = 0; i < at; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC && m->w->fate[i].freed > at && is_near(e->size, size))
            return true;
    }
    return false;
}

/* Of what one line made in the round before, the one block that is left. */
static void find_of_round(struct mt_moment *m)
{
    const struct mt_trace *t = m->w->r->t;
    const struct mt_held *one = NULL;
    mt_stack_id own = own_line(t, m->oom->stack);
    uint64_t at;
    if (m->phase == MT_PH_UNATTRIBUTED || mt_phase_is(m->phase, MT_TRAINS) || m->w->fate == NULL)
        return;
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->event != UINT64_MAX && mt_is_of_work(h) && (one == NULL || h->size > one->size))
            one = h;
    }
    if (one == NULL || one->size < m->d->focus.live / OF_LIVE || one->stack == m->oom->stack ||
        !in_one_function(t, own, own_line(t, one->stack)))
        return;
    for (uint32_t i = 0; i < m->n_held; i++) /* several are kept on purpose */
        if (&m->held[i] != one && m->held[i].stack == one->stack &&
            is_near(m->held[i].size, one->size))
            return;
    /* nothing of the round at hand: the request is the first of its line since then */
    if ((at = asked_before(m, m->oom->event)) == UINT64_MAX || at > one->event ||
        was_there(m, at, one->size))
        return;
    m->remade = one->size;
    m->remade_by = one->stack;
}

void mt_moment_remade(struct mt_moment *m)
{
    const struct mt_held *one = NULL;
    uint32_t n = 0;
    if (m->oom == NULL || m->oom->stack == 0 || m->result.bytes != 0 || m->graph.bytes != 0 ||
        m->kept.n != 0 || mt_phase_is(m->sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER))
        return;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (may_be_of(m, &m->held[i])) {
            one = &m->held[i];
            n++;
        }
    /* several are kept on purpose */
    if (n == 1 && one->size >= m->d->focus.live / OF_LIVE &&
        is_pass_between(m, one->event, m->oom->event))
        m->remade = one->size;
    else if (n == 0)
        find_of_round(m);
}
