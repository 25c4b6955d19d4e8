/* Optimizer state that is no pair of moments. Adam keeps two blocks a weight, both of the weight's
 * size; a momentum (SGD), a sum of squares (Adagrad) is one. What makes Adam's moments smaller does
 * nothing to it. Sizes that no weight has (shards, flat buffers) tell nothing. */
#include "analysis/roles/impl.h"

static void count(struct mt_rwork *k, uint64_t size, unsigned role)
{
    struct mt_size_use *u = role == MT_ROLE_OPTIM_STATE ? mt_size_use(k, size, false) : NULL;
    if (u != NULL)
        u->states++;
}

/* By gradients or copies: states alone do not tell how many there are of each weight. */
static uint64_t weights_of(const struct mt_size_use *u)
{
    uint64_t n = u->grads_peak != 0 ? u->grads_peak : u->cut_peak;
    return n > u->casts_peak ? n : u->casts_peak;
}

void mt_lone_find(struct mt_rwork *k, int64_t focus)
{
    for (uint32_t i = 0; i < k->sizes.n; i++)
        k->sizes.p[i].states = 0;
    for (uint32_t i = 0; i < k->w->there.n; i++) {
        const uint32_t event = k->w->there.p[i];
        count(k, mt_event_at(k->r->d, event)->size, k->w->fate[event].role);
    }
    for (uint32_t i = 0; i < k->r->old.n; i++)
        if (k->r->old.p[i].gone_at == UINT64_MAX || (int64_t)k->r->old.p[i].gone_at > focus)
            count(k, k->r->old.p[i].size, k->w->old_role[i]);
    for (uint32_t i = 0; i < k->sizes.n; i++) {
        const struct mt_size_use *u = &k->sizes.p[i];
        if (u->states <= weights_of(u)) /* none where no weight is known */
            k->out->lone_state += u->states * u->size;
    }
}
