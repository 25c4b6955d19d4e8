/* profiler/written.c -- an event byte for byte as libkineto lays it out. Where it ends is looked
 * for from where its reading stopped, so every byte is looked at once. */
#include "parser/profiler/event.h"

/* What is passed without a look for the end of the window: so many bytes are left in it. */
enum { MOST = 512, LONGEST = 40 /* of a time */ };
#define STANDS(p, word) mt_pf_same(p, word, sizeof(word) - 1)
#define PASS(p, word) (STANDS(p, word) && ((p) += sizeof(word) - 1, true))

/* What is behind an event of which p stands before its arguments: they are one object, or there are
 * none, and no other bracket is left, not even in a string. NULL = it is not so. No string has a
 * newline, so the last brackets are outside of strings. */
static const unsigned char *last(const unsigned char *begin, const unsigned char *p,
                                 const unsigned char *end)
{
    static const char both[] = "\n    }\n  }", only[] = "\n  }";
    const unsigned char *b = mt_pf_bracket(p, end);
    if (end - b < 5 || b - begin < 6)
        return NULL;
    if (*b == '}')
        return STANDS(b - 3, only) ? b + 1 : NULL;
    if (*b != '{')
        return NULL;
    b = mt_pf_bracket(b + 1, end);
    return end - b >= 5 && *b == '}' && STANDS(b - 5, both) ? b + 5 : NULL;
}

/* Of no interest: passes its category and name, if they stand there; names of kernels have brackets
 * ("{lambda(int)#1}"). p at the category. */
static const unsigned char *pass_name(const unsigned char *p, const unsigned char *end)
{
    struct mt_pf_cursor at = {p - 1, end};
    struct mt_pf_text unused;
    if (MT_PF_READ(string, &at, &unused) && MT_PF_PASS(&at, ", \"name\": \"")) {
        at.p--;
        if (MT_PF_READ(string, &at, &unused))
            return at.p;
    }
    return p;
}

/* The numbers of process and thread, p at the first one, to the time. They are those of the event
 * before, nearly always. NULL = it is not so. */
static inline const unsigned char *place(const unsigned char *p, struct mt_pf_before *b)
{
    const unsigned char *from = p;
    uint64_t pid, tid;
    unsigned n;
    if (b->n_place != 0 && mt_pf_same(p, b->place, b->n_place))
        return p + b->n_place;
    n = mt_pf_number(p, &pid);
    p += n;
    if (n == 0 || n == 16 || !PASS(p, ", \"tid\": "))
        return NULL;
    n = mt_pf_number(p, &tid);
    p += n;
    if (n == 0 || n == 16 || !PASS(p, ",\n    \"ts\": "))
        return NULL;
    b->n_place = (unsigned)(p - from); /* up to 51 */
    memcpy(b->place, from, b->n_place);
    b->pid = (int64_t)pid;
    b->tid = (int64_t)tid;
    return p;
}

#if defined(__GNUC__)
__attribute__((noinline))
#endif
static const unsigned char *
other_micros(const unsigned char *p, int64_t *ns)
{
    const unsigned char *behind = mt_pf_micros(p, p + LONGEST, ns);
    return behind != NULL && behind != p + LONGEST ? behind : NULL;
}

/* A time or a length, as nanoseconds. */
static inline const unsigned char *micros(const unsigned char *p, int64_t *ns)
{
    const unsigned char *behind = mt_pf_three_decimals(p, ns);
    return behind != NULL ? behind : other_micros(p, ns);
}

/* A number that `word` stands before. */
#define NUMBER(p, word, to) (PASS(p, word) && (n = mt_pf_number(p, to)) != 0 && n < 16 && (p += n))

/* The same, mostly of one digit. */
#define SHORT(p, word, to)                                                                         \
    (PASS(p, word) && mt_pf_is_digit(*(p)) && (p)[1] == ','                                        \
         ? (*(to) = (uint64_t) * (p)++ - '0', true)                                                \
         : NUMBER(p, "", to))

static inline void is_at(struct mt_pf_event *e, const struct mt_pf_before *b)
{
    e->has_ts = e->has_tid = true;
    e->pid = b->pid;
    e->tid = b->tid;
}

