/* Sizes that a forward pass makes once a layer. A vocabulary that has small factors only (32000 =
 * 2^8 x 5^3) divides many sizes of a layer, so whole rows of it prove nothing. Logits differ from
 * them in that a pass computes logits once, after the last layer. */
#include "analysis/roles/impl.h"

struct stack_use {
    uint64_t size;   /* of its last block of whole rows */
    uint32_t event;  /* event of that block + 1 */
    uint32_t blocks; /* in the region */
    uint32_t region; /* region that `blocks` counts + 1 */
};

/* Whether an allocation may be a layer's: made in a forward pass, outside the loss, and not by
 * frames that name a role. Chunks of logits come several times a pass as well. */
static bool may_be_of_layer(const struct mt_rwork *k, uint32_t i)
{
    const struct mt_event *e = mt_event_at(k->r->d, i);
    return e->action == MT_ACT_ALLOC && e->stack != 0 && k->r->attr[i].sub == MT_PH_FORWARD &&
           k->w->stack_role[e->stack] == MT_NO_STACK_ROLE;
}

/* The stack that allocates once in each pass of a region, as the embedding does: it tells where a
 * pass begins, where several passes without gradients follow each other in one region. It is the
 * most frequent of the stacks that come at most a quarter as often as the most frequent one (a
 * layer's; a quarter was chosen by hand: models have more than four layers). A stack of the first
 * pass alone is less frequent than it. */
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
