/* The counter-factuals, the evidence and the sentence of a cause. Every number in them is one of
 * the moment. */
#include "analysis/cause/impl.h"
#include "analysis/cause/verdict.h"
#include "analysis/base/words.h"
#include "analysis/base/frames.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 1024, LABEL = 160 };
/* allocations after a failure: more than an exception makes on its way up */
enum { GOES_ON = 100 };

/* A C++ name may be pages long. */
static const char *cut(char *buf, const char *label)
{
    size_t n = strlen(label);
    if (n < LABEL)
        return label;
    memcpy(buf, label, LABEL - 4);
    memcpy(buf + LABEL - 4, "...", 4);
    return buf;
}

int mt_cause_evidence_add(struct mt_cause *c, uint64_t bytes, const char *fmt, ...)
{
    char text[TEXT];
    struct mt_evidence *e = MT_VEC_PUSH(&c->evidence);
    va_list ap;
    if (e == NULL)
        return 0;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    e->bytes = bytes;
    e->event = e->since = c->event;
    e->text = mt_strndup(text, strlen(text));
    return e->text != NULL;
}

void mt_cause_evidence_at(struct mt_cause *c, uint64_t since, uint64_t event)
{
    struct mt_evidence *e = &c->evidence.p[c->evidence.n - 1];
    e->since = (int64_t)since;
    e->event = (int64_t)event;
}

/* `start` reads like "With the engine asleep (12.00 GiB)". */
static int what_if(struct mt_cause *c, const char *id, const char *start, const struct mt_fit *f,
                   uint64_t freed)
{
    char text[TEXT];
    struct mt_what_if *w = MT_VEC_PUSH(&c->what_ifs);
    int n;
    if (w == NULL)
        return 0;
    w->id = id;
    w->fits = f->fits;
    w->freed = freed;
    w->short_by = f->short_by;
    n = f->fits ? snprintf(text, sizeof text, "%s the request would have fitted.", start)
                : snprintf(text, sizeof text,
                           "%s the request would not have fitted: %s would still lack.", start,
                           MT_BYTES(f->short_by));
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

enum without { ENGINE, TRAINING, PENDING, RESIDUE };

static bool is_left_out(const struct mt_moment *m, const struct mt_held *h, enum without what)
{
    bool here = h->event != UINT64_MAX && h->event >= m->began;
    switch (what) {
    case ENGINE: return h->role == MT_ROLE_KV_CACHE || h->role == MT_ROLE_ENGINE_WEIGHTS;
    case TRAINING: return mt_is_trainers(m, h->role);
    case PENDING: return h->pending;
    case RESIDUE:
        return !here && !h->pending && h->event != UINT64_MAX &&
               (mt_is_transient(h->role) || h->role == MT_ROLE_WEIGHT_SYNC);
    }
    return false;
}

static int without(struct mt_cause *c, struct mt_moment *m, const char *id, enum without what,
                   const char *start)
{
    char text[TEXT];
    struct mt_fit f;
    uint64_t freed;
    for (uint32_t i = 0; i < m->n_held; i++)
        m->held[i].drop = is_left_out(m, &m->held[i], what);
    f = mt_moment_fit(m);
    freed = f.dropped;
    if (what == ENGINE && m->absent != 0) { /* what is not physically there frees nothing */
        uint64_t have = m->oom->device_free + (f.returned > m->absent ? f.returned - m->absent : 0);
        uint64_t need = mt_moment_need(m, m->wish.request);
        f.fits = have >= need;
        f.short_by = f.fits ? 0 : need - have;
        freed = freed > m->absent ? freed - m->absent : 0;
    }
    /* beside what is counted lies a context, so more may be absent than the sizes show */
    (void)snprintf(text, sizeof text, "%s (%s%s)", start,
                   freed != 0 && freed != f.dropped ? "at most " : "", MT_BYTES(freed));
    return what_if(c, id, text, &f, freed);
}

/* By bytes alone: what grew, or lies outside, has no place in the segments here. */
static int without_bytes(struct mt_cause *c, const struct mt_moment *m, const char *id,
                         uint64_t freed, uint64_t request, const char *start)
{
    uint64_t need = mt_moment_need(m, request), have = m->oom->device_free + freed;
    struct mt_fit f = {have >= need, freed, freed, have >= need ? 0 : need - have};
    return what_if(c, id, start, &f, freed);
}

static int no_fragmentation(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_state *at = &m->oom->at;
    uint64_t have = at->free_usable + m->oom->device_free;
    struct mt_fit f = {have >= m->oom->request, at->free_usable, at->free_usable,
                       have >= m->oom->request ? 0 : m->oom->request - have};
    char text[TEXT];
    (void)snprintf(text, sizeof text,
                   "Without fragmentation (%s free in the segments that serve it and %s on the "
                   "device, in one piece)",
                   MT_BYTES(at->free_usable), MT_BYTES(m->oom->device_free));
    return what_if(c, "no_fragmentation", text, &f, at->free_usable);
}

static bool scales_with_tokens(const struct mt_moment *m)
{
    unsigned p = m->phase, s = m->sub;
    if (s == MT_PH_OPTIMIZER || s == MT_PH_OPTIM_STATE_INIT || s == MT_PH_GRAD_CLIP ||
        s == MT_PH_GRAD_REDUCE || s == MT_PH_FSDP_UNSHARD || s == MT_PH_COMM)
        return false;
    return mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) || p == MT_PH_ROLLOUT_GENERATE ||
           p == MT_PH_ROLLOUT_PREFILL || p == MT_PH_INFER || p == MT_PH_REWARD || p == MT_PH_EVAL;
}

