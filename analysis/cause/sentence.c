/* The sentence of a cause, and the words that it shares with its evidence. */
#include "analysis/cause/impl.h"
#include "analysis/cause/verdict.h"
#include "analysis/base/frames.h"
#include "analysis/base/operation.h"
#include "analysis/base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* RECORDED: a part of what is live that is worth a sentence; WORTH: that is worth a word beside a
 * line that holds most. Chosen by hand. */
enum { TEXT = 1024, RECORDED = 10, WORTH = 50 };

const char *mt_cause_trainers(const struct mt_moment *m)
{
    return mt_is_trainers(m, MT_ROLE_PARAM) && m->role[MT_ROLE_PARAM] != 0
               ? "parameters, optimizer state and gradients"
               : "optimizer state and gradients";
}

static int keep_sentence(struct mt_cause *c, const char *text)
{
    c->sentence = mt_strndup(text, strlen(text));
    return c->sentence != NULL;
}

/* A pass that had more to do than the ones before it. */
static void write_more(char *s, size_t cap, const struct mt_moment *m)
{
    struct mt_frame_view v;
    int k = snprintf(s, cap,
                     "This pass had more to do: it had added %s where earlier ones had added %s at "
                     "most",
                     MT_BYTES(m->to_come.pass_now), MT_BYTES(m->to_come.pass_before));
    if (m->more_line != 0 && k > 0 && (size_t)k < cap) {
        mt_frame_describe(m->w->r->t, m->more_line, &v);
        k +=
            snprintf(s + k, cap - (size_t)k, "; of the difference most is at %s:%u %s, %s after %s",
                     v.file, v.line, v.name, MT_BYTES(m->more_now), MT_BYTES(m->more_before));
    } else if (k > 0 && (size_t)k < cap) { /* by many lines: what they are for */
        uint8_t by[MT_ROLE_COUNT];
        unsigned n = mt_role_order(m->role, by);
        for (unsigned i = 0, told = 0; i < n && told < 2 && k > 0 && (size_t)k < cap; i++) {
            if (!mt_is_transient(by[i]) && by[i] != MT_ROLE_LOGITS) /* of no pass */
                continue;
            k += snprintf(s + k, cap - (size_t)k, "%s%s%s %s", told == 0 ? "; " : " and ",
                          MT_BYTES(m->role[by[i]]), told == 0 ? " of what was live is" : "",
                          mt_role_words((enum mt_role)by[i]));
            told++;
        }
    }
    if (k > 0 && (size_t)k < cap)
        (void)snprintf(s + k, cap - (size_t)k, ".");
}

/* What was live: the largest of what no role is known of, by its line, where that is more than any
 * role; then roles, two parts in all. Returns the length. */
static int write_parts(char *s, size_t cap, const struct mt_moment *m)
{
    uint8_t by[MT_ROLE_COUNT];
    unsigned n = mt_role_order(m->role, by), parts = 0;
    char label[MT_LABEL], buf[MT_LABEL], by_op[128];
    int k = 0;
    if (m->unclaimed.bytes != 0) {
        bool told = mt_stack_operation(m->w->r->t, m->unclaimed.stack, by_op, sizeof by_op);
        (void)mt_stack_label(m->w->r->t, m->unclaimed.stack, label, sizeof label);
        k = snprintf(s, cap, ", %s of it %s%s%s, made at %s", MT_BYTES(m->unclaimed.bytes),
                     m->unclaimed.is_data ? "data of the job's own" : "tensors",
                     told && !m->unclaimed.is_data ? " of " : "",
                     told && !m->unclaimed.is_data ? by_op : "", mt_words_label(buf, label));
        parts++;
    }
    for (unsigned i = 0; i < n && parts < 2 && k >= 0 && (size_t)k < cap; i++) {
        if (by[i] == MT_ROLE_UNKNOWN ||
            (m->unclaimed.bytes != 0 && m->role[by[i]] < m->d->focus.live / WORTH) ||
            (parts != 0 && mt_role_is_gap(by[i])) ||
            (by[i] == MT_ROLE_DATA && m->unclaimed.is_data))
            continue;
        k += snprintf(s + k, cap - (size_t)k, "%s %s%s%s",
                      parts == 0                ? ","
                      : m->unclaimed.bytes != 0 ? ", and"
                                                : " and",
                      MT_BYTES(m->role[by[i]]), parts == 0 ? " of it " : " ",
                      mt_role_words((enum mt_role)by[i]));
        parts++;
    }
    return k;
}

