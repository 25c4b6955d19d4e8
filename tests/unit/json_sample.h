/* json_sample.h -- helpers of the JSON reader's tests: read a text in pieces of any size, write a
 * trace as comparable text, and a small snapshot in any key order and layout. */
#ifndef MT_JSON_SAMPLE_H
#define MT_JSON_SAMPLE_H

#include "parser/json/walk.h"
#include "parser/input/readers.h"
#include "tests/unit/mt_test.h"

#include <stdarg.h>

struct text {
    char *p;
    size_t n, cap;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline void
put(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    if (t->cap - t->n <= (size_t)n)
        t->p = realloc(t->p, t->cap = t->cap * 2 + (size_t)n + 1024);
    if (t->p == NULL)
        abort();
    va_start(ap, fmt);
    vsnprintf(t->p + t->n, t->cap - t->n, fmt, ap);
    va_end(ap);
    t->n += (size_t)n;
}

/* A source that gives at most `step` bytes a call. */
struct piece_ctx {
    const char *p;
    size_t n, step;
    bool broken; /* ends with an I/O error */
};

static inline size_t piece_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                                struct mt_err *err)
{
    struct piece_ctx *c = ctx;
    if (c->n == 0 && c->broken)
        *rc = mt_fail(err, MT_EIO, "the disk is gone");
    if (n > c->step)
        n = c->step;
    if (n > c->n)
        n = c->n;
    if (n != 0)
        memcpy(dst, c->p, n);
    c->p += n;
    c->n -= n;
    return n;
}

struct result {
    enum mt_rc rc;
    struct mt_err err;
    struct mt_trace *t; /* NULL when rc < 0 */
    uint64_t steps;
};

static inline struct result read_with(const char *p, size_t n, size_t step, bool broken,
                                      const struct mt_limits *lim)
{
    struct piece_ctx c = {p, n, step, broken};
    struct result r;
    struct mt_source *src;
    memset(&r, 0, sizeof r);
    r.t = mt_trace_new();
    if (r.t == NULL) {
        r.rc = MT_ENOMEM;
        return r;
    }
    r.rc = mt_source_new(&src, piece_read, NULL, &c);
    if (r.rc == MT_OK) {
        r.rc = mt_json_read_steps(src, lim, r.t, &r.err, &r.steps);
        mt_source_free(src);
    }
    if (r.rc < 0) {
        mt_trace_free(r.t);
        r.t = NULL;
    }
    return r;
}

static inline struct result read_text(const char *s)
{
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    return read_with(s, strlen(s), (size_t)1 << 20, false, &lim);
}

static inline void done(struct result *r)
{
    mt_trace_free(r->t);
    r->t = NULL;
}

static inline void put_stack(struct text *o, const struct mt_trace *t, mt_stack_id id)
{
    put(o, " [");
    for (; id != 0; id = t->stacks.p[id].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[id].frame];
        put(o, "%.300s@%.300s:%u;", mt_str(t, f->name), mt_str(t, f->file), f->line);
    }
    put(o, "]\n");
}

/* Everything that a trace says, by content: equal texts = equal snapshots, however they were
 * encoded. */
