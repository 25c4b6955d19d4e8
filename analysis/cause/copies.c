/* Copies of the weights, or of their gradients, that the job's own code keeps: a clone of each
 * parameter, all gradients as one flat tensor, the history of an optimizer, weights that a forward
 * pass makes of others. No frame says what they are. One line has tensors of the very sizes of the
 * weights, in their numbers, or tensors as large as all of them together. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/roles/roles.h"

#include <stdlib.h>
#include <string.h>

/* Chosen by hand. Small sizes are those of anything; fewer tensors than MIN_TENSORS prove little. A
 * flat copy is of at least so many weights, and of half of the model. */
enum { LARGE = 65536, MIN_TENSORS = 8, MIN_WEIGHTS = 4, FLAT_STATES = 5, OF_LIVE = 20 };

/* A live block by the line that made it; line 0 = there is no such. */
struct piece {
    mt_frame_id line;
    uint64_t size, event;
    uint8_t role, sub;
};
/* Weights of one size. */
struct weights {
    uint64_t size;
    uint32_t n;
};
struct work {
    const struct mt_moment *m;
    struct piece *piece; /* by line and size */
    uint32_t n;
    struct weights *of; /* the model, by size */
    uint32_t n_of;
    uint64_t *by_birth; /* sizes of its weights in the order in which they were made */
    uint32_t n_birth;
    bool *is_model;     /* by the first piece of a line: it made the model, or is not known */
    uint64_t total;     /* bytes of the model */
    uint64_t in_passes; /* bytes of forward passes, and those of them in sizes of weights */
    uint64_t in_passes_like;
};

