/* The shapes of what the job computes. Tensors that an operation made of smaller ones: of two of
 * different shapes, each stretched over the other (broadcasting). An operation on elements reads a
 * tensor of its result's shape, which takes an eighth of its bytes at least (one byte an element
 * beside eight); where nothing like that was live, none was read. Which operations are of that kind
 * a row of metrics.json says (spread_by). Beside that what has the request's own size, and a tensor
 * that is made anew with something joined to it. */
#include "analysis/base/frames.h"
#include "analysis/base/operation.h"
#include "analysis/base/words.h"
#include "analysis/cause/impl.h"

#include <inttypes.h>
#include <stdio.h>

/* LEAST: of what is live; TIMES: above. LEAST and JUST, of blocks, were chosen by
 * hand. */
enum { LEAST = 8, TIMES = 8, ROUNDED = 511, MIN_ROWS = 256, JUST = 8 };

/* Whether a block may be what an operation read whose result has `size`. Of a large block a part
 * may be; weights, gradients and states are read as a whole, in types of one byte to eight. */
static bool may_be_read(uint64_t block, unsigned role, uint64_t size)
{
    if (block < (size + TIMES - 1) / TIMES)
        return false;
    if (role != MT_ROLE_PARAM && role != MT_ROLE_GRAD && role != MT_ROLE_OPTIM_STATE)
        return true;
    for (uint64_t k = 1; k <= TIMES; k *= 2) {
        uint64_t narrow = block < size ? block : size, wide = block < size ? size : block;
        if (narrow * k + k * ROUNDED >= wide && narrow * k <= wide + k * ROUNDED)
            return true;
    }
    return false;
}

/* Whether a block has one number for each of the rows, `bytes` in all. */
static bool is_row(uint64_t block, unsigned role, uint64_t bytes)
{
    (void)role;
    return block >= bytes && block - bytes <= ROUNDED;
}

/* Whether something was live when event `at` came that `fits` what its operation read. */
static bool had(const struct mt_moment *m, uint64_t at, uint64_t size,
                bool (*fits)(uint64_t block, unsigned role, uint64_t size))
{
    const struct mt_replay *r = m->w->r;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].event == UINT64_MAX && fits(m->held[i].size, m->held[i].role, size))
            return true;
    for (uint64_t i = at; i-- > 0;) { /* what was made last is the likeliest */
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action == MT_ACT_ALLOC && m->w->fate[i].freed > at &&
            fits(e->size, m->w->fate[i].role, size))
            return true;
    }
    for (uint64_t i = at + 1; i < r->d->events.n; i++) { /* from before the recording */
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action == MT_ACT_FREE_COMPLETED && m->w->fate[i].freed == MT_NEVER &&
            fits(e->size, m->w->fate[i].role, size))
            return true;
    }
    return false;
}

/* n of a tensor of n x n numbers of `elem` bytes; 0 = it is none. */
static uint64_t square_of(uint64_t size, uint64_t elem)
{
    uint64_t n = 0, all = size / elem;
    for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
        n |= (n | bit) * (n | bit) <= all ? bit : 0;
    return size % elem == 0 && n * n == all ? n : 0;
}

/* Whether one of the last blocks that were live had a number for each row. */
static bool had_just(const struct mt_moment *m, uint64_t at, uint64_t bytes)
{
    unsigned n = 0;
    for (uint64_t i = at; i-- > 0 && n < JUST;) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action != MT_ACT_ALLOC || m->w->fate[i].freed <= at)
            continue;
        if (is_row(e->size, m->w->fate[i].role, bytes))
            return true;
        n++;
    }
    return false;
}

/* What of pairs the sizes prove: n x n numbers, and n numbers beside them. A loss that takes n
 * numbers from n others has this size where one of the two has a dimension more, (n, 1) - (n).
 * Powers of two are squares by chance, and blocks of such sizes lie about: there the numbers have
 * to be among the last that were made. */
static void pairs(struct mt_made *w, const struct mt_moment *m, uint64_t at)
{
    static const uint64_t elems[] = {4, 2, 8, 1}; /* the usual ones first */
    for (unsigned k = 0; k < sizeof elems / sizeof *elems && w->rows == 0; k++) {
        uint64_t n = square_of(w->size, elems[k]);
        bool power = (n & (n - 1)) == 0;
        if (n < MIN_ROWS)
            continue;
        if (power ? had_just(m, at, n * elems[k]) : had(m, at, n * elems[k], is_row))
            w->rows = n;
        else if (w->square == 0 && !power)
            w->square = n;
    }
    w->square = w->rows != 0 ? 0 : w->square;
}

static bool is_alike(uint64_t size, uint64_t of)
{
    for (uint64_t k = 1; k <= 4; k *= 2) /* in 16 bits, or of bytes */
        if (size <= of / k && of / k - size <= ROUNDED)
            return true;
    return size >= of && size - of <= ROUNDED;
}

static uint64_t bytes_alike(const struct mt_moment *m, uint64_t of)
{
    uint64_t sum = is_alike(m->oom->request, of) ? m->oom->request : 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (mt_is_of_work(&m->held[i]) && is_alike(m->held[i].size, of))
            sum += m->held[i].size;
    return sum;
}

