/* Sizes that a forward pass makes once a layer. A vocabulary whose only factors are small ones
 * (32000 = 2^8 x 5^3) divides many sizes of a layer, so there whole rows are no evidence; what
 * tells logits is that a pass computes them once, after the last layer. */
#include "analysis/roles/impl.h"

struct stack_use {
    uint64_t size;   /* of its last block of whole rows */
    uint32_t event;  /* that one + 1 */
    uint32_t blocks; /* in the region */
    uint32_t region; /* + 1, of which that is said */
};

/* What frames call logits, or the loss makes, may come in chunks. */
static bool may_be_of_layer(const struct mt_rwork *k, uint32_t i)
{
    const struct mt_event *e = mt_event_at(k->r->d, i);
    return e->action == MT_ACT_ALLOC && e->stack != 0 && k->r->attr[i].sub == MT_PH_FORWARD &&
           k->w->stack_role[e->stack] == MT_NO_STACK_ROLE;
}

/* Passes without gradients follow each other in one region. What comes once in each, as the
 * embedding, tells where they begin: of the stacks that come a quarter as often as the one that
 * comes most, or less, the one that comes most; what comes in the first pass alone comes less. */
static mt_stack_id once_a_pass(const struct mt_rwork *k, uint32_t region, struct stack_use *use)
{
    const struct mt_region *g = &k->regions.p[region];
    mt_stack_id first = 0, best = 0;
    uint32_t most = 0;
    for (uint32_t i = g->first; i <= g->last_alloc; i++) {
        mt_stack_id s = mt_event_at(k->r->d, i)->stack;
        if (!may_be_of_layer(k, i))
            continue;
        first = first != 0 ? first : s;
        if (use[s].region != region + 1)
            use[s] = (struct stack_use){.region = region + 1};
        if (++use[s].blocks > most)
            most = use[s].blocks;
    }
    for (uint32_t i = g->first; i <= g->last_alloc; i++) {
        mt_stack_id s = mt_event_at(k->r->d, i)->stack;
        if (may_be_of_layer(k, i) && use[s].blocks <= most / 4 &&
            (best == 0 || use[s].blocks > use[best].blocks))
            best = s;
    }
    return best != 0 ? best : first;
}

static int look_through(struct mt_rwork *k, uint32_t region, struct stack_use *use)
{
    const struct mt_region *g = &k->regions.p[region];
    mt_stack_id key = once_a_pass(k, region, use);
    uint32_t begin = g->first;
    for (uint32_t i = g->first; i <= g->last_alloc; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        struct stack_use *u = &use[e->stack];
        struct mt_size_use *size;
        if (!may_be_of_layer(k, i))
            continue;
        if (e->stack == key)
            begin = i;
        if (e->size % k->logits_unit != 0)
            continue;
        if (u->event > begin && u->size == e->size) {
            if ((size = mt_size_use(k, e->size, true)) == NULL)
                return 0;
            size->layer = true;
        }
        u->size = e->size;
        u->event = i + 1;
    }
    return 1;
}

int mt_layer_sizes_find(struct mt_rwork *k)
{
    struct stack_use *use = mt_calloc((size_t)k->r->t->stacks.n + 1, sizeof *use);
    int ok = use != NULL;
    for (uint32_t i = 0; ok && i < k->regions.n; i++)
        if (k->regions.p[i].group == MT_G_FORWARD)
            ok = look_through(k, i, use);
    mt_free(use);
    return ok;
}

bool mt_is_layer_size(struct mt_rwork *k, uint64_t size)
{
    const struct mt_size_use *u;
    if (size == k->logits_max || size * 2 == k->logits_max || size == k->logits_max * 2)
        return false;
    u = mt_size_use(k, size, false);
    return u != NULL && u->layer;
}