/* A request out of proportion to what came before. */
static void write_far_more(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m)
{
    char times[MT_TIMES];
    (void)snprintf(s, cap,
                   "A request out of proportion: %s, %s times the %s that this place had asked for "
                   "before, as much as would have fitted. What runs through it grew: one long "
                   "input, and others padded to its length, a larger image or a larger batch.",
                   MT_BYTES(m->oom->request), mt_asked_times(times, c),
                   MT_BYTES(m->to_come.before_most));
}

static void write_capacity(char *s, size_t cap, const struct mt_moment *m)
{
    bool vast = m->oom != NULL && m->oom->request > m->visible;
    int k;
    if (vast) { /* the request alone is too large, whatever was live */
        (void)snprintf(s, cap,
                       "Capacity: the request of %s is larger than what was reserved here and free "
                       "on the device together, %s.",
                       MT_BYTES(m->oom->request), MT_BYTES(m->visible));
        return;
    }
    if (m->f->earlier_model != 0) {
        (void)snprintf(s, cap,
                       "Capacity: %s of parameters of a model that had been made and used before "
                       "were still there while another model was set up.",
                       MT_BYTES(m->f->earlier_model));
        return;
    }
    k = snprintf(s, cap, "Capacity: what was live filled the card");
    if (m->hoard.n != 0 && k > 0 && (size_t)k < cap) {
        char label[MT_LABEL], buf[MT_LABEL];
        (void)mt_stack_label(m->w->r->t, m->hoard.stack, label, sizeof label);
        (void)snprintf(s + k, cap - (size_t)k,
                       ", %s of it %u blocks that %s made one by one, outside of any pass over a "
                       "model, and that were all still there.",
                       MT_BYTES(m->hoard.bytes), (unsigned)m->hoard.n, mt_words_label(buf, label));
        return;
    }
    if (k > 0 && (size_t)k < cap)
        k += write_parts(s + k, cap - (size_t)k, m);
    if (m->absent != 0 && k > 0 && (size_t)k < cap)
        k += snprintf(s + k, cap - (size_t)k, "; %s of what PyTorch counts was not on the card",
                      MT_BYTES(m->absent));
    if (k > 0 && (size_t)k < cap)
        (void)snprintf(s + k, cap - (size_t)k, ".");
}

/* Sets of weights, or of their gradients, that a line of the job's own made: they look like models
 * and have a sentence of their own. */
static uint32_t copies_of_weights(const struct mt_moment *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_copies; i++)
        n += m->copies[i].kind == MT_COPIES_OF_EACH ? m->copies[i].n : 0;
    return n;
}

/* Frames of a stack, the outermost first, as many as fit. */
enum { DEPTH = 256 };
static uint32_t frames_of(const struct mt_trace *t, mt_stack_id stack, mt_frame_id out[DEPTH])
{
    uint32_t n = 0;
    for (mt_stack_id s = stack; s != 0; s = t->stacks.p[s].parent)
        n++;
    for (mt_stack_id s = stack; s != 0; s = t->stacks.p[s].parent)
        if (--n < DEPTH)
            out[n] = t->stacks.p[s].frame;
    while (n < DEPTH && out[n] != 0)
        n++;
    return n;
}

/* The line from which the call before the one at hand came, and that of this one: where their
 * stacks part. false = they are one line. */
