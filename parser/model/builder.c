#include "parser/base/secret.h"
#include "parser/model/builder_impl.h"

enum { MAX_LANES = 4096, LANE_SLOTS = 2 * MAX_LANES };

struct mt_builder *mt_builder_new(struct mt_trace *t, const struct mt_limits *lim)
{
    static const char *const states[] = {"active_allocated", "active_pending_free",
                                         "active_awaiting_free", "inactive"};
    struct mt_builder *b = mt_calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    b->t = t;
    b->lim = *lim;
    b->cur_device = UINT32_MAX;
    b->ring_all.max = 0;
    b->ring_all.overflowed = -1;
    b->lane_slot = mt_calloc(LANE_SLOTS, sizeof *b->lane_slot);
    b->pair_slot = mt_calloc(MT_PAIR_SLOTS, sizeof *b->pair_slot);
    if (b->lane_slot == NULL || b->pair_slot == NULL || !mt_intern_init(&b->intern, t))
        goto fail;
    for (int a = 0; a < MT_ACT_COUNT; a++) {
        b->action_id[a] = mt_strpool_add(&t->str, mt_action_name((enum mt_action)a),
                                         strlen(mt_action_name((enum mt_action)a)));
        if (b->action_id[a] == MT_STR_FAIL)
            goto fail;
        if (b->action_id[a] != b->action_id[0] + (mt_str_id)a) { /* action_of() relies on it */
            mt_fail(&b->err, MT_EINTERN, "the trace was not fresh");
            goto fail;
        }
    }
    for (int s = 0; s < 4; s++)
        if ((b->state_id[s] = mt_strpool_add(&t->str, states[s], strlen(states[s]))) == MT_STR_FAIL)
            goto fail;
    if ((b->na_id = mt_strpool_add(&t->str, "N/A", 3)) == MT_STR_FAIL ||
        (b->end_id = mt_strpool_add(&t->str, "END", 3)) == MT_STR_FAIL ||
        (b->large_id = mt_strpool_add(&t->str, "large", 5)) == MT_STR_FAIL)
        goto fail;
    return b;
fail:
    mt_builder_free(b);
    return NULL;
}

void mt_builder_free(struct mt_builder *b)
{
    if (b == NULL)
        return;
    mt_intern_done(&b->intern);
    mt_free(b->lane_slot);
    mt_free(b->pair_slot);
    mt_free(b->has_fx);
    MT_VEC_DONE(&b->pairs);
    MT_VEC_DONE(&b->marks);
    MT_VEC_DONE(&b->ring);
    mt_free(b);
}

const struct mt_err *mt_builder_err(const struct mt_builder *b) { return &b->err; }

int mt_build_frame_rec(struct mt_builder *b, const struct mt_rec *r, mt_frame_id *id)
{
    const uint64_t fx = UINT64_C(1) << MT_K_FX_NODE_OP | UINT64_C(1) << MT_K_FX_NODE_NAME |
                        UINT64_C(1) << MT_K_FX_NODE_TARGET | UINT64_C(1) << MT_K_FX_ORIGINAL_TRACE;
    int64_t line = i64_of(r, MT_K_LINE);
    return mt_build_frame(b, str_of(r, MT_K_NAME), str_of(r, MT_K_FILENAME),
                          line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0, id) &&
           ((r->have & fx) == 0 || mt_b_fx(b, r, *id));
}

int mt_build_trace_begin(struct mt_builder *b, uint32_t ordinal, enum mt_device_kind kind)
{
    b->in_trace = true;
    b->in_segments = false;
    b->next_ordinal = ordinal;
    b->next_kind = kind;
    /* the device itself appears with its first event: empty lists cost nothing */
    b->cur_device = UINT32_MAX;
    b->room = 0;
    return 1;
}

