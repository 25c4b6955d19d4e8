/* State of optimizers that were replaced: more state than all weights need, made in more than one
 * step. A schedule, a list or a trainer still refers to the optimizer of an earlier stage. */
#include "analysis/cause/impl.h"
#include "analysis/roles/roles.h"

#include <stdlib.h>

/* Adam keeps two blocks a weight, AMSGrad three. One block alone proves no optimizer's pattern. Of
 * a size that is small, such as that of step counters, nothing is told. */
enum { LEAST_EACH = 2, MOST_EACH = 4, SMALL = 512, OF_LIVE = 20 };

struct state {
    uint64_t size, event;
};

static int by_birth(const void *pa, const void *pb)
{
    const struct state *a = pa, *b = pb;
    return a->event < b->event ? -1 : a->event > b->event;
}

static int by_size(const void *pa, const void *pb)
{
    const struct state *a = pa, *b = pb;
    return a->size != b->size ? (a->size < b->size ? -1 : 1) : by_birth(pa, pb);
}

/* Fills the state whose birth is in the recording; 0 = out of memory. */
static int collect(const struct mt_moment *m, struct state **out, uint32_t *n)
{
    struct state *v = *out = mt_calloc((size_t)m->n_held + 1, sizeof *v);
    *n = 0;
    for (uint32_t i = 0; v != NULL && i < m->n_held; i++)
        if (m->held[i].role == MT_ROLE_OPTIM_STATE && m->held[i].size >= SMALL &&
            m->held[i].event != UINT64_MAX)
            v[(*n)++] = (struct state){m->held[i].size, m->held[i].event};
    return v != NULL;
}

/* How many blocks an optimizer makes for a weight, one after the other: what all runs of one size
 * are multiples of. v is in the order of births. */
static uint32_t blocks_each(const struct state *v, uint32_t n)
{
    uint32_t each = 0;
    for (uint32_t i = 0, next; i < n; i = next) {
        uint32_t run = 0, rest;
        for (next = i; next < n && v[next].size == v[i].size; next++)
            run++;
        if (next == n && each != 0) /* the step may not be over */
            break;
        for (; run != 0; run = rest) {
            rest = each % run;
            each = run;
        }
    }
    return each;
}

/* Weights of that size: by their own blocks, or by their gradients where these are more. */
static uint32_t weights_of(const struct mt_moment *m, uint64_t size)
{
    uint32_t param = 0, grad = 0;
    for (uint32_t i = 0; i < m->n_held; i++) {
        param += m->held[i].size == size && m->held[i].role == MT_ROLE_PARAM;
        grad += m->held[i].size == size && m->held[i].role == MT_ROLE_GRAD;
    }
    return param == 0 ? 0 : param > grad ? param : grad;
}

/* Where the step begins in which a new optimizer makes its state; UINT64_MAX = it does not. Of
 * sizes that have more than all weights need, what is older is of optimizers before it. */
static uint64_t begin_of_state(const struct mt_moment *m)
{
    uint32_t step = mt_step_at(m->f, m->oom->event);
    return m->sub == MT_PH_OPTIM_STATE_INIT && step < m->f->steps.n ? m->f->steps.p[step].first
                                                                    : UINT64_MAX;
}

/* Of the blocks of one size, in the order of births, how many are beyond what all weights need, or
 * older than the state that is being made. */
static uint32_t beyond_weights(const struct mt_moment *m, const struct state *v, uint32_t n,
                               uint32_t each, uint64_t began)
{
    uint32_t of = each < n && mt_step_at(m->f, v->event) != mt_step_at(m->f, v[n - 1].event)
                      ? weights_of(m, v->size)
                      : 0;
    uint32_t old = 0;
    if (of == 0 || n <= each * of)
        return 0;
    if (began == UINT64_MAX)
        return n - each * of;
    while (old < n && v[old].event < began)
        old++;
    return old;
}

/* v is in the order of sizes, and of births in each. An optimizer makes all of its state in one
 * step: of sizes that prove nothing, as those of an embedding that has grown since, what was made
 * in the steps of optimizers that were replaced is theirs. by_step: 1 = it is one. */
static uint64_t of_replaced(const struct mt_moment *m, const struct state *v, uint32_t n,
                            uint32_t each, uint8_t *by_step)
{
    uint64_t sum = 0, began = begin_of_state(m);
    for (int look = 0; look < 2; look++)
        for (uint32_t i = 0, next; i < n; i = next) {
            uint32_t old, step;
            for (next = i; next < n && v[next].size == v[i].size; next++)
                ;
            old = beyond_weights(m, v + i, next - i, each, began);
            sum += look == 0 ? old * v[i].size : 0;
            for (uint32_t k = i; k < next && (look == 0 ? k < i + old : old == 0); k++) {
                step = mt_step_at(m->f, v[k].event);
                if (look == 0 && step < m->f->steps.n)
                    by_step[step] = 1;
                else if (look == 1 && step < m->f->steps.n)
                    sum += by_step[step] * v[k].size;
            }
        }
    return sum;
}

int mt_moment_old_state(struct mt_moment *m)
{
    struct state *v;
    uint8_t *by_step = NULL;
    uint32_t n, each;
    int ok;
    uint64_t sum;
    if (m->oom == NULL || m->role[MT_ROLE_OPTIM_STATE] < m->d->focus.live / OF_LIVE)
        return 1;
    ok = collect(m, &v, &n) && (by_step = mt_calloc((size_t)m->f->steps.n + 1, 1)) != NULL;
    if (ok && n > 1)
        qsort(v, n, sizeof *v, by_birth);
    each = ok ? blocks_each(v, n) : 0;
    if (each >= LEAST_EACH && each <= MOST_EACH) {
        qsort(v, n, sizeof *v, by_size);
        sum = of_replaced(m, v, n, each, by_step);
        m->old_state = sum >= m->d->focus.live / OF_LIVE ? sum : 0;
        m->state_each = each;
    }
    mt_free(v);
    mt_free(by_step);
    return ok;
}
