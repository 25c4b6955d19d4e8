/* What the job's own code keeps of each of its rounds: copies of the weights for each task, tables
 * for each stage. A line outside of any call of the model, at which all that the last round made is
 * still there, beside three times as much of the same from before, or more. Where memory then runs
 * out in pieces, they are room for some rounds more at best. Rounds have backward passes between
 * them; what a model's set-up makes has none before it, and weights of a stage of its own are not
 * four times as large as those of the last one. Whole sets of gradients of several passes count,
 * too: how many rounds are left nothing shows, so no promise goes beyond the request. */
#include "analysis/cause/impl.h"

/* Chosen by hand: two or three of a kind have many reasons; a twentieth of what is live is no cause
 * of anything. */
enum { MIN_ROUNDS = 4, OF_LIVE = 20, ALIKE = 8 };

/* A gradient is the backward pass's own: where a sum is kept for each weight, later passes add no
 * block; whole sets of several passes are somebody's list. Models that are trained one after the
 * other leave a set each: no more than their weights, or twice that in 32 bits of 16. */
static bool are_many_sets(const struct mt_moment *m)
{
    return m->role[MT_ROLE_GRAD] / 2 > m->role[MT_ROLE_PARAM] + m->role[MT_ROLE_BEFORE];
}

static bool may_be_kept(const struct mt_moment *m, const struct mt_held *h)
{
    if (h->stack == 0 || h->stack >= m->w->r->t->stacks.n || h->pending)
        return false;
    if (h->role == MT_ROLE_GRAD)
        return mt_phase_is(h->attr.sub, MT_IN_BACKWARD) && are_many_sets(m);
    return m->call_of[h->stack] == 0 &&
           !mt_phase_is(h->attr.sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER) &&
           (h->role == MT_ROLE_UNKNOWN || h->role == MT_ROLE_DATA || h->role == MT_ROLE_PARAM ||
            h->role == MT_ROLE_CHECKPOINT);
}

/* By stack: all that is there, what its last round made, and which that was; whether it is
 * gradients. */
struct round {
    uint64_t all, last;
    uint32_t number;
    bool grads;
};

/* By event, the number of backward passes that had begun. */
static uint32_t *number_rounds(const struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    uint32_t *of = mt_calloc((size_t)r->d->events.n + 1, sizeof *of), n = 0;
    bool backward = false;
    for (uint64_t i = 0; of != NULL && i < r->d->events.n; i++) {
        if (mt_event_at(r->d, i)->action == MT_ACT_ALLOC) {
            bool now = mt_phase_is(r->attr[i].sub, MT_IN_BACKWARD);
            n += now && !backward;
            backward = now;
        }
        of[i] = n;
    }
    return of;
}

/* open: the number of a backward pass that memory ran out in; it has made a part of its own. */
static void add(struct round *r, const struct mt_held *h, const uint32_t *number, uint32_t open)
{
    if (h->event != UINT64_MAX && number[h->event] == open)
        return;
    r->all += h->size;
    r->grads = r->grads || h->role == MT_ROLE_GRAD;
    if (h->event == UINT64_MAX || number[h->event] == 0)
        return;
    if (number[h->event] > r->number) {
        r->number = number[h->event];
        r->last = 0;
    }
    r->last += number[h->event] == r->number ? h->size : 0;
}

/* As many times the last round, within an eighth of it. */
static bool is_many(const struct round *r)
{
    uint64_t over = r->last != 0 ? r->all % r->last : 0;
    return r->last != 0 && r->all / r->last >= MIN_ROUNDS &&
           (over <= r->last / ALIKE || r->last - over <= r->last / ALIKE);
}

int mt_moment_rounds(struct mt_moment *m)
{
    uint32_t n_stacks = m->w->r->t->stacks.n, *number, open, best = 0;
    struct round *of;
    if (m->oom == NULL || m->call_of == NULL || m->w->r->attr == NULL ||
        m->role[MT_ROLE_UNKNOWN] + m->role[MT_ROLE_DATA] + m->role[MT_ROLE_PARAM] +
                m->role[MT_ROLE_GRAD] <
            m->d->focus.live / OF_LIVE)
        return 1;
    number = number_rounds(m);
    open =
        number != NULL && mt_phase_is(m->sub, MT_IN_BACKWARD) ? number[m->oom->event] : UINT32_MAX;
    of = mt_calloc((size_t)n_stacks + 1, sizeof *of);
    for (uint32_t i = 0; number != NULL && of != NULL && i < m->n_held; i++)
        if (may_be_kept(m, &m->held[i]))
            add(&of[m->held[i].stack], &m->held[i], number, open);
    for (uint32_t s = 1; of != NULL && s < n_stacks; s++)
        if (is_many(&of[s])) {
            m->rounds.bytes += of[s].all;
            m->rounds.each += of[s].last;
            m->rounds.grads += of[s].grads ? of[s].all - of[s].last : 0;
            m->rounds.n = (uint32_t)((of[s].all + of[s].last / 2) / of[s].last) > m->rounds.n
                              ? (uint32_t)((of[s].all + of[s].last / 2) / of[s].last)
                              : m->rounds.n;
            best = of[s].all > of[best].all ? s : best;
        }
    m->rounds.stack = best;
    if (m->rounds.bytes < m->d->focus.live / OF_LIVE)
        m->rounds = (struct mt_rounds){.stack = 0};
    if (m->rounds.bytes != 0) /* how many rounds are left, nothing shows */
        m->to_come.open = true;
    mt_free(number);
    best = number != NULL && of != NULL;
    mt_free(of);
    return (int)best;
}
