/* What the job had still to ask for after the request that failed. A pass, a step or a phase that
 * is not over goes on as an earlier one did; else a pass with the layers that are left, a second
 * model with the rest of the first; logits get a gradient; a first step goes on with the state of
 * the parameters that have none yet, an optimizer's list with the blocks that it lacks. All are
 * lower bounds. Where nothing shows how it goes on, that is left open. */
#include "analysis/base/divisor.h"
#include "analysis/cause/impl.h"

#include <stdlib.h>
#include <string.h>

static bool is_there(const struct mt_moment *m, const struct mt_event *e)
{
    return e->action == MT_ACT_ALLOC && e->stack == m->oom->stack;
}

/* A stretch of events that comes again and again: a pass, a step, a stretch of one phase. */
struct span {
    uint64_t first, last, live_begin;
    uint8_t phase;
    uint64_t until; /* of a pass: the step that comes after it, up to the next pass */
    bool is_first;  /* no other of its phase came before */
};

/* In a pass over the model, or by the job's own code between its forward and its backward, as where
 * logits are brought to 32 bits. */
static bool in_pass(const struct mt_moment *m)
{
    uint32_t micro = mt_micro_at(m->f, m->oom->event);
    return mt_phase_is(m->sub, MT_IN_FORWARD | MT_IN_BACKWARD) ||
           (m->sub == MT_PH_NONE && mt_phase_is(m->phase, MT_TRAINS) && micro != UINT32_MAX &&
            m->oom->event <= m->f->micros.p[micro].last);
}

/* What the failed request was made in one of: in a pass its passes, in the optimizer the steps,
 * else the stretches of one phase. */
static uint32_t n_spans(const struct mt_moment *m)
{
    return mt_phase_is(m->sub, MT_IN_OPTIMIZER) ? m->f->steps.n
           : in_pass(m)                         ? m->f->micros.n
                                                : m->f->occurrences.n;
}

static struct span span_at(const struct mt_moment *m, uint32_t i)
{
    if (mt_phase_is(m->sub, MT_IN_OPTIMIZER)) {
        const struct mt_step *p = &m->f->steps.p[i];
        return (struct span){p->first, p->last, p->live_begin, MT_PH_NONE, p->last, false};
    }
    if (in_pass(m)) {
        const struct mt_micro *p = &m->f->micros.p[i];
        return (struct span){p->first, p->last, p->live_begin, p->phase, p->last, false};
    }
    const struct mt_occurrence *p = &m->f->occurrences.p[i];
    return (struct span){p->first, p->last, p->live_begin, p->phase, p->last, false};
}

static bool is_first_of_phase(const struct mt_moment *m, uint32_t i, uint8_t phase)
{
    while (i > 0 && span_at(m, i - 1).phase != phase)
        i--;
    return i == 0;
}

/* The end of the step behind a pass: no further than `until`, and not into a rollout or a pass that
 * trains nothing. */
static uint64_t end_of_step(const struct mt_moment *m, struct span p, uint64_t until)
{
    uint64_t i = p.last;
    while (i < until && (m->w->r->attr[i + 1].phase == p.phase ||
                         !mt_phase_is(m->w->r->attr[i + 1].phase,
                                      MT_GENERATES | MT_FORWARD_ONLY | MT_OF_ENGINE | MT_SETS_UP)))
        i++;
    return i;
}

/* Code of the job's own that no phase is known of: where it ends, the round does not. */
static bool is_untold(const struct mt_moment *m)
{
    return m->phase == MT_PH_UNATTRIBUTED && m->sub == MT_PH_NONE;
}

/* An earlier one, as far as it tells of the one at hand. */
struct earlier {
    uint64_t size;       /* of its n-th request from the same place; 0 = it made no so many */
    uint64_t most;       /* the largest of these requests */
    uint64_t so_far, at; /* live bytes that it had added until the n-th; its event */
    uint64_t rise;       /* how far its live bytes rose after the n-th, from before it */
    uint32_t all;        /* how many it made */
    uint64_t state;      /* of an optimizer, that it or its step made and that is there still */
    int64_t role[MT_ROLE_COUNT]; /* of the rise */
};

