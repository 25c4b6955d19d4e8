/* Weights that were there before the recording. How many blocks of a size are parameters: as many
 * as there are gradients, or states that one line of the optimizer makes, or copies that autocast
 * makes. Without any of these, the layers tell: sizes of a model come once or more in each layer.
 */
#include "analysis/base/divisor.h"
#include "analysis/roles/impl.h"

#include <stdlib.h>

/* ---- by gradients, states and copies ---- */

struct survivor {
    uint64_t size;
    mt_stack_id stack;
};

static int by_size_and_stack(const void *pa, const void *pb)
{
    const struct survivor *a = pa, *b = pb;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

struct survivors {
    MT_VEC(struct survivor) v;
};

/* One line of an optimizer keeps one block a parameter in each step: m = ..., v = ... */
static int count_survivors(struct mt_rwork *k, const struct mt_region *g, uint32_t last,
                           struct survivors *s)
{
    s->v.n = 0;
    for (uint32_t i = g->first; i <= last; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        struct survivor *at;
        if (e->action != MT_ACT_ALLOC || k->w->fate[i].role != MT_ROLE_OPTIM_STATE || e->stack == 0)
            continue;
        if ((at = MT_VEC_PUSH(&s->v)) == NULL)
            return 0;
        *at = (struct survivor){e->size, e->stack};
    }
    if (s->v.n > 1)
        qsort(s->v.p, s->v.n, sizeof *s->v.p, by_size_and_stack);
    for (uint32_t i = 0, end; i < s->v.n; i = end) {
        struct mt_size_use *u;
        for (end = i + 1; end < s->v.n && by_size_and_stack(&s->v.p[i], &s->v.p[end]) == 0; end++)
            ;
        if ((u = mt_size_use(k, s->v.p[i].size, false)) != NULL && end - i > u->weights)
            u->weights = end - i;
    }
    return 1;
}

int mt_weights_count(struct mt_rwork *k)
{
    struct survivors s = {{NULL, 0, 0}};
    int ok = 1;
    for (uint32_t i = 0; ok && i < k->regions.n; i++)
        if (k->regions.p[i].group == MT_G_OPTIMIZER)
            ok = count_survivors(k, &k->regions.p[i], k->regions.p[i].last_alloc, &s);
    MT_VEC_DONE(&s.v);
    for (uint32_t i = 0; i < k->sizes.n; i++) {
        struct mt_size_use *u = &k->sizes.p[i];
        if (u->grads_peak != 0) /* two states of one line would count twice */
            u->weights = u->grads_peak;
        else if (u->cut_peak > u->weights)
            u->weights = u->cut_peak;
        if (u->casts_peak > u->weights)
            u->weights = u->casts_peak;
    }
    return ok;
}

/* ---- by layers ---- */

/* What counts, chosen by hand. A model has 4 layers or more. A vector (a norm, a bias) is as long
 * as a layer is wide, and a matrix of a layer has as many rows, times or by 32 at most. A table of
 * 1,000 rows of that width is an embedding or a head, of which there are a few. Three or more sizes
 * of an earlier pass's activations are no coincidence. */
enum {
    MIN_LAYERS = 4,
    MIN_MATRIX = 16384, /* bytes */
    MAX_SLIM = 32,
    MIN_ROWS = 1000,
    MAX_TABLES = 8,
    MIN_ACTIVE = 3,
    MAX_SIZES = 1024 /* bounds the work */
};

struct group {
    uint64_t size;
    uint32_t n, seen;
    bool is_layers; /* another size comes as often, or the two have a number of layers in common */
    bool is_weight, is_table, is_active;
};
struct groups {
    MT_VEC(struct group) v;
};

static bool has_role(const struct mt_rwork *k, uint32_t i, unsigned role)
{
    const struct mt_old *b = &k->r->old.p[i];
    return b->stack == 0 && b->gone_at == UINT64_MAX && k->w->old_role[i] == role;
}

static int by_size(const void *pa, const void *pb)
{
    const struct group *a = pa, *b = pb;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* The sizes of blocks without a role. Those of known weights count as well, where these were told
 * by casts: autocast makes none of an embedding or a norm. Where the model is trained, what has no
 * gradient is another model's, or frozen. */
static int collect(const struct mt_rwork *k, struct groups *s)
{
    uint32_t kept = 0;
    bool trains = false;
    for (uint32_t i = 0; i < k->sizes.n && !trains; i++)
        trains = k->sizes.p[i].grads_peak != 0 || k->sizes.p[i].cut_peak != 0;
    for (uint32_t i = 0; i < k->r->old.n; i++) {
        struct group *at;
        if (!has_role(k, i, MT_ROLE_BEFORE) && (trains || !has_role(k, i, MT_ROLE_PARAM)))
            continue;
        if ((at = MT_VEC_PUSH(&s->v)) == NULL)
            return 0;
        *at = (struct group){.size = k->r->old.p[i].size, .n = 1};
    }
    if (s->v.n > 1)
        qsort(s->v.p, s->v.n, sizeof *s->v.p, by_size);
    for (uint32_t i = 0; i < s->v.n; i++) {
        if (kept != 0 && s->v.p[kept - 1].size == s->v.p[i].size)
            s->v.p[kept - 1].n++;
        else
            s->v.p[kept++] = s->v.p[i];
    }
    s->v.n = kept;
    return 1;
}

/* The number of layers that two sizes have in common; one block of either size may be of no layer.
 * 0 = none. */
static uint32_t layers_of(uint32_t a, uint32_t b)
{
    uint32_t common = mt_common_divisor(a, b), less;
    if (a < MIN_LAYERS || b < MIN_LAYERS)
        return 0;
    for (int turn = 0; turn < 3; turn++) {
        less = mt_common_divisor(turn == 1 ? a - 1 : a, turn == 2 ? b - 1 : b);
        common = less > common ? less : common;
    }
    return common >= MIN_LAYERS ? common : 0;
}

/* The width of the layers that two sizes of matrices are from: the smallest vector that both have
 * whole rows of, and that comes at least once a layer. 0 = none. */
static uint64_t width_of(const struct groups *s, const struct group *a, const struct group *b)
{
    uint32_t layers = layers_of(a->n, b->n);
    uint64_t small = a->size < b->size ? a->size : b->size;
    for (const struct group *v = s->v.p; layers != 0 && v->size < small; v++) {
        uint64_t rows = small / v->size, wide = v->size / 4;
        if (v->n >= layers && a->size % v->size == 0 && b->size % v->size == 0 &&
            rows <= wide * MAX_SLIM && wide <= rows * MAX_SLIM)
            return v->size;
    }
    return 0;
}

/* Whether a size of the layers is that of a weight: a matrix, or a bias of several widths. A bias
 * comes with others and with those of norms; a table of positions has few rows too, and comes
 * alone. */
static bool is_shape(const struct group *g, uint64_t width, uint32_t n_width)
{
    uint64_t rows = g->size / width;
    return g->size % width == 0 &&
           (rows == 1 || rows * MAX_SLIM >= width / 4 || n_width / 3 >= g->n);
}

static void mark_weights(struct groups *s, uint64_t width)
{
    struct group key = {.size = width},
                 *of = bsearch(&key, s->v.p, s->v.n, sizeof *s->v.p, by_size);
    for (uint32_t i = 0; of != NULL && i < s->v.n; i++) {
        struct group *g = &s->v.p[i];
        g->is_table = g->n <= MAX_TABLES && g->size % width == 0 && g->size / width >= MIN_ROWS;
        g->is_weight = g->is_weight || g->size == width || g->is_table ||
                       (g->is_layers && is_shape(g, width, of->n));
    }
}

static void find_models(struct groups *s)
{
    for (uint32_t i = 0; i < s->v.n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (s->v.p[i].size >= MIN_MATRIX && layers_of(s->v.p[i].n, s->v.p[j].n) != 0)
                s->v.p[i].is_layers = s->v.p[j].is_layers = true;
    for (uint32_t i = 0; i < s->v.n; i++)
        for (uint32_t j = 0; s->v.p[i].is_layers && j < i; j++) {
            uint64_t width = s->v.p[j].is_layers && s->v.p[j].size >= MIN_MATRIX
                                 ? width_of(s, &s->v.p[i], &s->v.p[j])
                                 : 0;
            if (width != 0)
                mark_weights(s, width);
        }
}

/* Sizes that the recorded passes make and keep: where they are many, what is left of them was kept
 * from an earlier pass. One or two are as large as a weight by chance. */
static void unmark_activations(struct mt_rwork *k, struct groups *s)
{
    uint32_t n = 0;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < s->v.n; i++) {
            struct group *g = &s->v.p[i];
            const struct mt_size_use *u =
                g->is_weight && g->size >= MIN_MATRIX ? mt_size_use(k, g->size, false) : NULL;
            if (u == NULL || !u->activation)
                continue;
            n += turn == 0;
            g->is_active = turn == 1 && n >= MIN_ACTIVE;
        }
}

/* How often the whole model is there: 1; 3 with the moments of Adam, 4 with gradients as well. Told
 * by what is not in the layers: the last norm, the embedding. */
static uint32_t copies_of(const struct mt_rwork *k, const struct groups *s)
{
    uint32_t layers = 0, once = 0, tables = 0;
    for (uint32_t i = 0; i < k->regions.n; i++)
        if (k->regions.p[i].group == MT_G_BACKWARD || k->regions.p[i].group == MT_G_OPTIMIZER)
            return 1;
    for (uint32_t i = 0; i < s->v.n; i++) {
        const struct group *g = &s->v.p[i];
        if (g->is_weight && g->is_layers && !g->is_table && g->size >= MIN_MATRIX)
            layers = mt_common_divisor(g->n, layers);
    }
    for (uint32_t i = 0; i < s->v.n && layers != 0; i++) {
        const struct group *g = &s->v.p[i];
        if (!g->is_weight || g->is_active)
            continue;
        tables += g->is_table;
        once = mt_common_divisor(g->n % layers, once);
    }
    return tables == 0 || once == 0 ? 1 : once % 4 == 0 ? 4 : once % 3 == 0 ? 3 : 1;
}

static unsigned role_of_copy(uint32_t at, uint32_t n, uint32_t copies)
{
    uint32_t copy = at / (n / copies);
    return copy == 0                  ? MT_ROLE_PARAM
           : copies == 4 && copy == 1 ? MT_ROLE_GRAD
                                      : MT_ROLE_OPTIM_STATE;
}

static void label(struct mt_rwork *k, struct groups *s)
{
    uint32_t copies = copies_of(k, s);
    for (uint32_t i = 0; i < k->r->old.n; i++) {
        struct group key = {.size = k->r->old.p[i].size}, *g;
        if (!has_role(k, i, MT_ROLE_BEFORE) ||
            (g = bsearch(&key, s->v.p, s->v.n, sizeof *s->v.p, by_size)) == NULL || !g->is_weight)
            continue;
        k->w->old_role[i] = (uint8_t)(g->is_active         ? MT_ROLE_ACTIVATION
                                      : g->n % copies != 0 ? MT_ROLE_PARAM
                                                           : role_of_copy(g->seen, g->n, copies));
        k->w->old_why[i] = MT_WHY_SIZE;
        g->seen++;
    }
}

int mt_weights_by_layers(struct mt_rwork *k)
{
    struct groups s = {{NULL, 0, 0}};
    bool forward = false;
    int ok = 1;
    for (uint32_t i = 0; i < k->regions.n && !forward; i++)
        forward = k->regions.p[i].group == MT_G_FORWARD;
    if (forward && (ok = collect(k, &s)) && s.v.n <= MAX_SIZES) {
        find_models(&s);
        unmark_activations(k, &s);
        label(k, &s);
    }
    MT_VEC_DONE(&s.v);
    return ok;
}
