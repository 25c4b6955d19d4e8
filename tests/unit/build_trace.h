/* build_trace.h -- small traces by hand, through the same builder that the readers use. */
#ifndef MT_TEST_BUILD_TRACE_H
#define MT_TEST_BUILD_TRACE_H

#include "parser/model/builder.h"

#include <stdlib.h>
#include <string.h>

struct bt {
    struct mt_trace *t;
    struct mt_builder *b;
    uint64_t clock_us;
};

static inline struct bt bt_new(void)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct bt x = {mt_trace_new(), NULL, 1700000000000000};
    x.b = mt_builder_new(x.t, &lim);
    mt_build_saw_key(x.b, MT_K_SEGMENTS);
    mt_build_saw_key(x.b, MT_K_DEVICE_TRACES);
    return x;
}

static inline struct mt_val bt_str(struct bt *x, const char *s)
{
    struct mt_val v = {.type = MT_T_STR};
    mt_str_id id = 0;
    if (!mt_build_str(x->b, s, strlen(s), &id))
        abort();
    v.id = id;
    return v;
}
static inline struct mt_val bt_int(int64_t i) { return (struct mt_val){.type = MT_T_INT, .i = i}; }

/* "file:line:function|file:line:function", innermost first; "" = no stack */
static inline struct mt_val bt_stack(struct bt *x, const char *spec)
{
    mt_frame_id ids[64];
    uint32_t n = 0;
    mt_stack_id s = 0;
    while (*spec != '\0' && n < 64) {
        size_t len = strcspn(spec, "|");
        const char *c1 = memchr(spec, ':', len);
        const char *c2 = c1 ? memchr(c1 + 1, ':', len - (size_t)(c1 + 1 - spec)) : NULL;
        mt_str_id file = 0, name = 0;
        if (c2 == NULL)
            abort();
        if (!mt_build_str(x->b, spec, (size_t)(c1 - spec), &file) ||
            !mt_build_str(x->b, c2 + 1, len - (size_t)(c2 + 1 - spec), &name) ||
            !mt_build_frame(x->b, name, file, (uint32_t)atoi(c1 + 1), &ids[n++]))
            abort();
        spec += len + (spec[len] == '|');
    }
    if (!mt_build_stack(x->b, ids, n, &s))
        abort();
    return (struct mt_val){.type = MT_T_STACK, .id = s};
}

static inline void bt_event_on(struct bt *x, const char *action, uint64_t addr, uint64_t size,
                               int64_t stream, const char *stack)
{
    static struct mt_rec r;
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_ACTION, bt_str(x, action));
    mt_rec_set(&r, strcmp(action, "oom") == 0 ? MT_K_DEVICE_FREE : MT_K_ADDR,
               bt_int((int64_t)addr));
    mt_rec_set(&r, MT_K_SIZE, bt_int((int64_t)size));
    mt_rec_set(&r, MT_K_STREAM, bt_int(stream));
    mt_rec_set(&r, MT_K_TIME_US, bt_int((int64_t)(x->clock_us += 1000)));
    if (stack[0] != '\0')
        mt_rec_set(&r, MT_K_FRAMES, bt_stack(x, stack));
    if (!mt_build_event(x->b, &r))
        abort();
}
static inline void bt_event(struct bt *x, const char *action, uint64_t addr, uint64_t size,
                            const char *stack)
{
    bt_event_on(x, action, addr, size, 0, stack);
}
static inline void bt_trace(struct bt *x, uint32_t device)
{
    (void)mt_build_trace_begin(x->b, device, false);
}

/* A segment with its blocks: "512a 1024i 2048p" sizes with state active, inactive or pending, one
 * after the other. A '+' before them: pages of an expandable segment. */
static inline void bt_segment(struct bt *x, int64_t device, uint64_t addr, uint64_t total,
                              const char *blocks, const char *stack)
{
    static struct mt_rec r;
    bool mapped = blocks[0] == '+';
    (void)mt_build_segment_begin(x->b);
    blocks += mapped;
    for (const char *p = blocks; *p != '\0';) {
        char *end;
        uint64_t size = strtoull(p, &end, 10);
        mt_rec_reset(&r);
        mt_rec_set(&r, MT_K_SIZE, bt_int((int64_t)size));
        mt_rec_set(&r, MT_K_REQUESTED_SIZE, bt_int((int64_t)size));
        mt_rec_set(&r, MT_K_STATE,
                   bt_str(x, *end == 'a'   ? "active_allocated"
                             : *end == 'p' ? "active_pending_free"
                                           : "inactive"));
        if (stack[0] != '\0')
            mt_rec_set(&r, MT_K_FRAMES, bt_stack(x, stack));
        if (!mt_build_block(x->b, &r))
            abort();
        p = end + 1;
        while (*p == ' ')
            p++;
    }
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_DEVICE, bt_int(device));
    mt_rec_set(&r, MT_K_ADDRESS, bt_int((int64_t)addr));
    mt_rec_set(&r, MT_K_TOTAL_SIZE, bt_int((int64_t)total));
    mt_rec_set(&r, MT_K_STREAM, bt_int(0));
    mt_rec_set(&r, MT_K_SEGMENT_TYPE, bt_str(x, total > 2097152 ? "large" : "small"));
    if (mapped)
        mt_rec_set(&r, MT_K_IS_EXPANDABLE, (struct mt_val){.type = MT_T_BOOL, .i = 1});
    if (!mt_build_segment(x->b, &r))
        abort();
}

static inline struct mt_trace *bt_done(struct bt *x)
{
    if (!mt_build_finish(x->b))
        abort();
    mt_builder_free(x->b);
    x->b = NULL;
    return x->t;
}

#endif
