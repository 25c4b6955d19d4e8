/* Growth inside one stretch of a phase without steps, as of an evaluation that keeps the output of
 * each batch. The layers of one pass add blocks one by one, too. Batches are told from layers by
 * what runs in between: code outside of the call of the model, or some other stack that allocates
 * more than once. */
#include "analysis/cause/impl.h"

#include <stdlib.h>

/* MIN_KEPT was chosen by hand. Of 387 reports 4 changes one, 16 none. */
enum { MIN_KEPT = 8, MAX_STACKS = 16 };

/* Whether the passes of the phase need to keep nothing. Training keeps activations for its
 * backward, an engine with weights of its own fills its cache, set-up loads weights. What a job
 * runs that has trained, or whose phase is not known, may be an evaluation: what comes after the
 * last backward pass. */
static bool keeps_nothing(const struct mt_moment *m, uint64_t *since)
{
    bool trained = false;
    *since = m->began;
    if (m->phase != MT_PH_UNATTRIBUTED && !mt_phase_is(m->phase, MT_TRAINS))
        return m->phase == MT_PH_EVAL || mt_phase_is(m->phase, MT_FORWARD_ONLY) ||
               (mt_phase_is(m->phase, MT_GENERATES) && m->role[MT_ROLE_ENGINE_WEIGHTS] == 0);
    for (uint32_t i = 0; i < m->f->micros.n; i++)
        if (m->f->micros.p[i].has_backward && m->f->micros.p[i].last < m->oom->event) {
            trained = true;
            if (m->f->micros.p[i].last >= *since)
                *since = m->f->micros.p[i].last + 1;
        }
    return m->engine == 0 && !mt_phase_is(m->sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER) &&
           (trained || m->phase == MT_PH_UNATTRIBUTED);
}

/* Whether a line that is at work since then calls its model several times before each backward pass
 * (a sampling chain, an unrolled loop): what its calls keep is for the one to come. */
static bool is_chain(const struct mt_moment *m, uint64_t since)
{
    for (mt_frame_id i = 1; m->call_most != NULL && i < m->w->r->t->frames.n; i++)
        if (m->call_most[i] >= 2 && m->call_began[i] > since)
            return true;
    return false;
}

static bool is_of_stretch(const struct mt_moment *m, const struct mt_held *h, uint64_t since)
{
    return h->event != UINT64_MAX && h->event >= since && h->stack != 0 &&
           h->stack < m->w->r->t->stacks.n && !h->pending &&
           (mt_is_transient(h->role) || h->role == MT_ROLE_UNKNOWN || h->role == MT_ROLE_DATA ||
            h->role == MT_ROLE_PARAM_CAST);
}

static int by_event(const void *pa, const void *pb)
{
    const struct mt_held *a = *(const struct mt_held *const *)pa,
                         *b = *(const struct mt_held *const *)pb;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* What runs between two births: whether the call of the model was left, for a block that no call
 * made whether some model was called, and whether some other stack allocated more than once. seen:
 * by stack, the last round in which it allocated. */
struct between {
    mt_frame_id call; /* 0 = the model's is not known, or the line lies in none */
    uint32_t *seen, round;
    bool left, called, again;
};
static void look_between(const struct mt_moment *m, const struct mt_held *a,
                         const struct mt_held *b, struct between *w)
{
    const struct mt_replay *r = m->w->r;
    w->round++;
    w->left = w->called = w->again = false;
    for (uint64_t i = a->event + 1; !w->left && i < b->event; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action != MT_ACT_ALLOC || e->stack == 0 || e->stack >= r->t->stacks.n)
            continue;
        w->again = w->again || w->seen[e->stack] == w->round;
        w->left = w->call != 0 && m->call_of[e->stack] != w->call;
        w->called = w->called || (m->call_of != NULL && m->call_of[e->stack] != 0);
        w->seen[e->stack] = w->round;
    }
}

/* The most blocks of a stack that were alive together before that event: a pass with its backward
 * may hold several. */
static uint32_t most_before(const struct mt_moment *m, mt_stack_id stack, uint64_t since)
{
    const struct mt_replay *r = m->w->r;
    uint32_t n = 0, most = 0;
    for (uint64_t i = 0; i < since; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        uint32_t born = m->w->fate[i].freed;
        if (e->action == MT_ACT_ALLOC && e->stack == stack)
            most = ++n > most ? n : most;
        else if (e->action == MT_ACT_FREE_COMPLETED && born != MT_NEVER &&
                 mt_event_at(r->d, born)->stack == stack)
            n--;
    }
    return most;
}

/* Whether two events lie in one pass over the model: what it keeps is of its layers. */
static bool in_one_pass(const struct mt_moment *m, uint64_t a, uint64_t b)
{
    uint32_t micro = mt_micro_at(m->f, a);
    return micro != UINT32_MAX && micro == mt_micro_at(m->f, b);
}