static int halved(struct mt_cause *c, const struct mt_moment *m)
{
    uint64_t request = scales_with_tokens(m) ? m->oom->request / 2 : m->oom->request;
    char text[TEXT];
    (void)snprintf(text, sizeof text, "With the temporaries of this phase halved (%s of %s%s)",
                   MT_BYTES(m->temporaries / 2), MT_BYTES(m->temporaries),
                   request != m->oom->request ? ", and the request with them" : "");
    return without_bytes(c, m, "half_temporaries", m->temporaries / 2, request, text);
}

const char *mt_cause_trainers(const struct mt_moment *m)
{
    return mt_is_trainers(m, MT_ROLE_PARAM) && m->role[MT_ROLE_PARAM] != 0
               ? "parameters, optimizer state and gradients"
               : "optimizer state and gradients";
}

static int without_training(struct mt_cause *c, struct mt_moment *m)
{
    char start[128];
    (void)snprintf(start, sizeof start, "With the %s%s offloaded during the rollout",
                   mt_is_trainers(m, MT_ROLE_PARAM) ? "trainer's " : "", mt_cause_trainers(m));
    return without(c, m, "training_offloaded", TRAINING, start);
}

int mt_cause_what_ifs(struct mt_cause *c, struct mt_moment *m)
{
    char text[TEXT];
    if (m->d->withheld != NULL || m->oom->request == 0)
        return 1;
    if (m->oom->at.holes_known && !no_fragmentation(c, m))
        return 0;
    if (mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) && m->engine != 0 &&
        !without(c, m, "engine_asleep", ENGINE,
                 "With the engine asleep, its KV cache and weights given back"))
        return 0;
    if (mt_phase_is(m->phase, MT_OF_ENGINE) && m->training != 0 && !without_training(c, m))
        return 0;
    if (m->temporaries != 0 && !halved(c, m))
        return 0;
    if (m->pending != 0 &&
        !without(c, m, "no_pending_frees", PENDING, "Without frees that wait for a stream"))
        return 0;
    if (m->growth != 0) {
        (void)snprintf(text, sizeof text, "Without what grew from step to step (%s)",
                       MT_BYTES(m->growth));
        if (!without_bytes(c, m, "no_growth", m->growth, m->oom->request, text))
            return 0;
    }
    if (m->kept.n != 0) {
        (void)snprintf(text, sizeof text, "Without what this phase kept block by block (%s)",
                       MT_BYTES(m->kept.bytes));
        if (!without_bytes(c, m, "no_kept", m->kept.bytes, m->oom->request, text))
            return 0;
    }
    if (m->residue >= m->d->focus.live / 100 && m->residue != 0 &&
        !without(c, m, "no_residue", RESIDUE, "Without the temporaries of earlier phases"))
        return 0;
    if (m->outside != 0) {
        (void)snprintf(text, sizeof text,
                       "With nothing on the card but this process's PyTorch (%s)",
                       MT_BYTES(m->outside));
        return without_bytes(c, m, "no_foreign", m->outside, m->oom->request, text);
    }
    return 1;
}

