/* What frames say of a block that nothing else is known of: those that made it, and those that let
 * it go. */
#include "analysis/roles/impl.h"

#include <stdlib.h>

static unsigned role_by_phase(struct mt_attr a)
{
    if (a.sub == MT_PH_OPTIM_STATE_INIT || a.sub == MT_PH_OPTIMIZER)
        return MT_ROLE_OPTIM_STATE;
    switch (a.phase) {
    case MT_PH_INIT: return MT_ROLE_PARAM;
    case MT_PH_ROLLOUT_INIT:
    case MT_PH_ROLLOUT_LOAD: return MT_ROLE_ENGINE_WEIGHTS;
    case MT_PH_ROLLOUT_KV_ALLOC: return MT_ROLE_KV_CACHE;
    case MT_PH_ROLLOUT_GRAPH: return MT_ROLE_GRAPH_POOL;
    case MT_PH_WEIGHT_SYNC: return MT_ROLE_WEIGHT_SYNC;
    default: break;
    }
    if (mt_phase_is(a.phase, MT_OF_ENGINE))
        return MT_ROLE_UNKNOWN;
    switch (a.sub) {
    case MT_PH_FORWARD:
    case MT_PH_LOSS: return MT_ROLE_ACTIVATION;
    case MT_PH_LOGITS: return MT_ROLE_LOGITS;
    case MT_PH_BACKWARD:
    case MT_PH_GRAD_REDUCE: return MT_ROLE_GRAD; /* what is left of a backward pass */
    case MT_PH_RECOMPUTE: return MT_ROLE_RECOMPUTE;
    case MT_PH_FSDP_UNSHARD: return MT_ROLE_UNSHARDED;
    case MT_PH_COMM: return MT_ROLE_COMM;
    default: return MT_ROLE_UNKNOWN;
    }
}

unsigned mt_role_by_stack(const struct mt_rwork *k, mt_stack_id stack, struct mt_attr a,
                          uint8_t *why)
{
    uint16_t frame = stack < k->r->t->stacks.n ? k->w->stack_role[stack] : MT_NO_STACK_ROLE;
    unsigned role = frame & 0xffu;
    *why = MT_WHY_FRAME;
    if (frame != MT_NO_STACK_ROLE &&
        role != MT_ROLE_PARAM_CAST) /* which of its casts are weights only their order tells */
        return role == MT_ROLE_PARAM && mt_phase_is(a.phase, MT_OF_ENGINE) ? MT_ROLE_ENGINE_WEIGHTS
                                                                           : role;
    role = role_by_phase(a);
    *why = role == MT_ROLE_UNKNOWN ? MT_WHY_NONE : MT_WHY_PHASE;
    return role;
}

/* zero_grad() lets gradients go, the end of autocast's context its copies of weights; frees have
 * frames of their own with context="all", which is the default. A free that has to wait for other
 * streams is completed by whoever allocates next, with the frames of that: so a request counts only
 * where its completion follows at once. */
unsigned mt_role_of_free(const struct mt_rwork *k, uint64_t freed)
{
    const struct mt_event *done, *asked;
    if (!k->frees_tell || freed == 0 || freed >= mt_n_events(k))
        return MT_ROLE_COUNT;
    done = mt_event_at(k->r->d, freed);
    asked = mt_event_at(k->r->d, freed - 1);
    return asked->action == MT_ACT_FREE_REQUESTED && asked->addr == done->addr
               ? k->w->freed_role[asked->stack]
               : MT_ROLE_COUNT;
}

static int by_stack_and_size(const void *pa, const void *pb)
{
    const struct mt_cast *a = pa, *b = pb;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

int mt_cast_stacks_find(struct mt_rwork *k)
{
    uint32_t kept = 0;
    for (uint32_t i = 1, n = mt_n_events(k); k->frees_tell && i < n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i), *made;
        struct mt_cast *at;
        uint32_t birth = k->w->fate[i].freed;
        if (e->action != MT_ACT_FREE_COMPLETED || birth >= i ||
            mt_role_of_free(k, i) != MT_ROLE_PARAM_CAST)
            continue;
        made = mt_event_at(k->r->d, birth);
        if (made->stack == 0)
            continue;
        if ((at = MT_VEC_PUSH(&k->casts)) == NULL)
            return 0;
        *at = (struct mt_cast){made->size, made->stack};
    }
    if (k->casts.n > 1)
        qsort(k->casts.p, k->casts.n, sizeof *k->casts.p, by_stack_and_size);
    for (uint32_t i = 0; i < k->casts.n; i++)
        if (kept == 0 || by_stack_and_size(&k->casts.p[kept - 1], &k->casts.p[i]) != 0)
            k->casts.p[kept++] = k->casts.p[i];
    k->casts.n = kept;
    return 1;
}

bool mt_is_cast(const struct mt_rwork *k, mt_stack_id stack, uint64_t size)
{
    struct mt_cast key = {size, stack};
    return k->casts.n != 0 &&
           bsearch(&key, k->casts.p, k->casts.n, sizeof key, by_stack_and_size) != NULL;
}
