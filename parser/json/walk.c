#include "parser/json/walk.h"

#include <stdio.h>
#include <string.h>

enum { NEAR_END = 512 }; /* with less than this in the window, refill before the next member */

int mt_json_walk_init(struct mt_json_walk *w, struct mt_source *src, const struct mt_limits *lim,
                      struct mt_trace *t)
{
    memset(w, 0, sizeof *w);
    mt_json_init(&w->j, src, lim);
    w->lim = lim;
    w->t = t;
    w->b = mt_builder_new(t, lim);
    return w->b != NULL && mt_json_seen_init(&w->stacks, 1024, MT_JSON_STACK_SLOTS) &&
           mt_json_frames_init(&w->texts);
}

void mt_json_walk_done(struct mt_json_walk *w)
{
    mt_json_done(&w->j);
    mt_builder_free(w->b);
    mt_json_seen_done(&w->stacks);
    mt_json_frames_done(&w->texts);
    MT_VEC_DONE(&w->lv);
    MT_VEC_DONE(&w->frames);
    MT_VEC_DONE(&w->text);
}

/* The builder refused: its reason is ours. */
static int refused(struct mt_json_walk *w)
{
    const struct mt_err *e = mt_builder_err(w->b);
    return mt_json_stop(&w->j, e->rc, "%s", e->msg);
}

/* ---- strings ---- */

static int intern(struct mt_json_walk *w, const unsigned char *s, size_t n, mt_str_id *id)
{
    struct mt_json_short_slot *slot;
    int hit;
    if (n == 0) {
        *id = 0;
        return 1;
    }
    /* a decoded string may lie in a buffer that has no 16 readable bytes */
    if (n > MT_JSON_SHORT || (s == w->j.scratch && w->j.cap_scratch < 16))
        return mt_build_str(w->b, s, n, id) || refused(w);
    slot = mt_json_short_find(&w->strings, s, n, &hit);
    if (!hit && !mt_build_str(w->b, s, n, &slot->id)) {
        slot->w[1] = 0;
        return refused(w);
    }
    *id = slot->id;
    return 1;
}

static enum mt_key key_of(struct mt_json_walk *w, const unsigned char *s, size_t n)
{
    struct mt_json_short_slot *slot;
    int hit;
    if (n == 0 || n > MT_JSON_SHORT || (s == w->j.scratch && w->j.cap_scratch < 16))
        return mt_key_find(s, n);
    slot = mt_json_short_find(&w->keys, s, n, &hit);
    if (!hit)
        slot->id = mt_key_find(s, n);
    return (enum mt_key)slot->id;
}

/* ---- opening and closing ---- */

static bool is_list_role(enum mt_schema_role r)
{
    return r == MT_R_SEGMENTS || r == MT_R_BLOCKS || r == MT_R_HISTORY || r == MT_R_TRACES ||
           r == MT_R_TRACE || r == MT_R_FRAMES || r == MT_R_ANNOTATIONS || r == MT_R_POOL ||
           r == MT_R_HOST_SEGMENTS || r == MT_R_HOST_TRACES || r == MT_R_RING ||
           r == MT_R_SETTINGS || r == MT_R_TEXT;
}

static bool is_dict_role(enum mt_schema_role r)
{
    return !is_list_role(r) ? r != MT_R_SKIP : r == MT_R_SETTINGS || r == MT_R_TEXT;
}

static bool is_stream_role(enum mt_schema_role r)
{
    return is_list_role(r) && r != MT_R_FRAMES && r != MT_R_POOL && r != MT_R_RING &&
           r != MT_R_TRACE && r != MT_R_TEXT;
}

