/* Gradients of parameters that no optimizer steps: a teacher or a frozen part that is run with
 * gradients all the same. They outlive whole steps, for zero_grad() does not know them, and no
 * state has their size, though the optimizer has states of the sizes of others. An optimizer may
 * need no state (SGD) and zero_grad(set_to_none=False) leaves gradients where they are: only where
 * those with states were let go after their pass do others that stay tell. */
#include "analysis/roles/impl.h"

#include <stdlib.h>

/* Bytes, chosen by hand: less is not worth a word. STATES: the most that an optimizer keeps of a
 * parameter in the parameter's own size; more blocks of a size are parts of states, as factors are.
 */
enum { MIN_IDLE = 16 << 20, STATES = 3 };

struct use {
    uint64_t size;
    uint32_t grads, idle, states;
    uint32_t gone; /* gradients that were let go after their backward pass */
};

struct uses {
    MT_VEC(struct use) v;
};

static int by_size(const void *pa, const void *pb)
{
    const struct use *a = pa, *b = pb;
    return a->size < b->size ? -1 : a->size > b->size;
}

static int add(struct uses *u, struct use use)
{
    struct use *at = MT_VEC_PUSH(&u->v);
    if (at != NULL)
        *at = use;
    return at != NULL;
}

static int add_live(struct uses *u, uint64_t size, unsigned role, bool idle)
{
    if (role != MT_ROLE_GRAD && role != MT_ROLE_OPTIM_STATE)
        return 1;
    return add(u, (struct use){size, role == MT_ROLE_GRAD, role == MT_ROLE_GRAD && idle,
                               role == MT_ROLE_OPTIM_STATE, 0});
}

/* What is added to another gradient goes before its pass is over. */
static bool outlived_its_pass(const struct mt_rwork *k, uint32_t i)
{
    uint32_t next = mt_region_at(k, i) + 1, freed = k->w->fate[i].freed;
    return k->w->fate[i].role == MT_ROLE_GRAD &&
           (mt_role_of_free(k, freed) == MT_ROLE_GRAD ||
            (next < k->regions.n && freed > k->regions.p[next].first));
}

static bool is_there(const struct mt_fate *f, int64_t focus)
{
    return f->freed == MT_NEVER || (int64_t)f->freed > focus;
}

static bool is_old_there(const struct mt_old *o, int64_t focus)
{
    return o->gone_at == UINT64_MAX || (int64_t)o->gone_at > focus;
}

/* Bytes of gradients that have outlived a step: no more can be idle. In most recordings there are
 * none, and no size is asked for. */
static uint64_t old_gradients(const struct mt_rwork *k, int64_t focus, uint64_t before)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < k->w->there.n && k->w->there.p[i] <= before; i++)
        if (k->w->fate[k->w->there.p[i]].role == MT_ROLE_GRAD)
            sum += mt_event_at(k->r->d, k->w->there.p[i])->size;
    for (uint32_t i = 0; i < k->r->old.n; i++)
        if (k->w->old_role[i] == MT_ROLE_GRAD && is_old_there(&k->r->old.p[i], focus))
            sum += k->r->old.p[i].size;
    return sum;
}

/* What is live at the focus, and gradients that were let go; `before`: who was made until that
 * event has outlived a step. */
static int collect(const struct mt_rwork *k, int64_t focus, uint64_t before, struct uses *u)
{
    int ok = 1;
    for (int64_t i = 0; ok && i <= focus; i++) {
        const struct mt_fate *f = &k->w->fate[i];
        const struct mt_event *e = mt_event_at(k->r->d, (uint64_t)i);
        if (e->action != MT_ACT_ALLOC)
            continue;
        if (is_there(f, focus))
            ok = add_live(u, e->size, f->role, (uint64_t)i <= before);
        else if (outlived_its_pass(k, (uint32_t)i))
            ok = add(u, (struct use){e->size, 0, 0, 0, 1});
    }
    for (uint32_t i = 0; ok && i < k->r->old.n; i++)
        if (is_old_there(&k->r->old.p[i], focus))
            ok = add_live(u, k->r->old.p[i].size, k->w->old_role[i], true);
    if (u->v.n > 1)
        qsort(u->v.p, u->v.n, sizeof *u->v.p, by_size);
    return ok;
}

/* Gradients without a state, where most of the state goes with others, which may not be there now
 * and of which half or more were let go at some time: Adam's states are twice their size. */
static uint64_t idle_bytes(struct mt_rwork *k, const struct uses *u)
{
    uint64_t idle = 0, state = 0, with = 0, gone = 0;
    for (uint32_t i = 0, end; i < u->v.n; i = end) {
        struct use sum = {u->v.p[i].size, 0, 0, 0, 0};
        const struct mt_size_use *use;
        for (end = i; end < u->v.n && u->v.p[end].size == sum.size; end++) {
            sum.grads += u->v.p[end].grads;
            sum.idle += u->v.p[end].idle;
            sum.states += u->v.p[end].states;
            sum.gone += u->v.p[end].gone;
        }
        use = mt_size_use(k, sum.size, false);
        if (use != NULL && use->weights > sum.grads)
            sum.grads = use->weights;
        state += sum.states * sum.size;
        with += sum.size * (sum.states < STATES * sum.grads ? sum.states : STATES * sum.grads);
        gone += sum.states != 0 ? sum.gone * sum.size : 0;
        idle += sum.states == 0 ? sum.idle * sum.size : 0;
    }
    return state != 0 && with > state / 2 && gone >= with / 4 && idle >= MIN_IDLE ? idle : 0;
}

/* Gradients that the last step has used. One kept by zero_grad(set_to_none=False) is as old, and
 * the next backward passes add to it: as soon as one of them ran it is in use again. Only what the
 * backward pass itself made goes with the gradient: buckets and flat buffers, of which gradients
 * are views, are made around it and stay. */
static uint64_t spent_bytes(const struct mt_rwork *k, int64_t focus, uint64_t step_end)
{
    uint64_t sum = 0;
    for (uint64_t i = step_end + 1; (int64_t)i <= focus; i++)
        if (mt_event_at(k->r->d, i)->action == MT_ACT_ALLOC &&
            mt_phase_is(k->r->attr[i].sub, MT_IN_BACKWARD))
            return 0;
    for (uint32_t i = 0; i < k->w->there.n && k->w->there.p[i] <= step_end; i++)
        if (k->w->fate[k->w->there.p[i]].role == MT_ROLE_GRAD &&
            k->r->attr[k->w->there.p[i]].sub == MT_PH_BACKWARD)
            sum += mt_event_at(k->r->d, k->w->there.p[i])->size;
    return sum;
}

int mt_idle_find(struct mt_rwork *k, int64_t focus)
{
    const struct mt_role_facts *f = k->out;
    struct uses u = {{NULL, 0, 0}};
    uint64_t before;
    uint32_t n = 0;
    int ok;
    while (n < f->steps.n && (int64_t)f->steps.p[n].last < focus)
        n++;
    if (n != 0 && !f->steps_are_guessed && k->r->attr != NULL)
        k->out->spent_grads = spent_bytes(k, focus, f->steps.p[n - 1].last);
    if (n < 2 || f->steps_are_guessed)
        return 1;
    before = f->steps.p[n - 2].last;
    if (old_gradients(k, focus, before) < MIN_IDLE)
        return 1;
    ok = collect(k, focus, before, &u);
    if (ok)
        k->out->idle_grads = idle_bytes(k, &u);
    MT_VEC_DONE(&u.v);
    return ok;
}
