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

/* v is in the order of sizes, and of births in each. */
static uint64_t beyond_weights(const struct mt_moment *m, const struct state *v, uint32_t n,
                               uint32_t each)
{
    uint64_t sum = 0;
    for (uint32_t i = 0, next; i < n; i = next) {
        uint32_t of, all;
        for (next = i; next < n && v[next].size == v[i].size; next++)
            ;
        all = next - i;
        of = each < all && mt_step_at(m->f, v[i].event) != mt_step_at(m->f, v[next - 1].event)
                 ? weights_of(m, v[i].size)
                 : 0;
        if (of != 0 && all > each * of)
            sum += (all - each * of) * v[i].size;
    }
    return sum;
}

int mt_moment_old_state(struct mt_moment *m)
{
    struct state *v;
    uint32_t n, each;
    uint64_t sum;
    if (m->oom == NULL || m->role[MT_ROLE_OPTIM_STATE] < m->d->focus.live / OF_LIVE)
        return 1;
    if (!collect(m, &v, &n))
        return 0;
    if (n > 1)
        qsort(v, n, sizeof *v, by_birth);
    each = blocks_each(v, n);
    if (each >= LEAST_EACH && each <= MOST_EACH) {
        qsort(v, n, sizeof *v, by_size);
        sum = beyond_weights(m, v, n, each);
        m->old_state = sum >= m->d->focus.live / OF_LIVE ? sum : 0;
        m->state_each = each;
    }
    mt_free(v);
    return 1;
}