/* Roles, largest first; returns how many are not zero. */
static uint32_t order(const uint64_t role[MT_ROLE_COUNT], uint8_t by[MT_ROLE_COUNT])
{
    uint32_t n = 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++) {
        uint32_t k = n;
        if (role[r] == 0)
            continue;
        for (; k > 0 && role[by[k - 1]] < role[r]; k--)
            by[k] = by[k - 1];
        by[k] = (uint8_t)r;
        n++;
    }
    return n;
}

/* told: of_shape() has said what the logits hold. */
static int of_roles(struct mt_cause *c, const struct mt_moment *m, bool told)
{
    uint8_t by[MT_ROLE_COUNT];
    uint32_t n = order(m->role, by);
    for (uint32_t i = 0; i < n && i < 3; i++) {
        uint64_t bytes = m->role[by[i]];
        if (told && by[i] == MT_ROLE_LOGITS)
            continue;
        if (m->d->focus.live == 0 || bytes < m->d->focus.live / 20)
            continue;
        if (by[i] == MT_ROLE_UNKNOWN
                ? !mt_cause_evidence_add(c, bytes,
                                         "For %s of the %s live no role was recognised: no frame, "
                                         "size or lifetime says what they are for.",
                                         MT_BYTES(bytes), MT_BYTES(m->d->focus.live))
                : !mt_cause_evidence_add(c, bytes, "%s of the %s live: %s.", MT_BYTES(bytes),
                                         MT_BYTES(m->d->focus.live),
                                         mt_role_words((enum mt_role)by[i])))
            return 0;
    }
    return 1;
}

int mt_cause_of_growth(struct mt_cause *c, const struct mt_moment *m)
{
    char buf[LABEL];
    uint32_t shown = 0;
    for (uint32_t i = 0; i < m->f->growth.n && shown < 3; i++) {
        const struct mt_growth *g = &m->f->growth.p[i];
        if (g->conf < MT_CONF_INFERRED || g->last <= g->first)
            continue;
        shown++;
        if (!mt_cause_evidence_add(
                c, g->last - g->first,
                "%s held %s and %s at the same point of the first and the last of %u steps.",
                cut(buf, g->label), MT_BYTES(g->first), MT_BYTES(g->last), (unsigned)g->n_steps))
            return 0;
        mt_cause_evidence_at(c, g->first_event, g->last_event);
    }
    if (m->kept.n != 0) {
        char label[LABEL];
        (void)mt_stack_label(m->w->r->t, m->kept.stack, label, sizeof label);
        if (!mt_cause_evidence_add(c, m->kept.bytes,
                                   "%s kept %u blocks of %s or a little more, one after each round "
                                   "of this phase, and none was freed.",
                                   cut(buf, label), (unsigned)m->kept.n, MT_BYTES(m->kept.each)))
            return 0;
        mt_cause_evidence_at(c, m->kept.first, m->kept.last);
    }
    return 1;
}