static bool find_callers(const struct mt_moment *m, mt_frame_id *before, mt_frame_id *now)
{
    mt_frame_id a[DEPTH] = {0}, b[DEPTH] = {0};
    uint32_t i = 0, n_a = frames_of(m->w->r->t, m->open_stack, a),
             n_b = frames_of(m->w->r->t, m->oom->stack, b);
    while (i < n_a && i < n_b && a[i] == b[i])
        i++;
    if (i >= n_a || i >= n_b || m->call_of[m->open_stack] == 0)
        return false;
    *before = a[i];
    *now = b[i];
    for (; i < n_a; i++) /* they part before the model is called */
        if (a[i] == m->call_of[m->open_stack])
            return true;
    return false;
}

/* What calls before the one at hand keep for a backward pass that had not come. */
static void add_open(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m)
{
    struct mt_frame_view a, b;
    mt_frame_id before, now;
    size_t n = strlen(s);
    if (c->kept_open == 0)
        return;
    if (m->open_calls == 1 && c->kept_open == m->open_bytes && find_callers(m, &before, &now)) {
        mt_frame_describe(m->w->r->t, before, &a);
        mt_frame_describe(m->w->r->t, now, &b);
        (void)snprintf(s + n, cap - n,
                       " Two passes were there at once: %s of it is of the one from %s:%u %s, "
                       "besides that of %s:%u, and no backward pass had come: needed if one behind "
                       "both is to come, kept for nothing by one that is only a constant of the "
                       "loss.",
                       MT_BYTES(c->kept_open), a.file, a.line, a.name, b.file, b.line);
        return;
    }
    (void)snprintf(s + n, cap - n,
                   " %s of it was added call by call, and no backward pass had come: needed if "
                   "one behind all of them is to come, kept for nothing if none is.",
                   MT_BYTES(c->kept_open));
}

/* What may be done without, behind the sentence of a full card. */
static void add_needless(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m)
{
    size_t n = strlen(s);
    if (c->graph_of_none != 0)
        (void)snprintf(
            s + n, cap - n,
            " Autograd is on where nothing is trained: %s waits for a backward pass that "
            "never comes.",
            MT_BYTES(c->graph_of_none));
    add_open(s, cap, c, m);
    n = strlen(s);
    if (m->rounds.bytes != 0) {
        char label[MT_LABEL], buf[MT_LABEL];
        (void)mt_stack_label(m->w->r->t, m->rounds.stack, label, sizeof label);
        (void)snprintf(
            s + n, cap - n,
            " %s was kept round by round, of %u rounds, most of it at %s; the last round "
            "added %s.",
            MT_BYTES(m->rounds.bytes), (unsigned)m->rounds.n, mt_words_label(buf, label),
            MT_BYTES(m->rounds.each));
    }
    n = strlen(s);
    if (m->past_caches.n != 0) {
        char label[MT_LABEL], buf[MT_LABEL];
        (void)mt_stack_label(m->w->r->t, m->past_caches.stack, label, sizeof label);
        (void)snprintf(s + n, cap - n,
                       " %s of it is keys and values in %u blocks that %s made: the last of each "
                       "of %u rows of passes, %s each, as of nodes of a search or of requests that "
                       "are over, and all were still there.",
                       MT_BYTES(m->past_caches.bytes), (unsigned)m->past_caches.n,
                       mt_words_label(buf, label), (unsigned)m->past_caches.rounds,
                       MT_BYTES(m->past_caches.bytes / m->past_caches.rounds));
    }
    n = strlen(s);
    if (m->f->recorded_graph != 0 && m->f->recorded_graph >= m->d->focus.live / RECORDED)
        (void)snprintf(s + n, cap - n,
                       " %s of it was left by a backward pass that is recorded itself "
                       "(create_graph=True): it stays, with what the forward pass keeps, until the "
                       "second backward.",
                       MT_BYTES(m->f->recorded_graph));
    n = strlen(s);
    if (m->f->idle_grads != 0)
        (void)snprintf(
            s + n, cap - n,
            " %s of gradients are of parameters that no optimizer has a state for, and no "
            "step lets go of them: a model may run with gradients for nothing.",
            MT_BYTES(m->f->idle_grads));
    n = strlen(s);
    if (m->f->model_copies > 1 + copies_of_weights(m))
        (void)snprintf(s + n, cap - n, " The parameters are those of %u models alike, %s each.",
                       (unsigned)m->f->model_copies, MT_BYTES(m->f->one_copy));
}

