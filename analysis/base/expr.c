/* expr.c -- expressions of rule files: a recursive descent parser that writes postfix code, and a
 * stack machine that runs it. */
#include "analysis/base/expr.h"

#include "analysis/base/phase.h"
#include "parser/base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_TEXT 2048u /* bytes of one expression: rules are read by people */
#define MAX_DEPTH 48u  /* brackets, calls and signs inside each other */
#define MAX_OPS 512u
#define MAX_ARGS 16u

enum op {
    OP_NUMBER, /* arg: index of numbers */
    OP_NAME,   /* arg: index of names */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_NEG,
    OP_NOT,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND,
    OP_OR,
    OP_MIN, /* arg: how many */
    OP_MAX, /* arg: how many */
    OP_FLOOR,
    OP_CEIL,
    OP_ROUND_DOWN,
    OP_KNOWN,
    OP_DEFAULT
};
struct code {
    uint8_t op;
    uint16_t arg;
};
struct name {
    uint16_t at, n; /* in text */
};
struct mt_expr {
    char *text;
    MT_VEC(struct code) code;
    MT_VEC(double) numbers;
    MT_VEC(struct name) names;
};

struct parser {
    struct mt_expr *e;
    const char *at, *end;
    bool (*is_name)(void *arg, const char *name, size_t n);
    void *arg;
    struct mt_err *err;
    uint32_t depth;
    enum mt_rc rc;
};

static bool parse_or(struct parser *p);

static bool bad(struct parser *p, const char *at, const char *what)
{
    char near[40];
    size_t n = (size_t)(p->end - at);
    if (p->rc != MT_OK)
        return false;
    if (n == 0)
        p->rc = mt_fail(p->err, MT_EINPUT, "%s at the end of the expression", what);
    else
        p->rc =
            mt_fail(p->err, MT_EINPUT, "%s at character %u of the expression, before \"%s\"", what,
                    (unsigned)(at - p->e->text) + 1, mt_printable(near, sizeof near, at, n));
    return false;
}

static bool nomem(struct parser *p)
{
    if (p->rc == MT_OK)
        p->rc = mt_fail(p->err, MT_ENOMEM, "out of memory while reading an expression");
    return false;
}

static bool emit(struct parser *p, enum op op, uint32_t arg)
{
    struct code *c;
    if (p->e->code.n >= MAX_OPS)
        return bad(p, p->at, "too long");
    c = MT_VEC_PUSH(&p->e->code);
    if (c == NULL)
        return nomem(p);
    c->op = (uint8_t)op;
    c->arg = (uint16_t)arg;
    return true;
}

static void space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n'))
        p->at++;
}

static bool take(struct parser *p, const char *word)
{
    size_t n;
    space(p);
    if (p->at == p->end || *p->at != *word) /* mostly */
        return false;
    n = strlen(word);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Digits, a point, digits, a unit. Not strtod: that depends on the locale. */
static bool parse_number(struct parser *p)
{
    const char *start = p->at;
    double v = 0, place = 0.1, *slot;
    while (p->at < p->end && is_digit(*p->at))
        v = v * 10 + (*p->at++ - '0');
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        for (; p->at < p->end && is_digit(*p->at); place /= 10)
            v += place * (*p->at++ - '0');
    }
    if (v > 1e30)
        return bad(p, start, "a number that is too large");
    if (p->end - p->at >= 2 && p->at[0] == 'G' && p->at[1] == 'B')
        v *= 1e9, p->at += 2;
    else if (p->at < p->end && (*p->at == 'k' || *p->at == 'M' || *p->at == 'G'))
        v *= *p->at == 'k' ? 1024.0 : *p->at == 'M' ? 1048576.0 : 1073741824.0, p->at++;
    if (p->at < p->end && (is_letter(*p->at) || *p->at == '.' || is_digit(*p->at)))
        return bad(p, p->at, "something that does not belong to a number");
    slot = MT_VEC_PUSH(&p->e->numbers);
    if (slot == NULL)
        return nomem(p);
    *slot = v;
    return emit(p, OP_NUMBER, p->e->numbers.n - 1);
}

static const struct function {
    const char *name;
    enum op op;
    uint32_t least, most;
} functions[] = {
    {"min", OP_MIN, 1, MAX_ARGS}, {"max", OP_MAX, 1, MAX_ARGS}, {"floor", OP_FLOOR, 1, 1},
    {"ceil", OP_CEIL, 1, 1},      {"known", OP_KNOWN, 1, 1},    {"round_down", OP_ROUND_DOWN, 2, 2},
    {"or", OP_DEFAULT, 2, 2},
};

