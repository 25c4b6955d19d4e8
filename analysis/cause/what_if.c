/* The counter-factuals: whether the failed request would have fitted without this or that. Every
 * number is one of the moment of the failure. */
#include "analysis/cause/impl.h"
#include "analysis/cause/verdict.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

enum { TEXT = 1024 };

/* Adds "<start> the request would have fitted." or its opposite; start: "With the engine asleep
 * (12.00 GiB)". */
static int add_what_if(struct mt_cause *c, const char *id, const char *start,
                       const struct mt_fit *f, uint64_t freed)
{
    char text[TEXT], more[96] = "";
    struct mt_what_if *w = MT_VEC_PUSH(&c->what_ifs);
    int n;
    if (w == NULL)
        return 0;
    w->id = id;
    w->fits = f->fits;
    w->freed = freed;
    w->short_by = f->short_by;
    if (c->state_to_come != 0)
        (void)snprintf(more, sizeof more, " and the %s of state that the step had still to make",
                       MT_BYTES(c->state_to_come));
    n = f->fits ? snprintf(text, sizeof text, "%s the request%s would have fitted.", start, more)
                : snprintf(text, sizeof text,
                           "%s the request%s would not have fitted: %s would still lack.", start,
                           more, MT_BYTES(f->short_by));
    if (!f->fits && f->returned < f->dropped / 2 && n > 0 && (size_t)n < sizeof text) {
        if (f->returned == 0)
            (void)snprintf(text + n, sizeof text - (size_t)n,
                           " None of it would have left a whole segment empty.");
        else
            (void)snprintf(text + n, sizeof text - (size_t)n,
                           " Only %s of it would have left whole segments empty.",
                           MT_BYTES(f->returned));
    }
    w->text = mt_strndup(text, strlen(text));
    return w->text != NULL;
}

enum without { ENGINE, TRAINING, PENDING, RESIDUE, RESULT, GRAPH };

static bool is_left_out(const struct mt_moment *m, const struct mt_held *h, enum without what)
{
    switch (what) {
    case ENGINE: return h->role == MT_ROLE_KV_CACHE || h->role == MT_ROLE_ENGINE_WEIGHTS;
    case TRAINING: return mt_is_trainers(m, h->role);
    case PENDING: return h->pending;
    case RESIDUE: return mt_is_residue(m, h);
    case GRAPH: return h->event != UINT64_MAX && mt_is_unused_graph(m, h->event);
    case RESULT: return mt_is_last_result(m, h->event);
    }
    return false;
}

static int add_without(struct mt_cause *c, struct mt_moment *m, const char *id, enum without what,
                       const char *start)
{
    char text[TEXT];
    struct mt_fit f;
    uint64_t freed;
    for (uint32_t i = 0; i < m->n_held; i++)
        m->held[i].drop = is_left_out(m, &m->held[i], what);
    f = mt_moment_fit(m);
    freed = f.dropped;
    if (what == ENGINE && m->absent != 0) { /* bytes that are not on the card free nothing there */
        uint64_t have = m->oom->device_free + (f.returned > m->absent ? f.returned - m->absent : 0);
        uint64_t need = mt_moment_need(m, m->wish.request);
        f.fits = have >= need;
        f.short_by = f.fits ? 0 : need - have;
        mt_moment_all_fit(m, &f, have, need);
        freed = freed > m->absent ? freed - m->absent : 0;
    }
    /* A context takes room beside the sizes, so more bytes than m->absent may not be on the card.
     */
    (void)snprintf(text, sizeof text, "%s (%s%s)", start,
                   freed != 0 && freed != f.dropped ? "at most " : "", MT_BYTES(freed));
    return add_what_if(c, id, text, &f, freed);
}

/* By bytes alone: growth and what lies outside PyTorch have no place in the segments. */
static int add_without_bytes(struct mt_cause *c, const struct mt_moment *m, const char *id,
                             uint64_t freed, uint64_t request, const char *start)
{
    uint64_t need = mt_moment_need(m, request), have = m->oom->device_free + freed;
    struct mt_fit f = {have >= need, freed, freed, have >= need ? 0 : need - have};
    mt_moment_all_fit(m, &f, have + (m->laid_out ? m->oom->at.free_usable : 0), need);
    return add_what_if(c, id, start, &f, freed);
}

static int add_no_fragmentation(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_state *at = &m->oom->at;
    uint64_t have = at->free_usable + m->oom->device_free;
    struct mt_fit f = {have >= m->oom->request, at->free_usable, at->free_usable,
                       have >= m->oom->request ? 0 : m->oom->request - have};
    char text[TEXT];
    mt_moment_all_fit(m, &f, have, m->oom->request);
    (void)snprintf(text, sizeof text,
                   "Without fragmentation (%s free in the segments that serve it and %s on the "
                   "device, in one piece)",
                   MT_BYTES(at->free_usable), MT_BYTES(m->oom->device_free));
    return add_what_if(c, "no_fragmentation", text, &f, at->free_usable);
}

