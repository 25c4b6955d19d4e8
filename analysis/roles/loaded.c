/* A checkpoint that was read onto the card and is there still. Tensor by tensor nothing tells what
 * it became: load_state_dict() copies the weights into those of the model, so that what was read is
 * of no more use, while an optimizer takes its states over as they are, and a model may be what was
 * read. Together they do: a size that the model has is read once for the weights, and once more for
 * each state of an optimizer that steps and has made none. */
#include "analysis/roles/impl.h"

#include <stdlib.h>

/* Adam's two moments: an optimizer with more states than that, or one that is read beside an
 * average of the weights, is not told from it. */
enum { STATES = 2 };

struct stock {
    uint64_t size;
    uint32_t loaded; /* read, and there at the focus */
    uint32_t have;   /* parameters that were not read */
    uint32_t need;   /* parameters in all */
    uint32_t state;  /* of those read so many are states */
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

/* A block that torch.load made and that no other rule has a role for. */
static bool is_loaded(const struct mt_rwork *k, uint32_t i, int64_t focus)
{
    const struct mt_event *e = mt_event_at(k->r->d, i);
    uint16_t stack = e->action == MT_ACT_ALLOC ? k->w->stack_role[e->stack] : MT_NO_STACK_ROLE;
    return stack != MT_NO_STACK_ROLE && (stack & 0xffu) == MT_ROLE_CHECKPOINT &&
           k->w->fate[i].role == MT_ROLE_UNKNOWN && is_live(k, i, focus);
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
static int collect(const struct mt_rwork *k, int64_t focus, struct stocks *s, bool *any)
{
    int ok = 1;
    *any = false;
    for (uint32_t i = 0, n = mt_n_events(k); ok && i < n; i++)
        if (is_loaded(k, i, focus)) {
            *any = true;
            ok = add(s, mt_event_at(k->r->d, i)->size, true);
        }
    for (uint32_t i = 0, n = *any ? mt_n_events(k) : 0; ok && i < n; i++)
        if (k->w->fate[i].role == MT_ROLE_PARAM && is_live(k, i, focus))
            ok = add(s, mt_event_at(k->r->d, i)->size, false);
    for (uint32_t i = 0; ok && *any && i < k->r->old.n; i++)
        if (k->w->old_role[i] == MT_ROLE_PARAM && k->r->old.p[i].gone_at == UINT64_MAX)
            ok = add(s, k->r->old.p[i].size, false);
    join(s);
    return ok;
}

/* Whether an optimizer steps, or fails in its step, and has no state that this trace shows. */
static bool steps_without_state(const struct mt_rwork *k)
{
    bool steps = false;
    for (uint32_t i = 0; i < k->regions.n; i++)
        steps = steps || k->regions.p[i].group == MT_G_OPTIMIZER;
    for (uint32_t i = 0; i < k->r->old.n; i++)
        steps = steps && k->w->old_role[i] != MT_ROLE_OPTIM_STATE;
    for (uint32_t i = 0, n = mt_n_events(k); steps && i < n; i++)
        steps = k->w->fate[i].role != MT_ROLE_OPTIM_STATE;
    return steps;
}

static bool has_run(const struct mt_rwork *k, int64_t focus)
{
    for (uint32_t i = 0; i < k->regions.n && (int64_t)k->regions.p[i].first <= focus; i++)
        if (k->regions.p[i].group == MT_G_FORWARD)
            return true;
    return false;
}

static void share_out(struct mt_rwork *k, struct stocks *s)
{
    bool state = steps_without_state(k);
    uint64_t have = 0, trained = 0;
    for (uint32_t i = 0; i < s->v.n; i++) {
        const struct mt_size_use *u = mt_size_use(k, s->v.p[i].size, false);
        struct stock *p = &s->v.p[i];
        have += p->have;
        trained += p->loaded != 0 && u != NULL ? u->weights : 0;
        p->need = u != NULL && u->weights > p->have ? (uint32_t)u->weights : p->have;
    }
    for (uint32_t i = 0; i < s->v.n; i++) {
        struct stock *p = &s->v.p[i];
        uint32_t copies = p->need != 0 ? p->loaded / p->need : 0;
        if (have == 0 && trained == 0) /* it is the only model that there is */
            p->need = p->loaded;
        else if (state && p->need == 0 && p->size <= 8) /* how many steps each has taken */
            p->state = p->loaded;
        else if (state)
            p->state = copies > STATES ? STATES * p->need : copies == STATES ? p->need : 0;
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
    return at >= p->loaded - p->state ? MT_ROLE_OPTIM_STATE : MT_ROLE_CHECKPOINT;
}

int mt_loaded_find(struct mt_rwork *k, int64_t focus)
{
    struct stocks s = {{NULL, 0, 0}};
    bool any;
    int ok = collect(k, focus, &s, &any);
    any = any && has_run(k, focus); /* before a pass nothing tells whose they are */
    if (ok && any)
        share_out(k, &s);
    for (uint32_t i = 0, n = ok && any ? mt_n_events(k) : 0; i < n; i++) {
        struct mt_fate *f = &k->w->fate[i];
        struct stock key;
        if (!is_loaded(k, i, focus))
            continue;
        key.size = mt_event_at(k->r->d, i)->size;
        f->role = (uint8_t)role_of(bsearch(&key, s.v.p, s.v.n, sizeof *s.v.p, by_size));
        f->why = MT_WHY_FRAME;
        if (f->freed < mt_n_events(k))
            k->w->fate[f->freed].role = f->role;
    }
    MT_VEC_DONE(&s.v);
    return ok;
}
