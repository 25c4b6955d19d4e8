/* A checkpoint that was read onto the card and is there still. Tensor by tensor nothing tells what
 * it became: load_state_dict() copies the weights into those of the model, so that what was read is
 * of no more use, while an optimizer takes its states over as they are, and a model may be what was
 * read. Together they do: a size that the model has is read once for the weights, and once more for
 * each state of an optimizer that steps and has made none. Where no more was read than an optimizer
 * may keep, it may be all states, of a file of their own: unless their counts of steps were read
 * beside them, nothing tells, and nothing is said. */
#include "analysis/roles/impl.h"

#include <stdlib.h>

/* Adam's two moments: an optimizer with more states than that, or one that is read beside an
 * average of the weights, is not told from it. COUNT: bytes of how many steps a parameter has
 * taken. */
enum { STATES = 2, COUNT = 8 };

/* What is known of an optimizer at the focus: it has made states of its own, or nothing was ever
 * trained; it has not stepped yet; it steps, and no state is seen. */
enum steps { OWN_STATE, NO_STEP, STEPS };

struct stock {
    uint64_t size;
    uint32_t loaded; /* read, and there at the focus */
    uint32_t have;   /* parameters that were not read */
    uint32_t need;   /* parameters in all */
    uint32_t state;  /* of those read so many are states */
    uint32_t open;   /* and so many may be */
    uint32_t given;
};

struct stocks {
    MT_VEC(struct stock) v;
};

static int by_size(const void *pa, const void *pb)
{
    const struct stock *a = pa, *b = pb;
    return a->size < b->size ? -1 : a->size > b->size;
}

static bool is_live(const struct mt_rwork *k, uint32_t i, int64_t focus)
{
    const struct mt_fate *f = &k->w->fate[i];
    return (int64_t)i <= focus && (f->freed == MT_NEVER || (int64_t)f->freed > focus) &&
           mt_event_at(k->r->d, i)->action == MT_ACT_ALLOC;
}

/* Of a block that is there: torch.load made it, and no other rule has a role for it. */
static bool is_loaded(const struct mt_rwork *k, uint32_t i)
{
    uint16_t stack;
    if (k->w->fate[i].role != MT_ROLE_UNKNOWN)
        return false;
    stack = k->w->stack_role[mt_event_at(k->r->d, i)->stack];
    return stack != MT_NO_STACK_ROLE && (stack & 0xffu) == MT_ROLE_CHECKPOINT;
}

static int add(struct stocks *s, uint64_t size, bool loaded)
{
    struct stock *at = MT_VEC_PUSH(&s->v);
    if (at == NULL)
        return 0;
    *at = (struct stock){.size = size, .loaded = loaded, .have = !loaded};
    return 1;
}

static void join(struct stocks *s)
{
    uint32_t n = 0;
    if (s->v.n > 1)
        qsort(s->v.p, s->v.n, sizeof *s->v.p, by_size);
    for (uint32_t i = 0; i < s->v.n; i++) {
        if (n != 0 && s->v.p[n - 1].size == s->v.p[i].size) {
            s->v.p[n - 1].loaded += s->v.p[i].loaded;
            s->v.p[n - 1].have += s->v.p[i].have;
        } else {
            s->v.p[n++] = s->v.p[i];
        }
    }
    s->v.n = n;
}

/* What was read, and the parameters beside it; *any: something was read. */
static int collect(const struct mt_rwork *k, struct stocks *s, bool *any)
{
    int ok = 1;
    *any = false;
    for (uint32_t i = 0; ok && i < k->w->there.n; i++)
        if (is_loaded(k, k->w->there.p[i])) {
            *any = true;
            ok = add(s, mt_event_at(k->r->d, k->w->there.p[i])->size, true);
        }
    for (uint32_t i = 0; ok && *any && i < k->w->there.n; i++)
        if (k->w->fate[k->w->there.p[i]].role == MT_ROLE_PARAM)
            ok = add(s, mt_event_at(k->r->d, k->w->there.p[i])->size, false);
    for (uint32_t i = 0; ok && *any && i < k->r->old.n; i++)
        if (k->w->old_role[i] == MT_ROLE_PARAM && k->r->old.p[i].gone_at == UINT64_MAX)
            ok = add(s, k->r->old.p[i].size, false);
    join(s);
    return ok;
}

static bool has_group(const struct mt_rwork *k, unsigned group, int64_t focus)
{
    for (uint32_t i = 0; i < k->regions.n && (int64_t)k->regions.p[i].first <= focus; i++)
        if (k->regions.p[i].group == group)
            return true;
    return false;
}

