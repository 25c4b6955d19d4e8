/* Growth inside one stretch of a phase without steps, as of an evaluation that keeps the output of
 * each batch. The layers of one pass add blocks one by one, too. Batches are told from layers by
 * what runs in between: between two batches some other stack allocates more than once. */
#include "analysis/cause/impl.h"

#include <stdlib.h>

/* MIN_KEPT was chosen by hand. Of 387 reports 4 changes one, 16 none. */
enum { MIN_KEPT = 8, MAX_STACKS = 8 };

/* Whether the passes of the phase need to keep nothing. Training keeps activations for its
 * backward, an engine fills its cache, set-up loads weights. */
static bool keeps_nothing(const struct mt_moment *m)
{
    if (m->phase != MT_PH_UNATTRIBUTED)
        return m->phase == MT_PH_EVAL || mt_phase_is(m->phase, MT_FORWARD_ONLY);
    /* a script without phases: only where nothing trains and there is no engine */
    for (uint32_t i = 0; i < m->f->micros.n; i++)
        if (m->f->micros.p[i].has_backward)
            return false;
    return m->f->steps.n == 0 && m->engine == 0 && m->sub != MT_PH_BACKWARD &&
           m->sub != MT_PH_OPTIMIZER;
}

static bool is_of_stretch(const struct mt_moment *m, const struct mt_held *h)
{
    return h->event != UINT64_MAX && h->event >= m->began && h->stack != 0 &&
           h->stack < m->w->r->t->stacks.n && !h->pending && mt_is_transient(h->role);
}

static int by_event(const void *pa, const void *pb)
{
    const struct mt_held *a = *(const struct mt_held *const *)pa,
                         *b = *(const struct mt_held *const *)pb;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* Whether some other stack allocated more than once between each two of these births. seen: by
 * stack, the last round in which it allocated. */
static bool has_rounds_between(const struct mt_moment *m, const struct mt_held *const *born,
                               uint32_t n, uint32_t *seen, uint32_t *round)
{
    const struct mt_replay *r = m->w->r;
    for (uint32_t k = 0; k + 1 < n; k++) {
        bool again = false;
        ++*round;
        for (uint64_t i = born[k]->event + 1; !again && i < born[k + 1]->event; i++) {
            const struct mt_event *e = mt_event_at(r->d, i);
            if (e->action != MT_ACT_ALLOC || e->stack == 0 || e->stack >= r->t->stacks.n)
                continue;
            again = seen[e->stack] == *round;
            seen[e->stack] = *round;
        }
        if (!again)
            return false;
    }
    return true;
}

/* Whether the live blocks of one stack look as batches leave them: MIN_KEPT or more, of sizes
 * within an eighth, a tenth of the live bytes together, with something else in between. */
static bool is_kept_in_rounds(const struct mt_moment *m, mt_stack_id stack,
                              const struct mt_held **born, uint32_t *seen, uint32_t *round,
                              struct mt_kept *out)
{
    uint64_t least = UINT64_MAX, most = 0;
    uint32_t n = 0;
    out->bytes = 0;
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (!is_of_stretch(m, h) || h->stack != stack)
            continue;
        born[n++] = h;
        least = h->size < least ? h->size : least;
        most = h->size > most ? h->size : most;
        out->bytes += h->size;
    }
    out->stack = stack;
    out->n = n;
    out->each = least;
    if (n < MIN_KEPT || most - least > most / 8 || out->bytes < m->d->focus.live / 10)
        return false;
    qsort(born, n, sizeof *born, by_event);
    out->first = born[0]->event;
    out->last = born[n - 1]->event;
    return has_rounds_between(m, born, n, seen, round);
}

int mt_moment_kept(struct mt_moment *m)
{
    size_t n_stacks = (size_t)m->w->r->t->stacks.n + 1;
    uint64_t *sum;
    uint32_t *seen, round = 0;
    const struct mt_held **born;
    if (m->oom == NULL || m->n_held < MIN_KEPT || m->w->fate == NULL || !keeps_nothing(m))
        return 1;
    sum = mt_calloc(n_stacks, sizeof *sum);
    seen = mt_calloc(n_stacks, sizeof *seen);
    born = mt_calloc(m->n_held, sizeof *born);
    if (sum != NULL && seen != NULL && born != NULL) {
        for (uint32_t i = 0; i < m->n_held; i++)
            if (is_of_stretch(m, &m->held[i]))
                sum[m->held[i].stack] += m->held[i].size;
        for (unsigned turn = 0; turn < MAX_STACKS && m->kept.n == 0; turn++) {
            struct mt_kept kept;
            uint32_t best = 0;
            for (uint32_t i = 1; i + 1 < n_stacks; i++)
                best = sum[i] > sum[best] ? i : best;
            if (sum[best] == 0)
                break;
            sum[best] = 0;
            if (is_kept_in_rounds(m, best, born, seen, &round, &kept))
                m->kept = kept;
        }
    }
    {
        int ok = sum != NULL && seen != NULL && born != NULL;
        mt_free(sum);
        mt_free(seen);
        mt_free(born);
        return ok;
    }
}
