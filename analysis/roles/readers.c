/* Stacks that make blocks as large as logits: the head, and whoever reads its output. Events are
 * let go of before all is asked of them, so they are noted here; so many are enough for any loss.
 */
#include "analysis/roles/impl.h"

enum { MAX_READERS = 256 };

int mt_readers_find(struct mt_rwork *k)
{
    struct mt_role_facts *f = k->out;
    uint8_t *seen;
    if (f->vocab == 0)
        return 1;
    if ((seen = mt_calloc((size_t)k->r->t->stacks.n + 1, 1)) == NULL)
        return 0;
    for (uint64_t i = 0; i < k->r->d->events.n && f->logits_by.n < MAX_READERS; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        mt_stack_id *at;
        if ((e->action != MT_ACT_ALLOC && e->action != MT_ACT_OOM) || e->stack == 0 ||
            seen[e->stack] || !mt_is_logits_size(k, e->size) || mt_is_layer_size(k, e->size))
            continue;
        seen[e->stack] = 1;
        if ((at = MT_VEC_PUSH(&f->logits_by)) == NULL)
            break;
        *at = e->stack;
    }
    mt_free(seen);
    return 1;
}
