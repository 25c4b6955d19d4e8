/* Blocks without an allocation in the trace: what can be said of them from frames, sizes and where
 * they were freed. */
#include "analysis/roles/impl.h"

unsigned mt_role_of_held(const struct mt_rwork *k, uint64_t addr, uint64_t until, mt_stack_id stack,
                         struct mt_attr a, uint8_t *why)
{
    unsigned role = MT_ROLE_UNKNOWN, pool = mt_pool_role_at(k, addr, until);
    *why = MT_WHY_NONE;
    if (stack != 0)
        role = mt_role_by_stack(k, stack, a, why);
    if (pool >= MT_ROLE_UNKNOWN || *why == MT_WHY_FRAME ||
        (stack != 0 && mt_is_told_by_phase(a, pool)))
        return role;
    *why = MT_WHY_POOL;
    return pool;
}

/* ---- blocks that were there before ---- */

/* How many blocks of one size were taken for parameters, gradients and state. */
struct quota {
    uint64_t params, grads, state;
};

/* The role of a block without a stack that the trace frees: what its free says; in an optimizer
 * region state that the optimizer replaces, else a gradient that goes with the others; in a
 * backward pass what an earlier forward kept for it. */
static unsigned freed_role(struct mt_rwork *k, struct quota *q, const struct mt_old *b)
{
    const struct mt_size_use *u = mt_size_use(k, b->size, false);
    uint32_t at = b->gone_at < mt_n_events(k) ? mt_region_at(k, (uint32_t)b->gone_at) : UINT32_MAX;
    const struct mt_region *g = at != UINT32_MAX ? &k->regions.p[at] : NULL;
    unsigned by_free = mt_role_of_free(k, b->gone_at);
    if (by_free < MT_ROLE_COUNT)
        return by_free;
    if (g != NULL && g->group == MT_G_BACKWARD && b->gone_at <= g->last_alloc &&
        (u == NULL || u->weights == 0))
        return MT_ROLE_ACTIVATION;
    if (u == NULL || g == NULL || g->group != MT_G_OPTIMIZER)
        return MT_ROLE_BEFORE;
    if (u->rebuilt && q[u - k->sizes.p].params < u->weights) {
        q[u - k->sizes.p].params++; /* one of those that are made anew; which does not matter */
        return MT_ROLE_PARAM;
    }
    if (b->gone_at <= (uint64_t)g->last_alloc +
                          (u->state ? 8 : 0)) /* state that is replaced goes right after the block
                                                 that replaces it; 8 events were chosen by hand */
        return u->state ? MT_ROLE_OPTIM_STATE : MT_ROLE_BEFORE;
    if (u->state && u->grads_peak != 0 && k->backward < g->first)
        return MT_ROLE_OPTIM_STATE; /* the gradients of this step were made in the trace */
    return u->weights != 0 ? MT_ROLE_GRAD : MT_ROLE_BEFORE;
}

/* The role of a block without a stack that is never freed. Of the blocks as large as parameters, as
 * many as there are parameters are these; as many more gradients, where backward passes only add to
 * gradients that are there; and up to twice as many more (Adam keeps two) state, where an optimizer
 * ran that made no state of that size. */
static unsigned ghost_role(struct mt_rwork *k, struct quota *q, const struct mt_old *b,
                           bool optimizer)
{
    const struct mt_size_use *u = mt_size_use(k, b->size, false);
    struct quota *left;
    if (u == NULL || u->weights == 0)
        return MT_ROLE_BEFORE;
    left = &q[u - k->sizes.p];
    if (left->params + u->made < u->weights) {
        left->params++;
        return MT_ROLE_PARAM;
    }
    if (u->grads_peak == 0 && u->cut_peak == 0 && u->added >= u->weights &&
        left->grads < u->weights) {
        left->grads++;
        return MT_ROLE_GRAD;
    }
    if (optimizer && !u->state && left->state < 2 * u->weights) {
        left->state++;
        return MT_ROLE_OPTIM_STATE;
    }
    return MT_ROLE_BEFORE;
}

int mt_old_roles(struct mt_rwork *k)
{
    struct quota *q = mt_calloc((size_t)k->sizes.n + 1, sizeof *q);
    bool optimizer = false;
    if (q == NULL)
        return 0;
    k->backward = UINT32_MAX;
    for (uint32_t i = k->regions.n; i-- > 0;) {
        optimizer = optimizer || k->regions.p[i].group == MT_G_OPTIMIZER;
        if (k->regions.p[i].group == MT_G_BACKWARD)
            k->backward = k->regions.p[i].first;
    }
    for (uint32_t i = 0; i < k->r->old.n; i++) {
        const struct mt_old *b = &k->r->old.p[i];
        uint8_t why;
        unsigned named;
        unsigned role = mt_role_of_held(k, b->addr, b->gone_at, b->stack,
                                        mt_phaser_stack(k->ph, b->stack), &why);
        if (b->stack != 0 && why != MT_WHY_FRAME && b->size == MT_CUBLAS_WORKSPACE &&
            mt_pool_role_at(k, b->addr, b->gone_at) == MT_ROLE_COUNT) {
            role = MT_ROLE_WORKSPACE;
            why = MT_WHY_SIZE;
        }
        if (b->stack == 0 && why == MT_WHY_NONE) {
            role = b->gone_at == UINT64_MAX ? ghost_role(k, q, b, optimizer) : freed_role(k, q, b);
            if (role == MT_ROLE_BEFORE && b->gone_at == UINT64_MAX &&
                b->size == MT_CUBLAS_WORKSPACE)
                role = MT_ROLE_WORKSPACE;
            why = role == MT_ROLE_BEFORE     ? MT_WHY_BEFORE
                  : b->gone_at == UINT64_MAX ? MT_WHY_SIZE
                                             : MT_WHY_LIFE;
        }
        if ((named = mt_role_by_name(k, UINT64_MAX, b->addr)) != MT_ROLE_COUNT) {
            role = named;
            why = MT_WHY_NAME;
        }
        k->w->old_role[i] = (uint8_t)role;
        k->w->old_why[i] = why;
        k->w->old_life[i] = MT_LIFE_UNKNOWN;
        if (b->gone_at == UINT64_MAX ? k->out->steps.n > 1
                                     : k->out->steps.n > 1 && b->gone_at > k->out->steps.p[1].last)
            k->w->old_life[i] = MT_LIFE_PERSISTENT;
    }
    mt_free(q);
    return 1;
}
