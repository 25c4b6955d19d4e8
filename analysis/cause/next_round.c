/* What the rest of a loop asks for, where no earlier pass tells it: the round before came to the
 * same place with the same size, and what it went on to from there comes again. It does not begin
 * as that one did, though: what that one has left is there until its successor is made, as a name
 * keeps a tensor until the next is assigned to it. Rounds are told by their order: a request
 * belongs to the same place of a loop where the one before it has the same stack as well, so that
 * three products in one line are three places. */
#include "analysis/cause/impl.h"

#include <string.h>

/* The last request at that place of the loop before the failed one, where it has its size;
 * UINT64_MAX = there is none such since `first`. */
static uint64_t round_before(const struct mt_moment *m, uint64_t first)
{
    mt_stack_id before = 0;
    uint64_t found = UINT64_MAX;
    for (uint64_t i = m->oom->event; i-- > first;) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action != MT_ACT_ALLOC)
            continue;
        if (before == 0)
            before = e->stack;
        if (found != UINT64_MAX && e->stack == before)
            return mt_event_at(m->w->r->d, found)->size == m->oom->request ? found : UINT64_MAX;
        found = e->stack == m->oom->stack ? i : UINT64_MAX;
    }
    return UINT64_MAX;
}

/* By stack: what the round has left there, and what was there as it began, of rounds before it. */
struct left {
    uint64_t *bytes, *was;
};

static void look_at_left(const struct mt_moment *m, uint64_t first, uint64_t begin, struct left *l)
{
    const struct mt_device *d = m->w->r->d;
    for (uint64_t i = first; i < m->oom->event; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        if (e->action != MT_ACT_ALLOC)
            continue;
        if (i >= begin)
            l->bytes[e->stack] += mt_is_kept_on(m, i) ? e->size : 0;
        else if (m->w->fate[i].freed >= begin)
            l->was[e->stack] += e->size;
    }
    /* the recording shows when that goes, or that it gathers */
    for (uint32_t s = 0; s < m->w->r->t->stacks.n; s++)
        if (l->was[s] != 0)
            l->bytes[s] = 0;
}

/* Plays the round again from its request on, over what is live at the failure; returns how far the
 * live bytes rise, at least: the one before may go later than at the next event. */
static uint64_t play(const struct mt_moment *m, uint64_t begin, struct left *l,
                     int64_t role[MT_ROLE_COUNT])
{
    const struct mt_device *d = m->w->r->d;
    int64_t live = 0, most = 0, now[MT_ROLE_COUNT] = {0};
    mt_stack_id made = 0; /* the request before: its successor is there now */
    for (uint64_t i = begin; i < m->oom->event; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        unsigned r = m->w->fate[i].role;
        if (made != 0) {
            live -= (int64_t)l->bytes[made];
            l->bytes[made] = 0;
            made = 0;
        }
        if (e->action == MT_ACT_ALLOC) {
            live += (int64_t)e->size;
            now[r] += (int64_t)e->size;
            made = e->stack;
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            live -= (int64_t)e->size;
            now[r] -= (int64_t)e->size;
        }
        if (live > most) {
            most = live;
            memcpy(role, now, sizeof now);
        }
    }
    return (uint64_t)most;
}

int mt_moment_next_round(struct mt_moment *m, uint64_t first)
{
    size_t n = (size_t)m->w->r->t->stacks.n + 1;
    uint64_t begin = m->oom->stack != 0 ? round_before(m, first) : UINT64_MAX, rise = 0;
    int64_t role[MT_ROLE_COUNT] = {0};
    struct left l = {0};
    int ok;
    if (begin == UINT64_MAX)
        return 1;
    l.bytes = mt_calloc(n, sizeof *l.bytes);
    l.was = mt_calloc(n, sizeof *l.was);
    ok = l.bytes != NULL && l.was != NULL;
    if (ok) {
        look_at_left(m, first, begin, &l);
        rise = play(m, begin, &l, role);
    }
    mt_free(l.bytes);
    mt_free(l.was);
    if (rise <= m->oom->request)
        return ok;
    m->to_come.kind = MT_TO_COME_ROUND;
    m->to_come.bytes = rise - m->oom->request;
    mt_to_come_share(&m->to_come, role);
    return ok;
}