/* Whether no training is seen, and its first pass is not what failed: passes let go of what they
 * made, with no backward pass. */
static bool predicts(const struct mt_rwork *k, int64_t focus)
{
    uint64_t made = 0, kept = 0;
    for (uint32_t i = 0; i < k->regions.n; i++)
        if (mt_phase_is(k->regions.p[i].phase, MT_TRAINS) || k->regions.p[i].group == MT_G_BACKWARD)
            return false;
    for (uint32_t i = 0; (int64_t)i <= focus; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        if (e->action != MT_ACT_ALLOC || mt_group_of(k->r->attr[i].sub, MT_G_OTHER) != MT_G_FORWARD)
            continue;
        made += e->size;
        kept += is_live(k, i, focus) ? e->size : 0;
    }
    return k->r->out->ooms.n == 0 || made / 4 > kept;
}

static enum steps find_steps(const struct mt_rwork *k, int64_t focus)
{
    bool state = false;
    for (uint32_t i = 0; !state && i < k->r->old.n; i++)
        state = k->w->old_role[i] == MT_ROLE_OPTIM_STATE;
    for (uint32_t i = 0, n = mt_n_events(k); !state && i < n; i++)
        state = k->w->fate[i].role == MT_ROLE_OPTIM_STATE;
    if (state)
        return OWN_STATE;
    if (has_group(k, MT_G_OPTIMIZER, INT64_MAX))
        return STEPS;
    return predicts(k, focus) ? OWN_STATE : NO_STEP;
}

/* Of the copies of a size that were read, in parameters of that size. */
static void split(struct stock *p, enum steps steps, bool counted)
{
    uint32_t copies = p->need != 0 ? p->loaded / p->need : 0;
    uint32_t states = (copies < STATES ? copies : STATES) * p->need;
    if (p->need == 0 && p->size <= COUNT)
        p->state = p->loaded;
    else if (steps == STEPS && (counted || copies > STATES))
        p->state = states;
    else if (steps == STEPS || copies >= STATES)
        p->open = states; /* before a step one copy is the weights': Adam has two */
}

static void share_out(struct mt_rwork *k, int64_t focus, struct stocks *s)
{
    enum steps steps = find_steps(k, focus);
    uint64_t have = 0, trained = 0, counts = 0;
    for (uint32_t i = 0; i < s->v.n; i++) {
        const struct mt_size_use *u = mt_size_use(k, s->v.p[i].size, false);
        struct stock *p = &s->v.p[i];
        have += p->have;
        trained += p->loaded != 0 && u != NULL ? u->weights : 0;
        p->need = u != NULL && u->weights > p->have ? u->weights : p->have;
        counts += p->need == 0 && p->size <= COUNT ? p->loaded : 0;
    }
    for (uint32_t i = 0; i < s->v.n; i++) {
        struct stock *p = &s->v.p[i];
        if (have == 0 && trained == 0) /* it is the only model that there is */
            p->need = p->loaded;
        else if (steps != OWN_STATE)
            split(p, steps, counts != 0);
    }
}

static unsigned role_of(struct stock *p)
{
    uint32_t at;
    if (p == NULL)
        return MT_ROLE_UNKNOWN;
    at = p->given++;
    if (at < (p->need > p->have ? p->need - p->have : 0))
        return MT_ROLE_PARAM;
    if (at >= p->loaded - p->state)
        return MT_ROLE_OPTIM_STATE;
    return at >= p->loaded - p->open ? MT_ROLE_UNKNOWN : MT_ROLE_CHECKPOINT;
}

int mt_loaded_find(struct mt_rwork *k, int64_t focus)
{
    struct stocks s = {{NULL, 0, 0}};
    bool any;
    int ok = collect(k, &s, &any);
    any = any && has_group(k, MT_G_FORWARD, focus); /* before a pass nothing tells whose they are */
    if (ok && any)
        share_out(k, focus, &s);
    for (uint32_t i = 0; ok && any && i < k->w->there.n; i++) {
        struct mt_fate *f = &k->w->fate[k->w->there.p[i]];
        struct stock key = {0};
        if (!is_loaded(k, k->w->there.p[i]))
            continue;
        key.size = mt_event_at(k->r->d, k->w->there.p[i])->size;
        f->role = (uint8_t)role_of(bsearch(&key, s.v.p, s.v.n, sizeof *s.v.p, by_size));
        if (f->role == MT_ROLE_UNKNOWN)
            continue;
        f->why = MT_WHY_FRAME;
        if (f->freed < mt_n_events(k))
            k->w->fate[f->freed].role = f->role;
    }
    MT_VEC_DONE(&s.v);
    return ok;
}