static struct earlier look_at(const struct mt_moment *m, struct span p, uint32_t n)
{
    struct earlier out = {0};
    int64_t role[MT_ROLE_COUNT] = {0};
    uint64_t live = p.live_begin, at = UINT64_MAX, most = 0;
    for (uint64_t i = p.first; i <= (at != UINT64_MAX ? p.until : p.last); i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (i > p.last && is_there(m, e)) /* the next round */
            break;
        if (i <= p.last && is_there(m, e)) {
            out.most = e->size > out.most ? e->size : out.most;
            if (++out.all == n) {
                at = live;
                out.size = e->size;
                out.at = i;
                out.so_far = live > p.live_begin ? live - p.live_begin : 0;
            }
        }
        if (e->action == MT_ACT_ALLOC && mt_is_kept_on(m, i) &&
            m->w->fate[i].role == MT_ROLE_OPTIM_STATE)
            out.state += e->size;
        if (e->action == MT_ACT_ALLOC && at != UINT64_MAX && p.is_first && mt_is_kept_on(m, i))
            continue;
        if (e->action == MT_ACT_ALLOC) {
            live += e->size;
            role[m->w->fate[i].role] += at != UINT64_MAX ? (int64_t)e->size : 0;
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            live -= e->size < live ? e->size : live;
            role[m->w->fate[i].role] -= at != UINT64_MAX ? (int64_t)e->size : 0;
        }
        if (at != UINT64_MAX && live > most) {
            most = live;
            memcpy(out.role, role, sizeof role);
        }
    }
    out.rise = at != UINT64_MAX && most > at ? most - at : 0;
    return out;
}

static bool is_as_large(uint64_t a, uint64_t b) { return a <= b + 511 && b <= a + 511; }

static int cmp_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* How many layers the model has: what the numbers of its larger parameters, size by size, have as
 * their greatest common divisor, where sizes that come more than once are half of its bytes. Two of
 * a size are an embedding and a head as often as two layers: they count where nothing else does. 0
 * = that tells nothing; two models have twice as many blocks of each size. */
static int layers_of(const struct mt_moment *m, uint32_t *layers)
{
    enum { SMALL = 100 };
    uint64_t *size = mt_calloc((size_t)m->n_held + 1, sizeof *size), all = 0, often = 0, pairs = 0;
    uint32_t n = 0, divisor = 0;
    if (size == NULL)
        return 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].role == MT_ROLE_PARAM) {
            size[n++] = m->held[i].size;
            all += m->held[i].size;
        }
    qsort(size, n, sizeof *size, cmp_size);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && size[end] == size[i]; end++)
            ;
        if (end - i < 2 || size[i] * (end - i) < all / SMALL)
            continue;
        if (end - i == 2) {
            pairs += size[i] * 2;
            continue;
        }
        often += size[i] * (end - i);
        divisor = mt_common_divisor(divisor, end - i);
    }
    mt_free(size);
    if (often < all / 2) {
        often += pairs;
        divisor = pairs != 0 ? mt_common_divisor(divisor, 2) : divisor;
    }
    *layers = m->f->second_model != 0 || often < all / 2 ? 0 : divisor;
    return 1;
}

/* What was asked for between two visits of a place, and is still live at the second, by role. */
static void roles_between(const struct mt_moment *m, uint64_t begin, uint64_t end,
                          int64_t role[MT_ROLE_COUNT])
{
    for (uint64_t i = begin; i < end; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC)
            role[m->w->fate[i].role] += (int64_t)e->size;
        else if (e->action == MT_ACT_FREE_COMPLETED)
            role[m->w->fate[i].role] -= (int64_t)e->size;
    }
}

/* From the failed request back to the begin of its span: how often its place was come to before,
 * and what was live there at the last ones of its size. */
struct back {
    uint32_t n, same;
    uint64_t live[3], begin;
    uint64_t last;  /* the event of the last one of its size */
    uint64_t first; /* and of the first */
};