struct mt_device *mt_b_device(struct mt_builder *b, int32_t ordinal, enum mt_device_kind kind,
                              uint32_t *index)
{
    struct mt_device *d;
    for (uint32_t i = 0; i < b->t->devices.n; i++) {
        if (b->t->devices.p[i].ordinal == ordinal && b->t->devices.p[i].kind == kind) {
            *index = i;
            return &b->t->devices.p[i];
        }
    }
    d = MT_VEC_PUSH(&b->t->devices);
    if (d == NULL)
        return NULL;
    d->ordinal = ordinal;
    d->kind = kind;
    d->ring_overflowed = -1;
    *index = b->t->devices.n - 1;
    return d;
}

static int lane_of(struct mt_builder *b, int64_t stream, const uint64_t pool[2], uint16_t *lane)
{
    struct mt_lane *l = &b->t->lanes.p[b->last_lane];
    uint64_t h;
    uint32_t i;
    if (l->stream == stream && l->pool[0] == pool[0] && l->pool[1] == pool[1]) {
        *lane = b->last_lane;
        return 1;
    }
    h = mt_hash_pair((uint64_t)stream, mt_hash_pair(pool[0], pool[1]));
    for (i = (uint32_t)h & (LANE_SLOTS - 1); b->lane_slot[i] != 0; i = (i + 1) & (LANE_SLOTS - 1)) {
        l = &b->t->lanes.p[b->lane_slot[i]];
        if (l->stream == stream && l->pool[0] == pool[0] && l->pool[1] == pool[1]) {
            *lane = b->last_lane = b->lane_slot[i];
            return 1;
        }
    }
    if (stream == 0 && pool[0] == 0 && pool[1] == 0) {
        *lane = b->last_lane = 0;
        return 1;
    }
    if (b->t->lanes.n >= MAX_LANES) {
        b->n_lost_lanes++;
        *lane = 0;
        return 1;
    }
    l = MT_VEC_PUSH(&b->t->lanes);
    if (l == NULL)
        return mt_b_nomem(b);
    l->stream = stream;
    memcpy(l->pool, pool, sizeof l->pool);
    *lane = b->last_lane = b->lane_slot[i] = (uint16_t)(b->t->lanes.n - 1);
    return 1;
}

/* The first chunk of a device while it is smaller than others. */
enum { FIRST_EVENTS = 1 << 10, GROWTH = 4 };
_Static_assert(MT_CHUNK_EVENTS == FIRST_EVENTS * GROWTH * GROWTH * GROWTH * GROWTH,
               "it grows to a whole one");

/* Whether a time can be written in a width. */
static inline bool fits(const struct mt_stretch *s, enum mt_stretch_width width, uint64_t ns)
{
    uint64_t later = ns - s->first_ns;
    switch (width) {
    case MT_STRETCH_ONE: return later == 0;
    case MT_STRETCH_US: return later <= UINT64_C(1000) * UINT16_MAX && later % 1000 == 0;
    case MT_STRETCH_NS: return later + (UINT64_C(1) << 31) < UINT64_C(1) << 32;
    case MT_STRETCH_WHOLE: break;
    }
    return true;
}

static inline void write_time(const struct mt_stretch *s, unsigned k, uint64_t ns)
{
    switch (s->width) {
    case MT_STRETCH_ONE: break;
    case MT_STRETCH_US: s->us[k] = (uint16_t)((ns - s->first_ns) / 1000); break;
    case MT_STRETCH_NS: s->ns[k] = (int32_t)(ns - s->first_ns); break;
    case MT_STRETCH_WHOLE: s->whole[k] = ns; break;
    }
}

/* Makes b->room events of the device writable from b->next on: up to the end of what is allocated
 * of its last chunk, and no more than the limit allows. */
