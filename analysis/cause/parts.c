/* What is there twice. A tensor that was joined of others which are still there, so that their
 * sizes add up to its own; and one that is two or four times as large as the one made before it,
 * which is still there: the same numbers in a wider type. Sizes prove that much and no more; which
 * operations join and which widen, rows of metrics.json say (joined_by, widened_by). */
#include "analysis/cause/impl.h"

#include <stdlib.h>
#include <string.h>

/* Chosen by hand: lines with an eighth of what is live; pieces that are fewer than two are none;
 * none of a pair is less than an eighth of the whole. */
enum { LEAST = 8, PIECES = 2, OF_PAIR = 8, CANDIDATES = 4 };

/* A line's blocks. */
struct of_line {
    uint64_t bytes, size, event; /* size and birth of the largest */
    mt_stack_id stack;
};

/* By stack, pieces that were there when the whole was made and are there still, the last first. */
struct piece {
    uint64_t bytes, smallest, largest;
    uint32_t n;
};

static bool is_there(const struct mt_moment *m, uint64_t event)
{
    return m->w->fate[event].freed > m->oom->event;
}

static bool is_work(unsigned role)
{
    return mt_is_transient(role) || role == MT_ROLE_UNKNOWN || role == MT_ROLE_DATA;
}

/* Sizes of what is of the job's work, was there before an event and is there, the smallest first: a
 * job may have a hundred thousand blocks and as many stacks. */
struct sizes {
    uint64_t *v; /* room for all blocks */
    uint32_t n;
};

static int by_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

static void sizes_before(struct sizes *z, const struct mt_moment *m, uint64_t at)
{
    z->n = 0;
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if ((h->event == UINT64_MAX || h->event < at) && is_work(h->role))
            z->v[z->n++] = h->size;
    }
    if (z->n > 1)
        qsort(z->v, z->n, sizeof *z->v, by_size);
}

/* Whether there are so many blocks of a size; times: at least 1. */
static bool has_size(const struct sizes *z, uint64_t size, uint32_t times)
{
    uint32_t lo = 0, hi = z->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (z->v[mid] < size)
            lo = mid + 1;
        else
            hi = mid;
    }
    return z->n - lo >= times && z->v[lo + times - 1] == size;
}

/* A block of that size is none of the pieces: it is not counted twice. */
static bool has_one_more(const struct sizes *z, const struct piece *p, uint64_t size)
{
    bool may_be_piece = size >= p->smallest && size <= p->largest;
    return has_size(z, size, may_be_piece ? p->n + 1 : 1);
}

/* Pieces of one line, or one of them more that another line made, or the last that was made and
 * one other: what an operation joins at once is not more varied as a rule. */
static bool is_joined(const struct mt_moment *m, const struct of_line *w, struct piece *of,
                      const struct sizes *z)
{
    const struct mt_replay *r = m->w->r;
    bool last = true;
    for (uint64_t i = w->event; i-- > 0;) {
        const struct mt_event *e = mt_event_at(r->d, i);
        struct piece *p;
        if (e->action != MT_ACT_ALLOC || e->stack == 0 || e->stack == w->stack || !is_there(m, i) ||
            !is_work(m->w->fate[i].role))
            continue;
        p = &of[e->stack];
        p->smallest = p->n == 0 || e->size < p->smallest ? e->size : p->smallest;
        p->largest = e->size > p->largest ? e->size : p->largest;
        p->bytes += e->size;
        p->n++;
        if (p->n >= PIECES && p->bytes == w->size)
            return true;
        if (last && e->size < w->size && e->size >= w->size / OF_PAIR &&
            w->size - e->size >= w->size / OF_PAIR &&
            has_size(z, w->size - e->size, w->size - e->size == e->size ? 2 : 1))
            return true;
        last = last && e->size < w->size / OF_PAIR;
    }
    for (mt_stack_id s = 1; s < r->t->stacks.n; s++)
        if (of[s].n >= PIECES && of[s].bytes < w->size && of[s].bytes >= w->size / 2 &&
            has_one_more(z, &of[s], w->size - of[s].bytes))
            return true;
    return false;
}

/* The last that was made of those whose type may be another one's of the same numbers. */
static bool is_widened(const struct mt_moment *m, const struct of_line *w)
{
    const struct mt_replay *r = m->w->r;
    for (uint64_t i = w->event; i-- > 0;) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action != MT_ACT_ALLOC || m->w->fate[i].freed <= w->event)
            continue;
        if (e->size == 2 * w->size || e->size == 4 * w->size)
            return false;
        if (2 * e->size == w->size || 4 * e->size == w->size)
            return is_there(m, i) && is_work(m->w->fate[i].role);
    }
    return false;
}

static void keep(struct mt_moment *m, const struct of_line *w, enum mt_made_how how)
{
    if (m->n_made < MT_MADE)
        m->made[m->n_made++] = (struct mt_made){
            .stack = w->stack, .how = (uint8_t)how, .size = w->size, .bytes = w->bytes};
}

static void add(struct of_line *w, uint64_t size, uint64_t event, mt_stack_id stack)
{
    w->stack = stack;
    w->bytes += size;
    if (size <= w->size)
        return;
    w->size = size;
    w->event = event;
}

int mt_moment_parts(struct mt_moment *m)
{
    uint32_t n_stacks = m->w->r->t->stacks.n;
    struct of_line *of;
    struct piece *pieces;
    struct sizes z;
    if (m->oom == NULL || m->w->fate == NULL)
        return 1;
    of = mt_calloc((size_t)n_stacks + 1, sizeof *of);
    pieces = mt_calloc((size_t)n_stacks + 1, sizeof *pieces);
    z.v = mt_calloc((size_t)m->n_held + 1, sizeof *z.v);
    for (uint32_t i = 0; of != NULL && i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->stack != 0 && h->stack < n_stacks && h->event != UINT64_MAX && mt_is_of_work(h))
            add(&of[h->stack], h->size, h->event, h->stack);
    }
    if (of != NULL && m->oom->stack != 0 && m->oom->stack < n_stacks)
        add(&of[m->oom->stack], m->oom->request, m->oom->event, m->oom->stack);
    for (unsigned k = 0; of != NULL && pieces != NULL && z.v != NULL && k < CANDIDATES; k++) {
        struct of_line *best = &of[0];
        for (mt_stack_id s = 1; s < n_stacks; s++)
            best = of[s].bytes > best->bytes ? &of[s] : best;
        if (best->bytes == 0 || best->bytes < m->d->focus.live / LEAST)
            break;
        memset(pieces, 0, ((size_t)n_stacks + 1) * sizeof *pieces);
        sizes_before(&z, m, best->event);
        if (is_joined(m, best, pieces, &z))
            keep(m, best, MT_MADE_JOINED);
        if (is_widened(m, best))
            keep(m, best, MT_MADE_WIDENED);
        best->bytes = 0;
    }
    n_stacks = of != NULL && pieces != NULL && z.v != NULL;
    mt_free(of);
    mt_free(pieces);
    mt_free(z.v);
    return (int)n_stacks;
}