static struct back look_back(const struct mt_moment *m, struct span now)
{
    struct back out = {
        1, 1, {m->oom->at.live, 0, 0}, m->oom->at.live, m->oom->event, m->oom->event};
    for (uint64_t i = m->oom->event; i-- > now.first;) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC)
            out.begin -= e->size < out.begin ? e->size : out.begin;
        else if (e->action == MT_ACT_FREE_COMPLETED)
            out.begin += e->size;
        if (!is_there(m, e))
            continue;
        out.n++;
        if (e->size != m->oom->request)
            continue;
        if (out.same < 3)
            out.live[out.same] = out.begin;
        if (out.same == 1)
            out.last = i;
        out.first = i;
        out.same++;
    }
    return out;
}

/* Whether the place let go of its blocks again before it asked for this size: it never held more of
 * them at once than it does now with the request, though it asked twice as often. They are of one
 * layer then, which lets go of them, and not kept layer by layer. */
static bool lets_go(const struct mt_moment *m, const struct back *back)
{
    uint32_t made = 0, held = 0, most = 0;
    for (uint64_t i = 0; i < back->first; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        uint32_t born = m->w->fate[i].freed;
        if (is_there(m, e)) {
            made++;
            most = ++held > most ? held : most;
        } else if (e->action == MT_ACT_FREE_COMPLETED && born < i && held != 0 &&
                   is_there(m, mt_event_at(m->w->r->d, born))) {
            held--;
        }
    }
    return most >= back->same && made >= 2 * most;
}

/* Where no earlier pass came so far: a place that is come to once a layer, and what is live there
 * rises by the same bytes each time, within a quarter, goes on to rise so in the layers that are
 * left; in one, where it is not known how many there are. */
static int by_layers(struct mt_moment *m, const struct back *back)
{
    const uint64_t *at = back->live;
    uint32_t n = back->same, layers;
    int64_t role[MT_ROLE_COUNT] = {0};
    uint64_t up, before;
    if (n < 3 || at[0] <= at[1] || at[1] <= at[2] || lets_go(m, back))
        return 1;
    up = at[0] - at[1];
    before = at[1] - at[2];
    if ((up > before ? up - before : before - up) > up / 4)
        return 1;
    if (!layers_of(m, &layers))
        return 0;
    m->to_come.kind = MT_TO_COME_PASS;
    m->to_come.each = up;
    m->to_come.done = n - 1;
    m->to_come.bytes = up > m->oom->request ? up - m->oom->request : 0;
    if (layers > n) {
        m->to_come.layers = layers;
        m->to_come.bytes += up * (layers - n);
    }
    roles_between(m, back->last, m->oom->event, role);
    mt_to_come_share(&m->to_come, role);
    return 1;
}

/* What came after the same request in the earlier spans, the last one first; in the sizes of this
 * one where it was larger or smaller there. */
static int find_earlier(struct mt_moment *m, uint32_t before, struct span now, uint32_t n)
{
    enum { RISES = 4, STAIRS = 2, LEAPS = 2, OF_LIVE = 100 };
    struct mt_to_come *out = &m->to_come;
    int64_t role[MT_ROLE_COUNT] = {0};
    uint64_t request = m->oom->request, like = 0, last = request;
    struct mt_rest rest = {0};
    uint32_t rising = 0, stairs = 0, falls = 0, leaps = 0;
    uint32_t made = 0;
    for (uint32_t i = before; m->oom->stack != 0 && i-- > 0;) {
        struct span span = span_at(m, i);
        struct earlier p;
        if (span.phase != now.phase)
            continue;
        span.until = i + 1 == before ? now.first - 1 : span_at(m, i + 1).first - 1;
        if (in_pass(m))
            span.until = end_of_step(m, span, span.until);
        else if (is_untold(m))
            span.until = now.first - 1;
        else
            span.until = span.last;
        span.is_first = is_first_of_phase(m, i, span.phase);
        p = look_at(m, span, n);
        /* state that more than one step made, as a history of directions grows */
        made += p.state > m->d->focus.live / OF_LIVE;
        out->before_most = p.most > out->before_most ? p.most : out->before_most;
        out->passes += p.all != 0;
        if (p.size == 0)
            continue;
        if (p.so_far > out->pass_before) {
            out->pass_before = p.so_far;
            out->before_first = span.first;
            out->before_at = p.at;
        }
        rising += p.size < last && rising + 1 == out->passes;
        leaps += p.size / 2 <= last / 3 && leaps + 1 == out->passes;
        stairs += p.size < last && !is_as_large(p.size, last);
        falls += p.size > last && !is_as_large(p.size, last);
        last = p.size;
        if (like != 0 && (is_as_large(like, request) || !is_as_large(p.size, request)))
            continue;
        like = p.size;
        out->all = p.all;
        out->bytes = p.rise;
        out->before_rest = p.rise > p.size ? p.rise - p.size : 0;
        rest = (struct mt_rest){span.first, p.at, span.until, now.first, span.is_first};
        memcpy(role, p.role, sizeof role);
    }
    /* what is enlarged now and then, as points are split, asks for the same in between */
    stairs = falls == 0 && out->passes >= RISES && request / 5 >= last / 4 ? stairs : 0;
    /* texts of a corpus, from the shortest to the longest: half as much again each time */
    out->leaps = leaps == out->passes && leaps >= LEAPS;
    out->grows = rising >= RISES || stairs >= STAIRS || m->w->grown[m->oom->stack] != 0 || made > 1;
    if (like == 0)
        return 1;
    out->kind = MT_TO_COME_PASS;
    out->like = is_as_large(like, request) ? 0 : like;
    if (out->like != 0 && !mt_rest_scaled(m, &rest, &out->bytes, role))
        return 0;
    out->bytes = out->bytes > request ? out->bytes - request : 0;
    mt_to_come_share(out, role);
    return 1;
}

