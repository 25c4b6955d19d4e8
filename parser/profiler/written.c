/* profiler/written.c -- an event byte for byte as libkineto lays it out. Where it ends is looked
 * for from where its reading stopped, so every byte is looked at once. */
#include "parser/profiler/event.h"

/* A category of interest, and its quote. */
static enum mt_pf_kind category(struct mt_pf_cursor *c)
{
    return MT_PF_PASS(c, "cpu_op\"") || MT_PF_PASS(c, "Operator\"") ? MT_PF_K_OP
           : MT_PF_PASS(c, "python_function\"")                     ? MT_PF_K_PYTHON
           : MT_PF_PASS(c, "user_annotation\"")                     ? MT_PF_K_ANNOTATION
           : MT_PF_PASS(c, "cpu_instant_event\"")                   ? MT_PF_K_INSTANT
                                                                    : MT_PF_K_OTHER;
}

/* The next curly bracket, in a string or not; end = there is none. */
static inline const unsigned char *bracket(const unsigned char *p, const unsigned char *end)
{
    return mt_json_either(p, end, '{', '}');
}

/* What is behind an event of which p stands before its arguments: they are one object, or there
 * are none, and no other bracket of that kind is left, not even in a string. NULL = it is not so.
 * No string has a newline, so the last brackets are outside of strings. */
static const unsigned char *last(const unsigned char *begin, const unsigned char *p,
                                 const unsigned char *end)
{
    static const char both[] = "\n    }\n  }", only[] = "\n  }";
    const unsigned char *b = bracket(p, end);
    if (end - b < 5 || b - begin < 6)
        return NULL;
    if (*b == '}')
        return memcmp(b - 3, only, sizeof only - 1) == 0 ? b + 1 : NULL;
    b = bracket(b + 1, end);
    return end - b >= 5 && *b == '}' && memcmp(b - 5, both, sizeof both - 1) == 0 ? b + 5 : NULL;
}

/* Of no interest: passes its category and name, if they stand there; names of kernels have brackets
 * ("{lambda(int)#1}"). */
static void pass_name(struct mt_pf_cursor *c)
{
    struct mt_pf_cursor at = *c;
    struct mt_pf_text unused;
    at.p--; /* as if it were at the quote before */
    if (MT_PF_READ(string, &at, &unused) && MT_PF_PASS(&at, ", \"name\": \"")) {
        at.p--;
        if (MT_PF_READ(string, &at, &unused))
            *c = at;
    }
}

/* The same n bytes, at least 8. */
static inline bool same(const unsigned char *p, const unsigned char *q, unsigned n)
{
    uint64_t a, b, other = 0;
    for (unsigned i = 0; i < n; i += 8) {
        unsigned at = i + 8 <= n ? i : n - 8;
        memcpy(&a, p + at, sizeof a);
        memcpy(&b, q + at, sizeof b);
        other |= a ^ b;
    }
    return other == 0;
}

/* Process and thread, c at the first one's number, and then at the time. They are those of the
 * event before, nearly always. */
static bool place(struct mt_pf_cursor *c, struct mt_pf_before *b, struct mt_pf_event *e)
{
    size_t n;
    e->pid = c->p;
    if (b->n_place != 0 && (size_t)(c->end - c->p) >= b->n_place &&
        same(c->p, b->place, b->n_place)) {
        c->p += b->n_place;
        e->tid = b->tid;
        return e->has_tid = true;
    }
    while (c->p < c->end && mt_pf_is_digit(*c->p))
        c->p++;
    if (!MT_PF_PASS(c, ", \"tid\": ") || !mt_pf_is_digit(*c->p) ||
        !(e->has_tid = MT_PF_READ(integer, c, &e->tid)) || !MT_PF_PASS(c, ",\n    \"ts\": "))
        return false;
    n = (size_t)(c->p - e->pid); /* at least the words */
    b->n_place = n <= sizeof b->place ? (unsigned)n : 0;
    memcpy(b->place, e->pid, b->n_place);
    b->tid = e->tid;
    return true;
}

/* p at the point before three decimals, behind which the next member follows: nanoseconds. */
static inline bool three(const unsigned char *p, uint64_t *ns)
{
    unsigned a = p[1] - (unsigned)'0', b = p[2] - (unsigned)'0', c = p[3] - (unsigned)'0';
    *ns = a * 100 + b * 10 + c;
    return p[0] == '.' && a < 10 && b < 10 && c < 10 && p[4] == ',';
}

/* A time, whose first eight digits are mostly those of one before. */
static inline bool time_of(struct mt_pf_cursor *c, struct mt_pf_before *b, int64_t *ns)
{
    const unsigned char *p = c->p;
    uint64_t head, low, part;
    memcpy(&head, p, sizeof head);
    if (head == b->head && head != 0 && c->end - p > 20) {
        unsigned n = mt_pf_digits8(p + 8, &low);
        if (n < 8 && three(p + 8 + n, &part)) {
            *ns = (int64_t)((b->value * mt_pf_pow10(n) + low) * 1000 + part);
            c->p = p + n + 12;
            return true;
        }
    } else if (mt_pf_digits8(p, &low) == 8) {
        b->head = head;
        b->value = low;
    }
    return MT_PF_READ(micros, c, ns);
}

/* A length. */
static inline bool length_of(struct mt_pf_cursor *c, int64_t *ns)
{
    uint64_t whole, part;
    unsigned n = mt_pf_digits8(c->p, &whole);
    if (n != 0 && n < 8 && c->end - c->p > 12 && three(c->p + n, &part)) {
        *ns = (int64_t)(whole * 1000 + part);
        c->p += n + 4;
        return true;
    }
    return MT_PF_READ(micros, c, ns);
}

