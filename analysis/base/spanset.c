#include "analysis/base/spanset.h"

#include "parser/base/mem.h"

#include <string.h>

enum { BLOCK = 128 };

struct mt_spanset_block {
    uint32_t n; /* at least 1 */
    struct mt_spanset_item item[BLOCK];
};

static struct mt_spanset_item *item_at(const struct mt_spanset *s, const struct mt_spanset_at *at)
{
    return at->block < s->n_blocks ? &s->block[at->block]->item[at->i] : NULL;
}

/* The first block whose last range ends behind addr. */
static uint32_t block_of(const struct mt_spanset *s, uint64_t addr)
{
    uint32_t lo = 0, hi = s->n_blocks;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->block[mid]->item[s->block[mid]->n - 1].end > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static uint32_t place_in(const struct mt_spanset_block *b, uint64_t addr)
{
    uint32_t lo = 0, hi = b->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (b->item[mid].end > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

struct mt_spanset_item *mt_spanset_find(const struct mt_spanset *s, uint64_t addr,
                                        struct mt_spanset_at *at)
{
    at->block = block_of(s, addr);
    at->i = at->block < s->n_blocks ? place_in(s->block[at->block], addr) : 0;
    return item_at(s, at);
}

struct mt_spanset_item *mt_spanset_next(const struct mt_spanset *s, struct mt_spanset_at *at)
{
    if (at->block < s->n_blocks && ++at->i == s->block[at->block]->n) {
        at->block++;
        at->i = 0;
    }
    return item_at(s, at);
}

struct mt_spanset_item *mt_spanset_erase(struct mt_spanset *s, struct mt_spanset_at *at)
{
    struct mt_spanset_block *b = s->block[at->block];
    s->n--;
    b->n--;
    if (b->n == 0) {
        mt_free(b);
        s->n_blocks--;
        memmove(s->block + at->block, s->block + at->block + 1,
                (s->n_blocks - at->block) * sizeof *s->block);
        at->i = 0;
    } else {
        memmove(b->item + at->i, b->item + at->i + 1, (b->n - at->i) * sizeof *b->item);
        if (at->i == b->n) {
            at->block++;
            at->i = 0;
        }
    }
    return item_at(s, at);
}

/* A new block at index k, with the items of the one before it from `from` on. */
static int new_block(struct mt_spanset *s, uint32_t k, uint32_t from)
{
    struct mt_spanset_block *b;
    if (!mt_vec_grow((void **)&s->block, &s->cap_blocks, s->n_blocks + 1,
                     sizeof(struct mt_spanset_block *)) ||
        (b = mt_malloc(sizeof *b)) == NULL)
        return 0;
    memmove(s->block + k + 1, s->block + k, (s->n_blocks - k) * sizeof *s->block);
    s->block[k] = b;
    s->n_blocks++;
    b->n = 0;
    if (k > 0) {
        struct mt_spanset_block *before = s->block[k - 1];
        b->n = before->n - from;
        memcpy(b->item, before->item + from, b->n * sizeof *b->item);
        before->n = from;
    }
    return 1;
}

int mt_spanset_insert(struct mt_spanset *s, uint64_t addr, uint64_t end, uint32_t id)
{
    uint32_t k = block_of(s, addr), i;
    struct mt_spanset_block *b;
    if (k == s->n_blocks && k > 0)
        k--; /* behind all others */
    if (s->n_blocks == 0 && !new_block(s, 0, 0))
        return 0;
    if (s->block[k]->n == BLOCK) {
        uint32_t at = place_in(s->block[k], addr),
                 half = at == BLOCK ? BLOCK : BLOCK / 2; /* addresses that rise leave full blocks */
        if (!new_block(s, k + 1, half))
            return 0;
        k += at >= half;
    }
    b = s->block[k];
    i = place_in(b, addr);
    memmove(b->item + i + 1, b->item + i, (b->n - i) * sizeof *b->item);
    b->item[i] = (struct mt_spanset_item){addr, end, id};
    b->n++;
    s->n++;
    return 1;
}

enum mt_span_rc mt_spanset_add(struct mt_spanset *s, uint64_t addr, uint64_t size, uint32_t id,
                               mt_spanset_joins *joins, const void *ctx)
{
    uint64_t end = addr + size;
    struct mt_spanset_at at;
    struct mt_spanset_item *left = NULL, *right;
    if (size == 0)
        return MT_SPAN_OK;
    if (end < addr)
        return MT_SPAN_CONTRADICTS;
    right = mt_spanset_find(s, addr != 0 ? addr - 1 : 0, &at);
    if (right != NULL && addr != 0 && right->end == addr) {
        left = right;
        right = mt_spanset_next(s, &at);
    }
    if (right != NULL && right->addr < end)
        return MT_SPAN_CONTRADICTS;
    if (left != NULL && joins(ctx, left->id, id)) {
        left->end = end;
        if (right != NULL && right->addr == end && joins(ctx, left->id, right->id)) {
            left->end = right->end;
            (void)mt_spanset_erase(s, &at);
        }
        return MT_SPAN_OK;
    }
    if (right != NULL && right->addr == end && joins(ctx, id, right->id)) {
        right->addr = addr;
        return MT_SPAN_OK;
    }
    return mt_spanset_insert(s, addr, end, id) ? MT_SPAN_OK : MT_SPAN_NOMEM;
}

enum mt_span_rc mt_spanset_cut(struct mt_spanset *s, uint64_t addr, uint64_t size)
{
    uint64_t behind = addr + size, last;
    struct mt_spanset_at at;
    struct mt_spanset_item *p;
    if (size == 0)
        return MT_SPAN_OK;
    p = mt_spanset_find(s, addr, &at);
    if (behind < addr || p == NULL || p->addr > addr || p->end < behind)
        return MT_SPAN_CONTRADICTS;
    last = p->end;
    if (p->addr < addr) {
        p->end = addr;
        return last == behind || mt_spanset_insert(s, behind, last, p->id) ? MT_SPAN_OK
                                                                           : MT_SPAN_NOMEM;
    }
    if (last > behind)
        p->addr = behind;
    else
        (void)mt_spanset_erase(s, &at);
    return MT_SPAN_OK;
}

void mt_spanset_done(struct mt_spanset *s)
{
    for (uint32_t i = 0; i < s->n_blocks; i++)
        mt_free(s->block[i]);
    mt_free(s->block);
    memset(s, 0, sizeof *s);
}
