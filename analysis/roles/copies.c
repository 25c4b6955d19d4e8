/* Copies of the weights that the job's own code makes: the best ones so far, an average of its own;
 * in twice as many bytes, of a model in 16 bits, what an optimizer of its own keeps of each weight.
 * No frame says what they are; one line makes tensors of the model's sizes, one after the other. */
#include "analysis/roles/impl.h"

#include <stdlib.h>
#include <string.h>

/* Tensors, chosen by hand: fewer are no model. A copy may leave out what is not trained. */
enum { MIN_TENSORS = 8, MIN_SHARE = 2 };

struct sizes {
    MT_VEC(uint64_t) v;
    uint64_t bytes;
};

/* Allocations of one stack with none of another between them. */
struct run {
    MT_VEC(uint32_t) events;
    struct sizes sizes;
    mt_stack_id stack;
};

static int by_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

static int add(struct sizes *s, uint64_t size)
{
    uint64_t *at = MT_VEC_PUSH(&s->v);
    if (at == NULL)
        return 0;
    *at = size;
    s->bytes += size;
    return 1;
}

static void sort(struct sizes *s)
{
    if (s->v.n > 1)
        qsort(s->v.p, s->v.n, sizeof *s->v.p, by_size);
}

/* At the focus, which may be a failure: the exception lets go of the model of the function that it
 * leaves. */
static int weights_of(const struct mt_rwork *k, int64_t focus, struct sizes *s)
{
    int ok = 1;
    for (uint32_t i = 0, n = mt_n_events(k); ok && i < n; i++) {
        const struct mt_fate *f = &k->w->fate[i];
        if (f->role == MT_ROLE_PARAM &&
            (f->freed == MT_NEVER || ((int64_t)i <= focus && (int64_t)f->freed > focus)) &&
            mt_event_at(k->r->d, i)->action == MT_ACT_ALLOC)
            ok = add(s, mt_event_at(k->r->d, i)->size);
    }
    for (uint32_t i = 0; ok && i < k->r->old.n; i++)
        if (k->w->old_role[i] == MT_ROLE_PARAM && k->r->old.p[i].gone_at == UINT64_MAX)
            ok = add(s, k->r->old.p[i].size);
    sort(s);
    return ok;
}

/* Whether each of `part` has one of its own in `all`; both are sorted. */
static bool is_among(const struct sizes *part, const struct sizes *all)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < part->v.n; i++, at++) {
        while (at < all->v.n && all->v.p[at] < part->v.p[i])
            at++;
        if (at == all->v.n || all->v.p[at] != part->v.p[i])
            return false;
    }
    return true;
}

/* A block that only its neighbours or its lifetime give a role, and that nothing certain was done
 * with when it was made. */
static bool is_open(const struct mt_rwork *k, uint32_t i)
{
    const struct mt_fate *f = &k->w->fate[i];
    return (f->role == MT_ROLE_ACTIVATION || f->role == MT_ROLE_GRAD || f->role == MT_ROLE_TEMP ||
            f->role == MT_ROLE_UNKNOWN) &&
           (f->why == MT_WHY_LIFE || f->why == MT_WHY_SIZE || f->why == MT_WHY_PHASE ||
            f->why == MT_WHY_NONE) &&
           mt_attr_conf(k->r->attr[i]) <= MT_CONF_CARRIED;
}

static bool all_stay(const struct mt_rwork *k, const struct run *r)
{
    uint32_t last = r->events.n != 0 ? r->events.p[r->events.n - 1] : 0;
    for (uint32_t i = 0; i < r->events.n; i++)
        if (k->w->fate[r->events.p[i]].freed <= last)
            return false;
    return true;
}

/* An optimizer of the job's own makes its state alike: zeros, or in code that says what it is. */
static bool is_state(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
        const char *name = mt_str(t, f->name), *file = mt_str(t, f->file);
        if (strstr(name, "zeros") != NULL || strstr(name, "optim") != NULL ||
            strstr(file, "optim") != NULL)
            return true;
    }
    return false;
}