/* Whether the live blocks of one stack look as batches leave them: MIN_KEPT rounds of the model's
 * call, or MIN_KEPT blocks of sizes within an eighth, a tenth of the live bytes together, with
 * something else in between each two: of more than one pass, or of a line outside of any call, with
 * calls of a model between each two. */
static bool is_kept_in_rounds(const struct mt_moment *m, mt_stack_id stack, uint64_t since,
                              const struct mt_held **born, struct between *w, struct mt_kept *out)
{
    uint64_t least = UINT64_MAX, most = 0;
    uint32_t n = 0;
    bool apart = true, called = true;
    *out = (struct mt_kept){.stack = stack, .rounds = 1};
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (!is_of_stretch(m, h, since) || h->stack != stack)
            continue;
        born[n++] = h;
        least = h->size < least ? h->size : least;
        most = h->size > most ? h->size : most;
        out->bytes += h->size;
    }
    if (n < MIN_KEPT || n <= most_before(m, stack, since))
        return false;
    qsort(born, n, sizeof *born, by_event);
    w->call = m->call_of != NULL ? m->call_of[stack] : 0;
    for (uint32_t k = 0; k + 1 < n; k++) {
        look_between(m, born[k], born[k + 1], w);
        out->rounds += w->left;
        apart = apart && (w->left || w->again);
        called = called && w->called && w->again;
    }
    if (out->rounds < MIN_KEPT && apart &&
        ((w->call == 0 && called) || !in_one_pass(m, born[0]->event, born[n - 1]->event)) &&
        most - least <= most / 8 && out->bytes >= m->d->focus.live / 10)
        out->rounds = n;
    out->n = n;
    out->first = born[0]->event;
    out->last = born[n - 1]->event;
    return out->rounds >= MIN_KEPT;
}

/* Keys and values that each pass makes anew, longer: of the nodes of a search, or of requests that
 * are over, the last ones of each row of passes are kept. Of requests at work as many as are live
 * are made anew in each turn, and none of them is older. */
static bool is_past_caches(const struct mt_moment *m, mt_stack_id stack,
                           const struct mt_held **born, struct between *w, struct mt_kept *out)
{
    enum { TURNS = 2 };
    uint32_t made = 0, n = 0;
    *out = (struct mt_kept){.stack = stack, .rounds = 1};
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].stack == stack && m->held[i].role == MT_ROLE_KV_CACHE &&
            m->held[i].event != UINT64_MAX && !m->held[i].pending) {
            born[n++] = &m->held[i];
            out->bytes += m->held[i].size;
        }
    if (n < MIN_KEPT || out->bytes < m->d->focus.live / 10 || m->call_of == NULL ||
        m->call_of[stack] == 0)
        return false;
    qsort(born, n, sizeof *born, by_event);
    out->n = n;
    out->first = born[0]->event;
    out->last = born[n - 1]->event;
    for (uint64_t i = out->first; i <= out->last; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        made += e->action == MT_ACT_ALLOC && e->stack == stack;
    }
    w->call = m->call_of[stack];
    for (uint32_t k = 0; k + 1 < n; k++) {
        look_between(m, born[k], born[k + 1], w);
        out->rounds += w->left;
    }
    return out->rounds >= MIN_KEPT && made >= TURNS * n;
}

static int by_bytes(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* Sizes of weights of which autocast makes copies, sorted; returns how many. */
static uint32_t weight_sizes(const struct mt_moment *m, uint64_t *sizes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].role == MT_ROLE_PARAM || m->held[i].role == MT_ROLE_BEFORE)
            sizes[n++] = m->held[i].size;
    if (n > 1)
        qsort(sizes, n, sizeof *sizes, by_bytes);
    return n;
}

/* Of the kept blocks those of half the size of a weight. */
static uint64_t casts_among(const struct mt_held *const *born, uint32_t n, const uint64_t *sizes,
                            uint32_t n_sizes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t twice = 2 * born[i]->size;
        if (n_sizes != 0 && bsearch(&twice, sizes, n_sizes, sizeof *sizes, by_bytes) != NULL)
            sum += born[i]->size;
    }
    return sum;
}

/* Adds what one stack keeps; the name is that of the largest. */
static void add_kept(struct mt_kept *all, const struct mt_kept *one)
{
    if (all->n == 0) {
        *all = *one;
        return;
    }
    all->n += one->n;
    all->bytes += one->bytes;
    all->casts += one->casts;
    all->rounds = one->rounds > all->rounds ? one->rounds : all->rounds;
    all->first = one->first < all->first ? one->first : all->first;
    all->last = one->last > all->last ? one->last : all->last;
}

