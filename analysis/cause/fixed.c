/* What does not follow the batch, among what a pass has: tensors that one place makes of the
 * weights, a size for each, in another type or not; and what code between the calls of a model made
 * once for many calls, as the sum over all windows of a volume, or in sizes of its own, while the
 * passes behind them had the same: a table of states, a mask of a grammar. */
#include "analysis/base/frames.h"
#include "analysis/cause/impl.h"

#include <stdlib.h>

/* Chosen by hand. Small sizes are those of anything, and fewer tensors prove little. */
enum { LARGE = 65536, MIN_TENSORS = 8, MIN_SIZES = 2, MIN_CALLS = 3 };

struct block {
    uint64_t size;
    mt_frame_id line; /* of the job's or of a library, that made it */
    uint8_t role;
};

/* Blocks of one size: the weights', or those of one place. */
struct group {
    uint64_t size;
    uint32_t n;
};

static int by_line(const void *pa, const void *pb)
{
    const struct block *a = pa, *b = pb;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* Blocks that are sorted by size, size by size, but for small ones. */
static uint32_t group(const struct block *b, uint32_t n, struct group *out)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (b[i].size < LARGE)
            continue;
        if (k == 0 || out[k - 1].size != b[i].size)
            out[k++] = (struct group){b[i].size, 0};
        out[k - 1].n++;
    }
    return k;
}

static uint32_t number_of(const struct group *of, uint32_t n, uint64_t size)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (of[mid].size < size)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && of[low].size == size ? of[low].n : 0;
}

/* Whether a line has a tensor for each weight, but for a tenth of its bytes: of each size as many
 * as there are such weights, or the same part of them within a quarter where the pass is not over.
 * With twice as many tokens as a layer is wide, outputs have sizes of weights too, in other
 * numbers. */
static bool is_of_weights(const struct group *has, uint32_t n_has, const struct group *weights,
                          uint32_t n_weights, uint64_t times)
{
    uint32_t tensors = 0, sizes = 0;
    uint64_t all = 0, like = 0;
    double least = 1e9, most = 0;
    for (uint32_t i = 0; i < n_has; i++) {
        uint32_t of =
            has[i].size % times != 0 ? 0 : number_of(weights, n_weights, has[i].size / times);
        double part = of != 0 ? (double)has[i].n / of : 0;
        all += has[i].size * has[i].n;
        if (of == 0)
            continue;
        like += has[i].size * has[i].n;
        sizes++;
        tensors += has[i].n;
        least = part < least ? part : least;
        most = part > most ? part : most;
    }
    return sizes >= MIN_SIZES && like >= all - all / 10 && tensors >= MIN_TENSORS &&
           most - least <= most / 4;
}

static void add_place(struct mt_moment *m, const struct block *b, uint32_t n, struct group *has,
                      const struct group *weights, uint32_t n_weights)
{
    static const uint64_t times[] = {1, 2, 4}; /* the same type, or one that is wider */
    uint32_t n_has = group(b, n, has);
    uint64_t kept = 0, wide = 0;
    for (uint32_t k = 0; k < 3 && wide == 0; k++)
        wide = is_of_weights(has, n_has, weights, n_weights, times[k]) ? times[k] : 0;
    for (uint32_t i = 0; i < n && wide != 0; i++)
        if (b[i].role == MT_ROLE_TEMP)
            m->fixed.temp += b[i].size;
        else
            kept += b[i].size;
    m->fixed.kept += kept;
    m->fixed.lines += kept != 0;
    if (kept > m->fixed.most) {
        m->fixed.most = kept;
        m->fixed.line = b[0].line;
        m->fixed.wide = wide;
    }
}

static bool is_of_pass(unsigned role)
{
    return role == MT_ROLE_ACTIVATION || role == MT_ROLE_RECOMPUTE || role == MT_ROLE_TEMP;
}

static int find_of_weights(struct mt_moment *m)
{
    struct block *b = mt_calloc((size_t)m->n_held + 1, sizeof *b);
    struct group *has = mt_calloc((size_t)m->n_held + 1, sizeof *has),
                 *weights = mt_calloc((size_t)m->n_held + 1, sizeof *weights);
    uint32_t *known = mt_calloc((size_t)m->w->r->t->stacks.n + 1, sizeof *known);
    int ok = b != NULL && has != NULL && weights != NULL && known != NULL;
    uint32_t n = 0, n_weights;
    for (uint32_t i = 0; ok && i < m->n_held; i++)
        if (m->held[i].role == MT_ROLE_PARAM)
            b[n++] = (struct block){m->held[i].size, 0, MT_ROLE_PARAM};
    if (ok && n > 1)
        qsort(b, n, sizeof *b, by_line);
    n_weights = ok ? group(b, n, weights) : 0;
    n = 0;
    for (uint32_t i = 0; n_weights >= MIN_SIZES && i < m->n_held; i++) {
        mt_frame_id line = is_of_pass(m->held[i].role) && !m->held[i].pending
                               ? mt_moment_line(m, m->held[i].stack, known)
                               : 0;
        if (line != 0)
            b[n++] = (struct block){m->held[i].size, line, m->held[i].role};
    }
    if (ok && n > 1)
        qsort(b, n, sizeof *b, by_line);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && b[end].line == b[i].line; end++)
            ;
        add_place(m, b + i, end - i, has, weights, n_weights);
    }
    mt_free(b);
    mt_free(has);
    mt_free(weights);
    mt_free(known);
    return ok;
}

