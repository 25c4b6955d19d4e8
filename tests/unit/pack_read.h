/* pack_read.h -- a second reading of docs/report-data.md, as plain as it can be, for comparing what
 * was packed with the trace. */
#ifndef MT_TEST_PACK_READ_H
#define MT_TEST_PACK_READ_H

#include "render/pack/impl.h"
#include "tests/unit/mt_test.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PR_COLUMNS 32
struct pr_col {
    const unsigned char *p;
    size_t n, at;
};
struct pr_block {
    unsigned char *buf;
    struct pr_col col[PR_COLUMNS];
    unsigned n;
};

static inline uint64_t pr_var(struct pr_col *c)
{
    uint64_t v = 0;
    unsigned shift = 0;
    for (;;) {
        if (c->at >= c->n || shift > 49) {
            MT_FAIL_AT("a column ends inside a number, or a number is too long (%zu of %zu)", c->at,
                       c->n);
            c->at = c->n;
            return 0;
        }
        v |= (uint64_t)(c->p[c->at] & 127) << shift;
        shift += 7;
        if (c->p[c->at++] < 128)
            return v;
    }
}
static inline int64_t pr_zig(struct pr_col *c)
{
    uint64_t v = pr_var(c);
    return (v & 1) != 0 ? -(int64_t)((v + 1) / 2) : (int64_t)(v / 2);
}
/* A number in three columns. */
static inline uint64_t pr_wide(struct pr_col *c)
{
    unsigned lo, hi;
    if (c[0].at >= c[0].n || c[1].at >= c[1].n) {
        MT_FAIL_AT("a wide column ends too early");
        return 0;
    }
    lo = c[0].p[c[0].at++];
    hi = c[1].p[c[1].at++];
    return hi < 255 ? lo + 256 * hi : pr_var(&c[2]) + 65280;
}
static inline bool pr_end(const struct pr_col *c) { return c->at == c->n; }

/* 1 when the block could be taken apart, down to its last byte. */
static inline int pr_open(struct pr_block *b, const struct mt_blob *blob)
{
    size_t cap = (size_t)1 << 24, at = 0;
    uLongf n = (uLongf)cap;
    struct pr_col head;
    memset(b, 0, sizeof *b);
    b->buf = malloc(cap);
    if (b->buf == NULL || blob->p == NULL || uncompress(b->buf, &n, blob->p, blob->n) != Z_OK) {
        MT_FAIL_AT("a block cannot be decompressed%s", blob->p == NULL ? ": there is none" : "");
        return 0;
    }
    head = (struct pr_col){b->buf, n, 0};
    b->n = (unsigned)pr_var(&head);
    if (b->n > PR_COLUMNS) {
        MT_FAIL_AT("%u columns", b->n);
        return 0;
    }
    for (unsigned i = 0; i < b->n; i++)
        b->col[i].n = pr_var(&head);
    at = head.at;
    for (unsigned i = 0; i < b->n; i++) {
        b->col[i].p = b->buf + at;
        at += b->col[i].n;
    }
    MT_CHECK_EQ(at, n);
    return at == n;
}
static inline void pr_close(struct pr_block *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (!pr_end(&b->col[i]))
            MT_FAIL_AT("column %u has %zu bytes too many", i, b->col[i].n - b->col[i].at);
    free(b->buf);
    b->buf = NULL;
}

/* ---- sites ---- */

struct pr_sites {
    uint32_t n, n_stacks, n_lanes;
    struct pr_site {
        uint64_t stack, role, phase, sub, lane;
    } * site;
    uint32_t *parent, *line; /* by stack, from 1 */
};
static inline uint32_t pr_count(const struct pr_col *c)
{
    uint32_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->p[i] < 128;
    return n;
}
static inline int pr_sites(struct pr_sites *s, const struct mt_blob *blob)
{
    struct pr_block b;
    uint32_t n_strings, n_frames, *line;
    uint64_t text = 0;
    memset(s, 0, sizeof *s);
    if (!pr_open(&b, blob) || b.n != 15)
        return 0;
    n_strings = pr_count(&b.col[0]);
    for (uint32_t i = 0; i < n_strings; i++)
        text += pr_var(&b.col[0]);
    MT_CHECK_EQ(text, b.col[1].n);
    b.col[1].at = b.col[1].n;
    n_frames = pr_count(&b.col[2]);
    line = calloc((size_t)n_frames + 1, sizeof *line);
    for (uint32_t i = 0; i < n_frames; i++) {
        MT_CHECK(pr_var(&b.col[2]) < n_strings && pr_var(&b.col[3]) < n_strings);
        line[i] = (uint32_t)pr_var(&b.col[4]);
        MT_CHECK(pr_var(&b.col[5]) < 4);
    }
    s->n_stacks = pr_count(&b.col[6]);
    s->parent = calloc((size_t)s->n_stacks + 1, sizeof *s->parent);
    s->line = calloc((size_t)s->n_stacks + 1, sizeof *s->line);
    for (uint32_t i = 1; i <= s->n_stacks; i++) {
        uint64_t frame = pr_var(&b.col[6]), back = pr_var(&b.col[7]);
        MT_CHECK(frame < n_frames && back > 0 && back <= i);
        s->line[i] = frame < n_frames ? line[frame] : 0;
        s->parent[i] = back <= i ? i - (uint32_t)back : 0;
    }
    s->n = pr_count(&b.col[8]);
    s->n_lanes = pr_count(&b.col[14]);
    s->site = calloc((size_t)s->n + 1, sizeof *s->site);
    for (uint32_t i = 0; i < s->n; i++) {
        struct pr_site *x = &s->site[i];
        x->stack = pr_var(&b.col[8]);
        x->role = pr_var(&b.col[9]);
        x->phase = pr_var(&b.col[10]);
        x->sub = pr_var(&b.col[11]);
        x->lane = pr_var(&b.col[12]);
        MT_CHECK(x->stack <= s->n_stacks && x->role < MT_ROLE_COUNT && x->phase < MT_PH_COUNT &&
                 x->sub <= MT_PH_COUNT && x->lane < s->n_lanes && pr_var(&b.col[13]) < n_strings);
    }
    for (uint32_t i = 0; i < s->n_lanes; i++)
        MT_CHECK(pr_var(&b.col[14]) < n_strings);
    pr_close(&b);
    free(line);
    return 1;
}
static inline void pr_sites_done(struct pr_sites *s)
{
    free(s->site);
    free(s->parent);
    free(s->line);
}

#endif
