/* What names of functions that are still at work may hold of the activations. What autograd saves
 * elsewhere, as on the host, goes from the card only when nothing refers to it; a function's own
 * names do until it returns or gives them another value. So of each line of such a function the
 * largest block stays. What a line makes on its way (the product in a + b * c) has no name: this is
 * the most that may stay, not what does. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"

/* The function that a stack's line is in is on the way to the failed request. */
static bool is_at_work(const struct mt_moment *m, struct mt_file_kinds *files, mt_stack_id s)
{
    const struct mt_trace *t = m->w->r->t;
    mt_frame_id line = 0;
    if (s == 0 || mt_stack_site(t, files, s, &line) != MT_SITE_PYTHON || line == 0 ||
        (mt_file_kind(files, t, t->frames.p[line].file) & MT_FILE_INTERNAL) != 0)
        return false;
    for (mt_stack_id k = m->oom->stack; k != 0; k = t->stacks.p[k].parent)
        if (mt_frames_are_one_function(t, t->stacks.p[k].frame, line))
            return true;
    return false;
}

int mt_moment_named(struct mt_moment *m)
{
    const struct mt_trace *t = m->w->r->t;
    struct mt_file_kinds files;
    uint64_t *most;
    if (m->oom == NULL || m->oom->stack == 0)
        return 1;
    most = mt_calloc((size_t)t->stacks.n + 1, sizeof *most);
    if (most == NULL || !mt_file_kinds_init(&files, t)) {
        mt_free(most);
        return 0;
    }
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->role == MT_ROLE_ACTIVATION && !h->pending && h->stack < t->stacks.n &&
            h->size > most[h->stack])
            most[h->stack] = h->size;
    }
    for (mt_stack_id s = 1; s < t->stacks.n; s++)
        if (most[s] != 0 && is_at_work(m, &files, s))
            m->named += most[s];
    mt_file_kinds_done(&files);
    mt_free(most);
    return 1;
}