static bool trains(const struct mt_moment *m)
{
    for (uint32_t i = 0; i < m->f->micros.n; i++)
        if (m->f->micros.p[i].has_backward)
            return true;
    return false;
}

/* Whether what an earlier span went on to is all that comes: not in a first step, which has
 * gradients and state to make, nor where each asks for more than the one before, nor in what a job
 * that trains does between two trainings. */
static bool is_all(const struct mt_moment *m, struct span now)
{
    if (m->to_come.grows || (is_untold(m) && trains(m)))
        return false;
    if (!mt_phase_is(m->phase, MT_TRAINS) && !mt_phase_is(m->sub, MT_TRAINS))
        return true;
    return m->role[MT_ROLE_OPTIM_STATE] != 0 || m->f->state_before != 0 ||
           (m->f->steps.n != 0 && m->f->steps.p[0].last < now.first);
}

/* The first request of a pass begins none in the lists, so that it lies behind the one before. */
static bool is_first(const struct mt_moment *m, struct span now)
{
    for (uint64_t i = m->oom->event; mt_phase_is(m->sub, MT_IN_FORWARD) && i-- > now.first;)
        if (mt_event_at(m->w->r->d, i)->action == MT_ACT_ALLOC)
            return mt_phase_is(m->w->r->attr[i].sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER);
    return false;
}

/* Where a pass begins, and what is live there; one that only the failed request belongs to is in no
 * list. */
static struct mt_micro pass_at(const struct mt_moment *m, uint32_t i)
{
    return i < m->f->micros.n
               ? m->f->micros.p[i]
               : (struct mt_micro){.first = m->oom->event, .live_begin = m->oom->at.live};
}

/* The first pass of the step, by the end of the optimizer before it. */
static uint32_t first_of_step(const struct mt_moment *m, uint32_t at)
{
    uint64_t end = 0;
    for (uint32_t k = 0; k < m->f->steps.n && m->f->steps.p[k].last < pass_at(m, at).first; k++)
        end = m->f->steps.p[k].last;
    while (at > 0 && pass_at(m, at - 1).first >= end)
        at--;
    return at;
}

/* Micro-batches of one step that each leave as much behind as the one before, within a quarter, as
 * where the gradients of each are kept: the passes that are left add to it. How many are left only
 * an earlier step with more of them tells; else that is open. */