/* The line that made most of it; a hoard's has been told. */
static void add_maker(char *s, size_t cap, const struct mt_moment *m)
{
    struct mt_sentence text = {"", 0};
    size_t n = strlen(s);
    if (m->hoard.n == 0)
        mt_maker_words(m, &text);
    if (m->oom != NULL)
        mt_spread_in_cause(m, &text);
    if (text.n != 0)
        (void)snprintf(s + n, cap - n, "%s%s", n != 0 ? " " : "", text.buf);
}

/* The rollout's keys and values in a phase that needs none; where they are the cause itself, that
 * is told. */
static void add_old_cache(char *s, size_t cap, const struct mt_moment *m)
{
    enum { PART = 5 }; /* of what is live; chosen by hand */
    size_t n = strlen(s);
    if (m->oom != NULL && mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) && m->engine_private == 0 &&
        m->role[MT_ROLE_ENGINE_WEIGHTS] == 0 &&
        m->role[MT_ROLE_KV_CACHE] >= m->d->focus.live / PART && m->role[MT_ROLE_KV_CACHE] != 0)
        (void)snprintf(s + n, cap - n,
                       " %s of KV cache was there still, of a generation that is over: %s does not "
                       "need it.",
                       MT_BYTES(m->role[MT_ROLE_KV_CACHE]), MT_PHASE_WORDS(m->phase, MT_PH_NONE));
}

/* The lines that keep copies of the weights, and what is made anew beside the old one. */
static void add_copies(char *s, size_t cap, const struct mt_moment *m)
{
    char text[TEXT / 2];
    for (uint32_t i = 0; i < m->n_copies && i < 2; i++) {
        size_t n = strlen(s);
        (void)snprintf(s + n, cap - n, " %s", mt_copies_words(m, &m->copies[i], text, sizeof text));
    }
    if (mt_fixed_words(m, text, sizeof text) != NULL) {
        size_t n = strlen(s);
        (void)snprintf(s + n, cap - n, " %s", text);
    }
    if (m->old_state != 0) {
        size_t n = strlen(s);
        (void)snprintf(s + n, cap - n, " %s", mt_old_state_words(m, text, sizeof text));
    }
    if (m->remade != 0) {
        size_t n = strlen(s);
        (void)snprintf(s + n, cap - n, " %s", mt_remade_words(m, text, sizeof text));
    }
}

static void write_fragmentation(char *s, size_t cap, const struct mt_cause *c,
                                const struct mt_moment *m)
{
    char buf[MT_LABEL];
    const struct mt_pin *p = c->pins.n != 0 ? &c->pins.p[0] : NULL;
    if (p == NULL) {
        (void)snprintf(
            s, cap, "Fragmentation: %s was free in pieces that are each too small for %s.",
            MT_BYTES(m->oom->at.holes_known ? m->oom->at.free_usable : m->oom->at.reserved_free),
            MT_BYTES(c->request));
        return;
    }
    (void)snprintf(s, cap,
                   "Fragmentation: %s was free in %" PRIu64
                   " segment%s that live blocks hold, none with a "
                   "hole of %s; the most, %s, is held by %s from %s.",
                   MT_BYTES(c->pinned_free), c->n_pins_all, c->n_pins_all == 1 ? "" : "s",
                   MT_BYTES(c->request), MT_BYTES(p->free), mt_words_label(buf, p->label),
                   MT_PHASE_WORDS(p->attr.phase, p->attr.sub));
}

static void write_giant(char *s, size_t cap, const struct mt_moment *m, const struct mt_shape *sh)
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
                       "One giant tensor: the request %s %" PRIu64
                       " tokens (%s), and with those already live they make "
                       "%s%s the %s that were reserved or free.",
                       sh->is_guess ? "has the size of logits, perhaps of" : "is logits of",
                       sh->tokens, MT_BYTES(m->oom->request), MT_BYTES(sum),
                       sum <= m->visible ? " of" : ", more than", MT_BYTES(m->visible));
}