static bool parse_call(struct parser *p, const char *start, size_t n)
{
    const struct function *f = NULL;
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strlen(functions[i].name) == n && memcmp(functions[i].name, start, n) == 0)
            f = &functions[i];
    if (f == NULL)
        return bad(p, start,
                   "a function that does not exist (there are min, max, floor, ceil, round_down, "
                   "known, or)");
    do {
        if (++count > f->most)
            return bad(p, p->at, "too many arguments");
        if (!parse_or(p))
            return false;
    } while (take(p, ","));
    if (!take(p, ")"))
        return bad(p, p->at, "a closing bracket is missing");
    if (count < f->least)
        return bad(p, p->at, "too few arguments");
    return emit(p, f->op, count);
}

static bool parse_name(struct parser *p)
{
    const char *start = p->at;
    struct name *slot;
    size_t n;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at) || *p->at == '.'))
        p->at++;
    n = (size_t)(p->at - start);
    if (take(p, "("))
        return parse_call(p, start, n);
    if (!p->is_name(p->arg, start, n))
        return bad(p, start, "a name that does not exist");
    slot = MT_VEC_PUSH(&p->e->names);
    if (slot == NULL)
        return nomem(p);
    slot->at = (uint16_t)(start - p->e->text);
    slot->n = (uint16_t)n;
    return emit(p, OP_NAME, p->e->names.n - 1);
}

static bool parse_operand(struct parser *p)
{
    bool ok;
    space(p);
    if (p->depth >= MAX_DEPTH)
        return bad(p, p->at, "too many brackets inside each other");
    p->depth++;
    if (p->at < p->end && (is_digit(*p->at) || *p->at == '.')) {
        ok = parse_number(p);
    } else if (p->at < p->end && is_letter(*p->at)) {
        ok = parse_name(p);
    } else if (take(p, "(")) {
        ok = parse_or(p) && (take(p, ")") || bad(p, p->at, "a closing bracket is missing"));
    } else if (take(p, "-")) {
        ok = parse_operand(p) && emit(p, OP_NEG, 0);
    } else if (take(p, "!")) {
        ok = parse_operand(p) && emit(p, OP_NOT, 0);
    } else {
        ok = bad(p, p->at, "a number, a name or a bracket is missing");
    }
    p->depth--;
    return ok;
}

static bool parse_product(struct parser *p)
{
    if (!parse_operand(p))
        return false;
    for (;;) {
        enum op op = take(p, "*") ? OP_MUL : take(p, "/") ? OP_DIV : OP_NUMBER;
        if (op == OP_NUMBER)
            return true;
        if (!parse_operand(p) || !emit(p, op, 0))
            return false;
    }
}

static bool parse_sum(struct parser *p)
{
    if (!parse_product(p))
        return false;
    for (;;) {
        enum op op = take(p, "+") ? OP_ADD : take(p, "-") ? OP_SUB : OP_NUMBER;
        if (op == OP_NUMBER)
            return true;
        if (!parse_product(p) || !emit(p, op, 0))
            return false;
    }
}

/* One comparison: "a < b < c" is a mistake, not a range. */
static bool parse_comparison(struct parser *p)
{
    static const struct {
        const char *word;
        enum op op;
    } ops[] = {{"<=", OP_LE}, {">=", OP_GE}, {"==", OP_EQ},
               {"!=", OP_NE}, {"<", OP_LT},  {">", OP_GT}};
    if (!parse_sum(p))
        return false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (take(p, ops[i].word))
            return parse_sum(p) && emit(p, ops[i].op, 0);
    }
    return true;
}

static bool parse_and(struct parser *p)
{
    if (!parse_comparison(p))
        return false;
    while (take(p, "&&")) {
        if (!parse_comparison(p) || !emit(p, OP_AND, 0))
            return false;
    }
    return true;
}

static bool parse_or(struct parser *p)
{
    if (!parse_and(p))
        return false;
    while (take(p, "||")) {
        if (!parse_and(p) || !emit(p, OP_OR, 0))
            return false;
    }
    return true;
}

enum mt_rc mt_expr_compile(struct mt_expr **out, const char *text,
                           bool (*is_name)(void *arg, const char *name, size_t n), void *arg,
                           struct mt_err *err)
{
    struct parser p = {.is_name = is_name, .arg = arg, .err = err, .rc = MT_OK};
    size_t n = strlen(text);