static void add_passes_left(struct mt_moment *m, uint32_t at)
{
    enum { RISES = 3, OF_LIVE = 100 };
    uint32_t first, done, most = 0;
    uint64_t up = 0, before = 0;
    if (!in_pass(m) || !mt_phase_is(m->phase, MT_TRAINS))
        return;
    first = first_of_step(m, at);
    done = at - first + 1;
    for (uint32_t i = at, n = 0; n < RISES; i--, n++, before = up) {
        if (i <= first || pass_at(m, i).live_begin <= pass_at(m, i - 1).live_begin)
            return;
        up = pass_at(m, i).live_begin - pass_at(m, i - 1).live_begin;
        if (up < m->d->focus.live / OF_LIVE ||
            (n != 0 && (up > before ? up - before : before - up) > up / 4))
            return;
    }
    for (uint32_t i = first, n; i > 0; i -= n) {
        n = i - first_of_step(m, i - 1);
        most = n > most ? n : most;
    }
    m->to_come.kind = MT_TO_COME_PASS;
    m->to_come.open = true;
    if (most <= done)
        return;
    up *= most - done;
    m->to_come.bytes += up;
    m->to_come.role[MT_ROLE_GRAD] += up;
}

static int find_rest(struct mt_moment *m)
{
    struct mt_to_come *out = &m->to_come;
    uint32_t now = 0, n = n_spans(m);
    struct span span;
    struct back back;
    while (now + 1 < n && span_at(m, now + 1).first <= m->oom->event)
        now++;
    if (n == 0 || span_at(m, now).first > m->oom->event || m->oom->event >= m->w->r->d->events.n)
        return 1;
    span = span_at(m, now);
    if (is_first(m, span)) {
        span.first = m->oom->event;
        now++;
    }
    back = look_back(m, span);
    out->done = back.n - 1;
    /* what goes on until its end adds more of the same */
    if (mt_phase_is(m->sub, MT_IN_FORWARD) || mt_phase_is(m->phase, MT_SETS_UP | MT_GENERATES))
        out->so_far = back.live[0] > back.begin ? back.live[0] - back.begin : 0;
    out->pass_now = back.live[0] > back.begin ? back.live[0] - back.begin : 0;
    out->now_first = span.first;
    if (!find_earlier(m, now, span, back.n))
        return 0;
    if (out->kind == MT_TO_COME_PASS) { /* a recorded loop goes on to the outer backward */
        out->open = m->f->recorded != 0 || !is_all(m, span);
        add_passes_left(m, now);
        return 1;
    }
    if (mt_phase_is(m->phase, MT_SETS_UP) && m->f->second_to_come != 0) {
        out->kind = MT_TO_COME_COPY;
        out->bytes = out->role[MT_ROLE_PARAM] = m->f->second_to_come;
        out->open = false;
        return 1;
    }
    if (m->oom->stack != 0 && mt_phase_is(m->sub, MT_IN_FORWARD))
        return by_layers(m, &back);
    return mt_phase_is(m->phase, MT_SETS_UP) || mt_moment_next_round(m, span.first);
}

static int by_size(const void *pa, const void *pb)
{
    const struct mt_held *a = *(const struct mt_held *const *)pa,
                         *b = *(const struct mt_held *const *)pb;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return (a->role == MT_ROLE_OPTIM_STATE) - (b->role == MT_ROLE_OPTIM_STATE);
}

struct counts {
    uint64_t size, grads, states;
};

/* The next size of the sorted blocks from i on; returns the index behind it. */
static uint32_t next_size(const struct mt_held *const *by, uint32_t i, uint32_t n,
                          struct counts *out)
{
    *out = (struct counts){by[i]->size, 0, 0};
    for (; i < n && by[i]->size == out->size; i++) {
        out->grads += by[i]->role == MT_ROLE_GRAD;
        out->states += by[i]->role == MT_ROLE_OPTIM_STATE;
    }
    return i;
}

/* State is made parameter by parameter, in the sizes of the gradients: one block for each of them
 * (a momentum), two (Adam) or three. Some size that is complete tells how many. */
