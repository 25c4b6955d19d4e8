/* Calls of a model that let go of what they make as they go on, one after the other, and no
 * backward pass comes: features of a corpus, samples, scores, an evaluation by another model. A
 * `with torch.no_grad()` block shows in no frame; with a graph a call has a third of its blocks
 * when it is over. Where something trains it is asked of the end alone, behind the last backward
 * pass and step, and only of a line that was never called so often between two backward passes: a
 * frozen part of a training step is called in each step as often as in the others. Recomputation
 * keeps as little as that, so nothing is said where it is at work. Where nothing trains, what lies
 * between the calls stays unattributed: an optimizer without gradients is such a job, too. */
#include "analysis/phases/impl.h"
#include "analysis/base/frames.h"

/* Chosen by hand: blocks that a call makes; of these an eighth are results. Calls before the last
 * one: one or two may be a trial. Rounds: of the training. */
enum { MIN_MADE = 12, OF_MADE = 8, MIN_CALLS = 2, MIN_ROUNDS = 4 };

/* The first event behind all that trains; UINT64_MAX = a forward pass there has a phase of its own,
 * or none follows. */
static uint64_t find_tail(const struct mt_device *d, const struct mt_attr *out, bool *trains)
{
    uint64_t i = d->events.n;
    uint32_t n = 0;
    *trains = false;
    for (; i > 0 && !*trains; i--) {
        const struct mt_attr a = out[i - 1];
        if (mt_event_at(d, i - 1)->action != MT_ACT_ALLOC)
            continue;
        *trains = mt_phase_is(a.sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER);
        if (*trains || !mt_phase_is(a.sub, MT_IN_FORWARD))
            continue;
        if (a.phase != MT_PH_UNATTRIBUTED &&
            !(mt_phase_is(a.phase, MT_TRAINS) && mt_attr_conf(a) <= MT_CONF_CARRIED))
            return UINT64_MAX;
        n++;
    }
    return n != 0 ? i : UINT64_MAX;
}

static bool is_forward(const struct mt_device *d, const struct mt_attr *out, uint64_t i)
{
    return mt_event_at(d, i)->action == MT_ACT_ALLOC && mt_phase_is(out[i].sub, MT_IN_FORWARD);
}

static bool lets_go(const struct mt_pass_call *c)
{
    return c->made >= MIN_MADE &&
           (c->ended ? c->at_end * OF_MADE <= c->made : c->live * 2 <= c->made);
}

/* The most calls from that line between two backward passes, before `tail`. */
static uint32_t most_before(const struct mt_pass_walk *w, mt_frame_id line, uint64_t tail)
{
    uint32_t n = 0, most = 0, round = UINT32_MAX;
    for (uint32_t c = 0; c < w->calls.n && w->calls.p[c].first < tail; c++) {
        if (w->calls.p[c].line != line)
            continue;
        n = w->calls.p[c].round == round ? n + 1 : 1;
        round = w->calls.p[c].round;
        most = n > most ? n : most;
    }
    return most;
}

/* Whether the line of the last pass is that of a pass which a backward pass followed at once: it is
 * what trains. Most recordings end so, and are seen through at their first backward pass. */
static bool is_trained(const struct mt_pass_walk *w)
{
    mt_frame_id line = 0, last = 0;
    for (uint64_t i = w->d->events.n; i > 0 && last == 0; i--)
        if (is_forward(w->d, w->attr, i - 1))
            last = w->line[mt_event_at(w->d, i - 1)->stack];
    for (uint64_t i = 0; i < w->d->events.n && last != 0; i++) {
        if (is_forward(w->d, w->attr, i))
            line = w->line[mt_event_at(w->d, i)->stack];
        else if (line == last && mt_event_at(w->d, i)->action == MT_ACT_ALLOC &&
                 mt_phase_is(w->attr[i].sub, MT_IN_BACKWARD))
            return true;
    }
    return last == 0;
}

/* Whether calls from that line have let go of what they made, each of them, two or more, in half of
 * the rounds of the training or fewer: an evaluation now and then. What a step has is in each. */
