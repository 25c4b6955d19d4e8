/* Columns into blocks, in each of the ways: what is taken out is what was put in. */
#include "render/pack/bytes.h"
#include "tests/unit/mt_test.h"
#include "tests/unit/pack_read.h"

enum { N = 9, MOST = 40000, KINDS = 5 };

static struct mt_press press;
static uint32_t state;
static uint32_t any(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Noise of all bytes and of few, one byte, runs, a pattern that is repeated. */
static unsigned char value(unsigned kind, size_t i, unsigned char before)
{
    switch (kind) {
    case 0: return (unsigned char)any();
    case 1: return (unsigned char)(any() % 7);
    case 2: return 0;
    case 3: return any() % 5 != 0 ? before : (unsigned char)any();
    default: return (unsigned char)(i * i % 251);
    }
}

static void fill(struct mt_bytes *c, unsigned kind)
{
    size_t n = any() % 3 != 0 ? any() % MOST : any() % 12;
    for (size_t i = 0; i < n; i++)
        mt_put_byte(c, value(kind, i, i != 0 ? c->p[c->n - 1] : 1));
}

static void compare(const struct mt_blob *blob, struct mt_bytes *want, unsigned n)
{
    struct pr_block b;
    if (!pr_open(&b, blob))
        return;
    MT_CHECK_EQ(b.n, n);
    for (unsigned i = 0; i < b.n && i < n; i++) {
        MT_CHECK_EQ(b.col[i].n, want[i].n);
        MT_CHECK(want[i].n == 0 || memcmp(b.col[i].p, want[i].p, want[i].n) == 0);
        b.col[i].at = b.col[i].n;
    }
    pr_close(&b);
}

/* n columns through one way; the size of the block */
static uint32_t there_and_back(int (*make)(struct mt_press *, struct mt_blob *, struct mt_bytes *,
                                           unsigned),
                               struct mt_blob_kind *kind, const struct mt_bytes *from, unsigned n)
{
    struct mt_bytes c[N] = {{.p = NULL}}, want[N] = {{.p = NULL}};
    struct mt_blob blob = {.p = NULL};
    uint32_t size;
    for (unsigned i = 0; i < n; i++) {
        mt_put_bytes(&c[i], from[i].p, from[i].n);
        mt_put_bytes(&want[i], from[i].p, from[i].n);
    }
    MT_CHECK(kind != NULL ? mt_blob_next(&press, &blob, c, n, kind) : make(&press, &blob, c, n));
    compare(&blob, want, n);
    for (unsigned i = 0; i < n; i++) {
        MT_CHECK_EQ(c[i].n, 0); /* emptied */
        mt_bytes_done(&c[i]);
        mt_bytes_done(&want[i]);
    }
    if (any() % 4 == 0) /* another takes its place */
        mt_press_done(&press);
    size = blob.n;
    mt_blob_done(&blob);
    return size;
}

MT_TEST(every_way)
{
    struct mt_blob_kind kind = {.left = 0};
    for (unsigned round = 0; round < 60; round++) {
        struct mt_bytes c[N] = {{.p = NULL}};
        unsigned n = 1 + any() % N;
        for (unsigned i = 0; i < n; i++)
            fill(&c[i], any() % KINDS);
        (void)there_and_back(mt_blob_make, NULL, c, n);
        (void)there_and_back(mt_blob_quick, NULL, c, n);
        (void)there_and_back(mt_blob_noise, NULL, c, n);
        (void)there_and_back(NULL, &kind, c, n);
        for (unsigned i = 0; i < n; i++)
            mt_bytes_done(&c[i]);
    }
}

/* Block after block of one kind: noise is made as noise, what repeats is searched, and a kind that
 * turns is found out within eight blocks. */
MT_TEST(one_kind)
{
    struct mt_bytes noise = {.p = NULL}, repeats = {.p = NULL};
    struct mt_blob_kind kind = {.left = 0};
    uint32_t last = 0, as_noise, as_made;
    for (size_t i = 0; i < MOST; i++) {
        mt_put_byte(&noise, any() & any() & any() & 255); /* small numbers more often */
        mt_put_byte(&repeats, value(4, i, 0));
    }
    as_noise = there_and_back(mt_blob_noise, NULL, &noise, 1);
    MT_CHECK(as_noise < there_and_back(mt_blob_make, NULL, &noise, 1));
    as_made = there_and_back(mt_blob_make, NULL, &repeats, 1);
    MT_CHECK(as_made * 10 < there_and_back(mt_blob_noise, NULL, &repeats, 1));
    for (unsigned i = 0; i < 11; i++)
        MT_CHECK(there_and_back(NULL, &kind, &noise, 1) <= as_noise + as_noise / 100);
    for (unsigned i = 0; i < 8; i++)
        last = there_and_back(NULL, &kind, &repeats, 1);
    MT_CHECK_EQ(last, as_made);
    for (unsigned i = 0; i < 8; i++)
        last = there_and_back(NULL, &kind, &noise, 1);
    MT_CHECK(last <= as_noise + as_noise / 100);
    mt_bytes_done(&noise);
    mt_bytes_done(&repeats);
}

MT_TEST(no_columns)
{
    struct mt_bytes none[1] = {{.p = NULL}};
    (void)there_and_back(mt_blob_make, NULL, none, 1);
    (void)there_and_back(mt_blob_quick, NULL, none, 1);
    (void)there_and_back(mt_blob_noise, NULL, none, 1);
}

MT_TEST(given_back)
{
    mt_press_done(&press);
    mt_press_done(&press);
    MT_CHECK(press.deflate == NULL && press.isal == NULL && press.out.p == NULL);
}

MT_MAIN(MT_RUN(every_way) MT_RUN(one_kind) MT_RUN(no_columns) MT_RUN(given_back))
