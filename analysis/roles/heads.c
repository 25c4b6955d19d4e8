/* Heads and embeddings among the live blocks: vocabulary x width, where the width is that of the
 * model's vectors (norms, biases), of which each layer has some. */
#include "analysis/roles/impl.h"

#include <stdlib.h>

/* Bytes of a vector, blocks of its size, bytes of a head, heads of one size (with an embedding,
 * and moments of each), its rows. Chosen by hand: vectors of 64 to 65536 numbers, in models of 4
 * layers or more. */
enum {
    MIN_VECTOR = 128,
    MAX_VECTOR = 1 << 18,
    MIN_VECTORS = 5,
    MIN_HEAD = 1 << 18,
    MAX_HEADS = 8,
    MIN_ROWS = 1000,
    MAX_ROWS = 1 << 20
};

/* Logits themselves, also in half or twice the type, and give or take the token that a shift costs.
 */
bool mt_is_candidate(const struct mt_rwork *k, uint64_t size)
{
    for (uint32_t i = 0; i <= k->n_seen; i++)
        for (unsigned shift = 0; shift < 3; shift++) {
            uint64_t of = ((i < k->n_seen ? k->seen[i].size : k->logits_max) << shift) / 2;
            if ((size > of ? size - of : of - size) <= of / 50)
                return true;
        }
    return false;
}

static int by_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

static int add(struct mt_heads *h, uint64_t size)
{
    uint64_t *at = size >= MIN_VECTOR ? MT_VEC_PUSH(&h->large) : h->large.p;
    if (at != NULL && size >= MIN_VECTOR)
        *at = size;
    return size < MIN_VECTOR || at != NULL;
}

/* A block that was made where models and their states are made: no logits, whatever its size is. */
static int add_made(const struct mt_rwork *k, struct mt_heads *h, uint32_t event)
{
    const struct mt_attr a = k->r->attr[event];
    const struct mt_event *e = mt_event_at(k->r->d, event);
    const bool stays = k->w->fate[event].freed == MT_NEVER;
    uint64_t *at;
    if (e->action != MT_ACT_ALLOC ||
        !(mt_phase_is(a.phase, MT_SETS_UP) || mt_group_of(a.sub, MT_G_OTHER) == MT_G_OPTIMIZER) ||
        (e->size < MIN_HEAD && stays))
        return 1;
    if (!stays && !add(h, e->size))
        return 0;
    if ((at = MT_VEC_PUSH(&h->made)) == NULL)
        return 0;
    *at = e->size;
    return 1;
}

/* Of the blocks that stay, and of those that a failure's exception let go of: they were there when
 * memory ran out. */
static int find_made(const struct mt_rwork *k, struct mt_heads *h)
{
    const bool failed = k->r->out->ooms.n != 0;
    if (k->r->attr == NULL || k->w->fate == NULL)
        return 1;
    for (uint32_t i = 0; i < k->w->there.n; i++)
        if ((failed || k->w->fate[k->w->there.p[i]].freed == MT_NEVER) &&
            !add_made(k, h, k->w->there.p[i]))
            return 0;
    for (uint32_t i = (uint32_t)(k->focus + 1), n = mt_n_events(k); i < n; i++)
        if (k->w->fate[i].freed == MT_NEVER && !add_made(k, h, i))
            return 0;
    if (h->made.n > 1)
        qsort(h->made.p, h->made.n, sizeof *h->made.p, by_size);
    return 1;
}

static bool is_made(const struct mt_heads *h, uint64_t size)
{
    return h->made.n != 0 && bsearch(&size, h->made.p, h->made.n, sizeof size, by_size) != NULL;
}

/* Blocks of the end, and those from before the trace that went in it: a job may end before its
 * snapshot. */
static int collect(const struct mt_rwork *k, struct mt_heads *h)
{
    const struct mt_trace *t = k->r->t;
    int ok = 1;
    for (uint32_t i = 0; ok && i < t->blocks.n; i++)
        if (t->blocks.p[i].state == MT_BLOCK_ACTIVE &&
            mt_segment_is_on(&t->segments.p[t->blocks.p[i].segment], k->r->d->ordinal,
                             k->r->d->kind))
            ok = add(h, t->blocks.p[i].requested);
    for (uint32_t i = 0; ok && i < k->r->old.n; i++)
        if (k->r->old.p[i].gone_at != UINT64_MAX)
            ok = add(h, k->r->old.p[i].size);
    return ok;
}

static int by_rows(const void *pa, const void *pb)
{
    const struct mt_head *a = pa, *b = pb;
    return a->rows < b->rows ? -1 : a->rows > b->rows;
}

/* Adds what a block is a head of, for each width. */
static int add_heads(struct mt_heads *h, uint64_t size)
{
    for (uint32_t i = 0; i < h->n; i++) {
        uint64_t rows = size / h->vector[i];
        struct mt_head *at;
        if (size % h->vector[i] != 0 || rows < MIN_ROWS || rows > MAX_ROWS)
            continue;
        if ((at = MT_VEC_PUSH(&h->head)) == NULL)
            return 0;
        *at = (struct mt_head){rows, 1};
    }
    return 1;
}

static void join_heads(struct mt_heads *h)
{
    uint32_t kept = 0;
    if (h->head.n > 1)
        qsort(h->head.p, h->head.n, sizeof *h->head.p, by_rows);
    for (uint32_t i = 0; i < h->head.n; i++) {
        if (kept != 0 && h->head.p[kept - 1].rows == h->head.p[i].rows)
            h->head.p[kept - 1].pairs++;
        else
            h->head.p[kept++] = h->head.p[i];
    }
    h->head.n = kept;
}

int mt_heads_make(const struct mt_rwork *k, struct mt_heads *h)
{
    uint32_t kept = 0;
    if (!collect(k, h) || !find_made(k, h))
        return 0;
    if (h->large.n > 1)
        qsort(h->large.p, h->large.n, sizeof *h->large.p, by_size);
    for (uint32_t i = 0, end; i < h->large.n;
         i = end) { /* vectors are smaller, so they come first */
        uint64_t size = h->large.p[i];
        for (end = i + 1; end < h->large.n && h->large.p[end] == size; end++)
            ;
        if (size <= MAX_VECTOR && end - i >= MIN_VECTORS && h->n < MT_VECTORS)
            h->vector[h->n++] = size;
        if (size < MIN_HEAD || (mt_is_candidate(k, size) && !is_made(h, size)))
            continue;
        if (end - i <= MAX_HEADS && !add_heads(h, size))
            return 0;
        h->large.p[kept++] = size;
    }
    h->large.n = kept;
    join_heads(h);
    return 1;
}

uint32_t mt_heads_of(const struct mt_heads *h, uint64_t rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        uint64_t size = rows * h->vector[i], half = size / 2, twice = size * 2;
        /* norms may be in another type than the head */
        n += bsearch(&size, h->large.p, h->large.n, sizeof size, by_size) != NULL ||
             bsearch(&half, h->large.p, h->large.n, sizeof half, by_size) != NULL ||
             bsearch(&twice, h->large.p, h->large.n, sizeof twice, by_size) != NULL;
    }
    return n;
}