static int find_state(struct mt_moment *m)
{
    enum { MOST = 3 };
    const struct mt_held **by = mt_calloc((size_t)m->n_held + 1, sizeof *by);
    struct counts c;
    uint64_t each = 0, missing = 0;
    uint32_t n = 0;
    if (by == NULL)
        return 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].role == MT_ROLE_GRAD || m->held[i].role == MT_ROLE_OPTIM_STATE)
            by[n++] = &m->held[i];
    if (n > 1)
        qsort(by, n, sizeof *by, by_size);
    for (uint32_t i = 0; i < n;) {
        i = next_size(by, i, n, &c);
        if (c.grads != 0 && (c.states + c.grads - 1) / c.grads > each)
            each = (c.states + c.grads - 1) / c.grads;
    }
    for (uint32_t i = 0; each <= MOST && i < n;) {
        i = next_size(by, i, n, &c);
        missing += c.grads * each > c.states ? (c.grads * each - c.states) * c.size : 0;
    }
    mt_free(by);
    if (missing > m->oom->request) {
        m->to_come.kind = MT_TO_COME_STATE;
        m->to_come.each = each;
        m->to_come.bytes = m->to_come.role[MT_ROLE_OPTIM_STATE] = missing - m->oom->request;
    }
    return 1;
}

/* Sizes of the live gradients, and of the blocks that the stack of the failed request has made. */
static uint32_t sizes_of(const struct mt_moment *m, bool grads, uint64_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (grads ? m->held[i].role == MT_ROLE_GRAD
                  : m->held[i].stack == m->oom->stack && m->held[i].event != UINT64_MAX)
            out[n++] = m->held[i].size;
    if (n > 1)
        qsort(out, n, sizeof *out, cmp_size);
    return n;
}

/* An optimizer that works on lists (foreach) makes a block for each gradient before it goes on: the
 * blocks of the request's stack that are there have sizes of gradients, and those that have none
 * yet come next. */
static int find_list(struct mt_moment *m)
{
    uint64_t *grad = mt_calloc((size_t)m->n_held + 1, sizeof *grad),
             *made = mt_calloc((size_t)m->n_held + 1, sizeof *made), rest = 0;
    uint32_t n_made = 0, n_grads = 0, k = 0;
    bool is_next = false;
    if (grad != NULL && made != NULL) {
        n_grads = sizes_of(m, true, grad);
        n_made = sizes_of(m, false, made);
    }
    for (uint32_t i = 0; n_made >= 2 && i < n_grads; i++) {
        if (k < n_made && made[k] == grad[i]) {
            k++;
            continue;
        }
        rest += grad[i];
        is_next = is_next || is_as_large(grad[i], m->oom->request);
    }
    if (is_next && k == n_made && rest > m->oom->request) {
        m->to_come.kind = MT_TO_COME_LIST;
        m->to_come.done = n_made;
        m->to_come.all = n_grads;
        m->to_come.bytes = m->to_come.role[MT_ROLE_OPTIM_TEMP] = rest - m->oom->request;
    }
    k = grad != NULL && made != NULL;
    mt_free(grad);
    mt_free(made);
    return (int)k;
}

int mt_moment_to_come(struct mt_moment *m, const struct mt_shape *shape)
{
    bool state = m->sub == MT_PH_OPTIM_STATE_INIT || m->f->request_role == MT_ROLE_OPTIM_STATE;
    if (m->oom == NULL || m->oom->request == 0 || m->d->withheld != NULL || m->w->fate == NULL)
        return 1;
    if (state)
        return m->f->state_before != 0 || find_state(m);
    /* An engine's logits are the last of their pass, and its cache, unlike that of a model's own
     * generate(), does not grow with the tokens that follow. */
    m->to_come.open = shape->elem == 0 || !mt_phase_is(m->phase, MT_GENERATES) ||
                      m->role[MT_ROLE_ENGINE_WEIGHTS] == 0;
    if (!find_rest(m) || (m->to_come.kind == MT_TO_COME_NONE && !mt_moment_same_call(m)))
        return 0;
    if (m->to_come.kind == MT_TO_COME_NONE && m->oom->stack != 0 &&
        mt_phase_is(m->sub, MT_IN_OPTIMIZER) && !find_list(m))
        return 0;
    /* the backward pass makes the gradient of logits while they are there */
    if (shape->elem != 0 && mt_phase_is(m->phase, MT_TRAINS) && m->to_come.bytes == 0 &&
        mt_phase_is(m->sub, MT_IN_FORWARD)) {
        m->to_come.kind = MT_TO_COME_LOGITS;
        m->to_come.bytes = m->to_come.role[MT_ROLE_LOGITS] = m->oom->request;
    }
    return 1;
}
