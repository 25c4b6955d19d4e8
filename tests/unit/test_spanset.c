/* Ranges of addresses against a plain array. */
#include "analysis/base/spanset.h"
#include "tests/unit/mt_test.h"

enum { CELLS = 4096 };

static uint64_t state = 88172645463325252u;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* id + 1 of the range that covers a cell; every range has an id of its own. */
static void check(const struct mt_spanset *s, const uint32_t *cell)
{
    struct mt_spanset_at at;
    const struct mt_spanset_item *p = mt_spanset_find(s, 0, &at);
    for (uint32_t i = 0; i < CELLS;) {
        uint32_t from = i, id = cell[i];
        while (i < CELLS && cell[i] == id)
            i++;
        if (id == 0)
            continue;
        MT_CHECK(p != NULL && p->addr == from && p->end == i && p->id == id - 1);
        if (p == NULL)
            return;
        p = mt_spanset_next(s, &at);
    }
    MT_CHECK(p == NULL);
}

static void run(uint32_t longest, uint32_t rounds)
{
    static uint32_t cell[CELLS];
    struct mt_spanset s = {NULL, 0, 0, 0};
    struct mt_spanset_at at;
    uint32_t n_ids = 0;
    memset(cell, 0, sizeof cell);
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t from = below(CELLS), to = from + 1 + below(longest);
        struct mt_spanset_item *p = mt_spanset_find(&s, from, &at);
        uint32_t k = from;
        to = to < CELLS ? to : CELLS;
        while (k < CELLS && cell[k] == 0)
            k++;
        MT_CHECK((p != NULL) == (k < CELLS) && (p == NULL || p->id == cell[k] - 1));
        while (p != NULL && p->addr < to) { /* whatever it overlaps goes */
            for (uint64_t c = p->addr; c < p->end; c++)
                cell[c] = 0;
            p = mt_spanset_erase(&s, &at);
        }
        if (below(4) == 0)
            continue;
        MT_CHECK(mt_spanset_insert(&s, from, to, n_ids));
        n_ids++;
        for (uint32_t c = from; c < to; c++)
            cell[c] = n_ids;
        if (i % 64 == 0)
            check(&s, cell);
    }
    check(&s, cell);
    mt_spanset_done(&s);
    MT_CHECK(mt_spanset_find(&s, 0, &at) == NULL);
}

MT_TEST(short_ranges) { run(2, 30000); }
MT_TEST(long_ranges) { run(300, 5000); }

MT_TEST(rising_and_falling)
{
    struct mt_spanset s = {NULL, 0, 0, 0};
    struct mt_spanset_at at;
    struct mt_spanset_item *p;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 1000; i++)
        MT_CHECK(mt_spanset_insert(&s, 10000 + 2 * i, 10000 + 2 * i + 1, i));
    for (uint32_t i = 0; i < 1000; i++)
        MT_CHECK(mt_spanset_insert(&s, 9998 - 2 * i, 9998 - 2 * i + 1, i));
    for (p = mt_spanset_find(&s, 0, &at); p != NULL; p = mt_spanset_next(&s, &at))
        MT_CHECK_EQ(p->addr, 8000 + 2 * n++);
    MT_CHECK_EQ(n, 2000);
    for (p = mt_spanset_find(&s, 0, &at); p != NULL; p = mt_spanset_erase(&s, &at))
        n--;
    MT_CHECK_EQ(n, 0);
    MT_CHECK_EQ(s.n_blocks, 0);
    mt_spanset_done(&s);
}

static bool odd_ids_join(const void *ctx, uint32_t a, uint32_t b)
{
    (void)ctx;
    return a == b && a % 2 == 1;
}

/* Adding and cutting as segments do: what contradicts changes nothing, what touches and joins is
 * one range. */
MT_TEST(touching_ranges)
{
    static uint32_t cell[CELLS];
    struct mt_spanset s = {NULL, 0, 0, 0};
    unsigned n_added = 0, n_cut = 0, n_not = 0;
    memset(cell, 0, sizeof cell);
    for (uint32_t i = 0; i < 40000; i++) {
        uint32_t from = below(CELLS), to = from + below(i % 3 == 0 ? 200 : 4),
                 id = below(2) == 0 ? 2 * i : 1 + 2 * below(2);
        bool adds = below(5) < 3, fits = true;
        to = to < CELLS ? to : CELLS;
        for (uint32_t c = from; c < to; c++)
            fits = fits && (adds ? cell[c] == 0 : cell[c] != 0 && cell[c] == cell[from]);
        MT_CHECK_EQ(adds ? mt_spanset_add(&s, from, to - from, id, odd_ids_join, NULL)
                         : mt_spanset_cut(&s, from, to - from),
                    fits ? MT_SPAN_OK : MT_SPAN_CONTRADICTS);
        for (uint32_t c = from; fits && c < to; c++)
            cell[c] = adds ? id + 1 : 0;
        n_not += !fits;
        n_added += fits && adds;
        n_cut += fits && !adds;
        if (i % 64 == 0)
            check(&s, cell);
    }
    check(&s, cell);
    MT_CHECK(n_added > 1000 && n_cut > 1000 && n_not > 1000);
    mt_spanset_done(&s);
    /* No range ends behind the last address. */
    MT_CHECK_EQ(mt_spanset_add(&s, UINT64_MAX - 511, 512, 1, odd_ids_join, NULL),
                MT_SPAN_CONTRADICTS);
    MT_CHECK_EQ(mt_spanset_add(&s, UINT64_MAX - 511, 511, 1, odd_ids_join, NULL), MT_SPAN_OK);
    MT_CHECK_EQ(mt_spanset_cut(&s, UINT64_MAX - 511, 512), MT_SPAN_CONTRADICTS);
    MT_CHECK_EQ(mt_spanset_cut(&s, UINT64_MAX - 511, 511), MT_SPAN_OK);
    MT_CHECK_EQ(s.n, 0);
    mt_spanset_done(&s);
}

MT_MAIN(MT_RUN(touching_ranges) MT_RUN(short_ranges) MT_RUN(long_ranges) MT_RUN(rising_and_falling))
