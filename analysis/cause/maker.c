/* The line that made most of what fills the card and is neither a model's nor an optimizer's, with
 * its tensors counted; and the loop that goes through lines of the pass at hand. Where nothing
 * failed, the line alone. Layers of a model come by one line as often as there are layers, and each
 * has a weight of its own: as many weights are alike as there are layers. A line that was come to
 * far more often in one pass is in a loop that uses the same weights again: steps of a solver, an
 * iteration to a fixed point, time steps.
 */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/base/operation.h"
#include "analysis/base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chosen by hand: a line with less than three tenths of what is live is not what fills the card;
 * of that work it is half, at least. A loop of fewer rounds may be something else. Weights that
 * lie in flat buffers tell nothing of layers: fewer than eight blocks, one of which has a 32nd of
 * what is live. */
enum { OF_LIVE = 3, IN = 10, MIN_ROUNDS = 12, TIMES = 2, FLAT = 32, MIN_WEIGHTS = 8 };

static int by_size(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return a < b ? -1 : a > b;
}

/* What may be weights that nothing recognised, where a pass found it there. */
static bool is_open(unsigned role)
{
    return role == MT_ROLE_UNKNOWN || role == MT_ROLE_DATA || role == MT_ROLE_CHECKPOINT;
}

/* The most blocks of that role and of one size; their number, and the largest, are
 * added up. v: room for all blocks. */
static uint32_t most_alike(const struct mt_moment *m, unsigned role, uint64_t *v, uint32_t *all,
                           uint64_t *large)
{
    uint32_t n = 0, run = 0, most = 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].role == role && (!is_open(role) || m->held[i].event == UINT64_MAX ||
                                        m->held[i].event < m->pass_began)) {
            v[n++] = m->held[i].size;
            ++*all;
            *large = m->held[i].size > *large ? m->held[i].size : *large;
        }
    if (n > 1)
        qsort(v, n, sizeof *v, by_size);
    for (uint32_t i = 0; i < n; i++) {
        run = i != 0 && v[i] == v[i - 1] ? run + 1 : 1;
        most = run > most ? run : most;
    }
    return most;
}

/* How many layers the model has at most, by its weights or gradients; 0 = they may be flat, or are
 * none of the blocks that the recording knows. *ok: there was memory. */
static uint32_t layers_at_most(const struct mt_moment *m, bool *ok)
{
    static const uint8_t weights[] = {MT_ROLE_PARAM,          MT_ROLE_GRAD,      MT_ROLE_UNSHARDED,
                                      MT_ROLE_ENGINE_WEIGHTS, MT_ROLE_BEFORE,    MT_ROLE_UNKNOWN,
                                      MT_ROLE_DATA,           MT_ROLE_CHECKPOINT};
    uint64_t *v = mt_calloc((size_t)m->n_held + 1, sizeof *v), large = 0;
    uint32_t most = 1, all = 0;
    *ok = v != NULL;
    for (unsigned k = 0; *ok && k < sizeof weights; k++) {
        uint32_t rest = 0, n;
        uint64_t rest_large = 0; /* data beside known weights are no flat buffer of them */
        bool is_rest = is_open(weights[k]) && all != 0;
        if (weights[k] == MT_ROLE_BEFORE && m->d->sums_only) /* one sum is no block */
            continue;
        n = most_alike(m, weights[k], v, is_rest ? &rest : &all, is_rest ? &rest_large : &large);
        most = n > most ? n : most;
    }
    mt_free(v);
    return all == 0 || (all < MIN_WEIGHTS && large > m->d->focus.live / FLAT) ? 0 : most;
}

/* By stack, and by line in `line`, what there is of one. */
struct count {
    uint64_t bytes, size; /* size: of the largest */
    uint32_t n;
};

static void count(struct count *c, const struct mt_held *h)
{
    c->bytes += h->size;
    c->n++;
    c->size = h->size > c->size ? h->size : c->size;
}

/* A block that a round of the loop made: which line, which size. */
struct made {
    mt_stack_id stack;
    uint64_t size;
};

