/* profiler/event.c -- one event of a Chrome trace, whole in the window. The brackets are known to
 * match; nothing else is believed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "parser/profiler/impl.h"

#include "parser/base/num.h"

#include <string.h>

struct cursor {
    const unsigned char *p, *end;
};

enum kind { K_UNKNOWN, K_OP, K_PYTHON, K_ANNOTATION, K_INSTANT, K_OTHER };

/* What an event says of itself. */
struct event {
    char ph;
    enum kind kind;
    bool old_op; /* "Operator", before 1.11: user annotations are among them */
    struct mt_pf_text name, args;
    int64_t ts, dur, tid;
    bool has_ts, has_tid;
    struct cursor pid; /* at its value; p NULL = there is none */
};

/* Behind the end of an event comes the window's margin, so whole vectors may be loaded. */
static inline void space(struct cursor *c)
{
    if (c->p >= c->end || *c->p > ' ')
        return;
#if defined(__x86_64__) && defined(__GNUC__)
    for (const __m128i blank = _mm_set1_epi8(' '); c->p < c->end; c->p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)c->p);
        unsigned m = (unsigned)_mm_movemask_epi8(_mm_cmpgt_epi8(v, blank));
        if (m != 0) {
            c->p += __builtin_ctz(m);
            break;
        }
    }
    c->p = c->p < c->end ? c->p : c->end;
#else
    while (c->p < c->end && *c->p <= ' ')
        c->p++;
#endif
}

/* p at the opening quote; text without the quotes, escapes as they are. */
static bool string(struct cursor *c, struct mt_pf_text *s)
{
    const unsigned char *p = c->p + 1;
    s->p = p;
    while ((p = mt_json_quote(p, c->end)) < c->end && *p == '\\')
        p += 2;
    if (p >= c->end)
        return false;
    s->n = (size_t)(p - s->p);
    c->p = p + 1;
    return true;
}

static bool is_digit(unsigned c) { return c - '0' < 10; }