static bool scales_with_tokens(const struct mt_moment *m)
{
    unsigned p = m->phase, s = m->sub;
    if (s == MT_PH_OPTIMIZER || s == MT_PH_OPTIM_STATE_INIT || s == MT_PH_GRAD_CLIP ||
        s == MT_PH_GRAD_REDUCE || s == MT_PH_FSDP_UNSHARD || s == MT_PH_COMM)
        return false;
    return p == MT_PH_EVAL || mt_phase_is(p, MT_NEEDS_NO_ENGINE | MT_FORWARD_ONLY | MT_GENERATES);
}

static int add_halved_temporaries(struct mt_cause *c, const struct mt_moment *m)
{
    uint64_t request = scales_with_tokens(m) ? m->oom->request / 2 : m->oom->request;
    char text[TEXT];
    (void)snprintf(text, sizeof text, "With the temporaries of this phase halved (%s of %s%s)",
                   MT_BYTES(m->temporaries / 2), MT_BYTES(m->temporaries),
                   request != m->oom->request ? ", and the request with them" : "");
    return add_without_bytes(c, m, "half_temporaries", m->temporaries / 2, request, text);
}

static int add_without_training(struct mt_cause *c, struct mt_moment *m)
{
    char start[128];
    (void)snprintf(start, sizeof start, "With the %s%s offloaded during the rollout",
                   mt_is_trainers(m, MT_ROLE_PARAM) ? "trainer's " : "", mt_cause_trainers(m));
    return add_without(c, m, "training_offloaded", TRAINING, start);
}

int mt_cause_what_ifs(struct mt_cause *c, struct mt_moment *m)
{
    char text[TEXT];
    if (m->d->withheld != NULL || m->oom->request == 0)
        return 1;
    if (m->oom->at.holes_known && !add_no_fragmentation(c, m))
        return 0;
    if (mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) && m->engine != 0 &&
        !add_without(c, m, "engine_asleep", ENGINE,
                     "With the engine asleep, its KV cache and weights given back"))
        return 0;
    if (mt_phase_is(m->phase, MT_OF_ENGINE) && m->training != 0 && !add_without_training(c, m))
        return 0;
    if (m->temporaries != 0 && !add_halved_temporaries(c, m))
        return 0;
    if (m->pending != 0 &&
        !add_without(c, m, "no_pending_frees", PENDING, "Without frees that wait for a stream"))
        return 0;
    if (m->growth != 0) {
        (void)snprintf(text, sizeof text, "Without what grew from step to step (%s)",
                       MT_BYTES(m->growth));
        if (!add_without_bytes(c, m, "no_growth", m->growth, m->oom->request, text))
            return 0;
    }
    if (m->kept.n != 0) {
        (void)snprintf(text, sizeof text, "Without what this phase kept block by block (%s)",
                       MT_BYTES(m->kept.bytes));
        if (!add_without_bytes(c, m, "no_kept", m->kept.bytes, m->oom->request, text))
            return 0;
    }
    if (m->more != 0) {
        (void)snprintf(text, sizeof text,
                       "With as much in this pass as earlier ones had at this point (%s less)",
                       MT_BYTES(m->more));
        if (!add_without_bytes(c, m, "as_before", m->more,
                               mt_asked_more(c) ? c->before_most : m->oom->request, text))
            return 0;
    }
    if (m->graph.bytes != 0 &&
        !add_without(c, m, "no_graph", GRAPH, "Without what autograd kept of earlier passes"))
        return 0;
    if (m->result.bytes != 0 &&
        !add_without(c, m, "no_last_result", RESULT,
                     m->result.is_of_all ? "Without what was kept of earlier passes"
                                         : "Without the result of the pass before"))
        return 0;
    if (m->residue >= m->d->focus.live / 100 && m->residue != 0 &&
        !add_without(c, m, "no_residue", RESIDUE, "Without the temporaries of earlier phases"))
        return 0;
    if (m->outside != 0) {
        (void)snprintf(text, sizeof text,
                       "With nothing on the card but this process's PyTorch (%s)",
                       MT_BYTES(m->outside));
        return add_without_bytes(c, m, "no_foreign", m->outside, m->oom->request, text);
    }
    return 1;
}

const struct mt_what_if *mt_cause_what_if(const struct mt_cause *c, const char *id)
{
    for (uint32_t i = 0; i < c->what_ifs.n; i++)
        if (strcmp(c->what_ifs.p[i].id, id) == 0)
            return &c->what_ifs.p[i];
    return NULL;
}