static void write_stale(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m)
{
    struct mt_phase_in_words ph = mt_phase_in_words(m->phase, MT_PH_NONE, true);
    if (mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE))
        (void)snprintf(
            s, cap,
            "Rollout memory still held: %s of KV cache and engine weights were there in %s%s.",
            MT_BYTES(m->engine), ph.s,
            c->conf == MT_CONF_LOW ? ", unless the engine had unmapped them (sleep mode), which a "
                                     "snapshot does not show"
                                   : "");
    else
        (void)snprintf(s, cap, "Training memory still held: %s of %s were there in %s.",
                       MT_BYTES(m->training), mt_cause_trainers(m), ph.s);
}

/* The largest of the temporaries that outlived their phase; NULL = there is none. */
static const struct mt_held *largest_residue(const struct mt_moment *m)
{
    const struct mt_held *best = NULL;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (mt_is_residue(m, &m->held[i]) && (best == NULL || m->held[i].size > best->size))
            best = &m->held[i];
    return best;
}

static const char *kept_line(const struct mt_moment *m, char label[MT_LABEL], char buf[MT_LABEL])
{
    (void)mt_stack_label(m->w->r->t, m->kept.stack, label, MT_LABEL);
    return mt_words_label(buf, label);
}

static void write_leak(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m)
{
    char label[MT_LABEL], buf[MT_LABEL];
    const struct mt_growth *g = NULL;
    const struct mt_held *h = largest_residue(m);
    bool graph = strcmp(c->by, "no_graph") == 0;
    for (uint32_t i = 0; i < m->f->growth.n && g == NULL && !graph; i++)
        if (m->f->growth.p[i].conf >= MT_CONF_INFERRED &&
            m->f->growth.p[i].last > m->f->growth.p[i].first)
            g = &m->f->growth.p[i];
    if (g != NULL)
        (void)snprintf(
            s, cap,
            "Growth from step to step: %s over %u steps, most of it (%s per step) held by %s%s.",
            MT_BYTES(m->growth), (unsigned)g->n_steps,
            MT_BYTES(g->slope > 0 && g->slope < 1e18 ? (uint64_t)g->slope : 0),
            mt_words_label(buf, g->label), m->oom == NULL ? "; nothing has failed yet" : "");
    else if (m->kept.n != 0 && !graph && c->kept_casts != 0)
        (void)snprintf(s, cap,
                       "Growth inside %s: %s in %u blocks that were added one by one and kept, %s "
                       "of it of half the sizes of weights, as autocast copies them and keeps them "
                       "until its context is left; each pass adds %s.",
                       m->phase == MT_PH_UNATTRIBUTED ? "one stretch without steps"
                                                      : MT_PHASE_WORDS(m->phase, MT_PH_NONE),
                       MT_BYTES(m->kept.bytes), (unsigned)m->kept.n, MT_BYTES(c->kept_casts),
                       MT_BYTES(m->kept.bytes / m->kept.rounds));
    else if (m->kept.n != 0 && !graph)
        (void)snprintf(s, cap,
                       "Growth inside %s: %s in %u blocks that were added one by one and kept, "
                       "most of it at %s; each of %u passes added %s.",
                       m->phase == MT_PH_UNATTRIBUTED ? "one stretch without steps"
                                                      : MT_PHASE_WORDS(m->phase, MT_PH_NONE),
                       MT_BYTES(m->kept.bytes), (unsigned)m->kept.n, kept_line(m, label, buf),
                       (unsigned)m->kept.rounds, MT_BYTES(m->kept.bytes / m->kept.rounds));
    else if (graph && c->bypassed_graph != 0)
        (void)snprintf(s, cap,
                       "Graphs that nothing goes back through: %s of activations of %u earlier "
                       "calls from %.160s were still alive, and the backward passes after them "
                       "let go of none; something that was kept of each refers to its graph.",
                       MT_BYTES(c->bypassed_graph), (unsigned)m->graph.passes,
                       c->unused_graph_line);
    else if (graph && c->retained_graph != 0)
        (void)snprintf(s, cap,
                       "Growth from pass to pass: %s of activations of the %u passes before were "
                       "still alive, although a backward pass followed each of them; something "
                       "that goes from one pass of %.160s to the next keeps their graph.",
                       MT_BYTES(c->retained_graph), (unsigned)m->graph.passes,
                       c->unused_graph_line);
    else if (graph)
        (void)snprintf(s, cap,
                       "Autograd is on where nothing is trained: %s of activations of earlier "
                       "passes were still alive, which %.160s ran without a backward pass.",
                       MT_BYTES(c->unused_graph), c->unused_graph_line);
    else if (strcmp(c->by, "no_last_result") == 0)
        (void)snprintf(s, cap,
                       c->keeps_results
                           ? "What earlier passes made was still alive: %s, which %.160s lets go "
                             "of only when it is over."
                           : "The result of the pass before was still alive: %s, which %.160s "
                             "lets go of only when the next one is there.",
                       MT_BYTES(c->last_result), c->last_result_line);
    else
        (void)snprintf(s, cap,
                       "Memory left behind: %s of temporaries from earlier phases were still live "
                       "in %s, the largest of %s from %s.",
                       MT_BYTES(m->residue), MT_PHASE_WORDS(m->phase, MT_PH_NONE),
                       MT_BYTES(h != NULL ? h->size : 0),
                       h != NULL ? MT_PHASE_WORDS(h->attr.phase, h->attr.sub)
                                 : MT_PHASE_WORDS(MT_PH_UNATTRIBUTED, MT_PH_NONE));
}