static bool is_now_and_then(const struct mt_pass_walk *w, mt_frame_id line)
{
    uint32_t calls = 0, rounds = 0, last = UINT32_MAX;
    for (uint32_t c = 0; c + 1 < w->calls.n; c++) {
        const struct mt_pass_call *k = &w->calls.p[c];
        if (k->line != line)
            continue;
        if (!lets_go(k))
            return false;
        calls++;
        rounds += k->round != last;
        last = k->round;
    }
    return calls >= MIN_CALLS && w->round >= MIN_ROUNDS && rounds * 2 <= w->round;
}

/* The first event of the calls at the end; UINT64_MAX = they are none. The last call may have asked
 * for its first large block, and tells nothing then. */
static uint64_t find(const struct mt_pass_walk *w, uint64_t tail)
{
    uint32_t c = w->calls.n, n = 0;
    const struct mt_pass_call *last = c != 0 ? &w->calls.p[c - 1] : NULL;
    uint64_t first = UINT64_MAX;
    if (last == NULL || (last->made >= MIN_MADE && !lets_go(last)))
        return UINT64_MAX;
    while (--c > 0 && w->calls.p[c - 1].first >= tail && lets_go(&w->calls.p[c - 1])) {
        first = w->calls.p[c - 1].first;
        n += w->calls.p[c - 1].line == last->line;
    }
    if (n >= MIN_CALLS && n + 1 > most_before(w, last->line, tail))
        return first;
    return is_now_and_then(w, last->line) ? (n != 0 ? first : last->first) : UINT64_MAX;
}

/* Where nothing trains, what lies between the calls is of the same work, unless it is much: an
 * optimizer without gradients is such a job, too. */
static bool marks_between(const struct mt_device *d, const struct mt_attr *out, uint64_t first)
{
    uint64_t passes = 0, between = 0;
    for (uint64_t i = first; i < d->events.n; i++) {
        passes += is_forward(d, out, i);
        between += mt_event_at(d, i)->action == MT_ACT_ALLOC && !is_forward(d, out, i);
    }
    return between * 2 <= passes;
}

static void mark(const struct mt_device *d, struct mt_attr *out, uint64_t first, bool trains)
{
    bool all = trains || marks_between(d, out, first);
    for (uint64_t i = first; i < d->events.n; i++) {
        bool is_open =
            trains ? mt_phase_is(out[i].phase, MT_TRAINS) && mt_attr_conf(out[i]) <= MT_CONF_CARRIED
                   : out[i].phase == MT_PH_UNATTRIBUTED;
        if (!is_open || !(all || mt_phase_is(out[i].sub, MT_IN_FORWARD)))
            continue;
        out[i].phase = MT_PH_INFER;
        out[i].rule_conf = MT_METHOD_GOES_ON << 4 | MT_ATTR_NO_GRAD | MT_CONF_CARRIED;
    }
}

/* Blocks of forward passes behind the tail's first event. */
static uint32_t passes(const struct mt_device *d, const struct mt_attr *out, uint64_t tail)
{
    uint32_t n = 0;
    for (uint64_t i = tail; i < d->events.n; i++)
        n += is_forward(d, out, i);
    return n;
}

int mt_goes_on_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out)
{
    struct mt_pass_walk w;
    bool ok, may_be, trains;
    uint64_t tail = find_tail(d, out, &trains), first = UINT64_MAX;
    if (tail == UINT64_MAX || mt_trace_has_frame(t, "torch/utils/checkpoint.py", ""))
        return 1;
    ok = mt_pass_walk_begin(&w, t, d, out);
    may_be = ok && (passes(d, out, tail) > MIN_CALLS * MIN_MADE || (trains && !is_trained(&w)));
    for (uint64_t i = 0; may_be && ok && i < d->events.n; i++)
        ok = mt_pass_walk_see(&w, i);
    if (may_be && ok)
        first = find(&w, tail);
    if (ok && first != UINT64_MAX)
        mark(d, out, first, trains);
    mt_pass_walk_done(&w);
    return ok;
}