static int of_shape(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *s)
{
    char of[160] = "", split[64] = "";
    if (s->elem == 0)
        return 1;
    if (s->models != NULL)
        (void)snprintf(of, sizeof of, " (the vocabulary of %.120s)", s->models);
    if (s->split > 1)
        (void)snprintf(split, sizeof split, ", a vocabulary of %" PRIu64 " split by %" PRIu64,
                       s->vocab, s->split);
    if (!mt_cause_evidence_add(
            c, m->oom->request, "%s is %" PRIu64 " tokens x %" PRIu64 " x %" PRIu64 " bytes%s%s.",
            MT_BYTES(m->oom->request), s->tokens, s->vocab / s->split, s->elem, split, of))
        return 0;
    return m->role[MT_ROLE_LOGITS] == 0 ||
           mt_cause_evidence_add(c, m->role[MT_ROLE_LOGITS],
                                 "%s of the %s live were logits and their gradient already.",
                                 MT_BYTES(m->role[MT_ROLE_LOGITS]), MT_BYTES(m->d->focus.live));
}

/* Optimizer state that the first step set up, when the second is the first to have it from its
 * start. */
static int of_first_step(struct mt_cause *c, const struct mt_moment *m)
{
    uint64_t state = 0, since = UINT64_MAX, last = 0;
    int64_t at = m->d->focus.event;
    if (m->f->steps.n < 2 || at < 0 || (uint64_t)at <= m->f->steps.p[0].last ||
        (uint64_t)at > m->f->steps.p[1].last)
        return 1;
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->role != MT_ROLE_OPTIM_STATE || h->event > m->f->steps.p[0].last ||
            h->event < m->f->steps.p[0].first)
            continue;
        state += h->size;
        since = h->event < since ? h->event : since;
        last = h->event > last ? h->event : last;
    }
    if (state < m->d->focus.live / 20 || state == 0)
        return 1;
    if (!mt_cause_evidence_add(c, state,
                               "%s of optimizer state appeared in the first step, so the second is "
                               "the first to have it from its start.",
                               MT_BYTES(state)))
        return 0;
    mt_cause_evidence_at(c, since, last);
    return 1;
}

/* A failure that was caught: the state at the end is not the one that failed. */
static int of_what_followed(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    uint64_t n = 0, last = m->oom->event;
    char more[64] = "";
    for (uint64_t i = m->oom->event + 1; i < r->d->events.n; i++) {
        if (mt_event_at(r->d, i)->action != MT_ACT_ALLOC)
            continue;
        n++;
        last = i;
    }
    if (n < GOES_ON)
        return 1;
    if (m->d->ooms.n > 1)
        (void)snprintf(more, sizeof more, ", and %u more failed request%s",
                       (unsigned)(m->d->ooms.n - 1), m->d->ooms.n == 2 ? "" : "s");
    if (!mt_cause_evidence_add(c, 0,
                               "The failure did not end the process: %" PRIu64
                               " allocations followed%s; this report is of the first failure.",
                               n, more))
        return 0;
    mt_cause_evidence_at(c, m->oom->event, last);
    return 1;
}

static int of_failure(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_oom *o = m->oom;
    if (o->request == 0 && !mt_cause_evidence_add(c, 0,
                                                  "The size in the entry of the failure is none "
                                                  "that a device could have, so the request is not "
                                                  "known; %s was free on the device.",
                                                  MT_BYTES(o->device_free)))
        return 0;
    if (o->request != 0 &&
        !mt_cause_evidence_add(
            c, o->request,
            "It asked for %s, which needs a segment of %s; %s was free on the device.",
            MT_BYTES(o->request), MT_BYTES(mt_moment_need(m, o->request)),
            MT_BYTES(o->device_free)))
        return 0;
    if (o->request != 0 && o->at.holes_known &&
        !mt_cause_evidence_add(
            c, o->at.largest_usable,
            "The largest hole that could serve it had %s, all such holes together %s.",
            MT_BYTES(o->at.largest_usable), MT_BYTES(o->at.free_usable)))
        return 0;
    if (m->absent != 0 &&
        !mt_cause_evidence_add(c, m->absent,
                               "Reserved and free bytes are %s more than the card has: so much of "
                               "what is reserved was not physically there "
                               "(an engine that sleeps leaves its blocks in PyTorch's books).",
                               MT_BYTES(m->absent)))
        return 0;
    return m->outside == 0 ||
           mt_cause_evidence_add(c, m->outside,
                                 "%s of the card's %s was neither reserved here nor free: "
                                 "contexts, NCCL, cuBLAS, other processes.",
                                 MT_BYTES(m->outside), MT_BYTES(m->d->capacity));
}