/* Process, thread, time and length; c behind the name, and then at the arguments. */
static bool place_and_time(struct mt_pf_cursor *c, struct mt_pf_before *b, struct mt_pf_event *e)
{
    if (!(e->ph == 'i' ? MT_PF_PASS(c, ",\n    \"pid\": ") : MT_PF_PASS(c, ", \"pid\": ")))
        return false;
    if (!place(c, b, e) || !(e->has_ts = time_of(c, b, &e->ts)))
        return false;
    return (e->ph != 'X' || (MT_PF_PASS(c, ", \"dur\": ") && length_of(c, &e->dur))) &&
           MT_PF_PASS(c, ",\n    \"args\": ");
}

/* *at: where reading stopped. */
static int read(struct mt_pf_cursor *at, struct mt_pf_before *before, struct mt_pf_event *e)
{
    struct mt_pf_cursor c = *at;
    if (!MT_PF_PASS(&c, "{\n    \"ph\": \"") || c.end - c.p < 2)
        return -1;
    e->ph = (char)*c.p++;
    if (e->ph == 's' || e->ph == 'f' || e->ph == 'M')
        return *at = c, 0;
    if ((e->ph != 'X' && e->ph != 'i') || !MT_PF_PASS(&c, "\", \"cat\": \""))
        return -1;
    e->old_op = c.p < c.end && *c.p == 'O';
    if ((e->kind = category(&c)) == MT_PF_K_OTHER) {
        pass_name(&c);
        return *at = c, 0;
    }
    if ((e->ph == 'i' && !MT_PF_PASS(&c, ", \"s\": \"t\"")) || !MT_PF_PASS(&c, ", \"name\": ") ||
        *c.p != '"' || !MT_PF_READ(string, &c, &e->name) || e->name.n == 0 ||
        !place_and_time(&c, before, e))
        return -1;
    e->args.p = c.p;
    return *at = c, 1;
}

int mt_pf_written(const unsigned char *p, const unsigned char *end, struct mt_pf_before *before,
                  struct mt_pf_event *e, const unsigned char **behind)
{
    struct mt_pf_cursor at = {p, end};
    int r;
    e->dur = 0;
    r = read(&at, before, e);
    *behind = last(p, at.p + (at.p == p), end);
    if (r > 0)
        e->args.n = (size_t)((*behind != NULL ? *behind : end) - e->args.p);
    return r;
}

/* Whether a stretch stands there again, which c passes then. */
static inline bool again(struct mt_pf_cursor *c, const struct mt_pf_again *a)
{
    if (a->n == 0 || (size_t)(c->end - c->p) <= a->n || !same(c->p, a->text, a->n))
        return false;
    c->p += a->n;
    return true;
}

/* Keeps a stretch that ends at c, behind its comma and blank. */
static void keep(struct mt_pf_again *a, const unsigned char *from, const struct mt_pf_cursor *c,
                 int64_t one, int64_t other)
{
    size_t n = (size_t)(c->p - from);
    a->n = n >= 8 && n <= sizeof a->text ? (unsigned)n : 0;
    memcpy(a->text, from, a->n);
    a->value[0] = one;
    a->value[1] = other;
}

static bool reserved(struct mt_pf_cursor *c, struct mt_pf_before *b, struct mt_pf_said *s)
{
    const unsigned char *from = c->p;
    if (again(c, &b->reserved)) {
        s->reserved = b->reserved.value[0];
        return true;
    }
    if (!MT_PF_PASS(c, "\"Total Reserved\": ") || !MT_PF_READ(integer, c, &s->reserved) ||
        !MT_PF_PASS(c, ", "))
        return false;
    keep(&b->reserved, from, c, s->reserved, 0);
    return true;
}

static bool device(struct mt_pf_cursor *c, struct mt_pf_before *b, struct mt_pf_said *s)
{
    const unsigned char *from = c->p;
    if (again(c, &b->device)) {
        s->id = b->device.value[0];
        s->type = b->device.value[1];
        return true;
    }
    if (!MT_PF_PASS(c, "\"Device Id\": ") || !MT_PF_READ(integer, c, &s->id) ||
        !MT_PF_PASS(c, ", \"Device Type\": ") || !MT_PF_READ(integer, c, &s->type) ||
        !MT_PF_PASS(c, ", "))
        return false;
    keep(&b->device, from, c, s->id, s->type);
    return true;
}

/* In libkineto's order of today; c at the first member. */
static bool in_order(struct mt_pf_cursor *c, struct mt_pf_before *b, struct mt_pf_said *s)
{
    int64_t unused;
    return reserved(c, b, s) && MT_PF_PASS(c, "\"Total Allocated\": ") &&
           MT_PF_READ(integer, c, &s->allocated) && MT_PF_PASS(c, ", \"Bytes\": ") &&
           (s->has_bytes = MT_PF_READ(integer, c, &s->bytes)) && MT_PF_PASS(c, ", \"Addr\": ") &&
           (s->has_addr = MT_PF_READ(address, c, &s->addr)) && MT_PF_PASS(c, ", ") &&
           device(c, b, s) && MT_PF_PASS(c, "\"Ev Idx\": ") && MT_PF_READ(integer, c, &unused) &&
           c->p < c->end && (*c->p == '\n' || *c->p == '}');
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

bool mt_pf_written_args(struct mt_pf_cursor *c, struct mt_pf_before *before, struct mt_pf_said *s)
{
    struct mt_pf_cursor first;
    struct mt_pf_said nothing = *s;
    if (!MT_PF_PASS(c, "{\n      "))
        return false;
    first = *c;
    if (in_order(c, before, s))
        return true;
    *c = first;
    *s = nothing;
    return in_any_order(c, s);
}