static int by_kind(const void *pa, const void *pb)
{
    const struct made *a = pa, *b = pb;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

static bool may_be_round(const struct mt_moment *m, const struct mt_held *h)
{
    return h->event != UINT64_MAX && h->event >= m->pass_began && h->role == MT_ROLE_ACTIVATION &&
           mt_is_of_stretch(m, h) && !h->pending;
}

/* What something else explains: blocks that rounds, calls or earlier passes left. */
static bool is_explained(const struct mt_moment *m)
{
    return m->kept.n != 0 || m->hoard.n != 0 || m->rounds.bytes != 0 || m->graph.line != 0 ||
           (m->open && m->open_bytes >= m->d->focus.live / IN);
}

/* How often the loop went round: a place that is come to several times in each round, as the
 * linears of one call or layers of one width, counts them all, so another place of the loop, or
 * another size of the same place, with that part of them counts rounds. v: all blocks of rounds, n
 * of them. */
static uint32_t rounds_of(const struct made *v, uint32_t n, uint32_t most, uint32_t least)
{
    uint32_t found = most;
    for (uint32_t i = 0, end; i < n; i = end) {
        uint32_t k, times;
        uint64_t all;
        for (end = i + 1; end < n && by_kind(&v[end], &v[i]) == 0;)
            end++;
        k = end - i;
        times = (most + k / 2) / k;
        all = (uint64_t)times * k;
        if (k <= least || k < MIN_ROUNDS || times < 2 ||
            (all > most ? all - most : most - all) > times) /* the last round is not whole */
            continue;
        found = found == most || k > found ? k : found;
    }
    return found;
}

static void find_loop(struct mt_moment *m, const struct made *v, uint32_t n, uint32_t layers)
{
    uint32_t most = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0, end; i < n; i = end) {
        uint64_t all = 0;
        uint32_t largest = i; /* where the largest of the place begin, which are its last */
        for (end = i; end < n && v[end].stack == v[i].stack; end++) {
            largest = v[end].size != v[largest].size ? end : largest;
            all += v[end].size;
        }
        if (end - largest > TIMES * layers && end - largest >= MIN_ROUNDS) {
            bytes += all;
            most = end - largest > most ? end - largest : most;
        }
    }
    if (bytes < m->d->focus.live / IN * OF_LIVE)
        return;
    m->maker.loop = bytes;
    m->maker.rounds = rounds_of(v, n, most, TIMES * layers);
}

/* Of blocks by line: the line with most, if that is most of them all. */
static void find_line(struct mt_moment *m, const struct count *of, const mt_frame_id *line,
                      struct count *sum, uint32_t n_stacks)
{
    uint64_t all = 0;
    mt_frame_id best = 0;
    for (mt_stack_id s = 1; s < n_stacks; s++) {
        struct count *c = &sum[line[s]];
        all += of[s].bytes;
        if (line[s] == 0)
            continue;
        c->bytes += of[s].bytes;
        c->n += of[s].n;
        c->size = of[s].size > c->size ? of[s].size : c->size;
        best = best == 0 || c->bytes > sum[best].bytes ? line[s] : best;
    }
    if (best == 0 || sum[best].bytes < m->d->focus.live / IN * OF_LIVE ||
        (m->oom != NULL && sum[best].bytes < all / 2))
        return;
    for (uint32_t i = 0; i < m->n_copies; i++)
        if (m->copies[i].line == best) /* has a sentence of its own */
            return;
    m->maker.n = sum[best].n;
    m->maker.asks = m->oom != NULL && m->oom->stack < n_stacks && line[m->oom->stack] == best;
    m->maker.bytes = sum[best].bytes;
    m->maker.size = sum[best].size;
    for (mt_stack_id s = 1; s < n_stacks; s++)
        if (line[s] == best && of[s].bytes > of[m->maker.stack].bytes)
            m->maker.stack = s;
}