static int of_engine(struct mt_cause *c, const struct mt_moment *m)
{
    if (!mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) || m->engine == 0 || m->oom == NULL)
        return 1;
    if (!mt_cause_evidence_add(c, m->engine,
                               "%s of KV cache and engine weights stood in PyTorch's books in this "
                               "phase, which needs neither.",
                               MT_BYTES(m->engine)))
        return 0;
    return m->engine_private == 0 || m->d->capacity != 0 ||
           mt_cause_evidence_add(c, m->engine_private,
                                 "%s of it lies in private pools: an engine that sleeps unmaps "
                                 "them without telling PyTorch. Name the card's "
                                 "size with --capacity, or record the job, to know.",
                                 MT_BYTES(m->engine_private));
}

int mt_cause_evidence(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape)
{
    if (m->d->withheld != NULL)
        return 1;
    if (m->oom != NULL && (!of_failure(c, m) || !of_what_followed(c, m) || !of_shape(c, m, shape)))
        return 0;
    if (m->oom == NULL &&
        (c->kind != MT_CAUSE_LEAK || c->sentence != NULL)) /* cause/forecast.c has said it */
        return 1;
    if (!mt_cause_of_growth(c, m) || !of_engine(c, m) ||
        !of_roles(c, m, m->oom != NULL && shape->elem != 0) || !of_first_step(c, m))
        return 0;
    if (m->pending != 0 && m->pending >= m->d->focus.live / 20 &&
        !mt_cause_evidence_add(
            c, m->pending,
            "%s had been freed by the program and waited for another stream (record_stream).",
            MT_BYTES(m->pending)))
        return 0;
    if (m->residue != 0 && m->residue >= m->d->focus.live / 20 &&
        !mt_cause_evidence_add(c, m->residue,
                               "%s of temporaries from earlier phases were still live.",
                               MT_BYTES(m->residue)))
        return 0;
    return c->n_pins_all == 0 ||
           mt_cause_evidence_add(
               c, c->pinned_free, "%s is free in %" PRIu64 " segment%s that live blocks hold.",
               MT_BYTES(c->pinned_free), c->n_pins_all, c->n_pins_all == 1 ? "" : "s");
}

static int said(struct mt_cause *c, const char *text)
{
    c->sentence = mt_strndup(text, strlen(text));
    return c->sentence != NULL;
}

static void capacity(char *s, size_t cap, const struct mt_moment *m)
{
    uint8_t by[MT_ROLE_COUNT];
    uint32_t n = order(m->role, by);
    bool vast = m->oom != NULL && m->oom->request > m->visible;
    int k;
    if (vast) { /* then what was live decides nothing */
        (void)snprintf(s, cap,
                       "Capacity: the request of %s is larger than what was reserved here and free "
                       "on the device together, %s.",
                       MT_BYTES(m->oom->request), MT_BYTES(m->visible));
        return;
    }
    k = snprintf(s, cap, "Capacity: what was live filled the card");
    if (n != 0 && k > 0 && (size_t)k < cap)
        k += snprintf(s + k, cap - (size_t)k, ", %s of it %s", MT_BYTES(m->role[by[0]]),
                      mt_role_words((enum mt_role)by[0]));
    if (n > 1 && k > 0 && (size_t)k < cap)
        k += snprintf(s + k, cap - (size_t)k, " and %s %s", MT_BYTES(m->role[by[1]]),
                      mt_role_words((enum mt_role)by[1]));
    if (m->absent != 0 && k > 0 && (size_t)k < cap)
        k += snprintf(s + k, cap - (size_t)k, "; %s of what PyTorch counts was not on the card",
                      MT_BYTES(m->absent));
    if (k > 0 && (size_t)k < cap)
        (void)snprintf(s + k, cap - (size_t)k, ".");
}