/* p is behind the bracket. `index`: position of the container in its list. */
static int open_level(struct mt_json_walk *w, enum mt_schema_role role, bool list, enum mt_key key,
                      mt_str_id path, uint64_t index)
{
    struct mt_json_level *l;
    enum mt_schema_role parent =
        w->lv.n > 0 ? (enum mt_schema_role)mt_json_top(w)->role : MT_R_SKIP;
    if (w->lv.n >= w->lim->max_depth)
        return mt_json_stop(&w->j, MT_ELIMIT,
                            "lists and objects are nested deeper than %u (raise --max-depth)",
                            (unsigned)w->lim->max_depth);
    l = MT_VEC_PUSH(&w->lv);
    if (l == NULL)
        return mt_json_nomem(w);
    l->role = (uint8_t)role;
    l->list = list;
    l->key = (uint8_t)key;
    l->path = path;
    if (!list && role != MT_R_SETTINGS)
        mt_rec_reset(&w->rec[role]);
    if (role == MT_R_FRAMES) {
        w->frames.n = 0;
        mt_json_frames_begin(&w->texts);
    } else if (role == MT_R_POOL) {
        w->pool_ok = true;
    } else if (role == MT_R_TEXT) {
        w->text.n = 0;
    } else if (role == MT_R_SEGMENT) {
        return mt_build_segment_begin(w->b) || refused(w);
    } else if (role == MT_R_TRACE || role == MT_R_HOST_TRACES) {
        w->ordinal = role == MT_R_TRACE && index <= UINT32_MAX ? (uint32_t)index : 0;
        return mt_build_trace_begin(w->b, w->ordinal,
                                    role == MT_R_HOST_TRACES || parent == MT_R_HOST_TRACES
                                        ? MT_DEV_HOST
                                        : MT_DEV_CUDA) ||
               refused(w);
    }
    return 1;
}

static int close_dict(struct mt_json_walk *w, enum mt_schema_role role)
{
    const struct mt_rec *r = &w->rec[role];
    mt_frame_id *f, id;
    switch (role) {
    case MT_R_SEGMENT: return mt_build_segment(w->b, r);
    case MT_R_BLOCK: return mt_build_block(w->b, r);
    case MT_R_HIST: return mt_build_history(w->b, r);
    case MT_R_EVENT: return mt_build_event(w->b, r);
    case MT_R_ANNOTATION: return mt_build_annotation(w->b, r);
    case MT_R_HOST_SEGMENT: return mt_build_host_segment(w->b, r);
    case MT_R_FRAME:
        if (!mt_build_frame_rec(w->b, r, &id))
            return 0;
        if ((f = MT_VEC_PUSH(&w->frames)) == NULL)
            return mt_json_nomem(w);
        *f = id;
        if (w->has_frame_hash && w->frame_at >= w->j.src->base /* its text is still in the window */
            && mt_json_offset(&w->j) == w->frame_at + w->frame_len)
            mt_json_frames_put(&w->texts, w->frame_hash, id,
                               w->j.src->buf + (w->frame_at - w->j.src->base), w->frame_len);
        return 1;
    case MT_R_SKIP:
    case MT_R_TOP:
    case MT_R_SEGMENTS:
    case MT_R_BLOCKS:
    case MT_R_HISTORY:
    case MT_R_TRACES:
    case MT_R_TRACE:
    case MT_R_FRAMES:
    case MT_R_SETTINGS:
    case MT_R_ANNOTATIONS:
    case MT_R_POOL:
    case MT_R_HOST_SEGMENTS:
    case MT_R_HOST_TRACES:
    case MT_R_TEXT:
    case MT_R_RING: break;
    }
    return 1;
}

/* p behind the closing bracket of the innermost level. */
static int close_level(struct mt_json_walk *w)
{
    const struct mt_json_level l = *mt_json_top(w);
    struct mt_json_level *up;
    struct mt_val v = {.type = MT_T_OTHER};
    if (!l.list && !close_dict(w, (enum mt_schema_role)l.role))
        return w->j.fail != MT_JF_NONE ? 0 : refused(w);
    w->lv.n--;
    if (w->lv.n == 0)
        return 1;
    up = mt_json_top(w);
    up->n++;
    if (up->list || up->role == MT_R_SETTINGS)
        return 1;
    if (l.role == MT_R_FRAMES) {
        v.type = MT_T_STACK;
        if (!mt_build_stack(w->b, w->frames.p, w->frames.n, &v.id))
            return refused(w);
        if (w->has_stack_hash && mt_json_offset(&w->j) == w->stack_end)
            mt_json_seen_put(&w->stacks, w->stack_hash, v.id);
        else if (w->looked_ahead)
            w->stack_end_lies = true;
    } else if (l.role == MT_R_TEXT) {
        v.type = MT_T_STR;
        if (!mt_build_text(w->b, w->text.p, w->text.n, !l.list, &v.id))
            return refused(w);
    } else if (l.role == MT_R_POOL && w->pool_ok && l.n == 2) {
        v.type = MT_T_PAIR;
        if (!mt_build_pair(w->b, w->pool[0], w->pool[1], &v.id))
            return refused(w);
    }
    mt_rec_set(&w->rec[up->role], (enum mt_key)l.key, v);
    return 1;
}

