/* What an earlier pass went on to, in the sizes of the pass at hand. Not every request of a larger
 * pass is larger by the same: some grow with its tokens, some with their square, weights not at
 * all. Each place goes by its own requests in both, as far as the pass at hand has come to it; the
 * others go by the middle of those that differ. */
#include "analysis/cause/impl.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    uint64_t size; /* in the earlier pass */
    double ratio;
};

struct sizes {
    uint64_t *before, *now; /* by stack: the largest request */
    struct pair *pair;      /* by size: of places that ask for another size now */
    uint32_t n;
    double middle; /* of their ratios; 1 where there are none */
};

static void largest(const struct mt_moment *m, uint64_t first, uint64_t last, uint64_t *of)
{
    for (uint64_t i = first; i <= last; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if ((e->action == MT_ACT_ALLOC || i == m->oom->event) && e->size > of[e->stack])
            of[e->stack] = e->size;
    }
}

static int by_size(const void *pa, const void *pb)
{
    const struct pair *a = pa, *b = pb;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->ratio < b->ratio ? -1 : a->ratio > b->ratio;
}

static int by_ratio(const void *pa, const void *pb)
{
    const struct pair *a = pa, *b = pb;
    return a->ratio < b->ratio ? -1 : a->ratio > b->ratio;
}

static int find_pairs(const struct mt_moment *m, struct sizes *s)
{
    uint32_t n_stacks = m->w->r->t->stacks.n;
    s->pair = mt_calloc((size_t)n_stacks + 1, sizeof *s->pair);
    if (s->pair == NULL)
        return 0;
    for (uint32_t k = 1; k < n_stacks; k++)
        if (s->before[k] != 0 && s->now[k] != 0 && s->before[k] != s->now[k])
            s->pair[s->n++] = (struct pair){s->before[k], (double)s->now[k] / (double)s->before[k]};
    qsort(s->pair, s->n, sizeof *s->pair, by_ratio);
    s->middle = s->n != 0 ? s->pair[(s->n - 1) / 2].ratio : 1;
    qsort(s->pair, s->n, sizeof *s->pair, by_size);
    return 1;
}

/* Of a place that this pass has not come to: as of another one that asked for the same size then,
 * such as the output that it is the gradient of. */
static double ratio_of_size(const struct sizes *s, uint64_t size)
{
    uint32_t low = 0, high = s->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (s->pair[mid].size < size)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n && s->pair[low].size == size ? s->pair[low].ratio : s->middle;
}

static bool is_of_weights(unsigned role)
{
    return role == MT_ROLE_PARAM || role == MT_ROLE_PARAM_CAST || role == MT_ROLE_GRAD ||
           role == MT_ROLE_OPTIM_STATE || role == MT_ROLE_WORKSPACE;
}

/* Of the block born at that event; none of those of before the pass changes. */
static double size_of(const struct mt_moment *m, const struct sizes *s, uint64_t first,
                      uint64_t born, uint64_t size)
{
    mt_stack_id stack;
    if (born < first || born == UINT32_MAX || is_of_weights(m->w->fate[born].role))
        return (double)size;
    stack = mt_event_at(m->w->r->d, born)->stack;
    if (stack != 0 && s->before[stack] != 0 && s->now[stack] != 0)
        return (double)size * ((double)s->now[stack] / (double)s->before[stack]);
    return (double)size * ratio_of_size(s, size);
}

static void add_up(const struct mt_moment *m, const struct sizes *s, const struct mt_rest *p,
                   uint64_t *bytes, int64_t out[MT_ROLE_COUNT])
{
    double live = 0, most = 0, role[MT_ROLE_COUNT] = {0};
    for (uint64_t i = p->at; i <= p->last; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        const struct mt_fate *f = &m->w->fate[i];
        double by = 0;
        if (e->action == MT_ACT_ALLOC && p->is_first && mt_is_kept_on(m, i))
            continue;
        if (e->action == MT_ACT_ALLOC)
            by = size_of(m, s, p->first, i, e->size);
        else if (e->action == MT_ACT_FREE_COMPLETED)
            by = -size_of(m, s, p->first, f->freed, e->size);
        live += by;
        role[f->role] += by;
        if (by > 0 && live > most) {
            most = live;
            for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
                out[r] = (int64_t)role[r];
        }
    }
    *bytes = (uint64_t)most;
}

int mt_rest_scaled(const struct mt_moment *m, const struct mt_rest *p, uint64_t *bytes,
                   int64_t role[MT_ROLE_COUNT])
{
    size_t n = (size_t)m->w->r->t->stacks.n + 1;
    struct sizes s = {.before = mt_calloc(n, sizeof *s.before), .now = mt_calloc(n, sizeof *s.now)};
    int ok = s.before != NULL && s.now != NULL;
    if (ok) {
        largest(m, p->first, p->at, s.before);
        largest(m, p->now_first, m->oom->event, s.now);
        ok = find_pairs(m, &s);
    }
    if (ok)
        add_up(m, &s, p, bytes, role);
    mt_free(s.before);
    mt_free(s.now);
    mt_free(s.pair);
    return ok;
}

void mt_to_come_share(struct mt_to_come *out, const int64_t role[MT_ROLE_COUNT])
{
    double sum = 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        sum += role[r] > 0 ? (double)role[r] : 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        out->role[r] = role[r] > 0 ? (uint64_t)((double)out->bytes * ((double)role[r] / sum)) : 0;
}