/* What a memory event is from its category on. What is behind it, or NULL. */
static const unsigned char *memory(const unsigned char *p, struct mt_pf_before *b,
                                   struct mt_pf_event *e)
{
    uint64_t reserved, allocated, bytes, addr, id, type;
    bool is_free;
    unsigned n;
    if (!PASS(p, "cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": "))
        return NULL;
    if ((p = place(p, b)) == NULL || (p = micros(p, &e->ts)) == NULL ||
        !NUMBER(p, ",\n    \"args\": {\n      \"Total Reserved\": ", &reserved) ||
        !NUMBER(p, ", \"Total Allocated\": ", &allocated) || !PASS(p, ", \"Bytes\": "))
        return NULL;
    is_free = *p == '-';
    p += is_free;
    n = mt_pf_number(p, &bytes);
    p += n;
    if (n == 0 || n == 16 || !NUMBER(p, ", \"Addr\": ", &addr) ||
        !SHORT(p, ", \"Device Id\": ", &id) || !SHORT(p, ", \"Device Type\": ", &type) ||
        !PASS(p, ", \"Ev Idx\": ") || (n = mt_pf_n_digits(p)) == 0)
        return NULL;
    p += n;
    if (!PASS(p, "\n    }\n  }"))
        return NULL;
    e->said = (struct mt_pf_said){
        .bytes = is_free ? -(int64_t)bytes : (int64_t)bytes,
        .type = (int64_t)type,
        .id = (int64_t)id,
        .allocated = (int64_t)allocated,
        .reserved = (int64_t)reserved,
        .addr = addr,
        .has_bytes = true,
        .has_addr = true,
    };
    is_at(e, b);
    e->has_said = true;
    return p;
}

/* The name and what is behind it up to the arguments, p at its quote. NULL = it is not so. */
static const unsigned char *described(const unsigned char *p, const unsigned char *end, char ph,
                                      struct mt_pf_before *b, struct mt_pf_event *e)
{
    const unsigned char *from = ++p;
    p = mt_pf_quote(p, end);
    e->is_plain = end - p >= MOST && *p == '"';
    while (p < end && *p == '\\')
        p = mt_pf_quote(p + 2, end);
    if (p == from || p >= end || end - p < MOST)
        return NULL;
    e->name = (struct mt_pf_text){from, (size_t)(p - from)};
    p++;
    if (!(ph == 'i' ? PASS(p, ",\n    \"pid\": ") : PASS(p, ", \"pid\": ")) ||
        (p = place(p, b)) == NULL || (p = micros(p, &e->ts)) == NULL ||
        (ph == 'X' && !(PASS(p, ", \"dur\": ") && (p = micros(p, &e->dur)) != NULL)) ||
        !PASS(p, ",\n    \"args\": "))
        return NULL;
    is_at(e, b);
    e->args.p = p;
    return p;
}

/* The category at *p, which moves behind its quote where it is one of interest. */
static inline enum mt_pf_kind kind_at(const unsigned char **p)
{
    return PASS(*p, "python_function\"")     ? MT_PF_K_PYTHON
           : PASS(*p, "cpu_op\"")            ? MT_PF_K_OP
           : PASS(*p, "cpu_instant_event\"") ? MT_PF_K_INSTANT
           : PASS(*p, "user_annotation\"")   ? MT_PF_K_ANNOTATION
           : PASS(*p, "Operator\"")          ? MT_PF_K_OP
                                             : MT_PF_K_OTHER;
}

/* *at: where reading stopped. What an event is stays in registers until all of it is known: a word
 * that is written in pieces and read as a whole at once is waited for. */
static int read(const unsigned char **at, const unsigned char *end, struct mt_pf_before *before,
                struct mt_pf_event *e, const unsigned char **behind)
{
    const unsigned char *p = *at, *category;
    enum mt_pf_kind kind;
    char ph;
    if (end - p < MOST || !PASS(p, "{\n    \"ph\": \""))
        return -1;
    ph = (char)*p++;
    if (ph == 's' || ph == 'f' || ph == 'M')
        return *at = p, 0;
    if ((ph != 'X' && ph != 'i') || !PASS(p, "\", \"cat\": \""))
        return -1;
    if (ph == 'i' && (*behind = memory(p, before, e)) != NULL)
        return 1;
    category = p;
    kind = kind_at(&p);
    if (kind == MT_PF_K_OTHER)
        return *at = pass_name(p, end), 0;
    if ((ph == 'i' && !PASS(p, ", \"s\": \"t\"")) || !PASS(p, ", \"name\": ") || *p != '"' ||
        (p = described(p, end, ph, before, e)) == NULL)
        return -1;
    e->ph = ph;
    e->kind = kind;
    e->old_op = *category == 'O';
    return *at = p, 1;
}

int mt_pf_written(const unsigned char *p, const unsigned char *end, struct mt_pf_before *before,
                  struct mt_pf_event *e, const unsigned char **behind)
{
    const unsigned char *at = p;
    int r;
    e->dur = 0;
    e->has_said = false;
    *behind = NULL;
    r = read(&at, end, before, e, behind);
    if (*behind != NULL)
        return r;
    *behind = last(p, at + (at == p), end);
    if (r > 0)
        e->args.n = (size_t)((*behind != NULL ? *behind : end) - e->args.p);
    return r;
}

/* In any order. */
static bool in_any_order(struct mt_pf_cursor *c, struct mt_pf_said *s)
{
    int64_t unused;
    while (c->end - c->p > 2) {
        bool ok;
        switch (c->p[1]) {
        case 'T':
            ok = MT_PF_PASS(c, "\"Total Reserved\": ")    ? MT_PF_READ(integer, c, &s->reserved)
                 : MT_PF_PASS(c, "\"Total Allocated\": ") ? MT_PF_READ(integer, c, &s->allocated)
                                                          : false;
            break;
        case 'D':
            ok = MT_PF_PASS(c, "\"Device Id\": ")     ? MT_PF_READ(integer, c, &s->id)
                 : MT_PF_PASS(c, "\"Device Type\": ") ? MT_PF_READ(integer, c, &s->type)
                                                      : false;
            break;
        case 'B':
            ok = s->has_bytes = MT_PF_PASS(c, "\"Bytes\": ") && MT_PF_READ(integer, c, &s->bytes);
            break;
        case 'A':
            ok = s->has_addr = MT_PF_PASS(c, "\"Addr\": ") && MT_PF_READ(address, c, &s->addr);
            break;
        case 'E': ok = MT_PF_PASS(c, "\"Ev Idx\": ") && MT_PF_READ(integer, c, &unused); break;
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

bool mt_pf_written_args(struct mt_pf_cursor *c, struct mt_pf_said *s)
{
    return MT_PF_PASS(c, "{\n      ") && in_any_order(c, s);
}
