/* Copies of the weights that the job's own code makes: the best ones so far, an average of its own;
 * in twice as many bytes, of a model in 16 bits, what an optimizer of its own keeps of each weight.
 * No frame says what they are; one line makes tensors of the model's sizes, one after the other.
 * What goes again before anything else runs is a temporary; what a line makes that has older copies
 * from before the recording is data of the job's own, and no parameters. */
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

/* A copy in the bytes of the weights: `n` blocks, the first and the last of them by their events.
 */
struct copy {
    mt_stack_id stack;
    uint32_t first, last;
};
struct copies {
    MT_VEC(struct copy) v;
    mt_stack_id at_once;   /* whose copies go at once */
    MT_VEC(uint32_t) flat; /* births of what is larger than any weight and no more than all */
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

/* In the order of births. At the focus, which may be a failure: the exception lets go of the model
 * of the function that it leaves. */
static int weights_of(const struct mt_rwork *k, int64_t focus, struct sizes *s)
{
    int ok = 1;
    for (uint32_t i = 0; ok && i < k->w->there.n; i++)
        if (k->w->fate[k->w->there.p[i]].role == MT_ROLE_PARAM)
            ok = add(s, mt_event_at(k->r->d, k->w->there.p[i])->size);
    for (uint32_t i = (uint32_t)(focus + 1), n = mt_n_events(k); ok && i < n; i++)
        if (k->w->fate[i].role == MT_ROLE_PARAM && k->w->fate[i].freed == MT_NEVER &&
            mt_event_at(k->r->d, i)->action == MT_ACT_ALLOC)
            ok = add(s, mt_event_at(k->r->d, i)->size);
    for (uint32_t i = 0; ok && i < k->r->old.n; i++)
        if (k->w->old_role[i] == MT_ROLE_PARAM && k->r->old.p[i].gone_at == UINT64_MAX)
            ok = add(s, k->r->old.p[i].size);
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

/* Whether all of it goes in the very region in which it was made. In the last one that may be the
 * end of the job, which lets go of everything: what earlier copies of the line did tells. */
static bool goes_at_once(const struct mt_rwork *k, const struct run *r, const struct copies *all)
{
    uint32_t region = mt_region_at(k, r->events.p[0]);
    if (region + 1 >= k->regions.n)
        return all->at_once == r->stack;
    for (uint32_t i = 0; i < r->events.n; i++) {
        uint32_t freed = k->w->fate[r->events.p[i]].freed;
        if (freed == MT_NEVER || mt_region_at(k, freed) != region)
            return false;
    }
    return true;
}

/* What the tensors of a run are, of which each has as many bytes as a weight, or twice as many;
 * MT_ROLE_UNKNOWN where they have not. */
static enum mt_role role_of(const struct mt_rwork *k, const struct run *r,
                            const struct sizes *weights, const struct sizes *doubled,
                            const struct copies *all)
{
    if (!all_stay(k, r))
        return MT_ROLE_UNKNOWN;
    if (r->sizes.bytes >= weights->bytes / MIN_SHARE && !is_state(k->r->t, r->stack) &&
        is_among(&r->sizes, weights))
        return goes_at_once(k, r, all) ? MT_ROLE_TEMP : MT_ROLE_PARAM;
    if (r->sizes.bytes >= doubled->bytes / MIN_SHARE && is_among(&r->sizes, doubled))
        return is_step(k->r->t, r->stack) ? MT_ROLE_OPTIM_TEMP : MT_ROLE_OPTIM_STATE;
    return MT_ROLE_UNKNOWN;
}

static void set_role(struct mt_rwork *k, uint32_t i, enum mt_role role)
{
    struct mt_fate *f = &k->w->fate[i];
    f->role = (uint8_t)role;
    f->why = MT_WHY_SIZE;
    if (f->freed < mt_n_events(k))
        k->w->fate[f->freed].role = (uint8_t)role;
}

static int close_run(struct mt_rwork *k, struct run *r, const struct sizes *weights,
                     const struct sizes *doubled, struct copies *all)
{
    enum mt_role role = MT_ROLE_UNKNOWN;
    if (r->events.n >= MIN_TENSORS) { /* most runs are one block */
        sort(&r->sizes);
        role = role_of(k, r, weights, doubled, all);
    }
    for (uint32_t i = 0; role != MT_ROLE_UNKNOWN && i < r->events.n; i++)
        set_role(k, r->events.p[i], role);
    if (role == MT_ROLE_TEMP)
        all->at_once = r->stack;
    if (role == MT_ROLE_PARAM) {
        struct copy *c = MT_VEC_PUSH(&all->v);
        if (c == NULL)
            return 0;
        *c = (struct copy){r->stack, r->events.p[0], r->events.p[r->events.n - 1]};
    }
    r->events.n = r->sizes.v.n = 0;
    r->sizes.bytes = 0;
    return 1;
}

/* Whether the copy is there at the focus, by the first block of it. */
static bool is_there(const struct mt_rwork *k, const struct copy *c, int64_t focus)
{
    return (int64_t)c->first <= focus && (int64_t)k->w->fate[c->first].freed > focus;
}

/* Copies by one line of which some are older than the recording, so that nobody saw them made: no
 * parameters. Where all were seen, the one or the last is taken for a model. */
static void find_several(struct mt_rwork *k, const struct copies *all, int64_t focus)
{
    for (uint32_t i = 0; i < all->v.n; i++) {
        const struct copy *c = &all->v.p[i];
        uint64_t older = 0;
        for (uint32_t n = 0; n < k->r->old.n && is_there(k, c, focus); n++)
            if (k->r->old.p[n].stack == c->stack && k->w->old_role[n] == MT_ROLE_UNKNOWN) {
                older += k->r->old.p[n].size;
                k->w->old_role[n] = MT_ROLE_DATA;
                k->w->old_why[n] = MT_WHY_SIZE;
            }
        for (uint32_t n = 0; older == 0 && n < i; n++) /* told by an earlier copy of that line */
            if (all->v.p[n].stack == c->stack && k->w->fate[all->v.p[n].first].role == MT_ROLE_DATA)
                older = 1;
        for (uint32_t n = c->first; older != 0 && n <= c->last; n++)
            if (mt_event_at(k->r->d, n)->action == MT_ACT_ALLOC &&
                mt_event_at(k->r->d, n)->stack == c->stack)
                set_role(k, n, MT_ROLE_DATA);
    }
}

/* Keeps a birth that may be that of a flat copy. */
static int note_flat(const struct mt_rwork *k, uint32_t i, const struct sizes *weights,
                     struct copies *all)
{
    uint64_t size = mt_event_at(k->r->d, i)->size;
    uint32_t *at;
    if (size > weights->bytes || size < weights->bytes / MIN_SHARE ||
        size <= weights->v.p[weights->v.n - 1] || k->w->fate[i].role == MT_ROLE_TEMP)
        return 1;
    if ((at = MT_VEC_PUSH(&all->flat)) == NULL)
        return 0;
    *at = i;
    return 1;
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
                        const struct sizes *doubled, struct copies *all)
{
    for (uint32_t i = 0, n = mt_n_events(k); i < n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        uint32_t *at;
        if (e->action != MT_ACT_ALLOC)
            continue;
        /* a second copy by the same line begins where the first has all there is */
        if (e->stack != r->stack || r->sizes.bytes + e->size > doubled->bytes ||
            is_whole(r, weights)) {
            if (!close_run(k, r, weights, doubled, all))
                return 0;
        }
        r->stack = e->stack;
        if (e->stack == 0 || !is_open(k, i)) {
            if (!close_run(k, r, weights, doubled, all))
                return 0;
            continue;
        }
        if ((at = MT_VEC_PUSH(&r->events)) == NULL || !add(&r->sizes, e->size) ||
            !note_flat(k, i, weights, all))
            return 0;
        *at = i;
    }
    return close_run(k, r, weights, doubled, all);
}

int mt_copies_find(struct mt_rwork *k, int64_t focus)
{
    struct sizes weights = {.bytes = 0}, doubled = {.bytes = 0}, birth = {.bytes = 0};
    struct run r = {.stack = 0};
    struct copies all = {.at_once = 0};
    int ok = weights_of(k, focus, &weights);
    for (uint32_t i = 0; ok && i < weights.v.n; i++)
        ok = add(&birth, weights.v.p[i]);
    sort(&weights);
    for (uint32_t i = 0; ok && i < weights.v.n; i++)
        ok = add(&doubled, 2 * weights.v.p[i]);
    if (ok && weights.v.n >= MIN_TENSORS)
        ok = collect_runs(k, &r, &weights, &doubled, &all);
    if (ok)
        find_several(k, &all, focus);
    if (ok)
        mt_flat_find(k, all.flat.p, all.flat.n, focus, birth.v.p, birth.v.n);
    MT_VEC_DONE(&all.flat);
    MT_VEC_DONE(&birth.v);
    MT_VEC_DONE(&all.v);
    MT_VEC_DONE(&weights.v);
    MT_VEC_DONE(&doubled.v);
    MT_VEC_DONE(&r.events);
    MT_VEC_DONE(&r.sizes.v);
    return ok;
}