/* A step of the job's own: what it makes of each gradient goes with it. */
static bool is_step(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent)
        if (strcmp(mt_str(t, t->frames.p[t->stacks.p[s].frame].name), "step") == 0)
            return true;
    return false;
}

/* What the tensors of a run are, of which each has as many bytes as a weight, or twice as many;
 * MT_ROLE_UNKNOWN where they have not. */
static enum mt_role role_of(const struct mt_rwork *k, const struct run *r,
                            const struct sizes *weights, const struct sizes *doubled)
{
    if (r->events.n < MIN_TENSORS || !all_stay(k, r))
        return MT_ROLE_UNKNOWN;
    if (r->sizes.bytes >= weights->bytes / MIN_SHARE && !is_state(k->r->t, r->stack) &&
        is_among(&r->sizes, weights))
        return MT_ROLE_PARAM;
    if (r->sizes.bytes >= doubled->bytes / MIN_SHARE && is_among(&r->sizes, doubled))
        return is_step(k->r->t, r->stack) ? MT_ROLE_OPTIM_TEMP : MT_ROLE_OPTIM_STATE;
    return MT_ROLE_UNKNOWN;
}

static void close_run(struct mt_rwork *k, struct run *r, const struct sizes *weights,
                      const struct sizes *doubled)
{
    sort(&r->sizes);
    enum mt_role role = role_of(k, r, weights, doubled);
    for (uint32_t i = 0; role != MT_ROLE_UNKNOWN && i < r->events.n; i++) {
        struct mt_fate *f = &k->w->fate[r->events.p[i]];
        f->role = (uint8_t)role;
        f->why = MT_WHY_SIZE;
        if (f->freed < mt_n_events(k))
            k->w->fate[f->freed].role = (uint8_t)role;
    }
    r->events.n = r->sizes.v.n = 0;
    r->sizes.bytes = 0;
}

/* Whether a run so far is a copy in the same bytes: the next one of the same line begins after it.
 */
static bool is_whole(struct run *r, const struct sizes *weights)
{
    if (r->sizes.bytes != weights->bytes)
        return false;
    sort(&r->sizes);
    return is_among(&r->sizes, weights);
}

static int collect_runs(struct mt_rwork *k, struct run *r, const struct sizes *weights,
                        const struct sizes *doubled)
{
    for (uint32_t i = 0, n = mt_n_events(k); i < n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        uint32_t *at;
        if (e->action != MT_ACT_ALLOC)
            continue;
        /* a second copy by the same line begins where the first has all there is */
        if (e->stack != r->stack || r->sizes.bytes + e->size > doubled->bytes ||
            is_whole(r, weights))
            close_run(k, r, weights, doubled);
        r->stack = e->stack;
        if (e->stack == 0 || !is_open(k, i)) {
            close_run(k, r, weights, doubled);
            continue;
        }
        if ((at = MT_VEC_PUSH(&r->events)) == NULL || !add(&r->sizes, e->size))
            return 0;
        *at = i;
    }
    close_run(k, r, weights, doubled);
    return 1;
}

int mt_copies_find(struct mt_rwork *k, int64_t focus)
{
    struct sizes weights = {.bytes = 0}, doubled = {.bytes = 0};
    struct run r = {.stack = 0};
    int ok = weights_of(k, focus, &weights);
    for (uint32_t i = 0; ok && i < weights.v.n; i++)
        ok = add(&doubled, 2 * weights.v.p[i]);
    if (ok && weights.v.n >= MIN_TENSORS)
        ok = collect_runs(k, &r, &weights, &doubled);
    MT_VEC_DONE(&weights.v);
    MT_VEC_DONE(&doubled.v);
    MT_VEC_DONE(&r.events);
    MT_VEC_DONE(&r.sizes.v);
    return ok;
}