/* rounds: n_rounds blocks, sorted here. */
static int find_both(struct mt_moment *m, struct count *of, struct made *rounds, uint32_t n_rounds,
                     uint32_t n_stacks)
{
    const struct mt_trace *t = m->w->r->t;
    mt_frame_id *line = mt_calloc((size_t)n_stacks + 1, sizeof *line);
    struct count *sum = mt_calloc((size_t)t->frames.n + 1, sizeof *sum);
    struct mt_file_kinds files;
    bool ok = line != NULL && sum != NULL && mt_file_kinds_init(&files, t);
    uint32_t layers;
    for (mt_stack_id s = 1; ok && s < n_stacks; s++)
        if ((of[s].n != 0 || (m->oom != NULL && s == m->oom->stack)) &&
            mt_stack_site(t, &files, s, &line[s]) != MT_SITE_PYTHON)
            line[s] = 0;
    if (ok) {
        mt_file_kinds_done(&files);
        find_line(m, of, line, sum, n_stacks);
        layers = m->oom != NULL ? layers_at_most(m, &ok) : 0;
        if (layers != 0 && n_rounds != 0 && !is_explained(m)) {
            qsort(rounds, n_rounds, sizeof *rounds, by_kind);
            find_loop(m, rounds, n_rounds, layers);
        }
    }
    mt_free(line);
    mt_free(sum);
    return ok;
}

int mt_moment_maker(struct mt_moment *m)
{
    uint32_t n_stacks = m->w->r->t->stacks.n, n_rounds = 0;
    struct count *of;
    struct made *rounds;
    int ok;
    if (m->d->focus.live == 0)
        return 1;
    of = mt_calloc((size_t)n_stacks + 1, sizeof *of);
    rounds = mt_calloc((size_t)m->n_held + 1, sizeof *rounds);
    ok = of != NULL && rounds != NULL;
    for (uint32_t i = 0; ok && i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->stack == 0 || h->stack >= n_stacks || !mt_is_of_work(h) || h->role == MT_ROLE_LOGITS)
            continue;
        count(&of[h->stack], h);
        if (may_be_round(m, h))
            rounds[n_rounds++] = (struct made){h->stack, h->size};
    }
    ok = ok && find_both(m, of, rounds, n_rounds, n_stacks);
    mt_free(of);
    mt_free(rounds);
    return ok;
}

/* Whether the sentence has named the line already. */
static bool is_named(const struct mt_moment *m, const char *label)
{
    char other[MT_LABEL];
    if (m->unclaimed.bytes == 0)
        return false;
    (void)mt_stack_label(m->w->r->t, m->unclaimed.stack, other, sizeof other);
    return strcmp(label, other) == 0;
}

/* What the sizes prove of its tensors. */
static const char *of_smaller(const struct mt_moment *m, char *s, size_t cap)
{
    s[0] = '\0';
    for (uint32_t i = 0; i < m->n_made; i++) {
        const struct mt_made *w = &m->made[i];
        if (w->how != MT_MADE_SPREAD || w->stack != m->maker.stack)
            continue;
        if (w->rows != 0)
            (void)snprintf(
                s, cap, ": %" PRIu64 " x %" PRIu64 " numbers, where %" PRIu64 " numbers were there",
                w->rows, w->rows, w->rows);
        else
            (void)snprintf(s, cap, ", of tensors that are much smaller");
    }
    return s;
}

void mt_maker_words(const struct mt_moment *m, struct mt_sentence *out)
{
    const struct mt_maker *k = &m->maker;
    char label[MT_LABEL], buf[MT_LABEL], by[128], kind[160];
    bool told = mt_stack_operation(m->w->r->t, k->stack, by, sizeof by);
    (void)mt_stack_label(m->w->r->t, k->stack, label, sizeof label);
    if (k->n != 0) {
        if (is_named(m, label))
            mt_words_add(out, "That line has ");
        else
            mt_words_add(out, "%s made %s of what was live: ", mt_words_label(buf, label),
                         MT_BYTES(k->bytes));
        if (k->n == 1)
            mt_words_add(out, "one tensor");
        else
            mt_words_add(out, "%u tensors of up to %s, there at once", (unsigned)k->n,
                         MT_BYTES(k->size));
        mt_words_add(out, "%s%s%s%s.", told ? ", by " : "", told ? by : "",
                     told && mt_operation_fills(by) ? "" : of_smaller(m, kind, sizeof kind),
                     k->asks ? ", and asked for more" : "");
    }
    if (k->rounds != 0)
        mt_words_add(out,
                     "%sThe pass goes round in a loop: %u rounds, more than the model has layers, "
                     "of which autograd keeps %s.",
                     out->n != 0 ? " " : "", (unsigned)k->rounds, MT_BYTES(k->loop));
}