/* Eight digits at once; false = they are not all digits. Behind the window comes its margin. */
static inline bool eight_digits(const unsigned char *p, uint64_t *v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), six = UINT64_C(0x0606060606060606);
    uint64_t w;
    memcpy(&w, p, sizeof w);
    if (((w & high) | ((w + six) & high) >> 4) != UINT64_C(0x3333333333333333))
        return false;
    w = (w & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8; /* pairs: 10 * first + second */
    w = (w & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    *v = (w & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
    return true;
#else
    (void)p;
    (void)v;
    return false;
#endif
}

/* A number or a number in quotes (threads of 2021), rounded towards zero. */
static inline bool integer(struct cursor *c, int64_t *v)
{
    bool quoted = c->p < c->end && *c->p == '"', negative;
    uint64_t u = 0;
    const unsigned char *from;
    c->p += quoted;
    negative = c->p < c->end && *c->p == '-';
    c->p += negative;
    from = c->p;
    if (c->end - c->p > 8 && eight_digits(c->p, &u))
        c->p += 8;
    for (; c->p < c->end && is_digit(*c->p) && c->p - from < 19; c->p++)
        u = u * 10 + (*c->p - (unsigned)'0');
    if (c->p == from || u > INT64_MAX || (c->p < c->end && is_digit(*c->p)))
        return false;
    *v = negative ? -(int64_t)u : (int64_t)u;
    while (c->p < c->end && (is_digit(*c->p) || *c->p == '.')) /* a fraction of no meaning here */
        c->p++;
    if (quoted)
        c->p += c->p < c->end && *c->p == '"';
    return true;
}

/* Unsigned, of 64 bits: addresses. */
static bool address(struct cursor *c, uint64_t *v)
{
    const unsigned char *from = c->p;
    uint64_t u = 0;
    for (; c->p < c->end && is_digit(*c->p); c->p++)
        if (__builtin_mul_overflow(u, 10, &u) ||
            __builtin_add_overflow(u, *c->p - (unsigned)'0', &u))
            return false;
    *v = u;
    return c->p != from;
}

/* Microseconds with a fraction, as nanoseconds. */
static inline bool micros(struct cursor *c, int64_t *ns)
{
    const int64_t most = INT64_MAX / 4;
    const unsigned char *from = c->p, *digits;
    bool negative = c->p < c->end && *c->p == '-';
    uint64_t u = 0, part = 0, unit = 100;
    c->p += negative;
    digits = c->p;
    if (c->end - c->p > 8 && eight_digits(c->p, &u))
        c->p += 8;
    for (; c->p < c->end && is_digit(*c->p) && c->p - digits < 18; c->p++)
        u = u * 10 + (*c->p - (unsigned)'0');
    if (c->p == digits)
        return false;
    if (c->p < c->end && *c->p == '.')
        for (c->p++; c->p < c->end && is_digit(*c->p); c->p++, unit /= 10)
            part += (*c->p - (unsigned)'0') * unit;
    if (c->p < c->end && (*c->p | 32) == 'e') { /* as a tool wrote it that knows doubles only */
        double d;
        for (c->p++; c->p < c->end && (is_digit(*c->p) || *c->p == '-' || *c->p == '+'); c->p++)
            ;
        d = mt_num_double(from, (size_t)(c->p - from)) * 1000;
        if (!(d > -(double)most && d < (double)most))
            return false;
        *ns = (int64_t)d;
        return true;
    }
    if (u > (uint64_t)most / 1000)
        return false;
    u = u * 1000 + part;
    *ns = negative ? -(int64_t)u : (int64_t)u;
    return true;
}

/* Passes any value. */
static bool skip(struct mt_pf *f, struct cursor *c)
{
    struct mt_pf_text unused;
    if (c->p >= c->end)
        return false;
    if (*c->p == '"')
        return string(c, &unused);
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

static enum kind kind_of(struct mt_pf_text cat)
{
    if (is(cat, "cpu_op") || is(cat, "Operator"))
        return K_OP;
    if (is(cat, "python_function"))
        return K_PYTHON;
    if (is(cat, "user_annotation"))
        return K_ANNOTATION;
    return is(cat, "cpu_instant_event") ? K_INSTANT : K_OTHER;
}

/* The next member of an object: its key, with p at the value. 0 = the end, -1 = cannot be read. */
static int member(struct cursor *c, struct mt_pf_text *key)
{
    space(c);
    if (c->p < c->end && *c->p == ',') {
        c->p++;
        space(c);
    }
    if (c->p >= c->end || *c->p == '}')
        return 0;
    if (*c->p != '"' || !string(c, key))
        return -1;
    space(c);
    if (c->p >= c->end || *c->p != ':')
        return -1;
    c->p++;
    space(c);
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
static bool text(struct cursor *c, struct mt_pf_text *s) { return *c->p == '"' && string(c, s); }

/* Passes `word`, where it stands there. */
#define PASS(c, word)                                                                              \
    ((size_t)((c)->end - (c)->p) >= sizeof(word) - 1 &&                                            \
     memcmp((c)->p, word, sizeof(word) - 1) == 0 && ((c)->p += sizeof(word) - 1, true))

/* A category of interest, and its quote. */
static enum kind category(struct cursor *c)
{
    return PASS(c, "cpu_op\"") || PASS(c, "Operator\"") ? K_OP
           : PASS(c, "python_function\"")               ? K_PYTHON
           : PASS(c, "user_annotation\"")               ? K_ANNOTATION
           : PASS(c, "cpu_instant_event\"")             ? K_INSTANT
                                                        : K_OTHER;
}

/* An event byte for byte as libkineto lays it out, members in its order: nearly all of them. 1 and
 * 0 as header(); -1 = it is laid out in another way. */
static int as_written(struct cursor *c, struct event *e)
{
    if (!PASS(c, "\n    \"ph\": \"") || c->end - c->p < 2)
        return -1;
    e->ph = (char)*c->p++;
    if (e->ph != 'X' && e->ph != 'i')
        return e->ph == 's' || e->ph == 'f' || e->ph == 'M' ? 0 : -1;
    if (!PASS(c, "\", \"cat\": \""))
        return -1;
    e->old_op = c->p < c->end && *c->p == 'O';
    if ((e->kind = category(c)) == K_OTHER)
        return 0;
    if (e->ph == 'i' && !PASS(c, ", \"s\": \"t\""))
        return -1;
    if (!PASS(c, ", \"name\": ") || *c->p != '"' || !string(c, &e->name) || e->name.n == 0 ||
        !(e->ph == 'i' ? PASS(c, ",\n    \"pid\": ") : PASS(c, ", \"pid\": ")))
        return -1;
    e->pid = *c;
    while (c->p < c->end && is_digit(*c->p))
        c->p++;
    if (!PASS(c, ", \"tid\": ") || !is_digit(*c->p) || !(e->has_tid = integer(c, &e->tid)) ||
        !PASS(c, ",\n    \"ts\": ") || !(e->has_ts = micros(c, &e->ts)) ||
        (e->ph == 'X' && !(PASS(c, ", \"dur\": ") && micros(c, &e->dur))) ||
        !PASS(c, ",\n    \"args\": "))
        return -1;
    e->args = (struct mt_pf_text){c->p, (size_t)(c->end - c->p)};
    return 1;
}

/* 1 = of interest, 0 = not, -1 = cannot be read. */
static int header(struct mt_pf *f, struct cursor *c, struct event *e)
{
    const struct cursor begin = *c;
    struct mt_pf_text key, s;
    int r = as_written(c, e);
    if (r >= 0)
        return r;
    *c = begin;
    *e = (struct event){.ph = '\0'};
    while ((r = member(c, &key)) > 0) {
        struct cursor at = *c;
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
            if (ok && (e->kind = kind_of(s)) == K_OTHER)
                return 0;
            e->old_op = ok && e->kind == K_OP && s.p[0] == 'O';
            break;
        case F_NAME: ok = text(c, &e->name); break;
        case F_TS: ok = e->has_ts = micros(c, &e->ts); break;
        case F_DUR: ok = micros(c, &e->dur); break;
        case F_TID:
            e->has_tid = integer(c, &e->tid);
            if (!e->has_tid) { /* "PyTorch Profiler" */
                *c = at;
                ok = skip(f, c);
            }
            break;
        case F_PID:
            e->pid = at;
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

/* What the arguments of a memory event say. PyTorch's numbers of kinds of devices,
 * c10/core/DeviceType.h: 0 is the CPU. */
struct said {
    int64_t bytes, type, id, allocated, reserved;
    uint64_t addr;
    bool has_bytes, has_addr;
};
static const struct said nothing = {.type = 1, .allocated = -1, .reserved = -1};

/* As libkineto writes them: names and numbers on one line, in any order. */
static bool args_as_written(struct cursor *c, struct said *s)
{
    int64_t unused;
    if (!PASS(c, "{\n      "))
        return false;
    while (c->end - c->p > 2) {
        bool ok;
        switch (c->p[1]) {
        case 'T':
            ok = PASS(c, "\"Total Reserved\": ")    ? integer(c, &s->reserved)
                 : PASS(c, "\"Total Allocated\": ") ? integer(c, &s->allocated)
                                                    : false;
            break;
        case 'D':
            ok = PASS(c, "\"Device Id\": ")     ? integer(c, &s->id)
                 : PASS(c, "\"Device Type\": ") ? integer(c, &s->type)
                                                : false;
            break;
        case 'B': ok = s->has_bytes = PASS(c, "\"Bytes\": ") && integer(c, &s->bytes); break;
        case 'A': ok = s->has_addr = PASS(c, "\"Addr\": ") && address(c, &s->addr); break;
        case 'E': ok = PASS(c, "\"Ev Idx\": ") && integer(c, &unused); break;
        default: return false;
        }
        if (!ok || c->p >= c->end)
            return false;
        if (*c->p != ',')
            return *c->p == '\n' || *c->p == '}';
        c->p += 1 + (c->end - c->p > 1 && c->p[1] == ' ');
    }
    return false;
}

static bool args_by_members(struct mt_pf *f, struct cursor *c, struct said *s)
{
    struct mt_pf_text key;
    int r;
    c->p++;
    while ((r = member(c, &key)) > 0) {
        bool ok = true;
        switch (arg_of(key)) {
        case A_BYTES: ok = s->has_bytes = integer(c, &s->bytes); break;
        case A_TYPE: ok = integer(c, &s->type); break;
        case A_ID: ok = integer(c, &s->id); break;
        case A_ALLOCATED: ok = integer(c, &s->allocated); break;
        case A_RESERVED: ok = integer(c, &s->reserved); break;
        case A_ADDR: ok = s->has_addr = address(c, &s->addr); break;
        case A_OTHER: ok = skip(f, c); break;
        }
        if (!ok)
            return false;
    }
    return r == 0;
}

static int memory_args(struct mt_pf *f, const struct event *e, struct mt_pf_mem *m)
{
    struct cursor c = {e->args.p, e->args.p + e->args.n};
    struct said s = nothing;
    if (!args_as_written(&c, &s)) {
        s = nothing;
        c.p = e->args.p;
        if (!args_by_members(f, &c, &s))
            return 0;
    }
    if (!s.has_bytes)
        return 0;
    m->bytes = s.bytes;
    m->addr = s.addr;
    m->flags |= s.has_addr ? MT_PF_ADDR : 0;
    m->device = s.type == 0 ? -1 : s.id >= 0 && s.id < 1024 ? (int16_t)s.id : 0;
    if (s.allocated >= 0 && s.reserved >= 0) {
        m->flags |= MT_PF_TOTALS;
        m->allocated = (uint64_t)s.allocated;
        m->reserved = (uint64_t)s.reserved;
    }
    return 1;
}

static int memory(struct mt_pf *f, const struct event *e, bool is_oom)
{
    const int64_t most = INT64_C(1) << 60; /* more than any memory has */
    struct mt_pf_mem m = {.ts = e->ts};
    struct cursor pid_at = e->pid;
    int64_t pid = 0;
    if (!e->has_ts || e->args.n < 2 || e->args.p[0] != '{' || !memory_args(f, e, &m) ||
        m.bytes > most || m.bytes < -most || m.allocated > (uint64_t)most ||
        m.reserved > (uint64_t)most) {
        f->n_bad++;
        return 1;
    }
    if (e->pid.p == NULL || !integer(&pid_at, &pid) || pid < 0)
        pid = 0;
    if (f->pid < 0)
        f->pid = pid;
    if (f->pid != pid) {
        f->n_other_process++;
        return 1;
    }
    m.flags |= is_oom ? MT_PF_OOM : 0;
    f->n_cpu += m.device < 0;
    f->has_device = f->has_device || m.device >= 0;
    if (m.bytes == 0)
        return 1;
    if (f->n_mem >= f->lim->max_events)
        return mt_json_stop(&f->j, MT_ELIMIT, "more than %llu memory events (raise --max-events)",
                            (unsigned long long)f->lim->max_events);
    m.thread = mt_pf_thread(f, (uint64_t)e->tid);
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

static int annotation(struct mt_pf *f, const struct event *e, struct mt_pf_text name)
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

static int slice(struct mt_pf *f, const struct event *e)
{
    static const char stack_key[] = "\"Call stack\":";
    unsigned char a[1024], b[16384];
    struct mt_pf_text name = plain(e->name, a, sizeof a), outer = {NULL, 0};
    uint32_t thread;
    if (!e->has_ts || !e->has_tid || e->dur < 0 || name.n == 0) {
        f->n_bad++;
        return 1;
    }
    if (e->kind == K_ANNOTATION || (e->old_op && memchr(name.p, '#', name.n) != NULL))
        return annotation(f, e, name);
    f->has_python = f->has_python || e->kind == K_PYTHON;
    f->has_cpu_op = f->has_cpu_op || e->kind == K_OP;
    if (e->kind == K_OP && !f->has_python && e->args.n != 0) {
        const unsigned char *at =
            memchr(e->args.p, 'C', e->args.n) == NULL
                ? NULL
                : memmem(e->args.p, e->args.n, stack_key, sizeof stack_key - 1);
        struct cursor c = {at, e->args.p + e->args.n};
        if (at != NULL) {
            c.p += sizeof stack_key - 1;
            space(&c);
            if (c.p < c.end && *c.p == '"' && string(&c, &outer))
                outer = plain(outer, b, sizeof b);
        }
    }
    thread = mt_pf_thread(f, (uint64_t)e->tid);
    if (thread == MT_PF_NO_THREAD)
        return f->j.fail == MT_JF_NONE;
    return mt_pf_slice(f, thread, e->ts, e->dur, name, e->kind == K_PYTHON, outer);
}

int mt_pf_event(struct mt_pf *f, const unsigned char *p, const unsigned char *end)
{
    struct cursor c = {p + 1, end};
    struct event e = {.ph = '\0'};
    int r = header(f, &c, &e);
    f->n_events++;
    if (r <= 0) {
        f->n_bad += r < 0;
        return 1;
    }
    if (e.ph == 'X')
        return e.kind == K_OP || e.kind == K_PYTHON || e.kind == K_ANNOTATION ? slice(f, &e) : 1;
    if (e.ph != '\0' && (e.kind == K_INSTANT || e.kind == K_UNKNOWN)) {
        bool is_oom = is(e.name, "[OutOfMemory]");
        if (is_oom || is(e.name, "[memory]"))
            return memory(f, &e, is_oom);
    }
    return 1;
}
