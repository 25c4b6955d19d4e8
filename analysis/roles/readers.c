/* Stacks that make blocks as large as logits: the head, and whoever reads its output. Events are
 * let go of before all is asked of them, so they are noted here; so many are enough for any loss.
 */
#include "analysis/roles/impl.h"

enum { MAX_READERS = 256 };

int mt_readers_find(struct mt_rwork *k)
{
    struct mt_role_facts *f = k->out;
    uint32_t *seen; /* by stack: its place in the list and 1 */
    if (f->vocab == 0)
        return 1;
    if ((seen = mt_calloc((size_t)k->r->t->stacks.n + 1, sizeof *seen)) == NULL)
        return 0;
    for (uint64_t i = 0; i < k->r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        struct mt_logits_by *at;
        if ((e->action != MT_ACT_ALLOC && e->action != MT_ACT_OOM) || e->stack == 0 ||
            !mt_is_logits_size(k, e->size) || mt_is_layer_size(k, e->size) ||
            /* the moments of a head, and the sum of its gradients, are no logits */
            mt_group_of(k->r->attr[i].sub, MT_G_OTHER) == MT_G_OPTIMIZER ||
            mt_phase_is(k->r->attr[i].sub, MT_IN_BACKWARD))
            continue;
        if (seen[e->stack] == 0) {
            if (f->logits_by.n == MAX_READERS)
                continue;
            if ((at = MT_VEC_PUSH(&f->logits_by)) == NULL)
                break;
            *at = (struct mt_logits_by){e->stack, 0};
            seen[e->stack] = f->logits_by.n;
        }
        at = &f->logits_by.p[seen[e->stack] - 1];
        at->most = e->size > at->most ? e->size : at->most;
    }
    mt_free(seen);
    return 1;
}
