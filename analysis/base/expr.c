/* expr.c -- expressions of rule files: a recursive descent parser that writes postfix code, and a
 * stack machine that runs it. */
#include "analysis/base/expr.h"

#include "analysis/base/phase.h"
#include "parser/base/mem.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
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
    uint8_t op, unused; /* no byte of it is left to chance: the build keeps what was compiled */
    uint16_t arg;
};
struct name {
    uint16_t at, n; /* in text */
};
struct compiled {
    const double *numbers;
    const struct name *names;
    const struct code *code;
    const char *text;
    uint32_t n_code;
};
/* What an expression is made into when it is first needed. Threads may need it at the same time:
 * the first that is done wins. */
struct made {
    _Atomic(struct compiled *) is;
};
struct mt_expr {
    const char *text;
    struct made *made; /* behind it, in its block */
};

struct parser {
    const char *text, *at, *end;
    uint32_t n_code, n_numbers, n_names;
    /* as large as what MAX_OPS lets be there */
    struct code code[MAX_OPS];
    double numbers[MAX_OPS];
    struct name names[MAX_OPS];
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
        p->rc = mt_fail(p->err, MT_EINPUT, "%s at character %u of the expression, before \"%s\"",
                        what, (unsigned)(at - p->text) + 1, mt_printable(near, sizeof near, at, n));
    return false;
}

static bool emit(struct parser *p, enum op op, uint32_t arg)
{
    if (p->n_code >= MAX_OPS)
        return bad(p, p->at, "too long");
    p->code[p->n_code++] = (struct code){(uint8_t)op, 0, (uint16_t)arg};
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
    double v = 0, place = 0.1;
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
    if (!emit(p, OP_NUMBER, p->n_numbers))
        return false;
    p->numbers[p->n_numbers++] = v;
    return true;
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
    size_t n;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at) || *p->at == '.'))
        p->at++;
    n = (size_t)(p->at - start);
    if (take(p, "("))
        return parse_call(p, start, n);
    if (!p->is_name(p->arg, start, n))
        return bad(p, start, "a name that does not exist");
    if (!emit(p, OP_NAME, p->n_names))
        return false;
    p->names[p->n_names++] = (struct name){(uint16_t)(start - p->text), (uint16_t)n};
    return true;
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

static bool any_name(void *arg, const char *name, size_t n)
{
    (void)arg, (void)name, (void)n;
    return true;
}

/* p is filled; its lists as far as they are used. */
static enum mt_rc parse(struct parser *p, const char *text,
                        bool (*is_name)(void *arg, const char *name, size_t n), void *arg,
                        struct mt_err *err)
{
    size_t n = strlen(text);
    p->text = p->at = text;
    p->end = text + n;
    p->n_code = p->n_numbers = p->n_names = p->depth = 0;
    p->is_name = is_name;
    p->arg = arg;
    p->err = err;
    p->rc = MT_OK;
    if (n > MAX_TEXT)
        return mt_fail(err, MT_EINPUT, "an expression has %zu characters; at most %u are read", n,
                       MAX_TEXT);
    if (parse_or(p)) {
        space(p);
        if (p->at < p->end)
            (void)bad(p, p->at, "an operator is missing");
    }
    return p->rc;
}

/* What was parsed, with its text, as one block; NULL = out of memory. */
static struct compiled *pack(const struct parser *p, const char *text)
{
    const size_t n = strlen(text);
    const size_t numbers = p->n_numbers * sizeof *p->numbers, names = p->n_names * sizeof *p->names,
                 code = p->n_code * sizeof *p->code;
    struct compiled *e = mt_malloc(sizeof *e + numbers + names + code + n + 1);
    double *to_numbers;
    struct name *to_names;
    struct code *to_code;
    if (e == NULL)
        return NULL;
    to_numbers = (double *)(e + 1);
    to_names = (struct name *)(to_numbers + p->n_numbers);
    to_code = (struct code *)(to_names + p->n_names);
    memcpy(to_numbers, p->numbers, numbers);
    memcpy(to_names, p->names, names);
    memcpy(to_code, p->code, code);
    memcpy(to_code + p->n_code, text, n + 1);
    *e = (struct compiled){to_numbers, to_names, to_code, (const char *)(to_code + p->n_code),
                           p->n_code};
    return e;
}

