/* The evidence of a cause: sentences with numbers of the moment of the failure or of the peak, in
 * the order in which a report shows them. */
#include "analysis/cause/impl.h"
#include "analysis/cause/verdict.h"
#include "analysis/base/words.h"
#include "analysis/base/frames.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 1024 };

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

/* The three largest roles and what is not known, of a twentieth of the live bytes or more. told:
 * add_shape() has said what the logits hold. */
static int add_roles(struct mt_cause *c, const struct mt_moment *m, bool told)
{
    uint8_t by[MT_ROLE_COUNT];
    unsigned n = mt_role_order(m->role, by);
    for (unsigned i = 0; i < n; i++) {
        uint64_t bytes = m->role[by[i]];
        if (i >= 3 && !mt_role_is_gap(by[i]))
            continue;
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

static int add_growth(struct mt_cause *c, const struct mt_moment *m)
{
    char buf[MT_LABEL];
    uint32_t shown = 0;
    for (uint32_t i = 0; i < m->f->growth.n && shown < 3; i++) {
        const struct mt_growth *g = &m->f->growth.p[i];
        if (g->conf < MT_CONF_INFERRED || g->last <= g->first)
            continue;
        shown++;
        if (!mt_cause_evidence_add(
                c, g->last - g->first,
                "%s held %s and %s at the same point of the first and the last of %u steps.",
                mt_words_label(buf, g->label), MT_BYTES(g->first), MT_BYTES(g->last),
                (unsigned)g->n_steps))
            return 0;
        mt_cause_evidence_at(c, g->first_event, g->last_event);
    }
    if (c->bypassed_graph != 0 &&
        !mt_cause_evidence_add(c, c->bypassed_graph,
                               "%s were activations of %u earlier calls from %.160s, and no "
                               "backward pass that came after them let go of them.",
                               MT_BYTES(c->bypassed_graph), (unsigned)m->graph.passes,
                               c->unused_graph_line))
        return 0;
    if (c->retained_graph != 0 && c->bypassed_graph == 0 &&
        !mt_cause_evidence_add(c, c->retained_graph,
                               "%s were activations of the %u passes before, most from %.160s, and "
                               "the backward pass of none of them let go of them.",
                               MT_BYTES(c->retained_graph), (unsigned)m->graph.passes,
                               c->unused_graph_line))
        return 0;
    if (c->unused_graph != 0 &&
        !mt_cause_evidence_add(c, c->unused_graph,
                               "%s were activations of the %u pass%s before from the same line, "
                               "%.160s, and no backward pass came after %s.",
                               MT_BYTES(c->unused_graph), (unsigned)m->graph.passes,
                               m->graph.passes == 1 ? "" : "es", c->unused_graph_line,
                               m->graph.passes == 1 ? "it" : "them"))
        return 0;
    if (c->last_result != 0) {
        if (!mt_cause_evidence_add(c, c->last_result,
                                   c->keeps_results
                                       ? "%s was kept of earlier passes, and goes only when "
                                         "%.160s is over."
                                       : "%s was the result of the pass before, which goes only "
                                         "when %.160s has made it anew and assigns the same name.",
                                   MT_BYTES(c->last_result), c->last_result_line))
            return 0;
        mt_cause_evidence_at(c, m->result.first, (uint64_t)c->event);
    }
    if (m->kept.n != 0) {
        char label[MT_LABEL];
        (void)mt_stack_label(m->w->r->t, m->kept.stack, label, sizeof label);
        if (!mt_cause_evidence_add(c, m->kept.bytes,
                                   "%s kept %u blocks, in %u rounds of this phase %s more each "
                                   "time, and none was freed.",
                                   mt_words_label(buf, label), (unsigned)m->kept.n,
                                   (unsigned)m->kept.rounds,
                                   MT_BYTES(m->kept.bytes / m->kept.rounds)))
            return 0;
        mt_cause_evidence_at(c, m->kept.first, m->kept.last);
    }
    return 1;
}

static int add_shape(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *s)
{
    char of[200] = "", split[64] = "";
    if (s->elem == 0)
        return 1;
    if (s->models != NULL)
        (void)snprintf(of, sizeof of, " (the vocabulary of %.120s, a guess by the size alone)",
                       s->models);
    else if (s->is_guess)
        (void)snprintf(of, sizeof of,
                       ": a guess by the size, for no head of such a vocabulary is live");
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

/* The optimizer state that the first step set up, where memory ran out in the second step: that is
 * the first step to have the state from its start. */
static int add_first_step(struct mt_cause *c, const struct mt_moment *m)
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

/* A failure that the program caught: the state at the end of the trace is not the one that failed.
 */
static int add_what_followed(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    uint64_t n = 0, last = m->oom->event;
    for (uint64_t i = m->oom->event + 1; i < r->d->events.n; i++) {
        if (mt_event_at(r->d, i)->action != MT_ACT_ALLOC)
            continue;
        n++;
        last = i;
    }
    if (n < MT_GOES_ON)
        return 1;
    if (!mt_cause_evidence_add(
            c, 0, "The failure did not end the process: %" PRIu64 " allocations followed.", n))
        return 0;
    mt_cause_evidence_at(c, m->oom->event, last);
    return 1;
}

/* Failures that were caught. */
static int add_earlier_failures(struct mt_cause *c, const struct mt_moment *m)
{
    uint32_t n = m->d->oom_counts;
    return n == 0 ||
           mt_cause_evidence_add(c, 0, "%u request%s had failed before, and the program went on.",
                                 (unsigned)n, n == 1 ? "" : "s");
}

/* Of a library: said also where no failure counts, for PyTorch's history has them. */
static int add_tries(struct mt_cause *c, const struct mt_moment *m)
{
    return m->d->n_tries == 0 ||
           mt_cause_evidence_add(c, m->d->largest_try,
                                 "%" PRIu64 " request%s of at most %s failed and the operation did "
                                 "without, as one that asks for a workspace does; no job ends of "
                                 "that.",
                                 m->d->n_tries, m->d->n_tries == 1 ? "" : "s",
                                 MT_BYTES(m->d->largest_try));
}

static int add_to_come(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_to_come *t = &m->to_come;
    char of[48] = "";
    if (t->bytes == 0)
        return 1;
    if (t->kind == MT_TO_COME_COPY)
        return mt_cause_evidence_add(c, t->bytes,
                                     "It was the next tensor of a second model with the sizes of "
                                     "the first, in its order: %s of that were still to come.",
                                     MT_BYTES(t->bytes));
    if (t->kind == MT_TO_COME_STATE)
        return mt_cause_evidence_add(c, t->bytes,
                                     "By the gradients that had no state yet (%s for each) the "
                                     "step had still %s of state to make after this request.",
                                     t->each == 1   ? "one block"
                                     : t->each == 2 ? "two blocks"
                                                    : "three blocks",
                                     MT_BYTES(t->bytes));
    if (t->kind == MT_TO_COME_ROUND)
        return mt_cause_evidence_add(c, t->bytes,
                                     "The round before of the same loop went on from there to %s "
                                     "more, beside what is there now.",
                                     MT_BYTES(t->bytes));
    if (t->kind == MT_TO_COME_CALL)
        return mt_cause_evidence_add(c, t->bytes,
                                     "An earlier call of the same function asked for as much at "
                                     "this line, and went on from there to %s more.",
                                     MT_BYTES(t->bytes));
    if (t->kind == MT_TO_COME_LIST)
        return mt_cause_evidence_add(c, t->bytes,
                                     "The optimizer makes a block there for each of %u gradients "
                                     "before it goes on (foreach), and had made %u: %s more had "
                                     "to come.",
                                     (unsigned)t->all, (unsigned)t->done, MT_BYTES(t->bytes));
    if (t->kind == MT_TO_COME_LOGITS)
        return mt_cause_evidence_add(c, t->bytes,
                                     "The backward pass makes their gradient, %s more, while they "
                                     "are there.",
                                     MT_BYTES(t->bytes));
    if (t->like != 0)
        return mt_cause_evidence_add(
            c, t->bytes,
            "What an earlier pass went on to after its %s at this place is "
            "%s more here, in the sizes of this one.",
            MT_BYTES(t->like), MT_BYTES(t->bytes));
    if (t->all != 0)
        return mt_cause_evidence_add(c, t->bytes,
                                     "An earlier pass made %u such request%s, this one had made "
                                     "%u: after it that pass went on to %s more.",
                                     (unsigned)t->all, t->all == 1 ? "" : "s", (unsigned)t->done,
                                     MT_BYTES(t->bytes));
    if (t->layers != 0) /* so many the parameters have */
        (void)snprintf(of, sizeof of, " of %u", (unsigned)t->layers);
    return mt_cause_evidence_add(c, t->bytes,
                                 "This place had been come to in %u%s layers of this pass, and "
                                 "each left %s more live: after the request at least %s more had "
                                 "to come.",
                                 (unsigned)t->done + 1, of, MT_BYTES(t->each), MT_BYTES(t->bytes));
}

/* A batch or a sequence that is longer than those before it. */
static int add_before(struct mt_cause *c, const struct mt_moment *m)
{
    char times[32];
    if (!mt_asked_more(c))
        return 1;
    if (c->before_passes == 0)
        return mt_cause_evidence_add(
            c, c->request,
            "The same place had asked for %s at most in earlier calls: %s is %s "
            "times that.",
            MT_BYTES(c->before_most), MT_BYTES(m->oom->request), mt_asked_times(times, c));
    return mt_cause_evidence_add(
        c, c->request,
        "The same place had asked for %s at most in %u earlier pass%s: %s is %s times that. What "
        "runs through it grew: a longer sequence, larger images or a larger batch.",
        MT_BYTES(c->before_most), (unsigned)c->before_passes, c->before_passes == 1 ? "" : "es",
        MT_BYTES(m->oom->request), mt_asked_times(times, c));
}

/* A pass that holds more than the ones before it when they came so far. */
static int add_more(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_to_come *t = &m->to_come;
    if (m->more == 0)
        return 1;
    return mt_cause_evidence_add(c, t->pass_now,
                                 "This pass had added %s by then, no earlier one more than %s when "
                                 "it came to that request.",
                                 MT_BYTES(t->pass_now), MT_BYTES(t->pass_before));
}

static int add_failure(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_oom *o = m->oom;
    if (m->d->sums_only)
        return mt_cause_evidence_add(c, o->request,
                                     "It asked for %s; %s of what PyTorch held was free.",
                                     MT_BYTES(o->request), MT_BYTES(o->at.reserved_free)) &&
               add_to_come(c, m);
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
    if (!add_before(c, m) || !add_more(c, m) || !add_to_come(c, m))
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

static int add_engine(struct mt_cause *c, const struct mt_moment *m)
{
    if (!mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) || m->engine == 0 || m->oom == NULL)
        return 1;
    if (!mt_cause_evidence_add(c, m->engine,
                               "%s of KV cache and engine weights stood in PyTorch's books in this "
                               "phase, which needs neither.",
                               MT_BYTES(m->engine)))
        return 0;
    if (m->d->sums_only)
        return mt_cause_evidence_add(c, m->engine,
                                     "An engine that sleeps unmaps them without "
                                     "telling PyTorch: whether they were there, this "
                                     "recording does not tell.");
    return m->engine_private == 0 || m->d->capacity != 0 ||
           mt_cause_evidence_add(c, m->engine_private,
                                 "%s of it lies in private pools: an engine that sleeps unmaps "
                                 "them without telling PyTorch. Name the card's "
                                 "size with --capacity, or record the job, to know.",
                                 MT_BYTES(m->engine_private));
}

/* Copies of the weights, and what else is there more than once. */
static int add_copies(struct mt_cause *c, const struct mt_moment *m)
{
    char text[TEXT / 2];
    for (uint32_t i = 0; i < m->n_copies; i++)
        if (!mt_cause_evidence_add(c, m->copies[i].bytes, "%s",
                                   mt_copies_words(m, &m->copies[i], text, sizeof text)))
            return 0;
    if (m->old_state != 0 &&
        !mt_cause_evidence_add(c, m->old_state, "%s", mt_old_state_words(m, text, sizeof text)))
        return 0;
    for (uint32_t i = 0; i < m->n_made; i++)
        if (m->made[i].how == MT_MADE_SPREAD &&
            !mt_cause_evidence_add(c, m->made[i].bytes, "%s",
                                   mt_spread_words(m, &m->made[i], text, sizeof text)))
            return 0;
    return m->remade == 0 ||
           mt_cause_evidence_add(c, m->remade, "%s", mt_remade_words(m, text, sizeof text));
}

int mt_cause_evidence(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape)
{
    if (m->d->withheld != NULL)
        return 1;
    if (m->oom != NULL && (!add_failure(c, m) || !add_earlier_failures(c, m) || !add_tries(c, m) ||
                           !add_what_followed(c, m) || !add_shape(c, m, shape)))
        return 0;
    if (m->oom == NULL && !add_tries(c, m))
        return 0;
    if (m->oom == NULL &&
        (c->kind != MT_CAUSE_LEAK || c->sentence != NULL)) /* cause/forecast.c has said it */
        return 1;
    if (!add_growth(c, m) || !add_copies(c, m) || !add_engine(c, m) ||
        !add_roles(c, m, m->oom != NULL && shape->elem != 0) || !add_first_step(c, m))
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
