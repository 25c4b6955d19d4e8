/* Optimizers that make their results anew instead of in place: m = b * m + ..., p.data = p.data -
 * ... What is let go inside an optimizer while a block of its size was just made there was replaced
 * by that block, which is for the same purpose. So a parameter stays one, whatever its frames. */
#include "analysis/roles/impl.h"

/* Blocks made in the optimizer since, of which one may replace what is let go: those of one
 * parameter. Chosen by hand: optimizers of four public scripts make 6 to 15 of them a parameter. */
enum { WINDOW = 48 };

struct made {
    uint32_t event;
    bool replaces;
};

struct replace {
    struct mt_rwork *k;
    MT_VEC(struct made) made; /* in the region at hand */
    uint32_t from;            /* event of the region's first allocation */
    uint32_t oom;             /* failures before it; regions come in order */
};

static void set_role(struct mt_rwork *k, uint32_t birth, unsigned role)
{
    struct mt_fate *f = &k->w->fate[birth];
    if (f->why == MT_WHY_NAME)
        return;
    f->role = (uint8_t)role;
    f->why = MT_WHY_LIFE;
    if (f->freed < mt_n_events(k))
        k->w->fate[f->freed].role = (uint8_t)role;
}

/* The block that replaces one of that size which goes at event i, or NULL. */
static struct made *replacing(struct replace *c, uint64_t size, uint32_t i)
{
    uint32_t n = c->made.n;
    for (uint32_t back = 1; back <= n && back <= WINDOW; back++) {
        struct made *m = &c->made.p[n - back];
        if (!m->replaces && mt_event_at(c->k->r->d, m->event)->size == size &&
            c->k->w->fate[m->event].freed > i)
            return m;
    }
    return NULL;
}

/* They stand in the order of their events. Of a recording without marks a region may be all of it,
 * so one after the other would be too slow. */
static bool replaced_before(const struct replace *c, uint32_t birth)
{
    uint32_t lo = 0, hi = c->made.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->made.p[mid].event < birth)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->made.n && c->made.p[lo].event == birth && c->made.p[lo].replaces;
}

/* What a block was for that goes inside the optimizer: MT_ROLE_PARAM, MT_ROLE_OPTIM_STATE where
 * that or nothing was known, or MT_ROLE_COUNT: nothing that is replaced. */
static unsigned role_of_gone(const struct replace *c, uint32_t birth, uint32_t i)
{
    struct mt_rwork *k = c->k;
    const struct mt_size_use *u;
    unsigned role = birth < i ? k->w->fate[birth].role : MT_ROLE_OPTIM_STATE;
    if (birth < i && birth >= c->from && !replaced_before(c, birth))
        return MT_ROLE_COUNT; /* a temporary of the optimizer */
    if (role == MT_ROLE_PARAM || role == MT_ROLE_OPTIM_STATE)
        return role;
    u = mt_size_use(k, mt_event_at(k->r->d, birth)->size, false);
    return (role == MT_ROLE_UNKNOWN || role == MT_ROLE_TEMP) && u != NULL && u->grads_peak != 0 &&
                   k->regions.p[mt_region_at(k, birth)].group == MT_G_OTHER
               ? MT_ROLE_OPTIM_STATE
               : MT_ROLE_COUNT;
}

static void let_go(struct replace *c, const struct mt_event *e, uint32_t i)
{
    struct mt_rwork *k = c->k;
    uint32_t birth = k->w->fate[i].freed;
    unsigned role = role_of_gone(c, birth, i);
    struct made *m = role < MT_ROLE_COUNT ? replacing(c, e->size, i) : NULL;
    if (m == NULL)
        return;
    m->replaces = true;
    if (role == MT_ROLE_PARAM)
        set_role(k, m->event, MT_ROLE_PARAM);
    else if (birth < i && k->w->fate[m->event].role == MT_ROLE_OPTIM_STATE)
        set_role(k, birth, MT_ROLE_OPTIM_STATE);
}

/* The last event of a region that is the optimizer's: what an exception lets go of after a failure
 * was replaced by nothing. */
