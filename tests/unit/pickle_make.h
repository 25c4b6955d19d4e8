/* pickle_make.h -- hand-made pickles and one-call reading, for the tests of the pickle reader. */
#ifndef MT_TEST_PICKLE_MAKE_H
#define MT_TEST_PICKLE_MAKE_H

#include "parser/pickle/impl.h"
#include "parser/input/readers.h"

#include <stdlib.h>
#include <string.h>

struct bytes {
    unsigned char *p;
    size_t n, cap;
};

static inline void put(struct bytes *b, const void *s, size_t n)
{
    while (b->n + n > b->cap) {
        b->cap = b->cap ? b->cap * 2 : 256;
        b->p = realloc(b->p, b->cap);
        if (b->p == NULL)
            abort();
    }
    memcpy(b->p + b->n, s, n);
    b->n += n;
}
#define L(lit) lit, sizeof(lit) - 1                  /* for tables */
#define P(b, lit) put(b, "" lit, sizeof("" lit) - 1) /* opcodes as a literal, NULs and all */

/* SHORT_BINUNICODE */
static inline void text(struct bytes *b, const char *s)
{
    unsigned char head[2] = {0x8c, (unsigned char)strlen(s)};
    put(b, head, 2);
    put(b, s, strlen(s));
}

/* BININT */
static inline void num(struct bytes *b, int32_t v)
{
    uint32_t u = (uint32_t)v;
    unsigned char s[5] = {'J', (unsigned char)u, (unsigned char)(u >> 8), (unsigned char)(u >> 16),
                          (unsigned char)(u >> 24)};
    put(b, s, 5);
}

static inline void frame(struct bytes *b, const char *name, const char *file, int line)
{
    P(b, "}(");
    text(b, "name"), text(b, name), text(b, "filename"), text(b, file), text(b, "line"),
        num(b, line);
    P(b, "u");
}

/* A trace entry without its closing SETITEMS, so that a test can add keys. */
static inline void event_open(struct bytes *b, const char *action, int32_t addr, int32_t size)
{
    P(b, "}(");
    text(b, "action"), text(b, action), text(b, "addr"), num(b, addr), text(b, "size"),
        num(b, size), text(b, "stream"), num(b, 0);
}

static inline void event(struct bytes *b, const char *action, int32_t addr, int32_t size)
{
    event_open(b, action, addr, size);
    P(b, "u");
}

/* {"segments": [], "device_traces": [[ ... up to the first entry; trace_close ends both lists, the
 * dict and the pickle. */
static inline void trace_open(struct bytes *b)
{
    P(b, "\x80\x04}(");
    text(b, "segments"), P(b, "]");
    text(b, "device_traces"), P(b, "](](");
}
static inline void trace_close(struct bytes *b) { P(b, "eeu."); }

struct result {
    struct mt_trace *t;
    enum mt_rc rc;
    struct mt_err err;
    uint64_t steps;
};

static inline struct result read_source(struct mt_source *src, const struct mt_limits *lim)
{
    static const struct mt_limits usual = MT_LIMITS_DEFAULT;
    struct result r = {.t = mt_trace_new(), .rc = MT_ENOMEM};
    if (r.t != NULL && src != NULL)
        r.rc = mt_pickle_read_steps(src, lim != NULL ? lim : &usual, r.t, &r.err, &r.steps);
    mt_source_free(src);
    if (r.rc < 0) {
        mt_trace_free(r.t);
        r.t = NULL;
    }
    return r;
}

static inline struct result read_mem(const void *p, size_t n, const struct mt_limits *lim)
{
    struct mt_source *src = NULL;
    mt_source_mem(&src, p, n);
    return read_source(src, lim);
}

/* Reads and frees the bytes. */
static inline struct result read_bytes(struct bytes *b)
{
    struct result r = read_mem(b->p, b->n, NULL);
    free(b->p);
    memset(b, 0, sizeof *b);
    return r;
}

/* A source that hands out `step` bytes a time, and at the end fails with `rc` unless it is MT_OK.
 */
struct slow {
    const unsigned char *p;
    size_t n, step;
    enum mt_rc rc;
    const char *msg;
};
static inline size_t slow_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                               struct mt_err *err)
{
    struct slow *s = ctx;
    if (n > s->step)
        n = s->step;
    if (n > s->n)
        n = s->n;
    if (n == 0) {
        if (s->rc != MT_OK)
            *rc = mt_fail(err, s->rc, "%s", s->msg);
        return 0;
    }
    memcpy(dst, s->p, n);
    s->p += n;
    s->n -= n;
    return n;
}
static inline struct result read_slow(const void *p, size_t n, size_t step, enum mt_rc rc,
                                      const char *msg)
{
    struct slow s = {p, n, step, rc, msg};
    struct mt_source *src = NULL;
    mt_source_new(&src, slow_read, NULL, &s);
    return read_source(src, NULL);
}

__attribute__((noinline, unused)) static const struct mt_event *first_event(
    const struct mt_trace *t)
{
    return t != NULL && t->devices.n != 0 && t->devices.p[0].events.n != 0
               ? mt_event_at(&t->devices.p[0], 0)
               : NULL;
}

static inline const char *diag_text(const struct mt_trace *t, uint32_t i)
{
    return t != NULL && i < t->diags.n ? mt_str(t, t->diags.p[i].text) : NULL;
}

static inline const char *setting(const struct mt_trace *t, const char *key)
{
    for (uint32_t i = 0; t != NULL && i < t->settings.n; i++)
        if (strcmp(mt_str(t, t->settings.p[i].key), key) == 0)
            return mt_str(t, t->settings.p[i].value);
    return NULL;
}

#endif
