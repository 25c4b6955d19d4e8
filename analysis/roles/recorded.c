/* A backward pass that is recorded itself, as with create_graph=True: an inner loop whose updates
 * are differentiated through, a penalty on gradients. It keeps what it makes for a second backward,
 * together with the forward passes before it. An ordinary backward pass leaves the gradients of
 * parameters and nothing else. Told before any of it is let go: since the last step. */
#include "analysis/roles/impl.h"

/* Of the blocks that backward passes made, a third is there still, as of a forward pass whose graph
 * is kept; fewer than MIN_RECORDED are chance. Chosen by hand. Work of the job's own may lie behind
 * the backward, in which most of its blocks were short-lived: then the graph that the backward went
 * through is there still, all but an eighth of it, and what the backward left beside gradients of
 * parameters is half as much or more. */
enum { MIN_RECORDED = 8, SHARE = 3, LET_GO = 8 };

/* free: the job has no weights, and a field or a picture that it moves has their place. */
static bool has_size_of_weight(struct mt_rwork *k, uint64_t size, bool free)
{
    const struct mt_size_use *u = free ? NULL : mt_size_use(k, size, false);
    return u != NULL && (u->param || u->built || u->outside != 0);
}

static bool is_there(const struct mt_rwork *k, int64_t event, int64_t at)
{
    const struct mt_fate *fate = &k->w->fate[event];
    return fate->freed == MT_NEVER || (int64_t)fate->freed > at;
}

static bool is_backward(const struct mt_rwork *k, int64_t event)
{
    return mt_phase_is(k->r->attr[event].sub, MT_IN_BACKWARD);
}

static bool is_alloc(const struct mt_rwork *k, int64_t event)
{
    return mt_event_at(k->r->d, (uint64_t)event)->action == MT_ACT_ALLOC;
}

/* What a backward pass left beside gradients of parameters waits for the second one, as what a
 * forward pass left. */
static void set_kept(struct mt_rwork *k, int64_t event, bool free)
{
    struct mt_fate *f = &k->w->fate[event];
    if (f->role != MT_ROLE_GRAD || f->why == MT_WHY_NAME || f->why == MT_WHY_FRAME ||
        has_size_of_weight(k, mt_event_at(k->r->d, (uint64_t)event)->size, free))
        return;
    f->role = MT_ROLE_ACTIVATION;
    f->why = MT_WHY_LIFE;
    if (f->freed < mt_n_events(k))
        k->w->fate[f->freed].role = MT_ROLE_ACTIVATION;
}

/* The last block before the focus that no backward pass made, nor an optimizer. */
static int64_t behind_backward(const struct mt_rwork *k, int64_t since, int64_t focus)
{
    int64_t i = focus;
    for (; i >= since; i--) {
        unsigned sub = k->r->attr[i].sub;
        if (is_alloc(k, i) && (sub == MT_PH_NONE || mt_phase_is(sub, MT_IN_FORWARD)))
            break;
    }
    return i;
}

/* Whether the graph that the first backward pass went through was there after it, and beside it
 * half as much that the pass had left. */
static bool keeps_graph(struct mt_rwork *k, int64_t since, int64_t focus)
{
    int64_t end = behind_backward(k, since, focus), first = since;
    uint64_t graph = 0, gone = 0, left = 0;
    while (first <= end && !is_backward(k, first))
        first++;
    for (int64_t i = since; i <= end; i++) {
        uint64_t size = mt_event_at(k->r->d, (uint64_t)i)->size;
        if (!is_alloc(k, i))
            continue;
        if (i < first && is_there(k, i, first)) {
            graph += size;
            gone += is_there(k, i, end) ? 0 : size;
        } else if (is_backward(k, i) && is_there(k, i, end) && !has_size_of_weight(k, size, false))
            left += size;
    }
    return graph != 0 && gone <= graph / LET_GO && left >= graph / 2;
}

/* Neither weights nor states of an optimizer: a sampler, a search for a picture, a physical system.
 */
static bool is_without_weights(const struct mt_rwork *k, int64_t focus)
{
    for (int64_t i = 0; i <= focus; i++)
        if (is_alloc(k, i) &&
            (k->w->fate[i].role == MT_ROLE_PARAM || k->w->fate[i].role == MT_ROLE_OPTIM_STATE))
            return false;
    for (uint32_t i = 0; i < k->r->old.n; i++)
        if (k->w->old_role[i] == MT_ROLE_PARAM || k->w->old_role[i] == MT_ROLE_OPTIM_STATE)
            return false;
    return true;
}

/* Without weights a backward pass leaves the gradient of its input, one block, and its forward pass
 * nothing. Pass by pass there are PER_PASS or more of it, and of the forward one or more: both are
 * kept for a derivative of the gradient. From the first pass on that left anything. 0 = it is not
 * so. */
static uint64_t kept_by_passes(const struct mt_rwork *k, int64_t focus, int64_t *since)
{
    enum { PER_PASS = 3, MIN_PASSES = 3 }; /* chosen by hand */
    uint64_t bytes = 0;
    uint32_t passes = 0, left = 0, forward = 0;
    bool began = false, backward = false;
    for (int64_t i = 0; i <= focus; i++) {
        if (!is_alloc(k, i))
            continue;
        began = began && is_backward(k, i);
        backward = is_backward(k, i) && is_there(k, i, focus);
        if (backward && left++ == 0)
            *since = i;
        passes += backward && !began;
        began = began || backward;
        bytes += backward ? mt_event_at(k->r->d, (uint64_t)i)->size : 0;
        forward += left != 0 && !is_backward(k, i) && is_there(k, i, focus);
    }
    return passes >= MIN_PASSES && left >= PER_PASS * passes && forward >= passes ? bytes : 0;
}

/* create_graph where nothing is trained. */
static bool find_without_weights(struct mt_rwork *k, int64_t focus)
{
    int64_t since = 0;
    uint64_t bytes = is_without_weights(k, focus) ? kept_by_passes(k, focus, &since) : 0;
    if (bytes == 0)
        return false;
    k->out->recorded = k->out->recorded_graph = bytes;
    for (int64_t i = since; i <= focus; i++)
        if (is_alloc(k, i) && is_backward(k, i) && is_there(k, i, focus))
            set_kept(k, i, true);
    return true;
}

void mt_recorded_find(struct mt_rwork *k, int64_t focus)
{
    const struct mt_role_facts *f = k->out;
    uint64_t bytes = 0;
    uint32_t made = 0, live = 0;
    int64_t since = 0;
    bool graph;
    if (k->r->attr == NULL || find_without_weights(k, focus))
        return;
    for (uint32_t i = 0; i < f->steps.n && !f->steps_are_guessed; i++)
        if ((int64_t)f->steps.p[i].last < focus)
            since = (int64_t)f->steps.p[i].last + 1;
    for (int64_t i = since; i <= focus; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, (uint64_t)i);
        if (!is_alloc(k, i) || !is_backward(k, i))
            continue;
        made++;
        if (!is_there(k, i, focus) || has_size_of_weight(k, e->size, false))
            continue;
        live++;
        bytes += e->size;
    }
    if (live < MIN_RECORDED)
        return;
    /* whole gradients of a sharded model have sizes of their own as well, and lie beside no graph
     */
    graph = keeps_graph(k, since, focus);
    if (graph || live >= made / SHARE)
        k->out->recorded = bytes;
    if (!graph)
        return;
    k->out->recorded_graph = bytes;
    for (int64_t i = since; i <= focus; i++)
        if (is_alloc(k, i) && is_backward(k, i) && is_there(k, i, focus))
            set_kept(k, i, false);
}