    *out = NULL;
    if (n > MAX_TEXT)
        return mt_fail(err, MT_EINPUT, "an expression has %zu characters; at most %u are read", n,
                       MAX_TEXT);
    p.e = mt_calloc(1, sizeof *p.e);
    if (p.e == NULL || (p.e->text = mt_strndup(text, n)) == NULL) {
        mt_free(p.e);
        return mt_fail(err, MT_ENOMEM, "out of memory while reading an expression");
    }
    p.at = p.e->text;
    p.end = p.at + n;
    if (parse_or(&p)) {
        space(&p);
        if (p.at < p.end)
            (void)bad(&p, p.at, "an operator is missing");
    }
    if (p.rc != MT_OK) {
        mt_expr_free(p.e);
        return p.rc;
    }
    *out = p.e;
    return MT_OK;
}

void mt_expr_free(struct mt_expr *e)
{
    if (e == NULL)
        return;
    MT_VEC_DONE(&e->code);
    MT_VEC_DONE(&e->numbers);
    MT_VEC_DONE(&e->names);
    mt_free(e->text);
    mt_free(e);
}

static struct mt_value unknown(void) { return (struct mt_value){0, false, MT_CONF_NONE}; }

/* What overflows is unknown as well. */
static struct mt_value number(double v, unsigned char conf)
{
    return v >= -DBL_MAX && v <= DBL_MAX ? (struct mt_value){v, true, conf} : unknown();
}

static struct mt_value two(enum op op, struct mt_value a, struct mt_value b)
{
    unsigned char conf = a.conf < b.conf ? a.conf : b.conf;
    /* One known side may decide alone; then only that side took part. */
    if (op == OP_AND && ((a.known && a.v == 0) || (b.known && b.v == 0)))
        return number(0, a.known && a.v == 0 ? a.conf : b.conf);
    if (op == OP_OR && ((a.known && a.v != 0) || (b.known && b.v != 0)))
        return number(1, a.known && a.v != 0 ? a.conf : b.conf);
    if (!a.known || !b.known)
        return unknown();
    switch ((int)op) {
    case OP_ADD: return number(a.v + b.v, conf);
    case OP_SUB: return number(a.v - b.v, conf);
    case OP_MUL: return number(a.v * b.v, conf);
    case OP_DIV: return b.v != 0 ? number(a.v / b.v, conf) : unknown();
    case OP_LT: return number(a.v < b.v, conf);
    case OP_LE: return number(a.v <= b.v, conf);
    case OP_GT: return number(a.v > b.v, conf);
    case OP_GE: return number(a.v >= b.v, conf);
    case OP_EQ: return number(a.v >= b.v && a.v <= b.v, conf);
    case OP_NE: return number(a.v < b.v || a.v > b.v, conf);
    case OP_AND: return number(1, conf);
    case OP_OR: return number(0, conf);
    case OP_MIN: return number(a.v < b.v ? a.v : b.v, conf);
    case OP_MAX: return number(a.v > b.v ? a.v : b.v, conf);
    case OP_ROUND_DOWN: return b.v > 0 ? number(floor(a.v / b.v) * b.v, conf) : unknown();
    default: return unknown();
    }
}

static struct mt_value one(enum op op, struct mt_value a)
{
    if (op == OP_KNOWN)
        return number(a.known, a.known ? a.conf : MT_CONF_MARKED);
    if (!a.known)
        return unknown();
    switch ((int)op) {
    case OP_NEG: return number(-a.v, a.conf);
    case OP_NOT: return number(a.v == 0, a.conf);
    case OP_FLOOR: return number(floor(a.v), a.conf);
    case OP_CEIL: return number(ceil(a.v), a.conf);
    default: return unknown();
    }
}

struct mt_value mt_expr_eval(const struct mt_expr *e, mt_expr_lookup lookup, void *arg)
{
    struct mt_value s[MAX_OPS + 1] = {{0}}; /* one operation pushes at most one value */
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->code.n; i++) {
        struct code c = e->code.p[i];
        switch ((int)c.op) {
        case OP_NUMBER: s[n++] = number(e->numbers.p[c.arg], MT_CONF_MARKED); break;
        case OP_NAME:
            s[n++] = lookup(arg, e->text + e->names.p[c.arg].at, e->names.p[c.arg].n);
            break;
        case OP_NEG:
        case OP_NOT:
        case OP_FLOOR:
        case OP_CEIL:
        case OP_KNOWN: s[n - 1] = one((enum op)c.op, s[n - 1]); break;
        case OP_DEFAULT:
            s[n - 2] = s[n - 2].known ? s[n - 2] : s[n - 1];
            n--;
            break;
        case OP_MIN:
        case OP_MAX:
            for (uint32_t k = 1; k < c.arg; k++, n--)
                s[n - 2] = two((enum op)c.op, s[n - 2], s[n - 1]);
            break;
        default:
            s[n - 2] = two((enum op)c.op, s[n - 2], s[n - 1]);
            n--;
            break;
        }
    }
    return n == 1 ? s[0] : unknown();
}
