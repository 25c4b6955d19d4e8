/* What one line of the job's own code made block by block, outside of any pass over a model, and
 * has kept: most of what is live, and nothing says what it is for. A loader or a queue that runs
 * ahead, results that are collected. Sizes alike tell it from the weights of a model; where a
 * weight, a gradient or a state has that size it may be more of them. */
#include "analysis/cause/impl.h"

/* Chosen by hand: a few blocks may be anything; half of what is live is the cause whatever it is.
 */
enum { MIN_HOARD = 16, OF_LIVE = 2, ALIKE = 8 };

static bool may_be_of(const struct mt_moment *m, const struct mt_held *h)
{
    return h->event != UINT64_MAX && h->stack != 0 && h->stack < m->w->r->t->stacks.n &&
           !h->pending && (h->role == MT_ROLE_UNKNOWN || h->role == MT_ROLE_DATA) &&
           h->attr.phase == MT_PH_UNATTRIBUTED && h->attr.sub == MT_PH_NONE &&
           (m->call_of == NULL || m->call_of[h->stack] == 0);
}

static bool is_a_models(const struct mt_moment *m, uint64_t size)
{
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].size == size &&
            (m->held[i].role == MT_ROLE_PARAM || m->held[i].role == MT_ROLE_GRAD ||
             m->held[i].role == MT_ROLE_OPTIM_STATE))
            return true;
    return false;
}

int mt_moment_hoard(struct mt_moment *m)
{
    uint32_t n_stacks = m->w->r->t->stacks.n, best = 0;
    uint64_t *sum, least = UINT64_MAX, most = 0;
    struct mt_kept out = {.rounds = 1, .first = UINT64_MAX};
    if (m->oom == NULL || m->n_held < MIN_HOARD ||
        m->role[MT_ROLE_UNKNOWN] + m->role[MT_ROLE_DATA] < m->d->focus.live / OF_LIVE)
        return 1;
    if ((sum = mt_calloc((size_t)n_stacks + 1, sizeof *sum)) == NULL)
        return 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (may_be_of(m, &m->held[i]))
            sum[m->held[i].stack] += m->held[i].size;
    for (uint32_t s = 1; s < n_stacks; s++)
        best = sum[s] > sum[best] ? s : best;
    mt_free(sum);
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->stack != best || !may_be_of(m, h))
            continue;
        out.n++;
        out.bytes += h->size;
        least = h->size < least ? h->size : least;
        most = h->size > most ? h->size : most;
        out.first = h->event < out.first ? h->event : out.first;
        out.last = h->event > out.last ? h->event : out.last;
    }
    out.stack = best;
    if (best != 0 && out.n >= MIN_HOARD && most - least <= most / ALIKE &&
        out.bytes >= m->d->focus.live / OF_LIVE && !is_a_models(m, most))
        m->hoard = out;
    return 1;
}
