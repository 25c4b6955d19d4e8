/* What the function that asks went on to in an earlier call of it, where neither a pass nor a round
 * of a loop tells: a buffer that is filled once as it is made, and now again by another way. Its
 * line had asked for as much then. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"

#include <string.h>

/* A twentieth of the live bytes: less is no matter. Chosen by hand. */
enum { ROUNDED = 511, OF_LIVE = 20 };

struct call {
    struct mt_file_kinds files;
    mt_frame_id line; /* that asks */
};

static mt_frame_id site(struct call *c, const struct mt_trace *t, mt_stack_id s)
{
    mt_frame_id line = 0;
    return s != 0 && mt_stack_site(t, &c->files, s, &line) == MT_SITE_PYTHON ? line : 0;
}

static bool is_in_function(const struct call *c, const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent)
        if (mt_frames_are_one_function(t, t->stacks.p[s].frame, c->line))
            return true;
    return false;
}

/* The line that calls the function, in the innermost call of it; 0 = there is none. */
static mt_frame_id caller(const struct call *c, const struct mt_trace *t, mt_stack_id s)
{
    bool in = false;
    for (; s != 0; s = t->stacks.p[s].parent) {
        bool here = mt_frames_are_one_function(t, t->stacks.p[s].frame, c->line);
        if (in && !here)
            return t->stacks.p[s].frame;
        in = in || here;
    }
    return 0;
}

/* The last time that the line asked for as much, come to by another way: what goes the same way
 * again is a pass or a round. UINT64_MAX = it did not. */
static uint64_t asked_before(const struct mt_moment *m, struct call *c)
{
    const struct mt_trace *t = m->w->r->t;
    const mt_frame_id by = caller(c, t, m->oom->stack);
    bool left = false;
    for (uint64_t i = m->oom->event; i-- > 0;) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action != MT_ACT_ALLOC)
            continue;
        left = left || !is_in_function(c, t, e->stack);
        if (left && e->size + ROUNDED >= m->oom->request && e->size <= m->oom->request + ROUNDED &&
            site(c, t, e->stack) == c->line && caller(c, t, e->stack) != by)
            return i;
    }
    return UINT64_MAX;
}

/* How far the live bytes rose from there on before the function was left. */
static uint64_t rise(const struct mt_moment *m, const struct call *c, uint64_t begin,
                     int64_t role[MT_ROLE_COUNT])
{
    const struct mt_device *d = m->w->r->d;
    int64_t live = 0, most = 0, now[MT_ROLE_COUNT] = {0};
    for (uint64_t i = begin; i < m->oom->event; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        unsigned r = m->w->fate[i].role;
        if (e->action == MT_ACT_ALLOC && !is_in_function(c, m->w->r->t, e->stack))
            break;
        if (e->action != MT_ACT_ALLOC && e->action != MT_ACT_FREE_COMPLETED)
            continue;
        live += e->action == MT_ACT_ALLOC ? (int64_t)e->size : -(int64_t)e->size;
        now[r] += e->action == MT_ACT_ALLOC ? (int64_t)e->size : -(int64_t)e->size;
        if (live > most) {
            most = live;
            memcpy(role, now, sizeof now);
        }
    }
    return (uint64_t)most;
}

int mt_moment_same_call(struct mt_moment *m)
{
    struct call c = {.line = 0};
    int64_t role[MT_ROLE_COUNT] = {0};
    uint64_t begin, most;
    if (m->oom->stack == 0 || m->sub != MT_PH_NONE)
        return 1;
    if (!mt_file_kinds_init(&c.files, m->w->r->t))
        return 0;
    c.line = site(&c, m->w->r->t, m->oom->stack);
    begin = c.line != 0 ? asked_before(m, &c) : UINT64_MAX;
    mt_file_kinds_done(&c.files);
    if (begin == UINT64_MAX)
        return 1;
    most = rise(m, &c, begin, role);
    if (most < m->oom->request + m->d->focus.live / OF_LIVE)
        return 1;
    m->to_come.kind = MT_TO_COME_CALL;
    m->to_come.bytes = most - m->oom->request;
    mt_to_come_share(&m->to_come, role);
    return 1;
}