static inline char *content(const struct mt_trace *t)
{
    struct text o = {NULL, 0, 0};
    for (uint32_t i = 0; i < t->devices.n; i++) {
        const struct mt_device *d = &t->devices.p[i];
        put(&o, "device %d kind %d ring %llu %d\n", d->ordinal, (int)d->kind,
            (unsigned long long)d->ring_max_entries, d->ring_overflowed);
        for (uint64_t k = 0; k < d->events.n; k++) {
            const struct mt_event *e = mt_event_at(d, k);
            const struct mt_lane *l = &t->lanes.p[e->lane];
            put(&o, "%s %llx %llu @%llu flags %d stream %lld pool %llu %llu",
                mt_action_name((enum mt_action)e->action), (unsigned long long)e->addr,
                (unsigned long long)e->size, (unsigned long long)mt_event_ns(d, k), e->flags,
                (long long)l->stream, (unsigned long long)l->pool[0],
                (unsigned long long)l->pool[1]);
            put_stack(&o, t, e->stack);
        }
    }
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        put(&o, "segment %llx %llu %llu %llu %llu dev %d stream %lld pool %llu %llu %d%d%d%d",
            (unsigned long long)s->addr, (unsigned long long)s->total,
            (unsigned long long)s->allocated, (unsigned long long)s->active,
            (unsigned long long)s->requested, s->device, (long long)s->stream,
            (unsigned long long)s->pool[0], (unsigned long long)s->pool[1], s->is_large,
            s->is_expandable, s->pool_known, s->is_host);
        put_stack(&o, t, s->stack);
        for (uint32_t k = 0; k < s->n_blocks; k++) {
            const struct mt_block *b = &t->blocks.p[s->first_block + k];
            put(&o, " block %llx %llu %llu %s", (unsigned long long)b->addr,
                (unsigned long long)b->size, (unsigned long long)b->requested,
                mt_block_state_name((enum mt_block_state)b->state));
            put_stack(&o, t, b->stack);
        }
    }
    for (uint32_t i = 0; i < t->ranges.n; i++)
        put(&o, "range %s %d %llu %llu\n", mt_str(t, t->ranges.p[i].name), t->ranges.p[i].device,
            (unsigned long long)t->ranges.p[i].t0_ns, (unsigned long long)t->ranges.p[i].t1_ns);
    for (uint32_t i = 0; i < t->notes.n; i++)
        put(&o, "note %u %llu %d %.2000s\n", t->notes.p[i].device,
            (unsigned long long)t->notes.p[i].event, t->notes.p[i].kind,
            mt_str(t, t->notes.p[i].text));
    for (uint32_t i = 0; i < t->settings.n; i++)
        put(&o, "set %s=%.2000s\n", mt_str(t, t->settings.p[i].key),
            mt_str(t, t->settings.p[i].value));
    put(&o, "\n");
    return o.p;
}

static inline uint64_t n_events(const struct mt_trace *t)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < t->devices.n; i++)
        n += t->devices.p[i].events.n;
    return n;
}

/* ---- a snapshot in any order and layout ---- */

struct layout {
    const char *comma, *colon; /* with white space */
    int indent;                /* -1 = one line */
    uint64_t seed;             /* 0 = PyTorch's key order */
};

struct kv {
    const char *key, *value;
};

static inline uint32_t layout_rnd(uint64_t *seed, uint32_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)(*seed >> 33) % n;
}

static inline void new_line(struct text *o, const struct layout *l, int depth)
{
    if (l->indent >= 0)
        put(o, "\n%*s", l->indent * depth, "");
}

static inline void put_object(struct text *o, struct layout *l, int depth, const struct kv *kv,
                              size_t n)
{
    size_t order[16];
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; l->seed != 0 && i > 1; i--) {
        size_t k = layout_rnd(&l->seed, (uint32_t)i), x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
    }
    put(o, "{");
    for (size_t i = 0; i < n; i++) {
        put(o, "%s", i ? l->comma : "");
        new_line(o, l, depth + 1);
        put(o, "\"%s\"%s%s", kv[order[i]].key, l->colon, kv[order[i]].value);
    }
    new_line(o, l, depth);
    put(o, "}");
}

/* Three segments, a device with a gap of none before it, odd names, every kind of optional field.
 * Free with free(). */