static int make_room(struct mt_builder *b, struct mt_events *e)
{
    uint64_t in = e->n & (MT_CHUNK_EVENTS - 1), has, left;
    if (b->n_events >= b->lim.max_events) {
        mt_fail(&b->err, MT_ELIMIT, "more than %llu trace entries (raise --max-events)",
                (unsigned long long)b->lim.max_events);
        return 0;
    }
    if (in == 0) {
        if (e->n_chunks == e->cap_chunks) {
            uint32_t cap = e->cap_chunks ? e->cap_chunks * 2 : 8;
            struct mt_event **p = mt_realloc(e->chunk, cap * sizeof *p);
            if (p == NULL)
                return mt_b_nomem(b);
            e->chunk = p;
            e->cap_chunks = cap;
        }
        /* a small trace should not cost megabytes: the first chunk of a device starts small and
         * grows */
        has = e->n_chunks == 0 ? FIRST_EVENTS : MT_CHUNK_EVENTS;
        if ((e->chunk[e->n_chunks] = mt_malloc_big(has * sizeof(struct mt_event))) == NULL)
            return mt_b_nomem(b);
        e->n_chunks++;
    } else if (e->n_chunks == 1) {
        for (has = FIRST_EVENTS; has < e->n;)
            has *= GROWTH;
        if (has == e->n) {
            struct mt_event *p = mt_realloc(e->chunk[0], (has *= GROWTH) * sizeof *p);
            if (p == NULL)
                return mt_b_nomem(b);
            e->chunk[0] = p;
        }
    } else {
        has = MT_CHUNK_EVENTS;
    }
    left = b->lim.max_events - b->n_events;
    b->next = &e->chunk[e->n_chunks - 1][in];
    b->room = has - in < left ? has - in : left;
    return 1;
}

/* The next time of a stretch, number k of it, where it needs a greater width. */
__attribute__((noinline)) static int other_time(struct mt_builder *b, struct mt_device *d,
                                                unsigned k, uint64_t ns)
{
    static const size_t bytes[] = {0, sizeof(uint16_t), sizeof(int32_t), sizeof(uint64_t)};
    struct mt_events *e = &d->events;
    struct mt_stretch *s = &e->stretches.p[e->stretches.n - 1], now = *s;
    uint64_t first = e->n - k;
    do
        now.width++;
    while (now.width + 1 < sizeof bytes / sizeof *bytes && !fits(s, now.width, ns));
    now.whole = mt_arena_alloc(&e->times, MT_STRETCH_EVENTS * bytes[now.width], sizeof(uint64_t));
    if (now.whole == NULL)
        return mt_b_nomem(b);
    memset(now.whole, 0, MT_STRETCH_EVENTS * bytes[now.width]);
    for (unsigned i = 0; i < k; i++)
        write_time(&now, i, mt_event_ns(d, first + i));
    write_time(&now, k, ns);
    *s = now;
    return 1;
}

__attribute__((noinline)) static int first_time(struct mt_builder *b, struct mt_events *e,
                                                uint64_t ns)
{
    struct mt_stretch *s = MT_VEC_PUSH(&e->stretches);
    if (s == NULL)
        return mt_b_nomem(b);
    s->first_ns = ns;
    return 1;
}

static inline int note_time(struct mt_builder *b, struct mt_device *d, uint64_t ns)
{
    struct mt_events *e = &d->events;
    unsigned k = e->n & (MT_STRETCH_EVENTS - 1);
    const struct mt_stretch *s;
    if (k == 0)
        return first_time(b, e, ns);
    s = &e->stretches.p[e->stretches.n - 1];
    if (!fits(s, s->width, ns))
        return other_time(b, d, k, ns);
    write_time(s, k, ns);
    return 1;
}

static inline struct mt_event *new_event(struct mt_builder *b, struct mt_device *d, uint64_t ns)
{
    if ((b->room == 0 && !make_room(b, &d->events)) || !note_time(b, d, ns))
        return NULL;
    d->n_with_time += ns != 0;
    if (ns > d->last_time_ns)
        d->last_time_ns = ns;
    b->room--;
    b->n_events++;
    d->events.n++;
    return b->next++;
}

static int note(struct mt_builder *b, enum mt_note_kind kind, mt_str_id text, mt_stack_id stack,
                uint64_t event)
{
    struct mt_note *n = MT_VEC_PUSH(&b->t->notes);
    if (n == NULL)
        return mt_b_nomem(b);
    n->device = b->cur_device;
    n->event = event;
    n->kind = (uint8_t)kind;
    n->text = text;
    n->stack = stack;
    return 1;
}