/* ---- values ---- */

static int skip_member(struct mt_json_walk *w)
{
    if (!mt_json_skip(&w->j, w->lv.n))
        return 0;
    mt_json_top(w)->n++;
    return 1;
}

/* Parts of a text, as far as there is room for more of them: what is longer is cut anyway. */
static int text_part(struct mt_json_walk *w, const struct mt_json_level *l, mt_str_id name,
                     struct mt_val v)
{
    enum { MOST = 1024 };
    struct mt_val key = {.type = MT_T_STR, .id = name}, *part;
    for (int i = l->list ? 1 : 0; i < 2 && w->text.n < MOST; i++) {
        if ((part = MT_VEC_PUSH(&w->text)) == NULL)
            return mt_json_nomem(w);
        *part = i == 0 ? key : v;
    }
    return 1;
}

/* A scalar that is a member of level l under `key` (lists: MT_K_UNKNOWN). `name`: its key, inside
 * settings. */
static int scalar(struct mt_json_walk *w, struct mt_json_level *l, enum mt_key key, mt_str_id name,
                  int c)
{
    struct mt_val v = {.type = MT_T_STR};
    if (c == '"') {
        const unsigned char *s;
        size_t n;
        if (!mt_json_string(&w->j, &s, &n) || !intern(w, s, n, &v.id))
            return 0;
    } else if (!mt_json_scalar(&w->j, &v)) {
        return 0;
    }
    if (l->role == MT_R_SETTINGS) {
        if (!mt_build_setting(w->b, l->path, name, v))
            return refused(w);
    } else if (l->role == MT_R_TEXT) {
        if (!text_part(w, l, name, v))
            return 0;
    } else if (l->role == MT_R_POOL) {
        w->pool_ok &= l->n < 2 && (v.type == MT_T_INT || v.type == MT_T_UINT);
        if (w->pool_ok)
            w->pool[l->n] = v.u;
    } else if (!l->list) {
        mt_rec_set(&w->rec[l->role], key, v);
    }
    if (l->role == MT_R_RING ||
        ((l->role == MT_R_TOP || l->role == MT_R_SETTINGS) &&
         (key == MT_K_TRACE_ALLOC_MAX_ENTRIES || key == MT_K_TRACE_ALLOC_OVERFLOWED))) {
        bool per_device = l->role == MT_R_RING;
        if (!mt_build_ring(w->b, per_device ? (enum mt_key)l->key : key,
                           per_device ? (int32_t)(l->n & 0x7fffffff) : -1, v))
            return refused(w);
    }
    l->n++;
    return 1;
}

/* Whether the list at p begins with an object, as far as the window tells. */
static bool holds_objects(const struct mt_json *j)
{
    const unsigned char *p = j->p + 1;
    while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p < j->end && *p == '{';
}

