/* spanset.h -- ranges of addresses that never overlap, in order of address. Finding, adding and
 * removing one costs about the same however many there are: they lie in short blocks, and a list of
 * the blocks is searched. Zeroed struct = empty set. */
#ifndef MT_SPANSET_H
#define MT_SPANSET_H

#include <stdbool.h>
#include <stdint.h>

struct mt_spanset_item {
    uint64_t addr, end; /* may be moved by the caller as long as the order holds; never empty */
    uint32_t id;        /* the caller's */
};

struct mt_spanset_block;
struct mt_spanset {
    struct mt_spanset_block **block;
    uint32_t n_blocks, cap_blocks;
    uint32_t n; /* ranges */
};

struct mt_spanset_at { /* a place in a set; any change but through it invalidates it */
    uint32_t block, i;
};

/* The first range that ends behind addr; NULL = there is none. */
struct mt_spanset_item *mt_spanset_find(const struct mt_spanset *s, uint64_t addr,
                                        struct mt_spanset_at *at);
struct mt_spanset_item *mt_spanset_next(const struct mt_spanset *s, struct mt_spanset_at *at);
/* Removes the one at *at and moves on to the next. */
struct mt_spanset_item *mt_spanset_erase(struct mt_spanset *s, struct mt_spanset_at *at);
/* It must not overlap any other. 1, or 0 = out of memory. */
int mt_spanset_insert(struct mt_spanset *s, uint64_t addr, uint64_t end, uint32_t id);
void mt_spanset_done(struct mt_spanset *s); /* empties it */

/* the last: nothing was changed */
enum mt_span_rc { MT_SPAN_NOMEM, MT_SPAN_OK, MT_SPAN_CONTRADICTS };
/* Whether two ranges that touch become one; the one that was there first keeps its id. */
typedef bool mt_spanset_joins(const void *ctx, uint32_t a, uint32_t b);
/* Adds [addr, addr + size); contradicts when any of it is there already. */
enum mt_span_rc mt_spanset_add(struct mt_spanset *s, uint64_t addr, uint64_t size, uint32_t id,
                               mt_spanset_joins *joins, const void *ctx);
/* Takes [addr, addr + size) out of one range; contradicts when it does not lie in one. */
enum mt_span_rc mt_spanset_cut(struct mt_spanset *s, uint64_t addr, uint64_t size);

#endif