static int by_line(const void *pa, const void *pb)
{
    const struct piece *a = pa, *b = pb;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

static int by_birth(const void *pa, const void *pb)
{
    const struct piece *a = pa, *b = pb;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* The line of the job's own that a stack lies in; 0 = none. */
static mt_frame_id own_line(const struct mt_trace *t, mt_stack_id s)
{
    mt_frame_id frame = 0;
    struct mt_frame_view v;
    if (s == 0 || s >= t->stacks.n || mt_stack_site(t, NULL, s, &frame) != MT_SITE_PYTHON)
        return 0;
    mt_frame_describe(t, frame, &v);
    return v.is_internal ? 0 : frame;
}

static int collect(struct work *w)
{
    const struct mt_moment *m = w->m;
    const struct mt_trace *t = m->w->r->t;
    mt_frame_id *line = mt_calloc((size_t)t->stacks.n + 1, sizeof *line);
    uint8_t *known = mt_calloc((size_t)t->stacks.n + 1, 1);
    w->piece = mt_calloc((size_t)m->n_held + 1, sizeof *w->piece);
    if (line != NULL && known != NULL && w->piece != NULL)
        for (uint32_t i = 0; i < m->n_held; i++) {
            const struct mt_held *h = &m->held[i];
            mt_stack_id s = h->stack < t->stacks.n ? h->stack : 0;
            if (!known[s]) {
                line[s] = own_line(t, s);
                known[s] = 1;
            }
            if (!h->pending)
                w->piece[w->n++] = (struct piece){line[s], h->size, h->event, h->role, h->attr.sub};
        }
    if (w->n > 1)
        qsort(w->piece, w->n, sizeof *w->piece, by_line);
    mt_free(line);
    mt_free(known);
    return line != NULL && known != NULL && w->piece != NULL;
}

static uint32_t end_of_line(const struct work *w, uint32_t first)
{
    uint32_t end = first;
    while (end < w->n && w->piece[end].line == w->piece[first].line)
        end++;
    return end;
}

/* Whether all that a line has, but for a tenth, is parameters: there the model was made. */
static bool makes_model(const struct work *w, uint32_t first, uint32_t end)
{
    uint64_t all = 0, param = 0;
    for (uint32_t i = first; i < end; i++) {
        all += w->piece[i].size;
        param += w->piece[i].role == MT_ROLE_PARAM ? w->piece[i].size : 0;
    }
    return param != 0 && param >= all - all / 10;
}

static int by_size(const void *pa, const void *pb)
{
    const struct weights *a = pa, *b = pb;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* The parameters of the lines that made the model, and those whose line is not known, into `of`;
 * marks those lines. */
static uint32_t find_weights(struct work *w, struct piece *of)
{
    uint32_t n = 0;
    for (uint32_t i = 0, end; i < w->n; i = end) {
        end = end_of_line(w, i);
        w->is_model[i] = w->piece[i].line == 0 || makes_model(w, i, end);
        for (uint32_t k = i; w->is_model[i] && k < end; k++)
            if (w->piece[k].role == MT_ROLE_PARAM)
                of[n++] = w->piece[k];
    }
    return n;
}

/* Fills the weights of the model, by size and by birth. */
static void sort_weights(struct work *w, struct piece *of, uint32_t n)
{
    if (n > 1)
        qsort(of, n, sizeof *of, by_birth);
    for (uint32_t i = 0; i < n; i++) {
        w->of[i] = (struct weights){of[i].size, 1};
        w->total += of[i].size;
        w->by_birth[i] = of[i].size;
    }
    w->n_birth = n;
    if (n > 1)
        qsort(w->of, n, sizeof *w->of, by_size);
    for (uint32_t i = 0; i < n; i++)
        if (w->n_of != 0 && w->of[w->n_of - 1].size == w->of[i].size)
            w->of[w->n_of - 1].n++;
        else
            w->of[w->n_of++] = w->of[i];
}

static int collect_weights(struct work *w)
{
    struct piece *of = mt_calloc((size_t)w->n + 1, sizeof *of);
    int ok;
    w->of = mt_calloc((size_t)w->n + 1, sizeof *w->of);
    w->by_birth = mt_calloc((size_t)w->n + 1, sizeof *w->by_birth);
    w->is_model = mt_calloc((size_t)w->n + 1, sizeof *w->is_model);
    ok = of != NULL && w->of != NULL && w->by_birth != NULL && w->is_model != NULL;
    if (ok)
        sort_weights(w, of, find_weights(w, of));
    mt_free(of);
    return ok;
}

/* How many weights have that size. */
static uint32_t weights_of(const struct work *w, uint64_t size)
{
    struct weights key = {size, 0}, *at;
    at = w->n_of != 0 ? bsearch(&key, w->of, w->n_of, sizeof *w->of, by_size) : NULL;
    return at != NULL ? at->n : 0;
}

/* Whether a size is that of all weights, or of several that were made one after the other. */
static bool is_of_many(const struct work *w, uint64_t size)
{
    return size >= LARGE && size >= w->total / 2 &&
           mt_is_sum_of_weights(size, w->by_birth, w->n_birth);
}

static bool is_of_pass(const struct piece *p)
{
    return p->role == MT_ROLE_ACTIVATION || p->sub == MT_PH_FORWARD;
}

/* What roles a copy may have been given: those of what is known well are none of them. */
static bool may_be_copy(const struct piece *p)
{
    return p->role == MT_ROLE_PARAM || p->role == MT_ROLE_GRAD || p->role == MT_ROLE_ACTIVATION ||
           p->role == MT_ROLE_TEMP || p->role == MT_ROLE_DATA || p->role == MT_ROLE_UNKNOWN ||
           p->role == MT_ROLE_OPTIM_STATE;
}

/* Fills c->round: what each of the last rounds added, where that was alike. `of` blocks of that
 * size are a set. A round is what is made together: between rounds much more happens than inside
 * one. */
static void measure_rounds(const struct work *w, uint32_t first, uint32_t end, uint32_t of,
                           struct mt_copies *c)
{
    enum { LEAST = 3, APART = 4 };
    uint64_t widest = 0;
    uint32_t now = 1, each = 0, rounds = 0;
    for (uint32_t i = first + 1; i < end && w->piece[i].event != UINT64_MAX; i++) {
        uint64_t gap = w->piece[i].event - w->piece[i - 1].event;
        widest = gap > widest ? gap : widest;
    }
    /* the last round may not be over */
    for (uint32_t i = first + 1; i < end && w->piece[i].event != UINT64_MAX; i++, now++) {
        if (w->piece[i].event - w->piece[i - 1].event <= widest / APART)
            continue;
        rounds = now == each ? rounds + 1 : 1;
        each = now;
        now = 0;
    }
    if (rounds >= LEAST && each % of == 0) {
        c->round = each / of * c->set;
        c->rounds = rounds;
    }
}

/* Blocks of one size, each as large as many weights together. */
static void look_for_flat(const struct work *w, uint32_t first, uint32_t end, struct mt_copies *c)
{
    for (uint32_t i = first, next; i < end; i = next) {
        uint32_t n = 0, states = 0;
        for (next = i; next < end && w->piece[next].size == w->piece[i].size; next++) {
            n += may_be_copy(&w->piece[next]);
            states += w->piece[next].role == MT_ROLE_OPTIM_STATE;
        }
        if (n < 2 || (states != 0 && n < FLAT_STATES) || w->piece[i].size * n <= c->bytes ||
            !is_of_many(w, w->piece[i].size))
            continue;
        *c = (struct mt_copies){.line = w->piece[i].line,
                                .kind = MT_COPIES_FLAT,
                                .is_state = states > n / 2,
                                .n = n,
                                .tensors = n,
                                .bytes = w->piece[i].size * n,
                                .set = w->piece[i].size};
        measure_rounds(w, i, next, 1, c);
    }
}

/* What a line has in the sizes of weights. */
struct likeness {
    uint64_t bytes, all;       /* of those sizes; of all that may be copies */
    uint64_t set, largest;     /* of the weights of those sizes, and the largest of them */
    uint32_t tensors, n_large; /* blocks of those sizes; sizes that are not small */
    uint32_t made_of;          /* weights of the large sizes */
    uint32_t most, least;      /* sets, by the size that has most of them, and least */
    uint64_t pass, pass_like;  /* of a forward pass; of them of those sizes */
    uint64_t in_model;         /* of a model's call */
    bool forward, state;
};

static struct likeness compare(const struct work *w, uint32_t first, uint32_t end)
{
    struct likeness l = {.least = UINT32_MAX};
    for (uint32_t i = first, next; i < end; i = next) {
        uint32_t of = weights_of(w, w->piece[i].size), n = 0;
        for (next = i; next < end && w->piece[next].size == w->piece[i].size; next++) {
            if (!may_be_copy(&w->piece[next]))
                continue;
            n++;
            l.all += w->piece[next].size;
            l.pass += is_of_pass(&w->piece[next]) ? w->piece[next].size : 0;
            l.pass_like += is_of_pass(&w->piece[next]) && of != 0 ? w->piece[next].size : 0;
            l.in_model += w->piece[next].sub == MT_PH_FORWARD ? w->piece[next].size : 0;
            l.state = l.state || (w->piece[next].role == MT_ROLE_OPTIM_STATE && of != 0);
        }
        if (of == 0 || n == 0)
            continue;
        l.bytes += w->piece[i].size * n;
        l.set += w->piece[i].size * of;
        l.tensors += n;
        if (w->piece[i].size < LARGE)
            continue;
        l.n_large++;
        l.made_of += of;
        l.largest = w->piece[i].size;
        l.most = (n + of - 1) / of > l.most ? (n + of - 1) / of : l.most;
        l.least = n / of < l.least ? n / of : l.least;
    }
    l.forward = l.pass > l.all / 2;
    return l;
}

/* The line of the request, where it asks for a tensor in the size of a weight. */
static bool asks_for_more(const struct work *w, mt_frame_id line)
{
    const struct mt_oom *o = w->m->oom;
    bool like = false;
    for (uint32_t i = 0; o != NULL && i < w->n_of && !like; i++)
        like = w->of[i].size >= LARGE && w->of[i].size <= o->request &&
               o->request - w->of[i].size < 512;
    return like && own_line(w->m->w->r->t, o->stack) == line;
}

/* A tensor of each size. Of a forward pass only where its other tensors have no such sizes: with as
 * many tokens as a layer is wide, activations have them, too. */
static void look_for_each(const struct work *w, uint32_t first, uint32_t end, struct mt_copies *c)
{
    struct likeness l = compare(w, first, end);
    enum mt_copies_kind kind = !l.forward               ? MT_COPIES_OF_EACH
                               : l.in_model > l.all / 2 ? MT_COPIES_IN_PASS
                                                        : MT_COPIES_IN_LOSS;
    bool asked = asks_for_more(w, w->piece[first].line);
    uint64_t rest = w->in_passes - (l.forward ? l.pass : 0),
             like = w->in_passes_like - (l.forward ? l.pass_like : 0);
    if (l.state || l.bytes < l.all - l.all / 10 || l.bytes <= c->bytes ||
        l.n_large + (asked && l.n_large == 1) < 2)
        return;
    /* what has one size again and again is of pairs or pieces, of which one has that size by chance
     */
    if (l.forward ? l.tensors < MIN_TENSORS || like > rest / 4 || w->in_passes == 0 ||
                        l.most > 2 * (l.least + 1) || (l.n_large < 2 && l.tensors > l.made_of)
                  : l.most > l.least + 1)
        return;
    /* few tensors are copies where they are large weights of which there is no second */
    if (l.tensors < MIN_TENSORS && (!asked || l.made_of != l.n_large || l.bytes < w->total / 4))
        return;
    if (l.tensors >= MIN_TENSORS && l.set < w->total / 2)
        return;
    *c = (struct mt_copies){.line = w->piece[first].line,
                            .kind = kind,
                            .asked = asked,
                            .n = kind == MT_COPIES_IN_PASS ? 1 : l.most,
                            .tensors = l.tensors,
                            .bytes = l.bytes,
                            .set = l.set};
    for (uint32_t i = first; i < end; i++)
        if (w->piece[i].size == l.largest) { /* of one size, the last of the line that counts */
            uint32_t last = i;
            while (last < end && w->piece[last].size == l.largest)
                last++;
            measure_rounds(w, i, last, weights_of(w, l.largest), c);
            break;
        }
}

/* What of the copies of a line waits for the backward pass, and what has the role of a temporary.
 */
static void add_roles(const struct work *w, uint32_t first, uint32_t end, struct mt_copies *c)
{
    for (uint32_t i = first; i < end; i++) {
        const struct piece *p = &w->piece[i];
        if (c->kind == MT_COPIES_FLAT ? p->size != c->set : weights_of(w, p->size) == 0)
            continue;
        c->kept += p->role == MT_ROLE_ACTIVATION ? p->size : 0;
        c->temp += p->role == MT_ROLE_TEMP ? p->size : 0;
    }
}

static void keep(struct mt_moment *m, const struct mt_copies *c)
{
    uint32_t at = m->n_copies;
    if (c->bytes == 0 || c->bytes < m->d->focus.live / OF_LIVE)
        return;
    while (at > 0 && m->copies[at - 1].bytes < c->bytes)
        at--;
    if (at == MT_MAX_COPIES)
        return;
    if (m->n_copies < MT_MAX_COPIES)
        m->n_copies++;
    memmove(&m->copies[at + 1], &m->copies[at], (m->n_copies - at - 1) * sizeof m->copies[0]);
    m->copies[at] = *c;
}

static void measure_passes(struct work *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (is_of_pass(&w->piece[i]) && may_be_copy(&w->piece[i])) {
            w->in_passes += w->piece[i].size;
            w->in_passes_like += weights_of(w, w->piece[i].size) != 0 ? w->piece[i].size : 0;
        }
}

int mt_moment_copies(struct mt_moment *m)
{
    struct work w = {.m = m};
    int ok;
    if (m->n_held < MIN_TENSORS || !mt_is_of_tensors(m->w->r->t))
        return 1;
    ok = collect(&w) && collect_weights(&w);
    if (ok && w.n_birth >= MIN_WEIGHTS) {
        measure_passes(&w);
        for (uint32_t i = 0, end; i < w.n; i = end) {
            struct mt_copies c = {.line = 0};
            end = end_of_line(&w, i);
            if (w.is_model[i])
                continue;
            look_for_flat(&w, i, end, &c);
            look_for_each(&w, i, end, &c);
            add_roles(&w, i, end, &c);
            keep(m, &c);
        }
    }
    mt_free(w.piece);
    mt_free(w.of);
    mt_free(w.by_birth);
    mt_free(w.is_model);
    return ok;
}
