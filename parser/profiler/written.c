/* profiler/written.c -- an event byte for byte as libkineto lays it out. Where it ends is looked
 * for from where its reading stopped, so every byte is looked at once. */
#include "parser/profiler/event.h"

/* What is passed without a look for the end of the window: so many bytes are left in it. */
enum { MOST = 512, LONGEST = 40 /* of a time */ };
#define STANDS(p, word) mt_pf_same(p, word, sizeof(word) - 1)
#define PASS(p, word) (STANDS(p, word) && ((p) += sizeof(word) - 1, true))

/* What is behind an event with arguments, p in them: they end where the next bracket is, be it in a
 * string or not. NULL = it is not so. No string has a newline, so the brackets there are outside of
 * strings. */
static const unsigned char *behind_arguments(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *b = mt_pf_bracket(p, end);
    return end - b >= 5 && *b == '}' && STANDS(b - 5, "\n    }\n  }") ? b + 5 : NULL;
}

/* What is behind an event of which p stands before its arguments: they are one object, or there are
 * none, and no other bracket is left. */
static const unsigned char *last(const unsigned char *begin, const unsigned char *p,
                                 const unsigned char *end)
{
    const unsigned char *b = mt_pf_bracket(p, end);
    if (end - b < 5 || b - begin < 6)
        return NULL;
    if (*b == '}')
        return STANDS(b - 3, "\n  }") ? b + 1 : NULL;
    return *b == '{' ? behind_arguments(b + 1, end) : NULL;
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

/* Whether process and thread are those of the event before: three vectors have all of it, as it is
 * at least 16 bytes. */
static inline bool is_there_again(const unsigned char *p, const struct mt_pf_before *b)
{
    unsigned n = b->n_place, middle = n < 32 ? n - 16 : 16;
    /* no branch between the three: they nearly always hold */
    return n != 0 &&
           ((int)mt_pf_same(p, b->place, 16) & (int)mt_pf_same(p + middle, b->place + middle, 16) &
            (int)mt_pf_same(p + n - 16, b->place + n - 16, 16)) != 0;
}

/* The numbers of process and thread, p at the first one, to the time. They are those of the event
 * before, nearly always. NULL = it is not so. */
static inline const unsigned char *place(const unsigned char *p, struct mt_pf_before *b)
{
    const unsigned char *from = p;
    uint64_t pid, tid;
    unsigned n;
    if (is_there_again(p, b))
        return p + b->n_place;
    n = mt_pf_number(p, &pid);
    p += n;
    if (n == 0 || n == 16 || !PASS(p, ", \"tid\": "))
        return NULL;
    n = mt_pf_number(p, &tid);
    p += n;
    if (n == 0 || n == 16 || !PASS(p, ",\n    \"ts\": "))
        return NULL;
    n = (unsigned)(p - from);
    b->n_place = n <= sizeof b->place ? n : 0;
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

/* A memory event, p at its bracket: what is behind it, or NULL. */
static const unsigned char *memory(const unsigned char *p, struct mt_pf_before *b,
                                   struct mt_pf_event *e)
{
    uint64_t reserved, allocated, bytes, addr, id, type;
    bool is_free;
    unsigned n;
    if (!PASS(p, "{\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
                 "\"[memory]\",\n"
                 "    \"pid\": "))
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

/* The category that begins at p. */
static enum mt_pf_kind kind_at(const unsigned char *p)
{
    return STANDS(p, "python_function\"")     ? MT_PF_K_PYTHON
           : STANDS(p, "cpu_op\"")            ? MT_PF_K_OP
           : STANDS(p, "cpu_instant_event\"") ? MT_PF_K_INSTANT
           : STANDS(p, "user_annotation\"")   ? MT_PF_K_ANNOTATION
           : STANDS(p, "Operator\"")          ? MT_PF_K_OP
                                              : MT_PF_K_OTHER;
}

/* Up to the name's quote, p at the bracket: of what kind it is. NULL = of no interest, or laid out
 * in another way. */
static inline const unsigned char *slice(const unsigned char *p, enum mt_pf_kind *kind)
{
#define X(category) "{\n    \"ph\": \"X\", \"cat\": \"" category "\", \"name\": \""
    *kind = PASS(p, X("python_function"))   ? MT_PF_K_PYTHON
            : PASS(p, X("cpu_op"))          ? MT_PF_K_OP
            : PASS(p, X("user_annotation")) ? MT_PF_K_ANNOTATION
            : PASS(p, X("Operator"))        ? MT_PF_K_OP
                                            : MT_PF_K_OTHER;
#undef X
    return *kind != MT_PF_K_OTHER ? p - 1 : NULL;
}

/* Any other event: as mt_pf_written(), and where its reading stopped. No more than the margin
 * behind the end is looked at before the name. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static int
other(const unsigned char **at, const unsigned char *end, struct mt_pf_before *before,
      struct mt_pf_event *e)
{
    const unsigned char *p = *at;
    enum mt_pf_kind kind;
    char ph;
    if (!PASS(p, "{\n    \"ph\": \""))
        return -1;
    ph = (char)*p++;
    if (ph == 's' || ph == 'f' || ph == 'M')
        return *at = p, 0;
    if ((ph != 'X' && ph != 'i') || !PASS(p, "\", \"cat\": \""))
        return -1;
    kind = kind_at(p);
    if (kind == MT_PF_K_OTHER)
        return *at = pass_name(p, end), 0;
    if (kind != MT_PF_K_INSTANT || ph != 'i' ||
        !PASS(p, "cpu_instant_event\", \"s\": \"t\", \"name\": ") || *p != '"' ||
        (p = described(p, end, ph, before, e)) == NULL)
        return -1;
    e->ph = ph;
    e->kind = MT_PF_K_INSTANT;
    return *at = p, 1;
}

/* An operator, a function or an annotation: what is behind it. NULL = it is none, or in another
 * layout, or its brackets do not show it. What an event is stays in registers until all of it is
 * known: a word that is written in pieces and read as a whole at once is waited for. */
static inline const unsigned char *any_slice(const unsigned char *p, const unsigned char *end,
                                             struct mt_pf_before *before, struct mt_pf_event *e)
{
    const unsigned char *at, *behind;
    enum mt_pf_kind kind;
    if ((at = slice(p, &kind)) == NULL || (at = described(at, end, 'X', before, e)) == NULL ||
        *at != '{' || (behind = behind_arguments(at + 1, end)) == NULL)
        return NULL;
    e->ph = 'X';
    e->kind = kind;
    e->old_op = p[25] == 'O'; /* where the category begins */
    e->args.n = (size_t)(behind - at);
    return behind;
}

int mt_pf_written(const unsigned char *p, const unsigned char *end, struct mt_pf_before *before,
                  struct mt_pf_event *e, const unsigned char **behind)
{
    const unsigned char *at = p;
    int r;
    e->dur = 0;
    e->has_said = e->old_op = false;
    *behind = end - p < MOST ? NULL
              : p[13] == 'i' ? memory(p, before, e)
              : p[13] == 'X' ? any_slice(p, end, before, e)
                             : NULL;
    if (*behind != NULL)
        return 1;
    r = other(&at, end, before, e);
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