static int notes_of(struct mt_builder *b, const struct mt_rec *r, uint64_t event)
{
    static const struct {
        enum mt_key key;
        enum mt_note_kind kind;
    } kinds[] = {
        {MT_K_COMPILE_CONTEXT, MT_NOTE_COMPILE_CONTEXT},
        {MT_K_USER_METADATA, MT_NOTE_USER_METADATA},
        {MT_K_INTERNAL_METADATA, MT_NOTE_INTERNAL_METADATA},
        {MT_K_CATEGORY, MT_NOTE_CATEGORY},
    };
    mt_str_id text;
    mt_stack_id stack;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        mt_str_id id = str_of(r, kinds[i].key);
        if (id != 0 && id != b->na_id && !note(b, kinds[i].kind, id, 0, event))
            return 0;
    }
    /* a list of strings, or as other lists of frames are */
    text = str_of(r, MT_K_FORWARD_FRAMES);
    stack = stack_of(r, MT_K_FORWARD_FRAMES);
    if (text != 0 && !mt_b_forward_stack(b, text, &stack))
        return 0;
    return stack == 0 || note(b, MT_NOTE_FORWARD, text, stack, event);
}

/* What may lead to a note, where it says something. */
#define NOTED                                                                                      \
    (UINT64_C(1) << MT_K_COMPILE_CONTEXT | UINT64_C(1) << MT_K_USER_METADATA |                     \
     UINT64_C(1) << MT_K_INTERNAL_METADATA | UINT64_C(1) << MT_K_CATEGORY |                        \
     UINT64_C(1) << MT_K_FORWARD_FRAMES)

/* What PyTorch 2.8 and later write in nearly all entries: no context, no metadata. */
static bool has_no_note(const struct mt_builder *b, const struct mt_rec *r)
{
    const uint64_t both = UINT64_C(1) << MT_K_COMPILE_CONTEXT | UINT64_C(1) << MT_K_USER_METADATA;
    const struct mt_val *context = &r->v[MT_K_COMPILE_CONTEXT], *own = &r->v[MT_K_USER_METADATA];
    return (r->have & NOTED) == both && context->type == MT_T_STR && own->type == MT_T_STR &&
           own->id == 0 && (context->id == b->na_id || context->id == 0);
}

static int action_of(struct mt_builder *b, const struct mt_rec *r, enum mt_action *action)
{
    mt_str_id id = str_of(r, MT_K_ACTION);
    /* the names were interned one after the other into an empty pool */
    uint32_t k = id - b->action_id[0];
    if (k - 1 < MT_ACT_COUNT - 1) {
        *action = (enum mt_action)k;
        return 1;
    }
    *action = MT_ACT_OTHER;
    return mt_b_count(b, &b->t->unknown_actions.p, &b->t->unknown_actions.n,
                      &b->t->unknown_actions.cap, id);
}

/* The device of the trace that is being built; NULL = out of memory, or *skip: an ordinal that no
 * process has. */
static inline struct mt_device *this_device(struct mt_builder *b, bool *skip)
{
    struct mt_device *d;
    *skip = b->next_ordinal >= MAX_ORDINAL;
    if (*skip) {
        b->n_bad_records++;
        return NULL;
    }
    if (b->cur_device != UINT32_MAX)
        return &b->t->devices.p[b->cur_device];
    d = mt_b_device(b, (int32_t)b->next_ordinal, b->next_kind, &b->cur_device);
    if (d == NULL)
        mt_b_nomem(b);
    return d;
}

static inline void count_event(struct mt_device *d, const struct mt_event *e)
{
    d->n_by_action[e->action]++;
    if (__builtin_add_overflow(d->bytes_by_action[e->action], e->size,
                               &d->bytes_by_action[e->action]))
        d->sums_overflow = true;
    d->n_with_stack += e->stack != 0;
}