/* The value at p of the innermost level. */
static int value(struct mt_json_walk *w, enum mt_key key, mt_str_id name)
{
    const uint64_t of_frame = UINT64_C(1) << MT_K_NAME | UINT64_C(1) << MT_K_FILENAME |
                              UINT64_C(1) << MT_K_FX_NODE_OP | UINT64_C(1) << MT_K_FX_NODE_NAME |
                              UINT64_C(1) << MT_K_FX_NODE_TARGET |
                              UINT64_C(1) << MT_K_FX_ORIGINAL_TRACE;
    struct mt_json_level *l = mt_json_top(w);
    int c = mt_json_space(&w->j);
    enum mt_schema_role role;
    mt_str_id path = 0;
    if (c != '[' && c != '{') {
        /* Strings nobody asks for may be long and all different: walk over them. */
        if (c == '"' && (key == MT_K_UNKNOWN || l->role == MT_R_FRAME) &&
            l->role != MT_R_SETTINGS && l->role != MT_R_POOL && l->role != MT_R_TEXT &&
            (of_frame >> key & 1) == 0)
            return skip_member(w);
        return scalar(w, l, key, name, c);
    }
    role = l->list ? mt_role_item((enum mt_schema_role)l->role)
                   : mt_role_value((enum mt_schema_role)l->role, key);
    if (c == '[' && l->role == MT_R_HOST_TRACES)
        role = MT_R_TRACE;
    if (c == '[' && role == MT_R_TEXT && holds_objects(&w->j))
        role = MT_R_FRAMES;
    if (c == '{' && role == MT_R_TEXT && key == MT_K_FORWARD_FRAMES)
        role = MT_R_SKIP;
    if (l->role == MT_R_FRAME || (l->list && l->role == MT_R_RING) ||
        !(c == '[' ? is_list_role(role) : is_dict_role(role)))
        role = MT_R_SKIP; /* also a list where a dict belongs, and the other way round */
    if (!l->list && is_stream_role(role) && role != MT_R_SETTINGS) {
        if (l->seen >> key & 1) {
            mt_trace_diag(w->t, MT_DIAG_DAMAGE, true, mt_json_offset(&w->j),
                          "the key \"%s\" comes twice in %s: the second was left out",
                          mt_key_name(key), mt_role_name((enum mt_schema_role)l->role));
            return skip_member(w);
        }
        l->seen |= UINT64_C(1) << key;
    }
    if (role == MT_R_FRAMES || role == MT_R_FRAME) {
        enum mt_json_known known =
            role == MT_R_FRAMES ? mt_json_open_stack(w, l, key) : mt_json_open_frame(w, l);
        if (known != MT_JSON_NEW)
            return known == MT_JSON_KNOWN;
        return role == MT_R_FRAMES ? open_level(w, role, true, key, 0, 0)
                                   : open_level(w, role, false, MT_K_UNKNOWN, 0, 0);
    }
    if (role == MT_R_SKIP) {
        struct mt_val v = {.type = MT_T_OTHER};
        if (l->role == MT_R_TEXT && !l->list && !text_part(w, l, name, v))
            return 0;
        w->pool_ok &= l->role != MT_R_POOL;
        if (key != MT_K_UNKNOWN)
            mt_rec_set(&w->rec[l->role], key, v);
        return skip_member(w);
    }
    if (role == MT_R_SETTINGS && l->role == MT_R_SETTINGS) {
        char buf[512];
        int n = l->path == 0
                    ? 0
                    : snprintf(buf, sizeof buf, "%s.%s", mt_str(w->t, l->path), mt_str(w->t, name));
        path = name;
        if (n < 0 || (size_t)n >= sizeof buf)
            return skip_member(w);
        if (n > 0 && !mt_build_str(w->b, buf, (size_t)n, &path))
            return refused(w);
    }
    w->j.p++;
    return open_level(w, role, c == '[', key, path, l->n);
}

/* ---- members ---- */

static void remember_key(struct mt_json_walk *w, enum mt_key key, const unsigned char *s, size_t n)
{
    size_t at = strlen(w->first_keys);
    char text[40];
    if (w->n_first_keys++ < 4)
        snprintf(w->first_keys + at, sizeof w->first_keys - at, "%s\"%s\"", at ? ", " : "",
                 mt_printable(text, sizeof text, s, n));
    if (key == MT_K_UNKNOWN) {
        w->is_chrome_trace |= n == 11 && memcmp(s, "traceEvents", 11) == 0;
        w->is_notebook |= n == 8 && memcmp(s, "nbformat", 8) == 0;
    }
}

/* Reads `, "key":` where the gap of last time did not match, and remembers it. Sets *done at the
 * end of the dict. */
