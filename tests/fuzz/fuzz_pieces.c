/* Fuzz target of the ways through a reader: readers go straight where enough bytes lie in front of
 * them, and step by step where they do not. Whoever bids for the bytes reads them whole and in
 * pieces of a few; what is said has to be the same. Of a trace: what tests/unit/trace_digest.h
 * looks at, which is all but the driver's calls. Of damage only that it is one: where the values of
 * a dict end as a tuple, which no pickler writes, the pickle reader may have taken some of them;
 * the profiler's passes over events of no interest without asking whether they are JSON. */
#include "parser/input/readers.h"
#include "tests/unit/trace_digest.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    struct mt_trace *t;
    enum mt_rc rc;
    struct mt_err err;
};

struct pieces {
    const uint8_t *p;
    size_t n, step;
};

static size_t next_piece(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                         struct mt_err *err)
{
    struct pieces *s = ctx;
    (void)rc;
    (void)err;
    n = n < s->step ? n : s->step;
    n = n < s->n ? n : s->n;
    if (n != 0)
        memcpy(dst, s->p, n);
    s->p += n;
    s->n -= n;
    return n;
}

static struct result result_of(const struct mt_reader *reader, struct mt_source *src)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct result r = {.t = mt_trace_new(), .err = {.rc = MT_OK}};
    lim.max_memory = UINT64_C(256) << 20;
    lim.max_string = UINT64_C(1) << 20;
    lim.max_events = 1000000;
    mt_mem_limit(lim.max_memory);
    if (r.t == NULL || src == NULL)
        abort();
    r.rc = reader->read(src, &lim, r.t, &r.err);
    mt_source_free(src);
    return r;
}

static void differ(const char *reader, const char *what, size_t step)
{
    printf("%s: in pieces of %zu bytes another %s\n", reader, step, what);
    (void)fflush(stdout);
    abort();
}

static const char *text_of(const struct mt_trace *t, uint32_t i)
{
    return mt_str(t, t->diags.p[i].text);
}

static void compare(const char *name, const struct result *a, const struct result *b, size_t step)
{
    struct mt_digest da, db;
    const char *what;
    if ((a->rc == MT_OK) != (b->rc == MT_OK))
        differ(name, "status", step);
    if (a->rc != MT_OK)
        return;
    da = mt_digest_of(a->t);
    db = mt_digest_of(b->t);
    if ((what = mt_digest_diff(&da, &db)) != NULL)
        differ(name, what, step);
    if (a->t->n_distinct_stacks != b->t->n_distinct_stacks)
        differ(name, "number of stacks", step);
    if (a->t->diags.n != b->t->diags.n)
        differ(name, "number of diagnostics", step);
    for (uint32_t i = 0; i < a->t->diags.n; i++)
        if (strcmp(text_of(a->t, i), text_of(b->t, i)) != 0)
            differ(name, "diagnostic", step);
}

static void both(const struct mt_reader *reader, const uint8_t *data, size_t size, size_t step)
{
    struct pieces pieces = {data, size, step};
    struct mt_source *whole = NULL, *parts = NULL;
    struct result a, b;
    if (mt_source_mem(&whole, data, size) != MT_OK ||
        mt_source_new(&parts, next_piece, NULL, &pieces) != MT_OK)
        abort();
    a = result_of(reader, whole);
    b = result_of(reader, parts);
    compare(reader->name, &a, &b, step);
    mt_trace_free(a.t);
    mt_trace_free(b.t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 5, 33, 257};
    unsigned which = 0;
    for (size_t i = 0; i < size; i++)
        which = which * 31 + data[i];
    for (const struct mt_reader *const *r = mt_readers; *r != NULL; r++)
        if ((*r)->probe(data, size < 4096 ? size : 4096) > 0)
            both(*r, data, size, steps[which % (sizeof steps / sizeof *steps)]);
    return 0;
}