static inline char *make_sample(struct layout l)
{
    static const char *const stacks[] = {
        "[]",
        "[{\"name\": \"forward\", \"filename\": \"/opt/m[0].py\", \"line\": 12}, {\"filename\": "
        "\"a.py\", \"name\": \"main\", "
        "\"line\": 3}]",
        "[{\"name\": \"std::vector<int>::operator[](unsigned long) {lambda(\\\"]}\\\")#1}\", "
        "\"filename\": \"C:\\\\x\\\\\", "
        "\"line\": 0}]",
        "[ { \"line\" : 7 , \"name\" : \"caf\\u00e9 \\ud83d\\ude00\", \"filename\": "
        "\"\xc3\xa9.py\", \"fx_node_op\": \"]\", "
        "\"new\": [1, {}] } ]",
    };
    static const char *const actions[] = {
        "\"segment_alloc\"", "\"alloc\"", "\"free_requested\"", "\"free_completed\"",
        "\"alloc\"",         "\"oom\"",   "\"snapshot\"",       "\"user_defined\""};
    struct text o = {NULL, 0, 0}, segments = o, trace = o, blocks = o, notes = o, settings = o;
    char num[8][32];
    for (int i = 0; i < 3; i++) {
        blocks.n = 0;
        put(&blocks, "[");
        for (int k = 0; k < 2; k++) {
            struct kv b[] = {{"address", num[0]},
                             {"size", "1048576"},
                             {"requested_size", num[1]},
                             {"state", k        ? "\"inactive\""
                                       : i == 1 ? "\"active_pending_free\""
                                                : "\"active_allocated\""},
                             {"frames", stacks[(i + k) % 4]}};
            snprintf(num[0], sizeof num[0], "%d", 0x1000000 * (3 - i) + 1048576 * k);
            snprintf(num[1], sizeof num[1], "%d", 1000000 + i);
            put(&blocks, "%s", k ? l.comma : "");
            put_object(&blocks, &l, 4, b, 5);
        }
        put(&blocks, "]");
        {
            struct kv s[] = {{"device", i == 2 ? "1" : "0"},
                             {"address", num[2]},
                             {"total_size", "2097152"},
                             {"allocated_size", "1048576"},
                             {"active_size", "1048576"},
                             {"requested_size", "1000000"},
                             {"stream", i ? "0" : "94338237231840"},
                             {"segment_type", i ? "\"large\"" : "\"small\""},
                             {"segment_pool_id", i ? "[0, 0]" : "[ 3 ,7 ]"},
                             {"is_expandable", i ? "false" : "true"},
                             {"blocks", blocks.p},
                             {"frames", stacks[i]}};
            snprintf(num[2], sizeof num[2], "%d", 0x1000000 * (3 - i));
            put(&segments, "%s", i ? l.comma : "[");
            put_object(&segments, &l, 2, s, 12);
        }
    }
    put(&segments, "]");
    put(&trace, "[[ ]%s[", l.comma);
    for (int i = 0; i < 24; i++) {
        struct kv e[] = {{"action", actions[i % 8]},
                         {i % 8 == 5 ? "device_free" : "addr", num[0]},
                         {"size", num[1]},
                         {"stream", i % 3 ? "0" : "-1"},
                         {"time_us", num[2]},
                         {"compile_context", i % 5 ? "\"N/A\"" : "\"0/1_2 [graph]\""},
                         {"user_metadata", i % 7 ? "\"\"" : "{\"a\": [\"}\", \"]\"]}"},
                         {"pool_id", i % 2 ? "[0,0]" : "[0, 2]"},
                         {"frames", stacks[i % 4]},
                         {"brand_new", i % 4 ? "[[1, \"]\"], {\"x\": null}]" : "-1.5e3"}};
        snprintf(num[0], sizeof num[0], "%lld", 139777059848192LL + 512 * i);
        snprintf(num[1], sizeof num[1], "%d", 512 * (i + 1));
        snprintf(num[2], sizeof num[2], "%lld", 1730000000000000LL + i);
        put(&trace, "%s", i ? l.comma : "");
        put_object(&trace, &l, 3, e, i % 2 ? 10 : 9);
    }
    put(&trace, "]]");
    for (int i = 0; i < 4; i++) {
        struct kv a[] = {{"name", i % 2 ? "\"Optimizer.step#AdamW.step\"" : "\"## Call [x] ##\""},
                         {"stage", i < 2 ? "\"START\"" : "\"END\""},
                         {"device", "1"},
                         {"time_us", num[3]}};
        snprintf(num[3], sizeof num[3], "%lld", 1730000000000000LL + 10 * i);
        put(&notes, "%s", i ? l.comma : "[");
        put_object(&notes, &l, 2, a, 4);
    }
    put(&notes, "]");
    {
        /* settings keep the order of the file, so theirs is not shuffled */
        struct layout fixed = {l.comma, l.colon, l.indent, 0};
        struct kv s[] = {
            {"PYTORCH_CUDA_ALLOC_CONF", "\"expandable_segments:True\""},
            {"max_split_size", "-1"},
            {"garbage_collection_threshold", "0.8"},
            {"expandable_segments", "true"},
            {"nothing", "null"},
            {"huge", "18446744073709551615"},
            {"roundup_power2_divisions", "{\"1\": 0, \"2\": 4, \"deep\": {\"er\": [5, 6]}}"},
            {"trace_alloc_max_entries", "100000"},
            {"trace_alloc_overflowed", "[0, 1]"}};
        put_object(&settings, &fixed, 1, s, 9);
    }
    {
        struct kv top[] = {{"segments", segments.p},
                           {"device_traces", trace.p},
                           {"allocator_settings", settings.p},
                           {"external_annotations", notes.p},
                           {"some_future_key", "{\"a\": [1, 2, {\"b\": \"]\"}]}"}};
        put_object(&o, &l, 0, top, 5);
    }
    free(segments.p);
    free(trace.p);
    free(blocks.p);
    free(notes.p);
    free(settings.p);
    return o.p;
}

#endif