static int key_slow(struct mt_json_walk *w, enum mt_key *key, mt_str_id *name, bool *done)
{
    struct mt_json *j = &w->j;
    struct mt_json_level *l = mt_json_top(w);
    uint64_t from = mt_json_offset(j), len;
    const unsigned char *s;
    size_t n;
    int c = mt_json_space(j);
    if (c == '}') {
        j->p++;
        *done = true;
        return close_level(w);
    }
    if (l->n > 0) {
        if (c != ',')
            return mt_json_expected(j, "',' or '}'");
        j->p++;
        c = mt_json_space(j);
    }
    if (c != '"')
        return mt_json_expected(j, "a key");
    if (!mt_json_string(j, &s, &n))
        return 0;
    *key = key_of(w, s, n);
    if (l->role == MT_R_TEXT)
        *key = MT_K_UNKNOWN; /* the job's own */
    if (l->role == MT_R_SETTINGS || l->role == MT_R_TEXT) {
        if (!intern(w, s, n, name))
            return 0;
    } else if (*key == MT_K_UNKNOWN) {
        if (!mt_build_unknown_key(w->b, s, n))
            return refused(w);
    }
    if (l->role == MT_R_TOP) {
        mt_build_saw_key(w->b, *key);
        if (*key != MT_K_UNKNOWN && *key < 32)
            w->top_keys |= UINT32_C(1) << *key;
    }
    if (w->lv.n <= (w->saw_bare_list ? 2U : 1U))
        remember_key(w, *key, s, n);
    if (mt_json_space(j) != ':')
        return mt_json_expected(j, "':'");
    j->p++;
    mt_json_space(j);
    len = mt_json_offset(j) - from;
    if (l->role != MT_R_SETTINGS && l->role != MT_R_TOP && *key != MT_K_UNKNOWN &&
        l->n < MT_JSON_GAPS && len <= MT_JSON_GAP && len <= (size_t)(j->p - j->src->buf)) {
        struct mt_json_gap *g = &w->gap[l->role][l->n];
        memcpy(g->text, j->p - len, len);
        g->len = (uint8_t)len;
        g->key = (uint8_t)*key;
    }
    return 1;
}

static int member(struct mt_json_walk *w)
{
    struct mt_json *j = &w->j;
    const struct mt_json_level *l = mt_json_top(w);
    enum mt_key key = MT_K_UNKNOWN;
    mt_str_id name = 0;
    bool done = false;
    if (l->n < MT_JSON_GAPS) {
        const struct mt_json_gap *g = &w->gap[l->role][l->n];
        if (g->len != 0 && j->end - j->p > g->len && memcmp(j->p, g->text, g->len) == 0) {
            j->p += g->len;
            return value(w, (enum mt_key)g->key, 0);
        }
    }
    if (!key_slow(w, &key, &name, &done))
        return 0;
    return done || value(w, key, name);
}

static int item(struct mt_json_walk *w)
{
    struct mt_json *j = &w->j;
    struct mt_json_level *l = mt_json_top(w);
    int c = mt_json_space(j);
    mt_str_id name = 0;
    if (c == ']') {
        j->p++;
        return close_level(w);
    }
    if (l->n > 0) {
        if (c != ',')
            return mt_json_expected(j, "',' or ']'");
        j->p++;
    }
    if (l->role == MT_R_SETTINGS) {
        char buf[24];
        int n = snprintf(buf, sizeof buf, "%llu", (unsigned long long)l->n);
        if (!mt_build_str(w->b, buf, n > 0 ? (size_t)n : 0, &name))
            return refused(w);
    }
    return value(w, MT_K_UNKNOWN, name);
}

int mt_json_walk(struct mt_json_walk *w)
{
    struct mt_json *j = &w->j;
    int c = mt_json_space(j);
    if (c != '{' && c != '[')
        return mt_json_expected(j, "'{' or '['");
    j->p++;
    if (c == '[') {
        w->saw_bare_list = true;
        mt_build_saw_bare_list(w->b);
    }
    if (!open_level(w, c == '[' ? MT_R_SEGMENTS : MT_R_TOP, c == '[', MT_K_UNKNOWN, 0, 0))
        return 0;
    while (w->lv.n > 0) {
        j->steps++;
        if (j->end - j->p < NEAR_END)
            mt_json_more(j, 8 * NEAR_END);
        if (!(mt_json_top(w)->list ? item(w) : member(w)))
            return 0;
        if (w->is_chrome_trace && !mt_build_is_snapshot(w->b))
            return mt_json_expected(j, "a memory snapshot");
    }
    return 1;
}
