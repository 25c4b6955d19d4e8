/* A cache of keys and values that the job's own code makes: one tensor for each layer, all of one
 * size, made one after the other and there at once, outside of any pass; or two, of one line or of
 * two lines in turn. No frame says what they are. How many layers there are the weights tell: sizes
 * of a layer come once in each, or a few times. What has the size of a weight, a gradient or a
 * state may be one of those. */
#include "analysis/base/divisor.h"
#include "analysis/base/frames.h"
#include "analysis/roles/impl.h"

#include <stdlib.h>

/* Chosen by hand: fewer layers are no model, smaller weights are vectors, and less than a MiB a
 * layer is no cache that matters. */
enum { MIN_LAYERS = 4, MIN_MATRIX = 16384, MIN_BYTES = 1 << 20 };

/* Blocks of one size, by one line, or by two in turn. Of one line the stacks may differ: Python's
 * interpreter goes other ways through its own code once a line has run a few times. */
struct run {
    MT_VEC(uint32_t) events;
    mt_frame_id line[2];
    uint32_t n_lines;
    uint64_t size;
};

/* 0 = none: no Python frame tells it. */
static mt_frame_id line_of(const struct mt_rwork *k, mt_stack_id stack)
{
    mt_frame_id line = 0;
    return mt_stack_site(k->r->t, NULL, stack, &line) == MT_SITE_PYTHON ? line : 0;
}

static int by_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

static bool is_weight(unsigned role)
{
    return role == MT_ROLE_PARAM || role == MT_ROLE_ENGINE_WEIGHTS;
}

/* The greatest number that all numbers of weights of one size are made of; 0 = not known. *ok:
 * there was memory. */
static uint32_t count_layers(const struct mt_rwork *k, bool *ok)
{
    uint64_t *size = mt_calloc((size_t)k->w->there.n + k->r->old.n + 1, sizeof *size);
    uint32_t n = 0, layers = 0;
    if (!(*ok = size != NULL))
        return 0;
    for (uint32_t i = 0; i < k->w->there.n; i++)
        if (is_weight(k->w->fate[k->w->there.p[i]].role))
            size[n++] = mt_event_at(k->r->d, k->w->there.p[i])->size;
    for (uint32_t i = 0; i < k->r->old.n; i++)
        if (is_weight(k->w->old_role[i]) && k->r->old.p[i].gone_at == UINT64_MAX)
            size[n++] = k->r->old.p[i].size;
    if (n > 1)
        qsort(size, n, sizeof *size, by_size);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && size[end] == size[i]; end++)
            ;
        if (size[i] >= MIN_MATRIX && end - i >= MIN_LAYERS)
            layers = mt_common_divisor(end - i, layers);
    }
    mt_free(size);
    return layers >= MIN_LAYERS ? layers : 0;
}

static bool may_be_one(struct mt_rwork *k, uint32_t i)
{
    const struct mt_event *e = mt_event_at(k->r->d, i);
    const struct mt_size_use *u;
    unsigned role = k->w->fate[i].role;
    if (e->size < MIN_BYTES || e->stack == 0 || k->r->attr[i].sub != MT_PH_NONE ||
        k->w->fate[i].why == MT_WHY_FRAME || /* as a mask, by its operation */
        (role != MT_ROLE_UNKNOWN && role != MT_ROLE_TEMP && role != MT_ROLE_DATA))
        return false;
    u = mt_size_use(k, e->size, false);
    return u == NULL || (u->weights == 0 && u->made == 0 && u->grads_peak == 0);
}

/* The next block, or request, of the run: the lines come in turn. */
static bool goes_on(const struct run *r, mt_frame_id line, uint64_t size)
{
    uint32_t n = r->events.n;
    if (size != r->size || line == 0)
        return false;
    return n == 0 || line == r->line[n % r->n_lines] || (n == 1 && line != r->line[0]);
}

/* The blocks of a run are a cache, where they are as many as layers, and the first is still there
 * when the last is made. The request that failed may be one of them. */
static void close_run(struct mt_rwork *k, struct run *r, uint32_t layers)
{
    const struct mt_device_analysis *o = k->r->out;
    uint32_t n = r->events.n, all = layers * r->n_lines, last = n != 0 ? r->events.p[n - 1] : 0;
    bool is_cut, together;
    if (r->n_lines == 1 && n > all) /* one line makes keys and values */
        all *= 2;
    is_cut = n != 0 && n < all && n >= MIN_LAYERS * r->n_lines && o->ooms.n != 0 &&
             o->ooms.p[0].event > last &&
             goes_on(r, line_of(k, o->ooms.p[0].stack), o->ooms.p[0].request);
    together = n != 0 && (n == all || is_cut);
    for (uint32_t i = 0; together && i < n; i++)
        together = k->w->fate[r->events.p[i]].freed > last;
    for (uint32_t i = 0; together && i < n; i++) {
        struct mt_fate *f = &k->w->fate[r->events.p[i]];
        f->role = MT_ROLE_KV_CACHE;
        f->why = MT_WHY_SIZE;
        if (f->freed < mt_n_events(k))
            k->w->fate[f->freed].role = MT_ROLE_KV_CACHE;
    }
    r->events.n = 0;
}

int mt_layered_find(struct mt_rwork *k)
{
    struct run r = {.n_lines = 1};
    bool ok = true;
    uint32_t layers, n = k->r->attr != NULL ? mt_n_events(k) : 0;
    if ((layers = count_layers(k, &ok)) == 0)
        return ok;
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        mt_frame_id line;
        uint32_t *at;
        bool may;
        if (e->action != MT_ACT_ALLOC || (e->size < MIN_BYTES && r.events.n == 0))
            continue;
        may = may_be_one(k, i);
        line = may ? line_of(k, e->stack) : 0;
        if (r.events.n != 0 && !goes_on(&r, line, e->size))
            close_run(k, &r, layers);
        if (line == 0)
            continue;
        if (r.events.n == 0)
            r = (struct run){r.events, {line, 0}, 1, e->size};
        else if (r.events.n == 1 && line != r.line[0]) {
            r.line[1] = line;
            r.n_lines = 2;
        }
        ok = (at = MT_VEC_PUSH(&r.events)) != NULL;
        if (ok)
            *at = i;
    }
    if (ok)
        close_run(k, &r, layers);
    MT_VEC_DONE(&r.events);
    return ok;
}