int mt_cause_sentence(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape)
{
    char s[TEXT] = "";
    size_t n;
    if (c->sentence != NULL) /* mt_cause_next() has written that of a forecast */
        return 1;
    switch ((int)c->kind) {
    case MT_CAUSE_NONE:
        if (m->oom != NULL)
            (void)snprintf(s, sizeof s, "The cause cannot be told: %.600s.",
                           m->d->withheld != NULL ? m->d->withheld
                           : m->oom->request == 0 ? "the size of the request is not known"
                           : m->d->sums_only
                               ? "what was free on the device was not recorded, nor how the free "
                                 "bytes of PyTorch lay"
                               : "the state at the failure is not known");
        else
            add_maker(s, sizeof s, m);
        break;
    case MT_CAUSE_CAPACITY:
        if (strcmp(c->by, "as_before") == 0)
            write_more(s, sizeof s, m);
        else if (m->oom != NULL && mt_asks_far_more(m))
            write_far_more(s, sizeof s, c, m);
        else
            write_capacity(s, sizeof s, m);
        add_maker(s, sizeof s, m);
        add_copies(s, sizeof s, m);
        add_needless(s, sizeof s, c, m);
        add_old_cache(s, sizeof s, m);
        break;
    case MT_CAUSE_FRAGMENTATION:
        write_fragmentation(s, sizeof s, c, m);
        add_old_cache(s, sizeof s, m);
        break;
    case MT_CAUSE_GIANT_TENSOR:
        write_giant(s, sizeof s, m, shape);
        if (shape->elem == 0)
            add_maker(s, sizeof s, m);
        add_old_cache(s, sizeof s, m);
        break;
    case MT_CAUSE_STALE_ENGINE: write_stale(s, sizeof s, c, m); break;
    case MT_CAUSE_LEAK: write_leak(s, sizeof s, c, m); break;
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
    default: break; /* a log's */
    }
    n = strlen(s);
    if (m->outlived.n != 0 && n + 2 < sizeof s) {
        s[n] = ' ';
        (void)mt_outlived_words(m, s + n + (n != 0), sizeof s - n - 1);
    }
    return keep_sentence(c, s);
}