static void add(struct mt_moment *m, uint64_t at, mt_stack_id stack, uint64_t size)
{
    struct mt_made w = {.stack = stack, .how = MT_MADE_SPREAD, .size = size, .event = at};
    if (m->n_made == MT_MADE || stack == 0 || size < m->d->focus.live / LEAST)
        return;
    for (uint32_t i = 0; i < m->n_made; i++)
        if (m->made[i].stack == stack)
            return;
    if (had(m, at, size, may_be_read))
        return;
    w.bytes = bytes_alike(m, size);
    pairs(&w, m, at);
    m->made[m->n_made++] = w;
}

/* Of the line that asked, one tensor that is there and the request is somewhat more than it, after
 * at least two that grew the same way: it is joined with what is new, and both are there. */
static uint64_t regrown(const struct mt_moment *m)
{
    enum { GREW = 3 };
    const struct mt_replay *r = m->w->r;
    const struct mt_held *one = NULL;
    uint64_t last = 0;
    uint32_t n = 0, grew = 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].stack == m->oom->stack && !m->held[i].pending) {
            one = &m->held[i];
            n++;
        }
    if (n != 1 || one->size >= m->oom->request || one->size < m->oom->request / 2)
        return 0;
    for (uint64_t i = 0; i < r->d->events.n && i < m->oom->event; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action != MT_ACT_ALLOC || e->stack != m->oom->stack)
            continue;
        grew = e->size > last ? grew + 1 : 0; /* anew, with the next round */
        last = e->size;
    }
    return grew >= GREW ? one->size : 0;
}

void mt_moment_spread(struct mt_moment *m)
{
    if (m->oom == NULL || m->oom->stack == 0 || m->w->fate == NULL)
        return;
    add(m, m->oom->event, m->oom->stack, m->oom->request);
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->event != UINT64_MAX && mt_is_of_work(h) && h->role != MT_ROLE_LOGITS)
            add(m, h->event, h->stack, h->size);
        if (mt_is_of_work(h) && h->size <= m->oom->request && m->oom->request - h->size <= ROUNDED)
            m->alike += h->size;
    }
    m->regrown = regrown(m);
}

const char *mt_spread_words(const struct mt_moment *m, const struct mt_made *w, char *s, size_t cap)
{
    char label[MT_LABEL], by[128], rows[160] = "";
    bool told = mt_stack_operation(m->w->r->t, w->stack, by, sizeof by);
    (void)mt_stack_label(m->w->r->t, w->stack, label, sizeof label);
    if (w->rows != 0)
        (void)snprintf(rows, sizeof rows,
                       " It is %" PRIu64 " x %" PRIu64 " numbers, and %" PRIu64
                       " numbers were there.",
                       w->rows, w->rows, w->rows);
    (void)snprintf(s, cap,
                   "%s made %s in one tensor%s%s, while nothing that was live had such a shape: of "
                   "smaller ones.%s What has its shape is %s%s.",
                   label, MT_BYTES(w->size), told ? ", by " : "", told ? by : "", rows,
                   MT_BYTES(w->bytes),
                   is_alike(m->oom->request, w->size) ? ", the failed request among it" : "");
    return s;
}

/* The largest block that was live when event `at` came; 0 = none is known, or some are of before
 * the recording and went in it. */
static uint64_t largest_then(const struct mt_moment *m, uint64_t at)
{
    const struct mt_replay *r = m->w->r;
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].event == UINT64_MAX && m->held[i].size > most)
            most = m->held[i].size;
    for (uint64_t i = 0; i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        bool live = i < at ? e->action == MT_ACT_ALLOC && m->w->fate[i].freed > at
                           : i > at && e->action == MT_ACT_FREE_COMPLETED &&
                                 m->w->fate[i].freed == MT_NEVER;
        most = live && e->size > most ? e->size : most;
    }
    return most;
}

/* What an operation made of much smaller ones, where what has its shape is a good part of it all:
 * the line that made most may be a later one, which works on that shape. */
void mt_spread_in_cause(const struct mt_moment *m, struct mt_sentence *out)
{
    enum { PART = 4 }; /* of what is live; chosen by hand */
    const struct mt_made *best = NULL;
    char label[MT_LABEL], buf[MT_LABEL], by[128];
    uint64_t then;
    for (uint32_t i = 0; i < m->n_made; i++)
        if (m->made[i].how == MT_MADE_SPREAD && m->made[i].bytes >= m->d->focus.live / PART &&
            (best == NULL || m->made[i].bytes > best->bytes))
            best = &m->made[i];
    if (best == NULL || best->stack == m->maker.stack || best->stack == m->oom->stack ||
        !mt_stack_operation(m->w->r->t, best->stack, by, sizeof by) || mt_operation_fills(by) ||
        (then = largest_then(m, best->event)) == 0 || then > best->size / TIMES)
        return;
    (void)mt_stack_label(m->w->r->t, best->stack, label, sizeof label);
    mt_words_add(out,
                 "%s%s made one tensor of %s, by %s, more than %" PRIu64
                 " times as large as any that was live then; what has its shape is %s%s.",
                 out->n != 0 ? " " : "", mt_words_label(buf, label), MT_BYTES(best->size), by,
                 best->size / then - (best->size % then == 0), MT_BYTES(best->bytes),
                 is_alike(m->oom->request, best->size) ? ", the failed request among it" : "");
}