static void fragmentation(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m)
{
    char buf[LABEL], ph[128];
    const struct mt_pin *p = c->pins.n != 0 ? &c->pins.p[0] : NULL;
    if (p == NULL) {
        (void)snprintf(
            s, cap, "Fragmentation: %s was free in pieces that are each too small for %s.",
            MT_BYTES(m->oom->at.holes_known ? m->oom->at.free_usable : m->oom->at.reserved_free),
            MT_BYTES(c->request));
        return;
    }
    (void)snprintf(
        s, cap,
        "Fragmentation: %s was free in %" PRIu64 " segment%s that live blocks hold, none with a "
        "hole of %s; the most, %s, is held by %s from %s.",
        MT_BYTES(c->pinned_free), c->n_pins_all, c->n_pins_all == 1 ? "" : "s",
        MT_BYTES(c->request), MT_BYTES(p->free), cut(buf, p->label),
        mt_words_phase(ph, sizeof ph, (enum mt_phase)p->attr.phase, (enum mt_phase)p->attr.sub));
}

static void giant(char *s, size_t cap, const struct mt_moment *m, const struct mt_shape *sh)
{
    uint64_t sum = m->oom->request + m->role[MT_ROLE_LOGITS];
    if (sh->elem == 0 && m->oom->request > m->visible)
        (void)snprintf(s, cap,
                       "One giant tensor: the request of %s alone is more than the %s that were "
                       "reserved or free.",
                       MT_BYTES(m->oom->request), MT_BYTES(m->visible));
    else if (sh->elem == 0)
        (void)snprintf(s, cap,
                       "One giant tensor: the request of %s alone is %u %% of the %s that were "
                       "reserved or free.",
                       MT_BYTES(m->oom->request),
                       (unsigned)(m->oom->request * 100 / (m->visible != 0 ? m->visible : 1)),
                       MT_BYTES(m->visible));
    else
        (void)snprintf(s, cap,
                       "One giant tensor: the request is logits of %" PRIu64
                       " tokens (%s), and with those already live they make "
                       "%s%s the %s that were reserved or free.",
                       sh->tokens, MT_BYTES(m->oom->request), MT_BYTES(sum),
                       sum <= m->visible ? " of" : ", more than", MT_BYTES(m->visible));
}

static void stale(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m)
{
    char ph[128];
    (void)mt_words_phase(ph, sizeof ph, m->phase, MT_PH_NONE);
    if (mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE))
        (void)snprintf(
            s, cap,
            "Rollout memory still held: %s of KV cache and engine weights were there in %s%s.",
            MT_BYTES(m->engine), ph,
            c->conf == MT_CONF_LOW ? ", unless the engine had unmapped them (sleep mode), which a "
                                     "snapshot does not show"
                                   : "");
    else
        (void)snprintf(s, cap, "Training memory still held: %s of %s were there in %s.",
                       MT_BYTES(m->training), mt_cause_trainers(m), ph);
}

/* Of the temporaries that outlived their phase: where the largest block is from. */
static const struct mt_held *left_by(const struct mt_moment *m)
{
    const struct mt_held *best = NULL;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (is_left_out(m, &m->held[i], RESIDUE) && (best == NULL || m->held[i].size > best->size))
            best = &m->held[i];
    return best;
}