/* The first one for which there is no room yet. Apart, so that the rest needs no stack. */
__attribute__((noinline)) static int first_plain_event(struct mt_builder *b,
                                                       struct mt_event_kind kind, uint64_t addr,
                                                       uint64_t size, uint64_t time_ns,
                                                       mt_stack_id stack)
{
    bool skip;
    struct mt_device *d = this_device(b, &skip);
    if (d == NULL || !make_room(b, &d->events))
        return skip;
    return mt_build_plain_event(b, kind, addr, size, time_ns, stack);
}

int mt_build_plain_event(struct mt_builder *b, struct mt_event_kind kind, uint64_t addr,
                         uint64_t size, uint64_t time_ns, mt_stack_id stack)
{
    struct mt_device *d;
    struct mt_event *e;
    if (b->room == 0)
        return first_plain_event(b, kind, addr, size, time_ns, stack);
    if (size >= MAX_BYTES_VALUE && (kind.action != MT_ACT_OOM || size >= MAX_REQUEST)) {
        b->n_bad_values++;
        size = 0;
    }
    d = &b->t->devices.p[b->cur_device];
    if ((e = new_event(b, d, time_ns)) == NULL)
        return 0;
    e->addr = addr;
    e->size = size;
    e->stack = stack;
    e->lane = kind.lane;
    e->action = kind.action;
    e->flags = kind.flags;
    count_event(d, e);
    return 1;
}

bool mt_build_repeats(const struct mt_builder *b, const struct mt_rec *r,
                      struct mt_event_kind *kind)
{
    const struct mt_event *e = b->next - 1;
    if (b->cur_device == UINT32_MAX || b->t->devices.p[b->cur_device].events.n == 0)
        return false;
    *kind = (struct mt_event_kind){e->lane, e->action, e->flags};
    /* of the others an address is something else, or their names are counted */
    if (e->action == MT_ACT_OTHER || e->action == MT_ACT_OOM || e->action == MT_ACT_ANNOTATE ||
        e->action == MT_ACT_SNAPSHOT)
        return false;
    return b->n_lost_lanes == 0 && has(r, MT_K_ADDR) && has(r, MT_K_SIZE) &&
           ((r->have & NOTED) == 0 || has_no_note(b, r));
}

int mt_build_event(struct mt_builder *b, const struct mt_rec *r)
{
    enum mt_action action;
    struct mt_device *d;
    struct mt_event *e;
    uint64_t pool[2], time_us = u64_of(r, MT_K_TIME_US);
    uint16_t lane = 0;
    bool skip;
    int pool_known = pair_of(b, r, MT_K_POOL_ID, pool);
    if ((d = this_device(b, &skip)) == NULL)
        return skip;
    if (!action_of(b, r, &action) || !lane_of(b, i64_of(r, MT_K_STREAM), pool, &lane))
        return 0;
    if (action != MT_ACT_OTHER && action != MT_ACT_ANNOTATE &&
        (!has(r, MT_K_SIZE) || (action != MT_ACT_SNAPSHOT &&
                                !has(r, action == MT_ACT_OOM ? MT_K_DEVICE_FREE : MT_K_ADDR)))) {
        b->n_bad_records++;
        action = MT_ACT_OTHER;
    }
    e = new_event(b, d, time_us < UINT64_MAX / 1000 ? time_us * 1000 : 0);
    if (e == NULL)
        return 0;
    e->action = (uint8_t)action;
    e->flags = pool_known ? MT_EV_POOL_KNOWN : 0;
    e->lane = lane;
    e->stack = stack_of(r, MT_K_FRAMES);
    e->size = bytes_below(b, r, MT_K_SIZE, action == MT_ACT_OOM ? MAX_REQUEST : MAX_BYTES_VALUE);
    e->addr = action == MT_ACT_OOM ? bytes_of(b, r, MT_K_DEVICE_FREE) : u64_of(r, MT_K_ADDR);
    count_event(d, e);
    return (r->have & NOTED) == 0 || has_no_note(b, r) || notes_of(b, r, d->events.n - 1);
}
