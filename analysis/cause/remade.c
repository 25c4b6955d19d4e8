/* A request that makes anew what the same line made before the last passes, while that is still
 * there: a name that is assigned again holds the old value until the new one exists. Where a pass
 * has shown that it goes then, result.c knows it for certain; here it is the first time. */
#include "analysis/cause/impl.h"
#include "analysis/roles/roles.h"

/* A tenth of what is live, chosen by hand: a state that goes from one pass to the next is small. */
enum { OF_LIVE = 10, ROUNDED = 511 };

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
}