static void leak(char *s, size_t cap, const struct mt_moment *m)
{
    char buf[LABEL], ph[128], now[128];
    const struct mt_growth *g = NULL;
    const struct mt_held *h = left_by(m);
    for (uint32_t i = 0; i < m->f->growth.n && g == NULL; i++)
        if (m->f->growth.p[i].conf >= MT_CONF_INFERRED &&
            m->f->growth.p[i].last > m->f->growth.p[i].first)
            g = &m->f->growth.p[i];
    if (g != NULL)
        (void)snprintf(
            s, cap,
            "Growth from step to step: %s over %u steps, most of it (%s per step) held by %s%s.",
            MT_BYTES(m->growth), (unsigned)g->n_steps,
            MT_BYTES(g->slope > 0 && g->slope < 1e18 ? (uint64_t)g->slope : 0), cut(buf, g->label),
            m->oom == NULL ? "; nothing has failed yet" : "");
    else if (m->kept.n != 0)
        (void)snprintf(s, cap,
                       "Growth inside %s: %s in %u blocks that were added one by one and kept; "
                       "each pass adds %s.",
                       m->phase == MT_PH_UNATTRIBUTED
                           ? "one stretch without steps"
                           : mt_words_phase(now, sizeof now, m->phase, MT_PH_NONE),
                       MT_BYTES(m->kept.bytes), (unsigned)m->kept.n, MT_BYTES(m->kept.each));
    else
        (void)snprintf(s, cap,
                       "Memory left behind: %s of temporaries from earlier phases were still live "
                       "in %s, the largest of %s from %s.",
                       MT_BYTES(m->residue), mt_words_phase(now, sizeof now, m->phase, MT_PH_NONE),
                       MT_BYTES(h != NULL ? h->size : 0),
                       h != NULL ? mt_words_phase(ph, sizeof ph, (enum mt_phase)h->attr.phase,
                                                  (enum mt_phase)h->attr.sub)
                                 : "a phase that could not be told");
}

int mt_cause_say(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape)
{
    char s[TEXT] = "";
    if (c->sentence != NULL) /* a forecast */
        return 1;
    switch (c->kind) {
    case MT_CAUSE_NONE:
        if (m->oom != NULL)
            (void)snprintf(s, sizeof s, "The cause cannot be told: %.600s.",
                           m->d->withheld != NULL ? m->d->withheld
                           : m->oom->request == 0 ? "the size of the request is not known"
                                                  : "the state at the failure is not known");
        break;
    case MT_CAUSE_CAPACITY: capacity(s, sizeof s, m); break;
    case MT_CAUSE_FRAGMENTATION: fragmentation(s, sizeof s, c, m); break;
    case MT_CAUSE_GIANT_TENSOR: giant(s, sizeof s, m, shape); break;
    case MT_CAUSE_STALE_ENGINE: stale(s, sizeof s, c, m); break;
    case MT_CAUSE_LEAK: leak(s, sizeof s, m); break;
    case MT_CAUSE_PENDING_FREES:
        (void)snprintf(s, sizeof s,
                       "Frees that wait: %s had been freed by the program, and another stream had "
                       "not finished with them "
                       "(record_stream); without them the request would have fitted.",
                       MT_BYTES(m->pending));
        break;
    case MT_CAUSE_FOREIGN:
        (void)snprintf(s, sizeof s,
                       "Memory outside this process's PyTorch: %s of the card's %s was neither "
                       "reserved here nor free (contexts, "
                       "NCCL, cuBLAS, other processes).",
                       MT_BYTES(m->outside), MT_BYTES(m->d->capacity));
        break;
    case MT_CAUSE_LIMIT:
        (void)snprintf(s, sizeof s,
                       "A limit: the device still had %s, enough for the segment of %s that the "
                       "request needs.",
                       MT_BYTES(m->oom->device_free), MT_BYTES(mt_moment_need(m, m->oom->request)));
        break;
    case MT_CAUSE_HOST:
        (void)snprintf(s, sizeof s,
                       "Host memory: the pinned memory of the host ran out, not that of a GPU.");
        break;
    case MT_CAUSE_COUNT: break;
    }
    return said(c, s);
}