/* Calls of a model since the place was last come to, or since this stretch of the phase began. */
static uint32_t calls_before(const struct mt_moment *m)
{
    uint64_t since = m->oom->event;
    uint32_t n = 0;
    for (; since > m->began; since--) {
        const struct mt_event *e = mt_event_at(m->w->r->d, since - 1);
        if (e->action == MT_ACT_ALLOC && e->stack == m->oom->stack)
            break;
    }
    for (uint32_t i = 0; i < m->f->micros.n; i++)
        n += m->f->micros.p[i].first >= since && m->f->micros.p[i].first < m->oom->event;
    return n;
}

/* ---- in sizes of its own ---- */

/* Times that a place was come to one after the other with one size. size 0 = there were none. */
struct asked {
    uint64_t size, first, last; /* events */
};

/* The last of them before that event. */
static struct asked asked_before(const struct mt_moment *m, uint64_t until)
{
    struct asked of = {0, until, until};
    for (uint64_t i = until; i-- > m->began;) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action != MT_ACT_ALLOC || e->stack != m->oom->stack)
            continue;
        if (of.size == 0)
            of = (struct asked){e->size, i, i};
        else if (of.size != e->size)
            break;
        of.first = i;
    }
    return of;
}

/* The largest block of each stack between two events, but for small ones. */
static void add_largest(const struct mt_moment *m, uint64_t from, uint64_t to, uint64_t *largest)
{
    for (uint64_t i = from + 1; i < to; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC && e->size >= LARGE && e->size > largest[e->stack])
            largest[e->stack] = e->size;
    }
}

static bool is_half_more(uint64_t a, uint64_t b)
{
    uint64_t less = a < b ? a : b, more = a < b ? b : a;
    return more / 3 >= less / 2;
}

/* Whether the place asked twice for sizes that differ by half, and now for another one, while what
 * came behind these two is as large: but for an eighth of its stacks, which may be of this code. */
static int has_own_sizes(const struct mt_moment *m, bool *has)
{
    enum { ALIKE = 16, OTHER = 8 };
    struct asked last = asked_before(m, m->oom->event), before = asked_before(m, last.first);
    uint32_t n = m->w->r->t->stacks.n + 1, same = 0, other = 0;
    uint64_t *then, *now;
    *has = false;
    if (last.size == 0 || before.size == 0 || !is_half_more(last.size, before.size) ||
        !is_half_more(m->oom->request, last.size))
        return 1;
    then = mt_calloc(n, sizeof *then);
    now = mt_calloc(n, sizeof *now);
    if (then != NULL && now != NULL) {
        add_largest(m, before.last, last.first, then);
        add_largest(m, last.last, m->oom->event, now);
        for (uint32_t s = 1; s < n; s++) {
            uint64_t less = then[s] < now[s] ? then[s] : now[s], more = then[s] + now[s] - less;
            if (less != 0 && more - less <= more / ALIKE)
                same++;
            else if (less != 0)
                other++;
        }
        *has = same >= MIN_TENSORS && other <= same / OTHER;
    }
    mt_free(then);
    mt_free(now);
    return then != NULL && now != NULL;
}

/* All that the function has which asks. */
static int find_own_sizes(struct mt_moment *m)
{
    uint32_t *known;
    mt_frame_id line;
    bool has;
    if (!has_own_sizes(m, &has))
        return 0;
    if (!has)
        return 1;
    known = mt_calloc((size_t)m->w->r->t->stacks.n + 1, sizeof *known);
    if (known == NULL)
        return 0;
    line = mt_moment_line(m, m->oom->stack, known);
    m->fixed.between = m->oom->request;
    for (uint32_t i = 0; i < m->n_held; i++)
        if ((is_of_pass(m->held[i].role) || m->held[i].role == MT_ROLE_LOGITS) &&
            mt_frames_are_one_function(m->w->r->t, line,
                                       mt_moment_line(m, m->held[i].stack, known)))
            m->fixed.between += m->held[i].size;
    mt_free(known);
    return 1;
}

int mt_moment_fixed(struct mt_moment *m)
{
    if (!find_of_weights(m))
        return 0;
    if (m->oom == NULL || m->oom->stack == 0 || m->sub != MT_PH_NONE ||
        mt_phase_is(m->phase, MT_TRAINS) || m->oom->event >= m->w->r->d->events.n)
        return 1;
    if (calls_before(m) < MIN_CALLS)
        return find_own_sizes(m);
    m->fixed.between = m->oom->request;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].role == MT_ROLE_TEMP && m->held[i].attr.sub == MT_PH_NONE &&
            mt_is_of_stretch(m, &m->held[i]))
            m->fixed.between += m->held[i].size;
    return 1;
}