static uint32_t own_last(struct replace *c, uint32_t region)
{
    const struct mt_device_analysis *o = c->k->r->out;
    uint32_t last = mt_region_last(c->k, region);
    while (c->oom < o->ooms.n && MT_OOM_BY_EVENT(o, c->oom)->event < c->from)
        c->oom++;
    return c->oom < o->ooms.n && MT_OOM_BY_EVENT(o, c->oom)->event < last
               ? (uint32_t)MT_OOM_BY_EVENT(o, c->oom)->event
               : last;
}

static int look_through(struct replace *c, uint32_t region)
{
    struct mt_rwork *k = c->k;
    uint32_t last;
    c->from = k->regions.p[region].first;
    last = own_last(c, region);
    c->made.n = 0;
    for (uint32_t i = c->from; i <= last; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        struct made *m;
        if (e->action == MT_ACT_FREE_COMPLETED) {
            let_go(c, e, i);
        } else if (e->action == MT_ACT_ALLOC) {
            if ((m = MT_VEC_PUSH(&c->made)) == NULL)
                return 0;
            *m = (struct made){i, false};
        }
    }
    return 1;
}

int mt_replaced_find(struct mt_rwork *k)
{
    struct replace c = {.k = k};
    int ok = 1;
    for (uint32_t i = 0; ok && i < k->regions.n; i++)
        if (k->regions.p[i].group == MT_G_OPTIMIZER)
            ok = look_through(&c, i);
    MT_VEC_DONE(&c.made);
    return ok;
}

/* ---- a training without parameters ---- */

/* Whether there are gradients, and parameters of less than a tenth of their bytes: made in the
 * trace, gathered, or there before it and of their size. Other trainers keep parameters in other
 * shapes. */
static bool lacks_params(const struct mt_rwork *k)
{
    uint64_t grads = 0, params = 0;
    for (uint32_t i = 0; i < k->sizes.n; i++) {
        const struct mt_size_use *u = &k->sizes.p[i];
        grads += u->grads_peak * u->size;
        params += u->grads_peak != 0 || u->weights != 0 ? u->kept * u->size : 0;
    }
    if (grads / 10 == 0) /* nothing is less */
        return false;
    for (uint32_t i = 0, n = mt_n_events(k); i < n && params <= grads / 10; i++) {
        const unsigned role = k->w->fate[i].role;
        const struct mt_event *e;
        if ((role == MT_ROLE_PARAM || role == MT_ROLE_UNSHARDED) &&
            (e = mt_event_at(k->r->d, i))->action == MT_ACT_ALLOC)
            params += e->size;
    }
    return params < grads / 10;
}

/* The lines of an optimizer that keep results of one size, in the order of the first parameter. */
enum { MAX_LINES = 8 };
struct lines {
    mt_stack_id of[MAX_LINES];
    uint32_t n;
};

static void add_line(struct lines *l, mt_stack_id stack)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->of[i] == stack)
            return;
    if (l->n < MAX_LINES)
        l->of[l->n++] = stack;
}

/* A parameter is computed from the states, so it is made after them: of the lines that keep a
 * result of that size the last one to come makes parameters. */
int mt_rebuilt_find(struct mt_rwork *k)
{
    struct lines *lines;
    bool any = false;
    for (uint32_t i = 0, n = lacks_params(k) ? k->sizes.n : 0; i < n; i++)
        any |= k->sizes.p[i].rebuilt = k->sizes.p[i].grads_peak != 0 && k->sizes.p[i].state;
    if (!any)
        return 1;
    if ((lines = mt_calloc(k->sizes.n, sizeof *lines)) == NULL)
        return 0;
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t i = 0, n = mt_n_events(k); i < n; i++) {
            const struct mt_event *e = mt_event_at(k->r->d, i);
            const struct mt_fate *f = &k->w->fate[i];
            const struct mt_size_use *u;
            struct lines *l;
            if (e->action != MT_ACT_ALLOC || f->role != MT_ROLE_OPTIM_STATE ||
                f->why != MT_WHY_LIFE || (u = mt_size_use(k, e->size, false)) == NULL ||
                !u->rebuilt)
                continue;
            l = &lines[u - k->sizes.p];
            if (turn == 0)
                add_line(l, e->stack);
            else if (l->of[l->n - 1] == e->stack)
                set_role(k, i, MT_ROLE_PARAM);
        }
    mt_free(lines);
    return 1;
}
