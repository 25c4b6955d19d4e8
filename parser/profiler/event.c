/* profiler/event.c -- one event of a Chrome trace, whole in the window. The brackets are known to
 * match; nothing else is believed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "parser/profiler/event.h"
#include "parser/profiler/impl.h"

/* Passes any value. */
static bool skip(struct mt_pf *f, struct mt_pf_cursor *c)
{
    struct mt_pf_text unused;
    if (c->p >= c->end)
        return false;
    if (*c->p == '"')
        return MT_PF_READ(string, c, &unused);
    if (*c->p == '{' || *c->p == '[') {
        struct mt_json_scan st = {0, 0, 1, UINT32_MAX, false};
        const unsigned char *e = f->j.simd->any_end(&st, c->p + 1, c->end);
        if (e == NULL)
            return false;
        c->p = e;
        return true;
    }
    while (c->p < c->end && *c->p != ',' && *c->p != '}' && *c->p != ']')
        c->p++;
    return true;
}

static bool is(struct mt_pf_text s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static enum mt_pf_kind kind_of(struct mt_pf_text cat)
{
    if (is(cat, "cpu_op") || is(cat, "Operator"))
        return MT_PF_K_OP;
    if (is(cat, "python_function"))
        return MT_PF_K_PYTHON;
    if (is(cat, "user_annotation"))
        return MT_PF_K_ANNOTATION;
    return is(cat, "cpu_instant_event") ? MT_PF_K_INSTANT : MT_PF_K_OTHER;
}

/* The next member of an object: its key, with p at the value. 0 = the end, -1 = cannot be read. */
static int member(struct mt_pf_cursor *c, struct mt_pf_text *key)
{
    mt_pf_space(c);
    if (c->p < c->end && *c->p == ',') {
        c->p++;
        mt_pf_space(c);
    }
    if (c->p >= c->end || *c->p == '}')
        return 0;
    if (*c->p != '"' || !MT_PF_READ(string, c, key))
        return -1;
    mt_pf_space(c);
    if (c->p >= c->end || *c->p != ':')
        return -1;
    c->p++;
    mt_pf_space(c);
    return c->p < c->end ? 1 : -1;
}

enum field { F_OTHER, F_PH, F_CAT, F_NAME, F_TS, F_DUR, F_PID, F_TID, F_ARGS };

static enum field field_of(struct mt_pf_text key)
{
    switch (key.n) {
    case 2: return is(key, "ph") ? F_PH : is(key, "ts") ? F_TS : F_OTHER;
    case 3:
        return is(key, "tid")   ? F_TID
               : is(key, "cat") ? F_CAT
               : is(key, "pid") ? F_PID
               : is(key, "dur") ? F_DUR
                                : F_OTHER;
    case 4: return is(key, "name") ? F_NAME : is(key, "args") ? F_ARGS : F_OTHER;
    default: return F_OTHER;
    }
}

/* A member of text. */
static bool text(struct mt_pf_cursor *c, struct mt_pf_text *s)
{
    return *c->p == '"' && MT_PF_READ(string, c, s);
}

/* 1 = of interest, 0 = not, -1 = cannot be read. */
static int by_members(struct mt_pf *f, struct mt_pf_cursor *c, struct mt_pf_event *e)
{
    struct mt_pf_text key, s;
    int r;
    *e = (struct mt_pf_event){.ph = '\0'};
    while ((r = member(c, &key)) > 0) {
        struct mt_pf_cursor at = *c;
        bool ok = true;
        switch (field_of(key)) {
        case F_PH:
            ok = text(c, &s);
            e->ph = ok && s.n == 1 ? (char)*s.p : '\0';
            if (ok && e->ph != 'X' && e->ph != 'i' && e->ph != 'I')
                return 0;
            break;
        case F_CAT:
            ok = text(c, &s);
            if (ok && (e->kind = kind_of(s)) == MT_PF_K_OTHER)
                return 0;
            e->old_op = ok && e->kind == MT_PF_K_OP && s.p[0] == 'O';
            break;
        case F_NAME: ok = text(c, &e->name); break;
        case F_TS: ok = e->has_ts = MT_PF_READ(micros, c, &e->ts); break;
        case F_DUR: ok = MT_PF_READ(micros, c, &e->dur); break;
        case F_TID:
            e->has_tid = MT_PF_READ(integer, c, &e->tid);
            if (!e->has_tid) { /* "PyTorch Profiler" */
                *c = at;
                ok = skip(f, c);
            }
            break;
        case F_PID:
            if (mt_pf_integer(c->p, c->end, &e->pid) == NULL || e->pid < 0)
                e->pid = 0; /* "Spans" */
            ok = skip(f, c);
            break;
        case F_ARGS:
            e->args = (struct mt_pf_text){at.p, (size_t)(c->end - at.p)};
            if (e->ph != '\0' && e->name.n != 0 && e->has_ts && e->has_tid)
                return 1; /* as PyTorch writes it: nothing follows */
            ok = skip(f, c);
            break;
        case F_OTHER: ok = skip(f, c); break;
        }
        if (!ok)
            return -1;
    }
    return r < 0 ? -1 : 1;
}

enum arg { A_OTHER, A_BYTES, A_TYPE, A_ID, A_ADDR, A_ALLOCATED, A_RESERVED };

static enum arg arg_of(struct mt_pf_text key)
{
    switch (key.n) {
    case 4: return is(key, "Addr") ? A_ADDR : A_OTHER;
    case 5: return is(key, "Bytes") ? A_BYTES : A_OTHER;
    case 9: return is(key, "Device Id") ? A_ID : A_OTHER;
    case 11: return is(key, "Device Type") ? A_TYPE : A_OTHER;
    case 14: return is(key, "Total Reserved") ? A_RESERVED : A_OTHER;
    case 15: return is(key, "Total Allocated") ? A_ALLOCATED : A_OTHER;
    default: return A_OTHER;
    }
}

static const struct mt_pf_said nothing = {.type = 1, .allocated = -1, .reserved = -1};

static bool args_by_members(struct mt_pf *f, struct mt_pf_cursor *c, struct mt_pf_said *s)
{
    struct mt_pf_text key;
    int r;
    c->p++;
    while ((r = member(c, &key)) > 0) {
        bool ok = true;
        switch (arg_of(key)) {
        case A_BYTES: ok = s->has_bytes = MT_PF_READ(integer, c, &s->bytes); break;
        case A_TYPE: ok = MT_PF_READ(integer, c, &s->type); break;
        case A_ID: ok = MT_PF_READ(integer, c, &s->id); break;
        case A_ALLOCATED: ok = MT_PF_READ(integer, c, &s->allocated); break;
        case A_RESERVED: ok = MT_PF_READ(integer, c, &s->reserved); break;
        case A_ADDR: ok = s->has_addr = MT_PF_READ(address, c, &s->addr); break;
        case A_OTHER: ok = skip(f, c); break;
        }
        if (!ok)
            return false;
    }
    return r == 0;
}

static bool memory_args(struct mt_pf *f, struct mt_pf_event *e)
{
    struct mt_pf_cursor c;
    if (e->has_said)
        return true;
    e->said = nothing;
    if (!e->has_ts || e->args.n < 2 || e->args.p[0] != '{')
        return false;
    c = (struct mt_pf_cursor){e->args.p, e->args.p + e->args.n};
    if (!mt_pf_written_args(&c, &e->said)) {
        e->said = nothing;
        c.p = e->args.p;
        if (!args_by_members(f, &c, &e->said))
            return false;
    }
    return e->said.has_bytes;
}

static int memory(struct mt_pf *f, struct mt_pf_event *e, bool is_oom)
{
    const int64_t most = INT64_C(1) << 60; /* more than any memory has */
    const struct mt_pf_said *s = &e->said;
    struct mt_pf_mem m;
    unsigned flags = is_oom ? MT_PF_OOM : 0;
    uint32_t thread;
    int device;
    bool is_read = memory_args(f, e);
    bool has_totals = is_read && s->allocated >= 0 && s->reserved >= 0;
    if (!is_read || s->bytes > most || s->bytes < -most ||
        (has_totals && (s->allocated > most || s->reserved > most))) {
        f->n_bad++;
        return 1;
    }
    if (f->pid < 0)
        f->pid = e->pid;
    if (f->pid != e->pid) {
        f->n_other_process++;
        return 1;
    }
    device = s->type == 0 ? -1 : s->id >= 0 && s->id < 1024 ? (int)s->id : 0;
    f->n_cpu += device < 0;
    f->has_device = f->has_device || device >= 0;
    if (s->bytes == 0)
        return 1;
    if (f->n_mem >= f->lim->max_events)
        return mt_json_stop(&f->j, MT_ELIMIT, "more than %llu memory events (raise --max-events)",
                            (unsigned long long)f->lim->max_events);
    thread = mt_pf_thread(f, (uint64_t)e->tid);
    flags |= s->has_addr ? MT_PF_ADDR : 0;
    flags |= has_totals ? MT_PF_TOTALS : 0;
    m = (struct mt_pf_mem){
        .ts = e->ts,
        .addr = s->addr,
        .allocated = has_totals ? (uint64_t)s->allocated : 0,
        .reserved = has_totals ? (uint64_t)s->reserved : 0,
        .bytes = s->bytes,
        .where = mt_pf_where(thread, device, flags),
    };
    return f->j.fail == MT_JF_NONE && mt_pf_mem_put(f, &m);
}

/* "\"" and "\\" as they were; \u only where it is ASCII. Names hardly ever have escapes. */
static struct mt_pf_text plain(struct mt_pf_text s, unsigned char *buf, size_t cap)
{
    size_t n = 0;
    if (s.n == 0 || memchr(s.p, '\\', s.n) == NULL)
        return s;
    for (size_t i = 0; i < s.n && n < cap; i++) {
        unsigned char c = s.p[i];
        if (c == '\\' && i + 1 < s.n) {
            c = s.p[++i];
            c = c == 'n' || c == 't' || c == 'r' ? ' ' : c;
        }
        buf[n++] = c;
    }
    return (struct mt_pf_text){buf, n};
}

static int annotation(struct mt_pf *f, const struct mt_pf_event *e, struct mt_pf_text name)
{
    struct mt_pf_range *r;
    if (f->ranges.n >= f->lim->max_events)
        return 1;
    if ((r = MT_VEC_PUSH(&f->ranges)) == NULL)
        return mt_pf_nomem(f);
    r->ts = e->ts;
    r->end = e->ts + e->dur;
    return mt_build_str(f->b, name.p, name.n, &r->name) || mt_pf_refused(f);
}

/* Where "Call stack" stands among the arguments of an operator; NULL = nowhere. */
static const unsigned char *call_stack(struct mt_pf_text args)
{
    static const char key[] = "\"Call stack\":";
    return args.n == 0 || memchr(args.p, 'C', args.n) == NULL
               ? NULL
               : memmem(args.p, args.n, key, sizeof key - 1);
}

/* name, outer: of the event, without escapes */
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
static inline int
slice(struct mt_pf *f, const struct mt_pf_event *e, struct mt_pf_text name, struct mt_pf_text outer)
{
    uint32_t thread;
    if (!e->has_ts || !e->has_tid || e->dur < 0 || name.n == 0) {
        f->n_bad++;
        return 1;
    }
    if (e->kind == MT_PF_K_ANNOTATION || (e->old_op && memchr(name.p, '#', name.n) != NULL))
        return annotation(f, e, name);
    f->has_python = f->has_python || e->kind == MT_PF_K_PYTHON;
    f->has_cpu_op = f->has_cpu_op || e->kind == MT_PF_K_OP;
    thread = mt_pf_thread(f, (uint64_t)e->tid);
    if (thread == MT_PF_NO_THREAD)
        return f->j.fail == MT_JF_NONE;
    return mt_pf_slice(f, thread, e->ts, e->dur, name, e->kind == MT_PF_K_PYTHON, outer);
}

/* stack: where "Call stack" stands, or NULL */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static int
with_escapes(struct mt_pf *f, const struct mt_pf_event *e, const unsigned char *stack)
{
    unsigned char a[1024], b[16384];
    struct mt_pf_text outer = {NULL, 0};
    struct mt_pf_cursor c = {stack, stack != NULL ? e->args.p + e->args.n : NULL};
    if (stack != NULL) {
        c.p += sizeof "\"Call stack\":" - 1;
        mt_pf_space(&c);
        if (c.p < c.end && *c.p == '"' && MT_PF_READ(string, &c, &outer))
            outer = plain(outer, b, sizeof b);
    }
    return slice(f, e, plain(e->name, a, sizeof a), outer);
}

/* An operator, a Python function or an annotation. */
static int any_slice(struct mt_pf *f, const struct mt_pf_event *e)
{
    const unsigned char *stack =
        e->kind == MT_PF_K_OP && !f->has_python ? call_stack(e->args) : NULL;
    return e->is_plain && stack == NULL ? slice(f, e, e->name, (struct mt_pf_text){NULL, 0})
                                        : with_escapes(f, e, stack);
}

static int take(struct mt_pf *f, struct mt_pf_event *e)
{
    if (e->has_said)
        return memory(f, e, false);
    if (e->ph == 'X')
        return e->kind == MT_PF_K_OP || e->kind == MT_PF_K_PYTHON || e->kind == MT_PF_K_ANNOTATION
                   ? any_slice(f, e)
                   : 1;
    if (e->ph != '\0' && (e->kind == MT_PF_K_INSTANT || e->kind == MT_PF_K_UNKNOWN)) {
        bool is_oom = is(e->name, "[OutOfMemory]");
        if (is_oom || is(e->name, "[memory]"))
            return memory(f, e, is_oom);
    }
    return 1;
}

/* r: what mt_pf_written() said of it. */
static int known(struct mt_pf *f, const unsigned char *p, const unsigned char *end, int r,
                 struct mt_pf_event *e)
{
    struct mt_pf_cursor c = {p + 1, end};
    if (r < 0)
        r = by_members(f, &c, e);
    f->n_events++;
    f->n_bad += r < 0;
    return r <= 0 || take(f, e);
}

int mt_pf_event(struct mt_pf *f, const unsigned char *p, const unsigned char *end)
{
    const unsigned char *unused;
    struct mt_pf_event e;
    return known(f, p, end, mt_pf_written(p, end, &f->before, &e, &unused), &e);
}

int mt_pf_next(struct mt_pf *f, const unsigned char *p, const unsigned char *end,
               const unsigned char **behind)
{
    struct mt_pf_event e;
    int r = mt_pf_written(p, end, &f->before, &e, behind);
    return *behind == NULL || known(f, p, *behind, r, &e);
}
