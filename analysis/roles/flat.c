/* Tensors as large as many weights together that the job's own code keeps: the gradients of a task
 * as one flat tensor, a vector of all weights. Between two backward passes they look like gradients
 * that outlive theirs; but no weight is so large, and a model has one set of gradients. */
#include "analysis/roles/impl.h"

/* Chosen by hand: one tensor proves nothing, and a few weights have the size of anything. */
enum { LEAST = 2, MIN_WEIGHTS = 4, MAX_SIZES = 16 };

/* Whether three sizes or more are among weights: a sum of equal ones is the size of anything. */
static bool are_unlike(const uint64_t *weights, uint32_t n)
{
    uint64_t a = weights[0], b = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (weights[i] == a || weights[i] == b)
            continue;
        if (b != 0)
            return true;
        b = weights[i];
    }
    return false;
}

bool mt_is_sum_of_weights(uint64_t size, const uint64_t *weights, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t first = 0, end = 0; first < n; sum -= weights[first++]) {
        while (end < n && sum < size)
            sum += weights[end++];
        if (sum == size && end - first >= MIN_WEIGHTS && are_unlike(weights + first, end - first))
            return true;
    }
    return false;
}

static bool is_there(const struct mt_rwork *k, uint32_t i, int64_t focus)
{
    return (int64_t)i <= focus && (int64_t)k->w->fate[i].freed > focus;
}

/* Those of one size. */
static void judge(struct mt_rwork *k, uint64_t size, const uint32_t *events, uint32_t n,
                  int64_t focus, const uint64_t *weights, uint32_t n_weights)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < n; i++)
        there += mt_event_at(k->r->d, events[i])->size == size && is_there(k, events[i], focus);
    if (there < LEAST || !mt_is_sum_of_weights(size, weights, n_weights))
        return;
    for (uint32_t i = 0; i < n; i++) {
        struct mt_fate *f = &k->w->fate[events[i]];
        if (mt_event_at(k->r->d, events[i])->size != size || f->role == MT_ROLE_TEMP)
            continue;
        f->role = MT_ROLE_DATA;
        f->why = MT_WHY_SIZE;
        if (f->freed < mt_n_events(k))
            k->w->fate[f->freed].role = MT_ROLE_DATA;
    }
}

void mt_flat_find(struct mt_rwork *k, const uint32_t *events, uint32_t n, int64_t focus,
                  const uint64_t *weights, uint32_t n_weights)
{
    uint64_t judged[MAX_SIZES];
    uint32_t n_judged = 0, at;
    for (uint32_t i = 0; i < n && n_judged < MAX_SIZES; i++) {
        uint64_t size = mt_event_at(k->r->d, events[i])->size;
        for (at = 0; at < n_judged && judged[at] != size; at++)
            ;
        if (at < n_judged || !is_there(k, events[i], focus))
            continue;
        judged[n_judged++] = size;
        judge(k, size, events, n, focus, weights, n_weights);
    }
}