/* Of what a line's calls kept, what those before the last one did: of two or more, or of one that
 * holds a quarter of what is live, as of two passes before one backward. */
static uint64_t of_earlier_calls(struct mt_moment *m, mt_frame_id line, uint64_t at)
{
    enum { MUCH = 4 };
    uint64_t bytes = 0, last = m->call_began[line];
    uint32_t n = 0;
    mt_frame_id call = 0;
    for (uint64_t i = 0; i + 1 < last && i <= at; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action != MT_ACT_ALLOC)
            continue;
        n += m->call_of[e->stack] == line && call != line;
        call = m->call_of[e->stack];
        if (call == line && m->w->fate[i].freed > at && mt_is_transient(m->w->fate[i].role)) {
            bytes += e->size;
            m->open_stack = e->stack;
        }
    }
    m->open_calls = n;
    return n >= 2 || (n == 1 && bytes >= m->d->focus.live / MUCH) ? bytes : 0;
}

/* Nothing tells whether a backward pass behind all of it is to come: none has been there, and of
 * the line that calls a model and has most of what is live it is kept as autograd keeps it. A
 * rollout through a model of the world looks so, two encoders before their loss, and a model that
 * only scores and has gradients on. */
static int find_open(struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    uint64_t at = (uint64_t)m->d->focus.event;
    struct mt_rest_of_pass *of;
    mt_frame_id best = 0;
    if (m->phase != MT_PH_UNATTRIBUTED || m->call_of == NULL)
        return 1;
    for (uint64_t i = 0; i <= at && i < r->d->events.n; i++)
        if (mt_phase_is(r->attr[i].sub, MT_IN_BACKWARD))
            return 1;
    if ((of = mt_calloc((size_t)r->t->frames.n + 1, sizeof *of)) == NULL)
        return 0;
    for (uint64_t i = 0; i <= at && i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        mt_frame_id line = m->call_of[e->stack];
        if (e->action != MT_ACT_ALLOC || line == 0)
            continue;
        of[line].made++;
        if (m->w->fate[i].freed > at) {
            of[line].live++;
            of[line].bytes += e->size;
        }
        best = of[line].bytes > of[best].bytes ? line : best;
    }
    m->open = best != 0 && mt_is_of_graph(&of[best]);
    if (m->open)
        m->open_bytes = of_earlier_calls(m, best, at);
    mt_free(of);
    return 1;
}

int mt_moment_kept(struct mt_moment *m)
{
    size_t n_stacks = (size_t)m->w->r->t->stacks.n + 1;
    uint64_t *sum, *sizes;
    uint64_t since;
    uint32_t n_sizes;
    struct between w = {0, NULL, 0, false, false, false};
    const struct mt_held **born;
    int ok;
    if (m->oom != NULL && m->w->r->attr != NULL && m->w->fate != NULL && !find_open(m))
        return 0;
    if (m->oom == NULL || m->n_held < MIN_KEPT || m->w->fate == NULL || !keeps_nothing(m, &since) ||
        m->f->recorded != 0 || is_chain(m, since))
        return 1;
    sum = mt_calloc(n_stacks, sizeof *sum);
    w.seen = mt_calloc(n_stacks, sizeof *w.seen);
    born = mt_calloc(m->n_held, sizeof *born);
    sizes = mt_calloc(m->n_held, sizeof *sizes);
    ok = sizes != NULL && sum != NULL && w.seen != NULL && born != NULL;
    for (uint32_t i = 0; ok && i < m->n_held; i++)
        if (is_of_stretch(m, &m->held[i], since))
            sum[m->held[i].stack] += m->held[i].size;
    n_sizes = ok ? weight_sizes(m, sizes) : 0;
    for (unsigned turn = 0; ok && turn < MAX_STACKS; turn++) {
        struct mt_kept kept;
        uint32_t best = 0;
        for (uint32_t i = 1; i + 1 < n_stacks; i++)
            best = sum[i] > sum[best] ? i : best;
        if (sum[best] == 0)
            break;
        sum[best] = 0;
        if (!is_kept_in_rounds(m, best, since, born, &w, &kept))
            continue;
        kept.casts = casts_among(born, kept.n, sizes, n_sizes);
        add_kept(&m->kept, &kept);
    }
    if (m->kept.bytes < m->d->focus.live / 10)
        m->kept = (struct mt_kept){.n = 0};
    for (uint32_t i = 1; ok && m->w->grown != NULL && i + 1 < n_stacks; i++) {
        struct mt_kept caches;
        if (m->w->grown[i] != 0 && is_past_caches(m, i, born, &w, &caches))
            add_kept(&m->past_caches, &caches);
    }
    mt_free(sum);
    mt_free(sizes);
    mt_free(w.seen);
    mt_free(born);
    return ok;
}