static struct mt_expr *with(const char *text, struct compiled *is)
{
    struct block {
        struct mt_expr e;
        struct made made;
    } *b = mt_malloc(sizeof *b);
    if (b == NULL)
        return NULL;
    b->e = (struct mt_expr){text, &b->made};
    atomic_init(&b->made.is, is);
    return &b->e;
}

enum mt_rc mt_expr_compile(struct mt_expr **out, const char *text,
                           bool (*is_name)(void *arg, const char *name, size_t n), void *arg,
                           struct mt_err *err)
{
    struct parser p;
    struct compiled *is;
    enum mt_rc rc = parse(&p, text, is_name, arg, err);
    *out = NULL;
    if (rc != MT_OK)
        return rc;
    if ((is = pack(&p, text)) != NULL && (*out = with(is->text, is)) == NULL)
        mt_free(is);
    return *out != NULL ? MT_OK
                        : mt_fail(err, MT_ENOMEM, "out of memory while reading an expression");
}

struct mt_expr *mt_expr_later(const char *text) { return with(text, NULL); }

enum mt_rc mt_expr_now(const struct mt_expr *e,
                       bool (*is_name)(void *arg, const char *name, size_t n), void *arg,
                       struct mt_err *err)
{
    struct parser p;
    struct compiled *is = NULL;
    enum mt_rc rc = parse(&p, e->text, is_name, arg, err);
    if (rc != MT_OK || atomic_load(&e->made->is) != NULL)
        return rc;
    if ((is = pack(&p, e->text)) == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory while reading an expression");
    atomic_store(&e->made->is, is);
    return MT_OK;
}

const char *mt_expr_text(const struct mt_expr *e) { return e->text; }

void mt_expr_free(struct mt_expr *e)
{
    if (e != NULL)
        mt_free(atomic_load(&e->made->is));
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

static struct mt_value run(const struct compiled *e, mt_expr_lookup lookup, void *arg)
{
    struct mt_value s[MAX_OPS + 1];
    uint32_t n = 0;
    /* one operation pushes at most one value; the rest of the 8 KB need not be cleared */
    memset(s, 0, (e->n_code + 1) * sizeof *s);
    for (uint32_t i = 0; i < e->n_code; i++) {
        struct code c = e->code[i];
        switch ((int)c.op) {
        case OP_NUMBER: s[n++] = number(e->numbers[c.arg], MT_CONF_MARKED); break;
        case OP_NAME: s[n++] = lookup(arg, e->text + e->names[c.arg].at, e->names[c.arg].n); break;
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

/* The first time. Without memory it is run as it was parsed, and parsed again the next time. */
static struct mt_value run_first(const struct mt_expr *e, mt_expr_lookup lookup, void *arg)
{
    struct parser p;
    struct mt_err err;
    struct compiled *mine, *first = NULL;
    if (parse(&p, e->text, any_name, NULL, &err) != MT_OK)
        return unknown();
    mine = pack(&p, e->text);
    if (mine == NULL) {
        const struct compiled is = {p.numbers, p.names, p.code, e->text, p.n_code};
        return run(&is, lookup, arg);
    }
    if (!atomic_compare_exchange_strong(&e->made->is, &first, mine))
        mt_free(mine);
    else
        first = mine;
    return run(first, lookup, arg);
}

struct mt_value mt_expr_eval(const struct mt_expr *e, mt_expr_lookup lookup, void *arg)
{
    const struct compiled *is = atomic_load(&e->made->is);
    return is != NULL ? run(is, lookup, arg) : run_first(e, lookup, arg);
}
